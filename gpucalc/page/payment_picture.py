"""A picture of the ways to pay for a server: when each asks for money, and what the sale at the end gives back."""
import math

from ..core.arithmetic import MONTHS_PER_YEAR
from ..core.figures import dollars, hourly, number
from ..laws.financing import market_usd
from .sentences import in_words
from .show import Html

_LEFT, _RIGHT, _ROW, _TALLEST, _BAR = 16, 400, 82, 36, 12
_PAID, _GOT, _FILL = "#f58518", "#4c78a8", 'fill="currentColor"'


def payments_picture(ways, months, depreciation_rate):
    """Each way of `plan.financing.ways_to_pay` as a line of years: bars up for what is paid, down for what a sale brings.

    months: payments of a loan or lease; those of a year stand in its middle as one bar.
    """
    price, longest = max(ways["today"]), max(ways["years"])
    hours = in_words([f"{hourly(way.hour)} ({way.way})" for way in ways.itertuples()])
    said = (f"{len(ways)} ways to pay for one server, year by year: cash asks for {dollars(price)} at once, a lease for nothing "
            f"today. An hour used costs {hours}.")
    rows = "".join(_words(way, place, longest) + _bars(way, place, price, longest, months, depreciation_rate)
                   for place, way in enumerate(ways.itertuples()))
    tall = _ROW * len(ways) + 26
    key = f'<text x="{_LEFT}" y="{tall - 6}" {_FILL}>bars up: paid, year by year; down: sold at the end</text>'
    opened = f'<svg viewBox="0 0 420 {tall}" width="460" class="picture" font-size="14" role="img" aria-label="{said}">'
    return Html(f"{opened}{rows}{key}</svg>", said)


def _line(way, place, longest):
    """Where the line of a way stands: its height, the length of a year, and the end of its years."""
    year = (_RIGHT - _LEFT - _BAR) / longest
    return _ROW * (place + 1) - 14, year, _LEFT + way.years * year


def _words(way, place, longest):
    """The name of a way and its hourly cost, what is paid today if nothing follows, and its years."""
    base, _, end = _line(way, place, longest)
    last = (end + _BAR + 6, base + 5, "start") if way.years < longest else (end + _BAR, base - 7, "end")
    words = [(_LEFT, base - _TALLEST - 8, "start", f'<tspan font-weight="bold">{way.way}</tspan>, {hourly(way.hour)} used'),
             (*last, number(way.years, "year"))]
    words += [] if way.monthly else [(_LEFT + _BAR + 6, base - 7, "start", dollars(way.today))]
    return "".join(f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" {_FILL}>{text}</text>' for x, y, anchor, text in words)


def _bars(way, place, price, longest, months, depreciation_rate):
    """The line of a way's years, with a bar for what is paid today and in each year, and one down for the sale."""
    base, year, end = _line(way, place, longest)
    paying = min(months / MONTHS_PER_YEAR, way.years) if way.monthly else 0
    lasts = {start: min(1, paying - start) for start in range(math.ceil(paying))}
    paid = {0: way.today} | {start + part / 2: way.monthly * MONTHS_PER_YEAR * part for start, part in lasts.items()}
    scale = _TALLEST / price
    bars = "".join(_bar(_LEFT + when * year, base - usd * scale, usd * scale, _PAID) for when, usd in paid.items())
    if way.way != "lease":
        bought = price if way.way == "loan" else way.today
        bars += _bar(end, base, market_usd(bought, depreciation_rate, way.years) * scale, _GOT)
    return f'{bars}<line x1="{_LEFT}" y1="{base}" x2="{end + _BAR:.1f}" y2="{base}" stroke="currentColor"/>'


def _bar(x, y, height, color):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{_BAR}" height="{height:.1f}" fill="{color}"/>' if height else ""
