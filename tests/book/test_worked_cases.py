"""Each worked case by plain arithmetic over the rows of the catalogue and the price book: its choice, what binds it, its hand check."""
import html
import math
import re
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree

import pytest
import yaml

from book.pages import cases as by_hand
from book.pages.cases import falling, GALLERY, gallery, ranges
from gpucalc.core.quantities import DATA
from gpucalc.decisions.answer import Figure, answer
from gpucalc.decisions.rent_own_or_api import ways
from gpucalc.decisions.rule import value_of
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.case_file import case_of, read_case
from gpucalc.rows.price_book import MissingPrice
from tests.pictures import faults

# Those of the front page alone have no page of their own.
CASES = sorted(path.stem for path in (DATA / "cases").glob("*.yaml") if path.stem not in ("own_8_h100", "tune_8b_24gb"))
SERVED = ["chat_70b", "four_cards", "house_or_api", "three_on_one", "two_million_serve"]
TRAINED = ["deadline_7b", "lab_rtx6000", "qlora_s3", "researcher_2000", "tokens_100b", "two_million_train"]
# The limit of the file that costs most.
BINDS = {"chat_70b": "token_limit", "deadline_7b": "deadline_days", "deepseek_nodes": "token_limit", "four_cards": "answer_limit",
         "grpo_32b": "deadline_days", "qlora_s3": "deadline_days",
         "two_million_train": "deadline_days"}
HOURS = 365 * 24 / 12
BOOK = price_book.prices()


@pytest.fixture(scope="module")
def found():
    """What each case comes to, by name, worked out once."""
    held = {}
    return lambda name: held.setdefault(name, by_hand.nearest(name, BOOK))


def params(model):
    """Parameters of a dense model: embeddings and head, attention, a gated MLP, two norms a layer and one at the end."""
    hidden, head = model["hidden"], model["head_dim"]
    attention = 2 * hidden * head * (model["heads"] + model["kv_heads"])
    heads = model["vocab"] * hidden * (1 if model.get("tied_embeddings", 0) else 2)
    return heads + model["layers"] * (attention + 3 * hidden * model["intermediate"] + 2 * hidden) + hidden


def test_the_gallery_has_every_case_with_its_question_and_the_way_to_your_case():
    assert sorted(GALLERY) == CASES
    shown = gallery({"house_or_api": by_hand.nearest("house_or_api", BOOK), "pretrain_405b": by_hand.nearest("pretrain_405b", BOOK)}, BOOK)
    served, trained = re.findall(r"<tr><td class=long>(.*?)</td></tr>", shown.source)
    assert ">Is an 8B model cheaper in house or from an API" in served and "long>An API, " in served and "Rented: " in served
    assert "16,384 × " in trained and all(f'href="{html.escape(by_hand.address(name))}"' in shown.source for name in ("house_or_api", "pretrain_405b"))


@pytest.mark.parametrize("name", CASES)
def test_the_address_leads_to_the_same_case(name):
    address = urlsplit(by_hand.address(name))
    held = {key: yaml.safe_load(value) if re.fullmatch(r"[\d.e+]+", value) else value for key, value in parse_qsl(address.fragment)}
    held = {key: float(value) if isinstance(value, str) and re.fullmatch(r"[\d.]+e\+?\d+", value) else value for key, value in held.items()}
    again, case = case_of(held), read_case(by_hand.case_file(name))
    assert address.path == "index.html" and " " not in by_hand.address(name)
    assert {key: row.name for key, row in again.rows.items()} == {key: row.name for key, row in case.rows.items()}
    assert again.inputs == pytest.approx(case.inputs, rel=1e-11)


# The choice

@pytest.mark.parametrize("name", SERVED)
def test_a_served_choice_by_hand(found, name):
    one, case, best = found(name), found(name).answer.case, found(name).answer.best
    load, held, model = by_hand.load(one.answer), by_hand.held(one.answer), case.rows["model"]
    rate = value_of(case, "requests_per_second")
    assert load.flight == pytest.approx(rate * best["request_seconds"]) and load.least <= load.replicas
    # One to spare, and no replica could be left out.
    assert best["planned_replicas"] - best["replicas_required"] == 1 and best["replicas_required"] >= load.flight / best["batch"]
    rent = BOOK.at[best["row"], "usd_per_hour"]
    servers = math.ceil(best["planned_replicas"] * best["tensor_parallel"] / best["gpus_per_server"])
    assert one.cost.plan == pytest.approx(servers * best["gpus_per_server"] * HOURS * rent) == pytest.approx(load.usd)
    assert one.cost.plan == min(one.answer.kept["serving_usd_per_month"])
    token = 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * case.inputs.get("cache_element_bytes", 2)
    context = value_of(case, "prompt") + value_of(case, "output")
    assert held.cache == pytest.approx(best["batch"] * context * token / best["tensor_parallel"])
    width = 1 if "weight_format" in case.rows else 2
    assert held.weights * best["tensor_parallel"] == pytest.approx(width * params(model), rel=0.04)
    assert held.need == pytest.approx(one.answer.figures["fits"].low, rel=0.002) and held.need < held.memory == best["memory_bytes"]


@pytest.mark.parametrize("name", TRAINED)
def test_a_run_by_hand(found, name):
    one, case, best = found(name), found(name).answer.case, found(name).answer.best
    run, model = by_hand.run(one.answer), case.rows["model"]
    tokens = case.inputs["training_tokens"] * case.inputs.get("epochs", 1)
    each = 4 if case.rows["job"].name == "qlora" else 6
    assert run.flops == pytest.approx(each * params(model) * tokens)
    assert run.hours == pytest.approx(run.flops / catalogue.gpu(best["gpu"])["peak_flops"] / best["mfu"] / 3600)
    assert best["run_gpu_hours"] == pytest.approx(max(run.hours, run.layout_hours))
    # One of the machines is set up for an hour, and each is paid for an hour at least.
    hours = max(run.paid * case.inputs.get("runs", 1) + best["gpus_per_server"], best["gpus"])
    assert run.usd == pytest.approx(hours * BOOK.at[best["row"], "usd_per_hour"])
    assert run.usd == pytest.approx(one.cost.plan, rel=1e-6) and run.days == pytest.approx(best["training_days"], rel=1e-6)
    assert one.answer.figures["fits"].high <= catalogue.gpu(best["gpu"])["memory_bytes"]


def test_sixteen_thousand_gpus_by_hand(found):
    one, longer = found("pretrain_405b"), by_hand.worked("pretrain_405b", BOOK, deadline_days=180)
    limit, sooner = one.case.rows["job"]["deadline_days"], by_hand.nearest("pretrain_405b", BOOK, deadline_days=30)
    assert one.answer.best["training_days"] < limit and one.first["gpus"] == one.case.inputs["gpus"] and one.told.loosen == []
    assert sooner.cost is None and sooner.answer.lost[sooner.first["gpu"]].value > 30 and f"{sooner.first['gpu']} comes nearest" in sooner.told.loosen[0]
    run = by_hand.run(longer.answer)
    assert run.flops == pytest.approx(6 * params(one.case.rows["model"]) * 15.6e12)
    assert longer.answer.best["run_gpu_hours"] == pytest.approx(max(run.hours, run.layout_hours))
    assert run.usd == pytest.approx(longer.cost.plan, rel=1e-6) and longer.answer.best["training_days"] < 180


# What binds

@pytest.mark.parametrize("name", [name for name in CASES if name != "pretrain_405b"])
def test_what_binds_costs_what_is_saved_without_it(found, name):
    one = found(name)
    assert [each for each, _ in one.answer.binds][:1] == [each for each in [BINDS.get(name)] if each]
    for limit, share in one.answer.binds:
        free = answer(read_case(by_hand.case_file(name)).but(**{limit: 1e9}), BOOK)
        assert min(free.kept[free.objective]) == pytest.approx(one.cost.plan * (1 - share))


@pytest.mark.parametrize("name", [name for name, limit in BINDS.items() if limit == "deadline_days" and name != "grpo_32b"])
def test_half_as_many_gpus_would_miss_the_deadline(found, name):
    """In the slow cases that the file wants to be in time, too. Half the GPUs of GRPO would do, and cost more."""
    answer = found(name).answer
    assert answer.best["training_days"] <= value_of(answer.case, "deadline_days") < 2 * answer.figures["long"].high


def test_a_fuller_batch_of_the_chat_would_be_too_slow(found):
    """At the next batch that is tried a token takes longer than the limit."""
    answer = found("chat_70b").answer
    best, limit = answer.best, answer.case.inputs["token_limit"]
    pace = best["time_per_output_token"] / best["batch"]
    assert best["time_per_output_token"] <= limit < best["time_per_output_token"] + 8 * pace


def test_the_deadline_of_four_cards_is_that_of_the_answer(found):
    best, case = found("four_cards").answer.best, found("four_cards").answer.case
    floor = by_hand.held(found("four_cards").answer).weights / catalogue.gpu(best["gpu"])["bandwidth"]
    assert floor < best["time_per_output_token"] and 200 * best["time_per_output_token"] < best["request_seconds"] < 5
    assert best["answer_seconds"] <= case.inputs["answer_limit"] < 200 * floor * best["tensor_parallel"] * 2


# What the pages add

def test_the_money_lasts_as_said(found):
    run, month = by_hand.worked("two_million_train", BOOK, term="on-demand", sure=0.9).cost, found("two_million_serve").cost
    lasts = by_hand.lasting(2e6, run, month)
    assert lasts[:3] == pytest.approx(((2e6 - run.high) / month.high, (2e6 - run.plan) / month.plan, (2e6 - run.low) / month.low))
    assert lasts.low <= lasts.plan <= lasts.high and lasts.low > 12, "the page says: many times over"


def test_an_api_by_hand(found):
    one = found("house_or_api")
    api = next(way for way in ways(one.answer.case, BOOK, one.answer.best).rows if way.way == "an API")
    bill = by_hand.bought(one.answer.case, BOOK, api.who)
    assert bill.requests == pytest.approx(5000 * bill.messages * 365 / 12) and bill.usd == pytest.approx(api.usd)
    assert api.usd < one.cost.low / 2, "the page says: sure"


def test_a_mixture_in_house_by_hand(found):
    one = found("gpt_oss_api")
    best, rate = one.answer.best, 200_000 * 10 / 8 / 3600
    load, held = by_hand.load(one.answer), by_hand.held(one.answer)
    assert load.rate == pytest.approx(rate) and load.flight == pytest.approx(rate * best["request_seconds"])
    assert load.usd == pytest.approx(best["rented_gpus"] * HOURS * best["usd_per_hour"]) == pytest.approx(one.cost.plan)
    # 116.8 billion weights: the experts in 4.25 bits, the two tables of the vocabulary and 36 attentions in 16.
    wide = 2 * 201_088 * 2880 + 36 * 2880 * 64 * (2 * 64 + 2 * 8)
    weights = (116_829_156_672 - wide) * 4.25 / 8 + wide * 2
    assert held.weights * best["tensor_parallel"] == pytest.approx(weights, rel=0.001)
    api = min(way.usd for way in ways(one.answer.case, BOOK, best).rows if way.way == "an API" and not way.doubt)
    assert api == pytest.approx(2e6 * 365 / 12 * (1000 * 0.05 + 300 * 0.2) / 1e6)


# In words and pictures

def test_a_figure_with_its_range():
    say = by_hand.spread
    assert say(Figure(900, 1000, 2500, None, "USD"), per=" a month") == "1,000 USD a month (8 in 10 between 900 and 2,500 USD)"
    assert say(Figure(3, 3, 3, None, "USD")) == "3 USD"
    assert say(Figure(2, 3, math.inf, None, "USD")) == "3 USD (from 2 USD; in the slowest tenth of cases it misses a limit)"
    assert say(Figure(2, 3, 4, None, "month"), "month") == "3 months (8 in 10 between 2 and 4 months)"


def test_what_no_offer_keeps_is_a_missing_price():
    with pytest.raises(MissingPrice, match="no offer that keeps the limits of the case pretrain_405b"):
        by_hand.worked("pretrain_405b", BOOK, deadline_days=30)


@pytest.mark.parametrize("name", ["chat_70b", "pretrain_405b", "tokens_100b"])
def test_the_table_has_five_and_says_why_of_all_others(found, name):
    one = found(name)
    shown, gpus = by_hand.shortlist(one.choices).source, one.choices["gpu"].drop_duplicates()
    able = len({*one.choices["gpu"][one.choices["reason"] == ""]})
    assert shown.count("<tr>") - shown.count("<thead>") == len(gpus) and shown.count("<td") >= 2 * len(gpus)
    assert ('<details class="answer">' in shown) == (len(gpus) > min(able, 5) > 0) and "nan" not in shown


@pytest.mark.parametrize("shown", [
    ranges([("a <b>", 1.0, 2.0, 3.0), ("c", 2.0, 3.0, math.inf)], "a wins", limit=("most", 2.5)), ranges([("a", 1.0, 1.0, 1.0)], "one", "days"),
    falling([("a", 10.0, 1.0), ("b", 0.0, 3.0)], 100.0, 60, "b ends first")])
def test_a_picture_is_whole_and_says_what_it_shows(shown):
    drawn = ElementTree.fromstring(shown.source)
    assert drawn.attrib["aria-label"] == shown.plain and drawn.attrib["role"] == "img"
    assert "nan" not in shown.source and "inf" not in shown.source
    assert faults(shown.source) == []
