"""Every published figure against what the formulas say."""
import altair

from ..rows import bands
from ..rows.published import published
from .charts import finish, rule

# Families that a chart tells apart by colour: the page has eight.
MOST = 8
_GRAY = "#7a8594"  # seen on a light page and on a dark one


def error_chart(alt):
    """Published over predicted by what was predicted, both on log axes: a color for each family, a shape for each era.

    A click on a family in the legend fades the others.
    """
    rows = published()
    wider = rows["family"].map(lambda name: bands.widest(name) if name else "others")
    known = wider.value_counts().index[:MOST - 1]
    frame = rows.assign(family=wider.where(wider.isin(known), "others"), era=rows["era"].map(bands.era_name))
    shown = frame[["predicted", "ratio", "family", "era", "subject", "publisher"]].round({"ratio": 3})
    shown["predicted"] = shown["predicted"].map("{:.3g}".format).astype(float)
    picked = altair.selection_point(fields=["family"], bind="legend")
    log, ticks = altair.Scale(type="log"), altair.Axis(format="~r", values=[0.25, 0.5, 1, 2, 4, 8])
    chart = altair.Chart(shown.rename(columns={"publisher": "source"})).mark_point(size=30, filled=True).encode(
        x=altair.X("predicted:Q", title="predicted: seconds, bytes, tokens/s, FLOP/s", scale=log,
                   axis=altair.Axis(format="~s", values=[10.0**power for power in range(-6, 16, 3)])),
        y=altair.Y("ratio:Q", title="published over predicted", axis=ticks,
                   scale=altair.Scale(type="log", nice=False, padding=8)),
        color=altair.Color("family:N", title=None, sort=[*known, "others"]),
        shape=altair.Shape("era:N", title="software", sort=[bands.era_name(era) for era in range(len(bands.ERAS) + 1)],
                           legend=altair.Legend(orient="bottom", columns=2, symbolFillColor=_GRAY, symbolStrokeColor=_GRAY)),
        opacity=altair.condition(picked, altair.value(0.7), altair.value(0.06)),
        tooltip=["subject", "source", "predicted", "ratio"]).add_params(picked)
    return finish(rule(altair.Y, 1) + chart, alt)
