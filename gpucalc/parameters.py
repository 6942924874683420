"""The check behind every notebook's parameter cell: known names, right types, possible values."""
from . import catalogue
from .price_book import ITEMS
from .quantities import QUANTITIES, check

_CHOICES = {"term": ITEMS["rent"].terms}


def check_parameters(namespace, *names, optional=()):
    """Raise ValueError unless `namespace` holds the parameters `names` and no other variable, each with an allowed value.

    A name is a quantity of the vocabulary, a kind of catalogue row (`catalogue.ROWS`), the term of a rent, or free text
    (prices, provider, region), which the catalogue checks where it is used. Those in `optional` may be None.
    """
    given = {name: value for name, value in namespace.items() if _is_variable(name, value)}
    for name in given:
        if name not in names:
            raise ValueError(f"parameter {name}: unknown; this notebook takes {', '.join(names)}")
    for name in names:
        if name not in given:
            raise ValueError(f"parameter {name}: missing")
        if not (given[name] is None and name in optional):
            _check(name, given[name])


def _is_variable(name, value):
    shell = ("In", "Out", "exit", "quit", "get_ipython", "open")
    return not name.startswith("_") and name not in shell and not callable(value) and not hasattr(value, "__spec__")


def _check(name, value):
    if name in QUANTITIES:
        check(name, value, "parameter")
    elif not isinstance(value, str):
        raise ValueError(f"parameter {name}: {value!r} is not text")
    elif name in _CHOICES and value not in _CHOICES[name]:
        raise ValueError(f"parameter {name}: {value!r}; allowed: {', '.join(_CHOICES[name])}")
    elif name in catalogue.ROWS:
        try:
            catalogue.ROWS[name](value)
        except ValueError as error:
            raise ValueError(f"parameter {name}: {error}") from None
