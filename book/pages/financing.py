"""Cash, lease or loan: what each costs and when it is paid."""
import math

from gpucalc.core.arithmetic import MONTHS_PER_YEAR
from gpucalc.core.figures import dollars, hourly, number, percent, quantity, signed
from gpucalc.core.quantities import DEFAULTS
from gpucalc.laws.financing import (financed_usd, lease_usd_per_month, leased_usd_per_hour, loan_usd_per_month, market_usd,
                                    running_on_usd_per_year, unwarranted_repair_share)
from gpucalc.laws.owning import bought_usd, offered_gpu_hours, owned_usd_per_hour
from ..components.charts import slider_chart
from ..components.picture import Sheet
from ..components.sentences import in_words
from ..components.show import table


# Ways to pay for a server and when to sell it: cash, loan, lease or a used one, each as the cost of an hour that is used.

WAYS = ("cash", "loan", "lease", "used, for cash")
# Ages at which selling is looked at: every quarter of a year up to so many years.
_QUARTERS, _OLDEST = 4, 12


def _value(case, name):
    """What a case has under the name: given, in a row, or by default."""
    if name in case.inputs:
        return case.inputs[name]
    return next((row[name] for row in case.rows.values() if name in row), DEFAULTS[name].value if name in DEFAULTS else None)


def ways_to_pay(case, kept_years):
    """A row for each way: what is paid `today` and `monthly` (USD), `years` of use, and the cost of a used `hour` (USD).

    A used server of that age sells for what the case's loss of value says, lasts the rest of the years, and has no support
    contract: what fails is bought. It is left out where no years are left.
    """
    import pandas
    years, months = _value(case, "years"), _value(case, "loan_months")
    price, hours = case(bought_usd), case(offered_gpu_hours) * _value(case, "utilization")
    owned, leased = case(owned_usd_per_hour), case.but(years=months / MONTHS_PER_YEAR)
    down, interest = price * (1 - _value(case, "loan_share")), case(financed_usd) - price
    rows = [("cash", price, 0.0, years, owned), ("loan", down, case(loan_usd_per_month), years, owned + interest / hours),
            ("lease", 0.0, leased(lease_usd_per_month), months / MONTHS_PER_YEAR, leased(leased_usd_per_hour))]
    if kept_years < years:
        used = case.but(server_usd=case.but(bought_usd=_value(case, "server_usd"), kept_years=kept_years)(market_usd),
                        years=years - kept_years, support_share=0, repair_share=case(unwarranted_repair_share))
        rows.append(("used, for cash", used(bought_usd), 0.0, years - kept_years, used(owned_usd_per_hour)))
    return pandas.DataFrame(rows, columns=["way", "today", "monthly", "years", "hour"])


def keeping(case, ages):
    """What a server sells for at each age (years), and what running it a year longer is worth, as a table."""
    import pandas
    at = case.but(kept_years=pandas.Series(ages, dtype=float))
    return pandas.DataFrame({"kept_years": ages, **{name: at.terms(running_on_usd_per_year)[name] for name in (
        "market_usd", "hold_usd_per_year", "saved_usd_per_year", "running_on_usd_per_year")}})


def selling_age(case):
    """The age (years, by the quarter) from which selling a server and renting beats running it on; None within twelve years.

    A young server may lose more than it saves and earn that back later, so it is the age after which no year pays any more.
    """
    found = keeping(case, [quarter / _QUARTERS for quarter in range(_OLDEST * _QUARTERS + 1)])
    pays = found["kept_years"][found["running_on_usd_per_year"] >= 0]
    last = pays.iloc[-1] if len(pays) else -1 / _QUARTERS
    return None if last == _OLDEST else float(last + 1 / _QUARTERS)


def even_lease_rate(case):
    """The rate of a lease (a year) at which its hour costs what a server bought for its years does; None from 0 to 50 %."""
    import numpy
    case = case.but(years=_value(case, "loan_months") / MONTHS_PER_YEAR)
    rates = numpy.linspace(0, 0.5, 2001)
    under = rates[case.but(loan_rate=rates)(leased_usd_per_hour) <= case(owned_usd_per_hour)]
    return float(under[-1]) if 0 < len(under) < len(rates) else None


# The ways to pay for a server: a picture of when each asks for money, tables of them and of one more year, leased or bought.

_LEFT, _RIGHT, _ROW, _TALLEST, _BAR = 8, 384, 86, 36, 12


def payments_picture(ways, months, depreciation_rate):
    """Each way of `ways_to_pay` as a line of years: bars up for what is paid, down for what a sale brings.

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
    """The ways of `ways_to_pay`."""
    return table(ways, caption,
                 labels={"today": "paid today, USD", "monthly": "USD a month", "years": "used for", "hour": "USD per hour used"},
                 formats={"today": "{:,.0f}".format, "monthly": "{:,.0f}".format, "years": lambda value: quantity("years", value),
                          "hour": "{:.2f}".format})


def keeping_table(years, caption):
    """One more year with a server by its age, of `keeping`."""
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
