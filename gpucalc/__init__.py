"""GPU arithmetic: which GPUs a model needs, how fast it runs and what it costs, as laws of plain arithmetic."""
from . import (arithmetic_intensity, break_even, interconnect, kv_cache, model_size, owning, quantization, renting, serving,
               serving_cost, sharding, total_cost, training_cost, training_memory, training_time)
from .law import LAWS
from .quantities import QUANTITIES

__all__ = ["LAWS", "QUANTITIES", "arithmetic_intensity", "break_even", "interconnect", "kv_cache", "model_size", "owning",
           "quantization", "renting", "serving", "serving_cost", "sharding", "total_cost", "training_cost", "training_memory",
           "training_time", "evaluate", "explain"]


def __getattr__(name):
    """Load what needs SymPy or pandas only when it is asked for."""
    if name in ("evaluate", "explain"):
        from . import explanation
        return getattr(explanation, name)
    raise AttributeError(f"module 'gpucalc' has no attribute {name!r}")
