"""Scripts that are printed from Python: numbers as text, and texts with facts put in."""
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gpucalc.core import figures
from gpucalc.decisions import answer_words, engine_flags
from . import pyjs

_FIGURES = ("number", "three_figures", "seconds", "unit_symbol", "exact", "gib", "percent", "usd", "hourly", "dollars", "days",
            "signed", "chance", "times", "in_unit", "quantity", "_scaled", "_minus")
_TOLD = ("fill", "begun", "said_verdict", "turning_rent", "_holds", "_true", "_field", "_key", "_of_kind", "_layout", "_against",
         "_value")


def figures_script() -> str:
    """What `py` of a printed function is, and `gpucalc.figures`, the functions of core/figures.py."""
    known = {"UNITS": "gpucalc.data.units", "QUANTITIES": "gpucalc.data.quantities"}
    return _script("python.js") + _block("figures", _those(figures, _FIGURES), known)


def texts_script() -> str:
    """`gpucalc.told`: what fills the texts of an answer, `gpucalc.texts`, and `gpucalc.forms`, words of a shell."""
    texts = {"_ALL": "texts", "TEXTS": "texts", "PARTS": "parts", "WORDS": "words", "NOUNS": "nouns", "FORMS": "forms",
             "TABLES": "tables"}
    known = {name: f"gpucalc.texts.{held}" for name, held in texts.items()}
    known |= {"figures": "gpucalc.figures", "engine_flags.FORMS": "gpucalc.forms", "trains": "gpucalc.trains"}
    forms = _block("forms", list(engine_flags.FORMS.values()), {})
    return _script("python_texts.js") + forms + _block("told", _those(answer_words, _TOLD), known)


def _script(name):
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _those(module: Any, names: Iterable[str]) -> list[Callable]:
    return [vars(module)[name] for name in names]


def _block(name, made, known):
    shown = ", ".join(function.__name__ for function in made)
    return f'"use strict";\n{{\nconst {{ py }} = gpucalc;\n{pyjs.functions(made, known)}\ngpucalc.{name} = {{ {shown} }};\n}}\n'
