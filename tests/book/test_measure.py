"""Own measurements: what is run, what is predicted of it, and how a run goes on; PyTorch itself only where it is installed."""
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from data import measure
from book.components import experiments as own
from gpucalc import Case
from gpucalc.rows import catalogue

ROOT = Path(__file__).parents[2]
H100 = own.known_card("H100 SXM 80GB")
CPU = own.given_card(1e11, 2e10, 1e-6)
SCRIPT = [sys.executable, ROOT / "data/measure.py"]
# A processor, whatever this machine has.
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}


def by_id(card, name):
    experiment, = (each for each in own.experiments(card) if each.id == name)
    return experiment


def predictions(card, name):
    return {row["law"]: own.predicted(row) for row in by_id(card, name).rows()}


# What is run, and what is predicted of it

def test_every_name_of_pytorch_is_a_gpu_of_the_table():
    assert set(own.SKUS.values()) <= set(catalogue.gpus().index)
    assert own.sku("NVIDIA H200") == "H200 SXM 141GB"


def test_an_unknown_gpu_is_not_guessed():
    with pytest.raises(ValueError, match=r"^NVIDIA H101 PCIe: no GPU known by that name; give --gpu .*; close: NVIDIA H100 PCIe"):
        own.sku("NVIDIA H101 PCIe")


@pytest.mark.parametrize("card", [H100, CPU, *map(own.known_card, ("P100 PCIe 16GB", "T4 16GB", "A100 SXM 80GB", "RTX 4090 24GB"))],
                         ids=lambda card: card.inputs.get("gpu", "given"))
def test_every_row_has_a_prediction(card):
    rows = list(own.rows(own.experiments(card)))
    assert len({row["id"] for row in rows}) == len(rows) > 20
    assert [row["id"] for row in rows if not 0 < own.predicted(row) < math.inf] == []


@pytest.mark.parametrize("card", [H100, CPU])
def test_a_quick_run_is_a_part_of_the_whole_with_every_kind(card):
    quick, whole = own.experiments(card, quick=True), own.experiments(card)
    assert {each.id for each in quick} < {each.id for each in whole}
    assert [each.kind for each in quick[:7]] == list(measure.KINDS) == [each.kind for each in whole[:7]]


@pytest.mark.parametrize("card, tokens, width", [(H100, 16384, 14336), (CPU, 512, 192)])
def test_sizes_are_powers_of_two_and_attention_has_as_many_tokens_in_each(card, tokens, width):
    named = {kind: [each for each in own.experiments(card) if each.kind == kind] for kind in measure.KINDS}
    sizes = [each.inputs[name] for name in ("rows", "inner", "columns") for each in named["product"]]
    sizes += [each.how["size"] for each in named["memory"]] + [each.inputs["batch"] * each.inputs["context"] for each in named["decode"]]
    sizes += [each.inputs["prompt"] for each in named["prefill"]]
    sizes += [each.inputs["micro_batch"] * each.inputs["sequence"] for each in named["training"]]
    assert {size for size in sizes if size & size - 1} <= {width}
    assert {each.inputs["batch"] * each.inputs["context"] for each in named["attention"]} == {tokens}
    assert {each.inputs["recompute"] for each in named["training"]} == {0, 2}
    assert max(each.how["size"] for each in named["memory"]) == 2**32 // (1 if card is H100 else 16)


def test_the_tiny_model_by_hand():
    # Two layers of 64: q and o 64 x 64, k and v 64 x 32, three of 64 x 192, two norms; a table and a head of 512, a norm.
    inputs = by_id(CPU, "training-tiny-adamw-2x64-recompute0").inputs
    assert Case.of(inputs)("params") == 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 192 + 2 * 64) + 2 * 512 * 64 + 64
    assert inputs["heads"] == 2 * inputs["kv_heads"] == 4 and (inputs["micro_batch"], inputs["micro_batches"]) == (2, 1)


def test_formats_are_those_that_the_card_has():
    def formats(card):
        return {each.how["number"] for each in own.experiments(card) if each.kind == "product"}
    assert formats(H100) == {"BF16", "FP32", "TF32", "FP8"}
    assert formats(own.known_card("T4 16GB")) == {"FP16", "FP32"} and formats(CPU) == {"FP32"}


def test_products_and_memory_by_hand():
    # 2 x 512^3 FLOP at 1e11 a second; 2^28 bytes read and written at 2e10.
    assert predictions(CPU, "product-FP32-512x512x512") == pytest.approx({"matmul_seconds": 2 * 512**3 / 1e11}, rel=0.01)
    assert predictions(CPU, "memory-copy-268435456") == pytest.approx({"operator_seconds": 2 * 2**28 / 2e10}, rel=0.01)
    # FP8 goes in with a byte and comes out with two.
    inputs = by_id(H100, "product-FP8-1x4096x14336").inputs
    assert (inputs["matmul_bytes"], inputs["peak_flops"]) == (4096 + 4096 * 14336 + 2 * 14336, 1979e12)


def test_attention_by_hand():
    # One causal sequence of 512 with 4 heads of 16: 4 x 4 x 16 FLOP a pair, half of 512^2 pairs.
    assert predictions(CPU, "attention-1x512")["operator_seconds"] == pytest.approx(4 * 4 * 16 * 512**2 / 2 / 1e11, rel=0.01)


def test_a_thousand_kernels_by_hand():
    assert predictions(H100, "launch-graph") == pytest.approx({"operator_seconds": 1000 * 2e-6}, rel=0.01)


def test_memory_of_training_by_hand():
    # Tied table and norm, 16 layers: q and o 2048 x 2048, k and v 2048 x 512, three of 2048 x 8192, two norms.
    params = 128_256 * 2048 + 2048 + 16 * (2 * 2048**2 + 2 * 2048 * 512 + 3 * 2048 * 8192 + 2 * 2048)
    # Of a token a layer keeps inputs and outputs of two norms, q, k, v, the output and four of the MLP, and 4 bytes a head.
    layer = 2 * (4 * 2048 + 2 * 2048 + 2 * 512 + 4 * 8192) + 4 * 32
    # At the loss weights and moments stand, 2 and 4 bytes, and 2 + 12 bytes a logit with two inputs of 2048.
    tokens = 2048
    peak = 6 * params + tokens * (16 * layer + 14 * 128_256 + 2 * 2 * 2048)
    found = predictions(H100, "training-Llama-3.2-1B-adamw-1x2048-recompute0")
    assert found["peak_bytes"] == pytest.approx(peak) and found["training_bytes"] > peak
    assert predictions(H100, "training-Llama-3.2-1B-sgd-1x2048-recompute0")["peak_bytes"] == pytest.approx(peak - 4 * params)


def test_nf4_and_eight_bit_states_are_those_of_the_recipes():
    recipes = catalogue.recipes()
    assert own.NF4_BYTES == recipes["frozen_element_bytes"]["qlora"]
    assert own.OPTIMIZERS["adamw8bit"](2) == recipes["optimizer_element_bytes"]["adamw-8bit"]
    assert own.OPTIMIZERS["adamw"](2) == recipes["optimizer_element_bytes"]["bf16-adamw"]


FIRST_AND_LAST = {
    "product": ("product-BF16-4096x4096x4096", "product-FP8-16384x4096x14336", 10 * 4), "memory": ("memory-copy-1073741824", "memory-read-268435456", 6),
    "attention": ("attention-8x2048", "attention-1x16384", 6), "launch": ("launch-eager", "launch-graph", 2),
    "training": ("training-Llama-3.2-1B-adamw-1x2048-recompute0", "training-Llama-3-8B-adamw-1x2048-recompute2", 13),
    "decode": ("decode-Llama-3.2-1B-1x1024", "decode-Llama-3.2-1B-16x8192", 8), "prefill": ("prefill-Llama-3.2-1B-1024", "prefill-Llama-3.2-1B-8192", 5)}
OF_A_PROCESSOR = {
    "product": ("product-FP32-256x256x256", "product-FP32-1024x1024x1024", 4), "memory": ("memory-copy-268435456", "memory-read-134217728", 4),
    "attention": ("attention-4x128", "attention-1x512", 2), "launch": ("launch-eager", "launch-eager", 1),
    "training": ("training-tiny-adamw-2x64-recompute0", "training-tiny-adamw-qlora-2x64-recompute0", 6),
    "decode": ("decode-tiny-1x64", "decode-tiny-8x128", 2), "prefill": ("prefill-tiny-64", "prefill-tiny-256", 2)}


@pytest.mark.parametrize("card, expected", [(H100, FIRST_AND_LAST), (CPU, OF_A_PROCESSOR)], ids=["GPU", "processor"])
def test_the_first_the_last_and_the_number_of_each_kind(card, expected):
    found = own.experiments(card)
    for kind, ends in expected.items():
        names = [each.id for each in found if each.kind == kind]
        assert (names[0], names[-1], len(names)) == ends
    assert len(found) == sum(many for *_, many in expected.values())


def test_a_quick_run_takes_two_sizes_of_each_kind_in_turn():
    assert [each.id for each in own.experiments(CPU, quick=True)] == [
        *(first for first, _, _ in OF_A_PROCESSOR.values()), "product-FP32-1x512x512", "memory-read-268435456", "attention-1x512", "training-tiny-adamw-lora-2x64-recompute2",
        "decode-tiny-8x128", "prefill-tiny-256", "memory-copy-134217728", "memory-read-134217728"]


def test_what_a_training_step_is_given():
    """BF16 throughout, moments of 2 x 2 bytes, on one GPU; adapters of rank 16 train on weights in 4.127 bits."""
    given = by_id(H100, "training-Llama-3-8B-adamw-qlora-4x2048-recompute2")
    assert given.inputs == dict(
        gpu="H100 SXM 80GB", efficiency="achieved", model="Llama-3-8B", link_bandwidth=1e9, network_bandwidth=1e9, port_bandwidth=1e9, beyond_bandwidth=1e9, group_ports=1, peer_ports=1,
        reach=1, weight_element_bytes=2, gradient_element_bytes=2, master_element_bytes=0, optimizer_element_bytes=4, embedding_optimizer_element_bytes=4, kept_element_bytes=2,
        frozen_element_bytes=pytest.approx(4.127 / 8, rel=1e-3), lora_rank=16, adapt_query=1, adapt_key=1, adapt_value=1, adapt_output=1, adapt_mlp=1, activation_element_bytes=2,
        logit_element_bytes=2, loss_element_bytes=12, micro_batch=4, sequence=2048, micro_batches=1, recompute=2, flash_attention=1, fusion=1, persistent_gradients=0)
    assert given.how == dict(optimizer="adamw", packed=True)
    assert given.laws == {"step_seconds": {}, "peak_bytes": {}, "training_bytes": {"framework_bytes": 0}}
    plain = by_id(CPU, "training-tiny-sgd-2x64-recompute0")
    assert {name: plain.inputs[name] for name in ("weight_element_bytes", "optimizer_element_bytes", "frozen_element_bytes", "lora_rank", "adapt_mlp", "loss_element_bytes")} == dict(
        weight_element_bytes=4, optimizer_element_bytes=0, frozen_element_bytes=0, lora_rank=0, adapt_mlp=0, loss_element_bytes=8)
    assert plain.how == dict(optimizer="sgd", packed=False)
    assert by_id(CPU, "training-tiny-adamw-lora-2x64-recompute2").inputs["frozen_element_bytes"] == 4


def test_what_the_other_kinds_are_given():
    served = dict(gpu="H100 SXM 80GB", efficiency="achieved", model="Llama-3-8B", weight_element_bytes=2, cache_element_bytes=2, activation_element_bytes=2, kernels_per_layer=15, host_seconds=0)
    assert by_id(H100, "decode-Llama-3-8B-1x32768").inputs == served | dict(batch=1, context=32768)
    assert by_id(H100, "prefill-Llama-3-8B-16384").inputs == served | dict(batch=1, prompt=16384)
    card = dict(gpu="H100 SXM 80GB", efficiency="achieved")
    assert by_id(H100, "memory-copy-4294967296").inputs == card | dict(operator_flops=0, operator_bytes=2 * 4294967296, kernels=1)
    assert by_id(H100, "memory-read-4294967296").inputs == card | dict(operator_flops=0, operator_bytes=4294967296, kernels=1)
    assert by_id(H100, "launch-eager").inputs == card | dict(operator_flops=0, operator_bytes=8000, kernels=1000) and not by_id(H100, "launch-eager").how["graph"]
    assert by_id(H100, "launch-graph").how["graph"]
    assert by_id(H100, "product-TF32-16x4096x14336").inputs == card | dict(rows=16, inner=4096, columns=14336, element_bytes=4, peak_flops=pytest.approx(989e12 / 2, rel=2e-3))
    attention = by_id(H100, "attention-2x8192").inputs
    assert {name: attention[name] for name in ("heads", "kv_heads", "head_dim", "layers", "batch", "prompt", "context", "tokens", "causal", "kernels", "moved_values")} == dict(
        heads=32, kv_heads=8, head_dim=128, layers=1, batch=2, prompt=8192, context=8192, tokens=16384, causal=1, kernels=1, moved_values=2 * 32 * 128)
    assert attention["compute_efficiency"] == catalogue.gpu("H100 SXM 80GB").attention_share and attention["cache_element_bytes"] == 2
    assert own.given_card(1e11, 2e10) == own.Card(dict(peak_flops=1e11, narrow_flops=1e11, bandwidth=2e10, kernel_seconds=0, units=1), "FP32", {"FP32": 1e11}, False)


def test_errors_by_family_by_hand():
    """Predicted over measured, less 1: 0.5, -0.1 and 0.2 of one family, 3 of another, in the order in which they come."""
    import pandas
    found = own.by_family(pandas.DataFrame({"family": ["b", "b", "b", "a"], "error": [0.5, -0.1, 0.2, 3]}))
    assert list(found.index) == ["b", "a"] and found.loc["a"].tolist() == [1, 3, 3, 3, 3]
    assert found.loc["b"].tolist() == pytest.approx([3, 0.2, 0.2, -0.1, 0.5])


# How a run goes on

class Clock:
    """Stands still until a step takes its time."""

    now = 0.0

    def __call__(self):
        return self.now


def test_samples_of_a_short_step_hold_many_of_them():
    clock, steps = Clock(), []

    def step():
        steps.append(clock.now)
        clock.now += 0.004
    taken = measure.samples(step, lambda: None, seconds=0.1, clock=clock)
    # Three to warm up, one to see how long it takes; then 0.02 / 0.004 = 5 steps a sample, 0.02 s each, up to 0.1 s.
    assert taken == pytest.approx([0.004] * 5) and len(steps) == 4 + 5 * 5


def test_samples_of_a_long_step_are_five_at_least_and_a_hundred_at_most():
    clock = Clock()

    def wait():    # what runs beside the processor is waited for
        clock.now += 3
    assert measure.samples(lambda: None, wait, seconds=1, clock=clock) == [3] * 5
    assert len(measure.samples(lambda: None, wait, seconds=1e9, clock=clock)) == 100


def rows_of(run, **given):
    experiments = [by_id(CPU, name) for name in ("memory-copy-268435456", "training-tiny-adamw-2x64-recompute0", "decode-tiny-1x64")]
    return list(measure.measured(experiments, run, dict(torch="2.13", gpu="none"), **given))


def test_a_figure_is_a_median_with_its_spread():
    row = rows_of(lambda experiment: {law: [1.0, 2.0, 4.0] for law in experiment.laws}, watch=lambda: dict(clock_mhz=1980))[0]
    assert tuple(row) == own.MEASUREMENT
    assert (row["value"], row["spread"], row["samples"], row["clock_mhz"], row["torch"]) == (2, 1.5, 3, 1980, "2.13")


def test_what_fails_is_left_out_with_its_reason_and_the_rest_goes_on():
    def run(experiment):
        if experiment.kind == "memory":
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")
        return {next(iter(experiment.laws)): [1.0]}
    notes = {row["id"]: (row["value"], row["note"]) for row in rows_of(run)}
    assert notes == {
        "memory-copy-268435456-operator_seconds": ("", "skipped: RuntimeError: CUDA out of memory. Tried to allocate 2 GiB."),
        "training-tiny-adamw-2x64-recompute0-step_seconds": (1, ""),
        "training-tiny-adamw-2x64-recompute0-peak_bytes": ("", measure.ON_CPU),
        "training-tiny-adamw-2x64-recompute0-training_bytes": ("", measure.ON_CPU),
        "decode-tiny-1x64-decode_seconds": (1, "")}


def test_nothing_is_begun_when_the_time_is_up():
    clock = Clock()

    def run(experiment):
        clock.now += 10
        return {law: [1.0] for law in experiment.laws}
    rows = rows_of(run, budget=5, clock=clock)
    assert [row["note"] for row in rows] == ["", *["skipped: the time is up"] * 4]


def test_an_error_in_the_script_is_no_skipped_row():
    with pytest.raises(KeyError):
        rows_of(lambda experiment: {}["wrong"])


def nvidia_smi(tmp_path, monkeypatch, script):
    """Puts a script in place of nvidia-smi."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_clock_and_power_are_medians_since_last_asked(tmp_path, monkeypatch):
    nvidia_smi(tmp_path, monkeypatch, "printf '1980, 600.5\\n1500, 500.5\\n1200, 400.5\\n[N/A], [N/A]\\n17'")
    watch = measure.Watch("GPU-0", str(tmp_path))
    watch.process.wait()
    assert watch() == {"clock_mhz": 1500, "power_watts": 500.5}
    assert watch() == {}


def test_on_a_gpu_a_row_names_driver_clock_and_power(tmp_path, monkeypatch, capsys, backend):
    answers = "case $* in *driver*) echo 580.1;; *) for i in 1 2 3; do echo 1980, 650; done;; esac"
    nvidia_smi(tmp_path, monkeypatch, answers)
    backend.gpu_name, backend.gpu_id = lambda: "NVIDIA H100 80GB HBM3", lambda: "GPU-0"
    held = backend.Bench("cuda", "BF16", None)

    class Bench:
        def __new__(cls, device, number, timer):
            def run(experiment):
                timer(lambda: None, lambda: time.sleep(0.1))
                return held(experiment)
            run.peaks = None
            return run
    backend.Bench = Bench
    path = tmp_path / "own.csv"
    assert run_main(capsys, "--quick", "--only", "launch", "--out", path)[0] == 0
    row = own.read(path, own.MEASUREMENT).iloc[0]
    assert row["driver"] == "580.1" and json.loads(row["inputs"])["gpu"] == "H100 SXM 80GB"
    assert float(row["value"]) == pytest.approx(0.001, rel=0.01)


# Files and the command

def run_main(capsys, *words):
    code = measure.main(list(map(str, words)))
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def backend(monkeypatch):
    """Stands for PyTorch on a processor: each figure is half of what the formulas give, 8-bit optimizers are missing."""
    def run(experiment):
        if "adamw8bit" in experiment.id:
            raise ModuleNotFoundError("No module named 'bitsandbytes'")
        return {row["law"]: [own.predicted(row) / 2] for row in experiment.rows()}

    class Bench:
        def __new__(cls, device, number, timer):
            return run
    run.peaks = lambda: dict(peak_flops=1e11, bandwidth=2e10, kernel_seconds=1e-6)
    stand_in = SimpleNamespace(Bench=Bench, gpu_name=lambda: None, surroundings=lambda: dict(torch="2.13", gpu="none"))
    monkeypatch.setitem(sys.modules, "measure_torch", stand_in)
    return stand_in


PEAKS = ("--peak-flops", 1e11, "--bandwidth", 2e10, "--kernel-seconds", 1e-6)


def test_predicted_then_measured_then_compared(tmp_path, capsys, backend):
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    assert run_main(capsys, "--predict", *PEAKS, "--out", before)[0] == 0
    assert run_main(capsys, *PEAKS, "--out", after)[0] == 0
    code, said, _ = run_main(capsys, "--compare", "--out", after, "--predictions", before)
    lines = said.splitlines()
    assert code == 0 and lines[0].endswith(f"before, in {before}")
    assert next(line for line in lines if line.startswith("decode ")).split() == ["decode", "2", *["+100.0%"] * 4]
    assert lines[-1] == "3 figures: skipped: ModuleNotFoundError: No module named 'bitsandbytes'"
    assert run_main(capsys, "--compare", "--out", after)[1].startswith("predicted over measured, less 1; predicted by the formulas of")


def test_a_measurement_that_finds_its_own_peaks_says_so(tmp_path, capsys, backend):
    code, said, _ = run_main(capsys, "--quick", "--only", "decode", "--out", tmp_path / "own.csv")
    assert code == 0 and len(said.splitlines()) == 2
    frame = own.read(tmp_path / "own.csv", own.MEASUREMENT)
    assert set(frame["note"]) == {measure.NOT_BLIND} and json.loads(frame["inputs"].iloc[0])["bandwidth"] == 2e10


def test_a_file_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "before.csv"
    assert run_main(capsys, "--predict", "--gpu", "H100 SXM 80GB", "--quick", "--out", path)[0] == 0
    held = path.read_text()
    code, _, error = run_main(capsys, "--predict", "--gpu", "L4 24GB", "--quick", "--out", path)
    assert (code, error, path.read_text()) == (1, f"measure: {path}: File exists\n", held)


@pytest.mark.parametrize("words, told", [
    (["--predict"], "no GPU is found; give --gpu with a SKU of data/gpus.csv, or --peak-flops and --bandwidth"),
    (["--predict", "--peak-flops", "1e12"], "--peak-flops and --bandwidth: give both or neither"),
    (["--predict", "--gpu", "H100"], "gpu 'H100' may be H100 SXM 80GB | H100 PCIe 80GB"),
    (["--predict", "--peak-flops", "-1", "--bandwidth", "1e9"], "peak_flops"),
    (["--gpu", "H100 SXM 80GB"], "PyTorch finds no GPU"),
    (["--compare", "--out", "none.csv"], "none.csv: No such file or directory")])
def test_what_cannot_be_done_is_one_line(capsys, backend, words, told):
    code, said, error = run_main(capsys, *words)
    assert code == 1 and not said and error.startswith("measure: ") and told in error and error.count("\n") == 1


def test_without_pytorch_it_says_how_to_get_it(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "measure_torch", None)
    code, _, error = run_main(capsys)
    assert code == 1 and 'PyTorch is the extra `measure`: pip install -e ".[measure]"' in error


def test_files_that_do_not_belong_together_are_refused(tmp_path, capsys, backend):
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    run_main(capsys, *PEAKS, "--only", "decode", "--out", after)
    for words, told in (([*PEAKS, "--only", "prefill"], "has no prediction of 'decode-tiny-1x64-decode_seconds'"),
                        (["--peak-flops", 1e11, "--bandwidth", 1e10], "'decode-tiny-1x64-decode_seconds' was predicted for other inputs")):
        before.unlink(missing_ok=True)
        run_main(capsys, "--predict", *words, "--out", before)
        assert told in run_main(capsys, "--compare", "--out", after, "--predictions", before)[2]
    assert "has the columns id, family" in run_main(capsys, "--compare", "--out", before)[2]
    lines = after.read_text().splitlines(keepends=True)
    after.write_text("".join([*lines, lines[-1]]))
    assert "id 'decode-tiny-8x128-decode_seconds' is there twice" in run_main(capsys, "--compare", "--out", after)[2]


def test_the_readme_names_every_column():
    text = (ROOT / "data/MEASURE.md").read_text(encoding="utf-8")
    assert [name for name in {*own.MEASUREMENT, *own.PREDICTION} if f"`{name}`" not in text] == []


# On PyTorch itself

with_pytorch = pytest.mark.skipif(importlib.util.find_spec("torch") is None,
                                  reason="PyTorch is not installed; `.venv/bin/pip install torch` includes this")


@with_pytorch
def test_a_small_run_from_end_to_end(tmp_path):
    path = tmp_path / "own.csv"
    subprocess.run([*SCRIPT, "--quick", "--seconds", "120", "--out", path], check=True, env=ENVIRONMENT)
    frame = own.read(path, own.MEASUREMENT)
    taken = frame[~frame["note"].str.startswith("skipped")]
    assert set(taken["note"]) == {measure.NOT_BLIND}
    assert (taken["value"].astype(float) > 0).all() and (taken["samples"].astype(int) >= 1).all()
    assert {name.partition("-")[0] for name in taken.index} == set(measure.KINDS)
    compared = subprocess.run([*SCRIPT, "--compare", "--out", path], check=True, env=ENVIRONMENT, capture_output=True, text=True)
    assert "decode" in compared.stdout


@with_pytorch
def test_the_model_trains_as_many_parameters_as_the_formulas_count():
    code = """
import torch, measure_torch
from gpucalc import Case
from book.components import experiments as own
for each in own.experiments(own.given_card(1e11, 2e10)):
    if each.kind == "training":
        model = measure_torch.Model(each.inputs, dict(device="cpu", dtype=torch.float32), not each.inputs["lora_rank"],
                                    each.inputs["lora_rank"])
        assert sum(tensor.numel() for tensor in model.trained) == Case.of(each.inputs)("trainable_params"), each.id
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT / "data", env=ENVIRONMENT)


@with_pytorch
def test_a_token_behind_a_cache_has_the_logits_of_the_whole_prompt():
    code = """
import torch, measure_torch
from book.components import experiments as own
sizes = next(each.inputs for each in own.experiments(own.given_card(1e11, 2e10)) if each.kind == "decode")
model = measure_torch.Model(sizes, dict(device="cpu", dtype=torch.float32))
tokens, turns = torch.randint(sizes["vocab"], (2, 10)), model.positions(10)
whole, cache = model.serve(tokens, turns, model.cache(2, 10), 0), model.cache(2, 10)
model.serve(tokens[:, :9], [each[:9] for each in turns], cache, 0)
assert torch.allclose(model.serve(tokens[:, 9:], [each[9:] for each in turns], cache, 9), whole, atol=1e-4)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT / "data", env=ENVIRONMENT)
