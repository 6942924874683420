"""Where data may live: which store of a provider keeps it, what it costs by tier, and what it costs to leave.

A provider's store is the cheapest that serves data which is read all the time: object, file or block storage, never a cold one.
Its egress is that of this store, else the provider's for all. The order of a book's rows changes nothing.
"""
import math

import numpy as np
import pandas as pd

from gpucalc.core.arithmetic import BYTES_PER_GB
from gpucalc.laws.total_cost import egress_tier_usd, storage_tier_usd
from gpucalc.rows.ages import firm
from gpucalc.rows.price_book import MissingPrice, cheapest_first, price_row
from gpucalc.rows.selections import selection

EDGES = ["from_bytes", "to_bytes"]


@selection
def stores(book):
    """Each provider's store, by provider: the row of its first tier, whose key is `row`, and whether its price is `firm`."""
    first = _first_tiers(book)
    found = _whole(book.iloc[[first[name][-1] for name in sorted(first)]]).reset_index()
    return found.assign(firm=lambda rows: firm(rows)).set_index("provider")


def _first_tiers(book):
    """SKU, region and the place in the book of the first tier of each provider's store, by provider."""
    rows = [(price, sku, region, provider, place) for place, provider, sku, region, price, _, includes, start
            in _read(book, "storage") if includes != "cold" and start == 0]
    first = {}
    for _, sku, region, provider, place in sorted(rows):
        first.setdefault(provider, (sku, region, place))
    return first


def services(book, item):
    """Where in the book the tiers of each provider's `storage` or `egress` are, by provider: of its store, the first tier first.

    Egress is that of the store, else that of all the provider sells; of several the one whose highest price is lowest.
    """
    held, parts, found = _first_tiers(book), {}, {}
    for place, provider, sku, region, price, instance, _, start in _read(book, item):
        store = held.get(provider, (None, None))
        far = (instance != store[0]) + (instance not in (store[0], "")) if item == "egress" else (sku, region) != store[:2]
        if item == "egress" or not far:
            parts.setdefault((provider, far, sku, region), []).append((start, place, price))

    def order(key):
        prices = sorted((price for *_, price in parts[key]), reverse=True)
        return key[1], prices[0], prices[::-1], key
    for key in sorted(parts, key=order):
        found.setdefault(key[0], [place for _, place, _ in sorted(parts[key])])
    return found


def _read(book, item):
    """The rows of an item: where each is in the book, what tells it from others, and its first edge, 0 where it has none."""
    places = np.flatnonzero(book["item"] == item)
    columns = [book[name].to_numpy()[places] for name in ("provider", "sku", "region", "price", "instance", "includes")]
    return zip(places, *columns, book["from_bytes"].fillna(0).to_numpy()[places])


@selection
def storage_tiers(book, provider, usd_per_gb_month=None):
    """Tiers of the provider's store, by the names the laws know; or one price for every byte."""
    return _tiers(book, "storage", provider, "usd_per_gb_month", usd_per_gb_month)


@selection
def egress_tiers(book, provider, usd_per_gb=None):
    """Egress tiers of the provider's store, by the names the laws know; or one price for every byte."""
    return _tiers(book, "egress", provider, "usd_per_gb", usd_per_gb)


@selection
def every_tier(book, item):
    """Tiers of every provider's `storage` or `egress`, by provider: a line of both edges and the price for each."""
    rows = _whole(book[[*EDGES, "price"]]).to_numpy()
    return {name: rows[places] for name, places in services(book, item).items()}


def tiers_at(held, providers):
    """Of `every_tier` those at a column of providers: both edges and the price of each as columns. What one lacks is free."""
    most = max(map(len, held.values()), default=0)
    free = np.tile([0.0, math.inf, 0.0], (most, 1))
    whole = {name: np.concatenate([tiers, free[len(tiers):]]) for name, tiers in held.items()}
    every = np.reshape([whole.get(name, free) for name in providers], (len(providers), most, 3))
    return [[pd.Series(every[:, tier, part], providers.index) for part in range(3)] for tier in range(most)]


def stored_usd(tiers, kept_bytes, months):
    """Storage over all tiers (USD); bytes and months may be columns."""
    return sum(storage_tier_usd(kept_bytes, *tier, months) for tier in _each(tiers))


def tiered_usd(tiers, egress_bytes, egress_months=1):
    """Egress over all tiers (USD), for bytes that leave in equal parts over months; both may be columns."""
    return sum(egress_tier_usd(egress_bytes, *tier, egress_months) for tier in _each(tiers))


def last_usd_per_gb(tiers, corpus_bytes, runs, months):
    """Egress price of the last gigabytes that runs pull: of all beyond the first pull, or of a single one (USD/GB)."""
    if not corpus_bytes:
        return 0.0
    once = tiered_usd(tiers, corpus_bytes)
    more = tiered_usd(tiers, corpus_bytes * runs, max(1, math.ceil(months))) - once
    return (more / (corpus_bytes * (runs - 1)) if runs > 1 else once / corpus_bytes) * BYTES_PER_GB


@selection
def rows_of(book, item, provider):
    """The rows behind a provider's storage or egress, for a case, a table of sources or a date."""
    found = services(book, item)
    if provider not in found:
        known = ", ".join(sorted(set(book[book["item"] == item]["provider"]))) or "none"
        parameter = {"storage": "usd_per_gb_month", "egress": "usd_per_gb"}[item]
        raise MissingPrice(f"{book.attrs['file']}: no {item} price of {provider!r}; allowed: {known}; or give the parameter "
                           f"{parameter}")
    return book.iloc[found[provider]]


@selection
def first_price(book, item, provider):
    """The first tier of a provider's storage or egress, as a row for a case."""
    return price_row(rows_of(book, item, provider).iloc[0])


@selection
def storage_input(book, data_at, stored_bytes, usd_per_gb_month, storage_usd):
    """What a case takes for storage at home: nothing beside a given price, the store's price if one tier holds all."""
    if usd_per_gb_month is not None:
        return {}
    tiers = storage_tiers(book, data_at)
    within = stored_bytes <= tiers["to_bytes"].iloc[0]
    return {"usd_per_gb_month": first_price(book, "storage", data_at)} if within else {"storage_usd": storage_usd}


@selection
def behind(book, data_at, usd_per_gb=None, usd_per_gb_month=None):
    """Rows of the book that storage and egress of a bill rest on."""
    given = {"egress": usd_per_gb, "storage": usd_per_gb_month}
    return [rows_of(book, item, data_at) for item, price in given.items() if price is None]


@selection
def homes(book):
    """The providers that price both storage and egress, those first that the reader prices, then by the number of offers."""
    both = sorted(set(_first_tiers(book)) & set(book[book["item"] == "egress"]["provider"]))
    own, known = book[book["yours"]]["provider"].value_counts(), book["provider"].value_counts()
    return sorted(both, key=lambda name: (-own.get(name, 0), -known[name]))


@selection
def home(book, data_at=None):
    """Where the data is: as given, else the first of `homes`. Raises MissingPrice where there is none."""
    if data_at is not None:
        return data_at
    found = homes(book)
    if not found:
        raise MissingPrice(f"{book.attrs['file']}: no provider with both storage and egress prices; give the parameters data_at, "
                           "usd_per_gb and usd_per_gb_month")
    return found[0]


@selection
def ends(book):
    """The providers whose stores are the cheapest and the most expensive of the book; None where it has no store."""
    prices = stores(book)["price"]
    return None if prices.empty else (prices.idxmin(), prices.idxmax())


@selection
def doubts(book, data_at, usd_per_gb=None):
    """Egress rows behind a bill that are not firm: recalled, secondary or the lowest of several."""
    rows = book.head(0) if usd_per_gb is not None else rows_of(book, "egress", data_at)
    return rows[~firm(rows)]


@selection
def cheapest_gear(book):
    """The cheapest storage to buy, as a row for a case, or None."""
    found = book[book["item"] == "storage-gear"]
    return None if found.empty else price_row(cheapest_first(found).iloc[0])


def _whole(rows):
    """Rows with their edges: one without is a tier from nothing to no end."""
    return rows.fillna({"from_bytes": 0, "to_bytes": math.inf})


def _tiers(book, item, provider, name, price):
    if price is not None:
        return pd.DataFrame({"from_bytes": [0.0], "to_bytes": [math.inf], name: [price]})
    return _whole(rows_of(book, item, provider)[[*EDGES, "price"]]).rename(columns={"price": name})


def _each(tiers):
    return tiers.itertuples(index=False, name=None) if isinstance(tiers, pd.DataFrame) else tiers
