"""Lease, loan, used servers and the year in which to sell, against hand calculations and flows kept month by month."""
import pytest
from hypothesis import given, strategies as st

from gpucalc import financing as fin, owning
from gpucalc.core.evaluate import Case
from tests.close import close

share, months = st.floats(0, 0.5), st.integers(1, 120)


def payment(price, rate, count, end=0):
    return Case(bought_usd=price, loan_rate=rate, loan_months=count, end_share=end)(fin.lease_usd_per_month)


def test_the_payment_of_a_loan_is_a_bank_s():
    # 12 % a year is 1 % a month. Two payments on 100 USD: 100 / (1 / 1.01 + 1 / 1.01^2) = 100 / 1.970395 = 50.7512 USD.
    assert payment(100, 0.12, 2) == close(100 / (1 / 1.01 + 1 / 1.01 ** 2))
    # 400,000 USD at 10 % over 36 months: 400000 x 0.0083333 / (1 - 1.0083333^-36) = 12,906.87 USD.
    assert payment(400_000, 0.1, 36) == pytest.approx(12_906.87, abs=0.01)
    assert payment(360, 0, 36) == 10 and fin.owed_share(0, 36) == 1
    assert Case(bought_usd=400_000, loan_share=0.8, loan_rate=0.1, loan_months=36)(fin.loan_usd_per_month) == close(
        0.8 * payment(400_000, 0.1, 36))


def test_a_lease_leaves_a_share_to_the_end():
    # 100 USD, 20 % at the end of two months at 1 %: (100 - 20 / 1.0201) / 1.970395 = 40.8010 USD.
    assert payment(100, 0.12, 2, 0.2) == close((100 - 20 / 1.0201) / (1 / 1.01 + 1 / 1.0201))
    assert payment(100, 0, 10, 0.2) == close(8)


@given(st.floats(1e3, 1e6), share, months, share)
def test_a_ledger_of_the_lender_ends_at_what_is_left(price, rate, count, end):
    owed, paid = price, payment(price, rate, count, end)
    for _ in range(count):
        owed = owed * (1 + rate / 12) - paid
    assert owed == pytest.approx(price * end, abs=1e-6 * price)


@given(share, months, st.floats(0, 24))
def test_payments_are_discounted_one_by_one(rate, count, lead):
    by_hand = sum(1000 * (1 + rate) ** -((month + lead) / 12) for month in range(1, count + 1))
    assert fin.leased_usd(1000, rate, lead, count) == pytest.approx(by_hand, rel=1e-6)
    assert fin.financed_usd(50_000, 1000, rate, 0.4, count) == pytest.approx(
        30_000 + sum(1000 * (1 + rate) ** -(month / 12) for month in range(1, count + 1)), rel=1e-6)


def test_a_loan_at_what_one_s_own_money_costs_is_worth_cash():
    """10 % a year of one's own is 12 x (1.1^(1/12) - 1) = 9.569 % nominal."""
    nominal = 12 * (1.1 ** (1 / 12) - 1)
    held = Case(bought_usd=400_000, loan_share=0.8, loan_rate=nominal, loan_months=48, discount_rate=0.1)
    assert held(fin.financed_usd) == close(400_000, 1e-9)
    assert held.but(loan_rate=0.05)(fin.financed_usd) < 400_000 < held.but(loan_rate=0.15)(fin.financed_usd)


def test_an_hour_of_a_leased_server():
    # 10,000 USD a month for 36 months at no interest: 360,000 USD over 8 x 8,760 x 3 = 210,240 hours, half of them used.
    # 360000 / 210240 = 1.712; with 0.3 to run and 0.2 x 0.25 of idle power, 2.062, twice that, and 0.15 of power at work.
    assert fin.leased_usd_per_hour(360_000, 210_240, 0.3, 0.2, 0.15, 0.5, 0.25) == close((360_000 / 210_240 + 0.35) / 0.5 + 0.15)


def test_a_lease_that_costs_what_owning_does_costs_it_by_the_hour():
    """At one rate for all, a lease whose end is the resale is owning: the lessor has bought what the owner would."""
    nominal = 12 * (1.1 ** (1 / 12) - 1)
    server = dict(server_usd=320_000, network_usd=0, gpus_per_server=8, years=3, discount_rate=0.1, residual=0.25,
                  hosting_usd_per_month=1500, tdp_watts=700, pue=1.3, usd_per_kwh=0.1, utilization=0.6, idle_power_share=0.3)
    held = Case(**server, loan_rate=nominal, loan_months=36, end_share=0.25)
    assert held(fin.leased_usd_per_hour) == close(held(owning.owned_usd_per_hour), 1e-9)


def test_repairs_without_a_warranty():
    # Llama 3: 220 cards of 16,384 in 54 days are 0.0908 a GPU and year; at 80 % of the price, 7.3 % of it a year.
    assert fin.unwarranted_repair_share(220 / 16_384 * 365 / 54, 0.8) == pytest.approx(0.0726, abs=1e-4)


def test_when_to_sell():
    # 400,000 USD at 30 % a year: 196,000 after two years. Another year costs 196000 x (0.3 + 0.1) = 78,400 USD.
    assert fin.market_usd(400_000, 0.3, 2) == close(196_000)
    assert fin.hold_usd_per_year(196_000, 0.3, 0.1) == close(78_400)
    # 8 GPUs, half used, 4 USD falling by 19 % a year, work 0.1 and idle power 0.2 x 0.25: at 2.5 years 4 x 0.9^5 = 2.36196.
    # (2.36196 - 0.1) x 0.5 - 0.05 = 1.08098, x 70,080 hours = 75,755.08, less 30,000 to run: 45,755 USD.
    saved = fin.saved_usd_per_year(4, 2, 8, 0.5, 0.1, 0.2, 30_000, 0.19, 1, 0.25)
    assert saved == close(((4 * 0.81 ** 2.5 - 0.1) * 0.5 - 0.05) * 70_080 - 30_000)
    assert fin.running_on_usd_per_year(saved, 78_400) == close(saved - 78_400)
