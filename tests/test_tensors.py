"""The tensors of a layer and its adapters, listed one by one, sum to what the laws give."""
import math

import pytest

from gpucalc import Case, training_memory as tm
from gpucalc.plan.tensors import adapter_params, kept_tensors
from gpucalc.rows import catalogue


@pytest.mark.parametrize("model", catalogue.models().index)
def test_the_tensors_of_a_layer_sum_to_the_law(model):
    layer = Case(model=model, micro_batch=3, sequence=2048)
    sizes = kept_tensors(layer)["bytes"].tolist()
    assert math.isclose(sum(sizes[:-1]), layer.but(flash_attention=1)(tm.layer_activation_bytes), rel_tol=1e-12)
    assert math.isclose(sum(sizes[:-2]) + sizes[-1], layer(tm.layer_activation_bytes), rel_tol=1e-12)


@pytest.mark.parametrize("recipe", ["lora", "qlora", "mixed-adamw"])
@pytest.mark.parametrize("model", ["Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3"])
def test_adapters_by_matrix_sum_to_the_law(model, recipe):
    counts = adapter_params(Case(model=model, recipe=recipe))
    row = catalogue.model(model)
    attention = sum(counts[matrix] for matrix in ("query", "key", "value", "attention output"))
    total = (row.layers * attention + (row.layers - row.moe_layers) * counts["dense MLP"]
             + row.moe_layers * counts["experts"])
    assert total == counts["all layers together"] == Case(model=model, recipe=recipe)(tm.lora_params)
