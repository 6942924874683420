"""Tables and named tuples that say what is read of them: columns, rows and parts, or all."""
import functools
from collections.abc import Mapping

import numpy
from pandas import DataFrame, Series

from . import kept
from .selections import WATCHED, is_watchable, known_as, ranges, said_kind, selection, silently, watched

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
        return kept.answered() or "spec" not in self.__dict__

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
        if kept.answered():
            return value
        return said_kind(value, known_as({"part": [self.spec, name]})) if is_watchable(value) else part(self, name)
    return property(get)


def _all(kind, name):
    inner = getattr(kind, name)

    def method(self, *arguments):
        if not kept.answered():
            whole(self)
        return silently(inner, self, *arguments)
    return method
