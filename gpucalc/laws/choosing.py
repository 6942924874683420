"""What a choice among GPUs, layouts and offers asks beside the topics: what follows from a layout, and limits joined to loads."""
from ..core.arithmetic import SECONDS_PER_HOUR, ceil, exp, floor, log, maximum, minimum, quotient, sqrt, where
from ..core.law import law
from .sharding import SPARE_PLACES

# Places of a fleet beside which one sequence runs, where nobody meets others: what these add is then 1/30,000 of it or less.
ALONE = 1e9


def _splits(size, degree):
    """1 where the degree does not divide the size, else 0."""
    return where(floor(size / degree) * degree < size, 1, 0)


def _differs(product, size):
    """1 where the product is not the size, else 0, also of symbols, which are equal to themselves alone."""
    return where(product < size, 1, 0) + where(product > size, 1, 0)


@law
def split_misfits(heads, kv_heads, intermediate, tensor_parallel=1, window_kv_heads=0, linear_value_heads=0):
    """Rules of tensor parallel that are broken (count): it divides heads and MLP, and divides or copies key and value heads."""
    keys = _splits(kv_heads, tensor_parallel) * _splits(tensor_parallel, kv_heads)
    windows = _splits(window_kv_heads, tensor_parallel) * _splits(tensor_parallel, maximum(window_kv_heads, 1))
    heads_split = _splits(heads, tensor_parallel) + _splits(linear_value_heads, tensor_parallel)
    return heads_split + _splits(intermediate, tensor_parallel) + keys + windows


@law
def spread_misfits(layers, batch, replica_gpus, experts=0, tensor_parallel=1, attention_parallel=1, pipeline_parallel=1,
                   most_replica_gpus=...):
    """Rules of attention groups and stages that are broken (count): experts are there and divided, groups have as many sequences
    each, a stage has a layer, and a replica is no larger than what is run.
    """
    experts_split = where(experts > 0, _splits(experts, tensor_parallel * attention_parallel), 1)
    groups = where(attention_parallel > 1, experts_split, 0) + _splits(batch, attention_parallel)
    return groups + where(pipeline_parallel > layers, 1, 0) + where(replica_gpus > most_replica_gpus, 1, 0)


@law
def link_misfits(replica_gpus, unlinked=0):
    """Whether a replica of several GPUs rests on a link whose latency is not known (0 or 1)."""
    return where(replica_gpus > 1, unlinked, 0)


@law
def server_misfits(replica_gpus, gpus_per_server, reach, gpus_per_node=...):
    """Whether a replica is larger than a server that nothing joins to others (1 or 0).

    Whole servers have a network; the parts of a rack share its switch.
    """
    rack = where(reach > gpus_per_node, where(gpus_per_server > 1, 0, 1), 1)
    return where(replica_gpus > gpus_per_server, where(gpus_per_server < gpus_per_node, rack, 0), 0)


# Serving

@law
def final_context(prompt, output, output_variation):
    """Tokens in the context of a sequence at the end of its answer (count): what memory must hold. A long one stays longer."""
    return prompt + output * (1 + output_variation)


@law
def first_token_alone(prompt_seconds, prompt_host_seconds, replica_pass_seconds, prompt_chunk=..., prompts_apart=0):
    """Time to the first token of a request that waits for no other (s): the pass that runs when it comes, and its prompt, with
    the pass in which it rides.
    """
    passes = (1 - prompts_apart) * where(prompt_chunk > 0, 2, 1)
    return prompt_seconds + prompt_host_seconds + passes * replica_pass_seconds


@law
def least_replicas(requests_per_second, request_seconds, batch):
    """Fewest replicas whose queue does not grow without end (count). Little 1961 (doi 10.1287/opre.9.3.383)."""
    return floor(requests_per_second * request_seconds / batch) + 1


@law
def most_replicas(request_seconds, first_token_alone, speculative_seconds, least_replicas, answer_limit, first_token_limit,
                  token_limit):
    """Replicas of which more change no time (count). Infinite if a full batch is late even without a wait: a burst fills it.

    What others add to a request has a mean and a variance in proportion to the sequences that run beside it (`token_spread`,
    `first_token_spread`), which are as many fewer as there are more replicas (Little): those of a place fall to one in `ALONE`.
    """
    room = minimum(answer_limit / request_seconds, first_token_limit / first_token_alone)
    least_room = minimum(room, token_limit / speculative_seconds)
    return quotient(least_replicas * ALONE, where(least_room > 1, 1, 0))


@law
def all_replicas(planned_replicas, prefill_replicas, prompts_apart=0, spare_replicas=...):
    """Replicas to pay for (count): those that answer, and those that read prompts alone with as many to spare."""
    return planned_replicas + where(prompts_apart > 0, prefill_replicas + spare_replicas, 0)


@law
def planned_gpus(all_replicas, replica_gpus):
    """GPUs of the replicas to pay for (count)."""
    return all_replicas * replica_gpus


@law
def held_serving_bytes(gpu_weight_bytes, gpu_kv_bytes, attention_parallel=1):
    """Weights and cache of all sequences on one GPU of a replica (bytes). Pope et al. 2022 (arXiv 2211.05102, section 3.3)."""
    return gpu_weight_bytes + gpu_kv_bytes / attention_parallel


@law
def window_replicas(window_requests, replica_seconds, window_hours):
    """Replicas that answer the requests within the hours (count), all their slots filled."""
    return ceil(window_requests * replica_seconds / (window_hours * SECONDS_PER_HOUR))


@law
def busy_hours(window_requests, replica_seconds, window_replicas):
    """Hours that the work of a window takes all its replicas (h): the window or less, since they are whole."""
    return window_requests * replica_seconds / (window_replicas * SECONDS_PER_HOUR)


@law
def window_usd(usd_per_hour, rented_gpus, window_hours):
    """Rent of one window (USD): all GPUs for all of its hours."""
    return usd_per_hour * rented_gpus * window_hours


# A layout

@law
def left_data_parallel(gpus, tensor_parallel=1, pipeline_parallel=1, context_parallel=1):
    """Data-parallel degree that the others leave of so many GPUs (count). Megatron-LM (arXiv 2104.04473, section 3.1)."""
    return maximum(floor(gpus / (tensor_parallel * pipeline_parallel * context_parallel)), 1)


@law
def left_micro_batches(global_batch, micro_batch, data_parallel=1):
    """Micro-batches that a replica takes one after the other in a step (count). Megatron-LM (arXiv 2104.04473, section 2)."""
    return maximum(floor(global_batch / (data_parallel * micro_batch)), 1)


@law
def usual_sequence_parallel(tensor_parallel=1):
    """Sequence parallel wherever there is tensor parallel: it saves memory. Korthikanti et al. 2022, section 4.2.2."""
    return where(tensor_parallel > 1, 1, 0)


@law
def layout_misfits(gpus, global_batch, sequence, heads, kv_heads, intermediate, layers, gpus_per_node, micro_batch, micro_batches,
                   data_parallel=1, tensor_parallel=1, pipeline_parallel=1, virtual_stages=1, context_parallel=1,
                   expert_parallel=1, experts=0, window_kv_heads=0, linear_value_heads=0):
    """Rules of a layout that are broken (count): what does not divide, and what means nothing. 0 for one that runs.

    Those of `sharding.layout_rules` and of the search over layouts, for the axes that a choice has.
    """
    replicas = data_parallel * context_parallel
    whole = _differs(tensor_parallel * pipeline_parallel * replicas, gpus)
    matrices = split_misfits.formula(heads, kv_heads, intermediate, tensor_parallel, window_kv_heads, linear_value_heads)
    chunks = pipeline_parallel * virtual_stages
    stages = where(chunks > layers + 2, 1, 0) + _splits(sequence, context_parallel)
    turns = where(virtual_stages > 1, 1, 0) * (
        where(pipeline_parallel > 1, 0, 1) + _splits(micro_batches, pipeline_parallel)
        + where(chunks * ceil(layers / chunks) - layers > SPARE_PLACES, 1, 0))
    spread = where(expert_parallel > 1, 1, 0) * (
        where(experts > 0, _splits(experts, expert_parallel), 1) + _splits(tensor_parallel * replicas, expert_parallel))
    across = where(gpus > gpus_per_node, 1, 0) * _splits(gpus_per_node, tensor_parallel) * _splits(tensor_parallel, gpus_per_node)
    steps = _differs(data_parallel * micro_batch * micro_batches, global_batch)
    return whole + matrices + stages + turns + spread + across + steps


# A run

@law
def run_gpu_hours(layout_gpu_hours, planned_gpu_hours, adapters, epochs=1):
    """GPU-hours of a run (h): the work by its layout, and not fewer than published runs of its size took, stops included.

    Frozen weights need no gradient: with adapters 4 of the 6 FLOP a parameter and token (LoRA, arXiv 2106.09685, section 4).
    """
    return maximum(layout_gpu_hours * epochs, planned_gpu_hours * (1 - adapters / 3))


@law
def offer_interruption_seconds(job_failure_seconds, group_interruption_seconds, spot=0):
    """Mean time until a failure stops a job, or on spot the provider does (s): the rates of independent causes add up."""
    return 1 / (1 / job_failure_seconds + spot / group_interruption_seconds)


@law
def joined_gpu_hours(layout_gpu_hours, interruption_slowdown, likely_gpu_hours, likely_slowdown, epochs=1):
    """GPU-hours by a layout with what stops cost (h), at an end of both errors, which know nothing of each other.

    Both are ratios to the likely value, so their logarithms are added in squares.
    """
    hours, slow = layout_gpu_hours / likely_gpu_hours, interruption_slowdown / likely_slowdown
    far = sqrt(log(hours) ** 2 + log(slow) ** 2)
    return likely_gpu_hours * epochs * likely_slowdown * exp(where(hours * slow >= 1, far, -far))


@law
def stopped_gpu_hours(joined_gpu_hours, run_gpu_hours, likely_slowdown, gpus, restart_seconds, spot=0):
    """GPU-hours that a run pays for (h): its work and its stops, and all GPUs while the job starts.

    Hours that published runs took have the stops of machines in them that nobody takes back: none is added to those but on spot.
    """
    published = run_gpu_hours * where(spot > 0, likely_slowdown, 1)
    return maximum(joined_gpu_hours, published) + gpus * restart_seconds / SECONDS_PER_HOUR


@law
def committed_gpu_hours(reserved_gpu_hours, gpus, least_rented_hours, reserved=0):
    """GPU-hours that are paid used or not (h): those of a reservation, else the least time of a rent."""
    return reserved_gpu_hours * reserved + gpus * least_rented_hours * (1 - reserved)


@law
def machine_setup_gpu_hours(gpus_per_server, setup_hours):
    """GPU-hours paid while one machine is set up (h): its image is then copied to the others."""
    return gpus_per_server * setup_hours


# How large a model may be

@law
def largest_params(params, usable_bytes, gpu_weight_bytes, kv_bytes):
    """Parameters of the largest model of the same build that a GPU holds beside the cache (count): weights grow with them."""
    return maximum(params * (usable_bytes - kv_bytes) / gpu_weight_bytes, 0)


@law
def largest_trained_params(params, memory_bytes, training_bytes):
    """Parameters of the largest model that is trained in the memory of a GPU (count): all of its bytes grow with them."""
    return params * memory_bytes / training_bytes
