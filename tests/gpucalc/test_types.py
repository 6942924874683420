"""Types: what others call says what it takes and gives, and the type checker agrees."""
import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gpucalc

ROOT = Path(gpucalc.__file__).parent
# Modules for others to call. The laws' arguments are quantities, whose kind and unit are in the vocabulary.
PUBLIC = ["core/arithmetic", "core/evaluate", "core/figures", "core/law", "core/quantities", "cli", "decisions/layouts",
          "decisions/what_changed", "rows/bands", "rows/catalogue", "rows/price_book", "rows/rents"]
# What a caller may write, with the line that the checker must refuse.
USE = """\
from gpucalc import LAWS, Case, kv_cache
case: Case = Case(model="Llama-3-70B", context=8192, batch=32).but(batch=1)
case(kv_cache.kv_bytes), case("kv_bytes"), case.explain(kv_cache.kv_bytes).value
names: tuple[str, ...] = LAWS["kv_bytes"].arguments + kv_cache.kv_bytes.arguments
kv_cache.kv_bytes(sequence_kv_bytes=1, batch=2)
kv_cache.kv_bytes(sequence_kv_bytes=1, batsh=2)
"""


def without_types(path):
    """Public functions and methods of a module that leave out the type of an argument or of the result."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for node in [part for holder in (module, *classes) for part in holder.body if isinstance(part, ast.FunctionDef)]:
        given = node.args
        taken = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        typed = all(each.annotation for each in taken if each.arg not in ("self", "cls")) and (node.returns or node.name == "__init__")
        if not typed and (node.name in ("__init__", "__call__") or not node.name.startswith("_")):
            yield node.name


@pytest.mark.parametrize("module", PUBLIC)
def test_what_is_public_has_types(module):
    assert list(without_types(ROOT / f"{module}.py")) == []


def check(*given):
    """Runs the type checker, which keeps what it knows of a file for as long as that is unchanged; its lines."""
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", "_build/types", *given], cwd=ROOT.parent, text=True,
                          capture_output=True)
    return done.stdout.splitlines()


def test_types_are_right(tmp_path):
    assert check()[-1].startswith("Success: no issues found")
    (tmp_path / "use.py").write_text(USE)
    found = check(str(tmp_path / "use.py"))
    assert [line for line in found if "error:" in line] == [line for line in found if ":6: error:" in line and "batsh" in line] != []
