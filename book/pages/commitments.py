"""Reserving: which share to commit to, what each mix costs, and a picture of it."""
import math
from typing import NamedTuple

import pandas as pd

from gpucalc.core.evaluate import Row
from gpucalc.core.figures import percent, usd
from gpucalc.decisions.rent_or_buy import STOPS
from gpucalc.laws.commitments import block_break_even_days, portfolio_usd_per_hour, reserve_ratio, reserved_gpus, share_above
from gpucalc.laws.renting import group_interruption_seconds, spot_usd_per_hour
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.kept import selection
from gpucalc.rows.price_book import MissingPrice, price_row, TIES
from gpucalc.rows.rents import rents
from ..components.charts import slider_chart
from ..components.picture import Sheet
from ..components.show import reach, table


# How much of a load to reserve at the prices of a book: the cheapest reserved, on-demand and spot rent of a GPU, mixed.

RESERVED = ["reserved", "reserved-1y", "reserved-3y"]
# Which price stands in where none is firm: one read by others before one recalled, and last one said to be the lowest of several.
ORDER = {"seen": 0, "secondary": 1, "recalled": 2, "floor": 3}
LENGTH = {"reserved": "length not stated", "reserved-1y": "one year", "reserved-3y": "three years"}


class Rates(NamedTuple):
    """The rents of a GPU that a mix is made of, as rows for a case; None where the book has none."""

    reserved: Row | None
    on_demand: Row | None
    spot: Row | None


@selection
def rates(book, gpu, provider=None):
    """The cheapest reserved, on-demand and spot rent of the GPU: firm ones first, of others the surest."""
    found = rents(book, gpu=gpu, provider=provider, required=False)
    return Rates(_cheapest(found, RESERVED), _cheapest(found, ["on-demand"]), _cheapest(found, ["spot"]))


def _cheapest(found, terms):
    able = found[found["term"].isin(terms)]
    able = able.assign(order=able["confidence"].map(ORDER).where(~firm(able), 0))
    able = able.sort_values(["order", "usd_per_hour", *TIES])
    return None if able.empty else price_row(able.drop(columns="order").iloc[0])


def mix(case, found, gpu, file):
    """The case with the rates of `rates`, unless it gives its own: reserved, on demand, and an hour of spot that counts.

    Work on spot takes one machine. Without a spot rent all of it is on demand. Raises MissingPrice where a reserved or an
    on-demand rent is missing.
    """
    given, wanted = case.inputs, {"committed_usd_per_hour": found.reserved, "usd_per_hour": found.on_demand}
    missing = [name for name, row in wanted.items() if row is None and name not in given]
    if missing:
        terms = {"committed_usd_per_hour": "reserved", "usd_per_hour": "on-demand"}
        raise MissingPrice(f"{file}: no {' and no '.join(terms[name] for name in missing)} rent of {gpu}; give the "
                           f"parameter {' and '.join(missing)}")
    put = {name: _named(row, name) for name, row in wanted.items() if name not in given}
    on_demand = given.get("usd_per_hour") or found.on_demand.usd_per_hour
    spot = given.get("spot_usd_per_hour")
    if spot is None and found.spot is not None:
        stops = {name: catalogue.assumed(name, given.get(name)) for name in STOPS}
        slowed = case.but(usd_per_hour=found.spot.usd_per_hour, **stops, machines=1,
                          interruption_seconds=group_interruption_seconds)(spot_usd_per_hour)
        spot = Row(dict(found.spot) | {"spot_usd_per_hour": slowed}, f"{found.spot.name}, with its interruptions")
    return case.but(**put, spot_usd_per_hour=on_demand if spot is None else spot)


def is_firm(row):
    """Whether a rent as a row may decide; a price that is given may."""
    return row is None or row.confidence == "seen" or bool(row.get("yours", False))


def _named(row, name):
    """A rent as a row whose price goes by another name."""
    return Row({"source": row.source, "date": row.date, "confidence": row.confidence, name: row.usd_per_hour}, row.name)


def prices_of(case):
    """Reserved rate, on-demand rate and spot rate of the case of a mix, as numbers."""
    held = {name: case.inputs[name] for name in ("committed_usd_per_hour", "usd_per_hour", "spot_usd_per_hour")}
    return [float(getattr(value, name, value)) for name, value in held.items()]


def costs(case):
    """Cost of the load in an average hour (USD) by what is reserved: the best level, nothing, all of it; and no spot either."""
    at = {"best": {}, "flexible": {"reserved_gpus": 0}, "on demand": {"reserved_gpus": 0, "interruptible_share": 0},
          "all reserved": {"reserved_gpus": case.inputs["peak_gpus"]}}
    return {name: case.but(**changes)(portfolio_usd_per_hour) for name, changes in at.items()}


@selection
def by_gpu(book, case):
    """For each GPU with a reserved and an on-demand rent: both, the spot rent, what to reserve, and what the mix saves."""
    rows = []
    for gpu in sorted(set(book[(book["item"] == "rent") & book["term"].isin(RESERVED)]["gpu"])):
        found = rates(book, gpu)
        if found.on_demand is None:
            continue
        mixed = mix(case, found, gpu, book.attrs["file"])
        total = costs(mixed)
        rows.append(dict(gpu=gpu, committed_usd_per_hour=found.reserved.usd_per_hour, seller=found.reserved.provider,
                         length=LENGTH[found.reserved.term], usd_per_hour=found.on_demand.usd_per_hour,
                         spot=None if found.spot is None else found.spot.usd_per_hour, reserve_ratio=mixed(reserve_ratio),
                         reserved_gpus=mixed(reserved_gpus), saved=1 - total["best"] / total["on demand"],
                         rows=[row.name for row in found if row is not None],
                         sure="" if is_firm(found.reserved) else found.reserved.confidence))
    columns = ["gpu", "committed_usd_per_hour", "seller", "length", "usd_per_hour", "spot", "reserve_ratio", "reserved_gpus",
               "saved", "sure", "rows"]
    return pd.DataFrame(rows, columns=columns)


@selection
def blocks(book, block_days, gpu=None):
    """Capacity blocks: the seller's own price on demand, the cheapest of all, and the days of work from which a block pays.

    NaN where the book has no such price.
    """
    found = rents(book, gpu=gpu, term="capacity-block", required=False).sort_values(["gpu", "usd_per_hour", *TIES])
    rows = []
    for row in found.itertuples():
        own, other = rates(book, row.gpu, row.provider).on_demand, rates(book, row.gpu).on_demand
        days = [math.nan if each is None else block_break_even_days(block_days, row.usd_per_hour, each.usd_per_hour)
                for each in (own, other)]
        rows.append(dict(row=row.Index, gpu=row.gpu, provider=row.provider, block_usd_per_hour=row.usd_per_hour,
                         usd_per_hour=math.nan if own is None else own.usd_per_hour, days=days[0],
                         cheapest=math.nan if other is None else other.usd_per_hour, cheapest_days=days[1]))
    columns = ["row", "gpu", "provider", "block_usd_per_hour", "usd_per_hour", "days", "cheapest", "cheapest_days"]
    return pd.DataFrame(rows, columns=columns)


# A load through its hours, sorted: pictures of when a GPU is needed and what is reserved; what a mix costs; each GPU's mix.

_LEFT, _RIGHT, _TOP, _FOOT = 34, 392, 16, 190


def sorted_load(trough_gpus, peak_gpus):
    """The load-duration curve that falls evenly from peak to trough, and the hours in which one GPU near the peak is needed."""
    asked = round(trough_gpus + 0.75 * (peak_gpus - trough_gpus))
    share = share_above.formula(asked, trough_gpus, peak_gpus)
    sheet, down = _axes(trough_gpus, peak_gpus)
    turn = _LEFT + (_RIGHT - _LEFT) * share
    _area(sheet, "wash", (_LEFT, _FOOT), (_LEFT, _TOP), (_RIGHT, down(trough_gpus)), (_RIGHT, _FOOT))
    sheet.line((_LEFT, down(asked)), (turn, down(asked)), color="a", thick=5)
    sheet.line((turn, down(asked)), (_RIGHT, down(asked)), dashed=True)
    sheet.line((_LEFT, _TOP), (_RIGHT, down(trough_gpus)), color="ink", thick=2)
    sheet.text(_RIGHT, down(asked) - 6, f"GPU {asked:g}: needed in {percent(share)} of the hours", at="end", color="a", bold=True)
    sheet.text(_LEFT + 10, down(trough_gpus) + 20, f"the first {trough_gpus:g}: needed in all hours")
    return sheet.picture(f"Of {peak_gpus:g} GPUs, the first {trough_gpus:g} work all day and the last only in the busiest hour",
                         f"Hours sorted by load, from {peak_gpus:g} GPUs down to {trough_gpus:g}. GPU {asked:g} is needed in "
                         f"{percent(share)} of them.")


def load_curve(trough_gpus, peak_gpus, level, share):
    """The load-duration curve that falls evenly from peak to trough, reserved up to a level that a share of the hours needs."""
    sheet, down = _axes(trough_gpus, peak_gpus)
    turn = _LEFT + (_RIGHT - _LEFT) * min(max(share if level else 1, 0), 1)
    y, end = down(level), down(trough_gpus)
    _area(sheet, "a", (_LEFT, _FOOT), (_LEFT, y), (_RIGHT, y), (_RIGHT, _FOOT))
    if level > trough_gpus:
        _area(sheet, "b", (_LEFT, y), (_LEFT, _TOP), (turn, y))
        _area(sheet, "e", (turn, y), (_RIGHT, y), (_RIGHT, end))
        sheet.text(_RIGHT - 4, y - 6, "reserved, idle", at="end", color="e", bold=True)
    else:
        _area(sheet, "b", (_LEFT, y), (_LEFT, _TOP), (_RIGHT, end), (_RIGHT, y))
    sheet.line((_LEFT, _TOP), (_RIGHT, end), color="ink", thick=2)
    sheet.text(_LEFT + 104, _TOP + 12, "by the hour, on demand or spot", color="b", bold=True)
    if level:
        sheet.text(_LEFT + 12, _FOOT - 12, "reserved: paid in every hour", color="paper", bold=True)
        sheet.text(_LEFT - 5, y + 4, f"{level:,.0f}", at="end", bold=True)
    said = (f"Hours sorted by load, from {peak_gpus:,g} GPUs down to {trough_gpus:,g}. {level:,.0f} are reserved and needed in "
            f"{percent(share)} of the hours; the corner above them is paid by the hour, the corner below idles.")
    found = f"{level:,.0f} GPUs are reserved: the load needs all of them in {percent(min(share, 1))} of the hours"
    return sheet.picture(found if level else "Nothing is reserved: by the hour costs less", said)


def _axes(trough_gpus, peak_gpus):
    """A sheet with its axes named, and the height at which a number of GPUs stands."""
    def down(gpus):
        return _FOOT - (_FOOT - _TOP) * gpus / peak_gpus
    sheet = Sheet(214)
    for gpus in (peak_gpus, 0):
        sheet.text(_LEFT - 5, down(gpus) + 4, f"{gpus:,.0f}", at="end", color="soft")
    sheet.text(_LEFT, _FOOT + 18, "busiest hour", color="soft").text(_RIGHT, _FOOT + 18, "quietest hour", at="end", color="soft")
    return sheet, down


def _area(sheet, color, *corners):
    sheet.path("M" + " L".join(f"{x:.4g},{y:.4g}" for x, y in corners) + " Z", color)


def mix_slider_chart(bare, cost, level, finding):
    """What an average hour costs over the GPUs reserved; `bare` holds the three rates, `cost` is of `commitments.costs`."""
    reserved, demand, peak = (bare.inputs[name] for name in ("committed_usd_per_hour", "usd_per_hour", "peak_gpus"))
    mixes = {"the rest by the hour": portfolio_usd_per_hour,
             "the best level": (portfolio_usd_per_hour, dict(reserved_gpus=None)),
             "all on demand": (portfolio_usd_per_hour, dict(reserved_gpus=0, interruptible_share=0))}
    return slider_chart(
        bare, mixes, x="reserved_gpus", values=[peak * step / 60 for step in range(61)], y_title="USD in an average hour",
        crossing=(reserved_gpus, dict(reserved_gpus=None)), finding=finding,
        sliders={"committed_usd_per_hour": (0.1, round(1.5 * demand, 2), 0.005, round(reserved, 3)),
                 "trough_gpus": (0, peak, 1, bare.inputs["trough_gpus"]),
                 "interruptible_share": (0, 1, 0.05, bare.inputs["interruptible_share"])},
        alt=f"Cost against the GPUs reserved: lowest at {level:.0f}, {usd(cost['best'])} an hour; {usd(cost['flexible'])} with "
            f"none and {usd(cost['all reserved'])} with the whole peak reserved.")


def mixes_table(every, caption):
    """The mix of each GPU with a reserved rent, of `commitments.by_gpu`."""
    return table(every.drop(columns="rows"), caption, labels={
        "committed_usd_per_hour": "reserved", "seller": "by", "usd_per_hour": "on demand", "reserve_ratio": "pays above",
        "spot": "spot, as listed", "reserved_gpus": "reserve", "saved": "saved", "sure": "reserved price"},
        formats=dict.fromkeys(("committed_usd_per_hour", "usd_per_hour", "spot"), "{:.2f}".format) | {
            "reserve_ratio": reach, "reserved_gpus": "{:.0f}".format, "saved": percent})
