"""Measured rows by family and era: how far off the laws were, and how well bands hold for a source that had no part in them."""
import collections
import functools
from typing import TYPE_CHECKING

import numpy

from . import bands
from .bands import CHECKED_SOURCES, ERAS, FEWEST_ROWS, era_name
from .tables import rows

if TYPE_CHECKING:
    from pandas import DataFrame

ENDS = ("low", "plan", "high", "coverage")


@functools.cache
def published() -> "DataFrame":
    """All measured rows by id: `predicted`, `error`, `ratio` (times and bytes published over predicted), `family`, `era`,
    `publisher`, and `faster`: by how much the row beats its bound (below 0: it is slower), NaN for bytes.

    A row whose law is in no family has that blank.
    """
    import pandas
    roots = [name for name, row in rows("families").items() if not row["part_of"]]
    found = [row for root in [*roots, ""] for row in bands.measured(root)]
    bounds = [bands.bound_value(row["case"], row["law"]) for row in found]
    faster = [numpy.nan if most is None else (row["value"] / most)**-row["power"] - 1 for row, most in zip(found, bounds)]
    return pandas.DataFrame(found).assign(faster=faster).set_index("id").drop(columns=["case", "power"])


@functools.cache
def coverage(family: str, era: int | None = None) -> float:
    """Share of a family's rows inside the band made without their publisher, publishers weighing the same; NaN for too few.

    Rows of one era, or all; each is held against the band of its own era.
    """
    shares = _inside(family, era)
    return float(numpy.mean(shares)) if shares else numpy.nan


def covered() -> float:
    """The same for all families together, every publisher of each weighing the same."""
    widest = [name for name, row in rows("families").items() if not row["part_of"]]
    return float(numpy.mean([share for name in widest for share in _inside(name, None)]))


def _inside(family, era):
    """Of each publisher's rows the share inside the band made without it; empty where too few are left to check."""
    found, inside = bands.rows_of(family, era), collections.defaultdict(list)
    for row in found:
        held = bands.errors(family, row["publisher"], row["year"])
        inside[row["publisher"]].append(bool(held and held.low <= row["ratio"] <= held.high))
    enough = len(found) >= FEWEST_ROWS and len(inside) >= CHECKED_SOURCES
    return [float(numpy.mean(each)) for each in inside.values()] if enough else []


@functools.cache
def families() -> "DataFrame":
    """All families with rows: rows, sources, median and percentiles of the ratio, the band for a new source, and its coverage.

    A family stands once as a whole, `era` blank, and once for each era.
    """
    import pandas
    found = []
    for family in rows("families"):
        for era in (None, *range(len(ERAS) + 1)):
            held, near = bands.rows_of(family, era), bands.errors_of(family, era)
            if held:
                low, median, high = numpy.quantile([row["ratio"] for row in held], [0.1, 0.5, 0.9])
                band = (near.low, near.median, near.high, coverage(family, era)) if near else [numpy.nan] * 4
                found.append(dict(family=family, era=era_name(era), figures=len(held), publishers=bands.publishers(held),
                                  median=median, tenth=low, ninetieth=high) | dict(zip(ENDS, band)))
    return pandas.DataFrame(found)
