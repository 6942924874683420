"""What a layer is made of in training: the tensors it keeps for its backward pass, and the adapters beside its matrices."""
from gpucalc.laws import activation_memory, low_rank
from gpucalc.laws.sharding import gpu_tokens

ADAPTED = {"adapt_query": "query", "adapt_key": "key", "adapt_value": "value", "adapt_output": "attention output"}


def kept_tensors(case):
    """The tensors that one layer keeps of a micro-batch, on one GPU, without tensor parallel and with fused norms.

    A table: `tensor`, `needed_by` (whose gradient), `values` of a token in symbols, `width` (their number), `bytes`. Its last
    two rows, without a width, are alternatives: the statistic of FlashAttention, and the scores of plain attention.
    """
    from pandas import DataFrame
    row = case.rows["model"]
    norms, pairs = row.norms_per_layer, min(row.norms_per_layer, 2)
    inputs = [("inputs of the norms", "norms", f"{norms} h", norms * row.hidden),
              ("inputs of attention and MLP", "their first matrices", f"{pairs} h", pairs * row.hidden)]
    attention = _latent(row) if row.kv_lora_rank else _grouped(row)
    kept = DataFrame([*inputs, *attention, *_routed(row), *_mlp(row, case(activation_memory.mlp_width))],
                     columns=["tensor", "needed_by", "values", "width"])
    kept["bytes"] = kept["width"] * activation_memory.score_bytes.defaults["activation_element_bytes"] * case(gpu_tokens)
    for flash, tensor in ((1, ("softmax statistic (FlashAttention)", "scores", "a")),
                          (0, ("or softmax output (plain attention)", "mixing", "a s"))):
        kept.loc[len(kept)] = [*tensor, float("nan"), case.but(flash_attention=flash)(activation_memory.score_bytes)]
    return kept


def adapter_params(case):
    """Adapter parameters of the recipe by kind of matrix in one layer, and of the whole model."""
    row, recipe = case.rows["model"], case.rows["recipe"]
    none = dict.fromkeys(ADAPTED, 0)
    counts = {matrix: case.but(**none | {switch: recipe[switch]})(low_rank.lora_attention_params)
              for switch, matrix in ADAPTED.items()}
    counts["dense MLP"] = (row.moe_layers < row.layers) * case(low_rank.lora_mlp_params)
    counts["experts"] = (row.experts + row.shared_experts) * case(low_rank.lora_expert_params)
    return counts | {"all layers together": case(low_rank.lora_params)}


def _grouped(row):
    a, kv, d = row.heads, row.kv_heads, row.head_dim
    before = [("queries and keys before their norms", "norms", "(a + n_kv) d", (a + kv) * d)] if row.qk_norm else []
    return [*before, ("queries", "scores", "a d", a * d), ("keys", "scores", "n_kv d", kv * d),
            ("values", "mixing", "n_kv d", kv * d), ("attention output", "output projection", "a d", a * d)]


def _latent(row):
    a, d, rotary, out = row.heads, row.head_dim, row.rope_head_dim, row.value_head_dim
    ranks = row.q_lora_rank + row.kv_lora_rank
    return [("compressed vectors, before and after their norms", "norms, expansions", "2 r_q + 2 r_kv", 2 * ranks),
            ("rotary key", "scores", "d_r", rotary), ("queries", "scores", "a (d + d_r)", a * (d + rotary)),
            ("keys", "scores", "a (d + d_r)", a * (d + rotary)), ("values", "mixing", "a d_v", a * out),
            ("attention output", "output projection", "a d_v", a * out)]


def _routed(row):
    routed = 2 * row.experts_per_token * row.moe_layers / row.layers
    tensor = ("inputs and outputs of the token's experts", "experts, router", f"{routed:.3g} h", routed * row.hidden)
    return [tensor] if routed else []


def _mlp(row, width):
    if not row.gated_mlp:
        return [("first MLP output", "activation", "f_t", width), ("activation output", "second MLP matrix", "f_t", width)]
    return [("gate before its activation", "activation", "f_t", width),
            ("gate after its activation", "product", "f_t", width),
            ("up projection", "product", "f_t", width), ("product of the two", "down projection", "f_t", width)]
