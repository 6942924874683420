"""How many GPUs serve a load: for each GPU and tensor-parallel degree, the batch that takes the fewest.

Plans are made for the times to plan for: those of the formulas, moved by how far off published requests were.
"""
import math
from typing import NamedTuple

from ..rows import bands, catalogue
from ..laws import serving
from ..laws.kv_cache import concurrency
from ..core.arithmetic import ceil, floor, maximum, minimum, where
from ..core.quantities import DEFAULTS
from ..laws.sharding import layout_rules

BATCHES = (*range(1, 16), *range(16, 64, 4), *range(64, 256, 16), *range(256, 2049, 128))
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


def in_time(requests_per_second, replicas, points, limits):
    """Whether all but the late have their first token and their answer in time, for columns."""
    time, size = points["request_seconds"], points["batch"]
    load = serving.offered_load.formula(requests_per_second, time, replicas, size)
    share = serving.waiting_share.formula(load, replicas, size)
    wait = serving.waiting_seconds.formula(share, load, time, replicas, size, limits.late_share)
    prompts = serving.prompt_wait_seconds.formula(
        requests_per_second, replicas, points["replica_prefill_seconds"], points["replica_pass_seconds"], limits.late_share)
    first = serving.time_to_first_token.formula(wait, prompts, points["replica_prefill_seconds"])
    return (load < 1) & (wait + time <= limits.answer_limit) & (first <= limits.first_token_limit)


def holds(requests_per_second, replicas, points, limits):
    """Whether so many replicas keep all of the limits, for columns."""
    filled = serving.offered_load.formula(requests_per_second, points["request_seconds"], replicas, points["batch"])
    left = replicas - limits.spare_replicas
    quick = points["time_per_output_token"] <= limits.token_limit
    return (left >= 1) & (filled <= limits.most_load) & quick & in_time(requests_per_second, maximum(left, 1), points, limits)


def fewest_replicas(requests_per_second, points, limits):
    """Fewest replicas, for columns: enough for the load, and for all in time; infinite if none help.

    Each replica shortens the waits, so halving finds them: between what the load takes and what does even if every request waits
    and no prompt does for another.
    """
    import numpy
    slack = minimum(limits.answer_limit - points["request_seconds"],
                    limits.first_token_limit - points["replica_prefill_seconds"] - points["replica_pass_seconds"])
    possible = numpy.asarray((slack > 0) & (points["time_per_output_token"] <= limits.token_limit))
    held = {name: numpy.asarray(points[name], float)[possible] for name in (*TIMES, "batch")}
    time, size = held["request_seconds"], held["batch"]
    least = floor(requests_per_second * time / size) + 1
    spare = serving.spare_places.formula(time, time + numpy.asarray(slack)[possible], limits.late_share)
    alone = 0 if limits.first_token_limit == math.inf else held["replica_prefill_seconds"] / limits.late_share
    most = maximum(serving.replicas_required.formula(requests_per_second, time, spare, size), least)
    most = maximum(most, ceil(requests_per_second * alone))
    for _ in range(int((most - least).max(initial=0)).bit_length()):
        middle = floor((least + most) / 2)
        enough = in_time(requests_per_second, middle, held, limits)
        least, most = where(enough, least, middle + 1), where(enough, middle, most)
    replicas = numpy.full(len(possible), math.inf)
    replicas[possible] = least
    return replicas


def search(case, cards, degrees):
    """Times of a full replica for each GPU, degree and batch of BATCHES, and the `places` its memory has.

    `low`, `plan` and `high` are what `paced` multiplies times by; 1 but for achieved efficiencies, which published figures check.
    case: model, efficiency, formats, prompt, output, cached_share where prompts begin alike, and what the engine's account of
    memory (`concurrency`) needs. cards: rows of `linked_gpus`.
    """
    import pandas
    length = case.inputs["prompt"] + case.inputs["output"]
    open_case = case.but(gpu=None, link=None, batch=None, tensor_parallel=None)
    grid = pandas.DataFrame({"tensor_parallel": degrees}).merge(cards.reset_index(), how="cross")
    grid["places"] = open_case.but(gpu=grid, context=length)(concurrency)
    grid = grid.merge(pandas.DataFrame({"batch": BATCHES}), how="cross")
    timed = open_case.but(gpu=grid, context=serving.mean_context)
    values = timed.terms(serving.output_tokens_per_second)
    achieved = getattr(case.rows.get("efficiency"), "name", None) == "achieved"
    ends = bands.factors(timed, serving.request_seconds) if achieved else (1, 1, 1)
    return grid[["gpu", "tensor_parallel", "batch", "places"]].assign(
        **{name: values[name] for name in TIMES}, **dict(zip(ENDS, ends)))


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
    band, `formula_gpus` without it. Each is infinite where none will do; `limit` says what is in the way of the plan: memory,
    time to first token, time per token or answer time.
    """
    limits = limited(answer_limit=answer_limit, late_share=late_share, first_token_limit=first_token_limit,
                     token_limit=token_limit, most_load=most_load, spare_replicas=spare_replicas)
    sides = {"formula": points, "low": paced(points, "low"), "high": paced(points, "high")}
    found = _fewest(paced(points), requests_per_second, limits).assign(
        **{f"{side}_gpus": _fewest_places(moved, requests_per_second, limits)[-1] for side, moved in sides.items()})
    return found.assign(limit=where(found["gpus"] < math.inf, "", _in_the_way(found, limits)))


def binding(found, points, requests_per_second, **limits):
    """The limit that costs each of the plans most: that without which it would take the fewest GPUs.

    It is the load where no other limit costs any, and blank where there is no plan. limits: as `plans` takes them.
    """
    limits, points = limited(**limits), paced(points)
    without = {"memory": (points.assign(places=math.inf), limits),
               "time to first token": (points, limits._replace(first_token_limit=math.inf)),
               "time per token": (points, limits._replace(token_limit=math.inf)),
               "answer time": (points, limits._replace(answer_limit=math.inf))}
    least, binds = found["gpus"].to_numpy(float), where(found["gpus"] < math.inf, "load", "").to_numpy()
    for name, (free, rest) in without.items():
        gpus = _fewest_places(free, requests_per_second, rest)[-1]
        binds, least = where((gpus < least) & (binds != ""), name, binds), where(gpus < least, gpus, least)
    return binds


def banded(plan, column, band):
    """A figure of a plan, its GPUs or their bill, as a band; `band` is that of its requests' time."""
    value, low, high = (plan[f"{side}_{column}"] for side in ("formula", "low", "high"))
    chosen = plan[column] if plan[column] == plan[column] else math.inf
    return band._replace(low=low, plan=chosen, high=high, value=value, bound=None, unit="")


def _fewest(points, requests_per_second, limits):
    place, replicas, gpus = _fewest_places(points, requests_per_second, limits)
    return points.iloc[place].assign(replicas=replicas, gpus=gpus)


def _fewest_places(points, requests_per_second, limits):
    """Of each GPU and degree the row with the fewest GPUs, by its place, with its replicas and GPUs."""
    import numpy
    import pandas
    held = {name: points[name].to_numpy(float) for name in (*TIMES, "batch", "places", "tensor_parallel")}
    needed = fewest_replicas(requests_per_second, held, limits)
    replicas = serving.planned_replicas.formula(needed, requests_per_second, held["request_seconds"], held["batch"],
                                                limits.most_load, limits.spare_replicas)
    gpus = numpy.where(held["batch"] <= held["places"], replicas * held["tensor_parallel"], math.inf)
    order = numpy.lexsort((held["batch"], gpus))
    kinds = pandas.factorize(points["gpu"])[0] * (held["tensor_parallel"].max(initial=0) + 1) + held["tensor_parallel"]
    place = numpy.sort(order[numpy.unique(kinds[order], return_index=True)[1]])
    return place, replicas[place], gpus[place]


def _in_the_way(found, limits):
    """What rules out the smallest batch of each: where its times would do, memory."""
    first = found["replica_prefill_seconds"] + found["replica_pass_seconds"]
    reason = where(found["request_seconds"] >= limits.answer_limit, "answer time", "memory")
    reason = where(found["time_per_output_token"] > limits.token_limit, "time per token", reason)
    reason = where(first >= limits.first_token_limit, "time to first token", reason)
    return where(found["places"] < 1, "memory", reason)
