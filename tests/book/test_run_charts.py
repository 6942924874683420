"""Tables and the chart of runs hold what they were given, and nothing for a run that is not possible."""
import math

from pandas import DataFrame

from book.pages.training_cost import (by_size, carbon_of, carbon_table, CARDS, cost_against_days, failures_table, mfu_table,
                                      runs_table)
from gpucalc.decisions.run_speeds import planned_mfu

POINT = ("training_days", "compute_usd")
RUN = dict(gpu="H100 SXM 80GB", gpus=1024, provider="Nobody & Co", term="spot", training_days=12.345678, compute_usd=98_765.4321,
           verdict="", mfu=0.4)


def test_bands_are_said_in_words():
    runs = [RUN | dict(low_days=9.876, high_days=23.456, low_usd=81_234.5, high_usd=math.inf)]
    shown = runs_table(DataFrame(runs), ["days_between", "usd_between"], "Runs").source
    assert ">9.88 to 23.5<" in shown and ">8 in 10 between, days<" in shown and ">–</td>" in shown


def test_what_is_not_possible_has_no_figures():
    lost = RUN | dict(training_days=math.inf, compute_usd=math.inf, verdict="does not fit")
    shown = runs_table(DataFrame([RUN, lost]), ["verdict", "training_days", "compute_usd"], "Runs").source
    assert shown.count(">–</td>") == 2 and "inf" not in shown and "does not fit" in shown


def test_odds_are_whole_percentages_and_consumer_cards_are_marked():
    runs = [RUN | dict(in_time=0.876, in_budget=0.999), RUN | dict(gpu="RTX 4090 24GB", in_time=0.0, in_budget=1.0)]
    shown = runs_table(DataFrame(runs), ["taken", "in_time", "in_budget"], "Runs").source
    for text in (">88 %<", ">more than 99 %<", ">less than 1 %<", "1,024 × RTX 4090 24GB, consumer card<", "1,024 × H100 SXM 80GB<"):
        assert text in shown


def test_the_mfu_of_each_card_and_where_it_is_from():
    shown = mfu_table("MFU").source
    assert all(gpu in shown for gpu in CARDS) and shown.count(">all runs<") == 5 and shown.count(">its chip<") == 3
    assert f"{100 * planned_mfu().at['H100 SXM 80GB', 'plan']:.1f} %" in shown and "of 4" in shown


def test_failures_and_carbon_in_words():
    shown = failures_table(by_size((64, 16384)), "Failures").source
    assert ">16,384<" in shown and ">790 h<" in shown and ">3.09 h<" in shown
    said = carbon_table(carbon_of(dict(plan=1000.0)), "Carbon").source
    assert ">0.350 kg/kWh<" in said and ">350 kg<" in said


def test_the_chart_marks_the_recommended_run():
    frame = DataFrame([RUN, RUN | dict(gpus=8, training_days=80.0)])
    marked = cost_against_days(frame, frame, frame.iloc[0], 28, "a finding").to_dict()
    plain = cost_against_days(frame, frame, None, 28, "a finding").to_dict()
    assert len(marked["layer"]) == len(plain["layer"]) + 1 == 4
    assert marked["layer"][-1]["mark"]["shape"] == "diamond" and marked["usermeta"]["alt"] == "a finding"
    assert [layer["mark"] for layer in marked["layer"]] == [
        {"type": "circle", "size": 22, "opacity": 0.35}, {"type": "line", "strokeWidth": 2, "point": True},
        {"type": "rule", "strokeDash": [5, 4]}, {"type": "point", "size": 260, "strokeWidth": 3, "shape": "diamond"}]
    assert marked["datasets"][marked["layer"][2]["data"]["name"]] == [{"training_days": 28}], "the deadline"
    for layer in (marked["layer"][0], marked["layer"][1], marked["layer"][3]):
        assert [(layer["encoding"][name]["field"], layer["encoding"][name]["scale"]["type"]) for name in "xy"] == [
            ("training_days", "log"), ("compute_usd", "log")]
        assert [each["field"] for each in layer["encoding"]["tooltip"]] == ["gpu", "gpus", "provider", "term", *POINT]
    point = marked["datasets"][marked["layer"][-1]["data"]["name"]]
    assert [(each["training_days"], each["compute_usd"]) for each in point] == [(12.3457, 98765.43)]
