"""A pass kernel by kernel: how many there are, what those beside products and attention move, how products fill a GPU.

Projections of one input are one product, experts of a layer are one product each way, attention never writes its scores, and
every other step is a kernel of its own. Kernels of a pass run one after the other.
"""
from .shares import product_fill
from ..core.arithmetic import maximum, where
from ..core.law import law


# Kernels

@law
def kernels_per_layer(norms_per_layer=..., qk_norm=0):
    """Kernels of a layer beside its matrix products (count), by list: its norms, rotary positions, the write to the cache,
    attention, the activation function and two residual sums, each a kernel of its own.
    """
    return norms_per_layer + qk_norm + 6


@law
def products_per_layer(kv_lora_rank=0):
    """Matrix products of a layer (count), by list: queries with keys and values, output, up with gate, down.

    Latent attention has two for queries and two for keys. DeepSeek-V2 (arXiv 2405.04434, section 2.1).
    """
    return where(kv_lora_rank > 0, 7, 4)


@law
def pass_kernels(layers, kernels_per_layer, products_per_layer, moe_layers=0, shared_experts=0, narrow_products=0):
    """Kernels of one pass (count): the layers, and the embedding, the final norm and the head.

    Experts add a router, the choice, a permutation and its inverse; shared ones two products, an activation and a sum.
    Products in 8 bits add a cast of each input.
    """
    routing = moe_layers * (4 + where(shared_experts > 0, 4, 0))
    return layers * (kernels_per_layer + products_per_layer + 4 * narrow_products) + routing + 3


@law
def launch_seconds(pass_kernels, kernel_seconds=0):
    """Time in which the kernels of one pass start and end (s): no kernel is shorter, and the next one waits for it."""
    return pass_kernels * kernel_seconds


# Values that a token moves beside products and attention, in all layers

@law
def norm_values(hidden, layers, norms_per_layer=..., qk_norm=0):
    """Values that norms and residual sums read and write for a token (count): two for each norm, three for each of two sums."""
    return layers * (2 * (norms_per_layer + qk_norm) + 6) * hidden


@law
def turned_values(layers, heads, kv_heads, head_dim, kv_lora_rank=0, rope_head_dim=0):
    """Values of queries and keys that rotary positions read and write for a token (count). RoFormer (arXiv 2104.09864)."""
    return 2 * layers * where(kv_lora_rank > 0, (heads + 1) * rope_head_dim, (heads + kv_heads) * head_dim)


@law
def passed_width(layers, intermediate, moe_layers=0, experts_per_token=0, shared_experts=0, expert_intermediate=0):
    """Inner width of the MLPs and experts that a token passes through (count)."""
    return (layers - moe_layers) * intermediate + moe_layers * (experts_per_token + shared_experts) * expert_intermediate


@law
def activated_values(passed_width, gated_mlp=0):
    """Values that activation functions read and write for a token (count), a gate too. Shazeer 2020 (arXiv 2002.05202)."""
    return (2 + gated_mlp) * passed_width


@law
def routed_values(hidden, moe_layers=0, experts_per_token=0):
    """Values that are read and written to bring a token to its experts and back (count). MegaBlocks (arXiv 2211.15841)."""
    return moe_layers * 2 * (1 + experts_per_token) * hidden


@law
def cast_values(hidden, layers, heads, head_dim, passed_width, narrow_products=0, tensor_parallel=1, kv_lora_rank=0,
                value_head_dim=0):
    """Inputs of products that one GPU casts to 8 bits for a token (count): of two products whole, of the other two its part."""
    outputs = layers * heads * where(kv_lora_rank > 0, value_head_dim, head_dim)
    return narrow_products * (2 * layers * hidden + (outputs + passed_width) / tensor_parallel)


@law
def token_bytes(norm_values, turned_values, activated_values, routed_values, cast_values, tensor_parallel=1,
                activation_element_bytes=...):
    """Bytes one GPU moves for a token beside products and attention. Tensor parallel leaves norms, sums and routing whole:
    Megatron-LM (arXiv 1909.08053, section 3). A cast reads a value and writes one of half its width.
    """
    values = norm_values + routed_values + (turned_values + activated_values) / tensor_parallel
    return (values + 1.5 * cast_values) * activation_element_bytes


# How products fill a GPU

def _mlp_fill(tokens, hidden, intermediate, gated_mlp, moe_layers, experts, experts_per_token, expert_intermediate, units,
              tensor_parallel, compute_efficiency, tile_rows, tile_columns):
    """Of the two products of an MLP, most of a pass's work; 1 for a bound. Experts are products side by side."""
    copies = where(moe_layers > 0, maximum(experts, 1), 1)
    rows = where(moe_layers > 0, tokens * experts_per_token / copies, tokens)
    wide = where(moe_layers > 0, expert_intermediate, intermediate) * (1 + gated_mlp) / tensor_parallel
    up = product_fill.formula(rows, copies * wide, units, tile_rows, tile_columns)
    down = product_fill.formula(rows, copies * hidden, units, tile_rows, tile_columns)
    return where(compute_efficiency < 1, (2 + gated_mlp) / ((1 + gated_mlp) / up + 1 / down), 1)


@law
def pass_fill(batch, hidden, intermediate, gated_mlp=0, moe_layers=0, experts=0, experts_per_token=0, expert_intermediate=0,
              units=1, tensor_parallel=1, compute_efficiency=1, chunk=0, tile_rows=..., tile_columns=...):
    """Share of a GPU that the products of a pass fill (ratio), by those of the MLP; 1 for a bound."""
    return _mlp_fill(batch + chunk, hidden, intermediate, gated_mlp, moe_layers, experts, experts_per_token,
                     expert_intermediate, units, tensor_parallel, compute_efficiency, tile_rows, tile_columns)


@law
def prompt_fill(prefilled_tokens, hidden, intermediate, gated_mlp=0, moe_layers=0, experts=0, experts_per_token=0,
                expert_intermediate=0, units=1, tensor_parallel=1, compute_efficiency=1, tile_rows=..., tile_columns=...):
    """Share of a GPU that the products of one prompt fill (ratio), by those of the MLP; 1 for a bound."""
    return _mlp_fill(prefilled_tokens, hidden, intermediate, gated_mlp, moe_layers, experts, experts_per_token,
                     expert_intermediate, units, tensor_parallel, compute_efficiency, tile_rows, tile_columns)
