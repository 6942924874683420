"""What a reader gets with a pencil from the printed formula and the printed inputs is what the page prints."""
import html
import itertools
import math
import re

import nbformat
import pytest

from book.build.inputs import ROOT
from book.components.links import contents

LESSONS = list(contents()["Learn"])
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "m": 1e-3, "µ": 1e-6, "μ": 1e-6, "n": 1e-9}
WORDS = {"million": 1e6, "billion": 1e9, "trillion": 1e12, "%": 0.01, "GiB": 2**30, "MiB": 2**20, "kWh": 1, "kW": 1}
TIMES = {"min": 60, "h": 3600, "hour": 3600, "hours": 3600, "days": 86400, "day": 86400, "months": 730 * 3600, "month": 730 * 3600,
         "years": 8760 * 3600, "year": 8760 * 3600}
FIGURE = r"(?:[\d,]*\d(?:\.\d+)?(?:e[+-]?\d+)?)"
UNIT = r"(?: 1/[a-z]+)?(?: (?:million|billion|trillion|%)(?![a-z]))?(?: ?[A-Za-zµμ%/$·]+(?: [a-z]+)?)?"
# What stands behind a term is its value.
TERM = re.compile(rf"[^\W\d][\w’'\-–,. ]*? \(({FIGURE})({UNIT})\)")
ENDS = {", 0 if less": lambda value: max(value, 0), ", rounded down": math.floor, ", rounded up": math.ceil}
SENTENCE = re.compile(rf"\*\*((?:{FIGURE}{UNIT} [×+−/] )+{FIGURE}{UNIT}) = ({FIGURE}{UNIT})\*\*")


def scale(unit, times):
    """How much of the SI unit one is: a kB is a thousand, a rate has a size above its line and one below."""
    above, _, below = unit.strip().partition("/")
    return _size(above, times) / _size(below, times)


def _size(words, times):
    size = 1.0
    for word in words.split():
        bases = [word[:-len(base)] for base in ("FLOP", "B", "W", "s") if word.endswith(base) and word[:-len(base)] in PREFIXES]
        size *= WORDS.get(word) or (times.get(word) if word in TIMES else PREFIXES[bases[0]] if bases else 1)
    return size


def ends(figure, unit, times, given=True):
    """Between which values a printed figure was rounded: to three figures, unless it is given and a whole count, or shorter than that."""
    digits = figure.replace(",", "")
    mantissa, _, power = digits.partition("e")
    whole, _, decimals = mantissa.partition(".")
    half = 0.5 * 10 ** (-len(decimals) if decimals else max(len(whole) - 3, 0)) * 10 ** float(power or 0)
    exact = given and not decimals and (len(whole) < 3 or not unit.strip() and len(whole) < 7)
    return tuple((float(digits) + sign * half * (not exact)) * scale(unit, times) for sign in (-1, 1))


def worked(said, result):
    """Whether the result is among those that the printed figures allow; None where the line holds words that no pencil computes.

    Times count in seconds, or, where a constant turns one unit of time into another, as they are printed.
    """
    found = [_worked(said, result, times) for times in (TIMES, dict.fromkeys(TIMES, 1))]
    return None if None in found else any(found)


def _worked(said, result, times):
    values, text, rounding = [], said.replace("FLOP/s (", "rate ("), []
    for words, shape in ENDS.items():
        if text.endswith(words):
            text, rounding = text.removesuffix(words), [*rounding, shape]

    def hold(found):
        values.append(ends(found[1], found[2], times))
        return f" v[{len(values) - 1}] "
    text = TERM.sub(hold, text)
    text = re.sub(r"(\d[\d,.]*) \([^()\d]*\)", r"\1", text)                  # a constant with what it stands for
    for sign, written in (("×", "*"), ("−", "-"), (",", ""), ("²", "**2"), ("^", "**"), ("ln(", "LN("), ("ln (", "LN(")):
        text = text.replace(sign, written)
    if re.search(r"[^\W\dvLN_]|v(?!\[)|N(?!\()|\]\s+v", text) or not values or len(values) > 12:
        return None
    found = []
    for corner in itertools.product(*values):
        value = eval(text, {"__builtins__": {}}, {"v": corner, "LN": math.log})  # figures and operators alone, as was checked
        for shape in rounding:
            value = shape(value)
        found.append(value)
    low, high = ends(*re.match(rf"({FIGURE})({UNIT})$", result).groups(), times, given=False)
    slack = 1e-9 * max(map(abs, (low, high)))
    return min(found) <= high + slack and max(found) >= low - slack


def plain(markup):
    text = re.sub(r'<span class="bare">(.*?)</span>', r"\1", markup, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", text))).replace("\u202f", " ").replace("\xa0", " ").strip()


def lines(path):
    """The formulas with numbers of a recording and its sums in bold: (what is computed, its result)."""
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            for line in re.findall(r'<div class="formula"[^>]*>(.*?)</div>', "".join(data.get("text/html", "")), re.DOTALL):
                said, _, result = plain(line.partition('<span class="formula-said">')[2]).rpartition("= ")
                yield said.strip(), result
            for said, result in SENTENCE.findall(re.sub(r"\s+", " ", plain("".join(data.get("text/markdown", ""))))):
                yield re.sub(rf"({FIGURE})({UNIT})(?= [×+−/]|$)", r"a (\1\2)", said), result


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_pencil_gives_what_the_page_prints(lesson):
    found = [(said, result, worked(said, result)) for said, result in lines(ROOT / f"notebooks/{lesson}.ipynb")
             if re.fullmatch(rf"{FIGURE}{UNIT}", result)]
    assert [(said, result) for said, result, right in found if right is False] == []


def test_most_formulas_are_worked_again():
    found = [worked(said, result) for lesson in LESSONS for said, result in lines(ROOT / f"notebooks/{lesson}.ipynb")
             if re.fullmatch(rf"{FIGURE}{UNIT}", result)]
    assert len(found) - found.count(None) >= 40, (len(found), found.count(None))


@pytest.mark.parametrize("said, result, right", [
    ("2 (key and value) × layers (80) × bytes per value (2 B)", "320 B", True), ("2 × layers (80) × bytes (2 B)", "321 B", False),
    ("room for the cache (167 GB) / KV bytes per sequence (2.68 GB), rounded down", "62", True),
    ("room (167 GB) / one (2.68 GB)", "57.8", False), ("memory (85.5 GB) × (1 − headroom (10 %))", "76.9 GB", True),
    ("a (3.87 USD/h) × a (1.19)", "4.60 USD/h", True), ("a (3.87 USD/h) × a (1.19)", "4.70 USD/h", False),
    ("weights (141 GB) / bandwidth (2.04 TB/s)", "69.1 ms", True), ("the larger of (2) and something", "2", None)])
def test_the_pencil_itself(said, result, right):
    assert worked(said, result) is right
