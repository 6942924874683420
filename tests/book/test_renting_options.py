"""Ways to rent: reservations and spot beside the price on demand, interruptions, and what each way costs a piece of work."""
import math

import pandas as pd
import pytest

from book.pages import break_even as options
from book.pages.break_even import Work
from gpucalc import owning, renting
from gpucalc.core.arithmetic import HOURS_PER_YEAR
from gpucalc.core.evaluate import Case
from gpucalc.decisions import rent_or_buy
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.rents import with_rent

GPU = "H100 SXM 80GB"
BOOK = price_book.prices()
STOPS = dict(checkpoint_seconds=60, restart_seconds=600, machine_interruption_seconds=86400, machines=1,
             interruption_seconds=renting.group_interruption_seconds)
ONCE, OFTEN, STEADY = Work("once", 1, 0.05, once=True), Work("often", 128, 0.2), Work("steady", 4, 0.9, steady=True)


@pytest.fixture(scope="module")
def deal():
    return rent_or_buy.deal(BOOK, GPU, catalogue.assumptions(), {})


@pytest.fixture(scope="module")
def case(deal):
    return deal.case(catalogue.gpu(GPU)).but(**STOPS)


def rents_of(*offers):
    """A book of nothing but rents of one machine by term."""
    rows = [dict(item="rent", provider="A", sku=sku, gpu=GPU, gpus_per_server=8, region="US", term=term, price=8 * rate,
                 usd_per_hour=rate, reserved_years=price_book.RESERVED_YEARS.get(term, math.nan), instance="", date="2026",
                 source="a test", confidence="seen", yours=False) for sku, term, rate in offers]
    book = pd.DataFrame(rows, index=[f"{row['sku']}, {row['term']}" for row in rows]).rename_axis("row")
    book.attrs = {"file": "a test.csv", "date": "2026-01-01"}
    return book


def test_a_reservation_pays_from_its_share_of_the_same_machines_price_on_demand():
    book = rents_of(("big", "on-demand", 4), ("big", "reserved-3y", 1), ("big", "reserved-1y", 3), ("small", "reserved-1y", 2),
                    ("small", "spot", 1), ("other", "on-demand", 1))
    found = options.reservations(book)
    assert found[["sku", "term", "usd_per_hour", "on_demand", "needed"]].values.tolist() == [
        ["big", "reserved-1y", 3, 4, 0.75], ["big", "reserved-3y", 1, 4, 0.25]]


def test_reservations_come_from_the_first_book_that_has_any():
    none, some = rents_of(("big", "on-demand", 4)), rents_of(("big", "on-demand", 4), ("big", "reserved-1y", 3))
    assert options.first_with_reservations([some, none])[0] is some
    book, found = options.first_with_reservations([none, some])
    assert book is some and len(found) == 1
    book, found = options.first_with_reservations([none, none])
    assert book is none and found.empty


def test_spot_is_compared_with_its_own_machine_and_charged_with_interruptions():
    book = rents_of(("big", "on-demand", 4), ("big", "spot", 1), ("small", "spot", 0.5))
    alone, together = Case(**STOPS), Case(**STOPS | {"machines": 16})
    found = options.spot_offers(book, GPU, alone, together).set_index("sku")
    assert list(found.index) == ["small", "big"], "the cheapest first"
    assert found.loc["big", "discount"] == 0.75 and math.isnan(found.loc["small", "discount"])
    assert found.loc["big", "one"] == alone(renting.interruption_slowdown)
    assert found.loc["small", "many"] == 0.5 * together(renting.interruption_slowdown)
    assert options.spot_offers(book, "L40S 48GB", alone, together).empty


def test_managed_rents_are_the_clouds_own_rate_and_its_premium():
    found = options.managed_rents(BOOK, GPU)
    assert len(found) and found["managed"].tolist() == pytest.approx((found["usd_per_hour"] * (1 + found["premium"])).tolist())
    assert (found["service"] != "").all()
    assert options.managed_rents(rents_of(("big", "spot", 1)), GPU).empty


def test_slowdowns_have_a_row_for_each_time_and_a_column_for_each_count():
    found = options.slowdowns(Case(**STOPS), {"long": 1e6, "short": 1e4}, (1, 16))
    assert list(found) == ["whose", "lasts", "on_1", "on_16"] and list(found["whose"]) == ["short", "long"]
    short = Case(**STOPS | {"machine_interruption_seconds": 1e4, "machines": 16})
    assert found["on_16"].iloc[0] == short(renting.interruption_slowdown)
    assert options.slowdowns(Case(**STOPS), {"never works": 60}, (1000,))["on_1000"].iloc[0] == math.inf


def test_work_that_is_done_once_pays_todays_rent_and_owns_for_all_the_years(deal, case):
    ways = options.ways(BOOK, deal, case, ONCE)
    rate = deal.rows["rent"].usd_per_hour
    assert ways["on_demand"] == pytest.approx(rate)
    assert ways["owned"] == case.but(utilization=0.05 / deal.ranges.loc["years", "likely"])(owning.owned_usd_per_hour)


def test_rents_that_recur_fall_over_the_years(deal, case):
    ways = options.ways(BOOK, deal, case, OFTEN)
    assert ways["on_demand"] == case(renting.level_usd_per_hour) < deal.rows["rent"].usd_per_hour
    assert ways["owned"] == case.but(utilization=0.2)(owning.owned_usd_per_hour)
    slow = case.but(machines=128)(renting.interruption_slowdown)
    alone = options.ways(BOOK, deal, case, OFTEN._replace(servers=1))["spot"] / case(renting.interruption_slowdown)
    assert ways["spot"] == pytest.approx(alone * slow)


def test_a_reservation_is_paid_for_hours_that_are_not_used_and_not_for_years_that_nobody_needs(deal, case):
    book = rents_of(("big", "reserved-1y", 3), ("big", "reserved-3y", 2), ("big", "on-demand", 4))
    assert options.ways(book, deal, case, OFTEN)["reserved"] == 2 / 0.2
    assert options.ways(book, deal, case, ONCE)["reserved"] == 3 / 0.05
    assert options.ways(with_rent(BOOK, GPU, 8, "spot", 1.0), deal, case, ONCE)["reserved"] is None


def test_steady_work_is_never_on_spot_and_pays_the_usual_rent_where_it_is_tied(deal, case):
    free, tied = (options.ways(BOOK, deal, case, work, usual=7) for work in (STEADY, STEADY._replace(tied=True)))
    assert free["spot"] is None and free["on_demand"] == options.average_rent(case, deal.rows["rent"].usd_per_hour)
    assert tied == dict.fromkeys(options.WAYS) | {"on_demand": options.average_rent(case, 7)}


def test_the_usual_rent_is_a_median_of_providers_not_of_rows():
    """One provider lists three regions at 8, 9 and 10; two others ask 2 and 4: the cheapest of each are 2, 4 and 8."""
    book = rents_of(("eight", "on-demand", 8), ("nine", "on-demand", 9), ("ten", "on-demand", 10), ("b", "on-demand", 2),
                    ("c", "on-demand", 4), ("d", "on-demand", 0.5), ("e", "spot", 1))
    book["provider"] = ["A", "A", "A", "B", "C", "D", "E"]
    book["confidence"] = book["confidence"].mask(book["provider"] == "D", "floor")
    assert options.usual_rent(book, GPU) == 4 == options.usual_rent(book.iloc[::-1], GPU)
    assert options.usual_rent(book, "L40S 48GB") is None


def test_the_comparison_names_the_cheapest_way_and_the_second(deal, case):
    found = options.compared(BOOK, deal, case, [ONCE, STEADY])
    for row in found.itertuples():
        costs = sorted(cost for cost in (row.on_demand, row.reserved, row.spot, row.owned) if pd.notna(cost))
        assert [row.best, row.second] == costs[:2]
        assert getattr(row, row.answer.replace(" ", "_")) == row.best
        assert row.total == row.best * row.hours
    assert found["hours"].tolist() == [8 * HOURS_PER_YEAR * 0.05, 4 * 8 * HOURS_PER_YEAR * 0.9]


def test_spot_wins_from_a_mean_time_on(deal, case):
    rate = options.ways(BOOK, deal, case, OFTEN)["on_demand"]
    enough = options.lasting_to_win(BOOK, deal, case, OFTEN, rate)
    # 800 steps from 1 to 10,000 hours, 1.16 % apart: the step before is too short.
    for lasts, is_cheaper in ((enough, True), (enough / 1.0116, False)):
        spot = options.ways(BOOK, deal, case.but(machine_interruption_seconds=lasts), OFTEN)["spot"]
        assert (spot < rate) == is_cheaper
    place = 799 * math.log10(enough / 3600) / 4
    assert place == pytest.approx(round(place), abs=1e-6) and 0 < place < 799
    assert options.lasting_to_win(BOOK, deal, case, OFTEN, math.inf) == 3600, "an hour is the first step"
    assert options.lasting_to_win(BOOK, deal, case, OFTEN, 0.001) is None
    assert options.lasting_to_win(rents_of(("big", "on-demand", 4)), deal, case, OFTEN, rate) == math.inf
