"""Training memory against hand calculations: the arithmetic stands in each test, written out without the laws."""

import pytest

from gpucalc import activation_memory, LAWS, low_rank, sharding, training_memory as tm
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.close import close

LLAMA_8B = catalogue.model("Llama-3-8B")
LLAMA_8B_TABLES = 2 * 128256 * 4096 + 4096                                          # two tables and the final norm
LLAMA_8B_LAYER = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096    # q o, k v, gate up down, two norms
DEEPSEEK = catalogue.model("DeepSeek-V3")
MOMENTS = ("loss_moment_bytes", "head_moment_bytes", "first_layer_moment_bytes", "last_layer_moment_bytes", "step_moment_bytes")
# Trained and frozen parameters on one GPU, and four data times two context ranks of which four hold other experts.
PARTS = dict(gpu_embedding_params=100, gpu_layer_params=1000, gpu_expert_params=400, gpu_adapter_params=10,
             gpu_expert_adapter_params=4)
TRAINED = dict(gpu_trained_params=1100, gpu_trained_expert_params=400)
RANKS = dict(shard_ranks=8, expert_shard_ranks=2)
ALONE = dict(shard_ranks=1, expert_shard_ranks=1)


# Model state

@pytest.mark.parametrize("recipe, trained, frozen", [
    ("fp32-adamw", 4 + 4 + 8, 0),
    ("mixed-adamw", 2 + 2 + 4 + 8, 0),
    ("mixed-adamw-fp32-grads", 2 + 4 + 4 + 8, 0),
    ("bf16-adamw", 2 + 2 + 4, 0),
    ("sgd-momentum", 2 + 2 + 4 + 4, 0),
    ("lion", 2 + 2 + 4 + 4, 0),
    ("mixed-adamw-bf16-states", 2 + 2 + 4 + 2 + 2, 0),                # Megatron-LM, --use-precision-aware-optimizer
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
    without = dict(gpu_adapter_params=0, gpu_expert_adapter_params=0, adapters=0, weight_copies=1) | ALONE
    assert held(**PARTS | without, weight_element_bytes=2, frozen_element_bytes=0.5, kept_element_bytes=3) == 1500 * 2
    # Adapters of 2 bytes beside matrices of half a byte and embeddings of 3.
    widths = dict(weight_element_bytes=2, frozen_element_bytes=0.5, kept_element_bytes=3, adapters=1, weight_copies=1)
    dense, experts = 100 * 3 + 1000 * 0.5 + 10 * 2, 400 * 0.5 + 4 * 2
    assert held(**PARTS, **widths, **ALONE) == dense + experts
    assert held(**PARTS, **widths, zero_stage=2, **RANKS) == dense + experts
    # 8 GPUs hold the same dense weights, 8 / 4 the same experts.
    assert held(**PARTS, **widths, zero_stage=3, **RANKS) == dense / 8 + experts / 2
    # DualPipe holds each stage twice.
    assert held(**PARTS, **widths | dict(weight_copies=2), **ALONE) == 2 * (dense + experts)
    assert [tm.weight_copies(*each) for each in ((8, 8, 1), (8, 8, 0), (8, 1, 1), (1, 8, 1))] == [2, 1, 1, 1]


@pytest.mark.parametrize("law, widths, stage", [
    (tm.held_gradient_bytes, dict(gradient_element_bytes=4), 2), (tm.updated_params, {}, 1)])
def test_what_zero_splits_from_a_stage_on(law, widths, stage):
    width = widths.get("gradient_element_bytes", 1)
    assert law(**TRAINED, **widths, **ALONE) == width * 1500
    assert law(**TRAINED, **widths, zero_stage=stage - 1, **RANKS) == width * 1500
    for split in range(stage, 4):
        assert law(**TRAINED, **widths, zero_stage=split, **RANKS) == width * (1100 / 8 + 400 / 2)


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
    assert [tm.held_master_bytes(10, 4, offload_optimizer=share) for share in (0, 0.25, 1)] == [40, 30, 0]
    assert [tm.step_bytes(10, 4, offload_optimizer=share) for share in (0, 0.25, 1)] == [40, 30, 0]


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
    assert offload(tm.host_bytes) == 8_030_261_248 * (2 + 4 + 8)
    assert offload.but(offload_gradients=0)(tm.host_bytes) == 8_030_261_248 * (4 + 8)
    assert offload.but(offload_optimizer=0, offload_gradients=0)(tm.host_bytes) == 0
    # A recipe of its own, on sixteen GPUs in two servers: each holds half of the state.
    hosted = Case(LLAMA_8B, catalogue.recipe("mixed-adamw-host"), zero_stage=2, data_parallel=16)
    assert hosted(tm.host_bytes) == 8_030_261_248 * 14 / 16
    assert hosted(tm.server_host_bytes) == 8_030_261_248 * 14 / 2
    assert hosted.but(gpus_per_server=2)(tm.server_host_bytes) == 8_030_261_248 * 14 / 8


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
    # A GPU in a tensor-parallel group, a pipeline and a group of replicas has three communicators, and buckets for replicas.
    assert tm.communication_bytes(communicator_bytes=400, bucket_bytes=9) == 0
    assert tm.communication_bytes(400, 9, tensor_parallel=8, pipeline_parallel=2) == 800
    assert tm.communication_bytes(400, 9, tensor_parallel=8, pipeline_parallel=2, data_parallel=4) == 1209
    assert tm.communication_bytes(400, 9, context_parallel=8, expert_parallel=8) == 800
    assert tm.usable_bytes(80_000_000_000) == close(72e9)
    assert tm.usable_bytes(80_000_000_000, 0.25) == 60e9


# The whole job

ON_EIGHT = dict(zero_stage=3, micro_batch=1, sequence=8192, micro_batches=1, flash_attention=1,
                fragmentation=0.1, framework_bytes=10**9)


def test_llama_3_8b_on_eight_h100():
    terms = Case(LLAMA_8B, catalogue.recipe("mixed-adamw-fp32-grads"), data_parallel=8,
                 **ON_EIGHT).terms(tm.training_bytes)
    resident = 8_030_261_248 * 18 / 8 + (LLAMA_8B_TABLES + 2 * LLAMA_8B_LAYER) * 2 + LLAMA_8B_LAYER * 4
    activations, gradients = (167_936 + 32 * 4) * 8192, 8192 * 2 * (2 * 4096 + 3 * 14336)
    at_loss = resident + 32 * activations + 8192 * (2 * 4096 * 2 + 128256 * 14)
    assert terms["resident_bytes"] == resident == 21_914_338_304
    assert terms["activation_bytes"] == 32 * activations == 44_056_969_216
    assert terms["loss_moment_bytes"] == terms["peak_bytes"] == at_loss == 80_814_949_376
    assert terms["head_moment_bytes"] == at_loss - 8192 * 128256 * 12 + 4 * 128256 * 4096
    assert terms["first_layer_moment_bytes"] == resident + 32 * activations + gradients
    assert terms["last_layer_moment_bytes"] == resident + activations + gradients
    assert terms["step_moment_bytes"] == resident
    assert terms["training_bytes"] == close(at_loss * 1.1 + 1e9 + 392 * 2**20)


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
CHOSEN = ("fragmentation", "framework_bytes", "communicator_bytes", "headroom", "gpus_per_server")    # assumptions of their own


@pytest.mark.parametrize("law", [law for law in LAWS.values() if law.__module__ in (sharding.__name__, tm.__name__, low_rank.__name__,
                                                                                    activation_memory.__name__)],
                         ids=lambda law: law.__name__)
def test_a_feature_that_is_not_given_is_absent_and_a_degree_is_one(law):
    for name, default in law.defaults.items():
        assert name in CHOSEN or default == DEFAULTS.get(name, int(name.endswith("_parallel") and name != "sequence_parallel"))


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
