"""Post-training: what a reference adds to a step, and a step in which the policy writes the answers that it learns from.

A step of GRPO has three parts, on the same GPUs or on GPUs apart: engines write a group of answers to each prompt (`rollouts`),
frozen models score them, and the policy is trained on them.
"""
from ..core.arithmetic import SECONDS_PER_HOUR, ceil, maximum, where
from ..core.law import law
from .choosing import layout_misfits, left_data_parallel


# Where training is

@law
def trainer_data_parallel(gpus, trainer_share=1, tensor_parallel=1, pipeline_parallel=1, context_parallel=1):
    """Data-parallel degree of training on its share of the job's GPUs (count)."""
    return left_data_parallel.formula(gpus * trainer_share, tensor_parallel, pipeline_parallel, context_parallel)


@law
def packed_micro_batches(global_batch, micro_batch, data_parallel=1):
    """Micro-batches of a replica where sequences are packed and need not divide (count)."""
    return ceil(global_batch / (data_parallel * micro_batch))


@law
def trainer_misfits(gpus, heads, kv_heads, intermediate, layers, gpus_per_node, trainer_share=1, data_parallel=1,
                    tensor_parallel=1, pipeline_parallel=1, context_parallel=1, expert_parallel=1, experts=0, window_kv_heads=0,
                    linear_value_heads=0):
    """Rules of a layout of the trainer that are broken (count); packed sequences divide in any way."""
    return layout_misfits.formula(
        gpus * trainer_share, data_parallel, context_parallel, heads, kv_heads, intermediate, layers, gpus_per_node, 1, 1,
        data_parallel, tensor_parallel, pipeline_parallel, 1, context_parallel, expert_parallel, experts, window_kv_heads,
        linear_value_heads)


# Memory

@law
def reference_bytes(held_weight_bytes, adapters, references=0):
    """Frozen weights beside the policy on one GPU (bytes): as many as its own; under adapters the base is the reference.

    InstructGPT (arXiv 2203.02155, section 3.5) and DPO (arXiv 2305.18290, section 4) keep one; DAPO (arXiv 2503.14476, section
    2.3) has none.
    """
    return references * (1 - adapters) * held_weight_bytes


@law
def policy_bytes(training_bytes, reference_bytes, held_state_bytes, critic=0, offloaded_states=0):
    """Bytes that training takes on one GPU with all that stands beside the policy. GRPO has no critic, PPO one like the policy.

    DeepSeekMath (arXiv 2402.03300, section 4.1.1). A reference may rest in the host's memory, as it scores before training.
    """
    return training_bytes + (1 - offloaded_states) * reference_bytes + critic * held_state_bytes


@law
def staying_bytes(held_state_bytes, reference_bytes, trainer_share=1, offloaded_states=0):
    """State of the trainer that stays on an engine's GPU (bytes): none on GPUs apart, none if it goes to the host meanwhile."""
    return where(trainer_share < 1, 0, 1 - offloaded_states) * (held_state_bytes + reference_bytes)


# Time of a step

@law
def forward_flops(layer_token_flops, attention_token_flops, step_tokens, layers, vocab, hidden):
    """FLOP of a forward pass over the tokens of a step (count)."""
    return step_tokens * (layers * (layer_token_flops + attention_token_flops) + 2 * vocab * hidden)


@law
def scoring_seconds(step_seconds, forward_flops, hardware_flops, references=0, old_scores=0, critic=0):
    """Time in which trained-on tokens are scored (s), at the speed of training: a forward pass of the reference, one of the
    policy before its update, one of a critic. DeepSeekMath (arXiv 2402.03300, equations 3 and 4).
    """
    return (references + old_scores + critic) * step_seconds * forward_flops / hardware_flops


@law
def learning_seconds(step_seconds, scoring_seconds, critic=0):
    """Time in which the answers of a step are scored and trained on (s); a critic is trained like the policy."""
    return step_seconds * (1 + critic) + scoring_seconds


@law
def sync_seconds(weight_bytes, rollout_gpus, sync_bandwidth=...):
    """Time in which the engines get the new weights (s): split anew, each of their GPUs takes its part of the stream."""
    return weight_bytes / (rollout_gpus * sync_bandwidth)


@law
def swap_seconds(held_state_bytes, reference_bytes, trainer_share=1, offloaded_states=0, swap_bandwidth=...):
    """Time of what goes to the host in a step and comes back (s): the trainer's state while its GPUs write answers, and the
    reference while it does not score.
    """
    return offloaded_states * 2 * (where(trainer_share < 1, 0, held_state_bytes) + reference_bytes) / swap_bandwidth


@law
def grpo_step_seconds(rollout_seconds, learning_seconds, sync_seconds, swap_seconds, stale_steps):
    """Time of a step (s): one part after the other; on GPUs apart, with answers that may be older, both at once.

    HybridFlow (arXiv 2409.19256, section 2.3), AReaL (arXiv 2505.24298, section 4).
    """
    both = where(stale_steps > 0, maximum(rollout_seconds, learning_seconds), rollout_seconds + learning_seconds)
    return both + sync_seconds + swap_seconds


@law
def rollout_share(rollout_seconds, grpo_step_seconds):
    """Share of a step in which answers are written (ratio)."""
    return rollout_seconds / grpo_step_seconds


@law
def grpo_step_flops(step_answers, output, sequence_decode_flops, step_flops, forward_flops, references=0, old_scores=0,
                    critic=0):
    """FLOP of a step (count): a decode for each token, forward passes that score, and training."""
    return (step_answers * output * sequence_decode_flops + (references + old_scores + critic) * forward_flops
            + (1 + critic) * step_flops)


@law
def grpo_gpu_hours(rollout_steps, grpo_step_seconds, gpus):
    """GPU-hours of the steps of a run (h)."""
    return rollout_steps * grpo_step_seconds * gpus / SECONDS_PER_HOUR


# Preferences

@law
def preference_tokens(preference_pairs, sequence):
    """Tokens of a run on pairs (count): of each the chosen answer and the rejected one. DPO (arXiv 2305.18290, section 4)."""
    return 2 * preference_pairs * sequence


@law
def preference_flops(active_params, training_tokens, references=0, epochs=1):
    """FLOP of a run on pairs (count): 6 a parameter and token, and 2 for a reference. Kaplan et al. 2020 (arXiv 2001.08361)."""
    return (6 + 2 * references) * active_params * training_tokens * epochs
