"""The finding of a chart: a sentence above it whose figures move with the sliders."""
import ast
import math
import re
from collections import namedtuple
from itertools import pairwise

import altair

from gpucalc.core import figures
from gpucalc.core.evaluate import is_law
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import QUANTITIES
from .moving import Written, expression
from .yours import Figure, held

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
    return {unit: [row["symbol"], row["prefixes"], row["infinity"]] for unit, row in figures.UNITS.items() if unit in used}
