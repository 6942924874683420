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
    "shared_gate": ("", "g_s", "the shared experts have a gate", FLAG, 0),
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
    "kept_element_bytes": ("byte", "e_k", "bytes of a weight that is not quantized", POSITIVE, 2),
    "embedding_optimizer_element_bytes": ("byte", "e_{oe}", "bytes of optimizer state per weight of the embeddings", AMOUNT, 8),
    "factored_element_bytes": ("byte", "e_{fac}", "bytes of a row or column statistic of a factored optimizer", AMOUNT, 0),
    "logit_element_bytes": ("byte", "e_v", "bytes of one output logit", AMOUNT, 2),
    "loss_element_bytes": ("byte", "e_l", "bytes the loss adds for each logit", AMOUNT, 12),
    "step_element_bytes": ("byte", "e_s", "bytes the optimizer step needs for itself per trained weight", AMOUNT, 0),
    "adapters": ("", "\\alpha_l", "only low-rank adapters are trained", FLAG, 0),
    "adapt_query": ("", "\\alpha_q", "adapter on the query projection", FLAG, 1),
    "adapt_key": ("", "\\alpha_k", "adapter on the key projection (MLA: the compression)", FLAG, 1),
    "adapt_value": ("", "\\alpha_v", "adapter on the value projection (MLA: the expansion)", FLAG, 1),
    "adapt_output": ("", "\\alpha_o", "adapter on the attention output projection", FLAG, 1),
    "adapt_mlp": ("", "\\alpha_f", "adapters on all matrices of the MLPs and experts", FLAG, 0),
    "lora_rank": ("", "r", "rank of the adapters, 0 without", COUNT0, 16),
    # a stored format of weights
    "value_bits": ("", "b_v", "bits of a stored value without its scales", COUNT, 4),
    "block": ("", "n_b", "weights that share a scale", COUNT, 128),
    "block_bits": ("", "c_b", "bits of the scales and offsets of a block", COUNT0, 20),
    "superblock": ("", "n_s", "weights that share a second scale", COUNT, 256),
    "superblock_bits": ("", "c_s", "bits of the second scales and offsets", COUNT0, 32),
    "keep_embeddings": ("", "\\kappa_e", "embeddings and output head are not quantized", FLAG, 1),
    "stored_bits": ("", "b_w", "bits of a stored weight with its scales", POSITIVE, 4.15625),
    "format_element_bytes": ("byte", "e_q", "bytes of a stored weight with its scales", POSITIVE, 0.51953125),
    "quantized_params": ("", "P_q", "parameters stored in the format", COUNT, 68452360192),
    "quantized_weight_bytes": ("byte", "M_q", "bytes of the weights in the format", POSITIVE, 39765832864),
    "serving_bytes": ("byte", "M_{srv}", "bytes of weights and cache", POSITIVE, 61240669344),
    "affordable_bits": ("", "b_{max}", "bits a weight may take for all to fit", AMOUNT, 6.3),
    # a training job
    "trainable_params": ("", "P_t", "parameters that are trained", COUNT, 70553706496),
    "lora_params": ("", "P_{lora}", "parameters of the adapters", COUNT0, 65536000),
    "lora_attention_params": ("", "P_{la}", "adapter parameters of one attention block", COUNT0, 819200),
    "lora_mlp_params": ("", "P_{lf}", "adapter parameters of one MLP", COUNT0, 0),
    "lora_expert_params": ("", "P_{le}", "adapter parameters of one expert", COUNT0, 0),
    "bytes_per_param": ("byte", "B_P", "bytes of model state per trained parameter", POSITIVE, 18),
    "weight_bytes": ("byte", "M_w", "bytes of the weights", POSITIVE, 141107412992),
    "state_bytes": ("byte", "M_s", "bytes of weights, gradients and optimizer state", POSITIVE, 1269966716928),
    "zero_stage": ("", "z", "ZeRO stage", LEVEL3, 3),
    "offload_optimizer": ("", "\\omega", "master weights and optimizer state are kept by the host", FLAG, 0),
    "persistent_gradients": ("", "\\gamma", "gradients are held from one backward pass to the next", FLAG, 1),
    "gpu_adapter_params": ("", "N_l", "adapter parameters on one GPU outside the routed experts", AMOUNT, 0),
    "gpu_expert_adapter_params": ("", "N_{le}", "adapter parameters on one GPU inside the routed experts", AMOUNT, 0),
    "gpu_trained_params": ("", "N_t", "trained parameters on one GPU outside the routed experts", AMOUNT, 70553706496),
    "gpu_trained_expert_params": ("", "N_{te}", "trained parameters on one GPU inside the routed experts", AMOUNT, 0),
    "factored_statistics": ("", "n_{fac}", "row and column statistics of all matrices on one GPU", AMOUNT, 18e6),
    "held_weight_bytes": ("byte", "M_{hw}", "weights", AMOUNT, 17638426624),
    "held_gradient_bytes": ("byte", "M_{hg}", "gradients", AMOUNT, 35276853248),
    "held_master_bytes": ("byte", "M_{hm}", "master weights", AMOUNT, 35276853248),
    "held_optimizer_bytes": ("byte", "M_{ho}", "optimizer state", AMOUNT, 70553706496),
    "held_state_bytes": ("byte", "M_h", "model state on one GPU", AMOUNT, 158745839616),
    "micro_batch": ("", "b", "sequences in one forward pass on one GPU", COUNT, 1),
    "sequence": ("", "s", "training sequence length in tokens", COUNT, 2048),
    "recompute": ("", "\\rho", "activation recompute: 0 none, 1 selective, 2 full", LEVEL2, 1),
    "fusion": ("", "\\psi", "operations: 0 plain, 1 fused norms, 2 compiled", LEVEL2, 1),
    "expanded_kv": ("", "\\epsilon_{kv}", "keys and values are copied to every query head", FLAG, 0),
    "flash_attention": ("", "\\phi", "attention never writes the score matrix", FLAG, 0),
    "dropout": ("", "\\delta", "dropout masks are kept", FLAG, 0),
    "sequence_parallel": ("", "\\sigma", "norms and inputs split along the sequence too", FLAG, 0),
    "whole_values": ("", "n_w", "kept values of a token in a layer that tensor parallel leaves whole", POSITIVE, 32768),
    "split_values": ("", "n_d", "kept values of a token in a layer that tensor parallel divides", POSITIVE, 133120),
    "in_flight_layers": ("", "L_f", "layers that keep activations, counted for each micro-batch in flight", AMOUNT, 80),
    "score_bytes": ("byte", "A_s", "attention scores of one layer", AMOUNT, 2147483648),
    "mlp_width": ("", "f_t", "width of the MLPs one token passes through in a layer, mean of the layers", POSITIVE, 28672),
    "layer_activation_bytes": ("byte", "A_l", "bytes one layer keeps for the backward pass", POSITIVE, 1140850688),
    "activation_bytes": ("byte", "A", "bytes all layers keep for the backward pass", AMOUNT, 2684354560),
    "recomputed_bytes": ("byte", "A_r", "one layer's dropped activations, made again", AMOUNT, 0),
    "activation_gradient_bytes": ("byte", "A_g", "gradients of one layer's activations", AMOUNT, 2500000000),
    "logits_bytes": ("byte", "A_v", "logits and inputs of the output head", AMOUNT, 2101346304),
    "loss_chunks": ("", "n_l", "chunks in which the loss is computed", COUNT, 1),
    "loss_bytes": ("byte", "A_c", "softmax and gradient of the logits", AMOUNT, 12000000000),
    "gathered_bytes": ("byte", "M_g", "weights and gradients that ZeRO holds whole for a moment", AMOUNT, 0),
    "resident_bytes": ("byte", "M_0", "bytes there in every moment of a step", AMOUNT, 158745839616),
    "step_bytes": ("byte", "M_{tmp}", "what the optimizer step needs for itself", AMOUNT, 0),
    "loss_moment_bytes": ("byte", "M_1", "bytes at the loss", AMOUNT, 210000000000),
    "head_gradient_bytes": ("byte", "A_h", "gradient of the output head", AMOUNT, 2101346304),
    "head_moment_bytes": ("byte", "M_{1h}", "bytes in the output head's backward pass", AMOUNT, 200000000000),
    "first_layer_moment_bytes": ("byte", "M_2", "bytes as the backward pass starts", AMOUNT, 200000000000),
    "last_layer_moment_bytes": ("byte", "M_3", "bytes as the backward pass ends", AMOUNT, 170000000000),
    "step_moment_bytes": ("byte", "M_4", "bytes at the optimizer step", AMOUNT, 160000000000),
    "peak_bytes": ("byte", "M_p", "most bytes that tensors take on one GPU", POSITIVE, 210000000000),
    "fragmentation": ("", "\\varphi", "share of memory that fragmentation adds", SHARE, 0.05),
    "fragmentation_bytes": ("byte", "M_f", "fragmentation", AMOUNT, 10500000000),
    "framework_bytes": ("byte", "M_c", "CUDA context, kernels and communication buffers", AMOUNT, 1e9),
    "training_bytes": ("byte", "M", "bytes on one GPU while training", POSITIVE, 250000000000),
    "host_bytes": ("byte", "M_{cpu}", "master weights and optimizer state of one GPU", AMOUNT, 105830559744),
    # what one GPU holds
    "stage_layers": ("", "L_g", "layers on one GPU of the fullest pipeline stage", COUNT, 10),
    "stage_moe_layers": ("", "L_{gm}", "mixture-of-experts layers on one GPU", COUNT0, 0),
    "gpu_kv_heads": ("", "g_{kv}", "key and value heads on one GPU", FACTOR, 1),
    "gpu_attention_params": ("", "N_a", "attention parameters of one layer on one GPU", POSITIVE, 18874368),
    "gpu_mlp_params": ("", "N_f", "parameters of one MLP on one GPU", AMOUNT, 88080384),
    "gpu_layer_params": ("", "N_L", "parameters of the layers on one GPU, without routed experts", AMOUNT, 8556000000),
    "gpu_expert_params": ("", "N_e", "parameters of the routed experts on one GPU", AMOUNT, 0),
    "gpu_embedding_params": ("", "N_v", "parameters of embeddings, final norm and head on one GPU", AMOUNT, 262676480),
    "gpu_params": ("", "N_g", "parameters on one GPU", POSITIVE, 8819000000),
    "gpu_tokens": ("", "m_g", "tokens of a micro-batch on one GPU", POSITIVE, 8192),
    "context_parallel": ("", "c_p", "context-parallel degree", COUNT, 1),
    "expert_parallel": ("", "e_p", "expert-parallel degree, drawn from data and context parallel", COUNT, 1),
    "last_stage": ("", "\\lambda", "the last pipeline stage, not the first", FLAG, 0),
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
    "layers_per_cache": ("", "\\xi", "layers that share one cache, mean", FACTOR, 2),
    "prefix": ("", "c_0", "tokens at the start that all sequences share", COUNT0, 1024),
    "shared_kv_bytes": ("byte", "K_0", "cache bytes of a batch with a shared prefix", POSITIVE, 75497472000),
    "block_tokens": ("", "b_c", "tokens in a block of the cache", COUNT, 16),
    "blocks_per_sequence": ("", "b_s", "blocks of one sequence", COUNT, 512),
    "paged_kv_bytes": ("byte", "K_p", "cache bytes of one sequence in whole blocks", POSITIVE, 2684354560),
    "cache_share": ("", "\\gamma", "share of the cache on one GPU", FRACTION, 0.125),
    "gpu_kv_bytes_per_token": ("byte", "K_g", "cache bytes of one token on one GPU", POSITIVE, 40960),
    "gpu_weight_bytes": ("byte", "M_{w1}", "weights on one GPU", POSITIVE, 17638000000),
    "batched_tokens": ("", "T_b", "most tokens in one forward pass of an engine", COUNT, 8192),
    "max_sequences": ("", "n_q", "most sequences an engine runs together", COUNT, 256),
    "forward_bytes": ("byte", "A_f", "activations of a forward pass", POSITIVE, 578813952),
    "sampling_bytes": ("byte", "A_q", "tensors over the vocabulary while tokens are drawn", POSITIVE, 853671936),
    "profile_bytes": ("byte", "A_p", "peak activations of an engine's trial run", POSITIVE, 853671936),
    "memory_utilization": ("", "\\mu", "share of GPU memory an engine may use", FRACTION, 0.9),
    "engine_room_bytes": ("byte", "K_e", "cache memory an engine reserves on one GPU", AMOUNT, 57e9),
    "cache_blocks": ("", "N_b", "blocks of the engine's cache", COUNT0, 87000),
    "cache_tokens": ("", "N_c", "tokens the engine's cache holds", COUNT0, 1392000),
    "concurrency": ("", "n_e", "sequences of full length the engine's cache holds", AMOUNT, 169),
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
