"""Figures published in 2025 and 2026: complete, with models of the published size, and predicted by a formula."""
import json
import math
import random

import pytest

from gpucalc import Case, queueing
from gpucalc.laws import model_size
from gpucalc.rows import catalogue
from tests.each import of_each

SOURCES = {"gemm": 31, "tpu7x-gemm": 5, "attn": 14, "cudnn": 12, "norm": 4, "moe": 13, "infx": 122, "aicgap": 6, "tpu7x-Qwen3": 6, "tpu7x-Qwen3.5-397B": 2,
           "m2u-tg": 18, "m2u-pp": 12, "geerling": 13}
FAMILIES = {"decode on one GPU": 31, "prefill": 12, "matrix product": 36, "attention kernel": 26, "element-wise kernel": 4,
            "expert layer": 13, "saturated serving": 8, "time per output token": 104, "time to first token": 24}
PUBLISHED = {  # parameters as printed
    "gpt-oss-20b": "2.09e+10", "gpt-oss-120b": "1.168e+11", "Qwen3-30B-A3B": "3.05e+10", "Qwen3-32B": "3.28e+10",
    "Qwen3-Coder-480B-A35B": "4.80e+11", "DeepSeek-R1-Distill-Qwen-14B": "1.48e+10", "Gemma-3-4B": "3.9e+09",
    "MiniMax-M2.5": "2.3e+11", "Kimi-K2.5": "1e+12", "GLM-4.7-Flash": "3.0e+10",
}
EVERY = catalogue.measurements()
ROWS = EVERY[[name.startswith(tuple(f"{source}-" for source in SOURCES)) for name in EVERY.index]]


def inputs(name):
    return json.loads(ROWS.loc[name, "inputs"])


def predicted(name, efficiency="achieved"):
    return Case.of(inputs(name) | {"efficiency": efficiency})(ROWS.loc[name, "law"])


def model_of(subject):
    return next((name for name in PUBLISHED if f" {name} in " in f" {subject}"), None)


def test_every_published_figure_has_a_row():
    assert EVERY.index.is_unique
    assert ROWS["family"].value_counts().to_dict() == FAMILIES
    assert {source: sum(name.startswith(f"{source}-") for name in ROWS.index) for source in SOURCES} == SOURCES
    assert len(ROWS) == 258


@of_each([name for name in ROWS.index if model_of(ROWS.loc[name, "subject"])])
def test_an_architecture_has_the_published_parameters(name):
    printed = PUBLISHED[model_of(ROWS.loc[name, "subject"])]
    decimals = max(printed.index("e") - 2, 0)
    assert float(f"{Case.of(inputs(name))(model_size.params):.{decimals}e}") == pytest.approx(float(printed), rel=0.006)


def test_models_stand_by_name():
    """All but one that has no row of its own; what is multiplied in 4 bits or 8, and stored, is said by the name of a format."""
    spelled = {model_of(ROWS.loc[name, "subject"]) for name in ROWS.index if "vocab" in inputs(name)}
    assert spelled == {"GLM-4.7-Flash"}
    served = ROWS.index[ROWS.index.str.startswith(("infx-", "aicgap-", "tpu7x-Qwen", "geerling-"))]
    for name in served:
        given = inputs(name)
        assert {"model", "weight_format"} <= given.keys() and "weight_element_bytes" not in given, name


@pytest.mark.parametrize("efficiency", ["bound", "low", "achieved", "high"])
def test_every_row_is_predicted(efficiency):
    for name in ROWS.index:
        value = predicted(name, efficiency)
        assert math.isfinite(value) and value > 0, name


FILES = {  # bytes as published
    "m2u-tg-gpt-oss-20b-0": 12_101_070_356, "m2u-tg-Qwen3-30B-A3B-0": 32_480_690_176, "m2u-tg-Qwen2.5-7B-0": 8_096_013_353,
    "m2u-tg-Gemma-3-4B-0": 2_523_293_286, "geerling-14b-RTX-4090-24GB": 8.37 * 2**30, "geerling-gptoss20-RTX-4090-24GB": 11.27 * 2**30,
    "infx-Kimi-K2.5-h200_sxm-vllm-int4-tp8-1024-1024-c4": 0.595e12}


@pytest.mark.parametrize("name", FILES)
def test_weights_are_as_large_as_the_file(name):
    assert Case.of(inputs(name))("weight_bytes") == pytest.approx(FILES[name], rel=0.005)


def test_what_a_token_reads_by_hand():
    # gpt-oss-20b at batch 1: 4 of 32 experts of 24 layers at 17 bytes for 32, the rest but the table of embeddings in Q8_0.
    one, table, case = 3 * 2880 * 2880, 201_088 * 2880, Case.of(inputs("m2u-tg-gpt-oss-20b-0"))
    biases = 24 * 32 * (2 * 2880 + 2880)
    rest = case(model_size.params) - 24 * 32 * one - biases - table
    assert case("read_bytes") == pytest.approx(24 * 4 * one * 17 / 32 + rest * 34 / 32, rel=1e-3)
    # Kimi-K2.5 as published: experts in groups of 32, 4.5 bits, the rest in BF16.
    case = Case.of(inputs("infx-Kimi-K2.5-h200_sxm-vllm-int4-tp8-1024-1024-c4"))
    experts = 60 * 384 * 3 * 7168 * 2048
    assert case("weight_bytes") == pytest.approx(experts * 4.5 / 8 + (case(model_size.params) - experts) * 2, rel=1e-6)


def test_users_who_ask_again():
    """16 users, 10 requests each, a prompt of 0.1 s, answers of 10 s: by hand, and as an engine's loop has it."""
    load = queueing.users_reading_load(16, 0.1, 10)
    assert load == pytest.approx(0.15)
    wait = queueing.prompt_wait_seconds(load, 0.1, 1, 0, 0)
    steady = wait + 0.1
    assert queueing.users_first_token(steady, 0.1, 0, 16, 10) == pytest.approx(0.9 * steady + 0.1 * 8.5 * 0.1)
    assert queueing.users_first_token(steady, 0.1, 0.05, 1, 1) == pytest.approx(0.15)    # and what the engine adds


@pytest.mark.parametrize("users, prompt, step", [(16, 0.03, 0.009), (16, 0.12, 0.009), (16, 0.25, 0.012), (64, 0.03, 0.012), (4, 0.25, 0.009)])
def test_first_tokens_in_a_loop_of_passes(users, prompt, step):
    """Prompts go before the next pass: the mean over ten requests of each user is that of the loop within a sixth."""
    times = [each for seed in range(6) for each in loop(users, prompt, step, seed)]
    stay = prompt + 922 * step + (users - 1) * prompt
    load = queueing.users_reading_load(users, prompt, stay)
    steady = queueing.prompt_wait_seconds(load, prompt, 1, 0, 0) + prompt + step / 2
    assert queueing.users_first_token(steady, prompt, 0, users, 10) == pytest.approx(sum(times) / len(times), rel=1 / 6)


def loop(users, prompt, step, seed, requests=10):
    """Times to the first token: users begin together, lengths are drawn evenly from 0.8 to 1 of the nominal."""
    draw = random.Random(seed)
    now, left, found, running = 0.0, users * (requests - 1), [], []
    waiting = [0.0] * users
    while waiting or running:
        now += prompt * draw.uniform(0.8, 1) / 0.9 if waiting else step
        if waiting:
            found.append(now - waiting.pop(0))
            running.append(round(1024 * draw.uniform(0.8, 1)))
        else:
            running = [each - 1 for each in running]
            again = min(running.count(0), left)
            running, left, waiting = [each for each in running if each], left - again, [now] * again
    return found


def test_a_product_by_hand():
    # 64 rows of 16,384 by 16,384 in FP8 on an H200: weights 268.4 MB, inputs 2.1 MB read, 1 written and 1 read, output 2.1 MB.
    name = "gemm-h200_sxm-fp8-64x16384x16384"
    least = predicted(name, "bound")
    assert least == pytest.approx((16_384**2 + 64 * 16_384 * (2 + 1 + 1 + 2)) / 4.8e12, rel=1e-3)
    assert least < ROWS.loc[name, "value"] < 1.6 * least
