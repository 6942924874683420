"""What one GPU holds of a model under a layout: its layers, its part of each matrix, its tokens.

Tensor parallel divides heads, MLP width and vocabulary; pipeline parallel the layers; expert parallel the experts;
context parallel the sequence. Norms, routers, output biases, latent compressions and indexers are on every tensor-parallel GPU.
"""
from ..core.arithmetic import ceil, maximum, minimum, where
from ..core.law import law
from ..core.quantities import QUANTITIES, check
from .linear_layers import linear_params
from .model_size import attention_params, expert_params, mixing_params, mlp_params, window_attention_params

# Places for a layer in the chunks of a pipeline that may stay empty: Megatron-Core can count the embeddings, the output head
# and a layer that predicts one more token as one each.
SPARE_PLACES = 3
DEGREES = ("tensor_parallel", "pipeline_parallel", "virtual_stages", "data_parallel", "context_parallel", "expert_parallel")
_RULES = (
    ("tensor_parallel", "a divisor of heads", lambda heads, tensor_parallel: heads % tensor_parallel == 0),
    ("tensor_parallel", "a divisor or a multiple of kv_heads",
     lambda kv_heads, tensor_parallel: (kv_heads % tensor_parallel == 0) | (tensor_parallel % kv_heads == 0)),
    ("tensor_parallel", "a divisor or a multiple of window_kv_heads",
     lambda window_kv_heads, tensor_parallel: (window_kv_heads % tensor_parallel == 0)
     | (tensor_parallel % maximum(window_kv_heads, 1) == 0)),
    ("tensor_parallel", "a divisor of linear_value_heads",
     lambda linear_value_heads, tensor_parallel: linear_value_heads % tensor_parallel == 0),
    ("tensor_parallel", "a divisor of intermediate", lambda intermediate, tensor_parallel: intermediate % tensor_parallel == 0),
    ("pipeline_parallel", "at most layers + 2, with virtual_stages chunks on each GPU; first and last may be empty",
     lambda layers, pipeline_parallel, virtual_stages: pipeline_parallel * virtual_stages <= layers + 2),
    ("virtual_stages", "1 without pipeline parallel",
     lambda pipeline_parallel, virtual_stages: (pipeline_parallel > 1) | (virtual_stages == 1)),
    ("expert_parallel", "a divisor of experts, 1 without experts",
     lambda experts, expert_parallel: (expert_parallel == 1) | (experts % expert_parallel == 0) & (experts > 0)),
    ("expert_tensor_parallel", "a divisor of tensor_parallel",
     lambda tensor_parallel, expert_tensor_parallel: tensor_parallel % expert_tensor_parallel == 0),
    ("expert_parallel", "x expert_tensor_parallel a divisor of tensor_parallel x data_parallel x context_parallel",
     lambda tensor_parallel, data_parallel, context_parallel, expert_parallel, expert_tensor_parallel:
     tensor_parallel * data_parallel * context_parallel % (expert_parallel * expert_tensor_parallel) == 0),
    ("context_parallel", "a divisor of sequence", lambda sequence, context_parallel: sequence % context_parallel == 0),
)


def layout_rules(architecture, **layout):
    """Each rule on the sizes of a layout, which may be columns: degree, what is allowed, the sizes it reads, whether it holds.

    Degrees that are not given are 1; the rule on `sequence` needs it.
    """
    given = dict(architecture) | dict.fromkeys((*DEGREES, "expert_tensor_parallel"), 1) | layout
    for name, allowed, holds in _RULES:
        sizes = {size: given[size] for size in holds.__code__.co_varnames if size in given}
        if len(sizes) == holds.__code__.co_argcount:
            yield name, allowed, sizes, holds(**sizes)


def check_layout(architecture, **layout):
    """Raise ValueError naming the degree that is no count or does not divide what it should; `layout` may hold `sequence`."""
    for name, size in layout.items():
        check(name, size)
    for name, allowed, sizes, holds in layout_rules(architecture, **layout):
        if not holds:
            others = ", ".join(f"{part} {size}" for part, size in sizes.items() if part != name)
            raise ValueError(f"{name} ({QUANTITIES[name].meaning}) is {sizes[name]!r}; allowed: {allowed} ({others})")


@law
def stage_layers(layers, pipeline_parallel=1, virtual_stages=1):
    """Layers on one GPU of the fullest stage (count). Megatron-LM (arXiv 2104.04473, section 2.2)."""
    return virtual_stages * ceil(layers / (pipeline_parallel * virtual_stages))


@law
def stage_moe_layers(moe_layers=0, pipeline_parallel=1, virtual_stages=1):
    """Mixture-of-experts layers on one GPU of the fullest stage, spread evenly over the stages (count)."""
    return virtual_stages * ceil(moe_layers / (pipeline_parallel * virtual_stages))


@law
def stage_mlp_layers(layers, stage_layers, stage_moe_layers, mlpless_layers=0, mlp_beside=0):
    """Layers with a dense MLP on one GPU of the fullest stage (count), if those without one are spread evenly."""
    return maximum(stage_layers - mlpless_layers * stage_layers / layers - stage_moe_layers * (1 - mlp_beside), 0)


@law
def gpu_kv_heads(kv_heads, tensor_parallel=1):
    """Key and value heads on one GPU (count): at least one, so that heads are copied above that degree.

    Pope et al. 2022 (arXiv 2211.05102, section 3.3).
    """
    return maximum(kv_heads / tensor_parallel, 1)


@law
def gpu_attention_params(hidden, heads, gpu_kv_heads, head_dim, tensor_parallel=1, qkv_bias=0, output_bias=0, qk_norm=0,
                         q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0, attention_gate=0, sinks=0,
                         wide_qk_norm=0, shared_keys=0, o_lora_rank=0, o_groups=0):
    """Attention parameters of one layer on one GPU (count). Megatron-LM (arXiv 1909.08053, section 3)."""
    return attention_params.formula(hidden, heads / tensor_parallel, gpu_kv_heads, head_dim, qkv_bias, output_bias, qk_norm,
                                    q_lora_rank, kv_lora_rank, rope_head_dim, value_head_dim, attention_gate, sinks, wide_qk_norm,
                                    shared_keys, o_lora_rank, o_groups / tensor_parallel)


@law
def gpu_window_params(hidden, heads, gpu_kv_heads, head_dim, window_kv_heads=0, window_head_dim=0, tensor_parallel=1, qkv_bias=0,
                      output_bias=0, qk_norm=0, q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0,
                      attention_gate=0, sinks=0, wide_qk_norm=0, o_lora_rank=0, o_groups=0):
    """Attention parameters of one layer with a window on one GPU (count). Megatron-LM (arXiv 1909.08053, section 3)."""
    keys = where(window_kv_heads > 0, maximum(window_kv_heads / tensor_parallel, 1), gpu_kv_heads)
    return window_attention_params.formula(hidden, heads / tensor_parallel, keys, head_dim, 0, window_head_dim, qkv_bias,
                                           output_bias, qk_norm, q_lora_rank, kv_lora_rank, rope_head_dim, value_head_dim,
                                           attention_gate, sinks, wide_qk_norm, o_lora_rank, o_groups / tensor_parallel)


@law
def gpu_linear_params(hidden, linear_key_heads=0, linear_value_heads=0, linear_key_dim=0, linear_value_dim=0, conv_kernel=0,
                      state_space=0, decay_rank=0, full_rank_gate=0, tensor_parallel=1):
    """Parameters of one linear layer on one GPU (count): tensor parallel divides its heads. Megatron-Core, megatron/core/ssm."""
    return linear_params.formula(hidden, linear_key_heads / tensor_parallel, linear_value_heads / tensor_parallel, linear_key_dim,
                                 linear_value_dim, conv_kernel, state_space, decay_rank, full_rank_gate)


@law
def gpu_mixing_params(layers, attention_layers, gpu_attention_params, gpu_window_params, gpu_linear_params, indexer_params,
                      window_layers=0, linear_layers=0, indexer_layers=0, further_params=0):
    """What mixes tokens in a layer on one GPU, mean of the layers (count)."""
    every = mixing_params.formula(attention_layers, gpu_attention_params, gpu_window_params, gpu_linear_params, indexer_params,
                                  window_layers, linear_layers, indexer_layers, further_params)
    return every / layers


@law
def gpu_mlp_params(hidden, intermediate, gated_mlp=0, mlp_bias=0, tensor_parallel=1):
    """Parameters of one dense MLP on one GPU (count). Megatron-LM (arXiv 1909.08053, section 3)."""
    return mlp_params.formula(hidden, intermediate / tensor_parallel, gated_mlp, mlp_bias)


@law
def gpu_layer_params(hidden, stage_layers, stage_moe_layers, stage_mlp_layers, gpu_mixing_params, gpu_mlp_params, norm_params,
                     experts=0, shared_experts=0, shared_gate=0, expert_intermediate=0, gated_mlp=0, router_bias=0,
                     expert_latent=0, tensor_parallel=1):
    """Parameters of the layers on one GPU without their routed experts (count)."""
    router = experts * (hidden + router_bias) + shared_gate * hidden + 2 * hidden * expert_latent
    shared = shared_experts * (2 + gated_mlp) * hidden * expert_intermediate / tensor_parallel
    dense = stage_mlp_layers * gpu_mlp_params
    return stage_layers * (gpu_mixing_params + norm_params) + dense + stage_moe_layers * (router + shared)


@law
def gpu_expert_params(hidden, stage_moe_layers, experts=0, expert_intermediate=0, gated_mlp=0, expert_bias=0, expert_latent=0,
                      expert_tensor_parallel=1, expert_parallel=1):
    """Parameters of the routed experts on one GPU (count). GShard (arXiv 2006.16668, section 3.3).

    Tensor parallel inside an expert has a degree of its own, usually 1: Megatron-Core documentation, MoE parallel folding.
    """
    expert = expert_params.formula(hidden, expert_intermediate / expert_tensor_parallel, gated_mlp, expert_bias, expert_latent)
    return stage_moe_layers * experts / expert_parallel * expert


@law
def gpu_embedding_params(vocab, hidden, tied_embeddings=0, positions=0, head_bias=0, norm_vectors=1, tensor_parallel=1,
                         pipeline_parallel=1, last_stage=0):
    """Embeddings, positions, final norm and output head on one GPU (count).

    A pipeline has the embeddings on its first stage, final norm and head on its last; a tied table is on both.
    """
    table = vocab * hidden / tensor_parallel
    first = table + positions * hidden
    last = table + head_bias * vocab / tensor_parallel + norm_vectors * hidden
    return where(pipeline_parallel > 1, where(last_stage > 0, last, first), first + last - tied_embeddings * table)


@law
def gpu_params(gpu_embedding_params, gpu_layer_params, gpu_expert_params):
    """Parameters on one GPU before any ZeRO (count)."""
    return gpu_embedding_params + gpu_layer_params + gpu_expert_params


@law
def gpu_context_values(gpu_kv_heads, head_dim, rope_head_dim=0, value_head_dim=0):
    """Values of a token and layer that a GPU sends to its context-parallel group (count): its keys and values.

    Latent attention expands them to full heads first: Megatron-Core, megatron/core/transformer/multi_latent_attention.py.
    """
    return gpu_kv_heads * (head_dim + rope_head_dim + where(value_head_dim > 0, value_head_dim, head_dim))


@law
def shard_ranks(data_parallel=1, context_parallel=1, shard_parallel=0):
    """GPUs over which ZeRO splits what all of them hold (count): all replicas, or fewer in hybrid sharding.

    FSDP (arXiv 2304.11277, section 3.2.2).
    """
    replicas = data_parallel * context_parallel
    return where(shard_parallel > 0, minimum(shard_parallel, replicas), replicas)


@law
def expert_shard_ranks(shard_ranks, tensor_parallel=1, expert_parallel=1, expert_tensor_parallel=1):
    """GPUs over which ZeRO splits the same experts (count): of those around a shard, the ones that do not share experts out.

    Megatron-Core documentation, MoE parallel folding.
    """
    return maximum(shard_ranks * tensor_parallel / (expert_parallel * expert_tensor_parallel), 1)


@law
def gpu_tokens(micro_batch, sequence, context_parallel=1):
    """Tokens of a micro-batch that one GPU works on (count). Context parallel: Megatron-Core documentation."""
    return micro_batch * sequence / context_parallel


@law
def in_flight_layers(stage_layers, micro_batches, pipeline_parallel=1, virtual_stages=1, last_stage=0):
    """Layers, counted once per micro-batch in flight, whose activations one GPU keeps (count).

    1F1B: the first of p stages keeps p micro-batches, the last one (arXiv 2104.04473, section 2.2). Interleaved with v chunks:
    p (v + 1) - 1 chunks, so L (1 + (p - 1) / (p v)) layers (arXiv 2205.05198, section 4.2.3).
    """
    warm_up = 2 * (pipeline_parallel - 1) * (1 - last_stage) + pipeline_parallel * (virtual_stages - 1) + 1
    plain = pipeline_parallel - (pipeline_parallel - 1) * last_stage
    chunks = where(virtual_stages > 1, warm_up, plain)
    return minimum(chunks, micro_batches * virtual_stages) * stage_layers / virtual_stages
