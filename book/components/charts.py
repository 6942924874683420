"""Charts: lines and bars, sliders that compute in the browser, labels, titles with a finding, and how each is checked."""
import ast
import json
import math
import os
import re
import textwrap
from collections import namedtuple
from itertools import pairwise
from numbers import Real

import altair
from altair.expr.core import ConstExpression

from gpucalc.core import figures
from gpucalc.core.evaluate import is_law, Row
from gpucalc.core.figures import unit_symbol, UNITS
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import FRACTION, QUANTITIES, RATE, SHARE
from .show import FAMILIAR
from .sentences import Figure, held, markdown


# What moves a chart: sliders, switches, rows to choose among, and expressions that the browser computes once.

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


# Words in a chart: the names of lines at their ends, and what stands where lines cross.

# Room for one name below another, as a share of the height; the most characters and names that have room beside a chart.
GAP, LONGEST, MOST = 0.055, 26, 8
# The name of these layers, by which the site's script finds them.
LAYER = "line_labels"


def fit(labels):
    """Whether the names of lines have room at their ends."""
    return len(labels) <= MOST and max(map(len, labels), default=0) <= LONGEST


def of_fields(fields, x, x_axis, y_axis, log_y):
    """A layer with names at the last points of lines. fields: field -> its name."""
    folded = altair.Chart().transform_fold(list(fields), as_=["line", "at"])
    named = folded.transform_calculate(line=f"{json.dumps(fields, ensure_ascii=False)}[datum.line]")
    return _at_ends(named, x, "line", x_axis, y_axis, log_y, list(fields.values()))


def of_rows(chart, x, y, color, x_axis, y_axis, log_y, order):
    """The same for a chart whose rows have the line's name in the column `color`."""
    named = chart.transform_calculate(at=f"datum[{y!r}]", line=f"datum[{color!r}]")
    return _at_ends(named, x, "line", x_axis, y_axis, log_y, order)


def _at_ends(named, x, line, x_axis, y_axis, log_y, order):
    least = "pow(10, floor(log(datum.least) / LN10 + 1e-9))" if log_y else "min(0, datum.least)"
    most = "pow(10, ceil(log(datum.most) / LN10 - 1e-9))" if log_y else "datum.most"
    share = "(datum.at - datum.low) / (datum.high - datum.low)"
    back = "datum.low + datum.share * (datum.high - datum.low)"
    if log_y:
        share = "log(datum.at / datum.low) / log(datum.high / datum.low)"
        back = "datum.low * pow(datum.high / datum.low, datum.share)"
    last = named.transform_filter(f"isFinite(datum.at){' && datum.at > 0' if log_y else ''}").transform_joinaggregate(
        least="min(at)", most="max(at)").transform_joinaggregate(end=f"max({x})", groupby=[line]).transform_filter(
        f"datum[{x!r}] == datum.end").transform_aggregate(
        at="max(at)", end="max(end)", least="min(least)", most="max(most)", groupby=[line])
    # From the top each name stands at its line's end or a gap below the one before; all rise if the last is below the chart.
    placed = last.transform_calculate(low=least, high=most).transform_calculate(share=share).transform_window(
        rank="row_number()", sort=[altair.SortField("share", order="descending")]).transform_calculate(
        share=f"datum.share + {GAP} * datum.rank").transform_window(
        share="min(share)", frame=[None, 0], sort=[altair.SortField("rank")]).transform_calculate(
        share=f"datum.share - {GAP} * datum.rank").transform_joinaggregate(lowest="min(share)").transform_calculate(
        share="datum.share - min(0, datum.lowest)").transform_calculate(place=back)
    x_end, y_end = x_axis.copy(), y_axis.copy()
    x_end.shorthand, y_end.shorthand = "end", "place"
    return placed.mark_text(align="left", dx=7, fontSize=12, limit=200).encode(
        x=x_end, y=y_end, text=f"{line}:N",
        color=altair.Color(f"{line}:N", title=None, scale=altair.Scale(domain=order))).properties(name=LAYER)


def vega_text(value, name):
    """A Vega expression that writes a value of the quantity as core/figures.py does; a count with the word for what it counts."""
    unit, _, meaning, allowed, _ = QUANTITIES[name]
    symbol, prefixes, _ = UNITS[unit]
    if prefixes != "none":
        return f"replace(format({value}, '.3~s'), regexp('([a-zA-Zµ]?)$'), ' $1') + '{symbol}'"
    if not symbol and allowed in SHARES:
        return f"format(100 * {value}, '.3~r') + ' %'"
    counted = meaning.split(" ")[0]
    words = symbol or (counted if counted.endswith("s") else "")
    figure = f"(abs({value}) < 1e6 && {value} == floor({value}) ? format({value}, ',d') : format({value}, ',.3r'))"
    return f"{figure} + ' {words}'" if words else figure


def crossing_mark(x, at, height, ends, x_axis, y_axis):
    """A dashed line where the signal `at` says, if between the ends of the axis, and there at `height` a point with its value."""
    place = altair.Chart(altair.Data(values=[{}])).transform_calculate(crossing=at).transform_filter(
        f"datum.crossing >= {ends[0]} && datum.crossing <= {ends[1]}")
    x_at, y_at = x_axis.copy(), y_axis.copy()
    x_at.shorthand, y_at.shorthand = "crossing", "height"
    rule = place.mark_rule(strokeWidth=1.5, strokeDash=[6, 4]).encode(x=x_at)
    point = place.transform_calculate(height=height).transform_filter("isFinite(datum.height)")
    side = f"{at} > {_middle(ends, x_axis)}"
    words = dict(align={"expr": f"{side} ? 'right' : 'left'"}, dx={"expr": f"{side} ? -9 : 9"})
    text = point.transform_calculate(said=vega_text("datum.crossing", x))
    shown = [text.mark_text(dy=-10, fontSize=13, fontWeight=600, style=style, **words).encode(x=x_at, y=y_at, text="said:N")
             for style in ("halo", "said")]
    return [rule, point.mark_point(filled=True, size=80, opacity=1, style="said").encode(x=x_at, y=y_at), *shown]


def _middle(ends, x_axis):
    log = x_axis.to_dict().get("scale", {}).get("type") == "log"
    return math.sqrt(ends[0] * ends[1]) if log and ends[0] > 0 else (ends[0] + ends[1]) / 2


# The finding of a chart: a sentence above it whose figures move with the sliders.

_FIGURE = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
# The sentence as it stands at the start, and what the browser needs to write it anew.
Finding = namedtuple("Finding", "text moves signals")
# A case in which what moves is a signal, and the kinds of rows that the reader may choose.
Moving = namedtuple("Moving", "case kinds")


def laws_in(finding, case):
    """The laws of which a finding names the value, where the case does not hold it."""
    names = {name for _, text in _choices(finding) for name, _ in _FIGURE.findall(text)}
    return [LAWS[name] for name in sorted(names | _asked(finding)) if name in LAWS and held(case, name) is None]


def written(finding, case, moving, shared):
    """The `Finding` of a sentence, or of several with their conditions; `case` has numbers, `moving` what moves instead."""
    conditions, choices, first = {}, [], None
    for condition, text in _choices(finding):
        pairs = [_part(part, case, moving, shared) for part in _parts(text)]
        _check_units([said for said, _ in pairs], text)
        if first is None and (condition is None or _holds(condition, lambda name: _value(case, name))):
            first = "".join(said for said, _ in pairs)
        choices.append({"parts": [part for _, part in pairs]}
                       | ({} if condition is None else {"when": _condition(condition, moving, shared, conditions)}))
    still = len(choices) == 1 and all(isinstance(part, str) for part in choices[0]["parts"])
    return Finding(first, None if still else choices, [altair.param(name=name, expr=text) for name, text in conditions.items()])


def _check_units(said, text):
    for figure, after in pairwise(said):
        unit = figure.split(" ")[-1]
        if unit.isalpha() and re.match(rf" {unit}\b", after):
            raise ValueError(f"finding: {text!r}: a figure has its unit: leave out {unit!r} after {figure!r}")


def _choices(finding):
    given = [finding] if isinstance(finding, str) else finding
    return [each if isinstance(each, tuple) else (None, each) for each in given]


def _asked(finding):
    conditions = [condition for condition, _ in _choices(finding) if condition]
    return {node.id for each in conditions for node in ast.walk(ast.parse(each)) if isinstance(node, ast.Name)}


def _parts(text):
    """Words and figures (name, form) of a sentence, in turn."""
    end = 0
    for found in _FIGURE.finditer(text):
        yield from filter(None, [text[end:found.start()]])
        yield found[1], found[2] or ""
        end = found.end()
    yield from filter(None, [text[end:]])


def _part(part, case, moving, shared):
    """What is said at the start; and the same for the browser, as text or as a signal with its form."""
    if isinstance(part, str):
        return part, part
    name, form = part
    if name in case.rows:
        said = case.rows[name].name
        return said, {"signal": name} if name in moving.kinds else said
    said, moved = str(Figure(name, _value(case, name), {}, form)), _moved(name, moving, shared)
    return said, said if moved is None else {"signal": moved, "form": form or QUANTITIES[name].unit}


def _value(case, name):
    """A number: what was given, a field of a row, or a law's value."""
    if name == "infinity":
        return math.inf
    if name not in QUANTITIES:
        raise ValueError(f"finding: {name!r} is neither a quantity nor a law nor a row of the case")
    found = held(case, name)
    if found is None:
        if name not in LAWS:
            raise ValueError(f"finding: the case has no {name}")
        found = LAWS[name]
    return case(found) if is_law(found) else found


def _moved(name, moving, shared):
    """The signal that holds the value, None where nothing moves it."""
    case = moving.case
    there = held(case, name)
    there = LAWS.get(name) if there is None else there
    if is_law(there):
        found = shared.signal(case, there, f"said_{name}")
        return found if isinstance(found, str) else None
    return getattr(there, "name", None)


def _condition(condition, moving, shared, signals):
    """The name of a signal that says whether the condition holds."""
    def of(name):
        moved = None if name == "infinity" else _moved(name, moving, shared)
        text = "(1 / 0)" if name == "infinity" else moved
        return Written(text) if text else _value(moving.case, name)

    holds, name = _holds(condition, of), f"said_when_{len(signals)}"
    signals[name] = str(holds).lower() if isinstance(holds, bool) else expression(holds)
    return name


_COMPARED = {ast.Lt: lambda a, b: a < b, ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b,
             ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b}
_WORKED = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b}


def _holds(condition, of):
    """Compares as the text says, such as "longest_context > 2 * context"; `of` gives the value of a name."""
    tree = ast.parse(condition, mode="eval").body
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in _COMPARED:
        raise ValueError(f"finding: condition {condition!r}; allowed: one comparison of quantities, laws and numbers")

    def worked(node):
        match node:
            case ast.Constant(value=float() | int() as value):
                return value
            case ast.Name(id=name):
                return of(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _WORKED:
                return _WORKED[type(op)](worked(left), worked(right))
        raise ValueError(f"finding: condition {condition!r}: {ast.unparse(node)} is no quantity, law or number")

    return _COMPARED[type(tree.ops[0])](worked(tree.left), worked(tree.comparators[0]))


def units_in(moves, forms=()):
    """How the units of a finding and of sliders are printed, for the browser: data/units.csv."""
    parts = [part for choice in moves or [] for part in choice["parts"] if isinstance(part, dict)]
    used = {*forms, *(part["form"] for part in parts if "form" in part)}
    return {unit: list(printed) for unit, printed in figures.UNITS.items() if unit in used}


# Charts whose lines are laws: the browser evaluates the law's own arithmetic at the sliders' values.

MIME = "application/vnd.vegalite.v6+json"
# What JupyterLab draws by itself, without a network; a kernel that it opened has a session name.
JUPYTER_MIME = "application/vnd.vegalite.v5+json"
_HASHED = re.compile(r"\b(data-(?=[0-9a-f]{32}\b)|(?:view|param)_(?=[0-9a-f]{16}(?:\b|_)))[0-9a-f]+")


def slider_chart(case, lines, x, values, sliders, alt, y_title, log_x=False, log_y=False, crossing=None, finding="",
                 choose=()):
    """Lines over `x`, each a law for the case, with a slider for each quantity in `sliders`.

    lines: label -> law, or (law, changes of the case).
    x: name of the quantity on the horizontal axis; values: where it is evaluated.
    sliders: quantity -> (low, high, step, start), or words with their values, {"none": 0, "whole layers": 2}.
    alt: the finding, for readers who can't see the chart.
    finding: the chart's title, which moves with the sliders: a sentence in which `{batch}` or `{longest_context:token}` is a
    quantity or a law of the case, with its unit, and `{model}` a row; or several, [(condition, sentence), ..., sentence], of
    which the first holds whose condition does, such as "longest_context > 131072".
    choose: kinds of rows (model, gpu) that the reader may choose among.
    crossing: a law, or one with changes, that gives the value of `x` at which a dashed line stands; it moves with the sliders.
    """
    values = list(values)
    drawn = {label: line if isinstance(line, tuple) else (line, {}) for label, line in lines.items()}
    crossed = crossing if isinstance(crossing, tuple) or crossing is None else (crossing, {})
    start, shared = starts(case, sliders), Shared()
    still, moved = case.but(**start), parameters(sliders, start)
    asked = [*drawn.values(), *([crossed] if crossed else []), *((law, {}) for law in laws_in(finding, still))]
    # A chart may stand in a case that lacks what is on its axis.
    there = still if x in still.inputs else still.but(**{x: values[0]})
    chosen = [Chosen(there, kind, asked) for kind in choose]
    moving = case.but(**{kind: row for each in chosen for kind, row in each.moving.items()}
                      | {name: Written(name) for name in moved})

    checks, layers, calculations, names = [], [], {}, {}
    x_axis = axis(altair.X, x, x, _titled(x), log_x)
    x_axis = x_axis if log_x else x_axis.scale(nice=False)
    for position, (label, (law, changes)) in enumerate(drawn.items()):
        field = f"{law.__name__}_{position}"
        fields, text, explained = shared.field(moving.but(**{x: Written(f"datum[{x!r}]")} | changes), law, position)
        calculations |= fields | {field: text}
        names[field] = label
        checks.append({"field": field, "law": law.__name__, "given": levels(explained), "level": x in changes})
        layers.append(altair.Chart().transform_filter(f"isFinite(datum[{field!r}])").mark_line(strokeWidth=2.5).encode(
            x=x_axis, y=axis(altair.Y, field, law.__name__, y_title, log_y),
            color=altair.datum(label, title=None)))
    y_axis = axis(altair.Y, next(iter(names)), checks[0]["law"], y_title, log_y)
    if crossed:
        layers += _crossing(moving, crossed, drawn, x, (values[0], values[-1]), shared, x_axis, y_axis)
    if fit(drawn):
        layers.append(of_fields(names, x, x_axis, y_axis, log_y))
    said = written(finding, still, Moving(moving, choose), shared)
    signals = [*(each for kind in chosen for each in kind.parameters), *moved.values(), *shared.parameters(), *said.signals]
    chart = altair.layer(*layers, data=altair.Data(values=[{x: value} for value in values]))
    chart = chart.transform_calculate(**calculations).add_params(*signals)
    about = {"finding": said.moves, "sliders": forms(sliders), "units": units_in(said.moves, forms(sliders).values())}
    shared.checks.pop("crossing_height", None)
    check = {"x": x, "lines": checks, "signals": shared.checks, "rows": {each.kind: each.fields for each in chosen},
             "along": {other: each.kind for each in chosen for other in each.along}}
    return finish(chart, alt, check, said.text, fit(drawn), about)


def _crossing(case, crossing, drawn, x, ends, shared, x_axis, y_axis):
    """A dashed line across a slider chart where the law says, with a point on the first line over `x`."""
    law, changes = crossing
    at = shared.signal(case.but(**changes), law, "crossing")
    if not isinstance(at, str):
        at, shared.signals["crossing"] = "crossing", expression(at)
    over, changed = next((line for line in drawn.values() if x not in line[1]), next(iter(drawn.values())))
    height = shared.signal(case.but(**{x: Written(at)} | changed), over, "crossing_height")
    return crossing_mark(x, at, height if isinstance(height, str) else expression(height), ends, x_axis, y_axis)


def bars(frame, value, name, part, alt, x_title, order=None, limit=None, room=165, title=""):
    """Horizontal bars of the quantity `value`, one for each `name`, in parts by colour; `limit` is a dashed line with its text.

    frame: columns `name`, `part` and one called like the quantity; both in the order in which they come. room: pixels for names.
    title: the finding, here as in the other charts without sliders.
    """
    parts = order or list(dict.fromkeys(frame[part]))
    frame = frame.assign(place=frame[part].map(parts.index))
    chart = altair.Chart(frame).mark_bar().encode(
        x=axis(altair.X, value, value, x_title), order="place:O",
        y=altair.Y(f"{name}:N", title=None, sort=list(dict.fromkeys(frame[name])), axis=altair.Axis(labelLimit=room)),
        color=altair.Color(f"{part}:N", title=None, sort=parts, scale=altair.Scale(domain=parts)))
    return finish(chart if limit is None else chart + rule(altair.X, limit), alt, title=title)


def lines(frame, x, y, color, alt, x_title=None, y_title=None, log_x=False, log_y=False, points=False, dash=None,
          limit=None, title=""):
    """Lines of the quantity `y` over the quantity `x`, one for each `color`, in the order in which they come.

    dash: the column whose later values are drawn dashed; limit: where a dashed line crosses the chart.
    """
    order = [str(each) for each in dict.fromkeys(frame[color])]
    x_axis, y_axis = axis(altair.X, x, x, x_title or _titled(x), log_x), axis(altair.Y, y, y, y_title or _titled(y), log_y)
    chart = altair.Chart(frame).mark_line(strokeWidth=2.5, point=points).encode(
        x=x_axis, y=y_axis, color=altair.Color(f"{color}:N", title=None, sort=order, scale=altair.Scale(domain=order)))
    if dash:
        chart = chart.encode(strokeDash=altair.StrokeDash(f"{dash}:N", legend=None, sort=list(dict.fromkeys(frame[dash]))))
    direct = fit(order)
    named = [of_rows(altair.Chart(frame), x, y, color, x_axis, y_axis, log_y, order)] if direct else []
    limits = [] if limit is None else [rule(altair.Y, limit)]
    return finish(altair.layer(chart, *named, *limits), alt, title=title, direct=direct)


def tiles(frame, x, y, kind, mark, colors, alt, x_title, title=""):
    """A map of `y` by the number `x`, `y` in the order in which it comes: each tile in its kind's color, with its mark.

    colors: kind -> color, in the order of the legend.
    """
    places = altair.Chart(frame).encode(
        x=altair.X(f"{x}:O", title=x_title, axis=altair.Axis(format=".0f", labelAngle=-90, labelOverlap=False)),
        y=altair.Y(f"{y}:N", title=None, sort=None, axis=altair.Axis(labelLimit=110)))
    scale = altair.Scale(domain=list(colors), range=list(colors.values()))
    filled = places.mark_rect(stroke="white").encode(
        color=altair.Color(f"{kind}:N", title=None, scale=scale, legend=altair.Legend(columns=1)))
    return finish(filled + places.mark_text(fontSize=11, color="black").encode(text=f"{mark}:N"), alt, title=title)


def rule(channel, value):
    """A dashed line across a chart at a value of its horizontal or vertical axis: a limit, or where something turns."""
    at = "x" if channel is altair.X else "y"
    line = altair.Chart(altair.Data(values=[{"limit": value}])).encode(**{at: "limit:Q"})
    return line.mark_rule(color="white", strokeWidth=4) + line.mark_rule(color="black", strokeWidth=2, strokeDash=[6, 4])


def finish(chart, alt, check=None, title="", direct=False, about=None):
    """Give a chart its alt text, its width and its legend.

    title: the finding. check: what a test needs to check a chart of laws. direct: whether names stand at the ends of their lines;
    about: what the site's script needs.
    """
    held = {"alt": alt or title, "title": title, "gpucalc": check, "direct": direct} | (about or {})
    usermeta = {name: value for name, value in held.items() if value}
    return chart.properties(width="container", height=340, usermeta=usermeta, autosize=altair.AutoSizeParams(
        type="fit-x", contains="padding")).configure_legend(orient="top", columns=2, labelLimit=320, offset=28).configure_axisY(
        titleAngle=0, titleAlign="left", titleAnchor="end", titleX=0, titleY=-10, titleBaseline="bottom")


def titled(chart, title):
    """The chart with this finding above it."""
    return chart.properties(usermeta={**chart.usermeta, "title": title})


def axis(channel, field, name, title, log=False):
    """The encoding of a field as the quantity `name`, with its unit on the ticks; any other name is a plain number.

    A log axis labels 1, 2 and 5 of each decade, or 1 where there are many decades.
    """
    unit = QUANTITIES[name].unit if name in QUANTITIES else ""
    suffix, form = (unit_symbol(unit), ".3~s") if takes_prefix(unit) else ("", ",~r")
    label = f"replace(format(datum.value, '{form}'), regexp('([a-zA-Zµ]?)$'), ' $1') + '{suffix}'"
    across = channel is altair.X
    if log:
        ends = f"domain('{'x' if across else 'y'}')"
        exponent = "(log(datum.value) / LN10)"
        digit = f"round(pow(10, {exponent} - floor({exponent} + 1e-9)))"
        shown = f"indexof({ends}[1] / {ends}[0] > 2000 ? [1] : [1, 2, 5], {digit}) >= 0"
        only = {"condition": {"test": shown, "value": 1}, "value": 0}
        marks = altair.Axis(labelExpr=f"{shown} ? {label} : ''", labelOverlap="greedy", labelSeparation=4, grid=not across,
                            gridOpacity=only, tickOpacity=only)
        scale = altair.Scale(type="log", nice=not across)
    else:
        marks, scale = altair.Axis(labelExpr=label, grid=not across, tickCount=6 if across else 5), altair.Scale()
    return channel(field, type="quantitative", title=title, scale=scale, axis=marks)


def _titled(name):
    """A quantity's meaning, with its unit unless the ticks carry it."""
    unit = QUANTITIES[name].unit
    return QUANTITIES[name].meaning if takes_prefix(unit) else _in_unit(name)


def _in_unit(name):
    """A quantity's meaning, with its unit unless the meaning ends with it: `requests a month`."""
    meaning, unit = QUANTITIES[name].meaning, unit_symbol(QUANTITIES[name].unit)
    return f"{meaning}, {unit}" if unit and not meaning.endswith(f" {unit}") else meaning


def takes_prefix(unit):
    """Whether values in the unit are printed with an SI prefix."""
    return UNITS[unit][1] != "none"


def _same_everywhere(spec):
    """The specification without the digits in which processors differ; by its place what Altair names by a hash of them."""
    text, places = json.dumps({name: value for name, value in spec.items() if name != "$schema"}), {}
    text = _HASHED.sub(lambda found: f"{found[1]}{places.setdefault(found[0], len(places) + 1)}", text)
    return json.loads(text, parse_float=lambda digits: float(f"{float(digits):.12g}"))


def _render(spec, **_):
    """The specification for whoever draws it, and a still picture for who does not; of a frame without rows, its text alone."""
    about = spec.get("usermeta", {})
    alt = about.get("alt", "chart")
    if [] in spec.get("datasets", {}).values():  # to Vega a legend without entries has no height
        return {"text/markdown": markdown(alt), "text/plain": alt}
    spec = _same_everywhere(spec)
    still = _with_words(spec) | {"width": 680}
    fixed = {name: value for name, value in still.items() if name != "autosize"}
    chart = {JUPYTER_MIME: fixed} if "JPY_SESSION_NAME" in os.environ else {MIME: spec}
    shown = chart | {"text/plain": alt}
    if os.environ.get("STILL_PICTURES") == "no":
        return shown
    import vl_convert
    return shown | {"image/svg+xml": vl_convert.vegalite_to_svg(still, vl_version="6.4")}


def _with_words(spec):
    """The specification for who has not the site's script: the finding as its title, units with the sliders, names at lines."""
    about, config = spec.get("usermeta", {}), spec.get("config", {})
    if about.get("direct"):
        spec = spec | {"config": config | {"legend": config["legend"] | {"disable": True}}}
    if about.get("title"):
        spec = spec | {"title": {"text": textwrap.wrap(about["title"], 90), "anchor": "start"}}
    units = {name: unit_symbol(form) for name, form in about.get("sliders", {}).items() if form != "percent"}
    params = [given | ({"bind": given["bind"] | {"name": f"{given['bind']['name'].strip()}, {units[given['name']]} "}}
                       if units.get(given["name"]) else {}) for given in spec.get("params", [])]
    return spec | ({"params": params} if params else {})


altair.renderers.register("gpucalc", _render)
altair.renderers.enable("gpucalc")
