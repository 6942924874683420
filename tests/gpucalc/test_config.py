"""A Hugging Face config.json gives the published count to the integer, or an error that names the field."""
import json
import os
from pathlib import Path

import pytest

from gpucalc import Case, kv_cache, model_size
from gpucalc.rows import catalogue, config

CONFIGS = Path(__file__).parents[1] / "configs"
ORIGIN = ["unit", "source", "date", "confidence", "note"]
# What the page of a model says and its file does not.
DOCUMENTED = ["repository", "yarn_original", "yarn_context", "rope_theta"]
FALCON_40B = (
    65024 * 8192                                            # one embedding, shared with the output
    + 60 * (2 * 8192 * 8192 + 2 * 8192 * 512                # 128 query heads and 8 key and value heads of 64
            + 2 * 8192 * 32768 + 2 * 2 * 8192)              # two LayerNorms of two vectors
    + 2 * 8192)
QWEN2_57B = (
    2 * 151936 * 3584                                       # embedding and output head
    + 28 * (3584 * 8192 + 4608                              # 28 query heads and 4 key and value heads of 128, with biases
            + 64 * 3 * 3584 * 2560 + 3 * 3584 * 20480       # 64 experts and the wide shared one
            + 64 * 3584 + 3584 + 2 * 3584)                  # router, gate of the shared expert, two norms
    + 3584)


def _deepseek_v4(hidden, heads, query, groups, expert, experts, layers, light, heavy):
    """By hand from the shapes in transformers 5.23.0, models/deepseek_v4: 512 numbers a head, an indexer of 64 heads of 128."""
    attention = (hidden * query + query + query * heads * 512         # the compressed query, its norm, its expansion
                 + hidden * 512 + 512                                 # one key that is the value too, and its norm
                 + heads * 512 * 1024 + groups * 1024 * hidden        # outputs in groups of heads
                 + heads)                                             # sinks
    moe = experts * 3 * hidden * expert + 3 * hidden * expert + experts * hidden
    streams = 2 * (24 * 4 * hidden + 24 + 3)                          # 4 streams: (2 + 4) * 4 numbers from all of them, twice
    by_four = 2 * hidden * 1024 + 4 * 1024 + 512                      # values and gates of two halves, positions, norm
    indexer = 2 * hidden * 256 + 4 * 256 + 128 + query * 64 * 128 + hidden * 64
    by_many = 2 * hidden * 512 + 128 * 512 + 512
    return (2 * 129280 * hidden + layers * (attention + moe + streams + 2 * hidden)
            + light * (by_four + indexer) + heavy * by_many
            + (layers - 3) * experts                                  # balancing biases, but for three layers routed by hash
            + 4 * 4 * hidden + 4 + 1 + hidden)                        # the streams come together; final norm


DEEPSEEK_V4_FLASH = _deepseek_v4(4096, 64, 1024, 8, 2048, 256, 43, light=21, heavy=20)
DEEPSEEK_V4_PRO = _deepseek_v4(7168, 128, 1536, 16, 3072, 384, 61, light=30, heavy=31)
# By hand from the shapes in vllm-project/vllm, vllm/models/kimi_k3/nvidia (commit 006193b): 96 heads of 128.
KIMI_K3 = (
    2 * 163840 * 7168 + 3 * 7168 * 33792                              # embedding and output head; the dense first MLP
    + 93 * (2 * 7168 + 4 * 7168) + 3 * 7168                           # norms; norms and scores of residuals; the last of both
    + 69 * (4 * 7168 * 12288 + 7168 * 128 + 128 * 12288 + 7168 * 96   # queries, keys, values, gate; decay of rank 128; beta
            + 12288 + 3 * 12288 * 4 + 96 + 128 + 12288 * 7168)        # bias of the decay, convolutions, A, norm, output
    + 24 * (7168 * 1536 + 1536 + 1536 * 96 * 192                      # latent attention, with a gate on its output
            + 7168 * 576 + 512 + 512 * 96 * 256 + 2 * 96 * 128 * 7168)
    + 92 * (896 * (3 * 3584 * 3072 + 7168 + 1) + 2 * 7168 * 3584      # experts on 3584 channels, router with its bias, the way
            + 3584 + 3 * 7168 * 6144))                                # there and back with a norm; two shared experts
# By hand from transformers 5.23.0, models/minimax_m3_vl. With 0.87 billion of its vision tower in BF16 that is 854 GB, as the
# repository MiniMaxAI/MiniMax-M3 has on Hugging Face; its card says ~428B.
MINIMAX_M3 = (
    2 * 200064 * 6144 + 60 * (2 * 6144 * 8192 + 2 * 6144 * 512 + 2 * 128 + 2 * 6144) + 6144
    + 3 * 3 * 6144 * 12288 + 57 * (129 * 3 * 6144 * 3072 + 128 * 6145)
    + 57 * (6144 * 4 * 128 + 6144 * 128 + 2 * 128))                   # 4 index queries and a key of 128, a norm for both
# By hand from transformers 5.23.0, models/mimo_v2_flash: keys of 192, values of 128. Its card says 309B.
MIMO_V2_FLASH = (
    2 * 152576 * 4096 + 48 * (64 * 4096 * (192 + 128) + 2 * 4096) + 4096
    + 9 * 4 * 4096 * (192 + 128) + 39 * (8 * 4096 * (192 + 128) + 64)  # 9 full layers; 39 with windows and sinks
    + 3 * 4096 * 16384 + 47 * 256 * (3 * 4096 * 2048 + 4096 + 1))
# By hand from vllm-project/vllm, model_executor/models/mimo.py: Qwen2 with biases. With the layer that predicts, 210,790,400 (a
# layer, a matrix of 8192 x 4096, three norms), that is 7,833,409,536: its card says 7.83B.
MIMO_7B = (
    2 * 151680 * 4096 + 36 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 4096 + 2 * 1024 + 3 * 4096 * 11008 + 2 * 4096) + 4096)
PUBLISHED = {
    "DeepSeek-V2": 235_741_434_880, "DeepSeek-V2-Lite": 15_706_484_224, "DeepSeek-V3": 671_026_419_200,
    "Falcon-40B": FALCON_40B, "Falcon-7B": 6_921_720_704, "GPT-2": 124_439_808, "GPT-3-175B": 174_604_259_328,
    "Gemma-2-9B": 9_241_705_984, "Gemma-2B": 2_506_172_416, "Gemma-7B": 8_537_680_896, "Llama-2-7B": 6_738_415_616,
    "Llama-3-8B": 8_030_261_248, "Llama-3.1-405B": 405_853_388_800, "Llama-3.2-1B": 1_235_814_400,
    "Mistral-7B": 7_241_732_096, "Mixtral-8x22B": 140_620_634_112, "Mixtral-8x7B": 46_702_792_704,
    "OPT-13B": 12_853_473_280, "Phi-2": 2_779_683_840, "Phi-3-mini": 3_821_079_552, "Qwen2.5-7B": 7_615_616_512,
    "Qwen1.5-MoE-A2.7B": 14_315_784_192, "Qwen2-57B-A14B": QWEN2_57B, "Qwen3-30B-A3B": 30_532_122_624,
    "Qwen3-8B": 8_190_735_360, "TinyLlama-1.1B": 1_100_048_384}
# What transformers 5.23 counts when its class of the model is made without weights, balancing biases of routers included.
COUNTED = {
    "Command-A-111B": 111_057_580_032, "Command-R-35B": 34_980_831_232, "Command-R-Plus-104B": 103_810_674_688,
    "Command-R7B": 8_028_033_024, "DeepSeek-V3.2": 671_877_944_064, "GLM-4-32B-0414": 33_141_749_760,
    "GLM-4-9B-0414": 9_400_094_720, "GLM-4.5": 352_797_829_024, "GLM-4.5-Air": 106_852_251_264, "GLM-5": 743_911_218_432,
    "GLM-5.2": 743_377_019_904, "Gemma-3-12B": 11_766_034_176, "Gemma-3-1B": 999_885_952, "Gemma-3-27B": 27_009_346_304,
    "Gemma-3-4B": 3_880_263_168, "Gemma-4-26B-A4B": 25_233_141_760, "Gemma-4-31B-NVFP4": 30_697_345_280,
    "Granite-3.3-8B": 8_170_864_640, "Granite-4.0-H-Small": 32_207_337_984, "Kimi-K2": 1_026_408_232_448,
    "Kimi-K2.5": 1_026_408_232_448, "Kimi-Linear-48B-A3B": 49_122_681_728, "Llama-4-Maverick": 400_711_848_960,
    "Llama-4-Scout": 107_769_861_120, "MiniMax-M2.5": 228_689_764_864, "MiniMax-M2.7-NVFP4": 228_689_764_864,
    "Ministral-3-14B": 13_506_073_600, "Ministral-3-3B": 3_429_006_336, "Ministral-3-8B": 8_489_553_920,
    "Mistral-Small-3.1-24B": 23_572_403_200, "Mistral-Small-4-119B": 118_972_826_624,
    "Nemotron-3-Nano-30B-A3B": 31_577_940_288, "Nemotron-3-Super-120B-A12B": 120_668_707_840,
    "Nemotron-3-Ultra-550B-A55B": 549_308_993_536, "Nemotron-H-56B": 56_324_350_464, "Nemotron-H-8B": 8_100_852_736,
    "OLMo-2-13B": 13_716_198_400, "OLMo-3-32B": 32_233_522_176, "OLMo-3-7B": 7_298_011_136, "Phi-4": 14_659_507_200,
    "Qwen3-235B-A22B": 235_093_634_560, "Qwen3-32B": 32_762_123_264, "Qwen3-Coder-480B-A35B": 480_154_875_392,
    "Qwen3-Next-80B-A3B": 79_674_391_296, "Qwen3-VL-2B": 1_720_574_976, "Qwen3-VL-30B-A3B": 30_532_122_624,
    "Qwen3.5-122B-A10B": 122_111_526_912, "Qwen3.5-27B": 26_895_998_464, "Qwen3.5-35B-A3B": 34_660_610_688,
    "Qwen3.5-397B-A17B": 396_346_350_336, "gpt-oss-120b": 116_829_156_672, "gpt-oss-20b": 20_914_757_184}
PUBLISHED |= COUNTED | {
    "DeepSeek-V4-Flash": DEEPSEEK_V4_FLASH, "DeepSeek-V4-Flash-FP8": DEEPSEEK_V4_FLASH,
    "DeepSeek-V4-Flash-NVFP4": DEEPSEEK_V4_FLASH, "DeepSeek-V4-Pro": DEEPSEEK_V4_PRO, "Kimi-K3": KIMI_K3, "MiMo-7B": MIMO_7B,
    "MiMo-V2-Flash": MIMO_V2_FLASH, "MiniMax-M3": MINIMAX_M3, "MiniMax-M3-NVFP4": MINIMAX_M3,
    "GLM-5.2-NVFP4": COUNTED["GLM-5.2"], "Qwen3.6-27B-NVFP4": COUNTED["Qwen3.5-27B"],
    "Qwen3.6-35B-A3B-NVFP4": COUNTED["Qwen3.5-35B-A3B"]}
# What a row of the catalogue says otherwise than the file: the context of the paper or of the version that answers, a layer that
# the file leaves out.
UNLIKE = {"DeepSeek-V3": ["max_context"], "Qwen2.5-7B": ["max_context"], "Qwen3-Next-80B-A3B": ["mtp_layers"], "Nemotron-3-Super-120B-A12B": ["native_format"]}


def path_of(name):
    return CONFIGS / f"{name}.json"


@pytest.fixture
def changed(tmp_path):
    """Reads a known config after some of its fields were replaced, or removed where the new value is `...`."""
    def read(name, **fields):
        whole = json.loads(path_of(name).read_text()) | fields
        path = tmp_path / "config.json"
        path.write_text(json.dumps({field: value for field, value in whole.items() if value is not ...}))
        return catalogue.model(path)
    return read


def refused(read, *given, **fields):
    with pytest.raises(ValueError) as error:
        read(*given, **fields)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_each_config_is_tested_and_each_family_has_one():
    assert {path.stem for path in CONFIGS.iterdir()} == set(PUBLISHED)
    files = [json.loads(path.read_text()) for path in CONFIGS.iterdir()]
    # A text model that names no type is of the first that its file's type allows.
    first = {name: types[0] for name, types in config.nesting().items()}
    assert {each.get("model_type", first.get(file["model_type"])) for file in files
            for each in (file, file.get("text_config", file))} == {*config.families(), *config.nesting()}


@pytest.mark.parametrize("name, published", PUBLISHED.items())
def test_published_count(name, published):
    row = catalogue.model(str(path_of(name)))
    assert row["params"] == published and type(row["params"]) is int
    assert Case({column: value for column, value in row.items() if column != "params"})(model_size.params) == published


@pytest.mark.parametrize("name", sorted(set(PUBLISHED) & set(catalogue.models().index)))
def test_same_columns_as_the_row_of_the_catalogue(name):
    row, known = catalogue.model(path_of(name)), catalogue.model(name)
    assert list(row) == list(known) and (type(row), row.kind) == (type(known), known.kind)
    for column in UNLIKE.get(name, []):
        assert row[column] != known[column]
        row[column] = known[column]
    assert row["native_format"].startswith(known["native_format"])  # a row may leave out how wide the blocks of a format are
    row["native_format"] = known["native_format"]
    row, known = ({column: value for column, value in each.items() if column not in ORIGIN + DOCUMENTED} for each in (row, known))
    assert row == known
    row["state_element_bytes"] = float(row["state_element_bytes"])  # bytes of a value may be half a byte
    assert [type(value) for value in row.values()] == [type(value) for value in known.values()]


def test_name_and_origin(changed, tmp_path):
    assert catalogue.model(path_of("OPT-13B")).name == "facebook/opt-13b"
    row = catalogue.model(path_of("Llama-3-8B"))
    assert row.name == "Llama-3-8B"
    assert [row[column] for column in ORIGIN] == ["count, tokens", "Hugging Face config configs/Llama-3-8B.json", "", "seen", ""]
    assert catalogue.model(path_of("DeepSeek-V3"))["note"] == "without the multi-token-prediction module"
    assert changed("Llama-3-8B", _name_or_path=" ").name == tmp_path.name    # the folder of its config.json


def test_head_dim_given_rules_over_width_by_heads(changed):
    wide = changed("Llama-3-8B", head_dim=256)
    assert wide["head_dim"] == 256 and wide["params"] - PUBLISHED["Llama-3-8B"] == 32 * 4096 * 128 * (2 * 32 + 2 * 8)
    assert changed("Mistral-7B", head_dim=None)["head_dim"] == 128
    assert changed("Mistral-7B", head_dim=96, hidden_size=4100)["head_dim"] == 96


@pytest.mark.parametrize("name", ["Llama-3-8B", "Phi-2", "Phi-3-mini"])
@pytest.mark.parametrize("absent", [..., None])
def test_kv_heads_default_to_heads_where_the_class_says_so(changed, name, absent):
    row = changed(name, num_key_value_heads=absent)
    assert row["kv_heads"] == row["heads"] == 32 and row["attention"] == "MHA"


@pytest.mark.parametrize("name, tied", [
    ("Llama-3-8B", 0), ("Mistral-7B", 0), ("Mixtral-8x7B", 0), ("Qwen2.5-7B", 0), ("Qwen3-8B", 0), ("Phi-2", 0),
    ("Phi-3-mini", 0), ("DeepSeek-V2", 0), ("DeepSeek-V3", 0), ("Gemma-2B", 1), ("Gemma-2-9B", 1), ("GPT-2", 1),
    ("OPT-13B", 1), ("Falcon-7B", 1)])
def test_tied_embeddings_by_default(changed, name, tied):
    assert changed(name, tie_word_embeddings=...)["tied_embeddings"] == tied
    assert changed(name, tie_word_embeddings=not tied)["tied_embeddings"] == 1 - tied


@pytest.mark.parametrize("name, fields, expected", [
    ("Mistral-7B", {"sliding_window": None}, (0, 0)),
    ("Mixtral-8x7B", {"sliding_window": 4096}, (4096, 32)),
    ("Mixtral-8x7B", {"sliding_window": ...}, (0, 0)),
    ("Gemma-2-9B", {"num_hidden_layers": 3}, (4096, 2)),
    ("Gemma-2-9B", {"num_hidden_layers": 2, "layer_types": ["full_attention", "full_attention"]}, (0, 0)),
    ("Qwen2.5-7B", {"use_sliding_window": True, "max_window_layers": 20}, (131072, 8)),
    ("Qwen2.5-7B", {"use_sliding_window": True}, (0, 0)),
    ("Qwen3-8B", {"use_sliding_window": True, "sliding_window": 4096, "num_hidden_layers": 2,
                  "layer_types": ["sliding_attention", "full_attention"]}, (4096, 1)),
    ("Phi-3-mini", {"sliding_window": None}, (0, 0))])
def test_windows(changed, name, fields, expected):
    row = changed(name, **fields)
    assert (row["window"], row["window_layers"]) == expected


@pytest.mark.parametrize("name, fields, expected", [
    ("Llama-3-8B", {"attention_bias": True}, {"qkv_bias": 1, "output_bias": 1, "mlp_bias": 0}),
    ("Llama-3-8B", {"mlp_bias": True}, {"qkv_bias": 0, "output_bias": 0, "mlp_bias": 1}),
    ("Gemma-2B", {"attention_bias": True}, {"qkv_bias": 1, "output_bias": 1}),
    ("OPT-13B", {"enable_bias": False}, {"qkv_bias": 0, "output_bias": 0, "mlp_bias": 0}),
    ("GPT-2", {"n_inner": 1000}, {"intermediate": 1000}),
    ("Falcon-7B", {"bias": True, "parallel_attn": False}, {"qkv_bias": 1, "mlp_bias": 1, "norms_per_layer": 2}),
    ("Falcon-7B", {"multi_query": False}, {"kv_heads": 71, "attention": "MHA"}),
    ("Falcon-7B", {"num_kv_heads": 71}, {"kv_heads": 1, "attention": "MQA"}),
    ("Falcon-40B", {"num_kv_heads": ...}, {"kv_heads": 128, "attention": "MHA"}),
    ("Falcon-40B", {"num_kv_heads": None}, {"kv_heads": 128, "attention": "MHA"}),
    ("Falcon-40B", {}, {"kv_heads": 8, "norms_per_layer": 2}),
    ("Falcon-40B", {"num_ln_in_parallel_attn": 1, "ffn_hidden_size": 16384}, {"norms_per_layer": 1, "intermediate": 16384}),
    ("DeepSeek-V3", {"first_k_dense_replace": 0}, {"moe_layers": 61}),
])
def test_a_field_sets_its_columns(changed, name, fields, expected):
    row = changed(name, **fields)
    assert {column: row[column] for column in expected} == expected


@pytest.mark.parametrize("name, fields, expected", [
    ("Llama-3-8B", {"num_key_value_heads": 5}, "num_key_value_heads: 5; allowed: a divisor of num_attention_heads, 32"),
    ("Llama-3-8B", {"num_key_value_heads": 64}, "num_key_value_heads: 64; allowed: a divisor of num_attention_heads, 32"),
    ("Llama-3-8B", {"num_key_value_heads": 0}, "num_key_value_heads: 0; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"num_attention_heads": 24}, "num_attention_heads: 24; allowed: a divisor of hidden_size, 4096"),
    ("Llama-3-8B", {"num_attention_heads": 4096}, "num_attention_heads: 4096; allowed: heads of an even size, not 1"),
    ("Llama-3-8B", {"head_dim": 127}, "head_dim: 127; allowed: heads of an even size, not 127: positions are rotary"),
    ("Llama-3-8B", {"head_dim": 0}, "head_dim: 0; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"hidden_size": -4096}, "hidden_size: -4096; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"num_hidden_layers": 0}, "num_hidden_layers: 0; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"num_hidden_layers": 32.5}, "num_hidden_layers: 32.5; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"num_hidden_layers": True}, "num_hidden_layers: true; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"vocab_size": ...}, "vocab_size: missing; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"vocab_size": None}, "vocab_size: null; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"vocab_size": "128256"}, 'vocab_size: "128256"; allowed: a whole number from 1 to'),
    ("Llama-3-8B", {"vocab_size": float("nan")}, "vocab_size: NaN; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"intermediate_size": [14336]}, "intermediate_size: [14336]; allowed: a whole number from 1 to"),
    ("Llama-3-8B", {"max_position_embeddings": ...}, "max_position_embeddings: missing; allowed: a whole number"),
    ("Llama-3-8B", {"tie_word_embeddings": "no"}, 'tie_word_embeddings: "no"; allowed: true or false'),
    ("Llama-3-8B", {"attention_bias": 0}, "attention_bias: 0; allowed: true or false"),
    ("Llama-3-8B", {"mlp_bias": None}, "mlp_bias: null; allowed: true or false"),
    ("Llama-3-8B", {"model_type": "bert"},
     'model_type: "bert"; allowed: cohere, cohere2, deepseek_ref, deepseek_v2, deepseek_v3,'),
    ("Llama-3-8B", {"model_type": "mamba2"}, 'model_type: "mamba2"; allowed: cohere,'),
    ("Llama-3-8B", {"model_type": ...}, "model_type: missing; allowed: cohere, cohere2"),
    ("Llama-3-8B", {"model_type": ["llama"]}, 'model_type: ["llama"]; allowed: cohere, cohere2'),
    ("Llama-3-8B", {"architectures": ["LlamaForSequenceClassification"]},
     'architectures: ["LlamaForSequenceClassification"]; allowed: a list of classes that end in ForCausalLM or LMHeadModel'),
    ("Llama-3-8B", {"architectures": "LlamaForCausalLM"}, 'architectures: "LlamaForCausalLM"; allowed: a list of classes'),
    ("Llama-3-8B", {"num_local_experts": 8}, "num_local_experts: 8; allowed: none for llama, which does not have it"),
    ("Llama-3-8B", {"kv_lora_rank": 512}, "kv_lora_rank: 512; allowed: none for llama"),
    ("Llama-3-8B", {"sliding_window": 4096}, "sliding_window: 4096; allowed: none for llama"),
    ("Llama-3-8B", {"pruned_heads": {"0": [1]}}, 'pruned_heads: {"0": [1]}; allowed: none for llama'),
    ("Mistral-7B", {"num_key_value_heads": ...}, "num_key_value_heads: missing; allowed: a whole number from 1 to"),
    ("Mistral-7B", {"sliding_window": ...}, "sliding_window: missing; allowed: a whole number from 1 to 100,000,000 or null"),
    ("Mistral-7B", {"sliding_window": 0}, "sliding_window: 0; allowed: a whole number from 1 to 100,000,000 or null"),
    ("Mixtral-8x7B", {"num_experts_per_tok": 9}, "num_experts_per_tok: 9; allowed: a whole number from 1 to 8"),
    ("Mixtral-8x7B", {"num_local_experts": ...}, "num_local_experts: missing; allowed: a whole number from 1 to"),
    ("Mixtral-8x7B", {"mlp_only_layers": [0]}, "mlp_only_layers: [0]; allowed: none for mixtral"),
    ("Mixtral-8x7B", {"n_shared_experts": 1}, "n_shared_experts: 1; allowed: none for mixtral"),
    ("Qwen2.5-7B", {"use_sliding_window": True, "sliding_window": None}, "sliding_window: null; allowed: a whole number"),
    ("Qwen2.5-7B", {"use_sliding_window": True, "max_window_layers": ...}, "max_window_layers: missing; allowed: a whole number"),
    ("Qwen2.5-7B", {"num_hidden_layers": 1, "layer_types": ["sliding_attention"]},
     'layer_types: ["sliding_attention"]; allowed: a list of 1, each full_attention'),
    ("Qwen3-8B", {"head_dim": ...}, "head_dim: missing; allowed: a whole number from 1 to"),
    ("Gemma-2B", {"head_dim": None}, "head_dim: null; allowed: a whole number from 1 to"),
    ("Gemma-2-9B", {"layer_types": ["full_attention"]},
     'layer_types: ["full_attention"]; allowed: a list of 42, each full_attention or sliding_attention'),
    ("Gemma-2-9B", {"layer_types": "sliding"}, 'layer_types: "sliding"; allowed: a list of 42'),
    ("GPT-2", {"n_head": 7}, "n_head: 7; allowed: a divisor of n_embd, 768"),
    ("GPT-2", {"add_cross_attention": True}, "add_cross_attention: true; allowed: none for gpt2"),
    ("GPT-2", {"n_inner": 0}, "n_inner: 0; allowed: a whole number from 1 to 100,000,000 or null"),
    ("OPT-13B", {"word_embed_proj_dim": 512}, "word_embed_proj_dim: 512; allowed: 5120"),
    ("OPT-13B", {"do_layer_norm_before": False}, "do_layer_norm_before: false; allowed: true"),
    ("Falcon-7B", {"multi_query": ...}, "multi_query: missing; allowed: true or false"),
    ("Falcon-7B", {"multi_query": False, "num_kv_heads": 8}, "num_kv_heads: 8; allowed: 71, null"),
    ("Falcon-40B", {"num_kv_heads": 6}, "num_kv_heads: 6; allowed: a divisor of num_attention_heads, 128"),
    ("Falcon-40B", {"num_ln_in_parallel_attn": 3}, "num_ln_in_parallel_attn: 3; allowed: a whole number from 1 to 2 or null"),
    ("Phi-2", {"qk_layernorm": True}, "qk_layernorm: true; allowed: none for phi"),
    ("Phi-2", {"intermediate_size": "wide"}, 'intermediate_size: "wide"; allowed: a whole number'),
    ("DeepSeek-V3", {"qk_rope_head_dim": 63}, "qk_rope_head_dim: 63; allowed: an even number: positions are rotary"),
    ("DeepSeek-V3", {"kv_lora_rank": 0}, "kv_lora_rank: 0; allowed: a whole number from 1 to"),
    ("DeepSeek-V3", {"q_lora_rank": ...}, "q_lora_rank: missing; allowed: a whole number from 1 to 100,000,000 or null"),
    ("DeepSeek-V3", {"first_k_dense_replace": 61}, "first_k_dense_replace: 61; allowed: a whole number from 0 to 60"),
    ("DeepSeek-V3", {"num_experts_per_tok": 257}, "num_experts_per_tok: 257; allowed: a whole number from 1 to 256"),
    ("DeepSeek-V3", {"moe_layer_freq": 2}, "moe_layer_freq: 2; allowed: 1"),
    ("DeepSeek-V3", {"attention_bias": True}, "attention_bias: true; allowed: none for deepseek_v3"),
    ("DeepSeek-V3", {"num_key_value_heads": 8}, "num_key_value_heads: 8; allowed: 128, null"),
    ("DeepSeek-V3", {"topk_method": "greedy"}, 'topk_method: "greedy"; allowed: noaux_tc'),
    ("Llama-3-8B", {"num_hidden_layers": 10**9}, "num_hidden_layers: 1000000000; allowed: a whole number from 1 to 10,000"),
    ("Qwen3-30B-A3B", {"num_hidden_layers": 10**9}, "num_hidden_layers: 1000000000; allowed: a whole number from 1 to 10,000"),
    ("GPT-2", {"n_layer": 10_001}, "n_layer: 10001; allowed: a whole number from 1 to 10,000"),
    ("Qwen2.5-7B", {"use_sliding_window": True, "max_window_layers": 10**9}, "max_window_layers: 1000000000; allowed: a whole "
     "number from 0 to 10,000"),
    ("Llama-3-8B", {"hidden_size": 10**400}, f"hidden_size: 1{'0' * 56}...; allowed: a whole number from 1 to 100,000,000"),
    ("Llama-3-8B", {"vocab_size": 10**18}, "vocab_size: 1000000000000000000; allowed: a whole number from 1 to 100,000,000"),
    ("Llama-3-8B", {"num_attention_heads": 100_001}, "num_attention_heads: 100001; allowed: a whole number from 1 to 100,000"),
    ("Llama-3-8B", {"head_dim": 100_002}, "head_dim: 100002; allowed: a whole number from 1 to 100,000"),
    ("Mixtral-8x7B", {"num_local_experts": 10**9}, "num_local_experts: 1000000000; allowed: a whole number from 1 to 100,000"),
    ("Llama-3-8B", {"_name_or_path": "a\0b"},
     '_name_or_path: "a\\u0000b"; allowed: at most 300 characters, none of them control'),
    ("Llama-3-8B", {"_name_or_path": "\x1b[31m"}, '_name_or_path: "\\u001b[31m"; allowed: at most 300'),
    ("Llama-3-8B", {"_name_or_path": "a\u202eb"}, '_name_or_path: "a<U+202E>b"; allowed: at most 300'),
    ("Llama-3-8B", {"_name_or_path": "\ud800"}, '_name_or_path: "<U+D800>"; allowed: at most 300'),
    ("Llama-3-8B", {"_name_or_path": "x" * 301}, f'_name_or_path: "{"x" * 56}...; allowed: at most 300'),
    ("Llama-3-8B", {"model_type": "\ud800"}, 'model_type: "<U+D800>"; allowed: cohere, cohere2'),
    ("Kimi-K2.5", {"quantization_config": "fp8"}, 'quantization_config: "fp8"; allowed: an object of fields, or null'),
    ("Llama-3-8B", {"quantization_config": [{}]}, "quantization_config: [{}]; allowed: an object"),
    ("Llama-3-8B", {"rope_scaling": "linear"}, 'rope_scaling: "linear"; allowed: an object of fields, or null'),
    ("GPT-2", {"rope_scaling": 8}, "rope_scaling: 8; allowed: an object of fields, or null"),
    ("Qwen3-8B", {"rope_parameters": True}, "rope_parameters: true; allowed: an object of fields, or null"),
    ("DeepSeek-V2", {"n_routed_experts": None}, "n_routed_experts: null; allowed: a whole number from 1 to"),
])
def test_a_malformed_config_is_refused_by_field(changed, name, fields, expected):
    assert refused(changed, name, **fields).startswith(f"config.json, field {expected}")


def test_the_longest_counts_are_read(changed):
    row = changed("Llama-3-8B", num_hidden_layers=10_000, max_position_embeddings=10**8, _name_or_path="x" * 300)
    assert (row["layers"], row["max_context"], row.name) == (10_000, 10**8, "x" * 300)


def test_dense_layers_named_twice_count_once(changed):
    row = changed("Qwen3-30B-A3B", num_hidden_layers=10_000, mlp_only_layers=[0, 3, 3] + [9_999] * 100_000)
    assert row["moe_layers"] == 9_997


def test_many_fields_are_read_in_one_pass(tmp_path):
    path = tmp_path / "config.json"
    fields = json.loads(path_of("Llama-3-8B").read_text()) | {f"field_{n}": n for n in range(50_000)}
    path.write_text(json.dumps(fields))
    assert catalogue.model(path)["params"] == PUBLISHED["Llama-3-8B"]
    path.write_text(json.dumps(fields)[:-1] + ', "field_7": 1}')
    assert refused(catalogue.model, path) == "config.json, field field_7: there twice; allowed: each once"


class Name(str):
    """A name that counts how often any is compared with another."""
    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_name_that_is_there_twice_is_found_without_comparing_each_with_all():
    pairs = [(Name(f"field_{n}"), n) for n in range(3000)]
    assert config._once(pairs) == dict(pairs) and Name.compared <= 3 * len(pairs)


def index_of(total, files=2):
    """An index of safetensors, as Hugging Face's save_pretrained writes it."""
    return json.dumps({"metadata": {"total_size": total}, "weight_map": {
        f"model.layers.{place}.weight": f"model-{place % files + 1:05}-of-{files:05}.safetensors" for place in range(8)}})


# Sizes in the published files: meta-llama/Llama-3.1-8B (huggingface/hub-docs), Qwen/Qwen3-8B, openai/gpt-oss-20b, and
# mistralai/Devstral-Small-2507, whose architecture is Mistral-Small-3.1-24B's. By hand: 16 bits are two bytes a parameter.
RELEASED = [("Llama-3-8B", 16_060_522_496, 2 * PUBLISHED["Llama-3-8B"]), ("Qwen3-8B", 16_381_470_720, 2 * PUBLISHED["Qwen3-8B"]),
            ("Mistral-Small-3.1-24B", 47_144_806_400, 2 * PUBLISHED["Mistral-Small-3.1-24B"]),
            ("gpt-oss-20b", 13_761_264_768, 13_751_518_848)]


@pytest.mark.parametrize("name, total, counted", RELEASED)
def test_the_index_beside_a_config_gives_the_released_bytes(tmp_path, name, total, counted):
    (tmp_path / "config.json").write_text(path_of(name).read_text())
    plain = catalogue.model(tmp_path / "config.json")
    assert "uncounted_bytes" not in plain
    (tmp_path / "model.safetensors.index.json").write_text(index_of(total))
    row = catalogue.model(str(tmp_path))                    # the folder, as a download leaves it
    assert row == catalogue.model(tmp_path / "config.json")
    case = Case(model=str(tmp_path), weight_format=row.native_format, tensor_parallel=2)
    assert case(kv_cache.weight_bytes) == total and row.uncounted_bytes == total - counted
    one, other = case(kv_cache.gpu_weight_bytes), case.but(model=plain)(kv_cache.gpu_weight_bytes)
    assert one - other == pytest.approx((total - counted) * case("gpu_params") / row.params)
    assert row.source.endswith(f"; released: {total:,} bytes in 2 files, counted in {row.native_format}: {counted:,}")
    assert row.source in {used.source.partition("; ")[2] for used in case.explain("weight_bytes").inputs}
    table = catalogue.models([str(tmp_path), "GPT-2"] if "GPT-2" in catalogue.models().index else [str(tmp_path), "Qwen3-32B"])
    assert list(table["uncounted_bytes"]) == [total - counted, 0]


@pytest.mark.parametrize("index, expected", [
    (index_of(61_064_245_248), "field metadata.total_size: 61064245248; allowed: a whole number of bytes, 0.98 to 1.5 times the "
     "16,060,522,496 that config.json gives in BF16: the index of the same files"),
    (index_of(4_660_000_000), "field metadata.total_size: 4660000000; allowed"), (index_of("1"), 'field metadata.total_size: "1"'),
    ('{"metadata": {"total_size": 16060522496}}', "field weight_map: missing; allowed: the file of each tensor by its name"),
    ("[]", "a JSON list; allowed: a JSON object"), ("{", "Expecting property name")])
def test_an_index_of_other_files_is_refused(tmp_path, index, expected):
    (tmp_path / "config.json").write_text(path_of("Llama-3-8B").read_text())
    (tmp_path / "model.safetensors.index.json").write_text(index)
    assert expected in refused(catalogue.model, str(tmp_path)).removeprefix("model.safetensors.index.json")


def test_pipes_devices_and_large_files_are_no_configs(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        assert refused(catalogue.model, tmp_path / f"{name}.json").startswith(f"{tmp_path}/{name}.json: not a regular file")
    with open(tmp_path / "large.json", "wb") as file:
        file.truncate(10_000_001)
    assert refused(catalogue.model, tmp_path / "large.json").endswith(
        "large.json: more than 10,000,000 bytes; allowed: at most that")
    assert refused(catalogue.model, f"{'x' * 300}.json").endswith("...: File name too long")


@pytest.mark.parametrize("content, expected", [
    (b'{"model_type": ' + b"1" * 5000 + b"}", "config.json: Exceeds the limit"),
    (b"", "config.json: Expecting value: line 1 column 1 (char 0); allowed: a JSON object of fields"),
    (b"{'model_type': 'llama'}", "config.json: Expecting property name enclosed in double quotes: line 1 column 2"),
    (b'{"model_type": "llama"', "config.json: Expecting ',' delimiter"),
    (b'["llama"]', "config.json: a JSON list; allowed: a JSON object of fields, such as model_type"),
    (b"null", "config.json: a JSON NoneType; allowed: a JSON object of fields"),
    (b"{}", "config.json, field model_type: missing; allowed: cohere, cohere2"),
    (b'{"model_type": "llama", "vocab_size": 1, "vocab_size": 2}',
     "config.json, field vocab_size: there twice; allowed: each once"),
    (b'{"model_type": "ll\xe4ma"}', "config.json, row 1: byte 0xe4; allowed: UTF-8 text, JSON"),
    (b"[" * 100_000, "config.json: nested too deeply"),
])
def test_a_file_that_is_no_config_is_refused(tmp_path, content, expected):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    assert refused(catalogue.model, str(path)).startswith(expected)
