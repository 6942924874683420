"""The operators of one pass over a model: FLOP, bytes and kernels of each, in all layers together.

What lies beside products and attention is counted by the laws in `kernels`; here the products' own inputs and outputs, and
those of attention, are added.
"""
from typing import NamedTuple

from gpucalc.laws import arithmetic_intensity as ai
from gpucalc.laws import kernels
from gpucalc.laws.kv_cache import kv_bytes, read_kv_bytes
from gpucalc.laws.linear_layers import linear_params, recurrent_bytes, recurrent_flops
from gpucalc.laws.model_size import (attention_layers, expert_params, mixing_params, mlp_layers, mlp_params, norm_params,
                                     read_params)


def decode_operators(case):
    """Operators of one decode step of a case with model, batch and context, as dicts."""
    model, batch = case.rows["model"], case.inputs["batch"]
    states = 2 * batch * case(recurrent_bytes)
    cached = (case(ai.token_attention_flops) - case(recurrent_flops), case(read_kv_bytes) - states, states)
    return _Pass(case, batch, batch, _values(model, 2 * model.heads * model.kv_lora_rank), *cached).operators()


def prefill_operators(case):
    """Operators of a prefill of a case with model, batch and prompt; the head works on the last token of each sequence alone."""
    case, model, batch = case.but(context=case.inputs["prompt"]), case.rows["model"], case.inputs["batch"]
    states = batch * case(recurrent_bytes)
    cached = (case(ai.prefill_pairs) * case(ai.prefill_pair_flops) + case(ai.prompt_index_flops), case(kv_bytes) - states, states)
    expanded = model.heads * (model.head_dim + model.value_head_dim)
    return _Pass(case, batch * case.inputs["prompt"], batch, _values(model, expanded), *cached).operators()


class _Values(NamedTuple):
    """Values of a token in one layer around attention."""

    queries: int
    keys: int
    outputs: int
    made: int      # on the way to queries and keys
    expanded: int  # of the latents, for scores and values to read


def _values(model, expanded):
    queries = model.heads * (model.head_dim + model.rope_head_dim)
    if not model.kv_lora_rank:
        keys = model.kv_heads * model.head_dim
        return _Values(queries, 2 * keys, queries, 0, 0)
    return _Values(queries, model.kv_lora_rank + model.rope_head_dim, model.heads * model.value_head_dim,
                   2 * model.q_lora_rank + model.kv_lora_rank + expanded, expanded)


class _Pass:
    """`tokens` go through all layers, `sequences` of them through the head; `scored` is the FLOP of attention of one sequence,
    `cached` and `states` are the bytes that are moved of the caches and states of all."""

    def __init__(self, case, tokens, sequences, values, scored, cached, states):
        self.case, self.model, self.tokens, self.sequences = case, case.rows["model"], tokens, sequences
        self.values, self.scored, self.cached, self.states = values, scored, cached, states
        given = {name: case.inputs[name] for name in ai.operator_bytes.defaults if name in case.inputs}
        self.widths = ai.operator_bytes.defaults | given

    def operators(self):
        rows = [self.weights("embedding", 1, 1, 0, 2 * self.model.hidden), self.norms(), *self.attention(), *self.linear(),
                *self.mlps(),
                self.beside("casts to 8 bits", 2 * self.model.layers * self.case(kernels.blocks_per_layer),
                            1.5 * self.case(kernels.cast_values)),
                self.weights("final norm", 1, 1, self.model.norm_vectors * self.model.hidden, 2 * self.model.hidden),
                self.weights("output head", 1, 1, self.case(ai.head_params), self.model.hidden + self.model.vocab,
                             through=self.sequences)]
        return [row for row in rows if row["kernels"] and row["moved_values"]]

    def beside(self, operator, count, values):
        """An operator of `count` kernels without weights, that moves values and computes next to nothing."""
        row = self.moved(operator, count, self.tokens, values)
        return row | dict(operator_flops=0, operator_bytes=row["activation_bytes"])

    def moved(self, operator, kernels, through, values):
        return dict(operator=operator, kernels=kernels, tokens=through, moved_values=values,
                    activation_bytes=through * values * self.widths["activation_element_bytes"])

    def weights(self, operator, count, kernels, params, values, through=None, read=None):
        """An operator that is there `count` times, with as many parameters and moved values each; `read` in all, else all."""
        through, read = through or self.tokens, count * params if read is None else read
        return self.moved(operator, count * kernels, through, count * values) | dict(
            used_params=count * params, touched_params=read, operator_flops=ai.operator_flops(through, count * params),
            operator_bytes=ai.operator_bytes(through, read, count * values, **self.widths))

    def norms(self):
        model, blocks = self.model, self.model.layers * self.case(kernels.blocks_per_layer)
        count = model.layers * model.norms_per_layer + self.case(attention_layers) * model.qk_norm + blocks
        return self.weights("norms and residual sums", 1, count, model.layers * self.case(norm_params),
                            self.case(kernels.norm_values))

    def attention(self):
        model, values, layers = self.model, self.values, self.case(attention_layers)
        output = model.hidden * (values.outputs + model.output_bias)
        attended = layers * (values.queries + values.expanded + values.outputs)
        mixing = self.case(mixing_params) - model.linear_layers * self.case(linear_params)
        return [
            self.weights("queries, keys, values", layers, self.case(kernels.attention_products) - 1, mixing / layers - output,
                         model.hidden + values.queries + values.keys + values.made),
            self.beside("rotary positions, cache write", 2 * layers, self.case(kernels.turned_values)),
            self.moved("scores and values", layers, self.tokens, attended) | dict(
                operator_flops=ai.attention_flops(self.sequences, 1, self.scored), operator_bytes=ai.attention_bytes(
                    self.cached, self.tokens, attended, self.widths["activation_element_bytes"])),
            self.weights("output projection", layers, 1, output, values.outputs + model.hidden)]

    def linear(self):
        """Layers with a state: their products, and the states."""
        model = self.model
        keys, values = model.linear_key_heads * model.linear_key_dim, model.linear_value_heads * model.linear_value_dim
        mixed = model.linear_layers * (2 * keys + 2 * values)
        return [
            self.weights("linear layers", model.linear_layers, 2, self.case(linear_params),
                         2 * model.hidden + 2 * keys + 3 * values),
            self.moved("states", 2 * model.linear_layers, self.tokens, mixed) | dict(
                operator_flops=self.tokens * self.case(recurrent_flops), operator_bytes=ai.attention_bytes(
                    self.states, self.tokens, mixed, self.widths["activation_element_bytes"]))]

    def mlps(self):
        model, sparse = self.model, self.model.moe_layers
        expert, dense = self.case(expert_params), self.case(mlp_layers)
        narrow = 2 * model.hidden * model.expert_latent
        router = model.experts * (model.hidden + model.router_bias) + model.shared_gate * model.hidden + narrow
        every = (2 + model.gated_mlp) * model.hidden * model.expert_intermediate
        touched = self.case.but(batch=self.tokens)(read_params) - model.params + sparse * model.experts * expert
        shared, routed = model.shared_experts, model.experts_per_token
        inner = self.product_values(model.expert_intermediate)
        return [
            self.weights("MLP", dense, 2, self.case(mlp_params), self.product_values(model.intermediate)),
            self.weights("router", sparse, 2, router, model.hidden + model.experts),
            self.beside("to experts and back", 2 * sparse, self.case(kernels.routed_values)),
            self.weights("shared experts", sparse, 3, shared * every, shared * inner),
            self.weights("routed experts", sparse, 2, routed * expert, routed * inner, read=touched),
            self.beside("activation functions", dense + sparse * (1 + (shared > 0)), self.case(kernels.activated_values))]

    def product_values(self, width):
        """Inputs and outputs of an MLP's products."""
        return 2 * self.model.hidden + (2 + self.model.gated_mlp) * width
