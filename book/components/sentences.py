"""Sentences with computed figures: a cell that begins with %%say holds Markdown, and figures stand in it in double braces."""
import functools
import html
import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any

from gpucalc.core import figures
from gpucalc.core.evaluate import Case, FINDERS, is_law
from gpucalc.core.law import LAWS
from gpucalc.core.markdown import Markdown, markdown
from gpucalc.core.quantities import DEFAULTS, QUANTITIES
from gpucalc.rows.bands import CLOSE


# Figures that follow the reader: the page's own case gives them, or the reader's, where it is opened from "Your case".
#
# %%say On {{ yours.model }} a token costs {{ yours.kv_bytes_per_token | exact }}, in FP8 {{
# yours(cache_element_bytes=1).kv_bytes }}.
#
# `yours.NAME` is a law, a quantity or a row of the notebook's case; `yours(NAME=VALUE)` the case but for that. Each figure says
# what it is in its HTML, and book/static/yours.js asks the same of the reader's case.


class Yours:
    """What sentences and pictures take the figures of a case from."""

    def __init__(self, case: Case, **changes: Any):
        self._case, self._changes = case.but(**changes), changes

    def __call__(self, **changes: Any) -> "Yours":
        """The same but for these changes; a law stands for its value."""
        return Yours(self._case, **self._changes | changes)

    def __getattr__(self, name: str) -> "Figure":
        if name not in LAWS and name not in QUANTITIES and name not in FINDERS:
            raise AttributeError(f"yours.{name}: neither a law nor a quantity nor a kind of row")
        return Figure(name, _value(self._case, name), {key: value.__name__ if is_law(value) else value
                                                       for key, value in self._changes.items()})


class Figure:
    """A figure as text that knows what it is: `name`, of the case but for `changes`, said in `form` (a unit or a formatter)."""

    def __init__(self, name: str, value: Any, changes: dict[str, Any], form: str = ""):
        self.name, self.value, self.changes, self.form = name, value, changes, form

    def said(self, form: str) -> "Figure":
        """The same in another form: a unit of the vocabulary, or a formatter of core/figures.py."""
        return Figure(self.name, self.value, self.changes, form)

    def __str__(self):
        if isinstance(self.value, str):
            return self.value
        if self.form in figures.UNITS and self.form:
            return figures.number(self.value, self.form)
        return getattr(figures, self.form)(self.value) if self.form else figures.quantity(self.name, self.value)

    def attributes(self) -> str:
        """What the page's script needs, as HTML attributes."""
        held = {"data-yours": self.name, "data-but": json.dumps(self.changes) if self.changes else "", "data-form": self.form}
        return "".join(f' {name}="{html.escape(value)}"' for name, value in held.items() if value)

    def marked(self, escape: Callable[[str], str] = html.escape) -> str:
        """The figure as HTML, or in Markdown where `escape` makes that of text."""
        return f'<span class="yours"{self.attributes()}>{escape(str(self))}</span>'


def held(case: Case, name: str) -> Any:
    """What a case has under a name, an input before a cell of its rows; None if nothing."""
    return next((holder[name] for holder in (case.inputs, *case.rows.values()) if name in holder), None)


def _value(case, name):
    if name in case.rows and name not in case.inputs:
        return case.rows[name].name
    found = held(case, name)
    if isinstance(found, dict):
        return found[name]
    if is_law(found) or found is None and name in LAWS:
        return case(LAWS[name] if found is None else found)
    if found is None and name not in DEFAULTS:
        raise ValueError(f"yours.{name}: not in {case!r}")
    return DEFAULTS[name][0] if found is None else _value(case, found) if isinstance(found, str) else found


# Sentences with computed figures: a cell that begins with %%say holds Markdown, and the figures stand in it in double braces.
#
# %%say On {{ model }} one token costs {{ per_token | bytes }}, and {{ batch }} sequences cost {{ cache | bytes }}.
#
# Between the braces is a name of the notebook or a short expression, and after | the formatter of the figure. Plain text and
# numbers need none. Text from data is escaped, so that it is never markup. {% if ... %} chooses between sentences.

# Formatters by the word after |; those without a word of their own go by their name in core.figures.
FORMATS = {"bytes": "byte", "flop": "FLOP", "flop_rate": "FLOP/second", "byte_rate": "byte/second", "watts": "watt",
           "hours": "hour", "months": "month", "years": "year", "token_rate": "token/second", "intensity": "FLOP/byte"}
NAMED = ("number", "three_figures", "seconds", "exact", "gib", "percent", "usd", "hourly", "dollars", "days", "signed", "chance",
         "times")


class Shown(str):
    """Text that a formatter made, which needs no escape."""


@functools.cache
def environment(escape=markdown):
    """Jinja with this book's formatters; text from data goes through `escape`, and a name that is not there is an error."""
    import jinja2
    shown = functools.partial(_shown, escape=escape)
    made = jinja2.Environment(undefined=jinja2.StrictUndefined, finalize=shown)
    for word, unit in FORMATS.items():
        made.filters[word] = functools.partial(_in_unit, unit=unit)
    for name in NAMED:
        made.filters[name] = functools.partial(_formatted, getattr(figures, name))
    made.filters["quantity"] = lambda value, name: Shown(figures.quantity(name, value))
    made.filters["banded"] = lambda band, unit="": Shown(banded(band, unit))
    made.filters["form"] = lambda value, form: Shown(format(value, form))
    made.filters["words"] = lambda values, last="and": Shown(in_words([str(shown(each)) for each in values], last))
    made.filters["dated"] = price_date if escape is not str else str
    made.globals |= dict(infinity=math.inf, enough=enough, cheaper=cheaper)
    return made


def said(text, names, escape=markdown):
    """The sentence with its figures, which are looked up in `names`: Markdown, or another form where `escape` makes that of text.

    Raises ValueError naming what is not there.
    """
    import jinja2
    known = {"yours": Yours(names["case"])} if isinstance(names.get("case"), Case) else {}
    try:
        return agreed(environment(escape).from_string(text.strip()).render(names | known))
    except jinja2.TemplateError as error:
        raise ValueError(f"sentence {' '.join(text.split())[:60]!r}: {error}") from None


# What sentences count, and a range of one value with what stands around it.
_COUNTED = "card|GPU|micro-batch|place|replica|request|sequence|server|slot|stage|step|token|user"
_ONE = re.compile(rf"(?<![\d.,])(1(?:</\w+>)?)\s({_COUNTED})(?:e?s)\b")
_NO_RANGE = re.compile(r" \(8 in 10 between (\S+(?: [^\s()]+)?) and\s+\1\)")


def agreed(text: str) -> str:
    """The sentence where a count is one, `1 token`, and where both ends of a range are the same, which then is none."""
    return _NO_RANGE.sub("", _ONE.sub(r"\1 \2", text))


def in_words(texts, last="and"):
    """A list in words: `one`, `one and two`, `one, two and three`."""
    return f" {last} ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


# What a sentence says of a figure whose family has no published ones.
NOT_CHECKED = "not checked against published figures"


def banded(band, unit=""):
    """A band in words: `4.80 s (plan 5.60, 8 in 10 between 4.90 and 7.10)`.

    unit: a unit, or the word of a format (`days`, `usd`); the band's own if none.
    """
    unit = FORMATS.get(unit, unit or band.unit)
    show = getattr(figures, unit) if unit in NAMED else functools.partial(figures.number, unit=unit)
    value, plan, low, high = map(show, (band.value, band.plan, band.low, band.high))
    if not band.checked:
        return f"{value} ({NOT_CHECKED})"
    if value == plan == low == high:
        return value
    if len({text.partition(" ")[2] for text in (value, plan, low, high)}) == 1:
        plan, low, high = (text.partition(" ")[0] for text in (plan, low, high))
    return f"{value} (plan {plan}, 8 in 10 between {low} and {high})"


def enough(band, at_most=None, at_least=None):
    """Whether a figure stays within a limit: `yes`, `no`, or `too close to call` where the limit lies inside the band."""
    if not band.checked:
        return NOT_CHECKED
    if at_most is None:
        return "yes" if band.low >= at_least else "no" if band.high < at_least else CLOSE
    return "yes" if band.high <= at_most else "no" if band.low > at_most else CLOSE


def cheaper(band, other):
    """Whether the one costs (or takes) less than the other: `yes`, `no`, or `too close to call` where their bands overlap.

    Two figures of one family share some of its error, so this is on the safe side.
    """
    if not (band.checked and other.checked):
        return NOT_CHECKED
    return "yes" if band.high < other.low else "no" if band.low > other.high else CLOSE


def price_date(date, *more):
    """A price date that the page turns into an age; with the class `brief` only where it is old, and in a few characters."""
    return Shown(f'<time class="{" ".join(("price-date", *more))}" datetime="{html.escape(date)}">{html.escape(date)}</time>')


def say(line, cell):
    """%%say [KEY [TRACE]]: show the cell as a sentence; with a key, a sentence without markup, other pages can show it too.
    Below it stand the derivations of TRACE, an expression or several with commas between."""
    from IPython.display import display
    (key, _, traced), names = line.strip().partition(" "), _names()
    text = said(cell, names)
    if not key:
        return display(Markdown(text))
    # MyST-NB finds a figure of another page by this metadata, and reads its plain text as a Python literal.
    shown = {"text/markdown": text, "text/plain": repr(" ".join(said(cell, names, str).split()))}
    dated = {"text/html": said(cell, names, html.escape)} if "<time" in text else {}
    display(shown | dated, metadata={"scrapbook": {"name": key, "mime_prefix": ""}}, raw=True)
    if traced:
        display(*eval(f"[{traced}]", names))


def exercise(line, cell):
    """%%exercise: a question, a line ---, and its answer, which stays folded. Figures as in %%say. They are numbered."""
    from IPython.display import display
    question, rule, answer = cell.partition("\n---\n")
    if not rule:
        raise ValueError("an exercise needs a line --- between its question and its answer")
    names = _names()
    display(Markdown(numbered(question, said(question, names), said(answer, names), names)))


def numbered(key, question, answer, names):
    """Markdown of an exercise with its answer folded. The number is by the key, so that a cell that runs again keeps its own."""
    numbers = names.setdefault("_exercises", {})
    number = numbers.setdefault(key, len(numbers) + 1)
    return agreed(f'<strong id="exercise-{number}">Exercise {number}.</strong> {question}\n\n<details class="answer">\n'
                  f"<summary>Answer</summary>\n\n{answer}\n\n</details>")


def register(shell):
    """Teach a notebook's shell the two cell magics."""
    shell.register_magic_function(say, "cell")
    shell.register_magic_function(exercise, "cell")


def _names():
    from IPython import get_ipython
    return get_ipython().user_ns


def _formatted(show, value, *more):
    if isinstance(value, Figure):
        return value.said(show.__name__)
    return Shown(show(value, *(getattr(figures, each) if each in NAMED else each for each in more)))


def _in_unit(value, unit):
    if isinstance(value, Figure):
        return value.said(unit)
    return Shown(figures.number(value, unit))


def _shown(value, escape):
    """A value as it stands in a sentence: text escaped, whole numbers with separators, others at three figures."""
    if isinstance(value, Figure):
        return str(value) if escape is str else value.marked(escape)
    if isinstance(value, Shown) or hasattr(value, "__html__"):
        return value
    if hasattr(value, "dtype") and not value.ndim:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return escape(str(value))
    return f"{value:,}" if isinstance(value, int) else figures.number(value)


if "IPython" in sys.modules and (_shell := sys.modules["IPython"].get_ipython()) is not None:
    register(_shell)
