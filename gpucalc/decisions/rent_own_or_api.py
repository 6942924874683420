"""Ways to serve tokens: the bill of a load on an API, on servers rented and owned, and where they turn."""
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arithmetic import floor
from ..core.evaluate import Case
from ..laws.demand import mean_requests_per_month
from ..laws.serving_cost import paid_utilization, rented_gpus, serving_usd_per_month
from ..laws.serving_volume import owned_serving_usd_per_month
from . import capacity, token_offers
from .points import value_of
from .rent_or_buy import given_value, rent_or_buy, RentOrBuy, USUAL_TERM


# The bill of a served load on every way to it: the plan that was chosen, an API, servers of one's own; and where they turn.
#
# The browser answers the same (book/static/owning.js).

API, BATCH, RENTED, OWNED = "an API", "an API, in batches", "servers rented all month", "servers of one's own"
YOURS = "cards that you have"
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
    found = bought + ([Way(way, ends[0], ends[1], ends[2], plan["provider"], "", plan["row"])] if plan.get("priced", 1) else [])
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
