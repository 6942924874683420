"""Bytes of the key-value cache: of a token, a sequence, a batch and one GPU, and how much of it a server has room for."""
from ..core.arithmetic import FP32_BYTES, ceil, floor, maximum, minimum, quotient, where
from ..core.law import law
from .quantization import quantized_params, quantized_weight_bytes


@law
def latent_bytes_per_token(layers, kv_lora_rank, rope_head_dim, cache_element_bytes=..., rope_element_bytes=0):
    """Compressed latent and rotary key of one token in every layer (bytes). DeepSeek-V2 (arXiv 2405.04434, section 2.1.4).

    A narrow cache may keep the rotary key wider: FP8 with a scale of 4 bytes for 128 values and a rotary key in BF16 is 656
    bytes a layer (vllm-project/vllm, v1/attention/backends/mla/flashmla_sparse.py).
    """
    rotary = where(rope_element_bytes > 0, rope_element_bytes, cache_element_bytes)
    return layers * (kv_lora_rank * cache_element_bytes + rope_head_dim * rotary)


@law
def kv_bytes_per_token(layers, kv_heads, head_dim, cache_element_bytes=..., kv_lora_rank=0, rope_head_dim=0, layers_per_cache=1,
                       rope_element_bytes=0):
    """Keys and values of one token in every layer (bytes). Pope et al. 2022 (arXiv 2211.05102, section 3.3).

    Where `kv_lora_rank` is above 0 the model keeps a compressed latent instead. Layers that share a cache hold it once:
    Brandon et al. 2024 (arXiv 2405.12981, section 3).
    """
    heads = 2 * layers * kv_heads * head_dim * cache_element_bytes
    latent = latent_bytes_per_token.formula(layers, kv_lora_rank, rope_head_dim, cache_element_bytes, rope_element_bytes)
    return where(kv_lora_rank > 0, latent, heads) / layers_per_cache


def _layer_tokens(context, layers, window_layers, window):
    """Tokens that the layers hold together: those with a sliding window at most `window` each."""
    return (layers - window_layers) * context + window_layers * minimum(context, window)


@law
def sequence_kv_bytes(kv_bytes_per_token, context, layers=1, window_layers=0, window=0):
    """Cache of one sequence (bytes): layers with a sliding window hold at most `window` tokens.

    Mistral 7B (arXiv 2310.06825, section 2). Without windows this is bytes per token times context.
    """
    return kv_bytes_per_token / layers * _layer_tokens(context, layers, window_layers, window)


@law
def kv_bytes(sequence_kv_bytes, batch):
    """Cache of a batch of sequences of the same length (bytes)."""
    return sequence_kv_bytes * batch


@law
def shared_kv_bytes(kv_bytes_per_token, context, batch, prefix=0, layers=1, window_layers=0, window=0):
    """Cache of a batch whose sequences begin with the same tokens, which are held once (bytes).

    PagedAttention (arXiv 2309.06180, section 4.4). The first sequence costs all of it, each further one its own part.
    """
    first = _layer_tokens(context, layers, window_layers, window)
    further = _layer_tokens(maximum(context - prefix, 0), layers, window_layers, window)
    return kv_bytes_per_token / layers * (first + (batch - 1) * further)


@law
def blocks_per_sequence(context, block_tokens=...):
    """Blocks that one sequence takes of a paged cache (count). PagedAttention (arXiv 2309.06180, section 4.1)."""
    return ceil(context / block_tokens)


@law
def paged_kv_bytes(kv_bytes_per_token, blocks_per_sequence, block_tokens=..., layers=1, window_layers=0, window=0):
    """Cache of one sequence in whole blocks (bytes). PagedAttention (arXiv 2309.06180, section 4.1)."""
    held = _layer_tokens(blocks_per_sequence * block_tokens, layers, window_layers, ceil(window / block_tokens) * block_tokens)
    return kv_bytes_per_token / layers * held


@law
def cache_share(gpu_kv_heads, kv_heads, stage_layers, layers, kv_lora_rank=0):
    """Share of the cache on one GPU of the fullest pipeline stage (ratio). Pope et al. 2022 (arXiv 2211.05102, section 3.3).

    Tensor parallel divides KV heads down to one each. A latent belongs to all heads, so every GPU of the stage holds it.
    """
    return where(kv_lora_rank > 0, 1, gpu_kv_heads / kv_heads) * stage_layers / layers


@law
def gpu_kv_bytes_per_token(kv_bytes_per_token, cache_share):
    """Cache of one token on one GPU of the fullest pipeline stage (bytes)."""
    return kv_bytes_per_token * cache_share


@law
def weight_bytes(params, weight_element_bytes=...):
    """Weights at a numeric width (bytes)."""
    return params * weight_element_bytes


@law
def cache_room_bytes(memory_bytes, weight_bytes, replica_gpus=1, headroom=...):
    """Memory left for the cache once weights and headroom are taken, over all GPUs (bytes); 0 if the weights don't fit."""
    return maximum(memory_bytes * replica_gpus * (1 - headroom) - weight_bytes, 0)


@law
def max_batch(cache_room_bytes, sequence_kv_bytes):
    """Most sequences of that length whose cache fits (count)."""
    return floor(cache_room_bytes / sequence_kv_bytes)


@law
def longest_context(cache_room_bytes, kv_bytes_per_token, batch=1, layers=1, window_layers=0, window=0):
    """Longest context at a batch (tokens); infinite where every layer has a window and all windows fit.

    A sequence needs the smaller of two amounts: every token in all layers, or full windows and every token in the others.
    """
    everywhere = cache_room_bytes / (kv_bytes_per_token * batch)
    beyond = everywhere * layers - window_layers * window
    return floor(maximum(everywhere, where(beyond >= 0, quotient(beyond, layers - window_layers), 0)))


@law
def gpu_weight_bytes(gpu_params, gpu_embedding_params, weight_element_bytes=..., keep_embeddings=0, kept_element_bytes=...):
    """Weights on one GPU (bytes): a format may leave embeddings, final norm and head at another width."""
    stored = quantized_params.formula(gpu_params, gpu_embedding_params, keep_embeddings)
    return quantized_weight_bytes.formula(gpu_params, stored, weight_element_bytes, kept_element_bytes)


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
def engine_room_bytes(memory_bytes, gpu_weight_bytes, profile_bytes, framework_bytes, memory_utilization=...):
    """Cache memory an engine reserves on one GPU (bytes); 0 if the rest doesn't fit. vLLM, v1/worker/gpu_worker.py."""
    return maximum(memory_bytes * memory_utilization - gpu_weight_bytes - profile_bytes - framework_bytes, 0)


@law
def group_layers(layers, window_layers=0):
    """Layers of one kind that share a block of the engine's cache (count). vLLM, v1/core/kv_cache_utils.py.

    The fewer of those with a window and those without, or the more if they are less than half as many again.
    """
    fewer, more = minimum(window_layers, layers - window_layers), maximum(window_layers, layers - window_layers)
    return where(fewer > 0, where(more < 1.5 * fewer, more, fewer), layers)


@law
def window_blocks(context, batched_tokens, window=0, block_tokens=...):
    """Blocks that one sequence may take in layers with a sliding window (count). vLLM, v1/kv_cache_interface.py.

    Behind the window stands what a pass reads at once; one block more, as a window need not begin with a block.
    """
    return ceil(minimum(window - 1 + batched_tokens, context) / block_tokens) + 1


@law
def request_blocks(blocks_per_sequence, window_blocks, group_layers, layers, window_layers=0):
    """Blocks of the cache that one sequence may take in all groups of layers (count). vLLM, v1/core/kv_cache_utils.py."""
    full = ceil((layers - window_layers) / group_layers) * blocks_per_sequence
    return full + ceil(window_layers / group_layers) * window_blocks


@law
def cache_blocks(engine_room_bytes, gpu_kv_bytes_per_token, group_layers, layers, block_tokens=...):
    """Blocks in the reserved memory, each for the layers of one group (count). vLLM, v1/core/kv_cache_utils.py."""
    return floor(engine_room_bytes / (gpu_kv_bytes_per_token * group_layers / layers * block_tokens))


@law
def cache_tokens(cache_blocks, group_layers, layers, window_layers=0, block_tokens=...):
    """Tokens that the engine's blocks hold (count), each in all groups of layers. vLLM, v1/core/kv_cache_utils.py."""
    groups = ceil((layers - window_layers) / group_layers) + ceil(window_layers / group_layers)
    return floor(cache_blocks / groups) * block_tokens


@law
def concurrency(cache_blocks, request_blocks):
    """Sequences of full length that the engine's blocks hold at once (ratio). vLLM, v1/core/kv_cache_utils.py."""
    return cache_blocks / request_blocks
