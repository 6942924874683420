"""Time of a training step against hand calculations: the arithmetic stands in each test, written out without the laws."""
import itertools
import json

import pytest

from gpucalc import LAWS, activation_memory as am, training_products as products, training_time as tt
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.close import close

LLAMA_8B, LLAMA_405B = catalogue.model("Llama-3-8B"), catalogue.model("Llama-3.1-405B")
DEEPSEEK = catalogue.model("DeepSeek-V3")
H100, ADAMW = catalogue.gpu("H100 SXM 80GB"), catalogue.recipe("mixed-adamw-fp32-grads")
LLAMA_8B_LAYER = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336                # matrices: q o, k v, gate up down
LAYER = dict(layer_token_flops=100, attention_token_flops=20)
JOB = dict(sequence=4096, micro_batch=1, micro_batches=16, flash_attention=1, network_bandwidth=50e9, network_latency=5e-6)
LAYOUTS = [dict(data_parallel=8, zero_stage=3), dict(tensor_parallel=8, sequence_parallel=1, data_parallel=2, zero_stage=1),
           dict(tensor_parallel=2, pipeline_parallel=4, virtual_stages=2, data_parallel=2, recompute=2),
           dict(context_parallel=4, tensor_parallel=4, recompute=1, data_parallel=2, zero_stage=2)]


def step(model=LLAMA_8B, card=H100, recipe=ADAMW, **inputs):
    return Case(model, card, recipe, **JOB | inputs).terms(tt.layout_mfu)


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
    (0, 0, 0), (1, 0, 20), (2, 0, 100 + 20), (0, 1, 10), (1, 1, 10), (2, 1, 100 + 20 + 10), (3, 0, 100 / 3), (3, 1, 100 / 3 + 10)])
def test_what_is_done_again(recompute, flash, expected):
    again = tt.recomputed_token_flops(**LAYER, recompute=recompute, flash_attention=flash)
    assert again == close(expected)
    assert tt.hardware_flops(step_flops=1000, recomputed_token_flops=again, step_tokens=7, layers=3) == close(1000 + 7 * 3 * expected)


def test_a_part_of_the_layers_may_recompute():
    assert tt.recomputed_token_flops(**LAYER, recompute=2, recomputed_share=0.25) == (100 + 20) / 4
    assert tt.recomputed_token_flops(**LAYER, recompute=2, recomputed_share=0.25, flash_attention=1) == (100 + 20) / 4 + 10


@pytest.mark.parametrize("stage_layers, layers, vocab, heads, layers_there", [
    (8, 64, 30, 1, 8),      # 8 stages of 8: the last has the head besides
    (8, 62, 30, 1, 7),      # the last has 7 and a head of 180 FLOP, more than a layer of 120
    (8, 62, 15, 0, 8)])     # a head of 90 FLOP: the full stages are slower
def test_the_stage_that_sets_the_pace(stage_layers, layers, vocab, heads, layers_there):
    given = dict(stage_layers=stage_layers, layers=layers, pipeline_parallel=8)
    assert tt.pace_heads(**LAYER, **given, vocab=vocab, hidden=3) == heads
    assert tt.pace_layers(**given, pace_heads=heads) == layers_there


def test_products_in_8_bits_leave_attention_and_the_head():
    # Llama-3-8B: layers at twice the peak, scores and head as before, and casts besides.
    wide, narrow = (step(narrow_products=each) for each in (0, 1))
    for part in ("core_attention_seconds", "head_seconds"):
        assert narrow[part] == wide[part]
    for part in ("projection_seconds", "mlp_product_seconds"):
        assert narrow[part] == close(wide[part] * 989 / 1979)
    # A token casts 4 hidden sizes, heads and width of inputs, and of gradients the 6,144 columns, gate and up, less the heads'.
    values = 4 * 4096 + 4096 + 14336 + 6144 + 2 * 14336
    assert narrow["layer_cast_values"] == values
    assert narrow["elementwise_seconds"] - wide["elementwise_seconds"] == close(4096 * 32 * 4 * values / 3.35e12)


def test_values_moved_outside_products():
    # Two norms 2 + 5, two sums 3 + 3; rotary 2 + 2 on 10 heads of 4; a gated activation 3 + 5 of a width of 24.
    given = dict(hidden=16, heads=8, kv_heads=2, head_dim=4, mlp_width=24, layers=4, gated_mlp=1, attending_share=1, blocks_per_layer=2,
                 linear_values=100)
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
    assert tt.elementwise_values(**given, recompute=3, recomputed_share=0.5) == 16 * (2 * 8 + 2 * 7.5) + 5 * 10 * 4 + 9.5 * 24
    # Dropout on both outputs: half a value of mask each way, and backward a pass of 2.
    assert tt.elementwise_values(**given, dropout=1) == whole + split + 16 * 2 * 3
    # Latent attention rotates 8 query parts and one key of size 6.
    assert tt.elementwise_values(**given, kv_lora_rank=5, rope_head_dim=6) == whole + 4 * 9 * 6 + 8 * 24
    # Three layers of four are linear and read and write 100 values each way; experts on 8 channels of 16 are sent half as much.
    assert tt.elementwise_values(**given | dict(attending_share=0.25), linear_layers=3) == whole + 4 * 10 * 4 / 4 + 3 / 4 * 200 + 8 * 24
    assert tt.elementwise_values(**given, moe_layers=2, experts_per_token=3, expert_latent=8) == whole + split + 16 * 4 * 4 / 4


def test_values_that_are_cast():
    # Inputs: two blocks of 16, 12 mixed, 20 of the MLP. Gradients: 24 columns less the 12, two blocks, gate and up of 20.
    given = dict(hidden=16, mixed_width=12, gpu_mixing_params=16 * 24, mlp_width=20, layers=4, blocks_per_layer=2, gated_mlp=1, narrow_products=1)
    assert tt.layer_cast_values(**given) == tt.layer_cast_values(**given | dict(narrow_products=2)) == 64 + 84
    assert tt.layer_cast_values(**given | dict(narrow_products=0)) == 0 and tt.layer_cast_values(**given, recompute=2) == 2 * 64 + 84
    assert tt.layer_cast_values(**given, recompute=2, recomputed_share=0.5) == 1.5 * 64 + 84
    # Half of the layers have a copy for each of 3 experts in place of the MLP's input, 1 more on the mean; with a shared one 1.5.
    assert tt.layer_cast_values(**given, moe_layers=2, experts_per_token=3) == 64 + 84 + 2 * 16
    assert tt.layer_cast_values(**given, moe_layers=2, experts_per_token=3, shared_experts=2) == 64 + 84 + 2 * 24
    # Tensor parallel 2 halves all but the blocks, and sends each GPU half of the copies: a quarter more on the mean.
    assert tt.layer_cast_values(**given | dict(gpu_mixing_params=16 * 12), moe_layers=2, experts_per_token=3, tensor_parallel=2) == (36 + 6 + 10) + (12 - 6 + 36 + 20)


def test_scores_that_are_written():
    given = dict(heads=8, sequence=100, tensor_parallel=2, attending_share=1)
    assert tt.score_values(**given) == 8 * 100 * (4 + 7) / 2
    assert tt.score_values(**given, recompute=1) == tt.score_values(**given, recompute=2) == 8 * 100 * (4 + 4 + 7) / 2
    assert tt.score_values(**given, dropout=1) == 8 * 100 * (6.5 + 9.5) / 2
    assert tt.score_values(**given, dropout=1, recompute=2) == 8 * 100 * (6.5 + 6.5 + 9.5) / 2
    assert tt.score_values(**given, flash_attention=1) == 0


def test_memory_traffic():
    given = dict(pace_layers=4, pace_heads=1, elementwise_values=30, score_values=5, layer_cast_values=0, kernels_per_layer=8,
                 gpu_tokens=11, vocab=50, bandwidth=1000)
    assert tt.elementwise_seconds(**given) == 11 * (4 * 35 * 2 + 2 * 50 * (2 + 12)) / 1000
    assert tt.elementwise_seconds(**given | dict(pace_heads=0), bandwidth_efficiency=0.5) == 11 * 4 * 35 * 2 / 500
    # A cast reads 2 bytes and writes one twice; forward and backward take 24 kernels a layer.
    assert tt.elementwise_seconds(**given | dict(pace_heads=0, layer_cast_values=3), kernel_seconds=1, narrow_products=1) == close(
        11 * 4 * (35 * 2 + 3 * 4) / 1000 + 4 * 24)
    assert tt.elementwise_seconds(**given | dict(pace_heads=0, layer_cast_values=3), narrow_products=2) == close(
        11 * 4 * (35 * 2 + 3 * 3) / 1000)


def test_parts_of_a_step():
    parts = dict(tensor_seconds=4, context_seconds=3, expert_seconds=2, pipeline_seconds=1, lent_share=0, tensor_hidden_share=0,
                 expert_hidden_share=0, host_activation_seconds=0)
    assert tt.micro_batch_seconds(matrix_seconds=50, elementwise_seconds=5, **parts) == 65
    assert tt.micro_batch_seconds(matrix_seconds=50, elementwise_seconds=5, **parts, overlap=0.75) == 65 - 0.75 * 4
    assert tt.micro_batch_seconds(matrix_seconds=50, elementwise_seconds=5, **parts | dict(
        lent_share=0.5, expert_hidden_share=1, tensor_hidden_share=0.25, host_activation_seconds=2), host_seconds=0.5) == 65 - 1 - 0.5 + 0.5 + 2
    # Eight micro-batches of 10 s and the three a pipeline of four waits, or half of them with two chunks.
    given = dict(micro_batch_seconds=10, micro_batches=8)
    for virtual_stages, waited in ((1, 30), (2, 15)):
        bubble = dict(**given, pipeline_bubble=LAWS["pipeline_bubble"](4, 8, virtual_stages))
        assert tt.bubble_seconds(**bubble, adapters=0) == close(waited)
        assert tt.bubble_seconds(**bubble, adapters=0, zero_bubble=1) == close(waited / 3)
        assert tt.bubble_seconds(**bubble, adapters=1, zero_bubble=1) == close(waited)
    assert tt.step_seconds(**given, bubble_seconds=30, exposed_data_seconds=5, update_seconds=2) == 80 + 30 + 5 + 2


def test_what_is_hidden():
    # Beside its products, in one node and with sequence parallel.
    assert tt.tensor_hidden_share(tensor_overlap=0.5, tensor_parallel=8, sequence_parallel=1) == 0.5
    assert [tt.tensor_hidden_share(0.2, 0.5, tensor, sequence) for tensor, sequence in ((8, 0), (16, 1))] == [0.2, 0.2]
    # A micro-batch beside the one before: seven of eight; not without chunks or DualPipe, or where whole layers run again.
    given = dict(expert_seconds=10, matrix_seconds=50, micro_batches=8)
    for layout, share in (({}, 7 / 8), (dict(pipeline_parallel=4), 0), (dict(pipeline_parallel=4, virtual_stages=2), 7 / 8),
                          (dict(pipeline_parallel=4, zero_bubble=1), 7 / 8), (dict(recompute=2), 0), (dict(recompute=3), 7 / 8)):
        assert tt.expert_hidden_share(**given, **layout) == share, layout
    assert tt.expert_hidden_share(**given | dict(matrix_seconds=5)) == 0.5


def test_selective_recompute_beside_flash_attention():
    # Two norms and a gated activation of Llama-3-8B read and write again: 2 x 2 hidden sizes and 3 widths.
    once, again = (step(flash_attention=1, recompute=level)["elementwise_values"] for level in (0, 1))
    assert again - once == 4 * 4096 + 3 * 14336
    assert step(flash_attention=1, recompute=1)["matrix_seconds"] == step(flash_attention=1)["matrix_seconds"]


def test_the_optimizer():
    # 40 parameters: gradients of 4 bytes read twice, weights of 2 written, 30 bytes of states read and written.
    given = dict(updated_params=40, gpu_trained_params=40, gpu_trained_expert_params=0, held_master_bytes=10,
                 held_optimizer_bytes=20, gradient_element_bytes=4, weight_element_bytes=2, host_update_seconds=0, bandwidth=10)
    assert tt.update_seconds(**given) == (40 * 10 + 60) / 10
    assert tt.update_seconds(**given | dict(updated_params=5), bandwidth_efficiency=0.5) == (5 * 10 + 60) / 5
    assert tt.update_seconds(**given, narrow_products=1) == (40 * 10 + 60 + 40 * 4) / 10
    # The host updates half: the GPU reads all gradients for their norm, and half of them again, and waits for the host.
    assert tt.update_seconds(**given | dict(held_master_bytes=5, held_optimizer_bytes=10, host_update_seconds=7),
                             offload_optimizer=0.5) == (40 * 4 + 20 * 6 + 30) / 10 + 7


def test_activations_in_host_memory():
    # 10 layers of 30 bytes at 10 B/s: 30 s each way. A forward pass is a third of 60 s, with whole layers recomputed a quarter.
    given = dict(stage_layers=10, layer_activation_bytes=30, matrix_seconds=50, elementwise_seconds=10, adapters=0,
                 offload_activations=1, swap_bandwidth=10)
    assert tt.host_activation_seconds(**given) == 30 - 20
    assert tt.host_activation_seconds(**given, recompute=2) == 30 - 15
    assert tt.host_activation_seconds(**given | dict(swap_bandwidth=5)) == (60 - 20) + (60 - 40)
    assert tt.host_activation_seconds(**given | dict(offload_activations=0)) == 0
    assert am.activation_bytes(10, 30, offload_activations=1) == 30
    # torchtune's checkpoints on the host, in Llama-3.2-3B: 23.4 GB were measured, where 24.8 GB were with them on the GPU.
    kept, moved = (Case.of(json.loads(catalogue.measurements().loc[f"tm-torchtune-3b-{row}", "inputs"])) for row in ("in-backward", "host"))
    moved = moved.but(activation_bytes=None, micro_batches=1, offload_activations=1)
    assert moved("peak_bytes") == pytest.approx(23.4e9, rel=0.05)
    assert kept("peak_bytes") - moved("peak_bytes") == pytest.approx(27 * 2 * 4096 * 3072 * 2)


def test_an_optimizer_in_host_memory():
    # 40 parameters on each of 2 GPUs: 2 x 12 bytes of state, 2 of gradient and 2 of weight at 80 B/s for both, then weights of
    # 80 bytes at 10 B/s. Gradients take 8 s, of which a backward pass of two thirds of 9 s hides 6.
    given = dict(updated_params=40, master_element_bytes=4, optimizer_element_bytes=8, gradient_element_bytes=2,
                 weight_element_bytes=2, micro_batch_seconds=9, micro_batches=4, adapters=0, layout_gpus=2, offload_optimizer=1,
                 gpus_per_server=8, host_memory_bandwidth=80, swap_bandwidth=10)
    assert tt.host_update_seconds(**given) == pytest.approx(2 * 40 * 28 / 80 + 8 + 2)
    assert tt.host_update_seconds(**given | dict(gpus_per_server=1)) == pytest.approx(40 * 28 / 80 + 8 + 2)
    assert tt.host_update_seconds(**given, offload_gradients=1) == pytest.approx(28 + 8 + 4 * 2)
    assert tt.host_update_seconds(**given | dict(adapters=1)) == pytest.approx(28 + 8 + 8 - 4.5)
    assert tt.host_update_seconds(**given | dict(micro_batch_seconds=99)) == pytest.approx(28 + 8)
    assert tt.host_update_seconds(**given | dict(offload_optimizer=0.25)) == pytest.approx(38 / 4)
    # What the GPU no longer does is far less than what it waits for.
    alone, hosted = (step(recipe=catalogue.recipe(name))["update_seconds"] for name in ("mixed-adamw", "mixed-adamw-host"))
    assert hosted > 10 * alone


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
    terms = step(tensor_parallel=8, sequence_parallel=1, tile_rows=1, tile_columns=1, tensor_overlap=0)
    layer = 3 * (2 * LLAMA_8B_LAYER + 4096 * 2 * 32 * 128) + 4096 * 32 * 128
    matrix = 4096 * (32 * layer + 6 * 128256 * 4096) / (8 * 989e12)
    values = 4096 * 26 + 4 * 40 * 128 + 8 * 14336
    traffic = 4096 * (32 * values * 2 + 2 * 128256 * 14) / (8 * 3.35e12)
    sent = 32 * 4 * 2 * 7 / 8 * 4096 * 4096 * 2 / 450e9
    per_gpu = (32 * (LLAMA_8B_LAYER / 8 + 2 * 4096) + 2 * 128256 * 4096 / 8 + 4096)
    update = per_gpu * (2 * 4 + 2 * 4 + 2 * 8 + 2) / 3.35e12
    # Waves of 1 x 1 tiles are nearly full.
    assert terms["matrix_seconds"] == pytest.approx(matrix, rel=1e-3)
    assert terms["elementwise_seconds"] == close(traffic)
    assert terms["tensor_seconds"] == close(sent)
    assert terms["step_seconds"] == pytest.approx(16 * (matrix + traffic + sent) + update, rel=1e-3)
    # Tiles of 128: 4,096 tokens by 768 columns are 192 tiles, two waves of 132 places, and so on: within a quarter.
    assert 1.02 < step(tensor_parallel=8, sequence_parallel=1)["matrix_seconds"] / matrix < 1.25


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


def test_what_each_choice_is_for():
    def seconds(**inputs):
        return step(**inputs)["step_seconds"]
    # Keeping the products makes less again than running half of the layers twice, and no recompute least.
    levels = [seconds(recompute=0), seconds(recompute=3), seconds(recompute=2, recomputed_share=0.5), seconds(recompute=2)]
    assert levels == sorted(levels) and len(set(levels)) == 4
    # On a slow network, ZeRO-3 inside the node gathers over its links alone, and sums once a step over the network.
    slow = dict(data_parallel=64, zero_stage=3, network_bandwidth=1e9)
    assert seconds(**slow, shard_parallel=8) < seconds(**slow) / 2
    assert seconds(**slow, shard_parallel=64) == seconds(**slow)
    staged = dict(pipeline_parallel=8)
    assert seconds(**staged, zero_bubble=1) < seconds(**staged)
    # Experts that are split by tensor parallel take in more tokens, and send them twice.
    mixture = dict(model=catalogue.model("Mixtral-8x7B"), tensor_parallel=4, sequence_parallel=1, data_parallel=8,
                   expert_parallel=8)
    assert step(**mixture)["tensor_seconds"] < step(**mixture, expert_tensor_parallel=4)["tensor_seconds"]
    assert seconds(**mixture) < seconds(**mixture, exchange_overlap=0)
    assert seconds(**mixture, tensor_overlap=1) < seconds(**mixture) < seconds(**mixture, tensor_overlap=0)


def test_thin_slices_of_products_cost_more_than_their_flop():
    # 512 tokens and 128 columns: reading both inputs takes longer than the products, and starting kernels counts.
    given = dict(gpu_tokens=512, hidden=8192, intermediate=128 * 64, gated_mlp=1, adapters=0, gradient_element_bytes=2,
                 persistent_gradients=0, product_peak=989e12, units=132, bandwidth=3.35e12, kernel_seconds=2e-6)
    wide, thin = (products.mlp_product_seconds(**given, tensor_parallel=each) for each in (1, 64))
    assert thin > 3 * wide / 64
    # Llama-3-70B on TP 2 or TP 32: sixteen times the GPUs are less than sixteen times as fast in products.
    few, many = (step(catalogue.model("Llama-3-70B"), tensor_parallel=each, kernel_seconds=2e-6)["matrix_seconds"]
                 for each in (2, 32))
    assert few / 16 < many


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


def test_deepseek_v3_in_its_own_layout():
    # 2,048 H800, TP 1, PP 16, EP 64, ZeRO-1: 2.664 million GPU-hours for 14.8e12 tokens are 19.9 s for 15,360 sequences of 4,096.
    published = 2.664e6 * 3600 / 2048 * 15360 * 4096 / 14.8e12
    case = Case(model="DeepSeek-V3", gpu="H800 SXM 80GB", recipe="mixed-adamw-fp32-grads", efficiency="achieved", sequence=4096,
                flash_attention=1, network_bandwidth=50e9, network_latency=5e-6, micro_batch=1, micro_batches=120,
                pipeline_parallel=16, data_parallel=128, expert_parallel=64, zero_stage=1, narrow_products=1, reached_nodes=4,
                dispatch_element_bytes=1)
    # All of its communication shown, and all of it hidden, as DualPipe means to.
    shown, hidden = case.but(exchange_overlap=0)(tt.step_seconds), case.but(overlap=1, zero_bubble=1)(tt.step_seconds)
    assert published == pytest.approx(19.9, abs=0.05)
    assert 0.5 * published < hidden < published < 1.1 * shown
