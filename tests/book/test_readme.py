"""What README.md and CONTRIBUTING.md tell a reader to type is typed here, in a copy of the checkout, with the files they show."""

import ast
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import openpyxl
import pytest

from book.build.charts import compile_chart, specs_in
from book.build.inputs import ROOT
from book.components.sentences import said

TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command among the prose: a program with something behind it.
INLINE = re.compile(r"`((?:make|gpucalc|pip|papermill|python|\.venv/bin/\w+) [^`]+)`")
BLOCKS = [block for text in TEXTS.values() for block in BLOCK.findall(text)]
README = TEXTS["README.md"]
[RENTS] = [text for language, text in BLOCKS if not language and text.startswith("gpu,")]
# Commands that are named among the prose without what they need.
NAMED = re.compile("make (check|decide|report|answer|notebook)")
# What stands in a command for a name of the reader's own.
STANDS_FOR = {"TOPIC": "kv_cache", "NAME": "kv-token"}
CONFIG = """{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "vocab_size": 128256,
"num_key_value_heads": 8, "num_hidden_layers": 32, "tie_word_embeddings": false, "max_position_embeddings": 8192}"""
MOVED = "make notebook TOPIC=what_changed PRICES=mine.csv"
COMPARED = "make decide CASE=data/cases/chat_70b.yaml PRICES=mine.csv COMPARE=data/cases/two_million_serve.yaml ROWS=1,4"
# Of the short ones those that take the longest.
SLOW = ("papermill", "make notebook", "make prices", ".venv/bin/python -m tests.book.test_lessons", COMPARED)

# A pattern of commands, and of what each prints at the end.
SHORT = {
    r"make check PRICES=mine.csv": "^Age: ",
    r"make decide CASE=data/cases/chat_70b.yaml( PRICES=mine.csv COMPARE=data/cases/two_million_serve.yaml ROWS=1,4)?": r"\nTake (?:the API of |\d+ × )",
    r"make report CASE=mine.yaml OUT=report.html": r"The report is .*/report.html",
    r"make answer TOPIC=break_even": "The oldest price behind this is of ",
    r"make notebook TOPIC=kv_cache PARAMS=mine.yaml": r"The executed notebook is .*\.ipynb",
    rf"{MOVED}( ONLY=1)?": r"The executed notebook is .*what_changed\.ipynb",
    r"papermill kv_cache.ipynb out.ipynb .*": "Executing: 100%",
    r"make prices": "is there a network\\?; nothing is changed",
    r"make clean": "^rm -rf ",
    r"(\.venv/bin/)?gpucalc \w+_\w+ .*": r"^\w+ = [\d.]+ GB \([\d,]+ B\)",
    r"\.venv/bin/gpucalc params .*": r"^params = [\d.]+ (billion|B)",
    r"\.venv/bin/gpucalc ask .*": "Understood: job serve",
    r"\.venv/bin/gpucalc decide \S+ --files run": "run: compose.yaml, kubernetes.yaml, sky.yaml",
    r"gpucalc list kv cache": "kv_cache +kv_bytes",
    r"gpucalc show kv_bytes": "KV bytes = sequence KV bytes × batch",
    r"gpucalc --help|python -m gpucalc": "^gpucalc FORMULA ",
    r"cp (\S+) (\S+)\n\.venv/bin/python -m gpucalc.rows.price_book \2": "rows, newest ",
    r"\.venv/bin/python -c .*families.*": r"time per output token +\d+",
    r"\.venv/bin/python -c .*": r"norm-\S+ +[\d. -]+",
    r"\.venv/bin/python -m tests.book.test_lessons kv_cache": "kv_cache +[0-9]+ words",
}
LONG = {r"make notebook TOPIC=(utilization|memory_worksheet) PARAMS=mine.yaml": r"The executed notebook is .*\.ipynb",
        r"\.venv/bin/python -m book.build --notebook=kv_cache": r"The executed notebook is .*kv_cache\.ipynb",
        r"make book( .*)?|python -m book.build": r"The book is .*/_build/html/index.html", r"make serve": r"http://localhost:\d+",
        r"\.venv/bin/papermill .*": "Executing: 100%"}
NOT_RUN = {
    r"make test(-all( SEED=\d+)?)?": "it is what runs this",
    r"make lint": "make test does so first",
    r"\.venv/bin/pytest --nbval notebooks(/\w+\.ipynb)?": "in Jupyter's own kernel; make test runs two notebooks so",
    r"make accept": "it records every notebook anew; tests/book/test_notebooks.py compares each with a run",
    r"make bench": "it measures for minutes, and on this machine alone",
    r"make measure|\.venv/bin/pip install torch": "PyTorch would be installed; tests/book/test_measure.py runs what it measures",
    r"gpucalc read-log vllm.log": "it wants a log; tests/gpucalc/test_read_log.py has five",
    r"gpucalc mcp": "it serves; tests/gpucalc/test_mcp.py calls its tools",
    r"make (pdf|epub)": "pypdf would be installed; tests/book/test_paper.py makes what they make",
    r"make lab": "JupyterLab would be installed, and stays open",
    r"pip (install|wheel) .*": "it needs a network; tests/book/test_wheel.py makes the wheel and runs from it",
    r"\.venv/bin/ruff check --fix .*": "it changes nothing where make lint passes",
}
# Tests that a recipe names: they run by themselves.
TESTS = r"\.venv/bin/pytest -q (.*)"


def lines(block):
    """The commands of a block, without comments: one a line, or several where a quote goes on, or a copy is for the next."""
    held = []
    for line in block.splitlines():
        held.append(re.sub(r"\s+# .*", "", line))
        if "\n".join(held).count('"') % 2 == 0 and not held[-1].startswith("cp "):
            yield "\n".join(held)
            held = []


def commands():
    """Each command of the two texts once, with names in place of those that stand for one."""
    found = [line for language, text in BLOCKS if language == "bash" for line in lines(text)]
    among = [" ".join(each.split()) for text in TEXTS.values() for each in INLINE.findall(BLOCK.sub("", text))]
    found += [each for each in among if not NAMED.fullmatch(each)]
    return dict.fromkeys(re.sub(rf"\b({'|'.join(STANDS_FOR)})\b(?!=)", lambda name: STANDS_FOR[name[0]], each) for each in found)


def matching(kind):
    return [each for each in commands() if any(re.fullmatch(known, each, re.DOTALL) for known in kind)]


def expected(command, kind):
    return next(told for known, told in kind.items() if re.fullmatch(known, command, re.DOTALL))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout with the .venv of this run, which is newer there than what it is made from."""
    folder = tmp_path_factory.mktemp("a checkout")
    ignored = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", ".pytest_cache", ".hypothesis", ".*_cache")
    shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
    (folder / ".venv").mkdir()
    for name in ("bin", "lib", "pyvenv.cfg", "share"):
        (folder / ".venv" / name).symlink_to(f"{sys.prefix}/{name}")
    (folder / ".venv/ready").touch()
    (folder / "path/to").mkdir(parents=True)
    (folder / "path/to/config.json").write_text(CONFIG)
    return folder


def shown(*texts):
    """Lines for a file, which the README has among its prose."""
    assert all(f"`{each}`" in README for each in texts)
    return "\n".join(texts) + "\n"


def lay(folder, command):
    """Puts beside the command the files that it names, as the README shows them."""
    (folder / "mine.csv").write_text(RENTS)
    book = openpyxl.Workbook()
    for gpu, *price in csv.reader(io.StringIO(RENTS)):
        book.active.append([gpu, *price, "currency" if gpu == "gpu" else "EUR"])
    book.save(folder / "mine.xlsx")
    if "utilization" in command:
        shutil.copy(folder / "data/counters/nvidia_smi_csv.txt", folder / "mine.csv")
    mine = {"TOPIC=utilization": shown("counters: mine.csv"), "TOPIC=kv_cache": "batch: 64\n",
            "memory_worksheet": shown("model: /path/to/config.json", "gpu: H200 SXM 141GB", "recipe: qlora"),
            "book CASE": shown("gpu: H200 SXM 141GB", "utilization: 0.7")}
    case = (folder / "data/cases/chat_70b.yaml").read_text()
    text = next((text for words, text in mine.items() if words in command), case)
    (folder / "mine.yaml").write_text(text.replace("/path/to", f"{folder}/path/to"))
    shutil.copy(folder / "data/cases/two_million_serve.yaml", folder / "other.yaml")


def environment(folder):
    """That of a reader's terminal, with no network; make knows nothing of the one that runs the tests."""
    ours = {name: value for name, value in os.environ.items() if not re.match("MAKE|MFLAGS|BOOK_|PYTEST|GPUCALC_", name)}
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return ours | nowhere | {"PATH": f"{folder}/.venv/bin:{ours['PATH']}", "PYTHONPATH": str(folder), "PIP_NO_INDEX": "1"}


def typed(folder, command):
    """What the command prints; it ends well, but for one that needs a network."""
    lay(folder, command)
    here = folder / "notebooks" if command.startswith("papermill") else folder
    done = subprocess.run(["bash", "-c", command], cwd=here, env=environment(folder), text=True, capture_output=True)
    assert (done.returncode == 0) == (command != "make prices"), done.stdout + done.stderr
    for book in {path.name for path in folder.glob("data/prices/*")} - {path.name for path in ROOT.glob("data/prices/*")}:
        (folder / "data/prices" / book).unlink()
    return done.stdout + done.stderr


def test_every_command_is_one_that_is_known_here():
    kinds = (SHORT, LONG, NOT_RUN, [TESTS])
    told = {each: sum(each in matching(kind) for kind in kinds) for each in commands()}
    assert len(told) > 50 and {each: count for each, count in told.items() if count != 1} == {}
    assert [known for kind in kinds for known in kind if known != f"{MOVED}( ONLY=1)?" and not matching([known])] == [], "nobody is told that"
    assert {language for language, _ in BLOCKS} == {"", "bash", "json", "python"}
    [told] = [json.loads(text) for language, text in BLOCKS if language == "json"]
    assert told == {"mcpServers": {"gpucalc": {"command": "gpucalc", "args": ["mcp"]}}}
    assert [text for language, text in BLOCKS if not language and not text.startswith(("gpu,", "%%say\n"))] == []


@pytest.mark.parametrize("command", [pytest.param(each, marks=pytest.mark.long) if each.startswith(SLOW) else each for each in (
    *matching(SHORT), MOVED, f"{MOVED} ONLY=1", COMPARED)])
def test_a_command_does_what_it_says(checkout, command):
    assert re.search(expected(command, SHORT), typed(checkout, command), re.MULTILINE)
    if command.startswith(MOVED):
        made = checkout / "_build/notebooks/what_changed.ipynb"
        assert all(map(compile_chart, specs_in(made))) and "No provider's cheapest GPU-hour moved" in made.read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("command", matching([TESTS]))
def test_the_tests_of_a_recipe_are_there(command):
    files, _, words = re.fullmatch(TESTS, command)[1].partition(" -k ")
    assert all((ROOT / name).exists() for name in files.split())
    if words:
        asked = [sys.executable, "-m", "pytest", "--collect-only", "-q", *files.split(), "-k", words.strip('"')]
        assert subprocess.run(asked, cwd=ROOT, capture_output=True).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("command", [each for each in matching(LONG) if each != "make serve"])
def test_what_takes_long_does_what_it_says_too(checkout, command):
    assert re.search(expected(command, LONG), typed(checkout, command))
    if command.startswith("make book ") and "mine." in command:
        assert command.partition("=")[2].partition(" ")[0] in (checkout / "_build/html/index.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_serve_shows_the_book_until_it_is_stopped(checkout):
    with subprocess.Popen(["make", "serve", "PORT=8765"], cwd=checkout, env=environment(checkout), stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as serving:
        try:
            assert any("http://localhost:8765" in line for line in serving.stdout)
            assert "GPU arithmetic" in answer("http://localhost:8765/index.html")
        finally:
            os.killpg(serving.pid, signal.SIGINT)


def answer(address, tries=50):
    """A page of a server that is about to listen."""
    while tries := tries - 1:
        try:
            return urllib.request.urlopen(address).read().decode()
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"nobody listens at {address}")


def test_python_gives_what_stands_beside_it(checkout, monkeypatch):
    """Blocks of Python follow one another in one session; a figure in a comment is what its line gives."""
    lay(checkout, "")
    monkeypatch.chdir(checkout)
    names, told = {}, {}
    for block in [text for language, text in BLOCKS if language == "python"]:
        for statement in ast.parse(block).body:
            line = block.splitlines()[statement.lineno - 1]
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), "README.md", "eval"), names)
                told[line.partition("#")[2].strip() or line] = value
            else:
                exec(compile(ast.Module([statement], []), "README.md", "exec"), names)
    figures = {comment: value for comment, value in told.items() if re.match(r"[\d,]+ ", comment)}
    assert figures and all(f"{value:,.0f}" == comment.split()[0] for comment, value in figures.items())
    band = names["band"]
    assert band.low < band.plan < band.high and band.low < band.value <= band.bound and band.rows >= band.sources > 0
    assert "your provider" in set(names["choices"]["provider"]) and all(len(each) for each in told.values() if hasattr(each, "columns"))


def test_the_sentence_that_is_shown_has_its_figures():
    [sentence] = [text for language, text in BLOCKS if not language and text.startswith("%%say")]
    names = dict(model="Llama-3-70B", per_token=327_680, batch=32, cache=85_899_345_920)
    assert said(sentence.removeprefix("%%say\n"), names) == "On Llama-3-70B one token costs 328 kB, and 32 sequences cost 85.9 GB."
