"""A pass kernel by kernel: how many there are, what those beside products and attention move, how products fill a GPU.

Projections of one input are one product, experts of a layer are one product each way, attention never writes its scores, and
every other step is a kernel of its own. Kernels of a pass run one after the other.
"""
from ..core.arithmetic import maximum, minimum, where
from ..core.law import law
from .shares import product_fill


# Kernels

@law
def blocks_per_layer(layers, mixerless_layers=0, mlpless_layers=0):
    """Blocks of a layer, mean of the layers (count): one that mixes tokens, and an MLP or experts, each with its residual sum."""
    return 2 - (mixerless_layers + mlpless_layers) / layers


@law
def kernels_per_layer(attending_share, blocks_per_layer, norms_per_layer=..., qk_norm=0, layers=1, linear_layers=0,
                      mlpless_layers=0):
    """Kernels of a layer beside its matrix products, mean of the layers (count), by list: its norms, rotary positions, the write
    to the cache, attention, the activation function and two residual sums, each a kernel of its own. A linear layer has two
    instead of attention's: its convolution, and the state with its gate.
    """
    attention = attending_share * (qk_norm + 3) + 2 * linear_layers / layers
    return norms_per_layer + attention + (1 - mlpless_layers / layers) + blocks_per_layer


@law
def attention_products(kv_lora_rank=0):
    """Matrix products of attention in one layer (count), by list: queries with keys and values, output.

    Latent attention has two for queries and two for keys. DeepSeek-V2 (arXiv 2405.04434, section 2.1).
    """
    return where(kv_lora_rank > 0, 5, 2)


@law
def products_per_layer(attention_products, attending_share, layers=1, linear_layers=0, mlpless_layers=0):
    """Matrix products of a layer, mean of the layers (count), by list: those of attention, or a linear layer's two; up with gate,
    down.
    """
    return attending_share * attention_products + 2 * linear_layers / layers + 2 * (1 - mlpless_layers / layers)


@law
def pass_kernels(layers, kernels_per_layer, products_per_layer, blocks_per_layer, moe_layers=0, shared_experts=0,
                 narrow_products=0):
    """Kernels of one pass (count): the layers, and the embedding, the final norm and the head.

    Experts add a router, the choice, a permutation and its inverse; shared ones two products, an activation and a sum.
    Products in fewer than 16 bits add a cast of each input.
    """
    routing = moe_layers * (4 + where(shared_experts > 0, 4, 0))
    return layers * (kernels_per_layer + products_per_layer + 2 * blocks_per_layer * minimum(narrow_products, 1)) + routing + 3


@law
def launch_seconds(pass_kernels, kernel_seconds=0):
    """Time in which the kernels of one pass start and end (s): no kernel is shorter, and the next one waits for it."""
    return pass_kernels * kernel_seconds


# Values that a token moves beside products and attention, in all layers

@law
def norm_values(hidden, layers, attending_share, blocks_per_layer, norms_per_layer=..., qk_norm=0):
    """Values that norms and residual sums read and write for a token (count): two for each norm, three for each sum."""
    return layers * (2 * (norms_per_layer + attending_share * qk_norm) + 3 * blocks_per_layer) * hidden


@law
def turned_values(attention_layers, heads, kv_heads, head_dim, kv_lora_rank=0, rope_head_dim=0):
    """Values of queries and keys that rotary positions read and write for a token (count). RoFormer (arXiv 2104.09864)."""
    return 2 * attention_layers * where(kv_lora_rank > 0, (heads + 1) * rope_head_dim, (heads + kv_heads) * head_dim)


@law
def passed_width(mlp_layers, intermediate, moe_layers=0, experts_per_token=0, shared_experts=0, expert_intermediate=0):
    """Inner width of the MLPs and experts that a token passes through (count)."""
    return mlp_layers * intermediate + moe_layers * (experts_per_token + shared_experts) * expert_intermediate


@law
def activated_values(passed_width, gated_mlp=0):
    """Values that activation functions read and write for a token (count), a gate too. Shazeer 2020 (arXiv 2002.05202)."""
    return (2 + gated_mlp) * passed_width


@law
def routed_values(hidden, moe_layers=0, experts_per_token=0, expert_latent=0):
    """Values that are read and written to bring a token to its experts and back (count). MegaBlocks (arXiv 2211.15841)."""
    return moe_layers * 2 * (1 + experts_per_token) * where(expert_latent > 0, expert_latent, hidden)


@law
def cast_values(hidden, layers, mixed_width, passed_width, blocks_per_layer, narrow_products=0, tensor_parallel=1):
    """Inputs of products that one GPU casts to fewer bits for a token (count): of two products whole, of the other two a part."""
    whole, split = layers * blocks_per_layer * hidden, layers * mixed_width + passed_width
    return minimum(narrow_products, 1) * (whole + split / tensor_parallel)


@law
def token_bytes(norm_values, turned_values, activated_values, routed_values, cast_values, linear_values, linear_layers=0,
                tensor_parallel=1, narrow_products=0, activation_element_bytes=...):
    """Bytes one GPU moves for a token beside products and attention. Tensor parallel leaves norms, sums and routing whole:
    Megatron-LM (arXiv 1909.08053, section 3). A cast reads a value and writes one of half its width, or a quarter. What a linear
    layer keeps in training it reads and writes here.
    """
    split = turned_values + activated_values + linear_layers * linear_values
    values = norm_values + routed_values + split / tensor_parallel
    return (values + (1 + 0.5**narrow_products) * cast_values) * activation_element_bytes


# How products fill a GPU

def _mlp_fill(tokens, hidden, intermediate, gated_mlp, moe_layers, experts, experts_per_token, expert_intermediate, units,
              tensor_parallel, attention_parallel, compute_efficiency, tile_rows, tile_columns):
    """Of the two products of an MLP, most of a pass's work; 1 for a bound. Experts are products side by side, those of a GPU's
    part with the tokens of all attention groups.
    """
    copies = where(moe_layers > 0, maximum(experts / attention_parallel, 1), 1)
    rows = where(moe_layers > 0, tokens * experts_per_token / copies, tokens)
    wide = where(moe_layers > 0, expert_intermediate, intermediate) * (1 + gated_mlp) / tensor_parallel
    up = product_fill.formula(rows, copies * wide, units, tile_rows, tile_columns)
    down = product_fill.formula(rows, copies * hidden, units, tile_rows, tile_columns)
    return where(compute_efficiency < 1, (2 + gated_mlp) / ((1 + gated_mlp) / up + 1 / down), 1)


@law
def pass_fill(group_batch, hidden, intermediate, gated_mlp=0, moe_layers=0, experts=0, experts_per_token=0,
              expert_intermediate=0, units=1, tensor_parallel=1, attention_parallel=1, compute_efficiency=1, chunk=0, drafted=0,
              tile_rows=..., tile_columns=...):
    """Share of a GPU that the products of a pass fill (ratio), by those of the MLP; 1 for a bound."""
    tokens = group_batch * (1 + drafted) + chunk
    return _mlp_fill(tokens, hidden, intermediate, gated_mlp, moe_layers, experts, experts_per_token, expert_intermediate, units,
                     tensor_parallel, attention_parallel, compute_efficiency, tile_rows, tile_columns)


@law
def mixed_fill(group_batch, hidden, intermediate, mixed_tokens, gated_mlp=0, moe_layers=0, experts=0, experts_per_token=0,
               expert_intermediate=0, units=1, tensor_parallel=1, attention_parallel=1, compute_efficiency=1, drafted=0,
               tile_rows=..., tile_columns=...):
    """Share of a GPU that the products of a pass fill in which prompts ride (ratio); 1 for a bound."""
    return pass_fill.formula(group_batch, hidden, intermediate, gated_mlp, moe_layers, experts, experts_per_token,
                             expert_intermediate, units, tensor_parallel, attention_parallel, compute_efficiency, mixed_tokens,
                             drafted, tile_rows, tile_columns)


@law
def prompt_fill(prefilled_tokens, hidden, intermediate, gated_mlp=0, moe_layers=0, experts=0, experts_per_token=0,
                expert_intermediate=0, units=1, tensor_parallel=1, attention_parallel=1, compute_efficiency=1, tile_rows=...,
                tile_columns=...):
    """Share of a GPU that the products of one prompt fill (ratio), by those of the MLP; 1 for a bound."""
    return _mlp_fill(prefilled_tokens, hidden, intermediate, gated_mlp, moe_layers, experts, experts_per_token,
                     expert_intermediate, units, tensor_parallel, attention_parallel, compute_efficiency, tile_rows, tile_columns)
