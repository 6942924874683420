"""Results that outlive their process: kept in a folder by the hash of all that they follow from, so that none is ever stale.

What they follow from is what a caller names, the library's code, the rows of data/ but for prices, which callers name, and the
versions of Python and of what counts. A checkout keeps them in _build/store; a library that is installed in the user's cache.
GPUCALC_STORE names another folder; where it is empty nothing is kept.
"""
import contextlib
import functools
import hashlib
import itertools
import json
import os
import pickle
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..core.quantities import DATA
from .kept import is_read, kept, made, unread

Function = TypeVar("Function", bound=Callable)

WHERE = "GPUCALC_STORE"
# Names a file with GPUs of the reader's own, for this process.
OWN_GPUS = "GPUCALC_GPUS"
CODE = [Path(__file__).parents[1] / name for name in ("core", "laws", "rows", "decisions")]
LIBRARIES = ("numpy", "pandas")
# Results that are kept, of which the ones used longest ago go, and after how many new ones that is looked at.
MOST, EVERY = 10_000, 500
_written = itertools.count()
# Bytes of the sum at the start of each file.
SUM = 32
# Kinds of values whose text is like no other's.
PLAIN = (str, bytes, int, float, bool, type(None))


def folder() -> Path | None:
    """Where results are kept; None where none are."""
    if (given := os.environ.get(WHERE)) is not None:
        return Path(given) if given else None
    if (DATA.parent / "pyproject.toml").is_file():
        return DATA.parent / "_build/store"
    cache = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return Path(cache or Path.home() / ".cache") / "gpucalc"


@functools.cache
def state() -> str:
    """The hash of the library's code, of data/ without prices, and of the versions that count."""
    from importlib.metadata import version

    made = hashlib.sha256(" ".join([sys.version, *map(version, LIBRARIES)]).encode())
    package = DATA / "datapackage.json"
    with unread(package):
        tables = [resource["path"] for resource in json.loads(package.read_bytes())["resources"]]
    held = [DATA / name for name in (package.name, "architectures.json", *tables) if isinstance(name, str)]
    with unread(*held):
        for path in [path for place in CODE for path in sorted(place.glob("*.py"))] + held:
            content = path.read_bytes() if path.is_file() else b""
            made.update(f"{path.name} {len(content)} ".encode() + content)
    return made.hexdigest()


def key(*parts: Any) -> str:
    """The hash of values: numbers, texts, laws, arrays, and mappings and lists of such."""
    made = hashlib.sha256()
    for part in parts:
        _feed(made, part)
    return made.hexdigest()


def _feed(made, value):
    if hasattr(value, "dtype") and getattr(value, "ndim", 0):
        made.update(f"array {value.dtype} {value.shape} ".encode())
        if value.dtype.kind == "O":
            held = value.tolist()
            # One text of all of them takes a tenth of the time that each of them takes.
            made.update(repr(held).encode()) if {*map(type, held)}.issubset(PLAIN) else _feed(made, held)
        else:
            made.update(value.tobytes())
    elif isinstance(value, dict):
        made.update(f"dict {getattr(value, 'name', None)!r} {len(value)} ".encode())
        for name, each in value.items():
            made.update(f"{name!r} ".encode())
            _feed(made, each)
    elif isinstance(value, (list, tuple)):
        made.update(f"list {len(value)} ".encode())
        for each in value:
            _feed(made, each)
    elif isinstance(value, PLAIN):
        made.update(f"{type(value).__name__} {value!r} ".encode())
    elif hasattr(value, "formula"):
        made.update(f"law {value.__name__} ".encode())
    else:
        raise TypeError(f"{type(value).__name__}: has no hash that says what it holds")


def recalled(name: str, make: Callable[[], Any]) -> Any:
    """The result of that name, a hash of what it is made from: from the folder, else made now and kept there.

    The files behind it count as read either way. A result that another file than those of data/ is behind is not kept.
    """
    where = folder()
    path = where and where / f"{state()[:20]}-{name[:40]}"
    found = path and _read(path)
    if found:
        is_read(*(DATA / file for file in found[1]))
        return found[0]
    value, files = made(make)
    inside = [os.path.relpath(file, DATA) for file in files]
    if path and not any(file.startswith("..") for file in inside):
        _write(path, (value, inside))
    return value


def stored(function: Function) -> Function:
    """`kept`, and in the folder too: for what is made from the rows of data/ alone, none of them the reader's own GPUs."""
    @functools.wraps(function)
    def again(*arguments):
        if os.environ.get(OWN_GPUS):
            return function(*arguments)
        return recalled(key(function.__qualname__, arguments), lambda: function(*arguments))
    return kept(again)  # type: ignore[return-value]


def _read(path):
    """What a file holds; None where there is none, or not what was written."""
    try:
        whole = path.read_bytes()
        os.utime(path)  # what was used last stays longest
    except OSError:
        return None
    if whole[:SUM] != hashlib.sha256(whole[SUM:]).digest():
        return None
    return pickle.loads(zlib.decompress(whole[SUM:]))


def _write(path, held):
    """Puts the file in place in one step; where it can't be written, the result is made again next time."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        number, part = tempfile.mkstemp(dir=path.parent, prefix="part-")
        with os.fdopen(number, "wb") as file:
            content = zlib.compress(pickle.dumps(held, pickle.HIGHEST_PROTOCOL), 1)
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(part, path)
        if next(_written) % EVERY == 0:
            with os.scandir(path.parent) as files:      # another process may take one away meanwhile
                by_use = sorted((file.stat().st_mtime, file.path) for file in files)
            for _, old in by_use[:-MOST]:    # what was used last stays
                os.unlink(old)
