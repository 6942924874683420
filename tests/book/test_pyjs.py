"""Functions that are printed as JavaScript: what they give in a browser is what they give in Python, and what can't be printed is refused."""
import functools
import json
import math
import re
import statistics
from typing import NamedTuple

import pytest

from book.build.extension import STATIC
from book.web import pyjs
from book.web.printed import answers_script, case_script, figures_script, reading_script, texts_script

SCALES = ((1000, "k"), (1, ""))
WORD = re.compile(r"{(\w+)}")
HOURS = re.compile(r"(\d+) ?(h|/hr)\.?", re.IGNORECASE)
SMALL = {"of", "an"}
GIVEN = {"a": 1, "b": 2.5, "c": "text", "d": "", "e": [], "f": {}}


def forms(value):
    """Each form of a number in which a text may ask for it."""
    return [f"{value:.0f}", f"{value:,.2f}", f"{value:.2e}", f"{value:g}", f"{value:,.1f}", f"{value:.3g}"]


def rounding(value):
    """To places before and behind the point, half to even."""
    return [round(value), round(value, 2), round(value, -2), int(value), -value // 7]


def scaled(value):
    """The first that fits, else the last."""
    scale, name = next((each for each in SCALES if abs(value) >= each[0]), SCALES[-1])
    return f"{value / scale:g}{name}"


def truths(value):
    """An empty list and an empty mapping are not true, and so for `or`, `and` and `not`."""
    return [1 if value else 0, value or "none", value and "some", not value, any(each for each in [value]), all(each for each in [value, 1])]


def texts(text):
    """Methods of texts, parts of them, and places from their end."""
    first, mark, rest = text.partition("-")
    return [text.replace("a", "o"), text.removesuffix("s"), text.removeprefix("b"), text.split(" "), text.upper(), first, mark, rest,
            text[:2], text[1:], text[-1] if text else "", "an" in text, "-".join(text.split(" ")), text.startswith("b"), f"<{text!r}>",
            len(text), text.strip(), f"{text.rstrip()}|"]


def lists(values):
    """Comprehensions with conditions, in one another, and of pairs; loops and `+=`."""
    total, seen = 0, []
    for place, (name, value) in values.items() and [(1, each) for each in values.items()]:
        total += place
        if isinstance(value, str) and value not in ("", "none"):
            seen.append(name)
        elif not isinstance(value, str):
            total += 0
    return [total, seen, [name for name in values if name != "a"], {f"{name}!": 1 for name in values}, [
        one + other for one in ("x", "y") for other in ("1", "2")], values | {"z": 3}, [*seen, "end"], len(values)]


def filled(text, values):
    """Names in braces by what is there."""
    return WORD.sub(lambda found: str(values.get(found[1], "?")), text)


def matched(text):
    """A pattern that fits as a whole, or nothing."""
    found = re.fullmatch(r"(\d+) ?(h|min)?", text)
    return found[1] if found is not None else math.inf


class Note(NamedTuple):
    """A text and what goes with it."""

    text: str
    size: float = 1
    marks: list = []
    new: str = "new"


def records(values):
    """Named tuples, by place and by name, with their defaults."""
    whole = [Note("a"), Note("b", 2.5), Note("c", marks=values), Note(text="d", size=len(values))]
    return [[each.text, each.size, each.marks, each.new] for each in whole]


def ordered(values):
    """By numbers, by lists of them, and as they stand where these are equal; each value is itself and no other."""
    held = sorted(values.items(), key=lambda item: (-item[1], len(item[0])))
    first = held[0]
    return [list(enumerate(values)), max([each for _, each in held]), min(values.values()), max(values), min(values, key=lambda each: values[each]), held, sorted(held, key=lambda each: len(each[0])), [each is first for each in held], [each is not first for each in held]]


def kinds(values):
    """What is a number, what a text; a part that may not be there; names that JavaScript keeps for itself; a product."""
    case: list = [each for each in values if isinstance(each, int | float)]
    new, this = [each for each in values if isinstance(each, str)], math.prod(case)
    return [case, new, this, [new + 1 for new in case], [getattr(each, "real", None) is None for each in [""]], (lambda new: new)(this)]


def laid(values):
    """Mappings over one another."""
    other: dict
    other = {"a": 0, **values}
    return values | {"a": 3, "z": 4} | ({"y": 5} if values else {}) | other


def patterns(text):
    """Patterns searched for, all found, put in place of others, with groups that may fit nothing."""
    found, held = re.search(r"[a-z]+", text), HOURS.search(text)
    return [[found[0], found.start(), found.end()] if found else None, held[2].lower() if held else "", bool(HOURS.fullmatch(text)),
            re.findall(r"\d|-", text), re.findall("([a-c])([0-9])?", text), re.findall("(?:x)?([0-9])?-", text), re.sub(r"(\w)-", r"<\1>$1", text),
            re.sub("a", "o", text, count=1), re.sub(rf"\b{text[:1]}", "", text) if text[:1].isdigit() else "", re.fullmatch("[A-Z]{3}.*", text, re.ASCII) is None,
            text.replace("n", "$&", 1), text.strip("-b "), text.rstrip("s-h"), [word for word in text.split() if word not in SMALL]]


def sets(values):
    """What is there once, in an order, the most and the least of a kind, by keys that are tuples too."""
    texts = {each for each in values if isinstance(each, str)}
    places = {place % 3 for place in range(7)}
    order = sorted(texts, key=lambda each: (-len(each), each))
    return [order, len(texts), "text" in texts, sorted(set(values)) if len(texts) == len(values) else [], len({1, 2, len(values)}), sum(places), list(range(2, 9, 3)),
            max(values or [0], key=lambda each: (isinstance(each, str), str(each))), min(order, key=lambda each: len(each)) if texts else "", statistics.median([3, 1, 2, len(values)]),
            ", ".join(dict.fromkeys(str(each) for each in values)), next(iter(order), "none"), -7 % 3, int("12"), bool(values)]


def kinds_of(value):
    """The kind of a value, and of what stands in it."""
    return [isinstance(value, list), isinstance(value, dict), type(value) is type(str(value)), type(value) is not int, *(
        [1] if type(value) is bool else [2] if type(value) is float else [])]


class Held(NamedTuple):
    """Values by name, with a word before each."""

    values: dict
    before: str = "a "

    def named(self, name, otherwise="nothing"):
        return self.before + self.values.get(name, otherwise)


class Worked:
    """Values that are worked out once each, by rules that name one another."""

    def __init__(self, rules):
        self.rules, self.known, self.held = rules, {}, Held(rules)

    def of(self, name):
        if name not in self.known:
            self.known[name] = getattr(self, f"_{self.rules[name]}")(name)
        return self.known[name]

    def _b(self, name):
        return f"{name} as {self.of('b')}"

    def _c(self, name):
        return self.held.named(name) + self.held.named("none", "-")


@functools.cache
def again(text):
    """What is kept once it is worked out."""
    return [text.upper()]


def worked(text):
    """Objects of classes, and what a value that can't be is refused with."""
    held = Worked({"a": "b", "b": "c"})
    for each in text.split():
        if each not in ("a", "b"):
            continue
        text += held.of(each) + again(each)[0]
    if not text.split():
        raise ValueError(f"{text!r}: no words")
    return [text, held.known, again("a") == again("a")]


NUMBERS = [0.5, 1.5, 2.5, 0.125, 2.675, 1234567.891, 1e-7, 999.5, 99999.5, 123456789, -3.5, 0, 45, 55, 150, 250, 1e21, 7]
CASES = [(forms, [(each,) for each in NUMBERS]), (rounding, [(each,) for each in NUMBERS if each < 1e20]),
         (scaled, [(each,) for each in (5, 1500, 0.5)]),
         (truths, [(each,) for each in GIVEN.values()]), (texts, [(each,) for each in ("bananas", "a-b-c", "one two ", "", "it's", "a \"b\" 'c'")]),
         (lists, [(GIVEN,)]), (filled, [("{a} and {c} and {nothing}", GIVEN)]), (matched, [("12 h",), ("x",)]),
         (records, [([1, 2],)]), ((records, Note), [([1, 2],)]), (ordered, [({"one": 1, "two": 2, "three": 2, "ten": 1},)]),
         (kinds, [([1, "a", None, 2.5, "b"],)]), (laid, [({"a": 1, "b": 2},), ({},)]),
         (patterns, [(each,) for each in ("bananas 12 H.", "3 /hr", "a-b1-c", "USD an a of", "-9- b", "")]),
         (sets, [(each,) for each in (["text", "a", "text", "bb"], ["a"], [1, 2.5, "z", 2.5], [])]),
         (kinds_of, [(each,) for each in (1, 2.5, True, "a", [1], {"a": 1})]), ((worked, Held, Worked, again), [("b a c a",), ("a",)])]


@pytest.fixture(scope="module")
def made(browser):
    """Prints functions into a page that has what printed functions call; the last is `made` there."""
    page = browser.new_page()
    page.set_content("<!doctype html><title>printed</title>")
    page.add_script_tag(content=f"{figures_script()}gpucalc.trains = null;\n{texts_script()}{reading_script()}")

    def made(*functions):
        text = pyjs.functions(functions, {})
        page.add_script_tag(content=f"window.made = (() => {{ const {{ py }} = gpucalc; {text}\nreturn {functions[0].__name__}; }})()")
        return page

    yield made
    page.context.close()


@pytest.mark.parametrize("functions, calls", CASES, ids=lambda case: getattr(case, "__name__", None))
def test_a_browser_gives_what_python_gives(made, functions, calls):
    functions = functions if isinstance(functions, tuple) else (functions,)
    page = made(*functions)
    for given in calls:
        found, wanted = page.evaluate("(given) => made(...given)", json.loads(json.dumps(given))), functions[0](*given)
        assert found == json.loads(json.dumps(wanted)) or wanted == math.inf == found, given


def test_what_is_refused_is_a_fault_with_the_same_message(made):
    with pytest.raises(ValueError) as error:
        worked(" ")
    assert made(worked, Held, Worked, again).evaluate(
        "(() => { try { made(' '); } catch (error) { return [error instanceof gpucalc.py.Fault, error.message]; } })()") == [True, str(error.value)]


def looping(value):
    while value:
        value -= 1


def trying(value):
    try:
        return value
    except ValueError:
        return 0


def named(value):
    return value.split("a", maxsplit=1)


def starred(*values):
    return values


def by_text(value):
    return sorted(value, key=len, reverse=True)


def spread(values):
    return Note(*values)


def delete(value):
    return value


def elsewhere(value):
    return getattr(value, "size", 0)


def undeclared(value):
    return isinstance(value, bytes)


def calling(value):
    return value.count("a")


def unknown(value):
    return CASES_OF[value]    # noqa: F821


def called(value):
    return looping(value)


def comparing(value):
    return value == [1]


def equal_sets(value):
    return value == {1, 2}


def without(value):
    return value - {1, 2}


def named_group(value):
    return re.search("(?P<name>a)", value)


def whole_lines(value):
    return re.search("^a", value, re.MULTILINE)


def flagged(value):
    return re.search(f"{value}a", value, re.IGNORECASE)


@functools.lru_cache(maxsize=3)
def few_kept(value):
    return value


class Rooted(ValueError):
    def of(self):
        return 1


class Named(NamedTuple):
    value: str

    def get(self):
        return self.value


def a_number(value):
    return isinstance(value, int)    # as a truth is


def in_parts(value):
    return value[::2]


@pytest.mark.parametrize("function, allowed", [
    (looping, "looping, line \\d+: `while value:`; allowed: conditions, loops over values"), (trying, "`try:`; allowed: conditions"),
    (named, "maxsplit=1.*; allowed: arguments by place"), (starred, "allowed: arguments by place"),
    (spread, "Note.*; allowed: fields one by one"), (delete, "allowed: a name that JavaScript does not keep"),
    (elsewhere, "getattr.*; allowed: names that are printed too"), (by_text, "reverse=True.*; allowed: arguments by place"), (undeclared, "bytes.*; allowed: names that are printed too"),
    (calling, "count.*; allowed: methods get, join"), (unknown, "CASES_OF.*; allowed: names that are printed too"),
    (called, "`return looping\\(value\\)`; allowed: names that are printed too"), (comparing, "allowed: comparisons of numbers and texts"),
    (equal_sets, "allowed: comparisons of numbers and texts"), (without, "allowed: `in`, loops and comprehensions of sets"),
    (named_group, "named_group: the pattern .*; allowed: what JavaScript reads alike"), (whole_lines, "the pattern \\^a; allowed"),
    (flagged, "`return re.search.*; allowed: a pattern without flags but ASCII"), (few_kept, "lru_cache.*; allowed: functools.cache"),
    (Rooted, "`class Rooted.*; allowed: a class of its own, or a NamedTuple"),
    (Named, "Named.get, line \\d+: `def get.*; allowed: a name that no method of a text"), (a_number, "allowed: names that are printed"), (in_parts, "allowed: numbers, texts, names")], ids=lambda case: getattr(case, "__name__", None))
def test_what_can_not_be_printed_is_refused_by_its_line(function, allowed):
    with pytest.raises(pyjs.Refused, match=allowed):
        pyjs.functions([function], {})


def test_a_constant_that_json_has_not_is_refused():
    with pytest.raises(pyjs.Refused, match="^CASES: list; allowed: numbers, texts, patterns"):
        pyjs.functions([constant], {})


def constant(value):
    return CASES[value]


def test_what_is_printed_is_small():
    assert len(figures_script()) < 12_000 and len(texts_script()) < 8_000 and len(case_script()) < 11_000
    assert len(answers_script()) < 29_500 and len(reading_script()) < 86_000


def test_two_cases_are_judged_by_the_functions_of_python():
    script, page = answers_script(), (STATIC / "front_cards.js").read_text(encoding="utf-8")
    assert all(f"function {name}(" in script for name in ("likeness", "apart", "better"))
    assert "better(other.bar, answer.bar, answer.id, real)" in page and "winner" not in page
