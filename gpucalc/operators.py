"""The operators of one pass over a model: FLOP, bytes and kernels of each, in all layers together.

Projections of one input are one product, every other step is a kernel of its own, and attention never writes its scores.
"""
from . import arithmetic_intensity as ai
from .explanation import evaluate
from .kv_cache import kv_bytes
from .model_size import attention_params, mlp_params, norm_params, read_params


def decode_operators(model, batch, context, cache_element_bytes=2, **widths):
    """Operators of one decode step as dicts; `widths` are weight_element_bytes and activation_element_bytes."""
    pairs, pair_flops = evaluate(ai.decode_pairs, model, context=context), evaluate(ai.decode_pair_flops, model)
    cache = evaluate(kv_bytes, model, batch=batch, context=context, cache_element_bytes=cache_element_bytes)
    latents = 2 * model.heads * model.kv_lora_rank
    return _operators(model, batch, batch, latents, dict(pairs=pairs, pair_flops=pair_flops), cache, **widths)


def prefill_operators(model, batch, prompt, causal=1, cache_element_bytes=2, **widths):
    """Operators of a prefill as dicts; the output head works on the last token of each sequence alone."""
    pairs, pair_flops = evaluate(ai.prefill_pairs, model, prompt=prompt, causal=causal), evaluate(ai.prefill_pair_flops, model)
    cache = evaluate(kv_bytes, model, batch=batch, context=prompt, cache_element_bytes=cache_element_bytes)
    expanded = model.heads * (model.head_dim + model.value_head_dim)
    return _operators(model, batch * prompt, batch, expanded, dict(pairs=pairs, pair_flops=pair_flops), cache, **widths)


def _operators(model, tokens, sequences, expanded, scores, cache, weight_element_bytes=2, activation_element_bytes=2):
    """`expanded`: values of a token and layer that latent attention makes of the latents, for scores and values to read."""
    hidden, layers, sparse, norms = model.hidden, model.layers, model.moe_layers, model.norms_per_layer + model.qk_norm
    queries = model.heads * (model.head_dim + model.rope_head_dim)
    if model.kv_lora_rank:
        keys, outputs, products = model.kv_lora_rank + model.rope_head_dim, model.heads * model.value_head_dim, 4
        turned, made = (model.heads + 1) * model.rope_head_dim, 2 * model.q_lora_rank + model.kv_lora_rank + expanded
    else:
        keys, outputs, products = 2 * model.kv_heads * model.head_dim, queries, 1
        turned, made, expanded = queries + model.kv_heads * model.head_dim, 0, 0
    output = hidden * (outputs + model.output_bias)
    expert = (2 + model.gated_mlp) * hidden * model.expert_intermediate
    touched = evaluate(read_params, model, batch=tokens) - model.params + sparse * model.experts * expert

    def moved(operator, kernels, through, values):
        return dict(operator=operator, kernels=kernels, tokens=through, moved_values=values,
                    activation_bytes=through * values * activation_element_bytes)

    def weights(operator, count, kernels, params, values, through=tokens, read=None):
        read = count * params if read is None else read
        return moved(operator, count * kernels, through, count * values) | dict(
            used_params=count * params, touched_params=read, operator_flops=ai.operator_flops(through, count * params),
            operator_bytes=ai.operator_bytes(through, read, count * values, weight_element_bytes, activation_element_bytes))

    def mlp(width):
        return 2 * hidden + (4 + 2 * model.gated_mlp) * width

    attended = layers * (2 * turned + queries + expanded + outputs)
    rows = [
        weights("embedding", 1, 1, 0, 2 * hidden),
        weights("norms and residual sums", layers, norms + 2, evaluate(norm_params, model), (2 * norms + 6) * hidden),
        weights("queries, keys, values", layers, products, evaluate(attention_params, model) - output,
                hidden + queries + keys + made),
        moved("scores and values", 3 * layers, tokens, attended) | dict(
            operator_flops=ai.attention_flops(sequences, **scores),
            operator_bytes=ai.attention_bytes(cache, tokens, attended, activation_element_bytes)),
        weights("output projection", layers, 1, output, outputs + hidden),
        weights("MLP", layers - sparse, 3, evaluate(mlp_params, model), mlp(model.intermediate)),
        weights("router", sparse, 1, model.experts * (hidden + model.router_bias) + model.shared_gate * hidden,
                hidden + model.experts),
        weights("shared experts", sparse, 3, model.shared_experts * expert,
                model.shared_experts * mlp(model.expert_intermediate)),
        weights("routed experts", sparse, 3, model.experts_per_token * expert,
                model.experts_per_token * mlp(model.expert_intermediate), read=touched),
        weights("final norm", 1, 1, model.norm_vectors * hidden, 2 * hidden),
        weights("output head", 1, 1, evaluate(ai.head_params, model), hidden + model.vocab, through=sequences),
    ]
    return [row for row in rows if row["kernels"] and row["moved_values"]]
