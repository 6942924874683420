"""A picture of a load through its hours, sorted: what is reserved, what of that idles, and what is taken by the hour."""
from ..core.figures import percent
from .show import Html

_LEFT, _RIGHT, _TOP, _FOOT = 34, 410, 14, 190


def load_curve(trough_gpus, peak_gpus, level, share):
    """The load-duration curve that falls evenly from peak to trough, reserved up to a level that a share of the hours needs."""
    def down(gpus):
        return _FOOT - (_FOOT - _TOP) * gpus / peak_gpus
    turn = _LEFT + (_RIGHT - _LEFT) * min(max(share if level else 1, 0), 1)
    y, end = down(level), down(trough_gpus)
    said = (f"Hours sorted by load, from {peak_gpus:,g} GPUs down to {trough_gpus:,g}. {level:,.0f} are reserved and needed in "
            f"{percent(share)} of the hours; the corner above them is paid by the hour, the corner below idles.")
    areas = [(f"{_LEFT},{_FOOT} {_LEFT},{y} {_RIGHT},{y} {_RIGHT},{_FOOT}", "#4c78a8", 0.55),
             (f"{_LEFT},{y} {_LEFT},{_TOP} {turn},{y}", "#f58518", 0.6),
             (f"{turn},{y} {_RIGHT},{y} {_RIGHT},{end}", "#888888", 0.6)]
    if level <= trough_gpus:
        areas[1:] = [(f"{_LEFT},{y} {_LEFT},{_TOP} {_RIGHT},{end} {_RIGHT},{y}", "#f58518", 0.6)]
    shapes = "".join(f'<polygon points="{points}" fill="{color}" fill-opacity="{shade}"/>' for points, color, shade in areas)
    words = [(_LEFT + 12, _FOOT - 12, "reserved: paid in every hour"), (_LEFT + 90, _TOP + 8, "by the hour, on demand or spot"),
             (_LEFT, _FOOT + 20, "busiest hour"), (_RIGHT - 90, _FOOT + 20, "quietest hour")]
    words += [(_RIGHT - 92, y - 6, "reserved, idle")] if level > trough_gpus else []
    marks = [(peak_gpus, _TOP), (level, y), (0, _FOOT)]
    labels = "".join(f'<text x="{x}" y="{place}" fill="currentColor">{text}</text>' for x, place, text in words)
    labels += "".join(f'<text x="{_LEFT - 8}" y="{place + 4}" text-anchor="end" fill="currentColor">{gpus:,.0f}</text>'
                      for gpus, place in marks)
    curve = f'<line x1="{_LEFT}" y1="{_TOP}" x2="{_RIGHT}" y2="{end}" stroke="currentColor" stroke-width="2"/>'
    return Html(f'<svg viewBox="0 0 420 220" width="460" class="picture" font-size="14" role="img" aria-label="{said}">'
                f"{shapes}{curve}{labels}</svg>", said)
