"""The command `gpucalc`: a formula's value with its steps and sources, and lists of what there is."""
import argparse
import ast
import csv
import inspect
import io
import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

from .core.evaluate import Case, close, FINDERS, law_named, LEFT_OUT
from .core.expression import is_absent, names, tree, written
from .core.figures import number as with_unit, unit_symbol
from .core.law import LAWS, Law
from .core.printer import in_words, words
from .core.quantities import DEFAULTS, QUANTITIES
from .rows import catalogue


# What the command prints: text, CSV or JSON; numbers with their units, and columns.


class Printed(NamedTuple):
    """An answer: what makes its text, its records, and the whole of it where that is more."""

    text: Callable[[], str]
    records: list[dict]
    whole: Any = None

    def data(self) -> Any:
        """The whole of it as JSON has it."""
        return _plain(self.records if self.whole is None else self.whole)

    def csv(self) -> str:
        """Its records as CSV."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(self.records[0]) if self.records else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: "" if value != value else value for name, value in row.items()} for row in self.records)
        return out.getvalue().rstrip("\n")


def _plain(value):
    """The value as JSON has it: infinity as text, a blank as null."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value).replace("inf", "Infinity")
    return value


def number(name: str, value: Any) -> str:
    """The value of a quantity with its unit."""
    return with_unit(value, QUANTITIES[name].unit)


def aligned(rows: list[tuple]) -> list[str]:
    """The cells of the rows in columns, the last one ragged."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows]


# Lists of formulas and of rows, and what a formula, a quantity or a row is, for the command `gpucalc`.

# What `list` calls the rows of each kind.
TABLES = {"gpus": "gpu", "models": "model", "links": "link", "recipes": "recipe", "formats": "weight_format",
          "efficiencies": "efficiency", "engines": "engine", "jobs": "job"}
# The kinds of row that have columns, and not just a name.
KINDS = [name for name in FINDERS if name in TABLES.values()]


def listed(given: list[str]) -> Printed:
    """Formulas with these words, or rows of a table."""
    if given and given[0] in TABLES:
        return _rows(given[0], given[1:])
    records = [dict(name=name, topic=_topic(law), unit=QUANTITIES[name].unit, meaning=first_line(law))
               for name, law in LAWS.items()]
    found = [row for row in records
             if all(word.lower() in f"{row['name']} {row['topic']} {row['meaning']}".lower() for word in given)]
    if not found:
        raise ValueError(f"no formula has {' and '.join(given)} in name, topic or meaning{close(given[0], LAWS)}")
    return Printed(lambda: "\n".join(aligned([(row["topic"], row["name"], row["meaning"]) for row in found])), found)


def _rows(table, given):
    found = [name for name in catalogue.rows(table) if all(word.lower() in name.lower() for word in given)]
    if not found:
        raise ValueError(f"no row of {table} has {' and '.join(given)} in its name")
    return Printed(lambda: "\n".join(found), [{TABLES[table]: name} | FINDERS[TABLES[table]](name) for name in found])


def of_name(given: list[str]) -> Printed:
    """What a formula, a quantity or a row is."""
    match given:
        case [name] if name in LAWS:
            return _shown_formula(LAWS[name])
        case [name] if name in QUANTITIES:
            record = _argument(name, {name: DEFAULTS[name].value} if name in DEFAULTS else {})
            cells = [(key, str(value)) for key, value in record.items() if value not in (None, "")]
            return Printed(lambda: "\n".join(aligned(cells)), [record], record)
        case [kind, *parts] if kind in KINDS and parts:
            row = FINDERS[kind](" ".join(parts))
            records = [dict(column=column, value=value, unit=QUANTITIES[column].unit if column in QUANTITIES else "")
                       for column, value in row.items()]
            cells = [(column, number(column, value) if column in QUANTITIES and not isinstance(value, str) else str(value))
                     for column, value in row.items() if value == value and value != ""]
            return Printed(lambda: "\n".join(aligned(cells)), records, {kind: row.name} | row)
        case [name]:
            raise ValueError(f"{name!r}: unknown; allowed: a formula, a quantity, or {', '.join(KINDS)} and a name"
                             f"{close(name, QUANTITIES)}")
    raise ValueError(f"show takes a formula, a quantity, or {', '.join(KINDS)} and a name")


def _shown_formula(law):
    name, arguments = law.__name__, [_argument(each, law.defaults) for each in law.arguments]
    whole = dict(name=name, topic=_topic(law), unit=QUANTITIES[name].unit, meaning=inspect.getdoc(law),
                 equation=words(tree(law)), arguments=arguments)

    def told():
        rows = [(each, QUANTITIES[each].unit or "count", number(each, law.defaults[each]) if each in law.defaults else "",
                 QUANTITIES[each].meaning) for each in law.arguments]
        return "\n".join([f"from gpucalc import {_topic(law)}; {_topic(law)}.{name}", "", whole["meaning"], "",
                          f"{in_words(name)} = {whole['equation']}", "",
                          *aligned([("argument", "unit", "default", "meaning"), *rows])])
    return Printed(told, arguments, whole)


def _argument(name, defaults):
    quantity = QUANTITIES[name]
    sourced = DEFAULTS[name].source if name in DEFAULTS and name in defaults else ""
    return dict(name=name, unit=quantity.unit, default=defaults.get(name), meaning=quantity.meaning, allowed=quantity.allowed,
                source=sourced)


def _topic(law):
    return law.__module__.rpartition(".")[2]


def first_line(law: Law) -> str:
    """What a formula means, in one line."""
    return (inspect.getdoc(law) or "").partition("\n")[0]


# The command: words of the command line, and the value of a formula with its steps and sources.

USAGE = f"""\
gpucalc FORMULA [--NAME VALUE ...]   the formula's value, every step of it, and the source of every input
gpucalc list [WORD ...]              formulas with these words in name, topic or meaning
gpucalc list TABLE [WORD ...]        rows of {', '.join(TABLES)}
gpucalc show FORMULA                 its equation, arguments, defaults and source
gpucalc show QUANTITY                its unit, meaning, allowed values and default
gpucalc decide CASE.yaml             which GPUs, how many, from whom and for how much: gpucalc decide --help
gpucalc ask "WORDS"                  the same of a line of free words, such as "70b chat, 10 requests a second"
gpucalc read-log FILE                what vLLM says of memory as it starts, beside the formulas; options add what it lacks
gpucalc mcp                          the same as tools for assistants, by the Model Context Protocol on stdin and stdout
gpucalc show KIND NAME               a row: {', '.join(KINDS)}

{textwrap.fill(f"--{', --'.join(FINDERS)}", 110, break_on_hyphens=False)}
              NAME of a row, or a choice in words; --model also takes the path of a Hugging Face config.json
--QUANTITY    a number in SI units (8192, 8_192, 80e9), law:NAME for the value of that formula, or row:KIND for the
              value in that row
--case FILE   a case in YAML, as Case.read takes it; options overrule it
--json --csv  for scripts: SI units, full precision

gpucalc kv_bytes --model Llama-3-70B --gpu "H100 SXM 80GB" --context 8192 --batch 32
gpucalc kv_bytes --model Llama-3-70B --prompt 2000 --output 1000 --batch 32 --context law:mean_context
"""


def main(given: list[str] | None = None) -> int:
    """Run the command with these words, else with those of the command line; returns its exit status, 2 for bad input."""
    try:
        print(answer(sys.argv[1:] if given is None else given))
        sys.stdout.flush()
    except ValueError as error:
        print(f"gpucalc: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def answer(given: list[str]) -> str:
    """What the command prints for these words: as text, CSV or JSON. Raises ValueError."""
    options = _options(given)
    found = _answer(options)
    if isinstance(found, str):
        return found
    if options.json:
        return json.dumps(found.data(), indent=2, ensure_ascii=False)
    return found.csv() if options.csv else found.text()


def told(given: list[str]) -> tuple[str, Any]:
    """The answer to these words as text and as data. Raises ValueError."""
    found = _answer(_options(given))
    return found.text(), found.data()


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise ValueError(message.removeprefix("argument "))


def _options(given):
    """The words of the command line: `words`, `inputs` by name, and the switches."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    for switch in (("-h", "--help"), ("--json",), ("--csv",)):
        parser.add_argument(*switch, action="store_true")
    parser.add_argument("--case")
    asked = {word.removeprefix("--").partition("=")[0] for word in given}  # a switch for every name takes long to make
    for name in asked & {*FINDERS, *QUANTITIES}:
        parser.add_argument(f"--{name}", action="append", type=str if name in FINDERS else _value)
    options, unknown = parser.parse_known_intermixed_args(given)
    if unknown:
        raise ValueError(f"{unknown[0]}: unknown{close(unknown[0].strip('-').partition('=')[0], [*FINDERS, *QUANTITIES])}")
    if options.json and options.csv:
        raise ValueError("--json and --csv: both given; allowed: one of them")
    held = {name: values for name, values in vars(options).items() if isinstance(values, list) and name != "words"}
    for name, values in held.items():
        if len(values) > 1:
            raise ValueError(f"--{name}: given {len(values)} times; allowed: once")
    options.inputs = {name: values[0] for name, values in held.items()}
    return options


def _value(text):
    """A number, or what stands for one as it stands there."""
    if re.fullmatch(r"(law|row):\w+", text):
        return text
    if re.fullmatch(r"[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) and len(text) < 400:
        plain = text.replace("_", "")
        if math.isfinite(float(plain)):
            return int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    raise argparse.ArgumentTypeError(f"{text!r}; allowed: a number such as 8192 or 80e9, law:NAME or row:KIND")


def _answer(options):
    """What the command answers: a text, or what prints as one."""
    about, *rest = options.words or [""]
    if options.help or not about:
        return USAGE.rstrip()
    if about == "read-log":
        from . import cli_log
        return cli_log.told(rest, _case(options), options)
    if about not in ("list", "show"):
        if rest:
            raise ValueError(f"{rest[0]!r}: a word too many; inputs are given as --NAME VALUE")
        return _formula(law_named(about), options)
    if options.inputs or options.case:
        raise ValueError(f"{about} takes no inputs")
    return (listed if about == "list" else of_name)(rest)


# A formula's value

def _formula(law, options):
    case = _case(options)
    explanation = case.explain(law)
    left_out = [used.name for used in explanation.inputs if used.source == LEFT_OUT]
    steps, counted = _counted(explanation, left_out)
    terms = [_term(step, left_out) for step in steps]
    inputs = [dict(name=used.name, value=used.value, unit=QUANTITIES[used.name].unit, source=used.source, date=used.date)
              for used in explanation.inputs if used.name in counted]
    blank = dict.fromkeys(("role", "name", "value", "unit", "equation", "numbers", "source", "date"), "")
    roles = (("result", terms[:1]), ("term", terms[1:]), ("input", inputs))
    records = [blank | {"role": role} | row for role, rows in roles for row in rows]
    band = case.band(law)
    named = {name: value for name, value in band._asdict().items() if value is not None} if band.checked else None
    whole = terms[0] | dict(text=number(law.__name__, explanation.value), band=named, terms=terms[1:], inputs=inputs)
    return Printed(lambda: _told(law, explanation, terms, counted, left_out, band), records, whole)


def _case(options):
    """The case of the file and the options."""
    case = Case.read(options.case) if options.case else Case()
    case = case.but(**{name: value for name, value in options.inputs.items() if name in FINDERS})
    return case.but(**{name: _meant(case, name, value) for name, value in options.inputs.items() if name not in FINDERS})


def _meant(case, name, value):
    """The number, or the formula or row that stands for it."""
    kind, _, meant = value.partition(":") if isinstance(value, str) else ("", "", "")
    if kind == "law":
        return law_named(meant, f"--{name}: ")
    if kind == "row" and meant not in case.rows:
        raise ValueError(f"--{name}: row:{meant}; allowed: a row that is given: {', '.join(case.rows) or 'none'}")
    return case.rows[meant] if kind == "row" else value


def _counted(explanation, left_out):
    """The steps, the result first, and all names, without what comes to nothing because a feature is absent."""
    steps, counted = [], {explanation.steps[-1].law, *left_out}
    for step in reversed(explanation.steps):
        if step.law in counted:
            general, holding, _ = written(step, left_out)
            counted |= {explanation.bound.get(name, name) for name in (*names(general), *names(holding))}
            steps.append(step)
    return steps, counted


def _term(step, left_out):
    """Name, value and unit of a step, its equation in words, and the same with the numbers put in."""
    general, holding, values = written(step, left_out)
    decided = isinstance(holding, ast.Constant)
    numbers = number(step.law, step.value) if decided else words(holding, lambda name: number(name, values[name]))
    return dict(name=step.law, value=step.value, unit=QUANTITIES[step.law].unit,
                equation=words(general if decided and names(general) else holding), numbers=numbers)


def _told(law, explanation, terms, counted, left_out, band):
    """The answer for people to read."""
    text = number(law.__name__, explanation.value)
    full = _in_full(explanation.value, QUANTITIES[law.__name__].unit)
    shown = [used for used in explanation.inputs if used.name in counted and used.name not in left_out and not is_absent(used)]
    equal = [f"{in_words(name)} = {in_words(other)}" for name, other in explanation.bound.items()]
    lines = [f"{law.__name__} = {text}" + (f" ({full})" if full != text else ""), first_line(law), "",
             *map(_steps, terms), *equal, "", *_expected(law, band)]
    lines += aligned([(used.name, number(used.name, used.value), used.date, used.source) for used in shown])
    return "\n".join([*lines, *([f"Left out: {', '.join(map(in_words, left_out))}."] if left_out else [])])


def _expected(law, band):
    """What to plan for, where published figures of the formula's kind stand behind it."""
    if not band.checked:
        return []
    low, plan, high = (number(law.__name__, value) for value in band[:3])
    bound = "" if band.bound is None else f"; the bound is {number(law.__name__, band.bound)}"
    return [f"Plan for {plan}: by {band.rows} published figures of {band.sources} sources ({band.family}),",
            f"8 in 10 lie between {low} and {high}{bound}.", ""]


def _steps(term):
    value = number(term["name"], term["value"])
    ends = [term["numbers"], value] if term["numbers"] not in (value, term["equation"]) else [value]
    return f"{in_words(term['name'])} = {term['equation']}\n    = " + " = ".join(ends)


def _in_full(value, unit):
    if not math.isfinite(value):
        return with_unit(value, unit)
    digits = f"{int(value):,}" if value == int(value) and abs(value) < 2**53 else repr(float(value))
    return f"{digits} {unit_symbol(unit)}".rstrip()
