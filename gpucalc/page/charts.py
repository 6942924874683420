"""Charts whose lines are laws: the browser evaluates the law's own arithmetic at the sliders' values."""
import os
from numbers import Real

import altair

from ..core.law import LAWS
from ..core.quantities import QUANTITIES
from ..core.figures import UNITS, unit_symbol

# An expression of so many characters is written out wherever it stands.
SHORT = 300
MIME = "application/vnd.vegalite.v6+json"
# What JupyterLab draws by itself, without a network; a kernel that it opened has a session name.
JUPYTER_MIME = "application/vnd.vegalite.v5+json"


def slider_chart(case, lines, x, values, sliders, alt, y_title, log_x=False, log_y=False, crossing=None):
    """Lines over `x`, each a law for the case, with a slider for each quantity in `sliders`.

    lines: label -> law, or (law, changes of the case).
    x: name of the quantity on the horizontal axis; values: where it is evaluated.
    sliders: quantity -> (low, high, step, start). alt: the finding, for readers who can't see the chart.
    crossing: a law, or one with changes, that gives the value of `x` at which a dashed line stands; it moves with the sliders.
    """
    parameters = {name: slider(name, *bounds) for name, bounds in sliders.items()}
    moving = {**parameters, x: altair.datum[x]}
    calculations, named, checks, layers = {}, {}, [], []
    for position, (label, line) in enumerate(lines.items()):
        law, changes = line if isinstance(line, tuple) else (line, {})
        field = f"{law.__name__}_{position}"
        line = case.but(**moving | changes).explain(law)
        calculations |= _calculations(line.steps[:-1], position, named) | {field: _shortened(expression(line.value), named)}
        fixed = {used.name: float(used.value) for used in line.inputs if isinstance(used.value, Real)}
        fixed |= {name: {"law": other} if other in LAWS else fixed[other] for name, other in line.bound.items()}
        checks.append({"field": field, "law": law.__name__, "given": fixed, "level": x in changes})
        layers.append(altair.Chart().mark_line(strokeWidth=2.5).encode(
            x=axis(altair.X, x, x, _titled(x), log_x),
            y=axis(altair.Y, field, law.__name__, y_title, log_y),
            color=altair.datum(label, title=None)))
    if crossing:
        layers.append(_crossing(case, crossing, parameters, (values[0], values[-1])))
    data = altair.Data(values=[{x: value} for value in values])
    chart = altair.layer(*layers, data=data).transform_calculate(**calculations).add_params(*parameters.values())
    return finish(chart, alt, {"x": x, "lines": checks})


def _crossing(case, crossing, parameters, ends):
    """A dashed line across a slider chart where the law says, if that is between the ends of the axis."""
    law, changes = crossing if isinstance(crossing, tuple) else (crossing, {})
    value = case.but(**parameters | changes)(law)
    text = "1 / 0" if isinstance(value, Real) and value == float("inf") else expression(value)
    place = altair.Chart(altair.Data(values=[{}])).transform_calculate(crossing=text)
    shown = place.transform_filter(f"datum.crossing >= {ends[0]} && datum.crossing <= {ends[1]}")
    return shown.mark_rule(strokeWidth=2, strokeDash=[6, 4]).encode(x="crossing:Q")


def _calculations(steps, position, named):
    """Fields for the laws on the way, so that no expression is written twice; `named` has the field of each, by expression."""
    found = {}
    for step in steps:
        text = "" if isinstance(step.value, Real) else expression(step.value)
        if len(text) > SHORT and text not in named:
            field = f"{step.law}_{position}"
            found[field] = _shortened(text, named)
            named[text] = f"datum[{field!r}]"
    return found


def _shortened(text, named):
    """The expression with the fields of those that stand in it; what is inside of one that was replaced is gone with it."""
    for inner in sorted(named, key=len, reverse=True):
        text = text.replace(inner, named[inner])
    return text


def bars(frame, value, name, part, alt, title, order=None, limit=None, room=165):
    """Horizontal bars of the quantity `value`, one for each `name`, in parts by colour; `limit` is a dashed line with its text.

    frame: columns `name`, `part` and one called like the quantity; both in the order in which they come. room: pixels for names.
    """
    parts = order or list(dict.fromkeys(frame[part]))
    frame = frame.assign(place=frame[part].map(parts.index))
    chart = altair.Chart(frame).mark_bar().encode(
        x=axis(altair.X, value, value, title), order="place:O",
        y=altair.Y(f"{name}:N", title=None, sort=list(dict.fromkeys(frame[name])), axis=altair.Axis(labelLimit=room)),
        color=altair.Color(f"{part}:N", title=None, sort=parts, scale=altair.Scale(domain=parts)))
    return finish(chart if limit is None else chart + rule(altair.X, limit), alt)


def lines(frame, x, y, color, alt, x_title=None, y_title=None, log_x=False, log_y=False, points=False, sort=None, dash=None,
          limit=None):
    """Lines of the quantity `y` over the quantity `x`, one for each `color`, in the order in which they come.

    dash: the column whose later values are drawn dashed; limit: where a dashed line crosses the chart.
    """
    chart = altair.Chart(frame).mark_line(strokeWidth=2.5, point=points).encode(
        x=axis(altair.X, x, x, x_title or _titled(x), log_x), y=axis(altair.Y, y, y, y_title or _titled(y), log_y),
        color=altair.Color(f"{color}:N", title=None, sort=sort or list(dict.fromkeys(frame[color]))))
    if dash:
        chart = chart.encode(strokeDash=altair.StrokeDash(f"{dash}:N", legend=None, sort=list(dict.fromkeys(frame[dash]))))
    return finish(chart if limit is None else chart + rule(altair.Y, limit), alt)


def scatter(frame, x, y, color, alt, x_title=None, y_title=None, log_x=False, log_y=False, tooltip=()):
    """Points of two quantities, by colour; `tooltip` names the columns that a point shows."""
    chart = altair.Chart(frame).mark_circle(size=60).encode(
        x=axis(altair.X, x, x, x_title or _titled(x), log_x), y=axis(altair.Y, y, y, y_title or _titled(y), log_y),
        color=altair.Color(f"{color}:N", title=None, sort=list(dict.fromkeys(frame[color]))), tooltip=list(tooltip))
    return finish(chart, alt)


def tiles(frame, x, y, kind, mark, colors, alt, x_title):
    """A map of `y` by the number `x`, `y` in the order in which it comes: each tile in its kind's color, with its mark.

    colors: kind -> color, in the order of the legend.
    """
    places = altair.Chart(frame).encode(
        x=altair.X(f"{x}:O", title=x_title, axis=altair.Axis(format=".0f", labelAngle=-90, labelOverlap=False)),
        y=altair.Y(f"{y}:N", title=None, sort=None, axis=altair.Axis(labelLimit=110)))
    scale = altair.Scale(domain=list(colors), range=list(colors.values()))
    filled = places.mark_rect(stroke="white").encode(
        color=altair.Color(f"{kind}:N", title=None, scale=scale, legend=altair.Legend(columns=1)))
    return finish(filled + places.mark_text(fontSize=11, color="black").encode(text=f"{mark}:N"), alt)


def rule(channel, value):
    """A dashed line across a chart at a value of its horizontal or vertical axis: a limit, or where something turns."""
    at = "x" if channel is altair.X else "y"
    line = altair.Chart(altair.Data(values=[{"limit": value}])).encode(**{at: "limit:Q"})
    return line.mark_rule(color="white", strokeWidth=4) + line.mark_rule(color="black", strokeWidth=2, strokeDash=[6, 4])


def finish(chart, alt, check=None):
    """Give a chart its alt text, its width, its legend and, for law charts, what a test needs to check it."""
    usermeta = {"alt": alt, "gpucalc": check} if check else {"alt": alt}
    return chart.properties(width="container", height=340, usermeta=usermeta, autosize=altair.AutoSizeParams(
        type="fit-x", contains="padding")).configure_legend(orient="bottom", columns=2, labelLimit=320)


def axis(channel, field, name, title, log=False):
    """The encoding of a field as the quantity `name`, with its unit on the ticks; any other name is a plain number.

    A log axis labels 1, 2 and 5 of each decade, or 1 where there are many decades.
    """
    unit = QUANTITIES[name].unit if name in QUANTITIES else ""
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
    return QUANTITIES[name].meaning if takes_prefix(unit) else _in_unit(name)


def _in_unit(name):
    """A quantity's meaning, with its unit unless the meaning ends with it: `requests a month`."""
    meaning, unit = QUANTITIES[name].meaning, unit_symbol(QUANTITIES[name].unit)
    return f"{meaning}, {unit}" if unit and not meaning.endswith(f" {unit}") else meaning


def takes_prefix(unit):
    """Whether values in the unit are printed with an SI prefix."""
    return UNITS[unit]["prefixes"] != "none"


def expression(value):
    """The Vega expression of what a law gave: Altair wraps it in a dict where only parameters are in it."""
    rule = value.to_dict() if hasattr(value, "to_dict") else repr(value)
    return rule["expr"] if isinstance(rule, dict) else rule


def slider(name, low, high, step, start):
    """An Altair parameter for a quantity, bound to a slider that is labelled with its meaning, unit and name."""
    return altair.param(name=name, value=start, bind=altair.binding_range(
        min=low, max=high, step=step, name=f"{_in_unit(name)} ({name}) "))


def _render(spec, **_):
    """The specification for whoever draws it, and a still picture for who does not."""
    spec = {name: value for name, value in spec.items() if name != "$schema"}
    fixed = {name: value for name, value in spec.items() if name != "autosize"} | {"width": 680}
    chart = {JUPYTER_MIME: fixed} if "JPY_SESSION_NAME" in os.environ else {MIME: spec}
    shown = chart | {"text/plain": spec.get("usermeta", {}).get("alt", "chart")}
    if os.environ.get("STILL_PICTURES") == "no":
        return shown
    import vl_convert
    return shown | {"image/svg+xml": vl_convert.vegalite_to_svg({**spec, "width": 680}, vl_version="6.4")}


altair.renderers.register("gpucalc", _render)
altair.renderers.enable("gpucalc")
