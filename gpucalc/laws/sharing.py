"""One GPU for several jobs, cut into slices or shared by turns, and what GPUs cost that nothing runs on."""
from ..core.arithmetic import HOURS_PER_MONTH, SECONDS_PER_HOUR, ceil, floor
from ..core.law import law


# Slices (MIG): each has multiprocessors, memory and bandwidth of its own

@law
def slice_usd_per_hour(usd_per_hour, instances):
    """Cost of a slice-hour if all slices of the GPU are used (USD/h)."""
    return usd_per_hour / instances


@law
def slice_flops(peak_flops, slice_units, units):
    """Peak of a slice (FLOP/s): that of its multiprocessors. NVIDIA MIG user guide, GPU instance profiles."""
    return peak_flops * slice_units / units


@law
def slice_bandwidth(bandwidth, slice_memory_share):
    """Memory bandwidth of a slice (bytes/s): that of its memory slices. NVIDIA MIG user guide, partitioning."""
    return bandwidth * slice_memory_share


@law
def unsliced_share(instances, slice_units, units):
    """Share of the multiprocessors that no slice has (fraction)."""
    return 1 - instances * slice_units / units


# Turns (time slicing): one job runs at a time, and the memory of all of them stays

@law
def sharing_jobs(usable_bytes, required_bytes):
    """Jobs whose memory fits on one GPU together (count): turns do not swap it out."""
    return floor(usable_bytes / required_bytes)


@law
def turn_tokens_per_second(tokens_per_second, jobs, switching_share=...):
    """Tokens a second of one of several busy jobs that take turns: an equal part of what switching leaves.

    NVIDIA device plugin for Kubernetes, time slicing.
    """
    return tokens_per_second * (1 - switching_share) / jobs


# A load on equal parts, be they slices or whole cards

@law
def paid_slices(requests_per_month, replica_seconds, replica_utilization=1):
    """Parts, each with a replica of its own, that a load fills to a share of their time (count)."""
    return ceil(requests_per_month * replica_seconds / (HOURS_PER_MONTH * SECONDS_PER_HOUR * replica_utilization))


@law
def sliced_usd_per_month(paid_slices, usd_per_hour, instances=1):
    """Whole GPUs paid all month for so many slices (USD/month): one slice costs what all of them do."""
    return ceil(paid_slices / instances) * usd_per_hour * HOURS_PER_MONTH


@law
def whole_turn_requests_per_month(whole_usd_per_hour, usd_per_hour, replica_seconds, replica_utilization=1):
    """Load above which small cards cost more than one whole GPU (1/month): what as many carry as its price pays for."""
    cards = floor(whole_usd_per_hour / usd_per_hour)
    return cards * HOURS_PER_MONTH * SECONDS_PER_HOUR * replica_utilization / replica_seconds


@law
def api_usd_per_month(requests_per_month, api_request_usd):
    """What a month of requests costs through an API (USD/month)."""
    return requests_per_month * api_request_usd


# Idle GPUs

@law
def wasted_usd_per_month(gpus, usd_per_hour, measured_utilization):
    """What GPUs cost in the share of a month in which they do nothing (USD/month)."""
    return gpus * usd_per_hour * HOURS_PER_MONTH * (1 - measured_utilization)


@law
def right_sized_gpus(gpus, measured_utilization, target_utilization):
    """GPUs that do the same work at the utilization aimed at (count)."""
    return ceil(gpus * (measured_utilization / target_utilization))


@law
def right_sizing_usd_per_month(gpus, right_sized_gpus, usd_per_hour):
    """What is saved by giving back the GPUs that the work does not need (USD/month)."""
    return (gpus - right_sized_gpus) * usd_per_hour * HOURS_PER_MONTH
