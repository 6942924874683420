"""An expression as text, in words and in TeX.

Left unsaid in words and in TeX: a quotient is infinite where its denominator is not above 0, and a flow that does not fall
counts all its years.
"""
import ast
import functools
import re

from .expression import negative, operated, plain, quantity_node, rebuilt
from .quantities import QUANTITIES

_SPELLED = ("API ECC FLOP FP8 FP16 FP32 GB GPU GPUs HFU INT8 KV kWh LoRA MFU MLP MoE NPV PUE QK QKV RoPE TDP TF32 TP "
            "USD ZeRO")
_SPELLING = {word.lower(): word for word in _SPELLED.split()} | {
    "dim": "size", "flops": "FLOP", "hidden": "hidden size", "intermediate": "intermediate size", "param": "parameter",
    "params": "parameters", "vocab": "vocabulary", "zero3": "ZeRO-3"}


def tex(tree, texts=None):
    """TeX of the expression, quantities as in `texts`, else as symbols."""
    return _Tex((SYMBOLS if texts is None else texts).__getitem__).whole(operators(tree))


def words(tree, name=None):
    """The expression in words; `name` gives those of a quantity, else `in_words`."""
    return Words(name or in_words).whole(operators(tree))


def in_words(name):
    """The words of a quantity's name: `kv_heads` is KV heads, `head_dim` head size."""
    text = " ".join(_SPELLING.get(part, part) for part in name.split("_"))
    return text.replace("FLOP", "FLOP/s") if name in QUANTITIES and QUANTITIES[name].unit == "FLOP/second" else text


def upright(symbol):
    """The symbol with every subscript of two or more letters upright."""
    return re.sub(r"_\{([A-Za-z]{2,})\}", r"_{\\mathrm{\1}}", symbol)


SYMBOLS = {name: upright(quantity.symbol) for name, quantity in QUANTITIES.items()}


def operators(node):
    """The expression with quotients and flows written out in operators, and an extreme of extremes as one."""
    match node:
        case ast.Call(ast.Name("quotient"), [a, b]):
            return operated(ast.Div(), operators(a), operators(b))
        case ast.Call(ast.Name("flow"), [ratio, years]):
            ratio, years = operators(ratio), operators(years)
            left = ast.BinOp(ast.Constant(1), ast.Sub(), ast.BinOp(ratio, ast.Pow(), negative(years)))
            return ast.BinOp(left, ast.Div(), ast.Call(quantity_node("log"), [ratio], []))
        case ast.Call(ast.Name("maximum" | "minimum" as extreme), given):
            parts = [part for one in map(operators, given)
                     for part in (one.args if isinstance(one, ast.Call) and one.func.id == extreme else [one])]
            return ast.Call(quantity_node(extreme), parts, [])
    return rebuilt(node, operators)


def _signed(node):
    """The sign of a term and what it stands before."""
    match node:
        case ast.UnaryOp(ast.USub(), operand):
            return -_signed(operand)[0], _signed(operand)[1]
        case ast.BinOp(left, ast.Mult() | ast.Div() as operation, right) if _signed(left)[0] < 0:
            return -1, ast.BinOp(_signed(left)[1], operation, right)
    return 1, node


def terms_of(node):
    """The terms of a sum with their signs."""
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return terms_of(left) + terms_of(right)
        case ast.BinOp(left, ast.Sub(), right):
            return [*terms_of(left), (-_signed(right)[0], _signed(right)[1])]
    return [_signed(node)]


def factors_of(node):
    """The factors of a product in their order, each with whether it divides."""
    match node:
        case ast.BinOp(left, ast.Mult(), right):
            first, *others = factors_of(right)
            return factors_of(left) + ([] if plain(first[1]) == 1 else [first]) + others
        case ast.BinOp(left, ast.Div(), right):
            return [*factors_of(left), (True, right)]
    return [(False, node)]


def cancelled(factors):
    """The factors without quantities that stand both over and under."""
    for name in {part.id for _, part in factors if isinstance(part, ast.Name)}:
        over, under = ([each for each in factors if each[0] is divides and isinstance(each[1], ast.Name) and each[1].id == name]
                       for divides in (False, True))
        gone = {id(each) for pair in zip(over, under) for each in pair}
        factors = [each for each in factors if id(each) not in gone]
    return factors if factors and not factors[0][0] else [(False, ast.Constant(1)), *factors]


def _cases(node):
    """The cases of a choice, each with its condition, the last without."""
    match node:
        case ast.Call(ast.Name("where"), [condition, a, b]):
            return [(a, condition), *_cases(b)]
    return [(node, None)]


class Words:
    """Says an expression in words. A dialect says it otherwise by the tables and methods that it overrides."""

    minus, group = " − ", "(%s)"
    calls = {"ceil": "round up(%s)", "floor": "round down(%s)", "sqrt": "square root(%s)", "exp": "exp(%s)",
             "log": "ln(%s)", "log2": "log2(%s)", "maximum": "max(%s)", "minimum": "min(%s)"}
    signs = {ast.Gt: ">", ast.Lt: "<", ast.GtE: "≥", ast.LtE: "≤", ast.Eq: "=", ast.NotEq: "≠", ast.BitAnd: "and",
             ast.BitOr: "or"}

    def __init__(self, name):
        self.name = name

    def whole(self, node):
        """An expression that nothing stands beside."""
        match node:
            case ast.Call(ast.Name("where")):
                return self.cases(_cases(node))
            case ast.Compare(left, [relation], [right]):
                return f"{self.argument(left)} {self.signs[type(relation)]} {self.argument(right)}"
            case ast.BinOp(left, ast.BitAnd() | ast.BitOr() as join, right):
                return f"{self.atom(left)} {self.signs[type(join)]} {self.atom(right)}"
        (sign, first), *others = terms_of(node)
        text = self.term(first) if sign > 0 else self.minus.strip() + self.term(first)
        return text + "".join((" + " if sign > 0 else self.minus) + self.term(term) for sign, term in others)

    def term(self, node):
        (_, first), *others = cancelled(factors_of(node))
        return self.atom(first) + "".join((" / " if divides else " × ") + self.atom(part) for divides, part in others)

    def atom(self, node):
        """An expression that may have neighbours."""
        match node:
            case ast.Name(name):
                return self.name(name)
            case ast.Constant(value):
                return self.number(value)
            case ast.BinOp(base, ast.Pow(), exponent):
                return self.power(base, exponent)
            case ast.Call(ast.Name(function), given) if function in self.calls:
                return self.fenced(self.calls[function], ", ".join(map(self.argument, given)))
        return self.fenced(self.group, self.whole(node))

    def argument(self, node):
        return self.atom(node) if len(_cases(node)) > 1 else self.whole(node)

    def power(self, base, exponent):
        return f"{self.base(base)} ^ {self.base(exponent)}"

    def base(self, node):
        plain = isinstance(node, (ast.Name, ast.Constant))
        return self.atom(node) if plain else self.fenced(self.group, self.whole(node))

    def fenced(self, fence, text):
        return fence % text

    def number(self, value):
        return f"{value:,.15g}" if value >= 10_000 else str(value)

    def cases(self, rows):
        return ", else ".join(self.argument(a) + (f" if {self.whole(test)}" if test else "") for a, test in rows)


class _Tex(Words):
    minus, group = " - ", r"\left(%s\right)"
    calls = {"ceil": r"\left\lceil %s \right\rceil", "floor": r"\left\lfloor %s \right\rfloor", "sqrt": r"\sqrt{%s}",
             "exp": r"\exp\left(%s\right)", "log": r"\ln\left(%s\right)", "log2": r"\log_{2}\left(%s\right)",
             "maximum": r"\max\left(%s\right)", "minimum": r"\min\left(%s\right)"}
    signs = Words.signs | {ast.GtE: r"\ge", ast.LtE: r"\le", ast.NotEq: r"\ne", ast.BitAnd: r"\text{ and }",
                           ast.BitOr: r"\text{ or }"}

    def term(self, node):
        """A product; with a division one fraction, the factors in their order."""
        factors = cancelled(factors_of(node))
        under = [factor for divides, factor in factors if divides]
        over = [factor for divides, factor in factors if not divides and plain(factor) != 1] or [ast.Constant(1)]
        if under:
            return rf"\frac{{{self.product(over)}}}{{{self.product(under)}}}"
        return functools.reduce(self.joined, map(self.atom, over))

    def product(self, factors):
        return self.whole(functools.reduce(lambda left, right: ast.BinOp(left, ast.Mult(), right), factors))

    def joined(self, left, right):
        if right[0].isdigit() or r"\text" in (left[:5], right[:5]):
            return rf"{left} \times {right}"
        return rf"{left} \, {right}" if r"\mathrm" in (left[:7], right[:7]) else f"{left} {right}"

    def power(self, base, exponent):
        text = self.base(base)
        grouped = isinstance(base, (ast.Name, ast.Constant)) and ("^" in text or text.startswith(r"\text"))
        return f"{self.fenced(self.group, text) if grouped else text}^{{{self.whole(exponent)}}}"

    def fenced(self, fence, text):
        tall = any(part in text for part in (r"\frac", r"\begin", r"\left"))
        return fence % text if tall else fence.replace(r"\left", "").replace(r"\right", "") % text

    def number(self, value):
        text = f"{value:.6g}" if value == float(f"{value:.6g}") else str(value)
        digits, _, power = text.replace("inf", r"\infty").partition("e")
        if not power:
            return digits
        return f"10^{{{int(power)}}}" if digits == "1" else rf"{digits} \times 10^{{{int(power)}}}"

    def cases(self, rows):
        texts = (f"{self.whole(a)} & " + (rf"\text{{if }} {self.whole(test)}" if test else r"\text{otherwise}")
                 for a, test in rows)
        return r"\begin{cases} %s \end{cases}" % r" \\ ".join(texts)
