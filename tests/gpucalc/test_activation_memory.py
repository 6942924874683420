"""Activations of a training step against hand calculations and the tables of Korthikanti et al. 2022."""
import pytest

from gpucalc import activation_memory, sharding, training_memory as tm
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.close import close

GIB = 2**30
LLAMA_8B, DEEPSEEK = catalogue.model("Llama-3-8B"), catalogue.model("DeepSeek-V3")
GPT_3 = dict(layers=96, hidden=12288, heads=96, kv_heads=96, head_dim=128, intermediate=49152)
GPT_22B = dict(layers=48, hidden=6144, heads=64, kv_heads=64, head_dim=96, intermediate=24576)
GPT_1T = dict(layers=128, hidden=25600, heads=160, kv_heads=160, head_dim=160, intermediate=102400)


def per_token(architecture, **switches):
    """Bytes that one layer keeps for one token of a sequence of 2,048."""
    return Case(architecture, micro_batch=1, sequence=2048, **switches)(activation_memory.layer_activation_bytes) / 2048


def test_gpt_3_keeps_34_sbh_and_5_as2b_per_layer():
    # Korthikanti et al., table 2: 96 layers of s b h (34 + 5 a s / h), with dropout and no recompute.
    expected = 96 * 2048 * 12288 * 34 + 96 * 5 * 96 * 2048 * 2048
    assert expected == 275_414_777_856
    for model in (GPT_3, catalogue.model("GPT-3-175B")):
        assert Case(model, micro_batch=1, sequence=2048, micro_batches=1, dropout=1)(activation_memory.activation_bytes) == expected


def test_the_34_comes_apart():
    # Attention: input 2, queries and keys 4, values 2, projection input 2, mask 1. MLP: input 2, two of 4h 16, mask 1. Norms 4.
    assert 2 + 4 + 2 + 2 + 1 + 2 + 16 + 1 + 4 == 34
    assert per_token(GPT_3, dropout=1, recompute=1) == 34 * 12288
    assert per_token(GPT_3, recompute=1) == 32 * 12288    # no masks
    assert Case(GPT_3)(activation_memory.whole_values) == 4 * 12288
    assert Case(GPT_3)(activation_memory.split_values) == (4 + 8) * 12288


def test_scores_with_and_without_flash_attention():
    # 2 bytes a score; with dropout its mask (1) and its output (2): 5. FlashAttention: 4 bytes for each query and head.
    scores, size = 3 * 96 * 2048**2, dict(micro_batch=3, sequence=2048, heads=96, attending_share=1)
    assert activation_memory.score_bytes(**size) == scores * 2
    assert activation_memory.score_bytes(**size, dropout=1) == scores * 5
    assert activation_memory.score_bytes(**size, activation_element_bytes=4, dropout=1) == scores * 9
    assert activation_memory.score_bytes(**size, flash_attention=1) == 3 * 96 * 2048 * 4
    assert activation_memory.score_bytes(**size, flash_attention=1, dropout=1, activation_element_bytes=4) == 3 * 96 * 2048 * 4
    # Tensor parallel splits the heads, context parallel the queries; each query still meets all keys.
    assert activation_memory.score_bytes(**size, tensor_parallel=8, context_parallel=4) == scores * 2 / 32
    assert activation_memory.score_bytes(**size, flash_attention=1, tensor_parallel=8, context_parallel=4) == 3 * 12 * 512 * 4
    # Where one layer of four has attention, a layer keeps a quarter in the mean.
    assert activation_memory.score_bytes(**size | dict(attending_share=0.25)) == scores / 2


def test_a_gated_layer_with_grouped_heads():
    # BF16 values: 4 x 4096 (norms, attention, MLP inputs) + 2 x 4096 + 2 x 1024 (q, o, k, v) + 4 x 14336 = 83,968.
    assert per_token(LLAMA_8B, recompute=1) == 2 * 83_968 == 167_936
    assert per_token(LLAMA_8B) == 167_936 + 2 * 32 * 2048
    assert per_token(LLAMA_8B, flash_attention=1) == 167_936 + 4 * 32
    assert per_token(LLAMA_8B, recompute=2) == 2 * 4096
    # Without its gate the MLP keeps two tensors instead of four.
    assert per_token(dict(LLAMA_8B, gated_mlp=0), recompute=1) == 167_936 - 2 * 2 * 14336
    assert per_token(LLAMA_8B, recompute=1, activation_element_bytes=4) == 2 * 167_936
    assert per_token(LLAMA_8B, recompute=2, activation_element_bytes=4) == 4 * 4096
    # A micro-batch of 3, a fourth of the sequence.
    assert Case(LLAMA_8B, micro_batch=3, sequence=2048, context_parallel=4, recompute=1)(activation_memory.layer_activation_bytes) == (
        3 * 512 * 167_936)


def test_norms_of_other_models():
    # Falcon-7B: one norm feeds attention and MLP. Gemma-2-9B: four norms. Qwen3-8B: queries and keys before their norms too.
    assert Case(catalogue.model("Falcon-7B"))(activation_memory.whole_values) == 2 * 4544
    assert Case(catalogue.model("Gemma-2-9B"))(activation_memory.whole_values) == 6 * 3584
    assert Case(catalogue.model("Qwen3-8B"), tensor_parallel=4)(activation_memory.split_values) == (
        3 * 1024 + 3 * 256 + 4 * 12288 / 4)
    # Two of the 8 key and value heads of Llama-3-8B, and one where there are more GPUs than heads.
    assert Case(LLAMA_8B, tensor_parallel=4)(activation_memory.split_values) == 2 * 1024 + 2 * 256 + 4 * 3584
    assert Case(LLAMA_8B, tensor_parallel=16)(activation_memory.split_values) == 2 * 256 + 2 * 128 + 4 * 896


def test_a_layer_of_deepseek_v3():
    # Compressed query 1536 and key and value 512, each before and after its norm, and the rotary key of 64; of 8 routed experts
    # the inputs, in 58 of 61 layers; plain operations keep the outputs too, and three values of each norm instead of one.
    assert Case(DEEPSEEK)(activation_memory.whole_values) == close(4 * 7168 + 8 * 7168 * 58 / 61 + 2 * 1536 + 2 * 512 + 64)
    assert Case(DEEPSEEK, fusion=0)(activation_memory.whole_values) == close(8 * 7168 + 16 * 7168 * 58 / 61 + 2 * 1536 + 2 * 512 + 64)
    # On 8 GPUs 16 heads each: queries and keys of 192, values and outputs of 128. The width is 18432 in all layers: 9 x 2048.
    assert Case(DEEPSEEK)(activation_memory.mlp_width) == (3 * 18432 + 58 * 9 * 2048) / 61 == 18432
    assert Case(DEEPSEEK, tensor_parallel=8)(activation_memory.split_values) == 16 * 2 * (128 + 64 + 128) + 4 * 18432 / 8


def test_width_of_the_experts_a_token_uses():
    assert Case(LLAMA_8B)(activation_memory.mlp_width) == 14336
    assert Case(catalogue.model("Mixtral-8x7B"))(activation_memory.mlp_width) == 2 * 14336
    sparse = dict(moe_layers=1, experts_per_token=2, shared_experts=3, expert_intermediate=100)
    assert Case(sparse, intermediate=1000, layers=4)(activation_memory.mlp_width) == (3 * 1000 + 5 * 100) / 4


def test_a_layer_of_several_kinds_is_their_mean():
    # Qwen3-Next on 2 GPUs: 12 of 48 layers have attention: queries, output, gate and its product of 8 heads of 256, queries and keys
    # before their norms, a key and value head of 256. The other 36: 16 key heads and 32 value heads of 128, halved.
    case = Case(model="Qwen3-Next-80B-A3B", tensor_parallel=2)
    attention, linear = 3 * (8 + 1) * 256 + 2 * 8 * 256, (4 * 16 * 128 + 5 * 32 * 128) / 2
    assert case(activation_memory.mixed_values) == (12 * attention + 36 * linear) / 48
    assert case(activation_memory.split_values) == (12 * attention + 36 * linear) / 48 + 4 * 11 * 512 / 2
    assert case(activation_memory.mixed_width) == (12 * 4096 + 36 * 4096) / 48
    assert Case(model="Nemotron-H-8B")(activation_memory.mixed_width) == (4 * 4096 + 24 * 8192) / 52
    # Gemma-4-31B: 32 query heads of 256 and 16 key heads in 50 layers, of 512 and 4 key heads in 10; norms of both.
    assert Case(model="Gemma-4-31B")(activation_memory.mixed_values) == (50 * 3 * 48 * 256 + 10 * 3 * 36 * 512) / 60
    # Routed experts of Nemotron-3-Super take in 1024 channels, 22 of them in 40 of 88 layers of one norm.
    assert Case(model="Nemotron-3-Super-120B-A12B")(activation_memory.whole_values) == close(2 * 4096 + 22 * 40 / 88 * 1024)


def test_plain_and_compiled_operations():
    # Norms of plain operations keep an FP32 copy, two values of BF16, and the normalized value: three for one.
    assert Case(LLAMA_8B, fusion=0)(activation_memory.whole_values) == (3 * 2 + 2) * 4096
    assert Case(LLAMA_8B, fusion=2)(activation_memory.whole_values) == 4 * 4096
    assert Case(catalogue.model("Gemma-2-9B"), fusion=0)(activation_memory.whole_values) == (3 * 4 + 2) * 3584
    # A compiled MLP keeps gate, up and product; without a gate there is nothing to save.
    attention = 2 * 4096 + 2 * 1024
    assert Case(LLAMA_8B, fusion=2)(activation_memory.split_values) == attention + 3 * 14336
    assert Case(LLAMA_8B, fusion=0)(activation_memory.split_values) == attention + 4 * 14336
    assert Case(GPT_3, fusion=2)(activation_memory.split_values) == (4 + 8) * 12288
    # Keys and values of 8 heads copied to all 32.
    assert Case(LLAMA_8B, expanded_kv=1, tensor_parallel=8)(activation_memory.split_values) == 4 * 512 + 4 * 14336 / 8


def test_activations_of_adapters_are_those_of_all_weights():
    job = dict(micro_batch=1, sequence=2048, micro_batches=1)
    for recompute in (0, 1, 2):
        full, adapted = (Case(LLAMA_8B, catalogue.recipe(name), recompute=recompute, **job).terms(tm.peak_bytes)
                         for name in ("mixed-adamw", "lora"))
        assert full["activation_bytes"] == adapted["activation_bytes"]


@pytest.mark.parametrize("switches, kept", [
    # 5as / h = 5 x 64 x 2048 / 6144 = 106.67; t = 8.
    (dict(), 34 + 320 / 3),
    (dict(tensor_parallel=8), 10 + 24 / 8 + 320 / 3 / 8),
    (dict(tensor_parallel=8, sequence_parallel=1), 34 / 8 + 320 / 3 / 8),
    (dict(tensor_parallel=8, recompute=1), 10 + 24 / 8),
    (dict(tensor_parallel=8, sequence_parallel=1, recompute=1), 34 / 8),
    (dict(recompute=2), 2),
    (dict(tensor_parallel=8, sequence_parallel=1, recompute=2), 2 / 8)])
def test_table_of_korthikanti(switches, kept):
    # Korthikanti et al., table 2, in units of s b h. The last row is stored split where the sequence is.
    assert per_token(GPT_22B, dropout=1, **switches) == close(6144 * kept)


@pytest.mark.parametrize("architecture, layout, micro_batch, state, none, selective", [
    (GPT_22B, dict(tensor_parallel=8), 4, 45.5625, 59.25, 9.5625),
    (GPT_1T, dict(tensor_parallel=8, pipeline_parallel=64), 1, 32.958984375, 131.25, 26.5625)])
def test_figure_1_of_korthikanti(architecture, layout, micro_batch, state, none, selective):
    # 18 bytes for each of 12 h^2 L / (t p) parameters; the first of 64 stages keeps 64 micro-batches of 2 layers.
    params = 12 * architecture["hidden"]**2 * architecture["layers"] / 8 / layout.get("pipeline_parallel", 1)
    nothing = dict.fromkeys(("gpu_embedding_params", "gpu_expert_params", "gpu_adapter_params", "gpu_expert_adapter_params"), 0)
    assert Case(catalogue.recipe("mixed-adamw-fp32-grads"), gpu_layer_params=params, factored_statistics=0, adapters=0, **nothing)(
        tm.held_state_bytes) == state * GIB
    job = dict(micro_batch=micro_batch, sequence=2048, micro_batches=512, dropout=1, **layout)
    assert Case(architecture, **job)(activation_memory.activation_bytes) == close(none * GIB)
    assert Case(architecture, **job, recompute=1, sequence_parallel=1)(activation_memory.activation_bytes) == close(selective * GIB)


@pytest.mark.parametrize("architecture, sequence_only, selective_only, both, full", [
    (GPT_22B, 66.84, 49.42, 16.18, 7.64), (GPT_1T, 58.31, 62.04, 20.27, 9.42)])
def test_figure_7_of_korthikanti(architecture, sequence_only, selective_only, both, full):
    # In percent of tensor parallel alone; read from a plot.
    whole = per_token(architecture, dropout=1, tensor_parallel=8)
    for expected, switches in ((sequence_only, dict(sequence_parallel=1)), (selective_only, dict(recompute=1)),
                               (both, dict(sequence_parallel=1, recompute=1)), (full, dict(recompute=2))):
        share = per_token(architecture, dropout=1, tensor_parallel=8, **switches) / whole
        assert 100 * share == pytest.approx(expected, rel=0.012)


def test_layers_in_flight_keep_their_activations():
    assert activation_memory.activation_bytes(in_flight_layers=32, layer_activation_bytes=1_376_780_288) == 44_056_969_216
    # GPT-3 on 8 stages of three chunks, section 4.2.3: 96 layers times 1 + 7 / 24.
    kept = Case(GPT_3, micro_batch=1, sequence=2048, micro_batches=64, dropout=1, recompute=1, tensor_parallel=8,
                sequence_parallel=1, pipeline_parallel=8, virtual_stages=3)(activation_memory.activation_bytes)
    assert kept == close(96 * (1 + 7 / 24) * 34 * 2048 * 12288 / 8)


def test_products_in_eight_bits_keep_what_they_cast():
    """Of GPT-3 in FP8 the MLP keeps its first product, and the second's input as it was cast, half as wide; so has the attention
    output a copy: 4 x 12,288 and (1 + 1/2) x 49,152 + 1/2 x 12,288."""
    fp8 = Case(GPT_3, input_element_bytes=1)(activation_memory.split_values)
    assert fp8 == 4 * 12_288 + 1.5 * 49_152 + 0.5 * 12_288 == 129_024
    assert Case(GPT_3, input_element_bytes=0.5)(activation_memory.split_values) == 49_152 + 61_440 + 3_072


def test_what_is_recomputed_and_its_gradients():
    job = dict(micro_batch=1, sequence=2048)
    assert Case(LLAMA_8B, **job)(activation_memory.recomputed_bytes) == 0
    assert Case(LLAMA_8B, recompute=1, **job)(activation_memory.recomputed_bytes) == 32 * 2048**2 * 2
    assert Case(LLAMA_8B, recompute=2, **job)(activation_memory.recomputed_bytes) == 2048 * (167_936 - 2 * 4096) + 32 * 2048**2 * 2
    assert Case(LLAMA_8B, recompute=2, flash_attention=1,
                **job)(activation_memory.recomputed_bytes) == 2048 * (167_936 - 8192 + 4 * 32)
    # GPT 22B with dropout: table 2 without its 2 s b h.
    rest = {"tensor_parallel": 8, "dropout": 1, "recompute": 2}
    assert Case(GPT_22B, **rest, **job)(activation_memory.recomputed_bytes) == close(2048 * 6144 * (10 + 3 + 320 / 3 / 8 - 2))
    assert Case(GPT_22B, **rest, sequence_parallel=1, **job)(activation_memory.recomputed_bytes) == close(
        2048 * 6144 * (34 + 320 / 3 - 2) / 8)
    # Two of the hidden size; gate, up and product.
    gradients = activation_memory.activation_gradient_bytes
    assert Case(LLAMA_8B, **job)(gradients) == 2048 * 2 * (2 * 4096 + 3 * 14336)
    assert Case(LLAMA_8B, tensor_parallel=8, **job)(gradients) == 2048 * 2 * (2 * 4096 + 3 * 14336 / 8)
    # Shards of both, and the output's gradient and the MLP's input gathered whole.
    assert Case(LLAMA_8B, tensor_parallel=8, sequence_parallel=1, **job)(gradients) == 2048 * 2 * (2 * 512 + 2 * 4096 + 3 * 1792)
    assert Case(LLAMA_8B, activation_element_bytes=4, **job)(gradients) == 2048 * 4 * (2 * 4096 + 3 * 14336)
    assert Case(GPT_22B, **job)(gradients) == 2048 * 2 * (2 + 2 * 4) * 6144


def test_torchs_policy_for_operations():
    # torchtitan keeps the layer's input, the attention output with its statistic, and of q, k, v, output, gate, up, down every
    # second product: q, v, gate and down.
    values = activation_memory.product_values
    assert Case(LLAMA_8B)(values) == 2 * 4096 + 1024 + 14336 + 4096
    assert Case(LLAMA_8B, tensor_parallel=8)(values) == 2 * 512 + 128 + 1792 + 4096
    assert per_token(LLAMA_8B, recompute=3, flash_attention=1) == 2 * (4096 + 27_648) + 4 * 32
    # Without a gate the MLP's output is the sixth product, and not kept.
    assert Case(dict(LLAMA_8B, gated_mlp=0))(values) == 2 * 4096 + 1024 + 14336
    # DeepSeek-V3: the two compressions, output and up of eight; a whole query, the expansion, gate and down of seven.
    assert Case(DEEPSEEK)(values) == close(1536 + 576 + 7168 + 18432 + 128 * 128)
    assert Case(dict(DEEPSEEK, q_lora_rank=0))(values) == close(128 * (192 + 256) + 18432 + 7168 + 128 * 128)
    # Sequence parallel divides the input, and keeps the two scattered sums beside the products.
    split = per_token(LLAMA_8B, recompute=3, flash_attention=1, tensor_parallel=8, sequence_parallel=1)
    assert split == 2 * (3 * 512 + 2 * 512 + 128 + 1792 + 4096) + 4 * 4


def test_selective_recompute_beside_flash_attention():
    # Llama-3-8B makes both norms, the activation and its product again; compiled code keeps no activation.
    kept = per_token(LLAMA_8B, flash_attention=1)
    assert kept - per_token(LLAMA_8B, recompute=1, flash_attention=1) == 2 * (2 * 4096 + 2 * 14336)
    assert Case(LLAMA_8B, fusion=2, tensor_parallel=8, sequence_parallel=1)(activation_memory.made_values) == (2 * 4096 + 14336) / 8
    # DeepSeek-V3: queries and keys of 192 and values of 128 on 128 heads besides; the output stays.
    assert Case(DEEPSEEK, fusion=2)(activation_memory.made_values) == 2 * 7168 + 18432 + 128 * (2 * 192 + 128)


def test_a_share_of_the_layers_recomputes():
    none, full = (per_token(LLAMA_8B, recompute=level) for level in (0, 2))
    assert per_token(LLAMA_8B, recompute=2, recomputed_share=0.25) == close(0.75 * none + 0.25 * full)
    terms = Case(LLAMA_8B, micro_batch=1, sequence=2048, recompute=2, recomputed_share=0.25)
    assert terms(activation_memory.recomputed_bytes) == close(2048 * 0.25 * (none - full))


def test_what_nvidia_runs_without_recompute_fits():
    # Llama-3.1-405B on 1,024 H100, TP 8, PP 8 x 8, CP 2, BF16 gradients. Megatron-Core counts the embedding and the loss as a
    # layer each, so the first stage has 15: of 71 chunks of a micro-batch in flight the 15 of its first chunk have one layer,
    # the rest two. Its fused MLP keeps gate, up and product.
    job = dict(micro_batch=1, sequence=8192, micro_batches=64, zero_stage=1, flash_attention=1, tensor_parallel=8,
               sequence_parallel=1, pipeline_parallel=8, virtual_stages=8, context_parallel=2, data_parallel=8, fusion=2)
    run = Case(catalogue.model("Llama-3.1-405B"), catalogue.recipe("mixed-adamw"), **job)
    assert run.but(layers=None)(sharding.in_flight_layers) == 71 * 2
    uneven = run.but(stage_layers=15, in_flight_layers=15 + 56 * 2)
    layer = 4096 * 2 * (4 * 16384 + 2 * 16384 + 2 * 1024 + 3 * 53248) / 8
    assert uneven(activation_memory.activation_bytes) == close(127 * (layer + 4096 * 16 * 4))
    assert uneven(tm.training_bytes) == pytest.approx(75e9, rel=0.01)
    assert uneven(tm.training_bytes) < run(tm.training_bytes) < 85_520_809_984
