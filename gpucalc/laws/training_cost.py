"""What a training run costs: FLOP, GPU-hours, days, USD; what a deadline asks for and what a budget buys."""
from ..core.arithmetic import HOURS_PER_DAY, HOURS_PER_YEAR, SECONDS_PER_HOUR, ceil, maximum, where
from ..core.law import law


@law
def training_flops(active_params, training_tokens, epochs=1):
    """FLOP of a training run (count): 2 forward, 4 backward per parameter and token. Kaplan et al. 2020 (arXiv 2001.08361)."""
    return 6 * active_params * training_tokens * epochs


@law
def planned_gpu_hours(training_flops, peak_flops, mfu):
    """GPU-hours of a training run (h) at a share `mfu` of the dense peak. Chowdhery et al. 2022 (arXiv 2204.02311, 4.1)."""
    return training_flops / (peak_flops * mfu) / SECONDS_PER_HOUR


@law
def paid_gpu_hours(gpu_hours, layout_gpu_hours, interruption_slowdown, gpus, restart_seconds, spot=0):
    """GPU-hours that a rented run pays for (h): its layout's, stretched by interruptions, or what published runs took, which
    have theirs in them, but none of spot; and all GPUs while the job starts.
    """
    published = gpu_hours * where(spot > 0, interruption_slowdown, 1)
    return maximum(layout_gpu_hours * interruption_slowdown, published) + gpus * restart_seconds / SECONDS_PER_HOUR


@law
def training_days(gpu_hours, gpus):
    """Days a run takes on a number of GPUs."""
    return gpu_hours / gpus / HOURS_PER_DAY


@law
def compute_usd(gpu_hours, usd_per_hour, runs=1, minimum_gpu_hours=0, setup_gpu_hours=0):
    """Rented compute of so many equal runs and of what is set up before (USD): at least what the contract commits to is paid."""
    return maximum(gpu_hours * runs + setup_gpu_hours, minimum_gpu_hours) * usd_per_hour


@law
def reserved_gpu_hours(gpus, reserved_years, other_work=0):
    """GPU-hours of a reservation that this run has to pay (h): the whole term, less what other work pays of it."""
    return gpus * reserved_years * HOURS_PER_YEAR * (1 - other_work)


@law
def deadline_gpus(gpu_hours, deadline_days):
    """Least number of GPUs that finish in time (count), at a speed that more GPUs don't lower."""
    return ceil(gpu_hours / (deadline_days * HOURS_PER_DAY))


@law
def needed_mfu(training_flops, peak_flops, gpus, deadline_days):
    """Share of the dense peak that finishing in so many days takes (ratio); above 1 nothing can."""
    return training_flops / (peak_flops * gpus * deadline_days * HOURS_PER_DAY * SECONDS_PER_HOUR)


@law
def affordable_tokens(budget_usd, usd_per_hour, active_params, peak_flops, mfu):
    """Training tokens that a budget buys (count): its GPU-hours times their FLOP, over 6 per parameter."""
    return budget_usd / usd_per_hour * SECONDS_PER_HOUR * peak_flops * mfu / (6 * active_params)


@law
def excess_machines(machines, gpus_per_server, most_small_machines=..., gpus_per_node=...):
    """Machines of fewer GPUs than a node that a job would have beyond those it is spread over (count); 0 of whole nodes."""
    return where(gpus_per_server < gpus_per_node, maximum(machines - most_small_machines, 0), 0)
