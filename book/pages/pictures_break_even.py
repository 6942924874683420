"""Pictures of rent or buy: which hours are paid, what an owned hour is made of, where rents break even, what moves the answer."""
import collections

from gpucalc.core.arithmetic import HOURS_PER_DAY
from gpucalc.core.figures import dollars, hourly, percent, usd
from ..components.decision_charts import input_text, short_name
from ..components.picture import WIDE, Sheet

# What stands as one line in the picture of an owned hour, of the parts that `decide.owned_parts` names.
_TOGETHER = {"spares": "network and spares", "network": "network and spares",
             "power at work": "power", "power while idle": "power"}
_NAMES, _ROW = 146, 22


def hours_paid(utilization):
    """One day of an owned and of a rented GPU, hour by hour: at work, idle and paid, given back."""
    busy, sheet = round(HOURS_PER_DAY * utilization), Sheet(150)
    _day(sheet, 20, f"Owned: pays {HOURS_PER_DAY} of {HOURS_PER_DAY} hours", busy, "a", "idle, still paid", outline="a")
    _day(sheet, 92, f"Rented: pays {busy} of {HOURS_PER_DAY} hours", busy, "b", "given back, free", outline="line", dashed=True)
    return sheet.picture("You pay for an owned GPU while it idles, for a rented one only while you use it",
                         f"One day with work in {busy} of {HOURS_PER_DAY} hours. The owned GPU is paid in all of them, the "
                         f"rented one in {busy}.")


def _day(sheet, top, name, busy, color, idle, **edge):
    """The hours of a day as boxes: full ones at work, and empty ones with such an edge."""
    step = WIDE / HOURS_PER_DAY
    sheet.text(0, top - 6, name, bold=True).text(0, top + 42, "at work", color=color)
    for hour in range(HOURS_PER_DAY):
        sheet.box(hour * step + 1, top, step - 3, 26, **dict(color=color) if hour < busy else dict(color="wash", **edge))
    if busy < HOURS_PER_DAY:
        sheet.text(WIDE - 2, top + 42, idle, at="end", color="soft")


def owned_hour(parts, owned, rented, level):
    """The parts of an owned hour that is used (name -> USD), each from where the last one ended, above the rented hour."""
    lines = collections.Counter()
    for name, cost in parts.items():
        lines[_TOGETHER.get(name, name)] += cost
    totals = {"owned hour": owned, "rent today": rented} | ({} if level == rented else {"rent, all years": level})
    ends = [sum(list(lines.values())[:count]) for count in range(len(lines) + 1)]
    scale = (WIDE - _NAMES - 42) / max(*ends, *totals.values())
    sheet = Sheet(_ROW * (len(lines) + len(totals)) + 12)
    for place, (name, cost) in enumerate(lines.items()):
        start = min(ends[place:place + 2])
        _bar(sheet, place * _ROW, name, start * scale, abs(cost) * scale, usd(cost), "c" if cost < 0 else "d")
    for place, (name, cost) in enumerate(totals.items(), len(lines)):
        _bar(sheet, place * _ROW + 8, name, 0, cost * scale, usd(cost), "a" if cost is owned else "b", bold=True)
    said = ", ".join(f"{name} {usd(cost)}" for name, cost in lines.items())
    return sheet.picture(f"The server alone is {percent(parts['server'] / owned)} of an owned hour of {hourly(owned)}",
                         f"{said}. Together {hourly(owned)}; a rented hour costs {hourly(rented)} today, {hourly(level)} over "
                         "the years.")


def _bar(sheet, top, name, start, wide, figure, color, bold=False):
    sheet.text(_NAMES - 8, top + 15, name, at="end", bold=bold)
    sheet.box(_NAMES + start, top + 3, max(wide, 1), _ROW - 6, color, round=2)
    sheet.text(_NAMES + start + wide + 4, top + 15, figure.removesuffix(" USD"), bold=bold)


_LEFT, _FULL, _NEVER, _DOT, _BINS, _ABREAST = 8, 304, 322, 10, 25, 7


def break_evens(needed, utilization, gpu):
    """A dot for the break-even of each offer, over utilization; those above all hours stand under `never`."""
    wins, never = sum(share <= utilization for share in needed), sum(share > 1 for share in needed)
    column = collections.Counter(min(int(share * _BINS), _BINS - 1) for share in needed if share <= 1)
    foot = max(4, *column.values(), -(-never // _ABREAST)) * _DOT + 26
    sheet = Sheet(foot + 42).box(_NEVER - 6, 20, WIDE - _NEVER + 6, foot - 20, "wash").line((_LEFT, foot), (_FULL, foot))
    for place, count in column.items():
        for each in range(count):
            color = "b" if (place + 0.5) / _BINS > utilization else "a"
            sheet.circle(_along((place + 0.5) / _BINS), foot - 6 - each * _DOT, 4.5, color)
    for each in range(never):
        sheet.circle(_NEVER + 5 + each % _ABREAST * _DOT, foot - 6 - each // _ABREAST * _DOT, 4.5, "b")
    for share in (0, 0.25, 0.5, 0.75, 1):
        sheet.text(_along(share), foot + 17, percent(share), at={0: "start", 1: "end"}.get(share, "middle"), color="soft")
    sheet.text((_NEVER + WIDE - 6) / 2, foot + 17, "never", at="middle", color="soft")
    sheet.text(_LEFT, foot + 36, "utilization above which owning pays")
    sheet.line((_along(utilization), 18), (_along(utilization), foot), color="ink", dashed=True)
    sheet.text(_along(utilization), 13, f"{percent(utilization)} used", at="middle")
    ends = [percent(share) if share <= 1 else "never" for share in (min(needed), max(needed))]
    return sheet.picture(f"At {percent(utilization)} utilization owning {gpu} beats {wins} of {len(needed)} rents on demand"
                         + (f"; {never} it can never beat" if never else ""),
                         f"A dot for each rent on demand: break-even utilizations from {ends[0]} to {ends[1]}.")


def _along(share):
    return _LEFT + share * (_FULL - _LEFT)


def moves_most(swings, npv, count=5):
    """The inputs that move what owning is worth most, each from its low to its high end, for rows of `decide.tornado`."""
    shown = swings.head(count)
    low, high = (end(0, npv, *shown["at_low"], *shown["at_high"]) for end in (min, max))
    sheet, foot = Sheet(44 * len(shown) + 26), 44 * len(shown) + 16
    likely, even = (8 + (worth - low) * (WIDE - 16) / ((high - low) or 1) for worth in (npv, 0))
    for place, (name, row) in enumerate(shown.iterrows()):
        top, ends = 44 * place, sorted((row.at_low, row.at_high))
        start, end = (8 + (worth - low) * (WIDE - 16) / ((high - low) or 1) for worth in ends)
        sheet.text(8, top + 15, f"{short_name(name)}: {input_text(name, row.low)} to {input_text(name, row.high)}")
        sheet.box(start, top + 21, max(end - start, 1), 15, "a", round=2)
        sheet.line((likely, top + 18), (likely, top + 39), color="ink")
        sheet.line((even, top + 18), (even, top + 39), color="d", thick=2.5)
    sheet.text(likely, foot, "all likely", at="start" if likely < even else "end")
    sheet.text(even, foot, "break-even" if abs(even - likely) > 140 else "", at="end" if likely < even else "start", color="d")
    first, others = short_name(shown.index[0]), ", ".join(map(short_name, shown.index[1:]))
    ends = " to ".join(dollars(worth) for worth in sorted(shown.iloc[0][["at_low", "at_high"]]))
    return sheet.picture(f"What owning is worth depends most on the {first}",
                         f"What owning a server is worth against renting: {ends} over the range of the {first}; then {others}.")
