"""Models of 2024 to 2026: the counts that were published, and that models without new kinds of layers give what they gave."""
import csv
from pathlib import Path

import pytest

from gpucalc import LAWS, Case
from gpucalc.laws import model_size as size
from gpucalc.rows import catalogue
from tests.each import of_each

# As printed by the publisher; where the count differs by more than the printed digits, what is in one of the two alone.
PUBLISHED = {
    "gpt-oss-20b": "20.91e9", "gpt-oss-120b": "116.83e9", "Qwen3-14B": "14.8e9", "Qwen3-32B": "32.8e9", "Qwen3-30B-A3B": "30.5e9",
    "Qwen3-235B-A22B": "235e9", "Qwen3-Coder-480B-A35B": "480e9", "Qwen3-Next-80B-A3B": "80e9", "Qwen3.5-27B": "27e9",
    "Qwen3.5-35B-A3B": "35e9", "Qwen3.5-122B-A10B": "122e9", "Qwen2.5-14B": "14.8e9", "Qwen2.5-32B": "32.8e9",
    "DeepSeek-V3.1": "671e9", "Kimi-K2.5": "1.0e12", "Llama-4-Maverick": "400e9", "Llama-3.3-70B": "70.6e9", "Gemma-3-1B": "1.0e9",
    "Mistral-Small-3": "23.6e9", "Ministral-3-3B": "3.4e9", "Ministral-3-14B": "13.5e9", "Phi-4": "14.7e9", "Nemotron-H-8B": "8.1e9",
    "Nemotron-H-56B": "56e9", "Nemotron-3-Nano-30B-A3B": "31.6e9", "Nemotron-3-Ultra-550B-A55B": "549e9", "OLMo-3-7B": "7.3e9",
    "OLMo-3-32B": "32.2e9", "GLM-5": "744e9", "DeepSeek-V4-Flash": "284e9", "Kimi-K3": "2.8e12"}
DIFFERENT = {  # published, and what explains the difference
    "Qwen3.5-397B-A17B": (397e9, "vision tower"), "DeepSeek-V3.2": (671e9, "indexers"), "Kimi-K2": (1.04e12, "1T on the card"),
    "GLM-4.5": (355e9, "prediction layer"), "GLM-4.5-Air": (106e9, "prediction layer"), "GLM-4.6": (357e9, "prediction layer"),
    "GLM-4.7": (358e9, "prediction layer"), "GLM-5.2": (744e9, "more than counted"), "MiniMax-M2": (230e9, "prediction layers"),
    "Llama-4-Scout": (109e9, "vision tower"), "Gemma-3-4B": (4.3e9, "vision tower"), "Gemma-3-12B": (12.2e9, "vision tower"),
    "Gemma-3-27B": (27.4e9, "vision tower"), "Gemma-4-31B": (31e9, "vision tower"), "Gemma-4-26B-A4B": (26e9, "vision tower"),
    "Ministral-3-8B": (8.4e9, "less than counted"), "Mistral-Large-3": (675e9, "vision tower"),
    "Nemotron-3.5-Lightning-30B-A3B": (30e9, "less than counted"), "Nemotron-3-Super-120B-A12B": (120e9, "prediction layer"),
    "Kimi-Linear-48B-A3B": (48e9, "less than counted"), "DeepSeek-V4-Pro": (1.6e12, "prediction layer"),
    "MiniMax-M3": (428e9, "vision tower"), "Qwen2.5-VL-7B": (8_292_166_656, "vision tower"),
    "Qwen3-VL-8B": (8_767_123_696, "vision tower")}
# With their vision tower: what the checkpoints on Hugging Face hold.
WITH_TOWER = {"Gemma-3-4B": 4_300_079_472, "Gemma-3-12B": 12_187_325_040, "Gemma-3-27B": 27_432_406_640}
RECORDED = list(csv.DictReader((Path(__file__).parents[1] / "plain_models.csv").read_text().splitlines()))
JOB = dict(sequence=4096, micro_batch=1, micro_batches=16, flash_attention=1, network_bandwidth=50e9, network_latency=5e-6,
           efficiency="bound", gpu="H100 SXM 80GB")
LAYOUTS = {
    "full": dict(recipe="mixed-adamw", data_parallel=8, zero_stage=3), "lora": dict(recipe="lora", data_parallel=2, recompute=3),
    "stages": dict(recipe="mixed-adamw", pipeline_parallel=4, data_parallel=2, zero_stage=1, recompute=1, flash_attention=0),
    "adafactor": dict(recipe="adafactor", data_parallel=1, recompute=2)}


@pytest.mark.parametrize("model, printed", PUBLISHED.items())
def test_a_published_count(model, printed):
    digits = len(printed.partition("e")[0].partition(".")[2])
    unit = 10.0 ** (int(printed.partition("e")[2]) - digits)
    # Cards round, up or down.
    assert abs(Case(model=model)(size.params) - float(printed)) <= unit


@pytest.mark.parametrize("model", DIFFERENT)
def test_a_difference_to_the_published_count_is_explained_in_the_row(model):
    row, (printed, why) = catalogue.model(model), DIFFERENT[model]
    assert "published" in row.note and why in row.note
    assert row.params == Case(row)(size.params) == pytest.approx(printed, rel=0.1)


def test_every_model_of_2024_and_later_has_its_published_count():
    models = catalogue.models()
    new = {name for name in models.index if "published" in models["note"].fillna("")[name]}
    assert new == {*PUBLISHED, *DIFFERENT} and len(new) >= 45


def test_the_vision_towers_of_gemma_3_are_of_one_size():
    # SigLIP of 400 million, 27 layers of 1,152, and the projection of its 1,152 channels to the model's, with its norm.
    towers = {whole - Case(model=name)(size.params) - 1152 * (1 + catalogue.model(name).hidden) for name, whole in WITH_TOWER.items()}
    assert len(towers) == 1 and towers.pop() == pytest.approx(0.417e9, rel=0.01)


def test_models_that_embed_and_see_have_the_counts_of_their_checkpoints():
    """By hand: 36 layers of 192,946,432 and 151,665 x 4,096; of 100,930,816 and x 2,560; 28 of 15,730,944 and 151,669 x 1,024; a norm
    each. What Qwen2.5-VL has beside the tower of 676,550,144."""
    counts = {"Qwen3-Embedding-8B": 7_567_295_488, "Qwen3-Embedding-4B": 4_021_774_336, "Qwen3-Embedding-0.6B": 595_776_512,
              "Qwen2.5-VL-7B": 8_292_166_656 - 676_550_144}
    assert {name: Case(model=name)(size.params) for name in counts} == counts
    assert 36 * 192_946_432 + 151_665 * 4096 + 4096 == counts["Qwen3-Embedding-8B"]
    assert 36 * 100_930_816 + 151_665 * 2560 + 2560 == counts["Qwen3-Embedding-4B"]
    assert 28 * 15_730_944 + 151_669 * 1024 + 1024 == counts["Qwen3-Embedding-0.6B"]


@of_each({f"{row['model']}-{row['layout']}": row for row in RECORDED})
def test_a_model_without_new_kinds_of_layers_gives_what_it_gave(row):
    case = Case(model=row["model"], **JOB | LAYOUTS[row["layout"]])
    for law in ("gpu_params", "activation_bytes", "training_bytes", "hardware_flops", "step_seconds"):
        assert float(case(LAWS[law])) == float(row[law]), law


@pytest.mark.parametrize(("model", "published", "apart"), [
    ("DeepSeek-V4-Flash", 13e9, "lookup_params"), ("DeepSeek-V4-Pro", 49e9, "lookup_params"), ("Kimi-K3", 104e9, "lookup_params"),
    ("MiniMax-M3", 23e9, "embedding_params")])
def test_what_a_token_uses_of_models_of_2026(model, published, apart):
    """As their cards say, without the embedding that a token looks up; M3's is without the output head too."""
    case = Case(model=model)
    assert case(size.active_params) - case(apart) == pytest.approx(published, rel=0.025)
