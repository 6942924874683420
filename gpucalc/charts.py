"""Charts whose lines are laws: the browser evaluates the law's own arithmetic at the sliders' values."""
import os
from numbers import Real

import altair

from .explanation import explain, uses
from .quantities import QUANTITIES
from .show import takes_prefix, unit_symbol

MIME = "application/vnd.vegalite.v6+json"


def slider_chart(lines, x, values, sliders, alt, y_title, given=None, log_x=False, log_y=False):
    """Lines over `x`, each a law, with a slider for each quantity in `sliders`.

    lines: label -> (law, rows...); what the rows don't hold comes from `given`.
    x: name of the quantity on the horizontal axis; values: where it is evaluated.
    sliders: quantity -> (low, high, step, start). alt: the finding, for readers who can't see the chart.
    """
    parameters = {name: _slider(name, *bounds) for name, bounds in sliders.items()}
    moving = {**(given or {}), **parameters, x: altair.datum[x]}
    calculations, checks, layers = {}, [], []
    for position, (label, (law, *rows)) in enumerate(lines.items()):
        field = f"{law.__name__}_{position}"
        line = explain(law, *rows, **uses(law, *rows, **moving))
        calculations[field] = expression(line.value)
        fixed = {used.name: float(used.value) for used in line.inputs if isinstance(used.value, Real)}
        checks.append({"field": field, "law": law.__name__, "given": fixed})
        layers.append(altair.Chart().mark_line(strokeWidth=2.5).encode(
            x=axis(altair.X, x, x, _titled(x), log_x),
            y=axis(altair.Y, field, law.__name__, y_title, log_y),
            color=altair.datum(label, title=None)))
    data = altair.Data(values=[{x: value} for value in values])
    chart = altair.layer(*layers, data=data).transform_calculate(**calculations).add_params(*parameters.values())
    return finish(chart, alt, {"x": x, "lines": checks})


def finish(chart, alt, check=None):
    """Give a chart its alt text, its width, its legend and, for law charts, what a test needs to check it."""
    usermeta = {"alt": alt, "gpucalc": check} if check else {"alt": alt}
    return chart.properties(width="container", height=340, usermeta=usermeta, autosize=altair.AutoSizeParams(
        type="fit-x", contains="padding")).configure_legend(orient="bottom", columns=2, labelLimit=320)


def axis(channel, field, name, title, log=False):
    """The encoding of a field as the quantity `name`, with its unit on the ticks.

    A log axis labels 1, 2 and 5 of each decade, or 1 where there are many decades.
    """
    unit = QUANTITIES[name].unit
    suffix, form = (unit_symbol(unit), ".3~s") if takes_prefix(unit) else ("", ",~r")
    label = f"replace(format(datum.value, '{form}'), regexp('([a-zA-Zµ]?)$'), ' $1') + '{suffix}'"
    if log:
        ends = f"domain('{'x' if channel is altair.X else 'y'}')"
        exponent = "(log(datum.value) / LN10)"
        digit = f"round(pow(10, {exponent} - floor({exponent} + 1e-9)))"
        labelled = f"indexof({ends}[1] / {ends}[0] > 2000 ? [1] : [1, 2, 5], {digit}) >= 0 ? {label} : ''"
        marks = altair.Axis(labelExpr=labelled, labelOverlap="greedy", labelSeparation=4, grid=True)
        scale = altair.Scale(type="log", nice=channel is altair.Y)
    else:
        marks, scale = altair.Axis(labelExpr=label, grid=True, tickCount=6), altair.Scale()
    return channel(field, type="quantitative", title=title, scale=scale, axis=marks)


def _titled(name):
    """A quantity's meaning, with its unit unless the ticks carry it."""
    unit = QUANTITIES[name].unit
    return QUANTITIES[name].meaning + (f", {unit_symbol(unit)}" if unit and not takes_prefix(unit) else "")


def expression(value):
    """The Vega expression of what a law gave: Altair wraps it in a dict where only parameters are in it."""
    rule = value.to_dict() if hasattr(value, "to_dict") else repr(value)
    return rule["expr"] if isinstance(rule, dict) else rule


def _slider(name, low, high, step, start):
    quantity = QUANTITIES[name]
    unit = unit_symbol(quantity.unit)
    label = f"{quantity.meaning}{', ' + unit if unit else ''} ({name}) "
    return altair.param(name=name, value=start, bind=altair.binding_range(min=low, max=high, step=step, name=label))


def _render(spec, **_):
    """The specification for the book's pages, and a still picture for readers of the notebook file."""
    spec = {name: value for name, value in spec.items() if name != "$schema"}
    shown = {MIME: spec, "text/plain": spec.get("usermeta", {}).get("alt", "chart")}
    if os.environ.get("STILL_PICTURES") == "no":
        return shown
    import vl_convert
    return shown | {"image/svg+xml": vl_convert.vegalite_to_svg({**spec, "width": 680}, vl_version="6.4")}


altair.renderers.register("gpucalc", _render)
# A kernel that Jupyter opened has a session name; there Altair's own renderer draws the charts.
if "JPY_SESSION_NAME" not in os.environ:
    altair.renderers.enable("gpucalc")
