"""Training steps against the published figures of the page, and its pictures."""
import json
from itertools import pairwise

import pytest

from book.components.measured import compare
from book.pages.training_time import pipeline_picture, step_picture
from gpucalc.core.evaluate import Case
from tests.pictures import boxes, widths

BOUND = dict(efficiency="bound", overlap=1, data_overlap=1, tensor_overlap=1, exchange_overlap=1, latency=0, network_latency=0,
             base_latency=0, kernel_seconds=0, collective_units=0, tile_rows=1, tile_columns=1, attention_efficiency=1)


def test_published_steps():
    """Half of those in the formats and programs that the shares are of lie within 15 %; the page says why the rest do not."""
    measured = compare("training_time", "measured")
    speed = (1 + measured.error).where(measured.law != "step_seconds", 1 / (1 + measured.error)) - 1
    print(measured.assign(speed=speed)[["subject", "value", "predicted", "speed"]].to_string())
    assert len(measured) == 125
    # Nearly all are slower than the laws, which leave overheads out.
    experts = speed.filter(like="deepseek-v3")
    assert (speed < 0).mean() < 0.1 and speed.drop(experts.index).min() > -0.05
    for family, most in (("sc21", 0.10), ("korthikanti", 0.10), ("mosaic-a100", 0.10), ("bridge", 0.15), ("nemo2407", 0.15)):
        assert speed.filter(like=f"step-{family}").abs().median() < most, family
    dense_tpu = speed.filter(like="tpu7x-train-llama")
    assert dense_tpu.abs().median() < 0.10
    # Products of experts are taken to reach 0.27 of the speed of dense ones, as in engines in the median: those of NVIDIA's run are
    # faster. If they were as fast as dense ones, the law would be faster than all six by a fifth or more.
    assert sorted(experts) == [pytest.approx(each, abs=5e-3) for each in (-0.123, 0.064, 0.404, 0.415, 0.719, 0.748)]
    assert experts.idxmin() == "step-bridge-deepseek-v3"
    as_dense = {}
    for name, row in measured.loc[experts.index].to_dict("index").items():
        found = Case.of(json.loads(row["inputs"]) | {"grouped_efficiency": 1})(row["law"]) / row["value"]
        as_dense[name] = (1 / found if row["law"] == "step_seconds" else found) - 1
    assert min(as_dense.values()) == as_dense["step-bridge-deepseek-v3"] == pytest.approx(0.20, abs=5e-3)


def test_no_published_step_beats_the_bound():
    """All of the peaks, all communication hidden, no latency."""
    for row in compare("training_time", "measured").to_dict("records"):
        best = Case.of(json.loads(row["inputs"]) | BOUND)(row["law"])
        assert best <= row["value"] if row["law"] == "step_seconds" else best >= row["value"], row["subject"]


def test_published_utilizations():
    computed = compare("training_time", "computed").error
    assert computed.filter(like="mfu").abs().max() < 0.005
    # The paper counts recomputed attention, s / 6h of a forward pass, three times.
    assert computed["step-korthikanti-22b-hfu"] == pytest.approx(-0.03, abs=0.002)


def test_the_parts_of_a_step_stand_end_to_end():
    shown = step_picture({"matrix products": 6.0, "elementwise": 3.0, "nothing": 0.0, "hardly anything": 0.005, "waiting": 0.995})
    wide = boxes(shown, "a") + boxes(shown, "b")
    assert [box.right - box.left for box in wide] == pytest.approx([102, 51, 17], rel=0.01), "170 of 400 units, but for the names and shares"
    assert all(one.right == pytest.approx(other.left, abs=0.2) and one.foot < other.top for one, other in pairwise(wide))
    assert "multiply matrices in 60 % of a step" in shown.plain and "nothing" not in shown.plain and "hardly" not in shown.plain


@pytest.mark.parametrize("stages, drawn", [(1, 4), (2, 2), (8, 4)])
def test_a_pipeline_fills_and_drains(stages, drawn):
    """Eight micro-batches in each stage, forward and back at twice the time; none before it left the stage before."""
    shown = pipeline_picture(Case(pipeline_parallel=stages, micro_batches=32, virtual_stages=1))
    there, back = (boxes(shown, color) for color in "ab")
    assert len(there) == len(back) == 8 * drawn
    once, twice = widths(shown, "a")[0] + 1, widths(shown, "b")[0] + 1
    assert twice == pytest.approx(2 * once, rel=1e-3)
    assert once == pytest.approx(336 / (3 * (drawn + 7)), rel=1e-3)
    for stage in range(drawn - 1):
        for batch in range(8):
            here, after = stage * 8 + batch, stage * 8 + 8 + batch
            assert there[after].left == pytest.approx(there[here].right + 1, abs=0.2)
            assert back[here].left == pytest.approx(back[after].right + 1, abs=0.2)
    assert back[-8].left == pytest.approx(there[-1].right + 1, abs=0.2), "the last stage turns at once"
    assert back[7].right == pytest.approx(397, abs=0.2)
    assert [f">stage {stage}<" in shown.source for stage in range(1, 6)] == [stage <= drawn for stage in range(1, 6)]
    assert [(lane.left, lane.right) for lane in boxes(shown, "wash")] == [(62, 398)] * drawn
