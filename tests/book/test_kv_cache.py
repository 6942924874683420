"""Cache sizes against the published figures of the page."""
import pytest

from book.components.measured import compare


def test_published_sizes():
    # Printed to three figures at least, but for the 1.6 GB that stand for 1.5625 GiB. What an engine measures stands apart.
    found = compare("kv_cache")
    measured = found["law"].isin(["engine_room_bytes", "profile_bytes"])
    error = found["error"]
    assert len(found) >= 36 and measured.sum() >= 5
    assert (error[~measured].abs() < 0.002).drop("vllm-opt-13b-2048").all()
    assert error["vllm-opt-13b-2048"] == pytest.approx(1.5625 * 2**30 / 1.6e9 - 1, rel=1e-9)
    assert (error[measured].abs() < 0.015).drop("vllm-llama3-8b-h100-peak").all()
    assert error["vllm-llama3-8b-h100-peak"] == pytest.approx(-0.33, abs=0.005)
