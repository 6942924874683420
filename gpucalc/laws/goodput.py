"""What failures take of a run: how long it goes without one, how much of its time is work that counts, and what spares save.

The work that a stop costs is that of spot machines (`renting`): checkpoints, what is lost since the last, and the restart.
"""
from ..core.arithmetic import ceil
from ..core.law import law


@law
def job_failure_seconds(gpu_failure_seconds, gpus):
    """Mean time until the first of a job's GPUs fails (s), any of which stops all. Llama 3 (arXiv 2407.21783, section 3.3.4).

    `gpu_failure_seconds` (s) counts all that stops a job, by GPU: cards, memory, network, hosts and software.
    """
    return gpu_failure_seconds / gpus


@law
def recovery_seconds(restart_seconds, replacement_seconds=0):
    """Time from a failure to work again (s): the restart, and the wait for another machine where no spare stands ready."""
    return restart_seconds + replacement_seconds


@law
def goodput(interruption_slowdown):
    """Share of the time that is work that counts (ratio). Kokolis et al. 2025 (arXiv 2410.21680): effective training time."""
    return 1 / interruption_slowdown


@law
def lost_days(training_days, goodput):
    """Days of a run that are not work that counts: checkpoints, work done twice, restarts."""
    return training_days * (1 - goodput)


@law
def machines_in_repair(replacement_seconds, job_failure_seconds):
    """Broken machines that are away at a time, on average (count), if spares keep the job at work. Little 1961."""
    return replacement_seconds / job_failure_seconds


@law
def spare_machines(machines_in_repair):
    """Spares that stand in for the machines in repair (count), in whole machines; more break at once now and then."""
    return ceil(machines_in_repair)
