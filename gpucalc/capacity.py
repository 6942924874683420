"""How many GPUs serve a load: for each GPU and tensor-parallel degree, the batch that takes the fewest."""
import math

from . import catalogue, serving
from .explanation import evaluate, evaluate_all
from .kv_cache import concurrency
from .law import floor, where
from .sharding import layout_rules

BATCHES = (*range(1, 16), *range(16, 64, 4), *range(64, 256, 16), *range(256, 2049, 128))
TIMES = ("prompt_seconds", "pass_seconds", "time_per_output_token", "request_seconds", "output_tokens_per_second")


def linked_gpus(needed):
    """GPUs with the latencies of their link, without those where it is not known; ValueError if `needed` is one of these."""
    links = catalogue.links()[["latency", "base_latency"]].fillna({"base_latency": 0})
    cards = catalogue.gpus().join(links, on="link").dropna(subset="latency")
    if needed not in cards.index:
        raise ValueError(f"gpu {needed!r}: the latency of its link is not known; allowed: {', '.join(cards.index)}")
    return cards


def allowed_degrees(architecture, degrees=(1, 2, 4, 8)):
    """Those tensor-parallel degrees that divide the model."""
    return [degree for degree in degrees if all(rule[-1] for rule in layout_rules(architecture, tensor_parallel=degree))]


def fewest_replicas(requests_per_second, request_seconds, batch, answer_limit, late_share=0.05):
    """Fewest replicas, for columns: first enough for the load, then more until answers are in time; infinite if none help."""
    def late(replicas):
        places = dict(replicas=replicas, batch=batch)
        load = serving.offered_load(requests_per_second, request_seconds, **places)
        share = serving.waiting_share(load, **places)
        wait = serving.waiting_seconds(share, load, request_seconds, late_share=late_share, **places)
        return serving.answer_seconds(wait, request_seconds) > answer_limit

    replicas = floor(requests_per_second * request_seconds / batch) + 1
    possible = request_seconds < answer_limit
    while (more := possible & late(replicas)).any():
        replicas = replicas + more
    return where(possible, replicas, math.inf)


def points(architecture, cards, efficiency, degrees, request, engine, **given):
    """Times of a full replica for each GPU, degree and batch of BATCHES, and the `places` its memory has.

    cards: rows of `linked_gpus`. request: prompt, output, and cached_share where prompts begin alike. engine: what
    `concurrency` needs beside model, card and degree; given: what a pass needs beside them.
    """
    import pandas
    grids = []
    for degree in degrees:
        length = request["prompt"] + request["output"]
        places = evaluate(concurrency, architecture, cards, tensor_parallel=degree, context=length, **engine)
        grid = cards.assign(places=places, tensor_parallel=degree).reset_index()
        grid = grid.merge(pandas.DataFrame({"batch": BATCHES}), how="cross")
        values = evaluate_all([serving.output_tokens_per_second], architecture, grid, efficiency, **request, **given)
        grids.append(grid[["gpu", "tensor_parallel", "batch", "places"]].assign(**{name: values[name] for name in TIMES}))
    return pandas.concat(grids, ignore_index=True)


def plans(points, requests_per_second, answer_limit, late_share=0.05):
    """Of each GPU and degree the point whose fewest GPUs carry the load and answer in time.

    `gpus` is infinite where none will do; `limit` says what is in the way: memory, or the request time.
    """
    replicas = fewest_replicas(requests_per_second, points["request_seconds"], points["batch"], answer_limit, late_share)
    gpus = (replicas * points["tensor_parallel"]).where(points["batch"] <= points["places"], math.inf)
    found = points.assign(replicas=replicas, gpus=gpus).sort_values(["gpus", "batch"], kind="stable")
    found = found.drop_duplicates(["gpu", "tensor_parallel"]).sort_index()
    reason = where(found["places"] < 1, "memory", "request time")
    return found.assign(limit=where(found["gpus"] < math.inf, "", reason))
