"""The bank of interview questions: how many of each kind, their parts, and figures of answers calculated by hand."""
import re

import pytest

from book.pages import interview
from gpucalc.rows import price_book
from tests.each import of_each

LEAST = {"design": 12, "debug": 19, "trade_offs": 15, "money": 13}
RECENT = {"H200 SXM 141GB", "B200 SXM 180GB", "B300 SXM 288GB", "GB200 NVL72 186GB", "GB300 NVL72 288GB", "MI355X 288GB"}
each_of_ours = of_each({each.name: each for kind in LEAST for each in interview.questions(kind).values()})


@pytest.fixture(scope="module")
def said():
    """What a question says today, without marks, by name and part."""
    book = price_book.prices()
    texts = {each.name: interview.said(each, book) for each in interview.questions().values()}
    return lambda name, part="answer": re.sub("<[^>]+>", "", texts[name][part])


@pytest.mark.parametrize("kind, least", LEAST.items())
def test_each_kind_has_its_questions(kind, least):
    assert len(interview.questions(kind)) >= least


def test_half_of_the_settings_are_on_cards_of_the_last_two_years():
    cards = [case.rows["gpu"].name for each in interview.questions().values() for case in each.cases.values() if "gpu" in case.rows]
    assert len(interview.questions()) >= 102 and sum(card in RECENT for card in cards) * 2 >= len(cards)


def test_titles_and_questions_differ():
    for part in ("title", "ask"):
        texts = [getattr(each, part) for each in interview.questions().values()]
        assert len(set(texts)) == len(texts), part


def test_designs_take_their_part_of_a_mock():
    assert {each.minutes for each in interview.questions("design").values()} == {30}


@each_of_ours
def test_the_page_of_its_topic_is_one_to_read(each):
    assert each.topic in each.lessons


@each_of_ours
def test_an_answer_has_figures(each):
    assert len(re.findall(r"\{\{.*?\}\}", each.answer)) >= 3


# What would carry a unit: a figure typed and not computed. Names such as "batch 1", "FP8" or "16 bits" are none.
TYPED = re.compile(r"\d[\d,.]*\s*(?:%|percent|[kMGTP]i?B\b|B/s|ms\b|µs|seconds|minutes|hours|days|USD|\$|FLOP|W\b|TB)")


@each_of_ours
def test_no_figure_with_a_unit_is_typed(each):
    texts = [each.title, each.ask, each.answer, *each.looks_for,
             *(part for pair in (*each.follow_ups, *each.wrong, *each.stages) for part in pair)]
    for text in texts:
        plain = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", text, flags=re.DOTALL)
        assert TYPED.findall(plain) == [], each.name


def test_what_is_to_debug_has_evidence_with_its_source():
    for each in interview.questions("debug").values():
        assert each.evidence is not None, each.name
        assert each.evidence.made == each.evidence.source.lower().startswith(("composed", "lines from")), each.name
        assert "https://" in each.evidence.source or each.evidence.made, each.name


# By hand: what an answer has to contain.
HAND = [
    # 2 (keys and values) x 80 layers x 8 KV heads x 128 values x 2 bytes; 61 layers x (512 + 64) values x 2 bytes.
    ("gqa_or_mla", 2 * 80 * 8 * 128 * 2 / 1e3, "328 kB"), ("gqa_or_mla", 61 * (512 + 64) * 2 / 1e3, "70.3 kB"),
    # An eighth of 2 bytes x 8.03 billion over a port: between two, a ring sends half of it twice.
    ("nccl_over_sockets", 2 * 8.030261248e9 / 8 / 50e9 * 1e3, "40.2 ms"),
    # 80 less 1.8 / 2.5 of 60; 36.8 x 1.8 + 0.72 x (80 - 36.8) / 2 x 2.5.
    ("reserve_how_much", 80 - 1.8 / 2.5 * 60, "36.8 GPUs"), ("reserve_how_much", 36.8 * 1.8 + .72 * 43.2 / 2 * 2.5, "105 USD"),
    # 182 million seconds over 16,384 GPUs; 16,384 x 2.5 USD x 24 h.
    ("failures_16k", 182e6 / 16384 / 3600, "3.09 hours"), ("failures_16k", 16384 * 2.5 * 24, "983,000 USD"),
    # 6 x 8.03 billion x 100 billion; over 45 % of 312 TFLOP/s.
    ("cheap_and_slow", 6 * 8.030261248 * 1e20 / 1e21, "4.82e21 FLOP"),
    ("cheap_and_slow", 6 * 8.030261248e9 * 1e11 / (312e12 * .45 * 3600), "9,530 GPU-hours"),
    # 4 sequences x 8,192 tokens x 128,256 words x 4 bytes.
    ("oom_longer_batch", 4 * 8192 * 128256 * 4 / 2**30, "15.7 GiB"),
    # 2 bytes of weights and 12 of master weights and moments for each of 70.55 billion.
    ("checkpoint_stalls", 14 * 70.553706496, "988 GB"),
    # 1,650 tokens of 327,680 bytes.
    ("serve_70b_slo", 1650 * 327680 / 1e6, "541 MB"),
    # 50 TB at 0.09 USD a GB, ten times.
    ("egress_bill", 50e3 * .09 * 10, "45,000 USD"),
    # 16 bits of scale a block of 16 values: 4.5 bits; 72 times 2.5 PFLOP/s; 640 tiles over five waves of 148.
    ("fp4_gain", 4.5 / 8, "0.563 B"), ("rack_numbers", 72 * 2.5, "180 PFLOP/s"), ("wave_tiles", 32 * 20 / (5 * 148) * 100, "86.5 %"),
    # 2 x 128 x 256 FLOP over 2 x (128 + 256) bytes; 2.25 PFLOP/s over that.
    ("tma_tile", 128 * 256 / 384, "85.3 FLOP/B"), ("tma_tile", 2250 / (128 * 256 / 384), "26.4 TB/s"),
    # 18 full layers x 2 x 8 heads x 64 values x 2 bytes x 131,072 tokens, and 18 windows of 128.
    ("window_cache", 18 * 2048 * (131072 + 128) / 1e9, "4.84 GB"),
    # Five rounds of two products with the long side and one square: 5 (4 x 5,120 + 2 x 5,120^2 / 25,600) FLOP a parameter.
    ("muon_state", 5 * (4 * 5120 + 2 * 5120 ** 2 / 25600), "112,640 FLOP"),
    # 20 turns from 20,000 by 3,000, and 500 in the mean; 94 layers x 2 x 4 heads x 128 values of a byte.
    ("cache_tiers", 94 * 2 * 4 * 128 / 1e3, "96.3 kB"),
    # Three ports and two cables against one and one; 1,024 times.
    ("rails_or_tree", 1024 * (3 * 1500 + 2 * 500 - 1500 - 500), "3,580,000 USD"),
    # 10 MW / 1.2 in racks of 135 kW.
    ("power_site", 10e6 / 1.2 // 135e3, "61 racks"), ("gang_half", 11 * 128 * 6.0, "8,450 USD"),
    ("nondeterminism", 16 / 128, "0.125"), ("expert_hot_spot", 1291 / 512, "2.52 times"),
    # An eighth of a day.
    ("spot_with_checkpoints", 86400 / 8 / 3600, "3 hours"),
]


@pytest.mark.parametrize("name, value, text", HAND)
def test_figures_by_hand(said, name, value, text):
    assert float(re.match(r"[\d,.]+", text)[0].replace(",", "")) == pytest.approx(value, rel=5e-3)
    assert text in said(name)


def test_orders_that_answers_claim():
    """Sentences that say which is faster stay true as rows and formulas change."""
    book = price_book.prices()

    def held(name):
        return interview.names(interview.question(name), book)

    a, b = (held("fp8_or_int4")[letter] for letter in "ab")
    assert b.replica_pass_seconds < a.replica_pass_seconds and a(batch=256).replica_pass_seconds < b(batch=256).replica_pass_seconds
    a, b = (held("speculative_at_load")[letter] for letter in "ab")
    assert a.speculative_seconds < b.replica_pass_seconds and a(batch=32).speculative_seconds < b(batch=32).replica_pass_seconds
    assert a(batch=256).speculative_seconds > b(batch=256).replica_pass_seconds
    a, b = (held("dense_or_experts")[letter] for letter in "ab")
    assert b.replica_pass_seconds < a.replica_pass_seconds and b(batch=32).replica_pass_seconds > a(batch=32).replica_pass_seconds
    assert b.replica_prefill_seconds < a.replica_prefill_seconds
    a, b = (held("tp_or_pp_pcie")[letter] for letter in "ab")
    assert a.replica_pass_seconds < b.replica_pass_seconds
    a, b = (held("zero3_or_tp")[letter] for letter in "ab")
    assert a.gpu_token_rate > b.gpu_token_rate
    a = held("recompute_or_batch")["a"]
    assert a.training_bytes > a.memory_bytes > a(micro_batch=1, micro_batches=4).training_bytes
    assert a(micro_batch=1, micro_batches=4).step_seconds < a(recompute=2).step_seconds
    a, b = (held("rack_or_servers")[letter] for letter in "ab")
    assert a.replica_pass_seconds < .025 < b.replica_pass_seconds < .05
    assert a.replica_pass_seconds * a.usd_per_hour > b.replica_pass_seconds * b.usd_per_hour
    a = held("reasoning_service")["a"]
    assert 46000 / a.output * a.request_seconds < 1800 and a(cache_element_bytes=1).replica_pass_seconds < a(weight_format="NVFP4", narrow_products=2).replica_pass_seconds
    a = held("inference_service")["a"]
    assert a.offered_load < .6 and 1.8 < a.time_per_output_token / a(batch=32).time_per_output_token < 2.2
    a, b = (held("solved_task")[letter] for letter in "ab")
    assert a.request_seconds / .6 < 4 * b.request_seconds / .75
    a = held("serve_70b_slo")["a"]
    assert a.time_to_first_token < .5 and a.late_token_seconds < .04 < a(prompt=8000, context=8150).time_per_output_token
    a = held("rent_or_buy_utilization")["a"]
    assert a.utilization < a.break_even_utilization < 1 and a(rent_decline=0).break_even_utilization < a.break_even_utilization
    a = held("api_or_own")["a"]
    assert a.requests_per_month < a.break_even_requests_per_month
    a = held("failures_16k")["a"]
    assert a(checkpoint_seconds=10, restart_seconds=180).goodput > a(gpu_failure_seconds=364e6).goodput
