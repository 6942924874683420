"""Kernels of a pass and how its products fill a GPU, by hand."""

from gpucalc.laws import kernels
from tests.close import close

TILES = dict(tile_rows=4, tile_columns=8, units=8, compute_efficiency=0.5)
MOE = dict(moe_layers=1, experts=8, experts_per_token=2, expert_intermediate=20)


def test_products_of_an_mlp_fill_a_gpu():
    # 16 tokens by 2 x 20 / 2 columns are 4 x 3 tiles of 32, 12 of 16 places: 320 / 384 x 3/4 = 5/8. By 10 they are 8: 160 / 256.
    dense = dict(hidden=10, intermediate=20, gated_mlp=1, tensor_parallel=2, **TILES)
    assert kernels.pass_fill(16, **dense) == close(5 / 8) == kernels.prompt_fill(16, **dense)
    # On 12 units one full wave, 5/6, and 8 tiles, which are split, 5/8. Two thirds of the work are in the first.
    assert kernels.pass_fill(16, **dense | dict(units=12)) == close(3 / (2 / (5 / 6) + 8 / 5))
    # Without the gate 10 columns: 8 tiles, as on the way down.
    assert kernels.pass_fill(16, **dense | dict(gated_mlp=0)) == close(5 / 8)
    # 12 tokens and a chunk of 4; a bound fills all.
    assert kernels.pass_fill(12, **dense, chunk=4) == close(5 / 8)
    assert kernels.pass_fill(16, **dense | dict(compute_efficiency=1)) == 1


def test_products_of_experts_lie_side_by_side():
    # 16 tokens to 2 of 8 experts: 4 rows each. Up 8 x 20 columns: 20 tiles of 24 places. Down 8 x 10: 10 of 16.
    given = dict(hidden=10, intermediate=999, gated_mlp=1, tensor_parallel=2, **MOE, **TILES)
    assert kernels.pass_fill(16, **given) == close(3 / (2 / (5 / 6) + 1 / (5 / 8))) == close(0.75)
    assert kernels.prompt_fill(16, **given) == close(0.75)
    # Without the gate 10 columns a piece, 10 of 16 both ways.
    assert kernels.pass_fill(16, **given | dict(gated_mlp=0)) == close(5 / 8)


def test_experts_of_a_part_of_the_gpus():
    # On each of 4 attention groups 2 of 8 experts, with 4 x 16 / 8 x 2 = 16 tokens each: 20 tiles up of 24 places, and 12 of 16 down.
    given = dict(hidden=10, intermediate=999, gated_mlp=1, tensor_parallel=2, attention_parallel=4, **MOE, **TILES)
    up, down = 16 * 40 / (4 * 5 * 32) * 20 / 24, 16 * 20 / (4 * 3 * 32) * 12 / 16
    assert kernels.pass_fill(16, **given) == close(3 / (2 / up + 1 / down))
    # 8 sequences with one drafted each, 4 of them and a chunk of 8.
    assert kernels.pass_fill(8, **given, drafted=1) == kernels.pass_fill(16, **given)
    assert kernels.mixed_fill(4, **given, drafted=1, mixed_tokens=8) == kernels.pass_fill(16, **given)


def test_a_gpu_has_one_expert_at_least():
    # 2 experts among 4 groups: one on each, with 1 x 2 rows. Up 20 columns, 3 tiles of 2 x 8; down 10, two; fewer than 8 units are split.
    given = dict(hidden=10, intermediate=999, gated_mlp=1, tensor_parallel=2, attention_parallel=4, **MOE | dict(experts=2), **TILES)
    assert kernels.pass_fill(1, **given) == close(3 / (2 / (20 / 24) + 1 / (10 / 16)))


def test_kernels_of_a_pass():
    assert kernels.kernels_per_layer(1, 2, 2, 1) == 9 and kernels.kernels_per_layer(1, 2) == 8
    assert [kernels.attention_products(rank) for rank in (0, 1, 512)] == [2, 5, 5]
    assert [kernels.products_per_layer(products, 1) for products in (2, 5)] == [4, 7]
    given = dict(layers=10, kernels_per_layer=8, products_per_layer=4, blocks_per_layer=2)
    assert kernels.pass_kernels(**given) == 123
    assert kernels.pass_kernels(**given, moe_layers=3) == 135 and kernels.pass_kernels(**given, moe_layers=3, shared_experts=1) == 147
    assert kernels.pass_kernels(**given, narrow_products=1) == 163
    assert kernels.launch_seconds(123, 2e-6) == close(246e-6) and kernels.launch_seconds(123) == 0


def test_kernels_of_layers_of_several_kinds():
    # Four layers: one of attention, two linear, one an MLP; three without an MLP. A norm and a sum each, rotary positions, cache
    # write, attention, twice a convolution and a state, an activation: 14. Products: 2, 4 and 2.
    kinds = dict(layers=4, linear_layers=2, mlpless_layers=3)
    assert kernels.blocks_per_layer(4, 1, 3) == 1 and kernels.blocks_per_layer(4, 1) == 1.75
    assert kernels.kernels_per_layer(1 / 4, 1, 1, **kinds) == (4 + 4 + 3 + 4 + 1) / 4
    assert kernels.products_per_layer(2, 1 / 4, **kinds) == 8 / 4


def test_values_that_a_token_moves():
    assert kernels.norm_values(10, 3, 1, 2, 2) == 3 * (2 * 2 + 6) * 10 and kernels.norm_values(10, 3, 1, 2, 4, 1) == 3 * 16 * 10
    assert kernels.norm_values(10, 4, 0.25, 1, 1, 1) == 4 * (2 * 1.25 + 3) * 10
    assert kernels.turned_values(3, 8, 2, 4) == 2 * 3 * 10 * 4
    assert kernels.turned_values(3, 8, 2, 4, 1, 6) == 2 * 3 * 9 * 6
    assert kernels.passed_width(5, 100) == 500
    assert kernels.passed_width(2, 100, 3, 2, 1, 10) == 2 * 100 + 3 * 3 * 10
    assert kernels.activated_values(90) == 180 and kernels.activated_values(90, 1) == 270
    assert kernels.routed_values(10) == 0 and kernels.routed_values(10, 3, 2) == 3 * 2 * 3 * 10
    assert kernels.routed_values(10, 3, 2, 4) == 3 * 2 * 3 * 4
    assert kernels.cast_values(10, 3, 32, 90, 2) == 0
    assert kernels.cast_values(10, 3, 32, 90, 2, 1) == 60 + 96 + 90
    assert kernels.cast_values(10, 3, 48, 90, 2, 1, 2) == 60 + (144 + 90) / 2
    assert kernels.token_bytes(100, 40, 60, 20, 10, 7, tensor_parallel=2, narrow_products=1) == (120 + 50 + 15) * 2
    assert kernels.token_bytes(100, 40, 60, 20, 10, 7, narrow_products=1, activation_element_bytes=4) == (220 + 15) * 4
    assert kernels.token_bytes(100, 40, 60, 20, 10, 7, 2, 2, 2) == (120 + 57 + 12.5) * 2
