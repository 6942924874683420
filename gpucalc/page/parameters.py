"""The check behind every notebook's parameter cell: known names, right types, possible values."""
import ast
import re

from ..core.evaluate import Case, close
from ..core.quantities import QUANTITIES, check
from ..rows.catalogue import FINDERS
from ..rows.price_book import ITEMS

_PLAIN = (int, float, str, type(None))
_CHOICES = {"term": ITEMS["rent"].terms}


def page_case(namespace, optional=()):
    """The case that a notebook's parameters are: its rows, and its quantities but for those that are None.

    The parameters are the names that the notebook's own parameter cell sets, the first that sets nothing but names;
    one whose default is None, or that is `optional`, may be None. A name is a quantity of the vocabulary (also one
    with a word before it, such as serving_tensor_parallel, which is checked and left out), a kind of catalogue row,
    the term of a rent, or of the kind of its default: text, a list, a switch. Raises ValueError unless each has an
    allowed value and no other was given. Where the shell keeps no history (as under nbval), the quantities and rows
    among the notebook's names count.
    """
    declared, given = {}, {}
    for source in namespace["In"]:
        assigned = _assigned(source)
        if assigned and re.match(r"\s*# Parameters\b", source):
            given |= assigned
        elif assigned and not declared:
            declared = assigned
    declared = declared or {name: namespace[name] for name in (*FINDERS, *QUANTITIES) if name in namespace
                            and isinstance(namespace[name], _PLAIN)}
    for name in given:
        if name not in declared:
            raise ValueError(f"parameter {name}: unknown; this notebook takes {', '.join(declared)}{close(name, declared)}")
    for name, default in declared.items():
        if name not in namespace:
            raise ValueError(f"parameter {name}: missing")
        if not (namespace[name] is None and (default is None or name in optional)):
            _check(name, namespace[name], default)
    known = {name: namespace[name] for name in declared if name in QUANTITIES or name in FINDERS}
    return Case(**{name: value for name, value in known.items() if value is not None})


def _assigned(source):
    """Names and values of a cell that does nothing but set names, None for what is no literal; nothing for another cell."""
    try:
        lines = ast.parse(source).body
    except SyntaxError:
        return {}
    if not all(isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name) for line in lines):
        return {}
    return {line.targets[0].id: _literal(line.value) for line in lines}


def _literal(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _check(name, value, default):
    if name in QUANTITIES:
        check(name, value, "parameter")
    elif type(default) in (int, float) and name.partition("_")[2] in QUANTITIES:
        check(name.partition("_")[2], value, f"parameter {name}")
    elif isinstance(default, (list, tuple, dict, bool)):
        if type(value) is not type(default):
            raise ValueError(f"parameter {name}: {value!r} is not a {type(default).__name__}, such as {default!r}")
    elif not isinstance(value, str):
        raise ValueError(f"parameter {name}: {value!r} is not text")
    elif name in _CHOICES and value not in _CHOICES[name]:
        raise ValueError(f"parameter {name}: {value!r}; allowed: {', '.join(_CHOICES[name])}")
    elif name in FINDERS:
        try:
            FINDERS[name](value)
        except ValueError as error:
            raise ValueError(f"parameter {name}: {error}") from None
