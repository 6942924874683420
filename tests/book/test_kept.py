"""What a process keeps of files: it is never stale, and every use says what it was read from."""
import os
import subprocess
import sys

import pandas
import pytest

from book.build import beforehand
from book.build.inputs import ROOT
from gpucalc.rows import kept, price_book, tables


@pytest.fixture
def said():
    """The files that are said to be read, from here on."""
    kept.forget_told()
    found, listening = [], [True]
    sys.addaudithook(lambda event, arguments: found.append(os.path.basename(arguments[0]))
                     if listening and event == "gpucalc.read" else None)
    yield found
    listening.clear()


def test_what_is_kept_says_its_files_once_a_process_and_again_in_the_next(said, tmp_path):
    calls = []

    @kept.kept
    def inner(name):
        calls.append(name)
        kept.reads(tmp_path / name)
        return name

    @kept.kept
    def outer():
        return inner("a.csv") + inner("b.csv")

    inner("a.csv")
    kept.forget_told()
    said.clear()
    assert outer() == outer() == "a.csvb.csv" and calls == ["a.csv", "b.csv"]
    assert sorted(set(said)) == ["a.csv", "b.csv"]
    kept.forget_told()
    said.clear()
    outer()
    assert sorted(said) == ["a.csv", "b.csv"]
    kept.forget_told()
    said.clear()
    inner("b.csv")
    assert said == ["b.csv"]


def test_an_error_is_not_kept():
    answers = iter([ValueError("once"), 5])

    @kept.kept
    def at_first_wrong():
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    with pytest.raises(ValueError, match="once"):
        at_first_wrong()
    assert at_first_wrong() == at_first_wrong() == 5


def own(path, price):
    path.write_text(f"gpu,gpus,usd_per_hour,provider\nH100 SXM 80GB,8,{price},mine\n")
    return price_book.prices(path)


def test_a_price_that_changed_is_read_again(tmp_path):
    path = tmp_path / "mine.csv"
    assert [own(path, price).query("yours")["usd_per_hour"].tolist() for price in (2.5, 2.6, 2.5)] == [[2.5], [2.6], [2.5]]
    path.write_text("gpu,usd_per_hour\nH100 SXM 80GB,wrong\n")
    with pytest.raises(ValueError, match="wrong"):
        price_book.prices(path)
    path.unlink()
    with pytest.raises(ValueError, match="mine.csv"):
        price_book.prices(path)


def test_each_of_only_and_rates_is_a_book_of_its_own(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("gpu,price,gpus,currency\nH100 SXM 80GB,20,8,EUR\n")
    price = [price_book.prices(path, True, {"EUR": rate})["price"].tolist() for rate in (1.1, 1.2, 1.1)]
    assert price == [[22], [24], [22]]
    assert len(price_book.prices(path, False, {"EUR": 1.1})) > 1


def test_a_book_that_a_page_changes_is_its_own(tmp_path):
    for path in (None, tmp_path / "mine.csv"):
        if path:
            own(path, 2.5)
        first, again = price_book.prices(path), price_book.prices(path)
        first["price"] = 0.0
        first.loc[first.index[0], "provider"] = "nobody"
        first.attrs["file"] = "nothing.csv"
        pandas.testing.assert_frame_equal(again, price_book.prices(path))
        assert again.attrs == price_book.prices(path).attrs and "nothing.csv" not in again.attrs.values()


FORKED = """
import os, sys
from pathlib import Path
from book.build import runner
from gpucalc.decisions import answer_words  # which reads its texts as it loads
root = Path(sys.argv[1])
jobs = [{"parameters": {}}] * (3 if sys.argv[2] == "warm" else 1)
runner.warm_up(root, jobs)
from gpucalc.rows import kept, price_book; from book.components import published
from gpucalc.decisions import run_speeds
before = set(runner.OPENED)
if os.fork() == 0:
    for function in (price_book.prices, published.published, run_speeds.planned_mfu):
        runner.OPENED.intersection_update(before)
        kept.forget_told()
        function()
        print(function.__name__, sorted(runner.OPENED))
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is worked out beforehand where processes do not fork")
def test_a_notebook_is_said_to_read_what_was_worked_out_before_it():
    """In a process that has it from the one it was forked from, a figure rests on the files that it is read from elsewhere."""
    shown = [subprocess.run([sys.executable, "-c", FORKED, str(ROOT), how], cwd=ROOT, capture_output=True, text=True, check=True).stdout
             for how in ("warm", "cold")]
    assert shown[0] == shown[1]
    assert shown[0].count("data/measurements.csv") == 2
    assert shown[0].splitlines()[0].count(f"data/prices/{price_book.newest().name}") == 1


def test_tables_are_kept(said):
    tables.rows("gpus")
    kept.forget_told()
    said.clear()
    tables.rows("gpus")
    assert "gpus.csv" in said


@pytest.mark.parametrize("parameters, asked", [
    ([], [(None, False, None)]), ([{"model": "Llama-3-8B"}, {}], [(None, False, None)]),
    ([{"prices": "a.csv", "model": "x"}, {"prices": "a.csv"}, {"prices": "wrong.csv", "only": True, "rates": {"EUR": 1.1}}],
     [("a.csv", False, None), ("wrong.csv", True, {"EUR": 1.1})])])
def test_each_book_is_worked_out_once_beforehand_and_said_again(monkeypatch, said, parameters, asked):
    """Without a book of the reader's own it is the newest; one that is wrong is for the page that asks."""
    calls = []

    def prices(*given):
        calls.append(given)
        if given[0] == "wrong.csv":
            raise ValueError("wrong.csv, row 2")
        return price_book.project_book(price_book.price_books()[-1])
    monkeypatch.setattr(beforehand.price_book, "prices", prices)
    for module, name in ((beforehand.published, "published"), (beforehand.published, "families"), (beforehand.layouts, "comparison_error"),
                         (beforehand.run_speeds, "planned_mfu")):
        monkeypatch.setattr(module, name, lambda name=name: calls.append(name))
    tables.rows("gpus")
    beforehand.work_out_for(parameters)
    assert calls == [*asked, "published", "families", "comparison_error", "planned_mfu"]
    said.clear()
    tables.rows("gpus")
    assert "gpus.csv" in said
