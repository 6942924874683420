"""Runs of a case: priced, judged and compared as the pages on the cost of a run show them."""
import functools
import math

import pandas
import pytest

from gpucalc import Case
from gpucalc.plan import offers
from gpucalc.plan.layouts import all_layouts
from gpucalc.plan.offers import (assurance, behind, by_deadline, by_interruption, cheapest_flops, decided, doubtful, drawn, judged, lacking, nearest, offer, outcome, recommended, runs, runs_of, same_run, tied)
from gpucalc.plan.run_risks import DEAR, LATE, MAY_DEAR, MAY_LATE, priced
from gpucalc.plan.run_speeds import planned
from gpucalc.laws.training_cost import planned_gpu_hours
from gpucalc.rows import bands, catalogue, price_book
from gpucalc.rows.rents import with_rent

BOOK = price_book.prices(price_book.DATA / "prices" / "2026-06-24.csv")
CASE = Case(model="Llama-3-8B", recipe="mixed-adamw-fp32-grads", efficiency="achieved", training_tokens=100e9, global_batch=512,
            sequence=8192, gpus=64, mfu=0.4, deadline_days=28, machine_interruption_seconds=86400, restart_seconds=900)


@functools.cache
def found():
    return runs_of(CASE, BOOK, gpu="B200 SXM 180GB")


def test_the_runs_of_a_case_are_those_of_its_values():
    given = planned(runs(BOOK, "Llama-3-8B", 100e9, 512, 8192, gpus=64, gpu="B200 SXM 180GB"), "Llama-3-8B", 100e9, 0.4)
    assert found().equals(given) and len(given) > 10
    path = str(catalogue.__file__).replace("gpucalc/rows/catalogue.py", "tests/configs/Llama-3-8B.json")
    row = runs_of(CASE.but(model=path), BOOK, gpu="B200 SXM 180GB")
    assert row["gpu_hours"].tolist() == pytest.approx(given["gpu_hours"].tolist())


def test_a_case_decides_by_its_terms_its_deadline_and_its_budget():
    plain = judged(priced(found(), machine_interruption_seconds=86400, restart_seconds=900), 28)
    assert decided(found(), CASE).equals(plain)
    poor = decided(found(), CASE.but(budget_usd=recommended(plain).compute_usd - 1))
    assert recommended(poor) is None and {DEAR, MAY_DEAR, MAY_LATE} & set(poor["verdict"])
    free = decided(found(), CASE.but(budget_usd=9.0), deadline_days=math.inf, budget_usd=None)
    assert free["verdict"].eq(free["reason"].where(free["reason"] != "", free["doubt"])).all()
    dearer = decided(found(), CASE, machine_interruption_seconds=3600)
    assert (dearer["compute_usd"] >= plain["compute_usd"]).all()


def test_nothing_is_recommended_of_nothing():
    plain = decided(found(), CASE)
    assert recommended(plain[plain["term"] == "no such term"]) is None


def test_a_run_in_words():
    row = recommended(decided(found(), CASE))
    row = type("run", (), dict(training_days=0.5, low_days=0.4, high_days=2, compute_usd=1234.0, low_usd=1000, high_usd=5000))
    assert outcome(row) == "12 h (8 in 10 between 9.60 h and 2 days) and 1,230 USD (between 1,000 and 5,000 USD)"


def test_a_run_has_the_band_of_its_speed():
    """Where the MFU is planned, that of published runs; where a layout is slower, that of published steps."""
    work = Case(model="Llama-3-8B", gpu="B200 SXM 180GB", training_tokens=100e9, mfu=0.4).band(planned_gpu_hours)
    by_plan = found()["gpu_hours"].round(3) == round(work.plan, 3)
    assert by_plan.any() and not by_plan.all()
    assert (found()[by_plan]["high_hours"] >= work.high).all() and (found()["low_hours"] >= work.low).all()
    family = bands.errors("training step in 16 bits")
    slow = found()[~by_plan & (found()["reason"] == "")]
    steps = slow["gpu_hours"] * family.high / family.median
    assert slow["high_hours"].tolist() == pytest.approx(steps.clip(lower=work.high).tolist())


def test_a_run_is_sure_where_its_slow_end_is_in_time_and_within_the_budget():
    plain = decided(found(), CASE)
    able = plain[plain["verdict"] == ""]
    assert (able["high_days"] <= 28).equals(able["sure"]) and able["sure"].any() and not able["sure"].all()
    assert (plain["low_days"] <= plain["training_days"]).all() and (plain["training_days"] <= plain["high_days"]).all()
    poor = decided(found(), CASE.but(budget_usd=able["high_usd"].min() - 1))
    assert (poor["verdict"] == "").any() and not poor["sure"].any()


def judgement(**columns):
    """Judged runs that hold, for tests of what is said of them."""
    frame = pandas.DataFrame(columns)
    plain = dict(row=[str(place) for place in range(len(frame))], verdict="", reason="", doubt="", grade=0, training_days=1.0, gpus=8,
                 in_time=0.9, in_budget=1.0, holds=0.9, term="spot", provider="Nobody", usd_per_hour=2.0)
    return frame.assign(**{name: value for name, value in plain.items() if name not in frame})


def test_what_is_said_of_a_run_that_is_recommended():
    plain = judgement(gpu=["H100 SXM 80GB"], compute_usd=[100.0], low_usd=70.0, high_usd=200.0)
    assert assurance(plain, plain.iloc[0]) == "90 % of such runs are in time."
    poor = plain.assign(in_budget=0.85)
    assert assurance(poor, poor.iloc[0]) == "90 % of such runs are in time, and 85 % within the budget."
    card = plain.assign(gpu="RTX 4090 24GB")
    assert assurance(card, card.iloc[0]).endswith("This is a consumer card: the license of its driver keeps it out of data centers.")
    rival = pandas.concat([plain, plain.assign(gpu="B200 SXM 180GB", row="rival")])
    assert assurance(rival, plain.iloc[0]).endswith(". Whether a run on B200 SXM 180GB costs less is too close to call.")


def test_a_cheaper_rent_in_doubt_is_named_and_never_wins():
    frame = judgement(gpu=["H100 SXM 80GB", "H100 SXM 80GB"], compute_usd=[100.0, 50.0], low_usd=[70.0, 35], high_usd=[200.0, 100],
                      doubt=["", "a floor price"], verdict=["", "a floor price"], grade=[0, 1], usd_per_hour=[2.0, 0.99])
    best = recommended(frame)
    assert best.row == "0" and doubtful(frame, best).row == "1" and doubtful(frame[:1], best) is None
    assert assurance(frame, best).endswith(" Nobody lists spot H100 SXM 80GB from 0.99 USD/h (a floor price): check it first.")
    other = frame.assign(doubt=["", "serverless"], term=["spot", "serverless"])
    assert assurance(other, best).endswith(" Nobody lists serverless H100 SXM 80GB at 0.99 USD/h (serverless): check it first.")
    dearer = frame.assign(compute_usd=[100.0, 150.0])
    assert doubtful(dearer, best) is None
    late = dearer.assign(verdict=[MAY_LATE, "a floor price"], grade=[2, 1])
    assert doubtful(late, nearest(late)).row == "1" and doubtful(late[1:], nearest(late[1:])) is None


def test_the_nearest_is_the_recommended_else_the_likeliest_else_the_first():
    frame = judgement(gpu=["a", "b", "c"], compute_usd=[3.0, 2.0, 1.0], low_usd=1.0, high_usd=9.0, holds=[0.5, 0.7, 0.9],
                      doubt=["", "", "a floor price"], verdict=[MAY_LATE, MAY_LATE, "a floor price"], grade=[2, 2, 1])
    assert recommended(frame) is None and nearest(frame).gpu == "b"
    assert nearest(frame.assign(verdict=["", MAY_LATE, ""], grade=[0, 2, 1], doubt=["", "", "x"])).gpu in "ac"
    assert nearest(frame[2:]).gpu == "c"
    held = frame.assign(doubt="a floor price", verdict=[MAY_LATE, "a floor price", "a floor price"], grade=[2, 1, 1], holds=[0.5, 0.9, 0.99])
    assert nearest(held).gpu == "c" and nearest(held.assign(compute_usd=[3.0, 1.0, 2.0])).gpu == "b"
    far = frame.assign(holds=[0.001, 0.01, 0.0], grade=[4, 4, 1], verdict=[LATE, LATE, "a floor price"], training_days=[50.0, 90.0, 1.0])
    assert nearest(far).gpu == "a", "of runs that no band brings in time the soonest"
    none = frame.assign(reason="no BF16", verdict="no BF16", grade=5)
    assert nearest(none).reason == "no BF16"


def test_a_card_needs_the_format_that_the_recipe_computes_in():
    v100, a100, h100 = (catalogue.gpu(name) for name in ("V100 SXM 16GB", "A100 SXM 80GB", "H100 SXM 80GB"))
    assert lacking(v100) == lacking(v100, recipe="lora") == "no BF16" and lacking(v100, recipe="fp32-adamw") == ""
    assert lacking(a100) == lacking(h100, narrow_products=1) == "" and lacking(a100, narrow_products=1) == "no FP8"
    cheap = with_rent(BOOK, "V100 SXM 16GB", 8, "on-demand", 0.01)
    assert set(runs(cheap, "Llama-3-8B", 1e9, 512, 4096, gpus=8)["reason"]) == {"no BF16"}


def test_a_job_is_spread_over_so_many_small_machines():
    frame = runs(with_rent(BOOK, "B200 SXM 180GB", 1, "on-demand", 2.0), "Llama-3-8B", 1e9, 512, 4096, gpus=64)
    assert set(frame["reason"][frame["gpus"] > 16]) == {"more than 16 small machines"}
    assert (frame["reason"][(frame["gpus"] >= 8) & (frame["gpus"] <= 16)] == "").all()
    few = runs(with_rent(BOOK, "B200 SXM 180GB", 4, "on-demand", 2.0), "Llama-3-8B", 1e9, 512, 4096, gpus=64, most_small_machines=3)
    assert few.groupby("machines")["reason"].first().to_dict() == {1: "", 2: "", 3: "", 4: "more than 3 small machines",
                                                                   6: "more than 3 small machines", 8: "more than 3 small machines",
                                                                   12: "more than 3 small machines", 16: "more than 3 small machines"}
    whole = runs(with_rent(BOOK, "B200 SXM 180GB", 8, "on-demand", 2.0), "Llama-3-8B", 1e9, 512, 4096, gpus=64, most_small_machines=1)
    assert (whole["reason"] == "").all()


def test_runs_on_other_gpus_whose_cost_may_be_lower_are_tied():
    """On one GPU runs share the error of its speed, so the rent decides."""
    frame = judgement(gpu=["a", "a", "b", "c"], compute_usd=[100, 110, 250, 260], low_usd=[70, 80, 199, 201],
                      high_usd=[200, 220, 500, 520])
    assert tied(frame, frame.iloc[0]) == ["b"]


def test_the_rows_behind_runs_are_those_of_their_rents():
    plain = decided(found(), CASE)
    assert sorted(behind(BOOK, plain).index) == sorted(plain["row"].unique())
    assert behind(BOOK, plain.iloc[0]).index.tolist() == [plain.iloc[0]["row"]]


def test_the_same_run_is_on_the_same_rent_and_number():
    row = found().iloc[3]
    same = same_run(found(), row)
    assert len(same) == 1 and same.iloc[0].equals(row)


def test_a_later_deadline_never_costs_more():
    plain = decided(found(), CASE)
    shown = by_deadline(plain, [0.001, 7, 28, 112])
    assert shown["recommended"][0] == "none" and math.isnan(shown["compute_usd"][0])
    assert shown["compute_usd"][1:].is_monotonic_decreasing and (shown["training_days"] <= shown["deadline_days"])[1:].all()
    assert shown["recommended"][2] == offer(recommended(plain))
    assert list(by_deadline(plain, [1e-9])) == ["deadline_days", "recommended", "training_days", "compute_usd"]


def test_spot_is_slower_the_sooner_machines_go():
    shown = by_interruption(found(), CASE, (3, 24, 400))
    assert shown["interruption_slowdown"].is_monotonic_decreasing and shown["compute_usd"].is_monotonic_decreasing
    assert shown["spot"].str.contains("spot").all() and set(shown["recommended"]) <= {"spot", "on-demand"}
    demand = found()[found()["term"] == "on-demand"]
    assert by_interruption(demand, CASE, (3,))["spot"].tolist() == ["none in the book"]
    late = by_interruption(found(), CASE.but(deadline_days=1e-6), (3,))
    assert late[["spot", "recommended"]].values.tolist() == [["none in time", "none"]] and late["compute_usd"].isna().all()


def test_a_chart_shows_the_cheapest_of_each_kind_within_reach():
    plain = decided(found(), CASE)
    shown = drawn(plain, 28, 1000)
    assert not shown.duplicated(["gpu", "term", "gpus"]).any() and (shown["compute_usd"] < 30_000).all()
    assert (shown["training_days"] < 280).all() and (shown["reason"] == "").all()
    assert shown["compute_usd"].min() == plain["compute_usd"].min()


def test_the_cheapest_flop_is_that_of_the_cheapest_server_of_each_gpu():
    servers = cheapest_flops(BOOK)
    peaks = servers["gpu"].map(catalogue.gpus()["peak_flops"])
    assert (servers["usd_per_hour"] / peaks).is_monotonic_increasing and servers["gpu"].is_unique
    assert (servers["gpus_per_server"] >= 8).all() and set(servers["term"]) == {"on-demand"}
    of_book = BOOK[(BOOK["item"] == "rent") & (BOOK["term"] == "on-demand") & (BOOK["gpus_per_server"] >= 8)]
    of_book = of_book[of_book["confidence"].eq("seen") & ~of_book["gpu"].str.startswith("V100")]
    assert dict(zip(servers["gpu"], servers["usd_per_hour"])) == of_book.groupby("gpu")["usd_per_hour"].min().to_dict()
    assert cheapest_flops(BOOK[BOOK["term"] == "spot"]).empty


@pytest.mark.parametrize("model, degrees", [("Llama-3-8B", [1]), ("Mixtral-8x7B", [1, 8]), ("DeepSeek-V3", [1, 8, 32])])
def test_experts_are_spread_where_there_are_experts(model, degrees, monkeypatch):
    asked = []

    def noted(*args, axes, **job):
        asked.append(axes)
        return all_layouts(*args, axes=axes, **job)

    monkeypatch.setattr(offers, "all_layouts", noted)
    runs(BOOK, model, 1e9, 512, 4096, gpus=8, gpu="B200 SXM 180GB", term="on-demand")
    assert asked and all(axes["expert_parallel"] == degrees for axes in asked)
    assert asked[-1]["tensor_parallel"] == [1, 2, 4, 8] and asked[-1]["recompute"] == [0, 2]


@pytest.mark.parametrize("size, joined", [(7, "Ethernet 25G"), (8, "InfiniBand NDR"), (16, "InfiniBand NDR")])
def test_machines_of_eight_gpus_have_the_network_and_smaller_ones_the_small_one(size, joined, monkeypatch):
    asked = []

    def noted(*args, network, **job):
        asked.append(network)
        return all_layouts(*args, network=network, **job)

    monkeypatch.setattr(offers, "all_layouts", noted)
    runs(with_rent(BOOK, "B200 SXM 180GB", size, "on-demand", 2.0), "Llama-3-8B", 1e9, 512, 4096, gpus=size)
    assert asked == [joined]


def test_a_server_has_eight_gpus_or_more():
    for size in (7, 8):
        assert len(cheapest_flops(with_rent(BOOK, "B200 SXM 180GB", size, "on-demand", 2.0))) == (size == 8)


def test_runs_that_a_chart_shows():
    """The cheapest of each GPU, term and number that lasts below ten deadlines and costs below thirty times as much."""
    rows = [("a", 1, 3, ""), ("a", 1, 2, ""), ("a", 1, 1, "no"), ("b", 19.9, 5, ""), ("c", 20, 5, ""), ("d", 1, 59.9, ""),
            ("e", 1, 60, "")]
    frame = pandas.DataFrame(rows, columns=["gpu", "training_days", "compute_usd", "reason"]).assign(term="spot", gpus=8, doubt="", row=range(7))
    assert [(row.gpu, row.compute_usd) for row in drawn(frame, 2, 2).itertuples()] == [("a", 2), ("b", 5), ("d", 59.9)]
