"""Diagrams drawn by code: shapes and words on a sheet 400 units wide, so that they are legible on a phone, in light and dark.

A color is a name: one of `a` to `h`, the categories of the charts; `ink` and `soft` for words, `line` for outlines, `wash` for
areas that recede, `paper` for words on a filled shape. The site's style gives each its value by theme; the values here serve
where there is no such style, as in Jupyter.
"""
import html

from .sentences import agreed, Figure
from .show import Html

WIDE = 400
COLORS = {"a": "#246be6", "b": "#a26614", "c": "#0f4a0e", "d": "#9e075e", "e": "#5f29b2", "f": "#595c13", "g": "#1c7088",
          "h": "#7a654e", "ink": "currentColor", "soft": "#5b6676", "line": "#9aa5b5", "wash": "#eef1f5", "paper": "#ffffff"}
_ANCHORS = {"start": "", "middle": ' text-anchor="middle"', "end": ' text-anchor="end"'}


class Sheet:
    """What is drawn, from the top left corner; each method returns the sheet. Lengths are in units, `wide` of them across."""

    def __init__(self, tall: float, wide: float = WIDE):
        self.tall, self.wide = tall, wide
        self.parts: list[str] = []

    def box(self, x, y, wide, tall, color="a", outline=None, round=3, dashed=False):
        """A rectangle; `color` None leaves it empty, `outline` is the color of its edge."""
        edge = stroke(outline, 1.5, dashed) if outline else ""
        place = f'x="{x:.4g}" y="{y:.4g}" width="{wide:.4g}" height="{tall:.4g}"'
        return self._add(f'<rect {place} rx="{round}"{fill(color)}{edge}/>')

    def circle(self, x, y, radius, color="a"):
        return self._add(f'<circle cx="{x:.4g}" cy="{y:.4g}" r="{radius:.4g}"{fill(color)}/>')

    def line(self, *points, color="line", thick=1.5, dashed=False, arrow=False):
        """A line through points (x, y), with a head at its end if it is an arrow."""
        way = "M" + " L".join(f"{x:.4g},{y:.4g}" for x, y in points)
        return self._add(f'<path d="{way}{_head(*points[-2:]) if arrow else ""}" fill="none"{stroke(color, thick, dashed)}/>')

    def arrow(self, *points, color="soft", thick=1.5, dashed=False):
        return self.line(*points, color=color, thick=thick, dashed=dashed, arrow=True)

    def path(self, way, color=None, outline=None, thick=1.5):
        """Any other shape, in the words of an SVG path."""
        return self._add(f'<path d="{way}"{fill(color)}{stroke(outline, thick) if outline else ""}/>')

    def text(self, x, y, said, at="start", color="ink", bold=False, size=13):
        """Words on a line at y; they begin, have their middle or end at x (`at`). A figure of `yours` follows the reader."""
        weight = ' font-weight="600"' if bold else ""
        marks = f'font-size="{size:g}"{_ANCHORS[at]}{weight}{fill(color)}{_follows(said)}'
        return self._add(f'<text x="{x:.4g}" y="{y:.4g}" {marks}>{html.escape(agreed(str(said)))}</text>')

    def words(self, x, y, *parts, at="start", size=13):
        """A line of words in several colors: text, or (text, color), which is bold; each a `str` or a figure of `yours`."""
        spans = "".join(f'<tspan{fill(part[1])} font-weight="600"{_follows(part[0])}>{html.escape(str(part[0]))}</tspan>'
                        if isinstance(part, tuple) else f"<tspan{_follows(part)}>{html.escape(str(part))}</tspan>"
                        for part in parts)
        marks = f'font-size="{size:g}"{_ANCHORS[at]}{fill("ink")} xml:space="preserve"'
        return self._add(f'<text x="{x:.4g}" y="{y:.4g}" {marks}>{spans}</text>')

    def _add(self, part):
        self.parts.append(part)
        return self

    def picture(self, finding: str, alt: str) -> Html:
        """The diagram under its finding, with what it shows in words for who cannot see it."""
        finding, alt = agreed(finding), agreed(alt)
        drawn = (f'<svg viewBox="0 0 {self.wide:g} {self.tall:g}" width="{self.wide * 1.2:g}" class="picture" role="img" '
                 f'aria-label="{html.escape(alt)}">{"".join(self.parts)}</svg>')
        held = f'<figure class="drawing"><figcaption>{html.escape(finding)}</figcaption>{drawn}</figure>'
        return Html(held, f"{finding}: {alt}")


def fill(color):
    return f' class="fill-{color}" fill="{COLORS[color]}"' if color else ' fill="none"'


def _follows(said):
    return said.attributes() if isinstance(said, Figure) else ""


def stroke(color, thick, dashed=False):
    # A shape has one class for its area; its edge goes by a property of its own.
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f' stroke="{COLORS[color]}" data-edge="{color}" stroke-width="{thick:g}"{dashes}'


def _head(before, end, long=7):
    """The two strokes of an arrow's head."""
    across, down = end[0] - before[0], end[1] - before[1]
    length = (across**2 + down**2) ** 0.5 or 1.0
    across, down = across / length * long, down / length * long
    strokes = [(end[0] - across - side * down / 2, end[1] - down + side * across / 2) for side in (1, -1)]
    return "".join(f" M{x:.4g},{y:.4g} L{end[0]:.4g},{end[1]:.4g}" for x, y in strokes)
