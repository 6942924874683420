"""The bill of one workload at every provider of a price book that rents the GPU: what each part costs, and together."""
import math

import pandas as pd

from .explanation import evaluate
from .total_cost import copy_usd, egress_tier_usd, managed_usd, pulled_bytes, storage_usd, total_usd
from .training_cost import compute_usd

PARTS = ["compute_usd", "storage_usd", "copy_usd", "egress_usd", "managed_usd"]


def egress_tiers(book, provider, usd_per_gb=None):
    """Egress tiers of the provider's first service in the book, by the names the laws know; or one price for every byte."""
    if usd_per_gb is not None:
        return pd.DataFrame({"from_bytes": [0.0], "to_bytes": [math.inf], "usd_per_gb": [usd_per_gb]})
    tiers = book[(book["item"] == "egress") & (book["provider"] == provider)]
    if tiers.empty:
        raise _missing(book, "egress", provider, "usd_per_gb")
    tiers = tiers[(tiers["sku"] == tiers["sku"].iloc[0]) & (tiers["region"] == tiers["region"].iloc[0])]
    return tiers.rename(columns={"price": "usd_per_gb"})[["from_bytes", "to_bytes", "usd_per_gb"]]


def tiered_usd(tiers, egress_bytes, egress_months=1):
    """Egress over all tiers, for bytes that leave in equal parts over months."""
    return float(evaluate(egress_tier_usd, tiers, egress_bytes=float(egress_bytes), egress_months=egress_months).sum())


def storage(book):
    """Each provider's first storage row in the book, by provider."""
    return book[book["item"] == "storage"].drop_duplicates("provider").set_index("provider")


def dearest_storage(book):
    """Provider and price of the dearest of them (USD/GB-month)."""
    prices = storage(book)["price"]
    if prices.empty:
        raise ValueError(f"{book.attrs['file']}: no storage price; give the parameter copy_usd_per_gb_month")
    return prices.idxmax(), prices.max()


def rents(book, gpu, term="on-demand", providers=None):
    """Each provider's cheapest rent of the GPU; on demand also with the `premium` of its managed `service`, if there is one."""
    found = book[(book["item"] == "rent") & (book["gpu"] == gpu) & (book["term"] == term)]
    there = sorted(set(found["provider"]))
    for provider in providers or there[:1] or ["any provider"]:
        if provider not in there:
            names = ", ".join(there) or "none"
            raise ValueError(f"{book.attrs['file']}: {provider}: no {term} rent of {gpu}; allowed: {names}")
    found = found[found["provider"].isin(providers or there)].sort_values("usd_per_hour", kind="stable")
    plain = found.drop_duplicates("provider").assign(service="", premium=0.0).rename_axis("row").reset_index()
    managed = []
    for row in plain.to_dict("records") if term == "on-demand" else []:
        mark_up = managed_price(book, row["provider"], row["sku"], gpu)
        if mark_up is not None:
            managed.append({**row, "service": mark_up["sku"].split()[0], "premium": mark_up["price"]})
    columns = ["row", "provider", "service", "sku", "region", "usd_per_hour", "premium", "source", "date", "confidence"]
    return pd.concat([plain, pd.DataFrame(managed)], ignore_index=True)[columns]


def managed_price(book, provider, sku, gpu):
    """The row of the provider's managed mark-up, or None.

    That of the machine, else that of another machine with the GPU, else the one for all, whose sku is one word.
    """
    rows = book[(book["item"] == "managed") & (book["provider"] == provider)]
    machines = book[(book["item"] == "rent") & (book["provider"] == provider) & (book["gpu"] == gpu)]["sku"]
    named = rows["sku"].str.split().str[-1].str.removeprefix("ml.")
    found = pd.concat([rows[named == sku], rows[named.isin(machines)], rows[~rows["sku"].str.contains(" ")]])
    return found.iloc[0] if len(found) else None


def bills(book, rents, data_at, gpu_hours, runs, corpus_bytes, stored_bytes, months, cached=0, minimum_gpu_hours=0,
          usd_per_gb=None, usd_per_gb_month=None, copy_usd_per_gb_month=None):
    """The bill at each rent, cheapest first, every part to the cent.

    The data lives at `data_at` and is pulled from there, once in the first month or in equal parts every month. A copy is
    priced at the provider's own storage; where the book has none, at the dearest in the book, and `copy_estimated` says so.
    """
    stores = storage(book)["price"]
    if usd_per_gb_month is None and data_at not in stores:
        raise _missing(book, "storage", data_at, "usd_per_gb_month")
    home = stores[data_at] if usd_per_gb_month is None else usd_per_gb_month
    tiers, away = egress_tiers(book, data_at, usd_per_gb), rents["provider"] != data_at
    leaves = tiered_usd(tiers, pulled_bytes(corpus_bytes, runs, cached), 1 if cached else max(1, math.ceil(months)))
    own = rents["provider"].map(stores) if copy_usd_per_gb_month is None else pd.Series(copy_usd_per_gb_month, rents.index)
    stand_in = dearest_storage(book)[1] if own.isna().any() else 0
    copied = copy_usd(corpus_bytes, own.fillna(stand_in), months, cached)
    compute = compute_usd(gpu_hours, rents["usd_per_hour"], runs, minimum_gpu_hours).round(2)
    frame = rents.assign(
        compute_usd=compute, storage_usd=storage_usd(stored_bytes, home, months), egress_usd=leaves * away,
        copy_usd=copied * away, managed_usd=managed_usd(compute, rents["premium"])).round(dict.fromkeys(PARTS, 2))
    frame = frame.assign(total_usd=evaluate(total_usd, frame[PARTS]).round(2), copy_estimated=own.isna() & away & bool(cached))
    return frame.sort_values("total_usd", kind="stable").reset_index(drop=True)


def _missing(book, item, provider, parameter):
    known = ", ".join(sorted(set(book[book["item"] == item]["provider"]))) or "none"
    return ValueError(f"{book.attrs['file']}: no {item} price of {provider!r}; allowed: {known}; or give the parameter "
                      f"{parameter}")
