"""What a figure says of the age of its prices, in tables and under charts; and what the browser makes of it."""
import re

import pandas
import pytest

from book.build.charts import chart_html
from book.components import dates
from book.components.charts import bars
from book.components.show import table
from gpucalc.rows import price_book
from gpucalc.rows.rents import cheapest_rent
from tests.gpucalc.test_price_book import GOOD

BOOK = price_book.prices()
FRAME = pandas.DataFrame({"provider": ["A", "B"], "date": ["2026", "2026-06-24"], "price": [1.5, 2.0]})
TIME = '<time class="price-date{more}" datetime="{date}">{date}</time>'


@pytest.fixture
def own(tmp_path):
    """A book of the reader's own whose storage is the newest book's."""
    path = tmp_path / "mine.csv"
    path.write_text(GOOD)
    return price_book.prices(path)


def test_the_date_of_a_figure_is_that_of_its_oldest_row():
    rent, storage = cheapest_rent(BOOK, gpu="H100 SXM 80GB", term="on-demand"), BOOK[BOOK["item"] == "storage"]
    oldest = min([rent.date, *storage["date"]])
    assert dates.dated(BOOK, rent, storage) == f"prices: {BOOK.attrs['file']}, the oldest of {oldest}"
    assert dates.dated(BOOK, rent, None) == f"prices: {BOOK.attrs['file']}, the oldest of {rent.date}"
    assert dates.dated(BOOK) == f"prices: {BOOK.attrs['file']}"


def test_what_is_not_the_readers_is_said(own):
    rent, storage = own[own["item"] == "rent"], own[own["item"] == "storage"]
    assert dates.dated(own, rent[rent["yours"]]) == "prices: mine.csv, the oldest of 2026-01"
    assert dates.dated(own, rent, storage).endswith("; in part not yours")


def test_a_caption_that_says_so_carries_a_date_that_ages():
    shown = table(FRAME, f"Rents <all> (prices: a.csv, the oldest of {FRAME.date[0]})")
    caption = re.search("<figcaption>(.*?)</figcaption>", shown.source)[1]
    assert caption == f"Rents &lt;all&gt; (prices: a.csv, the oldest of {TIME.format(more='', date='2026')})"
    assert repr(shown) == "Rents <all> (prices: a.csv, the oldest of 2026) (2 rows)", "as text it is a date"


def test_each_row_of_a_dated_table_carries_its_own():
    shown = table(FRAME, "Rents (prices: a.csv, the oldest of 2026)").source
    for date in FRAME.date:
        assert f'<td class="short">{TIME.format(more=" brief", date=date)}</td>' in shown
    assert shown.count("<time") == 3
    assert "<time" not in table(FRAME, "Papers").source, "only where prices are dated"


@pytest.mark.parametrize("text, marks", [
    ("the oldest of 2026-06-24; in part not yours", 1), ("the oldest of <b>", 0), ("the oldest of 12", 0), ("2026-06-24", 0),
    ("the oldest of 2025, and of the newer book the oldest of 2026-01", 2)])
def test_only_a_date_is_marked(text, marks):
    assert dates.marked(text).count("<time") == marks and dates.is_dated(text) == bool(marks)
    assert "<b>" not in dates.marked(text)


def test_a_cell_that_is_no_date_stays_text():
    assert dates.marked_date("2026 (<recalled>)") == "2026 (&lt;recalled&gt;)" and dates.marked_date("given") == "given"


def test_a_chart_has_a_caption_under_it():
    chart = bars(FRAME.assign(part="all"), "price", "provider", "part", "A costs less.", "USD")
    plain = chart_html(chart.to_dict())
    assert "chart-caption" not in plain
    shown = chart_html(dates.under(chart, dates.dated(BOOK, BOOK[BOOK["item"] == "storage"])).to_dict())
    oldest = BOOK.loc[BOOK["item"] == "storage", "date"].min()
    assert f'<p class="chart-caption">prices: {BOOK.attrs["file"]}, the oldest of {TIME.format(more="", date=oldest)}</p>' in shown
    assert chart.to_dict()["usermeta"]["alt"] == "A costs less."


def test_an_old_date_is_marked_in_the_browser(browser):
    """A day 91 days ago is stale and one 90 days ago is not; in a cell only an old one says its age. No age is negative.

    A page has the sentence once, a row one mark."""
    page = browser.new_page()
    script = (price_book.DATA.parent / "book/static/site.js").read_text()
    page.set_content("<title>x</title><div class=bd-article></div>")
    page.add_script_tag(content=script)
    found = page.evaluate("""() => {
        const day = (ago) => new Date(Date.now() - ago * 86400000).toISOString().slice(0, 10);
        const made = [["", -3], ["", 90], ["", 91], [" brief", 90], [" brief", 91]].map(([more, ago]) =>
            `<time class="price-date${more}" datetime="${day(ago)}">then</time>`).join("");
        const row = (more) => `<td><time class="price-date brief" datetime="${day(more)}">then</time></td>`;
        document.body.innerHTML += `${made}<time class="price-date" datetime="${day(99)}">then</time>`
            + `<table><tr>${row(92)}${row(93)}</tr><tr>${row(94)}</tr></table>`;
        document.dispatchEvent(new Event("DOMContentLoaded"));
        return [...document.querySelectorAll("time")].map((time) => [time.textContent, time.classList.contains("stale")]);
    }""")
    assert found == [["then (0 days ago)", False], ["then (90 days ago)", False], ["then (91 days ago: check before you rely on it)", True], ["then", False],
                     ["then (91 days)", True], ["then (99 days ago)", False], ["then (92 days)", True], ["then", False], ["then (94 days)", True]]
    page.close()


def test_a_headline_and_the_rows_of_a_table_say_what_is_not_the_readers(own):
    rent, storage = own[(own["item"] == "rent") & own["yours"]], own[own["item"] == "storage"]
    theirs = storage[~storage["yours"]]
    assert dates.foreign(own, rent) == dates.foreign(BOOK, BOOK) == ""
    assert dates.foreign(own, theirs.iloc[0], rent).startswith(f"Not your prices here: storage ({theirs.provider.iloc[0]}")
    plan = pandas.DataFrame({"row": [rent.index[0], theirs.index[0]], "provider": ["mine", "theirs"]})
    assert dates.foreign(own, plan) == dates.foreign(own, theirs.iloc[0]), "plans and offers cite their price under row"
    assert list(dates.by_price(plan)) == ["row", "provider"] and list(dates.by_price(plan).index) == list(plan["row"])
    shown = table(dates.by_price(plan)[["provider"]], f"Plans ({dates.dated(own, plan)})").source
    assert shown.count("not yours</small>") == 1 and 'theirs <small>not yours' in shown
    assert "<small>" not in table(dates.by_price(plan)[["provider"]], "Plans").source
