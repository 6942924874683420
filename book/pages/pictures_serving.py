"""Diagrams of a server: batches on a time line, and the queue in front of its replicas."""
from math import ceil

from gpucalc.core.figures import number, seconds
from gpucalc.laws import queueing, serving
from ..components.picture import Sheet
from ..components.yours import Yours

# An example: places of a batch, tokens of each answer in the order in which they are asked for, and what the sheet shows of time.
_PLACES, _ANSWERS, _TIME = 4, (9, 4, 12, 6, 7, 10, 5, 8, 11, 6, 9, 7), 30
_PROMPT, _TOKEN, _PAUSE = "prompt", "token", "pause"
_COLORS = {_PROMPT: "b", _TOKEN: "a", _PAUSE: "wash"}


def schedule(continuous, answers=_ANSWERS, places=_PLACES, time=_TIME):
    """What each place does at each time: a prompt stops the others; a free place is filled at once, or when all are free."""
    waiting, left, done = list(answers), [0] * places, []
    filling = True
    while len(done) < time:
        free = [place for place in range(places) if not left[place]]
        filling = bool(free) and (continuous or filling or len(free) == places)
        if filling and waiting:
            left[free[0]] = waiting.pop(0)
            done.append([_PROMPT if place == free[0] else _PAUSE if left[place] else None for place in range(places)])
        else:
            done.append([_TOKEN if rest else None for rest in left])
            left = [max(rest - 1, 0) for rest in left]
    return done


def batching_picture(case):
    """The same requests in batches that start and end together, and in a batch that is kept full."""
    sheet, yours = Sheet(252), Yours(case)
    written = [_lines(sheet, top, title, schedule(continuous))
               for top, title, continuous in ((0, "Static: a batch starts and ends together", False),
                                              (96, "Continuous: a free place is filled at once", True))]
    sheet.arrow((70, 196), (392, 196)).text(8, 200, "time", color="soft")
    sheet.box(8, 215, 12, 12, color="b").words(26, 226, "a prompt, ", yours.replica_prefill_seconds)
    sheet.box(176, 215, 12, 12).words(194, 226, "a token for each, ", yours.replica_pass_seconds)
    sheet.box(8, 235, 12, 12, color="wash", outline="line").text(26, 246, "a place that waits while another's prompt is read")
    return sheet.picture(f"Kept full, the same server writes {written[1]} tokens instead of {written[0]}",
                         f"{_PLACES} places over time. Static batches leave places empty until the longest answer ends and "
                         f"write {written[0]} tokens; continuous batching fills each at once and writes {written[1]}. While a "
                         "prompt is read, the other places pause.")


def _lines(sheet, top, title, done):
    """The places of one server as lines of what they do; returns the tokens written."""
    sheet.text(8, top + 16, title, bold=True)
    wide = 324 / len(done)
    for place in range(_PLACES):
        y = top + 26 + 15 * place
        sheet.text(8, y + 11, f"place {place + 1}", color="soft")
        for moment, doing in enumerate(done):
            if doing[place]:
                sheet.box(68 + moment * wide, y, wide - 1, 12, color=_COLORS[doing[place]], round=1)
    return sum(doing == _TOKEN for moment in done for doing in moment)


def queue_picture(case):
    """Requests that wait for one of the places: how many are inside at once, and how many places there are."""
    replicas, rate, batch = (case.inputs[name] for name in ("replicas", "requests_per_second", "batch"))
    stay, shown = case(serving.request_seconds), min(replicas, 4)
    sheet = Sheet(176)
    sheet.text(8, 22, f"{number(rate)} a second", bold=True).arrow((8, 78), (66, 78))
    for place in range(3):
        sheet.box(74 + 17 * place, 70, 13, 16, color="b")
    sheet.text(98, 108, "queue", at="middle", color="soft")
    filled = min(ceil(case(queueing.offered_load) * batch), batch)
    for place in range(shown):
        top = 6 + 132 / shown * place
        sheet.line((128, 78), (166, top + 60 / shown), color="line")
        _replica(sheet, 170, top, 132 / shown - 8, batch, filled)
    sheet.arrow((322, 78), (392, 78)).text(392, 66, "answers", at="end", color="soft")
    more = f"{shown} of {replicas:,} replicas" if replicas > shown else f"{replicas:,} replicas"
    sheet.text(243, 158, f"{more}, {batch} places each", at="middle", color="soft")
    sheet.text(392, 96, f"after {seconds(stay)}", at="end", color="soft")
    inside = f"{round(rate * stay):,} inside at once"
    return sheet.picture(f"{number(rate)} requests a second that stay {seconds(stay)} each are {inside}",
                         f"A queue in front of {replicas:,} replicas with {batch} places each, of which about {filled} are "
                         "filled.")


def _replica(sheet, left, top, tall, batch, filled):
    """One server with its places, those that are filled in color; up to two rows of twelve stand for them all."""
    sheet.box(left, top, 146, tall, color="wash", outline="line")
    columns = min(batch, 12)
    for place in range(min(batch, 24)):
        x, y = left + 6 + 11.4 * (place % columns), top + tall / 2 - 10 + 11 * (place // columns)
        sheet.box(x, y, 9, 8, color="a" if place < filled * min(batch, 24) / batch else None, outline="line", round=2)
