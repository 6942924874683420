"""What a GPU is worth: the peak that its units give, and the bandwidth and FLOP/s that a dollar or a watt buys."""
from ..core.arithmetic import HOURS_PER_MONTH, SECONDS_PER_HOUR
from ..core.law import law
from .serving_cost import MILLION


@law
def unit_peak(units, clock, unit_flops):
    """Dense peak (FLOP/s): units times clock times what one does in a clock. NVIDIA H100 white paper, table 3."""
    return units * clock * unit_flops


# For its price. Text that one user waits for is worth bandwidth, training and long prompts are worth FLOP/s.

@law
def bandwidth_per_usd(bandwidth, card_usd):
    """Memory bandwidth for a dollar of the card's price (bytes/s per USD)."""
    return bandwidth / card_usd


@law
def flops_per_usd(peak_flops, card_usd):
    """Dense peak for a dollar of the card's price (FLOP/s per USD)."""
    return peak_flops / card_usd


# For its rent

@law
def bandwidth_per_rent(bandwidth, usd_per_hour):
    """Memory bandwidth for a rent of a dollar an hour (bytes/s per USD/h)."""
    return bandwidth / usd_per_hour


@law
def flops_per_rent(peak_flops, usd_per_hour):
    """Dense peak for a rent of a dollar an hour (FLOP/s per USD/h)."""
    return peak_flops / usd_per_hour


@law
def flops_month_usd(peak_flops, usd_per_hour):
    """Rent of one FLOP/s of dense peak for a month (USD)."""
    return usd_per_hour * HOURS_PER_MONTH / peak_flops


@law
def matching_usd_per_hour(usd_per_million_tokens, tokens_per_second):
    """Rent at which a card writes tokens at a known cost (USD/h): below it the card is cheaper."""
    return usd_per_million_tokens * tokens_per_second * SECONDS_PER_HOUR / MILLION


# For its power

@law
def bandwidth_per_watt(bandwidth, tdp_watts):
    """Memory bandwidth for a watt of the card's limit (bytes/s per W)."""
    return bandwidth / tdp_watts


@law
def flops_per_watt(peak_flops, tdp_watts):
    """Dense peak for a watt of the card's limit (FLOP/s per W)."""
    return peak_flops / tdp_watts
