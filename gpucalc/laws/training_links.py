"""Communication of a training step: which links each group of GPUs has, and what it sends over them.

GPUs of a tensor-parallel group are next to each other, then those of context, expert, data and pipeline parallel, each group
around the one before. A group's bandwidth is what a ring over it reaches, shares of the peaks included.
"""
from ..core.arithmetic import maximum, minimum, where
from ..core.law import law
from .topology import group_bandwidth
from .training_products import repeated


def _members(ranks, apart, gpus_per_node):
    """GPUs of a group in one node, if its members stand `apart` GPUs from each other."""
    return minimum(ranks, maximum(gpus_per_node / apart, 1))


def _bandwidth(ranks, apart, gpus_per_node, network_bandwidth, network_efficiency, link_efficiency, port_bandwidth, group_ports,
               peer_ports, reach, beyond_bandwidth):
    """Bandwidth of a ring: its link inside a node; across nodes all network ports of its members, if the link has as much."""
    members = _members(ranks, apart, gpus_per_node)
    inside = group_bandwidth.formula(members, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth) * link_efficiency
    outside = members * network_bandwidth * network_efficiency
    return where(ranks > members, where(members > 1, minimum(inside, outside), outside), inside)


def _hops(ranks, members, latency, network_latency, base_latency):
    """Latency of one round of a ring (s): as many of its steps wait for the network as it has nodes, less one; and its start.

    NCCL src/graph/tuning.cc.
    """
    nodes = ranks / members
    return (ranks - nodes) * latency + (nodes - 1) * network_latency + where(ranks > 1, base_latency, 0)


def _round(message_bytes, ranks, bandwidth, hops):
    """One round of a ring (s): an all-gather or a reduce-scatter of the message."""
    return message_bytes * (ranks - 1) / (ranks * bandwidth) + hops


# Groups

@law
def tensor_bandwidth(network_bandwidth, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth, tensor_parallel=1,
                     gpus_per_node=..., link_efficiency=1, network_efficiency=1):
    """Bandwidth of each GPU in a ring over the tensor-parallel group (bytes/s). NCCL runs a ring for each network port."""
    return _bandwidth(tensor_parallel, 1, gpus_per_node, network_bandwidth, network_efficiency, link_efficiency, port_bandwidth,
                      group_ports, peer_ports, reach, beyond_bandwidth)


@law
def context_bandwidth(network_bandwidth, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth, tensor_parallel=1,
                      context_parallel=1, gpus_per_node=..., link_efficiency=1, network_efficiency=1):
    """Bandwidth of each GPU in a ring over the context-parallel group (bytes/s). NCCL runs a ring for each network port."""
    return _bandwidth(context_parallel, tensor_parallel, gpus_per_node, network_bandwidth, network_efficiency, link_efficiency,
                      port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth)


@law
def shard_bandwidth(shard_ranks, network_bandwidth, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth,
                    tensor_parallel=1, gpus_per_node=..., link_efficiency=1, network_efficiency=1):
    """Bandwidth of each GPU in a ring over those that split one state (bytes/s). NCCL runs a ring for each network port."""
    return _bandwidth(shard_ranks, tensor_parallel, gpus_per_node, network_bandwidth, network_efficiency, link_efficiency,
                      port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth)


@law
def expert_shard_bandwidth(expert_shard_ranks, network_bandwidth, port_bandwidth, group_ports, peer_ports, reach,
                           beyond_bandwidth, expert_parallel=1, expert_tensor_parallel=1, gpus_per_node=..., link_efficiency=1,
                           network_efficiency=1):
    """Bandwidth of each GPU in a ring over those that split the state of the same experts (bytes/s)."""
    return _bandwidth(expert_shard_ranks, expert_parallel * expert_tensor_parallel, gpus_per_node, network_bandwidth,
                      network_efficiency, link_efficiency, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth)


# A micro-batch

@law
def tensor_seconds(pace_layers, stage_moe_layers, gpu_tokens, hidden, tensor_bandwidth, latency=0, network_latency=0,
                   base_latency=0, recompute=0, recomputed_share=1, experts_per_token=0, shared_experts=0, expert_parallel=1,
                   tensor_parallel=1, expert_tensor_parallel=1, gpus_per_node=..., activation_element_bytes=...):
    """All-reduces of a micro-batch over the tensor-parallel group (s): of attention and MLP, forward, backward and recomputed.

    Megatron-LM (arXiv 1909.08053, section 3). Sequence parallel makes of each a reduce-scatter and an all-gather, together as
    long (arXiv 2205.05198, section 4.2.2). A layer of experts has one for its shared expert, and one for the others only if
    tensor parallel splits them: what experts of other GPUs take in and give is k times as much.
    """
    hops = _hops(tensor_parallel, _members(tensor_parallel, 1, gpus_per_node), latency, network_latency, base_latency)
    one = 2 * _round(gpu_tokens * hidden * activation_element_bytes, tensor_parallel, tensor_bandwidth, hops)
    copies = where(expert_parallel > 1, experts_per_token, 1) * expert_tensor_parallel / tensor_parallel
    sparse = where(shared_experts > 0, 1, 0) + where(expert_tensor_parallel > 1, copies, 0)
    return (2 + repeated(recompute, recomputed_share)) * (2 * pace_layers + stage_moe_layers * (sparse - 1)) * one


@law
def context_seconds(pace_layers, gpu_tokens, gpu_context_values, context_bandwidth, latency=0, network_latency=0,
                    base_latency=0, recompute=0, recomputed_share=1, tensor_parallel=1, context_parallel=1, gpus_per_node=...,
                    activation_element_bytes=...):
    """Keys and values of a micro-batch over the context-parallel group (s).

    They are gathered forward, backward and recomputed, and their gradients are scattered. Llama 3 (arXiv 2407.21783, section
    3.3.2); a ring (arXiv 2310.01889) sends as much.
    """
    members = _members(context_parallel, tensor_parallel, gpus_per_node)
    hops = _hops(context_parallel, members, latency, network_latency, base_latency)
    sequence_bytes = context_parallel * gpu_tokens * gpu_context_values * activation_element_bytes
    one = _round(sequence_bytes, context_parallel, context_bandwidth, hops)
    return pace_layers * (3 + repeated(recompute, recomputed_share)) * one


@law
def token_nodes(experts_per_token=0, reached_nodes=0, router_groups=0, expert_copies=0, expert_parallel=1,
                expert_tensor_parallel=1, gpus_per_node=...):
    """Copies of a token that go to nodes, its own among them, on average (count): of n nodes k draws meet n (1 - (1 - 1/n)^k).

    A router may limit them to groups of experts: DeepSeek-V3 (arXiv 2412.19437, section 3.2.2) to 4 of 8, each a node or more.
    A plain all-to-all sends a copy for each expert: NVIDIA Megatron-LM, megatron/core/transformer/moe/token_dispatcher.py.
    """
    nodes = maximum(expert_parallel * expert_tensor_parallel / gpus_per_node, 1)
    wide = where(router_groups > 0, maximum(nodes / maximum(router_groups, 1), 1), 1)
    open_nodes = where(reached_nodes > 0, minimum(nodes, reached_nodes * wide), nodes)
    return where(expert_copies > 0, experts_per_token, open_nodes * (1 - (1 - 1 / open_nodes) ** experts_per_token))


@law
def expert_seconds(stage_moe_layers, gpu_tokens, hidden, token_nodes, network_bandwidth, port_bandwidth, group_ports, peer_ports,
                   reach, beyond_bandwidth, experts_per_token=0, expert_copies=0, latency=0, network_latency=0, recompute=0,
                   recomputed_share=1, tensor_parallel=1, expert_parallel=1, expert_tensor_parallel=1, gpus_per_node=...,
                   link_efficiency=1, network_efficiency=1, exchange_efficiency=1, dispatch_element_bytes=...,
                   activation_element_bytes=...):
    """All-to-alls of a micro-batch over the expert-parallel group (s): dispatch and combine, forward, backward and recomputed.

    GShard (arXiv 2006.16668, section 3.2). A token goes once to each node that has experts of it and is spread there over the
    link, while the network goes on: DeepSeek-V3 (arXiv 2412.19437, section 3.2.2), slower than a ring by `exchange_efficiency`.
    A plain all-to-all sends a copy for each expert. All experts take as many tokens.
    """
    peers = _members(expert_parallel, expert_tensor_parallel, gpus_per_node)
    nodes, tokens, plain = expert_parallel / peers, gpu_tokens / tensor_parallel, expert_copies > 0
    met = where(plain, experts_per_token, expert_parallel * (1 - (1 - 1 / expert_parallel) ** experts_per_token))
    link = group_bandwidth.formula(peers, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth) * link_efficiency
    out = token_nodes * (1 - 1 / nodes) / (network_bandwidth * network_efficiency)
    one = tokens * hidden * maximum(out, met * (1 - 1 / peers) / link) / where(plain, 1, exchange_efficiency)
    ways = one * (dispatch_element_bytes + activation_element_bytes)
    started = 2 * ((peers - 1) * latency + (nodes - 1) * network_latency)
    return stage_moe_layers * (2 + repeated(recompute, recomputed_share)) * (ways + started)


@law
def pipeline_seconds(gpu_tokens, hidden, layout_gpus, network_bandwidth, port_bandwidth, group_ports, peer_ports, reach,
                     beyond_bandwidth, latency=0, network_latency=0, tensor_parallel=1, pipeline_parallel=1, virtual_stages=1,
                     gpus_per_node=..., link_efficiency=1, network_efficiency=1, activation_element_bytes=...):
    """Sends of a micro-batch between stages (s): one forward and one backward for each chunk, each GPU its share.

    Narayanan et al. 2021 (arXiv 2104.04473, section 4.1).
    """
    pair = group_bandwidth.formula(2, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth) * link_efficiency
    near = layout_gpus <= gpus_per_node
    bandwidth = where(near, pair, network_bandwidth * network_efficiency)
    share_bytes = gpu_tokens * hidden * activation_element_bytes / tensor_parallel
    one = share_bytes / bandwidth + where(near, latency, network_latency)
    return where(pipeline_parallel > 1, 2 * virtual_stages, 0) * one


# Gradients and weights

def _of_both(dense, experts, ranks, expert_ranks, bandwidth, expert_bandwidth, apart, expert_apart, gpus_per_node, latency,
             network_latency, base_latency, pieces):
    """A round over those that split the dense state and one over those that split the experts', in so many pieces each."""
    def one(message_bytes, of, rate, distance):
        hops = _hops(of, _members(of, distance, gpus_per_node), latency, network_latency, base_latency)
        return _round(message_bytes, of, rate, pieces * hops)
    of_experts = one(experts, expert_ranks, expert_bandwidth, expert_apart)
    return one(dense, ranks, bandwidth, apart) + where(experts > 0, of_experts, 0)


@law
def scatter_seconds(gpu_trained_params, gpu_trained_expert_params, gradient_element_bytes, stage_layers, shard_ranks,
                    expert_shard_ranks, shard_bandwidth, expert_shard_bandwidth, latency=0, network_latency=0, base_latency=0,
                    zero_stage=0, tensor_parallel=1, expert_parallel=1, expert_tensor_parallel=1, gpus_per_node=...):
    """Gradients of one GPU, summed over those that split them (s); stage 3 layer by layer. ZeRO (arXiv 1910.02054, section 7)."""
    return _of_both(gpu_trained_params * gradient_element_bytes, gpu_trained_expert_params * gradient_element_bytes, shard_ranks,
                    expert_shard_ranks, shard_bandwidth, expert_shard_bandwidth, tensor_parallel,
                    expert_parallel * expert_tensor_parallel, gpus_per_node, latency, network_latency, base_latency,
                    where(zero_stage >= 3, stage_layers, 1))


@law
def gather_seconds(gpu_trained_params, gpu_trained_expert_params, gpu_params, gpu_expert_params, gradient_element_bytes,
                   stage_layers, shard_ranks, expert_shard_ranks, shard_bandwidth, expert_shard_bandwidth, latency=0,
                   network_latency=0, base_latency=0, zero_stage=0, tensor_parallel=1, expert_parallel=1,
                   expert_tensor_parallel=1, gpus_per_node=..., activation_element_bytes=...):
    """What comes back to one GPU (s): summed gradients without ZeRO, the new weights with it, at stage 3 all, layer by layer.

    ZeRO (arXiv 1910.02054, section 7); FSDP (arXiv 2304.11277, section 3.3).
    """
    element = where(zero_stage >= 1, activation_element_bytes, gradient_element_bytes)
    dense = where(zero_stage >= 3, gpu_params - gpu_expert_params, gpu_trained_params)
    experts = where(zero_stage >= 3, gpu_expert_params, gpu_trained_expert_params)
    return _of_both(dense * element, experts * element, shard_ranks, expert_shard_ranks, shard_bandwidth, expert_shard_bandwidth,
                    tensor_parallel, expert_parallel * expert_tensor_parallel, gpus_per_node, latency, network_latency,
                    base_latency, where(zero_stage >= 3, stage_layers, 1))


@law
def replica_sum_seconds(gpu_trained_params, gpu_trained_expert_params, gradient_element_bytes, shard_ranks, expert_shard_ranks,
                        network_bandwidth, network_latency=0, base_latency=0, tensor_parallel=1, expert_parallel=1,
                        expert_tensor_parallel=1, data_parallel=1, context_parallel=1, network_efficiency=1):
    """All-reduce of the parts of the gradients over the groups that each split them, by each GPU's own port (s); once a step.

    Hybrid sharding: FSDP (arXiv 2304.11277, section 3.2.2).
    """
    replicas = data_parallel * context_parallel

    def across(trained, ranks, all_ranks):
        groups = all_ranks / ranks
        part = trained * gradient_element_bytes / ranks
        hops = _hops(groups, 1, 0, network_latency, base_latency)
        return where(trained > 0, 2 * _round(part, groups, network_bandwidth * network_efficiency, hops), 0)
    return across(gpu_trained_params, shard_ranks, replicas) + across(
        gpu_trained_expert_params, expert_shard_ranks, replicas * tensor_parallel / (expert_parallel * expert_tensor_parallel))


@law
def shard_rounds(micro_batches, pipeline_parallel=1, virtual_stages=1, zero_stage=0):
    """How often in a step ZeRO's stages 2 and 3 pass over the layers (count): once for each micro-batch.

    In an interleaved pipeline as many micro-batches as there are stages go through a chunk one after the other; their gradients
    leave together in stage 2: breadth-first pipeline parallelism, Lamy-Poirier 2022 (arXiv 2211.05953, section 4); Llama 3
    (arXiv 2407.21783, section 3.3.2), which keeps the weights. No engine is known to gather weights for a group in stage 3.
    """
    grouped = where(virtual_stages > 1, where(zero_stage >= 3, 0, 1), 0)
    return where(grouped > 0, maximum(micro_batches / pipeline_parallel, 1), micro_batches)


@law
def data_seconds(scatter_seconds, gather_seconds, replica_sum_seconds, shard_rounds, zero_stage=0):
    """Gradients and weights of a step over the GPUs that hold the same parameters (s). ZeRO (arXiv 1910.02054, section 7).

    Gradients are scattered and gathered again: an all-reduce. From ZeRO-1 on the new weights are gathered instead. Stage 2
    scatters after each round; stage 3 gathers the weights for each forward and each backward one.
    """
    scatters = where(zero_stage >= 2, shard_rounds, 1)
    return scatters * scatter_seconds + where(zero_stage >= 3, 2 * shard_rounds, 1) * gather_seconds + replica_sum_seconds


@law
def lent_share(units, collective_units=...):
    """Share of a GPU's multiprocessors that a collective takes from the products beside it (fraction); none where it has none.

    NCCL src/graph/connect.cc: a channel is a block of threads, and rings are doubled.
    """
    return where(units > collective_units, collective_units / units, 0)


@law
def exposed_data_seconds(data_seconds, scatter_seconds, gather_seconds, replica_sum_seconds, micro_batch_seconds, micro_batches,
                         shard_rounds, stage_layers, lent_share, zero_stage=0, data_overlap=...):
    """How much longer data parallel makes a step (s): what outlasts the pass it runs beside, and what it takes from the rest.

    Weights arrive under a forward pass, a third of a micro-batch or of those of a round; gradients leave under a backward pass,
    and stage 3 gathers there again, as stage 0 does with what it summed. The first layer's weights and the last one's gradients
    have nothing to hide behind. Below stage 2 gradients leave once a step, below stage 3 weights arrive once. FSDP (arXiv
    2304.11277, section 3.3).
    """
    forward = data_overlap * micro_batch_seconds * where(zero_stage >= 2, micro_batches / shard_rounds, 1) / 3
    whole, split = where(zero_stage >= 3, 1, 0), where(zero_stage >= 1, 1, 0)
    arriving = split * maximum(gather_seconds - forward, gather_seconds / stage_layers)
    leaving = scatter_seconds + (1 - split + whole) * gather_seconds
    late = maximum(leaving - 2 * forward, scatter_seconds / stage_layers)
    last = maximum(late, leaving + replica_sum_seconds - 2 * forward)
    shown = (1 + whole * (shard_rounds - 1)) * arriving + where(zero_stage >= 2, shard_rounds - 1, 0) * late + last
    return shown + lent_share * (data_seconds - shown)
