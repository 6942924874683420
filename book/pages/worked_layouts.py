"""The layouts of a served case beside each other: what a replica of each holds, and what the load costs on it."""
import pandas as pd

from gpucalc.core import figures
from gpucalc.decisions import answer_words
from gpucalc.decisions.answer import Figure
from gpucalc.decisions.columns import nine_digits
from gpucalc.decisions.rule import value_of
from gpucalc.rows.price_book import MissingPrice
from gpucalc.rows.selections import selection
from ..components.show import table
from .worked import spread, taken, worked

DEGREES = ("tensor_parallel", "attention_parallel", "pipeline_parallel")


@selection
def layouts(found, book, gpu):
    """The cheapest choice of a card for each size of a replica, with its experts spread and with every matrix split; best first.

    Columns of a choice, and `layout` in words. Raises MissingPrice where nobody offers the card.
    """
    frame = pd.DataFrame([row for row in answer_words.choices(found.answer, book) if row.get("holds") and row["gpu"] == gpu])
    if frame.empty:
        raise MissingPrice(f"no price for item 'rent', gpu {gpu!r}")
    frame = frame.assign(spread=frame["attention_parallel"] > 1)
    frame = frame.sort_values(["serving_usd_per_month", "time_per_output_token"], key=nine_digits)
    return frame.drop_duplicates(["replica_gpus", "spread"]).reset_index(drop=True)


@selection
def layouts_table(found, book, gpu, most=6):
    """The layouts of a card as a table."""
    best = layouts(found, book, gpu).head(most)
    shown = pd.DataFrame(dict(layout=best["layout"], gpus=best["rented_gpus"], batch=best["batch"],
                              token=best["time_per_output_token"], usd=[_bill(row) for row in best.to_dict("records")]))
    return table(shown, f"The load on {gpu}, by layout, the cheapest first", formats={"token": figures.seconds}, labels={
        "layout": "replicas", "gpus": "GPUs", "batch": "batch of each", "token": "a token takes", "usd": "a month"})


def _bill(row):
    low, plan, high = (float(row[f"{end}serving_usd_per_month"]) for end in ("low_", "", "high_"))
    return spread(Figure(low, plan, high, None, "USD"))


def held(found, row):
    """Bytes on one GPU of a choice: its part of the weights of its group, and of the caches of the group's sequences."""
    degrees = {name: int(row[name]) for name in DEGREES}
    whole = value_of(found.answer.case, "prompt") + value_of(found.answer.case, "output")
    case = found.answer.case.but(**degrees, batch=float(row["batch"]), context=whole)
    weights = case("group_weight_bytes") / degrees["tensor_parallel"] / degrees["pipeline_parallel"]
    caches = case("gpu_kv_bytes") / degrees["attention_parallel"]
    return {"weights": weights, "caches": caches}


@selection
def rates_table(name, book, rates):
    """A worked case at other loads: what to take, how it is laid out, and the bill."""
    each = [worked(name, book, requests_per_second=rate) for rate in rates]
    rows = [dict(rate=figures.number(rate), take=taken(one.first), layout=one.first["layout"], usd=spread(one.cost))
            for one, rate in zip(each, rates)]
    return table(pd.DataFrame(rows), "The best choice at three loads", labels={
        "rate": "requests a second", "take": "GPUs", "layout": "replicas", "usd": "a month"})
