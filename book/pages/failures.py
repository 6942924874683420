"""Stops of jobs, as tables of a page."""
from pandas import DataFrame

from gpucalc.core.arithmetic import HOURS_PER_YEAR, SECONDS_PER_HOUR
from gpucalc.core.figures import dollars, number, percent, seconds
from ..components.measured import compare
from ..components.show import difference, table


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
