"""What makes a plain function a law: checked arguments and a registry."""
import functools

from .arithmetic import wide
from .quantities import DEFAULTS, QUANTITIES, check

LAWS = {}


def law(function):
    """Register `function` as a law and check plain numbers and columns before it runs.

    Its arguments and its own name must be in the vocabulary. A default of `...` is the value in data/defaults.csv. Raises
    ValueError naming the law, the argument, the value and what is allowed. `arguments` and `defaults` on the result say what
    the law takes; `formula` is the function without its checks.
    """
    code = function.__code__
    arguments = code.co_varnames[: code.co_argcount]
    unknown = [name for name in (*arguments, function.__name__) if name not in QUANTITIES]
    if unknown:
        raise KeyError(f"{function.__name__}: not in the vocabulary: {', '.join(unknown)}")
    values = function.__defaults__ or ()
    defaults = dict(zip(arguments[len(arguments) - len(values):], values))
    defaults = {name: DEFAULTS[name].value if value is ... else value for name, value in defaults.items()}
    function.__defaults__ = tuple(defaults.values())

    @functools.wraps(function)
    def checked(*args, **kwargs):
        for name, value in (*zip(arguments, args), *kwargs.items()):
            if name in arguments:
                check(name, value, function.__name__)
        return function(*map(wide, args), **{name: wide(value) for name, value in kwargs.items()})

    checked.formula = function
    checked.arguments = arguments
    checked.defaults = defaults
    LAWS[function.__name__] = checked
    return checked
