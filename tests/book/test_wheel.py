"""The wheel holds all that `gpucalc` needs and nothing else, and says what it needs beside itself."""
import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from gpucalc.rows.price_book import price_books

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What is imported by another name than it is installed.
INSTALLED_AS = {"yaml": "PyYAML", "IPython": "ipykernel", "jinja2": "Jinja2", "vl_convert": "vl-convert-python"}
# What only a reader who has it asks for: symbols are put into formulas by hand, and prices are asked for by a command.
OPTIONAL = {"sympy": "test", "gpuhunt": "prices", "openpyxl": "pages"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, unpacked."""
    source, made, unpacked = (tmp_path_factory.mktemp(name) for name in ("source", "made", "unpacked"))
    for name in ("gpucalc", "book", "data"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, source)
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-W", "ignore", "-c", build, str(made)], cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(next(made.glob("*.whl"))) as packed:
        packed.extractall(unpacked)
    return unpacked


# Python where nothing is installed but what the wheel needs, and what that needs.
BARE = """
import sys
known = {*sys.stdlib_module_names, "gpucalc", "book", "numpy", "pandas", "yaml", "dateutil", "six", "pytz", "tzdata"}
class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in known and not name.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Bare())
"""


def run(wheel, folder, *words):
    """What Python prints in another folder, with the wheel in place of the checkout and without any extra of it."""
    (folder / "bare").mkdir(exist_ok=True)
    (folder / "bare/sitecustomize.py").write_text(BARE)
    places = os.pathsep.join(map(str, [folder / "bare", wheel]))
    done = subprocess.run([sys.executable, *words], cwd=folder, env=os.environ | {"PYTHONPATH": places}, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_it_has_the_library_the_book_and_its_licences(wheel):
    info = next(wheel.glob("*.dist-info"))
    assert {path.name for path in wheel.iterdir()} == {"gpucalc", "book", info.name}
    assert {path.name for path in (info / "licenses").iterdir()} == {"LICENSE", "LICENSE-TEXT"}
    assert "License-Expression: MIT AND CC-BY-4.0\n" in (info / "METADATA").read_text(encoding="utf-8")


def test_it_has_every_module_and_every_file_of_data(wheel):
    def files(folder):
        return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    made = files(wheel / "gpucalc")
    more = {Path("_toc.yml"), Path("components/report.css")}
    assert {path for path in files(ROOT / "book") if path.suffix == ".py"} | more == files(wheel / "book")
    assert files(ROOT / "gpucalc") | {Path("data", path) for path in files(ROOT / "data")} - {Path("data/README.md")} <= made


def test_it_answers_elsewhere(wheel, tmp_path):
    asked = ("import gpucalc; from gpucalc import Case, kv_cache; from gpucalc.rows import price_book; print(gpucalc.__file__); "
             "print(Case(model='Llama-3-70B', context=8192, batch=32)(kv_cache.kv_bytes), len(price_book.price_books()))")
    assert run(wheel, tmp_path, "-c", asked) == [str(wheel / "gpucalc/__init__.py"), f"85899345920.0 {len(price_books())}"]
    told = run(wheel, tmp_path, "-m", "gpucalc", "kv_bytes", "--model", "Llama-3-70B", "--context", "8192", "--batch", "32")
    assert told[0] == "kv_bytes = 85.9 GB (85,899,345,920 B)"


FULL = ["decide", "chat_70b.yaml", "--prices", "mine.csv", "--only", "0", "--gpus", "cards.csv", "--compare", "three_on_one.yaml", "--rows", "1,2", "--report", "report.html"]
COMMANDS = [
    (["--help"], "gpucalc FORMULA"), (["list", "kv", "cache"], "kv_bytes"), (["list", "gpus", "--csv"], "H200 SXM 141GB"),
    (["show", "kv_bytes"], "sequence_kv_bytes"), (["show", "gpu", "H200 SXM 141GB", "--json"], '"marketed_bytes"'),
    (["kv_bytes", "--model", "Llama-3-8B", "--context", "8192", "--batch", "2", "--json"], '"value": 2147483648'),
    (["kv_bytes", "--model", "Llama-3-8B", "--context", "8192", "--batch", "2", "--csv"], "result,kv_bytes,2147483648"),
    (["decide", "--help"], "gpucalc decide CASE.yaml"), (["decide", "--case", "lab_rtx6000.yaml"], "RTX 6000 Ada 48GB"),
    (["decide", "own_8_h100.yaml", "--report", "report.html"], "The report is "), (FULL, "The report is "),
]


@pytest.mark.parametrize("words, told", COMMANDS, ids=lambda each: " ".join(each)[:40] if isinstance(each, list) else "")
def test_every_command_runs_with_what_the_wheel_needs_and_no_more(wheel, tmp_path, words, told):
    for name in ("chat_70b", "three_on_one", "lab_rtx6000", "own_8_h100"):
        shutil.copy(ROOT / f"data/cases/{name}.yaml", tmp_path)
    (tmp_path / "mine.csv").write_text("gpu,usd_per_hour\nH100,2.95\n")
    (tmp_path / "cards.csv").write_text("gpu,like,memory_bytes\nH300 SXM 200GB,H200 SXM 141GB,200e9\n")
    assert told in "\n".join(run(wheel, tmp_path, "-m", "gpucalc", *words))
    if "report.html" in words:
        assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_python_decides_with_what_the_wheel_needs_and_no_more(wheel, tmp_path):
    asked = ("from gpucalc import Case, decide, kv_cache; case = Case(model='Llama-3-8B', context=8192, batch=2); "
             "print(case.explain(kv_cache.kv_bytes), decide({'job': 'serve', 'model': 'Llama-3-8B', 'requests_per_second': 5}).gpus[0] > 0)")
    assert run(wheel, tmp_path, "-c", asked) == ["kv_bytes = 2.15 GB True"]


def declared(extra=None):
    """Names of what is installed, with the extra."""
    needs = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    return {need.partition(">")[0].partition("=")[0].lower() for need in needs}


def imported(folder):
    """Names of what the modules of a folder import from elsewhere, outside the standard library."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else (
                [node.module] if isinstance(node, ast.ImportFrom) and not node.level else [])
            yield from (name.partition(".")[0] for name in names)


@pytest.mark.parametrize("folder", ["gpucalc/core", "gpucalc/laws", "gpucalc/rows", "gpucalc/decisions", "book/components", "book/pages"])
def test_what_it_imports_is_declared(folder):
    found = {INSTALLED_AS.get(name, name).lower() for name in imported(folder)} - {"gpucalc", *map(str.lower, sys.stdlib_module_names)}
    allowed = declared() | (declared("pages") if folder.startswith("book") or folder == "gpucalc/core" else set())
    assert found - allowed - {name for name, extra in OPTIONAL.items() if name in declared(extra)} == set()


@pytest.mark.long
def test_a_downloaded_page_runs_with_the_wheel(wheel, tmp_path):
    """With what the extra `pages` installs, and nothing of a checkout: the page's own modules are in the wheel."""
    shutil.copy(ROOT / "notebooks/kv_cache.ipynb", tmp_path)
    asked = [sys.executable, "-m", "papermill", "kv_cache.ipynb", "out.ipynb", "-p", "context", "4096"]
    done = subprocess.run(asked, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(wheel)}, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "out.ipynb").read_text(encoding="utf-8"))
    where = "import book, gpucalc; print(book.__file__, gpucalc.__file__)"
    assert run(wheel, tmp_path, "-c", where) == [f"{wheel / 'book/__init__.py'} {wheel / 'gpucalc/__init__.py'}"]
    assert "4,096" in json.dumps(made["cells"])
