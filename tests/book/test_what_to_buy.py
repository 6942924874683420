"""What a size needs and what money buys: against hand calculations, published deployments, and books that lack prices."""
import math
import re

import pandas as pd
import pytest

from book.components import memory
from book.pages import what_to_buy
from gpucalc import Case
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS
from gpucalc.laws.arithmetic_intensity import ridge_point
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.bands import CLOSE

FIVE = "gpu,usd_per_hour\nH100,2.95\nA100,1.40\nH200,3.50\nL4,0.70\nL40S,1.10\n"


@pytest.fixture(scope="module")
def found(book):
    return what_to_buy.tiers(book, (2e3, 1e4, 5e4, 25e4, 2e6))


@pytest.fixture
def five(tmp_path):
    (tmp_path / "five.csv").write_text(FIVE)
    return str(tmp_path / "five.csv")


def offer(**changes):
    """A book's offers with one card of 1,000 USD, and what differs."""
    usual = dict(row="a", item="card", gpu="A", provider="shop", term="purchase", price=1000.0, date="2026", confidence="seen",
                 firm=True, sold_gpus=1.0, machine_gpus=8.0, whole=False, kind="workstation", unsold=0.0, recalled=0.0, module=0.0,
                 forbidden=0.0, gpu_memory_bytes=24e9, gpu_bandwidth=1e12, gpu_peak_flops=1e14, gpu_tdp_watts=300.0)
    return usual | changes


# Sizes

def test_each_size_has_the_real_model_nearest_to_it():
    assert memory.nearest_models((8e9, 70e9, 671e9, 1e12)) == {
        8e9: "Llama-3-8B", 70e9: "Llama-3-70B", 671e9: "DeepSeek-V3", 1e12: "Kimi-K2"}


def test_weights_by_hand():
    found = memory.weights(["Llama-3-70B"]).loc["Llama-3-70B"]
    assert found["BF16"] == 2 * 70553706496
    assert found["INT4-g128"] == pytest.approx((70553706496 - 2 * 128256 * 8192) * (4 + 20 / 128) / 8 + 2 * 2 * 128256 * 8192, rel=1e-3)


def test_gpus_to_serve_by_hand():
    """Llama-3-70B in BF16: 141.1 GB, and 8 x 8,192 tokens of 327,680 B, over 0.9 of what cards of 80 GB report."""
    need = 141.107e9 + 8 * 8192 * 2 * 80 * 8 * 128 * 2
    room = 85520809984 * (1 - DEFAULTS["headroom"].value)
    found = memory.to_serve(["Llama-3-70B"], "BF16", [80]).loc["Llama-3-70B", 80]
    assert found.plan == math.ceil(need / room) == 3


@pytest.mark.parametrize("model, weight_format, size, least, most", [
    # Meta, Llama 3.1 model card and blog of 2024-07-23: 405B in FP8 on one node of 8 H100, in BF16 on two.
    ("Llama-3.1-405B", "FP8", 80, 5, 8), ("Llama-3.1-405B", "BF16", 80, 9, 16),
    # deepseek-ai/DeepSeek-V3 README: in FP8 on one node of 8 H200, and on two of H100.
    ("DeepSeek-V3", "FP8", 141, 5, 8), ("DeepSeek-V3", "FP8", 80, 9, 16),
    # AMD, launch of the MI300X: Llama-2-70B in 16 bits on one.
    ("Llama-2-70B", "BF16", 192, 1, 1)])
def test_published_deployments_hold_the_model(model, weight_format, size, least, most):
    found = memory.to_serve([model], weight_format, [size]).iloc[0, 0]
    assert least <= found.low <= found.plan <= found.high <= most


def test_qlora_tunes_a_model_of_65_billion_on_one_card_of_48_gb():
    """QLoRA (arXiv 2305.14314, abstract); Llama-2-70B is 69 billion, so a little larger."""
    card = float(catalogue.gpus().at["RTX A6000 48GB", "memory_bytes"])
    assert memory.fewest("Llama-2-70B", "QLoRA", [card], sequence=512)[0].low == 1


def test_more_memory_never_takes_more_gpus_and_a_larger_model_never_fewer():
    ladder = what_to_buy.chosen(["Llama-3-8B", "Llama-3-70B", "Llama-3.1-405B"])
    for way in memory.TRAININGS:
        plans = memory.to_train(ladder, way).map(lambda gpus: gpus.plan)
        assert (plans.diff(axis=1).iloc[:, 1:] <= 0).all(axis=None) and (plans.diff().iloc[1:] >= 0).all(axis=None)


def test_training_state_by_hand():
    """Eight billion parameters in BF16 with two moments and a copy in FP32 and gradients in FP32: 18 bytes each."""
    state = 18 * 8030261248
    assert math.ceil(state / 85520809984) <= memory.fewest("Llama-3-8B", "train from scratch", [85520809984.0])[0].plan <= 4


def test_hours_of_pretraining_are_six_flop_a_parameter_and_token():
    found = memory.pretraining(["Llama-3-8B"], "H100 SXM 80GB", 20).loc["Llama-3-8B"]
    case = Case(model="Llama-3-8B")
    flops = 6 * case("active_params") * 20 * 8030261248
    assert 0.15 < flops / (found["plan"] * 3600 * 989e12) < 0.6 and found["low"] < found["plan"] < found["high"]


def test_a_count_reads_with_its_range_and_sorts_by_its_plan():
    assert what_to_buy.Count(memory.Gpus(2, 2, 2)).said == "2" and what_to_buy.Count(memory.Gpus(2, 2, 4)).said == "2 (2 to 4)"
    over = what_to_buy.Count(memory.Gpus(3000, math.inf, math.inf))
    assert over.said == "over 4,096" and float(over) == 4097


# What money buys

def test_cards_fill_one_machine_and_servers_are_as_many_as_the_money_buys():
    table = pd.DataFrame([offer(), offer(row="b", gpu="B", item="server", price=8000.0, sold_gpus=8.0, whole=True)])
    some, many = (what_to_buy.bought(table, usd) for usd in (2999, 50000))
    assert list(some["gpus"]) == [2, 0] and list(many["gpus"]) == [8, 48]
    assert list(many["memory"]) == [8 * 24e9, 8 * 24e9] and list(many["bandwidth"]) == [8e12, 48e12]
    assert list(many["spent"]) == [8000, 48000]


def test_a_choice_within_the_error_of_prices_is_too_close_to_call():
    one = offer()
    for price, close in ((1100.0, True), (4000.0, False)):
        table = pd.DataFrame([one, offer(row="b", gpu="B", price=price)])
        choice = what_to_buy.best(table, 5000, "memory")
        assert choice.row["gpu"] == "A" and choice.other["gpu"] == "B" and choice.close == close


@pytest.mark.parametrize("rule, reason", [("unsold", "hardly sold"), ("recalled", "remembered"), ("module", "board"),
                                          ("forbidden", "license")])
def test_what_rules_an_offer_out_says_so(rule, reason):
    table = pd.DataFrame([offer(row="b", gpu="B", price=100.0, **{rule: 1.0}), offer()])
    assert what_to_buy.best(table, 5000, "memory", what_to_buy.DATA_CENTER).row["gpu"] == "A"
    assert reason in what_to_buy.why_not(table, 5000, what_to_buy.DATA_CENTER)[0] and what_to_buy.why_not(table, 5000)[1] == ""
    assert what_to_buy.why_not(table, 500)[1] == "the budget"


def test_the_newest_price_of_a_card_counts(book):
    found = what_to_buy.offers(book).set_index(["item", "gpu"])
    cards = book[(book["item"] == "card") & (book["gpu"] == "RTX 5090 32GB")]
    assert found.at[("card", "RTX 5090 32GB"), "date"] == cards["date"].max()
    assert not found.index.duplicated().any()


def test_the_prices_in_the_tiers_are_those_of_the_book(book, found):
    for tier in found:
        if tier.desk.row:
            row = tier.desk.row
            assert row["price"] == book.at[row["row"], "price"] and row["spent"] <= tier.budget
            card = catalogue.gpu(row["gpu"])
            assert row["bandwidth"] == row["gpus"] * card.bandwidth and row["memory"] == row["joined"] * card.memory_bytes
            assert not tier.desk.other or row[tier.goal] >= tier.desk.other[tier.goal]


def test_more_money_never_buys_less(found):
    for goal in what_to_buy.GOALS:
        most = [tier.desk.row[goal] for tier in found if tier.goal == goal and tier.desk.row]
        assert most == sorted(most)


def test_no_card_that_a_license_forbids_is_bought_for_a_data_center(found):
    assert all(tier.center.row is None or tier.center.row["kind"] != "consumer" for tier in found)


def test_power_by_hand(book):
    row = dict(gpu_tdp_watts=700.0, gpus=8)
    prices = book[(book["item"] == "power") & (book["confidence"] == "seen")]["price"]
    site = catalogue.assumptions()["likely"]
    by_hand = 8 * 0.7 * site["server_power_factor"] * site["pue"] * prices.median() * 730
    assert what_to_buy.power_usd(book, row, 730) == pytest.approx(by_hand)


def test_the_months_until_rent_costs_as_much(book, found):
    tier = next(each for each in found if each.months == each.months)
    rate = what_to_buy.rates(book)[tier.desk.row["gpu"]]
    assert tier.months * 730 * rate * tier.desk.row["gpus"] == pytest.approx(tier.desk.row["spent"])


# What runs

def test_decode_alone_is_near_the_bandwidth_over_the_bytes_read():
    found = what_to_buy.alone("Llama-3-8B", "H100 SXM 80GB", 1, "BF16", 4096)
    bound = 3.35e12 / (2 * (8030261248 - 128256 * 4096) + 4096 * 131072)
    assert found["low"] < found["plan"] < found["high"] and 0.4 * bound < found["plan"] < bound


def test_a_model_that_does_not_fit_is_none():
    assert what_to_buy.alone("Llama-3-70B", "RTX 4090 24GB", 1, "BF16", 4096) is None
    assert what_to_buy.largest("RTX 4090 24GB", 1, ["Llama-3-8B", "Llama-3-70B"], "BF16")["model"] == "Llama-3-8B"
    assert what_to_buy.tuned([("RTX 4090 24GB", 1)], ["Llama-3-70B"], "tune all weights") == [None]


def test_token_costs_are_the_hour_over_the_tokens(book):
    found = what_to_buy.token_costs(["H100 SXM 80GB"], "Llama-3-8B", "BF16", 4096, book, 3).iloc[0]
    assert found["rented"] == pytest.approx(1e6 * what_to_buy.rates(book)["H100 SXM 80GB"] / (3600 * found["full"]))
    assert found["low_rented"] < found["rented"] < found["high_rented"] and found["low_alone"] < found["alone"] < found["high_alone"]


# Features

def test_bandwidth_moves_decode_and_flops_move_prefill():
    found = what_to_buy.moved("Llama-3-70B", "H100 SXM 80GB", "BF16", 64, 4096, "mixed-adamw-fp32-grads", 8).drop("as it is")
    assert found["decode"].idxmax() == found["full"].idxmax() == "memory bandwidth" and found["places"].idxmax() == "memory"
    assert found["prefill"].idxmax() == "FLOP/s in every format" and (found.to_numpy() >= 1 - 1e-9).all()
    assert (found.drop(columns="places").to_numpy() <= 2).all()
    assert found.at["bandwidth of the network", "step"] > 1


def test_doubled_flops_double_the_ridge_point():
    card = what_to_buy.variants("H100 SXM 80GB")
    ridges = {name: ridge_point(float(row["peak_flops"]), float(row["bandwidth"])) for name, row in card.iterrows()}
    assert ridges["FLOP/s in every format"] == 2 * ridges["as it is"] == 4 * ridges["memory bandwidth"]


# Pages

def test_ratios_are_those_of_the_rows(book):
    text = what_to_buy.ratios_table([("H100 SXM 80GB", "A100 SXM 80GB")], book).source
    assert f'data-value="{3.35 / 2.039:.12g}"' in text and f'data-value="{989 / 312:.12g}"' in text


def test_the_headline_names_what_is_bought_and_what_is_close(found):
    said = what_to_buy.told(found, 5e4)
    assert all(what_to_buy.taken(tier.desk.row) in said for tier in found if tier.budget == 5e4)
    assert (CLOSE in said) == any(tier.desk.close for tier in found if tier.budget == 5e4)


def test_a_book_of_five_rents_has_nothing_to_buy_and_says_so(five):
    alone = price_book.prices(five, True)
    found = what_to_buy.tiers(alone, [5e4])
    assert what_to_buy.told(found, 5e4) == "" and what_to_buy.tiers_table(found, alone) is None and what_to_buy.every_offer(alone, [5e4]) is None
    assert what_to_buy.runs_table(found, ["Llama-3-8B"], 8192, 2) is None and what_to_buy.first_server(alone) is None
    assert "GPU-hours" in what_to_buy.rented_table(alone, [5e4]).source
    assert "–" in what_to_buy.sides_table(what_to_buy.CARDS[:2], "Llama-3-8B", "BF16", 4096, alone, 3).source


def test_with_the_newest_book_behind_them_five_prices_say_what_is_not_theirs(five):
    laid = price_book.prices(five)
    assert "in part not yours" in what_to_buy.tiers_table(what_to_buy.tiers(laid, [5e4]), laid).source


def test_each_feature_names_a_formula_and_why():
    assert [*what_to_buy.COUNTED][:-1] == [*what_to_buy.FEATURES] and all(law in LAWS for _, law in what_to_buy.COUNTED.values())


def test_one_model_by_format_by_hand():
    text = what_to_buy.formats_table("Llama-3-70B", ["FP32", "BF16", "INT4-g128"], 8192, 8, 2, [80]).source
    assert "bytes a parameter" in text and f'data-value="{4 * 70553706496:.12g}"' in text and "cache in FP8" in text


def test_sides_have_the_price_of_a_gigabyte_and_of_its_rate(book):
    shown = what_to_buy.sides_table(what_to_buy.CARDS[:2], "Llama-3-8B", "BF16", 4096, book, 3).source
    frame = what_to_buy.token_costs(list(what_to_buy.CARDS[:2]), "Llama-3-8B", "BF16", 4096, book, 3)
    held = [float(value) for value in re.findall(r'data-value=([^>]+)>', shown)]
    for name in what_to_buy.CARDS[:2]:
        card, price = catalogue.gpu(name), frame.loc[name, "price"]
        assert price != price or all(any(math.isclose(wanted, each, rel_tol=1e-6) for each in held)
                                     for wanted in (price, 1e9 * price / card.memory_bytes, 1e9 * price / card.bandwidth)), name
    assert frame["price"].notna().any()
