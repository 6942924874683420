"""Charts of a decision as a band: how the draws spread, which input moves the result, and where owning is the better bet."""
import altair
import numpy
from pandas import DataFrame

from .charts import axis, finish
from .quantities import QUANTITIES

RENTING, OWNING = "#b35806", "#2166ac"
WORTH = "net present value, USD"


def spread_chart(npvs, alt):
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
    return finish(chart, alt).properties(height=260)


def tornado_chart(swings, npv, named, shown, alt):
    """A bar from the likely net present value (USD) to that at each end of an input's range, for the rows of `decide.tornado`.

    `named` gives an input's name as text, `shown` the value of an input.
    """
    pieces = DataFrame([dict(input=named(name), end=end, start=npv, stop=row[f"at_{end}"], value=shown(name, row[end]))
                        for name, row in swings.iterrows() for end in ("low", "high")])
    bars = altair.Chart(pieces).mark_bar().encode(
        y=altair.Y("input:N", sort=[named(name) for name in swings.index], title=None, axis=altair.Axis(labelLimit=150)),
        x=axis(altair.X, "start", "owning_npv", WORTH), x2="stop:Q",
        color=altair.Color("end:N", title=None, scale=altair.Scale(domain=["low", "high"])),
        tooltip=["input:N", "end:N", "value:N", altair.Tooltip("stop:Q", format=",.0f")])
    zero = altair.Chart(DataFrame([dict(at=0)])).mark_rule(strokeDash=[6, 4], strokeWidth=2).encode(x="at:Q")
    return finish(bars + zero, alt).properties(height=max(360, 22 * len(swings)))


def map_chart(cells, alt):
    """The probability that owning wins in each cell of `decide.rent_or_buy_map`."""
    chart = altair.Chart(cells).mark_rect().encode(
        x=altair.X("utilization:O", title=QUANTITIES["utilization"].meaning, axis=altair.Axis(
            labelExpr="round(datum.value * 20) % 4 ? '' : format(datum.value, '.0%')", labelAngle=0, tickSize=0)),
        y=altair.Y("years:O", title=QUANTITIES["years"].meaning, sort="descending"),
        color=altair.Color("wins:Q", title="owning wins in", scale=altair.Scale(
            domain=[0, 0.5, 1], range=[RENTING, "#f7f7f7", OWNING]), legend=altair.Legend(format=".0%")),
        tooltip=[altair.Tooltip("utilization:Q", format=".0%"), "years:Q", altair.Tooltip("wins:Q", format=".0%")])
    return finish(altair.layer(chart), alt).properties(height=230)
