"""How likely a run keeps a limit, and errors that know nothing of each other."""
import math

import numpy as np
import pandas
import pytest
from hypothesis import given, strategies as st

from book.pages.training_cost import joint, share_below
from gpucalc.rows import catalogue

ratios = st.floats(1.01, 10)


def share(limit, low, plan, high):
    return share_below(limit, {0.1: low, 0.5: plan, 0.9: high})


def test_the_ends_of_a_band_are_the_tenth_and_the_ninetieth_percentile():
    assert share(np.array([8, 10, 20]), 8, 10, 20).tolist() == pytest.approx([0.1, 0.5, 0.9])
    # Half way up in logarithms: 0.6408 of a standard deviation.
    assert share(10 * math.sqrt(2), 8, 10, 20) == pytest.approx(0.7392, abs=1e-4)
    assert share(math.inf, 8, 10, 20) == 1 and share(0, 8, 10, 20) == 0
    assert share(5, 5, 5, 5) == 1 and share(4.99, 5, 5, 5) == 0 and share(5.01, 5, 5, 5) == 1
    assert share(5, math.inf, math.inf, math.inf) == 0


@given(plan=st.floats(0.1, 1e6), below=ratios, above=ratios, first=st.floats(0.01, 100), second=st.floats(0.01, 100))
def test_a_later_limit_is_never_less_likely_to_hold(plan, below, above, first, second):
    soon, late = (float(share(plan * each, plan / below, plan, plan * above)) for each in sorted((first, second)))
    assert 0 <= soon <= late <= 1


def test_independent_errors_join_in_squares():
    high, low = joint(pandas.Series([math.e**3]), pandas.Series([math.e**4])), joint(pandas.Series([math.e**-3]), pandas.Series([math.e**-4]))
    assert math.log(high[0]) == pytest.approx(5) and math.log(low[0]) == pytest.approx(-5)
    assert joint(pandas.Series([1.2]), pandas.Series([1.0]))[0] == pytest.approx(1.2)
    assert joint(pandas.Series([math.inf / math.inf]), pandas.Series([1.0]))[0] == 1


@given(limit=st.floats(1, 1e4), steps=st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 2)), min_size=3, max_size=3))
def test_a_share_is_reached_just_where_its_value_is(limit, steps):
    """What the rule judges at a share of the band, and how likely that is, agree."""
    shares = (0.1, 0.5, 0.8, 0.9)
    values = {share: 100 * math.exp(sum(steps[:place])) for place, share in enumerate(shares)}
    for share, value in values.items():
        assert share_below(value, values) >= share - 1e-12
        assert (share_below(limit, values) >= share - 1e-9) or limit < value
        assert (share_below(limit, values) < share + 1e-9) or limit > value * (1 - 1e-12)


def test_the_ranges_have_rows():
    assert {"machine_interruption_seconds", "gpu_failure_seconds", "replacement_seconds", "carbon_intensity"} <= set(
        catalogue.assumptions().index)
