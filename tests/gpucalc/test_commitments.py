"""How much to reserve: by hand, against a search over all levels, and from the prices of a book."""

import pytest
from hypothesis import given, strategies as st

from gpucalc import commitments as cm
from gpucalc.core.evaluate import Case

LOAD = dict(trough_gpus=40, peak_gpus=100)
gpus = st.floats(0, 1000)
rate = st.floats(0.05, 50)


def load(**changed):
    return Case(**LOAD | dict(committed_usd_per_hour=2.8, flexible_usd_per_hour=4.0) | changed)


def linear(trough, peak, hours=2000):
    """GPUs needed in each of many hours of a load that falls evenly from its peak to its trough."""
    return [peak - (peak - trough) * (hour + 0.5) / hours for hour in range(hours)]


def paid(demand, reserved, committed, flexible):
    """Cost of an average hour, hour by hour: reserved ones always, the others as needed."""
    return sum(reserved * committed + max(each - reserved, 0) * flexible for each in demand) / len(demand)


def test_the_level_and_its_cost_by_hand():
    # Ratio 2.8 / 4 = 0.7; 100 - 0.7 * 60 = 58. Beyond it 42 GPUs at most, in 0.7 of the hours: 0.7 * 42 / 2 = 14.7.
    # 58 * 2.8 + 14.7 * 4 = 162.4 + 58.8 = 221.2. Nothing reserved: 70 * 4 = 280. All: 100 * 2.8 = 280.
    case = load()
    assert case(cm.reserve_ratio) == pytest.approx(0.7) and case(cm.reserved_gpus) == pytest.approx(58)
    assert case(cm.share_above) == pytest.approx(0.7) and case(cm.gpus_above) == pytest.approx(14.7)
    assert case(cm.portfolio_usd_per_hour) == pytest.approx(221.2)
    for level, expected in ((0, 280), (100, 280), (40, 40 * 2.8 + 30 * 4), (20, 20 * 2.8 + 50 * 4), (130, 130 * 2.8)):
        assert case.but(reserved_gpus=level)(cm.portfolio_usd_per_hour) == pytest.approx(expected)


def test_a_reservation_that_costs_more_than_the_hour_is_never_bought():
    assert load(committed_usd_per_hour=4.1)(cm.reserved_gpus) == 0
    assert load(committed_usd_per_hour=4)(cm.reserved_gpus) == 40, "at the same price the base may as well be reserved"
    assert load(committed_usd_per_hour=4.1)(cm.portfolio_usd_per_hour) == pytest.approx(280)


def test_a_load_that_never_changes():
    flat = load(trough_gpus=50, peak_gpus=50)
    assert flat(cm.reserved_gpus) == 50 and flat(cm.gpus_above) == 0 and flat(cm.portfolio_usd_per_hour) == pytest.approx(140)
    assert flat.but(reserved_gpus=20)(cm.portfolio_usd_per_hour) == pytest.approx(20 * 2.8 + 30 * 4)


def test_spot_lowers_the_flexible_rate_where_it_is_cheaper():
    # 0.7 * 4 + 0.3 * 2 = 3.4; dearer than on demand, it is left alone.
    assert cm.flexible_usd_per_hour(4, 2, 0.3) == pytest.approx(3.4)
    assert cm.flexible_usd_per_hour(4, 5, 0.3) == 4 and cm.flexible_usd_per_hour(4, 2) == 4


def test_a_load_with_two_levels_by_hand():
    # The peak of 100 in 0.3 of the hours, else 40. Ratio 0.7: the trough. Ratio 0.2: the peak.
    assert cm.step_reserved_gpus(0.7, 40, 100, 0.3) == 40
    assert cm.step_reserved_gpus(0.2, 40, 100, 0.3) == 100
    assert cm.step_reserved_gpus(1.1, 40, 100, 0.3) == 0


def test_a_block_of_days_by_hand():
    # 64 GPUs, 14 days of 24 hours at 4.975: 64 * 336 * 4.975 = 106,982.4. At 7.912 by the hour it pays from 8.80 days.
    assert cm.capacity_block_usd(64, 14, 4.975) == pytest.approx(106_982.4)
    days = cm.block_break_even_days(14, 4.975, 7.912)
    assert days == pytest.approx(8.803, abs=0.001)
    assert cm.capacity_block_usd(64, 14, 4.975) == pytest.approx(64 * days * 24 * 7.912)


@given(gpus, gpus, gpus, rate, rate)
def test_the_cost_is_that_of_the_hours_one_by_one(a, b, level, committed, flexible):
    low, high = sorted((a, b + 0.1))
    case = load(trough_gpus=low, peak_gpus=high, reserved_gpus=level, committed_usd_per_hour=committed, flexible_usd_per_hour=flexible)
    expected = paid(linear(low, high), level, committed, flexible)
    assert case(cm.portfolio_usd_per_hour) == pytest.approx(expected, rel=1e-3, abs=1e-3 * high * flexible / 1000)


@given(gpus, gpus, rate, rate)
def test_no_level_costs_less_than_the_rule_s(a, b, committed, flexible):
    low, high = sorted((a, b + 0.1))
    case = load(trough_gpus=low, peak_gpus=high, committed_usd_per_hour=committed, flexible_usd_per_hour=flexible)
    best = case(cm.portfolio_usd_per_hour)
    levels = [high * step / 200 for step in range(201)]
    searched = [case.but(reserved_gpus=each)(cm.portfolio_usd_per_hour) for each in levels]
    assert best <= min(searched) * (1 + 1e-9) and best >= min(searched) * 0.97 - 0.01 * flexible
    assert best <= searched[0] * (1 + 1e-9) and best <= searched[-1] * (1 + 1e-9), "all by the hour, all reserved"


@given(gpus, gpus, st.floats(0, 1), rate, rate)
def test_no_level_costs_less_than_the_rule_s_for_two_levels(a, b, share, committed, flexible):
    low, high = sorted((a, b + 0.1))
    ratio = cm.reserve_ratio(committed, flexible)

    def cost(level):
        above = share * max(high - level, 0) + (1 - share) * max(low - level, 0)
        return cm.portfolio_usd_per_hour(level, committed, above, flexible)
    best = cost(cm.step_reserved_gpus(ratio, low, high, share))
    assert all(best <= cost(high * step / 50) * (1 + 1e-9) for step in range(51)) and best <= cost(low) * (1 + 1e-9)
