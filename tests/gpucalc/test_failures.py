"""Stops of a job: hand calculations and the published run."""
import pytest

from gpucalc import goodput as gp, stops
from gpucalc.rows import catalogue


def test_stops_of_a_month():
    # 730 hours are 2,628,000 s; one stop in 26,280 s makes a hundred.
    assert stops.monthly_stops(26_280) == pytest.approx(100)


def test_a_stop_is_paid_on_all_gpus():
    # Ten minutes to restart and five of lost work: a quarter of an hour of 16,384 GPUs at 2 USD.
    assert stops.stop_usd(16_384, 2, 600, 300) == pytest.approx(8192)


def test_a_checkpoint():
    # Llama-3-8B: 8,030,261,248 parameters with 2 + 4 + 8 bytes are 112.4 GB, in a minute 1.87 GB/s.
    held = stops.checkpoint_bytes(8_030_261_248, 2, 4, 8)
    assert held == pytest.approx(112.42e9, rel=1e-4)
    assert stops.checkpoint_bandwidth(held, 60) == pytest.approx(1.8737e9, rel=1e-4)


def test_llama_3_stopped_every_three_hours():
    # 54 days over 419 stops: 11,135 s, a little over three hours.
    days, count = (catalogue.reported(name).value for name in ("days-llama-3", "stops-llama-3"))
    assert days * 86400 / count == pytest.approx(11_135, rel=1e-4)
    likely = catalogue.assumptions().loc["gpu_failure_seconds", "likely"]
    assert gp.job_failure_seconds(likely, 16_384) == pytest.approx(days * 86400 / count, rel=0.01)
