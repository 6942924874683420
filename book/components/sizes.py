"""What a size of model needs: the nearest real model, its weights by format, and the fewest GPUs of each memory for each use.

A number of GPUs is a band: what to plan for, and the ends between which eight in ten cases lie.
"""
import math
from typing import NamedTuple

import pandas as pd

from gpucalc.core.evaluate import Case
from gpucalc.decisions.capacity import allowed_degrees
from gpucalc.decisions.run_speeds import planned_mfu
from gpucalc.laws.interconnect import gpus_required
from gpucalc.laws.quantization import quantized_weight_bytes, serving_bytes
from gpucalc.laws.training_cost import planned_gpu_hours
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue
from . import account

# From what a phone holds to the largest open models.
SIZES = (1e9, 3e9, 8e9, 13e9, 32e9, 70e9, 120e9, 235e9, 405e9, 671e9, 1e12)
FORMATS = ("BF16", "FP8", "INT4-g128")
MEMORIES = (24, 48, 80, 141, 192)
# Recipes of the ways to train, as the jobs of data/jobs.csv have them.
TRAININGS = {"QLoRA": "qlora", "tune all weights": "finetune", "train from scratch": "pretrain"}
# One sequence at a time on a GPU, layers recomputed.
LEAN = dict(micro_batch=1, micro_batches=1, recompute=2, flash_attention=1)
# GPUs that are tried to split each matrix, and the experts.
TENSOR, EXPERTS = (1, 2, 4, 8), (1, 8, 32)


class Gpus(NamedTuple):
    """The fewest GPUs that hold something, as a band; infinite where none of the numbers tried do."""

    low: float
    plan: float
    high: float


def nearest_models(sizes=SIZES):
    """Of each size the model of the catalogue whose count is nearest to it, by ratio; the first of several as near."""
    params = catalogue.models()["params"].astype(float)
    return {size: min(params.index, key=lambda name: abs(math.log(params[name] / size))) for size in sizes}


def card_bytes(size: int) -> float:
    """The least memory that a card sold with so many GB reports; of a size without a row, a consumer card's, as many GiB.

    Memory that a processor shares is none of a card's.
    """
    cards = catalogue.gpus()
    reported = cards["memory_bytes"][(cards["marketed_bytes"] == size * 1e9) & (cards["kind"] != "unified")]
    return float(reported.min()) if len(reported) else size * 2**30


def weights(models, formats=FORMATS):
    """Weights of each model in each format (bytes), as a column a format."""
    rows = catalogue.models().loc[list(models)]
    return pd.DataFrame({name: Case(model=rows, weight_format=name)(quantized_weight_bytes) for name in formats}, rows.index)


def to_serve(models, weight_format, memories=MEMORIES, context=8192, batch=8, cache_element_bytes=2):
    """The fewest GPUs of each memory whose room holds a model's weights and the cache of the batch: `Gpus`, a column a memory.

    Contexts end where a model's own does.
    """
    rows = catalogue.models().loc[list(models)]
    case = Case(model=rows, weight_format=weight_format, context=rows["max_context"].clip(upper=context), batch=batch,
                cache_element_bytes=cache_element_bytes)
    ends = case.band(serving_bytes)[:3]
    return pd.DataFrame({size: _counts(ends, Case(memory_bytes=card_bytes(size))(usable_bytes)) for size in memories},
                        rows.index)


def _counts(ends, room):
    return [Gpus(*each) for each in zip(*(map(float, gpus_required(end.to_numpy(), room)) for end in ends))]


def to_train(models, way, memories=MEMORIES, sequence=4096):
    """The fewest GPUs of each memory that hold one of the TRAININGS, with one sequence on each: `Gpus`, a column a memory.

    Of the ways to split matrices and experts the one that takes the fewest; all else is sharded over all GPUs.
    """
    room = list(map(card_bytes, memories))
    return pd.DataFrame([fewest(model, way, room, sequence) for model in models], list(models), list(memories), dtype=object)


def fewest(model, way, room, sequence=4096):
    """For each memory that a card reports (bytes) the `Gpus` of the split that takes the fewest, in one of the TRAININGS."""
    recipe = catalogue.jobs().loc[TRAININGS[way], "recipe"]
    row = catalogue.model(model)
    experts = EXPERTS if row.get("experts", 0) else EXPERTS[:1]
    tried = []
    for tensor in allowed_degrees(row, TENSOR):
        for spread in (each for each in experts if each == 1 or row["experts"] % each == 0):
            job = Case(model=row, recipe=recipe, sequence=sequence, tensor_parallel=tensor, expert_parallel=spread,
                       sequence_parallel=int(tensor > 1), zero_stage=3, **LEAN)
            tried.append([Gpus(*each[:3]) for each in account.fewest_to_train(job, room)])
    return [min(each, key=lambda gpus: (gpus.plan, gpus.high)) for each in zip(*tried)]


def pretraining(models, gpu, tokens_per_param):
    """GPU-hours to train each model from scratch on so many tokens a parameter, in 16 bits: low, plan and high as columns."""
    rows, mfu = catalogue.models().loc[list(models)], planned_mfu().loc[gpu]
    case = Case(model=rows, gpu=gpu, training_tokens=tokens_per_param * rows["params"])
    return pd.DataFrame({end: case.but(mfu=float(mfu[share]))(planned_gpu_hours)
                         for end, share in (("low", "high"), ("plan", "plan"), ("high", "low"))}, rows.index)
