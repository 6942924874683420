"""Who neighbours whom: what a group of GPUs can use of its link, by the ports that lead to a peer."""
from ..core.arithmetic import maximum, minimum, where
from ..core.law import law


@law
def beyond_bandwidth(outer_bandwidth, socket_share=1, link_efficiency=1):
    """Bandwidth between GPUs that the link does not join (bytes/s), per direction: what a ring keeps of PCIe between processors.

    NCCL src/graph/topo.h: 16 GB/s between two of AMD, 22 between two Sapphire Rapids, where those on one carry 24 and 48. No
    share for a bound.
    """
    return outer_bandwidth * where(link_efficiency < 1, socket_share, 1)


@law
def group_bandwidth(ranks, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth):
    """Link bandwidth of each GPU in a group of that many (bytes/s), per direction.

    Behind a switch all ports lead to any peer. In a full mesh one port leads to each, so a pair has one of seven. A bridge joins
    its cards alone; further ones are reached through the host. A group of a torus lies on one axis, with two ports. AMD, ROCm
    documentation, GPU hardware specifications; NVIDIA H100 NVL product brief; jax-ml/scaling-book, TPU chapter.
    """
    ports = minimum(group_ports, peer_ports * maximum(ranks - 1, 1))
    return where(ranks <= reach, port_bandwidth * ports, beyond_bandwidth)
