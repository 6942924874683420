"""Layers whose cache is a state of fixed size: linear attention with a gated delta rule, Kimi's, the state-space model Mamba-2.

All keep, for each value head, a matrix of key size x value size. Mamba-2 (arXiv 2405.21060) is one of them: its groups are key
heads, its state size is the size of a key.
"""
from ..core.arithmetic import where
from ..core.law import law


def _channels(key_heads, value_heads, key_dim, value_dim):
    """Queries, keys and values, which a short convolution passes over."""
    return 2 * key_heads * key_dim + value_heads * value_dim


@law
def linear_params(hidden, linear_key_heads=0, linear_value_heads=0, linear_key_dim=0, linear_value_dim=0, conv_kernel=0,
                  state_space=0, decay_rank=0, full_rank_gate=0):
    """Projections, convolution, gates and norm of one layer (count).

    Gated DeltaNet (arXiv 2412.06464) as in Qwen3-Next, Mamba-2 as in Nemotron-H: transformers, modeling_qwen3_next.py and
    modeling_nemotron_h.py. Kimi Linear (arXiv 2510.26692): decay and output gate of low rank, used where `decay_rank` is above 0.
    The gate of Kimi-K3 has full rank: vllm-project/vllm, vllm/models/kimi_k3/nvidia/kda.py.
    """
    keys, values = linear_key_heads * linear_key_dim, linear_value_heads * linear_value_dim
    channels = _channels(linear_key_heads, linear_value_heads, linear_key_dim, linear_value_dim)
    gated = (hidden * (channels + values + (2 - state_space) * linear_value_heads) + (2 + state_space) * linear_value_heads
             + where(state_space > 0, values, linear_value_dim))
    gate = where(full_rank_gate > 0, hidden * values, decay_rank * (hidden + values))
    kimi = (hidden * (channels + decay_rank + linear_value_heads) + decay_rank * keys + gate + linear_value_heads + keys
            + linear_value_dim)
    return channels * (conv_kernel + state_space) + values * hidden + where(decay_rank > 0, kimi, gated)


@law
def recurrent_bytes(linear_layers=0, linear_key_heads=0, linear_value_heads=0, linear_key_dim=0, linear_value_dim=0,
                    conv_kernel=0, state_element_bytes=0, activation_element_bytes=...):
    """What all linear layers keep of one sequence, however long (bytes): the state, and the last inputs of the convolution.

    vllm-project/vllm, vllm/model_executor/layers/mamba/mamba_utils.py.
    """
    state = linear_value_heads * linear_key_dim * linear_value_dim * state_element_bytes
    channels = _channels(linear_key_heads, linear_value_heads, linear_key_dim, linear_value_dim)
    return linear_layers * (state + where(conv_kernel > 0, conv_kernel - 1, 0) * channels * activation_element_bytes)


@law
def recurrent_flops(linear_layers=0, linear_value_heads=0, linear_key_dim=0, linear_value_dim=0, state_space=0):
    """FLOP of a token with the state, over all linear layers (count): it decays, takes in a key and value, is read by a query.

    An element takes 1, 2 and 2; the delta rule reads it once more, by the key. Gated DeltaNet (arXiv 2412.06464, section 3).
    """
    return linear_layers * linear_value_heads * linear_key_dim * linear_value_dim * (7 - 2 * state_space)
