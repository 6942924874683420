"""Failures: how often parts of a cluster fail, and what of a run that costs."""
import pandas as pd
from pandas import DataFrame

from gpucalc.core.arithmetic import HOURS_PER_DAY, HOURS_PER_YEAR, SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import dollars, number, percent, seconds
from gpucalc.laws.goodput import job_failure_seconds
from gpucalc.laws.renting import checkpoint_interval, lost_seconds, young_interval
from gpucalc.laws.stops import monthly_stops, stop_usd
from gpucalc.rows import catalogue
from ..components.measured import compare
from ..components.show import difference, table


# How often published runs stopped, what a stop costs jobs of each size, and the formula beside what was published.

_DAY = HOURS_PER_DAY * SECONDS_PER_HOUR


def published():
    """How often published runs stopped: `gpu_failure_seconds` of each, and the stops in a day of a job of 1,024 GPUs."""
    known = {name: catalogue.reported(name).value for name in (
        "days-llama-3", "stops-llama-3", "stops-llama-3-all", "gpus-llama-3", "stops-opt-hours", "gpus-opt", "stops-bloom-week",
        "gpus-bloom", "rsc-1", "rsc-2")}
    seconds = known["days-llama-3"] * _DAY * known["gpus-llama-3"]
    rows = {
        "Llama 3 405B, H100, unplanned": seconds / known["stops-llama-3"],
        "Llama 3 405B, H100, with planned stops": seconds / known["stops-llama-3-all"],
        "Meta RSC-1, A100": known["rsc-1"], "Meta RSC-2, A100": known["rsc-2"],
        "BLOOM 176B, A100, GPUs alone": 7 * _DAY * known["gpus-bloom"] / known["stops-bloom-week"],
        "OPT-175B, A100": known["stops-opt-hours"] * SECONDS_PER_HOUR * known["gpus-opt"]}
    frame = pd.DataFrame(dict(run=list(rows), gpu_failure_seconds=list(rows.values())))
    return frame.assign(daily=_DAY / job_failure_seconds(frame["gpu_failure_seconds"], 1024))


def job(gpus, **stops):
    """A job of so many GPUs as a case; stops: seconds of a failure, a checkpoint and a restart, the likely ones where none."""
    given = {name: catalogue.assumed(name, stops.get(name))
             for name in ("gpu_failure_seconds", "checkpoint_seconds", "restart_seconds")}
    return Case(gpus=gpus, interruption_seconds=job_failure_seconds, **given)


def prices(sizes, usd_per_hour, **stops):
    """What one stop, one more hour of restart and a month of stops cost jobs of each size at that rent (USD)."""
    rows = []
    for gpus in sizes:
        case = job(gpus, **stops)
        case = case.but(usd_per_hour=usd_per_hour, recovery_seconds=case.inputs["restart_seconds"])
        once, count = case(stop_usd), case(monthly_stops)
        rows.append(dict(gpus=gpus, interval=case(checkpoint_interval), first_order=case(young_interval), lost=case(lost_seconds),
                         stops=count, once=once, month=once * count, hour=gpus * usd_per_hour))
    return pd.DataFrame(rows)


# Stops of jobs, as tables of a page.


def published_table(frame, caption):
    """How often published runs stopped."""
    shown = frame.assign(years=frame["gpu_failure_seconds"] / SECONDS_PER_HOUR / HOURS_PER_YEAR)
    return table(shown.drop(columns="gpu_failure_seconds"), caption,
                 labels={"run": "run", "daily": "stops a day on 1,024 GPUs", "years": "years until one GPU stops a job"},
                 formats={"daily": "{:.2f}".format, "years": "{:.1f}".format})


def prices_table(frame, caption):
    """What stops cost jobs of each size."""
    shown = frame[["gpus", "interval", "lost", "stops", "once", "month", "hour"]]
    return table(shown, caption, labels={"gpus": "GPUs", "interval": "work between checkpoints", "lost": "lost at a stop",
                                         "stops": "stops a month", "once": "one stop", "month": "stops of a month",
                                         "hour": "each hour of restart"},
                 formats=dict(gpus="{:,}".format, interval=lasting, lost=lasting, stops=number, once=dollars,
                              month=dollars, hour=dollars))


def compared_table(caption):
    """Goodput of published runs, by the formula with the same checkpoint and restart for all, and as published."""
    found = compare("training_cost").query("family == 'time lost to failures'")
    formula, published = 1 - found["predicted"], 1 - found["value"]
    rows = DataFrame(dict(run=found["subject"].str.removeprefix("of a day, "), formula=formula, published=published,
                          error=formula / published - 1, source=found["source"]))
    return table(rows, caption, labels={"run": "run", "formula": "work, by formula", "published": "published", "error": "error"},
                 formats={"formula": percent, "published": percent, "error": difference})


def lasting(time):
    """A time in hours where it has two or more, else in seconds."""
    return number(time / SECONDS_PER_HOUR, "hour") if time >= 2 * SECONDS_PER_HOUR else seconds(time)
