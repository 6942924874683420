"""Electricity of a training run and of tokens, and the carbon dioxide that it stands for."""
from ..core.arithmetic import SECONDS_PER_HOUR, WATTS_PER_KILOWATT
from ..core.law import law
from .serving_cost import MILLION


@law
def run_kwh(gpu_hours, watts_per_gpu, pue=1):
    """Electricity of a training run (kWh): GPU-hours at the power of a GPU's share of its server (W), with the site's overhead.

    Patterson et al. 2021 (arXiv 2104.10350, section 2).
    """
    return gpu_hours * watts_per_gpu / WATTS_PER_KILOWATT * pue


@law
def run_carbon(run_kwh, carbon_intensity):
    """Carbon dioxide equivalent of a run's electricity (kg), at so many kg a kWh; making the machines is not counted.

    Luccioni et al. 2022 (arXiv 2211.02001).
    """
    return run_kwh * carbon_intensity


@law
def kwh_per_million_tokens(watts_per_gpu, replica_gpus, tokens_per_second, pue=1, replica_utilization=1, idle_power_share=0):
    """Electricity of a million tokens (kWh) from so many GPUs at a rate of tokens, with the site's overhead.

    What the replica draws while it waits is carried by the tokens of the busy share of its time.
    """
    waiting = idle_power_share * (1 - replica_utilization) / replica_utilization
    busy = MILLION * watts_per_gpu / WATTS_PER_KILOWATT * replica_gpus * pue / (tokens_per_second * SECONDS_PER_HOUR)
    return busy * (1 + waiting)


@law
def carbon_per_million_tokens(kwh_per_million_tokens, carbon_intensity):
    """Carbon dioxide equivalent of the electricity of a million tokens (kg)."""
    return kwh_per_million_tokens * carbon_intensity
