"""Bytes of the key-value cache, and how much of it fits beside the weights."""
from .law import floor, law, maximum, minimum, where


@law
def latent_bytes_per_token(layers, kv_lora_rank, rope_head_dim, cache_element_bytes=2):
    """Compressed latent and rotary key of one token in every layer (bytes). DeepSeek-V2 (arXiv 2405.04434, section 2.1.4)."""
    return layers * (kv_lora_rank + rope_head_dim) * cache_element_bytes


@law
def kv_bytes_per_token(layers, kv_heads, head_dim, cache_element_bytes=2, kv_lora_rank=0, rope_head_dim=0):
    """Keys and values of one token in every layer (bytes). Pope et al. 2022 (arXiv 2211.05102, section 3.3).

    Where `kv_lora_rank` is above 0 the model keeps a compressed latent instead.
    """
    heads = 2 * layers * kv_heads * head_dim * cache_element_bytes
    latent = latent_bytes_per_token(layers, kv_lora_rank, rope_head_dim, cache_element_bytes)
    return where(kv_lora_rank > 0, latent, heads)


@law
def sequence_kv_bytes(kv_bytes_per_token, context, layers=1, window_layers=0, window=0):
    """Cache of one sequence (bytes): layers with a sliding window hold at most `window` tokens.

    Mistral 7B (arXiv 2310.06825, section 2). Without windows this is bytes per token times context.
    """
    layer_tokens = (layers - window_layers) * context + window_layers * minimum(context, window)
    return kv_bytes_per_token / layers * layer_tokens


@law
def kv_bytes(sequence_kv_bytes, batch):
    """Cache of a batch of sequences of the same length (bytes)."""
    return sequence_kv_bytes * batch


@law
def weight_bytes(params, weight_element_bytes=2):
    """Weights at a numeric width (bytes)."""
    return params * weight_element_bytes


@law
def cache_room_bytes(memory_bytes, weight_bytes, gpus=1, headroom=0.1):
    """Memory left for the cache once weights and headroom are taken, over all GPUs (bytes); 0 if the weights don't fit."""
    return maximum(memory_bytes * gpus * (1 - headroom) - weight_bytes, 0)


@law
def max_batch(cache_room_bytes, sequence_kv_bytes):
    """Most sequences of that length whose cache fits (count)."""
    return floor(cache_room_bytes / sequence_kv_bytes)


@law
def longest_context(cache_room_bytes, kv_bytes_per_token, batch=1):
    """Longest context at a batch, every layer keeping every token (tokens)."""
    return floor(cache_room_bytes / (kv_bytes_per_token * batch))
