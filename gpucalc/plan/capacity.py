"""How many GPUs serve a load: for each GPU and tensor-parallel degree, the batch that takes the fewest.

Plans are made for the times to plan for: those of the formulas, moved by how far off published requests were.
"""
import math

from ..rows import bands, catalogue
from ..laws import serving
from ..laws.kv_cache import concurrency
from ..core.arithmetic import floor, maximum, where
from ..laws.sharding import layout_rules

BATCHES = (*range(1, 16), *range(16, 64, 4), *range(64, 256, 16), *range(256, 2049, 128))
# What a GPU's row takes from its link beside what it holds already.
LINK = ["latency", "base_latency", "quick_latency", "quick_base_latency", "quick_bandwidth", "switch_latency", "peer_reads"]
TIMES = ("replica_prefill_seconds", "replica_pass_seconds", "time_per_output_token", "request_seconds",
         "output_tokens_per_second")
ENDS = ("low", "plan", "high")


def linked_gpus(needed, weight_format=None):
    """GPUs with the protocols of their link, without those where these are not known; ValueError if `needed` is one of these.

    With weights in FP8 their products run in 8 bits where they have such; else the weights are converted on the way.
    """
    cards = catalogue.gpus().join(catalogue.links()[LINK], on="link").dropna(subset="latency")
    if needed not in cards.index:
        raise ValueError(f"gpu {needed!r}: the latency of its link is not known; allowed: {', '.join(cards.index)}")
    return cards.assign(narrow_products=1.0 * (cards["fp8_flops"].notna() & (weight_format == "FP8")))


def allowed_degrees(architecture, degrees=(1, 2, 4, 8)):
    """Those tensor-parallel degrees that divide the model."""
    return [degree for degree in degrees if all(rule[-1] for rule in layout_rules(architecture, tensor_parallel=degree))]


def fewest_replicas(requests_per_second, request_seconds, batch, answer_limit, late_share=0.05):
    """Fewest replicas, for columns: enough for the load, and for answers in time; infinite if none help.

    Each replica shortens the wait, so halving finds them: between what the load takes and what does even if every request waits.
    """
    import numpy
    possible = request_seconds < answer_limit
    time, size = (numpy.asarray(column, float)[possible] for column in (request_seconds, batch))

    def in_time(replicas):
        load = serving.offered_load(requests_per_second, time, replicas, size)
        share = serving.waiting_share(load, replicas, size)
        wait = serving.waiting_seconds(share, load, time, replicas, size, late_share)
        return serving.answer_seconds(wait, time) <= answer_limit

    least = floor(requests_per_second * time / size) + 1
    spare = serving.spare_places(time, answer_limit, late_share)
    most = maximum(serving.replicas_required(requests_per_second, time, spare, size), least)
    for _ in range(int((most - least).max(initial=0)).bit_length()):
        middle = floor((least + most) / 2)
        enough = in_time(middle)
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
    factor, (*times, rate) = points[end], TIMES
    return points.assign(**{name: points[name] * factor for name in times}, **{rate: points[rate] / factor},
                         **{name: points[name] / factor for name in ENDS})


def plans(points, requests_per_second, answer_limit, late_share=0.05):
    """Of each GPU and degree the point whose fewest GPUs carry the load and answer in time, at the times to plan for.

    `low_gpus` and `high_gpus` are the fewest at the ends of the band, `formula_gpus` without it. Each is infinite where none
    will do; `limit` says what is in the way of the plan: memory, or the request time.
    """
    load = requests_per_second, answer_limit, late_share
    sides = {"formula": points, "low": paced(points, "low"), "high": paced(points, "high")}
    found = _fewest(paced(points), *load).assign(
        **{f"{side}_gpus": _fewest(moved, *load)["gpus"].to_numpy() for side, moved in sides.items()})
    reason = where(found["places"] < 1, "memory", "request time")
    return found.assign(limit=where(found["gpus"] < math.inf, "", reason))


def banded(plan, column, band):
    """A figure of a plan, its GPUs or their bill, as a band; `band` is that of its requests' time."""
    value, low, high = (plan[f"{side}_{column}"] for side in ("formula", "low", "high"))
    chosen = plan[column] if plan[column] == plan[column] else math.inf
    return band._replace(low=low, plan=chosen, high=high, value=value, bound=None, unit="")


def _fewest(points, requests_per_second, answer_limit, late_share):
    replicas = fewest_replicas(requests_per_second, points["request_seconds"], points["batch"], answer_limit, late_share)
    gpus = (replicas * points["tensor_parallel"]).where(points["batch"] <= points["places"], math.inf)
    found = points.assign(replicas=replicas, gpus=gpus).sort_values(["gpus", "batch"], kind="stable")
    return found.drop_duplicates(["gpu", "tensor_parallel"]).sort_index()
