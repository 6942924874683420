"""The cost of tokens as a page shows it: offers and plans as tables, what a dollar buys as a chart."""
import math

import altair
import pandas as pd

from gpucalc.core.evaluate import Row
from gpucalc.core.figures import dollars, number, percent, seconds, three_figures
from gpucalc.decisions.token_volumes import API, turn, verdict
from gpucalc.rows.bands import CLOSE
from ..pages.token_costs import MEASURES
from .charts import axis, finish, rule
from .dates import by_price
from .show import reach, table, volume

LABELS = {
    "api_input_usd_per_million": "a million in", "api_cached_usd_per_million": "cached",
    "api_output_usd_per_million": "a million out", "thousand": "1,000 requests", "month": "a month", "fleet": "with servers",
    "own": "own over API", "needed": "pays above", "gpu": "GPU", "tensor_parallel": "in a replica", "batch": "batch",
    "break_even_requests_per_month": "servers pay from, requests a month", "rented_gpus": "GPUs paid",
    "usd_per_hour": "USD/h",
    "request_seconds": "whole request", "paid_utilization": "utilization", "input_usd_per_million": "a million in",
    "output_usd_per_million": "a million out", "serving_usd_per_month": "a month",
    "high_serving_usd_per_month": "slow end", "binds": "what costs most", "confidence": "price is"}
THREE = ["api_input_usd_per_million", "api_cached_usd_per_million", "api_output_usd_per_million", "thousand", "own",
         "input_usd_per_million", "output_usd_per_million"]
WHOLE = ["month", "tensor_parallel", "batch", "rented_gpus", "serving_usd_per_month", "high_serving_usd_per_month"]
FORMATS = dict.fromkeys(THREE, three_figures) | dict.fromkeys(WHOLE, "{:,.0f}".format) | {
    "needed": reach, "break_even_requests_per_month": volume, "paid_utilization": percent,
    "usd_per_hour": "{:.2f}".format}
PLAN = {
    "gpu": ("GPU", str), "provider": ("from", str), "usd_per_hour": ("a GPU-hour", dollars),
    "rented_gpus": ("GPUs paid", number), "tensor_parallel": ("GPUs in a replica", number),
    "replicas": ("replicas", number), "batch": ("sequences in each", number),
    "request_seconds": ("whole request, nothing waits", seconds), "paid_utilization": ("utilization", percent),
    "input_usd_per_million": ("a million tokens in", dollars),
    "output_usd_per_million": ("a million tokens out", dollars),
    "thousand": ("1,000 requests", dollars), "serving_usd_per_month": ("a month", "{:,.0f} USD".format)}


def cost_table(frame, columns, caption):
    """Those of the columns that offers or plans have, as a table in USD; a dash where no servers or no cached price."""
    if "has_cached" in frame:
        cached = frame["api_cached_usd_per_million"].where(frame["has_cached"])
        frame = frame.assign(api_cached_usd_per_million=cached)
    if "firm" in frame and frame["firm"].all():
        columns = [name for name in columns if name != "confidence"]
    if "high_serving_usd_per_month" in frame:
        frame = frame.assign(high_serving_usd_per_month=frame["high_serving_usd_per_month"].replace(math.inf, math.nan))
    return table(by_price(frame)[[name for name in columns if name in frame]], caption, labels=LABELS, formats=FORMATS)


def plan_table(plans, requests_per_month, caption):
    """Plans of a month side by side, a column each by its name, a line for each thing to know."""
    known = {name: dict(plan) | {"thousand": 1000 * plan["serving_usd_per_month"] / requests_per_month}
             for name, plan in plans.items()}
    lines = [{"question": text} | {name: show(plan[key]) for name, plan in known.items()}
             for key, (text, show) in PLAN.items()]
    return table(pd.DataFrame(lines), caption)


def offer_rows(offers):
    """API offers as rows to cite, each with its note."""
    return [Row({"source": offer.source, "date": offer.date, "confidence": offer.confidence},
                f"{offer.row}; {offer.note}" if offer.note else offer.row) for offer in offers.itertuples()]


def plan_row(plan):
    """The rent of a plan as a row to cite."""
    known = {name: plan[name] for name in ("source", "date", "confidence")}
    return Row({name: value for name, value in known.items() if value == value}, plan["row"])


def dollar_chart(ratios, alt):
    """Tokens per dollar over those of one GPU by each of the measures: a line for each GPU."""
    drawn = pd.concat([pd.DataFrame({"gpu": ratios.index, "measure": label, "ratio": ratios[name].to_numpy()})
                       for name, label in MEASURES.items()])
    dots = altair.Chart(drawn).mark_line(point=altair.OverlayMarkDef(size=70)).encode(
        x=altair.X("measure:N", title=None, sort=list(MEASURES.values()), axis=altair.Axis(labelAngle=0)),
        y=altair.Y("ratio:Q", title="tokens per dollar over those of the H100", scale=altair.Scale(type="log")),
        color=altair.Color("gpu:N", title=None, sort=list(ratios.index)), tooltip=["gpu", "measure", "ratio"])
    return finish(dots, alt, title="Which GPU gives most for a dollar depends on the measure")


def volume_chart(bills, spans, late_share, alt):
    """The bill of a month on each way over the requests, dashed where too many of them wait for a cold start or all for a batch;
    a rule where the cheapest way changes."""
    drawn = bills[["requests_per_month", "way"]].assign(
        serving_usd_per_month=bills["usd"], kind=["in time" if cold <= late_share else "late" for cold in bills["cold"]])
    chart = altair.Chart(drawn).mark_line(strokeWidth=2.5).encode(
        x=axis(altair.X, "requests_per_month", "requests_per_month", "requests a month", True),
        y=axis(altair.Y, "serving_usd_per_month", "serving_usd_per_month", "USD a month", True),
        color=altair.Color("way:N", title=None, sort=list(dict.fromkeys(drawn["way"]))),
        strokeDash=altair.StrokeDash("kind:N", legend=None, sort=["in time", "late"]))
    for span in spans[1:]:
        chart += rule(altair.X, span["start"])
    return finish(chart, alt, title=f"The cheapest way: {cheapest_words(spans)}")


def cheapest_words(spans):
    """Which way is the cheapest from which volume on, in words, and where that is too close to call."""
    if len(spans) == 1:
        return f"{spans[0]['way']} at every volume{_doubt(spans[0])}"
    parts = [f"{'from ' + volume(span['start']) + ' on ' if place else ''}{span['way']}{_doubt(span)}"
             for place, span in enumerate(spans)]
    return ", ".join(parts)


def _doubt(span):
    """Where it is too close to call whether the way of a span is the cheapest, in brackets; empty where it is sure."""
    if not span["open"]:
        return ""
    low, high = map(volume, (min(span["open"]), max(span["open"])))
    where = f" at {low}" if low == high else f" from {low} to {high}"
    return f" ({CLOSE}{where if span['sure'] else ''})"


def _ends(low, plan, high):
    """A volume with its ends; never where it is at neither of them."""
    return f"{volume(plan)} ({volume(low)} to {volume(high)})" if low < math.inf else volume(plan)


def ways_table(bills, requests_per_month, caption):
    """Each way in a month: what it takes, its bill, whether it costs less than the API, and from which volume on it does."""
    month = by_price(bills[bills["requests_per_month"] == requests_per_month])
    turns = {way: turn(bills, way) for way in month["way"]}
    shown = month[["way", "fleet", "usd", "low", "high", "cold"]].replace(math.inf, math.nan).assign(
        cheaper=[None if way == API else verdict(bills, requests_per_month, way) or None for way in month["way"]],
        turn=[None if way == API else _ends(*turns[way]) for way in month["way"]])
    money = dict.fromkeys(["usd", "low", "high"], "{:,.0f}".format)
    return table(shown, caption, formats=money | {"cold": percent}, labels={
        "fleet": "for example", "usd": "a month, USD", "low": "fast end", "high": "slow end", "cold": "wait for a start",
        "cheaper": "cheaper than the API?", "turn": "cheaper from, requests a month (fast to slow end)"})
