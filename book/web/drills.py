"""Drills: questions whose numbers are drawn anew, with the answers that go wrong in the usual ways.

A file data/drills/TOPIC.yaml holds those of a lesson by name. data/README.md says what each may hold.
"""
import functools
import itertools
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpucalc.core import figures
from gpucalc.core.evaluate import FINDERS, Case, close, is_law
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DATA, DEFAULTS, QUANTITIES
from gpucalc.rows import catalogue  # noqa: F401 (finds rows by name)
from gpucalc.rows.mapping import check_names, read_mapping

LEVELS = {1: "one step", 2: "one formula", 3: "several formulas"}
# An answer is near enough within a tenth, or within a factor of two; it meets a value within a fiftieth.
WITHIN, ORDER, MET = 0.1, 2, 0.02
_EXACT = 1e-9  # 110 is within a tenth of 100, which floating point has a little above
_PREFIXES = {"µ": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_COUNTS = {"": 1, "%": 0.01, "million": 1e6, "billion": 1e9, "trillion": 1e12}
# Units in a sentence, where the symbol would read badly.
SAID = {"million": "millions", "billion": "billions", "trillion": "trillions", "%": "percent", "h": "hours", "s": "seconds"}
BLANK = re.compile(r"\{(\w+)(?::(\w+))?\}")
_NAME = re.compile(r"[a-z0-9-]+")
# What a file may hold of a drill and of a wrong turn, and how one knows it.
_FIELDS = dict(level="a number", ask="a text", law="a text", unit="a unit", draw="blanks and values", hint="a text",
               wrong="a list", given="names and values", steps="a list", order="true or false")
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
    the same each time, a `hint`, the laws shown as `steps`, and `wrong` turns. `order`: a factor of two is near enough."""

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

    def judged(self, case: Case, said: float) -> tuple[bool, int | None]:
        """Whether an answer in the unit is near enough, and the place in `wrong` of the turn that it comes of, if of one.

        A right answer comes of a wrong turn only where it meets that turn's value and not its own: GB for GiB.
        """
        right = self.answer(case)
        counts = near(said, right, self.order)
        most = min(MET, off(said, right)) if counts else WITHIN
        turns = [(off(said, value), turn) for turn, value in enumerate(self.mistaken(case)) if off(said, value) <= most]
        return counts, min(turns)[1] if turns else None

    def asked(self, case: Case) -> str:
        """The question with its blanks filled."""
        return BLANK.sub(lambda blank: blank_text(case, *blank.groups("")), self.ask)


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
    if of == "byte" and unit in ("GiB", "MiB", "KiB"):
        return 2.0 ** {"K": 10, "M": 20, "G": 30}[unit[0]]
    if symbol and unit.endswith(symbol) and unit.removesuffix(symbol) in _PREFIXES:
        return _PREFIXES[unit.removesuffix(symbol)]
    allowed = f"{symbol}, with a prefix such as k, M or G" if symbol else "none, %, million, billion or trillion"
    raise ValueError(f"unit {unit!r}; allowed for {law}: {allowed}")


def in_unit(value: float, unit: str) -> str:
    """An amount that is already in a unit with its prefix, or in percent."""
    return f"{figures.three_figures(value)} {unit}" if unit else figures.number(value)


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
def _all():
    found = {}
    for path in sorted((DATA / "drills").glob("*.yaml")):
        for name, held in read_mapping(path).items():
            if name in found:
                raise ValueError(f"drills/{path.name}, {name}: also in {found[name].topic}.yaml; allowed: each name once")
            try:
                found[name] = _read(name, path.stem, held)
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
    for _, form in blanks(made.ask):
        if form and form not in figures.UNITS and not callable(getattr(figures, form, None)):
            raise ValueError(f"ask: the form {form!r} of a blank; allowed: a unit, or a function of gpucalc/core/figures.py")
    for known in (*made.draw, *made.given, *changed, *(blank for blank, _ in blanks(made.ask))):
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
