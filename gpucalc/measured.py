"""Predicted against published: every published figure of a topic, recomputed by its law from its inputs alone."""
import json

from . import catalogue
from .explanation import evaluate
from .law import LAWS
from .show import number, percent, table


def compare(topic, kind=None, **instead):
    """A topic's published figures beside the law's, with the signed error (predicted over published, less 1).

    `kind` keeps those that were `measured`, or `computed` by a formula of their own. `instead` replaces inputs of that name:
    efficiency="bound" gives the laws' upper bounds.
    """
    frame = catalogue.measurements()
    frame = frame[(frame["topic"] == topic) & ((frame["kind"] == kind) | (kind is None))].copy()
    frame["predicted"] = [_predict(row, instead) for row in frame.to_dict("records")]
    frame["error"] = frame["predicted"] / frame["value"] - 1
    return frame


def comparison_table(topic, caption, kind=None, families=()):
    """`compare` as a table to read: what was published, what the law gives, the error and the source. All families if none."""
    frame = compare(topic, kind)
    frame = frame[frame["family"].isin(families or frame["family"])]
    for column in ("value", "predicted"):
        frame[column] = [number(value, unit) for value, unit in zip(frame[column], frame["unit"])]
    shown = frame[["subject", "value", "predicted", "error", "note", "source"]]
    return table(shown, caption, labels={"value": "published", "note": "why it differs"}, formats={"error": signed_percent})


def error_table(topic, caption):
    """How far off the laws are, by family: number of figures, median and 90th percentile of the error without its sign."""
    frame = compare(topic)
    sizes = frame["error"].abs().groupby([frame["family"], frame["kind"]])
    shown = sizes.agg(figures="size", median="median", worst_tenth=lambda errors: errors.quantile(0.9)).reset_index()
    return table(shown, caption, labels={"kind": "published figure", "worst_tenth": "90th percentile"},
                 formats={"median": percent, "worst_tenth": percent})


def signed_percent(error):
    """An error with its sign, as a percentage."""
    return f"{'+' if error > 0 else '−' if error < 0 else ''}{percent(abs(error))}"


def _predict(row, instead):
    inputs = json.loads(row["inputs"])
    inputs |= {name: value for name, value in instead.items() if name in inputs}
    rows = [find(inputs.pop(kind)) for kind, find in catalogue.ROWS.items() if kind in inputs]
    return float(evaluate(LAWS[row["law"]], *rows, **inputs))
