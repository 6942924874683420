"""Prices in files of a reader's own: numbers, money, names and terms as people write them, rows checked, odd prices named."""
import contextlib
import datetime
import functools
import io
import json
import math
import os
import re
import statistics
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING

from ..core.evaluate import close
from ..core.figures import three_figures
from . import names
from .ages import day, firm, modified, today
from .files import content, csv_rows, few, hidden, SEPARATORS, shortened
from .price_checks import book_faults, Fault, ITEMS, KEY, PRICES, RESERVED_YEARS, row_faults
from .project_books import finished, MissingPrice, newest, newest_date, project_book, without_edges
from .tables import bad, FIRST_YEAR, is_date, OWN_GPUS, rows
from .texts import read_texts

if TYPE_CHECKING:
    from pandas import DataFrame


# Numbers, amounts of money and dates as people write them. What can be read in two ways has two readings.

_HELD = read_texts("price_words")
# Currencies by the symbols that name one, the longest first, their codes, and words for them.
SYMBOLS: dict[str, str] = _HELD["symbols"]
CODES, _WORDS = set(_HELD["codes"].split()), _HELD["currencies"]
_NUMBER = re.compile(r"(?:\d[\d.,'’ ]*\d|[.,]?\d)(?:[.,](?!\w))?(?:[eE][+-]?\d+)?", re.ASCII)
NUMERAL = "a number such as 2.10"
# Forms of dates: of those with numbers alone, the day or the month may be first.
_DATES = {"iso": r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
          "day, name": r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[ .-]+(?P<month>[a-z]+)\.?,?[ -]+(?P<year>\d{4})",
          "name, day": r"(?P<month>[a-z]+)\.? (?:(?P<day>\d{1,2})(?:st|nd|rd|th)?,? )?(?P<year>\d{4})",
          "day first": r"(?P<day>\d{1,2})([-/.])(?P<month>\d{1,2})\2(?P<year>\d{4})",
          "month first": r"(?P<month>\d{1,2})([-/.])(?P<day>\d{1,2})\2(?P<year>\d{4})"}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


class Amount(NamedTuple):
    """A number as text, whether it is below zero, the currency beside it, and what else stands there."""

    number: str
    negative: bool
    currency: str
    rest: str


def plain(text: str) -> str:
    """The text with every kind of space as a plain one, and a plain minus."""
    return " ".join(text.replace("−", "-").split())


def amount(text: str) -> Amount | None:
    """What stands in a cell with one number; None where there is none."""
    text = plain(text)
    found = _NUMBER.search(text)
    if not found:
        return None
    before, after = text[:found.start()].strip(), text[found.end():].strip()
    negative = before.startswith("(") and after.endswith(")") or bool(re.search(r"-\s*$|^\s*-", before))
    if negative:
        before, after = before.strip("(-+ "), after.rstrip(") ")
    (one, before), (other, after) = _without_currency(before.rstrip("+ ")), _without_currency(after)
    named = {each for each in (one, other) if each}
    if any(each.endswith("D") for each in named):    # $2.10 USD
        named = {each for each in named if each != "$"}
    return Amount(found[0], negative, "?" if len(named) > 1 else "".join(named), f"{before} {after}".strip())


def _without_currency(text):
    for symbol, named in SYMBOLS.items():
        if symbol in text:
            code, rest = _without_currency(text.replace(symbol, "", 1).strip())
            return code or (symbol if symbol == "$" else named), rest
    for word in re.findall(r"[A-Za-z]+", text):
        code = _WORDS.get(word.lower(), word.upper())
        if code in CODES:
            return code, re.sub(rf"\b{word}\b", "", text, count=1).strip()
    return "", text


def readings(number: str) -> dict[str, float]:
    """What a number can mean, by its decimal mark; by "" where it has none to tell."""
    spaced = re.fullmatch(r"(\d{1,3}(?:[ '’]\d{3})+)(?:([.,])(\d+))?", number, re.ASCII)
    if spaced:
        whole = re.sub(r"[ '’]", "", spaced[1])
        return {spaced[2] or "": float(f"{whole}.{spaced[3] or 0}")}
    if re.fullmatch(r"\d+", number, re.ASCII):
        return {"": float(number)}
    found = {}
    for mark, group in ((".", ","), (",", ".")):
        if group in number and number.startswith("0"):    # 0,123 groups nothing
            continue
        digits = rf"\d{{1,3}}(?:[{group}]\d{{3}})+" if group in number else r"\d*"
        if re.fullmatch(rf"{digits}(?:[{mark}]\d*)?(?:[eE][+-]?\d+)?", number, re.ASCII):
            found[mark] = float(number.replace(group, "").replace(mark, "."))
    return _without_same(found)


def _without_same(found):
    """One reading where there are two of the same."""
    return {"": next(iter(found.values()))} if len(found) == 2 and len(set(found.values())) == 1 else found


def agreed(column: list[dict]) -> str:
    """The decimal mark or the order of days that those of a column settle which have one reading; "" where they don't."""
    kinds = {kind for held in column if len(held) == 1 for kind in held if kind}
    return "".join(kinds) if len(kinds) == 1 else ""


def settled(number: str, mark: str, most: float) -> tuple[float, bool]:
    """The one reading of a number of a column with this decimal mark, and whether only plausibility settles it.

    No point marks thousands where that is above `most`. Raises ValueError with what is allowed.
    """
    held = readings(number)
    if not held or math.inf in held.values():
        raise ValueError(NUMERAL)
    if len(held) == 1:
        return next(iter(held.values())), False
    if mark:
        return held[mark], False
    if "." in number and held[","] > most:
        return held["."], True
    low, high = sorted(held.values())
    raise ValueError(f"a number with one reading: this may be {low:g} or {high:g}, and no other number of its column settles it; "
                     f"write {low:.4f} or {high:.0f}")


def dates(text: str) -> dict[str, str]:
    """The days, months or years that a text can mean, as YYYY, YYYY-MM or YYYY-MM-DD, by the order in which it is written."""
    text = plain(text)
    text = re.sub(r"[T ]\d{1,2}:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?( [AaPp][Mm])?$", "", text)
    if re.fullmatch(r"\d{4}(-\d\d){0,2}", text, re.ASCII):
        return {"": text}
    found = {}
    for order, form in _DATES.items():
        parts = re.fullmatch(form, text, re.ASCII | re.IGNORECASE)
        with contextlib.suppress(ValueError):    # no day of the calendar, or no month of that name
            year, month, day = parts.group("year", "month", "day") if parts else ("", "", "")
            number = int(month) if month.isdigit() else _MONTHS.index(month.lower()[:3]) + 1
            written = datetime.date(int(year), number, int(day or 1)).isoformat()
            found[order if "first" in order else ""] = written if day else written[:7]
    return _without_same(found)


# Names as people write them: columns of a price file, GPUs, items and terms. What is taken for what is said.

# Columns of money: of one GPU for an hour, or of the whole product.
PER_GPU, WHOLE = "usd_per_hour", "price"
_COLUMNS = {phrase: field for field, phrases in _HELD["columns"].items() for phrase in phrases.split(", ")}
_BOOK_COLUMNS = [*PRICES.columns, PER_GPU]
_SIGNS = _HELD["signs"]
_HOUR, _MONEY, _MACHINE, _GPU, _FILLERS = (
    set(_HELD[name].split()) for name in ("hour", "money", "machine", "gpu", "fillers"))


class Column(NamedTuple):
    """What a column of a reader's file holds: a column of a book or PER_GPU; the currency its header names; how sure that is."""

    field: str
    currency: str
    exact: bool


def column(header: str) -> Column | None:
    """What a header means; None for one that means nothing here."""
    known = re.sub(r"[\s-]+", "_", header.strip().lower())
    if known in _BOOK_COLUMNS:
        return Column(known, "", True)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", header).lower()
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    words = re.findall(r"[a-z]+|\d+|#", text)
    phrase = " ".join(words)
    named = Column(_COLUMNS[phrase], "", phrase in (_COLUMNS[phrase], "gpus")) if phrase in _COLUMNS else None
    return _money_column(words) or named


def _money_column(header):
    words = {word for word in header if word not in _FILLERS}
    currencies = {word for word in words if word.upper() in CODES}
    known = {*currencies, *_HOUR, *_MONEY, *_MACHINE, *_GPU}
    priced = currencies or any(word in _MONEY or word == "hourly" for word in words)
    if not priced or len(currencies) > 1 or any(word not in known for word in words):
        return None
    of_one = any(word in _GPU or word in _HOUR for word in words) and not any(word in _MACHINE for word in words)
    return Column(PER_GPU if of_one else WHOLE, "".join(currencies).upper(), False)


def score(header: list[str]) -> int:
    """How much a row looks like the header of a price file: its known columns; 0 without a price, or without what it is for."""
    fields = {found.field for found in map(column, header) if found}
    priced, named = fields & {PER_GPU, WHOLE}, fields & {"gpu", "item", "sku"}
    return len(fields) if priced and named else 0


def gpu_named(name: str) -> tuple[str, str]:
    """The key in data/gpus.csv that a name means, and what to say of it where the name leaves open which.

    A family's name, such as H100, means its SXM card of the most memory. Raises ValueError with what is allowed.
    """
    found = names.meant("gpu", name).names
    if len({names.family(key) for key in found}) != 1:
        options = f"; it may be {', '.join(found[:4])}" if found else f"; close: {', '.join(names.near('gpu', name))}"
        raise ValueError(f"a gpu of data/gpus.csv{options}")
    return found[0], f"{shortened(name, 60)} is taken as {found[0]}, not {' or '.join(found[1:])}" if found[1:] else ""


_TERM_NAMES = {name: term for term, names in _HELD["terms"].items() for name in names.split()}
_ITEM_NAMES = _HELD["items"]
_LENGTH, _RESERVING = re.compile("(\\d+|one|three)(years?|yrs?|y|months?|mo|m)"), ("reserv", "commit", "cud", "saving")
_YEARS = {"one": 1, "three": 3}


def term_named(text: str, item: str) -> tuple[str, str]:
    """The term of the book that a text means, and what to say of it. Raises ValueError with what is allowed."""
    word, terms = _bare(text), ITEMS[item].terms
    same = {_bare(each): each for each in terms}
    known = _TERM_NAMES.get(word, "")
    if "list" in terms and known == "on-demand":
        known = "list"
    if word in same or known in terms:
        return same.get(word, known), ""
    length = _LENGTH.search(word)
    if item == "rent" and length and (word == length[0] or any(name in word for name in _RESERVING)):
        number = int(_YEARS.get(length[1], length[1]))
        years = number / 12 if length[2].startswith("m") else number
        exact = next((each for each, held in RESERVED_YEARS.items() if held == years), "")
        return exact or "reserved", "" if exact else (
            f"{shortened(text, 40)} is a reservation of no length the book knows: the term reserved")
    raise ValueError(_terms_of(text, item))


def _terms_of(text, item):
    return f"{', '.join(ITEMS[item].terms)} for {item}{close(text, ITEMS[item].terms)}"


def is_quote(text: str) -> bool:
    """Whether a price is marked as a quote, which stands beside those of the newest book. Raises ValueError for another word."""
    if text.lower() not in ("", "yes", "no"):
        raise ValueError("yes or no: a quote joins the prices of the book, others replace them")
    return text.lower() == "yes"


def _bare(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


def item(text: str) -> str:
    """The item that a text means. Raises ValueError with what is allowed."""
    found = {_bare(each): each for each in ITEMS}.get(_bare(text)) or _ITEM_NAMES.get(_bare(text))
    if not found:
        raise ValueError(f"{', '.join(ITEMS)}{close(text, ITEMS)}")
    return found


def spelled(text: str, known: Iterable[str]) -> str:
    """The text as one of the known names spells it."""
    return next((each for each in known if each.casefold() == text.casefold()), text)


# Rows of cells from a spreadsheet of any shape: CSV in several separators and encodings, or XLSX.

MOST_BYTES, MOST_UNPACKED, MOST_ROWS, MOST_COLUMNS = 20_000_000, 100_000_000, 20_000, 100
_LONGEST_CELL = 10_000
# Rows above the header that a sheet may have: a title, who made it, when.
_ABOVE = 20
_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


class Exact(str):
    """A number that a spreadsheet holds as one, as text: its point is a decimal point."""


class Sheet(NamedTuple):
    """The header and the rows below it, each with its number in the file, and what was taken for granted in reading them."""

    header: list[str]
    first: int
    rows: list[tuple[int, list[str]]]
    said: list[str]
    separator: str
    file: str


def read_sheet(path: Path, score: Callable[[list[str]], int], wanted: str) -> Sheet:
    """The sheet whose header has the highest `score`; 0 is no header. `wanted` says in the error what a header has."""
    held = content(path, MOST_BYTES)
    file = shortened(path.name)
    if held.startswith(_OLD_EXCEL):
        raise ValueError(f"{file}, row 1: an old Excel file; allowed: saved as XLSX or CSV")
    listed = held.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    read = _best_sheet if held.startswith(_ZIP) else _best_list if listed else _best_separator
    grid, place, said, separator = read(file, held, score, wanted)
    filled = [(row, cells) for row, cells in grid if any(cells)]
    if len(filled) > MOST_ROWS:
        raise ValueError(f"{file}: more than {MOST_ROWS:,} rows; allowed: at most that")
    if place:
        said.append(f"the header is row {filled[place][0]}; what stands above it is not read")
    (first, header), below = filled[place], filled[place + 1:]
    if not below:
        raise ValueError(f"{file}, row {first}: no rows below the header; allowed: at least one")
    return Sheet([" ".join(cell.split()) for cell in header], first, below, said, separator, file)


def columns_of(path: str | os.PathLike[str], names: list[str], wanted: str) -> tuple[str, list[tuple[int, list[str]]]]:
    """The name of a file, and each row's number and cells in the columns of these names, whose order and case are free."""
    sheet = read_sheet(Path(path), lambda header: {*names} <= {*map(str.lower, header)}, wanted)
    places = [[*map(str.lower, sheet.header)].index(name) for name in names]
    return sheet.file, [(row, [cells[place] if place < len(cells) else "" for place in places]) for row, cells in sheet.rows]


def _best_separator(file, held, score, wanted):
    """The records of a text file, the place of the header among them, what is said, and what separates cells."""
    text, said = _text_of(file, held)
    named = re.match(r"sep=(.)", text.lstrip()[:5].lower())
    head = "\n".join(text.splitlines()[:_ABOVE * 10])
    heads = {each: _records(file, head, each, strict=False) for each in ([named[1]] if named else SEPARATORS)}
    found = {each: _best_header(grid, score) for each, grid in heads.items()}
    best = max(found, key=lambda each: found[each][0])
    if not found[best][0]:
        raise _no_header(file, list(heads.values()), wanted)
    return _records(file, text, best), found[best][1], said, best


def _best_list(file, held, score, wanted):
    """The same of the list in a JSON file whose records look most like prices: each is a row, its names are the header."""
    try:
        open_, lists = [json.loads(held)], []
        while open_:
            node = open_.pop()
            open_ += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
            lists.append([_flat(each) for each in node if isinstance(each, dict)] if isinstance(node, list) else [])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}, row 1: JSON that cannot be read, {error}; allowed: a list of records, CSV or XLSX") from None
    headers = [list(dict.fromkeys(name for record in records for name in record)) for records in lists]
    header, records = max(zip(headers, lists), key=lambda each: score(each[0]))
    if not score(header):
        raise _no_header(file, [[(1, each)] for each in headers], wanted)
    grid = [(1, header), *((row, [record.get(name, "") for name in header]) for row, record in enumerate(records, 2))]
    if len(header) > MOST_COLUMNS:
        raise ValueError(f"{file}, row 1: {len(header)} names; allowed: at most {MOST_COLUMNS}")
    for row, cells in grid:
        _check_size(file, row, cells)
    return grid, 0, ["read as JSON: row 2 is the first record of its list"], ""


def _flat(record, above=""):
    """The texts and numbers of a JSON record by their names, those of a record in it behind its name."""
    found = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{above}{name} ")
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            found[above + name] = value.strip() if isinstance(value, str) else Exact(repr(value))
    return found


def _best_sheet(file, held, score, wanted):
    """The rows of the one sheet with prices, the place of the header among them, and what is said."""
    sheets = _workbook(file, held)
    found = {name: _best_header(grid, score) for name, grid in sheets.items()}
    priced = [name for name, (points, _) in found.items() if points]
    if not priced:
        raise _no_header(file, list(sheets.values()), wanted)
    if len(priced) > 1:
        raise ValueError(f"{file}, row 1: {len(priced)} sheets with prices: {', '.join(map(shortened, priced))}; allowed: one")
    said = [f"only the sheet {shortened(priced[0])} has prices; the others are not read"] if len(sheets) > 1 else []
    return sheets[priced[0]], found[priced[0]][1], said, ""


def _best_header(grid, score):
    """Points and place of the first row that looks most like a header, of the rows that are not blank."""
    filled = [cells for _, cells in grid if any(cells)][:_ABOVE]
    points = [score(cells) for cells in filled]
    return (max(points), points.index(max(points))) if points else (0, 0)


def _no_header(file, grids, wanted):
    """The error for a file without a header that can be used: it shows the row that comes nearest to one."""
    rows = [(row, [cell for cell in cells if cell]) for grid in grids for row, cells in grid[:1] if any(cells)]
    if not rows:
        return ValueError(f"{file}, row 1: the file is empty; allowed: {wanted}")
    row, cells = max(rows, key=lambda each: len(each[1]))
    shown = ", ".join(repr(shortened(cell, 40)) for cell in cells[:20])
    return ValueError(f"{file}, row {row}: no header with prices, but {shown}; allowed: {wanted}")


def _text_of(file, held):
    """The file as text, and what was taken for granted."""
    try:
        if held[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return held.decode("utf-16"), []
        return held.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        text = held.decode("cp1252", "replace")
    bad = next((each for each in text if each == "\ufffd" or ord(each) < 32 and each not in "\t\r\n"), "")
    if bad:
        raise ValueError(f"{file}, row 1: neither text nor XLSX; allowed: CSV or XLSX")
    return text, ["the file is not UTF-8: read as Windows-1252 (Latin-1); check names with accents"]


def _records(file, text, separator, strict=True):
    """Number of the first line and cells of every record; `strict` refuses quotes that don't fit."""
    if max(text.count("\n"), text.count("\r")) > 10 * MOST_ROWS:
        raise ValueError(f"{file}: more than {10 * MOST_ROWS:,} lines; allowed: at most that")
    found = []
    with contextlib.nullcontext() if strict else contextlib.suppress(ValueError):
        for row, cells in csv_rows(file, io.StringIO(text, newline=""), separator):
            if not (row == 1 and re.fullmatch(r"sep=.?", "".join(cells).lower())):
                found.append((row, cells))
            if strict:  # between other separators a whole line may be one cell
                _check_size(file, row, cells)
    return found


def _check_size(file, row, cells):
    if max(map(len, cells), default=0) > _LONGEST_CELL:
        raise ValueError(f"{file}, row {row}: a cell of {max(map(len, cells)):,} characters; allowed: at most {_LONGEST_CELL:,}")
    if len(cells) > MOST_COLUMNS and any(cells[MOST_COLUMNS:]):
        raise ValueError(f"{file}, row {row}: {len(cells):,} columns; allowed: at most {MOST_COLUMNS}")


def _workbook(file, held):
    """The sheets of an XLSX file by name. No formula is computed: what it last gave is read."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise ValueError(f"{file}: XLSX needs the package openpyxl: pip install openpyxl; or save the sheet as CSV") from None
    try:
        with zipfile.ZipFile(io.BytesIO(held)) as packed:
            unpacked = sum(each.file_size for each in packed.infolist())
            names = packed.namelist()
        if unpacked > MOST_UNPACKED:
            raise ValueError(f"{file}: {unpacked:,} bytes when unpacked; allowed: at most {MOST_UNPACKED:,}")
        if "xl/workbook.xml" not in names:
            raise ValueError(f"{file}, row 1: a packed file that is no XLSX; allowed: CSV or XLSX")
        book = openpyxl.load_workbook(io.BytesIO(held), read_only=True, data_only=True, keep_links=False)
        return {sheet.title: _sheet_rows(file, sheet) for sheet in book.worksheets}
    except Exception as error:  # A broken file shows as whatever the reader stumbles on.
        if isinstance(error, ValueError) and str(error).startswith(file):
            raise
        raise ValueError(f"{file}, row 1: no XLSX that can be read; allowed: CSV or XLSX") from None


def _sheet_rows(file, sheet):
    sheet.reset_dimensions()
    found = []
    for row, cells in enumerate(sheet.iter_rows(max_row=10 * MOST_ROWS, max_col=MOST_COLUMNS + 1), 1):
        texts = [_shown(cell).strip() if cell.data_type not in "n" else _shown(cell) for cell in cells]
        if any(texts):
            _check_size(file, row, texts)
            found.append((row, texts))
            if len(found) > MOST_ROWS + _ABOVE:
                raise ValueError(f"{file}: more than {MOST_ROWS:,} rows; allowed: at most that")
    return found


def _shown(cell: Any) -> str:
    """A cell as text; a number with the currency that its format shows."""
    value = cell.value
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Exact(f"{value!r} {_currency(cell.number_format or '')}".strip())
    return "" if value is None else str(value)    # a day as YYYY-MM-DD


def _currency(number_format):
    """The currency in a number format such as [$€-407] #,##0.00 or "EUR" 0.00."""
    positive = number_format.split(";")[0]
    named = re.search(r"\[\$([^\]-]+)", positive)
    if named:
        return named[1].strip()
    plain = re.sub(r"\[[^\]]*\]", "", positive)
    found = re.search(r"[$€£¥₹]|\b[A-Z]{3}\b", plain)
    return found[0] if found else ""


# The price in a row of a reader's own file, in USD for the whole product: of one GPU or all, in any currency that has a rate.

# What may be beside a rent's number, and how many of it an hour has.
_HOURS = re.compile(r"(/|per)?\s*(gpu|card)?[-/ ]*(per|an|a)?\s*(gpu\s*[-/]?\s*)?(h|hr|hrs|hours?|std)?\.?", re.IGNORECASE)
_OTHER = re.compile(r"(?:/|per|a)?\s*(month|mo|mth|year|yr|y|day|d|minute|min|second|sec|s)\.?", re.IGNORECASE)
_PER_HOUR = {"mo": 1 / 730, "mt": 1 / 730, "ye": 1 / 8760, "yr": 1 / 8760, "y": 1 / 8760, "da": 1 / 24, "d": 1 / 24, "mi": 60,
             "se": 3600, "s": 3600}


def usd_of_product(row: Any, item: str, size: float) -> float:
    """The price of the whole product in USD, of a row being completed, which keeps what is wrong with it; NaN then."""
    fields = [field for field in (WHOLE, PER_GPU) if row.text(field)]
    if not fields:
        row.refuse(WHOLE if WHOLE in row.cells.fields else PER_GPU, f"{NUMERAL}; a row without a price goes")
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
    priced = row.tried(field, _price, row.cells, row.number, field, item, ITEMS["rent"].high if dollars else math.inf)
    if priced is None:
        return None
    found, value, doubtful = priced
    if doubtful:
        row.say(f"{found.number} is read as {value:g}: thousands are not plausible")
    if item == "currency":
        return value
    code = _currency_word(row, field, found.currency)
    if code in (None, "USD"):
        return code and value
    rate, whose = row.base.rates[code]
    row.rated = f"{found.number} {code} is {value * rate:,.2f} USD"
    row.remarks.append(f"{found.number} {code} at {rate:g} USD of {whose}")
    row.say(f"{code} at {rate:g} USD for one, of {whose}")
    return value * rate


def _price(cells, row, field, item, most):
    """The amount in a cell, beside which its unit stands or nothing. Raises ValueError with what is allowed."""
    priced, unit = cells.amount(row, field, most), ITEMS[item].unit
    found, value, _ = priced
    if item == "currency":
        return priced
    is_unit = found.rest.lower().replace(" ", "") in ("", unit.removeprefix("USD").lower())
    times = times_an_hour(found.rest) if item == "rent" else float(is_unit)
    if not times:
        raise ValueError(f"{NUMERAL} in {unit}")
    if times != 1:
        raise ValueError(f"a price per hour; {value * times:.4g} is this over the hours, a month being 730")
    if item == "rent" and field == WHOLE and re.search("gpu|card", found.rest, re.IGNORECASE):
        raise ValueError(f"the price of the whole machine; the price of one GPU goes into a column {PER_GPU}")
    return priced


def times_an_hour(rest: str) -> float:
    """How many times an hour has what stands beside a rent: 1 for an hour, a 24th for a day, 0 for what is no time."""
    other = _OTHER.fullmatch(rest)
    if other:
        name = other[1].lower()
        return _PER_HOUR[name if len(name) == 1 else name[:2]]
    return 1 if _HOURS.fullmatch(rest) else 0


def _currency_word(row, field, symbol):
    named, titled = row.cells.currency(row.number), row.cells.titled_currency(field)
    if named is None or symbol == "?":
        return row.refuse("currency" if named is None else field, "one currency by its code, such as USD or EUR")
    codes = {code for code in (named, "" if symbol == "$" and (named or titled).endswith("D") else symbol.replace("$", "USD"),
                               titled) if code}
    if len(codes) > 1:
        return row.refuse(field, f"in one currency: cell, column and header say {', '.join(sorted(codes))}")
    code = next(iter(codes), "USD")
    if symbol == "$" and not named and not titled:
        row.say("$ is taken as US dollars")
    if code != "USD" and code not in row.base.rates:
        return row.refuse("currency" if named else field, f"USD, or a rate for {code}: RATE={code}=1.10, or a row of the item "
                          f"currency with sku {code} and as price what one {code} costs in USD")
    return code


# The cells of a sheet by what their columns hold: numbers, money and dates, each read as its whole column settles it.

# What may stand in a cell for nothing; not for a price, where it is a fault.
_NOTHING = {"-", "–", "—", "n/a", "na", "none", "null", "nan"}
# A day that has begun elsewhere on Earth has not by every clock.
_GRACE = datetime.timedelta(1)
_NO_DATE = f"YYYY, YYYY-MM or YYYY-MM-DD, from {FIRST_YEAR} on and not in the future"


class Cells:
    """A sheet by row and field; `faults` and `said` are of its columns. `begun`: a day that has come, whatever the clock says."""

    def __init__(self, sheet: Sheet, column: Callable[[str], Any], begun: str = ""):
        self.file = sheet.file
        self._latest = max(today(), day(begun) if begun else today()) + _GRACE
        self.faults: list[Fault] = []
        self.said: list[str] = []
        self.rows: dict[int, list[str]] = {}
        self._titles = sheet.header
        self._columns = self._chosen(sheet, [column(title) for title in sheet.header])
        self.fields = list(self._columns)
        for row, cells in sheet.rows:
            self._add(sheet, row, cells)
        self._marks = {field: self._mark(field) for field in self.fields}
        self._order = agreed([dates(self.text(row, "date")) for row in self.rows])

    def _chosen(self, sheet, found):
        """Which column holds which field; what is not read is said, and two that could be one field are a fault."""
        chosen = {}
        for place, known in enumerate(found):
            title = shortened(sheet.header[place], 40)
            filled = any(len(cells) > place and cells[place] for _, cells in sheet.rows)
            if known is None:
                if title or filled:
                    self.said.append(f"column {place + 1}, {title or 'without a name'}, is not read")
                continue
            other = chosen.get(known.field)
            if other is None:
                chosen[known.field] = (place, known)
            elif known.field in (WHOLE, PER_GPU) or other[1].exact == known.exact:
                self.faults.append(Fault(sheet.first, title, title, f"one column of {known.field}; column {other[0] + 1}, "
                                         f"{shortened(sheet.header[other[0]], 40)!r}, is one too"))
            else:
                better, worse = ((place, known), other) if known.exact else (other, (place, known))
                chosen[known.field] = better
                self.said.append(f"column {worse[0] + 1}, {sheet.header[worse[0]]}, is not read: {sheet.header[better[0]]} is")
        return chosen

    def _add(self, sheet, row, cells):
        if len(cells) < len(sheet.header) and sheet.separator:
            self.said.append(f"row {row} has {len(cells)} cells of {len(sheet.header)}: what is missing at its end is blank")
        if any(cells[len(sheet.header):]):
            hint = "; a comma inside a cell wants quotes around the cell" if sheet.separator == "," else ""
            self.faults.append(Fault(row, str(len(sheet.header) + 1), next(filter(None, cells[len(sheet.header):])),
                                     f"{len(sheet.header)} cells, as in the header{hint}"))
        else:
            self.rows[row] = cells

    def text(self, row: int, field: str) -> str:
        """The cell as text; blank where it holds a sign for nothing, or where there is no such column."""
        if field not in self._columns:
            return ""
        cells, place = self.rows[row], self._columns[field][0]
        text = cells[place] if place < len(cells) else ""
        return "" if field not in (WHOLE, PER_GPU) and text.lower() in _NOTHING else text

    def title(self, field: str) -> str:
        """The header of the column that holds a field, as the reader wrote it."""
        return shortened(self._titles[self._columns[field][0]] if field in self._columns else field, 40)

    def titled_currency(self, field: str) -> str:
        """The currency that the header of a column names."""
        return self._columns[field][1].currency

    def currency(self, row: int) -> str | None:
        """The code in the column of currencies; blank without one, None for what is no currency."""
        text = self.text(row, "currency")
        code = SYMBOLS.get(text, {"EURO": "EUR", "EUROS": "EUR"}.get(text.upper(), text.upper()))
        return code if not code or code in CODES or re.fullmatch(r"[A-Z]{3}", code) else None

    def _mark(self, field):
        cells = [self.text(row, field) for row in self.rows]
        found = [amount(cell) for cell in cells if not isinstance(cell, Exact)]
        return agreed([readings(each.number) for each in found if each])

    def amount(self, row: int, field: str, most: float = math.inf) -> tuple[Amount, float, bool]:
        """The amount in a cell, its value, and whether only plausibility settles it: no point marks thousands above `most`.

        This raises ValueError with what is allowed in the cell, and so do `number` and `date`.
        """
        text = self.text(row, field)
        found = amount(text)
        if not found:
            raise ValueError(f"{NUMERAL}; a row without a price goes" if text.lower() in _NOTHING else NUMERAL)
        value, doubtful = settled(found.number, "." if isinstance(text, Exact) else self._marks[field], most)
        return found, -value if found.negative else value, doubtful

    def number(self, row: int, field: str, unit: str = "") -> float:
        """The number in a cell; `unit` is a pattern of what may stand beside it."""
        found, value, _ = self.amount(row, field)
        if not re.fullmatch(f"({unit})?", found.rest, re.IGNORECASE):
            raise ValueError(NUMERAL)
        return value

    def date(self, row: int) -> str:
        """The date in a cell."""
        held = dates(self.text(row, "date"))
        if len(held) > 1 and not self._order:
            raise ValueError(f"a date with one reading: this may be {' or '.join(held.values())}, and no other date settles it")
        found = held[self._order] if len(held) > 1 else next(iter(held.values()), "")
        if not is_date(found) or day(found) > self._latest:
            raise ValueError(_NO_DATE)
        return found


# The rows of a reader's own file as rows of a price book: what is blank filled in, what is odd said, every fault kept.

NOT_STATED, OWN_PROVIDER = "not stated", "your provider"
# The most GPUs that a machine is taken to have.
_MACHINE_WORDS = 8
_PLAIN = ("provider", "region", "sku", "source", "note", "instance")


class Base(NamedTuple):
    """What of the newest book a row is completed with: sizes of machines by GPU, its spellings and its date; the rates that hold;
    and the date of a row that has none.
    """

    file: str
    sizes: dict[str, int]
    providers: list[str]
    models: list[str]
    rates: dict[str, tuple[float, str]]
    newest: str
    dated: str = ""


class Read(NamedTuple):
    """Records by row, faults, and sentences on what was taken for granted with the rows that they are of.

    `quotes` are rows that replace none of the newest book's. `larger` has, of each record that is billed by the GPU, the sizes of
    the larger machines in which it is to be had.
    """

    records: dict[int, dict[str, Any]]
    larger: dict[int, list[int]]
    faults: list[Fault]
    said: dict[str, list[int]]
    cells: Cells
    quotes: set[int]


def completed(sheet: Sheet, base: Base, given_rates: dict[str, tuple[float, str]]) -> Read:
    """The rows of a sheet as records of a price book; a row with a fault has none. `given_rates` go before the file's own."""
    cells = Cells(sheet, column, base.newest)
    said: dict[str, list[int]] = {sentence: [] for sentence in [*sheet.said, *cells.said]}
    faults, records, larger, quotes = list(cells.faults), {}, {}, set()
    rates = base.rates | _rates_of(cells, base.dated) | given_rates
    for row in cells.rows:
        read = _Row(row, cells, base._replace(rates=rates), said)
        record, found = read.read()
        found += _further(row, record, found, read.rated) if record else []
        faults += found
        if not found:
            records[row], larger[row] = record, read.larger
            quotes |= {row} if read.quote else set()
    return Read(records, larger, faults, said, cells, quotes)


def _further(row, record, found, rated):
    """Faults that the checks of every book find, but for cells that are refused, or empty because another is; of a price in
    another currency with what it is in USD."""
    odd = {WHOLE if fault.column == PER_GPU else fault.column for fault in found}
    if found:
        odd |= {column for column in (WHOLE, "gpus_per_server") if record[column] != record[column]}
    faults = [fault for fault in row_faults("9999", row, record) if fault.column not in odd]
    return [fault._replace(allowed=f"{fault.allowed}; {rated}") if rated and fault.column == WHOLE else fault for fault in faults]


def larger_machines(gpu: str, sizes: dict[str, int]) -> list[int]:
    """Sizes of the machines of several GPUs in which one that is billed by the GPU is to be had.

    They double up to the largest that sellers rent out by `sizes`, else to what the GPU's link joins.
    """
    link = rows("gpus")[gpu]["link"]
    most = sizes.get(gpu) or (1 if link.startswith("PCIe") else int(min(_MACHINE_WORDS, rows("links")[link]["reach"])))
    return sorted({2**power for power in range(1, most.bit_length()) if 2**power < most} | {most} - {1})


def by_the_gpu(larger: list[int]) -> str:
    """What is taken for granted of a price of one GPU that says nothing of its machine."""
    *less, most = map(str, larger or [1])
    machines = f"alone or in machines of {' or '.join(filter(None, [', '.join(less), most]))}" if larger else "alone"
    return f"size of the machine not stated: taken as billed by the GPU, {machines}; a column gpus says otherwise"


def _rates_of(cells, dated):
    """USD for one unit of a currency, from the file's own rows of the item currency."""
    found = {}
    for row in cells.rows:
        if cells.text(row, "item").lower() in ("currency", "fx", "exchange rate"):
            with contextlib.suppress(ValueError):    # its own row says what is wrong
                value = cells.number(row, WHOLE if cells.text(row, WHOLE) else PER_GPU)
                date = cells.date(row) if cells.text(row, "date") else dated
                if value > 0:
                    found[_code(cells, row)] = (value, f"{date}, {cells.file}")
    return found


def _code(cells, row):
    """The currency that a row of the item currency is the rate of: its sku, else its column of currencies."""
    return (cells.text(row, "sku") or cells.currency(row) or "").upper()


class _Row:
    """One row on its way to a record: its faults, and what is said of it."""

    def __init__(self, number, cells, base, said):
        self.number, self.cells, self.base, self.said, self.faults = number, cells, base, said, []
        self.remarks, self.larger, self.rated, self.quote = [], [], "", False

    def text(self, field):
        return self.cells.text(self.number, field)

    def say(self, sentence):
        self.said.setdefault(sentence, []).append(self.number)

    def refuse(self, field, allowed):
        self.faults.append(Fault(self.number, field, self.text(field), allowed))

    def tried(self, field, function, *given, more=""):
        """What a function gives, or None and the fault of the field that its ValueError says, and what more."""
        try:
            return function(*given)
        except ValueError as error:
            return self.refuse(field, f"{error}{more}")

    def read(self):
        """The record and the faults of the row."""
        for field in self.cells.fields:
            if hidden(self.text(field)):
                self.refuse(field, "text without control and invisible characters")
        if self.faults:
            return {}, self.faults
        item = self._item()
        if item is None:
            return {}, self.faults
        gpu, many = self._gpu(item)
        term = self._term(item)
        size = self._size(item, gpu, many)
        price = usd_of_product(self, item, size)
        self.quote = self.tried("quote", is_quote, self.text("quote"))
        record = {"item": item, "gpu": gpu, "gpus_per_server": size, "term": term, "price": price, "currency": "USD"}
        record |= {"unit": self._unit(item), "date": self._date()}
        record["reserved_years"] = (self._plain_number("reserved_years") if self.text("reserved_years")
                                    else float(RESERVED_YEARS.get(term, math.nan)))
        record |= self._named(item, gpu, size) | self._edges(item) | self._choices()
        return {column: record[column] for column in PRICES.columns}, self.faults

    def _item(self):
        text = self.text("item")
        if not text:
            if "item" in self.cells.fields:
                self.say("no item: taken as a rent by the hour")
            return "rent"
        return self.tried("item", item, text)

    def _gpu(self, item):
        text = self.text("gpu")
        if not text:
            if item in ("rent", "card", "server"):
                self.refuse("gpu", f"filled for {item}{'' if self.text('item') else ', or an item that needs none'}")
            return "", None
        bare, many = (text, None) if text in rows("gpus") else names.counted(text)
        return self._said(self.tried("gpu", gpu_named, bare, more="; or a GPU of your own: GPUS=FILE")), many

    def _said(self, found):
        """What a name means, which is said where it leaves something open; "" for None."""
        name, remark = found or ("", "")
        if remark:
            self.say(remark)
            self.remarks.append(remark)
        return name

    def _term(self, item):
        text, terms = self.text("term"), ITEMS[item].terms
        if not text:
            if item == "rent":
                self.say("term not stated: taken as on-demand")
            return terms[0]
        return self._said(self.tried("term", term_named, text, item))

    def _size(self, item, gpu, many):
        """GPUs in the product: one, where a price of one GPU says nothing of it."""
        text = self.text("gpus_per_server")
        if text:
            size = self._plain_number("gpus_per_server", "x|gpus?")
            if math.isnan(size):
                return size
            if size < 1 or size % 1:
                self.refuse("gpus_per_server", "a whole number of at least 1")
            if many and size != many:
                self.refuse("gpus_per_server", f"{many}, the number in the GPU's name")
            return math.nan if item == "card" and size == 1 else size
        if item not in ("rent", "server"):
            return math.nan
        if many:
            return float(many)
        if not self.text(PER_GPU) and not self.text(WHOLE):
            return math.nan
        if not self.text(PER_GPU) or item == "server":
            self.refuse("gpus_per_server", f"how many GPUs the price is of; the price of one GPU goes into a column {PER_GPU}"
                        if item == "rent" else "how many GPUs the server has")
            return math.nan
        if gpu:
            self.larger = larger_machines(gpu, self.base.sizes)
            self.say(by_the_gpu(self.larger))
        return 1.0

    def _unit(self, item):
        unit, text = ITEMS[item].unit, self.text("unit")
        plain = re.sub(r"^[A-Z]{3}|^[$€£]", "USD", text).replace("hour", "h").replace("hr", "h")
        if text and plain.lower().replace(" ", "") != unit.lower():
            self.refuse("unit", f"{unit} for {item}")
        return unit

    def _date(self):
        if not self.text("date"):
            self.say(f"date not stated: taken as {self.base.dated}, when the file was last changed")
            return self.base.dated
        return self.tried("date", self.cells.date, self.number) or ""

    def _plain_number(self, field, unit=""):
        value = self.tried(field, self.cells.number, self.number, field, unit) if self.text(field) else None
        return math.nan if value is None else value

    def _edges(self, item):
        edges = {field: self._plain_number(field) for field in ("from_bytes", "to_bytes")}
        if item == "egress" and math.isnan(edges["from_bytes"]):
            self.say("egress without tiers: one price from the first byte on")
            edges["from_bytes"] = 0.0
        return edges

    def _choices(self):
        """The columns with a closed list, in lower case."""
        found = {field: self.text(field).lower() for field in ("includes", "confidence")}
        for field, text in found.items():
            if text and text not in PRICES.choices[field]:
                self.refuse(field, ", ".join(PRICES.choices[field]))
        return found | {"confidence": found["confidence"] or "seen"}

    def _named(self, item, gpu, size):
        """The columns of text; what names the product says which one it is where the file doesn't."""
        found = {field: self.text(field) for field in _PLAIN}
        if item == "currency":
            found["sku"] = _code(self.cells, self.number)
        if item.startswith("api-"):
            found["sku"] = spelled(found["sku"], self.base.models)
        if not found["sku"] and (item == "currency" or item.startswith("api-")):
            self.refuse("sku" if "sku" in self.cells.fields else "item",
                        f"with a sku: the {'code, such as EUR' if item == 'currency' else 'model'}")
        provider = spelled(found["provider"], self.base.providers)
        if found["provider"] and provider != found["provider"]:
            self.say(f"{shortened(found['provider'])} is {provider} of {self.base.file}")
        product = {"rent": f"{size:g}x {gpu}", "server": f"{size:g}x {gpu}", "card": gpu}.get(item, NOT_STATED)
        note = "; ".join(filter(None, [found["note"], *self.remarks]))
        return found | {"provider": provider or OWN_PROVIDER, "region": found["region"] or NOT_STATED,
                        "sku": found["sku"] or product, "source": found["source"] or self.cells.file, "note": note}


# A reader's own prices over those of the newest book: which rows stand in for which.

# Of these a provider's prices are replaced by the file's of that provider alone: bills compare providers.
_PROVIDERS = {"storage", "egress"}


def group(item: str, gpu: str, provider: str, sku: str, term: str) -> tuple[str, str]:
    """What a price is a price of: a file's rows of a group replace the newest book's.

    Rents of a GPU on a term; servers and cards of a GPU; tokens of a model; storage or egress of a provider; a currency; else the
    item as a whole.
    """
    if item == "rent":
        return f"rent {term}", gpu
    if item in ("server", "card"):
        return item, gpu
    if item.startswith("api-"):
        return "api", sku
    if item == "currency":
        return item, sku
    return "hosting" if item == "hosting-power" else item, provider if item in _PROVIDERS else ""


def laid_over(own: "DataFrame", found: Read, base: "DataFrame", file: str, only: bool) -> tuple:
    """The rows of both as one book, the newest book's in their order and the reader's behind them; those rows of the file that
    are the reader's own; and the newest book's rows for what the file lacks.

    Quotes replace none. A row that the newest book has word for word stays the book's. `found.larger`: of rows that are billed by
    the GPU the machines that they are to be had in besides. only: nothing else of that book.
    """
    import pandas
    known, mine = _lines(base), _lines(own)
    restated, priced = set(mine) & set(known), set(_groups(own.drop(found.quotes & {*own.index})))
    lacking = pandas.Series([not only and each not in priced for each in _groups(base)], base.index, dtype=bool)
    others = base[lacking | pandas.Series([line in restated for line in known], base.index, dtype=bool)]
    fresh = own[[line not in restated for line in mine]]
    parts = [others] if len(others) else []
    if len(fresh):
        ordered = _with_larger(fresh, found.larger).sort_values([*KEY, "price"], kind="stable").reset_index(drop=True)
        parts.append(finished(without_edges(ordered), file).assign(yours=True))
    book = pandas.concat(parts)
    book.attrs = {"file": file, "date": newest_date(own)}
    return book, fresh, base[lacking]


def _with_larger(own, larger):
    """The rows, and each that is billed by the GPU in larger machines too, but for those that the file prices itself."""
    import pandas
    place = ["item", "gpu", "provider", "region", "term", "gpus_per_server"]
    priced, more = set(own[place].itertuples(index=False, name=None)), []
    for number, row in zip(own.index, own.to_dict("records")):
        for size in larger[number]:
            product = f"{size}x {row['gpu']}" if row["sku"] == f"1x {row['gpu']}" else f"{row['sku']}, {size} GPUs"
            machine = row | {"gpus_per_server": float(size), "price": row["price"] * size, "sku": product}
            if tuple(machine[name] for name in place) not in priced:
                more.append(machine)
    return pandas.concat([own, pandas.DataFrame(more, columns=own.columns).astype(own.dtypes)]) if more else own


def _groups(frame):
    return [group(*cells) for cells in frame[["item", "gpu", "provider", "sku", "term"]].itertuples(index=False, name=None)]


def _lines(frame):
    """Every row by its cells, blanks of numbers as one value; the last tier's open edge is one too."""
    plain = frame[PRICES.columns].replace(float("inf"), float("nan")).astype(object)
    return list(plain.where(plain.notna(), None).itertuples(index=False, name=None))


# Prices that look odd beside those of the newest book: they are read, and asked about.

# Shares of the median within which a price of a GPU is not asked about; and of the lowest and highest of other things.
LOW, HIGH = 0.4, 2.5
_FAR = 10


def standings(own: "DataFrame", base: "DataFrame") -> Iterator[str]:
    """Where each rent of the reader's stands among the newest book's of the GPU on the term, the cheapest first."""
    rents = base[base["item"] == "rent"].groupby(["gpu", "term"])["usd_per_hour"]
    held = {offer: sorted(prices) for offer, prices in rents}
    for number, row in own[own["item"] == "rent"].iterrows():
        prices = held.get((row["gpu"], row["term"]))
        if prices:
            price = row["price"] / row["gpus_per_server"]
            yield f"row {number}: {standing(price, row['gpu'], row['term'], prices)}"


def standing(price: float, gpu: str, term: str, prices: list[float]) -> str:
    """Where a rent stands among the sorted `prices` of a book, in words."""
    place, many = len([each for each in prices if each < price]) + 1, len(prices)
    return (f"{in_usd(price)} USD/h for one {gpu}, {term}, is number {place} of {many + 1} with the book's {many}, the cheapest "
            f"first; their median is {in_usd(statistics.median(prices))}")


class Spread(NamedTuple):
    """How many prices there are, the lowest, the highest and the middle one."""

    offers: int
    low: float
    high: float
    median: float


def odd_prices(file: str, own: "DataFrame", base: "DataFrame") -> Iterator[str]:
    """A question for each price of the reader's that lies far from the newest book's of the same kind."""
    spread = functools.cache(functools.partial(spread_of, dict(list(base.groupby(["item", "gpu"])))))
    for number, row in zip(own.index, own.to_dict("records")):
        known = spread(row["item"], row["gpu"], row["term"])
        if known and row["item"] != "currency" and not row["item"].startswith("api-"):
            asked = (question if row["gpu"] else _of_item)(row, known)
            if asked:
                yield f"{file}, row {number}: {asked}"


def spread_of(groups: dict, item: str, gpu: str, term: str) -> Spread | None:
    """The prices of an item, of one GPU where it has GPUs: on the term if there are any, else on all."""
    if (item, gpu) not in groups:
        return None
    alike = groups[item, gpu]
    same = alike[alike["term"] == term]
    found = same if len(same) else alike
    each = found["price"] / (found["gpus_per_server"] if item in ("rent", "server") else 1)
    return Spread(len(each), each.min(), each.max(), each.median())


def question(row, known):
    """The question on a rent, server or card, by the price of one GPU."""
    many = row["gpus_per_server"] if row["item"] != "card" else 1
    price, unit = row["price"] / many, ITEMS[row["item"]].unit
    if LOW * known.median <= price <= HIGH * known.median:
        return ""
    return (f"{in_usd(price)} {unit} for one {row['gpu']}; the book's {known.offers} offers lie between {in_usd(known.low)} "
            f"and {in_usd(known.high)}, half of them below {in_usd(known.median)}"
            f"{_meant(row['price'], many, known.median, unit)}")


def _meant(price, many, median, unit):
    """Which slip would explain the price: one GPU's for the whole machine's, or the other way round."""
    if many > 1 and LOW * median <= price <= HIGH * median:
        return (f": is {in_usd(price)} the price of one GPU in a row of {many:g}? Then write {in_usd(price * many)}, or put it "
                "under usd_per_hour")
    for size in (8, 4, 2) if many == 1 else (many,):
        if LOW * median <= price / many / size <= HIGH * median:
            one = in_usd(price / many / size)
            return f": is it the price of a whole machine of {size:g}? Then one GPU is {one} {unit}; write gpus and price"
    return ": is it right?"


def _of_item(row, known):
    if known.low / _FAR <= row["price"] <= known.high * _FAR:
        return ""
    return (f"{in_usd(row['price'])} {ITEMS[row['item']].unit}; the book's {known.offers} prices lie between "
            f"{in_usd(known.low)} and {in_usd(known.high)}: is it right?")


def in_usd(value: float) -> str:
    """An amount of USD as sentences on prices write it."""
    return three_figures(value) if value < 100 else f"{value:,.0f}"


# A price file of the reader's own: read in any shape, completed, checked as a whole, and laid over the newest book.

_WANTED = ("a header with gpu and usd_per_hour (of one GPU) or price (of the whole machine), and what else is known: gpus, "
           "provider, term, currency, date, region, sku, item")
_MOST_ODD = 200


def own_book(path: Path, only: bool, rates: dict[str, float]) -> "DataFrame":
    """The prices of a reader's own file, laid over those of the newest book; as `price_book.prices`.

    Raises ValueError with every fault of the file, one a line.
    """
    base = newest_book()
    sheet = read_sheet(path, score, _WANTED)
    found = completed(sheet, base_of(base)._replace(dated=modified(path)), _given(rates))
    frame, repeats = _frame(found)
    faults = [*found.faults, *repeats, *book_faults(without_edges(frame.copy()))]
    if faults:
        raise ValueError("\n".join(_messages(sheet.file, faults, found)))
    book, fresh, lacking = laid_over(frame, found, base, sheet.file, only)
    warnings = tuple(few(odd_prices(sheet.file, fresh, base), _MOST_ODD, "prices far from the book's"))
    standing = tuple(few(standings(fresh, base), _MOST_ODD, "rents"))
    replacing = frame.drop(found.quotes & {*frame.index})
    book.attrs |= {"own": True, "said": (*_sentences(found.said), *_counted(found, frame, fresh, base)), "warnings": warnings,
                   "standing": standing, "from_book": _by_item(lacking, replacing), "book": base.attrs["file"],
                   "prices": len(fresh)}
    return book


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
    sizes = sellers[sellers >= 2].reset_index().groupby("gpu")["gpus_per_server"].max().astype(int).to_dict()
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
    frame = _without_series(frame.drop_duplicates(), found.said)
    first: dict[Any, int] = {}
    repeats = []
    for row, *key in frame[KEY].astype(str).itertuples(name=None):
        other = first.setdefault(tuple(key), row)
        if other != row:
            repeats.append(Fault(row, "price", frame.at[row, "price"], f"one price of an offer; row {other} has the same item, "
                                 "provider, sku, region and term: name what tells them apart, or keep one"))
    return frame, repeats


def _without_series(frame, said):
    """The rows without those of an offer that has a newer price, each of a day of its own; what they lie between is said."""
    for _, series in frame[frame.duplicated(KEY, keep=False)].groupby(KEY, sort=False, dropna=False):
        if series["date"].is_unique:
            last, prices = series.loc[series["date"].idxmax()], series["price"]
            said[f"an offer on {len(series)} days: that of {last['date']} counts, {in_usd(last['price'])}; they lie between "
                 f"{in_usd(prices.min())} and {in_usd(prices.max())} {last['unit']}"] = list(series.index)
            frame = frame.drop(series.index.drop(last.name))
    return frame


def _counted(found, frame, fresh, base):
    """Rows that are not counted, said twice or as the newest book has them; and what GPUs of the reader's own are like."""
    own = shortened(Path(os.environ.get(OWN_GPUS, "")).name)
    gpus = [gpu for gpu in sorted(set(frame["gpu"]) - {""}) if own and rows("gpus")[gpu]["source"] == own]
    twice, same = len(found.records) - len(frame), len(frame) - len(fresh)
    return [*([f"rows that say the same as another: {twice}, counted once"] if twice else []),
            *([f"rows that are word for word those of {base.attrs['file']}: {same}, not counted as yours"] if same else []),
            *(f"{gpu}: {rows('gpus')[gpu]['note']}" for gpu in gpus)]


def _messages(file, faults, found: Read):
    """One line a fault, in the order of the rows, with the reader's own header and cell."""
    lines = []
    for row, field, value, allowed in sorted(dict.fromkeys(faults), key=lambda fault: fault.row):
        known = row in found.cells.rows
        column = PER_GPU if known and field == WHOLE and not found.cells.text(row, field) else field
        if isinstance(value, float) and value < 0:
            allowed += "; without the minus, if that is a slip"
        shown = found.cells.text(row, column) if known and column in found.cells.fields else value
        lines.append(str(bad(file, row, found.cells.title(column), shown, allowed)))
    return few(lines)


def _sentences(said):
    """What was taken for granted, each once, with its rows."""
    def rows_of(where):
        more = f" and {len(where) - 8} more" if len(where) > 8 else ""
        return f"row{'s' * (len(where) > 1)} {', '.join(map(str, where[:8]))}{more}: " if where else ""
    return [rows_of(where) + sentence for sentence, where in said.items()]


def _by_item(rows, own):
    """Of rows of the newest book: by item, the GPUs or else the number of prices. A GPU that has a rent of the reader's own is
    named with the terms on which it has none."""
    found, rented = {}, set(own.loc[own["item"] == "rent", "gpu"])
    for item, group in rows.groupby("item", sort=False):
        names = group["gpu"] + (" " + group["term"]).where((item == "rent") & group["gpu"].isin(rented), "")
        gpus = tuple(sorted(set(names) - {""}))
        found[item] = gpus or (f"{len(group)} price{'s' * (len(group) > 1)}",)
    return found
