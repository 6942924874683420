"""What a server gives its users: the time of a prompt and of a pass, time per output token, throughput."""
from ..core.arithmetic import ceil, exp, floor, maximum, minimum, quotient, sqrt, where
from ..core.law import law
from .arithmetic_intensity import prefill_pairs, prompt_index_flops
from .collectives import engine_all_reduce_seconds
from .model_size import touched
from .quantization import BIT_BYTES
from .topology import group_bandwidth


@law
def replica_bandwidth(tensor_parallel, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth):
    """Link bandwidth of each GPU in its tensor-parallel group (bytes/s), per direction: `group_bandwidth` of its size."""
    return group_bandwidth.formula(tensor_parallel, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth)


@law
def exchange_seconds(group_batch, hidden, layers, replica_bandwidth, latency=0, chunk=0, tensor_parallel=1, link_efficiency=1,
                     base_latency=0, quick_latency=0, quick_base_latency=0, quick_bandwidth=0, switch_latency=0, switch_share=0,
                     kernel_seconds=0, peer_reads=0, moe_layers=0, attention_parallel=1, drafted=0, activation_element_bytes=...):
    """All-reduces of one pass over the tensor-parallel group (s): two a layer. Pope et al. 2022 (arXiv 2211.05102).

    Experts that are spread over several groups sum none: their tokens come back to where they were.
    """
    message = (group_batch * (1 + drafted) + chunk) * hidden * activation_element_bytes
    sums = 2 * layers - where(attention_parallel > 1, moe_layers, 0)
    return sums * engine_all_reduce_seconds.formula(
        message, tensor_parallel, replica_bandwidth, latency, link_efficiency, base_latency, quick_latency, quick_base_latency,
        quick_bandwidth, switch_latency, switch_share, kernel_seconds, peer_reads)


# The engine

@law
def expert_start_seconds(narrow_flops=1, quarter_flops=1, weight_element_bytes=..., expert_layer_seconds=...,
                         quarter_expert_seconds=..., packed_expert_seconds=...):
    """What one layer of experts takes in a pass beside reading and multiplying its weights (s): tokens are sorted by expert, and
    grouped products begin later than dense ones. Tables of expert kernels: data/defaults.csv.

    Weights in 4 bits take less on a card that multiplies these, and more on one that first converts them.
    """
    quarter = where(quarter_flops > narrow_flops, quarter_expert_seconds, packed_expert_seconds)
    return where(weight_element_bytes < 6 * BIT_BYTES, quarter, expert_layer_seconds)


@law
def kernel_start_seconds(layers, attending_share, products_per_layer, expert_start_seconds, moe_layers=0, shared_experts=0,
                         attention_start_seconds=..., product_start_seconds=..., added_pass_seconds=0):
    """What the kernels of a pass take to begin, beyond any kernel's start (s): attention splits the cache over a card and joins
    the parts, products fill their first tiles, and experts sort their tokens; and what adapters add.

    The same on every card, and nearly the same for any batch and engine: tables of kernels, data/defaults.csv.
    """
    products = layers * products_per_layer - where(shared_experts > 0, 0, 2) * moe_layers
    return (layers * attending_share * attention_start_seconds + products * product_start_seconds
            + moe_layers * expert_start_seconds + added_pass_seconds)


@law
def prompt_host_seconds(layers, moe_layers=0, layer_prompt_seconds=..., expert_prompt_seconds=...):
    """What an engine adds to a request before its first token (s): reading the request, planning, and starting the kernels of its
    prompt one by one, where those of a pass are replayed as a graph. A layer of experts has more of them. Data/engines.csv; other
    requests go on meanwhile.
    """
    return layers * layer_prompt_seconds + moe_layers * expert_prompt_seconds


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
def prompt_attention_flops(prompt, prefilled_tokens, attention_layers, prefill_pair_flops, recurrent_flops, window_layers=0,
                           window=0, causal=..., chunked=0, indexer_topk=0, indexer_layers=0, indexer_heads=0, indexer_dim=0,
                           dense_attention_layers=0, compression=0, heavy_layers=0, heavy_compression=0):
    """FLOP of attention in one request's prompt (count): what all its tokens take less what those that are cached took."""
    held = prompt - prefilled_tokens
    pairs = (prefill_pairs.formula(prompt, attention_layers, window_layers, window, causal, chunked, indexer_topk,
                                   dense_attention_layers, indexer_layers, compression, heavy_layers, heavy_compression)
             - prefill_pairs.formula(held, attention_layers, window_layers, window, causal, chunked, indexer_topk,
                                     dense_attention_layers, indexer_layers, compression, heavy_layers, heavy_compression))
    index = (prompt_index_flops.formula(prompt, indexer_layers, indexer_heads, indexer_dim, compression)
             - prompt_index_flops.formula(held, indexer_layers, indexer_heads, indexer_dim, compression))
    return pairs * prefill_pair_flops + index + prefilled_tokens * recurrent_flops


@law
def prompt_exchange_seconds(prefilled_tokens, hidden, layers, replica_bandwidth, latency=0, tensor_parallel=1, link_efficiency=1,
                            base_latency=0, quick_latency=0, quick_base_latency=0, quick_bandwidth=0, switch_latency=0,
                            switch_share=0, kernel_seconds=0, peer_reads=0, moe_layers=0, attention_parallel=1,
                            activation_element_bytes=...):
    """All-reduces of one prompt over the tensor-parallel group (s): two a layer. Pope et al. 2022 (arXiv 2211.05102)."""
    return exchange_seconds.formula(
        prefilled_tokens, hidden, layers, replica_bandwidth, latency, 0, tensor_parallel, link_efficiency, base_latency,
        quick_latency, quick_base_latency, quick_bandwidth, switch_latency, switch_share, kernel_seconds, peer_reads, moe_layers,
        attention_parallel, 0, activation_element_bytes)


@law
def prompt_read_bytes(group_weight_bytes, expert_params, routed_extra_bytes, prefilled_tokens, moe_layers=0, experts=0,
                      experts_per_token=0, attention_parallel=1, expert_skew=1, weight_element_bytes=...):
    """Weights that a group reads for a prompt while each reads one (bytes): all but the experts that no token of them uses."""
    unused = experts - touched(attention_parallel * prefilled_tokens, experts, experts_per_token, expert_skew)
    left = moe_layers * unused * expert_params * (weight_element_bytes + routed_extra_bytes)
    return group_weight_bytes - left / attention_parallel


@law
def replica_prefill_seconds(prefilled_tokens, prompt_product_flops, prompt_attention_flops, prompt_read_bytes, token_bytes,
                            prompt_exchange_seconds, launch_seconds, product_rate, attention_rate, memory_rate, weight_rate,
                            prompt_fill, expert_extra_flops, prompt_spread_seconds, kernel_start_seconds, tensor_parallel=1):
    """Time of one request's prompt in a pass of its own (s): time to first token if nothing else waits."""
    flops = prompt_product_flops + prefilled_tokens * expert_extra_flops
    products = maximum(flops / (product_rate * prompt_fill), prompt_read_bytes / weight_rate)
    work = (products + prompt_attention_flops / attention_rate) / tensor_parallel
    sent = prompt_exchange_seconds + prompt_spread_seconds
    return work + prefilled_tokens * token_bytes / memory_rate + sent + launch_seconds + kernel_start_seconds


@law
def growing_share(prompt_product_flops, prefilled_tokens, expert_extra_flops, prompt_read_bytes, replica_prefill_seconds,
                  launch_seconds, product_rate, weight_rate, prompt_fill, kernel_start_seconds, tensor_parallel=1):
    """Part of a prompt's time that grows with its length (ratio): not launches, nor weights where reading them takes longer."""
    flops, read = prompt_product_flops + prefilled_tokens * expert_extra_flops, prompt_read_bytes / weight_rate
    steady = where(flops / (product_rate * prompt_fill) < read, read, 0) / tensor_parallel + launch_seconds + kernel_start_seconds
    return 1 - steady / replica_prefill_seconds


@law
def lone_share(prompt_product_flops, prefilled_tokens, expert_extra_flops, prompt_read_bytes, replica_prefill_seconds,
               product_rate, weight_rate, prompt_fill, routed_params, experts=0, experts_per_token=0, tensor_parallel=1,
               attention_parallel=1):
    """Time of a prompt that one attention group reads alone, over that while each of them reads one (ratio).

    Its tokens then have the experts of all groups to themselves. DeepSeek-V3 (arXiv 2412.19437, section 3.4.1).
    """
    each = expert_extra_flops + 2 * routed_params * experts_per_token / maximum(experts, 1)
    flops, read = prompt_product_flops + prefilled_tokens * expert_extra_flops, prompt_read_bytes / weight_rate
    lone = flops - prefilled_tokens * each * (1 - 1 / attention_parallel)
    rate = product_rate * prompt_fill
    return 1 - (maximum(flops / rate, read) - maximum(lone / rate, read)) / (tensor_parallel * replica_prefill_seconds)


# One pass: a new token for each sequence of the batch, and `chunk` tokens of prompts beside them

@law
def mean_context(prompt, output, output_variation):
    """Tokens in the context of a sequence, mean over those in the batch (count): what its passes read.

    A long answer is in the batch for longer. At its end memory holds more: a case of whole answers has context=mean_context where
    passes are timed, and final_context where memory is counted.
    """
    return prompt + output * (1 + output_variation) / 2


@law
def asked_context(prompt, output, prompt_p95=0, output_p95=0):
    """Tokens of the longest requests but for the few above their 95th percentiles (count): what a model must read."""
    return maximum(prompt, prompt_p95) + maximum(output, output_p95)


@law
def pass_product_flops(group_batch, token_flops, prompt_product_flops, prefilled_tokens, expert_extra_flops, chunk=0, drafted=0):
    """FLOP of a pass's products (count): each token of the chunk costs the mean of its prompt. Sarathi (arXiv 2308.16369).

    Drafted tokens are checked in the same pass. Leviathan et al. 2022 (arXiv 2211.17192, section 2).
    """
    tokens = group_batch * (1 + drafted)
    return tokens * token_flops + prompt_product_flops * chunk / prefilled_tokens + (tokens + chunk) * expert_extra_flops


@law
def pass_attention_seconds(group_batch, token_attention_flops, gpu_read_kv_bytes, prompt_attention_flops, prefilled_tokens,
                           attention_rate, memory_rate, tensor_parallel=1, attention_parallel=1, chunk=0, drafted=0):
    """Attention of a pass on one GPU (s): the cache of the heads it keeps or their compute, and then the chunk's part of its
    prompt. Sarathi (arXiv 2308.16369, section 4).
    """
    rate = tensor_parallel * attention_rate
    cache = gpu_read_kv_bytes / attention_parallel
    decode = maximum(group_batch * (1 + drafted) * token_attention_flops / rate, cache / memory_rate)
    return decode + prompt_attention_flops * chunk / prefilled_tokens / rate


@law
def replica_pass_seconds(group_batch, pass_product_flops, group_read_bytes, pass_attention_seconds, token_bytes, exchange_seconds,
                         launch_seconds, product_rate, memory_rate, weight_rate, pass_fill, spread_seconds, kernel_start_seconds,
                         tensor_parallel=1, chunk=0, drafted=0):
    """One pass of a replica (s): products, attention, what other kernels move, the wait for others and for each kernel."""
    products = maximum(pass_product_flops / (product_rate * pass_fill), group_read_bytes / weight_rate) / tensor_parallel
    moved = (group_batch * (1 + drafted) + chunk) * token_bytes / memory_rate
    return products + pass_attention_seconds + moved + exchange_seconds + spread_seconds + launch_seconds + kernel_start_seconds


# A pass in which prompts ride: their tokens and those of the batch share one reading of the weights

@law
def steady_chunk(group_batch, prefilled_tokens, output=1):
    """Prompt tokens a pass must take in to keep all slots filled (count): a sequence leaves after `output` passes."""
    return group_batch * prefilled_tokens / output


@law
def held_passes(group_batch, output=1, attention_parallel=1, prompts_apart=0, prompt_interval=..., prompt_chunk=...):
    """Passes from one in which prompts ride to the next (count). Groups that wait for each other hold prompts back until as many
    have come as there are groups, for an interval at most. vLLM 0.33.0, vllm/v1/engine/core.py, _should_throttle_prefills.
    """
    held = where(attention_parallel > 1, minimum(floor(output / group_batch), prompt_interval), 1)
    return maximum(where(prompt_chunk * (1 - prompts_apart) > 0, held, 1), 1)


@law
def mixed_tokens(prefilled_tokens, steady_chunk, held_passes, attention_parallel=1, prompt_chunk=...):
    """Prompt tokens of a group's pass in which its prompts ride (count, mean): those of all requests that came since the last
    such pass, at most a chunk. Sarathi-Serve (arXiv 2403.02310, section 4).

    Places come free at random, n from one to the next in the mean: of a Poisson distribution that is not 0 the mean is
    n / (1 - exp(-n)). Requests go to the groups that have least to do, so that all have one before one has two.
    """
    prompts = steady_chunk * held_passes * attention_parallel / prefilled_tokens
    came = maximum(prompts / (1 - exp(-prompts)) / attention_parallel, 1) * prefilled_tokens
    return where(prompt_chunk > 0, minimum(came, prompt_chunk), came)


@law
def mixed_read_bytes(group_read_bytes, mixed_tokens, batch, expert_params, routed_extra_bytes, moe_layers=0, experts=0,
                     experts_per_token=0, attention_parallel=1, pipeline_parallel=1, drafted=0, expert_skew=1,
                     weight_element_bytes=...):
    """Weights that a group reads in a pass with prompts (bytes): once for all its tokens, and experts that only prompts use."""
    tokens = batch * (1 + drafted) / pipeline_parallel
    more = (touched(tokens + attention_parallel * mixed_tokens, experts, experts_per_token, expert_skew)
            - touched(tokens, experts, experts_per_token, expert_skew))
    read = moe_layers * more * expert_params * (weight_element_bytes + routed_extra_bytes)
    return group_read_bytes + read / attention_parallel


@law
def mixed_exchange_seconds(group_batch, hidden, layers, replica_bandwidth, mixed_tokens, latency=0, tensor_parallel=1,
                           link_efficiency=1, base_latency=0, quick_latency=0, quick_base_latency=0, quick_bandwidth=0,
                           switch_latency=0, switch_share=0, kernel_seconds=0, peer_reads=0, moe_layers=0, attention_parallel=1,
                           drafted=0, activation_element_bytes=...):
    """All-reduces of a pass with prompts over the tensor-parallel group (s): as many, with larger messages."""
    return exchange_seconds.formula(
        group_batch, hidden, layers, replica_bandwidth, latency, mixed_tokens, tensor_parallel, link_efficiency, base_latency,
        quick_latency, quick_base_latency, quick_bandwidth, switch_latency, switch_share, kernel_seconds, peer_reads, moe_layers,
        attention_parallel, drafted, activation_element_bytes)


@law
def mixed_attention_seconds(group_batch, token_attention_flops, gpu_read_kv_bytes, prompt_attention_flops, prefilled_tokens,
                            mixed_tokens, attention_rate, memory_rate, tensor_parallel=1, attention_parallel=1, drafted=0):
    """Attention of a pass with prompts on one GPU (s)."""
    return pass_attention_seconds.formula(
        group_batch, token_attention_flops, gpu_read_kv_bytes, prompt_attention_flops, prefilled_tokens, attention_rate,
        memory_rate, tensor_parallel, attention_parallel, mixed_tokens, drafted)


@law
def mixed_product_flops(pass_product_flops, prompt_product_flops, prefilled_tokens, expert_extra_flops, mixed_tokens, pass_fill,
                        mixed_fill):
    """FLOP of the products of a pass with prompts (count): those of the batch, and of each prompt token the mean of its prompt.

    Tiles that prompts fill better are no reason for the pass to be quicker than without them.
    """
    prompts = prompt_product_flops * mixed_tokens / prefilled_tokens + mixed_tokens * expert_extra_flops
    return maximum(pass_product_flops + prompts, pass_product_flops * mixed_fill / pass_fill)


@law
def mixed_pass_seconds(group_batch, mixed_product_flops, mixed_read_bytes, mixed_attention_seconds, token_bytes,
                       mixed_exchange_seconds, launch_seconds, product_rate, memory_rate, weight_rate, mixed_fill,
                       mixed_spread_seconds, kernel_start_seconds, mixed_tokens, tensor_parallel=1, drafted=0):
    """A pass in which prompts ride (s): all its tokens together. Sarathi-Serve (arXiv 2403.02310, section 4).

    Kernels run one after the other: products take the compute of all tokens or one reading of the weights, whichever is longer;
    attention that of the batch and then that of the prompts.
    """
    return replica_pass_seconds.formula(
        group_batch, mixed_product_flops, mixed_read_bytes, mixed_attention_seconds, token_bytes, mixed_exchange_seconds,
        launch_seconds, product_rate, memory_rate, weight_rate, mixed_fill, mixed_spread_seconds, kernel_start_seconds,
        tensor_parallel, mixed_tokens, drafted)


@law
def riding_seconds(mixed_pass_seconds, replica_pass_seconds, prefilled_tokens, mixed_tokens, steady_chunk):
    """What a prompt adds to the passes of answers (s): its part of those in which prompts ride, less what they take without.

    Where chunks hold less than what comes, prompts take passes beyond those that answers make.
    """
    return prefilled_tokens * (mixed_pass_seconds / mixed_tokens - replica_pass_seconds / maximum(mixed_tokens, steady_chunk))


@law
def prompt_work_seconds(replica_prefill_seconds, riding_seconds, prompt_chunk=..., prompts_apart=0):
    """What a prompt keeps its GPUs busy for (s): a pass of its own, or what its chunks add to passes of others."""
    return where(prompt_chunk * (1 - prompts_apart) > 0, riding_seconds, replica_prefill_seconds)


@law
def fixed_share(group_read_bytes, exchange_seconds, spread_seconds, launch_seconds, replica_pass_seconds, weight_rate, params,
                read_params, routed_params, kernel_start_seconds, tensor_parallel=1, attention_parallel=1,
                weight_element_bytes=...):
    """Part of a full batch's pass that it takes for any batch (ratio): weights, exchanges as in a full one, and launches.

    Fewer sequences use fewer experts: half of them leave the root of the share that all leave. The line through both is what is
    read in the half that runs at a load; below it passes are a little shorter.
    """
    unused = params - read_params
    fewer = sqrt(maximum(routed_params * unused, 0)) - unused
    read = group_read_bytes - 2 * fewer * weight_element_bytes / attention_parallel
    fixed = read / weight_rate / tensor_parallel + exchange_seconds + spread_seconds + launch_seconds + kernel_start_seconds
    return fixed / replica_pass_seconds


# One request

@law
def time_per_output_token(speculative_seconds, prompt_turn_seconds, batch, output, prompts_apart=0):
    """Mean time between tokens of a sequence while the prompts of the others interrupt it (s). Orca (Yu et al. 2022, OSDI).

    Every slot of the batch is filled once in `output` tokens. Prompts that are read apart interrupt none.
    """
    return speculative_seconds + (1 - prompts_apart) * (batch - 1) * prompt_turn_seconds / output


@law
def request_seconds(prompt_seconds, time_per_output_token, output):
    """Time of one request that waits for no slot (s)."""
    return prompt_seconds + output * time_per_output_token


@law
def output_tokens_per_second(batch, output, request_seconds):
    """Output tokens a second of a replica whose slots are all filled (token/s). Little 1961 (doi 10.1287/opre.9.3.383)."""
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
    return where(prompt_chunk > 0, ceil(quotient(prefilled_tokens, prompt_chunk)), 1) * replica_pass_seconds


@law
def accepted_tokens(acceptance=0, drafted=0):
    """Tokens a round of speculative decoding yields (count, mean). Leviathan et al. 2022 (arXiv 2211.17192, equation 1)."""
    return minimum(quotient(1 - acceptance ** (drafted + 1), 1 - acceptance), drafted + 1)


@law
def speculative_seconds(replica_pass_seconds, draft_seconds, accepted_tokens, drafted=0):
    """Time per output token (s): a round is `drafted` steps of the draft model and one pass that checks them.

    Leviathan et al. 2022 (arXiv 2211.17192, section 3.3).
    """
    return (drafted * draft_seconds + replica_pass_seconds) / accepted_tokens


@law
def lone_token_seconds(speculative_seconds, fixed_share, batch):
    """Time per output token of a request that runs alone (s): what a pass takes for any batch, and for one sequence."""
    return speculative_seconds * (fixed_share + (1 - fixed_share) / batch)
