"""Results that a process keeps, and that those forked from it have: each use still says which files they were read from.

Who wants to know listens for the audit event `gpucalc.read`, which comes with the path of a file.
"""
import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import TypeVar

Function = TypeVar("Function", bound=Callable)

# The files behind what is being worked out, and those that this process has said already.
_behind: set[str] = set()
_told: set[str] = set()
# The files that may be opened without being read.
now = SimpleNamespace(silent=frozenset())


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


@contextlib.contextmanager
def unread(*paths: str | os.PathLike) -> Iterator[None]:
    """Lets files be opened without being read: nothing that they hold is used."""
    outer, now.silent = now.silent, frozenset(os.path.abspath(path) for path in paths)
    try:
        yield
    finally:
        now.silent = outer


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
        return function(*arguments, **named), frozenset(_behind)
    finally:
        _behind.difference_update(now.silent)
        _behind.update(outer)


def _tell(items):
    items -= now.silent
    _behind.update(items)
    for item in items - _told:
        _told.add(item)
        sys.audit("gpucalc.read", item)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_told)
