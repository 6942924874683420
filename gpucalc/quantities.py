"""The vocabulary: every argument and result of a law, with its unit, symbol, meaning and allowed values.

A name here is the name of the law argument, of the column in `data/`, of the notebook parameter and of the slider.
FLOP and token are names of counts, without dimension, like GPUs and layers; bytes, seconds, watts and USD have one.
"""
from typing import NamedTuple


class Quantity(NamedTuple):
    """One row of the vocabulary. `unit` is a Pint unit; `example` is a typical value."""

    unit: str
    symbol: str
    meaning: str
    allowed: str
    example: float


# What "allowed" means: lowest value, whether that value itself is allowed, highest value, whole numbers only.
DOMAINS = {
    "a whole number of at least 1": (1, True, float("inf"), True),
    "a whole number of at least 0": (0, True, float("inf"), True),
    "a number above 0": (0, False, float("inf"), False),
    "a number of at least 0": (0, True, float("inf"), False),
    "a number of at least 1": (1, True, float("inf"), False),
    "a number above 0 and at most 1": (0, False, 1, False),
    "a number from 0 to 1": (0, True, 1, False),
    "0 or 1": (0, True, 1, True),
    "0, 1 or 2": (0, True, 2, True),
    "0, 1, 2 or 3": (0, True, 3, True),
}
COUNT, COUNT0, POSITIVE, AMOUNT, FACTOR, FRACTION, SHARE, FLAG, LEVEL2, LEVEL3 = DOMAINS

_ROWS = {
    # a model's architecture
    "layers": ("", "L", "transformer layers", COUNT, 80),
    "hidden": ("", "h", "hidden size", COUNT, 8192),
    "heads": ("", "a", "query heads", COUNT, 64),
    "kv_heads": ("", "n_{kv}", "key and value heads", COUNT, 8),
    "head_dim": ("", "d", "size of one head (without its rotary part in MLA)", COUNT, 128),
    "intermediate": ("", "f", "width of the MLP", COUNT, 28672),
    "vocab": ("", "V", "vocabulary size", COUNT, 128256),
    "tied_embeddings": ("", "t_{emb}", "input and output embedding shared", FLAG, 0),
    "gated_mlp": ("", "g", "MLP has a gate matrix (SwiGLU, GeGLU)", FLAG, 1),
    "head_bias": ("", "b_{head}", "bias on the output head", FLAG, 0),
    "positions": ("", "n_{pos}", "learned position vectors", COUNT0, 0),
    "norms_per_layer": ("", "n_{norm}", "normalisations in a layer", COUNT, 2),
    "norm_vectors": ("", "v_{norm}", "vectors in one normalisation (1 RMSNorm, 2 LayerNorm)", COUNT, 1),
    "qk_norm": ("", "q_{norm}", "queries and keys normalised per head", FLAG, 0),
    "qkv_bias": ("", "b_{qkv}", "bias on the query, key and value projections", FLAG, 0),
    "output_bias": ("", "b_o", "bias on the attention output projection", FLAG, 0),
    "mlp_bias": ("", "b_{mlp}", "bias on the MLP projections", FLAG, 0),
    "moe_layers": ("", "L_{moe}", "layers whose MLP is a mixture of experts", COUNT0, 0),
    "experts": ("", "E", "routed experts in a layer", COUNT0, 0),
    "experts_per_token": ("", "k", "routed experts one token uses", COUNT0, 0),
    "shared_experts": ("", "E_s", "experts every token uses", COUNT0, 0),
    "expert_intermediate": ("", "f_e", "width of one expert", COUNT0, 0),
    "router_bias": ("", "b_r", "bias of the router, one per expert", FLAG, 0),
    "q_lora_rank": ("", "r_q", "rank of the compressed query (MLA)", COUNT0, 0),
    "kv_lora_rank": ("", "r_{kv}", "rank of the compressed key and value (MLA)", COUNT0, 0),
    "rope_head_dim": ("", "d_r", "rotary part of a head (MLA)", COUNT0, 0),
    "value_head_dim": ("", "d_v", "size of a value head (MLA)", COUNT0, 0),
    "window": ("", "w", "sliding-window length of the layers that have one", COUNT0, 0),
    "window_layers": ("", "L_w", "layers with a sliding window", COUNT0, 0),
    "max_context": ("", "s_{max}", "longest context the model was released for", COUNT, 8192),
    "params": ("", "P", "parameters", COUNT, 70553706496),
    "active_params": ("", "P_{act}", "parameters one token passes through", COUNT, 70553706496),
    "read_params": ("", "P_{read}", "parameters read in one decode step", POSITIVE, 70553706496),
    "lookup_params": ("", "P_{look}", "parameters that are looked up, not multiplied", COUNT0, 1050673152),
    "attention_params": ("", "P_{attn}", "parameters of one attention block", COUNT, 150994944),
    "mlp_params": ("", "P_{mlp}", "parameters of one MLP", COUNT, 704643072),
    "moe_params": ("", "P_{moe}", "parameters of one mixture-of-experts block", COUNT0, 0),
    "norm_params": ("", "P_{norm}", "parameters of one layer's normalisations", COUNT, 16384),
    "embedding_params": ("", "P_{emb}", "parameters of the embeddings", COUNT, 2101346304),
    # a numeric format or a training recipe
    "weight_element_bytes": ("byte", "e_w", "bytes of one weight in compute", POSITIVE, 2),
    "frozen_element_bytes": ("byte", "e_f", "bytes of one frozen weight", AMOUNT, 2),
    "gradient_element_bytes": ("byte", "e_g", "bytes of one gradient", AMOUNT, 4),
    "master_element_bytes": ("byte", "e_m", "bytes of one FP32 master weight", AMOUNT, 4),
    "optimizer_element_bytes": ("byte", "e_o", "bytes of optimizer state per trained weight", AMOUNT, 8),
    "activation_element_bytes": ("byte", "e_a", "bytes of one activation", POSITIVE, 2),
    "cache_element_bytes": ("byte", "e_c", "bytes of one cached element", POSITIVE, 2),
    "element_bytes": ("byte", "e", "bytes of one matrix element", POSITIVE, 2),
    "lora_rank": ("", "r", "rank of the adapter", COUNT, 16),
    # a stored format of weights
    "value_bits": ("", "b_v", "bits of a stored value without its scales", COUNT, 4),
    "block": ("", "n_b", "weights that share a scale", COUNT, 128),
    "block_bits": ("", "c_b", "bits of the scales and offsets of a block", COUNT0, 20),
    "superblock": ("", "n_s", "weights that share a second scale", COUNT, 256),
    "superblock_bits": ("", "c_s", "bits of the second scales and offsets", COUNT0, 32),
    "keep_embeddings": ("", "\\kappa_e", "embeddings and output head are not quantized", FLAG, 1),
    "stored_bits": ("", "b_w", "bits of a stored weight with its scales", POSITIVE, 4.15625),
    "format_element_bytes": ("byte", "e_q", "bytes of a stored weight with its scales", POSITIVE, 0.51953125),
    "kept_element_bytes": ("byte", "e_k", "bytes of a weight that is not quantized", POSITIVE, 2),
    "quantized_params": ("", "P_q", "parameters stored in the format", COUNT, 68452360192),
    "quantized_weight_bytes": ("byte", "M_q", "bytes of the weights in the format", POSITIVE, 39765832864),
    "serving_bytes": ("byte", "M_{srv}", "bytes of weights and cache", POSITIVE, 61240669344),
    "affordable_bits": ("", "b_{max}", "bits a weight may take for all to fit", AMOUNT, 6.3),
    # a training job
    "trainable_params": ("", "P_t", "parameters that are trained", COUNT, 70553706496),
    "lora_params": ("", "P_{lora}", "parameters of the adapters", COUNT, 65536000),
    "bytes_per_param": ("byte", "B_P", "bytes of model state per trained parameter", POSITIVE, 18),
    "weight_bytes": ("byte", "M_w", "bytes of the weights", POSITIVE, 141107412992),
    "state_bytes": ("byte", "M_s", "bytes of weights, gradients and optimizer state", POSITIVE, 1269966716928),
    "zero_stage": ("", "z", "ZeRO stage", LEVEL3, 3),
    "replicated_state_bytes": ("byte", "M_r", "bytes of model state that every GPU holds in full", AMOUNT, 16060522496),
    "sharded_state_bytes": ("byte", "M_z", "bytes of model state on one GPU", POSITIVE, 158745839616),
    "micro_batch": ("", "b", "sequences in one forward pass on one GPU", COUNT, 1),
    "sequence": ("", "s", "training sequence length in tokens", COUNT, 2048),
    "recompute": ("", "\\rho", "activation recompute: 0 none, 1 selective, 2 full", LEVEL2, 1),
    "flash_attention": ("", "\\phi", "attention never writes the score matrix", FLAG, 0),
    "dropout": ("", "\\delta", "dropout masks are kept", FLAG, 0),
    "sequence_parallel": ("", "\\sigma", "norms and inputs split along the sequence too", FLAG, 0),
    "score_bytes": ("byte", "A_s", "bytes of one layer's attention scores", AMOUNT, 2147483648),
    "mlp_width": ("", "f_t", "width of the MLPs one token passes through in a layer, mean of the layers", POSITIVE, 28672),
    "layer_activation_bytes": ("byte", "A_l", "bytes one layer keeps for the backward pass", POSITIVE, 1140850688),
    "activation_bytes": ("byte", "A", "bytes all layers keep for the backward pass", AMOUNT, 2684354560),
    "logits_bytes": ("byte", "A_v", "bytes of the logits", POSITIVE, 2101346304),
    "training_bytes": ("byte", "M", "bytes on one GPU while training", POSITIVE, 250000000000),
    "training_gpus": ("", "N_{min}", "fewest GPUs that hold the job", COUNT, 24),
    # a GPU
    "marketed_bytes": ("byte", "M_{ad}", "memory as marketed", POSITIVE, 80e9),
    "memory_bytes": ("byte", "M_{gpu}", "memory its driver reports", POSITIVE, 85520809984),
    "bandwidth": ("byte/second", "B_{hbm}", "memory bandwidth", POSITIVE, 3.35e12),
    "peak_flops": ("FLOP/second", "F", "dense BF16 peak, FP32 accumulation", POSITIVE, 989e12),
    "fp16_accumulate_flops": ("FLOP/second", "F_{16}", "dense FP16 peak, FP16 accumulation", POSITIVE, 330.3e12),
    "fp8_flops": ("FLOP/second", "F_8", "dense FP8 peak", POSITIVE, 1979e12),
    "int8_flops": ("FLOP/second", "F_{i8}", "dense INT8 peak, operations a second", POSITIVE, 1979e12),
    "fp32_flops": ("FLOP/second", "F_{32}", "FP32 peak outside the tensor cores", POSITIVE, 67e12),
    "tf32_flops": ("FLOP/second", "F_{tf}", "dense TF32 peak", POSITIVE, 495e12),
    "link_bandwidth": ("byte/second", "B", "link bandwidth per direction", POSITIVE, 450e9),
    "host_bandwidth": ("byte/second", "B_{pcie}", "PCIe bandwidth per direction", POSITIVE, 63e9),
    "tdp_watts": ("watt", "W", "thermal design power", POSITIVE, 700),
    "compute_capability": ("", "cc", "CUDA compute capability", POSITIVE, 9.0),
    "ecc": ("", "ecc", "memory has error correction", FLAG, 1),
    "headroom": ("", "\\eta", "share of memory left free", SHARE, 0.1),
    "usable_bytes": ("byte", "M_u", "memory a job may use", AMOUNT, 76968728986),
    # inference
    "context": ("", "c", "tokens in the context", COUNT, 8192),
    "prompt": ("", "p", "tokens in the prompt", COUNT, 2048),
    "batch": ("", "n", "sequences served together", COUNT, 32),
    "gpus": ("", "N", "GPUs", COUNT, 8),
    "kv_bytes_per_token": ("byte", "K_t", "cache bytes of one token", POSITIVE, 327680),
    "latent_bytes_per_token": ("byte", "K_t", "cache bytes of one token (MLA)", AMOUNT, 70272),
    "sequence_kv_bytes": ("byte", "K_s", "cache bytes of one sequence", POSITIVE, 2684354560),
    "kv_bytes": ("byte", "K", "cache bytes of a batch", AMOUNT, 85899345920),
    "cache_room_bytes": ("byte", "K_{room}", "memory left for the cache", AMOUNT, 400e9),
    "max_batch": ("", "n_{max}", "most sequences that fit", COUNT0, 149),
    "longest_context": ("", "c_{max}", "longest context that fits", COUNT0, 38000),
    # arithmetic intensity
    "rows": ("", "m", "rows of the left matrix (tokens)", COUNT, 32),
    "inner": ("", "k_i", "terms of a sum (inner dimension)", COUNT, 8192),
    "columns": ("", "n_c", "columns of the right matrix", COUNT, 8192),
    "matmul_flops": ("FLOP", "C", "FLOP of a matrix product", POSITIVE, 4294967296),
    "matmul_bytes": ("byte", "Q", "bytes a matrix product must move", POSITIVE, 135266304),
    "intensity": ("FLOP/byte", "I", "arithmetic intensity, FLOP per byte", POSITIVE, 31.75),
    "ridge_point": ("FLOP/byte", "I^*", "ridge point, FLOP per byte", POSITIVE, 295),
    "attainable_flops": ("FLOP/second", "F_{att}", "FLOP/s the roofline allows", POSITIVE, 106e12),
    "matmul_seconds": ("second", "T", "time of a matrix product", POSITIVE, 4.04e-5),
    "compute_efficiency": ("", "\\epsilon_F", "share of the peak FLOP/s reached", FRACTION, 1),
    "bandwidth_efficiency": ("", "\\epsilon_B", "share of the memory bandwidth reached", FRACTION, 1),
    "causal": ("", "\\kappa", "attention skips the masked half", FLAG, 1),
    "decode_pair_flops": ("FLOP", "C_{pair}", "FLOP of a new and a cached token in a layer", POSITIVE, 32768),
    "sequence_decode_flops": ("FLOP", "C_{tok}", "FLOP of one new token of one sequence", POSITIVE, 160.5e9),
    "prefill_pair_flops": ("FLOP", "C_{pp}", "FLOP of two prompt tokens in a layer", POSITIVE, 32768),
    "decode_flops": ("FLOP", "C_d", "FLOP of one decode step", POSITIVE, 4.7e12),
    "decode_bytes": ("byte", "Q_d", "bytes read in one decode step", POSITIVE, 227e9),
    "decode_seconds": ("second", "T_d", "time of one decode step (TPOT)", POSITIVE, 0.0678),
    "tokens_per_second": ("token/second", "R", "output tokens a second", POSITIVE, 472),
    "prefill_flops": ("FLOP", "C_p", "FLOP of a prefill", POSITIVE, 2.9e14),
    "prefill_seconds": ("second", "T_p", "time of a prefill (TTFT without queueing)", POSITIVE, 0.29),
    "critical_batch": ("", "n^*", "batch at which decode turns, cache left out", POSITIVE, 295),
    "context_critical_batch": ("", "n^*_c", "batch at which decode turns, cache counted", POSITIVE, 760),
    # interconnect and parallelism
    "message_bytes": ("byte", "S", "bytes of the whole message", POSITIVE, 1e9),
    "ranks": ("", "N", "GPUs in the collective", COUNT, 8),
    "latency": ("second", "\\alpha", "latency of one step", AMOUNT, 10e-6),
    "all_reduce_seconds": ("second", "T_{ar}", "time of an all-reduce", AMOUNT, 4.0e-3),
    "bus_bandwidth": ("byte/second", "B_{bus}", "bus bandwidth of an all-reduce", POSITIVE, 437e9),
    "all_gather_seconds": ("second", "T_{ag}", "time of a ring all-gather", AMOUNT, 2.0e-3),
    "reduce_scatter_seconds": ("second", "T_{rs}", "time of a ring reduce-scatter", AMOUNT, 2.0e-3),
    "all_to_all_seconds": ("second", "T_{aa}", "time of an all-to-all", AMOUNT, 2.0e-3),
    "point_to_point_seconds": ("second", "T_{pp}", "time of one send", POSITIVE, 2.2e-3),
    "tensor_parallel": ("", "t", "tensor-parallel degree", COUNT, 8),
    "pipeline_parallel": ("", "p_p", "pipeline-parallel degree", COUNT, 8),
    "data_parallel": ("", "d_p", "data-parallel degree", COUNT, 8),
    "tokens": ("", "T_k", "tokens in the batch", COUNT, 4096),
    "layer_compute_seconds": ("second", "T_c", "compute time of one layer's forward pass on one GPU", POSITIVE, 8.3e-4),
    "layer_communication_seconds": ("second", "T_x", "all-reduce time of one layer's forward pass", AMOUNT, 5.2e-4),
    "tensor_parallel_limit": ("", "t^*", "degree above which communication takes longer than compute", POSITIVE, 11.2),
    "micro_batches": ("", "m_b", "micro-batches in a step", COUNT, 32),
    "virtual_stages": ("", "v", "model chunks per GPU (interleaved schedule)", COUNT, 1),
    "pipeline_bubble": ("", "\\beta", "share of a step that GPUs wait", SHARE, 0.18),
    "gradient_seconds": ("second", "T_g", "time to all-reduce the gradients", AMOUNT, 1.1),
    "tp_decode_seconds": ("second", "T_d", "time of one decode step under tensor parallelism", POSITIVE, 0.022),
    "required_bytes": ("byte", "M_{req}", "bytes that have to be held", POSITIVE, 1.27e12),
    "gpus_per_node": ("", "N_{node}", "GPUs in one node", COUNT, 8),
    "gpus_required": ("", "N_{req}", "GPUs that hold it", COUNT, 17),
    "nodes_required": ("", "n_{node}", "nodes that hold it", COUNT, 3),
    # money
    "server_usd": ("USD", "U_{srv}", "price of the whole server", POSITIVE, 300e3),
    "gpus_per_server": ("", "N_{srv}", "GPUs in the server", COUNT, 8),
    "years": ("year", "Y", "years of use", POSITIVE, 3),
    "residual": ("", "r_v", "share of the price got back at the end", SHARE, 0.0),
    "server_power_factor": ("", "k_W", "power of the server over the TDP of its GPUs", FACTOR, 1.82),
    "watts_per_gpu": ("watt", "W_g", "power of the server per GPU", POSITIVE, 1275),
    "pue": ("", "\\mathrm{PUE}", "power usage effectiveness of the site", FACTOR, 1.3),
    "usd_per_kwh": ("USD/(kilowatt*hour)", "u_e", "electricity price", AMOUNT, 0.1),
    "hosting_usd_per_month": ("USD/month", "u_{rack}", "rack, network and staff per server and month", AMOUNT, 2000),
    "capital_usd_per_hour": ("USD/hour", "c_{cap}", "capital cost of a GPU per hour owned", AMOUNT, 1.43),
    "power_usd_per_hour": ("USD/hour", "c_{pow}", "power cost of a GPU per hour used", AMOUNT, 0.166),
    "hosting_usd_per_hour": ("USD/hour", "c_{host}", "hosting cost of a GPU per hour owned", AMOUNT, 0.342),
    "utilization": ("", "u", "share of all hours that are used", FRACTION, 0.6),
    "usd_per_hour": ("USD/hour", "c_{hr}", "price of one rented GPU-hour", POSITIVE, 6.88),
    "committed": ("", "\\chi", "rented hours are paid used or not (reserved)", FLAG, 0),
    "owned_usd_per_hour": ("USD/hour", "c_{own}", "owned cost per GPU-hour used", POSITIVE, 3.1),
    "rented_usd_per_hour": ("USD/hour", "c_{rent}", "rented cost per GPU-hour used", POSITIVE, 6.88),
    "break_even_utilization": ("", "u^*", "utilization above which owning is cheaper", POSITIVE, 0.264),
    "break_even_months": ("month", "m^*", "months until owning has paid", POSITIVE, 13.2),
    "training_tokens": ("", "D", "training tokens", COUNT, 1e12),
    "epochs": ("", "E_p", "passes over the tokens", POSITIVE, 1),
    "mfu": ("", "\\mathrm{MFU}", "model FLOPs utilization", FRACTION, 0.4),
    "training_flops": ("FLOP", "C_{6ND}", "FLOP of a training run", POSITIVE, 4.2e23),
    "gpu_hours": ("hour", "H", "GPU-hours of a training run", POSITIVE, 297e3),
    "training_days": ("day", "T_{days}", "days of a training run", POSITIVE, 12),
    "usd_per_million_tokens": ("USD", "u_{Mtok}", "cost of a million output tokens", POSITIVE, 4.05),
    "compute_usd": ("USD", "U_c", "compute", AMOUNT, 991),
    "stored_bytes": ("byte", "S_d", "bytes stored", AMOUNT, 500e9),
    "usd_per_gb_month": ("USD/(gigabyte*month)", "u_s", "storage price", AMOUNT, 0.023),
    "months": ("month", "m", "months stored", AMOUNT, 1),
    "storage_usd": ("USD", "U_s", "storage", AMOUNT, 28),
    "egress_bytes": ("byte", "S_e", "bytes that leave the cloud in a month", AMOUNT, 500e9),
    "from_bytes": ("byte", "S_0", "lower edge of the tier", AMOUNT, 100e9),
    "to_bytes": ("byte", "S_1", "upper edge of the tier", POSITIVE, 10e12),
    "usd_per_gb": ("USD/gigabyte", "u_x", "price of the tier", AMOUNT, 0.09),
    "egress_tier_usd": ("USD", "U_x", "egress paid within one tier", AMOUNT, 36),
    "egress_usd": ("USD", "U_e", "egress", AMOUNT, 36),
    "premium": ("", "\\pi", "managed service's mark-up on the cloud's own compute rate", AMOUNT, 0.3),
    "managed_usd": ("USD", "U_m", "managed-service premium", AMOUNT, 297),
    "total_usd": ("USD", "U", "four-row total", AMOUNT, 1352),
}
QUANTITIES = {name: Quantity(*row) for name, row in _ROWS.items()}


def check(name, value, where=""):
    """Raise ValueError unless a plain number, array or column is allowed for the quantity `name`.

    `where` opens the message (a file, a row, a law). Symbols, expressions and unit-carrying values pass unchecked.
    """
    kind = type(value)
    if kind is float or kind is int:
        if not _allowed(value, *DOMAINS[QUANTITIES[name].allowed]):
            raise ValueError(_message(name, value, where))
        return
    if kind.__module__.partition(".")[0] in ("altair", "sympy", "pint"):
        return
    if hasattr(value, "dtype") and getattr(value, "ndim", 0) > 0:
        _check_column(name, value, where)
    elif hasattr(value, "dtype") and value.dtype.kind in "iufb":
        check(name, value.item(), where)
    elif kind is bool and QUANTITIES[name].allowed == FLAG:
        return
    else:
        raise ValueError(_message(name, value, where))


def _allowed(value, low, low_included, high, whole):
    above = value >= low if low_included else value > low
    return above and value <= high and not (whole and value % 1)


def _check_column(name, column, where):
    if column.dtype.kind not in "iufb":
        raise ValueError(_message(name, list(column)[0], where))
    low, low_included, high, whole = DOMAINS[QUANTITIES[name].allowed]
    good = (column >= low if low_included else column > low) & (column <= high)
    if whole:
        good &= column % 1 == 0
    if not good.all():
        flat = column.ravel() if hasattr(column, "ravel") else column.to_numpy()
        bad = next(value for value in flat.tolist() if not _allowed(value, low, low_included, high, whole))
        raise ValueError(_message(name, bad, where))


def _message(name, value, where):
    quantity = QUANTITIES[name]
    unit = f" {quantity.unit}" if quantity.unit else ""
    return f"{where + ': ' if where else ''}{name} ({quantity.meaning}) is {value!r}; allowed: {quantity.allowed}{unit}"
