"""Pictures of a whole bill: who charges for what, and what each way to do the work spends its money on."""
from gpucalc.core.figures import chance, dollars, hourly, number
from ..components.bill_charts import TITLES
from ..components.picture import WIDE, Sheet
from .bills import PARTS

COLORS = dict(zip(PARTS, "abcde"))
_BOX, _ROW = 138, 56


def places_picture(home_at, away, gpu, load, usd_per_gb, usd_per_gb_month):
    """The cloud that keeps the data and the one that rents out the GPUs, with the price that each asks; no amounts.

    away: a row of offers; load: corpus_bytes, stored_bytes, runs; the two prices are those of the first byte that is paid, that
    of storage None where the book has none.
    """
    sheet, right = Sheet(206), WIDE - _BOX
    storage = ("no price", "") if usd_per_gb_month is None else (f"{usd_per_gb_month:.3g} USD/GB", "and month")
    _place(sheet, 0, home_at, "keeps the data", number(load["stored_bytes"], "byte"), *storage)
    _place(sheet, right, away.provider, "rents the GPUs", gpu, f"{float(away.usd_per_hour):.3g} USD/h", "and GPU")
    sheet.arrow((_BOX + 6, 66), (right - 6, 66), color="d", thick=3)
    sheet.text(WIDE / 2, 50, "egress", "middle", "d", True).text(WIDE / 2, 88, f"{usd_per_gb:.3g} USD/GB", "middle", "d")
    pulled = f"{number(load['corpus_bytes'], 'byte')} leave {home_at} in each of {number(load['runs'])} runs"
    for place, said in enumerate((pulled, "or once, if you keep a copy beside the GPUs;", "what comes in is free")):
        sheet.text(WIDE / 2, 154 + 22 * place, said, "middle", "soft" if place else "ink")
    return sheet.picture("The cloud that the data leaves charges for it",
                         f"{home_at} asks for storage and {usd_per_gb:.3g} USD for each gigabyte that "
                         f"leaves, {away.provider} for {hourly(float(away.usd_per_hour))} of a GPU. {pulled}.")


def _place(sheet, left, name, *lines):
    sheet.box(left + 1, 1, _BOX - 2, 124, "wash", "line", 8).text(left + 10, 25, _short(name, 17), bold=True)
    for place, said in enumerate(lines):
        sheet.text(left + 10, 49 + 21 * place, said, color="soft" if place < 2 else "a", bold=place == 2)


def _short(name, most):
    return name if len(name) <= most else name[:most - 1].rstrip() + "…"


def bills_picture(bills, spread):
    """Each way to do the work as a bar of what its money is spent on, and a line across eight in ten cases.

    bills: name -> a row with `plan.bills.PARTS`; spread: name -> the band of its total.
    """
    most = max(max(row.total_usd, spread[name].high) for name, row in bills.items())
    first, used = next(iter(bills.values())), [part for part in PARTS if any(row[part] for row in bills.values())]
    foot = _ROW * len(bills)
    sheet = Sheet(foot + 34 + 22 * ((len(used) + 1) // 2))
    for place, (name, row) in enumerate(bills.items()):
        _bill(sheet, _ROW * place, name, row, spread[name], most)
    sheet.text(0, foot + 14, "the first of them:", color="soft")
    for place, part in enumerate(used):
        across, down = 200 * (place % 2), foot + 36 + 22 * (place // 2)
        sheet.box(across, down - 11, 12, 12, COLORS[part], round=2)
        sheet.text(across + 18, down, f"{TITLES[part]}, {dollars(first[part])}")
    share, largest = max((first[part] / first.total_usd, TITLES[part]) for part in PARTS)
    return sheet.picture(f"{largest.capitalize()} is {chance(share)} of the cheapest bill",
                         "; ".join(f"{name}: {dollars(row.total_usd)}" for name, row in bills.items()))


def _bill(sheet, top, name, row, band, most):
    sheet.text(0, top + 15, _short(name, 42), bold=True).text(WIDE, top + 15, dollars(row.total_usd), "end")
    left = 0.0
    for part in PARTS:
        wide = row[part] / most * WIDE
        if wide:
            sheet.box(left, top + 22, max(wide - 1, 1), 22, COLORS[part], round=1)
        left += wide
    if band.low < band.high:
        low, high = (end / most * (WIDE - 1) for end in (band.low, band.high))
        sheet.line((low, top + 33), (high, top + 33), color="ink", thick=2)
        for end in (low, high):
            sheet.line((end, top + 27), (end, top + 39), color="ink", thick=2)
