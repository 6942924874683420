"""Parameters of a decoder-only transformer, counted exactly from its architecture.

Every matrix, bias and norm vector is counted; the sum is the integer a framework reports for the model. A `where` picks
the attention: grouped heads (MHA, GQA and MQA are the same formula), or multi-head latent attention (MLA).
"""
from ..core.law import law
from ..core.arithmetic import maximum, where


@law
def embedding_params(vocab, hidden, tied_embeddings=0, positions=0, head_bias=0):
    """Input embedding, output head unless tied, its bias, and learned positions (count)."""
    return vocab * hidden * (2 - tied_embeddings) + head_bias * vocab + positions * hidden


@law
def lookup_params(vocab, hidden, tied_embeddings=0, positions=0):
    """Embeddings of which a token looks up one row and multiplies nothing (count). A tied table is the output head too."""
    return vocab * hidden * (1 - tied_embeddings) + positions * hidden


@law
def attention_params(hidden, heads, kv_heads, head_dim, qkv_bias=0, output_bias=0, qk_norm=0,
                     q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0):
    """Query, key, value and output projections of one layer (count).

    Grouped heads: Ainslie et al. 2023 (arXiv 2305.13245). Latent attention, used where `kv_lora_rank` is above 0:
    DeepSeek-V2 (arXiv 2405.04434, section 2.1), with one norm vector on each compressed latent. Without `q_lora_rank` the
    query is not compressed.
    """
    queries, keys = heads * head_dim, kv_heads * head_dim
    grouped = (hidden * (2 * queries + 2 * keys) + qkv_bias * (queries + 2 * keys) + output_bias * hidden
               + qk_norm * 2 * head_dim)
    query = heads * (head_dim + rope_head_dim)
    query_side = where(q_lora_rank > 0, q_lora_rank * (hidden + 1 + query), hidden * query)
    key_side = hidden * (kv_lora_rank + rope_head_dim) + kv_lora_rank * (1 + heads * (head_dim + value_head_dim))
    latent = query_side + key_side + heads * value_head_dim * hidden
    return where(kv_lora_rank > 0, latent, grouped)


@law
def mlp_params(hidden, intermediate, gated_mlp=0, mlp_bias=0):
    """Two matrices, or three with a gate, and their biases (count). Gated MLP: Shazeer 2020 (arXiv 2002.05202)."""
    return (2 + gated_mlp) * hidden * intermediate + mlp_bias * ((1 + gated_mlp) * intermediate + hidden)


@law
def moe_params(hidden, experts, expert_intermediate, shared_experts=0, shared_gate=0, gated_mlp=0, router_bias=0):
    """All experts of one layer, its router and the shared experts' gate (count). Mixtral (arXiv 2401.04088, section 2.1)."""
    expert = (2 + gated_mlp) * hidden * expert_intermediate
    return (experts + shared_experts) * expert + experts * (hidden + router_bias) + shared_gate * hidden


@law
def norm_params(hidden, norms_per_layer=..., norm_vectors=1):
    """Norm vectors of one layer (count)."""
    return norms_per_layer * norm_vectors * hidden


@law
def params(layers, hidden, embedding_params, attention_params, mlp_params, norm_params, moe_params, moe_layers=0,
           norm_vectors=1):
    """Parameters of the whole model with its final norm (count)."""
    mlp = (layers - moe_layers) * mlp_params + moe_layers * moe_params
    return embedding_params + layers * (attention_params + norm_params) + mlp + norm_vectors * hidden


@law
def active_params(params, hidden, moe_layers=0, experts=0, experts_per_token=0, expert_intermediate=0, gated_mlp=0):
    """Parameters one token passes through: all but the experts it is not routed to (count)."""
    return params - moe_layers * (experts - experts_per_token) * (2 + gated_mlp) * hidden * expert_intermediate


@law
def read_params(params, hidden, batch, moe_layers=0, experts=0, experts_per_token=0, expert_intermediate=0, gated_mlp=0):
    """Parameters read in one decode step: all but the experts that no token of the batch uses (count).

    With uniform, independent routing an expert stays untouched with probability (1 - k/E)^batch.
    """
    untouched = experts * (1 - experts_per_token / maximum(experts, 1)) ** batch
    return params - moe_layers * untouched * (2 + gated_mlp) * hidden * expert_intermediate
