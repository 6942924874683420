"""A month of requests: every way to serve them on one axis."""
import math

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from book.pages import serving_cost as page
from gpucalc import Case
from gpucalc.decisions import capacity, token_offers
from gpucalc.rows import price_book

BOOK = price_book.prices(price_book.DATA / "prices" / "2026-11-09.csv")
CASE = Case(model="Llama-3-70B", efficiency="achieved", weight_format="FP8", cache_element_bytes=1, prompt=1000, output=300,
            requests_per_month=1e6, peak_factor=2, answer_limit=20, first_token_limit=2, **capacity.ENGINE)
CARDS = capacity.linked_gpus("H100 SXM 80GB", "FP8", 1).loc[["H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB"]]
MONTHS = [10.0**power for power in range(2, 9)]


@pytest.fixture(scope="module")
def points():
    return capacity.search(CASE, CARDS, [1, 2, 4])


@pytest.fixture(scope="module")
def offers():
    return token_offers.priced_offers(BOOK, "Llama-3-70B", CASE)


@pytest.fixture(scope="module")
def bills(points, offers):
    return page.by_volume(MONTHS, points, BOOK, "on-demand", CASE, offers)


def test_every_way_has_a_bill_that_grows(bills, points, offers):
    assert set(bills["way"]) == set(page.WAYS) and len(bills) == len(MONTHS) * len(page.WAYS)
    assert (bills["low"] <= bills["usd"]).all() and (bills["usd"] <= bills["high"]).all()
    for way, each in bills.groupby("way"):
        assert each["usd"].is_monotonic_increasing or way == page.RENTED, way
        assert each["cold"].is_monotonic_decreasing
    held = bills.set_index(["way", "requests_per_month"])
    assert held.loc[(page.API, 1e6), "usd"] == pytest.approx(1e6 * offers["api_request_usd"].iloc[0])
    plans = token_offers.month_plans(points, BOOK, "on-demand", CASE)
    assert held.loc[(page.RENTED, 1e6), "usd"] == plans["serving_usd_per_month"][0]


def test_a_batch_api_is_shown_and_wins_nothing(points, bills, offers):
    offer = token_offers.batch_offer(BOOK, "Llama-3-70B", CASE)
    # DeepInfra's own page: 1,000 tokens in at 0.184 and 300 out at 0.32 USD a million; Together's is a floor price.
    assert offer.provider == "DeepInfra" and offer.api_batch_request_usd == pytest.approx(0.00028)
    cheap = pd.Series(offer).replace(offer.api_batch_request_usd, 1e-9)
    found = page.by_volume(MONTHS[2:4], points, BOOK, "on-demand", CASE, offers, cheap)
    waits = found[found["way"] == page.BATCH]
    assert waits["usd"].tolist() == pytest.approx([1e-9 * each for each in MONTHS[2:4]]) and waits["cold"].isna().all()
    assert [span["way"] for span in page.spans(found, 0.05)] == [
        span["way"] for span in page.spans(bills[bills["requests_per_month"].isin(MONTHS[2:4])], 0.05)]
    assert BOOK.loc[offer.row, "item"] == "api-batch-output"


def test_a_server_that_comes_and_goes_costs_no_more_than_the_same_all_month(points):
    """One kind of server at one price: at every volume the bill of what is up is at most that of the plan for the peak."""
    one = BOOK[(BOOK["item"] != "rent") | (BOOK["term"] == "on-demand") & (BOOK["gpus_per_server"] == 8)]
    one.attrs = BOOK.attrs
    found = page.by_volume(MONTHS, points, one, "on-demand", CASE, token_offers.priced_offers(one, "none", CASE))
    held = found.pivot(index="requests_per_month", columns="way", values="usd")
    assert set(held) == {page.SCALED, page.RENTED, page.OWNED}
    assert (held[page.SCALED] <= held[page.RENTED] * (1 + 1e-9)).all()


def test_owned_hours_are_of_young_servers_that_are_sold_new():
    found = page.owned_hours(BOOK, "on-demand")
    assert len(found) and (found["low_rate"] < found["usd_per_hour"]).all() and (found["usd_per_hour"] < found["high_rate"]).all()
    rows = BOOK.loc[list(found["row"])]
    assert set(rows["confidence"]) == {"seen"} and (rows["date"].str[:4].astype(int) >= 2024).all()
    without = BOOK[BOOK["item"] != "power"]
    without.attrs = BOOK.attrs
    assert page.owned_hours(without, "on-demand").empty


@pytest.mark.parametrize("item", ["rent", "server", "power", "hosting", "api-input"])
def test_a_book_that_lacks_an_item_lacks_its_way(points, item):
    also = {"api-input": ["api-output", "api-cached-input"], "hosting": ["hosting-power"]}
    book = BOOK[~BOOK["item"].isin([item, *also.get(item, [])])]
    book.attrs = BOOK.attrs
    offers = token_offers.priced_offers(book, "Llama-3-70B", CASE)
    found = page.by_volume([1e6], points, book, "on-demand", CASE, offers)
    missing = {"rent": {page.SERVERLESS, page.SCALED, page.RENTED, page.OWNED}, "api-input": {page.API}}
    assert set(found["way"]) == set(page.WAYS) - missing.get(item, {page.OWNED})


@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bill(points, offers, bills, chance):
    order = list(range(len(BOOK)))
    chance.shuffle(order)
    book = BOOK.iloc[order]
    book.attrs = BOOK.attrs
    few = MONTHS[1::3]
    found = page.by_volume(few, points, book, "on-demand", CASE, offers)
    assert found["usd"].tolist() == pytest.approx(bills.loc[bills["requests_per_month"].isin(few), "usd"].tolist())


# Which is the cheapest

def table(**ways):
    """Bills of ways over months 1, 10 and 100: the plan's, with ends at 0.9 and 1.2 of it; the API's without."""
    rows = [dict(requests_per_month=month, way=way, usd=usd, low=0.9 * usd if way != "API" else usd,
                 high=1.2 * usd if way != "API" else usd, cold=0.0, fleet=way, row=way)
            for way, usds in ways.items() for month, usd in zip((1, 10, 100), usds)]
    return pd.DataFrame(rows, columns=page.COLUMNS)


def test_spans_and_crossings_by_hand():
    found = page.spans(table(API=(1, 10, 100), own=(20, 20, 20)), 0.05)
    assert [(span["way"], span["sure"]) for span in found] == [("API", [1, 10]), ("own", [100])]
    # The API's bill grows with the volume and comes to 20 at 20.
    assert found[0]["stop"] == found[1]["start"] == pytest.approx(20)
    close = page.spans(table(API=(1, 10, 100), own=(20, 20, 95)), 0.05)
    assert [(span["way"], span["sure"]) for span in close] == [("API", [1, 10]), ("own", [])]


def test_a_way_that_starts_too_often_is_not_in_time():
    bills = table(API=(1, 10, 100), own=(0.5, 20, 20))
    bills.loc[(bills["way"] == "own") & (bills["requests_per_month"] == 1), "cold"] = 0.5
    assert [span["way"] for span in page.spans(bills, 0.05)] == ["API", "own"]
    assert [span["way"] for span in page.spans(bills, 0.5)] == ["own", "API", "own"]


def test_turns_and_verdicts_by_hand():
    bills = table(API=(1, 10, 100), own=(20, 11, 60))
    # At the fast end 9.9 is below 10 already; to plan for and at the slow end (72) from the last on.
    assert page.turn(bills, "own", "API") == (10, 100, 100) and page.turn(bills, "none", "API") == (math.inf,) * 3
    assert page.turn(table(API=(1, 10, 100), own=(20, 5, 200)), "own", "API") == (math.inf,) * 3
    said = [page.verdict(bills, month, "own", "API") for month in (1, 10, 100)]
    assert said == ["no", "too close to call", "yes"] and page.verdict(bills, 1, "none", "API") == ""


def test_requests_that_may_wait_cost_those_of_a_full_server(points):
    """The hour of the server over what its replicas answer in it, at the times to plan for, of some degree that fits in it."""
    found = page.waiting_usd(points, BOOK, "on-demand", CASE)
    assert found["low"] < found["plan"] < found["high"]
    rent, paced = BOOK.loc[found["row"]], capacity.paced(points)
    full = paced[(paced["gpu"] == rent.gpu) & (paced["batch"] == found["batch"])]
    each = rent.price / 3600 * full["request_seconds"] / (rent.gpus_per_server // full["tensor_parallel"] * found["batch"])
    assert found["plan"] == pytest.approx(each[each.between(found["low"], found["high"])].min())
    none = BOOK[BOOK["item"] != "rent"]
    none.attrs = BOOK.attrs
    assert page.waiting_usd(points, none, "on-demand", CASE) is None
