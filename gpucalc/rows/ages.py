"""How old and how sure the prices are that a figure rests on."""
import itertools
from typing import Any


def firm(rows: Any) -> Any:
    """Which rows of a book may decide: those read in their source as a price that is paid, and the reader's own."""
    return rows["confidence"].eq("seen") | rows["yours"]


def dates(*rows: Any) -> list[str]:
    """The dates of rows, the oldest first: each a row for a case, a row of a book or a frame of them; None is left out.

    A row that is given as a parameter has no date.
    """
    held = itertools.chain.from_iterable(
        row["date"] if hasattr(row, "columns") else [row["date"]] for row in rows if row is not None and "date" in row)
    return sorted({date for date in held if date == date and date != "given"})


def oldest(*rows: Any) -> str:
    """The date of the oldest of the rows; empty if none has one."""
    return next(iter(dates(*rows)), "")


def not_yours(book: Any, *rows: Any) -> list[str]:
    """Keys of the rows, as `dates` takes them, that the newest book gives because the reader's own file has none; sorted."""
    if not book.attrs["own"]:
        return []
    names = itertools.chain.from_iterable(
        row.index if hasattr(row, "columns") else [row.name] for row in rows if row is not None)
    return sorted({name for name in names if name in book.index and not book.at[name, "yours"]})
