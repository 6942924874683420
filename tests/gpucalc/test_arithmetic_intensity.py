"""Speeds against hand calculations: the arithmetic stands in each test, written out without the laws."""
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpucalc import arithmetic_intensity as ai, kernels, shares as fills
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.close import close

CONFIGS = Path(__file__).parents[1] / "configs"
H100, A100 = map(catalogue.gpu, ["H100 SXM 80GB", "A100 SXM 80GB"])
LLAMA_2_7B, LLAMA_3_8B, MIXTRAL, DEEPSEEK = map(catalogue.model, ["Llama-2-7B", "Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3"])
# Parameters less the input embedding, vocabulary x hidden, of which a token only looks up a row.
MULTIPLIED_7B = 6_738_415_616 - 32_000 * 4096
MULTIPLIED_8B = 8_030_261_248 - 128_256 * 4096
CACHE_7B, CACHE_8B = 524_288, 131_072  # bytes of one token
# Bytes a token moves beside products and attention: 2 norms of 2 h, 2 sums of 3 h, rotary positions in and out, a gate of 3 f.
MOVED_7B = 2 * 32 * (10 * 4096 + 2 * (4096 + 4096) + 3 * 11_008)
MOVED_8B = 2 * 32 * (10 * 4096 + 2 * (4096 + 1024) + 3 * 14_336)
sizes = st.integers(1, 10**5)
peaks = st.floats(1e12, 1e16)
bandwidths = st.floats(1e11, 1e13)
batches = st.integers(1, 4096)


def step(model, gpu, batch, context, **given):
    return Case(model, gpu, batch=batch, context=context, **given)(ai.decode_seconds)


def rate(model, gpu, batch, context, **given):
    return Case(model, gpu, batch=batch, context=context, **given)(ai.tokens_per_second)


def test_a_product_of_32_tokens_with_an_8192_square_matrix():
    # 2 * 32 * 8192 * 8192 FLOP; 2 B for each of 32*8192 + 8192*8192 + 32*8192 elements.
    assert ai.matmul_flops(32, 8192, 8192) == 4_294_967_296
    assert ai.matmul_bytes(32, 8192, 8192) == 135_266_304
    assert ai.matmul_bytes(32, 8192, 8192, element_bytes=1) == 67_633_152
    assert Case(rows=32, inner=8192,
                columns=8192)(ai.intensity) == close(4_294_967_296 / 135_266_304) == 31.751937984496124


def test_training_intensity_counts_inputs_and_outputs():
    # An article divides by the weights alone and prints ~69,000 FLOP/B for 65,536 tokens by a 4096 x 16384 matrix.
    product = dict(rows=65_536, inner=4096, columns=16_384)
    flops = 2 * 65_536 * 4096 * 16_384
    assert flops / (2 * 4096 * 16_384) == 65_536
    moved = 2 * (65_536 * 4096 + 4096 * 16_384 + 65_536 * 16_384)
    assert Case(**product)(ai.intensity) == close(flops / moved) == pytest.approx(3120.8, rel=1e-4)


@pytest.mark.parametrize(("peak", "bandwidth", "ridge"), [
    (312e12, 2.0e12, 156), (312e12, 2.039e12, 153.016), (989e12, 3.35e12, 295.224), (330e12, 1e12, 330), (165.2e12, 1.008e12, 163.889)])
def test_ridge_points_as_published(peak, bandwidth, ridge):
    assert ai.ridge_point(peak, bandwidth) == pytest.approx(ridge, rel=1e-5)


def test_the_roof_is_a_slope_and_a_flat():
    # On the H100: 100 FLOP/B * 3.35e12 B/s = 335e12 FLOP/s; from 295.2 FLOP/B on the peak.
    assert ai.attainable_flops(100, 989e12, 3.35e12) == close(335e12)
    assert ai.attainable_flops(300, 989e12, 3.35e12) == 989e12
    assert ai.attainable_flops(300, 989e12, 3.35e12, 0.8, 0.5) == close(502.5e12)
    assert ai.attainable_flops(900, 989e12, 3.35e12, 0.8, 0.5) == close(0.8 * 989e12)


def test_the_longer_clock_is_the_time():
    # 1e12 FLOP at 1e12 FLOP/s are 1 s; 3e12 B at 1e12 B/s are 3 s. At a quarter of the peak the compute takes 4 s.
    product = dict(matmul_flops=1e12, matmul_bytes=3e12, peak_flops=1e12, bandwidth=1e12, matmul_fill=1)
    assert Case(**product)(ai.matmul_seconds) == 3
    assert Case(**product, compute_efficiency=0.25)(ai.matmul_seconds) == 4
    assert Case(**product, bandwidth_efficiency=0.5, kernel_seconds=1)(ai.matmul_seconds) == 7


def test_tiles_that_a_product_fills():
    # 300 x 1,000 takes 3 x 8 tiles of 128 x 128, 76 % full; on 20 units these are two waves of 24 of 40.
    edges = 300 * 1000 / (24 * 128 * 128)
    assert fills.product_fill(300, 1000, 20) == close(edges * 24 / 40)
    # Fewer tiles than units are split; few rows get a tile of their size, and a bound knows no tiles.
    assert fills.product_fill(300, 1000, 132) == close(edges) and fills.product_fill(16, 1024, 132) == 1
    product = Case(rows=300, inner=1000, columns=1000, gpu="H100 SXM 80GB")
    assert product.but(efficiency="achieved")(ai.matmul_fill) == close(edges)
    assert product.but(efficiency="bound")(ai.matmul_fill) == 1
    # Llama-3-8B, 300 tokens: up and gate 3 x 224 tiles on 132 units, six waves; down 3 x 32, one.
    up, down = 300 / 384 * 672 / 792, 300 / 384
    case = Case(LLAMA_3_8B, H100, catalogue.efficiency("achieved"), batch=300)
    assert case(kernels.pass_fill) == close(3 / (2 / up + 1 / down))


def test_products_in_8_bits():
    # The H100's FP8 peak; an A100 has none and stays at 16 bits.
    assert Case(H100, narrow_products=1)(fills.product_peak) == 1979e12 and Case(A100, narrow_products=1)(fills.product_peak) == 312e12
    # Four casts a layer, of h, of the heads' outputs, of h and of f: 2 B read and 1 written, of two of them half on two GPUs.
    layer = 2 * 4096 + 4096 + 14_336
    assert Case(LLAMA_3_8B, narrow_products=1)(kernels.token_bytes) == MOVED_8B + 3 * 32 * layer
    assert Case(LLAMA_3_8B, narrow_products=1, tensor_parallel=2)(kernels.cast_values) == 32 * (2 * 4096 + (4096 + 14_336) / 2)
    assert Case(LLAMA_3_8B, narrow_products=1)(kernels.pass_kernels) == 32 * (8 + 4 + 4) + 3


def test_what_experts_add_beside_products():
    # Mixtral: a token to 2 experts and back, 2 * (1 + 2) * 4096 values in 32 layers; the two activations of 3 * 14,336.
    assert Case(MIXTRAL)(kernels.routed_values) == 32 * 6 * 4096
    assert Case(MIXTRAL)(kernels.activated_values) == 32 * 2 * 3 * 14_336
    assert Case(MIXTRAL)(kernels.pass_kernels) == 32 * (8 + 4 + 4) + 3
    # DeepSeek-V3: 61 layers of 8 and 7 kernels, in 58 of them 4 for routing and 4 for the shared expert.
    assert Case(DEEPSEEK)(kernels.pass_kernels) == 61 * (8 + 7) + 58 * 8 + 3


def test_tensor_parallel_leaves_norms_and_sums_whole():
    whole = 2 * 32 * 10 * 4096
    assert Case(LLAMA_3_8B, tensor_parallel=8)(kernels.token_bytes) == whole + (MOVED_8B - whole) / 8


@given(sizes, sizes, sizes, peaks, bandwidths)
def test_time_and_roofline_say_the_same(rows, inner, columns, peak, bandwidth):
    flops, moved = ai.matmul_flops(rows, inner, columns), ai.matmul_bytes(rows, inner, columns)
    allowed = ai.attainable_flops(ai.intensity(flops, moved), peak, bandwidth)
    assert flops / ai.matmul_seconds(flops, moved, peak, bandwidth, 1) == pytest.approx(allowed, rel=1e-9)


def test_the_embedding_is_looked_up_and_not_read():
    # Batch 1 at one cached token: Llama-3-8B reads 2 * 7,504,924,672 B of weights and 131,072 B of cache.
    assert Case(LLAMA_3_8B, batch=1, context=1)(ai.decode_bytes) == 2 * 7_504_924_672 + CACHE_8B
    assert MULTIPLIED_8B == 7_504_924_672
    # A tied table is the output head: nothing is left out. Llama-3.2-1B has 2 * 16 * 8 * 64 * 2 = 32,768 B of cache a token.
    tied = catalogue.model("Llama-3.2-1B")
    assert Case(tied, batch=1, context=1)(ai.decode_bytes) == 2 * 1_235_814_400 + 32_768


def test_decode_flops():
    # 2 per parameter; 4 * 32 heads * 128 per layer and cached token, in 32 layers.
    one = 2 * MULTIPLIED_8B + 32 * 4096 * 4 * 32 * 128
    assert ai.decode_pair_flops(32, 128) == 16_384
    assert Case(LLAMA_3_8B, context=4096)(ai.sequence_decode_flops) == one
    assert Case(LLAMA_3_8B, batch=16, context=4096)(ai.decode_flops) == 16 * one


def test_batch_1_decode_is_a_read_of_the_weights():
    # Llama-2-7B: 13.2 GB at 3.35e12 B/s are 3.945 ms, 253 tokens/s; with 14 GB articles say about 240.
    seconds = (2 * MULTIPLIED_7B + CACHE_7B + MOVED_7B) / 3.35e12
    assert step(LLAMA_2_7B, H100, 1, 1) == close(seconds)
    assert rate(LLAMA_2_7B, H100, 1, 1) == close(1 / seconds) == pytest.approx(253.5, rel=1e-3)
    assert 3.35e12 / 14e9 == pytest.approx(240, rel=0.01)


def test_time_per_token_is_not_divided_by_the_batch():
    # 16 sequences of 4096 tokens on the H100: 15.01 GB + 16 * 0.537 GB = 23.6 GB, 7.045 ms for every one of them.
    seconds = (2 * MULTIPLIED_8B + 16 * 4096 * CACHE_8B + 16 * MOVED_8B) / 3.35e12
    assert step(LLAMA_3_8B, H100, 16, 4096) == close(seconds) == pytest.approx(7.073e-3, rel=1e-3)
    assert rate(LLAMA_3_8B, H100, 16, 4096) == close(16 / seconds)
    assert step(LLAMA_3_8B, H100, 16, 4096) > step(LLAMA_3_8B, H100, 1, 4096)


def test_a_large_batch_of_short_contexts_is_compute_bound():
    # 1024 sequences of 16 tokens: products of 1024 * 2 * 7.505e9 FLOP at 989e12 take longer than 15 GB at 3.35e12, attention reads.
    flops, moved = 1024 * 2 * MULTIPLIED_8B, 1024 * (16 * CACHE_8B + MOVED_8B)
    assert flops / 989e12 > 2 * MULTIPLIED_8B / 3.35e12 and 32 * 16_384 / 989e12 < CACHE_8B / 3.35e12
    assert step(LLAMA_3_8B, H100, 1024, 16) == close(flops / 989e12 + moved / 3.35e12)
    slow = step(LLAMA_3_8B, H100, 1024, 16, compute_efficiency=0.5, pass_fill=0.8)
    assert slow == close(flops / (0.4 * 989e12) + moved / 3.35e12)


def test_a_step_reads_the_experts_its_batch_is_routed_to():
    # Mixtral: 3 * 4096 * 14336 = 176,160,768 parameters an expert. One token skips 6 of 8 in 32 layers, two skip 8 * (6/8)^2 = 4.5.
    looked_up = 32_000 * 4096
    one = 46_702_792_704 - 32 * 6 * 176_160_768 - looked_up
    two = 46_702_792_704 - 32 * 4.5 * 176_160_768 - looked_up
    assert Case(MIXTRAL, batch=1, context=1)(ai.decode_bytes) == close(2 * one + 131_072)
    assert Case(MIXTRAL, batch=2, context=1)(ai.decode_bytes) == close(2 * two + 2 * 131_072)
    assert Case(MIXTRAL, batch=2, context=1)(ai.decode_flops) == 2 * (2 * one + 32 * 16_384)


def test_latent_attention():
    # DeepSeek-V3 decodes in the latent space, 2 * 128 * (512 + 64 + 512); prefill has heads of 128 + 64 and 128 elements.
    assert Case(DEEPSEEK)(ai.decode_pair_flops) == 278_528
    assert Case(DEEPSEEK)(ai.prefill_pair_flops) == 81_920
    # 671,026,419,200 less 248 of 256 experts of 3 * 7168 * 2048 in 58 layers, less 129280 * 7168; and 70,272 B of cache a token.
    active = 671_026_419_200 - 58 * 248 * 3 * 7168 * 2048 - 129_280 * 7168
    assert Case(DEEPSEEK, batch=1, context=1000,
                weight_element_bytes=1)(ai.decode_bytes) == close(active + 1000 * 70_272)
    assert Case(DEEPSEEK, context=1000)(ai.sequence_decode_flops) == 2 * active + 61 * 1000 * 278_528


def test_prefill_flops():
    # 2048 tokens of Llama-2-7B: 2 FLOP per parameter of the layers and token, the output head of 32000 * 4096 once,
    # and half of 2048^2 pairs of 4 * 32 * 128 FLOP in 32 layers.
    body, head, pairs = MULTIPLIED_7B - 32_000 * 4096, 32_000 * 4096, 2048**2 * 32 * 16_384
    assert ai.prefill_pair_flops(32, 128) == 16_384
    assert Case(LLAMA_2_7B, batch=1, prompt=2048)(ai.prefill_flops) == close(2 * body * 2048 + 2 * head + pairs / 2)
    assert Case(LLAMA_2_7B, batch=3, prompt=2048,
                causal=0)(ai.prefill_flops) == close(3 * (2 * body * 2048 + 2 * head + pairs))


def test_a_long_prefill_is_compute_and_a_short_one_a_read():
    flops = Case(LLAMA_2_7B, batch=1, prompt=2048)(ai.prefill_flops)
    long = Case(LLAMA_2_7B, A100, batch=1, prompt=2048)(ai.prefill_seconds)
    assert long == close(flops / 312e12 + 2048 * MOVED_7B / 2.039e12) == pytest.approx(94.3e-3, rel=1e-2)
    # One token: a read of the weights, and half a pair of 16,384 FLOP in 32 layers.
    short = 2 * 6_738_415_616 / 2.039e12 + 32 * 8192 / 312e12 + MOVED_7B / 2.039e12
    assert Case(LLAMA_2_7B, A100, batch=1, prompt=1)(ai.prefill_seconds) == close(short)
    work = dict(batch=2, prefilled_tokens=5, weight_bytes=3e12, token_bytes=1e11, launch_seconds=1, product_rate=5e11,
                attention_rate=1e12, memory_rate=5e11, prompt_fill=0.5, prompt_attention_flops=1e12, expert_extra_flops=0, host_seconds=2)
    assert ai.prefill_seconds(prompt_product_flops=3e12, **work) == close(24 + 2 + 2 + 1 + 2)
    assert ai.prefill_seconds(prompt_product_flops=3e11, **work) == close(6 + 2 + 2 + 1 + 2)


def test_an_articles_two_milliseconds_are_forty_microseconds():
    # "7 milliseconds just to touch those weights" of a 7B model on an A100 are right; its "~2 milliseconds" of compute are
    # 14e9 / 312e12 = 0.045 ms.
    flops = Case(LLAMA_2_7B, batch=1, context=1)(ai.decode_flops)
    assert flops / 312e12 == pytest.approx(0.0424e-3, rel=1e-2)
    assert 14e9 / 312e12 == pytest.approx(0.045e-3, rel=0.01)
    assert step(LLAMA_2_7B, A100, 1, 1) == pytest.approx(6.48e-3, rel=1e-3)


@pytest.mark.parametrize(("peak", "bandwidth", "width", "batch"), [
    (989e12, 3.35e12, 2, 295.224), (989e12, 3.35e12, 1, 147.612), (1979e12, 3.35e12, 1, 295.373), (989e12, 3.35e12, 0.5, 73.806),
    (312e12, 2.0e12, 2, 156), (330e12, 1e12, 2, 330), (165.2e12, 1.008e12, 2, 163.889)])
def test_critical_batch(peak, bandwidth, width, batch):
    # F e / (2 B): 156 on the A100, 295 on the H100, 165 to 330 on the RTX 4090 by how it accumulates.
    assert ai.critical_batch(peak, bandwidth, width) == pytest.approx(batch, rel=1e-5)


def test_critical_batch_with_the_cache():
    # Llama-3-8B at 16 tokens on the H100: per sequence (2 * 7.505e9 + 32 * 16 * 16384) / 989e12 - 16 * 131072 / 3.35e12 s.
    per_sequence = (2 * MULTIPLIED_8B + 32 * 16 * 16_384) / 989e12 - 16 * CACHE_8B / 3.35e12
    expected = 2 * MULTIPLIED_8B / 3.35e12 / per_sequence
    assert Case(LLAMA_3_8B, H100,
                context=16)(ai.context_critical_batch) == close(expected) == pytest.approx(307.7, rel=1e-3)


def test_with_long_contexts_decode_never_turns():
    # 4096 cached tokens are 0.537 GB, 160 us to read; computing the token takes 17 us.
    assert Case(LLAMA_3_8B, H100, context=4096)(ai.context_critical_batch) == math.inf
    cards = catalogue.gpus()
    assert np.isinf(Case(LLAMA_3_8B, cards, context=8192)(ai.context_critical_batch)["H100 SXM 80GB"])


def test_narrow_weights_speed_up_decode_and_not_prefill():
    # A quarter of the weights' bytes, the same cache: (2 * 7.505e9 + c) / (0.5 * 7.505e9 + c) with c = 4096 * 131072.
    cache = 4096 * CACHE_8B
    gain = rate(LLAMA_3_8B, H100, 1, 4096, weight_element_bytes=0.5) / rate(LLAMA_3_8B, H100, 1, 4096)
    assert gain == close((2 * MULTIPLIED_8B + cache + MOVED_8B) / (0.5 * MULTIPLIED_8B + cache + MOVED_8B))
    wide, narrow = (Case(LLAMA_3_8B, H100, batch=1, prompt=2048,
                         weight_element_bytes=width)(ai.prefill_seconds) for width in (2, 0.5))
    assert wide == narrow


def test_windows_end_what_decode_attends_to():
    # Gemma-2-9B: 21 of 42 layers attend to 4,096 tokens at most; a pair is 4 * 16 heads * 256.
    gemma = catalogue.model("Gemma-2-9B")
    assert Case(gemma, context=10_000)(ai.decode_pairs) == 21 * 10_000 + 21 * 4096
    assert Case(gemma, context=1000)(ai.decode_pairs) == 42 * 1000
    weights = 9_241_705_984
    assert Case(gemma, context=10_000)(ai.sequence_decode_flops) == 2 * weights + 21 * 14_096 * 4 * 16 * 256


def test_kinds_of_layers_by_hand():
    # 4 full layers and 8 with a window of 100; sparse ones attend to 64 of 1,000 tokens, or to all of 50.
    assert ai.decode_pairs(1000, 12, 8, 100) == 4000 + 800
    assert ai.decode_pairs(1000, 4, indexer_topk=64) == 256 and ai.decode_pairs(50, 4, indexer_topk=64) == 200
    # 3 heads of 5 in 4 layers score 1,000 tokens, 2 FLOP each; of a prompt of 100 half of all pairs.
    assert ai.index_flops(1000, 4, 3, 5) == 120_000 and ai.prompt_index_flops(100, 4, 3, 5) == 2 * 60 * 5000
    assert ai.token_attention_flops(10, 3, 4, 5) == 30 + 4 + 5
    # 4 heads: scores and sums of 3, of a latent 3 + 2 and 6, of a sparse one 5 + 2 and 5; 2 FLOP each.
    assert ai.prefill_pair_flops(4, 3) == 8 * 6 and ai.prefill_pair_flops(4, 3, 5, 2, 6) == 8 * 11
    assert ai.prefill_pair_flops(4, 3, 5, 2, 6, 64) == 8 * 12
    # 100 tokens: half a square in 4 layers; in 8 a band of 40 less its first half square, or half squares of 40, 40 and 20.
    assert ai.prefill_pairs(100, 12, 8, 40, 1) == 4 * 5000 + 8 * (4000 - 800)
    assert ai.prefill_pairs(100, 12, 8, 40, 1, 1) == 4 * 5000 + 8 * (1600 + 1600 + 400) / 2
    assert ai.prefill_pairs(100, 12, 8, 40, 0, 1) == 4 * 10_000 + 8 * 3600
    assert ai.prefill_pairs(100, 4, causal=1, indexer_topk=40) == 4 * 3200
    # 2 prompts of 50 tokens through 70 of 100 parameters, their last through 10 of the head; pairs, states and index.
    assert ai.prefill_flops(100, 20, 10, 2, 50, 7, 3, 4, 6) == 2 * (7000 + 20 + 21 + 200 + 6)


def test_windows_leave_a_band_of_a_prompt():
    # By counting: token i of a causal prompt attends to min(i, window) tokens, half a pair less on the diagonal.
    for prompt, window in ((10, 4), (10, 10), (3, 4)):
        counted = sum(min(token, window) for token in range(1, prompt + 1))
        # The law takes the sum as an integral, which leaves out half a pair for each of the first `window` tokens.
        assert ai.prefill_pairs(prompt, 1, 1, window) == close(counted - min(prompt, window) / 2)
        assert ai.prefill_pairs(prompt, 1, 1, window, causal=0) == prompt * min(prompt, window)
    assert ai.prefill_pairs(1000, 10) == 10 * 1000**2 / 2
    assert ai.prefill_pairs(1000, 10, causal=0) == 10 * 1000**2


def test_kernels_are_counted_by_list():
    # Two norms, rotary positions, cache write, attention, activation, two sums; Gemma has four norms, Qwen3 one for queries and keys.
    counts = {name: Case(catalogue.model(name))(kernels.kernels_per_layer) for name in ("Llama-3-8B", "Gemma-2-9B", "Qwen3-8B")}
    assert counts == {"Llama-3-8B": 8, "Gemma-2-9B": 10, "Qwen3-8B": 9}
    # With four products a layer, the embedding, the final norm and the head.
    assert Case(LLAMA_3_8B, kernel_seconds=2e-6)(kernels.launch_seconds) == close((32 * 12 + 3) * 2e-6)
    assert Case(LLAMA_3_8B)(kernels.launch_seconds) == 0


def test_achieved_is_slower_by_its_shares():
    # 15.01 GB + 0.537 GB + 6 MB at 0.92 of 3.35e12, and 387 kernels of 2 us.
    achieved, bound = catalogue.efficiency("achieved"), catalogue.efficiency("bound")
    seconds = Case(LLAMA_3_8B, H100, achieved, batch=1, context=4096)(ai.decode_seconds)
    assert seconds == close((2 * MULTIPLIED_8B + 4096 * CACHE_8B + MOVED_8B) / (0.92 * 3.35e12) + 387 * 2e-6)
    assert Case(LLAMA_3_8B, H100, bound, batch=1, context=4096)(ai.decode_seconds) == step(LLAMA_3_8B, H100, 1, 4096)
    # Products at 0.78 of the peak, filled 0.97; attention of half of 2048^2 pairs at 0.6.
    first = Case(LLAMA_3_8B, H100, achieved, batch=1, prompt=2048)
    body, head = 2 * (MULTIPLIED_8B - 128_256 * 4096) * 2048, 2 * 128_256 * 4096
    fill = 3 / (2 / (16 * 224 / (28 * 132)) + 1 / (16 * 32 / (4 * 132)))
    expected = (body + head) / (0.78 * 989e12 * fill) + 32 * 2048**2 / 2 * 16_384 / (0.6 * 989e12)
    assert first(ai.prefill_seconds) == close(expected + 2048 * MOVED_8B / (0.92 * 3.35e12) + 387 * 2e-6)


shares = st.floats(0.05, 1)
gpus = st.sampled_from(list(catalogue.gpus().index))
named = st.sampled_from(["Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3", "Gemma-2-9B", "Falcon-7B"])


@given(named, gpus, batches, st.integers(1, 32_768), st.floats(1, 10), st.sampled_from([0.5, 1, 2]))
def test_nothing_better_slows_a_step_or_a_prefill(name, card, batch, length, factor, width):
    model, card = catalogue.model(name), catalogue.gpu(card)
    for law, load in ((ai.decode_seconds, dict(context=length)), (ai.prefill_seconds, dict(prompt=length))):
        given = dict(peak_flops=card.peak_flops, bandwidth=card.bandwidth, batch=batch, weight_element_bytes=width, kernel_seconds=1e-6) | load
        seconds = Case(model, **given)(law)
        for better in (dict(peak_flops=factor * card.peak_flops), dict(bandwidth=factor * card.bandwidth), dict(weight_element_bytes=width / factor),
                       dict(kernel_seconds=1e-6 / factor)):
            assert Case(model, **given | better)(law) <= seconds


@given(named, gpus, batches, st.integers(1, 32_768), shares, shares, st.floats(0, 1e-4))
def test_a_step_is_as_long_as_each_part_and_never_beats_the_roofline(name, card, batch, context, compute, memory, kernel):
    model, card = catalogue.model(name), catalogue.gpu(card)
    load = dict(batch=batch, context=context)
    flops, moved = Case(model, **load)(ai.decode_flops), Case(model, **load)(ai.decode_bytes)
    seconds = step(model, card, **load, compute_efficiency=compute, bandwidth_efficiency=memory, kernel_seconds=kernel)
    starts = Case(model, kernel_seconds=kernel)(kernels.launch_seconds)
    products = batch * Case(model)(ai.token_flops) / (compute * card.peak_flops)
    assert seconds >= max(products, flops / card.peak_flops, moved / (memory * card.bandwidth), starts) * (1 - 1e-12)
    assert flops / seconds <= ai.attainable_flops(flops / moved, card.peak_flops, card.bandwidth) * (1 + 1e-12)


def test_pairs_of_compressed_attention_by_hand():
    # DeepSeek-V4-Flash at 131,072 tokens: 43 windows of 128, 21 layers with 512 chosen entries, 20 with all 1,024 entries.
    case = Case(catalogue.model(CONFIGS / "DeepSeek-V4-Flash.json"), context=131_072, prompt=131_072, batch=1, causal=1)
    assert case(ai.decode_pairs) == 43 * 128 + 21 * 512 + 20 * 1024
    assert case(ai.decode_pair_flops) == case(ai.prefill_pair_flops) == 2 * 64 * 2 * 512
    assert case(ai.index_flops) == 2 * 131_072 / 4 * 21 * 64 * 128
    # A token of the prompt sees a quarter of those before it as entries, until there are 512 of them at 2,048 tokens.
    chosen = 512 * (131_072 - 2048 / 2)
    windows = 128 * (131_072 - 128 / 2)
    assert case(ai.prefill_pairs) == 43 * windows + 21 * chosen + 20 * 131_072**2 / 2 / 128
    assert case(ai.prompt_index_flops) == 131_072**2 / 4 * 21 * 64 * 128


def test_pairs_beside_layers_that_attend_to_all():
    case = Case(catalogue.model(CONFIGS / "MiniMax-M3.json"), context=65_536, prompt=65_536, causal=1)
    assert case(ai.decode_pairs) == 57 * 2048 + 3 * 65_536
    assert case(ai.prefill_pairs) == 57 * 2048 * (65_536 - 1024) + 3 * 65_536**2 / 2
