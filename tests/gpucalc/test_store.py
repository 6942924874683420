"""Results that outlive their process: the same as made anew, and never those of another law, row, default, version or case."""
import importlib.metadata
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import numpy as np
import pytest

from gpucalc import Case, kv_cache
from gpucalc.core.quantities import DATA
from gpucalc.decisions import answer
from gpucalc.rows import kept, price_book, store

ROOT = Path(__file__).parents[2]
CHAT = dict(job="serve", model="Llama-3-70B", weight_format="FP8", requests_per_second=10.0, first_token_limit=1.0,
            token_limit=0.05)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(store.WHERE, str(tmp_path / "store"))
    return tmp_path / "store"


def counted(value):
    """A function that gives the value, and the list of its calls."""
    calls = []
    return lambda: (calls.append(1), value)[1], calls


def test_a_result_is_made_once_and_read_by_whoever_asks_again(folder):
    make, calls = counted({"column": np.array([1.5, np.nan, np.inf]), "words": ["a"]})
    first, second = (store.recalled("name", make) for _ in range(2))
    assert len(calls) == 1 and len(list(folder.iterdir())) == 1
    assert np.array_equal(first["column"], second["column"], equal_nan=True) and second["words"] == ["a"]


def test_where_nothing_is_kept_it_is_made_each_time(folder, monkeypatch):
    monkeypatch.setenv(store.WHERE, "")
    make, calls = counted(1)
    assert [store.recalled("name", make) for _ in range(2)] == [1, 1]
    assert len(calls) == 2 and not folder.exists()


@pytest.mark.parametrize("spoil", [
    lambda whole: b"", lambda whole: whole[:-9], lambda whole: b"x" + whole[1:], lambda whole: zlib.compress(b"text"),
    lambda whole: zlib.compress(pickle.dumps(7)), lambda whole: zlib.compress(pickle.dumps((1, 2)))])
def test_a_file_that_is_cut_or_spoiled_is_made_anew(folder, spoil):
    store.recalled("name", lambda: 1)
    path = next(folder.iterdir())
    path.write_bytes(spoil(path.read_bytes()))
    assert store.recalled("name", lambda: 2) == 2 and store.recalled("name", lambda: 3) == 2


def test_a_folder_that_cannot_be_written_costs_time_alone(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(store.WHERE, str(tmp_path / "file"))
    assert [store.recalled("name", lambda: 5) for _ in range(2)] == [5, 5]


def test_only_so_many_results_stay_and_the_ones_used_last(folder, monkeypatch):
    monkeypatch.setattr(store, "MOST", 5)
    monkeypatch.setattr(store, "EVERY", 1)
    for number in range(5):
        store.recalled(f"n{number}", lambda: 0)
        os.utime(next(folder.glob(f"*-n{number}")), (number, number))
    store.recalled("n0", lambda: 0)  # used now
    store.recalled("n5", lambda: 0)
    assert {path.name.partition("-")[2] for path in folder.iterdir()} == {"n0", "n2", "n3", "n4", "n5"}


def test_the_files_behind_a_result_count_as_read_when_it_is_read_again(folder):
    def make():
        kept.reads(DATA / "links.csv")
        return 1
    store.recalled("name", make)
    for _ in range(2):
        assert kept.made(lambda: store.recalled("name", make)) == (1, {str(DATA / "links.csv")})


def test_what_another_file_is_behind_is_not_kept(folder, tmp_path):
    def make():
        kept.reads(tmp_path / "own.csv")
        return 1
    assert store.recalled("name", make) == 1 and not folder.exists()


# What a result follows from

ROW = Case(model="Llama-3-8B").rows["model"]


@pytest.mark.parametrize("one, other", [
    (1, 1.0), (1, True), ("1", 1), (None, 0), (0.0, -0.0), (kv_cache.kv_bytes, kv_cache.concurrency), ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"b": 1}), (["ab"], ["a", "b"]), ([["a"], "b"], [["a", "b"]]), (np.arange(4.0), np.arange(4)),
    (np.arange(4.0), np.arange(4.0).reshape(2, 2)), (np.array(["a", "b"], object), np.array(["ab"], object)),
    (np.array([1.0]), np.array([np.nextafter(1.0, 2)])), (ROW, dict(ROW)), (ROW, ROW | {"layers": 33})])
def test_what_differs_has_another_key(one, other):
    assert store.key(one) == store.key(one) != store.key(other)


def test_what_cannot_be_told_apart_has_no_key():
    with pytest.raises(TypeError, match="object: has no hash"):
        store.key({"a": object()})


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the library's code and rows, whose state is asked for."""
    for place in store.CODE:
        shutil.copytree(place, tmp_path / "gpucalc" / place.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(DATA, tmp_path / "data")
    monkeypatch.setattr(store, "CODE", [tmp_path / "gpucalc" / place.name for place in store.CODE])
    monkeypatch.setattr(store, "DATA", tmp_path / "data")
    return tmp_path


CHANGED = ["gpucalc/laws/kv_cache.py", "gpucalc/core/arithmetic.py", "gpucalc/decisions/jobs.py", "gpucalc/rows/bands.py",
           "data/gpus.csv", "data/models.csv", "data/defaults.csv", "data/measurements.csv", "data/architectures.json"]


@pytest.mark.parametrize("name", CHANGED)
def test_one_character_of_a_law_a_row_or_a_default_is_another_state(copied, name):
    state = store.state.__wrapped__
    assert state() == state()
    before, content = state(), (copied / name).read_bytes()
    (copied / name).write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    assert state() != before
    (copied / name).write_bytes(content)
    assert state() == before


def test_a_file_more_or_less_is_another_state_and_so_is_another_version(copied, monkeypatch):
    state = store.state.__wrapped__
    found = [state()]
    (copied / "gpucalc/laws/new.py").write_text("")
    found.append(state())
    (copied / "data/links.csv").unlink()
    found.append(state())
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version(name) + ".1" * (name == "numpy"))
    found.append(state())
    monkeypatch.setattr(sys, "version", sys.version + " other")
    found.append(state())
    assert len(set(found)) == 5


def test_prices_are_no_part_of_the_state_for_callers_name_them(copied):
    state = store.state.__wrapped__
    before = state()
    for path in (copied / "data/prices").glob("*.csv"):
        path.write_bytes(path.read_bytes() + b"#")
    assert state() == before


# Answers

def test_an_answer_from_the_folder_is_the_one_that_was_made(folder, monkeypatch):
    """Kept, then read, then made where nothing is kept: every column of what is kept, lost and shown."""
    book, case = price_book.prices(), Case(**CHAT)
    first, second = (answer.answer(case, book) for _ in range(2))
    assert len(list(folder.iterdir())) > 5
    monkeypatch.setenv(store.WHERE, "")
    third = answer.answer(case, book)
    for other in (second, third):
        assert other.figures == first.figures and other.binds == first.binds
        assert [(each.change, each.after) for each in other.helps] == [(each.change, each.after) for each in first.helps]
        assert all(np.array_equal(column, other.kept[name]) for name, column in first.kept.items())
        assert {gpu: lost[:4] for gpu, lost in other.lost.items()} == {gpu: lost[:4] for gpu, lost in first.lost.items()}


def test_a_rent_that_changes_asks_for_no_time_that_was_worked_out(folder):
    """What replicas are in time follows from no price: with all rents doubled the plan costs twice as much, and of its first step
    nothing is made anew."""
    book, case = price_book.prices(), Case(**CHAT)
    first, made = answer.answer(case, book), len(list(folder.iterdir()))
    twice = book.assign(price=book["price"] * 2, usd_per_hour=book["usd_per_hour"] * 2)
    second = answer.answer(case, twice)
    assert len(list(folder.iterdir())) == made
    assert second.figures["cost"].plan == pytest.approx(2 * first.figures["cost"].plan, rel=1e-12)


ASK = """
    from gpucalc import Case, decide
    found = decide(Case(job="serve", model="Llama-3-8B", requests_per_second=2.0, first_token_limit=2.0, cards="L4 24GB"))
    print(found.iloc[0]["gpus"], found.iloc[0]["time_to_first_token"], len(found))
"""


def asked(where):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(ASK)], cwd=ROOT, text=True, capture_output=True,
                          env=os.environ | {"PYTHONPATH": str(ROOT), store.WHERE: str(where)})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_processes_that_write_at_once_or_are_killed_leave_right_answers(tmp_path):
    """Twenty tries: the answer of a folder that others write to, or were killed over, is that of an empty one."""
    right = asked(tmp_path / "alone")
    for number in range(10):
        where = tmp_path / f"store-{number // 5}"
        command = [sys.executable, "-c", textwrap.dedent(ASK)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), store.WHERE: str(where)}
        both = [subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        if number % 2:
            while both[0].poll() is None and not list(where.glob("*")):
                pass
            both[0].kill()
        said = [each.communicate()[0] for each in both]
        assert said[1] == right and (number % 2 or said[0] == right)
        assert asked(where) == right
