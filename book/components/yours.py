"""Figures that follow the reader: the page's own case gives them, or the reader's, where it is opened from "Your case".

    %%say
    On {{ yours.model }} a token costs {{ yours.kv_bytes_per_token | exact }}, in FP8 {{ yours(cache_element_bytes=1).kv_bytes }}.

`yours.NAME` is a law, a quantity or a row of the notebook's case; `yours(NAME=VALUE)` the case but for that. Each figure says
what it is in its HTML, and book/static/yours.js asks the same of the reader's case.
"""
import html
import json
from collections.abc import Callable
from typing import Any

from gpucalc.core import figures
from gpucalc.core.evaluate import FINDERS, Case, is_law
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS, QUANTITIES


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
