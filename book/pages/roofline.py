"""Rooflines: what a GPU allows at each intensity, where work stands below it, and the table of a pass's operators."""
import altair

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import seconds, three_figures
from gpucalc.laws import arithmetic_intensity as ai
from gpucalc.rows import catalogue
from ..components.charts import axis, finish
from ..components.moving import expression, slider
from ..components.show import table
from .operators import decode_operators, prefill_operators

# Ends of the axes of a chart with sliders: FLOP per byte, FLOP/s.
EDGES, HEIGHTS = [0.05, 10_000], [1e10, 1e16]


def roofline(names, work, gpu, alt):
    """Rooflines of the GPUs; `work` (label, intensity, attainable_flops) are dots on the one of `gpu`."""
    import pandas
    cards = catalogue.gpus().loc[list(names), ["peak_flops", "bandwidth"]]
    ends = pandas.concat([cards.assign(intensity=value) for value in (0.5, Case(cards)(ai.ridge_point), 4096)])
    roofs = ends.assign(attainable_flops=Case(ends)(ai.attainable_flops)).reset_index()
    x, y = _axes()
    lines = altair.Chart(roofs).mark_line(strokeWidth=2.5).encode(
        x=x, y=y, color=altair.Color("gpu:N", title=None, sort=list(names)))
    points = altair.Chart(work).mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=altair.datum(gpu))
    labels = altair.Chart(work).mark_text(align="right", dx=-7, dy=-7).encode(x=x, y=y, text="label:Q")
    return finish(lines + points + labels, alt)


def operator_roofline(case, alt):
    """The roofline of a GPU to choose, with the operators of a decode step (circles) and of a prefill (triangles)."""
    ranges = {"batch": (1, 512, 1), "context": (128, 32768, 128), "prompt": (1, 8192, 1)}
    load = {name: slider(name, min(low, case.inputs[name]), max(high, case.inputs[name]), step, case.inputs[name])
            for name, (low, high, step) in ranges.items()}
    cards = catalogue.gpus()[["peak_flops", "bandwidth"]]
    picked = altair.param(name="card", value=case.rows["gpu"].name,
                          bind=altair.binding_select(options=list(cards.index), name="GPU "))
    chosen = altair.Chart().transform_filter(altair.datum.gpu == picked)
    steps = decode_operators(case.but(batch=load["batch"], context=load["context"]))
    marks = [_roof(chosen), *_dots(chosen, steps, "circle"),
             *_dots(chosen, prefill_operators(case.but(batch=1, prompt=load["prompt"])), "triangle-up")]
    chart = altair.layer(*marks, data=cards.reset_index()).add_params(picked, *load.values())
    return finish(chart, alt).configure_legend(orient="bottom", columns=1)


def operator_table(operators, caption):
    """The operators of a pass, timed, and their sum."""
    shown = operators[["operator", "operator_flops", "operator_bytes", "intensity", "bound", "reached", "limit"]].copy()
    total = shown[["operator_flops", "operator_bytes", "bound", "reached"]].sum()
    intensity = total["operator_flops"] / total["operator_bytes"]
    shown.loc[len(shown)] = {"operator": "sum", **total, "intensity": intensity, "limit": ""}
    return table(shown, caption, formats=dict(intensity=three_figures, bound=seconds, reached=seconds),
                 labels=dict(operator_flops="FLOP", operator_bytes="bytes", intensity="FLOP/B", bound="at least",
                             reached="expected", limit="limited by"))


def _axes():
    return (axis(altair.X, "intensity", "intensity", "FLOP per byte", log=True),
            axis(altair.Y, "attainable_flops", "attainable_flops", "FLOP/s, at most", log=True))


def _still_axes():
    """Axes that stay while sliders move what is drawn."""
    x, y = _axes()
    return x.scale(type="log", domain=EDGES), y.scale(type="log", domain=HEIGHTS)


def _height():
    """The roof over the point's intensity, as the browser computes it."""
    return expression(ai.attainable_flops(altair.datum.intensity, altair.datum.peak_flops, altair.datum.bandwidth))


def _roof(chosen):
    x, y = _still_axes()
    ridge = expression(ai.ridge_point(altair.datum.peak_flops, altair.datum.bandwidth))
    line = chosen.transform_calculate(low=str(EDGES[0]), ridge=ridge, high=str(EDGES[1])).transform_fold(
        ["low", "ridge", "high"], as_=["edge", "intensity"])
    return line.transform_calculate(attainable_flops=_height()).mark_line(
        strokeWidth=2.5, color="gray").encode(x=x, y=y)


def _dots(chosen, operators, shape):
    """A point for each operator that does work, the later ones smaller so that none hides another."""
    x, y = _still_axes()
    drawn = [row for row in operators if row["operator"] not in ("embedding", "final norm") and row["operator_flops"] != 0]
    for size, row in zip(range(40 * len(drawn), 0, -40), drawn):
        where = expression(ai.intensity.formula(row["operator_flops"], row["operator_bytes"]))
        yield chosen.transform_calculate(intensity=where).transform_calculate(attainable_flops=_height()).mark_point(
            filled=True, size=size, opacity=1, shape=shape).encode(
            x=x, y=y, color=altair.datum(row["operator"], title=None))
