"""How old and how sure the prices behind a figure are, and how a caption says so."""
import datetime

import pandas
import pytest

from gpucalc.rows import ages, price_book
from gpucalc.rows.rents import cheapest_rent, with_rent

BOOK = price_book.prices()
H100 = "H100 SXM 80GB"


def of(confidences, yours):
    return pandas.DataFrame({"confidence": confidences, "yours": yours})


def test_what_may_decide_was_seen_or_is_the_readers_own():
    rows = of(["seen", "floor", "secondary", "recalled", "recalled"], [False, False, False, False, True])
    assert list(ages.firm(rows)) == [True, False, False, False, True]


def test_dates_of_rows_and_frames_together():
    rent = cheapest_rent(BOOK, gpu=H100, term="on-demand")
    frame = BOOK[BOOK["item"] == "storage"]
    assert ages.dates(rent, None, frame) == sorted({rent.date, *frame["date"]})
    assert ages.dates(frame.iloc[0]) == [frame.iloc[0]["date"]], "a row of a book"
    assert ages.dates(None) == ages.dates() == [] and ages.oldest() == ""
    assert ages.oldest(rent, frame) == min(rent.date, *frame["date"])


def test_what_is_given_has_no_date():
    given = cheapest_rent(with_rent(BOOK, H100, 8, "on-demand", 2.0), gpu=H100)
    assert ages.dates(given) == [] and ages.dates({"price": 1}) == []
    assert ages.dates(pandas.DataFrame({"date": ["2026", None, "", "given"]})) == ["2026"]


def test_a_date_counts_from_its_first_day():
    for text, day in (("2026", (2026, 1, 1)), ("2026-06", (2026, 6, 1)), ("2026-06-24", (2026, 6, 24))):
        assert ages.day(text) == datetime.date(*day)


def test_the_age_of_a_book_is_held_against_its_own_date():
    """Of four rows 0, 10, 91 and 312 days before 2026-11-09: median (10 + 91) / 2, half of them over 90 days."""
    book = pandas.DataFrame({"date": ["2026-11-09", "2026-10-30", "2026-08-10", "2026"]})
    book.attrs["date"] = "2026-11-09"
    assert list(ages.days(book)) == [0, 10, 91, 312]
    assert ages.summary(book) == {"newest": "2026-11-09", "oldest": "2026", "median_days": 50.5, "stale": 0.5}
    book.attrs["date"] = "2026-08-10"
    assert list(ages.days(book)) == [0, 0, 0, 221], "no row is younger than none"


@pytest.mark.parametrize("path", price_book.price_books(), ids=lambda path: path.stem)
def test_the_age_of_the_projects_books(path):
    found = ages.summary(price_book.prices(path))
    assert found["oldest"] < found["newest"] <= path.stem and 0 <= found["stale"] <= 1 and found["median_days"] >= 0


def test_what_is_not_the_readers():
    mine = BOOK.assign(yours=BOOK["item"] == "rent")
    mine.attrs = BOOK.attrs | {"own": True}
    rent, power = cheapest_rent(mine, gpu=H100), mine[mine["item"] == "power"]
    assert ages.not_yours(mine, rent, power) == sorted(power.index)
    assert ages.not_yours(mine, rent) == [] and ages.not_yours(BOOK, power) == [], "the project's book is nobody's own"


def servers(*rows):
    """A book of servers, of 2026-11-09: each with its term, date and confidence."""
    book = pandas.DataFrame([dict(item="server", term=term, date=date, confidence=seen, gpu=H100) for term, date, seen in rows])
    book.attrs["date"] = "2026-11-09"
    return book


def test_a_server_is_sold_for_two_years_after_its_price():
    """730 days before 2026-11-09 is 2024-11-09; what is sold used is as old as it is."""
    book = servers(("purchase", "2024-11-09", "seen"), ("purchase", "2024-11-08", "seen"), ("used", "2020", "seen"))
    assert list(ages.sold(book).index) == [0, 2]
    rent = book.assign(item="rent")
    rent.attrs = book.attrs
    assert len(ages.sold(rent)) == 3, "only servers go out of sale"


@pytest.mark.parametrize("date, seen, why", [
    ("2024-11-08", "seen", "last priced 2024-11-08, so hardly sold new"), ("2026-10-05", "secondary", "its price of 2026-10-05 is secondary"),
    ("2020", "recalled", "last priced 2020, so hardly sold new")])
def test_why_a_server_decides_nothing(date, seen, why):
    book = servers(("purchase", date, seen))
    assert ages.why_not_sold(book, book.iloc[0]) == why
