"""What clouds call a machine, joined to a price book by provider and SKU."""
import re
from typing import TYPE_CHECKING, Any

from gpucalc.rows.ages import firm
from gpucalc.rows.catalogue import instances
from gpucalc.rows.rents import rents
from gpucalc.rows.selections import derivation

if TYPE_CHECKING:
    from pandas import DataFrame

# The terms of each way to pay that is compared; a managed service is another product.
WAYS = {"on_demand": ["on-demand"], "spot": ["spot"],
        "reserved": ["reserved-1y", "reserved-3y", "reserved", "capacity-block"]}
# What may stand behind a machine's name in an SKU: on what terms it is sold, or where its price was read.
_BEHIND = re.compile(r"| Capacity Block| \(.*\)|, .*")


@derivation
def offers(book: "DataFrame", machine: Any, terms: list[str] | None = None) -> "DataFrame":
    """The rents of a machine, a row of data/instances.csv, on some terms: the cheapest first, but firm ones before others.

    An SKU is the machine's if it is its name, or goes on behind it with the terms.
    """
    return _of(_sold(book), machine, terms)


def _sold(book):
    """All rents, firm ones first and then the cheapest."""
    found = rents(book, required=False)
    return found.assign(is_firm=firm(found)).sort_values("is_firm", ascending=False, kind="stable") if len(found) else found


def _of(sold, machine, terms=None):
    sku = machine["sku"] or machine["machine"]
    if not len(sold):
        return sold
    own = sold[sold["provider"] == machine["provider"]]
    own = own[[each.startswith(sku) and bool(_BEHIND.fullmatch(each[len(sku):])) for each in own["sku"]]] if len(own) else own
    return own if terms is None else own[own["term"].isin(terms)]


@derivation
def priced(book: "DataFrame") -> "DataFrame":
    """All machines with the cheapest GPU-hour by way to pay, its key in the book and its term; NaN and blanks without one.

    `price` is that of the whole machine for an hour, on demand if there is such a price, and `price_way` the term that it is on.
    """
    frame, sold = instances(), _sold(book)
    held = [_prices(sold, machine) for machine in frame.to_dict("records")]
    return frame.join(frame.from_records(held, frame.index))


def _prices(sold, machine):
    each = {way: _of(sold, machine, terms) for way, terms in WAYS.items()}
    best = {way: found.iloc[0] for way, found in each.items() if len(found)}
    chosen = next(iter(best.values()), None)
    found = {f"{way}_usd": best[way]["usd_per_hour"] if way in best else float("nan") for way in WAYS}
    found |= {f"{way}_row": best[way].name if way in best else "" for way in WAYS}
    found["reserved_way"] = best["reserved"]["term"] if "reserved" in best else ""
    if chosen is None:
        return found | dict(price=float("nan"), price_way="", price_date="")
    dates = sorted(str(row["date"]) for row in best.values())
    return found | dict(price=chosen["price"], price_way=chosen["term"], price_date=dates[0])
