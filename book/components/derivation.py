"""How a figure came about, as a page shows it: equations in words and symbols, numbers, sources."""
import ast
import html
import re

from gpucalc.core.evaluate import LEFT_OUT, Explanation, Step
from gpucalc.core.expression import is_absent, names, tree, written
from gpucalc.core.figures import UNITS, number
from gpucalc.core.law import LAWS, Law
from gpucalc.core.markdown import Markdown, markdown
from gpucalc.core.printer import SYMBOLS, tex
from gpucalc.core.quantities import FLAG, QUANTITIES
from .spoken import called, said


def equation(law: Law, **known: float) -> Markdown:
    """The law's equation in symbols, with the values in `known` (switches, absent features, degrees of 1) already put in."""
    return Markdown(_display(law.__name__, tex(tree(law, **known))))


def symbol_table(*laws: Law) -> Markdown:
    """Symbols, names in code, meanings and units of the laws and their arguments."""
    shown = dict.fromkeys(name for law in laws for name in (law.__name__, *law.arguments))
    rows = "\n".join(f"| ${SYMBOLS[name]}$ | {markdown(QUANTITIES[name].meaning)} "
                     f"| {markdown(QUANTITIES[name].unit or 'count')} | `{name}` |" for name in shown)
    return Markdown(f"| symbol | meaning | unit | name in code |\n|---|---|---|---|\n{rows}")


def vocabulary_table() -> Markdown:
    """Every quantity of the vocabulary, with its unit (blank: a count or a share), its allowed values and its default."""
    defaults = {name: value for law in LAWS.values() for name, value in law.defaults.items()}
    usual = {name: markdown(number(value, QUANTITIES[name].unit)) for name, value in defaults.items()}
    rows = "\n".join(f"| `{name}` | ${SYMBOLS[name]}$ | {markdown(each.meaning)} | {markdown(UNITS[each.unit]['symbol'])} "
                     f"| {markdown(_range(each.allowed))} | {usual.get(name, '')} |"
                     for name, each in sorted(QUANTITIES.items()))
    return Markdown(f"| name in code | symbol | meaning | unit | allowed | default |\n|---|---|---|---|---|---|\n{rows}")


def _range(allowed):
    """What is allowed in signs, where an end has one: "≥ 1, whole"."""
    text = re.sub(r"^a (whole )?number (above|of at least) (\d+)", _signs, allowed)
    return text.replace(" and at most", ", ≤").removeprefix("a number from ")


def _signs(found):
    whole, end, least = found.groups()
    return f"{'>' if end == 'above' else '≥'} {least}{', whole' if whole else ''}"


def derivation(explanation: Explanation) -> str:
    """The explanation as a tree in HTML: each formula in words and numbers, what it takes folded below it,
    inputs with their source.

    What stands twice is told once. Terms that a neutral default leaves out of a law are not shown; a last line names them.
    """
    told = _Tree(explanation)
    left_out = ", ".join(map(called, told.left_out))
    return told.law(explanation.steps[-1], "<p>", "</p>") + (f"<p>Left out: {html.escape(left_out)}.</p>" if left_out else "")


def folded(explanation: Explanation) -> str:
    """The derivation as a notebook shows it: folded, because it answers a question that not every reader has."""
    return f'<details class="derivation"><summary>How this is computed</summary>{derivation(explanation)}</details>'


class _Tree:
    """The laws and inputs of an explanation, each told where it is first needed."""

    def __init__(self, explanation):
        self.steps = {step.law: step for step in explanation.steps}
        self.inputs = {used.name: used for used in explanation.inputs}
        self.bound, self.told = explanation.bound, set()
        self.left_out = [used.name for used in explanation.inputs if used.source == LEFT_OUT]

    def law(self, step, before, after):
        """A law's line between two texts, and below it what it takes."""
        self.told.add(step.law)
        general, holding, values = written(step, self.left_out)
        numbers, value = said(holding, lambda name: _value(name, values[name])), _value(step.law, step.value)
        decided = isinstance(holding, ast.Constant)
        words = value if not names(general) else said(general if decided else holding)
        line = " = ".join(dict.fromkeys([words, value if decided else numbers, value]))
        taken = dict.fromkeys([*names(holding), *names(general), *filter(self.counts, step.arguments)])
        below = "".join(self.taken(name, values) for name in taken)
        return (f"{before}<b>{html.escape(called(step.law))}</b> = {html.escape(line)}{after}"
                + (f"<ul>{below}</ul>" if below else ""))

    def counts(self, name):
        """Whether what is not in a law's line belongs below it: a law that comes to nothing here does not."""
        name = self.bound.get(name, name)
        return name in self.inputs or self.steps[name].value != 0

    def taken(self, name, values):
        """What a law takes, unless it is told, left out or absent."""
        name, was = self.bound.get(name, name), name
        if name in self.told or name in self.left_out:
            return ""
        if name in self.inputs:
            self.told.add(name)
            return "" if is_absent(self.inputs[name]) else self.input(self.inputs[name])
        same = f"{called(was)} = " if was != name else ""
        step = self.steps.get(name) or Step(name, {part: self.value(part) for part in LAWS[name].arguments}, values[was])
        return self.law(step, f"<li><details><summary>{html.escape(same)}", "</summary>") + "</details></li>"

    def value(self, name):
        return self.inputs[name].value if name in self.inputs else self.steps[self.bound.get(name, name)].value

    def input(self, used):
        """An input's line; a source that was named before is named by what it is of."""
        source = used.source if used.source not in self.told else used.source.partition(";")[0]
        self.told.add(used.source)
        about = ", ".join(filter(None, (source, used.date if source == used.source else "")))
        is_switch, meaning = QUANTITIES[used.name].allowed == FLAG, QUANTITIES[used.name].meaning
        said_so = (f"{meaning}: {'yes' if used.value else 'no'}" if is_switch else
                   f"{called(used.name)} = {_value(used.name, used.value)}")
        return f"<li>{html.escape(said_so)} <small>{html.escape(about)}</small></li>"


def _display(name, right_side):
    return f"$$\n{SYMBOLS[name]} = {right_side}\n$$"


def _value(name, value):
    return number(value, QUANTITIES[name].unit)
