"""Why a job is slow, as a page shows it: the list in order, and logs of NCCL that others published."""
from pandas import DataFrame

from gpucalc.core.figures import dollars, percent
from ..components.show import table

# NVIDIA/nccl, issue 1053, and NVIDIA/nccl-tests, issue 188: lines as they were posted, others left out.
WRONG_LOG = """\
axa:3048391:3048566 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.
axa:3048391:3048566 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to lo
axa:3048391:3048566 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0>
axa:3048391:3048566 [0] NCCL INFO Using network Socket
axa:3048391:3048566 [0] NCCL INFO NET/Socket : GPU Direct RDMA Disabled for HCA 0 'lo'
axa:3048391:3048566 [0] NCCL INFO === System : maxBw 1.2 totalBw 264.0 ===
"""
RIGHT_LOG = """\
user:695836:695883 [5] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_2:1/IB [2]mlx5_4:1/RoCE [RO]; OOB ibs85f0:192.168.1.14<0>
user:695836:695883 [5] NCCL INFO Using network IB
"""

# How one sees each cause, and what mends it, by its name.
ADVICE = {
    "data loading": ("the GPU is idle at the start of every step", "more processes, smaller files, decode on the GPU"),
    "too few tokens at once": ("memory is busy, tensor cores are not", "a larger micro-batch, or fewer and fuller GPUs"),
    "kernels started one by one": ("gaps between short kernels in a profile", "torch.compile, a CUDA graph"),
    "no mixed precision": ("tensor activity is low, kernels are named sgemm or tf32", "autocast in BF16"),
    "memory in pieces": ("reserved memory far above allocated", "expandable segments, fixed shapes"),
    "gradients over TCP": ("the log says NET/Socket", "RDMA on, the right interface"),
    "one slow GPU": ("all GPUs wait at the same step, one never does", "take it out and run the same test on it"),
}


def causes_table(causes, costs, caption):
    """The list to walk from the top: each cause, how one sees it, what is left of the speed, what it costs, the mend."""
    rows = [dict(cause=each.name, seen=ADVICE[each.name][0], left=each.share, cost=cost, mend=ADVICE[each.name][1])
            for each, cost in zip(causes, costs, strict=True)]
    return table(DataFrame(rows), caption, labels={"cause": "cause", "seen": "how you see it", "left": "of full speed",
                                                   "cost": "wasted a month", "mend": "the mend"},
                 formats={"left": percent, "cost": dollars})


def waiting_table(counts, bounds, means, caption):
    """How long jobs of so many equal GPUs wait for their slowest: the bound of the formula, and the mean by numbers."""
    return table(DataFrame(dict(gpus=counts, bound=[each - 1 for each in bounds], mean=[each - 1 for each in means])), caption,
                 labels={"gpus": "GPUs", "bound": "mean wait, at most", "mean": "mean wait"},
                 formats={"bound": percent, "mean": percent})
