"""Layouts of a training job: the grid of all, searched in blocks, and which of those found to take."""
import itertools
import json
import math
from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arithmetic import SECONDS_PER_HOUR
from ..core.evaluate import Case
from ..core.figures import number
from ..core.quantities import check, DEFAULTS, QUANTITIES
from ..laws.sharding import check_layout, DEGREES, layout_rules, SPARE_PLACES
from ..laws.training_cost import compute_usd, training_days
from ..laws.training_memory import training_bytes
from ..laws.training_time import layout_gpu_hours, layout_gpus, layout_mfu, step_seconds, step_tokens
from ..rows import bands, catalogue
from ..rows.kept import kept
from .capacity import narrow_products
from .columns import nine_digits
from .jobs import DEGREES_USED, TRIED


# The grid of a search over layouts, worked out in blocks, so that its memory does not grow with it.
#
# Each axis lies along an array dimension of its own, so a law is evaluated only on the axes it depends on.

LAYOUT = ("tensor_parallel", "pipeline_parallel", "virtual_stages", "context_parallel", "expert_parallel", "data_parallel",
          "zero_stage", "micro_batch", "micro_batches", "recompute", "sequence_parallel", "recomputed_share",
          "expert_tensor_parallel", "shard_parallel", "zero_bubble", "loss_chunks", "offload_activations")
AXES = tuple(name for name in LAYOUT if name not in ("data_parallel", "micro_batches"))
# What an axis is where a layout does without; 1 for the others.
NEUTRAL = dict.fromkeys(("zero_stage", "recompute", "sequence_parallel", "shard_parallel", "zero_bubble", "offload_activations"),
                        0)
OVER_MEMORY = "training_bytes: at most the memory of a GPU"
CLOSE = f"training_bytes: {bands.CLOSE}"
# Low, plan and high of a figure.
ENDS = {law: tuple(f"{end}_{unit}" for end in ("low", "plan", "high"))
        for law, unit in (("training_bytes", "bytes"), ("step_seconds", "seconds"))}
# Layouts worked out at once: of more, memory grows and time hardly falls.
BLOCK = 200_000


class Block(NamedTuple):
    """A part of the grid: columns that broadcast to the shape of `broken`, the number of the first rule broken, 0 for none."""

    layout: dict
    figures: dict
    broken: np.ndarray
    reasons: list

    def table(self, rows: Any = None) -> pd.DataFrame:
        """All columns, whole numbers as such, of all layouts, or of those at these places in their order."""
        shape = self.broken.shape
        places = ... if rows is None else np.unravel_index(rows, shape)
        columns = {name: column if name == "recomputed_share" else column.astype("int32")
                   for name, column in self.layout.items()} | self.figures
        columns = {name: np.broadcast_to(column, shape)[places].ravel() for name, column in columns.items()}
        frame = pd.DataFrame(columns, copy=False)
        frame["reason"] = pd.Categorical.from_codes(self.broken[places].ravel(), self.reasons)
        return frame

    def best(self, by: str, count: int) -> pd.DataFrame:
        """The layouts that run, the best so many of them first."""
        by = "step_seconds" if by == "plan_seconds" else by
        rows, columns = np.flatnonzero(self.broken == 0), self.layout | self.figures
        places = np.unravel_index(rows, self.broken.shape)
        keys = [np.broadcast_to(columns[name], self.broken.shape)[places] for name in order(by)]
        return self.table(rows[np.lexsort(keys[::-1])[:count]])


def order(by: str) -> list[str]:
    """What layouts are sorted by: an aim, then a shorter step, then less memory."""
    return list(dict.fromkeys([by, "step_seconds", "training_bytes"]))


def blocks(case: Case, values: dict, global_batch: int, usd_per_hour: float | None = None,
           memory_ends: tuple[float, float, float] = (1, 1, 1), published_only: bool = False) -> Iterator[Block]:
    """The search over these values of `gpus` and of each axis: blocks in the order of the rows, worked out one at a time.

    A GPU's memory may be from low to high times what the formula says (`memory_ends`).
    """
    return (_worked_out(case, part, global_batch, usd_per_hour, memory_ends, published_only) for part in _parts(values))


def size(values: dict) -> int:
    """Layouts that these values of the axes make (count)."""
    return math.prod(map(len, values.values()))


def _parts(values):
    """The axes cut into parts of at most BLOCK layouts, the first axis first: so rows keep their order."""
    if size(values) <= BLOCK:
        yield values
        return
    axis = next(name for name, each in values.items() if len(each) > 1)
    step = max(1, len(values[axis]) * BLOCK // size(values))
    for start in range(0, len(values[axis]), step):
        yield from _parts(values | {axis: values[axis][start:start + step]})


def _worked_out(case, values, global_batch, usd_per_hour, memory_ends, published_only):
    """Every layout of these values of the axes, with its figures and the first rule that it breaks."""
    architecture, card = case.rows["model"], case.rows["gpu"]
    grid = _along_axes({"last_stage": [0, 1]} | values)
    cluster, last_stage = grid.pop("gpus"), grid.pop("last_stage")
    replica = grid["tensor_parallel"] * grid["pipeline_parallel"] * grid["context_parallel"]
    data = np.maximum(cluster // replica, 1)
    layout = grid | {"data_parallel": data, "micro_batches": np.maximum(global_batch // (data * grid["micro_batch"]), 1)}
    terms = case.but(**layout, last_stage=last_stage).terms(layout_mfu, training_bytes)
    figures = {name: terms[name].max(axis=0, keepdims=True) for name in ("training_bytes", "step_seconds")}
    figures["layout_mfu"] = terms["layout_mfu"].min(axis=0, keepdims=True)
    figures["gpu_seconds"] = cluster * figures["step_seconds"]
    if usd_per_hour is not None:
        figures["step_usd"] = figures["gpu_seconds"] / SECONDS_PER_HOUR * usd_per_hour
    asked = [("published_only: degrees of a published run", used(layout, architecture))] if published_only else []
    rules = [*asked, *_rules(architecture, case.inputs, cluster, layout, global_batch),
             *((text, figures["training_bytes"] <= card.memory_bytes / end)
               for text, end in ((OVER_MEMORY, memory_ends[0]), (CLOSE, memory_ends[2])))]
    layout = {"gpus": cluster} | {name: layout[name] for name in LAYOUT}
    broken = np.zeros(np.broadcast_shapes(*(column.shape for column in (layout | figures).values())), "int8")
    for at, (_, holds) in reversed([*enumerate(rules, 1)]):
        np.copyto(broken, at, where=~holds)
    return Block(layout, figures, broken, ["", *(text for text, _ in rules)])


def _along_axes(values):
    """Each list as an array along a dimension of its own."""
    return {name: np.array(each, float).reshape([-1 if name == other else 1 for other in values])
            for name, each in values.items()}


def _rules(architecture, inputs, cluster, layout, global_batch):
    """What a layout must keep to, in order, and whether it does: divisibility, the schedule, and no layout counted twice."""
    tensor, pipeline, micro_batches = (layout[name] for name in ("tensor_parallel", "pipeline_parallel", "micro_batches"))
    chunks, zero, recompute, shard = (layout[name] for name in ("virtual_stages", "zero_stage", "recompute", "shard_parallel"))
    replicas = layout["data_parallel"] * layout["context_parallel"]
    divide, gpus_per_node = layout_rules(architecture, sequence=inputs["sequence"], **layout), inputs["gpus_per_node"]
    places = pipeline * chunks * np.ceil(architecture["layers"] / (pipeline * chunks))
    return [("gpus: a multiple of tensor x pipeline x context parallel", tensor * pipeline * replicas == cluster),
            *((f"{name}: {allowed}", holds) for name, allowed, _, holds in divide),
            ("tensor_parallel: a divisor or a multiple of gpus_per_node",
             (cluster <= gpus_per_node) | (gpus_per_node % tensor == 0) | (tensor % gpus_per_node == 0)),
            ("global_batch: a multiple of data_parallel x micro_batch",
             layout["data_parallel"] * layout["micro_batch"] * micro_batches == global_batch),
            ("sequence_parallel: 0 without tensor parallel", layout["sequence_parallel"] < tensor),
            ("zero_stage: 0 without data or context parallel", (zero == 0) | (replicas > 1)),
            ("shard_parallel: 0 without ZeRO, else a divisor of data x context parallel and less than it",
             (shard == 0) | (zero > 0) & (shard < replicas) & (replicas % np.maximum(shard, 1) == 0)),
            ("expert_tensor_parallel: 1 without experts",
             (layout["expert_tensor_parallel"] == 1) | (architecture.get("experts", 0) > 0)),
            ("recomputed_share: 1 without recompute", (recompute > 0) | (layout["recomputed_share"] == 1)),
            (f"virtual_stages: as many layers in each chunk, but for {SPARE_PLACES} places",
             (chunks == 1) | (places - architecture["layers"] <= SPARE_PLACES)),
            ("micro_batches: a multiple of pipeline_parallel with virtual_stages",
             (chunks == 1) | (micro_batches % pipeline == 0)),
            ("zero_bubble: 0 without a pipeline, and with virtual_stages",
             (layout["zero_bubble"] == 0) | (pipeline > 1) & (chunks == 1))]


# Which layout of a search to take: bands of its time and memory, and the simplest of those that are as fast.

FAMILY = "training step"
# Kinds of parallelism; what a simpler layout has less of, the first first.
KINDS = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "zero_stage")
SIMPLER = (*KINDS[:4], "recompute", "recomputed_share", "virtual_stages", "zero_bubble", "zero_stage", "shard_parallel",
           "offload_activations")


def ends(case: Case) -> dict[str, tuple[float, float, float]]:
    """Low, plan and high over the formulas of a GPU's memory and a step's time: alike for all layouts of a case."""
    one = case.but(**dict.fromkeys(LAYOUT, 1) | NEUTRAL)
    found = {law.__name__: bands.factors(one, law) for law in (training_bytes, step_seconds)}
    return {name: (float(low), float(plan), float(high)) for name, (low, plan, high) in found.items()}


def worst(case: Case, law: Any = step_seconds) -> Any:
    """The band of the stage with the largest figure, of a case in a layout."""
    return max((case.but(last_stage=last).band(law) for last in (0, 1)), key=lambda band: band.value)


def banded(layouts: pd.DataFrame, factors: dict) -> pd.DataFrame:
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
        jobs.setdefault((row["publisher"], row["law"], repr(job)), []).append((layout, np.log(row["ratio"])))
    for (publisher, *_), steps in jobs.items():
        publishers.setdefault(publisher, []).extend(
            abs(one - other) for (layout, one), (another, other) in itertools.combinations(steps, 2) if layout != another)
    pairs = [errors for errors in publishers.values() if errors]
    error = np.median([np.quantile(errors, bands.INSIDE) for errors in pairs])
    return float(np.expm1(error)), sum(map(len, pairs)), len(pairs)


def as_good(layouts: pd.DataFrame, by: str = "plan_seconds") -> pd.DataFrame:
    """The layouts whose step is within the error of a comparison of the shortest."""
    return layouts[layouts[by] <= layouts[by].min() * (1 + comparison_error()[0])]


@kept
def published_degrees() -> list[tuple]:
    """Of each published step whether its model has experts, its parameters, and the degrees of its layout."""
    found = []
    for row in catalogue.measurements().query("family == @FAMILY").itertuples():
        inputs = json.loads(row.inputs)
        case, degrees = Case.of(inputs), tuple(inputs.get(name, 1) for name in DEGREES_USED)
        found.append((bands.value_of(case, "experts") > 0, float(case("params")), degrees))
    return found


def degrees_for(architecture: Any) -> list[tuple]:
    """The DEGREES_USED of each measured step of a model of its class, which has experts too or none and half to twice its
    parameters."""
    return sorted({degrees for sparse, params, degrees in published_degrees()
                   if sparse == (architecture.get("experts", 0) > 0) and 1 / 2 <= params / architecture["params"] <= 2})


def used(layouts: Any, architecture: Any) -> np.ndarray:
    """Which layouts, a table or columns that broadcast, somebody ran and published.

    Their degrees of tensor, pipeline, context and expert parallel and their chunks a stage are those of a measured step. Data
    parallel, ZeRO, micro-batches and recompute are left to the job.
    """
    alike = (reduce(np.logical_and, (layouts[name] == degree for name, degree in zip(DEGREES_USED, degrees)))
             for degrees in degrees_for(architecture))
    return np.asarray(reduce(np.logical_or, alike, np.zeros(1, bool)))


def recommended(layouts: pd.DataFrame) -> dict[str, Any]:
    """The simplest layout within the error of the best, as a dict of its columns.

    Simplest has the fewest kinds of parallelism, then the lowest degrees of tensor, pipeline, context and expert parallel, then
    the least recompute, chunks and ZeRO; what is left goes by the time to plan for.
    """
    near = as_good(layouts)
    kinds = sum((near[name] > NEUTRAL.get(name, 1)).astype(int) for name in KINDS)
    return near.assign(kinds=kinds).sort_values(["kinds", *SIMPLER, "plan_seconds"], key=nine_digits).drop(
        columns="kinds").to_dict("records")[0]


# Every layout of a training job on a cluster at once: memory and time of each by the laws, in one table.

SHORT = {"TP": "tensor_parallel", "PP": "pipeline_parallel", "CP": "context_parallel", "EP": "expert_parallel",
         "DP": "data_parallel"}
PARTS = {"matrix_seconds": "matrix products", "elementwise_seconds": "norms, activations, sums",
         "tensor_seconds": "tensor parallel", "context_seconds": "context parallel", "expert_seconds": "expert parallel",
         "pipeline_seconds": "sends between stages"}
RECOMPUTE = ("none", "selective", "layers", "all but products")
RECOMPUTED = ("nothing recomputed", "norms and activations recomputed", "whole layers recomputed", "all but products recomputed")
# The most chunks a stage that a published job had: NVIDIA, Qwen3-30B-A3B on 16 GPUs, Megatron-Bridge docs/performance-summary.md.
MOST_CHUNKS = 24
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
               usd_per_hour: float | None = None, published_only: bool = False) -> pd.DataFrame:
    """Every layout of the case as a row; what rules one out is its `reason`, the first that applies, empty if nothing does.

    `gpus` is a count or several, `global_batch` the sequences of a step, `axes` has the values of an axis to search instead
    of the usual ones. `gpu_seconds` is what a step takes on all GPUs, `step_usd` its price. Memory and time are those of the
    worst stage: by the formula, and `low_`, `plan_` and `high_bytes` and `_seconds` of their bands. A layout fits if the high
    end of its memory does; one that only does by the low end is too close to call (CLOSE). Where counts don't divide, the
    figures are those of the next whole count below. Raises ValueError for more than MOST_LISTED layouts.
    """
    place = "one table; best_layouts searches more"
    searched, factors = _searched(case, gpus, global_batch, axes, usd_per_hour, MOST_LISTED, place, published_only)
    return banded(pd.concat([block.table() for block in searched], ignore_index=True), factors)


def _searched(case, gpus, global_batch, axes, usd_per_hour, most, place, published_only=False):
    """The blocks of the search, and its bands. Raises ValueError for a value that is not allowed, and for more than `most`."""
    counts = sorted(set(np.atleast_1d(gpus).tolist()))
    asked = {name: case.inputs.get(name) for name in ("sequence", "gpus_per_node", "flash_attention")}
    prices = {} if usd_per_hour is None else {"usd_per_hour": usd_per_hour}
    for name, value in [*(("gpus", count) for count in counts), *({"global_batch": global_batch} | asked | prices).items()]:
        check(name, value, "layouts")
    axes = usual_axes(case.rows["model"], counts) | _checked(axes or {})
    values = {"gpus": counts} | {axis: axes[axis] for axis in AXES}
    if size(values) > most:
        raise ValueError(f"gpus, axes: {size(values):,} layouts; allowed: at most {most:,} in {place}")
    factors = ends(case)
    return blocks(case, values, global_batch, usd_per_hour, factors["training_bytes"], published_only), factors


def best_layouts(model: Any, gpu: Any, gpus: Any, global_batch: float, sequence: float, by: str = "plan_seconds",
                 count: int | None = 10, axes: dict[str, Any] | None = None, gpus_per_node: float | None = None,
                 flash_attention: float = 1, usd_per_hour: float | None = None, published_only: bool = False,
                 **job: Any) -> pd.DataFrame:
    """The layouts that run, best first, as a table: so many, or all; arguments as in `all_layouts`, `by` as in `best_of`.

    `published_only` leaves those whose degrees somebody ran and published (`used`).

    Raises ValueError for more than MOST_SEARCHED layouts. Memory does not grow with their number.
    """
    _check_aim(by)
    case = layout_case(model, gpu, sequence, gpus_per_node=gpus_per_node, flash_attention=flash_attention, **job)
    best, counted, formula = None, 0, "step_seconds" if by == "plan_seconds" else by  # all plans are as far from their formulas
    searched, factors = _searched(case, gpus, global_batch, axes, usd_per_hour, MOST_SEARCHED, "one search", published_only)
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
        broken = [f"\n  {number:,} break {text}" for text, number in counted.items() if number]
        raise ValueError(f"no layout runs; of {counted.sum():,}:{''.join(broken)}")
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
    hidden = dict.fromkeys(PARTS, given["overlap"]) | dict.fromkeys(("matrix_seconds", "elementwise_seconds"), 0) | {
        f"{kind}_seconds": terms[f"{kind}_hidden_share"] for kind in ("tensor", "expert")}
    shown = {law: 1 - (1 - terms["lent_share"]) * share for law, share in hidden.items()}
    parts = {name: given["micro_batches"] * terms[law] * shown[law] for law, name in PARTS.items()}
    host = given["micro_batches"] * (given["host_seconds"] + terms["host_activation_seconds"])
    waiting = {"host": host} if host else {}
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
    zero += [name for axis, name in (("zero_bubble", "zero bubble"), ("offload_activations", "activations on the host"))
             if row.get(axis)]
    return ", ".join(each.replace(" ", "\u00a0") for each in degrees + zero) or "one GPU"


def usual_axes(architecture: Any, counts: Any) -> dict[str, list]:
    """The values of each axis that are searched: all degrees that divide what they split, and common choices of the rest.

    The finer axes have one value each here, since they multiply the layouts; `fine_axes` has more.
    """
    most, layers = max(counts), architecture["layers"]
    stages = [each for each in range(1, min(layers + 2, most) + 1) if (np.remainder(counts, each) == 0).any()]
    chunks = [each for each in range(2, MOST_CHUNKS + 1) if any(-layers % (each * stage) <= SPARE_PLACES for stage in stages[1:])]
    allowed = dict(tensor_parallel=_divisors(architecture["heads"], most), pipeline_parallel=stages, virtual_stages=[1, *chunks],
                   expert_parallel=_divisors(architecture.get("experts", 0) or 1, most), sequence_parallel=[0, 1])
    common = {axis: sorted(each + more) for axis, (_, each, more) in TRIED.items() if more is not None}
    return {axis: (allowed | common).get(axis, [NEUTRAL.get(axis, 1)]) for axis in AXES}


def fine_axes(row: Any, gpus_per_node: float = 8) -> dict[str, list]:
    """What can be tuned around a layout whose degrees stay: recompute in some layers, ZeRO in a node, schedule, loss, the
    host's memory for activations."""
    held = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "micro_batch", "sequence_parallel")
    tensor = int(row["tensor_parallel"])
    return {name: [int(row[name])] for name in held} | dict(
        recompute=[0, 2, 3], recomputed_share=[0.25, 0.5, 0.75, 1], shard_parallel=[0, int(gpus_per_node)], zero_bubble=[0, 1],
        loss_chunks=[1, 8], offload_activations=[0, 1], expert_tensor_parallel=sorted({1, tensor}))


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
