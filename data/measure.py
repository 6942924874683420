"""Measures one GPU, or a processor, with PyTorch, and compares the figures with what the formulas said before. See MEASURE.md."""
import argparse
import csv
import datetime
import math
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from book.components import experiments as own

KINDS = ("product", "memory", "attention", "launch", "training", "decode", "prefill")
# What ends one experiment and not the run: out of memory, an operation or a package that is not there.
FAILURES = (RuntimeError, MemoryError, ImportError)
ON_CPU = "skipped: PyTorch counts memory on a GPU only"
NOT_BLIND = "peaks measured in this run: no blind prediction"


def samples(step: Callable[[], Any], sync: Callable[[], Any], seconds: float, clock: Callable[[], float] = time.perf_counter,
            warm_up: int = 3, least: float = 0.02, fewest: int = 5, most: int = 100) -> list[float]:
    """Seconds of one step, many times over some `seconds`. A sample is as many steps as take `least`, started without a pause."""
    def run(repeats):
        start = clock()
        for _ in range(repeats):
            step()
        sync()
        return (clock() - start) / repeats
    for _ in range(warm_up):
        run(1)
    repeats = max(1, math.ceil(least / max(run(1), 1e-9)))
    taken: list[float] = []
    while len(taken) < fewest or sum(taken) * repeats < seconds and len(taken) < most:
        taken.append(run(repeats))
    return taken


def measured(experiments: Iterable[own.Experiment], run: Callable[[own.Experiment], dict[str, list[float]]],
             around: dict[str, Any], watch: Callable[[], dict[str, Any]] = dict, budget: float = math.inf,
             clock: Callable[[], float] = time.monotonic, note: str = "") -> Iterable[dict[str, Any]]:
    """A row for each figure of each experiment: the median of its samples and their spread, or a note on why there is none.

    `run` gives samples by law, `around` is the same in all rows, `watch` gives clock and power since it was last asked.
    Nothing is begun after `budget` seconds.
    """
    start = clock()
    for experiment in experiments:
        found, seen, reason = {}, {}, "skipped: the time is up"
        if clock() - start < budget:
            try:
                found, seen, reason = run(experiment), watch(), ON_CPU
            except FAILURES as error:
                reason = f"skipped: {type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        for row in experiment.rows():
            yield dict.fromkeys(own.MEASUREMENT, "") | row | around | seen | (
                figure(found[row["law"]]) | dict(note=note) if row["law"] in found else dict(note=reason))


def figure(taken: list[float]) -> dict[str, float]:
    """Median of the samples, and the distance from the least to the most of them over it."""
    median = statistics.median(taken)
    return dict(value=median, spread=(max(taken) - min(taken)) / median, samples=len(taken))


class Watch:
    """What nvidia-smi sees of a GPU ten times a second: median clock and power since it was last asked."""

    def __init__(self, gpu: str, folder: str):
        self.path, self.read = Path(folder, "watch.csv"), 0
        with open(self.path, "w") as written:
            self.process = subprocess.Popen(["nvidia-smi", f"--id={gpu}", "--query-gpu=clocks.sm,power.draw",
                                             "--format=csv,noheader,nounits", "--loop-ms=100"], stdout=written)

    def __call__(self) -> dict[str, float]:
        text = self.path.read_text()
        lines = re.findall(r"^([\d.]+), ([\d.]+)\n", text[self.read:], re.M)
        self.read = len(text)
        return {name: statistics.median(map(float, column)) for name, column in zip(("clock_mhz", "power_watts"), zip(*lines))}


def driver(gpu: str) -> dict[str, str]:
    """Version of a GPU's driver."""
    asked = subprocess.run(["nvidia-smi", f"--id={gpu}", "--query-gpu=driver_version", "--format=csv,noheader"],
                           capture_output=True, text=True)
    return {} if asked.returncode else dict(driver=asked.stdout.strip())


def predictions(experiments: Iterable[own.Experiment]) -> Iterable[dict[str, Any]]:
    """What the formulas give for each figure."""
    for row in own.rows(experiments):
        yield row | dict(predicted=own.predicted(row)) | this_run()


def this_run() -> dict[str, str]:
    """The command and its day."""
    return dict(command=shlex.join(sys.argv), date=datetime.date.today().isoformat())


def write(path: str, columns: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as they come, and say each. Raises ValueError where there is a file already: a prediction stays as it is."""
    try:
        file = open(path, "x", newline="", encoding="utf-8")    # noqa: SIM115
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    with file:
        table = csv.DictWriter(file, columns)
        table.writeheader()
        for row in rows:
            table.writerow(row)
            file.flush()
            value = row.get("value", row.get("predicted"))
            print(row["id"], row["note"] if value == "" else f"{value:.4g} {row['unit']}", flush=True)


def compare(path: str, before: str | None) -> None:
    """Print predicted against measured by family, and what was left out."""
    every = own.read(path, own.MEASUREMENT)
    table = own.by_family(own.compared(path, before))
    print("predicted over measured, less 1; predicted", f"before, in {before}" if before else "by the formulas of today")
    print(table.to_string(formatters=dict.fromkeys(table.columns[1:], "{:+.1%}".format)))
    for note, count in every["note"][every["note"] != ""].value_counts().items():
        print(f"{count} figures: {note}")


def backend(needed: bool) -> Any:
    """What runs on PyTorch, or None where it is not installed and not needed."""
    try:
        import measure_torch
    except ImportError as error:
        if needed:
            raise ValueError(f'{error}; PyTorch is the extra `measure`: pip install -e ".[measure]"') from None
        return None
    return measure_torch


def card_of(given: argparse.Namespace, name: str | None, peaks: Callable[[], dict[str, float]] | None) -> tuple[own.Card, str]:
    """The card given by its peaks or its SKU, or found under PyTorch's `name`; and a note if its peaks were measured here."""
    if (given.peak_flops is None) != (given.bandwidth is None):
        raise ValueError("--peak-flops and --bandwidth: give both or neither")
    if given.peak_flops is not None:
        return own.given_card(given.peak_flops, given.bandwidth, given.kernel_seconds, number="BF16" if name else "FP32",
                              is_gpu=bool(name)), ""
    if given.gpu or name:
        return own.known_card(given.gpu or own.sku(name or "")), ""
    if peaks is None:
        raise ValueError("no GPU is found; give --gpu with a SKU of data/gpus.csv, or --peak-flops and --bandwidth")
    return own.given_card(**peaks()), NOT_BLIND


def measure(given: argparse.Namespace) -> None:
    """Predict or measure, and write the file."""
    on = backend(not given.predict)
    name = on and on.gpu_name()
    seconds = 0.1 if given.quick else 1
    card, note = card_of(given, name, None if given.predict else on.Bench("cpu", "FP32", lambda *step: samples(*step, 1)).peaks)
    chosen = [each for each in own.experiments(card, given.quick) if not given.only or each.kind == given.only]
    before = list(predictions(chosen))
    if given.predict:
        write(given.out, own.PREDICTION, before)
        return
    if card.is_gpu and not name:
        raise ValueError("PyTorch finds no GPU")
    with tempfile.TemporaryDirectory() as folder:
        watched = card.is_gpu and shutil.which("nvidia-smi")
        watch = Watch(on.gpu_id(), folder) if watched else dict

        def timer(step, sync):
            watch()
            return samples(step, sync, seconds)
        try:
            bench = on.Bench("cuda" if card.is_gpu else "cpu", card.number, timer)
            around = on.surroundings() | this_run() | (driver(on.gpu_id()) if watched else {})
            write(given.out, own.MEASUREMENT, measured(chosen, bench, around, watch, given.seconds, note=note))
        finally:
            if watched:
                watch.process.terminate()


def main(words: list[str] | None = None) -> int:
    """Run the command; on an error one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--predict", action="store_true", help="write what the formulas give; nothing is measured")
    parser.add_argument("--compare", action="store_true", help="compare --out with --predictions, or with the formulas of today")
    parser.add_argument("--out", help="the file to write, or to compare")
    parser.add_argument("--predictions", help="a file that --predict wrote")
    parser.add_argument("--quick", action="store_true", help="two of each kind, each for a short time")
    parser.add_argument("--seconds", type=float, default=math.inf, help="time after which nothing is begun")
    parser.add_argument("--only", choices=KINDS, help="one kind of experiment")
    parser.add_argument("--gpu", help="SKU of data/gpus.csv, where the name that PyTorch knows does not tell")
    parser.add_argument("--peak-flops", type=float, help="FLOP/s of what gpus.csv lacks: a GPU's in BF16, a processor's in FP32")
    parser.add_argument("--bandwidth", type=float, help="its memory bandwidth, byte/s")
    parser.add_argument("--kernel-seconds", type=float, default=0, help="its least time of a kernel")
    given = parser.parse_args(words)
    given.out = given.out or ("own_predictions.csv" if given.predict else "own_measurements.csv")
    try:
        if given.compare:
            compare(given.out, given.predictions)
        else:
            measure(given)
    except ValueError as error:
        print(f"measure: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
