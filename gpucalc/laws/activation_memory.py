"""Activations that one layer, and all of them, keep for the backward pass, and what that pass makes besides."""
from ..core.arithmetic import FP32_BYTES, MASK_BYTES, maximum, minimum, where
from ..core.law import law


@law
def attending_share(layers, attention_layers):
    """Share of the layers that have attention (ratio)."""
    return attention_layers / layers


@law
def score_bytes(micro_batch, sequence, heads, attending_share, activation_element_bytes=..., flash_attention=0, dropout=0,
                tensor_parallel=1, context_parallel=1):
    """Attention scores that one layer keeps on one GPU, mean of the layers (bytes). Korthikanti et al. 2022 (arXiv 2205.05198,
    section 4.1).

    Kept: the softmax output, and with dropout its mask and its output, the paper's 5as^2b. FlashAttention (arXiv 2205.14135,
    section 3.1) keeps one FP32 statistic per query and head instead.
    """
    queries = attending_share * micro_batch * heads / tensor_parallel * sequence / context_parallel
    per_score = activation_element_bytes * (1 + dropout) + dropout * MASK_BYTES
    return queries * where(flash_attention > 0, FP32_BYTES, sequence * per_score)


@law
def mlp_width(layers, passed_width):
    """Width of the MLPs that one token passes through in a layer, averaged over the layers (count)."""
    return passed_width / layers


def _kept_input(input_element_bytes, activation_element_bytes):
    """What of a value the input of a product keeps: all of it, or a part where it was cast to fewer bits."""
    return where(input_element_bytes > 0, input_element_bytes / activation_element_bytes, 1)


@law
def mixed_width(layers, attention_layers, heads, head_dim, value_head_dim=0, window_layers=0, window_head_dim=0, linear_layers=0,
                linear_value_heads=0, linear_value_dim=0):
    """Width of what a layer gives to its output projection, averaged over the layers (count)."""
    full = heads * where(value_head_dim > 0, value_head_dim, head_dim)
    windowed = where(window_head_dim > 0, heads * window_head_dim, full)
    linear = linear_value_heads * linear_value_dim
    return ((attention_layers - window_layers) * full + window_layers * windowed + linear_layers * linear) / layers


@law
def linear_values(linear_key_heads=0, linear_value_heads=0, linear_key_dim=0, linear_value_dim=0):
    """Values a linear layer keeps of a token (count): queries, keys and values before and after their convolution, what the
    state gives, its gate, and the product of both. Gated DeltaNet (arXiv 2412.06464, section 3.4).
    """
    return 4 * linear_key_heads * linear_key_dim + 5 * linear_value_heads * linear_value_dim


@law
def whole_values(hidden, layers, attending_share, norms_per_layer=..., moe_layers=0, experts_per_token=0, q_lora_rank=0,
                 kv_lora_rank=0, rope_head_dim=0, fusion=..., expert_latent=0,
                 input_element_bytes=0, activation_element_bytes=...):
    """Values one layer keeps of a token that tensor parallel does not divide (count). Korthikanti et al. 2022, section 4.1.

    The inputs of the norms, of attention and of the MLP, frozen or not (arXiv 2404.12406, section 1); of each expert of the
    token its input, and its output where plain operations weight that (Megatron-Core weights what goes into the second product,
    megatron/core/transformer/moe/experts.py); of latent attention the compressed vectors before and after their norms. A norm out
    of plain operations keeps an FP32 copy of its input, two values wide, and the normalized values besides. Inputs of products
    in 8 or 4 bits are kept as they were cast (Transformer Engine).
    """
    inputs = _kept_input(input_element_bytes, activation_element_bytes)
    norms = norms_per_layer * (1 + where(fusion <= 0, 2, 0)) + minimum(norms_per_layer, 2) * inputs
    sent = experts_per_token * moe_layers / layers * where(expert_latent > 0, expert_latent / hidden, 1)
    routed = (inputs + where(fusion <= 0, 1, 0)) * sent
    return (norms + routed) * hidden + attending_share * (2 * q_lora_rank + 2 * kv_lora_rank + rope_head_dim)


@law
def mixed_values(layers, attention_layers, heads, gpu_kv_heads, head_dim, linear_values, qk_norm=0, kv_lora_rank=0,
                 rope_head_dim=0, value_head_dim=0, attention_gate=0, window_layers=0, window_kv_heads=0, window_head_dim=0,
                 linear_layers=0, tensor_parallel=1, expanded_kv=0):
    """Values a layer keeps of a token on one GPU where it mixes tokens, mean of the layers (count).

    Korthikanti et al. 2022 (arXiv 2205.05198, section 4.2.1): queries, keys, values and the attention output; a gate and its
    product. Some code copies keys and values to every query head.
    """
    queries = heads / tensor_parallel

    def kept(keys, dim):
        copied = where(expanded_kv > 0, queries, keys)
        return (2 + qk_norm) * (queries + copied) * dim + 2 * attention_gate * queries * dim
    latent = 2 * queries * (head_dim + rope_head_dim + value_head_dim)
    full = where(kv_lora_rank > 0, latent, kept(gpu_kv_heads, head_dim))
    windowed = where(kv_lora_rank > 0, latent,
                     kept(where(window_kv_heads > 0, maximum(window_kv_heads / tensor_parallel, 1), gpu_kv_heads),
                          where(window_head_dim > 0, window_head_dim, head_dim)))
    return ((attention_layers - window_layers) * full + window_layers * windowed
            + linear_layers * linear_values / tensor_parallel) / layers


@law
def split_values(mixed_values, mixed_width, mlp_width, gated_mlp=0, tensor_parallel=1, fusion=..., input_element_bytes=0,
                 activation_element_bytes=...):
    """Values one layer keeps of a token on one GPU that tensor parallel divides (count). Korthikanti et al. 2022, 4.2.1.

    What mixes tokens, and of the MLP 2 tensors, or 4 with a gate (gate, its activation, up, their product), of which a compiled
    MLP makes the activation again. A product in 8 or 4 bits keeps the MLP's product as it was cast, and of the attention output
    a copy besides.
    """
    inputs = _kept_input(input_element_bytes, activation_element_bytes)
    mlp = 1 + inputs + gated_mlp * where(fusion >= 2, 1, 2)
    copy = where(input_element_bytes > 0, inputs * mixed_width, 0)
    return mixed_values + (mlp * mlp_width + copy) / tensor_parallel


@law
def product_values(hidden, heads, gpu_kv_heads, head_dim, mlp_width, layers, attending_share, linear_values, gated_mlp=0,
                   q_lora_rank=0, kv_lora_rank=0, rope_head_dim=0, value_head_dim=0, linear_layers=0, tensor_parallel=1):
    """Values one layer keeps of a token under torch's policy for operations, on one GPU (count).

    It keeps the attention output and every second product, the first with them, and makes all else again
    (pytorch/torchtitan, torchtitan/parallelisms/parallelize_llama.py). Of q, k, v, output, gate, up, down: q, v, gate and down.
    Of a compressed query, its expansion, a compression, its expansion, output, gate, up, down: the two compressions, output and
    up; with a whole query: query, expansion, gate and down. A linear layer keeps half of what it keeps without recompute.
    """
    queries, width = heads / tensor_parallel, mlp_width / tensor_parallel
    grouped = (2 * queries + gpu_kv_heads) * head_dim
    compressed = q_lora_rank + kv_lora_rank + rope_head_dim
    whole = queries * (2 * head_dim + rope_head_dim + value_head_dim)
    latent = where(q_lora_rank > 0, compressed, whole) + queries * value_head_dim
    attention = attending_share * where(kv_lora_rank > 0, latent, grouped)
    linear = linear_layers / layers * linear_values / 2 / tensor_parallel
    return attention + linear + width + where(kv_lora_rank > 0, 1, gated_mlp) * hidden


@law
def made_values(hidden, heads, head_dim, mlp_width, attending_share, norms_per_layer=..., gated_mlp=0, q_lora_rank=0,
                kv_lora_rank=0, rope_head_dim=0, value_head_dim=0, tensor_parallel=1, sequence_parallel=0, fusion=...,
                input_element_bytes=0, activation_element_bytes=...):
    """Values of a token in one layer, on one GPU, that are cheap to make again (count): what norms and activations make for
    products, and latent queries, keys and values expanded.

    DeepSeek-V3 (arXiv 2412.19437, sections 3.2.3 and 3.3.3); NVIDIA Megatron-LM, `--recompute-modules layernorm mlp_act moe_act
    mla_up_proj` (megatron/core/transformer/transformer_config.py).
    """
    inputs = _kept_input(input_element_bytes, activation_element_bytes)
    norms = minimum(norms_per_layer, 2) * inputs * hidden / where(sequence_parallel > 0, tensor_parallel, 1)
    expanded = where(q_lora_rank > 0, 2, 1) * (head_dim + rope_head_dim) + value_head_dim
    latent = where(kv_lora_rank > 0, attending_share * heads * expanded, 0)
    return norms + ((inputs + gated_mlp * where(fusion >= 2, 0, 1)) * mlp_width + latent) / tensor_parallel


def _unscored(whole_tokens, gpu_tokens, whole_values, split_values, hidden, dropout, activation_element_bytes):
    """What a layer keeps without recompute beside its scores."""
    return (whole_tokens * (whole_values * activation_element_bytes + 2 * dropout * hidden * MASK_BYTES)
            + gpu_tokens * split_values * activation_element_bytes)


@law
def layer_activation_bytes(score_bytes, gpu_tokens, whole_values, split_values, product_values, made_values, hidden, recompute=0,
                           recomputed_share=1, flash_attention=0, dropout=0, tensor_parallel=1, sequence_parallel=0,
                           activation_element_bytes=...):
    """What one layer keeps of a micro-batch for its backward pass, on one GPU (bytes). Korthikanti et al. 2022, table 2.

    Sequence parallel divides what tensor parallel leaves whole. Selective recompute drops the scores, or with FlashAttention what
    norms and activations make for products; full recompute keeps the layer's input alone; torch's policy keeps some products
    besides, and what sequence parallel scatters. Where a share of the layers recomputes, this is the mean.
    """
    whole_tokens = gpu_tokens / where(sequence_parallel > 0, tensor_parallel, 1)
    unscored = _unscored(whole_tokens, gpu_tokens, whole_values, split_values, hidden, dropout, activation_element_bytes)
    everything = unscored + score_bytes
    layer_input = whole_tokens * hidden * activation_element_bytes
    products = (layer_input * (1 + 2 * sequence_parallel) + gpu_tokens * product_values * activation_element_bytes
                + flash_attention * score_bytes)
    fused = where(flash_attention > 0, score_bytes - gpu_tokens * made_values * activation_element_bytes, 0)
    selective = where(recompute >= 1, unscored + fused, everything)
    kept = where(recompute >= 3, products, where(recompute >= 2, layer_input, selective))
    return everything + recomputed_share * (kept - everything)


@law
def activation_bytes(in_flight_layers, layer_activation_bytes, offload_activations=0):
    """What all layers in flight keep for the backward pass, on one GPU (bytes). Korthikanti et al. 2022, section 4.2.3.

    Where they wait in the memory of the host, one layer is on its way there. ZeRO-Infinity (arXiv 2104.07857, section 5.1).
    """
    return where(offload_activations > 0, minimum(in_flight_layers, 1), in_flight_layers) * layer_activation_bytes


@law
def recomputed_bytes(layer_activation_bytes, score_bytes, gpu_tokens, whole_values, split_values, hidden, dropout=0,
                     tensor_parallel=1, sequence_parallel=0, activation_element_bytes=...):
    """What one layer dropped and makes again in its backward pass, on one GPU (bytes). Chen et al. 2016 (arXiv 1604.06174)."""
    whole_tokens = gpu_tokens / where(sequence_parallel > 0, tensor_parallel, 1)
    unscored = _unscored(whole_tokens, gpu_tokens, whole_values, split_values, hidden, dropout, activation_element_bytes)
    return maximum(unscored + score_bytes - layer_activation_bytes, 0)


@law
def activation_gradient_bytes(gpu_tokens, hidden, mlp_width, gated_mlp=0, tensor_parallel=1, sequence_parallel=0,
                              activation_element_bytes=...):
    """Gradients alive in the widest part of a layer's backward pass, its MLP, on one GPU (bytes).

    Of the residual stream and the layer's output, and of the MLP's tensors: the product, up, gate. Sequence parallel gathers
    the output's gradient and the MLP's input whole (Korthikanti et al. 2022, section 4.2.2).
    """
    shards = where(sequence_parallel > 0, tensor_parallel, 1)
    whole = 2 * hidden * (1 / shards + minimum(shards - 1, 1))
    return gpu_tokens * activation_element_bytes * (whole + (2 + gated_mlp) * mlp_width / tensor_parallel)
