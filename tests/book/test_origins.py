"""The page of sources names every row of data that says where it comes from."""
import html
import re

from pandas import DataFrame

from book.components.origins import (ages_table, book_ages, by_source, counted, origin_books, origin_files, price_table,
                                     source_table)
from gpucalc.core.quantities import DATA
from gpucalc.rows import price_book


def test_every_data_file_with_sources_is_there():
    files = {path.stem for path in DATA.glob("*.csv") if "confidence" in path.read_text(encoding="utf-8").splitlines()[0]}
    assert set(origin_files()) == files
    assert all("source" in frame and len(frame) for frame in origin_files().values())


def test_every_price_book_is_there_once():
    books = price_book.price_books()
    assert list(origin_books(books[0])) == [path.name for path in books]


def test_the_age_of_a_book_is_that_of_its_rows():
    """Of 0 and 92 days before 2026-11-09, by its newest full date: 46 in the middle, half of them over 90."""
    frame = DataFrame({"date": ["2026-11-09", "2026-08-09"]})
    frame.attrs["date"] = "2026-11-09"
    assert book_ages({"my.csv": frame}).to_dict("records") == [
        {"book": "my.csv", "rows": 2, "newest": "2026-11-09", "oldest": "2026-08-09", "median_days": 46, "stale": 0.5}]
    shown = ages_table({"my.csv": frame}).source
    assert ">46 days<" in shown and ">50 %<" in shown and ">rows over 90 days<" in shown
    assert set(book_ages(origin_books())["book"]) == {path.name for path in price_book.price_books()}


def test_a_book_of_ones_own_is_there_too(tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text(price_book.price_books()[-1].read_text())
    assert list(origin_books(mine))[-1] == "mine.csv"


def test_rows_are_counted_by_confidence_and_grouped_by_source():
    frame = DataFrame({"source": ["b", "a", "b"], "date": ["2025", "2024", "2025"], "confidence": ["seen", "recalled", "seen"]})
    assert counted({"x.csv": frame}).to_dict("records") == [
        {"file": "x.csv", "total": 3, "seen": 2, "floor": 0, "secondary": 0, "recalled": 1, "assumed": 0, "newest": "2025"}]
    assert by_source(frame, ["one", "two", "three"])["entries"].tolist() == ["two", "one; three"]
    assert by_source(frame, ["one", "two", "one"])["entries"].tolist() == ["two", "one"]


def test_prices_are_named_by_provider_and_item():
    frame = DataFrame({"provider": ["Cloud", "Cloud", "Grid"], "item": ["rent", "egress", "power"], "source": "page",
                       "date": "2026", "confidence": "seen"})
    assert ">Cloud rent; Cloud egress; Grid power<" in price_table({"my.csv": frame}).source
    assert "Sources of my.csv" in price_table({"old.csv": frame.head(0), "my.csv": frame}).source


def test_a_source_of_a_document_names_the_document():
    claims = origin_files()["claims"]
    shown = source_table("claims", "claims").source
    said = html.unescape(re.sub("<[^>]*>", "", shown))
    for row in claims.itertuples():
        assert f"{row.document}: {row.source}" in said


def test_tables_name_the_rows_as_a_reader_knows_them():
    assert "H100 SXM 80GB" in source_table("gpus", "GPUs").source
    assert "AdamW in FP32" in source_table("recipes", "recipes").source
    books = origin_books()
    assert list(books)[-1] in price_table(books).source
