"""Fleets as a table: what each GPU and degree takes for a load, or what rules it out."""
import math

from gpucalc.core.figures import percent
from ..components.show import table

LABELS = {"gpu": "GPU", "tensor_parallel": "GPUs in a replica", "batch": "batch", "replicas": "replicas", "gpus": "GPUs",
          "low_gpus": "fast end", "high_gpus": "slow end", "formula_gpus": "GPUs, formula",
          "bound": "GPUs, bound", "offered_load": "places filled", "limit": "what rules it out", "binds": "what costs most",
          "time_to_first_token": "first token within",
          "time_per_output_token": "time per output token",
          "request_seconds": "whole request", "alone": "one request, alone"}

# Why there is no plan, by what rules it out.
NO_PLAN = {"memory": "the model does not fit its memory", "the whole answer": "one request alone takes too long",
           "the first token": "a prompt alone takes too long", "the time per token": "a pass alone takes too long"}


def fleet_table(fleets, columns, caption, late_share, **formats):
    """The columns of `plan.queue.fleets` that are named, as a table; a dash where no number is enough."""
    shown = fleets[columns].replace(math.inf, math.nan)
    return table(shown, caption, labels=LABELS | {"answer_seconds": f"{percent(1 - late_share)} within"},
                 formats={"offered_load": percent} | formats)
