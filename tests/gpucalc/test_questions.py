"""Questions as people ask them, each one line of free words: the decision that it gets, against a calculation by hand."""
import re

import pytest

from gpucalc import Case
from gpucalc.decisions import answer as answering, answer_words, decide as deciding, jobs, owning_words
from gpucalc.decisions.rent_or_buy import rent_or_buy
from gpucalc.laws import arithmetic_intensity as ai, interconnect as ic, kv_cache as kv, training_memory as tm
from gpucalc.rows import free_words
from gpucalc.rows.case_file import case_of

HOURS = 730    # in a month
# Each line, what its decision says, a column of the choice, and by hand what that is.
ASKED = [
    # The API: a third of 10 requests a second; seven cards at their rent. What is asked of the speed is in test_simulator.
    ("70b chat in fp8 with an fp8 cache, 10 requests a second, 1k in, 300 out, first token under 1 s, 50 ms a token",
     r"Take the API of DeepInfra Turbo: 1,720 USD a month.*7 × GH200 96GB at Lambda", "serving_usd_per_month", 7 * 2.29 * HOURS),
    # 6 FLOP x 6.74e9 parameters x 1e12 tokens over 48 x 2.25e15 FLOP/s at an MFU of 36 %.
    ("pre-train llama 2 7b on 1T tokens within 28 days", "Take 48 × B200 SXM 180GB at Lambda", "training_days",
     6 * 6.74e9 * 1e12 / (48 * 2.25e15 * 0.36) / 86400),
    # 6 GB of weights and their embeddings, and what a sequence of 4,096 tokens keeps, are less than 24.
    ("qlora llama 3 8b on 10 million tokens on one L4", "Take one L4 24GB at Jarvis Labs", "gpus", 1),
    # 500 people x 10 messages, an eighth of them in the busiest hour, are 0.174 a second: one card carries them, one is to spare.
    ("500 developers, Qwen3-32B, 16k prompts, 80 % cached", "Take 2 × MI300X 192GB at RunPod", "serving_usd_per_month",
     2 * 2.39 * HOURS),
    # 50,000 x 512 tokens; the H100 of the book reads some 4,700 tokens a second of a 14B: 1.5 h, and an hour to set it up.
    ("LoRA a 14B on 50k examples, one H100", "Take one H100 SXM 80GB at TensorDock", "compute_usd", 2.25 * (50_000 * 512 / 4700 / 3600 + 1)),
    # The API: a third of 2 requests a second, the mean of a day, each 8,000 tokens in at 0.58 and 300 out at 1.68 USD a million.
    ("DeepSeek-V3 on H200 or an API, 2 req/s, 8k in", "Take the API of AWS: 9,010 USD a month.*24 × H200 SXM 141GB at Nebius",
     "serving_usd_per_month", 24 * 5.40 * HOURS),
    # A token takes at least as long as four cards read 37.7 GB of weights in 1.008 TB/s: 9.3 ms; PCIe makes it some 2.6 times that.
    ("tokens/s of my 4 x 4090 on a 70B in 4 bits", "4 × RTX 4090 24GB of your own do it", "token",
     2.58 * 37.7e9 / 4 / 1.008e12)]


def asked(line, book, **more):
    """The case of a line, and its answer with what is told of it."""
    read = free_words.understood(line, [])
    assert not read.question and not read.left, read.left
    case = case_of(free_words.begun(read.usual | read.inputs) | more)
    if owning_words.is_owning(case):
        return None, owning_words.told(rent_or_buy(case, book), case, book)
    found = answering.answer(case, book)
    return found, answer_words.told(found, book, *deciding.more(found, book))


@pytest.mark.parametrize("line, said, column, value", ASKED, ids=[line for line, *_ in ASKED])
def test_a_question_has_its_decision_and_its_figure(book, line, said, column, value):
    found, told = asked(line, book)
    assert re.match(said, told.headline), told.headline
    assert (found.figures[column].plan if column in found.figures else found.best[column]) == pytest.approx(value, rel=0.05)


def test_cards_of_ones_own_that_lack_memory_say_how_much(book):
    """116.8e9 parameters of 4.25 bits, and what stays in BF16; two cards of 24 GiB."""
    _, told = asked("can my 2 x 3090 run gpt-oss-120b", book)
    assert "the weights take 65.2 GB, and your 2 GPUs hold 51.5 GB" in told.headline
    assert "offloaded to host memory, as llama.cpp does it, a token of one user takes" in told.headline
    assert len(told.helps) == 1 and re.match(r"With twice the cards \(4\) it can be done, with a p95 TPOT of 1\d\.\d ms$", told.helps[0])


def test_cards_that_are_counted_without_a_load_are_those_one_has(book):
    """27e9 parameters of 2 bytes. What the change promises is on the cards of the same case in 4 bits."""
    _, told = asked("does gemma 3 27b fit on a 4090", book)
    assert "the weights take 54.0 GB, and your one GPU holds 25.8 GB" in told.headline
    promised = re.fullmatch(r"With weights in 4 bits it can be done, with a p95 TPOT of (\d\d\.\d ms)", told.helps[0])
    _, done = asked("does gemma 3 27b fit on a 4090 in int4", book)
    assert any(f"p95 TPOT {promised[1]} in eight of ten cases" in card.note for card in done.cards)


def test_what_does_not_fit_whole_is_offered_as_adapters_with_their_memory(book):
    """8.03e9 weights: 16 bytes of state each; in NF4 and constants some 4.5 bits, the embeddings apart, beside what 4,096 tokens keep."""
    for line, up_to in (("can I fine-tune an 8B on a 3090", 186), ("lora 8B on a 3090", 33.7)):
        _, told = asked(line, book)
        assert f"needs up to {up_to} GB, more than its 25.8 GB" in told.headline
        assert len(told.helps) == 1 and re.match(r"With QLoRA \(19\.\d GB of 25\.8 GB on a GPU, 293 s a step\) it",
                                                     told.helps[0])
    _, told = asked("full fine-tune 8B on 8 H100", book)
    assert [text for text in told.helps if text.startswith("With LoRA (")]
    # Gradients, master weights and moments, 2 + 4 + 8 bytes a weight, go to the host of both cards; without them it takes 2.8 s less:
    # 28 bytes a weight at 89.6 GB/s, then half of the weights, 2 bytes each, at 25 GB/s.
    _, told = asked("full fine-tune 8B on my 2 x 3090", book)
    assert [text for text in told.helps if re.match(
        r"With Adam's state in host memory \(21\.9 GB of 25\.8 GB on a GPU, 112 GB in the memory of each machine, 158 s a step\) it ", text)]
    found, told = asked("full fine-tune 8B on my 2 x 3090", book, recipe="mixed-adamw-host")
    assert "112 GB of its state in the memory of each machine" in told.cards[0].note
    assert [text for text in told.cautions if text.startswith("Each machine needs 112 GB of free host memory")]
    held = answering.of_choice(found.case, found.best).but(**jobs.LAYOUT.given)
    assert held("host_update_seconds") == pytest.approx(8.03e9 * 28 / 89.6e9 + 8.03e9 / 25e9, rel=0.001)
    _, told = asked("pre-train llama 2 7b on 1T tokens within 28 days", book)
    assert not [text for text in told.helps if "LoRA" in text]


def test_a_run_that_the_usual_deadline_rules_out_is_planned_once_it_is_loosened(book):
    """6 FLOP x 70.6e9 x 2e12 over 512 H100 at an MFU of 31 %, stops in it: 62 days, in eight of ten cases 110 at most."""
    line = "70B on 2T tokens on 512 H100"
    _, told = asked(line, book)
    assert "H100 SXM 80GB comes nearest: up to 110 days, over the limit of 90 days" in told.headline
    assert told.loosen == ["Allow 111 days instead of 90 days: H100 SXM 80GB comes nearest"]
    found, told = asked(line, book, deadline_days=111)
    assert "Take 512 × H100 SXM 80GB" in told.headline
    assert found.best["training_days"] == pytest.approx(6 * 70.55e9 * 2e12 / (512 * 989e12 * 0.313) / 86400, rel=0.02)
    assert found.best["compute_usd"] == pytest.approx(found.best["training_days"] * 24 * 512 * 3.14, rel=0.01)


@pytest.mark.parametrize("line, said, needed", [
    ("rent or buy 8 x H100 SXM, used 60 % of the time for 4 years", "Rent: ", "More than all the time"),
    ("rent or buy a GB200 rack", "Buy: ", "38.8 % of the time")])
def test_rent_or_buy_says_from_which_use_on(book, line, said, needed):
    _, told = asked(line, book)
    assert told.headline.startswith(said) and [card.big for card in told.cards if card.name == "long"] == [needed]


def test_a_rack_is_bought_whole_at_its_published_price(book):
    """3.9 million USD over 72 GPUs, four years and 65 % of the hours are 2.38 USD; a fifth is left at the end, and power comes on top."""
    for line, count in (("buy a GB200 rack", 72), ("rent or buy GB200", 72), ("buy 2 GB200 racks", 144), ("buy 36 GB200", 36)):
        assert free_words.understood(line, []).inputs["gpus_per_server"] == count
    found = rent_or_buy(case_of({"job": "rent_or_buy", "gpu": "GB200"}), book)
    assert 0.8 * 3.9e6 / 72 / (4 * 8760 * 0.65) < found.owned.low < found.owned.plan < found.rented.plan
    assert len(found.deal.doubt) > 0    # an analyst's figure decides nothing alone


def test_what_the_book_has_no_price_of_takes_one(book):
    held = {"job": "rent_or_buy", "gpu": "MI300X 192GB"}
    lacks = owning_words.told(rent_or_buy(case_of(held), book), case_of(held), book).headline
    assert "no price of a server" in lacks and "server_usd" in lacks
    given = case_of(held | {"gpus_per_server": 8, "server_usd": 250_000, "usd_per_hour": 2})
    assert owning_words.told(rent_or_buy(given, book), given, book).headline.split(":")[0] in ("Buy", "Rent")


@pytest.mark.parametrize("line", ["why is my H100 at 40 % MFU", "why is decode memory-bound", "PCIe or NVLink", "ZeRO 1/2/3 in bytes",
                                  "GQA or MHA in bytes", "what does p95 do to GPUs", "utilisation at which buying wins", "purple monkeys"])
def test_what_no_case_answers_goes_to_the_search(line):
    """Which finds the page: tests/book/searches.csv."""
    assert free_words.understood(line, []).question


def test_what_the_lessons_print_is_what_a_pencil_gives():
    """The ridge of an H100 with weights of two bytes; how far NVLink and PCIe let a layer of Llama-3-70B be split, and an RTX 4090 in
    four; the model state of an 8B under ZeRO; the cache of a token with 8 and with 32 KV heads, and half of it in FP8."""
    assert Case(gpu="H100 SXM 80GB", weight_element_bytes=2)(ai.critical_batch) == pytest.approx(989e12 / 3.35e12, abs=1)
    for card, link, most in (("H100 SXM 80GB", "NVLink 4", 3 * 8192 * 450e9 / 989e12), ("RTX 4090 24GB", "PCIe 4 x16 through host", 3 * 8192 * 31.5e9 / 165.2e12)):
        assert Case(model="Llama-3-70B", gpu=card, link=link)(ic.tensor_parallel_limit) == pytest.approx(most, rel=0.01)
    state = Case(model="Llama-3-8B", recipe="mixed-adamw-fp32-grads", data_parallel=4)
    assert [state.but(zero_stage=stage)(tm.held_state_bytes) / 8.03e9 for stage in range(4)] == pytest.approx([18, 9, 6, 4.5], rel=0.01)
    grouped = Case(model="Llama-3-8B", cache_element_bytes=2)
    assert [grouped(kv.kv_bytes_per_token), grouped.but(kv_heads=32)(kv.kv_bytes_per_token),
            grouped.but(cache_element_bytes=1)(kv.kv_bytes_per_token)] == [131_072, 524_288, 65_536]
