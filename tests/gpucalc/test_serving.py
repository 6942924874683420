"""Serving against hand calculations: the arithmetic stands in each test, written out without the laws."""
import functools
import json
import math
from statistics import median

import pytest
from hypothesis import given, settings, strategies as st
from pandas import DataFrame, Series, concat

from gpucalc import serving as sv
from gpucalc.core.evaluate import Case
from gpucalc.decisions import capacity
from gpucalc.decisions.capacity import ENGINE
from gpucalc.laws import queueing as qu, shares
from gpucalc.laws.lengths import late_deviations
from gpucalc.rows import bands, catalogue
from gpucalc.rows.tables import rows

LLAMA_8B, LLAMA_70B, DEEPSEEK_V3 = (catalogue.model(name) for name in ("Llama-3-8B", "Llama-3-70B", "DeepSeek-V3"))
# Bytes a token moves beside products and attention in Llama-3-70B, and of these on each of eight GPUs.
MOVED = 2 * 80 * (10 * 8192 + 2 * (8192 + 1024) + 3 * 28_672)
MOVED_8 = 2 * 80 * (10 * 8192 + (2 * (8192 + 1024) + 3 * 28_672) / 8)
# What kernels take to begin in a pass: 10 us of attention and 2 us of each of four products in 80 layers.
START = 80 * 18e-6
A100, RTX_4090 = catalogue.gpu("A100 SXM 80GB"), catalogue.gpu("RTX 4090 24GB")
BOUND, ACHIEVED = catalogue.efficiency("bound"), catalogue.efficiency("achieved")
MEAN = dict(context=sv.mean_context)
REQUEST = dict(prompt=500, output=200)  # the document gives no length of the prompt
LOAD = dict(requests_per_second=1000 / 60, answer_limit=5, late_share=0.05)
batches, lengths = st.integers(1, 512), st.integers(1, 8192)
loads = st.floats(0.01, 0.99)


def on(law, card=A100, model=LLAMA_70B, efficiency=BOUND, **given):
    return Case(model, card, catalogue.link(card.link), efficiency, **MEAN | given)(law)


def plan(model=LLAMA_70B, gpu="A100 SXM 80GB", degree=8, efficiency=ACHIEVED, **changed):
    cards = capacity.linked_gpus(gpu).loc[[gpu]]
    return capacity.plans(capacity.search(Case(model, efficiency, **REQUEST, **ENGINE), cards, [degree]), **LOAD | changed).iloc[0]


def fewest_replicas(rate, seconds, batch, answer_limit, late_share=0.05):
    """Of requests whose prompts take no time."""
    points = DataFrame(dict(request_seconds=seconds, batch=batch), dtype=float).assign(
        **dict.fromkeys(capacity.TIMES[:-2], 1e-9) | {"prompt_host_seconds": 0.0}, output_tokens_per_second=1.0, fixed_share=1.0, growing_share=0.0,
        lone_share=1.0, prompt=1, output=1, prompt_p95=0, output_p95=0, cached_share=0, prompt_chunk=0, prompts_apart=0,
        tensor_parallel=1, places=math.inf, **dict.fromkeys((*capacity.ENDS, *capacity.PROMPT_ENDS), 1.0))
    points["time_per_output_token"] = points["speculative_seconds"] = points["request_seconds"] - 1e-9
    points["gpu"] = [f"card {number}" for number in points.index]
    return capacity.plans(points, rate, answer_limit, late_share, most_load=1, spare_replicas=0)["gpus"].to_numpy()


def answered(row, **changed):
    """The time all but the late are answered in, under a plan (s)."""
    load = LOAD | changed
    places = dict(replicas=row.replicas, batch=row.batch)
    filled = qu.offered_load(load["requests_per_second"], row.request_seconds, **places)
    crowded = Case(row.to_dict())(qu.crowding)
    share = qu.waiting_share(filled, crowding=crowded, **places)
    wait = qu.waiting_seconds(share, filled, row.request_seconds, output_variation=0, late_share=load["late_share"], **places)
    return filled, row.request_seconds + wait


def test_a_prompt_costs_two_flop_for_a_parameter_and_token():
    # 1,000 tokens: 2 x (P - embeddings and head) each, the head once, and attention over half of 1,000^2 pairs in 80 layers.
    body = 70_553_706_496 - 2 * 128_256 * 8192
    assert on(sv.prompt_product_flops, prompt=1000) == pytest.approx(2 * body * 1000 + 2 * 128_256 * 8192, rel=1e-12)
    assert on(sv.prompt_attention_flops, prompt=1000) == pytest.approx(80 * 1000**2 / 2 * (2 * 64 * 2 * 128), rel=1e-12)


def test_a_cached_prefix_is_not_read_again_but_attended_to():
    # 250 of 1,000 tokens are left; they see 1,000^2/2 - 750^2/2 pairs, not 250^2/2.
    body = 70_553_706_496 - 2 * 128_256 * 8192
    left = dict(prompt=1000, cached_share=0.75)
    assert on(sv.prompt_product_flops, **left) == pytest.approx(2 * body * 250 + 2 * 128_256 * 8192, rel=1e-12)
    assert on(sv.prompt_attention_flops, **left) == pytest.approx(80 * (1000**2 - 750**2) / 2 * (2 * 64 * 2 * 128), rel=1e-12)
    assert sv.prefilled_tokens(1000, 0.75) == 250
    assert sv.prefilled_tokens(1000, 1) == 1
    assert sv.prefilled_tokens(1000) == 1000


def test_a_prompt_pass_on_eight_gpus():
    # 160 all-reduces of 500 x 8192 x 2 B: the least of a ring (14 steps of an eighth at 300 GB/s and 3.4 us, and 8.4 us to
    # start) and of one kernel that reads its peers twice at that rate with six hops of 0.6 us.
    piece, direct = 14 * 500 * 8192 * 2 / 8 / 300e9, 6 * 0.6e-6
    assert on(sv.prompt_exchange_seconds, prompt=500, tensor_parallel=8) == pytest.approx(160 * (piece + direct), rel=1e-12)
    products, attention = (on(law, prompt=500) / 8 / 312e12 for law in (sv.prompt_product_flops, sv.prompt_attention_flops))
    moved = 500 * MOVED_8 / 2.039e12
    bound = on(sv.replica_prefill_seconds, prompt=500, tensor_parallel=8)
    assert bound == pytest.approx(products + attention + moved + 160 * (piece + direct) + START, rel=1e-12)
    # Achieved: 0.81 of the FLOP/s, attention 0.6, 0.88 of the bandwidth, 0.8 of the link, 80 x 12 + 3 kernels of 2 us. Of 108
    # units up and gate fill 4 x 56 tiles in three waves, down 4 x 64 in three; 500 of 512 rows.
    up, down = 500 / 512 * 224 / 324, 500 / 512 * 256 / 324
    expected = (products / 0.81 * (2 / up + 1 / down) / 3 + attention / 0.6 + moved / 0.88 + 963 * 2e-6
                + 160 * (piece / 0.8 + direct + 2e-6) + START)
    found = on(sv.replica_prefill_seconds, prompt=500, tensor_parallel=8, efficiency=ACHIEVED)
    assert found == pytest.approx(expected, rel=1e-12)
    assert on(sv.replica_prefill_seconds, prompt=500, tensor_parallel=8, kernel_start_seconds=1) == pytest.approx(bound - START + 1)


def test_a_short_prompt_waits_for_the_weights():
    alone = 2 * 70_553_706_496 / 2.039e12 + 80 / 2 * 32_768 / 312e12 + MOVED / 2.039e12 + START
    assert on(sv.replica_prefill_seconds, prompt=1) == pytest.approx(alone, rel=1e-12)


def test_a_pass_on_eight_gpus():
    # Weights without the input embedding and 32 caches of 600 tokens, an eighth each; 160 all-reduces of 32 tokens.
    weights, cache = 2 * (70_553_706_496 - 128_256 * 8192), 32 * 600 * 327_680
    exchange = 160 * (14 * 32 * 8192 * 2 / 8 / 300e9 + 6 * 0.6e-6) + START
    seconds = on(sv.replica_pass_seconds, prompt=500, output=200, batch=32, tensor_parallel=8)
    assert seconds == pytest.approx((weights + cache) / 8 / 2.039e12 + 32 * MOVED_8 / 2.039e12 + exchange, rel=1e-12)
    flops = 32 * (2 * (70_553_706_496 - 128_256 * 8192) + 80 * 600 * 4 * 64 * 128)
    slow = on(sv.replica_pass_seconds, prompt=500, output=200, batch=32, tensor_parallel=8, peak_flops=1e12)
    assert slow == pytest.approx(flops / 8e12 + 32 * MOVED_8 / 2.039e12 + exchange, rel=1e-12)


def test_a_group_has_the_ports_that_lead_to_its_peers():
    # MI300X: one of seven ports of 64 GB/s between two, three between four; an H100 NVL bridge joins two, four go by the host.
    def bandwidth(name, degree):
        return on(sv.replica_bandwidth, catalogue.gpu(name), tensor_parallel=degree)
    assert [bandwidth("MI300X 192GB", degree) for degree in (2, 4, 8)] == [64e9, 3 * 64e9, 7 * 64e9]
    bridge = catalogue.gpu("H100 NVL 94GB")
    assert bandwidth("H100 NVL 94GB", 2) == bridge.link_bandwidth and bandwidth("H100 NVL 94GB", 4) == bridge.host_bandwidth


def test_eight_gaming_cards_at_30_and_10_microseconds():
    # The document's 8 x RTX 4090: 140 GB / 8 / 1.008 TB/s = 17.4 ms and 160 all-reduces of 30 us (10 us): 45 (52) tokens/s.
    for each, rate in ((30e-6, 45), (10e-6, 52)):
        step = sv.replica_pass_seconds(1, 1, 140e9, 1e-9, 1, 160 * each, 0, RTX_4090.peak_flops, 1e12, 1e12, 1, 0, 0, 8)
        assert 1 / step == pytest.approx(rate, rel=0.02)


def test_two_gaming_cards_are_faster_than_one():
    # Tensor parallel over PCIe speeds up decode at batch 1: the document has it the other way round.
    one, two = (on(sv.replica_pass_seconds, RTX_4090, LLAMA_8B, ACHIEVED, prompt=100, output=100, batch=1, tensor_parallel=degree)
                for degree in (1, 2))
    assert 1.5 < one / two < 2


def test_a_gpu_reads_the_cache_of_its_own_heads():
    # 8 KV heads on 16 GPUs: each keeps one, an eighth of the cache.
    assert sv.pass_attention_seconds(1, 1, 2e9, 1, 1, 1e12, 1e9, 16) == 2
    # A latent is on all GPUs of the group.
    one, eight = (Case(DEEPSEEK_V3, A100, context=1000, batch=8, prompt=1, tensor_parallel=degree, peak_flops=1e18)(
        sv.pass_attention_seconds) for degree in (1, 8))
    assert one == eight == pytest.approx(8 * 1000 * 70_272 / 2.039e12, rel=1e-9)


def test_a_chunk_costs_its_part_of_the_prompt():
    assert sv.pass_product_flops(5, 1e12, 8e13, 1000, 0, 250) == 5e12 + 2e13
    assert sv.pass_product_flops(5, 1e12, 8e13, 1000, 0) == 5e12
    # Attention of a chunk comes after that of the batch: 8e13 FLOP for 1,000 tokens, 250 of them at 1e13.
    assert sv.pass_attention_seconds(5, 1, 4e12, 8e13, 1000, 1e13, 1e12, chunk=250) == 4 + 2
    assert sv.chunked_prefill_seconds(1000, 256, 0.05) == 4 * 0.05
    assert sv.steady_chunk(32, 500, 200) == 80


def test_a_pass_by_its_parts():
    # Products: 800 FLOP at half of 100 FLOP/s on two GPUs, or 400 bytes at 10; 5 tokens and 15 of a chunk move 4 bytes each.
    parts = dict(group_batch=5, spread_seconds=0, pass_attention_seconds=3, token_bytes=4, exchange_seconds=0.5, launch_seconds=0.25, product_rate=100,
                 memory_rate=10, weight_rate=10, pass_fill=0.5, tensor_parallel=2, chunk=15, kernel_start_seconds=0.125)
    assert sv.replica_pass_seconds(pass_product_flops=800, group_read_bytes=10, **parts) == 8 + 3 + 8 + 0.875
    assert sv.replica_pass_seconds(pass_product_flops=800, group_read_bytes=400, **parts) == 20 + 3 + 8 + 0.875
    # A prompt of its own: the same products and 100 FLOP of attention at 50.
    prompt = dict(prefilled_tokens=20, expert_extra_flops=0, prompt_spread_seconds=0, prompt_attention_flops=100, token_bytes=4, prompt_exchange_seconds=0.5, launch_seconds=0.25,
                  product_rate=100, attention_rate=50, memory_rate=10, weight_rate=10, prompt_fill=0.5, tensor_parallel=2, kernel_start_seconds=0.125)
    assert sv.replica_prefill_seconds(prompt_product_flops=800, prompt_read_bytes=10, **prompt) == 9 + 8 + 0.875
    assert sv.replica_prefill_seconds(prompt_product_flops=800, prompt_read_bytes=400, **prompt) == 21 + 8 + 0.875
    # The message of the all-reduce holds the chunk too.
    assert sv.exchange_seconds(32, 8192, 80, 300e9, chunk=96, tensor_parallel=8, peer_reads=1) == pytest.approx(
        160 * 14 * 128 * 8192 * 2 / 8 / 300e9, rel=1e-12)


def test_a_pass_with_prompts_by_hand():
    # 10 places and answers of 100: a pass frees a tenth of one, so 0.1 / (1 - e^-0.1) = 1.0508 prompts ride where any does.
    assert sv.mixed_tokens(1000, 100, 1, 1, 8192) == pytest.approx(1050.83, abs=0.01) == sv.mixed_tokens(1000, 100, 1, 1, 0)
    assert sv.mixed_tokens(1000, 100, 1, 1, 512) == 512 and sv.mixed_tokens(1000, 5000, 1, 1, 8192) == pytest.approx(5033.9, abs=0.1)
    # 32 places in each of 8 groups and answers of 500: after 15 passes 7.68 prompts have come, one for each group that reads, so
    # that prompts are held back for as many; after 32 it would be 16.384, 2.048 in each. Few places wait for 50 passes at most.
    assert sv.held_passes(32, 500, 8, prompt_interval=50, prompt_chunk=8192) == 15 and sv.held_passes(1, 500, 8, 0, 50, 8192) == 50
    assert {sv.held_passes(32, 500, groups, apart, 50, chunk) for groups, apart, chunk in ((1, 0, 8192), (8, 1, 8192), (8, 0, 0))} == {1}
    assert sv.held_passes(600, 500, 8, 0, 50, 8192) == 1
    assert sv.mixed_tokens(2000, 128, 15, 8, 8192) == 2000 and sv.mixed_tokens(2000, 128, 32, 8, 8192) == pytest.approx(4096, rel=1e-6)
    # 20 ms without and 50 with 2,000 tokens of prompts: one of 1,000 adds 15.
    assert sv.riding_seconds(0.05, 0.02, 1000, 2000, 1900) == pytest.approx(0.015)
    # If 4,000 come to each pass of 2,000, every other one is for prompts alone: 25 ms less a quarter of 20.
    assert sv.riding_seconds(0.05, 0.02, 1000, 2000, 4000) == pytest.approx(0.02)
    # Llama-3-8B on A100 at the peaks, 32 sequences of 1,125 tokens, prompts of 1,000, answers of 250: 0.128 / (1 - e^-0.128) x
    # 1,000 = 1,065.4 tokens ride. All 1,097.4 take 49 ms of compute and the weights 7.4 of reading, so the pass takes the former.
    given = dict(model=LLAMA_8B, batch=32, prompt=1000, output=250, kernel_start_seconds=0)
    body, head = 2 * (8_030_261_248 - 2 * 128_256 * 4096), 2 * 128_256 * 4096
    tokens = 1000 * 0.128 / (1 - math.exp(-0.128))
    products = ((32 + tokens) * body + (32 + tokens / 1000) * head) / 312e12
    read, cache = 2 * (8_030_261_248 - 128_256 * 4096) / 2.039e12, 32 * 1125 * 131_072 / 2.039e12
    attention = cache + tokens / 1000 * 32 * 1000**2 / 2 * 4 * 32 * 128 / 312e12
    moved = 2 * 32 * (10 * 4096 + 2 * (4096 + 1024) + 3 * 14_336) / 2.039e12
    assert products > 6 * read and on(sv.mixed_pass_seconds, **given) == pytest.approx(products + attention + (32 + tokens) * moved, rel=1e-9)
    assert on(sv.replica_pass_seconds, **given) == pytest.approx(read + cache + 32 * moved, rel=1e-9)
    # A prompt adds its part of the difference; in a pass of its own it would take 49 ms and more, as nothing hides the reading.
    added = on(sv.mixed_pass_seconds, **given) - on(sv.replica_pass_seconds, **given)
    assert on(sv.prompt_work_seconds, **given) == pytest.approx(added * 1000 / tokens, rel=1e-9)
    assert on(sv.prompt_work_seconds, **given) < on(sv.replica_prefill_seconds, **given) == on(sv.prompt_work_seconds, **given, prompt_chunk=0)
    assert on(sv.prompt_work_seconds, **given, prompts_apart=1) == on(sv.replica_prefill_seconds, **given)
    # Tiles that prompts fill twice as well make the pass no quicker: 100 FLOP at a half are 200 at a whole.
    assert sv.mixed_product_flops(100, 1000, 100, 0, 5, 0.5, 1) == 200 and sv.mixed_product_flops(100, 1000, 100, 0, 20, 0.5, 1) == 300


def test_experts_that_only_prompts_use_are_read_once():
    # 64 experts of 1 GB, 8 a token: 1 token reads 8 and leaves 56; with one of a prompt it is 64 x (1 - (7/8)^2) = 15.
    held = dict(expert_params=1e9, routed_extra_bytes=0, moe_layers=1, experts=64, experts_per_token=8, weight_element_bytes=1)
    assert sv.mixed_read_bytes(group_read_bytes=44e9, mixed_tokens=1, batch=1, **held) == pytest.approx(51e9)
    assert sv.mixed_read_bytes(group_read_bytes=44e9, mixed_tokens=1000, batch=1, **held) == pytest.approx(100e9)
    # A prompt alone reads those of its tokens: 8 for one, 15 for two; two groups half of the 15 that both prompts use.
    assert sv.prompt_read_bytes(group_weight_bytes=100e9, prefilled_tokens=1, **held) == pytest.approx(44e9)
    assert sv.prompt_read_bytes(group_weight_bytes=100e9, prefilled_tokens=2, **held) == pytest.approx(51e9)
    assert sv.prompt_read_bytes(group_weight_bytes=68e9, prefilled_tokens=1, **held, attention_parallel=2) == pytest.approx(43.5e9)


def test_a_prompt_without_chunks_takes_one_pass():
    assert sv.chunked_prefill_seconds(1000, Series([256, 0]), 0.05).tolist() == [0.2, 0.05]


def test_a_full_batch():
    # A pass of 20 ms and 31 prompts of 50 ms in 200 passes: 27.75 ms a token; 50 ms and 200 of them: 5.6 s.
    assert sv.time_per_output_token(0.02, 0.05, 32, 200) == 0.02 + 31 * 0.05 / 200
    assert sv.request_seconds(0.05, 0.02775, 200) == pytest.approx(5.6)
    assert sv.output_tokens_per_second(32, 200, 5.6) == pytest.approx(32 * 200 / 5.6)
    # The same by counting work: 32 prompts and 200 passes give 32 x 200 tokens.
    assert 32 * 0.05 + 200 * 0.02 == pytest.approx(5.6)


def test_static_batching_waits_for_the_longest():
    # 32 prompts of 50 ms and 800 passes of 20 ms for answers of 200 tokens in the mean.
    assert sv.static_tokens_per_second(32, 200, 800, 0.05, 0.02) == pytest.approx(6400 / (1.6 + 16))
    assert sv.static_tokens_per_second(32, 200, 200, 0.05, 0.02) == pytest.approx(sv.output_tokens_per_second(32, 200, 5.6))


def test_drafted_tokens():
    # 0.8 accepted, 4 drafted: 1 + .8 + .64 + .512 + .4096.
    assert sv.accepted_tokens(0.8, 4) == pytest.approx(3.3616)
    assert sv.accepted_tokens(1, 4) == 5 and sv.accepted_tokens(0, 4) == 1
    assert sv.speculative_seconds(0.02, 0.002, 3.3616, 4) == pytest.approx(0.028 / 3.3616)


@given(batches, lengths, st.integers(1, 2048), st.sampled_from([1, 2, 4, 8]), st.floats(1, 16))
def test_a_faster_gpu_never_slows_a_server(batch, prompt, output, degree, faster):
    job = dict(prompt=prompt, output=output, batch=batch, tensor_parallel=degree)
    slow = on(sv.output_tokens_per_second, **job)
    for name in ("peak_flops", "bandwidth", "port_bandwidth"):
        assert on(sv.output_tokens_per_second, **job, **{name: A100[name] * faster}) >= slow * (1 - 1e-12)
    assert on(sv.output_tokens_per_second, efficiency=ACHIEVED, **job) <= slow


@given(lengths, st.integers(1, 2048), st.sampled_from([1, 2, 4, 8]))
def test_the_frontier_is_monotone(prompt, output, degree):
    # Tiles bend it: a pass that begins another wave may give fewer tokens a second. Whole ones do not. Nor do chunks that hold all prompts
    # that come: where more come, the batch is not as full as is counted here.
    sizes = Series([1, 2, 4, 8, 16, 32, 64, 128, 256])
    values = Case(LLAMA_70B, A100, catalogue.link(A100.link), ACHIEVED, batch=sizes, prompt=prompt, output=output, pass_fill=1,
                  mixed_fill=1, prompt_chunk=1e8, tensor_parallel=degree, **MEAN).terms(sv.output_tokens_per_second)
    assert (values["time_per_output_token"].diff().dropna() >= 0).all()
    assert (values["output_tokens_per_second"].diff().dropna() >= -1e-9).all()


@given(batches, lengths, st.integers(1, 2048), st.sampled_from([1, 2, 4, 8]))
def test_throughput_never_exceeds_the_roofline(batch, prompt, output, degree):
    job = dict(prompt=prompt, output=output, batch=batch, tensor_parallel=degree)
    rate = on(sv.output_tokens_per_second, **job)
    assert rate <= batch / on(sv.replica_pass_seconds, **job) * (1 + 1e-12)
    assert rate <= degree * A100.peak_flops / on(sv.prompt_product_flops, prompt=prompt) * output * (1 + 1e-12)


@given(st.floats(0, 1), lengths)
def test_more_in_the_cache_is_never_slower(share, prompt):
    cached, plain = on(sv.replica_prefill_seconds, prompt=prompt, cached_share=share), on(sv.replica_prefill_seconds, prompt=prompt)
    assert cached <= plain * (1 + 1e-12)


@pytest.mark.parametrize("places", [1, 4, 16, 64, 256])
@pytest.mark.parametrize("crowding", [0, 0.2, 0.5, 0.8, 1])
def test_the_share_that_waits_where_places_slow_each_other(places, crowding):
    """Of k inside each leaves at a rate of 1 / (1 - x + x k / c), so all c are as slow as a full batch: summed state by state."""
    for load in (0.6, 0.7, 0.8, 0.9, 0.95):
        chances = [1.0]
        for inside in range(1, places + 1):
            chances.append(chances[-1] * load * ((1 - crowding) * places / inside + crowding))
        full = chances[-1] / (1 - load)
        exact = full / (sum(chances[:-1]) + full)
        found = qu.waiting_share(load, places, 1, crowding)
        assert -0.02 <= found - exact <= 0.055
        assert crowding < 1 or found == pytest.approx(exact, rel=1e-9)
        inside = (sum(count * chance for count, chance in enumerate(chances[:-1])) + full * (places + load / (1 - load)))
        mean = inside / (sum(chances[:-1]) + full)
        # A request at the load: of so many inside on average as come while it is there, if few wait.
        if exact < 0.01:
            assert qu.loaded_request_seconds(1, crowding, crowding, load, places) * load * places == pytest.approx(mean, rel=0.02)


def test_a_replica_at_the_load_by_hand():
    # A pass of 20 ms in a full batch of 10, 12 ms for any; an answer of 100, prompts of 40 ms: 100 x 20 + 10 x 40 = 2.4 s.
    token = sv.time_per_output_token(0.02, 0.04, 10, 100)
    assert sv.request_seconds(0.04, token, 100) == pytest.approx(2.4)
    # All but 100 x 12 ms is due to the batch: half. At half load (1 - 0.5 x 0.9) / (1 - 0.25) = 0.7333 of the time, 1.76 s.
    assert qu.crowding(2.4, token, 0.02, 0.04, 0.6, 100) == pytest.approx(0.5)
    assert qu.loaded_request_seconds(2.4, 0.5, 0.5, 0.5, 10) == pytest.approx(1.76)
    assert qu.loaded_request_seconds(2.4, 0.5, 0.5, 1.5, 10) == pytest.approx(2.4)
    # 2.0833 requests a second: 3.6667 inside, passes of 12 + 8 x 0.36667 ms, and 1.72 s for 100 tokens.
    assert qu.running_batch(0.5 * 10 / 2.4, 1.76, 1, 10) == pytest.approx(3.6667, abs=1e-4)
    assert qu.running_batch(100, 1.76, 1, 10) == 10
    assert qu.running_pass_seconds(0.02, 0.6, 3.6667, 10) == pytest.approx(0.0149333, abs=1e-6)
    assert qu.loaded_token_seconds(token, 2.4, 1.76, 100) == pytest.approx(0.0172)


def test_the_spread_of_the_time_per_token_by_hand():
    # Each sequence adds 0.8 ms to a pass, each prompt 0.4 ms a token; a stay is 1 / 0.75 longer. Of 3.6667 sequences:
    # 4.8889 x (2/3 x 0.64 + 0.8 x 0.4 x 1.3333) + 3.6667 x 0.16 x 1.7778 = 4.1719 + 1.043 over 17.2 squared.
    found = qu.token_spread(3.6667, 10, 0.02, 0.04, 0.6, 100, 0.5, 0.5, 0.0172, 0, 0)
    assert found == pytest.approx((4.1719 + 1.0430) / 17.2**2, rel=1e-3)
    # Alone 12 + 8 / 10 = 12.8 ms. Others add 4.4 ms, of a spread of 0.01763 x 17.2^2 / 4.4^2 = 0.2694; all but one in twenty:
    # 12.8 ms + 4.4 ms x (1 - 0.2694 / 9 + 1.645 x 0.51904 / 3)^3.
    assert sv.lone_token_seconds(0.02, 0.6, 10) == pytest.approx(0.0128)
    late = 0.0128 + 0.0044 * 1.254674**3
    assert qu.late_token_seconds(0.0172, 0.01763, 0.0128, 0.03, 0.024, 1.645, 9, 100) == pytest.approx(late, rel=1e-4)
    assert qu.late_token_seconds(0.0172, 0.01763, 0.0128, 0.03, 0.024, 1.645, 9, 100, 1) == pytest.approx(late + 0.09, rel=1e-4)


def test_a_late_token_is_that_of_a_full_batch_at_most_by_hand():
    """In a full batch of 10 the mean is 23.6 ms; ten prompts of 40 ms in 100 tokens differ by 10 x 0.4^2 ms^2, a spread of 1.6 / 10.8^2 =
    0.01372 of the 10.8 ms beyond 12.8: 12.8 + 10.8 x (1 - 0.01372 / 9 + 1.645 x 0.11712 / 3)^3 = 25.76 ms. Where the mean is that of a full
    batch the late one is too, however little the load varies."""
    assert qu.full_token_seconds(0.0236, 0.04, 10, 100, 0.0128, 0, 0, 1.645) == pytest.approx(0.02576, abs=1e-5)
    assert qu.full_token_seconds(0.0236, 0.04, 10, 100, 0.0128, 0, 0, 1.645, 1) == pytest.approx(0.0236)
    assert qu.late_token_seconds(0.0172, 5, 0.0128, 0.02576, 0.0236, 1.645, 0, 100) == 0.02576
    assert qu.late_token_seconds(0.0236, 0, 0.0128, 0.02576, 0.0236, 1.645, 0, 100) == 0.02576


@given(st.floats(0, 1), st.floats(1e-9, 1e6), st.floats(0.001, 0.2))
def test_no_token_is_late_before_the_pass_that_it_takes_alone(busy, spread, late):
    """However far the others' prompts spread it, and the later the further they do; alone nobody adds anything."""
    mean, deviations = 0.01 + busy, late_deviations(late)
    found = [qu.late_token_seconds(mean, wide, 0.01, 1e9, 1e9, deviations, 0, 100, 0, late) for wide in (spread, 2 * spread)]
    assert 0.01 <= found[0] <= found[1] * (1 + 1e-6)
    assert qu.late_token_seconds(0.01, spread, 0.01, 1e9, 1e9, deviations, 0, 100, 0, late) == 0.01


def test_groups_that_wait_for_each_others_prompts_by_hand():
    # A prompt of 0.1 s on 4 groups, 5 a second: half of one in the time of a turn, so 0.5 + e^-0.5 = 1.1065 are read together.
    together, turns = 0.5 + math.exp(-0.5), dict(batch=400, output=100, held_passes=1, offered_load=0.5, attention_parallel=4, prompt_chunk=0)
    assert qu.loaded_turn_seconds(0.05, 2, 5, 1, 1, 0, **turns) == pytest.approx(0.1 / together)
    # At 60 a second no more than 4, and of one group always one; two replicas at twice the load are as one.
    assert qu.loaded_turn_seconds(0.05, 2, 60, 1, 1, 0, **turns) == pytest.approx(0.025) == qu.loaded_turn_seconds(
        0.025, 1, 9, 1, 1, 0, **turns | {"attention_parallel": 1})
    assert qu.loaded_turn_seconds(0.05, 2, 10, 2, 1, 0, **turns) == pytest.approx(0.1 / together)
    # Where they ride, half the load frees 2 places a pass: 2 / (1 - e^-2) = 2.313 prompts in as many groups, the fullest of which
    # has 0.578 + 3/8, so one. Of alike prompts without experts to share each takes its part of a turn.
    assert qu.loaded_turn_seconds(0.05, 2, 5, 1, 1, 0, **turns | {"prompt_chunk": 8192}) == pytest.approx(0.1 * (1 - math.exp(-2)) / 2)
    # A request comes in a turn at 0.5 / 1.1065 and waits for half of it; all four have a prompt at (1/8)^4.
    assert qu.turn_prompts(0.5, 1, 4) == pytest.approx(together) and qu.turn_prompts(0.5, 1) == 1 and qu.turn_prompts(9, 1, 4) == 4
    assert qu.turn_seconds(0.1, together, 1, 0, 4) == 0.1 and qu.reading_share(0.5, 0.1, 0.1, together) == pytest.approx(0.5 / together)
    wait = qu.prompt_wait_seconds(0.5 / together, 0.1, together, 0.01, 0, 4)
    assert wait == pytest.approx(0.5 / together * 0.05 / (1 - 0.125**4) + 0.01)
    assert qu.prompt_wait_seconds(1, 0.1, 4, 0, 0, 4) == math.inf
    # Beside a prompt that varies by its mean 0.4 others are read: 1 + 0.4 / sqrt(1.8) as long; alone it takes 0.7 of 1.
    assert qu.beside_seconds(0.8, 0.5, 0.1, 1, 1, 0.1, 0.02, 4, 0) == pytest.approx(0.04 / 1.8**0.5)
    assert qu.beside_seconds(0.8, 0.5, 0.1, 0.7, 0, 0.1, 0.02, 4, 0) == pytest.approx(0.1 * 0.3 * 0.4 / 3)
    # Prompts that ride take 0.25 of the time: a pass of 30 ms takes 40, one waits for half of it, and 10 of the next are of others.
    assert qu.beside_seconds(0.5, 0.5, 0.1, 1, 0, 0.05, 0.03) == pytest.approx(0.015) and qu.beside_seconds(0.5, 0.5, 0.1, 1, 0, 0.05, 0.03, 1, 8192, 1) == 0
    # 30 ms more of each prompt at the load than in a full batch, of 10 in 3 s: 0.5 + 0.1.
    assert qu.loaded_crowding(0.5, 0.06, 0.03, 3, 10) == pytest.approx(0.6) and qu.loaded_crowding(0.5, 0.06, 0.03, 3, 10, 1) == 0.5
    assert qu.loaded_request_seconds(3, 0.5, 0.6, 0.5, 10) == pytest.approx(3 * 0.55 / 0.7)


def test_a_lone_prompt_by_hand():
    # 1,000 tokens of 60 GFLOP, of them 32 in 8 of 256 experts with 512 billion weights: on 8 groups 28 of them are elsewhere.
    given = dict(prompt_product_flops=60e12, prefilled_tokens=1000, expert_extra_flops=0, replica_prefill_seconds=0.1, product_rate=1e15,
                 prompt_fill=1, routed_params=512e9, experts=256, experts_per_token=8)
    assert sv.lone_share(**given, prompt_read_bytes=1, weight_rate=1, attention_parallel=1) == 1
    assert sv.lone_share(**given, prompt_read_bytes=1e9, weight_rate=1e12, attention_parallel=8) == pytest.approx(0.72)
    assert sv.lone_share(**given, prompt_read_bytes=50e9, weight_rate=1e12, attention_parallel=8) == pytest.approx(0.9)


def test_a_full_server_has_no_finite_wait():
    assert qu.offered_load(10, 4, 2, 20) == 1
    assert qu.waiting_seconds(1, 1, 4, 2, 20, 0) == math.inf
    assert qu.waiting_seconds(1, 1.5, 4, 2, 20, 0) == math.inf
    assert qu.waiting_share(1.5, 2, 20, 0) == 1
    assert qu.waiting_seconds(0.04, 0.5, 4, 2, 20, 0, 0.05) == 0


def test_answers():
    # 0.3 s of waiting, 0.1 s to the first token, and 200 tokens of 20 ms.
    assert qu.answer_seconds(0.3, 0.1, 0.02, 0, 0.05, 0.1, 0, 200, 0, 1.645) == pytest.approx(4.4)
    # One in twenty is longer than 800 of a mean of 300 (test_lengths): 800 x 20 ms, if all tokens take as long.
    assert qu.answer_seconds(0, 0.1, 0.02, 0, 0.05, 0.1, 0, 300, 0.84432, 1.644854) == pytest.approx(0.1 + 800 * 0.02, rel=1e-3)
    # Tokens that take 20 ms +- 10 %: 4 s x exp(1.645 x 0.1 - 0.005), and no longer than 4.3 s in a full batch.
    assert qu.answer_seconds(0, 0.1, 0.02, 0.01, 0.05, 0.1, 0, 200, 0, 1.645) == pytest.approx(0.1 + 4 * math.exp(0.1595))
    assert qu.answer_seconds(0, 0.1, 0.02, 0.01, 0.021, 0.08, 0.02, 200, 0, 1.645) == pytest.approx(4.3)


def test_a_request_stays_with_its_replica():
    """Four replicas of one place each, half full: no shared queue. A quarter of the places comes free for it, each in 1 s; the number
    before it is geometric by 0.5^4, so all but one in twenty of those that wait (C = 1) wait ln 20 / (1 - 1/16)."""
    assert qu.waiting_seconds(1, 0.5, 1, 4, 1, 1) == pytest.approx(math.log(20) * 16 / 15)
    assert qu.waiting_seconds(1, 0.5, 1, 1, 4, 1) == pytest.approx(math.log(20) / 2)
    # Near full places it comes to the shared queue: 4 x (1 - 0.999) to 1 - 0.999^4.
    assert qu.waiting_seconds(1, 0.999, 1, 4, 1, 1) == pytest.approx(qu.waiting_seconds(1, 0.999, 1, 1, 4, 1), rel=0.01)


def test_the_first_token_by_hand():
    # 10 a second of 0.05 s keep a replica half busy: M/D/1 waits 0.5 x 0.05 / (2 x 0.5) = 25 ms, and half a pass of 20 is 10.
    busy = qu.reading_load(10, 1, 0.05, 0)
    assert busy == 0.5 and qu.prompt_wait_seconds(busy, 0.05, 1, 0, 0) == pytest.approx(0.025)
    assert qu.prompt_wait_seconds(busy, 0.05, 1, 0, 1) == pytest.approx(0.05) and qu.prompt_wait_seconds(1, 0.05, 1, 0, 0) == math.inf
    assert qu.unhindered_first_token(0.02, 0.03, 0.05, 0, 1000, 0.05, 1, 1, 0) == pytest.approx(0.06)
    assert qu.unhindered_first_token(0.02, 0.03, 0.05, 0.04, 1000, 0.05, 1, 1, 0) == pytest.approx(0.1)
    assert qu.mean_first_token(0.025, 0.06) == pytest.approx(0.085)
    # Variances: of the wait 25^2 + 0.5 x 50^2 / (3 x 0.5) = 1458.33, of the pass 20^2 / 12 = 33.33 ms^2.
    spread = qu.first_token_spread(0.025, 0, 0.05, 0.02, 0.06, 0, 1)
    assert spread == pytest.approx((1458.33 + 33.33) / 85**2, rel=1e-4)
    assert qu.time_to_first_token(0.1, 0.085, 0.2, 1.645) == pytest.approx(0.1 + 0.085 * (1 - 0.2 / 9 + 1.645 * 0.2**0.5 / 3)**3)
    # Prompts that are read apart: no pass before them, and no place to wait for.
    assert qu.reading_load(10, 5, 0.05, 2, 1) == 0.25 and qu.unhindered_first_token(0.02, 0.03, 0.05, 0, 1000, 0.05, 1, 1, 0, 1) == 0.05
    assert qu.time_to_first_token(0.1, 0.085, 0, 1.645, 1) == pytest.approx(0.085)
    # In chunks of 400 a prompt of 1,000 rides in 2.5 passes, for which it waits 3: 2 beyond the last, at the load 10 ms shorter, and it.
    assert qu.reading_seconds(0.05, 1, 0.02, 1000, 1, 400) == pytest.approx(0.1)
    assert qu.unhindered_first_token(0.02, 0.03, 0.11, 0, 1000, 0.1, 1, 1, 400) == pytest.approx(0.01 + 0.11)
    # In a pass of its own it would take 150 ms, or 135 if no other group read one.
    assert qu.unhindered_first_token(0.02, 0.03, 0.11, 0, 1000, 0.15, 0.9, 1, 400) == pytest.approx(0.01 + 0.135)
    # Held back for 3 passes it waits for one and a half, 30 ms, and each of its two further chunks for two more, 80 ms; a prompt
    # of its group is in the way for 2.5 x 3 passes.
    assert qu.unhindered_first_token(0.02, 0.03, 0.11, 0, 1000, 0.1, 1, 3, 400) == pytest.approx(0.03 + 0.11 + 0.08)
    assert qu.reading_seconds(0.05, 1, 0.02, 1000, 3, 400) == pytest.approx(0.2)
    assert qu.first_token_spread(0, 0, 0.05, 0.02, 0.06, 0, 3) == pytest.approx(0.06**2 / 12 / 0.06**2)


@given(st.floats(0.05, 0.7), st.sampled_from([0.01, 0.05, 0.2]))
def test_the_wait_for_prompts_against_the_exact_queue(busy, late):
    """M/D/1, prompts of 1: the chance to wait at most t is (1 - rho) times the sum of (rho (k - t))^k e^(-rho (k - t)) / k!."""
    def within(time):
        return (1 - busy) * sum((busy * (count - time))**count / math.factorial(count) * math.exp(-busy * (count - time))
                                for count in range(int(time) + 1))
    low, high = 0.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 1 - late else (low, middle)
    wait = qu.prompt_wait_seconds(busy, 1, 1, 0, 0)
    found = qu.time_to_first_token(0, 1 + wait, qu.first_token_spread(wait, 0, 1, 1e-9, 1, 0, 1), late_deviations(late))
    assert 0.7 <= found / (1 + low) <= 1.45


def test_planned_replicas_by_hand():
    # 10 a second of 4 s in batches of 20 fill 2 replicas, 2.5 at 0.8: 3; or two needed in time and one to spare.
    assert qu.planned_replicas(1, 10, 4, 20) == 3 == qu.planned_replicas(2, 10, 4, 20)
    assert qu.planned_replicas(3, 10, 4, 20) == 4 and qu.planned_replicas(1, 10, 4, 20, 0.4, 0) == 5


@given(loads, st.integers(1, 20), batches)
def test_more_gpus_never_raise_the_wait(load, replicas, batch):
    def wait(count):
        share = load * replicas / count
        return qu.waiting_seconds(qu.waiting_share(share, count, batch, 0.4), share, 1, count, batch, 1)
    assert wait(replicas + 1) <= wait(replicas)


def test_replicas_by_hand():
    # 20 requests a second of 4 s are 80 places; a limit of 5 s and a p95 ask for 4 ln 20 / 1 = 12 more: 92 / 24 = 3.8.
    def required(limit):
        return Case(requests_per_second=20, request_seconds=4, batch=24, answer_limit=limit)(qu.replicas_required)
    assert qu.spare_places(4, 5) == pytest.approx(4 * math.log(20))
    assert required(5) == 4
    assert required(4.5) == math.ceil((80 + 8 * math.log(20)) / 24) == 5
    assert required(4) == required(3) == math.inf
    assert required(1000) == 4


@given(st.floats(0.1, 200), st.floats(0.1, 20), batches, st.floats(1.02, 5), st.sampled_from([0.01, 0.05, 0.5]))
def test_the_fewest_replicas_meet_both_limits_and_one_less_does_not(rate, seconds, batch, slack, late):
    limit = seconds * slack
    fewest = int(fewest_replicas(rate, [seconds], [batch], limit, late)[0])

    def passes(count):
        filled = qu.offered_load(rate, seconds, count, batch)
        wait = qu.waiting_seconds(qu.waiting_share(filled, count, batch, 0), filled, seconds, count, batch, 0, late)
        return filled < 1 and wait + seconds <= limit
    assert passes(fewest)
    assert fewest == 1 or not passes(fewest - 1)
    # Where all places are so rarely filled nobody who counts waits: Sakasegawa's form.
    rarely = math.log(1 / late)
    spare = rarely**2 / 2 + rarely * math.sqrt(rate * seconds + rarely**2 / 4)
    assert fewest <= qu.replicas_required(rate, seconds, spare, batch)


def test_no_replicas_help_a_request_that_is_too_slow():
    found = fewest_replicas(0.001, [4, 5, 5.001, 6], [8, 8, 8, 8], 5)
    assert found.tolist() == [1, 1, math.inf, math.inf]


def test_windows():
    # The document's 100 requests a second: 50 ms collect 6, not 20.
    assert qu.window_batch(100, 0.05) == 6
    assert qu.window_batch(100, 0.19) == pytest.approx(20)
    # 50 million tokens in 4 hours at 1,000 a second: 3.47 replicas.
    assert qu.offline_replicas(50e6, 1000, 4) == 4
    assert qu.offline_replicas(14.4e6, 1000, 4) == 1


def test_the_capacity_example_meets_both_limits():
    found = plan()
    filled, seconds = answered(found)
    assert filled < 1 and seconds <= 5
    assert (found.gpus, found.replicas, found.batch) == (40, 5, 24) and found.formula_gpus == 32
    assert found.batch <= found.places
    # Aggregate: four replicas together give more than 1000/60 x 200 tokens a second.
    assert 4 * found.output_tokens_per_second > 1000 / 60 * 200
    # Two replicas of any batch do not answer in time, not even by the formula.
    batches = range(1, 257)
    seconds = [on(sv.request_seconds, efficiency=ACHIEVED, prompt=500, output=200, batch=batch, tensor_parallel=8) for batch in batches]
    assert (fewest_replicas(1000 / 60, seconds, batches, 5) > 2).all()


def test_why_the_documents_eight_gpus_do_not():
    # A pair reads 139 GB at 2 x 2.039 TB/s: 34 ms a token at best, 6.8 s for 200 tokens; a limit of 5 s is out of reach.
    assert 2 * (70_553_706_496 - 128_256 * 8192) / (2 * 2.039e12) * 200 > 6.8
    for efficiency in (BOUND, ACHIEVED):
        found = plan(degree=2, efficiency=efficiency)
        assert found.gpus == math.inf and found.limit == "the whole answer"
        assert plan(degree=2, efficiency=efficiency, requests_per_second=0.001).gpus == math.inf
    # By its own rate of 400 tokens a second and pair, 4,000 take 10 pairs, not 4.
    assert 1000 / 60 * 200 * 1.2 / 400 == pytest.approx(10)
    # Eight GPUs as one replica of eight do not carry the rate either.
    one = plan()
    assert one.output_tokens_per_second < 1000 / 60 * 200


@settings(max_examples=20)
@given(st.floats(1, 100), st.floats(1.1, 4))
def test_more_load_or_less_time_never_takes_fewer_gpus(rate, factor):
    few = plan(requests_per_second=rate)
    assert plan(requests_per_second=rate * factor).gpus >= few.gpus
    assert plan(requests_per_second=rate, answer_limit=5 / factor).gpus >= few.gpus


def answered_in(rate, time, replicas, size, late=0.05):
    load = qu.offered_load(rate, time, replicas, size)
    return time + qu.waiting_seconds(qu.waiting_share(load, replicas, size, 0), load, time, replicas, size, 0, late)


def test_a_limit_barely_above_the_request_time_takes_many_replicas_and_no_long_search():
    # Even one that waits for nothing takes 10 of 10.000001 s: some 3e7 places to spare.
    found = fewest_replicas(1e6, [10], [1], 10.000001)[0]
    assert 1e7 < found < 1e8 and answered_in(1e6, 10.0, found, 1) <= 10.000001 < answered_in(1e6, 10.0, found - 1, 1)


def test_all_degrees_at_once_are_each_by_itself():
    cards = capacity.linked_gpus("A100 SXM 80GB").loc[["A100 SXM 80GB", "L4 24GB"]]
    case = Case(LLAMA_70B, ACHIEVED, **REQUEST, **ENGINE)
    alone = [capacity.search(case, cards, [degree]) for degree in (1, 8)]
    assert capacity.search(case, cards, [1, 8]).equals(concat(alone, ignore_index=True))
    assert alone[1]["gpu"].unique().tolist() == ["A100 SXM 80GB", "L4 24GB"] and set(alone[1]["tensor_parallel"]) == {8}
    assert alone[1]["batch"].tolist() == 2 * list(capacity.BATCHES)


def test_chunks_of_a_token_take_nothing_from_the_passes_in_which_they_ride():
    """A token more fills tiles of the matrices a little better, which is no reason for a pass to be quicker."""
    case = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", link="NVLink 4", efficiency="achieved", batch=160, prompt=1000, output=300,
                context=1150)
    for chunk in (1, 2, 8, 64, 512):
        assert case.but(prompt_chunk=chunk)("prompt_turn_seconds") > 0, chunk


# What an engine adds

@functools.cache
def timed(law, off):
    """Measured times of engines beside the formula without what is to be found, as (engine, model, dense, users, prompt, measured,
    formula, layers): those of measurements.csv, and those of engine_speeds.csv as columns of what is alike. NIM's have no part, so
    that they can check what is found."""
    found = []
    for name, row in rows("measurements").items():
        held = json.loads(row["inputs"])
        if row["law"] == law and "engine" in held and not name.startswith("sv-nim"):
            case = Case.of(held | {off: 0})
            found.append((case, [row["value"]], [case(law)], [held]))
    for case, held in bands.speed_cases(law):
        found.append((case, [row[law] for row in held], case.but(**{off: 0})(law), held))
    return [(case.rows["engine"].name, case.rows["model"].name, not case.rows["model"].get("experts", 0) > 0, row["batch"], row["prompt"],
             value, float(formula), case.rows["model"]["layers"])
            for case, measured, formulas, held in found for value, formula, row in zip(measured, formulas, held)]


@pytest.mark.parametrize("engine, dense, experts, milliseconds, more", [("vLLM", 26, 50, 0.57, 0.13), ("TensorRT-LLM", 12, 28, 0.38, 1.67)])
def test_what_comes_before_a_first_token_is_what_short_prompts_leave(engine, dense, experts, milliseconds, more):
    """Of dense models; of models of experts, nearly all of whose layers have them, so much more."""
    def left(dense):
        found = [(value - formula) / layers for name, _, alike, users, prompt, value, formula, layers
                 in timed("users_first_token", "prompt_host_seconds") if (name, alike, users) == (engine, dense, 4) and prompt < 1000]
        return len(found), median(found)
    row = catalogue.engine(engine)
    assert left(True) == (dense, pytest.approx(milliseconds * 1e-3, rel=0.02)) and row["layer_prompt_seconds"] == pytest.approx(milliseconds * 1e-3)
    assert left(False) == (experts, pytest.approx((milliseconds + more) * 1e-3, rel=0.02)) and row["expert_prompt_seconds"] == pytest.approx(more * 1e-3)


def test_first_tokens_of_users_who_had_no_part_in_what_an_engine_adds():
    """More users, and longer prompts: of dense models in TensorRT-LLM 2 ms a layer, what runs that hold prompts back took, is off by 30 %."""
    rest = [(name, dense, formula / value, layers / value) for name, _, dense, users, prompt, value, formula, layers
            in timed("users_first_token", "prompt_host_seconds") if users > 4 or prompt > 1000]

    def off(engine, dense, seconds):
        return median(abs(without + seconds * layer - 1) for name, kind, without, layer in rest if (name, kind) == (engine, dense))
    assert off("TensorRT-LLM", True, 3.8e-4) < 0.11 and off("TensorRT-LLM", True, 2e-3) > 0.3
    assert off("vLLM", True, 5.7e-4) < 0.18 and off("vLLM", False, 6.9e-4) < 0.19 and off("TensorRT-LLM", False, 2.05e-3) < 0.32


def test_times_per_token_with_nothing_fitted_to_them():
    """What kernels take to begin, and how fast products read weights, are from tables of kernels: errors of all models by engine, and
    of NIM's five."""
    found = {}
    for engine, _, dense, _, _, value, formula, _ in timed("time_per_output_token", "prompt_host_seconds"):
        for name in ("all", (engine, dense)):
            found.setdefault(name, []).append(formula / value)
    off = {name: median(abs(ratio - 1) for ratio in held) for name, held in found.items()}
    assert len(found["all"]) == 1970 and off["all"] < 0.101 and 0.98 < median(found["all"]) < 1.02
    assert max(off.values()) < 0.17 and off["vLLM", False] < 0.11 and off["vLLM", True] < 0.08
    nim = [Case.of(json.loads(row["inputs"]))(sv.time_per_output_token) / row["value"] for name, row in rows("measurements").items()
           if name.startswith("sv-nim-itl")]
    assert len(nim) == 5 and max(abs(ratio - 1) for ratio in nim) < 0.06


def test_weights_are_read_by_the_format_of_products():
    """An H100 reads 92 % of 3.35 TB/s at large, weights of products in 16, 8 and 4 bits at 0.93, 0.86 and 0.67 of that; experts, which were
    timed whole, at all of it, and a bound knows no shares."""
    case = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", efficiency="achieved", narrow_products=0)
    large = 0.92 * 3.35e12
    assert [case.but(narrow_products=bits)(shares.weight_rate) / large for bits in (0, 1, 2)] == [pytest.approx(0.93), pytest.approx(0.86), pytest.approx(0.67)]
    assert case.but(model="gpt-oss-120b", narrow_products=0)(shares.weight_rate) == pytest.approx(large)
    assert bands.bound(case)(shares.weight_rate) == 3.35e12


def test_the_start_of_experts_by_format():
    """In 4 bits sooner on a card that multiplies these, later on one that converts them first: Blackwell, Hopper."""
    def seconds(gpu, stored):
        return Case(model="gpt-oss-120b", gpu=gpu, weight_format=stored)(sv.expert_start_seconds)
    assert seconds("B200 SXM 180GB", "MXFP4-MoE") == 2.1e-5 and seconds("H100 SXM 80GB", "MXFP4-MoE") == 6.7e-5
    assert seconds("B200 SXM 180GB", "FP8") == seconds("H100 SXM 80GB", "BF16") == 4.6e-5
    # 36 layers, all with experts, of 67 us, 10 of attention and 2 of each of its two products: 3 ms of a pass.
    case = Case(model="gpt-oss-120b", gpu="H100 SXM 80GB", weight_format="MXFP4-MoE")
    assert case(sv.kernel_start_seconds) == pytest.approx(36 * 81e-6)
    assert case(sv.prompt_host_seconds) == pytest.approx(36 * (5.7e-4 + 1.3e-4))


def test_an_engine_and_a_number_of_ones_own():
    case = Case(model="Llama-3-70B")
    assert case(sv.prompt_host_seconds) == pytest.approx(80 * 5.7e-4)    # the default is the engine whose command is printed
    assert case.but(engine="TensorRT-LLM")(sv.prompt_host_seconds) == pytest.approx(80 * 3.8e-4)
    assert case(sv.kernel_start_seconds) == pytest.approx(80 * (10e-6 + 4 * 2e-6)) == case.but(engine="SGLang")(sv.kernel_start_seconds)
    with pytest.raises(ValueError, match=r"data/engines.csv has no engine 'vllm'; close: vLLM"):
        Case(engine="vllm")
