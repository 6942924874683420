"""The vocabulary, data/quantities.csv: every argument and result of a law, with unit, symbol, meaning and allowed values.

A name here is the name of the law argument, of the column in `data/`, of the notebook parameter and of the slider. What a law
takes where nothing is given is in data/defaults.csv, with its source, unless it is the quantity's `neutral` value.
FLOP and token are names of counts, without dimension, like GPUs and layers; bytes, seconds, watts and USD have one.
"""
import csv
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

# In a checkout beside the package, in a wheel inside it.
DATA = next(folder / "data" for folder in Path(__file__).parents[1:3] if (folder / "data/quantities.csv").exists())


class Quantity(NamedTuple):
    """One row of the vocabulary. `unit` is a Pint unit; `example` is a typical value."""

    unit: str
    symbol: str
    meaning: str
    allowed: str
    example: float


# What a law takes where nothing is given, and why.
Default = namedtuple("Default", "value source date")
# What "allowed" means: lowest value, whether that value itself is allowed, highest value, whole numbers only.
DOMAINS = {
    "a whole number of at least 1": (1, True, float("inf"), True),
    "a whole number of at least 0": (0, True, float("inf"), True),
    "a number above 0": (0, False, float("inf"), False),
    "a number of at least 0": (0, True, float("inf"), False),
    "a number of at least 1": (1, True, float("inf"), False),
    "a number above 0 and at most 1": (0, False, 1, False),
    "a number from 0 to 1": (0, True, 1, False),
    "a number from -0.5 to 0.9": (-0.5, True, 0.9, False),
    "any number": (float("-inf"), True, float("inf"), False),
    "0 or 1": (0, True, 1, True),
    "0, 1 or 2": (0, True, 2, True),
    "0, 1, 2 or 3": (0, True, 3, True),
}
COUNT, COUNT0, POSITIVE, AMOUNT, FACTOR, FRACTION, SHARE, RATE, ANY, FLAG, LEVEL2, LEVEL3 = DOMAINS


def read_rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of a file in data/, as text by column."""
    with open(DATA / name, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _number(text):
    return int(text) if text.isdigit() else float(text)


QUANTITIES = {row["quantity"]: Quantity(row["unit"], row["symbol"], row["meaning"], row["allowed"], _number(row["example"]))
              for row in read_rows("quantities.csv")}
DEFAULTS = {row["quantity"]: Default(_number(row["value"]), row["source"], row["date"]) for row in read_rows("defaults.csv")}


def neutral(name: str) -> float:
    """The value of a quantity that drops its term from a law: 0 where 0 is allowed, else 1."""
    low, low_included, _, _ = DOMAINS[QUANTITIES[name].allowed]
    return 0 if low < 0 or low == 0 and low_included else 1


def check(name: str, value: Any, where: str = "") -> None:
    """Raise ValueError unless a plain number, array or column is allowed for the quantity `name`.

    `where` opens the message (a file, a row, a law). Symbols, expressions and unit-carrying values pass unchecked.
    """
    kind = type(value)
    if kind is float or kind is int:
        if not _allowed(value, *DOMAINS[QUANTITIES[name].allowed]):
            raise ValueError(_message(name, value, where))
        return
    if kind.__module__.partition(".")[0] in ("altair", "sympy", "pint"):
        return
    if hasattr(value, "dtype") and getattr(value, "ndim", 0) > 0:
        _check_column(name, value, where)
    elif hasattr(value, "dtype") and value.dtype.kind in "iufb":
        check(name, value.item(), where)
    elif kind is bool and QUANTITIES[name].allowed == FLAG:
        return
    else:
        raise ValueError(_message(name, value, where))


def _allowed(value, low, low_included, high, whole):
    above = value >= low if low_included else value > low
    return above and value <= high and not (whole and value % 1)


def _check_column(name, column, where):
    if column.dtype.kind not in "iufb":
        raise ValueError(_message(name, next(iter(column)), where))
    low, low_included, high, whole = DOMAINS[QUANTITIES[name].allowed]
    flat = column.to_numpy() if hasattr(column, "to_numpy") else column.ravel()  # a Series takes long to compare
    good = (flat >= low if low_included else flat > low) & (flat <= high)
    if whole:
        good &= flat % 1 == 0
    if not good.all():
        bad = next(value for value in flat.tolist() if not _allowed(value, low, low_included, high, whole))
        raise ValueError(_message(name, bad, where))


def _message(name, value, where):
    quantity = QUANTITIES[name]
    named = f"{where + ': ' if where else ''}{name} ({quantity.meaning})"
    return f"{named} is {value!r}; allowed: {quantity.allowed} {quantity.unit}".rstrip()
