"""Reserving: which share to commit to, what each mix costs, and a picture of it."""
import math
from typing import NamedTuple

import pandas as pd

from gpucalc.core.arithmetic import MONTHS_PER_YEAR
from gpucalc.core.evaluate import Row
from gpucalc.core.figures import dollars, hourly, number, percent, quantity, signed, usd
from gpucalc.core.quantities import DEFAULTS
from gpucalc.decisions.rent_or_buy import STOPS
from gpucalc.laws.commitments import block_break_even_days, portfolio_usd_per_hour, reserve_ratio, reserved_gpus, share_above
from gpucalc.laws.financing import (financed_usd, lease_usd_per_month, leased_usd_per_hour, loan_usd_per_month, market_usd,
                                    running_on_usd_per_year, unwarranted_repair_share)
from gpucalc.laws.owning import bought_usd, offered_gpu_hours, owned_usd_per_hour
from gpucalc.laws.renting import group_interruption_seconds, spot_usd_per_hour
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.price_book import MissingPrice, price_row, TIES
from gpucalc.rows.rents import rents
from ..components.charts import slider_chart
from ..components.picture import Sheet
from ..components.sentences import in_words
from ..components.show import reach, table


# How much of a load to reserve at the prices of a book: the cheapest reserved, on-demand and spot rent of a GPU, mixed.

RESERVED = ["reserved", "reserved-1y", "reserved-3y"]
# Which price stands in where none is firm: one read by others before one recalled, and last one said to be the lowest of several.
ORDER = {"seen": 0, "secondary": 1, "recalled": 2, "floor": 3}
LENGTH = {"reserved": "length not stated", "reserved-1y": "one year", "reserved-3y": "three years"}


class Rates(NamedTuple):
    """The rents of a GPU that a mix is made of, as rows for a case; None where the book has none."""

    reserved: Row | None
    on_demand: Row | None
    spot: Row | None


def rates(book, gpu, provider=None):
    """The cheapest reserved, on-demand and spot rent of the GPU: firm ones first, of others the surest."""
    found = rents(book, gpu=gpu, provider=provider, required=False)
    return Rates(_cheapest(found, RESERVED), _cheapest(found, ["on-demand"]), _cheapest(found, ["spot"]))


def _cheapest(found, terms):
    able = found[found["term"].isin(terms)]
    able = able.assign(order=able["confidence"].map(ORDER).where(~firm(able), 0))
    able = able.sort_values(["order", "usd_per_hour", *TIES])
    return None if able.empty else price_row(able.drop(columns="order").iloc[0])


def mix(case, found, gpu, file):
    """The case with the rates of `rates`, unless it gives its own: reserved, on demand, and an hour of spot that counts.

    Work on spot takes one machine. Without a spot rent all of it is on demand. Raises MissingPrice where a reserved or an
    on-demand rent is missing.
    """
    given, wanted = case.inputs, {"committed_usd_per_hour": found.reserved, "usd_per_hour": found.on_demand}
    missing = [name for name, row in wanted.items() if row is None and name not in given]
    if missing:
        terms = {"committed_usd_per_hour": "reserved", "usd_per_hour": "on-demand"}
        raise MissingPrice(f"{file}: no {' and no '.join(terms[name] for name in missing)} rent of {gpu}; give the "
                           f"parameter {' and '.join(missing)}")
    put = {name: _named(row, name) for name, row in wanted.items() if name not in given}
    on_demand = given.get("usd_per_hour") or found.on_demand.usd_per_hour
    spot = given.get("spot_usd_per_hour")
    if spot is None and found.spot is not None:
        stops = {name: catalogue.assumed(name, given.get(name)) for name in STOPS}
        slowed = case.but(usd_per_hour=found.spot.usd_per_hour, **stops, machines=1,
                          interruption_seconds=group_interruption_seconds)(spot_usd_per_hour)
        spot = Row(dict(found.spot) | {"spot_usd_per_hour": slowed}, f"{found.spot.name}, with its interruptions")
    return case.but(**put, spot_usd_per_hour=on_demand if spot is None else spot)


def is_firm(row):
    """Whether a rent as a row may decide; a price that is given may."""
    return row is None or row.confidence == "seen" or bool(row.get("yours", False))


def _named(row, name):
    """A rent as a row whose price goes by another name."""
    return Row({"source": row.source, "date": row.date, "confidence": row.confidence, name: row.usd_per_hour}, row.name)


def prices_of(case):
    """Reserved rate, on-demand rate and spot rate of the case of a mix, as numbers."""
    held = {name: case.inputs[name] for name in ("committed_usd_per_hour", "usd_per_hour", "spot_usd_per_hour")}
    return [float(getattr(value, name, value)) for name, value in held.items()]


def costs(case):
    """Cost of the load in an average hour (USD) by what is reserved: the best level, nothing, all of it; and no spot either."""
    at = {"best": {}, "flexible": {"reserved_gpus": 0}, "on demand": {"reserved_gpus": 0, "interruptible_share": 0},
          "all reserved": {"reserved_gpus": case.inputs["peak_gpus"]}}
    return {name: case.but(**changes)(portfolio_usd_per_hour) for name, changes in at.items()}


def by_gpu(book, case):
    """For each GPU with a reserved and an on-demand rent: both, the spot rent, what to reserve, and what the mix saves."""
    rows = []
    for gpu in sorted(set(book[(book["item"] == "rent") & book["term"].isin(RESERVED)]["gpu"])):
        found = rates(book, gpu)
        if found.on_demand is None:
            continue
        mixed = mix(case, found, gpu, book.attrs["file"])
        total = costs(mixed)
        rows.append(dict(gpu=gpu, committed_usd_per_hour=found.reserved.usd_per_hour, seller=found.reserved.provider,
                         length=LENGTH[found.reserved.term], usd_per_hour=found.on_demand.usd_per_hour,
                         spot=None if found.spot is None else found.spot.usd_per_hour, reserve_ratio=mixed(reserve_ratio),
                         reserved_gpus=mixed(reserved_gpus), saved=1 - total["best"] / total["on demand"],
                         rows=[row.name for row in found if row is not None],
                         sure="" if is_firm(found.reserved) else found.reserved.confidence))
    columns = ["gpu", "committed_usd_per_hour", "seller", "length", "usd_per_hour", "spot", "reserve_ratio", "reserved_gpus",
               "saved", "sure", "rows"]
    return pd.DataFrame(rows, columns=columns)


def blocks(book, block_days, gpu=None):
    """Capacity blocks: the seller's own price on demand, the cheapest of all, and the days of work from which a block pays.

    NaN where the book has no such price.
    """
    found = rents(book, gpu=gpu, term="capacity-block", required=False).sort_values(["gpu", "usd_per_hour", *TIES])
    rows = []
    for row in found.itertuples():
        own, other = rates(book, row.gpu, row.provider).on_demand, rates(book, row.gpu).on_demand
        days = [math.nan if each is None else block_break_even_days(block_days, row.usd_per_hour, each.usd_per_hour)
                for each in (own, other)]
        rows.append(dict(row=row.Index, gpu=row.gpu, provider=row.provider, block_usd_per_hour=row.usd_per_hour,
                         usd_per_hour=math.nan if own is None else own.usd_per_hour, days=days[0],
                         cheapest=math.nan if other is None else other.usd_per_hour, cheapest_days=days[1]))
    columns = ["row", "gpu", "provider", "block_usd_per_hour", "usd_per_hour", "days", "cheapest", "cheapest_days"]
    return pd.DataFrame(rows, columns=columns)


# A load through its hours, sorted: pictures of when a GPU is needed and what is reserved; what a mix costs; each GPU's mix.

_LEFT, _RIGHT, _TOP, _FOOT = 34, 392, 16, 190


def sorted_load(trough_gpus, peak_gpus):
    """The load-duration curve that falls evenly from peak to trough, and the hours in which one GPU near the peak is needed."""
    asked = round(trough_gpus + 0.75 * (peak_gpus - trough_gpus))
    share = share_above.formula(asked, trough_gpus, peak_gpus)
    sheet, down = _axes(trough_gpus, peak_gpus)
    turn = _LEFT + (_RIGHT - _LEFT) * share
    _area(sheet, "wash", (_LEFT, _FOOT), (_LEFT, _TOP), (_RIGHT, down(trough_gpus)), (_RIGHT, _FOOT))
    sheet.line((_LEFT, down(asked)), (turn, down(asked)), color="a", thick=5)
    sheet.line((turn, down(asked)), (_RIGHT, down(asked)), dashed=True)
    sheet.line((_LEFT, _TOP), (_RIGHT, down(trough_gpus)), color="ink", thick=2)
    sheet.text(_RIGHT, down(asked) - 6, f"GPU {asked:g}: needed in {percent(share)} of the hours", at="end", color="a", bold=True)
    sheet.text(_LEFT + 10, down(trough_gpus) + 20, f"the first {trough_gpus:g}: needed in all hours")
    return sheet.picture(f"Of {peak_gpus:g} GPUs, the first {trough_gpus:g} work all day and the last only in the busiest hour",
                         f"Hours sorted by load, from {peak_gpus:g} GPUs down to {trough_gpus:g}. GPU {asked:g} is needed in "
                         f"{percent(share)} of them.")


def load_curve(trough_gpus, peak_gpus, level, share):
    """The load-duration curve that falls evenly from peak to trough, reserved up to a level that a share of the hours needs."""
    sheet, down = _axes(trough_gpus, peak_gpus)
    turn = _LEFT + (_RIGHT - _LEFT) * min(max(share if level else 1, 0), 1)
    y, end = down(level), down(trough_gpus)
    _area(sheet, "a", (_LEFT, _FOOT), (_LEFT, y), (_RIGHT, y), (_RIGHT, _FOOT))
    if level > trough_gpus:
        _area(sheet, "b", (_LEFT, y), (_LEFT, _TOP), (turn, y))
        _area(sheet, "e", (turn, y), (_RIGHT, y), (_RIGHT, end))
        sheet.text(_RIGHT - 4, y - 6, "reserved, idle", at="end", color="e", bold=True)
    else:
        _area(sheet, "b", (_LEFT, y), (_LEFT, _TOP), (_RIGHT, end), (_RIGHT, y))
    sheet.line((_LEFT, _TOP), (_RIGHT, end), color="ink", thick=2)
    sheet.text(_LEFT + 104, _TOP + 12, "by the hour, on demand or spot", color="b", bold=True)
    if level:
        sheet.text(_LEFT + 12, _FOOT - 12, "reserved: paid in every hour", color="paper", bold=True)
        sheet.text(_LEFT - 5, y + 4, f"{level:,.0f}", at="end", bold=True)
    said = (f"Hours sorted by load, from {peak_gpus:,g} GPUs down to {trough_gpus:,g}. {level:,.0f} are reserved and needed in "
            f"{percent(share)} of the hours; the corner above them is paid by the hour, the corner below idles.")
    found = f"{level:,.0f} GPUs are reserved: the load needs all of them in {percent(min(share, 1))} of the hours"
    return sheet.picture(found if level else "Nothing is reserved: by the hour costs less", said)


def _axes(trough_gpus, peak_gpus):
    """A sheet with its axes named, and the height at which a number of GPUs stands."""
    def down(gpus):
        return _FOOT - (_FOOT - _TOP) * gpus / peak_gpus
    sheet = Sheet(214)
    for gpus in (peak_gpus, 0):
        sheet.text(_LEFT - 5, down(gpus) + 4, f"{gpus:,.0f}", at="end", color="soft")
    sheet.text(_LEFT, _FOOT + 18, "busiest hour", color="soft").text(_RIGHT, _FOOT + 18, "quietest hour", at="end", color="soft")
    return sheet, down


def _area(sheet, color, *corners):
    sheet.path("M" + " L".join(f"{x:.4g},{y:.4g}" for x, y in corners) + " Z", color)


def mix_slider_chart(bare, cost, level, finding):
    """What an average hour costs over the GPUs reserved; `bare` holds the three rates, `cost` is of `commitments.costs`."""
    reserved, demand, peak = (bare.inputs[name] for name in ("committed_usd_per_hour", "usd_per_hour", "peak_gpus"))
    mixes = {"the rest by the hour": portfolio_usd_per_hour,
             "the best level": (portfolio_usd_per_hour, dict(reserved_gpus=None)),
             "all on demand": (portfolio_usd_per_hour, dict(reserved_gpus=0, interruptible_share=0))}
    return slider_chart(
        bare, mixes, x="reserved_gpus", values=[peak * step / 60 for step in range(61)], y_title="USD in an average hour",
        crossing=(reserved_gpus, dict(reserved_gpus=None)), finding=finding,
        sliders={"committed_usd_per_hour": (0.1, round(1.5 * demand, 2), 0.005, round(reserved, 3)),
                 "trough_gpus": (0, peak, 1, bare.inputs["trough_gpus"]),
                 "interruptible_share": (0, 1, 0.05, bare.inputs["interruptible_share"])},
        alt=f"Cost against the GPUs reserved: lowest at {level:.0f}, {usd(cost['best'])} an hour; {usd(cost['flexible'])} with "
            f"none and {usd(cost['all reserved'])} with the whole peak reserved.")


def mixes_table(every, caption):
    """The mix of each GPU with a reserved rent, of `commitments.by_gpu`."""
    return table(every.drop(columns="rows"), caption, labels={
        "committed_usd_per_hour": "reserved", "seller": "by", "usd_per_hour": "on demand", "reserve_ratio": "pays above",
        "spot": "spot, as listed", "reserved_gpus": "reserve", "saved": "saved", "sure": "reserved price"},
        formats=dict.fromkeys(("committed_usd_per_hour", "usd_per_hour", "spot"), "{:.2f}".format) | {
            "reserve_ratio": reach, "reserved_gpus": "{:.0f}".format, "saved": percent})


# Cash, lease or loan: what each costs and when it is paid


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

_START, _END, _ROW, _TALLEST, _BAR = 8, 384, 86, 36, 12


def payments_picture(ways, months, depreciation_rate):
    """Each way of `ways_to_pay` as a line of years: bars up for what is paid, down for what a sale brings.

    months: payments of a loan or lease; those of a year stand in its middle as one bar.
    """
    price, longest, sheet = max(ways["today"]), max(ways["years"]), Sheet(_ROW * len(ways) + 22)
    for place, way in enumerate(ways.itertuples()):
        base, year = _ROW * (place + 1) - 18, (_END - _START - _BAR) / longest
        _bars(sheet, way, base, year, price, months, depreciation_rate)
        _words(sheet, way, base, _START + way.years * year, way.years < longest)
    sheet.text(_START, sheet.tall - 4, "up: paid, year by year", color="b").text(
        _END + _BAR, sheet.tall - 4, "down: sold at the end", at="end", color="a")
    hours = in_words([f"{hourly(way.hour)} ({way.way})" for way in ways.itertuples()])
    return sheet.picture("Cash asks for everything today, a lease for nothing today: only the cost of an hour compares them",
                         f"{len(ways)} ways to pay for one server, year by year: cash asks for {dollars(price)} at once, a lease "
                         f"for nothing today. An hour used costs {hours}.")


def _words(sheet, way, base, end, shorter):
    """The name of a way and its hourly cost, what is paid today if nothing follows, and its years."""
    name = base - _TALLEST - 8
    sheet.text(_START, name, way.way, bold=True).text(_END + _BAR, name, f"{hourly(way.hour)} used", at="end")
    if shorter:
        sheet.text(end + _BAR + 6, base + 5, number(way.years, "year"), color="soft")
    else:
        sheet.text(end + _BAR, base - 7, number(way.years, "year"), at="end", color="soft")
    if not way.monthly:
        sheet.text(_START + _BAR + 6, base - 7, dollars(way.today))


def _bars(sheet, way, base, year, price, months, depreciation_rate):
    """The line of a way's years, with a bar for what is paid today and in each year, and one down for the sale."""
    end, scale = _START + way.years * year, _TALLEST / price
    paying = min(months / MONTHS_PER_YEAR, way.years) if way.monthly else 0
    lasts = {start: min(1, paying - start) for start in range(math.ceil(paying))}
    paid = {0: way.today} | {start + part / 2: way.monthly * MONTHS_PER_YEAR * part for start, part in lasts.items()}
    for when, spent in paid.items():
        if spent:
            sheet.box(_START + when * year, base - spent * scale, _BAR, spent * scale, "b", round=0)
    if way.way != "lease":
        bought = price if way.way == "loan" else way.today
        sheet.box(end, base, _BAR, market_usd(bought, depreciation_rate, way.years) * scale, "a", round=0)
    sheet.line((_START, base), (end + _BAR, base), color="ink")


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
