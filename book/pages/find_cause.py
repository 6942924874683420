"""Find the cause: what slows a step, by what was measured, and what NCCL's log says of its network."""
import math
import re
from statistics import NormalDist
from typing import Any, NamedTuple

from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import dollars, percent
from gpucalc.laws import arithmetic_intensity as ai, interconnect as ic, kernels as kn, training_cost as tc, waiting as wt
from gpucalc.rows import catalogue
from ..components.show import table
from .hardware_facts import wasted


# Why a job is slow: each cause as a case with a share of full speed, in order of likelihood, and what a month of it costs.


class Cause(NamedTuple):
    """One cause: its name, what was assumed, the law that says it, and the share of full speed that is left."""

    name: str
    case: Case
    law: Any
    share: float


def loading(gpu: str, params: float, tokens: float, mfu: float, **loader: float) -> Cause:
    """A model of so many parameters that reads samples of so many tokens; loader: what `fed_share` takes."""
    gpus, samples = loader.pop("gpus"), loader["step_samples"]
    flops = Case(active_params=params, training_tokens=samples * tokens)(tc.training_flops)
    seconds = flops / (gpus * catalogue.gpu(gpu).peak_flops * mfu)
    case = Case(step_seconds=seconds, **loader)
    return Cause("data loading", case, wt.fed_share, case(wt.fed_share))


def small_batch(gpu: str, tokens: float) -> Cause:
    """Products of so many tokens at once: each weight is read for that many, so they are the FLOP per byte."""
    case = Case(gpu=gpu, intensity=tokens)
    return Cause("too few tokens at once", case, ai.attainable_flops, case(ai.attainable_flops) / case.rows["gpu"].peak_flops)


def launches(gpu: str, model: str, context: int, host_kernel_seconds: float) -> Cause:
    """One token of one sequence, with a processor that starts each kernel."""
    alone = Case(model=model, gpu=gpu, batch=1, context=context, efficiency="achieved")
    case = Case(pass_kernels=alone(kn.pass_kernels), pass_seconds=alone(ai.decode_seconds),
                host_kernel_seconds=host_kernel_seconds)
    return Cause("launch overhead", case, wt.launched_share, case(wt.launched_share))


def wide(gpu: str, part_share: float) -> Cause:
    """A step in FP32 on tensor cores, TF32, of which products would be so large a share: what BF16 speeds up.

    Raises ValueError where the card has no TF32.
    """
    card = catalogue.gpu(gpu)
    if card.tf32_flops != card.tf32_flops:
        raise ValueError(f"gpu {gpu!r}: no tf32_flops in data/gpus.csv; allowed: a card with tensor cores that take TF32")
    case = Case(part_share=part_share, part_speedup=card.peak_flops / card.tf32_flops)
    return Cause("no mixed precision", case, wt.sped_up, 1 / case(wt.sped_up))


def memory(reserved_bytes: float, allocated_bytes: float) -> Cause:
    """Memory that the allocator holds and no tensor uses."""
    case = Case(reserved_bytes=reserved_bytes, allocated_bytes=allocated_bytes)
    return Cause("fragmentation", case, wt.unused_reserved_share, 1 - case(wt.unused_reserved_share))


def network(gpu: str, model: str, replicas: int, tokens: int, mfu: float, link: str) -> Cause:
    """Gradients of all replicas over a link, beside the time of a step on so many tokens a GPU, all of it overlapped."""
    params = catalogue.model(model).params
    case = Case(params=params, data_parallel=replicas, link=link, gradient_element_bytes=2)
    step = tc.training_flops(params, tokens) / (catalogue.gpu(gpu).peak_flops * mfu)
    return Cause("gradients over TCP", case, ic.gradient_seconds, step / max(step, case(ic.gradient_seconds)))


def slow_one(slow_factor: float) -> Cause:
    """One GPU that takes so many times as long, in a job that waits for all."""
    case = Case(slow_factor=slow_factor)
    return Cause("one slow GPU", case, wt.slowed_share, case(wt.slowed_share))


def costs(causes: list[Cause], rent: Any, gpus: int = 8) -> list[float]:
    """What each cause costs in a month on so many GPUs at that rent (USD)."""
    return [wasted(each.share, rent, gpus) for each in causes]


def expected_slowest(gpus: int, spread: float, steps: int = 4000) -> float:
    """The mean of the slowest of so many normal times over their mean, by numbers; `straggler_factor` is a bound on it."""
    chance, width = NormalDist().cdf, 16 / steps
    points = [-8 + width * (step + 0.5) for step in range(steps)]
    above = math.fsum(1 - chance(at) ** gpus for at in points if at > 0)
    below = math.fsum(chance(at) ** gpus for at in points if at < 0)
    return 1 + spread * width * (above - below)


# What a log of NCCL says of a network: who carries the data, over which interfaces, and which settings somebody made.

_INFO = re.compile(r"NCCL INFO (.*)")
_USING = re.compile(r"Using network (\S+)")
_PORTS = re.compile(r"NET/(?:IB|Socket) : Using (.*)")
_PORT = re.compile(r"\[\d+\]([^\s:;]+):")
_SET = re.compile(r"(NCCL_\w+) set by environment to (\S+?)\.?$")
_BANDWIDTH = re.compile(r"=== System : maxBw (\d+(?:\.\d+)?)")


class Network(NamedTuple):
    """What a log says: `network` as it names it, `ports`, `settings`, GPUDirect, and the rate that NCCL counts on (bytes/s)."""

    network: str
    ports: tuple[str, ...]
    settings: dict[str, str]
    gpu_direct: bool
    bandwidth: float | None

    @property
    def verdict(self) -> str:
        """One line for somebody who reads such a log for the first time."""
        if self.network == "Socket":
            return f"TCP over {', '.join(self.ports)}: RDMA is not used"
        return f"RDMA over {', '.join(self.ports)}" + ("" if self.gpu_direct else ", no channel names GPUDirect in these lines")


def read(text: str) -> Network:
    """The first network that a log names. Raises ValueError where it names none: was NCCL_DEBUG=INFO set?"""
    lines = [found[1].strip() for found in map(_INFO.search, text.splitlines()) if found]
    networks = [found[1] for found in map(_USING.search, lines) if found]
    if not networks:
        raise ValueError("log: no line of NCCL says `Using network`; allowed: what a job writes with NCCL_DEBUG=INFO")
    ports = dict.fromkeys(port for found in map(_PORTS.search, lines) if found
                          for port in _PORT.findall(found[1].split("OOB")[0]))
    rates = [float(found[1]) for found in map(_BANDWIDTH.search, lines) if found]
    return Network(networks[0], tuple(ports), {found[1]: found[2] for found in map(_SET.search, lines) if found},
                   any("GDRDMA" in line for line in lines), rates[0] * 1e9 if rates else None)


# Why a job is slow, as a page shows it: the list in order, and a log of NCCL that others published.

# NVIDIA/nccl, issue 1053: lines as they were posted, others left out.
WRONG_LOG = """\
axa:3048391:3048566 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.
axa:3048391:3048566 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to lo
axa:3048391:3048566 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0>
axa:3048391:3048566 [0] NCCL INFO Using network Socket
axa:3048391:3048566 [0] NCCL INFO NET/Socket : GPU Direct RDMA Disabled for HCA 0 'lo'
axa:3048391:3048566 [0] NCCL INFO === System : maxBw 1.2 totalBw 264.0 ===
"""

# How one sees each cause, and what fixes it, by its name.
ADVICE = {
    "data loading": ("the GPU is idle at the start of every step", "more processes, smaller files, decode on the GPU"),
    "too few tokens at once": ("memory is busy, tensor cores are not", "a larger micro-batch, or fewer and fuller GPUs"),
    "launch overhead": ("gaps between short kernels in a profile", "torch.compile, a CUDA graph"),
    "no mixed precision": ("tensor activity is low, kernels are named sgemm or tf32", "autocast in BF16"),
    "fragmentation": ("reserved memory far above allocated", "expandable segments, fixed shapes"),
    "gradients over TCP": ("the log says NET/Socket", "RDMA on, the right interface"),
    "one slow GPU": ("all GPUs wait at the same step, one never does", "take it out and run the same test on it"),
}


def causes_table(causes, costs, caption):
    """The list to walk from the top: each cause, how one sees it, what is left of the speed, what it costs, the fix."""
    rows = [dict(cause=each.name, seen=ADVICE[each.name][0], left=each.share, cost=cost, fix=ADVICE[each.name][1])
            for each, cost in zip(causes, costs, strict=True)]
    return table(DataFrame(rows), caption, labels={"cause": "cause", "seen": "how you see it", "left": "of full speed",
                                                   "cost": "wasted a month", "fix": "fix"},
                 formats={"left": percent, "cost": dollars})


def waiting_table(counts, bounds, means, caption):
    """How long jobs of so many equal GPUs wait for their slowest: the bound of the formula, and the mean by numbers."""
    return table(DataFrame(dict(gpus=counts, bound=[each - 1 for each in bounds], mean=[each - 1 for each in means])), caption,
                 labels={"gpus": "GPUs", "bound": "mean wait, at most", "mean": "mean wait"},
                 formats={"bound": percent, "mean": percent})
