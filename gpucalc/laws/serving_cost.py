"""What a token costs: served on GPUs that are paid by the hour, and bought from an API."""
from ..core.arithmetic import HOURS_PER_MONTH, SECONDS_PER_HOUR, ceil, floor, maximum, quotient
from ..core.law import law

MILLION = 10**6


# On one's own GPUs

@law
def replica_seconds(prompt_turn_seconds, replica_pass_seconds, batch, output):
    """Time of a full replica that one request takes (s): its prompt alone, and its part of each pass of the batch."""
    return prompt_turn_seconds + output * replica_pass_seconds / batch


@law
def input_usd_per_million(usd_per_hour, prompt_turn_seconds, prompt, replica_gpus, replica_utilization=1):
    """Cost of a million prompt tokens on a replica (USD): its GPUs do nothing else while they read a prompt."""
    return MILLION * usd_per_hour * replica_gpus * prompt_turn_seconds / (SECONDS_PER_HOUR * prompt * replica_utilization)


@law
def output_usd_per_million(usd_per_hour, replica_pass_seconds, batch, replica_gpus, replica_utilization=1):
    """Cost of a million output tokens on a replica (USD): a pass gives one to each sequence of the batch."""
    return MILLION * usd_per_hour * replica_gpus * replica_pass_seconds / (SECONDS_PER_HOUR * batch * replica_utilization)


@law
def request_usd(prompt, output, input_usd_per_million, output_usd_per_million):
    """Cost of one request served by oneself (USD)."""
    return (prompt * input_usd_per_million + output * output_usd_per_million) / MILLION


@law
def usd_per_million_tokens(usd_per_hour, replica_gpus, tokens_per_second, replica_utilization=1):
    """Cost of a million tokens at a rate (USD): all GPUs are paid, only the busy share produces."""
    return MILLION * usd_per_hour * replica_gpus / (tokens_per_second * SECONDS_PER_HOUR * replica_utilization)


# From an API

@law
def blended_usd_per_million(api_input_usd_per_million, api_cached_usd_per_million, cached_share=0):
    """Price of a million prompt tokens from an API that sells the cached ones cheaper (USD)."""
    return api_input_usd_per_million * (1 - cached_share) + api_cached_usd_per_million * cached_share


@law
def api_request_usd(prompt, output, blended_usd_per_million, api_output_usd_per_million):
    """Price of one request to an API (USD)."""
    return (prompt * blended_usd_per_million + output * api_output_usd_per_million) / MILLION


@law
def api_batch_request_usd(prompt, output, api_batch_input_usd_per_million, api_batch_output_usd_per_million):
    """Price of one request to an API that answers within a day or so (USD)."""
    return (prompt * api_batch_input_usd_per_million + output * api_batch_output_usd_per_million) / MILLION


# A month of it

@law
def requests_per_second(requests_per_month, peak_factor=1):
    """Requests a second in the busiest hour of a month (1/s): the mean times the peak over it."""
    return requests_per_month * peak_factor / (HOURS_PER_MONTH * SECONDS_PER_HOUR)


@law
def rented_gpus(all_replicas, replica_gpus, gpus_per_server):
    """GPUs paid for (count): whole servers, each with as many replicas as fit in it, or as many servers as a replica takes."""
    apiece = ceil(replica_gpus / gpus_per_server)
    return gpus_per_server * ceil(all_replicas * apiece / maximum(floor(gpus_per_server / replica_gpus), 1))


@law
def paid_utilization(requests_per_month, replica_seconds, rented_gpus, replica_gpus):
    """Share of the GPU-time paid that a month's requests take of full replicas (ratio)."""
    return requests_per_month * replica_seconds * replica_gpus / (rented_gpus * HOURS_PER_MONTH * SECONDS_PER_HOUR)


@law
def serving_usd_per_month(usd_per_hour, rented_gpus):
    """GPUs paid all month, busy or not (USD/month)."""
    return usd_per_hour * rented_gpus * HOURS_PER_MONTH


@law
def paid_request_usd(serving_usd_per_month, requests_per_month):
    """Cost of one request if GPUs are paid all month (USD)."""
    return serving_usd_per_month / requests_per_month


@law
def carried_requests_per_month(replicas, batch, spare_places, request_seconds, peak_factor=1):
    """Requests a month that replicas answer in time even if every request had to wait (1/month): the slots not spare."""
    busy = maximum(replicas * batch - spare_places, 0)
    return HOURS_PER_MONTH * SECONDS_PER_HOUR * busy / (request_seconds * peak_factor)


@law
def break_even_requests_per_month(serving_usd_per_month, api_request_usd):
    """Requests a month from which GPUs paid all month cost less than the API (1/month), if they can carry them."""
    return quotient(serving_usd_per_month, api_request_usd)


@law
def api_break_even_utilization(usd_per_hour, replica_seconds, api_request_usd, replica_gpus):
    """Share of a full replica's requests from which its GPUs cost less than the API (ratio); above 1 they never do."""
    return quotient(usd_per_hour * replica_gpus * replica_seconds / SECONDS_PER_HOUR, api_request_usd)
