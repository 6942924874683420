"""What a node or a rack adds up to: sums over the row of its GPU, and its GPUs' part of its power."""
from ..core.law import law


@law
def node_marketed_bytes(gpus, marketed_bytes):
    """Memory of all GPUs as marketed (bytes). NVIDIA DGX H100 data sheet: 8 x 80 GB = 640 GB."""
    return gpus * marketed_bytes


@law
def node_memory_bytes(gpus, memory_bytes):
    """Memory of all GPUs as their driver reports it (bytes)."""
    return gpus * memory_bytes


@law
def node_bandwidth(gpus, bandwidth):
    """Memory bandwidth of all GPUs together (bytes/s)."""
    return gpus * bandwidth


@law
def node_flops(gpus, peak_flops):
    """Dense 16-bit peak of all GPUs together (FLOP/s)."""
    return gpus * peak_flops


@law
def node_fp8_flops(gpus, fp8_flops):
    """Dense FP8 peak of all GPUs together (FLOP/s)."""
    return gpus * fp8_flops


@law
def node_fp4_flops(gpus, fp4_flops):
    """Dense FP4 peak of all GPUs together (FLOP/s)."""
    return gpus * fp4_flops


@law
def node_link_bandwidth(gpus, link_bandwidth):
    """What all GPUs send over their links together, per direction (bytes/s). Data sheets print both directions: twice this."""
    return gpus * link_bandwidth


@law
def node_network_bandwidth(gpus, network_bandwidth):
    """What leaves the node for its GPUs, per direction (bytes/s)."""
    return gpus * network_bandwidth


@law
def node_gpu_power_share(gpus, tdp_watts, power_watts):
    """Share of the node's power that its GPUs may draw; fans, processors, switches and losses take the rest."""
    return gpus * tdp_watts / power_watts


@law
def node_flops_per_watt(node_flops, power_watts):
    """Dense 16-bit peak for each watt of the whole node (FLOP/s per W)."""
    return node_flops / power_watts


@law
def printed_dense_flops(printed_flops, printed_sparse):
    """Dense peak (FLOP/s) in what a sheet prints: half of it where it counts 2:4 sparse matrices. NVIDIA A100 white paper."""
    return printed_flops / (1 + printed_sparse)
