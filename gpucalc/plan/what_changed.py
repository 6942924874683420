"""What changed between two price books: which prices moved, by how much, and which conclusions flip."""
import functools
import math
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from . import capacity, queue, token_offers
from ..rows import bands, catalogue, price_book
from ..rows.book_diff import HOME, NOT_STATED
from ..rows.rents import rents
from ..laws.break_even import break_even_utilization, owning_npv
from .decide import Deal, deal, drawn_band, draws, probability, winner
from ..core.arithmetic import HOURS_PER_YEAR
from ..core.evaluate import Case
from ..laws.owning import owned_usd_per_hour
from ..laws.renting import (
    commitment_utilization, group_interruption_seconds, interruption_slowdown, level_usd_per_hour, spot_usd_per_hour)
from ..laws.serving_cost import requests_per_second
from ..core.figures import number, percent, usd

PRICED = {"rent": "rent", "server": "server", "power": "power", "hosting": "hosting", "switch": "switch port", "cable": "cable"}
DRAWS = 2000


class Situation(NamedTuple):
    """What conclusions are drawn for; `given` holds values that overrule assumptions or prices of both books."""

    utilization: float = 0.6
    given: dict | None = None
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


USUAL = Situation()


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
    scores: dict | None = None
    unit: str = ""


def two_books(prices: str | Path | None = None, before: str | Path | None = None,
              after: str | Path | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
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


def provider_moves(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The cheapest GPU-hour of each provider, GPU and term in both books, the ratio, and whether it is the same `sku`.

    The `date` of each is that of its row.
    """
    keys = ["provider", "gpu", "term"]
    old, new = (pd.concat([_rents(book, term, "provider") for term in dict.fromkeys(book["term"])])[
        [*keys, "usd_per_hour", "sku", "date"]] for book in (before, after))
    moves = old.merge(new, on=keys, suffixes=("_before", "_after"))
    moves = moves.rename(columns={"usd_per_hour_before": "before", "usd_per_hour_after": "after"})
    return moves.assign(ratio=moves["after"] / moves["before"], same=moves["sku_before"] == moves["sku_after"])


def compared(before: pd.DataFrame, after: pd.DataFrame, situation: Situation = USUAL) -> pd.DataFrame:
    """Every conclusion under both books: the answers, what they rest on, the `verdict`, and which price `moved` most.

    The verdict is `missing` where a book lacks a price that the answer needs, and `close` where an answer is too close to call;
    neither is a flip. Candidates of a ranking that one book lacks are left out of both.
    """
    sides: list[Any] = [{each.question: each for each in conclusions(book, situation)} for book in (before, after)]
    rows = []
    for question in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (side.get(question) for side in sides)
        if old and new and old.scores:
            common = [name for name in old.scores if name in new.scores]
            old, new = ((_ranking(each, common) if len(common) > 1 else None) for each in (old, new))
        known = old or new or sides[0].get(question)
        files = [book.attrs["file"] for book, side in zip((before, after), sides) if question not in side]
        lacking = f"no price in {files[0]}" if files else "" if old else "fewer than two that both books price"
        answers = set() if lacking else {old.answer, new.answer}
        verdict = "missing" if lacking else "close" if bands.CLOSE in answers else "flips" if len(answers) > 1 else "stays"
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


def conclusions(book: pd.DataFrame, situation: Situation = USUAL) -> list[Conclusion]:
    """What the book says under these prices, as a list; a question whose prices the book lacks is not in it."""
    return [*_owning(book, situation), *_best_value(book), *_cheapest(book), *_reserving(book, situation),
            *_spot(book, situation), *_serving(book, situation), *_managed(book, situation)]


def decision(book: pd.DataFrame, gpu: str, situation: Situation = USUAL, term: str = "on-demand",
             provider: str | None = None) -> dict[str, Any]:
    """Rent or own one GPU: break-even utilization, both costs of a used hour and `answer` with every input likely, and the deal.

    Of draws of all inputs but the utilization: the break-even's band, `edge`, the `chance` that owning wins, and what is `said`.
    """
    given = dict(situation.given or {}, utilization=situation.utilization)
    held = deal(book, gpu, catalogue.assumptions(), given, term, provider)
    case, drawn = held.case(catalogue.gpu(gpu)), draws(held.ranges.drop("utilization"), DRAWS)
    costs = {law.__name__: case(law) for law in (break_even_utilization, owned_usd_per_hour, level_usd_per_hour)}
    chance, edge = probability(case.but(**drawn)(owning_npv)), drawn_band(break_even_utilization, case, drawn)
    answer = "own" if costs["owned_usd_per_hour"] < costs["level_usd_per_hour"] else "rent"
    return costs | {"answer": answer, "edge": edge, "chance": chance, "said": winner(chance, "own", "rent"), "deal": held}


def prices_of(held: Deal) -> dict[str, tuple[float, str]]:
    """The prices of a deal by what they are for: (USD, whose)."""
    found = {}
    for item, name in PRICED.items():
        if held.rows[item] is not None:
            whose = held.rows[item]["provider"] if item in ("rent", "server") else ""
            found[name] = (float(held.rows[item][price_book.ITEMS[item].quantity]), whose)
    return found


def one_at_a_time(before: pd.DataFrame, after: pd.DataFrame, gpu: str, situation: Situation = USUAL, term: str = "on-demand",
                  provider: str | None = None) -> pd.DataFrame:
    """The decision of the older book with each price of the newer one put in alone, and then with all of them."""
    old, new = (decision(book, gpu, situation, term, provider) for book in (before, after))
    prices = [prices_of(side["deal"]) for side in (old, new)]
    rows = [{"price": "none", **old}]
    for item, name in PRICED.items():
        if name in prices[0] and name in prices[1] and prices[0][name][0] != prices[1][name][0]:
            size = (new if item == "server" else old)["deal"].fixed["gpus_per_server"]
            given = {price_book.ITEMS[item].quantity: prices[1][name][0], "gpus_per_server": size}
            alone = decision(before, gpu, situation._replace(given=given | (situation.given or {})), term, provider)
            rows.append({"price": name, "old": prices[0][name][0], "new": prices[1][name][0], **alone})
    return pd.DataFrame([*rows, {"price": "all", **new}]).drop(columns=["deal", "edge"]).assign(
        flips=lambda frame: frame["answer"] != old["answer"])


def _rents(book, term, per):
    """The cheapest rents on a term; a table without rows where the book has none."""
    return rents(book, term=term, per=per, required=False)


def _owning(book, situation):
    bought = book[(book["item"] == "server") & (book["term"] == "purchase")]["gpu"]
    power = catalogue.gpus()["tdp_watts"].dropna().index
    rented = set(_rents(book, "on-demand", "gpu")["gpu"]) & set(power)
    if not {"power", "hosting"} <= set(book["item"]):
        return
    for gpu in dict.fromkeys(gpu for gpu in bought if gpu in rented):
        each = decision(book, gpu, situation)
        value = each["break_even_utilization"]
        yield Conclusion("rent or own", f"{gpu}: rent or own at {percent(situation.utilization)} utilization?", each["said"],
                         value, f"own above {percent(value)}" if value <= 1 else "owning never pays", prices_of(each["deal"]))


def _best_value(book):
    found = _rents(book, "on-demand", "gpu").set_index("gpu").join(catalogue.gpus()[["peak_flops", "bandwidth"]])
    prices = dict(zip(found.index, zip(found["usd_per_hour"], found["provider"])))
    for column, scale, what in (("peak_flops", 1e15, "PFLOP/s"), ("bandwidth", 1e12, "TB/s")):
        values = found["usd_per_hour"] / found[column] * scale
        if len(values):
            yield _ranking(Conclusion("value", f"Which GPU rents the cheapest {what}?", "", 0, "", prices, values.to_dict(),
                                      f"for {what} in an hour"))


def _cheapest(book):
    for gpu, offers in _rents(book, "on-demand", "provider").groupby("gpu", sort=False):
        prices = {provider: (price, "") for provider, price in zip(offers["provider"], offers["usd_per_hour"])}
        if len(offers) > 1:
            yield _ranking(Conclusion("provider", f"{gpu}: who rents it cheapest?", "", 0, "", prices,
                                      {provider: price for provider, (price, _) in prices.items()}, "a GPU-hour"))


def _beside_on_demand(book, term):
    """The cheapest rent on a term of each instance that has one on demand in the same region, with that one.

    Where a source doesn't state the region, it is the provider's home region.
    """
    book = book.assign(region=book["region"].mask(book["region"] == NOT_STATED, book["provider"].map(HOME).fillna(NOT_STATED)))
    on_demand = _rents(book, "on-demand", "instance").set_index(["provider", "sku", "gpu", "region"])["usd_per_hour"]
    seen = set()
    for row in _rents(book, term, "instance").itertuples():
        machine = row.instance if term == "managed" else row.sku
        beside = on_demand.get((row.provider, machine, row.gpu, row.region))
        if beside is not None and (row.provider, row.sku, row.gpu) not in seen:
            seen.add((row.provider, row.sku, row.gpu))
            yield (f"{row.provider} {row.sku}", row.gpu, row.gpus_per_server,
                   {term: (row.usd_per_hour, ""), "on demand": (beside, "")})


def _reserving(book, situation):
    for term in ("reserved-1y", "reserved-3y"):
        for offer, gpu, _, prices in _beside_on_demand(book, term):
            needed = float(commitment_utilization(prices[term][0], prices["on demand"][0]))
            yield Conclusion("reservation", f"{offer} ({gpu}): does {term} pay at {percent(situation.utilization)}?",
                             "reserve" if needed < situation.utilization else "on demand", needed,
                             f"pays above {percent(needed)}", prices)


def _spot(book, situation):
    mean = group_interruption_seconds(situation.machine_interruption_seconds, situation.machines)
    slowdown = Case(interruption_seconds=mean, checkpoint_seconds=situation.checkpoint_seconds,
                    restart_seconds=situation.restart_seconds)(interruption_slowdown)
    for offer, gpu, _, prices in _beside_on_demand(book, "spot"):
        cost, plain = spot_usd_per_hour(prices["spot"][0], slowdown), prices["on demand"][0]
        yield Conclusion("spot", f"{offer} ({gpu}): does spot pay for {situation.machines} machines?",
                         "spot" if cost < plain else "on demand", cost / plain, f"{usd(cost)} against {usd(plain)}", prices)


def _serving(book, situation):
    load = situation.requests_per_month
    for model in situation.models:
        sold = token_offers.api_offers(book, model)
        plans = _plans(model, load, situation.prompt, situation.output, situation.answer_limit, situation.peak_factor)
        paid = token_offers.rented_plans(plans, book, "on-demand", load, situation.prompt, situation.output)
        if sold.empty or paid.empty:
            continue
        costs = load * token_offers.request_usd_of(sold, Case(prompt=situation.prompt, output=situation.output))
        api, own, cost = sold.loc[costs.idxmin()], paid.iloc[0], costs.min()
        (least, _, most, *_), bill = bands.errors("saturated serving"), own["serving_usd_per_month"]
        yield Conclusion(
            "serving", f"{model}: servers or an API for {number(load)} requests a month?",
            "servers" if most * bill < cost else "API" if least * bill > cost else bands.CLOSE, bill / cost,
            f"{bill:,.0f} USD on {own['rented_gpus']:g} × {own['gpu']} against {cost:,.0f} USD",
            {"rent": (own["usd_per_hour"], own["provider"]),
             "a million tokens in": (api["api_input_usd_per_million"], api["provider"]),
             "a million tokens out": (api["api_output_usd_per_million"], api["provider"])})


@functools.cache
def _plans(model, load, prompt, output, answer_limit, peak_factor):
    """The servers that carry the load, whatever they cost: weights and cache in FP8, on every GPU and degree."""
    case = Case(model=model, efficiency="achieved", weight_element_bytes=1, cache_element_bytes=1, prompt=prompt, output=output,
                **queue.ENGINE)
    cards, degrees = capacity.linked_gpus("H100 SXM 80GB", "FP8"), capacity.allowed_degrees(case.rows["model"])
    return capacity.plans(capacity.search(case, cards, degrees), requests_per_second(load, peak_factor), answer_limit)


def _managed(book, situation):
    staff = catalogue.assumptions().loc["staff_usd_per_year", "likely"]
    for offer, gpu, gpus, prices in _beside_on_demand(book, "managed"):
        extra = (prices["managed"][0] - prices["on demand"][0]) * gpus * HOURS_PER_YEAR * situation.utilization
        yield Conclusion("managed", f"{offer} ({gpu}): is the service worth the staff of a server?",
                         "managed" if extra < staff else "plain", extra, f"{extra:,.0f} USD a year against {staff:,.0f} USD",
                         prices)
