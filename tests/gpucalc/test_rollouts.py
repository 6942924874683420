"""Rollouts by hand: lengths of answers against printed tables, engines, their memory, passes and exchanges."""
import math

import pytest

from gpucalc import rollouts as ro


@pytest.mark.parametrize("count, largest", [(10, 1.53875), (100, 2.50759), (1000, 3.24144)])
def test_the_longest_answer_is_that_of_the_printed_table(count, largest):
    """Harter 1961, Expected values of normal order statistics: the largest of so many standard normal values."""
    assert ro.longest_answer(1000, 0.5, count) == pytest.approx(1000 * math.exp(0.5 * largest - 0.125), rel=0.01)


def test_tokens_by_hand():
    # Of a spread of 0.5 a quarter: long answers weigh e^0.25 = 1.28403 times as much. None is longer than the longest.
    assert ro.rollout_context(100, 1000, 0.5, 1e9) == pytest.approx(742.01, abs=0.01)
    assert ro.rollout_context(100, 1000, 0.5, 1200) == 700
    assert ro.trained_sequence(100, 900) == 1000 and ro.longest_sequence_trained(100, 900.2) == 1001
    assert ro.step_answers(128, 16) == 2048


def test_engines_by_hand():
    # 26 GPUs in fours are 6 engines, and 2 over; fewer than four are one that does not fit.
    assert ro.rollout_engines(26, 4) == 6 and ro.rollout_engines(2, 4) == 1
    assert [ro.rollout_misfits(64, 8, 25600, gpus, 8, 4) for gpus in (24, 25, 26)] == [0, 1, 1]
    assert ro.rollout_misfits(64, 8, 25600, 24, 8, 8) == 0
    assert [ro.stale_steps(share, 4) for share in (1, 0.5)] == [0, 4]


def test_room_by_hand():
    # 80 GB of which 72 are used, 16 of weights and 20 of the trainer; 36 GB are 360 answers of 100 MB.
    assert ro.rollout_room_bytes(80e9, 16e9, 20e9, 0.9) == pytest.approx(36e9)
    assert ro.rollout_room_bytes(80e9, 72e9, 1e9, 0.9) == 0
    assert ro.rollout_places(4096, 8, 36.05e9, 1e8, 0) == 360 and ro.rollout_places(2048, 8, 36e9, 1e8, 0) == 256
    assert ro.rollout_places(1024, 8, 36e9, 1e8, 1) == 256
    assert ro.missing_places(1) == 0 and ro.missing_places(0.5) == 1
    assert ro.rollout_bytes(16e9, 1e8, 256, 20e9) == pytest.approx(61.6e9)


def test_exchanges_of_a_pass_by_hand():
    given = dict(batch=32, hidden=4096, layers=10, port_bandwidth=25e9, group_ports=18, peer_ports=18, reach=8, beyond_bandwidth=50e9,
                 latency=1e-6, base_latency=5e-6, activation_element_bytes=2)
    # 256 KiB on 4 GPUs: six steps of 65,536 B over 450 GB/s, 145.64 ns, and 1 us, and 5 us: 11.8738 us, twice in ten layers.
    assert ro.rollout_exchange_seconds(**given, rollout_parallel=4) == pytest.approx(237.476e-6, rel=1e-5)
    # On 16, beyond reach: 30 steps of 16,384 B over 50 GB/s, 327.68 ns, and 1 us, and 5 us: 44.8304 us.
    assert ro.rollout_exchange_seconds(**given, rollout_parallel=16) == pytest.approx(896.608e-6, rel=1e-5)
    # On the 8 in reach the engine's own kernel, seven eighths of a message twice, 1.0194 us, six hops of 0.5 us and 2 us: 6.0194 us.
    quick = dict(quick_latency=0.5e-6, kernel_seconds=2e-6, peer_reads=1)
    assert ro.rollout_exchange_seconds(**given, **quick, rollout_parallel=8) == pytest.approx(120.389e-6, rel=1e-5)
    assert ro.rollout_exchange_seconds(**given) == 0


def test_a_pass_by_hand():
    # 10 sequences on 2 GPUs: products 10 GFLOP at 1 TFLOP/s, 10 ms, or 6 GB at 1 TB/s, 6 ms, halved; attention 2 GFLOP at half the
    # rate on 2 GPUs, 2 ms, or a quarter of 4 GB, 1 ms; 10 x (4 + 12 / 2) million values of 2 bytes, 0.2 ms; 0.3, 0.1 and 0.2 ms.
    given = dict(batch=10, token_flops=1e9, token_attention_flops=2e8, rollout_cache_share=1 / 4, norm_values=3e6, turned_values=4e6,
                 activated_values=8e6, routed_values=1e6, rollout_exchange_seconds=3e-4, launch_seconds=1e-4, kernel_start_seconds=2e-4, expert_extra_flops=0, product_rate=1e12,
                 attention_rate=5e11, memory_rate=1e12, rollout_parallel=2, activation_element_bytes=2)
    assert ro.rollout_pass_seconds(**given, read_bytes=6e9, read_kv_bytes=4e9) == pytest.approx(7.8e-3)
    # 30 GB of weights and 40 of cache wait for memory: 15 and 10 ms.
    assert ro.rollout_pass_seconds(**given, read_bytes=30e9, read_kv_bytes=40e9) == pytest.approx(25.8e-3)


def test_a_step_by_hand():
    # A prompt of 2 PFLOP at 100 TFLOP/s and 1 at 50: 40 s on one GPU, 20 on two; 8 for each of 8 engines. Then 1,000 passes of 20 ms.
    assert ro.rollout_prompt_seconds(8, 2e15, 1e15, 1e14, 5e13, 1000, 0, 2, 64) == pytest.approx(160)
    # Experts that take 1 TFLOP more for each of 1,000 tokens add 10 s: 5 on two GPUs, 40 for eight prompts.
    assert ro.rollout_prompt_seconds(8, 2e15, 1e15, 1e14, 5e13, 1000, 1e12, 2, 64) == pytest.approx(200)
    assert ro.rollout_seconds(160, 1000, 0.02) == pytest.approx(180)
