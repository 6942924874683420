"""The page of drills against Python: every draw, every wrong turn, typed answers by keyboard at a phone's width, progress, addresses."""
import csv
import io
import json
import math
import re

import pytest

from book.build.extension import DRILLS
from book.build.finish import secured
from book.components import derivation
from book.components.formula import holding, is_share
from book.pages import drills as drill_page
from book.web import drills
from book.web.printed import figures_script, judging_script
from gpucalc.core import figures
from gpucalc.core.law import LAWS
from tests.book.test_notebooks import names_in_data
from tests.browser import ended, lay_out, leave, visit

EVERY, DRAWS = drills.drills(), 50
PHONE = dict(viewport={"width": 390, "height": 844})
PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8" />
<meta name="viewport" content="width=device-width"><title>Drills</title><link rel="stylesheet" href="drills.css">{scripts}</head>
<body><main class="bd-article"><section><h1>Drills</h1>{app}<h2>Sheet</h2>{sheet}</section></main></body></html>"""
DRAWN = """([names, draws]) => names.map((name) => {
  const found = new Map();
  for (let seed = 0; seed < draws; seed++) {
    const { choice, text, answer, mistaken } = gpucalc.drills.draw(name, seed), key = JSON.stringify(choice);
    if (found.has(key)) continue;
    const of = gpucalc.drills.of(name, choice), steps = gpucalc.drills.steps(of);
    found.set(key, [choice, text, answer, mistaken.map((each) => (Number.isFinite(each) ? each : null)),
      mistaken.map((each) => gpucalc.drills.judged(of, each)), of.answer, steps]);
  }
  return [name, [...found.values()]];
})"""
READ = """([name, texts]) => texts.map((text) => gpucalc.drills.read(text, name))"""
TOKEN = "drill=kv-token&seed=7"
BLOCKED = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } });"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The page with the strict policy that every page has."""
    folder = tmp_path_factory.mktemp("drills")
    lay_out(folder, [*DRILLS, "drills.css"], {"drills_data.js": drills.script() + judging_script(), "figures.js": figures_script()})
    scripts = "".join(f'<script defer src="{name}"></script>' for name in DRILLS)
    page = PAGE.format(scripts=scripts, app=drill_page.app().source, sheet=drill_page.sheet().source)
    (folder / "drills.html").write_text(secured(page), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def shared(browser, folder):
    """One page for what leaves no trace on it."""
    page = visit(browser, (folder / "drills.html").as_uri(), **PHONE)
    yield page
    ended([page])


@pytest.fixture
def opened(browser, folder):
    """Opens the page at an address; at the end nothing may have failed or run."""
    pages = []

    def open_(address="", script="", **options):
        if script:
            # In a context of its own: a tab keeps what it runs first, and may be handed on.
            page = visit(browser.new_context(**PHONE | options), "about:blank", drawn=False)
            page.add_init_script(script)
            page.goto(f"{(folder / 'drills.html').as_uri()}#{address}")
        else:
            page = visit(browser, f"{(folder / 'drills.html').as_uri()}#{address}", **PHONE | options)
        pages.append(page)
        return page

    yield open_
    ended(pages)


def close(one, other):
    return math.isclose(one, other, rel_tol=1e-9)


def in_python(law, case):
    """A step as the lessons' formulas say it."""
    def printed(name, value):
        return figures.percent(value) if is_share(name) else figures.quantity(name, value)
    step = case.explain(law).steps[-1]
    text = drills.unbounded(derivation.said(holding(LAWS[law], step), "{{{}}}".format), case, step.value)
    said = drills.BLANK.sub(lambda blank: derivation.called(blank[1]), text)
    values = drills.BLANK.sub(lambda blank: printed(blank[1], inner(blank[1], step)), text)
    return dict(law=law, called=derivation.called(law), said=said, numbers=values, result=printed(law, step.value))


def inner(name, step):
    """An argument, or another law that stands in the words of one."""
    if name in step.arguments:
        return step.arguments[name]
    return LAWS[name].formula(**{each: step.arguments[each] for each in LAWS[name].arguments})


def test_every_drill_drawn_fifty_times_is_what_python_says(opened):
    found = opened().evaluate(DRAWN, [list(EVERY), DRAWS])
    assert [name for name, _ in found] == list(EVERY) and sum(len(draws) for _, draws in found) > 5 * len(EVERY)
    for name, place, (choice, text, answer, mistaken, judged, again, steps) in (
            (name, place, draw) for name, draws in found for place, draw in enumerate(draws)):
        one = EVERY[name]
        case = one.case(choice)
        assert text == one.asked(case) and close(answer, one.answer(case)) and answer == again, (name, choice)
        expected = one.mistaken(case)
        for value, other in zip(mistaken, expected, strict=True):
            assert math.isnan(other) if value is None else close(value, other), (name, choice, mistaken, expected)
        for law, step in zip(one.steps, steps, strict=True):
            assert step == in_python(law, case), (name, choice)
        for value, verdict in zip(mistaken, judged):
            if value is not None and place < 3:
                counts, turn = one.judged(case, value)
                assert (verdict["counts"], verdict["turn"]) == (counts, turn), (name, choice, value)


def test_each_wrong_turn_is_recognised_when_its_value_is_typed(opened):
    """By its own sentence, or by that of a turn which comes to the same number."""
    told = opened().evaluate("""([names, draws]) => names.map((name) => {
      const told = new Set();
      for (let seed = 0; seed < draws; seed++) {
        const drawn = gpucalc.drills.draw(name, seed);
        drawn.mistaken.forEach((value, turn) => {
          const read = Number.isFinite(value) ? gpucalc.drills.read(value.toPrecision(5), name).value : NaN;
          const found = gpucalc.drills.judged(drawn, read).turn;
          const same = found !== null && Math.abs(drawn.mistaken[found] / value - 1) < 0.001;
          if (found === turn || same) told.add(turn);
        });
      }
      return [name, [...told]];
    })""", [list(EVERY), DRAWS])
    assert {name: turns for name, turns in told if len(turns) < len(EVERY[name].wrong)} == {}


def test_a_link_gives_the_same_numbers(opened):
    page = opened(TOKEN)
    text = page.inner_text("#drill-question")
    assert opened(TOKEN).inner_text("#drill-question") == text == page.evaluate("gpucalc.drills.draw('kv-token', 7).text")
    texts = page.evaluate("Array.from({ length: 50 }, (_, seed) => gpucalc.drills.draw('kv-token', seed).text)")
    assert len(set(texts)) == math.prod(map(len, EVERY["kv-token"].draw.values())), "each draw comes up"


# What can be typed

@pytest.mark.parametrize("name, typed, value", [
    ("kv-batch", "140", 140), ("kv-batch", " 140 GB ", 140), ("kv-batch", "0.14 TB", 140), ("kv-batch", "140G", 140), ("kv-batch", "1.4e2", 140),
    ("kv-batch", "12,500", 12500), ("kv-batch", "12 500 MB", 12.5), ("kv-batch", "13 GiB", 13 * 2**30 / 1e9), ("kv-batch", "13gib", 13 * 2**30 / 1e9),
    ("kv-batch", "140 gb", 140), ("kv-batch", "500 mb", 0.5), ("kv-batch", "~ 140", 140), ("kv-batch", "1.4 x 10^2", 140), ("kv-batch", ".5", 0.5),
    ("kv-batch", "140e9 B", 140), ("kv-longest", "1.2e6", 1.2e6), ("kv-longest", "1.2 million", 1.2e6), ("kv-longest", "500k", 5e5),
    ("kv-longest", "508,934 tokens", 508934), ("serve-request", "4 s", 4), ("serve-request", "4000 ms", 4), ("serve-request", "0.1 min", 6)])
def test_what_is_read(shared, name, typed, value):
    [found] = shared.evaluate(READ, [name, [typed]])
    assert "fault" not in found and close(found["value"], value), found


@pytest.mark.parametrize("name, typed, said", [
    ("kv-batch", "", "Type a number, such as 120, or 120 GB"), ("kv-batch", "many", "“many” is no number"),
    ("kv-batch", "12,5", "A comma parts thousands"), ("kv-batch", "12,50 GB", "A comma parts thousands"), ("kv-batch", "-5", "above 0"),
    ("kv-batch", "0", "above 0"), ("kv-batch", "5 km", "“km” is no unit of this answer. Allowed: kB, MB"), ("kv-batch", "5 Gb", "no unit"),
    ("kv-batch", "5 6", "no unit"), ("kv-batch", "1e999", "larger than a computer counts"), ("kv-batch", "5 s", "no unit"),
    ("kv-longest", "5 GB", "no unit of this answer. Allowed: k, million"), ("serve-request", "5 GB", "Allowed: ms, s, min"),
    ("kv-batch", "<img src=x onerror=ran=1>", "is no number"), ("kv-batch", "1" * 400, "larger than a computer counts")])
def test_what_is_refused(shared, name, typed, said):
    shared.evaluate("(address) => { location.hash = ''; location.hash = address; }", f"drill={name}&seed=1")
    shared.wait_for_function("() => document.getElementById('drill-answer')?.value === ''")
    shared.fill("#drill-answer", typed)
    shared.keyboard.press("Enter")
    assert said in shared.inner_text("#drill-verdict")
    assert shared.evaluate(f"gpucalc.drills.progress.of('{name}')") is None


# A session by keyboard

def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.textContent")


def type_in(page, text):
    page.keyboard.type(str(text))
    page.keyboard.press("Enter")


def test_from_memory_three_questions_are_on_one_system_and_hide_their_constants(opened):
    page = opened("level=4")
    page.get_by_label("Questions").select_option("20")
    page.get_by_role("button", name="Start").click()
    asked = []
    for place in range(20):
        question = page.inner_text("#drill-question")
        assert "Within a factor of two is near enough." in page.inner_text("#drill-app .drill-soft >> nth=0")
        asked.append(question)
        page.get_by_role("button", name="Show the steps").click()
        page.get_by_role("button", name="Next question" if place < 19 else "See the result").click()
    named = [{name for name in names_in_data() if name in question} for question in asked]
    assert all(set.intersection(*named[first:first + 3]) for first in range(0, 18, 3)), asked
    assert not any(word in " ".join(asked) for word in (" layers", "query heads", "dense and reads", "parameters of"))


def test_right_and_wrong_answers_by_keyboard(opened):
    page = opened(TOKEN)
    right, heads = page.evaluate("(({ answer, mistaken }) => [answer, mistaken[0]])(gpucalc.drills.draw('kv-token', 7))")
    assert focused(page) == "drill-answer" and page.get_by_label("Your answer").count() == 1
    type_in(page, right * 50)
    assert "Not yet. That is too large by a factor of 50." in page.inner_text("#drill-verdict") and focused(page) == "drill-answer"
    type_in(page, f"{heads:.4g}")
    assert "You used the query heads" in page.inner_text("#drill-verdict")
    type_in(page, f"{right * 1.05:.6g} kB")
    said = page.inner_text("#drill-verdict")
    assert "Right at try 3. It is " + figures.in_unit(right, "kB") in said and focused(page) == "Next question"
    assert "KV heads" in page.inner_text(".drill-steps") and figures.in_unit(right, "kB") in page.inner_text(".drill-steps")
    page.keyboard.press("Enter")
    assert "Question 2 of 5" in page.inner_text("#drill-title") and focused(page) == "drill-answer"
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("#drill-verdict").get_attribute("role") == "status"
    had = page.evaluate("gpucalc.drills.progress.of('kv-token')")
    assert (had["tries"], had["right"], had["helped"], had["turns"][0]) == (1, 0, 1, 1) and re.match(r"\d{4}-\d\d-\d\d$", had["last"])


def test_a_right_answer_of_a_wrong_turn_counts_and_says_so(opened):
    page = opened(TOKEN)
    type_in(page, f"{page.evaluate('''gpucalc.drills.draw('kv-token', 7).mistaken[2]'''):.5g}")
    said = page.inner_text("#drill-verdict")
    assert said.startswith("Right.") and "It counts, but: That is in KiB" in said


def test_a_session_ends_with_its_result_and_repeats_what_was_missed(opened):
    page = opened("topic=kv_cache&level=3")
    assert page.is_checked("input[value=kv_cache]") and page.locator("select[name=level]").input_value() == "3"
    page.select_option("select[name=count]", "5")
    page.get_by_role("button", name="Start").press("Enter")
    asked = []
    for number in range(5):
        if number == 0:
            page.get_by_role("button", name="Hint").press("Enter")
            assert "Hint. " in page.inner_text("#drill-hint-said") and focused(page) == "drill-answer"
        page.get_by_role("button", name="Show the steps").press("Enter")
        asked.append(re.search(r"drill=([\w-]+)", page.locator("#drill-after a").last.get_attribute("href"))[1])
        page.keyboard.press("Enter")
    assert page.inner_text("#drill-app h3") == "0 of 5 right" and asked[4] == asked[0], "missed, it came again after three others"
    assert len(set(asked[:3])) == 3
    assert page.locator("#drill-app table tbody tr").first.inner_text().split()[-3:] == ["0", "0", "5"]


def test_progress_is_kept_saved_and_cleared(opened):
    page = opened(TOKEN)
    type_in(page, page.evaluate("gpucalc.drills.draw('kv-token', 7).answer"))
    page.reload()
    page.evaluate("location.hash = 'topic='")
    page.get_by_text("Your progress").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    [row] = csv.DictReader(io.StringIO(saved.value.path().read_text()))
    assert (row["drill"], row["topic"], row["tries"], row["right"], row["last_result"]) == ("kv-token", "kv_cache", "1", "1", "right")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as JSON").click()
    assert json.loads(saved.value.path().read_text())["drills"]["kv-token"]["right"] == 1
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("button", name="Keep it").click()
    assert page.evaluate("gpucalc.drills.progress.of('kv-token').right") == 1
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("button", name="Yes, clear it").click()
    assert "Nothing yet." in page.inner_text(".drill-progress") and page.evaluate("localStorage.length") in (0, 1)
    assert page.evaluate("gpucalc.drills.progress.of('kv-token')") is None


@pytest.mark.long
def test_blocked_storage_and_what_is_no_progress_are_borne(opened):
    page = opened(TOKEN, BLOCKED)
    type_in(page, page.evaluate("gpucalc.drills.draw('kv-token', 7).answer"))
    assert page.inner_text("#drill-verdict").startswith("Right.")
    page.evaluate("location.hash = 'topic='")
    page.get_by_text("Your progress").click()
    assert "This browser keeps nothing" in page.inner_text(".drill-progress")
    for held in ("{", "[1]", '{"kv-token": {"result": "right", "tries": "<img src=x onerror=ran=1>", "turns": 5}, "__proto__": 3, "x": null}'):
        page = opened("", f"localStorage.setItem('gpucalc drills', {json.dumps(held)});")
        assert page.get_by_role("button", name="Start").is_enabled()


@pytest.mark.parametrize("address", ["drill=nothing", "drill=__proto__", "topic=nothing&level=9", "drill=kv-token&seed=x", "seed=1", "%", "=&&="])
def test_an_address_that_says_nothing_is_borne(opened, address):
    page = opened(address)
    assert page.locator("#drill-app form").count() == 1
    if address == "drill=nothing":
        assert "There is no drill of the name in the address" in page.inner_text("#drill-app")


@pytest.mark.long
def test_a_sheet_is_printed_with_its_key(opened):
    page = opened("topic=kv_cache", "window.print = () => { window.printed = true; };")
    static = page.locator("#drill-sheet li").count()
    assert static == 2 * sum(len(drill_page.shown(topic)) for topic in drills.topics())
    page.get_by_role("button", name="Print a sheet").click()
    assert page.evaluate("window.printed") and page.locator("#drill-sheet > ol > li").count() == 10
    assert page.locator(".drill-key li").count() == 10 and page.locator("#drill-sheet .drill-line").count() == 10
    page.emulate_media(media="print")
    assert not page.locator("#drill-app").is_visible() and page.locator("#drill-sheet > ol").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.drill-key')).breakBefore") == "page"
    first = page.evaluate("gpucalc.drills.sheet(['kv-token'], 1, 4711).map(({ text, answer }) => [text, answer])")
    assert page.evaluate("gpucalc.drills.sheet(['kv-token'], 1, 4711).map(({ text, answer }) => [text, answer])") == first
    assert figures.in_unit(first[0][1], "kB") in page.inner_text(".drill-key")


def test_without_a_script_the_sheet_stands(browser, folder):
    page = visit(browser, (folder / "drills.html").as_uri(), drawn=False, java_script_enabled=False, **PHONE)
    assert "No script runs now" in page.inner_text("#drill-app") and page.locator("#drill-sheet > ol > li").count() == sum(
        len(drill_page.shown(topic)) for topic in drills.topics())
    leave(page)


@pytest.mark.long
def test_topics_are_folded_on_a_phone_and_named(opened):
    page = opened("topic=kv_cache,serving")
    assert page.inner_text("#drill-app summary >> nth=0").startswith("Topics: The KV cache, How fast a server answers")
    page = opened()
    assert page.inner_text("#drill-app summary >> nth=0") == "Topics: all" and not page.locator("fieldset").is_visible()
    assert page.locator("#drill-app form button[type=submit]").bounding_box()["y"] < 500
