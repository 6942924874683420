"""What one GPU holds of a model, counted by hand matrix by matrix, and layouts that no cluster can have."""
from pathlib import Path

import pytest

from gpucalc import sharding as sh
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.each import of_each

CONFIGS = Path(__file__).parents[1] / "configs"
LLAMA_70B = catalogue.model("Llama-3-70B")
DEEPSEEK = catalogue.model("DeepSeek-V3")
OPT = catalogue.model("OPT-13B")
EXPERT = 3 * 7168 * 2048                            # gate, up and down of one expert of DeepSeek-V3


def parts(architecture, **layout):
    """Embeddings, layers and routed experts on one GPU."""
    return [Case(architecture, **{name: value for name, value in layout.items() if name in used})(law)
            for law, used in ((sh.gpu_embedding_params, ("tensor_parallel", "pipeline_parallel", "last_stage")),
                              (sh.gpu_layer_params, ("tensor_parallel", "pipeline_parallel", "virtual_stages")),
                              (sh.gpu_expert_params, ("expert_tensor_parallel", "pipeline_parallel", "expert_parallel")))]


# Parameters

@of_each([*catalogue.models().index, *sorted(map(str, CONFIGS.iterdir()))])
def test_one_gpu_alone_holds_the_whole_model(name):
    model = catalogue.model(name)
    held = Case(model)(sh.gpu_params)
    assert held == model["params"] and held == int(held)


def test_tensor_parallel_of_llama_3_70b():
    # 8 query heads of 128 and 1 key and value head; a width of 28672 / 8 = 3584; 128256 / 8 = 16032 rows of both tables.
    attention = 2 * 8192 * 1024 + 2 * 8192 * 128
    mlp = 3 * 8192 * 3584
    assert Case(LLAMA_70B, tensor_parallel=8)(sh.gpu_kv_heads) == 1
    assert Case(LLAMA_70B, tensor_parallel=8)(sh.gpu_attention_params) == attention == 18_874_368
    assert Case(LLAMA_70B, tensor_parallel=8)(sh.gpu_mlp_params) == mlp == 88_080_384
    layers = 80 * (attention + mlp + 2 * 8192)      # the two norms are whole
    embeddings = 2 * 16032 * 8192 + 8192            # so is the final norm
    assert parts(LLAMA_70B, tensor_parallel=8) == [embeddings, layers, 0]
    assert Case(LLAMA_70B, tensor_parallel=8)(sh.gpu_params) == layers + embeddings == 8_820_367_360
    assert 8 * (layers + embeddings) == 70_553_706_496 + 7 * 161 * 8192


def test_key_and_value_heads_are_copied_above_their_number():
    # 16 GPUs, 8 key and value heads: 4 query heads of 128 and one key and value head on each.
    assert sh.gpu_kv_heads(kv_heads=8, tensor_parallel=4) == 2
    assert sh.gpu_kv_heads(kv_heads=8, tensor_parallel=16) == 1
    assert Case(LLAMA_70B, tensor_parallel=16)(sh.gpu_attention_params) == 2 * 8192 * 512 + 2 * 8192 * 128
    # Falcon-7B has one for all of its 71 query heads of 64.
    assert Case(catalogue.model("Falcon-7B"),
                tensor_parallel=71)(sh.gpu_attention_params) == 2 * 4544 * 64 + 2 * 4544 * 64


def test_biases_and_positions():
    # OPT-13B on 8: 5 of 40 heads of 128 and their biases; output biases, norms of two vectors and 2050 positions are whole.
    attention = 4 * 5120 * 640 + 3 * 640 + 5120
    mlp = 2 * 5120 * 2560 + 2560 + 5120
    assert Case(OPT, tensor_parallel=8)(sh.gpu_attention_params) == attention
    assert Case(OPT, tensor_parallel=8)(sh.gpu_mlp_params) == mlp
    # 50272 / 8 = 6284 rows of the one table that input and output share.
    assert parts(OPT, tensor_parallel=8) == [6284 * 5120 + 2050 * 5120 + 2 * 5120, 40 * (attention + mlp + 4 * 5120), 0]
    # The head of Phi-2 has a bias; on the last of two stages, split in 8: 6400 rows and biases, and the final norm.
    phi = catalogue.model(CONFIGS / "Phi-2.json")
    assert Case(phi, tensor_parallel=8)(sh.gpu_embedding_params) == 2 * 6400 * 2560 + 6400 + 2 * 2560
    last = Case(phi, tensor_parallel=8, pipeline_parallel=2, last_stage=1)(sh.gpu_embedding_params)
    assert last == 6400 * 2560 + 6400 + 2 * 2560


def test_norms_of_queries_and_keys_are_whole():
    # Qwen3-8B on 4: 8 query heads and 2 key and value heads of 128, one norm of 128 for queries and one for keys.
    assert Case(catalogue.model("Qwen3-8B"), tensor_parallel=4)(sh.gpu_attention_params) == (
        2 * 4096 * 1024 + 2 * 4096 * 256 + 2 * 128)


def test_latent_attention_splits_only_the_heads():
    # DeepSeek-V3 on 8, 16 heads each: the compressions to 1536 and to 512 + 64 and their norms are whole.
    assert Case(DEEPSEEK, tensor_parallel=8)(sh.gpu_attention_params) == (
        7168 * 1536 + 1536 + 1536 * 16 * (128 + 64) + 7168 * (512 + 64) + 512 + 512 * 16 * (128 + 128) + 16 * 128 * 7168)


def test_expert_parallel_of_deepseek_v3():
    # 32 of 256 experts in each of 58 layers; the router with its biases, the shared expert and all else are on each of the 8.
    attention = 7168 * 1536 + 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 + 512 * 128 * 256 + 128 * 128 * 7168
    layers = 61 * (attention + 2 * 7168) + 3 * 3 * 7168 * 18432 + 58 * (256 * 7168 + 256 + EXPERT)
    experts = 58 * 32 * EXPERT
    embeddings = 2 * 129280 * 7168 + 7168
    assert parts(DEEPSEEK, expert_parallel=8) == [embeddings, layers, experts]
    assert embeddings + layers + 8 * experts == 671_026_419_200
    # Tensor parallel splits the width of the shared expert, and of the others only to a degree of their own.
    assert Case(DEEPSEEK, expert_parallel=8, expert_tensor_parallel=4)(sh.gpu_expert_params) == experts / 4
    assert Case(DEEPSEEK, expert_parallel=8, tensor_parallel=4)(sh.gpu_expert_params) == experts
    whole = Case(DEEPSEEK, gpu_attention_params=attention, gpu_mlp_params=1, tensor_parallel=4)(sh.gpu_layer_params)
    assert whole == 61 * (attention + 2 * 7168) + 3 * 1 + 58 * (256 * 7168 + 256 + EXPERT / 4)


def test_gate_of_the_shared_experts():
    # Qwen1.5-MoE: in each of 24 layers a router of 60, four shared experts of 1408 and their gate, one value per input.
    qwen = catalogue.model(CONFIGS / "Qwen1.5-MoE-A2.7B.json")
    attention = 4 * 2048 * 2048 + 3 * 2048
    assert Case(qwen)(sh.gpu_layer_params) == 24 * (
        attention + 2 * 2048 + 60 * 2048 + 4 * 3 * 2048 * 1408 + 2048)


def test_layers_of_several_kinds_on_one_gpu():
    # Qwen3-Next on 2: 8 query heads with their gates, one key and value head of 256; of a linear layer 8 key and 16 value heads of
    # 128: projections, convolution of 4, decay and step, and whole the norm of one head.
    case = Case(model="Qwen3-Next-80B-A3B", tensor_parallel=2)
    attention = 2048 * (3 * 2048 + 2 * 256) + 2 * 256
    linear = 2048 * (2 * 1024 + 3 * 2048 + 2 * 16) + 4 * (2 * 1024 + 2048) + 2 * 16 + 128
    assert case(sh.gpu_attention_params) == attention and case(sh.gpu_linear_params) == linear
    assert case(sh.gpu_mixing_params) == (12 * attention + 36 * linear) / 48
    # Gemma-4-31B on 8: 4 query heads; of 16 key heads of 256 two, of 4 of 512 one, a copy, and no projection of values.
    case = Case(model="Gemma-4-31B", tensor_parallel=8)
    assert case(sh.gpu_window_params) == 5376 * 256 * (4 + 2 + 2 + 4) + 2 * 256
    assert case(sh.gpu_attention_params) == 5376 * 512 * (4 + 1 + 4) + 2 * 512
    # gpt-oss-120b on 8: 8 query heads of 64 with their sinks, one key and value head, biases.
    assert Case(model="gpt-oss-120b", tensor_parallel=8)(sh.gpu_window_params) == 2880 * 64 * 18 + 8 * 64 + 2 * 64 + 2880 + 8
    # Nemotron-3-Super: 32 of 512 experts of 1024 channels in each of 40 layers; no layer has a dense MLP.
    case = Case(model="Nemotron-3-Super-120B-A12B", expert_parallel=16)
    assert case(sh.gpu_expert_params) == 40 * 32 * 2 * 1024 * 2688 and case(sh.stage_mlp_layers) == 0


# Stages

def test_layers_of_the_fullest_stage():
    assert sh.stage_layers(layers=80) == 80
    assert sh.stage_layers(layers=80, pipeline_parallel=4) == 20
    assert sh.stage_layers(layers=61, pipeline_parallel=16) == 4
    # Four chunks on each of four GPUs: 61 layers in 16 chunks of at most 4, four chunks on a GPU.
    assert sh.stage_layers(layers=61, pipeline_parallel=4, virtual_stages=4) == 16
    assert sh.stage_mlp_layers(61, 16, 15) == 1 and sh.stage_mlp_layers(52, 13, 0, mlpless_layers=28) == 6
    assert sh.stage_mlp_layers(30, 8, 8, mlp_beside=1) == 8 and sh.stage_mlp_layers(52, 13, 6, mlpless_layers=29) == 0
    assert sh.stage_moe_layers(moe_layers=58) == 58
    assert sh.stage_moe_layers(moe_layers=58, pipeline_parallel=4) == 15
    assert sh.stage_moe_layers(moe_layers=58, pipeline_parallel=4, virtual_stages=4) == 16


def test_first_and_last_stage():
    # OPT-13B in four stages of 10 layers: table and positions on the first, the same table and the final norm on the last.
    layers = 10 * (4 * 5120**2 + 4 * 5120 + 2 * 5120 * 20480 + 20480 + 5120 + 4 * 5120)
    assert parts(OPT, pipeline_parallel=4) == [50272 * 5120 + 2050 * 5120, layers, 0]
    assert parts(OPT, pipeline_parallel=4, last_stage=1) == [50272 * 5120 + 2 * 5120, layers, 0]
    # DeepSeek-V3 in four stages: 15 of 58 sparse layers, so 1 dense one beside them in the fullest of 16.
    assert parts(DEEPSEEK, pipeline_parallel=4)[2] == 15 * 256 * EXPERT
    assert parts(DEEPSEEK, pipeline_parallel=4)[0] == 129280 * 7168


@pytest.mark.parametrize("layout, last_stage, expected", [
    # 1F1B with 80 layers: on the first of 4 GPUs four micro-batches of 20 layers, on the last one.
    (dict(pipeline_parallel=4), 0, 4 * 20),
    (dict(pipeline_parallel=4), 1, 20),
    (dict(pipeline_parallel=4, micro_batches=3), 0, 3 * 20),
    (dict(), 0, 80),
    (dict(), 1, 80),
    # Two chunks of 10 layers: 2 x 3 on their way, 4 of the first chunk, the one that runs; the last GPU has none on the way.
    (dict(pipeline_parallel=4, virtual_stages=2), 0, (6 + 4 + 1) * 10),
    (dict(pipeline_parallel=4, virtual_stages=2), 1, (4 + 1) * 10),
    (dict(pipeline_parallel=4, virtual_stages=2, micro_batches=4), 0, 4 * 2 * 10),
    # Five chunks of 4 layers, two micro-batches of each.
    (dict(pipeline_parallel=4, virtual_stages=5, micro_batches=2), 0, 2 * 20),
])
def test_layers_in_flight(layout, last_stage, expected):
    layout = dict(micro_batches=32) | layout
    assert Case(LLAMA_70B, last_stage=last_stage, **layout)(sh.in_flight_layers) == expected


@pytest.mark.parametrize("stages, chunks", [(8, 3), (8, 2), (35, 3)])
def test_interleaving_keeps_more_by_the_factor_of_the_paper(stages, chunks):
    # Korthikanti et al., section 4.2.3: L (1 + (p - 1) / (p v)). GPT-3 175B has p = 8, v = 3; 530B has p = 35, v = 3.
    layers = stages * chunks * 2
    kept = Case(layers=layers, pipeline_parallel=stages, virtual_stages=chunks,
                micro_batches=10**6)(sh.in_flight_layers)
    assert kept == pytest.approx(layers * (1 + (stages - 1) / (stages * chunks)), rel=1e-12)


def test_context_parallel_splits_the_tokens():
    assert sh.gpu_tokens(micro_batch=2, sequence=8192) == 16384
    assert sh.gpu_tokens(micro_batch=2, sequence=8192, context_parallel=4) == 4096


def test_values_of_context_parallel():
    assert Case(LLAMA_70B, tensor_parallel=4)(sh.gpu_context_values) == 2 * 2 * 128
    # DeepSeek-V3: keys of 128 + 64 and values of 128 for each of 128 heads.
    assert Case(DEEPSEEK)(sh.gpu_context_values) == 128 * 320 == 40_960


def test_who_splits_a_state():
    assert sh.shard_ranks(data_parallel=16, context_parallel=4) == 64
    assert sh.shard_ranks(data_parallel=16, context_parallel=4, shard_parallel=8) == 8
    # Each of 64 experts' groups is on every 64th GPU of 64 pairs.
    assert sh.expert_shard_ranks(shard_ranks=64, tensor_parallel=2, expert_parallel=64) == 2
    assert sh.expert_shard_ranks(shard_ranks=64, tensor_parallel=2, expert_parallel=16, expert_tensor_parallel=2) == 4
    assert sh.expert_shard_ranks(shard_ranks=8, expert_parallel=64) == 1


# Layouts that cannot be

@pytest.mark.parametrize("model, layout, expected", [
    ("Llama-3-70B", dict(tensor_parallel=7), r"tensor_parallel \(.*\) is 7; allowed: a divisor of heads \(heads 64\)"),
    ("Llama-3-70B", dict(tensor_parallel=128), r"tensor_parallel .* is 128; allowed: a divisor of heads \(heads 64\)"),
    ("Llama-3-70B", dict(tensor_parallel=8, kv_heads=6),
     r"tensor_parallel .* is 8; allowed: a divisor or a multiple of kv_heads \(kv_heads 6\)"),
    ("Llama-3-70B", dict(tensor_parallel=8, intermediate=28676),
     r"tensor_parallel .* is 8; allowed: a divisor of intermediate \(intermediate 28676\)"),
    ("Falcon-7B", dict(tensor_parallel=2), r"tensor_parallel .* is 2; allowed: a divisor of heads \(heads 71\)"),
    ("Llama-3-70B", dict(pipeline_parallel=83, virtual_stages=1),
     r"pipeline_parallel .* is 83; allowed: at most layers \+ 2, .* \(layers 80, virtual_stages 1\)"),
    ("Llama-3-70B", dict(pipeline_parallel=16, virtual_stages=6),
     r"pipeline_parallel .* is 16; allowed: at most layers \+ 2, with virtual_stages chunks .* \(layers 80, virtual_stages 6\)"),
    ("Llama-3-70B", dict(pipeline_parallel=1, virtual_stages=2),
     r"virtual_stages .* is 2; allowed: 1 without pipeline parallel \(pipeline_parallel 1\)"),
    ("DeepSeek-V3", dict(expert_parallel=3, data_parallel=3, context_parallel=1),
     r"expert_parallel .* is 3; allowed: a divisor of experts, 1 without experts \(experts 256\)"),
    ("Mixtral-8x7B", dict(expert_parallel=16, data_parallel=16, context_parallel=1),
     r"expert_parallel .* is 16; allowed: a divisor of experts, 1 without experts \(experts 8\)"),
    ("Llama-3-70B", dict(expert_parallel=2, data_parallel=2, context_parallel=1),
     r"expert_parallel .* is 2; allowed: a divisor of experts, 1 without experts \(experts 0\)"),
    ("DeepSeek-V3", dict(expert_parallel=8, data_parallel=4, context_parallel=1),
     r"expert_parallel .* is 8; .* a divisor of tensor_parallel x data_parallel x context_parallel "
     r"\(tensor_parallel 1, data_parallel 4"),
    ("DeepSeek-V3", dict(tensor_parallel=4, expert_tensor_parallel=8),
     r"expert_tensor_parallel .* is 8; allowed: a divisor of tensor_parallel \(tensor_parallel 4\)"),
    ("Llama-3-70B", dict(context_parallel=3, sequence=8192),
     r"context_parallel .* is 3; allowed: a divisor of sequence \(sequence 8192\)"),
])
def test_a_layout_that_does_not_divide_is_refused(model, layout, expected):
    with pytest.raises(ValueError, match=expected):
        sh.check_layout(catalogue.model(model), **layout)


@pytest.mark.parametrize("model, layout", [
    ("Llama-3-70B", dict(tensor_parallel=64, pipeline_parallel=80, virtual_stages=1, data_parallel=3)),
    ("Llama-3-70B", dict(pipeline_parallel=16, virtual_stages=5, context_parallel=8, sequence=8192)),
    ("DeepSeek-V3", dict(expert_parallel=64, data_parallel=16, context_parallel=4, tensor_parallel=128)),
    ("Falcon-7B", dict(tensor_parallel=71)),
    # Experts of their own degree: 64 of them over both GPUs of a tensor-parallel pair.
    ("DeepSeek-V3", dict(tensor_parallel=2, expert_parallel=64, data_parallel=32)),
    # Llama 3 405B: 126 layers in 128 chunks, the first and the last without one (arXiv 2407.21783, section 3.3.2).
    ("Llama-3.1-405B", dict(pipeline_parallel=16, virtual_stages=8)),
    ("Llama-3-70B", dict()),
])
def test_a_layout_that_divides_is_let_through(model, layout):
    sh.check_layout(catalogue.model(model), **layout)


def test_degrees_that_are_not_given_are_one():
    with pytest.raises(ValueError, match="pipeline_parallel .* is 83"):
        sh.check_layout(LLAMA_70B, pipeline_parallel=83)
    with pytest.raises(ValueError, match="virtual_stages .* is 2"):
        sh.check_layout(LLAMA_70B, virtual_stages=2)
    with pytest.raises(ValueError, match="expert_parallel .* is 8"):
        sh.check_layout(DEEPSEEK, expert_parallel=8, data_parallel=4)


@pytest.mark.parametrize("degree", [0, -8, 2.5, "8", None, float("nan")])
def test_a_degree_that_is_no_count_is_refused(degree):
    with pytest.raises(ValueError, match=r"tensor_parallel \(.*\) is .*; allowed: a whole number of at least 1"):
        sh.check_layout(LLAMA_70B, tensor_parallel=degree)
