"""Arithmetic that works on any kind of value, and the constants of the calendar and of units.

A law's few lines serve floats, NumPy arrays, pandas columns, Altair parameters, SymPy symbols and Pint quantities.
Python's operators already do; only rounding, extremes and choice need the functions here.
"""
import functools
import math
from typing import Any

SECONDS_PER_HOUR = 3600
HOURS_PER_DAY = 24
HOURS_PER_MONTH = 730
HOURS_PER_YEAR = 8760
MONTHS_PER_YEAR = 12
YEAR = 1
WATTS_PER_KILOWATT = 1000
BYTES_PER_GB = 10**9
FP32_BYTES = 4
MASK_BYTES = 1


def ceil(value: Any) -> Any:
    """Smallest whole number not below `value`; infinity stays."""
    return _dispatch("ceil", "ceiling", "ceil", lambda plain: math.ceil(plain) if math.isfinite(plain) else plain, value)


def floor(value: Any) -> Any:
    """Largest whole number not above `value`; infinity stays."""
    return _dispatch("floor", "floor", "floor", lambda plain: math.floor(plain) if math.isfinite(plain) else plain, value)


def sqrt(value: Any) -> Any:
    """Square root of a number of at least 0."""
    return _dispatch("sqrt", "sqrt", "sqrt", lambda plain: plain ** 0.5, value)


def exp(value: Any) -> Any:
    """The exponential function; infinite where a float can't hold it."""
    return _dispatch("exp", "exp", "exp", lambda plain: math.exp(plain) if plain < 700 else math.inf, value)


def log(value: Any) -> Any:
    """Natural logarithm of a number above 0."""
    return _dispatch("log", "log", "log", math.log, value)


def log2(value: Any) -> Any:
    """Logarithm to base 2 of a number above 0; powers of 2 give whole numbers."""
    if _kind(value) == "sympy":
        import sympy
        return sympy.log(value, 2)
    return log(value) / math.log(2) if _kind(value) == "altair" else _dispatch("", "", "log2", math.log2, value)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two values, element by element for columns."""
    return _dispatch("min", "Min", "minimum", lambda a, b: a if a <= b else b, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two values, element by element for columns."""
    return _dispatch("max", "Max", "maximum", lambda a, b: a if a >= b else b, a, b)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`."""
    match _kind(condition):
        case "altair":
            return _vega("if_", condition, a, b)
        case "sympy":
            import sympy
            return sympy.Piecewise((a, condition), (b, True))
        case "array":
            import numpy
            import pandas
            chosen = numpy.where(condition, a, b)
            return pandas.Series(chosen, condition.index) if isinstance(condition, pandas.Series) else chosen
    return a if condition else b


def quotient(a: Any, b: Any) -> Any:
    """`a / b` where `b` is above 0, else infinite: what can't be reached is a value, not an error."""
    match _kind(a, b):
        case "altair":
            from altair.expr.core import ConstExpression
            return _vega("if_", b > 0, a / b, ConstExpression("(1 / 0)"))
        case "sympy":
            import sympy
            return sympy.Piecewise((a / b, sympy.Gt(b, 0, evaluate=False)), (sympy.oo, True), evaluate=False)
        case "array" if _kind(b) == "number":
            return a / b if b > 0 else where(a == a, math.inf, math.inf)
        case "array":
            return where(b > 0, a / where(b > 0, b, 1), math.inf)
    return a / b if b > 0 else math.inf


def flow(ratio: Any, years: Any) -> Any:
    """Years of a flow that falls by `ratio` each year, evenly: (1 - ratio^-years) / log(ratio), and all of them at ratio 1."""
    match _kind(ratio, years):
        case "altair":
            return _vega("if_", ratio == 1, years, (1 - _vega("pow", ratio, -years)) / log(ratio))
        case "sympy":
            return (1 - ratio ** -years) / log(ratio) if ratio != 1 else years
        case "array":
            import numpy
            rate = log(ratio)
            return where(rate == 0, years, -numpy.expm1(-rate * years) / where(rate == 0, 1, rate))
    return -math.expm1(-log(ratio) * years) / log(ratio) if ratio != 1 else years


def wide(value: Any) -> Any:
    """NumPy's whole numbers overflow without a word in 6 x params x tokens: Python's int and floats do not."""
    if _kind(value) == "array":
        return value.astype(float) if value.dtype.kind in "iu" else value
    return value.item() if type(value).__module__ == "numpy" else value


def _dispatch(vega, symbolic, array, plain, *values):
    """Call the function of that name in the library that the values belong to, or `plain`."""
    match _kind(*values):
        case "altair":
            return _vega(vega, *values)
        case "sympy":
            import sympy
            return getattr(sympy, symbolic)(*values)
        case "array":
            import numpy
            return getattr(numpy, array)(*values)
    return plain(*values)


def _vega(name, *values):
    """Vega's function of that name, as what the first of the values says of whatever is formed from it."""
    from altair import expr
    return next(value for value in values if _kind(value) == "altair")._from_expr(getattr(expr, name)(*values))


def _kind(*values):
    for value in values:
        package = _package(type(value))
        if package in ("altair", "sympy"):
            return package
        if package and value.ndim:
            return "array"
    return "number"


@functools.cache
def _package(kind):
    """The library that values of the kind belong to, if it is one of those that laws are called with."""
    package = kind.__module__.partition(".")[0]
    return package if package in ("altair", "sympy", "numpy", "pandas") else ""
