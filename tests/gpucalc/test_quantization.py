"""Stored bits and sizes against hand calculations: the arithmetic stands in each test, written out without the laws."""
import pytest
from hypothesis import strategies as st

from gpucalc import kv_cache as kv
from gpucalc import quantization as qn
from gpucalc import arithmetic_intensity as ai
from gpucalc import model_size as ms
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.close import close
from tests.each import of_each

LLAMA_3_8B, LLAMA_3_70B = catalogue.model("Llama-3-8B"), catalogue.model("Llama-3-70B")
H100 = catalogue.gpu("H100 SXM 80GB")


blocks, scales = st.integers(1, 10_000), st.integers(0, 64)


@pytest.mark.parametrize(("name", "bits"), [
    ("FP32", 32), ("TF32", 32), ("BF16", 16), ("FP16", 16),
    ("FP8", 8 + 32 / 4096**2), ("INT8", 8 + 32 / 4096), ("NF4", 4.5), ("NF4-DQ", 4 + 8 / 64 + 32 / 16_384),
    ("INT4-g128", 4.15625), ("INT4-g32", 4.625), ("MXFP4", 4.25), ("NVFP4", 4.5 + 32 / 4096**2),
    ("Q8_0", 8.5), ("Q6_K", 6.5625), ("Q5_K", 5.5), ("Q4_K", 4.5), ("Q4_0", 4.5), ("Q3_K", 3.4375), ("Q2_K", 2.625),
    ("FP8-block", 8 + 32 / 128**2), ("INT8-W8A8", 8 + 32 / 4096), ("MXFP8", 8.25), ("MXFP4-MoE", 4.25), ("INT4-g32-MoE", 4.5),
    ("NVFP4-mlp", 4.5 + 32 / 4096**2), ("Q3_K_S", 3.4375), ("Q3_K_M", 3.4375), ("Q3_K_L", 3.4375), ("IQ4_XS", 4.25),
    ("Q4_K_S", 4.5), ("Q4_K_M", 4.5), ("Q5_K_S", 5.5), ("Q5_K_M", 5.5), ("MXFP4_MOE", 4.25), ("MXFP4-MoE-FP8", 4.25),
    ("NVFP4-MoE-FP8", 4.5 + 32 / 4096**2), ("NVFP4-MoE-MXFP8", 4.5 + 32 / 4096**2), ("NVFP4A16-mlp-FP8", 4.5 + 32 / 4096**2)])
def test_bits_of_every_format(name, bits):
    row = catalogue.weight_format(name)
    assert Case(row)(qn.stored_bits) == bits
    assert Case(row)(qn.format_element_bytes) == row["weight_element_bytes"] == bits / 8


def test_every_format_is_checked_here():
    assert len(catalogue.formats()) == 38
    assert (catalogue.formats()["weight_element_bytes"] > 0.3).all()


@pytest.mark.parametrize(("name", "parts", "weights"), [
    # Bytes of a block as llama.cpp lays it out (ggml-common.h): values, scales of the blocks, FP16 scales of the whole.
    ("Q8_0", (32, 2), 32), ("Q4_0", (16, 2), 32), ("Q2_K", (64, 16, 4), 256), ("Q3_K", (32 + 64, 12, 2), 256),
    ("Q4_K", (128, 12, 4), 256), ("Q5_K", (32 + 128, 12, 4), 256), ("Q6_K", (128 + 64, 16, 2), 256), ("MXFP4", (16, 1), 32)])
def test_bytes_of_a_block(name, parts, weights):
    assert catalogue.weight_format(name)["weight_element_bytes"] * weights == sum(parts)


def test_double_quantization_is_that_of_the_recipe():
    assert catalogue.weight_format("NF4-DQ")["weight_element_bytes"] == catalogue.recipe("qlora")["frozen_element_bytes"]


def test_a_format_gives_the_weights_of_the_other_pages():
    # 8,030,261,248 parameters of 6.5625 bits.
    assert Case(LLAMA_3_8B, catalogue.weight_format("Q6_K"))(kv.weight_bytes) == 8_030_261_248 * 6.5625 / 8
    assert Case(LLAMA_3_8B, catalogue.weight_format("BF16"))(kv.weight_bytes) == 16_060_522_496
    column = Case(LLAMA_3_8B, catalogue.formats())(kv.weight_bytes)
    assert column["FP32"] == 2 * column["BF16"] == 32_121_044_992


def test_embeddings_and_head_stay_in_16_bits():
    # Two tables of 128,256 * 8,192 = 1,050,673,152 each stay; 70,553,706,496 - 2,101,346,304 are quantized.
    int4 = catalogue.weight_format("INT4-g128")
    assert Case(LLAMA_3_70B, int4)(qn.quantized_params) == 68_452_360_192
    assert Case(LLAMA_3_70B, catalogue.weight_format("Q4_K"))(qn.quantized_params) == 70_553_706_496
    in_format, rest = 68_452_360_192 * 4.15625 / 8, 2_101_346_304 * 2
    assert Case(LLAMA_3_70B, int4)(qn.quantized_weight_bytes) == in_format + rest == 39_765_832_864
    assert Case(LLAMA_3_70B, int4, kept_element_bytes=1)(qn.quantized_weight_bytes) == in_format + rest / 2


def test_all_is_quantized_unless_said():
    assert qn.quantized_params(100, 10) == 100
    assert qn.quantized_params(100, 10, 1) == 90
    assert qn.quantized_weight_bytes(100, 90, 0.5, 0) == 45 + 20


def test_tied_embeddings_are_kept_once():
    # Llama-3.2-1B: 1,235,814,400 parameters, of which 128,256 * 2,048 = 262,668,288 are one shared table.
    small = catalogue.model("Llama-3.2-1B")
    assert Case(small, catalogue.weight_format("NF4"))(qn.quantized_params) == 1_235_814_400 - 262_668_288
    assert Case(small,
                catalogue.weight_format("NF4"))(qn.quantized_weight_bytes) == 973_146_112 * 0.5625 + 262_668_288 * 2


def test_weights_and_cache_on_one_gpu():
    # 39.8 GB of weights and 8 * 8,192 tokens of 327,680 B; in BF16 the weights alone take 141 GB of the 77 GB usable.
    need = Case(LLAMA_3_70B, catalogue.weight_format("INT4-g128"), context=8192, batch=8)(qn.serving_bytes)
    assert need == 39_765_832_864 + 8 * 8192 * 327_680 == 61_240_669_344
    assert need < 81_559 * 2**20 * 0.9 < 141_107_412_992


def test_bits_a_weight_may_take():
    # 100 GB, of which 20 GB are cache, for 40 billion parameters: 2 B, so 16 bits.
    assert qn.affordable_bits(40e9, 20e9, 100e9) == 16
    assert qn.affordable_bits(40e9, 100e9, 100e9) == qn.affordable_bits(40e9, 200e9, 100e9) == 0
    expected = (81_559 * 2**20 * 0.9 - 8 * 8192 * 327_680) * 8 / 70_553_706_496
    assert Case(LLAMA_3_70B, H100, context=8192, batch=8)(qn.affordable_bits) == pytest.approx(expected, rel=1e-12)
    assert 6.2 < expected < 6.3


# Bits a weight that ggml-org/llama.cpp tools/quantize/README.md (commit 311c2c9) prints for Llama-3.1-8B.
PRINTED = {"Q3_K_S": 3.6429, "Q3_K_M": 3.9960, "Q3_K_L": 4.2979, "IQ4_XS": 4.4597, "Q4_K_S": 4.6672, "Q4_K_M": 4.8944,
           "Q5_K_S": 5.5704, "Q5_K_M": 5.7036, "Q6_K": 6.5633, "Q8_0": 8.5008}


@pytest.mark.parametrize(("name", "bits"), PRINTED.items())
def test_a_mix_takes_the_bits_that_llama_cpp_prints(name, bits):
    # Norms in FP32 are what is missing: 65 x 4,096 x 32 bits are a thousandth of a bit a weight.
    assert Case(LLAMA_3_8B, weight_format=name)(kv.weight_bytes) * 8 / 8_030_261_248 == pytest.approx(bits, rel=4e-4)


def test_groups_of_tensors_by_hand():
    # Llama-3-8B in Q4_K_M: head, and half of value and down projections, in Q6_K.
    case = Case(LLAMA_3_8B, weight_format="Q4_K_M", batch=1)
    assert case(qn.value_params) == 32 * 4096 * 1024 and case(qn.output_params) == 32 * 4096**2
    assert case(qn.plain_mlp_params) == 3 * 32 * 4096 * 14_336 and case(qn.routed_params) == 0
    wider = (128_256 * 4096 + 16 * (4096 * 1024 + 4096 * 14_336)) * (6.5625 - 4.5) / 8
    assert case(qn.mixed_bytes) == pytest.approx(wider, rel=1e-12)
    assert case(kv.weight_bytes) == case(qn.quantized_weight_bytes) == pytest.approx(8_030_261_248 * 4.5 / 8 + wider, rel=1e-12)
    # A step reads all but the table that is looked up, which is in Q4_K.
    assert case(ai.read_bytes) == pytest.approx(case(kv.weight_bytes) - 128_256 * 4096 * 4.5 / 8, rel=1e-12)


def test_parts_of_a_mix_by_hand():
    # Two MLPs of 300, and in 3 layers 2 shared experts of 3 x 10 x 7.
    assert qn.plain_mlp_params(10, 2, 300, 3, 2, 7, 1) == 600 + 1260 and qn.plain_mlp_params(10, 2, 300, 3, 2, 7) == 600 + 840
    assert qn.value_params(10, 3, 2, 4) == 240 and qn.value_params(10, 3, 2, 4, 512) == 0
    assert qn.output_params(10, 3, 8, 4) == 960 and qn.output_params(10, 3, 8, 4, 512, 6) == 1440
    # Half a byte a weight, and a quarter more for one projection in three or two.
    assert qn.routed_extra_bytes(0.5, 6, 1) == close(0.25 / 3) and qn.routed_extra_bytes(0.5, 6) == 0.125
    # Of 1,000 numbers 400 are neither tables, routed nor MLP: half a byte more; 40 values a quarter, 60 outputs an eighth; of 100 of
    # MLPs the third that is down a quarter, or all 1.5 bytes.
    group = dict(params=1000, embedding_params=200, routed_params=300, plain_mlp_params=100, value_params=40, output_params=60)
    bits = dict(weight_element_bytes=0.5, attention_bits=8, values_bits=6, output_bits=5, down_bits=6, gated_mlp=1)
    assert qn.layer_wider_bytes(**group, **bits) == close(200 + 10 + 7.5 + 25 / 3)
    assert qn.layer_wider_bytes(**group, **bits, mlp_bits=16) == 200 + 10 + 7.5 + 150
    # Of 50 numbers in tables 20 are looked up, a quarter of a byte more each; 30 are the head, a half.
    assert qn.table_wider_bytes(20, 50, 0.5, 6, 8) == 5 + 15 and qn.mixed_bytes(300, 0.125, 10, 20) == 67.5
    # A GPU with 30 of the routed, 50 of the layers' 500 and 25 of the tables' 200.
    assert qn.gpu_mixed_bytes(30, 50, 25, 1000, 200, 300, 0.125, 100, 20) == 3.75 + 10 + 2.5
    # 20 of 100 stay in 2 bytes, 1.5 more. Of 40 that no token uses an eighth each is not read, nor what 10 looked up take more.
    assert qn.wider_bytes(100, 80, 5, 0.5, 2) == 35
    assert qn.read_wider_bytes(35, 100, 60, 10, 0.125, 0.5, 1, 2) == 35 - 5 - 15
    assert qn.read_wider_bytes(35, 100, 60, 10, 0.125, 0.5, embedding_bits=6) == 35 - 5 - 2.5


def test_released_models_leave_groups_in_16_bits():
    # gpt-oss-120b: 116,829,156,672 parameters, of which 36 x 128 experts of three matrices of 2,880 x 2,880 and their biases.
    experts = 36 * 128 * (3 * 2880**2 + 3 * 2880)
    table = 201_088 * 2880
    given = dict(params=116_829_156_672, embedding_params=2 * table, lookup_params=table, routed_params=experts,
                 plain_mlp_params=0, value_params=0, output_params=0, weight_format="MXFP4-MoE")
    held = Case(**given)(kv.weight_bytes)
    assert held == pytest.approx(experts * 4.25 / 8 + (116_829_156_672 - experts) * 2, rel=1e-12)
    # The model card, arXiv 2508.10925, table 1: a checkpoint of 60.8 GiB.
    assert held / 2**30 == pytest.approx(60.8, rel=2e-3)
    # Of 128 experts a token uses 4: the rest is neither read nor does it change what stays in BF16.
    read = Case(**given, read_params=116_829_156_672 - experts * 124 / 128)(ai.read_bytes)
    assert read == pytest.approx(experts / 32 * 4.25 / 8 + (116_829_156_672 - experts - table) * 2, rel=1e-12)


def test_outputs_of_groups_of_heads():
    assert Case(model="DeepSeek-V4-Flash")(qn.output_params) == 43 * (64 * 512 * 1024 + 8 * 1024 * 4096)


@pytest.mark.parametrize(("name", "weight_format", "experts_bits", "rest_bits"), [
    ("DeepSeek-V4-Flash", "MXFP4-MoE-FP8", 4.25, 8 + 8 / 128**2), ("DeepSeek-V4-Flash", "NVFP4-MoE-FP8", 4.5 + 32 / 4096**2, 8 + 8 / 128**2),
    ("MiniMax-M3", "NVFP4-MoE-MXFP8", 4.5 + 32 / 4096**2, 8.25)])
def test_experts_in_4_bits_and_the_rest_in_8(name, weight_format, experts_bits, rest_bits):
    row = catalogue.model(name)
    experts = row.moe_layers * row.experts * 3 * row.hidden * row.expert_intermediate
    tables = 2 * row.vocab * row.hidden
    by_hand = experts * experts_bits / 8 + (row.params - experts - tables) * rest_bits / 8 + tables * 2
    assert Case(model=name, weight_format=weight_format)(qn.quantized_weight_bytes) == pytest.approx(by_hand, rel=1e-12)


def test_mlps_and_head_in_4_bits_attention_in_8():
    # Qwen3.6-27B has the shape of Qwen3.5-27B: MLPs and head in NVFP4, embeddings in BF16, all else in FP8 with a scale per tensor.
    row = catalogue.model("Qwen3.5-27B")
    mlps, table = 64 * 3 * 5120 * 17_408, 248_320 * 5120
    by_hand = (mlps + table) * (4.5 + 32 / 4096**2) / 8 + table * 2 + (row.params - mlps - 2 * table) * (8 + 32 / 4096**2) / 8
    assert Case(model="Qwen3.5-27B", weight_format="NVFP4A16-mlp-FP8")(qn.quantized_weight_bytes) == pytest.approx(by_hand, rel=1e-9)


FORMATS = list(catalogue.formats().index)


@of_each({(model, name): (model, name) for name in FORMATS for model in ("Llama-3-8B", "Llama-3.2-1B", "Mixtral-8x7B", "DeepSeek-V3")})
def test_what_is_held_is_what_is_read_and_looked_up(both):
    model, name = both
    case = Case(model=model, weight_format=name, batch=10**6)
    row = case.rows["weight_format"]
    whole, hidden = case(kv.weight_bytes), case.rows["model"].hidden
    # On one GPU the final norm counts with the head.
    assert case(kv.gpu_weight_bytes) == pytest.approx(whole, abs=4 * hidden) and case(qn.quantized_weight_bytes) == close(whole)
    table = 2 if row.keep_embeddings else (row.embedding_bits or case(qn.stored_bits)) / 8
    # All experts are read; a tied table is multiplied as the head.
    assert case(ai.read_bytes) == close(whole - case(ms.lookup_params) * table)
    # Eight GPUs hold the same together, but for what each has whole.
    eight = 8 * case.but(tensor_parallel=8, expert_parallel=8 if case.rows["model"].experts else 1)(kv.gpu_weight_bytes)
    assert whole * (1 - 1e-9) < eight < whole * 1.25


@pytest.mark.parametrize("name", ["FP8", "INT4-g128", "NVFP4", "NF4"])
def test_embeddings_count_alike_in_every_account(name):
    case = Case(model="Qwen3-8B", weight_format=name, batch=1)
    kept = case(ms.params) - case(qn.quantized_params)
    assert case(kv.weight_bytes) - case(qn.quantized_params) * case.rows["weight_format"].weight_element_bytes == close(2 * kept)
    assert case(kv.gpu_weight_bytes) == pytest.approx(case(kv.weight_bytes), abs=2 * 4096)


def test_an_unknown_format_suggests_close_ones():
    with pytest.raises(ValueError, match=r"data/formats.csv has no weight_format 'Q4'; close: Q4_K, "):
        catalogue.weight_format("Q4")
