"""How old and how sure the prices are that a figure rests on."""
import datetime
import itertools
import os
from typing import Any

# Days after which a price has to be checked before it is relied on, and after which a server is no longer sold new.
STALE_DAYS = 90
# How long after its price a server counts as sold.
SOLD_YEARS = 2
SOLD_DAYS = SOLD_YEARS * 365


def firm(rows: Any) -> Any:
    """Which rows of a book may decide: those read in their source as a price that is paid, and the reader's own."""
    return rows["confidence"].eq("seen") | rows["yours"]


def dates(*rows: Any) -> list[str]:
    """The dates of rows, the oldest first: each a row for a case, a row of a book or a frame of them; None is left out.

    A row that is given as a parameter has no date.
    """
    held = itertools.chain.from_iterable(
        row["date"] if hasattr(row, "columns") else [row["date"]] for row in rows if row is not None and "date" in row)
    return sorted({date for date in held if date == date and date not in (None, "", "given")})


def oldest(*rows: Any) -> str:
    """The date of the oldest of the rows; empty if none has one."""
    return next(iter(dates(*rows)), "")


def not_yours(book: Any, *rows: Any) -> list[str]:
    """Keys of the rows, as `dates` takes them, that the newest book gives because the reader's own file has none; sorted."""
    if not book.attrs["own"]:
        return []
    names = itertools.chain.from_iterable(keys(row) for row in rows if row is not None)
    return sorted({name for name in names if name in book.index and not book.at[name, "yours"]})


def keys(row: Any) -> list[Any]:
    """The keys of a row or of a frame of them: what stands under `row`, as in plans and offers, else what they are called by."""
    if "row" in row:
        return list(row["row"]) if hasattr(row, "columns") else [row["row"]]
    return list(row.index) if hasattr(row, "columns") else [row.name]


def day(date: str) -> datetime.date:
    """The day of a date; a year or a month counts from its first."""
    return datetime.date.fromisoformat(date + "-01" * (2 - date.count("-")))


def day_number(date: str) -> int:
    """The number of a day in the calendar, the months counted from March; a year or a month counts from its first day."""
    parts = f"{date}-01-01".split("-")
    month = int(parts[1])
    year = int(parts[0]) - int(month < 3)
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + int(parts[2])


def today() -> datetime.date:
    """The day of the run: what is printed in a terminal or a report, never on a page, counts from it."""
    return datetime.date.today()


def age(date: str, on: datetime.date) -> int:
    """Days from a date to a day; none where the clock is behind the date."""
    return max(day_number(on.isoformat()) - day_number(date), 0)


def modified(path: str | os.PathLike) -> str:
    """The date on which a file was last changed, and no later one than today."""
    return min(datetime.date.fromtimestamp(os.stat(path).st_mtime), today()).isoformat()


def days(book: Any) -> Any:
    """Age of each row of a book, in days before the date of the book."""
    last = day(book.attrs["date"])
    return book["date"].map(lambda date: age(date, last))


def summary(book: Any) -> dict[str, Any]:
    """The `newest` and `oldest` date in a book, the median age of its rows in days, and the share that is `stale`."""
    found = days(book)
    return {"newest": book["date"].max(), "oldest": book["date"].min(), "median_days": float(found.median()),
            "stale": float((found > STALE_DAYS).mean())}


def sold(book: Any) -> Any:
    """The book without servers that nobody sells any more: their new price is more than two years older than the book."""
    gone = (book["item"] == "server") & (book["term"] == "purchase") & (days(book) > SOLD_DAYS)
    return book[~gone]


def why_not_sold(book: Any, row: Any) -> str:
    """Why the price of a server decides nothing, in words."""
    old = days(book)[row.name] > SOLD_DAYS
    return f"last priced {row['date']}, so hardly sold new" if old else f"its price of {row['date']} is {row['confidence']}"
