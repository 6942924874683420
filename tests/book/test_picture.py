"""Diagrams: well-formed drawings with words for who cannot see them, text escaped, figures that follow the reader."""
import json
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from book.build.inputs import ROOT
from book.components.picture import COLORS, Sheet, WIDE
from book.components.sentences import Yours
from gpucalc import Case
from tests.pictures import faults, PICTURE

pytestmark = pytest.mark.illegible


def drawn(sheet, finding="A finding", alt="What it shows"):
    """The drawing as a tree; the HTML has no namespaces, so it has to be well-formed XML too."""
    return ElementTree.fromstring(sheet.picture(finding, alt).source)


def test_a_picture_has_a_finding_and_a_text_for_who_cannot_see_it():
    shown = Sheet(80).box(0, 0, 40, 20).picture('Two < "three"', "Two boxes & a line")
    figure = ElementTree.fromstring(shown.source)
    svg = figure.find("svg")
    assert figure.tag == "figure" and figure.find("figcaption").text == 'Two < "three"'
    assert svg.get("role") == "img" and svg.get("aria-label") == "Two boxes & a line" and svg.get("viewBox") == f"0 0 {WIDE} 80"
    assert repr(shown) == 'Two < "three": Two boxes & a line'


def test_shapes_stand_where_they_are_put():
    figure = drawn(Sheet(100).box(10, 20, 30, 40, "b", outline="line").circle(50, 60, 5, "c").line((0, 0), (3, 4), color="d"))
    box, circle, line = figure.find("svg")
    assert [box.get(name) for name in ("x", "y", "width", "height")] == ["10", "20", "30", "40"]
    assert box.get("class") == "fill-b" and box.get("data-edge") == "line" and box.get("fill") == COLORS["b"]
    assert (circle.get("cx"), circle.get("r")) == ("50", "5") and line.get("d").startswith("M0,0 L3,4") and line.get("fill") == "none"


@pytest.mark.parametrize("end", [(10, 0), (0, 10), (-6, 8), (0, 0)])
def test_the_head_of_an_arrow_ends_at_its_point(end):
    way = drawn(Sheet(20).arrow((0, 0), end)).find("svg")[0].get("d")
    strokes = re.findall(r"M([-\d.e]+),([-\d.e]+) L([-\d.e]+),([-\d.e]+)", way)
    heads = [tuple(map(float, each)) for each in strokes[1:]]
    assert len(heads) == 2 and all((x, y) == end for _, _, x, y in heads)
    if end != (0, 0):
        lengths = {round(math.dist(each[:2], each[2:]), 2) for each in heads}
        assert all(math.hypot(x, y) < math.hypot(*end) for x, y, _, _ in heads), "it points forward"
        assert len(lengths) == 1 and lengths.pop() == pytest.approx(7 * math.hypot(1, 0.5), abs=0.02)


def test_text_is_escaped_and_a_figure_follows():
    yours = Yours(Case(model="Llama-3-70B"))
    svg = drawn(Sheet(20).text(0, 10, "<b>&", at="middle").text(0, 15, yours.layers, bold=True)).find("svg")
    assert svg[0].text == "<b>&" and svg[0].get("text-anchor") == "middle"
    assert svg[1].text == "80" and svg[1].get("data-yours") == "layers" and svg[1].get("font-weight") == "600"


def test_a_color_that_is_not_there_is_an_error():
    with pytest.raises(KeyError):
        Sheet(10).box(0, 0, 1, 1, "crimson")


@pytest.mark.parametrize("color", sorted(set(COLORS) - {"ink"}))
def test_colors_without_a_style_are_plain(color):
    assert re.fullmatch("#[0-9a-f]{6}", COLORS[color])


def test_every_recorded_picture_is_legible():
    cells = [cell for path in sorted((ROOT / "notebooks").glob("*.ipynb")) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    shown = ["".join(output.get("data", {}).get("text/html", "")) for cell in cells for output in cell.get("outputs", [])]
    assert sum(len(PICTURE.findall(each)) for each in shown) > 60 and [fault for each in shown for fault in faults(each)] == []


TEXT, BOX = '<text x="{}" y="50" font-size="10">{}</text>', '<rect x="{}" y="{}" width="{}" height="20" class="fill-a"/>'


@pytest.mark.parametrize("parts, found", [
    (TEXT.format(10, "short"), []), (TEXT.format(80, "too long"), ["'too long' leaves the sheet"]), (BOX.format(10, 30, -1), ["rect at 10, 30, -1 by 20 has no area"]),
    (TEXT.format(10, "one") + TEXT.format(20, "other"), ["'other' is on 'one'"]), (TEXT.format(10, "one") + TEXT.format(60, "other"), []),
    (BOX.format(10, 35, 40) + TEXT.format(12, "in"), []), (BOX.format(20, 35, 40) + TEXT.format(12, "across"), ["'across' is across the edge of rect at 20, 35, 40 by 20"]),
    (TEXT.format(12, "in") + BOX.format(10, 35, 40), ["'in' is below rect at 10, 35, 40 by 20"]),
    (BOX.format(10, 35, 40) + BOX.format(30, 40, 40), ["rect at 30, 40, 40 by 20 is partly on rect at 10, 35, 40 by 20"]),
    (TEXT.format(10, "word") + '<path d="M0,47 H90"/>', ["'word' has a line through it"]), (TEXT.format(10, "word") + '<path d="M0,55 L90,55"/>', []),
    ('<path d="M0,50 L90,79"/>', []), ('<path d="M0,50 V110"/>', ["a line from (0.0, 50.0) leaves the sheet"]), (BOX.format(10, 20, 40), ["blank at the foot"]),
    (BOX.format(10, 35, 40) + TEXT.format(12, "in").replace("<text", '<text class="fill-paper"'), []),
    (TEXT.format(12, "in").replace("<text", '<text class="fill-paper"'), ["'in' is not on a filled shape"])])
def test_what_makes_a_picture_illegible(parts, found):
    assert faults(f'<svg viewBox="0 0 100 80" class="picture">{parts}</svg>') == found
