"""The price in a row of a reader's own file, in USD for the whole product: of one GPU or all, in any currency that has a rate."""
import math
import re
from typing import Any

from .intake_names import PER_GPU, WHOLE
from .price_checks import ITEMS

# What may be beside a rent's number, and how many of it an hour has.
_HOURS = re.compile(r"(/|per)?\s*(gpu|card)?[-/ ]*(per|an|a)?\s*(gpu\s*[-/]?\s*)?(h|hr|hrs|hours?|std)?\.?", re.IGNORECASE)
_OTHER = re.compile(r"(?:/|per|a)?\s*(month|mo|mth|year|yr|y|day|d|minute|min|second|sec|s)\.?", re.IGNORECASE)
_PER_HOUR = {"mo": 1 / 730, "mt": 1 / 730, "ye": 1 / 8760, "yr": 1 / 8760, "y": 1 / 8760, "da": 1 / 24, "d": 1 / 24, "mi": 60,
             "se": 3600, "s": 3600}


def usd_of_product(row: Any, item: str, size: float) -> float:
    """The price of the whole product in USD, of a row being completed, which keeps what is wrong with it; NaN then."""
    fields = [field for field in (WHOLE, PER_GPU) if row.text(field)]
    if not fields:
        field = WHOLE if WHOLE in row.cells.fields else PER_GPU
        row.refuse(field, "a number such as 2.10; a row without a price goes")
        return math.nan
    found = {field: _usd(row, field, item) for field in fields}
    if any(value is None for value in found.values()):
        return math.nan
    many = size if item == "rent" else 1
    if len(found) == 2 and abs(found[WHOLE] - found[PER_GPU] * many) > 0.01 * found[WHOLE]:
        row.refuse(PER_GPU, f"{found[WHOLE] / many:g}, the price of the whole over its {many:g} GPUs; or one of both blank")
    if WHOLE in found:
        return found[WHOLE]
    if item == "rent" and row.text("gpus_per_server") and size > 1:
        row.say(f"{row.cells.title(PER_GPU)!r} is taken as the price of one GPU of several in a machine; a price of the whole "
                f"machine goes into a column {WHOLE}")
    return found[PER_GPU] * many


def _usd(row, field, item):
    """The number in a cell in USD, or None where it is refused."""
    dollars = item == "rent" and field == PER_GPU and row.cells.currency(row.number) in ("", "USD")
    found = row.cells.amount(row.number, field, ITEMS["rent"].high if dollars else math.inf)
    if isinstance(found, str):
        row.refuse(field, found)
        return None
    if found.doubtful:
        row.say(f"{found.shown} is read as {found.value:g}: thousands are not plausible")
    if item == "currency":
        return found.value
    if found.rest and not _unit_fits(row, field, found, item):
        return None
    code = _currency(row, field, found.currency)
    if code is None:
        return None
    if code == "USD":
        return found.value
    rate, whose = row.base.rates[code]
    row.rated = f"{found.shown} {code} is {found.value * rate:,.2f} USD"
    row.remarks.append(f"{found.shown} {code} at {rate:g} USD of {whose}")
    row.say(f"{code} at {rate:g} USD for one, of {whose}")
    return found.value * rate


def _unit_fits(row, field, found, item):
    """Whether what stands beside a number is its unit."""
    rest = found.rest.strip()
    unit = ITEMS[item].unit.removeprefix("USD")
    if rest.lower().replace(" ", "") == unit.lower() or item == "rent" and _HOURS.fullmatch(rest):
        one = re.search(r"gpu|card", rest, re.IGNORECASE)
        if one and field == WHOLE and item == "rent":
            row.refuse(field, f"the price of the whole machine; the price of one GPU goes into a column {PER_GPU}")
        return not (one and field == WHOLE and item == "rent")
    other = _OTHER.fullmatch(rest)
    if other and item == "rent":
        name = other[1].lower()
        value = found.value * _PER_HOUR[name if len(name) == 1 else name[:2]]
        row.refuse(field, f"a price per hour; {value:.4g} is this over the hours, a month being 730")
    else:
        row.refuse(field, f"a number such as 2.10 in {ITEMS[item].unit}")
    return False


def _currency(row, field, symbol):
    """The code of the price's currency, one with a rate."""
    named, titled = row.cells.currency(row.number), row.cells.titled_currency(field)
    if named is None or symbol == "?":
        row.refuse("currency" if named is None else field, "one currency by its code, such as USD or EUR")
        return None
    codes = {code for code in (named, "" if symbol == "$" and (named or titled).endswith("D") else symbol.replace("$", "USD"),
                               titled) if code}
    if len(codes) > 1:
        row.refuse(field, f"in one currency: cell, column and header say {', '.join(sorted(codes))}")
        return None
    code = next(iter(codes), "USD")
    if symbol == "$" and not named and not titled:
        row.say("$ is taken as US dollars")
    if code != "USD" and code not in row.base.rates:
        row.refuse("currency" if named else field, f"USD, or a rate for {code}: RATE={code}=1.10, or a row of the item currency "
                   f"with sku {code} and as price what one {code} costs in USD")
        return None
    return code


def written_out() -> dict[str, Any]:
    """What may stand beside a rent, for JSON. Patterns are JavaScript's too."""
    return {"hours": _HOURS.pattern, "other_unit": _OTHER.pattern}
