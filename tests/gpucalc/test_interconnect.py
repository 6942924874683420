"""Collectives and parallelism against hand calculations: the arithmetic stands in each test, written out without the laws."""
import functools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpucalc import interconnect as ic
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.close import close

NVLINK4, PCIE4 = 450e9, 32e9
ranks = st.integers(2, 512)
message = st.floats(1, 1e12)
bandwidth = st.floats(1e9, 1e12)
latency = st.floats(0, 1e-4)


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
    # Seven pieces to seven peers, all under way at once: one wait.
    assert ic.all_to_all_seconds(*case) == close(71e-3)
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
        return int(Case(catalogue.gpu(name), hidden=8192, **inputs)(ic.tensor_parallel_limit))

    card = catalogue.gpu("RTX 4090 24GB")
    assert degree("RTX 4090 24GB", peak_flops=card.fp16_accumulate_flops) == 2
    assert degree("RTX 4090 24GB") == 4
    assert degree("H100 SXM 80GB") == 11
    assert degree("H800 SXM 80GB") == 4


def test_efficiency_and_activation_size_move_the_limit():
    assert ic.tensor_parallel_limit(8192, NVLINK4, 989e12, 1) == close(6 * 8192 * 450e9 / 989e12)
    assert ic.tensor_parallel_limit(8192, NVLINK4, 989e12, 2, 0.5) == close(6 * 8192 * 450e9 / 989e12)


@given(st.integers(1, 10**6), st.integers(64, 32768), bandwidth, st.floats(1e13, 1e16), st.floats(0, 1e-4))
def test_at_the_degree_of_the_meeting_both_take_equally_long(tokens, hidden, link, peak, latency):
    meeting = ic.meeting_degree(tokens, hidden, link, peak, latency)
    compute = ic.layer_compute_seconds(tokens, hidden, 1, peak) / meeting
    pair = ic.layer_communication_seconds(tokens, hidden, 2, link) * 2 / meeting + 4 * latency
    assert compute == close((meeting - 1) * pair, 1e-6)
    assert latency or meeting == close(1 + ic.tensor_parallel_limit(hidden, link, peak), 1e-9)


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


def test_starting_a_collective_is_paid_once_and_only_with_peers():
    # NCCL's table for NVLink: 8.4 us to start, 3.4 us a step: 56.0 us for eight GPUs, 15.2 us for two. PCIe: 88.2 us for eight.
    link = catalogue.link("NVLink 4")
    small = dict(message_bytes=0.001)
    assert Case(link, ranks=8, **small)(ic.all_reduce_seconds) == pytest.approx(56.0e-6, rel=1e-6)
    assert Case(link, ranks=2, **small)(ic.all_reduce_seconds) == pytest.approx(15.2e-6, rel=1e-6)
    assert Case(catalogue.link("PCIe 4 x16"), ranks=8,
                **small)(ic.all_reduce_seconds) == pytest.approx(88.2e-6, rel=1e-6)
    for collective in (ic.all_reduce_seconds, ic.all_gather_seconds, ic.reduce_scatter_seconds, ic.all_to_all_seconds,
                       ic.broadcast_seconds, ic.tree_all_reduce_seconds):
        assert collective(1e9, 1, NVLINK4, 1e-6, 1, 6.6e-6) == 0
        assert collective(1e9, 4, NVLINK4, 1e-6, 1, 6.6e-6) == close(collective(1e9, 4, NVLINK4, 1e-6) + 6.6e-6, 1e-9)
    assert ic.switch_all_reduce_seconds(1e9, 1, NVLINK4, 25e-6, 1, 1) == 0


def test_broadcast_tree_and_switch_by_hand():
    # 8 GPUs, 8 GB, 100 GB/s, 1 ms: 80 ms once and 7 steps; twice and 2 * 3 steps; 9/8 of it and one wait.
    case = (8e9, 8, 100e9, 1e-3)
    assert ic.broadcast_seconds(*case) == close(87e-3)
    assert ic.tree_all_reduce_seconds(*case) == close(166e-3)
    assert ic.switch_all_reduce_seconds(*case, 1, 1) == close(91e-3)
    assert ic.switch_all_reduce_seconds(*case, 1, 0.5) == close(181e-3)
    assert ic.switch_all_reduce_seconds(*case) == math.inf
    # At 80 % of the link the bytes take 1.25 times as long: 8/100/0.8 = 0.1 s.
    assert ic.broadcast_seconds(*case, 0.8) == close(107e-3)


COLLECTIVES = (ic.all_reduce_seconds, ic.all_gather_seconds, ic.reduce_scatter_seconds, ic.all_to_all_seconds,
               ic.broadcast_seconds, ic.tree_all_reduce_seconds, functools.partial(ic.switch_all_reduce_seconds, switch_share=0.8),
               ic.direct_all_reduce_seconds)


@given(st.sampled_from(COLLECTIVES), message, ranks, bandwidth, latency, st.floats(1, 10))
def test_more_bandwidth_never_slows_and_more_bytes_never_speed_up(collective, size, gpus, speed, wait, factor):
    plain = collective(size, gpus, speed, wait)
    assert collective(size, gpus, speed * factor, wait) <= plain * (1 + 1e-12)
    assert collective(size * factor, gpus, speed, wait) >= plain * (1 - 1e-12)
    assert collective(size, gpus, speed, wait * factor) >= plain * (1 - 1e-12)
    assert collective(size, gpus, speed, wait, 1 / factor) >= plain * (1 - 1e-12)


@given(st.integers(3, 512), bandwidth, st.floats(1e-7, 1e-4))
def test_where_latency_ends_and_where_the_ring_beats_the_tree(gpus, speed, wait):
    half = ic.half_speed_bytes(gpus, speed, wait, 0.8, 1e-6)
    assert ic.all_reduce_seconds(half, gpus, speed, wait, 0.8, 1e-6) == close(
        2 * ic.all_reduce_seconds(half, gpus, speed, 0, 0.8), 1e-9)
    even = ic.ring_tree_bytes(gpus, speed, wait, 0.8)
    assert ic.all_reduce_seconds(even, gpus, speed, wait, 0.8) == close(
        ic.tree_all_reduce_seconds(even, gpus, speed, wait, 0.8), 1e-9)
    ring, tree = (law(even / 2, gpus, speed, wait, 0.8) for law in (ic.all_reduce_seconds, ic.tree_all_reduce_seconds))
    assert ring > tree


def test_across_nodes_by_hand():
    # 4 nodes of 8, 450 GB/s inside, a port of 50 GB/s each: 400 GB/s for a ring over all, 50 for one GPU a node.
    assert ic.fabric_bandwidth(450e9, 50e9, 32, 8) == 400e9
    assert ic.fabric_bandwidth(450e9, 50e9, 4, 1) == 50e9
    assert ic.fabric_bandwidth(450e9, 50e9, 8, 8) == 450e9
    assert ic.fabric_bandwidth(450e9, 100e9, 32, 8) == 450e9
    assert ic.fabric_bandwidth(450e9, 50e9, 32, 8, 7) == close(400e9 / 7)
    # 2 * 31 steps of 1/32 of 32 GB at 400 GB/s: 155 ms; 6 of the 62 steps wait 1 ms, 56 wait 0.1 ms.
    assert ic.cluster_all_reduce_seconds(32e9, 32, 8, 400e9, 1e-4, 1e-3) == close(155e-3 + 6e-3 + 5.6e-3)
    # Inside: 14 steps of 4 GB at 400 GB/s; across: 6 steps of 1 GB at 50 GB/s.
    assert ic.hierarchical_all_reduce_seconds(32e9, 32, 8, 400e9, 50e9, 1e-4, 1e-3) == close(0.14 + 1.4e-3 + 0.12 + 6e-3)
    # 24 parts of 1 GB leave by a port of 50 GB/s while 7 stay inside.
    assert ic.cluster_all_to_all_seconds(32e9, 32, 8, 400e9, 50e9, 0, 1e-3) == close(0.48 + 1e-3)
    assert ic.cluster_all_to_all_seconds(8e9, 8, 8, 400e9, 50e9, 1e-4) == close(7 * 1e9 / 400e9 + 1e-4)


@given(message, st.integers(1, 64), st.integers(1, 16), bandwidth, st.floats(0.01, 1), st.floats(1, 8), latency)
def test_a_cluster_never_beats_one_node_nor_gains_from_oversubscription(size, nodes, each, speed, share, narrow, wait):
    across = ic.fabric_bandwidth(speed, share * speed, nodes * each, each)
    assert across <= speed
    ring = ic.cluster_all_reduce_seconds(size, nodes * each, each, across, wait, 5 * wait)
    assert ring >= ic.all_reduce_seconds(size, nodes * each, speed, wait) * (1 - 1e-9)
    if nodes == 1:
        assert ring == close(ic.all_reduce_seconds(size, each, speed, wait), 1e-9)
    for law in (ic.hierarchical_all_reduce_seconds, ic.cluster_all_to_all_seconds):
        plain = law(size, nodes * each, each, speed, share * speed, wait)
        assert law(size, nodes * each, each, speed, share * speed, wait, oversubscription=narrow) >= plain * (1 - 1e-12)


def test_messages_by_hand():
    # 10 layers, 100 tokens of 8 values of 2 bytes: 1,600 bytes. 4 all-reduces a layer, each sends 2 * 3/4 of it on 4 GPUs.
    assert ic.tensor_bytes(10, 100, 8, 0, 4) == 10 * 4 * 1.5 * 1600
    assert ic.tensor_bytes(10, 100, 8, 2, 4) == 10 * 6 * 1.5 * 1600
    assert ic.tensor_bytes(10, 100, 8) == 0
    # Keys and values of 100 tokens, 2 heads of 16: 2 * 100 * 32 * 2 = 12,800 bytes to 3 peers, forward, backward, gradients.
    assert ic.context_bytes(10, 100, 2, 16, 0, 4) == 10 * 3 * 3 * 12800
    assert ic.context_bytes(10, 100, 2, 16) == 0
    # Latents are expanded: 2 heads of 16 + 4 in a key and 8 in a value are 56 values a token. Products kept: nothing is sent again.
    assert ic.context_bytes(10, 100, 2, 16, 0, 4, 2, 4, 8) == 10 * 3 * 3 * 100 * 56 * 2
    assert ic.context_bytes(10, 100, 2, 16, 2, 4) == 10 * 4 * 3 * 12800
    assert ic.context_bytes(10, 100, 2, 16, 3, 4) == ic.context_bytes(10, 100, 2, 16, 0, 4)
    # 100 tokens to 2 experts: 3,200 bytes, 3/4 of them elsewhere; there and back, forward and backward.
    assert ic.expert_bytes(10, 100, 8, 2, 0, 1, 4) == 10 * 4 * 0.75 * 3200
    assert ic.expert_bytes(10, 100, 8, 2, 2, 1, 4) == 10 * 6 * 0.75 * 3200    # and sent again where whole layers are recomputed
    # One send forward and one backward of a share of the activations; twice as many with two chunks.
    assert ic.pipeline_bytes(100, 8, 4) == 2 * 1600
    assert ic.pipeline_bytes(100, 8, 4, 2, 4) == 2 * 2 * 400
    assert ic.pipeline_bytes(100, 8) == 0
    # 1,000 parameters, gradients of 4 bytes, weights of 2, 4 replicas, 8 micro-batches.
    sends = [ic.data_bytes(1000, 4, 8, stage, 4) for stage in (0, 1, 2, 3)]
    assert sends == [0.75 * 8000, 0.75 * 6000, 0.75 * 34000, 0.75 * (32000 + 16 * 2000)]
    assert ic.data_bytes(1000, 2, 1, 3, 4) == 1.5 * ic.data_bytes(1000, 2, 1, 0, 4)


def test_times_of_a_step_are_its_bytes_over_the_link():
    from gpucalc import training_links
    layout = {"micro_batch": 1, "sequence": 4096, "tensor_parallel": 4, "context_parallel": 2}
    for name in ("tensor", "context"):
        time = Case(catalogue.model("Llama-3-70B"), tensor_bandwidth=1e9, context_bandwidth=1e9,
                    **layout)(getattr(training_links, f"{name}_seconds"))
        assert time * 1e9 == close(Case(catalogue.model("Llama-3-70B"), **layout)(getattr(ic, f"{name}_bytes")), 1e-9)


@given(st.floats(1e-6, 1), st.floats(0, 1), st.floats(0, 1))
def test_overlap_hides_no_more_than_fits(compute, communicate, overlap):
    layer = ic.layer_seconds(compute, communicate, overlap)
    assert max(compute, communicate) * (1 - 1e-12) <= layer <= (compute + communicate) * (1 + 1e-12)
    assert layer <= ic.layer_seconds(compute, communicate) * (1 + 1e-12)


def test_limits_of_stages_and_replicas_by_hand():
    # 4 stages: the bubble is 3 times a stage's compute; 2 s of compute a layer and 0.5 s of communication: 12 micro-batches.
    assert ic.pipeline_pays_micro_batches(4, 2, 0.5) == close(12)
    assert ic.pipeline_pays_micro_batches(4, 2, 0.5, 2) == close(6)
    assert ic.pipeline_pays_micro_batches(4, 2, 0) == math.inf
    # 989e12 / 50e9 = 19,780 tokens for both in BF16.
    assert ic.gradient_hiding_tokens(989e12, 50e9) == close(19780)
    assert ic.zero3_hiding_tokens(989e12, 50e9) == close(19780)
    assert ic.zero3_hiding_tokens(989e12, 50e9, 1, 2, 0.5, 0.8) == close(19780 * 4 / 6 * 0.5 / 0.8)
    # At the limit the all-reduce of P gradients takes as long as 4 P FLOP a token.
    assert 2 * 1e9 * 2 / 50e9 == close(4 * 1e9 * ic.gradient_hiding_tokens(989e12, 50e9) / 989e12)
    # 2e8 / 2^(1/0.21) = 2e8 / 27.1 = 7.4 million tokens; a step of as many counts half.
    assert ic.critical_batch_tokens(2) == pytest.approx(7.37e6, rel=0.01)
    assert ic.batch_efficiency(7e6, 7e6) == 0.5


def test_a_group_takes_the_fastest_way():
    # 8 GPUs, 100 GB/s. Ring: 14 steps of 1 ms. With flags at a quarter of the bandwidth 14 of 0.1 ms. Switch: 5 ms and 9/8 of the
    # message at half the bandwidth.
    fast = dict(latency=1e-3, base_latency=2e-3, quick_latency=1e-4, quick_base_latency=1e-4, quick_bandwidth=25e9,
                switch_latency=5e-3, switch_share=0.5)
    # 8 kB: 16 us of bytes at 25 GB/s are less than 0.6 us; 8 GB: 0.14 s + 16 ms against 0.18 + 5 ms.
    assert ic.group_all_reduce_seconds(8e3, 8, 100e9, **fast) == close(1.75 * 8e3 / 25e9 + 15e-4)
    assert ic.group_all_reduce_seconds(8e9, 8, 100e9, **fast) == close(0.14 + 16e-3)
    # 250 MB: ring 4.375 + 16 ms, flags 17.5 + 1.5 ms, switch 5.625 + 5 ms.
    assert ic.group_all_reduce_seconds(250e6, 8, 100e9, **fast) == close(10.625e-3)
    # Half the bandwidth at most goes to values that carry flags.
    assert ic.group_all_reduce_seconds(8e3, 8, 100e9, 1e-3, quick_latency=1e-4, quick_bandwidth=1e12) == close(1.75 * 8e3 / 50e9 + 14e-4)
    # Nothing but a ring, and one GPU alone.
    assert ic.group_all_reduce_seconds(8e9, 8, 100e9, 1e-3) == close(ic.all_reduce_seconds(8e9, 8, 100e9, 1e-3))
    assert ic.group_all_reduce_seconds(8e9, 1, 100e9, **fast) == ic.engine_all_reduce_seconds(8e9, 1, 100e9, **fast) == 0
    alone = [law(8e9, 1, 100e9, 1e-3) for law in (ic.group_all_reduce_seconds, ic.engine_all_reduce_seconds)]
    assert alone == [0, 0] and list(ic.group_all_reduce_seconds(8e9, np.array([1, 2]), 100e9)) == [0, close(0.08)]


def test_an_engine_reads_its_peers():
    # 8 GPUs, 8 kB at 100 GB/s: 7 whole messages take 0.56 us and 4 hops of 1 us, in two stages 0.14 us and 6; a kernel of 2 us.
    assert ic.direct_all_reduce_seconds(8e3, 8, 100e9, 1e-6, 1, 2e-6) == close(6.56e-6)
    # 80 kB: 5.6 + 4 or 1.4 + 6.
    assert ic.direct_all_reduce_seconds(80e3, 8, 100e9, 1e-6) == close(7.4e-6)
    assert ic.direct_all_reduce_seconds(8e3, 1, 100e9, 1e-6, 1, 2e-6) == 0
    ways = dict(latency=1e-5, quick_latency=1e-6, kernel_seconds=2e-6)
    assert ic.engine_all_reduce_seconds(8e3, 8, 100e9, **ways, peer_reads=1) == close(6.56e-6)
    assert ic.engine_all_reduce_seconds(8e3, 8, 100e9, **ways) == close(1.75 * 8e3 / 100e9 + 14e-5)


def test_bandwidth_of_a_group():
    # Seven ports of 64 GB/s, one to each peer; a bridge of 300 GB/s for two and PCIe beyond; a ring on a torus axis has two ports.
    mesh, bridge, torus = ("MI300X 192GB", "H100 NVL 94GB", "TPU v5p 95GB")
    sizes = (2, 4, 8)
    assert [Case(gpu=mesh, ranks=size)(ic.group_bandwidth) for size in sizes] == [64e9, 192e9, 448e9]
    assert [Case(gpu=bridge, ranks=size)(ic.group_bandwidth) for size in sizes] == [300e9, 63.015e9, 63.015e9]
    assert [Case(gpu=torus, ranks=size)(ic.group_bandwidth) for size in sizes] == [100e9, 200e9, 200e9]
    assert [Case(gpu="H100 SXM 80GB", ranks=size)(ic.group_bandwidth) for size in sizes] == [450e9] * 3
    assert Case(gpu="GB200 NVL72 186GB", ranks=72)(ic.group_bandwidth) == 900e9


def test_rings_over_two_processors():
    """NCCL plans 22 GB/s between two Sapphire Rapids and 16 between two of AMD (src/graph/topo.h), 48 and 24 on one of them."""
    def bus(gpu, ranks, **changes):
        case = Case(gpu=gpu, ranks=ranks, message_bytes=1e15, efficiency="achieved").but(**changes)
        return 2 * (ranks - 1) / ranks * 1e15 / case(ic.group_all_reduce_seconds)
    for gpu in ("RTX PRO 6000 Server 96GB", "RTX 5090 32GB"):
        assert [bus(gpu, ranks) for ranks in (2, 4, 8)] == [close(48.02e9, 1e-3), close(48.02e9, 1e-3), close(22e9, 1e-3)]
    assert [bus("L40S 48GB", ranks) for ranks in (4, 8)] == [close(24.01e9, 1e-3), close(16e9, 1e-3)]
    # Published: 28 GB/s of eight RTX 5090 on two Xeon 8480+, 35 of four (github.com/NVIDIA/nccl/issues/1639), and 24.7 of eight RTX PRO
    # 6000 (NCCL 2.29.2 in ai-dynamo/aiconfigurator @095f58a), where one share for all would say 48. A bound knows no processors.
    for gpu, measured in (("RTX 5090 32GB", 28e9), ("RTX PRO 6000 Server 96GB", 24.7e9)):
        assert bus(gpu, 8) < measured < 1.3 * bus(gpu, 8) and bus(gpu, 8, efficiency="bound") == close(63.015e9, 1e-3)


def test_network_and_links_have_shares_of_their_own():
    # Eight ports of 50 GB/s at 0.9 are 360 GB/s, the link at 0.8 of 450 the same; half of that leaves an oversubscribed node.
    assert ic.fabric_bandwidth(450e9, 50e9, 32, 8, 1, 0.8, 0.9) == close(360e9)
    assert ic.fabric_bandwidth(450e9, 50e9, 32, 8, 2, 0.8, 0.9) == close(180e9)
    assert ic.fabric_bandwidth(450e9, 50e9, 8, 8, 2, 0.8, 0.9) == close(360e9)
    # 24 parts of 1 GB by a port of 25 GB/s.
    assert ic.cluster_all_to_all_seconds(32e9, 32, 8, 400e9, 50e9, network_efficiency=0.5) == close(0.96)
    # Inside 0.14 s at 400 GB/s, across 6 steps of 1 GB at 25 GB/s.
    assert ic.hierarchical_all_reduce_seconds(32e9, 32, 8, 400e9, 50e9, network_efficiency=0.5) == close(0.14 + 0.24)
