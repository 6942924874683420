"""A formula as a lesson shows it: in words, with a number under each, from the law's own syntax tree in its author's order."""
import ast
import html
from collections.abc import Iterable

from gpucalc.core.evaluate import Case, Step
from gpucalc.core.law import Law
from gpucalc.core.quantities import DEFAULTS, QUANTITIES
from .derivation import called, said, written
from .sentences import Figure
from .show import Html

# What only a page without the site's style shows: the signs that the style's layout says.
_BARE = '<span class="bare">{}</span>'.format

# What a constant of units stands for, wherever it stands.
_CONVERSIONS = {"3600": "seconds per hour", "730": "hours per month", "1,000,000,000": "bytes per GB"}


def formula(law: Law, case: Case, names: dict[str, str] | None = None, notes: dict[str, str] | None = None,
            **known: float) -> Html:
    """The formula in words with the case's numbers, its result, and a name by which a page can link to it.

    names: quantity or law -> what to call it here instead of its usual words. notes: a constant as text -> what it stands for,
    {"2": "key and value"}. known: inputs of the case that are put in as plain numbers. A link to it is `#formula-LAW`.
    """
    line, plain = in_words(law, case, names, notes, known)
    return Html(f'<div class="formula" id="formula-{law.__name__}">{line}</div>', plain)


def in_words(law: Law, case: Case, names: dict[str, str] | None = None, notes: dict[str, str] | None = None,
             known: Iterable[str] = ()) -> tuple[str, str]:
    """What stands inside a formula, as HTML and as plain text."""
    step = case.explain(law).steps[-1]
    _, shape, values = _written(law, step, known)
    own, noted = names or {}, _CONVERSIONS | (notes or {})
    call = {name: own.get(name) or called(name) for name in (law.__name__, *values)}.__getitem__

    def term(name):
        return _term(call(name), _figure(name, values[name]).marked())

    def constant(text):
        return _term(text, html.escape(noted[text])) if text in noted else text
    shown = said(shape, term, constant, _fraction)
    result = _figure(law.__name__, step.value)
    name = html.escape(call(law.__name__))
    line = (f'<span class="formula-name">{name}</span> = <span class="formula-said">{shown}</span> '
            f'<span class="formula-result">= {result.marked()}</span>')
    return line, f"{call(law.__name__)} = {said(shape, call)} = {result}"


def holding(law: Law, step: Step) -> ast.expr:
    """What of the law's expression holds in a step, without the terms that are absent there."""
    return _written(law, step, ())[1]


def _written(law, step, known):
    neutral = [name for name, value in law.defaults.items() if value == 1 == step.arguments[name] and name not in DEFAULTS]
    return written(step, [*known, *neutral])


def is_share(name: str) -> bool:
    """Whether a quantity is printed as a percentage."""
    return name == "mfu" or QUANTITIES[name].meaning.startswith(("share ", "utilization "))


def _figure(name, value):
    """A value as its quantity is printed; a share as a percentage."""
    return Figure(name, value, {}, "percent" if is_share(name) else "")


def _term(words, below):
    """Words with what stands under them, in parentheses where there is no style."""
    return f'<span class="term">{html.escape(words)} <small>{_BARE("(")}{below}{_BARE(")")}</small></span>'


def _fraction(above, below, is_product):
    opened, closed = (_BARE("("), _BARE(")")) if is_product else ("", "")
    return f'<span class="fraction"><span>{above}</span>{_BARE(" / ")}<span>{opened}{below}{closed}</span></span>'
