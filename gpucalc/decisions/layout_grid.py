"""The grid of a search over layouts, worked out in blocks, so that its memory does not grow with it.

Each axis lies along an array dimension of its own, so a law is evaluated only on the axes it depends on.
"""
import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..core.arithmetic import SECONDS_PER_HOUR
from ..laws.sharding import layout_rules
from ..laws.training_memory import training_bytes
from ..laws.training_time import layout_mfu
from ..rows import bands

LAYOUT = ("tensor_parallel", "pipeline_parallel", "virtual_stages", "context_parallel", "expert_parallel", "data_parallel",
          "zero_stage", "micro_batch", "micro_batches", "recompute", "sequence_parallel", "recomputed_share",
          "expert_tensor_parallel", "shard_parallel", "zero_bubble", "loss_chunks")
AXES = tuple(name for name in LAYOUT if name not in ("data_parallel", "micro_batches"))
# What an axis is where a layout does without; 1 for the others.
NEUTRAL = dict.fromkeys(("zero_stage", "recompute", "sequence_parallel", "shard_parallel", "zero_bubble"), 0)
FITS = "training_bytes: at most the memory of a GPU"
CLOSE = f"training_bytes: {bands.CLOSE}"
# Places for a layer in the chunks of a pipeline that may stay empty: Megatron-Core can count the embeddings, the output head
# and a layer that predicts one more token as one each.
SPARE_PLACES = 3
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

    def table(self, rows=None):
        """All columns, whole numbers as such, of all layouts, or of those at these places in their order."""
        shape = self.broken.shape
        places = ... if rows is None else np.unravel_index(rows, shape)
        columns = {name: column if name == "recomputed_share" else column.astype("int32")
                   for name, column in self.layout.items()} | self.figures
        columns = {name: np.broadcast_to(column, shape)[places].ravel() for name, column in columns.items()}
        frame = pd.DataFrame(columns, copy=False)
        frame["reason"] = pd.Categorical.from_codes(self.broken[places].ravel(), self.reasons)
        return frame

    def best(self, by, count):
        """The layouts that run, the best so many of them first."""
        by = "step_seconds" if by == "plan_seconds" else by
        rows, columns = np.flatnonzero(self.broken == 0), self.layout | self.figures
        places = np.unravel_index(rows, self.broken.shape)
        keys = [np.broadcast_to(columns[name], self.broken.shape)[places] for name in order(by)]
        return self.table(rows[np.lexsort(keys[::-1])[:count]])


def order(by):
    """What layouts are sorted by: an aim, then a shorter step, then less memory."""
    return list(dict.fromkeys([by, "step_seconds", "training_bytes"]))


def blocks(case, values, global_batch, usd_per_hour=None, memory_ends=(1, 1, 1)):
    """The search over these values of `gpus` and of each axis: blocks in the order of the rows, worked out one at a time.

    A GPU's memory may be from low to high times what the formula says (`memory_ends`).
    """
    return (_worked_out(case, part, global_batch, usd_per_hour, memory_ends) for part in _parts(values))


def size(values):
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


def _worked_out(case, values, global_batch, usd_per_hour, memory_ends):
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
    rules = [*_rules(architecture, cluster, layout, global_batch, **sizes(case)),
             *((text, figures["training_bytes"] <= card.memory_bytes / end)
               for text, end in ((FITS, memory_ends[0]), (CLOSE, memory_ends[2])))]
    layout = {"gpus": cluster} | {name: layout[name] for name in LAYOUT}
    broken = np.zeros(np.broadcast_shapes(*(column.shape for column in (layout | figures).values())), "int8")
    for number, (_, holds) in reversed([*enumerate(rules, 1)]):
        np.copyto(broken, number, where=~holds)
    return Block(layout, figures, broken, ["", *(text for text, _ in rules)])


def sizes(case):
    """What the rules of a layout need of the case beside the layout."""
    return {name: case.inputs.get(name) for name in ("sequence", "gpus_per_node", "flash_attention")}


def _along_axes(values):
    """Each list as an array along a dimension of its own."""
    return {name: np.array(each, float).reshape([-1 if name == other else 1 for other in values])
            for name, each in values.items()}


def _rules(architecture, cluster, layout, global_batch, sequence, gpus_per_node, flash_attention):
    """What a layout must keep to, in order, and whether it does: divisibility, the schedule, and no layout counted twice."""
    tensor, pipeline, micro_batches = (layout[name] for name in ("tensor_parallel", "pipeline_parallel", "micro_batches"))
    chunks, zero, recompute, shard = (layout[name] for name in ("virtual_stages", "zero_stage", "recompute", "shard_parallel"))
    replicas = layout["data_parallel"] * layout["context_parallel"]
    divide = layout_rules(architecture, sequence=sequence, **layout)
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
            ("recompute: not 1 with FlashAttention, which keeps no scores", (recompute != 1) | (flash_attention == 0)),
            ("recomputed_share: 1 without recompute", (recompute > 0) | (layout["recomputed_share"] == 1)),
            (f"virtual_stages: as many layers in each chunk, but for {SPARE_PLACES} places",
             (chunks == 1) | (places - architecture["layers"] <= SPARE_PLACES)),
            ("micro_batches: a multiple of pipeline_parallel with virtual_stages",
             (chunks == 1) | (micro_batches % pipeline == 0)),
            ("zero_bubble: 0 without a pipeline, and with virtual_stages",
             (layout["zero_bubble"] == 0) | (pipeline > 1) & (chunks == 1))]
