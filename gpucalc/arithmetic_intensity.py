"""Time as the larger of compute time and memory time: matrix products, decode and prefill."""
from .law import law, maximum, minimum, quotient, where


@law
def matmul_flops(rows, inner, columns):
    """FLOP of a (rows x inner) by (inner x columns) product: one multiply and one add per term (count)."""
    return 2 * rows * inner * columns


@law
def matmul_bytes(rows, inner, columns, element_bytes=2):
    """Bytes of both inputs and the output, each moved once."""
    return (rows * inner + inner * columns + rows * columns) * element_bytes


@law
def intensity(matmul_flops, matmul_bytes):
    """Arithmetic intensity (FLOP per byte). Williams et al. 2009, Roofline (doi 10.1145/1498765.1498785)."""
    return matmul_flops / matmul_bytes


@law
def ridge_point(peak_flops, bandwidth):
    """Intensity at which compute time equals memory time (FLOP per byte). Williams et al. 2009."""
    return peak_flops / bandwidth


@law
def attainable_flops(intensity, peak_flops, bandwidth):
    """FLOP/s the roofline allows at an intensity. Williams et al. 2009."""
    return minimum(peak_flops, intensity * bandwidth)


@law
def matmul_seconds(matmul_flops, matmul_bytes, peak_flops, bandwidth, compute_efficiency=1, bandwidth_efficiency=1):
    """Compute and memory traffic overlap, so the longer one is the time (s)."""
    return maximum(matmul_flops / (peak_flops * compute_efficiency), matmul_bytes / (bandwidth * bandwidth_efficiency))


@law
def decode_pair_flops(heads, head_dim, kv_lora_rank=0, rope_head_dim=0):
    """FLOP of a new token with one cached token in one layer (count): a score and a weighted value, 2 per element each.

    Latent attention takes both in the latent space, where the cache is. DeepSeek-V2 (arXiv 2405.04434, section 2.1.2).
    """
    return 2 * heads * where(kv_lora_rank > 0, 2 * kv_lora_rank + rope_head_dim, 2 * head_dim)


@law
def sequence_decode_flops(active_params, lookup_params, context, layers, decode_pair_flops):
    """FLOP of one new token of one sequence (count): 2 per parameter it multiplies, and attention over the context.

    Kaplan et al. 2020 (arXiv 2001.08361, section 2.1).
    """
    return 2 * (active_params - lookup_params) + layers * context * decode_pair_flops


@law
def decode_flops(sequence_decode_flops, batch):
    """FLOP of one decode step (count): one new token for each sequence."""
    return sequence_decode_flops * batch


@law
def decode_bytes(read_params, lookup_params, kv_bytes, weight_element_bytes=2):
    """Bytes one decode step reads: every weight it multiplies once, whatever the batch, and the whole cache."""
    return (read_params - lookup_params) * weight_element_bytes + kv_bytes


@law
def decode_seconds(decode_flops, decode_bytes, peak_flops, bandwidth, compute_efficiency=1, bandwidth_efficiency=1):
    """Time of one decode step (s). Every sequence of the batch waits for the whole step: this is TPOT, not divided by batch."""
    return maximum(decode_flops / (peak_flops * compute_efficiency), decode_bytes / (bandwidth * bandwidth_efficiency))


@law
def tokens_per_second(batch, decode_seconds):
    """Output tokens a second: one per sequence and step."""
    return batch / decode_seconds


@law
def prefill_pair_flops(heads, head_dim, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0):
    """FLOP of one prompt token with another in one layer (count): a score and a weighted value, 2 per element each.

    Latent attention expands the latent to full heads first. DeepSeek-V2 (arXiv 2405.04434, section 2.1.3).
    """
    return 2 * heads * where(kv_lora_rank > 0, head_dim + rope_head_dim + value_head_dim, 2 * head_dim)


@law
def prefill_flops(active_params, lookup_params, vocab, hidden, batch, prompt, layers, prefill_pair_flops, causal=1):
    """FLOP of a prefill (count): 2 per parameter and token, but the output head for the last token alone, and attention.

    `causal` halves attention: the masked half is skipped.
    """
    attention = layers * prompt**2 * prefill_pair_flops * (1 - causal / 2)
    body = active_params - lookup_params - vocab * hidden
    return batch * (2 * body * prompt + 2 * vocab * hidden + attention)


@law
def prefill_seconds(prefill_flops, weight_bytes, peak_flops, bandwidth, compute_efficiency=1, bandwidth_efficiency=1):
    """Time of a prefill (s): compute, or one read of the weights if that is longer. It is TTFT without queueing."""
    return maximum(prefill_flops / (peak_flops * compute_efficiency), weight_bytes / (bandwidth * bandwidth_efficiency))


@law
def critical_batch(peak_flops, bandwidth, weight_element_bytes=2):
    """Batch at which multiplying the weights takes as long as reading them (count): decode is memory-bound below it.

    `peak_flops` is the peak of the format computed in. Cache reads are left out; they only raise the batch.
    """
    return peak_flops * weight_element_bytes / (2 * bandwidth)


@law
def context_critical_batch(params, lookup_params, sequence_decode_flops, sequence_kv_bytes, peak_flops, bandwidth,
                           weight_element_bytes=2):
    """Batch at which decode turns compute-bound with the cache counted (count), every expert read.

    From n C / F = ((P - P_look) e + n K) / B. Infinite if a cache takes as long to read as its token to compute.
    """
    weights = (params - lookup_params) * weight_element_bytes
    return quotient(weights * peak_flops, sequence_decode_flops * bandwidth - sequence_kv_bytes * peak_flops)
