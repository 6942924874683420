"""Collectives and parallelism against hand calculations: the arithmetic stands in each test, written out without the laws."""
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucalc import catalogue
from gpucalc import interconnect as ic
from gpucalc.explanation import evaluate
from gpucalc.measured import compare

NVLINK4, PCIE4 = 450e9, 32e9
ranks = st.integers(2, 512)
message = st.floats(1, 1e12)
bandwidth = st.floats(1e9, 1e12)
latency = st.floats(0, 1e-4)


def close(value, rel=1e-12):
    return pytest.approx(value, rel=rel)


def ring_all_reduce(gpus):
    """Sums a vector of one piece per GPU around a ring, piece by piece; returns every GPU's result and the steps it took."""
    held = [[float(10 * gpu + piece) for piece in range(gpus)] for gpu in range(gpus)]
    steps = 0
    for phase in ("reduce-scatter", "all-gather"):
        for step in range(gpus - 1):
            sent = [(gpu, (gpu - step + (phase == "all-gather")) % gpus) for gpu in range(gpus)]
            values = [held[gpu][piece] for gpu, piece in sent]
            for (gpu, piece), value in zip(sent, values):
                right = (gpu + 1) % gpus
                held[right][piece] = held[right][piece] + value if phase == "reduce-scatter" else value
            steps += 1
    return held, steps


@pytest.mark.parametrize("gpus", [2, 3, 8])
def test_a_ring_all_reduce_done_piece_by_piece_takes_as_long_as_the_law_says(gpus):
    held, steps = ring_all_reduce(gpus)
    assert held == [[sum(10 * gpu + piece for gpu in range(gpus)) for piece in range(gpus)]] * gpus
    # Each step sends one piece of 1000 / gpus bytes over every link at 10 bytes/s and waits 3 s.
    assert ic.all_reduce_seconds(1000, gpus, 10, 3) == close(steps * (1000 / gpus / 10 + 3))


def test_collectives_by_hand():
    # 8 GPUs, 8 GB, 100 GB/s: a piece of 1 GB takes 10 ms; with 1 ms latency a step takes 11 ms.
    case = (8e9, 8, 100e9, 1e-3)
    assert ic.all_reduce_seconds(*case) == close(14 * 11e-3)
    assert ic.all_gather_seconds(*case) == close(7 * 11e-3)
    assert ic.reduce_scatter_seconds(*case) == close(7 * 11e-3)
    assert ic.all_to_all_seconds(*case) == close(7 * 11e-3)
    # The whole 8 GB in one send: 80 ms and 1 ms.
    assert ic.point_to_point_seconds(8e9, 100e9, 1e-3) == close(81e-3)


def test_the_factors_of_nccl_tests():
    # doc/PERFORMANCE.md, 8 GPUs: busbw is 2 * 7/8 = 1.75 of algbw for all-reduce, 7/8 = 0.875 for all-gather.
    assert ic.bus_bandwidth(1e9, 8, 1) == close(1.75e9)
    assert ic.all_reduce_seconds(1e9, 8, 1e9) == close(1.75)
    assert ic.all_gather_seconds(1e9, 8, 1e9) == close(0.875)
    # 235 GB/s on eight A100: 8 GiB take 1.75 * 8.589934592 / 235 s = 63.97 ms.
    assert ic.bus_bandwidth(2**33, 8, 1.75 * 8.589934592 / 235) == close(235e9)


def test_one_gpu_has_nobody_to_talk_to():
    for collective in (ic.all_reduce_seconds, ic.all_gather_seconds, ic.reduce_scatter_seconds, ic.all_to_all_seconds):
        assert collective(1e9, 1, NVLINK4, 1e-6) == 0
    assert ic.layer_communication_seconds(4096, 8192, 1, NVLINK4, 1e-6) == 0
    assert ic.gradient_seconds(7e9, 1, NVLINK4, 1e-6) == 0
    assert ic.pipeline_bubble(1, 8) == 0
    assert ic.bus_bandwidth(1e9, 1, 0) == math.inf


@given(message, ranks, bandwidth, latency)
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(size, gpus, speed, wait):
    both = ic.reduce_scatter_seconds(size, gpus, speed, wait) + ic.all_gather_seconds(size, gpus, speed, wait)
    assert ic.all_reduce_seconds(size, gpus, speed, wait) == close(both, 1e-9)


@given(message, ranks, bandwidth)
def test_without_latency_an_all_reduce_costs_one_to_two_sends_however_many_take_part(size, gpus, speed):
    send = ic.point_to_point_seconds(size, speed)
    assert send * (1 - 1e-9) <= ic.all_reduce_seconds(size, gpus, speed) <= 2 * send
    assert ic.all_reduce_seconds(size, gpus, speed) <= ic.all_reduce_seconds(size, gpus + 1, speed)


@given(message, ranks, bandwidth)
def test_the_bus_bandwidth_of_a_ring_without_latency_is_the_link(size, gpus, speed):
    assert ic.bus_bandwidth(size, gpus, ic.all_reduce_seconds(size, gpus, speed)) == close(speed, 1e-9)


def test_layer_by_hand():
    # h = 4: four h x h matrices and two of h x 4h are 4 * 16 + 2 * 64 = 192 weights, 384 FLOP a token. 10 tokens on 2 GPUs
    # of 100 FLOP/s: 3840 / 200 = 19.2 s; at half the peak twice that.
    assert ic.layer_compute_seconds(10, 4, 2, 100) == close(19.2)
    assert ic.layer_compute_seconds(10, 4, 2, 100, 0.5) == close(38.4)
    # 10 tokens * 4 * 2 bytes = 80 bytes. An all-reduce on 2 GPUs: 2 steps of 40 bytes at 5 bytes/s and 1 s = 18 s. Twice.
    assert ic.layer_communication_seconds(10, 4, 2, 5, 1) == close(36)
    assert ic.layer_communication_seconds(10, 4, 2, 5, 1, activation_element_bytes=1) == close(20)


@pytest.mark.parametrize("peak, link, limit, degree", [
    (330.3e12, 32e9, 2.38, 2), (165.2e12, 32e9, 4.76, 4), (989e12, 450e9, 11.18, 11), (989e12, 200e9, 4.97, 4),
    (312e12, 300e9, 23.6, 23), (312e12, 450e9, 35.4, 35), (989e12, 64e9, 1.59, 1), (2250e12, 900e9, 9.83, 9)])
def test_largest_degree_that_pays(peak, link, limit, degree):
    # 3hB/F at h = 8192, such as 3 * 8192 * 450e9 / 989e12 = 11.18.
    found = ic.tensor_parallel_limit(8192, link, peak)
    assert found == close(3 * 8192 * link / peak)
    assert found == pytest.approx(limit, abs=0.06)
    assert int(found) == degree


def test_the_limit_of_catalogue_cards():
    def degree(name, **inputs):
        return int(evaluate(ic.tensor_parallel_limit, catalogue.gpu(name), hidden=8192, **inputs))

    card = catalogue.gpu("RTX 4090 24GB")
    assert degree("RTX 4090 24GB", peak_flops=card.fp16_accumulate_flops) == 2
    assert degree("RTX 4090 24GB") == 4
    assert degree("H100 SXM 80GB") == 11
    assert degree("H800 SXM 80GB") == 4


def test_efficiency_and_activation_size_move_the_limit():
    assert ic.tensor_parallel_limit(8192, NVLINK4, 989e12, 1) == close(6 * 8192 * 450e9 / 989e12)
    assert ic.tensor_parallel_limit(8192, NVLINK4, 989e12, 2, 0.5) == close(6 * 8192 * 450e9 / 989e12)


@given(st.integers(1, 10**6), st.integers(64, 32768), bandwidth, st.floats(1e13, 1e16))
def test_with_the_exact_ring_compute_and_communication_meet_one_gpu_above_the_limit(tokens, hidden, link, peak):
    # 24 T h^2 / (t F) = 2 * 2 (t-1)/t * 2 T h / B  gives  t = 1 + 3hB/F; both sides are continued to that t by hand.
    meeting = 1 + ic.tensor_parallel_limit(hidden, link, peak)
    compute = ic.layer_compute_seconds(tokens, hidden, 1, peak) / meeting
    communicate = ic.layer_communication_seconds(tokens, hidden, 2, link) * 2 * (meeting - 1) / meeting
    assert compute == close(communicate, 1e-6)


@pytest.mark.parametrize("all_reduce, expected", [(30e-6, 44.8), (10e-6, 52.4)])
def test_eight_4090_decode_as_the_article_rounds_it(all_reduce, expected):
    # 140 GB over 8 cards of 1 TB/s: 17.5 ms. 2 * 80 all-reduces of 30 us: 4.8 ms. 1 / 22.3 ms = 44.8 tokens/s.
    step = ic.tp_decode_seconds(140e9, 80, 8, 1e12, all_reduce)
    assert step == close(140e9 / 8e12 + 160 * all_reduce)
    assert 1 / step == pytest.approx(expected, abs=0.05)


def test_decode_at_a_share_of_the_bandwidth_and_on_one_gpu():
    # 17.5 ms / 0.7 + 4.8 ms = 29.8 ms: 33.6 tokens/s.
    assert 1 / ic.tp_decode_seconds(140e9, 80, 8, 1e12, 30e-6, 0.7) == pytest.approx(33.6, abs=0.05)
    # Alone there is no all-reduce: 16 GB at 1 TB/s.
    assert ic.tp_decode_seconds(16e9, 32, 1, 1e12, 30e-6) == close(16e-3)
    # Two cards: 8 ms and 2 * 32 * 30 us = 1.92 ms.
    assert ic.tp_decode_seconds(16e9, 32, 2, 1e12, 30e-6) == close(9.92e-3)


def test_bubble_by_hand():
    # 4 stages, 8 micro-batches: 3 of 11 slots are idle. Two chunks a GPU: 3 of 19.
    assert ic.pipeline_bubble(4, 8) == close(3 / 11)
    assert ic.pipeline_bubble(4, 8, 2) == close(3 / 19)


@given(st.integers(1, 64), st.integers(1, 256))
def test_bubble_of_a_schedule_drawn_slot_by_slot(stages, micro_batches):
    # Forward passes only; backward mirrors them. Stage s works on micro-batch b in slot s + b.
    slots = {stage + batch for stage in range(stages) for batch in range(micro_batches)}
    assert ic.pipeline_bubble(stages, micro_batches) == close(1 - micro_batches / len(slots), 1e-9)


def test_gradients_of_ten_billion_parameters_over_pcie_take_seconds_not_tens():
    # 40 GB of FP32 gradients among 4 GPUs: each link carries 2 * 3/4 * 40 = 60 GB; at 32 GB/s 1.875 s.
    assert ic.gradient_seconds(10**10, 4, PCIE4, gradient_element_bytes=4) == close(1.875)
    assert ic.gradient_seconds(10**10, 4, PCIE4) == close(0.9375)
    # A tenth of a second of latency in each of 6 steps.
    assert ic.gradient_seconds(10**10, 4, PCIE4, 0.1) == close(1.5375)
    # Split over 8 x 4 GPUs each sums a 32nd.
    assert ic.gradient_seconds(10**10, 4, PCIE4, tensor_parallel=8, pipeline_parallel=4) == close(0.9375 / 32)


def test_nodes_by_hand():
    # 70e9 * 18 bytes = 1,260 GB. 1260 / 80 = 15.75: 16 GPUs, 2 nodes. With a tenth kept free 1260 / 72 = 17.5: 18, 3 nodes.
    assert ic.gpus_required(1260e9, 80e9) == 16
    assert ic.nodes_required(16) == 2
    assert ic.gpus_required(1260e9, 72e9) == 18
    assert ic.nodes_required(18) == 3
    assert ic.nodes_required(17, gpus_per_node=4) == 5
    assert ic.gpus_required(160e9, 80e9) == 2


def test_no_room_at_all_is_a_value():
    assert ic.gpus_required(1e9, 0) == math.inf
    assert list(ic.gpus_required(1e9, np.array([1e9, 0]))) == [1, math.inf]


@pytest.mark.parametrize("law, arguments, message", [
    (ic.all_reduce_seconds, (1e9, 0, 1e9), "all_reduce_seconds: ranks .* is 0; allowed: a whole number of at least 1"),
    (ic.all_reduce_seconds, (1e9, 8, 0), "link_bandwidth .* is 0; allowed: a number above 0 byte/second"),
    (ic.all_to_all_seconds, (1e9, 8, 1e9, -1), "latency .* is -1; allowed: a number of at least 0 second"),
    (ic.layer_compute_seconds, (10, 4, 2.5, 100), "tensor_parallel .* is 2.5"),
    (ic.tensor_parallel_limit, (8192, 1e9, float("nan")), "peak_flops .* is nan"),
    (ic.tensor_parallel_limit, (8192, 1e9, 1e12, 2, 1.5), "compute_efficiency .* is 1.5; allowed: a number above 0 and at most 1"),
    (ic.pipeline_bubble, (4, "8"), "micro_batches .* is '8'"),
    (ic.nodes_required, (17, 0), "gpus_per_node .* is 0"),
])
def test_bad_input_is_refused_by_name(law, arguments, message):
    with pytest.raises(ValueError, match=message):
        law(*arguments)


def test_published_figures():
    found = compare("interconnect").set_index(compare("interconnect").index.str.removeprefix("interconnect-"))
    error = found["error"]
    rings = ["a100x8-ring", "h100x8-ring", "b200x8-ring", "mi300x8"]
    # A ring never beats its link, and NVLink and Infinity Fabric give more than two thirds of it.
    assert (error[rings] > 0).all() and (error[rings] < 0.5).all()
    # NCCL reaches 235 of 300 GB/s on A100: 300 / 235 - 1 = 27.7 %, less 14 us in 50 ms.
    assert error["a100x8-ring"] == pytest.approx(300 / 235 - 1, abs=0.001)
    # Sums made in the switch are no ring: on H200 they beat it, on B200 they beat the ring measured there.
    assert error["h200x8-nvls"] < 0
    assert found.loc["b200x8-nvls", "value"] > found.loc["b200x8-ring", "value"]
    # Two MI300X share one of seven links.
    assert found.loc["mi300x2", "predicted"] == pytest.approx(7 * 64e9, rel=0.001)
    assert error["4090x8-decode"] == pytest.approx(0, abs=0.02)
    assert error["h200-host"] == pytest.approx(55.43 / 63.015 - 1, abs=0.001)
    assert -0.6 < error["a100x8-decode"] < 0
