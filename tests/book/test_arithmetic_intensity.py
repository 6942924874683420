"""What the page on arithmetic intensity shows."""
import math
import re

import pytest
from hypothesis import given, strategies as st

from book.components.measured import compare
from book.pages.arithmetic_intensity import clocks, decode_operators, every_gpu, prefill_operators, turning_batches, two_speeds
from gpucalc import arithmetic_intensity as ai, kernels
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import percent, times
from gpucalc.laws.kv_cache import sequence_kv_bytes
from gpucalc.rows import catalogue
from tests.each import of_each
from tests.gpucalc.test_arithmetic_intensity import (batches, CACHE_8B, close, DEEPSEEK, H100, LLAMA_3_8B, MIXTRAL, MOVED_8B,
                                                     MULTIPLIED_8B, step)

LOADS = [(1, 16), (16, 4096), (300, 1000)]
ON_H100 = dict(peak_flops=989e12, bandwidth=3.35e12)
RATES = dict(product_rate=989e12, memory_rate=3.35e12)


def total(rows, column):
    return sum(row[column] for row in rows)


def of(rows, operator):
    return next(row for row in rows if row["operator"] == operator)


def test_an_operator_by_hand():
    # 16 tokens through 32 gated MLPs of 3 * 4096 * 14336; per token and layer h in, 2f out, f in, h out.
    mlp = of(decode_operators(Case(LLAMA_3_8B, batch=16, context=4096)), "MLP")
    params = 32 * 3 * 4096 * 14_336
    assert mlp["operator_flops"] == 2 * 16 * params
    assert mlp["operator_bytes"] == 2 * params + 16 * 2 * 32 * (2 * 4096 + 3 * 14_336)
    # Attention: 16 * 4096 cached tokens; per token and layer queries in, outputs out.
    scores = of(decode_operators(Case(LLAMA_3_8B, batch=16, context=4096)), "scores and values")
    assert scores["operator_flops"] == 16 * 4096 * 32 * 16_384
    assert scores["operator_bytes"] == 16 * 4096 * CACHE_8B + 16 * 2 * 32 * 128 * 2 * 32
    assert ai.operator_seconds(6, 8, 3, 2, 4) == 3
    assert ai.operator_seconds(6, 8, 3, 1, 0.8) == close(10)
    assert ai.operator_seconds(6, 8, 3, 2, 4, kernel_seconds=2) == 3 + 6


def test_experts_touched_by_hand():
    # Mixtral, two tokens: 8 * (1 - (6/8)^2) = 3.5 of 8 experts in a layer; each token multiplies 2.
    experts = of(decode_operators(Case(MIXTRAL, batch=2, context=16)), "routed experts")
    assert experts["touched_params"] == close(32 * 3.5 * 176_160_768)
    assert experts["operator_flops"] == 2 * 2 * 32 * 2 * 176_160_768
    # DeepSeek-V3: 8, 57, 222 and 256 of 256 at 1, 8, 64 and 256 tokens.
    layer = 58 * 3 * 7168 * 2048
    touched = [of(decode_operators(Case(DEEPSEEK, batch=tokens, context=16)), "routed experts")["touched_params"] / layer for tokens in (1, 8, 64, 256)]
    assert [round(count) for count in touched] == [8, 57, 222, 256]


@of_each(catalogue.models().index.tolist())
def test_operators_sum_to_the_laws(name):
    model = catalogue.model(name)
    for batch, length in LOADS:
        stored = dict(weight_element_bytes=1, cache_element_bytes=0.5)
        rows = decode_operators(Case(model, batch=batch, context=length, activation_element_bytes=4, **stored))
        assert total(rows, "operator_flops") == close(Case(model, batch=batch, context=length)(ai.decode_flops))
        # Bytes: those of the law, and the activations it leaves out.
        beside = total(rows, "activation_bytes")
        read = Case(model, batch=batch, context=length, activation_element_bytes=4, **stored)(ai.decode_bytes)
        assert total(rows, "operator_bytes") == close(read + beside)
        for causal in (0, 1):
            rows = prefill_operators(Case(model, batch=batch, prompt=length, causal=causal))
            flops = Case(model, batch=batch, prompt=length, causal=causal)(ai.prefill_flops)
            assert total(rows, "operator_flops") == close(flops)
        # A prefill reads its weights, those it looks up and experts it does not touch aside, and writes the cache.
        read, written = Case(model, batch=batch * length, read_kv_bytes=0)(ai.decode_bytes), Case(model, context=length)(sequence_kv_bytes)
        assert total(rows, "operator_bytes") - total(rows, "activation_bytes") == close(read + batch * written)


@pytest.mark.parametrize("name", ["Llama-3-8B", "Gemma-2-9B", "Qwen3-8B", "GPT-3-175B", "Mixtral-8x7B", "DeepSeek-V3", "gpt-oss-120b",
                                  "Qwen3-Next-80B-A3B", "Nemotron-H-8B", "Kimi-Linear-48B-A3B"])
def test_operators_have_the_kernels_of_the_list(name):
    model = catalogue.model(name)
    expected = Case(model)(kernels.pass_kernels)
    assert total(decode_operators(Case(model, batch=1, context=16)), "kernels") == total(prefill_operators(Case(model, batch=1, prompt=16)), "kernels") == expected


@given(batches, st.integers(1, 32_768), st.sampled_from(["Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3", "Gemma-2-9B"]))
def test_one_operator_after_another_is_no_faster_than_all_at_once(batch, context, name):
    model = catalogue.model(name)
    rows = decode_operators(Case(model, batch=batch, context=context))
    apart = sum(ai.operator_seconds(row["operator_flops"], row["operator_bytes"], row["kernels"], **RATES) for row in rows)
    assert apart >= step(model, H100, batch, context) * (1 - 1e-12)


def test_where_an_operator_turns():
    # MLP of Llama-3-8B: n = N e F / (2 N B - v e F), both clocks agree there; the H100's ridge is 295.
    mlp = of(decode_operators(Case(LLAMA_3_8B, batch=1, context=16)), "MLP")
    params, values = 32 * 3 * 4096 * 14_336, 32 * (2 * 4096 + 3 * 14_336)
    turn = ai.critical_tokens(params, params, values, **ON_H100)
    assert turn == close(params * 2 * 989e12 / (2 * params * 3.35e12 - values * 2 * 989e12)) == pytest.approx(322, rel=0.01)
    assert (mlp["used_params"], mlp["moved_values"]) == (params, values)
    assert ai.critical_tokens(params, params, 0, **ON_H100) == close(ai.critical_batch(**ON_H100))
    assert ai.critical_tokens(1, 1, 1, **ON_H100) == math.inf


def test_where_attention_turns_in_a_prefill():
    # Llama-3-8B: p = 295.2 * (131072 + 2 v) / (32 * 16384 / 2), with v = 32 * 128 * 2 * 32.
    values = 32 * 128 * 64
    turn = Case(LLAMA_3_8B, H100, moved_values=values)(ai.critical_prompt)
    assert turn == close(989 / 3.35 * (131_072 + 2 * values) / (32 * 8192)) == pytest.approx(738, rel=0.001)
    for prompt, longer in ((737, "traffic"), (739, "compute")):
        scores = of(prefill_operators(Case(LLAMA_3_8B, batch=1, prompt=prompt)), "scores and values")
        assert longer == ("compute" if scores["operator_flops"] / 989e12 > scores["operator_bytes"] / 3.35e12 else "traffic")


ERRORS = {"gptfast-llama2-7b-bf16": 11, "gptfast-llama2-7b-int8": 37, "gptfast-llama2-7b-int4": 57, "gptfast-llama2-70b-int8": 23,
          "gptfast-llama2-70b-int4": 46, "gptfast-llama31-8b-bf16": 11, "gptfast-llama31-8b-int8": 40,
          "gptfast-llama31-70b-int8": 29, "gptfast-mixtral-int8": 20, "gptfast-mi250x-7b-bf16": 13, "gptfast-mi250x-7b-int8": 58,
          "llamacpp-a6000-8b-f16": 4, "llamacpp-a6000-8b-q4": 10, "llamacpp-a6000-70b-q4": 2, "llamacpp-6000ada-8b-f16": 2,
          "llamacpp-6000ada-8b-q4": 4, "llamacpp-6000ada-70b-q4": 2, "llamacpp-a40-8b-f16": 6, "llamacpp-a40-8b-q4": 11,
          "llamacpp-a40-70b-q4": 6, "llamacpp-l40s-8b-f16": 4, "llamacpp-l40s-8b-q4": 5, "llamacpp-l40s-70b-q4": 4,
          "llamacpp-3070-8b-q4": 2, "llamacpp-3080-8b-q4": 5, "llamacpp-3080ti-8b-q4": 21, "llamacpp-4080-8b-f16": 0,
          "llamacpp-4080-8b-q4": 2, "llamacpp-4000ada-8b-f16": 0, "llamacpp-4000ada-8b-q4": 4, "exl2-4090-l1-7b-gptq": 1,
          "exl2-4090-l1-13b-gptq": 1, "exl2-4090-l2-7b-4": 5, "exl2-4090-l2-7b-5": 3, "exl2-4090-l2-70b-2.5": 2,
          "exl2-4090-tiny-4": 27, "exl2-3090ti-l1-7b-gptq": 12, "exl2-3090ti-l1-13b-gptq": 2, "exl2-3090ti-l2-7b-4": 17,
          "exl2-3090ti-l2-7b-5": 11, "exl2-3090ti-l2-70b-2.5": 15, "exl2-3090ti-tiny-4": 46, "exl1-4090-7b": 20,
          "exl1-4090-13b": 13, "litgpt-llama2-7b-bf16": 208, "llamacpp-a6000-8b-f16-prefill": -39,
          "llamacpp-a6000-8b-q4-prefill": -49, "llamacpp-a6000-70b-q4-prefill": -44, "llamacpp-6000ada-8b-f16-prefill": -58,
          "llamacpp-6000ada-8b-q4-prefill": -62, "llamacpp-6000ada-70b-q4-prefill": -69, "llamacpp-a40-8b-f16-prefill": -40,
          "llamacpp-a40-8b-q4-prefill": -52, "llamacpp-a40-70b-q4-prefill": -70, "llamacpp-l40s-8b-q4-prefill": -58,
          "llamacpp-l40s-70b-q4-prefill": -62}
FOUND = compare("arithmetic_intensity").loc[list(ERRORS)]


def test_every_published_speed():
    errors = {name: 100 * error for name, error in FOUND["error"].items()}
    assert errors == pytest.approx(ERRORS, abs=1)
    assert FOUND["note"].str.len().min() > 0


def test_no_published_speed_is_above_its_bound():
    """At the peaks, and without the start of experts: half of the tables of kernels have a shorter one than their median."""
    limits = compare("arithmetic_intensity", efficiency="bound", bandwidth_efficiency=1, expert_start_seconds=0)
    for row in limits.itertuples():
        slower = row.value >= row.predicted if row.unit == "second" else row.value <= row.predicted
        assert slower, row.Index


def test_errors_by_family():
    size = FOUND["error"].abs()
    decode = FOUND["family"] == "decode on one GPU"
    assert size[decode].median() < 0.105
    assert size[decode & FOUND["subject"].str.contains("BF16|FP16")].median() < 0.06


def test_a_published_row_by_hand():
    # Llama-3-8B in FP16 on an RTX A6000: 15.01 GB and 512 cached tokens at 0.88 of 768 GB/s (error correction off), activations in FP32,
    # and 32 * (16 + 7) + 3 kernels of 2 us. 40.25 published.
    reads = 0.88 * 768e9
    seconds = (2 * MULTIPLIED_8B + 512 * CACHE_8B + 2 * MOVED_8B) / reads + (32 * 23 + 3) * 2e-6
    assert FOUND.loc["llamacpp-a6000-8b-f16", "predicted"] == close(1 / seconds) == pytest.approx(40.25, rel=0.05)
    # Q4_K_M: Q6_K (210 B for 256) for the head, and for values and down in 16 of 32 layers; Q4_K (144 B) elsewhere. 4.92 GB with the table.
    head, values, down = 128_256 * 4096, 4096 * 1024, 4096 * 14_336
    finer = head + 16 * (values + down)
    stored = finer * 210 / 256 + (MULTIPLIED_8B - finer) * 144 / 256
    assert stored + head * 144 / 256 == pytest.approx(4.92e9, rel=0.002)
    seconds = (stored + 512 * CACHE_8B + 2 * MOVED_8B) / reads + (32 * (23 + 7) + 3) * 2e-6
    assert FOUND.loc["llamacpp-a6000-8b-q4", "predicted"] == pytest.approx(1 / seconds, rel=1e-4)


def test_the_two_clocks_agree_at_the_critical_batch():
    case = Case(LLAMA_3_8B, H100, batch=64, context=16, prompt=2048, causal=1)
    shown, ratio = clocks(case).source, 3.35e12 / 989e12
    assert f"{times(1 / ratio)} as long as it computes" in shown
    assert percent(ratio) in shown and percent(64 * ratio) in shown
    read, computed = [[float(wide) for wide in re.findall(rf'width="([\d.]+)" height="14"[^>]*class="fill-{color}"', shown)] for color in "ab"]
    prompt = case.but(batch=1)(ai.prefill_flops) / 989e12 / (8_030_261_248 * 2 / 3.35e12)
    assert computed[2] / read[2] == pytest.approx(prompt, rel=1e-3) and times(prompt) in shown


def test_two_speeds_of_familiar_cards():
    shown = two_speeds(Case(weight_element_bytes=1), catalogue.gpus())
    assert shown.loc["H100 SXM 80GB", "ridge_point"] == close(989e12 / 3.35e12)
    assert shown.loc["H100 SXM 80GB", "critical_batch"] == close(989e12 / 3.35e12 / 2)


def test_every_gpu_and_where_it_turns():
    cards = catalogue.gpus().loc[["H100 SXM 80GB", "L4 24GB"]]
    case = Case(LLAMA_3_8B, gpu="H100 SXM 80GB", efficiency="achieved", batch=64, context=4096, prompt=2048, causal=1)
    shown = every_gpu(case, cards, "Every GPU").source
    assert ">295<" in shown and ">64<" in shown, "64 sequences fit on the H100"
    assert "–" in shown, "not on the L4, whose time for them is a dash"
    turned = turning_batches(case, cards, "Where it turns").source
    assert ">295<" in turned and ">148<" in turned and turned.count("<tr>") == 3
