"""What a server gives its users: time to first token, time per output token, throughput, and the replicas a load needs."""
from .arithmetic_intensity import prefill_pairs
from .collectives import engine_all_reduce_seconds
from .topology import group_bandwidth
from ..core.arithmetic import SECONDS_PER_HOUR, ceil, log, maximum, minimum, quotient, sqrt
from ..core.law import law


@law
def replica_bandwidth(tensor_parallel, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth):
    """Link bandwidth of each GPU in its tensor-parallel group (bytes/s), per direction: `group_bandwidth` of its size."""
    return group_bandwidth.formula(tensor_parallel, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth)


@law
def exchange_seconds(batch, hidden, layers, replica_bandwidth, latency=0, chunk=0, tensor_parallel=1, link_efficiency=1,
                     base_latency=0, quick_latency=0, quick_base_latency=0, quick_bandwidth=0, switch_latency=0, switch_share=0,
                     kernel_seconds=0, peer_reads=0, activation_element_bytes=...):
    """All-reduces of one pass over the tensor-parallel group (s): two a layer. Pope et al. 2022 (arXiv 2211.05102)."""
    message = (batch + chunk) * hidden * activation_element_bytes
    return 2 * layers * engine_all_reduce_seconds.formula(
        message, tensor_parallel, replica_bandwidth, latency, link_efficiency, base_latency, quick_latency, quick_base_latency,
        quick_bandwidth, switch_latency, switch_share, kernel_seconds, peer_reads)


# The prompt

@law
def prefilled_tokens(prompt, cached_share=0):
    """Prompt tokens that no prefix cache holds (count), at least the last. PagedAttention (arXiv 2309.06180, section 4.4)."""
    return maximum(prompt * (1 - cached_share), 1)


@law
def prompt_product_flops(active_params, lookup_params, head_params, prefilled_tokens):
    """FLOP of the products of one request's prompt (count): 2 per parameter and token, the output head for the last alone."""
    return 2 * (active_params - lookup_params - head_params) * prefilled_tokens + 2 * head_params


@law
def prompt_attention_flops(prompt, prefilled_tokens, layers, prefill_pair_flops, window_layers=0, window=0, causal=...):
    """FLOP of attention in one request's prompt (count): the pairs of all its tokens less those among cached ones."""
    whole = prefill_pairs.formula(prompt, layers, window_layers, window, causal)
    cached = prefill_pairs.formula(prompt - prefilled_tokens, layers, window_layers, window, causal)
    return (whole - cached) * prefill_pair_flops


@law
def prompt_exchange_seconds(prefilled_tokens, hidden, layers, replica_bandwidth, latency=0, tensor_parallel=1, link_efficiency=1,
                            base_latency=0, quick_latency=0, quick_base_latency=0, quick_bandwidth=0, switch_latency=0,
                            switch_share=0, kernel_seconds=0, peer_reads=0, activation_element_bytes=...):
    """All-reduces of one prompt over the tensor-parallel group (s): two a layer. Pope et al. 2022 (arXiv 2211.05102)."""
    return exchange_seconds.formula(
        prefilled_tokens, hidden, layers, replica_bandwidth, latency, 0, tensor_parallel, link_efficiency, base_latency,
        quick_latency, quick_base_latency, quick_bandwidth, switch_latency, switch_share, kernel_seconds, peer_reads,
        activation_element_bytes)


@law
def replica_prefill_seconds(prefilled_tokens, prompt_product_flops, prompt_attention_flops, weight_bytes, token_bytes,
                            prompt_exchange_seconds, launch_seconds, product_rate, attention_rate, memory_rate, prompt_fill,
                            tensor_parallel=1, host_seconds=0):
    """Time of one request's prompt in a pass of its own (s): time to first token if nothing else waits."""
    products = maximum(prompt_product_flops / (product_rate * prompt_fill), weight_bytes / memory_rate)
    work = (products + prompt_attention_flops / attention_rate) / tensor_parallel
    return work + prefilled_tokens * token_bytes / memory_rate + prompt_exchange_seconds + launch_seconds + host_seconds


# One pass: a new token for each sequence of the batch, and `chunk` tokens of prompts beside them

@law
def mean_context(prompt, output):
    """Tokens in the context of a sequence, mean over its answer (count): what its passes read. At its end memory holds more.

    A case of whole answers has context=mean_context where passes are timed, and prompt + output where memory is counted.
    """
    return prompt + output / 2


@law
def pass_product_flops(batch, token_flops, prompt_product_flops, prefilled_tokens, chunk=0):
    """FLOP of a pass's products (count): each token of the chunk costs the mean of its prompt. Sarathi (arXiv 2308.16369)."""
    return batch * token_flops + prompt_product_flops * chunk / prefilled_tokens


@law
def pass_attention_seconds(batch, decode_pairs, decode_pair_flops, kv_bytes, cache_share, prompt_attention_flops,
                           prefilled_tokens, attention_rate, memory_rate, tensor_parallel=1, chunk=0):
    """Attention of a pass on one GPU (s): the cache of the heads it keeps or their compute, and then the chunk's part of its
    prompt. Sarathi (arXiv 2308.16369, section 4).
    """
    rate = tensor_parallel * attention_rate
    decode = maximum(batch * decode_pairs * decode_pair_flops / rate, kv_bytes * cache_share / memory_rate)
    return decode + prompt_attention_flops * chunk / prefilled_tokens / rate


@law
def replica_pass_seconds(batch, pass_product_flops, read_bytes, pass_attention_seconds, token_bytes, exchange_seconds,
                         launch_seconds, product_rate, memory_rate, pass_fill, tensor_parallel=1, chunk=0, host_seconds=0):
    """One pass of a replica (s): products, attention, what other kernels move, the wait for others and for each kernel."""
    products = maximum(pass_product_flops / (product_rate * pass_fill), read_bytes / memory_rate) / tensor_parallel
    moved = (batch + chunk) * token_bytes / memory_rate
    return products + pass_attention_seconds + moved + exchange_seconds + launch_seconds + host_seconds


@law
def steady_chunk(batch, prefilled_tokens, output):
    """Prompt tokens a pass must take in to keep all places filled (count): a sequence leaves after `output` passes."""
    return batch * prefilled_tokens / output


# One request

@law
def time_per_output_token(replica_pass_seconds, replica_prefill_seconds, batch, output):
    """Mean time between tokens of a sequence while the prompts of the others interrupt it (s). Orca (Yu et al. 2022, OSDI).

    Every place of the batch is filled once in `output` passes.
    """
    return replica_pass_seconds + (batch - 1) * replica_prefill_seconds / output


@law
def request_seconds(replica_prefill_seconds, time_per_output_token, output):
    """Time of one request that waits for no place (s)."""
    return replica_prefill_seconds + output * time_per_output_token


@law
def output_tokens_per_second(batch, output, request_seconds):
    """Output tokens a second of a replica whose places are all filled (token/s). Little 1961 (doi 10.1287/opre.9.3.383)."""
    return batch * output / request_seconds


@law
def static_tokens_per_second(batch, output, longest_output, replica_prefill_seconds, replica_pass_seconds):
    """Output tokens a second where a batch starts together and ends with its longest answer (token/s)."""
    return batch * output / (batch * replica_prefill_seconds + longest_output * replica_pass_seconds)


@law
def chunked_prefill_seconds(prefilled_tokens, prompt_chunk, replica_pass_seconds):
    """Time of a prompt that is read in chunks beside the batch (s), in passes with such a `chunk`.

    Sarathi-Serve (arXiv 2403.02310, section 4).
    """
    return ceil(prefilled_tokens / prompt_chunk) * replica_pass_seconds


@law
def accepted_tokens(acceptance, drafted):
    """Tokens a round of speculative decoding yields (count, mean). Leviathan et al. 2022 (arXiv 2211.17192, equation 1)."""
    return minimum(quotient(1 - acceptance ** (drafted + 1), 1 - acceptance), drafted + 1)


@law
def speculative_seconds(replica_pass_seconds, draft_seconds, drafted, accepted_tokens):
    """Time per output token (s): a round is `drafted` steps of the draft model and one pass that checks them.

    Leviathan et al. 2022 (arXiv 2211.17192, section 3.3).
    """
    return (drafted * draft_seconds + replica_pass_seconds) / accepted_tokens


# A load

@law
def offered_load(requests_per_second, request_seconds, replicas, batch):
    """Share of all places that the load fills (ratio); from 1 on the queue grows without end."""
    return requests_per_second * request_seconds / (replicas * batch)


@law
def waiting_share(offered_load, replicas, batch):
    """Share of requests that find every place filled (ratio), near Erlang's C. Sakasegawa 1977 (doi 10.1007/BF02532288)."""
    return minimum(offered_load, 1) ** (sqrt(2 * (replicas * batch + 1)) - 1)


@law
def waiting_seconds(waiting_share, offered_load, request_seconds, replicas, batch, late_share=...):
    """Wait for a place that all but `late_share` of requests stay below (s); infinite if the queue grows without end.

    M/M/c: the chance to wait longer than t is C exp(-(c / T - rate) t). Kleinrock 1975, Queueing Systems, section 3.5.
    """
    longer = log(maximum(waiting_share / late_share, 1))
    return quotient(longer * request_seconds, replicas * batch * (1 - offered_load))


@law
def prompt_wait_seconds(requests_per_second, replicas, replica_prefill_seconds, replica_pass_seconds, late_share=...):
    """Wait in a place that all but `late_share` of requests stay below (s): the pass that runs, then the prompts of others.

    M/D/1 with its tail in heavy traffic, which is on the safe side: the chance to wait longer than t is about
    rho exp(-2 (1 - rho) t / T). Kingman 1961 (doi 10.1017/S0305004100036094). Infinite if prompts alone fill a replica.
    """
    busy = requests_per_second * replica_prefill_seconds / replicas
    longer = log(maximum(busy / late_share, 1))
    return replica_pass_seconds + quotient(replica_prefill_seconds * longer, 2 * (1 - busy))


@law
def time_to_first_token(waiting_seconds, prompt_wait_seconds, replica_prefill_seconds):
    """Time to the first token that all but `late_share` of requests stay below (s): both waits at their worst, and the prompt."""
    return waiting_seconds + prompt_wait_seconds + replica_prefill_seconds


@law
def answer_seconds(waiting_seconds, request_seconds):
    """Time to the whole answer that all but `late_share` of requests stay below, all answers being of the same length (s)."""
    return waiting_seconds + request_seconds


@law
def spare_places(request_seconds, answer_limit, late_share=...):
    """Places beyond the load that make the wait short enough even if every request had to wait (count): M/M/c with C = 1.

    Infinite if a request that waits for nothing takes too long.
    """
    return quotient(request_seconds * log(1 / late_share), answer_limit - request_seconds)


@law
def replicas_required(requests_per_second, request_seconds, spare_places, batch):
    """Replicas with places for the load, and enough to spare for answers in time (count)."""
    return ceil((requests_per_second * request_seconds + spare_places) / batch)


@law
def planned_replicas(replicas_required, requests_per_second, request_seconds, batch, most_load=..., spare_replicas=...):
    """Replicas to pay for (count): those required, with the spare ones out of service; and with all in service a capped load."""
    return maximum(replicas_required + spare_replicas, ceil(requests_per_second * request_seconds / (batch * most_load)))


# Requests that can wait

@law
def window_batch(requests_per_second, batching_window):
    """Requests in a batch that waits a fixed time after its first (count, mean)."""
    return 1 + requests_per_second * batching_window


@law
def offline_replicas(window_tokens, output_tokens_per_second, window_hours):
    """Replicas that generate the tokens within the hours (count)."""
    return ceil(window_tokens / (output_tokens_per_second * window_hours * SECONDS_PER_HOUR))
