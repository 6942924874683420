"""What moves a chart: sliders, switches, rows to choose among, and expressions that the browser computes once."""
from numbers import Real

import altair
from altair.expr.core import ConstExpression

from gpucalc.core.evaluate import Row
from gpucalc.core.figures import unit_symbol
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import FRACTION, QUANTITIES, RATE, SHARE
from .familiar import FAMILIAR

# An expression of so many characters is written out wherever it stands.
SHORT = 80
# Whose values are written as percentages.
SHARES = (FRACTION, SHARE, RATE)


class Written(ConstExpression):
    """The text of an expression, and of all that is formed from it at once: one that stands in many others is written once."""

    __module__ = ConstExpression.__module__  # laws know a library's values by where their type is from

    def _from_expr(self, formed):
        return Written(repr(formed))


def expression(value):
    """The Vega expression of what a law gave: Altair wraps it in a dict where only parameters are in it."""
    if isinstance(value, Real):
        return "(1 / 0)" if value == float("inf") else repr(value)
    rule = value.to_dict() if hasattr(value, "to_dict") else repr(value)
    return rule["expr"] if isinstance(rule, dict) else rule


def slider(name, low, high, step, start):
    """An Altair parameter for a quantity, bound to a slider that is labelled with its meaning."""
    return altair.param(name=name, value=start, bind=altair.binding_range(
        min=low, max=high, step=step, name=f"{QUANTITIES[name].meaning} "))


def switch(name, choices, start):
    """An Altair parameter for a quantity with few values, each with its word: {"none": 0, "whole layers": 2}."""
    label = QUANTITIES[name].meaning.split(":")[0]
    return altair.param(name=name, value=start, bind=altair.binding_select(
        options=list(choices.values()), labels=list(choices), name=f"{label} "))


def starts(case, sliders):
    """Where each slider or switch stands at first: a switch at the case's own value."""
    return {name: _start(case, name, given) if isinstance(given, dict) else given[3] for name, given in sliders.items()}


def _start(case, name, choices):
    held = [case.inputs.get(name), *(row[name] for row in case.rows.values() if name in row)]
    return next((value for value in held if value in choices.values()), next(iter(choices.values())))


def parameters(sliders, start):
    """The parameters by name: a slider for (low, high, step, start), a switch for words with their values."""
    return {name: switch(name, given, start[name]) if isinstance(given, dict) else slider(name, *given)
            for name, given in sliders.items()}


def forms(sliders):
    """How the value beside each slider is written: as a percentage, or in the quantity's unit."""
    return {name: "percent" if QUANTITIES[name].allowed in SHARES and not unit_symbol(QUANTITIES[name].unit)
            else QUANTITIES[name].unit for name, given in sliders.items() if not isinstance(given, dict)}


class Chosen:
    """Rows of a kind that the reader may choose among: the case's own and those that readers meet.

    The fields that the laws take are signals; a row for which one of them has no value is left out. With a GPU goes its link,
    where the case has that.
    """

    def __init__(self, case, kind, wanted):
        """case: with a number for all that moves. wanted: (law, changes) of all that is drawn or said."""
        if kind not in case.rows:
            raise ValueError(f"choose: {kind!r} is no row of {case!r}")
        row, link = case.rows[kind], case.rows.get("link")
        self.kind, self.start, self.along = kind, row.name, ["link"] if link and link.name == row.get("link") else []
        kinds = [kind, *self.along]
        own = _fields(case, kinds, wanted)
        self.fields, self.rows = list(own), {self.start: list(own.values())}
        for name in FAMILIAR[kind]:
            try:
                there = case.but(**{kind: name})
                values = _fields(there.but(**{other: there.rows[kind][other] for other in self.along}), kinds, wanted)
                self.rows.setdefault(name, [values[field] for field in self.fields])
            except (ValueError, KeyError):
                continue
        signals = {field: altair.param(name=field, expr=f"{kind}_rows[{kind}][{k}]") for k, field in enumerate(self.fields)}
        held = {each: case.rows[each] for each in kinds}
        moved = {name: Written(name) for name in signals}
        self.moving = {each: Row({name: moved.get(name, value) for name, value in row.items()}, row.name, each)
                       for each, row in held.items()}
        choice = altair.binding_select(options=list(self.rows), name=f"{'GPU' if kind == 'gpu' else kind} ")
        self.parameters = [altair.param(name=f"{kind}_rows", value=self.rows),
                           altair.param(name=kind, value=self.start, bind=choice), *signals.values()]


def _fields(case, kinds, wanted):
    """The rows' fields that the laws take, with their values."""
    found = {}
    for law, changes in wanted:
        rows = [case.rows[kind] for kind in kinds if kind not in changes]
        for step in case.but(**changes).explain(law).steps:
            found |= {name: float(value) for name, value in step.arguments.items() if isinstance(value, Real)
                      and name not in case.inputs and name not in changes and any(name in row for row in rows)}
    return found


class Shared:
    """Expressions that stand in others, written once: as signals, or as fields where a point's own value is in them."""

    def __init__(self):
        self.named, self.signals, self.checks = {}, {}, {}

    def field(self, case, law, position):
        """What must be calculated for each point, in order, and what `law` is then; and its explanation."""
        explained, fields = case.explain(law), {}
        for step in explained.steps[:-1]:
            text = "" if isinstance(step.value, Real) else expression(step.value)
            if len(text) > SHORT and text not in self.named:
                name = f"{step.law}_{position}" if "datum" in text else f"{step.law}_s{len(self.signals)}"
                (fields if "datum" in text else self.signals)[name] = self.shortened(text)
                self.named[text] = f"datum[{name!r}]" if "datum" in text else name
        return fields, self.shortened(expression(explained.value)), explained

    def signal(self, case, law, name):
        """A number where nothing moves the law's value, else the name of the signal that holds it: `name` if it is the first."""
        explained = self.field(case, law, "")[2]
        if isinstance(explained.value, Real):
            return explained.value
        text = expression(explained.value)
        if text.isidentifier() or text in self.named:
            return self.named.get(text, text)
        self.signals[name] = self.shortened(text)
        self.checks[name] = {"law": law.__name__, "given": levels(explained)}
        if len(text) > SHORT:
            self.named[text] = name
        return name

    def shortened(self, text):
        """The expression with the names of those that stand in it; what is inside of one that was replaced is gone with it."""
        for inner in sorted(self.named, key=len, reverse=True):
            text = text.replace(inner, self.named[inner])
        return text

    def parameters(self):
        return [altair.param(name=name, expr=text) for name, text in self.signals.items()]


def levels(explained):
    """The inputs that do not move, for a test of the chart: numbers, and the laws and sliders that stand for inputs."""
    fixed = {used.name: float(used.value) for used in explained.inputs if isinstance(used.value, Real)}
    return fixed | {name: {"law": other} if other in LAWS else fixed.get(other, other) for name, other in explained.bound.items()}
