"""The levels of memory to scale: how much each holds and how fast it gives it, on log scales and, of three, by area."""
import math

from gpucalc.core.figures import number, times
from ..components.picture import Sheet
from .memories import levels, passes, short

_COLORS = {"registers": "d", "L1": "b", "L2": "e", "device": "a", "peers": "g", "host": "c", "disk": "f", "network": "h"}
_LEFT, _WIDE, _STEP = 4, 236, 46


def ladder_picture(model, gpu, weight_format):
    """Each level as two bars on log scales: bandwidth, in its color, and size, pale; with the time of one pass of the model."""
    frame = passes(model, gpu, weight_format)
    sheet = Sheet(40 + _STEP * len(frame))
    rates, sizes = frame["level_bandwidth"], frame["level_bytes"].dropna()
    sheet.words(_LEFT, 14, ("bandwidth", "a"), " and size: each on a log scale", size=12)
    sheet.text(396, 14, "one pass", "end", size=12)
    for place, row in enumerate(frame.itertuples()):
        down, color = 34 + _STEP * place, _COLORS[row.level]
        sheet.text(_LEFT, down + 2, row.memory, bold=True, color=color)
        sheet.text(396, down + 17, number(row.level_read_seconds, "second"), "end", bold=True)
        long = _log(row.level_bandwidth, rates)
        sheet.box(_LEFT, down + 7, long, 12, color, round=2)
        sheet.text(_LEFT + long + 5, down + 17, number(row.level_bandwidth, "byte/second"), size=11)
        if row.level_bytes == row.level_bytes:
            long = _log(row.level_bytes, sizes)
            sheet.box(_LEFT, down + 21, long, 9, "wash", "line", 2)
            sheet.text(_LEFT + long + 5, down + 30, number(row.level_bytes, "byte"), size=11, color="soft")
    first, last = frame.iloc[0], frame.iloc[-1]
    said = "; ".join(f"{row.memory} {number(row.level_bandwidth, 'byte/second')}, one pass "
                     f"{number(row.level_read_seconds, 'second')}" for row in frame.itertuples())
    faster = first["level_bandwidth"] / last["level_bandwidth"]
    return sheet.picture(f"From {last['memory']} to {first['memory']} the bandwidth rises {times(faster)}",
                         f"Bars on log scales. {said}.")


def _log(value, values):
    """The length of a bar: a tenth for the least value, the whole width for the most."""
    low, high = math.log(values.min()), math.log(values.max())
    return _WIDE * (0.1 + 0.9 * (math.log(value) - low) / (high - low))


def area_picture(gpu="H100 SXM 80GB"):
    """Sizes of what is on the chip beside the card's memory, by area."""
    frame = levels(gpu).set_index("level")["level_bytes"]
    whole, sheet, at = frame["device"], Sheet(236), 266.0
    side = 200.0
    sheet.box(4, 26, side, side, _COLORS["device"]).text(12, 46, "HBM", color="paper", bold=True)
    sheet.text(12, 64, number(whole, "byte"), color="paper").text(4, 16, "area to scale", size=12, color="soft")
    for place, (name, title) in enumerate((("L2", "L2"), ("L1", "shared memory and L1"), ("registers", "registers"))):
        edge = side * (frame[name] / whole) ** 0.5
        down = 58 + 56 * place
        sheet.box(224, down, edge, edge, _COLORS[name], round=0).text(at - 26, down + 6, title, bold=True, color=_COLORS[name])
        sheet.text(at - 26, down + 23, number(frame[name], "byte"), size=12)
    held = frame[["L2", "L1", "registers"]].sum()
    return sheet.picture(f"All memory on the chip of {gpu} together is one part in {whole / held:,.0f} of the memory beside it",
                         f"Squares whose areas are the sizes: HBM {number(whole, 'byte')}, L2 {number(frame['L2'], 'byte')}, "
                         f"shared memory and L1 {number(frame['L1'], 'byte')}, registers {number(frame['registers'], 'byte')}; "
                         f"latencies {short(levels(gpu)['latency'].iloc[0])} to {short(levels(gpu)['latency'].iloc[3])}.")
