"""The house stands in order: core < laws < rows < decisions < cli, `book` beside it, and a light `import gpucalc`."""
import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import gpucalc

ROOT = Path(gpucalc.__file__).parent
MAY_IMPORT = {"core": {"core"}, "laws": {"core", "laws"}, "rows": {"core", "laws", "rows"},
              "decisions": {"core", "laws", "rows", "decisions"}}
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
LARGEST_CORE = 1500


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
    assert [name for name in MODULES if name.split("/")[0] not in MAY_IMPORT] == ["__init__.py", "__main__.py", "cli.py", "cli_decide.py", "cli_log.py", "cli_mcp.py"]


def outside(nodes):
    """Packages from elsewhere that import statements name."""
    for node in nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
        yield from (name.partition(".")[0] for name in names)


def test_the_library_knows_nothing_of_the_book_nor_of_what_draws():
    """Who installs it gets formulas and decisions. A law's arithmetic asks for Altair only where it is given a slider."""
    for name, path in MODULES.items():
        module = ast.parse(path.read_text(encoding="utf-8"))
        drawn = {"altair", "html", "IPython", "jinja2"} & set(outside(ast.walk(module)))
        assert "book" not in outside(ast.walk(module)) and (not drawn or name == "core/arithmetic.py"), name
        assert not drawn & set(outside(module.body)), name


def test_its_tests_need_no_page_and_no_browser():
    for path in sorted(Path(__file__).parent.glob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        assert not {"book", "playwright"} & set(outside(ast.walk(module))), path.name
        given = {argument.arg for node in ast.walk(module) if isinstance(node, ast.FunctionDef) for argument in node.args.args}
        assert not {"browser", "site", "served", "on_disk"} & given, path.name


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
    assert done.stdout.split() == [str(len(names)), "[]"] and len(names) > 6


def test_a_case_asked_for_first_knows_the_catalogue_and_how_a_page_shows_it():
    """An H100: 989 TFLOP/s over 3.35 TB/s are 295 FLOP a byte."""
    code = ("import gpucalc; known = gpucalc.Case(gpu='H100 SXM 80GB').explain(gpucalc.arithmetic_intensity.ridge_point);"
            "print(round(known.value), '295' in known._repr_markdown_())")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["295", "True"]


def test_what_needs_pandas_is_loaded_when_it_is_asked_for():
    assert (gpucalc.layouts.__name__, gpucalc.what_changed.__name__) == ("gpucalc.decisions.layouts", "gpucalc.decisions.what_changed")


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="^module 'gpucalc' has no attribute 'nothing'$"):
        gpucalc.nothing
