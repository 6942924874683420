"""Interview questions: their bank, checked when it is read, with answers whose figures are computed."""
import functools
import html
import json
import re
from typing import Any, NamedTuple, TYPE_CHECKING

from gpucalc.core.evaluate import Case, close, FINDERS, is_law, Row
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DATA, DEFAULTS, QUANTITIES
from gpucalc.decisions.run_speeds import planned_mfu
from gpucalc.rows.mapping import check_names, read_mapping
from gpucalc.rows.price_book import price
from gpucalc.rows.rents import cheapest_rent
from gpucalc.rows.tables import rows
from ..components.links import linked, PAGES
from ..components.sentences import environment
from ..components.show import Html

if TYPE_CHECKING:
    from pandas import DataFrame


# Questions of an interview: what is asked, what to listen for, a model answer with computed figures, follow-ups, wrong answers.
#
# A file data/interview/KIND.yaml holds those of a kind by name. data/README.md says what each may hold.

KINDS = {"estimate": "Estimate and explain", "document": "Six classic questions, corrected", "design": "Design",
         "debug": "Debug from evidence", "trade_offs": "Trade-offs", "money": "Money"}
ROLES = {"inference": "Serving models", "training": "Training models", "platform": "Running a platform", "research": "Research",
         "founder": "Buying and planning"}
LEVELS = {1: "first weeks", 2: "some years", 3: "senior"}
MINUTES = (3, 5, 10, 15, 20, 30, 45)
POINTS = (4, 6)
FOLLOW_UPS, STAGES = {"design": 6}, {"design": 4}
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


class Stage(NamedTuple):
    """A stage of a design: what the interviewer reveals, and what an answer of each level then contains."""

    reveal: str
    junior: str
    senior: str
    staff: str


class Evidence(NamedTuple):
    """A log, a trace or a profile to read, where it is from, and whether it was `made` up for the question."""

    text: str
    source: str
    made: bool = False


class Question(NamedTuple):
    """A question: its `title` in a few words; `ask`; the points an interviewer `looks_for`; the `answer` as Markdown, its figures
    in double braces, of the `cases` by letter; `follow_ups`, two or of a design six; usual `wrong` answers; `lessons` to read.
    `rents`: the term on which the GPU of a case is rented, by letter. `stages`: the four of a design."""

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
    stages: tuple[Stage, ...] = ()


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
        _made("follow_ups", held["follow_ups"], Follow, (FOLLOW_UPS.get(kind, 2),) * 2),
        _made("wrong", held["wrong"], Wrong, (2, 4)),
        _texts("lessons", held["lessons"]), cases, rents, _evidence(held["evidence"]) if "evidence" in held else None,
        _made("stages", held.get("stages", []), Stage, (STAGES.get(kind, 0),) * 2))
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


# Figures of a case by name, for sentences: `a.kv_bytes`, `a(batch=1).kv_bytes`, `a.band.decode_seconds`.


class Held:
    """What a sentence takes the figures of a case from: `held.NAME` is a law's value, what the case has under a quantity, or the
    name of a row; of `more`, a price, any column. `held(NAME=VALUE)` is the case but for that: a value, or the name of a quantity
    or law that stands for it. `held.band.LAW` is what to plan for."""

    def __init__(self, case: Case, more: Row | None = None):
        self._case, self._more = case, more

    def __call__(self, **changes: Any) -> "Held":
        """The same but for these changes."""
        meant = {name: getattr(self, value) if isinstance(value, str) and name in QUANTITIES and value in QUANTITIES else value
                 for name, value in changes.items()}
        return Held(self._case.but(**meant), self._more)

    def __getattr__(self, name: str) -> Any:
        if name in self._case.rows:
            return self._case.rows[name].name
        found = next((each[name] for each in (self._case.inputs, *self._case.rows.values()) if name in each), None)
        if is_law(found) or found is None and name in LAWS:
            return self._case(LAWS[name] if found is None else found)
        if isinstance(found, str) and found in QUANTITIES:
            return getattr(self, found)
        if found is not None and (name in QUANTITIES or name in FINDERS):
            return found
        if self._more is not None and name in self._more:
            return self._more[name]
        if name in DEFAULTS:
            return DEFAULTS[name].value
        raise AttributeError(f"{name}: neither in {self._case!r} nor a law")

    @property
    def band(self) -> "Bands":
        """What to plan for, by law."""
        return Bands(self._case)


class Bands:
    """The bands of a case by law: `value`, `low`, `plan`, `high`."""

    def __init__(self, case: Case):
        self._case = case

    def __getattr__(self, name: str) -> Any:
        if name not in LAWS:
            raise AttributeError(f"band.{name}: not a law")
        return self._case.band(LAWS[name])


# A few marks of Markdown as HTML, around figures that Jinja puts in later: paragraphs, lists, code, bold, links to pages.

_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
# Where a figure stood: private characters, which no text has.
_KEPT = re.compile("\ue000(\\d+)\ue001")
_MARKS = ((r"`([^`]+)`", r"<code>\1</code>"), (r"\*\*([^*]+)\*\*", r"<strong>\1</strong>"),
          (r"(?<![\w*])\*([^*\s][^*]*)\*", r"<em>\1</em>"),
          (r"\[([^\]]+)\]\(([a-z0-9_]+)\.md(#[\w-]+)?\)", r'<a href="\2.html\3">\1</a>'))
_LISTS = {"ul": re.compile(r"[-*] "), "ol": re.compile(r"\d+\. ")}


def said_html(text, names, inline=False):
    """The Markdown text with its figures as HTML; `inline`: without a paragraph around it.

    Raises ValueError naming what is not there.
    """
    import jinja2
    try:
        return _template(text, inline).render(names)
    except (jinja2.TemplateError, TypeError, AttributeError) as error:
        raise ValueError(f"sentence {' '.join(text.split())[:60]!r}: {error}") from None


@functools.cache
def _template(text, inline):
    holes = []

    def hidden(hole):
        holes.append(hole[0])
        return f"\ue000{len(holes) - 1}\ue001"

    plain = html.escape(_HOLE.sub(hidden, text.strip()), quote=False)
    shown = _marked(" ".join(plain.split())) if inline else "\n".join(map(_block, re.split(r"\n\s*\n", plain)))
    return environment(html.escape).from_string(_KEPT.sub(lambda place: holes[int(place[1])], shown))


def _block(text):
    """A paragraph or a list."""
    for tag, mark in _LISTS.items():
        if mark.match(text):
            items = re.split(rf"(?m)^(?:{mark.pattern})", text)[1:]
            return f"<{tag}>{''.join(f'<li>{_marked(item)}</li>' for item in items)}</{tag}>"
    return f"<p>{_marked(text)}</p>"


def _marked(text):
    text = " ".join(text.split())
    for mark, shown in _MARKS:
        text = re.sub(mark, shown, text)
    return text


# The page of interview questions: each as HTML that is folded until asked for, with what its figures come to today.


def names(question: Question, book: "DataFrame") -> dict[str, Any]:
    """What the sentences of a question take figures from: its cases by letter; `measured(ID)`, a row of data/measurements.csv;
    `price(ITEM, ...)`, the cheapest in the book; `rent(GPU)`, the cheapest firm hour; `mfu(GPU)`, of published runs."""
    held = {}
    for letter, case in question.cases.items():
        term = question.rents.get(letter)
        offer = cheapest_rent(book, gpu=case.rows["gpu"].name, term=term) if term else None
        held[letter] = Held(case if offer is None else case.but(usd_per_hour=offer.usd_per_hour), offer)
    return held | dict(measured=measured, node=lambda name: rows("nodes")[name], mfu=lambda gpu: planned_mfu().loc[gpu],
                       price=functools.partial(price, book, cheapest=True),
                       rent=lambda gpu, term="on-demand": cheapest_rent(book, gpu=gpu, term=term))


def measured(name: str) -> Any:
    """A row of data/measurements.csv by its id. Raises ValueError if there is none."""
    if name not in rows("measurements"):
        raise ValueError(f"data/measurements.csv has no row {name!r}")
    return rows("measurements")[name]


def said(question: Question, book: "DataFrame") -> dict[str, Any]:
    """The texts of a question as HTML, its figures computed. Raises ValueError naming the question and what is not there."""
    held = names(question, book)

    def shown(text, inline=True):
        return said_html(text, held, inline)

    try:
        return dict(
            title=shown(question.title), ask=shown(question.ask, False), looks_for=[shown(each) for each in question.looks_for],
            answer=shown(question.answer, False),
            follow_ups=[(shown(each.ask), shown(each.answer, False)) for each in question.follow_ups],
            wrong=[(shown(each.say), shown(each.why)) for each in question.wrong],
            stages=[tuple(map(shown, each)) for each in question.stages])
    except ValueError as error:
        raise ValueError(f"interview/{question.kind}.yaml, {question.name}: {error}") from None


def bank(book: "DataFrame", kind: str) -> Html:
    """The questions of a kind, each folded under its title, and under it folded again what is not asked."""
    found = questions(kind).values()
    return Html(f'<div class="bank" data-kind="{kind}">{"".join(_shown(each, book) for each in found)}</div>',
                f"{len(found)} questions: {', '.join(each.title for each in found)}")


def find() -> Html:
    """Where the script puts the filters."""
    topics = {each.topic: PAGES[each.topic] for each in questions().values()}
    held = dict(kind=KINDS, role=ROLES, topic=dict(sorted(topics.items(), key=lambda topic: topic[1])), minutes=MINUTES)
    labels = html.escape(json.dumps(held, ensure_ascii=False))
    return Html(f'<div class="interview-find" data-labels="{labels}"></div>', "")


def mock() -> Html:
    """Where the script puts a mock interview."""
    return Html('<div class="mock"><p>The mock runs in the browser, with JavaScript. Without it, choose from the lists: each '
                "question says how many minutes it takes.</p></div>", "The mock interview runs in the browser.")


def counts() -> "DataFrame":
    """How many questions each kind has, and the minutes that they take."""
    import pandas
    found = questions().values()
    return pandas.DataFrame([dict(kind=title, questions=len(own), minutes=sum(each.minutes for each in own))
                             for kind, title in KINDS.items() if (own := [each for each in found if each.kind == kind])])


def _shown(question, book):
    texts = said(question, book)
    data = dict(roles=" ".join(question.roles), topic=question.topic, minutes=question.minutes)
    held = "".join(f' data-{name}="{html.escape(str(value))}"' for name, value in data.items())
    facts = f"{question.minutes} min · {LEVELS[question.level]} · {', '.join(ROLES[role].lower() for role in question.roles)}"
    points = "".join(f"<li>{each}</li>" for each in texts["looks_for"])
    follow = "".join(f"<details><summary>{ask}</summary>{answer}</details>" for ask, answer in texts["follow_ups"])
    wrong = "".join(f"<dt>{say}</dt><dd>{why}</dd>" for say, why in texts["wrong"])
    lessons = ", ".join(f'<a href="{page}.html">{PAGES[page]}</a>' for page in question.lessons)
    return (f'<details class="question" id="q-{question.name}"{held}>'
            f'<summary><strong>{texts["title"]}</strong> <small>{facts}</small></summary>'
            f'<div class="ask">{texts["ask"]}{_evidence_shown(question.evidence)}{_stages_shown(texts["stages"])}</div>'
            f"<details><summary>What the interviewer listens for</summary><ul class=\"points\">{points}</ul></details>"
            f"<details><summary>A model answer</summary>{texts['answer']}</details>"
            f"<details><summary>What is asked next</summary>{follow}</details>"
            f"<details><summary>Wrong answers that are often given</summary><dl>{wrong}</dl></details>"
            f"<p class=\"read\">Read: {lessons}</p></details>")


def _stages_shown(stages):
    """Each stage folded in the one before, so that it is seen only after it."""
    shown = ""
    for place, (reveal, *levels) in reversed(list(enumerate(stages, 1))):
        guide = "".join(f"<li><strong>{name.capitalize()}:</strong> {text}</li>" for name, text in zip(Stage._fields[1:], levels))
        shown = (f'<details class="stage"><summary>Stage {place} of {len(stages)}</summary><p>{reveal}</p>'
                 f"<details><summary>What answers contain, by level</summary><ul>{guide}</ul></details>{shown}</details>")
    return shown


def _evidence_shown(evidence):
    if evidence is None:
        return ""
    source = f"Made up for this question. {linked(evidence.source)}" if evidence.made else f"Source: {linked(evidence.source)}"
    return f'<pre tabindex="0" aria-label="Evidence">{html.escape(evidence.text)}</pre><p class="evidence">{source}</p>'
