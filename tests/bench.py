"""What `make bench` prints: measured figures beside their budgets. It works in a copy and leaves the built book alone."""

import multiprocessing
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas
from playwright.sync_api import sync_playwright

from book.build import ROOT
from gpucalc import break_even, training_memory
from gpucalc.rows import catalogue
from gpucalc.plan import decide
from gpucalc.core.evaluate import Case
from gpucalc.plan.layouts import all_layouts
from tests.browser import launch, page_budget, page_bytes, visit

JOB = dict(micro_batch=1, micro_batches=1, recompute=1, flash_attention=1)
LLAMA = dict(model="Llama-3.1-405B", gpu="H100 SXM 80GB", gpus=16384, global_batch=2048, sequence=8192)
DEEPSEEK = dict(model="DeepSeek-V3", gpu="H800 SXM 80GB", gpus=[1024, 2048], global_batch=3072, sequence=4096)
PARTS = ("book", "notebooks", "gpucalc", "data", "_config.yml", "requirements.txt")


def seconds(command, cwd):
    started = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - started, done.stdout


def import_seconds():
    def median(code):
        return statistics.median(seconds([sys.executable, "-c", code], ROOT)[0] for _ in range(9))

    return median("import gpucalc") - median("pass")


def account_milliseconds():
    """Every term of one model's training memory."""
    model, recipe = catalogue.model("Llama-3-8B"), catalogue.recipe("mixed-adamw")

    def once():
        started = time.perf_counter()
        Case(model, recipe, sequence=8192, **JOB).explain(training_memory.training_bytes)
        return 1000 * (time.perf_counter() - started)

    return statistics.median(once() for _ in range(99))


def fit_seconds(combinations):
    """Which of so many pairs of a job and a GPU fit, as columns."""
    grid = catalogue.models().select_dtypes("number")
    for table in (catalogue.gpus()[["memory_bytes"]], catalogue.recipes().select_dtypes("number")):
        grid = grid.merge(table, how="cross")
    sequences = pandas.DataFrame({"sequence": range(1024, 1024 * (2 + combinations // len(grid)), 1024)})
    grid = grid.merge(sequences, how="cross").head(combinations)
    started = time.perf_counter()
    fits = Case(grid, **JOB)(training_memory.training_bytes) <= grid["memory_bytes"]
    assert len(fits) == combinations
    return time.perf_counter() - started


def search_figures(job):
    """Layouts of a job, processor seconds that a search of all takes (the median of nine), and the bytes at its peak."""
    catalogue.gpu(job["gpu"])
    before, took = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for _ in range(9):
        started = time.process_time()
        count = len(all_layouts(**job))
        took.append(time.process_time() - started)
    return count, statistics.median(took), 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def report_search():
    """In a process of its own, whose peak memory is the search's."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        count, took, _ = pool.submit(search_figures, LLAMA).result()
        report(f"all {count:,} layouts of 405B on 16,384 GPUs", took, 0.5, "s")
        count, took, held = pool.submit(search_figures, DEEPSEEK).result()
        report(f"a million layouts, of {count:,}", took / count * 1e6, 1, "s")
        report("memory of that search", held / 2**30, 1, "GiB")


def decision_seconds(count):
    """Processor seconds of a band: so many draws of the owned-cost model's inputs, and what owning is worth at each."""
    card, took = catalogue.gpu("H100 SXM 80GB"), []
    ranges = decide.ranges(catalogue.assumptions(), server_usd=320e3, usd_per_hour=5, usd_per_kwh=0.1,
                           hosting_usd_per_month=1500)
    for _ in range(5):
        started = time.process_time()
        npv = decide.owned(break_even.owning_npv, card, **decide.draws(ranges, count), gpus_per_server=8, network_ports=8,
                           network_tiers=2, usd_per_port=600, cable_usd=900)
        took.append(time.process_time() - started)
        assert len(npv) == count
    return statistics.median(took)


def change_one_price(root):
    newest = max((root / "data/prices").glob("*.csv"))
    text = newest.read_text(encoding="utf-8")
    newest.write_text(re.sub(r"(?<=,on-demand,)[\d.]+", "9.87", text, count=1), encoding="utf-8")


def report(what, measured, budget, unit):
    verdict = "" if measured <= budget else "  over budget"
    print(f"{what:<44} {measured:>8.2f} {unit:<3} budget {budget:g} {unit}{verdict}", flush=True)


def main():
    report("import gpucalc", import_seconds(), 0.1, "s")
    report("memory account of one model", account_milliseconds(), 1, "ms")
    report("fit of 100,000 models, GPUs and recipes", fit_seconds(100_000), 1, "s")
    report_search()
    report("1,000,000 draws of what owning is worth", decision_seconds(1_000_000), 1, "s")
    build = [sys.executable, "-c", "import sys; from pathlib import Path; from book import build; build.build_book(Path(sys.argv[1]))"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, root / part)
        build.append(str(root))
        report("make book, from clean, environment ready", seconds(build, ROOT)[0], 25, "s")
        report("make book, nothing changed", seconds(build, ROOT)[0], 2, "s")
        change_one_price(root)
        took, said = seconds(build, ROOT)
        report("make book, one price changed", took, 25, "s")
        print("  notebooks that ran: " + ", ".join(re.findall(r"^  (\w+) done", said, re.MULTILINE)))
        with sync_playwright() as playwright:
            browser = launch(playwright)
            for path in sorted((root / "_build/html").glob("*.html")):
                page = visit(browser, path.as_uri())
                report(f"page {path.stem}", page_bytes(page) / 1e6, page_budget(page) / 1e6, "MB")
            browser.close()


if __name__ == "__main__":
    main()
