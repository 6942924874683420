"""The page of every card: its table, its slices, and who comes first for a dollar."""
import html
from urllib.parse import quote

import pandas as pd

from gpucalc.core.figures import gib, hourly, number, seconds, three_figures
from gpucalc.rows.ages import not_yours
from gpucalc.rows.price_book import price_row
from gpucalc.rows.selections import selection
from gpucalc.rows.tables import plain_row
from ..components.catalogue_table import catalogue_table
from ..components.dates import dated
from ..components.sentences import Markdown
from ..components.show import Html, sources, table
from . import cards_plan as cards

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
    "Allowed": ["license", "ecc", "compute_capability", "mig_instances"],
    "Holds": [f"largest_{name}" for name in cards.SIZES],
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
    "ecc": "ECC", "largest_BF16": "largest, BF16", "largest_FP8": "largest, FP8", "largest_INT4-g128": "largest, 4 bits",
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
        ecc=frame["ecc"].map({1: "yes", 0: "no"}), rented_from=_owned(frame, "rented_from", "rent_row", book),
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
    found = cards.most(frame, column).head(count)
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
