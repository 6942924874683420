"""Time as the larger of compute time and memory time: matrix products, a model's operators, decode and prefill."""
from ..core.arithmetic import floor, maximum, minimum, quotient, where
from ..core.law import law
from .kv_cache import _attended_entries, _layer_tokens


@law
def matmul_flops(rows, inner, columns):
    """FLOP of a (rows x inner) by (inner x columns) product: one multiply and one add per term (count)."""
    return 2 * rows * inner * columns


@law
def matmul_bytes(rows, inner, columns, element_bytes=...):
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
def attainable_flops(intensity, peak_flops, bandwidth, compute_efficiency=1, bandwidth_efficiency=1):
    """FLOP/s the roofline allows at an intensity. Williams et al. 2009."""
    return minimum(peak_flops * compute_efficiency, intensity * bandwidth * bandwidth_efficiency)


@law
def matmul_fill(product_fill, compute_efficiency=1):
    """Share of a GPU that the tiles of a product fill (ratio); 1 for a bound."""
    return where(compute_efficiency < 1, product_fill, 1)


@law
def matmul_seconds(matmul_flops, matmul_bytes, product_rate, memory_rate, matmul_fill, kernel_seconds=0):
    """Compute and memory traffic overlap, so the longer one is the time (s), and the kernel has to start and end."""
    return maximum(matmul_flops / (product_rate * matmul_fill), matmul_bytes / memory_rate) + kernel_seconds


@law
def decode_pair_flops(heads, head_dim, kv_lora_rank=0, rope_head_dim=0, o_lora_rank=0):
    """FLOP of a new token with one cached token in one layer (count): a score and a weighted value, 2 per element each.

    Latent attention takes both in the latent space, where the cache is. DeepSeek-V2 (arXiv 2405.04434, section 2.1.2). The one
    vector of DeepSeek-V4 (`o_lora_rank`) is a value with its rotary part too.
    """
    rotary = where(o_lora_rank > 0, 2 * rope_head_dim, rope_head_dim)
    return 2 * heads * where(kv_lora_rank > 0, 2 * kv_lora_rank + rotary, 2 * head_dim)


@law
def decode_pairs(context, attention_layers, window_layers=0, window=0, indexer_topk=0, dense_attention_layers=0,
                 indexer_layers=0, compression=0, heavy_layers=0, heavy_compression=0):
    """Cached tokens that a new token attends to, over all layers (count): a sliding window ends at `window` of them, sparse
    attention at those that its indexer chooses. Mistral 7B (arXiv 2310.06825, section 2), DeepSeek-V3.2-Exp.

    Compressed attention has entries for several tokens too: DeepSeek-V4, transformers models/deepseek_v4.
    """
    attended = where(indexer_topk > 0, minimum(context, indexer_topk), context)
    return (_layer_tokens(attended, attention_layers, window_layers, window) + dense_attention_layers * (context - attended)
            + _attended_entries(context, indexer_layers, compression, heavy_layers, heavy_compression, indexer_topk))


@law
def index_flops(context, indexer_layers=0, indexer_heads=0, indexer_dim=0, compression=0):
    """FLOP by which a new token's sparse attention scores the cached tokens, over all layers (count). DeepSeek-V3.2-Exp."""
    return 2 * context / maximum(compression, 1) * indexer_layers * indexer_heads * indexer_dim


@law
def token_attention_flops(decode_pairs, decode_pair_flops, index_flops, recurrent_flops):
    """FLOP of a new token with what the layers keep of those before it (count): cached tokens, index and states."""
    return decode_pairs * decode_pair_flops + index_flops + recurrent_flops


@law
def token_flops(active_params, lookup_params):
    """FLOP of a token's products (count): 2 per parameter it multiplies. Kaplan et al. 2020 (arXiv 2001.08361, section 2.1)."""
    return 2 * (active_params - lookup_params)


@law
def sequence_decode_flops(token_flops, token_attention_flops):
    """FLOP of one new token of one sequence (count): its products, and attention over the context."""
    return token_flops + token_attention_flops


@law
def decode_flops(sequence_decode_flops, batch):
    """FLOP of one decode step (count): one new token for each sequence."""
    return sequence_decode_flops * batch


@law
def read_bytes(read_params, lookup_params, read_wider_bytes, weight_element_bytes=...):
    """Weights that one decode step reads (bytes): every one it multiplies once, whatever the batch."""
    return (read_params - lookup_params) * weight_element_bytes + read_wider_bytes


@law
def decode_bytes(read_bytes, read_kv_bytes):
    """Bytes one decode step reads: weights, and the cache that is attended to."""
    return read_bytes + read_kv_bytes


@law
def decode_seconds(batch, token_flops, read_bytes, token_attention_flops, read_kv_bytes, token_bytes, launch_seconds,
                   product_rate, attention_rate, memory_rate, pass_fill, expert_extra_flops, host_seconds=0):
    """Time of one decode step (s): products, attention, what other kernels move, and the start and end of each kernel.

    Within a kernel compute and traffic overlap, one kernel after the other does not. Every sequence of the batch waits for
    the whole step: this is TPOT, not divided by batch.
    """
    products = maximum(batch * (token_flops + expert_extra_flops) / (product_rate * pass_fill), read_bytes / memory_rate)
    attention = maximum(batch * token_attention_flops / attention_rate, read_kv_bytes / memory_rate)
    return products + attention + batch * token_bytes / memory_rate + launch_seconds + host_seconds


@law
def tokens_per_second(batch, decode_seconds):
    """Output tokens a second: one per sequence and step."""
    return batch / decode_seconds


@law
def prefill_pair_flops(heads, head_dim, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0, indexer_topk=0, o_lora_rank=0):
    """FLOP of one prompt token with another in one layer (count): a score and a weighted value, 2 per element each.

    Latent attention expands the latent to full heads first. DeepSeek-V2 (arXiv 2405.04434, section 2.1.3). Sparse attention takes
    both in the latent space, as a new token does. deepseek-ai/FlashMLA README.md, sparse prefill kernel.
    """
    rotary = where(o_lora_rank > 0, 2 * rope_head_dim, rope_head_dim)
    latent = where(indexer_topk > 0, 2 * kv_lora_rank + rotary, head_dim + rope_head_dim + value_head_dim)
    return 2 * heads * where(kv_lora_rank > 0, latent, 2 * head_dim)


def _banded(prompt, window, causal):
    """Pairs of a prompt whose tokens attend to at most `window` tokens each."""
    band = minimum(prompt, window)
    return band * (prompt - causal * band / 2)


@law
def prefill_pairs(prompt, attention_layers, window_layers=0, window=0, causal=..., chunked=0, indexer_topk=0,
                  dense_attention_layers=0, indexer_layers=0, compression=0, heavy_layers=0, heavy_compression=0):
    """Pairs of tokens that attention computes in a prompt, over all layers (count).

    `causal` leaves out the masked half; a sliding window leaves a band of `window` tokens (arXiv 2310.06825, section 2), sparse
    attention one of those that are chosen, and chunks a square for each (Llama 4, transformers modeling_llama4.py). Entries of
    compressed attention stand for several tokens, of which the indexer chooses some.
    """
    everything = prompt**2 * (1 - causal / 2)
    full = where(indexer_topk > 0, _banded(prompt, indexer_topk, causal), everything)
    side = maximum(window, 1)
    whole = floor(prompt / side)
    chunks = (whole * side**2 + (prompt - whole * side) ** 2) * (1 - causal / 2)
    windowed = where(chunked > 0, chunks, _banded(prompt, window, causal))
    chosen = _banded(prompt, indexer_topk * compression, causal) / maximum(compression, 1)
    entries = where(compression > 0, indexer_layers * chosen, 0) + heavy_layers * everything / maximum(heavy_compression, 1)
    return ((attention_layers - window_layers - dense_attention_layers) * full + dense_attention_layers * everything
            + window_layers * windowed + entries)


@law
def prompt_index_flops(prompt, indexer_layers=0, indexer_heads=0, indexer_dim=0, compression=0):
    """FLOP by which the tokens of a prompt score those before them for sparse attention, over all layers (count)."""
    return prompt**2 / maximum(compression, 1) * indexer_layers * indexer_heads * indexer_dim


@law
def head_params(vocab, hidden, head_bias=0):
    """Parameters of the output head, its own or tied (count)."""
    return vocab * (hidden + head_bias)


@law
def prefill_flops(active_params, lookup_params, head_params, batch, prompt, prefill_pairs, prefill_pair_flops, recurrent_flops,
                  prompt_index_flops):
    """FLOP of a prefill (count): 2 per parameter and token, but the output head for the last token alone, and attention.

    Kaplan et al. 2020 (arXiv 2001.08361, section 2.1).
    """
    body = active_params - lookup_params - head_params
    mixing = prefill_pairs * prefill_pair_flops + prompt * recurrent_flops + prompt_index_flops
    return batch * (2 * body * prompt + 2 * head_params + mixing)


@law
def prefill_seconds(batch, prefilled_tokens, prompt_product_flops, prompt_attention_flops, weight_bytes, token_bytes,
                    launch_seconds, product_rate, attention_rate, memory_rate, prompt_fill, expert_extra_flops, host_seconds=0):
    """Time of a prefill (s): products or one read of the weights if that is longer, attention, what other kernels move, and
    the start and end of each kernel. It is TTFT without queueing.
    """
    flops = prompt_product_flops + prefilled_tokens * expert_extra_flops
    products = maximum(batch * flops / (product_rate * prompt_fill), weight_bytes / memory_rate)
    attention = batch * prompt_attention_flops / attention_rate
    return products + attention + batch * prefilled_tokens * token_bytes / memory_rate + launch_seconds + host_seconds


@law
def critical_batch(peak_flops, bandwidth, weight_element_bytes=...):
    """Batch at which multiplying the weights takes as long as reading them (count): decode is memory-bound below it.

    `peak_flops` is the peak of the format computed in. Cache reads are left out; they only raise the batch.
    """
    return peak_flops * weight_element_bytes / (2 * bandwidth)


@law
def context_critical_batch(params, lookup_params, sequence_decode_flops, sequence_kv_bytes, peak_flops, bandwidth,
                           weight_element_bytes=...):
    """Batch at which decode turns compute-bound with the cache counted (count), every expert read.

    From n C / F = ((P - P_look) e + n K) / B. Infinite if a cache takes as long to read as its token to compute.
    """
    weights = (params - lookup_params) * weight_element_bytes
    return quotient(weights * peak_flops, sequence_decode_flops * bandwidth - sequence_kv_bytes * peak_flops)


# One operator of a pass, in all layers together

@law
def operator_flops(tokens, used_params):
    """FLOP of an operator with weights (count): 2 per parameter and token. Kaplan et al. 2020 (arXiv 2001.08361)."""
    return 2 * tokens * used_params


@law
def operator_bytes(tokens, touched_params, moved_values, weight_element_bytes=..., activation_element_bytes=...):
    """Bytes of an operator with weights: each touched weight once, and every token's inputs and outputs."""
    return touched_params * weight_element_bytes + tokens * moved_values * activation_element_bytes


@law
def attention_flops(batch, pairs, pair_flops):
    """FLOP of attention scores and weighted values (count). Kaplan et al. 2020 (arXiv 2001.08361, section 2.1)."""
    return batch * pairs * pair_flops


@law
def attention_bytes(kv_bytes, tokens, moved_values, activation_element_bytes=...):
    """Bytes of attention that never writes its scores: the cache once, and every token's inputs and outputs.

    FlashAttention (arXiv 2205.14135, section 3.1).
    """
    return kv_bytes + tokens * moved_values * activation_element_bytes


@law
def operator_seconds(operator_flops, operator_bytes, kernels, product_rate, memory_rate, kernel_seconds=0):
    """Time of an operator (s): compute or memory traffic, whichever is longer, and the start and end of its kernels."""
    return maximum(operator_flops / product_rate, operator_bytes / memory_rate) + kernels * kernel_seconds


@law
def expert_operator_seconds(operator_flops, operator_bytes, kernels, product_rate, memory_rate, expert_start_seconds,
                            grouped_efficiency=1, kernel_seconds=0):
    """Time of the products of one layer's experts (s): compute, slower than in dense products, or memory traffic, and what begins
    later. Shares: data/shares.csv."""
    compute = operator_flops / (product_rate * grouped_efficiency)
    return maximum(compute, operator_bytes / memory_rate) + kernels * kernel_seconds + expert_start_seconds


@law
def critical_tokens(used_params, touched_params, moved_values, peak_flops, bandwidth, weight_element_bytes=...,
                    activation_element_bytes=...):
    """Tokens in one pass at which an operator's compute takes as long as its traffic (count): memory-bound below it.

    From 2 n N / F = (N_t e_w + n v e_a) / B. Infinite where the tokens alone move more than they compute.
    """
    return quotient(touched_params * weight_element_bytes * peak_flops,
                    2 * used_params * bandwidth - moved_values * activation_element_bytes * peak_flops)


@law
def critical_prompt(attention_layers, kv_bytes_per_token, prefill_pair_flops, moved_values, peak_flops, bandwidth, causal=...,
                    activation_element_bytes=...):
    """Prompt at which attention's compute takes as long as its traffic in a prefill (tokens), without sliding windows.

    From L p^2 (1 - causal/2) C / F = p (K_t + v e_a) / B.
    """
    moved = kv_bytes_per_token + moved_values * activation_element_bytes
    return 2 * moved * peak_flops / (attention_layers * (2 - causal) * prefill_pair_flops * bandwidth)
