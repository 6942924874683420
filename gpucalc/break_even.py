"""What a GPU-hour costs owned and rented, where they meet, and what a run and a token cost."""
from .law import (BYTES_PER_GB, HOURS_PER_DAY, HOURS_PER_MONTH, HOURS_PER_YEAR, SECONDS_PER_HOUR, WATTS_PER_KILOWATT,
                  law, maximum, minimum, quotient, where)


@law
def capital_usd_per_hour(server_usd, gpus_per_server, years, residual=0):
    """Price of the whole server less what it sells for, over every hour owned and every GPU (USD per GPU-hour)."""
    return server_usd * (1 - residual) / (gpus_per_server * years * HOURS_PER_YEAR)


@law
def watts_per_gpu(tdp_watts, server_power_factor=1.82):
    """One GPU's share of the server's power (W): its TDP and nearly as much again for processors, switches and fans.

    The default is NVIDIA's DGX H100: 10.2 kW at most for eight GPUs of 700 W.
    """
    return tdp_watts * server_power_factor


@law
def power_usd_per_hour(watts_per_gpu, pue, usd_per_kwh):
    """Electricity of one GPU's share of the server, with the site's overhead (USD per GPU-hour used)."""
    return watts_per_gpu / WATTS_PER_KILOWATT * pue * usd_per_kwh


@law
def hosting_usd_per_hour(hosting_usd_per_month, gpus_per_server):
    """Rack, network and hands, per GPU and hour owned (USD per GPU-hour)."""
    return hosting_usd_per_month / (HOURS_PER_MONTH * gpus_per_server)


@law
def owned_usd_per_hour(capital_usd_per_hour, hosting_usd_per_hour, power_usd_per_hour, utilization):
    """Owned cost of one GPU-hour that is used (USD): capital and hosting run on when it idles, power does not."""
    return (capital_usd_per_hour + hosting_usd_per_hour) / utilization + power_usd_per_hour


@law
def rented_usd_per_hour(usd_per_hour, utilization=1, committed=0):
    """Rented cost of one GPU-hour that is used (USD): a commitment is paid whether used or not."""
    return usd_per_hour / where(committed > 0, utilization, 1)


@law
def break_even_utilization(capital_usd_per_hour, hosting_usd_per_hour, power_usd_per_hour, usd_per_hour):
    """Utilization at which owning costs what renting by the hour does (fraction); infinite if power alone costs the rent.

    Above 1 means that owning never pays at that price.
    """
    return quotient(capital_usd_per_hour + hosting_usd_per_hour, usd_per_hour - power_usd_per_hour)


@law
def break_even_months(server_usd, gpus_per_server, usd_per_hour, power_usd_per_hour, hosting_usd_per_hour, utilization):
    """Months until the rent saved has paid for the server (months); infinite if nothing is saved."""
    saved_per_hour = (usd_per_hour - power_usd_per_hour) * utilization - hosting_usd_per_hour
    return quotient(server_usd / gpus_per_server, saved_per_hour * HOURS_PER_MONTH)


@law
def training_flops(active_params, training_tokens, epochs=1):
    """FLOP of a training run (count): 2 forward and 4 backward per parameter and token. Kaplan et al. 2020 (arXiv 2001.08361)."""
    return 6 * active_params * training_tokens * epochs


@law
def gpu_hours(training_flops, peak_flops, mfu):
    """GPU-hours of a training run (h) at a share `mfu` of the dense peak. MFU: Chowdhery et al. 2022 (arXiv 2204.02311, 4.1)."""
    return training_flops / (peak_flops * mfu) / SECONDS_PER_HOUR


@law
def training_days(gpu_hours, gpus):
    """Days a run takes on a number of GPUs."""
    return gpu_hours / gpus / HOURS_PER_DAY


@law
def usd_per_million_tokens(usd_per_hour, gpus, tokens_per_second, utilization=1):
    """Cost of a million output tokens (USD): all GPUs are paid, only the busy share produces."""
    return 10**6 * usd_per_hour * gpus / (tokens_per_second * SECONDS_PER_HOUR * utilization)


@law
def compute_usd(gpu_hours, usd_per_hour):
    """Rented compute of a run, the first row of its total (USD)."""
    return gpu_hours * usd_per_hour


@law
def storage_usd(stored_bytes, usd_per_gb_month, months):
    """Storage row of the total (USD)."""
    return stored_bytes / BYTES_PER_GB * usd_per_gb_month * months


@law
def egress_tier_usd(egress_bytes, from_bytes, to_bytes, usd_per_gb):
    """What one tier charges for a month's egress (USD): the part of the bytes between its edges."""
    return maximum(minimum(egress_bytes, to_bytes) - from_bytes, 0) / BYTES_PER_GB * usd_per_gb


@law
def managed_usd(compute_usd, premium):
    """Managed-service premium (USD): a mark-up on the compute bought from the same cloud."""
    return compute_usd * premium


@law
def total_usd(compute_usd, storage_usd, egress_usd, managed_usd):
    """The four rows together (USD)."""
    return compute_usd + storage_usd + egress_usd + managed_usd
