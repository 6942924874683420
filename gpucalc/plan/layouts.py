"""Every layout of a training job on a cluster at once: memory and time of each by the laws, in one table.

Each axis of the search lies along an array dimension of its own, so a law is evaluated only on the axes it depends on.
"""
import math

import numpy as np
import pandas as pd

from ..rows import catalogue
from ..core.evaluate import Case
from ..core.arithmetic import SECONDS_PER_HOUR
from ..core.quantities import check
from ..laws.sharding import DEGREES, check_layout, layout_rules
from ..laws.training_cost import compute_usd, training_days
from ..laws.training_memory import training_bytes
from ..laws.training_time import layout_gpu_hours, layout_gpus, layout_mfu, step_seconds, step_tokens

LAYOUT = ("tensor_parallel", "pipeline_parallel", "virtual_stages", "context_parallel", "expert_parallel", "data_parallel",
          "zero_stage", "micro_batch", "micro_batches", "recompute", "sequence_parallel")
AXES = tuple(name for name in LAYOUT if name not in ("data_parallel", "micro_batches"))
SHORT = {"TP": "tensor_parallel", "PP": "pipeline_parallel", "CP": "context_parallel", "EP": "expert_parallel",
         "DP": "data_parallel"}
PARTS = {"matrix_seconds": "matrix products", "elementwise_seconds": "norms, activations, sums",
         "tensor_seconds": "tensor parallel", "context_seconds": "context parallel", "expert_seconds": "expert parallel",
         "pipeline_seconds": "sends between stages"}
RECOMPUTE = ("none", "scores", "layers")
RECOMPUTED = ("nothing recomputed", "attention scores recomputed", "whole layers recomputed")
FITS = "training_bytes: at most the memory of a GPU"
AIMS = ("step_seconds", "gpu_seconds", "gpus", "training_bytes")


def layout_case(model, gpu, sequence, network="InfiniBand NDR", recipe="mixed-adamw-fp32-grads", efficiency="achieved",
                flash_attention=1, gpus_per_node=8, **job):
    """The case of a training job on a cluster, which lacks only a layout.

    `model` is a name, a config.json or a row; `network` the link between nodes, `efficiency` a row of data/efficiencies.csv;
    `job` further inputs of the laws. They overrule what the catalogue has.
    """
    case = on_network(Case(model=model, gpu=gpu, recipe=recipe, efficiency=efficiency), network)
    return case.but(sequence=sequence, flash_attention=flash_attention, gpus_per_node=gpus_per_node, **job)


def on_network(case, network):
    """The case with the latency of its GPU's own link, and with the bandwidth and latency of the link between nodes."""
    remote = catalogue.link(network)
    return case.but(latency=catalogue.link(case.rows["gpu"].link), network_bandwidth=remote.link_bandwidth,
                    network_latency=remote.latency)


def in_layout(case, row):
    """The case in the layout of a row of the search."""
    return case.but(**{name: int(row[name]) for name in LAYOUT})


def all_layouts(model, gpu, gpus, global_batch, sequence, axes=None, gpus_per_node=8, flash_attention=1, usd_per_hour=None,
                **job):
    """Every layout of a job that `layout_case` describes, as `layouts_of` has them."""
    case = layout_case(model, gpu, sequence, gpus_per_node=gpus_per_node, flash_attention=flash_attention, **job)
    return layouts_of(case, gpus, global_batch, axes, usd_per_hour)


def layouts_of(case, gpus, global_batch, axes=None, usd_per_hour=None):
    """Every layout of the case as a row; what rules one out is its `reason`, the first that applies, empty if nothing does.

    `gpus` is a count or several, `global_batch` the sequences of a step, `axes` has the values of an axis to search instead
    of the usual ones. `gpu_seconds` is what a step takes on all GPUs, `step_usd` its price. Memory and time are those of the
    worst stage. Where counts don't divide, the figures are those of the next whole count below.
    """
    architecture, card = case.rows["model"], case.rows["gpu"]
    counts = sorted(set(np.atleast_1d(gpus).tolist()))
    sizes = {name: case.inputs.get(name) for name in ("sequence", "gpus_per_node", "flash_attention")}
    for name, value in [*(("gpus", count) for count in counts), ("global_batch", global_batch), *sizes.items()]:
        check(name, value, "layouts")
    values = usual_axes(architecture, counts) | _checked(axes or {})
    grid = _along_axes({"last_stage": [0, 1], "gpus": counts} | {axis: values[axis] for axis in AXES})
    cluster, last_stage = grid.pop("gpus"), grid.pop("last_stage")
    replica = grid["tensor_parallel"] * grid["pipeline_parallel"] * grid["context_parallel"]
    data = np.maximum(cluster // replica, 1)
    layout = grid | {"data_parallel": data, "micro_batches": np.maximum(global_batch // (data * grid["micro_batch"]), 1)}
    terms = case.but(**layout, last_stage=last_stage).terms(layout_mfu, training_bytes)
    figures = {name: terms[name].max(axis=0, keepdims=True) for name in ("training_bytes", "step_seconds")}
    figures["layout_mfu"] = terms["layout_mfu"].min(axis=0, keepdims=True)
    figures["gpu_seconds"] = cluster * figures["step_seconds"]
    if usd_per_hour is not None:
        check("usd_per_hour", usd_per_hour, "layouts")
        figures["step_usd"] = figures["gpu_seconds"] / SECONDS_PER_HOUR * usd_per_hour
    rules = [*_rules(architecture, cluster, layout, global_batch, **sizes),
             (FITS, figures["training_bytes"] <= card.memory_bytes)]
    return _table({"gpus": cluster} | {name: layout[name] for name in LAYOUT}, figures, rules)


def best_layouts(model, gpu, gpus, global_batch, sequence, by="step_seconds", count=10, **search):
    """The layouts that run, best first, as a table; other arguments as in `all_layouts`, `by` as in `best_of`."""
    _check_aim(by)
    return best_of(all_layouts(model, gpu, gpus, global_batch, sequence, **search), by, count)


def best_of(layouts, by="step_seconds", count=None):
    """Those layouts of a search that run, best first: so many, or all.

    `by` is what to have least of: `step_seconds`, `gpu_seconds` (the cost of a step), `gpus` or `training_bytes`; ties go to
    the shorter step, then to less memory. Raises ValueError if nothing runs, with the reasons.
    """
    _check_aim(by)
    runs = layouts[layouts["reason"] == ""]
    if runs.empty:
        counted = layouts["reason"].value_counts()
        raise ValueError("no layout runs; of {:,}: {}".format(len(layouts), "; ".join(
            f"{number:,} break {text}" for text, number in counted.items() if number)))
    ordered = runs.sort_values([by, "step_seconds", "training_bytes"], kind="stable")
    return ordered.head(len(ordered) if count is None else count).drop(columns="reason").reset_index(drop=True)


def fastest_by_gpus(layouts):
    """The fastest layout that runs on each number of GPUs on which one does, the fewest first; ties go to less memory."""
    runs = layouts[layouts["reason"] == ""].sort_values(["gpus", "step_seconds", "training_bytes"], kind="stable")
    return runs.drop_duplicates("gpus").reset_index(drop=True)


def reasons(layouts):
    """How many layouts break which rule first, and how many run: columns `reason`, `layouts` and `share`."""
    counted = layouts["reason"].value_counts()
    counted = counted[counted > 0]
    return pd.DataFrame({"reason": [text or "runs" for text in counted.index], "layouts": counted.to_list(),
                         "share": (counted / len(layouts)).to_list()})


def runs_of(layouts, training_tokens, step_tokens, usd_per_hour=None):
    """The layouts with `gpu_hours` and `training_days` of a whole run of steps alone, and with a price with `compute_usd`."""
    hours = layout_gpu_hours(training_tokens, step_tokens / layouts["gpu_seconds"])
    run = layouts.assign(gpu_hours=hours, training_days=training_days(hours, layouts["gpus"]))
    return run if usd_per_hour is None else run.assign(compute_usd=compute_usd(hours, usd_per_hour))


def pareto_front(frame, first, second):
    """The rows that no other row beats in one of two columns without losing in the other, less being better."""
    ordered = frame.sort_values([first, second], kind="stable")
    return ordered[ordered[second] < ordered[second].cummin().shift().fillna(np.inf)]


def step_parts(case):
    """Seconds of a step of the case's layout by what takes them, on its slowest stage; they sum to `step_seconds`."""
    step = max((case.but(last_stage=last).explain(step_seconds) for last in (0, 1)), key=lambda step: step.value)
    terms, given = step.terms, {name: value for each in step.steps for name, value in each.arguments.items()}
    shown = {law: 1 - given["overlap"] for law in PARTS} | {"matrix_seconds": 1, "elementwise_seconds": 1}
    parts = {name: given["micro_batches"] * terms[law] * shown[law] for law, name in PARTS.items()}
    busy = given["micro_batches"] * terms["micro_batch_seconds"]
    bubble = busy * terms["pipeline_bubble"] / (1 - terms["pipeline_bubble"])
    return parts | {"bubble of the pipeline": bubble, "data parallel": terms["exposed_data_seconds"],
                    "optimizer": terms["update_seconds"]}


def same_step(case, **changes):
    """The case in another layout, with as many GPUs and sequences in a step as before; None where that can't be."""
    other, sequence = case.but(**changes), case.inputs["sequence"]
    at_once = other.inputs["micro_batch"] * other.inputs["data_parallel"]
    rounds = case(step_tokens) // sequence // max(at_once, 1)
    degrees = {name: other.inputs[name] for name in DEGREES}
    try:
        check_layout(case.rows["model"], sequence=sequence, micro_batches=rounds, **degrees)
    except ValueError:
        return None
    other = other.but(micro_batches=rounds)
    return other if all(other(law) == case(law) for law in (step_tokens, layout_gpus)) else None


def same_steps(case, layouts):
    """The case in each of the layouts (name -> changes) that does the same step; of equal ones the first."""
    found = {}
    for name, changes in layouts.items():
        other = same_step(case, **changes)
        if other is not None and all(other.inputs != known.inputs for known in found.values()):
            found[name] = other
    return found


def published_layout(inputs, network, axes, **job):
    """A published job's layout beside the best found for it: `gpus`, the names `published` and `found`, `step_seconds` and
    `slower`, the published step and by what share it is longer; blank where nothing with the printed degrees runs.

    `inputs` are those of a row of measurements, `axes` what its software could do; micro-batch and chunks are not printed,
    and are taken as they serve the printed degrees best.
    """
    known = {name: inputs[name] for name in ("gpu", "recipe", "efficiency", "sequence")}
    architecture = {name: value for name, value in inputs.items() if name not in known}
    printed = {name: inputs[name] for name in ("tensor_parallel", "pipeline_parallel", "data_parallel")}
    gpus = math.prod(printed.values())
    batch = printed["data_parallel"] * inputs["micro_batch"] * inputs["micro_batches"]
    found = best_of(all_layouts(architecture, gpus=gpus, global_batch=batch, network=network, axes=axes, **known, **job))
    theirs = found[(found[list(printed)] == list(printed.values())).all(axis=1)].head(1)
    name, seconds = [*map(layout_name, theirs.to_dict("records")), None][0], theirs["step_seconds"].min()
    return dict(gpus=gpus, published=name, found=layout_name(found.iloc[0]), step_seconds=seconds,
                slower=seconds / found["step_seconds"][0] - 1)


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


def _check_aim(by):
    if by not in AIMS:
        raise ValueError(f"by: {by!r}; allowed: {', '.join(AIMS)}")


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


def _rules(architecture, cluster, layout, global_batch, sequence, gpus_per_node, flash_attention):
    """What a layout must keep to, in order, and whether it does: divisibility, the schedule, and no layout counted twice."""
    tensor, pipeline, micro_batches = (layout[name] for name in ("tensor_parallel", "pipeline_parallel", "micro_batches"))
    replicas = layout["data_parallel"] * layout["context_parallel"]
    divide = layout_rules(architecture, sequence=sequence, **layout)
    return [("gpus: a multiple of tensor x pipeline x context parallel", tensor * pipeline * replicas == cluster),
            *((f"{name}: {allowed}", holds) for name, allowed, _, holds in divide),
            ("tensor_parallel: a divisor or a multiple of gpus_per_node",
             (cluster <= gpus_per_node) | (gpus_per_node % tensor == 0) | (tensor % gpus_per_node == 0)),
            ("global_batch: a multiple of data_parallel x micro_batch",
             layout["data_parallel"] * layout["micro_batch"] * micro_batches == global_batch),
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
