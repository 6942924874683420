"""Post-training against the published figures of the page, and its pictures."""
from itertools import pairwise

import pytest

from book.components.measured import compare
from book.pages.post_training import copies_picture, step_picture
from gpucalc import Case, rollouts as ro
from gpucalc.decisions.jobs import JOBS, WRITING
from gpucalc.decisions.layouts import on_network
from gpucalc.rows import bands
from tests.pictures import boxes, widths


def test_published_steps_are_slower_by_a_factor_that_the_band_knows():
    found = compare("post_training")
    steps = found[found["law"] == "grpo_step_seconds"]
    ratio = steps["value"] / steps["predicted"]
    assert len(steps) >= 29 and 1.4 < ratio.median() < 2.2
    known = bands.errors("post-training step")
    assert known.sources >= 2 and known.low < ratio.median() < known.high
    assert ratio.between(known.low, known.high).mean() >= 0.8


@pytest.fixture(scope="module")
def step():
    given = Case(model="Qwen3-32B", gpu="H100 SXM 80GB", recipe="mixed-adamw-fp32-grads", efficiency="achieved", **JOBS["grpo"].usual | WRITING | dict(
        gpus=32, prompts_per_step=64, group_size=32, prompt=150, output=3000, output_p95=8000, output_limit=16000, references=1,
        tensor_parallel=4, pipeline_parallel=4, recompute=2, rollout_parallel=4, micro_batch=1, zero_stage=1))
    return on_network(given, "InfiniBand NDR")


def test_a_step_in_turn_and_apart_to_scale(step):
    apart = step.but(trainer_share=0.5)
    shown, took = step_picture(step, apart), [each.terms("rollout_share") for each in (step, apart)]
    scale = 304 / max(each["grpo_step_seconds"] for each in took)
    writes = boxes(shown, "a")
    assert [box.right - box.left + 1 for box in writes] == pytest.approx([each["rollout_seconds"] * scale for each in took], rel=0.01)
    for number, color in enumerate("gb"):
        seconds = [(each["scoring_seconds"], each["learning_seconds"] - each["scoring_seconds"])[number] * scale for each in took]
        assert [wide + 1 for wide in widths(shown, color)] == pytest.approx(seconds, rel=0.01)
    # In turn each part begins where the one before ends; apart the engines write while the trainer works.
    scores, trains = boxes(shown, "g"), boxes(shown, "b")
    assert scores[0].left == pytest.approx(writes[0].right + 1, abs=0.2) and trains[0].left == pytest.approx(scores[0].right + 1, abs=0.2)
    assert scores[1].left == writes[1].left == writes[0].left and trains[1].left == pytest.approx(scores[1].right + 1, abs=0.2)


def test_each_part_of_a_step_fills_a_gpu_to_scale(step):
    shown = copies_picture(step.but(sequence=ro.longest_sequence_trained))
    held, memory = step.but(sequence=ro.longest_sequence_trained).terms("policy_bytes", "rollout_bytes"), step.rows["gpu"].memory_bytes
    scale = 330 / max(memory, held["policy_bytes"], held["rollout_bytes"])
    trains = [held["held_weight_bytes"], held["held_gradient_bytes"], held["held_master_bytes"] + held["held_optimizer_bytes"],
              held["policy_bytes"] - held["held_state_bytes"]]
    row = [box for box in boxes(shown) if box.top == boxes(shown)[-1].top]
    assert [box.right - box.left + 1 for box in row] == pytest.approx([size * scale for size in trains], abs=0.2)
    assert all(one.right + 1 == pytest.approx(other.left, abs=0.2) for one, other in pairwise(row)) and row[0].left == 66
    assert widths(shown, "c")[0] + 1 == pytest.approx(held["rollout_sequence_bytes"] * held["rollout_places"] * scale, abs=0.2)
