"""Shared and idle GPUs, as a page shows them."""
from pandas import DataFrame

from ..core.figures import dollars, number, percent
from .show import Html, table

_LEFT, _WIDE, _TALL, _CUT, _OVER = 10, 400, 30, "#4c78a8", "#f58518"


def ways_table(found, caption):
    """What `plan.sharing.ways` found: each card and slice, how many a load takes, and a month of them with its band."""
    rows = [dict(on=row.gpu, provider=row.provider, parts=number(row.gpus), rate=dollars(row.usd_per_hour / row.instances),
                 shared=_banded(row, "shared_usd") if row.instances > 1 else "–", alone=_banded(row, "alone_usd"))
            for row in found.itertuples()]
    return table(DataFrame(rows, found["row"]), caption, labels={
        "on": "on", "provider": "from", "parts": "how many", "rate": "an hour of one",
        "shared": "a month, others pay for the rest", "alone": "a month, if you pay for whole GPUs"})


def _banded(row, column):
    """A cost in words, with its ends where they differ."""
    plan, low, high = (getattr(row, f"{side}{column}") for side in ("", "low_", "high_"))
    return f"{plan:,.0f} USD" + ("" if low == high else f" ({low:,.0f} to {high:,.0f})".replace("inf", "too slow"))


def slices_table(slices, caption):
    """The slices of a GPU: how many, their part of multiprocessors and memory, and what all of them leave over."""
    return table(slices, caption, labels={
        "profile": "slice", "instances": "on one GPU", "units": "multiprocessors", "compute": "of the GPU's",
        "memory_bytes": "memory", "bandwidth": "bandwidth", "left": "left over",
        "rate": "an hour of one, all used"}, formats={"compute": "{:.1%}".format, "left": "{:.0%}".format, "rate": dollars})


def slices_picture(gpu, part, card):
    """What all slices of one kind take of a GPU's multiprocessors and memory, and what is left over; `part`: a `slice_row`."""
    shares = {"multiprocessors": part.units / card.units, "memory": part.memory_bytes / card.memory_bytes}
    left = {name: max(1 - part.instances * share, 0) for name, share in shares.items()}
    said = (f"{gpu} cut into {part.instances} slices: {percent(left['multiprocessors'])} of its multiprocessors and "
            f"{percent(left['memory'])} of its memory are in none of them.")
    bars = "".join(_cut_bar(name, shares[name], part.instances, left[name], 54 * place) for place, name in enumerate(shares))
    return Html(f'<svg viewBox="0 0 420 112" width="460" class="picture" font-size="14" role="img" aria-label="{said}">'
                f"{bars}</svg>", said)


def _cut_bar(name, share, count, left, top):
    """A bar for the whole GPU: a piece for each slice, and the rest in another color."""
    wide, place = share * _WIDE, top + 18
    pieces = "".join(f'<rect x="{_LEFT + each * wide:.1f}" y="{place}" width="{wide - 2:.1f}" height="{_TALL}" fill="{_CUT}"/>'
                     for each in range(count))
    rest = f'<rect x="{_LEFT + count * wide:.1f}" y="{place}" width="{left * _WIDE:.1f}" height="{_TALL}" fill="{_OVER}"/>'
    words = f"{name}: {percent(share)} in each slice, {percent(left)} in none"
    return f'<text x="{_LEFT}" y="{top + 13}" fill="currentColor">{words}</text>{pieces}{rest}'
