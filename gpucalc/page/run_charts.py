"""How pages show the offers for a training run: tables of runs, and cost against days."""
import math

import altair
from pandas import DataFrame

from ..core.figures import dollars, percent, three_figures
from .charts import axis, finish
from .show import table

LABELS = {"taken": "GPUs", "seller": "from", "sku": "instance", "machines": "instances", "layout": "fastest layout",
          "layout_mfu": "MFU", "gpu_hours": "GPU-hours of work", "training_days": "days", "compute_usd": "cost",
          "verdict": "against it", "usd_per_hour": "USD/h a GPU", "date": "price of", "deadline_days": "deadline, days",
          "interruption_slowdown": "slowdown", "days_between": "8 in 10 between, days", "usd_between": "8 in 10 between, USD"}
FORMATS = {"layout_mfu": percent, "gpu_hours": "{:,.0f}".format, "training_days": "{:,.3g}".format, "compute_usd": dollars,
           "usd_per_hour": "{:.2f}".format, "deadline_days": "{:,.3g}".format, "interruption_slowdown": "{:.2f}".format}
BANDS = {"days_between": ("low_days", "high_days"), "usd_between": ("low_usd", "high_usd")}
POINT = ["gpu", "provider", "term", "gpus", "training_days", "compute_usd"]


def runs_table(frame, columns, caption, labels=None):
    """Runs of `plan.offers` with the columns to show; in words: `taken`, the GPUs, `seller`, who rents them out, and the bands
    `days_between` and `usd_between`.

    A run that is not possible has no days and no cost.
    """
    if "taken" in columns:
        frame = frame.assign(taken=[f"{count:,} × {gpu}" for count, gpu in zip(frame["gpus"], frame["gpu"])],
                             seller=frame["provider"] + ", " + frame["term"])
    for name, ends in BANDS.items():
        if name in columns:
            frame = frame.assign(**{name: [between(row[ends[0]], row[ends[1]]) for row in frame.to_dict("records")]})
    shown = frame[list(columns)].astype(object)
    shown = shown.mask(frame["compute_usd"] == float("inf"), shown.assign(training_days=None, compute_usd=None)[list(columns)])
    return table(shown, caption, labels=LABELS | (labels or {}), formats=FORMATS)


def between(low, high):
    """A band in a cell; None where a run is not possible."""
    return f"{three_figures(low)} to {three_figures(high)}" if math.isfinite(high) else None


def cost_against_days(frame, edge, best, deadline_days, alt):
    """Runs by days and cost, their front as a line, the deadline dashed, and the recommended one, if any, as a diamond."""
    marks = [_points(frame).mark_circle(size=22, opacity=0.35).encode(color=altair.Color("term:N", title=None)),
             _points(edge).mark_line(strokeWidth=2, point=True),
             altair.Chart(DataFrame([dict(training_days=deadline_days)])).mark_rule(strokeDash=[5, 4]).encode(
                 x="training_days:Q")]
    if best is not None:
        marks.append(_points(DataFrame([best[POINT]]).infer_objects()).mark_point(size=260, strokeWidth=3, shape="diamond"))
    return finish(altair.layer(*marks), alt)


def _points(frame):
    return altair.Chart(frame[POINT].round({"training_days": 4, "compute_usd": 2})).encode(
        x=axis(altair.X, "training_days", "training_days", "days", log=True),
        y=axis(altair.Y, "compute_usd", "compute_usd", "cost of the run, USD", log=True),
        tooltip=["gpu", "gpus", "provider", "term", altair.Tooltip("training_days", format=".3~g"),
                 altair.Tooltip("compute_usd", format=",.0f")])
