"""Linear layers by hand, as their modules are built: parameters, state and work of one of each kind."""
import pytest

from gpucalc import Case, linear_layers as ll

# Hidden 10; keys 2 heads of 3, values 4 heads of 5, so 6 and 20 channels; 2 x 6 + 20 = 32 pass the convolution of 4.
HEADS = dict(linear_key_heads=2, linear_value_heads=4, linear_key_dim=3, linear_value_dim=5, conv_kernel=4)


def test_parameters_of_a_layer_by_hand():
    # Gated delta: to 32 channels, a gate of 20 and two numbers a head, 10 x 60; convolution 128, output 200, two vectors of a
    # number a head, 8, and a norm of one head, 5.
    assert ll.linear_params(10, **HEADS) == 600 + 128 + 200 + 8 + 5 == 941
    # Mamba-2: one number a head, 10 x 56; the convolution has a bias, 160; three vectors, 12; a norm of all values, 20.
    assert ll.linear_params(10, **HEADS, state_space=1) == 560 + 160 + 200 + 12 + 20 == 952
    # Kimi: to 32 channels, twice to a rank of 7 and a number a head, 10 x 50; from the rank to 6 decays and 20 gates, 182; output
    # and convolution as before; a number a head, a bias of 6 decays, a norm of 5.
    assert ll.linear_params(10, **HEADS, decay_rank=7) == 500 + 182 + 200 + 128 + 4 + 6 + 5 == 1025


def test_what_a_sequence_keeps_by_hand():
    # Three layers: 4 states of 3 x 5 numbers of 4 bytes, 240, and the last 3 inputs of 32 channels of 2 bytes, 192.
    assert ll.recurrent_bytes(3, **HEADS, state_element_bytes=4, activation_element_bytes=2) == 3 * 432 == 1296
    assert ll.recurrent_bytes(3, **HEADS | dict(conv_kernel=0), state_element_bytes=4) == 3 * 240
    assert ll.recurrent_bytes() == 0


def test_work_of_a_token_with_the_state_by_hand():
    # Three layers of 4 x 15 numbers, each decays (1), is read by the key (2), takes in (2) and is read by the query (2).
    assert ll.recurrent_flops(3, 4, 3, 5) == 180 * 7 == 1260
    assert ll.recurrent_flops(3, 4, 3, 5, state_space=1) == 180 * 5


@pytest.mark.parametrize("model, state", [
    # 36 layers of 32 x 128 x 128 in FP32 and 3 x 8,192 in BF16; 24 of 128 x 128 x 64 and 3 x (2 x 8 x 128 + 8,192).
    ("Qwen3-Next-80B-A3B", 36 * (2_097_152 + 49_152)), ("Nemotron-H-8B", 24 * (4_194_304 + 61_440)),
    # 20 of 32 x 128 x 128 and 3 x 12,288.
    ("Kimi-Linear-48B-A3B", 20 * (2_097_152 + 73_728))])
def test_states_of_models(model, state):
    assert Case(model=model)(ll.recurrent_bytes) == state
