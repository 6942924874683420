"""Cost of a run by hand, against published runs, and what must hold for any table of offers and any prices."""
import functools
import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpucalc.rows import bands, catalogue, price_book
from gpucalc import training_cost as tc
from gpucalc.core.evaluate import Case
from gpucalc.plan.layouts import best_layouts
from gpucalc.page.measured import compare
from gpucalc.plan.offers import front, machine_counts, ranked, recommended, runs
from gpucalc.plan.run_risks import SURE, judged, priced
from gpucalc.plan.run_speeds import SPEED, planned
from gpucalc.rows.tables import DATA

A100_PEAK, H100_PEAK = 312e12, 989e12
OLD, NEW = "2026-01-12.csv", "2026-06-24.csv"
JOB = dict(model="Llama-3-8B", training_tokens=100e9, global_batch=512, sequence=8192)
both_books = pytest.mark.parametrize("book", [OLD, NEW])


def close(value):
    return pytest.approx(value, rel=1e-12)


@functools.cache
def book_of(name):
    return price_book.prices(DATA / "prices" / name)


@functools.cache
def runs_of(name, mfu=None, **more):
    """The search's runs, or those planned at an MFU."""
    found = runs(book_of(name), **JOB, **more)
    return found if mfu is None else planned(found, "Llama-3-8B", 100e9, mfu)


def unfailing(frame, **terms):
    """Priced runs on machines that never fail, of which spot is taken once a day."""
    return priced(frame, **dict(machine_interruption_seconds=86400, gpu_failure_seconds=1e18) | terms)


def one(frame, **wanted):
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    return frame.iloc[0]


# The laws

def test_training_flops():
    assert tc.training_flops(8_030_261_248, 100 * 10**9) == 6 * 8_030_261_248 * 100 * 10**9
    assert tc.training_flops(70 * 10**9, 10**9, 3) == close(1.26e21)


def test_354_gpu_hours_take_the_whole_peak():
    # 1.26e21 / 989e12 = 1.274e6 s = 353.9 h; at 40 % MFU 884.7 h.
    flops = tc.training_flops(70e9, 1e9, 3)
    assert tc.planned_gpu_hours(flops, H100_PEAK, 1) == pytest.approx(353.9, rel=1e-4)
    assert tc.planned_gpu_hours(flops, H100_PEAK, 0.4) == pytest.approx(884.7, rel=1e-4)


def test_8b_on_100b_tokens_takes_eight_weeks_on_eight_a100():
    # 6 * 8e9 * 1e11 / (8 * 0.4 * 312e12) = 4.808e6 s = 55.6 days; in 7 to 10 days it takes 3.18 to 2.23 times the peak.
    flops = tc.training_flops(8e9, 1e11)
    assert tc.training_days(tc.planned_gpu_hours(flops, A100_PEAK, 0.4), 8) == pytest.approx(55.64, rel=1e-3)
    assert tc.needed_mfu(flops, A100_PEAK, 8, 10) == close(4.8e21 / (312e12 * 8 * 864_000))
    assert tc.needed_mfu(flops, A100_PEAK, 8, 10) == pytest.approx(2.226, rel=1e-3)
    assert tc.needed_mfu(flops, A100_PEAK, 8, 7) == pytest.approx(3.179, rel=1e-3)


def test_llama_2_70b_reached_43_percent():
    # Llama 2 (arXiv 2307.09288, table 2): 1,720,320 A100-hours for 2e12 tokens.
    # 6 * 68.98e9 * 2e12 / (1720320 * 3600 * 312e12) = 0.4284.
    at_peak = Case(catalogue.model("Llama-2-70B"), catalogue.gpu("A100 SXM 80GB"),
                   training_tokens=2 * 10**12, mfu=1)(tc.planned_gpu_hours)
    assert at_peak / 1_720_320 == pytest.approx(6 * 68_976_648_192 * 2e12 / (1_720_320 * 3600 * A100_PEAK), rel=1e-12)
    assert at_peak / 1_720_320 == pytest.approx(0.428, abs=0.001)


def test_a_mixture_trains_its_active_parameters():
    # Mixtral-8x7B: 2 of 8 experts, so 46.70e9 - 32 * 6 * 3 * 4096 * 14336 = 12.88e9 parameters a token.
    active = 46_702_792_704 - 32 * 6 * 3 * 4096 * 14336
    assert Case(catalogue.model("Mixtral-8x7B"), training_tokens=10**9)(tc.training_flops) == 6 * active * 10**9


def test_what_is_paid():
    # 100 h of work, slowed by 1.2, and 8 GPUs for 900 s of a start: 120 + 2 = 122 h.
    assert tc.paid_gpu_hours(100, 1.2, 8, 900) == close(122)
    assert tc.compute_usd(122, 2.5) == close(305)
    assert tc.compute_usd(122, 2.5, runs=20) == close(6100)
    assert tc.compute_usd(122, 2.5, minimum_gpu_hours=1000) == close(2500)
    assert tc.compute_usd(122, 2.5, runs=20, minimum_gpu_hours=1000) == close(6100)


def test_a_reservation_is_paid_for_its_term():
    # Eight A100 at 0.57 USD for three years: 8 * 26280 * 0.57 = 119,837 USD; two weeks of them would be 1,532.
    term = tc.reserved_gpu_hours(8, 3)
    assert term == 8 * 3 * 8760
    assert tc.reserved_gpu_hours(8, 3, other_work=0.75) == close(term / 4)
    assert tc.compute_usd(8 * 14 * 24, 0.57, minimum_gpu_hours=term) == pytest.approx(119_836.8)
    assert tc.compute_usd(8 * 14 * 24, 0.57) == pytest.approx(1532.16)


def test_deadline_gpus():
    # 10,000 h in 28 days of 24 h: 14.88, so 15.
    assert tc.deadline_gpus(10_000, 28) == 15
    assert tc.deadline_gpus(672, 28) == 1


def test_machines_beyond_what_a_job_is_spread_over():
    # 48 machines of one GPU are 32 beyond 16; machines of eight have no such limit.
    assert tc.excess_machines(48, 1, most_small_machines=16) == 32 and tc.excess_machines(16, 7, most_small_machines=16) == 0
    assert tc.excess_machines(48, 8, most_small_machines=16) == 0 and tc.excess_machines(17, 4) == 1


def test_a_budget_buys_the_tokens_that_cost_it():
    # 2e6 USD at 2 USD are 1e6 h of 989e12 * 0.4 FLOP/s: 1.424e24 FLOP, over 6 * 13e9: 1.826e13 tokens.
    tokens = tc.affordable_tokens(2e6, 2, 13e9, H100_PEAK, 0.4)
    assert tokens == close(1e6 * 3600 * 989e12 * 0.4 / 78e9)
    assert tokens == pytest.approx(1.826e13, rel=1e-3)
    assert tc.compute_usd(tc.planned_gpu_hours(tc.training_flops(13e9, round(tokens)), H100_PEAK, 0.4), 2) == close(2e6)


# Published runs

def test_published_bills_are_hours_times_price():
    # DeepSeek-V3 (arXiv 2412.19437, table 1): 2.788M hours at 2 USD are 5.576M USD.
    assert tc.compute_usd(2.788e6, 2) == close(5.576e6)
    bills = compare("training_cost").query("family == 'hours at a price'")
    assert (bills["error"].abs() < 0.03).all() and len(bills) >= 3


def test_published_hours_at_one_mfu():
    hours = compare("training_cost").query("family == 'training run'")
    assert len(hours) >= 16
    assert hours["error"].abs().median() < 0.25
    assert (hours["error"].abs() < 0.7).all()
    reached = 0.4 * (1 + hours["error"])
    assert reached.between(0.13, 0.52).all()


# The table of offers

def test_counts_of_machines():
    assert machine_counts(8, 64) == [8, 16, 24, 32, 48, 64]
    assert machine_counts(1, 8) == [1, 2, 3, 4, 6, 8]
    assert machine_counts(512, 64) == []


@both_books
def test_every_rent_of_the_book_is_there_once(book):
    rents = book_of(book)[book_of(book)["item"] == "rent"]
    frame = judged(priced(runs_of(book)), 28)
    assert sorted(ranked(frame)["row"]) == sorted(rents.index)
    assert (frame["usd_per_hour"] == rents["usd_per_hour"].loc[frame["row"]].to_numpy()).all()
    assert (frame["gpus"] == frame["machines"] * frame["gpus_per_server"]).all()
    assert (frame["gpus"][frame["reason"] == ""] <= 64).all()
    assert not frame.duplicated(["row", "gpus"]).any()
    fits = frame["reason"] == ""
    assert fits.any() and (np.isfinite(frame["compute_usd"]) == fits).all() and (frame["layout"].notna() == fits).all()


def test_a_row_by_hand():
    # Eight H100 in one machine on demand: the fastest layout's GPU-seconds, 100e9 / (512 * 8192) steps, a start of 600 s.
    row = one(unfailing(runs_of(OLD)), sku="p5.48xlarge", region="not stated", term="on-demand", gpus=8)
    best = best_layouts("Llama-3-8B", "H100 SXM 80GB", 8, 512, 8192, count=1)
    work = best["gpu_seconds"][0] * 100e9 / (512 * 8192) / 3600
    slower = bands.errors("training step in 16 bits").median
    assert row.gpu_hours == pytest.approx(work * slower, rel=0.03)
    assert row.layout_mfu == pytest.approx(best["layout_mfu"][0] / slower, rel=0.03)
    assert row.training_days == pytest.approx((row.gpu_hours / 8 + 1 / 6) / 24, rel=1e-6)
    assert row.compute_usd == pytest.approx((row.gpu_hours + 8 / 6) * 98.32 / 8, rel=1e-6)
    assert row.training_bytes <= catalogue.gpu("H100 SXM 80GB").memory_bytes


def test_spot_is_slowed_by_its_machines():
    # Three machines, each taken every 24 h: every 8 h one of them. Daly's slowdown at his best interval, written out.
    row = one(unfailing(runs_of(OLD)), sku="p5.48xlarge", region="not stated", term="spot", gpus=24)
    mean, write, restart = 8 * 3600, 60, 600
    part = write / (2 * mean)
    interval = math.sqrt(2 * write * mean) * (1 + math.sqrt(part) / 3 + part / 9) - write
    slowdown = mean * math.exp(restart / mean) * (math.exp((interval + write) / mean) - 1) / interval
    assert row.machines == 3
    assert row.interruption_slowdown == pytest.approx(slowdown, rel=1e-6)
    assert row.compute_usd == pytest.approx((row.gpu_hours * slowdown + 24 / 6) * 29.50 / 8, rel=1e-6)
    same = one(unfailing(runs_of(OLD)), sku="p5.48xlarge", region="not stated", term="on-demand", gpus=24)
    assert same.interruption_slowdown == pytest.approx(1, rel=1e-6) and same.training_days < row.training_days


def test_a_reserved_run_pays_the_term_less_what_other_work_pays():
    wanted = dict(sku="p5.48xlarge", term="reserved-3y", region="not stated", gpus=8)
    alone, shared, free = (one(unfailing(runs_of(OLD), other_work=share), **wanted) for share in (0, 0.5, 1))
    assert alone.compute_usd == close(3 * 8760 * 64)
    assert shared.compute_usd == close(3 * 8760 * 64 / 2)
    assert free.compute_usd == pytest.approx((free.gpu_hours + 8 / 6) * 8, rel=1e-6)


def test_small_machines_are_on_the_slow_network():
    eight, single = (one(runs_of(NEW), gpu="H100 SXM 80GB", provider="Nebius", gpus_per_server=size, gpus=16) for size in (8, 1))
    assert single.gpu_hours > 1.1 * eight.gpu_hours
    fast = runs(book_of(NEW), **JOB, gpu="H100 SXM 80GB", provider="Nebius", small_network="InfiniBand NDR")
    assert eight.gpu_hours < one(fast, gpus_per_server=1, gpus=16).gpu_hours < single.gpu_hours


def test_a_planned_mfu_counts_the_slower_of_6nd_and_the_layout():
    found, frame = runs_of(NEW), runs_of(NEW, mfu=0.4)
    peaks = found["gpu"].map(catalogue.gpus()["peak_flops"])
    off = bands.errors("training run").median
    plan = 6 * 8_030_261_248 * 1e11 / (peaks * 0.4) / 3600 * off
    fits, slow = found["reason"] == "", found["gpu_hours"] > plan
    assert (fits & slow).any() and (fits & ~slow).any()
    assert np.allclose(frame["gpu_hours"][~slow], plan[~slow])
    assert (frame["gpu_hours"][slow] == found["gpu_hours"][slow]).all()
    spread = bands.errors("training run")
    assert np.allclose(frame["high_hours"], np.maximum(found["high_hours"], plan / off * spread.high))
    assert np.allclose(frame["low_hours"], np.maximum(found["low_hours"], plan / off * spread.low))
    assert (frame["layout_mfu"][fits] == found["layout_mfu"].where(slow, 0.4 / off)[fits]).all()
    assert np.isinf(frame["gpu_hours"][~fits]).all() and frame["layout_mfu"][~fits].isna().all()
    assert frame.drop(columns=SPEED).equals(found.drop(columns=SPEED))
    assert (runs_of(NEW, mfu=1)["gpu_hours"] == found["gpu_hours"]).all()


def test_what_does_not_fit_is_a_row_with_its_reason():
    big = runs(book_of(OLD), "Llama-3-70B", 1e9, 64, 8192, gpus=16)
    reasons = set(big["reason"])
    assert "speed unknown: no latency of NeuronLink 2 Trn1" in reasons
    assert any(reason.endswith("on a GPU of 42.9 GB") for reason in reasons)
    tpu = runs(book_of(NEW), **JOB, gpu="TPU v5p 95GB")
    assert set(tpu["reason"]) == {"more than 64 GPUs in one machine"}
    none = judged(priced(big[big["gpu"] == "A100 SXM 40GB"]), 1e6)
    assert recommended(none) is None and front(none).empty and (none["verdict"] == none["reason"]).all()


def test_a_model_may_be_a_config():
    path = str(DATA.parent / "tests/configs/Llama-3-8B.json")
    frame = runs(book_of(OLD), path, 100e9, 512, 8192, provider="Lambda")
    assert np.allclose(frame["gpu_hours"], runs_of(OLD, provider="Lambda")["gpu_hours"])


@pytest.mark.parametrize("wanted, text", [
    (dict(provider="nobody"), "no price for item 'rent', provider 'nobody'; provider is one of 'AWS'"),
    (dict(gpu="H100"), "no price for item 'rent', gpu 'H100'; gpu is one of 'A100 SXM 40GB'"),
    (dict(provider="Lambda", term="spot"),
     "no price for item 'rent', term 'spot', provider 'Lambda'; provider is one of 'AWS'")])
def test_a_wish_that_no_rent_meets_is_refused(wanted, text):
    with pytest.raises(ValueError, match=f"{OLD}: {text}"):
        runs(book_of(OLD), **JOB, **wanted)


def test_the_whole_table_is_quick():
    start = time.process_time()
    judged(priced(runs(book_of(NEW), **JOB, gpus=512)), 28)
    assert time.process_time() - start < 1.5


# What is recommended

def test_an_option_that_misses_the_deadline_is_not_recommended():
    # The article's matrix: eight A10G take 35 days, eight A100 14, four H100 10; its deadline is 28 days.
    frame = runs_of(OLD)[:3].assign(
        row=[0, 1, 2], reason="", gpus=[8, 8, 4], training_days=[35.0, 14.0, 10.0], compute_usd=[3024.0, 4838.0, 7680.0],
        doubt="")
    frame = frame.assign(low_days=frame["training_days"], high_days=frame["training_days"], low_usd=frame["compute_usd"],
                         high_usd=frame["compute_usd"])
    assert recommended(judged(frame, 28)).training_days == 14
    assert recommended(judged(frame, 36)).training_days == 35
    assert recommended(judged(frame, 12)).training_days == 10
    assert recommended(judged(frame, 9)) is None
    assert recommended(judged(frame, 28, budget_usd=4000)) is None
    assert judged(frame, 28, 5000)["verdict"].tolist() == ["misses the deadline", "", "over the budget"]
    assert ranked(judged(frame, 9))["training_days"].tolist() == [10, 14, 35]


deadlines = st.floats(0.05, 500)
factors = st.lists(st.floats(0.05, 20), min_size=8, max_size=8)


def with_prices(book, changes):
    """The runs at other prices: each rent's rate times one of the factors."""
    frame = runs_of(book)
    factors = np.array(changes)[pd.factorize(frame["row"])[0] % len(changes)]
    return priced(frame.assign(usd_per_hour=frame["usd_per_hour"] * factors))


@both_books
@settings(max_examples=25)
@given(days=deadlines, changes=factors, budget=st.one_of(st.none(), st.floats(100, 1e7)))
def test_the_recommended_is_the_cheapest_in_time(book, days, changes, budget):
    frame = judged(with_prices(book, changes), days, budget)
    able = frame[(frame["in_time"] >= SURE) & (frame["in_budget"] >= SURE) & (frame["reason"] == "") & (frame["doubt"] == "")]
    best = recommended(frame)
    assert (best is None) == able.empty
    if best is not None:
        assert best.training_days <= days and best.compute_usd <= (budget or math.inf) and best.reason == ""
        assert best.compute_usd == able["compute_usd"].min()
        edge = front(frame)
        assert ((edge["compute_usd"] <= best.compute_usd) & (edge["training_days"] <= best.training_days)).any()


@both_books
@settings(max_examples=25)
@given(days=deadlines, changes=factors, dearer=st.floats(1.001, 10))
def test_a_dearer_twin_is_never_recommended(book, days, changes, dearer):
    frame = with_prices(book, changes)
    best = recommended(judged(frame, days))
    if best is None:
        return
    prices = frame["usd_per_hour"].where(frame["row"] != best.row, frame["usd_per_hour"] * dearer)
    raised = recommended(judged(priced(frame.assign(usd_per_hour=prices)), days))
    assert raised.compute_usd >= best.compute_usd
    twin = frame[frame["row"] == best.row].assign(row="twin", usd_per_hour=best.usd_per_hour * dearer)
    both = judged(priced(pd.concat([twin, frame], ignore_index=True)), days)
    assert recommended(both).row == best.row
    order = ranked(both)["row"].tolist()
    assert order.index(best.row) < order.index("twin")


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), days=deadlines)
def test_the_order_of_rows_changes_nothing(seed, days):
    frame = judged(priced(runs_of(NEW)), days)
    mixed = judged(priced(runs_of(NEW).sample(frac=1, random_state=seed)), days)
    assert ranked(mixed).equals(ranked(frame))
    best, same = recommended(frame), recommended(mixed)
    assert best is same is None or best.equals(same)


@both_books
@settings(max_examples=25)
@given(first=deadlines, second=deadlines)
def test_more_time_never_costs_more(book, first, second):
    short, long = (recommended(judged(priced(runs_of(book)), days)) for days in sorted((first, second)))
    assert short is None or long.compute_usd <= short.compute_usd


@both_books
@pytest.mark.parametrize("days", [4, 14, 28, 56])
def test_the_recommended_is_in_time_at_the_planned_mfu_and_by_the_search(book, days):
    best = recommended(judged(priced(runs_of(book, mfu=0.4)), days))
    if best is None:
        assert days == 4
        return
    found = one(priced(runs_of(book)), row=best.row, gpus=best.gpus)
    peak = catalogue.gpu(best.gpu).peak_flops
    off = bands.errors("training run").median
    work = 6 * 8_030_261_248 * 1e11 / (peak * 0.4) / 3600 * off * found.interruption_slowdown / best.gpus / 24
    start = 600 / 3600 / 24
    assert max(found.training_days, work + start) <= days
    assert best.training_days == pytest.approx(max(found.training_days, work + start))


@both_books
def test_no_option_beats_the_front(book):
    frame = judged(priced(runs_of(book)), 28)
    edge = front(frame)
    for row in edge.itertuples():
        better = (frame["compute_usd"] <= row.compute_usd) & (frame["training_days"] <= row.training_days)
        better &= (frame["compute_usd"] < row.compute_usd) | (frame["training_days"] < row.training_days)
        assert not better.any()
    assert edge["compute_usd"].is_monotonic_increasing and edge["training_days"].is_monotonic_decreasing


@settings(max_examples=25)
@given(hours=st.tuples(st.floats(0.5, 1000), st.floats(0.5, 1000)))
def test_rarer_interruptions_never_cost_more(hours):
    often, seldom = (priced(runs_of(NEW), machine_interruption_seconds=3600 * each) for each in sorted(hours))
    assert (often["compute_usd"] >= seldom["compute_usd"] * (1 - 1e-9)).all()
    calm = often["term"] != "spot"
    assert (often["interruption_slowdown"] == seldom["interruption_slowdown"])[calm].all()
    assert (often["interruption_slowdown"][calm] < 1.05).all()
