"""What failures, spares and electricity take of a run."""
import math

import pandas
import pytest

from book.pages.training_cost import by_size, carbon_of, energy_of
from gpucalc import Case
from gpucalc.laws import renting

RUN = dict(gpu="A100 SXM 80GB", gpus=8, low_days=8.0, training_days=10.0, high_days=16.0)


def test_failures_by_size():
    frame = by_size((64, 1024, 16384))
    assert frame["goodput"].is_monotonic_decreasing and (frame["waiting_goodput"] < frame["goodput"]).all()
    assert (frame["low"] < frame["goodput"]).all() and (frame["goodput"] < frame["high"]).all()
    small, large = frame.iloc[0], frame.iloc[-1]
    # One spare of eight machines costs an eighth, waiting a percent; two of 2,048 cost nothing against a job that stands still.
    assert small.spared == pytest.approx(1.125 / small.goodput) and small.waiting < small.spared
    assert large.spare_machines == 2 and large.waiting > 3 * large.spared
    given = dict(checkpoint_seconds=60, restart_seconds=600)
    alone = Case(**given, interruption_seconds=182e6 / 1024)(renting.interruption_slowdown)
    assert by_size((1024,), gpu_failure_seconds=182e6, **given)["goodput"].item() == pytest.approx(1 / alone, rel=1e-9), "nobody waits"
    assert by_size((64,), gpu_failure_seconds=1e15)["goodput"].item() == pytest.approx(1, abs=1e-3)


def test_the_energy_of_a_run_by_hand():
    # 8 GPUs for 240 h at 0.4 kW, 1.38 for the server and 1.35 for the site: 1,430.8 kWh.
    found = energy_of(pandas.Series(RUN))
    assert found["plan"] == pytest.approx(8 * 240 * 0.4 * 1.38 * 1.35)
    high = math.sqrt(math.log(1.6)**2 + math.log(1.5 / 1.38)**2 + math.log(1.54 / 1.35)**2)
    assert found["high"] == pytest.approx(found["plan"] * math.exp(high)) and found["low"] < found["plan"] * 0.8


def test_the_carbon_of_a_run_follows_its_grid():
    found = carbon_of(dict(plan=1000.0))
    assert found["run_carbon"].tolist() == pytest.approx([56, 350, 713]) and len(set(found["grid"])) == 3


def test_a_card_of_unknown_power_has_no_energy():
    found = energy_of(pandas.Series(RUN | dict(gpu="Trainium 32GB")))
    assert all(math.isnan(each) for each in found.values())
