"""A pass over a model, operator by operator: how long each takes, what it waits for, and where it turns to compute."""
from gpucalc.core.arithmetic import where
from gpucalc.core.evaluate import Case
from gpucalc.laws import arithmetic_intensity as ai
from gpucalc.laws.kv_cache import read_kv_bytes
from gpucalc.laws.shares import attention_rate, memory_rate, product_rate
from .operators import decode_operators, prefill_operators

ATTENTION = "scores and values"
# Operators that have weights and whose time is traffic at any number of tokens.
NEVER_TURN = ("norms and residual sums", "final norm")


def limited_by(flops, moved_bytes, product_rate, memory_rate):
    """What work waits for at the rates that are reached: "compute" or "memory"."""
    return "compute" if flops / product_rate > moved_bytes / memory_rate else "memory"


def timed(operators, case):
    """Operators as a table: with intensity, least (`bound`) and expected time (`reached`, s), and what limits that."""
    from pandas import DataFrame
    frame = DataFrame(operators)
    frame["intensity"] = frame["operator_flops"] / frame["operator_bytes"]
    for column, held in (("bound", case.but(efficiency="bound")), ("reached", case)):
        rates = where(frame["operator"] == ATTENTION, held(attention_rate), held(product_rate))
        found = Case(frame, held.rows["efficiency"], product_rate=rates, memory_rate=held(memory_rate))
        frame[column] = found(ai.operator_seconds)
    busy = frame["reached"] - frame["kernels"] * case.rows["efficiency"].kernel_seconds
    frame["limit"] = [
        "kernels" if row.reached > 2 * part else limited_by(row.operator_flops, row.operator_bytes, rate, case(memory_rate))
        for row, part, rate in zip(frame.itertuples(), busy, rates)]
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
    intensity = case.inputs["batch"] * case(ai.token_attention_flops) / case(read_kv_bytes)
    attention = ["compute" if intensity > ridge else "memory" for ridge in every(ai.ridge_point)]
    prompts = every.but(moved_values=attended)(ai.critical_prompt)
    return gpus[[]].assign(**points, attention=attention, critical_prompt=prompts)


def _turns(row):
    return row.get("used_params", 0) > 0 and row["operator"] not in NEVER_TURN


def _read_per_use(row, model):
    return model.experts / model.experts_per_token if row["operator"] == "routed experts" else 1
