"""Diagrams of links: the ring by which GPUs sum, and who neighbors whom in a node and between nodes."""
from math import cos, pi, sin

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, times
from gpucalc.laws import interconnect as ic
from gpucalc.rows import catalogue
from ..components.picture import Sheet

_PIECES = "abcd"
# A panel is so wide and starts there; the corners of its ring, clockwise from the upper left.
_PANEL, _STARTS, _CORNERS = 120, (4, 140, 276), ((0, 0), (74, 0), (74, 78), (0, 78))
_AROUND = (((48, 26), (72, 26)), ((97, 54), (97, 76)), ((72, 104), (48, 104)), ((23, 76), (23, 54)))


def ring_picture():
    """Four GPUs in a ring before an all-reduce, after its first half and at its end: which sums each of them holds."""
    count = len(_PIECES)
    sent = Case(ranks=count, message_bytes=1, link_bandwidth=1)(ic.all_reduce_seconds)
    held = [[], [[(place + 1) % count] for place in range(count)], [range(count)] * count]
    titles = ("at the start", f"{count - 1} steps later", f"{count - 1} steps more")
    sheet = Sheet(196)
    for left, title, finished in zip(_STARTS, titles, held):
        sheet.text(left + _PANEL / 2, 16, title, at="middle", bold=True)
        for place, (across, down) in enumerate(_CORNERS):
            _holds(sheet, left + across, 28 + down, finished[place] if finished else ())
        for before, end in _AROUND:
            sheet.arrow(*((left + x, 28 + y) for x, y in (before, end)))
    sheet.box(20, 179, 14, 9, color=None, outline="line").text(40, 188, "own numbers", color="soft")
    for place, color in enumerate(_PIECES):
        sheet.box(150 + 17 * place, 179, 14, 9, color=color)
    sheet.text(222, 188, f"pieces summed over all {count}", color="soft")
    return sheet.picture(f"To sum what {count} GPUs hold, each sends {sent:g} times its own data",
                         f"{count} GPUs in a ring cut their data into {count} pieces. In each step every GPU sends one piece to "
                         f"its neighbor. After {count - 1} steps each holds one piece summed over all, after {count - 1} more "
                         "all pieces.")


def _holds(sheet, left, top, finished):
    """One GPU with its four pieces, filled where they are sums over all GPUs."""
    sheet.box(left, top, 46, 52, color="wash", outline="line")
    for place, color in enumerate(_PIECES):
        done = place in finished
        sheet.box(left + 6, top + 5 + 11 * place, 34, 8, color=color if done else None, outline=None if done else "line", round=1)


def neighbor_picture(between):
    """Who neighbors whom behind a switch, in a mesh, over the host and between nodes, with what two of them have."""
    drawn = (("Behind a switch", "H100 SXM 80GB", _switch), ("In a mesh", "MI300X 192GB", _mesh),
             ("Over the host", "RTX 4090 24GB", _host))
    sheet, rates = Sheet(330), {}
    for (title, gpu, draw), (left, top) in zip(drawn, ((0, 0), (204, 0), (0, 168))):
        rates[gpu] = Case(gpu=gpu, ranks=2)(ic.group_bandwidth)
        _panel(sheet, left, top, title, f"{gpu.rpartition(' ')[0]}: {_rate(rates[gpu])}", draw)
    _panel(sheet, 204, 168, "Between nodes", f"{between.name}: {_rate(between.link_bandwidth)}", _nodes)
    switch, _, host = rates.values()
    slot = catalogue.gpu("RTX 4090 24GB").link.partition(" x")[0]
    listed = ", ".join(f"{gpu} {_rate(rate)}" for gpu, rate in rates.items())
    return sheet.picture(f"Two GPUs behind a switch have {times(switch / host)} the bandwidth of two on {slot}",
                         f"From one GPU to another, per direction: {listed}; between nodes one port of "
                         f"{_rate(between.link_bandwidth)} for each GPU.")


def _rate(value):
    return number(value, "byte/second")


def _panel(sheet, left, top, title, said, draw):
    sheet.text(left + 98, top + 16, title, at="middle", bold=True)
    draw(sheet, left, top + 26)
    sheet.text(left + 98, top + 146, said, at="middle", color="soft")


def _switch(sheet, left, top):
    sheet.box(left + 14, top + 42, 168, 18, color="c")
    sheet.text(left + 98, top + 55, "NVLink switch", at="middle", color="paper", size=12)
    for place in range(4):
        x = left + 32 + 44 * place
        sheet.line((x, top + 14), (x, top + 42), color="c", thick=3).line((x, top + 60), (x, top + 88), color="c", thick=3)
        sheet.circle(x, top + 14, 9).circle(x, top + 88, 9)


def _mesh(sheet, left, top):
    places = [(left + 98 + 44 * cos(pi * (step + 0.5) / 4), top + 51 + 44 * sin(pi * (step + 0.5) / 4)) for step in range(8)]
    for index, place in enumerate(places):
        for other in places[index + 1:]:
            sheet.line(place, other, color="c", thick=1)
    for x, y in places:
        sheet.circle(x, y, 9)


def _host(sheet, left, top):
    for side in range(2):
        start = left + 8 + 98 * side
        sheet.box(start, top + 12, 82, 24, color="b").text(start + 41, top + 28, "CPU, RAM", at="middle", color="paper", size=12)
        for place in range(4):
            x = start + 11 + 20 * place
            sheet.line((x, top + 36), (x, top + 78), color="b", thick=1).circle(x, top + 82, 8)
    sheet.line((left + 90, top + 24), (left + 106, top + 24), color="b")


def _nodes(sheet, left, top):
    sheet.box(left + 8, top + 6, 180, 18, color="e").text(left + 98, top + 19, "network", at="middle", color="paper", size=12)
    for side in range(2):
        start = left + 8 + 98 * side
        sheet.box(start, top + 60, 82, 32, color="wash", outline="line")
        for place in range(8):
            x = start + 6 + 10 * place
            sheet.line((x, top + 24), (x, top + 72), color="e", thick=1).circle(x, top + 76, 4)
