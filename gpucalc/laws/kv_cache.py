"""Bytes of the key-value cache: of a token, a sequence, a batch and one GPU, and how much of it a server has room for."""
from ..core.arithmetic import FP32_BYTES, ceil, floor, log, maximum, minimum, quotient, where
from ..core.law import law
from .quantization import quantized_params, quantized_weight_bytes

# vLLM, platforms/interface.py: beside linear layers blocks of a latent are multiples of it.
LATENT_STEP = 128
# vLLM, v1/attention/backends/mla/flashmla_sparse.py: an FP32 scale for 128 values of a latent in FP8, so one of 16 bits for 64.
SCALED_VALUES = 64
# vLLM, models/deepseek_v4: 448 values of an entry in FP8 have 8 bytes of scales, so one of 16 bits for 112.
ENTRY_SCALED_VALUES = 112


@law
def window_ratio(kv_heads, head_dim, window_kv_heads=0, window_head_dim=0):
    """Cache of a token in a layer with a window, over that in another layer (ratio): 1 where their heads are alike."""
    width = where(window_kv_heads > 0, window_kv_heads, kv_heads) * where(window_head_dim > 0, window_head_dim, head_dim)
    return width / (kv_heads * head_dim)


@law
def cached_windows(window_ratio, window_layers=0, shared_window_layers=0):
    """Layers with a window that keep a cache of their own (count), by what they keep of a token."""
    return (window_layers - shared_window_layers) * window_ratio


def _entries(indexer_layers, compression, heavy_layers, heavy_compression):
    """Entries that layers of compressed attention keep of a token beside their windows: one for so many tokens in each."""
    return where(compression > 0, indexer_layers / maximum(compression, 1), 0) + heavy_layers / maximum(heavy_compression, 1)


@law
def cached_layers(attention_layers, cached_windows, window_layers=0, shared_cache_layers=0, shared_window_layers=0,
                  indexer_layers=0, compression=0, heavy_layers=0, heavy_compression=0):
    """Layers that keep a cache of their own (count), those with a window by what they keep of a token.

    Compressed attention keeps, beside a window, one entry for several tokens: DeepSeek-V4, transformers models/deepseek_v4. What
    its compressors hold of the last tokens, 12 to 19 MB a sequence, is left out.
    """
    full = attention_layers - window_layers - (shared_cache_layers - shared_window_layers)
    return full + cached_windows + _entries(indexer_layers, compression, heavy_layers, heavy_compression)


@law
def latent_bytes_per_token(attention_layers, kv_lora_rank=0, rope_head_dim=0, cache_element_bytes=..., rope_element_bytes=0,
                           indexer_topk=0, activation_element_bytes=..., indexer_layers=0, compression=0, heavy_layers=0,
                           heavy_compression=0):
    """Compressed latent and rotary key of one token in every layer (bytes). DeepSeek-V2 (arXiv 2405.04434, section 2.1.4).

    A narrow cache may keep the rotary key wider. That of sparse attention does: FP8 with a scale of 4 bytes for 128 values and a
    rotary key in BF16 is 656 bytes a layer, NVFP4 with one in FP8 is 352 (vllm-project/vllm,
    v1/attention/backends/mla/flashmla_sparse.py). Compressed attention keeps entries for several tokens too, of 584 bytes in FP8
    (vllm-project/vllm, models/deepseek_v4).
    """
    wide, half = activation_element_bytes, activation_element_bytes / 2
    sparse = where(cache_element_bytes < half, half, where(cache_element_bytes > half, cache_element_bytes, wide))
    values = where(compression > 0, ENTRY_SCALED_VALUES, SCALED_VALUES)
    scaled = where(cache_element_bytes < half, 0, where(cache_element_bytes > half, 0, wide / values))
    rotary = where(rope_element_bytes > 0, rope_element_bytes, where(indexer_topk > 0, sparse, cache_element_bytes))
    scales = where(rope_element_bytes > 0, 0, where(indexer_topk > 0, scaled, 0))
    kept = attention_layers + _entries(indexer_layers, compression, heavy_layers, heavy_compression)
    return kept * (kv_lora_rank * (cache_element_bytes + scales) + rope_head_dim * rotary)


@law
def index_bytes_per_token(indexer_layers=0, indexer_dim=0, index_element_bytes=..., compression=0, plain_index=0,
                          activation_element_bytes=...):
    """Keys by which sparse attention chooses tokens, of one token in every layer that has an indexer (bytes).

    An indexer may choose among entries for several tokens. A plain one keeps its keys as wide as activations: MiniMax-M3,
    vllm-project/vllm, models/minimax_m3/common/indexer.py.
    """
    width = where(plain_index > 0, activation_element_bytes, index_element_bytes)
    return indexer_layers * indexer_dim * width / maximum(compression, 1)


@law
def kv_bytes_per_token(cached_layers, kv_heads, head_dim, latent_bytes_per_token, index_bytes_per_token, cache_element_bytes=...,
                       kv_lora_rank=0, layers_per_cache=1):
    """Keys and values of one token in every layer (bytes). Pope et al. 2022 (arXiv 2211.05102, section 3.3).

    Where `kv_lora_rank` is above 0 the model keeps a compressed latent instead. Layers that share a cache hold it once:
    Brandon et al. 2024 (arXiv 2405.12981, section 3).
    """
    heads = 2 * cached_layers * kv_heads * head_dim * cache_element_bytes
    return where(kv_lora_rank > 0, latent_bytes_per_token, heads) / layers_per_cache + index_bytes_per_token


def _layer_tokens(context, layers, window_layers, window):
    """Tokens that the layers hold together: those with a sliding window at most `window` each."""
    return (layers - window_layers) * context + window_layers * minimum(context, window)


@law
def sequence_kv_bytes(kv_bytes_per_token, context, cached_layers, cached_windows, recurrent_bytes, index_bytes_per_token,
                      window=0):
    """Cache of one sequence (bytes): layers with a window hold at most `window` tokens, linear layers a state.

    Mistral 7B (arXiv 2310.06825, section 2). Without windows and states this is bytes per token times context.
    """
    windows = (kv_bytes_per_token - index_bytes_per_token) * cached_windows / cached_layers
    return kv_bytes_per_token * context - windows * maximum(context - window, 0) + recurrent_bytes


def _attended_entries(context, indexer_layers, compression, heavy_layers, heavy_compression, indexer_topk):
    """Entries for several tokens that a new token attends to, over all layers: those that the indexer chooses, or all."""
    chosen = minimum(context / maximum(compression, 1), indexer_topk)
    return where(compression > 0, indexer_layers * chosen, 0) + heavy_layers * context / maximum(heavy_compression, 1)


@law
def read_kv_bytes(kv_bytes_per_token, context, batch, attention_layers, cached_layers, window_ratio, recurrent_bytes,
                  index_bytes_per_token, window_layers=0, window=0, indexer_topk=0, layers_per_cache=1, dense_attention_layers=0,
                  indexer_layers=0, compression=0, heavy_layers=0, heavy_compression=0):
    """What a decode step of a batch moves of its cache (bytes): of sparse layers the tokens that are chosen, and the whole index;
    states are read and written. DeepSeek-V3.2-Exp, report, section 2.

    A cache that layers share is read by each of them: Brandon et al. 2024 (arXiv 2405.12981).
    """
    attended = where(indexer_topk > 0, minimum(context, indexer_topk), context)
    kept = (kv_bytes_per_token - index_bytes_per_token) * layers_per_cache / cached_layers
    windows = window_layers * window_ratio
    moved = (_layer_tokens(attended, attention_layers - window_layers + windows, windows, window)
             + dense_attention_layers * (context - attended)
             + _attended_entries(context, indexer_layers, compression, heavy_layers, heavy_compression, indexer_topk))
    return batch * (kept * moved + index_bytes_per_token * context + 2 * recurrent_bytes)


@law
def kv_bytes(sequence_kv_bytes, batch):
    """Cache of a batch of sequences of the same length (bytes)."""
    return sequence_kv_bytes * batch


@law
def shared_kv_bytes(kv_bytes_per_token, context, batch, cached_layers, cached_windows, recurrent_bytes, index_bytes_per_token,
                    prefix=0, window=0):
    """Cache of a batch whose sequences begin with the same tokens, which are held once (bytes).

    PagedAttention (arXiv 2309.06180, section 4.4). The first sequence costs all of it, each further one its own part.
    """
    own = maximum(context - prefix, 0)
    windows = (kv_bytes_per_token - index_bytes_per_token) * cached_windows / cached_layers
    left = maximum(context - window, 0) + (batch - 1) * maximum(own - window, 0)
    return kv_bytes_per_token * (context + (batch - 1) * own) - windows * left + batch * recurrent_bytes


# The turns of a session, each of which sends all that was said before

@law
def session_prompt(turns, first_prompt, turn_tokens, output):
    """Prompt tokens of a turn, mean over those of a session (count): the first prompt, and of each turn before it the answer and
    what came after it, a question or what a tool gave back."""
    return first_prompt + (turns - 1) / 2 * (turn_tokens + output)


@law
def session_cached_share(turns, session_prompt, first_prompt, turn_tokens, kept_turns=...):
    """Share of the prompt tokens of a session that a prefix cache holds (ratio): all but what each turn adds, where the turns
    before it are kept. SGLang, RadixAttention (arXiv 2312.07104, section 3): an answer's tokens are cached too."""
    added = first_prompt + (turns - 1) * turn_tokens
    return kept_turns * (1 - added / (turns * session_prompt))


@law
def last_prompt(turns, first_prompt, turn_tokens, output):
    """Prompt tokens of the last turn of a session (count): what a model must read."""
    return first_prompt + (turns - 1) * (turn_tokens + output)


@law
def read_variation(turns, session_prompt, session_cached_share, first_prompt, turn_tokens, output, kept_turns=...):
    """Squared coefficient of variation of the prompt tokens that the turns of a session read (ratio): the first prompt, what a
    turn adds where those before it are kept, and all of a prompt where they are not."""
    later, grown = turns - 1, turn_tokens + output
    whole = later * first_prompt ** 2 + first_prompt * grown * turns * later + grown ** 2 * turns * later * (2 * turns - 1) / 6
    squares = first_prompt ** 2 + kept_turns * later * turn_tokens ** 2 + (1 - kept_turns) * whole
    return maximum(squares / turns / (session_prompt * (1 - session_cached_share)) ** 2 - 1, 0)


@law
def waiting_sessions(requests_per_second, think_seconds, turns, replicas=1):
    """Sessions of a replica between two of their turns (count, mean): Little 1961 (doi 10.1287/opre.9.3.383). After the last turn
    none waits."""
    return requests_per_second * (1 - 1 / turns) * think_seconds / replicas


@law
def session_kv_bytes(session_prompt, output, kv_bytes_per_token, cached_layers, cached_windows, recurrent_bytes,
                     index_bytes_per_token, window=0):
    """Cache that a session leaves between two turns (bytes), of a turn's prompt and its answer."""
    return sequence_kv_bytes.formula(
        kv_bytes_per_token, session_prompt + output, cached_layers, cached_windows, recurrent_bytes, index_bytes_per_token,
        window)


@law
def waiting_kv_bytes(waiting_sessions, session_kv_bytes):
    """Cache of all sessions of a replica that are between two turns (bytes)."""
    return waiting_sessions * session_kv_bytes


@law
def held_kv_bytes(waiting_kv_bytes, turns, kept_turns=...):
    """Memory in which so many turns find the cache of those before them (bytes), where that used longest ago goes first.

    Che, Tung and Wang 2002 (doi 10.1109/JSAC.2002.801752): all caches stay for the same time T. Of think times that are
    exponential a share 1 - exp(-T / mean) ends within it, and the caches that wait are that share of all; those of sessions that
    have ended stay for T too, since no engine knows that nobody comes back.
    """
    return waiting_kv_bytes * (kept_turns - log(maximum(1 - kept_turns, 1e-9)) / maximum(turns - 1, 1))


@law
def free_cache_bytes(engine_room_bytes, cache_share, running_batch, sequence_kv_bytes, attention_parallel=1, host_cache_bytes=0):
    """Cache of a replica beside the sequences that run (bytes): what GPUs have, and the memory of the host where caches go there.
    LMCache, SGLang's HiCache, vLLM's offloading connector."""
    held = (engine_room_bytes + host_cache_bytes) * attention_parallel / cache_share
    return held - running_batch * sequence_kv_bytes


@law
def unheld_cache_bytes(wanted_cache_bytes=0, idle_cache_bytes=0):
    """Cache between turns for which a replica has no memory (bytes)."""
    return maximum(wanted_cache_bytes - idle_cache_bytes, 0)


@law
def cache_fetch_seconds(session_prompt, session_cached_share, kv_bytes_per_token, cache_share, host_cache_bytes=0,
                        swap_bandwidth=...):
    """A turn's cache back from the memory of the host (s), each GPU its part over its own link; every turn's, where caches go
    there. vLLM's offloading connector: other requests run meanwhile."""
    fetched = session_prompt * session_cached_share * kv_bytes_per_token * cache_share / swap_bandwidth
    return where(host_cache_bytes > 0, fetched, 0)


@law
def blocks_per_sequence(context, block_tokens=...):
    """Blocks that one sequence takes of a paged cache (count). PagedAttention (arXiv 2309.06180, section 4.1)."""
    return ceil(context / block_tokens)


@law
def paged_kv_bytes(kv_bytes_per_token, blocks_per_sequence, cached_layers, cached_windows, recurrent_bytes,
                   index_bytes_per_token, block_tokens=..., window=0):
    """Cache of one sequence in whole blocks (bytes). PagedAttention (arXiv 2309.06180, section 4.1)."""
    blocks = ceil(window / block_tokens)
    held = blocks_per_sequence * block_tokens
    windows = (kv_bytes_per_token - index_bytes_per_token) * cached_windows / cached_layers
    return kv_bytes_per_token * held - windows * maximum(held - blocks * block_tokens, 0) + recurrent_bytes


@law
def cache_share(gpu_kv_heads, kv_heads, stage_layers, layers, kv_lora_rank=0):
    """Share of the cache on one GPU of the fullest pipeline stage (ratio). Pope et al. 2022 (arXiv 2211.05102, section 3.3).

    Tensor parallel divides KV heads down to one each. A latent belongs to all heads, so every GPU of the stage holds it.
    """
    return where(kv_lora_rank > 0, 1, gpu_kv_heads / kv_heads) * stage_layers / layers


@law
def gpu_kv_bytes(kv_bytes, batch, recurrent_bytes, cache_share, stage_layers, layers, tensor_parallel=1):
    """Cache of a batch on one GPU of the fullest pipeline stage (bytes): tensor parallel divides a state by its own heads.

    vLLM, model_executor/layers/mamba/mamba_utils.py.
    """
    states = batch * recurrent_bytes
    return (kv_bytes - states) * cache_share + states * stage_layers / layers / tensor_parallel


@law
def gpu_read_kv_bytes(read_kv_bytes, batch, recurrent_bytes, cache_share, stage_layers, layers, tensor_parallel=1):
    """What a decode step moves of its cache on one GPU (bytes): states are read and written."""
    return gpu_kv_bytes.formula(read_kv_bytes, 2 * batch, recurrent_bytes, cache_share, stage_layers, layers, tensor_parallel)


@law
def gpu_kv_bytes_per_token(kv_bytes_per_token, cache_share):
    """Cache of one token on one GPU of the fullest pipeline stage (bytes)."""
    return kv_bytes_per_token * cache_share


@law
def weight_bytes(params, wider_bytes, weight_element_bytes=..., uncounted_bytes=0):
    """Weights at a numeric width (bytes), what some of them take beyond it, and what a release holds that is not counted."""
    return params * weight_element_bytes + wider_bytes + uncounted_bytes


@law
def cache_room_bytes(memory_bytes, weight_bytes, replica_gpus, headroom=...):
    """Memory left for the cache once weights and headroom are taken, over all GPUs (bytes); 0 if the weights don't fit."""
    return maximum(memory_bytes * replica_gpus * (1 - headroom) - weight_bytes, 0)


@law
def max_batch(cache_room_bytes, sequence_kv_bytes):
    """Most sequences of that length whose cache fits (count)."""
    return floor(cache_room_bytes / sequence_kv_bytes)


@law
def longest_context(cache_room_bytes, kv_bytes_per_token, cached_layers, cached_windows, recurrent_bytes, index_bytes_per_token,
                    batch=1, window=0):
    """Longest context at a batch (tokens); infinite where every layer has a window and all windows fit.

    A sequence needs the smaller of two amounts: every token in all layers, or full windows and every token in the others.
    """
    room = maximum(cache_room_bytes / batch - recurrent_bytes, 0)
    windows = (kv_bytes_per_token - index_bytes_per_token) * cached_windows / cached_layers
    beyond = room - windows * window
    return floor(maximum(room / kv_bytes_per_token, where(beyond >= 0, quotient(beyond, kv_bytes_per_token - windows), 0)))


@law
def gpu_weight_bytes(gpu_params, gpu_embedding_params, gpu_mixed_bytes, params, weight_element_bytes=..., keep_embeddings=0,
                     kept_element_bytes=..., uncounted_bytes=0):
    """Weights on one GPU (bytes): a format may leave embeddings, final norm and head at another width, or mix kinds; of what a
    release holds that is not counted, its part."""
    stored = quantized_params.formula(gpu_params, gpu_embedding_params, keep_embeddings)
    counted = quantized_weight_bytes.formula(gpu_params, stored, weight_element_bytes, gpu_mixed_bytes, kept_element_bytes)
    return counted + uncounted_bytes * gpu_params / params


@law
def forward_bytes(batched_tokens, hidden, intermediate, gated_mlp=0, experts_per_token=0, expert_intermediate=0,
                  tensor_parallel=1, activation_element_bytes=...):
    """Activations alive on one GPU while an MLP applies its activation function (bytes). vLLM, model_executor/models/llama.py.

    Three vectors of the hidden size (the layer's input, the residual, the MLP's input) and the MLP's inner tensors: one
    or two products and the activation's output.
    """
    width = maximum(intermediate, experts_per_token * expert_intermediate)
    return batched_tokens * activation_element_bytes * (3 * hidden + (2 + gated_mlp) * width / tensor_parallel)


@law
def sampling_bytes(max_sequences, vocab, activation_element_bytes=...):
    """Tensors over the vocabulary alive while the next tokens are drawn (bytes). vLLM, v1/sample/ops/topk_topp_sampler.py.

    Logits as the model gives them, four FP32 tensors (logits, sorted, probabilities, filtered), and 64-bit sort indices.
    """
    return max_sequences * vocab * (activation_element_bytes + (4 + 2) * FP32_BYTES)


@law
def profile_bytes(forward_bytes, sampling_bytes):
    """Peak of the activations in an engine's trial run (bytes): the pass is over when tokens are drawn."""
    return maximum(forward_bytes, sampling_bytes)


@law
def engine_room_bytes(memory_bytes, gpu_weight_bytes, profile_bytes, framework_bytes, memory_utilization=...,
                      held_adapter_bytes=0):
    """Cache memory an engine reserves on one GPU (bytes); 0 if the rest doesn't fit. vLLM, v1/worker/gpu_worker.py."""
    held = gpu_weight_bytes + held_adapter_bytes + profile_bytes + framework_bytes
    return maximum(memory_bytes * memory_utilization - held, 0)


@law
def static_share(gpu_weight_bytes, engine_room_bytes, memory_bytes, held_adapter_bytes=0):
    """Share of a GPU's memory that weights and the cache's room take (ratio). SGLang, --mem-fraction-static."""
    return minimum((gpu_weight_bytes + held_adapter_bytes + engine_room_bytes) / memory_bytes, 1)


@law
def free_share(gpu_weight_bytes, engine_room_bytes, profile_bytes, framework_bytes, memory_bytes, held_adapter_bytes=0):
    """Share of the memory that weights, activations and the framework leave on a GPU which the cache's room is (ratio).

    TensorRT-LLM, KvCacheConfig.free_gpu_memory_fraction.
    """
    left = memory_bytes - gpu_weight_bytes - held_adapter_bytes - profile_bytes - framework_bytes
    return where(left > engine_room_bytes, engine_room_bytes / left, 1)


@law
def served_context(max_context, engine_room_bytes, cache_share, kv_bytes_per_token, cached_layers, cached_windows,
                   recurrent_bytes, index_bytes_per_token, window=0):
    """Tokens of the longest request that an engine admits (count): what the model reads, or what its cache holds of one
    sequence. vLLM, v1/core/kv_cache_utils.py, --max-model-len auto.
    """
    return minimum(max_context, longest_context.formula(engine_room_bytes / cache_share, kv_bytes_per_token, cached_layers,
                                                        cached_windows, recurrent_bytes, index_bytes_per_token, 1, window))


@law
def engine_block_tokens(kv_bytes_per_token, cached_layers, recurrent_bytes, gpu_kv_heads, kv_heads, window_ratio, linear_layers=0,
                        kv_lora_rank=0, tensor_parallel=1, block_tokens=...):
    """Tokens in a block of a layer that keeps every token (count). vLLM, platforms/interface.py and v1/core/kv_cache_planning.py.

    Blocks of all kinds of layers take as many bytes: as many as the state of a linear layer at least, and those of layers that
    keep less of a token hold more tokens. Beside linear layers a latent comes in steps of 128 tokens.
    """
    step = where(kv_lora_rank > 0, maximum(block_tokens, LATENT_STEP), block_tokens)
    token = kv_bytes_per_token / cached_layers * where(kv_lora_rank > 0, 1, gpu_kv_heads / kv_heads)
    state = recurrent_bytes / maximum(linear_layers, 1) / tensor_parallel
    return where(linear_layers > 0, step * ceil(state / (step * token)), block_tokens) * maximum(window_ratio, 1)


def _least(one, other):
    """The smaller of two counts, or the one that isn't 0."""
    return where(minimum(one, other) > 0, minimum(one, other), maximum(one, other))


@law
def group_layers(cached_layers, cached_windows, window_layers=0, shared_window_layers=0, linear_layers=0):
    """Layers of one kind that share a block of the engine's cache (count). vLLM, v1/core/kv_cache_planning.py.

    The fewest of those that keep every token, a window or a state; or the most if they are less than half as many again.
    """
    full, windows = cached_layers - cached_windows, window_layers - shared_window_layers
    fewest, most = _least(_least(full, windows), linear_layers), maximum(maximum(full, windows), linear_layers)
    return where(most < 1.5 * fewest, most, fewest)


@law
def window_blocks(context, batched_tokens, engine_block_tokens, window_ratio, window=0, chunked=0):
    """Blocks that one sequence may take in layers with a window (count). vLLM, v1/kv_cache_interface.py.

    Behind the window stands what a pass reads at once; one block more, as a sliding window need not begin with a block.
    """
    held = minimum(window - 1 + chunked + batched_tokens, context)
    return ceil(held / (engine_block_tokens / window_ratio)) + 1 - chunked


@law
def request_blocks(context, engine_block_tokens, window_blocks, group_layers, cached_layers, cached_windows, window_layers=0,
                   shared_window_layers=0, linear_layers=0, state_copies=...):
    """Blocks of the cache that one sequence may take in all groups of layers (count). vLLM, v1/core/kv_cache_utils.py.

    A linear layer takes a block for its state, and another where an engine that caches prefixes keeps the last block's state.
    """
    full = ceil((cached_layers - cached_windows) / group_layers) * ceil(context / engine_block_tokens)
    windows = ceil((window_layers - shared_window_layers) / group_layers) * window_blocks
    return full + windows + ceil(linear_layers / group_layers) * state_copies


@law
def cache_blocks(engine_room_bytes, gpu_kv_bytes_per_token, group_layers, cached_layers, engine_block_tokens):
    """Blocks in the reserved memory, each for the layers of one group (count). vLLM, v1/core/kv_cache_planning.py."""
    return floor(engine_room_bytes / (gpu_kv_bytes_per_token * group_layers / cached_layers * engine_block_tokens))


@law
def cache_tokens(concurrency, context):
    """Tokens that the engine's blocks hold (count), in sequences of that length. vLLM, v1/core/kv_cache_utils.py."""
    return floor(concurrency * context)


@law
def concurrency(cache_blocks, request_blocks):
    """Sequences of full length that the engine's blocks hold at once (ratio). vLLM, v1/core/kv_cache_utils.py."""
    return cache_blocks / request_blocks
