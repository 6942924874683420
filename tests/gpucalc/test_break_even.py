"""Where owning and renting meet, against hand calculations and a ledger kept month by month."""
import math

import pytest

from gpucalc import break_even as be
from gpucalc.core.evaluate import Case
from tests.close import close
from tests.gpucalc.test_owning import SERVER

DEAL = SERVER | dict(usd_per_hour=4.5, rent_decline=0.1, utilization=0.6)
CARDS_ALONE = dict(network_usd=0, gpus_per_server=1, years=3, discount_rate=0, hosting_usd_per_month=0, usd_per_kwh=0,
                   watts_per_gpu=1, pue=1)


@pytest.mark.parametrize("usd_per_gpu, usd_per_hour, expected", [
    (12_000, 40.96 / 8, 0.089), (12_000, 12.29 / 8, 0.297), (25_000, 40.96 / 8, 0.186), (25_000, 12.29 / 8, 0.62)])
def test_break_even_of_cards_alone_and_of_the_whole_server(usd_per_gpu, usd_per_hour, expected):
    # A100 80GB over 3 years: 12000 / 26280 = 0.4566 and 25000 / 26280 = 0.9513 USD an hour, over the rent.
    found = Case(server_usd=usd_per_gpu, usd_per_hour=usd_per_hour, **CARDS_ALONE)(be.break_even_utilization)
    assert found == close(usd_per_gpu / 26_280 / usd_per_hour)
    assert found == pytest.approx(expected, abs=0.001)


def test_owning_that_never_pays_is_a_value():
    assert be.break_even_utilization(1, 0.2, 0.2) == math.inf
    assert be.break_even_utilization(1, 0.2, 0.1) == math.inf
    assert be.break_even_months(300e3, 8, 0.5, 0.4, 0.4, 12_000, 0.5) == math.inf


def test_break_even_months():
    # Eight cards of 12,000 USD against 41 USD an hour, always busy: 96000 / (41 x 730) = 3.21 months.
    assert be.break_even_months(96_000, 8, 41 / 8, 0, 0, 0, 1) == close(96_000 / 29_930)
    # 400,000 USD, used 60 %, rent 6.88, power 0.17, running costs 8,409.6 a year, which is 0.12 a GPU and hour:
    # 50000 / ((6.71 x 0.6 - 0.12) x 730) = 50000 / 2851.38 = 17.54 months.
    assert be.break_even_months(400_000, 8, 6.88, 0.17, 0.17, 8409.6, 0.6) == pytest.approx(17.5354, rel=1e-5)
    # Nine tenths available, 30 % of 0.17 drawn when idle: a GPU saves ((6.88 - 0.119) x 0.6 - 0.051) x 0.9 - 0.12 an hour.
    assert be.break_even_months(400_000, 8, 6.88, 0.119, 0.17, 8409.6, 0.6, 0.9, 0.3) == close(
        50_000 / (((6.88 - 0.119) * 0.6 - 0.051) * 0.9 - 0.12) / 730)


def test_break_even_rent_counts_that_rents_fall():
    # An owned hour of 3.00 USD; rents that fall cost 1.6133 / 2 of today's over two years: 3.72 USD today.
    assert be.break_even_rent(3, 1.6133, 2) == close(6 / 1.6133)
    rent = Case(**{name: value for name, value in DEAL.items() if name != "usd_per_hour"})(be.break_even_rent)
    assert Case(**DEAL | {"usd_per_hour": rent})(be.owning_npv) == pytest.approx(0, abs=1e-6)


def test_npv_at_no_discount_is_the_simple_sum():
    """A ledger of 51 months, to the cent: the order, half a year of ramp in which work grows evenly, four years, the sale."""
    deal = DEAL | dict(discount_rate=0, rent_decline=0)
    bought = (320_000 + 8 * (3 * 600 + 2 * 900)) * 1.05
    balance, power = -bought, 0.7 * 1.82 * 1.3 * 0.1
    for month in range(1, 3 + 48 + 1):
        if month > 3:
            balance -= 1500 * 1.05 + (320_000 * 0.04 * 1.05 + 320_000 * 0.02 + 5000) / 12
            work = min((month - 3 - 0.5) / 6, 1)
            hours = 730 * 8 * 0.97 * work
            balance += hours * 0.6 * (4.5 - power) - hours * 0.4 * 0.3 * power
    balance += bought * 0.25
    assert Case(**deal)(be.owning_npv) == pytest.approx(balance, abs=0.005)


def test_the_break_evens_are_one_statement():
    """At each of them owning is worth nothing; beyond it on the good side, something."""
    found = Case(**DEAL).terms(be.break_even_utilization, be.break_even_rent, be.break_even_server_usd)
    for name, better in (("utilization", 1.01), ("rent", 1.01), ("server_usd", 0.99)):
        value = found[f"break_even_{name}"]
        name = "usd_per_hour" if name == "rent" else name
        assert Case(**DEAL | {name: value})(be.owning_npv) == pytest.approx(0, abs=1e-4)
        assert Case(**DEAL | {name: value * better})(be.owning_npv) > 0


def test_break_even_server_price():
    # Worth 10,000 USD; each dollar of price costs 1.05 for the spares less a quarter of it sold, and for
    # three years of upkeep 0.04 x 1.05 + 0.02.
    assert be.break_even_server_usd(320_000, 10_000, 366_240, 91_560, 3, 0.05, 0.04, 0.02) == close(
        320_000 + 10_000 / (1.05 * 0.75 + 3 * 0.062))
    assert be.break_even_server_usd(100, -10_000, 100, 0, 3) == close(-9900)
    assert be.break_even_server_usd(100, -10, 100, 100, 3) == math.inf
