"""What a price book says about tokens: the APIs that sell a model's, and the servers to rent that make them."""
import math

import pandas as pd

from . import capacity
from ..core.arithmetic import floor
from ..core.evaluate import Row
from ..laws.serving import spare_places
from ..rows.rents import cheapest_rent, rents
from ..laws.serving_cost import (api_request_usd, break_even_requests_per_month, carried_requests_per_month,
                                 input_usd_per_million, output_usd_per_million, paid_utilization, rented_gpus,
                                 replica_seconds, requests_per_second, serving_usd_per_month)

API_ITEMS = {"api-input": "api_input_usd_per_million", "api-cached-input": "api_cached_usd_per_million",
             "api-output": "api_output_usd_per_million"}
OFFER = ["provider", "sku", "region"]
SERVERS = (*range(1, 9), 12, 16, 24, 32, 48, 64)


def api_offers(book, model):
    """Every API offer of a model, its prices under the laws' names; `row` cites its output price.

    Cached tokens cost what the others do where an offer has no price for them (`has_cached`).
    """
    rows = book[book["item"].isin(API_ITEMS) & (book["sku"] == model)]
    prices = rows.set_index([*OFFER, "item"])["price"].unstack("item").reindex(columns=list(API_ITEMS))
    offers = prices.rename(columns=API_ITEMS).assign(has_cached=prices["api-cached-input"].notna())
    offers["api_cached_usd_per_million"] = prices["api-cached-input"].fillna(prices["api-input"])
    about = rows[rows["item"] == "api-output"].rename_axis("row").reset_index().set_index(OFFER)
    return offers.join(about[["row", "date", "source", "confidence", "note"]]).reset_index()


def priced_offers(book, model, case):
    """The `api_offers` with what the request of the case costs at each, `api_request_usd`, the cheapest first."""
    offers = api_offers(book, model)
    offers = offers.assign(api_request_usd=request_usd_of(offers, case))
    return offers.sort_values("api_request_usd", kind="stable").reset_index(drop=True)


def request_usd_of(offers, case):
    """The price of the case's request (prompt, output, cached_share) at each API offer (USD)."""
    return case.but(**{name: offers[name] for name in API_ITEMS.values()})(api_request_usd)


def servers(book, term):
    """The cheapest server to rent of each GPU and size, by GPU-hour."""
    found = rents(book, term=term, per="server", required=False)
    found = found.rename_axis("row").reset_index()
    return found[["row", "gpu", "gpus_per_server", *OFFER, "usd_per_hour", "date", "source", "confidence"]]


def server(book, gpu, tensor_parallel, term, usd_per_hour=None):
    """The cheapest offer of a GPU in servers that hold a replica, or one at a rate that is given, as a row for a case.

    Raises ValueError if there is none.
    """
    if usd_per_hour is not None:
        return Row({"usd_per_hour": usd_per_hour, "gpus_per_server": tensor_parallel, "provider": "given",
                    "sku": "parameter", "date": "given"}, "parameter usd_per_hour", "rent")
    try:
        return cheapest_rent(book, gpu=gpu, term=term, at_least=tensor_parallel)
    except ValueError as error:
        raise ValueError(f"{error}; or give the parameter usd_per_hour") from None


def month_plans(points, book, term, case):
    """The cheapest servers of each GPU and degree that carry the month of the case in time, the cheapest plan first.

    points: of `capacity.search`. case: requests_per_month, peak_factor, answer_limit, late_share, prompt, output.
    """
    load, limit, late, prompt, output = (case.inputs[name] for name in (
        "requests_per_month", "answer_limit", "late_share", "prompt", "output"))
    plans = capacity.plans(points, case(requests_per_second), limit, late)
    return rented_plans(plans, book, term, load, prompt, output)


def rented_plans(plans, book, term, requests_per_month, prompt, output):
    """The cheapest servers for each GPU and degree of `capacity.plans` that carries the load, the cheapest plan first.

    A replica stands in one server, and whole servers are paid. Tokens cost what they do at the utilization of the load. The bill
    is that of the plan; `low_`, `high_` and `formula_serving_usd_per_month` are those of the same servers for the other counts.
    """
    found = plans[plans["limit"] == ""].merge(servers(book, term), on="gpu")
    found = found[found["gpus_per_server"] >= found["tensor_parallel"]]
    for side in ("", "formula_", "low_", "high_"):
        replicas, able = found[f"{side}gpus"] / found["tensor_parallel"], found[f"{side}gpus"] < math.inf
        paid = rented_gpus(replicas.where(able, 1), found["tensor_parallel"], found["gpus_per_server"])
        found[f"{side}rented_gpus"] = paid.where(able, math.inf)
        found[f"{side}serving_usd_per_month"] = serving_usd_per_month(found["usd_per_hour"], paid).where(able, math.inf)
    found = found.sort_values(["serving_usd_per_month", "high_serving_usd_per_month", "tensor_parallel"], kind="stable")
    found = found.drop_duplicates(["gpu", "tensor_parallel"]).reset_index(drop=True)
    rate, alone, step, size, degree = (found[name] for name in (
        "usd_per_hour", "replica_prefill_seconds", "replica_pass_seconds", "batch", "tensor_parallel"))
    whole = replica_seconds(alone, step, size, output)
    busy = paid_utilization(requests_per_month, whole, found["rented_gpus"], degree)
    return found.assign(paid_utilization=busy,
                        input_usd_per_million=input_usd_per_million(rate, alone, prompt, degree, busy),
                        output_usd_per_million=output_usd_per_million(rate, step, size, degree, busy))


def break_even_plans(points, book, term, api_request_usd, answer_limit, late_share=0.05, peak_factor=1):
    """For each GPU and degree the fewest requests a month from which full-time servers cost less than an API.

    They still answer in time, at the times to plan for. GPUs that no number of servers up to the last of SERVERS makes cheaper
    are left out.
    """
    points = capacity.paced(points)
    possible = points[(points["batch"] <= points["places"]) & (points["request_seconds"] < answer_limit)]
    found = possible.merge(servers(book, term), on="gpu").merge(pd.DataFrame({"servers": SERVERS}), how="cross")
    found = found[found["gpus_per_server"] >= found["tensor_parallel"]]
    replicas = found["servers"] * floor(found["gpus_per_server"] / found["tensor_parallel"])
    paid = serving_usd_per_month(found["usd_per_hour"], found["servers"] * found["gpus_per_server"])
    size, time = found["batch"], found["request_seconds"]
    spare = spare_places(time, answer_limit, late_share)
    carried = carried_requests_per_month(replicas, size, spare, time, peak_factor)
    found = found.assign(replicas=replicas, serving_usd_per_month=paid, carried_requests_per_month=carried,
                         break_even_requests_per_month=break_even_requests_per_month(paid, api_request_usd))
    found = found[found["carried_requests_per_month"] >= found["break_even_requests_per_month"]]
    found = found.sort_values(["break_even_requests_per_month", "batch"], kind="stable")
    return found.drop_duplicates(["gpu", "tensor_parallel"]).reset_index(drop=True)


def first_turn(points, book, term, api_request_usd, case):
    """The servers that pay in the smallest month against an API at that price; None if none do."""
    found = break_even_plans(points, book, term, api_request_usd, **turn_limits(case))
    return found.iloc[0] if len(found) else None


def turn_limits(case):
    """What of the case says when servers pay: answer_limit, late_share, peak_factor."""
    return {name: case.inputs[name] for name in ("answer_limit", "late_share", "peak_factor")}


def against_servers(offers, points, book, term, case):
    """The `priced_offers` with the month from which some servers cost less, and which.

    `break_even_requests_per_month` is infinite and `fleet` blank where none ever do.
    """
    turns = [first_turn(points, book, term, usd, case) for usd in offers["api_request_usd"]]
    months = [math.inf if turn is None else turn.break_even_requests_per_month for turn in turns]
    fleets = [None if turn is None else fleet(turn) for turn in turns]
    return offers.assign(break_even_requests_per_month=months, fleet=fleets)


def turned(plans, points, book, term, api_request_usd, case):
    """The plans with the month from which servers of their GPU and degree cost less than an API; infinite if never."""
    found = break_even_plans(points, book, term, api_request_usd, **turn_limits(case))
    months = found.set_index(["gpu", "tensor_parallel"])["break_even_requests_per_month"].to_dict()
    keys = zip(plans["gpu"], plans["tensor_parallel"])
    return plans.assign(break_even_requests_per_month=[months.get(key, math.inf) for key in keys])


def fleet(row):
    """Servers in words: `2 servers of 8 × H100 SXM 80GB`."""
    return f"{row.servers:.0f} server{'s' if row.servers > 1 else ''} of {row.gpus_per_server:.0f} × {row.gpu}"
