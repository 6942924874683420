"""The search against the scalar laws, row by row; what must hold for any search; layouts that were published; bad input."""
import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from gpucalc.core.evaluate import Case
from gpucalc.decisions import layouts
from gpucalc.decisions.layouts import as_good, CLOSE, comparison_error, ends, NEUTRAL, OVER_MEMORY, recommended
from gpucalc.decisions.layouts import (AXES, LAYOUT, all_layouts, best_layouts, best_of, fastest_by_gpus, fine_axes, in_layout,
                                       layout_case, layout_name, layouts_of, pareto_front, readable, reasons, recomputed, runs_of,
                                       same_step, same_steps, step_parts, used, usual_axes)
from gpucalc.laws.sharding import check_layout
from gpucalc.laws.training_memory import training_bytes
from gpucalc.laws.training_time import layout_gpus, layout_mfu, step_seconds, step_tokens
from gpucalc.rows import catalogue

LLAMA = dict(model="Llama-3.1-405B", gpu="H100 SXM 80GB", gpus=16384, global_batch=2048, sequence=8192, network="RoCE 400G")
DEEPSEEK = dict(model="DeepSeek-V3", gpu="H800 SXM 80GB", gpus=[1536, 2048], global_batch=3072, sequence=4096,
                axes=dict(virtual_stages=[1, 2, 4], micro_batch=[1, 2], zero_stage=[0, 1, 3]))
MIXTRAL = dict(model="Mixtral-8x7B", gpu="A100 SXM 80GB", gpus=[8, 24], global_batch=72, sequence=32768, recipe="mixed-adamw",
               efficiency="bound", flash_attention=0, network="InfiniBand HDR", gpus_per_node=4, dropout=1)
QWEN = dict(model="Qwen2.5-7B", gpu="A100 SXM 80GB", global_batch=64, sequence=4096)
JOBS = {job["model"]: job for job in (LLAMA, DEEPSEEK, MIXTRAL)}
FINE = dict(micro_batch=[1, 2], recompute=[0, 1, 2, 3], recomputed_share=[0.5, 1], zero_bubble=[0, 1], shard_parallel=[0, 4],
            loss_chunks=[1, 8], offload_activations=[0, 1], expert_tensor_parallel=[1, 2])
JOBS["fine"] = MIXTRAL | dict(axes=FINE | dict(context_parallel=[1, 2], zero_stage=[0, 1, 3], virtual_stages=[1, 2]))
ONE = dict.fromkeys(LAYOUT, 1) | NEUTRAL


def runs(frame):
    return frame[frame["reason"] == ""]


def case_of(job, **more):
    return layout_case(**{name: value for name, value in job.items() if name not in ("gpus", "global_batch", "axes")}, **more)


def by_hand(row, model, gpu, gpus, global_batch, sequence, network="InfiniBand NDR", recipe="mixed-adamw-fp32-grads",
            efficiency="achieved", flash_attention=1, gpus_per_node=8, axes=None, **job):
    """One layout's figures, each stage by itself, and the reason that rules it out, in plain numbers."""
    card, remote = catalogue.gpu(gpu), catalogue.link(network)
    degrees = {name: row[name] for name in LAYOUT}
    stages = [Case(catalogue.model(model), card, catalogue.recipe(recipe), catalogue.efficiency(efficiency),
                   sequence=sequence, flash_attention=flash_attention, latency=catalogue.link(card.link).latency,
                   network_bandwidth=remote.link_bandwidth, network_latency=remote.latency, gpus_per_node=gpus_per_node,
                   last_stage=last, **degrees, **job).terms(layout_mfu, training_bytes)
              for last in (0, 1)]
    held, seconds = (max(stage[name] for stage in stages) for name in ("training_bytes", "step_seconds"))
    low, _, high = ends(layout_case(model, gpu, sequence, network, recipe, efficiency, **job))["training_bytes"]
    full = OVER_MEMORY if held > card.memory_bytes / low else CLOSE if held > card.memory_bytes / high else ""
    figures = dict(training_bytes=held, step_seconds=seconds, layout_mfu=min(stage["layout_mfu"] for stage in stages),
                   gpu_seconds=int(row["gpus"]) * seconds)
    return figures, reason(catalogue.model(model), degrees, int(row["gpus"]), global_batch, sequence, flash_attention,
                           gpus_per_node, full)


def reason(architecture, degrees, gpus, global_batch, sequence, flash_attention, gpus_per_node, full):
    """The start of the first reason, or nothing."""
    t, p, v, c, e, d, zero, b, m, recompute, sp, share, et, shard, zb, *_ = degrees.values()
    if gpus % (t * p * c):
        return "gpus"
    try:
        check_layout(architecture, sequence=sequence, tensor_parallel=t, pipeline_parallel=p, virtual_stages=v,
                     context_parallel=c, expert_parallel=e, data_parallel=d, expert_tensor_parallel=et)
    except ValueError as error:
        return str(error)
    straddles = gpus > gpus_per_node and gpus_per_node % t and t % gpus_per_node
    shards = not shard or zero and shard < d * c and d * c % shard == 0
    spare = p * v * -(-architecture["layers"] // (p * v)) - architecture["layers"]
    broken = {"tensor_parallel": straddles, "global_batch": d * b * m != global_batch, "sequence_parallel": sp and t == 1,
              "zero_stage": zero and d * c == 1, "shard_parallel": not shards,
              "expert_tensor_parallel": et > 1 and not architecture["experts"],
              "recomputed_share": share < 1 and not recompute, "virtual_stages": v > 1 and spare > 3,
              "micro_batches": v > 1 and m % p, "zero_bubble": zb and (p == 1 or v > 1)}
    return next((name for name, is_broken in broken.items() if is_broken), full)


@pytest.mark.parametrize("name", JOBS)
def test_every_column_of_a_random_sample_is_what_the_scalar_laws_give(name):
    frame = all_layouts(**JOBS[name])
    running, ruled_out = (half.sample(min(len(half), 100), random_state=4) for _, half in frame.groupby(frame["reason"] == ""))
    assert ruled_out["reason"].nunique() + running["reason"].nunique() > 6
    for row in pd.concat([running, ruled_out]).to_dict("records"):
        figures, broken = by_hand(row, **JOBS[name])
        assert {name: row[name] for name in figures} == figures
        said, _, allowed = row["reason"].partition(": ")
        assert broken in (said, row["reason"]) or broken.startswith(said + " ") and f"allowed: {allowed}" in broken, (row, broken)


@pytest.mark.parametrize("name", JOBS)
def test_there_is_every_combination_once(name):
    frame = all_layouts(**JOBS[name])
    axes = ["gpus", *AXES]
    assert len(frame) == np.prod([frame[axis].nunique() for axis in axes])
    assert not frame.duplicated(axes).any()
    assert all(frame[column].dtype == ("float64" if column == "recomputed_share" else "int32") for column in ("gpus", *LAYOUT))


@pytest.mark.parametrize("name", JOBS)
def test_what_runs_uses_every_gpu_and_every_sequence_once(name):
    good, job = runs(all_layouts(**JOBS[name])), JOBS[name]
    assert len(good) > 50
    degrees = ["tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel"]
    assert (good[degrees].prod(axis=1) == good["gpus"]).all()
    assert (good[["data_parallel", "micro_batch", "micro_batches"]].prod(axis=1) == job["global_batch"]).all()
    assert (good["high_bytes"] <= catalogue.gpu(job["gpu"]).memory_bytes).all()
    assert ((good["layout_mfu"] > 0) & (good["layout_mfu"] < 1)).all()
    assert np.isfinite(good["step_seconds"]).all()


def test_all_layouts_of_the_largest_model():
    axes = usual_axes(catalogue.model(LLAMA["model"]), [16384])
    assert axes["pipeline_parallel"] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert {1, 2, 3, 4, 7, 8, 9, 16} <= set(axes["virtual_stages"])
    heads, stages, chunks, contexts, zero, micro, recompute, sequence_parallel = 8, 8, len(axes["virtual_stages"]), 5, 4, 5, 4, 2
    assert len(all_layouts(**LLAMA)) == heads * stages * chunks * contexts * zero * micro * recompute * sequence_parallel


@pytest.mark.parametrize("layers, stages, chunks", [(80, [1, 2, 4, 8, 16], {5, 10, 20}), (126, [1, 16], {8}), (61, [1, 8], {4}),
                                                     (48, [1, 2], {24})])
def test_chunks_that_practitioners_use_are_tried(layers, stages, chunks):
    """NVIDIA's 5, 10 and 20 for 80 layers, Meta's 16 x 8 for 126, Megatron-Bridge's 8 x 4 for 61 and 2 x 24 for 48."""
    axes = usual_axes(dict(layers=layers, heads=64), [stages[-1]])
    assert set(stages) <= set(axes["pipeline_parallel"]) and chunks <= set(axes["virtual_stages"])


@pytest.mark.parametrize("by", ["step_seconds", "gpu_seconds", "gpus", "training_bytes"])
def test_the_best_is_the_least_of_what_runs(by):
    good = runs(all_layouts(**MIXTRAL))
    found = best_layouts(**MIXTRAL, by=by, count=5)
    assert len(found) == 5 and "reason" not in found
    assert found[by].tolist() == sorted(good[by])[:5]
    assert found[by].is_monotonic_increasing
    ties = good[good[by] == found[by][0]]
    assert found["step_seconds"][0] == ties["step_seconds"].min()
    again = case_of(MIXTRAL, last_stage=0).but(**{name: found[name] for name in LAYOUT})(step_seconds)
    assert (again <= found["step_seconds"]).all()


def test_a_price_gives_the_cost_of_a_step():
    found = best_layouts(**QWEN, gpus=16, usd_per_hour=3.6, count=1)
    assert found["step_usd"][0] == pytest.approx(found["gpu_seconds"][0] * 1e-3)


def test_no_two_of_the_best_differ_in_what_changes_nothing():
    found = best_layouts(**QWEN, gpus=8, count=1000)
    degrees = [name for name in LAYOUT if name.endswith("_parallel") and name != "sequence_parallel"]
    assert not found.duplicated([*degrees, "step_seconds", "training_bytes"]).any()
    assert all((best_layouts(**QWEN, gpus=8, count=1000, flash_attention=flash)["recompute"] == 1).any() for flash in (0, 1))


def test_an_axis_can_be_held():
    found = best_layouts(**LLAMA, axes=dict(tensor_parallel=[8], pipeline_parallel=[16], context_parallel=[1]))
    assert (found[["tensor_parallel", "pipeline_parallel", "data_parallel"]] == [8, 16, 128]).all(axis=None)


@pytest.mark.parametrize("overlap", [0, 0.5])
@pytest.mark.parametrize("name", JOBS)
def test_the_parts_of_a_step_sum_to_it(name, overlap):
    for row in best_layouts(**JOBS[name], overlap=overlap, count=4).to_dict("records"):
        parts = step_parts(in_layout(case_of(JOBS[name], overlap=overlap), row))
        assert sum(parts.values()) == pytest.approx(row["step_seconds"], rel=1e-12)
        assert all(0 <= part <= row["step_seconds"] for part in parts.values())


def test_the_fastest_layout_on_each_number_of_gpus():
    frame = all_layouts(**QWEN, gpus=[1, 8, 16])
    found = fastest_by_gpus(frame)
    assert found["gpus"].tolist() == [8, 16]
    for row in found.to_dict("records"):
        assert row["step_seconds"] == best_layouts(**QWEN, gpus=row["gpus"], count=1)["step_seconds"][0]


def test_reasons_count_every_layout_once():
    frame = all_layouts(**MIXTRAL)
    counted = reasons(frame)
    assert counted["layouts"].sum() == len(frame) and counted["share"].sum() == pytest.approx(1)
    assert counted.set_index("reason")["layouts"]["runs"] == len(runs(frame)) == len(best_of(frame))
    assert counted["layouts"].is_monotonic_decreasing and (counted["layouts"] > 0).all()


def test_a_run_by_hand():
    found = pd.DataFrame({"gpus": [8], "gpu_seconds": [80.0]})
    run = runs_of(found, training_tokens=3.6e9, step_tokens=1e6, usd_per_hour=2).iloc[0]
    assert (run["gpu_hours"], run["training_days"], run["compute_usd"]) == pytest.approx((80, 80 / 8 / 24, 160))
    assert "compute_usd" not in runs_of(found, 3.6e9, 1e6)


def test_the_same_step_in_another_layout():
    case = case_of(QWEN).but(**ONE | dict(data_parallel=4, tensor_parallel=2, micro_batches=6))
    other = same_step(case, data_parallel=8, tensor_parallel=1)
    assert (other.inputs["micro_batches"], other(step_tokens), other(layout_gpus)) == (3, 6 * 4 * 4096, 8)
    assert same_step(case, recompute=2).inputs["micro_batches"] == 6
    assert same_step(case, data_parallel=16, tensor_parallel=1) is None  # other GPUs
    assert same_step(case, data_parallel=0) is None
    assert same_step(case, tensor_parallel=8, data_parallel=1) is None  # 28 heads
    assert same_step(case, data_parallel=8, tensor_parallel=1, micro_batch=2) is None  # half a micro-batch left


def test_layouts_of_the_same_step_are_named_once():
    case = case_of(QWEN).but(**ONE | dict(data_parallel=8, micro_batches=2))
    found = same_steps(case, {"as given": {}, "chunks": dict(virtual_stages=1), "recompute": dict(recompute=2),
                              "tensor": dict(tensor_parallel=2, data_parallel=4), "other GPUs": dict(data_parallel=4)})
    assert list(found) == ["as given", "recompute", "tensor"]
    assert found["tensor"].inputs["micro_batches"] == 4


def test_a_layout_has_a_short_name():
    one = ONE
    assert layout_name(one) == "one GPU"
    split = one | dict(tensor_parallel=2, pipeline_parallel=4, virtual_stages=2, data_parallel=3, zero_stage=1)
    assert "TP\u00a02\u00a0+\u00a0SP, PP\u00a04" in layout_name(split | dict(sequence_parallel=1))
    assert layout_name(split | dict(sequence_parallel=1)).replace("\u00a0", " ") == "TP 2 + SP, PP 4 × 2, DP 3, ZeRO 1"
    assert layout_name(split | dict(virtual_stages=1)).replace("\u00a0", " ") == "TP 2, PP 4, DP 3, ZeRO 1"
    shown = readable(pd.DataFrame([split | dict(micro_batches=1024, recompute=2)])).iloc[0]
    assert (shown["micro_batches"], shown["recompute"]) == ("1,024 × 1", "layers")


def fastest(gpus=64, **changed):
    return best_layouts(**QWEN | changed, gpus=gpus, count=1)["step_seconds"][0]


@pytest.mark.long
def test_more_gpus_never_slow_the_best_where_the_old_layouts_stay():
    counts = [8, 12, 16, 32, 64]
    times = [fastest(counts[:number]) for number in range(1, len(counts) + 1)]
    assert times == sorted(times, reverse=True)
    assert fastest(16) < fastest(8)


@pytest.mark.parametrize("faster", [dict(peak_flops=600e12), dict(bandwidth=4e12), dict(port_bandwidth=50e9),
                                    dict(network_bandwidth=100e9), dict(latency=0), dict(network_latency=0),
                                    dict(efficiency="bound")])
def test_a_faster_gpu_or_link_never_slows_the_best(faster):
    assert fastest(**faster) <= fastest()


def test_more_values_of_an_axis_never_slow_the_best():
    whole = fastest()
    for axis in AXES:
        assert fastest(axes={axis: [ONE[axis]]}) >= whole


def test_a_larger_gpu_runs_all_that_a_smaller_one_runs():
    small, large = (all_layouts(**QWEN | dict(gpu=gpu), gpus=8) for gpu in ("A100 SXM 40GB", "A100 SXM 80GB"))
    assert set(runs(small).index) < set(runs(large).index)


def test_the_front_is_monotone_and_nothing_beats_it():
    good = runs(all_layouts(**QWEN, gpus=64))
    front = pareto_front(good, "training_bytes", "step_seconds")
    assert len(front) > 3
    assert front["training_bytes"].is_monotonic_increasing and front["training_bytes"].is_unique
    assert front["step_seconds"].is_monotonic_decreasing and front["step_seconds"].is_unique
    for held, seconds in zip(front["training_bytes"], front["step_seconds"]):
        as_small, as_fast = good["training_bytes"] <= held, good["step_seconds"] <= seconds
        assert (good[as_small & as_fast][["training_bytes", "step_seconds"]] == [held, seconds]).all(axis=None)
    assert front["step_seconds"].iloc[-1] == good["step_seconds"].min()
    assert front["training_bytes"].iloc[0] == good["training_bytes"].min()


def test_the_front_of_four_points_by_hand():
    frame = pd.DataFrame({"a": [3, 1, 2, 3, 1], "b": [1, 4, 5, 2, 4]})
    assert pareto_front(frame, "a", "b").to_dict("list") == {"a": [1, 3], "b": [4, 1]}


def test_one_gpu_has_one_way():
    found = best_layouts("Llama-3.2-1B", "H100 SXM 80GB", 1, 8, 2048, count=99)
    assert (found[["tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel", "zero_stage"]]
            == [1, 1, 1, 1, 0]).all(axis=None)


def test_bands_are_those_of_each_layout():
    frame = best_layouts(**QWEN, gpus=16, count=20)
    for row in frame.to_dict("records")[::7]:
        case = in_layout(case_of(QWEN), row)
        held = max((case.but(last_stage=last).band(training_bytes) for last in (0, 1)), key=lambda band: band.value)
        time = case.band(step_seconds)
        assert (row["low_seconds"], row["plan_seconds"], row["high_seconds"]) == pytest.approx(time[:3], rel=0.01)
        assert (row["low_bytes"], row["plan_bytes"], row["high_bytes"]) == pytest.approx(held[:3])
    assert (frame["low_seconds"] <= frame["plan_seconds"]).all() and (frame["plan_seconds"] <= frame["high_seconds"]).all()
    assert frame["plan_seconds"].is_monotonic_increasing


def test_a_layout_that_straddles_the_memory_is_too_close_to_call():
    frame, memory = all_layouts(**QWEN, gpus=8), catalogue.gpu(QWEN["gpu"]).memory_bytes
    close = frame[frame["reason"] == CLOSE]
    assert len(close) and ((close["low_bytes"] <= memory) & (memory < close["high_bytes"])).all()
    assert (frame[frame["reason"] == OVER_MEMORY]["low_bytes"] > memory).all()
    assert reasons(frame).set_index("reason")["layouts"][CLOSE] == len(close)


def test_the_error_of_a_comparison_is_smaller_than_that_of_a_step():
    error, pairs, publishers = comparison_error()
    _, plan, high = ends(case_of(QWEN))["step_seconds"]
    assert 0.02 < error < 0.1 < high / plan - 1 and pairs > 30 and publishers > 4


def test_the_simplest_of_those_within_the_error_is_recommended():
    """Of steps of 10, 10.2, 10.3 and 20 s the last is too slow; of the others one has no pipeline, and less tensor parallel."""
    rows = [dict(tensor_parallel=4, pipeline_parallel=2, plan_seconds=10), dict(tensor_parallel=8, plan_seconds=10.2),
            dict(tensor_parallel=2, plan_seconds=10.3, recompute=2), dict(tensor_parallel=2, plan_seconds=10.3),
            dict(plan_seconds=20)]
    frame = pd.DataFrame([ONE | row for row in rows])
    assert len(as_good(frame)) == 4
    assert recommended(frame) == ONE | rows[3]
    assert recommended(frame.iloc[[0, 1, 2]]) == ONE | rows[2]


def test_fine_axes_tune_around_a_layout():
    row = best_layouts(**QWEN, gpus=16, count=1).to_dict("records")[0]
    tuned = best_of(layouts_of(case_of(QWEN), 16, 64, fine_axes(row)))
    assert tuned["plan_seconds"][0] <= row["plan_seconds"]
    held = ["tensor_parallel", "pipeline_parallel", "context_parallel", "micro_batch"]
    assert (tuned[held] == [row[name] for name in held]).all(axis=None)
    assert tuned["recomputed_share"].nunique() == 4 and (tuned[tuned["recompute"] == 0]["recomputed_share"] == 1).all()


def test_what_recompute_in_some_layers_is_called():
    assert recomputed(ONE | dict(recompute=2, recomputed_share=0.5)) == "layers in 50\u00a0% of the layers"
    assert recomputed(ONE | dict(recompute=3)) == "all but products"
    assert layout_name(ONE | dict(pipeline_parallel=2, zero_bubble=1, zero_stage=3, shard_parallel=8)).replace(
        "\u00a0", " ") == "PP 2, ZeRO 3 / 8, zero bubble"


def test_tensor_parallel_stays_inside_the_node():
    assert (best_layouts(**LLAMA, count=5)["tensor_parallel"] <= 8).all()
    small_nodes, large_nodes = (best_layouts(**LLAMA, gpus_per_node=size, reach=size, count=1)["step_seconds"][0]
                                for size in (8, 64))
    assert large_nodes <= small_nodes


@pytest.mark.parametrize(("changed", "message"), [
    (dict(model="Lama-3-70B"), r"models.csv has no model 'Lama-3-70B'.*Llama-3-70B"),
    (dict(gpu="H100"), r"gpu 'H100' may be H100 SXM 80GB"),
    (dict(network="InfiniBand"), r"links.csv has no link 'InfiniBand'.*InfiniBand NDR"),
    (dict(recipe="adam"), r"recipes.csv has no recipe 'adam'"),
    (dict(efficiency="best"), r"efficiencies.csv has no efficiency 'best'"),
    (dict(gpus=0), r"gpus .* is 0; allowed: a whole number of at least 1"),
    (dict(gpus=[8, 1.5]), r"gpus .* is 1.5; allowed"),
    (dict(global_batch=0), r"global_batch .* is 0; allowed"),
    (dict(sequence=-1), r"sequence .* is -1; allowed"),
    (dict(usd_per_hour=0), r"usd_per_hour .* is 0; allowed: a number above 0"),
    (dict(axes=dict(tensor=[1])), r"axes: 'tensor'; allowed: tensor_parallel, "),
    (dict(axes=dict(gpus=[8])), r"axes: 'gpus'; allowed"),
    (dict(axes=dict(tensor_parallel=[])), r"axes: tensor_parallel has no values; allowed: at least one"),
    (dict(axes=dict(tensor_parallel=[1, 0])), r"axes: tensor_parallel .* is 0; allowed: a whole number of at least 1"),
    (dict(axes=dict(zero_stage=[4])), r"axes: zero_stage .* is 4; allowed: 0, 1, 2 or 3"),
    (dict(axes=dict(micro_batch=["2"])), r"axes: micro_batch .* is '2'; allowed"),
    (dict(flash_attention=2), r"flash_attention .* is 2; allowed: 0 or 1"),
    (dict(by="speed"), r"by: 'speed'; allowed: plan_seconds, step_seconds, gpu_seconds, gpus, training_bytes"),
    (dict(gpu="Gaudi3 128GB"), r"^Gaudi3 RoCE: latency .* is blank; give latency"),
    (dict(colour="red"), r"^colour: unknown; allowed: "),
    (dict(global_batch=7), r"(?s)no layout runs; of [\d,]+:.*global_batch: a multiple of data_parallel x micro_batch"),
    (dict(model="Llama-3.1-405B"), r"(?s)no layout runs; of [\d,]+:.*training_bytes: at most the memory of a GPU"),
])
def test_bad_input_is_named(changed, message):
    axes = dict(context_parallel=[1], pipeline_parallel=[1], tensor_parallel=[1])
    with pytest.raises(ValueError, match=message):
        best_layouts(**QWEN | dict(gpus=8, axes=axes) | changed)


def test_a_latency_that_the_catalogue_lacks_can_be_given():
    assert len(best_layouts(**QWEN | dict(gpu="Gaudi3 128GB"), gpus=8, latency=2e-6, count=3)) == 3


def test_a_model_may_be_a_row():
    row = catalogue.model("Qwen2.5-7B")
    assert best_layouts(**QWEN | dict(model=row), gpus=8).equals(best_layouts(**QWEN, gpus=8))


@pytest.mark.long
def test_blocks_of_any_size_give_the_same_rows_ties_included(monkeypatch):
    # A loss in 8 chunks takes no less memory where another moment is the largest, and the same time.
    axes = dict(pipeline_parallel=[1], virtual_stages=[1], zero_stage=[0, 3], micro_batch=[1, 2], loss_chunks=[8, 16])
    job = QWEN | dict(gpus=[8, 16], usd_per_hour=2, axes=axes)
    whole = all_layouts(**job)
    ordered = {by: best_of(whole, by) for by in ("plan_seconds", "gpus")}
    assert ordered["gpus"].duplicated(layouts.order("gpus")).sum() > 3
    for block in (100, 999, 10**9):
        monkeypatch.setattr(layouts, "BLOCK", block)
        assert all_layouts(**job).equals(whole)
        for by, best in ordered.items():
            assert best_layouts(**job, by=by, count=None).equals(best)
            assert best_layouts(**job, by=by, count=9).equals(best.head(9))


def test_a_block_has_at_most_so_many_layouts_and_all_together_are_every_one(monkeypatch):
    # 2 x 3 x 4 layouts in blocks of at most 5: 2 counts x 3 degrees x parts of the 4 stages, whose rows keep their order.
    monkeypatch.setattr(layouts, "BLOCK", 5)
    values = {"gpus": [1, 2], "tensor_parallel": [1, 2, 4], "zero_stage": [0, 1, 2, 3]}
    parts = list(layouts._parts(values))
    assert [layouts.size(part) for part in parts] == [4] * 6
    rows = [row for part in parts for row in itertools.product(*part.values())]
    assert rows == list(itertools.product(*values.values()))
    monkeypatch.setattr(layouts, "BLOCK", 8)
    assert [layouts.size(part) for part in layouts._parts(values)] == [8, 4, 8, 4]


def test_every_block_counts_in_what_nothing_keeps(monkeypatch):
    job = QWEN | dict(model="Llama-3.1-405B", gpus=[1, 2])
    with pytest.raises(ValueError) as whole:
        best_of(all_layouts(**job))
    monkeypatch.setattr(layouts, "BLOCK", 999)
    with pytest.raises(ValueError) as parts:
        best_layouts(**job)
    assert str(parts.value) == str(whole.value)


def test_a_search_that_is_too_large_is_refused_before_it_starts():
    # 6 divisors of 28 heads, any of 30 stages, chunks up to 15 on 2 stages and 5 * 1 * 4 ZeRO * 5 * 4 * 2, for each of 99 counts.
    counts = list(range(28, 28 * 100, 28))
    with pytest.raises(ValueError, match=r"^gpus, axes: 142,560,000 layouts; allowed: at most 4,000,000 in one table"):
        all_layouts(**QWEN, gpus=counts)
    with pytest.raises(ValueError, match=r"^gpus, axes: [\d,]+ layouts; allowed: at most 1,000,000,000 in one search"):
        best_layouts(**QWEN, gpus=range(1, 200_000))


@pytest.mark.long
def test_memory_does_not_grow_with_the_search():
    job = QWEN | dict(axes=dict(expert_parallel=[1], micro_batch=[1], recompute=[0]), count=3)
    peaks = []
    for counts in ([64], [64 * each for each in range(1, 65)]):
        best_layouts(**job, gpus=64)
        tracemalloc.start()
        best_layouts(**job, gpus=counts)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 64e6


def test_tables_count_their_rows_from_zero():
    frame = all_layouts(**QWEN, gpus=[1, 8], axes=dict(tensor_parallel=[1, 2], pipeline_parallel=[1], zero_stage=[0, 1]))
    for found in (frame, best_of(frame), best_of(frame, count=3), fastest_by_gpus(frame)):
        assert found.index.tolist() == list(range(len(found))) and len(found)
        assert "index" not in found


def test_a_node_is_as_large_as_the_link_reaches():
    sizes = {gpu: layout_case("Llama-3-8B", gpu, 8192).inputs["gpus_per_node"] for gpu in
             ("H100 SXM 80GB", "H100 NVL 94GB", "GB200 NVL72 186GB")}
    assert sizes == {"H100 SXM 80GB": 8, "H100 NVL 94GB": 8, "GB200 NVL72 186GB": 72}
    assert layout_case("Llama-3-8B", "GB200 NVL72 186GB", 8192, gpus_per_node=4).inputs["gpus_per_node"] == 4


def test_degrees_that_somebody_ran():
    """Meta's, NVIDIA's and torchtitan's for 405 billion parameters, of a model of half to twice that; none of a model with experts."""
    found = best_layouts(**LLAMA | dict(axes=dict(micro_batch=[1], recompute=[1])), count=5, published_only=True)
    shown = {tuple(row) for row in found[["tensor_parallel", "pipeline_parallel", "virtual_stages", "context_parallel"]].to_numpy()}
    assert shown <= {(8, 16, 8, 1), (8, 16, 8, 16), (8, 8, 8, 2), (4, 8, 8, 2), (2, 8, 8, 2), (8, 8, 12, 1), (8, 35, 3, 1),
                     (8, 8, 1, 1), (8, 8, 1, 2), (8, 8, 1, 4), (8, 8, 1, 8)} and len(shown) > 1
    marked = used(best_layouts(**LLAMA | dict(axes=dict(micro_batch=[1])), count=2000), catalogue.model("Llama-3.1-405B"))
    assert 0 < marked.sum() < 200
    runs = dict(tensor_parallel=8, pipeline_parallel=16, virtual_stages=8, context_parallel=1, expert_parallel=1)
    alone = pd.DataFrame([runs, runs | dict(virtual_stages=4), runs | dict(tensor_parallel=4)])
    assert list(used(alone, catalogue.model("Llama-3.1-405B"))) == [True, False, False]
    assert not used(alone, catalogue.model("Llama-3-8B")).any() and not used(alone, catalogue.model("DeepSeek-V3")).any()
