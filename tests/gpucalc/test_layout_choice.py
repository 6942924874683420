"""Rules and bands of a layout by hand."""
import pytest

from gpucalc import training_memory as tm
from gpucalc.decisions.layouts import worst
from gpucalc.decisions.layouts import AXES, NEUTRAL
from gpucalc.decisions.layouts import layout_case, layouts_of
from gpucalc.laws.training_time import step_seconds

ONE = dict.fromkeys(AXES, 1) | NEUTRAL
CASE = layout_case("Qwen2.5-7B", "A100 SXM 80GB", 4096, "InfiniBand NDR", "mixed-adamw-fp32-grads", "achieved")


def rule(gpus=8, global_batch=8, **layout):
    """The name of the first rule that one layout breaks, if it is not memory."""
    [reason] = layouts_of(CASE, gpus, global_batch, {name: [value] for name, value in (ONE | layout).items()})["reason"]
    return reason.partition(":")[0].replace("training_bytes", "")


@pytest.mark.parametrize("zero, shard, allowed", [
    (0, 4, False), (1, 4, True), (2, 4, True), (3, 4, True), (3, 1, True), (3, 2, True), (3, 3, False), (3, 8, False), (3, 16, False),
    (0, 0, True), (3, 0, True)])
def test_states_are_split_over_a_part_of_the_replicas(zero, shard, allowed):
    assert rule(zero_stage=zero, shard_parallel=shard) == ("" if allowed else "shard_parallel")


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("law", [tm.training_bytes, step_seconds])
def test_the_worst_stage_of_a_pipeline(count, law):
    # With one micro-batch in flight the last stage holds most, with its head; with eight the first.
    job = CASE.but(pipeline_parallel=4, micro_batch=1, micro_batches=count)
    first, last = (job.but(last_stage=stage) for stage in (0, 1))
    assert worst(job, law).value == max(first(law), last(law))
    if law is tm.training_bytes:
        assert (first(law) > last(law)) is (count == 8)
