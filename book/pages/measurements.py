"""Every published figure against what the formulas say."""
import json

import altair
from pandas import DataFrame

from gpucalc import Case, decide
from gpucalc.core.figures import number
from gpucalc.laws.serving import replica_prefill_seconds
from gpucalc.rows import bands, tables
from ..components.charts import finish, rule
from ..components.published import errors_by, published, served
from ..components.show import table

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


def speed_chart(alt):
    """Measured time per token of engines by the time predicted, both on log axes: a colour for each engine."""
    frame = served().query("family.str.startswith('time per output token')")
    frame = frame.assign(ms=frame["value"] * 1e3, predicted=frame["predicted"] * 1e3)[["predicted", "ms", "engine"]]
    for name in ("predicted", "ms"):
        frame[name] = frame[name].map("{:.3g}".format).astype(float)
    log, ticks = altair.Scale(type="log", nice=False, padding=8), altair.Axis(format="~r", values=[2, 5, 10, 20, 50, 100, 200])
    ends = [float(frame[["predicted", "ms"]].min().min()), float(frame[["predicted", "ms"]].max().max())]
    equal = altair.Chart(altair.Data(values=[{"predicted": end, "ms": end} for end in ends])).mark_line(color=_GRAY).encode(
        x="predicted:Q", y="ms:Q")
    points = altair.Chart(frame.drop_duplicates()).mark_point(size=14, filled=True, opacity=0.5).encode(
        x=altair.X("predicted:Q", title="predicted (ms a token)", scale=log, axis=ticks),
        y=altair.Y("ms:Q", title="measured (ms a token)", scale=log, axis=ticks), color=altair.Color("engine:N", title=None))
    return finish(equal + points, alt)


def engine_chart(alt, fewest=5):
    """Where eight in ten figures of an engine lie, with their median: a line for each of what was timed."""
    timed = served()["family"].replace("decode on several GPUs", "decode")
    frame = errors_by(served().assign(timed=timed), "engine", "timed").query(f"figures >= {fewest}")
    order = frame.groupby("engine")["figures"].sum().sort_values(ascending=False, kind="stable").index.tolist()
    base = altair.Chart(frame.round(3)).encode(
        y=altair.Y("engine:N", title=None, sort=order), yOffset="timed:N", color=altair.Color("timed:N", title=None),
        tooltip=["engine", "timed", "figures", "tenth", "median", "ninetieth"])
    ticks = altair.Axis(format="~r", values=[0.5, 0.75, 1, 1.5, 2, 3, 4, 6])
    log = altair.Scale(type="log", nice=False, padding=8)
    ends = base.mark_rule(strokeWidth=3).encode(
        x=altair.X("tenth:Q", title="published over predicted", axis=ticks, scale=log), x2="ninetieth:Q")
    return finish(rule(altair.X, 1) + ends + base.mark_point(filled=True, size=60, opacity=1).encode(x="median:Q"), alt)


def peers(kind=None):
    """The cases of data/peers.csv, or those of a kind, with this book's `plan`, the ends of its range, and the `ratio` of plan to
    `value`.

    Of a load the plan counts the GPUs that carry it; the range is of what is rented, with spare ones and whole servers.
    """
    frame = tables.table("peers")
    frame = frame[(frame["kind"] == kind) | (kind is None)]
    found = []
    for row in frame.itertuples():
        if row.kind == "prefill":
            low, plan, high, *_ = Case.of(json.loads(row.inputs)).band(replica_prefill_seconds)
        else:
            answer = decide(json.loads(row.inputs)).attrs["answer"]
            (low, _, high, *_), best = answer.figures["many"], answer.best
            plan = best["replicas_required"] * best["tensor_parallel"] * best["attention_parallel"] * best["pipeline_parallel"]
        found.append(dict(plan=float(plan), least=float(low), most=float(high)))
    frame = frame.join(DataFrame(found, index=frame.index))
    return frame.assign(ratio=frame["plan"] / frame["value"])


def peer_table(kind, caption):
    """What this book and the other calculator say of the cases of a kind, and who is right."""
    frame = peers(kind)
    for name in ("plan", "least", "most", "value"):
        frame[name] = [number(value, "second" if kind == "prefill" else "") for value in frame[name]]
    shown = frame.assign(range=frame["least"] + " to " + frame["most"])[["subject", "plan", "range", "value", "ratio", "note"]]
    labels = {"plan": "this book", "value": "AIConfigurator", "ratio": "ratio", "note": "why",
              "range": "8 in 10 between" if kind == "prefill" else "rented, 8 in 10 between"}
    return table(shown, caption, labels=labels, formats={"ratio": lambda ratio: f"{ratio:.2f}"})
