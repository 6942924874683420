"""Jupyter Book with less work makes the pages that it makes with all of it."""

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.util.nodes import NodeMatcher

from book.build import lean
from tests.book.test_build import built, cache, project, write_notebook  # noqa: F401

PARTS = """format: jb-book
root: index
parts:
  - caption: Sizes
    chapters: [{file: size, title: The "size"}, {file: other}]
  - caption: Money
    chapters: [{file: cost}]
"""
TYPED = """# It's "another" page

A vendor's "figures" -- and more --- and so on ... and `a "name"`.

## A section's title

No quote at all, *one "here"*, and an escaped \\"one\\".
"""


def contents(site):
    return {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file() and path.name[0] != "."}


@pytest.mark.long
def test_the_site_is_the_same_without(project, capsys):  # noqa: F811
    (project / "book/_toc.yml").write_text(PARTS)
    (project / "book/other.md").write_text(TYPED)
    write_notebook(project, "size", "layers = 2", "print(layers * 21)\n'it is'")
    built(project, capsys)
    made = contents(project / "_build/html")
    plain = "without_kernels = lean = keep_templates = lambda *_: None\n"
    (project / "book/build").mkdir()
    (project / "book/build/lean.py").write_text(plain)
    assert built(project, capsys)[0] == []
    whole = contents(project / "_build/html")
    assert made.keys() == whole.keys() and not [name for name in made if made[name] != whole[name]]
    assert "vendor’s “figures” – and more — and so on … and" in (project / "_build/html/other.html").read_text()


def test_a_sidebar_with_pages_below_pages_is_the_theme_s():
    def add(app, pagename, templatename, context, doctree):
        context["generate_toctree_html"] = lambda kind: f'<li class="toctree-l1"></li><li class="toctree-l2">{pagename}</li>'

    for name in ("one", "two"):
        context = {}
        lean.with_one_sidebar(add)(None, name, "page.html", context, None)
        assert name in context["generate_toctree_html"]("sidebar")


def test_a_page_has_its_own_place_in_the_sidebar_alone():
    item = '<li class="toctree-l1{}"><a class="{}reference internal" href="{}">x</a></li>'
    plain = '<p>Part</p><ul class="nav">' + "".join(item.format("", "", f"{name}.html") for name in "ab") + '</ul><ul class="nav"></ul>'
    here = ('<p>Part</p><ul class="current nav">' + item.format("", "", "a.html") + item.format(" current active", "current ", "#")
            + '</ul><ul class="nav"></ul>')
    assert lean.marked(plain, "b.html", "#", "current ") == here and lean.marked(here, "#", "b.html", "") == plain
    assert lean.marked(plain, "c.html", "#", "current ") == plain


def test_a_page_is_looked_through_in_its_order():
    page = new_document("page")
    page += [nodes.section("", nodes.title("", "", nodes.Text("one")), ids=["a"]), nodes.paragraph("", "two"), nodes.comment()]
    whole, found = nodes.Node.findall, lean.finding(nodes.Node.findall)
    given = [(), (nodes.Text,), (nodes.Element,), (NodeMatcher(nodes.section, ids=["a"]),), (NodeMatcher(),), (lambda each: each.children,)]
    for condition in given:
        assert list(found(page, *condition)) == list(whole(page, *condition)) != []
    assert list(found(page[0], siblings=True)) == list(whole(page[0], siblings=True))
    assert list(found(page, include_self=False)) == list(whole(page, include_self=False))
