"""Figures published in 2025 and 2026: complete, with models of the published size, and predicted by a formula."""
import json
import math

import pytest

from gpucalc import Case
from gpucalc.laws import model_size
from gpucalc.rows import catalogue

SOURCES = {"gemm": 31, "tpu7x-gemm": 5, "attn": 14, "cudnn": 12, "norm": 4, "moe": 13, "infx": 77, "aicgap": 6, "tpu7x-Qwen3": 6,
           "m2u-tg": 18, "m2u-pp": 12, "geerling": 13}
FAMILIES = {"decode on one GPU": 31, "prefill": 12, "matrix product": 36, "attention kernel": 26, "element-wise kernel": 4,
            "expert layer": 13, "saturated serving": 6, "time per output token": 83}
# Published figures of these sources without a row: 33 times to a first token that include waiting, 21 times per output token
# and 2 rates of Qwen3.5, which has linear layers.
LACKING = 33 + 21 + 2
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


def test_every_published_figure_has_a_row_or_is_counted_as_lacking():
    assert EVERY.index.is_unique
    assert ROWS["family"].value_counts().to_dict() == FAMILIES
    assert {source: sum(name.startswith(f"{source}-") for name in ROWS.index) for source in SOURCES} == SOURCES
    assert len(ROWS) == 211 and len(ROWS) + LACKING == 267


@pytest.mark.parametrize("name", [name for name in ROWS.index if "vocab" in inputs(name)])
def test_an_architecture_has_the_published_parameters(name):
    printed = PUBLISHED[model_of(ROWS.loc[name, "subject"])]
    decimals = max(printed.index("e") - 2, 0)
    assert f"{Case.of(inputs(name))(model_size.params):.{decimals}e}" == printed


@pytest.mark.parametrize("efficiency", ["bound", "low", "achieved", "high"])
def test_every_row_is_predicted(efficiency):
    for name in ROWS.index:
        value = predicted(name, efficiency)
        assert math.isfinite(value) and value > 0, name


def test_bytes_of_a_weight_are_those_of_its_format():
    # Q8_0: 34 bytes for 32 weights, in the files as published; their norms and routers are FP32.
    for name in ROWS.index[ROWS["subject"].str.contains("in Q8_0")]:
        assert inputs(name)["weight_element_bytes"] == pytest.approx(34 / 32, rel=2e-3), name
    # gpt-oss-20b at batch 1: 4 of 32 experts of 24 layers at 17 bytes for 32, the rest but the table of embeddings in Q8_0.
    given = inputs("m2u-tg-gpt-oss-20b-0")
    one, table = 3 * 2880 * 2880, 201_088 * 2880
    rest = Case.of(given)(model_size.params) - 24 * 32 * one - table
    read = 24 * 4 * one * 17 / 32 + rest * 34 / 32
    assert given["weight_element_bytes"] == pytest.approx(read / (24 * 4 * one + rest), abs=1e-4)
    # Kimi-K2.5 as published: experts in groups of 32, 4.5 bits, the rest in BF16: 0.6 TB.
    given = inputs("infx-Kimi-K2.5-h200_sxm-vllm-int4-tp8-1024-1024-c4")
    experts = 60 * 384 * 3 * 7168 * 2048
    rest = Case.of(given)(model_size.params) - experts
    assert given["weight_bytes"] == pytest.approx(experts * 4.5 / 8 + rest * 2, rel=1e-6) == pytest.approx(0.595e12, rel=0.01)


def test_a_product_by_hand():
    # 64 rows of 16,384 by 16,384 in FP8 on an H200: weights 268.4 MB, inputs 2.1 MB read, 1 written and 1 read, output 2.1 MB.
    name = "gemm-h200_sxm-fp8-64x16384x16384"
    least = predicted(name, "bound")
    assert least == pytest.approx((16_384**2 + 64 * 16_384 * (2 + 1 + 1 + 2)) / 4.8e12, rel=1e-3)
    assert least < ROWS.loc[name, "value"] < 1.6 * least
