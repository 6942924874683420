"""Which fine-tune fits one card: against a count by hand, the rule of every page, and what the front page decides."""

import pandas as pd
import pytest

from book.components.memory import in_bytes, need, verdict
from book.pages import training_memory as cards
from gpucalc import decide
from gpucalc.rows import catalogue

LLAMA = "Llama-3-8B"


def test_qlora_of_an_8b_by_hand():
    matrices = 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 32 * 2 * 4096
    outside = 2 * 128256 * 4096 + 4096
    assert matrices + outside == catalogue.model(LLAMA).params
    adapters = 32 * 64 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336))
    state = matrices * 0.515869140625 + outside * 2 + adapters * (2 + 2 + 0 + 8)
    kept = 32 * 2048 * 4096 * 2 + 2048 * (128256 + 2 * 4096) * 2
    loss = 2048 * 128256 * 12
    assert need(cards.tuning(LLAMA, "QLoRA", 2048)).value == pytest.approx((state + kept + loss) * 1.14 + 4e8, rel=1e-12)


def test_full_tuning_of_an_8b_by_hand():
    state = 8_030_261_248 * (2 + 2 + 4 + 8)
    kept = 32 * 8192 * 4096 * 2 + 8192 * (128256 + 2 * 4096) * 2 + 8192 * 128256 * 12
    assert need(cards.tuning(LLAMA, "full", 8192)).value == pytest.approx((state + kept) * 1.14 + 4e8, rel=1e-12)


@pytest.mark.parametrize("model", [LLAMA, "Llama-3-70B"])
def test_a_verdict_for_each_card_by_the_rule_of_every_page(model):
    found = cards.on_one_card(model)
    assert len(found) == len(cards.WAYS) * len(cards.TOKENS)
    for row in found.to_dict("records"):
        band = need(cards.tuning(model, row["way"], row["tokens"]))
        assert (row["value"], row["plan"], row["low"], row["high"]) == (band.value, band.plan, band.low, band.high)
        for size in cards.SIZES:
            memory = cards.card_bytes(size)
            says = "fits" if band.high <= memory else "does not fit" if band.low > memory else "too close to call"
            assert row[size] == says == verdict(band, memory)


def test_an_8b_on_24_gigabytes():
    """Full does not, LoRA may, QLoRA does: at 2,048 tokens."""
    found = cards.on_one_card(LLAMA).query("tokens == 2048").set_index("way")[24]
    assert found.to_dict() == {"full": "does not fit", "8-bit": "does not fit", "LoRA": "too close to call", "QLoRA": "fits"}


def test_a_card_has_what_the_smallest_of_its_size_reports():
    reported = catalogue.gpus().query("marketed_bytes == 24e9")["memory_bytes"]
    assert cards.card_bytes(24) == reported.min() < 24 * 2**30 and len(reported) > 3
    assert catalogue.gpus().query("marketed_bytes == 20e9").empty and cards.card_bytes(20) == 20 * 2**30


@pytest.mark.parametrize("job, way", [("finetune", "full"), ("lora", "LoRA"), ("qlora", "QLoRA")])
def test_the_front_page_decides_the_same(job, way):
    """Its jobs have sequences of 4,096 tokens; the reason names the high end of the same band."""
    assert catalogue.jobs().loc[job, "recipe"] == cards.WAYS[way]
    choices = decide({"job": job, "model": LLAMA, "training_tokens": 10e6, "cards": "L4 24GB", "gpus": 1})
    band = need(cards.tuning(LLAMA, way, 4096))
    fits = band.high <= catalogue.gpu("L4 24GB").memory_bytes
    assert (choices["reason"].iloc[0] == "") == fits == (way == "QLoRA")
    assert fits or f"needs up to {in_bytes(band.high)}" in choices["reason"].iloc[0]


def test_measured_runs_are_of_one_card_and_one_length():
    found = cards.measured_on_one_card((LLAMA, "Llama-2-7B"))
    assert {"tm-torchtune-8b-full", "tm-torchtune-8b-lora", "tm-torchtune-8b-qlora", "tm-factory-2048"} <= set(found.index)
    assert found["subject"].str.contains("on one").all() and (found["error"].abs() < 0.1).all()
    assert cards.measured_on_one_card(("Llama-3-70B",)).empty
    shown = cards.measured_table((LLAMA, "Llama-2-7B"), "Runs").source
    assert "Llama-3-8B QLoRA, 2 × 2,048" in shown and "Unsloth" in shown and ">+8 %<" in shown


def test_the_drawn_table_says_what_the_table_does():
    found, drawn = cards.on_one_card(LLAMA), cards.one_card_picture(LLAMA)
    assert "The smallest card that tunes Llama-3-8B has 24 GB, by QLoRA with 2,048 tokens" in drawn.source
    marks = pd.Series([drawn.source.count(f">{mark}</text>") for _, _, mark in cards.MARKS.values()], list(cards.MARKS))
    assert marks.to_dict() == found[list(cards.SIZES)].stack().value_counts().to_dict()
    assert "LoRA with 2,048 tokens: plan for 24.0 GB, 8 in 10 21.4 to 28.0: 12 GB does not fit" in drawn.source
    assert "24 GB" in cards.one_card_table(LLAMA, "All").source
    assert "No card of up to 80 GB tunes Llama-3.1-405B" in cards.one_card_picture("Llama-3.1-405B").source


def test_ranges_keep_units_that_differ():
    assert cards._range(dict(plan=1.1e12, low=9e11, high=1.3e12)) == "900 GB to 1.30"
