"""The pictures of training memory and of quantization: their figures are the formulas', their shapes to scale."""
import re

import pytest

from book.components.memory import fullest, in_bytes, training_job
from book.pages.quantization import block_of_weights, pass_table
from book.pages.training_memory import at_peak, bytes_of_a_weight, one_step, zero_shards
from gpucalc import Case, quantization, training_memory as tm
from gpucalc.rows import catalogue
from tests.pictures import boxes, widths

JOB = dict(model="Llama-3-8B", gpu="H100 SXM 80GB", micro_batch=1, micro_batches=8, sequence=8192, recompute=2, flash_attention=1,
           zero_stage=3, data_parallel=8)


@pytest.mark.parametrize("recipe", [
    pytest.param(name, marks=[pytest.mark.illegible] * (name in ("adamw-8bit", "nvfp4-adamw"))) for name in catalogue.recipes().index])
def test_a_weight_s_bytes_are_to_scale(recipe):
    drawn = bytes_of_a_weight(catalogue.recipe(recipe))
    assert f"Training a weight takes {in_bytes(Case(recipe=recipe)(tm.bytes_per_param))}," in drawn.source
    frozen = [wide + 1.5 for wide in widths(drawn, "a")[-2:]]
    assert frozen[1] / frozen[0] == pytest.approx(0.515869140625 / 2, rel=1e-3)
    assert max(box.right for color in "abcd" for box in boxes(drawn, color)) <= 396


@pytest.mark.parametrize("change", [{}, pytest.param({"recompute": 0}, marks=pytest.mark.illegible), {"persistent_gradients": 0},
                                    {"recipe": "qlora"}, {"pipeline_parallel": 4}])
def test_one_step_peaks_where_the_account_does(change):
    account = fullest(training_job(Case(**{"recipe": "mixed-adamw"} | JOB | change)))
    drawn = one_step(account, 85e9)
    assert f"Memory peaks at {in_bytes(account.terms['peak_bytes'])}, " in drawn.source
    heights = [float(y) for way in re.findall(r'<path d="M([^"]*) Z"', drawn.source) for y in re.findall(r",([-\d.e]+)", way)]
    assert 34 <= min(heights) and max(heights) <= 250.1


def test_zero_leaves_each_gpu_what_the_formula_says():
    case = training_job(Case(recipe="mixed-adamw", **JOB))
    drawn = zero_shards(case)
    for stage in range(4):
        held = case.but(data_parallel=4, zero_stage=stage)(tm.held_state_bytes)
        assert in_bytes(held) in drawn.source
    # Weights of no stage but the last are divided: 4 whole strips in 3 rows, quarters in one.
    assert sorted(wide for wide in widths(drawn, "a") if wide != 12) == pytest.approx([14.5] * 4 + [58] * 12)
    assert drawn.source.count("data-yours=\"held_state_bytes\"") == 4


@pytest.mark.parametrize("name", catalogue.formats().index)
def test_a_block_is_drawn_to_scale_in_bits(name):
    stored = catalogue.weight_format(name)
    drawn = block_of_weights(stored)
    weights, scales, wide = (widths(drawn, color) for color in "abe")
    assert f"together {Case(stored)(quantization.stored_bits):.6g} bits a weight" in drawn.source
    per_bit = wide[0] / 16
    assert weights[0] + 1.5 == pytest.approx(stored.value_bits * per_bit, rel=1e-3)
    assert len(weights) == min(stored.block if stored.block_bits else stored.superblock, 128 // stored.value_bits * 6)
    assert bool(scales) == bool(stored.block_bits or stored.superblock_bits)
    if stored.block_bits:
        assert scales[0] == pytest.approx(stored.block_bits * per_bit, rel=1e-3)


def test_only_what_waits_for_memory_gets_faster():
    shown = pass_table("Llama-3-8B", "H100 SXM 80GB", "On {}: {} tokens").source
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", shown)[1:]]
    token, prompt = ({name: float(value.partition(" ")[0]) for name, value in zip([row[0] for row in rows], column)}
                     for column in zip(*[row[1:] for row in rows]))
    assert token["INT4 weights"] < token["FP8 weights"] < token["BF16"]
    assert prompt["INT4 weights"] == prompt["FP8 weights"] == prompt["BF16"] > prompt["FP8 weights and products"]


@pytest.mark.parametrize("change", [{}, pytest.param({"recompute": 0}, marks=pytest.mark.illegible), {"persistent_gradients": 0},
                                    pytest.param({"zero_stage": 0, "data_parallel": 1}, marks=pytest.mark.illegible),
                                    {"recipe": "qlora"}])
def test_the_labels_of_a_step_add_up_to_its_title(change):
    account = fullest(training_job(Case(**{"recipe": "mixed-adamw"} | JOB | change)))
    said = re.sub(r"<[^>]*>", "\n", one_step(account, 85e9).source)
    sizes = [float(value) * {"M": 1e6, "G": 1e9, "T": 1e12, "": 1}[prefix] for value, prefix in re.findall(
        r"^(?:model state|activations|logits and loss) ([\d.]+) ([MGT]?)B$", said, re.MULTILINE)]
    parts = at_peak(account)
    assert len(sizes) == 3 and sum(sizes) == pytest.approx(account.terms["peak_bytes"], rel=0.005)
    assert parts["state"] + parts["activations"] + parts["loss"] == pytest.approx(parts["all"])
