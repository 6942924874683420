"""The cost of tokens as a page shows it: offers and plans as tables, what a dollar buys as a chart."""
import math

import altair
import pandas as pd

from ..core.evaluate import Row
from ..core.figures import dollars, number, percent, seconds, three_figures
from ..plan.token_costs import MEASURES
from .charts import finish
from .show import reach, table, volume

LABELS = {
    "api_input_usd_per_million": "a million in", "api_cached_usd_per_million": "cached",
    "api_output_usd_per_million": "a million out", "thousand": "1,000 requests", "month": "a month", "fleet": "with",
    "own": "own over API", "needed": "pays above", "gpu": "GPU", "tensor_parallel": "in a replica", "batch": "batch",
    "break_even_requests_per_month": "servers pay from, requests a month", "rented_gpus": "GPUs paid",
    "usd_per_hour": "USD/h",
    "request_seconds": "whole request", "paid_utilization": "utilization", "input_usd_per_million": "a million in",
    "output_usd_per_million": "a million out", "serving_usd_per_month": "a month",
    "high_serving_usd_per_month": "slow end"}
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
    if "high_serving_usd_per_month" in frame:
        frame = frame.assign(high_serving_usd_per_month=frame["high_serving_usd_per_month"].replace(math.inf, math.nan))
    return table(frame[[name for name in columns if name in frame]], caption, labels=LABELS, formats=FORMATS)


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
    return finish(dots, alt)
