"""What the page on rent or buy says of a verdict, and its pictures."""
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from book.pages.break_even import break_evens, hours_paid, moves_most, outcome, owned_hour
from gpucalc.decisions import rent_or_buy
from gpucalc.rows import bands
from tests.pictures import boxes, widths


@settings(max_examples=30)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_the_words_of_a_verdict_agree_with_its_draws(gains):
    found = rent_or_buy.verdict(np.array(gains))
    said = outcome(found)
    assert said.startswith("owning is cheaper" if found.mean > 0 else "renting is cheaper")
    assert (bands.CLOSE in said) == (not found.sure) and (found.sure or 0 < found.chance < 1 or found.mean <= 0)
    if found.sure:
        assert (found.chance > 0.5) == (found.mean > 0)


@pytest.mark.parametrize("utilization, busy", [(0, 0), (0.5, 12), (0.9, 22), (1, 24)])
def test_a_day_has_24_hours_of_which_some_are_work(utilization, busy):
    shown = hours_paid(utilization)
    assert [len(boxes(shown, color)) for color in ("a", "b", "wash")] == [busy, busy, 2 * (24 - busy)]
    assert ("given back" in shown.source) == (busy < 24)


@pytest.mark.parametrize("level, ends", [(3.0, 2), (2.5, 3)])
def test_the_parts_of_an_owned_hour_end_at_the_whole(level, ends):
    """What is sold at the end is taken off again; network and spares stand as one line."""
    shown = owned_hour({"server": 2.0, "network": 0.25, "spares": 0.25, "power at work": 0.5, "resale": -1.0}, 2.0, 3.0, level)
    parts, resale, total = boxes(shown, "d"), boxes(shown, "c"), boxes(shown, "a")
    assert [box.right - box.left for box in parts] == pytest.approx([212 * usd / 3 for usd in (2, 0.5, 0.5)], rel=1e-3)
    assert all(one.right == pytest.approx(other.left, abs=0.2) for one, other in pairwise(parts))
    assert resale[0].right == pytest.approx(parts[-1].right, abs=0.2) and resale[0].left == pytest.approx(total[0].right, abs=0.2)
    assert widths(shown, "b") == pytest.approx([212 * usd / 3 for usd in (3.0, level)[:ends - 1]], rel=1e-3)
    assert ("rent, all years" in shown.source) == (ends == 3) and "100 % of an owned hour" in shown.plain


@pytest.mark.parametrize("needed, wins, never", [([0.25, 0.5, 0.75, 1.0, 1.01], 2, 1), ([0.5001], 0, 0), ([1.5] * 15, 0, 15)])
def test_a_dot_for_each_break_even_on_its_side(needed, wins, never):
    shown = break_evens(needed, 0.5, "H100")
    assert f"beats {wins} of {len(needed)} rents" in shown.plain and (f"{never} it can never beat" in shown.plain) == (never > 0)
    dots = [(float(x), float(y), color) for x, y, color in re.findall(r'<circle cx="([^"]*)" cy="([^"]*)"[^>]*fill-(.)"', shown.source)]
    assert len(dots) == len(needed) == len({dot[:2] for dot in dots})
    assert all((color == "a") == (x <= 8 + 0.5 * 296) for x, _, color in dots)
    assert sum(x > 320 for x, _, _ in dots) == never
    places = sorted(x for x, _, _ in dots if x < 320)
    assert all(abs(x - (8 + share * 296)) <= 296 / 50 + 0.2 for x, share in zip(places, sorted(share for share in needed if share <= 1)))


@pytest.mark.parametrize("npv, sign", [(1000.0, 1), (-1000.0, -1)])
def test_what_moves_an_answer_most_is_drawn_from_end_to_end(npv, sign):
    """From the least to the largest worth there is a straight scale, on which break-even and the likely worth stand too."""
    swings = pd.DataFrame({"low": [1.0, 0.5], "high": [5.0, 0.9], "at_low": [-3000.0, 2000.0 * sign], "at_high": [5000.0, 0.0]}, ["years", "utilization"])
    shown = moves_most(swings, npv)
    wide, narrow = boxes(shown, "a")
    assert (wide.left, wide.right) == (8, 392) and narrow.right - narrow.left == pytest.approx(384 * 2000 / 8000, rel=1e-3)
    worths = sorted({float(x) for x in re.findall(r'<path d="M([-\d.]+),', shown.source)})
    assert worths == pytest.approx(sorted(8 + 384 * (worth + 3000) / 8000 for worth in (0, npv)), abs=0.1)
    assert (narrow.left if sign > 0 else narrow.right) == pytest.approx(8 + 384 * 3 / 8, abs=0.1)
    assert "depends most on the" in shown.plain
