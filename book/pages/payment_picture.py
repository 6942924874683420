"""The ways to pay for a server: a picture of when each asks for money, tables of them and of one more year, leased or bought."""
import math

from gpucalc.core.arithmetic import MONTHS_PER_YEAR
from gpucalc.core.figures import dollars, hourly, number, percent, quantity, signed
from gpucalc.laws.financing import leased_usd_per_hour, market_usd
from gpucalc.laws.owning import owned_usd_per_hour
from ..components.charts import slider_chart
from ..components.picture import Sheet
from ..components.sentences import in_words
from ..components.show import table

_LEFT, _RIGHT, _ROW, _TALLEST, _BAR = 8, 384, 86, 36, 12


def payments_picture(ways, months, depreciation_rate):
    """Each way of `plan.financing.ways_to_pay` as a line of years: bars up for what is paid, down for what a sale brings.

    months: payments of a loan or lease; those of a year stand in its middle as one bar.
    """
    price, longest, sheet = max(ways["today"]), max(ways["years"]), Sheet(_ROW * len(ways) + 22)
    for place, way in enumerate(ways.itertuples()):
        base, year = _ROW * (place + 1) - 18, (_RIGHT - _LEFT - _BAR) / longest
        _bars(sheet, way, base, year, price, months, depreciation_rate)
        _words(sheet, way, base, _LEFT + way.years * year, way.years < longest)
    sheet.text(_LEFT, sheet.tall - 4, "up: paid, year by year", color="b").text(
        _RIGHT + _BAR, sheet.tall - 4, "down: sold at the end", at="end", color="a")
    hours = in_words([f"{hourly(way.hour)} ({way.way})" for way in ways.itertuples()])
    return sheet.picture("Cash asks for everything today, a lease for nothing today: only the cost of an hour compares them",
                         f"{len(ways)} ways to pay for one server, year by year: cash asks for {dollars(price)} at once, a lease "
                         f"for nothing today. An hour used costs {hours}.")


def _words(sheet, way, base, end, shorter):
    """The name of a way and its hourly cost, what is paid today if nothing follows, and its years."""
    name = base - _TALLEST - 8
    sheet.text(_LEFT, name, way.way, bold=True).text(_RIGHT + _BAR, name, f"{hourly(way.hour)} used", at="end")
    if shorter:
        sheet.text(end + _BAR + 6, base + 5, number(way.years, "year"), color="soft")
    else:
        sheet.text(end + _BAR, base - 7, number(way.years, "year"), at="end", color="soft")
    if not way.monthly:
        sheet.text(_LEFT + _BAR + 6, base - 7, dollars(way.today))


def _bars(sheet, way, base, year, price, months, depreciation_rate):
    """The line of a way's years, with a bar for what is paid today and in each year, and one down for the sale."""
    end, scale = _LEFT + way.years * year, _TALLEST / price
    paying = min(months / MONTHS_PER_YEAR, way.years) if way.monthly else 0
    lasts = {start: min(1, paying - start) for start in range(math.ceil(paying))}
    paid = {0: way.today} | {start + part / 2: way.monthly * MONTHS_PER_YEAR * part for start, part in lasts.items()}
    for when, usd in paid.items():
        if usd:
            sheet.box(_LEFT + when * year, base - usd * scale, _BAR, usd * scale, "b", round=0)
    if way.way != "lease":
        bought = price if way.way == "loan" else way.today
        sheet.box(end, base, _BAR, market_usd(bought, depreciation_rate, way.years) * scale, "a", round=0)
    sheet.line((_LEFT, base), (end + _BAR, base), color="ink")


def ways_table(ways, caption):
    """The ways of `plan.financing.ways_to_pay`."""
    return table(ways, caption,
                 labels={"today": "paid today, USD", "monthly": "USD a month", "years": "used for", "hour": "USD per hour used"},
                 formats={"today": "{:,.0f}".format, "monthly": "{:,.0f}".format, "years": lambda value: quantity("years", value),
                          "hour": "{:.2f}".format})


def keeping_table(years, caption):
    """One more year with a server by its age, of `plan.financing.keeping`."""
    return table(years, caption, labels={
        "kept_years": "age", "market_usd": "sells for", "hold_usd_per_year": "costs to hold", "saved_usd_per_year": "saves",
        "running_on_usd_per_year": "gain of keeping it"},
        formats=dict.fromkeys(("market_usd", "hold_usd_per_year"), dollars)
        | dict.fromkeys(("saved_usd_per_year", "running_on_usd_per_year"), lambda value: signed(value, dollars)))


def lease_slider_chart(case, months, even, end_share, discount_rate, depreciation_rate, finding):
    """A leased hour and one bought and sold after as many months, over the lender's rate; `even` is where they cross, or None."""
    return slider_chart(
        case.but(years=months / MONTHS_PER_YEAR),
        {"leased": leased_usd_per_hour, "bought and sold at the end": owned_usd_per_hour},
        x="loan_rate", values=[step / 100 for step in range(0, 31)], y_title="USD per GPU-hour used",
        finding=finding,
        sliders={"end_share": (0, 0.6, 0.01, end_share), "discount_rate": (0, max(0.3, discount_rate), 0.01, discount_rate),
                 "depreciation_rate": (0.05, 0.7, 0.01, depreciation_rate)},
        alt="A leased hour costs more the more the lender asks for; one that is bought does not change. "
            + ("The lines do not cross." if even is None else
               f"Over {quantity('loan_months', months)} they cross at {percent(even)} a year."))
