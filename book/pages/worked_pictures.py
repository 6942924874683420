"""The pictures of the worked cases: ranges beside each other, what fills a memory, and money that is spent month by month."""
import html
import math

from gpucalc.core import figures
from ..components.picture import fill, stroke
from ..components.show import Html

_LEFT, _RIGHT, _FILL = 12, 408, 'fill="currentColor"'
_COLORS = "abcde"


def ranges(rows, said, form="dollars", limit=None):
    """Ranges on one scale: the line spans eight in ten cases, the dot is the plan.

    rows: (name, low, plan, high), an infinite high end being open; limit: (name, value), dashed across the lines.
    """
    show, top = getattr(figures, form), 22 * bool(limit)
    ends = [end for _, low, middle, high in rows for end in (low, middle, high) if math.isfinite(end)]
    most = 1.05 * max([*ends, *(limit or [])[1:]])
    drawn = "".join(_range(row, top + 22 + 44 * place, most, show) for place, row in enumerate(rows))
    drawn += _limit(limit, most, [top + 36 + 44 * place for place in range(len(rows))], show) if limit else ""
    return _picture(drawn, top + 44 * len(rows) + 8, said)


def _range(row, y, most, show):
    name, low, middle, high = row
    closed = math.isfinite(high)
    start, at, end = _across(low, most), _across(middle, most), _across(high, most) if closed else _RIGHT
    line = f'<path d="M{start:.1f},{y + 14} H{end:.1f}"{stroke(_COLORS[0], 8)}{"" if closed else _OPEN}/>'
    return (_text(_LEFT, y, name) + _text(_RIGHT, y, show(middle), "end") + line
            + f'<circle cx="{at:.1f}" cy="{y + 14}" r="7"{fill(_COLORS[1])}/>')


def _limit(limit, most, places, show):
    """A dash at a limit across each of the lines at these heights, and its name above."""
    at = _across(limit[1], most)
    x, anchor = (at + 2, "end") if at > (_LEFT + _RIGHT) / 2 else (at - 2, "start")
    dashes = "".join(f'<path d="M{at:.1f},{y - 11} V{y + 11}" stroke="currentColor" stroke-width="3"/>' for y in places)
    words = f"{limit[0]}: {show(limit[1])}"
    return dashes + _text(x, 14, f"| {words}" if anchor == "start" else f"{words} |", anchor)


_OPEN = ' stroke-dasharray="4 3"'


def stacks(rows, said, form="byte", limit=None):
    """Bars in parts. rows: (name, {part: value}); form: a unit, or a function of core/figures.py; limit: as in `ranges`."""
    most = 1.05 * max([*(limit or [])[1:], *(sum(parts.values()) for _, parts in rows)])
    names = list(dict.fromkeys(part for _, parts in rows for part in parts))
    top, show = 22 * bool(limit), getattr(figures, form, lambda value: figures.number(value, form))
    drawn = "".join(_stack(name, parts, names, top + 48 * place, most, show) for place, (name, parts) in enumerate(rows))
    foot = top + 48 * len(rows)
    drawn += _limit(limit, most, [top + 26 + 48 * place for place in range(len(rows))], show) if limit else ""
    keys = [(place % 2 * 200, foot + 20 + place // 2 * 20) for place in range(len(names))]
    drawn += "".join(f'<rect x="{_LEFT + x}" y="{y - 11}" width="12" height="12"{fill(_COLORS[place % 5])}/>'
                     + _text(_LEFT + x + 18, y, names[place]) for place, (x, y) in enumerate(keys))
    return _picture(drawn, keys[-1][1] + 8, said)


def _stack(name, parts, names, y, most, show):
    drawn, start = "", 0.0
    for part, value in parts.items():
        wide = (_RIGHT - _LEFT) * value / most
        color = _COLORS[names.index(part) % len(_COLORS)]
        drawn += f'<rect x="{_across(start, most):.1f}" y="{y + 18}" width="{wide:.1f}" height="16"{fill(color)}/>'
        start += value
    return _text(_LEFT, y + 12, f"{name}: {show(sum(parts.values()))}") + drawn


def falling(lines, start, months, said):
    """Money that is spent: `lines` are (name, USD at once, USD a month), each falling from `start` over the months."""
    wide, foot, drawn = (_RIGHT - _LEFT) / months, 172, ""
    for place, (name, once, monthly) in enumerate(lines):
        gone = min((start - once) / monthly, months)
        left = foot - 130 * (start - once) / start
        end = foot - 130 * (start - once - monthly * gone) / start
        drawn += (f'<path d="M{_LEFT},{foot - 130} V{left:.1f} L{_LEFT + wide * gone:.1f},{end:.1f}" fill="none"'
                  f'{stroke(_COLORS[place], 3)}/>'
                  f'<rect x="{_LEFT}" y="{foot + 32 + 20 * place}" width="12" height="12"{fill(_COLORS[place])}/>'
                  + _text(_LEFT + 18, foot + 43 + 20 * place, name))
    axes = f'<path d="M{_LEFT},{foot - 140} V{foot} H{_RIGHT}" fill="none" stroke="currentColor"/>'
    words = (_text(_LEFT + 8, foot - 142, f"{figures.dollars(start)} at the start")
             + _text(_RIGHT, foot + 18, f"after {figures.number(months / 12, 'year')}", "end"))
    return _picture(axes + drawn + words, foot + 44 + 20 * len(lines), said)


def _across(value, most):
    return _LEFT + (_RIGHT - _LEFT) * value / most


def _text(x, y, text, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_FILL}>{html.escape(text)}</text>'


def _picture(drawn, tall, said):
    label = html.escape(said)
    return Html(f'<svg viewBox="0 0 420 {tall:.0f}" width="460" class="picture" font-size="14" role="img" aria-label="{label}">'
                f"{drawn}</svg>", said)
