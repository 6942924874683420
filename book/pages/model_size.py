"""A model in numbers: the matrices of a layer and pictures of its parameters."""
import textwrap
from collections import namedtuple

from gpucalc.core.figures import gib, number, percent, quantity, times
from gpucalc.laws import kv_cache as kv, model_size as size, serving_cost as sc
from gpucalc.rows import bands
from ..components.charts import slider_chart
from ..components.dates import dated, under
from ..components.picture import Sheet


# The weights of one layer, matrix by matrix: what the formulas of model_size.py add up.

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
    gate = [("gate", hidden, heads * out)] if row["attention_gate"] else []
    shapes = [*asked, ("KV down", hidden, rank + rotary), ("KV up", rank, heads * (dim + out)), *gate, ("O", hidden, heads * out)]
    if row["o_lora_rank"]:
        groups = row["o_groups"] * row["o_lora_rank"]
        shapes = [*asked, ("KV", hidden, rank + rotary), ("O down", row["o_lora_rank"], heads * out), ("O up", hidden, groups)]
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


# The pictures of the first lesson: a layer with its matrices to scale, and a GPU with its rates to scale.

# Units of the sheet: what the widest row of matrices takes, the space between two, and the thickest pipe.
_ROOM, _APART, _PIPE = 384, 5, 84


def layer(case):
    """The matrices of one layer, all at one scale: an area is a count of parameters. Of many experts one is drawn."""
    row, found = case.rows["model"], matrices(case.rows["model"])
    attention, rest = ([each for each in found if (each.block == "attention") == first] for first in (True, False))
    rows = [attention, [each for each in rest if each.name != "router"]]
    scale = min((_ROOM - _APART * (len(held) - 1)) / sum(each.columns for each in held) for held in rows)
    tall, sheet = max(row.hidden * scale, 22), Sheet(96 + 2 * max(row.hidden * scale, 22))
    for held, all_of_it, y in zip(rows, (attention, rest), (0, tall + 32)):
        _row(sheet, held, params_of(all_of_it), y, scale)
    whole, y = case(size.params), 2 * tall + 64
    sheet.text(8, y + 8, f"Full height: {row.hidden:,}. Norms are too thin to draw.", color="soft")
    sheet.text(8, y + 28, f"{row.layers} layers, embedding and head: {number(whole)}", bold=True)
    share = percent(params_of(rest) / params_of(found))
    return sheet.picture(
        f"{share} of a {row.name} layer sits in its {rest[-1].block}",
        f"Matrices at one scale. Attention has {number(params_of(attention))} parameters in "
        f"{', '.join(each.name for each in attention)}; the rest has {number(params_of(rest))} in "
        f"{', '.join(each.name for each in rest)}. {row.layers} layers with embedding and head are {number(whole)} parameters.")


def _row(sheet, held, params, y, scale):
    """Matrices of one block beside each other, under its name and what it holds."""
    x, color, many = 8, "a" if held[0].block == "attention" else "b", held[0].count
    one_of = f", one of {many} drawn" if many > 1 else ""
    names = ", ".join(each.name for each in held)
    sheet.text(8, y + 15, f"{held[0].block}, {names}: {number(params)}{one_of}", color=color, bold=True)
    for each in held:
        wide, tall = max(each.columns * scale, 1), max(each.rows * scale, 1)
        sheet.box(x, y + 22, wide, tall, color, round=2)
        if wide > 10 * len(each.name) and tall > 16:
            sheet.text(x + wide / 2, y + 27 + tall / 2, each.name, "middle", "paper", bold=True)
        x += wide + _APART


def card(case, network):
    """A GPU and what reaches it; the thickness of each pipe is its rate, `network` being that of one port of the server."""
    row = case.rows["gpu"]
    pipes = [("other GPUs", row.link, row.link_bandwidth), ("host", "PCIe", row.host_bandwidth),
             ("other servers", network.name, network.link_bandwidth)]
    pipes = [each for each in pipes if each[2] == each[2]]
    said = ", ".join(f"{name} to {end}" for end, name, _ in pipes)
    lines = textwrap.wrap(f"A pipe is as thick as its rate. {said}.", 54)
    sheet = Sheet(190 + 18 * len(lines))
    sheet.box(2, 28, 90, 150, "wash", outline="a").box(168, 28, 104, 150, "wash", outline="c")
    sheet.text(46, 20, row.memory_type, "middle", bold=True).text(220, 20, "chip", "middle", bold=True)
    sheet.text(46, 98, gib(row.memory_bytes), "middle").text(46, 116, "memory", "middle", "soft")
    sheet.box(180, 42, 80, 54, "c").text(220, 66, "tensor", "middle", "paper").text(220, 82, "cores", "middle", "paper")
    sheet.box(180, 106, 80, 40, "paper", outline="line").text(220, 131, "caches", "middle")
    sheet.text(220, 168, number(row.peak_flops, "FLOP/second"), "middle", "c", bold=True)
    sheet.box(92, 103 - _PIPE / 2, 76, _PIPE, "a", round=0)
    sheet.text(130, 108, number(row.bandwidth, "byte/second"), "middle", "paper", bold=True)
    for place, (end, _, rate) in enumerate(pipes):
        y, thick = 48 + 50 * place, _PIPE * rate / row.bandwidth
        sheet.box(272, y - thick / 2, 36, max(thick, 1), "b", round=0)
        sheet.text(314, y - 2, end).text(314, y + 14, number(rate, "byte/second"), color="b", bold=True)
    for place, line in enumerate(lines):
        sheet.text(2, 202 + 18 * place, line, color="soft")
    slow = min(pipes, key=lambda each: each[2])
    return sheet.picture(
        f"{row.name} reads its own memory {times(row.bandwidth / slow[2])} as fast as it reaches {slow[0]}",
        f"Memory of {gib(row.memory_bytes)} feeds the chip at {number(row.bandwidth, 'byte/second')}, whose tensor cores do "
        f"{number(row.peak_flops, 'FLOP/second')}. "
        + ", ".join(f"{end}: {number(rate, 'byte/second')}" for end, _, rate in pipes))


def cost_slider_chart(case, context, weight_element_bytes, name, gpu, book, rent):
    shared = case.but(batch=32)
    return under(
        slider_chart(
            case.but(batch=1), {"at the peaks": (sc.usd_per_million_tokens, bands.PEAKS), "expected": sc.usd_per_million_tokens},
            x="batch", values=list(range(1, 129)), crossing=kv.max_batch, log_x=True, log_y=True,
            y_title="USD for a million tokens", choose=("model", "gpu"),
            sliders={
                "usd_per_hour": (min(0.5, case.inputs["usd_per_hour"]), max(10, case.inputs["usd_per_hour"]), 0.05,
                                 case.inputs["usd_per_hour"]),
                "context": (min(512, context), max(16384, context), 512, context),
                "weight_element_bytes": (min(0.5, weight_element_bytes), max(2, weight_element_bytes), 0.5, weight_element_bytes),
            },
            finding=[
                ("max_batch < 1", "The weights leave no room for a user on this card"),
                ("max_batch < 2", "For one user a million tokens cost {usd_per_million_tokens}; no second user fits on the card"),
                "For one user a million tokens cost {usd_per_million_tokens}; {max_batch} users fit on the card",
            ],
            alt=f"USD for a million tokens of {name} on {gpu} against the users at once: "
            f"{quantity('usd_per_million_tokens', case.but(batch=1)(sc.usd_per_million_tokens))} for one, "
            f"{quantity('usd_per_million_tokens', shared(sc.usd_per_million_tokens))} each for {shared.inputs['batch']}."),
        dated(book, rent))
