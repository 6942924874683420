"""The built site in a real browser: self-contained, drawn, readable on a phone, and computing what Python computes."""

import csv
import re
from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
import pytest

import gpucalc
from book.build.inputs import ROOT
from tests.book.test_notebooks import OPEN as LESSONS
from tests.browser import leave, page_budget, page_bytes, visit
from tests.contents import PAGES, PRICED, TOPICS, each_of

BESIDES = ["search", "genindex", "404"]
assert all(hasattr(gpucalc, topic) for topic in TOPICS), "a page has the name of its formulas"


@each_of([*PAGES, *BESIDES])
def test_a_page_loads_nothing_from_elsewhere_and_has_no_error(site, on_disk, name):
    assert from_elsewhere(on_disk(name), site.as_uri()) == []
    assert on_disk(name).problems == []


# Pages of each part of the contents whose headline unfolds.
UNFOLDING = ["kv_cache", "cases", "training_cost", "model_size", "break_even", "interconnect", "training_memory", "experts", "commitments", "total_cost"]


@each_of(UNFOLDING)
def test_a_headline_unfolds_to_its_formula_numbers_and_sources(on_disk, name):
    folds = on_disk(name).locator(".tag_headline details.derivation")
    folds.evaluate_all("all => all.forEach(each => { for (let at = each; at; at = at.parentElement.closest('details')) at.open = true; })")
    told = folds.first.inner_text()
    assert re.search(r" = .*\d.* = .*\d", told), "a formula, its numbers and what they give"
    sources = [text for text in folds.locator("li small").all_text_contents() if text.strip() not in ("", "given")]
    assert sources and any(re.search(r"\.csv|arXiv|https?:|20\d\d", text) for text in sources)


@each_of(["index", "kv_cache", "memory_worksheet", "conventions", *BESIDES])
def test_a_page_from_a_server_is_as_good(browser, served, name):
    page = visit(browser, f"{served}/{name}.html")
    assert from_elsewhere(page, served) == []
    assert page.problems == []
    leave(page)


def from_elsewhere(page, base):
    return [url for url in page.requested if not url.startswith((base, "data:", "blob:"))]


# Pages for what takes seconds a page: one of each template.
FEW = {"index", "serving", "404"}
# Where the keyboard is: what is focused, by the name that a screen reader says, and whether it is in the text or behind its start.
FOCUSED = """() => {
  const now = document.activeElement, text = document.querySelector("article");
  return [(now.getAttribute("aria-label") || now.title || now.textContent).trim(), text.contains(now) || Boolean(text.compareDocumentPosition(now) & 4)];
}"""


@pytest.mark.parametrize("width", [390, 1280])
@each_of([*PAGES, "genindex", "404"], FEW)
def test_the_keyboard_is_in_the_text_after_five_stops(on_disk, name, width):
    """The first stop skips to the text; each on the way has a name."""
    page = on_disk(name)
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("#pst-skip-link a").focus()
    stops = [page.evaluate(FOCUSED)]
    for key in ("Tab", "Shift+Tab", "Enter", "Tab"):
        page.keyboard.press(key)
        stops.append(page.evaluate(FOCUSED))
    page.set_viewport_size({"width": 1280, "height": 720})
    assert all(text for text, _ in stops) and stops[0][0].startswith("Skip to") and stops[-1][1], stops


@pytest.mark.parametrize("theme", ["light", "dark"])
@each_of([*PAGES, *BESIDES], FEW)
def test_no_page_violates_a_rule_of_axe(on_disk, name, theme):
    page = on_disk(name)
    before = page.evaluate("document.documentElement.dataset.theme")
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; document.getAnimations().forEach((each) => each.finish()); }", theme)
    found = Axe().run(page).response["violations"]
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", before)
    page.problems.clear()  # what the policy says of axe's own styles
    assert [(each["id"], [node["target"] for node in each["nodes"]][:3]) for each in found] == []


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_embedded_answer_violates_no_rule_of_axe(browser, site, theme):
    page = visit(browser, f"{site.as_uri()}/embed.html#job=serve&model=Llama-3-8B&requests_per_second=5", color_scheme=theme)
    page.locator("h1").wait_for()
    assert Axe().run(page).response["violations"] == []
    leave(page)


@each_of(PAGES)
def test_a_page_is_light_and_has_a_title(on_disk, name):
    assert page_bytes(on_disk(name)) <= page_budget(on_disk(name))
    assert on_disk(name).locator("h1").count() >= 1


@each_of([*PAGES, *BESIDES])
def test_a_page_runs_no_script_but_its_own(on_disk, name):
    policy = on_disk(name).locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["default-src"] == ["'none'"]
    allowed = {source for sources in rules.values() for source in sources}
    assert all(source in ("'self'", "'none'", "data:") or source.startswith("'sha256-") for source in allowed)
    assert rules["script-src"].count("data:") == 0
    assert on_disk(name).evaluate(RUN_WHAT_IS_NOT_ITS_OWN) == []
    on_disk(name).problems.clear()  # what the browser says of the two that it refused


# The browser lets whoever asks from outside evaluate texts, so the page asks by itself, a moment later.
RUN_WHAT_IS_NOT_ITS_OWN = """() => new Promise((done) => setTimeout(() => {
  window.ran = [];
  const script = document.createElement("script");
  script.textContent = "window.ran.push('a script in the page')";
  document.body.append(script);
  try { window.eval("window.ran.push('a text that is evaluated')"); } catch { /* refused */ }
  done(window.ran);
}))"""


@each_of(["index", "kv_cache", "conventions"])
def test_a_page_says_what_it_is(on_disk, name):
    page = on_disk(name)
    kinds = ("title", "description", "type")
    said = {kind: page.locator(f'meta[property="og:{kind}"]').get_attribute("content") for kind in kinds}
    assert len(said["description"]) > 40
    assert page.locator("meta[name=description]").get_attribute("content") == said["description"]
    assert page.title() == (said["title"] if name == "index" else f"{said['title']} \u2014 GPU arithmetic")
    assert said["type"] == ("website" if name == "index" else "article")


TEXT_WITHOUT_CODE = """() => {
  const copy = document.querySelector("article").cloneNode(true);
  for (const code of copy.querySelectorAll("pre, code, script")) code.remove();
  return copy.textContent;
}"""


@each_of([name for name in PAGES if not name.startswith("api")])  # what those pages say of None and NaN is meant
def test_every_figure_is_filled_in(on_disk, name):
    text = on_disk(name).evaluate(TEXT_WITHOUT_CODE)
    holes = re.compile(r"\b(?:nan|NaN|None|inf|undefined)\b|\{glue|\{\{|%%say|\$\$")
    assert [line for line in text.splitlines() if holes.search(line)] == []
    glued = on_disk(name).locator(".pasted-text").all_text_contents()
    assert not [figure for figure in glued if figure.startswith("(")]


# After the page has prepared itself for paper.
COUNT_WHAT_IS_PRINTED = """() => addEventListener("beforeprint", () => {
  window.printed = [".chart svg > g", "article details[open]"].map((what) => document.querySelectorAll(what).length);
})"""


@pytest.mark.long
def test_paper_shows_all_charts_and_folds(browser, site):
    page = visit(browser, f"{site.as_uri()}/break_even.html", drawn=False)
    folded = page.locator("article details:not([open])").count()
    page.evaluate(COUNT_WHAT_IS_PRINTED)
    page.pdf()
    drawn, opened = page.evaluate("window.printed")
    assert drawn == page.locator(".chart").count() > 1
    assert opened == folded > 0
    assert page.locator("article details:not([open])").count() == folded
    leave(page)


def sheets(page):
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


@pytest.mark.parametrize("case", ["", "#job=pretrain&model=Llama-2-7B&training_tokens=1e12&deadline_days=28"])
def test_the_front_page_is_printed_on_two_sheets(browser, site, case):
    page = visit(browser, f"{site.as_uri()}/index.html{case}")
    page.wait_for_function("() => /What helps/.test(document.querySelector('#case > details')?.textContent)")
    assert 1 <= sheets(page) <= 2
    leave(page)


@each_of(LESSONS)
def test_a_lesson_is_printed_on_eight_sheets_and_whole_where_that_is_asked(on_disk, name):
    page = on_disk(name)
    assert 3 <= sheets(page) <= 8
    whole = page.locator(".print-all input")
    whole.check()
    assert sheets(page) > 8
    whole.uncheck()


WIDER_THAN_PHONE = """() => [...document.querySelectorAll("article *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth && !each.closest("table, math, pre"))
  .map((each) => each.outerHTML.slice(0, 120))"""


@each_of([*PAGES, *BESIDES])
def test_a_phone_needs_no_sideways_scrolling(on_disk, name):
    page = on_disk(name)
    desktop = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    width = page.evaluate("document.documentElement.scrollWidth")
    wider = page.evaluate(WIDER_THAN_PHONE) if width > 390 else []
    page.set_viewport_size(desktop)
    assert width <= 390, wider[:5]


def test_a_guess_is_judged(on_disk):
    guess = on_disk("kv_cache").locator(".guess").first
    answer = float(guess.get_attribute("data-answer"))
    assert not guess.locator("details p").first.is_visible()
    guess.locator("input").fill(repr(1.05 * answer))
    guess.locator("button").click()
    assert "Right" in guess.locator("output").inner_text()
    assert guess.locator("details p").first.is_visible()
    assert guess.locator(".whole p").first.is_visible()


SORTED_COLUMNS = """() => [...document.querySelectorAll("table.data:has(td[data-value])")].map((table) => {
  const column = table.tBodies[0].querySelector("td[data-value]").cellIndex;
  const header = table.tHead.rows[0].cells[column];
  return ["ascending", "descending"].map((direction) => {
    header.querySelector("button").click();
    return [header.ariaSort === direction, [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.value ?? null)];
  });
})"""


@each_of(TOPICS)
def test_a_table_sorts_by_value_with_missing_ones_last(on_disk, name):
    tables = on_disk(name).evaluate(SORTED_COLUMNS)
    assert tables
    for table in tables:
        for (says_so, values), backwards in zip(table, (False, True), strict=True):
            assert says_so
            numbers = [float(value) for value in values if value is not None]
            assert values[len(numbers):] == [None] * (len(values) - len(numbers))
            assert numbers == sorted(numbers, reverse=backwards)


@each_of(["index", *PRICED])
def test_prices_show_their_age(on_disk, name):
    age = on_disk(name).locator("time.price-date:not(.brief):visible").first
    days = int(re.search(r"\((\d+) days? ago", age.text_content(timeout=2000))[1])
    assert ("check before you rely on it" in age.text_content()) == (days > 90)


def test_the_buttons_work_under_the_policy(served, browser):
    """The theme's and the copy button, which other scripts than ours bring."""
    page = visit(browser, f"{served}/kv_cache.html", permissions=["clipboard-read", "clipboard-write"])
    before = page.locator("html").get_attribute("data-mode")
    page.locator(".theme-switch-button").click()
    assert page.locator("html").get_attribute("data-mode") != before
    cell = page.locator("div.highlight:has(button.copybtn):visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).length > 0")
    assert page.evaluate("navigator.clipboard.readText()").strip() == cell.locator("pre").inner_text().strip()
    assert page.problems == []
    leave(page)


with open(ROOT / "tests/book/searches.csv", encoding="utf-8", newline="") as table:
    SEARCHES = {row["asked"]: row["page"] for row in csv.DictReader(table)}
RANK = "(asked) => asked.map((query) => Search._performSearch(query).at(-1)?.[0])"


def test_search_finds_the_page_that_is_meant_first(served, browser):
    page = visit(browser, f"{served}/search.html?q=bandwidth")
    page.wait_for_selector("#search-results li a")
    found = dict(zip(SEARCHES, page.evaluate(RANK, list(SEARCHES))))
    leave(page)
    missed = {asked: first for asked, first in found.items() if first != SEARCHES[asked]}
    assert len(SEARCHES) == 71 and found["40% MFU"] == "find_cause" and len(missed) <= 7, missed


def test_a_search_without_a_hit_leads_to_the_front_page_with_its_words(served, browser):
    page = visit(browser, f"{served}/search.html?q={quote('2x3090 gpt-oss-120b & more')}")
    link = page.locator(".search-ask a")
    assert link.get_attribute("href") == "index.html?ask=2x3090%20gpt-oss-120b%20%26%20more"
    link.click()
    page.locator(".case-took", has_text="Understood: serve a model to users · RTX 3090 24GB").wait_for()
    assert page.locator("#case-words").input_value() == "2x3090 gpt-oss-120b & more" and "model=gpt-oss-120b" in page.url
    leave(page)


def test_search_needs_no_network_and_marks_its_words(served, browser):
    page = visit(browser, f"{served}/search.html?q=a+bandwidth")
    page.wait_for_selector("#search-results li a")
    assert page.problems == []
    page.locator("#search-results li a").first.click()
    page.wait_for_selector("span.highlighted", state="attached")
    assert {text.lower() for text in page.locator("span.highlighted").all_text_contents()} == {"bandwidth"}
    leave(page)
