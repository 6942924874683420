"""The weights of one layer, matrix by matrix: what the formulas of model_size.py add up."""
from collections import namedtuple

# `count` matrices of `rows` by `columns`; `block` is attention, MLP, experts or shared experts.
Matrix = namedtuple("Matrix", "block name rows columns count")


def matrices(row) -> list[Matrix]:
    """The matrices of a layer of the model, of a mixture of experts one of its layers with experts; without norms and biases."""
    dense = [] if row["moe_layers"] and not row["mlp_beside"] else _mlp(row)
    return [*(_latent(row) if row["kv_lora_rank"] else _grouped(row)), *(_experts(row) if row["moe_layers"] else ()), *dense]


def params_of(found: list[Matrix]) -> int:
    """The parameters of all these matrices together."""
    return sum(each.rows * each.columns * each.count for each in found)


def matrix_frame(row):
    """The matrices as a table: shape, parameters, and the share of them all."""
    from pandas import DataFrame
    found = matrices(row)
    return DataFrame([dict(matrix=each.name, block=each.block, shape=f"{each.rows:,} × {each.columns:,}", count=each.count,
                           parameters=params_of([each]), share=params_of([each]) / params_of(found)) for each in found])


def _grouped(row):
    hidden, queries, keys = row["hidden"], row["heads"] * row["head_dim"], row["kv_heads"] * row["head_dim"]
    gate, values = queries * row["attention_gate"], keys * (1 - row["shared_keys"])
    widths = {"Q": queries, "gate": gate, "K": keys, "V": values, "O": queries}
    return [Matrix("attention", name, hidden, wide, 1) for name, wide in widths.items() if wide]


def _latent(row):
    hidden, heads, dim, out = row["hidden"], row["heads"], row["head_dim"], row["value_head_dim"]
    rank, rotary, query = row["kv_lora_rank"], row["rope_head_dim"], row["q_lora_rank"]
    wide = heads * (dim + rotary)
    asked = [("Q down", hidden, query), ("Q up", query, wide)] if query else [("Q", hidden, wide)]
    shapes = [*asked, ("KV down", hidden, rank + rotary), ("KV up", rank, heads * (dim + out)), ("O", hidden, heads * out)]
    return [Matrix("attention", *shape, 1) for shape in shapes]


def _mlp(row, block="MLP", width="intermediate", count=1, channels="hidden"):
    names = ("gate", "up", "down") if row["gated_mlp"] else ("up", "down")
    return [Matrix(block, name, row[channels], row[width], count) for name in names]


def _experts(row):
    router, shared = Matrix("experts", "router", row["hidden"], row["experts"], 1), row["shared_experts"]
    if not row["expert_latent"]:
        return [router, *_mlp(row, "experts", "expert_intermediate", row["experts"] + shared)]
    narrow = [Matrix("experts", name, row["hidden"], row["expert_latent"], 1) for name in ("to fewer channels", "and back")]
    routed = _mlp(row, "experts", "expert_intermediate", row["experts"], "expert_latent")
    return [router, *narrow, *routed, *_mlp(row, "shared experts", "expert_intermediate", shared)]
