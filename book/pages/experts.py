"""Mixtures of experts: which weights a pass reads, as tables and pictures."""
from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number
from gpucalc.laws import experts, experts as ex, model_size
from gpucalc.rows import catalogue
from ..components.picture import Sheet
from ..components.sentences import Yours
from ..components.show import table


# Tables of mixtures of experts: what they hold, use and read, and how evenly tokens fall on GPUs.

_FAMILIAR = ("gpt-oss-20b", "gpt-oss-120b", "Qwen3-30B-A3B", "Qwen3-235B-A22B", "Mixtral-8x7B", "GLM-4.5-Air", "DeepSeek-V3",
             "Kimi-K2")


def mixtures(batch):
    """Every mixture of the catalogue: parameters held and used, experts, and the shares used by a token and read by a batch."""
    frame = catalogue.models().query("experts > 0")
    every = Case(frame, batch=batch)
    used, read = every(model_size.active_params), every(model_size.read_params)
    return frame[["params"]].assign(active_params=used, experts=frame["experts"], experts_per_token=frame["experts_per_token"],
                                    used=used / frame["params"], read=read / frame["params"]).sort_values("params", kind="stable")


def familiar_mixtures(batch, *also):
    """Those that readers meet, and the ones named."""
    frame = mixtures(batch)
    return frame.loc[[name for name in frame.index if name in (*_FAMILIAR, *also)]].reset_index()


def imbalance_table(case, users=(1, 4, 16, 64, 256), degrees=(8, 16, 32, 64)):
    """The fullest GPU over the mean, by users of a GPU and by the GPUs over which experts are spread."""
    frame = DataFrame([{"users": each} | {f"on_{degree}": case.but(batch=each * degree, expert_parallel=degree)(
        experts.random_imbalance) for degree in degrees} for each in users])
    return table(frame, f"Tokens of the fullest GPU over the mean, {case.rows['model'].name}",
                 labels={"users": "users of each GPU"} | {f"on_{degree}": f"{degree} GPUs" for degree in degrees},
                 formats={f"on_{degree}": "{:.2f}".format for degree in degrees})


# Diagrams of mixtures of experts: where the router sends tokens, and how the experts of a layer lie on GPUs.

# Three tokens of an example; the experts of each lie a stride apart, and another one for the next token.
_TOKENS, _STRIDE, _GPUS = "abd", 0.382, "abdc"
_ROWS, _MOST = 8, 256


def router_picture(case):
    """Three tokens, the router, and all routed experts of a layer: each token's in its color."""
    model, yours = case.rows["model"], Yours(case)
    shown = min(int(model.experts), _MOST)
    chosen = _chosen(shown, int(model.experts_per_token))
    sheet, columns = Sheet(210), -(-shown // _ROWS)
    side = min(264 / columns, 16)
    for place, color in enumerate(_TOKENS):
        sheet.circle(20, 62 + 42 * place, 9, color=color).arrow((32, 62 + 42 * place), (62, 104), color=color)
    sheet.text(8, 26, "tokens", color="soft").box(66, 74, 36, 60, color="wash", outline="line")
    sheet.text(84, 26, "router", at="middle", color="soft").text(84, 109, "?", at="middle", bold=True, size=16)
    for expert in range(shown):
        x, y = 130 + side * (expert // _ROWS), 40 + 16 * (expert % _ROWS)
        sheet.box(x, y, side - 1.5, 13, color=chosen.get(expert, "wash"), round=1)
    sheet.arrow((104, 104), (126, 104)).words(130, 26, yours.experts, " experts in a layer" if shown == model.experts else
                                              f" experts in a layer, {shown} drawn")
    sheet.words(8, 188, "Each token passes ", yours.experts_per_token, " of them", _shared(model), ".")
    sheet.text(8, 205, "The rest of the layer is read for all tokens alike.", color="soft", size=12)
    return sheet.picture("The next token goes to other experts",
                         f"A router sends each token of {model.name} to {model.experts_per_token} of {model.experts} experts of "
                         f"a layer. Three tokens go to {len(chosen)} different ones.")


def _chosen(experts, each):
    """The color of each expert that one of the example's tokens goes to."""
    found = {}
    for token, color in enumerate(_TOKENS):
        for place in range(each):
            found.setdefault(int((token + 0.5 + place * len(_TOKENS)) * _STRIDE % 1 * experts), color)
    return found


def _shared(model):
    return f" and {model.shared_experts} that all tokens share" if model.shared_experts else ""


def spread_picture(case):
    """Four GPUs of a group: each has its own users, their caches and attention, and a part of the experts."""
    model, yours = case.rows["model"], Yours(case)
    degree = int(case.inputs["expert_parallel"])
    sheet, shown = Sheet(246), min(degree, 4)
    wide = 384 / shown
    for place in range(shown):
        _gpu(sheet, 8 + wide * place, wide - 8, _GPUS[place], f"GPU {place + 1 if place < shown - 1 else degree}")
    for place in range(shown):
        for other in range(shown):
            sheet.line((4 + wide * (place + 0.5), 88), (4 + wide * (other + 0.5), 121), color=_GPUS[place], thick=1)
    sheet.words(8, 196, ("attention and caches", "a"), ": each GPU its own users")
    sheet.words(8, 215, ("experts", "e"), ": ", yours.gpu_experts, " of ", yours.experts, " in each layer on each GPU")
    sheet.text(8, 234, "In each layer, tokens travel to their experts and back.", color="soft")
    return sheet.picture("Users stay on their GPU, tokens travel to the experts",
                         f"{degree} GPUs share the experts of {model.name}, {number(case(ex.gpu_experts))} of a layer on each. "
                         "Each GPU computes attention for its own users and keeps their caches; their tokens go to the GPUs of "
                         "their experts and come back.")


def _gpu(sheet, left, wide, color, name):
    """One GPU of the group: its users, its attention, and its part of the experts."""
    sheet.text(left + wide / 2, 18, name, at="middle", bold=True).box(left, 26, wide, 150, color="wash", outline="line")
    for user in range(6):
        sheet.circle(left + wide / 2 + 13 * (user - 2.5), 44, 4.5, color=color)
    sheet.box(left + 8, 58, wide - 16, 28, color=color)
    sheet.text(left + wide / 2, 77, "attention", at="middle", color="paper", size=12)
    side = (wide - 16) / 6
    for cell in range(12):
        sheet.box(left + 9 + side * (cell % 6), 124 + 22 * (cell // 6), side - 3, 18, color="e", round=1)
