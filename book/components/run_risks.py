"""How likely a run keeps a limit, what is against a run or its rent in words, and errors that know nothing of each other."""
import itertools
from statistics import NormalDist

import numpy as np
import pandas as pd

from gpucalc.core.figures import number
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions.decisions import DOUBTS
from gpucalc.decisions.market import TERMS
from gpucalc.rows.price_book import RESERVED_YEARS

# What keeps a price from being firm.
PRICES = {"floor": "a floor price", "secondary": "a price at second hand", "recalled": "a price from memory"}
# Why a term is not taken where the case names none.
TAKEN_BACK, _BINDS = "machines may be taken back", "binds for longer than the run"
_UNASKED = TERMS | {"spot": TAKEN_BACK} | dict.fromkeys(RESERVED_YEARS, _BINDS)
_NORMAL = NormalDist()
_CHANCE = np.vectorize(_NORMAL.cdf, otypes=[float])


def doubts(runs, confidence):
    """What keeps each of the offers of runs, columns, from being taken, in words; empty for one that may be.

    confidence: that of each price.
    """
    words = {"doubtful_price": pd.Series(confidence).map(PRICES), "doubtful_term": pd.Series(runs["term"]).map(_UNASKED)}
    said = [words[each.of].fillna(each.reason) if each.of in words else each.reason for each in DOUBTS]
    return np.select([runs[each.of] > 0 for each in DOUBTS], said, "")


def unfit(limit, row):
    """Why there is no layout, from the limit that the best one breaks and its columns."""
    if not limit.at:
        return limit.reason
    needed, room = (number(value, QUANTITIES[limit.of].unit) for value in (row[limit.column], row[limit.most]))
    return f"{limit.reason}: up to {needed} on a GPU of {room}"


def share_below(limit, values):
    """How likely a figure stays within a limit, from its `values` at shares of cases that it stays below; 0 where it is infinite.

    Between them and beyond, it is log-normal.
    """
    steps = None
    with np.errstate(invalid="ignore", divide="ignore"):
        for share, after in itertools.pairwise(sorted(values)):
            far, wide = np.log(limit / values[share]), np.log(values[after] / values[share])
            from_here, to_there = _NORMAL.inv_cdf(share), _NORMAL.inv_cdf(after)
            here = np.where(wide > 0, from_here + far / wide * (to_there - from_here), np.where(far >= 0, np.inf, -np.inf))
            steps = here if steps is None else np.where(far >= 0, here, steps)
    return _CHANCE(np.nan_to_num(steps, nan=-np.inf))


def joint(*ratios):
    """The ratio that independent errors make together, all above 1 or all below, columns; 1 where there is no run."""
    with np.errstate(invalid="ignore"):
        logs = [np.log(each) for each in ratios]
        return np.exp(np.sqrt(sum(each**2 for each in logs)) * np.sign(sum(logs))).fillna(1)
