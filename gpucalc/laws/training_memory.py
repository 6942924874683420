"""Bytes that training holds on one GPU, term by term: model state, activations, the loss, and what passes by.

Five moments compete for the peak. At the loss all activations and the logits are alive, then the gradients of logits and
head. As the backward pass of the layers starts, one is made again beside all activations; as it ends, one is left beside
all gradients. Then the optimizer steps.
"""
from ..core.arithmetic import FP32_BYTES, MASK_BYTES, maximum, minimum, where
from ..core.law import law


# Parameters that are trained

@law
def lora_attention_params(lora_rank, hidden, heads, kv_heads, head_dim, adapt_query, adapt_key, adapt_value, adapt_output,
                          q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0):
    """Adapter parameters of one attention block (count): rank times inputs plus outputs of each adapted matrix.

    LoRA (arXiv 2106.09685, section 4.1). In latent attention the query is two matrices if it is compressed; the key
    stands for the compression and the value for the expansion.
    """
    queries, keys = heads * head_dim, kv_heads * head_dim
    grouped = (adapt_query + adapt_output) * (hidden + queries) + (adapt_key + adapt_value) * (hidden + keys)
    query = hidden + heads * (head_dim + rope_head_dim) + 2 * q_lora_rank
    expansion = kv_lora_rank + heads * (head_dim + value_head_dim)
    latent = (adapt_query * query + adapt_key * (hidden + kv_lora_rank + rope_head_dim) + adapt_value * expansion
              + adapt_output * (heads * value_head_dim + hidden))
    return lora_rank * where(kv_lora_rank > 0, latent, grouped)


@law
def lora_mlp_params(lora_rank, hidden, intermediate, adapt_mlp, gated_mlp=0):
    """Adapter parameters of one dense MLP (count). LoRA (arXiv 2106.09685, section 4.1)."""
    return adapt_mlp * lora_rank * (2 + gated_mlp) * (hidden + intermediate)


@law
def lora_expert_params(lora_rank, hidden, adapt_mlp, expert_intermediate=0, gated_mlp=0):
    """Adapter parameters of one expert (count). LoRA (arXiv 2106.09685, section 4.1)."""
    return adapt_mlp * lora_rank * (2 + gated_mlp) * (hidden + expert_intermediate)


@law
def lora_params(layers, lora_attention_params, lora_mlp_params, lora_expert_params, moe_layers=0, experts=0, shared_experts=0):
    """Adapter parameters of the whole model (count)."""
    return (layers * lora_attention_params + (layers - moe_layers) * lora_mlp_params
            + moe_layers * (experts + shared_experts) * lora_expert_params)


@law
def adapters(lora_params):
    """Whether low-rank adapters are all that is trained (0 or 1)."""
    return where(lora_params > 0, 1, 0)


@law
def trainable_params(params, lora_params, adapters):
    """Parameters that are trained (count)."""
    return where(adapters > 0, lora_params, params)


@law
def gpu_adapter_params(stage_layers, stage_moe_layers, lora_attention_params, lora_mlp_params, lora_expert_params,
                       shared_experts=0):
    """Adapter parameters on one GPU outside the routed experts (count); tensor parallel does not divide them."""
    return (stage_layers * lora_attention_params + (stage_layers - stage_moe_layers) * lora_mlp_params
            + stage_moe_layers * shared_experts * lora_expert_params)


@law
def gpu_expert_adapter_params(stage_moe_layers, lora_expert_params, experts=0, expert_parallel=1):
    """Adapter parameters on one GPU inside the routed experts (count)."""
    return stage_moe_layers * experts / expert_parallel * lora_expert_params


@law
def gpu_trained_params(gpu_embedding_params, gpu_layer_params, gpu_adapter_params, adapters):
    """Trained parameters on one GPU outside the routed experts (count)."""
    return where(adapters > 0, gpu_adapter_params, gpu_embedding_params + gpu_layer_params)


@law
def gpu_trained_expert_params(gpu_expert_params, gpu_expert_adapter_params, adapters):
    """Trained parameters on one GPU inside the routed experts (count)."""
    return where(adapters > 0, gpu_expert_adapter_params, gpu_expert_params)


# Model state

@law
def bytes_per_param(weight_element_bytes, gradient_element_bytes, master_element_bytes, optimizer_element_bytes):
    """Model state of one trained parameter (bytes). ZeRO (arXiv 1910.02054, section 3.1): 2 + 2 + 12 = 16 with Adam."""
    return weight_element_bytes + gradient_element_bytes + master_element_bytes + optimizer_element_bytes


@law
def state_bytes(params, trainable_params, bytes_per_param, frozen_element_bytes=0):
    """Frozen weights plus the full state of the trained ones (bytes). Full training: nothing frozen, all trained."""
    return params * frozen_element_bytes + trainable_params * bytes_per_param


def _held(dense, experts, split, data_parallel, context_parallel, expert_parallel):
    """What a GPU holds in full, or its share where ZeRO splits it over all GPUs that would hold the same."""
    share = (dense + experts * expert_parallel) / (data_parallel * context_parallel)
    return where(split, share, dense + experts)


@law
def held_weight_bytes(gpu_embedding_params, gpu_layer_params, gpu_expert_params, gpu_adapter_params, gpu_expert_adapter_params,
                      weight_element_bytes, adapters, frozen_element_bytes=0, kept_element_bytes=..., zero_stage=0,
                      data_parallel=1, context_parallel=1, expert_parallel=1):
    """Weights on one GPU (bytes): ZeRO splits them from stage 3 on (arXiv 1910.02054, section 5.3).

    With adapters the matrices are frozen at their own width, and embeddings, final norm and head at another.
    """
    matrix = where(adapters > 0, frozen_element_bytes, weight_element_bytes)
    embedding = where(adapters > 0, kept_element_bytes, weight_element_bytes)
    dense = gpu_embedding_params * embedding + gpu_layer_params * matrix + gpu_adapter_params * weight_element_bytes
    experts = gpu_expert_params * matrix + gpu_expert_adapter_params * weight_element_bytes
    return _held(dense, experts, zero_stage >= 3, data_parallel, context_parallel, expert_parallel)


@law
def held_gradient_bytes(gpu_trained_params, gpu_trained_expert_params, gradient_element_bytes, zero_stage=0, data_parallel=1,
                        context_parallel=1, expert_parallel=1):
    """Gradients on one GPU (bytes): ZeRO splits them from stage 2 on (arXiv 1910.02054, section 5.2)."""
    return gradient_element_bytes * _held(gpu_trained_params, gpu_trained_expert_params, zero_stage >= 2, data_parallel,
                                          context_parallel, expert_parallel)


@law
def held_master_bytes(gpu_trained_params, gpu_trained_expert_params, master_element_bytes, offload_optimizer=0, zero_stage=0,
                      data_parallel=1, context_parallel=1, expert_parallel=1):
    """Master weights on one GPU (bytes): ZeRO splits them from stage 1 on (arXiv 1910.02054, section 5.1)."""
    on_gpu = master_element_bytes * (1 - offload_optimizer)
    return on_gpu * _held(gpu_trained_params, gpu_trained_expert_params, zero_stage >= 1, data_parallel, context_parallel,
                          expert_parallel)


@law
def factored_statistics(stage_layers, stage_moe_layers, hidden, heads, kv_heads, head_dim, intermediate, vocab,
                        tied_embeddings=0, experts=0, shared_experts=0, expert_intermediate=0, gated_mlp=0, q_lora_rank=0,
                        kv_lora_rank=0, rope_head_dim=0, value_head_dim=0, expert_parallel=1):
    """Row and column statistics of all matrices on one GPU (count). Adafactor (arXiv 1804.04235, section 3).

    A matrix has as many as an adapter of rank 1 has parameters. Tensor parallel, and vectors, which have one statistic an
    element, are left out.
    """
    attention = lora_attention_params.formula(1, hidden, heads, kv_heads, head_dim, 1, 1, 1, 1, q_lora_rank, kv_lora_rank,
                                              rope_head_dim, value_head_dim)
    dense = lora_mlp_params.formula(1, hidden, intermediate, 1, gated_mlp)
    expert = lora_expert_params.formula(1, hidden, 1, expert_intermediate, gated_mlp)
    sparse = (experts / expert_parallel + shared_experts) * expert
    tables = (2 - tied_embeddings) * (vocab + hidden)
    return stage_layers * attention + (stage_layers - stage_moe_layers) * dense + stage_moe_layers * sparse + tables


@law
def held_optimizer_bytes(gpu_trained_params, gpu_trained_expert_params, gpu_embedding_params, factored_statistics,
                         optimizer_element_bytes, embedding_optimizer_element_bytes, adapters, factored_element_bytes=0,
                         offload_optimizer=0, zero_stage=0, data_parallel=1, context_parallel=1, expert_parallel=1):
    """Optimizer state on one GPU (bytes): ZeRO splits it from stage 1 on (arXiv 1910.02054, section 5.1).

    Embeddings, final norm and head may have states of another width. The few statistics of a factored optimizer are not
    split. Offload moves all to the host (ZeRO-Offload, arXiv 2101.06840, section 4).
    """
    embedding = gpu_embedding_params * (1 - adapters)
    dense = (gpu_trained_params - embedding) * optimizer_element_bytes + embedding * embedding_optimizer_element_bytes
    held = _held(dense, gpu_trained_expert_params * optimizer_element_bytes, zero_stage >= 1, data_parallel, context_parallel,
                 expert_parallel)
    factored = (1 - adapters) * factored_statistics * factored_element_bytes
    return (held + factored) * (1 - offload_optimizer)


@law
def held_state_bytes(held_weight_bytes, held_gradient_bytes, held_master_bytes, held_optimizer_bytes):
    """Model state on one GPU (bytes)."""
    return held_weight_bytes + held_gradient_bytes + held_master_bytes + held_optimizer_bytes


# Activations

@law
def score_bytes(micro_batch, sequence, heads, activation_element_bytes=..., flash_attention=0, dropout=0, tensor_parallel=1,
                context_parallel=1):
    """Attention scores that one layer keeps on one GPU (bytes). Korthikanti et al. 2022 (arXiv 2205.05198, section 4.1).

    Kept: the softmax output, and with dropout its mask and its output, the paper's 5as^2b. FlashAttention (arXiv 2205.14135,
    section 3.1) keeps one FP32 statistic per query and head instead.
    """
    queries = micro_batch * heads / tensor_parallel * sequence / context_parallel
    per_score = activation_element_bytes * (1 + dropout) + dropout * MASK_BYTES
    return queries * where(flash_attention > 0, FP32_BYTES, sequence * per_score)


@law
def mlp_width(intermediate, layers, moe_layers=0, experts_per_token=0, shared_experts=0, expert_intermediate=0):
    """Width of the MLPs that one token passes through in a layer, averaged over the layers (count)."""
    routed = (experts_per_token + shared_experts) * expert_intermediate
    return ((layers - moe_layers) * intermediate + moe_layers * routed) / layers


@law
def whole_values(hidden, layers, norms_per_layer=..., moe_layers=0, experts_per_token=0, q_lora_rank=0, kv_lora_rank=0,
                 rope_head_dim=0, fusion=...):
    """Values one layer keeps of a token that tensor parallel does not divide (count). Korthikanti et al. 2022, section 4.1.

    The inputs of the norms, of attention and of the MLP, frozen or not (arXiv 2404.12406, section 1); of each expert of the
    token its input and its output; of latent attention the compressed vectors before and after their norms. A norm out of
    plain operations keeps an FP32 copy of its input, two values wide, and the normalized values besides.
    """
    norms = norms_per_layer * (1 + where(fusion <= 0, 2, 0)) + minimum(norms_per_layer, 2)
    routed = 2 * experts_per_token * moe_layers / layers
    return (norms + routed) * hidden + 2 * q_lora_rank + 2 * kv_lora_rank + rope_head_dim


@law
def split_values(heads, gpu_kv_heads, head_dim, mlp_width, gated_mlp=0, qk_norm=0, kv_lora_rank=0, rope_head_dim=0,
                 value_head_dim=0, tensor_parallel=1, fusion=..., expanded_kv=0):
    """Values one layer keeps of a token on one GPU that tensor parallel divides (count). Korthikanti et al. 2022, 4.2.1.

    Queries, keys, values and the attention output, and of the MLP 2 tensors, or 4 with a gate (gate, its activation, up,
    their product), of which a compiled MLP makes the activation again. Some code copies keys and values to every query head.
    """
    queries = heads / tensor_parallel
    keys = where(expanded_kv > 0, queries, gpu_kv_heads)
    grouped = (2 + qk_norm) * (queries + keys) * head_dim
    latent = 2 * queries * (head_dim + rope_head_dim + value_head_dim)
    mlp = 2 + gated_mlp * where(fusion >= 2, 1, 2)
    return where(kv_lora_rank > 0, latent, grouped) + mlp * mlp_width / tensor_parallel


@law
def layer_activation_bytes(score_bytes, gpu_tokens, whole_values, split_values, hidden, recompute=0, dropout=0,
                           tensor_parallel=1, sequence_parallel=0, activation_element_bytes=...):
    """What one layer keeps of a micro-batch for its backward pass, on one GPU (bytes). Korthikanti et al. 2022, table 2.

    Sequence parallel divides what tensor parallel leaves whole. Selective recompute drops the scores; full recompute keeps
    the layer's input alone.
    """
    whole_tokens = gpu_tokens / where(sequence_parallel > 0, tensor_parallel, 1)
    whole = whole_tokens * (whole_values * activation_element_bytes + 2 * dropout * hidden * MASK_BYTES)
    split = gpu_tokens * split_values * activation_element_bytes
    everything = whole + split + score_bytes * where(recompute >= 1, 0, 1)
    return where(recompute >= 2, whole_tokens * hidden * activation_element_bytes, everything)


@law
def activation_bytes(in_flight_layers, layer_activation_bytes):
    """What all layers in flight keep for the backward pass, on one GPU (bytes). Korthikanti et al. 2022, section 4.2.3."""
    return in_flight_layers * layer_activation_bytes


@law
def recomputed_bytes(score_bytes, gpu_tokens, whole_values, split_values, hidden, recompute=0, dropout=0, tensor_parallel=1,
                     sequence_parallel=0, activation_element_bytes=...):
    """What one layer dropped and makes again in its backward pass, on one GPU (bytes). Chen et al. 2016 (arXiv 1604.06174)."""
    def kept(recompute):
        return layer_activation_bytes.formula(score_bytes, gpu_tokens, whole_values, split_values, hidden, recompute, dropout,
                                              tensor_parallel, sequence_parallel, activation_element_bytes)
    return kept(0) - kept(recompute)


@law
def activation_gradient_bytes(gpu_tokens, hidden, mlp_width, gated_mlp=0, tensor_parallel=1, sequence_parallel=0,
                              activation_element_bytes=...):
    """Gradients alive in the widest part of a layer's backward pass, its MLP, on one GPU (bytes).

    Of the residual stream and the layer's output, and of the MLP's tensors: the product, up, gate.
    """
    whole = 2 * hidden / where(sequence_parallel > 0, tensor_parallel, 1)
    return gpu_tokens * activation_element_bytes * (whole + (2 + gated_mlp) * mlp_width / tensor_parallel)


# The loss

def _has_head(pipeline_parallel, last_stage):
    """1 on the stage with the output head, the only one without a pipeline."""
    return where(pipeline_parallel > 1, last_stage, 1)


@law
def logits_bytes(gpu_tokens, hidden, vocab, logit_element_bytes=..., activation_element_bytes=..., tensor_parallel=1,
                 sequence_parallel=0, pipeline_parallel=1, last_stage=0):
    """Output logits, and the inputs of final norm and head, on one GPU (bytes). Korthikanti et al. 2022, section 4.3."""
    here = _has_head(pipeline_parallel, last_stage)
    inputs = 2 * hidden * activation_element_bytes / where(sequence_parallel > 0, tensor_parallel, 1)
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
                   activation_element_bytes=..., zero_stage=0, data_parallel=1, context_parallel=1):
    """What ZeRO holds whole for a moment on one GPU (bytes). FSDP (arXiv 2304.11277, section 3.3).

    Stage 3: the weights of two layers and of the embeddings. Stages 2 and 3: a layer's gradient before it is shared out.
    """
    layer = (gpu_layer_params + gpu_expert_params) / stage_layers
    units = gpu_embedding_params + minimum(2, stage_layers) * layer
    weights = where(zero_stage >= 3, 1, 0) * units * activation_element_bytes
    gradient = where(zero_stage >= 2, 1, 0) * (1 - adapters) * layer * gradient_element_bytes
    return where(data_parallel * context_parallel > 1, 1, 0) * (weights + gradient)


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
def step_bytes(gpu_trained_params, gpu_trained_expert_params, step_element_bytes=0, offload_optimizer=0, zero_stage=0,
               data_parallel=1, context_parallel=1, expert_parallel=1):
    """What the optimizer step needs for itself on one GPU (bytes); a fused one needs nothing. PyTorch docs, torch.optim."""
    on_gpu = step_element_bytes * (1 - offload_optimizer)
    return on_gpu * _held(gpu_trained_params, gpu_trained_expert_params, zero_stage >= 1, data_parallel, context_parallel,
                          expert_parallel)


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
def training_bytes(peak_bytes, fragmentation_bytes, framework_bytes=...):
    """Bytes that training takes on one GPU, as its driver counts them: tensors, fragmentation, CUDA context and kernels.

    A context with kernels loaded as they are needed takes some 400 MB (github.com/pytorch/pytorch/issues/109888), NCCL's
    buffers some 600 MB more.
    """
    return peak_bytes + fragmentation_bytes + framework_bytes


@law
def host_bytes(held_master_bytes, held_optimizer_bytes):
    """What the host holds for one GPU if optimizer states are offloaded (bytes), from both as they are without offload."""
    return held_master_bytes + held_optimizer_bytes


@law
def usable_bytes(memory_bytes, headroom=...):
    """GPU memory left after headroom for the CUDA context, workspaces and fragmentation (bytes)."""
    return memory_bytes * (1 - headroom)
