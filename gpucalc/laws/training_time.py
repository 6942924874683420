"""Time of a training step: the FLOP of the model, what a layout adds to them, and what of its communication shows.

A micro-batch costs matrix products, memory traffic outside them and collectives; the step repeats it, waits for the pipeline
to fill and drain, and ends with the gradients and the optimizer. GPUs of a tensor-parallel group are next to each other, then
those of context, expert, data and pipeline parallel, each group around the one before.
"""
from .arithmetic_intensity import prefill_pairs
from .interconnect import (all_gather_seconds, all_reduce_seconds, cluster_all_to_all_seconds, fabric_bandwidth,
                           point_to_point_seconds)
from ..core.arithmetic import SECONDS_PER_HOUR, maximum, where
from ..core.law import law

LOSS_FLOOR = 1.8172
PARAMS_SCALE, PARAMS_EXPONENT = 482.01, 0.3478
TOKENS_SCALE, TOKENS_EXPONENT = 2085.43, 0.3658


# FLOP

@law
def attention_token_flops(sequence, prefill_pair_flops, layers=1, window_layers=0, window=0, causal=...):
    """FLOP of a token's scores and values in one layer, forward, mean of the layers (count).

    `causal` leaves out the masked half; PaLM (arXiv 2204.02311, appendix B) counts it too.
    """
    return prefill_pair_flops * prefill_pairs.formula(sequence, layers, window_layers, window, causal) / (layers * sequence)


@law
def layer_token_flops(active_params, lookup_params, vocab, hidden, layers):
    """FLOP of a token in one layer's matrices, forward, mean of the layers (count). Kaplan et al. 2020 (arXiv 2001.08361)."""
    return 2 * (active_params - lookup_params - vocab * hidden) / layers


@law
def step_flops(layer_token_flops, attention_token_flops, step_tokens, layers, vocab, hidden, adapters):
    """Model FLOP of a training step (count): forward, and backward twice that. PaLM (arXiv 2204.02311, appendix B).

    Backward is a product for the gradient of the input and one for that of the weight, which matrices frozen under adapters
    don't need.
    """
    matrices = layers * layer_token_flops + 2 * vocab * hidden
    return step_tokens * ((3 - adapters) * matrices + 3 * layers * attention_token_flops)


@law
def recomputed_token_flops(layer_token_flops, attention_token_flops, recompute=0, flash_attention=0):
    """FLOP of a token in one layer that the backward pass does again (count). Korthikanti et al. 2022 (arXiv 2205.05198).

    Full recompute runs the layer again, selective its scores and values. FlashAttention always makes the scores again,
    half of attention (arXiv 2205.14135, section 3.1).
    """
    whole = where(recompute >= 2, 1, 0)
    return whole * layer_token_flops + attention_token_flops * where(
        flash_attention > 0, whole + 1 / 2, where(recompute >= 1, 1, 0))


@law
def hardware_flops(step_flops, recomputed_token_flops, step_tokens, layers):
    """FLOP the hardware does in a step (count): the model's and the recomputed. PaLM (arXiv 2204.02311, section 4.1)."""
    return step_flops + step_tokens * layers * recomputed_token_flops


# One micro-batch on the GPUs that set the pace

@law
def pace_heads(stage_layers, layer_token_flops, attention_token_flops, layers, vocab, hidden, pipeline_parallel=1):
    """Whether the last stage, with the output head, sets the pace (0 or 1).

    Where the layers don't divide evenly it has one less, and then only does if the head is more work than a layer.
    """
    spare = where(stage_layers * pipeline_parallel > layers, 1, 0)
    return where(2 * vocab * hidden > spare * (layer_token_flops + attention_token_flops), 1, 0)


@law
def pace_layers(stage_layers, pace_heads, layers, pipeline_parallel=1):
    """Layers on the stage that sets the pace (count)."""
    return stage_layers - pace_heads * where(stage_layers * pipeline_parallel > layers, 1, 0)


@law
def matrix_seconds(pace_layers, pace_heads, layer_token_flops, attention_token_flops, recomputed_token_flops, gpu_tokens, vocab,
                   hidden, peak_flops, adapters, tensor_parallel=1, compute_efficiency=1):
    """Matrix products of a micro-batch on one GPU (s): forward, backward and recomputed."""
    trained = 3 - adapters
    layer = trained * layer_token_flops + 3 * attention_token_flops + recomputed_token_flops
    flops = gpu_tokens * (pace_layers * layer + pace_heads * trained * 2 * vocab * hidden)
    return flops / (tensor_parallel * peak_flops * compute_efficiency)


@law
def elementwise_values(hidden, heads, kv_heads, head_dim, mlp_width, layers, gated_mlp=0, positions=0, norms_per_layer=...,
                       moe_layers=0, experts_per_token=0, kv_lora_rank=0, rope_head_dim=0, recompute=0, tensor_parallel=1,
                       sequence_parallel=0):
    """Values that a layer moves for a token outside matrix products, on one GPU (count); Ivanov et al. 2020 (arXiv 2007.00072).

    Reads and writes, forward and backward: norm 2 and 5 (its weights want a pass of their own), residual sum 3 and 3, rotary
    positions 2 and 2, copies to k experts and back 2(1 + k) each way, activation 2 and 3 of the width, gated 3 and 5.
    """
    forward = 1 + where(recompute >= 2, 1, 0)
    whole = hidden * (norms_per_layer * (2 * forward + 5) + 2 * (3 * forward + 3)
                      + moe_layers / layers * 2 * (1 + experts_per_token) * (forward + 1))
    rotated = where(kv_lora_rank > 0, (heads + 1) * rope_head_dim, (heads + kv_heads) * head_dim) * where(positions > 0, 0, 1)
    split = 2 * rotated * (forward + 1) + mlp_width * ((2 + gated_mlp) * forward + 3 + 2 * gated_mlp)
    return whole / where(sequence_parallel > 0, tensor_parallel, 1) + split / tensor_parallel


@law
def score_values(heads, sequence, flash_attention=0, dropout=0, recompute=0, tensor_parallel=1):
    """Values of the score matrix a layer moves for a token on one GPU (count); none with FlashAttention (arXiv 2205.14135).

    Forward 4: a product writes it, softmax reads and writes, a product reads. Backward 7: a product writes, softmax reads two
    and writes one, products read the softmax and twice its gradient. Dropout reads and writes each way, and a byte of mask.
    """
    forward = 1 + where(recompute >= 1, 1, 0)
    passes = 4 * forward + 7 + 5 / 2 * dropout * (forward + 1)
    return where(flash_attention > 0, 0, heads * sequence * passes / tensor_parallel)


@law
def elementwise_seconds(pace_layers, pace_heads, elementwise_values, score_values, gpu_tokens, vocab, bandwidth,
                        logit_element_bytes=..., loss_element_bytes=..., tensor_parallel=1, activation_element_bytes=...,
                        bandwidth_efficiency=1):
    """Memory traffic of a micro-batch outside matrix products, on one GPU (s); the loss writes and reads each tensor once."""
    loss = 2 * vocab * (logit_element_bytes + loss_element_bytes) / tensor_parallel
    layers = pace_layers * (elementwise_values + score_values) * activation_element_bytes
    return gpu_tokens * (layers + pace_heads * loss) / (bandwidth * bandwidth_efficiency)


def _across(group, apart, gpus_per_node, link_bandwidth, network_bandwidth):
    """Bandwidth of a ring over a group whose members stand `apart` GPUs from each other."""
    return fabric_bandwidth.formula(link_bandwidth, network_bandwidth, group, maximum(gpus_per_node / apart, 1))


@law
def tensor_seconds(pace_layers, stage_moe_layers, gpu_tokens, hidden, link_bandwidth, network_bandwidth, latency=0,
                   network_latency=0, recompute=0, experts_per_token=0, expert_parallel=1, tensor_parallel=1, gpus_per_node=...,
                   link_efficiency=1, activation_element_bytes=...):
    """All-reduces of a micro-batch over the tensor-parallel group (s): of attention and MLP, forward, backward and recomputed.

    Megatron-LM (arXiv 1909.08053, section 3). Sequence parallel makes of each a reduce-scatter and an all-gather, together as
    long (arXiv 2205.05198, section 4.2.2). What experts of other GPUs take in and give is k times as much.
    """
    bandwidth = _across(tensor_parallel, 1, gpus_per_node, link_bandwidth, network_bandwidth)
    hop = where(tensor_parallel <= gpus_per_node, latency, network_latency)
    output_bytes = gpu_tokens * hidden * activation_element_bytes
    one = all_reduce_seconds.formula(output_bytes, tensor_parallel, bandwidth, hop, link_efficiency)
    more = where(expert_parallel > 1, stage_moe_layers * (experts_per_token - 1), 0)
    return (2 + where(recompute >= 2, 1, 0)) * (2 * pace_layers + more) * one


@law
def context_seconds(pace_layers, gpu_tokens, gpu_kv_heads, head_dim, link_bandwidth, network_bandwidth, latency=0,
                    network_latency=0, recompute=0, tensor_parallel=1, context_parallel=1, gpus_per_node=..., link_efficiency=1,
                    activation_element_bytes=...):
    """Keys and values of a micro-batch over the context-parallel group (s).

    They are gathered forward, backward and recomputed, and their gradients are scattered. Llama 3 (arXiv 2407.21783, section
    3.3.2); a ring (arXiv 2310.01889) sends as much.
    """
    sequence_bytes = 2 * context_parallel * gpu_tokens * gpu_kv_heads * head_dim * activation_element_bytes
    bandwidth = _across(context_parallel, tensor_parallel, gpus_per_node, link_bandwidth, network_bandwidth)
    hop = where(tensor_parallel * context_parallel <= gpus_per_node, latency, network_latency)
    one = all_gather_seconds.formula(sequence_bytes, context_parallel, bandwidth, hop, link_efficiency)
    return pace_layers * (3 + where(recompute >= 2, 1, 0)) * one


@law
def expert_seconds(stage_moe_layers, gpu_tokens, hidden, link_bandwidth, network_bandwidth, experts_per_token=0, latency=0,
                   network_latency=0, recompute=0, tensor_parallel=1, expert_parallel=1, gpus_per_node=..., link_efficiency=1,
                   activation_element_bytes=...):
    """All-to-alls of a micro-batch over the expert-parallel group (s): dispatch and combine, forward, backward and recomputed.

    GShard (arXiv 2006.16668, section 3.2). Each GPU sends an equal part to each other one, to those in its node over the link
    while to the rest over the network. Tokens are taken to be spread evenly, and sent once for each of their experts.
    """
    sent = gpu_tokens * experts_per_token * hidden * activation_element_bytes / tensor_parallel
    one = cluster_all_to_all_seconds.formula(sent, expert_parallel, maximum(gpus_per_node / tensor_parallel, 1), link_bandwidth,
                                             network_bandwidth, latency, network_latency, link_efficiency)
    return 2 * stage_moe_layers * (2 + where(recompute >= 2, 1, 0)) * one


@law
def pipeline_seconds(gpu_tokens, hidden, layout_gpus, link_bandwidth, network_bandwidth, latency=0, network_latency=0,
                     tensor_parallel=1, pipeline_parallel=1, virtual_stages=1, gpus_per_node=..., link_efficiency=1,
                     activation_element_bytes=...):
    """Sends of a micro-batch between stages (s): one forward and one backward for each chunk, each GPU its share.

    Narayanan et al. 2021 (arXiv 2104.04473, section 4.1).
    """
    bandwidth = where(layout_gpus <= gpus_per_node, link_bandwidth, network_bandwidth)
    hop = where(layout_gpus <= gpus_per_node, latency, network_latency)
    share_bytes = gpu_tokens * hidden * activation_element_bytes / tensor_parallel
    one = point_to_point_seconds.formula(share_bytes, bandwidth, hop, link_efficiency)
    return where(pipeline_parallel > 1, 2 * virtual_stages, 0) * one


@law
def micro_batch_seconds(matrix_seconds, elementwise_seconds, tensor_seconds, context_seconds, expert_seconds, pipeline_seconds,
                        overlap=0):
    """Time between micro-batches of a full pipeline (s); `overlap` is the share of their communication that is hidden."""
    shown = (1 - overlap) * (tensor_seconds + context_seconds + expert_seconds + pipeline_seconds)
    return matrix_seconds + elementwise_seconds + shown


# The step

@law
def data_seconds(gpu_trained_params, gpu_trained_expert_params, gpu_params, gpu_expert_params, gradient_element_bytes,
                 micro_batches, link_bandwidth, network_bandwidth, latency=0, network_latency=0, zero_stage=0, data_parallel=1,
                 context_parallel=1, expert_parallel=1, tensor_parallel=1, gpus_per_node=..., link_efficiency=1,
                 activation_element_bytes=...):
    """Gradients and weights of a step over the GPUs that hold the same parameters (s). ZeRO (arXiv 1910.02054, section 7).

    Gradients are scattered and gathered again: an all-reduce. From ZeRO-1 on the new weights are gathered instead. Stage 2
    scatters after each micro-batch; stage 3 gathers the weights for each forward and each backward pass. An expert is shared
    by fewer GPUs.
    """
    scatters = where(zero_stage >= 2, micro_batches, 1)
    gathers = where(zero_stage >= 3, 2 * micro_batches, 1)

    def ring(trained, held, ranks, apart):
        bandwidth = _across(ranks, apart, gpus_per_node, link_bandwidth, network_bandwidth)
        hop = where(held > 0, 1, 0) * where(ranks * apart <= gpus_per_node, latency, network_latency)
        gradients = trained * gradient_element_bytes
        weights = where(zero_stage >= 3, held, trained) * activation_element_bytes
        gathered = where(zero_stage >= 1, weights, gradients)
        return (scatters * all_gather_seconds.formula(gradients, ranks, bandwidth, hop, link_efficiency)
                + gathers * all_gather_seconds.formula(gathered, ranks, bandwidth, hop, link_efficiency))
    replicas = data_parallel * context_parallel
    return (ring(gpu_trained_params, gpu_params - gpu_expert_params, replicas, tensor_parallel)
            + ring(gpu_trained_expert_params, gpu_expert_params, replicas / expert_parallel, tensor_parallel * expert_parallel))


@law
def exposed_data_seconds(data_seconds, micro_batch_seconds, micro_batches, zero_stage=0, data_overlap=...):
    """What of it outlasts the computation it runs beside (s): one micro-batch, or all of them from ZeRO-2 on.

    The one is the last backward pass, under which gradients leave, and the next forward pass, under which weights arrive.
    """
    beside = micro_batch_seconds * where(zero_stage >= 2, micro_batches, 1)
    return maximum(data_seconds - data_overlap * beside, 0)


@law
def update_seconds(held_gradient_bytes, held_master_bytes, held_optimizer_bytes, held_weight_bytes, bandwidth,
                   bandwidth_efficiency=1):
    """The optimizer's step on one GPU (s): it reads gradients, reads and writes master weights and states, writes weights."""
    return (held_gradient_bytes + 2 * held_master_bytes + 2 * held_optimizer_bytes + held_weight_bytes) / (
        bandwidth * bandwidth_efficiency)


@law
def step_seconds(micro_batch_seconds, micro_batches, pipeline_bubble, exposed_data_seconds, update_seconds):
    """Time of a training step (s): micro-batches and the pipeline's bubble, what data parallel shows, the update."""
    return micro_batches * micro_batch_seconds / (1 - pipeline_bubble) + exposed_data_seconds + update_seconds


@law
def step_tokens(micro_batch, sequence, micro_batches, data_parallel=1):
    """Tokens of a training step (count)."""
    return micro_batch * sequence * micro_batches * data_parallel


@law
def layout_gpus(tensor_parallel=1, pipeline_parallel=1, context_parallel=1, data_parallel=1):
    """GPUs of a layout (count); expert parallel takes no more."""
    return tensor_parallel * pipeline_parallel * context_parallel * data_parallel


@law
def layout_mfu(step_flops, step_seconds, layout_gpus, peak_flops):
    """Model FLOPs utilization of a step (ratio). PaLM (arXiv 2204.02311, section 4.1)."""
    return step_flops / (step_seconds * layout_gpus * peak_flops)


@law
def reached_hfu(hardware_flops, step_seconds, layout_gpus, peak_flops):
    """Hardware FLOPs utilization of a step (ratio). PaLM (arXiv 2204.02311, section 4.1)."""
    return hardware_flops / (step_seconds * layout_gpus * peak_flops)


@law
def gpu_flop_rate(hardware_flops, step_seconds, layout_gpus):
    """FLOP/s that one GPU does, recomputed ones included. Narayanan et al. 2021 (arXiv 2104.04473, section 5.1)."""
    return hardware_flops / (step_seconds * layout_gpus)


@law
def gpu_token_rate(step_tokens, step_seconds, layout_gpus):
    """Tokens that one GPU's share of the job trains on in a second."""
    return step_tokens / (step_seconds * layout_gpus)


# The run

@law
def layout_gpu_hours(training_tokens, gpu_token_rate):
    """GPU-hours of a run at the speed of its steps (h); restarts and evaluation left out."""
    return training_tokens / gpu_token_rate / SECONDS_PER_HOUR


@law
def training_loss(params, training_tokens):
    """Loss of a model after training, nats a token: a floor, what its size and what its tokens leave.

    Form: Chinchilla (arXiv 2203.15556, section 3.3). Constants: corrected by Besiroglu et al. 2024 (arXiv 2404.10102).
    """
    return LOSS_FLOOR + PARAMS_SCALE / params**PARAMS_EXPONENT + TOKENS_SCALE / training_tokens**TOKENS_EXPONENT


@law
def optimal_params(training_flops):
    """Parameters of least `training_loss` for a number of FLOP, 6ND (count). Chinchilla (arXiv 2203.15556, equation 4)."""
    exponents = PARAMS_EXPONENT + TOKENS_EXPONENT
    scale = (PARAMS_EXPONENT * PARAMS_SCALE / (TOKENS_EXPONENT * TOKENS_SCALE)) ** (1 / exponents)
    return scale * (training_flops / 6) ** (TOKENS_EXPONENT / exponents)


@law
def optimal_tokens(training_flops, optimal_params):
    """Training tokens of least `training_loss` for a number of FLOP (count): what 6ND leaves."""
    return training_flops / (6 * optimal_params)


@law
def chinchilla_tokens(params, tokens_per_param=...):
    """Training tokens by the rule of thumb (count): Chinchilla itself had 70 billion parameters and 1.4 trillion tokens."""
    return tokens_per_param * params
