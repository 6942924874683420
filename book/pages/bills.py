"""The bill of one workload at every provider of a price book whose machines do the work: what each part costs, and together.

A price that is missing or not firm never decides: a bill that rests on one has two ends, `least_usd` and `most_usd`, and
choices go by the upper one.
"""
import math
from collections import namedtuple

import numpy as np
import pandas as pd

from gpucalc.core.arithmetic import HOURS_PER_DAY, ceil, maximum
from gpucalc.core.evaluate import Case
from gpucalc.decisions.columns import nine_digits
from gpucalc.laws.total_cost import break_even_corpus_bytes, break_even_runs, managed_usd, pulled_bytes, total_usd
from gpucalc.laws.training_cost import compute_usd
from gpucalc.rows.ages import firm
from gpucalc.rows.price_book import TIES, MissingPrice, price_row
from gpucalc.rows.rents import rents
from ..components.offers import decided, searched
from .stores import egress_tiers, every_tier, homes, storage_tiers, stored_usd, stores, tiered_usd, tiers_at

PARTS = ["compute_usd", "storage_usd", "copy_usd", "egress_usd", "managed_usd"]
# What of a case `bills` takes.
LOAD = ("gpu_hours", "runs", "corpus_bytes", "stored_bytes", "months", "minimum_gpu_hours", "usd_per_gb", "usd_per_gb_month",
        "copy_usd_per_gb_month")
# GPU-hours of a run: the low end of their band, those to plan for, the high end.
DAYS = {"low_hours": "low_days", "gpu_hours": "training_days", "high_hours": "high_days"}
HOURS = list(DAYS)
# Where the data of a bill is, in words.
WAYS = {"in place": "beside the data", "every run": "pulled on every run", "one copy": "one copy kept"}
# The bills a choice is between: at another provider, the data pulled on every run or one copy kept; where the data is, plain
# and managed. None where the book has none.
Places = namedtuple("Places", "away kept home managed")


def load_of(case):
    """The workload of a case and the prices it gives, as `bills` takes them."""
    return {name: case.inputs[name] for name in LOAD if name in case.inputs}


def machines(case, book, gpu, term, **networks):
    """Every rent of the GPU on the term with the GPU-hours of one run of the case on it, and the number of GPUs that costs least.

    As in `offers`, as half of such runs take it: `reason` says why one doesn't run. The hours are paid ones, with all stops and
    starts.
    """
    free = dict.fromkeys(("deadline_days", "budget_usd"), math.inf)
    job = case.but(gpu=gpu, term=term, provider=None, region=None, runs=None, **free)
    found = decided(searched(job, book, **networks))
    paid = {name: found[time] * HOURS_PER_DAY * found["gpus"] for name, time in DAYS.items()}
    # Of equal runs the one on the fewest GPUs; where none runs, the one that came furthest.
    order = found["gpus"].where(found["reason"] == "", 0)
    ordered = found.assign(**paid, order=order).sort_values(["gpu_hours", "order"], key=nine_digits).drop(columns="order")
    return ordered.drop_duplicates("row").set_index("row")


def given_machines(book, gpu, term, gpu_hours, at_least):
    """Every rent of the GPU on the term with GPU-hours that are given, on machines of `at_least` so many GPUs."""
    found = rents(book, gpu=gpu, term=term)
    small = found["gpus_per_server"] < at_least
    return found.assign(gpus=found["gpus_per_server"], reason=np.where(small, f"a machine of fewer than {at_least:g} GPUs", ""),
                        **dict.fromkeys(HOURS, gpu_hours))


def left_out(work):
    """Providers none of whose machines do the work, with the first reason."""
    able = set(work[work["reason"] == ""]["provider"])
    return work[~work["provider"].isin(able)].drop_duplicates("provider").set_index("provider")["reason"].to_dict()


def rents_with_services(book, gpu, term="on-demand", providers=None, work=None):
    """Each provider's cheapest rent of the GPU; on demand also with the `premium` of its managed `service`, if there is one.

    work: what `machines` or `given_machines` found; the cheapest is then that with the cheapest run, and `pace` says how many
    hours it takes for one of the fastest. One that is not firm counts only where the provider has no other.
    """
    found = rents(book, gpu=gpu, term=term, provider=providers, per="provider" if work is None else None)
    if work is not None:
        found = _able(found, work)
    plain = found.assign(service="", premium=0.0, firm=firm(found)).reset_index()
    mark_ups = _mark_ups(book, gpu, zip(plain["provider"], plain["sku"])) if term == "on-demand" else []
    managed = [row | {"service": mark_up["sku"], "premium": mark_up["price"]}
               for row, mark_up in zip(plain.to_dict("records"), mark_ups) if mark_up is not None]
    columns = ["row", "provider", "service", "sku", "region", "gpus_per_server", "usd_per_hour", "premium", "firm", "source",
               "date", "confidence", *([] if work is None else [*HOURS, "gpus", "pace"])]
    return pd.concat([plain, pd.DataFrame(managed)], ignore_index=True)[columns]


def _able(found, work):
    """Each provider's cheapest run of those rents."""
    able = found.join(work[work["reason"] == ""][[*HOURS, "gpus"]], how="inner")
    if able.empty:
        reasons = "; ".join(sorted(set(work["reason"])))
        raise MissingPrice(f"{found.attrs['file']}: no machine with {found['gpu'].iloc[0]} that does the work: {reasons}")
    able = able.assign(unsure=~firm(able), cost=able["usd_per_hour"] * able["gpu_hours"])
    able = able.sort_values(["unsure", "cost", *TIES], key=nine_digits).drop_duplicates("provider")
    able = able.sort_values(["cost", "provider"], key=nine_digits)
    return able.assign(pace=able["gpu_hours"] / able["gpu_hours"].min())


def managed_price(book, provider, sku, gpu):
    """The provider's lowest managed mark-up, or None: for the instance, else for another of the GPU, else the one for all."""
    [row] = _mark_ups(book, gpu, [(provider, sku)])
    return None if row is None else price_row(row)


def _mark_ups(book, gpu, machines):
    """The row of the book with the `managed_price` of each machine, a provider and a SKU; None where it has none."""
    rows = book[book["item"] == "managed"].sort_values(["price", *TIES])
    same = book[(book["item"] == "rent") & (book["gpu"] == gpu)][["provider", "sku"]]
    others, found = set(same.itertuples(index=False, name=None)), []
    for provider, sku in machines:
        fits = [(0 if instance == sku else 1 if (provider, instance) in others else 2, place)
                for place, (seller, instance) in enumerate(zip(rows["provider"], rows["instance"]))
                if seller == provider and (instance in (sku, "") or (provider, instance) in others)]
        found.append(rows.iloc[min(fits)[1]] if fits else None)
    return found


def bills(book, offers, data_at, gpu_hours, runs, corpus_bytes, stored_bytes, months, cached=0, minimum_gpu_hours=0,
          usd_per_gb=None, usd_per_gb_month=None, copy_usd_per_gb_month=None):
    """The bill at each rent of `offers`, cheapest first, every part to the cent. The load is numbers, or columns beside `offers`.

    gpu_hours: of the fastest machines; others take their `pace` times that. The data lives at `data_at`, one provider or a column
    of them, and is pulled from there, once in the first month or in equal parts every month. A copy is priced at the provider's
    own store. Where the book has none, it is priced at the most expensive one, and `copy_estimated` says so.
    """
    if isinstance(data_at, str):
        kept, tiers = storage_tiers(book, data_at, usd_per_gb_month), egress_tiers(book, data_at, usd_per_gb)
    else:
        kept, tiers = (tiers_at(every_tier(book, item), data_at) for item in ("storage", "egress"))
    away, hours = offers["provider"] != data_at, gpu_hours * offers.get("pace", 1)
    leaves = tiered_usd(tiers, pulled_bytes(corpus_bytes, runs, cached), 1 if cached else maximum(ceil(months), 1))
    nothing = pd.DataFrame(0.0, offers.index, ["own", "least", "most", "estimated"])
    copies = _copies(book, offers, corpus_bytes, months, copy_usd_per_gb_month).where(away, 0.0) if cached else nothing
    compute = compute_usd(hours, offers["usd_per_hour"], runs, minimum_gpu_hours).round(2)
    frame = offers.assign(
        gpu_hours=hours, compute_usd=compute, storage_usd=stored_usd(kept, stored_bytes, months), egress_usd=leaves * away,
        copy_usd=copies["own"], managed_usd=managed_usd(compute, offers["premium"])).round(dict.fromkeys(PARTS, 2))
    total = frame[PARTS].sum(axis=1, skipna=False)
    frame = frame.assign(
        total_usd=total.round(2), least_usd=(total + copies["least"] - copies["own"]).round(2),
        most_usd=(total + copies["most"] - copies["own"]).round(2), copy_estimated=copies["estimated"] > 0)
    return frame.sort_values(["total_usd", "provider", "service"], ignore_index=True)


def _copies(book, offers, corpus_bytes, months, price):
    """What a copy costs at each offer's own store, and the ends between which it lies where that price is missing or not firm."""
    nothing = pd.DataFrame(0.0, offers.index, ["own", "least", "most", "estimated"])
    if price is not None:
        given = stored_usd(storage_tiers(book, "", price), corpus_bytes, months)
        return nothing.assign(**{name: nothing[name] + given for name in ("own", "least", "most")}).round(2)
    held = stores(book)
    if held.empty:
        return nothing.assign(own=math.nan, least=math.nan, most=math.nan, estimated=1.0)
    at, edges, every = offers["provider"], (held["price"].idxmin(), held["price"].idxmax()), every_tier(book, "storage")
    own, low, high = (nothing["own"] + stored_usd(tiers_at(every, each), corpus_bytes, months)
                      for each in (at, *(pd.Series(name, at.index) for name in edges)))
    known, sure = at.isin(held.index), at.map(held["firm"]).eq(True)
    own = own.where(known, high)
    return pd.DataFrame(dict(own=own, least=own.where(sure, np.minimum(own, low)), most=own.where(sure, np.maximum(own, high)),
                             estimated=(~known).astype(float))).round(2)


def by_the_most(found):
    """Bills in the order in which they are chosen: those of firm rents first, then by the most that each may come to."""
    ordered = found.assign(unsure=~found["firm"]).sort_values(["unsure", "most_usd", "total_usd", "provider", "service"])
    return ordered.drop(columns="unsure")


def best(found):
    """The bill to choose; None if there is none."""
    return None if found.empty else by_the_most(found).iloc[0]


def places(pulled, copied, data_at, provider=None):
    """The bills a choice is between, of those with the data pulled and copied; the cheapest other provider if none is named."""
    plain, services = pulled[pulled["service"] == ""], pulled[pulled["service"] != ""]
    away = plain[plain["provider"] != data_at]
    away = best(away if provider in (None, data_at) else away[away["provider"] == provider])
    kept = None if away is None else best(copied[(copied["provider"] == away.provider) & (copied["service"] == "")
                                                 & copied["total_usd"].notna()])
    return Places(away, kept, *(best(frame[frame["provider"] == data_at]) for frame in (plain, services)))


def labelled(found, data_at):
    """The `places` that there are, by what each is in words."""
    away, kept, _, managed = found
    names = [away is not None and f"{away.provider}, data pulled on every run",
             kept is not None and f"{kept.provider}, one copy kept",
             f"{data_at}, beside the data", managed is not None and f"{data_at}, {managed.service}"]
    return {name: row for name, row in zip(names, found) if row is not None}


def ways(book, offers, data_at, **load):
    """Every bill there is, cheapest first: the `data` in place, pulled on every run or copied once; `way` says which of all."""
    pulled, copied = (bills(book, offers, data_at, cached=kept, **load) for kept in (0, 1))
    pulled["data"] = pulled["provider"].eq(data_at).map({True: "in place", False: "every run"})
    frame = pd.concat([pulled, copied[(copied["provider"] != data_at) & copied["total_usd"].notna()].assign(data="one copy")])
    offer = _named(frame)
    frame = frame.assign(offer=offer, way=offer + ", " + frame["data"].map(WAYS))
    return frame.sort_values(["total_usd", "provider", "service", "data"], ignore_index=True)


def _named(frame):
    """Provider and service of each bill, as text."""
    return frame["provider"] + frame["service"].map(lambda service: f", {service}" if service else "")


def moving(pulled, copied, data_at, home, usd_per_gb):
    """The bills at each rent, pulled and, `_once`, copied; from which run a copy `pays`, and the `most` data of a pull.

    Both compare with the `home` bill, plain hours where the data is; without one they are blank.
    """
    once = copied[["row", "service", "copy_usd", "egress_usd", "total_usd"]]
    frame = pulled.merge(once, on=["row", "service"], suffixes=("", "_once"))
    frame = frame.assign(offer=_named(frame), worked=frame["compute_usd"] + frame["managed_usd"], pays=math.nan, most=math.nan)
    distant = (frame["provider"] != data_at) & (frame["service"] == "")
    if home is not None:
        hours, rate = home.gpu_hours, frame["usd_per_hour"] * frame["gpu_hours"] / home.gpu_hours
        toll = (frame["egress_usd_once"] + frame["copy_usd_once"]).fillna(math.inf)
        frame["pays"] = break_even_runs(toll, 0, hours, home.usd_per_hour, rate).where(distant)
        frame["most"] = Case(usd_per_hour=rate, gpu_hours=hours, home_usd_per_hour=home.usd_per_hour,
                             usd_per_gb=usd_per_gb)(break_even_corpus_bytes).where(distant)
    return frame


def by_home(book, offers, **load):
    """The cheapest bill for each place that sells both storage and egress, cheapest first: pulled on every run, and copied."""
    load = {name: value for name, value in load.items() if name not in ("usd_per_gb", "usd_per_gb_month")}
    at = pd.Series(homes(book), name="data_at", dtype=str)
    every, corpus = offers.merge(at, how="cross"), load["corpus_bytes"]
    pulled, copied = (by_the_most(bills(book, every, every["data_at"], cached=kept, **load)).drop_duplicates("data_at")
                      .set_index("data_at").reindex(at).reset_index() for kept in (0, 1))
    tiers = tiers_at(every_tier(book, "egress"), at)
    found = pd.DataFrame(dict(
        data_at=at, storage_usd=pulled["storage_usd"], once=tiered_usd(tiers, corpus),
        every=tiered_usd(tiers, corpus * load["runs"], max(1, math.ceil(load["months"]))),
        at=pulled["provider"], total=pulled["total_usd"], copy_at=copied["provider"], copy_total=copied["total_usd"]))
    return found.sort_values(["total", "data_at"])


def against_managed(counted, usd_per_hour, premium, storage_usd):
    """A `bare` provider at a rate beside the `service` of a cloud, in USD, with who wins and by how much.

    counted: a row for each way to count, with `gpu_hours`, `runs` of compute, `egress_usd` of the bare provider, and the
    `managed_usd_per_hour` under the service's mark-up.
    """
    each = Case(counted[["gpu_hours", "runs"]], storage_usd=storage_usd, copy_usd=0)
    bare = each.but(usd_per_hour=usd_per_hour, egress_usd=counted["egress_usd"], managed_usd=0)(total_usd)
    service = each.but(usd_per_hour=counted["managed_usd_per_hour"], egress_usd=0, premium=premium)(total_usd)
    return counted.assign(bare=bare, service=service, bare_wins=bare < service, margin=(service - bare).abs())
