"""Charts of the site: compiled from Vega-Lite to Vega before a page is opened, and the library that draws them."""

import json
import re
from html import escape
from importlib.metadata import version
from pathlib import Path

from book.inputs import digest, write_whole

MIME = "application/vnd.vegalite.v6+json"
VEGA_LITE = "6.4"
# The parts of Vega that these charts need, in the versions that this vl_convert carries: no maps, no forces, no trees.
PARTS = {
    "vega-dataflow@6.1.0": "{ transforms }",
    "vega-encode@5.1.0": "* as encode",
    "vega-interpreter@2.0.0": "{ expressionInterpreter }",
    "vega-parser@7.1.0": "{ parse }",
    "vega-tooltip@1.0.0": "{ Handler }",
    "vega-transforms@5.1.0": "* as shape",
    "vega-view@6.1.0": "{ View }",
    "vega-view-transforms@5.1.0": "* as layout",
}
LIBRARY = "".join(f'import {names} from "https://cdn.jsdelivr.net/npm/{part}/+esm";\n' for part, names in PARTS.items())
LIBRARY += """Object.assign(transforms, encode, shape, layout);
const tooltip = new Handler({ disableDefaultStyle: true }).call;
window.vega = { View, parse, expressionInterpreter, tooltip };
"""

# A color or font that stands for the theme's: charts.js puts the page's own in its place.
TEXT, MUTED, LINE, FONT = "@text", "@muted", "@line", "@font"
CATEGORIES = [f"@category{number}" for number in range(8)]
CONFIG = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": "transparent"},
    "axis": {
        "labelColor": TEXT, "titleColor": TEXT, "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal",
        "domainColor": MUTED, "tickColor": MUTED, "gridColor": LINE, "labelOverlap": True,
    },
    "legend": {
        "labelColor": TEXT, "titleColor": TEXT, "labelFontSize": 12, "titleFontSize": 13, "orient": "top", "labelLimit": 260,
    },
    "title": {"color": TEXT, "subtitleColor": MUTED, "anchor": "start"},
    "text": {"color": TEXT, "fill": TEXT},
    "rule": {"color": MUTED},
    "mark": {"color": CATEGORIES[0]},
    "range": {"category": CATEGORIES},
}
# The page's text column on a desk, in pixels: where the height of a chart is measured.
USUAL_WIDTH = 700
# Entries of the cache: those of several editions of the book, at about 8 kB each.
KEPT = 500


def chart_html(spec: dict) -> str:
    """A chart as Sphinx writes it: its Vega-Lite specification, in words what it shows, and its caption if it has one."""
    about = spec.get("usermeta", {})
    alt, caption = about.get("alt"), about.get("caption")
    if not alt:
        raise ValueError("a chart has no usermeta.alt: say in it what the chart shows")
    return (
        f'<div class="chart"><div role="img" aria-label="{escape(alt)}"><div class="chart-view"></div></div>'
        f'{embedded(spec, "vega-lite")}<noscript><p>{escape(alt)}</p></noscript>'
        f'{f"""<p class="chart-caption">{caption}</p>""" if caption else ""}</div>'
    )


def embedded(spec, kind):
    # "<" can only stand inside a JSON string, where \u003c is the same character.
    safe_json = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" data-kind="{kind}">{safe_json}</script>'


CHART = re.compile(
    r'<div class="chart-view"></div></div><script type="application/json" data-kind="vega-lite">(.*?)</script>', re.DOTALL
)


def compile_charts(page: str, cache: Path) -> str:
    """The page with its charts compiled, and with their room kept until they are drawn."""
    return CHART.sub(lambda chart: compiled_html(json.loads(chart[1]), cache), page)


def compiled_html(spec, cache):
    chart = json.loads(compiled(spec, cache))
    return (
        f'<div class="chart-view"><svg class="pst-js-only" width="100%" height="{chart["height"]}"></svg></div></div>'
        f'{controls(chart["vega"])}{embedded(chart["vega"], "vega")}'
    )


def controls(vega):
    """The sliders as Vega will write them, so that nothing moves when it does."""
    sliders = [signal for signal in vega.get("signals", []) if "bind" in signal]
    rows = [
        f'<div class="vega-bind"><label><span class="vega-bind-name">{escape(slider["bind"].get("name", slider["name"]))}</span>'
        f'<input type="range" disabled><span>0</span></label></div>'
        for slider in sliders
    ]
    return f'<div class="chart-controls pst-js-only">{"".join(rows)}</div>'


def compiled(spec: dict, cache: Path) -> str:
    """JSON with the chart as Vega, in the theme's stand-in colors, and its height in pixels."""
    key = json.dumps([spec, CONFIG, VEGA_LITE, USUAL_WIDTH, version("vl-convert-python")], sort_keys=True)
    return kept(cache, "chart", key, lambda: compile_chart(json.loads(key)[0]))


def compile_chart(spec):
    import vl_convert

    vega = vl_convert.vegalite_to_vega(spec, vl_version=VEGA_LITE, config=CONFIG)
    signals = [signal for signal in vega.get("signals", []) if signal["name"] != "width"]
    height = vl_convert.vega_to_scenegraph({**vega, "signals": signals, "width": USUAL_WIDTH})["height"]
    return json.dumps({"height": round(height), "vega": vega}, sort_keys=True)


def library(cache: Path) -> str:
    """The JavaScript that draws charts, as the global `vega`; it evaluates expressions without `eval`."""
    return kept(cache, "vega", version("vl-convert-python") + LIBRARY, bundle)


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
