"""The bill of one workload at every provider of a price book that rents the GPU: what each part costs, and together."""
import math
from collections import namedtuple

import pandas as pd

from ..core.arithmetic import BYTES_PER_GB, ceil, maximum
from ..core.evaluate import Case
from ..laws.total_cost import (break_even_corpus_bytes, break_even_runs, copy_usd, egress_tier_usd, managed_usd, pulled_bytes,
                               storage_usd, total_usd)
from ..laws.training_cost import compute_usd
from ..rows.price_book import cheapest_first, price_row, select
from ..rows.rents import rents

PARTS = ["compute_usd", "storage_usd", "copy_usd", "egress_usd", "managed_usd"]
# What of a case `bills` takes.
LOAD = ("gpu_hours", "runs", "corpus_bytes", "stored_bytes", "months", "minimum_gpu_hours", "usd_per_gb", "usd_per_gb_month",
        "copy_usd_per_gb_month")
# Where the data of a bill is, in words.
WAYS = {"in place": "beside the data", "every run": "pulled on every run", "one copy": "one copy kept"}
# The bills a choice is between: at another provider, the data pulled on every run or one copy kept; where the data is, plain
# and managed. None where the book has none.
Places = namedtuple("Places", "away kept home managed")


def load_of(case):
    """The workload of a case and the prices it gives, as `bills` takes them."""
    return {name: case.inputs[name] for name in LOAD if name in case.inputs}


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
    """Egress over all tiers (USD), for bytes that leave in equal parts over months; both may be columns."""
    return sum(egress_tier_usd(egress_bytes, *tier, egress_months)
               for tier in tiers[["from_bytes", "to_bytes", "usd_per_gb"]].itertuples(index=False, name=None))


def last_usd_per_gb(tiers, corpus_bytes, runs, months):
    """Egress price of the last gigabytes that runs pull: of all beyond the first pull, or of a single one (USD/GB)."""
    if not corpus_bytes:
        return 0.0
    once = tiered_usd(tiers, corpus_bytes)
    more = tiered_usd(tiers, corpus_bytes * runs, max(1, math.ceil(months))) - once
    return (more / (corpus_bytes * (runs - 1)) if runs > 1 else once / corpus_bytes) * BYTES_PER_GB


def storage(book):
    """Each provider's first storage row in the book, by provider; `row` is its key."""
    return book[book["item"] == "storage"].drop_duplicates("provider").reset_index().set_index("provider")


def first_price(book, item, provider):
    """The row of the provider's first service, whose egress tiers or storage bills take, as a row for a case."""
    return price_row(select(book, item=item, provider=provider).iloc[0])


def dearest_storage(book):
    """Provider and price of the dearest of them (USD/GB-month)."""
    prices = storage(book)["price"]
    if prices.empty:
        raise ValueError(f"{book.attrs['file']}: no storage price; give the parameter copy_usd_per_gb_month")
    return prices.idxmax(), prices.max()


def cheapest_gear(book):
    """The cheapest storage to buy, as a row for a case, or None."""
    found = book[book["item"] == "storage-gear"]
    return None if found.empty else price_row(cheapest_first(found).iloc[0])


def rents_with_services(book, gpu, term="on-demand", providers=None):
    """Each provider's cheapest rent of the GPU; on demand also with the `premium` of its managed `service`, if there is one."""
    found = rents(book, gpu=gpu, term=term, provider=providers, per="provider")
    plain = found.assign(service="", premium=0.0).reset_index()
    managed = []
    for row in plain.to_dict("records") if term == "on-demand" else []:
        mark_up = managed_price(book, row["provider"], row["sku"], gpu)
        if mark_up is not None:
            managed.append({**row, "service": mark_up.sku, "premium": mark_up.premium})
    columns = ["row", "provider", "service", "sku", "region", "usd_per_hour", "premium", "source", "date", "confidence"]
    return pd.concat([plain, pd.DataFrame(managed)], ignore_index=True)[columns]


def managed_price(book, provider, sku, gpu):
    """The provider's managed mark-up, or None: for the instance, else for another of the GPU, else the one for all."""
    rows = book[(book["item"] == "managed") & (book["provider"] == provider)]
    others = rents(book, provider=provider, gpu=gpu, required=False)["sku"]
    instance = rows["instance"]
    found = pd.concat([rows[instance == sku], rows[instance.isin(others)], rows[instance == ""]])
    return price_row(found.iloc[0]) if len(found) else None


def bills(book, offers, data_at, gpu_hours, runs, corpus_bytes, stored_bytes, months, cached=0, minimum_gpu_hours=0,
          usd_per_gb=None, usd_per_gb_month=None, copy_usd_per_gb_month=None):
    """The bill at each rent of `offers`, cheapest first, every part to the cent. The load is numbers, or columns beside `offers`.

    The data lives at `data_at` and is pulled from there, once in the first month or in equal parts every month. A copy is
    priced at the provider's own storage; where the book has none, at the dearest in the book, and `copy_estimated` says so.
    """
    stores = storage(book)["price"]
    if usd_per_gb_month is None and data_at not in stores:
        raise _missing(book, "storage", data_at, "usd_per_gb_month")
    home = stores[data_at] if usd_per_gb_month is None else usd_per_gb_month
    tiers, away = egress_tiers(book, data_at, usd_per_gb), offers["provider"] != data_at
    leaves = tiered_usd(tiers, pulled_bytes(corpus_bytes, runs, cached), 1 if cached else maximum(ceil(months), 1))
    own = offers["provider"].map(stores) if copy_usd_per_gb_month is None else pd.Series(copy_usd_per_gb_month, offers.index)
    stand_in = dearest_storage(book)[1] if own.isna().any() else 0
    copied = copy_usd(corpus_bytes, own.fillna(stand_in), months, cached)
    compute = compute_usd(gpu_hours, offers["usd_per_hour"], runs, minimum_gpu_hours).round(2)
    frame = offers.assign(
        compute_usd=compute, storage_usd=storage_usd(stored_bytes, home, months), egress_usd=leaves * away,
        copy_usd=copied * away, managed_usd=managed_usd(compute, offers["premium"])).round(dict.fromkeys(PARTS, 2))
    frame = frame.assign(total_usd=Case(frame[PARTS])(total_usd).round(2), copy_estimated=own.isna() & away & bool(cached))
    return frame.sort_values("total_usd", kind="stable").reset_index(drop=True)


def total_at(bill, gpu_hours, runs, minimum_gpu_hours=0):
    """What a bill comes to if a run takes so many GPU-hours (USD): compute and its mark-up follow them, all else stays."""
    compute = compute_usd(gpu_hours, bill.usd_per_hour, runs, minimum_gpu_hours)
    return total_usd(compute, bill.storage_usd, bill.copy_usd, bill.egress_usd, managed_usd(compute, bill.premium))


def places(pulled, copied, data_at, provider=None):
    """The bills a choice is between, of those with the data pulled and copied; the cheapest other provider if none is named."""
    plain, services = pulled[pulled["service"] == ""], pulled[pulled["service"] != ""]
    away = plain[plain["provider"] != data_at]
    away = _first(away if provider in (None, data_at) else away[away["provider"] == provider])
    kept = None if away is None else _first(copied[(copied["provider"] == away.provider) & (copied["service"] == "")])
    return Places(away, kept, *(_first(frame[frame["provider"] == data_at]) for frame in (plain, services)))


def labelled(found, data_at):
    """The `places` that there are, by what each is in words."""
    away, kept, _, managed = found
    names = [away is not None and f"{away.provider}, data pulled on every run",
             kept is not None and f"{kept.provider}, one copy kept",
             f"{data_at}, beside the data", managed is not None and f"{data_at}, {managed.service}"]
    return {name: row for name, row in zip(names, found) if row is not None}


def _first(frame):
    return None if frame.empty else frame.iloc[0]


def ways(book, offers, data_at, **load):
    """Every bill there is, cheapest first: the `data` in place, pulled on every run or copied once; `way` says which of all."""
    pulled, copied = (bills(book, offers, data_at, cached=kept, **load) for kept in (0, 1))
    pulled["data"] = pulled["provider"].eq(data_at).map({True: "in place", False: "every run"})
    frame = pd.concat([pulled, copied[copied["provider"] != data_at].assign(data="one copy")])
    offer = _named(frame)
    frame = frame.assign(offer=offer, way=offer + ", " + frame["data"].map(WAYS))
    return frame.sort_values("total_usd", kind="stable", ignore_index=True)


def _named(frame):
    """Provider and service of each bill, as text."""
    return frame["provider"] + frame["service"].map(lambda service: f", {service}" if service else "")


def flips(name, factor, book, offers, data_at, **load):
    """The nearest value of an input at which another provider is the cheapest, and the way then; None if there is none.

    Sought by multiplying the value in `load` up to ten times by the factor, then between the last two; runs stay whole.
    """
    def at(power):
        value = load[name] * factor ** power
        return max(1, round(value)) if name == "runs" else value

    def cheapest(powers):
        tried = pd.DataFrame({"power": powers, name: [at(power) for power in powers]}).merge(offers, how="cross")
        return ways(book, tried, data_at, **load | {name: tried[name]}).drop_duplicates("power").set_index("power")

    far = cheapest(range(11))
    others = far.index[far["provider"] != far["provider"][0]]
    if others.empty:
        return None
    inside, outside = others.min() - 1, others.min()
    near = cheapest([inside + step / 128 for step in range(1, 129)])
    for _ in range(7):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if near["provider"][middle] != far["provider"][0] else (middle, outside)
    return at(outside), near["way"][outside]


def rates_that_flip(best, second, gpu_hours):
    """Hourly rates at which two bills cost the same: the cheaper one's, risen, and the other's, fallen (USD/h)."""
    spare = (second.total_usd - best.total_usd) / gpu_hours
    return best.usd_per_hour + spare / (1 + best.premium), second.usd_per_hour - spare / (1 + second.premium)


def moving(pulled, copied, data_at, gpu_hours, home_usd_per_hour, usd_per_gb):
    """The bills at each rent, pulled and, `_once`, copied; from which run a copy `pays`, and the `most` data of a pull.

    Both compare with plain hours at `home_usd_per_hour` where the data is; without that rate they are blank.
    """
    once = copied[["row", "service", "copy_usd", "egress_usd", "total_usd"]]
    frame = pulled.merge(once, on=["row", "service"], suffixes=("", "_once"))
    frame = frame.assign(offer=_named(frame), worked=frame["compute_usd"] + frame["managed_usd"], pays=math.nan, most=math.nan)
    distant = (frame["provider"] != data_at) & (frame["service"] == "")
    if home_usd_per_hour is not None:
        toll, rate = frame["egress_usd_once"] + frame["copy_usd_once"], frame["usd_per_hour"]
        frame["pays"] = break_even_runs(toll, 0, gpu_hours, home_usd_per_hour, rate).where(distant)
        frame["most"] = Case(usd_per_hour=rate, gpu_hours=gpu_hours, home_usd_per_hour=home_usd_per_hour,
                             usd_per_gb=usd_per_gb)(break_even_corpus_bytes).where(distant)
    return frame


def by_home(book, offers, **load):
    """The cheapest bill for each place that sells both storage and egress, cheapest first: pulled on every run, and copied."""
    load = {name: value for name, value in load.items() if name not in ("usd_per_gb", "usd_per_gb_month")}
    stores, rows = storage(book).index, []
    for name in dict.fromkeys(book[book["item"] == "egress"]["provider"]):
        if name in stores:
            every, once = (bills(book, offers, name, cached=kept, **load).iloc[0] for kept in (0, 1))
            tiers, corpus = egress_tiers(book, name), load["corpus_bytes"]
            rows.append(dict(
                data_at=name, storage_usd=every.storage_usd, once=tiered_usd(tiers, corpus), every=tiered_usd(
                    tiers, corpus * load["runs"], max(1, math.ceil(load["months"]))),
                at=every.provider, total=every.total_usd, copy_at=once.provider, copy_total=once.total_usd))
    return pd.DataFrame(rows).sort_values("total", kind="stable")


def against_managed(counted, usd_per_hour, premium, storage_usd):
    """A `bare` provider at a rate beside the `service` of a cloud, in USD, with who wins and by how much.

    counted: a row for each way to count, with `gpu_hours`, `runs` of compute, `egress_usd` of the bare provider, and the
    `managed_usd_per_hour` under the service's mark-up.
    """
    each = Case(counted[["gpu_hours", "runs"]], storage_usd=storage_usd, copy_usd=0)
    bare = each.but(usd_per_hour=usd_per_hour, egress_usd=counted["egress_usd"], managed_usd=0)(total_usd)
    service = each.but(usd_per_hour=counted["managed_usd_per_hour"], egress_usd=0, premium=premium)(total_usd)
    return counted.assign(bare=bare, service=service, bare_wins=bare < service, margin=(service - bare).abs())


def _missing(book, item, provider, parameter):
    known = ", ".join(sorted(set(book[book["item"] == item]["provider"]))) or "none"
    return ValueError(f"{book.attrs['file']}: no {item} price of {provider!r}; allowed: {known}; or give the parameter "
                      f"{parameter}")
