"""Which way an all-reduce goes, by hand and beside published times."""
import json

import pytest

from gpucalc import Case
from gpucalc import interconnect as ic
from gpucalc.rows.claims import measurements

H200 = dict(gpu="H200 SXM 141GB", link="NVLink 4", ranks=8, efficiency="achieved")


def close(value):
    return pytest.approx(value, rel=1e-12)


def test_small_messages_of_an_engine_on_eight_h200_come_in_the_published_order():
    ids = ["8KiB-engine", "128KiB-engine", "512B", "64KiB", "1MiB"]
    rows = measurements("interconnect").loc[[f"interconnect-2026-h200x8-allreduce-{each}" for each in ids]]
    assert rows["value"].is_monotonic_increasing
    assert rows["predicted"].is_monotonic_increasing
    assert [json.loads(each)["ranks"] for each in rows["inputs"]] == [8] * 5
    # 7 x 8192 bytes at 0.824 of 450 GB/s are 0.155 us; four flags of 0.6 us and a kernel of 2 us.
    engine = Case(**H200, message_bytes=8192)(ic.engine_all_reduce_seconds)
    assert engine == close(7 * 8192 / (0.824 * 450e9) + 4 * 0.6e-6 + 2e-6)
    # The library: 14 steps of 0.6 us, 6.6 us to start, and 14/8 of the message at 141 GB/s.
    library = Case(**H200, message_bytes=8192)(ic.group_all_reduce_seconds)
    assert library == close(1.75 * 8192 / 141e9 + 14 * 0.6e-6 + 6.6e-6) and engine < library / 3
