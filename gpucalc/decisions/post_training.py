"""Post-training as decisions, made of those of training: pairs of answers, and answers that the policy writes itself.

On pairs a step takes longer by what a reference scores. A policy that writes its answers shares the GPUs of a job with the
engines that write them, in turn or split between both; of each split the layout with the shortest step is kept, then the engine.
"""
from typing import Any

from ..core.quantities import DEFAULTS
from .rule import Figure, Limit

# Shares of a job's GPUs that train; 1: all GPUs train and write in turn.
SHARES = (1, 0.5, 0.25)
ENGINES = (1, 2, 4, 8)
WRITING = {"data_parallel": "trainer_data_parallel", "micro_batches": "packed_micro_batches",
           "sequence_parallel": "usual_sequence_parallel"}
# A micro-batch has to hold the longest sequence.
LONGEST = {"sequence": "longest_sequence_trained"}


def _changed(limits, **others):
    """The limits with others in place of those of these laws."""
    return tuple(others.get(limit.of, limit) for limit in limits)


def preferences(layout: Any, run: Any) -> tuple:
    """The steps that decide a run on pairs, from those of training."""
    memory = Limit("policy_bytes", "memory_bytes", "memory", at="high", early=True)
    split = layout._replace(
        figures=(Figure("layout_misfits"), Figure("policy_bytes", worst="last_stage", band="training_bytes"),
                 Figure("learning_seconds", worst="last_stage", band="step_seconds")),
        limits=_changed(layout.limits, training_bytes=memory), objective=("learning_seconds", "policy_bytes"))
    ends = tuple(f"{end}_learning_seconds" for end in ("low", "plan", "high"))
    return split, run._replace(given=run.given | {"training_flops": "preference_flops"},
                               spread=run.spread | {"step_seconds": ends})


def rollouts(layout: Any, run: Any) -> tuple:
    """The steps that decide a run of GRPO, from those of training."""
    memory = Limit("policy_bytes", "memory_bytes", "memory", at="high", early=True)
    split = layout._replace(
        axes=layout.axes | {"trainer_share": SHARES}, per=("trainer_share",), given=WRITING,
        figures=(Figure("trainer_misfits"), Figure("policy_bytes", WRITING | LONGEST, "training_bytes", "last_stage"),
                 Figure("held_state_bytes", worst="last_stage"), Figure("reference_bytes", worst="last_stage"),
                 Figure("learning_seconds", worst="last_stage")),
        limits=_changed(layout.limits, training_bytes=memory,
                        layout_misfits=Limit("trainer_misfits", 0, "no layout splits the job that way", early=True)),
        objective=("learning_seconds", "policy_bytes"))
    engine = split._replace(
        name="engine", joined=(), axes={"rollout_parallel": ENGINES}, per=(), sparing=(),
        figures=(Figure("rollout_misfits"), Figure("missing_places"), Figure("rollout_share"),
                 Figure("grpo_step_seconds", band="grpo_step_seconds")),
        limits=(Limit("rollout_misfits", 0, "the model does not split that way", early=True),
                Limit("missing_places", 0, "memory for an answer", early=True)),
        objective=("grpo_step_seconds",),
        shown=("rollout_seconds", "rollout_gpus", "rollout_places", "rollout_bytes"))
    ends = tuple(f"{end}_grpo_step_seconds" for end in ("low", "plan", "high"))
    spread = {name: each for name, each in run.spread.items() if name not in ("step_seconds", "mfu")}
    return split, engine, run._replace(
        given=run.given | WRITING | {"run_gpu_hours": "grpo_gpu_hours"}, spread=spread | {"grpo_step_seconds": ends},
        likely=run.likely | {"likely_gpu_hours": "grpo_gpu_hours"}, shown=("grpo_gpu_hours", "interruption_slowdown"))


# What such a case takes where it says nothing. The policy scores its answers again, as engines give other probabilities.
USUAL: dict[str, dict[str, Any]] = {
    "dpo": {"training_tokens": "preference_tokens", "references": 1},
    "grpo": {"sequence": "trained_sequence", "global_batch": "step_answers", "batch": "rollout_batch",
             "context": "rollout_context", "references": 1, "old_scores": 1, "offloaded_states": 1, "staleness": 1,
             **{name: DEFAULTS[name].value for name in ("prompts_per_step", "group_size")}},
}
KEYS = {"dpo": ("kind", "gpus", "offer"), "grpo": ("kind", "gpus", "trainer_share", "offer")}
