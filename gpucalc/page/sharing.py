"""Shared and idle GPUs, as a page shows them."""
from pandas import DataFrame

from ..core.figures import dollars, number
from .show import table


def ways_table(found, caption):
    """What `plan.sharing.ways` found: each card and slice, how many a load takes, and a month of them with its band."""
    rows = [dict(on=row.gpu, provider=row.provider, parts=number(row.gpus), rate=dollars(row.usd_per_hour / row.instances),
                 shared=_banded(row, "shared_usd") if row.instances > 1 else "–", alone=_banded(row, "alone_usd"))
            for row in found.itertuples()]
    return table(DataFrame(rows), caption, labels={
        "on": "on", "provider": "from", "parts": "how many", "rate": "an hour of one", "shared": "a month, others use the rest",
        "alone": "a month, whole GPUs"})


def _banded(row, column):
    """A cost in words, with its ends where they differ."""
    plan, low, high = (getattr(row, f"{side}{column}") for side in ("", "low_", "high_"))
    return f"{plan:,.0f} USD" + ("" if low == high else f" ({low:,.0f} to {high:,.0f})".replace("inf", "too slow"))


def slices_table(slices, caption):
    """The slices of a GPU: how many, their part of multiprocessors and memory, and what all of them leave over."""
    return table(slices, caption, labels={
        "profile": "slice", "instances": "on one GPU", "units": "multiprocessors", "compute": "of the GPU's",
        "memory_bytes": "memory", "bandwidth": "bandwidth", "left": "multiprocessors left over",
        "rate": "an hour of one, all used"}, formats={"compute": "{:.1%}".format, "left": "{:.0%}".format, "rate": dollars})
