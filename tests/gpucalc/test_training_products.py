"""Products of a micro-batch by hand: 1x1 tiles on one unit, so that a product takes its FLOP at 1,000 a second."""
import pytest

from gpucalc import training_products as products
from gpucalc.rows import catalogue
from tests.close import close

RATES = dict(product_peak=1000, units=1, bandwidth=1e9, tile_rows=1, tile_columns=1)
LAYER = dict(gpu_tokens=16, hidden=10, adapters=0, gradient_element_bytes=4, **RATES)


def test_experts_that_tensor_parallel_splits():
    # 8 experts on 4 GPUs, 32 tokens each; two matrices 10 x 20, of which a GPU has half: forward once and backward twice.
    given = dict(expert_tokens=32, experts=8, expert_intermediate=20, expert_parallel=4, **LAYER)
    half = 2 * 32 * 2 * 2 * 10 * 10 / 1000
    assert products.expert_product_seconds(**given, expert_tensor_parallel=2) == close(3 * half)
    assert products.expert_product_seconds(**given) == close(3 * 2 * half)
    assert products.expert_product_seconds(**given, gated_mlp=1) == close(3 * 3 * half)
    # For each of two experts two kernels forward, two for inputs and two for weights, and one more where half of the layers run again.
    assert products.expert_product_seconds(**given, kernel_seconds=1) == close(6 * half + 12)
    assert products.expert_product_seconds(**given, recompute=2, recomputed_share=0.5, kernel_seconds=1) == close(3.5 * 2 * half + 14)
    assert products.expert_product_seconds(**given, expert_efficiency=0.5) == close(2 * 6 * half)
    assert products.expert_product_seconds(**given | dict(adapters=1), recompute=3) == close(2 * 2 * half)
    # Torch's policy makes the up product of gate, up and down again.
    assert products.expert_product_seconds(**given, gated_mlp=1, recompute=3) == close((3 * 3 + 1) * half)
    # Two shared experts are one of twice the width, halved by tensor parallel of 2, for all 16 tokens of the GPU.
    shared = 2 * 16 * 2 * 10 * 20 / 1000
    assert products.expert_product_seconds(**given, shared_experts=2, tensor_parallel=2) == close(3 * 2 * half + 3 * shared)


def test_traffic_that_a_product_does_not_hide():
    # 16 x 10 by 10 x 20 at 1,000 FLOP/s and 1,000 bytes/s: 6.4 s beside 1.36 s in 16 bits, 1 s with inputs of 8 bits.
    given = dict(rows=16, inner=10, columns=20) | RATES | dict(bandwidth=1000, shown_traffic=1)
    assert products.product_seconds(**given) == close(6.4)
    assert products.product_seconds(**given, narrow_products=1) == close(6.4 + 1)
    assert products.product_seconds(**given | dict(shown_traffic=0), narrow_products=1) == close(6.4)
    assert products.product_seconds(**given, grouped_products=3) == close(3 * (6.4 + 1.36))


@pytest.mark.parametrize("groups, rows, columns, inner, published", [
    (1, 4096, 7168, 2048, 1025), (1, 4096, 4096, 7168, 1304), (1, 4096, 24576, 1536, 990), (1, 4096, 7168, 16384, 1358),
    (1, 4096, 32768, 512, 590), (4, 8192, 7168, 2048, 1099), (8, 4096, 4096, 7168, 1288), (8, 4096, 7168, 2048, 1093)])
def test_products_in_8_bits_that_deepgemm_published(groups, rows, columns, inner, published):
    """README @7a70b43, TFLOP/s of an H800: with traffic on top within a fifth, and no output that is hidden comes as near."""
    card = catalogue.gpu("H800 SXM 80GB")
    given = dict(rows=rows, inner=inner, columns=columns, product_peak=1979e12, units=card.units, bandwidth=card.bandwidth,
                 grouped_products=groups, narrow_products=1, compute_efficiency=card.narrow_share,
                 bandwidth_efficiency=card.memory_share, kernel_seconds=2e-6)
    measured = groups * 2 * rows * columns * inner / (published * 1e12)
    told, hidden = (products.product_seconds(**given, shown_traffic=share) / measured for share in (1, 0))
    assert 0.8 < told < 1.2 and (hidden < 1.03 if inner > 7000 else hidden < min(told, 0.8))


def test_a_model_without_experts_has_one_of_one_column():
    # Nothing divides by zero: one expert of width 1, which no layer has.
    found = products.expert_product_seconds(expert_tokens=1, **LAYER)
    assert found == close(3 * 2 * 2 * 10 / 1000)
    assert products.matrix_seconds(pace_layers=2, pace_heads=0, stage_moe_layers=0, projection_seconds=1, core_attention_seconds=2,
                                   mlp_product_seconds=3, expert_product_seconds=found, head_seconds=5) == 12


def test_tokens_of_an_expert():
    assert products.expert_tokens(16) == 1
    assert products.expert_tokens(16, 8, 2) == 4 and products.expert_tokens(16, 64, 2) == 1
    assert products.expert_tokens(16, 8, 2, tensor_parallel=2) == 2
    assert products.expert_tokens(16, 8, 2, 2, 4, 2) == 16


@pytest.mark.parametrize("level, scores, layers", [(0, 0, 0), (1, 0.5, 0), (2, 0.5, 0.5), (3, 0, 0)])
def test_the_share_of_layers_that_run_again(level, scores, layers):
    assert (products.repeated(level, 0.5, 1), products.repeated(level, 0.5)) == (scores, layers)


def test_the_stage_of_the_pace_has_no_more_sparse_layers_than_layers():
    parts = dict(projection_seconds=5, core_attention_seconds=2, mlp_product_seconds=10, expert_product_seconds=20, head_seconds=3)
    assert products.matrix_seconds(pace_layers=3, pace_heads=1, stage_moe_layers=4, **parts) == 3 * (7 + 20) + 3
    assert products.matrix_seconds(pace_layers=4, pace_heads=0, stage_moe_layers=3, **parts) == 4 * 7 + 10 + 3 * 20
    # Half of the layers are no MLP; or a dense MLP stands beside the experts.
    assert products.matrix_seconds(pace_layers=4, pace_heads=0, stage_moe_layers=1, layers=8, mlpless_layers=4, **parts) == 4 * 7 + 10 + 20
    assert products.matrix_seconds(pace_layers=4, pace_heads=0, stage_moe_layers=4, mlp_beside=1, **parts) == 4 * 37


def test_experts_on_fewer_channels():
    # 16 tokens, 10 channels narrowed to 5 and back; 2 experts of 20 without a gate take 8 tokens each.
    given = dict(expert_tokens=8, experts=2, expert_intermediate=20, **LAYER)
    assert products.expert_product_seconds(**given) == close(3 * 2 * 8 * 2 * (10 * 20 * 2) / 1000)
    assert products.expert_product_seconds(**given, expert_latent=5) == close(
        3 * 2 * (8 * 2 * (5 * 20 * 2) + 16 * 2 * 10 * 5) / 1000)


def test_values_narrower_than_keys():
    # 4 heads with values of 2 come out in 8 columns: 10 x 16 weights lead in and 8 x 10 out.
    given = dict(mixed_width=8, gpu_mixing_params=10 * 16 + 8 * 10, expanded_params=40, **LAYER)
    assert products.projection_seconds(**given) == close(3 * 2 * 16 * (160 + 80) / 1000)
    # Selective recompute expands latent vectors again, 40 weights of those that lead in; scores that are kept are another matter.
    assert products.projection_seconds(**given, recompute=1, flash_attention=1) == close(2 * 16 * (3 * 240 + 40) / 1000)
    assert products.projection_seconds(**given, recompute=1) == products.projection_seconds(**given)
    # Two heads: queries of 3 + 1 from 5 latent values, keys of 3 and values of 2 from 4, in half of the layers.
    assert products.expanded_params(2, 3, 0.5, 5, 4, 1, 2) == 0.5 * 2 * (5 * 4 + 4 * 5)


def test_the_gradient_of_a_weight_has_a_row_for_each_column():
    # 100 tokens are padded to 128 rows, forward and for the gradient of the input; that of the weight pads 130 columns to 256.
    given = dict(gpu_tokens=100, hidden=10, gradient_element_bytes=4, vocab=130, peak_flops=1000, units=1, bandwidth=1e9, tile_rows=128, tile_columns=256)
    whole, weight = 2 * 128 * 130 * 10 / 1000, 2 * 256 * 100 * 10 / 1000
    assert products.head_seconds(**given, adapters=0) == close(2 * whole + weight)
    assert products.head_seconds(**given, adapters=1) == close(2 * whole)


def test_a_product_is_compute_or_traffic():
    # 2 x 8 x 5 x 6 FLOP at 1,000 a second, or 8 x 5 + 5 x 6 + 8 x 6 values of 2 bytes.
    given = dict(rows=8, inner=5, columns=6, **RATES)
    assert products.product_seconds(**given) == close(0.48)
    assert products.product_seconds(**given, compute_efficiency=0.5, kernel_seconds=1) == close(1.96)
    assert products.product_seconds(**given | dict(bandwidth=10), bandwidth_efficiency=0.5) == close((40 + 30 + 48) * 2 / 5)
    # In 8 bits both inputs are half as wide, the output is not.
    assert products.product_seconds(**given | dict(bandwidth=10), narrow_products=1) == close((70 + 2 * 48) / 10)
    assert products.product_seconds(**given, grouped_products=3) == close(3 * 0.48)


def test_the_sum_of_gradients_is_read_and_written():
    # 16 tokens at 10 bytes/s: both ways 10 x 50 weights of 2 bytes, tokens of 10 and 50 values in and out; the gradient's FP32
    # sum is read and written, or written once.
    head = LAYER | dict(vocab=50, peak_flops=1e9, bandwidth=10)
    del head["product_peak"]
    moved = 2 * (10 * 50 + 16 * 10 + 16 * 50) * 2 + 16 * (10 + 50) * 2
    assert products.head_seconds(**head) == close((moved + 10 * 50 * 8) / 10)
    assert products.head_seconds(**head, persistent_gradients=0) == close((moved + 10 * 50 * 4) / 10)


def test_tiles_and_waves():
    # 300 x 200 in tiles of 128 are 3 x 2, of 384 x 256; on 4 units two waves, six of eight places filled.
    given = dict(rows=300, inner=5, columns=200, product_peak=1000, units=4, bandwidth=1e9)
    assert products.product_seconds(**given) == close(2 * 5 * 384 * 256 / 1000 * 8 / 6)
    # Four of them in one kernel: 24 tiles in 6 full waves.
    assert products.product_seconds(**given, grouped_products=4) == close(4 * 2 * 5 * 384 * 256 / 1000)
    # Two tiles on four units: split along the inner dimension.
    assert products.product_seconds(**given | dict(rows=100, columns=256)) == close(2 * 5 * 128 * 256 / 1000)


def test_products_of_a_layer():
    # 16 tokens; 4 query and 2 key-value heads of 3: into 12 + 2 x 6 columns, out of 12. Forward once, backward twice.
    given, attention = LAYER, dict(mixed_width=12, gpu_mixing_params=10 * 24 + 12 * 10, expanded_params=0)
    flops = 2 * 16 * (10 * 24 + 12 * 10)
    assert products.projection_seconds(**given, **attention) == close(3 * flops / 1000)
    assert products.projection_seconds(**given | dict(adapters=1), **attention, recompute=2) == close(3 * flops / 1000)
    assert products.projection_seconds(**given, **attention, recompute=2, recomputed_share=0.5, kernel_seconds=1) == close(
        3.5 * flops / 1000 + 2 * 3.5)
    # Of query, key, value and output torch's policy makes two again, of gate, up and down one.
    assert products.projection_seconds(**given, **attention, recompute=3) == close(3.5 * flops / 1000)
    # Gate and up 10 x 20 each, down 20 x 10, halved by tensor parallel.
    assert products.mlp_product_seconds(**given, intermediate=20, gated_mlp=1, tensor_parallel=2, recompute=3) == close(
        (3 * 3 + 1) * 2 * 16 * 10 * 20 / 2 / 1000)
    # The head, in 16 bits whatever the layers do.
    head = LAYER | dict(vocab=50, peak_flops=500)
    del head["product_peak"]
    assert products.head_seconds(**head, tensor_parallel=2) == close(3 * 2 * 16 * 10 * 25 / 500)
    assert products.head_seconds(**head | dict(adapters=1), clock_share=0.5) == close(2 * 2 * 16 * 10 * 50 / 250)


@pytest.mark.parametrize("recompute, flash, passes", [
    (0, 0, 3), (1, 0, 4), (2, 0, 4), (3, 0, 3), (0, 1, 3.5), (1, 1, 3.5), (2, 1, 4.5), (3, 1, 3.5)])
def test_attention_runs_in_16_bits(recompute, flash, passes):
    share = 0.25 if flash else 0.5
    given = dict(gpu_tokens=11, attention_token_flops=20, peak_flops=1000, tensor_parallel=2)
    assert products.core_attention_seconds(**given, recompute=recompute, flash_attention=flash, attention_efficiency=0.25,
                                           compute_efficiency=0.5) == close(11 * passes * 20 / (2 * 1000 * share))
