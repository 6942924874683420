"""Cache sizes against hand calculations: the arithmetic stands in each test, written out without the laws."""
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpucalc import LAWS, kv_cache as kv
from gpucalc.core.evaluate import Case
from gpucalc.laws.quantization import format_element_bytes
from gpucalc.rows import catalogue

CONFIGS = Path(__file__).parents[1] / "configs"
H100 = catalogue.gpu("H100 SXM 80GB")
LLAMA_3_8B, LLAMA_3_70B = catalogue.model("Llama-3-8B"), catalogue.model("Llama-3-70B")
DEEPSEEK_V3 = catalogue.model("DeepSeek-V3")
counts = st.integers(1, 200_000)
degrees = st.sampled_from([1, 2, 4, 8, 16, 32, 64])


def cache(name, context=1, batch=1, **given):
    return Case(catalogue.model(name), context=context, batch=batch, **given)(kv.kv_bytes)


@pytest.mark.parametrize(("name", "layers", "kv_heads", "head_dim", "token"), [
    ("Llama-2-7B", 32, 32, 128, 524_288), ("Llama-3-8B", 32, 8, 128, 131_072), ("Llama-3-70B", 80, 8, 128, 327_680),
    ("GPT-3-175B", 96, 96, 128, 4_718_592), ("OPT-13B", 40, 40, 128, 819_200), ("Falcon-7B", 32, 1, 64, 8_192)])
def test_one_token_in_bf16(name, layers, kv_heads, head_dim, token):
    # Keys and values: 2 * layers * KV heads * head size * 2 B.
    assert 2 * layers * kv_heads * head_dim * 2 == token
    assert Case(catalogue.model(name))(kv.kv_bytes_per_token) == token


def test_query_heads_do_not_enter():
    # Llama-3-70B has 64 query heads on 8 KV heads; counting those of the queries gives 80 GB where 10.7 GB are needed.
    assert cache("Llama-3-70B", 4096, 8) == 8 * 4096 * 327_680 == 10_737_418_240
    assert 8 * 4096 * 2 * 80 * 64 * 128 * 2 == 85_899_345_920


def test_a_latent_is_all_that_latent_attention_keeps():
    # DeepSeek-V3: 61 layers * (512 + 64) elements * 2 B; its 128 heads as in MHA would be 57 times as much.
    assert kv.latent_bytes_per_token(61, 512, 64) == 70_272
    assert kv.latent_bytes_per_token(61, 512, 64, 1) == 35_136
    assert Case(catalogue.model("DeepSeek-V3"))(kv.kv_bytes_per_token) == 70_272
    assert cache("DeepSeek-V3", 4096, 8) == 4096 * 8 * 70_272
    assert kv.kv_bytes_per_token(61, 128, 128, 0, 0) / 70_272 == pytest.approx(56.9, rel=1e-3)


def test_a_window_caps_every_layer_of_mistral():
    # Mistral-7B, arXiv 2310.06825: an eighth of the cache at 32,768 tokens with a window of 4,096.
    assert cache("Mistral-7B", 32_768) == 4096 * 131_072 == 32_768 * 131_072 / 8
    assert cache("Mistral-7B", 1000) == 1000 * 131_072


def test_a_window_caps_half_the_layers_of_gemma():
    # Gemma-2-9B: 8,192 B a layer and token; 21 layers keep 8,192 tokens, 21 keep 4,096.
    assert cache("Gemma-2-9B", 8192) == 2 * 8 * 256 * 2 * (21 * 8192 + 21 * 4096)


def test_weights():
    assert Case(catalogue.model("Llama-2-7B"))(kv.weight_bytes) == 13_476_831_232
    assert Case(catalogue.model("Llama-2-7B"), weight_element_bytes=0.5)(kv.weight_bytes) == 3_369_207_808


def test_sequences_beside_the_weights():
    # Four H100 report 81,559 MiB each; 90 % of them less 2 * 70,553,706,496 B leave 166.8 GB; a sequence of 8192 takes 2.68 GB.
    room = 4 * 81_559 * 2**20 * 0.9 - 2 * 70_553_706_496
    assert Case(LLAMA_3_70B, H100, replica_gpus=4)(kv.cache_room_bytes) == pytest.approx(room, rel=1e-12)
    assert Case(LLAMA_3_70B, H100, replica_gpus=4, headroom=0)(kv.cache_room_bytes) == 4 * 81_559 * 2**20 - 2 * 70_553_706_496
    assert Case(LLAMA_3_70B, H100, replica_gpus=4, context=8192)(kv.max_batch) == int(room / (8192 * 327_680)) == 62
    assert Case(LLAMA_3_70B, H100, replica_gpus=4)(kv.longest_context) == int(room / 327_680) == 508_934
    assert Case(LLAMA_3_70B, H100, replica_gpus=4, batch=10)(kv.longest_context) == int(room / 3_276_800) == 50_893


def test_weights_that_do_not_fit_leave_no_room():
    # 141 GB of weights on one card of 80 GB: a value, not an error.
    assert Case(LLAMA_3_70B, H100)(kv.cache_room_bytes) == 0
    assert Case(LLAMA_3_70B, H100, context=8192)(kv.max_batch) == 0
    assert Case(LLAMA_3_70B, H100)(kv.longest_context) == 0


@given(counts, counts, counts)
def test_a_window_never_adds_and_the_cache_never_shrinks(context, more, window):
    shorter = kv.sequence_kv_bytes(1024, context, 32, 16, 0, 0, window)
    assert shorter <= kv.sequence_kv_bytes(1024, context, 32, 0, 0, 0) * (1 + 1e-12)
    assert shorter <= kv.sequence_kv_bytes(1024, context + more, 32, 16, 0, 0, window)


@given(st.floats(0, 1e13), st.integers(1, 10**10))
def test_one_more_sequence_does_not_fit(room, sequence):
    most = kv.max_batch(room, sequence)
    assert most * sequence <= room * (1 + 1e-12)
    assert (most + 1) * sequence > room * (1 - 1e-12)


def test_layers_that_share_a_cache_hold_it_once():
    # Cross-layer attention over pairs: half of Llama-3-8B's 131,072 B. One cache for all 32 layers: 4,096 B.
    assert Case(LLAMA_3_8B, layers_per_cache=2)(kv.kv_bytes_per_token) == 65_536
    assert Case(LLAMA_3_8B, layers_per_cache=32)(kv.kv_bytes_per_token) == 2 * 8 * 128 * 2
    assert Case(DEEPSEEK_V3, layers_per_cache=2)(kv.kv_bytes_per_token) == 35_136
    # 20 layers in groups of three need 7 caches: 20 / 7 layers a cache.
    assert kv.kv_bytes_per_token(20, 4, 64, 0, 0, layers_per_cache=20 / 7) == pytest.approx(7 * 2 * 4 * 64 * 2, rel=1e-15)


def test_layers_by_hand():
    # 12 layers, 8 with a window of 2 heads of 6 instead of 4 of 8: 12 / 32 of a token. 5 use the cache of another, 2 of them windows:
    # 4 - 3 full ones and 6 windows keep one of their own, as much as 1 + 6 x 0.375 full ones.
    assert kv.window_ratio(4, 8, 2, 6) == 0.375 and kv.window_ratio(4, 8) == 1
    assert kv.cached_windows(0.375, 8, 2) == 2.25 and kv.cached_layers(12, 2.25, 8, 5, 2) == 3.25


def test_what_a_step_reads_by_hand():
    # Of those 12 layers each reads: 4 full ones 1,000 tokens of 64 B, and 8 as much as 3 full ones 100; a state of 7 B both ways.
    given = dict(attention_layers=12, cached_layers=3.25, window_ratio=0.375, recurrent_bytes=7, window_layers=8, window=100)
    assert kv.read_kv_bytes(3.25 * 64, 1000, 2, index_bytes_per_token=0, **given) == 2 * (4300 * 64 + 14) == 550_428
    # Four layers share two caches, so a token takes half: each layer reads it all the same.
    shared = dict(attention_layers=4, cached_layers=4, window_ratio=1, recurrent_bytes=0, layers_per_cache=2)
    assert kv.read_kv_bytes(2 * 64, 1000, 1, index_bytes_per_token=0, **shared) == 4 * 64_000
    # Sparse layers read 64 of the 1,000 tokens, and 5 B of index for each of them.
    assert kv.read_kv_bytes(2 * 64 + 5, 1000, 1, index_bytes_per_token=5, indexer_topk=64, **shared) == 4 * 64 * 64 + 5000
    assert kv.read_kv_bytes(2 * 64 + 5, 50, 1, index_bytes_per_token=5, indexer_topk=64, **shared) == 4 * 50 * 64 + 250


def test_latents_of_sparse_attention_by_hand():
    # A layer of DeepSeek-V3.2: 512 values and a rotary key of 64. In FP8 four scales of 4 B, and the key in BF16: 512 + 16 + 128.
    def layer(width, **more):
        return kv.latent_bytes_per_token(1, 512, 64, width, **dict(indexer_topk=2048, activation_element_bytes=2) | more)
    assert layer(1) == 656 and layer(2) == 1152
    # NVFP4 in 4.5 bits has its scales, 288, and the key in one byte.
    assert layer(0.5625) == 352
    # A width that is given stands, and a dense latent is all in FP8.
    assert layer(1, rope_element_bytes=2) == 512 + 128 and layer(1, indexer_topk=0) == 576
    assert kv.latent_bytes_per_token(61, 512, 64, 1, indexer_topk=2048, activation_element_bytes=2) == 61 * 656
    assert kv.index_bytes_per_token(61, 128, 1) == 7808


@pytest.mark.parametrize(("weight_format", "block", "stored"), [
    ("BF16", 32, 64), ("Q8_0", 32, 34), ("Q4_0", 32, 18), ("NVFP4", 4096**2, 4096**2 * 9 / 16 + 4),
    ("FP8", 4096**2, 4096**2 + 4)])
def test_cache_formats_count_their_scales(weight_format, block, stored):
    # Bytes of a block of values with its scales: 32 values of 8 bits and an FP16 scale are 34 B.
    element = Case(catalogue.weight_format(weight_format))(format_element_bytes)
    assert element == pytest.approx(stored / block, rel=1e-12)
    elements = 10 * 2 * 32 * 8 * 128
    assert cache("Llama-3-8B", 10, cache_element_bytes=element) == pytest.approx(elements * stored / block, rel=1e-12)


def test_a_sequence_takes_whole_blocks():
    # 1,000 tokens in blocks of 16: 63 blocks, 1,008 tokens.
    assert kv.blocks_per_sequence(1000) == 63
    assert kv.blocks_per_sequence(1008) == 63 and kv.blocks_per_sequence(1009) == 64
    assert kv.blocks_per_sequence(1000, 256) == 4
    assert Case(LLAMA_3_8B, context=1000)(kv.paged_kv_bytes) == 1008 * 131_072
    assert Case(LLAMA_3_8B, context=1000, block_tokens=1)(kv.paged_kv_bytes) == 1000 * 131_072


def test_windows_take_whole_blocks_too():
    # Phi-3-mini: a window of 2,047 in all 32 layers is 128 blocks, 2,048 tokens of 2 * 32 * 32 * 96 * 2 B.
    assert Case(catalogue.model("Phi-3-mini"), context=4096)(kv.paged_kv_bytes) == 2048 * 393_216
    # Gemma-2-9B at 5,000 tokens: 313 blocks in 21 layers, 256 blocks in 21, 8,192 B a layer and token.
    assert Case(catalogue.model("Gemma-2-9B"), context=5000)(kv.paged_kv_bytes) == 8192 * 16 * (21 * 313 + 21 * 256)


def test_a_shared_prefix_is_held_once():
    # 10 sequences of 3,000 tokens, the first 2,000 the same: 2,000 + 10 * 1,000 tokens instead of 30,000.
    assert Case(LLAMA_3_8B, context=3000, batch=10, prefix=2000)(kv.shared_kv_bytes) == 12_000 * 131_072
    assert Case(LLAMA_3_8B, context=3000,
                batch=10)(kv.shared_kv_bytes) == 30_000 * 131_072 == cache("Llama-3-8B", 3000, 10)
    assert Case(LLAMA_3_8B, context=3000, batch=10, prefix=3000)(kv.shared_kv_bytes) == 3000 * 131_072


def test_windows_forget_a_shared_prefix():
    # Gemma-2-9B, 8,192 tokens of which 2,192 are shared: the 21 windows of 4,096 hold own tokens alone.
    two = Case(catalogue.model("Gemma-2-9B"), context=8192, batch=2, prefix=2192)(kv.shared_kv_bytes)
    assert two == 8192 * (21 * (2192 + 2 * 6000) + 21 * 2 * 4096)


@pytest.mark.parametrize(("tensor_parallel", "pipeline_parallel", "bytes_per_token"), [
    (1, 1, 327_680), (2, 1, 163_840), (8, 1, 40_960), (16, 1, 40_960), (64, 1, 40_960), (1, 4, 81_920), (8, 4, 10_240),
    (1, 3, 110_592)])
def test_one_gpu_of_a_layout(tensor_parallel, pipeline_parallel, bytes_per_token):
    # Llama-3-70B: 4,096 B a layer and token on 8 KV heads, 512 B a head; three stages of 80 layers hold 27 at most.
    assert Case(LLAMA_3_70B, tensor_parallel=tensor_parallel,
                pipeline_parallel=pipeline_parallel)(kv.gpu_kv_bytes_per_token) == pytest.approx(bytes_per_token, rel=1e-12)


def test_every_tensor_parallel_gpu_holds_the_latent():
    assert Case(DEEPSEEK_V3, tensor_parallel=8)(kv.gpu_kv_bytes_per_token) == 70_272
    # 61 layers over 4 stages: 16 at most.
    assert Case(DEEPSEEK_V3, tensor_parallel=8, pipeline_parallel=4)(kv.gpu_kv_bytes_per_token) == pytest.approx(
        16 * 576 * 2, rel=1e-12)


@given(kv_heads=st.sampled_from([1, 2, 4, 8, 32]), layers=st.integers(1, 126), latent=st.sampled_from([0, 512]), tensor=degrees,
       stages=st.integers(1, 16))
def test_more_gpus_never_hold_more_each_nor_less_together(kv_heads, layers, latent, tensor, stages):
    row = dict(layers=layers, kv_heads=kv_heads, head_dim=128, kv_lora_rank=latent, rope_head_dim=64)
    whole = Case(row)(kv.kv_bytes_per_token)

    def on_one(tensor, stages):
        return Case(row, tensor_parallel=tensor, pipeline_parallel=stages)(kv.gpu_kv_bytes_per_token)

    one = on_one(tensor, stages)
    assert one * tensor * stages >= whole * (1 - 1e-12)
    assert on_one(2 * tensor, stages) <= one and on_one(tensor, stages + 1) <= one


def test_longest_context_with_windows():
    # Gemma-2-9B, 8,192 B a layer and token. 1 GB: below the window, 42 layers grow. 10 GB: 21 windows of 4,096, 21 layers grow.
    gemma = catalogue.model("Gemma-2-9B")
    assert Case(gemma, cache_room_bytes=10**9)(kv.longest_context) == 10**9 // (8192 * 42) == 2906
    assert Case(gemma, cache_room_bytes=10**10)(kv.longest_context) == (10**10 // 8192 - 21 * 4096) // 21 == 54_032
    assert Case(gemma, cache_room_bytes=10**10, batch=4)(kv.longest_context) == (10**10 // 4 // 8192 - 21 * 4096) // 21
    # Mistral-7B: 4,096 B a layer and token in 32 windows of 4,096 tokens; once they fit there is no end.
    mistral, full = catalogue.model("Mistral-7B"), 4096 * 131_072
    assert Case(mistral, cache_room_bytes=full)(kv.longest_context) == float("inf")
    assert Case(mistral, cache_room_bytes=full - 1)(kv.longest_context) == 4095
    assert Case(mistral, cache_room_bytes=0)(kv.longest_context) == 0


@given(room=st.integers(0, 10**12), batch=st.integers(1, 300), window_layers=st.integers(0, 31), window=st.integers(0, 50_000))
def test_the_longest_context_fits_and_no_longer_one(room, batch, window_layers, window):
    def need(context):
        return kv.sequence_kv_bytes(131_072, context, 32, window_layers, 0, 0, window) * batch

    longest = kv.longest_context(room, 131_072, 32, window_layers, 0, 0, batch, window)
    assert longest == 0 or need(longest) <= room * (1 + 1e-12)
    assert need(longest + 1) > room * (1 - 1e-12)


@given(context=counts, batch=st.integers(1, 500), prefix=counts, window_layers=st.integers(0, 32), window=counts)
def test_cache_grows_with_the_batch_and_at_most_with_the_context(context, batch, prefix, window_layers, window):
    windows = dict(cached_layers=32, cached_windows=window_layers, recurrent_bytes=0, index_bytes_per_token=0, window=window)
    one = kv.sequence_kv_bytes(131_072, context, **windows)
    assert kv.kv_bytes(one, batch) == batch * one
    assert kv.sequence_kv_bytes(131_072, 2 * context, **windows) <= 2 * one
    shared = kv.shared_kv_bytes(131_072, context, batch, prefix=prefix, **windows)
    assert one <= shared * (1 + 1e-12) and shared <= batch * one * (1 + 1e-12)


@given(context=counts, block=st.sampled_from([1, 8, 16, 64, 256]))
def test_paging_wastes_less_than_a_block(context, block):
    waste = Case(LLAMA_3_8B, context=context, block_tokens=block)(kv.paged_kv_bytes) - context * 131_072
    assert 0 <= waste < block * 131_072


def test_columns_equal_numbers_exactly():
    models, given = catalogue.models(), dict(context=5000, batch=7, cache_element_bytes=34 / 32)
    layout = dict(tensor_parallel=4, pipeline_parallel=3, cache_element_bytes=18 / 32)
    column, on_one = Case(models, **given)(kv.kv_bytes), Case(models, **layout)(kv.gpu_kv_bytes_per_token)
    for name in models.index:
        assert column[name] == cache(name, **given)
        assert on_one[name] == Case(catalogue.model(name), **layout)(kv.gpu_kv_bytes_per_token)
    gemma, contexts = catalogue.model("Gemma-2-9B"), [1, 15, 16, 17, 4096, 5000]
    many = Case(gemma, context=np.array(contexts))(kv.paged_kv_bytes)
    assert list(many) == [Case(gemma, context=context)(kv.paged_kv_bytes) for context in contexts]


ENGINE = dict(batched_tokens=8192, max_sequences=256, framework_bytes=10**9)


def test_peak_of_the_trial_run():
    # Llama-3-8B: 8,192 tokens * 2 B * (3 * 4,096 + 3 * 14,336); half of the MLP's part on two GPUs.
    assert kv.forward_bytes(8192, 4096, 14_336, gated_mlp=1) == 16_384 * 55_296 == 905_969_664
    assert kv.forward_bytes(8192, 4096, 14_336, gated_mlp=1, tensor_parallel=2) == 16_384 * (12_288 + 21_504)
    # OPT-13B has no gate. In Mixtral-8x7B a token passes two experts of 14,336.
    assert Case(catalogue.model("OPT-13B"), batched_tokens=10)(kv.forward_bytes) == 20 * (3 * 5120 + 2 * 20_480)
    assert Case(catalogue.model("Mixtral-8x7B"), batched_tokens=10)(kv.forward_bytes) == 20 * (3 * 4096 + 3 * 28_672)
    # 256 sequences * 128,256 words * (2 + 4 * 4 + 8) B.
    assert kv.sampling_bytes(256, 128_256) == 256 * 128_256 * 26 == 853_671_936
    assert kv.profile_bytes(905_969_664, 853_671_936) == kv.profile_bytes(853_671_936, 905_969_664) == 905_969_664


def test_the_account_of_an_engine():
    # Llama-3-8B on one H100 of 81,559 MiB: 90 % less 16.06 GB of weights, 0.906 GB of activations and 1 GB.
    room = 81_559 * 2**20 * 0.9 - 2 * 8_030_261_248 - 905_969_664 - 10**9
    assert Case(LLAMA_3_8B)(kv.gpu_weight_bytes) == 16_060_522_496
    assert Case(LLAMA_3_8B, H100, **ENGINE)(kv.engine_room_bytes) == pytest.approx(room, rel=1e-12)
    blocks = int(room / (16 * 131_072))
    assert Case(LLAMA_3_8B, H100, **ENGINE)(kv.cache_blocks) == blocks == 28_134
    assert Case(LLAMA_3_8B, H100, context=8192, **ENGINE)(kv.cache_tokens) == 16 * blocks == 450_144
    assert Case(LLAMA_3_8B, H100, context=8192, **ENGINE)(kv.concurrency) == blocks / 512
    assert Case(LLAMA_3_8B, H100, context=8193, **ENGINE)(kv.concurrency) == blocks / 513


def test_the_account_on_four_gpus():
    # Llama-3-70B: on each of four, a quarter of everything but the norms: 161 vectors of 8,192, and a quarter of the cache.
    norms = 161 * 8192
    weights = 2 * ((70_553_706_496 - norms) / 4 + norms)
    assert Case(LLAMA_3_70B, tensor_parallel=4)(kv.gpu_weight_bytes) == weights
    room = 81_559 * 2**20 * 0.9 - weights - max(16_384 * (3 * 8192 + 3 * 28_672 / 4), 853_671_936) - 10**9
    blocks = Case(LLAMA_3_70B, H100, tensor_parallel=4, **ENGINE)(kv.cache_blocks)
    assert blocks == int(room / (16 * 81_920))


# vLLM's account of windows. Rooms are those in which every layer keeping every token held as many sequences as `before`.
GPT_OSS_120B = dict(layers=36, kv_heads=8, heads=64, head_dim=64, window=128, window_layers=18)
GEMMA_3_27B = dict(layers=62, kv_heads=16, heads=32, head_dim=128, window=1024, window_layers=52)
GEMMA_2_9B = dict(layers=42, kv_heads=8, heads=16, head_dim=256, window=4096, window_layers=21)


@pytest.mark.parametrize("model, context, batched, before, expected", [
    (GPT_OSS_120B, 131_072, 8192, 1.13, 2.12), (GPT_OSS_120B, 32_768, 8192, 4.51, 7.19), (GEMMA_3_27B, 32_768, 8192, 1.23, 2.84),
    (GEMMA_3_27B, 131_072, 8192, 0.31, 1.34), (GEMMA_2_9B, 8192, 2048, 17.7, 20.3)])
def test_windows_as_vllm_counts_them(model, context, batched, before, expected):
    room = before * 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * 2 * context
    held = Case(model, engine_room_bytes=room, context=context, batched_tokens=batched)(kv.concurrency)
    assert held == pytest.approx(expected, rel=0.01)


def test_groups_of_layers_by_hand():
    # Gemma-3-27B: 10 full layers and 52 with a window of 1,024 make 1 and 6 groups of 10. Of 32,768 tokens a full group takes
    # 2,048 blocks of 16; one with a window ceil((1,023 + 8,192) / 16) + 1. A block is 16 x 10 x 2 x 16 x 128 x 2 B.
    gemma = Case(GEMMA_3_27B, context=32_768, batched_tokens=8192)
    assert gemma(kv.group_layers) == 10
    assert gemma(kv.request_blocks) == 2048 + 6 * 577
    assert gemma.but(engine_room_bytes=1e10)(kv.cache_blocks) == 1e10 // (16 * 10 * 2 * 16 * 128 * 2)
    assert gemma.but(engine_room_bytes=1e10)(kv.cache_tokens) == 7629 * 32_768 // (2048 + 6 * 577)
    # Kinds that are nearly as many share the larger size; one kind alone is one group. States are a kind too.
    assert kv.group_layers(34, 20, 20) == 20 and kv.group_layers(34, 21, 21) == 13
    assert kv.group_layers(32, 0) == kv.group_layers(32, 32, 32) == 32
    assert kv.group_layers(16, 0, linear_layers=48) == 16 and kv.group_layers(12, 8, 8, linear_layers=30) == 4
    assert Case(GPT_OSS_120B, context=100, batched_tokens=8192)(kv.request_blocks) == 7 + 8


def test_blocks_of_layers_with_a_state_by_hand():
    # Qwen3.5-27B: a state of 48 x 128 x 128 x 4 B and three inputs of 10,240 channels in BF16 is as much as 783 tokens of 4 heads of
    # 256, so blocks are 784 tokens. 16 layers of attention are one group, 48 linear ones three.
    case = Case(model="Qwen3.5-27B", context=32_768, batched_tokens=16_384)
    state, token = 48 * 128 * 128 * 4 + 3 * 10_240 * 2, 2 * 4 * 256 * 2
    assert -(-state // (16 * token)) * 16 == 784 == case(kv.engine_block_tokens)
    assert case(kv.group_layers) == 16 and case(kv.request_blocks) == 42 + 3 * 2
    assert case.but(state_copies=1)(kv.request_blocks) == 42 + 3
    assert case.but(engine_room_bytes=1e10)(kv.cache_blocks) == 1e10 // (784 * 16 * token)
    # A latent of 576 values beside states: a multiple of 128. Kimi-Linear: 32 x 128 x 128 x 4 + 3 x 12,288 x 2 B.
    assert -(-(2_097_152 + 73_728) // (128 * 1152)) * 128 == 1920 == Case(model="Kimi-Linear-48B-A3B")(kv.engine_block_tokens)


def test_blocks_of_small_layers_by_hand():
    # A token of a layer takes 100 B, of 2 of 8 heads 25. A state of 4,000 B on 2 GPUs is as much as 80, one byte more takes 96.
    given = dict(kv_bytes_per_token=400, cached_layers=4, gpu_kv_heads=2, kv_heads=8, window_ratio=1, block_tokens=16)
    assert kv.engine_block_tokens(recurrent_bytes=12_000, linear_layers=3, tensor_parallel=2, **given) == 80
    assert kv.engine_block_tokens(recurrent_bytes=2001, linear_layers=1, **given) == 96
    # A latent is whole on each, in steps of 12,800 B.
    assert kv.engine_block_tokens(recurrent_bytes=13_000, linear_layers=1, kv_lora_rank=1, **given) == 256
    assert [kv.engine_block_tokens(recurrent_bytes=0, **given | dict(window_ratio=ratio)) for ratio in (0.5, 2)] == [16, 32]
    # 99 or 100 tokens of a window and 29 of a pass: 8 blocks and one more, or 9.
    assert [kv.window_blocks(1000, 29, 16, 1, 100, chunked) for chunked in (0, 1)] == [9, 9]
    # Groups of 4: 10 full layers are 3 of 3 blocks, 5 windows 2 of 5, 5 states 2 of 2.
    assert kv.request_blocks(33, 16, 5, 4, 15, 5, 6, 1, 5, 2) == 9 + 10 + 4
    # States are no tokens: of three sequences that share 400 of 1,000 tokens each has its own, and so has one in blocks.
    assert kv.shared_kv_bytes(256, 1000, 3, 4, 0, 7, 0, 400) == 256 * 2200 + 21
    assert kv.paged_kv_bytes(256, 3, 4, 0, 7, 0, 16) == 256 * 48 + 7


def test_windows_that_keep_more_of_a_token():
    # Gemma-4-31B: 16 heads of 256 in a window, 4 of 512 without: half the bytes a token, so blocks of 32 tokens instead of 16.
    case = Case(model="Gemma-4-31B", context=32_768, batched_tokens=2048)
    assert case(kv.engine_block_tokens) == 32 and case(kv.window_blocks) == -(-(1023 + 2048) // 16) + 1
    assert case(kv.group_layers) == 10 and case(kv.request_blocks) == 1024 + 5 * 193
    assert case.but(engine_room_bytes=1e10)(kv.cache_blocks) == 1e10 // (10 * 32 * 2 * 4 * 512 * 2)
    # Chunks of Llama-4-Scout need no block more: 8,192 and a pass of 8,192 tokens.
    chunked = Case(model="Llama-4-Scout", context=131_072, batched_tokens=8192)
    assert chunked(kv.window_blocks) == 1024 and chunked(kv.request_blocks) == 8192 + 3 * 1024


@pytest.mark.parametrize("model, room, given, printed, tokens", [
    ("Qwen3.5-27B", None, dict(context=32_768, state_copies=1, cache_blocks=1487), 33.04, None),
    ("Qwen3.5-35B-A3B", 5.98, dict(context=131_072, cache_element_bytes=1), 4.33, 567_978),
    ("Qwen3.5-35B-A3B", 6.01, dict(context=131_072, cache_element_bytes=1), 4.35, 569_878),
    ("Qwen3.5-27B", 4.99, dict(context=131_072, cache_element_bytes=1, tensor_parallel=2), 2.31, 302_921)])
def test_engines_logs_of_models_with_states(model, room, given, printed, tokens):
    # github.com/vllm-project/vllm/issues/40691; noonghunna/club-3090 issues 612 and 652; mitchross/talos-argocd-proxmox pull 1995.
    case = Case(model=model, batched_tokens=8192, **given | (dict(engine_room_bytes=room * 2**30) if room else {}))
    assert round(case(kv.concurrency), 2) == printed and tokens in (None, case(kv.cache_tokens))


@pytest.mark.parametrize("model, context, room, tokens", [
    ("gpt-oss-120b", 131_072, 10, 273_847), ("gpt-oss-20b", 131_072, 10, 410_771), ("Gemma-3-27B", 131_072, 20, 184_270),
    ("Gemma-3-27B", 32_768, 20, 97_435), ("Gemma-3-12B", 131_072, 20, 242_335), ("Gemma-3-4B", 131_072, 20, 737_080),
    ("Gemma-4-31B", 131_072, 20, 153_809), ("Gemma-4-26B-A4B", 131_072, 20, 615_236), ("OLMo-3-7B", 65_536, 20, 104_808),
    ("OLMo-3-32B", 65_536, 20, 209_616), ("Llama-4-Scout", 131_072, 20, 317_742), ("Qwen3-Next-80B-A3B", 131_072, 20, 827_454),
    ("Qwen3.5-397B-A17B", 131_072, 20, 632_564), ("Nemotron-H-8B", 8192, 20, 516_096),
    ("Nemotron-3-Nano-30B-A3B", 131_072, 20, 3_077_422), ("Nemotron-3-Super-120B-A12B", 131_072, 20, 1_966_080),
    ("Nemotron-3-Ultra-550B-A55B", 131_072, 20, 1_146_880), ("Kimi-Linear-48B-A3B", 131_072, 20, 2_423_958),
    ("DeepSeek-V3.2", 131_072, 40, 893_504)])
def test_tokens_that_the_engines_own_planner_counts(model, context, room, tokens):
    # vLLM 0.33.0 run with these layers: get_kv_cache_groups, get_kv_cache_config_from_groups and get_kv_cache_capacity.
    sparse = dict(cache_element_bytes=1 + 4 / 128, rope_element_bytes=2, block_tokens=64) if model == "DeepSeek-V3.2" else {}
    case = Case(model=model, context=context, batched_tokens=8192, engine_room_bytes=room * 2**30, **sparse)
    assert case(kv.cache_tokens) == tokens


def test_a_state_is_divided_by_its_own_heads():
    """Qwen3-Next on 8 GPUs, of 2 KV heads and 32 of its states: half of the cache of heads, an eighth of the states."""
    one = Case(model="Qwen3-Next-80B-A3B", context=4096, batch=3)
    states, heads = 3 * one("recurrent_bytes"), one(kv.kv_bytes) - 3 * one("recurrent_bytes")
    eight = one.but(tensor_parallel=8)
    assert states > 0 and eight(kv.gpu_kv_bytes) == pytest.approx(heads / 2 + states / 8, rel=1e-12)
    assert eight(kv.gpu_read_kv_bytes) == pytest.approx(heads / 2 + 2 * states / 8, rel=1e-12)
    assert one(kv.gpu_kv_bytes) == pytest.approx(heads + states, rel=1e-12)


def test_a_latent_cache_with_a_rotary_key_of_its_own_width():
    # vLLM, flashmla_sparse.py: 512 FP8 values, 4 FP32 scales, 64 BF16 rotary values; NVFP4: 256 + 32 bytes, rotary in FP8.
    case = Case(catalogue.model("DeepSeek-V3"), cache_element_bytes=1 + 4 / 128, rope_element_bytes=2)
    assert case(kv.kv_bytes_per_token) == 61 * 656
    assert case.but(cache_element_bytes=1, rope_element_bytes=0)(kv.kv_bytes_per_token) == 61 * 576
    # Sparse attention's own formats, chosen by the width alone; and a key of 128 in FP8 with its scale in each indexer.
    for width, latent in ((1, 656), (4.5 / 8, 352), (2, 1152)):
        assert Case(model="DeepSeek-V3.2", cache_element_bytes=width)(kv.kv_bytes_per_token) == 61 * (latent + 132)
    assert Case(model="GLM-5.2", cache_element_bytes=1)(kv.kv_bytes_per_token) == 78 * 656 + 21 * 132


def test_weights_in_a_format_that_leaves_the_tables():
    # Llama-3-8B: tables of 128,256 x 4,096 and the final norm stay in BF16, the rest in INT4 with a 20-bit group of 128.
    # The serving worksheet asks for it on a GPU, the page of formats for the model: but for the norm it is one figure.
    kept = 2 * 128_256 * 4096 + 4096
    stored = Case(LLAMA_3_8B, catalogue.weight_format("INT4-g128"))
    expected = (8_030_261_248 - kept) * (4 + 20 / 128) / 8 + 2 * kept
    assert stored(kv.gpu_weight_bytes) == expected == pytest.approx(5.73e9, rel=1e-3)
    assert stored(LAWS["quantized_weight_bytes"]) == pytest.approx(expected, rel=1e-5)


def test_an_engine_without_room_has_no_blocks():
    assert Case(LLAMA_3_70B, H100, **ENGINE)(kv.engine_room_bytes) == 0
    assert Case(LLAMA_3_70B, H100, context=8192, **ENGINE)(kv.concurrency) == 0


# Models of 2026: entries for several tokens, blocks that are chosen, latents beside states
def test_entries_for_several_tokens_by_hand():
    # DeepSeek-V4-Flash: 43 windows of 128; 21 layers keep one entry for 4 tokens, with an index key of 132 B, 20 one for 128.
    # An entry is 512 values: 1,024 B in BF16, in FP8 448 + 8 of scales + 64 of rotary in BF16, 584 B (vLLM, models/deepseek_v4).
    flash = Case(catalogue.model(CONFIGS / "DeepSeek-V4-Flash.json"), context=131_072, batch=3)
    index = 21 * 132 / 4
    for case, entry in ((flash, 1024), (flash.but(cache_element_bytes=1), 584)):
        grows = entry * (21 / 4 + 20 / 128) + index
        assert case(kv.index_bytes_per_token) == index == 693
        assert case(kv.kv_bytes_per_token) == pytest.approx(43 * entry + grows, rel=1e-12)
        assert case(kv.sequence_kv_bytes) == pytest.approx(43 * 128 * entry + 131_072 * grows, rel=1e-12)
        # A step reads the windows, of entries for 4 tokens 512 that are chosen, all 1,024 others, and the whole index.
        read = entry * (43 * 128 + 21 * 512 + 20 * 1024) + 131_072 * index
        assert case(kv.read_kv_bytes) == pytest.approx(3 * read, rel=1e-12)
    assert flash.but(context=100)(kv.sequence_kv_bytes) == pytest.approx(100 * flash(kv.kv_bytes_per_token), rel=1e-12)
    # One vector is key and value of all heads, so every GPU of a stage holds it.
    assert flash.but(tensor_parallel=8)(kv.cache_share) == 1


def test_the_longest_context_beside_an_index():
    flash = Case(catalogue.model(CONFIGS / "DeepSeek-V4-Flash.json"))
    for context in (100, 200_000):
        held = flash.but(context=context)(kv.sequence_kv_bytes)
        assert flash.but(cache_room_bytes=held * (1 + 1e-9))(kv.longest_context) == context


def test_blocks_that_are_chosen_beside_layers_that_attend_to_all():
    # MiniMax-M3: 60 layers of 4 heads of 128; 57 have an index key of 128 values in BF16 and read 16 blocks of 128 tokens.
    case = Case(catalogue.model(CONFIGS / "MiniMax-M3.json"), context=65_536, batch=2)
    layer, index = 2 * 4 * 128 * 2, 57 * 128 * 2
    assert case(kv.kv_bytes_per_token) == 60 * layer + index == 137_472
    assert case(kv.sequence_kv_bytes) == 65_536 * 137_472
    assert case(kv.read_kv_bytes) == 2 * (layer * (57 * 2048 + 3 * 65_536) + 65_536 * index)
    assert case.but(context=1000)(kv.read_kv_bytes) == 2 * 1000 * 137_472


def test_latents_beside_states_and_narrow_values():
    # Kimi-K3: 24 latents of 512 + 64 in BF16; 69 states of 96 heads of 128 x 128 in FP32, and 3 inputs of convolutions in BF16.
    kimi = Case(catalogue.model(CONFIGS / "Kimi-K3.json"), context=1000)
    states = 69 * (96 * 128 * 128 * 4 + 3 * 3 * 12_288 * 2)
    assert kimi(kv.kv_bytes_per_token) == 24 * 576 * 2 == 27_648
    assert kimi("recurrent_bytes") == states and kimi(kv.sequence_kv_bytes) == 27_648_000 + states
    # MiMo-V2-Flash: keys of 192 and values of 128; 9 full layers of 4 heads, 39 windows of 128 with 8.
    mimo = Case(catalogue.model(CONFIGS / "MiMo-V2-Flash.json"), context=10_000)
    assert mimo(kv.kv_bytes_per_token) == (9 * 4 + 39 * 8) * (192 + 128) * 2 == 222_720
    assert mimo(kv.sequence_kv_bytes) == (9 * 4 * 10_000 + 39 * 8 * 128) * 640


def test_the_shares_of_memory_that_other_engines_are_told():
    """Of 80 GB at 0.9 are 72: 35 of weights, 1 of activations and 1 of the framework leave 35 for the cache. Weights and cache are
    70 of 80; of the 80 - 37 = 43 that are free the cache is 35."""
    case = Case(memory_bytes=80e9, memory_utilization=0.9, gpu_weight_bytes=35e9, profile_bytes=1e9, framework_bytes=1e9)
    assert case(kv.engine_room_bytes) == 35e9 and case(kv.static_share) == 70 / 80
    assert case(kv.free_share) == pytest.approx(35 / 43)
    assert case.but(memory_utilization=1)(kv.free_share) == 1


def test_the_longest_request_is_the_models_or_what_the_cache_holds():
    """Llama-3-8B keeps 131,072 B a token, half of them on each of two GPUs: 1 GB on each holds 2e9 / 131,072 = 15,258 tokens."""
    case = Case(model="Llama-3-8B", engine_room_bytes=1e9, tensor_parallel=2)
    assert case(kv.served_context) == 8192 and case.but(max_context=10**6)(kv.served_context) == 15_258


def test_the_turns_of_an_agent_by_hand():
    """20 turns that begin with 8,000 tokens and add 1,500 each to an answer of 300: prompts of 8,000 to 42,200, 25,100 in the mean, 502,000
    in all. New of them are 8,000 and 19 x 1,500 = 36,500, so 92.7 % are cached. At 2 turns a second, 10 s apart, 19 sessions wait. Each
    leaves 25,400 tokens of 163,840 B (70B in 8 bits), 79.1 GB in all. To keep 90 % of them takes 0.9 of it, and for the sessions that
    have ended -ln(0.1) / 19 = 0.121 more: 80.8 GB."""
    case = Case(model="Llama-3-70B", cache_element_bytes=1, turns=20, first_prompt=8000, turn_tokens=1500, output=300,
                requests_per_second=2, think_seconds=10, kept_turns=0.9)
    prompts = [8000 + turn * 1800 for turn in range(20)]
    assert case(kv.session_prompt) == sum(prompts) / 20 == 25_100 and case(kv.last_prompt) == prompts[-1] == 42_200
    assert case.but(kept_turns=1)(kv.session_cached_share) == pytest.approx(1 - (8000 + 19 * 1500) / sum(prompts))
    assert case(kv.waiting_sessions) == pytest.approx(19)
    assert case(kv.waiting_kv_bytes) == pytest.approx(19 * 25_400 * 163_840) == pytest.approx(79.1e9, rel=1e-3)
    assert case(kv.held_kv_bytes) == pytest.approx(80.8e9, rel=1e-3)
    single = case.but(turns=1)
    assert single(kv.session_prompt) == 8000 and single(kv.waiting_sessions) == single(kv.session_cached_share) == 0
    assert case.but(kept_turns=0)(kv.held_kv_bytes) == 0


def test_what_turns_read_varies_by_hand():
    """Of 3 turns of 100, 160 and 220 tokens (50 new ones a turn, answers of 10) half find their cache. They read 100; 50 or 160; 50 or
    220: in the mean (100 + 105 + 135) / 3 = 340 / 3, with squares (10,000 + 14,050 + 25,450) / 3 = 16,500."""
    case = Case(turns=3, first_prompt=100, turn_tokens=50, output=10, kept_turns=0.5)
    assert case(kv.session_prompt) * (1 - case(kv.session_cached_share)) == pytest.approx(340 / 3)
    assert case(kv.read_variation) == pytest.approx(16_500 / (340 / 3) ** 2 - 1)
    assert case.but(turns=1)(kv.read_variation) == 0


def test_the_share_of_turns_that_find_their_cache_is_that_of_a_simulated_memory():
    """Sessions of 8 turns begin at random, 2 in 10 s; think times are exponential, 10 s in the mean. Memory for `held_kv_bytes` of a
    unit a session, of which that used longest ago goes first, keeps the share of turns that it was asked to keep."""
    draw, events = random.Random(3), []
    for session in range(4000):
        now = session * 5 + draw.uniform(0, 5)
        for turn in range(8):
            events.append((now, session, turn))
            now += draw.expovariate(1 / 10)
    events.sort()
    for kept in (0.5, 0.9):
        room = Case(requests_per_second=8 / 5, think_seconds=10, turns=8, kept_turns=kept, session_kv_bytes=1)(kv.held_kv_bytes)
        memory, found = {}, 0
        for _, session, turn in events:
            found += memory.pop(session, 0) if turn else 0
            memory[session] = 1
            if len(memory) > room:
                memory.pop(next(iter(memory)))
        assert found / (4000 * 7) == pytest.approx(kept, abs=0.04), kept


@pytest.mark.parametrize("turns, measured", [(5, 0.660127), (9, 0.79984)])
def test_cached_shares_as_benchmarks_of_turns_measured_them(turns, measured):
    """SGLang's bench_multiturn, rounds of as many new tokens and answers of one: pull request 10203 prints 0.660127 for 5 rounds; the
    nine rounds of issue 33984 (ratio 2) print 0, 0.499939, 0.666558, ... 0.888696, 0.79984 of all tokens. Blocks are not counted here."""
    case = Case(turns=turns, first_prompt=8192, turn_tokens=8192, output=1, kept_turns=1)
    assert case(kv.session_cached_share) == pytest.approx(measured, rel=0.02)


def test_memory_beside_what_runs_and_the_way_back_from_the_host_by_hand():
    """Two groups of GPUs with 30 GB each for the cache and 70 GB of the host hold 200 GB; four sequences of 5 GB run, so 180 GB wait.
    40,000 tokens of 163,840 B, half on each of two GPUs, of which 90 % come back at 25 GB/s: 0.118 s."""
    case = Case(engine_room_bytes=30e9, host_cache_bytes=70e9, cache_share=1, attention_parallel=2, running_batch=4, sequence_kv_bytes=5e9)
    assert case(kv.free_cache_bytes) == 180e9 and case.but(host_cache_bytes=0)(kv.free_cache_bytes) == 40e9
    back = Case(session_prompt=40_000, session_cached_share=0.9, kv_bytes_per_token=163_840, cache_share=0.5, host_cache_bytes=70e9)
    assert back(kv.cache_fetch_seconds) == pytest.approx(0.118, abs=5e-4) and back.but(host_cache_bytes=0)(kv.cache_fetch_seconds) == 0
    short = Case(wanted_cache_bytes=200e9, idle_cache_bytes=180e9)
    assert short(kv.unheld_cache_bytes) == 20e9 and short.but(idle_cache_bytes=300e9)(kv.unheld_cache_bytes) == 0
    assert Case()(kv.unheld_cache_bytes) == 0
