"""How much to reserve of a load that changes by the hour: base reserved, peak on demand, what can wait on spot; blocks of days.

A load-duration curve says for each number of GPUs in how many hours more are needed. A reserved GPU is paid in all hours and
replaces flexible ones in the hours above it, so one more pays as long as that share of hours is above the price ratio: the
critical ratio of the newsvendor (Arrow, Harris and Marschak 1951, doi 10.2307/1906813), here for capacity.
"""
from ..core.arithmetic import HOURS_PER_DAY, maximum, minimum, where
from ..core.law import law


@law
def flexible_usd_per_hour(usd_per_hour, spot_usd_per_hour, interruptible_share=0):
    """Price of a GPU-hour that is not reserved (USD): on demand, and for the share that may be interrupted on spot, if cheaper.

    spot_usd_per_hour: of an hour of work that counts, so with its interruptions.
    """
    return (1 - interruptible_share) * usd_per_hour + interruptible_share * minimum(spot_usd_per_hour, usd_per_hour)


@law
def reserve_ratio(committed_usd_per_hour, flexible_usd_per_hour):
    """Share of the hours in which a reserved GPU has to be needed to pay (ratio); above 1, never."""
    return committed_usd_per_hour / flexible_usd_per_hour


@law
def share_above(reserved_gpus, trough_gpus, peak_gpus):
    """Share of the hours that need more GPUs than are reserved, where the load falls evenly from its peak to its trough."""
    spread = maximum(peak_gpus - trough_gpus, 0)
    inside = maximum(peak_gpus - reserved_gpus, 0) / where(spread > 0, spread, 1)
    return where(reserved_gpus < trough_gpus, 1, minimum(inside, 1))


@law
def reserved_gpus(reserve_ratio, trough_gpus, peak_gpus):
    """GPUs to reserve: the level above which the load is in just that share of the hours. None where a reservation never pays."""
    return where(reserve_ratio > 1, 0, peak_gpus - reserve_ratio * (peak_gpus - trough_gpus))


@law
def gpus_above(share_above, reserved_gpus, trough_gpus, peak_gpus):
    """GPUs needed beyond the reserved ones, on average over all hours: half of a triangle, and what the trough itself lacks."""
    height = maximum(peak_gpus - maximum(reserved_gpus, trough_gpus), 0)
    return share_above * height / 2 + maximum(trough_gpus - reserved_gpus, 0)


@law
def step_reserved_gpus(reserve_ratio, trough_gpus, peak_gpus, peak_share):
    """GPUs to reserve where the load is at its peak in a share of the hours and at its trough in all others."""
    return where(reserve_ratio > 1, 0, where(reserve_ratio > peak_share, trough_gpus, peak_gpus))


@law
def portfolio_usd_per_hour(reserved_gpus, committed_usd_per_hour, gpus_above, flexible_usd_per_hour):
    """Cost of the load in an average hour (USD): the reserved GPUs, used or not, and the others as they are needed."""
    return reserved_gpus * committed_usd_per_hour + gpus_above * flexible_usd_per_hour


@law
def capacity_block_usd(gpus, block_days, block_usd_per_hour):
    """Price of a block of days, paid before it begins, whether the run takes all of them or not (USD)."""
    return gpus * block_days * HOURS_PER_DAY * block_usd_per_hour


@law
def block_break_even_days(block_days, block_usd_per_hour, usd_per_hour):
    """Days of work from which a block costs less than the same GPUs by the hour (day); beyond the block's own, never."""
    return block_days * block_usd_per_hour / usd_per_hour
