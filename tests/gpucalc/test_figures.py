"""How numbers become text: units, prefixes, three figures, infinity in words, and signs."""
import math

import pytest

from gpucalc.core import figures
from gpucalc.core.figures import number, quantity, three_figures
from gpucalc.core.quantities import QUANTITIES


@pytest.mark.parametrize("value, unit, text", [
    (85_899_345_920, "byte", "85.9 GB"), (0, "byte", "0 B"), (999, "byte", "999 B"), (999.6, "byte", "1.00 kB"),
    (1e21, "byte", "1.00e21 B"), (-6.354e24, "FLOP", "−6.35e24 FLOP"),
    (3.35e12, "byte/second", "3.35 TB/s"), (989.4e12, "FLOP/second", "989 TFLOP/s"), (700, "watt", "700 W"), (10_200, "watt",
                                                                                                              "10.2 kW"),
    (0.0234, "second", "23.4 ms"), (0.9996, "second", "1.00 s"), (6e-7, "second", "0.600 µs"), (90, "second", "90 s"),
    (8192, "", "8,192"), (999_999, "", "999,999"), (1_000_000, "", "1 million"), (15.6e12, "", "15.6 trillion"), (2.5, "",
                                                                                                                  "2.50"),
    (2.1, "USD/hour", "2.10 USD/h"), (1234567, "USD", "1,230,000 USD"), (14, "month", "14 months"),
    (-3e9, "byte", "−3 GB"), (-8192, "", "−8,192"), (-0.5, "second", "−500 ms"), (-2.5, "USD", "−2.50 USD"),
    (0.001234, "", "0.00123"), (591, "FLOP/byte", "591 FLOP/B"),
])
def test_a_number_has_three_figures_its_unit_and_a_true_minus(value, unit, text):
    assert number(value, unit) == text


@pytest.mark.parametrize("unit, words", [("second", "never"), ("month", "never"), ("1/month", "never"), ("USD", "no price"),
                                         ("USD/hour", "no price"), ("byte", "no limit"), ("", "no limit"), ("token/second",
                                         "no limit")])
def test_infinity_is_said_in_the_words_of_its_unit(unit, words):
    assert number(math.inf, unit) == words


@pytest.mark.parametrize("value, unit, text", [(1, "month", "1 month"), (1, "year", "1 year"), (1.5, "year", "1.50 years"),
                                               (0, "day", "0 days"), (1, "token/second", "1 tokens/s"), (1, "second", "1 s"),
                                               (1, "byte", "1 B")])
def test_one_of_a_unit_is_singular(value, unit, text):
    assert number(value, unit) == text


def test_an_unknown_unit_says_where_to_add_it():
    with pytest.raises(ValueError, match="unit 'parsec': has no printed form; allowed: byte.*add a row to data/units.csv"):
        number(3, "parsec")


EDGES = (0, 0.9994, 0.9996, 1, 999.5, 9999.99, 1e4, 1e6 - 1, -3, math.inf, 1e-7)


@pytest.mark.parametrize("unit, texts", [
    ("byte", ["0 B", "0.999 B", "1.00 B", "1 B", "1.00 kB", "10.0 kB", "10 kB", "1.00 MB", "−3 B", "no limit", "0.000000100 B"]),
    ("second", ["0 µs", "999 ms", "1.00 s", "1 s", "1,000 s", "10,000 s", "10,000 s", "1,000,000 s", "−3 s", "never",
                "0.100 µs"]),
    ("", ["0", "0.999", "1.00", "1", "1,000", "10,000", "10,000", "999,999", "−3", "no limit", "0.000000100"]),
    ("USD", ["0 USD", "0.999 USD", "1.00 USD", "1 USD", "1,000 USD", "10,000 USD", "10,000 USD", "1,000,000 USD", "−3 USD",
             "no price", "0.000000100 USD"]),
    ("day", ["0 days", "0.999 days", "1.00 days", "1 day", "1,000 days", "10,000 days", "10,000 days", "1,000,000 days",
             "−3 days",
             "never", "0.000000100 days"]),
])
def test_the_edges_of_a_figure(unit, texts):
    assert [number(value, unit) for value in EDGES] == texts


PRINTED = {
    "byte": "9.99 kB", "byte/month": "9.99 kB/month", "byte/second": "9.99 kB/s", "FLOP": "9.99 kFLOP", "FLOP/second": "9.99 kFLOP/s", "watt": "9.99 kW",
    "second": "9,990 s", "": "9,990", "FLOP/byte": "9,990 FLOP/B", "token/second": "9,990 tokens/s", "1/second": "9,990 1/s",
    "hertz": "9.99 kHz",
    "USD": "9,990 USD", "USD/hour": "9,990 USD/h", "USD/month": "9,990 USD/month", "USD/(kilowatt*hour)": "9,990 USD/kWh",
    "USD/gigabyte": "9,990 USD/GB", "USD/(gigabyte*month)": "9,990 USD/GB-month", "USD/year": "9,990 USD/year",
    "1/year": "9,990 a year", "1/month": "9,990 a month", "1/day": "9,990 a day", "day/hour": "9,990",
    "hour": "9,990 h", "day": "9,990 days", "month": "9,990 months",
    "year": "9,990 years", "token": "9,990 tokens", "kilowatt": "9,990 kW", "gigabyte": "9,990 GB",
    "kilowatt*hour": "9,990 kWh", "kilogram": "9,990 kg", "kilogram/(kilowatt*hour)": "9,990 kg/kWh",
    "USD/(kilowatt*month)": "9,990 USD/kW-month", "byte/(second*USD)": "9.99 kB/s per USD", "FLOP/(second*USD)": "9.99 kFLOP/s per USD",
    "byte*hour/(second*USD)": "9.99 kB/s per USD/h", "FLOP*hour/(second*USD)": "9.99 kFLOP/s per USD/h",
    "USD*second/(FLOP*month)": "9,990 USD a month per FLOP/s", "byte/(second*watt)": "9.99 kB/s per W",
    "FLOP/(second*watt)": "9.99 kFLOP/s per W"}
NEVER = {"second", "1/second", "1/year", "1/month", "1/day", "hour", "day", "month", "year"}


def test_each_unit_prints():
    assert {unit: number(9994.4, unit) for unit in figures.UNITS} == PRINTED
    said = {unit: number(math.inf, unit) for unit in figures.UNITS}
    assert said == {unit: "never" if unit in NEVER else "no price" if unit.startswith("USD") else "no limit" for unit in PRINTED}


@pytest.mark.parametrize("value, text", [(999.4, "999 B"), (999.5, "1.00 kB"), (999_499, "999 kB"), (999_500, "1.00 MB"),
                                         (9.994e8, "999 MB"), (9.996e11, "1.00 TB"), (9.996e14, "1.00 PB"), (9.996e17, "1.00 EB"),
                                         (1e18, "1 EB"), (-999.5, "−1.00 kB")])
def test_each_prefix_begins_where_three_figures_end(value, text):
    assert number(value, "byte") == text


@pytest.mark.parametrize("value, text", [(999_999, "999,999"), (1e6, "1 million"), (999_400_000, "999 million"),
                                         (999_500_000, "1.00 billion"), (999_500_000_000, "1.00 trillion"), (-2e6, "−2 million"),
                                         (1e15, "1,000 trillion")])
def test_words_of_large_counts(value, text):
    assert number(value) == text


@pytest.mark.parametrize("value, text", [(0, "0 µs"), (1e-9, "0.00100 µs"), (9.994e-4, "999 µs"), (9.996e-4, "1.00 ms"),
                                         (1e-3, "1 ms"), (-1e-3, "−1 ms"), (3600, "3,600 s")])
def test_seconds(value, text):
    assert figures.seconds(value) == text


@pytest.mark.parametrize("value, text", [(0, "0.00 USD"), (0.9996, "1.00 USD"), (999.5, "999.50 USD"), (9999.99, "9,999.99 USD"),
                                         (1e4, "10,000 USD"), (10_000.4, "10,000 USD"), (1e6 - 1, "999,999 USD"),
                                         (-3, "−3.00 USD"),
                                         (-1e4, "−10,000 USD"), (-math.inf, "no price"), (1e-7, "0.00 USD")])
def test_cents_end_at_ten_thousand(value, text):
    assert figures.usd(value) == text


def test_every_quantity_prints():
    for name, held in QUANTITIES.items():
        assert quantity(name, held.example)
        assert figures.unit_symbol(held.unit) is not None


@pytest.mark.parametrize("value, text", [(1, "1"), (999, "999"), (1000, "1,000"), (1234, "1,230"), (0.9999, "1.00"),
                                         (12.345, "12.3"),
                                         (0.05, "0.0500"), (-12.345, "−12.3"), (-7, "−7"), (0, "0")])
def test_three_figures(value, text):
    assert three_figures(value) == text


def test_rounding_up_gives_the_next_prefix():
    assert number(999_600_000, "byte") == "1.00 GB"
    assert number(999.4e6, "byte") == "999 MB"


@pytest.mark.parametrize("shown, text", [
    (figures.percent(0.3125), "31.2 %"), (figures.percent(1), "100 %"), (figures.percent(math.inf), "never"),
    (figures.percent(-0.05), "−5 %"),
    (figures.usd(1234.5), "1,234.50 USD"), (figures.usd(12345.6), "12,346 USD"), (figures.usd(-0.5), "−0.50 USD"),
    (figures.usd(math.inf), "no price"),
    (figures.hourly(2.951), "2.95 USD/h"), (figures.hourly(-2), "−2.00 USD/h"), (figures.dollars(48_250), "48,200 USD"),
    (figures.days(1 / 24), "60 min"), (figures.hours(0.399), "23.9 min"), (figures.hours(2), "2 h"), (figures.days(2), "2 days"), (figures.days(1), "1 day"), (figures.days(0.9996), "24.0 h"), (figures.days(0), "0 h"),
    (figures.hourly(math.inf), "no price"), (figures.hourly(1234.5), "1,234.50 USD/h"), (figures.times(math.inf), "no limit"),
    (figures.chance(0.01), "1 %"), (figures.chance(0.99), "99 %"), (figures.chance(0.0099), "less than 1 %"),
    (figures.signed(3), "+3"),
    (figures.signed(-3), "−3"), (figures.percent(1 / 3), "33.3 %"), (figures.percent(0.07), "7 %"),
    (figures.percent(-math.inf), "never"),
    (figures.gib(80e9), "74.5 GiB"), (figures.exact(2.6, "byte"), "3 B"), (figures.exact(-1234, "token"), "-1,234 tokens"),
    (figures.days(0.25), "6 h"), (figures.days(math.inf), "never"), (figures.seconds(math.inf), "never"),
    (figures.chance(0.001), "less than 1 %"), (figures.chance(0.999), "more than 99 %"), (figures.chance(0.314), "31 %"),
    (figures.times(2.5), "2.50 times"), (figures.gib(2**30), "1 GiB"), (figures.exact(327_680), "327,680 B"),
    (figures.exact(7, ""), "7"),
    (figures.signed(0.05, figures.percent), "+5 %"), (figures.signed(-0.05, figures.percent), "−5 %"),
    (figures.signed(0, figures.percent), "0 %"),
])
def test_formatters(shown, text):
    assert shown == text


@pytest.mark.parametrize("value, enough", [(110.47, 111), (111, 111), (0.0446, 0.0446), (15_712, 15_800), (999.5, 1000), (0, 0), (math.inf, math.inf)])
def test_what_is_enough_is_so_once_it_is_printed(value, enough):
    assert figures.rounded_up(value) == pytest.approx(enough)
    assert figures.rounded_up(value) >= value * (1 - 1e-9)
