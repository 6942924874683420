"""What is wrong in the rows of a price book: each fault with its row, column, value and what is allowed."""
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.evaluate import close
from ..core.quantities import QUANTITIES, check
from .tables import TABLES, rows

if TYPE_CHECKING:
    from pandas import DataFrame


class Fault(NamedTuple):
    """A cell that can't be right, and what would be."""

    row: int
    column: str
    value: Any
    allowed: str


class Item(NamedTuple):
    """What a price is for: its unit, the quantity that says which values are allowed, and the terms it is sold on.

    `low` and `high` are what is plausible, in that unit, of a rent for each GPU: what lies outside is a slip.
    """

    unit: str
    quantity: str
    terms: list
    low: float
    high: float


ITEMS = {"rent": Item("USD/h", "usd_per_hour", ["on-demand", "spot", "reserved-1y", "reserved-3y", "reserved", "capacity-block",
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
         "currency": Item("USD", "currency_usd", ["list"], 1e-6, 1e3)}

MOST_GPUS, MOST_BYTES = 10_000, 1e18
# Years that a term commits to.
RESERVED_YEARS = {"reserved-1y": 1, "reserved-3y": 3}
FILLED = {"gpu": ["rent", "card", "server"], "gpus_per_server": ["rent", "server"], "from_bytes": ["egress"]}
MAY_FILL = {"reserved_years": ["rent"], "includes": ["server", "storage"], "instance": ["rent", "managed", "egress"],
            "from_bytes": ["egress", "storage"], "to_bytes": ["egress", "storage"]}
# What a server's price includes, and what kind a store is.
INCLUDES = {"server": ["network"], "storage": ["object", "file", "block", "cold"]}
_TABLE = TABLES["prices"]
# Which unit and which terms are right depends on the item.
PRICES = _TABLE._replace(choices={name: known for name, known in _TABLE.choices.items() if name not in ("unit", "term")})
_OFFER = ["provider", "sku", "gpu", "region"]
KEY = ["item", "provider", "sku", "instance", "region", "term", "from_bytes"]


def plausible(item: str, gpus_per_server: float) -> tuple[float, float]:
    """Lowest and highest price of an item, in its unit; of a rent for so many GPUs together."""
    many = gpus_per_server if item == "rent" else 1
    return ITEMS[item].low * many, ITEMS[item].high * many


def row_faults(last: str, row: int, record: dict[str, Any]) -> Iterator[Fault]:
    """What is wrong in one row by its item: unit, terms, the columns it fills, the values it may have; and its date."""
    name, item = record["item"], ITEMS.get(record["item"])
    if item is None or item.quantity not in QUANTITIES:
        raise ValueError(f"{name}: needs its unit, quantity and terms in ITEMS of gpucalc/rows/price_checks.py, and the quantity "
                         "a row in data/quantities.csv")
    if record["unit"] != item.unit:
        yield Fault(row, "unit", record["unit"], f"{item.unit} for {name}")
    if record["term"] not in item.terms:
        yield Fault(row, "term", record["term"], f"{', '.join(item.terms)} for {name}")
    for column, items in (FILLED | MAY_FILL).items():
        filled = is_filled(record[column])
        if filled and name not in items or not filled and name in FILLED.get(column, []):
            yield Fault(row, column, record[column] if filled else "", f"{'blank' if filled else 'filled'} for {name}")
    yield from _term_faults(row, record)
    if record["includes"] not in ["", *INCLUDES.get(name, [])]:
        yield Fault(row, "includes", record["includes"], f"{', '.join(INCLUDES.get(name, [])) or 'blank'} for {name}")
    if record["gpu"] and record["gpu"] not in rows("gpus"):
        yield Fault(row, "gpu", record["gpu"], f"a gpu of data/gpus.csv{close(record['gpu'], rows('gpus'))}")
    yield from _price_faults(row, record, item)
    if record["date"] > last:
        yield Fault(row, "date", record["date"], f"at most {last}, the date of the book")


def _price_faults(row, record, item):
    """A price of the kind's own values that is plausible, and numbers that are not too large."""
    for column, most in (("gpus_per_server", MOST_GPUS), ("from_bytes", MOST_BYTES), ("to_bytes", MOST_BYTES)):
        if record[column] > most:
            yield Fault(row, column, record[column], f"at most {most:,.0f}")
    try:
        check(item.quantity, record["price"])
    except ValueError:
        yield Fault(row, "price", record["price"], QUANTITIES[item.quantity].allowed)
        return
    name, many = record["item"], record["gpus_per_server"]
    low, high = plausible(name, many)
    if record["price"] < low or record["price"] > high:
        yield Fault(row, "price", record["price"], f"from {low:,g} to {high:,.0f} {item.unit} for {name}"
                    + (f" of {'one GPU' if many == 1 else f'{many:g} GPUs'}" if name == "rent" else ""))


def is_filled(cell: Any) -> bool:
    """Whether a cell of a row holds anything."""
    return cell == cell and cell != ""


def _term_faults(row, record):
    """A reservation has its years and no other rent has any; a rent that is not managed is for no other instance."""
    term, years = record["term"], record["reserved_years"]
    if is_filled(years) != (term in RESERVED_YEARS) or is_filled(years) and years != RESERVED_YEARS[term]:
        fits = [name for name, held in RESERVED_YEARS.items() if term == "reserved" and held == years]
        yield Fault(row, "reserved_years", years if is_filled(years) else "",
                    f"{RESERVED_YEARS.get(term, 'blank')} on the term {term}" + (f"; {years:g} on {fits[0]}" if fits else ""))
    if record["item"] == "rent" and record["instance"] and term != "managed":
        yield Fault(row, "instance", record["instance"], f"blank on the term {term}")


def book_faults(frame: "DataFrame") -> Iterator[Fault]:
    """What is wrong between the rows of a book, by their index: tiers, reservations, and tokens that are sold together."""
    yield from _tier_faults(frame[frame["item"].isin(["egress", "storage"])])
    on_demand = (frame["item"] == "rent") & (frame["term"] == "on-demand")
    yield from _above(frame[frame["term"].isin(RESERVED_YEARS)], frame[on_demand], "on-demand")
    yield from _above(frame[frame["item"] == "api-cached-input"], frame[frame["item"] == "api-input"], "api-input")
    yield from _sold_alone(frame[frame["item"].str.startswith("api-")])


def _tier_faults(tiered):
    """Tiers of one service start at 0, meet without gap or overlap, and end without an upper edge; one without edges is alone."""
    whole = tiered.fillna({"from_bytes": 0, "to_bytes": math.inf})
    for _, tiers in whole.groupby(["item", "provider", "sku", "instance", "region", "term"]):
        below = 0
        for row, lower, upper in tiers.sort_values("from_bytes", kind="stable")[["from_bytes", "to_bytes"]].itertuples(name=None):
            if lower != below:
                fault = "they overlap" if lower < below else "there is a gap"
                yield Fault(row, "from_bytes", lower, f"{below:g}, where the tier below ends; {fault}")
            if upper <= lower:
                yield Fault(row, "to_bytes", upper, f"above {lower:g}")
            below = upper
        if below < math.inf:
            yield Fault(row, "to_bytes", upper, "blank in the last tier, which has no upper edge")


def _above(low, high, name):
    """Prices of `low` that are above the one in `high` of the same offer."""
    most = {tuple(offer): (row, value) for row, *offer, value in high[[*_OFFER, "price"]].itertuples(name=None)}
    for row, *offer, value in low[[*_OFFER, "price"]].itertuples(name=None):
        bound_row, bound = most.get(tuple(offer), (row, value))
        if value > bound:
            yield Fault(row, "price", value, f"at most {bound:g}, the {name} price of the same offer in row {bound_row}")


def _sold_alone(api):
    """Input without output of a model's tokens, or output without input."""
    for _, sold in api.groupby(_OFFER):
        for item in ("api-input", "api-output"):
            if item not in set(sold["item"]):
                yield Fault(sold.index[0], "item", sold["item"].iloc[0], f"with a row {item} of the same offer")
