"""Bytes of the key-value cache: of a token, a sequence, a batch and one GPU, and how much of it a server has room for."""
from ..core.arithmetic import FP32_BYTES, ceil, floor, maximum, minimum, quotient, where
from ..core.law import law


@law
def latent_bytes_per_token(layers, kv_lora_rank, rope_head_dim, cache_element_bytes=...):
    """Compressed latent and rotary key of one token in every layer (bytes). DeepSeek-V2 (arXiv 2405.04434, section 2.1.4)."""
    return layers * (kv_lora_rank + rope_head_dim) * cache_element_bytes


@law
def kv_bytes_per_token(layers, kv_heads, head_dim, cache_element_bytes=..., kv_lora_rank=0, rope_head_dim=0, layers_per_cache=1):
    """Keys and values of one token in every layer (bytes). Pope et al. 2022 (arXiv 2211.05102, section 3.3).

    Where `kv_lora_rank` is above 0 the model keeps a compressed latent instead. Layers that share a cache hold it once:
    Brandon et al. 2024 (arXiv 2405.12981, section 3).
    """
    heads = 2 * layers * kv_heads * head_dim * cache_element_bytes
    latent = latent_bytes_per_token.formula(layers, kv_lora_rank, rope_head_dim, cache_element_bytes)
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
def gpu_weight_bytes(gpu_params, weight_element_bytes=...):
    """Weights on one GPU (bytes)."""
    return gpu_params * weight_element_bytes


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
def cache_blocks(engine_room_bytes, gpu_kv_bytes_per_token, block_tokens=...):
    """Whole blocks in the reserved memory, every layer keeping every token (count). vLLM, v1/core/kv_cache_utils.py."""
    return floor(engine_room_bytes / (gpu_kv_bytes_per_token * block_tokens))


@law
def cache_tokens(cache_blocks, block_tokens=...):
    """Tokens that the engine's blocks hold (count)."""
    return cache_blocks * block_tokens


@law
def concurrency(cache_blocks, blocks_per_sequence):
    """Sequences of full length that the engine's blocks hold at once (ratio). vLLM, v1/core/kv_cache_utils.py."""
    return cache_blocks / blocks_per_sequence
