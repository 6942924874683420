"""What the page needs to read what a reader pastes, for JSON: rules of architectures, names as people write them, usual rents."""
from typing import TYPE_CHECKING, Any

from gpucalc.rows import names
from gpucalc.rows.config import TEXT_COLUMNS, architectures
from gpucalc.rows.intake import NOT_STATED, OWN_PROVIDER, PER_GPU, SYMBOLS, WHOLE
from gpucalc.rows.intake import base_of, by_the_gpu, larger_machines, newest_book
from gpucalc.rows.price_checks import ITEMS, MOST_GPUS, RESERVED_YEARS
from gpucalc.rows.tables import TABLES, rows

if TYPE_CHECKING:
    from pandas import DataFrame


def reading(book: "DataFrame | None" = None) -> dict[str, Any]:
    """What book/static/read.js and read_rents.js read by, `gpucalc.reading`; rents are compared with `book`, else the newest."""
    return {"configs": configs(), "rents": rents(newest_book() if book is None else book)}


def configs() -> dict[str, Any]:
    """data/architectures.json without its reasons, and the columns of a model."""
    schema = TABLES["models"]
    known = {name: held for name, held in architectures().items() if name not in ("about", "source")}
    for kind in ("parts", "architectures"):
        known[kind] = {name: {key: rule for key, rule in rules.items() if key != "why"} for name, rules in known[kind].items()}
    return known | {"columns": [column for column in schema.columns if column != schema.key], "texts": TEXT_COLUMNS}


def rents(book: "DataFrame") -> dict[str, Any]:
    """What names are known by, what a rent may be (USD/h for one GPU), the larger machines of one that is billed by the GPU, and
    the book's rents."""
    item, sizes = ITEMS["rent"], base_of(book).sizes
    larger = {gpu: larger_machines(gpu, sizes) for gpu in rows("gpus")}
    return names.held() | {
        "items": {"rent": {"terms": item.terms, "unit": item.unit, "low": item.low, "high": item.high}},
        "symbols": SYMBOLS, "per_gpu": PER_GPU, "whole": WHOLE, "reserved_years": RESERVED_YEARS,
        "most_gpus": MOST_GPUS, "provider": OWN_PROVIDER, "region": NOT_STATED, "larger": larger,
        "by_the_gpu": {",".join(map(str, each)): by_the_gpu(each) for each in larger.values()}, "prices": _hours(book)}


def _hours(book):
    """The rents of a GPU, the cheapest first (USD/h for one), by GPU and term."""
    found = book[book["item"] == "rent"].groupby(["gpu", "term"])["usd_per_hour"]
    hours: dict[str, dict[str, list[float]]] = {}
    for (gpu, term), prices in found:
        hours.setdefault(gpu, {})[term] = [float(f"{price:.6g}") for price in sorted(prices)]
    return hours
