"""Charts of the site: compiled from Vega-Lite to Vega before a page is opened, and the library that draws them."""

import json
import re
from html import escape
from importlib.metadata import version
from pathlib import Path

from .inputs import digest, write_whole

MIME = "application/vnd.vegalite.v6+json"
VEGA_LITE = "6.4"
DRAWN_BY = version("vl-convert-python")
# The parts of Vega that these charts need, in the versions that this vl_convert carries: no maps, no forces, no trees.
PARTS = {"vega-dataflow@6.1.0": "{ transforms }", "vega-encode@5.1.0": "* as encode",
         "vega-interpreter@2.0.0": "{ expressionInterpreter }", "vega-parser@7.1.0": "{ parse }",
         "vega-tooltip@1.0.0": "{ Handler }", "vega-transforms@5.1.0": "* as shape", "vega-view@6.1.0": "{ View }",
         "vega-view-transforms@5.1.0": "* as layout"}
LIBRARY = "".join(f'import {names} from "https://cdn.jsdelivr.net/npm/{part}/+esm";\n' for part, names in PARTS.items())
LIBRARY += """Object.assign(transforms, encode, shape, layout);
const tooltip = new Handler({ disableDefaultStyle: true }).call;
window.vega = { View, parse, expressionInterpreter, tooltip };
"""

# A color or font that stands for the theme's: charts.js puts the page's own in its place.
TEXT, MUTED, LINE, PAPER, FONT = "@text", "@muted", "@line", "@paper", "@font"
CATEGORIES = [f"@category{number}" for number in range(8)]
CONFIG = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": "transparent"},
    "axis": {"labelColor": TEXT, "titleColor": TEXT, "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal",
             "domainColor": MUTED, "tickColor": MUTED, "gridColor": LINE, "labelOverlap": True},
    "legend": {"labelColor": TEXT, "titleColor": TEXT, "labelFontSize": 12, "titleFontSize": 13, "orient": "top",
               "labelLimit": 260, "title": None},
    "title": {"color": TEXT, "subtitleColor": MUTED, "anchor": "start"},
    "text": {"color": TEXT, "fill": TEXT},
    "rule": {"color": MUTED},
    # A chart is one picture to a screen reader, with a sentence of its own; its marks have none.
    "mark": {"color": CATEGORIES[0], "aria": False},
    "range": {"category": CATEGORIES},
    "style": {"said": {"fill": TEXT}, "halo": {"fill": PAPER, "stroke": PAPER, "strokeWidth": 5, "strokeJoin": "round"}},
}
# The page's text column on a desk and on a phone, in pixels: where the height of a chart is measured.
WIDE, NARROW = 700, 350
# Entries of the cache: those of several editions of the book, at about 8 kB each.
KEPT = 500


def chart_html(spec: dict, cell: int = 0) -> str:
    """A chart as Sphinx writes it: its finding, what it shows in words, its specification, its caption if it has one.

    cell: the number of its cell, which an error names.
    """
    about = spec.get("usermeta", {})
    alt, caption, finding = about.get("alt") or described(spec), about.get("caption"), about.get("title")
    if not alt:
        raise ValueError("a chart has no usermeta.alt and no description: say in it what the chart shows")
    return (f'<div class="chart">{f"""<p class="chart-finding">{escape(finding)}</p>""" if finding else ""}'
            f'<div role="img" aria-label="{escape(alt)}"><div class="chart-view"></div></div>'
            f'{embedded(spec, f"vega-lite {cell}")}<noscript><p>{escape(alt)}</p></noscript>'
            f'{f"""<p class="chart-caption">{caption}</p>""" if caption else ""}</div>')


def embedded(spec, kind):
    # "<" can only stand inside a JSON string, where \u003c is the same character.
    safe_json = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" data-kind="{kind}">{safe_json}</script>'


CHART = re.compile(
    r'<div class="chart-view"></div></div><script type="application/json" data-kind="vega-lite (\d+)">(.*?)</script>', re.DOTALL
)


def compile_charts(page: str, cache: Path) -> str:
    """The page with its charts compiled, and with their room kept until they are drawn.

    Raises ValueError naming the cell of a chart that cannot be.
    """
    return CHART.sub(lambda chart: compiled_html(json.loads(chart[2]), cache, chart[1]), page)


def compiled_html(spec, cache, cell):
    try:
        chart = json.loads(compiled(spec, cache))
    except Exception as error:
        named, reason = named_by(spec), " ".join(str(error).splitlines()[:2])
        raise ValueError(f"cell {cell}, chart {named!r}: {reason}") from error
    wide, narrow = chart["heights"]
    room = {"": wide} if wide == narrow else {" chart-wide": wide, " chart-narrow": narrow}
    kept_free = "".join(f'<svg class="pst-js-only{kind}" width="100%" height="{height}"></svg>' for kind, height in room.items())
    return f'<div class="chart-view">{kept_free}</div></div>{controls(chart["vega"])}{embedded(chart["vega"], "vega")}'


def described(spec):
    """The description that a plain chart was given, which stands in the first layer where there are several."""
    return next((each["description"] for each in (spec, *spec.get("layer", [])) if each.get("description")), None)


def named_by(spec):
    """What an error calls a chart."""
    about = spec.get("usermeta", {})
    return about.get("title") or about.get("alt") or described(spec)


def controls(vega):
    """The sliders and selects as Vega will write them, so that nothing moves when it does."""
    rows = [
        f'<div class="vega-bind"><label><span class="vega-bind-name">{escape(signal["bind"].get("name", signal["name"]))}</span>'
        f'{control(signal)}</label></div>'
        for signal in vega.get("signals", []) if "bind" in signal
    ]
    return f'<div class="chart-controls pst-js-only">{"".join(rows)}</div>'


def control(signal):
    if signal["bind"]["input"] != "select":
        return '<input type="range" disabled><span>0</span>'
    options = dict(zip(signal["bind"]["options"], signal["bind"].get("labels", signal["bind"]["options"])))
    return f'<select disabled><option>{escape(str(options.get(signal["value"], "")))}</option></select>'


def compiled(spec: dict, cache: Path) -> str:
    """JSON with the chart as Vega, in the theme's stand-in colors, and its heights in pixels on a desk and on a phone."""
    key = json.dumps([spec, CONFIG, VEGA_LITE, WIDE, NARROW, DRAWN_BY], sort_keys=True)
    return kept(cache, "chart", key, lambda: compile_chart(json.loads(key)[0]))


def compile_chart(spec):
    import vl_convert

    vega = vl_convert.vegalite_to_vega(spec, vl_version=VEGA_LITE, config=CONFIG)
    heights = [vl_convert.vega_to_scenegraph(fitted(vega, width))["height"] for width in (WIDE, NARROW)]
    if None in heights:
        raise ValueError("it has no height; has its data no rows?")
    return json.dumps({"heights": list(map(round, heights)), "vega": vega}, sort_keys=True)


def fitted(vega, width):
    """The chart at a width, as charts.js draws it there: names of lines at their ends where there is room, else in a legend."""
    signals = [signal for signal in vega.get("signals", []) if signal["name"] != "width"]
    chart = {**vega, "signals": signals, "width": width}
    if width == NARROW:
        marks = [mark for mark in vega["marks"] if not mark.get("name", "").startswith("line_labels")]
        config = vega.get("config", {})
        return {**chart, "marks": marks, "config": {**config, "legend": {**config.get("legend", {}), "columns": 1}}}
    return {**chart, "legends": []} if vega.get("usermeta", {}).get("direct") else chart


def library(cache: Path) -> str:
    """The JavaScript that draws charts, as the global `vega`; it evaluates expressions without `eval`."""
    return kept(cache, "vega", DRAWN_BY + LIBRARY, bundle)


def bundle():
    import vl_convert

    return "(() => {" + vl_convert.javascript_bundle(LIBRARY) + "\n})();\n"


def kept(cache: Path, name: str, key: str, make) -> str:
    """The text that `make` gives for the key: from the cache where it is whole, else made again and put there."""
    path = cache / f"{name}-{digest(key.encode())}"
    try:
        checksum, _, text = path.read_bytes().decode().partition("\n")
        if checksum == digest(text.encode()):
            return text
    except (OSError, UnicodeDecodeError):
        pass
    text = make()
    cache.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{digest(text.encode())}\n{text}")
    return text


def prune(cache: Path) -> None:
    """Leaves the newest entries of the cache; one that is missed is made again."""
    entries = sorted(cache.glob("*"), key=lambda path: path.stat().st_mtime)
    for old in entries[:-KEPT]:
        old.unlink(missing_ok=True)


def specs_in(notebook: Path):
    """The Vega-Lite specifications among the outputs of an executed notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    return [data[MIME] for data in outputs if MIME in data]


def prepare(notebooks: list[Path], cache: Path) -> None:
    """Fills the cache with the drawing library and with every chart of the executed notebooks."""
    library(cache)
    for notebook in notebooks:
        for spec in specs_in(notebook):
            compiled(spec, cache)
