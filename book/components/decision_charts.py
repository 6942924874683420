"""Charts and tables of a decision as a band: how the draws spread, what moves the result, where owning is the better bet."""
import altair
import numpy
from pandas import DataFrame

from gpucalc.core.figures import chance, dollars, number, percent, quantity
from gpucalc.core.quantities import FRACTION, QUANTITIES, RATE, SHARE
from gpucalc.decisions import decide
from gpucalc.rows.bands import CLOSE
from .charts import axis, finish
from .show import table

RENTING, OWNING = "#b35806", "#2166ac"
WORTH = "net present value, USD"
SHORT = {"utilization": "utilization", "years": "years of use", "server_usd": "price of the server", "usd_per_hour": "rent",
         "gpu_failure_seconds": "failures", "replacement_seconds": "repair time", "carbon_intensity": "carbon of power",
         "pue": "PUE", "usd_per_kwh": "electricity price", "hosting_usd_per_month": "hosting", "idle_power_share": "idle power",
         "ramp_months": "ramp-up", "server_power_factor": "power at work", "spare_share": "spare servers",
         "availability": "availability", "support_share": "support", "repair_share": "repairs", "staff_usd_per_year": "staff",
         "depreciation_rate": "loss of value", "discount_rate": "cost of capital", "rent_decline": "fall of rents",
         "lead_months": "lead time", "machine_interruption_seconds": "time until spot is taken",
         "checkpoint_seconds": "time of a checkpoint", "restart_seconds": "time to restart"}
# What a price is that may not decide, by its confidence.
DOUBTS = {"floor": "a “from” price, not one you can count on", "secondary": "a price that somebody else reported",
          "recalled": "a price from memory"}


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
    cents, whole = decide.to_the_cent(parts.values()), sum(parts.values())
    rows = [dict(part=name, cost=cost, share=parts[name] / whole) for name, cost in zip(parts, cents)]
    rows.append(dict(part="an owned hour that is used", cost=round(whole, 2), share=1))
    return table(DataFrame(rows), caption, labels={"cost": "USD per hour used"},
                 formats={"cost": lambda value: f"{value:.2f}".replace("-", "−"), "share": percent})


def bands_table(results, caption):
    """Low, middle and high of each result over the draws; results: name -> (values, their formatter)."""
    rows = [[name, *map(show, decide.band(values))] for name, (values, show) in results.items()]
    return table(DataFrame(rows, columns=["result", "low", "middle", "high"]), caption)


def turning_table(swings, turns, winner, caption, named=short_name, basis=None):
    """The range of each input and where in it the `winner` becomes cheaper.

    swings: rows of `decide.tornado`; turns: of `decide.turning_points`; basis: the assumptions, to show their confidence.
    """
    frame = DataFrame([dict(input=named(name), **{end: input_text(name, row[end]) for end in decide.ENDS},
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
