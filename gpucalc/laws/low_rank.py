"""Low-rank adapters: their parameters, what is trained of a model, and many of them beside one that serves."""
from ..core.arithmetic import maximum, minimum, where
from ..core.law import law


@law
def lora_attention_params(lora_rank, hidden, heads, kv_heads, head_dim, adapt_query, adapt_key, adapt_value, adapt_output,
                          q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0, attention_gate=0, shared_keys=0):
    """Adapter parameters of one attention block (count): rank times inputs plus outputs of each adapted matrix.

    LoRA (arXiv 2106.09685, section 4.1). In latent attention the query is two matrices if it is compressed; the key
    stands for the compression and the value for the expansion. A gate on the output is part of the query. Linear layers have
    projections of other names, and no adapters.
    """
    queries, keys = heads * head_dim, kv_heads * head_dim
    grouped = ((adapt_query + adapt_output) * (hidden + queries) + adapt_query * attention_gate * queries
               + (adapt_key + adapt_value * (1 - shared_keys)) * (hidden + keys))
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
def lora_expert_params(lora_rank, hidden, adapt_mlp, expert_intermediate=0, gated_mlp=0, expert_latent=0):
    """Adapter parameters of one expert (count); a shared one counts as one of them. LoRA (arXiv 2106.09685, section 4.1)."""
    return adapt_mlp * lora_rank * (2 + gated_mlp) * (where(expert_latent > 0, expert_latent, hidden) + expert_intermediate)


@law
def lora_params(attention_layers, mlp_layers, lora_attention_params, lora_mlp_params, lora_expert_params, moe_layers=0, experts=0,
                shared_experts=0):
    """Adapter parameters of the whole model (count)."""
    return (attention_layers * lora_attention_params + mlp_layers * lora_mlp_params
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
def gpu_adapter_params(stage_layers, stage_moe_layers, stage_mlp_layers, attending_share, lora_attention_params, lora_mlp_params,
                       lora_expert_params, shared_experts=0):
    """Adapter parameters on one GPU outside the routed experts (count); tensor parallel does not divide them."""
    return (stage_layers * attending_share * lora_attention_params + stage_mlp_layers * lora_mlp_params
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


# Many adapters beside one model that serves

@law
def served_adapter_bytes(lora_params, max_loras=0, tensor_parallel=1, pipeline_parallel=1, activation_element_bytes=...):
    """Adapters that an engine holds ready on one GPU (bytes), each of the largest rank and in the width of activations.

    Of the two matrices of each, tensor parallel splits one, that which stands along the split of the layer's own. vLLM,
    lora/layers and --fully-sharded-loras, which would split both.
    """
    split = (1 + 1 / tensor_parallel) / 2 / pipeline_parallel
    return max_loras * lora_params * activation_element_bytes * split


@law
def adapter_pass_seconds(served_adapter_bytes, layers, products_per_layer, memory_rate, batch, max_loras=0, kernel_seconds=0):
    """What adapters add to a pass (s): those that its sequences use are read, and two small products stand beside each of the
    model's. Punica (arXiv 2310.18547, section 4): one kernel for all adapters of a batch.

    Their arithmetic, rank over width of the model's, is left out.
    """
    used = served_adapter_bytes * minimum(batch / maximum(max_loras, 1), 1)
    return used / memory_rate + where(max_loras > 0, 2 * layers * products_per_layer * kernel_seconds, 0)
