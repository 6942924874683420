"""Numbers to know by heart: what is said, what is exact, and the self-test in a browser."""
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from book.build.site import ROOT
from book.components.links import PAGES
from book.pages import drills as know
from gpucalc.rows import catalogue, price_book
from tests.browser import leave, visit

STATIC = ROOT / "book/static"


@pytest.fixture(scope="module")
def sections():
    return know.sections(price_book.prices())


def test_known_numbers(sections):
    """Hand calculations and data sheets."""
    found = {each.of: each for held in sections.values() for each in held}
    expected = {
        "a weight in BF16": ("2 bytes", 2), "a parameter in training: AdamW in mixed precision": ("16 bytes", 16),
        "Llama-3-8B in BF16": ("16 GB", 2 * 8_030_261_248), "cache of a token, Llama-3-8B": ("130 kB", 2 * 32 * 8 * 128 * 2),
        "cache of a token, Llama-3-70B": ("a third of a megabyte", 2 * 80 * 8 * 128 * 2), "cache of a token, DeepSeek-V3": ("70 kB", 61 * (512 + 64) * 2),
        "FLOP for a parameter and token, forward": ("2", 2), "FLOP for a parameter and token, trained on": ("6", 6),
        "A100 SXM 80GB: bandwidth": ("2 TB/s", 2.039e12), "H100 SXM 80GB: dense BF16 peak": ("about a petaflop a second", 989.4e12),
        "H100 SXM 80GB: ridge point": ("300", 989.4e12 / 3.35e12), "NVLink 4, one way (H100)": ("450 GB/s", 450e9),
        "InfiniBand NDR, one way (a port between nodes)": ("50 GB/s", 50e9), "hours in a month": ("730", 730),
        "of them used by a token": ("37 billion", 37.55e9), "GB200 NVL72, 72 GPUs: dense FP4 peak": ("720 PFLOP/s", 72 * 10e15),
        "InfiniBand XDR, one way (a port between nodes)": ("100 GB/s", 4 * 200e9 / 8), "B200 SXM 180GB: dense FP4 peak": ("9 PFLOP/s", 9e15)}
    for of, (said, value) in expected.items():
        assert (know.said(found[of]), found[of].value) == (said, pytest.approx(value, rel=2e-3)), of
    stop = found["time between stops on 16,384 GPUs"]
    assert stop.value == pytest.approx(54 * 24 / 419, rel=0.02), "419 stops in 54 days"


SAID = know.spoken()


def test_what_is_said_is_within_a_tenth_and_its_words_are_its_value(sections):
    every = [each for held in sections.values() for each in held]
    assert {each.of for each in every if not each.date} == set(SAID)
    for each in every:
        words, value = SAID[each.of] if not each.date else (know.said(each), float(f"{each.value:.1e}"))
        assert abs(value / each.value - 1) <= 0.1, each.of
        scale = {"%": 0.01, "ms": 1e-3, "µs": 1e-6, "k": 1e3, "G": 1e9, "T": 1e12, "P": 1e15, "billion": 1e9}
        found = re.match(r"([\d.,]+) ?(%|ms|µs|billion|[kGTP](?=B|F|W))?", words)
        if found:
            assert float(found[1].replace(",", "")) * scale.get(found[2], 1) == pytest.approx(value), each.of
        else:
            assert words in ("half a byte", "a third of a megabyte", "about a petaflop a second"), each.of


def test_what_is_said_multiplies_to_what_is_said():
    """Bandwidth times the time of one read is the memory, ridge times bandwidth the peak, and so on, each within a tenth."""
    said = {name: value for name, (_, value) in SAID.items()}
    for name in know.CARDS:
        read, peak = said[f"{name}: bandwidth"], said[f"{name}: dense BF16 peak"]
        assert said[f"{name}: ridge point"] * read == pytest.approx(peak, rel=0.1), name
        assert said[f"{name}: memory read once"] * read == pytest.approx(catalogue.gpu(name).marketed_bytes, rel=0.1), name
        if f"{name}: dense FP8 peak" in said:
            assert said[f"{name}: dense FP8 peak"] == pytest.approx(2 * peak, rel=0.1), name
    for left, right in [
        (said["Llama-3-70B in BF16"], said["a weight in BF16"] * 70e9), (said["Llama-3-70B in FP8"], said["a weight in FP8"] * 70e9),
        (said["DeepSeek-V3 in FP8"], said["a weight in FP8"] * said["parameters of DeepSeek-V3"]),
        (said["cache of 8,192 tokens, Llama-3-70B"], said["cache of a token, Llama-3-70B"] * 8192),
        (said["GB200 NVL72, 72 GPUs: dense FP4 peak"], 2 * said["GB200 NVL72, 72 GPUs: dense FP8 peak"]),
        (said["GB200 NVL72, 72 GPUs: dense FP8 peak"], 72 * 2 * 2.5e15),
        (said["years until one GPU stops a job"] * 8760 / know.JOB, said["time between stops on 16,384 GPUs"]),
            (said["NVLink 5, one way (B200, GB200)"], 2 * said["NVLink 4, one way (H100)"]), (24 * 3600, said["seconds in a day"])]:
        assert left == pytest.approx(right, rel=0.1)


def test_every_number_has_a_lesson_and_a_use_and_prices_have_dates(sections):
    pages = {path.stem for path in (ROOT / "notebooks").glob("*.md")}
    every = [each for held in sections.values() for each in held]
    assert len(every) >= 50 and len({each.of for each in every}) == len(every)
    for each in every:
        assert each.page in pages and each.page in PAGES and each.use
        assert bool(each.date) == (each.unit in ("hourly", "usd"))
        assert know.said(each) and not re.search(r"\.\d*0(\D|$)", know.said(each)), know.said(each)


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
    leave(page)


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
    leave(page)


def test_paper_has_all_figures_on_two_sheets(page, tmp_path):
    path = tmp_path / "numbers.pdf"
    page.pdf(path=path, format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", path.read_bytes())) <= 2
