"""The project's price books: CSV files in data/prices, checked row by row and against each other."""
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.figures import number
from .files import content, shortened
from .kept import kept, stamp
from .price_checks import KEY, PRICES, book_faults, row_faults
from .store import key, recalled
from .tables import DATA, MOST_BYTES, bad, read, refuse_duplicates

if TYPE_CHECKING:
    from pandas import DataFrame


class MissingPrice(ValueError):
    """What is asked for has no price in the book: a page that needs it says so, and the rest of the book is made."""


def price_books() -> list[Path]:
    """Paths of the project's price books, the newest last."""
    return sorted((DATA / "prices").glob("*.csv"))


def newest() -> Path:
    """Path of the newest of the project's price books."""
    books = price_books()
    if not books:
        raise MissingPrice(f"{DATA / 'prices'}: no price book; allowed: at least one CSV file")
    return books[-1]


def file_state(path):
    """The state of a file, for what is kept of it; None where it can't be read, which its reader says better."""
    try:
        return stamp(path)
    except (OSError, ValueError):
        return None


def project_book(path: Path) -> "DataFrame":
    """One of the project's price books: every column there, nothing completed, the first fault refused."""
    return _project_book(path, file_state(path)).copy(deep=False)


@kept
def _project_book(path, _):
    return recalled(key("book", path.name, content(path, MOST_BYTES)), lambda: _checked(path))


def _checked(path):
    file = shortened(path.name)
    last = path.stem if re.fullmatch(r"\d{4}-\d\d-\d\d", path.stem) else "9999"
    frame = read(path, PRICES, lambda file, row, record: _refuse(file, row_faults(last, row, record)))
    refuse_duplicates(file, frame, KEY)
    frame = without_edges(frame)
    _refuse(file, book_faults(frame))
    return finished(frame, file)


def _refuse(file, faults):
    for fault in faults:
        raise bad(file, *fault)


def without_edges(frame: "DataFrame") -> "DataFrame":
    """The rows with no upper edge on the last tier."""
    tiered = frame["from_bytes"].notna()
    frame.loc[tiered, "to_bytes"] = frame.loc[tiered, "to_bytes"].fillna(math.inf)
    return frame


def finished(frame: "DataFrame", file: str) -> "DataFrame":
    """Checked rows as a book: with the price of one rented GPU, none of them the reader's, by the citation of each offer."""
    frame["usd_per_hour"] = (frame["price"] / frame["gpus_per_server"]).where(frame["item"] == "rent")
    frame["yours"] = False
    frame.attrs = {"file": file, "date": newest_date(frame), "own": False}
    frame["row"] = [f"{file}: {_offer(*cells)}" for cells in frame[KEY].itertuples(index=False, name=None)]
    refuse_duplicates(file, frame, ["row"])
    return frame.set_index("row")


def newest_date(frame: "DataFrame") -> str:
    """The newest full date of rows, else the newest of any."""
    return max([date for date in frame["date"] if len(date) == 10] or frame["date"])


def _offer(item, provider, sku, instance, region, term, from_bytes):
    """A citation of an offer, such as `Verda, 1H100.80S.32V, FIN, on-demand`."""
    parts = [*([] if item == "rent" else [item]), provider, sku, region, term]
    parts += [f"for {instance}"] if instance else []
    parts += [f"from {number(from_bytes, 'byte')}"] if from_bytes == from_bytes else []
    return ", ".join(parts)
