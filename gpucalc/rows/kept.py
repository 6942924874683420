"""Results that a process keeps, and that those forked from it have: each use still says which files they were read from.

Who wants to know listens for audit events: `gpucalc.read` comes with the path of a file, `gpucalc.book` with that of one of
which only what is asked for counts, `gpucalc.asked` with the call that asks and a hash of what came of it. The last two come
where a watcher writes them down.
"""
import contextlib
import functools
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import TypeVar

Function = TypeVar("Function", bound=Callable)

# The files behind what is being worked out, and the calls with their hashes; what of both this process has said already.
_behind: set[str | tuple[str, str]] = set()
_told: set[str | tuple[str, str]] = set()
# Who writes down what is asked of price books, if anybody does: `ask` and `ask_by_parts` take a function and its arguments, and
# give the value of a selection and of a derivation; `watched_book` takes a book, how it was asked for and its files, and gives
# one that says what is read of it. Whether a selection is at work, and the files that may be opened without being read.
now = SimpleNamespace(watcher=None, answered=False, silent=frozenset())


def kept(function: Function) -> Function:
    """`functools.cache` for what is made from files that `reads` names, by itself or through others of these."""
    held: dict = {}

    @functools.wraps(function)
    def again(*arguments, **named):
        key = (arguments, *sorted(named.items())) if named else arguments
        if key not in held:
            held[key] = made(function, arguments, named)
        value, behind = held[key]
        _tell(behind)
        return value

    again.cache_clear = held.clear  # type: ignore[attr-defined]
    return again  # type: ignore[return-value]


def reads(path: str | os.PathLike) -> None:
    """Says that the file is read now; opening it tells others so."""
    _behind.add(os.path.abspath(path))


def is_read(*paths: str | os.PathLike) -> None:
    """Says that files count as read now, though they were opened before."""
    _tell(frozenset(os.path.abspath(path) for path in paths))


def is_asked(call: str, outcome: str) -> None:
    """Says that the call of a selection is asked now."""
    _tell(frozenset([(call, outcome)]))


def selection(function: Function) -> Function:
    """Has a function that finds something in a book be asked by the watcher, instead of what it reads of the book."""
    @functools.wraps(function)
    def asked(*arguments, **named):
        return now.watcher.ask(function, arguments, named) if now.watcher else function(*arguments, **named)
    return asked  # type: ignore[return-value]


def derivation(function: Function) -> Function:
    """As `selection`, for a table or named tuple of which a page reads parts."""
    @functools.wraps(function)
    def asked(*arguments, **named):
        return now.watcher.ask_by_parts(function, arguments, named) if now.watcher else function(*arguments, **named)
    return asked  # type: ignore[return-value]


@contextlib.contextmanager
def _while(**given):
    outer = {name: getattr(now, name) for name in given}
    vars(now).update(given)
    try:
        yield
    finally:
        vars(now).update(outer)


def answering(whether: bool = True) -> AbstractContextManager[None]:
    """While a selection is at work, which answers for all that it reads of books."""
    return _while(answered=whether)


def silence(*paths: str | os.PathLike) -> AbstractContextManager[None]:
    """Lets files be opened as books: whoever uses what they hold says so."""
    for path in paths:
        sys.audit("gpucalc.book", os.path.abspath(path))
    return unread(*paths)


def unread(*paths: str | os.PathLike) -> AbstractContextManager[None]:
    """Lets files be opened without being read: nothing that they hold is used."""
    return _while(silent=frozenset(os.path.abspath(path) for path in paths))


def stamp(path: Path) -> tuple:
    """What tells one state of a file from another, as an argument of what is kept of it."""
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size, status.st_ino


def forget_told() -> None:
    """Has every file said again at its next use, as a process does that is forked."""
    _told.clear()


def made(function: Callable, arguments: tuple = (), named: Mapping = MappingProxyType({})) -> tuple:
    """The value and the files behind it, which are also behind what it is asked for."""
    outer = set(_behind)
    _behind.clear()
    try:
        with answering(False):    # others ask for it outside of what asks now
            value = function(*arguments, **named)
        return value, frozenset(_behind)
    finally:
        _behind.difference_update(now.silent)
        _behind.update(outer)


def _tell(items):
    items -= now.silent
    _behind.update(items)
    for item in items - _told:
        _told.add(item)
        sys.audit("gpucalc.read", item) if isinstance(item, str) else sys.audit("gpucalc.asked", *item)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_told)
