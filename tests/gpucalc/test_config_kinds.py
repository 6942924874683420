"""Configs of models whose layers are of several kinds, that hold their text model inside, or that are released in few bits."""
import json

import pytest

from gpucalc import Case, kv_cache, model_size
from gpucalc.rows import catalogue, config
from gpucalc.rows.tables import rows
from tests.gpucalc.test_config import changed, path_of, refused  # noqa: F401  a fixture by its name

# As model cards and technical reports round it, of all parameters: with vision towers where the config has one.
ROUNDED = {
    "gpt-oss-20b": 20.91e9, "gpt-oss-120b": 116.83e9, "Qwen3-32B": 32.8e9, "Qwen3-30B-A3B": 30.5e9, "Qwen3-235B-A22B": 235e9,
    "Qwen3-Coder-480B-A35B": 480e9, "Qwen3-Next-80B-A3B": 80e9, "Qwen3.5-35B-A3B": 35e9, "Qwen3.5-122B-A10B": 122e9,
    "Qwen3.5-397B-A17B": 397e9, "Qwen3.5-27B": 27e9, "DeepSeek-V3": 671e9, "DeepSeek-V3.2": 671e9, "GLM-4.5": 355e9,
    "GLM-4.5-Air": 106e9, "GLM-5": 744e9, "GLM-5.2": 744e9, "MiniMax-M2.5": 230e9, "Llama-4-Maverick": 400e9, "Gemma-3-1B": 1e9,
    "Mistral-Small-3.1-24B": 23.6e9, "Mistral-Small-4-119B": 119e9, "Ministral-3-3B": 3.4e9, "Ministral-3-14B": 13.5e9,
    "Phi-4": 14.7e9, "Nemotron-H-8B": 8.1e9, "Nemotron-H-56B": 56e9, "Nemotron-3-Nano-30B-A3B": 31.6e9,
    "Nemotron-3-Super-120B-A12B": 120e9, "Nemotron-3-Ultra-550B-A55B": 550e9, "OLMo-3-7B": 7.3e9, "OLMo-3-32B": 32.2e9,
    "Command-R-35B": 35e9, "Command-R-Plus-104B": 104e9, "Command-A-111B": 111e9, "Granite-4.0-H-Small": 32e9,
    "Granite-3.3-8B": 8.17e9, "OLMo-2-13B": 13.7e9}
# Rounded to one or two digits on the card, or counted with a vision tower there.
LOOSE = {"Kimi-K2": 1.04e12, "Kimi-K2.5": 1.04e12, "Kimi-Linear-48B-A3B": 48e9, "Llama-4-Scout": 109e9, "Gemma-3-4B": 3.9e9,
         "Gemma-3-12B": 11.8e9, "Gemma-3-27B": 27e9, "Gemma-4-26B-A4B": 26e9, "Gemma-4-31B-NVFP4": 31e9, "Ministral-3-8B": 8.4e9,
         "GLM-4-32B-0414": 32e9, "Command-R7B": 8e9, "DeepSeek-V4-Flash": 284e9, "Kimi-K3": 2.8e12, "MiniMax-M3": 428e9,
         "MiMo-V2-Flash": 309e9}


def text(name, **fields):
    """The text_config of a sample after some of its fields were replaced, or removed where the new value is `...`."""
    return within(name, "text_config", **fields)


def within(name, block, **fields):
    """The same of any object of fields in a sample."""
    whole = json.loads(path_of(name).read_text())[block] | fields
    return {block: {field: value for field, value in whole.items() if value is not ...}}


def quantized(**block):
    return {"quantization_config": block, "torch_dtype": "bfloat16"}


def weights(form, **given):
    return quantized(quant_method="compressed-tensors", format=form, config_groups={"group_0": {"weights": given}})


@pytest.mark.parametrize("name, rounded, most", [*((name, count, 0.01) for name, count in ROUNDED.items()),
                                                 *((name, count, 0.04) for name, count in LOOSE.items())])
def test_the_count_is_the_one_that_is_published(name, rounded, most):
    assert catalogue.model(path_of(name))["params"] == pytest.approx(rounded, rel=most)


@pytest.mark.parametrize("name, active, most", [
    ("DeepSeek-V2", 21e9, 0.02), ("gpt-oss-120b", 5.1e9, 0.13), ("Qwen3-30B-A3B", 3.3e9, 0.02), ("Kimi-K2", 32.6e9, 0.01), ("DeepSeek-V3", 37e9, 0.02),
    ("Nemotron-3-Nano-30B-A3B", 3.6e9, 0.01), ("Llama-4-Maverick", 17e9, 0.02), ("Qwen3.5-397B-A17B", 17e9, 0.03)])
def test_what_a_token_passes_through(name, active, most):
    """The embedding counts in full, which cards leave out: 0.6 of gpt-oss-120b's 5.7 billion."""
    assert Case(catalogue.model(path_of(name)))(model_size.active_params) == pytest.approx(active, rel=most)


@pytest.mark.parametrize("name, expected", [
    ("Qwen3-Next-80B-A3B", 24_576),    # 12 layers with attention, 2 heads of 256
    ("Nemotron-3-Super-120B-A12B", 8_192),  # 8 layers, 2 heads of 128
    ("Kimi-Linear-48B-A3B", 7 * 576 * 2), ("Kimi-K2", 70_272), ("Llama-4-Scout", 196_608), ("Gemma-3-27B", 507_904)])
def test_cache_of_one_token(name, expected):
    assert Case(catalogue.model(path_of(name)))(kv_cache.kv_bytes_per_token) == expected


# Fields that change the row

MLA, FULL, SLIDING = "MLA", "full_attention", "sliding_attention"


@pytest.mark.parametrize("name, fields, expected", [
    ("gpt-oss-20b", {}, {"window": 128, "window_layers": 12, "sinks": 1, "expert_bias": 1, "qkv_bias": 1, "moe_layers": 24}),
    ("gpt-oss-20b", {"layer_types": ..., "num_hidden_layers": 5}, {"window_layers": 3}),
    ("gpt-oss-20b", {"layer_types": [FULL] * 24}, {"window": 0, "window_layers": 0}),
    ("gpt-oss-20b", {"attention_bias": False}, {"qkv_bias": 0, "output_bias": 0}),
    ("Gemma-3-1B", {}, {"window": 512, "window_layers": 22, "norms_per_layer": 4, "qk_norm": 1, "tied_embeddings": 1}),
    ("Gemma-3-1B", {"sliding_window_pattern": ..., "num_hidden_layers": 13}, {"window_layers": 11}),
    ("Gemma-3-1B", {"sliding_window": ...}, {"window": 4096}),
    ("Gemma-3-4B", {}, {"heads": 8, "kv_heads": 4, "head_dim": 256, "vocab": 262_208, "max_context": 131_072}),
    ("Gemma-3-4B", text("Gemma-3-4B", model_type=...), {"layers": 34}),
    ("Gemma-4-26B-A4B", {}, {"kv_heads": 2, "head_dim": 512, "window_kv_heads": 8, "window_head_dim": 256, "shared_keys": 1,
                             "mlp_beside": 1, "moe_layers": 30}),
    ("Gemma-4-26B-A4B", text("Gemma-4-26B-A4B", attention_k_eq_v=False), {"kv_heads": 8, "shared_keys": 0}),
    ("Gemma-4-26B-A4B", text("Gemma-4-26B-A4B", enable_moe_block=False), {"experts": 0, "moe_layers": 0, "norms_per_layer": 4}),
    ("Llama-4-Scout", {}, {"window": 8192, "window_layers": 36, "chunked": 1, "moe_layers": 48, "qk_norm": 0}),
    ("Llama-4-Maverick", {}, {"moe_layers": 24, "intermediate": 16384, "expert_intermediate": 8192, "shared_experts": 1}),
    ("Llama-4-Maverick", text("Llama-4-Maverick", moe_layers=[0, 1, 5]), {"moe_layers": 3}),
    ("Llama-4-Maverick", text("Llama-4-Maverick", no_rope_layers=[]), {"window_layers": 36}),
    ("Llama-4-Maverick", text("Llama-4-Maverick", no_rope_layers=[1] * 40 + [0] * 8), {"window_layers": 40}),
    ("Llama-4-Maverick", text("Llama-4-Maverick", no_rope_layers=[0] * 48), {"window_layers": 0, "window": 0, "chunked": 0}),
    ("Qwen3-Next-80B-A3B", {}, {"linear_layers": 36, "attention_gate": 1, "shared_gate": 1, "conv_kernel": 4, "moe_layers": 48}),
    ("Qwen3-Next-80B-A3B", {"full_attention_interval": 6}, {"linear_layers": 40}),
    ("Qwen3-Next-80B-A3B", {"mlp_only_layers": [0, 1]}, {"moe_layers": 46}),
    ("Qwen3.5-27B", {}, {"linear_layers": 48, "linear_value_heads": 48, "state_element_bytes": 4, "mtp_layers": 1}),
    ("Qwen3.5-27B", text("Qwen3.5-27B", mamba_ssm_dtype="bfloat16"), {"state_element_bytes": 2}),
    ("Qwen3.5-27B", {"tie_word_embeddings": True}, {"tied_embeddings": 1}),
    ("Qwen3.5-27B", {"tie_word_embeddings": True} | text("Qwen3.5-27B", tie_word_embeddings=False), {"tied_embeddings": 0}),
    ("GLM-4.5", {}, {"qkv_bias": 1, "output_bias": 0, "qk_norm": 1, "router_bias": 1, "moe_layers": 89, "mtp_layers": 1}),
    ("GLM-4-9B-0414", {"attention_bias": ...}, {"qkv_bias": 1}),
    ("DeepSeek-V3.2", {}, {"indexer_layers": 61, "indexer_heads": 64, "indexer_dim": 128, "indexer_topk": 2048}),
    ("GLM-5.2", {}, {"indexer_layers": 21, "moe_layers": 75, "head_dim": 192, "value_head_dim": 256}),
    ("GLM-5.2", {"indexer_types": ...}, {"indexer_layers": 21}),
    ("GLM-5", {"mlp_layer_types": ["dense"] * 4 + ["sparse"] * 74}, {"moe_layers": 74}),
    ("Kimi-Linear-48B-A3B", {}, {"linear_layers": 20, "decay_rank": 128, "linear_value_heads": 32, "q_lora_rank": 0,
                                 "attention": MLA, "max_context": 1_048_576}),
    ("Kimi-K2.5", {}, {"layers": 61, "experts": 384, "attention": MLA, "mtp_layers": 0}),
    ("Kimi-K3", {}, {"linear_layers": 69, "full_rank_gate": 1, "attention_gate": 1, "expert_latent": 3584, "shared_experts": 2,
                     "further_params": 92 * 3584 + 4 * 93 * 7168 + 2 * 7168, "native_format": "MXFP4-MoE"}),
    ("DeepSeek-V4-Flash", {}, {"attention": MLA, "kv_heads": 1, "head_dim": 448, "kv_lora_rank": 448, "value_head_dim": 512,
                               "window": 128, "window_layers": 43, "indexer_layers": 21, "indexer_topk": 512, "compression": 4,
                               "heavy_layers": 20, "heavy_compression": 128, "mtp_layers": 1, "sinks": 1}),
    ("DeepSeek-V4-Flash", {"compress_ratios": ..., "layer_types": ["sliding_attention"] * 43},
     {"indexer_layers": 0, "compression": 0, "indexer_heads": 0, "heavy_layers": 0, "heavy_compression": 0}),
    ("DeepSeek-V4-Pro", {}, {"indexer_layers": 30, "heavy_layers": 31, "indexer_topk": 1024, "o_groups": 16}),
    ("MiniMax-M3", {}, {"indexer_layers": 57, "dense_attention_layers": 3, "indexer_topk": 2048, "plain_index": 1, "moe_layers": 57,
                        "intermediate": 12288, "expert_intermediate": 3072, "shared_experts": 1, "mtp_layers": 7}),
    ("MiMo-V2-Flash", {}, {"head_dim": 160, "window_layers": 39, "window_kv_heads": 8, "moe_layers": 47, "router_bias": 1}),
    ("MiMo-V2-Flash", {"add_swa_attention_sink_bias": False}, {"further_params": 0}),
    ("MiniMax-M2.5", {}, {"qk_norm": 1, "wide_qk_norm": 1, "router_bias": 1, "mtp_layers": 3}),
    ("MiniMax-M2.5", {"use_mtp": False}, {"mtp_layers": 0}),
    ("Ministral-3-3B", {}, {"tied_embeddings": 1, "head_dim": 128}),
    ("Ministral-3-8B", text("Ministral-3-8B", sliding_window=4096), {"window": 4096, "window_layers": 34}),
    ("Nemotron-H-8B", {}, {"linear_layers": 24, "mixerless_layers": 24, "mlpless_layers": 28, "gated_mlp": 0, "state_space": 1}),
    ("Nemotron-3-Super-120B-A12B", {}, {"expert_latent": 1024, "shared_experts": 2, "moe_layers": 40, "linear_key_heads": 8}),
    ("Nemotron-3-Ultra-550B-A55B", {}, {"layers": 108, "linear_layers": 48, "moe_layers": 48, "mixerless_layers": 48}),
    ("Nemotron-H-8B", {"hybrid_override_pattern": "M-*", "num_hidden_layers": ...}, {"layers": 3, "linear_layers": 1}),
    ("OLMo-3-7B", {"layer_types": ...}, {"window_layers": 24, "wide_qk_norm": 1}),
    ("OLMo-2-13B", {}, {"qk_norm": 1, "wide_qk_norm": 1, "window": 0}),
    ("Command-R-Plus-104B", {}, {"qk_norm": 1, "wide_qk_norm": 1, "norms_per_layer": 1, "norm_vectors": 1}),
    ("Command-R7B", {}, {"window_layers": 24, "qk_norm": 0}),
    ("Granite-4.0-H-Small", {}, {"linear_layers": 36, "moe_layers": 40, "shared_experts": 2, "mlpless_layers": 0}),
    ("Granite-4.0-H-Small", {"num_local_experts": 0}, {"moe_layers": 0, "intermediate": 1536, "shared_experts": 0}),
])
def test_fields_of_layers_of_several_kinds(changed, name, fields, expected):  # noqa: F811
    row = changed(name, **fields)
    assert {column: row[column] for column in expected} == expected


def test_a_text_model_says_what_is_left_out(changed):  # noqa: F811
    assert changed("Gemma-3-4B")["note"] == "text model alone, without what reads pictures or sound"
    assert changed("Kimi-K2.5", **text("Kimi-K2.5", num_nextn_predict_layers=1))["note"].endswith(
        "or sound; without the multi-token-prediction module")


# Formats of weights

@pytest.mark.parametrize("name, fields, expected", [
    ("Llama-3-8B", {}, "BF16"), ("Llama-3-8B", {"torch_dtype": "float16"}, "FP16"), ("Llama-3-8B", {"dtype": "float32"}, "FP32"),
    ("Llama-3-8B", {"torch_dtype": None, "dtype": "float16"}, "FP16"), ("Llama-3-8B", {"quantization_config": None}, "BF16"),
    ("gpt-oss-20b", {}, "MXFP4-MoE"), ("DeepSeek-V3.2", {}, "FP8-block"), ("Kimi-K2.5", {}, "INT4-g32-MoE"), ("Ministral-3-8B", {},
                                                                                                              "FP8"),
    ("Gemma-4-31B-NVFP4", {}, "NVFP4-mlp"), ("MiniMax-M2.7-NVFP4", {}, "NVFP4-mlp"), ("GLM-5.2-NVFP4", {}, "NVFP4-mlp"),
    ("DeepSeek-V4-Flash", {}, "MXFP4-MoE-FP8"), ("DeepSeek-V4-Flash", {"expert_dtype": ...}, "FP8-block"),
    ("DeepSeek-V4-Flash-FP8", {}, "FP8-block"), ("DeepSeek-V4-Flash-NVFP4", {}, "NVFP4-MoE-FP8"),
    ("MiniMax-M3-NVFP4", {}, "NVFP4-MoE-MXFP8"), ("Qwen3.6-27B-NVFP4", {}, "NVFP4A16-mlp-FP8"),
    ("Qwen3.6-35B-A3B-NVFP4", {}, "NVFP4A16-mlp-FP8"),
    ("Llama-3-8B", quantized(quant_method="fp8", weight_block_size=[128, 128]), "FP8-block"),
    ("Llama-3-8B", quantized(quant_method="fp8"), "FP8"),
    ("Llama-3-8B", quantized(quant_method="mxfp8"), "MXFP8"),
    ("Llama-3-8B", quantized(quant_algo="FP8", producer={"name": "modelopt"}), "FP8"),
    ("Llama-3-8B", quantized(quant_method="modelopt", quant_algo="NVFP4"), "NVFP4"),
    ("Llama-3-8B", quantized(quant_method="modelopt", quant_algo="NVFP4", ignore=["lm_head", 3, None]), "NVFP4"),
    ("Llama-3-8B", quantized(quant_method="modelopt", quant_algo="NVFP4", ignore="self_attn"), "NVFP4"),
    ("Llama-3-8B", weights("nvfp4-pack-quantized", num_bits=4), "NVFP4"),
    ("Llama-3-8B", weights("mxfp4-pack-quantized", num_bits=4), "MXFP4"),
    ("Llama-3-8B", weights("float-quantized", num_bits=8, strategy="channel"), "FP8"),
    ("Llama-3-8B", weights("float-quantized", num_bits=8, strategy="block", block_structure=[128, 128]), "FP8-block"),
    ("Llama-3-8B", weights("int-quantized", num_bits=8, strategy="channel"), "INT8-W8A8"),
    ("Llama-3-8B", weights("pack-quantized", num_bits=4, group_size=128), "INT4-g128"),
    ("Llama-3-8B", quantized(quant_method="awq", bits=4, group_size=128, version="gemm"), "INT4-g128"),
    ("Llama-3-8B", quantized(quant_method="gptq", bits=4, group_size=32, desc_act=True), "INT4-g32"),
    ("Llama-3-8B", quantized(quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4",
                             bnb_4bit_use_double_quant=False), "NF4"),
    ("Llama-3-8B", quantized(quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4",
                             bnb_4bit_use_double_quant=True), "NF4-DQ"),
    ("Llama-3-8B", quantized(quant_method="bitsandbytes", load_in_8bit=True, load_in_4bit=False), "INT8"),
])
def test_the_format_of_the_weights(changed, name, fields, expected):  # noqa: F811
    assert changed(name, **fields)["native_format"] == expected


def test_each_format_is_in_the_book():
    assert {each["format"] for each in config.architectures()["quantized"]} | {"BF16", "FP16", "FP32"} <= set(rows("formats"))


# What is refused

@pytest.mark.parametrize("name, fields, expected", [
    *((name, {"model_type": lacking}, f'model_type: "{lacking}"; allowed: a type that the formulas count; they lack {what}')
      for name, lacking, what in (
          ("Llama-3-8B", "gemma3n", "embeddings for each layer"), ("Llama-3-8B", "minimax", "lightning attention"),
          ("Llama-3-8B", "step3p7", "windows with other query heads (attention_other_setting) and a gate for each head (use_head_"),
          ("Llama-3-8B", "nemotron-nas", "layers that differ one by one in attention and in the width of their MLP (block_configs)"))),
    ("gpt-oss-20b", {"num_local_experts": ...}, "num_local_experts: missing; allowed: a whole number from 1 to 100,000"),
    ("gpt-oss-20b", {"num_experts_per_tok": 33}, "num_experts_per_tok: 33; allowed: a whole number from 1 to 32"),
    ("gpt-oss-20b", {"layer_types": [SLIDING]},
     'layer_types: ["sliding_attention"]; allowed: a list of 24, each full_attention or'),
    ("gpt-oss-20b", {"layer_types": ["mamba"] * 24}, 'layer_types: ["mamba", "mamba"'),
    ("gpt-oss-20b", {"linear_num_key_heads": 4}, "linear_num_key_heads: 4; allowed: none for gpt_oss"),
    ("Gemma-3-1B", {"sliding_window": -512}, "sliding_window: -512; allowed: a whole number from 1 to"),
    ("Gemma-3-1B", {"use_bidirectional_attention": True}, "use_bidirectional_attention: true; allowed: false, null"),
    ("Gemma-3-4B", {"text_config": ...}, "text_config: missing; allowed: an object of fields, such as model_type"),
    ("Gemma-3-4B", {"text_config": [1]}, "text_config: [1]; allowed: an object of fields"),
    ("Gemma-3-4B", text("Gemma-3-4B", hidden_size=...), "text_config.hidden_size: missing; allowed: a whole number from 1 to"),
    ("Gemma-3-4B", text("Gemma-3-4B", hidden_size="2560"), 'text_config.hidden_size: "2560"; allowed: a whole number'),
    ("Gemma-3-4B", text("Gemma-3-4B", num_key_value_heads=3), "text_config.num_key_value_heads: 3; allowed: a divisor of "
     "text_config.num_attention_heads, 8"),
    ("Gemma-3-4B", text("Gemma-3-4B", model_type="llama"), 'text_config.model_type: "llama"; allowed: gemma3_text'),
    ("Gemma-3-4B", {"architectures": ["Gemma3ForSequenceClassification"]}, 'architectures: ["Gemma3ForSequenceClassification"]; '
     "allowed: a list of classes that end in ForCausalLM or LMHeadModel or ForConditionalGeneration"),
    ("Gemma-3-4B", {"tie_word_embeddings": 1}, "tie_word_embeddings: 1; allowed: true or false"),
    ("Gemma-3-1B", {"architectures": ["Gemma3ForConditionalGeneration"]},
     'architectures: ["Gemma3ForConditionalGeneration"]; allowed'),
    ("Gemma-3-1B", {"text_config": {"hidden_size": 1}}, 'text_config: {"hidden_size": 1}; allowed: none for gemma3_text'),
    ("Gemma-4-26B-A4B", text("Gemma-4-26B-A4B", hidden_size_per_layer_input=256),
     "text_config.hidden_size_per_layer_input: 256; allowed: 0"),
    ("Gemma-4-26B-A4B", text("Gemma-4-26B-A4B", num_kv_shared_layers=10), "text_config.num_kv_shared_layers: 10; allowed: 0"),
    ("Llama-4-Scout", text("Llama-4-Scout", no_rope_layers=[1, 2]),
     "text_config.no_rope_layers: [1, 2]; allowed: a list of 48, each 0 or 1"),
    ("Llama-4-Scout", text("Llama-4-Scout", no_rope_layers=[True] * 48), "text_config.no_rope_layers: [true, true"),
    ("Llama-4-Scout", text("Llama-4-Scout", moe_layers=[48]),
     "text_config.moe_layers: [48]; allowed: a list of layers from 0 to 47, "),
    ("Llama-4-Scout", text("Llama-4-Scout", moe_layers=[1, 1]),
     "text_config.moe_layers: [1, 1]; allowed: a list of layers from 0 to"),
    ("Qwen3-Next-80B-A3B", {"linear_num_value_heads": 24},
     "linear_num_value_heads: 24; allowed: a multiple of linear_num_key_heads, 16"),
    ("Qwen3-Next-80B-A3B", {"shared_expert_intermediate_size": 500},
     "shared_expert_intermediate_size: 500; allowed: a multiple of"),
    ("Qwen3.5-27B", text("Qwen3.5-27B", mamba_ssm_dtype="int4"),
     'text_config.mamba_ssm_dtype: "int4"; allowed: float32, bfloat16, float16'),
    ("Qwen3.5-27B", text("Qwen3.5-27B", attn_output_gate=False), "text_config.attn_output_gate: false; allowed: true"),
    ("GLM-5.2", {"indexer_types": ["full"]}, 'indexer_types: ["full"]; allowed: a list of 78, each full or shared'),
    ("GLM-5.2", {"index_topk_pattern": "FSSF"}, 'index_topk_pattern: "FSSF"; allowed: none for glm_moe_dsa'),
    ("DeepSeek-V3.2", {"q_lora_rank": None}, "q_lora_rank: null; allowed: a whole number from 1 to"),
    ("Kimi-Linear-48B-A3B", {"linear_attn_config": ...},
     "linear_attn_config.kda_layers: missing; allowed: a list of layers from 1 to 27"),
    ("Kimi-Linear-48B-A3B", {"linear_attn_config": {"kda_layers": [1], "full_attn_layers": [2]}},
     "linear_attn_config.full_attn_layers: [2]; allowed: the other 26 layers"),
    ("Kimi-Linear-48B-A3B", {"mla_use_output_gate": 1}, "mla_use_output_gate: 1; allowed: true or false"),
    ("DeepSeek-V4-Flash", {"compress_ratios": [0] * 42}, "compress_ratios: [0, 0"),
    ("DeepSeek-V4-Flash", {"compress_ratios": [8] * 43}, "compress_ratios: [8, 8"),
    ("DeepSeek-V4-Flash", {"compress_ratios": ...},
     "layer_types: missing; allowed: a list of 43, each sliding_attention or compressed_sparse_attention or heavily_"),
    ("DeepSeek-V4-Flash", {"o_groups": 7}, "o_groups: 7; allowed: a divisor of num_attention_heads, 64"),
    ("DeepSeek-V4-Flash", {"num_key_value_heads": 2}, "num_key_value_heads: 2; allowed: 1"),
    ("DeepSeek-V4-Flash", {"qk_rope_head_dim": 512}, "qk_rope_head_dim: 512; allowed: a whole number from 1 to 511"),
    ("DeepSeek-V4-Flash", {"kv_lora_rank": 512}, "kv_lora_rank: 512; allowed: none for deepseek_v4"),
    ("DeepSeek-V4-Flash", {"num_experts": 128}, "num_experts: 128; allowed: 256, null"),
    ("GLM-5.2-NVFP4", {"num_experts": 128}, "num_experts: 128; allowed: 256, null"),
    ("MiniMax-M3", {"first_k_dense_replace": 2}, "first_k_dense_replace: 2; allowed: 3, as many as the other list of layers"),
    ("MiniMax-M3", {"sparse_attention_config": ...}, "sparse_attention_config.sparse_attention_freq: missing; allowed: a list"),
    ("MiniMax-M3", within("MiniMax-M3", "sparse_attention_config", sparse_disable_index_value=[0] * 60),
     "sparse_attention_config.sparse_disable_index_value: [0, 0"),
    ("MiniMax-M3", {"attention_output_gate": True}, "attention_output_gate: true; allowed: false"),
    ("MiMo-V2-Flash", {"swa_num_attention_heads": 96}, "swa_num_attention_heads: 96; allowed: 64, null"),
    ("MiMo-V2-Flash", {"v_head_dim": 127}, "v_head_dim: 127; allowed: an even number, whose mean with head_dim is whole"),
    ("MiMo-V2-Flash", {"n_shared_experts": 1}, "n_shared_experts: 1; allowed: null, 0"),
    ("MiMo-7B", {"attention_bias": False}, "attention_bias: false; allowed: true"),
    ("Qwen3.6-27B-NVFP4",
     within("Qwen3.6-27B-NVFP4", "quantization_config", quantized_layers={"model.layers.0.mlp.up_proj": {"quant_algo": "INT4"}}),
     'quantization_config: {"config_groups"'),
    ("Qwen3.6-27B-NVFP4", within("Qwen3.6-27B-NVFP4", "quantization_config", quantized_layers=...), "quantization_config: {"),
    ("MiniMax-M2.5", {"attn_type_list": [0] * 62}, "attn_type_list: [0, 0"),
    ("MiniMax-M2.5", {"shared_intermediate_size": 1024}, "shared_intermediate_size: 1024; allowed: 0"),
    ("Nemotron-H-8B", {"hybrid_override_pattern": "M-X"},
     'hybrid_override_pattern: "M-X"; allowed: a list of 52, each M or - or E or *'),
    ("Nemotron-H-8B", {"hybrid_override_pattern": ...}, "layers_block_type: missing; allowed: a list of 52, each mamba or"),
    ("Nemotron-H-8B", {"hybrid_override_pattern": ..., "num_hidden_layers": ...},
     "layers_block_type: missing; allowed: a list of 1 to"),
    ("Nemotron-H-8B", {"tie_word_embeddings": True}, "tie_word_embeddings: true; allowed: false"),
    ("Qwen3-Next-80B-A3B", {"attention_bias": True}, "attention_bias: true; allowed: none for qwen3_next"),
    ("Nemotron-H-8B", {"use_conv_bias": False}, "use_conv_bias: false; allowed: true"),
    ("Nemotron-3-Super-120B-A12B", {"moe_shared_expert_intermediate_size": 4000},
     "moe_shared_expert_intermediate_size: 4000; allowed: a multiple of moe_intermediate_size, 2688"),
    ("Granite-4.0-H-Small", {"mamba_d_head": "auto"}, 'mamba_d_head: "auto"; allowed: a whole number'),
    ("Command-R7B", {"use_qk_norm": True}, "use_qk_norm: true; allowed: none for cohere2"),
    ("Llama-3-8B", {"torch_dtype": "float8_e4m3fn"}, 'torch_dtype: "float8_e4m3fn"; allowed: bfloat16, float16, float32'),
    ("Llama-3-8B", {"quantization_config": "fp8"},
     'quantization_config: "fp8"; allowed: an object of fields, or null'),
    ("Llama-3-8B", quantized(quant_method="hqq"),
     'quantization_config.quant_method: "hqq"; allowed: mxfp4, compressed-tensors, mxfp8'),
    ("Llama-3-8B", quantized(quant_method="fp8", weight_block_size=[64, 64]), 'quantization_config: {"quant_method": "fp8", '),
    ("Llama-3-8B", quantized(quant_method="modelopt", quant_algo="MIXED_PRECISION"),
     'quantization_config: {"quant_method": "modelopt"'),
    ("Llama-3-8B", quantized(quant_method="gptq", bits=3, group_size=128),
     'quantization_config: {"quant_method": "gptq", "bits": 3, "gr'),
    ("Llama-3-8B", quantized(quant_method="gptq", bits=4.0, group_size=128),
     'quantization_config: {"quant_method": "gptq", "bits": 4.0'),
    ("Kimi-K2.5", text("Kimi-K2.5", quantization_config={"quant_method": "hqq"}),
     'text_config.quantization_config.quant_method: "hqq"; allowed: mxfp4'),
])
def test_what_does_not_fit_is_refused_by_field(changed, name, fields, expected):  # noqa: F811
    assert refused(changed, name, **fields).startswith(f"config.json, field {expected}")


def test_a_type_is_read_or_refused():
    known = config.architectures()
    assert not set(known["lacking"]) & set(known["architectures"])
    assert all(set(types) <= set(config.families()) for types in config.nesting().values())
    assert all(isinstance(reason, str) and reason for reason in known["lacking"].values())
