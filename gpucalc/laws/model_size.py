"""Parameters of a decoder-only transformer, counted exactly from its architecture.

Every matrix, bias and norm vector is counted; the sum is the integer a framework reports for the model. Layers are of several
kinds, each with its count: attention over the whole context or a window, linear attention or a state-space model, an MLP, a
mixture of experts. A `where` picks the attention: grouped heads (MHA, GQA and MQA are the same formula), or multi-head latent
attention (MLA).
"""
from ..core.arithmetic import maximum, where
from ..core.law import law


@law
def embedding_params(vocab, hidden, tied_embeddings=0, positions=0, head_bias=0):
    """Input embedding, output head unless tied, its bias, and learned positions (count)."""
    return vocab * hidden * (2 - tied_embeddings) + head_bias * vocab + positions * hidden


@law
def lookup_params(vocab, hidden, tied_embeddings=0, positions=0):
    """Embeddings of which a token looks up one row and multiplies nothing (count). A tied table is the output head too."""
    return vocab * hidden * (1 - tied_embeddings) + positions * hidden


@law
def attention_layers(layers, linear_layers=0, mixerless_layers=0):
    """Layers with attention (count): all but those that mix tokens in another way or not at all."""
    return layers - linear_layers - mixerless_layers


@law
def mlp_layers(layers, moe_layers=0, mlpless_layers=0, mlp_beside=0):
    """Layers with a dense MLP (count). Layers of experts have one too where it stands beside them."""
    return layers - mlpless_layers - moe_layers * (1 - mlp_beside)


@law
def attention_params(hidden, heads, kv_heads, head_dim, qkv_bias=0, output_bias=0, qk_norm=0, q_lora_rank=0, kv_lora_rank=0,
                     rope_head_dim=0, value_head_dim=0, attention_gate=0, sinks=0, wide_qk_norm=0, shared_keys=0, o_lora_rank=0,
                     o_groups=0):
    """Query, key, value and output projections of one layer (count).

    Grouped heads: Ainslie et al. 2023 (arXiv 2305.13245); a gate on the output is as wide as the queries (arXiv 2505.06708), a
    sink is one score a head (arXiv 2309.17453). Latent attention, used where `kv_lora_rank` is above 0: DeepSeek-V2 (arXiv
    2405.04434, section 2.1), with one norm vector on each compressed latent. Without `q_lora_rank` the query is not compressed.
    DeepSeek-V4, used where `o_lora_rank` is above 0: one vector is key and value of all heads, and groups of heads are compressed
    before the output (transformers, models/deepseek_v4).
    """
    queries, keys = heads * head_dim, kv_heads * head_dim
    norms = 2 * head_dim + wide_qk_norm * (queries + keys - 2 * head_dim)
    grouped = (hidden * (2 * queries + 2 * keys + attention_gate * queries - shared_keys * keys)
               + qkv_bias * (queries + 2 * keys) + output_bias * hidden + qk_norm * norms + sinks * heads)
    query = heads * (head_dim + rope_head_dim)
    query_side = where(q_lora_rank > 0, q_lora_rank * (hidden + 1 + query), hidden * query)
    key_side = hidden * (kv_lora_rank + rope_head_dim) + kv_lora_rank * (1 + heads * (head_dim + value_head_dim))
    latent = query_side + key_side + (1 + attention_gate) * heads * value_head_dim * hidden
    one = ((kv_lora_rank + rope_head_dim) * (hidden + 1) + heads * value_head_dim * o_lora_rank + o_groups * o_lora_rank * hidden
           + sinks * heads)
    return where(o_lora_rank > 0, query_side + one, where(kv_lora_rank > 0, latent, grouped))


@law
def window_attention_params(hidden, heads, kv_heads, head_dim, window_kv_heads=0, window_head_dim=0, qkv_bias=0, output_bias=0,
                            qk_norm=0, q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0, attention_gate=0,
                            sinks=0, wide_qk_norm=0, o_lora_rank=0, o_groups=0):
    """Attention parameters of a layer with a window (count), whose heads may differ from those of the others."""
    return attention_params.formula(
        hidden, heads, where(window_kv_heads > 0, window_kv_heads, kv_heads),
        where(window_head_dim > 0, window_head_dim, head_dim),
        qkv_bias, output_bias, qk_norm, q_lora_rank, kv_lora_rank, rope_head_dim, value_head_dim, attention_gate, sinks,
        wide_qk_norm, 0, o_lora_rank, o_groups)


@law
def indexer_params(hidden, indexer_heads=0, indexer_dim=0, q_lora_rank=0, plain_index=0):
    """The indexer of a layer of sparse attention (count): queries from the compressed query, one key with its norm, weights.

    DeepSeek-V3.2, deepseek-ai/DeepSeek-V3.2-Exp inference/model.py. A plain one makes queries from the layer's input, has norms
    for both and no weights: MiniMax-M3, transformers models/minimax_m3_vl.
    """
    chosen = where(plain_index > 0, hidden * indexer_dim, q_lora_rank * indexer_dim + hidden)
    return indexer_heads * chosen + hidden * indexer_dim + 2 * indexer_dim


@law
def mixing_params(attention_layers, attention_params, window_attention_params, linear_params, indexer_params, window_layers=0,
                  linear_layers=0, indexer_layers=0, further_params=0):
    """What mixes tokens in all layers together (count), and small parts that no other count has."""
    full = (attention_layers - window_layers) * attention_params + window_layers * window_attention_params
    return full + linear_layers * linear_params + indexer_layers * indexer_params + further_params


@law
def mlp_params(hidden, intermediate, gated_mlp=0, mlp_bias=0):
    """Two matrices, or three with a gate, and their biases (count). Gated MLP: Shazeer 2020 (arXiv 2002.05202)."""
    return (2 + gated_mlp) * hidden * intermediate + mlp_bias * ((1 + gated_mlp) * intermediate + hidden)


@law
def expert_params(hidden, expert_intermediate=0, gated_mlp=0, expert_bias=0, expert_latent=0):
    """One routed expert (count), which may work on fewer channels than the model has."""
    width = where(expert_latent > 0, expert_latent, hidden)
    return (2 + gated_mlp) * width * expert_intermediate + expert_bias * ((1 + gated_mlp) * expert_intermediate + width)


@law
def moe_params(hidden, expert_params, experts=0, expert_intermediate=0, shared_experts=0, shared_gate=0, gated_mlp=0,
               router_bias=0, expert_latent=0):
    """All experts of one layer, its router, the shared experts with their gate, and the way to fewer channels and back (count).

    Mixtral (arXiv 2401.04088, section 2.1), DeepSeekMoE (arXiv 2401.06066, section 3).
    """
    shared = shared_experts * (2 + gated_mlp) * hidden * expert_intermediate + shared_gate * hidden
    return experts * (expert_params + hidden + router_bias) + shared + 2 * hidden * expert_latent


@law
def norm_params(hidden, norms_per_layer=..., norm_vectors=1):
    """Norm vectors of one layer (count)."""
    return norms_per_layer * norm_vectors * hidden


@law
def params(layers, hidden, embedding_params, mixing_params, mlp_params, norm_params, moe_params, mlp_layers, moe_layers=0,
           norm_vectors=1):
    """Parameters of the whole model with its final norm (count)."""
    return (embedding_params + mixing_params + layers * norm_params + mlp_layers * mlp_params + moe_layers * moe_params
            + norm_vectors * hidden)


@law
def active_params(params, expert_params, moe_layers=0, experts=0, experts_per_token=0):
    """Parameters one token passes through: all but the experts it is not routed to (count)."""
    return params - moe_layers * (experts - experts_per_token) * expert_params


def touched(tokens, experts, experts_per_token, expert_skew):
    """Routed experts of a layer that some of so many tokens use (count, mean)."""
    chosen = maximum(experts / expert_skew, experts_per_token)
    return chosen * (1 - (1 - experts_per_token / maximum(chosen, 1)) ** tokens)


@law
def read_params(params, expert_params, batch, moe_layers=0, experts=0, experts_per_token=0, pipeline_parallel=1, drafted=0,
                expert_skew=1):
    """Parameters read in one decode step: all but the experts that no token of the batch uses (count).

    With uniform, independent routing an expert stays untouched with probability (1 - k/E)^n at n tokens in the step: of each
    sequence one and those drafted. A stage of a pipeline has so many parts of the batch one after the other. If no expert is
    chosen more than `expert_skew` times as often as the mean, the fewest are touched where so many are, and the others never.
    """
    used = touched(batch * (1 + drafted) / pipeline_parallel, experts, experts_per_token, expert_skew)
    return params - moe_layers * (experts - used) * expert_params


# Weights beyond the GPUs' memory

@law
def offloaded_bytes(weight_bytes, memory_bytes, own_cards, framework_bytes=..., memory_utilization=...):
    """Weights that so many GPUs do not hold and the memory of their host has to (bytes). llama.cpp, tools/server/README.md
    (--n-gpu-layers, --n-cpu-moe)."""
    return maximum(weight_bytes - own_cards * (memory_bytes * memory_utilization - framework_bytes), 0)


@law
def offloaded_token_seconds(read_bytes, weight_bytes, offloaded_bytes, bandwidth, host_memory_bandwidth=...):
    """Least time of a token where the host's processor works on the layers in its memory, and the GPUs on the others (s).

    One layer waits for the other, so that the times to read both parts add up; a token reads of each part the same share.
    Measured runs of llama.cpp take 1.3 to 1.6 times that: 65B in 4 bits on dual-channel DDR4 (ggml-org/llama.cpp issue 34), 32B
    on dual-channel DDR5 (issue 19480).
    """
    return read_bytes / weight_bytes * ((weight_bytes - offloaded_bytes) / bandwidth + offloaded_bytes / host_memory_bandwidth)
