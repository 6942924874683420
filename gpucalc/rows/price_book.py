"""Price books: CSV files in data/prices, each price with its date and source, checked row by row and against each other."""
import functools
import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.evaluate import Row
from ..core.figures import number
from ..core.quantities import QUANTITIES
from .files import shortened
from .tables import DATA, TABLES, bad, check_known, check_quantity, plain_row, read, refuse_duplicates

if TYPE_CHECKING:
    from pandas import DataFrame


class Item(NamedTuple):
    """What a price is for: its unit, the quantity that says which values are allowed, and the terms it is sold on.

    `low` and `high` are what is plausible, in that unit, of a rent for each GPU: what lies outside is a slip.
    """

    unit: str
    quantity: str
    terms: list
    low: float
    high: float


ITEMS = {
    "rent": Item("USD/h", "usd_per_hour", ["on-demand", "spot", "reserved-1y", "reserved-3y", "reserved", "capacity-block",
                                           "serverless", "marketplace", "managed"], 0.01, 1000),
    "card": Item("USD", "server_usd", ["purchase", "used"], 10, 1e6),
    "server": Item("USD", "server_usd", ["purchase", "used"], 100, 1e8),
    "egress": Item("USD/GB", "usd_per_gb", ["list"], 0, 10),
    "storage": Item("USD/GB-month", "usd_per_gb_month", ["list"], 0, 10),
    "power": Item("USD/kWh", "usd_per_kwh", ["list"], 0, 10),
    "hosting": Item("USD/month", "hosting_usd_per_month", ["list"], 0, 1e6),
    "hosting-power": Item("USD/kW-month", "hosting_usd_per_kw_month", ["list"], 0, 1e4),
    "managed": Item("share", "premium", ["list"], 0, 10),
    "switch": Item("USD/port", "usd_per_port", ["purchase", "used"], 0, 1e5),
    "cable": Item("USD", "cable_usd", ["purchase", "used"], 0, 1e5),
    "storage-gear": Item("USD/GB", "storage_gear_usd_per_gb", ["purchase", "used"], 0, 100),
    "api-input": Item("USD/Mtoken", "api_input_usd_per_million", ["list"], 0, 1e4),
    "api-cached-input": Item("USD/Mtoken", "api_cached_usd_per_million", ["list"], 0, 1e4),
    "api-output": Item("USD/Mtoken", "api_output_usd_per_million", ["list"], 0, 1e4),
    "api-batch-input": Item("USD/Mtoken", "api_batch_input_usd_per_million", ["list"], 0, 1e4),
    "api-batch-output": Item("USD/Mtoken", "api_batch_output_usd_per_million", ["list"], 0, 1e4),
    "currency": Item("USD", "currency_usd", ["list"], 1e-6, 1e3),
}


class MissingPrice(ValueError):
    """What is asked for has no price in the book: a page that needs it says so, and the rest of the book is made."""


MOST_GPUS, MOST_BYTES = 10_000, 1e18
# Years that a term commits to.
RESERVED_YEARS = {"reserved-1y": 1, "reserved-3y": 3}
_FILLED = {"gpu": ["rent", "card", "server"], "gpus_per_server": ["rent", "server"], "from_bytes": ["egress"]}
_MAY_FILL = {"reserved_years": ["rent"], "includes": ["server"], "instance": ["rent", "managed"], "to_bytes": ["egress"]}
_ONLY_OF = _FILLED | _MAY_FILL | {"usd_per_hour": ["rent"]}
_TABLE = TABLES["prices"]
# Which unit and which terms are right depends on the item.
PRICES = _TABLE._replace(choices={name: known for name, known in _TABLE.choices.items() if name not in ("unit", "term")})
_OFFER = ["provider", "sku", "gpu", "region"]
_KEY = ["item", "provider", "sku", "instance", "region", "term", "from_bytes"]


def price_books() -> list[Path]:
    """Paths of the project's price books, the newest last."""
    return sorted((DATA / "prices").glob("*.csv"))


def _newest():
    books = price_books()
    if not books:
        raise MissingPrice(f"{DATA / 'prices'}: no price book; allowed: at least one CSV file")
    return books[-1]


def prices(path: str | Path | None = None, only: bool = False, rates: dict[str, float] | None = None) -> "DataFrame":
    """A price book (default: the newest) by the key of each offer, with `usd_per_hour` for one rented GPU.

    The index `row` cites an offer: file, provider, SKU, region and term. `yours` says of each row whether it comes from a file of
    the reader's own; `attrs` holds the book's `file` name, the `date` of its newest row, and whether any is the reader's, `own`.
    only: take a reader's file alone, without the newest book for what it lacks. rates: USD for one unit of other currencies.
    """
    path = Path(path) if path else _newest()
    file = shortened(path.name)
    last = path.stem if re.fullmatch(r"\d{4}-\d\d-\d\d", path.stem) else "9999"
    frame = read(path, PRICES, functools.partial(_check_price, last))
    refuse_duplicates(file, frame, _KEY)
    egress = frame["item"] == "egress"
    frame.loc[egress, "to_bytes"] = frame.loc[egress, "to_bytes"].fillna(math.inf)
    _check_tiers(file, frame[egress])
    on_demand = (frame["item"] == "rent") & (frame["term"] == "on-demand")
    _check_at_most(file, frame[frame["term"].isin(RESERVED_YEARS)], frame[on_demand], "on-demand")
    _check_at_most(file, frame[frame["item"] == "api-cached-input"], frame[frame["item"] == "api-input"], "api-input")
    _check_sold_together(file, frame[frame["item"].str.startswith("api-")])
    frame["usd_per_hour"] = (frame["price"] / frame["gpus_per_server"]).where(frame["item"] == "rent")
    full_dates = [date for date in frame["date"] if len(date) == 10]
    frame["yours"] = False
    frame.attrs = {"file": file, "date": max(full_dates or frame["date"]), "own": False}
    return _by_key(frame)


def _by_key(frame):
    """The book by a citation of each offer, such as `2026-06-24.csv: Verda, 1H100.80S.32V, FIN, on-demand`."""
    file = frame.attrs["file"]
    frame["row"] = [f"{file}: {_offer(*cells)}" for cells in frame[_KEY].itertuples(index=False, name=None)]
    refuse_duplicates(file, frame, ["row"])
    return frame.set_index("row")


def _offer(item, provider, sku, instance, region, term, from_bytes):
    parts = [*([] if item == "rent" else [item]), provider, sku, region, term]
    parts += [f"for {instance}"] if instance else []
    parts += [f"from {number(from_bytes, 'byte')}"] if from_bytes == from_bytes else []
    return ", ".join(parts)


def select(book: "DataFrame", **wanted: Any) -> "DataFrame":
    """The rows with these values, in the book's order; None allows all, a list several, each of which must be there.

    Raises MissingPrice naming the file, what was asked, and what is allowed.
    """
    wanted = {column: value for column, value in wanted.items() if value is not None}
    for column, value in wanted.items():
        values = value if isinstance(value, list) else [value]
        there = set(book[column])
        for value in values:
            if value not in there:
                raise no_price(book.attrs["file"], wanted | {column: value}, column, there)
        book = book[book[column].isin(values)]
    return book


def no_price(file: str, wanted: dict[str, Any], column: str, there: Iterable) -> MissingPrice:
    """The error for what a book has no price for: `there` is what it has in the column."""
    return MissingPrice(f"{file}: no price for {_asked(wanted)}; {column} is one of "
                        f"{', '.join(map(_text, sorted(there))) or 'none'}")


def _asked(wanted):
    return ", ".join(f"{column} {_text(value)}" for column, value in wanted.items() if value is not None)


def _text(value):
    return f"{value:g}" if isinstance(value, (int, float)) else repr(value)


def cheapest_first(rows: "DataFrame") -> "DataFrame":
    """Rows of one item, the lowest price first: per GPU where rented."""
    return rows.sort_values("usd_per_hour" if (rows["item"] == "rent").all() else "price", kind="stable")


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
    return plain_row(values | _named_price(item, row["price"]), row.name, item)


def _named_price(item, price):
    """The price by its quantity; a rent has its own, per GPU, and a card is no server."""
    return {} if item in ("rent", "card") else {ITEMS[item].quantity: price}


def _check_price(last, file, row, record):
    """What depends on the item: its unit, its terms, the columns it fills, and the values it may have; and its date."""
    name, item = record["item"], ITEMS.get(record["item"])
    if item is None or item.quantity not in QUANTITIES:
        raise ValueError(f"{name}: needs its unit, quantity and terms in ITEMS of gpucalc/rows/price_book.py, and the quantity a "
                         "row in data/quantities.csv")
    if record["unit"] != item.unit:
        raise bad(file, row, "unit", record["unit"], f"{item.unit} for {name}")
    if record["term"] not in item.terms:
        raise bad(file, row, "term", record["term"], f"{', '.join(item.terms)} for {name}")
    for column, items in (_FILLED | _MAY_FILL).items():
        filled = _is_filled(record[column])
        if filled and name not in items or not filled and name in _FILLED.get(column, []):
            raise bad(file, row, column, record[column] if filled else "", f"{'blank' if filled else 'filled'} for {name}")
    _check_term(file, row, record)
    if record["gpu"]:
        check_known(file, row, "gpu", record["gpu"], "gpus")
    check_quantity(file, row, "price", item.quantity, record["price"])
    for column, most in (("gpus_per_server", MOST_GPUS), ("from_bytes", MOST_BYTES), ("to_bytes", MOST_BYTES)):
        if record[column] > most:
            raise bad(file, row, column, record[column], f"at most {most:,.0f}")
    low, high = plausible(name, record["gpus_per_server"])
    if not low <= record["price"] <= high:
        raise bad(file, row, "price", record["price"], f"from {low:,g} to {high:,.0f} {item.unit} for {name}"
                  + (f" of {record['gpus_per_server']:g} GPUs" if name == "rent" else ""))
    if record["date"] > last:
        raise bad(file, row, "date", record["date"], f"at most {last}, the date of the book")


def plausible(item: str, gpus_per_server: float) -> tuple[float, float]:
    """Lowest and highest price of an item, in its unit; of a rent for so many GPUs together."""
    many = gpus_per_server if item == "rent" else 1
    return ITEMS[item].low * many, ITEMS[item].high * many


def _is_filled(cell):
    return cell == cell and cell != ""


def _check_term(file, row, record):
    """A reservation has its years and no other rent has any; a rent that is not managed is for no other instance."""
    term, years = record["term"], record["reserved_years"]
    if _is_filled(years) != (term in RESERVED_YEARS) or _is_filled(years) and years != RESERVED_YEARS[term]:
        raise bad(file, row, "reserved_years", years if _is_filled(years) else "",
                  f"{RESERVED_YEARS.get(term, 'blank')} on the term {term}")
    if record["item"] == "rent" and record["instance"] and term != "managed":
        raise bad(file, row, "instance", record["instance"], f"blank on the term {term}")


def _check_tiers(file, egress):
    """Tiers of one service start at 0, meet without gap or overlap, and end without an upper edge."""
    for _, tiers in egress.groupby(["provider", "sku", "region", "term"]):
        below = 0
        for row, lower, upper in tiers.sort_values("from_bytes")[["from_bytes", "to_bytes"]].itertuples(name=None):
            if lower != below:
                fault = "they overlap" if lower < below else "there is a gap"
                raise bad(file, row, "from_bytes", lower, f"{below:g}, where the tier below ends; {fault}")
            if upper <= lower:
                raise bad(file, row, "to_bytes", upper, f"above {lower:g}")
            below = upper
        if below < math.inf:
            raise bad(file, row, "to_bytes", upper, "blank in the last tier, which has no upper edge")


def _check_at_most(file, low, high, name):
    """No price of `low` is above the one in `high` of the same offer."""
    most = {tuple(offer): (row, value) for row, *offer, value in high[[*_OFFER, "price"]].itertuples(name=None)}
    for row, *offer, value in low[[*_OFFER, "price"]].itertuples(name=None):
        bound_row, bound = most.get(tuple(offer), (row, value))
        if value > bound:
            raise bad(file, row, "price", value, f"at most {bound:g}, the {name} price of the same offer in row {bound_row}")


def _check_sold_together(file, api):
    """An API that sells tokens of a model sells both input and output."""
    for _, rows in api.groupby(_OFFER):
        for item in ("api-input", "api-output"):
            if item not in set(rows["item"]):
                raise bad(file, rows.index[0], "item", rows["item"].iloc[0], f"with a row {item} of the same offer")


def main(arguments: list[str]) -> int:
    """Validate one price book: a line on stdout and 0, or the error on stderr and 1."""
    if len(arguments) != 1:
        print("usage: python -m gpucalc.rows.price_book FILE", file=sys.stderr)
        return 2
    try:
        book = prices(arguments[0])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{book.attrs['file']}: {len(book)} rows, newest {book.attrs['date']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
