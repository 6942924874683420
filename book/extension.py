"""What the site adds to Jupyter Book: charts, MathML, and pages that load nothing from elsewhere."""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

CHART_MIME = "application/vnd.vegalite.v6+json"
STATIC = Path(__file__).parent / "static"
LOGGER = logging.getLogger(__name__)

# What the theme writes and this book does not want, and what takes its place.
PAGE_FIXES = {
    # The style sheet draws icons from a web font; this script is a second copy, of 1.5 MB.
    r'<script defer src="[^"]*fontawesome\.js[^"]*"></script>': "",
    # The search page has these itself; elsewhere they serve a search as you type, which is off.
    r'(name="docsearch:version"[^>]*>)\s*(<script src="[^"]*(searchtools|language_data|searchindex)\.js"></script>\s*){3}': r"\1",
    # Accessible names that differ from the visible ones, and a sidebar outside every landmark.
    r'<summary aria-label="Toggle hidden content">': "<summary>",
    r'(<button class="btn search-button-field [^"]*") title="Search" aria-label="Search"': r"\1",
    r'<div id="pst-primary-sidebar"': r'\g<0> role="region" aria-label="Book"',
}
ICON_RULE = r'(?:\.fa-[\w-]+:before,?)+\{content:"[^"]*"\}'

PROMPTS = {"input": "Show code", "output": "How this is computed", "all": "How this is computed"}


class ChartRenderer:
    """Writes a Vega-Lite output as a div that holds its JSON; charts.js draws it."""

    mime_priority_overrides = [("html", CHART_MIME, 1)]

    @staticmethod
    def handle_mime(renderer, data, inline):
        if data.mime_type != CHART_MIME:
            return None
        return [nodes.raw(text=chart_html(data.content), format="html", classes=["chart-output"])]


def chart_html(spec: dict) -> str:
    alt = spec.get("usermeta", {}).get("alt")
    if not alt:
        raise ValueError("a chart has no usermeta.alt: say in it what the chart shows")
    # "<" can only stand inside a JSON string, where \u003c is the same character.
    safe_json = json.dumps(spec).replace("<", "\\u003c")
    return (
        f'<div class="chart"><div role="img" aria-label="{escape(alt)}"><div class="chart-view"></div></div>'
        f'<script type="application/json">{safe_json}</script><noscript><p>{escape(alt)}</p></noscript></div>'
    )


def mathml(latex: str, display: str) -> str:
    result = re.sub(r"\\([_%#&$])", r"\1", convert(latex.strip(), display=display))
    if unknown := re.findall(r"\\\S+", result):
        LOGGER.warning("LaTeX not understood: %s in %r", ", ".join(unknown), latex)
    return result


def visit_inline_math(translator, node):
    translator.body.append(f'<span class="math">{mathml(node.astext(), "inline")}</span>')
    raise nodes.SkipNode


def visit_block_math(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="math", tabindex="0"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})</span>')
    translator.body.append(mathml(node.astext(), "block") + "</div>\n")
    raise nodes.SkipNode


def word_prompts(app, doctree):
    for cell in doctree.findall(nodes.container):
        if cell.get("hide_mode") in PROMPTS:
            cell["prompt_show"] = PROMPTS[cell["hide_mode"]]
            cell["prompt_hide"] = "Hide"


def add_chart_scripts(app, pagename, templatename, context, doctree):
    if 'class="chart"' in context.get("body", ""):
        app.add_js_file("vega.js", loading_method="defer")
        app.add_js_file("charts.js", loading_method="defer")


def finish_pages(app, exception):
    """Adds the chart library, and leaves out what no page needs."""
    if exception or app.builder.format != "html":
        return
    import vl_convert

    static = Path(app.outdir, "_static")
    bundle = vl_convert.javascript_bundle()
    (static / "vega.js").write_text("(() => {" + bundle + "\n})();\n", encoding="utf-8")
    for unused in [*static.rglob("*.map"), static / "scripts/fontawesome.js"]:
        unused.unlink()
    pages = list(Path(app.outdir).rglob("*.html"))
    for page in pages:
        for unwanted, wanted in PAGE_FIXES.items():
            change(page, unwanted, wanted)
    code = "".join(path.read_text(encoding="utf-8") for path in [*pages, *static.rglob("*.js")])
    icons = set(re.findall(r"fa-[\w-]+", code))
    style = static / "styles/pydata-sphinx-theme.css"
    change(style, ICON_RULE, lambda rule: rule[0] if icons & set(re.findall(r"fa-[\w-]+", rule[0])) else "")


def change(path, pattern, replacement):
    path.write_text(re.sub(pattern, replacement, path.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline_math, None), (visit_block_math, None))
    app.config.html_math_renderer = "mathml"
    app.config.html_favicon = str(STATIC / "favicon.svg")
    app.config.html_static_path.append(str(STATIC))
    app.add_css_file("site.css")
    app.add_js_file("site.js", loading_method="defer")
    app.connect("doctree-read", word_prompts)
    app.connect("html-page-context", add_chart_scripts)
    app.connect("build-finished", finish_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
