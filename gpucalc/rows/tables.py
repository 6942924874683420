"""Reads a CSV file with pandas and checks it: bad input is a ValueError naming file, row, column, value and what is allowed."""
import datetime
import functools
import io
import json
import math
import os
import re
from typing import NamedTuple

from ..core.evaluate import FINDERS, READERS, Row, close
from ..core.figures import UNITS
from ..core.quantities import DATA, DOMAINS, QUANTITIES, check
from ..laws.quantization import format_element_bytes, stored_bits
from .files import csv_rows, hidden, short_lines, shortened, text
from .kept import kept
from .store import OWN_GPUS as OWN_GPUS


# The most that a file holds: a hundred times the largest price book, read in seconds.
MOST_BYTES, _MOST_ROWS = 50_000_000, 200_000
FIRST_YEAR = 1990
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


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
    if any(key["reference"]["resource"] == "units" for key in schema.get("foreignKeys", [])):
        choices["unit"] = list(filter(None, UNITS))
    return Table(*schema.get("primaryKey", ["row"]), list(rules), blank, choices)


# The unit of a range whose numbers are factors on a price.
OF_PRICE = "of the price"
TABLES, NUMBERS = _package()


def schema(name):
    """The table of that name, as data/datapackage.json describes it."""
    return TABLES[name]


@kept
def table(name):
    """A table of the project by its key, else by the line in its file, read once; callers copy it."""
    import pandas
    held = _held(name)
    return pandas.DataFrame(list(held.values()), pandas.Index(held, name=schema(name).key))


@kept
def rows(name):
    """The rows of a table of the project by their key, as plain cells, read once: one row needs no pandas."""
    return _held(name)


def _held(name):
    file, key, held, first = f"{name}.csv", schema(name).key, {}, {}
    for row, record in records(DATA / file, schema(name), functools.partial(check_row, name)):
        known = record.pop(key, row)
        if known in held:
            raise ValueError(f"{file}, row {row}: same {key} as row {first[known]}; allowed: each once")
        held[known], first[known] = record, row
    if name == "gpus" and os.environ.get(OWN_GPUS):
        held |= READERS["own_gpus"](os.environ[OWN_GPUS], held)
    return held


# Columns of tables that name rows of other tables.
_KNOWN = {"gpus": {"link": "links", "benchmark": "shares"}, "quality": {"model": "models"}, "partitions": {"gpu": "gpus"},
          "nodes": {"gpu": "gpus", "link": "links"}, "instances": {"gpu": "gpus"},
          "jobs": {"usual_model": "models", "recipe": "recipes"}}


def check_row(name, file, row, record):
    """Check the cells of a row against each other and against other tables, and add what follows from them."""
    for column, table in _KNOWN.get(name, {}).items():
        if record[column]:
            check_known(file, row, column, record[column], table)
    if name == "aliases":
        for each in record["means"].split(" | "):
            tables = {"gpu": "gpus", "weight_format": "formats"}
            check_known(file, row, "means", each, tables.get(record["kind"], "models"))
    if name == "quality" and not 0 <= record["score"] <= 1:
        raise bad(file, row, "score", record["score"], "a share of the points, from 0 to 1")
    if name == "defaults":
        check_quantity(file, row, "value", record["quantity"], record["value"])
    if name == "assumptions":
        _check_range(file, row, *(record[column] for column in ("quantity", "low", "likely", "high", "unit")))
    if name == "correlations":
        _check_pair(file, row, record)
    if name == "jobs":
        _check_job(file, row, record)
    for column in ("inputs", "than", "assumed", "harm"):
        if record.get(column):
            _check_json(file, row, column, record[column])
    if name == "formats":
        bits = stored_bits(**{column: record[column] for column in stored_bits.arguments})
        record["weight_element_bytes"] = format_element_bytes(bits)


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


def _check_pair(file, row, record):
    """Refuse what follows no other quantity, or more than wholly."""
    for column in ("quantity", "other"):
        if record[column] not in QUANTITIES or record["quantity"] == record["other"]:
            raise bad(file, row, column, record[column], "a name of the vocabulary, and two different ones")
    if not -1 <= record["correlation"] <= 1:
        raise bad(file, row, "correlation", record["correlation"], "from -1 to 1")


def _check_job(file, row, record):
    for column in ("needs", "takes", "one_of"):
        for name in re.split("[ |]", record[column]):
            if name and name not in QUANTITIES and name not in FINDERS:
                raise bad(file, row, column, name, f"names that a case knows{close(name, [*QUANTITIES, *FINDERS])}")
    for pair in record["derived"].split():
        if not {*pair.split("=")} <= {*QUANTITIES} or pair.count("=") != 1:
            raise bad(file, row, "derived", pair, "a name and a formula with = between")


def _check_json(file, row, column, text):
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        raise bad(file, row, column, text, "a JSON object, such as {\"batch\": 32}")


def plain_row(row, name, kind=None):
    """A row of plain Python numbers, counts as int: NumPy's own would overflow without a word. Columns hold floats for that."""
    return Row({column: int(value) if _is_count(column) and value == value else
                value.item() if hasattr(value, "item") else value for column, value in row.items()}, name, kind)


def _is_count(column):
    return column == "year" or column in QUANTITIES and DOMAINS[QUANTITIES[column].allowed][3]


def bad(file, row, column, value, allowed):
    shown = "blank" if value == "" else shortened(repr(value), 60)
    return ValueError(f"{file}, row {row}, column {shortened(column, 60)}: {shown}; allowed: {allowed}")


def read(path, schema, check_row=None):
    """The file as a DataFrame whose index is the line in the file, checked as in `records`."""
    import pandas
    lines, found = zip(*((row, list(record.values())) for row, record in records(path, schema, check_row)))
    return pandas.DataFrame(list(found), pandas.Index(lines, name="row"), schema.columns)


def records(path, schema, check_row=None):
    """Line in the file and cells by column of each row, every cell checked by itself.

    `check_row(file, row, cells)` checks the cells of a row, by column, against each other.
    """
    file, lines = shortened(path.name), _lines(path)
    _, header = next(lines, (1, []))
    _check_header(file, header, schema.columns)
    row = None
    for row, cells in lines:
        if len(cells) != len(header):
            raise ValueError(f"{file}, row {row}: {len(cells)} cells; allowed: {len(header)}, as in the header")
        texts = dict(zip(header, cells))
        if hidden("".join(cells)):
            column = next(column for column in header if hidden(texts[column]))
            raise bad(file, row, column, texts[column], "text without control and invisible characters")
        record = {column: _value(file, row, column, texts[column], schema) for column in schema.columns}
        if check_row:
            check_row(file, row, record)
        yield row, record
    if row is None:
        raise ValueError(f"{file}, row 1: no rows below the header; allowed: at least one")


def _lines(path):
    """Number of the first line and cells of every record that is not blank."""
    held, file = text(path, MOST_BYTES), shortened(path.name)
    count = max(held.count("\n"), held.count("\r"))
    if count > _MOST_ROWS:
        raise ValueError(f"{file}: {count:,} rows; allowed: at most {_MOST_ROWS:,}")
    return filter(lambda found: any(found[1]), csv_rows(file, short_lines(file, io.StringIO(held, newline=""))))


def _check_header(file, header, columns):
    names = f"allowed: {', '.join(columns)}"
    if not header:
        raise ValueError(f"{file}, row 1: the file is empty; {names}")
    for column in columns:
        if column not in header:
            raise ValueError(f"{file}, row 1: missing column {column}; {names}")
    for column in header:
        if column not in columns or header.count(column) > 1:
            raise ValueError(f"{file}, row 1, column {shortened(column) or 'without a name'}: unknown or there twice; {names}")


def _value(file, row, column, text, schema):
    """The cell as text or float; NaN for a number that is not there."""
    number = column in NUMBERS
    if text == "":
        if column not in schema.blank:
            raise bad(file, row, column, text, "a number" if number else "text")
        return math.nan if number else text
    if column in schema.choices and text not in schema.choices[column]:
        raise bad(file, row, column, text, ", ".join(schema.choices[column]))
    if column == "date" and not is_date(text):
        raise bad(file, row, "date", text, f"YYYY, YYYY-MM or YYYY-MM-DD, from {FIRST_YEAR} on")
    return _number(file, row, column, text) if number else text


def _number(file, row, column, text):
    if not _NUMBER.fullmatch(text) or math.isinf(float(text)):
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


@functools.cache
def is_date(text):
    """Whether the text is a year, a month or a day since FIRST_YEAR. That the project's own have begun is tested, not asked of a
    clock, which may stand behind the data."""
    try:
        day = datetime.date.fromisoformat(text + "-01" * (2 - text.count("-")))
    except ValueError:
        return False
    return bool(re.fullmatch(r"\d{4}(-\d\d){0,2}", text, re.ASCII)) and day.year >= FIRST_YEAR


def check_known(file, row, column, value, name):
    if value not in rows(name):
        raise bad(file, row, column, value, f"a {column} of data/{name}.csv{close(value, rows(name))}")


def refuse_duplicates(file, frame, columns):
    first = {}
    for row, *names in frame[columns].astype(str).itertuples(name=None):
        if tuple(names) in first:
            raise ValueError(f"{file}, row {row}: same {', '.join(columns)} as row {first[tuple(names)]}; allowed: each once")
        first[tuple(names)] = row
