"""Diagrams of prompts and answers: on one server, whole or in chunks, and on two; and what lies between the two."""
from gpucalc.core.figures import number
from gpucalc.laws import serving
from ..components.picture import Sheet
from ..components.yours import Yours

_LEFT, _RIGHT, _ROUNDS, _MOST = 8, 392, 2, 90


def times_picture(case):
    """Two rounds of a full batch on a time line to scale: prompts whole, prompts in chunks, prompts on another server."""
    lanes, total = _lanes(case)
    sheet, scale = Sheet(228), (_RIGHT - _LEFT) / total
    for place, (name, blocks) in enumerate(lanes):
        top = 8 + 44 * place
        sheet.text(_LEFT, top + 12, name, bold=place != 3, color="soft" if place == 3 else "ink")
        for start, wide, kind in blocks:
            sheet.box(_LEFT + start * scale, top + 18, max(wide * scale - 1, 0.7), 16, color=kind, round=1)
    sheet.box(_LEFT, 192, 12, 12, color="b").text(26, 203, "a prompt, or a chunk of one")
    sheet.box(218, 192, 12, 12).text(236, 203, "a token for everybody")
    sheet.arrow((_LEFT + 36, 220), (_RIGHT, 220)).text(_LEFT, 224, "time", color="soft", size=12)
    mixed, apart = (sum(kind == "a" for *_, kind in lanes[place][1]) for place in (0, 2))
    return sheet.picture(f"Undisturbed, the batch writes {apart} tokens in the time of {mixed}",
                         f"A server that reads each prompt whole stops writing meanwhile, {mixed} passes in this time. In "
                         f"chunks, every pass is longer. With prompts on a server of their own the batch makes {apart} passes.")


def _lanes(case):
    """Name and blocks (start, seconds, color) of each lane, and the seconds that are shown."""
    prompt, step = case("prompt_turn_seconds"), case(serving.replica_pass_seconds)
    mixed = case.but(chunk=serving.steady_chunk)(serving.replica_pass_seconds)
    each = max(round(case.inputs["output"] / case.inputs["batch"]), 1)
    whole = [(step, "a")] * each + [(prompt, "b")]
    total = _ROUNDS * sum(seconds for seconds, _ in whole)
    chunked = [(step, "a"), (max(mixed - step, 0), "b")] * max(round(total / mixed), 1)
    beside = [(prompt, "b"), (max(total / _ROUNDS - prompt, 0), None)] * _ROUNDS
    writing = [(step, "a")] * max(round(total / step), 1)
    named = (("One server: a prompt stops everybody", whole * _ROUNDS), ("One server, in chunks: every pass is longer", chunked),
             ("Two servers: one writes ...", writing), ("... and one reads", beside))
    return [(name, _started(blocks[:_MOST * 2], total)) for name, blocks in named], total


def _started(blocks, total):
    """Blocks with their starts, as far as they begin within the time that is shown."""
    found, now = [], 0.0
    for seconds, kind in blocks:
        if kind and now < total * 0.999:
            found.append((now, min(seconds, total - now), kind))
        now += seconds
    return found


def handover_picture(case):
    """Servers that read prompts, the cache that they send, and servers that write answers."""
    yours, ratio = Yours(case), case("prompt_ratio")
    reads, writes = (min(max(round(share), 1), 4) for share in (ratio, 1 / ratio))
    foot = 62 + 26 * max(reads, writes, 2)
    sheet = Sheet(foot + 12)
    for count, x, color, name in ((reads, 8, "b", "reading"), (writes, 282, "a", "writing")):
        for place in range(count):
            sheet.box(x, 28 + 26 * place, 110, 22, color=color)
            sheet.text(x + 55, 44 + 26 * place, name, at="middle", color="paper")
    sheet.text(63, 18, "prompts", at="middle", bold=True).text(337, 18, "answers", at="middle", bold=True)
    sheet.arrow((124, 66), (276, 66)).words(200, 56, (yours.prompt_kv_bytes, "c"), " a prompt", at="middle")
    sheet.words(200, 84, "in ", (yours.cache_sent_seconds, "c"), at="middle")
    sheet.words(8, foot, (yours.prompt_ratio, "b"), " times as many servers read as write")
    return sheet.picture("Each prompt's cache travels once",
                         f"Servers that read prompts send {number(case('prompt_kv_bytes'), 'byte')} of cache for each to servers "
                         f"that write. {number(ratio)} times as many read as write.")
