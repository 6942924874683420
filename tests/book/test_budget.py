"""What the page on a budget shows."""
import functools
import re

import pytest
from hypothesis import example, given, settings, strategies as st

from book.pages import what_to_buy as budget
from book.pages.what_to_buy import rules_picture
from gpucalc import Case
from gpucalc.decisions import capacity, market, token_offers
from gpucalc.rows import bands, catalogue, price_book
from tests.close import close

ALL = price_book.prices()
BOOK = budget.sure(ALL)
MODELS = ["Llama-3-8B", "Mixtral-8x7B", "Llama-3-70B"]
CASE = Case(weight_format="FP8", cache_element_bytes=1, prompt=1000, output=300, cached_share=0, peak_factor=2, answer_limit=20,
            late_share=0.05, efficiency="achieved", **capacity.ENGINE)


@functools.cache
def points_of(model):
    return budget.served_points(CASE.but(model=model), BOOK, "on-demand")


@functools.cache
def plans_of(model):
    return budget.priced_by(points_of(model), BOOK, "on-demand", CASE.but(model=model))


@pytest.mark.long
@pytest.mark.parametrize("usd, model", [(500, "Llama-3-8B"), (500, "Llama-3-70B"), (5000, "Llama-3-8B"), (5000, "Mixtral-8x7B"),
                                        (22_000, "Llama-3-70B"), (500_000, "Mixtral-8x7B")])
def test_the_load_found_costs_at_most_the_budget_and_the_next_costs_more(model, usd):
    plans, found = plans_of(model), budget.most_requests(plans_of(model), usd)
    if found is None:
        assert plans(0).empty or plans(0)["serving_usd_per_month"].min() > usd
        return
    case = CASE.but(model=model, requests_per_month=found.plan)
    points = points_of(model)
    assert token_offers.month_plans(points, BOOK, "on-demand", case).iloc[0]["serving_usd_per_month"] <= usd
    above = case.but(requests_per_month=found.plan * 10 ** (1 / budget.STEPS))
    assert token_offers.month_plans(points, BOOK, "on-demand", above)["serving_usd_per_month"].min() > usd
    assert found.low <= found.plan <= found.high
    assert found.offer["serving_usd_per_month"] <= usd


@pytest.mark.long
@settings(deadline=None, max_examples=4)
@given(st.floats(500, 500_000), st.floats(1, 20))
@example(8924, 1.03125)
def test_a_larger_budget_never_gives_less(usd, more):
    small, large = (budget.most_requests(plans_of("Llama-3-70B"), each) for each in (usd, usd * more))
    assert small is None or all(large[side] >= small[side] for side in range(3))


@pytest.mark.long
@settings(deadline=None, max_examples=2)
@given(st.floats(1000, 100_000), st.floats(0.3, 1), st.sampled_from(["Lambda", "RunPod", "Hyperstack", "TensorDock"]))
def test_a_cheaper_price_never_gives_less(usd, factor, seller):
    cheaper, sold = BOOK.copy(), (BOOK["item"] == "rent") & (BOOK["provider"] == seller)
    for column in ("price", "usd_per_hour"):
        cheaper[column] = cheaper[column].where(~sold, cheaper[column] * factor)
    case = CASE.but(model="Llama-3-70B")
    found = [budget.most_requests(budget.priced_by(budget.served_points(case, book, "on-demand"), book, "on-demand", case), usd)
             for book in (BOOK, cheaper)]
    assert found[0] is None or found[1].plan >= found[0].plan


@pytest.mark.long
def test_the_table_says_what_binds():
    rows = budget.served(CASE, BOOK, "on-demand", 500, MODELS[::2]).set_index("model")
    assert rows.at["Llama-3-70B", "plan"] == 0 and rows.at["Llama-3-70B", "binds"].startswith("the first server: ")
    assert rows.at["Llama-3-8B", "plan"] > 0 and rows.at["Llama-3-8B", "spent"] <= 500
    bought = rows.loc["Llama-3-70B", "api_requests"] * rows.loc["Llama-3-70B", "sold"]["api_request_usd"]
    assert bought == close(500)


@pytest.mark.long
def test_only_firm_prices_count():
    assert set(BOOK["confidence"]) == {"seen"} and len(BOOK) < len(ALL)
    doubtful = ALL.copy()
    doubtful.loc[doubtful["confidence"] != "seen", ["price", "usd_per_hour"]] = 1e-3
    case, firm = CASE.but(model=MODELS[0]), budget.sure(doubtful)
    found = budget.most_requests(budget.priced_by(budget.served_points(case, firm, "on-demand"), firm, "on-demand", case), 5000)
    assert found.plan == budget.most_requests(plans_of(MODELS[0]), 5000).plan


def test_one_provider_alone():
    alone = budget.sure(ALL, provider="Lambda")
    assert set(alone[alone["item"] == "rent"]["provider"]) == {"Lambda"} and (alone["item"] != "rent").any()
    found = budget.served(CASE, alone, "on-demand", 20_000, MODELS[-1:]).iloc[0]
    assert found.provider == "Lambda"


def test_a_book_without_what_is_asked_gives_none():
    none = BOOK[~BOOK["item"].isin(["rent", "server", "api-input", "api-output", "api-cached-input"])]
    row = budget.served(CASE, none, "on-demand", 5000, MODELS[:1]).iloc[0]
    assert row.plan == 0 and row.sold is None and row.binds == "no GPU of the book holds the model"
    assert budget.trained(none, 5000, 0.4, "mixed-adamw") is None and budget.owned(none, 5000, 12) is None
    tried = budget.tunings("Llama-3-8B", none, "on-demand", 5000, 2048, 16, 1)
    assert tried.empty and budget.best_tuning(tried) is None


def test_the_run_costs_the_budget():
    run = budget.trained(BOOK, 5000, 0.4, "mixed-adamw-fp32-grads")
    params, tokens, rent = run["params"].value, run["tokens"].value, run["rent"]
    assert tokens / params == close(20)
    hours = 6 * params * tokens / (catalogue.gpu(rent["gpu"]).peak_flops * 0.4) / 3600
    assert hours * rent["usd_per_hour"] == close(5000) and hours == close(run["gpu_hours"])
    assert run["params"].low < run["params"].plan < run["params"].high and rent["gpus_per_server"] >= market.SERVER


def test_whether_it_fits():
    assert [budget.judged(low, high, 10) for low, high in ((8, 10), (10.5, 12), (9, 11))] == ["fits", "does not fit", bands.CLOSE]


@functools.cache
def tried_on(model):
    return budget.tunings(model, BOOK, "on-demand", 5000, 2048, 16, 1)


@pytest.mark.parametrize("model", MODELS)
def test_the_tuning_found_fits_and_no_other_that_fits_gives_more(model):
    tried = tried_on(model)
    best = budget.best_tuning(tried)
    assert best.fits == budget.FITS and best.tokens == tried.query("fits == 'fits'")["tokens"].max()
    assert (tried["low_tokens"] <= tried["tokens"]).all() and (tried["tokens"] <= tried["high_tokens"]).all()
    assert best.gpu_hours == close(5000 / best.usd_per_hour) and best.need <= best.memory


def test_a_four_bit_base_fits_where_a_wide_one_does_not_and_takes_longer():
    each = tried_on("Llama-3-8B").query("gpu == 'RTX 4090 24GB' and micro_batch == 1 and recompute == 2").set_index("recipe")
    assert each.at["qlora", "need"] < each.at["lora", "need"] and each.at["qlora", "tokens"] < each.at["lora", "tokens"]
    # 70 billion parameters of half a byte take some 40 GB: no card of 24 GB holds them, one of 80 GB does.
    big = tried_on("Llama-3-70B").query("recipe == 'qlora' and recompute == 2 and micro_batch == 1").set_index("gpu")
    assert big.at["RTX 4090 24GB", "fits"] == budget.SMALL and big.at["H100 SXM 80GB", "fits"] == budget.FITS


def test_less_than_the_least_billed_tunes_nothing():
    assert budget.tunings("Llama-3-8B", BOOK, "on-demand", 0.1, 2048, 16, 1)["tokens"].max() == 0


def test_the_picture_of_the_rules_draws_the_formulas():
    """Four servers of 1 USD a month for 4.4 USD; half the money buys half from an API and a model 1 / sqrt(2) as large."""
    shown = rules_picture(4.4, 88)
    api, servers, training = ([tuple(map(float, point.split(","))) for point in line.split(" L")]
                              for line in re.findall(r'd="M([^"]+)" fill="none"[^>]*stroke-width="3"', shown._repr_html_()))
    foot, top = 116, 26
    share = [(foot - y) / (foot - top) for _, y in api], [(foot - y) / (foot - top) for _, y in training]
    assert share[0][44] == pytest.approx(0.5, abs=1e-3) and share[1][44] == pytest.approx(0.5 ** 0.5, abs=1e-3)
    assert len({y for _, y in servers}) == 5 and api[-1][1] == servers[-1][1] == training[-1][1] == top


def test_a_server_that_nobody_sells_any_more_is_not_bought():
    """The newest book has an H100 server of 300,000 USD priced in 2023, and one of 400,000 of 2026."""
    book = price_book.prices()
    found = budget.owned(budget.sure(book), 500_000, 12)
    assert found["server"].date >= "2024-11" and found["servers"] == int(500_000 * 12 // found["server"].price)
