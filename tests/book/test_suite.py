"""How the tests themselves are run: what is left out is said, nbval compares by value, and no clock decides."""

import inspect
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from book.build.inputs import ROOT
from tests.each import of_each

THREE = "import pytest\n@pytest.mark.long\ndef test_a(): pass\n@pytest.mark.long\ndef test_b(): pass\ndef test_c(): pass\n"


@pytest.mark.long
def test_long_tests_that_are_left_out_are_counted_by_workers_too(tmp_path):
    (tmp_path / "test_three.py").write_text(THREE)

    def said(*chosen):
        command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "tests.conftest", "-c", str(ROOT / "pyproject.toml"), *chosen]
        done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.splitlines()[-2:], done.stderr

    (left, counted), error = said("-m", "not long")
    assert left == "2 long tests were left out; `make test-all` runs them too." and counted.startswith("1 passed"), error
    (before, counted), error = said()
    assert "left out" not in before and counted.startswith("3 passed"), error


@pytest.mark.long
@pytest.mark.parametrize("seed, said", [
    ("7", r"random cases: seed 7$.*The random cases were of seed 7: `make test-all SEED=7` draws them again\."),
    ("new", r"random cases: seed (\d+)$.*The random cases were of seed \1: "), ("x", r"--seed=x: allowed: a whole number, or new")])
def test_the_seed_of_random_cases_is_said(tmp_path, seed, said):
    (tmp_path / "test_one.py").write_text("def test_a(): assert False\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:nbval", "-c", str(ROOT / "pyproject.toml"), f"--seed={seed}"]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode and re.search(said, done.stdout + done.stderr, re.MULTILINE | re.DOTALL), done.stdout + done.stderr


def test_one_test_of_many_takes_its_fixtures_and_names_all_that_fail():
    seen = []

    @of_each({"one": 1, "two": 2, "three": 3})
    def check(value, most):
        seen.append(value)
        assert value <= most

    assert list(inspect.signature(check).parameters) == ["most"]
    check(most=3)
    with pytest.raises(AssertionError, match="(?s)^two: AssertionError.*\nthree: AssertionError"):
        check(most=1)
    assert seen == [1, 2, 3] * 2, "each is tried, whatever failed before"


def test_nbval_takes_a_last_digit_and_no_changed_figure():
    """In a folder of the project, as somebody calls it: pytest finds the comparison by itself."""
    cells = {"0.1 + 0.2": "0.3", "1 / 3": "0.3334", "'1 GB'": "'1 GiB'"}
    with tempfile.TemporaryDirectory(dir=ROOT / "_build") as folder:
        notebook = Path(folder, "three.ipynb")
        nbformat.write(new_notebook(cells=[
            new_code_cell(code, execution_count=count, outputs=[new_output("execute_result", {"text/plain": text}, execution_count=count)])
            for count, (code, text) in enumerate(cells.items(), 1)]), notebook)
        command = [Path(sys.executable).with_name("pytest"), "-q", "--color=no", "-rN", "-p", "no:xdist", "--nbval", notebook]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert re.findall(r"Cell (\d): Cell outputs differ", done.stdout) == ["1", "2"] and "2 failed, 1 passed" in done.stdout, done.stdout


def test_no_test_reads_a_clock():
    clocks = re.compile(r"\btime\.(?:time|monotonic|perf_counter|process_time)|\btimeit\b|performance\.now|setCPUThrottling\w")
    found = {path.name for path in (ROOT / "tests").glob("*.py") if clocks.search(path.read_text(encoding="utf-8"))}
    assert found == {"bench.py"}
