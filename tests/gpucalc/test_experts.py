"""Mixtures of experts against hand calculations, throws of dice and published deployments."""
import random

import pytest

from gpucalc import Case, arithmetic_intensity as ai, experts as ex

DEEPSEEK = Case(model="DeepSeek-V3")


def throws(experts, each, tokens, gpus=1, rounds=200):
    """Experts that are touched, and tokens of the fullest GPU over the mean, when every token draws its experts."""
    draw, touched, fullest = random.Random(1), 0, 0
    for _ in range(rounds):
        taken = [expert for _ in range(tokens) for expert in draw.sample(range(experts), each)]
        counts = [0] * gpus
        for expert in taken:
            counts[expert * gpus // experts] += 1
        touched, fullest = touched + len(set(taken)), fullest + max(counts) * gpus / len(taken)
    return touched / rounds, fullest / rounds


@pytest.mark.parametrize("experts, each, tokens", [(128, 4, 64), (256, 8, 16), (8, 2, 8), (512, 10, 200)])
def test_a_batch_touches_what_dice_touch(experts, each, tokens):
    share = ex.routed_share(each, experts)
    assert ex.touched_experts(share, tokens, experts) == pytest.approx(throws(experts, each, tokens)[0], rel=0.02)


def test_one_token_touches_its_own_experts_and_a_crowd_all():
    assert ex.touched_experts(4 / 128, 1, 128) == pytest.approx(4)
    assert ex.touched_experts(4 / 128, 64, 128) == pytest.approx(128 * (1 - (31 / 32)**64)) == pytest.approx(111.2, abs=0.05)
    assert ex.touched_experts(4 / 128, 10_000, 128) == pytest.approx(128)
    assert ex.routed_share() == 0 and ex.touched_experts(0, 8) == 0


def test_clocks_agree_where_a_dense_model_says_times_what_is_held_over_what_is_used():
    case = Case(model="DeepSeek-V3", gpu="H100 SXM 80GB", weight_element_bytes=1)
    held = case.terms("params", "lookup_params", "active_params", "critical_batch")
    ratio = (held["params"] - held["lookup_params"]) / (held["active_params"] - held["lookup_params"])
    assert case(ex.experts_critical_batch) == pytest.approx(held["critical_batch"] * ratio)
    batch = case(ex.experts_critical_batch)
    assert case.but(batch=round(batch))(ex.pass_token_bytes) == pytest.approx(case(ex.level_token_bytes), rel=1e-3)


@pytest.mark.parametrize("form", ["BF16", "FP8", "MXFP4", "INT4-g128"])
def test_a_crowd_reads_all_but_the_embeddings(form):
    case = Case(model="gpt-oss-120b", weight_format=form)
    assert case(ex.all_read_bytes) == pytest.approx(case.but(batch=10**6)(ai.read_bytes))
    assert case(ex.all_read_bytes) < case("weight_bytes")


def test_a_crowd_reads_by_hand():
    # 100 numbers, 20 of them looked up: 80 in half a byte are 40, whether those 20 take half a byte, 2 bytes or 6 bits.
    assert ex.all_read_bytes(50, 20, 0.5) == 40 and ex.all_read_bytes(80, 20, 0.5, 1, 2) == 40
    assert ex.all_read_bytes(55, 20, 0.5, embedding_bits=6) == 40
    assert ex.experts_critical_batch(4e11, 5e8) == 800 and ex.pass_token_bytes(4e11, 800) == 5e8
    # 70 GFLOP for a token at 700 TFLOP/s take 0.1 ms, in which 3 TB/s bring 300 MB.
    assert ex.level_token_bytes(70e9, 700e12, 3e12) == pytest.approx(3e8)


def test_tokens_of_an_expert_by_hand():
    # 64 tokens x 4 over 128 experts.
    assert ex.pass_expert_tokens(64, 4 / 128) == 2
    assert ex.gpu_expert_tokens(64, 4, 8) == 32


def test_experts_of_deepseek_on_its_gpus():
    """DeepSeek-V3 (arXiv 2412.19437, section 3.4.1): prompts are read on 32 GPUs, and each hosts its original 8 experts."""
    assert DEEPSEEK.but(expert_parallel=32)(ex.gpu_experts) == 8


def test_bytes_sent_by_hand():
    # 128 tokens of 7,168 numbers to 8 experts, 1 byte out and 2 back, 7 of 8 leave the GPU.
    sent = ex.routed_bytes(128 * 8, 7168, 1, 8, dispatch_element_bytes=1, activation_element_bytes=2)
    assert sent == 128 * 8 * 7168 * 3 * 7 / 8
    assert ex.routed_bytes(128 * 8, 7168, 0, 8) == 0 == ex.routed_bytes(128 * 8, 7168, 58)


@pytest.mark.parametrize("gpus, out, back", [(64, (173e-6, 43e9), (314e-6, 46e9)), (128, (192e-6, 39e9), (369e-6, 39e9)),
                                             (256, (194e-6, 39e9), (360e-6, 40e9))])
def test_bytes_sent_as_kernels_were_timed(gpus, out, back):
    """DeepEP README at 1b8f467 (2026-04-16): 128 tokens a GPU, 7,168 hidden, 8 experts, FP8 out and BF16 back: seconds, bytes/s."""
    sent = ex.routed_bytes(128 * 8, 7168, 1, gpus, dispatch_element_bytes=1, activation_element_bytes=2)
    assert sent == pytest.approx(out[0] * out[1] + back[0] * back[1], rel=0.03)


@pytest.mark.parametrize("gpus, users", [(8, 16), (32, 64), (16, 8)])
def test_the_fullest_gpu_is_near_what_dice_give(gpus, users):
    """The formula is on the safe side: tokens choose different experts, which evens them out a little."""
    thrown = throws(256, 8, gpus * users, gpus, rounds=20)[1]
    found = Case(model="DeepSeek-V3", batch=gpus * users, expert_parallel=gpus)(ex.random_imbalance)
    assert thrown < found < 1 + 1.7 * (thrown - 1)
    assert ex.random_imbalance(100) == 1
    # 16 GPUs with 100 tokens in the mean: 2 ln 16 = 5.5452, a hundredth of it, its root 0.23548.
    assert ex.random_imbalance(100, 16) == pytest.approx(1.23548, abs=1e-5)
