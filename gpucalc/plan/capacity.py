"""How many GPUs serve a load: for each GPU and tensor-parallel degree, the batch that takes the fewest.

Plans are made for the times to plan for: those of the formulas, moved by how far off published requests were.
"""
import math
from typing import NamedTuple

import numpy

from ..core.arithmetic import maximum, where
from ..core.evaluate import Case
from ..core.quantities import DEFAULTS
from ..laws.sharding import layout_rules
from ..rows import catalogue
from .columns import of_frame, stacked, taken
from .decisions import ALONE, BATCHES as BATCHES, FLEET, HELD, REPLICAS
from .rule import Figure, Points, chosen

# What a GPU's row takes from its link beside what it holds already.
LINK = ["latency", "base_latency", "quick_latency", "quick_base_latency", "quick_bandwidth", "switch_latency", "peer_reads"]
TIMES = ("replica_prefill_seconds", "replica_pass_seconds", "time_per_output_token", "request_seconds",
         "output_tokens_per_second")
ENDS = ("low", "plan", "high")


def linked_gpus(needed, weight_format=None, cache_element_bytes=None):
    """GPUs with the protocols of their link that can serve the formats; ValueError if `needed` is one of the others.

    With weights in FP8 their products run in 8 bits where they have such; else the weights are converted on the way.
    """
    cards = catalogue.gpus().join(catalogue.links()[LINK], on="link")
    reasons = left_out(cards, weight_format, cache_element_bytes)
    cards = cards[reasons == ""]
    if needed not in cards.index:
        reason = reasons.get(needed) or "unknown"
        raise ValueError(f"gpu {needed!r}: {reason}; allowed: {', '.join(cards.index)}")
    return cards.assign(narrow_products=1.0 * (cards["fp8_flops"].notna() & (weight_format == "FP8")))


def left_out(cards, weight_format=None, cache_element_bytes=None):
    """Why each of the cards, joined with its link, is in no plan; empty where it may be.

    A format needs the compute capability that formats.csv has for it, and FP8 on a card that is not NVIDIA's its own FP8 peak. A
    cache of one byte an element is FP8.
    """
    formats = {weight_format, "FP8" if cache_element_bytes == 1 else None} - {None}
    reasons = where(cards["latency"].isna(), "the latency of its link is not known", "")
    for name in sorted(formats):
        least = catalogue.weight_format(name).get("least_capability", math.nan)
        unable = cards["compute_capability"] < least
        if name == "FP8":
            unable |= cards["compute_capability"].isna() & cards["fp8_flops"].isna()
        reasons = where(unable, f"no {name} path", reasons)
    return reasons


def allowed_degrees(architecture, degrees=(1, 2, 4, 8)):
    """Those tensor-parallel degrees that divide the model."""
    return [degree for degree in degrees if all(rule[-1] for rule in layout_rules(architecture, tensor_parallel=degree))]


def search(case, cards, degrees):
    """Times of a full replica for each GPU, degree and batch of BATCHES, and the `places` its memory has: a table of points.

    `low`, `plan` and `high` are what `paced` multiplies times by; 1 but for achieved efficiencies, which published figures check.
    case: model, efficiency, formats, prompt, output, cached_share where prompts begin alike, and what the engine's count of
    memory (`concurrency`) needs. cards: rows of `linked_gpus`.
    """
    import pandas
    open_case = case.but(gpu=None, link=None, batch=None, tensor_parallel=None)
    every = REPLICAS._replace(axes=REPLICAS.axes | {"tensor_parallel": degrees}, limits=(),
                              figures=(*REPLICAS.figures, Figure("output_tokens_per_second")))
    points = Points(every, open_case, {"cards": of_frame(cards), "assumed": {}}, {})
    achieved = getattr(case.rows.get("efficiency"), "name", None) == "achieved"
    ends = points.bands["request_seconds"] if achieved else (1, 1, 1)
    found = pandas.DataFrame(points.table()).rename(columns={"concurrency": "places"}).assign(**dict(zip(ENDS, ends)))
    found = found[["gpu", "tensor_parallel", "batch", "places", *TIMES, *ENDS]].astype({"tensor_parallel": int, "batch": int})
    return found.sort_values("tensor_parallel", kind="stable", ignore_index=True)


def paced(points, end="plan"):
    """The points with their times at an end of the band of a request: one factor for all of its parts."""
    held = {name: points[name].to_numpy() for name in (*TIMES, *ENDS)}
    factor, (*times, rate) = held[end], TIMES
    return points.assign(**{name: held[name] * factor for name in times},
                         **{name: held[name] / factor for name in (rate, *ENDS)})


class Limits(NamedTuple):
    """What a plan keeps: times (s) for all but `late_share` of requests, how full the peak may make it, replicas to spare."""

    answer_limit: float = math.inf
    late_share: float = DEFAULTS["late_share"].value
    first_token_limit: float = math.inf
    token_limit: float = math.inf
    most_load: float = DEFAULTS["most_load"].value
    spare_replicas: float = DEFAULTS["spare_replicas"].value

    def case(self, requests_per_second):
        """The case of a load with these limits."""
        return Case(requests_per_second=requests_per_second, **self._asdict())


def limits_of(case):
    """The `Limits` among the inputs of a case, by name."""
    return {name: case.inputs[name] for name in Limits._fields if name in case.inputs}


def limited(**limits):
    """The `Limits` of these values; None is the default."""
    return Limits(**{name: value for name, value in limits.items() if value is not None})


def plans(points, requests_per_second, answer_limit=None, late_share=None, first_token_limit=None, token_limit=None,
          most_load=None, spare_replicas=None):
    """Of each GPU and degree the point whose fewest GPUs carry the load within the limits, at the times to plan for.

    All are in time while the spare replicas are out of service; with them the peak fills no more than `most_load`. A limit on
    times that is None is none, of the others it is the default. `low_gpus` and `high_gpus` are the fewest at the ends of the
    band, `formula_gpus` without it. Each is infinite where none will do; `limit` is the reason of the limit of `FLEET` that is in
    the way of the plan.
    """
    limits = limited(answer_limit=answer_limit, late_share=late_share, first_token_limit=first_token_limit,
                     token_limit=token_limit, most_load=most_load, spare_replicas=spare_replicas)
    sides = {"": paced(points), "formula_": points, "low_": paced(points, "low"), "high_": paced(points, "high")}
    table = stacked([_table(each) | {"side": numpy.full(len(points), side)} for side, each in enumerate(sides.values())])
    found, able = chosen(FLEET._replace(of=("side", *FLEET.of)), limits.case(requests_per_second), table)
    gpus = where(able, found["planned_gpus"], math.inf).reshape(len(sides), -1)
    best = taken(found, slice(gpus.shape[1]))
    reasons = numpy.array([*(limit.reason for limit in FLEET.limits), ""], object)
    return sides[""].iloc[best["place"]].assign(
        replicas=best["planned_replicas"], limit=reasons[best["broken"]],
        **{f"{side}gpus": each for side, each in zip(sides, gpus)})


def binding(found, points, requests_per_second, **limits):
    """The limit that costs each of the plans most: that without which it would take the fewest GPUs.

    It is the load where no other limit costs any, and blank where there is no plan. limits: as `plans` takes them.
    """
    case, table = limited(**limits).case(requests_per_second), _table(paced(points))
    least, binds = found["gpus"].to_numpy(float), where(found["gpus"] < math.inf, "load", "").to_numpy()
    for limit in (each for each in FLEET.limits if case.inputs.get(each.most) != math.inf):
        free, able = chosen(FLEET, case, table | {limit.most: numpy.full(len(points), math.inf)})
        gpus = where(able, free["planned_gpus"], math.inf)
        binds, least = where((gpus < least) & (binds != ""), limit.reason, binds), where(gpus < least, gpus, least)
    return binds


def alone(points, limits):
    """The points that memory holds and at which a request is in time where no other is served."""
    return points[chosen(ALONE, limits.case(1), _table(points))[-1]]


def held(points, requests_per_second, replicas, limits, step=HELD, **more):
    """What `HELD`, or a step like it, chooses of so many replicas of points, or of one; and which choices keep all limits."""
    left = maximum(replicas - limits.spare_replicas, 1)
    columns = {name: points[name] for name in ("batch", *TIMES[:-1])} | more | dict(
        requests_per_second=requests_per_second, replicas=left, replicas_required=left, held_replicas=replicas)
    table = {name: numpy.broadcast_to(column, len(replicas)) for name, column in columns.items()}
    return chosen(step, limits.case(1), table)


def banded(plan, column, band):
    """A figure of a plan, its GPUs or their bill, as a band; `band` is that of its requests' time."""
    value, low, high = (plan[f"{side}_{column}"] for side in ("formula", "low", "high"))
    likely = plan[column] if plan[column] == plan[column] else math.inf
    return band._replace(low=low, plan=likely, high=high, value=value, bound=None, unit="")


def _table(points):
    named = {"concurrency": "places"} | {name: name for name in ("gpu", "tensor_parallel", "batch", *TIMES[:-1])}
    return {name: points[column].to_numpy() for name, column in named.items()}
