"""Training steps against the published figures of the page, and its pictures."""
import json
from itertools import pairwise

import pytest

from book.components.measured import compare
from book.pages.training_time import pipeline_picture, step_picture
from gpucalc.core.evaluate import Case
from gpucalc.decisions.layouts import step_parts
from tests.pictures import boxes, widths

BOUND = dict(efficiency="bound", overlap=1, data_overlap=1, tensor_overlap=1, exchange_overlap=1, latency=0, network_latency=0,
             base_latency=0, kernel_seconds=0, collective_units=0, tile_rows=1, tile_columns=1, attention_efficiency=1)


def test_published_steps():
    """Half of them lie within 12 %; the page says why the rest do not."""
    measured = compare("training_time", "measured").query("family != 'optimizer in host memory'")
    speed = (1 + measured.error).where(measured.law != "step_seconds", 1 / (1 + measured.error)) - 1
    print(measured.assign(speed=speed)[["subject", "value", "predicted", "speed"]].to_string())
    assert len(measured) == 142 and speed.abs().median() < 0.12
    # Most are slower than the laws, which leave overheads out.
    assert (speed < 0).mean() < 0.2 and speed.min() > -0.15
    for family in ("sc21", "korthikanti", "mosaic-a100", "bridge", "nemo2407", "mlt51", "tpu7x-train-llama"):
        assert speed.filter(like=f"step-{family}").abs().median() < 0.10, family
    # With experts a fifth in the median. NVIDIA's Qwen3 30B in BF16 is met; in FP8 it is slower than that, and a plain all-to-all in
    # eager mode slower still (Megatron-Bridge, issue 2842).
    experts = speed.filter(regex="deepseek|qwen3|gpt-oss")
    assert len(experts) == 18 and experts.abs().median() < 0.25 and experts.idxmax() == "step-bridge-qwen3-30b-2511"
    assert abs(experts["step-bridge-qwen3-30b-bf16"]) < 0.02 and abs(experts["step-bridge-qwen3-30b-bf16-hidden"]) < 0.10
    # A trace of it: 8.25 s of communication and 22.8 s of a busy GPU. The exchange is a fifth short and the rest a fifth long.
    parts = step_parts(Case.of(json.loads(measured.loc["step-bridge-qwen3-30b-bf16", "inputs"])))
    busy = sum(parts.values()) - parts["expert parallel"]
    assert 0.75 < parts["expert parallel"] / 8.25 < 0.85 and 1.2 < busy / (22.82 - 8.25) < 1.3


def test_no_published_step_beats_the_bound():
    """All of the peaks, all communication hidden, no latency."""
    for row in compare("training_time", "measured").query("family != 'optimizer in host memory'").to_dict("records"):
        best = Case.of(json.loads(row["inputs"]) | BOUND)(row["law"])
        assert best <= row["value"] if row["law"] == "step_seconds" else best >= row["value"], row["subject"]


def test_published_optimizers_in_host_memory():
    """Parameters x bytes over the memory's rate, then 2 bytes over PCIe, and gradients where the job had nothing to hide them."""
    rows = compare("training_time", "measured").query("family == 'optimizer in host memory'")
    by_hand = {"zero-offload-10b": 10.277e9 * (28 / 89.6e9 + 2 / 12.5e9), "bridge-qwen3-30b": 1.909e9 * (8 * 30 / 89.6e9 + 6 / 25e9),
               "torchao-vit": 1.1e9 * (12 / 51.2e9 + 2 / 25e9), "deepspeed-vit": 1.1e9 * (28 / 51.2e9 + 2 / 25e9),
               "adambridge-67m": 67e6 * (28 / 89.6e9 + 4 / 25e9)}
    assert rows["predicted"].to_dict() == {f"host-{name}": pytest.approx(value, rel=1e-3) for name, value in by_hand.items()}
    # An untuned DeepSpeed takes 2.7 times the formula, NVIDIA's servers of eight, with more channels of memory, 0.57 times.
    found = (rows["value"] / rows["predicted"]).sort_values().round(2)
    assert found.tolist() == [0.57, 0.72, 0.97, 1.61, 2.7]


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
