"""A YAML file as plain values, and nothing that YAML could run, repeat or guess: no tags, no aliases, no name twice.

A number is what every reader of YAML takes for that number: `010`, `1_000`, `1:30`, `yes` and `2026-01-01` are texts, `1e9` is a
number.
"""
import contextlib
import math
import re
from collections.abc import Collection, Iterable
from typing import Any

import yaml

from ..core.evaluate import close
from .files import hidden, shortened, text

# The parser in C takes a tenth of the time; what is wrong is said in the words of the one in Python.
_QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES, _LONGEST_TEXT, _DEEPEST = 100_000, 4096, 20
_WORDS = (dict.fromkeys(("", "~", "null", "Null", "NULL")) | dict.fromkeys(("true", "True", "TRUE"), True)
          | dict.fromkeys(("false", "False", "FALSE"), False))
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\.\d+|(0|[1-9]\d*)(\.\d*)?)([eE][+-]?\d+)?", re.ASCII)
_ENDLESS = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}


def read_mapping(path, lines=False, most=_MOST_BYTES):
    """The names and values of a YAML file: None, bool, int, float, str, and lists and dicts of them; names always as text.

    lines: a text may have several. most: bytes of the file.

    Raises ValueError naming the file, line and column, what is wrong, and what is allowed.
    """
    source = text(path, most)
    with contextlib.suppress(yaml.YAMLError, ValueError, OverflowError):
        return _document(yaml.parse(source, _QUICK), lines)
    try:
        return _document(yaml.parse(source), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ValueError(f"{shortened(path)}, line {mark.line + 1}, column {mark.column + 1}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise ValueError(f"{shortened(path)}: {' '.join(str(error).split())}; allowed: YAML text") from None


def check_names(held: Any, known: Collection[str], needed: Iterable[str]) -> None:
    """Raises ValueError unless `held` has names and values, all names are known, and those that are needed are there."""
    allowed = ", ".join(known)
    if not isinstance(held, dict):
        raise ValueError(f"{held!r}; allowed: {allowed}")
    for name in held:
        if name not in known:
            raise ValueError(f"{name}: unknown; allowed: {allowed}{close(name, known)}")
    for name in needed:
        if name not in held:
            raise ValueError(f"{name}: missing")


def _document(events, lines):
    """What the events of a file say: one mapping."""
    next(events)
    start = next(events)
    if isinstance(start, yaml.StreamEndEvent):
        raise _bad(start, "the file is empty; allowed: names and values, such as batch: 32")
    held = next(events)
    if not isinstance(held, yaml.MappingStartEvent):
        raise _bad(held, "no names; allowed: names and values, such as batch: 32")
    held = _value(held, events, 1, lines)
    next(events)
    end = next(events)
    if not isinstance(end, yaml.StreamEndEvent):
        raise _bad(end, "a second document; allowed: one")
    return held


def _value(event, events, depth, lines):
    if event.anchor is not None:
        raise _bad(event, "an anchor or alias; allowed: each value written out")
    if event.tag is not None:
        raise _bad(event, f"the tag {shortened(event.tag)}; allowed: plain values")
    if depth > _DEEPEST:
        raise _bad(event, f"more than {_DEEPEST} levels; allowed: at most that")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, lines)
    if isinstance(event, yaml.SequenceStartEvent):
        held = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            held.append(_value(item, events, depth + 1, lines))
        return held
    held = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise _bad(key, "a name that is no text; allowed: names such as batch")
        _value(key, events, depth, False)
        if key.value in held:
            raise _bad(key, f"the name {shortened(key.value)} a second time; allowed: each once")
        held[key.value] = _value(next(events), events, depth + 1, lines)
    return held


def _scalar(event, lines):
    """What a scalar says; a quoted one is text."""
    value = event.value
    shown = value.replace("\n", "") if lines else value
    if len(value) > _LONGEST_TEXT:
        raise _bad(event, f"{len(value):,} characters; allowed: at most {_LONGEST_TEXT:,}")
    if hidden(shown):
        raise _bad(event, f"the character {hidden(shown)}; allowed: text without control and invisible characters")
    if event.style:
        return value
    if value in _WORDS:
        return _WORDS[value]
    if value.lower() in _ENDLESS:
        return _ENDLESS[value.lower()]
    if not _DECIMAL.fullmatch(value):
        return value
    number = float(value)
    if math.isinf(number):
        raise _bad(event, f"{shortened(value, 40)}; allowed: numbers up to 1.8e308")
    return int(value) if _WHOLE.fullmatch(value) else number


def _bad(event, problem):
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
