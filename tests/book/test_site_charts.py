"""Charts of the built site in a real browser: drawn, in words, following their sliders, and computing what Python computes."""
import math
import re

import pytest

from gpucalc import Case
from gpucalc.core import figures
from gpucalc.core.law import LAWS
from gpucalc.rows import catalogue
from tests.browser import leave, visit
from tests.contents import TOPICS, each_of


CHARTS = """() => [...document.querySelectorAll(".chart")].map((chart) => ({
  pictures: chart.querySelectorAll(".chart-view > svg > g").length,
  marks: chart.querySelectorAll("svg [class*=mark-] > path, svg [class*=mark-] > g").length,
  said: chart.querySelector(":scope > [role=img]").ariaLabel,
  labels: [...chart.querySelectorAll("input[type=range]")].map(
    (input) => [...input.labels].map((label) => label.textContent.trim())),
}))"""


@each_of(TOPICS)
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
    page.evaluate("for (const fold of document.querySelectorAll('article details:not(.hide)')) fold.open = true")
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
    leave(page)


LAYOUT_SHIFT = """() => new Promise((done) => {
  let shifted = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((shift) => { shifted += shift.hadRecentInput ? 0 : shift.value; }))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(shifted), 100);
})"""


SET_CONTROL = """([number, name, position]) => {
  const chart = gpuCharts[number];
  const input = chart.element.querySelector(`.chart-controls [name="${name}"]`);
  if (input.tagName === "SELECT") input.selectedIndex = Math.round(position * (input.options.length - 1));
  else input.value = Number(input.min) + position * (Number(input.max) - Number(input.min));
  input.dispatchEvent(new Event("input"));
  input.dispatchEvent(new Event("change"));
  return chart.view.runAsync().then(() => true);
}"""
READ_CHART = """(number) => {
  const { view, spec, finding } = gpuCharts[number];
  const { lines, x, signals = {} } = spec.usermeta.gpucalc;
  const controls = spec.signals.filter((signal) => signal.bind).map((signal) => signal.name);
  const data = Object.keys(view._runtime.data).map((name) => view.data(name) || []);
  const values = (field) => data.find((rows) => rows.length && field in rows[0]) || [];
  const { parts = [] } = (spec.usermeta.finding || []).find(({ when }) => !when || view.signal(when)) || {};
  return {
    controls: Object.fromEntries(controls.map((name) => [name, view.signal(name)])),
    rows: lines.map((line) => values(line.field).map((row) => [row[x], row[line.field]])),
    signals: Object.fromEntries(Object.keys(signals).map((name) => [name, view.signal(name)])),
    parts: parts.map((part) => (part.signal ? [view.signal(part.signal), part.form ?? ""] : part)),
    finding: finding ? finding.textContent : "",
  };
}"""

RESET_CONTROL = "([number, name, value]) => gpuCharts[number].view.signal(name, value).runAsync().then(() => true)"


def compare_with_law(chart, check):
    """Compares every point of every line and every figure of the finding with the law in Python; returns how many points."""
    compared, along = 0, check.get("along", {})
    for line, rows in zip(check["lines"], chart["rows"], strict=True):
        for x, drawn in rows:
            compare(line, chart, drawn, {} if line["level"] else {check["x"]: x}, along)
            compared += 1
    for name, signal in check.get("signals", {}).items():
        compare(signal, chart, chart["signals"][name], {}, along)
    said = [part if isinstance(part, str) else written(*part) for part in chart["parts"]]
    assert not said or chart["finding"] == "".join(said)
    return compared


def compare(drawn, chart, value, also, along):
    """A row that was chosen is a row of the case, as the catalogue has it, and with it goes what belongs to it: a GPU's link."""
    inputs = drawn["given"] | {name: held for name, held in chart["controls"].items()
                               if not isinstance(drawn["given"].get(name), (int, float))} | also
    inputs |= {other: catalogue.FINDERS[kind](inputs[kind])[other] for other, kind in along.items()}
    # A chart of requests without a context of its own takes the prompt for it, or says so by its name.
    inputs = {"context": "prompt"} | inputs if "prompt" in inputs else inputs
    inputs |= {name: inputs[held] for name, held in inputs.items() if isinstance(held, str) and held in inputs}
    expected = Case.of(inputs)(LAWS[drawn["law"]])
    assert math.isclose(value, expected, rel_tol=1e-9), f"{drawn['law']} at {inputs}: drawn {value}, law {expected}"


def written(value, form):
    if isinstance(value, str):
        return value
    return figures.number(value, form) if form in figures.UNITS else getattr(figures, form)(value)


@each_of(TOPICS)
def test_every_slider_computes_what_the_law_computes(on_disk, name):
    page = on_disk(name)
    moved = 0
    for number, check in enumerate(page.evaluate("gpuCharts.map((chart) => chart.spec.usermeta?.gpucalc || null)")):
        if not check:
            continue
        start = page.evaluate(READ_CHART, number)
        assert compare_with_law(start, check) > 0
        for control, value in start["controls"].items():
            seen = set()
            for position in (0, 0.3, 1):
                page.evaluate(SET_CONTROL, [number, control, position])
                now = page.evaluate(READ_CHART, number)
                seen.add(now["controls"][control])
                compare_with_law(now, check)
                moved += 1
            assert len(seen) > 1, f"{control} does not move"
            page.evaluate(RESET_CONTROL, [number, control, value])
    assert moved >= 5, "no slider whose line is a law"


MOVING = """() => gpuCharts.findIndex((chart) => chart.finding && chart.spec.usermeta?.gpucalc?.rows?.model)"""


def test_a_moved_slider_is_spoken_once_it_rests(on_disk):
    page = on_disk("kv_cache")
    number = page.evaluate(MOVING)
    before = page.evaluate(READ_CHART, number)
    assert page.evaluate("(number) => gpuCharts[number].spoken.textContent", number) == ""
    for position in (0.5, 0.9):
        page.evaluate(SET_CONTROL, [number, "batch", position])
    now = page.evaluate(READ_CHART, number)["finding"]
    assert now != before["finding"]
    page.wait_for_function("([number, text]) => gpuCharts[number].spoken.textContent === text", arg=[number, now])
    assert page.evaluate("(number) => gpuCharts[number].picture.ariaLabel", number) == now
    page.evaluate(RESET_CONTROL, [number, "batch", before["controls"]["batch"]])


def test_a_readers_own_rows_are_among_those_to_choose(on_disk, browser, site):
    """With all fields of its rows and all its sliders a chart is filled; without one of them it stays as it is."""
    page = visit(browser, f"{site.as_uri()}/kv_cache.html")
    number = page.evaluate(MOVING)
    check = page.evaluate("(number) => gpuCharts[number].spec.usermeta.gpucalc", number)
    model, card = catalogue.model("Llama-3-8B"), catalogue.gpu("A100 SXM 80GB")
    rows = {name: float(model[name]) for name in check["rows"]["model"]} | {name: float(card[name]) for name in check["rows"]["gpu"]}
    mine = rows | {"layers": 64.0, "batch": 5, "replica_gpus": 2, "cache_element_bytes": 1, "weight_element_bytes": 2}
    for lacks in ("memory_bytes", "replica_gpus"):
        held = {name: value for name, value in mine.items() if name != lacks}
        assert page.evaluate("([mine]) => setSliders((name) => mine[name], { model: 'mine', gpu: 'none' })", [held]) == []
    page.evaluate("([mine, gpu]) => { setSliders((name) => mine[name], { model: 'mine', gpu }); }", [mine, card.name])
    page.wait_for_function("(number) => gpuCharts[number].view.signal('model') === 'yours: mine'", arg=number)
    chart = page.evaluate(READ_CHART, number)
    assert (chart["controls"]["batch"], chart["controls"]["gpu"]) == (5, card.name)
    held, line = Case(**mine), check["lines"][0]
    for context, drawn in chart["rows"][0]:
        inputs = line["given"] | {name: value for name, value in chart["controls"].items() if isinstance(value, (int, float))}
        assert math.isclose(drawn, held.but(**inputs, context=context)(LAWS[line["law"]]), rel_tol=1e-9)
    page.evaluate("([mine]) => { setSliders((name) => mine[name], { model: 'Llama-3-8B' }); }", [mine | rows])
    page.wait_for_function("(number) => gpuCharts[number].view.signal('model') === 'Llama-3-8B'", arg=number)
    assert page.problems == []
    leave(page)


CONTROLS = """() => gpuCharts.flatMap(({ controls }) => [...controls.querySelectorAll("label")].map((label) => ({
  name: label.querySelector("input, select").name, said: label.querySelector(".vega-bind-name").textContent,
  value: label.querySelector("select") ? "" : label.lastChild.textContent,
  spoken: label.querySelector("select") ? "" : label.querySelector("input").getAttribute("aria-valuetext")})))"""


@each_of(TOPICS)
def test_a_slider_says_in_words_what_it_is_and_where_it_stands(on_disk, name):
    for control in on_disk(name).evaluate(CONTROLS):
        assert not re.search(r"_", control["said"]), control
        assert control["value"] == control["spoken"]
        assert not control["value"] or re.fullmatch(r"−?[\d.,]+( [A-Za-z0-9µ%/-]+)*", control["value"]), control
        assert "e" not in control["value"].split(" ")[0] and len(control["value"]) <= 16


WIDTHS = "gpuCharts.map(({ view, element }) => [view.signal('width'), Boolean(element.closest('details:not([open])'))])"


@each_of(TOPICS)
def test_no_chart_is_drawn_without_a_width(on_disk, name):
    """All were drawn while folds were closed; then the window changes."""
    page = on_disk(name)
    assert all(width > 150 for width, _ in page.evaluate(WIDTHS))
    desktop = page.viewport_size
    page.set_viewport_size({"width": 1000, "height": 800})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert all(width > 150 for width, _ in page.evaluate(WIDTHS))
    page.set_viewport_size(desktop)


def test_charts_follow_the_window(on_disk):
    """From a phone's width to a desk's: the layout settles after the window has changed."""
    page = on_disk("serving")
    before = page.viewport_size
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("""() => [...document.querySelectorAll(".chart-view")].filter(
            (view) => !view.closest("details:not([open])")).every(
            (view) => Number(view.querySelector("svg").getAttribute("width")) === view.clientWidth)""")
    page.set_viewport_size(before)


def test_a_chart_follows_the_window_while_it_is_drawn(browser, site):
    """The window changes after the drawing has begun, and the page is laid out again before it ends."""
    page = visit(browser, f"{site.as_uri()}/serving.html")
    page.evaluate("""() => {
        const frame = [...document.querySelectorAll(".chart-view")].find((view) => !view.closest("details:not([open])"));
        const { runAsync } = vega.View.prototype, next = () => new Promise((done) => requestAnimationFrame(done));
        vega.View.prototype.runAsync = async function () {
            vega.View.prototype.runAsync = runAsync;
            frame.style.width = "500px";
            await next().then(next).then(next);
            window.wasLate = true;
            return runAsync.call(this);
        };
        document.documentElement.dataset.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    }""")
    page.wait_for_function("""() => window.wasLate && [...document.querySelectorAll(".chart-view")].some(
        (view) => view.clientWidth === 500 && view.querySelector("svg")?.getAttribute("width") === "500")""")
    leave(page)


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
