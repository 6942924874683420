"""The operators of one pass over a model: FLOP, bytes and kernels of each, in all layers together.

Projections of one input are one product, every other step is a kernel of its own, and attention never writes its scores.
"""
from typing import NamedTuple

from ..laws import arithmetic_intensity as ai
from ..laws.kv_cache import kv_bytes
from ..laws.model_size import attention_params, mlp_params, norm_params, read_params


def decode_operators(case):
    """Operators of one decode step of a case with model, batch and context, as dicts."""
    model, batch = case.rows["model"], case.inputs["batch"]
    scores = dict(pairs=case(ai.decode_pairs), pair_flops=case(ai.decode_pair_flops))
    return _Pass(case, batch, batch, _values(model, 2 * model.heads * model.kv_lora_rank), scores).operators()


def prefill_operators(case):
    """Operators of a prefill of a case with model, batch and prompt; the head works on the last token of each sequence alone."""
    case, model, batch = case.but(context=case.inputs["prompt"]), case.rows["model"], case.inputs["batch"]
    scores = dict(pairs=case(ai.prefill_pairs), pair_flops=case(ai.prefill_pair_flops))
    expanded = model.heads * (model.head_dim + model.value_head_dim)
    return _Pass(case, batch * case.inputs["prompt"], batch, _values(model, expanded), scores).operators()


class _Values(NamedTuple):
    """Values of a token in one layer around attention, and products that make its queries, keys and values."""

    queries: int
    keys: int
    outputs: int
    turned: int    # by their position
    made: int      # on the way to queries and keys
    expanded: int  # of the latents, for scores and values to read
    products: int


def _values(model, expanded):
    queries = model.heads * (model.head_dim + model.rope_head_dim)
    if not model.kv_lora_rank:
        keys = model.kv_heads * model.head_dim
        return _Values(queries, 2 * keys, queries, queries + keys, 0, 0, 1)
    return _Values(queries, model.kv_lora_rank + model.rope_head_dim, model.heads * model.value_head_dim,
                   (model.heads + 1) * model.rope_head_dim, 2 * model.q_lora_rank + model.kv_lora_rank + expanded, expanded, 4)


class _Pass:
    """`tokens` go through all layers, `sequences` of them through the head; `scores` are pairs of tokens and FLOP of each."""

    def __init__(self, case, tokens, sequences, values, scores):
        self.case, self.model, self.tokens, self.sequences = case, case.rows["model"], tokens, sequences
        self.values, self.scores = values, scores
        given = {name: case.inputs[name] for name in ai.operator_bytes.defaults if name in case.inputs}
        self.widths = ai.operator_bytes.defaults | given

    def operators(self):
        rows = [self.weights("embedding", 1, 1, 0, 2 * self.model.hidden), self.norms(), *self.attention(), *self.mlps(),
                self.weights("final norm", 1, 1, self.model.norm_vectors * self.model.hidden, 2 * self.model.hidden),
                self.weights("output head", 1, 1, self.case(ai.head_params), self.model.hidden + self.model.vocab,
                             through=self.sequences)]
        return [row for row in rows if row["kernels"] and row["moved_values"]]

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
        norms = self.model.norms_per_layer + self.model.qk_norm
        return self.weights("norms and residual sums", self.model.layers, norms + 2, self.case(norm_params),
                            (2 * norms + 6) * self.model.hidden)

    def attention(self):
        model, values = self.model, self.values
        output = model.hidden * (values.outputs + model.output_bias)
        attended = model.layers * (2 * values.turned + values.queries + values.expanded + values.outputs)
        return [
            self.weights("queries, keys, values", model.layers, values.products, self.case(attention_params) - output,
                         model.hidden + values.queries + values.keys + values.made),
            self.moved("scores and values", 3 * model.layers, self.tokens, attended) | dict(
                operator_flops=ai.attention_flops(self.sequences, **self.scores), operator_bytes=ai.attention_bytes(
                    self.case(kv_bytes), self.tokens, attended, self.widths["activation_element_bytes"])),
            self.weights("output projection", model.layers, 1, output, values.outputs + model.hidden)]

    def mlps(self):
        model, sparse = self.model, self.model.moe_layers
        expert = (2 + model.gated_mlp) * model.hidden * model.expert_intermediate
        router = model.experts * (model.hidden + model.router_bias) + model.shared_gate * model.hidden
        touched = self.case.but(batch=self.tokens)(read_params) - model.params + sparse * model.experts * expert
        shared, routed = model.shared_experts, model.experts_per_token
        return [
            self.weights("MLP", model.layers - sparse, 3, self.case(mlp_params), self.mlp_values(model.intermediate)),
            self.weights("router", sparse, 1, router, model.hidden + model.experts),
            self.weights("shared experts", sparse, 3, shared * expert, shared * self.mlp_values(model.expert_intermediate)),
            self.weights("routed experts", sparse, 3, routed * expert, routed * self.mlp_values(model.expert_intermediate),
                         read=touched)]

    def mlp_values(self, width):
        return 2 * self.model.hidden + (4 + 2 * self.model.gated_mlp) * width
