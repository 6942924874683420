"""Where data may live: which store of a provider keeps it, what it costs by tier, and what it costs to leave.

A provider's store is the cheapest that serves data which is read all the time: object, file or block storage, never a cold one.
Its egress is that of this store, else the provider's for all. The order of a book's rows changes nothing.
"""
import math

import pandas as pd

from ..core.arithmetic import BYTES_PER_GB
from ..laws.total_cost import egress_tier_usd, storage_tier_usd
from ..rows.ages import firm
from ..rows.price_book import MissingPrice, cheapest_first, price_row

EDGES = ["from_bytes", "to_bytes"]


def stores(book):
    """Each provider's store, by provider: the row of its first tier, whose key is `row`, and whether its price is `firm`."""
    found = _whole(book[(book["item"] == "storage") & (book["includes"] != "cold")])
    first = found[found["from_bytes"] == 0].reset_index().assign(firm=lambda rows: firm(rows))
    return first.sort_values(["price", "sku", "region"]).drop_duplicates("provider").set_index("provider").sort_index()


def storage_tiers(book, provider, usd_per_gb_month=None):
    """Tiers of the provider's store, by the names the laws know; or one price for every byte."""
    if usd_per_gb_month is not None:
        return _flat("usd_per_gb_month", usd_per_gb_month)
    return _tiers(rows_of(book, "storage", provider), "usd_per_gb_month")


def tiers_of_stores(book):
    """Tiers of every provider's store, by provider."""
    held, rows = stores(book), book[book["item"] == "storage"]
    parts = dict(list(rows.groupby(["provider", "sku", "region"])))
    return {row.Index: _tiers(parts[row.Index, row.sku, row.region], "usd_per_gb_month") for row in held.itertuples()}


def egress_tiers(book, provider, usd_per_gb=None):
    """Egress tiers of the provider's store in the book, by the names the laws know; or one price for every byte."""
    return _flat("usd_per_gb", usd_per_gb) if usd_per_gb is not None else _tiers(_leaving(book, provider), "usd_per_gb")


def stored_usd(tiers, kept_bytes, months):
    """Storage over all tiers (USD); bytes and months may be columns."""
    return sum(storage_tier_usd(kept_bytes, *tier, months) for tier in tiers.itertuples(index=False, name=None))


def tiered_usd(tiers, egress_bytes, egress_months=1):
    """Egress over all tiers (USD), for bytes that leave in equal parts over months; both may be columns."""
    return sum(egress_tier_usd(egress_bytes, *tier, egress_months) for tier in tiers.itertuples(index=False, name=None))


def last_usd_per_gb(tiers, corpus_bytes, runs, months):
    """Egress price of the last gigabytes that runs pull: of all beyond the first pull, or of a single one (USD/GB)."""
    if not corpus_bytes:
        return 0.0
    once = tiered_usd(tiers, corpus_bytes)
    more = tiered_usd(tiers, corpus_bytes * runs, max(1, math.ceil(months))) - once
    return (more / (corpus_bytes * (runs - 1)) if runs > 1 else once / corpus_bytes) * BYTES_PER_GB


def rows_of(book, item, provider):
    """The rows behind a provider's storage or egress, for a case, a table of sources or a date."""
    if item == "egress":
        return _leaving(book, provider)
    held = stores(book)
    if provider not in held.index:
        raise _missing(book, "storage", provider, "usd_per_gb_month")
    rows = book[(book["item"] == "storage") & (book["provider"] == provider)]
    return rows[(rows["sku"] == held["sku"][provider]) & (rows["region"] == held["region"][provider])]


def first_price(book, item, provider):
    """The first tier of a provider's storage or egress, as a row for a case."""
    return price_row(rows_of(book, item, provider).sort_values("from_bytes", kind="stable").iloc[0])


def storage_input(book, data_at, stored_bytes, usd_per_gb_month, storage_usd):
    """What a case takes for storage at home: nothing beside a given price, the store's price if one tier holds all."""
    if usd_per_gb_month is not None:
        return {}
    tiers = storage_tiers(book, data_at)
    within = stored_bytes <= tiers["to_bytes"].iloc[0]
    return {"usd_per_gb_month": first_price(book, "storage", data_at)} if within else {"storage_usd": storage_usd}


def behind(book, data_at, usd_per_gb=None, usd_per_gb_month=None):
    """Rows of the book that storage and egress of a bill rest on."""
    given = {"egress": usd_per_gb, "storage": usd_per_gb_month}
    return [rows_of(book, item, data_at) for item, price in given.items() if price is None]


def homes(book):
    """The providers that price both storage and egress, those first that the reader prices, then by the number of offers."""
    both = sorted(set(stores(book).index) & set(book[book["item"] == "egress"]["provider"]))
    own, known = book[book["yours"]]["provider"].value_counts(), book["provider"].value_counts()
    return sorted(both, key=lambda name: (-own.get(name, 0), -known[name]))


def home(book, data_at=None):
    """Where the data is: as given, else the first of `homes`. Raises MissingPrice where there is none."""
    if data_at is not None:
        return data_at
    found = homes(book)
    if not found:
        raise MissingPrice(f"{book.attrs['file']}: no provider with both storage and egress prices; give the parameters data_at, "
                           "usd_per_gb and usd_per_gb_month")
    return found[0]


def ends(book):
    """The providers whose stores are the cheapest and the most expensive of the book; None where it has no store."""
    prices = stores(book)["price"]
    return None if prices.empty else (prices.idxmin(), prices.idxmax())


def doubts(book, data_at, usd_per_gb=None):
    """Egress rows behind a bill that are not firm: recalled, secondary or the lowest of several."""
    rows = book.head(0) if usd_per_gb is not None else _leaving(book, data_at)
    return rows[~firm(rows)]


def cheapest_gear(book):
    """The cheapest storage to buy, as a row for a case, or None."""
    found = book[book["item"] == "storage-gear"]
    return None if found.empty else price_row(cheapest_first(found).iloc[0])


def _leaving(book, provider):
    """Egress rows of the provider: of its store, else of all it sells; of several the one whose highest price is lowest."""
    rows = book[(book["item"] == "egress") & (book["provider"] == provider)]
    if rows.empty:
        raise _missing(book, "egress", provider, "usd_per_gb")
    held = stores(book)
    store = held["sku"][provider] if provider in held.index else None
    rows = next(found for found in (rows[rows["instance"] == store], rows[rows["instance"] == ""], rows) if len(found))
    services = [part for _, part in rows.groupby(["sku", "region"])]
    return min(services, key=lambda part: (part["price"].max(), sorted(part["price"])))


def _whole(rows):
    """Rows with their edges: one without is a tier from nothing to no end."""
    return rows.fillna({"from_bytes": 0, "to_bytes": math.inf})


def _tiers(rows, name):
    return _whole(rows).sort_values("from_bytes", kind="stable").rename(columns={"price": name})[[*EDGES, name]]


def _flat(name, price):
    return pd.DataFrame({"from_bytes": [0.0], "to_bytes": [math.inf], name: [price]})


def _missing(book, item, provider, parameter):
    known = ", ".join(sorted(set(book[book["item"] == item]["provider"]))) or "none"
    return MissingPrice(f"{book.attrs['file']}: no {item} price of {provider!r}; allowed: {known}; or give the parameter "
                        f"{parameter}")
