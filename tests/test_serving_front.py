"""The front of output a GPU against speed for a user, over batches and layouts."""
import functools

import pytest

from gpucalc import Case
from gpucalc.plan import serving_front

CARDS = ["H100 SXM 80GB", "MI300X 192GB", "B200 SXM 180GB", "GB200 NVL72 186GB"]
CASE = Case(job="serve", model="DeepSeek-V3", weight_format="FP8", cache_element_bytes=1, requests_per_second=10, prompt=1000, output=300)
AXES = ["tokens_per_second_per_gpu", "tokens_per_second_per_user"]


@functools.cache
def found():
    return serving_front.front(CASE, CARDS), serving_front.points(CASE, CARDS)


def test_no_point_of_the_front_is_beaten_and_every_other_one_is():
    front, points = found()
    assert list(dict.fromkeys(front["gpu"])) == CARDS
    for gpu, kept in front.groupby("gpu"):
        all_of_it = points[points["gpu"] == gpu]
        for row in all_of_it.itertuples():
            better = kept[(kept[AXES[0]] >= row.tokens_per_second_per_gpu) & (kept[AXES[1]] >= row.tokens_per_second_per_user)]
            assert len(better), row
        assert kept[AXES[0]].is_monotonic_increasing and kept[AXES[1]].is_monotonic_decreasing


def test_a_point_is_what_the_laws_say_and_its_band_holds_it():
    front = found()[0]
    card = front[front["gpu"] == "H100 SXM 80GB"]
    row = card[card["tokens_per_second_per_user"] > 15].iloc[-1]
    layout = {name: float(row[name]) for name in (*serving_front.LAYOUT, "batch")}
    case = serving_front.completed(CASE).but(
        gpu=row.gpu, link="NVLink 4", narrow_products=1, network_latency=14e-6, context="mean_context",
        expert_parallel="engine_expert_parallel", expert_tensor_parallel="engine_expert_split", **layout)
    assert row.formula_tokens_per_second_per_user == pytest.approx(1 / case("time_per_output_token"), rel=1e-9)
    assert row.formula_tokens_per_second_per_gpu == pytest.approx(
        case("output_tokens_per_second") / case("replica_gpus"), rel=1e-9)
    for name in AXES:
        assert (front[f"low_{name}"] < front[name]).all() and (front[name] < front[f"high_{name}"]).all()


def test_spread_experts_are_on_the_front_where_a_server_does_not_hold_the_model():
    """8 x H100 hold no weights of 671 GB: two servers do, with experts on all 16 GPUs."""
    front = found()[0]
    assert front[front["gpu"] == "H100 SXM 80GB"]["replica_gpus"].min() == 16
    assert front[front["gpu"] == "MI300X 192GB"]["replica_gpus"].min() <= 8
