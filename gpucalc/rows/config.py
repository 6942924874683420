"""A Hugging Face config.json as a row like those of data/models.csv. Each architecture says which fields it reads.

A field that is missing has a default only where the class of that architecture in transformers gives it one. A field that
would change the architecture in a way the laws do not count is refused by name.
"""
from pathlib import Path

from ..core.evaluate import Case, Row
from ..laws.model_size import params
from .files import hidden, shortened
from .json_fields import NEEDED, Fields

_TEXT = ["family", "attention", "unit", "source", "date", "confidence", "note"]
_OFF: tuple = (None, False, 0, "", [], {})
_LONGEST_NAME = 300
# Fields that change parameters or cache. An architecture that does not read one of them must not have it switched on.
_SHAPING = (
    "head_dim num_key_value_heads num_kv_heads n_head_kv multi_query new_decoder_architecture parallel_attn "
    "attention_bias qkv_bias use_qkv_bias mlp_bias bias use_bias enable_bias lm_head_bias qk_norm use_qk_norm qk_layernorm "
    "sliding_window use_sliding_window layer_types num_kv_shared_layers word_embed_proj_dim "
    "num_local_experts num_experts n_routed_experts n_shared_experts num_shared_experts num_experts_per_tok "
    "moe_intermediate_size shared_expert_intermediate_size mlp_only_layers decoder_sparse_step first_k_dense_replace "
    "moe_layer_freq q_lora_rank kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim num_nextn_predict_layers "
    "add_cross_attention is_encoder_decoder pruned_heads vision_config audio_config text_config").split()


def read(path, columns):
    """The model in the file as a row of the given columns: architecture, exact `params`, and the file as source.

    Raises ValueError naming the file, the field, its value and what is allowed.
    """
    path = Path(path)
    fields = Fields(path)
    model_type = fields.choice("model_type", *FAMILIES)
    _check_head(fields)
    architecture = FAMILIES[model_type](fields)
    _refuse_others(fields, model_type)
    row = {**{column: 0 for column in columns if column not in _TEXT}, "note": "", **architecture}
    row |= {"family": "MoE" if row["moe_layers"] else "dense", "attention": _attention(**row), "unit": "count, tokens",
            "source": f"Hugging Face config {shortened('/'.join(path.absolute().parts[-2:]))}", "date": "", "confidence": "seen"}
    row["params"] = Case({name: value for name, value in row.items() if name != "params"})(params)
    extra = [name for name in row if name not in columns]
    return Row({name: row[name] for name in columns + extra}, _name(fields, path), "model")


def _refuse_others(c, model_type):
    for name in _SHAPING:
        if name not in c.seen and c.fields.get(name) not in _OFF:
            raise c.bad(name, f"none for {model_type}, which does not have it")


def _check_head(c):
    """A language model: its output head is one of the parameters that are counted."""
    classes = c.get("architectures")
    heads = ("ForCausalLM", "LMHeadModel")
    if classes is not None and not (isinstance(classes, list) and all(str(each).endswith(heads) for each in classes)):
        raise c.bad("architectures", f"a list of classes that end in {' or '.join(heads)}")


def _name(c, path):
    name = c.get("_name_or_path")
    if not isinstance(name, str) or not name.strip():
        return shortened(path.stem)
    if hidden(name) or len(name) > _LONGEST_NAME:
        raise c.bad("_name_or_path", f"at most {_LONGEST_NAME} characters, none of them control or invisible")
    return name


def _attention(heads, kv_heads, kv_lora_rank, **_):
    if kv_lora_rank:
        return "MLA"
    return "MHA" if heads == kv_heads else "MQA" if kv_heads == 1 else "GQA"


def _sizes(c, tied, layers="num_hidden_layers", hidden="hidden_size", heads="num_attention_heads",
           context="max_position_embeddings", no_context=NEEDED):
    """What every architecture has. transformers ties the embeddings unless the class says otherwise: `tied`."""
    return dict(layers=c.count(layers), hidden=c.count(hidden), heads=c.count(heads), vocab=c.count("vocab_size"),
                max_context=c.count(context, missing=no_context), tied_embeddings=c.flag("tie_word_embeddings", tied),
                norms_per_layer=2, norm_vectors=1)


def _divided(c, hidden="hidden_size", heads="num_attention_heads"):
    """Size of a head where none is given."""
    size, rest = divmod(c.count(hidden), c.count(heads))
    if rest:
        raise c.bad(heads, f"a divisor of {hidden}, {c.count(hidden)}")
    return size


def _kv_heads(c, name="num_key_value_heads", default=False):
    """Classes with a default have a key and value head for each query head."""
    heads = c.count("num_attention_heads")
    kv_heads = c.count(name, missing=heads, null=heads) if default else c.count(name)
    if heads % kv_heads:
        raise c.bad(name, f"a divisor of num_attention_heads, {heads}")
    return kv_heads


def _gated(c, tied=False, default_kv=False, default_head=True):
    """RMSNorm, rotary positions, grouped heads and a gated MLP. The default size of a head is the width over the heads."""
    given = c.get("head_dim") is not None or not default_head
    head_dim = c.count("head_dim") if given else _divided(c)
    if head_dim % 2:
        raise c.bad("head_dim" if given else "num_attention_heads",
                    f"heads of an even size, not {head_dim}: positions are rotary")
    return dict(_sizes(c, tied), kv_heads=_kv_heads(c, default=default_kv), head_dim=head_dim,
                intermediate=c.count("intermediate_size"), gated_mlp=1)


def _biased(c):
    """Biases of the attention's projections, all four under one flag."""
    bias = c.flag("attention_bias", False)
    return dict(qkv_bias=bias, output_bias=bias)


def _windows(c, window, window_layers):
    """The layers with a window; `layer_types`, where present, names them one by one."""
    layers, types = c.count("num_hidden_layers"), c.get("layer_types")
    if types is not None:
        known = ["full_attention", "sliding_attention"] if window else ["full_attention"]
        if not isinstance(types, list) or len(types) != layers or any(each not in known for each in types):
            raise c.bad("layer_types", f"a list of {layers}, each {' or '.join(known)}")
        window_layers = types.count("sliding_attention")
    return dict(window=window, window_layers=window_layers) if window and window_layers else {}


def _all_windowed(c, **absent):
    window = c.count("sliding_window", null=0, **absent)
    return dict(window=window, window_layers=c.count("num_hidden_layers")) if window else {}


def _upper_windowed(c):
    """Qwen: windows only if switched on, and not in the first `max_window_layers`."""
    if not c.flag("use_sliding_window", False):
        c.get("sliding_window")
        return _windows(c, 0, 0)
    window, full = c.count("sliding_window"), c.count("max_window_layers", least=0)
    return _windows(c, window, max(c.count("num_hidden_layers") - full, 0))


def _llama(c):
    return dict(_gated(c, default_kv=True), **_biased(c), mlp_bias=c.flag("mlp_bias", False))


def _mistral(c):
    return dict(_gated(c), **_all_windowed(c))


def _mixtral(c):
    experts = c.count("num_local_experts")
    return dict(_gated(c), **_all_windowed(c, missing=0), moe_layers=c.count("num_hidden_layers"), experts=experts,
                experts_per_token=c.count("num_experts_per_tok", most=experts),
                expert_intermediate=c.count("intermediate_size"))


def _qwen2(c):
    return dict(_gated(c), **_upper_windowed(c), qkv_bias=1)


def _qwen3(c):
    return dict(_gated(c, default_head=False), **_biased(c), **_upper_windowed(c), qk_norm=1)


def _qwen_experts(c, dense):
    """Every so many layers have experts, but for those named as dense."""
    layers, experts = c.count("num_hidden_layers"), c.count("num_experts")
    step, plain = c.count("decoder_sparse_step", missing=1), c.get("mlp_only_layers", []) or []
    if not isinstance(plain, list) or any(type(each) is not int or not 0 <= each < layers for each in plain):
        raise c.bad("mlp_only_layers", f"a list of layers from 0 to {layers - 1}")
    sparse = {layer for layer in range(layers) if (layer + 1) % step == 0}
    return dense | dict(moe_layers=len(sparse.difference(plain)), experts=experts,
                        expert_intermediate=c.count("moe_intermediate_size"),
                        experts_per_token=c.count("num_experts_per_tok", most=experts))


def _qwen2_moe(c):
    """One wide shared expert, counted as several of the routed width, behind a gate of its own."""
    together, routed = c.count("shared_expert_intermediate_size"), c.count("moe_intermediate_size")
    shared, rest = divmod(together, routed)
    if rest:
        raise c.bad("shared_expert_intermediate_size", f"a multiple of moe_intermediate_size, {routed}")
    return _qwen_experts(c, dict(_qwen2(c), shared_experts=shared, shared_gate=1))


def _qwen3_moe(c):
    return _qwen_experts(c, _qwen3(c))


def _gemma(c):
    return dict(_gated(c, tied=True, default_head=False), **_biased(c))


def _gemma2(c):
    """A norm before and after each block; every second layer has the window, the first one included."""
    layers = c.count("num_hidden_layers")
    return _gemma(c) | _windows(c, c.count("sliding_window"), (layers + 1) // 2) | dict(norms_per_layer=4)


def _phi3(c):
    return dict(_gated(c, default_kv=True), **_all_windowed(c, missing=0))


def _phi(c):
    """Attention and MLP side by side behind one LayerNorm; biases everywhere, on the output head too."""
    return _sizes(c, tied=False) | dict(
        kv_heads=_kv_heads(c, default=True), head_dim=_divided(c), intermediate=c.count("intermediate_size"),
        norms_per_layer=1, norm_vectors=2, qkv_bias=1, output_bias=1, mlp_bias=1, head_bias=1)


def _gpt2(c):
    sizes = _sizes(c, True, "n_layer", "n_embd", "n_head", "n_positions")
    width = 4 * sizes["hidden"]
    return sizes | dict(kv_heads=sizes["heads"], head_dim=_divided(c, "n_embd", "n_head"), positions=sizes["max_context"],
                        intermediate=c.count("n_inner", missing=width, null=width), norm_vectors=2,
                        qkv_bias=1, output_bias=1, mlp_bias=1)


def _opt(c):
    """Norms before the blocks, as in all sizes but 350m; the position table has two rows more than positions."""
    sizes = _sizes(c, tied=True)
    c.choice("word_embed_proj_dim", sizes["hidden"], missing=sizes["hidden"])
    for name in ("do_layer_norm_before", "layer_norm_elementwise_affine"):
        c.choice(name, True, missing=True)
    c.choice("_remove_final_layer_norm", False, missing=False)
    bias = c.flag("enable_bias", True)
    return sizes | dict(kv_heads=sizes["heads"], head_dim=_divided(c), positions=sizes["max_context"] + 2,
                        intermediate=c.count("ffn_dim"), norm_vectors=2, qkv_bias=bias, output_bias=bias, mlp_bias=bias)


def _falcon(c):
    """`multi_query` is one key and value head; the new decoder says how many, and has two norms where blocks are parallel."""
    sizes = _sizes(c, tied=True, no_context=2048)
    new, one, parallel, bias = map(c.flag, ("new_decoder_architecture", "multi_query", "parallel_attn", "bias"))
    heads, width = sizes["heads"], 4 * sizes["hidden"]
    c.get("num_kv_heads")
    if not new and not one:
        c.choice("num_kv_heads", heads, None, missing=None)
    norms = c.count("num_ln_in_parallel_attn", most=2, missing=1 + new, null=1 + new) if parallel else 2
    return sizes | dict(kv_heads=_kv_heads(c, "num_kv_heads", default=True) if new else 1 if one else heads,
                        head_dim=_divided(c), intermediate=c.count("ffn_hidden_size", missing=width, null=width),
                        norms_per_layer=norms, norm_vectors=2, qkv_bias=bias, output_bias=bias, mlp_bias=bias)


def _deepseek(c, router_bias):
    """Latent attention, and experts in all but the first layers."""
    sizes = _sizes(c, tied=False)
    heads, rope, experts = sizes["heads"], c.count("qk_rope_head_dim"), c.count("n_routed_experts")
    if rope % 2:
        raise c.bad("qk_rope_head_dim", "an even number: positions are rotary")
    c.choice("num_key_value_heads", heads, None, missing=None)
    c.choice("head_dim", rope, None, missing=None)
    c.choice("moe_layer_freq", 1, missing=1)
    dense = c.count("first_k_dense_replace", least=0, most=sizes["layers"] - 1)
    return sizes | dict(
        kv_heads=heads, head_dim=c.count("qk_nope_head_dim"), intermediate=c.count("intermediate_size"), gated_mlp=1,
        moe_layers=sizes["layers"] - dense, experts=experts, experts_per_token=c.count("num_experts_per_tok", most=experts),
        shared_experts=c.count("n_shared_experts", least=0), expert_intermediate=c.count("moe_intermediate_size"),
        router_bias=router_bias, q_lora_rank=c.count("q_lora_rank", null=0), kv_lora_rank=c.count("kv_lora_rank"),
        rope_head_dim=rope, value_head_dim=c.count("v_head_dim"))


def _deepseek_v2(c):
    c.choice("topk_method", "greedy", "group_limited_greedy", missing="greedy")
    return _deepseek(c, router_bias=0)


def _deepseek_v3(c):
    """Its router has a balancing bias, which is counted; the multi-token-prediction module is not."""
    c.choice("topk_method", "noaux_tc", missing="noaux_tc")
    extra = c.count("num_nextn_predict_layers", least=0, missing=0)
    return _deepseek(c, router_bias=1) | ({"note": "without the multi-token-prediction module"} if extra else {})


FAMILIES = {"deepseek_v2": _deepseek_v2, "deepseek_v3": _deepseek_v3, "falcon": _falcon, "gemma": _gemma, "gemma2": _gemma2,
            "gpt2": _gpt2, "llama": _llama, "mistral": _mistral, "mixtral": _mixtral, "opt": _opt, "phi": _phi, "phi3": _phi3,
            "qwen2": _qwen2, "qwen2_moe": _qwen2_moe, "qwen3": _qwen3, "qwen3_moe": _qwen3_moe}
