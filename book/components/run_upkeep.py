"""What a run takes beside its work: failures by the size of the job, spares against waiting, electricity and carbon."""
import numpy as np
import pandas as pd

from gpucalc.core.arithmetic import HOURS_PER_DAY
from gpucalc.core.evaluate import Case
from gpucalc.laws.energy import run_carbon, run_kwh
from gpucalc.laws.goodput import goodput, job_failure_seconds, machines_in_repair, recovery_seconds, spare_machines
from gpucalc.laws.owning import watts_per_gpu
from gpucalc.laws.renting import interruption_slowdown
from gpucalc.rows import catalogue
from .run_risks import joint

ENDS = ("low", "likely", "high")


def by_size(gpus, gpus_per_server=8, checkpoint_seconds=None, restart_seconds=None, gpu_failure_seconds=None):
    """What failures take of jobs on so many GPUs, a row each: the time between two, the goodput and its ends with a spare at
    hand, and waiting for a repair; spares, and the bill over that of the work, `spared` with them and `waiting` without."""
    assumed, sizes = catalogue.assumptions(), pd.Series(gpus, name="gpus")
    repair = assumed.loc["replacement_seconds", "likely"]
    saving = catalogue.assumed("checkpoint_seconds", checkpoint_seconds)
    restarting = catalogue.assumed("restart_seconds", restart_seconds)
    apart = {end: job_failure_seconds(gpu_failure_seconds or assumed.loc["gpu_failure_seconds", end], sizes) for end in ENDS}

    def share(end, wait=0):
        job = Case(checkpoint_seconds=saving, interruption_seconds=apart[end],
                   restart_seconds=recovery_seconds(restarting, wait))
        with np.errstate(over="ignore"):
            return goodput(job(interruption_slowdown))

    kept, waited = share("likely"), share("likely", repair)
    spares = spare_machines(machines_in_repair(repair, apart["likely"]))
    return pd.DataFrame(dict(gpus=sizes, job_failure_seconds=apart["likely"], goodput=kept, low=share("low"), high=share("high"),
                             waiting_goodput=waited, spare_machines=spares,
                             spared=(1 + spares * gpus_per_server / sizes) / kept, waiting=1 / waited))


def energy_of(row):
    """The electricity of a priced run (kWh), `plan`, `low` and `high`: its hours, the server's power, the site's overhead.

    The three errors know nothing of each other. NaN where the power of the card is not known.
    """
    assumed, tdp = catalogue.assumptions(), catalogue.gpu(row.gpu)["tdp_watts"]
    hours = pd.Series([row.low_days, row.training_days, row.high_days], ENDS) * HOURS_PER_DAY * row.gpus
    power, over = assumed.loc["server_power_factor"], assumed.loc["pue"]
    plan = np.nan if np.isnan(tdp) else run_kwh(hours["likely"], watts_per_gpu(tdp, power["likely"]), over["likely"])
    return with_ends(plan, hours, power, over)


def with_ends(plan, *factors):
    """A figure with the ends that independent factors of it make together, each known as low, likely and high."""
    low, high = (plan * float(joint(*(pd.Series([each[end] / each["likely"]]) for each in factors)).iloc[0])
                 for end in ("low", "high"))
    return dict(low=low, plan=plan, high=high)


def carbon_of(energy):
    """The carbon of a run's electricity, a row for each end of the range of grids: `grid`, `carbon_intensity`, `run_carbon`.

    That of unknown electricity is NaN.
    """
    grids = catalogue.assumptions().loc["carbon_intensity", list(ENDS)].astype(float)
    return pd.DataFrame(dict(grid=["cleanest of the range", "likely", "dirtiest of the range"], carbon_intensity=grids.to_numpy(),
                             run_carbon=run_carbon.formula(energy["plan"], grids.to_numpy())))
