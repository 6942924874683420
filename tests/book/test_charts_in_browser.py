"""The script of charts alone, with a small stand-in for Vega: words of sliders, where they stand for a case, and what room decides."""
import json

import pytest

from book.build.extension import STATIC
from tests.browser import ended, visit

# What the script asks of Vega: a view that has signals, and an input in `bind` for each that is bound, as Vega makes them.
VEGA = """window.vega = {
  expressionInterpreter: null, tooltip: null, parse: (spec) => spec,
  View: class {
    constructor(spec, { bind }) {
      Object.assign(this, { spec, listeners: {}, after: [] });
      this.values = Object.fromEntries(spec.signals.map(({ name, value }) => [name, value]));
      for (const { name, value, bind: { input, min, max, step } } of spec.signals.filter((each) => each.bind)) {
        const field = Object.assign(document.createElement("input"), { type: input, name });
        Object.assign(field, { min, max, step, value });
        field.addEventListener("input", () => this.signal(name, field.valueAsNumber));
        bind.append(field, document.createElement("span"));
      }
    }
    signal(name, value) {
      if (value === undefined) return this.values[name];
      this.values[name] = value;
      this.listeners[name]?.(name, value);
      return this;
    }
    addSignalListener(name, listener) { this.listeners[name] = listener; }
    runAfter(f) { f(); }
    runAsync() { return Promise.resolve(this); }
    finalize() {}
  } };
window.gpucalc = { figures: { number: (value, form) => `${value} ${form}`, percent: (value) => `${100 * value} %` } };"""
PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><style>body {{ margin: 0; }} html {{ --category-7: #123456; --pst-color-text-base: #654321; }}</style>
<div class="chart"><p class="chart-finding"></p><div role="img"><div class="chart-view"></div></div><div class="chart-controls"></div>
<script type="application/json">{spec}</script></div><script>{vega}</script><script src="{charts}"></script></html>"""


@pytest.fixture
def drawn(browser, tmp_path):
    """Opens a page with a chart of such signals, marks and what it says of itself, and has it drawn."""
    pages = []

    def open_(signals, usermeta, width=800, **spec):
        (tmp_path / "charts.html").write_text(PAGE.format(vega=VEGA, charts=(STATIC / "charts.js").as_uri(), spec=json.dumps(
            {"signals": signals, "usermeta": usermeta, "marks": [{"name": "line_labels_0"}, {"name": "line"}]} | spec)), encoding="utf-8")
        page = visit(browser, (tmp_path / "charts.html").as_uri(), viewport={"width": width, "height": 600})
        pages.append(page)
        return page

    yield open_
    ended(pages)


def slider(name, low, high, step, value):
    return {"name": name, "value": value, "bind": {"input": "range", "min": low, "max": high, "step": step}}


UNITS = {"": ["", "none"], "byte/second": ["B/s", "large"], "second": ["s", "small"], "day": ["days", "none"], "token/second": ["tokens/s", "none"]}
WORDS = [
    (0.9, "percent", "90 %"), (8192, "", "8,192"), (999_999, "", "999,999"), (1e6, "", "1 million"), (999e6, "", "999 million"), (1e9, "", "1 billion"),
    (1.5e12, "", "1.5 trillion"), (999, "byte/second", "999 B/s"), (1000, "byte/second", "1 kB/s"), (450e9, "byte/second", "450 GB/s"),
    (1e15, "byte/second", "1 PB/s"), (0, "byte/second", "0 B/s"), (6e-7, "second", "0.6 µs"), (999e-6, "second", "999 µs"), (1e-3, "second", "1 ms"),
    (0.999, "second", "999 ms"), (1, "second", "1 s"), (0, "second", "0 s"), (1, "day", "1 day"), (1.5, "day", "1.5 days"), (1, "token/second", "1 tokens/s"),
    (12.3456, "none such", "12.3456")]


def test_a_slider_says_where_it_stands_as_people_read_it(drawn):
    names = {f"s{number}": each for number, each in enumerate(WORDS)}
    page = drawn([slider(name, 0, 1e16, "any", value) for name, (value, _, _) in names.items()],
                 {"sliders": {name: form for name, (_, form, _) in names.items()}, "units": UNITS})
    said = page.evaluate("""() => [...document.querySelectorAll("input")].map((input) =>
        [input.nextSibling.textContent, input.getAttribute("aria-valuetext")])""")
    assert said == [[words, words] for _, _, words in WORDS]


def test_a_slider_stands_as_near_to_a_case_as_it_reaches(drawn):
    """From 1 to 9 in steps of 2; a switch has the value, or nothing is set, and so it is where a name or a given value differs."""
    switch = {"name": "bits", "value": 2, "bind": {"input": "select", "options": [1, 2]}}
    page = drawn([slider("batch", 1, 9, 2, 5), switch], {"gpucalc": {"lines": [{"given": {"layers": 80}}]}})
    set_ = "(of) => { const set = setSliders((name) => of[name]); return [set, ['batch', 'bits'].map((name) => gpuCharts[0].view.signal(name))]; }"
    for of in ({"batch": 3}, {"batch": 3, "bits": 4}, {"batch": 3, "bits": 1, "layers": 81}):
        assert page.evaluate(set_, of) == [[], [5, 2]], of
    for value, at, beyond in ((0, 1, True), (0.99, 1, True), (1, 1, False), (2.9, 3, False), (3.9, 3, False), (4.1, 5, False), (9, 9, False), (9.01, 9, True)):
        found, signals = page.evaluate(set_, {"batch": value, "bits": 1, "layers": 80 + 1e-8})
        assert signals == [at, 1] and found[0] == {"name": "batch", "value": value, "at": at, "beyond": beyond}


@pytest.mark.parametrize("width, names", [(479, ["line"]), (480, ["line_labels_0", "line"])])
@pytest.mark.parametrize("direct", [True, False])
def test_names_stand_at_the_ends_of_lines_where_there_is_room(drawn, width, names, direct):
    page = drawn([{"name": "width", "value": 1}, {"name": "hue", "value": "@category7"}, {"name": "ink", "value": "@text"}, {"name": "other", "value": "@nothing"}],
                 {"direct": direct}, width, legends=[{}], config={"legend": {"columns": 3}})
    spec = page.evaluate("gpuCharts[0].spec")
    assert [mark["name"] for mark in spec["marks"]] == names and spec["config"]["legend"]["columns"] == (1 if width < 480 else 3)
    assert ("legends" in spec) == (width < 480 or not direct)
    assert {each["name"]: each["value"] for each in spec["signals"]} == {"width": width, "hue": "#123456", "ink": "#654321", "other": "@nothing"}


def test_a_finding_follows_and_is_spoken_once_it_rests(drawn):
    """The first choice whose condition holds; a row that was added goes by its own name, and what is no number has no value."""
    parts = [{"signal": "batch", "form": "GB"}, " of ", {"signal": "model", "form": ""}, ", ", {"signal": "share", "form": "percent"}]
    page = drawn([slider("batch", 1, 9, 1, 5), {"name": "model", "value": "yours: mine"}, {"name": "share", "value": 0.5}, {"name": "many", "value": False}],
                 {"finding": [{"when": "many", "parts": ["many"]}, {"parts": parts}]})
    state = "() => [gpuCharts[0].finding.textContent, gpuCharts[0].picture.getAttribute('aria-label'), gpuCharts[0].spoken.textContent]"
    assert page.evaluate(state) == ["5 GB of mine, 50 %", None, ""], "nothing has moved"
    page.evaluate("gpuCharts[0].view.signal('share', NaN).signal('batch', 6)")
    assert page.evaluate(state)[:2] == ["6 GB of mine, no value"] * 2
    page.wait_for_function("gpuCharts[0].spoken.textContent === '6 GB of mine, no value'")
    page.evaluate("gpuCharts[0].view.signal('many', true).signal('batch', 7)")
    assert page.evaluate(state)[:2] == ["many", "many"]
