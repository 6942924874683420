"""Which layout of a search to take: bands of its time and memory, and the simplest of those that are as fast."""
import itertools
import json

import numpy

from ..core.evaluate import Case
from ..laws.training_memory import training_bytes
from ..laws.training_time import step_seconds
from ..rows import bands
from ..rows.kept import kept
from .columns import nine_digits
from .layout_grid import ENDS, LAYOUT, NEUTRAL

FAMILY = "training step"
# Kinds of parallelism; what a simpler layout has less of, the first first.
KINDS = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "zero_stage")
SIMPLER = (*KINDS[:4], "recompute", "recomputed_share", "virtual_stages", "zero_bubble", "zero_stage", "shard_parallel")


def ends(case: Case) -> dict[str, tuple[float, float, float]]:
    """Low, plan and high over the formulas of a GPU's memory and a step's time: alike for all layouts of a case."""
    one = case.but(**dict.fromkeys(LAYOUT, 1) | NEUTRAL)
    found = {law.__name__: bands.factors(one, law) for law in (training_bytes, step_seconds)}
    return {name: (float(low), float(plan), float(high)) for name, (low, plan, high) in found.items()}


def worst(case, law=step_seconds):
    """The band of the stage with the largest figure, of a case in a layout."""
    return max((case.but(last_stage=last).band(law) for last in (0, 1)), key=lambda band: band.value)


def banded(layouts, factors):
    """The layouts with low, plan and high of time and memory."""
    return layouts.assign(**{name: layouts[law] * factor for law, each in factors.items()
                             for name, factor in zip(ENDS[law], each)})


@kept
def comparison_error() -> tuple[float, int, int]:
    """How far off the formulas are in comparing two layouts of a job, and the pairs and publishers that is from.

    The errors that all layouts share cancel. A pair are two published steps of one publisher which differ in their layout alone;
    its error is that of the ratio of the two predictions. With half of the publishers eight in ten pairs are closer.
    """
    jobs: dict[tuple, list] = {}
    publishers: dict[str, list] = {}
    for row in bands.measured(FAMILY):
        inputs = json.loads(row["inputs"])
        job = [(name, str(value)) for name, value in sorted(inputs.items()) if name not in LAYOUT]
        layout = {name: inputs.get(name) for name in LAYOUT}
        jobs.setdefault((row["publisher"], row["law"], repr(job)), []).append((layout, numpy.log(row["ratio"])))
    for (publisher, *_), steps in jobs.items():
        publishers.setdefault(publisher, []).extend(
            abs(one - other) for (layout, one), (another, other) in itertools.combinations(steps, 2) if layout != another)
    pairs = [errors for errors in publishers.values() if errors]
    error = numpy.median([numpy.quantile(errors, bands.INSIDE) for errors in pairs])
    return float(numpy.expm1(error)), sum(map(len, pairs)), len(pairs)


def as_good(layouts, by="plan_seconds"):
    """The layouts whose step is within the error of a comparison of the shortest."""
    return layouts[layouts[by] <= layouts[by].min() * (1 + comparison_error()[0])]


def recommended(layouts):
    """The simplest layout within the error of the best, as a dict of its columns.

    Simplest has the fewest kinds of parallelism, then the lowest degrees of tensor, pipeline, context and expert parallel, then
    the least recompute, chunks and ZeRO; what is left goes by the time to plan for.
    """
    near = as_good(layouts)
    kinds = sum((near[name] > NEUTRAL.get(name, 1)).astype(int) for name in KINDS)
    return near.assign(kinds=kinds).sort_values(["kinds", *SIMPLER, "plan_seconds"], key=nine_digits).drop(
        columns="kinds").to_dict("records")[0]
