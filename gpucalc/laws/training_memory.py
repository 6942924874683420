"""Bytes that training holds on one GPU, term by term: model state, activations, the loss, and what passes by.

Five moments compete for the peak. At the loss all activations and the logits are alive, then the gradients of logits and
head. As the backward pass of the layers starts, one is made again beside all activations; as it ends, one is left beside
all gradients. Then the optimizer steps.
"""
from ..core.arithmetic import floor, maximum, minimum, quotient, where
from ..core.law import law
from .low_rank import lora_attention_params, lora_expert_params, lora_mlp_params


# Model state

@law
def bytes_per_param(weight_element_bytes, gradient_element_bytes, master_element_bytes, optimizer_element_bytes,
                    cast_element_bytes=0):
    """Model state of one trained parameter (bytes). ZeRO (arXiv 1910.02054, section 3.1): 2 + 2 + 12 = 16 with Adam."""
    return (weight_element_bytes + gradient_element_bytes + master_element_bytes + optimizer_element_bytes
            + cast_element_bytes)


@law
def state_bytes(params, trainable_params, bytes_per_param, frozen_element_bytes=0):
    """Frozen weights plus the full state of the trained ones (bytes). Full training: nothing frozen, all trained."""
    return params * frozen_element_bytes + trainable_params * bytes_per_param


def _held(dense, experts, split, shard_ranks, expert_shard_ranks):
    """What a GPU holds in full, or its share where ZeRO splits it over the GPUs that would hold the same."""
    return where(split, dense / shard_ranks + experts / expert_shard_ranks, dense + experts)


@law
def weight_copies(pipeline_parallel=1, expert_parallel=1, zero_bubble=0):
    """Copies of a stage's weights on one GPU (count): two where a pipeline runs both ways to hide the exchange of experts.
    DeepSeek-V3, DualPipe (arXiv 2412.19437, section 3.2.1, table 2).
    """
    both = where(zero_bubble > 0, where(expert_parallel > 1, 1, 0), 0)
    return 1 + where(pipeline_parallel > 1, both, 0)


@law
def held_weight_bytes(gpu_embedding_params, gpu_layer_params, gpu_expert_params, gpu_adapter_params, gpu_expert_adapter_params,
                      weight_element_bytes, adapters, shard_ranks, expert_shard_ranks, weight_copies, frozen_element_bytes=0,
                      kept_element_bytes=..., cast_element_bytes=0, zero_stage=0):
    """Weights on one GPU (bytes): ZeRO splits them from stage 3 on (arXiv 1910.02054, section 5.3).

    With adapters the matrices are frozen at their own width, and embeddings, final norm and head at another. Copies of the layers
    that products in 8 or 4 bits take are made anew where ZeRO gathers the weights: Transformer Engine, user guide, FP8.
    """
    matrix = where(adapters > 0, frozen_element_bytes, weight_element_bytes)
    embedding = where(adapters > 0, kept_element_bytes, weight_element_bytes)
    dense = gpu_embedding_params * embedding + gpu_layer_params * matrix + gpu_adapter_params * weight_element_bytes
    experts = gpu_expert_params * matrix + gpu_expert_adapter_params * weight_element_bytes
    casts = where(zero_stage >= 3, 0, cast_element_bytes * (gpu_layer_params + gpu_expert_params))
    return weight_copies * (_held(dense, experts, zero_stage >= 3, shard_ranks, expert_shard_ranks) + casts)


@law
def held_gradient_bytes(gpu_trained_params, gpu_trained_expert_params, gradient_element_bytes, shard_ranks, expert_shard_ranks,
                        offload_gradients=0, zero_stage=0):
    """Gradients on one GPU (bytes): ZeRO splits them from stage 2 on (arXiv 1910.02054, section 5.2).

    ZeRO-Offload sends each to the host as it is made (arXiv 2101.06840, section 3).
    """
    on_gpu = gradient_element_bytes * (1 - offload_gradients)
    return on_gpu * _held(gpu_trained_params, gpu_trained_expert_params, zero_stage >= 2, shard_ranks, expert_shard_ranks)


@law
def updated_params(gpu_trained_params, gpu_trained_expert_params, shard_ranks, expert_shard_ranks, zero_stage=0):
    """Parameters that the optimizer of one GPU updates (count): from ZeRO-1 on its part alone (arXiv 1910.02054, section 5.1)."""
    return _held(gpu_trained_params, gpu_trained_expert_params, zero_stage >= 1, shard_ranks, expert_shard_ranks)


@law
def held_master_bytes(updated_params, master_element_bytes, offload_optimizer=0):
    """Master weights on one GPU (bytes): of the parameters that it updates (ZeRO, arXiv 1910.02054, section 5.1)."""
    return updated_params * master_element_bytes * (1 - offload_optimizer)


@law
def factored_statistics(stage_layers, stage_moe_layers, stage_mlp_layers, attending_share, hidden, heads, kv_heads, head_dim,
                        intermediate, vocab, tied_embeddings=0, experts=0, shared_experts=0, expert_intermediate=0, gated_mlp=0,
                        q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0, expert_parallel=1):
    """Row and column statistics of all matrices on one GPU (count). Adafactor (arXiv 1804.04235, section 3).

    A matrix has as many as an adapter of rank 1 has parameters. Tensor parallel, vectors, which have one statistic an
    element, and linear layers are left out.
    """
    attention = lora_attention_params.formula(1, hidden, heads, kv_heads, head_dim, 1, 1, 1, 1, q_lora_rank, kv_lora_rank,
                                              rope_head_dim, value_head_dim)
    dense = lora_mlp_params.formula(1, hidden, intermediate, 1, gated_mlp)
    expert = lora_expert_params.formula(1, hidden, 1, expert_intermediate, gated_mlp)
    sparse = (experts / expert_parallel + shared_experts) * expert
    tables = (2 - tied_embeddings) * (vocab + hidden)
    return stage_layers * attending_share * attention + stage_mlp_layers * dense + stage_moe_layers * sparse + tables


@law
def held_optimizer_bytes(gpu_trained_params, gpu_trained_expert_params, gpu_embedding_params, factored_statistics,
                         optimizer_element_bytes, embedding_optimizer_element_bytes, adapters, shard_ranks, expert_shard_ranks,
                         factored_element_bytes=0, offload_optimizer=0, zero_stage=0):
    """Optimizer state on one GPU (bytes): ZeRO splits it from stage 1 on (arXiv 1910.02054, section 5.1).

    Embeddings, final norm and head may have states of another width. The few statistics of a factored optimizer are not
    split. Offload moves all to the host (ZeRO-Offload, arXiv 2101.06840, section 3; paged states, arXiv 2305.14314, section 3).
    """
    embedding = gpu_embedding_params * (1 - adapters)
    dense = (gpu_trained_params - embedding) * optimizer_element_bytes + embedding * embedding_optimizer_element_bytes
    held = _held(dense, gpu_trained_expert_params * optimizer_element_bytes, zero_stage >= 1, shard_ranks, expert_shard_ranks)
    factored = (1 - adapters) * factored_statistics * factored_element_bytes
    return (held + factored) * (1 - offload_optimizer)


@law
def held_state_bytes(held_weight_bytes, held_gradient_bytes, held_master_bytes, held_optimizer_bytes):
    """Model state on one GPU (bytes)."""
    return held_weight_bytes + held_gradient_bytes + held_master_bytes + held_optimizer_bytes


# The loss

def _has_head(pipeline_parallel, last_stage):
    """1 on the stage with the output head, the only one without a pipeline."""
    return where(pipeline_parallel > 1, last_stage, 1)


@law
def logits_bytes(gpu_tokens, hidden, vocab, logit_element_bytes=..., activation_element_bytes=..., tensor_parallel=1,
                 sequence_parallel=0, pipeline_parallel=1, last_stage=0):
    """Output logits, and the inputs of final norm and head, on one GPU (bytes). Korthikanti et al. 2022, section 4.3.

    Sequence parallel leaves its share of both, and gathers the head's input whole for the product.
    """
    here = _has_head(pipeline_parallel, last_stage)
    inputs = hidden * activation_element_bytes * (1 + 1 / where(sequence_parallel > 0, tensor_parallel, 1))
    return here * gpu_tokens * (inputs + vocab * logit_element_bytes / tensor_parallel)


@law
def loss_bytes(gpu_tokens, vocab, loss_element_bytes=..., loss_chunks=1, tensor_parallel=1, pipeline_parallel=1, last_stage=0):
    """What the loss adds to the logits, on one GPU (bytes): an FP32 copy, their log-softmax, their gradient: 4 + 4 + 4.

    Cut Your Losses (arXiv 2411.09009, table 1). A loss in chunks holds one chunk of it.
    """
    here = _has_head(pipeline_parallel, last_stage)
    return here * gpu_tokens * vocab * loss_element_bytes / (loss_chunks * tensor_parallel)


@law
def head_gradient_bytes(vocab, hidden, gradient_element_bytes, adapters, persistent_gradients=..., zero_stage=0,
                        data_parallel=1, context_parallel=1, tensor_parallel=1, pipeline_parallel=1, last_stage=0):
    """Gradient of the output head, on one GPU (bytes), made while those of the logits are alive.

    Counted unless all gradients have their place already, as accumulated ones do.
    """
    here = _has_head(pipeline_parallel, last_stage) * (1 - adapters)
    shared_out = where(zero_stage >= 2, 1, 0) * where(data_parallel * context_parallel > 1, 1, 0)
    return here * maximum(shared_out, 1 - persistent_gradients) * vocab * hidden / tensor_parallel * gradient_element_bytes


# What passes by, and the sum

@law
def gathered_bytes(gpu_embedding_params, gpu_layer_params, gpu_expert_params, stage_layers, gradient_element_bytes, adapters,
                   frozen_element_bytes=0, kept_element_bytes=..., activation_element_bytes=..., zero_stage=0, data_parallel=1,
                   context_parallel=1, offload_gradients=0):
    """What ZeRO holds whole for a moment on one GPU (bytes). FSDP (arXiv 2304.11277, section 3.3).

    Stage 3: the weights of two layers and of the embeddings, under adapters as they are stored (packed NF4 in
    AnswerDotAI/fsdp_qlora, train.py). Stages 2 and 3, and offload: a layer's gradient before it leaves.
    """
    layer = (gpu_layer_params + gpu_expert_params) / stage_layers
    matrix = where(adapters > 0, frozen_element_bytes, activation_element_bytes)
    embedding = where(adapters > 0, kept_element_bytes, activation_element_bytes)
    replicas = where(data_parallel * context_parallel > 1, 1, 0)
    weights = where(zero_stage >= 3, replicas, 0) * (gpu_embedding_params * embedding + minimum(2, stage_layers) * layer * matrix)
    leaves = maximum(where(zero_stage >= 2, replicas, 0), offload_gradients)
    return weights + leaves * (1 - adapters) * layer * gradient_element_bytes


@law
def resident_bytes(held_weight_bytes, held_master_bytes, held_optimizer_bytes, held_gradient_bytes, gathered_bytes,
                   persistent_gradients=...):
    """What is there in every moment of a step on one GPU (bytes); gradients if accumulated or their buffers are kept."""
    gradients = persistent_gradients * held_gradient_bytes
    return held_weight_bytes + held_master_bytes + held_optimizer_bytes + gradients + gathered_bytes


@law
def loss_moment_bytes(resident_bytes, activation_bytes, logits_bytes, loss_bytes):
    """Bytes at the loss: all activations, the logits, and what the loss adds to them."""
    return resident_bytes + activation_bytes + logits_bytes + loss_bytes


@law
def head_moment_bytes(resident_bytes, activation_bytes, logits_bytes, head_gradient_bytes):
    """Bytes in the output head's backward pass: all activations, the head's gradient, and the logits' where they were."""
    return resident_bytes + activation_bytes + logits_bytes + head_gradient_bytes


@law
def first_layer_moment_bytes(resident_bytes, activation_bytes, recomputed_bytes, activation_gradient_bytes):
    """Bytes as the backward pass starts: all activations, one layer made again, and its gradients."""
    return resident_bytes + activation_bytes + recomputed_bytes + activation_gradient_bytes


@law
def last_layer_moment_bytes(resident_bytes, held_gradient_bytes, layer_activation_bytes, recomputed_bytes,
                            activation_gradient_bytes, persistent_gradients=...):
    """Bytes as the backward pass ends: one layer's activations are left, and all gradients are there."""
    arrived = (1 - persistent_gradients) * held_gradient_bytes
    return resident_bytes + arrived + layer_activation_bytes + recomputed_bytes + activation_gradient_bytes


@law
def step_bytes(updated_params, step_element_bytes=0, offload_optimizer=0):
    """What the optimizer step needs for itself on one GPU (bytes); a fused one needs nothing. PyTorch docs, torch.optim."""
    return updated_params * step_element_bytes * (1 - offload_optimizer)


@law
def step_moment_bytes(resident_bytes, held_gradient_bytes, step_bytes, persistent_gradients=...):
    """Bytes at the optimizer step: all gradients, and what the step needs for itself."""
    return resident_bytes + (1 - persistent_gradients) * held_gradient_bytes + step_bytes


@law
def peak_bytes(loss_moment_bytes, head_moment_bytes, first_layer_moment_bytes, last_layer_moment_bytes, step_moment_bytes):
    """Most bytes that tensors take on one GPU in a step."""
    with_logits = maximum(loss_moment_bytes, head_moment_bytes)
    layers = maximum(first_layer_moment_bytes, last_layer_moment_bytes)
    return maximum(maximum(with_logits, layers), step_moment_bytes)


@law
def fragmentation_bytes(peak_bytes, fragmentation=...):
    """Memory held in pieces that no tensor fits (bytes): 15.97 GB for 13.99 GB in github.com/pytorch/torchtune/pull/527."""
    return peak_bytes * fragmentation


@law
def communication_bytes(communicator_bytes=..., bucket_bytes=0, tensor_parallel=1, pipeline_parallel=1, data_parallel=1,
                        context_parallel=1, expert_parallel=1):
    """Buffers of communication on one GPU (bytes): those of each group that it belongs to, and buckets of gradients and weights.

    NCCL sets up its channels for each communicator. DeepSpeed fills a bucket before it sends, of 5e8 elements unless told
    otherwise, and with contiguous gradients one more while the first is sent (deepspeed/runtime/zero/stage_1_and_2.py).
    """
    replicas = where(data_parallel > 1, 1, 0)
    groups = (where(tensor_parallel > 1, 1, 0) + where(pipeline_parallel > 1, 1, 0) + where(context_parallel > 1, 1, 0)
              + where(expert_parallel > 1, 1, 0) + replicas)
    return groups * communicator_bytes + replicas * bucket_bytes


@law
def training_bytes(peak_bytes, fragmentation_bytes, communication_bytes, framework_bytes=...):
    """Bytes that training takes on one GPU, as its driver counts them: tensors, gaps, buffers, CUDA context and kernels.

    A context with kernels loaded as they are needed takes some 400 MB (github.com/pytorch/pytorch/issues/109888).
    """
    return peak_bytes + fragmentation_bytes + communication_bytes + framework_bytes


@law
def longest_sequence(sequence, memory_bytes, peak_bytes, resident_bytes, communication_bytes, fragmentation=...,
                     framework_bytes=...):
    """Longest sequence that one GPU can train on (tokens), where all that is not there in every moment grows with the tokens.

    That is so at the loss, and wherever adapters or held gradients leave nothing else; FlashAttention is taken for granted.
    """
    for_tensors = (memory_bytes - communication_bytes - framework_bytes) / (1 + fragmentation)
    return floor(maximum(quotient(sequence * (for_tensors - resident_bytes), peak_bytes - resident_bytes), 0))


@law
def host_bytes(updated_params, master_element_bytes, optimizer_element_bytes, gradient_element_bytes, offload_optimizer=0,
               offload_gradients=0):
    """What the host holds for one GPU (bytes): master weights and states, and gradients where they leave too.

    ZeRO-Offload (arXiv 2101.06840, section 3); a paged optimizer alone leaves the gradients on the GPU.
    """
    state = offload_optimizer * (master_element_bytes + optimizer_element_bytes)
    return updated_params * (state + offload_gradients * gradient_element_bytes)


@law
def server_host_bytes(host_bytes, layout_gpus, gpus_per_server=...):
    """What the memory of a server holds of the state of training (bytes), at most: each GPU as much as the fullest one."""
    return host_bytes * minimum(gpus_per_server, layout_gpus)


@law
def usable_bytes(memory_bytes, headroom=...):
    """GPU memory left after headroom for the CUDA context, workspaces and fragmentation (bytes)."""
    return memory_bytes * (1 - headroom)
