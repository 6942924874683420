"""A load that changes over the day: the GPUs of each hour, and how many of them to reserve, to rent on demand and on spot."""
import re
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core import figures
from ..core.arithmetic import HOURS_PER_DAY, HOURS_PER_MONTH
from ..core.evaluate import Row
from ..laws.commitments import flexible_usd_per_hour, portfolio_usd_per_hour, reserve_ratio
from ..rows.ages import firm
from ..rows.intake import columns_of
from ..rows.price_book import price_row
from ..rows.price_checks import RESERVED_YEARS
from ..rows.project_books import MissingPrice
from ..rows.rents import rents
from ..rows.tables import bad
from . import answer as plan, decide
from .market import market

_COLUMNS = ["hour", "requests_per_second"]
TERMS = {"reserved": [*RESERVED_YEARS, "reserved"], "on demand": ["on-demand"], "spot": ["spot"]}


class Blend(NamedTuple):
    """The plan of the busiest hour as columns, the GPUs `needed` in each hour of the day, the `rates` by term as rows of the book
    (None where it has no firm one), and the `ways` to pay, the cheapest first: GPUs reserved, others on average, USD a month."""

    best: dict[str, Any]
    needed: list[float]
    rates: dict[str, Row | None]
    ways: pd.DataFrame

    def lines(self) -> list[str]:
        """The same as lines for a terminal."""
        gpu, best, others = self.best["gpu"], self.ways.iloc[0], figures.three_figures(self.ways["other_gpus"].iloc[0])
        found = [f"{min(self.needed):g} to {max(self.needed):g} × {gpu} over the day. {best['way']}: {best['reserved_gpus']:g} "
                 f"reserved, {others} others on average, {figures.dollars(best['usd_per_month'])} a month."]
        found += [f"{row.way}: {figures.dollars(row.usd_per_month)} a month" for row in self.ways.iloc[1:].itertuples()]
        priced = [f"{term} {figures.hourly(row.usd_per_hour)} at {row.provider}, {row.date}" if row is not None else
                  f"{term}: no firm price of {gpu}; give one by PRICES={', or a savings plan as discount' * (term == 'reserved')}"
                  for term, row in self.rates.items()]
        return [*found, *priced]


def read_hours(path: str | PathLike[str]) -> list[float]:
    """Requests per second in each hour of a day, of a CSV or XLSX file with a row for each. Raises ValueError naming the cell."""
    wanted = f"columns {' and '.join(_COLUMNS)}, a row for each of {HOURS_PER_DAY} hours"
    (file, rows), found = columns_of(path, _COLUMNS, wanted), {}
    for row, (hour, many) in rows:
        if not re.fullmatch(r"1?\d|2[0-3]", hour) or int(hour) in found:
            raise bad(file, row, "hour", hour, f"a whole number from 0 to {HOURS_PER_DAY - 1}, each once")
        if not re.fullmatch(r"\d{1,9}(\.\d+)?", many) or not float(many):
            raise bad(file, row, _COLUMNS[1], many, "a number above 0")
        found[int(hour)] = float(many)
    if len(found) != HOURS_PER_DAY:
        raise ValueError(f"{file}: {len(found)} hours; allowed: {wanted}")
    return [found[hour] for hour in range(HOURS_PER_DAY)]


def blend(case: Any, hours: str | PathLike | list[float], prices: Any = None, interruptible_share: float = 0) -> Blend:
    """The GPUs that a served load needs in each hour of a day, and the cheapest mix of terms to pay them.

    case: as `decide` takes it; the plan is that of the busiest hour, and its card, seller and layout hold for all of them. hours:
    requests per second in each hour, or the path of a file of them. interruptible_share: of the GPU-hours beyond the reserved.
    Raises ValueError where no plan keeps the limits.
    """
    rates = list(hours) if isinstance(hours, list) else read_hours(hours)
    case = decide.read(case)
    if plan.kind_of(case) != "serve":
        raise ValueError(f"job: {case.rows['job'].name} has no load by the hour; allowed: serve")
    book = decide.priced(case, decide.book_of(prices))
    busiest = plan.completed(case.but(requests_per_second=max(rates), daily_users=None))
    tables = market(busiest, book, "serve")
    best = plan.first_of(plan.kept_at_plan(busiest, tables, "serve"), "serve")
    if best is None:
        raise ValueError(f"no offer keeps the limits at {max(rates):g} requests a second")
    same = market(busiest.but(cards=best["gpu"], provider=best["provider"], term=best["term"]), book, "serve")
    gpus = {rate: _gpus(busiest.but(requests_per_second=rate), same, best) for rate in sorted({*rates})}
    needed = [gpus[rate] for rate in rates]
    priced = {term: _rate(book, best["gpu"], names) for term, names in TERMS.items()}
    priced["on demand"] = price_row(book.loc[best["row"]]) if best["term"] == "on-demand" else priced["on demand"]
    return Blend(best, needed, priced, ways(needed, best["gpus_per_server"], priced, interruptible_share))


def _gpus(case, tables, best):
    """GPUs of the plan's servers at a load, at most those of the busiest hour."""
    kept = plan.kept_at_plan(case, tables, "serve")
    places = np.flatnonzero(np.asarray(kept.get("gpus_per_server", ())) == best["gpus_per_server"])
    return float(min([best["rented_gpus"], *(kept["rented_gpus"][place] for place in places)]))


def _rate(book, gpu, terms):
    found = rents(book, gpu=gpu, required=False)
    found = found[found["term"].isin(terms) & firm(found)]
    return price_row(found.iloc[0]) if len(found) else None


def ways(needed: list[float], size: float, rates: dict[str, Row | None], interruptible_share: float = 0) -> pd.DataFrame:
    """What the hours cost on demand, all reserved, and mixed, the cheapest first: a server is reserved where it is needed in a
    larger share of the hours than `reserve_ratio`. Raises MissingPrice without a rent on demand."""
    load = np.asarray(needed, float)
    usual, committed, spot = (row and float(row.usd_per_hour) for row in map(rates.get, ("on demand", "reserved", "spot")))
    if usual is None:
        raise MissingPrice("no firm rent on demand")
    other = flexible_usd_per_hour.formula(usual, spot or usual, interruptible_share if spot else 0)
    tried = {"On demand and spot" if spot and interruptible_share else "On demand": 0.0}
    if committed is not None:
        ratio = reserve_ratio.formula(committed, other)
        levels = np.arange(size, load.max() + size, size)
        # The k-th server is needed in the hours that need more than those below it.
        mixed = size * sum((load > level - size).mean() > ratio for level in levels)
        tried |= {"All reserved": float(load.max()), "A base reserved, the rest as it is needed": float(mixed)}
    rows = []
    for way, reserved in tried.items():
        above = float(np.maximum(load - reserved, 0).mean())
        usd = portfolio_usd_per_hour.formula(reserved, committed or 0, above, other)
        rows.append((way, reserved, above, HOURS_PER_MONTH * usd))
    return pd.DataFrame(rows, columns=["way", "reserved_gpus", "other_gpus", "usd_per_month"]).sort_values(
        "usd_per_month", kind="stable", ignore_index=True)
