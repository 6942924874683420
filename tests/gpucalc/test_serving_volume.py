"""A month of requests: scale to zero against a simulation, owned servers by hand, and every way on one axis."""
import math
import random

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gpucalc import Case, serving_volume as vol
from gpucalc.decisions import capacity, rent_own_or_api, token_offers
from gpucalc.rows import price_book

MONTH = 730 * 3600
BOOK = price_book.prices(price_book.DATA / "prices" / "2026-11-09.csv")
CASE = Case(model="Llama-3-70B", efficiency="achieved", weight_format="FP8", cache_element_bytes=1, prompt=1000, output=300,
            requests_per_month=1e6, peak_factor=2, answer_limit=20, first_token_limit=2, **capacity.ENGINE)
CARDS = capacity.linked_gpus("H100 SXM 80GB", "FP8", 1).loc[["H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB"]]
MONTHS = [10.0**power for power in range(2, 9)]


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


# Ways

@pytest.fixture(scope="module")
def points():
    return capacity.search(CASE, CARDS, [1, 2, 4])


@pytest.fixture(scope="module")
def offers():
    return token_offers.priced_offers(BOOK, "Llama-3-70B", CASE)


@pytest.fixture(scope="module")
def bills(points, offers):
    return rent_own_or_api.by_volume(MONTHS, points, BOOK, "on-demand", CASE, offers)


def test_every_way_has_a_bill_that_grows(bills, points, offers):
    assert set(bills["way"]) == set(rent_own_or_api.WAYS) and len(bills) == len(MONTHS) * len(rent_own_or_api.WAYS)
    assert (bills["low"] <= bills["usd"]).all() and (bills["usd"] <= bills["high"]).all()
    for way, each in bills.groupby("way"):
        assert each["usd"].is_monotonic_increasing or way == rent_own_or_api.RENTED, way
        assert each["cold"].is_monotonic_decreasing
    held = bills.set_index(["way", "requests_per_month"])
    assert held.loc[(rent_own_or_api.API, 1e6), "usd"] == pytest.approx(1e6 * offers["api_request_usd"].iloc[0])
    plans = token_offers.month_plans(points, BOOK, "on-demand", CASE)
    assert held.loc[(rent_own_or_api.RENTED, 1e6), "usd"] == plans["serving_usd_per_month"][0]


def test_a_batch_api_is_shown_and_wins_nothing(points, bills, offers):
    offer = token_offers.batch_offer(BOOK, "Llama-3-70B", CASE)
    # DeepInfra's own page: 1,000 tokens in at 0.184 and 300 out at 0.32 USD a million; Together's is a floor price.
    assert offer.provider == "DeepInfra" and offer.api_batch_request_usd == pytest.approx(0.00028)
    cheap = pd.Series(offer).replace(offer.api_batch_request_usd, 1e-9)
    found = rent_own_or_api.by_volume(MONTHS[2:4], points, BOOK, "on-demand", CASE, offers, cheap)
    waits = found[found["way"] == rent_own_or_api.BATCH]
    assert waits["usd"].tolist() == pytest.approx([1e-9 * each for each in MONTHS[2:4]]) and waits["cold"].isna().all()
    assert [span["way"] for span in rent_own_or_api.spans(found, 0.05)] == [
        span["way"] for span in rent_own_or_api.spans(bills[bills["requests_per_month"].isin(MONTHS[2:4])], 0.05)]
    assert BOOK.loc[offer.row, "item"] == "api-batch-output"


def test_a_server_that_comes_and_goes_costs_no_more_than_the_same_all_month(points):
    """One kind of server at one price: at every volume the bill of what is up is at most that of the plan for the peak."""
    one = BOOK[(BOOK["item"] != "rent") | (BOOK["term"] == "on-demand") & (BOOK["gpus_per_server"] == 8)]
    one.attrs = BOOK.attrs
    found = rent_own_or_api.by_volume(MONTHS, points, one, "on-demand", CASE, token_offers.priced_offers(one, "none", CASE))
    held = found.pivot(index="requests_per_month", columns="way", values="usd")
    assert set(held) == {rent_own_or_api.SCALED, rent_own_or_api.RENTED, rent_own_or_api.OWNED}
    assert (held[rent_own_or_api.SCALED] <= held[rent_own_or_api.RENTED] * (1 + 1e-9)).all()


def test_owned_hours_are_of_young_servers_that_are_sold_new():
    found = rent_own_or_api.owned_hours(BOOK, "on-demand")
    assert len(found) and (found["low_rate"] < found["usd_per_hour"]).all() and (found["usd_per_hour"] < found["high_rate"]).all()
    rows = BOOK.loc[list(found["row"])]
    assert set(rows["confidence"]) == {"seen"} and (rows["date"].str[:4].astype(int) >= 2024).all()
    without = BOOK[BOOK["item"] != "power"]
    without.attrs = BOOK.attrs
    assert rent_own_or_api.owned_hours(without, "on-demand").empty


@pytest.mark.parametrize("item", ["rent", "server", "power", "hosting", "api-input"])
def test_a_book_that_lacks_an_item_lacks_its_way(points, item):
    also = {"api-input": ["api-output", "api-cached-input"], "hosting": ["hosting-power"]}
    book = BOOK[~BOOK["item"].isin([item, *also.get(item, [])])]
    book.attrs = BOOK.attrs
    offers = token_offers.priced_offers(book, "Llama-3-70B", CASE)
    found = rent_own_or_api.by_volume([1e6], points, book, "on-demand", CASE, offers)
    missing = {"rent": {rent_own_or_api.SERVERLESS, rent_own_or_api.SCALED, rent_own_or_api.RENTED, rent_own_or_api.OWNED}, "api-input": {rent_own_or_api.API}}
    assert set(found["way"]) == set(rent_own_or_api.WAYS) - missing.get(item, {rent_own_or_api.OWNED})


@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bill(points, offers, bills, chance):
    order = list(range(len(BOOK)))
    chance.shuffle(order)
    book = BOOK.iloc[order]
    book.attrs = BOOK.attrs
    few = MONTHS[1::3]
    found = rent_own_or_api.by_volume(few, points, book, "on-demand", CASE, offers)
    assert found["usd"].tolist() == pytest.approx(bills.loc[bills["requests_per_month"].isin(few), "usd"].tolist())


# Which is the cheapest

def table(**ways):
    """Bills of ways over months 1, 10 and 100: the plan's, with ends at 0.9 and 1.2 of it; the API's without."""
    rows = [dict(requests_per_month=month, way=way, usd=usd, low=0.9 * usd if way != "API" else usd,
                 high=1.2 * usd if way != "API" else usd, cold=0.0, fleet=way, row=way)
            for way, usds in ways.items() for month, usd in zip((1, 10, 100), usds)]
    return pd.DataFrame(rows, columns=rent_own_or_api.COLUMNS)


def test_spans_and_crossings_by_hand():
    found = rent_own_or_api.spans(table(API=(1, 10, 100), own=(20, 20, 20)), 0.05)
    assert [(span["way"], span["sure"]) for span in found] == [("API", [1, 10]), ("own", [100])]
    # The API's bill grows with the volume and comes to 20 at 20.
    assert found[0]["stop"] == found[1]["start"] == pytest.approx(20)
    close = rent_own_or_api.spans(table(API=(1, 10, 100), own=(20, 20, 95)), 0.05)
    assert [(span["way"], span["sure"]) for span in close] == [("API", [1, 10]), ("own", [])]


def test_a_way_that_starts_too_often_is_not_in_time():
    bills = table(API=(1, 10, 100), own=(0.5, 20, 20))
    bills.loc[(bills["way"] == "own") & (bills["requests_per_month"] == 1), "cold"] = 0.5
    assert [span["way"] for span in rent_own_or_api.spans(bills, 0.05)] == ["API", "own"]
    assert [span["way"] for span in rent_own_or_api.spans(bills, 0.5)] == ["own", "API", "own"]


def test_turns_and_verdicts_by_hand():
    bills = table(API=(1, 10, 100), own=(20, 11, 60))
    # At the fast end 9.9 is below 10 already; to plan for and at the slow end (72) from the last on.
    assert rent_own_or_api.turn(bills, "own", "API") == (10, 100, 100) and rent_own_or_api.turn(bills, "none", "API") == (math.inf,) * 3
    assert rent_own_or_api.turn(table(API=(1, 10, 100), own=(20, 5, 200)), "own", "API") == (math.inf,) * 3
    said = [rent_own_or_api.verdict(bills, month, "own", "API") for month in (1, 10, 100)]
    assert said == ["no", "too close to call", "yes"] and rent_own_or_api.verdict(bills, 1, "none", "API") == ""


def test_requests_that_may_wait_cost_those_of_a_full_server(points):
    """The hour of the server over what its replicas answer in it, at the times to plan for, of some degree that fits in it."""
    found = rent_own_or_api.waiting_usd(points, BOOK, "on-demand", CASE)
    assert found["low"] < found["plan"] < found["high"]
    rent, paced = BOOK.loc[found["row"]], capacity.paced(points)
    full = paced[(paced["gpu"] == rent.gpu) & (paced["batch"] == found["batch"])]
    each = rent.price / 3600 * full["request_seconds"] / (rent.gpus_per_server // full["tensor_parallel"] * found["batch"])
    assert found["plan"] == pytest.approx(each[each.between(found["low"], found["high"])].min())
    none = BOOK[BOOK["item"] != "rent"]
    none.attrs = BOOK.attrs
    assert rent_own_or_api.waiting_usd(points, none, "on-demand", CASE) is None
