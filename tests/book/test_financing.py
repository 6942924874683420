"""What the page on financing shows."""
import re

import numpy as np
import pytest

from book.pages import commitments as financing
from book.pages.commitments import payments_picture
from gpucalc import financing as fin, owning
from gpucalc.core.figures import hourly
from gpucalc.decisions import rent_or_buy
from gpucalc.rows import catalogue, price_book

CARD = catalogue.gpu("H100 SXM 80GB")
DEAL = rent_or_buy.deal(price_book.prices(), CARD.name, catalogue.assumptions(), {"usd_per_hour": 9.0, "rent_decline": 0.2})
CASE = DEAL.case(CARD)


def test_the_ways_to_pay():
    ways = financing.ways_to_pay(CASE, 2).set_index("way")
    cash, loan, lease, used = (ways.loc[name] for name in financing.WAYS)
    assert cash.hour == CASE(owning.owned_usd_per_hour) and cash.today == CASE(owning.bought_usd) and cash.monthly == 0
    # What the loan costs beyond cash, over the hours that are used.
    more = CASE(fin.financed_usd) - CASE(owning.bought_usd)
    hours = CASE(owning.offered_gpu_hours) * DEAL.ranges.loc["utilization", "likely"]
    assert loan.today == pytest.approx(0.2 * cash.today) and loan.monthly == CASE(fin.loan_usd_per_month)
    assert loan.hour - cash.hour == pytest.approx(more / hours)
    assert lease.today == 0 and lease.years == 3 and lease.hour == CASE.but(years=3)(fin.leased_usd_per_hour)
    again = CASE.but(server_usd=0.49 * 400_000, years=3, support_share=0, repair_share=CASE(fin.unwarranted_repair_share))
    assert used.years == 3 and used.hour == pytest.approx(again(owning.owned_usd_per_hour))


def test_a_used_server_as_old_as_the_years_of_use_is_none():
    assert list(financing.ways_to_pay(CASE, 5)["way"]) == list(financing.WAYS[:3])


def test_the_age_at_which_to_sell():
    age = financing.selling_age(CASE)
    ages = np.array([age - 0.25, age])
    before, then = CASE.but(kept_years=ages)(fin.running_on_usd_per_year)
    assert before >= 0 > then
    assert financing.selling_age(CASE.but(usd_per_hour=1e-3)) == 0
    assert financing.selling_age(CASE.but(rent_decline=0, usd_per_hour=100)) is None


def test_the_rate_at_which_a_lease_costs_what_cash_does():
    rate = financing.even_lease_rate(CASE)
    lease = CASE.but(loan_rate=rate, years=3)(fin.leased_usd_per_hour)
    assert lease == pytest.approx(CASE.but(years=3)(owning.owned_usd_per_hour), rel=0.005)
    assert financing.even_lease_rate(CASE.but(end_share=0, residual=1)) is None


def test_a_server_that_pays_again_later_is_not_sold_for_good():
    """At a rent of 4.50 that stays, the first year loses more than it saves and the fifth does not."""
    young = CASE.but(usd_per_hour=4.5, rent_decline=0.0)
    worth = financing.keeping(young, [0, 4])["running_on_usd_per_year"]
    assert worth[0] < 0 < worth[1] and financing.selling_age(young) is None


@pytest.mark.parametrize("kept", [2, 9])
def test_the_picture_draws_what_each_way_pays_and_what_the_sale_brings(kept):
    """A bar for what is paid today and in each of the three years of payments, and one down for a sale; a lease sells nothing."""
    found = financing.ways_to_pay(CASE, kept)
    shown = payments_picture(found, 36, 0.3)
    bars = re.findall(r'<rect [^>]*height="([\d.]+)" rx="0" class="fill-(\w)"', shown._repr_html_())
    assert len([color for _, color in bars if color == bars[0][1]]) == 1 + 4 + 3 + (len(found) - 3)
    assert len(bars) == 8 + (len(found) - 3) + len(found) - 1 and float(bars[0][0]) == 36
    assert all(text in repr(shown) for text in map(hourly, found["hour"])) and "nan" not in shown._repr_html_()
    assert len(re.findall("(?<=>)(cash|loan|lease|used, for cash)(?=<)", shown._repr_html_())) == len(found)
