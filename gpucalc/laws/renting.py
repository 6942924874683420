"""What a rented GPU-hour costs on each term: on demand, reserved, spot with its interruptions, and as rents fall over years."""
from ..core.arithmetic import exp, quotient, sqrt, where
from ..core.law import law
from .owning import worked


@law
def rented_usd_per_hour(usd_per_hour, utilization=1, committed=0):
    """Rented cost of one GPU-hour that is used (USD): a commitment is paid used or not."""
    return usd_per_hour / where(committed > 0, utilization, 1)


@law
def discounted_usd_per_hour(usd_per_hour, discount_share):
    """Price of a GPU-hour by a contract or a savings plan that takes a share off the list (USD)."""
    return usd_per_hour * (1 - discount_share)


@law
def commitment_utilization(committed_usd_per_hour, usd_per_hour):
    """Utilization from which a commitment costs less than the same hours on demand (fraction); above 1, never."""
    return committed_usd_per_hour / usd_per_hour


@law
def rented_years(discount_rate, years, lead_months=0, ramp_months=0, rent_decline=0):
    """Years of full work as they count in rents that fall every year (year, present value at today's rent)."""
    return worked(discount_rate, years, lead_months, ramp_months, rent_decline)


@law
def level_usd_per_hour(rented_usd_per_hour, rented_years, used_years):
    """The one rent of a used hour, held for all years, that costs what the falling one does (USD per GPU-hour)."""
    return rented_usd_per_hour * quotient(rented_years, used_years)


@law
def young_interval(checkpoint_seconds, interruption_seconds):
    """Time between two checkpoints that loses least (s), to first order. Young 1974 (doi 10.1145/361147.361115)."""
    return sqrt(2 * checkpoint_seconds * interruption_seconds)


@law
def checkpoint_interval(young_interval, checkpoint_seconds, interruption_seconds):
    """Work between two checkpoints that loses least (s). Daly 2006 (doi 10.1016/j.future.2004.11.016), perturbation solution.

    Interruptions come at random. If a checkpoint takes twice the mean time between them or longer, it is that mean time.
    """
    part = young_interval / (6 * interruption_seconds)
    best = young_interval * (1 + part + part ** 2) - checkpoint_seconds
    return where(checkpoint_seconds < 2 * interruption_seconds, best, interruption_seconds)


@law
def lost_seconds(checkpoint_interval, checkpoint_seconds, interruption_seconds):
    """Time since the last checkpoint that an interruption loses, on average (s): just under half a segment.

    A segment is an interval of work and its checkpoint; this is the mean of a random time, given that it falls into one.
    """
    segment = checkpoint_interval + checkpoint_seconds
    return interruption_seconds - segment / (exp(segment / interruption_seconds) - 1)


@law
def interruption_slowdown(checkpoint_interval, checkpoint_seconds, restart_seconds, interruption_seconds):
    """Time on interrupted machines over the time of the work alone (ratio). Daly 2006, complete model.

    Counts checkpoints, restarts, which may be interrupted too, and the work lost since the last checkpoint.
    """
    mean = interruption_seconds
    segment = exp((checkpoint_interval + checkpoint_seconds) / mean) - 1
    return mean * exp(restart_seconds / mean) * segment / checkpoint_interval


@law
def group_interruption_seconds(machine_interruption_seconds, machines):
    """Mean time until the first of several machines is interrupted, any of which stops all (s)."""
    return machine_interruption_seconds / machines


@law
def spot_usd_per_hour(usd_per_hour, interruption_slowdown):
    """Cost of an hour of work that counts, on spot (USD per GPU-hour)."""
    return usd_per_hour * interruption_slowdown


@law
def discount_needed(interruption_slowdown):
    """Discount on the price below which interrupted machines cost more than uninterrupted ones (fraction)."""
    return 1 - 1 / interruption_slowdown
