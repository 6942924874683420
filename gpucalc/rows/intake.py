"""A price file of the reader's own: read in any shape, completed, checked as a whole, and laid over the newest book."""
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import intake_names as names
from .ages import firm, modified
from .files import few, shortened
from .intake_overlay import laid_over
from .intake_rows import Base, Read, completed
from .intake_sheet import read_sheet
from .price_checks import ITEMS, KEY, PRICES, Fault, book_faults
from .price_outliers import odd_prices, standings
from .project_books import MissingPrice, newest, project_book, without_edges
from .tables import OWN_GPUS, bad, rows

if TYPE_CHECKING:
    from pandas import DataFrame

_WANTED = ("a header with gpu and usd_per_hour (of one GPU) or price (of the whole machine), and what else is known: gpus, "
           "provider, term, currency, date, region, sku, item")
_MOST_ODD = 200


def own_book(path: Path, only: bool, rates: dict[str, float]) -> "DataFrame":
    """The prices of a reader's own file, laid over those of the newest book; as `price_book.prices`.

    Raises ValueError with every fault of the file, one a line.
    """
    base = newest_book()
    sheet = read_sheet(path, names.score, _WANTED)
    found = completed(sheet, base_of(base)._replace(dated=modified(path)), _given(rates))
    frame, repeats = _frame(found)
    faults = [*found.faults, *repeats, *book_faults(without_edges(frame.copy()))]
    if faults:
        raise ValueError("\n".join(_messages(sheet.file, faults, found)))
    overlay = laid_over(frame, found.larger, base, sheet.file, only)
    said = [*_sentences(found.said), *_counted(sheet.file, found, frame, overlay, base)]
    fresh = frame.loc[overlay.fresh]
    warnings = tuple(few(odd_prices(sheet.file, fresh, base), _MOST_ODD, "prices far from the book's"))
    standing = tuple(few(standings(fresh, base), _MOST_ODD, "rents"))
    overlay.book.attrs |= {"own": True, "said": tuple(said), "warnings": warnings, "standing": standing,
                           "from_book": _by_item(overlay.lacking, frame), "book": base.attrs["file"],
                           "prices": len(fresh)}
    return overlay.book


def newest_book() -> "DataFrame":
    """The newest book; an empty one where there is none, for a file alone."""
    try:
        return project_book(newest())
    except MissingPrice:
        import pandas
        empty = pandas.DataFrame(columns=[*PRICES.columns, "usd_per_hour", "yours"])
        empty.attrs = {"file": "no book", "date": "", "own": False}
        return empty


def base_of(book: "DataFrame") -> Base:
    """What rows are completed with: the largest machine in which two sellers rent a GPU out, spellings, and rates."""
    rents = book[(book["item"] == "rent") & firm(book)]
    sellers = rents.groupby(["gpu", "gpus_per_server"])["provider"].nunique()
    sizes: dict[str, int] = {}
    for (gpu, size), count in sellers.items():
        if count >= 2:
            sizes[gpu] = max(sizes.get(gpu, 0), int(size))
    currencies = book[book["item"] == "currency"]
    rates = {sku: (float(price), f"{date}, {book.attrs['file']}") for sku, price, date in
             currencies[["sku", "price", "date"]].itertuples(index=False, name=None)}
    models = [*dict.fromkeys([*book.loc[book["item"].str.startswith("api-"), "sku"], *rows("models")])]
    return Base(book.attrs["file"], sizes, sorted(set(book["provider"])), models, rates, book.attrs["date"])


def _given(rates):
    """The rates of a parameter. Raises ValueError naming the one that can't be."""
    low, high = ITEMS["currency"].low, ITEMS["currency"].high
    for code, rate in rates.items():
        if not re.fullmatch("[A-Z]{3}", str(code)) or isinstance(rate, bool) or not isinstance(rate, (int, float)) or (
                not low <= rate <= high):
            raise ValueError(f"rates: {shortened(repr(code))}: {rate!r}; allowed: a currency's code and what one unit costs in "
                             "USD, such as EUR: 1.10")
    return {code: (float(rate), "the parameter rates") for code, rate in rates.items()}


def _frame(found):
    """The records by their row, without those that stand there twice, and the faults of those that differ in the price alone."""
    import pandas
    frame = pandas.DataFrame(list(found.records.values()), pandas.Index(list(found.records), name="row"), PRICES.columns)
    frame = frame.astype(dict.fromkeys(("gpus_per_server", "price", "reserved_years", "from_bytes", "to_bytes"), float))
    frame = frame.drop_duplicates()
    first: dict[Any, int] = {}
    repeats = []
    for row, *key in frame[KEY].astype(str).itertuples(name=None):
        other = first.setdefault(tuple(key), row)
        if other != row:
            repeats.append(Fault(row, "price", frame.at[row, "price"], f"one price of an offer; row {other} has the same item, "
                                 "provider, sku, region and term: name what tells them apart, or keep one"))
    return frame, repeats


def _counted(file, found, frame, overlay, base):
    """Rows that are not counted, said twice or as the newest book has them; and what GPUs of the reader's own are like."""
    own = shortened(Path(os.environ.get(OWN_GPUS, "")).name)
    gpus = [gpu for gpu in sorted(set(frame["gpu"]) - {""}) if own and rows("gpus")[gpu]["source"] == own]
    twice, same = len(found.records) - len(frame), len(frame) - len(overlay.fresh)
    return [*([f"rows that say the same as another: {twice}, counted once"] if twice else []),
            *([f"rows that are word for word those of {base.attrs['file']}: {same}, not counted as yours"] if same else []),
            *(f"{gpu}: {rows('gpus')[gpu]['note']}" for gpu in gpus)]


def _messages(file, faults, found: Read):
    """One line a fault, in the order of the rows, with the reader's own header and cell."""
    lines = []
    for row, field, value, allowed in sorted(dict.fromkeys(faults), key=lambda fault: fault.row):
        known = row in found.cells.rows
        column = names.PER_GPU if known and field == names.WHOLE and not found.cells.text(row, field) else field
        if isinstance(value, float) and value < 0:
            allowed += "; without the minus, if that is a slip"
        shown = found.cells.text(row, column) if known and column in found.cells.fields else value
        lines.append(str(bad(file, row, found.cells.title(column), shown, allowed)))
    return few(lines)


def _sentences(said):
    """What was taken for granted, each once, with its rows."""
    return [sentence if not where else f"{_rows(where)}: {sentence}" for sentence, where in said.items()]


def _rows(where):
    shown = ", ".join(map(str, where[:8]))
    return f"row{'s' * (len(where) > 1)} {shown}{f' and {len(where) - 8} more' if len(where) > 8 else ''}"


def _by_item(rows, own):
    """Of rows of the newest book: by item, the GPUs or else the number of prices. A GPU that has a rent of the reader's own is
    named with the terms on which it has none."""
    found, rented = {}, set(own.loc[own["item"] == "rent", "gpu"])
    for item, group in rows.groupby("item", sort=False):
        names = group["gpu"] + (" " + group["term"]).where((item == "rent") & group["gpu"].isin(rented), "")
        gpus = tuple(sorted(set(names) - {""}))
        found[item] = gpus or (f"{len(group)} price{'s' * (len(group) > 1)}",)
    return found
