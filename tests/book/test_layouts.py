"""What the page on layouts shows: fullest GPUs and published layouts."""
import json

import numpy as np
import pytest

from book.components.memory import fullest
from book.pages.layouts import OF_2021, PUBLISHED, published_layout, published_layouts
from gpucalc.decisions.layouts import AXES, best_layouts, in_layout, layout_name, usual_axes
from gpucalc.rows import catalogue
from tests.gpucalc.test_layouts import case_of, LLAMA, ONE


def test_the_fullest_gpu_holds_what_the_search_says():
    for row in best_layouts(**LLAMA, count=4).to_dict("records"):
        assert fullest(in_layout(case_of(LLAMA), row)).value == row["training_bytes"]


@pytest.fixture(scope="module")
def published():
    return published_layouts()


def test_published_layouts_are_in_the_space():
    rows = catalogue.measurements()
    for row, changes, axes in PUBLISHED.values():
        inputs = json.loads(rows.loc[row, "inputs"]) | changes
        gpus = np.prod([inputs.get(name, 1) for name in (
            "tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel")])
        model = catalogue.model(inputs["model"]) if "model" in inputs else inputs
        usual = usual_axes(model, [int(gpus)], inputs.get("flash_attention", 0)) | axes
        for name in set(inputs) & set(AXES) - {"zero_bubble"}:
            assert inputs[name] in usual[name], (row, name)


def test_published_layouts_fit_where_they_ran_or_are_too_close_to_call(published):
    """Meta's does where gradients are split: it freed what later computation does not need (arXiv 2407.21783, section 3.3.2)."""
    refused = published.index[published["fits"] == "no"]
    assert list(refused) == ["Llama 3 405B on 8,192 GPUs", "Llama 3 405B on 16,384", "Llama 3 405B, sequences of 131,072"]
    assert set(published["fits"]) == {"yes", "no", "too close to call"}
    assert published.loc["NVIDIA, 405B on 1,024, BF16 gradients", "fits"] == "too close to call"


def test_published_layouts_are_ranked_near_the_best(published):
    """All but the one that scatters gradients after each micro-batch are within a quarter of the best step found."""
    others = published.drop("the same, gradients scattered after each micro-batch")
    assert (others["slower"] < 0.25).all() and others["slower"].median() < 0.1
    many = others[others["layouts"] > 1000]
    assert len(many) > 5 and (many["rank"] <= many["layouts"] / 200).all()


def test_deepseek_v3_is_trained_with_expert_parallelism(published):
    """arXiv 2412.19437: TP 1, PP 16, EP 64, ZeRO-1, a step of 19.9 s. Search and publication both share out the experts."""
    row = published.loc["DeepSeek-V3 on 2,048"]
    assert row["measured_seconds"] == 19.9 and row["fits"] == "yes"
    assert row["found"]["expert_parallel"] > 8 and row["found"]["tensor_parallel"] == 1
    assert row["band"].low < row["measured_seconds"] < row["band"].high
    assert row["published"]["step_seconds"] == pytest.approx(row["band"].value, rel=0.01)


def test_a_published_layout_beside_the_best_of_its_time():
    inputs = json.loads(catalogue.measurements().loc["step-sc21-3.6b", "inputs"])
    row = published_layout(inputs, OF_2021)
    assert (row["gpus"], layout_name(row["published"]).replace("\u00a0", " ")) == (64, "TP 2, DP 32")
    assert -0.01 < row["slower"] < 0.25 and row["rank"] <= row["layouts"] + 1
    only = published_layout(inputs, {name: [inputs.get(name, ONE[name])] for name in AXES})
    assert only["found"] == {name: value for name, value in only["published"].items() if name != "reason"} and only["slower"] == 0
    assert only["rank"] == only["layouts"] == only["as_good"] == 1
