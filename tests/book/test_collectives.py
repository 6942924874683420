"""Which way an all-reduce goes, by hand and beside published times."""
import json

import pytest

from book.components.claims import measurements
from gpucalc import Case
from gpucalc import interconnect as ic
from tests.close import close

H200 = dict(gpu="H200 SXM 141GB", link="NVLink 4", ranks=8, efficiency="achieved")


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


def test_small_messages_of_two_four_and_eight_blackwell_cards():
    """A step of LL takes 1.16 us: what openfabric-systems/simllm measured on B200 (pull request 242: 9.17, 12.83 and 23.09 us) less the
    6.6 us to start of NCCL's own table, over 2, 6 and 14 steps by least squares. Tables of NCCL 2.29.2 had no part in it."""
    steps, measured = (2, 6, 14), (9.169, 12.828, 23.093)
    step = sum(count * (time - 6.6) for count, time in zip(steps, measured)) / sum(count**2 for count in steps)
    assert step == pytest.approx(1.16, abs=0.005)
    case = Case(gpu="B200 SXM 180GB", link="NVLink 5", message_bytes=512, efficiency="achieved")
    found = [case.but(ranks=ranks)(ic.group_all_reduce_seconds) for ranks in (2, 4, 8)]
    assert found == [close(6.6e-6 + 2 * (ranks - 1) * (1.16e-6 + 512 / (ranks * 282e9))) for ranks in (2, 4, 8)]
    # 512 bytes in the tables (ai-dynamo/aiconfigurator systems/data @095f58a, for checking alone): B200 and H100. With 0.6 us a step it
    # was 24, 32 and 40 % too fast on B200.
    assert all(0.86 < time * 1e6 / table < 0.93 for time, table in zip(found, (10.2, 15.0, 25.2)))
    hopper = [case.but(gpu="H100 SXM 80GB", link="NVLink 4", ranks=ranks)(ic.group_all_reduce_seconds) for ranks in (2, 4, 8)]
    assert all(0.95 < time * 1e6 / table < 1.35 for time, table in zip(hopper, (5.9, 9.3, 15.6)))


def test_the_message_of_half_the_speed():
    # A ring of 8 at half of 100 GB/s: 14 steps of an 8th wait 14 x 10 us and 7 us once: 8 x 10 us + 4 us of 50 GB/s.
    assert ic.half_speed_bytes(8, 100e9, 10e-6, 0.5, 7e-6) == close(84e-6 * 50e9)
    assert ic.half_speed_bytes(8, 100e9, base_latency=7e-6) == close(4e-6 * 100e9) and ic.half_speed_bytes(8, 100e9) == 0
