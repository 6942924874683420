"""Equations printed from a law's own syntax tree: they say what the law computes, in its author's order."""
import ast
import functools
import math
import operator
import re

import pytest
from latex2mathml.converter import convert

from gpucalc import LAWS, QUANTITIES
from gpucalc.core import arithmetic, expression, printer
from tests.gpucalc.test_laws import cases, every_law

RELATIONS = {">": operator.gt, "<": operator.lt, "=": operator.eq, r"\ge": operator.ge, r"\le": operator.le,
             r"\ne": operator.ne}
WORDS_TO_CODE = ((", else", " else"), ("×", "*"), ("^", "**"), ("−", "-"), ("≥", ">="), ("≤", "<="), (" = ", " == "),
                 ("round up", "ceil"), ("round down", "floor"), ("square root", "sqrt"), ("ln(", "log("))
TEX_FUNCTIONS = {r"\max": max, r"\min": min, r"\ln": math.log, r"\log": math.log2, r"\exp": arithmetic.exp}


def values(tree, arguments):
    """The arguments, and the value of every other law that stands in the tree as a name."""
    found = dict(arguments)
    for name in expression.names(tree):
        if name not in found:
            found[name] = LAWS[name](**{part: arguments[part] for part in LAWS[name].arguments})
    return found


def says_all(tree, values):
    """Whether nothing is left unsaid for the values: no quotient is infinite by rule and no flow at its limit."""
    unsaid = []

    def quotient(a, b):
        unsaid.append(b <= 0)
        return arithmetic.quotient(a, b)

    def flow(ratio, years):
        unsaid.append(ratio == 1)
        return arithmetic.flow(ratio, years)
    code = compile(ast.fix_missing_locations(ast.Expression(tree)), "", "eval")
    eval(code, vars(arithmetic) | {"quotient": quotient, "flow": flow}, values)
    return not any(unsaid)


def read_words(text, numbers):
    """Value of an equation in words, from the words alone."""
    said = {printer.in_words(name): value for name, value in numbers.items()}
    if said:
        pattern = "|".join(re.escape(words) for words in sorted(said, key=len, reverse=True))
        text = re.sub(rf"(?<!\w)({pattern})(?!\w)", lambda found: f"({said[found[0]]!r})", text)
    for printed, code in WORDS_TO_CODE:
        text = text.replace(printed, code)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return eval(text, vars(arithmetic) | {"max": max, "min": min, "inf": math.inf})


class TexReader:
    r"""Reads TeX by its own grammar: sums, products by \times or side by side, fractions, powers, functions, cases."""

    TOKEN = re.compile(r"\\log_\{2\}|\\(?:begin|end)\{cases\}|\\text\{[^}]*\}|\\\\|\\[a-zA-Z]+|\\,|x_\{\d+\}"
                       r"|\d+(?:\.\d+)?|\S")
    ENDS = ("+", "-", ")", "}", ",", "&", r"\\", r"\right", r"\rceil", r"\rfloor", r"\end{cases}", *RELATIONS, "")

    def __init__(self, text, numbers):
        self.tokens = [*self.TOKEN.findall(text), ""]
        self.numbers = numbers

    def read(self):
        result = self.sum()
        assert self.tokens == [""], self.tokens
        return result

    def next(self, *expected):
        token = self.tokens.pop(0)
        assert not expected or token in expected, (token, expected)
        return token

    def sum(self):
        sign = self.tokens[0] == "-" and self.next() and -1 or 1
        total = sign * self.product()
        while self.tokens[0] in ("+", "-"):
            total += self.product() if self.next() == "+" else -self.product()
        return total

    def product(self):
        result = self.power()
        while self.tokens[0] not in self.ENDS:
            if self.tokens[0] in (r"\times", r"\,"):
                self.next()
            result *= self.power()
        return result

    def power(self):
        base = self.atom()
        if self.tokens[0] == "^":
            self.next()
            return base ** self.braced()
        return base

    def braced(self):
        self.next("{")
        result = self.sum()
        self.next("}")
        return result

    def atom(self):
        token = self.next()
        if token == r"\left":
            return self.atom()
        if token in self.numbers:
            return self.numbers[token]
        if token[0].isdigit():
            return float(token)
        if token == r"\infty":
            return math.inf
        if token == r"\frac":
            over, under = self.braced(), self.braced()
            return over / under if under else math.inf
        if token == r"\sqrt":
            return self.braced() ** 0.5
        if token == r"\begin{cases}":
            return self.cases()
        if token in ("(", r"\lceil", r"\lfloor"):
            result = self.sum()
            self.close({"(": ")", r"\lceil": r"\rceil", r"\lfloor": r"\rfloor"}[token])
            return {"(": float, r"\lceil": arithmetic.ceil, r"\lfloor": arithmetic.floor}[token](result)
        return TEX_FUNCTIONS[token.partition("_")[0]](*self.arguments())

    def arguments(self):
        if self.tokens[0] == r"\left":
            self.next()
        self.next("(")
        found = [self.sum()]
        while self.tokens[0] == ",":
            self.next()
            found.append(self.sum())
        self.close(")")
        return found

    def close(self, bracket):
        if self.tokens[0] == r"\right":
            self.next()
        self.next(bracket)

    def cases(self):
        chosen = []
        while True:
            value = self.sum()
            self.next("&")
            if self.next(r"\text{if }", r"\text{otherwise}") == r"\text{otherwise}":
                self.next(r"\end{cases}")
                return [*chosen, value][0]
            left = self.sum()
            if RELATIONS[self.next(*RELATIONS)](left, self.sum()):
                chosen.append(value)
            self.next(r"\\")


def printed_values(tree, numbers):
    """What the printed words and the printed TeX come to."""
    texts = {name: f"x_{{{index}}}" for index, name in enumerate(numbers)}
    by_text = {texts[name]: value for name, value in numbers.items()}
    return read_words(printer.words(tree), numbers), TexReader(printer.tex(tree, texts), by_text).read()


@functools.cache
def trees(law):
    """Trees of the law, each once, with arguments that hold for it and its value: as it is, with what is absent, switched or of
    degree 1 put in, and for a few with all put in; where each choice is replaced by the case that holds; and whether nothing is
    left unsaid."""
    put_in = functools.cache(lambda *known: expression.tree(law, **dict(known)))
    found = {}
    for place, arguments in enumerate(cases(law)):
        value = float(law(**arguments))
        known = [each for each in arguments.items() if each[1] in (0, 1)]
        for tree in (put_in(), put_in(*known), *([expression.tree(law, **arguments)] if place % 3 == 0 else [])):
            numbers = values(tree, arguments)
            chosen = expression.case(tree, numbers)
            found.setdefault(ast.dump(chosen), (chosen, numbers, value, True))
            all_said = says_all(tree, numbers)
            found.setdefault((tree, all_said, place if tree is put_in() else None), (tree, numbers, value, all_said))
    return [*found.values()]


@every_law
def test_the_rendering_equals_the_law(law):
    """Also with known values put in, in numbers, and where each choice is replaced by the case that holds."""
    found = trees(law)
    for tree, numbers, value, all_said in found:
        expected = pytest.approx(value, rel=1e-9)
        assert expression.evaluate(tree, numbers) == expected
        if all_said:
            assert printed_values(tree, numbers) == (expected, expected)
    assert any(all_said for *_, all_said in found)


@every_law
def test_the_page_can_show_it(law):
    for tree in (expression.tree(law), expression.tree(law, **law.defaults)):
        for texts in (None, dict.fromkeys(expression.names(tree), r"\text{80 GB}")):
            tex = printer.tex(tree, texts)
            shown = convert(f"{printer.SYMBOLS[law.__name__]} = {tex}", display="block")
            assert "\\" not in shown and "merror" not in shown, tex


def in_both(name, **known):
    tree = expression.tree(LAWS[name], **known)
    return printer.tex(tree), printer.words(tree)


def test_the_order_is_the_authors():
    assert in_both("kv_bytes_per_token", index_bytes_per_token=0, kv_lora_rank=0, layers_per_cache=1) == (
        r"2 L_c n_{\mathrm{kv}} d e_c", "2 × cached layers × KV heads × head size × cache element bytes")
    assert printer.words(expression.tree(LAWS["engine_room_bytes"])) == (
        "max(memory bytes × memory utilization − (GPU weight bytes + held adapter bytes + profile bytes + framework bytes), 0)")
    texts = dict(zip(LAWS["engine_room_bytes"].arguments, ("M", "W", "A_p", "M_c", r"\mu", "A_l")))
    assert printer.tex(expression.tree(LAWS["engine_room_bytes"]), texts) == r"\max(M \mu - (W + A_l + A_p + M_c), 0)"
    law = LAWS["input_usd_per_million"]
    texts = dict(zip(law.arguments, ("c", "T", "p", "t", "u")))
    assert printer.tex(expression.tree(law), texts) == r"\frac{10^{6} c t T}{3600 p u}"
    texts = dict(zip(law.arguments, (r"\text{2 \$}", r"\text{0.5 s}", "1{,}024", "4", "0.5")))
    assert printer.tex(expression.tree(law), texts) == (
        r"\frac{10^{6} \times \text{2 \$} \times 4 \times \text{0.5 s}}{3600 \times 1{,}024 \times 0.5}")
    assert "1,000,000 × USD per hour × replica GPUs × " in printer.words(expression.tree(law))


def test_what_is_known_folds():
    assert in_both("sequence_kv_bytes", cached_layers=1, cached_windows=0, recurrent_bytes=0, window=0) == (
        "K_t c", "KV bytes per token × context")
    assert in_both("residual_usd", residual=0)[1] == "0"
    assert in_both("paid_years", lead_months=0)[1] == "(1 − (1 + discount rate) ^ (−years)) / ln(1 + discount rate)"
    assert in_both("paid_years", lead_months=0, discount_rate=0)[1] == "years"
    texts = dict(zip(LAWS["paid_years"].arguments, "iYt"))
    assert printer.tex(expression.tree(LAWS["paid_years"]), texts) == (
        r"\frac{(1 + i)^{-\frac{t}{12}} (1 - (1 + i)^{-Y})}{\ln(1 + i)}")
    assert in_both("capital_usd_per_hour")[1] == "(bought USD − residual USD) / offered GPU hours"
    assert in_both("cache_share", kv_lora_rank=0)[1] == "GPU KV heads / KV heads × stage layers / layers"


def test_a_call_with_all_own_arguments_stands_as_its_law():
    tree = expression.tree(LAWS["kv_bytes_per_token"])
    assert expression.names(tree)[:3] == ["kv_lora_rank", "latent_bytes_per_token", "cached_layers"]


def read(code):
    return ast.parse(code, mode="eval").body


@pytest.mark.parametrize("code, words, tex", [
    ("a - (b - c)", "a − (b − c)", "a - (b - c)"), ("a + (b - c)", "a + b − c", "a + b - c"),
    ("a + -b * c", "a − b × c", "a - b c"), ("a - -b", "a + b", "a + b"), ("-(a + b) / c", "−(a + b) / c", r"-\frac{a + b}{c}"),
    ("a / b * c", "a / b × c", r"\frac{a c}{b}"), ("a * b / c", "a × b / c", r"\frac{a b}{c}"),
    ("a / (b / c)", "a / (b / c)", r"\frac{a}{\frac{b}{c}}"), ("a * -b", "a × (−b)", "a (-b)"),
    ("(a * b) ** 2", "(a × b) ^ 2", "(a b)^{2}"), ("a * 2 ** b", "a × 2 ^ b", r"a \times 2^{b}"),
    ("maximum(maximum(a, b), c)", "max(a, b, c)", r"\max(a, b, c)"),
    ("ceil(quotient(a, b))", "round up(a / b)", r"\left\lceil \frac{a}{b} \right\rceil"),
    ("floor(a) * sqrt(b)", "round down(a) × square root(b)", r"\lfloor a \rfloor \sqrt{b}"),
    ("log2(a) + log(b) + exp(c)", "log2(a) + ln(b) + exp(c)", r"\log_{2}(a) + \ln(b) + \exp(c)"),
    ("where((a > b) & (c <= 1), a, b)", "a if (a > b) and (c ≤ 1), else b",
     r"\begin{cases} a & \text{if } (a > b) \text{ and } (c \le 1) \\ b & \text{otherwise} \end{cases}"),
    ("where(a > 0, b, where(a == 0, c, 2))", "b if a > 0, else c if a = 0, else 2",
     r"\begin{cases} b & \text{if } a > 0 \\ c & \text{if } a = 0 \\ 2 & \text{otherwise} \end{cases}"),
    ("a * (1 / 2 + b)", "a × (1 / 2 + b)", r"a \left(\frac{1}{2} + b\right)"),
    ("a * (1 - 1 / 2) * b", "a / 2 × b", r"\frac{a b}{2}"), ("1 / 2 * a", "1 / 2 × a", r"\frac{a}{2}"),
    ("1 - 1 / 3 + a * 1000000 * 3600 * 2e8", "2 / 3 + a × 1,000,000 × 3600 × 200,000,000",
     r"\frac{2}{3} + a \times 10^{6} \times 3600 \times 2 \times 10^{8}"),
    ("(1 - 0.7) * a ** 1 + 0 * b", "0.3 × a", "0.3 a")])
def test_forms(code, words, tex):
    tree = read(code) if "where" in code else expression.case(read(code), {"a": 2, "b": 3, "c": 5})
    assert printer.words(tree) == words
    assert printer.tex(tree, {name: name for name in "abc"}) == tex


def test_a_slip_shows():
    """The comparison of this file finds a swapped operator, a lost bracket and a forgotten case."""
    numbers = {"window": 3.0, "rows": 5.0, "inner": 7.0}
    right = read("(window + rows) * inner / 2 - where(rows > 4, 1, 2)")
    assert printed_values(right, numbers) == (27, 27)
    for slip in ("(window - rows) * inner / 2 - where(rows > 4, 1, 2)",
                 "(window + rows) / inner / 2 - where(rows > 4, 1, 2)",
                 "window + rows * inner / 2 - where(rows > 4, 1, 2)",
                 "(window + rows) * inner / 2 - where(rows < 4, 1, 2)"):
        assert all(value != pytest.approx(27) for value in printed_values(read(slip), numbers)), slip


def test_what_cannot_be_printed_is_refused():
    with pytest.raises(ValueError, match="no equation from `rows % 2`"):
        printer.words(read("rows % 2"))
    with pytest.raises(ValueError, match="kv_bytes does not take rows; it takes sequence_kv_bytes, batch"):
        expression.tree(LAWS["kv_bytes"], rows=1)


def test_words_and_symbols():
    assert printer.in_words("kv_heads") == "KV heads" and printer.in_words("head_dim") == "head size"
    assert printer.in_words("usd_per_kwh") == "USD per kWh" and printer.in_words("peak_flops") == "peak FLOP/s"
    assert len({printer.in_words(name) for name in QUANTITIES}) == len(QUANTITIES)
    assert printer.upright("M_{gpu}") == r"M_{\mathrm{gpu}}" and printer.upright("n_{run}^*") == r"n_{\mathrm{run}}^*"
    for symbol in ("n^*_o", r"M_{\mathrm{gpu}}", r"\epsilon_F", "F_{16}", "M_{w1}", "S_{1/2}", r"\mathrm{PUE}", "L"):
        assert printer.upright(symbol) == symbol
