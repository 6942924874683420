"""Bits of a weight that is stored with scales, and how small that makes a model whose tensors may be of several kinds."""
from ..core.arithmetic import maximum, where
from ..core.law import law

BIT_BYTES = 1 / 8


@law
def stored_bits(value_bits, block=1, block_bits=0, superblock=1, superblock_bits=0):
    """Bits of one weight with its share of the scales (count). QLoRA (arXiv 2305.14314, section 3).

    A block has scales and offsets of its own; a super-block those that its blocks share.
    """
    return value_bits + block_bits / block + superblock_bits / superblock


@law
def format_element_bytes(stored_bits):
    """One stored weight with its scales (bytes)."""
    return stored_bits * BIT_BYTES


@law
def quantized_params(params, embedding_params, keep_embeddings=0):
    """Parameters stored in the format: all, or all but the embeddings and the output head (count)."""
    return params - keep_embeddings * embedding_params


# Groups of tensors that a mixed format stores in kinds of their own: data/formats.csv says in how many bits

@law
def routed_params(expert_params, moe_layers=0, experts=0):
    """Parameters of the routed experts in all layers (count)."""
    return moe_layers * experts * expert_params


@law
def plain_mlp_params(hidden, mlp_layers, mlp_params, moe_layers=0, shared_experts=0, expert_intermediate=0, gated_mlp=0):
    """Parameters of the dense MLPs and the shared experts in all layers (count)."""
    shared = moe_layers * shared_experts * (2 + gated_mlp) * hidden * expert_intermediate
    return mlp_layers * mlp_params + shared


@law
def value_params(hidden, attention_layers, kv_heads, head_dim, kv_lora_rank=0):
    """Parameters of the value projections in all layers (count); latent attention has none of its own."""
    return where(kv_lora_rank > 0, 0, attention_layers * hidden * kv_heads * head_dim)


@law
def output_params(hidden, attention_layers, heads, head_dim, kv_lora_rank=0, value_head_dim=0, o_lora_rank=0, o_groups=0):
    """Parameters of attention's output projections in all layers (count); DeepSeek-V4 compresses groups of heads first."""
    width = heads * where(kv_lora_rank > 0, value_head_dim, head_dim)
    grouped = o_lora_rank * (width + o_groups * hidden)
    return attention_layers * where(o_lora_rank > 0, grouped, hidden * width)


def _beyond(bits, weight_element_bytes):
    """What a weight of another kind takes beyond the format's own bytes; nothing where it is of the same kind."""
    return where(bits > 0, bits * BIT_BYTES - weight_element_bytes, 0)


@law
def routed_extra_bytes(weight_element_bytes=..., down_bits=0, gated_mlp=0):
    """What a weight of a routed expert takes beyond the format's own bytes (bytes), in the mean: its down projection may differ.

    ggml-org/llama.cpp, src/llama-quant.cpp, llama_tensor_get_type_impl.
    """
    return _beyond(down_bits, weight_element_bytes) / (2 + gated_mlp)


@law
def layer_wider_bytes(params, embedding_params, routed_params, plain_mlp_params, value_params, output_params,
                      weight_element_bytes=..., attention_bits=0, values_bits=0, output_bits=0, mlp_bits=0, down_bits=0,
                      gated_mlp=0):
    """What the layers take beyond the format's own bytes without their routed experts (bytes): attention with all that is no MLP,
    values and outputs, and MLPs, of which the down projection may differ. llama.cpp, src/llama-quant.cpp.
    """
    attention = params - embedding_params - routed_params - plain_mlp_params
    down = _beyond(down_bits, weight_element_bytes) / (2 + gated_mlp)
    mlp = where(mlp_bits > 0, _beyond(mlp_bits, weight_element_bytes), down)
    return (attention * _beyond(attention_bits, weight_element_bytes) + value_params * _beyond(values_bits, weight_element_bytes)
            + output_params * _beyond(output_bits, weight_element_bytes) + plain_mlp_params * mlp)


@law
def table_wider_bytes(lookup_params, embedding_params, weight_element_bytes=..., embedding_bits=0, head_bits=0):
    """What embeddings and output head take beyond the format's own bytes (bytes); a tied table is stored as the head."""
    head = embedding_params - lookup_params
    return lookup_params * _beyond(embedding_bits, weight_element_bytes) + head * _beyond(head_bits, weight_element_bytes)


@law
def mixed_bytes(routed_params, routed_extra_bytes, layer_wider_bytes, table_wider_bytes):
    """What tensors of other kinds take beyond the format's own bytes (bytes): 0 of a format with one kind."""
    return routed_params * routed_extra_bytes + layer_wider_bytes + table_wider_bytes


@law
def gpu_mixed_bytes(gpu_expert_params, gpu_layer_params, gpu_embedding_params, params, embedding_params, routed_params,
                    routed_extra_bytes, layer_wider_bytes, table_wider_bytes):
    """What tensors of other kinds take on one GPU beyond the format's own bytes (bytes): of each group its part."""
    layers = gpu_layer_params * layer_wider_bytes / (params - embedding_params - routed_params)
    return gpu_expert_params * routed_extra_bytes + layers + gpu_embedding_params * table_wider_bytes / embedding_params


@law
def wider_bytes(params, quantized_params, mixed_bytes, weight_element_bytes=..., kept_element_bytes=...):
    """What the weights take beyond the format's own bytes (bytes): of parameters that are not quantized, and of other kinds."""
    return (params - quantized_params) * (kept_element_bytes - weight_element_bytes) + mixed_bytes


@law
def read_wider_bytes(wider_bytes, params, read_params, lookup_params, routed_extra_bytes, weight_element_bytes=...,
                     keep_embeddings=0, kept_element_bytes=..., embedding_bits=0):
    """Of that, what a decode step reads (bytes): neither experts that no token uses nor the embeddings that are looked up."""
    kept = keep_embeddings * (kept_element_bytes - weight_element_bytes)
    table = lookup_params * (kept + _beyond(embedding_bits, weight_element_bytes))
    return wider_bytes - (params - read_params) * routed_extra_bytes - table


@law
def quantized_weight_bytes(params, quantized_params, format_element_bytes, mixed_bytes, kept_element_bytes=...):
    """Weights of which some are stored in the format and the rest at another width (bytes)."""
    return quantized_params * format_element_bytes + (params - quantized_params) * kept_element_bytes + mixed_bytes


@law
def serving_bytes(quantized_weight_bytes, kv_bytes):
    """Weights and the cache of a batch (bytes)."""
    return quantized_weight_bytes + kv_bytes


@law
def affordable_bits(params, kv_bytes, usable_bytes):
    """Most bits a weight may take beside the cache, all weights alike (count); 0 if the cache alone fills the memory."""
    return maximum((usable_bytes - kv_bytes) / (params * BIT_BYTES), 0)
