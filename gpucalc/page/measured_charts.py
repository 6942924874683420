"""Every published figure against what the formulas say."""
import altair

from ..rows import bands
from ..rows.published import published
from .charts import finish, rule

# Families that a chart tells apart by colour: the page has eight.
MOST = 8


def error_chart(alt):
    """Published over predicted by what was predicted, both on log axes: a colour for each family, a shape for each era."""
    rows = published()
    wider = rows["family"].map(lambda name: bands.widest(name) if name else "others")
    known = wider.value_counts().index[:MOST - 1]
    frame = rows.assign(family=wider.where(wider.isin(known), "others"), era=rows["era"].map(bands.era_name))
    shown = frame[["predicted", "ratio", "family", "era", "subject", "publisher"]].round({"ratio": 3})
    shown["predicted"] = shown["predicted"].map("{:.3g}".format).astype(float)
    log, ticks = altair.Scale(type="log", nice=False), altair.Axis(format="~r", values=[0.25, 0.5, 1, 2, 4, 8])
    chart = altair.Chart(shown.rename(columns={"publisher": "source"})).mark_point(size=45, filled=True, opacity=0.75).encode(
        x=altair.X("predicted:Q", title="predicted, in SI units", scale=log, axis=altair.Axis(format="~s")),
        y=altair.Y("ratio:Q", title="published over predicted", scale=log, axis=ticks),
        color=altair.Color("family:N", title=None, sort=[*known, "others"]),
        shape=altair.Shape("era:N", title=None, sort=[bands.era_name(era) for era in range(len(bands.ERAS) + 1)]),
        tooltip=["subject", "source", "predicted", "ratio"])
    return finish(chart + rule(altair.Y, 1), alt)
