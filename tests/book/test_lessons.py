"""Each topic page is a lesson: its order, its length, its worked number, and cells that a reader can paste into an empty notebook.

`python -m tests.book.test_lessons [PAGE ...]` prints how long each is. Outputs are those of the recording, or of the last run of the
page in _build/notebooks where the recording is of another text.
"""
import ast
import functools
import math
import re
import sys
from pathlib import Path

import nbformat
import pytest
from IPython.lib.pretty import pretty

from book.build.extension import topics
from book.build.charts import MIME
from book.build.inputs import ROOT
from tests.book.test_notebooks import HIDDEN, SENTENCES, SYMBOL, SYMBOLS, TEXTS, letters, tags, written

IN_DEPTH = re.compile(r"^## In depth$", re.MULTILINE)
LESSONS = [page for page in topics() if (ROOT / f"notebooks/{page}.md").exists()
           and IN_DEPTH.search((ROOT / f"notebooks/{page}.md").read_text(encoding="utf-8"))]
each_lesson = pytest.mark.parametrize("page", LESSONS)
MOST = dict(words=1800, formulas=5, symbols=8)
STEPS = ("Set-up.", "Numbers.", "Result.", "usual mistake.")
AT_THE_END = ["Predicted against published", "Interview questions", "Sources and dates"]


# What a page holds

@functools.cache
def ran(path):
    """The page's cells with outputs."""
    sources = [cell.source for cell in written(path).cells]
    for place in (path.with_suffix(".ipynb"), ROOT / f"_build/notebooks/{path.stem}.ipynb"):
        found = nbformat.read(place, as_version=4).cells if place.exists() else []
        if [cell.source for cell in found] == sources:
            return found
    raise FileNotFoundError(f"{path.stem}: no run of this text; `make accept` records one")


def cells(page):
    return ran(ROOT / f"notebooks/{page}.md")


def lesson(page):
    """The cells before "In depth"."""
    found = cells(page)
    return found[:next(number for number, cell in enumerate(found) if cell.cell_type == "markdown" and IN_DEPTH.search(cell.source))]


def said(cell, form="text/markdown"):
    """What a cell tells a reader: its own Markdown, or what it displays in this form."""
    if cell.cell_type == "markdown":
        return cell.source if form == "text/markdown" else ""
    return "\n\n".join(output.data.get(form, "") for output in cell.outputs if "data" in output)


def told(page):
    """What a lesson says, without the folded derivations of its headline, in which readers look things up."""
    return "\n\n".join(part for part in "\n\n".join(map(said, lesson(page))).split("\n\n") if 'class="derivation"' not in part)


def headings(found, level):
    marks = re.compile(rf"^{'#' * level} (.+)$", re.MULTILINE)
    return [title for cell in found if cell.cell_type == "markdown" for title in marks.findall(cell.source)]


def is_visible(cell):
    return cell.cell_type == "code" and not tags(cell) & {*HIDDEN, "hide-input", "parameters"} and not cell.source.startswith(SENTENCES)


def at(found, is_one):
    """Positions of the cells for which it holds."""
    return [number for number, cell in enumerate(found) if is_one(cell)]


def html_of(cell):
    return said(cell, "text/html") if cell.cell_type == "code" else ""


# How long it is

def word_count(text):
    """Words of prose: no code, no tables, no formulas, no markup; of a link what it says."""
    formulas = (r"\$\$.*?\$\$", r'<div class="formula">.*?</div>')
    for gone in (r"```.*?```", *formulas, r"^\|.*$", r"<[^>]*>", r"(?<=\])\([^)]*\)", r"[*_>#`|\\]"):
        text = re.sub(gone, " ", text, flags=re.MULTILINE if gone.startswith("^") else re.DOTALL)
    return len(re.findall(r"[^\s]*\w[^\s]*", text))


def symbols(text):
    """The different symbols typed in it."""
    inline = re.findall(r"(?<![\\\d])\$(?=\S)([^$]+?)(?<=\S)\$(?!\d)", text)
    display = re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)
    known = {letters(symbol) for symbol in SYMBOLS.values()}
    return {letters(symbol) for formula in inline + display for symbol in SYMBOL.findall(formula)} & known


def measured(page):
    """The lesson in figures."""
    text, shown = told(page), "\n".join(map(html_of, lesson(page)))
    return dict(words=word_count(text), symbols=len(symbols(text)), formulas=shown.count('class="formula"') + text.count("$$") // 2,
                pictures=shown.count('class="drawing"'), exercises=text.count("<summary>Answer</summary>"))


def report_lessons(pages=LESSONS):
    for page in pages:
        print(f"{page:<22}" + "".join(f"{figure:>7} {name}" for name, figure in measured(page).items()))


@each_lesson
def test_it_is_short(page):
    found = measured(page)
    assert {name: found[name] for name, most in MOST.items() if found[name] > most} == {}
    assert found["pictures"] >= 1 and 3 <= found["exercises"] <= 5


def test_what_counts_as_words():
    assert word_count("Two *words* and [a link](page.md#there), 8 `code` | x |\n\n| a | table |\n$$\na b\n$$\n<b>bold</b>") == 9
    assert symbols("$L$ layers of $n_{kv}$ heads, $L$ again, $$K_t$$ and $5") == {"L", "n_kv", "K_t"}


# The order

@each_lesson
def test_its_first_cell_asks_and_says_what_it_takes(page):
    first = cells(page)[0].source
    assert re.match(r"# .*\?\n", first) and len(first.partition("\n")[0].split()) <= 13, first
    meta = re.search(r"\n\n\*(\d+ minutes\. .*?Afterwards you can .*?\.)\*\n\n", first, re.DOTALL)
    assert meta and ("You need" in meta[1] or "no other lesson" in meta[1]), first
    assert 1 <= len(re.findall(r"[.?!](?:\s|$)", first[meta.end():])) <= 3 and "{{" not in first


@each_lesson
def test_guess_before_answer_and_picture_before_formula(page):
    found = lesson(page)
    code = [cell for cell in found if cell.cell_type == "code"]
    assert "parameters" in tags(code[0]) and at(found, lambda cell: "headline" in tags(cell))
    outputs, pictures = at(found, lambda cell: bool(cell.get("outputs"))), at(found, lambda cell: 'class="drawing"' in html_of(cell))
    guesses, formulas = (at(found, lambda cell, name=name: f'class="{name}"' in html_of(cell)) for name in ("guess", "formula"))
    equations = at(found, lambda cell: "$$" in said(cell))
    assert found[outputs[0]].source.startswith("%%say headline"), "the headline is the first output"
    assert len(guesses) == 1 and formulas and outputs[0] < pictures[0] < min(formulas + equations)
    assert guesses[0] < min(formulas + equations) and not at(found[:guesses[0]], is_visible)


@each_lesson
def test_it_ends_with_its_limits_and_exercises(page):
    titles = headings(cells(page), 2)
    assert titles[-4:] == ["How wrong is this?", "Where this breaks", "Try it", "In depth"] and 1 <= len(titles) - 4 <= 4
    parts = re.split(r"^## (.+)$", "\n\n".join(cell.source for cell in cells(page)), flags=re.MULTILINE)
    part = dict(zip(parts[1::2], parts[2::2]))
    assert "how_wrong(" in part["How wrong is this?"]
    assert 3 <= len(re.findall(r"^- ", part["Where this breaks"], re.MULTILINE)) <= 6
    assert sum(said(cell).count("**Remember.**") for cell in lesson(page)) == 1 == told(page).count("> **Remember.**")
    deep = headings(cells(page), 3)
    assert [title for title in deep if title in AT_THE_END] == [title for title in AT_THE_END if title in deep]
    assert deep[-1] == AT_THE_END[-1]


@each_lesson
def test_the_answers_of_its_exercises_show_steps(page):
    found = [cell for cell in lesson(page) if cell.source.startswith(("%%exercise", "drill("))]
    answers = [" ".join(said(cell).partition("<summary>")[2].split()) for cell in found]
    for answer in answers:
        places = [answer.find(step) for step in STEPS]
        assert -1 not in places and places == sorted(places), answer


@each_lesson
def test_its_tables_are_short_and_one_chart_moves(page):
    for cell in lesson(page):
        for body in re.findall(r"<tbody>(.*?)</tbody>", html_of(cell), re.DOTALL):
            assert body.count("<tr>") <= 12, cell.source
    moving = at(lesson(page), lambda cell: cell.cell_type == "code" and "slider_chart(" in cell.source)
    assert len(moving) == 1
    shown = [output for cell in lesson(page)[moving[0]:] for output in cell.get("outputs", [])]
    spec = next(output.data[MIME] for output in shown if MIME in output.get("data", {}))
    assert spec["usermeta"].get("finding") or spec["usermeta"].get("title")


# Links

def anchors(page):
    """The headings of a page as addresses, as MyST makes them."""
    path = next(place for place in (ROOT / f"notebooks/{page}.md", ROOT / f"book/{page}.md") if place.exists())
    text = path.read_text(encoding="utf-8")
    titles = re.findall(r"^#{1,6} (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", title).strip().lower()).replace(" ", "-") for title in titles]
    return {*slugs, *(f"formula-{law}" for law in re.findall(r"formula\((?:\w+\.)?(\w+)", text)), *re.findall(r'id="([\w-]+)"', text)}


@pytest.mark.parametrize("page", [*LESSONS, "claims"])
def test_its_links_lead_somewhere(page):
    there = {path.stem for folder in ("notebooks", "book") for path in (ROOT / folder).glob("*.md")}
    text = (ROOT / f"notebooks/{page}.md").read_text(encoding="utf-8")
    for target, heading in re.findall(r"(?<=\]\()(?:(\w+)\.md)?(?:#([\w-]+))?(?=\))", text):
        assert not target or target in there, target
        assert not heading or heading in anchors(target or page), f"{target}#{heading}"


# Cells that a reader pastes

def value_of(source, names):
    """The value of the expression in which a cell ends; None without one."""
    *lines, last = ast.parse(source).body
    exec(compile(ast.Module(lines, []), "<cell>", "exec"), names)
    code = ast.Expression(last.value) if isinstance(last, ast.Expr) else ast.Module([last], [])
    return (eval if isinstance(last, ast.Expr) else exec)(compile(code, "<cell>", "eval" if isinstance(last, ast.Expr) else "exec"), names)


def is_imports(source):
    return all(isinstance(line, (ast.Import, ast.ImportFrom)) for line in ast.parse(source).body)


PASTED = [(path, number) for path in TEXTS if path.stem in LESSONS or path.stem == "claims"
          for number, cell in enumerate(written(path).cells) if is_visible(cell)]


@pytest.mark.parametrize("path, number", PASTED, ids=[f"{path.stem}-{number}" for path, number in PASTED])
def test_a_visible_cell_runs_alone_and_gives_what_is_shown(path, number, monkeypatch):
    """In an empty notebook, after the cell of imports that the page begins with, if there is one."""
    monkeypatch.chdir(ROOT)
    cell, names = ran(path)[number], {}
    before = next((each for each in ran(path) if is_visible(each)), None)
    if before is not cell and is_imports(before.source):
        exec(before.source, names)
    value = value_of(cell.source, names)
    shown = next((output.data for output in cell.outputs if "data" in output), {})
    if "text/html" in shown and hasattr(value, "_repr_html_"):
        assert value._repr_html_() == shown["text/html"]
    elif "text/plain" in shown and not hasattr(value, "to_dict"):
        assert pretty(value) == shown["text/plain"]
    else:
        assert (value is None) == (not cell.outputs) or hasattr(value, "to_dict")


@each_lesson
def test_what_is_worked_by_hand_is_what_the_book_computes(page):
    found = lesson(page)
    worked = at(found, lambda cell: "worked" in tags(cell) and "gpucalc" not in cell.source)
    assert worked
    for number in worked:
        by_hand, by_book = found[number], found[number + 1]
        assert is_visible(by_hand) and is_visible(by_book) and "import" in by_book.source
        hand, book = (value_of(cell.source, {}) for cell in (by_hand, by_book))
        assert math.isclose(hand, book, rel_tol=1e-3), (hand, book)


if __name__ == "__main__":
    report_lessons([Path(name).stem for name in sys.argv[1:]] or LESSONS)
