"""What the page on a run's cost shows."""
import functools
import math

import numpy as np
import pytest

from book.components.measured import compare
from book.pages.training_cost import decided, front, ranked, recommended, searched
from gpucalc import training_cost as tc
from gpucalc.core.evaluate import Case
from gpucalc.decisions.layouts import best_layouts
from gpucalc.rows import bands, catalogue, price_book
from gpucalc.rows.tables import DATA
from tests.close import close
from tests.gpucalc.test_training_cost import JOB, RECIPE

OLD, NEW = "2026-01-12.csv", "2026-06-24.csv"
both_books = pytest.mark.parametrize("book", [OLD, NEW])


@functools.cache
def book_of(name):
    return price_book.prices(DATA / "prices" / name)


@functools.cache
def search_of(name, **more):
    return searched(Case(**JOB | more), book_of(name))


def runs(name, **changes):
    """The runs with the likely failures, or on machines that never fail."""
    return decided(search_of(name), **changes)


UNFAILING = dict(machine_interruption_seconds=86400.0, gpu_failure_seconds=1e18)


def one(frame, **wanted):
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    return frame.iloc[0]


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


@both_books
def test_the_cheapest_rent_of_each_kind_is_there_once(book):
    rents = book_of(book)[book_of(book)["item"] == "rent"]
    frame = runs(book)
    kind = ["provider", "gpu", "gpus_per_server", "term"]
    least = rents[rents["confidence"] == "seen"].groupby(kind)["usd_per_hour"].min()
    first = ranked(frame)
    assert not first.duplicated(kind).any() and len(first) == len(rents.drop_duplicates(kind))
    firm = rents.loc[first["row"], "confidence"].to_numpy() == "seen"
    assert first[firm].set_index(kind)["usd_per_hour"].to_dict() == least.to_dict()
    assert (frame["usd_per_hour"] == rents["usd_per_hour"].loc[frame["row"]].to_numpy()).all()
    assert (frame["gpus"] == frame["machines"] * frame["gpus_per_server"]).all()
    assert (frame["gpus"][frame["reason"] == ""] <= 64).all()
    assert not frame.duplicated(["row", "gpus"]).any()
    fits = frame["reason"] == ""
    assert fits.any() and (np.isfinite(frame["compute_usd"]) == fits).all() and (frame["layout"].notna() == fits).all()


def test_a_row_by_hand():
    # Eight H100 in one machine on demand: the fastest layout's GPU-seconds, 100e9 / (512 * 8192) steps, a start of 600 s, and
    # an hour in which the machine is set up: eight GPU-hours.
    row = one(runs(OLD, mfu=1.0, **UNFAILING), sku="p5.48xlarge", term="on-demand", gpus=8)
    best = best_layouts("Llama-3-8B", "H100 SXM 80GB", 8, 512, 8192, count=1)
    work = best["gpu_seconds"][0] * 100e9 / (512 * 8192) / 3600
    slower = bands.errors("training step in 16 bits").median
    assert row.gpu_hours == pytest.approx(work * slower, rel=0.03) == row.layout_gpu_hours
    assert row.training_days == pytest.approx((row.gpu_hours / 8 + 1 / 6) / 24, rel=1e-6)
    assert row.compute_usd == pytest.approx((row.gpu_hours + 8 / 6 + 8) * 98.32 / 8, rel=1e-6)
    assert row.training_bytes <= catalogue.gpu("H100 SXM 80GB").memory_bytes


def test_spot_is_slowed_by_its_machines():
    # Three machines, each taken every 24 h: every 8 h one of them. Daly's slowdown at his best interval, written out. One of
    # the three is set up for an hour.
    wanted = dict(gpu="H100 SXM 80GB", provider="AWS", gpus=24)
    row = one(runs(OLD, **UNFAILING), term="spot", **wanted)
    mean, write, restart = 8 * 3600, 60, 600
    part = write / (2 * mean)
    interval = math.sqrt(2 * write * mean) * (1 + math.sqrt(part) / 3 + part / 9) - write
    slowdown = mean * math.exp(restart / mean) * (math.exp((interval + write) / mean) - 1) / interval
    assert row.machines == 3
    assert row.interruption_slowdown == pytest.approx(slowdown, rel=1e-6)
    assert row.compute_usd == pytest.approx((row.gpu_hours * slowdown + 24 / 6 + 8) * row.usd_per_hour, rel=1e-6)
    same = one(runs(OLD, **UNFAILING), term="on-demand", **wanted)
    assert same.interruption_slowdown == pytest.approx(1, rel=1e-6) and same.training_days < row.training_days


def test_a_reserved_run_pays_the_term_less_what_other_work_pays():
    wanted = dict(sku="p5.48xlarge", term="reserved-3y", gpus=8)
    alone, shared, free = (one(runs(OLD, other_work=share, **UNFAILING), **wanted) for share in (0, 0.5, 1))
    rate = alone.usd_per_hour
    assert alone.compute_usd == close(3 * 8760 * 8 * rate)
    assert shared.compute_usd == close(3 * 8760 * 8 * rate / 2)
    assert free.compute_usd == pytest.approx((free.gpu_hours + 8 / 6 + 8) * rate, rel=1e-6)


def test_small_machines_are_on_the_slow_network():
    wanted = dict(cards="H100 SXM 80GB", provider="Nebius")
    plain, fast = (decided(searched(Case(**JOB | wanted), book_of(NEW), small_network=each)) for each in (None, "InfiniBand NDR"))
    eight, single = (one(plain, gpus_per_server=size, gpus=16)["layout_gpu_hours"] for size in (8, 1))
    assert single > 1.1 * eight and eight < one(fast, gpus_per_server=1, gpus=16)["layout_gpu_hours"] < single


def test_a_planned_mfu_counts_the_slower_of_6nd_and_the_layout():
    frame = runs(NEW, mfu=0.4).query("reason == ''")
    peaks = frame["gpu"].map(catalogue.gpus()["peak_flops"])
    plan = 6 * 8_030_261_248 * 1e11 / (peaks * 0.4) / 3600
    slow = frame["layout_gpu_hours"] > plan
    assert slow.any() and not slow.all()
    assert np.allclose(frame["gpu_hours"], np.maximum(plan, frame["layout_gpu_hours"]))
    assert np.allclose(frame["mfu"], 0.4 * plan / frame["gpu_hours"])
    assert np.allclose(runs(NEW, mfu=1.0).query("reason == ''")["gpu_hours"].sort_values(), frame["layout_gpu_hours"].clip(
        lower=plan * 0.4).sort_values())


def test_what_does_not_fit_is_a_row_with_its_reason():
    job = RECIPE | dict(model="Llama-3-70B", training_tokens=1e9, global_batch=64, sequence=8192, gpus=16, deadline_days=1e6)
    big = decided(searched(Case(**job), book_of(OLD)))
    reasons = set(big["reason"])
    assert "the latency of its link is not known" in reasons
    assert any(reason.startswith("memory: up to ") and reason.endswith("on a GPU of 42.9 GB") for reason in reasons)
    tpu = decided(searched(Case(**JOB, cards="TPU v5p 95GB"), book_of(NEW)))
    assert set(tpu["reason"]) == {"a machine has more GPUs than are to be used"}
    none = big[big["gpu"] == "A100 SXM 40GB"]
    assert len(none) and recommended(none) is None and front(none).empty and (none["verdict"] == none["reason"]).all()


@pytest.mark.parametrize("wanted, text", [
    (dict(provider="nobody"), "no price for item 'rent', provider 'nobody'; provider is one of 'AWS'"),
    (dict(cards="H100 SXM 94GB"), "data/gpus.csv has no gpu"),
    (dict(provider="Lambda", term="spot"),
     "no price for item 'rent', term 'spot', provider 'Lambda'; provider is one of 'AWS'")])
def test_a_wish_that_no_rent_meets_is_refused(wanted, text):
    with pytest.raises(ValueError) as caught:
        searched(Case(**JOB | wanted), book_of(OLD))
    assert text in str(caught.value).replace("['", "'").replace("']", "'")


def test_the_whole_table_is_quick(calls):
    """1.2 million calls; a loop over the rows would be many times that."""
    assert calls(lambda: decided(searched(Case(**JOB | {"gpus": 512}), book_of(NEW)))) < 2_500_000


@both_books
def test_no_option_beats_the_front(book):
    frame = runs(book)
    edge, able = front(frame), frame[frame["doubt"] == ""]
    for row in edge.itertuples():
        better = (able["compute_usd"] <= row.compute_usd) & (able["training_days"] <= row.training_days)
        better &= (able["compute_usd"] < row.compute_usd) | (able["training_days"] < row.training_days)
        assert not better.any()
    assert edge["compute_usd"].is_monotonic_increasing and edge["training_days"].is_monotonic_decreasing
