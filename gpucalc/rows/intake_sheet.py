"""Rows of cells from a spreadsheet of any shape: CSV in several separators and encodings, or XLSX."""
import csv
import datetime
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .files import content, shortened

MOST_BYTES, MOST_UNPACKED, MOST_ROWS, MOST_COLUMNS = 20_000_000, 100_000_000, 20_000, 100
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
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
    grid, place, said, name = (_best_sheet if held.startswith(_ZIP) else _best_separator)(file, held, score, wanted)
    return _cut(file, grid, place, said, name)


def _best_separator(file, held, score, wanted):
    """The records of a text file, the place of the header among them, what is said, and what separates cells."""
    text, said = _text_of(file, held)
    named = re.match(r"sep=(.)", text.lstrip()[:5].lower())
    head = "\n".join(text.splitlines()[:_ABOVE * 10])
    heads = {each: _records(file, head, each, strict=False) for each in ([named[1]] if named else _SEPARATORS)}
    found = {each: _best_header(grid, score) for each, grid in heads.items()}
    best = max(found, key=lambda each: found[each][0])
    if not found[best][0] and text.lstrip().startswith(("{", "[")):
        raise ValueError(f"{file}, row 1: looks like JSON; allowed: CSV or XLSX, a line for each price below {wanted}")
    if not found[best][0]:
        raise _no_header(file, list(heads.values()), wanted)
    return _records(file, text, best), found[best][1], said, best


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


def _cut(file, grid, place, said, name):
    """The sheet from its header on."""
    filled = [(row, cells) for row, cells in grid if any(cells)]
    if len(filled) > MOST_ROWS:
        raise ValueError(f"{file}: more than {MOST_ROWS:,} rows; allowed: at most that")
    if place:
        said.append(f"the header is row {filled[place][0]}; what stands above it is not read")
    (first, header), below = filled[place], filled[place + 1:]
    if not below:
        raise ValueError(f"{file}, row {first}: no rows below the header; allowed: at least one")
    return Sheet([" ".join(cell.split()) for cell in header], first, below, said, name, file)


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
    found, row = [], 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if not (row == 1 and re.fullmatch(r"sep=.?", "".join(cells).lower())):
                found.append((row, cells))
            if strict:  # between other separators a whole line may be one cell
                _check_size(file, row, cells)
            row = reader.line_num + 1
    except csv.Error as error:
        if strict:
            raise ValueError(f"{file}, row {row}: {error}; allowed: cells between {_SEPARATORS.get(separator, separator)}, "
                             "quoted where needed") from None
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
    except ValueError as error:
        if str(error).startswith(file):
            raise
        raise ValueError(f"{file}, row 1: no XLSX that can be read; allowed: CSV or XLSX") from None
    except Exception:  # A broken file shows as whatever the reader stumbles on.
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
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float, datetime.datetime, datetime.date)):
        return str(value)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    return Exact(f"{value!r} {_currency(cell.number_format or '')}".strip())


def _currency(number_format):
    """The currency in a number format such as [$€-407] #,##0.00 or "EUR" 0.00."""
    positive = number_format.split(";")[0]
    named = re.search(r"\[\$([^\]-]+)", positive)
    if named:
        return named[1].strip()
    plain = re.sub(r"\[[^\]]*\]", "", positive)
    found = re.search(r"[$€£¥₹]|\b[A-Z]{3}\b", plain)
    return found[0] if found else ""
