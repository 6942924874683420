"""Which GPU: the questions of a decision are its declared limits, and where they turn, the choice turns."""
import functools
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from book.pages import which_gpu
from book.pages.which_gpu import beside, Box, flowchart, jobs_picture
from gpucalc import Case
from gpucalc.core.quantities import DATA
from gpucalc.decisions.jobs import JOBS
from gpucalc.decisions.rule import Limit
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.case_file import read_case
from tests.close import close

ROOT, H100 = Path(__file__).parents[2], "H100 SXM 80GB"
BOOK = price_book.prices()
CHAT = Case(job="serve", model="Llama-3-8B", weight_format="FP8", cache_element_bytes=1, requests_per_second=5, prompt=1000, output=300,
            first_token_limit=1, token_limit=0.05)
TUNE = Case(job="qlora", model="Llama-3-8B", training_tokens=10**8)
CASES = {"serve": CHAT, "tune": TUNE, "embed": Case(job="embed", model="Llama-3-8B", window_requests=10**6, weight_format="BF16"),
         "batch": Case(job="batch", model="Llama-3-8B", window_requests=10**6, weight_format="FP8", cache_element_bytes=1)}
CHOSEN = ("chat_70b", "four_cards", *CASES)


@functools.cache
def wanted_of(key):
    return which_gpu.need(CASES[key] if key in CASES else read_case(DATA / "cases" / f"{key}.yaml"), BOOK)


@functools.cache
def asked_of(key):
    return which_gpu.questions(wanted_of(key))


@functools.cache
def best_of(key):
    return which_gpu.best(wanted_of(key))


# By hand


def test_a_model_of_the_largest_size_just_fits():
    room = which_gpu.sizes(wanted_of("serve"), [H100])[H100]
    alone = wanted_of("serve").case.but(gpu=H100, tensor_parallel=1, batch=1, context="final_context")
    bytes_each = alone("gpu_weight_bytes") / CHAT.rows["model"].params
    assert room * bytes_each + alone("kv_bytes") == close(alone("usable_bytes"))


# The questions

@pytest.mark.parametrize("key", CASES)
def test_the_questions_are_the_limits_in_their_order(key):
    assert [each.limit for each in asked_of(key)] == [limit for step in wanted_of(key).steps for limit in step.limits]


@pytest.mark.parametrize("key", CASES)
def test_what_stops_and_what_goes_on_add_up(key):
    left = len(set(wanted_of(key).solved()["plan"].kept["gpu"]))
    assert asked_of(key)[-1].left == left
    counts = [asked_of(key)[0].left + len(asked_of(key)[0].out), *(each.left for each in asked_of(key))]
    assert all(before - len(each.out) == after for before, after, each in zip(counts, counts[1:], asked_of(key), strict=False))


def test_a_new_limit_is_a_new_box():
    step = wanted_of("serve").steps[-1]
    added = Limit("rented_gpus", 1, "one GPU at most")
    wanted = wanted_of("serve")._replace(steps=(wanted_of("serve").steps[0], step._replace(limits=(*step.limits, added))))
    found = which_gpu.questions(wanted)
    assert found[-1].limit == added and len(found) == len(asked_of("serve")) + 1 and found[-1].out
    titles = [box.title for box in which_gpu.boxes(wanted, found, which_gpu.best(wanted))]
    assert titles[-2] == which_gpu.ASKED["rented_gpus"]


@pytest.mark.parametrize(("key", "name"), [("serve", "token_limit"), ("serve", "first_token_limit"), ("tune", "deadline_days")])
def test_a_choice_turns_where_its_question_says(key, name):
    wanted, each = wanted_of(key), next(each for each in asked_of(key) if each.limit.most == name)

    def least(most):
        kept = wanted.solved(**{name: most})["plan"].kept
        return kept[wanted.objective].min() if len(kept["gpu"]) else math.inf
    assert least(each.free) == close(least(math.inf)) and least(each.free * (1 - 1e-6)) >= least(math.inf)
    assert least(each.nearest * 0.97) == math.inf > least(each.nearest * (1 + 1e-9))
    assert least(each.asked) == close(best_of(key).plan)


@pytest.mark.parametrize("key", CHOSEN)
def test_no_plan_is_nearer_than_the_nearest(key):
    """Of every question with a limit of the case, also of the second one that a limit asks."""
    wanted = wanted_of(key)
    plan = which_gpu.best(wanted).row
    held = {place: each for place, each in enumerate(asked_of(key)) if each.asked is not None}
    assert held and all(each.nearest <= plan[each.limit.column] <= each.asked for each in held.values())
    steps = [(place, number) for place, step in enumerate(wanted.steps) for number in range(len(step.limits))]
    for at, each in held.items():
        place, number = steps[at]
        if wanted.steps[place].least and each.limit in wanted.steps[place].least.limits:
            for times, able in ((0.97, False), (1.0001, True)):
                assert (len(which_gpu._moved(wanted, place, number, times * each.nearest)["plan"].kept["gpu"]) > 0) == able, each.limit.of


def test_a_question_to_which_nothing_comes_says_no_least():
    """A full batch is never quick enough, so none is asked how late its tokens are."""
    none = which_gpu.need(CHAT.but(token_limit=1e-6), BOOK)
    early, late = (each for each in which_gpu.questions(none) if each.limit.most == "token_limit")
    assert 0.0001 < early.nearest < 0.05 and math.isnan(late.nearest)
    assert which_gpu._turns_in_words(none, late) == ("Your limit: at most 1 µs.",)


def test_a_shorter_deadline_takes_the_next_choice():
    each = next(each for each in asked_of("tune") if each.limit.of == "training_days")
    now, after = each.after
    assert now["compute_usd"] == close(best_of("tune").plan) and after["training_days"] < now["training_days"]
    kept = wanted_of("tune").solved(deadline_days=now["training_days"] * (1 - 1e-9))["plan"].kept
    assert kept["compute_usd"].min() == close(after["compute_usd"])


def test_degrees_count_the_kinds_of_gpu():
    found = which_gpu.degrees(wanted_of("serve"))
    assert found and set(found) <= {1, 2, 4, 8} and sum(found.values()) <= len(set(wanted_of("serve").tables["cards"]["gpu"]))


def test_the_ladder_has_the_format():
    found = which_gpu.ladder(wanted_of("serve"), H100)
    memory = catalogue.gpus().loc[found]["memory_bytes"]
    assert H100 in found and memory.is_monotonic_increasing and "T4 16GB" in found
    assert "T4 16GB" not in which_gpu.ladder(wanted_of("tune"), H100)


# Choices

def test_a_choice_is_close_where_bands_meet():
    for key, each in zip(CASES, map(best_of, CASES)):
        assert each.low <= each.plan <= each.high, key
        assert each.other is None or each.close == (each.other[f"low_{each.need.objective}"] <= each.high)


def test_what_nothing_serves_says_why():
    none = which_gpu.best(which_gpu.need(CHAT.but(token_limit=1e-6), BOOK))
    assert none.row is None and none.plan == math.inf and none.reason == "the time per token"
    assert which_gpu.answer_box(none).title == "No GPU on offer keeps all limits"
    cells = {("Llama-3-8B", "5/s"): none, ("Llama-3-8B", "tune"): best_of("tune")}
    assert "the time per token" in which_gpu.need_map(cells, "x").source and "none: the time per token" in which_gpu.need_table(cells, BOOK, "x").source


# Loads

def test_turns_of_a_load():
    found = pd.DataFrame(dict(load=[1.0, 2, 3, 4], gpu=["a", "a", "b", "b"], gpus=[1, 2, 1, 1], usd=[10.0, 20, 25, 25],
                              api=[8.0, 16, 24, 32]))
    assert which_gpu.api_turn(found) == 4 and list(which_gpu.steps(found)["load"]) == [1, 3]
    assert which_gpu.api_turn(found.assign(api=0.0)) == math.inf and which_gpu.api_turn(found.assign(api=99.0)) == 0


def test_loads_find_the_turn_between_two():
    found = which_gpu.loads(CHAT, BOOK, [0.1, 100])
    assert found["load"].is_monotonic_increasing and np.all(np.diff(found["usd"]) >= -1e-6)
    changed = found["gpu"] != found["gpu"].shift()
    ratio = found["load"] / found["load"].shift()
    assert len(found) > 2 and ratio[changed & ratio.notna()].min() < 1.03


# Pictures

def picture(key):
    return flowchart(key, key, which_gpu.boxes(wanted_of(key), asked_of(key), best_of(key), H100), which_gpu.finding(key, asked_of(key), best_of(key)))


@pytest.mark.parametrize("key", CASES)
def test_a_flowchart_has_a_box_for_each_question(key):
    source = picture(key).source
    assert source.count("<rect") == len(asked_of(key)) + 2 and "style=" not in source and "nan" not in source
    assert best_of(key).row["gpu"] in picture(key).plain


def test_every_box_leads_to_a_page():
    pages = {path.stem for folder in ("notebooks", "book") for path in (ROOT / folder).glob("*.md")}
    limits = {limit.of for job in JOBS.values() for step in job.chain for limit in step.limits}
    assert {which_gpu.lesson(name) for name in limits} <= pages and {"serving_cost", "break_even"} <= pages


def test_text_is_escaped_and_links_stay_on_the_site():
    source = beside(jobs_picture({"a": "<b>"}), flowchart("a", "t", [Box('"<i>', ("&",), "serving", "yes")], 'said "so"')).source
    assert "<b>" not in source and "<i>" not in source and "&amp;" in source
    assert set(re.findall(r'href="([^"]*)"', source)) == {"#flow-a", "serving.html"}
    assert re.findall(r'id="([^"]*)"', source) == ["flow-jobs", "flow-a"]


def test_the_map_shows_what_and_for_how_much():
    cells = {("Llama-3-8B", "5/s"): best_of("serve"), ("Llama-3-8B", "QLoRA"): best_of("tune")}
    drawn, listed = which_gpu.need_map(cells, "Map").source, which_gpu.need_table(cells, BOOK, "Table").source
    for choice in best_of("serve"), best_of("tune"):
        assert which_gpu.short(choice.row["gpu"]) in drawn and choice.row["gpu"] in listed
        assert BOOK.loc[choice.row["row"]]["sku"] in listed
    assert drawn.count("≈") == best_of("serve").close + best_of("tune").close and "style=" not in drawn
    assert which_gpu.short("RTX PRO 6000 Server 96GB") == "RTX PRO 6000" and which_gpu.short(H100) == "H100"
