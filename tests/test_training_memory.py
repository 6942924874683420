"""Training memory against hand calculations: the arithmetic stands in each test, written out without the laws."""
import math

import numpy as np
import pytest

from gpucalc import LAWS, activation_memory, low_rank, sharding
from gpucalc.rows import catalogue
from gpucalc import training_memory as tm
from gpucalc.core.evaluate import Case

GIB = 2**30
LLAMA_8B = catalogue.model("Llama-3-8B")
LLAMA_8B_TABLES = 2 * 128256 * 4096 + 4096                                          # two tables and the final norm
LLAMA_8B_LAYER = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096    # q o, k v, gate up down, two norms
DEEPSEEK = catalogue.model("DeepSeek-V3")
GPT_3 = dict(layers=96, hidden=12288, heads=96, kv_heads=96, head_dim=128, intermediate=49152)
GPT_22B = dict(layers=48, hidden=6144, heads=64, kv_heads=64, head_dim=96, intermediate=24576)
GPT_1T = dict(layers=128, hidden=25600, heads=160, kv_heads=160, head_dim=160, intermediate=102400)
MOMENTS = ("loss_moment_bytes", "head_moment_bytes", "first_layer_moment_bytes", "last_layer_moment_bytes", "step_moment_bytes")
# Trained and frozen parameters on one GPU, and four data times two context ranks of which four hold other experts.
PARTS = dict(gpu_embedding_params=100, gpu_layer_params=1000, gpu_expert_params=400, gpu_adapter_params=10,
             gpu_expert_adapter_params=4)
TRAINED = dict(gpu_trained_params=1100, gpu_trained_expert_params=400)
RANKS = dict(shard_ranks=8, expert_shard_ranks=2)
ALONE = dict(shard_ranks=1, expert_shard_ranks=1)
ATTENTION_ADAPTERS = dict(adapt_query=1, adapt_key=1, adapt_value=1, adapt_output=1, adapt_mlp=0)
QUERY_VALUE = ATTENTION_ADAPTERS | dict(adapt_key=0, adapt_output=0)
ALL_ADAPTERS = ATTENTION_ADAPTERS | dict(adapt_mlp=1)


def close(value):
    return pytest.approx(value, rel=1e-12)


def per_token(architecture, **switches):
    """Bytes that one layer keeps for one token of a sequence of 2,048."""
    return Case(architecture, micro_batch=1, sequence=2048, **switches)(activation_memory.layer_activation_bytes) / 2048


# Adapters

@pytest.mark.parametrize("layers, hidden, published", [(24, 2048, 1_572_864), (16, 4096, 2_097_152)])
def test_published_counts_of_rank_8_on_queries_and_values(layers, hidden, published):
    # LitGPT prints them for Phi-1.5 and StableLM-Alpha-3B: two square matrices a layer, 8 x (h + h) each.
    model = dict(layers=layers, hidden=hidden, heads=32, kv_heads=32, head_dim=hidden // 32, intermediate=4 * hidden)
    assert Case(model, lora_rank=8, **QUERY_VALUE)(low_rank.lora_params) == layers * 8 * 2 * 2 * hidden == published


def test_adapters_on_each_matrix():
    # Llama-3-8B: q 4096 to 4096, k and v 4096 to 1024, o 4096 to 4096, each MLP matrix between 4096 and 14336.
    by_hand = dict(adapt_query=8192, adapt_key=5120, adapt_value=5120, adapt_output=8192)
    for chosen, inputs_and_outputs in by_hand.items():
        only = {name: int(name == chosen) for name in by_hand}
        assert Case(LLAMA_8B, lora_rank=16, **only)(low_rank.lora_attention_params) == 16 * inputs_and_outputs
    assert Case(LLAMA_8B, lora_rank=16, **ATTENTION_ADAPTERS)(low_rank.lora_params) == 32 * 16 * 26_624 == 13_631_488
    assert Case(LLAMA_8B, lora_rank=16, adapt_mlp=1)(low_rank.lora_mlp_params) == 16 * 3 * (4096 + 14336)
    assert Case(LLAMA_8B, lora_rank=16, adapt_mlp=0)(low_rank.lora_mlp_params) == 0
    assert Case(catalogue.model("OPT-13B"), lora_rank=16, adapt_mlp=1)(low_rank.lora_mlp_params) == 16 * 2 * (5120 + 20480)
    # The QLoRA setting, rank 64 on all matrices of Llama-2-7B: 159,907,840.
    assert Case(catalogue.model("Llama-2-7B"), lora_rank=64, **ALL_ADAPTERS)(low_rank.lora_params) == (
        32 * 64 * (4 * 8192 + 3 * (4096 + 11008))) == 159_907_840
    # heads x head size need not be the hidden size: Gemma-2-9B has 3584, 16 x 256 = 4096 and 8 x 256 = 2048.
    assert Case(catalogue.model("Gemma-2-9B"), lora_rank=1, **ATTENTION_ADAPTERS)(low_rank.lora_params) == (
        42 * (2 * (3584 + 4096) + 2 * (3584 + 2048)))


def test_adapters_on_latent_attention():
    # DeepSeek-V3: query 7168 to 1536 to 128 x 192, compression to 512 + 64, expansion to 128 x 256, output from 128 x 128.
    by_hand = dict(adapt_query=7168 + 1536 + 1536 + 128 * 192, adapt_key=7168 + 576, adapt_value=512 + 128 * 256,
                   adapt_output=128 * 128 + 7168)
    for chosen, inputs_and_outputs in by_hand.items():
        only = {name: int(name == chosen) for name in by_hand}
        assert Case(DEEPSEEK, lora_rank=2, **only)(low_rank.lora_attention_params) == 2 * inputs_and_outputs
    # Three dense MLPs; 58 layers with 256 routed experts and a shared one.
    assert Case(DEEPSEEK, lora_rank=2, adapt_mlp=1)(low_rank.lora_expert_params) == 2 * 3 * (7168 + 2048)
    assert Case(DEEPSEEK, lora_rank=2, adapt_mlp=0)(low_rank.lora_expert_params) == 0
    assert Case(DEEPSEEK, lora_rank=2, **ALL_ADAPTERS)(low_rank.lora_params) == 2 * (
        61 * sum(by_hand.values()) + 3 * 3 * (7168 + 18432) + 58 * 257 * 3 * (7168 + 2048))
    # Without a compressed query it is one matrix.
    plain = Case(dict(DEEPSEEK, q_lora_rank=0), lora_rank=2, adapt_query=1, adapt_key=0, adapt_value=0,
                 adapt_output=0)(low_rank.lora_attention_params)
    assert plain == 2 * (7168 + 128 * 192)


def test_what_is_trained():
    assert [low_rank.adapters(0), low_rank.adapters(1), low_rank.adapters(13_631_488)] == [0, 1, 1]
    assert Case(LLAMA_8B, catalogue.recipe("mixed-adamw"))(low_rank.adapters) == 0
    assert Case(LLAMA_8B, catalogue.recipe("lora"))(low_rank.adapters) == 1
    for adapters, trained, experts in ((0, 1100, 400), (1, 10, 4)):
        assert low_rank.trainable_params(params=1000, lora_params=10, adapters=adapters) == (10 if adapters else 1000)
        assert low_rank.gpu_trained_params(gpu_embedding_params=100, gpu_layer_params=1000, gpu_adapter_params=10,
                                           adapters=adapters) == trained
        assert low_rank.gpu_trained_expert_params(gpu_expert_params=400, gpu_expert_adapter_params=4, adapters=adapters) == experts


def test_adapters_on_one_gpu():
    # Mixtral-8x7B, rank 4, four stages of 8 layers, 2 of 8 experts; tensor parallel does not divide them.
    mixtral, layout = catalogue.model("Mixtral-8x7B"), dict(pipeline_parallel=4)
    attention = 4 * (2 * 8192 + 2 * 5120)
    assert Case(mixtral, lora_rank=4, **layout, **ALL_ADAPTERS)(low_rank.gpu_adapter_params) == 8 * attention
    assert Case(mixtral, lora_rank=4, adapt_mlp=1, expert_parallel=4, **layout)(low_rank.gpu_expert_adapter_params) == (
        8 * 2 * 4 * 3 * (4096 + 14336))
    # DeepSeek-V3 alone: three dense MLPs and 58 shared experts beside the attention.
    counts = dict(lora_attention_params=1000, lora_mlp_params=100, lora_expert_params=10)
    assert Case(DEEPSEEK, **counts)(low_rank.gpu_adapter_params) == 61 * 1000 + 3 * 100 + 58 * 10
    assert Case(DEEPSEEK, lora_expert_params=10)(low_rank.gpu_expert_adapter_params) == 58 * 256 * 10
    assert low_rank.lora_params(attention_layers=61, mlp_layers=3, moe_layers=58, experts=256, shared_experts=1, **counts) == (
        61 * 1000 + 3 * 100 + 58 * 257 * 10)


# Model state

@pytest.mark.parametrize("recipe, trained, frozen", [
    ("fp32-adamw", 4 + 4 + 8, 0),
    ("mixed-adamw", 2 + 2 + 4 + 8, 0),
    ("mixed-adamw-fp32-grads", 2 + 4 + 4 + 8, 0),
    ("bf16-adamw", 2 + 2 + 4, 0),
    ("sgd-momentum", 2 + 2 + 4 + 4, 0),
    ("lion", 2 + 2 + 4 + 4, 0),
    ("adamw-8bit", 2 + 2 + 4 + 2 * (1 + 4 / 256), 0),                # a byte and a share of its block's FP32 constant, twice
    ("lora", 2 + 2 + 4 + 8, 2),
    ("qlora", 2 + 2 + 8, (4 + 8 / 64 + 32 / (64 * 256)) / 8),    # bits: NF4, block constants, constants of those
])
def test_bytes_of_each_recipe(recipe, trained, frozen):
    row = catalogue.recipe(recipe)
    assert Case(row)(tm.bytes_per_param) == trained
    assert row.embedding_optimizer_element_bytes == row.optimizer_element_bytes
    assert row.frozen_element_bytes == frozen


def test_state_of_full_training():
    # A round 7 billion parameters: 112 GB at 16 bytes and 126 GB at 18.
    assert tm.state_bytes(7_000_000_000, 7_000_000_000, 16) == 112e9
    assert tm.state_bytes(7_000_000_000, 7_000_000_000, 18) == 126e9
    # Llama-3-8B frozen at 2 bytes, 13,631,488 adapter parameters at 16.
    assert tm.state_bytes(8_030_261_248, 13_631_488, 16, 2) == 16_060_522_496 + 218_103_808


def test_weights_on_one_gpu():
    held = tm.held_weight_bytes
    without = dict(gpu_adapter_params=0, gpu_expert_adapter_params=0, adapters=0) | ALONE
    assert held(**PARTS | without, weight_element_bytes=2, frozen_element_bytes=0.5, kept_element_bytes=3) == 1500 * 2
    # Adapters of 2 bytes beside matrices of half a byte and embeddings of 3.
    widths = dict(weight_element_bytes=2, frozen_element_bytes=0.5, kept_element_bytes=3, adapters=1)
    dense, experts = 100 * 3 + 1000 * 0.5 + 10 * 2, 400 * 0.5 + 4 * 2
    assert held(**PARTS, **widths, **ALONE) == dense + experts
    assert held(**PARTS, **widths, zero_stage=2, **RANKS) == dense + experts
    # 8 GPUs hold the same dense weights, 8 / 4 the same experts.
    assert held(**PARTS, **widths, zero_stage=3, **RANKS) == dense / 8 + experts / 2


@pytest.mark.parametrize("law, widths, stage", [
    (tm.held_gradient_bytes, dict(gradient_element_bytes=4), 2), (tm.held_master_bytes, dict(master_element_bytes=4), 1),
    (tm.step_bytes, dict(step_element_bytes=4), 1)])
def test_what_zero_splits_from_a_stage_on(law, widths, stage):
    assert law(**TRAINED, **widths, **ALONE) == 4 * 1500
    assert law(**TRAINED, **widths, zero_stage=stage - 1, **RANKS) == 4 * 1500
    for split in range(stage, 4):
        assert law(**TRAINED, **widths, zero_stage=split, **RANKS) == 4 * (1100 / 8 + 400 / 2)


def test_optimizer_state_on_one_gpu():
    given = TRAINED | ALONE | dict(gpu_embedding_params=100, factored_statistics=7, optimizer_element_bytes=4,
                                   embedding_optimizer_element_bytes=8, adapters=0)
    dense, experts = 1000 * 4 + 100 * 8, 400 * 4
    assert tm.held_optimizer_bytes(**given) == dense + experts
    assert tm.held_optimizer_bytes(**given, factored_element_bytes=3) == dense + 7 * 3 + experts
    assert tm.held_optimizer_bytes(**given | dict(adapters=1), factored_element_bytes=3) == tm.held_optimizer_bytes(
        **given | dict(adapters=1))
    assert tm.held_optimizer_bytes(**given | dict(adapters=1)) == 1100 * 4 + experts    # embeddings are frozen
    assert tm.held_optimizer_bytes(**given | RANKS, zero_stage=1) == dense / 8 + experts / 2
    assert tm.held_optimizer_bytes(**given, offload_optimizer=1) == 0
    assert tm.held_master_bytes(**TRAINED, **ALONE, master_element_bytes=4, offload_optimizer=1) == 0


def test_one_statistic_for_each_row_and_column():
    # Llama-2-7B: 32 layers of four squares of 4096 and three matrices of 4096 x 11008, two tables of 32000 x 4096.
    llama = catalogue.model("Llama-2-7B")
    count = 32 * (4 * 8192 + 3 * (4096 + 11008)) + 2 * (32000 + 4096)
    assert Case(llama)(tm.factored_statistics) == count == 2_570_752
    state = Case(llama, catalogue.recipe("adafactor")).terms(tm.held_state_bytes)
    assert state["held_optimizer_bytes"] == 4 * count
    assert state["held_state_bytes"] == 6_738_415_616 * (2 + 2 + 4) + 4 * count
    # The table of Gemma-2-9B is shared. Mixtral-8x7B with 2 of its 8 experts. DeepSeek-V3 has a shared one too.
    assert Case(catalogue.model("Gemma-2-9B"))(tm.factored_statistics) == (
        42 * (2 * (3584 + 4096) + 2 * (3584 + 2048) + 3 * (3584 + 14336)) + 256000 + 3584)
    assert Case(catalogue.model("Mixtral-8x7B"), expert_parallel=4)(tm.factored_statistics) == (
        32 * (2 * 8192 + 2 * 5120 + 2 * 3 * (4096 + 14336)) + 2 * (32000 + 4096))
    latent = 7168 + 2 * 1536 + 128 * 192 + 7168 + 576 + 512 + 128 * 256 + 128 * 128 + 7168
    assert Case(DEEPSEEK)(tm.factored_statistics) == (
        61 * latent + 3 * 3 * (7168 + 18432) + 58 * 257 * 3 * (7168 + 2048) + 2 * (129280 + 7168))


def test_statistics_are_too_few_to_be_split():
    # Mixtral-8x7B on 8 GPUs, one expert of each layer on each: no GPU shares an expert's statistics with another.
    state = Case(catalogue.model("Mixtral-8x7B"), catalogue.recipe("adafactor"), zero_stage=1, data_parallel=8,
                 expert_parallel=8).terms(tm.held_state_bytes)
    dense, expert = 32 * (2 * 8192 + 2 * 5120) + 2 * (32000 + 4096), 32 * 3 * (4096 + 14336)
    assert state["held_optimizer_bytes"] == 4 * (dense + expert)


def test_muon_keeps_one_momentum_and_adam_for_the_tables():
    held = Case(LLAMA_8B, catalogue.recipe("muon"))(tm.held_optimizer_bytes)
    assert held == 32 * LLAMA_8B_LAYER * 4 + LLAMA_8B_TABLES * 8


def test_qlora_keeps_tables_wide():
    # Llama-2-7B: tables and final norm at 2 bytes, layers in NF4 with double quantization, adapters at 2 + 2 + 8.
    terms = Case(catalogue.model("Llama-2-7B"), catalogue.recipe("qlora")).terms(tm.held_state_bytes)
    tables, adapters = 2 * 32000 * 4096 + 4096, 159_907_840
    frozen = (6_738_415_616 - tables) * (4 + 8 / 64 + 32 / (64 * 256)) / 8
    assert terms["held_weight_bytes"] == close(2 * tables + frozen + 2 * adapters)
    assert terms["held_gradient_bytes"] == 2 * adapters
    assert terms["held_master_bytes"] == 0
    assert terms["held_optimizer_bytes"] == 8 * adapters
    assert terms["held_state_bytes"] == close(2 * tables + frozen + 12 * adapters)


def test_a_65b_is_tuned_on_48_gigabytes_with_a_paged_optimizer():
    # QLoRA (arXiv 2305.14314, abstract): a 65B on one GPU of 48 GB. Rank 64 on all matrices, one sequence of 512.
    llama = dict(layers=80, hidden=8192, heads=64, kv_heads=64, head_dim=128, intermediate=22016, vocab=32000, gated_mlp=1,
                 expert_intermediate=0)
    adapters = 80 * 64 * (4 * 2 * 8192 + 3 * (8192 + 22016))
    assert adapters == 799_539_200
    resident, paged = (Case(llama, catalogue.recipe("qlora"), micro_batch=1, sequence=512, micro_batches=16, recompute=2,
                            offload_optimizer=on)(tm.training_bytes) for on in (0, 1))
    assert resident - paged == close(8 * adapters * 1.14)
    assert paged == pytest.approx(44.4e9, rel=0.001)
    assert paged < 48e9 < resident


def test_offload_moves_master_weights_and_optimizer_state():
    terms = Case(LLAMA_8B, catalogue.recipe("mixed-adamw"), offload_optimizer=1).terms(tm.held_state_bytes)
    assert terms["held_state_bytes"] == 8_030_261_248 * (2 + 2)
    # ZeRO-Offload: the GPU keeps 2 bytes a parameter and one layer's gradient; the host has the other 14.
    offload = Case(LLAMA_8B, catalogue.recipe("mixed-adamw"), offload_optimizer=1, offload_gradients=1)
    assert offload(tm.held_state_bytes) == 8_030_261_248 * 2
    assert offload(tm.resident_bytes) == 8_030_261_248 * 2 + 2 * LLAMA_8B_LAYER
    assert Case(LLAMA_8B, catalogue.recipe("mixed-adamw"))(tm.host_bytes) == 8_030_261_248 * (2 + 4 + 8)
    assert Case(LLAMA_8B, catalogue.recipe("mixed-adamw"), zero_stage=2,
                data_parallel=8)(tm.host_bytes) == 8_030_261_248 * 14 / 8


# ZeRO

def test_hybrid_shards_split_over_some_replicas():
    # 8 replicas; 4 of them share the dense weights; each of 4 ranks has experts of its own, so 4 have nothing to split.
    held = Case(**TRAINED, gradient_element_bytes=4, zero_stage=3, data_parallel=4, context_parallel=2, expert_parallel=4)
    for ranks, experts in ((4, 400), (2, 400), (8, 200)):
        assert held.but(shard_parallel=ranks)(tm.held_gradient_bytes) == 4 * (1100 / ranks + experts)
    assert held(tm.held_gradient_bytes) == 4 * (1100 / 8 + 400 / 2)


def test_experts_are_split_over_tensor_parallel_ranks_too():
    # Megatron-Core: 8 replicas of 2 ranks hold 16 shards of tokens; 4 of them share the experts out, 4 hold the same ones.
    held = Case(**TRAINED, gradient_element_bytes=4, zero_stage=3, data_parallel=8, tensor_parallel=2, expert_parallel=4)
    assert held(tm.held_gradient_bytes) == 4 * (1100 / 8 + 400 / 4)
    assert held.but(expert_tensor_parallel=2)(tm.held_gradient_bytes) == 4 * (1100 / 8 + 400 / 2)


def zero_state(params, zero_stage, data_parallel, recipe="mixed-adamw"):
    return Case(catalogue.recipe(recipe), gpu_layer_params=params, gpu_embedding_params=0, gpu_expert_params=0,
                gpu_adapter_params=0, gpu_expert_adapter_params=0, factored_statistics=0, adapters=0,
                zero_stage=zero_stage, data_parallel=data_parallel)(tm.held_state_bytes)


@pytest.mark.parametrize("stage, expected, printed", [
    (0, 16 * 7.5, 120), (1, 4 * 7.5 + 12 * 7.5 / 64, 31.4), (2, 2 * 7.5 + 14 * 7.5 / 64, 16.6), (3, 16 * 7.5 / 64, 1.9)])
def test_figure_of_the_zero_paper(stage, expected, printed):
    # arXiv 1910.02054, figure 1: 7.5 billion parameters on 64 GPUs.
    assert zero_state(7.5e9, stage, 64) == close(expected * 1e9) == pytest.approx(printed * 1e9, rel=0.014)


@pytest.mark.parametrize("params, table", [
    (7.5e9, {4: (52.5, 41.3, 30), 16: (35.6, 21.6, 7.5), 256: (30.4, 15.4, 0.47), 1024: (30.1, 15.1, 0.12)}),
    (128e9, {4: (896, 704, 512), 16: (608, 368, 128), 64: (536, 284, 32), 256: (518, 263, 8), 1024: (513, 257, 2)}),
    (1e12, {4: (7000, 5500, 4000), 16: (4750, 2875, 1000), 64: (4187, 2218, 250), 256: (4046, 2054, 62.5),
            1024: (4011, 2013, 15.6)})])
def test_table_of_the_zero_paper(params, table):
    # arXiv 1910.02054, table 1: stages 1, 2 and 3, in GB.
    for gpus, printed in table.items():
        for stage, gigabytes in enumerate(printed, start=1):
            assert zero_state(params, stage, gpus) == pytest.approx(gigabytes * 1e9, rel=0.025)


# Activations

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
    # the inputs and outputs, in 58 of 61 layers.
    assert Case(DEEPSEEK)(activation_memory.whole_values) == close(4 * 7168 + 2 * 8 * 7168 * 58 / 61 + 2 * 1536 + 2 * 512 + 64)
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
    # Routed experts of Nemotron-3-Super take in and give out 1024 channels, 22 of them in 40 of 88 layers of one norm.
    assert Case(model="Nemotron-3-Super-120B-A12B")(activation_memory.whole_values) == close(2 * 4096 + 2 * 22 * 40 / 88 * 1024)


def test_adapters_of_layers_of_several_kinds():
    # Qwen3-Next: the query's matrix is twice as wide, with its gate; 12 layers have attention. Gemma-4 has no value matrix.
    queries, keys = 2048 + 2 * 4096, 2048 + 512
    one = 8 * (queries + 2 * keys + 2048 + 4096)
    assert Case(model="Qwen3-Next-80B-A3B", lora_rank=8, **ATTENTION_ADAPTERS)(low_rank.lora_params) == 12 * one
    assert Case(model="Qwen3-Next-80B-A3B", lora_rank=8, pipeline_parallel=4, **ATTENTION_ADAPTERS)(low_rank.gpu_adapter_params) == 3 * one
    assert Case(model="Gemma-4-31B", lora_rank=1, adapt_query=0, adapt_key=1, adapt_value=1,
                adapt_output=0)(low_rank.lora_attention_params) == 5376 + 4 * 512


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
    assert zero_state(params, 0, 1, "mixed-adamw-fp32-grads") == state * GIB
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


# The loss

def test_logits():
    logits, size = tm.logits_bytes, dict(gpu_tokens=8192, hidden=4096, vocab=128256)
    assert logits(**size) == 8192 * (2 * 4096 * 2 + 128256 * 2)
    assert logits(**size, logit_element_bytes=4, activation_element_bytes=3) == 8192 * (2 * 4096 * 3 + 128256 * 4)
    assert logits(**size, tensor_parallel=8) == 8192 * (2 * 4096 * 2 + 16032 * 2)
    # Sequence parallel divides the norm's input; the head's is gathered whole.
    assert logits(**size, tensor_parallel=8, sequence_parallel=1) == 8192 * ((512 + 4096) * 2 + 16032 * 2)
    assert logits(**size, pipeline_parallel=2) == 0
    assert logits(**size, pipeline_parallel=2, last_stage=1) == logits(**size)
    assert logits(**size, last_stage=1) == logits(**size)


def test_loss():
    loss, size = tm.loss_bytes, dict(gpu_tokens=8192, vocab=128256)
    assert loss(**size) == 8192 * 128256 * (4 + 4 + 4)
    assert loss(**size, loss_element_bytes=4) == 8192 * 128256 * 4
    assert loss(**size, loss_chunks=8, tensor_parallel=4) == 8192 * 128256 * 12 / 32
    assert loss(**size, pipeline_parallel=2) == 0
    assert loss(**size, pipeline_parallel=2, last_stage=1) == loss(**size, last_stage=1) == loss(**size)


def test_fourteen_bytes_a_logit():
    # Cut Your Losses, table 1: Gemma 2 2B, 8192 tokens, a vocabulary of 256,000: 28,000 MB for the loss and its gradient.
    gemma = dict(gpu_tokens=8192, vocab=256000)
    assert tm.loss_bytes(**gemma) + tm.logits_bytes(**gemma, hidden=2304) - 8192 * 2 * 2304 * 2 == 28_000 * 2**20


# What passes by, and the sum

def test_gradient_of_the_head():
    head, size = tm.head_gradient_bytes, dict(vocab=128256, hidden=4096, gradient_element_bytes=2, adapters=0)
    whole = 128256 * 4096 * 2
    # It is held with the others, or made whole beside a share of them, or made anew.
    for layout in (dict(), dict(zero_stage=1, data_parallel=8), dict(zero_stage=3)):
        assert head(**size, **layout) == 0
        assert head(**size, **layout, persistent_gradients=0) == whole
        assert head(**size | dict(adapters=1), **layout, persistent_gradients=0) == 0
    for layout in (dict(zero_stage=2, data_parallel=8), dict(zero_stage=3, context_parallel=2)):
        assert head(**size, **layout) == head(**size, **layout, persistent_gradients=0) == whole
    anew = dict(persistent_gradients=0)
    assert head(**size | dict(gradient_element_bytes=4), **anew) == 2 * whole
    assert head(**size, tensor_parallel=8, **anew) == whole / 8
    assert head(**size, pipeline_parallel=2, **anew) == 0
    assert head(**size, pipeline_parallel=2, last_stage=1, **anew) == head(**size, last_stage=1, **anew) == whole


def test_what_zero_holds_whole_for_a_moment():
    # ZeRO-3: two of four layers and the tables at 2 bytes; ZeRO-2 and 3: a layer's gradient at 4.
    counts = dict(gpu_embedding_params=100, gpu_layer_params=1000, gpu_expert_params=400, stage_layers=4,
                  gradient_element_bytes=4)
    weights, gradient, gathered = (100 + 2 * 350) * 2, 350 * 4, tm.gathered_bytes
    assert gathered(**counts, adapters=0, zero_stage=3, data_parallel=8) == weights + gradient
    assert gathered(**counts, adapters=0, zero_stage=3, context_parallel=2) == weights + gradient
    assert gathered(**counts, adapters=0, zero_stage=2, data_parallel=8) == gradient
    # Frozen weights are gathered as they are stored: here half a byte, tables at 2.
    assert gathered(**counts, adapters=1, frozen_element_bytes=0.5, zero_stage=3, data_parallel=8) == 100 * 2 + 700 * 0.5
    assert gathered(**counts, adapters=0, zero_stage=3, data_parallel=8, activation_element_bytes=4) == 2 * weights + gradient
    assert gathered(**counts, adapters=0, offload_gradients=1) == gradient
    assert gathered(**counts, adapters=0, zero_stage=3) == gathered(**counts, adapters=0, zero_stage=1, data_parallel=8) == 0


HELD = dict(held_weight_bytes=1, held_master_bytes=10, held_optimizer_bytes=100, held_gradient_bytes=1000)


def test_the_five_moments():
    assert tm.held_state_bytes(**HELD) == 1111
    assert tm.resident_bytes(**HELD, gathered_bytes=10_000) == 11_111
    assert tm.resident_bytes(**HELD, gathered_bytes=10_000, persistent_gradients=0) == 10_111
    forward = dict(resident_bytes=1, activation_bytes=10)
    assert tm.loss_moment_bytes(**forward, logits_bytes=100, loss_bytes=1000) == 1111
    assert tm.head_moment_bytes(**forward, logits_bytes=100, head_gradient_bytes=1000) == 1111
    assert tm.first_layer_moment_bytes(**forward, recomputed_bytes=100, activation_gradient_bytes=1000) == 1111
    last = dict(resident_bytes=1, held_gradient_bytes=10, layer_activation_bytes=100, recomputed_bytes=1000,
                activation_gradient_bytes=10_000)
    assert tm.last_layer_moment_bytes(**last) == 11_101
    assert tm.last_layer_moment_bytes(**last, persistent_gradients=0) == 11_111
    step = dict(resident_bytes=1, held_gradient_bytes=10, step_bytes=100)
    assert tm.step_moment_bytes(**step) == 101
    assert tm.step_moment_bytes(**step, persistent_gradients=0) == 111


def test_the_peak_is_the_largest_moment():
    for largest in MOMENTS:
        assert tm.peak_bytes(**{name: 9 if name == largest else place for place, name in enumerate(MOMENTS)}) == 9


def test_what_comes_on_top_of_the_peak():
    assert tm.fragmentation_bytes(peak_bytes=1000, fragmentation=0.1) == close(100)
    assert tm.training_bytes(peak_bytes=1000, fragmentation_bytes=100, communication_bytes=20, framework_bytes=10) == 1130
    assert tm.host_bytes(held_master_bytes=10, held_optimizer_bytes=100, held_gradient_bytes=1) == 111
    # A GPU in a tensor-parallel group, a pipeline and a group of replicas has three communicators, and buckets for replicas.
    assert tm.communication_bytes(communicator_bytes=400, bucket_bytes=9) == 0
    assert tm.communication_bytes(400, 9, tensor_parallel=8, pipeline_parallel=2) == 800
    assert tm.communication_bytes(400, 9, tensor_parallel=8, pipeline_parallel=2, data_parallel=4) == 1209
    assert tm.communication_bytes(400, 9, context_parallel=8, expert_parallel=8) == 800
    assert tm.usable_bytes(80_000_000_000) == close(72e9)
    assert tm.usable_bytes(80_000_000_000, 0.25) == 60e9


# The whole job

ON_EIGHT = dict(zero_stage=3, micro_batch=1, sequence=8192, micro_batches=1, recompute=1, flash_attention=1,
                fragmentation=0.1, framework_bytes=10**9)


def test_llama_3_8b_on_eight_h100():
    terms = Case(LLAMA_8B, catalogue.recipe("mixed-adamw-fp32-grads"), data_parallel=8,
                 **ON_EIGHT).terms(tm.training_bytes)
    resident = 8_030_261_248 * 18 / 8 + (LLAMA_8B_TABLES + 2 * LLAMA_8B_LAYER) * 2 + LLAMA_8B_LAYER * 4
    activations, gradients = 167_936 * 8192, 8192 * 2 * (2 * 4096 + 3 * 14336)
    at_loss = resident + 32 * activations + 8192 * (2 * 4096 * 2 + 128256 * 14)
    assert terms["resident_bytes"] == resident == 21_914_338_304
    assert terms["activation_bytes"] == 32 * activations == 44_023_414_784
    assert terms["loss_moment_bytes"] == terms["peak_bytes"] == at_loss == 80_781_394_944
    assert terms["head_moment_bytes"] == at_loss - 8192 * 128256 * 12 + 4 * 128256 * 4096
    assert terms["first_layer_moment_bytes"] == resident + 32 * activations + 8192 * 32 * 4 + gradients
    assert terms["last_layer_moment_bytes"] == resident + activations + 8192 * 32 * 4 + gradients
    assert terms["step_moment_bytes"] == resident
    assert terms["training_bytes"] == close(at_loss * 1.1 + 1e9 + 392 * 2**20)


def test_fewest_gpus_are_the_first_of_a_column_that_fits():
    # ZeRO-3 splits 18 bytes a parameter; beside it, full recompute keeps a layer's input, and the loss comes on top.
    gpus, job = np.arange(1, 33), ON_EIGHT | dict(recompute=2)
    needed = Case(LLAMA_8B, catalogue.recipe("mixed-adamw-fp32-grads"), data_parallel=gpus, **job)(tm.training_bytes)
    rest = ((LLAMA_8B_TABLES + 2 * LLAMA_8B_LAYER) * 2 + LLAMA_8B_LAYER * 4 + 32 * 8192 * 4096 * 2
            + 8192 * (2 * 4096 * 2 + 128256 * 14))
    fewest = 8_030_261_248 * 18 / ((85_520_809_984 - 1e9 - 392 * 2**20) / 1.1 - rest)
    assert (np.diff(needed) < 0).all()
    assert gpus[needed <= catalogue.gpu("H100 SXM 80GB").memory_bytes][0] == math.ceil(fewest) == 3


def test_13b_does_not_fit_eight_4090():
    # 13,015,864,320 x 16 = 208 GB of state; eight cards hold 8 x 25,757,220,864 = 206 GB.
    card = catalogue.gpu("RTX 4090 24GB")
    state = Case(catalogue.model("Llama-2-13B"), catalogue.recipe("mixed-adamw"), zero_stage=3,
                 data_parallel=8)(tm.held_state_bytes)
    assert state == 13_015_864_320 * 16 / 8 > card.memory_bytes


def test_qlora_of_7b_is_nearer_to_6_than_to_35_gigabytes():
    # Tables 0.52 GB, layers in NF4 3.34, adapters 159,907,840 x 12 = 1.92; layer inputs 32 x 2048 x 4096 x 2 = 0.54; loss 0.95.
    peak = Case(catalogue.model("Llama-2-7B"), catalogue.recipe("qlora"), micro_batch=1, sequence=2048, micro_batches=1,
                recompute=2, flash_attention=1)(tm.peak_bytes)
    tables = 2 * 32000 * 4096 + 4096
    state = 2 * tables + (6_738_415_616 - tables) * (4 + 8 / 64 + 32 / (64 * 256)) / 8 + 159_907_840 * 12
    assert peak == close(state + 32 * 2048 * 4096 * 2 + 2048 * (2 * 4096 * 2 + 32000 * 14)) == pytest.approx(7.27e9, rel=1e-3)


def test_deepseek_v3_on_2048_gpus():
    # 16 stages x 128 data-parallel ranks that hold 64 different shares of the experts; the first stage, ZeRO-1.
    terms = Case(DEEPSEEK, catalogue.recipe("mixed-adamw-fp32-grads"), pipeline_parallel=16, data_parallel=128,
                 expert_parallel=64, zero_stage=1, micro_batch=1, sequence=4096, micro_batches=120, recompute=2,
                 flash_attention=1).terms(tm.peak_bytes)
    attention = 7168 * 1536 + 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 + 512 * 128 * 256 + 128 * 128 * 7168
    dense = 4 * (attention + 2 * 7168 + 256 * 7168 + 256 + 3 * 7168 * 2048) + 129280 * 7168
    experts = 4 * 4 * 3 * 7168 * 2048
    assert terms["held_weight_bytes"] == 2 * (dense + experts)
    assert terms["held_gradient_bytes"] == 4 * (dense + experts)
    assert terms["held_master_bytes"] == 4 * (dense / 128 + experts / 2)
    assert terms["held_optimizer_bytes"] == 8 * (dense / 128 + experts / 2)
    assert terms["activation_bytes"] == 16 * 4 * 4096 * 7168 * 2
    assert terms["logits_bytes"] == terms["loss_bytes"] == 0


# What is not said

DEFAULTS = dict(activation_element_bytes=2, kept_element_bytes=2, logit_element_bytes=2, loss_element_bytes=12, loss_chunks=1,
                norms_per_layer=2, norm_vectors=1, persistent_gradients=1, fusion=1, virtual_stages=1, recomputed_share=1,
                shard_parallel=0)
CHOSEN = ("fragmentation", "framework_bytes", "communicator_bytes", "headroom")    # assumptions of their own


@pytest.mark.parametrize("law", [law for law in LAWS.values() if law.__module__ in (sharding.__name__, tm.__name__, low_rank.__name__,
                                                                                    activation_memory.__name__)],
                         ids=lambda law: law.__name__)
def test_a_feature_that_is_not_given_is_absent_and_a_degree_is_one(law):
    for name, default in law.defaults.items():
        assert name in CHOSEN or default == DEFAULTS.get(name, int(name.endswith("_parallel") and name != "sequence_parallel"))


# Jobs that cannot be

@pytest.mark.parametrize("name, value, allowed", [
    ("zero_stage", 4, "0, 1, 2 or 3"), ("zero_stage", -1, "0, 1, 2 or 3"), ("zero_stage", "3", "0, 1, 2 or 3"),
    ("recompute", 4, "0, 1, 2 or 3"), ("recompute", "full", "0, 1, 2 or 3"), ("flash_attention", 2, "0 or 1"),
    ("sequence_parallel", 8, "0 or 1"), ("offload_optimizer", 0.5, "0 or 1"), ("persistent_gradients", 2, "0 or 1"),
    ("sequence", 0, "a whole number of at least 1"), ("sequence", "8k", "a whole number of at least 1"),
    ("micro_batch", 1.5, "a whole number of at least 1"), ("micro_batch", None, "a whole number of at least 1"),
    ("micro_batches", float("nan"), "a whole number of at least 1"), ("data_parallel", 0, "a whole number of at least 1"),
    ("data_parallel", float("inf"), "a whole number of at least 1"), ("loss_chunks", 0, "a whole number of at least 1"),
    ("lora_rank", -8, "a whole number of at least 0"), ("lora_rank", 2.5, "a whole number of at least 0"),
    ("fragmentation", 5, "a number from 0 to 1"), ("framework_bytes", -1, "a number of at least 0 byte"),
    ("loss_element_bytes", float("nan"), "a number of at least 0 byte"),
    ("activation_element_bytes", 0, "a number above 0 byte"), ("fusion", 3, "0, 1 or 2"), ("expanded_kv", 8, "0 or 1"),
    ("optimizer_element_bytes", -8, "a number of at least 0 byte"), ("adapt_query", 2, "0 or 1")])
def test_an_impossible_job_is_refused_by_name(name, value, allowed):
    job = dict(micro_batch=1, sequence=8192, micro_batches=1, zero_stage=3, data_parallel=8) | {name: value}
    with pytest.raises(ValueError) as error:
        Case(LLAMA_8B, catalogue.recipe("mixed-adamw"), **job)(tm.training_bytes)
    assert f": {name} (" in str(error.value) and str(error.value).endswith(f" is {value!r}; allowed: {allowed}")


def test_a_bad_value_in_a_column_of_jobs_is_refused():
    job = dict(micro_batch=1, sequence=8192, micro_batches=1)
    with pytest.raises(ValueError, match="data_parallel .* is 0; allowed: a whole number of at least 1"):
        Case(LLAMA_8B, catalogue.recipe("mixed-adamw"), data_parallel=np.array([8, 0]), **job)(tm.training_bytes)


@pytest.mark.parametrize("missing", ["micro_batch", "sequence", "micro_batches"])
def test_a_job_without_its_size_is_refused(missing):
    job = {name: 1 for name in ("micro_batch", "sequence", "micro_batches") if name != missing}
    with pytest.raises(ValueError, match=rf"needs {missing} \("):
        Case(LLAMA_8B, catalogue.recipe("mixed-adamw"), **job)(tm.training_bytes)


def test_a_misspelled_input_is_refused():
    with pytest.raises(ValueError, match="^zero: unknown; allowed: the names in data/quantities.csv, .*; close: zero_stage"):
        Case(LLAMA_8B, catalogue.recipe("mixed-adamw"), micro_batch=1, sequence=1, micro_batches=1, zero=3)


def test_headroom_is_a_share():
    with pytest.raises(ValueError, match=r"usable_bytes: headroom .* is 10; allowed: a number from 0 to 1"):
        tm.usable_bytes(80e9, 10)


@pytest.mark.parametrize("change", [{}, {"recipe": "qlora"}, {"loss_chunks": 8}, {"micro_batch": 4}, {"recompute": 0}])
def test_the_longest_sequence_is_the_last_that_fits(change):
    job = Case(**dict(model="Llama-3-8B", gpu="H100 SXM 80GB", recipe="lora", micro_batch=1, micro_batches=1, sequence=2048,
                      recompute=2, flash_attention=1) | change)
    longest, memory = job(tm.longest_sequence), job.rows["gpu"].memory_bytes
    assert job.but(sequence=longest)(tm.training_bytes) <= memory < job.but(sequence=longest + 1)(tm.training_bytes)
    assert job.but(sequence=8192)(tm.longest_sequence) == pytest.approx(longest, abs=1)


def test_no_sequence_fits_where_the_state_does_not():
    assert Case(model="Llama-3-70B", gpu="L4 24GB", recipe="lora", micro_batch=1, micro_batches=1, sequence=2048, recompute=2,
                flash_attention=1)(tm.longest_sequence) == 0
