"""How much of a load to reserve at the prices of a book: the cheapest reserved, on-demand and spot rent of a GPU, mixed."""
import math
from typing import NamedTuple

import pandas as pd

from gpucalc.core.evaluate import Row
from gpucalc.decisions.deals import STOPS
from gpucalc.laws.commitments import block_break_even_days, portfolio_usd_per_hour, reserve_ratio, reserved_gpus
from gpucalc.laws.renting import group_interruption_seconds, spot_usd_per_hour
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.price_book import TIES, MissingPrice, price_row
from gpucalc.rows.rents import rents
from gpucalc.rows.selections import selection

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
