"""Pictures of a report: bars drawn from the numbers of an answer as SVG, whose colours are those of the page around it."""
import math
from collections.abc import Callable, Iterable
from html import escape

_WIDTH = 600


def band_bar(low: float, plan: float, high: float, bound: float | None, show: Callable[[float], str]) -> str:
    """A figure as a bar: its band, a mark at the plan and a thin one at the bound."""
    if not (math.isfinite(plan) and plan > 0):
        return ""
    ends = [value for value in (low, plan, high, bound) if value is not None and math.isfinite(value)]
    top = 1.04 * max(ends)
    low, high = min(low, plan), max(high, plan) if math.isfinite(high) else top
    words = f"plan {show(plan)}, from {show(low)} to {show(high)}" + (f", bound {show(bound)}" if bound else "")
    parts = [_rect("track", 0, 6, _WIDTH, 12), _rect("band", _at(low, top), 6, max(_at(high - low, top), 2), 12),
             _rect("plan", _at(plan, top) - 2, 1, 4, 22)]
    if bound:
        parts.append(_rect("bound", _at(bound, top), 3, 2, 18))
    return _svg(24, words, parts)


def choice_bars(rows: Iterable[tuple[str, float, float, float]], show: Callable[[float], str]) -> str:
    """The cost of choices as (label, low, plan, high): a bar each, the band across its end."""
    rows = list(rows)
    top = 1.02 * max((value for _, *ends in rows for value in ends if math.isfinite(value)), default=1)
    lines = []
    for place, (name, low, plan, high) in enumerate(rows):
        far = min(high, top)
        shapes = [_rect("bar" if place else "best", 0, 4, _at(plan, top), 16),
                  _rect("ends", _at(low, top), 11, max(_at(far - low, top), 1), 2),
                  *(_rect("ends", _at(end, top) - 1, 7, 2, 10) for end in (low, far))]
        words = f"{name}: {show(plan)}, from {show(low)} to {show(high)}"
        lines.append(f"<li><span>{escape(name)}</span>{_svg(24, words, shapes)}<b>{escape(show(plan))}</b></li>")
    return f'<ul class="bars">{"".join(lines)}</ul>'


def stacked_bar(parts: dict[str, float], limit: float, show: Callable[[float], str]) -> str:
    """Bytes by part as one bar, with a legend below it and the memory of the GPU as a dashed line."""
    top, x, shapes = 1.01 * max(limit, sum(parts.values())), 0.0, []
    for place, value in enumerate(parts.values(), 1):
        shapes.append(_rect(f"part-{place}", x, 4, _at(value, top), 28))
        x += _at(value, top)
    shapes.append(f'<line class="most" x1="{_at(limit, top):.1f}" y1="0" x2="{_at(limit, top):.1f}" y2="36"/>')
    words = ", ".join(f"{name} {show(value)}" for name, value in parts.items()) + f"; the GPU has {show(limit)}"
    legend = "".join(f'<li>{_svg(12, "", [_rect(f"part-{place}", 0, 0, _WIDTH, 12)])}{escape(name)} {escape(show(value))}</li>'
                     for place, (name, value) in enumerate(parts.items(), 1))
    return f'{_svg(36, words, [_rect("track", 0, 4, _at(limit, top), 28), *shapes])}<ul class="legend">{legend}</ul>'


def _at(value, top):
    return _WIDTH * value / top


def _rect(name, x, y, width, height):
    return f'<rect class="{name}" x="{x:.1f}" y="{y}" width="{max(width, 0):.1f}" height="{height}"/>'


def _svg(height, words, parts):
    """A drawing as wide as its place, and of this height; one without words is for the eye alone."""
    told = f'role="img" aria-label="{escape(words)}"' if words else 'aria-hidden="true"'
    return f'<svg viewBox="0 0 {_WIDTH} {height}" height="{height}" preserveAspectRatio="none" {told}>{"".join(parts)}</svg>'
