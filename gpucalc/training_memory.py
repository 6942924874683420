"""Bytes a training job holds: model state by recipe, its shards under ZeRO, activations, logits, and what is left free."""
from .law import FP32_BYTES, MASK_BYTES, ceil, law, maximum, quotient, where


@law
def bytes_per_param(weight_element_bytes, gradient_element_bytes, master_element_bytes, optimizer_element_bytes):
    """Model state of one trained parameter (bytes). ZeRO (arXiv 1910.02054, section 3.1): 2 + 2 + 12 = 16 with Adam."""
    return weight_element_bytes + gradient_element_bytes + master_element_bytes + optimizer_element_bytes


@law
def lora_params(lora_rank, layers, hidden, heads, kv_heads, head_dim):
    """Adapter parameters on the query, key, value and output projections (count). LoRA (arXiv 2106.09685, section 4.1)."""
    queries, keys = heads * head_dim, kv_heads * head_dim
    return layers * lora_rank * (2 * (hidden + queries) + 2 * (hidden + keys))


@law
def state_bytes(params, trainable_params, bytes_per_param, frozen_element_bytes=0):
    """Frozen weights plus the full state of the trained ones (bytes). Full training: nothing frozen, all trained."""
    return params * frozen_element_bytes + trainable_params * bytes_per_param


@law
def replicated_state_bytes(params, trainable_params, zero_stage, weight_element_bytes, gradient_element_bytes,
                           master_element_bytes, optimizer_element_bytes, frozen_element_bytes=0):
    """Model state that every GPU holds in full under ZeRO (bytes). ZeRO (arXiv 1910.02054, figure 1 and section 5).

    Stage 1 splits master weights and optimizer state, stage 2 also gradients, stage 3 also weights.
    """
    weights = (params * frozen_element_bytes + trainable_params * weight_element_bytes) * where(zero_stage <= 2, 1, 0)
    gradients = trainable_params * gradient_element_bytes * where(zero_stage <= 1, 1, 0)
    optimizer = trainable_params * (master_element_bytes + optimizer_element_bytes) * where(zero_stage <= 0, 1, 0)
    return weights + gradients + optimizer


@law
def sharded_state_bytes(state_bytes, replicated_state_bytes, data_parallel):
    """Model state on one GPU under ZeRO (bytes): what is replicated, and an equal share of the rest."""
    return replicated_state_bytes + (state_bytes - replicated_state_bytes) / data_parallel


@law
def score_bytes(micro_batch, sequence, heads, activation_element_bytes=2, flash_attention=0, dropout=0):
    """Attention scores one layer keeps (bytes). Korthikanti et al. 2022 (arXiv 2205.05198, section 4.1): 5as^2b with dropout.

    Kept: the softmax output, and with dropout its mask and its output. FlashAttention (arXiv 2205.14135, section 3.1)
    keeps one FP32 statistic per query and head instead.
    """
    per_score = activation_element_bytes * (1 + dropout) + dropout * MASK_BYTES
    written = micro_batch * heads * sequence**2 * per_score
    return where(flash_attention > 0, micro_batch * heads * sequence * FP32_BYTES, written)


@law
def mlp_width(intermediate, layers, moe_layers=0, experts_per_token=0, shared_experts=0, expert_intermediate=0):
    """Width of the MLPs that one token passes through in a layer, averaged over the layers (count)."""
    routed = (experts_per_token + shared_experts) * expert_intermediate
    return ((layers - moe_layers) * intermediate + moe_layers * routed) / layers


@law
def layer_activation_bytes(score_bytes, micro_batch, sequence, hidden, heads, kv_heads, head_dim, mlp_width, gated_mlp=0,
                           recompute=0, dropout=0, tensor_parallel=1, sequence_parallel=0, activation_element_bytes=2):
    """What one layer keeps for its backward pass, on one GPU (bytes). Korthikanti et al. 2022 (arXiv 2205.05198, table 2).

    Kept in full without sequence parallel: inputs of the two norms, of attention and of the MLP, and two dropout masks.
    Divided by the tensor-parallel degree: queries, keys, values, the attention output, and the MLP's 2 intermediate
    tensors, or 4 with a gate (gate, its activation, up, their product). Selective recompute drops the scores; full
    recompute keeps the layer's input alone.
    """
    tokens = micro_batch * sequence
    shared = tokens * (4 * hidden * activation_element_bytes + 2 * dropout * hidden * MASK_BYTES)
    split = tokens * activation_element_bytes * (2 * heads * head_dim + 2 * kv_heads * head_dim
                                                 + (2 + 2 * gated_mlp) * mlp_width)
    across = where(sequence_parallel > 0, tensor_parallel, 1)
    scores = score_bytes * where(recompute >= 1, 0, 1)
    everything = shared / across + (split + scores) / tensor_parallel
    return where(recompute >= 2, tokens * hidden * activation_element_bytes / across, everything)


@law
def activation_bytes(layers, layer_activation_bytes):
    """What all layers keep for the backward pass, on one GPU without pipeline parallel (bytes)."""
    return layers * layer_activation_bytes


@law
def logits_bytes(micro_batch, sequence, vocab):
    """Output logits kept in FP32 (bytes). Korthikanti et al. 2022 (arXiv 2205.05198, section 4.3): 4sbv."""
    return micro_batch * sequence * vocab * FP32_BYTES


@law
def usable_bytes(memory_bytes, headroom=0.1):
    """GPU memory left after headroom for the CUDA context, workspaces and fragmentation (bytes)."""
    return memory_bytes * (1 - headroom)


@law
def training_bytes(sharded_state_bytes, activation_bytes, logits_bytes):
    """Bytes one GPU must hold at the start of a backward pass."""
    return sharded_state_bytes + activation_bytes + logits_bytes


@law
def training_gpus(state_bytes, replicated_state_bytes, activation_bytes, logits_bytes, usable_bytes):
    """Fewest data-parallel GPUs that hold the job (count); infinite if what each holds in full does not fit beside its share."""
    room = usable_bytes - activation_bytes - logits_bytes - replicated_state_bytes
    return maximum(1, ceil(quotient(state_bytes - replicated_state_bytes, room)))
