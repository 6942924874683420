"""What is said of a price file that was checked: what was taken for granted, what looks odd, what it lacks, its age."""
import datetime
from typing import TYPE_CHECKING

from .ages import oldest

if TYPE_CHECKING:
    from pandas import DataFrame

_OLD_DAYS = 90
_MOST = 30


def report(book: "DataFrame") -> list[str]:
    """Lines for the terminal."""
    file = book.attrs["file"]
    if not book.attrs["own"]:
        return [f"{file}: {len(book)} rows, newest {book.attrs['date']}"]
    yours = book[book["yours"]]
    lines = [f"{file}: {len(yours)} price{'s' * (len(yours) != 1)} of yours"]
    lines += _listed("Taken for granted:", book.attrs["said"])
    lines += _listed(f"From {book.attrs['book']}, which is not yours, because {file} has none:",
                     [f"{item}: {_few(what)}" for item, what in book.attrs["from_book"].items()])
    questions = [f"check: {line}" for line in book.attrs["warnings"]]
    more = [f"check: {len(questions) - _MOST} more prices far from the book's"] if len(questions) > _MOST else []
    return [*lines, *_ages(book, yours), *questions[:_MOST], *more]


def _listed(title, lines):
    lines = list(lines)
    more = [f"  and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    return [title, *(f"  {line}" for line in lines[:_MOST]), *more] if lines else []


def _few(names):
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _ages(book, yours):
    """How old the prices are: the reader's, and the rest."""
    found = []
    for whose, rows in (("yours", yours), ("the book's", book[~book["yours"]])):
        if len(rows):
            days = [_days(date) for date in rows["date"]]
            old = sum(day > _OLD_DAYS for day in days) / len(days)
            found.append(f"{whose} of {oldest(rows)} to {max(rows['date'])}, {old:.0%} over {_OLD_DAYS} days old")
    return [f"Age: {'; '.join(found)}"]


def _days(date):
    """Days since a date, which may be a month or a year: from its end on."""
    year, *rest = map(int, date.split("-"))
    day = datetime.date(year, *[*rest, 1, 1][:2]) if len(rest) != 1 else datetime.date(year, rest[0], 28)
    return (datetime.date.today() - (day if rest else datetime.date(year, 12, 31))).days
