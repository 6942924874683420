"""How many GPUs serve a load: of each card and degree the batch that takes the fewest, and the queue of that fleet."""
import math
from typing import NamedTuple

import numpy

from ..core.arithmetic import maximum, where
from ..core.evaluate import Case
from ..core.quantities import DEFAULTS
from ..laws import queueing
from ..laws.sharding import layout_rules
from ..rows import catalogue, tables
from .columns import of_frame, stacked, taken
from .jobs import ONE_REQUEST, BATCHES, BEST_FLEET, STANDING_FLEET, PROMPTS, REPLICAS
from .rule import chosen, Figure, Points, value_of


# How many GPUs serve a load: for each GPU and tensor-parallel degree, the batch that takes the fewest.
#
# Plans are made for the times to plan for: those of the formulas, moved by how far off published requests were.

# What a GPU's row takes from its link beside what it holds already.
LINK = ["latency", "base_latency", "quick_latency", "quick_base_latency", "quick_bandwidth", "switch_latency", "peer_reads"]
TIMES = ("replica_prefill_seconds", "replica_pass_seconds", "prompt_turn_seconds", "prompt_seconds", "prompt_host_seconds",
         "speculative_seconds", "time_per_output_token", "request_seconds", "output_tokens_per_second")
# What the queue of a point needs beside its times: shares of them, and the lengths of the requests.
QUEUED = ("fixed_share", "growing_share", "lone_share", "prompt", "output", "prompt_p95", "output_p95", "cached_share",
          "prompt_chunk", "prompts_apart")
# The ends of the band of a request, and of that of the reading of prompts.
ENDS = ("low", "plan", "high")
PROMPT_ENDS = tuple(f"prompt_{end}" for end in ENDS)
# What a plan has a count and a bill for, as the beginning of a column, and the end of the band: the plan, the formula without it.
SIDES = {"": "plan", "formula_": None, "low_": "low", "high_": "high"}


def with_links():
    """All GPUs with the protocols of their link; blank where those are not known."""
    return catalogue.gpus().join(catalogue.links()[LINK], on="link")


def linked_gpus(needed, weight_format=None, cache_element_bytes=None):
    """GPUs with the protocols of their link that can serve the formats; ValueError if `needed` is one of the others.

    Products run in the format's own bits on cards that have such; on the others the weights are converted on the way.
    """
    cards = with_links()
    reasons = left_out(cards, weight_format, cache_element_bytes)
    cards = cards[reasons == ""]
    if needed not in cards.index:
        reason = reasons.get(needed) or "unknown"
        raise ValueError(f"gpu {needed!r}: {reason}; allowed: {', '.join(cards.index)}")
    return cards.assign(narrow_products=narrow_products(cards, weight_format))


def narrow_products(cards, weight_format=None):
    """How often each of the cards halves the 16 bits of products with weights in the format."""
    if weight_format is None:
        return numpy.zeros(len(cards))
    return catalogue.narrow_products(cards, catalogue.weight_format(weight_format))


def left_out(cards, weight_format=None, cache_element_bytes=None):
    """Why each of the cards, joined with its link, is in no plan; empty where it may be. formats.csv says what a format needs.

    A cache of one byte an element is FP8, one of 0.5625 NVFP4.
    """
    reasons = where(cards["latency"].isna(), "the latency of its link is not known", "")
    if weight_format is not None:
        reasons = _or_why(reasons, cards, catalogue.weight_format(weight_format), "least_capability")
    if cache_element_bytes in cache_formats():
        reasons = _or_why(reasons, cards, cache_formats()[cache_element_bytes], "cache_capability", " cache")
    return reasons


def cache_formats():
    """The formats in which engines keep a cache that cards may lack, by bytes of an element without its scales a tensor."""
    stored = ((name, row) for name, row in tables.rows("formats").items() if row["cache_capability"] > 0)
    return {round(row["weight_element_bytes"], 4): catalogue.weight_format(name) for name, row in stored}


def _or_why(reasons, cards, stored, capability, kept=""):
    """The reasons, and on which cards engines have no path for a format: by compute capability, by vendor, by peak."""
    import pandas
    told, opening = [], f"no {stored.name}{kept} path: "
    for name, card, reason in zip(cards.index, cards.to_dict("records"), reasons):
        peak = stored["product_needs"]
        if card["compute_capability"] < stored[capability]:
            reason = f"{opening}needs compute capability {stored[capability]:g}, {name} has {card['compute_capability']:g}"
        elif stored["vendors"] and card["vendor"] not in stored["vendors"].split():
            reason = f"{opening}engines have it for {' and '.join(stored['vendors'].split())}, not for {card['vendor']}"
        elif peak and card[peak] != card[peak] and card["vendor"] not in stored["converted"].split():
            reason = f"{opening}needs a peak in such products, {name} has none"
        told.append(reason)
    return pandas.Series(told, reasons.index, dtype=object)


def allowed_degrees(architecture, degrees=(1, 2, 4, 8)):
    """Those tensor-parallel degrees that divide the model."""
    return [degree for degree in degrees if all(rule[-1] for rule in layout_rules(architecture, tensor_parallel=degree))]


def search(case, cards, degrees, batches=BATCHES):
    """Times of a full replica for each GPU, degree and batch, and the `places` its memory has: a table of points.

    `low`, `plan` and `high` are what `paced` multiplies times by, those with `prompt_` of prompts; 1 but for achieved
    efficiencies, which published figures check.
    case: model, efficiency, formats, prompt, output, cached_share where prompts begin alike, and what the engine's count of
    memory (`concurrency`) needs. cards: rows of `linked_gpus`.
    """
    import pandas
    open_case = case.but(gpu=None, link=None, batch=None, tensor_parallel=None)
    every = REPLICAS._replace(axes={"tensor_parallel": degrees, "batch": batches}, limits=(), sparing=(),
                              figures=(*REPLICAS.figures, Figure("output_tokens_per_second")))
    points = Points(every, open_case, {"cards": of_frame(cards), "assumed": {}}, {}).work()
    achieved = getattr(case.rows.get("efficiency"), "name", None) == "achieved"
    ends = [*points.bands["request_seconds"], *points.bands[PROMPTS[0]]] if achieved else [1] * 6
    found = pandas.DataFrame(points.table()).rename(columns={"replica_places": "places"})
    found = found.assign(**lengths_of(case), **dict(zip((*ENDS, *PROMPT_ENDS), ends)))
    found = found[["gpu", "tensor_parallel", "batch", "places", *TIMES, *QUEUED, *ENDS, *PROMPT_ENDS]]
    found = found.astype({"tensor_parallel": int, "batch": int})
    return found.sort_values("tensor_parallel", kind="stable", ignore_index=True)


def lengths_of(case):
    """The lengths of a case's requests and how prompts are read, by name; 0 where it says nothing of lengths."""
    chunk = case.rows.get("engine", {}).get("prompt_chunk", DEFAULTS["prompt_chunk"].value)
    return {name: value_of(case, name) if name in case.inputs else 0 for name in QUEUED[3:]} | (
        {} if "prompt_chunk" in case.inputs else {"prompt_chunk": chunk})


def paced(points, end="plan"):
    """The points with their times at an end of the bands: one factor for all of a request's, one for those of its prompt."""
    held = {name: points[name].to_numpy() for name in (*TIMES, *ENDS, *PROMPT_ENDS)}
    factors, (*times, rate) = {name: held[f"prompt_{end}" if name in PROMPTS else end] for name in TIMES}, TIMES
    left = {name: held[name] / held[end] for name in (rate, *ENDS)} | {
        name: held[name] / held[f"prompt_{end}"] for name in PROMPT_ENDS}
    return points.assign(**{name: held[name] * factors[name] for name in times}, **left)


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
          most_load=None, spare_replicas=None, sides=SIDES):
    """Of each GPU and degree the point whose fewest GPUs carry the load within the limits, at the times to plan for.

    All are in time while the spare replicas are out of service; with them the peak fills no more than `most_load`. A limit on
    times that is None is none, of the others it is the default. `low_gpus` and `high_gpus` are the fewest at the ends of the
    band, `formula_gpus` without it; `sides` are those that are asked for, the plan first. Each is infinite where none will do;
    `limit` is the reason of the limit of `BEST_FLEET` that is in the way of the plan.
    """
    limits = limited(answer_limit=answer_limit, late_share=late_share, first_token_limit=first_token_limit,
                     token_limit=token_limit, most_load=most_load, spare_replicas=spare_replicas)
    at = {side: points if end is None else paced(points, end) for side, end in SIDES.items() if side in sides}
    table = stacked([_table(each) | {"side": numpy.full(len(points), side)} for side, each in enumerate(at.values())])
    found, able = chosen(BEST_FLEET._replace(of=("side", *BEST_FLEET.of)), limits.case(requests_per_second), table)
    gpus = where(able, found["planned_gpus"], math.inf).reshape(len(at), -1)
    best = taken(found, slice(gpus.shape[1]))
    reasons = numpy.array([*(limit.reason for limit in BEST_FLEET.limits), ""], object)
    return at[""].iloc[best["place"]].assign(
        replicas=best["planned_replicas"], limit=reasons[best["broken"]],
        **{f"{side}gpus": each for side, each in zip(at, gpus)})


def binding(found, points, requests_per_second, **limits):
    """The limit that costs each of the plans most: that without which it would take the fewest GPUs.

    It is the load where no other limit costs any, and blank where there is no plan. limits: as `plans` takes them.
    """
    case, table = limited(**limits).case(requests_per_second), _table(paced(points))
    least, binds = found["gpus"].to_numpy(float), where(found["gpus"] < math.inf, "load", "").to_numpy()
    for limit in (each for each in BEST_FLEET.limits if case.inputs.get(each.most) != math.inf):
        free, able = chosen(BEST_FLEET, case, table | {limit.most: numpy.full(len(points), math.inf)})
        gpus = where(able, free["planned_gpus"], math.inf)
        binds, least = where((gpus < least) & (binds != ""), limit.reason, binds), where(gpus < least, gpus, least)
    return binds


def alone(points, limits):
    """The points that memory holds and at which a request is in time where no other is served."""
    return points[chosen(ONE_REQUEST, limits.case(1), _table(points))[-1]]


def held(points, requests_per_second, replicas, limits, step=STANDING_FLEET, **more):
    """What a step chooses of so many replicas of points, or of one; and which choices keep all limits."""
    left = maximum(replicas - limits.spare_replicas, 1)
    columns = {name: points[name] for name in ("batch", *TIMES[:-1], *QUEUED)} | more | dict(
        attention_parallel=points.get("attention_parallel", 1),
        requests_per_second=requests_per_second, replicas=left, replicas_required=left, held_replicas=replicas)
    table = {name: numpy.broadcast_to(column, len(replicas)) for name, column in columns.items()}
    return chosen(step, limits.case(1), table)


def banded(plan, column, band):
    """A figure of a plan, its GPUs or their bill, as a band; `band` is that of its requests' time."""
    value, low, high = (plan[f"{side}_{column}"] for side in ("formula", "low", "high"))
    likely = plan[column] if plan[column] == plan[column] else math.inf
    return band._replace(low=low, plan=likely, high=high, value=value, bound=None, unit="")


def _table(points):
    named = {"replica_places": "places"} | {name: name for name in ("gpu", "tensor_parallel", "batch", *TIMES[:-1], *QUEUED)}
    return {name: points[column].to_numpy() for name, column in named.items()}


# The queue in front of a fleet of replicas, and the fleets that answer in time with it.

# What an engine is told about its memory, where a page has no parameters for it.
ENGINE = dict(framework_bytes=1e9, batched_tokens=8192, max_sequences=256)
# Figures of a plan that mean nothing where no number of replicas is enough.
FIGURES = ("batch", "replicas", "gpus", "replica_pass_seconds", "time_per_output_token", "request_seconds",
           "output_tokens_per_second")


def fleets(points, case):
    """`capacity.plans` for the load of the case, with the figures of its queue, such as `answer_seconds`, at its times.

    Where no number of replicas is enough the figures are blank and `limit` says what is in the way.
    """
    rate, limits = case.inputs["requests_per_second"], limits_of(case)
    found = plans(points, rate, **limits)
    enough = found["gpus"] < math.inf
    waits = Case(found[enough], requests_per_second=rate, late_share=limited(**limits).late_share).terms(
        queueing.time_to_first_token, queueing.answer_seconds)
    shown = {name: found[name].astype(float).where(enough) for name in FIGURES}
    return found.assign(**shown, **waits, limit=where(enough, None, found["limit"]),
                        binds=binding(found, points, rate, **limits))


def best_by_gpu(fleets):
    """The degree of each GPU that takes the fewest, or fewer at the slow end; where none will do the largest, which says why."""
    tie = fleets["tensor_parallel"].where(fleets["gpus"].notna(), -fleets["tensor_parallel"])
    order = fleets.assign(tie=tie).sort_values(["gpus", "high_gpus", "tie"], kind="stable").drop(columns="tie")
    return order.drop_duplicates("gpu").set_index("gpu").loc[fleets["gpu"].unique()]
