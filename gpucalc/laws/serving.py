"""What a server gives its users: time to first token, time per output token, throughput, and the replicas a load needs."""
from .arithmetic_intensity import prefill_flops, prefill_pairs
from .interconnect import all_reduce_seconds
from ..core.arithmetic import SECONDS_PER_HOUR, ceil, log, maximum, minimum, quotient, sqrt
from ..core.law import law


@law
def exchange_seconds(batch, hidden, layers, link_bandwidth, latency=0, chunk=0, tensor_parallel=1, link_efficiency=1,
                     base_latency=0, activation_element_bytes=...):
    """All-reduces of one pass over the tensor-parallel group (s): two a layer. Pope et al. 2022 (arXiv 2211.05102)."""
    message = (batch + chunk) * hidden * activation_element_bytes
    return 2 * layers * all_reduce_seconds.formula(message, tensor_parallel, link_bandwidth, latency, link_efficiency,
                                                   base_latency)


# The prompt

@law
def prefilled_tokens(prompt, cached_share=0):
    """Prompt tokens that no prefix cache holds (count), at least the last. PagedAttention (arXiv 2309.06180, section 4.4)."""
    return maximum(prompt * (1 - cached_share), 1)


@law
def prompt_flops(active_params, lookup_params, head_params, prompt, prefilled_tokens, layers, prefill_pair_flops,
                 window_layers=0, window=0, causal=...):
    """FLOP of one request's prompt (count): those of all its tokens less those of the cached ones, and the output head once."""
    def whole(tokens):
        pairs = prefill_pairs.formula(tokens, layers, window_layers, window, causal)
        return prefill_flops.formula(active_params, lookup_params, head_params, 1, tokens, pairs, prefill_pair_flops)
    return whole(prompt) - whole(prompt - prefilled_tokens) + 2 * head_params


@law
def prompt_exchange_seconds(prefilled_tokens, hidden, layers, link_bandwidth, latency=0, tensor_parallel=1, link_efficiency=1,
                            base_latency=0, activation_element_bytes=...):
    """All-reduces of one prompt over the tensor-parallel group (s): two a layer. Pope et al. 2022 (arXiv 2211.05102)."""
    return exchange_seconds.formula(prefilled_tokens, hidden, layers, link_bandwidth, latency, 0, tensor_parallel,
                                    link_efficiency, base_latency, activation_element_bytes)


@law
def replica_prefill_seconds(prompt_flops, weight_bytes, prompt_exchange_seconds, launch_seconds, peak_flops, bandwidth,
                            tensor_parallel=1, compute_efficiency=1, bandwidth_efficiency=1):
    """Time of one request's prompt in a pass of its own (s): time to first token if nothing else waits."""
    compute = prompt_flops / (tensor_parallel * peak_flops * compute_efficiency)
    memory = weight_bytes / (tensor_parallel * bandwidth * bandwidth_efficiency)
    return maximum(compute, memory) + prompt_exchange_seconds + launch_seconds


# One pass: a new token for each sequence of the batch, and `chunk` tokens of prompts beside them

@law
def mean_context(prompt, output):
    """Tokens in the context of a sequence, mean over its answer (count): what its passes read. At its end memory holds more.

    A case of whole answers has context=mean_context where passes are timed, and prompt + output where memory is counted.
    """
    return prompt + output / 2


@law
def pass_flops(decode_flops, prompt_flops, prefilled_tokens, chunk=0):
    """FLOP of a pass (count): each token of the chunk costs the mean of its prompt. Sarathi (arXiv 2308.16369, section 4)."""
    return decode_flops + prompt_flops * chunk / prefilled_tokens


@law
def gpu_decode_bytes(decode_bytes, kv_bytes, cache_share, tensor_parallel=1):
    """Bytes one GPU reads in a pass: an even part of the weights, and the cache of the heads it keeps."""
    return (decode_bytes - kv_bytes) / tensor_parallel + kv_bytes * cache_share


@law
def replica_pass_seconds(pass_flops, gpu_decode_bytes, exchange_seconds, launch_seconds, peak_flops, bandwidth, tensor_parallel=1,
                         compute_efficiency=1, bandwidth_efficiency=1):
    """One pass of a replica (s): the longer of compute and memory on each GPU, then what waits for the others."""
    compute = pass_flops / (tensor_parallel * peak_flops * compute_efficiency)
    memory = gpu_decode_bytes / (bandwidth * bandwidth_efficiency)
    return maximum(compute, memory) + exchange_seconds + launch_seconds


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
def chunked_prefill_seconds(prefilled_tokens, chunk, replica_pass_seconds):
    """Time of a prompt that is read in chunks beside the batch (s). Sarathi-Serve (arXiv 2403.02310, section 4)."""
    return ceil(prefilled_tokens / chunk) * replica_pass_seconds


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
def time_to_first_token(waiting_seconds, replica_prefill_seconds):
    """Time to the first token that all but `late_share` of requests stay below (s)."""
    return waiting_seconds + replica_prefill_seconds


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


# Requests that can wait

@law
def window_batch(requests_per_second, batching_window):
    """Requests in a batch that waits a fixed time after its first (count, mean)."""
    return 1 + requests_per_second * batching_window


@law
def offline_replicas(window_tokens, output_tokens_per_second, window_hours):
    """Replicas that generate the tokens within the hours (count)."""
    return ceil(window_tokens / (output_tokens_per_second * window_hours * SECONDS_PER_HOUR))
