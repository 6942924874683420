"""What the site makes of a lesson: the order of its parts, folds, links, terms with their meaning, and what a table gives as CSV."""
import json
import re
import shutil

import pytest
import yaml
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document

from book.build import glossary, lesson_page
from book.build.extension import STATIC
from book.build.finish import SEARCH_WORDS, secured
from book.components.show import guess, table
from tests.browser import ended, leave, visit
from tests.contents import PAGES, PARTS, TOPICS

import pandas

TITLES = ("The idea", "In depth")


def cell(*classes, html=""):
    return nodes.container("", nodes.raw("", html, format="html"), classes=["cell", *classes])


def lesson():
    """A lesson as Sphinx reads it: headline, guess, two sections, one of them in depth."""
    idea, depth, deeper = (nodes.section("", nodes.title("", title), ids=[title.lower().replace(" ", "-")])
                           for title in (*TITLES, "Blocks"))
    depth.append(deeper)
    idea.append(nodes.paragraph("", "", nodes.Text("The KV cache, and a KV cache again.")))
    idea.append(cell(html='<div class="formula" id="formula-kv_bytes">one</div>'))
    meta = nodes.paragraph("", "", nodes.emphasis("", "12 minutes. You need nothing."))
    page = nodes.section("", nodes.title("", "How much?"), meta, cell("tag_parameters"), cell("tag_headline", html="<p>80 GB</p>"),
                         cell(html=guess("How much?", 1, "GB", "1").source), idea, depth, ids=["how-much"])
    document = new_document("lesson", get_default_settings(Parser))
    document.append(page)
    return page


@pytest.mark.parametrize("rerun", [False, True])
def test_the_answer_stands_folded_below_the_guess_unless_the_reader_s_numbers_made_it(rerun):
    page = lesson()
    lesson_page.arrange(page, "kv_cache", rerun)
    texts = lesson_page.raws(page)
    order = [next(number for number, text in enumerate(texts) if sign in text) for sign in ("guess", "80 GB", "formula")]
    assert order == sorted(order)
    assert f'<details{" open" if rerun else ""}>' in texts[order[0]] and texts[order[0]].endswith('<p>1</p><div class="whole">')
    assert texts[order[1] + 1] == "</div></details></div>"


@pytest.mark.parametrize("named", [True, False])
def test_a_frame_that_a_cell_ends_in_is_a_table_of_the_book_without_styles(named):
    frame = pandas.DataFrame({"users": [12, 3.5], "link": ["a<b", None]}, index=["H100 & co", "A100"])
    shown = lesson_page.frame_table((frame.rename_axis("gpu") if named else frame)._repr_html_())
    assert "style" not in shown and "border" not in shown
    assert re.findall(r"<th\b[^>]*>(.*?)</th>", shown) == ["gpu" if named else "row", "users", "link"]
    assert re.findall(r"<td[^>]*>(.*?)</td>", shown) == ["H100 &amp; co", "12.0", "a&lt;b", "A100", "3.5", "–"]
    assert shown.count('class="number" data-value=') == 2 and shown.count("<tr>") == 3


def test_a_page_without_a_guess_keeps_its_answer_open():
    page = lesson()
    page.remove(lesson_page.cell_of(page, lambda cell: "guess" in cell.astext()))
    lesson_page.arrange(page, "kv_cache", False)
    assert "whole" not in " ".join(lesson_page.raws(page))


def test_a_lesson_says_its_place_time_and_needs_in_one_line():
    page = lesson()
    lesson_page.arrange(page, "kv_cache", False)
    assert page[1]["classes"] == ["lesson-meta"]
    assert page[1].astext() == f"{lesson_page.place('kv_cache')} 12 minutes. You need nothing."
    assert re.fullmatch(r"Lesson \d+ of \d+ · Core", lesson_page.place("kv_cache"))
    assert [name for name in TOPICS if lesson_page.place(name).endswith("Core")] and set(lesson_page.CORE) <= set(TOPICS)


def test_formulas_have_the_number_of_the_lesson_and_their_own():
    page = lesson()
    lesson_page.arrange(page, "kv_cache", False)
    number = f"{TOPICS.index('kv_cache') + 1}.1"
    assert f'<a class="formula-number" href="#formula-kv_bytes" aria-label="formula {number}">{number}</a>' in " ".join(lesson_page.raws(page))


def test_parameters_and_links_stand_above_what_is_in_depth():
    page = lesson()
    lesson_page.add_foot(page, lesson_page.repository_links("kv_cache", "https://github.com/a/b"))
    titles = [section[0].astext() for section in page if isinstance(section, nodes.section)]
    assert titles == ["The idea", "Run it with your numbers", "In depth"]
    foot = page[-2]
    assert "tag_parameters" in foot[1]["classes"] and sum("tag_parameters" in each["classes"] for each in page.findall(nodes.container)) == 1
    assert [link["refuri"] for link in foot.findall(nodes.reference)] == [
        "https://colab.research.google.com/github/a/b/blob/HEAD/notebooks/kv_cache.ipynb",
        "https://mybinder.org/v2/gh/a/b/HEAD?urlpath=lab%2Ftree%2Fnotebooks%2Fkv_cache.ipynb"]
    assert lesson_page.repository_links("kv_cache", "") == []


def test_each_section_in_depth_folds_by_its_name():
    page = lesson()
    lesson_page.arrange(page, "kv_cache", False)
    folded = [section[0].astext() for section in page.findall(nodes.section) if "depth" in section["classes"]]
    assert folded == ["Blocks"]


def test_a_rerun_is_known_by_its_injected_parameters(tmp_path):
    path = tmp_path / "kv_cache.ipynb"
    for tags, expected in ((["injected-parameters", "remove-cell"], True), (["parameters"], False)):
        path.write_text(json.dumps({"cells": [{"metadata": {"tags": tags}}, {"metadata": {}}]}))
        assert lesson_page.is_rerun(path) == expected


def test_a_word_is_explained_once_in_a_section_and_nowhere_in_headings_and_links():
    page = lesson()
    page[-2].append(nodes.paragraph("", "", nodes.reference("", "GQA", refuri="x"), nodes.literal("", "MQA"), nodes.Text(" GQAs <b>")))
    glossary.explain_terms(page)
    links = [text for text in lesson_page.raws(page) if 'class="term"' in text]
    assert [re.sub("<[^>]*>", "", link) for link in links] == ["KV cache", "GQAs"]
    assert 'href="glossary.html#term-KV-cache" aria-description="Keys and values of all earlier tokens' in links[0]
    assert page[-2].astext().endswith("<b>"), "text stays text"


@pytest.mark.parametrize("text, word", [
    ("Decode is slow", "decode"), ("two all-reduces", "all-reduce"), ("an SP group", "SP"), ("the sp", None), ("precompute-bound", None),
    ("memory-bound", "memory-bound"), ("FP8", "FP8"), ("FP81", None)])
def test_a_word_is_known_in_its_forms(text, word):
    found = glossary.pattern().search(text)
    assert (glossary.entry(found[1]) if found else None) == word


def test_every_word_has_a_meaning():
    assert len(glossary.glossary()) > 100
    assert [word for word, meaning in glossary.glossary().items() if len(meaning) < 10 or re.search(r"[`\]\[]", meaning)] == []


def test_the_search_reads_no_code():
    page = nodes.section("", nodes.title("", "T"), nodes.paragraph("", "said"),
                         nodes.container("", nodes.literal_block("", "hidden"), classes=["cell_input"]), ids=["t"])
    assert lesson_page.searched(page).astext().split() == ["T", "said"] and "hidden" in page.astext()


def test_words_to_search_by_belong_to_lessons_and_to_the_catalogue():
    rules = yaml.safe_load(SEARCH_WORDS.read_text(encoding="utf-8"))
    found = rules["words"]
    assert set(found) <= {*PAGES} and set(rules["parts"]) == {*PARTS}
    words = [word.lower() for words in found.values() for word in words]
    assert len(words) == len(set(words)), "a word finds one page"


TABLE = table(pandas.DataFrame({"name": ["=1+1", 'a "b", c', None, "-x", "+x", "@x", "x-"], "kv_bytes": [1.5e9, -2, float("nan"), 1, 1, 1, 1]}), "Caches").source
LONG = table(pandas.DataFrame({"n": range(30)}), "Many").source
PAGE = f"""<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8" /><title>Lesson</title>
<link rel="stylesheet" href="site.css"><script src="site.js"></script></head><body><main class="bd-article"><article class="bd-article">
<h1>Lesson</h1>{guess("How much?", 2, "GB", "Two.").source.removesuffix(lesson_page.FOLD_ENDS)}<div class="whole"><p>80 GB</p></div>
{lesson_page.FOLD_ENDS}
{TABLE}{LONG}<p><a id="go" href="#inside">go</a></p>
<section id="in-depth">{lesson_page.PRINT_ALL}
<section id="blocks" class="depth"><details class="depth"><summary><h3>Blocks</h3></summary><p id="inside">Inside.</p></details></section></section>
</article></main></body></html>"""


GUESSES = [*((guess, "Give a number above zero.") for guess in ("", "0", "-2")), *((guess, "Right, within 10 %.") for guess in ("1.8", "2", "2.19", "2.2")),
           ("1.79", "1.1 times too low."), ("2.21", "1.1 times too high."), ("4", "2 times too high."), ("1", "2 times too low."), ("2e3", "1000 times too high.")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lesson")
    for name in ("site.css", "site.js"):
        shutil.copy(STATIC / name, folder)
    (folder / "lesson.html").write_text(secured(PAGE), encoding="utf-8")
    return folder


@pytest.fixture
def page(browser, folder):
    page = visit(browser, (folder / "lesson.html").as_uri())
    yield page
    ended([page])


def test_a_guess_is_told_how_far_off_it_is(page):
    """A tenth off is right; what is no guess leaves the answer folded."""
    told, opened = page.locator(".guess output"), "each => each.open"
    for wrong in (True, False):
        for given, said in GUESSES[:3] if wrong else GUESSES[3:]:
            page.locator(".guess input").fill(given)
            page.locator(".guess input").press("Enter")
            assert told.inner_text() == said, given
        assert page.locator(".guess details").first.evaluate(opened) != wrong


def test_a_guess_opens_the_answer(page):
    assert not page.locator(".whole p").is_visible()
    page.locator(".guess input").fill("2")
    page.locator(".guess button").click()
    assert page.locator(".whole p").is_visible()


@pytest.mark.parametrize("hash", ["#inside", "#blocks"])
def test_a_link_opens_what_is_folded(page, hash):
    assert not page.locator("#inside").is_visible()
    page.evaluate("hash => { location.hash = hash; }", hash)
    page.locator("#inside").wait_for(state="visible", timeout=2000)


def test_a_link_opens_it_again(page):
    for _ in range(2):
        page.locator("#go").click()
        page.locator("#inside").wait_for(state="visible", timeout=2000)
        page.locator("details.depth > summary").click()


def test_an_address_opens_what_it_names(browser, folder):
    page = visit(browser, (folder / "lesson.html").as_uri() + "#blocks")
    assert page.locator("#inside").is_visible()
    ended([page])


def test_a_table_is_saved_with_its_figures_and_no_formula_of_a_spreadsheet(page):
    with page.expect_download() as saved:
        page.locator("button.csv").first.click()
    assert saved.value.suggested_filename == "lesson-1.csv"
    lines = saved.value.path().read_bytes().decode("utf-8-sig").splitlines()
    assert lines == ["name,cache bytes of a batch", "'=1+1,1500000000", '"a ""b"", c",-2', ",", "'-x,1", "'+x,1", "'@x,1", "x-,1"]


def test_more_rows_unfold_without_a_script(browser, folder):
    page = visit(browser, (folder / "lesson.html").as_uri(), java_script_enabled=False, drawn=False)
    rows = page.locator("figure.data-table").last.locator("tbody tr:visible")
    assert rows.count() == 25
    page.locator(".more-rows summary").click()
    assert rows.count() == 30
    leave(page)


def test_paper_shows_the_lesson_and_all_of_it_where_that_is_asked_for(page):
    for every in (False, True):
        page.emulate_media(media="screen")
        page.locator(".print-all input").set_checked(every)
        page.emulate_media(media="print")
        assert page.locator("figure.data-table").last.locator("tbody tr:visible").count() == (30 if every else 25)
        assert page.locator("#blocks").is_visible() == every and not page.locator(".print-all").is_visible()
        assert page.locator(".whole p").evaluate("each => each.checkVisibility({ contentVisibilityAuto: true })")
