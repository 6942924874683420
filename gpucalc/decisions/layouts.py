"""Every layout of a training job on a cluster at once: memory and time of each by the laws, in one table."""
from typing import Any

import numpy as np
import pandas as pd

from ..core.evaluate import Case
from ..core.figures import number
from ..core.quantities import DEFAULTS, QUANTITIES, check
from ..laws.sharding import DEGREES, check_layout
from ..laws.training_cost import compute_usd, training_days
from ..laws.training_time import layout_gpu_hours, layout_gpus, step_seconds, step_tokens
from ..rows import catalogue
from .capacity import narrow_products
from .layout_choice import banded, ends
from .layout_grid import AXES, ENDS, LAYOUT, SPARE_PLACES, blocks, order, size, sizes

SHORT = {"TP": "tensor_parallel", "PP": "pipeline_parallel", "CP": "context_parallel", "EP": "expert_parallel",
         "DP": "data_parallel"}
PARTS = {"matrix_seconds": "matrix products", "elementwise_seconds": "norms, activations, sums",
         "tensor_seconds": "tensor parallel", "context_seconds": "context parallel", "expert_seconds": "expert parallel",
         "pipeline_seconds": "sends between stages"}
RECOMPUTE = ("none", "scores", "layers", "all but products")
RECOMPUTED = ("nothing recomputed", "attention scores recomputed", "whole layers recomputed", "all but products recomputed")
# The most chunks a stage that a published job had: NVIDIA, Llama-2-70B on 64 GPUs.
MOST_CHUNKS = 20
AIMS = ("plan_seconds", "step_seconds", "gpu_seconds", "gpus", "training_bytes")
# Rows of a table, of some 150 bytes each; layouts of a search for the best, of some minutes.
MOST_LISTED, MOST_SEARCHED = 4_000_000, 1_000_000_000


def layout_case(model: Any, gpu: Any, sequence: float, network: str = "InfiniBand NDR", recipe: str = "mixed-adamw-fp32-grads",
                efficiency: str = "achieved", flash_attention: float = 1, gpus_per_node: float | None = None, **job: Any) -> Case:
    """The case of a training job on a cluster, which lacks only a layout.

    `model` is a name, a config.json or a row; `network` the link between nodes, `efficiency` a row of data/efficiencies.csv;
    `gpus_per_node` are eight, or as many as the GPU's link joins: 72 of GB200 NVL72. `job` has further inputs of the laws. They
    overrule what the catalogue has.
    """
    case = on_network(Case(model=model, gpu=gpu, recipe=recipe, efficiency=efficiency), network)
    if gpus_per_node is None:
        gpus_per_node = max(DEFAULTS["gpus_per_node"].value, case.rows["gpu"].get("reach", 0))
    narrow = _narrow(case.rows["gpu"], case.rows["recipe"].get("compute_format", "BF16"))
    return case.but(sequence=sequence, flash_attention=flash_attention, gpus_per_node=gpus_per_node, **narrow | job)


def _narrow(card, compute_format):
    """How often the products of a recipe halve their 16 bits on a card, where they do. Raises ValueError where it can't."""
    if compute_format in ("BF16", "FP32"):
        return {}
    halvings = int(narrow_products(pd.DataFrame([dict(card)]), compute_format).iloc[0])
    if not halvings:
        raise ValueError(f"gpu {card.name!r}: no products in {compute_format}; allowed: a card that multiplies in it")
    return {"narrow_products": halvings}


def on_network(case: Case, network: str) -> Case:
    """The case with the latency of its GPU's own link, and with the bandwidth and latency of the link between nodes."""
    remote = catalogue.link(network)
    return case.but(latency=catalogue.link(case.rows["gpu"].link), network_bandwidth=remote.link_bandwidth,
                    network_latency=remote.latency)


def in_layout(case: Case, row: Any) -> Case:
    """The case in the layout of a row of the search."""
    return case.but(**{name: int(row[name]) if row[name] == int(row[name]) else float(row[name]) for name in LAYOUT})


def all_layouts(model: Any, gpu: Any, gpus: Any, global_batch: float, sequence: float, axes: dict[str, Any] | None = None,
                gpus_per_node: float | None = None, flash_attention: float = 1, usd_per_hour: float | None = None,
                **job: Any) -> pd.DataFrame:
    """Every layout of a job that `layout_case` describes, as `layouts_of` has them."""
    case = layout_case(model, gpu, sequence, gpus_per_node=gpus_per_node, flash_attention=flash_attention, **job)
    return layouts_of(case, gpus, global_batch, axes, usd_per_hour)


def layouts_of(case: Case, gpus: Any, global_batch: float, axes: dict[str, Any] | None = None,
               usd_per_hour: float | None = None) -> pd.DataFrame:
    """Every layout of the case as a row; what rules one out is its `reason`, the first that applies, empty if nothing does.

    `gpus` is a count or several, `global_batch` the sequences of a step, `axes` has the values of an axis to search instead
    of the usual ones. `gpu_seconds` is what a step takes on all GPUs, `step_usd` its price. Memory and time are those of the
    worst stage: by the formula, and `low_`, `plan_` and `high_bytes` and `_seconds` of their bands. A layout fits if the high
    end of its memory does; one that only does by the low end is too close to call (CLOSE). Where counts don't divide, the
    figures are those of the next whole count below. Raises ValueError for more than MOST_LISTED layouts.
    """
    place = "one table; best_layouts searches more"
    searched, factors = _searched(case, gpus, global_batch, axes, usd_per_hour, MOST_LISTED, place)
    return banded(pd.concat([block.table() for block in searched], ignore_index=True), factors)


def _searched(case, gpus, global_batch, axes, usd_per_hour, most, place):
    """The blocks of the search, and its bands. Raises ValueError for a value that is not allowed, and for more than `most`."""
    counts = sorted(set(np.atleast_1d(gpus).tolist()))
    prices = {} if usd_per_hour is None else {"usd_per_hour": usd_per_hour}
    for name, value in [*(("gpus", count) for count in counts), *({"global_batch": global_batch} | sizes(case) | prices).items()]:
        check(name, value, "layouts")
    axes = usual_axes(case.rows["model"], counts, case.inputs.get("flash_attention", 0)) | _checked(axes or {})
    values = {"gpus": counts} | {axis: axes[axis] for axis in AXES}
    if size(values) > most:
        raise ValueError(f"gpus, axes: {size(values):,} layouts; allowed: at most {most:,} in {place}")
    factors = ends(case)
    return blocks(case, values, global_batch, usd_per_hour, factors["training_bytes"]), factors


def best_layouts(model: Any, gpu: Any, gpus: Any, global_batch: float, sequence: float, by: str = "plan_seconds",
                 count: int | None = 10, axes: dict[str, Any] | None = None, gpus_per_node: float | None = None,
                 flash_attention: float = 1, usd_per_hour: float | None = None, **job: Any) -> pd.DataFrame:
    """The layouts that run, best first, as a table: so many, or all; arguments as in `all_layouts`, `by` as in `best_of`.

    Raises ValueError for more than MOST_SEARCHED layouts. Memory does not grow with their number.
    """
    _check_aim(by)
    case = layout_case(model, gpu, sequence, gpus_per_node=gpus_per_node, flash_attention=flash_attention, **job)
    best, counted, formula = None, 0, "step_seconds" if by == "plan_seconds" else by  # all plans are as far from their formulas
    searched, factors = _searched(case, gpus, global_batch, axes, usd_per_hour, MOST_SEARCHED, "one search")
    for block in searched:
        counted = counted + np.bincount(block.broken.ravel(), minlength=len(block.reasons))
        found = block.best(formula, count)
        best = found if best is None else _ordered(pd.concat([best, found]), formula).head(count or len(best) + len(found))
    return banded(_running(best, pd.Series(counted, block.reasons).sort_values(ascending=False, kind="stable")), factors)


def best_of(layouts: pd.DataFrame, by: str = "plan_seconds", count: int | None = None) -> pd.DataFrame:
    """Those layouts of a search that run, best first: so many, or all.

    `by` is what to have least of: `plan_seconds`, `step_seconds` (the formula, in the same order), `gpu_seconds` (the cost of a
    step), `gpus` or `training_bytes`; ties go to the shorter step, then to less memory. Raises ValueError if nothing runs, with
    the reasons.
    """
    _check_aim(by)
    ordered = _ordered(layouts[layouts["reason"] == ""], by)
    return _running(ordered.head(len(ordered) if count is None else count), layouts["reason"].value_counts())


def _ordered(layouts, by):
    return layouts.sort_values(order(by), kind="stable")


def _running(layouts, counted):
    """The table of what runs; ValueError if nothing does, with how many break what."""
    if layouts.empty:
        raise ValueError("no layout runs; of {:,}: {}".format(counted.sum(), "; ".join(
            f"{number:,} break {text}" for text, number in counted.items() if number)))
    return layouts.drop(columns="reason").reset_index(drop=True)


def fastest_by_gpus(layouts: pd.DataFrame) -> pd.DataFrame:
    """The fastest layout that runs on each number of GPUs on which one does, the fewest first; ties go to less memory."""
    runs = layouts[layouts["reason"] == ""].sort_values(["gpus", "step_seconds", "training_bytes"], kind="stable")
    return runs.drop_duplicates("gpus").reset_index(drop=True)


def reasons(layouts: pd.DataFrame) -> pd.DataFrame:
    """How many layouts break which rule first, and how many run: columns `reason`, `layouts` and `share`."""
    counted = layouts["reason"].value_counts()
    counted = counted[counted > 0]
    return pd.DataFrame({"reason": [text or "runs" for text in counted.index], "layouts": counted.to_list(),
                         "share": (counted / len(layouts)).to_list()})


def runs_of(layouts: pd.DataFrame, training_tokens: float, step_tokens: float, usd_per_hour: float | None = None) -> pd.DataFrame:
    """The layouts with `gpu_hours` and `training_days` of a whole run of steps alone, and with a price with `compute_usd`."""
    hours = layout_gpu_hours(training_tokens, step_tokens / layouts["gpu_seconds"])
    run = layouts.assign(gpu_hours=hours, training_days=training_days(hours, layouts["gpus"]))
    return run if usd_per_hour is None else run.assign(compute_usd=compute_usd(hours, usd_per_hour))


def pareto_front(frame: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """The rows that no other row beats in one of two columns without losing in the other, less being better."""
    ordered = frame.sort_values([first, second], kind="stable")
    return ordered[ordered[second] < ordered[second].cummin().shift().fillna(np.inf)]


def step_parts(case: Case) -> dict[str, float]:
    """Seconds of a step of the case's layout by what takes them, on its slowest stage; they sum to `step_seconds`."""
    step = max((case.but(last_stage=last).explain(step_seconds) for last in (0, 1)), key=lambda step: step.value)
    terms, given = step.terms, {name: value for each in step.steps for name, value in each.arguments.items()}
    hidden = dict.fromkeys(PARTS, given["overlap"]) | {"expert_seconds": given["expert_overlap"]} | dict.fromkeys(
        ("matrix_seconds", "elementwise_seconds"), 0)
    shown = {law: 1 - (1 - terms["lent_share"]) * share for law, share in hidden.items()}
    parts = {name: given["micro_batches"] * terms[law] * shown[law] for law, name in PARTS.items()}
    waiting = {"host": given["micro_batches"] * given["host_seconds"]} if given["host_seconds"] else {}
    return parts | waiting | {"bubble of the pipeline": terms["bubble_seconds"], "data parallel": terms["exposed_data_seconds"],
                              "optimizer": terms["update_seconds"]}


def same_step(case: Case, **changes: Any) -> Case | None:
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


def same_steps(case: Case, layouts: dict[str, dict]) -> dict[str, Case]:
    """The case in each of the layouts (name -> changes) that does the same step; of equal ones the first."""
    found: dict[str, Case] = {}
    for name, changes in layouts.items():
        other = same_step(case, **changes)
        if other is not None and all(other.inputs != known.inputs for known in found.values()):
            found[name] = other
    return found


def readable(layouts: pd.DataFrame) -> pd.DataFrame:
    """Layouts for a table to read: a column `layout` in a few letters, micro-batches by sequences, recompute in words, the step
    to plan for and the memory, each with the ends of its band (`step`, `memory`)."""
    rows = layouts.to_dict("records")
    if "plan_seconds" in layouts:
        layouts = layouts.assign(step=[_within(row, "plan_seconds", "step_seconds") for row in rows],
                                 memory=[_within(row, "training_bytes") for row in rows])
    return layouts.assign(layout=[layout_name(row) for row in rows], recompute=[recomputed(row) for row in rows],
                          micro_batches=[f"{row['micro_batches']:,} × {row['micro_batch']}" for row in rows])


def _within(row, figure, law=None):
    """A figure of a law, and in brackets from where to where eight in ten are: `5.98 s (4.86 to 8.76)`."""
    law = law or figure
    low, _, high = ENDS[law]
    shown, low, high = (number(row[name], QUANTITIES[law].unit) for name in (figure, low, high))
    if len({text.partition(" ")[2] for text in (shown, low, high)}) == 1:
        low, high = (text.partition(" ")[0] for text in (low, high))
    return f"{shown} ({low} to {high})"


def recomputed(row: Any, names: tuple[str, ...] = RECOMPUTE) -> str:
    """What a layout recomputes in words, with the share of the layers that do."""
    share = row.get("recomputed_share", 1)
    return names[int(row["recompute"])] + (f" in {share:.0%} of the layers".replace("%", "\u00a0%") if share < 1 else "")


def layout_name(row: Any) -> str:
    """A layout in a few letters, degrees of 1 left out: `TP 8 + SP, PP 16 × 4, DP 128, ZeRO 1` has 4 chunks on each stage."""
    more = {"TP": " + SP" if row["sequence_parallel"] else "",
            "PP": f" × {row['virtual_stages']:.0f}" if row["virtual_stages"] > 1 else ""}
    degrees = [f"{short} {row[name]:.0f}{more.get(short, '')}" for short, name in SHORT.items() if row[name] > 1]
    shard = f" / {row['shard_parallel']:.0f}" if row.get("shard_parallel") else ""
    zero = [f"ZeRO {row['zero_stage']:.0f}{shard}"] if row["zero_stage"] else []
    zero += ["zero bubble"] if row.get("zero_bubble") else []
    return ", ".join(each.replace(" ", "\u00a0") for each in degrees + zero) or "one GPU"


def usual_axes(architecture: Any, counts: Any, flash_attention: float = 1) -> dict[str, list]:
    """The values of each axis that are searched: all degrees that divide what they split, and common choices of the rest.

    The finer axes have one value each here, since they multiply the layouts; `fine_axes` has more.
    """
    most, layers = max(counts), architecture["layers"]
    stages = [each for each in range(1, min(layers + 2, most) + 1) if (np.remainder(counts, each) == 0).any()]
    chunks = [each for each in range(2, MOST_CHUNKS + 1) if any(-layers % (each * stage) <= SPARE_PLACES for stage in stages[1:])]
    return dict(tensor_parallel=_divisors(architecture["heads"], most), pipeline_parallel=stages, virtual_stages=[1, *chunks],
                context_parallel=[1, 2, 4, 8, 16], expert_parallel=_divisors(architecture.get("experts", 0) or 1, most),
                zero_stage=[0, 1, 2, 3], micro_batch=[1, 2, 4, 8, 16], recompute=[0, 2, 3] if flash_attention else [0, 1, 2, 3],
                sequence_parallel=[0, 1], recomputed_share=[1], expert_tensor_parallel=[1], shard_parallel=[0], zero_bubble=[0],
                loss_chunks=[1])


def fine_axes(row: Any, gpus_per_node: float = 8) -> dict[str, list]:
    """What can be tuned around a layout whose degrees stay: recompute in some layers, ZeRO in a node, schedule, loss."""
    held = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "micro_batch", "sequence_parallel")
    tensor = int(row["tensor_parallel"])
    return {name: [int(row[name])] for name in held} | dict(
        recompute=[0, 2, 3], recomputed_share=[0.25, 0.5, 0.75, 1], shard_parallel=[0, int(gpus_per_node)], zero_bubble=[0, 1],
        loss_chunks=[1, 8], expert_tensor_parallel=sorted({1, tensor}))


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
