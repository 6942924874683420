"""Time of collectives by latency and bandwidth, and the limits they put on tensor, pipeline and data parallelism."""
from .law import ceil, law, minimum, quotient


@law
def all_reduce_seconds(message_bytes, ranks, link_bandwidth, latency=0):
    """Ring all-reduce (s): 2(N-1) steps of a message's Nth part. Patarasuk and Yuan 2009 (doi 10.1016/j.jpdc.2008.09.002)."""
    return 2 * (ranks - 1) * (message_bytes / (ranks * link_bandwidth) + latency)


@law
def bus_bandwidth(message_bytes, ranks, all_reduce_seconds):
    """Bytes/s each GPU's link carries in a ring all-reduce: the `busbw` of NVIDIA's nccl-tests (doc/PERFORMANCE.md)."""
    return quotient(2 * (ranks - 1) * message_bytes, ranks * all_reduce_seconds)


@law
def all_gather_seconds(message_bytes, ranks, link_bandwidth, latency=0):
    """Ring all-gather (s): N-1 steps; `message_bytes` is the gathered whole. Thakur et al. 2005 (doi 10.1177/1094342005051521)."""
    return (ranks - 1) * (message_bytes / (ranks * link_bandwidth) + latency)


@law
def reduce_scatter_seconds(message_bytes, ranks, link_bandwidth, latency=0):
    """Ring reduce-scatter (s): the mirror of all-gather; `message_bytes` is the whole before it. Thakur et al. 2005."""
    return all_gather_seconds(message_bytes, ranks, link_bandwidth, latency)


@law
def all_to_all_seconds(message_bytes, ranks, link_bandwidth, latency=0):
    """Pairwise all-to-all (s): each GPU sends an Nth of its `message_bytes` to each other one. Thakur et al. 2005."""
    return (ranks - 1) * (message_bytes / (ranks * link_bandwidth) + latency)


@law
def point_to_point_seconds(message_bytes, link_bandwidth, latency=0):
    """One send (s): latency and bandwidth, Hockney 1994 (doi 10.1016/S0167-8191(06)80021-9)."""
    return message_bytes / link_bandwidth + latency


@law
def layer_compute_seconds(tokens, hidden, tensor_parallel, peak_flops, compute_efficiency=1):
    """Forward pass of one layer's share on one GPU (s): 24 h^2 FLOP per token. Narayanan et al. 2021 (arXiv 2104.04473, appendix).

    Plain MLP of width 4h and full key-value heads; attention scores left out.
    """
    return 24 * tokens * hidden**2 / (tensor_parallel * peak_flops * compute_efficiency)


@law
def layer_communication_seconds(tokens, hidden, tensor_parallel, link_bandwidth, latency=0, activation_element_bytes=2):
    """Two all-reduces of the layer's output in a forward pass (s). Megatron-LM (arXiv 1909.08053, section 3)."""
    return 2 * all_reduce_seconds(tokens * hidden * activation_element_bytes, tensor_parallel, link_bandwidth, latency)


@law
def tensor_parallel_limit(hidden, link_bandwidth, peak_flops, activation_element_bytes=2, compute_efficiency=1):
    """Degree at which a layer communicates as long as it computes (count): 3hB/F at 2 bytes an activation.

    From 24 h^2 / (t F) = 4 h e / B in the forward pass, with the ring's (t-1)/t taken as 1 and no latency. Tokens cancel.
    """
    return 6 * hidden * link_bandwidth / (activation_element_bytes * peak_flops * compute_efficiency)


@law
def tp_decode_seconds(weight_bytes, layers, tensor_parallel, bandwidth, all_reduce_seconds, bandwidth_efficiency=1):
    """Batch-1 decode step under tensor parallelism (s): each GPU reads its share; 2 all-reduces a layer wait if there are peers.

    The message is one token's activations, so `all_reduce_seconds` is almost only latency. Pope et al. 2022
    (arXiv 2211.05102, section 3).
    """
    waiting = 2 * layers * all_reduce_seconds * minimum(tensor_parallel - 1, 1)
    return weight_bytes / (tensor_parallel * bandwidth * bandwidth_efficiency) + waiting


@law
def pipeline_bubble(pipeline_parallel, micro_batches, virtual_stages=1):
    """Share of a step in which a GPU waits (fraction). Narayanan et al. 2021 (arXiv 2104.04473, section 2.2).

    Bubble over ideal time is (p-1)/(v m); over the whole step it is (p-1)/(v m + p - 1).
    """
    return (pipeline_parallel - 1) / (virtual_stages * micro_batches + pipeline_parallel - 1)


@law
def gradient_seconds(params, data_parallel, link_bandwidth, latency=0, gradient_element_bytes=2, tensor_parallel=1,
                     pipeline_parallel=1):
    """All-reduce of the gradients of one GPU's share across the replicas, nothing overlapped (s)."""
    share = params / (tensor_parallel * pipeline_parallel)
    return all_reduce_seconds(share * gradient_element_bytes, data_parallel, link_bandwidth, latency)


@law
def gpus_required(required_bytes, usable_bytes):
    """GPUs that hold the bytes, split evenly (count); infinite if a GPU has no room."""
    return ceil(quotient(required_bytes, usable_bytes))


@law
def nodes_required(gpus_required, gpus_per_node=8):
    """Nodes that hold the GPUs (count)."""
    return ceil(gpus_required / gpus_per_node)
