"""The wheel holds all that `gpucalc` needs and nothing else, and says what it needs beside itself."""
import ast
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from gpucalc.rows.price_book import price_books

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What is imported by another name than it is installed.
INSTALLED_AS = {"yaml": "PyYAML", "IPython": "ipykernel", "jinja2": "Jinja2", "vl_convert": "vl-convert-python"}
# What only a reader who has it asks for: symbols are put into formulas by hand, and prices are asked for by a command.
OPTIONAL = {"sympy": "test", "gpuhunt": "prices", "openpyxl": "pages"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, unpacked."""
    source, made, unpacked = (tmp_path_factory.mktemp(name) for name in ("source", "made", "unpacked"))
    for name in ("gpucalc", "data"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, source)
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-W", "ignore", "-c", build, str(made)], cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(next(made.glob("*.whl"))) as packed:
        packed.extractall(unpacked)
    return unpacked


def run(wheel, folder, *words):
    """What Python prints in another folder, with the wheel in place of the checkout."""
    done = subprocess.run([sys.executable, *words], cwd=folder, env=os.environ | {"PYTHONPATH": str(wheel)}, text=True,
                          capture_output=True, check=True)
    return done.stdout.splitlines()


def test_it_has_one_package_and_its_licences(wheel):
    info = next(wheel.glob("*.dist-info"))
    assert {path.name for path in wheel.iterdir()} == {"gpucalc", info.name}
    assert {path.name for path in (info / "licenses").iterdir()} == {"LICENSE", "LICENSE-TEXT"}
    assert "License-Expression: MIT AND CC-BY-4.0\n" in (info / "METADATA").read_text(encoding="utf-8")


def test_it_has_every_module_and_every_file_of_data(wheel):
    def files(folder):
        return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    made = files(wheel / "gpucalc")
    assert files(ROOT / "gpucalc") | {Path("data", path) for path in files(ROOT / "data")} - {Path("data/README.md")} <= made


def test_it_answers_elsewhere(wheel, tmp_path):
    asked = ("import gpucalc; from gpucalc import Case, kv_cache; from gpucalc.rows import price_book; print(gpucalc.__file__); "
             "print(Case(model='Llama-3-70B', context=8192, batch=32)(kv_cache.kv_bytes), len(price_book.price_books()))")
    assert run(wheel, tmp_path, "-c", asked) == [str(wheel / "gpucalc/__init__.py"), f"85899345920.0 {len(price_books())}"]
    told = run(wheel, tmp_path, "-m", "gpucalc", "kv_bytes", "--model", "Llama-3-70B", "--context", "8192", "--batch", "32")
    assert told[0] == "kv_bytes = 85.9 GB (85,899,345,920 B)"


def declared(extra=None):
    """Names of what is installed, with the extra."""
    needs = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    return {need.partition(">")[0].partition("=")[0].lower() for need in needs}


def imported(folder):
    """Names of what the modules of a folder import from elsewhere, outside the standard library."""
    for path in (ROOT / "gpucalc" / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else (
                [node.module] if isinstance(node, ast.ImportFrom) and not node.level else [])
            yield from (name.partition(".")[0] for name in names)


@pytest.mark.parametrize("folder", ["core", "laws", "rows", "plan", "page"])
def test_what_it_imports_is_declared(folder):
    found = {INSTALLED_AS.get(name, name).lower() for name in imported(folder)} - {*map(str.lower, sys.stdlib_module_names)}
    allowed = declared() | (declared("pages") if folder in ("core", "page") else set())
    assert found - allowed - {name for name, extra in OPTIONAL.items() if name in declared(extra)} == set()
