"""Plans of one card by hand."""
import math

import pandas as pd

from gpucalc.plan import capacity
from gpucalc.rows.bands import Band

# One card in pairs: four sequences at once take 10 s, one alone 6 s, and eight, for which there is no memory, 1 s. Times may be
# half and twice as long; the plan is a quarter more. With late_share 1 nobody counts as late, so replicas are the load's alone.
POINTS = pd.DataFrame(dict(gpu="A", tensor_parallel=2, batch=[1, 4, 8], places=4.0, low=0.5, plan=1.25, high=2.0)).assign(
    **dict.fromkeys(("replica_prefill_seconds", "replica_pass_seconds", "time_per_output_token"), 1.0),
    request_seconds=[6.0, 10.0, 1.0], output_tokens_per_second=[1.0, 2.0, 3.0])
ENDS = ["formula_gpus", "low_gpus", "gpus", "high_gpus"]


def plan(answer_limit, rate=1, points=POINTS):
    [row] = capacity.plans(points, rate, answer_limit, late_share=1).to_dict("records")
    return row


def test_counts_at_the_ends_of_a_band():
    # 10 / 4, 5 / 4, 12.5 / 4 and 20 / 4 batches a second, one more than fit: 3, 2, 4 and 6 pairs.
    found = plan(answer_limit=100)
    assert [found[end] for end in ENDS] == [6, 4, 8, 12]
    assert (found["replicas"], found["batch"], found["request_seconds"], found["limit"]) == (4, 4, 12.5, "")
    assert (found["output_tokens_per_second"], found["replica_pass_seconds"]) == (1.6, 1.25)
    assert (found["low"], found["plan"], found["high"]) == (0.4, 1, 1.6)


def test_an_answer_limit_between_the_ends():
    # At 13 s four at once are too slow at the high end, and one alone takes 12 s: 13 pairs.
    assert [plan(13)[end] for end in ENDS] == [6, 4, 8, 26]
    # At 12 s the plan is 7.5 s alone: 8 pairs; and twice 6 s is too long.
    assert [plan(12)[end] for end in ENDS] == [6, 4, 16, math.inf]
    # At 7 s nothing is fast enough but the formula's 6 s, 7 pairs, and the low ends.
    found = plan(7)
    assert [found[end] for end in ENDS] == [14, 4, math.inf, math.inf] and found["limit"] == "request time"
    assert plan(7, points=POINTS.assign(places=0.0))["limit"] == "memory"


def test_a_plan_as_a_band():
    time = Band(5.0, 12.5, 20.0, 10.0, 4.0, 60, 9, "serving", "second")
    assert capacity.banded(plan(100), "gpus", time) == (4, 8, 12, 6, None, 60, 9, "serving", "")
    blank = plan(100) | dict(gpus=math.nan)
    assert capacity.banded(blank, "gpus", time)[:4] == (4, math.inf, 12, 6)


def test_times_at_an_end_move_together():
    fast = capacity.paced(POINTS, "low")
    assert fast["request_seconds"].tolist() == [3, 5, 0.5] and fast["output_tokens_per_second"].tolist() == [2, 4, 6]
    assert fast[["low", "plan", "high"]].values.tolist() == [[1, 2.5, 4]] * 3
