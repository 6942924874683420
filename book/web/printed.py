"""Scripts that are printed from Python: numbers as text, and texts with facts put in."""
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gpucalc.core import figures
from gpucalc.decisions import answer_words, engine_flags, owning_words
from gpucalc.rows import case_file, choices, config, files, free_words, intake, names
from . import drills, pasted, pyjs, typed

_FIGURES = ("number", "three_figures", "rounded_up", "seconds", "unit_symbol", "exact", "gib", "percent", "usd", "hourly",
            "dollars", "days", "hours", "signed", "chance", "times", "in_unit", "quantity", "_scaled", "_minus")
_FILL = ("fill", "begun", "_holds", "_true", "_field", "_key")
_WORDS = ("case_facts", "named", "narrow_cache", "plain", "choice", "cards", "cautions", "compared", "nearest", "binds",
          "helps", "helping", "loosened", "flips", "turned", "levels", "commands", "files", "said_verdict", "turning_rent",
          "_of_best", "_of_ways", "_of_egress", "row_age", "day_number", "_on_spot", "_of_prices", "_first_facts", "_of_kind",
          "_layout", "against", "likeness", "apart", "better", "_is_less", "_value", "_distance", "_before", "_less")
_RENTS = ("Amount", "Column", "Spread", "plain", "amount", "_without_currency", "readings", "_without_same", "agreed", "settled",
          "column", "_money_column", "gpu_named", "term_named", "is_quote", "_bare", "times_an_hour",
          "standing", "question", "_meant", "in_usd")
_NAMES = ("Meant", "Typed", "meant", "typed", "refusal", "spelled", "near", "_pairs", "_shared", "_joined", "_same", "_words_of",
          "words", "_model", "_aliases", "vocabulary", "telling", "families", "_stored", "_unless_native", "gpu_words", "of_gpus",
          "family", "counted", "_gpus", "_from")
_PASTED = ("cells_of", "offer_of", "discount_fault", "laid_over", "discounted", "_offer", "Rents", "_at")
_WORDED = ("Ask", "Words", "understood", "sought", "plain", "amount", "rounded", "named_gpus", "number_before", "may_name",
           "example", "told")
_CONFIGS = ("Fields", "Architecture", "described", "released", "named", "families", "nesting", "whole", "fields_of",
            "refused_fields", "_text_model", "_refuse_others", "_check_blocks", "_check_head", "_ends", "_attention",
            "_worked_out", "_is_one_of", "_is_no_list", "_are_layers", "_algorithms_of")
_ANSWERS = ("cut", "answer", "_plain", "_worth", "units_of", "_allowed")
_AMOUNTS = ("cut", "kind", "read", "_suffix", "outside", "shown", "_said", "in_full")
_FAULTS = ("missing", "joint_faults", "check_p95", "fits", "spanned", "number_fault", "_allowed")
_TEXTS = {name: f"gpucalc.texts.{held}" for name, held in {
    "_ALL": "texts", "TEXTS": "texts", "PARTS": "parts", "WORDS": "words", "NOUNS": "nouns", "FORMS": "forms", "TABLES": "tables",
    "TITLES": "titles", "WHY": "why", "OWN": "own"}.items()}


def figures_script() -> str:
    """What `py` of a printed function is, and `gpucalc.figures`, the functions of core/figures.py."""
    known = {"UNITS": "gpucalc.data.units", "QUANTITIES": "gpucalc.data.quantities"}
    return _script("python.js") + _block("figures", _those(figures, _FIGURES), known)


def texts_script() -> str:
    """`gpucalc.told`: what fills the texts of an answer, `gpucalc.texts`, and `gpucalc.forms`, words of a shell."""
    known = _TEXTS | {"figures": "gpucalc.figures", "engine_flags.FORMS": "gpucalc.forms"}
    forms = _block("forms", list(engine_flags.FORMS.values()), {})
    return _script("python_patterns.js") + _script("python_texts.js") + forms + _block("told", _those(answer_words, _FILL), known)


def case_script() -> str:
    """Of a case `gpucalc.case_file`, what is wrong with its numbers, what it lacks and what does not go together in it, and
    `gpucalc.typed`, how an amount is read and shown; and `gpucalc.files`, how many faults are told."""
    # A number of a case stands in a fault as it was given.
    faults = _block("case_file", _those(case_file, _FAULTS),
                    {"QUANTITIES": "gpucalc.catalogue.quantities", "about": "gpucalc.cases.quantity", "_digits": "String",
                     "_shown": "gpucalc.text.shown", "ANY": "gpucalc.limits.any"})
    amounts = _block("typed", _those(typed, _AMOUNTS), {name: f"gpucalc.case_file.{name}" for name in ("fits", "spanned")})
    told = _block("choices", [choices.discounts], {"shortened": "gpucalc.text.shortened"})
    return faults + amounts + told + _block("files", [files.few], {})


def answers_script() -> str:
    """`gpucalc.words`: the facts and words of an answer; `gpucalc.engine_words` those of its command, `gpucalc.owning_words` of
    rent or buy."""
    asked = {name: f"gpucalc.asked.{name}" for name in ("value_of", "number_of", "given", "caches")}
    known = _TEXTS | asked | {
        "engine_flags": "gpucalc.engine_words", "engine_flags.given": "gpucalc.asked.given", "figures": "gpucalc.figures",
        "catalogue.weight_format": "gpucalc.asked.weight_format", "catalogue.gpu": "gpucalc.asked.gpu",
        "bands.apart": "gpucalc.asked.apart", "egress_usd": "gpucalc.laws.egress_usd.of",
        "WIDE": "gpucalc.data.wide", "ceil": "Math.ceil", "trains": "gpucalc.trains",
        "_FREE": "gpucalc.data.free", "QUANTITIES": "gpucalc.catalogue.quantities",
        "_items": "",    # no number of a browser is one of NumPy
        **{name: f"gpucalc.told.{name}" for name in ("fill", "begun")}, "said_verdict": "gpucalc.words.said_verdict"}
    return "".join([_script("python_answers.js"),
                    _block("engine_words", _those(engine_flags, ("known", "roles")), known),
                    _block("words", _those(answer_words, _WORDS), known),
                    _block("owning_words", _those(owning_words, ("of_deal", "cards", "turning")), known)])


def judging_script() -> str:
    """`gpucalc.judging`: how the answer to a drill is judged, and its blanks; `gpucalc.typed`, how it is read."""
    known = {"figures": "gpucalc.figures", "figures.UNITS": "gpucalc.data.units", "valued": "gpucalc.drills.valued",
             "QUANTITIES": "gpucalc.data.quantities"}
    judging = _block("judging", _those(drills, ("verdict", "near", "off", "blank_text")), known)
    return _script("python_patterns.js") + judging + _block("typed", _those(typed, _ANSWERS), known)


def reading_script() -> str:
    """`gpucalc.names`, what names mean; `gpucalc.rents`, how prices of a reader's own are read, `gpucalc.pasted`, how lines of
    them are, and `gpucalc.configs`, how a config.json is."""
    items = {"rows": "gpucalc.own.rows", "ITEMS": "gpucalc.reading.rents.items", "names": "gpucalc.names",
             "_terms_of": "gpucalc.own.termsOf", "three_figures": "gpucalc.figures.three_figures",
             "shortened": "gpucalc.text.shortened", "hidden": "gpucalc.text.hidden"}
    texts = {"architectures": "gpucalc.own.architectures", "_written": "gpucalc.text.written", "hidden": "gpucalc.text.hidden",
             "INDEX": repr(config.INDEX), "shortened": "gpucalc.text.shortened"}
    rents = _block("names", _those(names, _NAMES), items) + _block("rents", _those(intake, _RENTS), items)
    lines = items | {name: f"gpucalc.rents.{name}" for name in _RENTS if not name.startswith("_")} | {
        "counted": "gpucalc.names.counted", "discounts": "gpucalc.choices.discounts", "attempt": "py.attempt",
        "by_the_gpu": "gpucalc.own.byTheGpu", "RESERVED_YEARS": "gpucalc.reading.rents.reserved_years"}
    free = items | {"FINDERS": "gpucalc.catalogue.choices"}
    rents += _block("free", _those(free_words, _WORDED), free)
    rents += _block("pasted", _those(pasted, _PASTED), lines)
    return _script("python_reading.js") + rents + _block("configs", _those(config, _CONFIGS), texts)


def _script(name):
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _those(module: Any, names: Iterable[str]) -> list[Callable]:
    return [vars(module)[name] for name in names]


def _block(name, made, known):
    shown = ", ".join(function.__name__ for function in made)
    return f'"use strict";\n{{\nconst {{ py }} = gpucalc;\n{pyjs.functions(made, known)}\ngpucalc.{name} = {{ {shown} }};\n}}\n'
