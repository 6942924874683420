"""The pictures of the page on training memory: bytes of a weight, memory over one step, and who holds what under ZeRO."""
import re

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import percent, quantity
from gpucalc.laws import training_memory as tm
from gpucalc.rows import catalogue
from ..components.account import moments
from ..components.memory_charts import MOMENTS, TERMS, in_bytes
from ..components.picture import Sheet
from ..components.yours import Yours

KINDS = {"weight_element_bytes": ("weight", "a"), "cast_element_bytes": ("copies", "e"),
         "gradient_element_bytes": ("gradient", "b"),
         "master_element_bytes": ("master copy", "c"), "optimizer_element_bytes": ("moments", "d")}
STAGES = ("no ZeRO", "ZeRO-1", "ZeRO-2", "ZeRO-3")


def bytes_of_a_weight(recipe):
    """Bars to scale: what one weight takes trained with the recipe, with an 8-bit optimizer, and frozen under adapters."""
    eight, lora, qlora = map(catalogue.recipe, ("adamw-8bit", "lora", "qlora"))
    trained = {f"Trained with {re.split('[,:]', row.title)[0]}": row for row in (recipe, eight)}
    bars = {title: [(value, *KINDS[kind]) for kind in KINDS if (value := row[kind])] for title, row in trained.items()}
    bars |= {f"Frozen under {each.name.replace('lora', 'LoRA').replace('q', 'Q')}": [(each.frozen_element_bytes, "weight", "a")]
             for each in (lora, qlora)}
    sheet, y = Sheet(218), 14
    scale = 392 / max(sum(value for value, _, _ in parts) for parts in bars.values())
    for row, (title, parts) in enumerate(bars.items()):
        total = quantity("weight_element_bytes", sum(value for value, _, _ in parts))
        sheet.text(4, y, title, bold=True).text(396, y, total, "end", bold=True)
        y = _bar(sheet, parts, y + 6, scale, named=row == 0)
    costs = [quantity("weight_element_bytes", value) for value in
             (Case(recipe)(tm.bytes_per_param), lora.frozen_element_bytes, qlora.frozen_element_bytes)]
    return sheet.picture(f"A weight costs {costs[0]} while it is trained, and {costs[1]} or {costs[2]} while it is frozen",
                         "; ".join(f"{title}: {', '.join(f'{name} {value:.3g}' for value, name, _ in parts)}"
                                   for title, parts in bars.items()) + " bytes")


def _bar(sheet, parts, y, scale, named):
    """One bar in parts, their names above the first; returns where the next title stands."""
    x, top = 4, y + (13 if named else 0)
    for value, name, color in parts:
        wide = value * scale
        sheet.box(x, top, wide - 1.5, 24, color)
        if named:
            sheet.text(x + wide / 2, y + 8, name, "middle", "soft", size=12)
        if wide > 24:
            sheet.text(x + wide / 2, top + 17, f"{value:.3g}", "middle", "paper", bold=True)
        x += wide
    return top + 43


def one_step(account, memory):
    """Memory of one GPU over a training step: state below, activations that grow and shrink, the loss on top of both.

    account: what `fullest` gives; memory: that of the GPU (bytes).
    """
    held = {moment: _stack(terms) for moment, terms in moments(account).items()}
    state = held["loss_moment_bytes"][0]
    forward = [state, account.terms["activation_bytes"], 0]
    places = [(44, [state, 0, 0]), (170, forward), (188, held["loss_moment_bytes"]), (206, held["head_moment_bytes"]),
              (218, held["first_layer_moment_bytes"]), (344, held["last_layer_moment_bytes"]), (352, held["step_moment_bytes"]),
              (380, held["step_moment_bytes"]), (392, [state, 0, 0])]
    peak, parts = account.terms["peak_bytes"], account.steps[-1].arguments
    room = (memory - parts["framework_bytes"] - parts["communication_bytes"]) / (1 + parts["fragmentation_bytes"] / peak)
    shown = room < 1.5 * peak
    top = max(peak, room) if shown else peak
    sheet = Sheet(304)
    _areas(sheet, places, lambda value: 250 - 215 * value / top)
    if shown:
        y = 250 - 215 * room / top
        sheet.line((44, y), (396, y), color="ink", dashed=True).text(396, y - 5, f"room for tensors {in_bytes(room)}", "end")
    for x, said in ((107, "forward"), (197, "loss"), (285, "backward"), (370, "step")):
        sheet.text(x, 268, said, "middle", "soft")
    sheet.line((44, 250), (396, 250)).arrow((44, 284), (396, 284)).text(220, 298, "time of one step", "middle", "soft", size=12)
    largest = max(MOMENTS, key=account.terms.get)
    share = percent(held[largest][0] / peak)
    return sheet.picture(f"Memory peaks at {in_bytes(peak)}, {_WHEN[largest]}",
                         f"Model state of {in_bytes(state)} stays for the whole step. Activations grow to "
                         f"{in_bytes(forward[1])} in the forward pass and shrink in the backward pass; in between the loss adds "
                         f"{in_bytes(held['loss_moment_bytes'][2])}. State is {share} of the peak.")


_WHEN = {"loss_moment_bytes": "at the loss", "head_moment_bytes": "in the backward pass of the output head",
         "first_layer_moment_bytes": "as the backward pass starts", "last_layer_moment_bytes": "as the backward pass ends",
         "step_moment_bytes": "at the optimizer step"}


def _stack(terms):
    """Bytes by what they are for: model state, activations, logits and loss."""
    sums = {"state": 0, "activations": 0, "logits and loss": 0}
    for term, value in terms.items():
        part = TERMS[term][1]
        sums[part if part in sums else "state"] += value
    return list(sums.values())


def _areas(sheet, places, height):
    """The stacked areas through (x, [state, activations, loss]), the last on top, each with its name and most bytes."""
    before = [0] * len(places)
    for layer, (said, color) in enumerate((("model state", "a"), ("activations", "b"), ("logits and loss", "c"))):
        values = [stack[layer] for _, stack in places]
        after = [low + value for low, value in zip(before, values)]
        edge = [(x, height(value)) for (x, _), value in zip(places, after)]
        base = [(x, height(value)) for (x, _), value in zip(places, before)]
        sheet.path("M" + " L".join(f"{x:.4g},{y:.4g}" for x, y in [*edge, *base[::-1]]) + " Z", color)
        if layer:
            most = in_bytes(max(values))
            x, y, at = (396, edge[5][1] - 18, "end") if layer == 1 else (204, edge[2][1] + 8, "start")
            sheet.text(x, y, f"{said} {most}", at, color, bold=True)
        else:
            sheet.text(52, (edge[0][1] + base[0][1]) / 2 + 5, f"{said} {in_bytes(values[0])}", color="paper", bold=True)
        before = after


def zero_shards(case, gpus=4):
    """Who holds what of the model state at each stage of ZeRO, to scale, and how many bytes that leaves on a GPU."""
    whole = dict.fromkeys(("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel"), 1)
    only = whole | dict(data_parallel=gpus, shard_parallel=0, offload_optimizer=0, offload_gradients=0)
    alone, yours = case.but(**only), Yours(case)(**only)
    parts = {"weights": ("held_weight_bytes",), "gradients": ("held_gradient_bytes",),
             "master copy, moments": ("held_master_bytes", "held_optimizer_bytes")}
    held = [[sum(terms[term] for term in of) for of in parts.values()] for terms in
            (alone.but(zero_stage=stage).terms(tm.held_state_bytes) for stage in range(len(STAGES)))]
    sheet, tall = Sheet(22 + 72 * len(STAGES) + 20), 56 / sum(held[0])
    for gpu in range(gpus):
        sheet.text(68 + (gpu + 0.5) * 264 / gpus, 14, f"GPU {gpu + 1}", "middle", "soft")
    for stage, name in enumerate(STAGES):
        y, figure = 22 + 72 * stage, yours(zero_stage=stage).held_state_bytes
        sheet.text(2, y + 32, name, bold=True).text(398, y + 32, figure, "end", bold=True)
        for gpu in range(gpus):
            _shard(sheet, 68 + gpu * 264 / gpus, y, 264 / gpus - 8, gpu, gpus, tall, list(zip(held[0], held[stage])))
    for x, (part, color) in zip((4, 92, 190), zip(parts, "abd")):
        sheet.box(x, 22 + 72 * len(STAGES) + 4, 12, 12, color).text(x + 17, 22 + 72 * len(STAGES) + 15, part)
    said = "; ".join(f"{name} {in_bytes(sum(row))}" for name, row in zip(STAGES, held))
    return sheet.picture("Each stage of ZeRO divides one more part of the model state",
                         f"On each of {gpus} GPUs: {said}. Stage 1 divides master weights and moments, stage 2 also gradients, "
                         "stage 3 also weights.")


def _shard(sheet, x, y, wide, gpu, gpus, tall, parts):
    """The state on one GPU: a strip for each part, filled where this GPU holds it."""
    for (whole, share), color in zip(parts, "abd"):
        height = whole * tall
        divided = share < whole
        if divided:
            sheet.box(x, y, wide, height, "wash", round=0)
        sheet.box(x + divided * gpu * wide / gpus, y, wide * share / whole if whole else 0, max(height - 1, 0), color, round=0)
        y += height
