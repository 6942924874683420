"""drills_data.js in few bytes: each name of a law or quantity is written once, and elsewhere stands its number.

`written` gives the script; what it says there reads it again when the page loads it.
"""
import json
import re
from typing import Any

from gpucalc.core.law import LAWS
from . import javascript

# What a drill is given by, in this order; what is after the last that it has is left out.
_FIELDS = ["level", "ask", "law", "unit", "scale", "hint", "draw", "wrong", "steps", "given", "order"]
_TURN = ["say", "but", "times", "law", "unit", "scale"]
_STEP = ["law", "said", "at"]
_BLANK = re.compile(r"\{(\w+)")
_NAMED = ("draw", "given", "but")
_LONG = re.compile(r"(?<=[:,\[])([1-9]\d*?)(0{4,})(?=[,\]}])")
_HEAD = """  const at = (number) => names[parseInt(number, 36)];
  const filled = (text) => text.replace(/\\{(\\w+)/g, (_, number) => "{" + at(number));
  const entries = (held, of) => Object.fromEntries(Object.entries(held).map(([key, value]) => [at(key), of(value)]));
  const given = (fields, values) => {
    const held = fields.map((field, k) => [field, values[k]]).filter(([, value]) => value !== undefined && value !== null);
    return Object.fromEntries(held.map(([field, value]) => [field, field === "law" ? at(value)
      : %s.includes(field) ? entries(value, (each) => each) : value]));
  };
  const single = (text, of) => {
    const run = (out, n, ...held) => { out[0] = of(...held.filter((_, k) => k %% 2 === 0).map(([value]) => value)); };
    return { ...law(text.replace(/(^| )(\\w+)/g, (_, space, number) => space + at(number)), run), of };
  };
  const stepOf = (values) => {
    const step = given(%s, values);
    return { ...step, said: step.said.map(filled) };
  };
  const drillOf = (topic, values) => {
    const drill = { topic, ...given(%s, values) };
    return { ...drill, ask: filled(drill.ask), wrong: drill.wrong.map((turn) => given(%s, [].concat(turn))),
      steps: drill.steps.map(stepOf) };
  };
""" % tuple(map(json.dumps, (_NAMED, _STEP, _FIELDS, _TURN)))


def written(laws: list[str], kept: dict[str, Any], held: dict[str, list[str]], data: dict[str, Any]) -> str:
    """The script of these laws, of units and domains, of these quantities, and of drills and what they need."""
    words, every = data["words"], data["drills"].values()
    drawn = (name for one in every for part in (one, *one["wrong"]) for field in _NAMED for name in part.get(field, ()))
    asked = (name for one in every for name in _BLANK.findall(one["ask"]))
    taken = (each for law in laws for each in LAWS[law].arguments)
    columns = (name for each in data["rows"].values() for name in each["columns"])
    names = list(dict.fromkeys([*words, *held, *laws, *taken, *drawn, *asked, *columns]))
    number = {name: _base36(at) for at, name in enumerate(names)}
    compiled = ",\n".join(f'"{number[law]}":single("{_arguments(law, number)}",{javascript.function(LAWS[law])})' for law in laws)
    said = ["" if words.get(name) == _spaced(name) else words.get(name, 0) for name in names]
    kinds = list(dict.fromkeys((unit, allowed) for unit, _, allowed in held.values()))
    kind = [kinds.index((held[name][0], held[name][2])) if name in held else -1 for name in names]
    packed: dict[str, dict] = {}
    for name, one in data["drills"].items():
        packed.setdefault(one["topic"], {})[name] = _values(one, number)
    rows = {kind: {**each, "columns": {number[name]: cells for name, cells in each["columns"].items()}}
            for kind, each in data["rows"].items()}
    more = {name: value for name, value in data.items() if name not in ("drills", "words")} | {"packed": packed, "rows": rows}
    return f"""{javascript.HEAD}  const names = {json.dumps(" ".join(names))}.split(" ");
{_HEAD}  gpucalc.laws = entries({{
{compiled} }}, (each) => each);
  gpucalc.data = {javascript.literal(kept | {"domains": {each: kept["domains"][each] for _, each in kinds}})};
  const kinds = {javascript.literal(kinds)}, kind = {javascript.literal(kind)}, words = {javascript.literal(said)};
  const spaced = (name) => name.replaceAll("_", " ");
  const those = (list, none, of) => Object.fromEntries(names.map((name, k) => [name, list[k]])
    .filter(([, each]) => each !== none).map(([name, each]) => [name, of(each, name)]));
  gpucalc.data.quantities = those(kind, -1, (each, name) => [kinds[each][0], spaced(name), kinds[each][1]]);
  const {{ packed, ...data }} = {_LONG.sub(_exponent, javascript.shared(more))};
  for (const each of Object.values(data.rows)) each.columns = entries(each.columns, (cells) => cells);
  data.words = those(words, 0, (each, name) => each || spaced(name));
  data.drills = Object.fromEntries(Object.entries(packed).flatMap(([topic, drills]) =>
    Object.entries(drills).map(([name, values]) => [name, drillOf(topic, values)])));
  gpucalc.drills = {{ data }};
}}
"""


def _base36(value):
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return (_base36(value // 36) if value >= 36 else "") + digits[value % 36]


def _spaced(name):
    return name.replace("_", " ")


def _exponent(found):
    return f"{found[1]}e{len(found[2])}"


def _arguments(law, number):
    held = LAWS[law]
    return " ".join(number[name] + (f"={held.defaults[name]!r}" if name in held.defaults else "") for name in held.arguments)


def _values(one, number):
    """A drill by its fields, its turns and steps so too."""
    turns = [_fields(turn, _TURN, number) for turn in one["wrong"]]
    steps = [_fields(step | {"said": [_numbered(text, number) for text in step["said"]]}, _STEP, number) for step in one["steps"]]
    wrong = [turn[0] if len(turn) == 1 else turn for turn in turns]
    return _fields(one | {"ask": _numbered(one["ask"], number), "wrong": wrong, "steps": steps}, _FIELDS, number)


def _numbered(text, number):
    return _BLANK.sub(lambda name: "{" + number.get(name[1], name[1]), text)


def _fields(held, fields, number):
    """The values of these fields, what it has not is None, up to the last that it has; names by their numbers."""
    last = max(at for at, field in enumerate(fields) if field in held)
    return [_field(field, held.get(field), number) for field in fields[:last + 1]]


def _field(field, value, number):
    if value is None or field not in ("law", *_NAMED):
        return _short(value)
    return number[value] if field == "law" else {number[name]: _short(each) for name, each in value.items()}


def _short(value):
    if isinstance(value, (list, tuple)):
        return [_short(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
