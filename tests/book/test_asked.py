"""What a page asks of a price book decides on when it runs again: the answers, and not the whole file."""
import json
import os
import shutil
import sys
from typing import NamedTuple

import numpy
import pandas
import pytest

from book.build import asked, found_again
from book.build.editions import Editions, made_of
from book.build.inputs import Frozen, ROOT
from gpucalc import Case
from gpucalc.core.evaluate import Row
from gpucalc.decisions.rent_or_buy import rent_or_buy
from gpucalc.rows import catalogue, kept, price_book, rents

HEADER = "gpu,gpus,usd_per_hour,provider,region,term\n"
ROWS = {"dear": "H100 SXM 80GB,8,4.0,dear,here,on-demand", "cheap": "H100 SXM 80GB,8,2.5,cheap,here,on-demand",
        "other": "A100 SXM 80GB,8,1.5,other,here,on-demand"}
CHANGED = {"none": {}, "unread": {"other": "A100 SXM 80GB,8,1.4,other,here,on-demand"},
           "undecided": {"dear": "H100 SXM 80GB,8,3.9,dear,here,on-demand"},
           "cheaper": {"cheap": "H100 SXM 80GB,8,2.4,cheap,here,on-demand"},
           "new cheapest": {"dear": "H100 SXM 80GB,8,2.3,dear,here,on-demand"}, "gone": {"cheap": None},
           "gone unread": {"other": None}, "added": {"more": "H100 SXM 80GB,8,5.0,more,here,on-demand"},
           "added cheapest": {"more": "H100 SXM 80GB,8,1.0,more,here,on-demand"}}


def write(path, **changes):
    path.write_text(HEADER + "\n".join(filter(None, (ROWS | changes).values())) + "\n")
    asked.made_of.cache_clear()


@pytest.fixture
def watched(monkeypatch):
    """What is asked, as hashes by call, and which books are read whole, from here on."""
    monkeypatch.setattr(kept.now, "watcher", asked)
    monkeypatch.setattr(asked, "_known", {})
    kept.forget_told()
    found, listening = ({}, []), [True]

    def hear(event, arguments):
        if listening and event == "gpucalc.asked":
            found[0].update([arguments])
        elif listening and event == "gpucalc.read" and os.path.basename(arguments[0]) == "mine.csv":
            found[1].append(os.path.basename(arguments[0]))
    sys.addaudithook(hear)
    yield found
    listening.clear()
    asked.made_of.cache_clear()


@pytest.fixture
def mine(tmp_path, watched):
    """A book of three rents of the reader's own."""
    write(tmp_path / "mine.csv")
    return price_book.prices(tmp_path / "mine.csv", only=True)


def calls(watched):
    """What was asked, without what names stand for."""
    return [call for call in watched[0] if call[0] != asked.NAME]


def changes(answers):
    """The calls that now find something else."""
    return [call for call, answer in answers.items() if call[0] != asked.NAME and asked.again(call) != answer]


def ask_cheapest(book):
    return rents.cheapest_rent(book, gpu="H100 SXM 80GB", term="on-demand")


def ask_all(book):
    return rents.rents(book, gpu="H100 SXM 80GB")


def ask_providers(book):
    return sorted(book[book["gpu"] == "H100 SXM 80GB"]["provider"])


def ask_missing(book):
    with pytest.raises(price_book.MissingPrice):
        rents.rents(book, gpu="H200 SXM 141GB")


def ask_row(book):
    return book.loc[ask_cheapest(book).name, "price"]


def ask_own_bill(book):
    return rent_or_buy(Case(gpu="H100 SXM 80GB"), book).lacks


@pytest.mark.parametrize("ask, tells", [
    (ask_cheapest, ["cheaper", "new cheapest", "gone", "added cheapest"]),
    (ask_all, ["undecided", "cheaper", "new cheapest", "gone", "added", "added cheapest"]),
    (ask_row, ["cheaper", "new cheapest", "gone", "added cheapest"]),
    (ask_missing, ["gone unread"]), (ask_own_bill, [])])
def test_a_page_runs_again_where_its_answers_change(mine, watched, tmp_path, ask, tells):
    ask(mine)
    answers, whole = watched
    assert answers and not whole
    told = []
    for name, change in CHANGED.items():
        write(tmp_path / "mine.csv", **change)
        told += [name] * bool(changes(answers))
    assert told == tells


@pytest.mark.parametrize("name, tells", [("undecided", False), ("cheaper", False), ("gone", True), ("added", True), ("none", False)])
def test_columns_are_read_by_themselves(mine, watched, tmp_path, monkeypatch, name, tells):
    monkeypatch.setattr(asked, "_FEW", 1)
    assert ask_providers(mine) == ["cheap", "dear"]
    write(tmp_path / "mine.csv", **CHANGED[name])
    assert not watched[1] and bool(changes(watched[0])) == tells


def test_rows_by_mask_and_by_key_are_read_by_themselves(mine, watched, monkeypatch):
    monkeypatch.setattr(asked, "_FEW", 1)
    found = mine.loc[mine["gpu"] == "H100 SXM 80GB", "usd_per_hour"]
    assert found.tolist() == [2.5, 4.0] and mine.loc[found.index[::-1].tolist(), "usd_per_hour"].tolist() == [4.0, 2.5] and not watched[1]


def test_a_few_rows_are_read_whole(mine, watched, tmp_path):
    ask_providers(mine)
    write(tmp_path / "mine.csv", **CHANGED["undecided"])
    assert not watched[1] and changes(watched[0])


@pytest.mark.parametrize("read", [
    lambda book: book.sort_values("price"), lambda book: book.iloc[0], lambda book: book.copy(), lambda book: book.groupby("gpu").size(),
    lambda book: pandas.concat([book]), lambda book: list(book.itertuples()), lambda book: book.drop(columns="price"),
    lambda book: book.to_csv(), lambda book: book.assign(more=1), lambda book: book.values, lambda book: repr(book),
    lambda book: book[["price"]], lambda book: book.loc[book.index[0]:], lambda book: book.reset_index(),
    lambda book: book.__setitem__("price", 1.0), lambda book: numpy.asarray(book), lambda book: book == book,
    lambda book: book.merge(book, on="provider"), lambda book: book["price":]])
def test_whatever_else_touches_a_book_reads_the_file(mine, watched, read):
    read(mine)
    assert watched[1] == ["mine.csv"]


def test_a_book_that_is_changed_is_no_book(mine, watched):
    mine["price"] = 0.0
    assert rents.rents(mine, gpu="H100 SXM 80GB")["price"].eq(0).all() and not calls(watched) and watched[1] == ["mine.csv"]


@kept.selection
def with_what_cannot_be_written(book, key):
    return key(book)


def test_a_call_that_cannot_be_written_is_any_function(mine, watched):
    with_what_cannot_be_written(mine, lambda book: book["price"].min())
    assert [json.loads(call)[0] for call in calls(watched)] == ["book.build.asked.column"]
    with_what_cannot_be_written(mine, lambda book: book.sort_values("price"))
    assert watched[1] == ["mine.csv"]


class Found(NamedTuple):
    book: pandas.DataFrame
    least: float
    pair: tuple

    @property
    def gpus(self):
        return sorted(set(self.book["gpu"]))


@kept.derivation
def found(book, most=100.0):
    return None if most < 0 else Found(book[book["price"] <= most], book["price"].min(), (1, [most]))


@pytest.mark.parametrize("read, tells", [
    (lambda made: made.least, {"unread": True, "undecided": False, "cheaper": False}),
    (lambda made: made.gpus, {"unread": False, "undecided": False, "gone unread": True}),
    (lambda made: made.book["gpu"].tolist(), {"unread": False, "added": True}),
    (lambda made: made.pair, {"unread": False, "added": False}), (lambda made: made is None, {"unread": False}),
    (lambda made: [*made], {"undecided": True}), (lambda made: made == made, {"undecided": True}),
    (lambda made: ask_cheapest(made.book), {"undecided": False, "cheaper": True})])
def test_of_a_named_tuple_the_parts_count_that_are_read(mine, watched, tmp_path, read, tells):
    made = found(mine)
    assert isinstance(made, Found)
    read(made)
    for name, changed in tells.items():
        write(tmp_path / "mine.csv", **CHANGED[name])
        assert not watched[1] and bool(changes(watched[0])) == changed, name


def test_what_is_not_there_is_said(mine, watched, tmp_path):
    assert found(mine, -1.0) is None
    assert not changes(watched[0]) and len(calls(watched)) == 1


def test_what_is_kept_says_its_answers_wherever_it_was_made(mine, watched):
    kept_least = kept.kept(lambda: mine["price"].min())
    kept.selection(lambda book: kept_least())(mine)
    kept.forget_told()
    watched[0].clear()
    assert kept_least() == 12 and [json.loads(call)[0] for call in calls(watched)] == ["book.build.asked.column"]


def test_a_book_that_is_kept_by_another_function_is_not_read_whole(watched, tmp_path):
    write(tmp_path / "mine.csv")
    least = kept.kept(lambda: price_book.prices(tmp_path / "mine.csv", only=True)["price"].min())
    assert least() == 12 and [json.loads(call)[0] for call in calls(watched)] == ["book.build.asked.column"] and not watched[1]


def test_nobody_watches_a_book_of_a_reader_in_a_program(tmp_path):
    write(tmp_path / "mine.csv")
    book = price_book.prices(tmp_path / "mine.csv", only=True)
    assert type(book) is pandas.DataFrame and type(found(book)) is Found


@pytest.mark.parametrize("value", [
    None, True, 3, 2.5, "text", [1, [2]], (1, (2,)), {"a": [1], 2: "b"}, numpy.float64(0.1), numpy.int64(3), numpy.bool_(True),
    Row({"a": 1, "b": float("inf")}, "name", "rent"), lambda: catalogue.gpu("H100 SXM 80GB"),
    lambda: Case(model="Llama-3-8B", gpu="H100 SXM 80GB", context="mean_context", batch=3).but(batch=4)])
def test_an_argument_is_read_as_it_was_written(value):
    value = value() if callable(value) else value
    assert asked.seen(asked.read(asked.written(value, []))) == asked.seen(value)


def test_values_that_differ_are_seen_to_differ():
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=["p", "q"])
    other = frame.copy()
    other.attrs["date"] = "2026"
    values = [frame, frame[::-1], frame.rename(columns={"a": "c"}), frame.astype({"a": int}), frame.set_axis(["p", "r"]), other,
              frame["a"], frame["b"], frame.to_numpy(), frame.to_dict(), [1], (1,), [1.0], ["1"], True, 1, "1", None, {"a": 1},
              Row({"a": 1}, "x"), Row({"a": 1}, "y"), ValueError("a"), ValueError("b"), TypeError("a"), object(), object()]
    assert len({asked.seen(value) for value in values}) == len(values)


NOTEBOOK = """---
jupytext: {{formats: "ipynb,md:myst", text_representation: {{extension: .md, format_name: myst}}}}
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---

# {topic}

```{{code-cell}} ipython3
from gpucalc.rows import price_book, rents
{code}
```
"""
PAGES = {"cheapest": "print(rents.cheapest_rent(price_book.prices(), gpu='A100 SXM 80GB', term='on-demand').name)",
         "count": "print(len(price_book.prices()))", "whole": "print(price_book.prices().groupby('item').size())", "none": "print(1)"}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project of four notebooks with the library and its data, as it is executed."""
    root = tmp_path_factory.mktemp("project")
    for name in ("gpucalc", "data", "book"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "static", "*.md"))
    (root / "notebooks").mkdir()
    shutil.copy(ROOT / "requirements.txt", root)
    for topic, code in PAGES.items():
        (root / f"notebooks/{topic}.md").write_text(NOTEBOOK.format(topic=topic, code=code))
    build(root)
    return root


def build(root, capsys=None):
    """The topics that ran, and the files of all."""
    executed = Editions(Frozen(root, root / "_build/frozen")).current()
    said = capsys.readouterr().out if capsys else ""
    return {line.split()[0] for line in said.splitlines() if " done, " in line}, executed


@pytest.mark.long
def test_a_build_runs_what_finds_something_else_in_a_book(project, capsys):
    book = price_book.newest()
    path = project / "data/prices" / book.name
    held = path.read_text()
    line = next(each for each in held.splitlines() if ",A100 SXM 80GB," in each and "on-demand" in each)
    _, executed = build(project, capsys)
    answers = made_of(executed["cheapest"])["answers"]
    assert len(answers) == 2 and made_of(executed["count"])["books"] == [f"data/prices/{book.name}"]
    assert f"data/prices/{book.name}" in made_of(executed["whole"])["inputs"] and "books" not in made_of(executed["none"])

    def ran(text):
        path.write_text(text)
        return build(project, capsys)[0]
    assert ran(held) == set()
    price = next(cell for cell in line.split(",") if cell.replace(".", "").isdigit() and "." in cell)
    assert ran(held.replace(line, line.replace(price, "900.0"))) == {"whole"}
    assert ran(held.replace(line, line.replace(price, "900.5"))) == {"whole"}


@pytest.mark.parametrize("topic", [name if name in ("break_even", "nodes", "cases") else pytest.param(name, marks=pytest.mark.long)
                                   for name in sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb")
                                                      if "answers" in json.loads(path.read_text(encoding="utf-8"))["metadata"]["made_from"])])
def test_what_a_page_asked_of_a_book_is_found_again(topic):
    """Each function by its name, wherever it stands, or a price that decides nothing would run the page."""
    assert found_again.stands(ROOT / f"notebooks/{topic}.ipynb")
