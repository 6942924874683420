"""`gpucalc read-log`: the start of vLLM's logs as five versions write it, each with its source in the first line."""
import csv
import io
import json
from pathlib import Path

import pytest

from gpucalc import cli, Case
from gpucalc.core.quantities import DATA
from gpucalc.rows import tables

LOGS = Path(__file__).parent / "logs"
GIB = 2**30
# What a log lacks, figures of it by hand, and how far the formula's room and tokens may be off.
RUNS = {
    "vllm_0.6": (["--model", "llama 3.1 8b"], dict(weights=14.9888 * GIB, peak=(17.06 - 14.9888) * GIB, beside=0.35 * GIB, room=3.81 * GIB,
                                                   tokens=1952 * 16, times=1.56, max_context=20000), 0.01, 0.002),
    "vllm_0.6.5": (["--model", "llama 3 8b", "--context", "8192"], dict(weights=14.96 * GIB, beside=1.79 * GIB, room=53.29 * GIB,
                                                                        peak=1.26 * GIB, memory_utilization=0.9), 0.04, None),
    "vllm_0.7": (["--model", "llama 3.1 70b", "--weight_format", "INT8", "--gpu", "h100 sxm", "--memory_utilization", "0.98"],
                 dict(weights=67.7229 * GIB, tokens=1381 * 16, times=10.79, max_context=2048), None, None),
    "vllm_0.19": (["--gpu", "A100 SXM 80GB", "--batched_tokens", "2048"], dict(
        version="0.19.0", weights=13.72 * GIB, room=36.56 * GIB, memory_utilization=0.65, max_context=131072), 0.03, None),
    "vllm_0.24": (["--model", "Qwen3.5-35B-A3B", "--weight_format", "NVFP4", "--gpu", "RTX 5090 32GB"], dict(
        version="0.24.0", room=5.98 * GIB, tokens=567_978, times=4.33, max_sequences=1, batched_tokens=8192), None, 0.002)}


def read(name, *words):
    return cli.answer(["read-log", str(LOGS / f"{name}.log"), *RUNS[name][0], *words])


@pytest.mark.parametrize("name", RUNS)
def test_a_log_is_read_and_compared(name):
    _, known, room, tokens = RUNS[name]
    found = json.loads(read(name, "--json"))
    assert {each: found["log"][each] for each in known} == pytest.approx(known)
    assert room is None or found["formula"]["room"] / found["log"]["room"] == pytest.approx(1, abs=room)
    assert tokens is None or found["formula"]["tokens"] / found["log"]["tokens"] == pytest.approx(1, abs=tokens)
    source, *lines = (LOGS / f"{name}.log").read_text(encoding="utf-8").splitlines()
    assert source.startswith("# ") and source[-10:] <= "2026-11-28" and len(lines) > 1


def test_the_parts_of_the_gap_add_up():
    """0.6.5 on an H100: 79.22 GiB x 0.9 less 14.96, 1.26 and 1.79 are 53.29 GiB. The formula has 59.2 GB, 1.97 more than 57.2."""
    shown = read("vllm_0.6.5")
    assert 79.22 * 0.9 - 14.96 - 1.26 - 1.79 == pytest.approx(53.29, abs=0.01)
    assert ("The formula leaves 1.97 GB more for the cache than the engine has.\n  framework and all else: 1.52 GB more in the log\n"
            "  activations of the trial run: 447 MB more in the log\n") in shown
    assert "is held by what the log does not tell apart: weights, activations of the trial run" in read("vllm_0.24")


@pytest.mark.parametrize("name", [name for name in RUNS if name != "vllm_0.7"])
def test_its_rows_are_rows_of_the_measurements(name, tmp_path):
    made = read(name).partition("For data/measurements.csv:\n")[2]
    header = (DATA / "measurements.csv").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "measurements.csv").write_text(f"{header}\n{made}\n", encoding="utf-8")
    assert len(tables.read(tmp_path / "measurements.csv", tables.schema("measurements"))) >= 1
    for row in csv.DictReader(io.StringIO(f"{header}\n{made}\n")):
        assert Case(**json.loads(row["inputs"]))(row["law"]) / float(row["value"]) == pytest.approx(1, abs=0.5)


def test_the_least_room_of_several_workers_counts(tmp_path):
    path = tmp_path / "two.log"
    path.write_text("Available KV cache memory: 12.26 GiB\nAvailable KV cache memory: 12.24 GiB\nMaximum concurrency for 8,192 tokens per request: 3.27x\n"
                    "non-default args: {'model': 'Qwen/Qwen3-8B-FP8', 'tensor_parallel_size': 2, 'quantization': 'fp8'}\n"
                    "Free memory on device (30.27/31.4 GiB) on startup. Desired GPU memory utilization is (0.92, 28.88 GiB). Actual usage is 15.03 GiB for "
                    "consumed memory (weights + non-torch), 1.59 GiB for peak activation\nModel loading took 14.5 GiB memory\n")
    log = json.loads(cli.answer(["read-log", str(path), "--json"]))["log"]
    assert log["room"] == 12.24 * GIB and log["memory"] == 31.4 * GIB and log["beside"] == pytest.approx(0.53 * GIB)
    assert (log["memory_utilization"], log["tensor_parallel"], log["peak"]) == (0.92, 2, 1.59 * GIB)


ROOM = "Available KV cache memory: 5 GiB\n"


@pytest.mark.parametrize(("log", "words", "says"), [
    ("hello\n", [], "no line tells the cache; allowed: a log of vLLM"), (ROOM, [], "no line tells the longest request; allowed: with --context"),
    (ROOM, ["--context", "8192"], "its model is 'not named'; allowed: .*with --model"),
    (ROOM, ["--context", "8192", "--model", "llama 3 8b"], "no line tells the memory of a GPU; allowed: with --gpu"),
    (ROOM + "quantization=awq\n", ["--context", "8192", "--model", "llama 3 8b"], "its weights are in 'awq'; allowed: with --weight_format"),
    (ROOM, ["more"], "read-log takes the path of one log")])
def test_what_a_log_lacks_is_named(tmp_path, log, words, says):
    path = tmp_path / "a.log"
    path.write_text(log)
    with pytest.raises(ValueError, match=says):
        cli.answer(["read-log", str(path), *words])
