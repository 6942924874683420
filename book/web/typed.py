"""Amounts as readers type them: an answer to a drill, and a quantity of a case in friendly units; and how such a one is shown.

A browser has these functions too, as book/web/printed.py prints them. What is not understood is never guessed: each gives the
value, None where there is none, and what is wrong with the text.
"""
import math
import re
from typing import Any

from gpucalc.core import figures
from gpucalc.core.quantities import QUANTITIES
from gpucalc.rows.case_file import fits, spanned

# Prefixes of a unit, and of a binary one; words behind a count, as powers of ten; a month is 730 hours, as in data/units.csv.
PREFIXES = {"µ": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_POWERS = {"k": 3, "thousand": 3, "M": 6, "million": 6, "B": 9, "bn": 9, "billion": 9, "T": 12, "trillion": 12}
_SECONDS = {"s": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "day": 86400, "month": 2628000,
            "year": 31536000}


def cut(text: str, most: int) -> str:
    """The text, or as much of it as anybody reads."""
    return f"{text[:most]}…" if len(text) > most else text


# An answer to a drill: a number alone is in the unit that was asked for, one with a unit of its own is put into that.

_TYPED, _BINARY = PREFIXES | {"u": 1e-6}, BINARY | {"kiB": BINARY["KiB"]}
_COUNTS = {name: 10.0**power for name, power in _POWERS.items()} | {"mn": 1e6, "G": 1e9, "tn": 1e12}
_TIMES = _SECONDS | {f"{name}s": _SECONDS[name] for name in ("second", "minute", "hour", "day", "month", "year")} | {
    "sec": 1, "d": 86400, **dict.fromkeys(("GPU-h", "GPU-hours", "GPU hours"), 3600)}
_ANSWER = re.compile(r"([+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(.*)")
_ABOUT = re.compile(r"^(?:~|≈|about )\s*", re.IGNORECASE)
# What may stand behind a count and changes nothing.
_COUNTED = re.compile("(?:token|gpu|card|sequence|request|user|step|param|parameter|replica|node|server|hour)s?|times|x|×",
                      re.IGNORECASE)


def answer(text: str, law: str, unit: str, scale: float) -> tuple[float | None, str]:
    """The answer to what a law comes to, in the `unit` that is asked for, which is `scale` of the law's own."""
    example = f"120, or 120 {unit}" if unit else "120, 12,500 or 1.2e9"
    typed = _plain(text)
    if not typed:
        return None, f"Type a number, such as {example}."
    parts = re.fullmatch(_ANSWER, typed)
    if not parts:
        return None, f"“{cut(text.strip(), 30)}” is no number. Type one such as {example}."
    number, behind = parts[1], parts[2]
    value = float(number.replace(",", ""))
    if behind.startswith(","):
        return None, "A comma parts thousands, as in 12,500. Write a fraction with a point, as in 12.5."
    if not math.isfinite(value):
        return None, f"{cut(number, 30)} is larger than a computer counts."
    if value <= 0:
        return None, "The answer is above 0."
    if not behind or behind == unit:
        return value, ""
    worth = _worth(behind, law)
    if worth is None:
        return None, f"“{cut(behind, 30)}” is no unit of this answer. {_allowed(law, unit)}"
    return value * worth / scale, ""


def _plain(text):
    """The text without what says "about", with a power of ten as an exponent and no spaces between thousands."""
    text = re.sub("[\u00a0\u2009\u202f]", " ", text.strip()).replace("−", "-", 1).replace("μ", "µ")
    text = re.sub(_ABOUT, "", text)
    text = re.sub(r"^([0-9]{1,3})((?: [0-9]{3})+)(?![0-9])", lambda found: found[1] + found[2].replace(" ", ""), text)
    return re.sub(r"^\$\s*", "", re.sub(r"\s*(?:×|x|\*)\s*10\s*\^\s*([+-]?[0-9]+)", r"e\1", text, count=1))


def _worth(behind, law):
    """What is behind a number in the law's own unit; else without regard to capitals where all letters are of one kind: gb is GB,
    and Gb would be bits."""
    units = units_of(law)
    if behind in units:
        return units[behind]
    alike = [worth for name, worth in units.items() if name.lower() == behind.lower()]
    if alike and behind in (behind.lower(), behind.upper()):
        return max(alike)
    return 1 if not figures.UNITS[QUANTITIES[law][0]][0] and re.fullmatch(_COUNTED, behind) else None


def units_of(law: str) -> dict[str, float]:
    """What each unit that may stand behind a number is worth in the law's own."""
    own = QUANTITIES[law][0]
    symbol, prefixes = figures.UNITS[own][:2]
    if own in _SECONDS:
        return {name: seconds / _SECONDS[own] for name, seconds in _TIMES.items()} | {
            f"{small}s": _TYPED[small] / _SECONDS[own] for small in ("m", "µ", "u")}
    if not symbol:
        return _COUNTS | {"%": 0.01}
    found = {prefix + symbol: worth for prefix, worth in _TYPED.items()}
    if prefixes != "none":
        found |= {prefix: worth for prefix, worth in _TYPED.items() if prefix}
    if own.startswith("byte"):
        found |= {symbol.replace("B", name, 1): worth for name, worth in _BINARY.items()}
    if symbol.startswith("USD"):
        found |= {symbol.replace("USD", name, 1): 1 for name in ("$", "dollars")}
        for name, worth in _COUNTS.items():
            found |= {name: worth, f"{name} {symbol}": worth, f"{name}{symbol}": worth}
    return found


def _allowed(law, unit):
    """What may stand behind the number, in words."""
    own = QUANTITIES[law][0]
    symbol, prefixes = figures.UNITS[own][:2]
    if own in _SECONDS:
        return "Allowed: ms, s, min, h, days, or the number alone."
    if own == "byte":
        return "Allowed: kB, MB, GB, TB, KiB, MiB, GiB, or the number alone."
    if not symbol and unit == "%":
        return "Allowed: %, or the number alone, in percent."
    if not symbol:
        return "Allowed: k, million, billion, trillion, or the number alone."
    prefixed = "" if prefixes == "none" else " with a prefix such as k, M, G or T"
    return f"Allowed: {symbol}{prefixed}, or the number alone in {unit}."


# A quantity of a case; `about` is what case_file.about says of it.

# By kind what to write, and what may stand behind the number: as a power of ten and a factor to SI.
_OF_COUNTS: dict[str, tuple[int, float]] = {name: (power, 1) for name, power in ({"": 0, "K": 3} | _POWERS).items()}
_SUFFIXES: dict[str, tuple[str, dict[str, tuple[int, float]]]] = {
    "share": ("60 %", {"": (0, 1), "%": (-2, 1)}), "count": ("1,000 or 1T", _OF_COUNTS),
    "money": ("5,000 USD or 2M USD", _OF_COUNTS),
    "time": ("1 s, 50 ms or 2 days", {"µs": (-6, 1), "μs": (-6, 1), "us": (-6, 1), "ms": (-3, 1)} | {
        name: (0, seconds) for name, seconds in ({"week": 604800} | _SECONDS).items()}),
    "bytes": ("80 GB", {"B": (0, 1), "kB": (3, 1), "MB": (6, 1), "GB": (9, 1), "TB": (12, 1), "PB": (15, 1)} | {
        name: (0, size) for name, size in BINARY.items()})}
_NUMBER = re.compile(r"([+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+|(?=\.[0-9]))(?:\.[0-9]+)?)(?:e([+-]?[0-9]{1,3}))?\s*(.*)")
_OF_COUNT = re.compile(r"\s*(tokens?|requests?|((requests? )?(a|per) |1?/)(s|second|day))$")
_OF_MONEY = re.compile(r"\s*(USD|dollars?)?(\s*(/|a |an |per )\s*(month|hour|h|year))?$")
_SCALES = (("T", 1e12), ("B", 1e9), ("M", 1e6))


def kind(about: dict[str, Any]) -> str:
    """What kind of amount a quantity is."""
    if about["unit"] in _SECONDS:
        return "time"
    if about["unit"] == "byte":
        return "bytes"
    if about["unit"].startswith("USD"):
        return "money"
    return "share" if about["high"] == 1 and not about["whole"] else "count"


def read(about: dict[str, Any], text: str) -> tuple[float | None, str]:
    """The amount in the unit of the quantity."""
    of = kind(about)
    hint, suffixes = _SUFFIXES[of]
    typed = text.strip().replace("−", "-", 1)
    match = re.fullmatch(_NUMBER, re.sub(r"^\$\s*", "", typed) if of == "money" else typed)
    suffix = _suffix(about, of, match[3]) if match else None
    if suffix not in suffixes:
        return None, f"“{cut(text, 60)}” is not understood here: write {hint}."
    power, factor = suffixes[suffix]
    base = _SECONDS[about["unit"]] if of == "time" else 1
    value = float(f"{match[1].replace(',', '')}e{int(match[2] or 0) + power}")
    wrong = outside(about, value)
    return None if wrong else value if factor == base else float(f"{value * factor / base:.15g}"), wrong


def _suffix(about, of, behind):
    if of == "time":
        return re.sub("^(second|minute|hour|day|week|month|year)s$", r"\1", behind) or about["unit"]
    if of == "bytes":
        return behind or "B"
    return re.sub(_OF_MONEY, "", behind) if of == "money" else re.sub(_OF_COUNT, "", behind) if of == "count" else behind


def outside(about: dict[str, Any], value: float) -> str:
    """What is wrong with a number for the quantity, or its size."""
    if not fits(about, value):
        return f"{about['meaning']}: give {about['allowed']}."
    return "" if spanned(about, value) else f"give {about['sizes']}."


def shown(about: dict[str, Any], value: float) -> str:
    """The value as a reader would write it: what reads back as the same, else as it is."""
    return next((text for text in _said(about, kind(about), value) if read(about, text)[0] == value), str(value))


def _said(about, of, value):
    """Ways to write a value, the shortest first."""
    plain, unit = in_full(value), about["unit"]
    if of == "share":
        return [f"{in_full(value * 100)} %"]
    if of == "time" and unit != "second":
        return [f"{plain} {unit}{'' if value == 1 else 's'}"]
    if of == "time":
        return [f"{in_full(value / size)} {name}" for name, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)) if value >= size]
    if of == "bytes":
        sizes = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("B", 1))
        return [f"{in_full(value / size)} {name}" for name, size in sizes if value >= size]
    behind = " USD" if of == "money" else ""
    scaled = [f"{in_full(value / size)}{name}{behind}" for name, size in _SCALES if value >= size]
    return [*[text for text in scaled if len(text) < 12], f"{plain}{behind}"]


def in_full(value: float) -> str:
    """A number in plain digits with thousands separators, to twelve figures."""
    value = float(f"{value:.12g}")
    places = max(11 - math.floor(math.log10(abs(value))), 0) if value else 0
    text = f"{value:,.{min(places, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
