"""What the page on a model's size shows."""
import re

import pytest

from book.pages import model_size as pictures
from book.pages.model_size import matrices, matrix_frame, params_of
from gpucalc import model_size as size
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number
from gpucalc.rows import catalogue
from tests.each import of_each


@of_each(catalogue.models().index.tolist())
def test_the_matrices_of_a_layer_are_what_the_laws_count_without_biases_and_norms(model):
    row = catalogue.model(model)
    bare = Case(row, qkv_bias=0, output_bias=0, mlp_bias=0, expert_bias=0, qk_norm=0, router_bias=0, shared_gate=0, sinks=0)
    latents = row.q_lora_rank + row.kv_lora_rank if row.kv_lora_rank else 0
    latents += row.rope_head_dim if row.o_lora_rank else 0  # the norm of a key that is the value too
    dense = bare(size.mlp_params) if row.mlp_beside or not row.moe_layers else 0
    counted = bare(size.attention_params) - latents + dense + (bare(size.moe_params) if row.moe_layers else 0)
    assert params_of(matrices(row)) == counted
    frame = matrix_frame(row)
    assert frame["parameters"].sum() == counted and frame["share"].sum() == pytest.approx(1)


def test_the_picture_of_a_layer():
    shown = pictures.layer(Case(model="Llama-3-8B"))
    assert "80.8 % of a Llama-3-8B layer sits in its MLP" in shown.source  # 176,160,768 of 218,103,808
    assert "attention, Q, K, V, O: 41.9 million" in shown.source and "MLP, gate, up, down: 176 million" in shown.source
    assert "32 layers, embedding and head: 8.03 billion" in shown.source
    boxes = [float(wide) for wide in re.findall(r'<rect [^>]*?width="([\d.]+)"', shown.source)]
    assert boxes[0] / boxes[1] == pytest.approx(4096 / 1024, rel=1e-3) and boxes[4] / boxes[0] == pytest.approx(14336 / 4096, rel=1e-3)


@pytest.mark.parametrize("model", ["DeepSeek-V3", "Mixtral-8x7B", "GPT-3-175B"])
def test_the_picture_of_another_layer(model):
    row = catalogue.model(model)
    shown = pictures.layer(Case(row)).source
    assert number(Case(row)(size.params)) in shown and ("one of" in shown) == (row.moe_layers > 0)


@pytest.mark.parametrize("gpu", ["H100 SXM 80GB", "RTX 4090 24GB", "TPU v5e 16GB"])
def test_the_pipes_of_a_card_are_to_scale(gpu):
    row, network = catalogue.gpu(gpu), catalogue.link("InfiniBand NDR")
    shown = pictures.card(Case(row), network).source
    rates = [rate for rate in (row.bandwidth, row.link_bandwidth, row.host_bandwidth, network.link_bandwidth) if rate == rate]
    assert all(number(rate, "byte/second") in shown for rate in rates) and number(row.peak_flops, "FLOP/second") in shown
    thick = [float(tall) for tall in re.findall(r'height="([\d.]+)" rx="0"', shown)]
    assert [each / thick[0] for each in thick] == pytest.approx([max(rate / row.bandwidth, 1 / thick[0]) for rate in rates], rel=1e-3)
