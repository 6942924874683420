"""Time of collectives among equal GPUs, by latency and bandwidth: rings, trees, switches, and which of them is taken."""
from ..core.arithmetic import log2, minimum, quotient, where
from ..core.law import law


# `base_latency` is the cost to start a collective, paid if there is a peer.
def _steps(steps, message_bytes, ranks, link_bandwidth, latency, link_efficiency, base_latency):
    """`steps` steps that send an Nth of the message each (s)."""
    piece = message_bytes / (ranks * link_bandwidth * link_efficiency)
    return steps * (piece + latency) + minimum(ranks - 1, 1) * base_latency


@law
def all_reduce_seconds(message_bytes, ranks, link_bandwidth, latency=0, link_efficiency=1, base_latency=0):
    """Ring all-reduce (s): 2(N-1) steps of a message's Nth part. Patarasuk and Yuan 2009 (doi 10.1016/j.jpdc.2008.09.002)."""
    return _steps(2 * (ranks - 1), message_bytes, ranks, link_bandwidth, latency, link_efficiency, base_latency)


@law
def all_gather_seconds(message_bytes, ranks, link_bandwidth, latency=0, link_efficiency=1, base_latency=0):
    """Ring all-gather (s): N-1 steps; `message_bytes` is the result. Thakur et al. 2005 (doi 10.1177/1094342005051521)."""
    return _steps(ranks - 1, message_bytes, ranks, link_bandwidth, latency, link_efficiency, base_latency)


@law
def reduce_scatter_seconds(message_bytes, ranks, link_bandwidth, latency=0, link_efficiency=1, base_latency=0):
    """Ring reduce-scatter (s): the mirror of all-gather; `message_bytes` is the whole before it. Thakur et al. 2005."""
    return _steps(ranks - 1, message_bytes, ranks, link_bandwidth, latency, link_efficiency, base_latency)


@law
def all_to_all_seconds(message_bytes, ranks, link_bandwidth, latency=0, link_efficiency=1, base_latency=0):
    """All-to-all (s): each GPU sends an Nth of its `message_bytes` to each other one, all at once, so the wait is one step's.

    NCCL user guide, point-to-point communication: calls within a group progress independently.
    """
    sent = message_bytes * (ranks - 1) / (ranks * link_bandwidth * link_efficiency)
    return sent + minimum(ranks - 1, 1) * (latency + base_latency)


@law
def broadcast_seconds(message_bytes, ranks, link_bandwidth, latency=0, link_efficiency=1, base_latency=0):
    """Broadcast down a chain in small pieces (s): the message once, a step for each further GPU. Thakur et al. 2005."""
    whole = message_bytes / (link_bandwidth * link_efficiency) + base_latency
    return minimum(ranks - 1, 1) * whole + (ranks - 1) * latency


@law
def point_to_point_seconds(message_bytes, link_bandwidth, latency=0, link_efficiency=1):
    """One send (s): latency and bandwidth, Hockney 1994 (doi 10.1016/S0167-8191(06)80021-9)."""
    return message_bytes / (link_bandwidth * link_efficiency) + latency


@law
def tree_all_reduce_seconds(message_bytes, ranks, link_bandwidth, latency=0, link_efficiency=1, base_latency=0):
    """All-reduce over two binary trees (s): the message up and down once, 2 log2 N steps. Sanders et al. 2009
    (doi 10.1016/j.parco.2009.09.001); a GPU inside one tree is a leaf of the other, so its link is full both ways.
    """
    whole = 2 * message_bytes / (link_bandwidth * link_efficiency) + base_latency
    return minimum(ranks - 1, 1) * whole + 2 * log2(ranks) * latency


@law
def switch_all_reduce_seconds(message_bytes, ranks, link_bandwidth, switch_latency, link_efficiency=1, switch_share=0):
    """All-reduce that the switch sums (s): a GPU sends N parts to be summed and one sum for all, (N+1)/N of the message.

    Klenk et al. 2020, An in-network architecture for shared-memory multiprocessor collectives (ISCA). Of what a ring reaches of
    the link it reaches `switch_share`, 0 if it cannot sum: NCCL src/graph/tuning.cc, nvlsEfficiency; search.cc has (N+1)/N too.
    """
    peers = minimum(ranks - 1, 1)
    sent = peers * message_bytes * (ranks + 1) / ranks
    return quotient(sent, link_bandwidth * link_efficiency * switch_share) + peers * switch_latency


# What is called: the fastest way that a group has

@law
def direct_all_reduce_seconds(message_bytes, ranks, link_bandwidth, quick_latency=0, link_efficiency=1, kernel_seconds=0):
    """All-reduce by one kernel that reads the peers' memory (s): whole messages, or an Nth of each and then the sums.

    vLLM csrc/custom_all_reduce.cuh: in one stage a flag goes to all, the read there and back, a flag again: four hops. In two
    stages there is one more flag and one more read less the last flag: six.
    """
    rate = link_bandwidth * link_efficiency
    once = (ranks - 1) * message_bytes / rate + 4 * quick_latency
    twice = 2 * (ranks - 1) * message_bytes / (ranks * rate) + 6 * quick_latency
    return minimum(ranks - 1, 1) * (minimum(once, twice) + kernel_seconds)


@law
def group_all_reduce_seconds(message_bytes, ranks, group_bandwidth, latency=0, link_efficiency=1, base_latency=0, quick_latency=0,
                             quick_base_latency=0, quick_bandwidth=0, switch_latency=0, switch_share=0):
    """All-reduce of a group as the library would choose (s): the least of ring, ring by the low-latency protocol, and switch.

    NCCL src/graph/tuning.cc. A flag with every value (LL) halves the bandwidth and caps it, and no step waits for a fence. Inside
    a node a tree is a chain, and never faster than the ring. 0 for a bandwidth or share: the link has no such way.
    """
    ring = all_reduce_seconds.formula(message_bytes, ranks, group_bandwidth, latency, link_efficiency, base_latency)
    flagged = minimum(group_bandwidth * link_efficiency / 2, quick_bandwidth)
    quick = (quotient(2 * (ranks - 1) * message_bytes, ranks * flagged) + 2 * (ranks - 1) * quick_latency
             + minimum(ranks - 1, 1) * quick_base_latency)
    switch = switch_all_reduce_seconds.formula(message_bytes, ranks, group_bandwidth, switch_latency, link_efficiency,
                                               switch_share)
    return minimum(minimum(ring, quick), switch)


@law
def engine_all_reduce_seconds(message_bytes, ranks, group_bandwidth, latency=0, link_efficiency=1, base_latency=0,
                              quick_latency=0, quick_base_latency=0, quick_bandwidth=0, switch_latency=0, switch_share=0,
                              kernel_seconds=0, peer_reads=0):
    """All-reduce of a group as a serving engine would choose (s): its own kernel where GPUs read each other, or the library.

    vLLM vllm/distributed/device_communicators/custom_all_reduce.py: links between all GPUs of the group, or it is not used.
    """
    library = group_all_reduce_seconds.formula(message_bytes, ranks, group_bandwidth, latency, link_efficiency, base_latency,
                                               quick_latency, quick_base_latency, quick_bandwidth, switch_latency, switch_share)
    own = direct_all_reduce_seconds.formula(message_bytes, ranks, group_bandwidth, quick_latency, link_efficiency, kernel_seconds)
    return where(peer_reads > 0, minimum(library, own), library)


@law
def bus_bandwidth(message_bytes, ranks, all_reduce_seconds):
    """Bytes/s each GPU's link carries in a ring all-reduce: the `busbw` of NVIDIA's nccl-tests (doc/PERFORMANCE.md)."""
    return quotient(2 * (ranks - 1) * message_bytes, ranks * all_reduce_seconds)


@law
def half_speed_bytes(ranks, link_bandwidth, latency=0, link_efficiency=1, base_latency=0):
    """Message whose ring all-reduce spends half its time on latency (bytes). Hockney's n 1/2 (1994), for a ring."""
    return (ranks * latency + quotient(ranks * base_latency, 2 * (ranks - 1))) * link_bandwidth * link_efficiency


@law
def ring_tree_bytes(ranks, link_bandwidth, latency=0, link_efficiency=1):
    """Message above which the ring beats the tree (bytes): it sends an Nth less and takes N - 1 - log2 N double steps more."""
    return (ranks - 1 - log2(ranks)) * latency * ranks * link_bandwidth * link_efficiency
