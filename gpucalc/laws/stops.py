"""What one stop of a job costs, how often it comes, and what storage must take so that a checkpoint is written in time."""
from ..core.arithmetic import HOURS_PER_MONTH, SECONDS_PER_HOUR
from ..core.law import law


@law
def monthly_stops(job_failure_seconds):
    """Stops of a job in a month (count)."""
    return HOURS_PER_MONTH * SECONDS_PER_HOUR / job_failure_seconds


@law
def stop_usd(gpus, usd_per_hour, recovery_seconds, lost_seconds):
    """What one stop costs (USD): all GPUs are paid while they restart, and once more for the work that is lost."""
    return gpus * usd_per_hour * (recovery_seconds + lost_seconds) / SECONDS_PER_HOUR


@law
def checkpoint_bytes(params, weight_element_bytes, master_element_bytes, optimizer_element_bytes):
    """A checkpoint from which training goes on (bytes): weights, their master copy and the optimizer's state; no gradients."""
    return params * (weight_element_bytes + master_element_bytes + optimizer_element_bytes)


@law
def checkpoint_bandwidth(checkpoint_bytes, checkpoint_seconds):
    """What storage must take from all GPUs together while a checkpoint is written (bytes/s)."""
    return checkpoint_bytes / checkpoint_seconds
