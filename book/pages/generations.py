"""Generations of GPUs: what grew how fast, what a dollar buys, and time lines of it."""
import itertools
import math
import re

from pandas import DataFrame

from gpucalc.core.figures import number, three_figures, times
from gpucalc.laws.arithmetic_intensity import ridge_point
from gpucalc.laws.worth import bandwidth_per_rent, bandwidth_per_usd, flops_per_rent, flops_per_usd, unit_peak
from gpucalc.rows import catalogue
from gpucalc.rows.kept import derivation, selection
from ..components.dates import dated
from ..components.picture import Sheet, WIDE
from ..components.show import difference, table
from .what_changed import rents_at_will


# The page of generations: what each brought, its formats, its peak from units and clock, its link, and what it cost.

# Formats from wide to narrow, each with the peak of a card and what one unit does in a clock.
FORMATS = {"FP32": ("fp32_flops", "unit_fp32"), "TF32": ("tf32_flops", "unit_tf32"),
           "BF16 or FP16": ("peak_flops", "unit_half"), "INT8": ("int8_flops", "unit_int8"),
           "FP8": ("fp8_flops", "unit_fp8"), "FP4": ("fp4_flops", "unit_fp4")}
CARDS = ("P100 SXM 16GB", "V100 SXM 32GB", "RTX 2080 Ti 11GB", "A100 SXM 80GB", "H100 SXM 80GB", "H200 SXM 141GB",
         "B200 SXM 180GB", "GB200 NVL72 186GB")
PETA, TERA = 1e15, 1e12
_CLOSE = 0.015  # a data sheet's peak is rounded, and its clock too


def _rate(value):
    return number(value, "FLOP/second")


def _bytes(value):
    return number(value, "byte")


def _byte_rate(value):
    return number(value, "byte/second")


def generations():
    """Every generation with the row of the card that stands for it; if none is named, the newest card of the generation."""
    frame, cards = catalogue.generations(), catalogue.gpus()
    newest = cards.sort_values("year", kind="stable").reset_index().groupby("generation")["gpu"].last()
    named = [gpu or newest.get(name, "") for name, gpu in frame["gpu"].items()]
    known = [gpu in cards.index for gpu in named]
    held = frame.drop(columns=["vendor", "year", "link", "unit", "source", "date", "confidence", "note"])
    taken = cards.reindex([gpu if there else None for gpu, there in zip(named, known)]).set_axis(frame.index)
    joined = taken.drop(columns=["generation"]).assign(**held.drop(columns="gpu"), gpu=named, brought_link=frame["link"])
    joined = joined.assign(vendor=frame["vendor"], year=frame["year"])
    there = joined[known]
    return joined.assign(half=joined["peak_flops"].where(joined["peak_format"] != "FP32"), described=known,
                         ridge=ridge_point(there["peak_flops"], there["bandwidth"]).reindex(joined.index))


def headline():
    """What the sentences of the page say: how far the cards came, and how well peaks follow from units and clock."""
    cards = generations().query("vendor == 'NVIDIA' and status == 'available' and tensor_cores != 'none'")
    cards = cards[cards["memory_type"].str.startswith("HBM")]
    first, last, off = cards.iloc[0], cards.iloc[-1], peaks()
    far = off[off["off"].abs() > _CLOSE]
    return {"first": first["gpu"], "last": last["gpu"], "years": int(last["year"] - first["year"]), "close": _CLOSE,
            "flops": last["peak_flops"] / first["peak_flops"], "bandwidth": last["bandwidth"] / first["bandwidth"],
            "ridge_first": first["ridge"], "ridge_last": last["ridge"], "agree": len(off) - len(far), "apart": list(far["gpu"])}


def look_up(vendors=("NVIDIA",)):
    """The first table: one line a generation."""
    frame = generations().query("vendor in @vendors").reset_index()
    shown = frame[["generation", "year", "bandwidth", "peak_flops", "peak_format", "ridge", "gpu", "memory_type", "link",
                   "link_bandwidth"]]
    return table(shown, f"Generations of {' and '.join(vendors)}, each by one card",
                 labels={"gpu": "card", "memory_type": "memory", "peak_flops": "dense peak", "peak_format": "in",
                         "ridge": "ridge point", "link_bandwidth": "per direction"},
                 formats={"year": "{:.0f}".format, "ridge": lambda value: number(value, "FLOP/byte")})


def brought_table():
    """What was new in each generation, and in which process its chip is made."""
    frame = generations().reset_index()
    return table(frame[["generation", "brought", "tensor_cores", "process", "tdp_watts"]], "What each generation brought",
                 labels={"brought": "what was new", "tensor_cores": "tensor or matrix cores", "tdp_watts": "power of its card"})


def format_table():
    """FLOP of one unit in a clock, by generation and format: a dash where the tensor cores do not multiply it, or nobody says."""
    frame = catalogue.generations().reset_index()
    units = [unit for _, unit in FORMATS.values()]
    return table(frame[["generation", "tensor_cores", "formats", *units]],
                 "What one multiprocessor or compute unit does in a clock, dense; a TPU chip is one",
                 labels={"tensor_cores": "tensor cores", "formats": "they multiply"}
                 | {unit: name for name, (_, unit) in FORMATS.items()},
                 formats=dict.fromkeys(units, lambda value: f"{value:,.0f}"))


def peaks():
    """Peak by units, clock and what a unit does in a clock, beside the data sheet's, by generation and format."""
    rows = []
    for name, row in generations().query("described and clock == clock").iterrows():
        for form, (column, unit) in FORMATS.items():
            if row[unit] == row[unit] and row[column] == row[column]:
                peak = unit_peak(row["units"], row["clock"], row[unit])
                rows.append({"generation": name, "gpu": row["gpu"], "format": form, "units": row["units"], "clock": row["clock"],
                             "unit_flops": row[unit], "unit_peak": peak, "sheet": row[column]})
    frame = DataFrame(rows)
    return frame.assign(off=frame["unit_peak"] / frame["sheet"] - 1)


def peak_table():
    """`peaks` of the format in which a card multiplies in 16 bits."""
    frame = peaks().query("format == 'BF16 or FP16' or generation == 'Pascal'").drop(columns="format")
    return table(frame, "Peak in 16 bits (Pascal: FP32) from units and clock, beside the data sheet",
                 labels={"gpu": "card", "unit_flops": "FLOP of a unit in a clock", "unit_peak": "by the formula",
                         "sheet": "data sheet", "units": "units", "clock": "clock"},
                 formats={"sheet": _rate, "unit_flops": "{:,.0f}".format,
                          "off": difference})


def link_table():
    """NVLink by generation: one link and all links of a GPU, per direction, and both directions as NVIDIA prints them."""
    frame = catalogue.links()
    frame = frame[frame.index.str.fullmatch(r"NVLink \d+( rack)?")].reset_index()
    frame = frame.assign(both=2 * frame["link_bandwidth"])[
        ["link", "generation", "year", "ports", "port_bandwidth", "link_bandwidth", "both", "reach"]]
    return table(frame, "NVLink by generation",
                 labels={"ports": "links of a GPU", "port_bandwidth": "one link, per direction", "generation": "came with",
                         "link_bandwidth": "a GPU, per direction", "both": "a GPU, both directions, as marketed",
                         "reach": "GPUs joined"},
                 formats={"both": _byte_rate, "year": "{:.0f}".format})


def card_table():
    """Eight cards of a decade, every figure from their rows."""
    frame = catalogue.gpus()
    frame = frame.loc[[name for name in CARDS if name in frame.index]].reset_index()
    rates = [column for column, _ in FORMATS.values()]
    return table(frame[["gpu", "year", "units", "memory_type", "marketed_bytes", "bandwidth", *rates, "link", "link_bandwidth",
                        "tdp_watts"]], "Cards of a decade, dense peaks with FP32 accumulation",
                 labels={"gpu": "card", "units": "multiprocessors", "memory_type": "memory", "marketed_bytes": "size as sold",
                         "link_bandwidth": "per direction"} | {column: name for name, (column, _) in FORMATS.items()},
                 formats={"marketed_bytes": _bytes, "year": "{:.0f}".format})


def precision_table():
    """Formats of numbers: bits in memory, the first generation of NVIDIA that multiplies them, and dense peaks of three cards."""
    bits, held = catalogue.formats()["value_bits"], generations().query("vendor == 'NVIDIA'")
    cards = catalogue.gpus().loc[["A100 SXM 80GB", "H100 SXM 80GB", "B200 SXM 180GB"]]
    stored = {"BF16 or FP16": "BF16", "FP4": "NVFP4"}
    rows = [{"format": form, "bits": bits[stored.get(form, form)], "first": _first(held, column)} | cards[column].to_dict()
            for form, (column, _) in FORMATS.items()]
    return table(DataFrame(rows), "Formats of numbers and dense peaks in them",
                 labels={"bits": "bits in memory", "first": "from"},
                 formats=dict.fromkeys(cards.index, _rate) | {"bits": "{:.0f}".format})


def _first(frame, column):
    """The generation with which a peak came."""
    column = "half" if column == "peak_flops" else column
    return next((name for name, value in frame[column].items() if value == value), "none")


def rents_by_quarter():
    """Median rent on demand of each GPU and quarter, with what a PFLOP/s and a TB/s of it cost by the hour."""
    found, cards = rents_at_will(), catalogue.gpus()
    found = found[found["date"].str.len() >= 7]
    quarter = found["date"].str[:4] + "-" + ((found["date"].str[5:7].astype(int) - 1) // 3 * 3 + 1).map("{:02d}".format)
    frame = found.groupby([found["gpu"], quarter.rename("date")]).agg(
        usd_per_hour=("usd_per_hour", "median"), providers=("provider", "nunique")).reset_index()
    frame = frame.join(cards[["peak_flops", "bandwidth"]], on="gpu")
    return frame.assign(per_pflops=PETA / flops_per_rent(frame["peak_flops"], frame["usd_per_hour"]),
                        per_tbs=TERA / bandwidth_per_rent(frame["bandwidth"], frame["usd_per_hour"]))


@derivation
def purchases(book):
    """Prices of cards and servers in a book, a GPU at a time, with what a PFLOP/s and a TB/s of it cost; the oldest first."""
    found = book[book["item"].isin(["card", "server"]) & (book["currency"] == "USD")]
    cards = catalogue.gpus().reindex(found["gpu"]).set_axis(found.index)
    frame = found.assign(card_usd=found["price"] / found["gpus_per_server"].fillna(1), peak_flops=cards["peak_flops"],
                         bandwidth=cards["bandwidth"], generation=cards["generation"],
                         kind=cards["kind"], year=cards["year"], peak_format=cards["peak_format"])
    frame = frame.sort_values("date", kind="stable")
    return frame.assign(per_pflops=PETA / flops_per_usd(frame["peak_flops"], frame["card_usd"]),
                        per_tbs=TERA / bandwidth_per_usd(frame["bandwidth"], frame["card_usd"]))


@selection
def launched(book):
    """Those of `purchases` of new cards with tensor cores, in the year it came or the next; `at` is the time in years."""
    frame = purchases(book)
    year, month = (frame["date"].str[part].replace("", "7").astype(int) for part in (slice(4), slice(5, 7)))
    new = (frame["term"] != "used") & (frame["peak_format"] != "FP32") & (year - frame["year"] <= 1)
    return frame.assign(at=year + (month - 1) / 12)[new]


@selection
def purchase_table(book):
    """`purchases` as a page shows them, each at its own date; None if there are none."""
    frame = purchases(book)
    if frame.empty:
        return None
    # Prices of the past are meant to be old: no warning of their age.
    whose = re.sub(r", the oldest of [\d-]+", "", dated(book, frame))
    frame = frame[["gpu", "generation", "item", "provider", "term", "date", "card_usd", "per_pflops", "per_tbs",
                   "confidence"]]
    return table(frame, f"What a GPU cost to buy, each price at its date ({whose})",
                 labels={"gpu": "GPU", "item": "bought as", "provider": "whose price", "card_usd": "a GPU",
                         "per_pflops": "a PFLOP/s", "per_tbs": "a TB/s"},
                 formats=dict.fromkeys(("card_usd", "per_pflops", "per_tbs"), lambda value: number(value, "USD")))


# Lines over time on a log axis, as a picture: legible on a phone, with the name of each line at its end.

_LEFT, _RIGHT, _GAP, _FOOT = 4, 296, 15, 34


class LogPlot:
    """One panel of a sheet: years across, a quantity up on a log axis.

    show: a value in words, for the axis. grid: (a value, a step): lines across stand at the value times powers of the step.
    series: name -> (color, points (year, value)).
    """

    def __init__(self, sheet, top, tall, years, show, grid, series):
        self.sheet, self.top, self.tall, self.years = sheet, top, tall, years
        start, step = grid
        values = [value for _, points in series.values() for _, value in points]
        powers = [way(math.log(end / start, step)) for way, end in ((math.floor, min(values)), (math.ceil, max(values)))]
        self.ends = [start * step**power for power in powers]
        for power in range(powers[0], powers[1] + 1):
            value = start * step**power
            down = self.down(value)
            sheet.line((_LEFT, down), (_RIGHT, down), thick=0.7).text(_LEFT, down - 3, show(value), color="soft", size=11)

    def across(self, year):
        first, last = self.years
        return _LEFT + 52 + (year - first) / (last - first) * (_RIGHT - _LEFT - 62)

    def down(self, value):
        low, high = (math.log(end) for end in self.ends)
        return self.top + self.tall * (high - math.log(value)) / (high - low)

    def lines(self, series, joined=True):
        """Each line with its name at the right, and dots where points are few; dots alone if they are not `joined`."""
        ends = []
        for name, (color, points) in series.items():
            placed = [(self.across(year), self.down(value)) for year, value in points]
            if joined and len(placed) > 1:
                self.sheet.line(*placed, color=color, thick=2.2)
            for across, down in placed if len(placed) < 9 or not joined else placed[-1:]:
                self.sheet.circle(across, down, 3, color)
            ends.append([placed[-1][1], name, color])
        ends.sort()
        for before, after in itertools.pairwise(ends):
            after[0] = max(after[0], before[0] + _GAP)
        lift = max(0.0, ends[-1][0] - self.top - self.tall)
        for down, name, color in ends:
            self.sheet.text(_RIGHT + 6, down - lift + 4, name, color=color, bold=True, size=12)
        return self

    def marks(self, names):
        """Thin lines up at years with their names below, in a second row where they would touch. names: name -> year."""
        foot, free = self.top + self.tall, 0.0
        for name, year in names.items():
            across, half = self.across(year), 3.2 * len(name)
            touches = across - half < free
            free = free if touches else across + half
            self.sheet.line((across, self.top), (across, foot + 4), thick=0.7, dashed=True)
            self.sheet.text(across, foot + 17 + 14 * touches, name, at="middle", size=11, color="soft")
        return self


def panels(finding, alt, drawn, years, marks, joined=True):
    """Panels under each other over one span of years.

    drawn: (title, tall, show, grid, series) for each, as LogPlot takes them; marks: name -> year, below the last.
    """
    sheet = Sheet(sum(44 + tall for _, tall, *_ in drawn) + _FOOT, WIDE)
    top = 0
    for title, tall, show, grid, series in drawn:
        sheet.text(_LEFT, top + 13, title, bold=True)
        plot = LogPlot(sheet, top + 30, tall, years, show, grid, series).lines(series, joined)
        top += tall + 44
    plot.marks(marks)
    return sheet.picture(finding, alt)


# Pictures of the generations: FLOP/s and bandwidth on a time line, ridge points over the years, what a rented PFLOP/s costs.

# One card a year: those that were the largest of their day.
_FRONT = ("Pascal", "Volta", "Ampere", "Hopper", "Blackwell", "Rubin")
_COLORS = {"FP32": "h", "16 bits": "a", "FP8": "b", "FP4": "d"}
_GPU_COLORS = {"A100 SXM 80GB": "a", "H100 SXM 80GB": "b", "H200 SXM 141GB": "c", "B200 SXM 180GB": "d"}
_KINDS = {"datacenter": ("data center", "d"), "workstation": ("workstation", "b"), "consumer": ("consumer", "a")}
_QUARTERS = 4  # prices of fewer quarters say nothing about how they move


def _as_rate(value):
    return number(value, "FLOP/second")


def _as_bytes(value):
    return number(value, "byte/second")


def _usd(value):
    return number(value, "USD")


def _front():
    frame = generations().query("described")
    return frame.loc[[name for name in _FRONT if name in frame.index]]


def _line(frame, values):
    """Points (year, value) where there is a value."""
    return [(year, value) for year, value in zip(frame["year"], values) if value == value]


def _peaks(frame):
    """Of each format the points of the cards that have its peak."""
    return {form: (color, points) for form, color in _COLORS.items()
            if (points := _line(frame, frame["half" if form == "16 bits" else FORMATS[form][0]]))}


def _years(frame):
    return int(frame["year"].iloc[0]), int(frame["year"].iloc[-1])


def _marks(frame):
    return {f"{name} ’{year % 100:02.0f}{'*' * (status == 'announced')}": year
            for name, year, status in zip(frame.index, frame["year"], frame["status"])}


def _plans(frame):
    """What the star at an announced generation means."""
    return "" if (frame["status"] == "available").all() else " (* announced)"


def timeline_picture():
    """Dense peaks by format and memory bandwidth of the data center cards of NVIDIA, on a time line with log axes."""
    frame = _front()
    peaks = _peaks(frame)
    first, last = frame.iloc[0], frame.iloc[-1]
    highest, bands = max(points[-1][1] for _, points in peaks.values()), (first["bandwidth"], last["bandwidth"])
    words = "; ".join(f"{form} {_as_rate(points[0][1])} in {points[0][0]:.0f} to {_as_rate(points[-1][1])} in {points[-1][0]:.0f}"
                      for form, (_, points) in peaks.items())
    drawn = [("dense peak of one GPU, log axis", 170, _as_rate, (1e15, 10), peaks),
             ("memory bandwidth, log axis", 110, _as_bytes, (1e12, 2), {"bandwidth": ("c", _line(frame, frame["bandwidth"]))})]
    return panels(f"From {frame.index[0]} to {frame.index[-1]} the highest peak grew {times(highest / first['peak_flops'])}, "
                  f"the bandwidth {times(bands[1] / bands[0])}{_plans(frame)}",
                  f"Time line with log axes. Dense peaks: {words}. Bandwidth {_as_bytes(bands[0])} to {_as_bytes(bands[1])}.",
                  drawn, _years(frame), _marks(frame))


def ridge_picture():
    """Ridge points of the same cards by format: FLOP that a byte from memory must be used for before FLOP/s are the limit."""
    frame = _front()
    by_year = dict(zip(frame["year"], frame["bandwidth"]))
    ridges = {form: (color, [(year, ridge_point(peak, by_year[year])) for year, peak in points])
              for form, (color, points) in _peaks(frame).items() if form != "FP32"}
    half = ridges["16 bits"][1]
    widest, form = max((points[-1][1], form) for form, (_, points) in ridges.items())
    said = "; ".join(f"{name} {points[0][1]:,.0f} in {points[0][0]:.0f} to {points[-1][1]:,.0f} in {points[-1][0]:.0f}"
                     for name, (_, points) in ridges.items())
    highest, year = max((value, year) for year, value in half)
    return panels(f"In 16 bits the ridge point went from {half[0][1]:,.0f} FLOP per byte to {highest:,.0f} in {year:.0f} and "
                  f"{half[-1][1]:,.0f} in {half[-1][0]:.0f}; in {form} it is {widest:,.0f}{_plans(frame)}",
                  f"Ridge points over the years, log axis, FLOP per byte: {said}.",
                  [("ridge point, FLOP per byte, log axis", 170, three_figures, (100, 2), ridges)], _years(frame), _marks(frame))


def rent_picture():
    """Median rent of a PFLOP/s and of a TB/s by the hour, by quarter and card."""
    frame = rents_by_quarter()
    frame = frame[frame.groupby("gpu")["date"].transform("size") >= _QUARTERS]
    year, month = frame["date"].str[:4].astype(int), frame["date"].str[5:7].astype(int)
    frame = frame.assign(at=year + month / 12)
    low, high = frame["per_tbs"].min(), frame["per_tbs"].max()
    now = frame[frame["date"] == frame["date"].max()].set_index("gpu")["per_pflops"].sort_values(kind="stable")
    best, worst = now.index[0], now.index[-1]
    parts = dict(list(frame.groupby("gpu")))
    drawn = [(f"USD for a {what}-hour, log axis", tall, three_figures, (1, 2),
              {gpu.split()[0]: (_GPU_COLORS.get(gpu, "e"), list(zip(part["at"], part[column]))) for gpu, part in parts.items()})
             for what, column, tall in (("PFLOP/s", "per_pflops", 130), ("TB/s", "per_tbs", 110))]
    said = "; ".join(f"{gpu}: {_usd(part['per_pflops'].iloc[0])} in {part['date'].iloc[0]} to "
                     f"{_usd(part['per_pflops'].iloc[-1])} in {part['date'].iloc[-1]} for a PFLOP/s-hour"
                     for gpu, part in parts.items())
    return panels(f"A rented TB/s cost {_usd(low)} to {_usd(high)} an hour in all these years; a PFLOP/s costs "
                  f"{times(now[worst] / now[best])} as much on {worst.split()[0]} as on {best.split()[0]}",
                  f"Median list rents on demand by quarter, log axes. {said}.", drawn, (frame["at"].min(), frame["at"].max()),
                  {str(first): max(first + 1 / 12, frame["at"].min()) for first in sorted(set(year))})


@selection
def bought_picture(book):
    """What a PFLOP/s and a TB/s cost to buy when a card was new, by kind of card; None if the book has no such price."""
    frame = launched(book)
    if frame.empty:
        return None
    parts = {kind: part for kind, part in frame.groupby("kind") if kind in _KINDS}
    drawn = [(f"USD for a {what}, log axis", tall, three_figures, (1000, 2 if column == "per_tbs" else 10),
              {_KINDS[kind][0]: (_KINDS[kind][1], list(zip(part["at"], part[column]))) for kind, part in parts.items()})
             for what, column, tall in (("PFLOP/s, dense in 16 bits", "per_pflops", 120), ("TB/s of bandwidth", "per_tbs", 130))]
    said = "; ".join(f"{_KINDS[kind][0]} {_usd(part['per_pflops'].iloc[0])} ({part['gpu'].iloc[0]}) to "
                     f"{_usd(part['per_pflops'].iloc[-1])} ({part['gpu'].iloc[-1]})" for kind, part in parts.items())
    years = range(int(frame["at"].min()), int(frame["at"].max()) + 1)
    first = next((parts[kind] for kind in _KINDS if kind in parts), frame).iloc[[0, -1]]
    ends = [f"{_usd(row.per_pflops)} ({row.gpu.split()[0]})" for row in first.itertuples()]
    return panels(f"Bought new, a PFLOP/s went from {ends[0]} to {ends[1]}",
                  f"Dots over the years, log axes, each a card at a price of its first two years. A PFLOP/s: {said}.", drawn,
                  (years[0], years[-1] + 1), {str(year): year for year in years if (year - years[0]) % 2 == 0}, joined=False)
