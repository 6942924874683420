"""Matrix products of one micro-batch on one GPU, by their shapes: projections, MLPs, experts, attention, the output head.

A product of the forward pass has two in the backward pass: for the gradient of its input, and for that of its weight.
"""
from ..core.arithmetic import ceil, maximum, minimum, where
from ..core.law import law
from .shares import product_fill


def repeated(recompute, recomputed_share, least=2):
    """Share of the layers in which what recompute drops from level `least` on runs again; level 3 keeps the products."""
    return recomputed_share * (where(recompute >= least, 1, 0) - where(recompute >= 3, 1, 0))


def _forwards(recompute, recomputed_share, dropped):
    """How often a product runs forward: once, again with whole layers, and the share that torch's policy drops of it again.

    Of query, key, value, output, gate, up and down it makes key, output and up again: half of the projections, and half of gate
    and up (pytorch/torchtitan, torchtitan/distributed/activation_checkpoint.py: every second product).
    """
    return 1 + repeated(recompute, recomputed_share) + recomputed_share * where(recompute >= 3, dropped, 0)


def _time(rows, inner, columns, output_element_bytes, product_peak, units, bandwidth, grouped_products, narrow_products,
          tile_rows, tile_columns, compute_efficiency, bandwidth_efficiency, shown_traffic, kernel_seconds,
          activation_element_bytes):
    tiled = ceil(rows / tile_rows) * tile_rows
    fill = rows / tiled * product_fill.formula(grouped_products * tiled, columns, units, tile_rows, tile_columns)
    compute = 2 * rows * inner * columns / (product_peak * compute_efficiency * fill)
    moved = ((rows + columns) * inner * 0.5**narrow_products * activation_element_bytes
             + rows * columns * output_element_bytes)
    traffic = moved / (bandwidth * bandwidth_efficiency)
    serial = where(grouped_products > 1, 1, minimum(narrow_products, 1))
    shown = shown_traffic * serial * minimum(compute, traffic)
    return grouped_products * (maximum(compute, traffic) + shown + kernel_seconds)


@law
def product_seconds(rows, inner, columns, product_peak, units, bandwidth, grouped_products=1, narrow_products=0, tile_rows=...,
                    tile_columns=..., compute_efficiency=1, bandwidth_efficiency=1, shown_traffic=0, kernel_seconds=0,
                    activation_element_bytes=...):
    """Time of a product, or of equal ones (s): compute, in whole tiles and waves, or traffic if that is longer.

    Both inputs are read once, of half the width in 8 bits and a quarter in 4, and the output is written. What of the traffic
    is not hidden, `shown_traffic`, comes on top in 8 and 4 bits (DeepGEMM README @7a70b43) and for several products, whose
    weights are read one after the other, and so do the start and end of a kernel for each.
    NVIDIA, Matrix multiplication background user's guide (docs.nvidia.com/deeplearning/performance).
    """
    return _time(rows, inner, columns, activation_element_bytes, product_peak, units, bandwidth, grouped_products,
                 narrow_products, tile_rows, tile_columns, compute_efficiency, bandwidth_efficiency, shown_traffic,
                 kernel_seconds, activation_element_bytes)


def _passes(rows, inner, columns, forwards, trained, sum_bytes, products, product_peak, units, bandwidth, narrow_products,
            tile_rows, tile_columns, compute_efficiency, bandwidth_efficiency, shown_traffic, kernel_seconds,
            activation_element_bytes):
    """Forward, as often as it runs, and backward: for the gradient of the input, and for that of a trained weight.

    The latter is added to the sum of those of other micro-batches, which is read and written in its own width: `sum_bytes` an
    element (Megatron-LM, megatron/core/tensor_parallel/layers.py: gradient accumulation fusion).
    """
    def one(m, k, n, output_bytes):
        return _time(m, k, n, output_bytes, product_peak, units, bandwidth, products, narrow_products, tile_rows, tile_columns,
                     compute_efficiency, bandwidth_efficiency, shown_traffic, kernel_seconds, activation_element_bytes)
    element = activation_element_bytes
    return (forwards * one(rows, inner, columns, element) + one(rows, columns, inner, element)
            + trained * one(columns, rows, inner, sum_bytes))


@law
def expanded_params(heads, head_dim, attending_share, q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0,
                    tensor_parallel=1):
    """Parameters that expand latent queries, keys and values in one layer on one GPU, mean of the layers (count)."""
    queries = q_lora_rank * (head_dim + rope_head_dim)
    return attending_share * heads * (queries + kv_lora_rank * (head_dim + value_head_dim)) / tensor_parallel


@law
def projection_seconds(gpu_tokens, hidden, mixed_width, gpu_mixing_params, expanded_params, adapters, gradient_element_bytes,
                       product_peak, units, bandwidth, tensor_parallel=1, recompute=0, recomputed_share=1, flash_attention=0,
                       narrow_products=0, tile_rows=..., tile_columns=..., compute_efficiency=1, bandwidth_efficiency=1,
                       shown_traffic=0, kernel_seconds=0, persistent_gradients=..., activation_element_bytes=...):
    """Products with the matrices that mix tokens in one layer, mean of the layers, on one GPU (s): into the heads, as one
    product, and out of them. Selective recompute beside FlashAttention expands latent vectors again.
    """
    out = mixed_width / tensor_parallel
    inner = gpu_mixing_params / hidden - out
    light = recomputed_share * flash_attention * (repeated(recompute, 1, 1) - repeated(recompute, 1))
    again = light * expanded_params / (hidden * inner)

    def passes(inner, columns, further):
        return _passes(gpu_tokens, inner, columns, further + _forwards(recompute, recomputed_share, 1 / 2), 1 - adapters,
                       (1 + persistent_gradients) * gradient_element_bytes, 1, product_peak, units, bandwidth, narrow_products,
                       tile_rows, tile_columns, compute_efficiency, bandwidth_efficiency, shown_traffic, kernel_seconds,
                       activation_element_bytes)
    return passes(hidden, inner, again) + passes(out, hidden, 0)


@law
def mlp_product_seconds(gpu_tokens, hidden, intermediate, adapters, gradient_element_bytes, product_peak, units, bandwidth,
                        gated_mlp=0, tensor_parallel=1, recompute=0, recomputed_share=1, narrow_products=0, tile_rows=...,
                        tile_columns=..., compute_efficiency=1, bandwidth_efficiency=1, shown_traffic=0, kernel_seconds=0,
                        persistent_gradients=..., activation_element_bytes=...):
    """Products of one dense MLP on one GPU (s): up, with the gate as one product, and down. Megatron-LM (arXiv 1909.08053)."""
    width = intermediate / tensor_parallel

    def passes(inner, columns, dropped):
        return _passes(gpu_tokens, inner, columns, _forwards(recompute, recomputed_share, dropped), 1 - adapters,
                       (1 + persistent_gradients) * gradient_element_bytes, 1, product_peak, units, bandwidth, narrow_products,
                       tile_rows, tile_columns, compute_efficiency, bandwidth_efficiency, shown_traffic, kernel_seconds,
                       activation_element_bytes)
    return passes(hidden, (1 + gated_mlp) * width, gated_mlp / 2) + passes(width, hidden, 0)


@law
def expert_tokens(gpu_tokens, experts=0, experts_per_token=0, tensor_parallel=1, expert_parallel=1, expert_tensor_parallel=1):
    """Tokens of a micro-batch that one expert takes in, if all take as many (count). GShard (arXiv 2006.16668, section 2.2).

    GPUs of a tensor-parallel group send a part of the tokens each; those that share the experts send theirs together.
    """
    sent = gpu_tokens / tensor_parallel * expert_parallel * expert_tensor_parallel
    return maximum(sent * experts_per_token / maximum(experts, 1), 1)


@law
def expert_product_seconds(gpu_tokens, expert_tokens, hidden, adapters, gradient_element_bytes, product_peak, units, bandwidth,
                           experts=0, shared_experts=0, expert_intermediate=0, gated_mlp=0, expert_latent=0, tensor_parallel=1,
                           expert_parallel=1, expert_tensor_parallel=1, recompute=0, recomputed_share=1, narrow_products=0,
                           tile_rows=..., tile_columns=..., compute_efficiency=1, expert_efficiency=1, bandwidth_efficiency=1,
                           shown_traffic=0, kernel_seconds=0, persistent_gradients=..., activation_element_bytes=...):
    """Products of one layer of experts on one GPU (s): those of its experts, a kernel each, the shared experts' besides, and
    those to fewer channels and back where experts work on them.

    MegaBlocks, Gale et al. 2022 (arXiv 2211.15841, section 4).
    """
    def passes(rows, inner, columns, products, dropped, share=compute_efficiency):
        return _passes(rows, inner, columns, _forwards(recompute, recomputed_share, dropped), 1 - adapters,
                       (1 + persistent_gradients) * gradient_element_bytes, products, product_peak, units, bandwidth,
                       narrow_products, tile_rows, tile_columns, share, bandwidth_efficiency, shown_traffic, kernel_seconds,
                       activation_element_bytes)

    def pair(rows, channels, width, products, share=compute_efficiency):
        return (passes(rows, channels, (1 + gated_mlp) * width, products, gated_mlp / 2, share)
                + passes(rows, width, channels, products, 0, share))
    channels, fewer = where(expert_latent > 0, expert_latent, hidden), maximum(expert_latent, 1)
    routed = pair(expert_tokens, channels, maximum(expert_intermediate, 1) / expert_tensor_parallel,
                  maximum(experts, 1) / expert_parallel, compute_efficiency * expert_efficiency)
    shared = pair(gpu_tokens, hidden, maximum(shared_experts * expert_intermediate, 1) / tensor_parallel, 1)
    narrowed = passes(gpu_tokens, hidden, fewer, 1, 0) + passes(gpu_tokens, fewer, hidden, 1, 0)
    return routed + where(shared_experts > 0, shared, 0) + where(expert_latent > 0, narrowed, 0)


@law
def core_attention_seconds(gpu_tokens, attention_token_flops, peak_flops, clock_share=1, tensor_parallel=1, recompute=0,
                           recomputed_share=1, flash_attention=0, compute_efficiency=1, attention_efficiency=1):
    """Scores and values of one layer on one GPU, in 16 bits (s): forward 1, backward 2, and what is made again.

    FlashAttention makes the scores again, half of a forward pass (arXiv 2205.14135, section 3.1); without it the two are plain
    products.
    """
    fused = where(flash_attention > 0, 1, 0)
    again = repeated(recompute, recomputed_share, 1) * (1 - fused) + fused * (1 / 2 + repeated(recompute, recomputed_share))
    share = where(flash_attention > 0, attention_efficiency, compute_efficiency)
    return gpu_tokens * (3 + again) * attention_token_flops / (tensor_parallel * peak_flops * clock_share * share)


@law
def head_seconds(gpu_tokens, hidden, vocab, adapters, gradient_element_bytes, peak_flops, units, bandwidth, clock_share=1,
                 tensor_parallel=1, tile_rows=..., tile_columns=..., compute_efficiency=1, bandwidth_efficiency=1,
                 kernel_seconds=0, persistent_gradients=..., activation_element_bytes=...):
    """Products with the output head on one GPU, in 16 bits (s): no recipe runs it in 8 (NVIDIA Transformer Engine manual)."""
    return _passes(gpu_tokens, hidden, vocab / tensor_parallel, 1, 1 - adapters,
                   (1 + persistent_gradients) * gradient_element_bytes, 1, peak_flops * clock_share, units, bandwidth, 0,
                   tile_rows, tile_columns, compute_efficiency, bandwidth_efficiency, 1, kernel_seconds, activation_element_bytes)


@law
def matrix_seconds(pace_layers, pace_heads, stage_moe_layers, projection_seconds, core_attention_seconds, mlp_product_seconds,
                   expert_product_seconds, head_seconds, layers=1, mlpless_layers=0, mlp_beside=0):
    """Matrix products of a micro-batch on one GPU (s): forward, backward and recomputed."""
    sparse = minimum(stage_moe_layers, pace_layers)
    dense = maximum(pace_layers - mlpless_layers * pace_layers / layers - sparse * (1 - mlp_beside), 0)
    return (pace_layers * (projection_seconds + core_attention_seconds) + dense * mlp_product_seconds
            + sparse * expert_product_seconds + pace_heads * head_seconds)
