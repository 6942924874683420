"""What a page asks of a price book, by call: arguments as text, a hash of the answer, and a book that says what was read."""
import functools
import hashlib
import importlib
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..core.evaluate import Case, FINDERS, is_law, law_named, Row
from ..core.quantities import DATA
from . import kept


# Values as text: arguments as JSON from which they can be made again, and all that a value holds, for a hash of it.

# How the kind of a named tuple that is watched begins.
WATCHED = "Watched"
PLAIN = (bool, int, float, str, type(None))


class CannotWrite(TypeError):
    """A value that has no text from which it can be made again."""


def written(value: Any, books: list) -> Any:
    """The value for JSON: plain values as they are, any other as a mapping of its kind to what it is made from.

    What is watched is added to `books`. Raises CannotWrite.
    """
    if type(value) in PLAIN:
        return value
    if "spec" in getattr(value, "__dict__", ()):
        books.append(value)
        return {"spec": value.spec}
    if isinstance(value, Row):
        return {"row": [value.kind, value.name, *([] if _is_named(value) else [written(dict(value), books)])]}
    if isinstance(value, Case):
        return {"case": [written(value.rows, books), written(value.inputs, books)]}
    if type(value) is dict:
        return {"dict": [[written(name, books), written(each, books)] for name, each in value.items()]}
    if type(value) is list:
        return [written(each, books) for each in value]
    if type(value) is tuple:
        return {"tuple": [written(each, books) for each in value]}
    if is_law(value):
        return {"law": value.__name__}
    if hasattr(value, "_fields") and type(value).__module__.startswith(("gpucalc.", "book.")):
        return {"named": [f"{type(value).__module__}.{type(value).__qualname__}", [written(each, books) for each in value]]}
    if isinstance(value, Path) and value.is_relative_to(DATA):
        return {"path": value.relative_to(DATA).as_posix()}
    if getattr(value, "shape", None) == () and type(value.item()) in PLAIN:
        return {type(value).__name__: value.item()}
    raise CannotWrite(type(value).__name__)


def read(value: Any) -> Any:
    """The value that was written."""
    if isinstance(value, list):
        return [read(each) for each in value]
    if not isinstance(value, dict):
        return value
    (kind, held), = value.items()
    return _READ[kind](held) if kind in _READ else _scalar(kind, held)


def _is_named(row):
    """Whether a row stands like this under its name in the catalogue."""
    if row.kind not in FINDERS or not isinstance(row.name, str):
        return False
    try:
        return repr(FINDERS[row.kind](row.name)) == repr(row)
    except ValueError:
        return False


def _scalar(kind, held):
    import numpy
    return getattr(numpy, kind)(held)


def _made(spec):
    return made_of(spec)


def function_named(path: str) -> Any:
    """The function or class of a path such as `gpucalc.rows.rents.rents`."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _row(held):
    kind, name, *values = held
    return Row(read(values[0]), name, kind) if values else FINDERS[kind](name)


def _case(held):
    case = Case()
    case.rows, case.inputs = map(read, held)
    return case


_READ: dict[str, Callable] = {
    "spec": _made, "row": _row, "case": _case, "law": law_named, "tuple": lambda held: tuple(map(read, held)),
    "dict": lambda held: {read(name): read(each) for name, each in held}, "path": DATA.joinpath,
    "named": lambda held: function_named(held[0])(*map(read, held[1]))}


def hashed(text: str) -> str:
    """A short hash of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def seen(value: Any) -> str:
    """All that a value holds; what is nothing but an object is like no other."""
    kind = type(value)
    if kind is float:
        return f"{value:#.12g}"    # the digits behind differ from one processor to another
    if kind in PLAIN:
        return repr(value)
    if isinstance(value, dict):
        more = f" {value.name!r} {value.kind!r}" if isinstance(value, Row) else ""
        return f"{kind.__name__}{more}{{{','.join(f'{seen(name)}:{seen(each)}' for name, each in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"{kind.__name__.removeprefix(WATCHED)}[{','.join(map(seen, value))}]"
    if isinstance(value, BaseException):
        return f"{kind.__name__} {value}"
    if isinstance(value, (types.FunctionType, type)):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "itertuples"):
        columns = [f"{name!r} {_cells(value.iloc[:, place])}" for place, name in enumerate(value.columns)]
        return f"{seen(value.attrs)}{seen(value.index)}{columns}"
    if hasattr(value, "to_frame"):
        more = f"{seen(value.attrs)}{seen(value.index)}" if hasattr(value, "index") else ""
        return f"{kind.__name__} {value.name!r}{more}{_cells(value)}"
    if hasattr(value, "dtype"):
        return f"{kind.__name__}{value.shape}{_cells(value)}"
    return f"{kind.__name__}{seen(vars(value))}" if hasattr(value, "__dict__") else f"{kind.__name__} {value!r}"


def _cells(cells):
    held = cells.tolist()
    return f"{cells.dtype} {seen(held) if cells.dtype.kind in 'Of' else held!r}"


# What a page asks of a price book, so that it depends on the answers and not on the whole file.
#
# A `selection` is a function that finds something in a book. While somebody watches, each call of one is said as a text that
# `again` can call again, with a hash of what came of it. What a `derivation` returns is watched in its turn: only what is read
# of it is said.

Function = TypeVar("Function", bound=Callable)

# What of all that a book carries goes with what is found in it.
CARRIED = ("file", "date", "own")
# A longer call is not written: it is any function then.
_LONGEST = 4000
# Hashes of what came of calls: the files of a process that is watched do not change.
_known: dict[str, str] = {}
# What tables and tuples are, by their names, which begin with this.
NAME = "@"
_specs: dict[str, str] = {}


def selection(function: Function) -> Function:
    """Has the calls of the function said instead of what it reads of the books that it is given.

    Inside another selection, without a book, or with an argument that can't be written, it is any function.
    """
    @functools.wraps(function)
    def asked(*arguments, **named):
        call = _call(function, arguments, named)
        return function(*arguments, **named) if call is None else _result(function, arguments, named, json.dumps(call))
    return asked  # type: ignore[return-value]


def derivation(function: Function) -> Function:
    """As `selection`, but of a table or named tuple that comes of it only what is read is said, by and by."""
    @functools.wraps(function)
    def asked(*arguments, **named):
        call = _call(function, arguments, named)
        if call is None:
            return function(*arguments, **named)
        spec = known_as({"of": call})
        return watched(_result(function, arguments, named, json.dumps(["kind", spec]), _kind), spec)
    return asked  # type: ignore[return-value]


def again(call: str) -> str:
    """The hash of what comes of a call now, by its text. `define` says what names in it stand for."""
    name, *rest = json.loads(call)
    whole = name == "kind"
    value, error = _outcome(made_of, rest, {}) if whole else _outcome(_called, [name, *rest], {})
    return _hash(value, error, _kind if whole else seen)


def known_as(spec: Any) -> str:
    """A short name for what a table or tuple is, which is said with what it stands for: a book by its path and how it is taken,
    rows of a table, a part of a tuple, or what comes of a call."""
    text = json.dumps(spec, ensure_ascii=False)
    name = NAME + hashed(text)[:8]
    define({name: text})
    kept.is_asked(name, text)
    return name


def define(names: dict[str, str]) -> None:
    """What names of tables and tuples stand for, as they were said."""
    _specs.update(names)


def silently(function: Callable, *arguments: Any) -> Any:
    """The function's value, of whose reading nothing is said."""
    value, error = _outcome(function, arguments, {})
    if error is not None:
        raise error
    return value


def is_watchable(value: Any) -> bool:
    """Whether it can be said which parts of the value are read: of tables, and of named tuples that hold more than plain ones."""
    if hasattr(value, "itertuples"):
        return True
    return hasattr(value, "_fields") and not all(type(each) in PLAIN for each in tuple.__iter__(value))


def watched(value: Any, spec: str) -> Any:
    """The value, known as `spec`, so that what is read of it is said, if it can be; else as it is."""
    from .book_frame import watched_frame, watched_tuple
    if not is_watchable(value) or "spec" in getattr(value, "__dict__", ()):
        return value
    return (watched_frame if hasattr(value, "itertuples") else watched_tuple)(value, spec)


def said_kind(value: Any, spec: str) -> Any:
    """`watched`, after it was said what kind of value it is."""
    kept.is_asked(json.dumps(["kind", spec]), _hash(value, None, _kind))
    return watched(value, spec)


def in_project(path: Path) -> str:
    """A path from the project's root on, where it is inside."""
    path, root = Path(path).resolve(), DATA.resolve().parent
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


@functools.cache
def made_of(name: str) -> Any:
    """The table or tuple of that name."""
    from .price_book import prices
    held = json.loads(_specs[name])
    if isinstance(held, list):
        path, *how = held
        return prices(DATA.parent / path, *how)
    (kind, made), = held.items()
    if kind == "of":
        return _called(*made)
    whole = made_of(made[0])
    return getattr(whole, made[1]) if kind == "part" else whole.iloc[_places(made[1])]


def ranges(places: Any) -> str:
    """Numbers as text, those that follow each other as `2-7`."""
    runs: list[list[int]] = []
    for place in map(int, places):
        if runs and place == runs[-1][-1] + 1:
            runs[-1][1:] = [place]
        else:
            runs.append([place])
    return ",".join("-".join(map(str, run)) for run in runs)


def _places(text):
    ends = [[int(end) for end in run.split("-")] for run in text.split(",") if run]
    return [place for first, *last in ends for place in range(first, (last or [first])[0] + 1)]


def _call(function, arguments, named):
    """The call as JSON holds it; None where nobody watches it, without a book, and for arguments that can't be written."""
    if kept.answered() or not kept.watched():
        return None
    books: list = []
    try:
        held = [written(each, books) for each in arguments], {key: written(each, books) for key, each in named.items()}
    except CannotWrite:
        return None
    call = [f"{function.__module__}.{function.__qualname__}", *held]
    return call if books and len(json.dumps(call)) <= _LONGEST else None


def _called(name, arguments, named):
    return function_named(name)(*map(read, arguments), **{key: read(each) for key, each in named.items()})


def _result(function, arguments, named, call, of=seen):
    value, error = _outcome(function, arguments, named)
    if call not in _known:
        _known[call] = _hash(value, error, of)
    kept.is_asked(call, _known[call])
    if error is not None:
        raise error
    return _carrying(value)


def _carrying(value):
    """A table without what its book carries of all its rows."""
    if "own" in getattr(value, "attrs", ()):
        value = value.copy(deep=False)
        value.attrs = {name: value.attrs[name] for name in CARRIED}
    return value


def _outcome(function, arguments, named):
    with kept.answering():
        try:
            return function(*arguments, **named), None
        except Exception as error:
            return None, error


def _hash(value, error, of=seen):
    """The hash of what came of a call; empty for what can't be seen to its end, which is never the same again."""
    try:
        return hashed(seen(error) if error is not None else silently(of, _carrying(value)))
    except RecursionError:
        return ""


def _kind(value):
    if not is_watchable(value):
        return seen(value)
    return "table" if hasattr(value, "itertuples") else type(value).__name__.removeprefix(WATCHED)
