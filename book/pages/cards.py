"""Every card: what each serves, trains and costs, and the table of all."""
import html
import itertools
import math
import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd
from pandas import DataFrame, isna

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import dollars, gib, hourly, number, percent, seconds, three_figures, times, usd
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions.capacity import left_out, narrow_products
from gpucalc.decisions.market import forbidden
from gpucalc.laws import nodes, sharing, worth
from gpucalc.laws.arithmetic_intensity import ridge_point, tokens_per_second
from gpucalc.laws.choosing import largest_params
from gpucalc.laws.kv_cache import max_batch
from gpucalc.laws.memories import all_units_bandwidth, all_units_bytes, level_read_seconds, pin_bandwidth
from gpucalc.laws.quantization import quantized_weight_bytes
from gpucalc.laws.serving_cost import serving_usd_per_month, usd_per_million_tokens
from gpucalc.laws.worth import (bandwidth_per_rent, bandwidth_per_usd, flops_per_rent, flops_per_usd, matching_usd_per_hour,
                                unit_peak)
from gpucalc.rows import catalogue
from gpucalc.rows.ages import not_yours
from gpucalc.rows.bands import factors
from gpucalc.rows.own_gpus import own_gpus
from gpucalc.rows.price_book import price_row
from gpucalc.rows.rents import firm_rents
from gpucalc.rows.tables import plain_row, rows
from ..components.catalogue_table import catalogue_table
from ..components.dates import by_price, dated
from ..components.picture import Sheet, WIDE
from ..components.sentences import Markdown
from ..components.show import byte_rate, difference, flop_rate, Html, in_bytes, in_unit, sources, table
from . import what_to_buy as buying
from .what_changed import rents_at_will


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

GROUPS = {"Memory": ["memory_bytes", "bandwidth", "marketed_bytes", "memory_type"],
          "Peaks": ["peak_flops", "peak_format", "fp8_flops", "fp4_flops"],
          "More peaks": ["int8_flops", "tf32_flops", "fp32_flops", "fp16_accumulate_flops"],
          "Rented": ["usd_per_hour", "rent_date", "bandwidth_per_rent", "flops_per_rent"],
          "Bought": ["card_usd", "card_date", "bandwidth_per_usd", "flops_per_usd"],
          "Sellers": ["rented_from", "month_usd", "flops_month_usd", "priced_as"],
          "Link": ["link", "link_bandwidth", "link_latency", "host_bandwidth"],
          "Power": ["tdp_watts", "bandwidth_per_watt", "flops_per_watt", "ridge_point"],
          "Kind": ["vendor", "generation", "kind", "year"],
          "Allowed": ["license", "ecc", "arm_host", "compute_capability", "mig_instances"],
          "Holds": [f"largest_{name}" for name in SIZES], "Chip": ["units", "clock", "unit_flops", "l2_bytes"],
          "Source": ["source", "date", "confidence", "note"], "More": ["status", "memory_note", "benchmark"]}
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


FORMATS = {
    "year": "{:.0f}".format, "compute_capability": "{:.1f}".format, "usd_per_hour": hourly, "card_usd": "{:,.0f} USD".format,
    "month_usd": "{:,.0f} USD".format, "flops_month_usd": "{:.2f}".format,
    "bandwidth_per_rent": byte_rate, "bandwidth_per_usd": byte_rate,
    "bandwidth_per_watt": byte_rate, "flops_per_rent": flop_rate, "flops_per_usd": flop_rate, "flops_per_watt": flop_rate,
    "marketed_bytes": in_bytes, "ridge_point": three_figures, "link_latency": seconds}


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
    return book.loc[[*frame["rent_row"].dropna(), *frame["card_row"].dropna()]]


def _owned(frame, column, row, book):
    """The column, marked where the price is not the reader's own."""
    others = not_yours(book, pd.DataFrame({"row": frame[row].dropna()}))
    return frame[column].mask(frame[row].isin(others), frame[column] + " (not yours)")


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


def card_sources(book, prices, parts):
    """Where these prices are from, and the slices, once for each of their sources."""
    once = parts.drop_duplicates("source").set_index("gpu").to_dict("index")
    cut = (plain_row(row, f"Slices of {gpu}") for gpu, row in once.items())
    paid = (price_row(book.loc[key]) for key in dict.fromkeys(prices))
    return sources(*paid, *cut, caption="Prices of the cards that come first, and slices")


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


# Generations of GPUs: what grew how fast, what a dollar buys, and time lines of it


# The page of generations: what each brought, its formats, its peak from units and clock, its link, and what it cost.

# Formats from wide to narrow, each with the peak of a card and what one unit does in a clock.
GENERATION_FORMATS = {"FP32": ("fp32_flops", "unit_fp32"), "TF32": ("tf32_flops", "unit_tf32"),
                      "BF16 or FP16": ("peak_flops", "unit_half"), "INT8": ("int8_flops", "unit_int8"),
                      "FP8": ("fp8_flops", "unit_fp8"), "FP4": ("fp4_flops", "unit_fp4")}
CARDS = ("P100 SXM 16GB", "V100 SXM 32GB", "RTX 2080 Ti 11GB", "A100 SXM 80GB", "H100 SXM 80GB", "H200 SXM 141GB",
         "B200 SXM 180GB", "GB200 NVL72 186GB")
PETA, TERA = 1e15, 1e12
_CLOSE = 0.015  # a data sheet's peak is rounded, and its clock too


def generations():
    """Every generation with the row of the card that stands for it; if none is named, the newest card of the generation."""
    frame, cards = catalogue.generations(), catalogue.gpus()
    newest = cards.sort_values("year", kind="stable").reset_index().groupby("generation")["gpu"].last()
    named = [gpu or newest.get(name, "") for name, gpu in frame["gpu"].items()]
    known = [gpu in cards.index for gpu in named]
    held = frame.drop(columns=["vendor", "year", "link", "unit", "source", "date", "confidence", "note"])
    taken = cards.reindex([gpu if there else None for gpu, there in zip(named, known)]).set_axis(frame.index)
    joined = taken.drop(columns=["generation"]).assign(**held.drop(columns="gpu"), gpu=named, brought_link=frame["link"])
    joined = joined.assign(vendor=frame["vendor"], year=frame["year"])
    there = joined[known]
    return joined.assign(half=joined["peak_flops"].where(joined["peak_format"] != "FP32"), described=known,
                         ridge=ridge_point(there["peak_flops"], there["bandwidth"]).reindex(joined.index))


def headline():
    """What the sentences of the page say: how far the cards came, and how well peaks follow from units and clock."""
    cards = generations().query("vendor == 'NVIDIA' and status == 'available' and tensor_cores != 'none'")
    cards = cards[cards["memory_type"].str.startswith("HBM")]
    first, last, off = cards.iloc[0], cards.iloc[-1], peaks()
    far = off[off["off"].abs() > _CLOSE]
    return {"first": first["gpu"], "last": last["gpu"], "years": int(last["year"] - first["year"]), "close": _CLOSE,
            "flops": last["peak_flops"] / first["peak_flops"], "bandwidth": last["bandwidth"] / first["bandwidth"],
            "ridge_first": first["ridge"], "ridge_last": last["ridge"], "agree": len(off) - len(far), "apart": list(far["gpu"])}


def look_up(vendors=("NVIDIA",)):
    """The first table: one line a generation."""
    frame = generations().query("vendor in @vendors").reset_index()
    shown = frame[["generation", "year", "bandwidth", "peak_flops", "peak_format", "ridge", "gpu", "memory_type", "link",
                   "link_bandwidth"]]
    return table(shown, f"Generations of {' and '.join(vendors)}, each by one card",
                 labels={"gpu": "card", "memory_type": "memory", "peak_flops": "dense peak", "peak_format": "in",
                         "ridge": "ridge point", "link_bandwidth": "per direction"},
                 formats={"year": "{:.0f}".format, "ridge": in_unit("FLOP/byte")})


def brought_table():
    """What was new in each generation, and in which process its chip is made."""
    frame = generations().reset_index()
    return table(frame[["generation", "brought", "tensor_cores", "process", "tdp_watts"]], "What each generation brought",
                 labels={"brought": "what was new", "tensor_cores": "tensor or matrix cores", "tdp_watts": "power of its card"})


def format_table():
    """FLOP of one unit in a clock, by generation and format: a dash where the tensor cores do not multiply it, or nobody says."""
    frame = catalogue.generations().reset_index()
    units = [unit for _, unit in GENERATION_FORMATS.values()]
    return table(frame[["generation", "tensor_cores", "formats", *units]],
                 "What one multiprocessor or compute unit does in a clock, dense; a TPU chip is one",
                 labels={"tensor_cores": "tensor cores", "formats": "they multiply"}
                 | {unit: name for name, (_, unit) in GENERATION_FORMATS.items()},
                 formats=dict.fromkeys(units, lambda value: f"{value:,.0f}"))


def peaks():
    """Peak by units, clock and what a unit does in a clock, beside the data sheet's, by generation and format."""
    rows = []
    for name, row in generations().query("described and clock == clock").iterrows():
        for form, (column, unit) in GENERATION_FORMATS.items():
            if row[unit] == row[unit] and row[column] == row[column]:
                peak = unit_peak(row["units"], row["clock"], row[unit])
                rows.append({"generation": name, "gpu": row["gpu"], "format": form, "units": row["units"], "clock": row["clock"],
                             "unit_flops": row[unit], "unit_peak": peak, "sheet": row[column]})
    frame = DataFrame(rows)
    return frame.assign(off=frame["unit_peak"] / frame["sheet"] - 1)


def peak_table():
    """`peaks` of the format in which a card multiplies in 16 bits."""
    frame = peaks().query("format == 'BF16 or FP16' or generation == 'Pascal'").drop(columns="format")
    return table(frame, "Peak in 16 bits (Pascal: FP32) from units and clock, beside the data sheet",
                 labels={"gpu": "card", "unit_flops": "FLOP of a unit in a clock", "unit_peak": "by the formula",
                         "sheet": "data sheet", "units": "units", "clock": "clock"},
                 formats={"sheet": flop_rate, "unit_flops": "{:,.0f}".format,
                          "off": difference})


def link_table():
    """NVLink by generation: one link and all links of a GPU, per direction, and both directions as NVIDIA prints them."""
    frame = catalogue.links()
    frame = frame[frame.index.str.fullmatch(r"NVLink \d+( rack)?")].reset_index()
    frame = frame.assign(both=2 * frame["link_bandwidth"])[
        ["link", "generation", "year", "ports", "port_bandwidth", "link_bandwidth", "both", "reach"]]
    return table(frame, "NVLink by generation",
                 labels={"ports": "links of a GPU", "port_bandwidth": "one link, per direction", "generation": "came with",
                         "link_bandwidth": "a GPU, per direction", "both": "a GPU, both directions, as marketed",
                         "reach": "GPUs joined"},
                 formats={"both": byte_rate, "year": "{:.0f}".format})


def card_table():
    """Eight cards of a decade, every figure from their rows."""
    frame = catalogue.gpus()
    frame = frame.loc[[name for name in CARDS if name in frame.index]].reset_index()
    rates = [column for column, _ in GENERATION_FORMATS.values()]
    return table(frame[["gpu", "year", "units", "memory_type", "marketed_bytes", "bandwidth", *rates, "link", "link_bandwidth",
                        "tdp_watts"]], "Cards of a decade, dense peaks with FP32 accumulation",
                 labels={"gpu": "card", "units": "multiprocessors", "memory_type": "memory", "marketed_bytes": "size as sold",
                         "link_bandwidth": "per direction"} | {column: name for name, (column, _) in GENERATION_FORMATS.items()},
                 formats={"marketed_bytes": in_bytes, "year": "{:.0f}".format})


def precision_table():
    """Formats of numbers: bits in memory, the first generation of NVIDIA that multiplies them, and dense peaks of three cards."""
    bits, held = catalogue.formats()["value_bits"], generations().query("vendor == 'NVIDIA'")
    cards = catalogue.gpus().loc[["A100 SXM 80GB", "H100 SXM 80GB", "B200 SXM 180GB"]]
    stored = {"BF16 or FP16": "BF16", "FP4": "NVFP4"}
    rows = [{"format": form, "bits": bits[stored.get(form, form)], "first": _first(held, column)} | cards[column].to_dict()
            for form, (column, _) in GENERATION_FORMATS.items()]
    return table(DataFrame(rows), "Formats of numbers and dense peaks in them",
                 labels={"bits": "bits in memory", "first": "from"},
                 formats=dict.fromkeys(cards.index, flop_rate) | {"bits": "{:.0f}".format})


def _first(frame, column):
    """The generation with which a peak came."""
    column = "half" if column == "peak_flops" else column
    return next((name for name, value in frame[column].items() if value == value), "none")


def rents_by_quarter():
    """Median rent on demand of each GPU and quarter, with what a PFLOP/s and a TB/s of it cost by the hour."""
    found, cards = rents_at_will(), catalogue.gpus()
    found = found[found["date"].str.len() >= 7]
    quarter = found["date"].str[:4] + "-" + ((found["date"].str[5:7].astype(int) - 1) // 3 * 3 + 1).map("{:02d}".format)
    frame = found.groupby([found["gpu"], quarter.rename("date")]).agg(
        usd_per_hour=("usd_per_hour", "median"), providers=("provider", "nunique")).reset_index()
    frame = frame.join(cards[["peak_flops", "bandwidth"]], on="gpu")
    return frame.assign(per_pflops=PETA / flops_per_rent(frame["peak_flops"], frame["usd_per_hour"]),
                        per_tbs=TERA / bandwidth_per_rent(frame["bandwidth"], frame["usd_per_hour"]))


def purchases(book):
    """Prices of cards and servers in a book, a GPU at a time, with what a PFLOP/s and a TB/s of it cost; the oldest first."""
    found = book[book["item"].isin(["card", "server"]) & (book["currency"] == "USD")]
    cards = catalogue.gpus().reindex(found["gpu"]).set_axis(found.index)
    frame = found.assign(card_usd=found["price"] / found["gpus_per_server"].fillna(1), peak_flops=cards["peak_flops"],
                         bandwidth=cards["bandwidth"], generation=cards["generation"],
                         kind=cards["kind"], year=cards["year"], peak_format=cards["peak_format"])
    frame = frame.sort_values("date", kind="stable")
    return frame.assign(per_pflops=PETA / flops_per_usd(frame["peak_flops"], frame["card_usd"]),
                        per_tbs=TERA / bandwidth_per_usd(frame["bandwidth"], frame["card_usd"]))


def launched(book):
    """Those of `purchases` of new cards with tensor cores, in the year it came or the next; `at` is the time in years."""
    frame = purchases(book)
    year, month = (frame["date"].str[part].replace("", "7").astype(int) for part in (slice(4), slice(5, 7)))
    new = (frame["term"] != "used") & (frame["peak_format"] != "FP32") & (year - frame["year"] <= 1)
    return frame.assign(at=year + (month - 1) / 12)[new]


def purchase_table(book):
    """`purchases` as a page shows them, each at its own date; None if there are none."""
    frame = purchases(book)
    if frame.empty:
        return None
    # Prices of the past are meant to be old: no warning of their age.
    whose = re.sub(r", the oldest of [\d-]+", "", dated(book, frame))
    frame = frame[["gpu", "generation", "item", "provider", "term", "date", "card_usd", "per_pflops", "per_tbs",
                   "confidence"]]
    return table(frame, f"What a GPU cost to buy, each price at its date ({whose})",
                 labels={"gpu": "GPU", "item": "bought as", "provider": "whose price", "card_usd": "a GPU",
                         "per_pflops": "a PFLOP/s", "per_tbs": "a TB/s"},
                 formats=dict.fromkeys(("card_usd", "per_pflops", "per_tbs"), dollars))


# Lines over time on a log axis, as a picture: legible on a phone, with the name of each line at its end.

_LEFT, _RIGHT, _GAP, _FOOT = 4, 296, 15, 34


class LogPlot:
    """One panel of a sheet: years across, a quantity up on a log axis.

    show: a value in words, for the axis. grid: (a value, a step): lines across stand at the value times powers of the step.
    series: name -> (color, points (year, value)).
    """

    def __init__(self, sheet, top, tall, years, show, grid, series):
        self.sheet, self.top, self.tall, self.years = sheet, top, tall, years
        start, step = grid
        values = [value for _, points in series.values() for _, value in points]
        powers = [way(math.log(end / start, step)) for way, end in ((math.floor, min(values)), (math.ceil, max(values)))]
        self.ends = [start * step**power for power in powers]
        for power in range(powers[0], powers[1] + 1):
            value = start * step**power
            down = self.down(value)
            sheet.line((_LEFT, down), (_RIGHT, down), thick=0.7).text(_LEFT, down - 3, show(value), color="soft", size=11)

    def across(self, year):
        first, last = self.years
        return _LEFT + 52 + (year - first) / (last - first) * (_RIGHT - _LEFT - 62)

    def down(self, value):
        low, high = (math.log(end) for end in self.ends)
        return self.top + self.tall * (high - math.log(value)) / (high - low)

    def lines(self, series, joined=True):
        """Each line with its name at the right, and dots where points are few; dots alone if they are not `joined`."""
        ends = []
        for name, (color, points) in series.items():
            placed = [(self.across(year), self.down(value)) for year, value in points]
            if joined and len(placed) > 1:
                self.sheet.line(*placed, color=color, thick=2.2)
            for across, down in placed if len(placed) < 9 or not joined else placed[-1:]:
                self.sheet.circle(across, down, 3, color)
            ends.append([placed[-1][1], name, color])
        ends.sort()
        for before, after in itertools.pairwise(ends):
            after[0] = max(after[0], before[0] + _GAP)
        lift = max(0.0, ends[-1][0] - self.top - self.tall)
        for down, name, color in ends:
            self.sheet.text(_RIGHT + 6, down - lift + 4, name, color=color, bold=True, size=12)
        return self

    def marks(self, names):
        """Thin lines up at years with their names below, in a second row where they would touch. names: name -> year."""
        foot, free = self.top + self.tall, 0.0
        for name, year in names.items():
            across, half = self.across(year), 3.2 * len(name)
            touches = across - half < free
            free = free if touches else across + half
            self.sheet.line((across, self.top), (across, foot + 4), thick=0.7, dashed=True)
            self.sheet.text(across, foot + 17 + 14 * touches, name, at="middle", size=11, color="soft")
        return self


def panels(finding, alt, drawn, years, marks, joined=True):
    """Panels under each other over one span of years.

    drawn: (title, tall, show, grid, series) for each, as LogPlot takes them; marks: name -> year, below the last.
    """
    sheet = Sheet(sum(44 + tall for _, tall, *_ in drawn) + _FOOT, WIDE)
    top = 0
    for title, tall, show, grid, series in drawn:
        sheet.text(_LEFT, top + 13, title, bold=True)
        plot = LogPlot(sheet, top + 30, tall, years, show, grid, series).lines(series, joined)
        top += tall + 44
    plot.marks(marks)
    return sheet.picture(finding, alt)


# Pictures of the generations: FLOP/s and bandwidth on a time line, ridge points over the years, what a rented PFLOP/s costs.

# One card a year: those that were the largest of their day.
_FRONT = ("Pascal", "Volta", "Ampere", "Hopper", "Blackwell", "Rubin")
_COLORS = {"FP32": "h", "16 bits": "a", "FP8": "b", "FP4": "d"}
_GPU_COLORS = {"A100 SXM 80GB": "a", "H100 SXM 80GB": "b", "H200 SXM 141GB": "c", "B200 SXM 180GB": "d"}
_KINDS = {"datacenter": ("data center", "d"), "workstation": ("workstation", "b"), "consumer": ("consumer", "a")}
_QUARTERS = 4  # prices of fewer quarters say nothing about how they move


def _front():
    frame = generations().query("described")
    return frame.loc[[name for name in _FRONT if name in frame.index]]


def _line(frame, values):
    """Points (year, value) where there is a value."""
    return [(year, value) for year, value in zip(frame["year"], values) if value == value]


def _peaks(frame):
    return {form: (color, points) for form, color in _COLORS.items()
            if (points := _line(frame, frame["half" if form == "16 bits" else GENERATION_FORMATS[form][0]]))}


def _years(frame):
    return int(frame["year"].iloc[0]), int(frame["year"].iloc[-1])


def _marks(frame):
    return {f"{name} ’{year % 100:02.0f}{'*' * (status == 'announced')}": year
            for name, year, status in zip(frame.index, frame["year"], frame["status"])}


def _plans(frame):
    """What the star at an announced generation means."""
    return "" if (frame["status"] == "available").all() else " (* announced)"


def timeline_picture():
    """Dense peaks by format and memory bandwidth of the data center cards of NVIDIA, on a time line with log axes."""
    frame = _front()
    peaks = _peaks(frame)
    first, last = frame.iloc[0], frame.iloc[-1]
    highest, bands = max(points[-1][1] for _, points in peaks.values()), (first["bandwidth"], last["bandwidth"])
    ends = {form: [f"{flop_rate(peak)} in {year:.0f}" for year, peak in (points[0], points[-1])]
            for form, (_, points) in peaks.items()}
    words = "; ".join(f"{form} {' to '.join(each)}" for form, each in ends.items())
    drawn = [("dense peak of one GPU, log axis", 170, flop_rate, (1e15, 10), peaks),
             ("memory bandwidth, log axis", 110, byte_rate, (1e12, 2), {"bandwidth": ("c", _line(frame, frame["bandwidth"]))})]
    return panels(f"From {frame.index[0]} to {frame.index[-1]} the highest peak grew {times(highest / first['peak_flops'])}, "
                  f"the bandwidth {times(bands[1] / bands[0])}{_plans(frame)}",
                  f"Time line with log axes. Dense peaks: {words}. Bandwidth {byte_rate(bands[0])} to {byte_rate(bands[1])}.",
                  drawn, _years(frame), _marks(frame))


def ridge_picture():
    """Ridge points of the same cards by format: FLOP that a byte from memory must be used for before FLOP/s are the limit."""
    frame = _front()
    by_year = dict(zip(frame["year"], frame["bandwidth"]))
    ridges = {form: (color, [(year, ridge_point(peak, by_year[year])) for year, peak in points])
              for form, (color, points) in _peaks(frame).items() if form != "FP32"}
    half = ridges["16 bits"][1]
    widest, form = max((points[-1][1], form) for form, (_, points) in ridges.items())
    said = "; ".join(f"{name} {points[0][1]:,.0f} in {points[0][0]:.0f} to {points[-1][1]:,.0f} in {points[-1][0]:.0f}"
                     for name, (_, points) in ridges.items())
    highest, year = max((value, year) for year, value in half)
    return panels(f"In 16 bits the ridge point went from {half[0][1]:,.0f} FLOP per byte to {highest:,.0f} in {year:.0f} and "
                  f"{half[-1][1]:,.0f} in {half[-1][0]:.0f}; in {form} it is {widest:,.0f}{_plans(frame)}",
                  f"Ridge points over the years, log axis, FLOP per byte: {said}.",
                  [("ridge point, FLOP per byte, log axis", 170, three_figures, (100, 2), ridges)], _years(frame), _marks(frame))


def rent_picture():
    """Median rent of a PFLOP/s and of a TB/s by the hour, by quarter and card."""
    frame = rents_by_quarter()
    frame = frame[frame.groupby("gpu")["date"].transform("size") >= _QUARTERS]
    year, month = frame["date"].str[:4].astype(int), frame["date"].str[5:7].astype(int)
    frame = frame.assign(at=year + month / 12)
    low, high = frame["per_tbs"].min(), frame["per_tbs"].max()
    now = frame[frame["date"] == frame["date"].max()].set_index("gpu")["per_pflops"].sort_values(kind="stable")
    best, worst = now.index[0], now.index[-1]
    parts = dict(list(frame.groupby("gpu")))
    drawn = [(f"USD for a {what}-hour, log axis", tall, three_figures, (1, 2),
              {gpu.split()[0]: (_GPU_COLORS.get(gpu, "e"), list(zip(part["at"], part[column]))) for gpu, part in parts.items()})
             for what, column, tall in (("PFLOP/s", "per_pflops", 130), ("TB/s", "per_tbs", 110))]
    said = "; ".join(f"{gpu}: {dollars(part['per_pflops'].iloc[0])} in {part['date'].iloc[0]} to "
                     f"{dollars(part['per_pflops'].iloc[-1])} in {part['date'].iloc[-1]} for a PFLOP/s-hour"
                     for gpu, part in parts.items())
    return panels(f"A rented TB/s cost {dollars(low)} to {dollars(high)} an hour in all these years; a PFLOP/s costs "
                  f"{times(now[worst] / now[best])} as much on {worst.split()[0]} as on {best.split()[0]}",
                  f"Median list rents on demand by quarter, log axes. {said}.", drawn, (frame["at"].min(), frame["at"].max()),
                  {str(first): max(first + 1 / 12, frame["at"].min()) for first in sorted(set(year))})


def bought_picture(book):
    """What a PFLOP/s and a TB/s cost to buy when a card was new, by kind of card; None if the book has no such price."""
    frame = launched(book)
    if frame.empty:
        return None
    parts = {kind: part for kind, part in frame.groupby("kind") if kind in _KINDS}
    drawn = [(f"USD for a {what}, log axis", tall, three_figures, (1000, 2 if column == "per_tbs" else 10),
              {_KINDS[kind][0]: (_KINDS[kind][1], list(zip(part["at"], part[column]))) for kind, part in parts.items()})
             for what, column, tall in (("PFLOP/s, dense in 16 bits", "per_pflops", 120), ("TB/s of bandwidth", "per_tbs", 130))]
    said = "; ".join(f"{_KINDS[kind][0]} {dollars(part['per_pflops'].iloc[0])} ({part['gpu'].iloc[0]}) to "
                     f"{dollars(part['per_pflops'].iloc[-1])} ({part['gpu'].iloc[-1]})" for kind, part in parts.items())
    years = range(int(frame["at"].min()), int(frame["at"].max()) + 1)
    first = next((parts[kind] for kind in _KINDS if kind in parts), frame).iloc[[0, -1]]
    ends = [f"{dollars(row.per_pflops)} ({row.gpu.split()[0]})" for row in first.itertuples()]
    return panels(f"Bought new, a PFLOP/s went from {ends[0]} to {ends[1]}",
                  f"Dots over the years, log axes, each a card at a price of its first two years. A PFLOP/s: {said}.", drawn,
                  (years[0], years[-1] + 1), {str(year): year for year in years if (year - years[0]) % 2 == 0}, joined=False)


# Kinds of memory: their bandwidths and sizes, as tables and pictures


# The page of memories: kinds with their pins and rates, and the levels of a server from registers to network storage.

# What a level takes from the card's row, and how many cards have it.
_FROM_CARD = {"L2": ("l2_bytes", None), "device": ("memory_bytes", "bandwidth"), "peers": ("memory_bytes", "link_bandwidth"),
              "host": (None, "host_bandwidth")}


def short(seconds):
    """A latency, which may be under a microsecond."""
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else number(seconds, "second")


def kinds():
    """Kinds of memory on cards: what pins and their rate give beside the data sheet's bandwidth, and what one device gives."""
    frame, cards = catalogue.memory_kinds().reset_index(), catalogue.gpus()
    taken = {name: list(cards.loc[frame["gpu"], name]) for name in ("bandwidth", "marketed_bytes", "year")}
    frame = frame.assign(pin_bandwidth=pin_bandwidth(frame["bus_bits"], frame["pin_rate"]),
                         one=pin_bandwidth(frame["device_bits"], frame["pin_rate"]),
                         devices=frame["bus_bits"] / frame["device_bits"], **taken)
    return frame.assign(off=frame["pin_bandwidth"] / frame["bandwidth"] - 1)


def kind_table():
    """`kinds` as the page shows them."""
    shown = kinds()[["memory_type", "gpu", "pin_bandwidth", "bandwidth", "off", "bus_bits", "pin_rate", "device", "devices",
                     "one", "year", "marketed_bytes"]]
    return table(shown, "Kinds of memory, each on a card that has it",
                 labels={"memory_type": "memory", "gpu": "card", "device": "comes as a", "devices": "of them", "bus_bits": "pins",
                         "pin_rate": "a pin", "one": "from one", "pin_bandwidth": "bandwidth, by the formula",
                         "bandwidth": "data sheet", "marketed_bytes": "size as sold"},
                 formats={"pin_rate": lambda rate: f"{rate / 1e9:.4g} Gb/s", "one": byte_rate,
                          "off": difference, "marketed_bytes": in_bytes,
                          "year": "{:.0f}".format, "devices": "{:.0f}".format})


def levels(gpu="H100 SXM 80GB"):
    """Levels of memory that a card reaches, each with its size, bandwidth and latency; a size nobody sets is blank."""
    frame, card = catalogue.memories().query("gpu == @gpu").reset_index(), catalogue.gpu(gpu)
    rows = [row | _sized(row, card) for row in frame.to_dict("records")]
    return DataFrame(rows)


def _sized(row, card):
    if row["unit_bytes"] == row["unit_bytes"]:
        return {"level_bytes": all_units_bytes(card.units, row["unit_bytes"]),
                "level_bandwidth": all_units_bandwidth(card.units, card.clock, row["unit_clock_bytes"])}
    others = card.reach - 1 if row["level"] == "peers" else 1
    size, rate = (None if name is None else card[name] for name in _FROM_CARD.get(row["level"], (None, None)))
    return {column: given * (others if column == "level_bytes" else 1)
            for column, given in (("level_bytes", size), ("level_bandwidth", rate)) if isna(row[column]) and given is not None}


def passes(model, gpu="H100 SXM 80GB", weight_format="BF16"):
    """`levels` with the time in which a model's weights pass from each once, and how often a second."""
    case = Case(model=model, weight_format=weight_format)
    frame, size = levels(gpu), case(quantized_weight_bytes)
    seconds = level_read_seconds(size, frame["level_bandwidth"])
    return frame.assign(level_read_seconds=seconds, per_second=1 / seconds, holds=frame["level_bytes"] / size)


def level_table(model, gpu, weight_format):
    """`passes` as the page shows them."""
    frame = passes(model, gpu, weight_format)
    shown = frame[["memory", "place", "level_bytes", "level_bandwidth", "latency", "level_read_seconds", "per_second", "holds"]]
    return table(shown, f"Levels of memory around one {gpu}, and {model} in {weight_format} passing once from each",
                 labels={"memory": "level", "place": "where", "level_bytes": "size", "level_bandwidth": "bandwidth",
                         "latency": "latency", "level_read_seconds": "one pass", "per_second": "passes a second",
                         "holds": "holds of the model"},
                 formats={"level_bytes": in_bytes, "latency": short,
                          "per_second": lambda value: number(float(f"{value:.3g}")),
                          "holds": lambda share: percent(share) if share < 1 else "all"})


def unit_table():
    """Memory on the chip by generation: of one multiprocessor, of all, and the last level of cache."""
    frame, cards = catalogue.generations().reset_index(), catalogue.gpus()
    frame = frame[frame["gpu"].isin(cards.index) & frame["unit_register_bytes"].notna()]
    frame = frame.assign(**{name: list(cards.loc[frame["gpu"], name]) for name in ("units", "l2_bytes")})
    frame = frame.assign(registers=all_units_bytes(frame["units"], frame["unit_register_bytes"]),
                         first=all_units_bytes(frame["units"], frame["unit_cache_bytes"]))
    kib = dict.fromkeys(("unit_register_bytes", "unit_cache_bytes"), lambda value: f"{value / 1024:.0f} KiB")
    mib = dict.fromkeys(("registers", "first", "l2_bytes"), lambda value: f"{value / 2**20:.3g} MiB")
    shown = frame[["generation", "gpu", "units", "unit_register_bytes", "unit_cache_bytes", "registers", "first", "l2_bytes"]]
    return table(shown, "Memory on the chip by generation",
                 labels={"gpu": "card", "units": "units", "unit_register_bytes": "registers of one",
                         "unit_cache_bytes": "L1 of one", "registers": "registers of all", "first": "L1 of all",
                         "l2_bytes": "last cache"}, formats=kib | mib)


# The levels of memory to scale: how much each holds and how fast it gives it, on log scales and, of three, by area.

_MEMORY_COLORS = {"registers": "d", "L1": "b", "L2": "e", "device": "a", "peers": "g", "host": "c", "disk": "f", "network": "h"}
_MEMORY_LEFT, _WIDE, _STEP = 4, 236, 46


def ladder_picture(model, gpu, weight_format):
    """Each level as two bars on log scales: bandwidth, in its color, and size, pale; with the time of one pass of the model."""
    frame = passes(model, gpu, weight_format)
    sheet = Sheet(40 + _STEP * len(frame))
    rates, sizes = frame["level_bandwidth"], frame["level_bytes"].dropna()
    sheet.words(_MEMORY_LEFT, 14, ("bandwidth", "a"), " and size: each on a log scale", size=12)
    sheet.text(396, 14, "one pass", "end", size=12)
    for place, row in enumerate(frame.itertuples()):
        down, color = 34 + _STEP * place, _MEMORY_COLORS[row.level]
        sheet.text(_MEMORY_LEFT, down + 2, row.memory, bold=True, color=color)
        sheet.text(396, down + 17, number(row.level_read_seconds, "second"), "end", bold=True)
        long = _log(row.level_bandwidth, rates)
        sheet.box(_MEMORY_LEFT, down + 7, long, 12, color, round=2)
        sheet.text(_MEMORY_LEFT + long + 5, down + 17, number(row.level_bandwidth, "byte/second"), size=11)
        if row.level_bytes == row.level_bytes:
            long = _log(row.level_bytes, sizes)
            sheet.box(_MEMORY_LEFT, down + 21, long, 9, "wash", "line", 2)
            sheet.text(_MEMORY_LEFT + long + 5, down + 30, number(row.level_bytes, "byte"), size=11, color="soft")
    first, last = frame.iloc[0], frame.iloc[-1]
    said = "; ".join(f"{row.memory} {number(row.level_bandwidth, 'byte/second')}, one pass "
                     f"{number(row.level_read_seconds, 'second')}" for row in frame.itertuples())
    faster = first["level_bandwidth"] / last["level_bandwidth"]
    return sheet.picture(f"From {last['memory']} to {first['memory']} the bandwidth rises {times(faster)}",
                         f"Bars on log scales. {said}.")


def _log(value, values):
    """The length of a bar: a tenth for the least value, the whole width for the most."""
    low, high = math.log(values.min()), math.log(values.max())
    return _WIDE * (0.1 + 0.9 * (math.log(value) - low) / (high - low))


def area_picture(gpu="H100 SXM 80GB"):
    """Sizes of what is on the chip beside the card's memory, by area."""
    frame = levels(gpu).set_index("level")["level_bytes"]
    whole, sheet, at = frame["device"], Sheet(236), 266.0
    side = 200.0
    sheet.box(4, 26, side, side, _MEMORY_COLORS["device"]).text(12, 46, "HBM", color="paper", bold=True)
    sheet.text(12, 64, number(whole, "byte"), color="paper").text(4, 16, "area to scale", size=12, color="soft")
    for place, (name, title) in enumerate((("L2", "L2"), ("L1", "shared memory and L1"), ("registers", "registers"))):
        edge = side * (frame[name] / whole) ** 0.5
        down = 58 + 56 * place
        color = _MEMORY_COLORS[name]
        sheet.box(224, down, edge, edge, color, round=0).text(at - 26, down + 6, title, bold=True, color=color)
        sheet.text(at - 26, down + 23, number(frame[name], "byte"), size=12)
    held = frame[["L2", "L1", "registers"]].sum()
    return sheet.picture(f"All memory on the chip of {gpu} together is one part in {whole / held:,.0f} of the memory beside it",
                         f"Squares whose areas are the sizes: HBM {number(whole, 'byte')}, L2 {number(frame['L2'], 'byte')}, "
                         f"shared memory and L1 {number(frame['L1'], 'byte')}, registers {number(frame['registers'], 'byte')}; "
                         f"latencies {short(levels(gpu)['latency'].iloc[0])} to {short(levels(gpu)['latency'].iloc[3])}.")


# The page of a card that is not out yet: the file that it takes, what is asked for, and what the formulas say of it


FILE = "mygpus.csv"
_NEW_WIDE = 78
# What a file must have where no card is like the new one, and what is worth more: the column and the unit it is written in.
NEEDED = {"memory_bytes": "byte", "bandwidth": "byte/second", "peak_flops": "FLOP/second", "link": None, "units": ""}
# What stands beside other cards, and its column.
SHEET = {"status": "status", "memory": "memory_bytes", "bandwidth": "bandwidth", "peak in 16 bits": "peak_flops",
         "in 8 bits": "fp8_flops", "in 4 bits": "fp4_flops", "link, one way": "link_bandwidth", "ridge point": "ridge_point"}
MORE = {"fp8_flops": "FLOP/second", "fp4_flops": "FLOP/second", "tdp_watts": "watt", "host_bandwidth": "byte/second"}


def row_of(gpu, columns, **beside):
    """A file with one row: the card's cells of these columns as a reader would write them, blanks left out, and others."""
    row = catalogue.gpu(gpu)
    cells = {name: number(row[name], unit).replace(",", "") if unit else str(row[name])
             for name, unit in columns.items() if row[name] == row[name]}
    cells = {"gpu": gpu} | cells | {name: str(value) for name, value in beside.items()}
    return "\n".join([",".join(cells), ",".join(cells.values())])


def as_read(text, gpu):
    """The card of such a file as the book reads it, as if it had no row of that name; else what it asks for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_text(text, encoding="utf-8")
        try:
            return own_gpus(str(path), {name: row for name, row in rows("gpus").items() if name != gpu})[gpu], ""
        except ValueError as error:
            return None, str(error)


def shown(*texts):
    """Files and messages, each in a block of its own; a long line of a message goes on below."""
    return Markdown("\n\n".join(f"```text\n{chr(10).join(map(_wrapped, text.splitlines()))}\n```" for text in texts))


def _wrapped(line):
    return textwrap.fill(line, _NEW_WIDE, subsequent_indent="    ") if "; " in line else line


def asked(gpu):
    """A file with two figures of the card and what the book answers."""
    text = row_of(gpu, {name: NEEDED[name] for name in ("memory_bytes", "bandwidth")})
    return shown(text, as_read(text, gpu)[1])


def whole(gpu):
    """A file with all that the book must have of the card, and more."""
    return shown(row_of(gpu, NEEDED | MORE, status="announced"))


def like_of(gpu, like):
    """A file with two figures of the card and the one it is like, and what it then takes from that one."""
    text = row_of(gpu, {name: NEEDED[name] for name in ("memory_bytes", "bandwidth")}, like=like)
    record, _ = as_read(text, gpu)
    taken = f"peak_flops {record['peak_flops']:g}, link {record['link']}, units {record['units']:g}"
    return shown(text, f"{record['note']}; {taken} and so on")


def beside(frame, gpus, caption):
    """Cards side by side: what their rows hold, where compute begins to limit, and the largest models."""
    named = SHEET | {f"largest model in {name.removeprefix('largest_')}, parameters": name
                     for name in frame if name.startswith("largest_")}
    cells = {gpu: [_cell(frame.at[gpu, name], name) for name in named.values()] for gpu in dict.fromkeys(gpus)}
    labels = {"what": "by the data sheet"} | {gpu: gpu for gpu in cells}
    return table(pd.DataFrame({"what": list(named)} | cells), caption, labels)


def _cell(value, name):
    if value != value or isinstance(value, str):
        return value if isinstance(value, str) else None
    return number(value, QUANTITIES[name].unit if name in QUANTITIES else "")


# What `wins` knows of a load: of the card, then of the cheapest that is rented.
_WINS = "load plan low high cheapest provider row date rent cost plan_rent low_rent high_rent".split()


def wins(frame, gpu, loads):
    """Of each load the card's tokens/s with the ends of eight in ten, the cheapest that is rented, and the rent that matches it.

    Blank where the card does not hold the load; without a firm rent there is no cheapest, and no rent to match.
    """
    found = []
    for name, (low, high) in spread(loads).items():
        speed = frame.at[gpu, name]
        others = frame[frame[name].notna() & frame["usd_per_hour"].notna()].drop(gpu, errors="ignore")
        found.append(dict(load=name, plan=speed, low=low * speed, high=high * speed))
        if speed == speed and len(others):
            found[-1] |= _cheapest(others, name)
            row = found[-1]
            row |= {f"{end}_rent": matching_usd_per_hour(row["cost"], row[end]) for end in ("plan", "low", "high")}
    return pd.DataFrame(found, columns=_WINS)


def _cheapest(others, name):
    costs = Case(others.assign(tokens_per_second=others[name]), replica_gpus=1)(usd_per_million_tokens)
    best = others.loc[costs.idxmin()]
    return dict(cheapest=best.name, provider=best["rented_from"], row=best["rent_row"], date=best["rent_date"],
                rent=best["usd_per_hour"], cost=costs.min())


def wins_table(found, caption):
    """The table of `wins`."""
    names = [f"{row.cheapest}, {hourly(row.rent)} from {row.provider}" if row.cost == row.cost else None
             for row in found.itertuples()]
    wide = found[["load", "plan"]].assign(
        ends=_ends(found, "low", "high"), plan_rent=found["plan_rent"], rents=_ends(found, "low_rent", "high_rent"),
        cost=found["cost"], cheapest=names, row=found["row"], date=found["date"])
    labels = dict(load="load on one card", plan="tokens/s, plan for", ends="8 in 10", cheapest="today's cheapest",
                  plan_rent="rent that matches today's cheapest", rents="8 in 10, USD/h", cost="cost of a million tokens there",
                  date="date of its rent")
    priced = by_price(wide) if found["row"].notna().all() else wide
    return table(priced.drop(columns="row"), caption, labels, dict(plan=three_figures, plan_rent=hourly, cost=usd))


def _ends(found, low, high):
    return [f"{three_figures(row[low])} to {three_figures(row[high])}" if row[low] == row[low] else None
            for row in found.to_dict("records")]


def group(gpu):
    """What all cards that the link joins have together: how many, and their memory, bandwidth and peaks by name."""
    case = Case(gpu=gpu, gpus=catalogue.gpu(gpu).reach)
    laws = dict(memory=nodes.node_memory_bytes, bandwidth=nodes.node_bandwidth, flops=nodes.node_flops)
    return {"gpus": catalogue.gpu(gpu).reach} | {name: case(law) for name, law in laws.items()}
