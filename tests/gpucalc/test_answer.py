"""The answer to a case: as a table, in words, in the terminal, and beside another, on the cases of data/cases."""
import datetime
import errno
import html
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpucalc
from gpucalc import cli_decide, compare, decide
from gpucalc.core import figures
from gpucalc.core.quantities import DATA, DEFAULTS
from gpucalc.decisions import answer as answering, answer_words, decide as deciding, token_offers
from gpucalc.decisions.answer import Figure
from gpucalc.decisions.jobs import JOBS, REPLICAS
from gpucalc.rows import ages, catalogue
from gpucalc.rows.tables import rows

CASES = DATA / "cases"
# Each kind of job, quick ones.
SOME = ("chat_70b", "million_images", "lab_rtx6000", "three_on_one")
YEAR = {"job": "pretrain", "model": "Llama-3-8B", "training_tokens": 1e11, "cards": "A100 SXM 80GB", "gpus": 8, "deadline_days": 365}
TUNE = {"job": "qlora", "model": "Llama-2-7B", "training_tokens": 200e6, "epochs": 3, "cards": "H100 NVL 94GB, RTX 6000 Ada 48GB"}
EMBED = {"job": "embed", "model": "Llama-3-8B", "weight_format": "BF16", "window_requests": 1e7}
NOTHING = {"job": "serve", "model": "Llama-3-70B", "requests_per_second": 10, "first_token_limit": 0.01, "token_limit": 0.002}
OWN = {"job": "rent_or_buy", "gpu": "H100 SXM 80GB"}


@pytest.fixture(scope="module")
def answers(book):
    """Answers by case, with what is told of them."""
    found = {name: deciding.answered(deciding.read(CASES / f"{name}.yaml"), book) for name in SOME}
    found |= {name: deciding.answered(deciding.read(held), book) for name, held in (("embed", EMBED), ("year", YEAR))}
    return {name: (answer, answer_words.told(answer, book, *deciding.more(answer, book))) for name, answer in found.items()}


@pytest.fixture
def run(capsys):
    def done(*words):
        status = cli_decide.main([str(word) for word in words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err
    return done


# As a table

def test_the_best_choice_stands_first_and_the_others_say_why(book):
    found = decide(CASES / "chat_70b.yaml", book)
    answer = found.attrs["answer"]
    assert (found["gpu"][0], found["provider"][0]) == (answer.best["gpu"], answer.best["provider"])
    kept = found[found["reason"] == ""]
    cost, high = kept["serving_usd_per_month"], kept["high_serving_usd_per_month"]
    narrow = ~(high > answering.WIDE * cost) | (high == math.inf)    # the others stand last
    assert kept.index.tolist() == list(range(len(kept))) and cost[narrow].is_monotonic_increasing
    assert narrow.is_monotonic_decreasing and cost[~narrow].is_monotonic_increasing
    assert kept["beside"][0] == "" and (kept["beside"][1:] != "").all()
    lost = found[found["reason"] != ""]
    assert set(lost["gpu"]) == set(answer.lost) and not set(lost["gpu"]) & set(kept["gpu"])
    assert (found["low_serving_usd_per_month"][0] <= found["serving_usd_per_month"][0] <= found["high_serving_usd_per_month"][0])


def test_a_case_is_a_file_a_mapping_or_a_case(book):
    from gpucalc.rows.case_file import read_case
    held = {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "cards": "H100 SXM 80GB"}
    whole = gpucalc.Case(**held)
    tables = [decide(held, book), decide(whole, book)]
    assert tables[0].equals(tables[1])
    path = CASES / "three_on_one.yaml"
    assert decide(path, book).equals(decide(read_case(path), book))
    with pytest.raises(ValueError, match="^job: missing"):
        decide(gpucalc.Case(model="Llama-3-8B"), book)
    with pytest.raises(ValueError, match="model: missing|requests_per_second"):
        decide({"job": "serve"}, book)


def test_prices_of_ones_own(tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("gpu,usd_per_hour\nH100 SXM 80GB,0.50\n")
    found = decide(CASES / "chat_70b.yaml", mine)
    assert (found["gpu"][0], found["usd_per_hour"][0]) == ("H100 SXM 80GB", 0.5)


def test_rent_or_buy_is_a_table_of_two(book):
    found = decide(OWN, book)
    assert sorted(found["way"]) == ["own", "rent"] and found["usd_per_hour"].is_monotonic_increasing
    with pytest.raises(ValueError, match="^server_usd: the book has no price of a server of MI300X 192GB"):
        decide(OWN | {"gpu": "MI300X 192GB"}, book)


# In words

def texts(told):
    cards = [text for card in told.cards for text in (card.title, card.big, card.small, card.note, card.link)]
    rows = [text for row in told.rows for text in (row["layout"], row["reason"])]
    lists = [*told.binds, *told.helps, *told.loosen, *told.flips, *told.cautions]
    return [told.question, told.headline, told.prices, *cards, *rows, *lists]


@pytest.mark.parametrize("name", [*SOME, "embed", "year"])
def test_no_sentence_shows_its_template(answers, name):
    answer, told = answers[name]
    for text in texts(told):
        assert not set("{}") & set(text) and "  " not in text and " ," not in text, text
        assert "nan" not in text.lower().split() and "inf" not in text.split() and "None" not in text, text
        for wrong in ("1 GPUs", " 1 replicas", " 1 days", "1 machines", "1 tokens", "of 1 GPU each"):
            assert wrong not in text.replace("11 ", "").replace("21 ", ""), text
    assert [card.name for card in told.cards] == ["fits", "fast", "many", "long", "cost", "ways"]
    assert told.question.endswith("?") and told.headline.endswith(".")
    assert (name == "lab_rtx6000") == ("of your own" in told.headline)
    assert answer.best["gpu"] in told.headline and answer.best["provider"] in told.headline


def test_the_headline_says_what_how_many_from_whom_and_for_how_much(answers):
    answer, told = answers["chat_70b"]
    best, cost = answer.best, answer.figures["cost"]
    three = gpucalc.core.figures.three_figures
    assert told.headline == (
        f"Take the API of DeepInfra Turbo: 1,720 USD a month, cheaper at any load; {best['rented_gpus']:.0f} × {best['gpu']} at "
        f"{best['provider']} on demand would cost {three(cost.plan)} USD a month ({three(cost.low)} to {three(cost.high)}).")
    assert told.question.startswith("What does it take to serve Llama-3.3-70B in FP8 at 10 requests a second, with prompts")


def test_the_plans_by_how_sure_they_are_stand_side_by_side(answers, book):
    """Each is what the same case with that share of cases comes to; a surer plan never costs less. Equal ones are said once."""
    for name in ("chat_70b", "lab_rtx6000"):
        answer, told = answers[name]
        found = [deciding.answered(answer.case.but(sure=share), book).best for share, _ in answer.levels]
        assert [share for share, _ in answer.levels] == [0.5, 0.8, 0.9]
        assert [each[answer.objective] for each in found] == [row[answer.objective] for _, row in answer.levels]
        assert found == sorted(found, key=lambda each: each[answer.objective])
        assert all(gpucalc.core.figures.dollars(each[answer.objective]) in told.sure for each in found)
        assert told.sure.count(":") == len({each[answer.objective] for each in found}) and ("How sure?", [told.sure]) in told.lists
    nothing = answering.answer(answers["chat_70b"][0].case.but(first_token_limit=0.01), book)
    assert answer_words.levels(nothing) == "50 %, 80 %, 90 %: nothing"


WAYS = dict(kind="serve", gpu="H100 SXM 80GB", gpus=2, provider="Acme", term="on-demand", priced=1, cost_low=90.0, cost_plan=100.0,
            cost_high=150.0, api_who="B", requests_per_second=10.0, own_years=4, verdict="rent")


@pytest.mark.parametrize("more, said", [
    ({}, "Take 2 × H100 SXM 80GB at Acme on demand: 100 USD a month (90 to 150)."),
    (dict(way="api", api_usd=89.0, api_turn=25.0), "Take the API of B: 89 USD a month, cheaper below 25 requests a second; 2 × "),
    (dict(way="api", api_usd=89.0, api_below=11.0), "Take the API of B: 89 USD a month, cheaper at any load; 2 × "),
    (dict(way="api", api_usd=89.0, ways="rent"), "Take 2 × H100 SXM 80GB at Acme on demand: 100 USD a month (90 to 150)."),
    (dict(way="api", api_usd=91.0), "Take 2 × H100 SXM 80GB at Acme on demand: 100 USD a month (90 to 150); the API of B for 91 USD is too"),
    (dict(way="rent", api_usd=120.0, api_turn=8.0), "(90 to 150); below 8 requests a second the API of B is cheaper."),
    (dict(way="rent", api_usd=120.0), "(90 to 150); the API of B would cost 120 USD."),
    (dict(way="own", verdict="own", own_usd=60.0), "Buy 2 × H100 SXM 80GB: 60 USD a month on average over about 4 years; at Acme on demand"),
    (dict(way="own", verdict="close", own_usd=60.0), "(90 to 150); buying is too close to call.")])
def test_the_decision_opens_with_what_is_cheaper_by_more_than_the_band(more, said):
    text = answer_words.fill("headline", WAYS | more)
    assert said in text and text.endswith(".") and text.count(". ") == 0


# Model, own card, how many, format; by hand: bytes of all weights and of those that a token reads, GPUs that share them, and bytes of
# the cache of a sequence of 1,150 tokens, the mean of 1,000 and 300. BF16 but for the 4.156 bits of INT4-g128, which leaves embeddings.
HELD = [("Qwen3-8B", "RTX 3090 24GB", 1, None, 16.381e9, 15.137e9, 1, 169.6e6),
        ("Qwen3-32B", "RTX 3090 24GB", 4, None, 65.524e9, 63.968e9, 4, 301.5e6),
        ("Llama-3.3-70B", "RTX 4090 24GB", 4, "INT4-g128", 39.767e9, 37.665e9, 4, 376.8e6),
        ("Llama-3.1-8B", "RTX 3090 24GB", 1, None, 16.061e9, 15.010e9, 1, 150.7e6),
        ("Llama-2-7B", "RTX 4090 24GB", 1, None, 13.477e9, 13.215e9, 1, 602.9e6),
        ("Mistral-7B", "L4 24GB", 1, None, 14.483e9, 14.221e9, 1, 150.7e6),
        ("Qwen3-4B", "RTX 4080 16GB", 1, None, 8.045e9, 8.045e9, 1, 169.6e6),
        ("Llama-3.2-1B", "RTX 3060 12GB", 1, None, 2.472e9, 2.472e9, 1, 37.7e6),
        ("Llama-3.2-3B", "RTX 3080 10GB", 1, None, 6.426e9, 6.426e9, 1, 131.9e6),
        ("Qwen2.5-7B", "A10 24GB", 1, None, 15.231e9, 14.141e9, 1, 65.9e6),
        ("Phi-4", "RTX A6000 48GB", 1, None, 29.319e9, 28.291e9, 1, 235.5e6),
        ("Qwen3-14B", "L40S 48GB", 1, None, 29.537e9, 27.981e9, 1, 188.4e6),
        ("Qwen3-32B", "A100 SXM 80GB", 1, None, 65.524e9, 63.968e9, 1, 301.5e6),
        ("Llama-3.3-70B", "H100 SXM 80GB", 2, None, 141.107e9, 139.006e9, 2, 376.8e6)]


@pytest.mark.parametrize("model, card, cards, stored, weights, read, split, cache", [
    case if place < 3 else pytest.param(*case, marks=pytest.mark.long) for place, case in enumerate(HELD)])
def test_own_cards_hold_and_read_what_a_pencil_says(book, model, card, cards, stored, weights, read, split, cache):
    """A token takes at least as long as a GPU reads its part of the weights and the cache of the batch; the links add a little."""
    case = {"job": "serve", "model": model, "requests_per_second": 0.05, "cards": card, "own_cards": cards}
    found = deciding.answered(deciding.read(case | ({"weight_format": stored} if stored else {})), book)
    batch = found.best["batch"]
    assert found.best["tensor_parallel"] == split and 1 <= batch <= 5
    assert found.figures["fits"].plan == pytest.approx((weights + batch * cache * 1300 / 1150) / split, rel=0.002)
    floor = (read + batch * cache) / split / rows("gpus")[card]["bandwidth"]
    bound, plan = found.figures["token"].bound, found.figures["token"].plan
    assert floor <= bound < 1.05 * floor and 1.3 * floor < plan < (2 if split == 1 or card == "RTX 3090 24GB" else 2.6) * floor


@pytest.mark.parametrize("model, card, cards, stored, said", [
    ("Phi-4", "RTX 5090 32GB", 1, None, "the weights take 29.3 GB; with one sequence and the workspace of the engine that is more than its 34.2 GB"),
    ("Llama-3.3-70B", "RTX 3090 24GB", 2, "INT4-g128", "first token after 2.94 s, over the limit of 2 s"),
    ("Gemma-3-27B", "RTX 3090 24GB", 2, None, "the weights take 54.0 GB, and your 2 GPUs hold 51.5 GB"),
    ("Llama-3.3-70B", "RTX 4090 24GB", 4, None, "the weights take 141 GB, and your 4 GPUs hold 103 GB"),
    ("gpt-oss-120b", "RTX 3090 24GB", 2, None, "the weights take 65.2 GB, and your 2 GPUs hold 51.5 GB"),
    ("Phi-4", "RTX 4090 24GB", 1, None, "the weights take 29.3 GB, and your one GPU holds 25.8 GB")])
def test_what_own_cards_lack_is_memory_before_time_and_never_more_cards(book, model, card, cards, stored, said):
    case = {"job": "serve", "model": model, "requests_per_second": 0.05, "cards": card, "own_cards": cards}
    found = deciding.answered(deciding.read(case | ({"weight_format": stored} if stored else {})), book)
    assert [row["reason"] for row in answer_words.choices(found)] == [said] and found.helps


def test_a_short_run_pays_for_a_machine_that_is_set_up(book):
    """A million tokens of QLoRA take an H100 some minutes; the machine is paid while it is set up, and for an hour at least."""
    found = deciding.answered(deciding.read({"job": "qlora", "model": "Llama-3-8B", "training_tokens": 1e6, "cards": "H100 SXM 80GB"}), book)
    best = found.best
    assert best["training_days"] * 24 < 1
    hours = max(best["training_days"] * 24 * best["gpus"] + best["gpus_per_server"], best["gpus"])
    assert best["compute_usd"] == pytest.approx(hours * best["usd_per_hour"])


def test_an_api_s_price_is_found_under_the_release_that_it_serves(book):
    sold = [token_offers.api_offers(book, name)["api_output_usd_per_million"].tolist() for name in ("Llama-3-70B", "Llama-3.3-70B")]
    assert sold[0] == sold[1] != [] and token_offers.api_offers(book, "Qwen3-32B").empty


def test_the_rent_that_flips_a_choice_makes_it_cost_as_much(answers):
    _, told = answers["chat_70b"]
    best, other = told.rows[0], next(row for row in told.rows if row["gpu"] != told.rows[0]["gpu"])
    rent = answer_words.turning_rent(other, best)
    assert rent / other["usd_per_hour"] == pytest.approx(best["objective"] / other["objective"])
    assert gpucalc.core.figures.hourly(rent) in told.flips[0]


def test_a_load_that_flips_the_choice_does(answers, book):
    answer, _ = answers["chat_70b"]
    found, _ = deciding.more(answer, book)
    assert found
    change, gpu = found[0]
    again = decide({"job": "serve", "model": "Llama-3.3-70B", "weight_format": "FP8", "cache_element_bytes": 1, "requests_per_second": 10,
                    "prompt": 1000, "output": 300, "first_token_limit": 1, "token_limit": 0.05} | {change.name: change.value}, book)
    assert again["gpu"][0] == gpu != answer.best["gpu"]


def test_nothing_keeps_the_limits(book, run, tmp_path):
    answer = deciding.answered(deciding.read(NOTHING), book)
    told = answer_words.told(answer, book, *deciding.more(answer, book))
    assert answer.best is None and told.cards == [] and told.flips == [] and told.cautions == []
    assert told.headline.startswith("No offer meets these limits") and "comes nearest" in told.headline
    assert told.loosen and all(text.startswith("Allow ") and " instead of " in text for text in told.loosen)
    assert all(row["reason"] for row in told.rows)
    path = tmp_path / "case.yaml"
    path.write_text("".join(f"{name}: {value}\n" for name, value in NOTHING.items()))
    status, out, _ = run(path)
    assert status == 0 and "What to loosen" in out


def test_a_notebook_says_the_same(book):
    text = deciding.said(CASES / "chat_70b.yaml", book)._repr_markdown_()
    assert text.count("\n- ") > 10 and "- Does it fit? **" in text and "MI300X 192GB" in text and "**What binds**\n\n- " in text
    assert "Rent or buy" in deciding.said(OWN, book)._repr_markdown_()


# On demand, with spot beside it

def test_a_run_is_decided_on_demand_and_spot_stands_beside_it(book):
    """The line is the answer to the same case on spot, and what helps does not say it again."""
    answer, spot = (deciding.answered(deciding.read(TUNE | more), book) for more in ({}, {"term": "spot"}))
    assert set(answer.kept["term"]) == {"on-demand"} and set(spot.kept["term"]) == {"spot"}
    assert deciding.answered(deciding.read(TUNE | {"term": "any"}), book).best["term"] == "spot"
    told, best, show = answer_words.told(answer, book), spot.best, gpucalc.core.figures.dollars
    ways = told.cards[-1]
    assert ways.note.startswith(f"on spot, where machines may be taken back: {show(float(best['compute_usd']))} with the stops, if you get one "
                                f"{best['gpu']} from {best['provider']}")
    assert not any("spot" in text for text in [*told.helps, *told.cautions])
    assert answer_words.told(spot, book).cards[-1].note == "this compares rents only"
    assert "on spot, where machines" in deciding.said(TUNE, book)._repr_markdown_()


def test_a_model_s_own_draft_layer_is_tried_where_it_has_one(book):
    """With the acceptance that its words name; a case that says how many are drafted is answered with these alone."""
    load = dict(job="serve", requests_per_second=20, prompt=4000, output=1000, first_token_limit=2, token_limit=0.05)
    change = next(each for each in JOBS["serve"].changes if each.name == "drafted")
    assert f"{catalogue.assumed('acceptance'):.0%}".replace("%", " %") in change.words
    found = {model: [each for each in deciding.answered(deciding.read(load | {"model": model}), book).helps if each.change.name == "drafted"]
             for model in ("DeepSeek-V3", "Llama-3-70B")}
    assert len(found["DeepSeek-V3"]) == 1 and found["Llama-3-70B"] == []
    drafted = load | {"model": "DeepSeek-V3", "drafted": 1, "acceptance": catalogue.assumed("acceptance")}
    again = deciding.answered(deciding.read(drafted), book)
    assert again.best[again.objective] == found["DeepSeek-V3"][0].after
    assert not [each for each in again.helps if each.change.name == "drafted"]


@pytest.mark.parametrize("more", [{"cached_share": 0.5}, {"prompts_apart": 1}])
def test_what_only_the_reader_knows_is_named_with_its_effect(book, more):
    """A hit rate, and prompts read apart: the case that gives it costs what was said, and is not told again."""
    load = dict(job="serve", model="Llama-3.1-70B", weight_format="FP8", requests_per_second=30, prompt=4000, output=100, first_token_limit=5,
                token_limit=0.05, cards="H200 SXM 141GB")
    found, other = (deciding.answered(deciding.read(load | each), book) for each in ({}, more))
    helped, again = ([each for each in one.helps if each.change.name in more] for one in (found, other))
    assert [each.after for each in helped] == [other.best[other.objective]] and again == []
    assert helped[0].after < found.best[found.objective]


def test_spot_helps_where_nothing_on_demand_keeps_the_limits(book):
    plain, spot = (decide(TUNE | more, book)["compute_usd"][0] for more in ({}, {"term": "spot"}))
    held = TUNE | {"budget_usd": (plain + spot) / 2, "sure": 0.5}
    told = answer_words.told(deciding.answered(deciding.read(held), book), book)
    assert told.cards == [] and any(text.startswith("With spot machines it can be done, for ") for text in told.helps)


def test_a_price_of_one_provider_alone_is_not_firm(book):
    """The same row decides with and without a second provider's; a price of the reader's own is firm alone."""
    held = TUNE | {"cards": "H100 SXM 80GB"}
    best = deciding.answered(deciding.read(held), book).best
    others = (book["item"] == "rent") & (book["gpu"] == best["gpu"]) & (book["provider"] != best["provider"])
    alone = book[~others | (book["term"] != "on-demand")]
    alone.attrs, said = book.attrs, f"The cost is not firm: it rests on the price of one provider, seen once, on {best['date']}."
    for prices, lonely in ((book, False), (alone, True), (alone.assign(yours=True), False)):
        prices.attrs = book.attrs
        told = answer_words.told(deciding.answered(deciding.read(held), prices), prices)
        assert told.rows[0]["provider"] == best["provider"]
        assert any(text.startswith(said) for text in told.cautions) is lonely
        assert (", of one provider alone: not firm;" in told.cards[-2].note) is lonely
        assert ("no other provider has such a price" in told.cards[-1].note) is False


# In the terminal

@pytest.mark.parametrize("name", ["chat_70b", "lab_rtx6000"])
def test_the_terminal_has_all_of_it_in_100_characters(run, name):
    status, out, err = run(CASES / f"{name}.yaml")
    assert (status, err) == (0, "") and max(map(len, out.splitlines())) <= 100
    for title in ("Does it fit?", "How many GPUs?", "What does it cost?", "What binds", "What helps", "The next choices", "Prices of"):
        assert (title in out) or (title == "The next choices" and name == "lab_rtx6000")


def test_rent_or_buy_in_the_terminal(run, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("job: rent_or_buy\ngpu: H100 SXM 80GB\n")
    status, out, _ = run(path)
    assert status == 0 and out.startswith("Rent or buy 8 × H100 SXM 80GB?") and "an hour of use of a GPU costs" in out


def test_a_bad_file_is_refused_with_all_its_faults(run, tmp_path):
    (tmp_path / "bad.yaml").write_text("job: serve\nmodel: Llama-3-80B\nrequests_per_second: ten\nbatch: 3\n")
    (tmp_path / "bad.csv").write_text("gpu,usd_per_hour\nH100 SXM 80GB,-3\nHxx,1\n")
    status, out, err = run(tmp_path / "bad.yaml", "--prices", tmp_path / "bad.csv", "--compare", tmp_path / "none.yaml")
    assert (status, out) == (2, "")
    for fault in ("model: data/models.csv has no model 'Llama-3-80B'", "requests_per_second: 'ten'", "batch: not for the job serve",
                  "bad.csv, row 2", "bad.csv, row 3", "none.yaml"):
        assert fault in err
    assert run()[0] == 2 and run(CASES / "three_on_one.yaml", "--only", "1")[0] == 2
    assert run("--help")[0] == 0


@pytest.mark.parametrize("rows", ["1,9999", "0,1", "1,x", "1", "1,2,3", "\u0663,\u0664", "1," + "9" * 5000])
def test_choices_are_numbered_as_the_list_is(run, rows):
    status, out, err = run(CASES / "three_on_one.yaml", "--rows", rows)
    assert (status, out) == (2, "") and re.match(r"row \d+: not there; allowed: 1 to \d+$|ROWS=.*: allowed: two numbers", err)


def test_a_report_replaces_no_file_of_another_kind(run, tmp_path):
    case, page, prices = tmp_path / "own.yaml", tmp_path / "mine.html", tmp_path / "gpus.csv"
    case.write_bytes((CASES / "three_on_one.yaml").read_bytes())
    page.write_bytes(case.read_bytes())
    prices.write_text("gpu,usd_per_hour\nH100 SXM 80GB,2\n")
    (tmp_path / "link.html").symlink_to(page)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for read, out, told in [
            (case, case, "own.yaml: allowed: a name that ends in .html or .htm"), (case, prices, "allowed: a name that ends in"),
            (case, tmp_path / "report", "allowed: a name"), (page, page, "is the file of CASE"), (page, tmp_path / "link.html", "is the file of CASE")]:
        status, printed, err = run(read, "--report", out)
        assert (status, printed) == (2, "") and told in err
    assert run(case, "--report", page, "--compare", tmp_path / "link.html")[2].startswith(f"OUT={page}: is the file of COMPARE")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert run(case, "--report", tmp_path / "Report.HTM")[0] == 0 and (tmp_path / "Report.HTM").read_text().startswith("<!doctype html>")


def test_a_report_that_does_not_fit_on_the_disk_leaves_the_old_one(run, tmp_path, monkeypatch):
    page = tmp_path / "report.html"
    page.write_text("the old one")
    written = Path.write_text

    def full(path, text, **options):
        written(path, text[:100], **options)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_text", full)
    status, out, err = run(CASES / "three_on_one.yaml", "--report", page)
    assert (status, out) == (2, "") and "No space left on device" in err
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"] and page.read_text() == "the old one"


def test_prices_of_ones_own_are_marked(run, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text('gpu,usd_per_hour,provider\nH100 SXM 80GB,1.20,<script>alert(1)</script>\n')
    status, out, _ = run(CASES / "chat_70b.yaml", "--prices", mine)
    assert status == 0 and "<script>alert(1)</script>" in out
    assert "(not yours)" in out and "Prices: mine.csv, laid over the book of" in out


def own_file(folder, text, changed="2026-11-20"):
    """A file of prices, last changed on a day."""
    path = folder / "mine.csv"
    path.write_text(text)
    noon = datetime.datetime.fromisoformat(f"{changed}T12:00").timestamp()
    os.utime(path, (noon, noon))
    return path


def plain(out):
    return " ".join(out.split())


def test_a_price_of_one_gpu_is_billed_by_the_gpu(run, tmp_path):
    """Replicas of two GPUs at 2.95 USD/h each: three of them are six GPUs; sold eight at a time they are eight."""
    mine = own_file(tmp_path, "gpu,usd_per_hour\nH100,2.95\nA100,1.40\n")
    _, out, _ = run(CASES / "chat_70b.yaml", "--prices", mine, "--only", "1")
    assert "Take 6 × H100 SXM 80GB at " in plain(out) and "3 replicas of 2 GPUs, tensor parallel 2" in plain(out)
    month = 6 * 2.95 * 730
    assert f": {gpucalc.core.figures.dollars(month)} a month (" in plain(out)
    assert "taken as billed by the GPU, alone or in machines of 2, 4 or 8; a column gpus says otherwise" in plain(out)
    mine = own_file(tmp_path, "gpu,gpus,usd_per_hour\nH100,8,2.95\n")
    assert f": {gpucalc.core.figures.dollars(8 * 2.95 * 730)} a month (" in plain(run(CASES / "chat_70b.yaml", "--prices", mine, "--only", "1")[1])


@pytest.mark.parametrize("case", ["chat_70b", "own_8_h100", "lab_rtx6000"])
def test_an_odd_price_is_asked_about_wherever_it_decides(run, tmp_path, case):
    mine, page = own_file(tmp_path, "gpu,gpus,price\nH100,8,2.95\n"), tmp_path / "report.html"
    _, out, _ = run(CASES / f"{case}.yaml", "--prices", mine, "--report", page)
    for text in (plain(out), html.unescape(page.read_text(encoding="utf-8"))):
        assert "is 2.95 the price of one GPU in a row of 8? Then write 23.6, or put it under usd_per_hour" in text
        assert "H100 is taken as H100 SXM 80GB, not" in text and "term not stated: taken as on-demand" in text
        assert re.search(r"0\.369 USD/h for one H100 SXM 80GB, on-demand, is number 1 of (\d+) with the book's \d+, the cheapest first; their median is", text)


def test_the_terminal_counts_the_age_of_a_price_from_today(run, tmp_path, monkeypatch):
    """The same case on two days: no caution at first, a caution with the date six months later; and with a clock that is behind."""
    mine = own_file(tmp_path, "gpu,usd_per_hour\nH100,0.5\n")
    old = "The price at your provider is from 2026-11-20, 185 days ago: ask for a new one."
    for day, age, cautioned in (("2026-11-20", "your price of 2026-11-20", False), ("2026-11-24", "your price of 2026-11-20, 4 days old", False),
                                ("2027-05-24", "your price of 2026-11-20, 185 days old", True)):
        monkeypatch.setattr(cli_decide, "today", lambda day=day: datetime.date.fromisoformat(day))
        monkeypatch.setattr(ages, "today", cli_decide.today)
        out = plain(run(CASES / "chat_70b.yaml", "--prices", mine)[1])
        assert age in out and (old in out) == cautioned
        assert "date not stated: taken as 2026-11-20, when the file was last changed" in out
    out = plain(run(CASES / "own_8_h100.yaml")[1])
    assert re.search(r"Prices of 2026-11-09, 196 days old\.", out) and re.search(r"The price at .* is from 20\d\d(-\d\d-\d\d, |, up to )\d+ days ago", out)
    monkeypatch.setattr(cli_decide, "today", lambda: datetime.date(2026, 10, 1))
    out = plain(run(CASES / "chat_70b.yaml")[1])
    assert out.endswith("Prices of 2026-11-09.") and "days ago" not in out


def test_the_command_is_a_word_of_gpucalc(tmp_path):
    done = subprocess.run([sys.executable, "-m", "gpucalc", "decide", tmp_path / "none.yaml"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and "none.yaml" in done.stderr


# Side by side

def test_two_cases_side_by_side(book):
    found = compare(CASES / "chat_70b.yaml", CASES / "three_on_one.yaml", book).set_index("what")
    assert found.loc["model"].tolist() == ["Llama-3.3-70B", "Llama-3.2-1B", ""]
    assert found.loc["What does it cost?", "better"] == "second" and "USD a month" in found.loc["What does it cost?", "first"]
    assert "prompt" not in found.index, "what is the same is left out"


def test_jobs_of_different_kinds_are_not_compared(book, run):
    told = "serve is to serve a model to users, qlora to tune adapters on a model in four bits: the two differ in kind"
    with pytest.raises(ValueError, match="^" + re.escape(told)):
        compare(CASES / "chat_70b.yaml", CASES / "lab_rtx6000.yaml", book)
    status, out, err = run(CASES / "chat_70b.yaml", "--compare", CASES / "lab_rtx6000.yaml")
    assert (status, out) == (2, "") and err.startswith(told)


def test_a_case_beside_itself_is_the_same(book):
    found = compare(CASES / "three_on_one.yaml", CASES / "three_on_one.yaml", book)
    assert set(found["better"]) <= {"", "same"} and found["what"][0] == "take"


def test_two_choices_of_one_case(book):
    answer = deciding.answered(deciding.read(CASES / "chat_70b.yaml"), book)
    found = deciding.offers(answer, book, 1, 2).set_index("what")
    assert found.loc["why", "first"] == "the best" and found.loc["why", "second"].startswith("costs")
    with pytest.raises(ValueError, match=f"^row 9999: not there; allowed: 1 to {len(deciding.table(answer, answer_words.choices(answer)))}$"):
        deciding.offers(answer, book, 1, 9999)
    with pytest.raises(ValueError, match="^row 0: not there"):
        deciding.offers(answer, book, 0, 1)


@pytest.mark.parametrize(("one", "other", "real", "wins"), [
    ((1, 2, 3), (4, 5, 6), None, "first"), ((4, 5, 6), (1, 2, 3), None, "second"), ((1, 2, 3), (3, 4, 5), None, "tie"),
    ((1, 2, 3), (1, 2, 3), None, "same"), ((1, 2, 3), (1, 2, 3), 1, "same"), ((1, 2, 3), (1, 2, 4), 1, "tie"),
    # Where the ratio of the two is known within 1.25, ranges that meet say nothing.
    ((80, 100, 130), (100, 125, 160), 1.25, "first"), ((80, 100, 130), (99, 124, 160), 1.25, "tie"), ((3, 4, math.inf), (2, 3, 4), 1.25, "second"),
    ((80, 100, 130), (81, 101, 131), 1, "first"), ((1, 2, 3), (2, 3, 5), 4, "tie"), ((1, 2, 3), (4, 5, 6), 9, "first")])
def test_who_wins(one, other, real, wins):
    one, other = Figure(*one, None, "USD"), Figure(*other, None, "USD")
    swapped = {"first": "second", "second": "first"}.get(wins, wins)
    assert answer_words.better(one, other, "cost", real) == wins and answer_words.better(other, one, "cost", real) == swapped
    rates = [each._replace(low=each.high, high=each.low, unit="token/second") for each in (one, other)]
    assert answer_words.better(*rates, "fast", real) == swapped
    assert answer_words.better(None, other, "cost", real) == answer_words.better(one, other, "fits", real) == ""


def test_from_which_ratio_on_two_plans_differ():
    one = dict(kind="serve", model="Llama-3-70B", gpu="H100 SXM 80GB", tensor_parallel=4, batch=64, engine="vLLM", prompt=1000)

    def real(**other):
        return answer_words.apart(one, one | other)
    assert real() == 1 and real(gpu="H200 SXM 141GB") == pytest.approx(1.24) and real(prompt=2000) == pytest.approx(1.11)
    # The squares of the logarithms of 1.24, 1.16 and 1.22 add up: 0.2151, 0.1484 and 0.1989 to 0.3284.
    assert real(gpu="H200 SXM 141GB", tensor_parallel=1, batch=48) == pytest.approx(1.3887, abs=0.001)
    assert real(weight_format="FP8", engine="SGLang") == pytest.approx(math.exp(math.hypot(math.log(1.19), math.log(1.26))))
    assert {real(model="Qwen3-32B"), real(unmeasured=1), real(kind="offline"), answer_words.apart(one, {})} == {None}
    assert answer_words.apart(one | {"kind": "train"}, one | {"kind": "train"}) is None


def test_two_cases_are_told_apart_by_their_ratio(book):
    """A chat on A100 and on L40S, on H200 at prompts of 1,000 and 2,000: their ranges meet, and yet one is known to be better."""
    held = dict(job="serve", model="Llama-3-70B", weight_format="FP8", sure=0.5)
    a100, l40s, short, long = (
        deciding.answered(deciding.read(held | dict(cards=gpu, prompt=prompt, requests_per_second=rate)), book) for gpu, prompt, rate in (
            ("A100 SXM 80GB", 1000, 14), ("L40S 48GB", 1000, 14), ("H200 SXM 141GB", 1000, 10), ("H200 SXM 141GB", 2000, 10)))
    for one, other, figure, card, title in ((a100, l40s, "cost", "cost", "What does it cost?"), (short, long, "token", "fast", "How fast?")):
        pair = one.figures[figure], other.figures[figure]
        assert answer_words.better(*pair, card, None) == "tie" and pair[0].high >= pair[1].low
        assert deciding.beside(one, other, book).set_index("what").loc[title, "better"] == "first"
        assert deciding.beside(other, one, book).set_index("what").loc[title, "better"] == "second"


def test_an_engine_of_the_case_answers_and_has_its_own_command(book):
    """TensorRT-LLM adds 0.38 ms a layer before a first token, vLLM 0.57: 80 layers are 15 ms."""
    held = dict(job="serve", model="Llama-3-70B", requests_per_second=10, cards="H100 SXM 80GB", tensor_parallel=8)
    found = {engine: deciding.answered(deciding.read(held | ({"engine": engine} if engine else {})), book)
             for engine in ("", "vLLM", "TensorRT-LLM")}
    assert found[""].best == found["vLLM"].best
    one, other = (found[engine].case.but(tensor_parallel=8, batch=16, context=1000, gpu="H100 SXM 80GB",
                                           link="NVLink 4")("prompt_host_seconds")
                  for engine in ("vLLM", "TensorRT-LLM"))
    assert one - other == pytest.approx(80 * 0.19e-3)
    told = {engine: answer_words.told(each, book) for engine, each in found.items()}
    assert [command.text.startswith("vllm serve") for command in told["vLLM"].commands] == [True]
    assert [command.text.startswith("trtllm-serve") for command in told["TensorRT-LLM"].commands] == [True]


def test_a_card_of_no_measured_maker_says_so(book):
    """No row of an engine is of an Instinct card; of NVIDIA's there are many. A job that trains names no engine."""
    held = dict(job="serve", model="Llama-3-70B", requests_per_second=10)
    for cards, said in (("MI300X 192GB", True), ("H200 SXM 141GB", False)):
        answer = deciding.answered(deciding.read(held | {"cards": cards}), book)
        assert any("No engine has a measured run" in text for text in answer_words.told(answer, book).cautions) == said
    tuned = deciding.answered(deciding.read(TUNE | {"model": "Llama-3-70B", "cards": "MI300X 192GB"}), book)
    assert tuned.best is not None and not any("measured run" in text for text in answer_words.told(tuned, book).cautions)


# Cards that the reader has, and cards without a rent

OWN_LOAD = {"job": "serve", "model": "Qwen3-8B", "requests_per_second": 0.1}


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("own", [{}, {"own_cards": 2}], ids=str)
def test_every_card_answers_for_a_model_that_fits_it(book, own, step):
    """Without a price; one that is offered one at a time is the exception where it takes two."""
    found = {gpu: deciding.answered(deciding.read(OWN_LOAD | own | {"cards": gpu}), book) for gpu in [*rows("gpus")][::step]}
    without = ["P100 SXM 16GB", "P100 PCIe 16GB", "GTX 1080 8GB", "RTX 3080 10GB"] if own else ["TPU v5e 16GB"]
    assert [gpu for gpu, answer in found.items() if answer.best is None] == [gpu for gpu in without if gpu in found]
    for gpu, answer in found.items():
        told = answer_words.told(answer, book, *deciding.more(answer, book))
        assert gpu in told.headline or answer.best is None
        if answer.best and not answer.best["priced"]:
            said = [text for card in told.cards[-2:] for text in (card.big, card.small, card.note)]
            assert said[0] == ("Only power" if own else "Not known") and "0.00 " not in " ".join(said)
            assert math.isnan(deciding.table(answer, answer_words.choices(answer))["usd_per_hour"].astype(float)[0])


def test_cards_of_ones_own_cost_their_power(book):
    """At 0.30 USD/kWh: 350 W with what a server adds, at the usual PUE, for the hours of a month."""
    held = OWN_LOAD | {"cards": "RTX 3090 24GB", "own_cards": 2}
    best = deciding.answered(deciding.read(held | {"usd_per_kwh": 0.3}), book).best
    watts = 350 * DEFAULTS["server_power_factor"].value * catalogue.assumed("pue")
    assert best["usd_per_hour"] == pytest.approx(watts / 1000 * 0.3)
    assert best["serving_usd_per_month"] == pytest.approx(best["usd_per_hour"] * 2 * 730) and best["rented_gpus"] == 2


def test_the_most_that_own_cards_carry_is_carried_and_more_is_not(book):
    held = OWN_LOAD | {"cards": "RTX 3090 24GB", "own_cards": 2}
    most = deciding.answered(deciding.read(held), book).own["carried"]
    able = [deciding.answered(deciding.read(held | {"requests_per_second": most * times}), book) for times in (1, 1.02)]
    assert able[0].best and not able[1].best
    assert "Your cards do not meet the limits at this load" in answer_words.told(able[1], book).headline


def test_the_most_that_a_budget_carries_is_carried_and_more_is_not(book):
    held = {"job": "serve", "model": "Llama-3-70B", "requests_per_second": 10, "prompt": 1000, "output": 300, "usd_per_month": 5000}
    answer = deciding.answered(deciding.read(held), book)
    most = answer.own["carried"]
    kept = [deciding.answered(deciding.read(held | {"requests_per_second": most * share}), book).best for share in (1, 1.02)]
    assert answer.best is None and kept[0]["serving_usd_per_month"] <= 5000 and kept[1] is None
    assert f"For 5,000 USD a month the most within your limits is {figures.three_figures(most)} requests a second." in (
        answer_words.told(answer, book).headline)


def test_a_load_of_sessions_keeps_the_caches_that_memory_holds(book):
    """With turns the prompts are the session's and the cached share follows from what is kept: it fits beside what runs. One turn alone
    is a prompt as any; memory of the host makes it no dearer; a longer wait between turns makes it no cheaper."""
    case = {"job": "serve", "model": "Llama-3.3-70B", "weight_format": "FP8", "requests_per_second": 5, "cards": "H200 SXM 141GB"}
    session = {"turns": 20, "first_prompt": 8000, "turn_tokens": 1500, "think_seconds": 30}

    def best(more):
        return decide(case | more, book).attrs["answer"]

    answer = best(session)
    chosen = answering.of_choice(answer.case.but(**REPLICAS.given), answer.best)
    assert chosen("prefilled_tokens") == pytest.approx(25_100 - answer.best["kept_turns"] * (25_100 - 36_500 / 20))
    assert answer.best["kept_turns"] > 0.5 and 0 < chosen("held_kv_bytes") <= chosen("free_cache_bytes")
    one, alone = best(session | {"turns": 1, "first_prompt": 1000}), best({"prompt": 1000})
    assert all(one.best[name] == alone.best[name] for name in ("rented_gpus", "batch", "time_to_first_token", "serving_usd_per_month"))
    dear, cheap = (best(session | more).best["serving_usd_per_month"] for more in ({"think_seconds": 120}, {"host_cache_bytes": 1e11}))
    assert cheap <= answer.best["serving_usd_per_month"] <= dear and cheap < dear
    with pytest.raises(ValueError, match="prompt and turns: both given"):
        decide(case | session | {"prompt": 1000}, book)
    with pytest.raises(ValueError, match="first_prompt .*: missing; turns needs it"):
        decide(case | {"turns": 20, "turn_tokens": 10, "think_seconds": 1}, book)
