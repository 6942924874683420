"""Runs of a case: found and judged by the rule, and compared as the pages on the cost of a run show them."""
import functools
import itertools
import math

import pandas
import pytest
from hypothesis import given, settings, strategies as st

from book.pages.training_cost import (assurance, BANDS, behind, by_deadline, by_interruption, cheapest_flops, decided, doubtful,
                                      drawn, front, nearest, offer, outcome, ranked, recommended, searched, TAKEN_BACK, tied)
from gpucalc import Case
from gpucalc.decisions import rule
from gpucalc.decisions.answer import answer, judged
from gpucalc.decisions.jobs import RUN
from gpucalc.laws.training_cost import planned_gpu_hours
from gpucalc.rows import bands, catalogue, price_book
from gpucalc.rows.rents import with_rent
from tests.gpucalc.test_training_cost import EXAMPLES

BOOK = price_book.prices(price_book.DATA / "prices" / "2026-06-24.csv")
CASE = Case(model="Llama-3-8B", recipe="mixed-adamw-fp32-grads", efficiency="achieved", training_tokens=100e9, global_batch=512,
            sequence=8192, gpus=64, mfu=0.4, deadline_days=28, machine_interruption_seconds=86400, restart_seconds=900)
B200 = "B200 SXM 180GB"
LATE, DEAR = (f"too likely to miss {what}" for what in ("the deadline", "the budget"))


@functools.cache
def found():
    return searched(CASE.but(cards=B200), BOOK)


@functools.cache
def example(name):
    job = Case(**EXAMPLES[name])
    return job, searched(job, price_book.prices())


# The rule

@pytest.mark.parametrize("name", EXAMPLES)
def test_the_recommended_run_is_the_answer_of_the_rule(name):
    job, search = example(name)
    best, said = recommended(decided(search)), answer(job, price_book.prices())
    if best is None:
        assert said.best is None
        return
    same = {name: said.best[name] for name in ("row", "gpus", "training_days", "compute_usd")}
    assert same == pytest.approx({name: best[name] for name in same})
    band = said.figures["cost"]
    assert (band.low, band.plan, band.high) == pytest.approx((best.low_usd, best.compute_usd, best.high_usd))


@settings(max_examples=15, deadline=None)
@given(days=st.floats(0.5, 200), budget=st.one_of(st.just(math.inf), st.floats(1e3, 1e6)), sure=st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_every_run_is_judged_as_the_rule_does(days, budget, sure):
    """The chance of a limit is read off the band, so that it is as sure as it must be where the rule says so."""
    search = example("70B")[1]
    frame = decided(search, deadline_days=days, budget_usd=budget, sure=sure)
    case = search.case.but(deadline_days=days, budget_usd=budget, sure=sure)
    kept = rule.solve((RUN,), case, search.tables, judged(case), ("plan",))["plan"].kept
    able = frame[frame["verdict"] == ""]
    assert sorted(zip(able["row"], able["gpus"])) == sorted(zip(kept["row"], kept["gpus"])) if rule.count(kept) else able.empty
    runs = frame[frame["reason"] == ""]
    likely = (runs["in_time"] >= sure - 1e-9) & (runs["in_budget"] >= sure - 1e-9)
    assert likely.equals(runs["missed"] == "")
    best = recommended(frame)
    assert best is None or best.compute_usd == able["compute_usd"].min() == kept["compute_usd"].min()


def test_what_a_case_has_is_known():
    """A share of the peak, a time between stops: without an error of their own."""
    frame = decided(searched(CASE.but(cards=B200, mfu=0.1, gpu_failure_seconds=1e12), BOOK)).query("reason == ''")
    work = Case(model="Llama-3-8B", gpu=B200, training_tokens=100e9, mfu=0.1)(planned_gpu_hours)
    assert len(frame) and frame[["low_hours", "gpu_hours", "high_hours"]].to_numpy() == pytest.approx(work)
    assert frame["low_days"].tolist() == pytest.approx(frame["high_days"].tolist())
    free = decided(searched(CASE.but(cards=B200, mfu=None), BOOK))
    free = free[free["reason"] == ""]
    assert (free["low_hours"] < free["gpu_hours"]).all() and (free["gpu_hours"] < free["high_hours"]).all()


def test_a_layout_that_is_slower_than_published_runs_counts():
    frame = decided(found()).query("reason == ''")
    work = Case(model="Llama-3-8B", gpu=B200, training_tokens=100e9, mfu=0.4)(planned_gpu_hours)
    slow = frame["layout_gpu_hours"] > work
    assert slow.any() and not slow.all()
    assert frame["gpu_hours"].tolist() == pytest.approx(frame["layout_gpu_hours"].clip(lower=work).tolist())
    assert frame["mfu"][~slow].tolist() == pytest.approx([0.4] * (~slow).sum()) and (frame["mfu"][slow] < 0.4).all()
    family = bands.errors("training step in 16 bits")
    slowest = frame["layout_gpu_hours"] * family.high / family.median
    assert frame["high_hours"].tolist() == pytest.approx(slowest.clip(lower=work).tolist())


def test_the_ends_of_a_run_stand_in_order():
    frame = decided(found()).query("reason == ''")
    for name, short in zip(BANDS, ("hours", "days", "usd")):
        ends = [frame[f"low_{short}"], frame[name], frame[f"sure_{short}"], frame[f"high_{short}"]]
        assert all((low <= high * (1 + 1e-12)).all() for low, high in itertools.pairwise(ends))
    even = decided(found(), sure=0.5)
    assert even["compute_usd"].tolist() == pytest.approx(even["sure_usd"].tolist())


def test_a_deadline_and_a_budget_that_are_not_there_are_none():
    free = decided(found(), deadline_days=math.inf)
    assert (free["missed"] == "").all() and (free["verdict"] == free["reason"].where(free["reason"] != "", free["doubt"])).all()
    poor = decided(found(), budget_usd=float(free[free["verdict"] == ""]["sure_usd"].min() - 1))
    assert recommended(poor) is None and DEAR in set(poor["verdict"])
    assert LATE in set(decided(found(), deadline_days=1.0)["verdict"])


def test_a_model_may_be_a_config_and_a_gpu_of_the_case_is_the_one_that_is_wanted():
    path = str(catalogue.__file__).replace("gpucalc/rows/catalogue.py", "tests/configs/Llama-3-8B.json")
    frame, same = decided(searched(CASE.but(model=path, gpu=B200), BOOK)), decided(found())
    assert set(frame["gpu"]) == {B200} and frame["gpu_hours"].tolist() == pytest.approx(same["gpu_hours"].tolist())


def test_nothing_is_recommended_of_nothing():
    plain = decided(found())
    assert recommended(plain[plain["term"] == "no such term"]) is None


# In words

def test_a_run_in_words():
    row = type("run", (), dict(training_days=0.5, sure_days=2.0, compute_usd=1000.0, sure_usd=1234.0))
    assert outcome(row) == "12 h and 1,000 USD (80 % of such runs: at most 2 days and 1,230 USD)"


@pytest.mark.parametrize("provider, seller", [("Nobody", "Nobody"), ("not stated", "your provider")])
def test_an_offer_names_its_seller(provider, seller):
    row = type("run", (), dict(gpus=1024, gpu="H100 SXM 80GB", provider=provider, term="spot", usd_per_hour=2.0))
    assert offer(row) == f"1,024 × H100 SXM 80GB at {seller} (spot, 2.00 USD/h a GPU)"


def judgement(**columns):
    """Judged runs that hold, for tests of what is said of them."""
    frame = pandas.DataFrame(columns)
    plain = dict(row=[str(place) for place in range(len(frame))], verdict="", reason="", missed="", doubt="", training_days=1.0, gpus=8,
                 in_time=0.9, in_budget=1.0, term="spot", provider="Nobody", usd_per_hour=2.0)
    return frame.assign(**{name: value for name, value in plain.items() if name not in frame})


def test_what_is_said_of_a_run_that_is_recommended():
    plain = judgement(gpu=["H100 SXM 80GB"], compute_usd=[100.0], low_usd=70.0, high_usd=200.0)
    assert assurance(plain, plain.iloc[0]) == "90 % of such runs are in time."
    poor = plain.assign(in_budget=0.85)
    assert assurance(poor, poor.iloc[0]) == "90 % of such runs are in time, and 85 % within the budget."
    rival = pandas.concat([plain, plain.assign(gpu=B200, row="rival")])
    assert assurance(rival, plain.iloc[0]).endswith(". Whether a run on B200 SXM 180GB costs less is too close to call.")


def test_a_cheaper_offer_in_doubt_is_named_and_never_wins():
    frame = judgement(gpu=["H100 SXM 80GB", "H100 SXM 80GB"], compute_usd=[100.0, 50.0], low_usd=[70.0, 35], high_usd=[200.0, 100],
                      doubt=["", "a floor price"], verdict=["", "a floor price"], usd_per_hour=[2.0, 0.99])
    best = recommended(frame)
    assert best.row == "0" and doubtful(frame, best).row == "1" and doubtful(frame[:1], best) is None
    assert assurance(frame, best).endswith(" Nobody lists spot H100 SXM 80GB from 0.99 USD/h (a floor price): check it first.")
    other = frame.assign(doubt=["", "serverless"], term=["spot", "serverless"])
    assert assurance(other, best).endswith(" Nobody lists serverless H100 SXM 80GB at 0.99 USD/h (serverless): check it first.")
    spot = pandas.concat([frame, frame[1:].assign(row="2", compute_usd=60.0, doubt=TAKEN_BACK)])
    assert assurance(spot, best).endswith(" On spot, where machines may be taken back, plan for 60 USD, if you get 8 × H100 SXM 80GB at once "
                                          "from Nobody.")
    dearer = frame.assign(compute_usd=[100.0, 150.0])
    assert doubtful(dearer, best) is None
    late = dearer.assign(verdict=[LATE, "a floor price"], missed=[LATE, ""])
    assert doubtful(late, nearest(late)).row == "1" and doubtful(late[1:], nearest(late[1:])) is None


def test_the_nearest_is_the_recommended_else_the_first_that_may_be_taken_else_the_first():
    frame = judgement(gpu=["c", "a", "b"], doubt=["a floor price", "", ""], verdict=["a floor price", LATE, LATE])
    assert recommended(frame) is None and nearest(frame).gpu == "a"
    assert nearest(frame.assign(verdict=["a floor price", LATE, ""])).gpu == "b" and nearest(frame[:1]).gpu == "c"


@pytest.mark.parametrize("days, budget", [(0.5, math.inf), (28, 100.0), (0.5, 100.0)])
def test_what_comes_closest_misses_the_last_limit_by_the_least(days, budget):
    frame = decided(found(), deadline_days=days, budget_usd=budget)
    near, firm = nearest(frame), frame[(frame["reason"] == "") & (frame["doubt"] == "")]
    late = (firm["sure_days"] > days).all()
    least = (firm["sure_days"] if late else firm[firm["sure_days"] <= days]["sure_usd"]).min()
    assert (near.sure_days if late else near.sure_usd) == least and near.missed == (LATE if late else DEAR)


# What does not run, and what may not be taken

def reasons(book, **job):
    return decided(searched(CASE.but(training_tokens=1e9, sequence=4096, **job), book))


def test_a_card_needs_the_format_that_the_recipe_computes_in():
    cheap = with_rent(BOOK, "V100 SXM 16GB", 8, "on-demand", 0.01)
    assert set(reasons(cheap, gpus=8)["reason"]) == {"cannot compute in the format"}
    assert "cannot compute in the format" not in set(reasons(cheap, gpus=8, recipe="fp32-adamw", model="Llama-3.2-1B")["reason"])


def test_a_job_is_spread_over_so_many_small_machines():
    frame = reasons(with_rent(BOOK, B200, 1, "on-demand", 2.0))
    assert set(frame["reason"][frame["gpus"] > 16]) == {"too many small machines"}
    assert (frame["reason"][(frame["gpus"] >= 8) & (frame["gpus"] <= 16)] == "").all()
    few = reasons(with_rent(BOOK, B200, 4, "on-demand", 2.0), most_small_machines=3)
    assert few[few["reason"] == ""]["machines"].max() == 3 and set(few["reason"][few["machines"] > 3]) == {"too many small machines"}
    assert (reasons(with_rent(BOOK, B200, 8, "on-demand", 2.0), most_small_machines=1)["reason"] == "").all()


@pytest.mark.parametrize("size, named", [(7, "small_network"), (8, "network"), (16, "network")])
def test_machines_of_eight_gpus_have_the_network_and_smaller_ones_the_small_one(size, named):
    book, job = with_rent(BOOK, B200, size, "on-demand", 2.0), CASE.but(gpus=2 * size, global_batch=64 * size)
    plain, other = (searched(job, book, **{named: link}).tables["clusters"]["network_bandwidth"] for link in (None, "Ethernet 10G"))
    links = catalogue.links()["link_bandwidth"]
    assert set(other) == {links["Ethernet 10G"]} and set(plain) == {links["Ethernet 25G" if size < 8 else "InfiniBand NDR"]}


def test_consumer_cards_and_prices_and_terms_in_doubt_are_never_recommended():
    frame = decided(searched(CASE, price_book.prices()))
    priced = price_book.prices().loc[frame["row"]]
    firm = (frame["doubt"] == "").to_numpy()
    assert (priced["confidence"][firm] == "seen").all() and set(frame["term"][firm]) == {"on-demand"}
    any_term = decided(searched(CASE.but(term="any"), price_book.prices()))
    assert set(any_term["term"][any_term["doubt"] == ""]) == {"on-demand", "spot", "reserved-1y", "reserved-3y"}
    floor = frame[(priced["confidence"] == "floor").to_numpy() & ~frame["gpu"].map(catalogue.gpus()["kind"]).eq("consumer")]
    assert len(floor) and (floor["doubt"] == "a floor price").all()
    assert set(frame["gpu"][firm].map(catalogue.gpus()["kind"])) == {"datacenter", "workstation", "tpu"} & set(
        frame["gpu"].map(catalogue.gpus()["kind"]))
    asked = decided(searched(CASE.but(term="marketplace"), price_book.prices()))
    assert (asked["doubt"] == "").any() and "machines of unnamed hosts" in set(frame["doubt"])


# Compared

def test_runs_on_other_gpus_whose_cost_may_be_lower_are_tied():
    """On one GPU runs share the error of its speed, so the rent decides."""
    frame = judgement(gpu=["a", "a", "b", "c"], compute_usd=[100, 110, 250, 260], low_usd=[70, 80, 199, 201],
                      high_usd=[200, 220, 500, 520])
    assert tied(frame, frame.iloc[0]) == ["b"]


def test_the_rows_behind_runs_are_those_of_their_rents():
    plain = decided(found())
    assert sorted(behind(BOOK, plain).index) == sorted(plain["row"].unique())
    assert behind(BOOK, plain.iloc[0]).index.tolist() == [plain.iloc[0]["row"]]
    assert ranked(plain)["row"].tolist() == list(dict.fromkeys(plain["row"]))


def test_a_later_deadline_never_costs_more():
    shown = by_deadline(found(), [0.001, 7, 28, 112])
    assert shown["recommended"][0] == "none" and math.isnan(shown["compute_usd"][0])
    assert shown["compute_usd"][1:].is_monotonic_decreasing and (shown["training_days"] <= shown["deadline_days"])[1:].all()
    assert shown["recommended"][2] == offer(recommended(decided(found())))
    assert list(by_deadline(found(), [1e-9])) == ["deadline_days", "recommended", "training_days", "compute_usd"]


def test_spot_is_slower_the_sooner_machines_go():
    shown = by_interruption(found(), (3, 24, 400))
    assert shown["interruption_slowdown"].is_monotonic_decreasing and shown["compute_usd"].is_monotonic_decreasing
    assert shown["spot"].str.contains("spot").all() and set(shown["recommended"]) <= {"spot", "on-demand"}
    demand = searched(CASE.but(cards=B200, term="on-demand"), BOOK)
    assert by_interruption(demand, (3,))["spot"].tolist() == ["none in the book"]
    late = by_interruption(searched(CASE.but(cards=B200, deadline_days=1e-6), BOOK), (3,))
    assert late[["spot", "recommended"]].values.tolist() == [["none in time", "none"]] and late["compute_usd"].isna().all()


def test_a_chart_shows_the_cheapest_of_each_kind_within_reach():
    plain = decided(found())
    shown = drawn(plain, 28, 1000)
    assert not shown.duplicated(["gpu", "term", "gpus"]).any() and (shown["compute_usd"] < 30_000).all()
    assert (shown["training_days"] < 280).all() and (shown["reason"] == "").all()
    assert shown["compute_usd"].min() == plain[plain["doubt"] == ""]["compute_usd"].min()


def test_runs_that_a_chart_shows():
    """The cheapest of each GPU, term and number that lasts below ten deadlines and costs below thirty times as much."""
    rows = [("a", 1, 3, ""), ("a", 1, 2, ""), ("a", 1, 1, "no"), ("b", 19.9, 5, ""), ("c", 20, 5, ""), ("d", 1, 59.9, ""),
            ("e", 1, 60, "")]
    frame = pandas.DataFrame(rows, columns=["gpu", "training_days", "compute_usd", "reason"]).assign(term="spot", gpus=8, doubt="", row=range(7))
    assert [(row.gpu, row.compute_usd) for row in drawn(frame, 2, 2).itertuples()] == [("a", 2), ("b", 5), ("d", 59.9)]


def test_the_cheapest_flop_is_that_of_the_cheapest_server_of_each_gpu():
    servers = cheapest_flops(BOOK)
    peaks = servers["gpu"].map(catalogue.gpus()["peak_flops"])
    assert (servers["usd_per_hour"] / peaks).is_monotonic_increasing and servers["gpu"].is_unique
    assert (servers["gpus_per_server"] >= 8).all() and set(servers["term"]) == {"on-demand"}
    of_book = BOOK[(BOOK["item"] == "rent") & (BOOK["term"] == "on-demand") & (BOOK["gpus_per_server"] >= 8)]
    of_book = of_book[of_book["confidence"].eq("seen") & ~of_book["gpu"].str.startswith("V100")]
    assert dict(zip(servers["gpu"], servers["usd_per_hour"])) == of_book.groupby("gpu")["usd_per_hour"].min().to_dict()
    assert cheapest_flops(BOOK[BOOK["term"] == "spot"]).empty


def test_a_server_has_eight_gpus_or_more():
    for size in (7, 8):
        assert len(cheapest_flops(with_rent(BOOK, B200, size, "on-demand", 2.0))) == (size == 8)


def test_experts_are_spread_where_there_are_experts():
    assert example("DeepSeek")[1].tables["expert_parallel"] == (1, 8, 32) and example("page")[1].tables["expert_parallel"] == (1,)


def test_three_machines_have_three_stages():
    """A batch that no 3 divides is split over three machines by stages."""
    frame = decided(example("70B")[1]).query("reason == '' and gpus_per_server == 8 and machines == 6")
    assert len(frame) and frame["layout"].str.contains("PP\u00a0[36]").all()


def test_a_page_can_draw_what_runs_nowhere():
    """Of a frame without rows a chart knows what are names and what are numbers."""
    frame = decided(searched(CASE.but(model="DeepSeek-V3", cards=B200, gpus=8), BOOK))
    assert (frame["reason"] != "").all() and nearest(frame).reason and recommended(frame) is None
    assert all(pandas.api.types.is_string_dtype(each[name]) for each in (drawn(frame, 28, 1e9), front(frame))
               for name in ("gpu", "term", "provider"))
