"""What is said of a price file that was checked: what was taken for granted, what looks odd, what it lacks, its age."""
from typing import TYPE_CHECKING

from .ages import STALE_DAYS, age, oldest, today

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST = 30


def notes(book: "DataFrame") -> list[tuple[str, list[str]]]:
    """What has to be said of a reader's own prices wherever they decide, as titles with lines: prices that look odd, what was
    taken for granted, and where a rent stands in the market. Nothing of a book of the project."""
    titles = {"Check your prices": "warnings", "Taken for granted": "said", "Beside the market": "standing"}
    held = [(title, book.attrs[name]) for title, name in titles.items() if book.attrs.get(name)]
    return [(title, [*said[:_MOST], *([f"and {len(said) - _MOST} more"] if len(said) > _MOST else [])]) for title, said in held]


def report(book: "DataFrame") -> list[str]:
    """Lines for the terminal."""
    file = book.attrs["file"]
    if not book.attrs["own"]:
        return [f"{file}: {len(book)} rows, newest {book.attrs['date']}"]
    yours, many = book[book["yours"]], book.attrs["prices"]
    lines = [f"{file}: {many} price{'s' * (many != 1)} of yours"]
    asked = dict(notes(book))
    questions = [f"check: {line}" for line in asked.pop("Check your prices", [])]
    for title, said in asked.items():
        lines += _listed(f"{title}:", said)
    lines += _listed(f"From {book.attrs['book']}, which is not yours, because {file} has none:",
                     [f"{item}: {_few(what)}" for item, what in book.attrs["from_book"].items()])
    return [*lines, *_ages(book, yours), *questions]


def _listed(title, lines):
    return [title, *(f"  {line}" for line in lines)] if lines else []


def _few(names):
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _ages(book, yours):
    """How old the prices are: the reader's, and the rest."""
    found = []
    for whose, rows in (("yours", yours), ("the book's", book[~book["yours"]])):
        if len(rows):
            old = rows["date"].map(lambda date: age(date, today()) > STALE_DAYS).mean()
            found.append(f"{whose} of {oldest(rows)} to {max(rows['date'])}, {old:.0%} over {STALE_DAYS} days old")
    return [f"Age: {'; '.join(found)}"]
