"""What the command prints: text, CSV or JSON; numbers with their units, and columns."""
import csv
import io
import json
import math

from ..core.figures import number as with_unit
from ..core.quantities import QUANTITIES


def printed(options, text, records, whole=None):
    """The answer as text, its records as CSV, or the whole of it as JSON."""
    if options.json:
        return json.dumps(_plain(records if whole is None else whole), indent=2, ensure_ascii=False)
    if not options.csv:
        return text()
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value != value else value for name, value in row.items()} for row in records)
    return out.getvalue().rstrip("\n")


def _plain(value):
    """The value as JSON has it: infinity as text, a blank as null."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value).replace("inf", "Infinity")
    return value


def number(name, value):
    """The value of a quantity with its unit."""
    return with_unit(value, QUANTITIES[name].unit)


def aligned(rows):
    """The cells of the rows in columns, the last one ragged."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows]
