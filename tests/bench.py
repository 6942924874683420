"""What `make bench` prints: measured figures beside their budgets. It works in a copy and leaves the built book alone."""

import gzip
import math
import multiprocessing
import os
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
from unittest.mock import patch

import pandas
from playwright.sync_api import sync_playwright

from book.build.inputs import ROOT
from gpucalc import break_even, training_memory
from gpucalc.core.evaluate import Case
from gpucalc.decisions import answer, jobs, rent_or_buy, rule
from gpucalc.decisions.layouts import all_layouts, best_layouts, CLOSE, OVER_MEMORY, size, usual_axes
from gpucalc.decisions.market import market
from gpucalc.rows import case_file, catalogue, price_book, store
from gpucalc.rows.tables import rows
from tests import edges
from tests.browser import launch, page_budget, page_bytes, visit

JOB = dict(micro_batch=1, micro_batches=1, recompute=1, flash_attention=1)
LLAMA = dict(model="Llama-3.1-405B", gpu="H100 SXM 80GB", gpus=16384, global_batch=2048, sequence=8192)
DEEPSEEK = dict(model="DeepSeek-V3", gpu="H800 SXM 80GB", gpus=[1024, 2048], global_batch=3072, sequence=4096)
EVERY_AXIS = DEEPSEEK | dict(gpus=2048, axes=dict(
    micro_batch=[1], context_parallel=[1, 2], recomputed_share=[0.5, 1], expert_tensor_parallel=[1, 2], shard_parallel=[0, 8],
    zero_bubble=[0, 1], loss_chunks=[1, 8]))
MANY = DEEPSEEK | dict(gpus=[1024 * nodes for nodes in range(1, 10)])
# Loads that are served: a model with experts in the formats that it may have, one in 4 bits, a dense one.
LOAD = dict(job="serve", requests_per_second=10, prompt=1000, output=300, first_token_limit=2, token_limit=0.05)
SERVED = (("DeepSeek-V3", "BF16"), ("DeepSeek-V3", "FP8-block"), ("gpt-oss-120b", "MXFP4"), ("Llama-3-70B", "FP8"))
# What the work of `pace` takes on the machine that the budgets are of, with nothing else running there.
YARDSTICK_SECONDS = 0.15
PARTS = ("book", "notebooks", "gpucalc", "data", "_config.yml", "requirements.txt")


def seconds(command, cwd):
    started = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - started, done.stdout


def pace(clock=time.perf_counter):
    """How fast this machine is now, beside the one that the budgets are of: seconds of a fixed piece of work over those there."""
    def once():
        started = clock()
        sorted(str(number * 7919 % 1_000_003) for number in range(400_000))
        return clock() - started

    return statistics.median(once() for _ in range(5)) / YARDSTICK_SECONDS


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


def search_figures(search, job, times=9):
    """Rows that a search finds, how many keep every rule of a layout, processor seconds (the median), bytes at its peak."""
    catalogue.gpu(job["gpu"])
    before, took = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for _ in range(times):
        started = time.process_time()
        found = search(**job)
        took.append(time.process_time() - started)
    kept = found["reason"].isin(["", OVER_MEMORY, CLOSE]).sum() if "reason" in found else len(found)
    return len(found), kept, statistics.median(took), 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def report_search():
    """Each search in a process of its own, whose peak memory is the search's."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        count, kept, took, _ = pool.submit(search_figures, all_layouts, LLAMA).result()
        report(f"all {count:,} layouts of 405B on 16,384 GPUs", took, 0.5, "s")
        print(f"  a second: {count / took / 1e6:.2f} million layouts, of which {kept / took / 1e6:.2f} million keep every rule")
        count, _, took, held = pool.submit(search_figures, all_layouts, DEEPSEEK).result()
        report(f"a million layouts, of {count:,}", took / count * 1e6, 1, "s")
        report("memory of that search", held / 2**30, 1, "GiB")
        count, _, took, _ = pool.submit(search_figures, all_layouts, EVERY_AXIS, 3).result()
        report(f"a million layouts on every axis, of {count:,}", took / count * 1e6, 1, "s")
        count = size(usual_axes(catalogue.model(MANY["model"]), MANY["gpus"])) * len(MANY["gpus"])
        _, _, took, held = pool.submit(search_figures, best_layouts, MANY, 1).result()
        report(f"the best of {count:,} layouts", took, 25, "s")
        report("memory of that search", held / 2**30, 1, "GiB")


def decision_seconds(count):
    """Processor seconds of a band: so many draws of the owned-cost model's inputs, and what owning is worth at each."""
    card, took = catalogue.gpu("H100 SXM 80GB"), []
    deal = rent_or_buy.deal(price_book.prices(), card.name, catalogue.assumptions(), {})
    case = deal.case(card)
    for _ in range(5):
        started = time.process_time()
        npv = rent_or_buy.outcomes(break_even.owning_npv, case, rent_or_buy.draws(deal.ranges, count))
        took.append(time.process_time() - started)
        assert len(npv) == count
    return statistics.median(took)


def serving_figures(model, weight_format):
    """Choices of all cards of the catalogue, rented out or not, in all layouts for one load; processor seconds to decide."""
    book, took = price_book.prices(), []
    case = answer.completed(case_file.case_of(LOAD | dict(model=model, weight_format=weight_format, cards=list(rows("gpus")))))
    for _ in range(5):
        started = time.process_time()
        tables = market(case, book, "serve")
        tables["cards"]["unrented"] = 0 * tables["cards"]["unrented"]
        rule.solve(jobs.SERVE, case, tables, answer.judged(case))
        took.append(time.process_time() - started)
    axes = [len(tables["cards"]["gpu"]), *(len(tables[name]) for name in jobs.REPLICAS.axes.values())]
    return math.prod(axes), statistics.median(took)


def report_serving():
    for model, weight_format in SERVED:
        count, took = serving_figures(model, weight_format)
        report(f"{model} in {weight_format}: {count:,} ways to serve", took, 1, "s")


def report_edges():
    """The slowest answer, and the slowest refusal, at the ends of what a case may give."""
    book, slowest = price_book.prices(), {True: (0, ""), False: (0, "")}
    for name, held, fits in edges.cases():
        if held["job"] != "rent_or_buy":
            started = time.process_time()
            try:
                answer.answer(case_file.case_of(held), book)
            except ValueError:
                assert not fits, name
            slowest[fits] = max(slowest[fits], (time.process_time() - started, f"{name} {held[name]}"))
    for fits, (took, told) in slowest.items():
        report(f"{'answer' if fits else 'refusal'} at an end: {told}", took, 2, "s")


def report_command():
    """Processor seconds of `gpucalc decide` on each worked case: with what any case needs at hand, and again."""
    with tempfile.TemporaryDirectory() as folder:
        def asked(name):
            before = processor_seconds()
            subprocess.run([sys.executable, "-m", "gpucalc", "decide", f"data/cases/{name}.yaml"], cwd=ROOT, check=True,
                           capture_output=True, env=os.environ | {store.WHERE: folder})
            return processor_seconds() - before

        names = sorted(path.stem for path in (ROOT / "data/cases").glob("*.yaml"))
        asked(names[0])
        for how in ("first", "second"):
            took = [asked(name) for name in names]
            report(f"gpucalc decide, {how} time, median of {len(took)} cases", statistics.median(took), 1.2, "s")
            report(f"gpucalc decide, {how} time, {names[took.index(max(took))]}", max(took), 2.5, "s")


def change_price(root, offer, price):
    """Puts another price on the row of the newest book that begins with the offer."""
    newest = max((root / "data/prices").glob("*.csv"))
    text = newest.read_text(encoding="utf-8")
    changed = re.sub(rf"(?m)^({re.escape(offer)}.*?,(?:on-demand|list),)[\d.]+", rf"\g<1>{price}", text, count=1)
    assert changed != text, f"{newest.name} has no price of {offer}"
    newest.write_text(changed, encoding="utf-8")


def add_sentence(root):
    page = root / "notebooks/kv_cache.md"
    page.write_text(page.read_text(encoding="utf-8") + "\nOne sentence more.\n", encoding="utf-8")


def processor_seconds():
    """Of all processes that were started here and have ended, with those that they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


READS_PRICES = re.compile(r"(?m)^prices: str|price_book\.prices\(")


def report_builds(root, build):
    """The builds of a fresh clone, and of one after each kind of change."""
    def made(what, budget):
        machine, before = pace(), processor_seconds()
        took, said = seconds(build, ROOT)
        report(what, took, budget, "s")
        print(f"  at the pace of the machine of the budgets: {took / machine:.1f} s; processor: {processor_seconds() - before:.1f} s")
        ran = re.findall(r"^  (\w+) done", said, re.MULTILINE)
        print(f"  notebooks that ran: {', '.join(ran) or 'none'}{'; no page changed' if 'Pages: none changed' in said else ''}")
        return ran

    made("make book, first build of a clone", 10)
    made("make book, nothing changed", 1)
    add_sentence(root)
    made("make book, one sentence changed", 5)
    change_price(root, "rent,AWS,p5.48xlarge,H100 SXM 80GB,8,us-east-1", 50.87)
    without = {topic for topic in made("make book, a price changed that pages use", 10)
               if not READS_PRICES.search((root / f"notebooks/{topic}.md").read_text(encoding="utf-8"))}
    assert not without, f"a price changed, and these ran without reading any: {without}"
    change_price(root, 'power,"EIA average, commercial customers",electricity,,,"East North Central, USA"', 0.1283)
    made("make book, a price changed that decides nothing", 1)
    shutil.rmtree(root / "_build")
    for recording in (root / "notebooks").glob("*.ipynb"):
        recording.unlink()
    code = "from book.build.editions import Editions; from book.build.inputs import Frozen; from pathlib import Path; import sys; "
    code += "root = Path(sys.argv[1]); Editions(Frozen(root, root / '_build/frozen')).current()"
    report("all notebooks executed", seconds([sys.executable, "-c", code, str(root)], ROOT)[0], 20, "s")


STEADINESS = """() => new Promise((done) => {
  let blocked = 0, shifted = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((task) => { blocked += Math.max(0, task.duration - 50); }))
    .observe({ type: "longtask", buffered: true });
  new PerformanceObserver((list) => list.getEntries().forEach((shift) => { shifted += shift.hadRecentInput ? 0 : shift.value; }))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done([blocked, shifted]), 500);
})"""


def report_pages(site):
    """What each page weighs, and how long its scripts block the reader and how far its text jumps while it loads."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        worst = {"blocks": (0, ""), "shifts": (0, "")}
        for path in sorted(site.glob("*.html")):
            page = browser.new_page()
            page.goto(path.as_uri(), wait_until="load")
            blocked, shifted = page.evaluate(STEADINESS)
            page.close()
            worst["blocks"] = max(worst["blocks"], (blocked, path.stem))
            worst["shifts"] = max(worst["shifts"], (shifted, path.stem))
            page = visit(browser, path.as_uri())
            report(f"page {path.stem}", page_bytes(page) / 1e6, page_budget(page) / 1e6, "MB")
            page.context.close()
        report(f"longest blocking while a page loads ({worst['blocks'][1]})", worst["blocks"][0], 150, "ms")
        report(f"largest layout shift ({worst['shifts'][1]})", worst["shifts"][0], 0.01, "")
        browser.close()


# Changes of the case that a reader makes by hand, one after the other, at a processor four times as slow.
CHANGES = {"70B chat": [{"prompt": 1000 + 100 * step} for step in range(1, 8)],
           "Tune an 8B": [{"training_tokens": 10**7 * step} for step in range(2, 9)],
           "Pre-train a 7B": [{"training_tokens": 10**12 + 10**11 * step} for step in range(1, 8)],
           "Rent or buy": [{"utilization": 0.6 + 0.02 * step} for step in range(1, 8)]}
# Seconds of the slowest answer at the ends of what a case may give.
AT_ENDS = """(states) => Math.max(...states.map((state) => {
  const started = performance.now();
  gpucalc.answer(state);
  return performance.now() - started;
})) / 1000"""
ANSWERED = """async (changes) => {
  const state = gpucalc.cases.fromAddress(location.hash.slice(1)).state, took = { cards: [], rest: [] };
  for (const change of changes) {
    const given = { ...state, ...change }, started = performance.now(), answer = gpucalc.answer(given), shown = performance.now();
    gpucalc.more(given, answer);
    took.cards.push(shown - started);
    took.rest.push(performance.now() - shown);
    await new Promise((done) => setTimeout(done));
  }
  return took;
}"""


# What the page draws of an answer, without what the answer itself takes.
DRAWN = """(texts) => new Promise((done) => {
  const input = document.getElementById("case-requests_per_second"), real = gpucalc.answer, took = [];
  let engine = 0;
  gpucalc.answer = (state) => {
    const begin = performance.now(), answer = real(state);
    engine += performance.now() - begin;
    return answer;
  };
  const next = () => {
    if (!texts.length) return done(took);
    const begin = performance.now();
    engine = 0;
    input.value = texts.pop();
    input.dispatchEvent(new Event("input", { bubbles: true }));
    requestAnimationFrame(() => {
      document.body.getBoundingClientRect();
      took.push(performance.now() - begin - engine);
      setTimeout(next, 30);
    });
  };
  next();
})"""


def report_answers(site):
    """How long the front page takes to answer a changed case, and what its formulas and data weigh."""
    scripts = [(site / f"_static/{name}.js").read_bytes() for name in ("answers", "asking", "form")]
    report("scripts of the front page", sum(map(len, scripts)) / 1e6, 0.7, "MB")
    report("the same as a server sends them", sum(len(gzip.compress(script)) for script in scripts) / 1e6, 0.2, "MB")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = visit(browser, (site / "index.html").as_uri())
        asked = [held for _, held, fits in edges.cases() if fits and held["job"] != "rent_or_buy"]
        report("slowest answer of the page at an end", page.evaluate(AT_ENDS, asked), 2, "s")
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
        for name, changes in CHANGES.items():
            page.get_by_role("button", name=name).click()
            page.wait_for_timeout(3000)
            machine, took = pace(), page.evaluate(ANSWERED, changes)
            cards, rest = (statistics.median(took[part]) for part in ("cards", "rest"))
            report(f"{name}: cards after a change", cards, 100, "ms")
            report(f"{name}: what binds, helps and flips", rest, 1000, "ms")
            print(f"  at the pace of the machine of the budgets: {cards / machine:.0f} and {rest / machine:.0f} ms")
        page.get_by_role("button", name="70B chat").click()
        drawn = page.evaluate(DRAWN, [str(number) for number in range(11, 32)])
        report("the page after a change, its answer apart", statistics.median(drawn), 100, "ms")
        browser.close()


def report(what, measured, budget, unit):
    verdict = "" if measured <= budget else "  over budget"
    print(f"{what:<52} {measured:>8.2f} {unit:<3} budget {budget:g} {unit}{verdict}", flush=True)


def main():
    report("import gpucalc", import_seconds(), 0.1, "s")
    report("memory account of one model", account_milliseconds(), 1, "ms")
    report("fit of 100,000 models, GPUs and recipes", fit_seconds(100_000), 1, "s")
    report_search()
    with patch.dict(os.environ, {store.WHERE: ""}):
        report_serving()
        report_edges()
    report_command()
    took, machine = decision_seconds(1_000_000), pace(time.process_time)
    report("1,000,000 draws of what owning is worth", took, 1, "s")
    print(f"  at the pace of the machine of the budgets: {took / machine:.2f} s")
    build = [sys.executable, "-c", "import sys; from pathlib import Path; from book.build import site as build; build.build_book(Path(sys.argv[1]))"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, root / part)
        report_builds(root, [*build, str(root)])
        seconds([*build, str(root)], ROOT)
        report_pages(root / "_build/html")
        report_answers(root / "_build/html")


if __name__ == "__main__":
    main()
