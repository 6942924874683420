"""Collectives across nodes, the bytes each kind of parallelism sends, and the limits links put on them."""
from ..core.arithmetic import ceil, maximum, minimum, quotient, sqrt, where
from ..core.law import law
from .collectives import (all_gather_seconds, all_reduce_seconds, all_to_all_seconds, broadcast_seconds, bus_bandwidth,
                          direct_all_reduce_seconds, engine_all_reduce_seconds, group_all_reduce_seconds, half_speed_bytes,
                          point_to_point_seconds, reduce_scatter_seconds, ring_tree_bytes, switch_all_reduce_seconds,
                          tree_all_reduce_seconds)
from .topology import group_bandwidth

__all__ = ["all_gather_seconds", "all_reduce_seconds", "all_to_all_seconds", "broadcast_seconds", "bus_bandwidth",
           "direct_all_reduce_seconds", "engine_all_reduce_seconds", "group_all_reduce_seconds", "group_bandwidth",
           "half_speed_bytes", "point_to_point_seconds", "reduce_scatter_seconds", "ring_tree_bytes",
           "switch_all_reduce_seconds", "tree_all_reduce_seconds"]


# Collectives across nodes: `node_ranks` GPUs of the group share a node, each has `network_bandwidth` of its own out of it

@law
def fabric_bandwidth(link_bandwidth, network_bandwidth, ranks, node_ranks, oversubscription=1, link_efficiency=1,
                     network_efficiency=1):
    """What a ring across nodes carries per GPU (bytes/s): NCCL runs one ring per port, so all ports of the node add up.

    A group with one GPU in each node has one port. `oversubscription` divides what leaves the node.
    """
    inside, outside = link_bandwidth * link_efficiency, node_ranks * network_bandwidth * network_efficiency / oversubscription
    return where(ranks > node_ranks, minimum(inside, outside), inside)


@law
def cluster_all_reduce_seconds(message_bytes, ranks, node_ranks, fabric_bandwidth, latency=0, network_latency=0, base_latency=0):
    """Ring all-reduce across nodes (s): of its 2(N-1) steps 2(n-1) wait for the network. NCCL src/graph/tuning.cc."""
    crossings = 2 * (maximum(ranks / node_ranks, 1) - 1)
    ring = all_reduce_seconds.formula(message_bytes, ranks, fabric_bandwidth, latency, 1, base_latency)
    return ring + crossings * (network_latency - latency)


@law
def hierarchical_all_reduce_seconds(message_bytes, ranks, node_ranks, link_bandwidth, network_bandwidth, latency=0,
                                    network_latency=0, link_efficiency=1, base_latency=0, oversubscription=1,
                                    network_efficiency=1):
    """Reduce-scatter in the node, all-reduce of each part along its rail, all-gather in the node (s), one after the other.

    Cho et al. 2019, BlueConnect (MLSys).
    """
    inside = all_reduce_seconds.formula(message_bytes, minimum(ranks, node_ranks), link_bandwidth, latency, link_efficiency,
                                        base_latency)
    return inside + all_reduce_seconds.formula(message_bytes / node_ranks, maximum(ranks / node_ranks, 1),
                                               network_bandwidth / oversubscription, network_latency, network_efficiency)


@law
def cluster_all_to_all_seconds(message_bytes, ranks, node_ranks, link_bandwidth, network_bandwidth, latency=0,
                               network_latency=0, link_efficiency=1, oversubscription=1, network_efficiency=1):
    """All-to-all across nodes (s): links and network work at once, and what leaves the node goes by a GPU's own port.

    Sends to all peers are under way together, so each way waits one latency.
    """
    peers = minimum(ranks, node_ranks)
    inside = all_to_all_seconds.formula(message_bytes * peers / ranks, peers, link_bandwidth, latency, link_efficiency)
    outside = (ranks - peers) * message_bytes * oversubscription / (ranks * network_bandwidth * network_efficiency)
    return maximum(inside, outside + minimum(ranks - peers, 1) * network_latency)


# What one GPU sends

def _repeated(recompute):
    """1 if whole layers run again, and what they send. A policy that keeps products keeps what was sent for them too (torchtitan,
    torchtitan/distributed/activation_checkpoint.py).
    """
    return where(recompute >= 2, 1, 0) * where(recompute >= 3, 0, 1)


@law
def tensor_bytes(stage_layers, gpu_tokens, hidden, recompute=0, tensor_parallel=1, activation_element_bytes=...):
    """Bytes a GPU sends in its tensor-parallel group for one micro-batch: two all-reduces a layer forward, two backward.

    Megatron-LM (arXiv 1909.08053, section 3). Sequence parallel sends the same as reduce-scatters and all-gathers
    (arXiv 2205.05198, section 4.2.2); full recompute repeats the forward ones.
    """
    passes = 4 + 2 * _repeated(recompute)
    message = gpu_tokens * hidden * activation_element_bytes
    return stage_layers * passes * message * 2 * (tensor_parallel - 1) / tensor_parallel


@law
def context_bytes(stage_layers, gpu_tokens, gpu_kv_heads, head_dim, recompute=0, context_parallel=1,
                  activation_element_bytes=..., rope_head_dim=0, value_head_dim=0):
    """Bytes a GPU sends in its context-parallel group for one micro-batch: its keys and values to every peer, forward and
    backward, and the gradients back. Llama 3 (arXiv 2407.21783, section 3.3.2).

    Latent attention sends them expanded, head by head: Megatron-LM megatron/core/transformer/multi_latent_attention.py.
    """
    passes = 3 + _repeated(recompute)
    width = head_dim + rope_head_dim + where(value_head_dim > 0, value_head_dim, head_dim)
    return stage_layers * passes * (context_parallel - 1) * gpu_tokens * gpu_kv_heads * width * activation_element_bytes


@law
def expert_bytes(stage_moe_layers, gpu_tokens, hidden, experts_per_token=0, recompute=0, tensor_parallel=1, expert_parallel=1,
                 activation_element_bytes=...):
    """Bytes a GPU sends in its expert-parallel group for one micro-batch: each token to its experts and back, forward and
    backward. GShard (arXiv 2006.16668, section 3.2).
    """
    passes = 4 + 2 * _repeated(recompute)
    message = gpu_tokens * experts_per_token * hidden * activation_element_bytes / tensor_parallel
    return stage_moe_layers * passes * message * (expert_parallel - 1) / expert_parallel


@law
def pipeline_bytes(gpu_tokens, hidden, pipeline_parallel=1, virtual_stages=1, tensor_parallel=1, activation_element_bytes=...):
    """Bytes a GPU sends to the next and the last stage for one micro-batch, each rank its share of the activations.

    Narayanan et al. 2021 (arXiv 2104.04473, section 4.1).
    """
    message = gpu_tokens * hidden * activation_element_bytes / tensor_parallel
    return minimum(pipeline_parallel - 1, 1) * 2 * virtual_stages * message


@law
def data_bytes(gpu_params, gradient_element_bytes, micro_batches, zero_stage=0, data_parallel=1, weight_element_bytes=...):
    """Bytes a GPU sends to its replicas in a step. ZeRO (arXiv 1910.02054, section 7).

    Stage 0 all-reduces gradients. Stage 1 scatters their sum and gathers weights; stage 2 scatters after each micro-batch;
    stage 3 gathers for each forward and each backward pass too.
    """
    gradients, weights = gpu_params * gradient_element_bytes, gpu_params * weight_element_bytes
    scattered = where(zero_stage >= 2, micro_batches, 1) * gradients
    gathered = where(zero_stage >= 1, where(zero_stage >= 3, 2 * micro_batches, 1) * weights, gradients)
    return (scattered + gathered) * (data_parallel - 1) / data_parallel


# A layer that is split

@law
def layer_compute_seconds(tokens, hidden, tensor_parallel, peak_flops, compute_efficiency=1):
    """Forward pass of a layer's share on one GPU (s): 24 h^2 FLOP a token. Narayanan et al. 2021 (arXiv 2104.04473, appendix).

    Plain MLP of width 4h and full key-value heads; attention scores left out.
    """
    return 24 * tokens * hidden**2 / (tensor_parallel * peak_flops * compute_efficiency)


@law
def layer_communication_seconds(tokens, hidden, tensor_parallel, link_bandwidth, latency=0, activation_element_bytes=...,
                                link_efficiency=1, base_latency=0):
    """Two all-reduces of the layer's output in a forward pass (s). Megatron-LM (arXiv 1909.08053, section 3)."""
    return 2 * all_reduce_seconds.formula(tokens * hidden * activation_element_bytes, tensor_parallel, link_bandwidth, latency,
                                          link_efficiency, base_latency)


@law
def layer_seconds(layer_compute_seconds, layer_communication_seconds, overlap=0):
    """A split layer's forward pass (s); at most `overlap` of the communication hides, and no more than fits beside compute."""
    return layer_compute_seconds + maximum((1 - overlap) * layer_communication_seconds,
                                           layer_communication_seconds - layer_compute_seconds)


@law
def tensor_parallel_limit(hidden, link_bandwidth, peak_flops, activation_element_bytes=..., compute_efficiency=1):
    """Degree at which a layer communicates as long as it computes (count): 3hB/F at 2 bytes an activation.

    From 24 h^2 / (t F) = 4 h e / B in the forward pass, with the ring's (t-1)/t taken as 1 and no latency. Tokens cancel.
    """
    return 6 * hidden * link_bandwidth / (activation_element_bytes * peak_flops * compute_efficiency)


@law
def meeting_degree(tokens, hidden, link_bandwidth, peak_flops, latency=0, activation_element_bytes=..., compute_efficiency=1,
                   link_efficiency=1):
    """Degree at which a layer communicates exactly as long as it computes (count), with the ring's (t-1)/t and its latency.

    The root of a t^2 + (s - a) t = s + c: c the layer's compute on one GPU, s = 4 T h e / B, a four latencies.
    """
    alone = 24 * tokens * hidden**2 / (peak_flops * compute_efficiency)
    sent = 4 * tokens * hidden * activation_element_bytes / (link_bandwidth * link_efficiency)
    rest = sent - 4 * latency
    return 2 * (alone + sent) / (rest + sqrt(rest * rest + 16 * latency * (alone + sent)))


@law
def tp_decode_seconds(weight_bytes, layers, tensor_parallel, bandwidth, all_reduce_seconds, bandwidth_efficiency=1):
    """Batch-1 decode step under tensor parallelism (s): a GPU reads its share; 2 all-reduces a layer wait if it has peers.

    The message is one token's activations, so `all_reduce_seconds` is almost only latency. Pope et al. 2022
    (arXiv 2211.05102, section 3).
    """
    waiting = 2 * layers * all_reduce_seconds * minimum(tensor_parallel - 1, 1)
    return weight_bytes / (tensor_parallel * bandwidth * bandwidth_efficiency) + waiting


# Stages and replicas

@law
def pipeline_bubble(pipeline_parallel, micro_batches, virtual_stages=1):
    """Share of a step in which a GPU waits (fraction). Narayanan et al. 2021 (arXiv 2104.04473, section 2.2).

    Bubble over ideal time is (p-1)/(v m); over the whole step it is (p-1)/(v m + p - 1).
    """
    return (pipeline_parallel - 1) / (virtual_stages * micro_batches + pipeline_parallel - 1)


@law
def pipeline_pays_micro_batches(pipeline_parallel, layer_compute_seconds, layer_communication_seconds, virtual_stages=1):
    """Micro-batches above which p stages beat a tensor split across the same nodes (count).

    The bubble costs (p-1)/v times a stage's compute once a step, the split its communication in every micro-batch.
    """
    return quotient((pipeline_parallel - 1) * layer_compute_seconds, virtual_stages * layer_communication_seconds)


@law
def gradient_seconds(params, data_parallel, link_bandwidth, latency=0, gradient_element_bytes=..., tensor_parallel=1,
                     pipeline_parallel=1, link_efficiency=1, base_latency=0):
    """All-reduce of the gradients of one GPU's share across the replicas, nothing overlapped (s)."""
    share = params / (tensor_parallel * pipeline_parallel)
    return all_reduce_seconds.formula(share * gradient_element_bytes, data_parallel, link_bandwidth, latency, link_efficiency,
                                      base_latency)


@law
def gradient_hiding_tokens(peak_flops, link_bandwidth, gradient_element_bytes=..., compute_efficiency=1, link_efficiency=1):
    """Tokens a GPU must work on in a step so that its gradients' all-reduce fits beside the backward pass (count).

    From 2 e / B = 4 T / F per parameter, with the ring's (N-1)/N taken as 1. Parameters and degrees cancel.
    """
    return gradient_element_bytes * peak_flops * compute_efficiency / (2 * link_bandwidth * link_efficiency)


@law
def zero3_hiding_tokens(peak_flops, link_bandwidth, weight_element_bytes=..., gradient_element_bytes=..., compute_efficiency=1,
                        link_efficiency=1):
    """Tokens a GPU must work on in a micro-batch so that ZeRO-3 is not bound by the network (count).

    Two gathers of the weights and a scatter of the gradients beside 6 FLOP a token: (2 e_w + e_g) / B = 6 T / F per parameter.
    """
    moved = (2 * weight_element_bytes + gradient_element_bytes) / (link_bandwidth * link_efficiency)
    return moved * peak_flops * compute_efficiency / 6


@law
def critical_batch_tokens(loss, batch_scale=..., batch_exponent=...):
    """Tokens of a step above which more replicas buy little (count). Kaplan et al. 2020 (arXiv 2001.08361, section 5.1)."""
    return batch_scale / loss ** (1 / batch_exponent)


@law
def batch_efficiency(step_tokens, critical_batch_tokens):
    """Share of a step's tokens that count, against a small step's (ratio). McCandlish et al. 2018 (arXiv 1812.06162)."""
    return 1 / (1 + step_tokens / critical_batch_tokens)


@law
def gpus_required(required_bytes, usable_bytes):
    """GPUs that hold the bytes, split evenly (count); infinite if a GPU has no room."""
    return ceil(quotient(required_bytes, usable_bytes))


@law
def nodes_required(gpus_required, gpus_per_node=...):
    """Nodes that hold the GPUs (count)."""
    return ceil(gpus_required / gpus_per_node)
