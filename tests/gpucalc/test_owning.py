"""The cost of owning against hand calculations: the arithmetic stands in each test, written out without the laws."""
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpucalc import owning as ow
from gpucalc.core.evaluate import Case
from tests.close import close

rate = st.floats(0, 0.5)
years = st.floats(0.5, 8)
months = st.floats(0, 12)
SERVER = dict(server_usd=320_000, network_ports=8, network_tiers=2, usd_per_port=600, cable_usd=900, gpus_per_server=8,
              years=4, lead_months=3, ramp_months=6, discount_rate=0.1, residual=0.25, availability=0.97, spare_share=0.05,
              support_share=0.04, repair_share=0.02, staff_usd_per_year=5000, hosting_usd_per_month=1500, tdp_watts=700,
              pue=1.3, usd_per_kwh=0.1, idle_power_share=0.3)


def test_a_year_of_money_is_worth_less_the_later_it_comes():
    # One year at 10 %: the integral of 1.1^-t is (1 - 1/1.1) / ln 1.1 = 0.0909091 / 0.0953102 = 0.953824.
    assert ow.paid_years(0.1, 1) == pytest.approx(0.953824, rel=1e-6)
    assert ow.paid_years(0.1, 4) == close((1 - 1.1 ** -4) / math.log(1.1))
    # Delivered after half a year, all of it is worth 1.1^-0.5 as much.
    assert ow.paid_years(0.1, 4, 6) == close((1 - 1.1 ** -4) / math.log(1.1) / 1.1 ** 0.5)
    assert ow.paid_years(0, 4, 6) == 4


@given(st.floats(0, 1), st.floats(0.1, 8), months, st.floats(0.1, 60))
def test_work_grows_over_the_ramp_and_ends_with_the_years(discount, total, lead, ramp):
    at = (np.arange(20_000) + 0.5) / 20_000 * total
    exact = (np.minimum(12 * at / ramp, 1) * (1 + discount) ** -(at + lead / 12)).mean() * total
    assert ow.used_years(discount, total, lead, ramp) == pytest.approx(exact, rel=1e-4)


def test_half_of_the_ramp_is_lost():
    assert ow.used_years(0, 3, ramp_months=6) == close(2.75)
    # At 10 %, r = ln 1.1: over half a year the integral of 2 t e^-rt, then that of e^-rt from there to the end.
    rate = math.log(1.1)
    grown = 2 * (1 - math.exp(-rate / 2) * (1 + rate / 2)) / rate ** 2
    full = (math.exp(-rate / 2) - math.exp(-3 * rate)) / rate
    assert ow.used_years(0.1, 3, ramp_months=6) == close(grown + full)
    assert ow.used_years(0.1, 3, 2, 6) == close((grown + full) * 1.1 ** -(2 / 12))


def test_a_ramp_longer_than_the_years_is_cut_off():
    """Work grows to Y / R of all: half of that, over the years. 0.4 x 1 / 2 = 0.2 years at no interest."""
    assert ow.used_years(0, 1, ramp_months=30) == close(1 ** 2 / (2 * 2.5))
    assert ow.used_years(0, 1, ramp_months=12) == close(0.5)
    # At 10 % the integral of 0.4 t e^-rt over a year, whatever the lead.
    rate = math.log(1.1)
    assert ow.used_years(0.1, 1, 12, 30) == close(0.4 * (1 - math.exp(-rate) * (1 + rate)) / rate ** 2 / 1.1, 1e-9)


@given(years, months, months)
def test_rates_near_zero_join_up(total, lead, ramp):
    """No step between a rate of nothing and a very small one."""
    at_zero = [ow.paid_years(0, total, lead), ow.used_years(0, total, lead, ramp)]
    assert [ow.paid_years(1e-9, total, lead), ow.used_years(1e-9, total, lead, ramp)] == pytest.approx(at_zero, rel=1e-6)


def test_offered_hours():
    # 8 GPUs x 8,760 h x 3 years = 210,240 h; at 95 % availability 199,728.
    assert ow.offered_gpu_hours(8, 3) == 210_240
    assert ow.offered_gpu_hours(8, 3, 0.95) == close(199_728)


def test_network_of_a_server():
    # 8 ports in two tiers: 8 x (3 x 600 + 2 x 900) = 28,800 USD; one switch: 8 x (600 + 900) = 12,000; three tiers: 45,600.
    assert ow.network_usd(8, 2, 600, 900) == 28_800
    assert ow.network_usd(8, 1, 600, 900) == 12_000
    assert ow.network_usd(8, 3, 600, 900) == 8 * (5 * 600 + 3 * 900)
    assert ow.network_usd(0, 2, 600, 900) == 0


@pytest.mark.parametrize("ports", [4, 8, 48])
def test_network_counts_the_switches_and_cables_of_a_full_tree(ports):
    """Al-Fares et al. 2008: `ports` pods of as many switches, (ports / 2)^2 core switches, ports^3 / 4 hosts."""
    hosts = ports * (ports // 2) * (ports // 2)
    switches = ports * ports + (ports // 2) ** 2
    cables = hosts + 2 * ports * (ports // 2) ** 2
    assert hosts * ow.network_usd(1, 3, 1, 0) == switches * ports
    assert hosts * ow.network_usd(1, 3, 0, 1) == cables
    # Two tiers: leaves with half of their ports down, and half as many spines.
    hosts, switches = ports * ports // 2, ports + ports // 2
    assert hosts * ow.network_usd(1, 2, 1, 0) == switches * ports
    assert hosts * ow.network_usd(1, 2, 0, 1) == 2 * hosts


def test_spares_are_bought_and_housed():
    # 5 % spares: 348,800 x 1.05 = 366,240 USD; the rack 1,500 x 12 x 1.05 = 18,900 a year.
    assert ow.bought_usd(320_000, 28_800, 0.05) == close(366_240)
    assert ow.bought_usd(320_000, 28_800) == 348_800
    assert ow.running_usd_per_year(320_000, 1500, 0.05) == close(18_900)
    # Support of 4 % of 320,000, for the spares too: 12,800 x 1.05 = 13,440; repairs of 2 %: 6,400; and 5,000 of staff.
    assert ow.running_usd_per_year(320_000, 1500, 0.05, 0.04, 0.02, 5000) == close(18_900 + 13_440 + 6400 + 5000)


def test_rack_space_is_sold_by_the_kilowatt():
    # 8 x 700 W x 1.82 = 10.192 kW at 184.06 USD: 1,875.94 USD a month. Eight of 1,000 W: 14.56 kW.
    assert ow.rack_usd_per_month(184.06, 8, 700) == close(184.06 * 10.192)
    assert ow.rack_usd_per_month(184.06, 8, 1000) == close(184.06 * 14.56)


def test_value_falls_evenly_or_by_shares():
    assert ow.linear_residual(3, 5) == close(0.4)
    assert ow.linear_residual(6, 5) == 0
    # A third a year: 2/3, 4/9, 8/27.
    assert ow.declining_residual(3, 1 / 3) == close(8 / 27)
    assert ow.declining_residual(0.5, 0.36) == close(0.8)


def test_residual_is_worth_less_today():
    # 100,000 USD, a fifth left after 3 years, at 10 %: 20,000 / 1.331; with half a year of lead 20,000 / 1.1^3.5.
    assert ow.residual_usd(100_000, 0.1, 3, 0.2) == close(20_000 / 1.331)
    assert ow.residual_usd(100_000, 0.1, 3, 0.2, 6) == close(20_000 / 1.1 ** 3.5)
    assert ow.residual_usd(100_000, 0.1, 3) == 0


def test_capital_and_running_costs_an_hour():
    # 40,000 USD for a server of eight RTX 4090 over 3 years: 40000 / (8 x 26280) = 0.190 a GPU.
    assert ow.capital_usd_per_hour(40_000, 0, ow.offered_gpu_hours(8, 3)) == close(40_000 / 26_280 / 8)
    # 300,000 USD with a tenth got back: 270000 / (8 x 3 x 8760) = 1.284 USD.
    assert ow.capital_usd_per_hour(300_000, 30_000, 210_240) == pytest.approx(1.284247, rel=1e-6)
    # 43,100 USD a year for 3 years over 210,240 h.
    assert ow.running_usd_per_hour(43_100, 3, 210_240) == close(129_300 / 210_240)
    assert ow.capital_usd_per_hour(1, 0, 0) == ow.running_usd_per_hour(1, 3, 0) == math.inf


def test_power():
    # DGX H100: 10.2 kW at most for eight GPUs of 700 W is 1.82 times their TDP, 1,274 W each.
    assert ow.watts_per_gpu(700) == close(1274)
    assert ow.watts_per_gpu(700, 1.5) == close(1050)
    # 10.2 kW for 8 GPUs is 1.275 kW each; x 1.3 x 0.10 USD/kWh = 0.16575 USD an hour.
    assert ow.power_usd_per_hour(1275, 1.3, 0.10) == close(0.16575)


def test_idle_hours_load_what_is_fixed():
    # (1.43 + 0.34) / 0.5 + 0.17 = 3.71
    assert ow.owned_usd_per_hour(ow.fixed_usd_per_hour(1.43, 0.34, 0.17), ow.work_usd_per_hour(0.17), 0.5) == close(3.71)
    # An idle server at 30 %: fixed 1.77 + 0.051, an hour of work 0.119; used half: 2 x 1.821 + 0.119 = 3.761.
    fixed, work = ow.fixed_usd_per_hour(1.43, 0.34, 0.17, 0.3), ow.work_usd_per_hour(0.17, 0.3)
    assert (fixed, work) == (close(1.821), close(0.119))
    assert ow.owned_usd_per_hour(fixed, work, 0.5) == close(3.761)
    assert ow.owned_usd_per_hour(fixed, work, 1) == close(1.43 + 0.34 + 0.17)


def test_the_whole_server_by_hand():
    """Every part of one owned hour, with its present values written out."""
    ratio, rate = 1.1, math.log(1.1)
    paid = ratio ** -0.25 * (1 - ratio ** -4) / rate
    # Half a year of ramp, the integral of 2 t e^-rt, and three and a half years of all of it; delivered after a quarter.
    used = ratio ** -0.25 * (2 * (1 - ratio ** -0.5 * (1 + rate / 2)) / rate ** 2 + (ratio ** -0.5 - ratio ** -4) / rate)
    hours = 8 * 8760 * 0.97 * used
    bought = (320_000 + 28_800) * 1.05
    sold = bought * 0.25 / ratio ** 4.25
    running = ((1500 * 12 + 320_000 * 0.04) * 1.05 + 320_000 * 0.02 + 5000) * paid
    power = 0.7 * 1.82 * 1.3 * 0.1
    expected = ((bought - sold + running) / hours + 0.3 * power) / 0.6 + 0.7 * power
    assert Case(utilization=0.6, **SERVER)(ow.owned_usd_per_hour) == close(expected)
