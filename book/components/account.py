"""What one GPU holds, term by term: at each moment of a training step on the fullest GPU, and while it serves."""
import math
import re

from gpucalc.core.arithmetic import maximum
from gpucalc.core.evaluate import Row
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions.capacity import allowed_degrees
from gpucalc.laws import kv_cache as kv, sharding, training_memory as tm
from gpucalc.rows import catalogue

MOST_REPLICAS = 4096
# What `one_change` tries of a training job, with words for a number that needs them.
CHANGES = {"recompute": {0: "none", 1: "attention scores", 2: "whole layers", 3: "torch's policy"}, "flash_attention": (0, 1),
           "loss_chunks": (1, 8), "zero_stage": (0, 1, 2, 3), "offload_optimizer": (0, 1), "offload_gradients": (0, 1),
           "sequence_parallel": (0, 1)}

_ADDRESS = r"github\.com/[\w/-]+"
_PAPER = r"(?:arXiv [\d.]+\d|[A-Z]\w+ et al\. \d+)(?:, (?:section|table|abstract)(?: [\d.]*\d)?)?"


def training_job(case):
    """The case without what belongs to a server, its `lora_rank`, if above 0, as the rank of its recipe.

    An engine's format of weights and `framework_bytes` are not those of a training job. Raises ValueError for a rank of a recipe
    without adapters and for a layout that does not divide the model.
    """
    recipe, rank = case.rows["recipe"], case.inputs.get("lora_rank")
    if rank and not recipe.lora_rank:
        raise ValueError(f"parameter lora_rank: {rank}; allowed: 0, because {recipe.name} has no adapters")
    degrees = {name: case.inputs[name] for name in (*sharding.DEGREES, "sequence") if name in case.inputs}
    sharding.check_layout(case.rows["model"], **degrees)
    ranked = Row({**recipe, "lora_rank": rank or recipe.lora_rank}, recipe.name, recipe.kind)
    return case.but(lora_rank=None, weight_format=None, framework_bytes=None, recipe=ranked)


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
               for name in settings for value in CHANGES[name] if value != case.inputs[name]}
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
