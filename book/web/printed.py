"""Scripts that are printed from Python: numbers as text, and texts with facts put in."""
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gpucalc.core import figures
from gpucalc.decisions import answer_words, engine_flags
from gpucalc.rows import config, intake
from . import pyjs

_FIGURES = ("number", "three_figures", "seconds", "unit_symbol", "exact", "gib", "percent", "usd", "hourly", "dollars", "days",
            "signed", "chance", "times", "in_unit", "quantity", "_scaled", "_minus")
_TOLD = ("fill", "begun", "said_verdict", "turning_rent", "_holds", "_true", "_field", "_key", "_of_kind", "_layout", "_against",
         "_value")
_RENTS = ("Amount", "Column", "Spread", "plain", "amount", "_without_currency", "readings", "_without_same", "agreed", "settled",
          "column", "_money_column", "_tokens", "_family", "counted", "gpu_named", "term_named", "_bare", "times_an_hour",
          "standing", "question", "_meant", "_in_usd")
_CONFIGS = ("Fields", "Architecture", "described", "named", "families", "nesting", "whole", "fields_of", "refused_fields",
            "_text_model", "_refuse_others", "_check_blocks", "_check_head", "_ends", "_attention", "_worked_out", "_is_one_of",
            "_is_no_list", "_are_layers")


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


def reading_script() -> str:
    """`gpucalc.rents`, how prices of a reader's own are read, and `gpucalc.configs`, how a config.json is."""
    items = {"rows": "gpucalc.own.rows", "ITEMS": "gpucalc.reading.rents.items", "_alike": "gpucalc.own.alike",
             "_terms_of": "gpucalc.own.termsOf", "three_figures": "gpucalc.figures.three_figures",
             "shortened": "gpucalc.text.shortened"}
    texts = {"architectures": "gpucalc.own.architectures", "_written": "gpucalc.text.written", "hidden": "gpucalc.text.hidden",
             "shortened": "gpucalc.text.shortened"}
    rents = _block("rents", _those(intake, _RENTS), items)
    return _script("python_reading.js") + rents + _block("configs", _those(config, _CONFIGS), texts)


def _script(name):
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _those(module: Any, names: Iterable[str]) -> list[Callable]:
    return [vars(module)[name] for name in names]


def _block(name, made, known):
    shown = ", ".join(function.__name__ for function in made)
    return f'"use strict";\n{{\nconst {{ py }} = gpucalc;\n{pyjs.functions(made, known)}\ngpucalc.{name} = {{ {shown} }};\n}}\n'
