"""Tables that the lessons on costs show: a run, and tokens, on the cards that readers meet."""
import math

from pandas import DataFrame

from gpucalc.core.figures import dollars, number, percent, three_figures
from gpucalc.decisions.run_speeds import mfu_ends
from gpucalc.laws.training_cost import compute_usd, planned_gpu_hours, training_days
from .familiar import familiar
from .show import table


def run_table(run, servers, gpu, caption, mfu=None):
    """A run on the cheapest server of eight of each familiar card: its planned MFU, GPU-hours, days and cost with its ends.

    run: a case with a model, tokens and a number of GPUs; servers: `plan.offers.cheapest_flops`; mfu: the share that is given.
    """
    cards = familiar(servers.assign(row=servers.index).set_index("gpu"), "gpu", gpu)
    rows = [_run(run, name, rent.usd_per_hour, mfu_ends(name, mfu)) for name, rent in cards.iterrows()]
    days = f"days on {number(run.inputs['gpus'])}"
    return table(DataFrame(rows, cards["row"]), caption,
                 formats={"mfu": percent, "rate": "{:.2f}".format, "hours": "{:,.0f}".format, "days": three_figures},
                 labels={"gpu": "GPU", "usd": "cost (8 in 10)", "days": days, "rate": "USD/h", "hours": "GPU-hours",
                         "mfu": "MFU"})


def _run(run, gpu, rate, shares):
    on = {end: run.but(gpu=gpu, mfu=share, usd_per_hour=rate, gpu_hours=planned_gpu_hours) for end, share in shares.items()}
    plan, low, high = (on[end](compute_usd) for end in ("plan", "high", "low"))
    return dict(gpu=gpu, usd=ends(plan, low, high), days=on["plan"](training_days), rate=rate,
                hours=on["plan"](planned_gpu_hours), mfu=shares["plan"])


def tokens_table(plans, gpu, caption):
    """The cheapest plan on each familiar card, of `plan.token_offers.month_plans`: what its tokens and its month cost."""
    shown = familiar(plans.assign(row=plans["row"]).drop_duplicates("gpu").set_index("gpu", drop=False), "gpu", gpu)
    rows = [dict(gpu=f"{number(row.rented_gpus)} × {row.gpu}", input=row.input_usd_per_million,
                 output=row.output_usd_per_million,
                 month=ends(row.serving_usd_per_month, row.low_serving_usd_per_month, row.high_serving_usd_per_month),
                 busy=row.paid_utilization, rate=row.usd_per_hour) for row in shown.itertuples()]
    return table(DataFrame(rows, shown["row"]), caption, labels={
        "gpu": "GPUs", "input": "a million in", "output": "a million out", "month": "a month (8 in 10)", "busy": "utilization",
        "rate": "USD/h"},
        formats={"busy": percent, "rate": "{:.2f}".format} | dict.fromkeys(("input", "output"), three_figures))


def ends(plan, low, high):
    """A cost in words, with its ends where they differ."""
    most = dollars(high) if high < math.inf else "too slow"
    return dollars(plan) + ("" if low == high else f" ({dollars(low)} to {most})".replace(" USD", ""))
