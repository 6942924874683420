"""Price books: CSV files in data/prices, each price with its date and source, checked row by row and against each other."""
import math
import re
import sys
from pathlib import Path
from typing import NamedTuple

from .tables import CONFIDENCE, DATA, Table, bad, check_known, check_quantity, plain_row, read, refuse_duplicates


class Item(NamedTuple):
    """What a price is for: its unit, the quantity that says which values are allowed, and the terms it is sold on."""

    unit: str
    quantity: str
    terms: list


ITEMS = {
    "rent": Item("USD/h", "usd_per_hour", ["on-demand", "spot", "reserved-1y", "reserved-3y", "marketplace", "managed"]),
    "card": Item("USD", "server_usd", ["purchase", "used"]),
    "server": Item("USD", "server_usd", ["purchase", "used"]),
    "egress": Item("USD/GB", "usd_per_gb", ["list"]),
    "storage": Item("USD/GB-month", "usd_per_gb_month", ["list"]),
    "power": Item("USD/kWh", "usd_per_kwh", ["list"]),
    "hosting": Item("USD/month", "hosting_usd_per_month", ["list"]),
    "managed": Item("share", "premium", ["list"]),
    "switch": Item("USD/port", "usd_per_port", ["purchase", "used"]),
    "cable": Item("USD", "cable_usd", ["purchase", "used"]),
    "storage-gear": Item("USD/GB", "storage_gear_usd_per_gb", ["purchase", "used"]),
    "api-input": Item("USD/Mtoken", "api_input_usd_per_million", ["list"]),
    "api-cached-input": Item("USD/Mtoken", "api_cached_usd_per_million", ["list"]),
    "api-output": Item("USD/Mtoken", "api_output_usd_per_million", ["list"]),
}
_FILLED_FOR = {"gpu": ["rent", "card", "server"], "gpus": ["rent", "server"], "from_bytes": ["egress"]}
PRICES = Table(
    "row",
    "item provider sku gpu gpus region term price currency unit from_bytes to_bytes date source confidence note".split(),
    ["gpu", "gpus", "from_bytes", "to_bytes", "note"], {"item": list(ITEMS), "currency": ["USD"], **CONFIDENCE})
_OFFER = ["provider", "sku", "gpu", "region"]
_ONE_PRICE = ["item", *_OFFER, "term", "from_bytes"]


def price_books():
    """Paths of the project's price books, the newest last."""
    return sorted((DATA / "prices").glob("*.csv"))


def prices(path=None):
    """A price book (default: the newest) with `usd_per_hour` for one rented GPU; `attrs` holds its `file` name and `date`."""
    path = Path(path or price_books()[-1])
    frame = read(path, PRICES)
    last = path.stem if re.fullmatch(r"\d{4}-\d\d-\d\d", path.stem) else "9999"
    for row, record in zip(frame.index, frame.to_dict("records")):
        _check_price(path.name, row, record)
        if record["date"] > last:
            raise bad(path.name, row, "date", record["date"], f"at most {last}, the date of the book")
    refuse_duplicates(path.name, frame, _ONE_PRICE)
    egress = frame["item"] == "egress"
    frame.loc[egress, "to_bytes"] = frame.loc[egress, "to_bytes"].fillna(math.inf)
    _check_tiers(path.name, frame[egress])
    on_demand = (frame["item"] == "rent") & (frame["term"] == "on-demand")
    _check_at_most(path.name, frame[frame["term"].str.startswith("reserved")], frame[on_demand], "on-demand")
    _check_at_most(path.name, frame[frame["item"] == "api-cached-input"], frame[frame["item"] == "api-input"], "api-input")
    _check_sold_together(path.name, frame[frame["item"].str.startswith("api-")])
    frame["usd_per_hour"] = (frame["price"] / frame["gpus"]).where(frame["item"] == "rent")
    full_dates = [date for date in frame["date"] if len(date) == 10]
    frame.attrs = {"file": path.name, "date": max(full_dates or frame["date"])}
    return frame


def price(book, item, *, gpu=None, provider=None, sku=None, region=None, term=None, cheapest=False):
    """The one row of `book` that is asked for; with `cheapest` the lowest price of several (per GPU where rented).

    Egress tiers belong together, so none of them is the cheapest.
    """
    wanted = {"item": item, "gpu": gpu, "provider": provider, "sku": sku, "region": region, "term": term}
    wanted = {column: value for column, value in wanted.items() if value is not None}
    file, asked = book.attrs["file"], ", ".join(f"{column} {value!r}" for column, value in wanted.items())
    found = book
    for column, value in wanted.items():
        there = sorted(set(found[column]))
        found = found[found[column] == value]
        if found.empty:
            raise ValueError(f"{file}: no price for {asked}; {column} is one of {', '.join(map(repr, there))}")
    if cheapest and item != "egress":
        found = found.sort_values("usd_per_hour" if item == "rent" else "price", kind="stable").head(1)
    if len(found) > 1:
        rows = [f"row {row}: {', '.join(filter(None, names))}" for row, *names in
                found[["provider", "sku", "gpu", "region", "term"]].itertuples(name=None)]
        more = [f"{len(rows) - 12} more"] if len(rows) > 12 else []
        raise ValueError(f"{file}: {len(found)} prices for {asked}; say which of {'; '.join(rows[:12] + more)}")
    return plain_row(found.iloc[0], f"{file}, row {found.index[0]}")


def _check_price(file, row, record):
    """What depends on the item: its unit, its terms, the columns it fills, and the values its price may have."""
    name, item = record["item"], ITEMS[record["item"]]
    if record["unit"] != item.unit:
        raise bad(file, row, "unit", record["unit"], f"{item.unit} for {name}")
    if record["term"] not in item.terms:
        raise bad(file, row, "term", record["term"], f"{', '.join(item.terms)} for {name}")
    for column, items in _FILLED_FOR.items():
        filled = record[column] == record[column] and record[column] != ""
        if filled != (name in items):
            raise bad(file, row, column, record[column] if filled else "", f"{'blank' if filled else 'filled'} for {name}")
    if name != "egress" and record["to_bytes"] == record["to_bytes"]:
        raise bad(file, row, "to_bytes", record["to_bytes"], f"blank for {name}")
    if record["gpu"]:
        check_known(file, row, "gpu", record["gpu"], "gpus")
    check_quantity(file, row, "price", item.quantity, record["price"])


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


def main(arguments):
    """Validate one price book: a line on stdout and 0, or the error on stderr and 1."""
    if len(arguments) != 1:
        print("usage: python -m gpucalc.price_book FILE", file=sys.stderr)
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
