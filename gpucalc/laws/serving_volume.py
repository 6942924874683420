"""What a month of requests costs on GPUs that are paid only while they are up, and on owned servers."""
from ..core.arithmetic import HOURS_PER_MONTH, exp, floor, maximum, quotient
from ..core.law import law
from .serving_cost import requests_per_second


# Starting

@law
def cold_start_seconds(weight_bytes, boot_seconds=..., load_bandwidth=...):
    """Time from nothing running to the first request being taken (s): container and engine, then the weights.

    ServerlessLLM (Fu et al. 2024, OSDI, arXiv 2401.14351, section 2) splits it so.
    """
    return boot_seconds + weight_bytes / load_bandwidth


@law
def server_start_seconds(cold_start_seconds, server_boot_seconds=...):
    """The same on a machine that has to be rented first (s)."""
    return server_boot_seconds + cold_start_seconds


# Scale to zero: the first request after a pause starts a replica, and `idle_timeout` after the last it is given back

@law
def awake_share(requests_per_month, request_seconds, cold_start_seconds, idle_timeout=...):
    """Share of the month in which a replica is up and paid, its cold starts counted (ratio).

    Each request keeps it up for its own time and the timeout, and overlaps count once: the busy period of M/G/infinity has the
    mean (exp(rate T) - 1) / rate. Takacs 1962, Introduction to the Theory of Queues, chapter 3.
    """
    rate = requests_per_second.formula(requests_per_month)
    alone = exp(-rate * (request_seconds + idle_timeout))
    return 1 - alone / (1 + rate * cold_start_seconds * alone)


@law
def cold_request_share(requests_per_month, request_seconds, cold_start_seconds, idle_timeout=...):
    """Share of requests that wait for a cold start (ratio): the first after a pause and those that come while it starts."""
    rate = requests_per_second.formula(requests_per_month)
    alone = exp(-rate * (request_seconds + idle_timeout))
    starting = rate * cold_start_seconds
    return (1 + starting) * alone / (1 + starting * alone)


@law
def awake_replicas(awake_share, requests_per_month, request_seconds, batch, most_load=..., spare_replicas=...):
    """Replicas that are paid in the mean (count): at least one while any is up, as many as the load fills, and the spare ones.

    Replicas come and go with the load, as evenly as it does: the least that any scaling by the load can pay.
    """
    filled = requests_per_second.formula(requests_per_month) * request_seconds / (batch * most_load)
    return maximum(awake_share, filled) + awake_share * spare_replicas


@law
def awake_gpus(awake_replicas, awake_share, tensor_parallel, gpus_per_server):
    """GPUs that are paid in the mean (count): at least one server while any is up; infinite if no replica fits in a server."""
    return gpus_per_server * maximum(awake_share, quotient(awake_replicas, floor(gpus_per_server / tensor_parallel)))


@law
def awake_usd_per_month(usd_per_hour, awake_gpus):
    """GPUs paid while they are up (USD/month)."""
    return usd_per_hour * awake_gpus * HOURS_PER_MONTH


# Owned

@law
def owned_serving_usd_per_month(rented_gpus, fixed_usd_per_hour, work_usd_per_hour, paid_utilization, availability=1):
    """Servers of one's own, all month (USD/month): each hour that is offered, and the power of those that work."""
    return rented_gpus * HOURS_PER_MONTH * availability * (fixed_usd_per_hour + work_usd_per_hour * paid_utilization)
