"""What the page on layouts shows: fullest GPUs and published layouts."""
import json
from itertools import pairwise

import numpy as np
import pytest

from book.components.memory import fullest
from book.pages.layouts import cluster_picture, cuts_picture, published_layout, published_layouts
from gpucalc.decisions.layouts import AXES, best_layouts, in_layout, KINDS, layout_name, usual_axes
from gpucalc.rows import catalogue
from tests.gpucalc.test_layouts import case_of, LLAMA, ONE
from tests.pictures import boxes


def test_the_fullest_gpu_holds_what_the_search_says():
    for row in best_layouts(**LLAMA, count=4).to_dict("records"):
        assert fullest(in_layout(case_of(LLAMA), row)).value == row["training_bytes"]


@pytest.fixture(scope="module")
def published():
    return published_layouts()


def test_published_layouts_are_in_the_space():
    rows, without = catalogue.measurements(), {"zero_bubble", "shard_parallel", "expert_tensor_parallel"}
    for name, row in catalogue.layouts().iterrows():
        inputs = (json.loads(rows.loc[row["row"], "inputs"]) if row["row"] else {}) | json.loads(row["inputs"])
        gpus = np.prod([inputs.get(name, 1) for name in (
            "tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel")])
        model = catalogue.model(inputs["model"]) if "model" in inputs else inputs
        usual = usual_axes(model, [int(gpus)]) | json.loads(row["tried"])
        for axis in set(inputs) & set(AXES) - without:
            assert inputs[axis] in usual[axis], (name, axis)


def test_published_layouts_fit_where_they_ran_or_are_too_close_to_call(published):
    """Meta freed what later computation does not need (arXiv 2407.21783, section 3.3.2): more than the formulas on half of the GPUs.
    What NVIDIA's recomputed is not printed, and nothing is taken."""
    refused = published.index[published["fits"] == "no"]
    assert list(refused) == ["Llama 3 405B on 8,192 GPUs", "NVIDIA, Llama 3 8B on 8"]
    assert set(published["fits"]) == {"yes", "no", "too close to call"}
    assert published.loc["NVIDIA, 405B on 1,024, BF16 gradients", "fits"] == "too close to call"


def test_published_layouts_are_ranked_near_the_best(published):
    """Twelve of eighteen are as good as the best found for their job under their own recipe, and all within a sixth or so."""
    slower = published["slower"]
    assert (slower >= 0).all() and (slower <= 0.05).sum() == 12 and slower.median() < 0.02 and slower.max() < 0.18
    assert set(published.index[slower > 0.1]) == {"Llama 3 405B on 8,192 GPUs", "Llama 3 405B on 16,384", "torchtitan, 405B on 512"}
    assert published.loc["NVIDIA, Qwen3 30B on 16, exchange hidden", "rank"] == 1
    assert published.loc["DeepSeek-V3 on 2,048", "rank"] == 1 and published.loc["DeepSeek-V3 on 2,048", "layouts"] > 400_000
    many = published[published["layouts"] > 1000]
    assert len(many) > 5 and (many["rank"] <= many["layouts"] / 15).all()


def test_a_layout_that_ran_is_compared_with_all_that_need_no_more_memory(published):
    """Otherwise one that the formulas refuse would be held against recipes that spend time to save memory, and seem the faster."""
    for row in published.itertuples():
        most = max(row.published["training_bytes"], row.case.rows["gpu"].memory_bytes)
        assert row.found["training_bytes"] <= most and row.found["plan_seconds"] <= row.alike["plan_seconds"] <= row.published["plan_seconds"]
        assert all(row.alike[name] == row.published[name] for name in KINDS[:4])


def test_the_step_of_a_published_rate(published):
    """torchtitan, table 5: 128 tokens a second on each of 512 GPUs; 256 sequences of 8,192 are 2,097,152 tokens: 32 s. Qwen3's was
    measured, OLMo's has no printed speed."""
    assert published.loc["torchtitan, 405B on 512", "measured_seconds"] == pytest.approx(2_097_152 / (512 * 128))
    assert published.loc["NVIDIA, Qwen3 30B on 16", "measured_seconds"] == 24.7138
    assert np.isnan(published.loc["OLMo 3 32B on 1,024", "measured_seconds"])


def test_deepseek_v3_is_trained_with_expert_parallelism(published):
    """arXiv 2412.19437: TP 1, PP 16, EP 64, ZeRO-1, a step of 19.9 s. Search and publication both share out the experts."""
    row = published.loc["DeepSeek-V3 on 2,048"]
    assert row["measured_seconds"] == 19.9 and row["fits"] == "too close to call"
    assert row["found"]["expert_parallel"] > 8
    assert row["band"].low < row["measured_seconds"] < row["band"].high
    assert row["published"]["step_seconds"] == pytest.approx(row["band"].value, rel=0.01)


def test_experts_of_2024_are_split_like_attention_inside_data_parallel(published):
    """Megatron-LM v0.8, parallel_state.py: data_parallel_size % expert_model_parallel_size, and one tensor-parallel size for both."""
    row = published.loc["Megatron-LM, Mixtral 8x22B on 128"]
    for each in (row["found"], row["alike"], row["published"]):
        assert each["expert_tensor_parallel"] == each["tensor_parallel"] and each["data_parallel"] % each["expert_parallel"] == 0
    assert row["found"]["expert_parallel"] == 8 and 0.05 < row["slower"] < 0.12


def test_a_published_layout_beside_the_best_of_its_time():
    inputs = json.loads(catalogue.measurements().loc["step-sc21-3.6b", "inputs"])
    row = published_layout(inputs, dict(context_parallel=[1], zero_stage=[0], recompute=[2], sequence_parallel=[0]))
    assert (row["gpus"], layout_name(row["published"]).replace("\u00a0", " ")) == (64, "TP 2, DP 32")
    assert 0 <= row["slower"] < 0.25 and row["rank"] <= row["layouts"]
    only = published_layout(inputs, {name: [inputs.get(name, ONE[name])] for name in AXES})
    assert only["found"] == {name: value for name, value in only["published"].items() if name != "reason"} and only["slower"] == 0
    assert only["rank"] == only["layouts"] == 1


def test_four_gpus_share_a_model_in_four_ways():
    """Each GPU holds a whole copy and its tokens, a column, a layer, or a copy and its piece of a sequence."""
    shown = cuts_picture()
    for color in "abcd":
        held = boxes(shown, color)
        assert len(held) == 17 + 4 + 4 + 17
        copy, column, layer, context = held[:17], held[17:21], held[21:25], held[25:]
        assert copy[0].left == copy[-1].left == min(box.left for box in copy) and copy[-1].top > copy[-2].foot
        assert len({box.left for box in column}) == 1 == len({box.top for box in layer})
        assert len({box.top for box in column}) == 4 == len({box.left for box in layer})
        assert context[-1].top > context[-2].foot
    pieces = [boxes(shown, color)[-1] for color in "abcd"]
    assert all(one.right == other.left for one, other in pairwise(pieces)), "one sequence in four pieces"


@pytest.mark.parametrize("node, shown", [(4, 4), (8, 8)])
def test_a_stage_shows_the_gpus_of_its_node(node, shown):
    row = best_layouts(**LLAMA, count=1).to_dict("records")[0]
    drawn = cluster_picture(in_layout(case_of(LLAMA), row).but(gpus_per_node=node))
    assert [len(boxes(drawn, color)) for color in "abcd"] == [shown] * 4
    stages = boxes(drawn, "wash")[-4:]
    assert all(stage.holds(gpu, 0) for stage, color in zip(stages, "abcd") for gpu in boxes(drawn, color))
