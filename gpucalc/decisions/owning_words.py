"""Rent or buy in words: the same `Told` as of any other case, and its table."""
from typing import Any

import pandas as pd

from ..core import figures
from ..core.evaluate import LEFT_OUT, Case
from ..core.quantities import QUANTITIES
from ..laws.break_even import owning_npv
from ..rows.price_report import notes
from ..rows.tables import rows
from .answer import Figure
from .answer_texts import OWN
from .answer_words import begun, book_facts, Card, fill, plain, row_age, said_verdict, Told
from .rent_or_buy import RentOrBuy, given_value, rent_or_buy


def is_owning(case: Case) -> bool:
    """Whether the case asks to rent or to buy."""
    return case.rows["job"]["kind"] == "own"


def facts(found: RentOrBuy, case: Case, book: Any) -> dict[str, Any]:
    """What the sentences about renting or buying name."""
    known = book_facts(book) | {"kind": "own", "gpu": case.rows["gpu"].name, "lacks": found.lacks}
    if found.lacks:
        return plain(known | {"gpus_per_server": given_value(case, "gpus_per_server", 1)})
    return plain(known | of_deal(found))


def of_deal(found: RentOrBuy) -> dict[str, Any]:
    """What they name of the deal and of what the draws say."""
    deal: Any = found.deal
    verdict: Any = found.verdict
    likely = deal.likely
    known = {
        "verdict": said_verdict(verdict), "chance": verdict.chance,
        "doubt": int(len(deal.doubt) > 0), "gpus_per_server": deal.fixed["gpus_per_server"], "rent_usd": likely["usd_per_hour"],
        "server_usd": likely["server_usd"], "use": likely["utilization"], "provider": deal.rows["rent"].provider}
    for name in ("owned", "rented", "needed"):
        band = getattr(found, name)
        known |= {f"{name}_{end}": getattr(band, end) for end in ("low", "plan", "high")} if band else {}
    return known


def told(found: RentOrBuy, case: Case, book: Any) -> Told:
    """Renting or buying in words."""
    known = facts(found, case, book)
    question, prices = fill("question_own", known) + "?", fill("prices", known)
    if found.lacks:
        return Told(question, begun([fill("lacks", known)])[0] + ".", [], [], [], [], [], [], [], prices, noted=notes(book))
    flips = begun(text for *_, text in turning(found, rows("jobs")[case.rows["job"].name]["takes"].split()))
    return Told(question, fill("headline_own", known), cards(found, known), [], [], [], [], flips, _old(found, known), prices,
                noted=notes(book))


def _old(found, known):
    """What is to be said of the age of the rent and the server."""
    rows = [found.deal.rows[name] for name in ("rent", "server")]
    return [text for row in rows if (text := fill("caution_stale", {**known, **row_age(row, known)}))]


def cards(found: RentOrBuy, known: dict[str, Any]) -> list[Card]:
    """The cards of the answer."""
    bars = {"cost": (found.owned, "USD/hour"), "long": (found.needed, "")}
    made: list[Card] = []
    for name, (title, link) in OWN.items():
        band, unit = bars.get(name, (None, ""))
        big, small, note = (fill(f"{part}_own_{name}", known) for part in ("big", "small", "note"))
        bar = Figure(band.low, band.plan, band.high, None, unit) if band else None
        made.append(Card(name, title, big, small, note, "break_even", link, bar))
    return made


def turning(found: RentOrBuy, takes: list[str]) -> list[tuple[str, float, str]]:
    """The inputs of the job at whose value the other wins, each with the value and the words."""
    made: list[tuple[str, float, str]] = []
    turns: Any = found.turns
    for name, value in turns.items():
        if name in takes and value == value:
            unit, meaning = QUANTITIES[name].unit, QUANTITIES[name].meaning
            shown = figures.number(value, unit) if unit else figures.percent(value)
            made.append((name, value, fill("flip_own", {"turn_text": shown, "meaning": meaning})))
    return made


def table(case: Case, book: Any) -> pd.DataFrame:
    """Renting and owning, the cheaper first: USD per GPU-hour that is used, with the ends of its band. `attrs["answer"]` is the
    `RentOrBuy`. Raises ValueError where the book lacks a price."""
    found = rent_or_buy(case, book)
    if found.rented is None or found.owned is None:
        raise ValueError(f"{found.lacks}: {fill('lacks', facts(found, case, book))}; allowed: a book or a case with it")
    rows = [(way, band.plan, band.low, band.high) for way, band in (("rent", found.rented), ("own", found.owned))]
    frame = pd.DataFrame(rows, columns=["way", "usd_per_hour", "low_usd_per_hour", "high_usd_per_hour"])
    frame = frame.sort_values("usd_per_hour", kind="stable", ignore_index=True)
    frame.attrs["answer"] = found
    return frame


def inputs(found: RentOrBuy, case: Case) -> list[tuple[str, str, str, str, str]]:
    """Every input with its value, meaning, source and date."""
    used = found.deal.case(case.rows["gpu"]).explain(owning_npv).inputs if found.deal else []
    return [(each.name, figures.quantity(each.name, each.value), QUANTITIES[each.name].meaning, each.source, each.date)
            for each in used if each.source != LEFT_OUT]
