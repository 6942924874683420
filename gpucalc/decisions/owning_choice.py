"""Rent or buy, as a decision: the case of a GPU in, and out what costs less, how sure that is and what would turn it.

The browser answers the same from the same draws (book/static/owning.js). The draws are few and evenly spaced.
"""
import functools
from typing import Any, NamedTuple

import pandas as pd

from ..core.evaluate import Case, Row
from ..laws.break_even import break_even_utilization, owning_npv
from ..laws.owning import fixed_usd_per_hour, owned_usd_per_hour, work_usd_per_hour
from ..laws.renting import level_usd_per_hour
from ..rows import catalogue
from ..rows.bands import INSIDE, Band
from ..rows.rents import doubtful, rents
from ..rows.selections import derivation
from . import decide, draws
from .decisions import USUAL_TERM
from .market import wanted
from .points import value_of

DRAWS = 1000


class RentOrBuy(NamedTuple):
    """What a case of rent_or_buy comes to. Where the book has no price for it, `lacks` names the one to give; the rest is None.

    verdict: of the draws, in USD a server. needed: the break-even utilization (ratio), None on a commitment, which is paid used
    or not. owned, rented: an hour that is used (USD per GPU-hour); paid: one that is rented, used or not; fixed: one that is
    offered, used or not; work: what an hour of work costs beyond that; rents are averages over the years. even_rent: today's rent
    at which both cost the same on average (USD per GPU-hour). turns: of each input the value at which the other wins, NaN where
    none in its range does. stand_ins: the verdict at the cheapest and the dearest server, as pairs of row and verdict, where
    there is no firm price of the last years. cheaper: the cheapest rent below that of the deal that is not firm, a row of the
    book; None where there is none.
    """

    lacks: str
    deal: decide.Deal | None = None
    verdict: decide.Verdict | None = None
    needed: Band | None = None
    owned: Band | None = None
    rented: Band | None = None
    paid: Band | None = None
    fixed: Band | None = None
    work: float | None = None
    even_rent: float | None = None
    turns: dict[str, float] | None = None
    stand_ins: list[tuple[Row, decide.Verdict]] | None = None
    cheaper: Any = None


@derivation
def rent_or_buy(case: Case, book: pd.DataFrame) -> RentOrBuy:
    """The answer to a case of a `gpu`, by the prices of a book.

    The case may have a provider, a region, a term (default: on demand), `gpus_per_server`, `sure`, and any quantity of
    data/assumptions.csv, such as utilization, years, usd_per_hour and server_usd. Raises ValueError for what is not allowed.
    """
    card, given, choice = case.rows["gpu"], _given(case), _choice(case)
    book = _of_size(book, card.name, given)
    if lacks := _lacking(book, card.name, given, choice):
        return RentOrBuy(lacks)
    deal = decide.deal(book, card.name, catalogue.assumptions(), given, **choice)
    held, drawn = deal.case(card), draws.at_shares(deal.ranges, shares())
    sure = given_value(case, "sure", INSIDE)
    needed, owned, rented, fixed = (draws.drawn_band(law, held, drawn) for law in (
        break_even_utilization, owned_usd_per_hour, level_usd_per_hour, fixed_usd_per_hour))
    paid = draws.drawn_band(level_usd_per_hour, held.but(committed=0), drawn) if "committed" in deal.fixed else rented
    rumours = doubtful(book, deal.rows["rent"], gpu=card.name, **choice)
    return RentOrBuy(
        "", deal, decide.verdict(draws.outcomes(owning_npv, held, drawn), sure), None if "committed" in deal.fixed else needed,
        owned, rented, paid, fixed, held(work_usd_per_hour), decide.even_rent(deal, held, drawn),
        decide.turning_points(deal.ranges, card, **deal.fixed), decide.at_stand_ins(deal, held, drawn, sure),
        rumours.iloc[0] if len(rumours) and "usd_per_hour" not in given else None)


@functools.cache
def shares() -> dict[str, Any]:
    """The shares of the `DRAWS` values of every input of data/assumptions.csv, by name."""
    return draws.even_shares(catalogue.assumptions().index, DRAWS)


def _given(case):
    """What the case gives of a deal, as numbers."""
    names = ("gpus_per_server", *catalogue.assumptions().index)
    return {name: given_value(case, name) for name in names if name in case.inputs}


def given_value(case: Case, name: str, otherwise: Any = None) -> Any:
    """The value of an input of the case, also of a law or a row that stands for it; `otherwise` where it has none."""
    return value_of(case, name) if name in case.inputs else otherwise


def _choice(case):
    term = wanted(case, "term") or [USUAL_TERM]
    return {"term": term[0], "provider": wanted(case, "provider"), "region": wanted(case, "region")}


def _of_size(book, gpu, given):
    """The book with servers of the GPU in the size that is given alone."""
    if "gpus_per_server" not in given:
        return book
    return book[(book["item"] != "server") | (book["gpu"] != gpu) | (book["gpus_per_server"] == given["gpus_per_server"])]


def _lacking(book, gpu, given, choice):
    """The name of the price that neither the case nor the book has; empty where none is missing."""
    if "server_usd" not in given and not ((book["item"] == "server") & (book["gpu"] == gpu)).any():
        return "server_usd"
    if "server_usd" in given and "gpus_per_server" not in given:
        return "gpus_per_server"
    if "usd_per_hour" not in given and rents(book, gpu=gpu, required=False, **choice).empty:
        return "usd_per_hour"
    return ""
