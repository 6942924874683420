"""Time of a training step: the FLOP of the model, what a layout adds to them, and what of its communication shows.

A micro-batch costs matrix products, memory traffic outside them and collectives; the step repeats it, waits for the pipeline
to fill and drain, and ends with the gradients and the optimizer.
"""
from ..core.arithmetic import SECONDS_PER_HOUR, maximum, minimum, where
from ..core.law import law
from .arithmetic_intensity import prefill_pairs, prompt_index_flops
from .training_products import repeated

LOSS_FLOOR = 1.8172
PARAMS_SCALE, PARAMS_EXPONENT = 482.01, 0.3478
TOKENS_SCALE, TOKENS_EXPONENT = 2085.43, 0.3658


# FLOP

@law
def attention_token_flops(sequence, prefill_pair_flops, attention_layers, recurrent_flops, layers=1, window_layers=0, window=0,
                          causal=..., chunked=0, indexer_topk=0, indexer_layers=0, indexer_heads=0, indexer_dim=0,
                          dense_attention_layers=0, compression=0, heavy_layers=0, heavy_compression=0):
    """FLOP of a token's scores and values, or of its state, in one layer, forward, mean of the layers (count).

    `causal` leaves out the masked half; PaLM (arXiv 2204.02311, appendix B) counts it too.
    """
    pairs = prefill_pairs.formula(sequence, attention_layers, window_layers, window, causal, chunked, indexer_topk,
                                  dense_attention_layers, indexer_layers, compression, heavy_layers, heavy_compression)
    index = prompt_index_flops.formula(sequence, indexer_layers, indexer_heads, indexer_dim, compression)
    beside = sequence * recurrent_flops + index
    return (prefill_pair_flops * pairs + beside) / (layers * sequence)


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
def recomputed_token_flops(layer_token_flops, attention_token_flops, recompute=0, recomputed_share=1, flash_attention=0):
    """FLOP of a token in one layer that the backward pass does again (count). Korthikanti et al. 2022 (arXiv 2205.05198).

    Full recompute runs the layer again, selective its scores and values, and torch's policy some third of the products: of seven
    key, output and up. FlashAttention always makes the scores again, half of attention (arXiv 2205.14135, section 3.1).
    """
    whole, scores = repeated(recompute, recomputed_share), repeated(recompute, recomputed_share, 1)
    products = whole + recomputed_share * where(recompute >= 3, 1, 0) / 3
    return products * layer_token_flops + attention_token_flops * where(flash_attention > 0, whole + 1 / 2, scores)


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
def elementwise_values(hidden, heads, kv_heads, head_dim, mlp_width, layers, attending_share, blocks_per_layer, linear_values,
                       gated_mlp=0, positions=0, norms_per_layer=..., moe_layers=0, experts_per_token=0, kv_lora_rank=0,
                       rope_head_dim=0, linear_layers=0, expert_latent=0, dropout=0, recompute=0, recomputed_share=1,
                       flash_attention=0, tensor_parallel=1, sequence_parallel=0):
    """Values that a layer moves for a token outside matrix products, on one GPU (count); Ivanov et al. 2020 (arXiv 2007.00072).

    Reads and writes, forward and backward: norm 2 and 5 (its weights want a pass of their own), residual sum 3 and 3, with
    dropout a mask of a byte more and backward a pass of its own, rotary positions 2 and 2, copies to k experts and back
    2(1 + k) each way, activation 2 and 3 of the width, gated 3 and 5. A linear layer reads and writes what it keeps. Selective
    recompute beside FlashAttention runs norms and activations again.
    """
    forward = 1 + recomputed_share * where(recompute >= 2, 1, 0)
    again = forward + recomputed_share * where(flash_attention > 0, repeated(recompute, 1, 1) - repeated(recompute, 1), 0)
    sums = blocks_per_layer * (3 * forward + 3 + dropout * (forward / 2 + 5 / 2))
    sent = moe_layers / layers * 2 * (1 + experts_per_token) * where(expert_latent > 0, expert_latent / hidden, 1)
    whole = hidden * (norms_per_layer * (2 * again + 5) + sums + sent * (forward + 1))
    rotated = where(kv_lora_rank > 0, (heads + 1) * rope_head_dim, (heads + kv_heads) * head_dim) * where(positions > 0, 0, 1)
    mixed = 2 * attending_share * rotated + linear_layers / layers * linear_values
    split = mixed * (forward + 1) + mlp_width * ((2 + gated_mlp) * again + 3 + 2 * gated_mlp)
    return whole / where(sequence_parallel > 0, tensor_parallel, 1) + split / tensor_parallel


@law
def score_values(heads, sequence, attending_share, flash_attention=0, dropout=0, recompute=0, recomputed_share=1,
                 tensor_parallel=1):
    """Values of the score matrix a layer moves for a token on one GPU, mean of the layers (count); none with FlashAttention
    (arXiv 2205.14135).

    Forward 4: a product writes it, softmax reads and writes, a product reads. Backward 7: a product writes, softmax reads two
    and writes one, products read the softmax and twice its gradient. Dropout reads and writes each way, and a byte of mask.
    """
    forward = 1 + recomputed_share * where(recompute >= 1, 1, 0)
    passes = 4 * forward + 7 + 5 / 2 * dropout * (forward + 1)
    return where(flash_attention > 0, 0, attending_share * heads * sequence * passes / tensor_parallel)


@law
def layer_cast_values(hidden, mixed_width, gpu_mixing_params, mlp_width, layers, blocks_per_layer, gated_mlp=0, moe_layers=0,
                      experts_per_token=0, shared_experts=0, recompute=0, recomputed_share=1, narrow_products=0,
                      tensor_parallel=1):
    """Values of a token that a layer casts to fewer bits on one GPU (count): inputs of its products and gradients of the outputs.

    pytorch/ao torchao/testing/training/roofline_utils.py. Each GPU casts the inputs that it reads whole.
    """
    values = mixed_width / tensor_parallel
    copies = moe_layers / layers * (experts_per_token / tensor_parallel + where(shared_experts > 0, 1, 0) - 1)
    whole = (blocks_per_layer + copies) * hidden
    inputs = whole + values + mlp_width / tensor_parallel
    gradients = gpu_mixing_params / hidden - values + whole + (1 + gated_mlp) * mlp_width / tensor_parallel
    return minimum(narrow_products, 1) * (inputs * (1 + repeated(recompute, recomputed_share)) + gradients)


@law
def elementwise_seconds(pace_layers, pace_heads, elementwise_values, score_values, layer_cast_values, kernels_per_layer,
                        gpu_tokens, vocab, bandwidth, logit_element_bytes=..., loss_element_bytes=..., tensor_parallel=1,
                        narrow_products=0, activation_element_bytes=..., bandwidth_efficiency=1, kernel_seconds=0):
    """Memory traffic of a micro-batch outside matrix products, on one GPU (s); the loss writes and reads each tensor once.

    A cast reads a value and writes it in 8 or 4 bits twice, by rows and by columns. A backward pass has twice the kernels.
    """
    loss = 2 * vocab * (logit_element_bytes + loss_element_bytes) / tensor_parallel
    casts = (1 + 2 * 0.5**narrow_products) * layer_cast_values
    layers = pace_layers * (elementwise_values + score_values + casts) * activation_element_bytes
    kernels = 3 * pace_layers * kernels_per_layer * kernel_seconds
    return gpu_tokens * (layers + pace_heads * loss) / (bandwidth * bandwidth_efficiency) + kernels


@law
def tensor_hidden_share(overlap=0, tensor_overlap=..., tensor_parallel=1, sequence_parallel=0, gpus_per_node=...):
    """Share of tensor-parallel communication that runs beside the products it feeds or follows (fraction).

    Products in pieces are written for sequence parallel and for one node: NVIDIA Transformer Engine, userbuffers; NVIDIA
    Megatron-Bridge, docs/performance-guide.md; PyTorch, async tensor parallel.
    """
    near = where(tensor_parallel > gpus_per_node, 0, where(sequence_parallel > 0, 1, 0))
    return maximum(overlap, tensor_overlap * near)


@law
def expert_hidden_share(expert_seconds, matrix_seconds, micro_batches, exchange_overlap=..., recompute=0, pipeline_parallel=1,
                        virtual_stages=1, zero_bubble=0):
    """Share of the exchange of experts that runs beside other work (fraction): the forward pass of a micro-batch beside the
    backward pass of the one before, so that the first and the last have none, and no longer than the products take.

    DeepSeek-V3, DualPipe (arXiv 2412.19437, section 3.2.1). A pipeline needs several chunks a stage or DualPipe for it, and whole
    layers may not be recomputed: NVIDIA Megatron-Bridge, src/megatron/bridge/training/comm_overlap.py.
    """
    paired = where(pipeline_parallel > 1, where(virtual_stages > 1, 1, where(zero_bubble > 0, 1, 0)), 1)
    whole = where(recompute >= 2, where(recompute >= 3, 0, 1), 0)
    share = exchange_overlap * paired * (1 - whole) * (1 - 1 / micro_batches)
    return minimum(share, matrix_seconds / maximum(expert_seconds, matrix_seconds))


@law
def micro_batch_seconds(matrix_seconds, elementwise_seconds, tensor_seconds, context_seconds, expert_seconds, pipeline_seconds,
                        tensor_hidden_share, expert_hidden_share, lent_share, host_activation_seconds, overlap=0, host_seconds=0):
    """Time between micro-batches of a full pipeline (s); `overlap` is the share of their communication that is hidden.

    Traffic of tensor parallel and of experts have shares of their own. What is hidden takes multiprocessors from the products.
    Eager programs leave the GPU waiting for the host, and so may activations that lie there.
    """
    sent = context_seconds + pipeline_seconds
    hidden = overlap * sent + tensor_hidden_share * tensor_seconds + expert_hidden_share * expert_seconds
    shown = sent + tensor_seconds + expert_seconds - (1 - lent_share) * hidden
    return matrix_seconds + elementwise_seconds + shown + host_seconds + host_activation_seconds


@law
def host_activation_seconds(stage_layers, layer_activation_bytes, matrix_seconds, elementwise_seconds, adapters, recompute=0,
                            recomputed_share=1, offload_activations=0, swap_bandwidth=...):
    """What a micro-batch waits for activations that go to the host and come back (s). ZeRO-Infinity (arXiv 2104.07857, section
    5.1): both run beside the work of other layers, so that what the way there takes longer than the forward pass shows, and
    what the way back takes longer than the backward pass.
    """
    moved = offload_activations * stage_layers * layer_activation_bytes / swap_bandwidth
    work = matrix_seconds + elementwise_seconds
    forward = work / (3 - adapters + repeated(recompute, recomputed_share))
    return maximum(moved - forward, 0) + maximum(moved - (work - forward), 0)


# The step

@law
def update_seconds(updated_params, held_master_bytes, held_optimizer_bytes, gpu_trained_params, gpu_trained_expert_params,
                   gradient_element_bytes, weight_element_bytes, host_update_seconds, bandwidth, offload_optimizer=0,
                   narrow_products=0, activation_element_bytes=..., bandwidth_efficiency=1):
    """The optimizer's step (s): it reads gradients, reads and writes master weights and states, writes weights.

    From ZeRO-1 on each GPU does so with its part alone (arXiv 1910.02054, section 5.1). Gradients are read once more for
    their norm. Trained weights are cast to 8 or 4 bits once a step: read, and written by rows and by columns. What the
    host updates, the GPU waits for.
    """
    own = updated_params * (1 - offload_optimizer) * (gradient_element_bytes + weight_element_bytes)
    moved = own + updated_params * gradient_element_bytes + 2 * held_master_bytes + 2 * held_optimizer_bytes
    cast = minimum(narrow_products, 1) * (1 + 2 * 0.5**narrow_products)
    casts = cast * (gpu_trained_params + gpu_trained_expert_params) * activation_element_bytes
    return (moved + casts) / (bandwidth * bandwidth_efficiency) + host_update_seconds


@law
def host_update_seconds(updated_params, master_element_bytes, optimizer_element_bytes, gradient_element_bytes,
                        weight_element_bytes, micro_batch_seconds, micro_batches, adapters, layout_gpus, offload_optimizer=0,
                        offload_gradients=0, gpus_per_server=..., host_memory_bandwidth=..., swap_bandwidth=...):
    """What a step waits for an optimizer in the host's memory (s). ZeRO-Offload (arXiv 2101.06840, sections 4 and 5).

    The processors read gradients, read and write master weights and states, and write weights, at the bandwidth of a memory
    that the GPUs of a server share; then each GPU fetches its weights over its own link. Gradients leave in the backward
    pass, so that what they take longer shows: once, or after each micro-batch where the host sums them.
    """
    state = 2 * (master_element_bytes + optimizer_element_bytes) + gradient_element_bytes + weight_element_bytes
    update = minimum(gpus_per_server, layout_gpus) * updated_params * state / host_memory_bandwidth
    backward = (2 - adapters) / (3 - adapters) * micro_batch_seconds
    late = maximum(updated_params * gradient_element_bytes / swap_bandwidth - backward, 0)
    sent = where(offload_gradients > 0, micro_batches, 1) * late
    return offload_optimizer * (update + updated_params * weight_element_bytes / swap_bandwidth + sent)


@law
def bubble_seconds(micro_batch_seconds, micro_batches, pipeline_bubble, adapters, zero_bubble=0):
    """Time of a step in which a GPU waits for the pipeline to fill and drain (s).

    With the products of weight gradients put there, of forward F, backward B and those W what remains is F + B - W of
    F + B + W, a third: zero bubble, ZB-H1 (Qi et al. 2023, arXiv 2401.10241, section 2). Frozen weights have none.
    """
    waited = micro_batches * micro_batch_seconds * pipeline_bubble / (1 - pipeline_bubble)
    return waited * where(zero_bubble > 0, (1 + 2 * adapters) / 3, 1)


@law
def step_seconds(micro_batch_seconds, micro_batches, bubble_seconds, exposed_data_seconds, update_seconds):
    """Time of a training step (s): micro-batches and the pipeline's bubble, what data parallel shows, the update."""
    return micro_batches * micro_batch_seconds + bubble_seconds + exposed_data_seconds + update_seconds


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
