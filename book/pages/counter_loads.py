"""What known loads show in the counters of a GPU: decode, prefill and training, and what a card with a faster limit gains."""
from typing import Any, NamedTuple

from gpucalc.core.evaluate import Case, Row
from gpucalc.laws import arithmetic_intensity as ai, counters, shares
from gpucalc.laws.waiting import sped_up
from gpucalc.rows import catalogue

# Every peak of a card, for one that computes faster and reads as fast.
_PEAKS = ("peak_flops", "fp8_flops", "fp4_flops", "int8_flops", "tf32_flops", "narrow_flops", "quarter_flops", "integer_flops")


class Load(NamedTuple):
    """A load: its case, the activities as bands (`dram` is None where no formula counts the bytes), and what binds it."""

    name: str
    case: Case
    tensor: Any
    dram: Any
    bound: str
    gain_flops: float
    gain_bandwidth: float


def loads(case: Case, batches: list[int], mfu: float) -> list[Load]:
    """Decode at each batch, a prefill and training at an MFU, on the model and card of the case."""
    found = [_load(f"decode, batch {batch:,}", case.but(batch=batch), ai.decode_seconds, ai.decode_flops, ai.decode_bytes)
             for batch in batches]
    prompt = case.but(batch=1, counted_bytes=float(prefill_bytes(case.but(batch=1))))
    return [*found, _load("prefill of one prompt", prompt, ai.prefill_seconds, ai.prefill_flops, None), _training(case, mfu)]


def prefill_bytes(case: Case) -> float:
    """Bytes that the formula of a prefill counts: the weights once, and what other kernels move for each token."""
    terms = case.terms(ai.prefill_seconds)
    needed = case.explain(ai.prefill_seconds).steps[-1].arguments | terms
    return needed["weight_bytes"] + needed["batch"] * needed["prefilled_tokens"] * needed["token_bytes"]


def _load(name, case, seconds, flops, moved):
    inputs: dict[str, Any] = {"counted_flops": flops, "counted_seconds": seconds} | ({"counted_bytes": moved} if moved else {})
    work = case.but(**inputs)
    band, done = case.band(seconds), work(flops)
    size = work(moved) if moved else work.inputs["counted_bytes"]
    tensor = band.through(lambda time: counters.tensor_activity.formula(done, time, work(shares.product_peak)))
    dram = band.through(lambda time: counters.dram_activity.formula(size, time, work.rows["gpu"].bandwidth))
    return Load(name, work, tensor, dram, bound(case.rows["gpu"], tensor.plan, dram.plan),
                faster(case, seconds, 2, 1), faster(case, seconds, 1, 2))


def _training(case, mfu):
    """Training at an MFU: its tensor activity is that share of the peak, and what recomputing adds is left out."""
    work = case.but(batch=None, counted_flops=mfu * case(shares.product_peak), counted_seconds=1)
    one = work(counters.tensor_activity)
    compute = work(counters.compute_time_share)
    return Load(f"training at {100 * mfu:g} % MFU", work, one, None, bound(case.rows["gpu"], one, 0.0),
                sped_up(compute, 2), float("nan"))


def bound(card: Row, tensor: float, dram: float) -> str:
    """Which limit takes most of the time at these activities: memory, compute or neither."""
    case = Case(card)
    memory = counters.memory_time_share.formula(dram, case(shares.bandwidth_share))
    compute = counters.compute_time_share.formula(tensor, case(shares.product_share))
    least = counters.memory_bound_activity.defaults["bound_share"]
    return "neither" if max(memory, compute) < least else "memory" if memory >= compute else "compute"


def faster(case: Case, seconds: Any, flops: float, bandwidth: float) -> float:
    """Work in the same time on a card with so many times the FLOP/s and the bandwidth, by the formula of the load."""
    card = case.rows["gpu"]
    changed = {name: flops * card[name] for name in _PEAKS if card.get(name) == card.get(name) and name in card}
    other = Row(card | changed | {"bandwidth": bandwidth * card["bandwidth"]}, card.name, card.kind)
    return float(case(seconds) / case.but(gpu=other)(seconds))


def thresholds(gpu: str) -> dict[str, float]:
    """DRAM and tensor activity from which a limit takes most of the time on a card, and the most that either shows."""
    case = Case(catalogue.gpu(gpu))
    return {"dram": case(counters.memory_bound_activity), "tensor": case(counters.compute_bound_activity),
            "most_dram": case(shares.bandwidth_share), "most_tensor": case(shares.product_share)}
