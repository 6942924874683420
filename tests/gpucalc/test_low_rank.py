"""Adapters of low rank against hand calculations and published counts."""
import pytest

from gpucalc import low_rank
from gpucalc.core.evaluate import Case
from gpucalc.decisions import answer
from gpucalc.rows import case_file, catalogue

LLAMA_8B, DEEPSEEK = catalogue.model("Llama-3-8B"), catalogue.model("DeepSeek-V3")
ATTENTION_ADAPTERS = dict(adapt_query=1, adapt_key=1, adapt_value=1, adapt_output=1, adapt_mlp=0)
QUERY_VALUE = ATTENTION_ADAPTERS | dict(adapt_key=0, adapt_output=0)
ALL_ADAPTERS = ATTENTION_ADAPTERS | dict(adapt_mlp=1)


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


def test_adapters_of_layers_of_several_kinds():
    # Qwen3-Next: the query's matrix is twice as wide, with its gate; 12 layers have attention. Gemma-4 has no value matrix.
    queries, keys = 2048 + 2 * 4096, 2048 + 512
    one = 8 * (queries + 2 * keys + 2048 + 4096)
    assert Case(model="Qwen3-Next-80B-A3B", lora_rank=8, **ATTENTION_ADAPTERS)(low_rank.lora_params) == 12 * one
    assert Case(model="Qwen3-Next-80B-A3B", lora_rank=8, pipeline_parallel=4, **ATTENTION_ADAPTERS)(low_rank.gpu_adapter_params) == 3 * one
    assert Case(model="Gemma-4-31B", lora_rank=1, adapt_query=0, adapt_key=1, adapt_value=1,
                adapt_output=0)(low_rank.lora_attention_params) == 5376 + 4 * 512


def test_many_adapters_beside_one_model_by_hand():
    """Llama-2-7B at rank 16: 16 (4 x 8,192 + 3 x 15,104) values a layer, 39,976,960 in all 32. 32 adapters in 16 bits are 2.56 GB, on
    two GPUs three quarters of that on each. An A100 reads them in 1.43 ms and starts 2 x 4 x 32 kernels of 2 us, 0.51 ms: 1.94 ms for 32
    sequences that differ all, where Punica (arXiv 2310.18547) adds 2 ms to a token. One sequence uses one of the 32."""
    case = Case(model="Llama-2-7B", gpu="A100 SXM 80GB", efficiency="achieved", batch=32, max_loras=32, lora_rank=16,
                adapt_query=1, adapt_key=1, adapt_value=1, adapt_output=1, adapt_mlp=1)
    assert case(low_rank.lora_params) == 32 * 16 * (4 * 8192 + 3 * 15_104) == 39_976_960
    assert case(low_rank.served_adapter_bytes) == 32 * 39_976_960 * 2
    assert case.but(tensor_parallel=2)(low_rank.served_adapter_bytes) == 32 * 39_976_960 * 2 * 0.75
    assert case(low_rank.adapter_pass_seconds) == pytest.approx(2e-3, rel=0.05)
    read = 32 * 39_976_960 * 2 / case("memory_rate")
    assert case.but(batch=1)(low_rank.adapter_pass_seconds) == pytest.approx(read / 32 + 256 * 2e-6)
    assert case.but(max_loras=0)(low_rank.adapter_pass_seconds) == 0


def test_adapters_take_memory_and_time_of_a_served_case(book):
    held = dict(job="serve", model="Llama-3-70B", weight_format="FP8", requests_per_second=5, cards="H100 SXM 80GB", tensor_parallel=4)
    plain, many = (answer.answer(case_file.case_of(held | more), book) for more in ({}, dict(max_loras=16, lora_rank=16)))
    less = plain.figures["room"].plan - many.figures["room"].plan
    assert less == pytest.approx(16 * many.case("lora_params") * 2 * (1 + 1 / 4) / 2, rel=1e-6)
    assert many.figures["token"].plan > plain.figures["token"].plan
    with pytest.raises(ValueError, match="lora_rank .*missing; max_loras needs it"):
        case_file.case_of(held | dict(max_loras=4))
