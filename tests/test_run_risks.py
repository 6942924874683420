"""Days and USD of a run with what stops it, and how likely it keeps its limits."""
import math

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucalc.plan.run_risks import DEAR, LATE, MAY_DEAR, MAY_LATE, SURE, doubts, joint, judged, priced, share_below
from gpucalc.rows import catalogue, price_book

ratios = st.floats(1.01, 10)
RUN = pandas.DataFrame([dict(gpu="H100 SXM 80GB", gpus=64, machines=8, term="spot", reserved_years=math.nan, usd_per_hour=2.0,
                             gpu_hours=64 * 240.0, low_hours=64 * 200.0, high_hours=64 * 360.0, reason="", doubt="", row="a")])


def test_the_ends_of_a_band_are_the_tenth_and_the_ninetieth_percentile():
    assert share_below(np.array([8, 10, 20]), 8, 10, 20).tolist() == pytest.approx([0.1, 0.5, 0.9])
    # Half way up in logarithms: 0.6408 of a standard deviation.
    assert share_below(10 * math.sqrt(2), 8, 10, 20) == pytest.approx(0.7392, abs=1e-4)
    assert share_below(math.inf, 8, 10, 20) == 1 and share_below(0, 8, 10, 20) == 0
    assert share_below(5, 5, 5, 5) == 1 and share_below(4.99, 5, 5, 5) == 0 and share_below(5.01, 5, 5, 5) == 1
    assert share_below(5, math.inf, math.inf, math.inf) == 0


@given(plan=st.floats(0.1, 1e6), below=ratios, above=ratios, first=st.floats(0.01, 100), second=st.floats(0.01, 100))
def test_a_later_limit_is_never_less_likely_to_hold(plan, below, above, first, second):
    soon, late = (float(share_below(plan * each, plan / below, plan, plan * above)) for each in sorted((first, second)))
    assert 0 <= soon <= late <= 1


def test_independent_errors_join_in_squares():
    high, low = joint(pandas.Series([math.e**3]), pandas.Series([math.e**4])), joint(pandas.Series([math.e**-3]), pandas.Series([math.e**-4]))
    assert math.log(high[0]) == pytest.approx(5) and math.log(low[0]) == pytest.approx(-5)
    assert joint(pandas.Series([1.2]), pandas.Series([1.0]))[0] == pytest.approx(1.2)
    assert joint(pandas.Series([math.inf / math.inf]), pandas.Series([1.0]))[0] == 1


def test_spot_has_the_range_of_its_interruptions():
    row, given_ = priced(RUN).iloc[0], priced(RUN, machine_interruption_seconds=86400, gpu_failure_seconds=182e6).iloc[0]
    assert row.training_days == pytest.approx(given_.training_days) and row.compute_usd == pytest.approx(given_.compute_usd)
    assert row.high_days > given_.high_days > given_.training_days > given_.low_days > row.low_days
    assert given_.high_days - 1 / 144 == pytest.approx(1.5 * (given_.training_days - 1 / 144))
    demand = priced(RUN.assign(term="on-demand")).iloc[0]
    assert 1 < demand.interruption_slowdown < 1.01 < row.interruption_slowdown


def test_failures_slow_machines_on_demand_the_more_the_larger_the_job():
    frame = pandas.concat([RUN.assign(gpus=gpus, machines=gpus // 8, term="on-demand") for gpus in (64, 1024, 16384)])
    slow = priced(frame)["interruption_slowdown"].tolist()
    assert slow == pytest.approx([1.0067, 1.0299, 1.1733], abs=1e-3)


def test_what_is_against_a_run():
    run = priced(RUN, machine_interruption_seconds=86400).iloc[[0]]
    days, usd = run["training_days"].item(), run["compute_usd"].item()
    cases = {"": (3 * days, None), LATE: (0.9 * days, None), DEAR: (9 * days, 0.9 * usd), MAY_LATE: (1.1 * days, None),
             MAY_DEAR: (9 * days, 1.1 * usd)}
    for verdict, limits in cases.items():
        assert judged(run, *limits)["verdict"].tolist() == [verdict]
    assert judged(run.assign(doubt="serverless"), 3 * days)["verdict"].tolist() == ["serverless"]
    assert judged(run.assign(doubt="serverless"), days / 2)["verdict"].tolist() == [LATE]
    assert judged(run.assign(reason="no BF16"), 3 * days)[["verdict", "grade"]].values.tolist() == [["no BF16", 5]]
    both = judged(run, 1.2 * days, 1.1 * usd).iloc[0]
    assert both.holds == both.in_budget < both.in_time < SURE and not both.sure
    assert judged(run, run["high_days"].item())["sure"].tolist() == [True]


def test_rents_that_may_not_be_recommended():
    book = price_book.prices().query("item == 'rent'").reset_index()
    found = doubts(book)
    free = found == ""
    assert free.any() and (book[free]["confidence"] == "seen").all()
    assert set(book[free]["term"]) <= {"on-demand", "spot", "reserved-1y", "reserved-3y"}
    assert (found[book["confidence"] == "floor"] == "a floor price").all() and (found[book["confidence"] == "recalled"] == "a price from memory").all()
    asked = doubts(book, term="marketplace")
    hosts = (book["term"] == "marketplace") & (book["confidence"] == "seen")
    assert (asked[hosts] == "").all() and (found[hosts] == "machines of unnamed hosts").all()
    assert (doubts(book.assign(yours=True)) == "").all()


def test_what_is_not_given_is_likely():
    likely = catalogue.assumptions()["likely"]
    for name in ("checkpoint_seconds", "restart_seconds", "machine_interruption_seconds"):
        assert catalogue.assumed(name) == likely[name] and catalogue.assumed(name, 0) == 0 and catalogue.assumed(name, 7.0) == 7
    given_ = {name: likely[name] for name in ("checkpoint_seconds", "restart_seconds")}
    assert priced(RUN).equals(priced(RUN, **given_)) and not priced(RUN).equals(priced(RUN, checkpoint_seconds=300))


def test_the_ranges_have_rows():
    assert {"machine_interruption_seconds", "gpu_failure_seconds", "replacement_seconds", "carbon_intensity"} <= set(
        catalogue.assumptions().index)
