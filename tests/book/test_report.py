"""The report is one page that needs nothing else: no script, no request, all text escaped, and it stands in a browser."""
import math
import re
from html.parser import HTMLParser

import pandas
import pytest

from book.components.report import band_bar, choice_bars, owning_report, report, stacked_bar
from gpucalc.core.quantities import DATA
from gpucalc.decisions import decide as deciding, owning_words
from gpucalc.decisions.rent_or_buy import rent_or_buy
from gpucalc.rows import price_book
from tests import hostile

CASES = DATA / "cases"
EVIL = '<script>alert("1")</script>&{gpu}'


class Reader(HTMLParser):
    """The tags of a page in order, with those that are open, and its addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.addresses, self.rows = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "style") or name.startswith("on")]
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def made(name, book, beside=()):
    return report(deciding.answered(deciding.read(CASES / f"{name}.yaml"), book), book, beside)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of each kind, one of them with prices of somebody that one does not trust."""
    book = price_book.prices()
    mine = tmp_path_factory.mktemp("prices") / "mine.csv"
    quoted = EVIL.replace('"', '""')
    mine.write_text(f'gpu,usd_per_hour,provider\nMI300X 192GB,1.10,"{quoted}"\n')
    hard = deciding.read({"job": "serve", "model": "Llama-3-70B", "requests_per_second": 10, "token_limit": 0.002})
    own = deciding.read({"job": "rent_or_buy", "gpu": "H100 SXM 80GB"})
    found = rent_or_buy(own, book)
    beside = deciding.compare(CASES / "chat_70b.yaml", CASES / "three_on_one.yaml", book)
    return {
        "serve": made("chat_70b", book, [beside]), "offline": made("million_images", book), "train": made("lab_rtx6000", book),
        "none": report(deciding.answered(hard, book), book), "own": owning_report(found, own, owning_words.told(found, own, book)),
        "theirs": made("chat_70b", price_book.prices(mine))}


def test_a_page_is_whole_and_asks_for_nothing(pages):
    for name, page in pages.items():
        reader = Reader()
        reader.feed(page)
        assert reader.open == [] and reader.addresses == [], name
        assert "script" not in reader.tags and "img" not in reader.tags and "link" not in reader.tags
        assert "default-src 'none'" in page and "url(" not in page and "@import" not in page


def test_text_of_a_price_file_is_text(pages):
    assert "<script" not in pages["theirs"] and "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;{gpu}" in pages["theirs"]


def test_every_text_is_read_back_as_it_was():
    book, case = price_book.prices(), deciding.read(CASES / "three_on_one.yaml")
    beside = pandas.DataFrame([(text, f"{text} ", text, "") for text in hostile.TEXTS], columns=deciding.SIDES)
    page, reader = report(deciding.answered(case, book), book, [beside]), Reader()
    reader.feed(page)
    found = [cells for cells in reader.rows if len(cells) == 4]
    assert found[1:len(hostile.TEXTS) + 1] == [[text, f"{text} ", text, ""] for text in hostile.TEXTS]
    assert not reader.tags & {"script", "img", "iframe"} and reader.addresses == []


def test_a_page_has_all_parts(pages):
    for title in ("What fills one GPU", "What else would do", "What binds", "What helps", "What flips it", "Side by side", "What was put in", "The formulas"):
        assert f"<h2>{title}" in pages["serve"], title
    assert pages["serve"].count('<article class="card">') == 6 and "Prices of 2" in pages["serve"]
    assert "What to loosen" in pages["none"] and '<article class="card">' not in pages["none"]
    assert "Rent or buy" in pages["own"]
    for name in ("serve", "train"):
        assert re.search(r"<td>time per output token</td>|<td>step seconds</td>", pages[name])


def test_inputs_have_their_sources(pages):
    assert "<td>the case</td>" in pages["serve"] and "data/jobs.csv: " in pages["train"]
    assert re.search(r"<tr><td>rent</td><td[^>]*>[\d.]+ USD/h</td><td[^>]*>RunPod, .*?https?://|RunPod", pages["serve"])


@pytest.mark.parametrize("power, told", [({}, ["", "", "", ""]), ({"usd_per_kwh": 0.3}, ["that you have, given", "0.26"])], ids=str)
def test_cards_of_ones_own_have_no_seller_and_cost_their_power(book, power, told):
    held = {"job": "serve", "model": "Qwen3-8B", "requests_per_second": 0.1, "cards": "RTX 3090 24GB", "own_cards": 2}
    reader = Reader()
    reader.feed(report(deciding.answered(deciding.read(held | power), book), book))
    row = next(cells for cells in reader.rows if cells[:2] == ["RTX 3090 24GB", "2"])
    assert row[3:3 + len(told)] == told and row[7] == "the best"


def scaled(drawn, top):
    """Each box of a bar: its class, from where to where in the bar's own units, and its place and height; a mark is where its middle is."""
    found = [(name, *map(float, numbers)) for name, *numbers in re.findall(
        r'<rect class="([\w-]+)" x="([-\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawn)]
    marks = [(name, *((x + wide / 2,) * 2 if wide <= 4 and name in ("plan", "ends") else (x,) * 2 if name == "bound" else (x, x + wide)), y, tall)
             for name, x, y, wide, tall in found]
    return [(name, pytest.approx(start * top / 600, abs=0.002 * top), pytest.approx(end * top / 600, abs=0.002 * top), y, tall)
            for name, start, end, y, tall in marks]


def test_pictures_are_drawn_from_the_numbers():
    show = "{:g}".format
    bar = band_bar(2, 3, 4, 1, show)
    assert 'aria-label="plan 3, from 2 to 4, bound 1"' in bar and scaled(bar, 1.04 * 4) == [
        ("track", 0, 4.16, 6, 12), ("band", 2, 4, 6, 12), ("plan", 3, 3, 1, 22), ("bound", 1, 1, 3, 18)]
    assert scaled(band_bar(3, 2, math.inf, None, show), 2 * 1.56)[1:] == [("band", 2, 3.12, 6, 12), ("plan", 2, 2, 1, 22)], "a range has no end"
    assert [band_bar(1, plan, 2, None, show) for plan in (math.nan, math.inf, 0, -1)] == [""] * 4
    bars = choice_bars([("a", 1, 2, 4), ("b", 2, 3, math.inf)], show)
    assert scaled(bars, 4 * 1.02) == [
        ("best", 0, 2, 4, 16), ("ends", 1, 4, 11, 2), ("ends", 1, 1, 7, 10), ("ends", 4, 4, 7, 10),
        ("bar", 0, 3, 4, 16), ("ends", 2, 4.08, 11, 2), ("ends", 2, 2, 7, 10), ("ends", 4.08, 4.08, 7, 10)]
    assert choice_bars([], show) == '<ul class="bars"></ul>'
    assert "&lt;b&gt;" in choice_bars([("<b>", 1, 2, float("inf"))], show) and "<b>" not in choice_bars(
        [("<b>", 1, 2, 3)], show).replace("<b>2</b>", "")
    stacked = stacked_bar({"weights": 3, "cache": 1}, 8, show)
    assert "weights 3" in stacked and "the GPU has 8" in stacked
    assert scaled(stacked.partition("<ul")[0], 8 * 1.01) == [("track", 0, 8, 4, 28), ("part-1", 0, 3, 4, 28), ("part-2", 3, 4, 4, 28)]
    full = stacked_bar({"weights": 9, "cache": 1}, 8, show)
    assert scaled(full.partition("<ul")[0], 10 * 1.01)[-1] == ("part-2", 9, 10, 4, 28) and f'<line class="most" x1="{600 * 8 / 10.1:.1f}"' in full


def test_a_page_stands_in_a_browser(pages, browser, tmp_path):
    """No wider than a desktop, a phone or paper, without a problem in the console; it prints on A4, and is dark where wanted."""
    for name in ("serve", "train", "own"):
        path = tmp_path / f"{name}.html"
        path.write_text(pages[name], encoding="utf-8")
        address = path.as_uri()
        for width, scheme, medium in ((1280, "light", "screen"), (390, "dark", "screen"), (688, "light", "print")):
            page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
            said = []
            page.on("console", lambda message, said=said: said.append(message.text))
            page.on("request", lambda request, said=said, own=address: request.url == own or said.append(request.url))
            page.goto(address)
            page.emulate_media(media=medium, color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width and said == []
            back = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (back == "rgb(20, 24, 29)") == (scheme == "dark")
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
