"""The whole bill: where data may live, bills of every provider, which to choose and where the choice turns."""
import math
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from gpucalc.core.arithmetic import BYTES_PER_GB, ceil, HOURS_PER_DAY, maximum
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import chance, dollars, hourly, number, percent, three_figures, usd
from gpucalc.decisions.columns import nine_digits
from gpucalc.decisions.market import forbidden, terms_of
from gpucalc.laws import total_cost as tc
from gpucalc.laws.serving_cost import input_usd_per_million, output_usd_per_million, request_usd
from gpucalc.laws.total_cost import (break_even_corpus_bytes, break_even_runs, egress_tier_usd, egress_usd, managed_usd,
                                     pulled_bytes, storage_tier_usd, total_usd)
from gpucalc.laws.training_cost import affordable_tokens, compute_usd, planned_gpu_hours
from gpucalc.laws.training_time import chinchilla_tokens
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.ages import firm
from gpucalc.rows.bands import CLOSE, PEAKS
from gpucalc.rows.price_book import cheapest_first, MissingPrice, price_row, TIES
from gpucalc.rows.rents import cheapest_rent, rents
from ..components.charts import bars, slider_chart
from ..components.claims import claim
from ..components.measured import signed_percent
from ..components.picture import Sheet, WIDE
from ..components.sentences import in_words
from ..components.show import in_bytes, in_unit, table
from .training_cost import decided, searched


# Where data may live: which store of a provider keeps it, what it costs by tier, and what it costs to leave.
#
# A provider's store is the cheapest that serves data which is read all the time: object, file or block storage, never a cold
# one. Its egress is that of this store, else the provider's for all. The order of a book's rows changes nothing.

EDGES = ["from_bytes", "to_bytes"]


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


def storage_tiers(book, provider, usd_per_gb_month=None):
    """Tiers of the provider's store, by the names the laws know; or one price for every byte."""
    return _tiers(book, "storage", provider, "usd_per_gb_month", usd_per_gb_month)


def egress_tiers(book, provider, usd_per_gb=None):
    """Egress tiers of the provider's store, by the names the laws know; or one price for every byte."""
    return _tiers(book, "egress", provider, "usd_per_gb", usd_per_gb)


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


def rows_of(book, item, provider):
    """The rows behind a provider's storage or egress, for a case, a table of sources or a date."""
    found = services(book, item)
    if provider not in found:
        known = ", ".join(sorted(set(book[book["item"] == item]["provider"]))) or "none"
        parameter = {"storage": "usd_per_gb_month", "egress": "usd_per_gb"}[item]
        raise MissingPrice(f"{book.attrs['file']}: no {item} price of {provider!r}; allowed: {known}; or give the parameter "
                           f"{parameter}")
    return book.iloc[found[provider]]


def first_price(book, item, provider):
    """The first tier of a provider's storage or egress, as a row for a case."""
    return price_row(rows_of(book, item, provider).iloc[0])


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
    both = sorted(set(_first_tiers(book)) & set(book[book["item"] == "egress"]["provider"]))
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
    rows = book.head(0) if usd_per_gb is not None else rows_of(book, "egress", data_at)
    return rows[~firm(rows)]


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


# The bill of one workload at every provider of a price book whose machines do the work: what each part costs, and together.
#
# A price that is missing or not firm never decides: a bill that rests on one has two ends, `least_usd` and `most_usd`, and
# choices go by the upper one.

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


# Which bill to choose: the best, the next, what may beat it by a price that is not firm, and where the choice turns.

# The bill at the low end of the hours, as planned and at the high end (USD).
Ends = namedtuple("Ends", "low plan high")


def totals(bill, runs, minimum_gpu_hours=0):
    """What a bill comes to at the low end of its hours, as planned and at the high end (USD)."""
    return Ends(*(total_at(bill, getattr(bill, name), runs, minimum_gpu_hours) for name in HOURS))


def second(found):
    """The cheapest at another provider than the best; None if there is none."""
    return best(found[found["provider"] != best(found).provider])


def open_rivals(found):
    """What may be cheaper than the best by a price that is missing or not firm: each provider's cheapest, firm rents first."""
    first = best(found)
    rivals = found[(found["provider"] != first.provider) & (found["least_usd"] < first.total_usd)
                   & (~found["firm"] | (found["least_usd"] < found["most_usd"]))]
    rivals = rivals.assign(unsure=~rivals["firm"]).sort_values(["unsure", "least_usd", "provider"])
    return rivals.drop_duplicates("provider").drop(columns="unsure")


def verdict(one, other, runs, minimum_gpu_hours=0):
    """Whether the one bill is cheaper than the other: `yes`, or `too close to call`.

    On machines of the same speed the hours err alike: the order has to hold at both ends. Between others the bands may not meet.
    """
    first, then = (totals(each, runs, minimum_gpu_hours) for each in (one, other))
    alike = all(math.isclose(one[name], other[name]) for name in HOURS)
    sure = all(a <= b for a, b in zip(first, then)) if alike else first.high < then.low or first.low == first.high
    return "yes" if sure else CLOSE


def total_at(bill, gpu_hours, runs, minimum_gpu_hours=0):
    """What a bill comes to if a run takes so many GPU-hours (USD): compute and its mark-up follow them, all else stays."""
    compute = compute_usd(gpu_hours, bill.usd_per_hour, runs, minimum_gpu_hours)
    return total_usd(compute, bill.storage_usd, bill.copy_usd, bill.egress_usd, managed_usd(compute, bill.premium))


def flips(name, factor, book, offers, data_at, **load):
    """The nearest value of an input at which another provider is the cheapest, and the way then; None if there is none.

    Sought by multiplying the value in `load` up to ten times by the factor, then between the last two; runs stay whole.
    """
    bare = offers.drop(columns=name, errors="ignore")

    def at(power):
        value = load[name] * factor ** power
        return max(1, round(value)) if name == "runs" else value

    def cheapest(powers):
        tried = pd.DataFrame({"power": powers, name: [at(power) for power in powers]}).merge(bare, how="cross")
        found = by_the_most(ways(book, tried, data_at, **load | {name: tried[name]}))
        return found.drop_duplicates("power").set_index("power").sort_index()

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


def rates_that_flip(one, other, runs, minimum_gpu_hours=0):
    """Hourly rates at which two bills cost the same: the cheaper one's, risen, and the other's, fallen (USD/h)."""
    spare = other.total_usd - one.total_usd
    paid, instead = (max(bill.gpu_hours * runs, minimum_gpu_hours) * (1 + bill.premium) for bill in (one, other))
    return one.usd_per_hour + spare / paid, other.usd_per_hour - spare / instead


# How pages show bills: amounts side by side, what the cheapest spend it on, and the fine print.

TITLES = {part: part.removesuffix("_usd") for part in PARTS}


def many(count, noun):
    """A count with its noun: `1 run`, `20 runs`."""
    return f"{count:,g} {noun}{'' if count == 1 else 's'}"


def open_words(found):
    """What is open of the first of bills, as its store has no firm price, and what may beat it by a price that is missing or not
    firm: the first with both ends, and how many more; empty if nothing."""
    rivals, chosen = open_rivals(found), best(found)
    said = []
    if chosen.least_usd < chosen.most_usd:
        said.append(f"No store there has a firm price: depending on it, the bill is {_ends(chosen)}.")
    if len(rivals):
        first, more = rivals.iloc[0], len(rivals) - 1
        said.append(f"The bill may be lower at {first.way} ({_ends(first)}): {_unsure(first)}.")
        said += [f"The same goes for {many(more, 'other provider')}."] if more else []
    return " ".join(said)


def _ends(bill):
    """Both ends of a bill in words; one if they are the same."""
    return " to ".join(dict.fromkeys(f"{each:,.0f}" for each in (bill.least_usd, bill.most_usd))) + " USD at list prices"


def _unsure(row):
    rent = {"floor": "its rent is a floor price", "secondary": "its rent comes from somebody else's report",
            "recalled": "its rent is from memory"}
    named = [] if row.firm else [rent[row.confidence]]
    return " and ".join(named + (["its store has no firm price"] if row.least_usd < row.most_usd else []))


def out_words(reasons):
    """Providers whose machines don't do the work, in a sentence with the reason; empty if all do."""
    by_reason = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    said = [f"{in_words(names)} ({reason})" for reason, names in by_reason.items()]
    return f"Left out: {'; '.join(said)}." if said else ""


def parts_bars(found, alt, most=10):
    """What the first ways of `ways` spend it on, a bar each."""
    parts = DataFrame([dict(way=row["way"], part=TITLES[part], total_usd=row[part])
                       for row in found.head(most).to_dict("records") for part in PARTS if row[part]])
    return bars(parts, "total_usd", "way", "part", alt, "USD", list(TITLES.values()), room=230).properties(height=300)


def fine_print_table(kind, caption):
    """The fine print of a kind, with its sources; what was recalled says so."""
    rows = catalogue.fine_print().reset_index().query("kind == @kind")
    recalled = rows["confidence"].map({"recalled": " (recalled)"}).fillna("")
    return table(rows[["subject", "verdict", "fact"]].assign(source=rows["source"] + ", " + rows["date"] + recalled), caption)


# A published comparison of a bare-metal provider with a managed service, with both sides counted alike.


def counted_alike():
    """The comparison with every count of runs and pulls, and where the winner changes.

    At one price for egress (`flat`), with the tiers of the price book of its day (`tiered`), and with the hours that its own
    share of the peak takes (`real`).
    """
    book = price_book.prices(price_book.price_books()[0])
    bare, premium, corpus = (claim(f"tc-{each}").value for each in ("bare-rate", "mark-up", "tokens"))
    per_gb, stored = claim("tc-pull").inputs["usd_per_gb"], claim("tc-bare-cached").inputs["storage_usd"]
    own = cheapest_rent(book, gpu="H100 SXM 80GB", provider="AWS", term="on-demand").usd_per_hour
    tuning = Case.of(claim("trc-354").inputs)
    peak_hours, real_hours = tuning.but(mfu=1)(planned_gpu_hours), tuning(planned_gpu_hours)
    counted = DataFrame([dict(on=on, runs=runs, pulls=pulls, gpu_hours=peak_hours, managed_usd_per_hour=rate,
                              egress_usd=egress_usd(pulled_bytes(corpus, pulls), per_gb))
                         for on, rate in {"bare metal": bare, "AWS itself": own}.items()
                         for runs in (1, 20) for pulls in (1, 20)])
    tiers = egress_tiers(book, "AWS")
    by_tier = counted.assign(egress_usd=[tiered_usd(tiers, corpus * pulls) for pulls in counted["pulls"]])
    flat, tiered, real = (against_managed(each, bare, premium, stored) for each in (
        counted, by_tier, counted.assign(gpu_hours=real_hours)))
    turn, real_turn = (break_even_corpus_bytes(each, bare * (1 + premium), bare, per_gb) for each in (peak_hours, real_hours))
    return SimpleNamespace(
        flat=flat, tiered=tiered, real=real, file=book.attrs["file"], bare_rate=bare, corpus_bytes=corpus,
        mfu=tuning.inputs["mfu"], peak_hours=peak_hours, real_hours=real_hours, turn_bytes=turn, real_turn_bytes=real_turn,
        per_run=peak_hours * bare * premium,
        per_pull=egress_usd(corpus, per_gb), bare_claim=claim("tc-bare-wins").value, service_claim=claim("tc-service-wins").value)


def outcome(frame, runs, pulls, on="bare metal"):
    """The winner and its margin, with so many runs of compute and pulls of the data, the mark-up on the rate of `on`."""
    row = frame[(frame["runs"] == runs) & (frame["pulls"] == pulls) & (frame["on"] == on)].iloc[0]
    return f"{'bare metal' if row.bare_wins else 'SageMaker'} by {usd(row.margin)}"


def two_providers_table(alike, caption):
    """Every combination of the comparison, and which of them was printed."""
    found = alike.flat
    printed = (found["runs"] == 1) & (found["on"] == "bare metal")
    sides = found.assign(
        compute=[many(each, "run") for each in found["runs"]], egress=[many(each, "pull") for each in found["pulls"]],
        winner=found["bare_wins"].map({True: "bare metal", False: "SageMaker"}), printed=printed.map({True: "yes", False: "no"}))
    return table(sides[["compute", "egress", "on", "bare", "service", "winner", "margin", "printed"]], caption,
                 labels={"compute": "compute", "egress": "egress", "on": "mark-up on rate of", "bare": "bare metal",
                         "service": "SageMaker", "margin": "by, USD"},
                 formats=dict.fromkeys(("bare", "service", "margin"), "{:,.0f}".format))


# Tables of the pages on costs that stand in depth: parts of a request, idle hours, what money buys, egress by tier and month.

TOKEN_PRICES = {"a million tokens in": input_usd_per_million, "a million tokens out": output_usd_per_million,
                "one request": request_usd}


def parts_table(replica, caption):
    """What tokens and a request cost at best, by the formula, to plan for, and if the replica is never idle."""
    bound = replica.but(**PEAKS)
    rows = [dict(cost_of=part, bound=bound(law), formula=replica(law), plan=replica.band(law).plan,
                 full=replica.but(replica_utilization=1).band(law).plan) for part, law in TOKEN_PRICES.items()]
    share = percent(replica.inputs["replica_utilization"])
    return table(DataFrame(rows), caption, formats=dict.fromkeys(["bound", "formula", "plan", "full"], dollars), labels={
        "cost_of": "cost of", "bound": f"bound, {share} utilization", "formula": f"formula, {share}",
        "plan": f"to plan for, {share}", "full": "to plan for, never idle"})


def idle_table(replica, api_usd, caption):
    """The same tokens at other utilizations, to plan for, and over the price of an API, None where there is none."""
    shares = Series([1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05])
    each = replica.but(replica_utilization=shares)
    plans = {name: each.band(law).plan for name, law in zip(("input", "output", "one"), TOKEN_PRICES.values())}
    idle = DataFrame({"utilization": shares, **plans})
    idle["thousand"] = 1000 * idle.pop("one")
    if api_usd is not None:
        idle["against"] = idle["thousand"] / (1000 * api_usd)
    return table(idle, caption, labels={"input": "a million in", "output": "a million out", "thousand": "1,000 requests",
                                        "against": "times the cheapest API"},
                 formats={"utilization": percent, "against": three_figures,
                          **dict.fromkeys(["input", "output", "thousand"], dollars)})


def dollar_table(rank, caption):
    """What a dollar buys on each GPU of `serving_cost.tokens_per_dollar`."""
    columns = {"alone": "tokens/s, one user", "per_card": "that over 1,000 USD of card", "batch": "batch that fits",
               "full": "tokens/s, full", "per_owned": "tokens per USD, owned server", "per_rented": "tokens per USD, rented"}
    shown = rank.assign(per_card=1000 * rank["per_card"])[list(columns)].reset_index()
    return table(shown, caption, labels={"gpu": "GPU", **columns},
                 formats=dict(alone=three_figures, per_card=three_figures, batch="{:,.0f}".format, full=three_figures,
                              per_owned=number, per_rented=number))


def tiers_table(tiers, sent, months, caption):
    """Bytes that leave in some months, tier by tier: how many are in each, and what it charges."""
    charged, inside = (Case(each, egress_bytes=sent, egress_months=months)(egress_tier_usd) for each in (
        tiers, tiers.assign(usd_per_gb=1.0)))
    return table(tiers.assign(tier_gb=inside, egress_tier_usd=charged), caption, labels={
        "from_bytes": "from", "to_bytes": "to", "usd_per_gb": "USD/GB", "tier_gb": "bytes in the tier", "egress_tier_usd": "USD"},
        formats={"to_bytes": lambda value: "no upper edge" if math.isinf(value) else number(value, "byte"),
                 "usd_per_gb": "{:.3f}".format, "tier_gb": lambda value: number(value * 1e9, "byte"),
                 "egress_tier_usd": "{:,.2f}".format})


def split_table(tiers, sizes, caption):
    """What bytes of these sizes cost that leave in one month, or in equal parts over more."""
    counts = {f"in {count}": count for count in (1, 2, 3, 6, 12)}
    rows = [{"bytes": size, **{name: tiered_usd(tiers, size, count) for name, count in counts.items()},
             "per_gb": last_usd_per_gb(tiers, size, 1, 1)} for size in sorted(sizes)]
    return table(DataFrame(rows), caption,
                 labels={"per_gb": "USD/GB in one month", **{name: many(count, "month") for name, count in counts.items()}},
                 formats={"bytes": in_bytes, "per_gb": "{:.4f}".format,
                          **dict.fromkeys(counts, "{:,.2f}".format)})


def trained_for(buyer, models, slow, fast):
    """What a budget trains: the tokens that it buys for each model, and what twenty tokens a parameter cost.

    slow, fast: GPU-hours at the ends of the band over those to plan for.
    """
    rows = []
    for name in dict.fromkeys(models):
        sized = buyer.but(model=name)
        params, most = sized.rows["model"], sized(affordable_tokens)
        twenty = sized.but(training_tokens=chinchilla_tokens(params.params))
        rows.append(dict(model=params.name, affordable_tokens=most, ends=f"{number(most / slow)} to {number(most / fast)}",
                         tokens=twenty.inputs["training_tokens"], cost=twenty(compute_usd)))
    frame = DataFrame(rows)
    return frame.assign(share=frame["cost"] / buyer.inputs["budget_usd"]).set_index("model", drop=False)


def trained_table(bought, caption):
    """The table of `trained_for`."""
    return table(bought, caption, formats={"cost": dollars, "share": percent}, labels={
        "affordable_tokens": "tokens it buys", "ends": "8 in 10 between", "tokens": "20 tokens a parameter",
        "cost": "cost of those", "share": "of the budget"})


# Pictures of a whole bill: who charges for what, and what each way to do the work spends its money on.

COLORS = dict(zip(PARTS, "abcde"))
_BOX, _ROW = 138, 56


def places_picture(home_at, away, gpu, load, usd_per_gb, usd_per_gb_month):
    """The cloud that keeps the data and the one that rents out the GPUs, with the price that each asks; no amounts.

    away: a row of offers; load: corpus_bytes, stored_bytes, runs; the two prices are those of the first byte that is paid, that
    of storage None where the book has none.
    """
    sheet, right = Sheet(206), WIDE - _BOX
    storage = ("no price", "") if usd_per_gb_month is None else (f"{usd_per_gb_month:.3g} USD/GB", "and month")
    _place(sheet, 0, home_at, "keeps the data", number(load["stored_bytes"], "byte"), *storage)
    _place(sheet, right, away.provider, "rents the GPUs", gpu, f"{float(away.usd_per_hour):.3g} USD/h", "and GPU")
    sheet.arrow((_BOX + 6, 66), (right - 6, 66), color="d", thick=3)
    sheet.text(WIDE / 2, 50, "egress", "middle", "d", True).text(WIDE / 2, 88, f"{usd_per_gb:.3g} USD/GB", "middle", "d")
    pulled = f"{number(load['corpus_bytes'], 'byte')} leave {home_at} in each of {number(load['runs'])} runs"
    for place, said in enumerate((pulled, "or once, if you keep a copy beside the GPUs;", "what comes in is free")):
        sheet.text(WIDE / 2, 154 + 22 * place, said, "middle", "soft" if place else "ink")
    return sheet.picture("The cloud that the data leaves charges for it",
                         f"{home_at} asks for storage and {usd_per_gb:.3g} USD for each gigabyte that "
                         f"leaves, {away.provider} for {hourly(float(away.usd_per_hour))} of a GPU. {pulled}.")


def _place(sheet, left, name, *lines):
    sheet.box(left + 1, 1, _BOX - 2, 124, "wash", "line", 8).text(left + 10, 25, _short(name, 17), bold=True)
    for place, said in enumerate(lines):
        sheet.text(left + 10, 49 + 21 * place, said, color="soft" if place < 2 else "a", bold=place == 2)


def _short(name, most):
    return name if len(name) <= most else name[:most - 1].rstrip() + "…"


def bills_picture(bills, spread):
    """Each way to do the work as a bar of what its money is spent on, and a line across eight in ten cases.

    bills: name -> a row with `PARTS`; spread: name -> the band of its total.
    """
    most = max(max(row.total_usd, spread[name].high) for name, row in bills.items())
    first, used = next(iter(bills.values())), [part for part in PARTS if any(row[part] for row in bills.values())]
    foot = _ROW * len(bills)
    sheet = Sheet(foot + 34 + 22 * ((len(used) + 1) // 2))
    for place, (name, row) in enumerate(bills.items()):
        _bill(sheet, _ROW * place, name, row, spread[name], most)
    sheet.text(0, foot + 14, "the first of them:", color="soft")
    for place, part in enumerate(used):
        across, down = 200 * (place % 2), foot + 36 + 22 * (place // 2)
        sheet.box(across, down - 11, 12, 12, COLORS[part], round=2)
        sheet.text(across + 18, down, f"{TITLES[part]}, {dollars(first[part])}")
    share, largest = max((first[part] / first.total_usd, TITLES[part]) for part in PARTS)
    return sheet.picture(f"{largest.capitalize()} is {chance(share)} of the cheapest bill",
                         "; ".join(f"{name}: {dollars(row.total_usd)}" for name, row in bills.items()))


def _bill(sheet, top, name, row, band, most):
    sheet.text(0, top + 15, _short(name, 42), bold=True).text(WIDE, top + 15, dollars(row.total_usd), "end")
    left = 0.0
    for part in PARTS:
        wide = row[part] / most * WIDE
        if wide:
            sheet.box(left, top + 22, max(wide - 1, 1), 22, COLORS[part], round=1)
        left += wide
    if band.low < band.high:
        low, high = (end / most * (WIDE - 1) for end in (band.low, band.high))
        sheet.line((low, top + 33), (high, top + 33), color="ink", thick=2)
        for end in (low, high):
            sheet.line((end, top + 27), (end, top + 39), color="ink", thick=2)


# What takes the place of cards that a license keeps out of a data center, and the terms of each card.

LAWFUL_WAYS = {"rent": "rent, USD/h", "server": "buy a server, USD", "card": "buy a card, USD"}


def substitutes(book, term):
    """Each card that a license rules out, by the way to get it (`way`, USD per PFLOP/s), and the cheapest allowed instead.

    That one has at least its memory; it is blank where the book has none. Rents are on the term.
    """
    offered = book[book["item"].isin(LAWFUL_WAYS) & book["term"].isin([term, "purchase"])]
    offered = offered.join(catalogue.gpus()[["kind", "vendor", "peak_flops", "memory_bytes"]], on="gpu")
    each = offered["price"] / offered["gpus_per_server"].fillna(1) / (offered["peak_flops"] / 1e15)
    offered = offered.assign(per_flops=each).sort_values(["per_flops", *TIES], kind="stable")
    banned = forbidden(offered)
    allowed = offered[~banned & (offered["kind"] != "tpu")]
    ruled_out = offered[banned].drop_duplicates(["item", "gpu"]).sort_values(["item", "per_flops"], kind="stable")
    return pd.DataFrame([_instead(row, allowed) for row in ruled_out.itertuples()],
                        columns=["way", "gpu", "per_flops", "instead", "lawful", "more"])


def _instead(row, allowed):
    able = allowed[(allowed["memory_bytes"] >= row.memory_bytes) & (allowed["item"] == row.item)]
    if able.empty:
        return LAWFUL_WAYS[row.item], row.gpu, row.per_flops, None, math.nan, math.nan
    gpu, per_flops = able[["gpu", "per_flops"]].iloc[0]
    return LAWFUL_WAYS[row.item], row.gpu, row.per_flops, gpu, per_flops, per_flops / row.per_flops - 1


def card_terms(book):
    """Every card that the book prices alone, with what its license and warranty say, its error correction, link and power."""
    cards = cheapest_first(book[book["item"] == "card"]).drop_duplicates("gpu")[["gpu", "price", "date"]]
    cards = cards.join(catalogue.gpus()[["kind", "ecc", "link", "tdp_watts"]], on="gpu")
    cards = cards.sort_values(["kind", "price"], kind="stable")
    return cards.assign(**terms_of(cards["kind"]), ecc=cards["ecc"].map({1: "on", 0: "not on"}))


def place_slider_chart(case, lines, turn_at, pulled, free_bytes, sliders, compared, runs, corpus_bytes, prices_in_order):
    return slider_chart(
        case.but(**turn_at, storage_usd=float(pulled.storage_usd.iloc[0]), free_bytes=free_bytes), lines, x="corpus_bytes",
        values=[10 ** (10 + step / 8) for step in range(37)], y_title="USD for all runs", sliders=sliders, log_x=True, log_y=True,
        crossing=(tc.break_even_corpus_bytes, turn_at) if compared else None,
        finding=[("usd_per_gb <= 0", "Without egress charges, pulling the data never costs more"),
                 "Up to {break_even_corpus_bytes} a run, pulling the data to the other GPUs costs less"]
        if compared
        else "",
        alt=f"The bill of {many(runs, 'run')} against the size of the data. With {number(corpus_bytes, 'byte')} the "
        f"options cost {prices_in_order}. Pulled on every run the bill climbs with the data, pulled once later, "
        "beside the data it is flat.")


def every_way_table(found, best, priced_on):
    over = found.assign(more=found["total_usd"] / best.total_usd - 1, firm=found["firm"].map({True: "", False: "not firm"}))
    return table(
        over.set_index("row")[
            ["offer", "data", "total_usd", "least_usd", "more", "gpus_per_server", "gpu_hours", "usd_per_hour", *PARTS, "firm"]
        ],
        f"Every way to run it, cheapest first, in USD ({priced_on})",
        labels=TITLES
        | {"usd_per_hour": "USD/h", "total_usd": "total", "least_usd": "with the cheapest store", "firm": "rent",
           "more": "over the cheapest", "gpus_per_server": "GPUs a machine", "gpu_hours": "hours of a run"},
        formats=dict.fromkeys(("usd_per_hour", *PARTS, "total_usd", "least_usd"), "{:,.2f}".format)
        | {"more": signed_percent, "gpu_hours": "{:,.4g}".format, "gpus_per_server": "{:.0f}".format})


def turning_rows(best, second, load, book, offers, home_at, runs, minimum_gpu_hours):
    """What flips the choice: each input halved or doubled, and the hour at either provider."""
    inputs = {"gpu_hours": ("GPU-hours of a run", in_unit("hour")), "runs": ("runs", "{:,.0f}".format),
              "corpus_bytes": ("data that a run reads", in_bytes),
              "months": ("months", "{:,.3g}".format)}
    turning = []
    for name, (said, shown) in inputs.items():
        for factor, change in ((0.5, "falls to"), (2, "rises to")):
            flip = None if second is None else flips(name, factor, book, offers, home_at, **load)
            value, then = ("no value", f"still {best.provider}") if flip is None else (shown(flip[0]), flip[1])
            turning.append((said, shown(load[name]), change, value, then))
    if second is not None:
        up, down = rates_that_flip(best, second, runs, minimum_gpu_hours)
        value, then = (f"{down:.2f} USD/h", second.way) if down > 0 else ("no value", f"still {best.provider}")
        turning += [(f"hour at {best.provider}", f"{best.usd_per_hour:.2f} USD/h", "rises to", f"{up:.2f} USD/h", second.way),
                    (f"hour at {second.provider}", f"{second.usd_per_hour:.2f} USD/h", "falls to", value, then)]
    return DataFrame(turning, columns=["input", "now", "change", "value", "then"])
