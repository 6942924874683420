"""The house stands in order: core < laws < rows < {plan, page}, small modules, and a light `import gpucalc`."""
import ast
import importlib.util
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gpucalc
from gpucalc.rows.price_book import price_books

ROOT = Path(gpucalc.__file__).parent
MAY_IMPORT = {"core": {"core"}, "laws": {"core", "laws"}, "rows": {"core", "laws", "rows"},
              "plan": {"core", "laws", "rows", "plan"}, "page": {"core", "laws", "rows", "plan", "page"}}
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
LONGEST, LARGEST_CORE = 300, 700
# Modules longer than that, with their lines: these may only shrink, and no module may join them.
LONG = {"laws/interconnect.py": 303, "laws/training_memory.py": 410, "laws/training_time.py": 330, "rows/config.py": 339}


def lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def imported(path):
    """Folders of gpucalc that a module imports from, wherever in it; `""` is gpucalc itself."""
    package = ".".join(("gpucalc", *path.relative_to(ROOT).parent.parts))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            whole = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{whole}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.split(".")[0] == "gpucalc" and "." in name)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_arrows_point_one_way(folder):
    inside = [path for name, path in MODULES.items() if name.startswith(f"{folder}/")]
    found = {(path.name, there) for path in inside for there in imported(path)}
    assert len(inside) > 3 and "core" in {there for _, there in found}
    assert {(module, there) for module, there in found if there not in MAY_IMPORT[folder]} == set()


def test_every_module_has_a_folder():
    assert [name for name in MODULES if name.split("/")[0] not in MAY_IMPORT] == ["__init__.py"]


def test_modules_are_short():
    found = {name: lines(path) for name, path in MODULES.items()}
    assert {name: count for name, count in found.items() if count > LONG.get(name, LONGEST)} == {}
    assert [name for name in LONG if found[name] <= LONGEST] == [], "short now: take it off the list"


def test_core_is_small():
    assert sum(lines(path) for name, path in MODULES.items() if name.startswith("core/")) <= LARGEST_CORE


def test_import_is_light():
    code = "import sys, gpucalc; print([name for name in ('pandas', 'altair', 'sympy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_wheel_carries_the_data(tmp_path):
    """Its files by what pyproject.toml says, laid out as the wheel lays them, answer from elsewhere."""
    setup = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert {str(path.relative_to(ROOT.parent).parent).replace("/", ".") for path in MODULES.values()} <= set(setup["packages"])
    assert setup["package-dir"] == {"gpucalc.data": "data"} and "gpucalc.data" in setup["packages"]
    for pattern in setup["package-data"]["gpucalc.data"]:
        for path in (ROOT.parent / "data").glob(pattern):
            target = tmp_path / "gpucalc/data" / path.relative_to(ROOT.parent / "data")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    shutil.copytree(ROOT, tmp_path / "gpucalc", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    asked = ("import gpucalc; from gpucalc import Case, kv_cache; from gpucalc.rows import price_book; print(gpucalc.__file__); "
             "print(Case(model='Llama-3-70B', context=8192, batch=32)(kv_cache.kv_bytes), len(price_book.price_books()))")
    shown = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, text=True, capture_output=True, check=True).stdout
    assert shown.splitlines() == [str(tmp_path / "gpucalc/__init__.py"), f"85899345920.0 {len(price_books())}"]
