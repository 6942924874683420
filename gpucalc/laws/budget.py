"""What a sum of money buys: requests, a model to train from nothing, tokens to tune one on, servers."""
from ..core.arithmetic import HOURS_PER_MONTH, SECONDS_PER_HOUR, floor, quotient, sqrt, where
from ..core.law import law
from .training_products import repeated


# To serve

@law
def affordable_requests_per_month(usd_per_month, api_request_usd):
    """Requests a month that a budget buys from an API (1/month)."""
    return quotient(usd_per_month, api_request_usd)


@law
def affordable_replicas(usd_per_month, usd_per_hour, gpus_per_server, tensor_parallel):
    """Replicas in the servers that a budget rents all month (count): whole servers, each with as many as fit in it."""
    servers = floor(usd_per_month / (usd_per_hour * gpus_per_server * HOURS_PER_MONTH))
    return servers * floor(gpus_per_server / tensor_parallel)


@law
def server_turn_usd_per_month(serving_usd_per_month, carried_requests_per_month, api_request_usd):
    """Budget from which the first server carries more than an API (USD/month): its price; infinite if it carries less."""
    return quotient(serving_usd_per_month, where(carried_requests_per_month * api_request_usd >= serving_usd_per_month, 1, 0))


# To train from nothing

@law
def balanced_params(params, affordable_tokens, tokens_per_param=...):
    """Parameters of the model that gets so many tokens for each of them from a budget (count).

    The budget buys `affordable_tokens` for a model of `params`: FLOP are their product (6ND), and the balanced model is its
    square root. Rule of 20 tokens: Chinchilla (arXiv 2203.15556).
    """
    return sqrt(params * affordable_tokens / tokens_per_param)


# To tune

@law
def dequantization_seconds(gpu_layer_params, gpu_expert_params, adapters, bandwidth, frozen_element_bytes=0, recompute=0,
                           recomputed_share=1, activation_element_bytes=..., bandwidth_efficiency=1):
    """Time in which frozen weights are expanded for a micro-batch (s): read as stored, written as the products take them.

    QLoRA (arXiv 2305.14314, equation 5): in the forward pass, in the backward pass, and where recompute runs a layer again.
    """
    narrow = adapters * where(frozen_element_bytes < activation_element_bytes, 1, 0)
    moved = (gpu_layer_params + gpu_expert_params) * (frozen_element_bytes + activation_element_bytes)
    return narrow * (2 + repeated(recompute, recomputed_share)) * moved / (bandwidth * bandwidth_efficiency)


@law
def tuning_step_seconds(step_seconds, micro_batches, dequantization_seconds):
    """Time of a training step with its frozen weights expanded once in each pass (s)."""
    return step_seconds + micro_batches * dequantization_seconds


@law
def tuning_gpu_hours(budget_usd, usd_per_hour, minimum_gpu_hours=0):
    """GPU-hours that a budget buys (h): none where it does not reach the least that is billed."""
    bought = budget_usd / usd_per_hour
    return where(bought >= minimum_gpu_hours, bought, 0 * bought)


@law
def tuned_tokens(tuning_gpu_hours, tuning_step_seconds, step_tokens):
    """Tokens that so many hours of one GPU tune on (count)."""
    return tuning_gpu_hours * SECONDS_PER_HOUR / tuning_step_seconds * step_tokens


# To own

@law
def affordable_servers(usd_per_month, budget_months, server_usd):
    """Servers that so many months of a budget buy (count), without what runs them."""
    return floor(usd_per_month * budget_months / server_usd)
