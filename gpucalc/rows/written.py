"""Values as text: arguments as JSON from which they can be made again, and all that a value holds, for a hash of it."""
import hashlib
import importlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.evaluate import FINDERS, Case, Row, is_law, law_named
from ..core.quantities import DATA

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
    if hasattr(value, "_fields") and type(value).__module__.startswith("gpucalc."):
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
    from .selections import made_of
    return made_of(spec)


def named(path: str) -> Any:
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
    "named": lambda held: named(held[0])(*map(read, held[1]))}


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
