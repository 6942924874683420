"""Training memory against hand calculations: the arithmetic stands in each test, written out without the laws."""
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucalc import catalogue
from gpucalc import training_memory as tm
from gpucalc.explanation import evaluate
from gpucalc.measured import compare

LLAMA_8B = dict(layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, intermediate=14336, gated_mlp=1)
LLAMA_8B_PARAMS = 8_030_261_248
GPT_3 = dict(layers=96, hidden=12288, heads=96, kv_heads=96, head_dim=128, intermediate=49152)
GPT_22B = dict(layers=48, hidden=6144, heads=64, kv_heads=64, head_dim=96, intermediate=24576)
GPT_1T = dict(layers=128, hidden=25600, heads=160, kv_heads=160, head_dim=160, intermediate=102400)


def close(value):
    return pytest.approx(value, rel=1e-12)


def per_token(architecture, **switches):
    """Bytes that one layer keeps for one token of a sequence of 2,048."""
    return evaluate(tm.layer_activation_bytes, architecture, micro_batch=1, sequence=2048, **switches) / 2048


# Model state

@pytest.mark.parametrize("recipe, trained, frozen", [
    ("fp32-adamw", 4 + 4 + 8, 0),
    ("mixed-adamw", 2 + 2 + 4 + 8, 0),
    ("mixed-adamw-fp32-grads", 2 + 4 + 4 + 8, 0),
    ("sgd-momentum", 2 + 2 + 4 + 4, 0),
    ("adamw-8bit", 2 + 2 + 4 + 1 + 1, 0),
    ("lora", 2 + 2 + 4 + 8, 2),
    ("qlora", 2 + 2 + 4 + 8, (4 + 8 / 64 + 32 / (64 * 256)) / 8),    # bits: NF4, block constants, constants of those
])
def test_bytes_of_each_recipe(recipe, trained, frozen):
    row = catalogue.recipe(recipe)
    assert evaluate(tm.bytes_per_param, row) == trained
    assert row.frozen_element_bytes == frozen


def test_state_of_full_training():
    # A round 7 billion parameters: 112 GB at 16 bytes and 126 GB at 18.
    assert tm.state_bytes(7_000_000_000, 7_000_000_000, 16) == 112e9
    assert tm.state_bytes(7_000_000_000, 7_000_000_000, 18) == 126e9


def test_state_of_lora():
    # Frozen at 2 bytes: 16,060,522,496. Adapters: 13,631,488 x 16 = 218,103,808.
    assert tm.state_bytes(LLAMA_8B_PARAMS, 13_631_488, 16, 2) == 16_060_522_496 + 218_103_808


def test_adapters_on_the_attention_projections():
    # Rank 16, hidden 4096, keys and values 8 x 128 = 1024: (4096 + 4096) + 2 x (4096 + 1024) + (4096 + 4096) = 26,624.
    assert evaluate(tm.lora_params, LLAMA_8B, lora_rank=16) == 32 * 16 * 26_624 == 13_631_488
    # Llama-2-7B at rank 8: four square projections, 32 x 8 x 4 x 8192.
    assert evaluate(tm.lora_params, catalogue.model("Llama-2-7B"), lora_rank=8) == 8_388_608
    # heads x head size need not be the hidden size: Gemma-2-9B has 3584, 16 x 256 = 4096 and 8 x 256 = 2048.
    assert evaluate(tm.lora_params, catalogue.model("Gemma-2-9B"), lora_rank=1) == 42 * (2 * (3584 + 4096) + 2 * (3584 + 2048))


# ZeRO

ADAM = dict(weight_element_bytes=2, gradient_element_bytes=2, master_element_bytes=4, optimizer_element_bytes=8)


def on_one(params, zero_stage, data_parallel):
    return evaluate(tm.sharded_state_bytes, ADAM, params=params, trainable_params=params, zero_stage=zero_stage,
                    data_parallel=data_parallel)


@pytest.mark.parametrize("stage, expected", [
    (0, 16 * 7.5e9), (1, 4 * 7.5e9 + 12 * 7.5e9 / 64), (2, 2 * 7.5e9 + 14 * 7.5e9 / 64), (3, 16 * 7.5e9 / 64)])
def test_zero_stages_of_7_5_billion_on_64_gpus(stage, expected):
    # arXiv 1910.02054, figure 1, prints 120, 31.4, 16.6 and 1.9 GB.
    assert on_one(7_500_000_000, stage, 64) == close(expected)
    assert on_one(7_500_000_000, stage, 64) == pytest.approx([120e9, 31.4e9, 16.6e9, 1.9e9][stage], rel=0.014)


@pytest.mark.parametrize("params, gpus, gigabytes", [
    (7_500_000_000, 4, (52.5, 41.3, 30)), (7_500_000_000, 1024, (30.1, 15.1, 0.12)),
    (128_000_000_000, 16, (608, 368, 128)), (128_000_000_000, 256, (518, 263, 8)),
    (1_000_000_000_000, 64, (4187, 2218, 250)), (1_000_000_000_000, 1024, (4011, 2013, 15.6))])
def test_the_table_of_the_zero_paper(params, gpus, gigabytes):
    # arXiv 1910.02054, table 1.
    for stage, expected in enumerate(gigabytes, start=1):
        assert on_one(params, stage, gpus) == pytest.approx(expected * 1e9, rel=0.025)


@pytest.mark.parametrize("stage, expected", [(0, 1000 * 2 + 10 * 18), (1, 1000 * 2 + 10 * 6), (2, 1000 * 2 + 10 * 2), (3, 0)])
def test_what_every_gpu_holds_in_full_with_frozen_weights(stage, expected):
    assert tm.replicated_state_bytes(1000, 10, stage, 2, 4, 4, 8, 2) == expected


def test_the_rest_is_shared_equally():
    assert tm.sharded_state_bytes(1000, 200, 4) == 200 + 800 / 4


# Activations

def test_gpt_3_keeps_34_sbh_and_5_as2b_per_layer():
    # Korthikanti et al., table 2: 96 layers of s b h (34 + 5 a s / h), with dropout and no recompute.
    expected = 96 * 2048 * 12288 * 34 + 96 * 5 * 96 * 2048 * 2048
    assert expected == 275_414_777_856
    assert evaluate(tm.activation_bytes, GPT_3, micro_batch=1, sequence=2048, dropout=1) == expected


def test_the_34_comes_apart():
    # Attention: input 2, queries and keys 4, values 2, projection input 2, mask 1. MLP: input 2, two of 4h 16, mask 1. Norms 4.
    assert 2 + 4 + 2 + 2 + 1 + 2 + 16 + 1 + 4 == 34
    assert per_token(GPT_3, dropout=1, recompute=1) == 34 * 12288
    assert per_token(GPT_3, recompute=1) == 32 * 12288    # no masks


def test_scores_with_and_without_flash_attention():
    # 2 bytes a score; with dropout its mask (1) and its output (2): 5. FlashAttention: 4 bytes for each query and head.
    assert tm.score_bytes(3, 2048, 96) == 3 * 96 * 2048**2 * 2
    assert tm.score_bytes(3, 2048, 96, dropout=1) == 3 * 96 * 2048**2 * 5
    assert tm.score_bytes(3, 2048, 96, activation_element_bytes=4, dropout=1) == 3 * 96 * 2048**2 * 9
    assert tm.score_bytes(3, 2048, 96, flash_attention=1) == 3 * 96 * 2048 * 4


def test_a_gated_layer_with_grouped_heads():
    # BF16 values: 4 x 4096 (norms, attention, MLP inputs) + 2 x 4096 + 2 x 1024 (q, o, k, v) + 4 x 14336 = 83,968.
    assert per_token(LLAMA_8B, recompute=1) == 2 * 83_968 == 167_936
    assert per_token(LLAMA_8B) == 167_936 + 2 * 32 * 2048
    assert per_token(LLAMA_8B, flash_attention=1) == 167_936 + 4 * 32
    assert per_token(LLAMA_8B, recompute=2) == 2 * 4096
    # Without its gate the MLP keeps two tensors instead of four.
    assert per_token(LLAMA_8B | {"gated_mlp": 0}, recompute=1) == 167_936 - 2 * 2 * 14336
    assert per_token(LLAMA_8B, recompute=1, activation_element_bytes=4) == 2 * 167_936


def test_tensor_and_sequence_parallel_split():
    # Korthikanti et al., table 2: 10 + 24/t + 5as/(ht), and (34 + 5as/h)/t with sequence parallel. 5 x 64 x 2048 / 6144 = 106.67.
    switches = dict(dropout=1, tensor_parallel=8)
    assert per_token(GPT_22B, **switches) == close(6144 * (10 + 24 / 8 + 5 * 64 * 2048 / 6144 / 8))
    assert per_token(GPT_22B, sequence_parallel=1, **switches) == close(6144 * (34 + 5 * 64 * 2048 / 6144) / 8)
    assert per_token(GPT_22B, recompute=2, **switches) == 6144 * 2
    assert per_token(GPT_22B, recompute=2, sequence_parallel=1, **switches) == 6144 * 2 / 8


@pytest.mark.parametrize("architecture, sequence_only, selective_only, both, full", [
    (GPT_22B, 66.84, 49.42, 16.18, 7.64), (GPT_1T, 58.31, 62.04, 20.27, 9.42)])
def test_shares_of_the_figure(architecture, sequence_only, selective_only, both, full):
    # Korthikanti et al., figure 7, in percent of tensor parallel alone; read from a plot.
    whole = per_token(architecture, dropout=1, tensor_parallel=8)
    for expected, switches in ((sequence_only, dict(sequence_parallel=1)), (selective_only, dict(recompute=1)),
                               (both, dict(sequence_parallel=1, recompute=1)), (full, dict(recompute=2))):
        share = per_token(architecture, dropout=1, tensor_parallel=8, **switches) / whole
        assert 100 * share == pytest.approx(expected, rel=0.012)


def test_width_of_the_experts_a_token_uses():
    assert evaluate(tm.mlp_width, catalogue.model("Llama-3-8B")) == 14336
    assert evaluate(tm.mlp_width, catalogue.model("Mixtral-8x7B")) == 2 * 14336
    # DeepSeek-V3: 3 layers of 18432, 58 layers of 8 routed and 1 shared expert of 2048.
    assert evaluate(tm.mlp_width, catalogue.model("DeepSeek-V3")) == close((3 * 18432 + 58 * 9 * 2048) / 61)


def test_layers_and_logits():
    assert tm.activation_bytes(32, 1_376_780_288) == 44_056_969_216
    assert tm.logits_bytes(2, 8192, 128256) == 2 * 8192 * 128256 * 4 == 8_405_385_216


# The whole job

def job(**changes):
    recipe = catalogue.recipe("mixed-adamw-fp32-grads")
    inputs = dict(trainable_params=LLAMA_8B_PARAMS, micro_batch=1, sequence=8192, recompute=1, flash_attention=1) | changes
    return (catalogue.model("Llama-3-8B"), recipe), inputs


def test_llama_3_8b_on_eight_h100():
    # State 8,030,261,248 x 18 = 144,544,702,464, an eighth of it 18,068,087,808.
    # Activations 167,936 x 8192 x 32 = 44,023,414,784. Logits 8192 x 128256 x 4 = 4,202,692,608.
    rows, inputs = job(zero_stage=3, data_parallel=8)
    assert evaluate(tm.training_bytes, *rows, **inputs) == 18_068_087_808 + 44_023_414_784 + 4_202_692_608


@pytest.mark.parametrize("stage, replicated, expected", [(1, 6, math.inf), (2, 2, 11), (3, 0, 6)])
def test_fewest_h100_for_llama_3_8b(stage, replicated, expected):
    # Usable 85,520,809,984 x 0.9 = 76,968,728,985.6; less activations and logits 28,742,621,593.6.
    room = 85_520_809_984 * 0.9 - 44_023_414_784 - 4_202_692_608 - replicated * LLAMA_8B_PARAMS
    count = math.ceil((18 - replicated) * LLAMA_8B_PARAMS / room) if room > 0 else math.inf
    rows, inputs = job(zero_stage=stage)
    assert evaluate(tm.training_gpus, *rows, catalogue.gpu("H100 SXM 80GB"), **inputs) == count == expected


def test_usable_memory():
    assert tm.usable_bytes(80_000_000_000) == close(72e9)
    assert tm.usable_bytes(80_000_000_000, 0.25) == 60e9


def test_13b_does_not_fit_eight_4090():
    # 13,015,864,320 x 18 = 234 GB, x 16 = 208 GB; eight cards hold 8 x 25,757,220,864 = 206 GB before any headroom.
    model, card = catalogue.model("Llama-2-13B"), catalogue.gpu("RTX 4090 24GB")
    assert 8 * card.memory_bytes < 13_015_864_320 * 16 == evaluate(
        tm.state_bytes, model, catalogue.recipe("mixed-adamw"), trainable_params=model.params)
    for recipe in ("mixed-adamw", "mixed-adamw-fp32-grads"):
        assert evaluate(tm.training_gpus, model, card, catalogue.recipe(recipe), trainable_params=model.params, zero_stage=3,
                        micro_batch=1, sequence=2048, recompute=2, flash_attention=1) > 8


def test_qlora_of_7b_is_nearer_to_5_than_to_35_gigabytes():
    # 6,738,415,616 x 0.515869 = 3.476 GB, adapters 8,388,608 x 16 = 0.134, layer inputs 32 x 2048 x 4096 x 2 = 0.537,
    # logits 2048 x 32000 x 4 = 0.262: 4.409 GB.
    total = evaluate(tm.training_bytes, catalogue.model("Llama-2-7B"), catalogue.recipe("qlora"), trainable_params=8_388_608,
                     micro_batch=1, sequence=2048, recompute=2, flash_attention=1, zero_stage=0, data_parallel=1)
    expected = 6_738_415_616 * 0.515869140625 + 8_388_608 * 16 + 32 * 2048 * 4096 * 2 + 2048 * 32000 * 4
    assert total == close(expected) == pytest.approx(4.409e9, rel=1e-3)


def test_one_gpu_is_the_least_and_infinite_is_a_value():
    assert tm.training_gpus(10, 0, 1, 1, 100) == 1
    assert tm.training_gpus(10, 10, 1, 1, 100) == 1
    assert tm.training_gpus(10, 0, 60, 40, 100) == math.inf
    assert tm.training_gpus(1000, 0, 50, 30, 100) == 50
    assert list(tm.training_gpus(1000, 0, 50, 30, pd.Series([100, 80, 90]))) == [50, math.inf, 100]


@given(st.integers(1, 10**9), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 10**7))
def test_the_fewest_hold_it_and_one_less_does_not(split, replicated, activations, logits, usable):
    count = tm.training_gpus(split + replicated, replicated, activations, logits, usable)

    def held(gpus):
        return tm.training_bytes(tm.sharded_state_bytes(split + replicated, replicated, gpus), activations, logits)

    if count == math.inf:
        assert replicated + activations + logits >= usable
    else:
        assert held(int(count)) <= usable * (1 + 1e-12)
        assert count == 1 or held(int(count) - 1) > usable * (1 - 1e-12)


@given(st.integers(0, 2), st.integers(1, 1000))
def test_no_stage_and_no_gpu_makes_it_worse(stage, gpus):
    params = 7_500_000_000
    assert on_one(params, stage + 1, gpus) <= on_one(params, stage, gpus) * (1 + 1e-12)
    assert on_one(params, stage, gpus + 1) <= on_one(params, stage, gpus) * (1 + 1e-12)


@given(st.integers(0, 1), st.integers(1, 64), st.integers(1, 4))
def test_more_recompute_keeps_less_and_batches_add_up(flash_attention, kilotokens, micro_batch):
    kept = [evaluate(tm.activation_bytes, LLAMA_8B, sequence=1024 * kilotokens, micro_batch=micro_batch, recompute=recompute,
                     flash_attention=flash_attention) for recompute in (0, 1, 2)]
    assert kept[0] > kept[1] > kept[2]
    single = evaluate(tm.activation_bytes, LLAMA_8B, sequence=1024 * kilotokens, micro_batch=1, recompute=0,
                      flash_attention=flash_attention)
    assert kept[0] == micro_batch * single


@pytest.mark.parametrize("name, value, allowed", [
    ("zero_stage", 4, "0, 1, 2 or 3"), ("recompute", 3, "0, 1 or 2"), ("flash_attention", 2, "0 or 1"),
    ("sequence", 0, "a whole number of at least 1"), ("micro_batch", 1.5, "a whole number"), ("sequence", "8k", "a whole number")])
def test_an_impossible_job_is_refused_by_name(name, value, allowed):
    rows, inputs = job(**{"zero_stage": 3, "data_parallel": 8, name: value})
    with pytest.raises(ValueError, match=f"{name} .*{allowed}"):
        evaluate(tm.training_bytes, *rows, **inputs)


def test_headroom_is_a_share():
    with pytest.raises(ValueError, match=r"usable_bytes: headroom .* is 10; allowed: a number from 0 to 1"):
        tm.usable_bytes(80e9, 10)


def test_published_figures():
    frame = compare("training_memory")
    analytic = frame["note"].str.startswith("analytic")
    assert len(frame) >= 4 and (frame.error[analytic].abs() < 0.014).all()
    assert frame.error[frame.index.str.startswith("tm-torchtune")].abs().max() < 0.05
    assert frame.error["tm-titan-8b"] == pytest.approx(0.27, abs=0.02)
    assert frame.error["tm-qlora-7b"] == pytest.approx(-0.37, abs=0.02)
