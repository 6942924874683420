"""An expression as a lesson says it: for somebody who reads the quantity for the first time, with its numbers beside it.

Other than `printer.words`, which keeps to the names in code, it says `the larger of A and B`, gathers what a product is divided
by, and calls quantities as the column `words` of data/quantities.csv does.
"""
import ast
import functools
import math
import re
from collections.abc import Callable

from gpucalc.core.expression import plain
from gpucalc.core.printer import Words, cancelled, factors_of, in_words, operators
from gpucalc.core.quantities import read_rows

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
