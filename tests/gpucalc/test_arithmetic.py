"""The functions of the formulas: the same value from numbers, columns and symbols, and what a browser is told to compute."""
import math

import altair
import numpy
import pandas
import pytest
import sympy

from gpucalc.core import arithmetic

X, Y = altair.datum.x, altair.datum.y
CASES = [  # function, numbers, value by hand
    (arithmetic.ceil, (2.1,), 3), (arithmetic.ceil, (2,), 2), (arithmetic.ceil, (-2.1,), -2),
    (arithmetic.floor, (2.9,), 2), (arithmetic.floor, (3,), 3), (arithmetic.floor, (-2.1,), -3),
    (arithmetic.sqrt, (6.25,), 2.5), (arithmetic.exp, (0,), 1), (arithmetic.exp, (1,), math.e), (arithmetic.log, (math.e,), 1),
    (arithmetic.log2, (1024,), 10), (arithmetic.minimum, (2, 3), 2), (arithmetic.minimum, (3, 2), 2),
    (arithmetic.minimum, (2, 2), 2), (arithmetic.maximum, (2, 3), 3), (arithmetic.maximum, (3, 2), 3),
    # 1 + 1/2 + 1/4 as a flow: (1 - 2^-2) / ln 2, and 3 years where nothing falls.
    (arithmetic.flow, (2, 2), 0.75 / math.log(2)), (arithmetic.flow, (1, 3), 3), (arithmetic.flow, (0.5, 1), 1 / math.log(2))]


@pytest.mark.parametrize("function, values, by_hand", CASES)
def test_numbers_columns_and_symbols_agree(function, values, by_hand):
    assert function(*values) == pytest.approx(by_hand, rel=1e-14)
    column = function(*(numpy.array([value, value], float) for value in values))
    assert list(column) == pytest.approx([by_hand, by_hand], rel=1e-14)
    assert float(function(*map(sympy.Rational, map(str, values)))) == pytest.approx(by_hand, rel=1e-14)


@pytest.mark.parametrize("value, text", [
    (arithmetic.ceil(X), "ceil(datum.x)"), (arithmetic.floor(X), "floor(datum.x)"), (arithmetic.sqrt(X), "sqrt(datum.x)"),
    (arithmetic.exp(X), "exp(datum.x)"), (arithmetic.log(X), "log(datum.x)"), (arithmetic.minimum(X, 2), "min(datum.x,2)"),
    (arithmetic.maximum(2, X), "max(2,datum.x)"), (arithmetic.where(X > 0, X, 1), "if((datum.x > 0),datum.x,1)"),
    (arithmetic.log2(X), f"(log(datum.x) / {math.log(2)})"),
    (arithmetic.quotient(X, Y), "if((datum.y > 0),(datum.x / datum.y),(1 / 0))"),
    (arithmetic.flow(X, Y), "if((datum.x === 1),datum.y,((1 - pow(datum.x,(-datum.y))) / log(datum.x)))")])
def test_what_a_browser_computes(value, text):
    assert repr(value).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("round_to_whole", [arithmetic.ceil, arithmetic.floor])
def test_infinity_stays(round_to_whole):
    assert round_to_whole(math.inf) == math.inf
    assert list(round_to_whole(numpy.array([math.inf, 1.5]))) == [math.inf, round_to_whole(1.5)]


def test_exp_is_infinite_where_a_float_cannot_hold_it():
    assert arithmetic.exp(699.5) == math.exp(699.5) and arithmetic.exp(710) == math.inf and arithmetic.exp(-1000) == 0


def test_what_cannot_be_reached_is_infinite():
    """A divisor of 0 or below, alone and in columns, whichever of the two is a column."""
    assert (arithmetic.quotient(6, 4), arithmetic.quotient(6, 0.5)) == (1.5, 12)
    assert [arithmetic.quotient(6, below) for below in (0, -1, 0.0)] == [math.inf] * 3
    column = pandas.Series([6.0, 8.0], [3, 5])
    assert arithmetic.quotient(column, 2).to_dict() == {3: 3, 5: 4} and arithmetic.quotient(column, 0).to_dict() == {
        3: math.inf, 5: math.inf}
    assert list(arithmetic.quotient(6, numpy.array([2.0, 0.0, -1.0]))) == [3, math.inf, math.inf]
    assert arithmetic.quotient(column, column - 6).to_dict() == {3: math.inf, 5: 4}
    a, b = sympy.symbols("a b")
    assert arithmetic.quotient(a, b).subs({a: 6, b: 4}) == sympy.Rational(3, 2)
    assert arithmetic.quotient(a, b).subs(b, 0) == sympy.oo


def test_a_choice_keeps_the_rows_of_its_condition():
    column = pandas.Series([1, 3], ["a", "b"])
    assert arithmetic.where(column > 2, column, 0).to_dict() == {"a": 0, "b": 3}
    assert list(arithmetic.where(numpy.array([True, False]), 1, 2)) == [1, 2]
    assert (arithmetic.where(True, 1, 2), arithmetic.where(False, 1, 2)) == (1, 2)
    a = sympy.Symbol("a")
    chosen = arithmetic.where(a > 2, a, 0)
    assert (chosen.subs(a, 3), chosen.subs(a, 1)) == (3, 0)


def test_a_flow_in_columns_takes_each_row_by_itself():
    assert list(arithmetic.flow(numpy.array([2.0, 1.0]), 2)) == pytest.approx([0.75 / math.log(2), 2], rel=1e-14)


def test_whole_numbers_are_made_wide():
    """2^40 times 2^40 does not fit into 64 bits."""
    assert list(arithmetic.wide(numpy.array([2**40])) * 2**40) == [2.0**80]
    assert arithmetic.wide(numpy.array([1, 2], numpy.uint8)).dtype == float and arithmetic.wide(numpy.array([0.5])).dtype == float
    assert type(arithmetic.wide(numpy.int64(2))) is int and type(arithmetic.wide(numpy.float64(2))) is float
    assert arithmetic.wide(2) == 2 and list(arithmetic.wide(numpy.array([True]))) == [True]
