"""How often published runs stopped, what a stop costs jobs of each size, and the formula beside what was published."""
import pandas as pd

from gpucalc.core.arithmetic import HOURS_PER_DAY, SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case
from gpucalc.laws.goodput import job_failure_seconds
from gpucalc.laws.renting import checkpoint_interval, lost_seconds, young_interval
from gpucalc.laws.stops import monthly_stops, stop_usd
from gpucalc.rows import catalogue

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
