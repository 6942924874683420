"""Shared and idle GPUs, as a page shows them."""
from pandas import DataFrame

from gpucalc.core.figures import dollars, number, percent
from ..components.picture import WIDE, Sheet
from ..components.show import table


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
    sheet = Sheet(126)
    for place, (name, share) in enumerate(shares.items()):
        said, rest = f"{name}: {percent(share)} in each slice", f"{percent(left[name])} in none"
        _cut_bar(sheet, said, rest, share, part.instances, 64 * place)
    return sheet.picture(f"{part.instances} slices are less than the whole {gpu}",
                         f"{gpu} cut into {part.instances} slices: {percent(left['multiprocessors'])} of its multiprocessors and "
                         f"{percent(left['memory'])} of its memory are in none of them.")


def _cut_bar(sheet, said, rest, share, count, top):
    """A bar for the whole GPU: a piece for each slice, and the rest in another color."""
    sheet.text(0, top + 14, said).text(WIDE, top + 14, rest, "end", "b", True)
    for each in range(count):
        sheet.box(each * share * WIDE, top + 22, share * WIDE - 2, 32, "a", round=1)
    sheet.box(count * share * WIDE, top + 22, max(1 - count * share, 0) * WIDE, 32, "b", round=1)
