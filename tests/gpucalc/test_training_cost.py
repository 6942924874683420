"""Cost of a run by hand, against published runs, and what must hold for any table of offers and any prices."""
import pytest

from gpucalc import training_cost as tc
from gpucalc.core.evaluate import Case
from gpucalc.decisions.market import machine_counts
from gpucalc.rows import catalogue
from tests.close import close

A100_PEAK, H100_PEAK = 312e12, 989e12
RECIPE = dict(recipe="mixed-adamw-fp32-grads", efficiency="achieved")
JOB = RECIPE | dict(model="Llama-3-8B", training_tokens=100e9, global_batch=512, sequence=8192, gpus=64, deadline_days=28)
# Jobs that front page and pages answer alike.
EXAMPLES = {
    "page": JOB | dict(job="pretrain"),
    "70B": RECIPE | dict(job="pretrain", model="Llama-3-70B", training_tokens=200e9, global_batch=1024, sequence=8192, gpus=256,
                         deadline_days=30, budget_usd=250e3),
    "DeepSeek": RECIPE | dict(job="pretrain", model="DeepSeek-V3", training_tokens=500e9, global_batch=4096, sequence=4096, gpus=1024,
                              deadline_days=60),
    "qlora": dict(job="qlora", model="Llama-3-8B", training_tokens=1e9, global_batch=64, sequence=4096, gpus=8, deadline_days=7)}


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
    assert tc.paid_gpu_hours(90, 100, 1.2, 8, 900) == close(122) and tc.paid_gpu_hours(130, 100, 1.2, 8, 900) == close(132)
    assert tc.paid_gpu_hours(130, 100, 1.2, 8, 900, spot=1) == close(158)
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


def test_counts_of_machines():
    assert machine_counts(8, 64) == [8, 16, 24, 32, 48, 64]
    assert machine_counts(1, 8) == [1, 2, 3, 4, 6, 8]
    assert machine_counts(512, 64) == []
