"""Laws as JavaScript: from the syntax trees that print the equations, with every constant in full.

`script` makes one classic script; `book/static/case.js` answers cases with it and says how.
"""
import ast
import functools
import itertools
import json
import re
from collections import Counter
from collections.abc import Container, Iterable
from typing import Any

from gpucalc.core.expression import plain, quantity_node, rebuilt, tree
from gpucalc.core.figures import UNITS
from gpucalc.core.law import LAWS, Law
from gpucalc.core.printer import Words
from gpucalc.core.quantities import DOMAINS, QUANTITIES
from gpucalc.rows.catalogue import efficiency
from gpucalc.rows.tables import rows

# Letters of what is named where it stands more than once.
_LONG = 24
# A law is a loop over its columns: the values of an argument are at k & mask, whose mask is 0 for a single value and -1 for a
# column. One letter each names the argument's values (upper case) and its mask (lower case); k, n and o are the loop's own.
_LETTERS = "abcdefghijlmpqrstuvwxyz"
HEAD = """"use strict";
window.gpucalc = window.gpucalc || {};
{
  const { ceil, floor, sqrt, exp, log, log2, max, min, expm1 } = Math;
  const power = (a, b) => (a === 1 ? 1 : a ** b);
  const quotient = (a, b) => (b > 0 ? a / b : Infinity);
  const flow = (ratio, years) => (ratio === 1 ? years : -expm1(-log(ratio) * years) / log(ratio));
  const quantitiesOf = (kinds, held) => Object.fromEntries(Object.entries(held).map(([name, [kind, meaning = ""]]) =>
    [name, [kinds[kind][0], meaning, kinds[kind][1]]]));
  const law = (text, run) => {
    const given = text.split(" ").map((each) => each.split("="));
    const args = given.map(([name]) => name);
    const defaults = Object.fromEntries(given.filter((each) => each[1]).map(([name, value]) => [name, Number(value)]));
    const out = new Float64Array(1);
    const of = (...values) => (run(out, 1, ...values.flatMap((value) => [[value], 0])), out[0]);
    return { args, defaults, run, of };
  };
"""


def script(laws: Iterable[Law | str], more: Iterable[str] = ()) -> str:
    """A script that sets `gpucalc.laws`, these laws and all that stand for their arguments, and `gpucalc.data`.

    more: further quantities that a case may hold or a page may show, which may also be laws of which it says what they mean.
    Raises ValueError naming what is not a law, or a law that has no equation.
    """
    found, more = reached(laws), [*more]
    data = figures_data(dict.fromkeys([*found, *(name for law in found for name in _read(law)), *more]))
    held = quantities(data.pop("quantities"), set(found) - {*more})
    return (f"{HEAD}  gpucalc.laws = {compiled(found)};\n  gpucalc.data = {literal(data)};\n"
            f"  gpucalc.data.quantities = {held};\n}}\n")


def quantities(held: dict[str, list[str]], unsaid: Container[str] = ()) -> str:
    """Quantities as JavaScript below `HEAD`, each kind of unit and allowed values written once; `unsaid` have no meaning."""
    kinds = list(dict.fromkeys((unit, allowed) for unit, _, allowed in held.values()))
    named = {name: [kinds.index((unit, allowed)), *([] if name in unsaid else [meaning])]
             for name, (unit, meaning, allowed) in held.items()}
    return f"quantitiesOf({literal(kinds)}, {literal(named)})"


def compiled(names: Iterable[str]) -> str:
    """These laws alone by name, as JavaScript that stands below `HEAD`."""
    return "{\n" + "".join(f"{name}: {_compiled(LAWS[name])},\n" for name in names) + "  }"


def assigned(values: dict[str, Any]) -> str:
    """A script that sets these names of `gpucalc`."""
    return f"window.gpucalc = window.gpucalc || {{}};\nObject.assign(gpucalc, {shared(values)});\n"


def literal(value: Any) -> str:
    """Plain data as JavaScript writes it, in which no text ends a script or a line. Raises ValueError for what is no number."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")


def shared(value: Any) -> str:
    """As `literal`, but what is long and stands there more than once is written once, and a list that repeats itself by
    digits: an expression that gives the same."""
    needed: Counter[str] = Counter()
    parts: dict[str, tuple[str, str]] = {}

    def count(part):
        needed[literal(part)] += 1
        if needed[literal(part)] == 1 and isinstance(part, (dict, list, tuple)):
            for each in part.values() if isinstance(part, dict) else part:
                count(each)

    def said(part):
        text = key = literal(part)
        if len(key) < _LONG or key in parts:
            return parts.get(key, [key])[0]
        if isinstance(part, dict):
            text = "{%s}" % ",".join(f"{literal(name)}:{said(each)}" for name, each in part.items())
        elif isinstance(part, (list, tuple)):
            pieces = list(map(said, part))
            text = min(f"[{','.join(pieces)}]", _numbered(pieces), key=len)
        if needed[key] > 1:
            parts[key] = f"_{len(parts)}", text
        return parts[key][0] if needed[key] > 1 else text

    count(value)
    whole = said(value)
    named = "".join(f"const {name}={text};" for name, text in parts.values())
    return f"(()=>{{{_PICK}{named}return {whole}}})()"


# Gives a list by the different things in it and, of each place, the number of its own as one digit.
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_PICK = f"const pick=(of,at)=>Array.from(at,(each)=>of[parseInt(each,{len(_DIGITS)})]);"


def _numbered(pieces):
    """A list of expressions that repeat, as `pick` gives it again; with too many different ones as it is."""
    places = {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}
    at = "".join(_DIGITS[places[piece]] for piece in pieces) if len(places) <= len(_DIGITS) else None
    return f"[{','.join(pieces)}]" if at is None else f'pick([{",".join(places)}],"{at}")'


def reached(laws: Iterable[Law | str]) -> list[str]:
    """Names of the laws and of every law that can stand for an argument of one of them, by its name or in a row."""
    found: dict[str, None] = {}
    left = [getattr(law, "__name__", law) for law in laws]
    while left:
        name = left.pop()
        if name not in LAWS:
            raise ValueError(f"law {name!r}: unknown; allowed: the names in gpucalc.LAWS")
        if name not in found:
            found[name] = None
            left += [each for each in _read(name) if each in LAWS]
    return sorted(found)


def _read(law):
    """What a law may ask a case for: its arguments and what stands for them in a row."""
    for argument in LAWS[law].arguments:
        yield from (argument, *sorted(_stand_ins().get(argument, ())))


@functools.cache
def _stand_ins():
    """What the sets of shares of the peaks name in place of a value, by column."""
    found: dict[str, set] = {}
    for name in rows("efficiencies"):
        for column, cell in efficiency(name).items():
            if column in QUANTITIES and isinstance(cell, str):
                found.setdefault(column, set()).add(cell)
    return found


def figures_data(quantities: Iterable[str] = QUANTITIES) -> dict[str, Any]:
    """What JavaScript needs beside the laws, for JSON: units as they are printed, the quantities, what each may be, defaults."""
    held = {name: QUANTITIES[name] for name in quantities}
    domains = {allowed: [low if abs(low) < float("inf") else None, included, high if high < float("inf") else None, whole]
               for allowed, (low, included, high, whole) in DOMAINS.items()}
    return {"units": UNITS, "domains": domains,
            "quantities": {name: [held[name].unit, held[name].meaning, held[name].allowed] for name in held},
            "defaults": {name: value for law in LAWS.values() for name, value in law.defaults.items() if name in held}}


def _compiled(law):
    """The call that makes a law: its arguments with their defaults, and the loop that computes it."""
    arguments = " ".join(f"{name}={law.defaults[name]!r}" if name in law.defaults else name for name in law.arguments)
    letters = list(itertools.islice(_letters(), len(law.arguments)))
    lines, result = _said(law, [f"{letter.upper()}[k&{letter}]" for letter in letters])
    taken = "".join(f",{letter.upper()},{letter}" for letter in letters)
    return f'law("{arguments}",(o,n{taken})=>{{for(let k=0;k<n;k++){{{lines and f"const {lines};"}o[k]={result}}}}})'


def _said(law, arguments):
    """What a law computes first, and its result, its arguments said so."""
    texts = dict(zip(law.arguments, arguments))
    *parts, (_, result) = _parts(_inlined(tree(law), law), texts)
    lines = ",".join(f"{texts[name]}={_dense(in_javascript(part, texts))}" for name, part in parts)
    return lines, _dense(in_javascript(result, texts))


def _dense(text):
    """An expression without spaces, but for that between two signs."""
    return re.sub(r"(?<!-) | (?!-)", "", text)


def _letters():
    """Names for arguments: a, b and so on, then a1, b1."""
    for round_ in itertools.count():
        yield from (f"{letter}{round_ or ''}" for letter in _LETTERS)


def _inlined(node, law):
    """The expression with other laws, which `tree` leaves as their names, put in."""
    if isinstance(node, ast.Name) and node.id not in law.arguments:
        return _inlined(tree(LAWS[node.id]), law)
    return rebuilt(node, lambda part: _inlined(part, law))


def _parts(node, texts):
    """The expression in parts by name, each before those that need it: what it needs more than once, then, unnamed, the rest.

    The names of the parts are added to `texts`.
    """
    needed = Counter()
    _count(node, needed)
    made, parts = {}, []

    def cut(node):
        key = ast.dump(node)
        if key not in made:
            made[key] = rebuilt(node, cut)
            if needed[key] > 1 and plain(node) is None:
                name = f"_{len(parts)}"
                texts[name] = name
                parts.append((name, made[key]))
                made[key] = quantity_node(name)
        return made[key]

    rest = cut(node)
    return [*parts, (None, rest)]


def _count(node, needed):
    """How often each different part of the expression is needed, by what it says."""
    key = ast.dump(node)
    needed[key] += 1
    if needed[key] == 1:
        rebuilt(node, lambda part: _count(part, needed) or part)


def in_javascript(tree, texts):
    """JavaScript that computes the expression as Python does, each name as in `texts`."""
    return _JavaScript(texts.__getitem__).whole(tree)


class _JavaScript(Words):
    """Says every operation where it stands, so that a browser rounds as Python does."""

    minus, group = "-", "(%s)"
    calls = {name: f"{name}(%s)" for name in ("ceil", "floor", "sqrt", "exp", "log", "log2", "quotient", "flow")} | {
        "maximum": "max(%s)", "minimum": "min(%s)", "power": "power(%s)"}
    signs = {ast.Gt: ">", ast.Lt: "<", ast.GtE: ">=", ast.LtE: "<=", ast.Eq: "===", ast.NotEq: "!==", ast.BitAnd: "&&",
             ast.BitOr: "||", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}

    def whole(self, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return f"{self.whole(condition)} ? {self.atom(a)} : {self.argument(b)}"
            case ast.Compare(left, [relation], [right]):
                return f"{self.term(left)} {self.signs[type(relation)]} {self.term(right)}"
            case ast.BinOp(left, ast.BitAnd() | ast.BitOr() as join, right):
                return f"{self.atom(left)} {self.signs[type(join)]} {self.atom(right)}"
            case ast.BinOp(left, ast.Add() | ast.Sub() as operation, right):
                first = self.whole(left) if _is_sum(left) else self.term(left)
                return f"{first} {self.signs[type(operation)]} {self.term(right)}"
            case ast.UnaryOp(ast.USub(), operand):
                return self.minus + self.atom(operand)
        return self.term(node)

    def term(self, node):
        match node:
            case ast.BinOp(left, ast.Mult() | ast.Div() as operation, right):
                return f"{self.term(left)} {self.signs[type(operation)]} {self.atom(right)}"
        return self.atom(node)

    def argument(self, node):
        return self.whole(node)

    def power(self, base, exponent):
        return self.fenced(self.calls["power"], f"{self.whole(base)}, {self.whole(exponent)}")

    def number(self, value):
        return repr(value).replace("inf", "Infinity")


def _is_sum(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))
