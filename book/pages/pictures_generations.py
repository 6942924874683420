"""Pictures of the generations: FLOP/s and bandwidth on a time line, ridge points over the years, what a rented PFLOP/s costs."""
from gpucalc.core.figures import number, three_figures, times
from gpucalc.laws.arithmetic_intensity import ridge_point
from gpucalc.rows.selections import selection
from .generations import FORMATS, generations, launched, rents_by_quarter
from .log_plot import panels

# One card a year: those that were the largest of their day.
_FRONT = ("Pascal", "Volta", "Ampere", "Hopper", "Blackwell", "Rubin")
_COLORS = {"FP32": "h", "16 bits": "a", "FP8": "b", "FP4": "d"}
_GPU_COLORS = {"A100 SXM 80GB": "a", "H100 SXM 80GB": "b", "H200 SXM 141GB": "c", "B200 SXM 180GB": "d"}
_KINDS = {"datacenter": ("data center", "d"), "workstation": ("workstation", "b"), "consumer": ("consumer", "a")}
_QUARTERS = 4  # prices of fewer quarters say nothing about how they move


def _rate(value):
    return number(value, "FLOP/second")


def _byte_rate(value):
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
    words = "; ".join(f"{form} {_rate(points[0][1])} in {points[0][0]:.0f} to {_rate(points[-1][1])} in {points[-1][0]:.0f}"
                      for form, (_, points) in peaks.items())
    drawn = [("dense peak of one GPU, log axis", 170, _rate, (1e15, 10), peaks),
             ("memory bandwidth, log axis", 110, _byte_rate, (1e12, 2), {"bandwidth": ("c", _line(frame, frame["bandwidth"]))})]
    return panels(f"From {frame.index[0]} to {frame.index[-1]} the highest peak grew {times(highest / first['peak_flops'])}, "
                  f"the bandwidth {times(bands[1] / bands[0])}{_plans(frame)}",
                  f"Time line with log axes. Dense peaks: {words}. Bandwidth {_byte_rate(bands[0])} to {_byte_rate(bands[1])}.",
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
