"""Cloud instances: what machines are called, what is in them, and what they cost."""
import re
from typing import Any, TYPE_CHECKING

from gpucalc.core.figures import number, percent
from gpucalc.laws import nodes as nd
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.catalogue import instances
from gpucalc.rows.kept import derivation, selection
from gpucalc.rows.rents import rents
from ..components.catalogue_table import catalogue_table
from ..components.dates import dated
from ..components.show import table
from .nodes import summed

if TYPE_CHECKING:
    from pandas import DataFrame


# What clouds call a machine, joined to a price book by provider and SKU.

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


# Tables of what clouds call a machine: every one with its prices, the families, what a commitment saves, and who names none.

GROUPS = {
    "Overview": ["provider", "gpu", "gpus", "on_demand_usd", "spot_usd", "reserved_usd", "price", "price_way"],
    "Prices": ["on_demand_usd", "spot_usd", "reserved_usd", "reserved_way", "price", "price_way", "price_date", "unpriced"],
    "GPUs": ["gpu", "gpus", "node_marketed_bytes", "node_bandwidth", "node_flops", "link", "link_bandwidth"],
    "Machine": ["vcpus", "host_memory_bytes", "local_storage_bytes", "machine_bandwidth"],
    "Family": ["provider", "family", "year", "purpose"],
    "Source": ["confidence", "date", "source", "note"]}
LABELS = {"gpu": "GPU", "gpus": "GPUs", "on_demand_usd": "GPU-hour, on demand", "spot_usd": "GPU-hour, spot",
          "reserved_usd": "GPU-hour, reserved", "reserved_way": "reserved how", "price": "whole machine",
          "price_way": "on this term",
          "price_date": "oldest price", "unpriced": "without a price", "node_marketed_bytes": "GPU memory", "vcpus": "vCPUs",
          "node_bandwidth": "memory bandwidth", "node_flops": "dense peak", "link_bandwidth": "link per GPU", "year": "since",
          "host_memory_bytes": "host memory", "local_storage_bytes": "local storage", "machine_bandwidth": "network, at most",
          "purpose": "what it is for"}


def _hourly(value):
    return number(value, "USD/hour")


def _bytes(value):
    return number(value, "byte")


FORMATS = {"on_demand_usd": _hourly, "spot_usd": _hourly, "reserved_usd": _hourly, "price": _hourly, "year": "{:.0f}".format,
           "gpus": "{:,.0f}".format, "vcpus": "{:,.0f}".format, "host_memory_bytes": _bytes, "local_storage_bytes": _bytes,
           "machine_bandwidth": lambda value: number(value, "byte/second")}
BETTER = {"on_demand_usd": "low", "spot_usd": "low", "reserved_usd": "low", "price": "low", "node_marketed_bytes": "high",
          "node_bandwidth": "high", "node_flops": "high", "vcpus": "high", "host_memory_bytes": "high",
          "machine_bandwidth": "high"}
_OF_CARD = ["marketed_bytes", "bandwidth", "peak_flops", "link", "link_bandwidth"]


@derivation
def all_instances(book):
    """Every machine with its prices in the book, its card's link and the sums over its cards; of a provider the newest first."""
    frame = priced(book).join(catalogue.gpus()[_OF_CARD], "gpu")
    for law in (nd.node_marketed_bytes, nd.node_bandwidth, nd.node_flops):
        frame[law.__name__] = summed(frame, law)
    newest = frame.assign(place=frame["provider"].map({name: place for place, name in enumerate(frame["provider"].unique())}),
                          unpriced=frame["unpriced"].where(frame["price"].isna(), ""))
    return newest.sort_values(["place", "year", "gpus"], ascending=[True, False, False], kind="stable").drop(columns="place")


def keys(frame):
    """The keys of the prices that a frame of machines shows."""
    return [key for way in WAYS for key in frame[f"{way}_row"] if key]


def instance_table(frame, book):
    """Every machine as the catalogue's table."""
    columns = dict.fromkeys(name for names in GROUPS.values() for name in names)
    return catalogue_table(frame.reset_index()[["machine", *columns]],
                           f"What clouds call a machine, with the cheapest GPU-hour; {dated(book, book.loc[keys(frame)])}",
                           GROUPS, BETTER, ("provider", "gpu", "gpus", "family"), LABELS, FORMATS, compare=True)


def machines(frame, gpu, gpus, provider=None):
    """The machines with that many of a card, at one provider or anywhere, the cheapest GPU-hour on demand first."""
    found = frame[(frame["gpu"] == gpu) & (frame["gpus"] == gpus)]
    found = found if provider is None else found[found["provider"] == provider]
    return found.sort_values(["on_demand_usd", "reserved_usd", "spot_usd"], na_position="last", kind="stable")


def machine_table(found, gpu, gpus, book):
    """The machines found, with what a GPU-hour of each costs."""
    columns = ["machine", "provider", "on_demand_usd", "spot_usd", "reserved_usd", "price", "price_way", "date"]
    return table(found.assign(date=found["price_date"])[columns],
                 f"Machines with {gpus} × {gpu}, the cheapest GPU-hour on demand first; {dated(book, book.loc[keys(found)])}",
                 LABELS | {"date": "oldest price"}, FORMATS)


def families(frame):
    """One row for each family of a provider: its cards, sizes, link, most network, cheapest GPU-hour, and what it is for."""
    from pandas import DataFrame
    rows = []
    for (provider, family), part in frame.groupby(["provider", "family"], sort=False):
        sizes = sorted({int(count) for count in part["gpus"]})
        rows.append(dict(provider=provider, family=family, year=int(part["year"].min()),
                         cards=", ".join(dict.fromkeys(part["gpu"])), sizes=", ".join(map(str, sizes)),
                         link=", ".join(dict.fromkeys(part["link"])), machine_bandwidth=part["machine_bandwidth"].max(),
                         on_demand_usd=part["on_demand_usd"].min(), purpose=part["purpose"].iloc[-1]))
    return DataFrame(rows)


def family_table(frame):
    """`families` as a page shows them."""
    found = families(frame)
    groups = {"Family": ["provider", "year", "cards", "sizes", "purpose"],
              "Links and price": ["link", "machine_bandwidth", "on_demand_usd"]}
    return catalogue_table(found[["family", *[name for names in groups.values() for name in names]]],
                           "Families of machines by provider", groups, {"on_demand_usd": "low", "machine_bandwidth": "high"},
                           ("provider",), LABELS | {"cards": "GPUs", "sizes": "how many"}, FORMATS)


def saved(frame):
    """Machines with a price on demand and one for a commitment: both, and the share that the commitment saves."""
    found = frame.dropna(subset=["on_demand_usd", "reserved_usd"])
    found = found.assign(saved=1 - found["reserved_usd"] / found["on_demand_usd"])
    return found.sort_values("saved", ascending=False, kind="stable")


def saved_table(frame, book):
    """`saved` as a page shows it."""
    found = saved(frame)
    columns = ["machine", "provider", "gpu", "on_demand_usd", "reserved_usd", "reserved_way", "saved"]
    return table(found[columns], f"What a commitment saves on a GPU-hour; {dated(book, book.loc[keys(found)])}",
                 LABELS | {"saved": "saved"}, FORMATS | {"saved": percent})


@selection
def nameless(book):
    """Providers that give their machines no name of their own: the cheapest GPU-hour of each card, on demand or on a market."""
    sold = rents(book, per="provider", required=False)
    if not len(sold):
        return sold
    sold = sold[sold["term"].isin(["on-demand", "marketplace"]) & ~sold["provider"].isin(catalogue.instances()["provider"])]
    return sold.sort_values(["provider", "usd_per_hour"]).reset_index()


@selection
def nameless_table(book):
    """`nameless` as a page shows it."""
    found = nameless(book)
    if not len(found):
        return table(found, "No other provider in this price book")
    shown = found.rename(columns={"usd_per_hour": "on_demand_usd", "date": "price_date"})
    return catalogue_table(shown[["provider", "gpu", "on_demand_usd", "sku", "price_date"]],
                           f"Providers that sell GPUs without names for machines; {dated(book, book.loc[found['row']])}",
                           {"Prices": ["gpu", "on_demand_usd", "sku", "price_date"]}, {"on_demand_usd": "low"}, ("gpu",),
                           LABELS | {"sku": "what it sells"}, FORMATS)
