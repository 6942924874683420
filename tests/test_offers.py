"""Runs of a case: priced, judged and compared as the pages on the cost of a run show them."""
import functools
import math

import pandas
import pytest

from gpucalc import Case
from gpucalc.plan import offers
from gpucalc.plan.layouts import all_layouts
from gpucalc.plan.offers import (assurance, by_deadline, by_interruption, cheapest_flops, decided, drawn, judged, offer, outcome,
                                 priced, recommended, runs, runs_of, same_run, tied)
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
    given = runs(BOOK, "Llama-3-8B", 100e9, 512, 8192, gpus=64, mfu=0.4, gpu="B200 SXM 180GB")
    assert found().equals(given) and len(given) > 10
    path = str(catalogue.__file__).replace("gpucalc/rows/catalogue.py", "tests/configs/Llama-3-8B.json")
    row = runs_of(CASE.but(model=path), BOOK, gpu="B200 SXM 180GB")
    assert row["gpu_hours"].tolist() == pytest.approx(given["gpu_hours"].tolist())


def test_a_case_decides_by_its_terms_its_deadline_and_its_budget():
    plain = judged(priced(found(), restart_seconds=900), 28)
    assert decided(found(), CASE).equals(plain)
    poor = decided(found(), CASE.but(budget_usd=recommended(plain).compute_usd - 1))
    assert recommended(poor) is None and "over the budget" in set(poor["verdict"])
    assert decided(found(), CASE.but(budget_usd=9.0), deadline_days=math.inf, budget_usd=None)["verdict"].eq(
        plain["reason"]).all()
    dearer = decided(found(), CASE, machine_interruption_seconds=3600)
    assert (dearer["compute_usd"] >= plain["compute_usd"]).all()


def test_nothing_is_recommended_of_nothing():
    plain = decided(found(), CASE)
    assert recommended(plain[plain["term"] == "no such term"]) is None


def test_a_run_in_words():
    row = recommended(decided(found(), CASE))
    assert outcome(row).startswith(f"{row.training_days:.3g} days (8 in 10 between {row.low_days:.3g} and {row.high_days:.3g} days) and ")
    row = type("run", (), dict(training_days=0.5, low_days=0.4, high_days=2, compute_usd=1234.0, low_usd=1000, high_usd=5000))
    assert outcome(row) == "12 h (8 in 10 between 9.60 h and 2 days) and 1,230 USD (between 1,000 and 5,000 USD)"


def test_a_run_has_the_band_of_its_speed():
    """Where the MFU is planned, that of published runs; where a layout is slower, that of published steps."""
    work = Case(model="Llama-3-8B", gpu="B200 SXM 180GB", training_tokens=100e9, mfu=0.4).band(planned_gpu_hours)
    by_plan = found()["gpu_hours"].round(3) == round(work.plan, 3)
    assert by_plan.any() and not by_plan.all()
    assert found()[by_plan][["low_hours", "high_hours"]].drop_duplicates().values.tolist() == [[work.low, work.high]]
    family = bands.errors("training step in 16 bits")
    slow = found()[~by_plan & (found()["reason"] == "")]
    assert (slow["high_hours"] / slow["gpu_hours"]).tolist() == pytest.approx([family.high / family.median] * len(slow))


def test_a_run_is_sure_where_its_slow_end_is_in_time_and_within_the_budget():
    plain = decided(found(), CASE)
    able = plain[plain["verdict"] == ""]
    assert (able["high_days"] <= 28).equals(able["sure"]) and able["sure"].any() and not able["sure"].all()
    assert (plain["low_days"] <= plain["training_days"]).all() and (plain["training_days"] <= plain["high_days"]).all()
    poor = decided(found(), CASE.but(budget_usd=able["high_usd"].min() - 1))
    assert (poor["verdict"] == "").any() and not poor["sure"].any()


def test_what_is_said_of_a_run_that_is_sure_and_of_one_that_is_not():
    plain = decided(found(), CASE)
    safe = recommended(plain[plain["sure"]])
    assert assurance(plain, recommended(plain)) == (
        f"At the slow end of its band that fails, so it is too close to call. One that holds even there is {offer(safe)}: "
        f"{outcome(safe)}.")
    assert assurance(plain, safe) == "The slow end holds that too."
    hasty = decided(found(), CASE, deadline_days=plain["high_days"].min() * 0.9)
    assert "too close to call. No offer holds there" in assurance(hasty, recommended(hasty))
    rival = plain[plain["row"] == safe.row].assign(gpu="H100 SXM 80GB", row="rival")
    assert assurance(pandas.concat([plain, rival]), safe).endswith("Whether a run on H100 SXM 80GB costs less is too close to call.")


def test_runs_on_other_gpus_whose_cost_may_be_lower_are_tied():
    """On one GPU runs share the error of its speed, so the rent decides."""
    frame = pandas.DataFrame([("a", 100, 70, 200), ("a", 110, 80, 220), ("b", 250, 199, 500), ("c", 260, 201, 520)],
                             columns=["gpu", "compute_usd", "low_usd", "high_usd"])
    frame = frame.assign(row=range(4), verdict="", training_days=1.0, gpus=8)
    assert tied(frame, frame.iloc[0]) == ["b"]


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
    frame = pandas.DataFrame(rows, columns=["gpu", "training_days", "compute_usd", "reason"]).assign(term="spot", gpus=8)
    assert [(row.gpu, row.compute_usd) for row in drawn(frame, 2, 2).itertuples()] == [("a", 2), ("b", 5), ("d", 59.9)]
