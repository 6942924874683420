"""A flowchart as a picture: a box for each question, with where it turns, what goes on below it and what stops beside it."""
import html
import textwrap
from typing import NamedTuple

from ..components.sentences import in_words
from ..components.show import Html

_WIDE, _EDGE, _LEFT, _LINE, _PAD, _GAP, _SMALL, _LETTERS = 360, 3, 14, 18, 9, 40, 12.5, 46
_OUTLINE, _STOP = 'fill="none" stroke="currentColor"', 'fill="none" stroke="#a26614" data-edge="b" stroke-width="2"'


class Box(NamedTuple):
    """A box of a flowchart: its title, lines below it, the page behind it, and what stands at its arrows down and aside."""

    title: str
    lines: tuple[str, ...] = ()
    page: str = ""
    below: str = ""
    aside: str = ""


def jobs_picture(jobs: dict[str, str]) -> Html:
    """The first question, with a way to the flowchart of each job: its key -> what it is called."""
    top = 2 * _PAD + _LINE
    places = {key: top + 24 + 26 * place for place, key in enumerate(jobs)}
    ways = "".join(f'<path d="M24,{y} H48 l-6,-4 m6,4 l-6,4" {_OUTLINE}/>{text(jobs[key], 56, y + 5, page=f"#flow-{key}")}'
                   for key, y in places.items())
    end = max(places.values())
    said = f"What is the job: {in_words(list(jobs.values()), 'or')}? Each has questions of its own."
    line = f'<path d="M24,{top + 2} V{end}" {_OUTLINE}/>'
    return _picture("flow-jobs", end + 16, _frame(0, top) + text("What is the job?", _LEFT, 25, bold=True) + line + ways, said)


def flowchart(key: str, title: str, boxes: list[Box], said: str) -> Html:
    """The boxes from top to bottom under the name of their job; `said` is what they come to."""
    y, parts = 2, []
    for box in (Box(title[:1].upper() + title[1:], below=" "), *boxes):
        lines = [line for each in box.lines for line in textwrap.wrap(each, _LETTERS)]
        tall, foot = 2 * _PAD + _LINE * (1 + len(lines)), y + _PAD + 14
        parts.append(_frame(y, tall, "1" if box.page else "2.5"))
        parts.append(text(box.title, _LEFT, foot, page=f"{box.page}.html" if box.page else "", bold=True))
        parts += [text(line, _LEFT, foot + _LINE * (1 + place), small=True) for place, line in enumerate(lines)]
        y += tall
        if box.below:
            parts.append(_arrows(y, box.below, box.aside))
            y += _GAP
    return _picture(f"flow-{key}", y + 4, "".join(parts), said)


def _frame(y, tall, wide="1"):
    return (f'<rect x="{_EDGE}" y="{y + 2}" width="{_WIDE - 2 * _EDGE}" height="{tall}" rx="6" fill="currentColor" '
            f'fill-opacity="0.05" stroke="currentColor" stroke-width="{wide}"/>')


def _arrows(y, below, aside):
    """An arrow down with its words, and an end with those of what stops."""
    way = f'<path d="M24,{y + 3} V{y + _GAP - 1} l-4,-7 m4,7 l4,-7" {_OUTLINE}/>{text(below, 36, y + 26, small=True)}'
    stop = f'<path d="M{_WIDE - 20},{y + 3} v8 m-5,0 h10" {_STOP}/>{text(aside, _WIDE - 6, y + 26, small=True, end=True)}'
    return way + (stop if aside else "")


def text(said: str, x: float, y: float, page: str = "", bold: bool = False, small: bool = False, end: bool = False,
         middle: bool = False) -> str:
    """A line of text in a picture, which leads to a page where one is given; it begins, ends or has its middle at x."""
    marks = {"font-weight": "600" * bold, "font-size": f"{_SMALL}" * small, "text-anchor": "end" * end + "middle" * middle}
    marked = "".join(f' {name}="{value}"' for name, value in marks.items() if value)
    color = "var(--pst-color-link, currentColor)" if page else "currentColor"
    held = f'<text x="{x:g}" y="{y:g}" fill="{color}"{marked}>{html.escape(said)}</text>'
    return f'<a href="{html.escape(page)}">{held}</a>' if page else held


def _picture(key, tall, shapes, said):
    """A picture whose words can be read one by one and followed, so it is a group, not an image."""
    return Html(f'<svg id="{html.escape(key)}" viewBox="0 0 {_WIDE} {tall:g}" width="{_WIDE}" class="picture" font-size="14" '
                f'role="group" aria-label="{html.escape(said)}">{shapes}</svg>', said)


def beside(*pictures: Html) -> Html:
    """Pictures beside each other where there is room, else below each other."""
    return Html(f'<div class="pictures">{"".join(each.source for each in pictures)}</div>',
                " ".join(each.plain for each in pictures))
