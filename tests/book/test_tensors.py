"""The tensors of a layer and its adapters, listed one by one, sum to what the laws give."""
import math

import pytest

from book.pages.training_memory import adapter_params, kept_tensors
from gpucalc import Case, activation_memory, low_rank
from gpucalc.rows import catalogue
from tests.each import of_each


# What the list of one layer's tensors does not have: layers of several kinds, and parts that few models have.
OTHER_KINDS = ["linear_layers", "mixerless_layers", "mlpless_layers", "window_kv_heads", "window_head_dim", "attention_gate",
               "expert_latent", "mlp_beside"]
PLAIN = catalogue.models().loc[lambda rows: rows[OTHER_KINDS].sum(axis=1) == 0].index


@of_each([*PLAIN])
def test_the_tensors_of_a_layer_sum_to_the_law(model):
    layer = Case(model=model, micro_batch=3, sequence=2048)
    sizes = kept_tensors(layer)["bytes"].tolist()
    assert math.isclose(sum(sizes[:-1]), layer.but(flash_attention=1)(activation_memory.layer_activation_bytes), rel_tol=1e-12)
    assert math.isclose(sum(sizes[:-2]) + sizes[-1], layer(activation_memory.layer_activation_bytes), rel_tol=1e-12)


@pytest.mark.parametrize("recipe", ["lora", "qlora", "mixed-adamw"])
@pytest.mark.parametrize("model", ["Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3"])
def test_adapters_by_matrix_sum_to_the_law(model, recipe):
    counts = adapter_params(Case(model=model, recipe=recipe))
    row = catalogue.model(model)
    attention = sum(counts[matrix] for matrix in ("query", "key", "value", "attention output"))
    total = (row.layers * attention + (row.layers - row.moe_layers) * counts["dense MLP"]
             + row.moe_layers * counts["experts"])
    assert total == counts["all layers together"] == Case(model=model, recipe=recipe)(low_rank.lora_params)


def listed(model):
    kept = kept_tensors(Case(model=model, micro_batch=1, sequence=8))
    return {row.tensor: (row.values, row.width) for row in kept.itertuples()}


def test_the_widths_of_a_layer_of_grouped_heads_by_hand():
    """Llama-3-8B: hidden 4,096, 32 heads and 8 for keys and values of 128, an MLP of 14,336."""
    found = listed("Llama-3-8B")
    assert {tensor: held for tensor, held in found.items() if held[1] == held[1]} == {
        "inputs of the norms": ("2 h", 8192), "inputs of attention and MLP": ("2 h", 8192), "queries": ("a d", 4096),
        "keys": ("n_kv d", 1024), "values": ("n_kv d", 1024), "attention output": ("a d", 4096),
        "gate before its activation": ("f_t", 14_336), "gate after its activation": ("f_t", 14_336),
        "up projection": ("f_t", 14_336), "product of the two": ("f_t", 14_336)}
    assert list(found)[-2:] == ["softmax statistic (FlashAttention)", "or softmax output (plain attention)"]


def test_the_widths_of_a_layer_of_latents_and_experts_by_hand():
    """DeepSeek-V3: latents of 1,536 and 512, 128 heads of 128 + 64 and 128; 8 experts a token in 58 of 61 layers of 7,168."""
    found = listed("DeepSeek-V3")
    assert found["compressed vectors, before and after their norms"][1] == 2 * (1536 + 512) and found["rotary key"][1] == 64
    assert found["queries"][1] == found["keys"][1] == 128 * 192
    assert found["values"][1] == found["attention output"][1] == 128 * 128
    routed = found["inputs of the token's experts"]
    assert routed[1] == pytest.approx(8 * 58 / 61 * 7168) and routed[0] == "7.61 h"


def test_a_plain_mlp_and_normed_keys_by_hand():
    """GPT-3: an MLP of four times 12,288 without a gate. Qwen3-8B norms 32 + 8 heads of 128."""
    assert listed("GPT-3-175B")["first MLP output"] == listed("GPT-3-175B")["activation output"] == ("f_t", 49_152)
    assert listed("Qwen3-8B")["queries and keys before their norms"] == ("(a + n_kv) d", 40 * 128)
