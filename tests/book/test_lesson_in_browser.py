"""Lessons opened from a case, against Python: the figures of each step, its words, hostile text, and what is loaded when."""
import math
import re
import shutil
from itertools import zip_longest
from urllib.parse import quote, urlencode

import pytest

from book.build import charts
from book.build.extension import LESSON, lesson_scripts, STATIC
from book.build.finish import secured, versioned
from book.components.charts import slider_chart
from book.web import lessons
from gpucalc.core.evaluate import Case
from gpucalc.core.law import LAWS
from gpucalc.decisions.market import OWN_TERM
from gpucalc.decisions.rent_or_buy import rent_or_buy
from gpucalc.laws import kv_cache
from gpucalc.rows import case_file, catalogue
from tests import hostile
from tests.browser import ended, lay_out, visit
from tests.cases import SERVED

CASES = 12
# Lessons that are looked at first: a stage that is the slowest, steps that come to nothing, prompts in the band of a request, an API.
FIRST_OF_ALL = ("training_time", "serving_cost")
PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8" />
<meta name="viewport" content="width=device-width"><title>Lesson</title><link rel="stylesheet" href="lesson.css">
<script defer src="lesson.js"></script></head>
<body><main class="bd-article"><section><h1>Lesson</h1><p>Text.</p><h2 id="more">More</h2></section></main>
{template}</body></html>"""
READY = "() => document.querySelector('.lesson-links')"
STEPS = """() => [...document.querySelectorAll(".lesson-steps strong")]
  .map(({ dataset }) => [dataset.law, Number(dataset.value)])"""
OWN = [{"job": "rent_or_buy", "gpu": "H100 SXM 80GB", "gpus_per_server": 8, "utilization": 0.6, "years": 4},
       {"job": "rent_or_buy", "gpu": "A100 SXM 80GB", "utilization": 0.9, "term": "spot"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, scripts):
    """All lessons as short pages with the strict policy that every page has."""
    folder = tmp_path_factory.mktemp("lesson")
    lay_out(folder, [*LESSON, "lesson.js", "lesson.css"], scripts)
    for name in [*lessons.VIEWS, "commitments"]:
        (folder / f"{name}.html").write_text(secured(PAGE.format(template=lesson_scripts(""))), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def charted(folder, tmp_path_factory):
    """The lesson on the cache with a chart that has sliders."""
    chart = slider_chart(Case(model="Llama-3-8B"), {"cache": kv_cache.kv_bytes}, "context", [512, 1024],
                         {"batch": (1, 16, 1, 2), "cache_element_bytes": (1, 2, 1, 2), "layers": (1, 100, 9, 10),
                          "head_dim": (64, 128, 64, 64)}, "It grows.", "bytes")
    place, cache = folder / "charted", tmp_path_factory.mktemp("charts")
    place.mkdir()
    for name in [*LESSON, "lesson.js", "lesson.css"]:
        shutil.copy(folder / name, place)
    shutil.copy(STATIC / "charts.js", place)
    (place / "vega.js").write_text(charts.library(cache), encoding="utf-8")
    body = PAGE.replace("</head>", '<script defer src="vega.js"></script><script defer src="charts.js"></script></head>')
    body = body.replace("<p>Text.</p>", "{chart}").format(template=lesson_scripts(""), chart=charts.chart_html(chart.to_dict()))
    (place / "kv_cache.html").write_text(secured(charts.compile_charts(body, cache)), encoding="utf-8")
    return "charted/kv_cache"


@pytest.fixture
def opened(browser, folder):
    """Opens a lesson at an address; at the end nothing may have failed or run."""
    pages = []

    def open_(name, address="", **options):
        page = visit(browser, (folder / f"{name}.html").as_uri() + (f"#{address}" if address else ""), **options)
        pages.append(page)
        if address:
            page.wait_for_function(READY)
        return page

    yield open_
    ended(pages)


def go(page, address):
    """The panel of another case on the same page."""
    page.evaluate("(address) => { document.querySelector('.lesson-links')?.remove(); location.hash = address; }", address)
    page.wait_for_function(READY)


def address(held):
    return urlencode(held)


def answered(cases, count):
    """So many cases that have an answer, each kind of decision in turn."""
    kinds = {}
    for each in cases:
        if each.answer and each.answer.best is not None:
            kinds.setdefault(each.answer.kind, []).append((each.held, each.answer))
    in_turn = [each for turn in zip_longest(*kinds.values()) for each in turn if each]
    assert len(in_turn) >= count
    return in_turn[:count]


@pytest.fixture(scope="module")
def answers(cases):
    """Cases that have an answer, each with what Python makes of it; the first is served, which few of the others are."""
    return answered(cases, CASES)


def of_python(name, answer, book):
    view = lessons.VIEWS[name].get(answer.kind)
    if not view:
        return []
    best = answer.best
    if name == "break_even":
        return [] if best["term"] == OWN_TERM or not best["priced"] else bought(view, Case(gpu=best["gpu"], usd_per_hour=float(best["usd_per_hour"]), term=best["term"]), book)
    return lessons.worked(view, lessons.chosen(answer, book), best)


def bought(view, case, book):
    found = rent_or_buy(case, book)
    return [] if found.lacks else lessons.worked(view, found.deal.case(case.rows["gpu"]), {})


# What a lesson works out anew is what the answer has, but with prompts in chunks of one's own and with attention that is split.
OF_ANSWER = ("kv_cache", "serving", "serving_cost", "training_cost")
OTHERWISE = {"prompt_chunk", "attention_parallel"}


def test_the_steps_are_those_of_the_answer(answers, book):
    seen = set()
    for held, answer in answers:
        if OTHERWISE & {*held}:
            continue
        for name in OF_ANSWER:
            for law, value, _ in of_python(name, answer, book):
                if law in answer.best:
                    seen.add(law)
                    assert math.isclose(value, answer.best[law], rel_tol=1e-9), (held, name, law)
    assert seen >= {"answer_seconds", "time_per_output_token", "rented_gpus", "window_replicas", "window_usd", "compute_usd"}


# The words with numbers in place of names, as Python reads them.
READ = {" × ": "*", " / ": "/", " − ": "-", "−": "-", " ^ ": "**", "round up(": "ceil(", "round down(": "floor(",
        "square root(": "sqrt(", "ln(": "log(", ",000": "000"}
SAID = "(steps) => steps.map(([law, values]) => gpucalc.lessons.formulas[law].said(%s, values))"
FULL = "Object.fromEntries(Object.entries(values).map(([name, value]) => [name, `(${value})`]))"


def test_the_words_say_what_the_law_computes(opened, answers, book):
    """Each formula in words, with its numbers put in, gives the value."""
    page = opened("kv_cache", CHAT)
    steps = [step for _, answer in answers[::2] for name in lessons.VIEWS for step in of_python(name, answer, book)]
    for law, _, values in steps:
        for name in lessons.needed(LAWS[law]):
            if name not in values:
                values[name] = float(LAWS[name].formula(**{each: values[each] for each in LAWS[name].arguments}))
    finite = [(law, value, values) for law, value, values in steps if all(map(math.isfinite, values.values()))]
    for (law, value, _), said in zip(finite, page.evaluate(SAID % FULL, [[law, values] for law, _, values in finite])):
        text = said
        for word, sign in READ.items():
            text = text.replace(word, sign)
        assert math.isclose(eval(text, vars(math) | {"max": max, "min": min}), value, rel_tol=1e-9), (law, said)
    assert len({law for law, *_ in finite}) > 40


def same(wanted, found):
    assert [law for law, *_ in wanted] == [law for law, _ in found]
    assert all(math.isclose(value, other, rel_tol=1e-9) for (_, value, _), (_, other) in zip(wanted, found)), (wanted, found)


@pytest.mark.parametrize("count", [5, pytest.param(CASES, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", [*FIRST_OF_ALL, *(name for name in lessons.VIEWS if name not in FIRST_OF_ALL)])
def test_the_steps_of_random_cases_are_python_s(opened, answers, book, name, count):
    page, shown = opened(name), 0
    for held, answer in sorted(answers, key=lambda each: not of_python(name, each[1], book))[:count]:
        go(page, address(held))
        wanted = of_python(name, answer, book)
        same(wanted, page.evaluate(STEPS))
        shown += len(wanted)
        text = page.locator(".lesson-case").inner_text()
        assert not re.search(r"undefined|NaN|null|[{}$`]|No answer", text), text
        assert all(line.count("=") >= 2 or " in " in line for line in page.locator(".lesson-steps li").all_text_contents()), text
    assert shown


@pytest.mark.long
@pytest.mark.parametrize("held", OWN)
def test_rent_or_buy_has_its_lesson(opened, book, held):
    page = opened("break_even", address(held))
    same(bought(lessons.VIEWS["break_even"]["own"], case_file.case_of(held), book), page.evaluate(STEPS))
    page = opened("kv_cache", address(held))
    assert page.evaluate(STEPS) == [] and "nothing on your case" in page.locator(".lesson-case").inner_text()


def test_what_nobody_rents_out_has_hours_and_no_bill(opened):
    page = opened("training_cost", address({"job": "pretrain", "model": "Llama-3-8B", "training_tokens": 1_000_000_000,
                                            "cards": "MI350X 288GB", "region": "europe-west4"}))
    text = page.locator(".lesson-case").inner_text()
    assert "no firm rent of MI350X 288GB to price it" in text and "USD" not in text
    assert [law for law, _ in page.evaluate(STEPS)] == ["layout_gpu_hours", "planned_gpu_hours", "stopped_gpu_hours", "training_days"]


CHAT = urlencode(SERVED)


def test_nothing_is_loaded_without_a_case(opened, folder):
    page = opened("kv_cache")
    page.evaluate("location.hash = '#more'")
    page.wait_for_timeout(300)
    there = {"kv_cache.html", "lesson.js", "lesson.css"}
    assert {url.rpartition("/")[2].partition("#")[0] for url in page.requested} == there
    assert page.locator(".lesson-case").count() == 0 and (folder / "lesson.js").stat().st_size < 12_000
    go(page, CHAT)
    assert page.locator(".lesson-steps li").count() == 5
    page.evaluate("location.hash = '#more'")
    page.wait_for_timeout(300)
    assert page.locator(".lesson-steps li").count() == 5


def test_the_case_goes_on_to_other_lessons(opened):
    page = opened("kv_cache", CHAT)
    links = dict(zip(page.locator(".lesson-links a").all_text_contents(),
                     page.locator(".lesson-links a").evaluate_all("(all) => all.map((each) => each.getAttribute('href'))")))
    assert links["Back to your case"].startswith("index.html#job=serve&model=Llama-3-70B&")
    assert {link.partition(".")[0] for link in links.values()} == {
        "index", "model_size", "quantization", "arithmetic_intensity", "serving", "experts", "interconnect",
        "break_even", "serving_cost"}
    page.get_by_role("link", name="quantization").click()
    page.wait_for_function(READY)
    assert page.get_by_role("region", name="With your numbers").locator("li").count() == 3


SIGNALS = """() => Object.fromEntries(["batch", "cache_element_bytes", "layers", "head_dim"].map((name) => [name,
  gpuCharts[0].view.signal(name)]))"""
SLIDERS = """() => Object.fromEntries([...document.querySelectorAll("input[type=range]")]
  .map((each) => [each.name, each.valueAsNumber]))"""


@pytest.mark.long
@pytest.mark.parametrize("drawn", [False, True])
def test_sliders_stand_at_the_case_as_far_as_they_reach(opened, charted, answers, drawn):
    page = opened(charted, "" if drawn else CHAT)
    if drawn:
        go(page, CHAT)
    page.evaluate("window.drawAllCharts().then(() => true)")
    page.wait_for_function("() => gpuCharts[0].view && document.querySelector('[name=batch]').valueAsNumber === 16")
    stand = {"batch": 16, "cache_element_bytes": 2, "layers": 82, "head_dim": 128}
    assert page.evaluate(SIGNALS) == stand and page.evaluate(SLIDERS) == stand
    caption = page.locator(".lesson-soft").inner_text()
    assert f"batch 16 (yours, {answers[0][1].best['batch']:.0f}, is beyond its end)" in caption and "layers" in caption
    shown = page.locator(".chart-controls label", has=page.locator("[name=batch]")).inner_text()
    assert shown.endswith("16")


def test_the_scripts_of_a_lesson_have_their_checksums():
    found = versioned(lesson_scripts(), dict.fromkeys(LESSON, "0a1b"))
    assert re.findall(r'src="_static/([^"]*)"', found) == [f"{name}?v=0a1b" for name in LESSON]


def test_rents_of_ones_own_price_the_owned_hour(opened):
    page = opened("break_even", address(OWN[0] | {"rents": "gpu,usd_per_hour\nH100 SXM 80GB,1.25"}))
    text = page.locator(".lesson-case").text_content()
    assert "= 1.25 USD/h ×" in text, text


@pytest.mark.long
def test_a_lesson_without_formulas_says_so(opened):
    assert "nothing on your case" in opened("commitments", CHAT).locator(".lesson-case").inner_text()


def test_a_case_that_nothing_serves_has_no_numbers(opened):
    text = opened("serving", CHAT.replace("token_limit=0.05", "token_limit=0.000001")).locator(".lesson-case").inner_text()
    assert "No offer meets your limits" in text and "Back to your case" in text


@pytest.mark.long
def test_hostile_addresses_are_text(opened):
    page = opened("kv_cache", CHAT)
    for text in map(quote, hostile.IN_FIELDS):
        for case in (f"{CHAT}&{text}={text}", f"job=serve&model={text}&prompt={text}&requests_per_second=1", f"job={text}",
                     f"job=serve&model={text}&model_row=layers:80&rents={text}&requests_per_second=1"):
            go(page, case)
            assert page.locator(".lesson-case :is(script, img, iframe, object, svg)").count() == 0
            assert page.locator(".lesson-case h2").inner_text() == "With your numbers"


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_panel_fits_a_phone(opened, theme):
    case = CHAT.replace("cards=any", "cards=" + quote("H100 SXM 80GB"))
    page = opened("interconnect", case, viewport={"width": 390, "height": 800}, color_scheme=theme)
    assert page.evaluate("document.documentElement.scrollWidth <= 390")
    assert page.locator(".lesson-steps li").count() == 2


def test_the_views_name_what_there_is():
    for views in lessons.VIEWS.values():
        for view in views.values():
            case_file_names = {name for _, changes in lessons.shown(view) for name in changes}
            assert case_file_names <= set(catalogue.FINDERS)
    assert all(set(lessons.TEXTS[page]) == set(views) for page, views in lessons.VIEWS.items())
    assert list(lessons.TITLES) == list(lessons.VIEWS) and set(lessons.TITLES) == set(lessons.TEXTS)
