"""Tables and charts of layouts, from a small search and from layouts made by hand."""
from types import SimpleNamespace

import pandas as pd
import pytest

from book.pages.layouts import landscape, parts_bars, parts_table, published_table, thinned
from gpucalc.decisions.layouts import NEUTRAL
from gpucalc.decisions.layouts import LAYOUT, best_of, in_layout, layout_case, layouts_of, pareto_front, step_parts

CASE = layout_case("Qwen2.5-7B", "A100 SXM 80GB", 4096)


@pytest.fixture(scope="module")
def search():
    return layouts_of(CASE, 16, 64)


def test_a_table_of_published_layouts_says_whether_they_fit():
    row = dict.fromkeys(LAYOUT, 1) | NEUTRAL | dict(
        tensor_parallel=8, training_bytes=70e9, low_bytes=60e9, plan_bytes=72e9, high_bytes=90e9, step_seconds=2.0,
        low_seconds=2.0, plan_seconds=3.0, high_seconds=4.0)
    run = dict(published=row, found=row, fits="too close to call", measured_seconds=3.5, slower=0.1, rank=1_002, layouts=4_000,
               band=SimpleNamespace(plan=3.0))
    frame = pd.DataFrame([run, run | dict(measured_seconds=float("nan"))], index=["a run", "another"])
    shown = published_table(frame, "Published")._repr_html_()
    for text in ("a run", "TP\u00a08", "70 GB (60 to 90)", "too close to call", "3 s", "3.50 s", "+10 %", "1,002 of 4,000", "–"):
        assert f">{text}<" in shown, text


def test_the_parts_of_a_step_end_in_their_sum():
    shown = parts_table({"products": 1.5, "nothing": 0, "waiting": 0.5}, "A step")._repr_html_()
    assert [shown.count(text) for text in (">products<", ">nothing<", ">step<", ">2 s<", ">75 %<", ">100 %<")] == [1, 0, 1, 1, 1, 1]


def test_bars_have_a_part_of_each_step_in_one_order(search):
    best = best_of(search, count=2).to_dict("records")
    steps = {name: step_parts(in_layout(CASE, row)) for name, row in zip("ab", best)}
    spec = parts_bars(steps, "What steps wait for").to_dict()
    drawn = pd.DataFrame(next(iter(spec["datasets"].values())))
    assert spec["usermeta"]["alt"] == "What steps wait for"
    for name, row in zip("ab", best):
        assert drawn[drawn["layout"] == name]["step_seconds"].sum() == pytest.approx(row["step_seconds"])
    assert spec["encoding"]["color"]["scale"]["domain"] == [part for part in steps["a"] if part in set(drawn["part"])]


def test_parts_of_nothing_are_not_drawn():
    steps = {"a": {"products": 1.5, "nothing": 0, "waiting": 0.5}, "b": {"products": 1, "nothing": 0, "waiting": 0}}
    spec = parts_bars(steps, "").to_dict()
    assert list(spec["datasets"].values()) == [[
        {"layout": "a", "part": "products", "step_seconds": 1.5, "place": 0},
        {"layout": "a", "part": "waiting", "step_seconds": 0.5, "place": 1},
        {"layout": "b", "part": "products", "step_seconds": 1.0, "place": 0}]]
    assert spec["encoding"]["x"]["title"] == "time of a step" and spec["encoding"]["y"]["sort"] == ["a", "b"]


def test_the_landscape_draws_no_more_than_it_says(search):
    good = best_of(search)
    front = pareto_front(good, "training_bytes", "step_seconds")
    spec = landscape(good, front, "Front", most=50).to_dict()
    degrees = [f"tensor {degree}" for degree in sorted(thinned(good, 50)["tensor_parallel"].unique())]
    assert len(degrees) > 1 and spec["layer"][1]["encoding"]["color"]["sort"] == degrees
    sizes = sorted(map(len, spec["datasets"].values()))
    assert sizes == sorted([len(front), len(thinned(good, 50))])
    assert 50 <= len(thinned(good, 50)) < 100 and len(thinned(good, len(good))) == len(good)


@pytest.mark.parametrize("most, left", [
    (500, [0, 1, 2, 3, 4]), (5, [0, 1, 2, 3, 4]), (3, [0, 1, 2, 3, 4]), (2, [0, 2, 4]), (1, [0])])
def test_every_so_manyth_row_is_left(most, left):
    """Five rows: each of them while fewer than two go into one, then each second, then the first."""
    assert thinned(pd.DataFrame({"a": range(5)}), most)["a"].tolist() == left
