"""Reads a CSV file with pandas and checks it: bad input is a ValueError naming file, row, column, value and what is allowed."""
import csv
import datetime
import functools
import io
import json
import math
import re
from typing import NamedTuple

from ..core.quantities import DATA, DOMAINS, QUANTITIES, check
from ..core.evaluate import Row, close
from ..laws.quantization import format_element_bytes, stored_bits


class Table(NamedTuple):
    """A CSV file: its key, its columns, those that may be blank, and the columns with a closed list."""

    key: str
    columns: list
    blank: list
    choices: dict


def _package():
    """The table schemas of data/datapackage.json, by name, and the columns that hold numbers."""
    with open(DATA / "datapackage.json", encoding="utf-8") as file:
        schemas = {resource["name"]: resource["schema"] for resource in json.load(file)["resources"]}
    tables = {name: _table(schema) for name, schema in schemas.items()}
    return tables, {field["name"] for schema in schemas.values() for field in schema["fields"] if field["type"] != "string"}


def _table(schema):
    rules = {field["name"]: field["constraints"] for field in schema["fields"]}
    blank = [name for name, rule in rules.items() if not rule["required"]]
    choices = {name: rule["enum"] for name, rule in rules.items() if "enum" in rule}
    return Table(*schema.get("primaryKey", ["row"]), list(rules), blank, choices)


# The unit of a range whose numbers are factors on a price.
OF_PRICE = "of the price"
TABLES, _NUMBERS = _package()


def schema(name):
    """The table of that name, as data/datapackage.json describes it."""
    return TABLES[name]


@functools.cache
def table(name):
    """A table of the project by its key, read once; callers copy it."""
    key = schema(name).key
    frame = read(DATA / f"{name}.csv", schema(name))
    refuse_duplicates(f"{name}.csv", frame, [key])
    if name == "gpus":
        for row, value in frame["link"].items():
            check_known(f"{name}.csv", row, "link", value, "links")
    if name == "defaults":
        for row, quantity, value in frame[["quantity", "value"]].itertuples(name=None):
            check_quantity(f"{name}.csv", row, "value", quantity, value)
    if name == "assumptions":
        for row, *cells in frame[["quantity", "low", "likely", "high", "unit"]].itertuples(name=None):
            _check_range(f"{name}.csv", row, *cells)
    if name == "formats":
        bits = stored_bits(**frame[list(stored_bits.arguments)])
        frame["weight_element_bytes"] = format_element_bytes(bits)
    return frame.set_index(key)


def _check_range(file, row, name, low, likely, high, unit):
    """Refuse a range of no quantity, in another unit, out of order or with values that the quantity can't have."""
    if name not in QUANTITIES:
        raise bad(file, row, "quantity", name, f"a name of the vocabulary{close(name, QUANTITIES)}")
    if unit not in (OF_PRICE, QUANTITIES[name].unit):
        raise bad(file, row, "unit", unit, f"{QUANTITIES[name].unit or 'blank'} or {OF_PRICE}")
    if not low <= likely <= high:
        raise bad(file, row, "likely", likely, f"from low, {low:g}, to high, {high:g}")
    for column, value in (("low", low), ("high", high)):
        check_quantity(file, row, column, name, value)


def plain_row(row, name, kind=None):
    """A row of plain Python numbers, counts as int: NumPy's own would overflow without a word. Columns hold floats for that."""
    return Row({column: int(value) if _is_count(column) and value == value else getattr(value, "item", lambda: value)()
                for column, value in row.items()}, name, kind)


def _is_count(column):
    return column == "year" or column in QUANTITIES and DOMAINS[QUANTITIES[column].allowed][3]


def bad(file, row, column, value, allowed):
    shown = "blank" if value == "" else repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
    return ValueError(f"{file}, row {row}, column {column}: {shown}; allowed: {allowed}")


def read(path, schema):
    """The file as a DataFrame whose index is the line in the file; every cell checked by itself."""
    import pandas
    file, lines = path.name, _lines(path)
    _, header = next(lines, (1, []))
    _check_header(file, header, schema.columns)
    records, rows = [], []
    for row, cells in lines:
        if len(cells) != len(header):
            raise ValueError(f"{file}, row {row}: {len(cells)} cells; allowed: {len(header)}, as in the header")
        texts = dict(zip(header, cells))
        records.append([_value(file, row, column, texts[column], schema) for column in schema.columns])
        rows.append(row)
    if not rows:
        raise ValueError(f"{file}, row 1: no rows below the header; allowed: at least one")
    return pandas.DataFrame(records, pandas.Index(rows, name="row"), schema.columns)


def _lines(path):
    """Number of the first line and cells of every record that is not blank, spaces around cells removed."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path.name}, row {row}: byte {content[error.start]:#04x}; allowed: UTF-8 text") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    row = 1
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if any(cells):
                yield row, cells
            row = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path.name}, row {row}: {error}; allowed: comma-separated cells, quoted where needed") from None


def _check_header(file, header, columns):
    names = f"allowed: {', '.join(columns)}"
    if not header:
        raise ValueError(f"{file}, row 1: the file is empty; {names}")
    for column in columns:
        if column not in header:
            raise ValueError(f"{file}, row 1: missing column {column}; {names}")
    for column in header:
        if column not in columns or header.count(column) > 1:
            raise ValueError(f"{file}, row 1, column {column or 'without a name'}: unknown or there twice; {names}")


def _value(file, row, column, text, schema):
    """The cell as text or float; NaN for a number that is not there."""
    number = column in _NUMBERS
    if text == "":
        if column not in schema.blank:
            raise bad(file, row, column, text, "a number" if number else "text")
        return math.nan if number else text
    if column in schema.choices and text not in schema.choices[column]:
        raise bad(file, row, column, text, ", ".join(schema.choices[column]))
    if column == "date":
        _check_date(file, row, text)
    return _number(file, row, column, text) if number else text


def _number(file, row, column, text):
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) or math.isinf(float(text)):
        raise bad(file, row, column, text, "a number such as 2.10 or 80e9")
    value = float(text)
    if column in QUANTITIES:
        check_quantity(file, row, column, column, value)
    return value


def check_quantity(file, row, column, quantity, value):
    try:
        check(quantity, value)
    except ValueError:
        raise bad(file, row, column, value, QUANTITIES[quantity].allowed) from None


def _check_date(file, row, text):
    """A year, a month or a day that has begun."""
    try:
        day = datetime.date.fromisoformat(text + "-01" * (2 - text.count("-")))
    except ValueError:
        day = None
    if not day or day > datetime.date.today() or not re.fullmatch(r"\d{4}(-\d\d){0,2}", text, re.ASCII):
        raise bad(file, row, "date", text, "YYYY, YYYY-MM or YYYY-MM-DD, not in the future")


def check_known(file, row, column, value, name):
    if value not in table(name).index:
        raise bad(file, row, column, value, f"a {column} of data/{name}.csv{close(value, table(name).index)}")


def refuse_duplicates(file, frame, columns):
    first = {}
    for row, *names in frame[columns].astype(str).itertuples(name=None):
        if tuple(names) in first:
            raise ValueError(f"{file}, row {row}: same {', '.join(columns)} as row {first[tuple(names)]}; allowed: each once")
        first[tuple(names)] = row
