"""Rules and bands of a layout by hand; a decision and the search over layouts on the same jobs."""
import numpy as np
import pytest

from gpucalc import training_memory as tm
from gpucalc.core.quantities import DATA
from gpucalc.decisions import answer, columns, jobs, market
from gpucalc.decisions.layouts import AXES, best_layouts, layout_case, layouts_of, NEUTRAL, worst
from gpucalc.decisions.points import Points
from gpucalc.decisions.rule import solve
from gpucalc.laws.training_time import step_seconds
from gpucalc.rows import case_file

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


# The jobs of 13 published layouts: model, card, GPUs, sequences of a step and their length.
RUNS = [("Llama-3.1-405B", "H100 SXM 80GB", 16384, 2048, 8192), ("Llama-3.1-405B", "H100 SXM 80GB", 8192, 2048, 8192),
        ("Llama-3.1-405B", "H100 SXM 80GB", 16384, 128, 131_072), ("GPT-3-175B", "A100 SXM 80GB", 1024, 1536, 2048),
        ("DeepSeek-V3", "H800 SXM 80GB", 2048, 15360, 4096), ("Mixtral-8x22B", "H100 SXM 80GB", 128, 256, 4096),
        ("Llama-3-70B", "H100 SXM 80GB", 64, 128, 8192), ("Qwen3-235B-A22B", "H100 SXM 80GB", 256, 2048, 4096),
        ("Qwen3-30B-A3B", "H100 SXM 80GB", 16, 1024, 4096), ("Llama-3-8B", "H100 SXM 80GB", 8, 128, 8192),
        ("Llama-3-8B", "H100 SXM 80GB", 128, 256, 8192), ("Llama-3.1-405B", "H100 SXM 80GB", 512, 256, 8192),
        ("OLMo-3-32B", "H100 SXM 80GB", 1024, 1024, 8192)]


@pytest.mark.parametrize("model, gpu, gpus, batch, sequence", RUNS)
def test_a_decision_and_the_search_over_layouts_have_one_answer(book, model, gpu, gpus, batch, sequence):
    """The same layouts tried for the same job: the same is the best, with the same time and memory to plan for."""
    case = answer.completed(case_file.case_of(dict(job="pretrain", model=model, cards=gpu, gpus=gpus, sequence=sequence, global_batch=batch,
                                                   training_tokens=10 ** 12, own_cards=gpus, gpus_per_server=8)))
    tables = market.market(case, book, "train")
    sizes = tables["clusters"]["gpus"], tables["clusters"]["gpus_per_server"]
    tables["clusters"] = columns.taken(tables["clusters"], np.flatnonzero((sizes[0] == gpus) & (sizes[1] == 8))[:1])
    decided = columns.row(Points(jobs.LAYOUT, case, tables, ()).chosen(0.0), 0)
    axes = {name: [int(value) for value in (tables[values] if isinstance(values, str) else values)] for name, values in jobs.LAYOUT.axes.items()}
    search = dict(axes=axes | {"sequence_parallel": [0, 1]}, recipe=case.rows["recipe"].name, other_work=0)
    if decided["broken"] < len(jobs.LAYOUT.limits):
        with pytest.raises(ValueError, match="no layout runs"):
            best_layouts(model, gpu, gpus, batch, sequence, **search)
        return
    found = best_layouts(model, gpu, gpus, batch, sequence, count=1, **search).iloc[0]
    assert {name: found[name] for name in axes} == {name: decided[name] for name in axes}
    assert (found["plan_seconds"], found["plan_bytes"]) == pytest.approx((decided["plan_step_seconds"], decided["plan_training_bytes"]), rel=1e-9)


def test_a_run_of_16384_cards_takes_what_its_publisher_says(book):
    """Meta's model card: 30.84 million H100 hours for 405B. Its hours have stops in them, as have those of the other published runs
    that a plan rests on: at their 31.3 % of 989 TFLOP/s, 6 x 405.85e9 x 15.6e12 FLOP are 34.09 million."""
    case = answer.completed(case_file.case_of(case_file.held_of(case_file.read_case(DATA / "cases/pretrain_405b.yaml")) | dict(
        cards="H100 SXM 80GB", deadline_days=365)))
    tables = market.market(case, book, "train")
    full = np.flatnonzero((tables["clusters"]["gpus"] == 16384) & (tables["clusters"]["gpus_per_server"] == 8))
    tables["clusters"] = columns.taken(tables["clusters"], full)
    ends = solve(jobs.TRAIN, case, tables)
    low, plan, high = (ends[end].kept["training_days"][0] * 24 * 16384 for end in ("low", "plan", "high"))
    assert plan == pytest.approx(34.09e6, rel=0.001) and plan == pytest.approx(30.84e6, rel=0.25) and low < 30.84e6 < high


@pytest.mark.parametrize("model, splits", [("Llama-3.1-405B", 14), ("DeepSeek-V4-Pro", 0)])
def test_layouts_of_published_runs_alone(book, model, splits):
    """Fourteen splits are known of models of half to twice 405 billion parameters; none of 1.6 trillion with experts. The best of all layouts
    that keep to one of them is what the search with the same filter finds."""
    asked = dict(job="pretrain", model=model, cards="H100 SXM 80GB", gpus=1024, sequence=8192, global_batch=512,
                 training_tokens=10 ** 12, own_cards=1024, gpus_per_server=8)
    case = answer.completed(case_file.case_of(asked | dict(published_only=1)))
    tables = market.market(case, book, "train")
    tables["clusters"] = columns.taken(tables["clusters"], np.flatnonzero(tables["clusters"]["gpus"] == 1024))
    assert columns.count(tables["clusters"]) == max(splits, 1)
    found = Points(jobs.LAYOUT, case, tables, ()).chosen(0.0)
    runs = columns.taken(found, np.flatnonzero(found["broken"] == len(jobs.LAYOUT.limits)))
    if not splits:
        assert columns.count(runs) == 0 and jobs.LAYOUT.limits[int(found["broken"][0])].of == "unpublished"
        return
    fastest = columns.row(runs, int(np.argmin(runs["plan_step_seconds"])))
    axes = {name: sorted({int(each) for each in tables["clusters"][name]}) for name in jobs.DEGREES_USED}
    axes |= {name: jobs.LAYOUT.axes[name] for name in ("zero_stage", "recompute")} | dict(micro_batch=(1,))
    search = dict(axes=axes, recipe=case.rows["recipe"].name, other_work=0, published_only=True, count=1)
    best = best_layouts(model, "H100 SXM 80GB", 1024, 512, 8192, **search).iloc[0]
    assert {name: best[name] for name in axes} == {name: fastest[name] for name in axes}
