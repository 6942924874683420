"""The front of a card: the most output of each GPU at each speed for a user, over batches and layouts of a replica."""
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..core.evaluate import Case
from .answer import completed
from .decisions import FITS, REPLICAS
from .market import cards, replica_degrees
from .points import Points, value_of
from .rule import Figure

LAYOUT = ["tensor_parallel", "attention_parallel", "pipeline_parallel"]
# What a point says, with the law whose band moves it; a rate is lowest where its time is longest.
SPEEDS = {"tokens_per_second_per_gpu": "request_seconds", "tokens_per_second_per_user": "time_per_output_token"}
_STEP = REPLICAS._replace(name="front", per=(), sparing=(), limits=FITS[1:], least=None, objective=(), shown=(), figures=(
    *(each for each in REPLICAS.figures if not each.band), *(Figure(law, band=law) for law in SPEEDS.values())))


def front(case: Case, gpus: Sequence[str]) -> pd.DataFrame:
    """Of each of these cards the points that no other beats in both output of a GPU and speed for a user, the fastest first.

    case: model, prompt, output and formats, with or without a job. Columns: gpu, the layout of a replica, `replica_gpus`,
    `batch`, `tokens_per_second_per_gpu` and `tokens_per_second_per_user` to plan for, and both as `low_`, `high_` and `formula_`.
    A card that holds the model in no layout, or lacks the format, has no rows.
    """
    found = points(case, gpus)
    found = found.sort_values(list(SPEEDS)[::-1], ascending=False, kind="stable")
    most = found.groupby("gpu")["tokens_per_second_per_gpu"].cummax()
    before = most.groupby(found["gpu"]).shift(fill_value=-np.inf)
    kept = found[found["tokens_per_second_per_gpu"] > before]
    places = {gpu: place for place, gpu in enumerate(gpus)}
    return kept.sort_values("gpu", key=lambda column: column.map(places), kind="stable", ignore_index=True)


def points(case: Case, gpus: Sequence[str]) -> pd.DataFrame:
    """Every layout and batch that memory holds, on each of these cards, with the columns of `front`."""
    whole = completed(case) if "job" in case.rows else case
    held = cards(whole, {"gpu": np.array(gpus, object)})
    every = Points(_STEP, whole, {"cards": held, "assumed": {}} | replica_degrees(whole, held), {})
    table = every.table()
    frame = pd.DataFrame({name: table[name] for name in ("gpu", *LAYOUT, "batch")}).astype(dict.fromkeys([*LAYOUT, "batch"], int))
    frame = frame.assign(replica_gpus=frame[LAYOUT].prod(axis="columns"))
    rates = (frame["batch"] * value_of(whole, "output") / (table["request_seconds"] * frame["replica_gpus"]),
             1 / table["time_per_output_token"])
    for (name, law), rate in zip(SPEEDS.items(), rates):
        low, plan, high = (end[every.places] for end in every.bands[law])
        frame = frame.assign(**{name: rate / plan, f"low_{name}": rate / high, f"high_{name}": rate / low,
                                f"formula_{name}": rate})
    return frame
