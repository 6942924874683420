"""Rent or buy: how the draws spread and what decides, and reservations, spot and managed rents beside owning."""
import collections
import json
from typing import NamedTuple

import altair
import numpy
from pandas import DataFrame

from gpucalc.core.arithmetic import HOURS_PER_DAY, HOURS_PER_YEAR, SECONDS_PER_HOUR
from gpucalc.core.figures import chance, dollars, hourly, number, percent, quantity, usd
from gpucalc.core.quantities import FRACTION, QUANTITIES, RATE, SHARE
from gpucalc.decisions import rent_or_buy
from gpucalc.laws.break_even import break_even_utilization
from gpucalc.laws.owning import declining_residual, linear_residual, owned_usd_per_hour
from gpucalc.laws.renting import (checkpoint_interval, commitment_utilization, interruption_slowdown, level_usd_per_hour,
                                  spot_usd_per_hour)
from gpucalc.laws.total_cost import managed_usd
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.bands import CLOSE
from gpucalc.rows.price_book import RESERVED_YEARS
from gpucalc.rows.rents import cheapest_rent, doubtful, rents
from ..components.charts import axis, finish, slider_chart
from ..components.picture import Sheet, WIDE
from ..components.show import reach, table
from .total_cost import rents_with_services


# Charts and tables of a decision as a band: how the draws spread, what moves the result, where owning is the better bet.

RENTING, OWNING = "#b35806", "#2166ac"
WORTH = "net present value, USD"
SHORT = {"utilization": "utilization", "years": "years of use", "server_usd": "price of the server", "usd_per_hour": "rent",
         "gpu_failure_seconds": "failures", "replacement_seconds": "repair time", "carbon_intensity": "carbon of power",
         "pue": "PUE", "usd_per_kwh": "electricity price", "hosting_usd_per_month": "hosting", "idle_power_share": "idle power",
         "ramp_months": "ramp-up", "server_power_factor": "power at work", "spare_share": "spare servers",
         "availability": "availability", "support_share": "support", "repair_share": "repairs", "staff_usd_per_year": "staff",
         "depreciation_rate": "loss of value", "discount_rate": "cost of capital", "rent_decline": "fall of rents",
         "lead_months": "lead time", "machine_interruption_seconds": "time until spot is taken",
         "checkpoint_seconds": "time of a checkpoint", "restart_seconds": "time to restart", "acceptance": "drafts accepted",
         "host_memory_bandwidth": "host memory"}
# What a price is that may not decide, by its confidence.
DOUBTS = {"floor": "a “from” price, not one you can count on", "secondary": "a price that somebody else reported",
          "recalled": "a price from memory"}


def unsure(book, rent, given, **asked):
    """The offer below the rent that may not decide, if any; none where the rent is given."""
    return doubtful(book, rent, **asked).head(1) if given is None else book.head(0)


def results(owned_hour, needed, meeting, worth, committed):
    """What `bands_table` shows of draws: each with how it is written; no utilization where a rent is committed."""
    shown = {"owned hour": (owned_hour, hourly)} | ({} if committed else {"break-even utilization": (needed, percent)})
    return shown | {"rent above which owning is cheaper": (meeting, hourly),
                    "net present value of owning a server": (worth, dollars)}


def lasting(assumptions, here):
    """Mean seconds until a machine is taken or fails: in a trace, here, by a cloud's rate, and by owned servers' failures."""
    known = assumptions.loc["machine_interruption_seconds", rent_or_buy.ENDS]
    failing = json.loads(catalogue.measurements().loc["interruptions-meta-1024", "inputs"])["machine_interruption_seconds"]
    return {"a spot V100, in a trace of 2023": known["low"], "this page": here,
            "spot, a fifth taken back in a month": known["high"], "an owned server of 8 A100, by its failures": failing}


def works(machines):
    """The workloads that are compared: three weeks once, two weeks in each quarter on machines together, and a steady service."""
    weeks = 7 * HOURS_PER_DAY / HOURS_PER_YEAR
    return [Work("train once", 1, 3 * weeks, once=True), Work("train regularly", machines, 4 * 2 * weeks),
            Work("serve steadily, free to move", 4, 0.9, steady=True),
            Work("serve steadily, tied to its cloud", 4, 0.9, steady=True, tied=True)]


def short_name(name):
    """An input in a word or two."""
    return SHORT.get(name, QUANTITIES[name].meaning)


def input_text(name, value):
    """The value of an input: a share as a percentage, anything else with its unit."""
    if QUANTITIES[name].unit == "1/year":
        return f"{percent(value)} a year"
    return percent(value) if QUANTITIES[name].allowed in (SHARE, FRACTION, RATE) else quantity(name, value)


def threshold_text(utilization):
    """A utilization from which something pays; above 1 there is none."""
    return percent(utilization) if utilization <= 1 else "no utilization"


def duration_text(seconds):
    """A time (s) in days, hours, minutes or seconds, the largest of which there are two (one minute)."""
    if seconds == float("inf"):
        return "never"
    units = ((86400, "day", 2), (3600, "hour", 2), (60, "minute", 1), (1, "second", 0))
    size, unit = next((seconds / length, name) for length, name, least in units if seconds >= least * length)
    return f"{number(size)} {unit}{'' if size == 1 else 's'}"


def slowdown_text(ratio):
    """Time on interrupted machines over time of the work, which soon has more digits than anybody reads."""
    return number(ratio) if ratio < 1e4 else "over 10,000"


def outcome(verdict):
    """A verdict in words: what is cheaper by how much, what eight draws in ten say of that, and how often owning wins."""
    ends = sorted(end if verdict.cheaper == "owning" else -end for end in (verdict.low, verdict.high))
    gain = f"{verdict.cheaper} is cheaper on average, by {dollars(abs(verdict.mean))} a server"
    doubt = "" if verdict.sure else f", but it is {CLOSE}"
    return f"{gain} (8 draws in 10 say {_from_to(*ends)}){doubt}. Owning wins in {chance(verdict.chance)} of the draws"


def _from_to(least, most):
    """Two savings in words: `127,000 to 495,000 USD`, or `from 78,400 USD more to 373,000 USD less` where one is a loss."""
    if least > 0:
        return f"{dollars(least).removesuffix(' USD')} to {dollars(most)}"
    return "from " + " to ".join(f"{dollars(abs(saved))} {'less' if saved > 0 else 'more'}" for saved in (least, most))


def map_says(cells):
    """Where in a map owning wins more often than not, in words."""
    won = cells[cells["wins"] > 0.5]
    if won.empty:
        return f"in none of {len(cells)} cells"
    return f"in {len(won)} of {len(cells)} cells, from {percent(won['utilization'].min())} utilization on"


def parts_table(parts, caption):
    """The parts of an owned hour (name -> USD), each rounded so that the column adds up to the cent, with their shares."""
    cents, whole = rent_or_buy.to_the_cent(parts.values()), sum(parts.values())
    rows = [dict(part=name, cost=cost, share=parts[name] / whole) for name, cost in zip(parts, cents)]
    rows.append(dict(part="an owned hour that is used", cost=round(whole, 2), share=1))
    return table(DataFrame(rows), caption, labels={"cost": "USD per hour used"},
                 formats={"cost": lambda value: f"{value:.2f}".replace("-", "−"), "share": percent})


def bands_table(results, caption):
    """Low, middle and high of each result over the draws; results: name -> (values, their formatter)."""
    rows = [[name, *map(show, rent_or_buy.band(values))] for name, (values, show) in results.items()]
    return table(DataFrame(rows, columns=["result", "low", "middle", "high"]), caption)


def turning_table(swings, turns, winner, caption, named=short_name, basis=None):
    """The range of each input and where in it the `winner` becomes cheaper.

    swings: rows of `decide.tornado`; turns: of `decide.turning_points`; basis: the assumptions, to show their confidence.
    """
    frame = DataFrame([dict(input=named(name), **{end: input_text(name, row[end]) for end in rent_or_buy.ENDS},
                            turns=None if turns[name] != turns[name] else input_text(name, turns[name]))
                       for name, row in swings.iterrows()])
    if basis is not None:
        frame["basis"] = basis.loc[swings.index, "confidence"].tolist()
    return table(frame, f"{caption}; a dash: nowhere in its range",
                 labels={"turns": f"{winner} is cheaper from", "basis": "range is"})


def prices_table(deal, card, caption):
    """The prices of a deal and the GPU, each with where it comes from."""
    priced = {item: row for item, row in deal.rows.items() if row is not None} | {"GPU": card}
    rows = [dict(used_for=item, row=row.name, source=row.get("source"), date=_dated(row)) for item, row in priced.items()]
    return table(DataFrame(rows), caption, labels={"used_for": "for"})


def ranges_table(deal, assumptions, caption, named=short_name):
    """Where the range of each input of a deal comes from."""
    rows = [dict(input=named(name), source=row["source"], date=_dated(row), note=row["note"])
            for name, row in assumptions.loc[deal.ranges.index].iterrows()]
    return table(DataFrame(rows), caption, labels={"note": "how the range was read"})


def _dated(row):
    return f"{row['date']}, {row['confidence']}" if "date" in row else None


def spread_chart(npvs, alt, title=""):
    """How often each net present value (USD) was drawn, in bars of a round width; the rarest at both ends are left out."""
    low, high = numpy.quantile(npvs, [0.002, 0.998])
    width = 2 * 10 ** numpy.floor(numpy.log10((high - low) / 20))
    edges = numpy.arange(numpy.floor(low / width), numpy.ceil(high / width) + 1) * width
    counts, _ = numpy.histogram(npvs, edges)
    bars = DataFrame(dict(low=edges[:-1], high=edges[1:], part=counts / len(npvs),
                          winner=numpy.where(edges[:-1] >= 0, "owning is cheaper", "renting is cheaper")))
    winners = altair.Scale(domain=["renting is cheaper", "owning is cheaper"], range=[RENTING, OWNING])
    chart = altair.Chart(bars).mark_bar(stroke="white", strokeWidth=0.5).encode(
        x=axis(altair.X, "low", "owning_npv", WORTH), x2="high:Q",
        y=altair.Y("part:Q", title="share of the draws", axis=altair.Axis(format="%", tickCount=5)), y2=altair.datum(0),
        color=altair.Color("winner:N", title=None, scale=winners))
    return finish(chart, alt, title=title).properties(height=260)


def tornado_chart(swings, npv, alt, named=short_name, title=""):
    """A bar from the likely net present value (USD) to that at each end of an input's range, for the rows of `decide.tornado`.

    `named` gives an input's name as text.
    """
    pieces = DataFrame([dict(input=named(name), end=end, start=npv, stop=row[f"at_{end}"], value=input_text(name, row[end]))
                        for name, row in swings.iterrows() for end in ("low", "high")])
    bars = altair.Chart(pieces).mark_bar().encode(
        y=altair.Y("input:N", sort=[named(name) for name in swings.index], title=None, axis=altair.Axis(labelLimit=150)),
        x=axis(altair.X, "start", "owning_npv", WORTH), x2="stop:Q",
        color=altair.Color("end:N", title=None, scale=altair.Scale(domain=["low", "high"])),
        tooltip=["input:N", "end:N", "value:N", altair.Tooltip("stop:Q", format=",.0f")])
    zero = altair.Chart(DataFrame([dict(at=0)])).mark_rule(strokeDash=[6, 4], strokeWidth=2).encode(x="at:Q")
    return finish(bars + zero, alt, title=title).properties(height=max(360, 22 * len(swings)))


def map_chart(cells, alt, title=""):
    """The probability that owning wins in each cell of `decide.rent_or_buy_map`."""
    chart = altair.Chart(cells).mark_rect().encode(
        x=altair.X("utilization:O", title=QUANTITIES["utilization"].meaning, axis=altair.Axis(
            labelExpr="round(datum.value * 20) % 4 ? '' : format(datum.value, '.0%')", labelAngle=0, tickSize=0)),
        y=altair.Y("years:O", title=QUANTITIES["years"].meaning, sort="descending"),
        color=altair.Color("wins:Q", title="owning wins in", scale=altair.Scale(
            domain=[0, 0.5, 1], range=[RENTING, "#f7f7f7", OWNING]), legend=altair.Legend(format=".0%")),
        tooltip=[altair.Tooltip("utilization:Q", format=".0%"), "years:Q", altair.Tooltip("wins:Q", format=".0%")])
    return finish(altair.layer(chart), alt, title=title).properties(height=230)


# Ways to rent: what a reservation, an interrupted machine and each way to do a piece of work cost.

OFFER = ["provider", "sku", "gpu", "region"]
WAYS = ("on_demand", "reserved", "spot", "owned")


def beside_on_demand(book, found):
    """The offers with `on_demand`, the price of the same machine on demand (USD/h); NaN where the book has none."""
    own = rents(book, term="on-demand", per="instance", required=False).set_index(OFFER)["usd_per_hour"]
    return found.join(own.rename("on_demand"), on=OFFER)


def reservations(book):
    """Reserved rents that have a price on demand beside them, with the utilization `needed` to beat it."""
    found = rents(book, required=False)
    both = beside_on_demand(book, found[found["term"].isin(RESERVED_YEARS)]).dropna(subset="on_demand")
    both["needed"] = commitment_utilization(both["usd_per_hour"], both["on_demand"])
    return both.sort_values(["gpu", "provider", "term"], kind="stable")


def first_with_reservations(books):
    """The first of the books that has such rents, and they; the first of all, and none, if no book has any."""
    made = [(book, reservations(book)) for book in books]
    return next((pair for pair in made if len(pair[1])), made[0])


def spot_offers(book, gpu, alone, together):
    """Spot rents of the GPU: the `discount` on the same machine's price on demand, and what an hour that counts costs.

    alone, together: cases of the interruptions of one machine and of several, for the columns `one` and `many`.
    """
    found = beside_on_demand(book, rents(book, gpu=gpu, term="spot", required=False))
    slowed = {name: spot_usd_per_hour(found["usd_per_hour"], case(interruption_slowdown))
              for name, case in (("one", alone), ("many", together))}
    return found.assign(discount=1 - found["usd_per_hour"] / found["on_demand"], **slowed)


def managed_rents(book, gpu):
    """Each provider's cheapest rent of the GPU on demand that has a managed service, and the rate with it, `managed`."""
    if rents(book, gpu=gpu, term="on-demand", required=False).empty:
        return book.head(0).assign(service="", premium=0.0, managed=0.0)
    found = rents_with_services(book, gpu)
    found = found[found["service"] != ""]
    return found.assign(managed=found["usd_per_hour"] + managed_usd(found["usd_per_hour"], found["premium"]))


def slowdowns(case, lasting, counts):
    """Time taken over time of the work: a row for each mean time of one machine (name -> s), a column for each count."""
    frame = DataFrame(lasting.items(), columns=["whose", "lasts"]).sort_values("lasts", kind="stable")
    with numpy.errstate(over="ignore"):
        columns = {f"on_{count}": case.but(machine_interruption_seconds=frame["lasts"], machines=count)(interruption_slowdown)
                   for count in counts}
    return frame.assign(**columns)


class Work(NamedTuple):
    """A piece of work: servers that work together, and the share of a year's hours in which they do.

    once: it is not needed again after the year; steady: it can't be taken away at short notice; tied: it can't leave its cloud.
    """

    name: str
    servers: int
    busy: float
    once: bool = False
    steady: bool = False
    tied: bool = False


def usual_rent(book, gpu):
    """The median of what providers ask for an hour of the GPU on demand, each for its cheapest firm offer; None if there is none.

    A median of all offers would be that of whoever lists most regions.
    """
    found = rents(book, gpu=gpu, term="on-demand", per="provider", required=False)
    sure = found[firm(found)]
    return None if found.empty else float((sure if len(sure) else found)["usd_per_hour"].median())


def ways(book, deal, case, work, usual=None):
    """What a GPU-hour that counts costs each way (USD); None where the book has no price or the work rules it out.

    `case` has the GPU, the deal's values and the interruptions. Rents that recur are averages over the years; work that is
    done once pays today's. Work that is tied to its cloud pays the `usual` rent on demand.
    """
    if work.tied:
        return dict.fromkeys(WAYS) | {"on_demand": average_rent(case, usual, work.once)}
    rates = {term: _rate(book, deal, case, term) for term in ("on-demand", "spot", *RESERVED_YEARS)}
    held = [rates[term] / work.busy for term, years in RESERVED_YEARS.items()
            if rates[term] is not None and not (work.once and years > 1)]
    slow = case.but(machines=work.servers)(interruption_slowdown)
    years = deal.ranges.loc["years", "likely"] if work.once else 1
    return {"on_demand": None if rates["on-demand"] is None else average_rent(case, rates["on-demand"], work.once),
            "reserved": min(held, default=None),
            "spot": None if rates["spot"] is None or work.steady else average_rent(case, rates["spot"], work.once) * slow,
            "owned": case.but(utilization=work.busy / years)(owned_usd_per_hour)}


def _rate(book, deal, case, term):
    """The cheapest rent of the GPU, of a whole server if there is one; None if the book has none."""
    try:
        return cheapest_rent(book, gpu=case.rows["gpu"].name, whole=deal.fixed["gpus_per_server"], term=term).usd_per_hour
    except ValueError:
        return None


def average_rent(case, usd_per_hour, once=False):
    """A rent over the years of use (USD per GPU-hour); today's for work that is done once."""
    changed = {"rent_decline": 0} if once else {}
    return case.but(rented_usd_per_hour=float(usd_per_hour), **changed)(level_usd_per_hour)


def compared(book, deal, case, works, usual=None):
    """A row for each work: its GPU-hours a year, what an hour costs each way, the `answer` and its `best` rate, the `second`
    best (the best itself if there is no other), and the `total` a year (USD)."""
    rows = []
    for work in works:
        costs = ways(book, deal, case, work, usual)
        order = sorted((cost, WAYS.index(way)) for way, cost in costs.items() if cost is not None)
        hours = work.servers * deal.fixed["gpus_per_server"] * HOURS_PER_YEAR * work.busy
        rows.append({"work": work.name, "hours": hours, **costs, "answer": WAYS[order[0][1]].replace("_", " "),
                     "best": order[0][0], "second": order[min(1, len(order) - 1)][0], "total": hours * order[0][0]})
    return DataFrame(rows)


def lasting_to_win(book, deal, case, work, rival):
    """Mean time between interruptions of one machine from which spot is below the `rival` rate (s); None if from none.

    It is searched from an hour to ten thousand; infinite if the book has no spot price of the GPU.
    """
    rate = _rate(book, deal, case, "spot")
    if rate is None:
        return float("inf")
    lasting = numpy.geomspace(SECONDS_PER_HOUR, 1e4 * SECONDS_PER_HOUR, 800)
    with numpy.errstate(over="ignore"):
        slow = case.but(machine_interruption_seconds=lasting, machines=work.servers)(interruption_slowdown)
    enough = lasting[average_rent(case, rate, work.once) * slow < rival]
    return float(enough[0]) if len(enough) else None


# Pictures of rent or buy: which hours are paid, what an owned hour is made of, where rents break even, what moves the answer.

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


# Charts and tables of rent or buy: where the bills cross, the terms of rents, what is counted, every rent, three workloads.

CENTS = "{:,.2f}".format


def crossing_slider_chart(case, likely, start, committed, finding):
    """Owned and rented hour over utilization, the rent at `start` (USD per GPU-hour) at first; `likely` are a deal's values."""
    sliders = {"usd_per_hour": (min(0.05, start), max(12.0, 2 * start), 0.01, start),
               "server_usd": (1000, max(600e3, 2 * likely["server_usd"]), 1000, likely["server_usd"]),
               "years": (1, max(8, likely["years"]), 0.5, likely["years"])}
    falls = likely.get("rent_decline")
    if falls is not None:
        sliders["rent_decline"] = (min(-0.2, falls), max(0.4, falls), 0.01, falls)
    begin = case.but(usd_per_hour=start)
    needed = "a commitment has no break-even" if committed else f"break-even: {threshold_text(begin(break_even_utilization))}"
    return slider_chart(
        case, {"owned": owned_usd_per_hour,
               "rented, paid used or not" if committed else "rented, average over the years": level_usd_per_hour},
        x="utilization", values=[step / 50 for step in range(10, 51)], y_title="USD per GPU-hour used", sliders=sliders,
        finding=finding, crossing=None if committed else break_even_utilization,
        alt=f"An owned hour costs {usd(begin.but(utilization=1)(owned_usd_per_hour))} if the GPU never idles and "
            f"{usd(begin(owned_usd_per_hour))} at {percent(likely['utilization'])} utilization, where one rented at "
            f"{hourly(start)} costs {usd(begin(level_usd_per_hour))} on average; {needed}.")


def interruption_chart(alone, several):
    """Time over work on one spot machine and on `several` together, over the time between checkpoints, for the case of one."""
    given = alone.inputs
    saving, restarting = given["checkpoint_seconds"], given["restart_seconds"]
    return slider_chart(
        alone, {f"{count} machine{'s' if count > 1 else ''}": (interruption_slowdown, {
            "interruption_seconds": given["machine_interruption_seconds"] / count}) for count in (1, several)},
        x="checkpoint_interval", values=numpy.geomspace(60, 6 * 3600, 60).round(1).tolist(),
        y_title="time taken over time of the work", log_x=True, log_y=True,
        sliders={"checkpoint_seconds": (min(10, saving), max(900, saving), 10, saving),
                 "restart_seconds": (0, max(1800, restarting), 30, restarting)},
        finding="Checkpoints of {checkpoint_seconds} are best saved every {checkpoint_interval} on one machine",
        alt=f"The time that interrupted work takes has a flat minimum over the checkpoint interval: at "
            f"{duration_text(alone(checkpoint_interval))} for one machine, {slowdown_text(alone(interruption_slowdown))} times "
            f"the time of the work; for {several} machines it lies further left and higher.")


def resale_chart(case, useful_years, loss, years):
    """Share of the price that is left over the years, by the rule of the books and by that of the market."""
    straight, resale = linear_residual(years, useful_years), case(declining_residual)
    return slider_chart(
        case, {"straight line": linear_residual, "same share each year": declining_residual},
        x="years", values=[step / 4 for step in range(1, 33)], y_title="share of the price left",
        sliders={"useful_years": (2, 8, 0.5, useful_years), "depreciation_rate": (0.05, max(0.7, loss), 0.01, loss)},
        finding="After {years} a straight line leaves {linear_residual:percent}, the market {declining_residual:percent}",
        alt=f"A straight line over {useful_years} years loses the same each year and ends at nothing; a loss of "
            f"{percent(loss)} a year is steeper at first and never ends. After {quantity('years', years)} the first leaves "
            f"{percent(straight)}, the second {percent(resale)}.")


def reserved_table(reserved, caption):
    """Reserved rents of `renting_options.first_with_reservations`."""
    return table(reserved[["gpu", "provider", "term", "usd_per_hour", "on_demand", "needed", "date"]], caption,
                 labels={"usd_per_hour": "USD/h", "on_demand": "on demand, USD/h", "needed": "pays above"},
                 formats={"usd_per_hour": CENTS, "on_demand": CENTS, "needed": percent})


def slowdown_table(slowed, counts):
    """Time over work of `renting_options.slowdowns` for so many machines together."""
    names = {f"on_{count}": f"{count} machine{'s' if count > 1 else ''}" for count in counts}
    return table(slowed, "Time taken over time of the work, by how long one machine lasts and how many work together",
                 labels={"whose": "one machine"} | names, formats={"lasts": duration_text} | dict.fromkeys(names, slowdown_text))


def spot_table(spots, machines, caption):
    """Spot offers of `renting_options.spot_offers`."""
    shown = spots.assign(machine=spots["sku"] + ", " + spots["region"])
    return table(shown[["provider", "machine", "usd_per_hour", "discount", "one", "many"]], caption,
                 labels={"usd_per_hour": "spot, USD/h", "discount": "below on demand", "one": "1 machine",
                         "many": f"{machines} machines"},
                 formats=dict.fromkeys(("usd_per_hour", "one", "many"), CENTS) | {"discount": percent})


def managed_table(serviced, caption):
    """Managed services of `renting_options.managed_rents`."""
    return table(serviced[["provider", "service", "sku", "premium", "usd_per_hour", "managed", "date"]], caption,
                 labels={"premium": "premium", "usd_per_hour": "own rate, USD/h", "managed": "managed, USD/h"},
                 formats={"premium": percent, "usd_per_hour": CENTS, "managed": CENTS})


def ladder_table(ladder, caption):
    """The owned hour and its break-even as one thing after the other is counted, of `decide.ladder`."""
    plus = [name if position == 0 else f"+ {name}" for position, name in enumerate(ladder["counted"])]
    return table(ladder.assign(counted=plus), caption,
                 labels={"counted": "what is counted", "owned": "owned, USD per hour used", "needed": "break-even"},
                 formats={"owned": "{:.3f}".format,
                          "needed": lambda value: percent(value) if value <= 1 else f"none ({percent(value)})"})


def rents_table(offered, caption):
    """Every rent and the break-even `needed` against it."""
    return table(offered[["provider", "term", "usd_per_hour", "needed", "region", "date", "sku"]], caption,
                 labels={"usd_per_hour": "USD/h", "needed": "break-even"}, formats={"usd_per_hour": CENTS, "needed": reach})


def workloads_table(by_case, caption):
    """What a GPU-hour costs each workload each way, of `renting_options.compared`."""
    return table(by_case[["work", "hours", *WAYS, "answer"]], caption, labels={"hours": "GPU-hours a year", "answer": "cheapest"},
                 formats=dict.fromkeys(WAYS, CENTS) | {"hours": "{:,.0f}".format})


def turning_points(committed, of, likely, paid, gpu):
    """Each input by itself at which owning and renting cost the same."""
    from_busy = "any or none: you pay the rent, used or not" if committed else threshold_text(of["break_even_utilization"])
    from_usd = usd(of["break_even_server_usd"]) if of["break_even_server_usd"] > 0 else "none: not even a free server"
    return table(DataFrame([
        ("rent of a GPU-hour today", hourly(likely["usd_per_hour"]), "rent today at which both cost the same",
                hourly(of["break_even_rent"] * paid)),
               ("utilization", percent(likely["utilization"]), "utilization from which owning pays", from_busy),
               ("price of a server", usd(likely["server_usd"]), "price at which both cost the same", from_usd),
               ("years of use", quantity("years", likely["years"]), "months until rent saved pays for it, at today's rent",
                quantity("break_even_months", of["break_even_months"]))], columns=["input", "now", "break-even", "at"]),
        f"Where owning and renting {gpu} cost the same: each input by itself, all others likely")
