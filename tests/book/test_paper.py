"""The book on paper and as an EPUB: what a page shows lies inside the margins, and the file has its contents, pictures and links."""
import re
import xml.etree.ElementTree as ET
import zipfile

import pytest

from book.build import paper
from book.build.inputs import ROOT
from tests.browser import leave, visit

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>x</title></head><body><nav>away</nav><article class="bd-article">
<h1>{title}<a class="headerlink" href="#top">#</a></h1><script>1 < 2</script><button>press</button><p id="here">A &amp; B<br>{text}</p>
<details><summary>more</summary>folded</details><table><thead><tr><th><button>head</button></th></tr></thead></table>
<details class="derivation"><summary>steps</summary>2 x 3</details><svg viewBox="0 0 9 9" style="color: red"><path d="M0 0" fill="currentColor"/></svg>
<img src="_static/one.png" alt="one"><a href="#here">here</a><a href="{other}.html#here">there</a><a href="{other}.html#gone">gone</a>
<a href="nowhere.html">nowhere</a><a href="https://example.org/">away</a></article></body></html>"""
# What reaches beyond the text of a sheet.
BEYOND = """() => {
  const wide = document.documentElement.clientWidth + 1;
  return [...document.querySelectorAll("article :is(figure, table, svg, img, pre, p, math)")]
    .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > wide)
    .map((each) => `${each.tagName} ${Math.round(each.getBoundingClientRect().right)}`);
}"""


@pytest.mark.long
def test_an_epub_has_its_contents_pictures_and_no_broken_link(browser, tmp_path, capsys):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static/one.png").write_bytes(b"\x89PNG")
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.html").write_text(PAGE.format(title=name.title(), text="x", other=other))
    paper.write_epub(browser, tmp_path, ["one", "two"], tmp_path / "book.epub")
    checked(tmp_path / "book.epub", ["One", "Two"])
    with zipfile.ZipFile(tmp_path / "book.epub") as book:
        text = book.read("book/one.xhtml").decode()
    assert not re.search("<script|<button|headerlink|nowhere.html|#gone|away</nav", text) and "<th>head</th>" in text
    assert text.count("<details") == 2 and text.count(" open=") == 1
    assert 'fill="rgb(255, 0, 0)"' in text and 'href="two.xhtml#here"' in text and 'href="https://example.org/"' in text


def checked(path, titles=()):
    """An EPUB that a reader opens: its type first, all files listed, well formed, each link to a place that is there."""
    with zipfile.ZipFile(path) as book:
        first = book.infolist()[0]
        assert (first.filename, first.compress_type, book.read(first)) == ("mimetype", zipfile.ZIP_STORED, b"application/epub+zip")
        held = {name.removeprefix("book/"): book.read(name) for name in book.namelist() if name.startswith("book/")}
    package = ET.fromstring(held["content.opf"])
    listed = {each.get("href"): each.get("id") for each in package.iter("{http://www.idpf.org/2007/opf}item")}
    assert listed.keys() == held.keys() - {"content.opf"}
    assert {each.get("idref") for each in package.iter("{http://www.idpf.org/2007/opf}itemref")} == {
        place for name, place in listed.items() if name.endswith(".xhtml") and name != "nav.xhtml"}
    pages = {name: ET.fromstring(text) for name, text in held.items() if name.endswith(".xhtml")}
    ids = {name: {each.get("id") for each in page.iter()} for name, page in pages.items()}
    for name, page in pages.items():
        for each in page.iter():
            link = each.get("href", "") if each.tag.endswith("}a") else each.get("src", "") if each.tag.endswith("}img") else ""
            to, _, place = link.partition("#")
            if link and not re.match("https?:|mailto:|data:", link):
                assert (to or name) in held and (not place or place in ids[to or name]), f"{name}: {link}"
    assert [each.text for each in pages["nav.xhtml"].iter("{http://www.w3.org/1999/xhtml}a")][:len(titles)] == list(titles)


@pytest.mark.long
def test_what_a_printed_page_shows_is_inside_the_margins(browser, site):
    beyond = {}
    for name in paper.pages_in_order(ROOT / "book/_toc.yml"):
        page = visit(browser, (site / f"{name}.html").as_uri(), color_scheme="light")
        paper.on_sheet(page)
        beyond[name] = page.evaluate(BEYOND)
        leave(page)
    assert not {name: found for name, found in beyond.items() if found}


@pytest.mark.long
def test_the_whole_site_is_an_epub(browser, site, tmp_path):
    names = paper.pages_in_order(ROOT / "book/_toc.yml")
    paper.write_epub(browser, site, names, tmp_path / "book.epub")
    checked(tmp_path / "book.epub")
    assert (tmp_path / "book.epub").stat().st_size < 30_000_000
