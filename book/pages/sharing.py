"""Sharing a GPU: slices, several models on one card, and what idle hours cost."""
import math
from typing import Any, NamedTuple

import pandas as pd
from pandas import DataFrame

from gpucalc.core.arithmetic import ceil, HOURS_PER_MONTH
from gpucalc.core.evaluate import Case, Row
from gpucalc.core.figures import dollars, number, percent
from gpucalc.decisions import capacity, token_offers
from gpucalc.decisions.columns import nine_digits
from gpucalc.laws import sharing as sh
from gpucalc.laws.serving import mean_context
from gpucalc.laws.serving_cost import requests_per_second
from gpucalc.laws.sharing import api_usd_per_month, slice_bandwidth, slice_flops, slice_usd_per_hour, unsliced_share
from gpucalc.rows import catalogue
from gpucalc.rows.rents import rents
from ..components.charts import slider_chart
from ..components.picture import Sheet, WIDE
from ..components.show import table


# One GPU for several small jobs: slices as cards of their own, against small cards and an API, and cards that stand idle.

_PEAKS = ("peak_flops", "fp8_flops", "fp4_flops", "int8_flops", "fp32_flops", "tf32_flops", "fp16_accumulate_flops",
          "narrow_flops", "quarter_flops", "integer_flops")


def slice_name(gpu: str, profile: str) -> str:
    """What a slice is called: `1g.10gb of H100 SXM 80GB`."""
    return f"{profile} of {gpu}"


def smallest(gpu: str) -> str:
    """The profile of a GPU's smallest slices; an empty one where it has none."""
    return next(iter(catalogue.partitions().query("gpu == @gpu")["profile"]), "")


def shown_slice(gpu: str, profile: str = "") -> tuple[str, str]:
    """The GPU and the profile of the slice that a page shows: those given; else the smallest of the GPU, or of the H100 where it
    has none, as an L40S."""
    whole = gpu if profile or smallest(gpu) else "H100 SXM 80GB"
    return whole, profile or smallest(whole)


def slice_row(gpu: str, profile: str) -> Row:
    """A slice as a row for a case: the GPU's, with its part of multiprocessors, memory and bandwidth, and its `instances`.

    Raises ValueError naming the profiles where there is no such.
    """
    parts = catalogue.partitions().query("gpu == @gpu")
    if profile not in set(parts["profile"]):
        raise ValueError(f"profile {profile!r} of {gpu}: not in data/partitions.csv; allowed: "
                         f"{', '.join(parts['profile']) or f'none, {gpu} has no slices there'}")
    part, card = parts.set_index("profile").loc[profile], catalogue.gpu(gpu)
    scaled = {name: slice_flops(card[name], part["slice_units"], card.units) for name in _PEAKS if card[name] == card[name]}
    return Row(card | scaled | dict(
        units=int(part["slice_units"]), memory_bytes=int(part["memory_bytes"]), instances=int(part["instances"]),
        bandwidth=slice_bandwidth(card.bandwidth, part["slice_memory_share"]), source=part["source"], date=part["date"]),
        slice_name(gpu, profile), "gpu")


def slices(gpu: str, usd_per_hour: float) -> pd.DataFrame:
    """The slices of a GPU at a rent: how many, their parts of it, what all of them leave over, and the cost of an hour."""
    card, parts = catalogue.gpu(gpu), catalogue.partitions().query("gpu == @gpu")
    return pd.DataFrame(dict(
        profile=parts["profile"], instances=parts["instances"], units=parts["slice_units"],
        compute=parts["slice_units"] / card.units,
        memory_bytes=parts["memory_bytes"], bandwidth=slice_bandwidth(card.bandwidth, parts["slice_memory_share"]),
        left=unsliced_share(parts["instances"], parts["slice_units"], card.units),
        rate=slice_usd_per_hour(usd_per_hour, parts["instances"]))).reset_index(drop=True)


def parted(gpu: str, cards: pd.DataFrame) -> pd.DataFrame:
    """The cards, and all slices of one of them as cards of their own; `instances` is how many of a row a GPU holds."""
    found = cards.assign(instances=1)
    profiles = catalogue.partitions().query("gpu == @gpu")["profile"]
    if gpu not in found.index or profiles.empty:
        return found
    rows = [slice_row(gpu, profile) for profile in profiles]
    held = [found.loc[gpu].to_dict() | {name: row[name] for name in (*_PEAKS, "units", "memory_bytes", "bandwidth", "instances")}
            for row in rows]
    return pd.concat([found, pd.DataFrame(held, pd.Index([row.name for row in rows], name="gpu"))])


class Choice(NamedTuple):
    """What a load may run on: `points` of each card and slice, the `cards`, and the cheapest `rents` of each card."""

    points: pd.DataFrame
    cards: pd.DataFrame
    rents: pd.DataFrame


def choice(case: Case, book: pd.DataFrame, gpu: str, small: list[str], term: str) -> Choice | None:
    """Slices of a GPU, the whole GPU and small cards that the book rents one at a time; None if it rents none of them."""
    offered = _alone(book, [gpu, *small], term)
    weights = getattr(case.rows.get("weight_format"), "name", None)
    linked = capacity.linked_gpus("H100 SXM 80GB", weights)
    cards = parted(gpu, linked[linked.index.isin(offered["gpu"])])
    if cards.empty:
        return None
    return Choice(capacity.search(case, cards.drop(columns="instances"), [1]), cards, offered.reset_index().set_index("gpu"))


def ways(found: Choice, case: Case) -> pd.DataFrame:
    """What serves the load of the case in time, with what it costs a month: the cheapest in whole cards first.

    `shared_usd` counts the slices that are used, as if others use the rest; `alone_usd` counts whole cards. Both have their ends,
    `low_` and `high_`, from the times of requests. What holds no place for a request, or is too slow, is left out.
    """
    plans = capacity.plans(found.points, case(requests_per_second), case.inputs["answer_limit"], case.inputs["late_share"])
    plans = plans[plans["limit"] == ""].merge(found.cards[["instances", "memory_bytes"]].reset_index(), on="gpu")
    plans["card"] = [name.rpartition(" of ")[2] for name in plans["gpu"]]
    priced = _paid(plans.join(found.rents[["usd_per_hour", "provider", "row", "date", "source", "confidence"]], on="card"))
    return priced.sort_values(["alone_usd", "shared_usd"], key=nine_digits).reset_index(drop=True)


def _paid(plans):
    """The plans with what a month of them costs, for the slices alone and for whole cards, at each end of the band."""
    month = plans["usd_per_hour"] * HOURS_PER_MONTH
    for side in ("", "formula_", "low_", "high_"):
        parts = plans[f"{side}gpus"].where(plans[f"{side}gpus"] < math.inf)
        plans[f"{side}shared_usd"] = (parts * month / plans["instances"]).fillna(math.inf)
        plans[f"{side}alone_usd"] = (ceil(parts / plans["instances"]) * month).fillna(math.inf)
    return plans


def fullest(found: Choice, case: Case, gpu: str) -> Case | None:
    """The case of a full replica on a card or slice: the batch of most tokens a second that answers in time; None if none."""
    able = capacity.alone(capacity.paced(found.points.query("gpu == @gpu")), capacity.Limits(case.inputs["answer_limit"]))
    if able.empty:
        return None
    return at(found, case, able.loc[able["output_tokens_per_second"].idxmax()])


def at(found: Choice, case: Case, row: Any) -> Case:
    """The case of a replica on the card or slice of a row, with its batch and the rent of its whole card."""
    rate = float(found.rents.at[row["gpu"].rpartition(" of ")[2], "usd_per_hour"])
    return case.but(gpu=found.cards.loc[row["gpu"]].to_dict(), tensor_parallel=1, batch=int(row["batch"]), context=mean_context,
                    usd_per_hour=rate)


def api_usd(case: Case, book: pd.DataFrame, model: str) -> tuple[float, Any]:
    """The month of the case through the cheapest API (USD; infinite without one), and its offer."""
    sold = token_offers.priced_offers(book, model, case)
    if sold.empty:
        return math.inf, None
    offer = sold.iloc[0]
    return float(case.but(api_request_usd=float(offer["api_request_usd"]))(api_usd_per_month)), offer


def smaller_cards(book: pd.DataFrame, gpu: str, busiest: float, used_bytes: float, target: float, term: str) -> pd.DataFrame:
    """Cards that do what one GPU was measured to do at its busiest, each on its cheapest rent, the cheapest first.

    A card will do if its memory holds what was used, and if its peak and its bandwidth, each at the utilization aimed at, are
    at least those of the GPU at its `busiest`: which of the two was the limit is not known from a counter of utilization.
    """
    have, cards = catalogue.gpu(gpu), catalogue.gpus()
    able = (cards["memory_bytes"] >= used_bytes) & (cards["peak_format"] == have.peak_format)
    for name in ("peak_flops", "bandwidth"):
        able &= cards[name] * target >= have[name] * busiest
    return _alone(book, list(cards.index[able]), term)


def _alone(book, gpus, term):
    """The cheapest rent of each of the GPUs, one in a server."""
    found = rents(book, term=term, gpus_per_server=1, per="gpu", required=False)
    return found[found["gpu"].isin(gpus)]


# Shared and idle GPUs, as a page shows them.


def ways_table(found, caption):
    """What `ways` found: each card and slice, how many a load takes, and a month of them with its band."""
    rows = [dict(on=row.gpu, provider=row.provider, parts=number(row.gpus), rate=dollars(row.usd_per_hour / row.instances),
                 shared=_banded(row, "shared_usd") if row.instances > 1 else "–", alone=_banded(row, "alone_usd"))
            for row in found.itertuples()]
    return table(DataFrame(rows, found["row"]), caption, labels={
        "on": "on", "provider": "from", "parts": "how many", "rate": "an hour of one",
        "shared": "a month, others pay for the rest", "alone": "a month, if you pay for whole GPUs"})


def _banded(row, column):
    """A cost in words, with its ends where they differ."""
    plan, low, high = (getattr(row, f"{side}{column}") for side in ("", "low_", "high_"))
    return f"{plan:,.0f} USD" + ("" if low == high else f" ({low:,.0f} to {high:,.0f})".replace("inf", "too slow"))


def slices_table(slices, caption):
    """The slices of a GPU: how many, their part of multiprocessors and memory, and what all of them leave over."""
    return table(slices, caption, labels={
        "profile": "slice", "instances": "on one GPU", "units": "multiprocessors", "compute": "of the GPU's",
        "memory_bytes": "memory", "bandwidth": "bandwidth", "left": "left over",
        "rate": "an hour of one, all used"}, formats={"compute": "{:.1%}".format, "left": "{:.0%}".format, "rate": dollars})


def slices_picture(gpu, part, card):
    """What all slices of one kind take of a GPU's multiprocessors and memory, and what is left over; `part`: a `slice_row`."""
    shares = {"multiprocessors": part.units / card.units, "memory": part.memory_bytes / card.memory_bytes}
    left = {name: max(1 - part.instances * share, 0) for name, share in shares.items()}
    sheet = Sheet(126)
    for place, (name, share) in enumerate(shares.items()):
        said, rest = f"{name}: {percent(share)} in each slice", f"{percent(left[name])} in none"
        _cut_bar(sheet, said, rest, share, part.instances, 64 * place)
    return sheet.picture(f"{part.instances} slices are less than the whole {gpu}",
                         f"{gpu} cut into {part.instances} slices: {percent(left['multiprocessors'])} of its multiprocessors and "
                         f"{percent(left['memory'])} of its memory are in none of them.")


def _cut_bar(sheet, said, rest, share, count, top):
    """A bar for the whole GPU: a piece for each slice, and the rest in another color."""
    sheet.text(0, top + 14, said).text(WIDE, top + 14, rest, "end", "b", True)
    for each in range(count):
        sheet.box(each * share * WIDE, top + 22, share * WIDE - 2, 32, "a", round=1)
    sheet.box(count * share * WIDE, top + 22, max(1 - count * share, 0) * WIDE, 32, "b", round=1)


def cards_slider_chart(sliced, drawn, name, gpu, part, rate, sold, target_utilization, prompt, output):
    """A card in slices against whole small cards, by load: where the slices get cheaper, the costs beyond, the chart."""
    whole = {"gpu": sliced.rows["gpu"], "batch": sliced.inputs["batch"], "usd_per_hour": rate, "instances": part.instances}
    month = drawn[name].but(replica_utilization=target_utilization, instances=1, whole_usd_per_hour=rate)
    curves = {f"{gpu}, cut into {part.instances}": (sh.sliced_usd_per_month, whole), name: sh.sliced_usd_per_month}
    turn = month(sh.whole_turn_requests_per_month)
    if sold is not None:
        curves[f"API: {sold.provider}"] = (sh.api_usd_per_month, {"api_request_usd": float(sold.api_request_usd)})
    loads = [round(turn * step / 24) for step in range(1, 61)] if turn else [1e6 * step for step in range(1, 61)]
    beyond = {"requests_per_month": 1.01 * turn} if turn else {}
    costs = [one.but(**beyond)(sh.sliced_usd_per_month) for one in (month.but(**whole), month)] if turn else [1, 0]
    finding = f"Up to a load of {{whole_turn_requests_per_month}}, the {name} that you need cost less than one {gpu}"
    sliders = {"replica_utilization": (0.1, 1, 0.05, target_utilization),
               "prompt": (min(100, prompt), max(8000, prompt), 100, prompt),
               "output": (min(50, output), max(2000, output), 50, output)}
    chart = slider_chart(month, curves, x="requests_per_month", values=loads, y_title="USD a month", sliders=sliders,
                         crossing=sh.whole_turn_requests_per_month,
                         finding=finding,
                         alt=f"Enough cards of {name} first cost more than one {gpu} at {number(turn)} requests a month.")
    return turn, costs, chart
