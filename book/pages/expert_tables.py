"""Tables of mixtures of experts: what they hold, use and read, and how evenly tokens fall on GPUs."""
from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.laws import experts, model_size
from gpucalc.rows import catalogue
from ..components.show import table

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
