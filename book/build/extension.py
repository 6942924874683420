"""What the site adds to Jupyter Book: charts, MathML, a page for addresses that do not exist."""

import os
import re
import sys
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from myst_nb.core import render
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number


from . import lesson_page
from .assets import DRILLS, ENGINE, FRONT, LESSON
from .charts import MIME, chart_html
from .inputs import digest, ROOT
from .lesson_page import topics

STATIC = Path(__file__).parents[1] / "static"
LOGGER = logging.getLogger(__name__)
PROMPTS = {"input": "The code", "output": "How this is computed", "all": "How this is computed"}
NOT_FOUND = ('<h1>There is no such page</h1><p>It may have moved: start at the <a href="index.html">front page</a>, '
             'or <a href="search.html">search the book</a>.</p>')


class ChartRenderer:
    """Writes a Vega-Lite output as a div that holds its JSON; finish.py compiles it, charts.js draws it."""

    mime_priority_overrides = [("html", MIME, 1)]

    @staticmethod
    def handle_mime(renderer, data, inline):
        if data.mime_type != MIME:
            return None
        return [nodes.raw(text=chart_html(data.content, data.cell_index + 1), format="html", classes=["chart-output"])]


def add_renderer():
    """Adds the renderer to MyST-NB's own, which it finds only in installed packages."""
    renderers = render.load_mime_renders()
    if ChartRenderer not in renderers:
        renderers.append(ChartRenderer)


@cache
def mathml(latex: str, display: str) -> tuple[str, list[str]]:
    """MathML for a formula in LaTeX, and the commands in it that the converter does not know."""
    result = re.sub(r"\\([_%#&$])", r"\1", convert(latex.strip(), display=display))
    return slim(result), re.findall(r"\\\S+", result)


def slim(math):
    """The same MathML in half the bytes: letters as themselves, an upright word as one, no row of one row."""
    math = math.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "").replace(' display="inline"', "")
    math = re.sub(r"&#x0*(\w+);", lambda code: escape(chr(int(code[1], 16))), math)
    upright = r'(?:<mi mathvariant="normal">\w</mi>){2,}'
    math = re.sub(upright, lambda letters: f"<mi>{re.sub('<[^>]*>', '', letters[0])}</mi>", math)
    while (slimmer := re.sub(r"<mrow><mrow>((?:(?!</?mrow).)*)</mrow></mrow>", r"<mrow>\1</mrow>", math)) != math:
        math = slimmer
    math = re.sub(r"<mrow>(<(m[in]|mtext)\b[^>]*>[^<]*</\2>)</mrow>", r"\1", math)
    # The converter puts one row around all.
    return re.sub(r"^(<math[^>]*>)<mrow>(.*)</mrow></math>$", r"\1\2</math>", math, flags=re.DOTALL)


SYMBOL = r"\\?[A-Za-z]+(_\{[^\s+*/=<>-]*\}|_\w)?"


def checked_mathml(latex, display):
    result, unknown = mathml(latex, display)
    if unknown:
        LOGGER.warning("LaTeX not understood: %s in %r", ", ".join(unknown), latex)
    return result


def visit_inline_math(translator, node):
    """A formula may be wider than a phone and scrolls in its span; a lone symbol needs none."""
    latex = node.astext()
    math = checked_mathml(latex, "inline")
    translator.body.append(math if re.fullmatch(SYMBOL, latex) else f'<span class="math">{math}</span>')
    raise nodes.SkipNode


def visit_block_math(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="math", tabindex="0"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})</span>')
    translator.body.append(checked_mathml(node.astext(), "block") + "</div>\n")
    raise nodes.SkipNode


def word_prompts(app, doctree):
    for cell in doctree.findall(nodes.container):
        if cell.get("hide_mode") in PROMPTS:
            cell["prompt_show"] = PROMPTS[cell["hide_mode"]]
            cell["prompt_hide"] = "Hide"


def add_chart_scripts(app, pagename, templatename, context, doctree):
    if 'class="chart"' in context.get("body", ""):
        app.add_js_file("vega.js", loading_method="defer")
        app.add_js_file("figures.js", loading_method="defer")
        app.add_js_file("charts.js", loading_method="defer")


def add_catalogue(app, pagename, templatename, context, doctree):
    if 'class="data-table catalogue"' in context.get("body", ""):
        for script in ("parts.js", "catalogue.js"):
            app.add_js_file(script, loading_method="defer")


def add_interview(app, pagename, templatename, context, doctree):
    if 'class="interview-find"' in context.get("body", ""):
        app.add_css_file("interview.css")
        for script in ("parts.js", "interview.js", "mock.js"):
            app.add_js_file(script, loading_method="defer")
    if 'class="know-test"' in context.get("body", ""):
        app.add_css_file("interview.css")
        for script in ("parts.js", "numbers.js"):
            app.add_js_file(script, loading_method="defer")


def add_front(app, pagename, templatename, context, doctree):
    if 'id="case"' in context.get("body", ""):
        app.add_css_file("front.css")
        for script in [*ENGINE, *FRONT]:
            app.add_js_file(script, loading_method="defer")


def add_search(app, pagename, templatename, context, doctree):
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")


def add_drills(app, pagename, templatename, context, doctree):
    if 'id="drill-app"' in context.get("body", ""):
        app.add_css_file("drills.css")
        for script in DRILLS:
            app.add_js_file(script, loading_method="defer")


def add_lesson(app, pagename, templatename, context, doctree):
    if pagename in topics():
        app.add_css_file("lesson.css")
        app.add_js_file("lesson.js", loading_method="defer")
        context["body"] += lesson_scripts()


def lesson_scripts(folder="_static/"):
    """The scripts of a lesson with a case, where a browser loads none by itself."""
    scripts = "".join(f'<script src="{folder}{name}"></script>' for name in LESSON)
    return f'<template id="lesson-scripts">{scripts}</template>'


def not_found(app):
    yield "404", {"title": "There is no such page", "body": NOT_FOUND}, "page.html"


def outdated(app, env, added, changed, removed):
    """Pages whose text is not the one read last, whatever their dates say, and those that show what others hold.

    Sphinx forgets the index entries of a page that it does not read, so the glossary is read each time.
    """
    texts = {name: Path(env.doc2path(name)).read_bytes() for name in env.found_docs}
    known, env.texts = getattr(env, "texts", {}), {name: digest(text) for name, text in texts.items()}
    always = (b"{glue", b"{glossary}")
    return [name for name, text in texts.items() if known.get(name) != env.texts[name] or any(word in text for word in always)]


def setup(app):
    if os.environ.get("GPU_BOOK_PIPELINE") != "1":
        sys.exit("make book makes this book: it runs the notebooks and then Jupyter Book. Nothing was written.")
    add_renderer()
    app.add_html_math_renderer("mathml", (visit_inline_math, None), (visit_block_math, None))
    app.config.html_math_renderer = "mathml"
    app.config.html_favicon = str(STATIC / "favicon.svg")
    app.config.html_static_path.append(str(STATIC))
    app.config.html_theme_options["extra_footer"] = "".join(
        f'<p>The prices of this book were last read on <time class="price-date" datetime="{book.stem}">{book.stem}</time>.</p>'
        for book in sorted((ROOT / "data/prices").glob("*.csv"))[-1:])
    app.add_css_file("site.css")
    app.add_js_file("site.js")
    app.connect("env-get-outdated", outdated)
    app.connect("doctree-read", word_prompts)
    app.connect("html-page-context", add_chart_scripts)
    app.connect("html-page-context", add_catalogue)
    app.connect("html-page-context", add_interview)
    app.connect("html-page-context", add_front)
    app.connect("html-page-context", add_lesson)
    app.connect("html-page-context", add_drills)
    app.connect("html-page-context", add_search)
    app.connect("html-collect-pages", not_found)
    lesson_page.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
