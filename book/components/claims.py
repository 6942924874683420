"""What others published beside what the laws give for the same inputs: measurements, claims of a page, and verdicts."""
import json
import math
from typing import Any, NamedTuple, TYPE_CHECKING

from gpucalc.core.evaluate import Case, close, Row
from gpucalc.core.law import LAWS
from gpucalc.rows import bands, catalogue
from gpucalc.rows.kept import kept
from gpucalc.rows.tables import plain_row, rows, table, TABLES

if TYPE_CHECKING:
    from pandas import DataFrame


# What a claim turns out to be, computed from what it says and from what its formula gives.

CORRECT, ASSUMING, WRONG = "correct", "correct if", "wrong"
CONTRADICTED, OUTDATED, OPEN = "contradicted", "outdated", "no figure"
VERDICTS = (CORRECT, ASSUMING, WRONG, CONTRADICTED, OUTDATED, OPEN)
# Within a tenth a rounded figure still serves; printed as one digit, it may be off by a quarter if it rounds to that digit.
TENTH, QUARTER = 1.1, 1.25
# What a claim may say of its figure instead of "this"; a hundredth over the bound is rounding.
_OVER = 1.01
BOUNDS = ("at least", "at most")
# Columns in which near is wrong.
_EXACT = ("year", "compute_capability")


class Verdict(NamedTuple):
    """What a claim is; how many times its figure is too high or too low; since when a price is another one."""

    verdict: str
    factor: float = math.nan
    since: str = ""


def factor(claimed: float, right: float) -> float:
    """How many times one figure is the other, never below 1; infinite if one of them is 0."""
    return 1.0 if claimed == right else max(claimed, right) / min(claimed, right) if min(claimed, right) > 0 else math.inf


def agrees(claimed: float | str, right: Any, bound: str = "", law: str = "") -> bool:
    """Whether a figure holds: within a tenth, or equal after rounding where it was printed as one digit; words must be equal.

    A bound holds if the right figure is on its side.
    """
    if isinstance(claimed, str) or isinstance(right, str):
        return words(claimed) == words(right)
    if right != right:
        return False
    if law in _EXACT:
        return claimed == right
    if bound:
        return right * _OVER >= claimed if bound == "at least" else right <= claimed * _OVER
    one_digit = 1 <= claimed < 10 and claimed == int(claimed)
    rounded = one_digit and math.floor(right + 0.5) == claimed
    return factor(claimed, right) <= (QUARTER if rounded else TENTH) + 1e-9


def words(value: Any) -> str:
    """A cell as a claim would say it: `none` for a blank one, a whole number without a point."""
    if isinstance(value, str):
        return value.strip().lower() or "none"
    return "none" if value != value else f"{value:g}"


def judged(claimed: float | str, found: list, bound: str = "", law: str = "", assumed: Any = None,
           others: tuple = (), stated: Any = True) -> Verdict:
    """The verdict on a claim: `found` holds (date, figure) by date, `assumed` the figure under its assumption, `others` what
    other claims say of the same thing. An assumption counts only where the document `stated`
    it, since any figure is right for something."""
    if not isinstance(claimed, str) and claimed != claimed:
        return Verdict(OPEN)
    if not found:
        return Verdict(CONTRADICTED) if any(not agrees(claimed, other) for other in others) else Verdict(OPEN)
    right = found[-1][1]
    if agrees(claimed, right, bound, law):
        return Verdict(CORRECT)
    off = math.nan if isinstance(claimed, str) or isinstance(right, str) else factor(claimed, right)
    held = [place for place, (_, value) in enumerate(found) if agrees(claimed, value, bound, law)]
    if held:
        return Verdict(OUTDATED, off, found[held[-1] + 1][0])
    if stated and assumed is not None and agrees(claimed, assumed, bound, law):
        return Verdict(ASSUMING, off)
    return Verdict(WRONG, off)


# What recomputes a claim: rows of any table, offers in the price books at their dates, and how two cases compare.

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
    from gpucalc.rows.price_book import price_books
    found = [(book.stem[:10], _offer(book, wanted)) for book in price_books() if book.stem[:10] >= since]
    found = [(date, row) for date, row in found if row is not None]
    if not found:
        raise ValueError(f"offer {wanted}: in no price book")
    return found


def _offer(book, wanted):
    from gpucalc.rows.price_book import MissingPrice, price, price_row, prices, select
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


# What others published beside what the laws give for the same inputs: measurements of a topic, claims of a page.


def measurements(topic: str | None = None, kind: str | None = None, **instead: Any) -> "DataFrame":
    """The published figures of a topic, or of all, `measured` or `computed` by a formula of their own; both if no kind.

    `instead` replaces inputs of that name: `bands.PEAKS`, for all rows, gives the laws' upper bounds.
    """
    frame = catalogue.measurements()
    frame = frame[((frame["topic"] == topic) | (topic is None)) & ((frame["kind"] == kind) | (kind is None))].copy()
    frame["predicted"] = [_predicted(row["law"], json.loads(row["inputs"]), instead) for row in frame.to_dict("records")]
    frame["error"] = frame["predicted"] / frame["value"] - 1
    return frame


def claims(page: str | None = None) -> "DataFrame":
    """What articles and guides claim on the subject of a page, or of any, judged.

    `predicted` is what the law gives, NaN where a claim has no figure or no law, `right` the same or the words of a row;
    `error` is predicted over claimed, less 1; `verdict`, `factor` and `since` are those of `verdicts.judged`; `harm_usd` is what
    a wrong figure costs in its `situation`.
    """
    frame = table("claims")
    return _judged(frame[(frame["page"] == page) | (page is None)])


def claim(name: str) -> Row:
    """One claim as a row: `value` as published, `predicted` by the law, `error`, its verdict, `inputs` by name."""
    known = table("claims").index
    if name not in known:
        raise ValueError(f"data/claims.csv has no id {name!r}{close(name, known)}; see all in that file")
    row = plain_row(_judged(table("claims").loc[[name]]).iloc[0], name, "claim")
    row["inputs"] = json.loads(row["inputs"])
    return row


def dearest(count: int = 20, found: "DataFrame | None" = None) -> "DataFrame":
    """The wrong claims by what they cost in their situation, the most first: of all, or of those that were `found`."""
    frame = claims() if found is None else found
    frame = frame[(frame["verdict"] == WRONG) & (frame["harm_usd"] > 0)]
    return frame.sort_values("harm_usd", ascending=False, kind="stable").head(count)


def _judged(frame):
    """The rows with what their law gives and what that makes of them."""
    found = [_one(name, row) for name, row in frame.to_dict("index").items()]
    columns = ("right", "predicted", "error", "verdict", "factor", "since", "harm_usd")
    return frame.assign(**{column: [row[place] for row in found] for place, column in enumerate(columns)})


def _one(name, row):
    """What is right, predicted, error, verdict, factor, since, harm_usd of one claim."""
    try:
        return _computed(row)
    except ValueError as error:
        raise ValueError(f"claims.csv, id {name}: {error}" if row["reference"] else str(error)) from None


def _computed(row):
    law, inputs, than = row["law"], json.loads(row["inputs"]), json.loads(row["than"] or "{}")
    claimed = row["said"] or row["value"]
    found = figures(law, inputs, than) if law else []
    other = _assuming(law, inputs, than, json.loads(row["assumed"])) if row["assumed"] else None
    verdict = judged(claimed, found, row["bound"], law, other, _others(row["against"]), row["stated"])
    right = found[-1][1] if found else math.nan
    predicted = math.nan if isinstance(right, str) else right
    harm = _harm(json.loads(row["harm"]), claimed, predicted) if row["harm"] else math.nan
    return right, predicted, predicted / row["value"] - 1, *verdict, harm


def _assuming(law, inputs, than, assumed):
    """The figure under an assumption, which changes inputs (null takes one away), the law, the factor or the other case."""
    than = assumed.pop("than", than) | {name: assumed.pop(name) for name in ("times",) if name in assumed}
    law = assumed.pop("law", law)
    return figures(law, {name: value for name, value in (inputs | assumed).items() if value is not None}, than)[-1][1]


def _others(ids):
    """What the claims say that this one is held against."""
    frame = table("claims")
    for each in ids.split():
        if each not in frame.index:
            raise ValueError(f"against: {each!r}{close(each, frame.index)}; allowed: ids of data/claims.csv")
    return tuple(frame.loc[each, "said"] or frame.loc[each, "value"] for each in ids.split())


def _harm(harm, claimed, right):
    """USD by which a law goes wrong with the claimed figure in place of the right one."""
    if isinstance(claimed, str) or right != right:
        return math.nan
    costs = [figures(harm["law"], harm["inputs"] | {harm["of"]: value})[-1][1] for value in (claimed, right)]
    return abs(costs[0] - costs[1]) * harm.get("times", 1)


def _predicted(law, inputs, instead):
    """The value of the law with some inputs replaced; NaN without one."""
    if not law:
        return math.nan
    meant = {name: value for name, value in instead.items() if name in inputs or name in bands.ADDED}
    return float(Case.of(inputs | meant)(law))
