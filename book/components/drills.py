"""Drills on pages: as exercises of a lesson, with the numbers of its own case.

    drill("kv-token", case)

shows the question, and folded the hint, the steps with their numbers, the result and the usual mistake with what it comes to.
"""
import html
import json
import math
import sys
from typing import Any

from gpucalc.core import figures
from gpucalc.core.evaluate import Case
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS
from ..web import drills
from ..web.drills import plain
from .formula import in_words
from .sentences import Figure, held, markdown, Markdown, numbered, Yours


class InUnit(Figure):
    """A figure in the unit that a drill asks for; of a wrong turn with what it changes and what the result is multiplied by."""

    def __init__(self, name: str, value: float, unit: str, scale: float, turn: drills.Wrong | None = None):
        super().__init__(name, value, {})
        self.unit, self.scale, self.turn = unit, scale, turn

    def __str__(self):
        return figures.in_unit(self.value, self.unit)

    def attributes(self) -> str:
        turn = self.turn or drills.Wrong("")
        held = {"turn": json.dumps(turn.but) if turn.but else "", "times": repr(turn.times) if turn.times != 1 else ""}
        more = {name: value for name, value in held.items() if value} | {"unit": self.unit, "scale": repr(self.scale)}
        return super().attributes() + "".join(f' data-{name}="{html.escape(value)}"' for name, value in more.items())


def drill(name: str, case: Case, **given: Any) -> Markdown:
    """The drill as an exercise, with what it draws taken from a case; given: values that stand for those of both.

    Where these have no answer to it, the drill's own first numbers stand. Raises ValueError if there is no such drill.
    """
    own = drills.drill(name)
    one = own._replace(given=own.given | given, draw={key: values for key, values in own.draw.items() if key not in given})
    there = of_page(one, case)
    if not math.isfinite(one.answer(there)):
        one, there = own, of_page(own, case)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    text = numbered(f"drill {name} {given}", *parts(one, there), shell.user_ns if shell else {})
    kept = html.escape(json.dumps({name: plain(value) for name, value in one.given.items()}))
    return Markdown(f'<div class="drill" data-drawn="{" ".join(one.draw)}" data-given="{kept}">\n\n{text}\n\n</div>')


def of_page(one: drills.Drill, case: Case) -> Case:
    """The drill's case with what a page's case has of its blanks; with its own first ones where that has no answer."""
    first = {name: values[0] for name, values in one.draw.items()}
    try:
        there = one.case(first | {name: _held(case, name, value) for name, value in first.items()})
        if 0 < one.answer(there) < math.inf:
            return there
    except (ValueError, KeyError):
        pass
    return one.case(first)


def _held(case, name, value):
    """What a case has under a name; `value` where it has nothing."""
    if name in case.rows:
        return case.rows[name].name
    if held(case, name) is None and name in DEFAULTS:
        return DEFAULTS[name].value
    return value if isinstance(value, str) or held(case, name) is None else drills.valued(case, name)


def parts(one: drills.Drill, case: Case) -> tuple[str, str]:
    """Question and answer of a drill as Markdown, whose figures say what they are."""
    steps = "\n".join(f'<div class="formula">{in_words(LAWS[law], case)[0]}</div>' for law in one.steps)
    result = InUnit(one.law, one.answer(case), one.unit, drills.scale(one.law, one.unit))
    link = f'<a href="drills.html#drill={one.name}">Drill it with other numbers</a>'
    answer = (f"**Set-up.** {markdown(one.hint)} **Numbers.**\n\n{steps}\n\n**Result.** {result.marked(markdown)}. "
              f"**The usual mistake.** {mistake(one, case)}\n\n{link}")
    return asked(one, case), answer


def asked(one: drills.Drill, case: Case) -> str:
    """The question as Markdown, with the unit of its answer."""
    text, yours = markdown(drills.BLANK.sub("\ue000", one.ask)), Yours(case)
    for name, form in drills.blanks(one.ask):
        figure = getattr(yours, name)
        text = text.replace("\ue000", (figure.said(form) if form else figure).marked(markdown), 1)
    return text + (f" {markdown(drills.asked_in(one.unit))}" if one.unit else "")


def mistake(one: drills.Drill, case: Case) -> str:
    """The first wrong turn that goes wrong here, with what it comes to, as Markdown."""
    right = one.answer(case)
    turns = [(turn, value) for turn, value in zip(one.wrong, one.mistaken(case)) if drills.off(value, right) > drills.MET]
    turn, value = next((each for each in turns if math.isfinite(each[1])), (one.wrong[0], math.nan))
    if not math.isfinite(value):
        return markdown(turn.say)
    law = turn.law or one.law
    unit = turn.unit or one.unit
    figure = InUnit(law, value, unit, drills.scale(law if turn.law and not turn.unit else one.law, unit), turn)
    return f"{markdown(turn.say)} That comes to {figure.marked(markdown)} here."
