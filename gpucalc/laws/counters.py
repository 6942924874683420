"""What a GPU's counters say: which limit took the time, what another card would gain, and what was paid for nothing."""
from ..core.arithmetic import HOURS_PER_MONTH, SECONDS_PER_HOUR, maximum, minimum, where
from ..core.law import law


# From work to counters

@law
def tensor_activity(counted_flops, counted_seconds, product_peak):
    """Share of its dense peak that the tensor units do (ratio). NVIDIA DCGM dcgm_fields.h, field 1004: cycles of the tensor pipe
    over the most it can sustain. The cycles are those of the clock that the card has, which heat and power may lower.
    """
    return counted_flops / (counted_seconds * product_peak)


@law
def dram_activity(counted_bytes, counted_seconds, bandwidth):
    """Share of its bandwidth that the memory moves (ratio). NVIDIA DCGM dcgm_fields.h, field 1005: cycles of the interface."""
    return counted_bytes / (counted_seconds * bandwidth)


# From counters to the limit

@law
def memory_time_share(dram_activity, bandwidth_share):
    """Share of the time that memory traffic takes by itself, at the share of the bandwidth that benchmarks reach (ratio)."""
    return minimum(dram_activity / bandwidth_share, 1)


@law
def compute_time_share(tensor_activity, product_share, clock_share=1):
    """Share of the time that products take by themselves, at the share of the peak that benchmarks reach (ratio)."""
    return minimum(tensor_activity * clock_share / product_share, 1)


@law
def useful_share(memory_time_share, compute_time_share):
    """Share of the time that the nearer of both limits takes (ratio): the rest of it went to neither."""
    return maximum(memory_time_share, compute_time_share)


@law
def memory_bound_activity(bandwidth_share, bound_share=...):
    """DRAM activity from which memory takes most of the time (ratio)."""
    return bandwidth_share * bound_share


@law
def compute_bound_activity(product_share, bound_share=...):
    """Tensor activity from which products take most of the time (ratio)."""
    return product_share * bound_share


@law
def is_idle(measured_activity, idle_below=...):
    """Whether a sample counts as idle (1 or 0): nvidia-smi prints whole percents, so less than one reads as nothing."""
    return where(measured_activity < idle_below, 1, 0)


# From counters to a card

@law
def needed_bandwidth(dram_activity, bandwidth, target_utilization):
    """Bandwidth that a card must reach for the same traffic at the utilization aimed at (bytes/s)."""
    return dram_activity * bandwidth / target_utilization


@law
def needed_flops(tensor_activity, product_peak, target_utilization):
    """FLOP/s that a card must reach for the same products at the utilization aimed at."""
    return tensor_activity * product_peak / target_utilization


# From counters to money

@law
def counted_usd(gpus, usd_per_hour, counted_seconds):
    """What GPUs cost while they were measured (USD)."""
    return gpus * usd_per_hour * counted_seconds / SECONDS_PER_HOUR


@law
def idle_usd(counted_usd, idle_share):
    """Paid for the time in which nothing ran (USD)."""
    return counted_usd * idle_share


@law
def unused_usd(counted_usd, useful_share):
    """Paid less what the nearer limit was used (USD): idle time, and time in which work waits for something else."""
    return counted_usd * (1 - useful_share)


@law
def charged_usd(bill_usd, team_units, all_units):
    """A team's part of a bill (USD), by what it used of what all used: tokens or GPU-hours."""
    return bill_usd * team_units / all_units


@law
def charged_usd_per_million(charged_usd, team_tokens):
    """What a million tokens of a team come to (USD)."""
    return 10**6 * charged_usd / team_tokens


@law
def smaller_card_usd_per_month(gpus, usd_per_hour, smaller_usd_per_hour):
    """What a month costs less on as many smaller cards (USD/month)."""
    return gpus * (usd_per_hour - smaller_usd_per_hour) * HOURS_PER_MONTH
