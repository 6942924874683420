"""The queue in front of a fleet of replicas, and the fleets that answer in time with it."""
import json
import math

from ..core.arithmetic import where
from ..core.evaluate import Case
from ..laws import queueing, serving
from ..rows.claims import measurements
from . import capacity

# What an engine is told about its memory, where a page has no parameters for it.
ENGINE = dict(framework_bytes=1e9, batched_tokens=8192, max_sequences=256)
# Figures of a plan that mean nothing where no number of replicas is enough.
FIGURES = ("batch", "replicas", "gpus", "replica_pass_seconds", "time_per_output_token", "request_seconds",
           "output_tokens_per_second")


def fleets(points, case):
    """`capacity.plans` for the load of the case, with the figures of its queue, such as `answer_seconds`, at its times.

    Where no number of replicas is enough the figures are blank and `limit` says what is in the way.
    """
    rate, limits = case.inputs["requests_per_second"], capacity.limits_of(case)
    plans = capacity.plans(points, rate, **limits)
    enough = plans["gpus"] < math.inf
    waits = Case(plans[enough], requests_per_second=rate, late_share=capacity.limited(**limits).late_share).terms(
        queueing.time_to_first_token, queueing.answer_seconds)
    shown = {name: plans[name].astype(float).where(enough) for name in FIGURES}
    return plans.assign(**shown, **waits, limit=where(enough, None, plans["limit"]),
                        binds=capacity.binding(plans, points, rate, **limits))


def best_by_gpu(fleets):
    """The degree of each GPU that takes the fewest, or fewer at the slow end; where none will do the largest, which says why."""
    tie = fleets["tensor_parallel"].where(fleets["gpus"].notna(), -fleets["tensor_parallel"])
    order = fleets.assign(tie=tie).sort_values(["gpus", "high_gpus", "tie"], kind="stable").drop(columns="tie")
    return order.drop_duplicates("gpu").set_index("gpu").loc[fleets["gpu"].unique()]


def peak_output(case):
    """Output tokens a second of a replica that the peaks allow: prompts ride along with the passes."""
    return case.inputs["batch"] / case.but(efficiency="bound", chunk=serving.steady_chunk)(serving.replica_pass_seconds)


def published():
    """The published figures of serving with what the law gives, `predicted`, and the `bound`."""
    found = measurements("serving").assign(bound=measurements("serving", efficiency="bound")["predicted"])
    full = found["law"] == "output_tokens_per_second"
    found.loc[full, "bound"] = [peak_output(Case.of(json.loads(inputs))) for inputs in found.loc[full, "inputs"]]
    return found


def frontier(points, case):
    """Time per output token and output tokens a second and GPU of what memory holds of the points, achieved and as the bound."""
    import pandas
    points = points[points["batch"] <= points["places"]]
    degrees, rate = points["tensor_parallel"], points["output_tokens_per_second"]
    most = peak_output(case.but(tensor_parallel=degrees, batch=points["batch"]))
    shown = points[["batch", "tensor_parallel", "time_per_output_token"]].assign(
        layout=[f"{degree} GPUs" if degree > 1 else "1 GPU" for degree in degrees])
    achieved = shown.assign(kind="achieved", output_tokens_per_second=rate / degrees)
    bound = shown.assign(kind="bound", output_tokens_per_second=most / degrees, time_per_output_token=points["batch"] / most)
    return pandas.concat([achieved, bound], ignore_index=True)


def erlang_c(places, load):
    """Share of requests that wait in M/M/c, exactly, by the recursion of Erlang's B formula."""
    blocked, offered = 1.0, places * load
    for count in range(1, places + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - load * (1 - blocked))


def waiting_share_errors():
    """How far `waiting_share` is above and below Erlang's C at most, for 1 to 1,024 places and loads from 0.1 on."""
    off = [queueing.waiting_share(load, 2**step, 1, 0) - erlang_c(2**step, load) for step in range(11)
           for load in (0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)]
    return max(off), -min(off)
