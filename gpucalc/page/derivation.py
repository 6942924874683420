"""How a figure came about, as a page shows it: equations in words and symbols, numbers, sources."""
import ast
from collections.abc import Container
from typing import Any

from ..core.evaluate import LEFT_OUT, Explanation, Input, Step
from ..core.figures import number
from ..core.law import LAWS, Law
from ..core.quantities import COUNT0, FLAG, LEVEL2, LEVEL3, QUANTITIES
from .expression import case, names, tree
from .printer import SYMBOLS, in_words, tex, words
from .sentences import Markdown, markdown

SWITCHES = (FLAG, LEVEL2, LEVEL3)


def equation(law: Law, **known: float) -> Markdown:
    """The law's equation in symbols, with the values in `known` (switches, absent features, degrees of 1) already put in."""
    return Markdown(_display(law.__name__, tex(tree(law, **known))))


def wording(law: Law, **known: float) -> Markdown:
    """The law's equation in words, in the order in which its author wrote it."""
    return Markdown(f"> {in_words(law.__name__)} = {words(tree(law, **known))}")


def symbol_table(*laws: Law) -> Markdown:
    """Symbols, names in code, meanings and units of the laws and their arguments."""
    shown = dict.fromkeys(name for law in laws for name in (law.__name__, *law.arguments))
    rows = "\n".join(f"| ${SYMBOLS[name]}$ | {markdown(QUANTITIES[name].meaning)} "
                     f"| {markdown(QUANTITIES[name].unit or 'count')} | `{name}` |" for name in shown)
    return Markdown(f"| symbol | meaning | unit | name in code |\n|---|---|---|---|\n{rows}")


def vocabulary_table() -> Markdown:
    """Every quantity of the vocabulary, with its allowed values and the default that laws take."""
    defaults = {name: value for law in LAWS.values() for name, value in law.defaults.items()}
    rows = "\n".join(f"| `{name}` | ${SYMBOLS[name]}$ | {markdown(each.meaning)} | {markdown(each.unit or 'count')} "
                     f"| {markdown(each.allowed)} | {markdown(number(defaults[name], each.unit)) if name in defaults else ''} |"
                     for name, each in sorted(QUANTITIES.items()))
    return Markdown(f"| name in code | symbol | meaning | unit | allowed | default |\n|---|---|---|---|---|---|\n{rows}")


def derivation(explanation: Explanation) -> str:
    """The explanation as Markdown: each law's equation and numbers, then the inputs with unit, source and date.

    Terms that a neutral default leaves out of a law are not shown; a last line names them.
    """
    left_out = {used.name: in_words(used.name) for used in explanation.inputs if used.source == LEFT_OUT}
    equations = "\n\n".join(_equation(step, left_out) for step in reversed(explanation.steps))
    equal = "\n\n".join(_display(name, SYMBOLS[law]) for name, law in explanation.bound.items())
    rows = "\n".join(_input_row(used) for used in explanation.inputs if used.name not in left_out and not is_absent(used))
    named = f"\n\nLeft out: {', '.join(left_out.values())}." if left_out else ""
    return f"{equations}\n\n{equal}\n\n| symbol | input | value | source | date |\n|---|---|---:|---|---|\n{rows}{named}"


def folded(explanation: Explanation) -> str:
    """The derivation as a notebook shows it: folded, because it answers a question that not every reader has."""
    return f'<details class="derivation">\n<summary>How this is computed</summary>\n\n{derivation(explanation)}\n\n</details>'


Explanation._repr_markdown_ = folded  # type: ignore[attr-defined]


def written(step: Step, left_out: Container[str]) -> tuple[ast.expr, ast.expr, dict[str, Any]]:
    """The step's expression in general, the branch of it that holds, and the values of the names in both.

    Switches and what is absent or left out are put in, so their terms are gone.
    """
    known = {name: int(value) for name, value in step.arguments.items()
             if value == 0 or name in left_out or QUANTITIES[name].allowed in SWITCHES}
    general = tree(LAWS[step.law], **known)
    values = step.arguments | {name: LAWS[name].formula(**{part: step.arguments[part] for part in LAWS[name].arguments})
                               for name in names(general) if name not in step.arguments}
    return general, case(general, values), values


def _equation(step, left_out):
    """The law's equation and its line of numbers."""
    general, holding, values = written(step, left_out)
    value = _tex_number(step.law, step.value)
    if isinstance(holding, ast.Constant):
        lines = [tex(general), value] if names(general) else [value]
    else:
        with_numbers = tex(holding, {name: _tex_number(name, each) for name, each in values.items()}, times=True)
        lines = [tex(holding), value if with_numbers == value else f"{with_numbers} = {value}"]
    return "\n\n".join(_display(step.law, line) for line in lines)


def _display(name, right_side):
    return f"$$\n{SYMBOLS[name]} = {right_side}\n$$"


def _tex_number(name, value):
    text = number(value, QUANTITIES[name].unit)
    if text.replace(".", "").replace(",", "").isdigit():
        return text.replace(",", "{,}")
    return "\\text{" + text.replace("%", "\\%") + "}"


def is_absent(used: Input) -> bool:
    """A row's zero for a feature the model does not have."""
    return used.value == 0 and used.source not in ("given", LEFT_OUT) and QUANTITIES[used.name].allowed in (COUNT0, FLAG)


def _input_row(used):
    quantity = QUANTITIES[used.name]
    return (f"| ${SYMBOLS[used.name]}$ | {markdown(quantity.meaning)} | {markdown(number(used.value, quantity.unit))} "
            f"| {markdown(used.source)} | {markdown(used.date)} |")
