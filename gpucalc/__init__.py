"""GPU arithmetic: which GPUs a model needs, how fast it runs and what it costs, as laws of plain arithmetic."""
from importlib import import_module
from typing import TYPE_CHECKING

from .core.evaluate import READERS
from .core.law import LAWS
from .core.quantities import QUANTITIES
from .laws import (activation_memory, apart, arithmetic_intensity, break_even, budget, choosing, collectives, commitments,
                   counters, demand, derating, energy, experts, financing, goodput, images, interconnect, kernels, kv_cache,
                   lengths, linear_layers, low_rank, memories, model_size, nodes, owning, post_training, quantization, queueing,
                   renting, rollouts, serving, serving_cost, serving_layouts, serving_volume, sharding, shares, sharing, stops,
                   topology, total_cost, training_cost, training_links, training_memory, training_products, training_time,
                   waiting, worth)

if TYPE_CHECKING:
    from .core.evaluate import Case
    from .decisions.decide import compare, decide
    from .decisions import layouts, what_changed
    from .rows.catalogue import gpus, models

__all__ = ["LAWS", "QUANTITIES", "Case", "activation_memory", "apart", "arithmetic_intensity", "break_even", "budget",
           "choosing", "collectives", "commitments", "compare", "counters", "decide", "demand", "derating", "energy", "experts",
           "financing", "goodput", "gpus", "images", "interconnect", "kernels", "kv_cache", "layouts", "lengths",
           "linear_layers", "low_rank", "memories", "model_size", "models", "nodes", "owning", "post_training", "quantization",
           "queueing", "renting", "rollouts", "serving", "serving_cost", "serving_layouts", "serving_volume", "sharding",
           "shares", "sharing", "stops", "topology", "total_cost", "training_cost", "training_links", "training_memory",
           "training_products", "training_time", "waiting", "what_changed", "worth"]


# Loaded when a case is asked for a band.
READERS["band"] = lambda case, law: import_module("gpucalc.rows.bands").band(case, law)
# Loaded where the reader names GPUs of their own.
READERS["own_gpus"] = lambda path, held: import_module("gpucalc.rows.own_gpus").own_gpus(path, held)


def __getattr__(name):
    """Load what needs pandas only when it is asked for. A case learns the catalogue's names."""
    if name == "Case":
        import_module("gpucalc.rows.catalogue")
        return import_module("gpucalc.core.evaluate").Case
    if name in ("layouts", "what_changed"):
        return import_module(f"gpucalc.decisions.{name}")
    if name in ("gpus", "models"):
        return getattr(import_module("gpucalc.rows.catalogue"), name)
    if name in ("compare", "decide"):
        return getattr(import_module("gpucalc.decisions.decide"), name)
    raise AttributeError(f"module 'gpucalc' has no attribute {name!r}")
