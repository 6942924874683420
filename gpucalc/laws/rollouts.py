"""Rollouts: the answers that a policy writes in a step of its training, the engines that write them, and how long that takes.

All answers of a step start together, so the batch of an engine shrinks as they end, and the longest one holds it back.
`rollout_parallel` is the split of an engine, `tensor_parallel` that of training.
"""
from ..core.arithmetic import ceil, exp, floor, maximum, minimum, quotient, where
from ..core.law import law
from .choosing import split_misfits
from .collectives import all_reduce_seconds, engine_all_reduce_seconds
from .lengths import _sigma, late_deviations
from .topology import group_bandwidth


# Lengths of answers

@law
def step_answers(prompts_per_step=..., group_size=...):
    """Answers of a step (count): a group to each prompt. DeepSeekMath (arXiv 2402.03300, section 4.1)."""
    return prompts_per_step * group_size


@law
def output_spread(output, output_p95=0):
    """Standard deviation of the logarithm of answer lengths (ratio), lognormal by mean and 95th percentile; 0 if all are alike.

    From ln(p95 / mean) = z s - s^2 / 2, z being the normal distribution's p95; a p95 beyond 3.9 means counts as that.
    """
    return _sigma(output, output_p95)


@law
def longest_answer(output, output_spread, step_answers, output_limit=0):
    """Tokens of the longest answer of a step (count), at most `output_limit`, 0 for none.

    The largest of n normal values is near the point that all but 5/8 of n + 1/4 stay below. Blom 1958, Statistical Estimates and
    Transformed Beta-Variables.
    """
    largest = late_deviations.formula(0.625 / (step_answers + 0.25))
    drawn = maximum(output * exp(output_spread * largest - output_spread**2 / 2), output)
    return where(output_limit > 0, minimum(drawn, maximum(output_limit, output)), drawn)


@law
def rollout_context(prompt, output, output_spread, longest_answer):
    """Tokens in the context of a sequence, mean over all passes (count): long answers are in more of them.

    Half of E[x^2] / E[x], which is the mean times exp(s^2) for lognormal lengths.
    """
    return prompt + minimum(output * exp(output_spread**2), longest_answer) / 2


@law
def trained_sequence(prompt, output):
    """Tokens of a sequence that is trained on, mean (count): packed, short ones make room for long ones."""
    return prompt + output


@law
def longest_sequence_trained(prompt, longest_answer):
    """Tokens of the longest sequence that is trained on (count): a micro-batch has to hold it."""
    return ceil(prompt + longest_answer)


# Engines and their memory

@law
def rollout_gpus(gpus, trainer_share=1):
    """GPUs that write answers (count): those that training leaves, or all in turn. HybridFlow (arXiv 2409.19256, section 2.3)."""
    return where(trainer_share < 1, gpus * (1 - trainer_share), gpus)


@law
def rollout_engines(rollout_gpus, rollout_parallel=1):
    """Engines that write answers, each over so many GPUs (count)."""
    return maximum(floor(rollout_gpus / rollout_parallel), 1)


@law
def rollout_misfits(heads, kv_heads, intermediate, rollout_gpus, gpus_per_node, rollout_parallel=1, window_kv_heads=0,
                    linear_value_heads=0):
    """Rules of the engine's split that are broken (count): it divides the model, the GPUs it has, and stays in a node."""
    left = rollout_gpus - floor(rollout_gpus / rollout_parallel) * rollout_parallel
    apart = where(rollout_parallel > gpus_per_node, 1, 0)
    split = split_misfits.formula(heads, kv_heads, intermediate, rollout_parallel, window_kv_heads, linear_value_heads)
    return split + where(left > 0, 1, 0) + apart


@law
def rollout_weight_bytes(weight_bytes, rollout_parallel=1):
    """Weights of the engine on one GPU (bytes)."""
    return weight_bytes / rollout_parallel


@law
def rollout_cache_share(kv_heads, rollout_parallel=1, kv_lora_rank=0):
    """Share of the cache on one of the engine's GPUs (ratio): KV heads divide down to one each, a latent not at all.

    Pope et al. 2022 (arXiv 2211.05102, section 3.3).
    """
    return 1 / where(kv_lora_rank > 0, 1, minimum(rollout_parallel, kv_heads))


@law
def rollout_sequence_bytes(sequence_kv_bytes, rollout_cache_share):
    """Cache of one sequence on one of the engine's GPUs (bytes)."""
    return sequence_kv_bytes * rollout_cache_share


@law
def rollout_room_bytes(memory_bytes, rollout_weight_bytes, staying_bytes, memory_utilization=...):
    """Memory that an engine has for its cache on one GPU (bytes); 0 if the rest does not fit."""
    return maximum(memory_bytes * memory_utilization - rollout_weight_bytes - staying_bytes, 0)


@law
def rollout_places(step_answers, rollout_engines, rollout_room_bytes, rollout_sequence_bytes, stale_steps):
    """Answers that an engine writes at once (count): what it has to write, as far as the cache has room; 0 without room.

    Where a policy may be some steps old the answers of as many further steps are in hand. AReaL (arXiv 2505.24298, section 5.1).
    """
    asked = step_answers * (1 + stale_steps) / rollout_engines
    return minimum(asked, floor(rollout_room_bytes / rollout_sequence_bytes))


@law
def missing_places(rollout_places):
    """Whether an engine has room for no answer at all (0 or 1)."""
    return where(rollout_places < 1, 1, 0)


@law
def rollout_bytes(rollout_weight_bytes, rollout_sequence_bytes, rollout_places, staying_bytes):
    """Bytes on one GPU while answers are written: weights, the cache of all slots, and what stays of the trainer."""
    return rollout_weight_bytes + rollout_sequence_bytes * rollout_places + staying_bytes


# Passes

@law
def stale_steps(trainer_share=1, staleness=0):
    """Steps by which the policy that writes may be older than the one that learns (count): none on shared GPUs."""
    return where(trainer_share < 1, staleness, 0)


@law
def rollout_passes(step_answers, rollout_engines, rollout_places, output, longest_answer, stale_steps):
    """Passes of an engine for its answers of a step (count); infinite without a slot.

    All its tokens over its slots, and at the end the wait for the longest answer. Answers that may be older are written while
    others wait, so that slots stay filled: AReaL (arXiv 2505.24298, section 4).
    """
    filled = quotient(step_answers / rollout_engines * output, rollout_places)
    return where(stale_steps > 0, maximum(filled, longest_answer / (1 + stale_steps)), filled + longest_answer - output)


@law
def rollout_batch(step_answers, rollout_engines, output, rollout_passes):
    """Sequences in a pass, mean over all passes of a step (count): it shrinks as answers end."""
    return step_answers / rollout_engines * output / rollout_passes


@law
def rollout_exchange_seconds(batch, hidden, layers, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth, latency=0,
                             link_efficiency=1, base_latency=0, quick_latency=0, quick_base_latency=0, quick_bandwidth=0,
                             switch_latency=0, switch_share=0, kernel_seconds=0, peer_reads=0, rollout_parallel=1,
                             activation_element_bytes=...):
    """All-reduces of one pass over the engine's GPUs (s): two a layer. Pope et al. 2022 (arXiv 2211.05102).

    Beyond the reach of their link GPUs pass it around a ring.
    """
    link = group_bandwidth.formula(rollout_parallel, port_bandwidth, group_ports, peer_ports, reach, beyond_bandwidth)
    message = batch * hidden * activation_element_bytes
    near = engine_all_reduce_seconds.formula(message, rollout_parallel, link, latency, link_efficiency, base_latency,
                                             quick_latency, quick_base_latency, quick_bandwidth, switch_latency, switch_share,
                                             kernel_seconds, peer_reads)
    ring = all_reduce_seconds.formula(message, rollout_parallel, link, latency, link_efficiency, base_latency)
    return 2 * layers * where(rollout_parallel > reach, ring, near)


@law
def rollout_pass_seconds(batch, token_flops, read_bytes, token_attention_flops, read_kv_bytes, rollout_cache_share, norm_values,
                         turned_values, activated_values, routed_values, rollout_exchange_seconds, launch_seconds, product_rate,
                         attention_rate, memory_rate, kernel_start_seconds, expert_extra_flops, rollout_parallel=1,
                         activation_element_bytes=...):
    """One pass of an engine with its mean batch (s): as `replica_pass_seconds`, of its own split.

    A pass grows evenly with its batch while it reads memory, so the mean batch gives the time of all passes.
    """
    products = maximum(batch * (token_flops + expert_extra_flops) / product_rate, read_bytes / memory_rate) / rollout_parallel
    attention = maximum(batch * token_attention_flops / (rollout_parallel * attention_rate),
                        read_kv_bytes * rollout_cache_share / memory_rate)
    values = norm_values + routed_values + (turned_values + activated_values) / rollout_parallel
    moved = batch * values * activation_element_bytes / memory_rate
    return products + attention + moved + rollout_exchange_seconds + launch_seconds + kernel_start_seconds


@law
def rollout_prompt_seconds(rollout_engines, prompt_product_flops, prompt_attention_flops, product_rate, attention_rate,
                           prefilled_tokens, expert_extra_flops, rollout_parallel=1, prompts_per_step=...):
    """Time in which an engine reads the prompts of a step (s), each once for its whole group."""
    one = (prompt_product_flops + prefilled_tokens * expert_extra_flops) / product_rate + prompt_attention_flops / attention_rate
    return prompts_per_step / rollout_engines * one / rollout_parallel


@law
def rollout_seconds(rollout_prompt_seconds, rollout_passes, rollout_pass_seconds):
    """Time in which the answers of a step are written (s)."""
    return rollout_prompt_seconds + rollout_passes * rollout_pass_seconds
