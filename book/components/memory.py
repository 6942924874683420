"""What one GPU holds, term by term, while it trains and while it serves; how many it takes; bars and tables of that."""
import math
import re
from typing import NamedTuple

import pandas as pd

from gpucalc.core.arithmetic import maximum
from gpucalc.core.evaluate import Case, Row
from gpucalc.core.figures import exact, percent
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions.capacity import allowed_degrees
from gpucalc.decisions.run_speeds import planned_mfu
from gpucalc.laws import kv_cache as kv, sharding, training_memory as tm
from gpucalc.laws.interconnect import gpus_required
from gpucalc.laws.quantization import quantized_weight_bytes, serving_bytes
from gpucalc.laws.training_cost import planned_gpu_hours
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue
from .sentences import CLOSE, enough
from .show import in_bytes, table
from math import inf


# What one GPU holds, term by term: at each moment of a training step on the fullest GPU, and while it serves.

MOST_REPLICAS = 4096
# What `one_change` tries of a training job, with words for a number that needs them.
CHANGES = {"recompute": {0: "none", 1: "selective", 2: "whole layers", 3: "torch's policy"}, "flash_attention": (0, 1),
           "loss_chunks": (1, 8), "zero_stage": (0, 1, 2, 3), "offload_optimizer": (0, 1), "offload_gradients": (0, 1),
           "sequence_parallel": (0, 1)}

_ADDRESS = r"github\.com/[\w/-]+"
_PAPER = r"(?:arXiv [\d.]+\d|[A-Z]\w+ et al\. \d+)(?:, (?:section|table|abstract)(?: [\d.]*\d)?)?"


def training_job(case):
    """The case without what belongs to a server, its `lora_rank`, if above 0, as the rank of its recipe.

    An engine's format of weights and `framework_bytes` are not those of a training job; what is not asked of the host is as in
    the recipe. Raises ValueError for a rank of a recipe without adapters and for a layout that does not divide the model.
    """
    recipe, rank = case.rows["recipe"], case.inputs.get("lora_rank")
    if rank and not recipe.lora_rank:
        raise ValueError(f"parameter lora_rank: {rank}; allowed: 0, because {recipe.name} has no adapters")
    degrees = {name: case.inputs[name] for name in (*sharding.DEGREES, "sequence") if name in case.inputs}
    sharding.check_layout(case.rows["model"], **degrees)
    ranked = Row({**recipe, "lora_rank": rank or recipe.lora_rank}, recipe.name, recipe.kind)
    hosted = {name: case.inputs.get(name) or None for name in ("offload_optimizer", "offload_gradients")}
    return case.but(lora_rank=None, weight_format=None, framework_bytes=None, recipe=ranked, **hosted)


def gpus_per_replica(case):
    """GPUs that share one copy of the model in training (count)."""
    return math.prod(case.inputs.get(name, 1) for name in ("tensor_parallel", "pipeline_parallel", "context_parallel"))


def fullest(case):
    """The explanation of `training_bytes` on the fullest GPU: in a pipeline its first stage or its last."""
    stages = [case.but(last_stage=last).explain(tm.training_bytes) for last in (0, 1)]
    return max(stages, key=lambda account: account.value)


def need(case):
    """The band of `training_bytes` on the fullest GPU. Columns give columns."""
    first = case.but(last_stage=0).band(tm.training_bytes)
    fuller = maximum(case.but(last_stage=1)(tm.training_bytes) / first.value, 1)
    return first.through(lambda needed: needed * fuller, first.unit)


def fewest_to_train(case, memories):
    """For each memory (bytes) the band of the fewest GPUs that hold the training job, with replicas added and all else as it is.

    Infinite where MOST_REPLICAS do not hold it.
    """
    import numpy
    counts = numpy.arange(1, MOST_REPLICAS + 1)
    counts = counts[counts * case.inputs.get("context_parallel", 1) % case.inputs.get("expert_parallel", 1) == 0]
    needs = need(case.but(data_parallel=counts))

    def first(held):
        return next(iter(counts[numpy.broadcast_to(held, counts.shape)].tolist()), math.inf) * gpus_per_replica(case)
    return [needs.through(lambda needed, memory=memory: first(needed <= memory)) for memory in memories]


def one_change(case):
    """Cases by what changes: the training job with another setting, twice the micro-batch, or another recipe."""
    settings = [name for name in CHANGES if name != "sequence_parallel" or case.inputs.get("tensor_parallel", 1) > 1]
    changes = {f"{name} = {value}{_in_words(name, value)}": {name: value}
               for name in settings for value in CHANGES[name]
               if value != case.inputs.get(name, case.rows["recipe"].get(name))}
    twice = 2 * case.inputs["micro_batch"]
    changes[f"micro_batch = {twice}"] = {"micro_batch": twice}
    others = catalogue.recipes().index.drop(case.rows["recipe"].name)
    changes |= {f"recipe = {name}": {"recipe": name} for name in others}
    return {change: case.but(**inputs) for change, inputs in changes.items()}


def _in_words(name, value):
    return f" ({CHANGES[name][value]})" if isinstance(CHANGES[name], dict) else ""


def moments(account):
    """Bytes by moment (the law's name) and term; the terms of a moment sum to its law."""
    arguments = {step.law: step.arguments for step in account.steps}
    return {moment: _terms(arguments["resident_bytes"], arguments[moment]) for moment in tm.peak_bytes.arguments}


def _terms(resident, moment):
    """Gradients that are not held from step to step count only in the moments that name them."""
    terms = resident | moment
    terms["held_gradient_bytes"] *= terms["persistent_gradients"] or "held_gradient_bytes" in moment
    return {name: value for name, value in terms.items() if name != "resident_bytes" and QUANTITIES[name].unit == "byte"}


def around_tensors(account):
    """Bytes by term that tensors do not take: fragmentation and the framework."""
    return {name: value for name, value in account.steps[-1].arguments.items() if name != "peak_bytes"}


def peak_terms(account):
    """Bytes by term at the largest moment, with what tensors do not take; they sum to `training_bytes`."""
    return max(moments(account).values(), key=lambda terms: sum(terms.values())) | around_tensors(account)


def source(term):
    """The paper and section, or the address, that the docstring of the term's law names first; empty if it names none."""
    text = " ".join(LAWS[term].__doc__.split()) if term in LAWS else ""
    found = re.search(_ADDRESS + "|" + _PAPER, text)
    return found[0] if found else ""


def origins(account):
    """Where each term at the largest moment comes from: what its law cites or says, or the source of an input."""
    given = {used.name: used.source for used in account.inputs}
    return {name: source(name) or given.get(name) or " ".join(LAWS[name].__doc__.partition("\n\n")[0].split())
            for name in peak_terms(account)}


def server(case, serving_tensor_parallel):
    """The case of a server: the model in its format of weights, whole on each group of `serving_tensor_parallel` GPUs.

    Raises ValueError for a group that does not divide the model.
    """
    try:
        sharding.check_layout(case.rows["model"], tensor_parallel=serving_tensor_parallel)
    except ValueError as error:
        raise ValueError(f"serving_tensor_parallel: {error}") from None
    training = dict.fromkeys(("recipe", *sharding.DEGREES))
    return case.but(**training).but(tensor_parallel=serving_tensor_parallel)


def serving_terms(server):
    """Bytes by term on one GPU of a server with the cache of its batch."""
    around = server.explain(kv.engine_room_bytes).steps[-1].arguments
    cache = server(kv.gpu_kv_bytes)
    return {name: {"kv_bytes": cache, **around}[name]
            for name in ("gpu_weight_bytes", "kv_bytes", "profile_bytes", "framework_bytes")}


def fewest_to_serve(server, memories, degrees=(1, 2, 4, 8, 16, 32)):
    """For each memory (bytes) the smallest group of GPUs that holds the server and its batch; infinite where none does.

    Of `degrees` and the server's own those that divide the model.
    """
    tried = allowed_degrees(server.rows["model"], sorted({*degrees, server.inputs["tensor_parallel"]}))
    needs = {degree: sum(serving_terms(server.but(tensor_parallel=degree)).values()) for degree in tried}
    share = server.inputs["memory_utilization"]
    return [next((degree for degree, need in needs.items() if need <= memory * share), math.inf) for memory in memories]


# What a size of model needs: the nearest real model, its weights by format, and the fewest GPUs of each memory for each use.
#
# A number of GPUs is a band: what to plan for, and the ends between which eight in ten cases lie.

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
            tried.append([Gpus(*each[:3]) for each in fewest_to_train(job, room)])
    return [min(each, key=lambda gpus: (gpus.plan, gpus.high)) for each in zip(*tried)]


def pretraining(models, gpu, tokens_per_param):
    """GPU-hours to train each model from scratch on so many tokens a parameter, in 16 bits: low, plan and high as columns."""
    rows, mfu = catalogue.models().loc[list(models)], planned_mfu().loc[gpu]
    case = Case(model=rows, gpu=gpu, training_tokens=tokens_per_param * rows["params"])
    return pd.DataFrame({end: case.but(mfu=float(mfu[share]))(planned_gpu_hours)
                         for end, share in (("low", "high"), ("plan", "plan"), ("high", "low"))}, rows.index)


# What fills a GPU, as pages show it: one name and one colour for each term of an account, bars, and the account itself.

# A term (a law or an input): its name in a table, and the part it belongs to, which has one of the eight colours of a chart.
TERMS = {"held_weight_bytes": ("weights", "weights"), "gpu_weight_bytes": ("weights", "weights"),
         "gathered_bytes": ("gathered by ZeRO", "gathered by ZeRO"), "held_gradient_bytes": ("gradients", "gradients"),
         "head_gradient_bytes": ("gradient of the output head", "gradients"),
         "held_master_bytes": ("master weights", "optimizer, master"),
         "held_optimizer_bytes": ("optimizer state", "optimizer, master"),
         "step_bytes": ("the step's own buffers", "optimizer, master"),
         "activation_bytes": ("activations of all layers", "activations"),
         "layer_activation_bytes": ("activations of one layer", "activations"),
         "recomputed_bytes": ("made again in one layer", "activations"),
         "activation_gradient_bytes": ("gradients of activations", "activations"),
         "profile_bytes": ("activations in the trial run", "activations"),
         "logits_bytes": ("logits, inputs of the head", "logits and loss"),
         "loss_bytes": ("softmax, gradient of logits", "logits and loss"),
         "fragmentation_bytes": ("fragmentation", "fragmentation, CUDA"),
         "communication_bytes": ("buffers of communication", "fragmentation, CUDA"),
         "framework_bytes": ("CUDA context, kernels", "fragmentation, CUDA"), "kv_bytes": ("cache of the batch", "cache")}
MOMENTS = {"loss_moment_bytes": "loss", "head_moment_bytes": "output head", "first_layer_moment_bytes": "backward starts",
           "last_layer_moment_bytes": "backward ends", "step_moment_bytes": "optimizer step"}


def spare(need, memory):
    """What is left of the memory in words: `3 GB to spare`, `3 GB too much`."""
    return f"{in_bytes(abs(memory - need))} {'to spare' if need <= memory else 'too much'}"


def verdict(need, memory):
    """Whether the memory holds a band: `fits`, `does not fit`, or `too close to call` where the margin is inside the error."""
    return {"yes": "fits", "no": "does not fit"}.get(enough(need, at_most=memory), CLOSE)


def fewest_in_words(fewest):
    """How many GPUs hold the plan value, and to how many the high end takes them: `3`, `3 to 4`, `3 or more`; `–` for none."""
    if fewest.plan == math.inf:
        return "–"
    more = "" if fewest.high == fewest.plan else " or more" if fewest.high == math.inf else f" to {fewest.high:,}"
    return f"{fewest.plan:,}{more}"


def parts(terms):
    """Bytes by part, in the order of their colours; parts of nothing are left out."""
    sums = dict.fromkeys((part for _, part in TERMS.values()), 0)
    for term, value in terms.items():
        sums[TERMS[term][1]] += value
    return {part: value for part, value in sums.items() if value}


def largest(terms):
    """The part that takes most, in words."""
    sums = parts(terms)
    return max(sums, key=sums.get)


def memory_bars(accounts, limit, alt, x_title="bytes on one GPU", unit="training_bytes", title=""):
    """A bar for each account (label -> bytes by term), in parts by colour; a dashed line marks the memory of the GPU.

    x_title, unit: the axis and the quantity on it; title: the finding. A part has the same colour in every chart.
    """
    from pandas import DataFrame
    from .charts import bars  # the words and sums above need no Altair
    pieces = DataFrame([{"bar": label, "part": part, unit: float(f"{value:.6g}")}
                        for label, terms in accounts.items() for part, value in parts(terms).items()])
    order = list(dict.fromkeys(part for _, part in TERMS.values() if part != "cache" or part in set(pieces["part"])))
    return bars(pieces, unit, "bar", "part", alt, x_title, order, limit, title=title)


def moment_bars(account, server):
    """The accounts of the five moments of a training step, and of serving, for `memory_bars`."""
    around = around_tensors(account)
    training = {MOMENTS[moment]: there | around for moment, there in moments(account).items()}
    return training | {"serving": serving_terms(server)}


def account_table(account, caption, show=exact):
    """The terms at the largest moment of a step with their share and source, and their sum; `show` formats bytes."""
    from pandas import DataFrame
    found = origins(account)
    rows = [dict(term=TERMS[name][0], bytes=value, share=value / account.value, source=found[name])
            for name, value in peak_terms(account).items() if value]
    total = dict(term="total", bytes=account.value, share=1, source=None)
    return table(DataFrame([*rows, total]), caption, formats={"bytes": show, "share": percent})


def moment_table(account, caption):
    """Terms by moment, the largest bytes of tensors below."""
    frame = pd.DataFrame(moments(account))
    frame = frame[(frame > 0).any(axis=1)]
    frame.index = [TERMS[term][0] for term in frame.index]
    frame.loc["total"] = [account.terms[moment] for moment in frame]
    return table(frame.rename_axis("term").reset_index(), caption, labels=MOMENTS)


def serving_answers(per_token, room, serving, context, engine, batch, longest, architecture, name, weight_format, served_on):
    """What a cache leaves room for, one answer a row."""
    answers = {"cache of one token on one GPU": exact(per_token), "memory left for the cache on one GPU": in_bytes(room),
               "tokens it holds": f"{serving(kv.cache_tokens):,.0f}",
               f"sequences of {context:,} tokens it holds at once": f"{engine.value:,.2f}",
               f"longest context for {batch:,} sequences": f"{longest:,.0f}" if longest < inf else "any: the windows fit",
               "made for contexts of up to": f"{architecture.max_context:,}"}
    return table(pd.DataFrame(answers.items(), columns=["question", "answer"]), f"{name} in {weight_format} on {served_on}")


def served_table(served, needed, budget, card, batch, context, served_on):
    """The terms of serving on one GPU, with their share of its memory."""
    lines = [(TERMS[term][0], value) for term, value in served.items()] + [("total", needed), ("given to the engine", budget)]
    held = pd.DataFrame(lines, columns=["term", "bytes"])
    return table(held.assign(share=held.bytes / card.memory_bytes),
                 f"One GPU, with {batch:,} sequences of {context:,} tokens on {served_on}",
                 labels={"share": "share of memory"}, formats={"bytes": exact, "share": percent})
