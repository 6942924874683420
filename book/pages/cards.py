"""Every card: what each serves, trains and costs, and the table of all."""
import html
import math
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import gib, hourly, number, seconds, three_figures
from gpucalc.decisions.capacity import left_out, narrow_products
from gpucalc.decisions.market import forbidden
from gpucalc.laws import sharing, worth
from gpucalc.laws.arithmetic_intensity import ridge_point, tokens_per_second
from gpucalc.laws.choosing import largest_params
from gpucalc.laws.kv_cache import max_batch
from gpucalc.laws.serving_cost import serving_usd_per_month
from gpucalc.rows import catalogue
from gpucalc.rows.ages import not_yours
from gpucalc.rows.bands import factors
from gpucalc.rows.kept import derivation, selection
from gpucalc.rows.price_book import price_row
from gpucalc.rows.rents import firm_rents
from gpucalc.rows.tables import plain_row
from ..components.catalogue_table import catalogue_table
from ..components.dates import dated
from ..components.sentences import Markdown
from ..components.show import Html, sources, table
from . import what_to_buy as buying


# Every card and every slice with what follows from its row: what a dollar and a watt buy, what it holds, how fast it writes.

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


# The page of every card: its table, its slices, and who comes first for a dollar.

GROUPS = {
    "Memory": ["memory_bytes", "bandwidth", "marketed_bytes", "memory_type"],
    "Peaks": ["peak_flops", "peak_format", "fp8_flops", "fp4_flops"],
    "More peaks": ["int8_flops", "tf32_flops", "fp32_flops", "fp16_accumulate_flops"],
    "Rented": ["usd_per_hour", "rent_date", "bandwidth_per_rent", "flops_per_rent"],
    "Bought": ["card_usd", "card_date", "bandwidth_per_usd", "flops_per_usd"],
    "Sellers": ["rented_from", "month_usd", "flops_month_usd", "priced_as"],
    "Link": ["link", "link_bandwidth", "link_latency", "host_bandwidth"],
    "Power": ["tdp_watts", "bandwidth_per_watt", "flops_per_watt", "ridge_point"],
    "Kind": ["vendor", "generation", "kind", "year"],
    "Allowed": ["license", "ecc", "arm_host", "compute_capability", "mig_instances"],
    "Holds": [f"largest_{name}" for name in SIZES],
    "Chip": ["units", "clock", "unit_flops", "l2_bytes"],
    "Source": ["source", "date", "confidence", "note"],
    "More": ["status", "memory_note", "benchmark"],
}
LABELS = {
    "gpu": "card", "marketed_bytes": "sold as", "memory_bytes": "driver reports", "memory_type": "memory",
    "bandwidth": "bandwidth", "peak_flops": "dense peak", "peak_format": "in", "fp8_flops": "FP8", "fp4_flops": "FP4",
    "int8_flops": "INT8", "tf32_flops": "TF32", "fp32_flops": "FP32 vector", "fp16_accumulate_flops": "FP16, added in FP16",
    "usd_per_hour": "rent", "rent_date": "read", "bandwidth_per_rent": "bandwidth per USD/h",
    "flops_per_rent": "FLOP/s per USD/h", "card_usd": "price", "card_date": "of",
    "bandwidth_per_usd": "bandwidth per 1,000 USD", "flops_per_usd": "FLOP/s per 1,000 USD", "rented_from": "rented from",
    "month_usd": "rent of a month", "flops_month_usd": "USD per TFLOP/s-month", "priced_as": "price is",
    "link_bandwidth": "link, one way", "link_latency": "its latency", "host_bandwidth": "to the host",
    "tdp_watts": "power limit", "bandwidth_per_watt": "bandwidth per W", "flops_per_watt": "FLOP/s per W",
    "ridge_point": "ridge point", "compute_capability": "capability", "mig_instances": "MIG slices", "license": "license",
    "ecc": "ECC", "arm_host": "Arm host", "largest_BF16": "largest, BF16", "largest_FP8": "largest, FP8",
    "largest_INT4-g128": "largest, 4 bits",
    "l2_bytes": "cache on chip", "unit_flops": "FLOP of a unit", "clock": "boost clock", "units": "units",
    "benchmark": "shares as", "memory_note": "memory as", "link": "link"}
# What a price is: its column, who asks it, its date, and its row of the book.
RENTED, BOUGHT = ("usd_per_hour", "rented_from", "rent_date", "rent_row"), ("card_usd", "priced_as", "card_date", "card_row")
HIGH = ("marketed_bytes memory_bytes bandwidth peak_flops fp8_flops fp4_flops int8_flops tf32_flops fp32_flops "
        "fp16_accumulate_flops bandwidth_per_rent flops_per_rent bandwidth_per_usd flops_per_usd link_bandwidth host_bandwidth "
        "bandwidth_per_watt flops_per_watt mig_instances l2_bytes").split() + GROUPS["Holds"]
FILTERS = ("vendor", "generation", "kind", "status")
LOW = ("usd_per_hour", "card_usd", "month_usd", "flops_month_usd", "tdp_watts", "link_latency")


def _rate(unit):
    return lambda value: number(value, unit)


def _plain(value):
    return f"{value:.0f}"


_BYTES, _FLOPS = _rate("byte/second"), _rate("FLOP/second")
FORMATS = {
    "year": _plain, "compute_capability": "{:.1f}".format, "usd_per_hour": hourly, "card_usd": "{:,.0f} USD".format,
    "month_usd": "{:,.0f} USD".format, "flops_month_usd": "{:.2f}".format,
    "bandwidth_per_rent": _BYTES, "bandwidth_per_usd": _BYTES,
    "bandwidth_per_watt": _BYTES, "flops_per_rent": _FLOPS, "flops_per_usd": _FLOPS, "flops_per_watt": _FLOPS,
    "marketed_bytes": _rate("byte"), "ridge_point": three_figures, "link_latency": seconds}


@selection
def cards_table(frame, book, loads, caption):
    """Every card with every column of its row and all that follows; the speeds stand under the names of the loads."""
    groups = {"Memory": GROUPS["Memory"], "Tokens/s": list(loads)} | GROUPS
    better = dict.fromkeys([*HIGH, *loads], "high") | dict.fromkeys(LOW, "low")
    shown = frame.assign(
        **{name: frame[name].map({1: "yes", 0: "no"}) for name in ("ecc", "arm_host")},
        rented_from=_owned(frame, "rented_from", "rent_row", book),
        priced_as=_owned(frame, "priced_as", "card_row", book))[[name for names in groups.values() for name in names]]
    return catalogue_table(
        shown.reset_index(), f"{caption} ({dated(book, _behind(frame, book))})", groups, better, FILTERS,
        LABELS, FORMATS | dict.fromkeys(loads, three_figures), compare=True)


def _behind(frame, book):
    """The rows of the book from which the frame has its prices."""
    return book.loc[[*frame["rent_row"].dropna(), *frame["card_row"].dropna()]]


def _owned(frame, column, row, book):
    """The column, marked where the price is not the reader's own."""
    others = not_yours(book, pd.DataFrame({"row": frame[row].dropna()}))
    return frame[column].mask(frame[row].isin(others), frame[column] + " (not yours)")


@selection
def slices_table(frame, book, caption):
    """Every slice of every card that can be cut."""
    groups = {"Slice": ["slice_memory", "slice_bandwidth", "slice_flops", "instances"],
              "Parts": ["gpu", "slice_units", "slice_usd_per_hour"]}
    shown = frame.assign(slice_memory=frame["memory_bytes"])[[name for names in groups.values() for name in names]]
    return catalogue_table(
        shown.reset_index(), f"{caption} ({dated(book, book.loc[frame['rent_row'].dropna()])})", groups, None, ["gpu"],
        {"partition": "slice", "slice_memory": "memory", "slice_bandwidth": "bandwidth", "slice_flops": "dense peak",
         "instances": "on one card", "gpu": "card", "slice_units": "units",
         "slice_usd_per_hour": "cost of an hour, all used"},
        {"slice_memory": gib, "slice_usd_per_hour": hourly})


@selection
def card_sources(book, prices, parts):
    """Where these prices are from, and the slices, once for each of their sources."""
    once = parts.drop_duplicates("source").set_index("gpu").to_dict("index")
    cut = (plain_row(row, f"Slices of {gpu}") for gpu, row in once.items())
    paid = (price_row(book.loc[key]) for key in dict.fromkeys(prices))
    return sources(*paid, *cut, caption="Prices of the cards that come first, and slices")


@selection
def ranked(frame, column, book, caption, count=8):
    """The cards with most of something for a dollar."""
    price, seller, date, row = RENTED if "rent" in column else BOUGHT
    found = most(frame, column).head(count)
    if found.empty:
        return Markdown(f"{caption}: the price book has no such price.")
    shown = found.rename_axis("gpu").reset_index().set_index(row)[["gpu", column, "memory_bytes", price, seller, date]]
    caption = f"{caption} ({dated(book, book.loc[shown.index])})"
    return table(shown.rename(columns={date: "date"}), caption, LABELS | {"date": "date"}, FORMATS)


def pairs(*names):
    """Links that put two rows of the page's table side by side."""
    said = [f"{one} and {other}" for one, other in names]
    links = [f'<a href="#compare={quote(one)},{quote(other)}">{html.escape(text)}</a>' for text, (one, other) in zip(said, names)]
    return Html(f"<p>Side by side: {'; '.join(links)}.</p>", f"Side by side: {'; '.join(said)}")
