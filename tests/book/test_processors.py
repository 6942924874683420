"""What holds on any processor: recordings are compared by value, floats are written in the digits that all agree on, and ties stand."""

import ast
import json
import math
import os
import platform
import random
import re
import subprocess
import sys

import altair
import nbformat
import numpy as np
import pandas as pd
import pytest

from book.build.editions import alike, Editions, NUMBER, shown
from book.build.inputs import Frozen, ROOT
from book.components import charts
from gpucalc.decisions.columns import nine_digits
from tests.book.test_notebooks import TEXTS, differing, name, recorded, written

ELSEWHERE = ["arithmetic_intensity", "serving", "serving_worksheet", "start", "training_cost", "training_time"]
FEATURES = "import numpy; print(*numpy.show_config('dicts')['SIMD Extensions'].get('found', []))"


# Recordings are compared by value

@pytest.mark.parametrize("now, then, same", [
    ("0.30000000000000004 s", "0.3 s", True), (0.1 + 0.2, 0.3, True), ({"x": [23595.41966]}, {"x": [23595.4196599]}, True),
    ("1.0", "0.9999999999999999", True), ("1.2345678901e-09", "1.23456789012e-09", True), ("1", "1.0", False), (1, 1.0, False),
    ("23.5", "23.6", False), ("1.23456789", "1.23456799", False), ("1234567890.5 GB", "1234567890.5 GiB", False),
    ("-1.2345678901", "1.2345678901", False), ("1.2345678901, 2", "2, 1.2345678901", False), ([0.1, 0.2], [0.2, 0.1], False),
    ("1.2345678901e-09", "1.2345678901e-08", False), ("H100 80GB", "H200 80GB", False), ({"a": 1}, {"b": 1}, False)])
def test_numbers_are_compared_by_value_and_the_text_between_them_as_it_is(now, then, same):
    assert alike(now, then) == alike(then, now) == same


def outputs_of(path):
    """The outputs of each cell of a recording that has some, as text."""
    cells = [list(map(shown, cell.get("outputs", []))) for cell in recorded(path).cells]
    return [json.dumps(outputs, ensure_ascii=False) for outputs in cells if outputs]


def next_float(found):
    return repr(math.nextafter(float(found[0]), math.inf)) if "." in found[0] and len(found[0]) > 9 else found[0]


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_a_last_digit_of_a_recording_may_differ_and_no_digit_that_is_read(path):
    """Every float by one unit in its last place; then one digit among the first eight of a number, forty times."""
    drawn, outputs = random.Random(path.stem), outputs_of(path)
    assert all(alike(NUMBER.sub(next_float, text), text) for text in outputs)
    for text in drawn.choices([text for text in outputs if NUMBER.search(text)], k=40):
        place = one_of(drawn, drawn.choice(list(NUMBER.finditer(text))))
        digit = drawn.choice([each for each in "0123456789" if each != text[place]])
        assert not alike(f"{text[:place]}{digit}{text[place + 1:]}", text), text[place - 30:place + 30]


def one_of(drawn, number):
    """The place of one of the first eight digits of a number from the first that is not 0 on."""
    digits = [place for place, mark in enumerate(number[0].partition("e")[0]) if mark.isdigit()]
    first = next((at for at, place in enumerate(digits) if number[0][place] != "0"), 0)
    return number.start() + drawn.choice(digits[first:first + 8])


# Another processor

def without_features():
    """An environment in which NumPy, its BLAS and the C library use what the oldest of their processors has."""
    found = subprocess.run([sys.executable, "-c", FEATURES], capture_output=True, text=True, check=True).stdout.strip()
    older = {"OPENBLAS_CORETYPE": "Nehalem", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4"}
    off = f"{os.environ.get('NPY_DISABLE_CPU_FEATURES', '')} {found}".strip()
    return {"NPY_DISABLE_CPU_FEATURES": off} | (older if platform.machine() in ("x86_64", "AMD64") else {})


@pytest.mark.long
def test_an_older_processor_gives_what_is_recorded(tmp_path, monkeypatch):
    """Where this processor has no more than the oldest, the notebooks run as they are."""
    for variable, value in without_features().items():
        monkeypatch.setenv(variable, value)
    assert subprocess.run([sys.executable, "-c", FEATURES], capture_output=True, text=True, check=True).stdout.strip() == ""
    editions = Editions(Frozen(ROOT, tmp_path / "frozen"))
    editions.store = tmp_path
    ran = editions.run({topic: {} for topic in ELSEWHERE}, pictures=False)
    assert [found for topic in ELSEWHERE for found in differing(nbformat.read(ran[topic], as_version=4), ROOT / f"notebooks/{topic}.md")] == []


# Floats and names in charts

def test_a_chart_of_a_notebook_without_the_books_theme_is_compared_by_its_data():
    def output(value):
        page = altair.Chart(pd.DataFrame({"x": [value]})).mark_point().encode(x="x:Q").to_html(fullhtml=False, output_div="altair-viz-" + "0f" * 16)
        return shown({"output_type": "display_data", "data": {"text/html": page}})

    assert "0f" not in output(0.3)["data"]["text/html"]
    assert alike(output(1 / 3), output(math.nextafter(1 / 3, math.inf))) and not alike(output(1 / 3), output(0.3333333))


def test_a_chart_names_its_data_by_place_and_keeps_twelve_digits():
    frame = pd.DataFrame({"x": [1.0, 0.1 + 0.2], "y": [2, 1 / 3]})
    moved = frame.map(lambda value: math.nextafter(value, math.inf))
    one, other = (charts._render(altair.layer(altair.Chart(each).mark_line().encode(x="x:Q", y="y:Q"),
                                              altair.Chart(each.head(1)).mark_point().encode(x="x:Q"))
                                 .add_params(altair.selection_point(fields=["x"], bind="legend")).to_dict())[charts.MIME]
                  for each in (frame, moved))
    assert one == other
    assert one["params"][0]["name"].startswith("param_") and not re.search("[0-9a-f]{16}", json.dumps(one))
    assert one["datasets"] == {"data-1": [{"x": 1.0, "y": 2.0}, {"x": 0.3, "y": 0.333333333333}], "data-3": [{"x": 1.0, "y": 2.0}]}
    assert [layer["data"] for layer in one["layer"]] == [{"name": "data-1"}, {"name": "data-3"}]


# Ties

def test_what_differs_in_the_last_digits_is_one_to_a_sort():
    above = math.nextafter(7.5, 8)
    frame = pd.DataFrame({"gpu": ["H200", "GH200", "A100", "B200"], "days": [7.5, above, math.inf, 7.5 * (1 - 1e-7)], "count": [3, 2, 1, 0]})
    for days in (frame["days"], frame["days"].replace({7.5: above, above: 7.5})):
        assert frame.assign(days=days).sort_values(["days", "gpu"], key=nine_digits)["gpu"].tolist() == ["B200", "GH200", "H200", "A100"]
    assert nine_digits(frame["count"]).tolist() == [3, 2, 1, 0]
    values = np.array([0.1, -1e300, 5e-324, 0.0, 123456789.0])
    assert np.allclose(nine_digits(values), values, rtol=1e-9, atol=0) and np.isnan(nine_digits(np.array([np.nan])))


def unstable(tree):
    """The sorts of one column whose ties stand as the processor's instructions leave them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("sort_values", "argsort"):
            by = node.args[0] if node.args and node.func.attr == "sort_values" else None
            kinds = [keyword.value for keyword in node.keywords if keyword.arg == "kind"]
            if not isinstance(by, ast.List) and not any(isinstance(kind, ast.Constant) and kind.value == "stable" for kind in kinds):
                yield ast.unparse(node)


def test_every_sort_of_one_column_is_stable():
    """NumPy's own sort moves ties about, otherwise with AVX-512 than without; pandas sorts several columns by a stable one."""
    sources = {path: path.read_text(encoding="utf-8") for folder in ("gpucalc", "book") for path in (ROOT / folder).rglob("*.py")}
    cells = [cell.source for path in TEXTS for cell in written(path).cells if cell.cell_type == "code" and not cell.source.startswith("%%")]
    found = [call for text in [*sources.values(), *cells] for call in unstable(ast.parse(text))]
    assert [call for call in found if "dim=" not in call] == []
    assert list(unstable(ast.parse("a.sort_values('x')\nb.argsort()\nc.sort_values(['x', 'y'])\nd.sort_values('x', kind='stable')"))) == [
        "a.sort_values('x')", "b.argsort()"]
