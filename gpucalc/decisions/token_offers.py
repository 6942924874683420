"""What a price book says about tokens: the APIs that sell a model's, and the servers to rent that make them."""
import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from ..core.arithmetic import floor, where
from ..core.evaluate import Case, Row
from ..laws.queueing import spare_places
from ..laws.serving_cost import (api_batch_request_usd, api_request_usd, break_even_requests_per_month,
                                 carried_requests_per_month, input_usd_per_million, output_usd_per_million, paid_utilization,
                                 replica_seconds, requests_per_second, serving_usd_per_month)
from ..rows import tables
from ..rows.ages import firm
from ..rows.price_book import MissingPrice
from ..rows.rents import cheapest_rent, rents
from . import capacity
from .columns import nine_digits
from .jobs import RENTED_FLEET, BREAK_EVEN_FLEET
from .rule import chosen

API_ITEMS = {"api-input": "api_input_usd_per_million", "api-cached-input": "api_cached_usd_per_million",
             "api-output": "api_output_usd_per_million"}
BATCH_ITEMS = {"api-batch-input": "api_batch_input_usd_per_million", "api-batch-output": "api_batch_output_usd_per_million"}
OFFER = ["provider", "sku", "region"]
SERVERS = (*range(1, 9), 12, 16, 24, 32, 48, 64)
# Rents that may end at any time, all at once.
TAKEN_BACK = ("spot", "marketplace")


def models_sold(book: pd.DataFrame, items: Iterable[str]) -> list[str]:
    """The models whose tokens a book sells, also under the name of another of the same shape."""
    sold = {*book.loc[book["item"].isin(items), "sku"]}
    aliases = tables.rows("aliases").items()
    return sorted(sold | {name for name, alias in aliases if alias["kind"] == "api" and alias["means"] in sold})


def _sold(book, items, model):
    """The prices of a model's tokens; those under the name of another of the same shape where it has none of its own."""
    rows = book[book["item"].isin(items)]
    alias = tables.rows("aliases").get(model, {})
    other = alias["means"] if alias.get("kind") == "api" and not (rows["sku"] == model).any() else model
    return rows[rows["sku"] == other]


def api_offers(book, model):
    """Every API offer of a model, its prices under the laws' names; `row` cites its output price.

    Cached tokens cost what the others do where an offer has no price for them (`has_cached`).
    """
    rows = _sold(book, API_ITEMS, model)
    sure = firm(rows).groupby([rows[column] for column in OFFER]).all().rename("firm")
    prices = rows.set_index([*OFFER, "item"])["price"].unstack("item").reindex(columns=list(API_ITEMS))
    offers = prices.rename(columns=API_ITEMS).assign(has_cached=prices["api-cached-input"].notna())
    offers["api_cached_usd_per_million"] = prices["api-cached-input"].fillna(prices["api-input"])
    about = rows[rows["item"] == "api-output"].rename_axis("row").reset_index().set_index(OFFER)
    return offers.join(about[["row", "date", "source", "confidence", "note"]]).join(sure).reset_index()


def batch_offers(book, model):
    """Every `firm` API offer of a model whose requests may wait for their batch; prices and `row` as in `api_offers`."""
    rows = _sold(book, BATCH_ITEMS, model)
    sure = rows[firm(rows)].rename_axis("row").reset_index()
    prices = sure.set_index([*OFFER, "item"])["price"].unstack("item").reindex(columns=list(BATCH_ITEMS)).dropna()
    about = sure[sure["item"] == "api-batch-output"].set_index(OFFER)[["row", "date"]]
    return prices.rename(columns=BATCH_ITEMS).join(about).reset_index()


def batch_offer(book, model, case):
    """The cheapest of the `batch_offers` for the case's request: `provider`, `row` of its output price, and
    `api_batch_request_usd`; None if the book has none."""
    offers = batch_offers(book, model)
    if offers.empty:
        return None
    prices = {name: offers[name] for name in BATCH_ITEMS.values()}
    priced = offers.assign(api_batch_request_usd=case.but(**prices)(api_batch_request_usd))
    return priced.sort_values(["api_batch_request_usd", *OFFER]).iloc[0]


def priced_offers(book, model, case):
    """The `api_offers` with what the request of the case costs at each, `api_request_usd`, the cheapest first.

    Those that are not `firm` come last: they decide nothing.
    """
    offers = api_offers(book, model)
    offers = offers.assign(api_request_usd=request_usd_of(offers, case)).sort_values(["api_request_usd", *OFFER], kind="stable")
    return _firm_first(offers)


def _firm_first(found):
    return pd.concat([found[found["firm"]], found[~found["firm"]]]).reset_index(drop=True)


def doubtful(found, price):
    """Offers or plans that cost less than the first but are not `firm`, the cheapest first: a headline names them."""
    if found.empty:
        return found
    return found[~found["firm"] & (found[price] < found[price].iloc[0])].sort_values(price, kind="stable")


def rumours(*cheaper):
    """Who asks the least in each of the tables of `doubtful` offers, and how sure that is, in words."""
    return [f"{found['provider'].iloc[0]} ({found['confidence'].iloc[0]})" for found in cheaper if len(found)]


def check_term(term, spare_replicas):
    """Raise ValueError for servers that may be taken back at any time where nothing is to spare."""
    if term in TAKEN_BACK and not spare_replicas:
        raise ValueError(f"parameter term: {term!r} with spare_replicas 0; allowed: a term on which servers stay, or a spare")


def request_usd_of(offers, case):
    """The price of the case's request (prompt, output, cached_share) at each API offer (USD)."""
    return case.but(**{name: offers[name] for name in API_ITEMS.values()})(api_request_usd)


def servers(book, term):
    """The cheapest server to rent of each GPU and size, by GPU-hour."""
    found = rents(book, term=term, per="server", required=False)
    found = found.assign(firm=firm(found)).rename_axis("row").reset_index()
    return found[["row", "gpu", "gpus_per_server", *OFFER, "usd_per_hour", "date", "source", "confidence", "firm"]]


def rentable(cards, book, term):
    """Those of the cards that the book rents on the term or without servers."""
    return cards[cards.index.isin([*servers(book, term)["gpu"], *servers(book, "serverless")["gpu"]])]


def server(book, gpu, tensor_parallel, term, usd_per_hour=None):
    """The cheapest offer of a GPU in servers that hold a replica, or one at a rate that is given, as a row for a case.

    Raises MissingPrice if there is none.
    """
    if usd_per_hour is not None:
        return Row({"usd_per_hour": usd_per_hour, "gpus_per_server": tensor_parallel, "provider": "given",
                    "sku": "parameter", "date": "given"}, "parameter usd_per_hour", "rent")
    try:
        return cheapest_rent(book, gpu=gpu, term=term, at_least=tensor_parallel)
    except MissingPrice as error:
        raise MissingPrice(f"{error}; or give the parameter usd_per_hour") from None


def month_plans(points, book, term, case):
    """The cheapest servers of each GPU and degree that carry the month of the case within its limits, the cheapest plan first.

    points: of `capacity.search`. case: requests_per_month, peak_factor, prompt, output, and the limits of `capacity.plans`;
    most_servers.
    """
    load, prompt, output = (case.inputs[name] for name in ("requests_per_month", "prompt", "output"))
    rate, limits = case(requests_per_second), capacity.limits_of(case)
    plans = capacity.plans(points, rate, **limits)
    plans = plans.assign(binds=capacity.binding(plans, points, rate, **limits))
    return rented_plans(plans, book, term, load, prompt, output, case.inputs.get("most_servers"))


def rented_plans(plans, book, term, requests_per_month, prompt, output, most_servers=None):
    """The cheapest servers for each GPU and degree of `capacity.plans` that carries the load, the cheapest plan first.

    Plans on prices that are not `firm` come last. A replica stands in one server, whole servers are paid, and a plan has at most
    `most_servers` (None: the last of SERVERS). Tokens cost what they do at the utilization of the load. The bill is that of the
    plan; `low_`, `high_` and `formula_serving_usd_per_month` are those of the same servers for the other counts.
    """
    found = paid_plans(plans, servers(book, term), most_servers)
    rate, alone, step, size, degree = (found[name] for name in (
        "usd_per_hour", "replica_prefill_seconds", "replica_pass_seconds", "batch", "tensor_parallel"))
    busy = busy_share(found, requests_per_month, output)
    return found.assign(paid_utilization=busy,
                        input_usd_per_million=input_usd_per_million(rate, alone, prompt, degree, busy),
                        output_usd_per_million=output_usd_per_million(rate, step, size, degree, busy))


def paid_plans(plans, kinds, most_servers=None):
    """The bills of `rented_plans` on these kinds of server, without what tokens cost."""
    return cheapest_of_each(on_servers(plans, kinds, most_servers), "serving_usd_per_month")


def on_servers(plans, kinds, most_servers=None, sides=capacity.SIDES):
    """The plans on each kind of server that holds a replica, with the GPUs that are paid on each of the sides and their bill, by
    the rule; those within the cap, which is the last of SERVERS where none is given."""
    plans, paid_for = plans[plans["limit"] == ""], {}
    degree = plans["tensor_parallel"].to_numpy()
    offers = {name: kinds[name].to_numpy() for name in ("gpu", "gpus_per_server", "usd_per_hour")}
    offers |= {"kind": np.arange(len(kinds)), "most_gpus": (most_servers or SERVERS[-1]) * offers["gpus_per_server"]}
    for side in sides:
        gpus = plans[f"{side}gpus"].to_numpy()
        lacks = gpus == math.inf
        fleets = dict(gpu=plans["gpu"].to_numpy(), tensor_parallel=degree, plan=np.arange(len(plans)), lacks_fleet=1.0 * lacks,
                      planned_replicas=where(lacks, 1, gpus / degree))
        paid, able = chosen(RENTED_FLEET, Case(), offers, fleets)
        paid_for |= {f"{side}{name}": where(able, paid[name], math.inf) for name in ("rented_gpus", "serving_usd_per_month")}
    found = pd.concat([plans.iloc[paid["plan"]].reset_index(drop=True),
                       kinds.iloc[paid["kind"]].drop(columns="gpu").reset_index(drop=True)], axis=1).assign(**paid_for)
    return found[found["rented_gpus"] < math.inf]


def cheapest_of_each(found, price):
    """The cheapest plan of each GPU and degree, firm ones before others; of equal bills that with the lower slow end."""
    found = found.sort_values([price, f"high_{price}", "tensor_parallel", "gpu", "gpus_per_server"], key=nine_digits)
    return _firm_first(_firm_first(found).drop_duplicates(["gpu", "tensor_parallel"]))


def busy_share(found, requests_per_month, output):
    """The utilization of the GPUs that each plan pays."""
    whole = replica_seconds(found["replica_prefill_seconds"], found["replica_pass_seconds"], found["batch"], output)
    return paid_utilization(requests_per_month, whole, found["rented_gpus"], found["tensor_parallel"])


def break_even_plans(points, book, term, api_request_usd, answer_limit=None, peak_factor=1, most_servers=None, **limits):
    """For each GPU and degree the fewest requests a month from which full-time servers cost less than an API.

    They keep the limits of `capacity.plans` there, at the times to plan for. GPUs that no number of servers of SERVERS up to
    `most_servers` makes cheaper are left out, and so are prices that are not `firm`.
    """
    kept = capacity.limited(answer_limit=answer_limit, **limits)
    points = capacity.paced(points)
    sizes = [count for count in SERVERS if count <= (most_servers or SERVERS[-1])]
    kinds = servers(book, term)
    found = points[points["batch"] <= points["places"]].merge(kinds[kinds["firm"]], on="gpu")
    found = found[found["gpus_per_server"] >= found["tensor_parallel"]].merge(pd.DataFrame({"servers": sizes}), how="cross")
    replicas = found["servers"] * floor(found["gpus_per_server"] / found["tensor_parallel"])
    paid = serving_usd_per_month(found["usd_per_hour"], found["servers"] * found["gpus_per_server"])
    least = break_even_requests_per_month(paid, api_request_usd)
    spare = spare_places(found["request_seconds"], kept.answer_limit, kept.late_share)
    carried = carried_requests_per_month(replicas, found["batch"], spare, found["request_seconds"], peak_factor)
    found = found.assign(replicas=replicas, serving_usd_per_month=paid, carried_requests_per_month=carried,
                         break_even_requests_per_month=least)
    turns, able = capacity.held(found, requests_per_second.formula(least, peak_factor), replicas, kept, BREAK_EVEN_FLEET, **found[
        ["gpu", "tensor_parallel", "carried_requests_per_month", "break_even_requests_per_month"]])
    order = ["break_even_requests_per_month", "batch", "gpu", "tensor_parallel"]
    return found.iloc[turns["place"][able]].sort_values(order, key=nine_digits, kind="stable", ignore_index=True)


def first_turn(points, book, term, api_request_usd, case):
    """The servers that pay in the smallest month against an API at that price; None if none do."""
    found = break_even_plans(points, book, term, api_request_usd, **turn_limits(case))
    return found.iloc[0] if len(found) else None


def turn_limits(case):
    """What of the case says when servers pay: its limits, peak_factor, most_servers."""
    shared = {name: case.inputs[name] for name in ("peak_factor", "most_servers") if name in case.inputs}
    return capacity.limits_of(case) | shared


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
