"""Failures: how often parts of a cluster fail, and what of a run that costs."""
from typing import Any

import pandas as pd
from pandas import DataFrame

from gpucalc.core.arithmetic import HOURS_PER_DAY, HOURS_PER_MONTH, HOURS_PER_YEAR, SECONDS_PER_HOUR, WATTS_PER_KILOWATT
from gpucalc.core.evaluate import Case, Row
from gpucalc.core.figures import dollars, number, percent, seconds
from gpucalc.core.quantities import DEFAULTS
from gpucalc.decisions import rent_or_buy
from gpucalc.laws import activation_memory, arithmetic_intensity as ai, kv_cache, quantization, training_memory as tm
from gpucalc.laws.break_even import break_even_utilization
from gpucalc.laws.goodput import goodput, job_failure_seconds
from gpucalc.laws.owning import watts_per_gpu
from gpucalc.laws.renting import checkpoint_interval, commitment_utilization, lost_seconds, young_interval
from gpucalc.laws.sharing import right_sized_gpus, right_sizing_usd_per_month, unsliced_share
from gpucalc.laws.stops import monthly_stops, stop_usd
from gpucalc.laws.total_cost import egress_usd
from gpucalc.rows import catalogue
from gpucalc.rows.price_book import TIES
from gpucalc.rows.rents import firm, rents
from gpucalc.rows.tables import rows
from ..components.charts import slider_chart
from ..components.measured import compare
from ..components.show import difference, table
from . import find_cause, hardware_facts
from .hardware_facts import fleet, wasted
from .sharing import slice_row, smallest


# How often published runs stopped, what a stop costs jobs of each size, and the formula beside what was published.

_DAY = HOURS_PER_DAY * SECONDS_PER_HOUR


def published():
    """How often published runs stopped: `gpu_failure_seconds` of each, and the stops in a day of a job of 1,024 GPUs."""
    known = {name: catalogue.reported(name).value for name in (
        "days-llama-3", "stops-llama-3", "stops-llama-3-all", "gpus-llama-3", "stops-opt-hours", "gpus-opt", "stops-bloom-week",
        "gpus-bloom", "rsc-1", "rsc-2")}
    seconds = known["days-llama-3"] * _DAY * known["gpus-llama-3"]
    rows = {
        "Llama 3 405B, H100, unplanned": seconds / known["stops-llama-3"],
        "Llama 3 405B, H100, with planned stops": seconds / known["stops-llama-3-all"],
        "Meta RSC-1, A100": known["rsc-1"], "Meta RSC-2, A100": known["rsc-2"],
        "BLOOM 176B, A100, GPUs alone": 7 * _DAY * known["gpus-bloom"] / known["stops-bloom-week"],
        "OPT-175B, A100": known["stops-opt-hours"] * SECONDS_PER_HOUR * known["gpus-opt"]}
    frame = pd.DataFrame(dict(run=list(rows), gpu_failure_seconds=list(rows.values())))
    return frame.assign(daily=_DAY / job_failure_seconds(frame["gpu_failure_seconds"], 1024))


def job(gpus, **stops):
    """A job of so many GPUs as a case; stops: seconds of a failure, a checkpoint and a restart, the likely ones where none."""
    given = {name: catalogue.assumed(name, stops.get(name))
             for name in ("gpu_failure_seconds", "checkpoint_seconds", "restart_seconds")}
    return Case(gpus=gpus, interruption_seconds=job_failure_seconds, **given)


def sourced(case):
    """The case with the rows of data/assumptions.csv behind the likely values that it holds."""
    held = {name: row | {name: row["likely"]} for name, row in rows("assumptions").items()}
    return case.but(**{name: Row(held[name], f"data/assumptions.csv, {name}") for name, value in case.inputs.items()
                       if name in held and value == held[name][name]})


def prices(sizes, usd_per_hour, **stops):
    """What one stop, one more hour of restart and a month of stops cost jobs of each size at that rent (USD)."""
    rows = []
    for gpus in sizes:
        case = job(gpus, **stops)
        case = case.but(usd_per_hour=usd_per_hour, recovery_seconds=case.inputs["restart_seconds"])
        once, count = case(stop_usd), case(monthly_stops)
        rows.append(dict(gpus=gpus, interval=case(checkpoint_interval), first_order=case(young_interval), lost=case(lost_seconds),
                         stops=count, once=once, month=once * count, hour=gpus * usd_per_hour))
    return pd.DataFrame(rows)


# Stops of jobs, as tables of a page.


def published_table(frame, caption):
    """How often published runs stopped."""
    shown = frame.assign(years=frame["gpu_failure_seconds"] / SECONDS_PER_HOUR / HOURS_PER_YEAR)
    return table(shown.drop(columns="gpu_failure_seconds"), caption,
                 labels={"run": "run", "daily": "stops a day on 1,024 GPUs", "years": "years until one GPU stops a job"},
                 formats={"daily": "{:.2f}".format, "years": "{:.1f}".format})


def prices_table(frame, caption):
    """What stops cost jobs of each size."""
    shown = frame[["gpus", "interval", "lost", "stops", "once", "month", "hour"]]
    return table(shown, caption, labels={"gpus": "GPUs", "interval": "work between checkpoints", "lost": "lost at a stop",
                                         "stops": "stops a month", "once": "one stop", "month": "stops of a month",
                                         "hour": "each hour of restart"},
                 formats=dict(gpus="{:,}".format, interval=lasting, lost=lasting, stops=number, once=dollars,
                              month=dollars, hour=dollars))


def compared_table(caption):
    """Goodput of published runs, by the formula with the same checkpoint and restart for all, and as published."""
    found = compare("training_cost").query("family == 'time lost to failures'")
    formula, published = 1 - found["predicted"], 1 - found["value"]
    rows = DataFrame(dict(run=found["subject"].str.removeprefix("of a day, "), formula=formula, published=published,
                          error=formula / published - 1, source=found["source"]))
    return table(rows, caption, labels={"run": "run", "formula": "work, by formula", "published": "published", "error": "error"},
                 formats={"formula": percent, "published": percent, "error": difference})


def lasting(time):
    """A time in hours where it has two or more, else in seconds."""
    return number(time / SECONDS_PER_HOUR, "hour") if time >= 2 * SECONDS_PER_HOUR else seconds(time)


# The figures behind the lists of the part on operating: each a formula or a row, for one fleet and one book of prices


DESK, LARGE, OFTEN = "RTX 4090 24GB", "Llama-3-70B", "Ethernet 10G"
BATCH, SHORT, LONG, MOVED, BUSY, AIM, HELD = 32, 2048, 8192, 10e12, 0.3, 0.7, 0.85
# The step whose gradients cross the network: replicas, tokens of each, MFU.
STEP = 16, 16384, 0.4


def memory(model: str) -> dict[str, float]:
    """What a model takes to serve and to train, and what recompute, shards and few bits save (bytes, ratios)."""
    case, large = Case(model=model, recipe="mixed-adamw"), Case(model=LARGE)
    step = case.but(micro_batch=1, sequence=LONG, flash_attention=1, micro_batches=1)
    kept, dropped, scored = (step.but(**change)(activation_memory.activation_bytes) for change in (
        dict(recompute=0), dict(recompute=2), dict(recompute=0, flash_attention=0)))
    wide, narrow = (large.but(weight_format=name)(quantization.quantized_weight_bytes) for name in ("BF16", "INT4-g128"))
    short, long = (Case(model=model, context=context)(kv_cache.sequence_kv_bytes) for context in (SHORT, LONG))
    params, each = case.rows["model"].params, case(tm.bytes_per_param)
    return dict(weights=2 * params, state=params * each, per_param=each, shard=params * each / 8, kept=kept, dropped=dropped,
                scores=scored - kept, saved=1 - dropped / kept, wide=wide, narrow=narrow, short=short, long=long,
                longer=long / short, fragments=DEFAULTS["fragmentation"].value)


def speed(model: str, gpu: str) -> dict[str, Any]:
    """What one user leaves of a card, what a batch gains, what products reach, and cards and links against each other.

    None where the card has no such peak, or cannot be cut.
    """
    card, desk = catalogue.gpu(gpu), catalogue.gpu(DESK)
    one, many = (Case(model=model, gpu=gpu, context=1000, efficiency="achieved", batch=batch)(ai.tokens_per_second)
                 for batch in (1, BATCH))
    cards, kernels = catalogue.gpus(), hardware_facts.kernels().set_index("kernel")
    named = cards[cards.index.str.startswith(gpu.split()[0] + " ")]
    cut = smallest(gpu)
    part = slice_row(gpu, cut) if cut else None
    fp8, tf32 = (peak if peak == peak else None for peak in (card.fp8_flops / card.peak_flops, card.tf32_flops / card.fp32_flops))
    return dict(named=len(named), family=gpu.split()[0], faster=named["bandwidth"].max() / named["bandwidth"].min(),
                desks=int(((cards["kind"] == "consumer") & (cards["vendor"] == "NVIDIA")).sum()), one_unit=1 / card.units,
                memory=card.memory_bytes,
                fp8_cards=int(kernels.loc["FP8 products", "cards"]), cards=int(kernels.loc["FP8 products", "of"]),
                ridge=Case(gpu=gpu)(ai.ridge_point), reached=card.wide_share, one=one, many=many, gain=many / one,
                links=card.link_bandwidth / desk.link_bandwidth, link=desk.link, slices=part and part.instances,
                unsliced=part and unsliced_share(part.instances, part.units, card.units), fp8=fp8, tf32=tf32,
                sparse=catalogue.reported("sparse-sam-mlp").value, kept=job(1024)(goodput), kept_large=job(16384)(goodput))


def money(book: Any, gpu: str, gpus: int, model: str = "Llama-3-8B") -> dict[str, Any]:
    """What faults and choices cost a fleet in a month at the book's rents; None where the book has no price for it."""
    rent = fleet(book, gpu, gpus)
    rate, needed = float(rent.usd_per_hour), right_sized_gpus(gpus, BUSY, AIM)
    offers = rents(book, gpu=gpu, term="on-demand", per="provider")
    offers = (offers[firm(offers)] if firm(offers).any() else offers).sort_values(["usd_per_hour", *TIES])
    kwh = book[book["item"] == "power"]["price"].median()
    watts = watts_per_gpu(catalogue.gpu(gpu).tdp_watts) * gpus
    tcp = find_cause.network(gpu, model, *STEP, OFTEN).share
    paid = book[(book["item"] == "egress") & (book["price"] > 0)]
    dear = paid["price"].max() if len(paid) else None
    term = catalogue.assumptions().loc["usd_per_hour", "low"]
    fast, slow = (find_cause.network(gpu, model, *STEP, f"InfiniBand {name}") for name in ("NDR", "HDR"))
    return dict(rent=rent, month=wasted(0, rent, gpus), idle=wasted(BUSY, rent, gpus), needed=needed,
                ndr=fast.case(fast.law), hdr=slow.case(slow.law),
                resized=right_sizing_usd_per_month(gpus, needed, rate), tcp=wasted(tcp, rent, gpus),
                slow=wasted(1 / catalogue.reported("slowest").value, rent, gpus),
                capped=wasted(HELD, rent, gpus), cheap=offers.iloc[0], dear=offers.iloc[-1],
                apart=float(offers["usd_per_hour"].iloc[-1] / offers["usd_per_hour"].iloc[0]),
                kwh=kwh, power=watts / WATTS_PER_KILOWATT * HOURS_PER_MONTH * kwh if kwh == kwh else None,
                egress=None if dear is None else egress_usd(MOVED, dear), moved=MOVED, spot=_spot(book, gpu),
                owning=owning(book, gpu), term=commitment_utilization(term, 1), hour=gpus * rate)


def owning(book: Any, gpu: str) -> float | None:
    """Utilization from which an owned GPU costs less than a rented one, all else likely; None where the book lacks a price."""
    try:
        return rent_or_buy.deal(book, gpu, catalogue.assumptions(), {}).case(catalogue.gpu(gpu))(break_even_utilization)
    except ValueError:
        return None


def _spot(book, gpu):
    """Rent of the cheapest spot machine over that of the cheapest on demand, where the book has both."""
    found = rents(book, gpu=gpu, term=["spot", "on-demand"], required=False)
    cheapest = found[firm(found)].groupby("term")["usd_per_hour"].min()
    return float(cheapest["spot"] / cheapest["on-demand"]) if len(cheapest) == 2 else None


def per_dollar(book: Any, gpu: str) -> float | None:
    """Bandwidth for a dollar of rent of a desk card over that of the GPU, where the book rents both."""
    found = rents(book, gpu=[DESK, gpu], term="on-demand", required=False)
    rate = found[firm(found)].groupby("gpu")["usd_per_hour"].min()
    if len(rate) < 2:
        return None
    return catalogue.gpu(DESK).bandwidth / rate[DESK] / (catalogue.gpu(gpu).bandwidth / rate[gpu])


def goodput_slider_chart(job, repair, largest):
    """Work that counts against the GPUs of a run."""
    return slider_chart(
        job, {"restart as set": goodput,
              "waiting for a repair": (goodput, {"restart_seconds": repair + job.inputs["restart_seconds"]})},
        x="gpus", values=[8 * 2**step for step in range(12)], y_title="share of the time that is work", log_x=True,
        sliders={"gpu_failure_seconds": (27e6, 300e6, 1e6, job.inputs["gpu_failure_seconds"]),
                 "checkpoint_seconds": (5, 600, 5, job.inputs["checkpoint_seconds"]),
                 "restart_seconds": (60, 7200, 60, job.inputs["restart_seconds"])},
        finding="On {gpus} GPUs {goodput:percent} of the time is work that counts",
        alt=f"Work falls from nearly all of the time on eight GPUs to {percent(largest.goodput)} on {number(largest.gpus)}.",
    )
