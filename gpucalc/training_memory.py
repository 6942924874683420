"""Bytes a training job holds: model state by recipe, its shards under ZeRO, activations, logits, and what is left free."""
from .law import FP32_BYTES, MASK_BYTES, ceil, law, quotient, where


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
def sharded_state_bytes(params, data_parallel, zero_stage, weight_element_bytes, gradient_element_bytes,
                        master_element_bytes, optimizer_element_bytes):
    """Model state on one GPU under ZeRO (bytes). Stage 1 splits optimizer and master weights, 2 also gradients, 3 also weights.

    ZeRO (arXiv 1910.02054, figure 1 and section 5).
    """
    optimizer = (master_element_bytes + optimizer_element_bytes) / where(zero_stage >= 1, data_parallel, 1)
    gradients = gradient_element_bytes / where(zero_stage >= 2, data_parallel, 1)
    weights = weight_element_bytes / where(zero_stage >= 3, data_parallel, 1)
    return params * (weights + gradients + optimizer)


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
def layer_activation_bytes(score_bytes, micro_batch, sequence, hidden, heads, kv_heads, head_dim, intermediate,
                           gated_mlp=0, recompute=0, dropout=0, tensor_parallel=1, sequence_parallel=0,
                           activation_element_bytes=2):
    """What one layer keeps for its backward pass, on one GPU (bytes). Korthikanti et al. 2022 (arXiv 2205.05198, table 2).

    Kept in full without sequence parallel: inputs of the two norms, of attention and of the MLP, and two dropout masks.
    Divided by the tensor-parallel degree: queries, keys, values, the attention output, and the MLP's 2 intermediate
    tensors, or 4 with a gate (gate, its activation, up, their product). Selective recompute drops the scores; full
    recompute keeps the layer's input alone.
    """
    tokens = micro_batch * sequence
    shared = tokens * (4 * hidden * activation_element_bytes + 2 * dropout * hidden * MASK_BYTES)
    split = tokens * activation_element_bytes * (2 * heads * head_dim + 2 * kv_heads * head_dim
                                                 + (2 + 2 * gated_mlp) * intermediate)
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
    """Output logits in FP32 (bytes)."""
    return micro_batch * sequence * vocab * FP32_BYTES


@law
def usable_bytes(memory_bytes, headroom=0.1):
    """GPU memory left after headroom for the CUDA context, workspaces and fragmentation (bytes)."""
    return memory_bytes * (1 - headroom)


@law
def training_bytes(state_bytes, activation_bytes, logits_bytes=0):
    """Bytes one GPU must hold when nothing is sharded."""
    return state_bytes + activation_bytes + logits_bytes


@law
def training_gpus(state_bytes, activation_bytes, logits_bytes, usable_bytes):
    """Fewest GPUs whose ZeRO-3 share of the state fits beside the activations (count); infinite if those alone don't fit."""
    return ceil(quotient(state_bytes, usable_bytes - activation_bytes - logits_bytes))
