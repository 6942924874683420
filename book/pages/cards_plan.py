"""Every card and every slice with what follows from its row: what a dollar and a watt buy, what it holds, how fast it writes."""
import math
from typing import Any, NamedTuple

import pandas as pd

from gpucalc.core.evaluate import Case
from gpucalc.decisions.capacity import left_out, narrow_products
from gpucalc.decisions.fine_print import forbidden
from gpucalc.laws import sharing, worth
from gpucalc.laws.arithmetic_intensity import ridge_point, tokens_per_second
from gpucalc.laws.choosing import largest_params
from gpucalc.laws.kv_cache import max_batch
from gpucalc.laws.serving_cost import serving_usd_per_month
from gpucalc.rows import catalogue
from gpucalc.rows.bands import factors
from gpucalc.rows.rents import firm_rents
from gpucalc.rows.selections import derivation, selection
from . import buying_plan as buying

# Formats in which the largest model is asked for.
SIZES = ("BF16", "FP8", "INT4-g128")


class Derived(NamedTuple):
    """A column that a law gives for each card that has what it needs; `scale`: the law's unit over that of the column."""

    law: Any
    needs: tuple[str, ...] = ()
    scale: float = 1
    load: Case = Case()

    @property
    def weight_format(self):
        """The format that a card must have a path for; none where the law asks for no model."""
        return getattr(self.load.rows.get("weight_format"), "name", None)

    def able(self, frame):
        """Which rows have the column: those without a blank that it needs, with a path for the format and room for the load."""
        filled = frame[list(self.needs)].notna().all(axis="columns")
        if not self.weight_format:
            return filled
        filled &= left_out(frame.assign(latency=0), self.weight_format) == ""
        if self.law is tokens_per_second:
            held = self.case(frame[filled])(max_batch)
            filled &= (held >= self.load.inputs["batch"]).reindex(frame.index, fill_value=False)
        return filled

    def case(self, frame):
        """The case of the load on all of these cards together."""
        return self.load.but(gpu=frame.assign(narrow_products=narrow_products(frame, self.weight_format)))

    def column(self, frame):
        """The column for all rows in one go; a speed as it is to be planned for."""
        held = frame[self.able(frame)]
        if held.empty:
            return pd.Series(math.nan, frame.index)
        case = self.case(held)
        found = case.band(self.law).plan if self.law is tokens_per_second else case(self.law)
        return (self.scale * found).reindex(frame.index)


def load(model, weight_format, batch, context):
    """Writing tokens for so many users at once."""
    return Case(model=model, weight_format=weight_format, batch=batch, context=context, efficiency="achieved")


def derived(loads):
    """The columns of a card that laws give, by name; `loads`: speeds by name, the last of the build of the largest model."""
    bought, rented = ("card_usd",), ("usd_per_hour",)
    largest = list(loads.values())[-1].but(batch=1)
    holds = {f"largest_{name}": Derived(largest_params, load=largest.but(weight_format=name)) for name in SIZES}
    return {
        "ridge_point": Derived(ridge_point),
        "bandwidth_per_watt": Derived(worth.bandwidth_per_watt, ("tdp_watts",)),
        "flops_per_watt": Derived(worth.flops_per_watt, ("tdp_watts",)),
        "month_usd": Derived(serving_usd_per_month, rented, load=Case(rented_gpus=1)),
        "bandwidth_per_rent": Derived(worth.bandwidth_per_rent, rented),
        "flops_per_rent": Derived(worth.flops_per_rent, rented),
        "flops_month_usd": Derived(worth.flops_month_usd, rented, 1e12),
        "bandwidth_per_usd": Derived(worth.bandwidth_per_usd, bought, 1e3),
        "flops_per_usd": Derived(worth.flops_per_usd, bought, 1e3),
    } | holds | {name: Derived(tokens_per_second, load=each) for name, each in loads.items()}


@selection
def priced(book):
    """Every card with its cheapest firm rent on demand and its newest price; one that is too old or only remembered is none."""
    rent = firm_rents(book)
    rent = rent.assign(rented_from=rent["provider"], rent_date=rent["date"], rent_row=rent.index)
    bought = buying.offers(book)
    bought = bought[(bought["item"] == "card") & (bought["unsold"] == 0) & (bought["recalled"] == 0)]
    used = (bought["term"] == "used").map({True: ", used", False: ""})
    unsure = (", " + bought["confidence"]).mask(bought["firm"], "")
    bought = bought.assign(priced_as=bought["provider"] + used + unsure, card_usd=bought["price"], card_date=bought["date"],
                           card_row=bought["row"])
    return catalogue.gpus().join(
        rent.set_index("gpu")[["usd_per_hour", "rented_from", "rent_date", "rent_row"]]).join(
        bought.set_index("gpu")[["card_usd", "priced_as", "card_date", "card_row"]])


@derivation
def every_card(book, loads):
    """Every card with its prices and all that is derived; the newest first."""
    frame = priced(book)
    found = {name: each.column(frame) for name, each in derived(loads).items()}
    latency = frame["link"].map(catalogue.links()["latency"])
    words = forbidden(frame).map({True: "not in a data center", False: "data center too"})
    frame = frame.assign(**found, link_latency=latency, license=words)
    return frame.sort_values(["year", "bandwidth"], ascending=False, kind="stable")


def most(frame, column, *also):
    """The rows that have the column, the most of it first; `also`: which of them, such as those that are firm."""
    held = frame[frame[column].notna()]
    for condition in also:
        held = held[condition.reindex(held.index).fillna(False).astype(bool)]
    return held.sort_values(column, ascending=False, kind="stable")


def spread(loads):
    """By load, what the plan is multiplied by for the ends of eight in ten."""
    ends = {name: factors(each, tokens_per_second) for name, each in loads.items()}
    return {name: (low / plan, high / plan) for name, (low, plan, high) in ends.items()}


@derivation
def slices(book):
    """Every slice with its part of the card, and what an hour of it costs where all are used."""
    cards = priced(book)
    frame = catalogue.partitions().join(
        cards[["vendor", "generation", "bandwidth", "peak_flops", "units", "usd_per_hour", "rent_date", "rent_row"]], on="gpu")
    every = Case(frame)
    rented = frame[frame["usd_per_hour"].notna()]
    return frame.assign(
        slice_bandwidth=every(sharing.slice_bandwidth), slice_flops=every(sharing.slice_flops),
        slice_usd_per_hour=Case(rented)(sharing.slice_usd_per_hour) if len(rented) else math.nan)
