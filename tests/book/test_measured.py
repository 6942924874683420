"""Sentences and tables of how far off the laws are, from figures made up for each test."""
import math

import pandas as pd
import pytest

from book.components import measured


@pytest.fixture
def figures(monkeypatch):
    """Puts counts of figures by family and what is known of each family in place of the book's."""
    def put(counts, **known):
        rows = [dict(topic="t", family=family) for family, count in counts.items() for _ in range(count)]
        table = pd.DataFrame([dict(family=family, years="", figures=9, median=1.5, tenth=0.9, ninetieth=2, plan=1.1) | known.get(family, {})
                              for family in counts])
        monkeypatch.setattr(measured, "published", lambda: pd.DataFrame(rows))
        monkeypatch.setattr(measured, "families", lambda: table)
        return measured.how_wrong("t").source.split(". ")
    return put


def test_a_kind_is_told_from_a_tenth_of_a_page_s_figures_on(figures):
    # 10 of 100 are no more than a tenth, 11 of 101 are.
    assert [len(figures({"decode": 90, "prefill": ten})) for ten in (10, 11)] == [3, 4]
    assert figures({"decode": 90, "prefill": 11})[1].startswith("Published prefill times are 50 %")


def test_a_family_whose_figures_are_faster_has_a_band(figures):
    told = figures({"decode": 20}, decode=dict(median=0.9, tenth=0.8, ninetieth=1.2, plan=0.95))
    assert told[0] == ("Published decode times are 10 % shorter than the formula says (the median of 9); eight in ten are between "
                       "20 % below and 20 % above it")
    told = figures({"decode": 20}, decode=dict(plan=math.nan))
    assert told[0] == "Too few figures on decode are published for a band"


def test_how_far_above_the_formula(figures):
    said = [figures({"training memory": 20}, **{"training memory": dict(median=median, tenth=tenth)})[0]
            for median, tenth in ((1.3, 1), (1.001, 1.2), (0.7, 0.5))]
    assert said == [
        "Published training memory figures are 30 % higher than the formula says (the median of 9); eight in ten are up to 100 % above it",
        "Published training memory figures are what the formula says (the median of 9); eight in ten are 20 % to 100 % above it",
        "Published training memory figures are 30 % lower than the formula says (the median of 9); eight in ten are between 50 % "
        "below and 100 % above it"]


def test_the_farthest_are_far_either_way(monkeypatch):
    frame = pd.DataFrame(dict(subject=["twice", "a tenth", "nearly", "four times"], ratio=[2, 0.1, 0.9, 4], value=1.0, predicted=1.0,
                              unit="second", note=""))
    monkeypatch.setattr(measured, "published", lambda: frame)
    shown = measured.worst_table(2, "Worst")._repr_html_()
    assert shown.index("a tenth") < shown.index("four times") and "twice" not in shown and "nearly" not in shown
    assert ">a tenth<" in shown and ">4 times<" in shown and ">why<" in shown


def test_errors_with_their_sign():
    assert [measured.signed_percent(each) for each in (0.25, -0.25, 0)] == ["+25 %", "−25 %", "0 %"]
