"""What a choice among GPUs, layouts and offers asks: by hand, and as the searches of the pages have it."""
import functools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from gpucalc import Case
from gpucalc.decisions import capacity, rule
from gpucalc.decisions.answer import completed
from gpucalc.decisions.jobs import REPLICAS
from gpucalc.decisions.layouts import AXES, blocks, layout_case, NEUTRAL
from gpucalc.decisions.market import cards, replica_degrees
from gpucalc.laws import choosing, serving, training_cost
from gpucalc.rows import catalogue
from tests.each import of_each


def test_splits_of_a_model_by_hand():
    """Llama-3-70B: 64 heads, 8 of keys, 28,672 wide. Copies of key heads serve 16 GPUs, and 3 divides none of the three."""
    sizes = dict(heads=64, kv_heads=8, intermediate=28672)
    assert [choosing.split_misfits(**sizes, tensor_parallel=degree) for degree in (1, 2, 8, 16, 3)] == [0, 0, 0, 0, 3]
    # A window's 16 heads of keys are copied on 32 GPUs; the 48 of a linear layer's state do not divide over them.
    kinds = dict(heads=64, kv_heads=64, intermediate=6400, window_kv_heads=16, linear_value_heads=48)
    assert [choosing.split_misfits(**kinds, tensor_parallel=degree) for degree in (16, 32)] == [0, 1]
    # 12 heads of keys on 8 GPUs are neither divided nor copied; heads and width are.
    assert choosing.split_misfits(heads=64, kv_heads=12, intermediate=28672, tensor_parallel=8) == 1


@pytest.mark.parametrize("replica, server, reach, misfits", [
    (8, 8, 8, 0), (16, 8, 8, 0), (4, 4, 8, 0), (8, 4, 8, 1), (2, 1, 8, 1), (8, 4, 72, 0), (2, 1, 72, 1), (1, 1, 1, 0)])
def test_a_replica_goes_beyond_whole_servers_and_parts_of_a_rack(replica, server, reach, misfits):
    """Nodes of 8. A network joins whole ones; what is sold of less is joined by a rack's switch alone, and a single GPU by nothing."""
    assert choosing.server_misfits(replica, server, reach, 8) == misfits


@of_each(catalogue.models().index.tolist())
def test_a_model_splits_where_a_fleet_may(model):
    architecture = Case(model=model).rows["model"]
    tried = (1, 2, 3, 4, 6, 8, 16)
    splits = [degree for degree in tried if Case(model=architecture, tensor_parallel=degree)("split_misfits") == 0]
    assert splits == capacity.allowed_degrees(architecture, tried)


def test_requests_by_hand():
    assert choosing.final_context(1000, 300, 0) == 1300
    assert choosing.first_token_alone(0.2, 0.05, 0.03, 0) == pytest.approx(0.28) and choosing.first_token_alone(0.2, 0.05, 0.03) == pytest.approx(0.31)
    # 10 a second of 8 s each fill 80 places: 4 replicas of 20 exactly, which a queue does not survive.
    assert [choosing.least_replicas(10, 8, batch) for batch in (20, 21, 79, 80, 81)] == [5, 4, 2, 2, 1]
    assert choosing.planned_gpus(3, 4) == 12
    # 70 GB of weights and an eighth of 80 GB of cache.
    assert choosing.held_serving_bytes(70e9, 10e9) == 80e9


def test_replicas_of_which_more_help_nobody_by_hand():
    """5 at least: a billion times as many, unless a full batch is late: a request of 8 s, a first token of 0.5 s, a token of 0.02 s."""
    def most(answer_limit=math.inf, first=math.inf, token=math.inf):
        return choosing.most_replicas(8, 0.5, 0.02, 5, answer_limit, first, token)
    assert most() == most(8.01, 0.51, 0.021) == 5e9
    assert most(answer_limit=8) == most(first=0.5) == most(answer_limit=7) == most(token=0.02) == math.inf


SERVED = dict(model="Llama-3-70B", weight_format="FP8", prompt=1000, output=300)
CARDS = ["H100 SXM 80GB", "H200 SXM 141GB", "MI300X 192GB", "L40S 48GB", "A100 PCIe 80GB"]


@functools.cache
def searched():
    """Every card, degree and batch as the pages search them, at the times to plan for."""
    case = Case(efficiency="achieved", context=serving.mean_context, **SERVED, **capacity.ENGINE)
    points = capacity.paced(capacity.search(case, capacity.linked_gpus(CARDS[0], "FP8").loc[CARDS], (1, 2, 4, 8)))
    return points[points["batch"] <= points["places"]].reset_index(drop=True)


LOADS = dict(requests_per_second=st.floats(1e-3, 1e4), answer_limit=st.floats(3, 60), first_token_limit=st.floats(0.2, 5),
             late_share=st.sampled_from([0.01, 0.05, 0.5]))


def late_times(points, replicas, load):
    """The whole answer and the first token of so many replicas at every point, that all but the late stay below."""
    columns = {name: points[name].to_numpy() for name in (*capacity.TIMES, *capacity.QUEUED, "batch")}
    found = Case(**load, **columns, replicas=replicas).terms("answer_seconds", "time_to_first_token")
    return found["answer_seconds"], found["time_to_first_token"]


def in_time(points, replicas, load):
    """Whether so many replicas answer all but the late in time, at every point."""
    answer, first = late_times(points, replicas, load)
    return (answer <= load["answer_limit"]) & (first <= load["first_token_limit"])


@functools.cache
def every_card():
    """The case, its market and the step that keeps each degree and batch."""
    case = completed(Case(job="serve", token_limit=math.inf, **SERVED))
    found = cards(case, {"gpu": np.array(CARDS, object)})
    return case, {"cards": found, "assumed": {}} | replica_degrees(case, found), REPLICAS._replace(per=("tensor_parallel", "batch"))


def least_found(load):
    """The replicas that a decision takes of each of the points searched; NaN where it finds no number."""
    case, market, step = every_card()
    kept = pd.DataFrame(rule.solve((step,), case.but(**load), market, ends=("plan",))["plan"].kept)
    key = ["gpu", "tensor_parallel", "batch"]
    found = searched().merge(kept[[*key, "replicas"]] if len(kept) else searched()[key].assign(replicas=math.nan), on=key, how="left")
    assert found["replicas"].notna().sum() == len(kept)
    return found["replicas"].to_numpy()


@settings(max_examples=30)
@given(st.fixed_dictionaries(LOADS))
def test_the_least_replicas_are_in_time_and_one_less_is_not(load):
    """At every card, degree and batch as the pages search them, and none is refused that any number of replicas would keep."""
    points, found = searched(), least_found(load)
    able, filled = np.isfinite(found), load["requests_per_second"] * points["request_seconds"] / points["batch"]
    assert in_time(points, np.where(able, found, 1), load)[able].all()
    assert not in_time(points, np.where(able, np.maximum(found - 1, 1), 1), load)[able & (found - 1 > filled)].any()
    # None is looked for where a full batch is late without a wait.
    first = points["prompt_seconds"] + points["prompt_host_seconds"] + 2 * points["replica_pass_seconds"]
    late = (points["request_seconds"] >= load["answer_limit"]) | (first >= load["first_token_limit"])
    for replicas in (1e3, 1e6, 1e9):
        kept = in_time(points, np.maximum(np.floor(filled) + 1, replicas), load)
        assert not (kept & ~able & ~late).any()


def test_a_limit_just_above_a_request_alone_takes_many_replicas():
    """An answer of 3.076 s within 3.109 s, all but 1 %, where one alone takes 3.091 s. Interruptions by prompts of 0.0375 s of n
    that run have the deviation 0.0375 sqrt(n): 2.33 x 0.0375 sqrt(n) = 0.018 makes n 0.043, which are 70 replicas of the 3.03 that
    run at one a second. Their mean, 0.0375 n, and the larger batch take a little more."""
    load = dict(requests_per_second=1, answer_limit=3.109375, first_token_limit=1, late_share=0.01)
    points = searched()
    place = points.query("gpu == 'H200 SXM 141GB' and tensor_parallel == 4 and batch == 2").index[0]
    found = least_found(load)[place]
    assert points["request_seconds"][place] == pytest.approx(3.0757, rel=1e-4)
    assert found == 85 and in_time(points, found, load)[place] and not in_time(points, found - 1, load)[place]


@settings(max_examples=15)
@given(st.fixed_dictionaries(LOADS), st.floats(0, 5), st.floats(1, 100))
def test_more_replicas_are_never_slower(load, spare, times):
    """From the least that carry the load on, and so many times as many: within a thousandth."""
    points = searched()
    few = np.floor(load["requests_per_second"] * points["request_seconds"] / points["batch"]) + 1 + np.floor(spare)
    for slow, fast in zip(late_times(points, few, load), late_times(points, np.ceil(few * times), load)):
        assert (fast <= slow * 1.001).all()


def test_the_largest_model_by_hand():
    """80 GB with 10 GB of cache hold five times 14 GB, so five times 7 billion; 112 GB are trained in 80 to five sevenths."""
    assert choosing.largest_params(7e9, 80e9, 14e9, 10e9) == pytest.approx(35e9)
    assert choosing.largest_params(7e9, 80e9, 14e9, 90e9) == 0
    assert choosing.largest_trained_params(7e9, 80e9, 112e9) == pytest.approx(5e9)


def test_a_window_by_hand():
    """A million requests of 0.1 s of a replica are 27.8 hours of one: 2 within a day, who are at it for 13.9 hours."""
    assert choosing.window_replicas(10**6, 0.1, 24) == 2
    assert choosing.busy_hours(10**6, 0.1, 2) == pytest.approx(13.8889, rel=1e-5)
    # 864,000 requests of 0.1 s are one day exactly.
    assert choosing.window_replicas(864_000, 0.1, 24) == 1 and choosing.window_replicas(864_001, 0.1, 24) == 2
    assert choosing.window_usd(2.5, 8, 24) == 480


def test_a_layout_by_hand():
    # 64 GPUs over 2 x 4 leave 8; 60 over 8 leave 7, which is not whole; 4 over 8 leave the one there must be.
    assert [choosing.left_data_parallel(gpus, 2, 4) for gpus in (64, 60, 4)] == [8, 7, 1]
    assert [choosing.left_micro_batches(1024, 4, 8), choosing.left_micro_batches(4, 4, 8)] == [32, 1]
    assert [choosing.usual_sequence_parallel(degree) for degree in (1, 2)] == [0, 1]


def misfits(**changes):
    """Rules that a layout of 64 GPUs in nodes of 8 breaks: 2 x 4 x 8, 1,024 sequences of 4,096 as 32 micro-batches of 4."""
    fits = dict(gpus=64, global_batch=1024, sequence=4096, heads=64, kv_heads=8, intermediate=28672, layers=80, gpus_per_node=8,
                micro_batch=4, micro_batches=32, data_parallel=8, tensor_parallel=2, pipeline_parallel=4)
    return choosing.layout_misfits(**fits | changes)


def test_misfits_of_a_layout_by_hand():
    assert misfits() == 0
    assert misfits(gpus=65) == misfits(gpus=63) == 1
    assert misfits(micro_batches=31) == misfits(micro_batches=33) == 1
    assert misfits(kv_heads=3) == 1 and misfits(layers=1) == 1 and misfits(layers=2) == 0
    # Stages that hold several chunks: with a pipeline, in whole turns, and at most three places of its chunks empty.
    assert [misfits(virtual_stages=chunks) for chunks in (2, 4, 5, 7, 8)] == [0, 0, 0, 1, 1]
    assert misfits(virtual_stages=2, pipeline_parallel=1, gpus=16) == 1
    assert misfits(virtual_stages=2, micro_batches=30, global_batch=960) == 1
    # Three ways over the sequence leave 4,096 undivided, and the GPUs and replicas that they take are others.
    assert misfits(context_parallel=3, gpus=192) == 1
    # Experts: none to split over 8; 64 of them over 8 of the 16 GPUs that hold them; 60 over 8 leave some over.
    assert [misfits(expert_parallel=8, experts=count) for count in (0, 64, 60)] == [1, 0, 1]
    assert misfits(expert_parallel=32, experts=64) == 1
    # 4 GPUs in nodes of 3 lie across them in parts; in nodes of 1 or 2 whole.
    assert [misfits(tensor_parallel=4, gpus=128, gpus_per_node=size) for size in (1, 2, 3, 8)] == [0, 0, 1, 0]


@pytest.mark.parametrize("model, nodes", [("Llama-2-7B", 8), ("Llama-3-70B", 2), ("Mixtral-8x7B", 8), ("Qwen2.5-7B", 4)])
def test_misfits_are_the_rules_of_the_search_over_layouts(model, nodes):
    """0 exactly where no rule on the axes of a choice is broken: whole, divisible, within nodes, in steps of whole batches."""
    values = dict(gpus=[8, 12, 16, 64], tensor_parallel=[1, 2, 4, 8], pipeline_parallel=[1, 2, 8, 48], virtual_stages=[1, 2, 4],
                  context_parallel=[1, 4], expert_parallel=[1, 8], micro_batch=[1, 4])
    case = layout_case(Case(model=model).rows["model"], "H100 SXM 80GB", 4096, gpus_per_node=nodes)
    neutral = {name: [NEUTRAL.get(name, 1)] for name in AXES if name not in values}
    grid = {"gpus": values["gpus"]} | {name: (values | neutral)[name] for name in AXES}
    found = pd.concat([block.table() for block in blocks(case, grid, 192)], ignore_index=True)
    law = Case(model=model, sequence=4096, gpus_per_node=nodes, global_batch=192).but(
        **{name: found[name].to_numpy(float) for name in (*values, "data_parallel", "micro_batches")})("layout_misfits")
    broken = ~found["reason"].isin(["", *(reason for reason in found["reason"].cat.categories if "training_bytes" in reason)])
    assert (np.asarray(law > 0) == broken.to_numpy()).all() and 0 < broken.mean() < 1


def test_a_run_by_hand():
    # 100 hours by its layout, twice over the text, against 150 and 240 by published runs; two thirds of those with adapters.
    assert choosing.run_gpu_hours(100, 150, 0, epochs=2) == 200 and choosing.run_gpu_hours(100, 240, 0, epochs=2) == 240
    assert choosing.run_gpu_hours(100, 240, adapters=1) == pytest.approx(160)
    # A stop every 30 hours by failures and every 15 by the provider is one every 10.
    assert choosing.offer_interruption_seconds(30, 15, spot=1) == pytest.approx(10)
    assert choosing.offer_interruption_seconds(30, 15) == pytest.approx(30)
    # 1,000 hours with stops, or 1,100 of published runs, whose stops are in them; and 64 GPUs that start for half an hour.
    assert choosing.stopped_gpu_hours(1000, 800, 1.5, 64, 1800) == 1032 and choosing.stopped_gpu_hours(1000, 1100, 1.5, 64, 1800) == 1132
    # None of those were on spot machines, which add a half.
    assert choosing.stopped_gpu_hours(1000, 1100, 1.5, 64, 1800, spot=1) == 1682
    assert choosing.committed_gpu_hours(70080, 8, 1, reserved=1) == 70080 and choosing.committed_gpu_hours(70080, 8, 1) == 8
    # Eight GPUs for 24 minutes are 3.2 GPU-hours; an hour in which the machine is set up makes them 11.2. With 2 minutes, and none to
    # set up, the hour for which it is rented counts.
    assert choosing.machine_setup_gpu_hours(8, 1) == 8
    assert training_cost.compute_usd(3.2, 2, minimum_gpu_hours=8, setup_gpu_hours=8) == pytest.approx(22.4)
    assert training_cost.compute_usd(8 / 30, 2, minimum_gpu_hours=8) == 16


def test_errors_joined_by_hand():
    # e^0.3 and e^0.4 above are e^0.5 together; so are they below; at the likely both are nothing.
    hours, slow = 1000.0, 2.0
    up = choosing.joined_gpu_hours(hours * math.exp(0.3), slow * math.exp(0.4), hours, slow)
    down = choosing.joined_gpu_hours(hours * math.exp(-0.3), slow * math.exp(-0.4), hours, slow)
    assert up == pytest.approx(2000 * math.exp(0.5)) and down == pytest.approx(2000 * math.exp(-0.5))
    assert choosing.joined_gpu_hours(hours, slow, hours, slow) == pytest.approx(2000)
    assert choosing.joined_gpu_hours(hours, slow, hours, slow, epochs=3) == pytest.approx(6000)


@pytest.mark.parametrize("years, other", [(1, 0), (1, 0.25), (3, 0), (3, 0.25)])
def test_a_reservation_is_paid_for_its_term(years, other):
    """8 GPUs for a year of 8,760 hours are 70,080 hours, of which other work pays a quarter or none."""
    case = Case(gpus=8, reserved_years=years, other_work=other, least_rented_hours=0)
    assert case.but(reserved=1)("committed_gpu_hours") == 70080 * years * (1 - other)
    assert training_cost.reserved_gpu_hours(8, years, other) == 70080 * years * (1 - other)
    assert case.but(reserved=0)("committed_gpu_hours") == 0


def test_a_link_of_unknown_latency_matters_to_several_gpus_alone():
    assert [choosing.link_misfits(gpus, unlinked) for gpus, unlinked in ((1, 1), (2, 1), (8, 0))] == [0, 1, 0]
    assert choosing.link_misfits(8) == 0
