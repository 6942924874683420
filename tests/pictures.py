"""What makes a picture illegible, from its SVG alone: what leaves the sheet, words on words, on an edge or on a line."""
import re
import xml.etree.ElementTree as ElementTree
from typing import NamedTuple

# Advance widths of letters in shares of their size, as sans-serif fonts have them; any other letter's.
NARROW = {letter: wide for letters, wide in {"ijl.,:;'|!": 0.26, "ftr()[]I/ ·\u00a0-": 0.31, "mwMW%@": 0.85, "×=+<>→≥≤~": 0.66}.items()
          for letter in letters}
LETTER, CAPITAL = 0.555, 0.66
# Units of a sheet: what may stay blank below all, and how far within words a line is through them.
BLANK, INSIDE = 33, 3
PICTURE = re.compile(r'<svg [^>]*class="picture".*?</svg>', re.DOTALL)
NUMBER = re.compile(r"-?[\d.]+(?:e[-+]?\d+)?")


class Area(NamedTuple):
    left: float
    top: float
    right: float
    foot: float
    said: str = ""
    color: str = ""

    def shared(self, other):
        """How far two areas share the sheet, across and down."""
        return min(self.right, other.right) - max(self.left, other.left), min(self.foot, other.foot) - max(self.top, other.top)

    def holds(self, other, loose=3):
        return (self.left - loose <= other.left and self.top - loose <= other.top
                and other.right <= self.right + loose and other.foot <= self.foot + loose)


def seen(element, size):
    """The area of an element, and the straight pieces of its lines."""
    color, pieces = element.get("class", ""), []
    x, y, wide, tall = (float(element.get(name, 0)) for name in ("x", "y", "width", "height"))
    called = f"{element.tag} at {x:g}, {y:g}, {wide:g} by {tall:g}"
    if element.tag == "text":
        called, size = repr("".join(element.itertext())), float(element.get("font-size") or size)
        wide = sum(NARROW.get(letter, CAPITAL if letter.isupper() else LETTER) for letter in called[1:-1]) * size
        x, y, tall = x - {"middle": wide / 2, "end": wide}.get(element.get("text-anchor"), 0), y - 0.72 * size, 0.92 * size
    elif element.tag == "circle":
        x, y, radius = (float(element.get(name)) for name in ("cx", "cy", "r"))
        x, y, wide, tall = x - radius, y - radius, 2 * radius, 2 * radius
    elif element.tag == "path":
        pieces = lines(element)
        if not pieces:
            return None, []
        across, down = zip(*(point for piece in pieces for point in piece))
        x, y, wide, tall = min(across), min(down), max(across) - min(across), max(down) - min(down)
        called = f"a line from {pieces[0][0]}"
    return Area(x, y, x + wide, y + tall, called, color), pieces


def crosses(piece, text):
    """Whether a straight line runs through the middle of words."""
    (x, y), (to_x, to_y) = piece
    points = [(x + (to_x - x) * part / 40, y + (to_y - y) * part / 40) for part in range(41)]
    return any(text.left + INSIDE < across < text.right - INSIDE and text.top + INSIDE < down < text.foot - INSIDE for across, down in points)


def lines(element):
    """The straight pieces of a path of absolute moves and lines; none of one that bends or moves by steps."""
    way = element.get("d")
    if not re.fullmatch(r"[MLHVZ\d\s.,e-]*", way):
        return []
    found, here = [], (0.0, 0.0)
    for kind, given in re.findall(r"([MLHV])([^MLHVZ]*)", way):
        numbers = [float(each) for each in NUMBER.findall(given)]
        points = list(zip(numbers[::2], numbers[1::2])) if kind in "ML" else [(each, here[1]) for each in numbers] if kind == "H" else [
            (here[0], each) for each in numbers]
        for number, point in enumerate(points):
            if kind != "M" or number:
                found.append((here, point))
            here = point
    return found


def faults(source):
    """All that is wrong with the pictures of a piece of HTML, in words."""
    return [fault for each in PICTURE.findall(source) for fault in faults_of(ElementTree.fromstring(each))]


def faults_of(svg):
    wide, tall = map(float, svg.get("viewBox").split()[2:])
    parts = [(each.tag, *seen(each, svg.get("font-size", 13))) for each in svg.iter() if each.tag in ("text", "rect", "circle", "path")]
    drawn = [(tag, area, pieces) for tag, area, pieces in parts if area]
    said, boxes = ([area for tag, area, _ in drawn if tag == wanted] for wanted in ("text", "rect"))
    filled = [area for tag, area, _ in drawn if tag != "text" and re.fullmatch("fill-[a-h]", area.color)]
    sheet, whole = Area(0, 0, wide, tall), [area for _, area, _ in drawn]
    found = [f"{each.said} leaves the sheet" for each in whole if not sheet.holds(each, 1)]
    found += [f"{each.said} has no area" for each in boxes if each.right < each.left or each.foot <= each.top]
    found += ["blank at the foot"] * (tall - max(each.foot for each in whole) > BLANK)
    for number, (tag, each, pieces) in enumerate(drawn):
        if tag == "text":
            found += [f"{each.said} is on {other.said}" for other in said[:said.index(each)] if other.said != each.said and min(each.shared(other)) > 1]
            found += [f"{each.said} is across the edge of {box.said}" for box in boxes if min(each.shared(box)) > 2 and not box.holds(each)]
            found += [f"{each.said} is below {other.said}" for later, other, _ in drawn[number:] if later == "rect" and min(each.shared(other)) > 2]
            if each.color == "fill-paper" and not any(box.holds(each) for box in filled):
                found += [f"{each.said} is not on a filled shape"]
        found += [f"{other.said} has a line through it" for other in said if any(crosses(piece, other) for piece in pieces)]
        if tag == "rect" and each in filled:
            found += [f"{each.said} is partly on {other.said}" for other in filled[:filled.index(each)] if other.said.startswith("rect")
                      and min(each.shared(other)) > 3 and not other.holds(each) and not each.holds(other)]
    return found


def boxes(shown, color=None):
    """The rectangles of a picture, those of a color; in the order in which they are drawn."""
    drawn = [seen(each, 13)[0] for each in ElementTree.fromstring(PICTURE.search(shown.source)[0]).iter("rect")]
    return [box for box in drawn if color is None or box.color == f"fill-{color}"]


def widths(shown, color=None):
    return [box.right - box.left for box in boxes(shown, color)]


def areas(shown):
    """By color the area of each other shape that is filled."""
    drawn = [seen(each, 13)[0] for each in ElementTree.fromstring(PICTURE.search(shown.source)[0]).iter("path") if each.get("class")]
    return {area.color.removeprefix("fill-"): area for area in drawn}
