"""What recomputes a claim: rows of any table, offers in the price books at their dates, and how two cases compare."""
import json
from typing import Any

from ..core.evaluate import Case, Row, close
from ..core.law import LAWS
from .kept import kept
from .tables import TABLES, plain_row, rows, table

# What the inputs of a claim may name beside what a case knows: a row by its key.
TABLES_OF = {"node": "nodes", "instance": "instances", "generation": "generations", "memory_kind": "memory_kinds",
             "memory": "memories", "partition": "partitions"}
# Prices that change: an offer of the price books, a series of price_history.csv.
DATED = ("offer", "rents")


def figures(law: str, inputs: dict, than: dict | None = None) -> list[tuple[str, Any]]:
    """The law, or the column of a row, for the inputs: at each date at which a price among them was seen, the newest last.

    With `than` it is over the same of another case, whose inputs are there: {"gpu": "A100 SXM 80GB"}; `law` names another law
    for it, `times` multiplies. Raises ValueError.
    """
    than = dict(than or {})
    times, other_law = than.pop("times", 1), than.pop("law", law)
    found = _dated(law, inputs)
    if not than:
        return [(date, value * times if times != 1 else value) for date, value in found]
    other = _dated(other_law, than)
    dates = sorted({date for date, _ in found + other if date}) or [""]
    return [(date, times * _at(found, date) / _at(other, date)) for date in dates
            if _at(found, date) is not None and _at(other, date) is not None]


def _at(found, date):
    """What held at a date: the last value until then."""
    before = [value for day, value in found if day <= date]
    return before[-1] if before else None


def _dated(law, inputs):
    dated = [kind for kind in DATED if kind in inputs]
    if len(dated) > 1:
        raise ValueError(f"{' and '.join(dated)}: allowed: one of them")
    plain = {name: value for name, value in inputs.items() if name not in DATED}
    if not dated:
        return [("", _value(law, _case(plain)))]
    prices = _prices(dated[0], json.dumps(inputs[dated[0]]))
    return [(date, _value(law, _case(plain, row))) for date, row in prices]


@kept
def _prices(kind, wanted):
    """Rows by date of what is wanted, as JSON; looked up once, because many claims name the same offer."""
    return {"offer": _offers, "rents": _rents}[kind](**json.loads(wanted))


def _case(inputs, price=None):
    """The case of the inputs, with the rows of tables that only claims name."""
    case = Case.of({name: value for name, value in inputs.items() if name not in TABLES_OF})
    for kind, name in TABLES_OF.items():
        if kind in inputs:
            key, known = inputs[kind], rows(name)
            if key not in known:
                raise ValueError(f"{kind}: {key!r}; allowed: a {kind} of data/{name}.csv{close(key, known)}")
            case.rows[kind] = plain_row(known[key], key, kind)
    if price is not None:
        case.rows["price"] = price
    return case


def _value(law, case):
    """The value of the law, or of the column of that name in a row of the case; text where the column holds words."""
    if law in LAWS:
        return float(case(law))
    holders = [row for row in case.rows.values() if law in row]
    if not holders:
        raise ValueError(f"{law}: neither a law nor a column of {', '.join(map(str, case.rows)) or 'no row'} among the inputs")
    value = holders[0][law]
    return value if isinstance(value, str) else float(value)


def _offers(since="", **wanted):
    """The offer in each price book that has it, by the date of the book: the first of the regions and SKUs that is there.

    since: books before that date are left out, where their price is the very claim.
    """
    from .price_book import price_books
    found = [(book.stem[:10], _offer(book, wanted)) for book in price_books() if book.stem[:10] >= since]
    found = [(date, row) for date, row in found if row is not None]
    if not found:
        raise ValueError(f"offer {wanted}: in no price book")
    return found


def _offer(book, wanted):
    from .price_book import MissingPrice, price, price_row, prices, select
    item = wanted.get("item", "rent")
    for choice in _choices({"item": item} | wanted):
        try:
            frame = select(prices(book), **choice)
        except MissingPrice:
            continue
        return price(frame, item) if len(frame) != 1 else price_row(frame.iloc[0])
    return None


def _choices(wanted):
    """The offers that fit, one after the other: where a list stands, its values in turn."""
    lists = [(name, values) for name, values in wanted.items() if isinstance(values, list)]
    if not lists:
        return [wanted]
    name, values = lists[0]
    return [choice for value in values for choice in _choices(wanted | {name: value})]


def _rents(**wanted):
    """The rows of price_history.csv with these cells, by date."""
    frame = table("price_history")
    for column, value in wanted.items():
        if column not in TABLES["price_history"].columns:
            raise ValueError(f"rents: {column}: allowed: the columns of data/price_history.csv")
        frame = frame[frame[column] == value]
    found = sorted(zip(frame["date"], frame["usd_per_hour"]))
    if not found:
        raise ValueError(f"rents {wanted}: not in data/price_history.csv")
    return [(date, Row({"usd_per_hour": float(usd)}, f"price_history.csv, {date}", "rent")) for date, usd in found]
