"""What other packages add to this one: functions that they declare as entry points of the group `gpucalc.shown`."""
import functools
from collections.abc import Callable
from importlib.metadata import entry_points


@functools.cache
def plugin(name: str) -> Callable | None:
    """The function that a package has declared under this name; None where none is installed."""
    return next((found.load() for found in entry_points(group="gpucalc.shown", name=name)), None)
