"""The built site in a real browser: self-contained, drawn, readable on a phone, and computing what Python computes."""

import math
import re

import pytest

import gpucalc
from gpucalc import Case
from gpucalc.core.law import LAWS
from tests.browser import page_bytes, page_budget, visit
from tests.contents import PAGES, PRICED, TOPICS, WORKSHEETS

BESIDES = ["search", "genindex", "404"]
assert all(hasattr(gpucalc, topic) for topic in TOPICS), "a page has the name of its formulas"


def each_of(names):
    return pytest.mark.parametrize("name", names)


@each_of([*PAGES, *BESIDES])
def test_a_page_loads_nothing_from_elsewhere_and_has_no_error(site, on_disk, name):
    assert from_elsewhere(on_disk(name), site.as_uri()) == []
    assert on_disk(name).problems == []


@each_of(["index", TOPICS[0], WORKSHEETS[0], "conventions", *BESIDES])
def test_a_page_from_a_server_is_as_good(browser, served, name):
    page = visit(browser, f"{served}/{name}.html")
    page.context.close()
    assert from_elsewhere(page, served) == []
    assert page.problems == []


def from_elsewhere(page, base):
    return [url for url in page.requested if not url.startswith((base, "data:", "blob:"))]


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


CHARTS = """() => [...document.querySelectorAll(".chart")].map((chart) => ({
  pictures: chart.querySelectorAll(".chart-view > svg > g").length,
  marks: chart.querySelectorAll("svg [class*=mark-] > path, svg [class*=mark-] > g").length,
  said: chart.querySelector(":scope > [role=img]").ariaLabel,
  labels: [...chart.querySelectorAll("input[type=range]")].map(
    (input) => [...input.labels].map((label) => label.innerText.trim())),
}))"""


@each_of(TOPICS + WORKSHEETS)
def test_every_chart_is_drawn_and_described(on_disk, name):
    charts = on_disk(name).evaluate(CHARTS)
    assert charts
    for chart in charts:
        assert chart["pictures"] == 1
        assert chart["marks"] > 0
        assert len(chart["said"]) > 20
        assert all(len(labels) == 1 and labels[0] for labels in chart["labels"])


@pytest.mark.parametrize("width", [1280, 390])
def test_charts_wait_until_they_come_near_and_move_nothing(browser, site, width):
    page = visit(browser, f"{site.as_uri()}/break_even.html", drawn=False, viewport={"width": width, "height": 800})
    page.wait_for_timeout(300)
    last = page.locator(".chart").last
    height = last.bounding_box()["height"]
    assert last.locator("svg > g").count() == 0
    assert page.evaluate(LAYOUT_SHIFT) < 0.01
    last.scroll_into_view_if_needed()
    last.locator("svg > g").wait_for(state="attached")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert abs(last.bounding_box()["height"] - height) <= 8, "the room kept for the chart is not what it takes"
    assert page.problems == []
    page.context.close()


LAYOUT_SHIFT = """() => new Promise((done) => {
  let shifted = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((shift) => { shifted += shift.hadRecentInput ? 0 : shift.value; }))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(shifted), 100);
})"""


# After the page has prepared itself for paper.
COUNT_WHAT_IS_PRINTED = """() => addEventListener("beforeprint", () => {
  window.printed = [".chart svg > g", "article details[open]"].map((what) => document.querySelectorAll(what).length);
})"""


def test_paper_shows_all_charts_and_folds(browser, site):
    page = visit(browser, f"{site.as_uri()}/break_even.html", drawn=False)
    folded = page.locator("article details:not([open])").count()
    page.evaluate(COUNT_WHAT_IS_PRINTED)
    page.pdf()
    drawn, opened = page.evaluate("window.printed")
    assert drawn == page.locator(".chart").count() > 1
    assert opened == folded > 0
    assert page.locator("article details:not([open])").count() == folded
    page.context.close()


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


SET_SLIDER = """([number, name, position]) => {
  const chart = gpuCharts[number];
  const input = chart.element.querySelector(`input[name="${name}"]`);
  input.value = Number(input.min) + position * (Number(input.max) - Number(input.min));
  input.dispatchEvent(new Event("input"));
  return chart.view.runAsync().then(() => true);
}"""
READ_CHART = """(number) => {
  const { view, spec } = gpuCharts[number];
  const { lines, x } = spec.usermeta.gpucalc;
  const sliders = spec.signals.filter((signal) => signal.bind).map((signal) => signal.name);
  const data = Object.keys(view._runtime.data).map((name) => view.data(name) || []);
  const values = (field) => data.find((rows) => rows.length && field in rows[0]) || [];
  return {
    sliders: Object.fromEntries(sliders.map((name) => [name, view.signal(name)])),
    rows: lines.map((line) => values(line.field).map((row) => [row[x], row[line.field]])),
  };
}"""

RESET_SLIDER = "([number, name, value]) => gpuCharts[number].view.signal(name, value).runAsync().then(() => true)"


def compare_with_law(chart, check):
    """Compares every point of every line with the law in Python; returns how many there were."""
    compared = 0
    for line, rows in zip(check["lines"], chart["rows"], strict=True):
        law = LAWS[line["law"]]
        for x, drawn in rows:
            inputs = line["given"] | {name: value for name, value in chart["sliders"].items()
                                      if not isinstance(line["given"].get(name), (int, float))}
            inputs |= {} if line["level"] else {check["x"]: x}
            expected = Case.of(inputs)(law)
            assert math.isclose(drawn, expected, rel_tol=1e-9), f"{line['law']} at {inputs}: drawn {drawn}, law {expected}"
            compared += 1
    return compared


@each_of(TOPICS)
def test_every_slider_computes_what_the_law_computes(on_disk, name):
    page = on_disk(name)
    moved = 0
    for number, check in enumerate(page.evaluate("gpuCharts.map((chart) => chart.spec.usermeta.gpucalc || null)")):
        if not check:
            continue
        start = page.evaluate(READ_CHART, number)
        assert compare_with_law(start, check) > 0
        for slider, value in start["sliders"].items():
            seen = set()
            for position in (0, 0.3, 1):
                page.evaluate(SET_SLIDER, [number, slider, position])
                now = page.evaluate(READ_CHART, number)
                seen.add(now["sliders"][slider])
                compare_with_law(now, check)
                moved += 1
            assert len(seen) > 1, f"{slider} does not move"
            page.evaluate(RESET_SLIDER, [number, slider, value])
    assert moved >= 5, "no slider whose line is a law"


def test_charts_follow_the_window(on_disk):
    """From a phone's width to a desk's: the layout settles after the window has changed."""
    page = on_disk("serving")
    before = page.viewport_size
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("""() => [...document.querySelectorAll(".chart-view")].every(
            (view) => Number(view.querySelector("svg").getAttribute("width")) === view.clientWidth)""")
    page.set_viewport_size(before)


@each_of(TOPICS)
def test_a_theme_change_redraws_and_keeps_the_sliders(on_disk, name):
    page = on_disk(name)
    label, slider = page.locator(".chart svg text").first, page.locator(".chart input[type=range]").first
    slider.focus()
    page.keyboard.press("End")
    chosen, light = slider.input_value(), label.get_attribute("fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("fill => document.querySelector('.chart svg text')?.getAttribute('fill') !== fill", arg=light)
    assert slider.input_value() == chosen
    page.emulate_media(color_scheme="light")
    page.wait_for_function("fill => document.querySelector('.chart svg text')?.getAttribute('fill') === fill", arg=light)
    assert slider.input_value() == chosen
    assert page.problems == []


def test_a_guess_is_judged(on_disk):
    guess = on_disk("kv_cache").locator(".guess").first
    answer = float(guess.get_attribute("data-answer"))
    assert not guess.locator("details p").is_visible()
    for factor, verdict in ((1.05, "Right"), (4, "4 times too high"), (0.5, "2 times too low")):
        guess.locator("input").fill(repr(answer * factor))
        guess.locator("button").click()
        assert verdict in guess.locator("output").inner_text()
    assert guess.locator("details p").is_visible()


SORTED_COLUMNS = """() => [...document.querySelectorAll("table.data:has(td[data-value])")].map((table) => {
  const column = table.tBodies[0].querySelector("td[data-value]").cellIndex;
  const header = table.tHead.rows[0].cells[column];
  return ["ascending", "descending"].map((direction) => {
    header.querySelector("button").click();
    return [header.ariaSort === direction, [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.value ?? null)];
  });
})"""


@each_of(TOPICS + WORKSHEETS)
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
    cell = page.locator("div.highlight:has(button.copybtn)").first
    cell.hover()
    cell.locator("button.copybtn").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).length > 0")
    assert page.evaluate("navigator.clipboard.readText()").strip() == cell.locator("pre").inner_text().strip()
    assert page.problems == []
    page.context.close()


def test_search_needs_no_network(served, browser):
    page = visit(browser, f"{served}/search.html?q=bandwidth")
    page.wait_for_selector("#search-results li a")
    assert page.problems == []
    page.context.close()
