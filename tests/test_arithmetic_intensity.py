"""Speeds against hand calculations: the arithmetic stands in each test, written out without the laws."""
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucalc import arithmetic_intensity as ai
from gpucalc import catalogue
from gpucalc.explanation import evaluate
from gpucalc.measured import compare

H100, A100, RTX_4090 = map(catalogue.gpu, ["H100 SXM 80GB", "A100 SXM 80GB", "RTX 4090 24GB"])
LLAMA_2_7B, LLAMA_3_8B, LLAMA_2_70B, MIXTRAL, DEEPSEEK = map(
    catalogue.model, ["Llama-2-7B", "Llama-3-8B", "Llama-2-70B", "Mixtral-8x7B", "DeepSeek-V3"])
# Parameters less the input embedding, vocabulary x hidden, of which a token only looks up a row.
MULTIPLIED_7B = 6_738_415_616 - 32_000 * 4096
MULTIPLIED_8B = 8_030_261_248 - 128_256 * 4096
CACHE_7B, CACHE_8B = 524_288, 131_072  # bytes of one token
sizes = st.integers(1, 10**5)
peaks = st.floats(1e12, 1e16)
bandwidths = st.floats(1e11, 1e13)
batches = st.integers(1, 4096)


def close(value):
    return pytest.approx(value, rel=1e-12)


def step(model, gpu, batch, context, **given):
    return evaluate(ai.decode_seconds, model, gpu, batch=batch, context=context, **given)


def rate(model, gpu, batch, context, **given):
    return evaluate(ai.tokens_per_second, model, gpu, batch=batch, context=context, **given)


# One matrix product

def test_a_product_of_32_tokens_with_an_8192_square_matrix():
    # 2 * 32 * 8192 * 8192 FLOP; 2 B for each of 32*8192 + 8192*8192 + 32*8192 elements.
    assert ai.matmul_flops(32, 8192, 8192) == 4_294_967_296
    assert ai.matmul_bytes(32, 8192, 8192) == 135_266_304
    assert ai.matmul_bytes(32, 8192, 8192, element_bytes=1) == 67_633_152
    assert evaluate(ai.intensity, rows=32, inner=8192, columns=8192) == close(4_294_967_296 / 135_266_304) == 31.751937984496124


def test_each_dimension_enters_once():
    # 3 x 5 by 5 x 7: 2*3*5*7 = 210 FLOP; 15 + 35 + 21 = 71 elements.
    assert ai.matmul_flops(3, 5, 7) == 210
    assert ai.matmul_bytes(3, 5, 7, 1) == 71


def test_training_intensity_counts_inputs_and_outputs():
    # An article divides by the weights alone and prints ~69,000 FLOP/B for 65,536 tokens by a 4096 x 16384 matrix.
    product = dict(rows=65_536, inner=4096, columns=16_384)
    flops = 2 * 65_536 * 4096 * 16_384
    assert flops / (2 * 4096 * 16_384) == 65_536
    moved = 2 * (65_536 * 4096 + 4096 * 16_384 + 65_536 * 16_384)
    assert evaluate(ai.intensity, **product) == close(flops / moved) == pytest.approx(3120.8, rel=1e-4)


def test_a_single_token_does_one_flop_per_byte():
    assert evaluate(ai.intensity, rows=1, inner=4096, columns=16_384) == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(("peak", "bandwidth", "ridge"), [
    (312e12, 2.0e12, 156), (312e12, 2.039e12, 153.016), (989e12, 3.35e12, 295.224), (330e12, 1e12, 330), (165.2e12, 1.008e12, 163.889)])
def test_ridge_points_as_published(peak, bandwidth, ridge):
    assert ai.ridge_point(peak, bandwidth) == pytest.approx(ridge, rel=1e-5)


def test_the_roof_is_a_slope_and_a_flat():
    # On the H100: 100 FLOP/B * 3.35e12 B/s = 335e12 FLOP/s; from 295.2 FLOP/B on the peak.
    assert ai.attainable_flops(100, 989e12, 3.35e12) == close(335e12)
    assert ai.attainable_flops(300, 989e12, 3.35e12) == 989e12


def test_the_longer_clock_is_the_time():
    # 1e12 FLOP at 1e12 FLOP/s are 1 s; 3e12 B at 1e12 B/s are 3 s. At a quarter of the peak the compute takes 4 s.
    assert ai.matmul_seconds(1e12, 3e12, 1e12, 1e12) == 3
    assert ai.matmul_seconds(1e12, 3e12, 1e12, 1e12, compute_efficiency=0.25) == 4
    assert ai.matmul_seconds(1e12, 3e12, 1e12, 1e12, bandwidth_efficiency=0.5) == 6


@given(sizes, sizes, sizes, peaks, bandwidths)
def test_time_and_roofline_say_the_same(rows, inner, columns, peak, bandwidth):
    flops, moved = ai.matmul_flops(rows, inner, columns), ai.matmul_bytes(rows, inner, columns)
    allowed = ai.attainable_flops(ai.intensity(flops, moved), peak, bandwidth)
    assert flops / ai.matmul_seconds(flops, moved, peak, bandwidth) == pytest.approx(allowed, rel=1e-9)


# Decode

def test_the_embedding_is_looked_up_and_not_read():
    # Batch 1 at one cached token: Llama-3-8B reads 2 * 7,504,924,672 B of weights and 131,072 B of cache.
    assert evaluate(ai.decode_bytes, LLAMA_3_8B, batch=1, context=1) == 2 * 7_504_924_672 + CACHE_8B
    assert MULTIPLIED_8B == 7_504_924_672
    # A tied table is the output head: nothing is left out. Llama-3.2-1B has 2 * 16 * 8 * 64 * 2 = 32,768 B of cache a token.
    tied = catalogue.model("Llama-3.2-1B")
    assert evaluate(ai.decode_bytes, tied, batch=1, context=1) == 2 * 1_235_814_400 + 32_768


def test_decode_flops():
    # 2 per parameter; 4 * 32 heads * 128 per layer and cached token, in 32 layers.
    one = 2 * MULTIPLIED_8B + 32 * 4096 * 4 * 32 * 128
    assert ai.decode_pair_flops(32, 128) == 16_384
    assert evaluate(ai.sequence_decode_flops, LLAMA_3_8B, context=4096) == one
    assert evaluate(ai.decode_flops, LLAMA_3_8B, batch=16, context=4096) == 16 * one


def test_batch_1_decode_is_a_read_of_the_weights():
    # Llama-2-7B: 13.2 GB at 3.35e12 B/s are 3.945 ms, 253 tokens/s; with 14 GB articles say about 240.
    seconds = (2 * MULTIPLIED_7B + CACHE_7B) / 3.35e12
    assert step(LLAMA_2_7B, H100, 1, 1) == close(seconds)
    assert rate(LLAMA_2_7B, H100, 1, 1) == close(1 / seconds) == pytest.approx(253.5, rel=1e-3)
    assert 3.35e12 / 14e9 == pytest.approx(240, rel=0.01)


def test_a_70b_model_in_fp8_on_one_h200():
    # 68,976,648,192 - 32000 * 8192 = 68,714,504,192 B at 4.8e12 B/s with 327,680 B of cache a token: 69.6 tokens/s at 1,024.
    seconds = (68_714_504_192 + 1024 * 327_680) / 4.8e12
    assert rate(LLAMA_2_70B, catalogue.gpu("H200 SXM 141GB"), 1, 1024, weight_element_bytes=1) == close(1 / seconds)


def test_time_per_token_is_not_divided_by_the_batch():
    # 16 sequences of 4096 tokens on the H100: 15.01 GB + 16 * 0.537 GB = 23.6 GB, 7.045 ms for every one of them.
    seconds = (2 * MULTIPLIED_8B + 16 * 4096 * CACHE_8B) / 3.35e12
    assert step(LLAMA_3_8B, H100, 16, 4096) == close(seconds) == pytest.approx(7.045e-3, rel=1e-3)
    assert rate(LLAMA_3_8B, H100, 16, 4096) == close(16 / seconds)
    assert step(LLAMA_3_8B, H100, 16, 4096) > step(LLAMA_3_8B, H100, 1, 4096)


def test_a_large_batch_of_short_contexts_is_compute_bound():
    # 1024 sequences of 16 tokens: 1024 * (2 * 7.505e9 + 32 * 16 * 16384) FLOP at 989e12 take longer than 17.2 GB at 3.35e12.
    flops = 1024 * (2 * MULTIPLIED_8B + 32 * 16 * 16_384)
    assert flops / 989e12 > (2 * MULTIPLIED_8B + 1024 * 16 * CACHE_8B) / 3.35e12
    assert step(LLAMA_3_8B, H100, 1024, 16) == close(flops / 989e12)
    assert step(LLAMA_3_8B, H100, 1024, 16, compute_efficiency=0.5) == close(2 * flops / 989e12)


def test_bandwidth_efficiency_stretches_a_memory_bound_step():
    assert step(LLAMA_3_8B, H100, 1, 4096, bandwidth_efficiency=0.5) == close(2 * step(LLAMA_3_8B, H100, 1, 4096))
    assert step(LLAMA_3_8B, H100, 1, 4096, compute_efficiency=0.5) == step(LLAMA_3_8B, H100, 1, 4096)


def test_a_step_reads_the_experts_its_batch_is_routed_to():
    # Mixtral: 3 * 4096 * 14336 = 176,160,768 parameters an expert. One token skips 6 of 8 in 32 layers, two skip 8 * (6/8)^2 = 4.5.
    looked_up = 32_000 * 4096
    one = 46_702_792_704 - 32 * 6 * 176_160_768 - looked_up
    two = 46_702_792_704 - 32 * 4.5 * 176_160_768 - looked_up
    assert evaluate(ai.decode_bytes, MIXTRAL, batch=1, context=1) == close(2 * one + 131_072)
    assert evaluate(ai.decode_bytes, MIXTRAL, batch=2, context=1) == close(2 * two + 2 * 131_072)
    assert evaluate(ai.decode_flops, MIXTRAL, batch=2, context=1) == 2 * (2 * one + 32 * 16_384)


def test_latent_attention():
    # DeepSeek-V3 decodes in the latent space, 2 * 128 * (512 + 64 + 512); prefill has heads of 128 + 64 and 128 elements.
    assert evaluate(ai.decode_pair_flops, DEEPSEEK) == 278_528
    assert evaluate(ai.prefill_pair_flops, DEEPSEEK) == 81_920
    # 671,026,419,200 less 248 of 256 experts of 3 * 7168 * 2048 in 58 layers, less 129280 * 7168; and 70,272 B of cache a token.
    active = 671_026_419_200 - 58 * 248 * 3 * 7168 * 2048 - 129_280 * 7168
    assert evaluate(ai.decode_bytes, DEEPSEEK, batch=1, context=1000, weight_element_bytes=1) == close(active + 1000 * 70_272)
    assert evaluate(ai.sequence_decode_flops, DEEPSEEK, context=1000) == 2 * active + 61 * 1000 * 278_528


@given(batches, st.integers(1, 8192))
def test_more_sequences_never_shorten_a_step_nor_lower_the_rate(batch, context):
    assert step(LLAMA_3_8B, H100, batch + 1, context) > step(LLAMA_3_8B, H100, batch, context)
    assert rate(LLAMA_3_8B, H100, batch + 1, context) >= rate(LLAMA_3_8B, H100, batch, context) * (1 - 1e-12)


# Prefill

def test_prefill_flops():
    # 2048 tokens of Llama-2-7B: 2 FLOP per parameter of the layers and token, the output head of 32000 * 4096 once,
    # and half of 2048^2 pairs of 4 * 32 * 128 FLOP in 32 layers.
    body, head, pairs = MULTIPLIED_7B - 32_000 * 4096, 32_000 * 4096, 2048**2 * 32 * 16_384
    assert ai.prefill_pair_flops(32, 128) == 16_384
    assert evaluate(ai.prefill_flops, LLAMA_2_7B, batch=1, prompt=2048) == close(2 * body * 2048 + 2 * head + pairs / 2)
    assert evaluate(ai.prefill_flops, LLAMA_2_7B, batch=3, prompt=2048, causal=0) == close(3 * (2 * body * 2048 + 2 * head + pairs))


def test_a_long_prefill_is_compute_and_a_short_one_a_read():
    flops = evaluate(ai.prefill_flops, LLAMA_2_7B, batch=1, prompt=2048)
    long = evaluate(ai.prefill_seconds, LLAMA_2_7B, A100, batch=1, prompt=2048)
    assert long == close(flops / 312e12) == pytest.approx(88.5e-3, rel=1e-2)
    assert evaluate(ai.prefill_seconds, LLAMA_2_7B, A100, batch=1, prompt=1) == close(2 * 6_738_415_616 / 2.039e12)
    assert ai.prefill_seconds(6e12, 3e12, 1e12, 1e12, 0.5, 0.5) == close(12)
    assert ai.prefill_seconds(1e12, 3e12, 1e12, 1e12, 0.5, 0.5) == close(6)


def test_an_articles_two_milliseconds_are_forty_microseconds():
    # "7 milliseconds just to touch those weights" of a 7B model on an A100 are right; its "~2 milliseconds" of compute are
    # 14e9 / 312e12 = 0.045 ms.
    flops = evaluate(ai.decode_flops, LLAMA_2_7B, batch=1, context=1)
    assert flops / 312e12 == pytest.approx(0.0424e-3, rel=1e-2)
    assert 14e9 / 312e12 == pytest.approx(0.045e-3, rel=0.01)
    assert step(LLAMA_2_7B, A100, 1, 1) == pytest.approx(6.48e-3, rel=1e-3)


# Where decode turns

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
    assert evaluate(ai.context_critical_batch, LLAMA_3_8B, H100, context=16) == close(expected) == pytest.approx(307.7, rel=1e-3)


def test_with_long_contexts_decode_never_turns():
    # 4096 cached tokens are 0.537 GB, 160 us to read; computing the token takes 17 us.
    assert evaluate(ai.context_critical_batch, LLAMA_3_8B, H100, context=4096) == math.inf
    cards = catalogue.gpus()
    assert np.isinf(evaluate(ai.context_critical_batch, LLAMA_3_8B, cards, context=8192)["H100 SXM 80GB"])


@given(st.integers(1, 300))
def test_both_clocks_agree_at_the_critical_batch(context):
    turn = evaluate(ai.context_critical_batch, LLAMA_3_8B, H100, context=context)
    for batch, longer in ((math.floor(turn * 0.99), "reading"), (math.ceil(turn * 1.01), "computing")):
        if math.isfinite(turn):
            flops = evaluate(ai.decode_flops, LLAMA_3_8B, batch=batch, context=context)
            moved = evaluate(ai.decode_bytes, LLAMA_3_8B, batch=batch, context=context)
            assert longer == ("computing" if flops / H100.peak_flops > moved / H100.bandwidth else "reading")


def test_a_memory_bound_job_gains_the_ratio_of_bandwidths():
    # A100 to H100: 3350 / 2039 = 1.643, though the peak is 3.17 times.
    assert step(LLAMA_3_8B, A100, 1, 4096) / step(LLAMA_3_8B, H100, 1, 4096) == close(3350 / 2039)


def test_narrow_weights_speed_up_decode_and_not_prefill():
    # A quarter of the weights' bytes, the same cache: (2 * 7.505e9 + c) / (0.5 * 7.505e9 + c) with c = 4096 * 131072.
    cache = 4096 * CACHE_8B
    gain = rate(LLAMA_3_8B, H100, 1, 4096, weight_element_bytes=0.5) / rate(LLAMA_3_8B, H100, 1, 4096)
    assert gain == close((2 * MULTIPLIED_8B + cache) / (0.5 * MULTIPLIED_8B + cache))
    wide, narrow = (evaluate(ai.prefill_seconds, LLAMA_3_8B, H100, batch=1, prompt=2048, weight_element_bytes=width) for width in (2, 0.5))
    assert wide == narrow


# Published figures and bad input

def test_no_published_speed_is_above_its_bound():
    found = compare("arithmetic_intensity")
    assert len(found) >= 8
    for row in found.itertuples():
        slower = row.value >= row.predicted if row.unit == "second" else row.value <= row.predicted
        assert slower, row.Index


@pytest.mark.parametrize(("name", "value", "allowed"), [
    ("compute_efficiency", 0, "a number above 0 and at most 1"), ("bandwidth_efficiency", 1.2, "a number above 0 and at most 1"),
    ("batch", 0, "a whole number of at least 1"), ("context", 2.5, "a whole number of at least 1"),
    ("weight_element_bytes", 0, "a number above 0"), ("bandwidth", float("nan"), "a number above 0")])
def test_bad_input_is_refused_by_name(name, value, allowed):
    inputs = {**dict(batch=1, context=16, bandwidth=3.35e12), name: value}
    with pytest.raises(ValueError, match=rf"{name} .* is {value}; allowed: {allowed}"):
        evaluate(ai.decode_seconds, LLAMA_3_8B, H100, **inputs)


def test_a_missing_argument_is_named():
    with pytest.raises(ValueError, match="needs prompt"):
        evaluate(ai.prefill_seconds, LLAMA_3_8B, H100, batch=1)
