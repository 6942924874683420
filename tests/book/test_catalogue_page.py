"""The table of the catalogue in a browser, from a file: search, filters, groups, two rows side by side, by keyboard and on a phone."""
import csv
import io
import math

import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe

from book.build.site import ROOT
from book.components.catalogue_table import catalogue_table
from tests.browser import leave, visit

STATIC = ROOT / "book/static"
ROWS = 90
CARDS = [f"Card {number}" for number in range(ROWS - 2)] + ["H100 SXM 80GB", "A, B & <C>"]
FRAME = pd.DataFrame({
    "gpu": CARDS, "bandwidth": [1e12 + number for number in range(ROWS - 2)] + [3.35e12, math.nan],
    "tdp_watts": [300.0] * (ROWS - 2) + [700.0, 350.0], "vendor": ["AMD", "NVIDIA"] * (ROWS // 2), "year": ["2024"] * ROWS,
    "note": ["like the H100 in all that matters, and a long text besides it"] * ROWS})
GROUPS = {"Memory": ["bandwidth"], "Power": ["tdp_watts", "vendor"], "Source": ["year", "note"]}
HEAD = ('<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Cards</title>'
        '<link rel="stylesheet" href="{static}/site.css"><style>body {{ color: var(--pst-color-text-base); background: var(--pst-color-background); }}</style>'
        '<script src="{static}/site.js"></script><script defer src="{static}/parts.js"></script>'
        '<script defer src="{static}/catalogue.js"></script><main class="bd-content"><article class="bd-article"><h1>Cards</h1>')


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A page with the table and nothing else, as a file."""
    made = catalogue_table(FRAME, "Every card", GROUPS, {"bandwidth": "high", "tdp_watts": "low"}, ["vendor"], compare=True)
    path = tmp_path_factory.mktemp("catalogue") / "cards.html"
    path.write_text(HEAD.format(static=STATIC.as_uri()) + made._repr_html_() + "</article></main></html>", encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser, file):
    page = visit(browser, file, drawn=False)
    yield page
    assert page.problems == [] and page.evaluate("window.ran") is None
    leave(page)


def names(page):
    return page.eval_on_selector_all(".data tbody tr:not([hidden]) th", "all => all.map((each) => each.textContent)")


def heads(page):
    return page.eval_on_selector_all(".data thead th:not([hidden])", "all => all.map((each) => each.textContent)")


def test_a_group_of_columns_is_shown_at_a_time_and_all_on_demand(page):
    assert heads(page) == ["gpu", "memory bandwidth"]
    page.get_by_role("button", name="Power", exact=True).click()
    assert heads(page) == ["gpu", "thermal design power", "vendor"]
    assert page.get_by_role("button", name="Power", exact=True).get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="All", exact=True).click()
    assert len(heads(page)) == len(FRAME.columns)


def test_search_and_filter_say_how_many_match_and_reset_brings_all_back(page):
    page.get_by_label("Search").fill("h100")
    assert names(page) == ["H100 SXM 80GB"], "a note that names it does not match"
    assert page.locator(".catalogue-count").inner_text() == f"1 of {ROWS} rows"
    page.get_by_label("vendor").select_option("NVIDIA")
    assert names(page) == [] and page.locator(".catalogue-none").is_visible()
    page.get_by_role("button", name="Reset").click()
    assert len(names(page)) == ROWS and not page.locator(".catalogue-none").is_visible()
    assert page.locator(".catalogue-count").inner_text() == f"{ROWS} rows"


def test_reset_puts_a_comparison_away(page):
    for name in ("Card 0", "H100 SXM 80GB"):
        page.get_by_label(f"Compare {name}").check()
    assert page.locator(".catalogue-compare").is_visible()
    page.get_by_role("button", name="Reset").click()
    assert not page.locator(".catalogue-compare").is_visible() and "compare" not in page.url
    assert not page.get_by_label("Compare Card 0").is_checked()


def test_what_matches_goes_into_the_csv_with_all_columns(page):
    page.get_by_label("Search").fill("h100")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    with open(download.value.path(), encoding="utf-8-sig") as written:
        head, row = csv.reader(io.StringIO(written.read()))
    assert len(head) == len(FRAME.columns) and row[:3] == ["H100 SXM 80GB", "3.35e+12", "700"]


def test_the_csv_is_of_the_table_while_two_rows_are_compared(page):
    for name in ("Card 0", "H100 SXM 80GB"):
        page.get_by_label(f"Compare {name}").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    with open(download.value.path(), encoding="utf-8-sig") as written:
        head, *rows = csv.reader(io.StringIO(written.read()))
    assert len(head) == len(FRAME.columns) and len(rows) == ROWS


def test_back_to_the_plain_address_shows_the_first_columns(page):
    page.evaluate("location.hash = '#show=Power'")
    page.wait_for_function("document.querySelector('[aria-pressed=true]').textContent === 'Power'")
    page.go_back()
    page.wait_for_function("document.querySelector('[aria-pressed=true]').textContent === 'Memory'")
    assert heads(page) == ["gpu", "memory bandwidth"]


def test_a_head_sorts_with_blanks_last(page):
    page.locator(".data thead button").nth(1).click()
    assert names(page)[0] == "Card 0" and names(page)[-1] == "A, B & <C>"


def test_two_rows_stand_side_by_side_with_who_is_better_by_how_much(page):
    for name in ("Card 0", "H100 SXM 80GB"):
        page.get_by_label(f"Compare {name}").check()
    pane = page.locator(".catalogue-compare")
    said = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in pane.locator("tbody tr").all()}
    assert said["memory bandwidth"] == ["1 TB/s", "\u2713 3.35 TB/s", "3.35 \u00d7"]
    assert said["thermal design power"] == ["\u2713 300 W", "700 W", "2.33 \u00d7"]
    assert list(said) == ["Memory", "memory bandwidth", "Power", "thermal design power", "vendor", "Source", "year", "note"]
    assert pane.locator(".catalogue-verdict").inner_text() == (
        "Of 2 figures that differ, Card 0 is better at 1, H100 SXM 80GB at 1.")
    page.get_by_label("Compare Card 1", exact=True).check()
    assert pane.locator("thead th").all_inner_texts() == ["H100 SXM 80GB", "Card 1", "ratio"], "the first one goes"


def test_who_is_better_by_how_much_at_each_end(browser, tmp_path):
    """By a column of which more is better, one of which less is, and one that is neither; a ratio of four figures is not said."""
    figures = {"one": 1.0, "same": 1.0, "nearly": 999.0, "thousand": 1000.0, "blank": math.nan}
    frame = pd.DataFrame({"gpu": [*figures], **{name: [*figures.values()] for name in ("bandwidth", "tdp_watts", "memory_bytes")}})
    made = catalogue_table(frame, "Some", {"All of it": ["bandwidth", "tdp_watts", "memory_bytes"]}, {"bandwidth": "high", "tdp_watts": "low"}, compare=True)
    path = tmp_path / "some.html"
    path.write_text(HEAD.format(static=STATIC.as_uri()) + made._repr_html_() + "</article></main></html>", encoding="utf-8")
    page = visit(browser, path.as_uri(), drawn=False)
    for pair, marks, ratios in (("one,same", "", ["same"] * 3), ("one,nearly", "10", ["999 \u00d7"] * 3), ("thousand,one", "01", ["", "", "\u2013"]),
                                ("one,blank", "", ["\u2013"] * 3), ("one,nearly,blank", "10", ["999 \u00d7"] * 3)):
        page.evaluate("(pair) => { location.hash = `#compare=${pair}`; }", pair)
        page.wait_for_function("(names) => [...document.querySelectorAll('.catalogue-compare thead th')].slice(0, 2).map((th) => th.textContent).join() === names",
                               arg=",".join(pair.split(",")[:2]))
        rows = [row.locator("td").all_inner_texts() for row in page.locator(".catalogue-compare tbody tr:has(td)").all()]
        better = "".join(str(place) for *cells, _ in rows for place, cell in enumerate(cells) if cell[:1] == "\u2713")
        assert (better, [row[2] for row in rows]) == (marks, ratios), pair
        assert f"Of {len(marks)} figures that differ" in page.locator(".catalogue-verdict").inner_text()
    assert page.problems == []
    leave(page)


def test_the_address_holds_what_is_chosen(browser, page):
    page.get_by_label("Search").fill("c")
    page.get_by_label("vendor").select_option("NVIDIA")
    page.get_by_role("button", name="Power", exact=True).click()
    for name in ("Card 1", "A, B & <C>"):
        page.get_by_label(f"Compare {name}", exact=True).check()
    other = visit(browser, page.url, drawn=False)
    assert (names(other), heads(other)) == (names(page), heads(page))
    assert other.locator(".catalogue-compare thead th").all_inner_texts() == ["Card 1", "A, B & <C>", "ratio"]
    assert other.problems == []
    leave(other)


@pytest.mark.parametrize("address", ["#compare=%E0%A4%A,x&show=None&vendor=<b>", "#sources", "#compare=Card 0,Card 0", "#=&&=="])
def test_an_address_that_says_nothing_changes_nothing(browser, file, address):
    page = visit(browser, file + address, drawn=False)
    assert len(names(page)) == ROWS and heads(page) == ["gpu", "memory bandwidth"] and page.problems == []
    assert page.locator(".catalogue-compare thead").count() == 0
    leave(page)


def test_a_link_to_a_comparison_opens_it_in_view(page):
    page.evaluate("document.querySelector('article').insertAdjacentHTML('beforeend', '<a href=\"#compare=Card 1,Card 2\">both</a>')")
    page.get_by_role("link", name="both").click()
    assert page.locator(".catalogue-compare thead th").all_inner_texts() == ["Card 1", "Card 2", "ratio"]
    assert 0 <= page.locator(".catalogue-compare").bounding_box()["y"] < page.viewport_size["height"]


def test_the_keyboard_alone_finds_and_compares(page):
    page.get_by_label("Search").focus()
    page.keyboard.type("card 1")
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.ariaLabel || document.activeElement.textContent")
        if focused in ("Compare Card 1", "Compare Card 10", "Power"):
            page.keyboard.press("Space")
    assert page.locator(".catalogue-compare thead th").all_inner_texts() == ["Card 1", "Card 10", "ratio"]
    assert "thermal design power" in heads(page)


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_accessible_and_as_wide_as_the_page(browser, file, theme, width):
    page = visit(browser, file + "#compare=Card 0,Card 1", drawn=False, viewport={"width": width, "height": 844})
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]})
    assert found.violations_count == 0, found.generate_report()
    leave(page)


def test_the_name_and_the_heads_stay_on_a_phone(browser, file):
    page = visit(browser, f"{file}#show=All", drawn=False, viewport={"width": 390, "height": 844})
    frame = page.locator(".catalogue > .table-scroll")
    frame.evaluate("(frame) => frame.scrollTo(300, 900)")
    box, name = frame.bounding_box(), page.locator(".data tbody th").nth(40).bounding_box()
    assert name["x"] == pytest.approx(box["x"], abs=2)
    assert page.locator(".data thead th").first.bounding_box()["y"] == pytest.approx(box["y"], abs=2)
    leave(page)


@pytest.mark.long
def test_paper_has_the_table_and_no_buttons(page):
    page.emulate_media(media="print")
    assert page.locator(".data tbody tr").last.is_visible() and not page.locator(".catalogue-find").is_visible()
    assert not page.locator(".data tbody input").first.is_visible()
    assert page.locator(".catalogue > .table-scroll").evaluate("(frame) => frame.scrollHeight <= frame.clientHeight + 1")


def test_without_a_script_all_columns_are_there(browser, file):
    page = visit(browser, file, drawn=False, java_script_enabled=False)
    assert page.locator(".data thead th:visible").count() == len(FRAME.columns)
    leave(page)
