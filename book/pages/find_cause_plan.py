"""Why a job is slow: each cause as a case with a share of full speed, in order of likelihood, and what a month of it costs."""
import math
from statistics import NormalDist
from typing import Any, NamedTuple

from gpucalc.core.evaluate import Case
from gpucalc.laws import arithmetic_intensity as ai, interconnect as ic, kernels as kn, training_cost as tc, waiting as wt
from gpucalc.rows import catalogue
from ..components.harm import wasted


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
    return Cause("kernels started one by one", case, wt.launched_share, case(wt.launched_share))


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
    return Cause("memory in pieces", case, wt.unused_reserved_share, 1 - case(wt.unused_reserved_share))


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
