"""Kinds of memory: their bandwidths and sizes, as tables and pictures."""
import math

from pandas import DataFrame, isna

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, times
from gpucalc.laws.memories import all_units_bandwidth, all_units_bytes, level_read_seconds, pin_bandwidth
from gpucalc.laws.quantization import quantized_weight_bytes
from gpucalc.rows import catalogue
from ..components.picture import Sheet
from ..components.show import difference, table


# The page of memories: kinds with their pins and rates, and the levels of a server from registers to network storage.

# What a level takes from the card's row, and how many cards have it.
_FROM_CARD = {"L2": ("l2_bytes", None), "device": ("memory_bytes", "bandwidth"), "peers": ("memory_bytes", "link_bandwidth"),
              "host": (None, "host_bandwidth")}


def _bytes(value):
    return number(value, "byte")


def short(seconds):
    """A latency, which may be under a microsecond."""
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else number(seconds, "second")


def kinds():
    """Kinds of memory on cards: what pins and their rate give beside the data sheet's bandwidth, and what one device gives."""
    frame, cards = catalogue.memory_kinds().reset_index(), catalogue.gpus()
    taken = {name: list(cards.loc[frame["gpu"], name]) for name in ("bandwidth", "marketed_bytes", "year")}
    frame = frame.assign(pin_bandwidth=pin_bandwidth(frame["bus_bits"], frame["pin_rate"]),
                         one=pin_bandwidth(frame["device_bits"], frame["pin_rate"]),
                         devices=frame["bus_bits"] / frame["device_bits"], **taken)
    return frame.assign(off=frame["pin_bandwidth"] / frame["bandwidth"] - 1)


def kind_table():
    """`kinds` as the page shows them."""
    shown = kinds()[["memory_type", "gpu", "pin_bandwidth", "bandwidth", "off", "bus_bits", "pin_rate", "device", "devices",
                     "one", "year", "marketed_bytes"]]
    return table(shown, "Kinds of memory, each on a card that has it",
                 labels={"memory_type": "memory", "gpu": "card", "device": "comes as a", "devices": "of them", "bus_bits": "pins",
                         "pin_rate": "a pin", "one": "from one", "pin_bandwidth": "bandwidth, by the formula",
                         "bandwidth": "data sheet", "marketed_bytes": "size as sold"},
                 formats={"pin_rate": lambda rate: f"{rate / 1e9:.4g} Gb/s", "one": lambda value: number(value, "byte/second"),
                          "off": difference, "marketed_bytes": _bytes,
                          "year": "{:.0f}".format, "devices": "{:.0f}".format})


def levels(gpu="H100 SXM 80GB"):
    """Levels of memory that a card reaches, each with its size, bandwidth and latency; a size nobody sets is blank."""
    frame, card = catalogue.memories().query("gpu == @gpu").reset_index(), catalogue.gpu(gpu)
    rows = [row | _sized(row, card) for row in frame.to_dict("records")]
    return DataFrame(rows)


def _sized(row, card):
    if row["unit_bytes"] == row["unit_bytes"]:
        return {"level_bytes": all_units_bytes(card.units, row["unit_bytes"]),
                "level_bandwidth": all_units_bandwidth(card.units, card.clock, row["unit_clock_bytes"])}
    others = card.reach - 1 if row["level"] == "peers" else 1
    size, rate = (None if name is None else card[name] for name in _FROM_CARD.get(row["level"], (None, None)))
    return {column: given * (others if column == "level_bytes" else 1)
            for column, given in (("level_bytes", size), ("level_bandwidth", rate)) if isna(row[column]) and given is not None}


def passes(model, gpu="H100 SXM 80GB", weight_format="BF16"):
    """`levels` with the time in which a model's weights pass from each once, and how often a second."""
    case = Case(model=model, weight_format=weight_format)
    frame, size = levels(gpu), case(quantized_weight_bytes)
    seconds = level_read_seconds(size, frame["level_bandwidth"])
    return frame.assign(level_read_seconds=seconds, per_second=1 / seconds, holds=frame["level_bytes"] / size)


def level_table(model, gpu, weight_format):
    """`passes` as the page shows them."""
    frame = passes(model, gpu, weight_format)
    shown = frame[["memory", "place", "level_bytes", "level_bandwidth", "latency", "level_read_seconds", "per_second", "holds"]]
    return table(shown, f"Levels of memory around one {gpu}, and {model} in {weight_format} passing once from each",
                 labels={"memory": "level", "place": "where", "level_bytes": "size", "level_bandwidth": "bandwidth",
                         "latency": "latency", "level_read_seconds": "one pass", "per_second": "passes a second",
                         "holds": "holds of the model"},
                 formats={"level_bytes": _bytes, "latency": short, "per_second": lambda value: number(float(f"{value:.3g}")),
                          "holds": lambda share: percent(share) if share < 1 else "all"})


def unit_table():
    """Memory on the chip by generation: of one multiprocessor, of all, and the last level of cache."""
    frame, cards = catalogue.generations().reset_index(), catalogue.gpus()
    frame = frame[frame["gpu"].isin(cards.index) & frame["unit_register_bytes"].notna()]
    frame = frame.assign(**{name: list(cards.loc[frame["gpu"], name]) for name in ("units", "l2_bytes")})
    frame = frame.assign(registers=all_units_bytes(frame["units"], frame["unit_register_bytes"]),
                         first=all_units_bytes(frame["units"], frame["unit_cache_bytes"]))
    kib = dict.fromkeys(("unit_register_bytes", "unit_cache_bytes"), lambda value: f"{value / 1024:.0f} KiB")
    mib = dict.fromkeys(("registers", "first", "l2_bytes"), lambda value: f"{value / 2**20:.3g} MiB")
    shown = frame[["generation", "gpu", "units", "unit_register_bytes", "unit_cache_bytes", "registers", "first", "l2_bytes"]]
    return table(shown, "Memory on the chip by generation",
                 labels={"gpu": "card", "units": "units", "unit_register_bytes": "registers of one",
                         "unit_cache_bytes": "L1 of one", "registers": "registers of all", "first": "L1 of all",
                         "l2_bytes": "last cache"}, formats=kib | mib)


# The levels of memory to scale: how much each holds and how fast it gives it, on log scales and, of three, by area.

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
