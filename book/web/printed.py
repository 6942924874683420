"""Scripts that are printed from Python: numbers as text, and texts with facts put in."""
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gpucalc.core import figures
from gpucalc.decisions import answer_words, engine_flags
from . import pyjs

_HERE = Path(__file__).parent
_FIGURES = ("number", "three_figures", "seconds", "unit_symbol", "exact", "gib", "percent", "usd", "hourly", "dollars", "days",
            "signed", "chance", "times", "in_unit", "quantity", "_scaled", "_minus")
_TOLD = ("fill", "begun", "said_verdict", "turning_rent", "_holds", "_true", "_field", "_key", "_of_kind", "_layout", "_against",
         "_value")


def figures_script() -> str:
    """What `py` of a printed function is, and `gpucalc.figures`, the functions of core/figures.py."""
    known = {"UNITS": "gpucalc.data.units", "QUANTITIES": "gpucalc.data.quantities"}
    return _lean("python.js") + _block("figures", _those(figures, _FIGURES), known)


def texts_script() -> str:
    """`gpucalc.told`: what fills the texts of an answer, `gpucalc.texts`, and `gpucalc.forms`, words of a shell."""
    texts = {"_ALL": "texts", "TEXTS": "texts", "PARTS": "parts", "WORDS": "words", "NOUNS": "nouns", "FORMS": "forms",
             "TABLES": "tables"}
    known = {name: f"gpucalc.texts.{held}" for name, held in texts.items()}
    known |= {"figures": "gpucalc.figures", "engine_flags.FORMS": "gpucalc.forms", "trains": "gpucalc.trains"}
    forms = _block("forms", list(engine_flags.FORMS.values()), {})
    return _lean("python_texts.js") + forms + _block("told", _those(answer_words, _TOLD), known)


def _lean(name):
    """A script of this folder without comments and indents, as every page with a chart loads it."""
    lines = map(str.strip, (_HERE / name).read_text(encoding="utf-8").splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def _those(module: Any, names: Iterable[str]) -> list[Callable]:
    return [vars(module)[name] for name in names]


def _block(name, made, known):
    shown = ", ".join(function.__name__ for function in made)
    return f'"use strict";\n{{\nconst {{ py }} = gpucalc;\n{pyjs.functions(made, known)}\ngpucalc.{name} = {{ {shown} }};\n}}\n'
