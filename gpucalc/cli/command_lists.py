"""Lists of formulas and of rows, and what a formula, a quantity or a row is, for the command `gpucalc`."""
import inspect

from ..core.evaluate import FINDERS, close
from ..core.expression import tree
from ..core.law import LAWS
from ..core.printer import in_words, words
from ..core.quantities import DEFAULTS, QUANTITIES
from ..rows import catalogue
from .command_output import aligned, number, printed

# What `list` calls the rows of each kind.
TABLES = {"gpus": "gpu", "models": "model", "links": "link", "recipes": "recipe", "formats": "weight_format",
          "efficiencies": "efficiency", "jobs": "job"}
# The kinds of row that have columns, and not just a name.
KINDS = [name for name in FINDERS if name in TABLES.values()]


def listed(given, options):
    """Formulas with these words, or rows of a table."""
    if given and given[0] in TABLES:
        return _rows(given[0], given[1:], options)
    records = [dict(name=name, topic=_topic(law), unit=QUANTITIES[name].unit, meaning=first_line(law))
               for name, law in LAWS.items()]
    found = [row for row in records
             if all(word.lower() in f"{row['name']} {row['topic']} {row['meaning']}".lower() for word in given)]
    if not found:
        raise ValueError(f"no formula has {' and '.join(given)} in name, topic or meaning{close(given[0], LAWS)}")
    return printed(options, lambda: "\n".join(aligned([(row["topic"], row["name"], row["meaning"]) for row in found])), found)


def _rows(table, given, options):
    frame = getattr(catalogue, table)()
    found = [name for name in frame.index if all(word.lower() in name.lower() for word in given)]
    if not found:
        raise ValueError(f"no row of {table} has {' and '.join(given)} in its name")
    records = [{frame.index.name: name} | FINDERS[TABLES[table]](name) for name in found] if options.json or options.csv else []
    return printed(options, lambda: "\n".join(found), records)


def shown(given, options):
    """What a formula, a quantity or a row is."""
    match given:
        case [name] if name in LAWS:
            return _shown_formula(LAWS[name], options)
        case [name] if name in QUANTITIES:
            record = _argument(name, {name: DEFAULTS[name].value} if name in DEFAULTS else {})
            cells = [(key, str(value)) for key, value in record.items() if value not in (None, "")]
            return printed(options, lambda: "\n".join(aligned(cells)), [record], record)
        case [kind, name] if kind in KINDS:
            row = FINDERS[kind](name)
            records = [dict(column=column, value=value, unit=QUANTITIES[column].unit if column in QUANTITIES else "")
                       for column, value in row.items()]
            cells = [(column, _cell(column, value)) for column, value in row.items() if value == value and value != ""]
            return printed(options, lambda: "\n".join(aligned(cells)), records, {kind: name} | row)
        case [name]:
            raise ValueError(f"{name!r}: unknown; allowed: a formula, a quantity, or {', '.join(KINDS)} and a name"
                             f"{close(name, QUANTITIES)}")
    raise ValueError(f"show takes a formula, a quantity, or {', '.join(KINDS)} and a name")


def _cell(column, value):
    return number(column, value) if column in QUANTITIES and not isinstance(value, str) else str(value)


def _shown_formula(law, options):
    name, arguments = law.__name__, [_argument(each, law.defaults) for each in law.arguments]
    whole = dict(name=name, topic=_topic(law), unit=QUANTITIES[name].unit, meaning=inspect.getdoc(law),
                 equation=words(tree(law)), arguments=arguments)

    def told():
        rows = [(each, QUANTITIES[each].unit or "count", number(each, law.defaults[each]) if each in law.defaults else "",
                 QUANTITIES[each].meaning) for each in law.arguments]
        return "\n".join([f"from gpucalc import {_topic(law)}; {_topic(law)}.{name}", "", whole["meaning"], "",
                          f"{in_words(name)} = {whole['equation']}", "",
                          *aligned([("argument", "unit", "default", "meaning"), *rows])])
    return printed(options, told, arguments, whole)


def _argument(name, defaults):
    quantity = QUANTITIES[name]
    sourced = DEFAULTS[name].source if name in DEFAULTS and name in defaults else ""
    return dict(name=name, unit=quantity.unit, default=defaults.get(name), meaning=quantity.meaning, allowed=quantity.allowed,
                source=sourced)


def _topic(law):
    return law.__module__.rpartition(".")[2]


def first_line(law):
    """What a formula means, in one line."""
    return inspect.getdoc(law).partition("\n")[0]
