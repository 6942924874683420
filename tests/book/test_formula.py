"""Formulas of lessons: the words say what the law computes, each quantity has a name of its own, and numbers stand under them."""
import ast
import functools
import html
import math
import operator
import re

import pytest

from book.components import derivation
from book.components.formula import formula
from book.web import lessons
from gpucalc import LAWS, QUANTITIES, Case, kv_cache
from gpucalc.core import arithmetic, expression
from gpucalc.core.quantities import read_rows
from tests.gpucalc.test_laws import cases, every_law
from tests.gpucalc.test_printer import read, trees

CASE = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", context=8192, batch=32)
INNER = re.compile(r"((?<![a-z\d])(?:ln|exp|log2|the square root of ))?\(([^()]*)\)")
CALLS = {"ln": math.log, "exp": arithmetic.exp, "log2": math.log2, "the square root of ": math.sqrt}
RELATIONS = {" ≥ ": operator.ge, " ≤ ": operator.le, " > ": operator.gt, " < ": operator.lt, " = ": operator.eq, " ≠ ": operator.ne}


def heard(text, numbers):
    """The value of what is said, by the words alone: innermost parentheses first."""
    said, text = {derivation.called(name): value for name, value in numbers.items()}, text.replace("²", " ^ 2")
    if said:
        pattern = "|".join(re.escape(words) for words in sorted(said, key=len, reverse=True))
        text = re.sub(rf"(?<![\w-])({pattern})(?![\w-])", lambda found: repr(float(said[found[0]])), text)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    while "(" in text:
        text = INNER.sub(lambda found: repr(CALLS.get(found[1], float)(phrase(found[2]))), text)
    return phrase(text)


def phrase(text):
    """The value of words without parentheses."""
    if " otherwise" in text:
        *ifs, last = text.removesuffix(" otherwise").split("; ")
        tested = (part.split(" if ") for part in ifs)
        return phrase(next((value for value, test in tested if holds(test)), last))
    for end, change in ((", rounded up", arithmetic.ceil), (", rounded down", arithmetic.floor),
                        (", 0 if less", lambda value: max(value, 0)), (", 0 if more", lambda value: min(value, 0))):
        if text.endswith(end):
            return float(change(phrase(text.removesuffix(end))))
    if found := re.fullmatch(r"(.*), at (least|most) (.*)", text):
        return (max if found[2] == "least" else min)(phrase(found[1]), phrase(found[3]))
    if found := re.fullmatch(r"the (larger|largest|smaller|smallest) of (.*)", text):
        return (max if found[1].startswith("l") else min)(map(phrase, re.split(", | and ", found[2])))
    if any(sign in text for sign in RELATIONS) or re.search(r"\d (?:and|or) \d", text):
        return float(holds(text))
    text = re.sub(r"((?<!e)-[\d.]+(?:e[+-]?\d+)?) \^", r"(\1) ^", text)
    return float(eval(text.replace("×", "*").replace("^", "**").replace("−", "-"), {"inf": math.inf, "infinity": math.inf}))


def holds(test):
    """Whether a condition does; one in parentheses has come to 0 or 1."""
    for word, every in ((" and ", all), (" or ", any)):
        if re.fullmatch(rf"[\d.]+(?:{word}[\d.]+)+", test):
            return every(map(float, test.split(word)))
    relation = next((sign for sign in RELATIONS if sign in test), None)
    return RELATIONS[relation](*map(phrase, test.split(relation))) if relation else bool(phrase(test))


@every_law
def test_the_words_equal_the_law(law):
    """In general where nothing is left unsaid, and for every case that holds."""
    for tree, numbers, value, all_said in trees(law):
        if all_said:
            assert heard(derivation.said(tree), numbers) == pytest.approx(value, rel=1e-9), derivation.said(tree)


@pytest.mark.parametrize("code, words", [
    ("a / b * c", "a × c / b"), ("a / (b * c)", "a / (b × c)"), ("a / b / c", "a / (b × c)"), ("a / (b / c)", "a / (b / c)"),
    ("1 / a", "1 / a"), ("a - (b - c)", "a − (b − c)"), ("a * 2 ** b", "a × 2 ^ b"), ("a - a + b", "b"),
    ("a * (b + c) ** 2", "a × (b + c)²"),
    ("maximum(a, b)", "the larger of a and b"), ("minimum(a, minimum(b, c))", "the smallest of a, b and c"),
    ("maximum(a - b, 0)", "a − b, 0 if less"), ("minimum(1, a)", "a, at most 1"), ("c * maximum(a - b, 0)", "c × (a − b, 0 if less)"),
    ("maximum(a, b) + c", "(the larger of a and b) + c"), ("ceil(a / b)", "a / b, rounded up"), ("log(maximum(a, 1))", "ln(a, at least 1)"),
    ("a * floor(b / c)", "a × (b / c, rounded down)"), ("sqrt(a * b) * c", "the square root of (a × b) × c"),
    ("where(a > b, a, c + 1)", "a if a > b; c + 1 otherwise"),
])
def test_forms(code, words):
    tree = expression.rebuilt(read(code), lambda part: expression.rebuilt(part, lambda inner: inner))
    assert derivation.said(tree, name=str) == words


def test_a_slip_would_show():
    numbers = {"window": 3.0, "rows": 5.0}
    right, slips = "rows / window, rounded up", ("rows / window, rounded down", "window / rows, rounded up", "rows / window, at most 1")
    assert heard(right, numbers) == 2 and all(heard(slip, numbers) != 2 for slip in slips)


def test_each_quantity_has_words_of_its_own_that_a_sentence_can_hold():
    said = {name: derivation.called(name) for name in QUANTITIES}
    assert len(set(said.values())) == len(said)
    for words in said.values():
        assert len(words) <= 42 and not re.search(r"[,;()/×<>]| (?:and|or) ", words.replace("FLOP/s", "")), words
    assert not [words for words in said.values() if "USD" in words or words.endswith(" seconds") or "element bytes" in words]


def test_words_are_given_only_where_the_name_is_not_enough():
    needless = [row["quantity"] for row in read_rows("quantities.csv") if row["words"] and row["words"] == derivation.in_words(row["quantity"])]
    assert needless == []


def bare(source):
    """The HTML as text, without the numbers under its terms: what a page without style says."""
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r" <small>.*?</small>", "", source)))


@pytest.mark.parametrize("name", lessons.laws())
def test_the_html_says_the_plain_text(name):
    law = LAWS[name]
    for arguments in list(cases(law))[:2]:
        shown = formula(law, Case(**arguments))
        assert bare(shown.source) == repr(shown)
        ast_numbers = functools.partial(re.sub, r"[\s\u00a0]+", " ")
        assert ast_numbers(repr(shown)).startswith(f"{derivation.called(name)} = ")


def test_numbers_stand_under_the_terms_and_follow_the_reader():
    shown = formula(kv_cache.kv_bytes_per_token, CASE, notes={"2": "key and value"}, names={"head_dim": "numbers per head"}).source
    terms = re.findall(r'<span class="term">([^<]*) <small>(.*?)</small></span>', shown)
    assert [(words, re.sub("<[^>]*>", "", below)) for words, below in terms] == [
        ("2", "(key and value)"), ("layers with a cache", "(80)"), ("KV heads", "(8)"), ("numbers per head", "(128)"), ("bytes per cached value", "(2 B)")]
    assert 'id="formula-kv_bytes_per_token"' in shown and 'data-yours="cached_layers"' in shown and "$" not in shown
    assert shown.count('<span class="formula-result">= <span class="yours" data-yours="kv_bytes_per_token">328 kB') == 1


def test_constants_of_units_say_what_they_are():
    shown = formula(LAWS["training_days"], Case(gpu_hours=48, gpus=2)).source + formula(
        LAWS["planned_gpu_hours"], Case(training_flops=1e20, mfu=0.4, gpu="H100 SXM 80GB")).source
    assert '3600 <small><span class="bare">(</span>seconds per hour' in shown and "24 <small>" not in shown


def test_what_the_case_lacks_is_not_shown():
    """No window, no latent cache; a switch and a degree of one are put in."""
    assert repr(formula(kv_cache.sequence_kv_bytes, CASE)) == "KV bytes per sequence = KV bytes per token × context tokens = 2.68 GB"
    latent = repr(formula(kv_cache.kv_bytes_per_token, Case(model="DeepSeek-V3")))
    assert "= latent bytes per token =" in latent and "KV heads" not in latent


def test_text_is_escaped():
    assert "<b>" not in formula(kv_cache.kv_bytes, CASE, names={"batch": "<b>users</b>"}, notes={"2": "<i>"}).source


def test_an_expression_is_not_changed():
    tree = read("a / b * c")
    before = ast.dump(tree)
    derivation.said(tree, name=str)
    assert ast.dump(tree) == before
