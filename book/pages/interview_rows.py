"""Questions of an interview: what is asked, what to listen for, a model answer with computed figures, follow-ups, wrong answers.

A file data/interview/KIND.yaml holds those of a kind by name. data/README.md says what each may hold.
"""
import functools
import re
from typing import Any, NamedTuple

from gpucalc.core.evaluate import Case, close
from gpucalc.core.quantities import DATA
from gpucalc.rows import catalogue  # noqa: F401 (finds rows by name)
from gpucalc.rows.mapping import check_names, read_mapping

KINDS = {"estimate": "Estimate and explain", "document": "Questions of a document, worked right", "design": "Design",
         "debug": "Debug from evidence", "trade_offs": "Trade-offs", "money": "Money"}
ROLES = {"inference": "Serving models", "training": "Training models", "platform": "Running a platform", "research": "Research",
         "founder": "Buying and planning"}
LEVELS = {1: "first weeks", 2: "some years", 3: "senior"}
MINUTES = (3, 5, 10, 15, 20, 30, 45)
POINTS = (4, 6)
LONGEST_TITLE = 60
MOST_BYTES = 200_000
# Words of a model answer: one to two minutes of speech.
WORDS = (150, 300)
# Names of a case's own that are no quantity: the term of the cheapest firm rent of its GPU.
RENT = "rent"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Follow(NamedTuple):
    """What is asked next, and what to answer."""

    ask: str
    answer: str


class Wrong(NamedTuple):
    """What is often said, and why it is wrong."""

    say: str
    why: str


class Evidence(NamedTuple):
    """A log, a trace or a profile to read, where it is from, and whether it was `made` up for the question."""

    text: str
    source: str
    made: bool = False


class Question(NamedTuple):
    """A question: its `title` in a few words; `ask`; the points an interviewer `looks_for`; the `answer` as Markdown, its figures
    in double braces, of the `cases` by letter; two `follow_ups`; the usual `wrong` answers; `lessons`, pages to read.
    `rents`: the term on which the GPU of a case is rented, by letter."""

    name: str
    kind: str
    title: str
    ask: str
    roles: tuple[str, ...]
    level: int
    minutes: int
    topic: str
    looks_for: tuple[str, ...]
    answer: str
    follow_ups: tuple[Follow, ...]
    wrong: tuple[Wrong, ...]
    lessons: tuple[str, ...]
    cases: dict[str, Case] = {}
    rents: dict[str, str] = {}
    evidence: Evidence | None = None


# What a file holds of a question; the terms of rents stand in its cases.
_FIELDS = [field for field in Question._fields if field not in ("name", "kind", "rents")]


def questions(kind: str | None = None) -> dict[str, Question]:
    """The questions of a kind, or all, by name, in the order of the kinds and files.

    Raises ValueError naming the file, the question, what is wrong, and what is allowed.
    """
    return {name: each for name, each in _all().items() if kind in (None, each.kind)}


def question(name: str) -> Question:
    """One question by its name. Raises ValueError if there is none."""
    if name not in _all():
        raise ValueError(f"data/interview has no question {name!r}{close(name, _all())}")
    return _all()[name]


def read_questions(path: Any, kind: str) -> dict[str, Question]:
    """The questions in a file. Raises ValueError naming the file, the question, what is wrong, and what is allowed."""
    found = {}
    for name, held in read_mapping(path, lines=True, most=MOST_BYTES).items():
        try:
            found[name] = _read(name, kind, held)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path.parent.name}/{path.name}, {name}: {error}") from None
    return found


@functools.cache
def _all():
    found = {}
    for path in (DATA / "interview").glob("*.yaml"):
        if path.stem not in KINDS:
            raise ValueError(f"interview/{path.name}: no such kind; allowed: {', '.join(KINDS)}")
    for kind in KINDS:
        path = DATA / "interview" / f"{kind}.yaml"
        for name, each in (read_questions(path, kind) if path.exists() else {}).items():
            if name in found:
                raise ValueError(f"interview/{path.name}, {name}: also in {found[name].kind}.yaml; allowed: each name once")
            found[name] = each
    return found


def _read(name, kind, held):
    _one_of("name", name, _NAME.fullmatch(name), "small letters, digits and _")
    check_names(held, _FIELDS, [field for field in _FIELDS if field not in Question._field_defaults])
    cases, rents = _cases(held.get("cases", {}))
    made = Question(
        name, kind, _text("title", held["title"]), _text("ask", held["ask"]), _texts("roles", held["roles"]), held["level"],
        held["minutes"], held["topic"], _texts("looks_for", held["looks_for"]), _text("answer", held["answer"]),
        _made("follow_ups", held["follow_ups"], Follow, (2, 2)), _made("wrong", held["wrong"], Wrong, (2, 4)),
        _texts("lessons", held["lessons"]), cases, rents, _evidence(held["evidence"]) if "evidence" in held else None)
    _one_of("title", made.title, len(made.title) <= LONGEST_TITLE, f"at most {LONGEST_TITLE} characters")
    for role in made.roles:
        _one_of("roles", role, role in ROLES, ", ".join(ROLES))
    _one_of("level", made.level, made.level in LEVELS and made.level is not True, ", ".join(map(str, LEVELS)))
    _one_of("minutes", made.minutes, made.minutes in MINUTES, ", ".join(map(str, MINUTES)))
    for key, page in (("topic", made.topic), *(("lessons", each) for each in made.lessons)):
        _one_of(key, page, isinstance(page, str) and _NAME.fullmatch(page), "stems of pages, such as kv_cache")
    least, most = POINTS
    _one_of("looks_for", len(made.looks_for), least <= len(made.looks_for) <= most, f"{least} to {most} points")
    return made


def _cases(held):
    """The cases by letter, and the terms on which their GPUs are rented."""
    if not isinstance(held, dict):
        raise ValueError(f"cases: {held!r}; allowed: a letter for each case, such as a: {{model: Llama-3-70B}}")
    cases, rents = {}, {}
    for letter, values in held.items():
        _one_of("cases", letter, re.fullmatch("[a-z]", letter), "one small letter for each case")
        if not isinstance(values, dict):
            raise ValueError(f"cases, {letter}: {values!r}; allowed: names and values, as a case takes them")
        try:
            cases[letter] = Case.of({key: value for key, value in values.items() if key != RENT})
        except ValueError as error:
            raise ValueError(f"cases, {letter}: {error}") from None
        if RENT in values:
            rents[letter] = _text(f"cases, {letter}, rent", values[RENT])
            _one_of(f"cases, {letter}, rent", values[RENT], "gpu" in cases[letter].rows, "only beside a gpu")
    return cases, rents


def _evidence(held):
    if not isinstance(held, dict) or not {"text", "source"} <= set(held) or set(held) - {*Evidence._fields}:
        raise ValueError(f"evidence: {held!r}; allowed: {', '.join(Evidence._fields)}")
    made = held.get("made", False)
    _one_of("evidence, made", made, isinstance(made, bool), "true or false")
    return Evidence(_text("evidence, text", held["text"]), _text("evidence, source", held["source"]), made)


def _made(key, held, kind, count):
    """Pairs such as follow-ups, so many of them."""
    if not isinstance(held, list) or not count[0] <= len(held) <= count[1]:
        number, there = " to ".join(map(str, sorted({*count}))), len(held) if isinstance(held, list) else held
        raise ValueError(f"{key}: {there!r}; allowed: {number}, each with {' and '.join(kind._fields)}")
    for each in held:
        if not isinstance(each, dict) or set(each) != {*kind._fields}:
            raise ValueError(f"{key}: {each!r}; allowed: {' and '.join(kind._fields)}")
    return tuple(kind(*(_text(f"{key}, {name}", each[name]) for name in kind._fields)) for each in held)


def _texts(key, held):
    if not isinstance(held, list) or not held:
        raise ValueError(f"{key}: {held!r}; allowed: a list of texts")
    return tuple(_text(key, each) for each in held)


def _text(key, held):
    if not isinstance(held, str) or not held.strip():
        raise ValueError(f"{key}: {held!r}; allowed: text")
    return held.strip("\n")


def _one_of(key, value, fine, allowed):
    if not fine:
        raise ValueError(f"{key}: {value!r}; allowed: {allowed}")
