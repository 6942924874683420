"""What the page of drills computes with, as a script, and what lessons need for the drills on them.

`script` makes drills_data.js: the laws, quantities and rows that the drills need and nothing else. book/static/drills.js
draws and judges with it.
"""
import ast
import functools
import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from gpucalc.core.evaluate import FINDERS
from gpucalc.core.expression import tree
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS, QUANTITIES
from ..components.formula import holding, is_share
from ..components.spoken import called, said
from ..components.titles import PAGES
from ..components.yours import held
from . import drills
from . import drill_script, javascript
from .drills import Drill, blanks
from .lesson_texts import TITLES

_MARK = "drill:"


def names(one: Drill) -> list[str]:
    """Laws, quantities and kinds of rows that a drill needs: to be drawn, asked, answered and shown."""
    turns = [name for turn in one.wrong for name in (turn.law, *turn.but, *turn.but.values())]
    given = [name for value in one.given.values() for name in (value.values() if isinstance(value, dict) else [value])]
    found = [one.law, *one.steps, *one.draw, *one.given, *given, *(name for name, _ in blanks(one.ask)), *turns]
    return [name for name in dict.fromkeys(map(str, found)) if name in LAWS or name in QUANTITIES or name in FINDERS]


def followed(follow: Iterable[str]) -> list[str]:
    """Names that lessons show of a case, with those of each drill among them, which stands there as `drill:NAME`."""
    kept = dict.fromkeys(name for name in follow if name in LAWS or name in QUANTITIES or name in FINDERS)
    for each in follow:
        if each.startswith(_MARK):
            kept |= dict.fromkeys(name for name in names(drills.drill(each.removeprefix(_MARK))) if name not in FINDERS)
    return list(kept)


def title(topic: str) -> str:
    """What a topic is called in a list."""
    said = TITLES.get(topic) or PAGES.get(topic) or topic.replace("_", " ")
    return said[0].upper() + said[1:]


def topics() -> list[str]:
    """The topics of all drills: lessons in their order, then the others."""
    found, order = dict.fromkeys(one.topic for one in drills.drills().values()), list(TITLES)
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
    return any(isinstance(node, ast.Call) for node in ast.walk(tree(LAWS[law])))


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
            _SAID[key] = said(holding(LAWS[law], step), "{{{}}}".format)
        texts.append(_SAID[key])
    found = list(dict.fromkeys(texts))
    return found, "".join(str(found.index(text)) for text in texts) if len(found) > 1 else ""


def script() -> str:
    """The script that sets `gpucalc.laws` and `gpucalc.data` for all drills, and `gpucalc.drills.data`."""
    every = drills.drills()
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
                levels=drills.LEVELS, within=drills.WITHIN, order=drills.ORDER, met=drills.MET, said=drills.SAID,
                sourced=[name for name in DEFAULTS if name in taken])
    kept = javascript.figures_data(sorted(name for name in taken if name in QUANTITIES))
    return drill_script.written(laws, kept, kept.pop("quantities"), data)


def _step(law, texts, at):
    return dict(law=law, said=texts) | ({"at": at} if at else {})


def _plain(one):
    """A drill as the page holds it: what is usual is left out, and beside a unit stands how much of the law's own it is."""
    scale = drills.scale(one.law, one.unit)
    held = dict(topic=one.topic, level=one.level, ask=one.ask, law=one.law, unit=one.unit, scale=scale, draw=one.draw,
                hint=one.hint, wrong=[_turn(one, turn, scale) for turn in one.wrong])
    given = {name: plain(value) for name, value in one.given.items()}
    return held | ({"given": given} if given else {}) | ({"order": True} if one.order else {})


def _turn(one, turn, scale):
    held = {name: value for name, value in turn._asdict().items() if value != turn._field_defaults.get(name)}
    own = drills.scale(turn.law if turn.law and not turn.unit else one.law, turn.unit or one.unit)
    return held | ({"scale": own} if own != scale else {})


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
