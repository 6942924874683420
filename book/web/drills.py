"""Drills: the bank as it is read and checked, its questions for Python, and the same as a script."""
import ast
import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from gpucalc.core import figures
from gpucalc.core.evaluate import Case, close, FINDERS, is_law
from gpucalc.core.expression import tree
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DATA, DEFAULTS, QUANTITIES
from gpucalc.rows.mapping import check_names, read_mapping
from ..components.derivation import called, said
from ..components.formula import holding, is_share
from ..components.sentences import held
from ..components.links import PAGES
from . import javascript
from .lessons import TITLES
from .typed import BINARY, PREFIXES


# Drills: questions whose numbers are drawn anew, with the answers that go wrong in the usual ways.
#
# A file data/drills/TOPIC.yaml holds those of a lesson by name. data/README.md says what each may hold.

LEVELS = {1: "one step", 2: "one formula", 3: "several formulas"}
# A level more on the page: drills that hide what a model, a card or a link is made of, in chains on one system.
MEMORY = {4: "from memory, three on one system, within a factor of two"}
# An answer is near enough within a tenth, or within a factor of two; it meets a value within a fiftieth.
WITHIN, ORDER, MET = 0.1, 2, 0.02
_EXACT = 1e-9  # 110 is within a tenth of 100, which floating point has a little above
_COUNTS = {"": 1, "%": 0.01, "million": 1e6, "billion": 1e9, "trillion": 1e12}
# Units in a sentence, where the symbol would read badly.
SAID = {"million": "millions", "billion": "billions", "trillion": "trillions", "%": "percent", "h": "hours", "s": "seconds"}
BLANK = re.compile(r"\{(\w+)(?::(\w+))?\}")
_NAME = re.compile(r"[a-z0-9-]+")
# What a file may hold of a drill and of a wrong turn, and how one knows it.
_FIELDS = dict(level="a number", ask="a text", law="a text", unit="a unit", draw="blanks and values", hint="a text",
               wrong="a list", given="names and values", steps="a list", order="true or false", recall="a text")
_TURN = dict(say="a text", but="names and values", law="a text", times="a number", unit="a unit")
_KINDS = {
    "a text": lambda value: isinstance(value, str) and value.strip(), "a unit": lambda value: isinstance(value, str),
    "a number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "a list": lambda value: isinstance(value, list) and value, "true or false": lambda value: isinstance(value, bool),
    "names and values": lambda value: isinstance(value, dict),
    "blanks and values": lambda value: isinstance(value, dict) and value}


class Wrong(NamedTuple):
    """A wrong turn: what to say to it, and what it changes. `but` gives the case other values, `law` stands for the right one,
    `times` multiplies the result, and in `unit` it was given instead of the unit that was asked for."""

    say: str
    but: dict[str, Any] = {}
    law: str = ""
    times: float = 1
    unit: str = ""


class Drill(NamedTuple):
    """A question: `ask` with blanks {NAME}, the `law` that answers it in `unit`, `draw` the values of each blank, `given` what is
    the same each time, a `hint`, the laws shown as `steps`, and `wrong` turns. `order`: a factor of two is near enough. `recall`:
    the question without what one should know of a model, a card or a link; then a factor of two is near enough too."""

    name: str
    topic: str
    ask: str
    law: str
    unit: str
    level: int
    draw: dict[str, list]
    hint: str
    wrong: tuple[Wrong, ...]
    given: dict[str, Any] = {}
    steps: tuple[str, ...] = ()
    order: bool = False
    recall: str = ""

    def choices(self) -> Iterator[dict[str, Any]]:
        """Every way to fill the blanks."""
        return (dict(zip(self.draw, values)) for values in itertools.product(*self.draw.values()))

    def case(self, choice: dict[str, Any]) -> Case:
        """The case of one way to fill them."""
        return Case.of(self.given | choice)

    def answer(self, case: Case) -> float:
        """The right answer in the unit that is asked for."""
        return float(case(self.law)) / scale(self.law, self.unit)

    def mistaken(self, case: Case) -> list[float]:
        """What each wrong turn comes to, in the unit that is asked for; NaN where it has no answer."""
        return [self._mistaken(case, turn) for turn in self.wrong]

    def _mistaken(self, case, turn):
        law = turn.law or self.law
        try:
            value = float(self.turned(case, turn)(law))
        except ValueError:
            return math.nan
        return turn.times * value / scale(law if turn.law and not turn.unit else self.law, turn.unit or self.unit)

    def turned(self, case: Case, turn: Wrong) -> Case:
        """The case of a wrong turn: the name of a quantity stands for its value in the case as it was, of a law for the law's."""
        return case.but(**{name: _meant(case, value) for name, value in turn.but.items()})

    def judged(self, case: Case, said: float, recalled: bool = False) -> tuple[bool, int | None]:
        """Whether an answer in the unit is near enough, and the place in `wrong` of the turn that it comes of, if of one.

        A right answer comes of a wrong turn only where it meets that turn's value and not its own: GB for GiB.
        """
        return verdict(said, self.answer(case), self.mistaken(case), self.order or recalled)

    def asked(self, case: Case, recalled: bool = False) -> str:
        """The question with its blanks filled; `recalled`: the one from memory."""
        return BLANK.sub(lambda blank: blank_text(case, *blank.groups("")), self.recall if recalled else self.ask)


def verdict(said: float, right: float, mistaken: list[float], order: bool = False) -> tuple[bool, int | None]:
    """Whether an answer is near enough to the right one, and the place of the wrong turn that it comes of."""
    counts = near(said, right, order)
    most = min(MET, off(said, right)) if counts else WITHIN
    far = [off(said, value) for value in mistaken]
    least = min([*far, math.inf])
    return counts, next(turn for turn, each in enumerate(far) if each == least) if least <= most else None


def near(said: float, value: float, order: bool = False) -> bool:
    """Whether an answer is near enough to a value: a tenth, or a factor of two."""
    return value > 0 and 1 / ORDER <= said / value <= ORDER if order else off(said, value) <= WITHIN + _EXACT


def off(said: float, value: float) -> float:
    """How far an answer is from a value, as a share of it."""
    return abs(said / value - 1) if value > 0 else math.inf


def scale(law: str, unit: str) -> float:
    """How much of the law's own unit one `unit` is: GB and GiB of bytes, ms of seconds, % of a share, million of a count.

    Raises ValueError naming the unit and what is allowed.
    """
    of, symbol = QUANTITIES[law].unit, figures.unit_symbol(QUANTITIES[law].unit)
    if (not of or of.startswith("1/")) and unit in _COUNTS:
        return _COUNTS[unit]
    if of == "byte" and unit in BINARY:
        return float(BINARY[unit])
    if symbol and unit.endswith(symbol) and unit.removesuffix(symbol) in PREFIXES:
        return PREFIXES[unit.removesuffix(symbol)]
    allowed = f"{symbol}, with a prefix such as k, M or G" if symbol else "none, %, million, billion or trillion"
    raise ValueError(f"unit {unit!r}; allowed for {law}: {allowed}")


def asked_in(unit: str) -> str:
    """The unit that a question asks for, as a sentence says it."""
    return f"Answer in {SAID.get(unit, unit)}." if unit else ""


def blank_text(case: Case, name: str, form: str = "") -> str:
    """What stands in a blank: the name of a row, or a value as its quantity is printed, or in a form of core/figures.py."""
    if name in case.rows:
        return case.rows[name].name
    value = valued(case, name)
    if not form:
        return figures.quantity(name, value)
    return figures.number(value, form) if form in figures.UNITS else getattr(figures, form)(value)


def blanks(text: str) -> list[tuple[str, str]]:
    """The blanks of a question, each with its form."""
    return BLANK.findall(text)


def drills(topic: str | None = None) -> dict[str, Drill]:
    """The drills of a topic, or all, by name.

    Raises ValueError naming the file, the drill, what is wrong, and what is allowed.
    """
    return {name: each for name, each in _all().items() if topic in (None, each.topic)}


def drill(name: str) -> Drill:
    """One drill by its name. Raises ValueError if there is none."""
    if name not in _all():
        raise ValueError(f"data/drills has no drill {name!r}{close(name, _all())}")
    return _all()[name]


@functools.cache
def chains() -> dict[str, list[str]]:
    """Three drills each on one system, by what that is. Raises ValueError for a drill that is not there or has no `recall`."""
    found = read_mapping(DATA / "texts/chains.yaml")
    for title, names in found.items():
        for name in names:
            if not drill(name).recall:
                raise ValueError(f"chains.yaml, {title}: {name}; allowed: drills with a recall")
    return found


def weights() -> dict[str, int]:
    """How often interviews ask on a topic: the questions of data/interview that a page is read for, and one."""
    from ..pages.interview import questions
    read = [page for each in questions().values() for page in each.lessons]
    return {topic: 1 + read.count(topic) for topic in topics()}


@functools.cache
def _all():
    found = {}
    for path in sorted((DATA / "drills").glob("*.yaml")):
        for name, given in read_mapping(path).items():
            if name in found:
                raise ValueError(f"drills/{path.name}, {name}: also in {found[name].topic}.yaml; allowed: each name once")
            try:
                found[name] = _read(name, path.stem, given)
            except ValueError as error:
                raise ValueError(f"drills/{path.name}, {name}: {error}") from None
    return found


def _read(name, topic, held):
    if not _NAME.fullmatch(name):
        raise ValueError("allowed: a name of small letters, digits and -")
    _check(held, _FIELDS, [field for field in _FIELDS if field not in Drill._field_defaults])
    for blank, values in held["draw"].items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"draw of {blank}: {values!r}; allowed: a list of values")
    for turn in held["wrong"]:
        _check(turn, _TURN, ["say"])
    wrong = tuple(Wrong(**turn) for turn in held.pop("wrong"))
    steps = tuple(held.pop("steps", [held["law"]]))
    made = Drill(name, topic, wrong=wrong, steps=steps, **held)
    for law in (made.law, *steps, *(turn.law for turn in wrong if turn.law)):
        if not isinstance(law, str) or law not in LAWS:
            raise ValueError(f"law {law!r}: unknown{close(law, LAWS)}")
    if made.level not in LEVELS:
        raise ValueError(f"level {made.level!r}; allowed: {', '.join(map(str, LEVELS))}")
    for unit in (made.unit, *(turn.unit for turn in wrong if turn.unit)):
        scale(made.law, unit)
    changed = (each for turn in wrong for each in turn.but)
    for _, form in blanks(made.ask + made.recall):
        if form and form not in figures.UNITS and not callable(getattr(figures, form, None)):
            raise ValueError(f"ask: the form {form!r} of a blank; allowed: a unit, or a function of gpucalc/core/figures.py")
    for known in (*made.draw, *made.given, *changed, *(blank for blank, _ in blanks(made.ask + made.recall))):
        if known not in FINDERS and known not in QUANTITIES:
            raise ValueError(f"{known}: unknown; allowed: quantities and kinds of rows{close(known, [*QUANTITIES, *FINDERS])}")
    return made


def _check(held, kinds, needed):
    """Refuse what is unknown, missing, or another than `kinds` says by name."""
    check_names(held, kinds, needed)
    for name, value in held.items():
        if not _KINDS[kinds[name]](value):
            raise ValueError(f"{name}: {value!r}; allowed: {kinds[name]}")


def _meant(case, value):
    return valued(case, value) if isinstance(value, str) and value in QUANTITIES else value


def valued(case: Case, name: str) -> float:
    """The number of a quantity in a case: given, else in its rows, else a default with a source, else the law of that name.

    Raises ValueError where it has none.
    """
    held = case.inputs.get(name)
    held = next((row[name] for row in case.rows.values() if name in row), None) if held is None else held
    held = held[name] if isinstance(held, dict) else held
    if held is None and name in DEFAULTS:
        return DEFAULTS[name].value
    if held is None and name not in LAWS:
        raise ValueError(f"{name}: not in {case!r}")
    if held is None or is_law(held):
        return case(LAWS[name] if held is None else held)
    return valued(case, held) if isinstance(held, str) else held


# What the page of drills computes with, as a script, and what lessons need for the drills on them.
#
# `script` makes drills_data.js: the laws, quantities and rows that the drills need and nothing else. book/static/drills.js
# draws and judges with it.

_MARK = "drill:"


def names(one: Drill) -> list[str]:
    """Laws, quantities and kinds of rows that a drill needs: to be drawn, asked, answered and shown."""
    turns = [name for turn in one.wrong for name in (turn.law, *turn.but, *turn.but.values())]
    given = [name for value in one.given.values() for name in (value.values() if isinstance(value, dict) else [value])]
    found = [one.law, *one.steps, *one.draw, *one.given, *given, *(name for name, _ in blanks(one.ask + one.recall)), *turns]
    return [name for name in dict.fromkeys(map(str, found)) if name in LAWS or name in QUANTITIES or name in FINDERS]


def followed(follow: Iterable[str]) -> list[str]:
    """Names that lessons show of a case, with those of each drill among them, which stands there as `drill:NAME`."""
    kept = dict.fromkeys(name for name in follow if name in LAWS or name in QUANTITIES or name in FINDERS)
    for each in follow:
        if each.startswith(_MARK):
            kept |= dict.fromkeys(name for name in names(drill(each.removeprefix(_MARK))) if name not in FINDERS)
    return list(kept)


def title(topic: str) -> str:
    """What a topic is called in a list."""
    said = TITLES.get(topic) or PAGES.get(topic) or topic.replace("_", " ")
    return said[0].upper() + said[1:]


def topics() -> list[str]:
    """The topics of all drills: lessons in their order, then the others."""
    found, order = dict.fromkeys(one.topic for one in drills().values()), list(TITLES)
    return sorted(found, key=lambda topic: (order.index(topic) if topic in order else len(order), topic))


def plain(value: Any) -> Any:
    """What is given as a browser's case takes it: a law as law:NAME, a row as row:KIND."""
    return next((f"{kind}:{name}" for kind, name in value.items()), "") if isinstance(value, dict) else value


def used(one: Drill) -> tuple[set[str], set[str]]:
    """The laws, and the quantities given or in rows, that a drill is asked, answered and shown with, its wrong turns too.

    What a law takes it takes by name, so that one case shows it for all draws of numbers.
    """
    laws: set[str] = set()
    taken: set[str] = set()
    case = one.case(next(one.choices()))
    wanted = [(case, law) for law in (one.law, *one.steps)]
    wanted += [(case, name) for name in names(one) if name in LAWS and held(case, name) is None]
    for turn in one.wrong:
        with suppress(ValueError):
            wanted.append((one.turned(case, turn), turn.law or one.law))
    for there, law in wanted:
        with suppress(ValueError):
            explanation = there.explain(law)
            laws |= set(explanation.terms)
            taken |= {given.name for given in explanation.inputs} | {*explanation.bound}
    stand_ins = {value for row in case.rows.values() for name, value in row.items() if name in taken and value in QUANTITIES}
    return laws, taken | stand_ins


_SAID: dict[tuple, str] = {}


@functools.cache
def _branches(law):
    return any(isinstance(node, ast.Call | ast.Compare) for node in ast.walk(tree(LAWS[law])))


def unbounded(text: str, case: Case, result: float) -> str:
    """The words of a step without bounds that do not bind in a case, and with its powers of ten short: `(A − B, 0 if less)` is
    `(A − B)` where that is positive."""
    def shown(found):
        first, *rest = (math.prod(valued(case, name) for name, _ in blanks(part)) for part in found[1].split(" − "))
        return found[0] if first <= sum(rest) else f"({found[1]})" if rest else found[1]

    free = re.sub(r"\(([^()]*), 0 if less\)", shown, text)
    free = free.removesuffix(", 0 if less") if result > 0 else free
    return free.replace("1,000,000,000", "10⁹").replace("1,000,000", "10⁶")


def spoken(one: Drill, law: str) -> tuple[list[str], str]:
    """What a law of its steps says in words, with names in braces; where that depends on what was drawn all that it may say, and
    for each choice in order a digit that says which."""
    texts = []
    for case in map(one.case, one.choices()):
        step = case.explain(law).steps[-1]
        # A branch depends on the numbers; a term only goes where one is 0, and a factor where it is 1.
        values = step.arguments.values()
        key = law, *(values if _branches(law) else ((value == 0, value == 1) for value in values))
        if key not in _SAID:
            _SAID[key] = unbounded(said(holding(LAWS[law], step), "{{{}}}".format), case, step.value)
        texts.append(_SAID[key])
    found = list(dict.fromkeys(texts))
    return found, "".join(str(found.index(text)) for text in texts) if len(found) > 1 else ""


def script() -> str:
    """The script that sets `gpucalc.laws` and `gpucalc.data` for all drills, and `gpucalc.drills.data`."""
    every = drills()
    needed = dict.fromkeys(name for one in every.values() for name in names(one))
    found = [used(one) for one in every.values()]
    steps = {name: [(law, *spoken(one, law)) for law in one.steps] for name, one in every.items()}
    texts = [text for each in steps.values() for law, texts, _ in each for text in (f"{{{law}}}", *texts)]
    named = dict.fromkeys(name for text in texts for name, _ in blanks(text))
    laws = sorted({name for each, _ in found for name in each} | {name for name in named if name in LAWS})
    taken = {*needed, *laws, *named}.union(*(each for _, each in found), *(LAWS[law].arguments for law in laws))
    data = dict(drills={name: _plain(one) | {"steps": [_step(*step) for step in steps[name]]} for name, one in every.items()},
                rows={kind: _rows(kind, every.values(), taken) for kind in FINDERS if kind in needed},
                words={name: called(name) for name in named}, shares=[name for name in named if is_share(name)],
                topics={topic: title(topic) for topic in topics()},
                levels=LEVELS | MEMORY, said=SAID, chains=list(chains().values()), weights=weights(),
                sourced=[name for name in DEFAULTS if name in taken])
    kept = javascript.figures_data(sorted(name for name in taken if name in QUANTITIES))
    quantities = javascript.quantities(kept.pop("quantities"), taken)
    return (f"{javascript.HEAD}  gpucalc.laws = {javascript.compiled(laws)};\n  gpucalc.data = {javascript.literal(kept)};\n"
            f"  gpucalc.data.quantities = {quantities};\n  gpucalc.drills = {{ data: {javascript.shared(data)} }};\n}}\n")


def _step(law, texts, at):
    return dict(law=law, said=texts) | ({"at": at} if at else {})


def _plain(one):
    """A drill as the page holds it: what is usual is left out, and beside a unit stands how much of the law's own it is."""
    factor = scale(one.law, one.unit)
    held = dict(topic=one.topic, level=one.level, ask=one.ask, law=one.law, unit=one.unit, scale=factor, draw=one.draw,
                hint=one.hint, wrong=[_turn(one, turn, factor) for turn in one.wrong])
    given = {name: plain(value) for name, value in one.given.items()}
    return held | ({"given": given} if given else {}) | ({"order": True} if one.order else {}) | (
        {"recall": one.recall} if one.recall else {})


def _turn(one, turn, factor):
    held = {name: value for name, value in turn._asdict().items() if value != turn._field_defaults.get(name)}
    own = scale(turn.law if turn.law and not turn.unit else one.law, turn.unit or one.unit)
    return held | ({"scale": own} if own != factor else {})


def _rows(kind, every, taken):
    """The rows of a kind that drills name, with the columns that laws take."""
    def named(one):
        changed = [turn.but[kind] for turn in one.wrong if kind in turn.but]
        return [*one.draw.get(kind, []), *([one.given[kind]] if kind in one.given else []), *changed]
    found = {name: FINDERS[kind](name) for one in every for name in named(one) if isinstance(name, str)}
    columns = dict.fromkeys(column for row in found.values() for column in row if column in taken)
    cells = {column: [_cell(row.get(column)) for row in found.values()] for column in columns}
    return dict(names=list(found), columns={column: each[0] if len({*each}) == 1 else each for column, each in cells.items()})


def _cell(value):
    return None if isinstance(value, float) and math.isnan(value) else int(value) if isinstance(value, (bool, int)) else value
