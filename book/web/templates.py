"""A law in words as a JavaScript template, which a browser fills: the terms that are 0 go, of a choice what holds is said.

`template` gives the text of a function of texts and values by name; it stands below javascript.HEAD and `HELPERS`.
"""
import ast

from gpucalc.core import printer
from gpucalc.core.expression import names, plain, tree
from gpucalc.core.printer import javascript
from gpucalc.core.quantities import DEFAULTS

# Of an extreme of long parts only the one that counts is said.
_LONG = 120
HELPERS = r"""  const sum = (...terms) => {
    const left = terms.filter(([value]) => value !== 0), kept = left.length ? left : terms.slice(0, 1);
    return kept.map(([, text, minus], k) => (minus ? (k ? " − " : "−") : k ? " + " : "") + text).join("");
  };
  const open = (text) => text.replace(/\([^()]*\)/g, "");
  const bare = (text) => (open(text) === text ? text : bare(open(text)));
  const closed = (text) => (/ [×/+−^] |^−/.test(bare(text)) ? `(${text})` : text);
  const whole = (text) => (text.startsWith("(") && bare(text) === "" ? whole(text.slice(1, -1)) : text);
  const counting = (least, parts) => parts.reduce((a, b) => ((least ? b[0] < a[0] : b[0] > a[0]) ? b : a))[1];
"""


def template(law):
    """The function of texts `t` and values `v` by name that gives the law's right-hand side, as JavaScript."""
    expression = printer.operators(tree(law))
    neutral = {name for name, value in law.defaults.items() if value == 1 and name not in DEFAULTS}
    return f"(t, v) => whole(`{_Template(names(expression), neutral).whole(expression)}`)"


def needed(law):
    """Names in the law's words: its arguments, and other laws that stand as their names."""
    return names(printer.operators(tree(law)))


class _Template(printer.Words):
    """The words of an expression with the names left open, as the inside of a template literal."""

    def __init__(self, quantities, neutral):
        super().__init__(lambda name: f"${{t.{name}}}")
        self.neutral = neutral
        self.texts = {name: f"v.{name}" for name in quantities}

    def whole(self, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return self.chosen(condition, self.whole(a), self.whole(b))
        terms = printer.terms_of(node)
        if len(terms) == 1 and terms[0][0] > 0:
            return self.term(node)
        parts = (f"[{self.value(term)}, `{self.term(term)}`{', 1' if sign < 0 else ''}]" for sign, term in terms)
        return f"${{sum({', '.join(parts)})}}"

    def term(self, node):
        """A product without what comes to 1: a choice, or a feature that is left out."""
        (_, first), *others = printer.cancelled(printer.factors_of(node))
        return self.leading(first) + "".join(self.factor(" / " if divides else " × ", part) for divides, part in others)

    def leading(self, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return self.chosen(condition, self.leading(a), self.leading(b))
            case ast.BinOp(_, ast.Mult() | ast.Div(), _):
                return self.term(node)
        return self.atom(node)

    def factor(self, sign, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return self.chosen(condition, self.factor(sign, a), self.factor(sign, b))
            case ast.Name(name) if name in self.neutral:
                return f"${{v.{name} === 1 ? '' : `{sign}{self.atom(node)}`}}"
            case ast.BinOp(ast.Constant(1), ast.Sub(), _):
                return f"${{{self.value(node)} === 1 ? '' : `{sign}{self.atom(node)}`}}"
        return "" if plain(node) == 1 else sign + self.atom(node)

    def atom(self, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return self.chosen(condition, self.atom(a), self.atom(b))
            case ast.Call(ast.Name("maximum" | "minimum" as extreme), given) if self.long(given):
                parts = (f"[{self.value(part)}, `{self.whole(part)}`]" for part in given)
                return f"${{closed(counting({'true' if extreme == 'minimum' else 'false'}, [{', '.join(parts)}]))}}"
        return super().atom(node)

    def long(self, given):
        return any(len(printer.words(part)) > _LONG for part in given)

    def fenced(self, fence, text):
        return f"${{closed(`{text}`)}}" if fence == self.group else fence % text

    def chosen(self, condition, a, b):
        return f"${{{self.value(condition)} ? `{a}` : `{b}`}}"

    def value(self, node):
        return javascript(node, self.texts)
