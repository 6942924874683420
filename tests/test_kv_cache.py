"""Cache sizes against hand calculations: the arithmetic stands in each test, written out without the laws."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucalc import catalogue
from gpucalc import kv_cache as kv
from gpucalc.explanation import evaluate
from gpucalc.measured import compare

H100 = catalogue.gpu("H100 SXM 80GB")
LLAMA_3_70B = catalogue.model("Llama-3-70B")
counts = st.integers(1, 200_000)


def cache(name, context=1, batch=1, **given):
    return evaluate(kv.kv_bytes, catalogue.model(name), context=context, batch=batch, **given)


@pytest.mark.parametrize(("name", "layers", "kv_heads", "head_dim", "token"), [
    ("Llama-2-7B", 32, 32, 128, 524_288), ("Llama-3-8B", 32, 8, 128, 131_072), ("Llama-3-70B", 80, 8, 128, 327_680),
    ("GPT-3-175B", 96, 96, 128, 4_718_592), ("OPT-13B", 40, 40, 128, 819_200), ("Falcon-7B", 32, 1, 64, 8_192)])
def test_one_token_in_bf16(name, layers, kv_heads, head_dim, token):
    # Keys and values: 2 * layers * KV heads * head size * 2 B.
    assert 2 * layers * kv_heads * head_dim * 2 == token
    assert evaluate(kv.kv_bytes_per_token, catalogue.model(name)) == token


def test_query_heads_do_not_enter():
    # Llama-3-70B has 64 query heads on 8 KV heads; counting those of the queries gives 80 GB where 10.7 GB are needed.
    assert cache("Llama-3-70B", 4096, 8) == 8 * 4096 * 327_680 == 10_737_418_240
    assert 8 * 4096 * 2 * 80 * 64 * 128 * 2 == 85_899_345_920


def test_a_batch_of_32_at_8192_tokens_is_80_gib():
    # 32 * 8192 * 327,680 B = 85.9 GB.
    assert cache("Llama-3-70B", 8192, 32) == 85_899_345_920 == 80 * 2**30


def test_one_byte_elements_halve_the_cache():
    assert cache("Llama-3-8B", 1000, 2, cache_element_bytes=1) == 1000 * 2 * 131_072 / 2


def test_a_latent_is_all_that_latent_attention_keeps():
    # DeepSeek-V3: 61 layers * (512 + 64) elements * 2 B; its 128 heads as in MHA would be 57 times as much.
    assert kv.latent_bytes_per_token(61, 512, 64) == 70_272
    assert kv.latent_bytes_per_token(61, 512, 64, 1) == 35_136
    assert evaluate(kv.kv_bytes_per_token, catalogue.model("DeepSeek-V3")) == 70_272
    assert cache("DeepSeek-V3", 4096, 8) == 4096 * 8 * 70_272
    assert kv.kv_bytes_per_token(61, 128, 128) / 70_272 == pytest.approx(56.9, rel=1e-3)


def test_a_column_of_models_holds_both_kinds():
    column = evaluate(kv.kv_bytes_per_token, catalogue.models())
    assert (column["DeepSeek-V3"], column["Llama-3-8B"]) == (70_272, 131_072)


def test_a_window_caps_every_layer_of_mistral():
    # Mistral-7B, arXiv 2310.06825: an eighth of the cache at 32,768 tokens with a window of 4,096.
    assert cache("Mistral-7B", 32_768) == 4096 * 131_072 == 32_768 * 131_072 / 8
    assert cache("Mistral-7B", 1000) == 1000 * 131_072


def test_a_window_caps_half_the_layers_of_gemma():
    # Gemma-2-9B: 8,192 B a layer and token; 21 layers keep 8,192 tokens, 21 keep 4,096.
    assert cache("Gemma-2-9B", 8192) == 2 * 8 * 256 * 2 * (21 * 8192 + 21 * 4096)


def test_without_windows_the_sequence_is_tokens_times_bytes():
    assert kv.sequence_kv_bytes(131_072, 4096) == 131_072 * 4096
    assert kv.kv_bytes(1000, 7) == 7000


def test_weights():
    assert evaluate(kv.weight_bytes, catalogue.model("Llama-2-7B")) == 13_476_831_232
    assert evaluate(kv.weight_bytes, catalogue.model("Llama-2-7B"), weight_element_bytes=0.5) == 3_369_207_808


def test_sequences_beside_the_weights():
    # Four H100 report 81,559 MiB each; 90 % of them less 2 * 70,553,706,496 B leave 166.8 GB; a sequence of 8192 takes 2.68 GB.
    room = 4 * 81_559 * 2**20 * 0.9 - 2 * 70_553_706_496
    assert evaluate(kv.cache_room_bytes, LLAMA_3_70B, H100, gpus=4) == pytest.approx(room, rel=1e-12)
    assert evaluate(kv.cache_room_bytes, LLAMA_3_70B, H100, gpus=4, headroom=0) == 4 * 81_559 * 2**20 - 2 * 70_553_706_496
    assert evaluate(kv.max_batch, LLAMA_3_70B, H100, gpus=4, context=8192) == int(room / (8192 * 327_680)) == 62
    assert evaluate(kv.longest_context, LLAMA_3_70B, H100, gpus=4) == int(room / 327_680) == 508_934
    assert evaluate(kv.longest_context, LLAMA_3_70B, H100, gpus=4, batch=10) == int(room / 3_276_800) == 50_893


def test_weights_that_do_not_fit_leave_no_room():
    # 141 GB of weights on one card of 80 GB: a value, not an error.
    assert evaluate(kv.cache_room_bytes, LLAMA_3_70B, H100) == 0
    assert evaluate(kv.max_batch, LLAMA_3_70B, H100, context=8192) == 0
    assert evaluate(kv.longest_context, LLAMA_3_70B, H100) == 0


@given(counts, counts, counts)
def test_a_window_never_adds_and_the_cache_never_shrinks(context, more, window):
    shorter = kv.sequence_kv_bytes(1024, context, 32, 16, window)
    assert shorter <= kv.sequence_kv_bytes(1024, context, 32) * (1 + 1e-12)
    assert shorter <= kv.sequence_kv_bytes(1024, context + more, 32, 16, window)


@given(st.floats(0, 1e13), st.integers(1, 10**10))
def test_one_more_sequence_does_not_fit(room, sequence):
    most = kv.max_batch(room, sequence)
    assert most * sequence <= room * (1 + 1e-12)
    assert (most + 1) * sequence > room * (1 - 1e-12)


def test_published_sizes():
    # Printed to three figures at least, but for the 1.6 GB that stand for 1.5625 GiB.
    found = compare("kv_cache")
    assert len(found) >= 6
    assert (found["error"].abs() < 0.002).drop("vllm-opt-13b-2048").all()
    assert found["error"]["vllm-opt-13b-2048"] == pytest.approx(1.5625 * 2**30 / 1.6e9 - 1, rel=1e-9)


@pytest.mark.parametrize(("name", "value", "allowed"), [
    ("context", 0, "a whole number of at least 1"), ("batch", 1.5, "a whole number of at least 1"),
    ("cache_element_bytes", 0, "a number above 0"), ("window_layers", -1, "a whole number of at least 0")])
def test_bad_input_is_refused_by_name(name, value, allowed):
    with pytest.raises(ValueError, match=rf"{name} .* is {value}; allowed: {allowed}"):
        cache("Llama-3-8B", **{name: value})


def test_headroom_is_a_share():
    with pytest.raises(ValueError, match=r"headroom .* is 10; allowed: a number from 0 to 1"):
        evaluate(kv.cache_room_bytes, LLAMA_3_70B, H100, headroom=10)
