"""The check behind every notebook's parameter cell: known names, right types, possible values."""
import ast
import math
import operator
import re

from gpucalc.core.evaluate import Case, close
from gpucalc.core.quantities import QUANTITIES, check
from gpucalc.rows.case_file import about, LEAST, MOST, sizes, spanned
from gpucalc.rows.catalogue import FINDERS
from gpucalc.rows.price_book import ITEMS

_PLAIN = (int, float, str, type(None))
_CHOICES = {"term": ITEMS["rent"].terms}
_OPERATORS = {ast.Mult: operator.mul, ast.Div: operator.truediv}


def page_case(namespace, optional=()):
    """The case that a notebook's parameters are: its rows, and its quantities but for those that are None.

    The parameters are the names that the notebook's own parameter cell sets, the first that sets nothing but names;
    one whose default is None, or that is `optional`, may be None. A name is a quantity of the vocabulary (also one
    with a word before it, such as serving_tensor_parallel, which is checked and left out), a kind of catalogue row,
    the term of a rent, rates of currencies, or of the kind of its default: text, a list, a switch. Raises ValueError
    unless each has an allowed value and no other was given. Where the shell keeps no history (as under nbval), the
    quantities and rows among the notebook's names count.
    """
    defaults, given = {}, {}
    for source in namespace["In"]:
        assigned = _names_set(source)
        if assigned and re.match(r"\s*# Parameters\b", source):
            given |= assigned
        elif assigned and not defaults:
            defaults = assigned
    defaults = defaults or {name: namespace[name] for name in (*FINDERS, *QUANTITIES) if name in namespace
                            and isinstance(namespace[name], _PLAIN)}
    for name in given:
        if name not in defaults:
            raise ValueError(f"parameter {name}: unknown; this notebook takes {', '.join(defaults)}{close(name, defaults)}")
    for name, default in defaults.items():
        if name not in namespace:
            raise ValueError(f"parameter {name}: missing")
        if not (namespace[name] is None and (default is None or name in optional)):
            check_value(name, namespace[name], default)
    known = {name: namespace[name] for name in defaults if name in QUANTITIES or name in FINDERS}
    return Case(**{name: value for name, value in known.items() if value is not None})


def declared(source):
    """Names and defaults of a cell that does nothing but set names, `name = value` or `name: kind = value`; {} for another cell.

    A default is a literal, or a product or quotient of two numbers; None stands for anything else. Raises ValueError
    where the cell is not Python.
    """
    try:
        lines = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"not Python: {error}") from None
    targets = [line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None) for line in lines]
    if not all(isinstance(line, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name)
               for line, target in zip(lines, targets)):
        return {}
    return {target.id: _default(line.value) for line, target in zip(lines, targets)}


def _default(node):
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        sides = _default(node.left), _default(node.right)
        return _OPERATORS[type(node.op)](*sides) if all(isinstance(side, int | float) and side for side in sides) else None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


def _names_set(source):
    """What `declared` finds in a cell of the history, where anything may stand."""
    try:
        return declared(source)
    except ValueError:
        return {}


def check_value(name, value, default):
    """Raises ValueError naming the parameter and what is allowed, unless a page that has this default takes the value."""
    known = name in QUANTITIES
    ends = about(name) if known else {"least": LEAST, "most": MOST}
    if isinstance(value, int | float) and not spanned(ends, value):
        long = isinstance(value, int) and abs(value) > MOST
        shown = f"a whole number of about {int(math.log10(abs(value))) + 1} digits" if long else value
        allowed = sizes(name) if known else f"0, or from {LEAST:g} to {MOST:g} in size"
        raise ValueError(f"parameter {name}: {shown}; allowed: {allowed}")
    if name in QUANTITIES:
        check(name, value, "parameter")
    elif type(default) in (int, float) and name.partition("_")[2] in QUANTITIES:
        check(name.partition("_")[2], value, f"parameter {name}")
    elif name == "rates":
        _check_rates(value)
    elif isinstance(default, (list, tuple, dict, bool)):
        if type(value) is not type(default):
            raise ValueError(f"parameter {name}: {value!r} is not a {type(default).__name__}, such as {default!r}")
    elif type(default) in (int, float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"parameter {name}: {value!r} is not a number, such as {default!r}")
    elif not isinstance(value, str):
        raise ValueError(f"parameter {name}: {value!r} is not text")
    elif name in _CHOICES and value not in _CHOICES[name]:
        raise ValueError(f"parameter {name}: {value!r}; allowed: {', '.join(_CHOICES[name])}")
    elif name in FINDERS:
        try:
            FINDERS[name](value)
        except ValueError as error:
            raise ValueError(f"parameter {name}: {error}") from None


def _check_rates(rates):
    """USD for one unit of currencies, by their codes."""
    if not isinstance(rates, dict):
        raise ValueError(f"parameter rates: {rates!r} is not a dict, such as {{'EUR': 1.1}}")
    for code, rate in rates.items():
        if not (isinstance(code, str) and re.fullmatch("[A-Z]{3}", code)):
            raise ValueError(f"parameter rates: {code!r}; allowed: a currency in three capital letters, such as EUR")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < math.inf:
            raise ValueError(f"parameter rates: {code} is {rate!r}; allowed: a number above 0, in USD for one {code}")
