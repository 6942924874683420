"""The bill of a month over volumes on every way to serve tokens: an API, serverless GPUs, servers rented and owned."""
import itertools
import math

import pandas as pd

from ..core.arithmetic import floor
from ..core.quantities import DEFAULTS
from ..laws import serving_volume as volume
from ..laws.owning import fixed_usd_per_hour, work_usd_per_hour
from ..laws.serving_cost import requests_per_second, serving_usd_per_month, usd_per_million_tokens
from ..rows import catalogue
from ..rows.bands import CLOSE
from ..rows.selections import selection
from . import capacity, decide, token_offers
from .columns import nine_digits

API, BATCH, SERVERLESS, SCALED = "an API", "an API, in batches", "serverless GPUs", "servers rented with the load"
RENTED, OWNED = "servers rented all month", "servers of one's own"
# Those that answer at once.
WAYS = (API, SERVERLESS, SCALED, RENTED, OWNED)
COLUMNS = ["requests_per_month", "way", "usd", "low", "high", "cold", "fleet", "row"]
ENDS = {"usd": "plan", "low": "low", "high": "high"}
# What one of the ways is chosen of: a GPU and degree on a provider's kind of server.
KIND = ["gpu", "tensor_parallel", "provider", "row"]
# Draws of the cost of an owned hour, and how old the price of a server may be (years): older ones are no longer sold new.
DRAWS = 2000


def by_volume(months, points, book, term, case, offers, batch=None):
    """The bill of each of these months on the cheapest of each way, by `requests_per_month` and `way`; none where no price is.

    `usd` is to plan for, `low` and `high` are the ends of its band; `cold` is the share of requests that wait for a start, and
    `row` the price that it rests on. points: of `capacity.search`. case: as `token_offers.month_plans` takes it. batch: of
    `token_offers.batch_offer`; its requests wait for no start but for their batch, so its `cold` is blank. Only prices that are
    `firm` count.
    """
    kinds = {SERVERLESS: _firm(token_offers.servers(book, "serverless")), SCALED: _firm(token_offers.servers(book, term))}
    starts = _starts(case)
    grids = {way: _up_grid(points, held, case) for way, held in kinds.items() if len(held)}
    owned = owned_hours(book, term)
    rows = []
    for requests in months:
        month = case.but(requests_per_month=requests)
        rows += _api(month, offers) + _batch(month, batch)
        rows += [row for way, grid in grids.items() for row in _up(way, grid, starts[way], month)]
        plans = capacity.plans(points, month(requests_per_second), **capacity.limits_of(case))
        rows += _all_month(RENTED, plans, kinds[SCALED].assign(low_rate=kinds[SCALED]["usd_per_hour"],
                                                               high_rate=kinds[SCALED]["usd_per_hour"]), month)
        rows += _all_month(OWNED, plans, owned, month)
    return pd.DataFrame(rows, columns=COLUMNS)


def _firm(found):
    return found[found["firm"]]


def _api(month, offers):
    sure = offers[offers["firm"]]
    if sure.empty:
        return []
    return [_bought(API, month, sure.iloc[0], "api_request_usd", 0)]


def _batch(month, offer):
    return [] if offer is None else [_bought(BATCH, month, offer, "api_batch_request_usd", math.nan)]


def _bought(way, month, offer, price, cold):
    requests = month.inputs["requests_per_month"]
    usd = requests * offer[price]
    return dict(requests_per_month=requests, way=way, usd=usd, low=usd, high=usd, cold=cold, fleet=offer["provider"],
                row=offer["row"])


# Paid while they are up

def _starts(case):
    """Cold start of each way (s)."""
    weights = case.but(gpu=None, link=None, batch=None, tensor_parallel=None)
    return {SERVERLESS: weights(volume.cold_start_seconds), SCALED: weights(volume.server_start_seconds)}


def _up_grid(points, kinds, case):
    """Every point that memory holds and whose request is in time by itself, on each kind of server, at each end of the band."""
    limits = capacity.limited(**capacity.limits_of(case))
    grids = {}
    for name, end in ENDS.items():
        moved = capacity.paced(points, end)
        one = moved[moved["batch"] == 1].set_index(["gpu", "tensor_parallel"])["request_seconds"].rename("alone_seconds")
        moved = capacity.alone(moved, limits).join(one, on=["gpu", "tensor_parallel"]).merge(kinds, on="gpu")
        grids[name] = moved[moved["gpus_per_server"] >= moved["tensor_parallel"]]
    return grids


def _up(way, grids, start, month):
    """The cheapest GPU, degree and server of a grid for the month, with the best batch at each end; none if none is in time."""
    requests, limits = month.inputs["requests_per_month"], capacity.limited(**capacity.limits_of(month))
    timeout = month.inputs.get("idle_timeout", DEFAULTS["idle_timeout"].value)
    spare = 0 if way == SERVERLESS else limits.spare_replicas
    bills = {}
    for name, grid in grids.items():
        usd = _up_usd(grid, requests, start, timeout, limits.most_load, spare)
        bills[name] = grid.assign(usd=usd).groupby(KIND)[["usd", "alone_seconds"]].min()
    if bills["usd"].empty:
        return []
    best = bills["usd"]["usd"].idxmin()
    cold = volume.cold_request_share.formula(requests, bills["usd"].loc[best, "alone_seconds"], start, timeout)
    ends = {name: bill["usd"].get(best, math.inf) for name, bill in bills.items()}
    return [dict(requests_per_month=requests, way=way, **ends, cold=cold, fleet=f"{best[0]} from {best[2]}", row=best[3])]


def _up_usd(grid, requests, start, timeout, most_load, spare):
    up = volume.awake_share.formula(requests, grid["alone_seconds"], start, timeout)
    replicas = volume.awake_replicas.formula(up, requests, grid["request_seconds"], grid["batch"], most_load, spare)
    gpus = volume.awake_gpus.formula(replicas, up, grid["tensor_parallel"], grid["gpus_per_server"])
    return volume.awake_usd_per_month.formula(grid["usd_per_hour"], gpus)


# Paid all month

def _all_month(way, plans, kinds, month):
    """The cheapest servers of the plans at the rates of `kinds`, rented or owned."""
    if kinds.empty:
        return []
    requests, output = (month.inputs[name] for name in ("requests_per_month", "output"))
    most = month.inputs.get("most_servers", token_offers.SERVERS[-1])
    found = token_offers.on_servers(plans, kinds, most)
    if found.empty:
        return []
    busy = token_offers.busy_share(found, requests, output)
    rates = {"usd": found["usd_per_hour"], "low": found["low_rate"], "high": found["high_rate"]}
    for name, side in (("usd", ""), ("low", "low_"), ("high", "high_")):
        paid = found[f"{side}rented_gpus"]
        found[name] = (serving_usd_per_month.formula(rates[name], paid) if "work" not in found else
                       volume.owned_serving_usd_per_month.formula(paid, rates[name], found["work"], busy, found["availability"]))
    best = found.sort_values(["usd", "high", "tensor_parallel", "gpu", "provider"], key=nine_digits).iloc[0]
    return [dict(requests_per_month=requests, way=way, usd=best["usd"], low=best["low"], high=best["high"], cold=0,
                 fleet=f"{best['rented_gpus']:.0f} × {best['gpu']}", row=best["row"])]


@selection
def owned_hours(book, term):
    """What an hour of owned servers costs, of those whose price may decide: GPU, size, fixed cost with its ends, work.

    Empty where the book lacks a price that owning needs.
    """
    hours = [_owned_hour(book, gpu, term) for gpu in sorted(set(book.loc[book["item"] == "server", "gpu"]))]
    return pd.DataFrame(filter(None, hours), columns=["gpu", "gpus_per_server", "usd_per_hour", "low_rate", "high_rate", "work",
                                                      "availability", "provider", "row"])


def _owned_hour(book, gpu, term):
    try:
        deal = decide.deal(book, gpu, catalogue.assumptions(), {}, term)
    except ValueError:
        return None
    if deal.doubt:
        return None
    case = deal.case(catalogue.gpu(gpu))
    hour = decide.drawn_band(fixed_usd_per_hour, case, decide.draws(deal.ranges, DRAWS))
    return dict(gpu=gpu, gpus_per_server=deal.fixed["gpus_per_server"], usd_per_hour=hour.plan, low_rate=hour.low,
                high_rate=hour.high, work=case(work_usd_per_hour), availability=deal.ranges.loc["availability", "likely"],
                provider="own", row=deal.rows["server"].name)


# Which is the cheapest

def spans(bills, late_share):
    """From which volume to which each way is the cheapest, in order: `way`, `start`, `stop`, and the volumes where it is `sure`
    and where that is `open`.

    It is sure where its slow end costs less than the fast end of any other. A way on which more than `late_share` of requests
    wait for a cold start is not in time there.
    """
    found = []
    for requests, month in bills[bills["cold"] <= late_share].groupby("requests_per_month"):
        best = month.loc[month["usd"].idxmin()]
        others = month[month["way"] != best["way"]]
        sure = best["high"] < others["low"].min() if len(others) else True
        if not found or found[-1]["way"] != best["way"]:
            found.append(dict(way=best["way"], start=requests, stop=requests, sure=[], open=[], row=best["row"],
                              fleet=best["fleet"]))
        found[-1]["stop"] = requests
        found[-1]["sure" if sure else "open"].append(requests)
    for one, other in itertools.pairwise(found):
        other["start"] = one["stop"] = crossing(bills, other["way"], one["way"], one["stop"], other["start"])
    return found


def crossing(bills, way, other, before, after):
    """Volume between two of the table at which one way comes to cost what the other does; each bill is a power of it there."""
    held = bills.set_index(["way", "requests_per_month"])["usd"]
    try:
        first, last = (math.log(held[way, at] / held[other, at]) for at in (before, after))
    except KeyError:
        return after
    if not first > 0 >= last:
        return after
    return before * (after / before) ** (first / (first - last))


def turn(bills, way, other=API):
    """From which volume on a way costs less than another, as (low, plan, high) by the ends of its band; infinite if never."""
    both = bills.pivot(index="requests_per_month", columns="way", values=["usd", "low", "high"])
    if ("usd", way) not in both or ("usd", other) not in both:
        return (math.inf,) * 3
    return tuple(_first(both[name, way], both["usd", other]) for name in ("low", "usd", "high"))


def _first(bill, other):
    """The volume at which the first bill falls below the other and stays there."""
    above = bill.index[~(bill < other)]
    if len(above) and above[-1] == bill.index[-1]:
        return math.inf
    return bill.index[0] if above.empty else bill.index[bill.index > above[-1]][0]


def verdict(bills, requests, way, other=API):
    """Whether one way costs less than another in a month: `yes`, `no`, or too close to call; blank where either has no bill."""
    held = bills[bills["requests_per_month"] == requests].set_index("way")
    if way not in held.index or other not in held.index:
        return ""
    one, two = held.loc[way], held.loc[other]
    return "yes" if one["high"] < two["low"] else "no" if one["low"] > two["high"] else CLOSE


# What may wait

def waiting_usd(points, book, term, case):
    """The cheapest servers for requests that may wait, rented only while they are full: USD for a request, as (low, plan, high).

    `fleet` and `row` say which; None if no server of the book with a firm price holds a replica.
    """
    kinds = _firm(token_offers.servers(book, term))
    bills = {}
    for end in ("low", "plan", "high"):
        moved = capacity.paced(points, end)
        found = moved[points["batch"] <= points["places"]].merge(kinds, on="gpu")
        found = found[found["gpus_per_server"] >= found["tensor_parallel"]].reset_index(drop=True)
        rate = floor(found["gpus_per_server"] / found["tensor_parallel"]) * found["batch"] / found["request_seconds"]
        bills[end] = usd_per_million_tokens.formula(found["usd_per_hour"], found["gpus_per_server"], rate) / 1e6
    if found.empty:
        return None
    best = bills["plan"].idxmin()
    row = found.loc[best]
    return dict(low=bills["low"][best], plan=bills["plan"][best], high=bills["high"][best], batch=row["batch"],
                fleet=f"{row['gpus_per_server']:.0f} × {row['gpu']} from {row['provider']}", row=row["row"])
