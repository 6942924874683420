"""GPUs of the reader's own, in a second file: what it lacks is asked for at once, or taken from a GPU that it is like."""
import datetime
import math
import re
from pathlib import Path
from typing import Any

from ..core.evaluate import close
from ..core.quantities import QUANTITIES
from .files import few, hidden, shortened
from .intake import plain, read_sheet, readings
from .tables import NUMBERS, TABLES, bad, check_quantity, check_row, rows

LIKE = "like"
_SCHEMA = TABLES["gpus"]
_WANTED = f"a header with gpu and {LIKE} (a GPU whose values stand in), or gpu and memory_bytes, bandwidth, peak_flops and so on"
_PREFIX = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "": 1}
_MEASURED = re.compile(r"([\d.,]+(?:[eE][+-]?\d+)?) ?([kKMGTP]?)(B|B/s|FLOPS|FLOP/s|FLOPs|OPS|W)?", re.ASCII)
# What is asked for where there is no GPU that it is like: unit and an example.
ASKED = {"memory_bytes": "B, as the driver reports it or as marketed: 80e9 or 80 GB", "bandwidth": "B/s: 3.35e12 or 3.35 TB/s",
         "peak_flops": "FLOP/s, dense, FP32 accumulation: 989e12 or 989 TFLOP/s", "link": "a link of data/links.csv: NVLink 5",
         "units": "multiprocessors or compute units: 132"}
# A file that does not say otherwise has a card that nobody has measured.
_STATED = {"vendor": "not stated", "generation": "not stated", "status": "announced", "kind": "datacenter",
           "memory_type": "not stated", "peak_format": "BF16", "ecc": 1.0, "arm_host": 0.0, "mig_instances": 0.0,
           "benchmark": "none", "confidence": "seen", "unit": "SI: B, B/s, FLOP/s, W", "note": ""}
# They make the peak, so that a card with another peak has others.
_OF_PEAK = ("clock", "unit_flops")


def own_gpus(path: str, known: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows of GPUs by their name, as in data/gpus.csv, of which `known` has the rows.

    Raises ValueError with all faults, one a line: row, column, value and what is allowed, with unit and example.
    """
    sheet = read_sheet(Path(path), _score, _WANTED)
    columns = [_column(title) for title in sheet.header]
    faults = [f"{sheet.file}, row {sheet.first}, column {shortened(title)}: unknown or there twice; allowed: {LIKE}, "
              f"{', '.join(_SCHEMA.columns)}" for title, column in zip(sheet.header, columns)
              if title and (column is None or columns.count(column) > 1)]
    found: dict[str, dict[str, Any]] = {}
    for row, cells in sheet.rows:
        given = {column: cell for column, cell in zip(columns, cells) if column and cell}
        record, wrong = _record(sheet.file, row, given, known)
        if record["gpu"] in known or record["gpu"] in found:
            wrong.append(bad(sheet.file, row, "gpu", record["gpu"], "a name that no other GPU has"))
        if any(more := cells[len(columns):]):
            wrong.append(bad(sheet.file, row, "after the last", ", ".join(more), f"{len(columns)} cells, as the header has"))
        faults += map(str, wrong)
        found[record.pop("gpu")] = record
    if faults:
        raise ValueError("\n".join(few(faults)))
    return found


def _column(title):
    name = re.sub(r"[\s-]+", "_", title.strip().lower())
    return name if name in (*_SCHEMA.columns, LIKE) else None


def _score(header):
    columns = [column for column in map(_column, header) if column]
    return len(columns) if "gpu" in columns and len(columns) > 1 else 0


def _record(file, row, given, known):
    """A row as in data/gpus.csv, and what is wrong with it."""
    wrong = [bad(file, row, column, text, "text without control and invisible characters")
             for column, text in given.items() if hidden(text)]
    if wrong:
        return {"gpu": ""}, wrong
    like = given.pop(LIKE, "")
    if like and like not in known:
        wrong.append(bad(file, row, LIKE, like, f"a gpu of data/gpus.csv{close(like, known)}"))
    values = {column: _measured(file, row, column, text, wrong) if column in NUMBERS else text for column, text in given.items()}
    wrong += _refused(file, row, values)
    if not like:
        there = {*given, *(["memory_bytes"] if "marketed_bytes" in given else [])}
        wrong += [bad(file, row, column, "", f"{what}; or a gpu that it is like in a column {LIKE}")
                  for column, what in ASKED.items() if column not in there]
    if "gpu" not in given:
        wrong.append(bad(file, row, "gpu", "", "a name"))
    record = {"gpu": ""} | _completed(file, values, known.get(like, {}), like)
    if not wrong:
        try:
            check_row("gpus", file, row, record)
        except ValueError as error:
            wrong.append(error)
    return record, wrong


def _measured(file, row, column, text, wrong):
    """A number, also with a prefix and a unit, such as 3.35 TB/s."""
    found = _MEASURED.fullmatch(plain(text))
    held = readings(found[1]) if found else {}
    if len(held) == 2:
        held = {"": held["."]}
    if not held:
        wrong.append(bad(file, row, column, text, f"a number such as {ASKED.get(column, '80e9').rpartition(': ')[2]}"))
        return math.nan
    return next(iter(held.values())) * _PREFIX[found[2].lower()]


def _refused(file, row, values):
    """Values that their column can't have."""
    for column, value in values.items():
        choices = _SCHEMA.choices.get(column)
        if choices and value not in choices and column != "unit":
            yield bad(file, row, column, value, ", ".join(choices))
        if column in QUANTITIES and value == value:
            try:
                check_quantity(file, row, column, column, value)
            except ValueError as error:
                yield error
        elif column in NUMBERS and value <= 0:
            yield bad(file, row, column, value, "a number above 0")
        if column == "link" and value not in rows("links"):
            yield bad(file, row, column, value, f"a link of data/links.csv{close(value, rows('links'))}")


def _completed(file, values, like, name):
    """The row with what it lacks: of the GPU that it is like, else what follows from its other cells."""
    own = {column: value for column, value in values.items() if value == value}
    memory = own.get("memory_bytes", own.get("marketed_bytes"))
    stated = dict.fromkeys(_SCHEMA.columns, "") | {column: math.nan for column in NUMBERS if column in _SCHEMA.columns} | _STATED
    of_memory = {} if memory is None else {"memory_bytes": memory, "marketed_bytes": memory, "memory_note": f"as {file} gives it"}
    link = rows("links").get(own.get("link"), {})
    if {"peak_flops", "units"} & {*own}:
        like = {column: value for column, value in like.items() if column not in _OF_PEAK}
    today = datetime.date.today()
    record = stated | {"year": float(today.year), "link_bandwidth": link.get("link_bandwidth", math.nan)} | like
    record |= of_memory | ({"link_bandwidth": link["link_bandwidth"]} if link else {})
    note = f"what {file} lacks is as in {name}" if name else f"what {file} lacks is not known"
    return {column: (record | {"source": file, "date": today.isoformat(), "note": note} | own)[column] for column in
            dict.fromkeys(["gpu", *_SCHEMA.columns]) if column in record or column == "gpu"}
