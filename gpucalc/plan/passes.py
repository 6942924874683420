"""A pass over a model, operator by operator: how long each takes, what it waits for, and where it turns to compute."""
from ..core.evaluate import Case
from ..laws import arithmetic_intensity as ai
from ..laws.kv_cache import kv_bytes_per_token
from .operators import decode_operators, prefill_operators

ATTENTION = "scores and values"
# Operators that have weights and whose time is traffic at any number of tokens.
NEVER_TURN = ("norms and residual sums", "final norm")


def limited_by(flops, moved_bytes, gpu, efficiency):
    """What work waits for at the shares of the peaks that are reached: "compute" or "memory"."""
    reached = gpu.peak_flops * efficiency.compute_efficiency, gpu.bandwidth * efficiency.bandwidth_efficiency
    return "compute" if flops / moved_bytes > ai.ridge_point(*reached) else "memory"


def timed(operators, case):
    """Operators as a table: with intensity, least (`bound`) and expected time (`reached`, s), and what limits that."""
    from pandas import DataFrame
    gpu, efficiency = case.rows["gpu"], case.rows["efficiency"]
    frame = DataFrame(operators)
    frame["intensity"] = frame["operator_flops"] / frame["operator_bytes"]
    frame["bound"] = Case(frame, gpu)(ai.operator_seconds)
    frame["reached"] = Case(frame, gpu, efficiency)(ai.operator_seconds)
    frame["limit"] = ["kernels" if row.reached == row.kernels * efficiency.kernel_seconds else
                      limited_by(row.operator_flops, row.operator_bytes, gpu, efficiency) for row in frame.itertuples()]
    return frame


def turning_points(case, gpus):
    """Tokens in a pass at which each operator with weights turns to compute, by GPU; infinite where it never does.

    `attention` is what limits that in decode, `critical_prompt` where it turns in a prefill. Contexts are taken as long,
    all experts as read, windows as wide as the prompt.
    """
    model, every = case.rows["model"], case.but(gpu=gpus)
    points = {row["operator"]: every.but(
        used_params=row["used_params"], touched_params=row["used_params"] * _read_per_use(row, model),
        moved_values=row["moved_values"])(ai.critical_tokens) for row in decode_operators(case) if _turns(row)}
    attended = next(row["moved_values"] for row in prefill_operators(case.but(batch=1)) if row["operator"] == ATTENTION)
    intensity = case(ai.decode_pair_flops) * model.layers / case(kv_bytes_per_token)
    attention = ["compute" if intensity > ridge else "memory" for ridge in every(ai.ridge_point)]
    prompts = every.but(moved_values=attended)(ai.critical_prompt)
    return gpus[[]].assign(**points, attention=attention, critical_prompt=prompts)


def _turns(row):
    return row.get("used_params", 0) > 0 and row["operator"] not in NEVER_TURN


def _read_per_use(row, model):
    return model.experts / model.experts_per_token if row["operator"] == "routed experts" else 1
