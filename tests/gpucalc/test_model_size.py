"""Parameter counts against sums written out by hand, matrix by matrix, without the laws."""
import pytest

from gpucalc import model_size as size
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue

LLAMA_2_7B = (
    32000 * 4096 * 2                    # input embedding and output head
    + 32 * (4 * 4096 * 4096             # query, key, value, output: 32 heads of 128 each
            + 3 * 4096 * 11008          # gate, up, down
            + 2 * 4096)                 # two RMSNorms
    + 4096)                             # final norm
LLAMA_3_8B = 128256 * 4096 * 2 + 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096) + 4096
LLAMA_3_70B = 128256 * 8192 * 2 + 80 * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192) + 8192
LLAMA_32_1B = (
    128256 * 2048                       # one embedding, shared with the output
    + 16 * (2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 8192 + 2 * 2048) + 2048)
MIXTRAL_8X7B = (
    32000 * 4096 * 2
    + 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024
            + 8 * 3 * 4096 * 14336      # eight experts
            + 8 * 4096                  # router
            + 2 * 4096) + 4096)
GPT_3 = (
    50257 * 12288 + 2048 * 12288        # shared embedding and learned positions
    + 96 * (4 * 12288**2 + 4 * 12288    # attention with biases
            + 2 * 12288 * 49152 + 49152 + 12288
            + 2 * 2 * 12288)            # two LayerNorms of two vectors
    + 2 * 12288)
QWEN_25_7B = (
    152064 * 3584 * 2
    + 28 * (2 * 3584 * 3584 + 2 * 3584 * 512
            + 3584 + 2 * 512            # bias of query, key and value
            + 3 * 3584 * 18944 + 2 * 3584) + 3584)
QWEN_3_8B = (
    151936 * 4096 * 2
    + 36 * (2 * 4096 * 4096 + 2 * 4096 * 1024
            + 2 * 128                   # one norm vector for queries, one for keys
            + 3 * 4096 * 12288 + 2 * 4096) + 4096)
GEMMA_2_9B = (
    256000 * 3584
    + 42 * (2 * 3584 * 16 * 256 + 2 * 3584 * 8 * 256 + 3 * 3584 * 14336
            + 4 * 3584) + 3584)         # norms before and after each block
FALCON_7B = (
    65024 * 4544
    + 32 * (2 * 4544 * 4544 + 2 * 4544 * 64       # one key and one value head
            + 2 * 4544 * 18176 + 2 * 4544)        # one LayerNorm
    + 2 * 4544)
DEEPSEEK_ATTENTION = (
    7168 * 1536 + 1536                  # compressed query and its norm
    + 1536 * 128 * (128 + 64)           # 128 query heads with a rotary part
    + 7168 * (512 + 64) + 512           # compressed key and value, rotary key, norm
    + 512 * 128 * (128 + 128)           # key and value heads
    + 128 * 128 * 7168)                 # output
DEEPSEEK_V3 = (
    129280 * 7168 * 2
    + 61 * (DEEPSEEK_ATTENTION + 2 * 7168)
    + 3 * 3 * 7168 * 18432              # three dense layers
    + 58 * ((256 + 1) * 3 * 7168 * 2048 + 256 * 7168 + 256)
    + 7168)
COUNTS = {"Llama-2-7B": LLAMA_2_7B, "Llama-3-8B": LLAMA_3_8B, "Llama-3-70B": LLAMA_3_70B, "Llama-3.2-1B": LLAMA_32_1B,
          "Mixtral-8x7B": MIXTRAL_8X7B, "GPT-3-175B": GPT_3, "Qwen2.5-7B": QWEN_25_7B, "Qwen3-8B": QWEN_3_8B,
          "Gemma-2-9B": GEMMA_2_9B, "Falcon-7B": FALCON_7B, "DeepSeek-V3": DEEPSEEK_V3}


@pytest.mark.parametrize("model, counted", COUNTS.items())
def test_a_model_counted_by_hand(model, counted):
    assert Case(catalogue.model(model))(size.params) == counted


def test_every_model_has_the_count_of_its_architecture():
    models = catalogue.models()
    assert (Case(models)(size.params) == models.params).all()


def test_parts_of_a_layer():
    assert size.embedding_params(32000, 4096) == 262_144_000
    assert size.embedding_params(32000, 4096, tied_embeddings=1, positions=1024) == 131_072_000 + 4_194_304
    assert size.lookup_params(128256, 4096) == 525_336_576
    assert size.lookup_params(50257, 12288, tied_embeddings=1, positions=2048) == 25_165_824
    assert size.attention_params(4096, 32, 8, 128) == 41_943_040
    assert size.attention_params(4096, 32, 8, 128, qkv_bias=1, output_bias=1) == 41_943_040 + 4096 + 2048 + 4096
    assert Case(catalogue.model("DeepSeek-V3"))(size.attention_params) == 187_107_328 == DEEPSEEK_ATTENTION
    assert size.mlp_params(4096, 14336) == 117_440_512
    assert size.mlp_params(4096, 14336, gated_mlp=1) == 176_160_768
    assert size.mlp_params(4096, 14336, mlp_bias=1) == 117_440_512 + 14336 + 4096
    assert size.mlp_params(4096, 14336, gated_mlp=1, mlp_bias=1) == 176_160_768 + 2 * 14336 + 4096
    assert size.moe_params(4096, 176_160_768, 8, 14336, gated_mlp=1) == 8 * 176_160_768 + 32_768
    assert size.moe_params(7168, 44_040_192, 256, 2048, shared_experts=1, gated_mlp=1, router_bias=1) == 257 * 44_040_192 + 256 * 7168 + 256
    assert size.norm_params(4096) == 8192
    assert size.norm_params(4096, 4, 2) == 32_768


def test_kinds_of_attention_by_hand():
    # Hidden 10: 4 query heads and 2 of keys and of values, of 3. 12 + 6 + 6 channels in, 12 out.
    assert size.attention_params(10, 4, 2, 3) == 360
    assert size.attention_params(10, 4, 2, 3, attention_gate=1) == 360 + 120
    assert size.attention_params(10, 4, 2, 3, shared_keys=1) == 360 - 60
    assert size.attention_params(10, 4, 2, 3, qk_norm=1, sinks=1) == 360 + 2 * 3 + 4
    assert size.attention_params(10, 4, 2, 3, qk_norm=1, wide_qk_norm=1) == 360 + 12 + 6
    # A latent of 5, 4 heads of 3 + 2 and values of 6: queries 200 or 7 x (10 + 1 + 20), keys 10 x 7 + 5 x (1 + 4 x 9), output 240.
    latent = dict(kv_lora_rank=5, rope_head_dim=2, value_head_dim=6)
    assert size.attention_params(10, 4, 4, 3, **latent) == 200 + 255 + 240
    assert size.attention_params(10, 4, 4, 3, **latent, q_lora_rank=7) == 217 + 255 + 240
    # In a window 1 head of keys and 5 channels a head: 20 + 5 + 5 in, 20 out, a gate of 20.
    more = dict(qkv_bias=1, qk_norm=1, attention_gate=1, sinks=1, wide_qk_norm=1)
    assert size.window_attention_params(10, 4, 2, 3, 1, 5, **more) == 700 + 30 + 4 + 25
    assert size.window_attention_params(10, 4, 2, 3, **more) == size.attention_params(10, 4, 2, 3, **more)
    # Three heads of 4 from a query of 5, a key of 4 and 3 weights from 10, a norm with its bias.
    assert size.indexer_params(10, 3, 4, 5) == 60 + 70 + 8
    assert size.mixing_params(6, 100, 50, 30, 7, window_layers=2, linear_layers=3, indexer_layers=4) == 400 + 100 + 90 + 28


def test_kinds_of_experts_by_hand():
    # Three matrices of 10 x 7, or of 4 x 7 in a latent; biases 7 + 7 and 10 or 4.
    assert size.expert_params(10, 7, 1, 1) == 210 + 24 and size.expert_params(10, 7, 1, 1, 4) == 84 + 18
    # Eight of them with 10 numbers and a bias of the router, two shared ones and their gate, 10 x 4 to the latent and back.
    assert size.moe_params(10, 102, 8, 7, 2, 1, 1, 1, 4) == 8 * 113 + 2 * 210 + 10 + 80
    assert size.mlp_layers(10, 3, 2) == 5 and size.mlp_layers(10, 3, 2, 1) == 8
    # Two of four experts a token: with one drafted, or four sequences in two stages, a quarter of the four is not read.
    given = dict(moe_layers=1, experts=4, experts_per_token=2)
    assert size.read_params(100, 1, 1, **given, drafted=1) == 99 == size.read_params(100, 1, 4, **given, pipeline_parallel=2)
    # If some are chosen twice as often as the mean they are the only ones; of eight 4 (1 - 1/2^2) are used by two tokens.
    assert size.read_params(100, 1, 9, **given, expert_skew=2) == 98
    assert size.read_params(100, 1, 2, 1, 8, 2, expert_skew=2) == 95 and size.read_params(100, 1, 2, 1, 8, 2, expert_skew=9) == 94


def test_one_token_of_mixtral_passes_two_experts_of_eight():
    # Mistral AI says 12.9 billion active of 46.7: 6 experts of 32 layers are not used.
    unused = 32 * 6 * 3 * 4096 * 14336
    assert Case(catalogue.model("Mixtral-8x7B"))(size.active_params) == 46_702_792_704 - unused == 12_879_925_248


def test_one_token_of_deepseek_v3_passes_37_billion():
    # arXiv 2412.19437: 37 billion activated; 248 of 256 routed experts are not used in 58 layers.
    unused = 58 * 248 * 3 * 7168 * 2048
    active = Case(catalogue.model("DeepSeek-V3"))(size.active_params)
    assert active == DEEPSEEK_V3 - unused
    assert active == pytest.approx(37e9, rel=0.02)


def test_a_batch_reads_more_experts():
    mixtral = catalogue.model("Mixtral-8x7B")
    expert_layers = 32 * 3 * 4096 * 14336
    # An expert stays untouched with probability 3/4 for one token, 9/16 for two.
    assert Case(mixtral, batch=1)(size.read_params) == pytest.approx(MIXTRAL_8X7B - 6 * expert_layers, rel=1e-12)
    assert Case(mixtral, batch=2)(size.read_params) == pytest.approx(MIXTRAL_8X7B - 4.5 * expert_layers, rel=1e-12)
    assert Case(mixtral, batch=512)(size.read_params) == pytest.approx(MIXTRAL_8X7B, rel=1e-12)


def test_a_dense_model_uses_all_of_itself():
    dense = catalogue.model("Llama-3-8B")
    assert Case(dense)(size.active_params) == Case(dense, batch=7)(size.read_params) == LLAMA_3_8B


# Weights beyond the GPUs' memory

def test_weights_beyond_two_cards_by_hand():
    # Two of 24e9 B, of which an engine uses 0.9 and keeps 1e9: 41.2e9 of 65.2e9 B stay, 24.0e9 do not.
    assert size.offloaded_bytes(65.2e9, 24e9, 2, 1e9, 0.9) == pytest.approx(24.0e9)
    assert size.offloaded_bytes(65.2e9, 24e9, 4, 1e9, 0.9) == 0
    # A tenth of the weights is read: 4.12e9 B at 1e12 B/s, then 2.4e9 at 80e9.
    assert size.offloaded_token_seconds(6.52e9, 65.2e9, 24.0e9, 1e12, 80e9) == pytest.approx(0.00412 + 0.03)


@pytest.mark.parametrize("model, bits, host_memory_bandwidth, seconds", [
    ("Llama-3-70B", 4.5, 51.2e9, 1.08949 * 70.6 / 65.3),  # LLaMA-65B in q4_0, Ryzen 3700X: ggml-org/llama.cpp issue 34, by parameters
    ("Qwen2.5-32B", 4.85, 89.6e9, 1 / 3.54),              # Q4_K_M, Ryzen AI 9 HX 370, DDR5-5600: issue 19480
])
def test_runs_on_a_processor_alone_take_longer_than_the_least(model, bits, host_memory_bandwidth, seconds):
    case = Case(model=model, weight_element_bytes=bits / 8, batch=1, bandwidth=1e12, own_cards=1, memory_bytes=1.0, framework_bytes=0,
                host_memory_bandwidth=host_memory_bandwidth)
    assert 1.2 < seconds / case(size.offloaded_token_seconds) < 1.6
