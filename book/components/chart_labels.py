"""Words in a chart: the names of lines at their ends, and what stands where lines cross."""
import json
import math

import altair

from gpucalc.core.figures import UNITS, unit_symbol
from gpucalc.core.quantities import QUANTITIES
from .moving import SHARES

# Room for one name below another, as a share of the height; the most characters and names that have room beside a chart.
GAP, LONGEST, MOST = 0.055, 26, 8
# The name of these layers, by which the site's script finds them.
LAYER = "line_labels"


def fit(labels):
    """Whether the names of lines have room at their ends."""
    return len(labels) <= MOST and max(map(len, labels), default=0) <= LONGEST


def of_fields(fields, x, x_axis, y_axis, log_y):
    """A layer with names at the last points of lines. fields: field -> its name."""
    folded = altair.Chart().transform_fold(list(fields), as_=["line", "at"])
    named = folded.transform_calculate(line=f"{json.dumps(fields, ensure_ascii=False)}[datum.line]")
    return _at_ends(named, x, "line", x_axis, y_axis, log_y, list(fields.values()))


def of_rows(chart, x, y, color, x_axis, y_axis, log_y, order):
    """The same for a chart whose rows have the line's name in the column `color`."""
    named = chart.transform_calculate(at=f"datum[{y!r}]", line=f"datum[{color!r}]")
    return _at_ends(named, x, "line", x_axis, y_axis, log_y, order)


def _at_ends(named, x, line, x_axis, y_axis, log_y, order):
    least = "pow(10, floor(log(datum.least) / LN10 + 1e-9))" if log_y else "min(0, datum.least)"
    most = "pow(10, ceil(log(datum.most) / LN10 - 1e-9))" if log_y else "datum.most"
    share = "(datum.at - datum.low) / (datum.high - datum.low)"
    back = "datum.low + datum.share * (datum.high - datum.low)"
    if log_y:
        share = "log(datum.at / datum.low) / log(datum.high / datum.low)"
        back = "datum.low * pow(datum.high / datum.low, datum.share)"
    last = named.transform_filter(f"isFinite(datum.at){' && datum.at > 0' if log_y else ''}").transform_joinaggregate(
        least="min(at)", most="max(at)").transform_joinaggregate(end=f"max({x})", groupby=[line]).transform_filter(
        f"datum[{x!r}] == datum.end").transform_aggregate(
        at="max(at)", end="max(end)", least="min(least)", most="max(most)", groupby=[line])
    # From the top each name stands at its line's end or a gap below the one before; all rise if the last is below the chart.
    placed = last.transform_calculate(low=least, high=most).transform_calculate(share=share).transform_window(
        rank="row_number()", sort=[altair.SortField("share", order="descending")]).transform_calculate(
        share=f"datum.share + {GAP} * datum.rank").transform_window(
        share="min(share)", frame=[None, 0], sort=[altair.SortField("rank")]).transform_calculate(
        share=f"datum.share - {GAP} * datum.rank").transform_joinaggregate(lowest="min(share)").transform_calculate(
        share="datum.share - min(0, datum.lowest)").transform_calculate(place=back)
    x_end, y_end = x_axis.copy(), y_axis.copy()
    x_end.shorthand, y_end.shorthand = "end", "place"
    return placed.mark_text(align="left", dx=7, fontSize=12, limit=200).encode(
        x=x_end, y=y_end, text=f"{line}:N",
        color=altair.Color(f"{line}:N", title=None, scale=altair.Scale(domain=order))).properties(name=LAYER)


def vega_text(value, name):
    """A Vega expression that writes a value of the quantity as core/figures.py does; a count with the word for what it counts."""
    unit, _, meaning, allowed, _ = QUANTITIES[name]
    symbol, prefixes = unit_symbol(unit), UNITS[unit]["prefixes"]
    if prefixes != "none":
        return f"replace(format({value}, '.3~s'), regexp('([a-zA-Zµ]?)$'), ' $1') + '{symbol}'"
    if not symbol and allowed in SHARES:
        return f"format(100 * {value}, '.3~r') + ' %'"
    counted = meaning.split(" ")[0]
    words = symbol or (counted if counted.endswith("s") else "")
    figure = f"(abs({value}) < 1e6 && {value} == floor({value}) ? format({value}, ',d') : format({value}, ',.3r'))"
    return f"{figure} + ' {words}'" if words else figure


def crossing(x, at, height, ends, x_axis, y_axis):
    """A dashed line where the signal `at` says, if between the ends of the axis, and there at `height` a point with its value."""
    place = altair.Chart(altair.Data(values=[{}])).transform_calculate(crossing=at).transform_filter(
        f"datum.crossing >= {ends[0]} && datum.crossing <= {ends[1]}")
    x_at, y_at = x_axis.copy(), y_axis.copy()
    x_at.shorthand, y_at.shorthand = "crossing", "height"
    rule = place.mark_rule(strokeWidth=1.5, strokeDash=[6, 4]).encode(x=x_at)
    point = place.transform_calculate(height=height).transform_filter("isFinite(datum.height)")
    side = f"{at} > {_middle(ends, x_axis)}"
    words = dict(align={"expr": f"{side} ? 'right' : 'left'"}, dx={"expr": f"{side} ? -9 : 9"})
    text = point.transform_calculate(said=vega_text("datum.crossing", x))
    shown = [text.mark_text(dy=-10, fontSize=13, fontWeight=600, style=style, **words).encode(x=x_at, y=y_at, text="said:N")
             for style in ("halo", "said")]
    return [rule, point.mark_point(filled=True, size=80, opacity=1, style="said").encode(x=x_at, y=y_at), *shown]


def _middle(ends, x_axis):
    log = x_axis.to_dict().get("scale", {}).get("type") == "log"
    return math.sqrt(ends[0] * ends[1]) if log and ends[0] > 0 else (ends[0] + ends[1]) / 2
