"""Time as the larger of compute time and memory time: matrix products, decode and prefill."""
from .law import law, maximum, minimum


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
def decode_flops(active_params, batch, context, layers, heads, head_dim):
    """FLOP of one decode step: 2 per active parameter and sequence, 4 per cached token, head and head element (count).

    Kaplan et al. 2020 (arXiv 2001.08361, section 2.1).
    """
    return batch * (2 * active_params + 4 * layers * context * heads * head_dim)


@law
def decode_bytes(read_params, kv_bytes, weight_element_bytes=2):
    """Bytes one decode step reads: every weight it touches once, and the whole cache."""
    return read_params * weight_element_bytes + kv_bytes


@law
def decode_seconds(decode_flops, decode_bytes, peak_flops, bandwidth, compute_efficiency=1, bandwidth_efficiency=1):
    """Time of one decode step (s). Every sequence of the batch waits for the whole step: this is TPOT, not divided by batch."""
    return maximum(decode_flops / (peak_flops * compute_efficiency), decode_bytes / (bandwidth * bandwidth_efficiency))


@law
def tokens_per_second(batch, decode_seconds):
    """Output tokens a second: one per sequence and step."""
    return batch / decode_seconds


@law
def prefill_flops(active_params, batch, prompt, layers, heads, head_dim, causal=1):
    """FLOP of a prefill (count): 2 per active parameter and token, and attention, halved where the mask is skipped."""
    attention = 4 * layers * heads * head_dim * prompt**2 * (1 - causal / 2)
    return batch * (2 * active_params * prompt + attention)


@law
def prefill_seconds(prefill_flops, weight_bytes, peak_flops, bandwidth, compute_efficiency=1, bandwidth_efficiency=1):
    """Time of a prefill (s): compute, or one read of the weights if that is longer. It is TTFT without queueing."""
    return maximum(prefill_flops / (peak_flops * compute_efficiency), weight_bytes / (bandwidth * bandwidth_efficiency))


@law
def critical_batch(peak_flops, bandwidth, weight_element_bytes=2):
    """Batch at which reading the weights takes as long as using them (count): decode is memory-bound below it.

    `peak_flops` is the peak of the format computed in. Cache reads are left out; they only raise the batch.
    """
    return peak_flops * weight_element_bytes / (2 * bandwidth)
