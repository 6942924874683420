"""Ways to serve tokens: the bill of a month on an API, on servers rented and owned, by volume and for one load."""
import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arithmetic import floor
from ..core.evaluate import Case
from ..core.quantities import DEFAULTS
from ..laws import serving_volume as volume
from ..laws.demand import mean_requests_per_month
from ..laws.owning import fixed_usd_per_hour, work_usd_per_hour
from ..laws.serving_cost import paid_utilization, rented_gpus, requests_per_second, serving_usd_per_month, usd_per_million_tokens
from ..laws.serving_volume import owned_serving_usd_per_month
from ..rows import catalogue
from ..rows.bands import CLOSE
from ..rows.kept import derivation, selection
from . import capacity, rent_or_buy as decide, token_offers
from .columns import nine_digits
from .points import value_of
from .rent_or_buy import given_value, rent_or_buy, RentOrBuy, USUAL_TERM


# The bill of a month over volumes on every way to serve tokens: an API, serverless GPUs, servers rented and owned.

API, BATCH, SERVERLESS, SCALED = "an API", "an API, in batches", "serverless GPUs", "servers rented with the load"
RENTED, OWNED = "servers rented all month", "servers of one's own"
YOURS = "cards that you have"
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


# The bill of a served load on every way to it: the plan that was chosen, an API, servers of one's own; and where they turn.
#
# The browser answers the same (book/static/owning.js).

DEGREES = ("tensor_parallel", "attention_parallel", "pipeline_parallel")
# What of the times of its replica a plan has worked out.
TIMES = ("replica_prefill_seconds", "replica_pass_seconds", "prompt_turn_seconds", "prompt_seconds", "prompt_host_seconds",
         "speculative_seconds", "time_per_output_token", "fixed_share", "growing_share", "lone_share")

# Servers that are rented for a window alone.
FOR_HOURS = "servers rented for these hours"
# How a price is said that is firm but too old to decide by.
OLD = "old"


class Way(NamedTuple):
    """One way and what it costs (USD a month or window): `usd` to plan for, `low` and `high` the ends of its band; who sells it,
    and the `row` that prices it.

    doubt: why it decides nothing, the confidence of its price or `OLD`; empty where it may.
    """

    way: str
    usd: float
    low: float
    high: float
    who: str
    doubt: str
    row: str


class Ways(NamedTuple):
    """The ways to serve the `requests` of a month, or of a window, the cheapest first and those in doubt last, at today's prices;
    and behind them servers of one's own, whose bill is an average over years.

    lacks: ways that nothing is known to cost, as their price is missing. busy: the share of the GPU-time paid that the requests
    take. below: the load below which the cheapest firm API costs less than the plan's own bill, and `turn` that from which whole
    servers of the plan cost less than the API and carry it in time: requests per second, infinite where none do, None without an
    API or for a window. level: the plan's own bill averaged over the same years, in which rents change: that to set beside
    servers of one's own (USD/month). owning: renting the plan's servers all the time against buying them.
    """

    requests: float
    rows: list[Way]
    lacks: tuple[str, ...]
    busy: float | None
    below: float | None
    turn: float | None
    level: float | None
    owning: RentOrBuy | None


@derivation
def ways(case: Case, book: pd.DataFrame, plan: Mapping[str, Any]) -> Ways:
    """The ways to serve the load of a case, by the prices of a book.

    case: model, prompt and output, `requests_per_second` and the limits of a served load, or `window_requests`. plan: the choice
    that was made, by column: gpu, provider, row, usd_per_hour, gpus_per_server, tensor_parallel, planned_replicas, rented_gpus,
    the times of a replica with its batch, and `serving_usd_per_month` or `window_usd`, also as `low_` and `high_`.
    """
    windowed = "window_usd" in plan
    requests = float(value_of(case, "window_requests") if windowed else case(mean_requests_per_month))
    bill = "window_usd" if windowed else "serving_usd_per_month"
    ends = [float(plan.get(f"{end}{bill}", plan[bill])) for end in ("", "low_", "high_")]
    bought = _api_way(case, book, requests) + (_batch_way(case, book, requests) if windowed else [])
    has = plan.get("most_rented", math.inf) < math.inf
    way = YOURS if has else FOR_HOURS if windowed else RENTED
    found = bought + ([Way(way, *ends, plan["provider"], "", plan["row"])] if plan.get("priced", 1) else [])
    if windowed or has or not plan.get("priced", 1):
        return Ways(requests, _ordered(found), (() if bought else (API,)), None, None, None, None, None)
    held = {name: float(plan[name]) for name in (*DEGREES, "batch", *TIMES) if name in plan}
    busy = float(case.but(requests_per_month=requests, rented_gpus=float(plan["rented_gpus"]), **held)(paid_utilization))
    owning = _owning(book, plan)
    level = None if owning.paid is None else ends[0] * owning.paid.plan / float(plan["usd_per_hour"])
    owned = _owned(owning, plan, ends, busy)
    lacks = tuple(way for way, there in ((API, bought), (OWNED, owned)) if not there)
    below, turn = _turns(case, plan, min((each.usd for each in bought if not each.doubt), default=None), ends[0])
    return Ways(requests, _ordered(found) + owned, lacks, busy, below, turn, level, owning)


def _ordered(found):
    return sorted(found, key=lambda each: (each.doubt != "", each.usd))


# From an API

def _api_way(case, book, requests):
    if "output" not in case.inputs:
        return []
    offers = token_offers.priced_offers(book, case.rows["model"].name, case)
    return [_bought_way(API, requests * offer.api_request_usd, offer, "" if offer.firm else offer.confidence)
            for offer in offers.itertuples()]


def _batch_way(case, book, requests):
    offer = None if "output" not in case.inputs else token_offers.batch_offer(book, case.rows["model"].name, case)
    return [] if offer is None else [_bought_way(BATCH, requests * offer.api_batch_request_usd, offer)]


def _bought_way(way, usd, offer, doubt=""):
    return Way(way, *[float(usd)] * 3, offer.provider, doubt, offer.row)


def replica_size(plan: Mapping[str, Any]) -> float:
    """GPUs of a replica of the plan."""
    return math.prod(plan.get(name, 1) for name in DEGREES)


def _turns(case, plan, api_usd, plan_usd):
    """The loads at which the plan's bill, and that of some number of its servers, is the API's (1/s)."""
    if api_usd is None:
        return None, None
    rate = value_of(case, "requests_per_second")
    servers = np.array(token_offers.SERVERS, float)
    loads = rate * serving_usd_per_month(plan["usd_per_hour"], servers * plan["gpus_per_server"]) / api_usd
    each = plan["gpus_per_server"] / replica_size(plan)
    replicas = servers * floor(each) if each >= 1 else floor(servers * each)
    limits = capacity.limited(**{name: given_value(case, name) for name in capacity.Limits._fields})
    carried = loads[capacity.held({**plan, **capacity.lengths_of(case)}, loads, replicas, limits)[-1]]
    return float(rate * plan_usd / api_usd), float(carried[0]) if len(carried) else math.inf


# Owned

def _owning(book, plan):
    """Renting the plan's GPUs against buying servers for it: rent is paid for all hours of the month, but owned servers come
    whole, and are used as far as they take the place of rented GPUs."""
    case = Case(gpu=plan["gpu"], usd_per_hour=float(plan["usd_per_hour"]), term=plan.get("term", USUAL_TERM), utilization=1.0)
    found = rent_or_buy(case, book)
    used = plan["rented_gpus"] / gpus if (gpus := owned_gpus(found, plan)) else 1.0
    return rent_or_buy(case.but(utilization=float(used)), book) if used < 1 else found


def owned_gpus(owning: RentOrBuy, plan: Mapping[str, Any]) -> float:
    """GPUs of the servers that are bought for the same replicas; 0 where none of that GPU holds one."""
    size = 0 if owning.deal is None else owning.deal.fixed["gpus_per_server"]
    replicas = plan.get("all_replicas", plan["planned_replicas"])
    return rented_gpus.formula(replicas, replica_size(plan), size) if size >= plan["tensor_parallel"] else 0


def _owned(owning, plan, ends, busy):
    """The bill of the same replicas on servers that are bought; counts at the ends of the band are as those of the plan."""
    gpus = owned_gpus(owning, plan)
    if not gpus:
        return []
    server, likely = owning.deal.rows["server"], owning.deal.ranges["likely"]
    rates = (owning.fixed.plan, owning.fixed.low, owning.fixed.high)
    usd = [float(owned_serving_usd_per_month.formula(gpus * end / ends[0], rate, owning.work, busy, likely["availability"]))
           for end, rate in zip(ends, rates)]
    doubt = "" if not owning.deal.doubt else OLD if server.confidence == "seen" else server.confidence
    return [Way(OWNED, *usd, server.provider, doubt, server.name)]
