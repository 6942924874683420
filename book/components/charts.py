"""Charts whose lines are laws: the browser evaluates the law's own arithmetic at the sliders' values."""
import json
import os
import re
import textwrap

import altair

from gpucalc.core.figures import UNITS, unit_symbol
from gpucalc.core.quantities import QUANTITIES
from . import chart_labels, chart_title
from .moving import Chosen, Shared, Written, expression, forms, levels, parameters, starts
from .sentences import markdown

MIME = "application/vnd.vegalite.v6+json"
# What JupyterLab draws by itself, without a network; a kernel that it opened has a session name.
JUPYTER_MIME = "application/vnd.vegalite.v5+json"
_HASHED = re.compile(r"\b(data-(?=[0-9a-f]{32}\b)|(?:view|param)_(?=[0-9a-f]{16}(?:\b|_)))[0-9a-f]+")


def slider_chart(case, lines, x, values, sliders, alt, y_title, log_x=False, log_y=False, crossing=None, finding="",
                 choose=()):
    """Lines over `x`, each a law for the case, with a slider for each quantity in `sliders`.

    lines: label -> law, or (law, changes of the case).
    x: name of the quantity on the horizontal axis; values: where it is evaluated.
    sliders: quantity -> (low, high, step, start), or words with their values, {"none": 0, "whole layers": 2}.
    alt: the finding, for readers who can't see the chart.
    finding: the chart's title, which moves with the sliders: a sentence in which `{batch}` or `{longest_context:token}` is a
    quantity or a law of the case, with its unit, and `{model}` a row; or several, [(condition, sentence), ..., sentence], of
    which the first holds whose condition does, such as "longest_context > 131072".
    choose: kinds of rows (model, gpu) that the reader may choose among.
    crossing: a law, or one with changes, that gives the value of `x` at which a dashed line stands; it moves with the sliders.
    """
    values = list(values)
    drawn = {label: line if isinstance(line, tuple) else (line, {}) for label, line in lines.items()}
    crossed = crossing if isinstance(crossing, tuple) or crossing is None else (crossing, {})
    start, shared = starts(case, sliders), Shared()
    still, moved = case.but(**start), parameters(sliders, start)
    asked = [*drawn.values(), *([crossed] if crossed else []), *((law, {}) for law in chart_title.laws_in(finding, still))]
    # A chart may stand in a case that lacks what is on its axis.
    there = still if x in still.inputs else still.but(**{x: values[0]})
    chosen = [Chosen(there, kind, asked) for kind in choose]
    moving = case.but(**{kind: row for each in chosen for kind, row in each.moving.items()}
                      | {name: Written(name) for name in moved})

    checks, layers, calculations, names = [], [], {}, {}
    x_axis = axis(altair.X, x, x, _titled(x), log_x)
    x_axis = x_axis if log_x else x_axis.scale(nice=False)
    for position, (label, (law, changes)) in enumerate(drawn.items()):
        field = f"{law.__name__}_{position}"
        fields, text, explained = shared.field(moving.but(**{x: Written(f"datum[{x!r}]")} | changes), law, position)
        calculations |= fields | {field: text}
        names[field] = label
        checks.append({"field": field, "law": law.__name__, "given": levels(explained), "level": x in changes})
        layers.append(altair.Chart().transform_filter(f"isFinite(datum[{field!r}])").mark_line(strokeWidth=2.5).encode(
            x=x_axis, y=axis(altair.Y, field, law.__name__, y_title, log_y),
            color=altair.datum(label, title=None)))
    y_axis = axis(altair.Y, next(iter(names)), checks[0]["law"], y_title, log_y)
    if crossed:
        layers += _crossing(moving, crossed, drawn, x, (values[0], values[-1]), shared, x_axis, y_axis)
    if chart_labels.fit(drawn):
        layers.append(chart_labels.of_fields(names, x, x_axis, y_axis, log_y))
    said = chart_title.written(finding, still, chart_title.Moving(moving, choose), shared)
    signals = [*(each for kind in chosen for each in kind.parameters), *moved.values(), *shared.parameters(), *said.signals]
    chart = altair.layer(*layers, data=altair.Data(values=[{x: value} for value in values]))
    chart = chart.transform_calculate(**calculations).add_params(*signals)
    about = {"finding": said.moves, "sliders": forms(sliders), "units": chart_title.units_in(said.moves, forms(sliders).values())}
    shared.checks.pop("crossing_height", None)
    check = {"x": x, "lines": checks, "signals": shared.checks, "rows": {each.kind: each.fields for each in chosen},
             "along": {other: each.kind for each in chosen for other in each.along}}
    return finish(chart, alt, check, said.text, chart_labels.fit(drawn), about)


def _crossing(case, crossing, drawn, x, ends, shared, x_axis, y_axis):
    """A dashed line across a slider chart where the law says, with a point on the first line over `x`."""
    law, changes = crossing
    at = shared.signal(case.but(**changes), law, "crossing")
    if not isinstance(at, str):
        at, shared.signals["crossing"] = "crossing", expression(at)
    over, changed = next((line for line in drawn.values() if x not in line[1]), next(iter(drawn.values())))
    height = shared.signal(case.but(**{x: Written(at)} | changed), over, "crossing_height")
    return chart_labels.crossing(x, at, height if isinstance(height, str) else expression(height), ends, x_axis, y_axis)


def bars(frame, value, name, part, alt, x_title, order=None, limit=None, room=165, title=""):
    """Horizontal bars of the quantity `value`, one for each `name`, in parts by colour; `limit` is a dashed line with its text.

    frame: columns `name`, `part` and one called like the quantity; both in the order in which they come. room: pixels for names.
    title: the finding, here as in the other charts without sliders.
    """
    parts = order or list(dict.fromkeys(frame[part]))
    frame = frame.assign(place=frame[part].map(parts.index))
    chart = altair.Chart(frame).mark_bar().encode(
        x=axis(altair.X, value, value, x_title), order="place:O",
        y=altair.Y(f"{name}:N", title=None, sort=list(dict.fromkeys(frame[name])), axis=altair.Axis(labelLimit=room)),
        color=altair.Color(f"{part}:N", title=None, sort=parts, scale=altair.Scale(domain=parts)))
    return finish(chart if limit is None else chart + rule(altair.X, limit), alt, title=title)


def lines(frame, x, y, color, alt, x_title=None, y_title=None, log_x=False, log_y=False, points=False, sort=None, dash=None,
          limit=None, title=""):
    """Lines of the quantity `y` over the quantity `x`, one for each `color`, in the order in which they come.

    dash: the column whose later values are drawn dashed; limit: where a dashed line crosses the chart.
    """
    order = sort or [str(each) for each in dict.fromkeys(frame[color])]
    x_axis, y_axis = axis(altair.X, x, x, x_title or _titled(x), log_x), axis(altair.Y, y, y, y_title or _titled(y), log_y)
    chart = altair.Chart(frame).mark_line(strokeWidth=2.5, point=points).encode(
        x=x_axis, y=y_axis, color=altair.Color(f"{color}:N", title=None, sort=order, scale=altair.Scale(domain=order)))
    if dash:
        chart = chart.encode(strokeDash=altair.StrokeDash(f"{dash}:N", legend=None, sort=list(dict.fromkeys(frame[dash]))))
    direct = chart_labels.fit(order)
    named = [chart_labels.of_rows(altair.Chart(frame), x, y, color, x_axis, y_axis, log_y, order)] if direct else []
    limits = [] if limit is None else [rule(altair.Y, limit)]
    return finish(altair.layer(chart, *named, *limits), alt, title=title, direct=direct)


def scatter(frame, x, y, color, alt, x_title=None, y_title=None, log_x=False, log_y=False, tooltip=(), title=""):
    """Points of two quantities, by colour; `tooltip` names the columns that a point shows."""
    chart = altair.Chart(frame).mark_circle(size=60).encode(
        x=axis(altair.X, x, x, x_title or _titled(x), log_x), y=axis(altair.Y, y, y, y_title or _titled(y), log_y),
        color=altair.Color(f"{color}:N", title=None, sort=list(dict.fromkeys(frame[color]))), tooltip=list(tooltip))
    return finish(chart, alt, title=title)


def tiles(frame, x, y, kind, mark, colors, alt, x_title, title=""):
    """A map of `y` by the number `x`, `y` in the order in which it comes: each tile in its kind's color, with its mark.

    colors: kind -> color, in the order of the legend.
    """
    places = altair.Chart(frame).encode(
        x=altair.X(f"{x}:O", title=x_title, axis=altair.Axis(format=".0f", labelAngle=-90, labelOverlap=False)),
        y=altair.Y(f"{y}:N", title=None, sort=None, axis=altair.Axis(labelLimit=110)))
    scale = altair.Scale(domain=list(colors), range=list(colors.values()))
    filled = places.mark_rect(stroke="white").encode(
        color=altair.Color(f"{kind}:N", title=None, scale=scale, legend=altair.Legend(columns=1)))
    return finish(filled + places.mark_text(fontSize=11, color="black").encode(text=f"{mark}:N"), alt, title=title)


def rule(channel, value):
    """A dashed line across a chart at a value of its horizontal or vertical axis: a limit, or where something turns."""
    at = "x" if channel is altair.X else "y"
    line = altair.Chart(altair.Data(values=[{"limit": value}])).encode(**{at: "limit:Q"})
    return line.mark_rule(color="white", strokeWidth=4) + line.mark_rule(color="black", strokeWidth=2, strokeDash=[6, 4])


def finish(chart, alt, check=None, title="", direct=False, about=None):
    """Give a chart its alt text, its width and its legend.

    title: the finding. check: what a test needs to check a chart of laws. direct: whether names stand at the ends of their lines;
    about: what the site's script needs.
    """
    held = {"alt": alt or title, "title": title, "gpucalc": check, "direct": direct} | (about or {})
    usermeta = {name: value for name, value in held.items() if value}
    return chart.properties(width="container", height=340, usermeta=usermeta, autosize=altair.AutoSizeParams(
        type="fit-x", contains="padding")).configure_legend(orient="top", columns=2, labelLimit=320, offset=28).configure_axisY(
        titleAngle=0, titleAlign="left", titleAnchor="end", titleX=0, titleY=-10, titleBaseline="bottom")


def titled(chart, title):
    """The chart with this finding above it."""
    return chart.properties(usermeta={**chart.usermeta, "title": title})


def axis(channel, field, name, title, log=False):
    """The encoding of a field as the quantity `name`, with its unit on the ticks; any other name is a plain number.

    A log axis labels 1, 2 and 5 of each decade, or 1 where there are many decades.
    """
    unit = QUANTITIES[name].unit if name in QUANTITIES else ""
    suffix, form = (unit_symbol(unit), ".3~s") if takes_prefix(unit) else ("", ",~r")
    label = f"replace(format(datum.value, '{form}'), regexp('([a-zA-Zµ]?)$'), ' $1') + '{suffix}'"
    across = channel is altair.X
    if log:
        ends = f"domain('{'x' if across else 'y'}')"
        exponent = "(log(datum.value) / LN10)"
        digit = f"round(pow(10, {exponent} - floor({exponent} + 1e-9)))"
        shown = f"indexof({ends}[1] / {ends}[0] > 2000 ? [1] : [1, 2, 5], {digit}) >= 0"
        only = {"condition": {"test": shown, "value": 1}, "value": 0}
        marks = altair.Axis(labelExpr=f"{shown} ? {label} : ''", labelOverlap="greedy", labelSeparation=4, grid=not across,
                            gridOpacity=only, tickOpacity=only)
        scale = altair.Scale(type="log", nice=not across)
    else:
        marks, scale = altair.Axis(labelExpr=label, grid=not across, tickCount=6 if across else 5), altair.Scale()
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


def _same_everywhere(spec):
    """The specification without the digits in which processors differ; by its place what Altair names by a hash of them."""
    text, places = json.dumps({name: value for name, value in spec.items() if name != "$schema"}), {}
    text = _HASHED.sub(lambda found: f"{found[1]}{places.setdefault(found[0], len(places) + 1)}", text)
    return json.loads(text, parse_float=lambda digits: float(f"{float(digits):.12g}"))


def _render(spec, **_):
    """The specification for whoever draws it, and a still picture for who does not; of a frame without rows, its text alone."""
    about = spec.get("usermeta", {})
    alt = about.get("alt", "chart")
    if [] in spec.get("datasets", {}).values():  # to Vega a legend without entries has no height
        return {"text/markdown": markdown(alt), "text/plain": alt}
    spec = _same_everywhere(spec)
    still = _with_words(spec) | {"width": 680}
    fixed = {name: value for name, value in still.items() if name != "autosize"}
    chart = {JUPYTER_MIME: fixed} if "JPY_SESSION_NAME" in os.environ else {MIME: spec}
    shown = chart | {"text/plain": alt}
    if os.environ.get("STILL_PICTURES") == "no":
        return shown
    import vl_convert
    return shown | {"image/svg+xml": vl_convert.vegalite_to_svg(still, vl_version="6.4")}


def _with_words(spec):
    """The specification for who has not the site's script: the finding as its title, units with the sliders, names at lines."""
    about, config = spec.get("usermeta", {}), spec.get("config", {})
    if about.get("direct"):
        spec = spec | {"config": config | {"legend": config["legend"] | {"disable": True}}}
    if about.get("title"):
        spec = spec | {"title": {"text": textwrap.wrap(about["title"], 90), "anchor": "start"}}
    units = {name: unit_symbol(form) for name, form in about.get("sliders", {}).items() if form != "percent"}
    params = [given | ({"bind": given["bind"] | {"name": f"{given['bind']['name'].strip()}, {units[given['name']]} "}}
                       if units.get(given["name"]) else {}) for given in spec.get("params", [])]
    return spec | ({"params": params} if params else {})


altair.renderers.register("gpucalc", _render)
altair.renderers.enable("gpucalc")
