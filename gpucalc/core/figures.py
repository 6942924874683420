"""How numbers become text: the one formatter, with units and prefixes."""
import math
from collections.abc import Callable

from .quantities import QUANTITIES, read_rows

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
# How each unit of the vocabulary is printed: its symbol, its prefixes and what infinity is called. A browser has these functions
# too, as book/web/pyjs.py prints them, and the same table.
UNITS = {row["unit"]: (row["symbol"], row["prefixes"], row["infinity"]) for row in read_rows("units.csv")}


def number(value: float, unit: str = "") -> str:
    """`value` (SI) at three significant figures with its unit and prefix; whole counts below a million are exact.

    Infinity is said in the words of the unit: a time is never over, an amount of money has no price, bytes have no limit.
    """
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r}: has no printed form; allowed: {', '.join(UNITS)}; add a row to data/units.csv")
    symbol, prefixes, infinity = UNITS[unit]
    if math.isinf(value):
        return infinity
    if prefixes == "small":
        return seconds(value)
    if prefixes == "large":
        return _minus(f"{value:.2e} ".replace("e+", "e") + symbol) if abs(value) >= 1e21 else _scaled(value, _PREFIXES) + symbol
    if unit == "" and abs(value) >= 1e6:
        return _scaled(value, ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")))
    if unit == "" and value == int(value):
        return _minus(f"{int(value):,}")
    text = three_figures(value)
    return f"{text} {symbol.removesuffix('s') if text == '1' and '/' not in symbol else symbol}".rstrip()


def three_figures(value: float) -> str:
    """`value` at three significant figures, in plain digits with thousands separators; a whole number below 1,000 in full."""
    if value == int(value) and abs(value) < 1000:
        return _minus(f"{int(value)}")
    places = 2 - math.floor(math.log10(abs(float(f"{value:.2e}"))))
    return _minus(f"{round(value, places):,.{max(places, 0)}f}")


def rounded_up(value: float) -> float:
    """The least number of three significant figures that is not below `value`: what is enough, once it is printed."""
    if value <= 0 or math.isinf(value):
        return value
    step = 10 ** (math.floor(math.log10(value)) - 2)
    return -math.floor(1e-9 - value / step) * step


def _scaled(value, scales):
    """`value` at three significant figures by the largest of the scales that it reaches, else by the last."""
    scale, name = next((each for each in scales if abs(value) >= each[0] * 0.9995), scales[-1])
    return f"{three_figures(value / scale)} {name}"


def _minus(text):
    """A true minus sign, which a browser does not break a line after."""
    return text.replace("-", "−")


def seconds(value: float) -> str:
    """A time in s, ms or µs at three significant figures."""
    return "never" if math.isinf(value) else _scaled(value, ((1, "s"), (1e-3, "ms"), (1e-6, "µs")))


def unit_symbol(unit: str) -> str:
    """The unit as it is printed, without prefix: `byte/second` is B/s, a count is nothing."""
    return UNITS[unit][0]


def exact(value: float, unit: str = "byte") -> str:
    """A whole number in full, with its unit."""
    return f"{round(value):,} {unit_symbol(unit)}".rstrip()


def gib(value: float) -> str:
    """Bytes as GiB (2^30) at three significant figures."""
    return f"{three_figures(value / 2**30)} GiB"


def percent(value: float) -> str:
    """A share as a percentage at three significant figures."""
    return f"{three_figures(round(100 * value, 9))} %" if math.isfinite(value) else "never"


def usd(value: float) -> str:
    """An amount in USD to the cent below ten thousand, else to the dollar."""
    return _minus(f"{value:,.2f} USD" if abs(value) < 1e4 else f"{value:,.0f} USD") if math.isfinite(value) else "no price"


def hourly(value: float) -> str:
    """A rate in USD an hour, to the cent."""
    return _minus(f"{value:,.2f} USD/h") if math.isfinite(value) else "no price"


def dollars(value: float) -> str:
    """An amount in USD at three significant figures."""
    return number(value, "USD")


def days(value: float) -> str:
    """A time in days at three significant figures, where it is less than one as `hours`."""
    return number(value, "day") if value >= 1 else hours(24 * value)


def hours(value: float) -> str:
    """A time in hours at three significant figures, in minutes where it is less than two hours."""
    return in_unit(60 * value, "min") if value > 0 and value < 2 else number(value, "hour")


def signed(value: float, show: Callable[[float], str] | None = None) -> str:
    """A difference with its sign, by the formatter `show` (default: `number` of a count)."""
    return ("+" if value > 0 else "") + (show or number)(value)


def chance(value: float) -> str:
    """A probability as a whole percentage, without more figures than it has."""
    return "less than 1 %" if value < 0.01 else "more than 99 %" if value > 0.99 else f"{100 * value:.0f} %"


def times(value: float) -> str:
    """A ratio at three significant figures: `2.5 times`."""
    return f"{three_figures(value)} times" if math.isfinite(value) else "no limit"


def in_unit(value: float, unit: str) -> str:
    """An amount that is already in a unit with its prefix, or in percent."""
    return f"{three_figures(value)} {unit}" if unit else number(value)


def quantity(name: str, value: float) -> str:
    """A value of the vocabulary's quantity `name`, with its unit."""
    return number(value, QUANTITIES[name][0])
