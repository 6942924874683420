"""The bill against hand calculations: the arithmetic stands in each test, written out without the laws."""
import math

import pytest

from gpucalc import training_cost
from gpucalc import total_cost as tc
from gpucalc.core.evaluate import Case
from gpucalc.decisions import answer_words, decide
from gpucalc.decisions.market import forbidden
from gpucalc.rows import catalogue
from gpucalc.rows.project_books import price_books, project_book
from gpucalc.rows.rents import egress_prices
from tests.close import close

AWS_TIERS = [(0, 100e9, 0), (100e9, 10e12, 0.09), (10e12, 50e12, 0.085), (50e12, 150e12, 0.07), (150e12, math.inf, 0.05)]


def egress(sent, tiers=AWS_TIERS, months=1):
    return sum(tc.egress_tier_usd(sent, *tier, months) for tier in tiers)


def test_egress_is_paid_tier_by_tier():
    # 500 GB with the first 100 GB free: 400 * 0.09 = 36 USD, not 45.
    assert egress(500e9) == close(36)
    assert egress(100e9) == 0
    # 20 pulls of 500 GB are 10 TB: 9900 * 0.09 = 891 USD, not 900; 12 TB: 891 + 2000 * 0.085 = 1061.
    assert egress(20 * 500e9) == close(891)
    assert egress(12e12) == close(1061)
    # 200 TB: 891 + 40000 * 0.085 + 100000 * 0.07 + 50000 * 0.05 = 13791.
    assert egress(200e12) == close(13_791)


def test_tiers_start_again_every_month():
    # 250 GB in each of two months: 2 * 150 * 0.09 = 27 USD; in five months of 100 GB nothing.
    assert egress(500e9, months=2) == close(27)
    assert egress(500e9, months=5) == 0
    # 40 TB: 891 + 30000 * 0.085 = 3441 at once; 2 * (891 + 10000 * 0.085) = 3482 in two months.
    assert egress(40e12) == close(3441)
    assert egress(40e12, months=2) == close(3482)


def test_a_billion_tokens_of_text_are_four_gigabytes():
    # Llama 3 (arXiv 2407.21783, 3.2): 3.94 characters a token on English; so 3.94 GB, where the article has 500.
    assert tc.text_bytes(1e9) == close(3.94e9)
    assert 500e9 / tc.text_bytes(1e9) == pytest.approx(127, abs=0.1)
    assert tc.text_bytes(2e9, 5) == close(1e10)


def test_data_is_pulled_once_or_on_every_run():
    assert tc.pulled_bytes(500e9, 20) == close(10e12)
    assert tc.pulled_bytes(500e9, 20, cached=1) == 500e9


def test_one_price_after_a_free_part():
    # (10 TB - 3 * 100 GB) at 0.09: 873 USD; within the free part nothing.
    assert tc.egress_usd(10e12, 0.09, 100e9, 3) == close(873)
    assert tc.egress_usd(50e9, 0.09, 100e9) == 0
    assert tc.egress_usd(500e9, 0.09) == close(45)


def test_storage_and_the_copy():
    # 1.2 TB at 0.023 USD/GB-month for two months: 1200 * 0.023 * 2 = 55.20; a copy of 500 GB at 0.20: 500 * 0.2 * 2 = 200.
    assert tc.storage_usd(1.2e12, 0.023, 2) == close(55.2)
    assert tc.copy_usd(500e9, 0.2, 2, cached=1) == close(200)
    assert tc.copy_usd(500e9, 0.2, 2) == 0


def test_storage_of_ones_own():
    # 480 TB for 0.036 USD/GB, two copies over five years: 0.072 / 60 = 0.0012 USD per GB and month.
    assert tc.owned_usd_per_gb_month(0.036, 5) == close(0.0012)
    assert tc.owned_usd_per_gb_month(0.036, 3, copies=3) == close(0.003)


def test_the_mark_up_and_the_total():
    assert tc.managed_usd(4000, 0.15) == close(600)
    assert tc.total_usd(4000, 55.2, 200, 36, 600) == close(4891.2)


def test_the_data_a_run_may_pull():
    # 100 hours at 6.88 instead of 2.29 save 459 USD, which is 5,100 GB at 0.09.
    assert tc.break_even_corpus_bytes(100, 6.88, 2.29, 0.09) == close(5.1e12)
    assert tc.break_even_corpus_bytes(100, 2.29, 6.88, 0.09) == 0
    assert tc.break_even_corpus_bytes(100, 6.88, 2.29, 0) == math.inf


def test_the_run_from_which_moving_pays():
    # 1,910 USD of egress and 400 of storage over 10 hours at 4 USD less: 2310 / 40 = 57.75 runs.
    assert tc.break_even_runs(1910, 400, 10, 6.5, 2.5) == close(57.75)
    assert tc.break_even_runs(1910, 400, 10, 2.5, 2.5) == math.inf
    assert tc.break_even_runs(1910, 400, 10, 2.5, 6.5) == math.inf


def two_bills(counted, pulls, rate, price=0.09):
    hours = 6 * 70e9 * 1e9 * 3 / 989e12 / 3600
    egress_part = tc.egress_usd(tc.pulled_bytes(500e9, pulls), price)
    bare = tc.total_usd(training_cost.compute_usd(hours, 2.80, counted), 28, 0, egress_part, 0)
    computed = training_cost.compute_usd(hours, rate, counted)
    return bare, tc.total_usd(computed, 28, 0, 0, tc.managed_usd(computed, 0.3))


@pytest.mark.parametrize("counted, pulls, rate, bare, service", [
    # 353.9 * 2.80 = 990.9; + 28 + 45 or 900. 990.9 * 1.3 + 28 = 1316.2: what the article prints.
    (1, 1, 2.80, 1064, 1316), (1, 20, 2.80, 1919, 1316),
    # Twenty runs of compute: 19,818 + 28 + 45 or 900; 19,818 * 1.3 + 28 = 25,791.
    (20, 1, 2.80, 19_891, 25_791), (20, 20, 2.80, 20_746, 25_791),
    # The mark-up on AWS's own 98.32 / 8 = 12.29: 353.9 * 12.29 * 1.3 + 28 = 5,682, and twenty times that.
    (1, 1, 12.29, 1064, 5682), (1, 20, 12.29, 1919, 5682), (20, 1, 12.29, 19_891, 113_111), (20, 20, 12.29, 20_746, 113_111)])
def test_the_service_wins_only_where_compute_counts_once_and_egress_twenty_times(counted, pulls, rate, bare, service):
    assert two_bills(counted, pulls, rate) == (pytest.approx(bare, abs=0.6), pytest.approx(service, abs=0.6))
    assert (bare > service) == ((counted, pulls, rate) == (1, 20, 2.80))


def test_the_verdict_holds_with_the_real_tiers():
    # Egress 891 without a cache, 36 with one: 20,737 and 19,882 against 25,791.
    hours = Case(training_flops=1.26e21, peak_flops=989e12, mfu=1)(training_cost.planned_gpu_hours)
    compute = training_cost.compute_usd(hours, 2.80, 20)
    managed = tc.total_usd(compute, 28, 0, 0, tc.managed_usd(compute, 0.3))
    fresh, cached = (tc.total_usd(compute, 28, 0, egress(tc.pulled_bytes(500e9, 20, kept)), 0) for kept in (0, 1))
    assert (round(cached), round(fresh), round(managed)) == (19_882, 20_737, 25_791)


def test_when_the_winner_would_flip():
    # A run saves 353.9 * 0.84 = 297.27 USD of mark-up and pays 45 of egress: 6.6 pulls, or 297.27 / 0.09 = 3,303 GB.
    corpus = tc.break_even_corpus_bytes(353.893, 3.64, 2.80, 0.09)
    assert corpus == pytest.approx(353.893 * 0.84 / 0.09 * 1e9, rel=1e-9) == pytest.approx(3.303e12, rel=1e-3)
    for runs in (1, 20):
        below, above = (tc.egress_usd(tc.pulled_bytes(corpus * factor, runs), 0.09) for factor in (0.99, 1.01))
        assert below < runs * 353.893 * 2.80 * 0.3 < above


def test_a_tier_of_storage():
    # 70 TB in a tier from 50 to 500 TB at 0.022: 20,000 GB * 0.022 * 3 months.
    assert tc.storage_tier_usd(70e12, 50e12, 500e12, 0.022, 3) == close(1320)
    assert tc.storage_tier_usd(40e12, 50e12, 500e12, 0.022, 3) == 0
    assert tc.storage_tier_usd(900e12, 50e12, 500e12, 0.022, 1) == close(9900)


def test_fine_print_covers_every_kind_and_names_real_cards():
    fine, cards = catalogue.fine_print(), catalogue.gpus()
    assert set(fine["kind"]) == {"migration", "license", "ecc", "warranty", "availability"}
    assert set(fine["applies_to"]) <= {"", *cards["kind"]}
    assert set(fine[fine["kind"] == "migration"]["verdict"]) == {"moves freely", "at a price", "rewrite"}
    assert fine["source"].str.len().min() > 0 and fine["fact"].str.endswith(".").all()


def test_the_license_rules_out_consumer_cards_and_no_other():
    cards = catalogue.gpus()
    ruled_out = cards[forbidden(cards)]
    assert {"RTX 3090 24GB", "RTX 4090 24GB", "RTX 5090 32GB"} <= set(ruled_out.index)
    assert not any(name.startswith(("H100", "A100", "L40", "RTX A6000")) for name in ruled_out.index)
    assert set(ruled_out["kind"]) == {"consumer"} and set(ruled_out["vendor"]) == {"NVIDIA"}
    assert not forbidden(cards.assign(vendor="AMD")).any()


def test_answers_that_leave_in_a_month_are_little_and_are_priced_by_their_seller():
    # 50 requests a second in a busiest hour with a tenth of the day's: 50 * 3600 / 0.1 * 730 / 24 = 54.75 million a month;
    # of 300 tokens with 4 bytes each 65.7 GB. By tiers that begin at 0.12 with nothing free: 65.7 * 0.12 = 7.884 USD.
    case = Case(job="serve", model="Llama-3-8B", requests_per_second=50, busiest_hour_share=0.1, output=300, token_text_bytes=4)
    assert case(tc.answer_bytes) == close(65.7e9)
    facts = answer_words._of_egress(case, "GCP", egress_prices(project_book(price_books()[-1])))
    assert facts["egress_usd"] == facts["egress_most"] == close(7.884) and facts["egress_recalled"] == 1
    # Of AWS the first 100 GB are free: 65.7 GB cost nothing, twice as many (131.4 - 100) * 0.09 = 2.826 USD.
    prices = egress_prices(project_book(price_books()[-1]))
    assert answer_words._of_egress(case, "AWS", prices)["egress_usd"] == 0
    assert answer_words._of_egress(case.but(output=600), "AWS", prices)["egress_usd"] == close(2.826)
    unknown = answer_words._of_egress(case, "nobody", prices)
    assert "egress_usd" not in unknown and unknown["egress_most"] == close(7.884), "the bill says that the book has no price"


def test_the_bill_of_a_decision_says_what_sending_the_answers_costs():
    case = {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 5, "token_limit": 0.05}
    notes = {provider: next(card["note"] for card in decide.as_data(case | {"provider": provider})["cards"] if card["name"] == "cost")
             for provider in ("GCP", "Lambda", "RunPod")}
    assert "by a price of 2025 that was recalled" in notes["GCP"]
    assert notes["Lambda"].endswith("of answers a month costs nothing")
    assert "the book has no price of RunPod for sending" in notes["RunPod"]
