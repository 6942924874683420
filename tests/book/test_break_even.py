"""What the page on rent or buy says of a verdict."""
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from book.pages.break_even import outcome
from gpucalc.decisions import rent_or_buy
from gpucalc.rows import bands


@settings(max_examples=30)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_the_words_of_a_verdict_agree_with_its_draws(gains):
    found = rent_or_buy.verdict(np.array(gains))
    said = outcome(found)
    assert said.startswith("owning is cheaper" if found.mean > 0 else "renting is cheaper")
    assert (bands.CLOSE in said) == (not found.sure) and (found.sure or 0 < found.chance < 1 or found.mean <= 0)
    if found.sure:
        assert (found.chance > 0.5) == (found.mean > 0)
