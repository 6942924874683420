"""A month of requests: scale to zero against a simulation, owned servers by hand."""
import math
import random

import pytest
from hypothesis import given, strategies as st

from gpucalc import serving_volume as vol

MONTH = 730 * 3600


# Formulas

def test_a_cold_start_by_hand():
    # 70 GB at 2 GB/s and a minute: 95 s, and five minutes more on a machine that is rented first.
    assert vol.cold_start_seconds(70e9, 60, 2e9) == 95 and vol.server_start_seconds(95, 300) == 395


def test_a_replica_that_is_up_by_hand():
    # One request in 1,000 s, each 10 s and 90 s of timeout: up for 1 - exp(-0.1) = 9.5 % of the time without a cold start.
    rate = MONTH / 1000
    assert vol.awake_share(rate, 10, 0, 90) == pytest.approx(1 - math.exp(-0.1))
    assert vol.cold_request_share(rate, 10, 0, 90) == pytest.approx(math.exp(-0.1))
    # With 100 s of start: a cycle of 1,000 s off, 100 s starting and 1,000 (exp(0.1) - 1) s on.
    on = 1000 * math.expm1(0.1)
    assert vol.awake_share(rate, 10, 100, 90) == pytest.approx((100 + on) / (1100 + on))
    # 1 + 0.1 of the requests of a cycle wait: its first, and those that come in the 100 s.
    assert vol.cold_request_share(rate, 10, 100, 90) == pytest.approx(1.1 / (1 + 0.1 + on / 1000))


@pytest.mark.parametrize("gap, service, start, timeout", [(1000, 10, 0, 90), (1000, 10, 100, 90), (300, 20, 395, 300),
                                                          (60, 5, 95, 30), (5000, 30, 400, 60)])
def test_scale_to_zero_against_a_simulation(gap, service, start, timeout):
    up, cold = simulated(gap, service, start, timeout, 200_000)
    rate = MONTH / gap
    assert vol.awake_share(rate, service, start, timeout) == pytest.approx(up, rel=0.02)
    assert vol.cold_request_share(rate, service, start, timeout) == pytest.approx(cold, rel=0.03, abs=0.001)


def simulated(gap, service, start, timeout, count):
    """Share of the time up and of requests that wait for a start, of one replica with a place for all."""
    generator, now, ready, off, up, cold = random.Random(2), 0.0, 0.0, -1.0, 0.0, 0
    began = 0.0
    for _ in range(count):
        now += generator.expovariate(1 / gap)
        if now > off:
            up += max(off - began, 0)
            began, ready = now, now + start
        cold += now <= ready
        off = max(off, max(now, ready) + service + timeout)
    return (up + off - began) / off, cold / count


def test_replicas_and_gpus_that_are_paid_by_hand():
    # 1 a second of 8 s in batches of 4 fill 2 replicas, 2.5 at 0.8; half of the time up and one to spare adds 0.5.
    assert vol.awake_replicas(0.5, MONTH, 8, 4, 0.8, 1) == pytest.approx(3)
    assert vol.awake_replicas(0.5, MONTH / 100, 8, 4, 0.8, 0) == 0.5
    # Pairs in servers of 8 are four a server; never less than a server while one is up.
    assert vol.awake_gpus(3, 0.5, 2, 8) == pytest.approx(6) and vol.awake_gpus(1, 0.5, 2, 8) == 4
    assert vol.awake_gpus(1, 0.5, 16, 8) == math.inf and vol.awake_usd_per_month(2, 6) == 8760


def test_owned_servers_by_hand():
    # Eight GPUs, 0.97 of 730 hours: 2 USD an hour that is offered, and 0.1 in the quarter that works.
    assert vol.owned_serving_usd_per_month(8, 2, 0.1, 0.25, 0.97) == pytest.approx(8 * 730 * 0.97 * 2.025)
    assert vol.owned_serving_usd_per_month(8, 2, 0.1, 0.25) == pytest.approx(8 * 730 * 2.025)


@given(st.floats(1, 1e9), st.floats(0.1, 100), st.floats(0, 1000), st.floats(0, 1000))
def test_shares_are_shares_and_more_requests_keep_a_replica_up(requests, service, start, timeout):
    up, cold = (law(requests, service, start, timeout) for law in (vol.awake_share, vol.cold_request_share))
    assert 0 <= up <= 1 and 0 <= cold <= 1
    assert vol.awake_share(2 * requests, service, start, timeout) >= up - 1e-12
    assert vol.cold_request_share(2 * requests, service, start, timeout) <= cold + 1e-12
    assert vol.cold_request_share(requests, service, start, timeout + 100) <= cold + 1e-12
