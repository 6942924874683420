"""Time of a training step against hand calculations: the arithmetic stands in each test, written out without the laws."""
import itertools
import json

import pytest

from gpucalc import LAWS
from gpucalc.rows import catalogue
from gpucalc import training_time as tt
from gpucalc.core.evaluate import Case
from gpucalc.page.measured import compare

LLAMA_8B, LLAMA_405B = catalogue.model("Llama-3-8B"), catalogue.model("Llama-3.1-405B")
DEEPSEEK = catalogue.model("DeepSeek-V3")
H100, ADAMW = catalogue.gpu("H100 SXM 80GB"), catalogue.recipe("mixed-adamw-fp32-grads")
LLAMA_8B_LAYER = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336                # matrices: q o, k v, gate up down
LINKS = dict(link_bandwidth=100.0, network_bandwidth=10.0, latency=0.25, network_latency=0.5, link_efficiency=0.5)
LAYER = dict(layer_token_flops=100, attention_token_flops=20)
JOB = dict(sequence=4096, micro_batch=1, micro_batches=16, flash_attention=1, network_bandwidth=50e9, network_latency=5e-6)
LAYOUTS = [dict(data_parallel=8, zero_stage=3), dict(tensor_parallel=8, sequence_parallel=1, data_parallel=2, zero_stage=1),
           dict(tensor_parallel=2, pipeline_parallel=4, virtual_stages=2, data_parallel=2, recompute=2),
           dict(context_parallel=4, tensor_parallel=4, recompute=1, data_parallel=2, zero_stage=2)]


def close(value):
    return pytest.approx(value, rel=1e-12)


def step(model=LLAMA_8B, card=H100, recipe=ADAMW, **inputs):
    return Case(model, card, recipe, **JOB | inputs).terms(tt.layout_mfu)


# FLOP

def test_flop_of_a_layer_and_a_step():
    # Vectors of two norms a layer, and the final one, are in the count of parameters.
    norms = (32 * 2 + 1) * 4096
    assert Case(LLAMA_8B)(tt.layer_token_flops) == 2 * (32 * LLAMA_8B_LAYER + norms) / 32
    # A token meets 8,192 others with 32 heads of 128, a score and a value, 2 FLOP each; half of them if causal.
    assert Case(LLAMA_8B, sequence=8192, causal=0)(tt.attention_token_flops) == 8192 * 2 * 2 * 32 * 128
    assert Case(LLAMA_8B, sequence=8192)(tt.attention_token_flops) == 8192 * 2 * 32 * 128
    # Mistral-7B: a token sees 4,096 others at most, the first 4,096 half as many on average: 4096 (32768 - 2048) / 32768.
    assert Case(catalogue.model("Mistral-7B"), sequence=32768)(tt.attention_token_flops) == 3840 * 2 * 2 * 32 * 128
    one = 2 * (32 * LLAMA_8B_LAYER + norms) + 2 * 128256 * 4096
    expected = 3 * (one + 32 * 4096 * 2 * 32 * 128) * 3 * 4096 * 5 * 2
    job = dict(sequence=4096, micro_batch=3, micro_batches=5, data_parallel=2)
    assert Case(LLAMA_8B, adapters=0, **job)(tt.step_flops) == close(expected)


def test_frozen_matrices_need_no_gradient():
    full = tt.step_flops(**LAYER, step_tokens=10, layers=2, vocab=50, hidden=3, adapters=0)
    assert full == 10 * 3 * (2 * 100 + 2 * 50 * 3 + 2 * 20)
    assert tt.step_flops(**LAYER, step_tokens=10, layers=2, vocab=50, hidden=3, adapters=1) == (
        10 * (2 * (2 * 100 + 2 * 50 * 3) + 3 * 2 * 20))


def test_a_config_counts_the_published_flop():
    # Korthikanti et al. 2022, equation 7: 72 B L s h^2 (1 + s / 6h + V / 12hL) for GPT 22B at batch 4.
    b, L, h, s, V = 4, 48, 6144, 2048, 51200
    gpt = dict(layers=L, hidden=h, heads=64, kv_heads=64, head_dim=96, intermediate=4 * h, vocab=V, tied_embeddings=1,
               positions=s, moe_params=0, norm_vectors=2)
    counted = Case(gpt, sequence=s, micro_batch=b, micro_batches=1, causal=0, adapters=0)(tt.step_flops)
    assert counted == pytest.approx(72 * b * L * s * h**2 * (1 + s / (6 * h) + V / (12 * h * L)), rel=2e-4)


@pytest.mark.parametrize("recompute, flash, expected", [
    (0, 0, 0), (1, 0, 20), (2, 0, 100 + 20), (0, 1, 10), (1, 1, 10), (2, 1, 100 + 20 + 10)])
def test_what_is_done_again(recompute, flash, expected):
    again = tt.recomputed_token_flops(**LAYER, recompute=recompute, flash_attention=flash)
    assert again == expected
    assert tt.hardware_flops(step_flops=1000, recomputed_token_flops=again, step_tokens=7, layers=3) == 1000 + 7 * 3 * expected


def test_llama_2_70b_ran_at_43_percent():
    # 6 x 68,976,648,192 parameters x 2e12 tokens in 1,720,320 hours of 312 TFLOP/s.
    flops = LAWS["training_flops"](68_976_648_192, 2e12)
    hours = LAWS["planned_gpu_hours"](flops, 312e12, 1)
    assert hours / 1_720_320 == close(6 * 68_976_648_192 * 2e12 / (1_720_320 * 3600 * 312e12)) == pytest.approx(0.428, abs=5e-4)


# One micro-batch

@pytest.mark.parametrize("stage_layers, layers, vocab, heads, layers_there", [
    (8, 64, 30, 1, 8),      # 8 stages of 8: the last has the head besides
    (8, 62, 30, 1, 7),      # the last has 7 and a head of 180 FLOP, more than a layer of 120
    (8, 62, 15, 0, 8)])     # a head of 90 FLOP: the full stages are slower
def test_the_stage_that_sets_the_pace(stage_layers, layers, vocab, heads, layers_there):
    given = dict(stage_layers=stage_layers, layers=layers, pipeline_parallel=8)
    assert tt.pace_heads(**LAYER, **given, vocab=vocab, hidden=3) == heads
    assert tt.pace_layers(**given, pace_heads=heads) == layers_there


def test_matrix_products():
    given = dict(**LAYER, pace_layers=4, pace_heads=1, recomputed_token_flops=7, gpu_tokens=11, vocab=50, hidden=3,
                 peak_flops=1000)
    assert tt.matrix_seconds(**given, adapters=0) == 11 * (4 * (3 * 100 + 3 * 20 + 7) + 3 * 2 * 50 * 3) / 1000
    assert tt.matrix_seconds(**given, adapters=1, tensor_parallel=2, compute_efficiency=0.5) == (
        11 * (4 * (2 * 100 + 3 * 20 + 7) + 2 * 2 * 50 * 3) / (2 * 1000 * 0.5))


def test_values_moved_outside_products():
    # Two norms 2 + 5, two sums 3 + 3; rotary 2 + 2 on 10 heads of 4; a gated activation 3 + 5 of a width of 24.
    given = dict(hidden=16, heads=8, kv_heads=2, head_dim=4, mlp_width=24, layers=4, gated_mlp=1)
    whole, split = 16 * (2 * 7 + 2 * 6), 4 * 10 * 4 + 8 * 24
    assert tt.elementwise_values(**given) == whole + split
    assert tt.elementwise_values(**given, tensor_parallel=2) == whole + split / 2
    assert tt.elementwise_values(**given, tensor_parallel=2, sequence_parallel=1) == (whole + split) / 2
    # Forward again: 2, 3, 2 and 3 more.
    assert tt.elementwise_values(**given, recompute=2) == 16 * (2 * 9 + 2 * 9) + 6 * 10 * 4 + 11 * 24
    assert tt.elementwise_values(**given, recompute=1) == whole + split
    # Learned positions instead of rotary; no gate: 2 + 3.
    assert tt.elementwise_values(**given | dict(gated_mlp=0), positions=99) == whole + 5 * 24
    # Half of the layers copy each token to 3 experts and back: 1 + 3, twice forward and twice backward.
    assert tt.elementwise_values(**given, moe_layers=2, experts_per_token=3) == whole + split + 16 * 4 * 4 / 2
    # Latent attention rotates 8 query parts and one key of size 6.
    assert tt.elementwise_values(**given, kv_lora_rank=5, rope_head_dim=6) == whole + 4 * 9 * 6 + 8 * 24


def test_scores_that_are_written():
    given = dict(heads=8, sequence=100, tensor_parallel=2)
    assert tt.score_values(**given) == 8 * 100 * (4 + 7) / 2
    assert tt.score_values(**given, recompute=1) == tt.score_values(**given, recompute=2) == 8 * 100 * (4 + 4 + 7) / 2
    assert tt.score_values(**given, dropout=1) == 8 * 100 * (6.5 + 9.5) / 2
    assert tt.score_values(**given, dropout=1, recompute=2) == 8 * 100 * (6.5 + 6.5 + 9.5) / 2
    assert tt.score_values(**given, flash_attention=1) == 0


def test_memory_traffic():
    given = dict(pace_layers=4, pace_heads=1, elementwise_values=30, score_values=5, gpu_tokens=11, vocab=50, bandwidth=1000)
    assert tt.elementwise_seconds(**given) == 11 * (4 * 35 * 2 + 2 * 50 * (2 + 12)) / 1000
    assert tt.elementwise_seconds(**given | dict(pace_heads=0), bandwidth_efficiency=0.5) == 11 * 4 * 35 * 2 / 500


# Collectives: links at half of 100 bytes/s and 0.25 s a hop, network at half of 10 bytes/s and 0.5 s

def ring(message_bytes, ranks, bandwidth, hop):
    return (ranks - 1) * (message_bytes / ranks / bandwidth + hop)


def test_tensor_parallel():
    given = dict(pace_layers=3, stage_moe_layers=0, gpu_tokens=16, hidden=10, gpus_per_node=4, **LINKS)
    once = 2 * ring(16 * 10 * 2, 4, 50, 0.25)                         # an all-reduce passes the ring twice
    assert tt.tensor_seconds(**given, tensor_parallel=1) == 0
    assert tt.tensor_seconds(**given, tensor_parallel=4) == close(3 * (2 + 2) * once)
    assert tt.tensor_seconds(**given, tensor_parallel=4, recompute=2) == close(3 * (2 + 2 + 2) * once)
    # Two nodes of 4: a ring leaves a node through four ports of 5 bytes/s.
    assert tt.tensor_seconds(**given, tensor_parallel=8) == close(3 * 4 * 2 * ring(320, 8, 4 * 5, 0.5))
    # Two of three layers have experts elsewhere: their MLP moves each token 5 times.
    moe = given | dict(stage_moe_layers=2, experts_per_token=5, tensor_parallel=4)
    assert tt.tensor_seconds(**moe, expert_parallel=2) == close(2 * (3 + 1 + 2 * 5) * once)
    assert tt.tensor_seconds(**moe) == close(3 * 4 * once)


def test_context_parallel():
    given = dict(pace_layers=3, gpu_tokens=8, gpu_kv_heads=2, head_dim=5, gpus_per_node=4, **LINKS)
    whole = 2 * 4 * 8 * 2 * 5 * 2                                     # keys and values of four GPUs' tokens
    assert tt.context_seconds(**given) == 0
    assert tt.context_seconds(**given, context_parallel=4) == close(3 * 3 * ring(whole, 4, 50, 0.25))
    assert tt.context_seconds(**given, context_parallel=4, recompute=2) == close(3 * 4 * ring(whole, 4, 50, 0.25))
    # Beside tensor parallel 2 a node holds two of the four: two ports; beside 4 it holds one.
    for tensor_parallel, ports in ((2, 2), (4, 1)):
        assert tt.context_seconds(**given, context_parallel=4, tensor_parallel=tensor_parallel) == close(
            3 * 3 * ring(whole, 4, ports * 5, 0.5))


def test_expert_parallel():
    given = dict(stage_moe_layers=3, gpu_tokens=16, hidden=10, experts_per_token=2, gpus_per_node=4, **LINKS)
    message = 16 * 2 * 10 * 2
    assert tt.expert_seconds(**given) == 0
    # Dispatch and combine, forward and backward. Three parts of a quarter over the links.
    assert tt.expert_seconds(**given, expert_parallel=4) == close(3 * 4 * 3 * (message / 4 / 50 + 0.25))
    assert tt.expert_seconds(**given, expert_parallel=4, recompute=2) == close(3 * 6 * 3 * (message / 4 / 50 + 0.25))
    # Of sixteen, twelve are in other nodes: twelve parts of a sixteenth through one port.
    assert tt.expert_seconds(**given, expert_parallel=16) == close(3 * 4 * 12 * (message / 16 / 5 + 0.5))
    # Tensor parallel 2 leaves each GPU half of the tokens to send, and two of the four in its node.
    assert tt.expert_seconds(**given, expert_parallel=4, tensor_parallel=2) == close(3 * 4 * 2 * (message / 2 / 4 / 5 + 0.5))


def test_sends_between_stages():
    given = dict(gpu_tokens=16, hidden=10, gpus_per_node=4, **LINKS)
    assert tt.pipeline_seconds(**given, layout_gpus=8) == 0
    assert tt.pipeline_seconds(**given, layout_gpus=4, pipeline_parallel=4) == close(2 * (320 / 50 + 0.25))
    assert tt.pipeline_seconds(**given, layout_gpus=8, pipeline_parallel=4, virtual_stages=3, tensor_parallel=2) == close(
        2 * 3 * (160 / 5 + 0.5))


@pytest.mark.parametrize("stage, gradients, weights", [
    (0, 1, (1, 4)), (1, 1, (1, 2)), (2, 6, (1, 2)), (3, 6, (12, 2))])
def test_gradients_and_weights(stage, gradients, weights):
    # 40 trained parameters with gradients of 4 bytes on 4 GPUs of a node; weights of 2 bytes; six micro-batches.
    given = dict(gpu_trained_params=40, gpu_trained_expert_params=0, gpu_params=40, gpu_expert_params=0,
                 gradient_element_bytes=4, micro_batches=6, gpus_per_node=4, zero_stage=stage, **LINKS)
    passes, width = weights
    expected = gradients * ring(40 * 4, 4, 50, 0.25) + passes * ring(40 * width, 4, 50, 0.25)
    assert tt.data_seconds(**given, data_parallel=4) == close(expected)
    assert tt.data_seconds(**given, data_parallel=2, context_parallel=2) == close(expected)
    assert tt.data_seconds(**given, data_parallel=1) == 0


def test_zero_3_moves_half_as_much_again():
    # Per micro-batch, weights and gradients of one width: gathered twice and scattered once, instead of an all-reduce.
    given = dict(gpu_trained_params=40, gpu_trained_expert_params=0, gpu_params=40, gpu_expert_params=0,
                 gradient_element_bytes=2, micro_batches=1, data_parallel=8, link_bandwidth=100.0, network_bandwidth=10.0)
    assert tt.data_seconds(**given, zero_stage=3) == close(1.5 * tt.data_seconds(**given, zero_stage=0))


def test_experts_are_shared_by_fewer():
    # 16 replicas in nodes of 8, 4 of them with other experts: dense weights over 16, experts over 4 that stand 4 apart.
    given = dict(gpu_trained_params=40, gpu_trained_expert_params=80, gpu_params=120, gpu_expert_params=80,
                 gradient_element_bytes=2, micro_batches=3, data_parallel=16, gpus_per_node=8, **LINKS)
    dense, expert = ring(80, 16, min(8 * 5, 50), 0.5), ring(160, 4, 2 * 5, 0.5)
    assert tt.data_seconds(**given, expert_parallel=4) == close(2 * dense + 2 * expert)
    assert tt.data_seconds(**given, expert_parallel=16, zero_stage=3) == close(3 * 3 * dense)
    # Adapters: their gradients, and all weights if ZeRO-3 splits them.
    lora = given | dict(gpu_trained_params=4, gpu_trained_expert_params=0, zero_stage=1)
    assert tt.data_seconds(**lora, expert_parallel=16) == close(2 * ring(8, 16, 40, 0.5))


# The step

def test_parts_of_a_step():
    parts = dict(tensor_seconds=4, context_seconds=3, expert_seconds=2, pipeline_seconds=1)
    assert tt.micro_batch_seconds(matrix_seconds=50, elementwise_seconds=5, **parts) == 65
    assert tt.micro_batch_seconds(matrix_seconds=50, elementwise_seconds=5, **parts, overlap=0.75) == 57.5
    shown = dict(data_seconds=100, micro_batch_seconds=10, micro_batches=8)
    assert [tt.exposed_data_seconds(**shown, zero_stage=stage) for stage in range(4)] == [90, 90, 20, 20]
    assert tt.exposed_data_seconds(**shown, data_overlap=0) == 100
    assert tt.exposed_data_seconds(**shown | dict(data_seconds=9)) == 0
    assert tt.update_seconds(held_gradient_bytes=4, held_master_bytes=40, held_optimizer_bytes=80, held_weight_bytes=2,
                             bandwidth=10, bandwidth_efficiency=0.5) == (4 + 80 + 160 + 2) / 5
    # Eight micro-batches of 10 s and the three a pipeline of four waits, or half of them with two chunks.
    given = dict(micro_batch_seconds=10, micro_batches=8, exposed_data_seconds=5, update_seconds=2)
    for virtual_stages, waited in ((1, 30), (2, 15)):
        bubble = LAWS["pipeline_bubble"](4, 8, virtual_stages)
        assert tt.step_seconds(**given, pipeline_bubble=bubble) == close(80 + waited + 5 + 2)


def test_counts_of_a_layout():
    assert tt.step_tokens(micro_batch=2, sequence=100, micro_batches=3, data_parallel=5) == 3000
    assert tt.layout_gpus(tensor_parallel=2, pipeline_parallel=3, context_parallel=5, data_parallel=7) == 210
    assert tt.gpu_flop_rate(hardware_flops=900, step_seconds=2, layout_gpus=3) == 150
    assert tt.gpu_token_rate(step_tokens=3000, step_seconds=2, layout_gpus=5) == 300
    assert tt.layout_gpu_hours(training_tokens=3600 * 300, gpu_token_rate=300) == 1
    assert tt.layout_mfu(step_flops=600, step_seconds=2, layout_gpus=3, peak_flops=200) == 0.5
    assert tt.reached_hfu(hardware_flops=900, step_seconds=2, layout_gpus=3, peak_flops=200) == 0.75


def test_a_whole_step_by_hand():
    # Llama-3-8B on 8 H100, tensor parallel 8: nothing but products, traffic and 4 all-reduces a layer.
    terms = step(tensor_parallel=8, sequence_parallel=1)
    norms = 65 * 4096
    layer = 3 * (2 * (LLAMA_8B_LAYER + norms / 32) + 4096 * 2 * 32 * 128) + 4096 * 32 * 128
    matrix = 4096 * (32 * layer + 6 * 128256 * 4096) / (8 * 989e12)
    values = 4096 * 26 + 4 * 40 * 128 + 8 * 14336
    traffic = 4096 * (32 * values * 2 + 2 * 128256 * 14) / (8 * 3.35e12)
    sent = 32 * 4 * 2 * 7 / 8 * 4096 * 4096 * 2 / 450e9
    per_gpu = (32 * (LLAMA_8B_LAYER / 8 + 2 * 4096) + 2 * 128256 * 4096 / 8 + 4096)
    update = per_gpu * (4 + 2 * 4 + 2 * 8 + 2) / 3.35e12
    assert terms["matrix_seconds"] == close(matrix)
    assert terms["elementwise_seconds"] == close(traffic)
    assert terms["tensor_seconds"] == close(sent)
    assert terms["step_seconds"] == close(16 * (matrix + traffic + sent) + update)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_never_slows_a_step(layout):
    before = step(**layout, overlap=0.2, data_overlap=0.5)["step_seconds"]
    for name, value in (("peak_flops", 2e15), ("bandwidth", 8e12), ("link_bandwidth", 900e9), ("network_bandwidth", 100e9),
                        ("network_latency", 0), ("overlap", 0.9), ("data_overlap", 1)):
        assert step(**layout | {"overlap": 0.2, "data_overlap": 0.5, name: value})["step_seconds"] <= before, name
    for name in ("compute_efficiency", "bandwidth_efficiency", "link_efficiency"):
        assert step(**layout, overlap=0.2, data_overlap=0.5, **{name: 0.5})["step_seconds"] >= before, name


@pytest.mark.parametrize("model, layout", [
    *itertools.product([LLAMA_8B, catalogue.model("Mixtral-8x7B")], LAYOUTS),
    (LLAMA_405B, dict(tensor_parallel=8, pipeline_parallel=16, virtual_stages=4, sequence_parallel=1)),
    (DEEPSEEK, dict(pipeline_parallel=16, data_parallel=128, expert_parallel=64))])
def test_a_step_takes_at_least_each_part_and_no_peak_is_exceeded(model, layout):
    terms = step(model, **layout)
    for part in ("matrix_seconds", "elementwise_seconds", "tensor_seconds", "context_seconds", "expert_seconds",
                 "pipeline_seconds"):
        assert 0 <= terms[part] * JOB["micro_batches"] <= terms["step_seconds"]
    hfu = Case(model, H100, ADAMW, **JOB | layout)(tt.reached_hfu)
    assert 0 < terms["layout_mfu"] <= hfu <= 1


def test_adapters_save_a_third_at_most():
    rows = dict(data_parallel=8, zero_stage=3)
    full = step(**rows)["matrix_seconds"]
    lora = step(recipe=catalogue.recipe("lora"), **rows)["matrix_seconds"]
    assert 2 / 3 < lora / full < 0.72


def test_llama_405b_lies_in_the_band_of_its_interleaving():
    # arXiv 2407.21783, table 4: 430 and 400 TFLOP/s; the number of chunks a GPU holds is not printed.
    reached = catalogue.efficiency("achieved")
    for replicas, published in ((64, 430e12), (128, 400e12)):
        run = Case(LLAMA_405B, H100, ADAMW, reached, **JOB | dict(
            sequence=8192, micro_batches=2048 // replicas, tensor_parallel=8, sequence_parallel=1, pipeline_parallel=16,
            data_parallel=replicas, zero_stage=1))
        rates = [run.but(virtual_stages=chunks)(tt.gpu_token_rate) for chunks in (1, 8)]
        slow, fast = (6 * LLAMA_405B.params * rate for rate in rates)
        assert 0.9 * slow < published < fast


# The run

def test_loss_falls_with_size_and_tokens():
    assert tt.training_loss(1e9, 1e9) == close(1.8172 + 482.01 / 1e9**0.3478 + 2085.43 / 1e9**0.3658)
    assert tt.training_loss(10**10, 10**9) < tt.training_loss(10**9, 10**9) > tt.training_loss(10**9, 10**10)


def test_the_optimum_is_one():
    best = tt.optimal_params(5.76e23)
    tokens = tt.optimal_tokens(5.76e23, best)
    assert 6 * best * tokens == close(5.76e23)
    for factor in (0.8, 1.25):
        assert tt.training_loss(round(best * factor), round(tokens / factor)) > tt.training_loss(round(best), round(tokens))
    assert 18 < tokens / best < 19                      # Besiroglu et al. 2024: in line with 20
    assert tt.chinchilla_tokens(70e9) == 1.4e12


# Predicted against published

def test_published_steps():
    """Half of the published steps within 15 %; the rest says why on the page."""
    measured = compare("training_time", "measured")
    errors = measured["error"].abs()
    print(measured[["subject", "value", "predicted", "error"]].to_string())
    assert len(errors) > 50
    assert errors.median() < 0.15
    # Throughput above, and time below, what was published: the laws leave overheads out. Expert traffic is the exception.
    faster = (measured["error"] > 0) == (measured["law"] != "step_seconds")
    assert list(measured.index[~faster]) == ["step-bridge-deepseek-v3"]


def test_no_published_step_beats_the_bound():
    """All of the peaks, and all communication hidden."""
    frame = compare("training_time", "measured")
    for row in frame.to_dict("records"):
        given = json.loads(row["inputs"]) | dict(efficiency="bound", overlap=1, data_overlap=1)
        best = Case.of(given)(row["law"])
        assert best <= row["value"] if row["law"] == "step_seconds" else best >= row["value"], row["subject"]


def test_published_utilizations():
    computed = compare("training_time", "computed").error
    assert computed.filter(like="mfu").abs().max() < 0.005
    # The paper counts recomputed attention, s / 6h of a forward pass, three times.
    assert computed["step-korthikanti-22b-hfu"] == pytest.approx(-0.03, abs=0.002)
