"""Runs of a case: priced, judged and compared as the pages on the cost of a run show them."""
import functools
import math

import pandas
import pytest

from gpucalc import Case
from gpucalc.plan import offers
from gpucalc.plan.layouts import all_layouts
from gpucalc.plan.offers import (by_deadline, by_interruption, cheapest_flops, decided, drawn, judged, offer, outcome, priced,
                                 recommended, runs, runs_of, same_run)
from gpucalc.rows import catalogue, price_book
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
    assert outcome(row).endswith(" USD") and outcome(row).startswith(f"{row.training_days:.3g} days and ")
    assert outcome(type("run", (), dict(training_days=0.5, compute_usd=1234.0))) == "12 h and 1,230 USD"


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
