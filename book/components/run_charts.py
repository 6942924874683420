"""How pages show the offers for a training run: tables of runs, and cost against days."""
import math

import altair
from pandas import DataFrame

from gpucalc.core.arithmetic import SECONDS_PER_HOUR
from gpucalc.core.figures import chance, dollars, number, percent, three_figures
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions.fine_print import forbidden
from gpucalc.decisions.run_speeds import mfu_by_chip, planned_mfu
from gpucalc.rows import catalogue
from .charts import axis, finish
from .dates import by_price
from .show import table

LABELS = {"taken": "GPUs", "seller": "from", "sku": "instance", "machines": "instances", "layout": "fastest layout",
          "mfu": "MFU", "gpu_hours": "GPU-hours of work", "training_days": "days", "compute_usd": "cost",
          "verdict": "against it", "usd_per_hour": "USD/h a GPU", "date": "price of", "deadline_days": "deadline, days",
          "interruption_slowdown": "slowdown", "in_time": "in time", "in_budget": "in the budget",
          "days_between": "8 in 10 between, days", "usd_between": "8 in 10 between, USD"}
FORMATS = {"mfu": percent, "gpu_hours": "{:,.0f}".format, "training_days": "{:,.3g}".format, "compute_usd": dollars,
           "usd_per_hour": "{:.2f}".format, "deadline_days": "{:,.3g}".format, "interruption_slowdown": "{:.2f}".format,
           "in_time": chance, "in_budget": chance}
BANDS = {"days_between": ("low_days", "high_days"), "usd_between": ("low_usd", "high_usd")}
CARDS = ["A100 SXM 80GB", "H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB", "GB200 NVL72 186GB", "MI300X 192GB",
         "MI355X 288GB", "TPU v5p 95GB"]
POINT = ["gpu", "provider", "term", "gpus", "training_days", "compute_usd"]


def runs_table(frame, columns, caption, labels=None):
    """Runs of `plan.offers` with the columns to show; in words: `taken`, the GPUs with a mark on consumer
    cards, `seller`, who rents them out, and the bands `days_between` and `usd_between`.

    A run that is not possible has no days and no cost.
    """
    frame = by_price(frame)
    if "taken" in columns:
        marks = frame["gpu"].map(forbidden(catalogue.gpus())).map({True: ", consumer card", False: ""})
        frame = frame.assign(taken=[f"{count:,} × {gpu}{mark}" for count, gpu, mark in zip(frame["gpus"], frame["gpu"], marks)],
                             seller=frame["provider"] + ", " + frame["term"])
    for name, ends in BANDS.items():
        if name in columns:
            frame = frame.assign(**{name: [between(row[ends[0]], row[ends[1]]) for row in frame.to_dict("records")]})
    shown = frame[list(columns)].astype(object)
    empty = dict.fromkeys(("training_days", "compute_usd", "in_time", "in_budget"))
    lost = frame.filter(["training_days", "compute_usd"]).eq(math.inf).any(axis=1)
    shown = shown.mask(lost, shown.assign(**empty)[list(columns)])
    return table(shown, caption, labels=LABELS | (labels or {}), formats=FORMATS)


def mfu_table(caption):
    """What published runs and steps reached of the peak on the cards that readers meet, and what a run is planned with."""
    plan, rows = planned_mfu(), []
    for gpu in CARDS:
        held = mfu_by_chip().reindex([plan.at[gpu, "chip"]]).iloc[0]
        steps, narrow = (f"{percent(held[f'{name}_median'])}, {held[f'{name}_count']:.0f} of {held[f'{name}_sources']:.0f}"
                         if held[f"{name}_count"] > 0 else None for name in ("steps", "narrow"))
        runs = dict.fromkeys(("median", "reached", "runs", "years")) if not held["runs"] > 0 else dict(
            median=held["median"], reached=f"{percent(held['least'])} to {percent(held['most'])}",
            runs=f"{held['runs']:.0f} of {held['sources']:.0f}", years=f"{held['first']:.0f} to {held['last']:.0f}")
        rows.append(dict(gpu=gpu, plan=plan.at[gpu, "plan"], of=plan.at[gpu, "of"]) | runs | dict(steps=steps, narrow=narrow))
    return table(DataFrame(rows), caption, labels={
        "plan": "planned with", "of": "from", "median": "median of runs", "reached": "runs reached", "runs": "runs of sources",
        "years": "software of", "steps": "steps in 16 bits: median, figures of sources",
        "narrow": "steps in 8 bits, of that peak"}, formats={"plan": percent, "median": percent})


def failures_table(frame, caption):
    """Jobs by size of `run_upkeep.by_size`: what failures leave of their time, and what spares and waiting cost."""
    shown = DataFrame(dict(
        gpus=frame["gpus"], apart=[number(each / SECONDS_PER_HOUR, "hour") for each in frame["job_failure_seconds"]],
        goodput=frame["goodput"],
        ends=[f"{percent(low)} to {percent(high)}" for low, high in zip(frame["low"], frame["high"])],
        spares=frame["spare_machines"], spared=frame["spared"], waiting=frame["waiting"]))
    labels = {"gpus": "GPUs", "apart": "a failure every", "goodput": "goodput", "ends": "range", "spares": "spare machines",
              "spared": "bill with spares, times the work", "waiting": "bill waiting for repairs, times the work"}
    formats = dict(gpus="{:,}".format, goodput=percent, spares="{:.0f}".format, spared="{:.2f}".format, waiting="{:.2f}".format)
    return table(shown, caption, labels=labels, formats=formats)


def carbon_table(frame, caption):
    """The carbon of a run by the grid it draws from."""
    said = frame.assign(**{name: [number(each, QUANTITIES[name].unit) if each == each else None for each in frame[name]]
                           for name in ("carbon_intensity", "run_carbon")})
    return table(said, caption, labels={"carbon_intensity": "CO2e of a kWh", "run_carbon": "CO2e of the run"})


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
    beaten = "option is" if len(edge) == 1 else "options are"
    return finish(altair.layer(*marks), alt, title=f"{len(edge)} {beaten} beaten by no other in days and dollars")


def _points(frame):
    return altair.Chart(frame[POINT].round({"training_days": 4, "compute_usd": 2})).encode(
        x=axis(altair.X, "training_days", "training_days", "days", log=True),
        y=axis(altair.Y, "compute_usd", "compute_usd", "cost of the run, USD", log=True),
        tooltip=["gpu", "gpus", "provider", "term", altair.Tooltip("training_days", format=".3~g"),
                 altair.Tooltip("compute_usd", format=",.0f")])
