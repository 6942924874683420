"""Each text notebook and its recorded .ipynb are in step, reads well in Jupyter, and has no figure that was typed."""

import ast
import collections
import copy
import csv
import functools
import os
import re
import shutil

import jupytext
import nbformat
import pytest
from jupytext.cli import jupytext as jupytext_command

from book.build.editions import alike, made_from, shown
from book.build.inputs import ROOT
from book.components import cells as shared
from book.components.links import contents
from gpucalc.core.printer import SYMBOLS

README = ROOT / "notebooks/README.md"
TEXTS = sorted((ROOT / "notebooks").glob("[a-z]*.md"))
PAGES = TEXTS + sorted((ROOT / "book").glob("*.md"))
HIDDEN = {"remove-cell", "remove-input", "hide-cell"}
VISIBLE_LINES, VISIBLE_COLUMNS, PARAMETER_LINES, HIDDEN_LINES = 12, 88, 37, 8
# Lines of Python that a reader of Jupyter does not see, in all notebooks, without sentences, parameters and blank lines.
MOST_HIDDEN = 2000
# Of the lines of these lessons so much is open: what makes their numbers, and can be changed.
OPEN = ("kv_cache", "training_memory", "arithmetic_intensity", "interconnect", "break_even", "serving", "quantization", "training_time",
        "layouts")
LEAST_OPEN = 0.5
WITHOUT_HEADLINE = ("conventions", "drills", "sources", "start")
SENTENCES = ("%%say", "%%exercise")


def name(path):
    return path.stem


@functools.cache
def written(path):
    return jupytext.read(path)


@functools.cache
def recorded(path):
    return nbformat.read(path.with_suffix(".ipynb"), as_version=4)


def tags(cell):
    return set(cell.metadata.get("tags", []))


def without_folding(metadata):
    """What the text keeps of a cell's metadata: its header leaves out what folds a cell in JupyterLab."""
    return {key: value for key, value in metadata.items() if key != "jupyter"}


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_text_and_recording_hold_the_same_cells(path):
    held = [[(cell.cell_type, cell.source, without_folding(cell.metadata)) for cell in notebook.cells]
            for notebook in (written(path), recorded(path))]
    assert held[0] == held[1], "run `make accept` to record the outputs again"


def differing(ran, path):
    """The cells whose outputs are not those that stand recorded: what was run, what came and what stands."""
    cells = [[(cell.source, list(map(shown, cell.get("outputs", [])))) for cell in notebook.cells] for notebook in (ran, recorded(path))]
    return [(path.stem, source, now, then) for (source, now), (_, then) in zip(*cells, strict=True) if not alike(now, then)]


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_a_run_gives_what_is_recorded(path, executed):
    """A build may take a recording for a run, so each is compared with one; nbval does the same for some, in Jupyter's own kernel."""
    ran = nbformat.read(executed[path.stem], as_version=4)
    assert differing(ran, path) == []
    assert made_from(ran)["inputs_hash"] == made_from(recorded(path))["inputs_hash"], "run `make accept`: a recording is of older inputs"


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_every_cell_ran_in_order_and_no_output_is_ignored(path):
    notebook = recorded(path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert notebook.metadata.kernelspec.name == "python3"
    assert "papermill" not in notebook.metadata
    for cell in cells:
        assert not any(tag.startswith("nbval") or tag == "raises-exception" for tag in tags(cell))
        assert "NBVAL" not in cell.source
        assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in cell.outputs)


def code_cells(path):
    """The cells of a text notebook that hold Python, not a sentence."""
    return [cell for cell in written(path).cells
            if cell.cell_type == "code" and not cell.source.startswith(SENTENCES)]


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_cells_are_short(path):
    for cell in code_cells(path):
        lines = cell.source.splitlines()
        if tags(cell) & HIDDEN:
            assert len(lines) <= HIDDEN_LINES, cell.source
        else:
            assert len(lines) <= (PARAMETER_LINES if "parameters" in tags(cell) else VISIBLE_LINES), cell.source
            assert max(map(len, lines)) <= VISIBLE_COLUMNS, cell.source


def counted(path):
    """Lines of Python that stand open and lines that are folded, without parameters."""
    lines = collections.Counter()
    for cell in code_cells(path):
        if "parameters" not in tags(cell):
            lines[bool(tags(cell) & HIDDEN)] += sum(bool(line.strip()) for line in cell.source.splitlines())
    return lines[False], lines[True]


def test_what_makes_a_lesson_s_numbers_stands_open():
    found = {path.stem: counted(path) for path in TEXTS}
    assert sum(folded for _, folded in found.values()) <= MOST_HIDDEN, found
    shown, folded = (sum(found[name][place] for name in OPEN) for place in (0, 1))
    assert shown / (shown + folded) >= LEAST_OPEN, {name: found[name] for name in OPEN}


def imported(cells):
    """Names that cells import from book."""
    found = {each.asname or each.name for cell in cells for node in ast.walk(ast.parse(cell.source))
             if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "book" for each in node.names}
    return found | {each for each in vars(shared) if each[0] != "_"} if "*" in found else found


def names(cells, kind):
    return {each.id for cell in cells for each in ast.walk(ast.parse(cell.source)) if isinstance(each, ast.Name) and isinstance(each.ctx, kind)}


@pytest.mark.parametrize("path", [path for path in TEXTS if path.stem in (*OPEN, "start")], ids=name)
def test_open_cells_use_nothing_of_the_book(path):
    """A reader can copy them: no open cell names what a cell has imported from book, and no import takes a parameter's name."""
    cells = code_cells(path)
    own, shown = imported(cells), [cell for cell in cells if not tags(cell) & HIDDEN]
    assert names(shown, ast.Load) & own - names(cells, ast.Store) == set()
    assert names([cell for cell in cells if "parameters" in tags(cell)], ast.Store) & own == set()


def test_no_function_is_defined_in_two_notebooks():
    homes = collections.defaultdict(list)
    for path in TEXTS:
        for cell in code_cells(path):
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.FunctionDef):
                    homes[node.name].append(path.stem)
    assert {function: found for function, found in homes.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_no_name_is_assigned_in_two_cells(path):
    """A reader may then run any cell again, and a name has one meaning."""
    cells = collections.defaultdict(set)
    for number, cell in enumerate(code_cells(path)):
        for line in ast.parse(cell.source).body:
            targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
            for node in (each for target in targets for each in ast.walk(target)):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    cells[node.id].add(number)
    assert sorted(each for each, found in cells.items() if len(found) > 1) == []


# A notebook reads well in Jupyter

SPHINX_ONLY = re.compile(r"\{[a-z:]+\}`|^\s*(?:`{3,}|:{3,})\{|^\([\w-]+\)=$", re.MULTILINE)


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_hidden_code_is_folded_in_jupyter(path):
    for cell in recorded(path).cells:
        hidden = cell.cell_type == "code" and tags(cell) & HIDDEN
        folded = {"source_hidden": True} | ({"outputs_hidden": True} if "hide-output" in tags(cell) else {})
        assert cell.metadata.get("jupyter") == (folded if hidden else None), cell.source


# What JupyterLab's save does

@pytest.fixture
def copied(tmp_path):
    """All notebooks in a folder of their own, as the pipeline records them."""
    for path in TEXTS:
        shutil.copy(path, tmp_path)
        content = copy.deepcopy(recorded(path))
        content.metadata.setdefault("made_from", {"inputs": ["data/gpus.csv"], "inputs_hash": "a", "outputs_hash": "b"})
        nbformat.write(content, tmp_path / path.with_suffix(".ipynb").name)
    return tmp_path


def sync(folder, newer):
    """Jupytext brings all pairs in step, those with this ending being newer; returns what each file holds."""
    for path in folder.iterdir():
        os.utime(path, (2e9, 2e9) if path.suffix == newer else (1e9, 1e9))
    assert jupytext_command(["--sync", "--quiet", *map(str, sorted(folder.glob("*.ipynb")))]) == 0
    return held(folder)


def held(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.long
@pytest.mark.parametrize("newer", [".md", ".ipynb"])
def test_a_sync_of_a_clean_checkout_changes_nothing(copied, newer):
    before = held(copied)
    after = sync(copied, newer)
    assert [name for name in after if after[name] != before.get(name)] == []


@pytest.mark.long
def test_a_sync_takes_over_what_was_edited_and_nothing_else(copied):
    page, before = copied / "kv_cache.md", held(copied)
    page.write_text(page.read_text(encoding="utf-8").replace("You need", "You will need", 1), encoding="utf-8")
    edited = page.read_bytes()
    after = sync(copied, ".md")
    assert edited != before["kv_cache.md"] and after == before | {
        "kv_cache.md": edited, "kv_cache.ipynb": before["kv_cache.ipynb"].replace(b"You need", b"You will need", 1)}


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_nothing_that_only_sphinx_knows(path):
    for cell in written(path).cells:
        if cell.cell_type == "markdown" or cell.source.startswith(SENTENCES):
            assert not SPHINX_ONLY.findall(cell.source), cell.source


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_the_page_has_no_hole_where_sphinx_is_not(path):
    """Exported by nbconvert, as a reader without this book's site sees it."""
    from nbconvert import MarkdownExporter
    text, _ = MarkdownExporter(exclude_input=True).from_notebook_node(recorded(path))
    text = re.sub(r"```.*?```|`[^`]*`|\$\$.*?\$\$", "", text, flags=re.DOTALL)
    holes = re.compile(r"\{glue|\{\{|%%say|\bnan\b|\bNone\b|\{doc\}|\{ref\}")
    assert [line[:200] for line in text.splitlines() if holes.search(line)] == []


@pytest.mark.parametrize("path", [path for path in TEXTS if path.stem not in WITHOUT_HEADLINE], ids=name)
def test_the_headline_is_the_first_output(path):
    first = next(cell for cell in recorded(path).cells if cell.get("outputs"))
    assert first.source.startswith("%%say headline")
    assert len(first.outputs[0].data["text/markdown"]) > 60


# One symbol has one meaning

def letters(tex):
    """A symbol without what only sets it."""
    return re.sub(r"\\mathrm|[{}\s]", "", tex)


def test_a_symbol_stands_for_one_quantity():
    meanings = collections.defaultdict(list)
    for quantity, symbol in SYMBOLS.items():
        meanings[letters(symbol)].append(quantity)
    assert {symbol: found for symbol, found in meanings.items() if len(found) > 1} == {}


PLAIN_LATEX = {"times", "cdot", "max", "min", "frac", "left", "right", "le", "ge", "ne", "text", "mathrm", "ln", "log", "exp", "sqrt",
               "sum", "infty", "quad", "approx", "lceil", "rceil", "lfloor", "rfloor", "dots", "ldots", "to", "in", "bar"}
SYMBOL = re.compile(r"\\?[A-Za-z]+(?:\{[A-Z]+\})?(?:[_^](?:\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}|\\?[A-Za-z*]))*")


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_a_typed_symbol_is_one_of_the_vocabulary(path):
    known = {letters(symbol) for symbol in SYMBOLS.values()}
    text = "\n\n".join(cell.source for cell in written(path).cells
                       if cell.cell_type == "markdown" or cell.source.startswith(SENTENCES))
    typed = [symbol for formula in re.findall(r"(?<![\\\d])\$(?=\S)([^$]+?)(?<=\S)\$(?!\d)", text) for symbol in SYMBOL.findall(formula)]
    strange = {symbol for symbol in typed if letters(symbol) not in known and symbol.lstrip("\\") not in PLAIN_LATEX
               and not all(letters(part) in known for part in re.findall(r"\\?[A-Za-z](?:[_^](?:\{[^{}]*\}|[A-Za-z*]))*", symbol))}
    assert strange == set()


def test_every_recording_has_its_text_and_every_notebook_its_page():
    assert {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} == {path.stem for path in TEXTS}
    pages = {"index", *(name for names in contents().values() for name in names)}
    assert pages == {path.stem for path in PAGES if not path.stem.endswith("_worksheet")} - {"start"}


def test_the_list_of_notebooks_has_each_once_by_its_title():
    listed = re.findall(r"^- \[(\w+)\]\((\w+)\.md\): (.+)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    titles = {path.stem: re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)[1] for path in TEXTS}
    assert sorted(listed) == sorted((name, name, title) for name, title in titles.items() if name != "start")


# A figure with a unit, typed in prose

PREFIX = "[kKMGTPE]?i?"
UNITS = "|".join([f"{PREFIX}B(?:/s|/token)?", "bytes?", f"{PREFIX}FLOPs?(?:/s|/B|/byte)?", "[KMBT](?: parameters| params)?",
                  "(?:thousand|million|billion|trillion)", "[kM]?Wh?", "USD(?:/[a-zA-Z]+)?", "%", "percent", "dollars?",
                  "tokens?/s(?:econd)?", "[mµμn]?s", "seconds?", "h", "hours?", "days?", "weeks?", "months?", "years?"])
FIGURE = re.compile(rf"(?<![\w.,^-])(?:\d[\d,]*(?:\.\d+)?(?:e\d+)?[\s\u00a0\u202f]?(?:{UNITS})(?![\w])|(?:\$|USD ?|€)\d[\d.,]*)")
PROSE_FENCES = re.compile(r"\{(admonition|note|tip|warning|important|seealso|dropdown|grid|grid-item-card|card|"
                          r"glossary|list-table|table|figure|tab-item|tab-set|margin|epigraph)\}")
NOT_TYPED = re.compile("|".join([r"\{(?:glue|glue:\w*|eq|ref|numref|doc|term|download)\}`[^`]*`",
                                 r"(?<![\\\d])\$(?=\S)(?:(?!\n\n)[^$])+?(?<=\S)\$(?!\d)", r"(?<=\])\([^)]*\)",
                                 r"<!--.*?-->"]), re.DOTALL)
# Characters on either side of a figure in which a name that holds it stands.
LONGEST = 80


@functools.cache
def names_in_data():
    """Names that hold figures: GPUs, models, links."""
    names = []
    for path in (ROOT / "data").glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as file:
            names += [row[0] for row in csv.reader(file) if row]
    return tuple(sorted({each for each in names if re.search(r"\d", each)}, key=len, reverse=True))


@functools.cache
def any_of(names):
    """A pattern for these names as prose writes them."""
    return re.compile("|".join(r"(?<!\w)" + re.sub(r"(\\[ -])+", r"[-\\s]", re.escape(each)) + r"(?!\w)" for each in names) or r"(?!)")


def prose(text):
    """The lines of a page with everything that is not its own prose left empty."""
    kept, fences, in_math = [], [], False
    in_header = text.startswith("---\n")
    for position, line in enumerate(text.splitlines()):
        fence = re.match(r"\s*(`{3,}|:{3,}|~{3,})(.*)", line)
        is_code = any(not is_prose for _, is_prose in fences)
        if in_header:
            in_header = position == 0 or line != "---"
        elif fence and fences and fence[1] == fences[-1][0] and not fence[2].strip():
            fences.pop()
        elif fence and not is_code:
            fences.append((fence[1], bool(PROSE_FENCES.match(fence[2].strip()))))
        elif line.lstrip().startswith("$$") and not is_code:
            in_math = in_math != (line.count("$$") == 1)
        elif "$$" in line and in_math:
            in_math = False
        elif not (is_code or in_math or re.match(r"\s*(%|:[\w-]+:)", line)):
            kept.append(line)
            continue
        title = re.sub(r"^\{[\w-]+\}", "", fence[2].strip()) if fence and PROSE_FENCES.match(fence[2].strip()) else ""
        kept.append(title)
    return kept


CELL = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)\n?%%(?:say|exercise)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def opened(text):
    """The page with its computed sentences as prose, their figures left out, every line where it was."""
    def lines(match):
        above = match[0][: match[0].index(match[2])].count("\n")
        sentence = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", lambda hole: "\n" * hole[0].count("\n") or "x", match[2], flags=re.DOTALL)
        return "\n" * above + sentence
    return CELL.sub(lines, text)


def typed_figures(text, names=()):
    """(line number, figure) for each figure with a unit that is typed in the page and is no part of a name."""
    rest = NOT_TYPED.sub(lambda match: "\n" * match[0].count("\n") or " ", "\n".join(prose(opened(text))))
    return [(rest.count("\n", 0, match.start()) + 1, match[0].strip()) for match in FIGURE.finditer(rest)
            if not in_a_name(match, rest, tuple(names))]


def in_a_name(match, text, names):
    around = any_of(names).finditer(text, max(0, match.start() - LONGEST), match.end() + LONGEST)
    return any(named.start() < match.end() and match.start() < named.end() for named in around)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_no_figure_is_typed(path):
    names = names_in_data()
    found = [f"{path.relative_to(ROOT)}:{line}: {figure!r} is typed; compute it from a law or a data row"
             for line, figure in typed_figures(path.read_text(encoding="utf-8"), names)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line", [
    "It holds 80 GB.", "It holds 80GB.", "64 GiB", "**312 TFLOP/s**", "2.0 TB/s", "3.35 TB/s of bandwidth", "900 GB/s", "700 W",
    "1.3 kW", "It costs 2.10 USD.", "2.10 USD/h", "It costs $2.10", "USD 30,000", "40 %", "40%", "50 tokens/s", "12 ms", "4 µs",
    "3.2 s per step", "730 hours a month", "30 days", "pays in 14 months", "3 years", "a 7B model", "a 70 B model", "8K context",
    "175 billion parameters", "131,072 bytes", "16 bytes per parameter", "1e9 FLOP", "`80 GB` in code", "| A100 | 400 W |",
    "- costs $2 to $3 an hour", "```{code-cell} ipython3\n:tags: [remove-input]\n\n%%say\nIt holds 80 GB of {{ memory | bytes }}.\n```",
    "```{code-cell} ipython3\n%%exercise\nHow many in 80 GB?\n---\nTwo.\n```", "```{admonition} Fits in 80 GB", "2 h", "(80 GB)", "~80 GB", "about\u00a080\u00a0GB",
])
def test_the_lint_finds(line):
    assert typed_figures(f"# Title\n\n{line}\n"), line


@pytest.mark.parametrize("text", [
    "An A100 SXM 40GB and an H100 PCIe 80GB.", "Llama-2-7B and Mixtral-8x7B", "{glue:text}`memory` of memory",
    "an A100 SXM\n40GB", "$x = 80 B$ in math", "$$\nx = 80 B\n$$", "$$x = 80 B$$", "```{math}\nx = 80 B\n```",
    "```{code-cell} ipython3\nx = 80  # 80 GB\n```", "```bash\npapermill x -p usd 2 s\n```", "[a page](http://x.org/80GB)",
    "Chapter 3, in 2024, 4 GPUs, 3 steps, section 2.1", "NVLink 4, PCIe 4, FP16, 8-bit Adam, ZeRO-3", "% 80 GB in a comment",
    "arXiv 2205.05198", "GB is $10^9$ and GiB is $2^{30}$", "---\ntitle: 80 GB\n---\ntext", "ZeRO stages 0 to 3", "in 2024 a",
    "````{note}\n```python\nx = '80 GB'\n```\n````",
    "```{code-cell} ipython3\n:tags: [remove-input]\n\n%%say headline\nIt holds {{ memory | bytes }} for {{ 2 * 3 }} s.\n```",
])
def test_the_lint_allows(text):
    assert not typed_figures(text, ["A100 SXM 40GB", "H100 PCIe 80GB"]), text


def test_the_lint_names_the_line():
    assert typed_figures("---\na: 1\n---\n# T\n\n```{note}\nIt needs 80 GB.\n```\n") == [(7, "80 GB")]
    assert typed_figures("An A100 SXM\n40GB has {glue:text}`80\nGB` and\n40 GB.\n", ["A100 SXM 40GB"]) == [(4, "40 GB")]
