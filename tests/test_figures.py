"""How numbers become text: units, prefixes, three figures, infinity in words, and signs."""
import math

import pytest

from gpucalc.core import figures
from gpucalc.core.figures import number, quantity, three_figures
from gpucalc.core.quantities import QUANTITIES


@pytest.mark.parametrize("value, unit, text", [
    (85_899_345_920, "byte", "85.9 GB"), (0, "byte", "0 B"), (999, "byte", "999 B"), (999.6, "byte", "1.00 kB"), (1e21, "byte", "1,000 EB"),
    (3.35e12, "byte/second", "3.35 TB/s"), (989.4e12, "FLOP/second", "989 TFLOP/s"), (700, "watt", "700 W"), (10_200, "watt", "10.2 kW"),
    (0.0234, "second", "23.4 ms"), (0.9996, "second", "1.00 s"), (6e-7, "second", "0.600 µs"), (90, "second", "90 s"),
    (8192, "", "8,192"), (999_999, "", "999,999"), (1_000_000, "", "1 million"), (15.6e12, "", "15.6 trillion"), (2.5, "", "2.50"),
    (2.1, "USD/hour", "2.10 USD/h"), (1234567, "USD", "1,230,000 USD"), (14, "month", "14 months"),
    (-3e9, "byte", "−3 GB"), (-8192, "", "−8,192"), (-0.5, "second", "−500 ms"), (-2.5, "USD", "−2.50 USD"),
    (0.001234, "", "0.00123"), (591, "FLOP/byte", "591 FLOP/B"),
])
def test_a_number_has_three_figures_its_unit_and_a_true_minus(value, unit, text):
    assert number(value, unit) == text


@pytest.mark.parametrize("unit, words", [("second", "never"), ("month", "never"), ("1/month", "never"), ("USD", "no price"),
                                         ("USD/hour", "no price"), ("byte", "no limit"), ("", "no limit"), ("token/second", "no limit")])
def test_infinity_is_said_in_the_words_of_its_unit(unit, words):
    assert number(math.inf, unit) == words


@pytest.mark.parametrize("value, unit, text", [(1, "month", "1 month"), (1, "year", "1 year"), (1.5, "year", "1.50 years"),
                                               (0, "day", "0 days"), (1, "token/second", "1 tokens/s"), (1, "second", "1 s"), (1, "byte", "1 B")])
def test_one_of_a_unit_is_singular(value, unit, text):
    assert number(value, unit) == text


def test_an_unknown_unit_says_where_to_add_it():
    with pytest.raises(ValueError, match="unit 'parsec': has no printed form; allowed: byte.*add a row to data/units.csv"):
        number(3, "parsec")


def test_every_quantity_prints():
    for name, held in QUANTITIES.items():
        assert quantity(name, held.example)
        assert figures.unit_symbol(held.unit) is not None


@pytest.mark.parametrize("value, text", [(1, "1"), (999, "999"), (1000, "1,000"), (1234, "1,230"), (0.9999, "1.00"), (12.345, "12.3"),
                                         (0.05, "0.0500"), (-12.345, "−12.3"), (-7, "−7"), (0, "0")])
def test_three_figures(value, text):
    assert three_figures(value) == text


def test_rounding_up_gives_the_next_prefix():
    assert number(999_600_000, "byte") == "1.00 GB"
    assert number(999.4e6, "byte") == "999 MB"


@pytest.mark.parametrize("shown, text", [
    (figures.percent(0.3125), "31.2 %"), (figures.percent(1), "100 %"), (figures.percent(math.inf), "never"), (figures.percent(-0.05), "−5 %"),
    (figures.usd(1234.5), "1,234.50 USD"), (figures.usd(12345.6), "12,346 USD"), (figures.usd(-0.5), "−0.50 USD"), (figures.usd(math.inf), "no price"),
    (figures.hourly(2.951), "2.95 USD/h"), (figures.hourly(-2), "−2.00 USD/h"), (figures.dollars(48_250), "48,200 USD"),
    (figures.days(2), "2 days"), (figures.days(0.25), "6 h"), (figures.days(math.inf), "never"), (figures.seconds(math.inf), "never"),
    (figures.chance(0.001), "less than 1 %"), (figures.chance(0.999), "more than 99 %"), (figures.chance(0.314), "31 %"),
    (figures.times(2.5), "2.50 times"), (figures.gib(2**30), "1 GiB"), (figures.exact(327_680), "327,680 B"), (figures.exact(7, ""), "7"),
    (figures.signed(0.05, figures.percent), "+5 %"), (figures.signed(-0.05, figures.percent), "−5 %"), (figures.signed(0, figures.percent), "0 %"),
])
def test_formatters(shown, text):
    assert shown == text
