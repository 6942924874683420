"""Amounts as readers type them, in Python: answers to drills, quantities of a case, and how these are shown."""
import pytest

from book.web import typed
from gpucalc.core.figures import UNITS
from gpucalc.core.quantities import QUANTITIES

TIME = dict(unit="second", meaning="time of an answer", allowed="a number above 0", low=0, high=None, whole=False, least=1e-6,
            most=1e6, sizes="from 1e-06 to 1e+06 second")
SHARE = TIME | dict(unit="", allowed="a number from 0 to 1", high=1)
COUNT = TIME | dict(unit="", allowed="a whole number of at least 1", low=1, whole=True, least=1, most=1e15)
BYTES = TIME | dict(unit="byte", allowed="a number of at least 0", least=1, most=1e18)
MONEY = TIME | dict(unit="USD/month", least=0.01, most=1e12)
DAYS = TIME | dict(unit="day", least=0.001, most=36500)


@pytest.mark.parametrize("about, text, value, shown", [
    (TIME, "1", 1, "1 s"), (TIME, "1.5s", 1.5, "1.5 s"), (TIME, "35 ms", 0.035, "35 ms"), (TIME, "250 µs", 0.00025, "250 µs"),
    (TIME, "2 min", 120, "120 s"), (TIME, "3 hours", 10800, "10,800 s"), (TIME, "1e-3", 0.001, "1 ms"),
    (DAYS, "4 weeks", 28, "28 days"), (DAYS, "36 h", 1.5, "1.5 days"), (DAYS, "24 hours", 1, "1 day"),
    (DAYS, "1 month", 30.4166666666667, "30.4166666666667"),
    (SHARE, "60 %", 0.6, "60 %"), (SHARE, "0.07", 0.07, "7 %"), (SHARE, "0", 0, "0 %"),
    (COUNT, "15.6 trillion tokens", 15.6e12, "15.6T"), (COUNT, "1,000", 1000, "1,000"), (COUNT, "12 requests a second", 12, "12"),
    (COUNT, "7B", 7e9, "7B"), (COUNT, "2.5 K", 2500, "2,500"), (COUNT, "1234567", 1234567, "1.234567M"),
    (COUNT, "12345678901", 12345678901, "12,345,678,901"),
    (MONEY, "$2M", 2e6, "2M USD"), (MONEY, "5,000 USD a month", 5000, "5,000 USD"), (MONEY, "99,999.99", 99999.99, "99,999.99 USD"),
    (BYTES, "80 GB", 80e9, "80 GB"), (BYTES, "80", 80, "80 B"), (BYTES, "1 GiB", 2**30, "1.073741824 GB"),
    (BYTES, "3 PB", 3e15, "3,000 TB"), (BYTES, "1.5 kB", 1500, "1,500 B")])
def test_an_amount_is_read_and_shown_in_friendly_units(about, text, value, shown):
    assert typed.read(about, text) == (value, "")
    assert typed.shown(about, value) == shown


@pytest.mark.parametrize("about, text, said", [
    (TIME, "soon", "“soon” is not understood here: write 1 s, 50 ms or 2 days."),
    (COUNT, "1,5", "“1,5” is not understood here: write 1,000 or 1T."), (COUNT, "1.5", "time of an answer: give a whole number of at least 1."),
    (MONEY, "5 EUR", "“5 EUR” is not understood here: write 5,000 USD or 2M USD."),
    (COUNT, "$5", "“$5” is not understood here: write 1,000 or 1T."),
    (BYTES, "80 GHz", "“80 GHz” is not understood here: write 80 GB."), (SHARE, "60 k", "“60 k” is not understood here: write 60 %."),
    (SHARE, "101 %", "time of an answer: give a number from 0 to 1."), (TIME, "0", "time of an answer: give a number above 0."),
    (TIME, "−1", "time of an answer: give a number above 0."), (TIME, "1e999", "time of an answer: give a number above 0."),
    (TIME, "1e-7", "give from 1e-06 to 1e+06 second."), (TIME, "1000001", "give from 1e-06 to 1e+06 second."),
    (TIME, "x" * 61, f"“{'x' * 60}…” is not understood here: write 1 s, 50 ms or 2 days."),
    (TIME, "x" * 60, f"“{'x' * 60}” is not understood here: write 1 s, 50 ms or 2 days.")])
def test_what_is_not_understood_is_never_guessed(about, text, said):
    assert typed.read(about, text) == (None, said)


def test_the_ends_of_a_size_may_be_given():
    assert [typed.outside(TIME, value) for value in (1e-6, 1e6)] == ["", ""] and typed.outside(BYTES, 0) == ""
    assert typed.fits(SHARE, 0) and typed.fits(SHARE, 1) and not typed.fits(SHARE, 1.001) and not typed.fits(TIME, 0)
    assert typed.fits(BYTES | {"low": None}, -1e9) and not typed.fits(BYTES, float("inf")) and not typed.fits(COUNT, 2.5)


def law(unit):
    """A law of the book in that unit."""
    return next(name for name, quantity in QUANTITIES.items() if quantity.unit == unit)


@pytest.mark.parametrize("unit, asked, scale, text, value", [
    ("byte", "GB", 1e9, "140", 140), ("byte", "GB", 1e9, "0.14 TB", 140), ("byte", "GB", 1e9, "140 gb", 140),
    ("byte", "GB", 1e9, "2 GiB", 2.147483648), ("byte", "GB", 1e9, "3 ZB", 3e12), ("byte", "GiB", 2**30, "1 TiB", 1024),
    ("byte/second", "GB/s", 1e9, "1 kiB/s", 1.024e-6), ("byte/second", "GB/s", 1e9, "4T", 4000),
    ("second", "ms", 1e-3, "2 s", 2000), ("second", "ms", 1e-3, "50 us", 0.05), ("second", "s", 1, "2 hours", 7200),
    ("hour", "h", 1, "30 min", 0.5), ("hour", "h", 1, "90 GPU hours", 90), ("hour", "h", 1, "3.6 ms", 1e-6), ("day", "days", 1, "36 h", 1.5),
    ("", "million", 1e6, "2 billion", 2000), ("", "", 1, "8 GPUs", 8), ("", "", 1, "50 %", 0.5), ("", "", 1, "3 tn", 3e12),
    ("", "", 1, "about 12,500", 12500), ("", "", 1, "2 × 10^6", 2e6), ("", "", 1, "12 500", 12500), ("", "", 1, "~.5", 0.5),
    ("USD", "USD", 1, "$4", 4), ("USD", "USD", 1, "4 k", 4000), ("USD", "USD", 1, "1.5 million USD", 1.5e6), ("USD", "USD", 1, "3 dollars", 3),
    ("token/second", "tokens/s", 1, "3 ktokens/s", 3000)])
def test_an_answer_is_read_in_the_unit_that_was_asked_for(unit, asked, scale, text, value):
    found, said = typed.answer(text, law(unit), asked, scale)
    assert (found, said) == (pytest.approx(value, rel=1e-12), "")


@pytest.mark.parametrize("unit, asked, text, said", [
    ("byte", "GB", "", "Type a number, such as 120, or 120 GB."), ("", "", " ", "Type a number, such as 120, 12,500 or 1.2e9."),
    ("byte", "GB", "many", "“many” is no number. Type one such as 120, or 120 GB."),
    ("byte", "GB", "x" * 31, f"“{'x' * 30}…” is no number. Type one such as 120, or 120 GB."),
    ("", "", "1,5", "A comma parts thousands, as in 12,500. Write a fraction with a point, as in 12.5."),
    ("", "", "1e999", "1e999 is larger than a computer counts."), ("", "", "0", "The answer is above 0."),
    ("", "", "−3", "The answer is above 0."),
    ("byte", "GB", "3 Gb", "“Gb” is no unit of this answer. Allowed: kB, MB, GB, TB, KiB, MiB, GiB, or the number alone."),
    ("byte", "GB", "3 GPUs", "“GPUs” is no unit of this answer. Allowed: kB, MB, GB, TB, KiB, MiB, GiB, or the number alone."),
    ("second", "s", "3 GB", "“GB” is no unit of this answer. Allowed: ms, s, min, h, days, or the number alone."),
    ("", "%", "3 GB", "“GB” is no unit of this answer. Allowed: %, or the number alone, in percent."),
    ("", "", "3 GB", "“GB” is no unit of this answer. Allowed: k, million, billion, trillion, or the number alone."),
    ("byte/second", "GB/s", "3 m", ""),
    ("byte/second", "GB/s", "3 V", "“V” is no unit of this answer. Allowed: B/s with a prefix such as k, M, G or T, or the number alone in GB/s."),
    ("token/second", "tokens/s", "3 V", "“V” is no unit of this answer. Allowed: tokens/s, or the number alone in tokens/s.")])
def test_an_answer_that_cannot_be_read_says_what_may_be_typed(unit, asked, text, said):
    assert typed.answer(text, law(unit), asked, 1)[1] == said


def test_every_unit_is_read_as_it_is_printed():
    for name, quantity in QUANTITIES.items():
        symbol = UNITS[quantity.unit][0]
        assert not symbol or typed.answer(f"3 {symbol}", name, "", 1) == (3, ""), name
