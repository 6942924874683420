"""How a figure came about, as a page shows it: laws in plain words, with their numbers, sources and what they take."""
import ast
import functools
import html
import math
import re
from collections.abc import Callable

from gpucalc.core.evaluate import Explanation, LEFT_OUT, Step
from gpucalc.core.expression import is_absent, names, plain, tree, written
from gpucalc.core.figures import number, UNITS
from gpucalc.core.law import Law, LAWS
from gpucalc.core.markdown import Markdown, markdown
from gpucalc.core.printer import cancelled, factors_of, in_words, operators, SYMBOLS, tex, Words
from gpucalc.core.quantities import FLAG, QUANTITIES, read_rows


# An expression as a lesson says it: for somebody who reads the quantity for the first time, with its numbers beside it.
#
# Other than `printer.words`, which keeps to the names in code, it says `the larger of A and B`, gathers what a product is
# divided by, and calls quantities as the column `words` of data/quantities.csv does.

_WORDS = {row["quantity"]: row["words"] for row in read_rows("quantities.csv") if row["words"]}
_BETTER = ((r"^(.*) element bytes$", r"bytes per \1"), (r"\bseconds$", "time"), (r"\bUSD\b", "cost"),
           (r"\bGPU hours\b", "GPU-hours"), (r"\ball (reduce|to all)\b", r"all-\1"), (r"\bto all\b", "to-all"),
           (r"\bpoint to point\b", "point-to-point"),
           (r"\bmicro batch", "micro-batch"), (r"\bbreak even\b", "break-even"), (r"\bkw\b", "kW"))
_MORE = {"maximum": ("larger", "largest"), "minimum": ("smaller", "smallest")}
_PHRASES = ("ceil", "floor", "where", *_MORE)


@functools.cache
def called(name: str) -> str:
    """What a page calls a quantity: `cache_element_bytes` is bytes per cached value, `prefill_seconds` prefill time."""
    return _WORDS.get(name) or functools.reduce(lambda text, pair: re.sub(pair[0], pair[1], text), _BETTER, in_words(name))


def said(tree: ast.expr, name: Callable[[str], str] = called, number: Callable[[str], str] = str,
         quotient: Callable[[str, str, bool], str] | None = None) -> str:
    """The expression; `name`, `number` and `quotient` give the text of a quantity, of a constant, and of one text over another,
    of which it is said whether that is a product."""
    return _Spoken(name, number, quotient or _over).whole(operators(tree))


def _over(above, below, is_product):
    return f"{above} / ({below})" if is_product else f"{above} / {below}"


class _Spoken(Words):
    calls = Words.calls | {"sqrt": "the square root of (%s)"}

    def __init__(self, name, constant, quotient):
        super().__init__(name)
        self.constant, self.quotient = constant, quotient

    def whole(self, node):
        match node:
            case ast.Call(ast.Name("ceil" | "floor" as call), [given]):
                return f"{self.argument(given)}, rounded {'up' if call == 'ceil' else 'down'}"
            case ast.Call(ast.Name("maximum" | "minimum" as call), given):
                return self.extreme(call, given)
            case ast.Compare(left, [relation], [right]):
                return f"{self.argument(left)} {self.signs[type(relation)]} {self.argument(right)}"
        return super().whole(node)

    def extreme(self, call, given):
        """`A, 0 if less` and `A, at most 1` where one of two is a number, else `the larger of A and B`."""
        numbers = [part for part in given if plain(part) is not None]
        if len(given) == 2 and len(numbers) == 1:
            other, bound = self.argument(next(part for part in given if part is not numbers[0])), plain(numbers[0])
            if bound == 0:
                return f"{other}, 0 if {'less' if call == 'maximum' else 'more'}"
            return f"{other}, at {'least' if call == 'maximum' else 'most'} {self.whole(numbers[0])}"
        *first, last = map(self.argument, given)
        return f"the {_MORE[call][len(given) > 2]} of {', '.join(first)} and {last}"

    def term(self, node):
        """A product, and below it all that divides it."""
        factors = cancelled(factors_of(node))
        under = [self.atom(each) for divides, part in factors if divides for each in _product(part)]
        over = [part for divides, part in factors if not divides and not (under and plain(part) == 1)]
        above = " × ".join(map(self.atom, over)) or self.number(1)
        if not under:
            return above
        return self.quotient(above, " × ".join(under), len(under) > 1)

    def atom(self, node):
        if isinstance(node, ast.Call) and node.func.id in _PHRASES:
            return self.fenced(self.group, self.whole(node))
        if isinstance(node, ast.Call) and len(node.args) == 1:
            return self.fenced(self.calls[node.func.id], self.whole(node.args[0]))
        return super().atom(node)

    def power(self, base, exponent):
        return f"{self.base(base)}²" if plain(exponent) == 2 else super().power(base, exponent)

    def argument(self, node):
        return self.atom(node) if isinstance(node, ast.Call) and node.func.id in _PHRASES else self.whole(node)

    def number(self, value):
        return self.constant("infinity" if value == math.inf else super().number(value))

    def cases(self, rows):
        return "; ".join(self.argument(part) + (f" if {self.whole(test)}" if test else " otherwise") for part, test in rows)


def _product(node):
    """The factors of what divides, which stands whole where it is itself a quotient."""
    parts = factors_of(node)
    return [node] if any(divides for divides, _ in parts) else [part for _, part in parts]


# How a figure came about, as a page shows it: equations in words and symbols, numbers, sources.


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
    """Every quantity by topic, folded, with its unit (blank: a count or a share), its allowed values and its default."""
    defaults = {name: value for law in LAWS.values() for name, value in law.defaults.items()}
    usual = {name: markdown(number(value, QUANTITIES[name].unit)) for name, value in defaults.items()}
    topics = {row["quantity"]: row["group"] for row in read_rows("quantities.csv")}
    rows: dict[str, list[str]] = {}
    for name, each in sorted(QUANTITIES.items()):
        rows.setdefault(topics[name], []).append(
            f"| `{name}` | ${SYMBOLS[name]}$ | {markdown(each.meaning)} | {markdown(UNITS[each.unit][0])} "
            f"| {markdown(_range(each.allowed))} | {usual.get(name, '')} |")
    head = "| name in code | symbol | meaning | unit | allowed | default |\n|---|---|---|---|---|---|"
    return Markdown("\n\n".join(f"<details>\n<summary>{group[0].upper()}{group[1:]}: {len(rows[group])}</summary>\n\n{head}\n"
                                + "\n".join(rows[group]) + "\n\n</details>" for group in sorted(rows)))


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
