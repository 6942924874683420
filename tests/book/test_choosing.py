"""How the page on a run's cost counts what may go wrong."""
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from book.pages import training_cost as run_risks
from gpucalc.laws import choosing


@given(*[st.floats(1, 5)] * 2, st.booleans())
def test_joined_errors_are_those_of_the_pages(hours, slow, above):
    hours, slow = (hours, slow) if above else (1 / hours, 1 / slow)
    ratio = run_risks.joint(pd.Series([hours]), pd.Series([slow]))[0]
    assert choosing.joined_gpu_hours(100 * hours, 6 * slow, 100, 6) == pytest.approx(600 * ratio, rel=1e-12)
