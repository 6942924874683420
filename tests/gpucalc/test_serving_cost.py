"""Cost of tokens: hand calculations, published costs, the parts against the whole, and what a price book makes of them."""
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gpucalc import queueing as qu, serving as sv, serving_cost as sc
from gpucalc.core.evaluate import Case
from gpucalc.decisions import capacity, token_offers
from gpucalc.rows import ages, catalogue, price_book
from tests.close import close

MODEL, GPU = catalogue.model("Llama-3-70B"), catalogue.gpu("H100 SXM 80GB")
LINK, ACHIEVED = catalogue.link("NVLink 4"), catalogue.efficiency("achieved")
FP8 = dict(weight_element_bytes=1, cache_element_bytes=1)
BOOKS = price_book.price_books()
every_book = pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)


def test_time_and_cost_of_a_request():
    # A prompt of 0.1 s, and 200 tokens from passes of 32 ms that 64 sequences share: 0.1 + 200 x 0.032 / 64 = 0.2 s.
    assert sc.replica_seconds(0.1, 0.032, 64, 200) == close(0.2)
    # 4 GPUs at 2.7 USD are 0.003 USD a second, half used 0.006. 1,000 tokens in 0.1 s: 0.6 USD a million.
    assert sc.input_usd_per_million(2.7, 0.1, 1000, 4, 0.5) == close(0.6)
    # 64 tokens in 32 ms, 2,000 a second: 0.006 / 2,000 = 3 USD a million.
    assert sc.output_usd_per_million(2.7, 0.032, 64, 4, 0.5) == close(3)
    # 1,000 x 0.6 / 1e6 + 200 x 3 / 1e6 = 0.0012 USD, which is 0.2 s at 0.006.
    assert sc.request_usd(1000, 200, 0.6, 3) == close(0.0012) == close(0.2 * 0.006)


def test_cost_of_a_million_tokens():
    # 8 GPUs at 2 USD an hour and 1,000 tokens/s: 16 / 3.6e6 tokens = 4.444 USD a million; half idle, 8.889.
    assert sc.usd_per_million_tokens(2, 8, 1000) == close(16 / 3.6)
    assert sc.usd_per_million_tokens(2, 8, 1000, 0.5) == close(32 / 3.6)


def test_price_of_a_request_to_an_api():
    # Half of the prompt cached: 0.5 x 0.6 + 0.5 x 0.2 = 0.4 USD; 1,000 in and 500 out at 2 USD: 0.0004 + 0.001.
    assert sc.blended_usd_per_million(0.6, 0.2, 0.5) == close(0.4)
    assert sc.api_request_usd(1000, 500, 0.4, 2) == close(0.0014)


def test_a_month():
    # 730 hours of 3,600 s: 2,628,000 requests are one a second, three in a busiest hour of three times the mean.
    assert sc.requests_per_second(2_628_000) == close(1)
    assert sc.requests_per_second(2_628_000, 3) == close(3)
    # 5 replicas of 2 GPUs: servers of 8 hold 4 of them, so two servers; servers of 3 hold one; of 1, none.
    assert [sc.rented_gpus(5, 2, size) for size in (8, 3, 1)] == [16, 15, 10]
    # 16 GPUs at 2 USD for 730 hours.
    assert sc.serving_usd_per_month(2, 16) == close(23_360)
    assert sc.paid_request_usd(23_360, 10e6) == close(0.002336)
    # 23,360 USD at 0.001168 a request.
    assert sc.break_even_requests_per_month(23_360, 0.001168) == close(20e6)
    # Two replicas of 64 places with 8 spare, 10 s a request, peak twice the mean: 120 x 2,628,000 / 20.
    assert sc.carried_requests_per_month(2, 64, 8, 10, 2) == close(15_768_000)
    assert sc.carried_requests_per_month(2, 64, 200, 10) == sc.carried_requests_per_month(2, 64, math.inf, 10) == 0
    # 15,768,000 requests of 0.2 s on 2 GPUs take 6,307,200 s of the 16 x 2,628,000 paid.
    assert sc.paid_utilization(15_768_000, 0.2, 16, 2) == close(0.15)
    # 0.2 s of 4 GPUs at 2.7 USD are 0.0006 USD, half of the API's 0.0012; free APIs are never beaten.
    assert sc.api_break_even_utilization(2.7, 0.2, 0.0012, 4) == close(0.5)
    assert sc.api_break_even_utilization(2.7, 0.2, 0, 4) == sc.break_even_requests_per_month(100, 0) == math.inf


def test_h100_and_4090_servers_cost_about_the_same_per_token():
    # Bojie Li 2023: 2.5 USD/h and 330 / 0.027 tokens/s against 13.4 USD/h and 295 / 0.0052 tokens/s: 17.6 and 15.2 million
    # tokens per USD, 16 % more.
    rtx = sc.usd_per_million_tokens(2.5 / 8, 8, 330 / 0.027)
    h100 = sc.usd_per_million_tokens(13.4 / 8, 8, 295 / 0.0052)
    assert 1 / rtx == pytest.approx(17.6, abs=0.05) and 1 / h100 == pytest.approx(15.2, abs=0.05)
    assert h100 / rtx == pytest.approx(1.16, abs=0.01)


def test_cost_per_token_follows_the_decode_law():
    # Llama-3-8B at batch 1 and a context of one token on one H100. A step reads 8.03e9 parameters less the 128256 x 4096
    # of the input embedding, in 2 bytes, and 131,072 bytes of cache, and moves 6,029,312 bytes beside, at 3.35e12 B/s; an hour
    # costs 2 USD.
    seconds = (2 * (8_030_261_248 - 128_256 * 4096) + 131_072 + 6_029_312) / 3.35e12
    cost = Case(catalogue.model("Llama-3-8B"), GPU, usd_per_hour=2, batch=1, context=1, replica_gpus=1)(sc.usd_per_million_tokens)
    assert cost == close(1e6 * seconds * 2 / 3600)


REQUEST = dict(prompt=st.integers(1, 20_000), output=st.integers(1, 4000), batch=st.integers(1, 512),
               degree=st.sampled_from([1, 2, 4, 8]), rate=st.floats(0.1, 20), busy=st.floats(0.01, 1), cached=st.floats(0, 1))


def costs(prompt=1000, output=200, batch=32, degree=4, rate=2.0, busy=0.5, cached=0.0, **more):
    laws = [sc.request_usd, sv.output_tokens_per_second, sc.replica_seconds]
    values = Case(MODEL, GPU, LINK, ACHIEVED, prompt=prompt, output=output, batch=batch, tensor_parallel=degree,
                  context=sv.mean_context, usd_per_hour=rate, replica_utilization=busy, cached_share=cached, **FP8, **more).terms(*laws)
    return values | dict(prompt=prompt, output=output)


@given(**REQUEST)
@settings(max_examples=150)
def test_tokens_in_and_out_cost_the_request_and_nothing_is_lost(prompt, output, batch, degree, rate, busy, cached):
    found = costs(prompt, output, batch, degree, rate, busy, cached)
    parts = prompt * found["input_usd_per_million"] + output * found["output_usd_per_million"]
    assert found["request_usd"] == pytest.approx(parts / 1e6, rel=1e-9)
    # The same from the time of a request in a full batch, less the passes in which it keeps its place while only its prompt is read.
    reading = (math.ceil(found["prefilled_tokens"] / 8192) - 1) * found["replica_pass_seconds"]
    assert found["replica_seconds"] == pytest.approx((found["request_seconds"] - reading) / batch, rel=1e-9)
    # The same from the rate of a full replica, all of it charged to the tokens out.
    by_rate = output / 1e6 * sc.usd_per_million_tokens(rate, degree, found["output_tokens_per_second"], busy)
    assert found["request_usd"] == pytest.approx(by_rate * (1 - reading / found["request_seconds"]), rel=1e-9)


REQUESTS, PROMPT, OUTPUT, LIMIT = 20e6, 2000, 300, 20


@cache
def points(cached=0.0):
    cards = capacity.linked_gpus("H100 SXM 80GB")
    case = Case(MODEL, ACHIEVED, prompt=PROMPT, output=OUTPUT, cached_share=cached, **capacity.ENGINE, **FP8)
    return capacity.search(case, cards, [1, 2, 4, 8])


def paid(book, requests=REQUESTS, peak=2, limit=LIMIT, cached=0.0):
    plans = capacity.plans(points(cached), sc.requests_per_second(requests, peak), limit)
    return token_offers.rented_plans(plans, book, "on-demand", requests, PROMPT, OUTPUT)


@every_book
def test_plans_sum_to_their_bill_answer_in_time_and_hold_whole_replicas(path):
    found = paid(price_book.prices(path))
    assert len(found) > 3 and found.firm.is_monotonic_decreasing
    assert all(part.serving_usd_per_month.is_monotonic_increasing for _, part in found.groupby("firm"))
    tokens = REQUESTS * (PROMPT * found.input_usd_per_million + OUTPUT * found.output_usd_per_million) / 1e6
    assert tokens.to_numpy() == pytest.approx(found.serving_usd_per_month.to_numpy(), rel=1e-9)
    assert (found.paid_utilization <= 1).all() and (found.rented_gpus % found.gpus_per_server == 0).all()
    assert (found.gpus_per_server >= found.tensor_parallel).all() and (found.rented_gpus >= found.gpus).all()
    for row in found.itertuples():
        whole, places = row.request_seconds, (row.replicas, row.batch)
        load = qu.offered_load(sc.requests_per_second(REQUESTS, 2), whole, *places)
        wait = qu.waiting_seconds(qu.waiting_share(load, *places, crowding=0), load, whole, *places, output_variation=0)
        assert load < 1 and whole + wait <= LIMIT and row.batch <= row.places


@every_book
def test_a_dearer_server_is_never_chosen_and_a_dearer_book_never_cheaper(path):
    book = price_book.prices(path)
    for row in paid(book).query("firm").head(6).itertuples():
        same = book[(book["item"] == "rent") & (book.gpu == row.gpu) & (book.term == "on-demand")]
        same = same[(same.gpus_per_server >= row.tensor_parallel) & ages.firm(same)]
        bills = sc.serving_usd_per_month(same.usd_per_hour, sc.rented_gpus(row.replicas, row.tensor_parallel, same.gpus_per_server))
        assert row.serving_usd_per_month == close(bills.min())
    dearer = book.assign(usd_per_hour=book.usd_per_hour * np.where(book.gpu == "H100 SXM 80GB", 1.5, 1))
    assert paid(dearer).serving_usd_per_month[0] >= paid(book).serving_usd_per_month[0]


@every_book
def test_more_load_a_tighter_limit_or_a_smaller_cached_share_never_cost_less(path):
    book = price_book.prices(path)
    base = paid(book, cached=0.25).serving_usd_per_month[0]
    for changed in (dict(requests=2 * REQUESTS), dict(peak=4), dict(limit=10), dict(cached=0)):
        harder = paid(book, **dict(cached=0.25) | changed)
        assert harder.serving_usd_per_month[0] >= base


def test_a_limit_nobody_meets_leaves_no_plan():
    book = price_book.prices()
    assert paid(book, limit=0.2).empty
    assert token_offers.break_even_plans(points(), book, "on-demand", 1, 0.2).empty


@every_book
@pytest.mark.parametrize("price", [0.0003, 0.001, 0.005])
def test_a_break_even_is_carried_and_no_smaller_fleet_has_one(path, price):
    book = price_book.prices(path)
    found = token_offers.break_even_plans(points(), book, "on-demand", price, LIMIT, peak_factor=2)
    assert (found.carried_requests_per_month >= found.break_even_requests_per_month).all()
    assert not found.duplicated(["gpu", "tensor_parallel"]).any()
    for row in found.head(3).itertuples():
        assert row.break_even_requests_per_month * price == close(row.usd_per_hour * row.servers * row.gpus_per_server * 730)
        full = 730 * 3600 * row.replicas * row.batch / row.request_seconds / 2
        assert row.carried_requests_per_month <= full
        # At that volume and peak the capacity search needs no more servers.
        plan = capacity.plans(points(), sc.requests_per_second(row.break_even_requests_per_month, 2), LIMIT)
        plan = plan[(plan.gpu == row.gpu) & (plan.tensor_parallel == row.tensor_parallel)].iloc[0]
        assert plan.replicas <= row.replicas
    cheaper = token_offers.break_even_plans(points(), book, "on-demand", price / 2, LIMIT, peak_factor=2)
    if len(cheaper):
        assert cheaper.break_even_requests_per_month[0] >= found.break_even_requests_per_month[0]


def test_above_the_break_even_utilization_servers_can_pay_and_below_they_never_do():
    # A server of one GPU: it pays at some fleet only if full replicas, at the peak, are above the break-even utilization.
    book = price_book.prices()
    full = points()
    for price in (0.0003, 0.0006, 0.002):
        found = token_offers.break_even_plans(full, book, "on-demand", price, LIMIT, peak_factor=2)
        for row in found.itertuples():
            seconds = row.request_seconds / row.batch
            assert sc.api_break_even_utilization(row.usd_per_hour, seconds, price, row.tensor_parallel) < 1 / 2


def api_rows(book, **prices):
    """The book with one API offer of a made-up model."""
    import pandas
    rent = book.iloc[0]
    rows = [rent.to_dict() | dict(item=item, provider="Someone", sku="my-model", region="all", price=price, gpu="", note="")
            for item, price in prices.items()]
    extended = pandas.concat([book, pandas.DataFrame(rows)], ignore_index=True)
    extended.attrs = book.attrs
    return extended


def test_api_offers():
    book = price_book.prices()
    three = api_rows(book, **{"api-input": 1, "api-cached-input": 0.25, "api-output": 4})
    offer = token_offers.api_offers(three, "my-model").iloc[0]
    assert [offer[name] for name in token_offers.API_ITEMS.values()] == [1, 0.25, 4] and offer.has_cached
    whole = token_offers.api_offers(api_rows(book, **{"api-input": 1, "api-output": 4}), "my-model").iloc[0]
    assert whole.api_cached_usd_per_million == 1 and not whole.has_cached
    three.loc[three["sku"] == "my-model", ["date", "source", "confidence"]] = [
        ["2024", "of input", "recalled"], ["2023", "of cached", "recalled"], ["2025-03", "of output", "seen"]]
    offer = token_offers.api_offers(three, "my-model").iloc[0]
    assert (offer.date, offer.source, offer.confidence, offer["row"]) == ("2025-03", "of output", "seen", three.index[-1])
    assert token_offers.api_offers(book, "my-model").empty


def test_a_replica_may_fill_its_server_and_any_usual_number_of_servers_is_tried():
    assert token_offers.SERVERS == (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
    book = price_book.prices()
    eights = book[(book["item"] != "rent") | (book["gpus_per_server"] == 8)]
    eights.attrs = book.attrs
    full = points()
    exact = full[full["tensor_parallel"] == 8]
    assert len(token_offers.break_even_plans(exact, eights, "on-demand", 0.005, LIMIT, peak_factor=2))
    wide = exact.assign(tensor_parallel=9)
    assert token_offers.break_even_plans(wide, eights, "on-demand", 0.005, LIMIT, peak_factor=2).empty


def test_a_server_that_is_not_in_the_book_is_refused_by_name():
    book = price_book.prices()
    assert token_offers.server(book, "H100 SXM 80GB", 8, "on-demand").gpus_per_server >= 8
    with pytest.raises(ValueError, match=r"csv: no price for .*gpu 'RTX 4090 24GB', term 'on-demand', at_least 8; gpus_per_server is one of 1; .*usd_per_hour$"):
        token_offers.server(book, "RTX 4090 24GB", 8, "on-demand")


@every_book
def test_every_offer_of_the_books_is_complete_and_its_cached_price_is_no_dearer(path):
    book = price_book.prices(path)
    sold = set(book.loc[book["item"].isin(token_offers.API_ITEMS), "sku"])
    for model in sold:
        offers = token_offers.api_offers(book, model)
        assert len(offers) and (offers.api_cached_usd_per_million <= offers.api_input_usd_per_million).all()
