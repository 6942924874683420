"""Servers against an API: the verdict, the band behind it, what a dollar buys, and how a page shows it."""
import math
import re

import pandas
import pytest

from book.components.sentences import enough
from book.pages import serving_cost as tokens
from gpucalc import Case, serving as sv, serving_cost as sc
from gpucalc.decisions import capacity, token_offers
from gpucalc.rows import catalogue, price_book

BOOK = price_book.prices(price_book.DATA / "prices" / "2026-06-24.csv")
CASE = Case(model="Llama-3-70B", efficiency="achieved", weight_element_bytes=1, cache_element_bytes=1, prompt=2000,
            output=300, cached_share=0, requests_per_month=20e6, peak_factor=2, answer_limit=20, late_share=0.05,
            **capacity.ENGINE)
CARDS = capacity.linked_gpus("H100 SXM 80GB", "FP8").loc[["H100 SXM 80GB", "H200 SXM 141GB"]]
SMALL = CASE.but(model="Llama-3-8B", weight_element_bytes=2, cache_element_bytes=2)
H100 = "H100 SXM 80GB"


@pytest.fixture(scope="module")
def points():
    return capacity.search(CASE, CARDS, [2, 4])


@pytest.fixture(scope="module")
def plans(points):
    return token_offers.month_plans(points, BOOK, "on-demand", CASE)


@pytest.fixture(scope="module")
def offers():
    return token_offers.priced_offers(BOOK, "Llama-3-70B", CASE)


# Offers and plans

def test_offers_are_priced_for_the_request_the_cheapest_first(offers):
    """2,000 tokens in at 0.13 and 300 out at 0.39 USD a million: 0.000377 USD."""
    assert offers.api_request_usd.is_monotonic_increasing
    assert (offers.provider[0], offers.api_request_usd[0]) == ("DeepInfra Turbo", pytest.approx(0.000377))
    assert token_offers.priced_offers(BOOK, "no such model", CASE).empty


def test_the_plans_of_a_month_are_those_of_its_load(points, plans):
    searched = capacity.plans(points, sc.requests_per_second(20e6, 2), 20, 0.05)
    by_hand = token_offers.rented_plans(searched, BOOK, "on-demand", 20e6, 2000, 300)
    pandas.testing.assert_frame_equal(plans.drop(columns="binds"), by_hand)


def firm_rows(book, **changed):
    """The book with one more offer of an H100 that is like its cheapest but for what is changed."""
    row = token_offers.server(book, H100, 1, "on-demand")
    other = book.loc[[row.name]].assign(**changed)
    other.index = ["another"]
    found = pandas.concat([book, other.rename_axis("row")])
    found.attrs = book.attrs
    return found


def test_a_price_that_is_not_firm_decides_nothing(points, plans):
    cheap = dict(price=0.01, usd_per_hour=0.01, gpus_per_server=4.0, provider="Rumour")
    sure = token_offers.month_plans(points, firm_rows(BOOK, **cheap, confidence="seen"), "on-demand", CASE)
    said = token_offers.month_plans(points, firm_rows(BOOK, **cheap, confidence="secondary"), "on-demand", CASE)
    assert sure.provider[0] == "Rumour" and said.provider[0] == plans.provider[0]
    assert said.serving_usd_per_month[0] == plans.serving_usd_per_month[0]
    doubtful = token_offers.doubtful(said, "serving_usd_per_month")
    assert set(doubtful.provider) <= {"Rumour"} and not sure.head(1).pipe(token_offers.doubtful, "serving_usd_per_month").size


def test_a_plan_has_no_more_servers_than_the_most(points):
    book = BOOK[BOOK["gpus_per_server"].isna() | (BOOK["gpus_per_server"] >= 4)]
    book.attrs = BOOK.attrs
    few, many = (token_offers.month_plans(points, book, "on-demand", CASE.but(requests_per_month=2e9, most_servers=most))
                 for most in (8, 10_000))
    assert (few.rented_gpus <= 8 * few.gpus_per_server).all() and len(few) < len(many)


def test_hundreds_of_old_cards_are_no_plan():
    old = ["P100 PCIe 16GB", "V100 SXM 16GB", "T4 16GB"]
    wide = SMALL.but(answer_limit=600, requests_per_month=2e9)
    points = capacity.search(wide, capacity.linked_gpus(H100, "FP16").loc[old], [1, 2, 4, 8])
    assert (capacity.plans(points, 1500, 600)["gpus"].between(513, 1e6)).any()
    found = token_offers.month_plans(points, BOOK, "on-demand", wide)
    assert (found["rented_gpus"] <= token_offers.SERVERS[-1] * found["gpus_per_server"]).all()
    assert not set(old[:2]) & set(capacity.linked_gpus(H100, "FP8").index)


def test_servers_that_may_be_taken_back_need_a_spare():
    token_offers.check_term("spot", 1)
    token_offers.check_term("on-demand", 0)
    for term in ("spot", "marketplace"):
        with pytest.raises(ValueError, match="spare_replicas 0; allowed: a term on which servers stay, or a spare"):
            token_offers.check_term(term, 0)


def test_a_batch_price_of_an_api():
    assert token_offers.batch_offer(BOOK, "Llama-3-70B", CASE) is None
    row = BOOK[BOOK["item"] == "api-output"].iloc[:1].assign(sku="Llama-3-70B", confidence="seen")
    sold = pandas.concat([BOOK, row.assign(item="api-batch-input", price=0.05), row.assign(item="api-batch-output", price=0.2)])
    # 2,000 tokens in at 0.05 and 300 out at 0.2 USD a million.
    assert token_offers.batch_offer(sold, "Llama-3-70B", CASE).api_batch_request_usd == pytest.approx(0.00016)
    rumoured = sold.assign(confidence=sold["confidence"].where(~sold["item"].str.startswith("api-batch"), "secondary"))
    assert token_offers.batch_offer(rumoured, "Llama-3-70B", CASE) is None


def test_plans_and_turns_are_numbered_from_the_first(points, plans):
    turns = token_offers.break_even_plans(points, BOOK, "on-demand", 0.01, 20)
    for found in (plans, turns):
        assert len(found) > 1 and list(found.index) == list(range(len(found))) and "index" not in found
        assert not found.duplicated(["gpu", "tensor_parallel"]).any()


def test_each_offer_has_the_month_from_which_servers_pay(points, offers):
    found = token_offers.against_servers(offers, points, BOOK, "on-demand", CASE)
    for row in found.itertuples():
        plan = token_offers.first_turn(points, BOOK, "on-demand", row.api_request_usd, CASE)
        if plan is None:
            assert row.break_even_requests_per_month == math.inf and pandas.isna(row.fleet)
        else:
            assert row.break_even_requests_per_month * row.api_request_usd == pytest.approx(plan.serving_usd_per_month)
            assert row.fleet == token_offers.fleet(plan)
    assert (found.break_even_requests_per_month < math.inf).any()


def test_a_plan_never_pays_where_no_fleet_of_its_kind_does(points, plans, offers):
    dear = token_offers.turned(plans, points, BOOK, "on-demand", 1, CASE).break_even_requests_per_month
    free = token_offers.turned(plans, points, BOOK, "on-demand", 1e-9, CASE).break_even_requests_per_month
    assert (dear < math.inf).all() and (free == math.inf).all()


@pytest.mark.parametrize("servers, text", [(1, "1 server of 8 × H100 SXM 80GB"), (2, "2 servers of 8 × H100 SXM 80GB")])
def test_a_fleet_in_words(servers, text):
    assert token_offers.fleet(pandas.Series(dict(servers=servers, gpus_per_server=8.0, gpu=H100))) == text


def test_a_server_at_a_given_rate_is_cited_as_the_parameter():
    row = token_offers.server(BOOK, H100, 4, "on-demand", 1.5)
    assert (row.usd_per_hour, row.gpus_per_server, row.name) == (1.5, 4, "parameter usd_per_hour")
    assert Case(usd_per_hour=row, rented_gpus=2)(sc.serving_usd_per_month) == 1.5 * 2 * 730


# The bill and its band

def test_the_bill_of_a_plan_has_the_ends_of_its_count(points, plans):
    """The same servers at the same rate, for the counts at both ends; more at the slow end, and never fewer."""
    searched = capacity.plans(points, sc.requests_per_second(20e6, 2), 20).set_index(["gpu", "tensor_parallel"])
    for plan in plans.itertuples():
        found = searched.loc[(plan.gpu, plan.tensor_parallel)]
        for side, paid in (("low", plan.low_serving_usd_per_month), ("high", plan.high_serving_usd_per_month)):
            held = plan.gpus_per_server // plan.tensor_parallel
            servers = found[f"{side}_gpus"] / plan.tensor_parallel / held
            whole = math.ceil(servers) if servers < math.inf else math.inf
            assert paid == pytest.approx(whole * plan.gpus_per_server * plan.usd_per_hour * 730)
        assert plan.low_serving_usd_per_month <= plan.serving_usd_per_month <= plan.high_serving_usd_per_month
    assert (plans.high_serving_usd_per_month > plans.serving_usd_per_month).any()


def test_servers_are_cheaper_only_where_the_slow_end_is(plans):
    best = plans.iloc[0]
    time = CASE.but(gpu=H100, link="NVLink 4", tensor_parallel=4, batch=64, context=sv.mean_context).band(sv.request_seconds)
    cost = capacity.banded(best, "serving_usd_per_month", time)
    assert enough(cost, at_most=cost.high) == "yes" and enough(cost, at_most=cost.low * 0.99) == "no"
    assert enough(cost, at_most=(cost.low + cost.high) / 2) == "too close to call"


def test_a_token_costs_one_over_measured_throughput():
    """The band of a cost is that of full servers' output, turned over."""
    server = CASE.but(gpu=H100, link="NVLink 4", tensor_parallel=4, batch=64, context=sv.mean_context, usd_per_hour=2)
    rate = server.band(sv.output_tokens_per_second)
    for law in (sc.input_usd_per_million, sc.output_usd_per_million, sc.request_usd):
        cost = server.band(law)
        assert cost.high / cost.value == pytest.approx(rate.value / rate.low)
        assert cost.plan / cost.value == pytest.approx(rate.value / rate.plan)


# Changes

def test_what_would_change_a_plan(plans, offers):
    changes = {"as given": {}, "late": dict(answer_limit=0.01), "cached": dict(cached_share=0.9)}
    found = tokens.what_if(changes, CASE, CARDS, [2, 4], BOOK, "on-demand", offers).set_index("case")
    assert found.usd["as given"] == plans.serving_usd_per_month[0] >= found.usd["cached"]
    assert found.servers["as given"] == f"{plans.rented_gpus[0]:.0f} × {plans.gpu[0]}"
    assert found.servers["late"] == "none in time" and found.loc["late", ["usd", "low", "high"]].isna().all()
    assert found.low["as given"] <= found.usd["as given"] <= found.high["as given"] == plans.high_serving_usd_per_month[0]
    assert found.api["as given"] == pytest.approx(20e6 * offers.api_request_usd[0])


# What a dollar buys

@pytest.fixture(scope="module")
def rank():
    cards = capacity.linked_gpus(H100).loc[["RTX 4090 24GB", "L40S 48GB", H100]]
    return tokens.tokens_per_dollar(SMALL, cards, BOOK, "on-demand", 3)


def test_a_dollar_of_card_of_server_and_of_rent(rank):
    """The H100: 2.29 USD an hour is its lowest rent, and eight cost 250,000 USD with their network."""
    one, hour = rank.loc[H100], 3600 * rank.full[H100]
    likely, cheapest = catalogue.assumptions().likely, BOOK[BOOK["item"] == "power"].price.min()
    power = 0.7 * likely["server_power_factor"] * likely["pue"] * cheapest
    server = BOOK[(BOOK["item"] == "server") & (BOOK["gpu"] == H100)]
    each = (server.price / server.gpus_per_server).min()
    assert one.per_owned == pytest.approx(hour / (each / (3 * 8760) + power))
    rents = token_offers.servers(BOOK, "on-demand").query("gpu == @H100")
    assert one.per_rented == pytest.approx(hour / rents.usd_per_hour.min())
    assert one.per_card == pytest.approx(one.alone / BOOK[(BOOK["item"] == "card") & (BOOK["gpu"] == H100)].price.min())
    assert rank.per_card.idxmax() == "RTX 4090 24GB", "one user at home"
    assert rank.per_owned.idxmax() == H100, "a full server"
    assert math.isnan(rank.per_owned["L40S 48GB"]), "no price of a server"


def test_a_book_without_power_says_nothing_of_owned_servers():
    assert tokens.dollars_of(BOOK[BOOK["item"] != "power"], CARDS, "on-demand", 3).owned.isna().all()


# On a page

def test_a_table_takes_the_columns_that_are_there_and_dashes_a_price_that_is_not(offers):
    columns = ["provider", "api_input_usd_per_million", "api_cached_usd_per_million", "needed"]
    shown = tokens.cost_table(offers, columns, "Offers").source
    assert "DeepInfra Turbo" in shown and "0.130" in shown and "pays above" not in shown and "–" in shown
    plans = pandas.DataFrame(dict(needed=[0.5, 2], break_even_requests_per_month=[9.47e6, math.inf]))
    assert tokens.cost_table(plans, plans, "Plans").source.count("never") == 2
    slow = pandas.DataFrame(dict(high_serving_usd_per_month=[5840, math.inf]))
    shown = tokens.cost_table(slow, slow, "Plans").source
    assert ">5,840</td>" in shown and ">–</td>" in shown and "inf" not in shown


def test_figures_of_offers_and_plans_by_hand():
    """Prices of a million at three figures, counts and months in whole numbers, shares as percentages."""
    row = dict.fromkeys(tokens.THREE, 1.23456) | dict.fromkeys(tokens.WHOLE, 1234.56) | dict(
        has_cached=True, needed=0.5, break_even_requests_per_month=9.47e6, paid_utilization=0.25, usd_per_hour=2.345678)
    columns = [name for name in row if name != "has_cached"]
    shown = tokens.cost_table(pandas.DataFrame([row, row | {"has_cached": False}]), columns, "All").source
    first, second = (re.findall(r"<td[^>]*>(.*?)</td>", line) for line in shown.split("<tr>")[2:])
    assert first == ["1.23"] * 7 + ["1,235"] * 6 + ["50 %", "9.47 million", "25 %", "2.35"]
    assert second == [first[0], "–", *first[2:]]
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', shown)
    assert heads == [tokens.LABELS[name] for name in columns]


def test_a_plan_by_hand():
    plan = dict(gpu="X", provider="Y", usd_per_hour=2.5, rented_gpus=16, tensor_parallel=8, replicas=2, batch=64,
                request_seconds=12, paid_utilization=0.25, input_usd_per_million=0.5, output_usd_per_million=1.5, serving_usd_per_month=29_200)
    lines = tokens.plan_table({"this": plan}, 1e6, "One").source.split("<tr>")[1:]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in lines]
    assert cells == [["question", "this"], *map(list, zip(
        [text for text, _ in tokens.PLAN.values()],
        ["X", "Y", "2.50 USD", "16", "8", "2", "64", "12 s", "25 %", "0.500 USD", "1.50 USD", "29.2 USD", "29,200 USD"]))]


def test_what_is_cited_of_offers_and_of_rents():
    offer = dict(source="page", date="2026-06", confidence="seen", row="book: a", note="in FP8")
    noted, plain = tokens.offer_rows(pandas.DataFrame([offer, offer | {"note": ""}]))
    assert (noted.name, plain.name) == ("book: a; in FP8", "book: a")
    assert dict(plain) == {"source": "page", "date": "2026-06", "confidence": "seen"}
    given = tokens.plan_row(pandas.Series(dict(source=math.nan, date="2026", confidence="seen", row="parameter")))
    assert dict(given) == {"date": "2026", "confidence": "seen"} and given.name == "parameter"


# Ways on a page

def test_which_way_is_the_cheapest_in_words_and_drawn():
    bills = pandas.DataFrame([dict(requests_per_month=month, way=way, usd=usd, low=0.9 * usd, high=1.2 * usd, cold=cold, fleet="X",
                                   row="r") for way, cold, usds in (("an API", 0.0, (1, 10, 100)), ("servers", 0.5, (20, 20, 90)))
                              for month, usd in zip((1e6, 1e7, 1e8), usds)])
    spans = tokens.spans(bills.assign(cold=0.0), 0.05)
    # Servers cost 2 times the API at 10 million and 0.9 times at 100: as much at 10 million x 10^(ln 2 / ln(2 / 0.9)).
    assert tokens.cheapest_words(spans) == "an API, from 73.8 million on servers (too close to call)"
    assert tokens.cheapest_words(tokens.spans(bills, 0.05)) == "an API at every volume"
    near = bills.assign(cold=0.0, usd=[1, 10, 100, 20, 11, 105], low=[1, 10, 100, 20, 9, 90], high=[1, 10, 100, 20, 12, 120])
    assert tokens.cheapest_words(tokens.spans(near, 0.05)) == (
        "an API at every volume (too close to call from 10 million to 100 million)")
    chart = tokens.volume_chart(bills, spans, 0.05, "The finding").to_dict()
    lines, *rules = chart["layer"]
    assert len(rules) == 1 and chart["usermeta"]["alt"] == "The finding"
    kinds = {row["way"]: row["kind"] for values in chart["datasets"].values() for row in values if "way" in row}
    assert kinds == {"an API": "in time", "servers": "late"} and lines["encoding"]["strokeDash"]
    shown = tokens.ways_table(bills.assign(high=math.inf), 1e8, "Ways").source
    assert "too close to call" in shown and "never" in shown and "inf" not in shown and "50 %" in shown


def test_prices_that_are_not_firm_are_marked_and_named():
    offers = pandas.DataFrame(dict(provider=["A", "B"], confidence=["seen", "recalled"], firm=[True, False], price=[2.0, 1.0]))
    assert token_offers.rumours(token_offers.doubtful(offers, "price"), offers.head(0)) == ["B (recalled)"]
    assert "price is" in tokens.cost_table(offers, ["provider", "confidence"], "Offers").source
    assert "price is" not in tokens.cost_table(offers.head(1), ["provider", "confidence"], "Offers").source
