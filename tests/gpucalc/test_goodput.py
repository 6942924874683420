"""Failures of a job, spares and goodput by hand, and against published jobs."""
import math

import pytest

from gpucalc import Case, goodput as gp, renting


def test_more_gpus_fail_sooner():
    # Llama 3 (arXiv 2407.21783, table 5): 419 stops in 54 days, 4,665,600 s, are one in 11,135 s; times 16,384 it is 1.824e8 s.
    assert gp.job_failure_seconds(54 * 86400 / 419 * 16384, 16384) == pytest.approx(11_135.08, rel=1e-6)
    assert gp.job_failure_seconds(182e6, 64) == 182e6 / 64


def test_goodput_is_the_work_of_the_time():
    assert gp.goodput(1.25) == 0.8 and gp.lost_days(54, 0.8) == pytest.approx(10.8)
    assert gp.recovery_seconds(600) == 600 and gp.recovery_seconds(600, 14400) == 15000


def test_spares_are_the_machines_in_repair():
    # A failure every 11,108 s and four hours of repair: 1.296 machines are away, so two spares.
    away = gp.machines_in_repair(14400, 182e6 / 16384)
    assert away == pytest.approx(1.2963, rel=1e-4) and gp.spare_machines(away) == 2
    assert gp.spare_machines(gp.machines_in_repair(0, 3600)) == 0


def test_the_goodput_of_llama_3_by_hand():
    # Young: sqrt(2 * 60 * 11108) = 1154.6 s; Daly's correction and his complete model, written out.
    mean = 182e6 / 16384
    part = math.sqrt(2 * 60 * mean) / (6 * mean)
    interval = math.sqrt(2 * 60 * mean) * (1 + part + part**2) - 60
    slowdown = mean * math.exp(600 / mean) * (math.exp((interval + 60) / mean) - 1) / interval
    job = Case(checkpoint_seconds=60, restart_seconds=600, gpus=16384, gpu_failure_seconds=182e6,
               interruption_seconds=gp.job_failure_seconds)
    assert job(renting.interruption_slowdown) == pytest.approx(slowdown)
    assert job(gp.goodput) == pytest.approx(0.8523, rel=1e-3)
