"""The house stands in order: core < laws < rows < {plan, page}, small modules, and a light `import gpucalc`."""
import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import gpucalc

ROOT = Path(gpucalc.__file__).parent
MAY_IMPORT = {"core": {"core"}, "laws": {"core", "laws"}, "rows": {"core", "laws", "rows"},
              "plan": {"core", "laws", "rows", "plan"}, "page": {"core", "laws", "rows", "plan", "page"}}
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
LONGEST, LARGEST_CORE = 300, 700
# Modules longer than that, with their lines: these may only shrink, and no module may join them.
LONG = {"laws/interconnect.py": 303, "laws/training_memory.py": 410, "laws/training_time.py": 330}


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
    assert [name for name in MODULES if name.split("/")[0] not in MAY_IMPORT] == ["__init__.py", "__main__.py"]


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
