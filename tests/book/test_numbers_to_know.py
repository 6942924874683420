"""Numbers to know by heart: what is said, what is exact, and the self-test in a browser."""
import math
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from book.build.site import ROOT
from book.components.links import PAGES
from book.pages import drills as know
from gpucalc.rows import price_book
from tests.browser import visit

STATIC = ROOT / "book/static"


@pytest.mark.parametrize("value, said", [
    (295, 300), (141e9, 140e9), (0.25, 0.3), (989e12, 1e15), (2.04e12, 2e12), (1.949, 1.9), (1.95, 2), (1.96, 2), (16, 16), (18, 18), (131072, 130000),
    (9.5, 10), (0.0955, 0.1), (730, 700), (86400, 90000), (1e-6, 1e-6), (0, 0), (1, 1), (10, 10), (5.49, 5), (2.5, 3), (0.52, 0.5)])
def test_one_figure(value, said):
    assert know.one_figure(value) == pytest.approx(said, rel=1e-12)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
def test_what_has_no_figure_is_refused(value):
    with pytest.raises(ValueError, match="allowed: a number of at least 0"):
        know.one_figure(value)


def test_what_is_said_is_off_by_a_fifth_at_most():
    for value in [each * 10.0 ** power for each in (1, 1.04, 1.05, 1.45, 1.94, 1.96, 2.49, 2.51, 3.49, 5.5, 9.49, 9.51) for power in range(-9, 15)]:
        assert abs(know.one_figure(value) / value - 1) <= 0.2


@pytest.fixture(scope="module")
def sections():
    return know.sections(price_book.prices())


def test_known_numbers(sections):
    """Hand calculations and data sheets."""
    found = {each.of: each for held in sections.values() for each in held}
    expected = {
        "a weight in BF16": ("2 B", 2), "a parameter in training: AdamW in mixed precision": ("16 B", 16),
        "Llama-3-8B in BF16": ("16 GB", 2 * 8_030_261_248), "cache of a token, Llama-3-8B": ("130 kB", 2 * 32 * 8 * 128 * 2),
        "cache of a token, Llama-3-70B": ("300 kB", 2 * 80 * 8 * 128 * 2), "cache of a token, DeepSeek-V3": ("70 kB", 61 * (512 + 64) * 2),
        "FLOP for a parameter and token, forward": ("2", 2), "FLOP for a parameter and token, trained on": ("6", 6),
        "A100 SXM 80GB: bandwidth": ("2 TB/s", 2.039e12), "H100 SXM 80GB: dense BF16 peak": ("1 PFLOP/s", 989.4e12),
        "H100 SXM 80GB: ridge point": ("300 FLOP/B", 989.4e12 / 3.35e12), "NVLink 4, one way (H100)": ("500 GB/s", 450e9),
        "InfiniBand NDR, one way (a port between nodes)": ("50 GB/s", 50e9), "hours in a month": ("700", 730)}
    for of, (said, value) in expected.items():
        assert (know.said(found[of]), found[of].value) == (said, pytest.approx(value, rel=2e-3)), of
    stop = found["time between stops on 16,384 GPUs"]
    assert stop.value == pytest.approx(54 * 24 / 419, rel=0.02), "419 stops in 54 days"


def test_every_number_has_a_lesson_and_a_use_and_prices_have_dates(sections):
    pages = {path.stem for path in (ROOT / "notebooks").glob("*.md")}
    every = [each for held in sections.values() for each in held]
    assert len(every) >= 50 and len({each.of for each in every}) == len(every)
    for each in every:
        assert each.page in pages and each.page in PAGES and each.use
        assert bool(each.date) == (each.unit in ("hourly", "usd"))
        assert re.search(r"\d", know.said(each)) and not re.search(r"\.\d*0(\D|$)", know.said(each)), know.said(each)


HEAD = ('<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Numbers</title>'
        '<link rel="stylesheet" href="{static}/site.css"><link rel="stylesheet" href="{static}/interview.css">'
        '<style>a {{ color: var(--pst-color-link); }} body {{ color: var(--pst-color-text-base); background: var(--pst-color-background); }}</style>'
        '<script src="{static}/site.js"></script><script defer src="{static}/parts.js"></script>'
        '<script defer src="{static}/numbers.js"></script>'
        '<main class="bd-content"><article class="bd-article"><h1>Numbers</h1><p class="know-test"></p>')


@pytest.fixture(scope="module")
def file(sections, tmp_path_factory):
    path = tmp_path_factory.mktemp("numbers") / "numbers.html"
    body = "".join(know.known_table(title, held)._repr_html_() for title, held in sections.items())
    path.write_text(HEAD.format(static=STATIC.as_uri()) + body + "</article></main></html>", encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser, file):
    page = visit(browser, file, drawn=False)
    yield page
    assert page.problems == []
    page.context.close()


def figures(page):
    return page.eval_on_selector_all(".know-said, .know-full", "all => all.map((each) => each.textContent)")


def test_the_keyboard_covers_the_figures_and_shows_one_after_the_other(page, sections):
    before, (first, second, *_) = figures(page), sections["Memory"]
    page.get_by_role("button", name="Cover the figures").focus()
    page.keyboard.press("Enter")
    assert set(figures(page)) == {"Show", ""}
    assert page.evaluate("document.activeElement.ariaLabel") == f"Show {first.of}"
    page.keyboard.press("Enter")
    assert figures(page)[:2] == [know.said(first), know.in_full(first)] and figures(page)[2] == "Show"
    assert page.evaluate("document.activeElement.ariaLabel") == f"Show {second.of}"
    assert page.locator(".know-count").inner_text() == f"{know.said(first)}. 1 of {len(before) // 2} shown"
    page.get_by_role("button", name="Cover the figures").press("Space")
    assert figures(page) == before and page.locator(".know-show").count() == 0


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_accessible_and_as_wide_as_the_page(browser, file, theme, width):
    page = visit(browser, file, drawn=False, viewport={"width": width, "height": 844})
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    page.get_by_role("button", name="Cover the figures").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]})
    assert found.violations_count == 0, found.generate_report()
    page.context.close()


def test_paper_has_all_figures_on_two_sheets(page, tmp_path):
    path = tmp_path / "numbers.pdf"
    page.pdf(path=path, format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", path.read_bytes())) <= 2
