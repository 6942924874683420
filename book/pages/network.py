"""What a network does to a model that is split: bytes by kind of parallelism, fabrics, and the degree that pays."""
from math import inf

from gpucalc.core.arithmetic import floor, maximum, minimum
from gpucalc.core.evaluate import Case, Row
from gpucalc.laws import interconnect as ic

_KINDS = {"tensor": (ic.tensor_bytes, "tensor_parallel", {}),
          "tensor with sequence parallel": (ic.tensor_bytes, "tensor_parallel", {}),
          "context": (ic.context_bytes, "context_parallel", {}),
          "expert": (ic.expert_bytes, "expert_parallel", {}),
          "pipeline": (ic.pipeline_bytes, "pipeline_parallel", {}),
          "pipeline, two chunks a GPU": (ic.pipeline_bytes, "pipeline_parallel", {"virtual_stages": 2}),
          "data, all-reduce": (ic.data_bytes, "data_parallel", {"zero_stage": 0}),
          "data, ZeRO-1": (ic.data_bytes, "data_parallel", {"zero_stage": 1}),
          "data, ZeRO-2": (ic.data_bytes, "data_parallel", {"zero_stage": 2}),
          "data, ZeRO-3": (ic.data_bytes, "data_parallel", {"zero_stage": 3})}
_SPLIT_TOKENS = ("context_parallel", "expert_parallel")


def known(link):
    """The link's row without the latencies that are not known, so that the laws leave them out."""
    return Row({name: value for name, value in link.items() if value == value}, link.name, link.kind)


def joined(case):
    """Most GPUs that the link of the case joins (count); infinite where the case has a bandwidth alone."""
    return next((row["reach"] for row in case.rows.values() if "reach" in row), inf)


def paying_degree(case):
    """Largest tensor-parallel degree at which a layer computes longer than it communicates, of those that the link joins (count).

    It is 1 if no split pays.
    """
    return minimum(maximum(floor(case(ic.tensor_parallel_limit)), 1), joined(case))


def paying_band(case):
    """The band of `paying_degree` at what products and links reach; at its low end the layer is fast and the link slow.

    Latency is left out, as in `tensor_parallel_limit`; the link's share is not.
    """
    pair = case.but(efficiency="achieved", tensor_parallel=2, latency=0, base_latency=0)
    compute, sent = pair.band(ic.layer_compute_seconds), pair.band(ic.layer_communication_seconds)
    ratios = compute.low / sent.high, compute.plan / sent.plan, compute.high / sent.low, compute.value / sent.value
    degrees = dict(zip(compute._fields, (minimum(maximum(floor(ratio), 1), joined(case)) for ratio in ratios)))
    return compute._replace(**degrees, bound=None, family=f"{compute.family} and {sent.family}", unit="",
                            rows=min(compute.rows, sent.rows), sources=min(compute.sources, sent.sources))


def sent_by_kind(model, tokens, micro_batches, gpus=8):
    """Bytes that one of the GPUs sends with one kind of parallelism at a time: per layer, micro-batch and step.

    `tokens` are those of a micro-batch. Blank where a kind sends nothing in that rhythm: stages do not send by layer,
    replicas only by step.
    """
    from pandas import DataFrame
    alone = Case(model=model, gpu_params=model.params, gradient_element_bytes=2, micro_batches=micro_batches)
    rows = []
    for kind, (law, degree, more) in _KINDS.items():
        part = tokens / gpus if degree in _SPLIT_TOKENS else tokens
        sent = alone.but(**{degree: gpus}, gpu_tokens=part, **more)(law)
        by_step, by_layer = law is ic.data_bytes, law not in (ic.data_bytes, ic.pipeline_bytes)
        rows.append(dict(kind=kind, layer=sent / model.layers if by_layer else None, micro_batch=None if by_step else sent,
                         step=sent if by_step else sent * micro_batches))
    return DataFrame(rows)


def fabrics(link, oversubscription=1):
    """Ways to join nodes of eight GPUs by the link, as a table of inputs; the last is `oversubscription` itself, if above 1."""
    from pandas import DataFrame
    port = link.link_bandwidth
    rows = [("eight GPUs a node, a port each", 8, port, 1), ("the same, oversubscribed seven to one", 8, port, 7),
            ("eight GPUs a node share one port", 8, port / 8, 1), ("one GPU of the group in a node", 1, port, 1)]
    rows += [("this fabric", 8, port, oversubscription)] if oversubscription > 1 else []
    frame = DataFrame(rows, columns=["fabric", "node_ranks", "network_bandwidth", "oversubscription"])
    return frame.assign(network_latency=link["latency"]) if "latency" in link else frame
