"""What makes a plain function a law: checked arguments and a registry."""
import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, cast

from .arithmetic import wide
from .quantities import DEFAULTS, QUANTITIES, check

P = ParamSpec("P")


class Law(Protocol[P]):
    """A registered function: `arguments` are what it takes, `defaults` by name; `formula` is it without its checks."""

    __name__: str
    arguments: tuple[str, ...]
    defaults: dict[str, float]
    formula: Callable[..., Any]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...


LAWS: dict[str, Law[...]] = {}


def law(function: Callable[P, Any]) -> Law[P]:
    """Register `function` as a law and check plain numbers and columns before it runs.

    Its arguments and its own name must be in the vocabulary. A default of `...` is the value in data/defaults.csv. Raises
    ValueError naming the law, the argument, the value and what is allowed.
    """
    plain: Any = function
    arguments = plain.__code__.co_varnames[: plain.__code__.co_argcount]
    unknown = [name for name in (*arguments, plain.__name__) if name not in QUANTITIES]
    if unknown:
        raise KeyError(f"{plain.__name__}: not in the vocabulary: {', '.join(unknown)}")
    defaults = dict(zip(arguments[-len(plain.__defaults__ or ()):], plain.__defaults__ or ()))
    defaults = {name: DEFAULTS[name].value if value is ... else value for name, value in defaults.items()}
    plain.__defaults__ = tuple(defaults.values())

    @functools.wraps(plain)
    def checked(*args, **kwargs):
        for name, value in (*zip(arguments, args), *kwargs.items()):
            if name in arguments:
                check(name, value, plain.__name__)
        return plain(*map(wide, args), **{name: wide(value) for name, value in kwargs.items()})

    vars(checked).update(formula=plain, arguments=arguments, defaults=defaults)
    LAWS[plain.__name__] = made = cast(Law, checked)
    return made
