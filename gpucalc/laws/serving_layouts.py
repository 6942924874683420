"""What a layout of a replica changes: what each GPU holds and reads, what experts and stages send, and prompts read apart.

A replica has tensor_parallel x attention_parallel x pipeline_parallel GPUs. Each attention group keeps the cache of its own
sequences; where there are several, the experts of a stage are spread over all of its GPUs. vLLM documentation, data parallel
deployment; DeepSeek-V3 (arXiv 2412.19437, section 3.4). Stages hold as many layers each, and so many passes are in flight.
"""
from ..core.arithmetic import exp, ceil, maximum, minimum, quotient, sqrt, where
from ..core.law import law
from .kv_cache import sequence_kv_bytes
from .topology import group_bandwidth


# Which GPU has what

@law
def replica_gpus(tensor_parallel=1, attention_parallel=1, pipeline_parallel=1):
    """GPUs of a replica (count). vLLM documentation, parallelism and scaling."""
    return tensor_parallel * attention_parallel * pipeline_parallel


@law
def engine_expert_parallel(tensor_parallel=1, attention_parallel=1):
    """GPUs over which whole experts are spread (count): those of a stage where it has attention groups, else none are whole.

    vLLM documentation, expert parallel deployment: its size is that of tensor parallel times that of data parallel.
    """
    return where(attention_parallel > 1, tensor_parallel * attention_parallel, 1)


@law
def engine_expert_split(tensor_parallel=1, attention_parallel=1):
    """GPUs over which each expert is split, as all matrices are (count): vLLM model_executor/layers/fused_moe/layer.py."""
    return where(attention_parallel > 1, 1, tensor_parallel)


@law
def replica_places(concurrency, attention_parallel=1):
    """Sequences of full length that the memory of a replica holds at once (ratio): each group keeps its own."""
    return concurrency * attention_parallel


@law
def group_batch(batch, attention_parallel=1, pipeline_parallel=1):
    """Sequences of the fullest attention group in one pass (count): as many passes are in flight as there are stages.

    Pope et al. 2022 (arXiv 2211.05102, section 3); Megatron-LM (arXiv 2104.04473, section 2.2).
    """
    return ceil(batch / (attention_parallel * pipeline_parallel))


@law
def group_read_bytes(read_bytes, read_params, params, routed_params, routed_extra_bytes, attention_parallel=1,
                     weight_element_bytes=...):
    """Weights that one attention group reads in a pass (bytes): all but the experts, and its part of those that are used."""
    used = routed_params - (params - read_params)
    return read_bytes - used * (weight_element_bytes + routed_extra_bytes) * (1 - 1 / attention_parallel)


@law
def group_weight_bytes(weight_bytes, routed_params, routed_extra_bytes, attention_parallel=1, weight_element_bytes=...):
    """Weights of one attention group (bytes): all but the experts, and its part of those."""
    return weight_bytes - routed_params * (weight_element_bytes + routed_extra_bytes) * (1 - 1 / attention_parallel)


@law
def expert_extra_flops(routed_params, experts=0, experts_per_token=0, attention_parallel=1, grouped_efficiency=1,
                       expert_imbalance=...):
    """FLOP that its experts take for a token as long as beyond their own (count): grouped products reach a share of what dense
    ones do (data/shares.csv), and where experts are spread all GPUs wait for the one whose experts have the most tokens.

    DeepSeek-V3 (arXiv 2412.19437, section 3.4.1) copies the busiest experts so that these are few.
    """
    longer = where(attention_parallel > 1, expert_imbalance, 1) / grouped_efficiency
    return 2 * routed_params * experts_per_token / maximum(experts, 1) * (longer - 1)


# What is sent to experts and back

@law
def joined_gpus(reach, gpus_per_node=...):
    """GPUs that reach each other without the network (count): those of a server, or of a rack behind one switch."""
    return maximum(reach, gpus_per_node)


@law
def spread_gpus(engine_expert_parallel, experts_per_token=0):
    """GPUs that have experts of a token, on average (count): of n GPUs k draws meet n (1 - (1 - 1/n)^k)."""
    return engine_expert_parallel * (1 - (1 - 1 / engine_expert_parallel) ** experts_per_token)


@law
def spread_servers(engine_expert_parallel, joined_gpus, experts_per_token=0, reached_nodes=0):
    """Servers that have experts of a token, on average (count). A router may limit them: arXiv 2412.19437, section 3.2.2."""
    servers = maximum(engine_expert_parallel / joined_gpus, 1)
    met = servers * (1 - (1 - 1 / servers) ** experts_per_token)
    return where(reached_nodes > 0, minimum(met, reached_nodes), met)


@law
def token_dispatch_seconds(hidden, engine_expert_parallel, spread_gpus, spread_servers, joined_gpus, port_bandwidth, group_ports,
                           peer_ports, reach, beyond_bandwidth, link_efficiency=1, network_bandwidth=..., network_efficiency=1,
                           dispatch_element_bytes=..., activation_element_bytes=...):
    """One token of a GPU to the experts of a layer and back (s): the link or the network, whichever takes longer.

    A token goes once to each server that has experts of it and is spread there over the link: DeepSeek-V3 (arXiv 2412.19437,
    section 3.2.2).
    """
    peers, servers = minimum(engine_expert_parallel, joined_gpus), maximum(engine_expert_parallel / joined_gpus, 1)
    link = group_bandwidth.formula(peers, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth) * link_efficiency
    near = spread_gpus * (1 - 1 / peers) / link
    far = spread_servers * (1 - 1 / servers) / (network_bandwidth * network_efficiency)
    return hidden * (dispatch_element_bytes + activation_element_bytes) * maximum(near, far)


@law
def dispatch_start_seconds(engine_expert_parallel, joined_gpus, latency=0, base_latency=0, network_latency=0, kernel_seconds=0):
    """Latency of one layer's way to experts and back (s): all sends of a way go at once, each by a kernel of its own.

    NCCL user guide, point-to-point communication: calls within a group progress independently.
    """
    return 2 * (latency + base_latency + kernel_seconds + where(engine_expert_parallel > joined_gpus, network_latency, 0))


def _dispatched(tokens, moe_layers, engine_expert_parallel, token_dispatch_seconds, dispatch_start_seconds, tensor_parallel,
                expert_overlap, expert_imbalance):
    sent = tokens / tensor_parallel * token_dispatch_seconds * expert_imbalance + dispatch_start_seconds
    return where(engine_expert_parallel > 1, moe_layers * sent * (1 - expert_overlap), 0)


@law
def dispatch_seconds(group_batch, engine_expert_parallel, token_dispatch_seconds, dispatch_start_seconds, moe_layers=0, chunk=0,
                     drafted=0, tensor_parallel=1, expert_overlap=0, expert_imbalance=...):
    """Tokens of a pass to their experts and back, in all layers (s), less what is hidden behind another batch.

    DeepSeek-V3 (arXiv 2412.19437, section 3.4.2): dispatch and combine of each layer.
    """
    tokens = group_batch * (1 + drafted) + chunk
    return _dispatched(tokens, moe_layers, engine_expert_parallel, token_dispatch_seconds, dispatch_start_seconds,
                       tensor_parallel, expert_overlap, expert_imbalance)


@law
def prompt_dispatch_seconds(prefilled_tokens, engine_expert_parallel, token_dispatch_seconds, dispatch_start_seconds,
                            moe_layers=0, tensor_parallel=1, expert_overlap=0, expert_imbalance=...):
    """Tokens of a prompt to their experts and back, in all layers (s), while each attention group reads one.

    DeepSeek-V3 (arXiv 2412.19437, section 3.4.1).
    """
    return _dispatched(prefilled_tokens, moe_layers, engine_expert_parallel, token_dispatch_seconds, dispatch_start_seconds,
                       tensor_parallel, expert_overlap, expert_imbalance)


# What is sent between stages

@law
def token_stage_seconds(hidden, replica_gpus, joined_gpus, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth,
                        tensor_parallel=1, link_efficiency=1, network_bandwidth=..., network_efficiency=1,
                        activation_element_bytes=...):
    """One token to the next stage (s), each GPU its part. Narayanan et al. 2021 (arXiv 2104.04473, section 4.1)."""
    pair = group_bandwidth.formula(2, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth) * link_efficiency
    part = hidden * activation_element_bytes / tensor_parallel
    return where(replica_gpus > joined_gpus, part / (network_bandwidth * network_efficiency), part / pair)


def _staged(tokens, replica_gpus, joined_gpus, token_stage_seconds, latency, network_latency, pipeline_parallel):
    hop = where(replica_gpus > joined_gpus, network_latency, latency)
    return where(pipeline_parallel > 1, pipeline_parallel * (tokens * token_stage_seconds + hop), 0)


@law
def spread_seconds(group_batch, dispatch_seconds, token_stage_seconds, replica_gpus, joined_gpus, latency=0, network_latency=0,
                   chunk=0, drafted=0, pipeline_parallel=1):
    """What a pass sends beyond its tensor-parallel groups (s): to experts and back, from stage to stage and back to the first."""
    tokens = group_batch * (1 + drafted) + chunk
    return dispatch_seconds + _staged(tokens, replica_gpus, joined_gpus, token_stage_seconds, latency, network_latency,
                                      pipeline_parallel)


@law
def prompt_spread_seconds(prefilled_tokens, prompt_dispatch_seconds, token_stage_seconds, replica_gpus, joined_gpus, latency=0,
                          network_latency=0, pipeline_parallel=1):
    """What a prompt sends beyond its tensor-parallel group (s): to experts and back, and from stage to stage."""
    return prompt_dispatch_seconds + _staged(prefilled_tokens, replica_gpus, joined_gpus, token_stage_seconds, latency,
                                             network_latency, pipeline_parallel)


@law
def mixed_spread_seconds(group_batch, mixed_tokens, engine_expert_parallel, token_dispatch_seconds, dispatch_start_seconds,
                         token_stage_seconds, replica_gpus, joined_gpus, moe_layers=0, latency=0, network_latency=0, drafted=0,
                         tensor_parallel=1, pipeline_parallel=1, expert_overlap=0, expert_imbalance=...):
    """What a pass with prompts sends beyond its tensor-parallel groups (s)."""
    tokens = group_batch * (1 + drafted) + mixed_tokens
    sent = _dispatched(tokens, moe_layers, engine_expert_parallel, token_dispatch_seconds, dispatch_start_seconds,
                       tensor_parallel, expert_overlap, expert_imbalance)
    return sent + _staged(tokens, replica_gpus, joined_gpus, token_stage_seconds, latency, network_latency, pipeline_parallel)


# Prompts beside passes, and apart from them

def longest(count, variation):
    """The longest of so many times, over their mean (ratio), at most: Hartley and David 1954 (doi 10.1214/aoms/1177728848)."""
    return 1 + sqrt(variation) * (count - 1) / sqrt(2 * count - 1)


def turn_length(prompts, groups, lone_share, variation):
    """A turn of so many prompts over one in which each group reads one that is as long as the mean (ratio)."""
    return longest(prompts, variation) * (lone_share + (1 - lone_share) * (prompts - 1) / maximum(groups - 1, 1))


def riding_together(came, groups, lone_share, variation):
    """As `prompts_together`, where prompts ride, of which so many come from one such pass to the next (mean).

    n that are shared out evenly, where n varies widely, are n / G + (G - 1) / 2 G in the fullest of G groups, on average.
    """
    came = maximum(came, 1e-6)
    some = came / (1 - exp(-came))
    read, each = minimum(some, groups), maximum(some / groups, 1)
    fullest = maximum(some / groups + (groups - 1) / (2 * groups), 1) / each
    return read / (turn_length(read, groups, lone_share, variation) + (fullest - 1) * lone_share)


@law
def prompts_together(batch, lone_share, prompt_time_variation, held_passes, attention_parallel=1, prompts_apart=0, output=1,
                     prompt_chunk=...):
    """Prompts that the groups of a full replica read in the time of one in each (count, mean).

    Groups do every step together, since each has a part of the experts. A pass frees batch / output slots at random, of a Poisson
    distribution in each group. Where prompts ride in passes, those of the groups that have some ride in the same pass, which is
    as long as the group with the most makes it. Where prompts take passes of their own the others wait, and there are as many
    turns as prompts of the group with the most. Where prompts are apart each group reads one.
    """
    freed = batch / output
    each = freed / attention_parallel
    alone = freed / minimum(freed, each * longest(attention_parallel, 1 / each))
    read = where(prompts_apart > 0, attention_parallel, alone)
    turned = read / turn_length(read, attention_parallel, lone_share, prompt_time_variation)
    riding = riding_together(freed * held_passes, attention_parallel, lone_share, prompt_time_variation)
    return where(attention_parallel > 1, where(prompt_chunk * (1 - prompts_apart) > 0, riding, turned), 1)


@law
def prompt_turn_seconds(prompt_work_seconds, prompts_together, pipeline_parallel=1):
    """Time of a full replica that one prompt takes (s): of a turn its part, and each stage reads another one."""
    return prompt_work_seconds / (prompts_together * pipeline_parallel)


@law
def prompt_kv_bytes(kv_bytes_per_token, prompt, cached_layers, cached_windows, recurrent_bytes, index_bytes_per_token, window=0):
    """Cache of a prompt (bytes). Pope et al. 2022 (arXiv 2211.05102, section 3.3)."""
    return sequence_kv_bytes.formula(kv_bytes_per_token, prompt, cached_layers, cached_windows, recurrent_bytes,
                                     index_bytes_per_token, window)


@law
def cache_sent_seconds(prompt_kv_bytes, network_bandwidth=..., network_efficiency=1, network_latency=0, tensor_parallel=1,
                       prompts_apart=0):
    """A prompt's cache from the GPUs that read it to those that answer (s), each its part over the network.

    DistServe (arXiv 2401.09670, section 3.3); Splitwise (arXiv 2311.18677, section 4.3). 0 where both are the same GPUs.
    """
    sent = prompt_kv_bytes / (tensor_parallel * network_bandwidth * network_efficiency) + network_latency
    return where(prompts_apart > 0, sent, 0)


@law
def prompt_seconds(prompt_work_seconds, replica_pass_seconds, prefilled_tokens, cache_sent_seconds, lone_share, prompt_chunk=...,
                   prompts_apart=0, fetched_seconds=0):
    """What a prompt adds to the passes of its request (s): read at once, or in chunks that each ride in a pass; sent over, and
    what of it is fetched.

    Sarathi-Serve (arXiv 2403.02310, section 4); DistServe (arXiv 2401.09670, section 3). The pass of the last chunk gives the
    first token of the answer, which begins where its passes run.
    """
    passes = where(prompt_chunk > 0, maximum(ceil(quotient(prefilled_tokens, prompt_chunk)) - 1, 0), 0) * (1 - prompts_apart)
    return prompt_work_seconds * lone_share + passes * replica_pass_seconds + cache_sent_seconds + fetched_seconds


@law
def prefill_replicas(requests_per_second, prompt_turn_seconds, prompts_apart=0, prompt_load=...):
    """Replicas that read prompts and nothing else (count), so that they are no busier than `prompt_load`.

    DistServe (arXiv 2401.09670, section 4): as many as the rate asks for. 0 where prompts are read beside answers.
    """
    return where(prompts_apart > 0, ceil(requests_per_second * prompt_turn_seconds / prompt_load), 0)


# Drafted tokens

@law
def draft_seconds(replica_pass_seconds, layers, drafted=0):
    """One step of the draft model (s): it takes as long as one of the model's layers.

    The model's own prediction layer (DeepSeek-V3, arXiv 2412.19437, section 2.2), or a head of one layer trained for it (EAGLE,
    arXiv 2401.15077, section 4).
    """
    return minimum(drafted, 1) * replica_pass_seconds / layers
