"""Price books, the project's and the reader's own, and what is looked up in them."""
import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.evaluate import Row
from .intake import own_book
from .kept import kept
from .price_checks import FILLED, ITEMS, MAY_FILL, MOST_GPUS, PRICES, RESERVED_YEARS, plausible
from .project_books import MissingPrice, file_state, newest, price_books, project_book
from .tables import DATA, OWN_GPUS, plain_row

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["DATA", "ITEMS", "MOST_GPUS", "PRICES", "RESERVED_YEARS", "MissingPrice", "newest", "plausible", "price_books",
           "project_book"]


class _Mapping(dict):
    """What pandas need not copy with every column that it takes from a book."""

    def __deepcopy__(self, _):
        return self

    def __hash__(self):
        return hash(repr(self))


class _Tuple(tuple):
    __deepcopy__ = _Mapping.__deepcopy__


_SAME: dict[type, type] = {dict: _Mapping, tuple: _Tuple}


# What puts equal prices in an order.
TIES = ["provider", "sku", "region", "term", "instance"]
_ONLY_OF = FILLED | MAY_FILL | {"usd_per_hour": ["rent"]}


def prices(path: str | Path | None = None, only: bool = False, rates: dict[str, float] | None = None) -> "DataFrame":
    """A price book (default: the newest) by the key of each offer, with `usd_per_hour` for one rented GPU.

    A file that is not one of the project's books is the reader's own: read in any shape, completed, laid over the newest book.
    only: take it alone, without the newest book for what it lacks. rates: USD for one unit of other currencies, {"EUR": 1.1}.

    The index `row` cites an offer: file, provider, SKU, region and term. `yours` says of each row whether the reader gave it;
    `attrs` holds the book's `file` name, the `date` of its newest row, and whether it is the reader's, `own`. Then it has `said`
    too, what was taken for granted, `warnings`, prices that look odd, and `from_book`, what the file has no price for.
    """
    path, books = Path(path) if path else newest(), price_books()
    # A path may also lead to an untouched copy of a book under its name, as the build makes one.
    if any(book.resolve() == path.resolve() or (
            book.name == path.name and path.is_file() and book.read_bytes() == path.read_bytes()) for book in books):
        return project_book(path)
    return _own_book(path, only, _Mapping(rates or {}), file_state(path), books and (books[-1], file_state(books[-1])),
                     os.environ.get(OWN_GPUS)).copy(deep=False)


@kept
def _own_book(path, only, rates, *_):
    book = own_book(path, only, rates)
    book.attrs = {name: _SAME[type(value)](value) if type(value) in _SAME else value for name, value in book.attrs.items()}
    return book


def select(book: "DataFrame", **wanted: Any) -> "DataFrame":
    """The rows with these values, in the book's order; None allows all, a list several, each of which must be there.

    Raises MissingPrice naming the file, what was asked, and what is allowed.
    """
    wanted = {column: value for column, value in wanted.items() if value is not None}
    if not wanted:
        return book
    # Places in the book: a frame of all its columns for each value asked for would take longer than the rest.
    import numpy
    found = numpy.arange(len(book))
    for column, value in wanted.items():
        values, cells = value if isinstance(value, list) else [value], book[column].to_numpy()[found]
        there = set(cells)
        for each in values:
            if each not in there:
                raise no_price(book.attrs["file"], wanted | {column: each}, column, there)
        found = found[[cell in values for cell in cells]]
    return book.iloc[found]


def no_price(file: str, wanted: dict[str, Any], column: str, there: Iterable) -> MissingPrice:
    """The error for what a book has no price for: `there` is what it has in the column."""
    return MissingPrice(f"{file}: no price for {_asked(wanted)}; {column} is one of "
                        f"{', '.join(map(_text, sorted(there))) or 'none'}")


def _asked(wanted):
    return ", ".join(f"{column} {_text(value)}" for column, value in wanted.items() if value is not None)


def _text(value):
    return f"{value:g}" if isinstance(value, (int, float)) else repr(value)


def cheapest_first(rows: "DataFrame") -> "DataFrame":
    """Rows of one item, the lowest price first: per GPU where rented. Of equal prices the order of the book decides nothing."""
    return rows.sort_values(["usd_per_hour" if (rows["item"] == "rent").all() else "price", *TIES], kind="stable")


def price(book: "DataFrame", item: str, *, gpu: str | None = None, provider: str | None = None, sku: str | None = None,
          region: str | None = None, term: str | None = None, instance: str | None = None, cheapest: bool = False) -> Row:
    """The one row of `book` that is asked for; with `cheapest` the lowest price of several (per GPU where rented).

    Egress tiers belong together, so none of them is the cheapest. Rents of servers: `rents.cheapest_rent`.
    """
    wanted = {"item": item, "gpu": gpu, "provider": provider, "sku": sku, "region": region, "term": term, "instance": instance}
    found = select(book, **wanted)
    if cheapest and item != "egress":
        return price_row(cheapest_first(found).iloc[0])
    if len(found) > 1:
        file = book.attrs["file"]
        rows = [row.removeprefix(f"{file}: ") for row in found.index]
        more = [f"{len(rows) - 12} more"] if len(rows) > 12 else []
        raise ValueError(f"{file}: {len(found)} prices for {_asked(wanted)}; say which of {'; '.join(rows[:12] + more)}")
    return price_row(found.iloc[0])


def price_row(row: Any) -> Row:
    """A row of a book as a `Row` for a case: the columns of its item, and its price under the name that the laws know."""
    item = row["item"]
    values = {column: value for column, value in row.items() if item in _ONLY_OF.get(column, [item])}
    if item not in ("rent", "card"):    # a rent has its own, per GPU, and a card is no server
        values[ITEMS[item].quantity] = row["price"]
    return plain_row(values, row.name, item)


def main(arguments: list[str]) -> int:
    """Check one price file: what is said of it on stdout and 0, or all its faults on stderr and 1."""
    from .price_report import report
    parser = argparse.ArgumentParser("python -m gpucalc.rows.price_book", description="Checks a file of prices.")
    parser.add_argument("file", help="CSV or XLSX")
    add_options(parser)
    given = parser.parse_args(arguments)
    try:
        print("\n".join(report(asked(given))))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """What says how the file of prices, an argument `file` of its own, is taken."""
    parser.add_argument("--only", action="store_true", help="the file alone, nothing of the newest book")
    parser.add_argument("--rate", action="append", default=[], metavar="EUR=1.10", help="USD for one unit of a currency")


def asked(given: argparse.Namespace) -> "DataFrame":
    """The price book of the arguments."""
    return prices(given.file, given.only, dict(rate(each) for each in given.rate))


def rate(text: str) -> tuple[str, float]:
    """A currency and USD for one unit of it, from a text such as EUR=1.10. Raises ValueError for another text."""
    code, _, usd = text.partition("=")
    try:
        return code.strip().upper(), float(usd)
    except ValueError:
        raise ValueError(f"RATE={text}: allowed: a currency and what one unit costs in USD, such as EUR=1.10") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
