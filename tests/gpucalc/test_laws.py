"""Every law in its five readings: number, column, slider, equation, unit. The known answers stand in test_<topic>.py."""
import csv
import inspect
import itertools
import math
import pkgutil
import re
from importlib import import_module

import numpy as np
import pandas as pd
import pint
import pytest
import sympy

from gpucalc import laws
from gpucalc.core import arithmetic
from gpucalc.core.law import LAWS, law as as_law
from gpucalc.core.quantities import check, DOMAINS, FLAG, FRACTION, LEVEL2, LEVEL3, QUANTITIES, RATE, read_rows, SHARE
from gpucalc.rows.tables import DATA
from tests.each import of_each

CASES = 4
CONSTANTS = {"SECONDS_PER_HOUR": "second/hour", "HOURS_PER_DAY": "hour/day", "HOURS_PER_MONTH": "hour/month",
             "HOURS_PER_YEAR": "hour/year", "MONTHS_PER_YEAR": "month/year",
             "YEAR": "year", "WATTS_PER_KILOWATT": "watt/kilowatt", "BYTES_PER_GB": "byte/gigabyte",
             "FP32_BYTES": "byte", "MASK_BYTES": "byte", "BIT_BYTES": "byte"}
LAW_MODULES = [import_module(f"gpucalc.laws.{each.name}") for each in pkgutil.iter_modules(laws.__path__)]
every_law = of_each(LAWS)


def cases(law):
    """A few allowed argument sets: the examples, every switch in each position in turn, counts and amounts scaled."""
    spread = {FLAG: (0, 1), LEVEL2: (0, 1, 2), LEVEL3: (0, 1, 2, 3), FRACTION: (0.5, 1, 0.3), SHARE: (0.1, 0.5, 0.25), RATE: (0.2, 0, -0.1)}
    sets = []
    for case in range(CASES):
        arguments = {}
        for position, name in enumerate(law.arguments):
            quantity = QUANTITIES[name]
            choices = spread.get(quantity.allowed, (quantity.example, quantity.example * 3 + 2, quantity.example + 1))
            arguments[name] = choices[(case * (position % 2 + 1)) % len(choices)]
        sets.append(arguments)
    return sets


@pytest.fixture
def plain():
    """What each law gives for the first of its cases."""
    return {name: float(law(**cases(law)[0])) for name, law in LAWS.items()}


@pytest.fixture
def registry(plain, monkeypatch):
    """The book's units, in which the constants of the laws' modules stand too, once the plain numbers are known."""
    registry = pint.UnitRegistry(None)
    for row in read_rows("units.csv"):
        if row["definition"]:
            registry.define(f"{row['unit']} = {row['definition']}")
    for module in LAW_MODULES:
        for name in set(CONSTANTS) & set(vars(module)):
            monkeypatch.setattr(module, name, registry.Quantity(getattr(module, name), CONSTANTS[name]))
    return registry


@every_law
def test_number(law):
    for arguments in cases(law):
        assert np.isscalar(law(**arguments))


@every_law
def test_column_equals_numbers(law):
    """To the last digits, which NumPy's own powers, exponentials and logarithms may round otherwise."""
    sets = cases(law)
    expected = pytest.approx([law(**arguments) for arguments in sets], rel=1e-12)
    columns = pd.DataFrame(sets)
    assert list(law(**{name: columns[name] for name in columns})) == expected
    assert list(law(**{name: columns[name].to_numpy() for name in columns})) == expected


@every_law
def test_equation_gives_the_same_number(law):
    symbols = {name: sympy.Symbol(name, real=True) for name in law.arguments}
    expression = sympy.sympify(law(**symbols))
    assert expression.free_symbols == set(symbols.values())
    computed = sympy.lambdify(list(symbols.values()), expression, [{"ceiling": arithmetic.ceil, "floor": arithmetic.floor}, "math"])
    for arguments in cases(law):
        assert float(computed(*(arguments[name] for name in symbols))) == pytest.approx(float(law(**arguments)), rel=1e-12)


@every_law
def test_unit(law, plain, registry):
    arguments, expected = cases(law)[0], plain[law.__name__]
    result = law(**{name: _with_unit(registry, name, value) for name, value in arguments.items()})
    unit = QUANTITIES[law.__name__].unit or "token"
    # A plain 0, of what the case does not have, stands for any unit.
    found = registry.Quantity(result) if expected or not isinstance(result, (int, float)) else registry.Quantity(result, unit)
    assert found.to(unit).magnitude == pytest.approx(expected, rel=1e-12)


def _with_unit(registry, name, value):
    unit = QUANTITIES[name].unit
    return registry.Quantity(value, unit) if unit else value


def test_every_law_says_what_it_gives():
    for name, law in LAWS.items():
        assert law.__doc__ and law.__doc__.strip()[0].isupper(), name


def test_every_quantity_stands_once_with_known_allowed_values():
    with open(DATA / "quantities.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["quantity"] for row in rows] == list(QUANTITIES)
    assert {row["allowed"] for row in rows} == set(DOMAINS)
    assert all(row[column] for row in rows for column in ("group", "symbol", "meaning"))
    for name, quantity in QUANTITIES.items():
        check(name, quantity.example)


def test_every_quantity_is_used_by_a_law_a_table_or_a_search():
    from gpucalc.decisions import capacity, token_offers
    from gpucalc.decisions.layouts import all_layouts
    from gpucalc.rows import catalogue, price_book
    tables = (catalogue.gpus(), catalogue.models(), catalogue.links(), catalogue.recipes(), catalogue.formats(), catalogue.jobs())
    searches = all_layouts, capacity.plans, token_offers.rented_plans
    used = {*LAWS, *(item.quantity for item in price_book.ITEMS.values()), *(name for search in searches for name in inspect.signature(search).parameters)}
    used |= set(itertools.chain(*tables, *(law.arguments for law in LAWS.values())))
    used |= {"example_tokens", "published_only", "unpublished"}      # what free words count examples by; a limit without a law
    assert set(QUANTITIES) - used == set()


@every_law
def test_an_argument_outside_its_domain_is_refused_by_name(law):
    """Each of them, below its least value or no number, with what is allowed."""
    for name in law.arguments:
        least, allowed = DOMAINS[QUANTITIES[name].allowed][0], re.escape(QUANTITIES[name].allowed)
        wrong = least - 1 if least > -math.inf else math.nan
        with pytest.raises(ValueError, match=rf"^{law.__name__}: {name} \(.*\) is {wrong}; allowed: {allowed}"):
            law(**cases(law)[0] | {name: wrong})


@pytest.mark.parametrize("value", [0, -3, 2.5, float("nan"), float("inf"), "8", None, True])
def test_impossible_counts_are_refused_by_name(value):
    with pytest.raises(ValueError, match=r"kv_bytes_per_token: kv_heads .*allowed: a whole number of at least 1"):
        LAWS["kv_bytes_per_token"](80, value, 128)


def test_a_bad_value_in_a_column_is_refused():
    with pytest.raises(ValueError, match=r"kv_heads .* is -1"):
        LAWS["kv_bytes_per_token"](80, np.array([8, -1]), 128)
    with pytest.raises(ValueError, match="kv_heads .* is nan"):
        LAWS["kv_bytes_per_token"](80, pd.Series([8, np.nan]), 128)
    with pytest.raises(ValueError, match="kv_heads .* is 'eight'"):
        LAWS["kv_bytes_per_token"](80, pd.Series(["eight"]), 128)


def test_a_law_outside_the_vocabulary_is_refused():
    with pytest.raises(KeyError, match="weigth_bytes"):
        as_law(lambda weigth_bytes: weigth_bytes)


def test_fixed_width_integers_do_not_overflow():
    flops = LAWS["training_flops"](np.array([405_853_388_800]), np.array([15_600_000_000_000]))
    assert flops == 6.0 * 405_853_388_800 * 15_600_000_000_000
    assert LAWS["training_flops"](np.int64(405_853_388_800), np.int64(15_600_000_000_000)) == flops


def test_kv_heads_has_no_default():
    assert all("kv_heads" not in law.defaults for law in LAWS.values())


def test_an_argument_has_one_default():
    """Else the order in which laws are applied would decide which counts."""
    defaults = {(name, value) for law in LAWS.values() for name, value in law.defaults.items()}
    assert len(defaults) == len(dict(defaults))


def test_what_a_law_can_derive_has_no_default():
    """A default would win over the derivation and drop a term without a word."""
    assert [(name, argument) for name, law in LAWS.items() for argument in law.defaults if argument in LAWS] == []


def test_check_opens_with_where():
    with pytest.raises(ValueError, match=r"^gpus.csv, row 7: bandwidth \(memory bandwidth\) is -1; allowed: a number above 0 byte/second"):
        check("bandwidth", -1, "gpus.csv, row 7")


def test_infeasible_is_a_value():
    assert arithmetic.quotient(3, 0) == arithmetic.quotient(3, -1) == float("inf")
    assert list(arithmetic.quotient(3, np.array([2, 0, -1]))) == [1.5, float("inf"), float("inf")]
    assert list(arithmetic.quotient(pd.Series([3, 4]), 0)) == [float("inf")] * 2
    assert list(arithmetic.quotient(pd.Series([3, 4]), 2)) == [1.5, 2]
    assert arithmetic.ceil(float("inf")) == float("inf")


def test_a_meaning_has_one_name():
    meanings = [quantity.meaning for quantity in QUANTITIES.values()]
    assert sorted({meaning for meaning in meanings if meanings.count(meaning) > 1}) == []
