"""What a page asks of a price book, by call: arguments as text, a hash of the answer, and a book that says what was read."""
import functools
import hashlib
import importlib
import json
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
from pandas import DataFrame, Series

from gpucalc.core.evaluate import Case, FINDERS, is_law, law_named, Row
from gpucalc.core.quantities import DATA
from gpucalc.rows import kept
from gpucalc.rows.kept import selection


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
# Each call of a selection is said as a text that `again` can call again, with a hash of what came of it. What a derivation
# returns is watched in its turn.

# What of all that a book carries goes with what is found in it.
CARRIED = ("file", "date", "own")
# A longer call is not written: it is any function then.
_LONGEST = 4000
# Hashes of what came of calls: the files of a process that is watched do not change.
_known: dict[str, str] = {}
# What tables and tuples are, by their names, which begin with this.
NAME = "@"
_specs: dict[str, str] = {}


def ask(function: Callable, arguments: tuple, named: dict) -> Any:
    """The value of a selection, whose call is said.

    Inside another selection, without a book, or with an argument that can't be written, it is any function.
    """
    call = _call(function, arguments, named)
    return function(*arguments, **named) if call is None else _result(function, arguments, named, json.dumps(call))


def ask_by_parts(function: Callable, arguments: tuple, named: dict) -> Any:
    """As `ask`, of a derivation: of a table or named tuple that comes of it only what is read is said, by and by."""
    call = _call(function, arguments, named)
    if call is None:
        return function(*arguments, **named)
    spec = known_as({"of": call})
    return watched(_result(function, arguments, named, json.dumps(["kind", spec]), _kind), spec)


def watched_book(frame: DataFrame, taken: tuple, files: list[Path]) -> DataFrame:
    """A price book, from a path and how it is taken, of which what is read is said. files: those that hold it."""
    path, *how = taken
    return watched_frame(frame, known_as([in_project(path), *how]), files)


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
    from gpucalc.rows.price_book import prices
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
    """The call as JSON holds it; None inside another, without a book, and for arguments that can't be written."""
    if kept.now.answered:
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


# Tables and named tuples that say what is read of them: columns, rows and parts, or all.

# What reads all of a tuple.
_WHOLE = ("__iter__", "__getitem__", "__eq__", "__ne__", "__lt__", "__gt__", "__hash__", "__repr__", "__add__", "__contains__")
# So many rows are said by their keys; more are a table of their own.
_FEW = 8


class Book(DataFrame):
    """A price book, or a table made from one, that is watched. What is made of it otherwise is plain, and reads all of it.

    spec: what it is. files: of a whole book, those that hold it.
    """

    @property
    def _constructor(self):
        return DataFrame

    @property
    def _mgr(self):
        self._touch()
        return self.__dict__["_cells"]

    @_mgr.setter
    def _mgr(self, cells):
        self.__dict__["_cells"] = cells

    def _touch(self):
        if not self._plain():
            kept.is_read(*self.files) if self.files else whole(self)

    def _plain(self):
        return kept.now.answered or "spec" not in self.__dict__

    def _free(self):
        """Makes a plain table of a book that is about to be changed."""
        self._touch()
        for name in ("spec", "files"):
            self.__dict__.pop(name, None)

    def _take(self, places):
        """The rows at these places: a few are read now, more are a book."""
        found = watched(silently(DataFrame.take, self, places), known_as({"rows": [self.spec, ranges(places)]}))
        found.__dict__["carrier"] = self.__dict__.get("carrier", self)
        return found if len(places) > _FEW else whole(found)

    def __getitem__(self, key):
        if self._plain():
            return super().__getitem__(key)
        if isinstance(key, str):
            return column(self, key)
        if _is_mask(key):
            own = silently(getattr, self, "index")
            if key.index.equals(own) if isinstance(key, Series) else len(key) == len(own):
                return self._take(numpy.flatnonzero(key))
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._free()
        super().__setitem__(key, value)

    @property
    def loc(self):
        """Rows by their keys."""
        return super().loc if self._plain() else _Rows(self, "loc")

    @property
    def at(self):
        """A cell by its key."""
        return super().at if self._plain() else _Rows(self, "at")

    def head(self, n=5):
        """The first rows."""
        return super().head(n) if self._plain() else self._take(range(len(self))[:n])

    @property
    def attrs(self):
        """What the book carries."""
        return DataFrame.attrs.fget(self) if self._plain() else _Carried(self.__dict__.get("carrier", self))

    @attrs.setter
    def attrs(self, value):
        DataFrame.attrs.fset(self, value)

    @property
    def index(self):
        """The keys of the rows."""
        return DataFrame.index.__get__(self) if self._plain() else keys(self)

    @index.setter
    def index(self, value):
        self._free()
        DataFrame.index.__set__(self, value)

    @property
    def columns(self):
        """The names of the columns."""
        return DataFrame.columns.__get__(self) if self._plain() else names(self)

    @columns.setter
    def columns(self, value):
        self._free()
        DataFrame.columns.__set__(self, value)


def _is_mask(key):
    return isinstance(key, (Series, numpy.ndarray)) and key.dtype.kind == "b"


def watched_frame(frame, spec, files=()):
    """The table as a `Book`."""
    book = Book(frame, copy=False)
    DataFrame.attrs.fset(book, silently(getattr, frame, "attrs"))
    book.__dict__ |= {"spec": spec, "files": files}
    return book


class _Carried(Mapping):
    """`attrs` of a book."""

    def __init__(self, book):
        self._book = book

    def __getitem__(self, name):
        return carried(self._book, name)

    def __iter__(self):
        return iter(carried(self._book))

    def __len__(self):
        return len(carried(self._book))

    def __deepcopy__(self, _):
        return dict(self)


class _Rows:
    """`loc` and `at` of a book."""

    def __init__(self, book, kind):
        self._book, self._kind = book, kind

    def __getitem__(self, key):
        book, (rows, *more) = self._book, key if isinstance(key, tuple) else (key,)
        if isinstance(rows, str):
            return by_key(book, str(rows), *more)
        if _is_mask(rows):
            found = book[rows]
        else:
            wanted = list(rows) if hasattr(rows, "__len__") else [None]
            texts = all(isinstance(each, str) for each in wanted)
            if texts and len(wanted) <= _FEW:
                return by_key(book, list(map(str, wanted)), *more)
            places = silently(getattr, book, "index").get_indexer(wanted) if texts else numpy.array([-1])
            if (places < 0).any():
                return getattr(super(Book, book), self._kind)[key]
            found = book._take(places)
        return found.loc[:, *more] if more else found

    def __setitem__(self, key, value):
        self._book._free()
        getattr(self._book, self._kind)[key] = value

    def __getattr__(self, name):
        return getattr(getattr(super(Book, self._book), self._kind), name)

    def __call__(self, *arguments, **named):
        return getattr(super(Book, self._book), self._kind)(*arguments, **named)


@selection
def column(book, name):
    """One column, with the keys of its rows; what the table carries is read from it alone."""
    found = book[name]
    found.attrs = {}
    return found


@selection
def by_key(book, key, *more):
    """The row of that key, or the rows of several; or a cell of it, or columns."""
    return book.loc[(key, *more)] if more else book.loc[key]


@selection
def keys(book):
    """The keys of all rows."""
    return book.index


@selection
def names(book):
    """The names of the columns."""
    return book.columns


@selection
def carried(book, *name):
    """What the book carries under a name, such as its `file` and its `date`; or the names."""
    return book.attrs[name[0]] if name else list(book.attrs)


@selection
def whole(made):
    """All of a table or a tuple."""
    return made.copy(deep=False) if isinstance(made, DataFrame) else made


@selection
def part(made, name):
    """One part of a named tuple."""
    return getattr(made, name)


def watched_tuple(value, spec):
    """The named tuple so that it says which parts of it are read."""
    made = _watched_kind(type(value))(*tuple.__iter__(value))
    made.__dict__ |= {"spec": spec}
    return made


@functools.cache
def _watched_kind(kind):
    names = [name for name in dir(kind) if name[0] != "_" and not callable(getattr(kind, name))]
    parts = {name: _part(kind, name) for name in names} | {name: _all(kind, name) for name in _WHOLE}
    return type(f"{WATCHED}{kind.__name__}", (kind,), parts)


def _part(kind, name):
    inner = getattr(kind, name)

    def get(self):
        value = silently(inner.__get__, self)
        if kept.now.answered:
            return value
        return said_kind(value, known_as({"part": [self.spec, name]})) if is_watchable(value) else part(self, name)
    return property(get)


def _all(kind, name):
    inner = getattr(kind, name)

    def method(self, *arguments):
        if not kept.now.answered:
            whole(self)
        return silently(inner, self, *arguments)
    return method
