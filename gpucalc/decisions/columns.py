"""Tables as dicts of columns, one array each: what a decision chooses among and what it finds."""
import numpy as np
import pandas as pd

from ..core.quantities import QUANTITIES


def joined(left, right, key=None):
    """Every pair of rows of two tables that agree in a column, in the order of the left one; without a left one the right."""
    if not left:
        return dict(right)
    places = {}
    for place, value in enumerate(right[key].tolist()):
        places.setdefault(value, []).append(place)
    pairs = [(one, other) for one, value in enumerate(left[key].tolist()) for other in places.get(value, ())]
    ones, others = np.array(pairs, int).reshape(-1, 2).T
    return taken(left, ones) | taken({name: column for name, column in right.items() if name != key}, others)


def taken(table, places):
    """These rows of a table."""
    return {name: column[places] for name, column in table.items()}


def row(table, place):
    """One row of a table, by column."""
    return {name: column[place] for name, column in table.items()}


def kinds(columns):
    """The rows by number, from 0 on in their order, the same where they agree in all of these columns."""
    found = 0
    for column in columns:
        codes, values = pd.factorize(column)
        found = pd.factorize(found * len(values) + codes)[0]
    return found


def count(table):
    """Rows of a table."""
    return len(next(iter(table.values()))) if table else 0


def alike(one, other):
    """Whether two tables have the same columns with the same values."""
    return one is other or one.keys() == other.keys() and all(
        column is other[name] or np.array_equal(column, other[name], equal_nan=column.dtype.kind == "f")
        for name, column in one.items())


def stacked(tables):
    """The rows of several tables, one after the other; NaN where one lacks a column."""
    tables = [table for table in tables if table]
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: np.concatenate([table.get(name, np.full(count(table), np.nan)) for table in tables]) for name in names}


def numbers(table):
    """The columns of numbers."""
    return {name: column for name, column in table.items() if column.dtype.kind in "iuf"}


def known(columns):
    """The columns that are quantities of the vocabulary."""
    return {name: column for name, column in numbers(columns).items() if name in QUANTITIES}


def nine_digits(column):
    """Floats rounded to 30 bits, for `key` of a sort: what two processors compute of one formula stands in one order by them."""
    if column.dtype.kind != "f":
        return column
    fraction, exponent = np.frexp(column)
    return np.ldexp(np.round(fraction * 2**30), exponent - 30)


def of_frame(frame):
    """The GPUs of a pandas table and its columns of numbers without blanks: laws take no others."""
    numbers = frame.select_dtypes(["number", "bool"]).astype(float).dropna(axis="columns")
    return {name: numbers[name].to_numpy() for name in numbers} | {"gpu": frame.index.to_numpy(object)}
