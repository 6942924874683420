"""The cost of renting: terms, falling rents, and interrupted machines against published figures and a simulation."""
import math
import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpucalc import renting
from gpucalc.core.evaluate import Case
from tests.close import close

HOUR, MINUTE = 3600, 60
DALY = [(24 * HOUR, 117), (6 * HOUR, 57), (15 * MINUTE, 9.1)]
writing = st.floats(1, 600)
quiet = st.floats(600, 1e6)


def daly(checkpoint, mean):
    return Case(checkpoint_seconds=checkpoint, interruption_seconds=mean)(renting.checkpoint_interval)


def test_only_a_commitment_is_paid_while_idle():
    assert renting.rented_usd_per_hour(2.45, 0.5) == 2.45
    assert renting.rented_usd_per_hour(2.45, 0.5, committed=1) == close(4.90)


def test_a_commitment_pays_from_its_share_of_the_rate():
    # 3.00 USD used or not, against 5.00 by the hour: from 60 % on.
    pays = renting.commitment_utilization(3, 5)
    assert pays == close(0.6)
    assert renting.rented_usd_per_hour(3, pays, committed=1) == close(renting.rented_usd_per_hour(5, pays))
    assert renting.commitment_utilization(6, 5) > 1


def test_falling_rents_level():
    # A rent that falls by a fifth each year costs over two years the integral of 0.8^t: (1 - 0.64) / ln 1.25 = 1.6133 years.
    assert renting.rented_years(0, 2, rent_decline=0.2) == close(0.36 / math.log(1.25))
    assert Case(usd_per_hour=5, discount_rate=0, years=2, rent_decline=0.2)(renting.level_usd_per_hour) == close(
        5 * 0.36 / math.log(1.25) / 2)
    # Half a year until delivery is half a year of falling; a ramp of a year is the integral of t 0.8^t, then a year of 0.8^t.
    assert renting.rented_years(0, 2, 6, rent_decline=0.2) == close(0.8 ** 0.5 * 0.36 / math.log(1.25))
    rate = math.log(1.25)
    assert renting.rented_years(0, 2, 0, 12, rent_decline=0.2) == close((1 - 0.8 * (1 + rate)) / rate ** 2 + 0.8 * 0.2 / rate)
    # With a cost of capital of 10 % the rents count by (0.8 / 1.1)^t.
    assert renting.rented_years(0.1, 2, rent_decline=0.2) == close((1 - (0.8 / 1.1) ** 2) / math.log(1.1 / 0.8))


def test_rents_that_stay_or_rise():
    same = dict(usd_per_hour=5, discount_rate=0.1, years=3, lead_months=4, ramp_months=2)
    assert Case(rent_decline=0, **same)(renting.level_usd_per_hour) == close(5)
    assert Case(rent_decline=-0.1, **same)(renting.level_usd_per_hour) > 5
    # Rents that rise as fast as money loses: each year counts in full.
    assert renting.rented_years(0.1, 3, rent_decline=-0.1) == close(3, 1e-9)
    assert renting.level_usd_per_hour(5, 1, 0) == math.inf


@pytest.mark.parametrize("mean, minutes", DALY)
def test_daly_gives_the_intervals_of_his_figures(mean, minutes):
    """Daly 2006, figures 3 to 5: checkpoints of 5 minutes, 117, 57 and 9.1 minutes of work between two of them."""
    assert daly(5 * MINUTE, mean) / MINUTE == pytest.approx(minutes, rel=0.006)


@pytest.mark.parametrize("mean, minutes", [(24 * HOUR, 120), (6 * HOUR, 60), (15 * MINUTE, 12.247)])
def test_young_by_hand(mean, minutes):
    # sqrt(2 x 5 min x 24 h) = sqrt(14,400) = 120 minutes.
    assert renting.young_interval(5 * MINUTE, mean) / MINUTE == pytest.approx(minutes, rel=1e-4)


@given(writing, quiet)
def test_dalys_interval_is_near_the_least_slowdown(checkpoint, mean):
    best = daly(checkpoint, mean)
    others = np.geomspace(best / 5, best * 5, 400)
    least = renting.interruption_slowdown(others, checkpoint, 60, mean).min()
    assert renting.interruption_slowdown(best, checkpoint, 60, mean) == pytest.approx(least, rel=0.002)


def test_writing_longer_than_the_machines_last():
    assert daly(2 * HOUR, HOUR) == HOUR
    assert daly(2 * HOUR - 1, HOUR) != HOUR


@pytest.mark.parametrize("mean, hours", [(24 * HOUR, 547.9), (6 * HOUR, 610.2), (15 * MINUTE, 2504)])
def test_slowdown_by_hand(mean, hours):
    """500 h of work with a restart of 10 minutes, at Daly's interval: M e^(R/M) (e^((tau + delta)/M) - 1) / tau x 500 h."""
    interval = daly(5 * MINUTE, mean)
    slowdown = renting.interruption_slowdown(interval, 5 * MINUTE, 10 * MINUTE, mean)
    by_hand = mean * math.exp(600 / mean) * (math.exp((interval + 300) / mean) - 1) / interval
    assert slowdown == close(by_hand)
    assert 500 * slowdown == pytest.approx(hours, rel=2e-4)


def test_slowdown_and_loss_against_a_simulation():
    """A day of work in segments, machines that fail at random, restarts that may fail too."""
    interval, checkpoint, restart, mean, segments = 1800, 120, 300, 7200, 20_000
    draw, spent, lost = random.Random(1), 0.0, []
    for _ in range(segments):
        while (lives := draw.expovariate(1 / mean)) < interval + checkpoint:
            spent += lives
            lost.append(lives)
            while (lives := draw.expovariate(1 / mean)) < restart:
                spent += lives
            spent += restart
        spent += interval + checkpoint
    slowdown = renting.interruption_slowdown(interval, checkpoint, restart, mean)
    assert spent / (segments * interval) == pytest.approx(slowdown, rel=0.01)
    assert np.mean(lost) == pytest.approx(renting.lost_seconds(interval, checkpoint, mean), rel=0.02)


def test_lost_work_is_just_under_half_a_segment():
    # Of a segment of 2,000 s at a mean time of 20,000 s: 20000 - 2000 / (e^0.1 - 1) = 983.3 s.
    assert renting.lost_seconds(1900, 100, 20_000) == close(20_000 - 2000 / (math.exp(0.1) - 1), 1e-9)
    assert renting.lost_seconds(1900, 100, 20_000) == pytest.approx(983.3, abs=0.1)
    assert renting.lost_seconds(1900, 100, 1e9) == pytest.approx(1000, rel=1e-4)


def test_blooms_checkpoints_cost_little_more_than_youngs():
    """BLOOM-176B (tr11-176B README): 40 s to write, every 3 hours; one to two failures a week, so one in 115 h."""
    mean = 115 * HOUR
    young = renting.young_interval(40, mean)
    assert young / MINUTE == pytest.approx(96, abs=0.5)
    at_young, at_theirs = (renting.interruption_slowdown(each, 40, 600, mean) for each in (young, 3 * HOUR))
    assert 0 < at_theirs - at_young < 0.004


def test_many_machines_fail_often():
    # Meta (arXiv 2410.21680): 6.5 failures in 1,000 node-days; of 2,048 nodes with 16,384 GPUs one fails every 1.8 h.
    assert renting.group_interruption_seconds(24 * HOUR / 6.5e-3, 2048) / HOUR == pytest.approx(1.8, abs=0.01)
    # Llama 3 (arXiv 2407.21783): 419 interruptions in 54 days, one in 3.09 h, on 2,048 servers: each lasts 6,334 h.
    assert renting.group_interruption_seconds(54 * 24 * HOUR / 419 * 2048, 2048) / HOUR == pytest.approx(3.09, abs=0.005)


def test_spot_and_the_discount_it_needs():
    # 2.40 USD at a slowdown of 1.25 is 3.00 USD an hour of work, as much as 3.00 without: a discount of a fifth.
    assert renting.spot_usd_per_hour(2.4, 1.25) == close(3)
    assert renting.discount_needed(1.25) == close(0.2)
    assert renting.spot_usd_per_hour(3 * (1 - renting.discount_needed(1.25)), 1.25) == close(3)


def test_hopeless_machines_are_a_value():
    assert renting.interruption_slowdown(HOUR, 60, 60, 1) == math.inf
    assert renting.discount_needed(math.inf) == 1
