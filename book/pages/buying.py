"""What a sum buys once, what runs on it, and what the same sum rents, as a page shows them."""
import math
from functools import partial
from typing import NamedTuple

import numpy as np
from pandas import DataFrame

from gpucalc.core.arithmetic import HOURS_PER_DAY, HOURS_PER_MONTH, HOURS_PER_YEAR
from gpucalc.core.figures import days, dollars, number, three_figures
from gpucalc.decisions.market import SERVER as SERVER
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.bands import CLOSE
from gpucalc.rows.rents import rents
from gpucalc.rows.selections import selection
from ..components import offers, sizes
from ..components.catalogue_table import catalogue_table
from ..components.dates import dated
from ..components.sentences import in_words
from ..components.show import table
from . import buying_plan as buying, machines

# What is to be most, in words and in a sentence, and its unit.
_MOST = {"memory": "memory", "bandwidth": "bandwidth", "peak_flops": "FLOP/s"}
_DOES = {"memory": "hold the largest model", "bandwidth": "answer fastest", "peak_flops": "train fastest"}
_UNITS = {"memory": "byte", "bandwidth": "byte/second", "peak_flops": "FLOP/second"}
_GROUPS = {"what to buy": ["buy", "price", "next", "center"], "what it has": [*_UNITS],
           "what it costs": ["sum", "spent", "power", "months"]}
_TITLES = {
    "choice": "a sum, and what is to be most", "next": "next best", "center": "in a data center",
    "memory": "memory of one machine", "bandwidth": "memory bandwidth", "peak_flops": "dense 16-bit peak",
    "spent": "spent, without the machine", "power": "power a month, busy", "months": "months of renting them for that"}
_LONG = 3 * HOURS_PER_YEAR  # nobody rents one GPU for longer
_OFFERS = {"price_date": "date", "kind": "price of", "why": "why not", "confidence": "price is"}


class Tier(NamedTuple):
    """What a sum buys for a goal, on a desk and in a data center; after so many `months` renting the same has cost as much."""

    budget: float
    goal: str
    desk: buying.Buy
    center: buying.Buy
    months: float


@selection
def tiers(book, budgets):
    """The choices of each sum and goal, in their order."""
    found, rates = buying.offers(book), machines.rates(book)
    return [_tier(found, rates, budget, goal) for budget in budgets for goal in buying.GOALS]


def _tier(found, rates, budget, goal):
    desk, center = (buying.best(found, budget, goal, step) for step in (buying.DESK, buying.DATA_CENTER))
    row, months = desk.row, math.nan
    if row:
        months = row["spent"] / (rates.get(row["gpu"], math.nan) * row["gpus"] * HOURS_PER_MONTH)
    return Tier(budget, goal, desk, center, months)


def behind(found, book):
    """The rows of the book behind the choices."""
    return [book.loc[key] for key in dict.fromkeys(tier.desk.row["row"] for tier in found if tier.desk.row)]


@selection
def first_server(book):
    """The cheapest server of data-center GPUs that is still sold, a row of `plan.buying.offers`; None without one."""
    found = buying.offers(book)
    kept = found[(found["item"] == "server") & (found["unsold"] + found["forbidden"] + found["recalled"] == 0)]
    return None if kept.empty else kept.sort_values("price", kind="stable").iloc[0]


# In words

def taken(row):
    """`8 × RTX 5090 32GB`, of servers with their number; `nothing` without a row."""
    if not row:
        return "nothing"
    several, servers = f"{row['gpus']:,.0f} × {row['gpu']}", row["gpus"] / row["machine_gpus"]
    return several if row["item"] == "card" else f"{several} in {servers:,.0f} server{'s' if servers > 1 else ''}"


def price_words(row):
    """`3,900 USD each, street price, 2026-06 (secondary)`, of a used one as `used`."""
    sold = "used" if row["term"] == "used" else row["provider"]
    sure = "" if row["firm"] else f" ({row['confidence']})"
    return f"{dollars(row['price'])} {'each' if row['item'] == 'card' else 'a server'}, {sold}, {row['date']}{sure}"


def told(found, budget):
    """What a sum buys for each goal: `8 × RTX A6000 48GB hold the largest model`; offers that are close are named."""
    said = {}
    for tier in found:
        if tier.budget == budget and tier.desk.row:
            close = f" ({CLOSE} against {taken(tier.desk.other)})" if tier.desk.close else ""
            said.setdefault(taken(tier.desk.row), []).append(f"{_DOES[tier.goal]}{close}")
    return in_words([f"{name} {in_words(does)}" for name, does in said.items()])


def rented_words(book, budget):
    """What the sum rents for how long; empty where nothing firm is rented."""
    one = _one(book)
    if one is None:
        return ""
    hours, price = budget / one["usd_per_hour"], f"at {dollars(one['usd_per_hour'])} a GPU-hour"
    many, time = ("one", lasting(hours)) if hours <= _LONG else (f"{_for_a_year(hours)} ×", "a year")
    return f"{many} {one['gpu']} at {one['provider']} for {time}, {price}"


def _for_a_year(gpu_hours):
    return f"{math.floor(gpu_hours / HOURS_PER_YEAR):,}"


def lasting(hours, gpus=1):
    """Hours of so many GPUs as months, as days where they are less than one, and as more GPUs for a year where they are many."""
    if hours > _LONG:
        return f"{_for_a_year(hours * gpus)} GPUs for a year"
    return f"{three_figures(hours / HOURS_PER_MONTH)} months" if hours >= HOURS_PER_MONTH else days(hours / HOURS_PER_DAY)


# Tables

@selection
def tiers_table(found, book):
    """What each sum buys for each goal, what that has and costs, and the next best; None where nothing is on sale."""
    if not behind(found, book):
        return None
    rows = [dict(choice=f"{dollars(tier.budget)}: {_MOST[tier.goal]}", sum=dollars(tier.budget), buy=taken(tier.desk.row))
            | _about(tier, book) for tier in found]
    frame = DataFrame(rows, columns=["choice", *(name for names in _GROUPS.values() for name in names)])
    formats = {name: lambda value, unit=unit: number(value, unit) for name, unit in _UNITS.items()}
    return catalogue_table(frame, f"What a sum buys once ({dated(book, *behind(found, book))})", _GROUPS, filters=("sum",),
                           labels=_TITLES, formats=formats | dict(spent=dollars, power=dollars, months=three_figures))


def _about(tier, book):
    row, other, center = tier.desk.row, tier.desk.other, tier.center.row
    if not row:
        return {}
    beside = None if other is None else f"{taken(other)}{f': {CLOSE}' if tier.desk.close else ''}"
    same = center and center["row"] == row["row"]
    return {name: float(row[name]) for name in _UNITS} | dict(
        price=price_words(row), spent=row["spent"], months=tier.months, power=buying.power_usd(book, row, HOURS_PER_MONTH),
        next=beside, center="the same" if same else taken(center))


def runs_table(found, models, context, cache_element_bytes, formats=sizes.FORMATS):
    """What the chosen machines run: the largest model by format and how fast it answers one user, and the largest to tune."""
    chosen = list(dict.fromkeys((row["gpu"], int(row["joined"])) for tier in found for row in [tier.desk.row] if row))
    if not chosen:
        return None
    titles, ways = [f"in {name}" for name in formats], [way for way in sizes.TRAININGS if way != "train from scratch"]
    frame = DataFrame({"machine": [f"{gpus} × {gpu}" for gpu, gpus in chosen]})
    for title, name in zip(titles, formats):
        frame[title] = [_speed(machines.largest(*each, models, name, context, cache_element_bytes)) for each in chosen]
    for way in ways:
        frame[way] = [each or "none" for each in machines.tuned(chosen, models, way)]
    caption = (f"The largest model in one machine: served with {context:,} tokens of context, with its tokens a second for one "
               "user (8 in 10), and tuned")
    return catalogue_table(frame, caption, {"serves": titles, "tunes": ways})


def _speed(found):
    if found is None:
        return "none"
    doubt = f" ({CLOSE} whether it fits)" if found["verdict"] == CLOSE else ""
    return f"{found['model']}{doubt}: {found['plan']:.3g} ({found['low']:.3g} to {found['high']:.3g})"


@selection
def rented_table(book, budgets):
    """How long each sum rents one GPU and a server with the cheapest firm FLOP; None where nothing firm is rented."""
    kept = [each for each in (_one(book), _first(offers.cheapest_flops(book))) if each is not None]
    if not kept:
        return None
    names = [f"{row['gpus_per_server']:.0f} × {row['gpu']}, {row['provider']}, {dollars(row['usd_per_hour'])} a GPU-hour"
             for row in kept]
    hours = {name: [budget / row["usd_per_hour"] for budget in budgets] for name, row in zip(names, kept)}
    frame = DataFrame({"budget": budgets})
    for name, row in zip(names, kept):
        frame[name] = [each / row["gpus_per_server"] for each in hours[name]]
        frame[f"GPU-hours of {row['gpu']}"] = hours[name]
    return table(frame, f"How long the same sum rents the cheapest FLOP, on demand ({dated(book, *kept)})",
                 {"budget": "for"}, dict.fromkeys(frame, number) | {"budget": dollars}
                 | {name: partial(lasting, gpus=row["gpus_per_server"]) for name, row in zip(names, kept)})


def _one(book):
    """The firm offer of one GPU with the cheapest FLOP of the peak in 16 bits."""
    found = rents(book, term="on-demand", gpus_per_server=1, per="gpu", required=False)
    cards = catalogue.gpus()
    found = found[found["gpu"].map(cards["peak_format"]) == "BF16"]
    return _first(found.loc[(found["usd_per_hour"] / found["gpu"].map(cards["peak_flops"])).sort_values(kind="stable").index])


def _first(found):
    kept = found[firm(found) & (found["gpu"].map(catalogue.gpus()["kind"]) == "datacenter")]
    return None if kept.empty else kept.iloc[0]


@selection
def every_offer(book, budgets):
    """Every card and server of the book at its newest price, how many GPUs each sum buys of it, and what is in the way."""
    found = buying.offers(book)
    if found.empty:
        return None
    rows = book.loc[found["row"]]
    names = [each.gpu if each.item == "card" else f"{each.gpu}, {each.sold_gpus:.0f} in a server" for each in found.itertuples()]
    counts = {f"for {dollars(each)}": buying.bought(found, each)["gpus"].replace(0, np.nan).to_numpy() for each in budgets}
    frame = DataFrame({"offer": names, "price": found["price"], **counts, "why": buying.why_not(found, max(budgets)),
                       "kind": np.where(found["term"] == "used", "used", found["provider"]), "price_date": found["date"],
                       "confidence": found["confidence"], "note": rows["note"].fillna("").to_list()})
    groups = {"how many": ["price", *counts], "the price": ["kind", "price_date", "confidence", "why"], "source": ["note"]}
    return catalogue_table(
        frame, f"GPUs that each sum buys of every card and server, at its newest price ({dated(book, rows)})", groups,
        filters=("confidence",), labels=_OFFERS, formats=dict.fromkeys(counts, number) | {"price": dollars})
