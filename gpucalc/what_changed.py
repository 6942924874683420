"""What changed between two price books: which prices moved, by how much, and which conclusions flip."""
import functools
import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from . import capacity, catalogue, price_book, token_offers
from .break_even import break_even_utilization
from .decide import deal, owned
from .explanation import evaluate
from .law import HOURS_PER_YEAR
from .owning import owned_usd_per_hour
from .renting import (commitment_utilization, group_interruption_seconds, interruption_slowdown, level_usd_per_hour,
                      spot_usd_per_hour)
from .serving_cost import api_request_usd, requests_per_second
from .show import number, percent, usd

SAME = ["item", "provider", "sku", "gpu", "gpus", "term", "from_bytes"]
NOT_STATED = "not stated"
# Where a provider's list price is quoted from when a source doesn't name the region.
HOME = {"AWS": "us-east-1", "Azure": "US", "GCP": "us-central1", "Lambda": "all"}
PRICED = {"rent": "rent", "server": "server", "power": "power", "hosting": "hosting", "switch": "switch port", "cable": "cable"}


class Case(NamedTuple):
    """What conclusions are drawn for; `given` holds values that overrule assumptions or prices of both books."""

    utilization: float = 0.6
    given: dict = {}
    machines: int = 16
    machine_interruption_seconds: float = 86400
    checkpoint_seconds: float = 60
    restart_seconds: float = 600
    models: tuple = ("Llama-3-8B", "Llama-3-70B", "DeepSeek-V3")
    requests_per_month: float = 20e6
    prompt: int = 2000
    output: int = 300
    answer_limit: float = 20
    peak_factor: float = 2


class Conclusion(NamedTuple):
    """An answer that one price book gives, what it rests on (`figure`), and its prices by name: (USD, whose).

    A ranking holds the `scores` of all candidates too, the lowest of which wins, and their `unit`.
    """

    topic: str
    question: str
    answer: str
    value: float
    figure: str
    prices: dict
    scores: dict = {}
    unit: str = ""


def two_books(prices=None, before=None, after=None):
    """The books to compare: the reader's or the newest, and the newest other one of the project, in the order of their dates.

    A path given as `before` or `after` keeps that place.
    """
    own = price_book.price_books()
    last = Path(after or prices or own[-1])
    new = price_book.prices(last)
    others = [path for path in own if path.read_bytes() != last.read_bytes()]
    if not before and not others:
        raise ValueError("data/prices holds no second price book; give the parameter before")
    old = price_book.prices(before or others[-1])
    swap = not before and not after and new.attrs["date"] < old.attrs["date"]
    return (new, old) if swap else (old, new)


def matched(before, after):
    """Every price of either book beside the same one of the other: `before`, `after`, `ratio`, and what `change` it is.

    The same price has the same item, provider, SKU, GPU, number of GPUs, term, egress tier and region. Where one book doesn't
    state the region, it is compared with the provider's home region in the other, or with the only region that is there.
    """
    sides = [_by_offer(book) for book in (before, after)]
    rows = []
    for offer in dict.fromkeys([*sides[0], *sides[1]]):
        regions = [side.get(offer, {}) for side in sides]
        pairs = {region: region for region in regions[0] if region in regions[1]}
        for one, other, turned in ((0, 1, False), (1, 0, True)):
            if NOT_STATED in regions[one] and NOT_STATED not in regions[other]:
                free = [region for region in regions[other] if region not in pairs.values()]
                home = [region for region in free if region == HOME.get(offer[1])] or free
                if len(home) == 1:
                    pairs |= {home[0]: NOT_STATED} if turned else {NOT_STATED: home[0]}
        alone = [(region, None) for region in regions[0] if region not in pairs]
        alone += [(None, region) for region in regions[1] if region not in pairs.values()]
        rows += [_pair(regions, *pair) for pair in (*pairs.items(), *alone)]
    return pd.DataFrame(rows)


def _by_offer(book):
    """Rows of a book by what must be the same, and by region."""
    offers = {}
    for row in book.assign(gpus=book["gpus"].fillna(0), from_bytes=book["from_bytes"].fillna(0)).to_dict("records"):
        offers.setdefault(tuple(row[column] for column in SAME), {})[row["region"]] = row
    return offers


def _pair(regions, one, other):
    old, new = regions[0].get(one), regions[1].get(other)
    known = new or old
    before, after = (row["price"] if row else math.nan for row in (old, new))
    change = "added" if old is None else "gone" if new is None else "same" if before == after else "moved"
    ratio = after / before if before > 0 else math.nan
    region = known["region"] if one == other or None in (one, other) else f"{one} / {other}"
    return {**{column: known[column] for column in (*SAME, "unit")}, "region": region, "before": before, "after": after,
            "ratio": ratio, "change": change}


def provider_moves(before, after):
    """The cheapest GPU-hour of each provider, GPU and term in both books, the ratio, and whether it is the same `sku`."""
    keys = ["provider", "gpu", "term"]
    columns = [pd.concat({term: _rents(book, term, keys) for term in dict.fromkeys(book["term"])}).droplevel(0)[
        ["usd_per_hour", "sku"]] for book in (before, after)]
    moves = columns[0].join(columns[1], how="inner", lsuffix="_before", rsuffix="_after").reset_index()
    moves = moves.rename(columns={"usd_per_hour_before": "before", "usd_per_hour_after": "after"})
    return moves.assign(ratio=moves["after"] / moves["before"], same=moves["sku_before"] == moves["sku_after"])


def compared(before, after, case=Case()):
    """Every conclusion under both books: the answers, what they rest on, the `verdict`, and which price `moved` most.

    The verdict is `missing`, which is no flip, where a book lacks a price that the answer needs. Candidates of a ranking that
    one book lacks are left out of both.
    """
    sides = [{each.question: each for each in conclusions(book, case)} for book in (before, after)]
    rows = []
    for question in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (side.get(question) for side in sides)
        if old and new and old.scores:
            common = [name for name in old.scores if name in new.scores]
            old, new = ((_ranking(each, common) if len(common) > 1 else None) for each in (old, new))
        known = old or new or sides[0].get(question)
        files = [book.attrs["file"] for book, side in zip((before, after), sides) if question not in side]
        lacking = f"no price in {files[0]}" if files else "" if old else "fewer than two that both books price"
        verdict = "missing" if lacking else "flips" if old.answer != new.answer else "stays"
        row = {"topic": known.topic, "question": question, "verdict": verdict, "moved": lacking or _moved(old, new)}
        for when, each in (("before", old), ("after", new)):
            row |= {f"{name}_{when}": getattr(each, name) if each else None for name in ("answer", "value", "figure")}
        rows.append(row)
    return pd.DataFrame(rows)


def _ranking(ranking, names=None):
    """The ranking among some of its candidates: the winner and its score."""
    scores = {name: ranking.scores[name] for name in names or ranking.scores}
    best = min(scores, key=scores.get)
    return ranking._replace(answer=best, value=scores[best], figure=f"{usd(scores[best])} {ranking.unit}", scores=scores)


def _moved(old, new):
    """The prices behind a conclusion that differ, the one that moved most first; of a ranking, those of the two winners."""
    names = dict.fromkeys([*old.prices, *new.prices])
    if old.scores:
        names = dict.fromkeys([old.answer, new.answer])

    def size(name):
        values = [side.prices[name][0] if name in side.prices else 0 for side in (old, new)]
        return abs(math.log(values[1] / values[0])) if min(values) > 0 else math.inf

    shown = sorted((name for name in names if size(name) > 0), key=size, reverse=True)
    return "; ".join(f"{name} {_price(old, name)} to {_price(new, name)}" for name in shown[:3])


def _price(side, name):
    if name not in side.prices:
        return "none"
    value, whose = side.prices[name]
    return (f"{value:,.2f}" if value < 1000 else f"{value:,.0f}") + (f" ({whose})" if whose else "")


def conclusions(book, case=Case()):
    """What the book says under these prices, as a list; a question whose prices the book lacks is not in it."""
    return [*_owning(book, case), *_best_value(book), *_cheapest(book), *_reserving(book, case), *_spot(book, case),
            *_serving(book, case), *_managed(book, case)]


def decision(book, gpu, case=Case(), term="on-demand", provider=None):
    """Rent or own one GPU: the break-even utilization, both costs of a used hour, the answer, and the deal behind them."""
    held = deal(book, gpu, catalogue.assumptions(), case.given | {"utilization": case.utilization}, term, provider)
    return settled(held, gpu)


def settled(held, gpu):
    """What a deal comes to with every input at its likely value."""
    def at(law):
        return owned(law, catalogue.gpu(gpu), **held.ranges["likely"].to_dict(), **held.fixed)

    costs = at(owned_usd_per_hour), at(level_usd_per_hour)
    return {"break_even_utilization": at(break_even_utilization), "owned_usd_per_hour": costs[0],
            "level_usd_per_hour": costs[1], "answer": "own" if costs[0] < costs[1] else "rent", "deal": held}


def prices_of(held):
    """The prices of a deal by what they are for: (USD, whose)."""
    found = {}
    for item, name in PRICED.items():
        if held.rows[item] is not None:
            whose = held.rows[item]["provider"] if item in ("rent", "server") else ""
            found[name] = (float(held.rows[item][price_book.ITEMS[item].quantity]), whose)
    return found


def one_at_a_time(before, after, gpu, case=Case(), term="on-demand", provider=None):
    """The decision of the older book with each price of the newer one put in alone, and then with all of them."""
    old, new = (decision(book, gpu, case, term, provider) for book in (before, after))
    prices = [prices_of(side["deal"]) for side in (old, new)]
    rows = [{"price": "none", **old}]
    for item, name in PRICED.items():
        if name in prices[0] and name in prices[1] and prices[0][name][0] != prices[1][name][0]:
            size = (new if item == "server" else old)["deal"].fixed["gpus_per_server"]
            given = {price_book.ITEMS[item].quantity: prices[1][name][0], "gpus_per_server": size}
            alone = decision(before, gpu, case._replace(given=given | case.given), term, provider)
            rows.append({"price": name, "old": prices[0][name][0], "new": prices[1][name][0], **alone})
    return pd.DataFrame([*rows, {"price": "all", **new}]).drop(columns="deal").assign(
        flips=lambda frame: frame["answer"] != old["answer"])


def _rents(book, term, keys):
    """The cheapest rent on a term for each combination of the keys, as rows by them."""
    rents = book[(book["item"] == "rent") & (book["term"] == term)].sort_values("usd_per_hour", kind="stable")
    return rents.drop_duplicates(keys).set_index(keys)


def _owning(book, case):
    bought = book[(book["item"] == "server") & (book["term"] == "purchase")]["gpu"]
    power = catalogue.gpus()["tdp_watts"].dropna().index
    rented = _rents(book, "on-demand", ["gpu"]).index.intersection(power)
    if not {"power", "hosting"} <= set(book["item"]):
        return
    for gpu in dict.fromkeys(gpu for gpu in bought if gpu in rented):
        each = decision(book, gpu, case)
        value = each["break_even_utilization"]
        yield Conclusion("rent or own", f"{gpu}: rent or own at {percent(case.utilization)} utilization?", each["answer"],
                         value, f"own above {percent(value)}" if value <= 1 else "owning never pays", prices_of(each["deal"]))


def _best_value(book):
    rents = _rents(book, "on-demand", ["gpu"]).join(catalogue.gpus()[["peak_flops", "bandwidth"]], on="gpu")
    prices = dict(zip(rents.index, zip(rents["usd_per_hour"], rents["provider"])))
    for column, scale, what in (("peak_flops", 1e15, "PFLOP/s"), ("bandwidth", 1e12, "TB/s")):
        values = rents["usd_per_hour"] / rents[column] * scale
        if len(values):
            yield _ranking(Conclusion("value", f"Which GPU rents the cheapest {what}?", "", 0, "", prices, values.to_dict(),
                                      f"for {what} in an hour"))


def _cheapest(book):
    rents = _rents(book, "on-demand", ["gpu", "provider"])["usd_per_hour"]
    for gpu, offers in rents.groupby(level="gpu", sort=False):
        prices = {provider: (price, "") for (_, provider), price in offers.items()}
        if len(offers) > 1:
            yield _ranking(Conclusion("provider", f"{gpu}: who rents it cheapest?", "", 0, "", prices,
                                      {provider: price for provider, (price, _) in prices.items()}, "a GPU-hour"))


def _beside_on_demand(book, term):
    """The cheapest rent on a term of each instance that has one on demand in the same region, with that one.

    Where a source doesn't state the region, it is the provider's home region.
    """
    offer = ["provider", "sku", "gpu", "region"]
    book = book.assign(region=book["region"].mask(book["region"] == NOT_STATED, book["provider"].map(HOME).fillna(NOT_STATED)))
    on_demand = _rents(book, "on-demand", offer)["usd_per_hour"]
    rents = _rents(book, term, offer).reset_index()
    machines = rents["sku"].str.split().str[-1].str.removeprefix("ml.") if term == "managed" else rents["sku"]
    rents["on_demand"] = [on_demand.get(each) for each in zip(rents["provider"], machines, rents["gpu"], rents["region"])]
    for row in rents.dropna(subset="on_demand").drop_duplicates(offer[:3]).itertuples():
        yield (f"{row.provider} {row.sku}", row.gpu, row.gpus,
               {term: (row.usd_per_hour, ""), "on demand": (row.on_demand, "")})


def _reserving(book, case):
    for term in ("reserved-1y", "reserved-3y"):
        for offer, gpu, _, prices in _beside_on_demand(book, term):
            needed = float(commitment_utilization(prices[term][0], prices["on demand"][0]))
            yield Conclusion("reservation", f"{offer} ({gpu}): does {term} pay at {percent(case.utilization)}?",
                             "reserve" if needed < case.utilization else "on demand", needed, f"pays above {percent(needed)}",
                             prices)


def _spot(book, case):
    mean = group_interruption_seconds(case.machine_interruption_seconds, case.machines)
    slowdown = evaluate(interruption_slowdown, interruption_seconds=mean, checkpoint_seconds=case.checkpoint_seconds,
                        restart_seconds=case.restart_seconds)
    for offer, gpu, _, prices in _beside_on_demand(book, "spot"):
        cost, plain = spot_usd_per_hour(prices["spot"][0], slowdown), prices["on demand"][0]
        yield Conclusion("spot", f"{offer} ({gpu}): does spot pay for {case.machines} machines?",
                         "spot" if cost < plain else "on demand", cost / plain, f"{usd(cost)} against {usd(plain)}", prices)


def _serving(book, case):
    load = case.requests_per_month
    for model in case.models:
        sold = token_offers.api_offers(book, model)
        plans = _plans(model, load, case.prompt, case.output, case.answer_limit, case.peak_factor)
        paid = token_offers.rented_plans(plans, book, "on-demand", load, case.prompt, case.output)
        if sold.empty or paid.empty:
            continue
        costs = load * api_request_usd(
            case.prompt, case.output, sold["api_input_usd_per_million"], sold["api_output_usd_per_million"])
        api, own, cost = sold.loc[costs.idxmin()], paid.iloc[0], costs.min()
        yield Conclusion(
            "serving", f"{model}: servers or an API for {number(load)} requests a month?",
            "servers" if own["serving_usd_per_month"] < cost else "API", own["serving_usd_per_month"] / cost,
            f"{own['serving_usd_per_month']:,.0f} USD on {own['rented_gpus']:g} × {own['gpu']} against {cost:,.0f} USD",
            {"rent": (own["usd_per_hour"], own["provider"]),
             "a million tokens in": (api["api_input_usd_per_million"], api["provider"]),
             "a million tokens out": (api["api_output_usd_per_million"], api["provider"])})


@functools.cache
def _plans(model, load, prompt, output, answer_limit, peak_factor):
    """The servers that carry the load, whatever they cost: weights and cache in FP8, on every GPU and degree."""
    architecture, cards = catalogue.model(model), capacity.linked_gpus("H100 SXM 80GB")
    cards["peak_flops"] = cards["fp8_flops"].fillna(cards["peak_flops"])
    formats = dict(weight_element_bytes=1, cache_element_bytes=1)
    points = capacity.points(architecture, cards, catalogue.efficiency("achieved"), capacity.allowed_degrees(architecture),
                             dict(prompt=prompt, output=output),
                             dict(framework_bytes=1e9, batched_tokens=8192, max_sequences=256, **formats), **formats)
    return capacity.plans(points, requests_per_second(load, peak_factor), answer_limit)


def _managed(book, case):
    staff = catalogue.assumptions().loc["staff_usd_per_year", "likely"]
    for offer, gpu, gpus, prices in _beside_on_demand(book, "managed"):
        extra = (prices["managed"][0] - prices["on demand"][0]) * gpus * HOURS_PER_YEAR * case.utilization
        yield Conclusion("managed", f"{offer} ({gpu}): is the service worth the staff of a server?",
                         "managed" if extra < staff else "plain", extra, f"{extra:,.0f} USD a year against {staff:,.0f} USD",
                         prices)
