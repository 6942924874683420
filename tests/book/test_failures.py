"""What the page on failures shows."""
import pytest

from book.pages import failures
from book.pages.failures import compared_table, lasting
from gpucalc.rows import catalogue


def test_published_rates():
    runs = failures.published().set_index("run")
    # 182 million seconds are 5.8 years; a thousand and twenty-four GPUs then stop 0.486 times a day.
    llama = runs.loc["Llama 3 405B, H100, unplanned"]
    assert llama.gpu_failure_seconds == pytest.approx(1.824e8, rel=1e-3) and llama.daily == pytest.approx(0.485, rel=1e-2)
    # One in 7.5 hours on 992: 2.68e7 s. One and a half a week on 384: 1.55e8 s.
    assert runs.loc["OPT-175B, A100"].gpu_failure_seconds == pytest.approx(26.784e6)
    assert runs.loc["BLOOM 176B, A100, GPUs alone"].gpu_failure_seconds == pytest.approx(154.83e6, rel=1e-4)
    low, high = catalogue.assumptions().loc["gpu_failure_seconds", ["low", "high"]]
    assert runs["gpu_failure_seconds"].between(0.99 * low, high).all(), "the range of the plans holds every run"


def test_prices_by_size():
    # Young: sqrt(2 x 60 x 177,734) = 4,618.2 s; Daly: 4,618.2 x (1 + 0.00433 + 0.00002) - 60 = 4,578.3 s. A stop loses a little under half of what lies between two checkpoints.
    row = failures.prices((1024,), 3.0, gpu_failure_seconds=182e6, checkpoint_seconds=60, restart_seconds=600).iloc[0]
    assert row.first_order == pytest.approx(4618.2, rel=1e-4) and row.interval == pytest.approx(4578.3, rel=1e-4)
    assert row.lost == pytest.approx((row.interval + 60) / 2, rel=0.01)
    assert row.once == pytest.approx(1024 * 3 * (600 + row.lost) / 3600) and row.hour == 3072
    assert row.stops == pytest.approx(2_628_000 / (182e6 / 1024)) and row.month == pytest.approx(row.stops * row.once)


def test_the_likely_values_have_their_rows_and_given_ones_none():
    used = failures.sourced(failures.job(1024, restart_seconds=300)).explain("goodput").inputs
    found = {each.name: each.source.partition(";")[0] for each in used}
    assert found["gpu_failure_seconds"] == "data/assumptions.csv, gpu_failure_seconds" and found["restart_seconds"] == "given"


def test_a_time_reads_well():
    assert (lasting(7199), lasting(7200)) == ("7,200 s", "2 h")


def test_the_formula_beside_published_runs():
    shown = compared_table("caption")
    assert shown.source.count("<tr>") == 4 and "Llama 3 405B" in shown.source and "of a day" not in shown.source
