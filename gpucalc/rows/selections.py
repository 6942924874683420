"""What a page asks of a price book, so that it depends on the answers and not on the whole file.

A `selection` is a function that finds something in a book. While somebody watches, each call of one is said as a text that
`again` can call again, with a hash of what came of it. What a `derivation` returns is watched in its turn: only what is read of
it is said.
"""
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..core.quantities import DATA
from . import kept
from .written import PLAIN, WATCHED, CannotWrite, hashed, named as function_named, read, seen, written

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
    call = [f"{function.__module__}.{function.__qualname__}".removeprefix("gpucalc."), *held]
    return call if books and len(json.dumps(call)) <= _LONGEST else None


def _called(name, arguments, named):
    return function_named(f"gpucalc.{name}")(*map(read, arguments), **{key: read(each) for key, each in named.items()})


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
