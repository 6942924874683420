"""Every layout of a training job on a cluster at once: memory and time of each by the laws, in one table.

Each axis of the search lies along an array dimension of its own, so a law is evaluated only on the axes it depends on.
"""
import numpy as np
import pandas as pd

from . import catalogue
from .explanation import evaluate_all
from .law import SECONDS_PER_HOUR
from .quantities import check
from .sharding import layout_rules
from .training_memory import training_bytes
from .training_time import reached_mfu, step_seconds

LAYOUT = ("tensor_parallel", "pipeline_parallel", "virtual_stages", "context_parallel", "expert_parallel", "data_parallel",
          "zero_stage", "micro_batch", "micro_batches", "recompute", "sequence_parallel")
AXES = tuple(name for name in LAYOUT if name not in ("data_parallel", "micro_batches"))
SHORT = {"TP": "tensor_parallel", "PP": "pipeline_parallel", "CP": "context_parallel", "EP": "expert_parallel",
         "DP": "data_parallel"}
PARTS = {"matrix_seconds": "matrix products", "elementwise_seconds": "norms, activations, sums",
         "tensor_seconds": "tensor parallel", "context_seconds": "context parallel", "expert_seconds": "expert parallel",
         "pipeline_seconds": "sends between stages"}
RECOMPUTE = ("none", "scores", "layers")
AIMS = ("step_seconds", "gpu_seconds", "gpus", "training_bytes")


def layout_terms(laws, layout, model, gpu, sequence, network="InfiniBand NDR", recipe="mixed-adamw-fp32-grads",
                 efficiency="achieved", flash_attention=1, **job):
    """Values by name of `laws` and of every law they need, for one layout or for columns of them.

    `model` is a name, a config.json or a row; `network` the link between nodes, `efficiency` a row of data/efficiencies.csv;
    `job` further inputs of the laws. They overrule what the catalogue has.
    """
    card, remote = catalogue.gpu(gpu), catalogue.link(network)
    links = dict(latency=catalogue.link(card.link).latency, network_bandwidth=remote.link_bandwidth,
                 network_latency=remote.latency)
    return evaluate_all(laws, _architecture(model), card, catalogue.recipe(recipe), catalogue.efficiency(efficiency),
                        sequence=sequence, flash_attention=flash_attention, **links | job, **layout)


def all_layouts(model, gpu, gpus, batch, sequence, axes=None, gpus_per_node=8, flash_attention=1, usd_per_hour=None, **job):
    """Every layout as a row; what rules one out is its `reason`, the first that applies, empty if nothing does.

    `gpus` is a count or several, `batch` the sequences of a step, `axes` has the values of an axis to search instead of the
    usual ones, `job` is as in `layout_terms`. `gpu_seconds` is what a step takes on all GPUs, `step_usd` its price. Memory and
    time are those of the worst stage. Where counts don't divide, the figures are those of the next whole count below.
    """
    architecture, card = _architecture(model), catalogue.gpu(gpu)
    counts = sorted(set(np.atleast_1d(gpus).tolist()))
    for name, value in [*(("gpus", count) for count in counts), ("batch", batch), ("sequence", sequence)]:
        check(name, value, "layouts")
    values = usual_axes(architecture, counts) | _checked(axes or {})
    grid = _along_axes({"last_stage": [0, 1], "gpus": counts} | {axis: values[axis] for axis in AXES})
    cluster, last_stage = grid.pop("gpus"), grid.pop("last_stage")
    replica = grid["tensor_parallel"] * grid["pipeline_parallel"] * grid["context_parallel"]
    data = np.maximum(cluster // replica, 1)
    layout = grid | {"data_parallel": data, "micro_batches": np.maximum(batch // (data * grid["micro_batch"]), 1)}
    terms = layout_terms([reached_mfu, training_bytes], layout, model, gpu, sequence, gpus_per_node=gpus_per_node,
                         flash_attention=flash_attention, last_stage=last_stage, **job)
    figures = {name: terms[name].max(axis=0, keepdims=True) for name in ("training_bytes", "step_seconds")}
    figures["reached_mfu"] = terms["reached_mfu"].min(axis=0, keepdims=True)
    figures["gpu_seconds"] = cluster * figures["step_seconds"]
    if usd_per_hour is not None:
        check("usd_per_hour", usd_per_hour, "layouts")
        figures["step_usd"] = figures["gpu_seconds"] / SECONDS_PER_HOUR * usd_per_hour
    rules = [*_rules(architecture, cluster, layout, batch, sequence, gpus_per_node, flash_attention),
             ("training_bytes: at most the memory of a GPU", figures["training_bytes"] <= card.memory_bytes)]
    return _table({"gpus": cluster} | {name: layout[name] for name in LAYOUT}, figures, rules)


def best_layouts(model, gpu, gpus, batch, sequence, by="step_seconds", count=10, **search):
    """The layouts that run, best first, as a table; other arguments as in `all_layouts`.

    `by` is what to have least of: `step_seconds`, `gpu_seconds` (the cost of a step), `gpus` or `training_bytes`; ties go to
    the shorter step, then to less memory. Raises ValueError if nothing runs, with the reasons.
    """
    if by not in AIMS:
        raise ValueError(f"by: {by!r}; allowed: {', '.join(AIMS)}")
    frame = all_layouts(model, gpu, gpus, batch, sequence, **search)
    runs = frame[frame["reason"] == ""]
    if runs.empty:
        counted = frame["reason"].value_counts()
        raise ValueError("no layout runs; of {:,}: {}".format(len(frame), "; ".join(
            f"{number:,} break {text}" for text, number in counted.items() if number)))
    ordered = runs.sort_values([by, "step_seconds", "training_bytes"], kind="stable")
    return ordered.head(count).drop(columns="reason").reset_index(drop=True)


def pareto_front(frame, first, second):
    """The rows that no other row beats in one of two columns without losing in the other, less being better."""
    ordered = frame.sort_values([first, second], kind="stable")
    return ordered[ordered[second] < ordered[second].cummin().shift().fillna(np.inf)]


def step_parts(row, model, gpu, sequence, overlap=0, **job):
    """Seconds of a layout's step by what takes them, on its slowest stage; they sum to `step_seconds`."""
    layout = {name: int(row[name]) for name in LAYOUT}
    stages = [layout_terms([step_seconds], layout, model, gpu, sequence, overlap=overlap, last_stage=last, **job)
              for last in (0, 1)]
    terms = max(stages, key=lambda terms: terms["step_seconds"])
    shown = {law: 1 - overlap for law in PARTS} | {"matrix_seconds": 1, "elementwise_seconds": 1}
    parts = {name: layout["micro_batches"] * terms[law] * shown[law] for law, name in PARTS.items()}
    busy = layout["micro_batches"] * terms["micro_batch_seconds"]
    bubble = busy * terms["pipeline_bubble"] / (1 - terms["pipeline_bubble"])
    return parts | {"bubble of the pipeline": bubble, "data parallel": terms["exposed_data_seconds"],
                    "optimizer": terms["update_seconds"]}


def readable(layouts):
    """Layouts for a table to read: a column `layout` in a few letters, micro-batches by sequences, recompute in words."""
    rows = layouts.to_dict("records")
    return layouts.assign(layout=[layout_name(row) for row in rows], recompute=[RECOMPUTE[row["recompute"]] for row in rows],
                          micro_batches=[f"{row['micro_batches']:,} × {row['micro_batch']}" for row in rows])


def layout_name(row):
    """A layout in a few letters, degrees of 1 left out: `TP 8 + SP, PP 16 × 4, DP 128, ZeRO 1` has 4 chunks on each stage."""
    more = {"TP": " + SP" if row["sequence_parallel"] else "",
            "PP": f" × {row['virtual_stages']:.0f}" if row["virtual_stages"] > 1 else ""}
    degrees = [f"{short} {row[name]:.0f}{more.get(short, '')}" for short, name in SHORT.items() if row[name] > 1]
    zero = [f"ZeRO {row['zero_stage']:.0f}"] if row["zero_stage"] else []
    return ", ".join(each.replace(" ", "\u00a0") for each in degrees + zero) or "one GPU"


def usual_axes(architecture, counts):
    """The values of each axis that are searched: all degrees that divide what they split, and common choices of the rest."""
    most = max(counts)
    stages = sorted({each for count in counts for each in _divisors(count, architecture["layers"])})
    return dict(tensor_parallel=_divisors(architecture["heads"], most), pipeline_parallel=stages, virtual_stages=[1, 2, 4, 8],
                context_parallel=[1, 2, 4, 8, 16], expert_parallel=_divisors(architecture.get("experts", 0) or 1, most),
                zero_stage=[0, 1, 2, 3], micro_batch=[1, 2, 4, 8], recompute=[0, 1, 2], sequence_parallel=[0, 1])


def _architecture(model):
    return catalogue.model(model) if isinstance(model, str) else model


def _checked(axes):
    for axis, values in axes.items():
        if axis not in AXES:
            raise ValueError(f"axes: {axis!r}; allowed: {', '.join(AXES)}")
        if not len(values):
            raise ValueError(f"axes: {axis} has no values; allowed: at least one")
        for value in values:
            check(axis, value, "axes")
    return axes


def _divisors(number, most):
    return [each for each in range(1, min(number, most) + 1) if number % each == 0]


def _along_axes(values):
    """Each list as an array along a dimension of its own."""
    return {name: np.array(each, float).reshape([-1 if name == other else 1 for other in values])
            for name, each in values.items()}


def _rules(architecture, cluster, layout, batch, sequence, gpus_per_node, flash_attention):
    """What a layout must keep to, in order, and whether it does: divisibility, the schedule, and no layout counted twice."""
    tensor, pipeline, micro_batches = (layout[name] for name in ("tensor_parallel", "pipeline_parallel", "micro_batches"))
    replicas = layout["data_parallel"] * layout["context_parallel"]
    divide = layout_rules(architecture, sequence=sequence, **layout)
    return [("gpus: a multiple of tensor x pipeline x context parallel", tensor * pipeline * replicas == cluster),
            *((f"{name}: {allowed}", holds) for name, allowed, _, holds in divide),
            ("tensor_parallel: a divisor or a multiple of gpus_per_node",
             (cluster <= gpus_per_node) | (gpus_per_node % tensor == 0) | (tensor % gpus_per_node == 0)),
            ("batch: a multiple of data_parallel x micro_batch",
             layout["data_parallel"] * layout["micro_batch"] * micro_batches == batch),
            ("sequence_parallel: 0 without tensor parallel", layout["sequence_parallel"] < tensor),
            ("zero_stage: 0 without data or context parallel", (layout["zero_stage"] == 0) | (replicas > 1)),
            ("recompute: 0 or 2 with FlashAttention, which keeps no scores",
             (layout["recompute"] != 1) | (flash_attention == 0)),
            ("micro_batches: a multiple of pipeline_parallel with virtual_stages",
             (layout["virtual_stages"] == 1) | (micro_batches % pipeline == 0))]


def _table(layout, figures, rules):
    """All columns at full length, whole numbers as such, and of the rules that don't hold the first as `reason`."""
    shape = np.broadcast_shapes(*(column.shape for column in (layout | figures).values()))
    code = np.zeros(shape, "int8")
    for number, (_, holds) in reversed([*enumerate(rules, 1)]):
        np.copyto(code, number, where=~holds)
    columns = {name: column.astype("int64") for name, column in layout.items()} | figures
    frame = pd.DataFrame({name: np.broadcast_to(column, shape).ravel() for name, column in columns.items()}, copy=False)
    frame["reason"] = pd.Categorical.from_codes(code.ravel(), ["", *(text for text, _ in rules)])
    return frame
