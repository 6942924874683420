"""What two price books say: own or rent, who rents cheapest, servers or an API, and what flipped between them."""
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ..core.arithmetic import HOURS_PER_YEAR
from ..core.evaluate import Case
from ..core.figures import number, percent, usd
from ..laws.break_even import break_even_utilization, owning_npv
from ..laws.owning import owned_usd_per_hour
from ..laws.renting import (commitment_utilization, group_interruption_seconds, interruption_slowdown, level_usd_per_hour,
                            spot_usd_per_hour)
from ..laws.serving_cost import requests_per_second
from ..rows import bands, catalogue, price_book
from ..rows.ages import dates, firm, sold, why_not_sold
from ..rows.book_diff import HOME, NOT_STATED, ROUNDING
from ..rows.kept import derivation, selection
from ..rows.rents import rents
from . import capacity, token_offers
from .rent_or_buy import deal, drawn_band, draws, probability, STOPS, winner


# What one price book says: own or rent, who rents cheapest, whether to reserve or to take spot, servers or an API.

PRICED = {"rent": "rent", "server": "server", "power": "power", "hosting": "hosting", "switch": "switch port", "cable": "cable"}
DRAWS = 20_000


class Situation(NamedTuple):
    """What conclusions are drawn for; `given` holds values that overrule assumptions or prices of both books.

    Stops of spot that are None are the likely ones of data/assumptions.csv.
    """

    utilization: float = 0.6
    given: dict | None = None
    machines: int = 16
    machine_interruption_seconds: float | None = None
    checkpoint_seconds: float | None = None
    restart_seconds: float | None = None
    models: tuple = ("Llama-3-8B", "Llama-3-70B", "DeepSeek-V3")
    requests_per_month: float = 20e6
    prompt: int = 2000
    output: int = 300
    answer_limit: float = 20
    peak_factor: float = 2


USUAL = Situation()


class Price(NamedTuple):
    """A price behind a conclusion (USD), whose it is, and the date of its row."""

    usd: float
    whose: str = ""
    date: str = ""


class Conclusion(NamedTuple):
    """An answer that one price book gives, what it rests on (`figure`), and its `prices` by name.

    A ranking holds the `scores` of all candidates too, the lowest of which wins, and their `unit`.
    """

    topic: str
    question: str
    answer: str
    value: float
    figure: str
    prices: dict[str, Price]
    scores: dict | None = None
    unit: str = ""

    def oldest(self) -> str:
        """The date of the oldest price behind it."""
        return min((price.date for price in self.prices.values() if price.date), default="")


def conclusions(book: pd.DataFrame, situation: Situation = USUAL) -> list[Conclusion]:
    """What the book says under these prices, as a list; a question whose prices the book lacks is not in it.

    Only prices that are firm decide: of rents and of servers.
    """
    return [*_owning(book, situation), *_best_value(book), *_cheapest(book), *_reserving(book, situation),
            *_spot(book, situation), *_serving(book, situation), *_managed(book, situation)]


def ranking(found: Conclusion, names: list[str] | None = None) -> Conclusion:
    """The ranking among some of its candidates: the winner, its score and the prices of these."""
    held = found.scores or {}
    scores = {name: held[name] for name in names or held}
    prices, best = {name: found.prices[name] for name in scores}, min(scores, key=lambda name: scores[name])
    figure = f"{usd(scores[best])} {found.unit}"
    return found._replace(answer=best, value=scores[best], figure=figure, scores=scores, prices=prices)


@selection
def firm_rents(book: pd.DataFrame, term: str, per: str) -> pd.DataFrame:
    """The cheapest firm rents on a term; a table without rows where the book has none."""
    return rents(book[firm(book)], term=term, per=per, required=False)


@selection
def new_servers(book: pd.DataFrame) -> pd.DataFrame:
    """New servers whose price may decide: firm, and of servers that are still sold."""
    found = sold(book)
    return found[(found["item"] == "server") & (found["term"] == "purchase") & firm(found)].sort_values(["gpu", *price_book.TIES])


@derivation
def decision(book: pd.DataFrame, gpu: str, situation: Situation = USUAL, term: str = "on-demand",
             provider: str | None = None) -> dict[str, Any]:
    """Rent or own one GPU: break-even utilization, both costs of a used hour and `answer` with every input likely, and the deal.

    Of draws of all inputs but the utilization: the break-even's band, `edge`, the `chance` that owning wins, and what is `said`.
    The server is one that is still sold, where the book has one.
    """
    given = dict(situation.given or {}, utilization=situation.utilization)
    offered = sold(book)
    offered = offered if "server" in set(offered.loc[offered["gpu"] == gpu, "item"]) else book
    held = deal(offered, gpu, catalogue.assumptions(), given, term, provider)
    case, drawn = held.case(catalogue.gpu(gpu)), draws(held.ranges.drop("utilization"), DRAWS)
    costs = {law.__name__: case(law) for law in (break_even_utilization, owned_usd_per_hour, level_usd_per_hour)}
    chance, edge = probability(case.but(**drawn)(owning_npv)), drawn_band(break_even_utilization, case, drawn)
    answer = "own" if costs["owned_usd_per_hour"] < costs["level_usd_per_hour"] else "rent"
    return costs | {"answer": answer, "edge": edge, "chance": chance, "said": winner(chance, "own", "rent"), "deal": held}


def prices_of(held: Any) -> dict[str, Price]:
    """The prices of a deal by what they are for."""
    found = {}
    for item, name in PRICED.items():
        row = held.rows.get(item)
        if row is not None:
            whose = row["provider"] if item in ("rent", "server") else ""
            found[name] = Price(float(row[price_book.ITEMS[item].quantity]), whose, next(iter(dates(row)), ""))
    return found


@selection
def left_out(book: pd.DataFrame) -> pd.DataFrame:
    """GPUs whose servers have a price in the book that decides nothing: `gpu`, and `why` the newest of them doesn't."""
    servers = book[(book["item"] == "server") & (book["term"] == "purchase")]
    usable = set(new_servers(book)["gpu"])
    others = servers[~servers["gpu"].isin(usable)].sort_values(["date", "gpu", *price_book.TIES])
    newest = others.drop_duplicates("gpu", keep="last")
    return pd.DataFrame([{"gpu": row["gpu"], "why": why_not_sold(book, row)} for _, row in newest.iterrows()],
                        columns=["gpu", "why"])


def _owning(book: pd.DataFrame, situation: Situation) -> Iterator[Conclusion]:
    servers, power = new_servers(book), catalogue.gpus()["tdp_watts"].dropna().index
    rented = set(firm_rents(book, "on-demand", "gpu")["gpu"]) & set(power)
    certain = pd.concat([book[(book["item"] != "server") & ((book["item"] != "rent") | firm(book))], servers])
    certain.attrs = book.attrs
    for gpu in dict.fromkeys(gpu for gpu in servers["gpu"] if gpu in rented):
        try:
            each = decision(certain, gpu, situation)
        except ValueError:  # a price that owning needs is missing
            continue
        value = each["break_even_utilization"]
        yield Conclusion("rent or own", f"{gpu}: rent or own at {percent(situation.utilization)} utilization?", each["said"],
                         value, f"own above {percent(value)}" if value <= 1 else "owning never pays", prices_of(each["deal"]))


def _best_value(book):
    found = firm_rents(book, "on-demand", "gpu").set_index("gpu").join(catalogue.gpus()[["peak_flops", "bandwidth"]])
    prices = dict(zip(found.index, map(Price, found["usd_per_hour"], found["provider"], found["date"])))
    for column, scale, what in (("peak_flops", 1e15, "PFLOP/s"), ("bandwidth", 1e12, "TB/s")):
        values = found["usd_per_hour"] / found[column] * scale
        if len(values):
            yield ranking(Conclusion("value", f"Which GPU rents the cheapest {what}?", "", 0, "", prices, values.to_dict(),
                                     f"for {what} in an hour"))


def _cheapest(book):
    for gpu, offers in firm_rents(book, "on-demand", "provider").groupby("gpu", sort=False):
        prices = {row.provider: Price(row.usd_per_hour, "", row.date) for row in offers.itertuples()}
        if len(offers) > 1:
            yield ranking(Conclusion("provider", f"{gpu}: who rents it cheapest?", "", 0, "", prices,
                                     {provider: price.usd for provider, price in prices.items()}, "a GPU-hour"))


def _beside_on_demand(book, term):
    """The cheapest rent on a term of each instance that has one on demand in the same region, with that one.

    Where a source doesn't state the region, it is the provider's home region.
    """
    book = book.assign(region=book["region"].mask(book["region"] == NOT_STATED, book["provider"].map(HOME).fillna(NOT_STATED)))
    beside = {(row.provider, row.sku, row.gpu, row.region): row for row in firm_rents(book, "on-demand", "instance").itertuples()}
    seen = set()
    for row in firm_rents(book, term, "instance").itertuples():
        machine = row.instance if term == "managed" else row.sku
        plain, offer = beside.get((row.provider, machine, row.gpu, row.region)), (row.provider, row.sku, row.gpu, row.region)
        if plain is not None and offer not in seen:
            seen.add(offer)
            where = "" if row.region in (NOT_STATED, "all") else f", {row.region}"
            yield (f"{row.provider} {row.sku}{where}", row.gpu, row.gpus_per_server,
                   {term: Price(row.usd_per_hour, "", row.date), "on demand": Price(plain.usd_per_hour, "", plain.date)})


def _reserving(book, situation):
    for term in price_book.RESERVED_YEARS:
        for offer, gpu, _, prices in _beside_on_demand(book, term):
            needed = float(commitment_utilization(prices[term].usd, prices["on demand"].usd))
            yield Conclusion("reservation", f"{offer} ({gpu}): does {term} pay at {percent(situation.utilization)}?",
                             "reserve" if needed < situation.utilization else "on demand", needed,
                             f"pays above {percent(needed)}", prices)


def _spot(book, situation):
    stops = {name: catalogue.assumed(name, getattr(situation, name)) for name in STOPS}
    slowdown = Case(**stops, machines=situation.machines, interruption_seconds=group_interruption_seconds)(interruption_slowdown)
    for offer, gpu, _, prices in _beside_on_demand(book, "spot"):
        cost, plain = spot_usd_per_hour(prices["spot"].usd, slowdown), prices["on demand"].usd
        yield Conclusion("spot", f"{offer} ({gpu}): does spot pay for {situation.machines} machines?",
                         "spot" if cost < plain else "on demand", cost / plain, f"{usd(cost)} against {usd(plain)}", prices)


def _serving(book, situation):
    load = situation.requests_per_month
    for model in situation.models:
        sold_tokens = token_offers.api_offers(book, model)
        sold_tokens = sold_tokens[sold_tokens["confidence"] == "seen"]
        plans = _plans(model, load, situation.prompt, situation.output, situation.answer_limit, situation.peak_factor)
        paid = token_offers.rented_plans(plans, book[firm(book)], "on-demand", load, situation.prompt, situation.output)
        if sold_tokens.empty or paid.empty:
            continue
        costs = load * token_offers.request_usd_of(sold_tokens, Case(prompt=situation.prompt, output=situation.output))
        api, own, cost = sold_tokens.loc[costs.idxmin()], paid.iloc[0], costs.min()
        yield Conclusion(
            "serving", f"{model}: servers or an API for {number(load)} requests a month?",
            "servers" if own["high_serving_usd_per_month"] < cost else "API" if own["low_serving_usd_per_month"] > cost else
            bands.CLOSE, own["serving_usd_per_month"] / cost,
            f"{own['serving_usd_per_month']:,.0f} USD on {own['rented_gpus']:g} × {own['gpu']} against {cost:,.0f} USD",
            {"rent": Price(own["usd_per_hour"], own["provider"], own["date"]),
             "a million tokens in": Price(api["api_input_usd_per_million"], api["provider"], api["date"]),
             "a million tokens out": Price(api["api_output_usd_per_million"], api["provider"], api["date"])})


@functools.cache
def _plans(model, load, prompt, output, answer_limit, peak_factor):
    """The servers that carry the load, whatever they cost: weights and cache in FP8, on every GPU and degree."""
    case = Case(model=model, efficiency="achieved", weight_element_bytes=1, cache_element_bytes=1, prompt=prompt, output=output,
                **capacity.ENGINE)
    cards, degrees = capacity.linked_gpus("H100 SXM 80GB", "FP8"), capacity.allowed_degrees(case.rows["model"])
    return capacity.plans(capacity.search(case, cards, degrees), requests_per_second(load, peak_factor), answer_limit)


def _managed(book, situation):
    staff = catalogue.assumptions().loc["staff_usd_per_year", "likely"]
    for offer, gpu, gpus, prices in _beside_on_demand(book, "managed"):
        extra = (prices["managed"].usd - prices["on demand"].usd) * gpus * HOURS_PER_YEAR * situation.utilization
        yield Conclusion("managed", f"{offer} ({gpu}): is the service worth the staff of a server?",
                         "managed" if extra < staff else "plain", extra, f"{extra:,.0f} USD a year against {staff:,.0f} USD",
                         prices)


# What changed between two price books: which prices moved, by how much, and which conclusions flip.

COLUMNS = ["topic", "question", "verdict", "moved", *(f"{name}_{when}" for when in ("before", "after")
                                                      for name in ("answer", "value", "figure", "oldest"))]


def two_books(prices: str | Path | None = None, before: str | Path | None = None, after: str | Path | None = None,
              only: bool = False, rates: dict[str, float] | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The books to compare: the reader's or the newest, and the newest other one of the project, in the order of their dates.

    A path given as `before` or `after` keeps that place. `only` and `rates` are of the reader's books, as `price_book.prices` has
    them. Raises MissingPrice where there is no second book.
    """
    own = price_book.price_books()
    newest = own[-1] if own else None
    chosen = after or prices or newest
    if chosen is None or not before and not (others := [path for path in own if not _same(path, chosen)]):
        raise price_book.MissingPrice("data/prices holds no second price book; give the parameter before")
    new, old = (price_book.prices(path, only, rates) for path in (chosen, before or others[-1]))
    swap = not before and not after and new.attrs["date"] < old.attrs["date"]
    return (new, old) if swap else (old, new)


def _same(path, other):
    """Whether two files hold the same, under whatever names; no two of the project's books do."""
    if Path(other) in price_book.price_books():
        return Path(path) == Path(other)
    return Path(path).read_bytes() == Path(other).read_bytes()


@selection
def provider_moves(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The cheapest firm GPU-hour of each provider, GPU and term in both books, the ratio, and whether it is the same `sku`.

    The `date` of each is that of its row. What differs by a rounding has not moved.
    """
    keys = ["provider", "gpu", "term"]
    old, new = (pd.concat([firm_rents(book, term, "provider") for term in sorted(set(book["term"]))])[
        [*keys, "usd_per_hour", "sku", "date"]] for book in (before, after))
    moves = old.merge(new, on=keys, suffixes=("_before", "_after"))
    moves = moves.rename(columns={"usd_per_hour_before": "before", "usd_per_hour_after": "after"})
    ratio = moves["after"] / moves["before"]
    return moves.assign(ratio=ratio.where((ratio - 1).abs() > ROUNDING, 1.0), same=moves["sku_before"] == moves["sku_after"])


@selection
def compared(before: pd.DataFrame, after: pd.DataFrame, situation: Situation = USUAL) -> pd.DataFrame:
    """Every conclusion under both books: the answers, what they rest on, the `verdict`, and which price `moved` most.

    The verdict is `missing` where a book lacks a price that the answer needs, and `close` where an answer is too close to call;
    neither is a flip. Candidates of a ranking that one book lacks are left out of both; its `figure` says who wins among all.
    """
    sides: list[Any] = [{each.question: each for each in conclusions(book, situation)} for book in (before, after)]
    rows = []
    for question in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (side.get(question) for side in sides)
        known = old or new
        if old and new and old.scores:
            common = [name for name in old.scores if name in new.scores]
            old, new = ((_among(each, common) if len(common) > 1 else None) for each in (old, new))
        files = [book.attrs["file"] for book, side in zip((before, after), sides) if question not in side]
        lacking = f"no price in {files[0]}" if files else "" if old else "fewer than two that both books price"
        answers = set() if lacking else {old.answer, new.answer}
        verdict = "missing" if lacking else "close" if bands.CLOSE in answers else "flips" if len(answers) > 1 else "stays"
        row = {"topic": known.topic, "question": question, "verdict": verdict, "moved": lacking or _moved(old, new)}
        for when, each in (("before", old), ("after", new)):
            row |= {f"{name}_{when}": getattr(each, name) if each else None for name in ("answer", "value", "figure")}
            row[f"oldest_{when}"] = each.oldest() if each else None
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _among(found, common):
    """The ranking among the common candidates, and in its figure who wins among all that the book prices."""
    held = ranking(found, common)
    return held._replace(figure=f"{held.figure}; of all: {found.answer}, {found.figure}")


def _moved(old, new):
    """The prices behind a conclusion that differ, the one that moved most first; of a ranking, those of the two winners."""
    names = dict.fromkeys([*old.prices, *new.prices])
    if old.scores:
        names = dict.fromkeys([old.answer, new.answer])

    def size(name):
        values = [side.prices[name][0] if name in side.prices else 0 for side in (old, new)]
        return abs(math.log(values[1] / values[0])) if min(values) > 0 else math.inf

    shown = sorted((name for name in names if size(name) > ROUNDING), key=size, reverse=True)
    return "; ".join(f"{name} {_price(old, name)} to {_price(new, name)}" for name in shown[:3])


def _price(side, name):
    if name not in side.prices:
        return "none"
    value, whose, *_ = side.prices[name]
    return (f"{value:,.2f}" if value < 1000 else f"{value:,.0f}") + (f" ({whose})" if whose else "")


@selection
def worked(before: pd.DataFrame, after: pd.DataFrame) -> str | None:
    """The GPU to work an example through: of those that both books decide to own or rent, that whose rent moved most.

    None where there is none, or where a book has no price of power or of rack space.
    """
    if not all("power" in items and items & {"hosting", "hosting-power"} for items in (set(before["item"]), set(after["item"]))):
        return None
    both = [gpu for gpu in dict.fromkeys(new_servers(after)["gpu"]) if gpu in set(new_servers(before)["gpu"])]
    rates = [firm_rents(book, "on-demand", "gpu").set_index("gpu")["usd_per_hour"] for book in (before, after)]
    rented = [gpu for gpu in both if all(gpu in each for each in rates)]
    return max(rented, key=lambda gpu: abs(math.log(rates[1][gpu] / rates[0][gpu])), default=None)


@selection
def one_at_a_time(before: pd.DataFrame, after: pd.DataFrame, gpu: str, situation: Situation = USUAL, term: str = "on-demand",
                  provider: str | None = None) -> pd.DataFrame:
    """The decision of the older book with each price of the newer one put in alone, and then with all of them."""
    old, new = (decision(book, gpu, situation, term, provider) for book in (before, after))
    prices = [prices_of(side["deal"]) for side in (old, new)]
    rows = [{"price": "none", **old}]
    for item, name in PRICED.items():
        if name in prices[0] and name in prices[1] and prices[0][name].usd != prices[1][name].usd:
            size = (new if item == "server" else old)["deal"].fixed["gpus_per_server"]
            given = {price_book.ITEMS[item].quantity: prices[1][name].usd, "gpus_per_server": size}
            alone = decision(before, gpu, situation._replace(given=given | (situation.given or {})), term, provider)
            rows.append({"price": name, "old": prices[0][name].usd, "new": prices[1][name].usd, **alone})
    return pd.DataFrame([*rows, {"price": "all", **new}]).drop(columns=["deal", "edge"]).assign(
        flips=lambda frame: frame["answer"] != old["answer"])
