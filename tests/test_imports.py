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
LONGEST, LARGEST_CORE = 450, 800
# Modules longer than that, with their lines: these may only shrink, and no module may join them.
LONG: dict[str, int] = {}


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


def test_what_names_pandas_for_its_types_alone_does_not_load_it():
    """A row of a table, a case file or a report on prices needs none."""
    code = ("import importlib, sys; names = sys.argv[1:]; found = []\n"
            "for name in names:\n    importlib.import_module(name); found += [name] if 'pandas' in sys.modules else []\nprint(len(names), found)")
    names = [f"gpucalc.{name[:-3].replace('/', '.')}" for name, path in MODULES.items() if name.startswith("rows/") and "TYPE_CHECKING" in path.read_text(encoding="utf-8")]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(names)), "[]"] and len(names) > 12


def test_a_case_asked_for_first_knows_the_catalogue_and_how_a_page_shows_it():
    """An H100: 989 TFLOP/s over 3.35 TB/s are 295 FLOP a byte."""
    code = ("import gpucalc; known = gpucalc.Case(gpu='H100 SXM 80GB').explain(gpucalc.arithmetic_intensity.ridge_point);"
            "print(round(known.value), '295' in known._repr_markdown_())")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["295", "True"]


def test_what_needs_pandas_is_loaded_when_it_is_asked_for():
    assert (gpucalc.layouts.__name__, gpucalc.what_changed.__name__) == ("gpucalc.plan.layouts", "gpucalc.plan.what_changed")


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="^module 'gpucalc' has no attribute 'nothing'$"):
        gpucalc.nothing
