"""Results that a process keeps, and that those forked from it have: each use still says which files they were read from.

Who wants to know listens for the audit event `gpucalc.read`, which comes with the path of a file.
"""
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Function = TypeVar("Function", bound=Callable)

# The files behind what is being worked out, and those that this process has said already.
_behind: set[str] = set()
_told: set[str] = set()


def kept(function: Function) -> Function:
    """`functools.cache` for what is made from files that `reads` names, by itself or through others of these."""
    held: dict = {}

    @functools.wraps(function)
    def again(*arguments, **named):
        key = (arguments, *sorted(named.items())) if named else arguments
        if key not in held:
            held[key] = _made(function, arguments, named)
        value, files = held[key]
        if not files <= _behind:
            _behind.update(files)
        if not files <= _told:
            _tell(files - _told)
        return value

    again.cache_clear = held.clear  # type: ignore[attr-defined]
    return again  # type: ignore[return-value]


def reads(path: str | os.PathLike) -> None:
    """Says that the file is read now."""
    _behind.add(os.path.abspath(path))


def stamp(path: Path) -> tuple:
    """What tells one state of a file from another, as an argument of what is kept of it."""
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size, status.st_ino


def forget_told() -> None:
    """Has every file said again at its next use, as a process does that is forked."""
    _told.clear()


def _made(function, arguments, named):
    """The value and the files behind it, which are also behind what it is asked for."""
    outer = set(_behind)
    _behind.clear()
    try:
        value = function(*arguments, **named)
        return value, frozenset(_behind)
    finally:
        _behind.update(outer)


def _tell(files):
    _told.update(files)
    for file in sorted(files):
        sys.audit("gpucalc.read", file)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_told)
