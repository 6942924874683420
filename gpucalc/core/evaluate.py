"""A case: rows and inputs, held once, that answer any law; and the trace of where each value came from.

A law's arguments are found by name: in what was given, in the rows, as the value of the law of that name, or among the
sourced defaults. No value is found by accident: an unknown name, a blank cell and a name that two rows give are errors.
"""
import difflib
import functools
import reprlib
from collections import namedtuple
from collections.abc import Callable, Iterable
from os import PathLike
from types import FunctionType
from typing import Any

from .arithmetic import wide
from .figures import number
from .law import LAWS, Law
from .quantities import DEFAULTS, QUANTITIES, check

# What a case may name and how that row is found, by the catalogue; how a file is read and a band found, by who can.
FINDERS: dict[str, Callable] = {}
READERS: dict[str, Callable] = {}
# What two rows of a case tell together, by quantity: a function of its rows, which gives an `Input` or None.
JOINED: dict[str, Callable] = {}
# The source of a neutral default, which drops a term from a law.
LEFT_OUT = "left out"


class Row(dict):
    """A row of plain values by column, also as attributes. `name` is its key; `kind` what it is, such as "gpu"."""

    __slots__ = ("kind", "name")

    def __init__(self, values: dict, name: str | None = None, kind: str | None = None):
        super().__init__(values)
        self.name, self.kind = name, kind

    def __getattr__(self, column):
        if column in self:
            return self[column]
        raise AttributeError(f"{self.name}: no column {column!r}")

    def __reduce__(self):
        return Row, (dict(self), self.name, self.kind)


# One value a law was given and where it came from; the name of one law that was applied, its arguments by name, its result.
Input = namedtuple("Input", "name value source date")
Step = namedtuple("Step", "law arguments value")


class Explanation:
    """A figure, `value`, and how it came about: `steps`, the laws in order; `terms`, their values by name; `inputs`;
    `bound`, the laws that stand for inputs, by name of the input."""

    def __init__(self, bound: dict[str, str], steps: list[Step], inputs: list[Input]):
        self.steps, self.inputs, self.value = steps, inputs, steps[-1].value
        self.terms = {step.law: step.value for step in steps}
        taken = {name for step in steps for name in step.arguments}
        self.bound = {name: law for name, law in bound.items() if name in taken}

    def _repr_markdown_(self):
        """As a notebook shows it, where a package that is installed says how; else there is the plain text alone."""
        shown = plugin("explanation")
        return shown and shown(self)

    def __repr__(self):
        name, _, value = self.steps[-1]
        return f"{name} = {'a column' if hasattr(value, '__len__') else number(value, QUANTITIES[name].unit)}"


@functools.cache
def plugin(name: str) -> Callable | None:
    """The function that another package has declared under this name, as an entry point of the group `gpucalc.shown`; None where
    none is installed."""
    from importlib.metadata import entry_points
    return next((found.load() for found in entry_points(group="gpucalc.shown", name=name)), None)


class Case:
    """What somebody wants to know about; `case(law)` is the law's value for it.

    Case(model="Llama-3-70B", gpu="H100 SXM 80GB", context=8192, batch=32)(kv_cache.kv_bytes) is 85,899,345,920.

    rows: catalogue rows, tables or mappings; a row of the catalogue may be named by its kind instead (model=, gpu=, link=,
    recipe=, weight_format=, efficiency=, engine=). inputs: values by quantity, which may be columns. In place of a value stands a
    law, whose value is meant (context=mean_context), or one of the rows, when two have that name.
    Raises ValueError naming what is unknown, missing, blank or in two rows, and what is allowed.
    """

    def __init__(self, *rows: Any, **inputs: Any):
        self.rows: dict[Any, Any] = {}
        self.inputs: dict[str, Any] = {}
        for position, row in enumerate(rows):
            kind = row.kind if isinstance(row, Row) else None
            self.rows[position if kind is None or kind in self.rows else kind] = _checked("row", row)
        for name, value in inputs.items():
            if name in self.rows:
                raise ValueError(f"{name}: given as a row and by name; allowed: one of them")
            self._put(name, value)

    def _put(self, name, value):
        if name in FINDERS:
            self.rows[name] = FINDERS[name](value) if isinstance(value, str) else _checked(name, value)
        elif name in QUANTITIES:
            self.inputs[name] = value
        else:
            raise ValueError(f"{name}: unknown; allowed: the names in data/quantities.csv, "
                             f"{', '.join(FINDERS)}{close(name, [*QUANTITIES, *FINDERS])}")

    def but(self, **changes: Any) -> "Case":
        """The same case with other rows or inputs; None takes one away."""
        other = Case()
        other.rows, other.inputs = dict(self.rows), dict(self.inputs)
        for name, value in changes.items():
            if value is None and (name in FINDERS or name in QUANTITIES):
                other.rows.pop(name, None)
                other.inputs.pop(name, None)
            else:
                other._put(name, value)
        return other

    def __call__(self, law: Law | str) -> Any:
        return self._trace([law])[0][-1].value

    def terms(self, *laws: Law | str) -> dict[str, Any]:
        """Values by name of the laws and of every law they need."""
        return {step.law: step.value for step in self._trace(laws)[0]}

    def again(self, laws: Iterable[str], **moving: Any) -> Callable[..., dict[str, Any]]:
        """What works the laws out for other values of the inputs `moving`, and for some places of all columns: only what
        follows from them is worked out anew, and nothing is checked again.

        Returns a function of the values by name and the places, whose result is the values of the laws by name.
        """
        steps, used = self.but(**moving)._traced(laws)
        found = {name: each.name if isinstance(each, Input) else each.law for name, each in used.items()}
        anew = {}
        for step in steps.values():
            held = {name: found[name] for name in step.arguments}
            if any(name in moving or name in anew for name in held.values()):
                anew[step.law] = LAWS[step.law].formula, held, step.arguments
        still = {name: step.value for name, step in steps.items() if name not in anew}

        def worked(places, **values):
            def taken(value):
                return value[places] if getattr(value, "ndim", 0) else value

            done, fixed = dict(values), {}
            for law, (formula, held, known) in anew.items():
                arguments = {}
                for name, source in held.items():
                    if source in done:
                        arguments[name] = done[source]
                    else:
                        if name not in fixed:
                            fixed[name] = taken(known[name])
                        arguments[name] = fixed[name]
                done[law] = formula(**arguments)
            return {law: done[law] if law in done else taken(still[law]) for law in laws}
        return worked

    def band(self, law: Law | str) -> Any:
        """What to plan for, from how far off the law was where figures were published: a `Band` of gpucalc.rows.bands."""
        return READERS["band"](self, law_named(law))

    def explain(self, law: Law | str) -> Explanation:
        """The figure with its derivation: an `Explanation`, which a notebook shows as equations, numbers and sources."""
        return Explanation(self._bound(), *self._trace([law]))

    @classmethod
    def read(cls, path: str | PathLike) -> "Case":
        """The case in a YAML file: a mapping of names to values, `{law: NAME}` or `{row: KIND}`. Raises ValueError."""
        held = READERS["mapping"](path)
        try:
            return cls.of(held)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def of(cls, held: dict[str, Any]) -> "Case":
        """The case of plain values by name, as in a YAML file or a row of measurements."""
        case = cls()
        for name, value in sorted(held.items(), key=lambda item: item[0] not in FINDERS):
            case._put(str(name), case._meant(name, value))
        return case

    def _meant(self, name, value):
        """What stands for the name in a file: a value, a law or a row of the case."""
        match value:
            case str() if name not in QUANTITIES:
                return value
            case bool() | int() | float() if name not in FINDERS:
                return value
            case {"law": str(law), **rest} if not rest:
                return law_named(law, f"{name}: ")
            case {"row": str(kind), **rest} if not rest and kind in self.rows:
                return self.rows[kind]
        raise ValueError(f"{name}: {reprlib.repr(value)}; allowed: for a row its name; for a quantity a number, "
                         f"{{law: NAME}} or {{row: KIND}}, one of {', '.join(map(str, self.rows)) or 'no rows'}")

    def write(self, path: str | PathLike) -> None:
        """Write the case as YAML that `read` takes. Raises ValueError for what has no name there: tables and columns."""
        import yaml
        held = {}
        for kind, row in self.rows.items():
            if kind not in FINDERS or not isinstance(row, Row) or repr(FINDERS[kind](row.name)) != repr(row):
                raise ValueError(f"row {kind}: has no name to write; allowed: rows as they stand in the catalogue")
            held[kind] = row.name
        held |= {name: self._plain(name, value) for name, value in self.inputs.items()}
        try:
            with open(path, "w", encoding="utf-8") as file:
                yaml.safe_dump(held, file, sort_keys=False, allow_unicode=True)
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror}") from None

    def _plain(self, name, value):
        """The value as YAML holds it."""
        if is_law(value):
            return {"law": value.__name__}
        for kind, row in self.rows.items():
            if value is row:
                return {"row": kind}
        if not isinstance(wide(value), (bool, int, float)):
            raise ValueError(f"{name}: {_short(value)}; a file holds numbers, laws and rows of the case")
        return wide(value)

    def __repr__(self):
        held = {kind: getattr(row, "name", "a table") for kind, row in self.rows.items()} | self.inputs
        return f"Case({', '.join(f'{name}={_short(value)}' for name, value in held.items())})"

    def _trace(self, laws):
        """Steps and inputs of the laws, in the order in which they were needed."""
        steps, used = self._traced(laws)
        return list(steps.values()), list({each.name: each for each in used.values() if isinstance(each, Input)}.values())

    def _traced(self, laws):
        """Steps by law, and by name of an argument the input or step that gives it."""
        steps, used = {}, {}
        try:
            for each in map(law_named, laws):
                self._of_law(each, steps, used)
        except RecursionError:
            bound = ", ".join(f"{name}={law}" for name, law in self._bound().items())
            raise ValueError(f"{bound}: the law needs what it stands for") from None
        return steps, used

    def _bound(self):
        cells = [cell for held in (*self.rows.values(), self.inputs) for cell in held.items()
                 if isinstance(cell[1], str) and cell[1] in QUANTITIES]
        return dict(cells) | {name: law.__name__ for name, law in self.inputs.items() if is_law(law)}

    def _of_law(self, law, steps, used):
        """The law's step: its formula is applied once, and each value found and checked once, where it comes in."""
        if law.__name__ not in steps:
            for name in law.arguments:
                if name not in used:
                    used[name] = self._found(law, name, steps, used)
            arguments = {name: used[name].value for name in law.arguments}
            steps[law.__name__] = Step(law.__name__, arguments, law.formula(**arguments))
        return steps[law.__name__]

    def _found(self, law, name, steps, used):
        if is_law(self.inputs.get(name)):
            return self._of_law(self.inputs[name], steps, used)
        found = self._given(name) if name in self.inputs else self._in_rows(name, self.rows.values())
        if found is None and name in JOINED:
            found = JOINED[name](self.rows)
        if found is None and name in law.defaults:
            found = Input(name, law.defaults[name], *(DEFAULTS[name][1:] if name in DEFAULTS else (LEFT_OUT, "")))
        elif found is None and name in LAWS:
            return self._of_law(LAWS[name], steps, used)
        elif found is None:
            raise ValueError(f"{law.__name__} needs {name} ({QUANTITIES[name].meaning}), which is neither given nor in the rows")
        if isinstance(found.value, str) and found.value in QUANTITIES:
            return self._found(law, found.value, steps, used)
        check(name, found.value, law.__name__)
        return Input(name, wide(found.value), found.source, found.date)

    def _given(self, name):
        given = self.inputs[name]
        if isinstance(given, dict) and name not in given:
            raise ValueError(f"{name}: {_label(given)} has no such column")
        return self._in_rows(name, [given]) if isinstance(given, dict) else Input(name, given, "given", "")

    def _in_rows(self, name, rows):
        """The one value of that name in the rows; a blank cell and two different values are errors."""
        there = [row for row in rows if name in row]
        for row in there:
            if isinstance(row[name], float) and row[name] != row[name]:
                raise ValueError(f"{_label(row)}: {name} ({QUANTITIES[name].meaning}) is blank; give {name}")
        for other in there[1:]:
            same = there[0][name] == other[name]
            if not (same.all() if hasattr(same, "all") else same):
                raise ValueError(f"{name} ({QUANTITIES[name].meaning}) is in two rows: {there[0][name]!r} of {_label(there[0])} "
                                 f"and {other[name]!r} of {_label(other)}; give {name}, or the row to take it from")
        return _from_row(name, there[0]) if there else None


def is_law(value: Any) -> bool:
    """Whether the value is a law, which stands for its own value."""
    return isinstance(value, FunctionType) and hasattr(value, "formula")


def law_named(law: Any, where: str = "") -> Law:
    """The law itself, or the one of that name; `where` opens the message of the ValueError where there is none."""
    if not is_law(law) and law not in LAWS:
        raise ValueError(f"{where}law {law!r}: unknown{close(str(law), LAWS)}")
    return law if is_law(law) else LAWS[law]


def close(value: Any, names: Iterable[str]) -> str:
    """Up to four names like `value`, to suggest."""
    within = [name for name in names if str(value).lower() in name.lower()]
    similar = within or difflib.get_close_matches(str(value), list(names), cutoff=0.5)
    return f"; close: {', '.join(similar[:4])}" if similar else ""


def _short(value):
    return value.__name__ if is_law(value) else repr(getattr(value, "name", value))


def _label(row):
    return row.name if isinstance(getattr(row, "name", None), str) else "a row that was given"


def _checked(name, row):
    """What a case can hold as a row, under the name of its kind."""
    if not hasattr(row, "keys") or isinstance(row, Row) and name in FINDERS and row.kind not in (None, name):
        raise ValueError(f"{name}: {_short(row)}; allowed: a row of that kind, a table or a mapping of names to values")
    return row


def _from_row(name, row):
    source = "; ".join(part for part in (getattr(row, "name", None), row.get("source")) if isinstance(part, str) and part)
    return Input(name, row[name], source or "given", row["date"] if isinstance(row.get("date"), str) else "")
