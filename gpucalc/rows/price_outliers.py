"""Prices that look odd beside those of the newest book: they are read, and asked about."""
import bisect
import functools
import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..core.figures import three_figures
from .price_checks import ITEMS

if TYPE_CHECKING:
    from pandas import DataFrame

# Shares of the median within which a price of a GPU is not asked about; and of the lowest and highest of other things.
LOW, HIGH = 0.4, 2.5
_FAR = 10


def standings(own: "DataFrame", base: "DataFrame") -> Iterator[str]:
    """Where each rent of the reader's stands among the newest book's of the GPU on the term, the cheapest first."""
    rents = base[base["item"] == "rent"].groupby(["gpu", "term"])["usd_per_hour"]
    held = {offer: sorted(prices) for offer, prices in rents}
    for number, row in own[own["item"] == "rent"].iterrows():
        prices = held.get((row["gpu"], row["term"]))
        if prices:
            price = row["price"] / row["gpus_per_server"]
            yield f"row {number}: {standing(price, row['gpu'], row['term'], prices)}"


def standing(price: float, gpu: str, term: str, prices: list[float]) -> str:
    """Where a rent stands among the sorted `prices` of a book, in words."""
    place, many = bisect.bisect_left(prices, price) + 1, len(prices)
    return (f"{_usd(price)} USD/h for one {gpu}, {term}, is number {place} of {many + 1} with the book's {many}, the cheapest "
            f"first; their median is {_usd(statistics.median(prices))}")


class Spread(NamedTuple):
    """How many prices there are, the lowest, the highest and the middle one."""

    offers: int
    low: float
    high: float
    median: float


def odd_prices(file: str, own: "DataFrame", base: "DataFrame") -> Iterator[str]:
    """A question for each price of the reader's that lies far from the newest book's of the same kind."""
    spread = functools.cache(functools.partial(spread_of, dict(list(base.groupby(["item", "gpu"])))))
    for number, row in zip(own.index, own.to_dict("records")):
        known = spread(row["item"], row["gpu"], row["term"])
        if known and row["item"] != "currency" and not row["item"].startswith("api-"):
            question = (_of_gpu if row["gpu"] else _of_item)(row, known)
            if question:
                yield f"{file}, row {number}: {question}"


def spread_of(groups: dict, item: str, gpu: str, term: str) -> Spread | None:
    """The prices of an item, of one GPU where it has GPUs: on the term if there are any, else on all."""
    if (item, gpu) not in groups:
        return None
    alike = groups[item, gpu]
    same = alike[alike["term"] == term]
    found = same if len(same) else alike
    each = found["price"] / (found["gpus_per_server"] if item in ("rent", "server") else 1)
    return Spread(len(each), each.min(), each.max(), each.median())


def _of_gpu(row, known):
    """The question on a rent, server or card, by the price of one GPU."""
    many = row["gpus_per_server"] if row["item"] != "card" else 1
    price, unit = row["price"] / many, ITEMS[row["item"]].unit
    if LOW * known.median <= price <= HIGH * known.median:
        return ""
    return (f"{_usd(price)} {unit} for one {row['gpu']}; the book's {known.offers} offers lie between {_usd(known.low)} and "
            f"{_usd(known.high)}, half of them below {_usd(known.median)}{_meant(row['price'], many, known.median, unit)}")


def _meant(price, many, median, unit):
    """Which slip would explain the price: one GPU's for the whole machine's, or the other way round."""
    if many > 1 and LOW * median <= price <= HIGH * median:
        return (f": is {_usd(price)} the price of one GPU in a row of {many:g}? Then write {_usd(price * many)}, or put it under "
                "usd_per_hour")
    for size in (8, 4, 2) if many == 1 else (many,):
        if LOW * median <= price / many / size <= HIGH * median:
            one = _usd(price / many / size)
            return f": is it the price of a whole machine of {size:g}? Then one GPU is {one} {unit}; write gpus and price"
    return ": is it right?"


def _of_item(row, known):
    if known.low / _FAR <= row["price"] <= known.high * _FAR:
        return ""
    return (f"{_usd(row['price'])} {ITEMS[row['item']].unit}; the book's {known.offers} prices lie between {_usd(known.low)} and "
            f"{_usd(known.high)}: is it right?")


def _usd(value):
    return three_figures(value) if value < 100 else f"{value:,.0f}"
