"""What the front page answers with: laws as scripts, and the data of a price book, as files beside the page.

`python -m book.web.front FOLDER` writes them, of the newest book or of a file of prices.
"""
import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpucalc.core import figures
from gpucalc.core.evaluate import Case
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS, DOMAINS, QUANTITIES
from gpucalc.decisions import answer_texts, answer_words, engine_flags
from gpucalc.decisions.answer import judged, released
from gpucalc.decisions.jobs import USUAL_TERM
from gpucalc.laws.model_size import active_params
from gpucalc.rows import bands, catalogue, choices, free_words, price_book
from gpucalc.rows.case_file import about, LEAST, LISTS, MOST, SURE
from gpucalc.rows.price_checks import ITEMS
from gpucalc.rows.rents import AREAS
from gpucalc.rows.tables import rows
from gpucalc.rows.texts import read_texts
from . import drills, export, javascript, lessons, printed
from .reading import reading

if TYPE_CHECKING:
    from pandas import DataFrame

# What is meant where neither the job nor a formula has a default.
_USUAL = {**dict.fromkeys(("cards", "provider", "region"), choices.ANY), "term": USUAL_TERM}


def catalogue_of(book: "DataFrame") -> dict[str, Any]:
    """What a case of the page may name: jobs, rows, sellers of the book, quantities with what each may be; and its examples."""
    jobs, models = {name: _job(name) for name in rows("jobs")}, labels()
    named = dict.fromkeys(name for job in jobs.values() for part in (*job["needs"], *job["takes"]) for name in part.split("|"))
    return dict(
        jobs=jobs, choices=_choices(book, list(models)), labels=models, natives=_natives(), narrow=_narrow(),
        quantities={name: about(name) for name in named if name in QUANTITIES}, examples=examples(), said=read_texts("front"))


def _choices(book, models):
    """What a case chooses by name: what the page calls it, the names that it offers, and the table of the rows that they are of.

    A `free` one may have another name than these. What is called otherwise than its quantity is there too.
    """
    rents = book[book["item"] == "rent"]
    cards, sellers, regions = list(rows("gpus")), sorted(set(rents["provider"])), sorted(set(rents["region"]))
    tables = {"job": ("what to do", "jobs"), "weight_format": ("format of the weights", "formats"),
              "recipe": ("training recipe", "recipes"), "engine": ("engine that serves", "engines"), "gpu": ("GPU", "gpus")}
    lists = {"cards": ("GPUs that may be used", cards), "term": ("how it is rented", ITEMS["rent"].terms),
             "ways": ("ways to get GPUs", choices.WAYS)}
    return {
        **{key: dict(label=label, names=list(rows(table)), table=table) for key, (label, table) in tables.items()},
        **{key: dict(label=label, names=[choices.ANY, *names]) for key, (label, names) in lists.items()},
        "model": dict(label="model", names=models, table="models"), "efficiency": dict(table="efficiencies"),
        "provider": dict(label="provider", names=[choices.ANY, *sellers], free=True),
        "region": dict(label="region", names=[choices.ANY, *AREAS, *regions], free=True),
        "data_at": dict(label="provider that holds the data", names=sellers, free=True),
        "discount": dict(label="discounts, such as AWS=18 % or GCP=40 % reserved-1y", free=True),
        "sure": dict(label="share of cases in which the limits must hold", names=SURE), "rents": dict(label="your own rents"),
        "cache_element_bytes": dict(label="format of the cache")}


def labels() -> dict[str, str]:
    """The models by family and size, each with what a list says of it."""
    def kept(model):
        return re.match("[A-Za-z]*", model.name)[0].casefold(), model["params"]
    return {str(model.name): _label(model) for model in sorted(map(catalogue.model, rows("models")), key=kept)}


def _label(model):
    """How large a model is, and how much of it a token passes through."""
    whole, active = (figures.number(each) for each in (model["params"], Case(model=model)(active_params)))
    return whole if whole == active else f"{whole}, {active} active"


def _natives():
    """Models that are released in fewer bytes than is taken for granted, with the format."""
    return {name: stored["weight_format"].name for name in rows("models") if (stored := released(catalogue.model(name)))}


def _narrow():
    """Formats of fewer bytes than is taken for granted."""
    formats = catalogue.formats()
    return list(formats.index[formats["weight_element_bytes"] < DEFAULTS["weight_element_bytes"].value])


def examples() -> list[tuple[str, dict[str, Any], str]]:
    """The cases with which the page opens, each behind its name, and the words that say it."""
    return [(title, free_words.understood(line, []).inputs, line) for title, line in free_words.PRESETS.items()]


def named_values() -> dict[str, dict[str, str]]:
    """Quantities of which a reader chooses one of a few values: each value with its name."""
    chosen = {"0": "no", "1": "yes"}
    return {"cache_element_bytes": answer_words.caches(), "prompts_apart": chosen, "published_only": chosen}


def limits_of() -> dict[str, Any]:
    """What a case may hold beside what its quantities allow, how far along its band a limit must hold by the share of cases, and
    what a bound leaves out.

    least, most: of numbers in a model's row; letters: of a name; lists: choices that may name several.
    """
    return dict(least=LEAST, most=MOST, letters=choices.LONGEST, lists=LISTS, named=named_values(), any=choices.ANY,
                far={str(share): judged(Case(sure=share)) for share in SURE},
                bound=dict.fromkeys(bands.HIDDEN, 1) | dict.fromkeys(bands.LATE, 0), undisturbed=bands.UNDISTURBED)


def texts_of() -> dict[str, Any]:
    """The texts of an answer, and what decides which of them are said."""
    return dict(texts=answer_texts.TEXTS | answer_texts.PAGE | engine_flags.TEXTS, parts=answer_words.PARTS,
                nouns=answer_texts.NOUNS, words=answer_texts.WORDS, decision=answer_texts.DECISION,
                titles=answer_texts.TITLES, why=answer_texts.WHY, forms=answer_words.FORMS, tables=answer_words.TABLES,
                own=answer_texts.OWN, limited=answer_texts.LIMITED)


def _job(name):
    """The job as the page asks for it: names that it needs and takes, and what stands where one is not given."""
    row = choices.job(name)
    needs, takes = row["needs"].split(), row.get("takes", "").split()
    own = {column: row[column] for column in row if (column in QUANTITIES or column == "recipe") and row[column] not in LAWS}
    named = [part for names in (*needs, *takes) for part in names.split("|")]
    usual = {each: _USUAL[each] for each in named if each in _USUAL}
    usual |= {each: DEFAULTS[each].value for each in named if each in DEFAULTS}
    return dict(title=row["title"], kind=row["kind"], needs=needs, takes=takes, apart=row.get("one_of", "").split(),
                defaults={name: _whole(name, value) for name, value in (usual | own).items()})


def _whole(name, value):
    return int(value) if name in QUANTITIES and DOMAINS[QUANTITIES[name].allowed][3] else value


def prices_of(book: "DataFrame") -> dict[str, Any]:
    """Whose prices they are, of which file and which day, and after how many days one has to be checked."""
    return {name: value for name, value in answer_words.book_facts(book).items() if name not in ("today", "book_days")}


def scripts(book: "DataFrame", follow: Iterable[str] = ()) -> dict[str, str]:
    """The scripts of front page and lessons by their files: `engine.js` with laws and prices, `owning_data.js`, `words.js` with
    names and texts, `lesson_data.js`, and `drills_data.js` of the page of drills, and
    `figures.js`, which writes numbers as text.

    follow: names of the laws and quantities that lessons show of a reader's case.
    """
    follow = drills.followed(follow)
    columns = lessons.columns(follow)
    words = dict(catalogue=catalogue_of(book), limits=limits_of(), reading=reading(book), texts=texts_of(),
                 prices=prices_of(book))
    return {"engine.js": export.script(book, [*export.OWNING_LAWS, *export.OWNING_QUANTITIES, *columns, *engine_flags.held()]),
            "owning_data.js": javascript.assigned(dict(owning=_owning(book))),
            "words.js": "".join([javascript.assigned(words), printed.texts_script(), printed.case_script(),
                                 printed.answers_script(), printed.reading_script()]),
            "figures.js": printed.figures_script(),
            "lesson_data.js": lessons.script(follow), "drills_data.js": drills.script() + printed.judging_script()}


def _owning(book):
    """What rent or buy needs; None for a book that lacks a price for it."""
    try:
        return export.owning_data(book)
    except price_book.MissingPrice:
        return None


def main(arguments: list[str]) -> int:
    """Writes the scripts into a folder."""
    parser = argparse.ArgumentParser(prog="python -m book.web.front", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("file", nargs="?", help="prices of your own; else the newest book")
    price_book.add_options(parser)
    parser.add_argument("--follow", metavar="NAME,NAME", default="", help="laws and quantities that lessons show of a case")
    given = parser.parse_args(arguments)
    for name, text in scripts(price_book.asked(given), given.follow.split(",")).items():
        (given.folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
