"""What `make bench` prints: measured figures beside their budgets. It works in a copy and leaves the built book alone."""

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from book.build import ROOT
from tests.browser import launch, page_budget, page_bytes, visit

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


def change_one_price(root):
    newest = max((root / "data/prices").glob("*.csv"))
    text = newest.read_text(encoding="utf-8")
    newest.write_text(re.sub(r"(?<=,on-demand,)[\d.]+", "9.87", text, count=1), encoding="utf-8")


def report(what, measured, budget, unit):
    verdict = "" if measured <= budget else "  over budget"
    print(f"{what:<44} {measured:>8.2f} {unit:<3} budget {budget:g} {unit}{verdict}", flush=True)


def main():
    report("import gpucalc", import_seconds(), 0.1, "s")
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
