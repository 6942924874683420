"""The answers of the front page against Python's: random cases, what a reader types wrong, and the page by its own policy."""
import json
import math
import re
from unittest.mock import patch
from urllib.parse import quote

import numpy as np
import pytest
import yaml

from book.build.assets import ENGINE, FRONT
from book.build.finish import EMBED, secured
from book.web import front, pasted
from gpucalc import cli_decide
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions import answer as plan, answer_words, decide as deciding, jobs, owning_words, rent_or_buy, rule
from gpucalc.rows import case_file, choices, price_book
from gpucalc.rows.tables import rows
from tests import edges
from tests.browser import FORM, STATIC, lay_out, leave, serving, visit
from tests.gpucalc.test_engine_flags import PLANS

# What the first of many choices are compared by.
FIRST = 40
PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8" />
<meta name="viewport" content="width=device-width"><title>Front</title><link rel="icon" href="data:,"><link rel="stylesheet" href="front.css">{scripts}</head>
<body><main class="bd-article"><h1>What will it take?</h1>{form}</main></body></html>"""
ANSWERS = """(states) => states.map((state) => {
  const given = gpucalc.jobOf(state);
  if (given.faults.length) return { faults: given.faults.map(({ key }) => key) };
  try {
    const solved = gpucalc.ranged(gpucalc.answerTo(given)), { kept, objective, best } = solved, { words } = gpucalc;
    const limits = [...gpucalc.binding(solved)], binds = gpucalc.sortedBinds(limits), helps = gpucalc.sortedHelps([...gpucalc.helping(solved, limits)]), found = { ...solved, binds, helps };
    const rows = (kept.gpu ?? []).map((_, k) => Object.fromEntries(Object.entries(kept).map(([name, column]) => [name, column[k]])));
    const choices = words.compared(found, rows), known = words.case_facts(found, gpucalc.prices);
    const of = (name) => Array.from(kept[name] ?? []).slice(0, FIRST);
    return {
      kept: kept.gpu?.length ?? 0, objective,
      first: Object.fromEntries(["gpu", "provider", "term", "row", `low_${objective}`, objective, `high_${objective}`]
        .map((name) => [name, of(name)])),
      best: best && Object.fromEntries(Object.entries(best)), own: found.own, figures: found.figures,
      lost: Object.entries(found.lost).map(([gpu, { limit, value, most }]) => [gpu, limit.reason, value, most]),
      turns: [...gpucalc.turning(found)].filter(Boolean).map(({ change, gpu }) => [change.words, change.value, gpu]),
      binds, helps: helps.map(({ change, after }) => [change.words, after]),
      cards: best ? words.cards(found, known).map(({ big, small, note }) => [big, small, note]) : [],
      commands: words.commands(found, known).map(({ title, text, note, files }) => [title, text, note, files.map((each) => [each.title, each.text])]),
      sure: words.levels({ ...found, levels: gpucalc.levelsOf(found) }), headline: best && gpucalc.told.fill("headline", known),
      reasons: choices.map(({ gpu, layout, reason }) => [gpu, layout, reason]),
      said: [best ? words.binds(found, known) : [], words.helps(found).map((each) => words.helping(found, each)),
        best ? words.flips(choices).map(([, , text]) => text) : [], words.loosened(found, choices, known).map(([text]) => text)]
        .map(gpucalc.told.begun).concat([best ? words.cautions(known) : []]),
    };
  } catch (error) {
    return { error: error.message };
  }
})""".replace("FIRST", str(FIRST))


@pytest.fixture(scope="module")
def book():
    """The newest book, whose prices are as old as they are today, as in the browser."""
    return cli_decide.book_of_today(price_book.prices())


@pytest.fixture(scope="module")
def folder(tmp_path_factory, scripts):
    """A page of its own with the formulas, their data and the strict policy that every page has."""
    folder = tmp_path_factory.mktemp("front")
    lay_out(folder, [*ENGINE, *FRONT, "front.css"], scripts)
    tags = "".join(f'<script defer src="{name}"></script>' for name in [*ENGINE, *FRONT])
    (folder / "index.html").write_text(secured(PAGE.format(scripts=tags, form=FORM)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def page(browser, folder):
    page = visit(browser, (folder / "index.html").as_uri())
    yield page
    assert page.problems == []
    leave(page)


CHAT = dict(job="serve", model="Llama-3-70B", weight_format="FP8", requests_per_second=10, first_token_limit=1, token_limit=0.05)


# Random cases

@pytest.fixture(scope="module")
def answers(page, cases):
    """Of each random case what Python and the browser make of it."""
    return list(zip(cases, page.evaluate(ANSWERS, [each.held for each in cases])))


def close(one, other):
    """The same text, or the same number to 1e-9; NaN and infinities are numbers here."""
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return one == other
    return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-12) or (one != one and other != other)


def unlike(wanted, found):
    """Where two lists of lists differ."""
    if len(wanted) != len(found):
        return [(wanted, found)]
    return [(one, other) for one, other in zip(wanted, found) if len(one) != len(other) or not all(map(close, one, other))]


def test_the_browser_finds_the_same_choices(answers):
    done = 0
    for (held, answer, *_), found in answers:
        if answer is None:
            assert "no price" in found["error"], held
            continue
        assert set(found) > {"kept"}, (held, found)
        assert found["kept"] == rule.count(answer.kept), held
        columns = {name: [plain(each) for each in answer.kept.get(name, ())][:FIRST] for name in found["first"]}
        assert unlike(columns.values(), found["first"].values()) == [], held
        assert unlike([[*answer.own.values()]], [[*found["own"].values()]]) == [], held
        if answer.best is not None:
            done += 1
            names = [name for name in found["best"] if not isinstance(answer.best.get(name, ""), str)]
            assert len(names) > 40
            assert unlike([[answer.best[name] for name in names]], [[found["best"][name] for name in names]]) == [], held
    assert done >= len(answers) / 6


def plain(value):
    return value.item() if isinstance(value, np.generic) else value


def each_found(answers):
    return [(each, found) for each, found in answers if each.answer]


def test_figures_reasons_what_binds_and_what_helps_are_the_same(answers):
    for (held, answer, *_), found in each_found(answers):
        figures = [[name, *figure[:4]] for name, figure in answer.figures.items()]
        assert unlike(figures, [[name, *(each[end] for end in ("low", "plan", "high", "bound"))]
                                for name, each in found["figures"].items()]) == [], held
        lost = [[gpu, each.limit.reason, each.value, each.most] for gpu, each in answer.lost.items()]
        assert unlike(sorted(lost), sorted(found["lost"])) == [], held
        assert unlike(answer.binds, found["binds"]) == [], held
        assert unlike([[each.change.words, each.after] for each in answer.helps], found["helps"]) == [], held


def test_the_loads_that_turn_the_choice_are_the_same(answers):
    told = 0
    for each, found in each_found(answers):
        turned = [[change.words, change.value, gpu] for change, gpu in each.turns]
        assert unlike(turned, found["turns"]) == [], each.held
        told += len(turned)
    assert told


def told_of(commands):
    return [[*each[:3], [[file.title, file.text] for file in each.files]] for each in commands]


def test_what_is_said_is_the_same(answers):
    for (held, _, _, _, told), found in each_found(answers):
        assert [[card.big, card.small, card.note] for card in told.cards] == found["cards"], held
        assert told_of(told.commands) == found["commands"], held
        assert told.sure == found["sure"] and found["headline"] in (None, told.headline), held
        reasons = [[row["gpu"], row["layout"], row["reason"]] for row in told.rows]
        assert sorted(reasons) == sorted(found["reasons"]), held
        assert [told.binds, told.helps, told.flips, told.loosen, told.cautions] == [[text[:1].upper() + text[1:] for text in each]
                                                                                    for each in found["said"]], held


# Limits that are kept or not, with nothing to count.
FLAGS = {"doubtful_price", "doubtful_term", "forbidden", "lacks_format", "unrented", "unlinked", "link_misfits", "split_misfits",
         "spread_misfits", "layout_misfits", "trainer_misfits", "rollout_misfits", "excess_machines", "missing_places",
         "unpublished"}


def test_a_no_names_what_is_needed_and_what_is_there(cases, book):
    """Two numbers in each reason but those of a flag, and of a time that is never reached; one GPU may be a word."""
    more = [{"job": "serve", "model": "gpt-oss-120b", "requests_per_second": 1, "cards": "RTX 3090 24GB"} | each
            for each in ({}, {"tensor_parallel": 2}, {"own_cards": 2})]
    counted = 0
    for answer, told in [(each.answer, each.told) for each in cases if each.answer] + [
            (found := plan.answer(case_file.case_of(held), book), answer_words.told(found, book)) for held in more]:
        for row in told.rows:
            lost = answer.lost.get(row["gpu"])
            if not row["holds"] and lost.limit.of not in FLAGS and math.isfinite(lost.value):
                words = re.sub(r" (one|its|a machine)\b", " 1", row["reason"])
                assert len(re.findall(r"(?<![\w.,])[\d.,]*\d", words)) >= 2, row["reason"]
                counted += 1
    assert counted > 20
    assert told.headline.count("GB") == 3 and "65.2 GB" in told.headline and "51.5 GB" in told.headline


@pytest.mark.parametrize("held", [CHAT, {"job": "lora", "model": "Llama-3-8B", "training_tokens": 1e8},
                                  {"job": "embed", "model": "Llama-3-8B", "window_requests": 1e6}], ids=lambda held: held["job"])
def test_cards_that_nobody_rents_out_are_rows_as_in_python(page, book, held):
    for cards in ("H800 SXM 80GB", "M4 Max 128GB, Gaudi2 96GB", "A100 PCIe 40GB", "H800 SXM 80GB, H100 SXM 80GB"):
        answer = plan.answer(case_file.case_of(held | {"cards": cards}), book)
        told = answer_words.told(answer, book)
        found = page.evaluate("(state) => gpucalc.more(state, gpucalc.answer(state))", held | {"cards": cards})
        assert {row["gpu"] for row in told.rows} == set(cards.split(", "))
        assert [row["reason"] for row in told.rows if not row["holds"]] == [
            option["reason"] for option in found["options"] if option["gpus"] is None]
        if answer.best is None:
            assert told.headline == found["cards"][0]["note"]
            assert ("None of the GPUs that may be used is on offer" in told.headline) == all(
                lost.limit.of == "unrented" for lost in answer.lost.values())


@pytest.mark.parametrize("more", [{"prompt": 100_000}, {"prompt": 7893}, {"prompt": 7892}, {"prompt": 8000, "max_context": 32768},
                                  {"prompt_p95": 3800, "prompt": 1000, "max_context": 4000}], ids=str)
def test_what_a_model_cannot_read_is_said_as_in_python(page, book, more):
    held = {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "cards": "H100 SXM 80GB, L40S 48GB"} | more
    answer = plan.answer(case_file.case_of(held), book)
    told, found = answer_words.told(answer, book), page.evaluate("(state) => gpucalc.more(state, gpucalc.answer(state))", held)
    assert [row["reason"] for row in told.rows if not row["holds"]] == [option["reason"] for option in found["options"] if option["usd"] is None]
    read = max(held["prompt"], held.get("prompt_p95", 0)) + 300 <= held.get("max_context", 8192)
    assert (answer.best is not None) == read
    assert read or told.headline == found["cards"][0]["note"] and "Take a model with a longer context" in told.headline


def test_a_command_is_the_same_for_any_plan_and_any_name(page):
    """Every setting of the table, and names of strangers."""
    for each in PLANS:
        known = {"kind": "serve", "planned_replicas": 2, "memory_utilization": 0.9} | each
        assert page.evaluate("(known) => gpucalc.told.fill('command_vLLM', known)", known) == answer_words.fill("command_vLLM", known)
        assert page.evaluate("(known) => gpucalc.told.fill('run_note', known)", known) == answer_words.fill("run_note", known)


@pytest.mark.parametrize("more", [{"engine": "SGLang", "max_loras": 16, "lora_rank": 32}, {"engine": "TensorRT-LLM"},
                                  {"engine": "llama.cpp"}, {"model": "Qwen3-32B", "max_context": 131_072},
                                  {"turns": 20, "first_prompt": 8000, "turn_tokens": 1500, "think_seconds": 60}], ids=str)
def test_the_command_of_an_engine_and_its_log_are_as_in_python(page, book, more):
    held = {"job": "serve", "model": "Llama-3.3-70B", "weight_format": "FP8", "requests_per_second": 5, "cards": "H100 SXM 80GB"} | more
    answer = plan.answer(case_file.case_of(held), book)
    told = answer_words.told(answer, book, *deciding.more(answer, book))
    found = page.evaluate("(state) => gpucalc.more(state, gpucalc.answer(state))", held)
    assert [each[:3] for each in told_of(told.commands)] == [[each["title"], each["text"], each["note"]] for each in found["commands"]]
    folded = page.evaluate("(commands) => gpucalc.views.commands(commands, () => {}).map((each) => [...each.querySelectorAll('details pre')].map((pre) => pre.textContent))",
                           found["commands"])
    assert folded == [[file.text for file in each.files] for each in told.commands]
    assert len(told.commands) == 1 and [card.note for card in told.cards] == [card["note"] for card in found["cards"] if card["id"] != "decision"]


OWNED = [
    {"job": "rent_or_buy", "gpu": "H100 SXM 80GB"}, {"job": "rent_or_buy", "gpu": "H100 SXM 80GB", "utilization": 0.95, "years": 5},
    {"job": "rent_or_buy", "gpu": "A100 SXM 80GB", "provider": "AWS", "term": "reserved-3y", "sure": 0.5},
    {"job": "rent_or_buy", "gpu": "RTX 3090 24GB", "term": "spot"}, {"job": "rent_or_buy", "gpu": "H100 SXM 80GB", "region": "eu"},
]


@pytest.mark.parametrize("held", OWNED)
def test_rent_or_buy_is_said_as_in_python(page, book, held):
    case = case_file.case_of(held)
    told = owning_words.told(rent_or_buy.rent_or_buy(case, book), case, book)
    found = page.evaluate("(state) => gpucalc.answer(state)", held)
    cards = [[card.title, card.big, card.small, card.note] for card in told.cards]
    assert cards == [[card[part] for part in ("title", "big", "small", "note")] for card in found["cards"] if card["id"] != "decision"]
    assert sorted(told.flips) == sorted(flip["text"] for flip in found["flips"])
    assert bool(found["faults"]) == (not told.cards)


RENTS = ["gpu,usd_per_hour\nH100,0.95\nA100,1.40\n", "gpu,gpus,price\nH100,8,7.60\n", "gpu,usd_per_hour,term\nH100,0.95,spot\nB200,2,1 year\n",
         "gpu,gpus,usd_per_hour\nMI300X,,1.10\nMI300X,8,1.05\n", "gpu,usd_per_hour,quote\nH100,1.95,yes\nH200,9,no\n",
         "gpu,usd_per_hour,quote\nH100,2.95,yes\n"]


ASKING = [CHAT | {"prompt": 1000, "output": 300}, CHAT | {"prompt": 1000, "output": 300, "term": "spot"},
          {"job": "lora", "model": "Llama-3-8B", "training_tokens": 1e9, "gpus": 16}]


# Each file with one case; with the others it is a long test.
@pytest.mark.parametrize("rents, held", [pytest.param(rents, held, marks=[] if (row - column) % 3 == 0 else pytest.mark.long)
                                         for row, rents in enumerate(RENTS) for column, held in enumerate(ASKING)])
def test_rents_of_ones_own_are_laid_over_the_book_as_in_python(page, tmp_path, rents, held):
    path = tmp_path / "mine.csv"
    path.write_text(rents)
    found, = page.evaluate(ANSWERS, [held | {"rents": rents}])
    answer = plan.answer(case_file.case_of(held), price_book.prices(path))
    assert found["kept"] == rule.count(answer.kept)
    names = ["gpu", "provider", "term", answer.objective]
    assert unlike([found["first"][name] for name in names], [[plain(each) for each in answer.kept[name]][:FIRST] for name in names]) == []
    notes = [each["note"] for each in page.evaluate("(state) => gpucalc.decided(state)", held | {"rents": rents})["cards"] if each["id"] == "cost"]
    facts = answer_words.facts(answer, cli_decide.book_of_today(price_book.prices(path)))
    told = [each.note for each in answer_words.cards(answer, facts) if each.name == "cost"]
    assert [each.partition("; ")[2] for each in notes] == [each.partition("; ")[2] for each in told], "what the own price saves or adds"
    assert ("quote" in rents and held is ASKING[0]) <= ("; it saves " in told[0] or "; at your " in told[0])


def test_discounts_are_taken_off_as_in_python(page, book):
    """Also those of a savings plan, which has a term, and of two contracts."""
    for held in (ASKING[0] | {"discount": "AWS=80 %"}, ASKING[2] | {"discount": "runpod: 12.5 %, AWS=80 % reserved-1y", "term": "any"}):
        (found,), case = page.evaluate(ANSWERS, [held]), case_file.case_of(held)
        answer = plan.answer(case, deciding.priced(case, book))
        names = ["gpu", "provider", "term", "row", answer.objective]
        assert found["kept"] == rule.count(answer.kept) and "AWS" in found["first"]["provider"]
        assert unlike([found["first"][name] for name in names], [[plain(each) for each in answer.kept[name]][:FIRST] for name in names]) == []
    held = OWNED[0] | {"discount": "Massed Compute=30 %"}
    case = case_file.case_of(held)
    told = owning_words.told(rent_or_buy.rent_or_buy(case, deciding.priced(case, book)), case, deciding.priced(case, book))
    found = page.evaluate("(states) => states.map((state) => gpucalc.answer(state))", [held, OWNED[0]])
    assert [card.big for card in told.cards] == [card["big"] for card in found[0]["cards"] if card["id"] != "decision"] != [
        card["big"] for card in found[1]["cards"] if card["id"] != "decision"]
    wrong = page.evaluate("(texts) => texts.map((discount) => gpucalc.jobOf({ ...CHAT, discount }).faults)".replace("CHAT", json.dumps(CHAT)),
                          ["AWS 18", "AWS=18 %"])
    assert wrong[0][0]["text"].startswith("discount: 'AWS 18'; allowed: a provider and a share of 1 to 99 %") and wrong[1] == []
    state = CHAT | {"discount": "AWS=18 %, GCP=40 % reserved-1y"}
    text, there = page.evaluate("""(state) => [gpucalc.cases.yaml(state),
      gpucalc.cases.fromAddress(gpucalc.cases.address(state)).state]""", state)
    assert yaml.safe_load(text) == there == state


RUN = {"job": "qlora", "model": "Llama-2-7B", "training_tokens": 1e9, "epochs": 3}
BESIDE = [CHAT, CHAT | {"region": "eu, uk"}, CHAT | {"cards": "H100 SXM 80GB", "model": "Gemma-3-27B", "requests_per_second": 40},
          CHAT | {"model": "Llama-2-70B"}, RUN, RUN | {"term": "spot"}, RUN | {"term": "any"}, RUN | {"budget_usd": 90, "sure": 0.5},
          RUN | {"cards": "MI350X 288GB"}, CHAT | {"discount": "RunPod=30 %"}]


def test_what_stands_beside_a_plan_is_said_as_in_python(page, book):
    """The card of rent, buy or API, with spot beside a run, and what to be careful of, once all further solves are done."""
    said = set()
    for held in BESIDE:
        case = case_file.case_of(held)
        answer = plan.answer(case, priced := deciding.priced(case, book))
        told = answer_words.told(answer, priced, *deciding.more(answer, priced))
        found = page.evaluate("(state) => gpucalc.more(state, gpucalc.answer(state))", held)
        wanted = [[card.big, card.small, card.note] for card in told.cards if card.name == "ways"]
        assert wanted == [[card[part] for part in ("big", "small", "note")] for card in found["cards"] if card["id"] == "ways"], held
        assert told.cautions == found["cautions"], held
        said |= {*wanted[0]} | {*told.cautions} if wanted else {*told.helps}
    for words in ("on spot, where", "today and", "The cost is not firm", "With spot machines it can be done"):
        assert any(words in text for text in said), words


def test_a_budget_that_is_too_small_says_what_it_carries_as_in_python(page, book):
    held = CHAT | {"usd_per_month": 5000}
    answer = plan.answer(case_file.case_of(held), book)
    found = page.evaluate("(state) => gpucalc.answerTo(gpucalc.jobOf(state)).own", held)
    assert answer.best is None and found == pytest.approx(answer.own) and found


# What is wrong in a case

WRONG = [
    {}, {"job": "serv"}, {"job": "serve"}, {"job": "serve", "model": "Llama-9", "requests_per_second": 1},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": -1, "sure": 0.7, "gpus": 8},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "daily_users": 100},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "messages_per_day": 3},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1e19, "prompt": 1.5, "late_share": 0, "cached_share": 2},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": "10", "term": "monthly", "cards": "H100, any", "provider": ""},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "cards": "H100 SXM 80GB, H100 SXM 80GB",
     "region": "a\u202eb"},
    {"job": "pretrain", "model": "Llama-3-8B", "training_tokens": 1e9, "gpus": 0, "deadline_days": None, "recipe": "adam"},
    {"job": "images", "model": "Llama-3-8B"}, {"job": "rent_or_buy", "gpu": "H100", "years": 200},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "prompt_p95": 100, "output_p95": 1e6, "drafted": 3},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "prompt_p95": -5, "acceptance": 0.8},
    {"job": "grpo", "model": "Llama-3-8B", "rollout_steps": 9, "output": 3000, "output_p95": 9000, "output_limit": 2000},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "late_share": 1, "own_cards": 2},
    {"job": "batch", "model": "Llama-3-8B", "window_requests": 9, "usd_per_kwh": 1, "gpus_per_server": 2},
    {"job": "grpo", "model": "Llama-3-8B", "rollout_steps": 9, "output": 300, "output_p95": 900, "group_size": 1},
    {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 1, "__proto__x": 1, "<script>": "alert(1)"},
]


@pytest.mark.parametrize("held", WRONG)
def test_every_fault_of_a_case_is_found_at_once(page, held):
    with pytest.raises(ValueError) as refused:
        case_file.case_of(held)
    found = page.evaluate("(state) => gpucalc.jobOf(state).faults", held)
    lines = sorted(line.partition(" (")[0].partition(":")[0].partition(" ")[0] for line in str(refused.value).splitlines())
    texts = sorted(each["text"].partition(" (")[0].partition(":")[0].partition(" ")[0] for each in found)
    assert lines == texts
    # On numbers, and on what is missing or does not go together, both say the same.
    told = {each["text"] for each in found if each["key"] in QUANTITIES and "not for the job" not in each["text"]}
    assert {text.replace("1e+19", "10000000000000000000").replace("1e+06", "1000000") for text in str(refused.value).splitlines()} >= told


def test_what_is_fine_alone_is_judged_together_at_its_ends(page):
    """A 95th percentile from the mean to as far as a lognormal has it, a limit from the mean on, each card once and none beside `any`."""
    most, tuned = case_file.MOST_RATIO, dict(job="grpo", model="Llama-3-8B", rollout_steps=9, output=300, output_p95=900)
    held = [CHAT | dict(prompt=1000, prompt_p95=p95) for p95 in (0, 999, 1000, 1001, math.floor(1000 * most), math.ceil(1000 * most))]
    held += [tuned | dict(output_limit=limit) for limit in (0, 299, 300, 301)]
    held += [CHAT | dict(cards=cards) for cards in ("any", "H100 SXM 80GB", "H100 SXM 80GB, L4 24GB", "any, L4 24GB", "L4 24GB, L4 24GB", "")]
    held += [CHAT | dict(provider="x" * long) for long in (1, choices.LONGEST, choices.LONGEST + 1)]
    wanted = []
    for each in held:
        try:
            wanted.append(case_file.case_of(each) is None)
        except ValueError:
            wanted.append(True)
    assert page.evaluate("(states) => states.map((state) => gpucalc.jobOf(state).faults.length > 0)", held) == wanted
    assert 6 <= sum(wanted) <= len(wanted) - 6
    texts = page.evaluate("(texts) => texts.map((text) => gpucalc.jobOf({ job: text }).faults[0].text)", ["x" * 58, "x" * 59])
    assert texts[0].startswith(f"job: '{'x' * 58}'; ") and texts[1].startswith(f"job: '{'x' * 56}...; ")


def test_a_rent_of_ones_own_stands_for_those_of_its_term_alone():
    book = [{"gpu": gpu, "term": term, "usd_per_hour": usd} for gpu, term, usd in [
        ("A", "spot", 1), ("A", "on-demand", 2), ("A", "reserved-1y", 1.5), ("B", "on-demand", 3)]]
    own = [{"gpu": gpu, "term": term, "usd_per_hour": usd, "quote": quote} for gpu, term, usd, quote in [
        ("A", "on-demand", 0.5, False), ("A", "spot", 4, True), ("B", "on-demand", 9, False)]]
    found = [(rent["gpu"], rent["term"], rent["usd_per_hour"]) for rent in pasted.laid_over(book, own, "A")]
    assert found == [("A", "on-demand", 0.5), ("A", "spot", 1), ("A", "reserved-1y", 1.5), ("B", "on-demand", 3), ("A", "spot", 4)]


def test_a_flip_flips_and_a_bar_has_room(page):
    """At the rent of a flip its card is the choice; a bar ends a tenth beyond its last figure; an answer is kept for a few states."""
    shown = page.evaluate("(state) => gpucalc.more(state, gpucalc.answer(state))", CHAT)
    rents = [flip["value"] for flip in shown["flips"] if flip["key"] == "rents"]
    best = page.evaluate("(states) => states.map((state) => gpucalc.answerTo(gpucalc.jobOf(state)).best.gpu)", [CHAT, *(CHAT | {"rents": rent} for rent in rents)])
    assert rents and best[1:] == [rent.splitlines()[1].partition(",")[0] for rent in rents] and best[0] not in best[1:]
    bars = [card for card in shown["cards"] if card["scale"]]
    assert len(bars) > 3
    for card in bars:
        last = max(card[name] for name in ("low", "plan", "high", "bound") if card[name] is not None)
        assert card["low"] <= card["plan"] <= card["high"] and card["scale"][0] == 0 and card["scale"][1] > 1.0999 * last, card["id"]
        assert card["id"] == "fits" or card["scale"][1] == pytest.approx(1.1 * last), card["id"]
    # What is asked for again is what was answered, also to a state with a fault.
    assert page.evaluate("""() => {
      const one = (rate) => gpucalc.answer({ job: "serve", requests_per_second: -rate }), first = one(1), last = one(2), others = [3, 4, 5, 6, 7, 8];
      others.forEach(one);
      const kept = [one(1) === first];
      [9, 10, 11, 12, 13, 14, 15].forEach(one);
      return [...kept, one(1) === first, one(2) === last];
    }""") == [True, True, False]


@pytest.mark.long
@pytest.mark.parametrize("one_in", [4, 1])
def test_the_ends_of_what_may_be_given_are_the_same(page, book, one_in):
    """Every quantity at its least and its most, just outside and far from any number: a fault by name, or an answer as in Python, of one
    in so many."""
    states = [(name, {key: float(value) if key == name else value for key, value in held.items()}, fits) for name, held, fits in edges.cases()]
    found = page.evaluate("""(states) => states.map((state) => gpucalc.jobOf(state).faults)""", [held for _, held, _ in states])
    for (name, held, fits), faults in zip(states, found, strict=True):
        assert {fault["key"] for fault in faults} <= {name} and bool(faults) != fits, held
        if not fits:
            with pytest.raises(ValueError) as refused:
                case_file.case_of(held)
            assert faults[0]["text"].partition("; ")[2].partition(", such as")[0] in str(refused.value), held
    asked = [held for _, held, fits in states if fits and held["job"] != "rent_or_buy"][::one_in]
    best = page.evaluate("""(states) => states.map((state) => {
      const { best, objective } = gpucalc.answerTo(gpucalc.jobOf(state));
      return best && [best.gpu, best[objective]];
    })""", asked)
    with patch.object(plan, "helping", lambda *given: []):
        for held, one in zip(asked, best, strict=True):
            other = plan.answer(case_file.case_of(held), book)
            assert unlike([other.best and [other.best["gpu"], other.best[other.objective]]] if other.best else [], [one] if one else []) == [], held


def test_an_address_takes_what_a_case_may_give(page):
    """The form reads a value by the same rule. What it leaves out it names."""
    chosen = ("sure", "cache_element_bytes", "prompts_apart", "published_only")
    states = [(name, held, fits) for name, held, fits in edges.cases() if name not in chosen]
    texts = ["&".join(f"{key}={quote(str(value))}" for key, value in held.items()) for _, held, _ in states]
    found = page.evaluate("(texts) => texts.map((text) => gpucalc.cases.fromAddress(text))", texts)
    for (name, held, fits), each in zip(states, found, strict=True):
        assert (name in each["state"]) == fits and any(fault.startswith(f"{name}: ") for fault in each["faults"]) != fits, (held, each)


def test_an_axis_and_a_job_are_data(browser, tmp_path, book, monkeypatch):
    """An axis that a step tries, and a job that is a row: the browser answers as Python does, and no script names them."""
    monkeypatch.setenv("GPUCALC_STORE", "")
    replicas, servers = jobs.SERVE
    tried = replicas._replace(axes=replicas.axes | {"prompt_chunk": (0, 512, 2048)})
    monkeypatch.setitem(jobs.JOBS, "serve", jobs.SERVING._replace(chain=(tried, servers)))
    own = {"title": "summarize many texts", "prompt": 6000.0, "output": 150.0, "window_hours": 12.0}
    monkeypatch.setitem(rows("jobs"), "summaries", rows("jobs")["batch"] | own)
    lay_out(tmp_path, ENGINE, front.scripts(book))
    tags = "".join(f'<script defer src="{name}"></script>' for name in [*ENGINE, "front_state.js"])
    lay_out(tmp_path, ["front_state.js", "front.css"], {})
    (tmp_path / "index.html").write_text(secured(PAGE.format(scripts=tags, form="")), encoding="utf-8")
    page = visit(browser, (tmp_path / "index.html").as_uri())
    asked = [CHAT | {"cards": "H100 SXM 80GB", "prompt": 4000, "first_token_limit": 5},
             {"job": "summaries", "model": "Llama-3-8B", "window_requests": 1e6, "cards": "H100 SXM 80GB"}]
    for held, found in zip(asked, page.evaluate(ANSWERS, asked)):
        best = deciding.answered(deciding.read(held), book).best
        names = [name for name in found["best"] if not isinstance(best.get(name, ""), str)]
        assert len(names) > 40 and unlike([[best[name] for name in names]], [[found["best"][name] for name in names]]) == []
        assert best["prompt_chunk"] in tried.axes["prompt_chunk"] if held["job"] == "serve" else best["window_usd"] > 0
    assert page.problems == []
    leave(page)


# The page

CASE = "job=serve&model=Llama-3-70B&weight_format=FP8&requests_per_second=10&first_token_limit=1&token_limit=0.05"
FILLED = """() => document.querySelectorAll('.case-card').length >= 6 && document.querySelector('.case-options tr')
  && !document.querySelector('[aria-busy]') && /binds|Helps/.test(document.body.textContent)"""


def shown(page):
    page.wait_for_function(FILLED)
    return page.locator(".case-card").all_inner_texts(), page.locator(".case-options tr").count()


@pytest.mark.parametrize("lost", [*ENGINE, *FRONT])
def test_a_script_that_did_not_load_is_said(browser, folder, lost):
    """In the same words, whichever it is, and without a part of a form."""
    page = browser.new_page()
    page.route(f"**/{lost}", lambda route: route.abort())
    page.goto((folder / "index.html").as_uri())
    said = page.locator("#case")
    said.locator("p").wait_for(state="visible")
    assert said.inner_text().startswith("The form did not load") and said.locator("*").count() == 1
    page.context.close()


def test_a_case_survives_a_reload_and_asks_nobody(browser, folder):
    address = (folder / "index.html").as_uri()
    page = visit(browser, f"{address}#{CASE}")
    first = shown(page)
    page.reload()
    assert shown(page) == first and "USD a month" in " ".join(first[0])
    assert all(url.startswith(folder.as_uri()) for url in page.requested)
    assert page.problems == []
    leave(page)


TEXTS = """(address) => {
  const { state } = gpucalc.cases.fromAddress(address);
  const { cards } = gpucalc.more(state, gpucalc.answer(state));
  return cards.flatMap(({ big, small, note, binds }) => [big, small, note, binds]).filter(Boolean);
}"""
# Makes a worker that cannot load what answers.
WITHOUT = """window.Worker = class extends Worker {
  postMessage(message) { super.postMessage(message.scripts ? { scripts: ["gone.js"] } : message); }
}"""


def test_a_worker_answers_where_the_page_is_served(browser, folder, page):
    """The same as the page answers by itself, which has nothing to do."""
    with serving(folder) as address:
        served = visit(browser, f"{address}/index.html#{CASE}")
        for load in ("10", "200"):
            served.locator("#case-requests_per_second").fill(load)
            texts = page.evaluate(TEXTS, CASE.replace("second=10", f"second={load}"))
            served.wait_for_function("(texts) => texts.every((text) => document.getElementById('case').textContent.includes(text))",
                                     arg=texts)
            assert len(texts) > 15
            served.evaluate("() => { gpucalc.answer = () => { throw new Error('asked the page'); }; }")
        assert len(served.workers) == 1 and served.problems == []
        leave(served)


def test_the_page_answers_by_itself_where_a_worker_fails(browser, folder):
    with serving(folder) as address:
        page = browser.new_page()
        page.add_init_script(WITHOUT)
        page.goto(f"{address}/index.html#{CASE}")
        cards, _ = shown(page)
        assert not page.workers and "USD a month" in " ".join(cards)
        page.context.close()


# Records every text of the decision and of the card of ways, by whether the answer was settled then.
RECORDED = """addEventListener("DOMContentLoaded", () => {
  const said = window.said = [];
  new MutationObserver(() => {
    const cards = [...document.querySelectorAll(".case-card")].filter((each) => each.matches(".case-decision") || /Rent, buy/.test(each.textContent));
    const text = cards.map((each) => each.querySelector(".case-big").textContent).join(" | ");
    if (cards.length && said[said.length - 1] !== text) said.push(text);
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
})"""


VERDICTS = [CASE, CASE + "&ways=rent", "job=qlora&model=Llama-2-7B&training_tokens=2e7",
            "job=batch&model=Llama-3-8B&window_requests=1000000", "job=rent_or_buy&gpu=H100+SXM+80GB"]


def test_a_verdict_never_changes_after_it_is_shown(browser, folder, book):
    """From the first paint to the settled answer it is "comparing ..." and then the verdict of Python, by the page and by a worker."""
    with serving(folder) as served:
        where = dict.fromkeys(VERDICTS, served + "/index.html")
        pages = [(address, browser.new_page()) for address in (*VERDICTS, CASE)]
        for address, page in pages:
            page.add_init_script(RECORDED)
            page.goto(f"{where.pop(address, (folder / 'index.html').as_uri())}#{address}")
        for _, page in pages:
            page.wait_for_function("() => document.querySelector('.case-card') && !document.body.textContent.includes('comparing')")
        pages[-1][1].wait_for_timeout(1500)  # what binds and what helps come after the verdict
        for address, page in pages:
            decisions, ways = zip(*[[*each.split(" | "), ""][:2] for each in page.evaluate("said")])
            for texts in (decisions, ways):
                shown = [text for text in dict.fromkeys(texts) if not text.startswith("comparing")]
                assert len(shown) == 1 and texts[-1] == shown[0], texts
            case = case_file.case_of(page_state(address))
            told = (owning_words.told(rent_or_buy.rent_or_buy(case, book), case, book) if owning_words.is_owning(case) else
                    answer_words.told(found := plan.answer(case, book), book, *deciding.more(found, book)))
            assert decisions[-1] == told.headline
            page.close()


def page_state(address):
    pairs = (part.split("=") for part in address.replace("+", " ").split("&"))
    return {name: float(text) if re.fullmatch(r"[\d.e]+", text) else text for name, text in pairs}


def test_rents_of_ones_own_decide_and_stay_text(browser, folder):
    rents = "gpu,usd_per_hour,provider\nH100 SXM 80GB,0.1,<img src=x onerror=alert(1)>"
    page = visit(browser, f"{(folder / 'index.html').as_uri()}#{CASE}&rents={quote(rents)}")
    cards = " ".join(shown(page)[0])
    assert "H100 SXM 80GB" in cards and "your price" in cards and "<img" in page.locator("#case").inner_text()
    assert page.problems == []
    leave(page)


def test_text_of_a_price_file_ends_no_script():
    from book.web.javascript import literal

    assert literal(["</script>", "<!--", "a\u2028b"]) == '["\\u003c/script>","\\u003c!--","a\\u2028b"]'
    with pytest.raises(ValueError):
        literal([math.nan])


def test_cards_of_ones_own_are_said_in_the_sentence(browser, folder, book):
    """One card brings the blank for their number; with it nobody rents them, and free words fill it too."""
    page = visit(browser, f"{(folder / 'index.html').as_uri()}#{CASE}")
    sentence = page.locator(".case-sentence")
    assert not page.locator(".case-sentence #case-own_cards").count() and "from" in sentence.inner_text()
    page.locator("#case-cards").select_option("RTX 3090 24GB")
    own = page.locator(".case-sentence #case-own_cards")
    own.click()
    page.keyboard.type("16")
    page.keyboard.press("Enter")
    sentence.filter(has_text=" on my ").wait_for()
    assert own.input_value() == "16" and "own_cards=16" in page.url
    assert not page.locator(".case-sentence #case-provider").count() and page.locator(".case-more #case-usd_per_kwh").count() == 1
    own.fill("")
    page.keyboard.press("Enter")
    page.locator(".case-sentence #case-provider").wait_for()
    assert "own_cards" not in page.url
    page.locator("#case-words").fill("can my 2x3090 run gpt-oss-120b at 1 request a second")
    page.keyboard.press("Enter")
    told = answer_words.told(plan.answer(case_file.case_of({"job": "serve", "model": "gpt-oss-120b", "requests_per_second": 1,
                                                            "cards": "RTX 3090 24GB", "own_cards": 2}), book), book)
    page.wait_for_function("(text) => document.querySelector('.case-card').textContent.includes(text)", arg=told.headline)
    assert own.input_value() == "2" and "65.2 GB" in told.headline and "51.5 GB" in told.headline and page.problems == []
    leave(page)


def test_an_answer_alone_is_that_of_python_with_its_date_and_its_link(browser, folder, book):
    names = [*ENGINE, "front_state.js", "embed.js"]
    (folder / "embed.js").write_text((STATIC / "embed.js").read_text(encoding="utf-8"), encoding="utf-8")
    tags = "".join(f'<script defer src="{name}"></script>' for name in names)
    (folder / "embed.html").write_text(secured(EMBED % tags), encoding="utf-8")
    held = {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 5, "cards": "H100 SXM 80GB"}
    address = "job=serve&cards=H100+SXM+80GB&model=Llama-3-8B&requests_per_second=5"
    page = visit(browser, f"{(folder / 'embed.html').as_uri()}?case={quote(address)}")
    answer = plan.answer(case_file.case_of(held), book)
    told = answer_words.told(answer, book, *deciding.more(answer, book))
    link = page.locator("a")
    assert page.locator("h1").text_content() == told.headline or told.headline in page.locator("main").text_content()
    assert link.get_attribute("href").startswith("index.html#job=serve&") and "model=Llama-3-8B" in link.get_attribute("href")
    assert link.text_content() == f"GPU arithmetic, prices of {book.attrs['date']}" and page.problems == []
    leave(page)
    page = visit(browser, f"{(folder / 'embed.html').as_uri()}?case={quote('job=serve&model=Nonesuch')}")
    assert "Nonesuch" in page.locator("main").text_content()
    leave(page)
