"""Sizes and budgets: what each size of model needs, what a sum buys, and cards side by side."""
import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame

from gpucalc.core.arithmetic import ceil, HOURS_PER_DAY, HOURS_PER_MONTH, HOURS_PER_YEAR
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import days, dollars, gib, number, three_figures, times
from gpucalc.core.quantities import DEFAULTS, QUANTITIES
from gpucalc.decisions import capacity, token_offers
from gpucalc.decisions.market import forbidden, NETWORKS, SERVER, terms_of
from gpucalc.decisions.rule import chosen as chosen_by, Limit, Step
from gpucalc.laws import serving_cost as sc
from gpucalc.laws.budget import (affordable_replicas, affordable_requests_per_month, affordable_servers, balanced_params,
                                 dequantization_seconds, server_turn_usd_per_month, tuned_tokens, tuning_gpu_hours)
from gpucalc.laws.kv_cache import weight_bytes
from gpucalc.laws.owning import power_usd_per_hour
from gpucalc.laws.quantization import serving_bytes
from gpucalc.laws.serving import mean_context
from gpucalc.laws.serving_cost import requests_per_second, usd_per_million_tokens
from gpucalc.laws.training_cost import affordable_tokens
from gpucalc.laws.training_memory import state_bytes, training_bytes, usable_bytes
from gpucalc.laws.training_time import step_seconds
from gpucalc.rows import bands, catalogue
from gpucalc.rows.ages import days as age_in_days, firm, sold, SOLD_DAYS
from gpucalc.rows.bands import CLOSE
from gpucalc.rows.kept import kept
from gpucalc.rows.price_book import TIES
from gpucalc.rows.rents import firm_rents, rents
from ..components.catalogue_table import catalogue_table
from ..components.charts import slider_chart
from ..components.dates import dated
from ..components.memory import MOST_REPLICAS
from ..components.picture import Sheet
from ..components.sentences import in_words
from ..components.show import table, volume
from ..components import memory
from . import training_cost


# What a sum of money buys once: cards for one machine, a whole computer or servers, at the newest price of each.
#
# A card alone is no machine: as many as one machine takes are bought, and the machine is not in the price. Of each goal the
# offer that gives most of it for the money wins; where another offer's gives as much within the error of prices, it is too
# close to call.

# What is to be most, a column of `bought`: it decides the largest model, the fastest answers, the shortest training.
GOALS = ("memory", "bandwidth", "peak_flops")
_ANY = (Limit("unsold", 0, "its price is too old: hardly sold any more", early=True),
        Limit("recalled", 0, "its price is remembered, not seen", early=True),
        Limit("module", 0, "a module for the board of a server, sold in servers", early=True),
        Limit("price", "budget_usd", "the budget", early=True))
DESK = Step(name="buy", joined=("offers",), limits=_ANY, objective=("missing", "price"), of=("kind_of_choice",))
DATA_CENTER = DESK._replace(limits=(Limit("forbidden", 0, "the license of its driver keeps it out of data centers", early=True),
                                    *_ANY))


class Buy(NamedTuple):
    """What to buy: the row of `bought`, the `other` that is next, and whether the two are too `close` to call."""

    row: dict | None
    other: dict | None = None
    close: bool = False


def offers(book):
    """The newest price of each card alone and of each size of server, with what one machine has; the reader's own come first.

    Of prices of one day a firm one, then a new one, then the cheapest. A column of the limits is 1 where it rules an offer out.
    """
    rows = book[book["item"].isin(["card", "server"])]
    rows = rows.assign(age=age_in_days(book)[rows.index], firm=firm(rows), new=rows["term"] != "used")
    rows = rows.sort_values(["yours", "age", "firm", "new", "price"], ascending=[False, True, False, False, True], kind="stable")
    rows = rows.drop_duplicates(["item", "gpu", "gpus_per_server"])
    cards = catalogue.gpus().loc[rows["gpu"]].set_index(rows.index)
    server, computer = rows["item"] == "server", cards["kind"] == "unified"
    board = (cards["link_bandwidth"] > cards["host_bandwidth"].fillna(0)) & (cards["reach"] >= SERVER) & ~computer
    size = rows["gpus_per_server"].where(server, 1)
    return rows.reset_index()[["row", "item", "gpu", "provider", "sku", "term", "price", "date", "confidence", "firm"]].assign(
        sold_gpus=size.to_numpy(float), machine_gpus=np.where(server, size, np.where(computer, 1, SERVER)).astype(float),
        whole=server.to_numpy(), kind=cards["kind"].to_numpy(object),
        unsold=((rows["age"] > SOLD_DAYS) & ~rows["yours"]).to_numpy(float), module=(board & ~server).to_numpy(float),
        recalled=(rows["confidence"] == "recalled").to_numpy(float),
        forbidden=forbidden(cards).to_numpy(float),
        **{f"gpu_{name}": cards[name].to_numpy(float) for name in ("memory_bytes", "bandwidth", "peak_flops", "tdp_watts")})


def bought(found, budget_usd, times=1):
    """The offers with how many GPUs the money buys of each at so many times its price, and what these have together.

    Cards fill one machine, a whole computer is one, and servers are as many as the money buys. `memory` is that of one machine,
    over which a model is split; bandwidth and FLOP/s are those of all.
    """
    units = affordable_servers(budget_usd, 1, found["price"] * times)
    gpus = np.where(found["whole"], units, np.minimum(units, found["machine_gpus"])) * found["sold_gpus"]
    joined = np.minimum(gpus, found["machine_gpus"])
    return found.assign(
        budget_usd=float(budget_usd), gpus=gpus, joined=joined, spent=gpus / found["sold_gpus"] * found["price"],
        memory=joined * found["gpu_memory_bytes"], bandwidth=gpus * found["gpu_bandwidth"],
        peak_flops=gpus * found["gpu_peak_flops"])


def best(found, budget_usd, goal, step=DESK):
    """The `Buy` of a goal for the money."""
    ends = catalogue.assumptions().loc["server_usd"]
    table = bought(found, budget_usd)
    first = _first(table, budget_usd, goal, step)
    if first is None:
        return Buy(None)
    rest = table[table["gpu"] != first["gpu"]]
    other = _first(rest, budget_usd, goal, step)
    if other is None:
        return Buy(first)
    dear, cheap = (bought(found[found["row"] == row["row"]], budget_usd, ends[end])[goal].iloc[0]
                   for row, end in ((first, "high"), (other, "low")))
    return Buy(first, other, bool(cheap >= dear))


def _first(table, budget_usd, goal, step):
    if table.empty:
        return None
    given = {name: column.to_numpy() for name, column in table.items()}
    given |= {"missing": -table[goal].to_numpy(float), "kind_of_choice": np.zeros(len(table))}
    kept, able = chosen_by(step, Case(budget_usd=budget_usd), given)
    return {name: column[0] for name, column in kept.items()} if able[0] else None


def why_not(found, budget_usd, step=DESK):
    """For each offer the limit in its way, in words; empty where it may be bought."""
    given = {name: column.to_numpy() for name, column in found.items()}
    given |= {"missing": np.zeros(len(found)), "kind_of_choice": np.arange(len(found))}
    kept, _ = chosen_by(step, Case(budget_usd=budget_usd), given)
    reasons = np.array([*(limit.reason for limit in step.limits), ""], object)
    return pd.Series(reasons[kept["broken"].astype(int)], kept["row"]).reindex(found["row"]).tolist()


def power_usd(book, row, hours):
    """Electricity of what was bought at full work for so many hours (USD), at the book's firm average price; NaN without one."""
    prices = book[(book["item"] == "power") & firm(book)]["price"]
    if prices.empty or np.isnan(row["gpu_tdp_watts"]):
        return float("nan")
    site = {name: catalogue.assumed(name) for name in ("pue", "server_power_factor")}
    one = Case(tdp_watts=row["gpu_tdp_watts"], usd_per_kwh=float(prices.median()), **site)(power_usd_per_hour)
    return one * row["gpus"] * hours


# What one machine of so many GPUs runs: the largest model that it serves in each format, how fast, and the largest it tunes.

ALONE = dict(efficiency="achieved", cached_share=0, **capacity.ENGINE)


def largest(gpu, number, models, weight_format, context=8192, cache_element_bytes=2):
    """What `alone` says of the largest of the models, from small to large, that so many of a GPU hold; None where none does."""
    room = number * catalogue.gpus().at[gpu, "memory_bytes"]
    held = (alone(model, gpu, number, weight_format, context, cache_element_bytes) for model in reversed(models)
            if Case(model=model, weight_format=weight_format)(weight_bytes) < room)
    return next(filter(None, held), None)


def alone(model, gpu, number, weight_format, context, cache_element_bytes=2):
    """How fast so many of a GPU answer one user, in the best split: a band of tokens a second, and a `verdict` on memory.

    None where weights and cache do not fit, or the card has no path for the format.
    """
    card, row = _cards(weight_format), catalogue.model(model)
    context = min(context, row.max_context)
    degrees = [each for each in capacity.allowed_degrees(row) if each <= number]
    if gpu not in card.index or not degrees:
        return None
    if card.at[gpu, "unlinked"]:
        degrees = degrees[:1]
    case = Case(model=row, weight_format=weight_format, cache_element_bytes=cache_element_bytes, prompt=context - 1, output=1,
                **ALONE)
    points = capacity.search(case, card.loc[[gpu]], degrees, batches=(1,))
    points = points[points["places"] >= 1]
    if points.empty:
        return None
    best = points.loc[points["replica_pass_seconds"].idxmin()]
    need = case.but(batch=1, context=context).band(serving_bytes)
    room = Case(memory_bytes=card.at[gpu, "memory_bytes"])(usable_bytes) * best["tensor_parallel"]
    rate = 1 / best["replica_pass_seconds"]
    return dict(model=model, split=int(best["tensor_parallel"]), verdict=judged(need.low, need.high, room),
                low=rate / best["high"], plan=rate / best["plan"], high=rate / best["low"])


@kept
def _cards(weight_format):
    """Cards that engines have a path on for the format; one whose link is not known stands alone (`unlinked`)."""
    cards = capacity.with_links()
    cards = cards.assign(unlinked=cards["latency"].isna())
    cards[capacity.LINK] = cards[capacity.LINK].fillna(0)
    able = cards[capacity.left_out(cards, weight_format) == ""]
    return able.assign(narrow_products=capacity.narrow_products(able, weight_format))


def tuned(machines, models, way):
    """For each machine the largest of the models, from small to large, that it holds to train in a way of `sizes.TRAININGS`.

    None where it holds none.
    """
    room = [float(catalogue.gpus().at[gpu, "memory_bytes"]) for gpu, _ in machines]
    needs = [memory.fewest(model, way, room) for model in models]
    return [next((model for model, need in zip(reversed(models), reversed(needs)) if need[place].plan <= number), None)
            for place, (_, number) in enumerate(machines)]


def token_costs(gpus, model, weight_format, context, book, years, cache_element_bytes=2):
    """What each GPU alone answers one user and as many as fit, and what a million tokens cost, rented and bought, as bands.

    Rows by GPU: `alone`, `full` (tokens a second) with its `batch`, `rented` and `bought` (USD for a million tokens, full), each
    with `low_` and `high_`; NaN where it does not fit or has no price. Bought: the newest price over the years, and power.
    """
    cards = _cards(weight_format)
    case = Case(model=model, weight_format=weight_format, cache_element_bytes=cache_element_bytes, prompt=context - 1, output=1,
                **ALONE)
    points = capacity.search(case, cards.loc[[gpu for gpu in gpus if gpu in cards.index]], [1])
    points = points[points["batch"] <= points["places"]].assign(rate=lambda each: each["batch"] / each["replica_pass_seconds"])
    full = points.loc[points.groupby("gpu")["rate"].idxmax()].set_index("gpu").reindex(gpus)
    one = points[points["batch"] == 1].set_index("gpu").reindex(gpus)
    hours = hourly(gpus, book, years)
    found = pd.DataFrame({"batch": full["batch"]}, pd.Index(gpus, name="gpu"))
    for end, other in (("", "plan"), ("low_", "high"), ("high_", "low")):
        found[f"{end}alone"], found[f"{end}full"] = one["rate"] / one[other], full["rate"] / full[other]
    for end, other in (("", ""), ("low_", "high_"), ("high_", "low_")):
        for way in ("rented", "bought"):
            found[f"{end}{way}"] = usd_per_million_tokens.formula(hours[way], 1, found[f"{other}full"])
    return found.assign(price=hours["price"])


def hourly(gpus, book, years):
    """What an hour of each GPU costs (USD): `rented` at the cheapest firm price on demand, `bought` over the years with power;
    and its newest `price`."""
    watts, price = catalogue.gpus()["tdp_watts"], newest_prices(book).reindex(gpus)
    power = [power_usd(book, dict(gpu_tdp_watts=float(watts[gpu]), gpus=1), 1) for gpu in gpus]
    return pd.DataFrame({"rented": rates(book).reindex(gpus), "bought": price / (years * HOURS_PER_YEAR) + np.array(power),
                         "price": price}, pd.Index(gpus, name="gpu"))


def rates(book):
    """The cheapest firm rent of each GPU on demand (USD/h)."""
    return firm_rents(book).set_index("gpu")["usd_per_hour"]


def newest_prices(book):
    """The newest price of one of each GPU (USD), alone or as its part of a server."""
    found = offers(book)
    return (found["price"] / found["sold_gpus"]).groupby(found["gpu"]).first()


# What each feature of a GPU moves: the same model and load on a GPU of which one thing is twice as good.

# What is doubled, or halved where less is better, by the feature in words; columns of a card with its link.
FEATURES = {"memory": {"memory_bytes": 2}, "memory bandwidth": {"bandwidth": 2},
            "FLOP/s in every format": dict.fromkeys(("peak_flops", "fp8_flops", "fp4_flops", "int8_flops", "narrow_flops",
                                                     "integer_flops", "quarter_flops", "fp32_flops", "tf32_flops"), 2),
            "bandwidth of the GPUs' link": dict.fromkeys(("link_bandwidth", "port_bandwidth", "quick_bandwidth"), 2),
            "half the latency of that link": dict.fromkeys(("latency", "base_latency", "quick_latency", "quick_base_latency",
                                                            "switch_latency"), 0.5),
            "bandwidth of the network": {"network_bandwidth": 2}}
# Sides of the table: what is measured, and whether more of it is better.
LOADS = {"decode for one user": "decode", "decode of a full batch": "full", "prefill": "prefill", "users held": "places",
         "training step": "step"}


def variants(gpu, network=NETWORKS[True]):
    """The GPU as it is, and with each of the FEATURES, as rows of cards with their link and network."""
    card = capacity.with_links().loc[gpu]
    between = catalogue.link(network)
    card = pd.concat([card, pd.Series(dict(network_bandwidth=between.link_bandwidth, network_latency=between.latency))])
    rows = {"as it is": card} | {name: card.copy() for name in FEATURES}
    for name, changes in FEATURES.items():
        for column, factor in changes.items():
            rows[name][column] = card[column] * factor
    return pd.DataFrame(rows).T.infer_objects()


def moved(model, gpu, weight_format, batch, context, recipe, machines):
    """How many times as fast, or as many, each of LOADS gets with each of the FEATURES; the first row has the figures.

    Served on one machine of 8 GPUs, trained on so many of them: matrices split inside a machine, its states over all.
    """
    cards = variants(gpu)
    cards = cards.assign(narrow_products=capacity.narrow_products(cards, weight_format)).rename_axis("gpu")
    case = Case(model=model, weight_format=weight_format, cache_element_bytes=2, prompt=context - 1, output=1, **ALONE)
    points = capacity.search(case, cards, [SERVER], batches=(1, batch)).set_index("gpu")
    one, full = (points[points["batch"] == size] for size in (1, batch))
    job = Case(model=model, recipe=recipe, efficiency="achieved", gpu=cards, sequence=context, flash_attention=1, micro_batch=1,
               micro_batches=4, recompute=0, tensor_parallel=SERVER, sequence_parallel=1, data_parallel=machines, zero_stage=1,
               gpus_per_node=SERVER)
    found = pd.DataFrame({"decode": 1 / one["replica_pass_seconds"], "full": batch / full["replica_pass_seconds"],
                          "prefill": 1 / one["replica_prefill_seconds"], "places": full["places"],
                          "step": 1 / job(step_seconds)}).reindex(cards.index)
    times = found / found.loc["as it is"]
    return pd.concat([found.loc[["as it is"]], times.drop("as it is")])


# What a size of model needs, and what each feature of a GPU moves, as a page shows them.

# What no formula shows, by the feature: why it matters, to train and to serve.
UNCOUNTED = {
    "error correction (ECC)": ("a flipped bit ends or spoils a run of weeks", "a wrong answer now and then"),
    "MIG": ("slices are too small to train on", "several small models share a card without waiting for each other"),
    "license for data centers": ("decides where the card may stand", "decides where the card may stand"),
    "software": ("kernels for each format, and libraries across GPUs", "an engine with a path for the format"),
}


class Count:
    """A number of GPUs to plan for that reads with the range of eight in ten where its ends differ."""

    def __init__(self, gpus):
        self.plan, self.said = min(gpus.plan, MOST_REPLICAS + 1), _counted(gpus)

    def __float__(self):
        return float(self.plan)


def _counted(gpus):
    low, plan, high = (f"{each:,.0f}" if each < math.inf else "" for each in gpus)
    if not plan:
        return f"over {MOST_REPLICAS:,}"
    return plan if low == high else f"{plan} ({low} to {high})" if high else f"{plan} ({low} or more)"


def _said(count):
    return count.said


def chosen(models):
    """The models of the tables: those that are named, else the nearest of each size, from small to large."""
    named = list(models or memory.nearest_models().values())
    return sorted(named, key=lambda name: catalogue.model(name).params)


def _sizes(models):
    rows = catalogue.models().loc[list(models)]
    return DataFrame({"model": rows.index, "params": rows["params"].to_numpy(float)})


def serving_table(models, formats, context, batch, cache_element_bytes, memories=memory.MEMORIES):
    """Weights of each model by format, and the GPUs of each memory that serve it in the narrowest and the widest of them."""
    frame, show, groups = _sizes(models), {"params": number}, {}
    for name, held in memory.weights(models, formats).items():
        columns = {f"weights in {name}": held.to_numpy()}
        show[f"weights in {name}"] = lambda value: number(value, "byte")
        for size, column in memory.to_serve(models, name, memories, context, batch, cache_element_bytes).items():
            columns[f"{name}, {size} GB"] = [Count(each) for each in column]
            show[f"{name}, {size} GB"] = _said
        frame, groups[name] = frame.assign(**columns), ["params", *columns]
    caption = f"GPUs that hold weights and cache: {batch} users with {context:,} tokens each"
    return catalogue_table(frame, caption, groups, labels={"params": "parameters"}, formats=show)


def formats_table(model, formats, context, batch, cache_element_bytes, memories=memory.MEMORIES):
    """One model in each format, and in the narrowest with narrow caches: bytes a parameter, weights, and GPUs of each memory."""
    params = catalogue.model(model).params
    kept = [(name, cache_element_bytes, name) for name in formats] + [
        (formats[-1], size, f"{formats[-1]}, cache in {stored.name}") for size, stored in capacity.cache_formats().items()]
    rows = []
    for name, cache, title in kept:
        held = float(memory.weights([model], [name]).iloc[0, 0])
        needs = memory.to_serve([model], name, memories, context, batch, cache).iloc[0]
        rows.append({"format": title, "each": held / params, "weights": held} | {
            f"{size} GB": Count(gpus) for size, gpus in needs.items()})
    show = {"each": three_figures, "weights": lambda value: number(value, "byte")}
    return table(DataFrame(rows), f"{model} by format: GPUs for {batch} users with {context:,} tokens each",
                 {"each": "bytes a parameter"}, show | {f"{size} GB": _said for size in memories})


def training_table(models, sequence, memories=memory.MEMORIES):
    """The fewest GPUs of each memory that hold each way to train each model."""
    frame, groups = _sizes(models).drop(columns="params"), {}
    for way in memory.TRAININGS:
        groups[way] = [f"{way}, {size} GB" for size in memories]
        for title, column in zip(groups[way], memory.to_train(models, way, memories, sequence).to_numpy().T):
            frame[title] = [Count(each) for each in column]
    return catalogue_table(frame, f"GPUs that hold the state and one sequence of {sequence:,} tokens each", groups,
                           formats=dict.fromkeys(frame.columns[1:], _said))


def pretraining_table(models, gpu):
    """GPU-hours to train each model from scratch on the usual tokens a parameter, and days on a thousand GPUs."""
    per = DEFAULTS["tokens_per_param"].value
    hours = memory.pretraining(models, gpu, per)
    frame = _sizes(models).assign(
        tokens=lambda rows: per * rows["params"], plan=hours["plan"].to_numpy(),
        ends=[f"{number(low)} to {number(high)}" for low, high in zip(hours["low"], hours["high"])])
    return table(frame, f"Hours of {gpu} to train from scratch, {per:g} tokens a parameter", labels={
        "params": "parameters", "tokens": "tokens to train on", "plan": "GPU-hours, plan", "ends": "8 in 10"},
        formats=dict.fromkeys(("params", "tokens", "plan"), number))


# Features

# Why each feature of the plan matters, and the formula that shows it.
COUNTED = {
    "memory": ("holds weights, cache and the state of training", "concurrency"),
    "memory bandwidth": ("each step of decode reads all weights and the cache", "decode_seconds"),
    "FLOP/s in every format": ("a prompt and a training step multiply many tokens at once", "prefill_seconds"),
    "bandwidth of the GPUs' link": ("GPUs that split a matrix exchange results in each layer", "all_reduce_seconds"),
    "half the latency of that link": ("the small messages of decode cost their start", "all_reduce_seconds"),
    "bandwidth of the network": ("machines exchange gradients in each step", "step_seconds"),
    "weights and products in 8 bits": ("half the bytes to read, and twice the products a second", "quantized_weight_bytes")}


def features_table(model, gpu, weight_format, batch, context, recipe, machines):
    """What twice as much of each feature does to serving and training, in times as fast or as many, and why."""
    found = moved(model, gpu, weight_format, batch, context, recipe, machines)
    narrow = moved(model, gpu, "FP8", batch, context, recipe, machines).loc["as it is"] / found.loc["as it is"]
    frame = found.drop("as it is")
    frame.loc["weights and products in 8 bits"] = narrow.where(narrow.index != "step")
    frame = frame.rename(columns={column: load for load, column in LOADS.items()}).assign(
        why=[COUNTED[name][0] for name in frame.index], formula=[QUANTITIES[COUNTED[name][1]].meaning for name in frame.index])
    caption = (f"Twice as good: {model} on {SERVER} × {gpu}, a full batch of {batch} users, training on {machines} such "
               "machines; times as fast, or as many")
    return catalogue_table(frame.rename_axis("feature").reset_index(), caption, {
        "how much": [*LOADS], "why": ["why", "formula"]}, labels={"formula": "the formula gives"},
        formats=dict.fromkeys(LOADS, _moved))


def _moved(ratio):
    return "no change" if abs(ratio - 1) < 0.005 else times(ratio)


def strongest(model, gpu, weight_format, batch, context, recipe, machines):
    """The feature that moves each load most, in words."""
    found = moved(model, gpu, weight_format, batch, context, recipe, machines).drop("as it is")
    return in_words([f"{load} by {found[column].idxmax()} ({times(found[column].max())})"
                     for load, column in LOADS.items()])


def uncounted_table():
    """Features that no formula counts, and why they matter."""
    rows = [dict(feature=name, training=train, inference=serve) for name, (train, serve) in UNCOUNTED.items()]
    return table(DataFrame(rows), "Features that no formula shows")


def needed(model, weight_format, size, context, batch, cache_element_bytes):
    """GPUs of one memory that serve a model, in words: `2 GPUs of 80 GB`."""
    count = Count(memory.to_serve([model], weight_format, [size], context, batch, cache_element_bytes).iloc[0, 0])
    return f"{count.said} GPU{'' if count.said == '1' else 's'} of {size} GB"


# What a sum buys once, what runs on it, and what the same sum rents, as a page shows them.

# What is to be most, in words and in a sentence, and its unit.
_MOST = {"memory": "memory", "bandwidth": "bandwidth", "peak_flops": "FLOP/s"}
_DOES = {"memory": "hold the largest model", "bandwidth": "answer fastest", "peak_flops": "train fastest"}
_UNITS = {"memory": "byte", "bandwidth": "byte/second", "peak_flops": "FLOP/second"}
_GROUPS = {"what to buy": ["buy", "price", "next", "center"], "what it has": [*_UNITS],
           "what it costs": ["sum", "spent", "power", "months"]}
_TITLES = {
    "choice": "a sum, and what is to be most", "next": "next best", "center": "in a data center",
    "memory": "memory of one machine", "bandwidth": "memory bandwidth", "peak_flops": "dense 16-bit peak",
    "spent": "spent, without the machine", "power": "power a month, busy", "months": "months of renting them for that"}
_LONG = 3 * HOURS_PER_YEAR  # nobody rents one GPU for longer
_OFFERS = {"price_date": "date", "kind": "price of", "why": "why not", "confidence": "price is"}


class Tier(NamedTuple):
    """What a sum buys for a goal, on a desk and in a data center; after so many `months` renting the same has cost as much."""

    budget: float
    goal: str
    desk: Buy
    center: Buy
    months: float


def tiers(book, budgets):
    """The choices of each sum and goal, in their order."""
    found, per_hour = offers(book), rates(book)
    return [_tier(found, per_hour, budget, goal) for budget in budgets for goal in GOALS]


def _tier(found, rates, budget, goal):
    desk, center = (best(found, budget, goal, step) for step in (DESK, DATA_CENTER))
    row, months = desk.row, math.nan
    if row:
        months = row["spent"] / (rates.get(row["gpu"], math.nan) * row["gpus"] * HOURS_PER_MONTH)
    return Tier(budget, goal, desk, center, months)


def behind(found, book):
    """The rows of the book behind the choices."""
    return [book.loc[key] for key in dict.fromkeys(tier.desk.row["row"] for tier in found if tier.desk.row)]


def first_server(book):
    """The cheapest server of data-center GPUs that is still sold, a row of `offers`; None without one."""
    found = offers(book)
    kept = found[(found["item"] == "server") & (found["unsold"] + found["forbidden"] + found["recalled"] == 0)]
    return None if kept.empty else kept.sort_values("price", kind="stable").iloc[0]


# In words

def taken(row):
    """`8 × RTX 5090 32GB`, of servers with their number; `nothing` without a row."""
    if not row:
        return "nothing"
    several, servers = f"{row['gpus']:,.0f} × {row['gpu']}", row["gpus"] / row["machine_gpus"]
    return several if row["item"] == "card" else f"{several} in {servers:,.0f} server{'s' if servers > 1 else ''}"


def price_words(row):
    """`3,900 USD each, street price, 2026-06 (secondary)`, of a used one as `used`."""
    sold = "used" if row["term"] == "used" else row["provider"]
    sure = "" if row["firm"] else f" ({row['confidence']})"
    return f"{dollars(row['price'])} {'each' if row['item'] == 'card' else 'a server'}, {sold}, {row['date']}{sure}"


def told(found, budget):
    """What a sum buys for each goal: `8 × RTX A6000 48GB hold the largest model`; offers that are close are named."""
    said = {}
    for tier in found:
        if tier.budget == budget and tier.desk.row:
            close = f" ({CLOSE} against {taken(tier.desk.other)})" if tier.desk.close else ""
            said.setdefault(taken(tier.desk.row), []).append(f"{_DOES[tier.goal]}{close}")
    return in_words([f"{name} {in_words(does)}" for name, does in said.items()])


def rented_words(book, budget):
    """What the sum rents for how long; empty where nothing firm is rented."""
    one = _one(book)
    if one is None:
        return ""
    hours, price = budget / one["usd_per_hour"], f"at {dollars(one['usd_per_hour'])} a GPU-hour"
    many, time = ("one", lasting(hours)) if hours <= _LONG else (f"{_for_a_year(hours)} ×", "a year")
    return f"{many} {one['gpu']} at {one['provider']} for {time}, {price}"


def _for_a_year(gpu_hours):
    return f"{math.floor(gpu_hours / HOURS_PER_YEAR):,}"


def lasting(hours, gpus=1):
    """Hours of so many GPUs as months, as days where they are less than one, and as more GPUs for a year where they are many."""
    if hours > _LONG:
        return f"{_for_a_year(hours * gpus)} GPUs for a year"
    return f"{three_figures(hours / HOURS_PER_MONTH)} months" if hours >= HOURS_PER_MONTH else days(hours / HOURS_PER_DAY)


# Tables

def tiers_table(found, book):
    """What each sum buys for each goal, what that has and costs, and the next best; None where nothing is on sale."""
    if not behind(found, book):
        return None
    rows = [dict(choice=f"{dollars(tier.budget)}: {_MOST[tier.goal]}", sum=dollars(tier.budget), buy=taken(tier.desk.row))
            | _about(tier, book) for tier in found]
    frame = DataFrame(rows, columns=["choice", *(name for names in _GROUPS.values() for name in names)])
    formats = {name: lambda value, unit=unit: number(value, unit) for name, unit in _UNITS.items()}
    return catalogue_table(frame, f"What a sum buys once ({dated(book, *behind(found, book))})", _GROUPS, filters=("sum",),
                           labels=_TITLES, formats=formats | dict(spent=dollars, power=dollars, months=three_figures))


def _about(tier, book):
    row, other, center = tier.desk.row, tier.desk.other, tier.center.row
    if not row:
        return {}
    beside = None if other is None else f"{taken(other)}{f': {CLOSE}' if tier.desk.close else ''}"
    same = center and center["row"] == row["row"]
    return {name: float(row[name]) for name in _UNITS} | dict(
        price=price_words(row), spent=row["spent"], months=tier.months, power=power_usd(book, row, HOURS_PER_MONTH),
        next=beside, center="the same" if same else taken(center))


def runs_table(found, models, context, cache_element_bytes, formats=memory.FORMATS):
    """What the chosen machines run: the largest model by format and how fast it answers one user, and the largest to tune."""
    chosen = list(dict.fromkeys((row["gpu"], int(row["joined"])) for tier in found for row in [tier.desk.row] if row))
    if not chosen:
        return None
    titles, ways = [f"in {name}" for name in formats], [way for way in memory.TRAININGS if way != "train from scratch"]
    frame = DataFrame({"machine": [f"{gpus} × {gpu}" for gpu, gpus in chosen]})
    for title, name in zip(titles, formats):
        frame[title] = [_speed(largest(*each, models, name, context, cache_element_bytes)) for each in chosen]
    for way in ways:
        frame[way] = [each or "none" for each in tuned(chosen, models, way)]
    caption = (f"The largest model in one machine: served with {context:,} tokens of context, with its tokens a second for one "
               "user (8 in 10), and tuned")
    return catalogue_table(frame, caption, {"serves": titles, "tunes": ways})


def _speed(found):
    if found is None:
        return "none"
    doubt = f" ({CLOSE} whether it fits)" if found["verdict"] == CLOSE else ""
    return f"{found['model']}{doubt}: {found['plan']:.3g} ({found['low']:.3g} to {found['high']:.3g})"


def rented_table(book, budgets):
    """How long each sum rents one GPU and a server with the cheapest firm FLOP; None where nothing firm is rented."""
    kept = [each for each in (_one(book), _first_by_flops(training_cost.cheapest_flops(book))) if each is not None]
    if not kept:
        return None
    names = [f"{row['gpus_per_server']:.0f} × {row['gpu']}, {row['provider']}, {dollars(row['usd_per_hour'])} a GPU-hour"
             for row in kept]
    hours = {name: [budget / row["usd_per_hour"] for budget in budgets] for name, row in zip(names, kept)}
    frame = DataFrame({"budget": budgets})
    for name, row in zip(names, kept):
        frame[name] = [each / row["gpus_per_server"] for each in hours[name]]
        frame[f"GPU-hours of {row['gpu']}"] = hours[name]
    return table(frame, f"How long the same sum rents the cheapest FLOP, on demand ({dated(book, *kept)})",
                 {"budget": "for"}, dict.fromkeys(frame, number) | {"budget": dollars}
                 | {name: partial(lasting, gpus=row["gpus_per_server"]) for name, row in zip(names, kept)})


def _one(book):
    """The firm offer of one GPU with the cheapest FLOP of the peak in 16 bits."""
    found = rents(book, term="on-demand", gpus_per_server=1, per="gpu", required=False)
    cards = catalogue.gpus()
    found = found[found["gpu"].map(cards["peak_format"]) == "BF16"]
    usd_per_flops = found["usd_per_hour"] / found["gpu"].map(cards["peak_flops"])
    return _first_by_flops(found.loc[usd_per_flops.sort_values(kind="stable").index])


def _first_by_flops(found):
    kept = found[firm(found) & (found["gpu"].map(catalogue.gpus()["kind"]) == "datacenter")]
    return None if kept.empty else kept.iloc[0]


def every_offer(book, budgets):
    """Every card and server of the book at its newest price, how many GPUs each sum buys of it, and what is in the way."""
    found = offers(book)
    if found.empty:
        return None
    rows = book.loc[found["row"]]
    names = [each.gpu if each.item == "card" else f"{each.gpu}, {each.sold_gpus:.0f} in a server" for each in found.itertuples()]
    counts = {f"for {dollars(each)}": bought(found, each)["gpus"].replace(0, np.nan).to_numpy() for each in budgets}
    frame = DataFrame({"offer": names, "price": found["price"], **counts, "why": why_not(found, max(budgets)),
                       "kind": np.where(found["term"] == "used", "used", found["provider"]), "price_date": found["date"],
                       "confidence": found["confidence"], "note": rows["note"].fillna("").to_list()})
    groups = {"how many": ["price", *counts], "the price": ["kind", "price_date", "confidence", "why"], "source": ["note"]}
    return catalogue_table(
        frame, f"GPUs that each sum buys of every card and server, at its newest price ({dated(book, rows)})", groups,
        filters=("confidence",), labels=_OFFERS, formats=dict.fromkeys(counts, number) | {"price": dollars})


# Consumer cards against data-center cards, and one card over another, as a page shows them.

CARDS = ("RTX 3090 24GB", "RTX 4090 24GB", "RTX 5090 32GB", "RTX A6000 48GB", "RTX PRO 6000 Workstation 96GB", "L40S 48GB",
         "A100 SXM 80GB", "H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB")
PAIRS = (("RTX 4090 24GB", "H100 SXM 80GB"), ("RTX 5090 32GB", "H100 SXM 80GB"), ("RTX 5090 32GB", "L40S 48GB"),
         ("A100 SXM 80GB", "V100 SXM 32GB"), ("H100 SXM 80GB", "A100 SXM 80GB"), ("H200 SXM 141GB", "H100 SXM 80GB"),
         ("B200 SXM 180GB", "H100 SXM 80GB"), ("MI300X 192GB", "H100 SXM 80GB"))
_RATIOS = {"memory": "memory_bytes", "bandwidth": "bandwidth", "16-bit FLOP/s": "peak_flops", "8-bit FLOP/s": "fp8_flops",
           "link": "link_bandwidth", "power": "tdp_watts"}
_SIDE_GROUPS = {"what it is": ["kind", "memory_bytes", "bandwidth", "peak_flops", "tdp_watts", "link", "ecc", "slices"],
                "terms": ["license", "warranty"], "money": ["price", "per_byte", "per_rate"],
                "tokens": ["alone", "rented", "bought"]}
_BETTER = dict.fromkeys(("memory_bytes", "bandwidth", "peak_flops", "slices"), "high") | dict.fromkeys(
    ("tdp_watts", "price", "per_byte", "per_rate"), "low")


def sides_table(gpus, model, weight_format, context, book, years):
    """Cards of both kinds side by side: what they are, what license and warranty say, and what a token costs on each."""
    cards, costs = catalogue.gpus().loc[list(gpus)], token_costs(list(gpus), model, weight_format, context, book, years)
    frame = cards[["kind", "memory_bytes", "bandwidth", "peak_flops", "tdp_watts", "link"]].assign(
        ecc=cards["ecc"].map({1: "on"}).fillna("not on"), slices=cards["mig_instances"].astype(float), price=costs["price"],
        **terms_of(cards["kind"]), **{name: _bands(costs, name) for name in ("alone", "rented", "bought")})
    frame = frame.assign(per_byte=1e9 * frame["price"] / frame["memory_bytes"],
                         per_rate=1e9 * frame["price"] / frame["bandwidth"])
    found = offers(book).drop_duplicates("gpu")
    caption = (f"Consumer and data-center cards; tokens of {model} in {weight_format} at {context:,} tokens of context "
               f"({dated(book, book.loc[found['row'][found['gpu'].isin(list(gpus))]])})")
    return catalogue_table(frame.rename_axis("gpu").reset_index(), caption, _SIDE_GROUPS, _BETTER, ("kind",), {
        "ecc": "error correction", "slices": "slices by MIG", "price": "newest price", "per_byte": "price of a GB of memory",
        "per_rate": "price of a GB/s", "alone": "tokens a second, one user (8 in 10)",
        "rented": "USD a million tokens, rented, full (8 in 10)", "bought": f"the same, bought, {years:g} years and power"},
        dict.fromkeys(("price", "per_byte", "per_rate"), dollars) | {"slices": "{:.0f}".format}, compare=True)


def _bands(costs, name):
    return [f"{plan:.3g} ({low:.3g} to {high:.3g})" if plan == plan else None
            for plan, low, high in zip(costs[name], costs[f"low_{name}"], costs[f"high_{name}"])]


def ratios_table(pairs, book):
    """One card over another, by what decides, at the newest price of each."""
    cards, prices = catalogue.gpus(), newest_prices(book)
    rows = [{"one over the other": f"{one} over {other}"}
            | {name: cards.at[one, column] / cards.at[other, column] for name, column in _RATIOS.items()}
            | {"price": prices.get(one, math.nan) / prices.get(other, math.nan)} for one, other in pairs]
    return table(DataFrame(rows), "One card over another", formats=dict.fromkeys((*_RATIOS, "price"), times))


# A monthly budget: the largest load, run and tuning that a sum buys, with tables and pictures of it


# What a monthly budget buys: the largest load, run and tuning whose price by the same plans stays within it.
#
# Only prices that are `firm` count. Answers are found by asking the plans that price a load, so that a load found is one that
# they price within the budget, and the next larger load tried is not.

# Loads tried in each decade, and the decades from one request a month on.
STEPS, DECADES = 250, 12
SIDES = ("low", "plan", "high")
_SIDE = {"low": "high_", "plan": "", "high": "low_"}
# What a tuning step is tried with.
MICRO_BATCHES, RECOMPUTE = (1, 2, 4, 8, 16), (0, 2)
ALONE_SERVER = dict(latency=0, network_latency=0, network_bandwidth=1e9, gpus_per_node=1)
FITS, SMALL = "fits", "does not fit"


class Amount(NamedTuple):
    """What a budget buys, requests a month or tokens: `low`, `plan` and `high` of a band, and the offer of the plan."""

    low: float
    plan: float
    high: float
    offer: Any


def sure(book: pd.DataFrame, provider: str | None = None, region: str | None = None) -> pd.DataFrame:
    """The prices of a book that may decide; rents of one provider or region only, if given."""
    wanted = pd.Series(True, book.index)
    for column, value in (("provider", provider), ("region", region)):
        wanted &= (book["item"] != "rent") | (book[column] == value) | (value is None)
    return book[firm(book) & wanted]


def served_points(case: Case, book: pd.DataFrame, term: str) -> pd.DataFrame:
    """The points of `capacity.search` on the GPUs that the book rents on that term and that hold the model's numbers.

    Cards without BF16 are left out: engines have no kernels there for the formats of today's models.
    """
    linked = capacity.linked_gpus("H100 SXM 80GB", getattr(case.rows.get("weight_format"), "name", None))
    able = linked.index.isin(token_offers.servers(book, term)["gpu"]) & (linked["peak_format"] == "BF16")
    if not able.any():
        return pd.DataFrame()
    points = capacity.search(case, linked[able], capacity.allowed_degrees(case.rows["model"]))
    return points[points["batch"] <= points["places"]]


def priced_by(points: pd.DataFrame, book: pd.DataFrame, term: str, case: Case) -> Callable[..., pd.DataFrame]:
    """The plans of a month by the step of its load, each worked out once; of one side of the bill alone where it is given."""
    kinds, limits = token_offers.servers(book, term), capacity.limits_of(case)

    @functools.cache
    def plans(step, *side):
        sides = dict.fromkeys(("", *side)) if side else capacity.SIDES
        rate = case.but(requests_per_month=load_of(step))(requests_per_second)
        found = capacity.plans(points, rate, sides=sides, **limits)
        return token_offers.on_servers(found, kinds, case.inputs.get("most_servers"), sides)
    return plans


def load_of(step: int) -> float:
    """Requests a month of a step."""
    return 10 ** (step / STEPS)


def most_requests(plans: Callable[..., pd.DataFrame], usd_per_month: float) -> Amount | None:
    """The largest load whose cheapest plan costs at most the budget; None where no server costs so little.

    The ends are the loads that the budget carries at the slow and at the fast end of the times, to a few percent.
    """
    plan = _last_step(plans, "plan", usd_per_month, 6 * STEPS)
    if plan < 0:
        return None
    low, high = (_last_step(plans, side, usd_per_month, plan, stride=STEPS // 50) for side in ("low", "high"))
    offer = token_offers.cheapest_of_each(plans(plan), "serving_usd_per_month").iloc[0]
    return Amount(load_of(low) if low >= 0 else 0, load_of(plan), load_of(max(plan, high)), offer)


def _last_step(plans, side, most, near, stride=1):
    """The last step of every stride-th that costs at most so much, searched around where one near it points to; -1 if none does.

    A step without a plan costs more than any sum: no plan is a blank, which is not below it.
    """
    def cost(place):
        return plans(place * stride, _SIDE[side])[f"{_SIDE[side]}serving_usd_per_month"].min()
    near, last = near // stride, STEPS * DECADES // stride
    first, reach = cost(near), 8
    middle = near + round(STEPS / stride * math.log10(most / first)) if 0 < first < math.inf else near
    low, high = middle - reach, middle + reach
    while low >= 0 and not cost(low) <= most:
        reach, low, high = 4 * reach, low - 4 * reach, low
    while high < last and cost(high) <= most:
        reach, low, high = 4 * reach, high, high + 4 * reach
    low, high = max(low, -1), min(high, last)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(middle) <= most else (low, middle)
    return low * stride if low >= 0 else -1


def served(case: Case, book: pd.DataFrame, term: str, usd_per_month: float, models: list[str]) -> pd.DataFrame:
    """For each model the most requests a month on the cheapest servers in time, and through the cheapest API.

    `doubled` is what twice the money carries over what the budget does; `binds` says what is in the way of more.
    """
    return pd.DataFrame([_served(case.but(model=model), book, term, usd_per_month) for model in models])


def _served(case, book, term, usd):
    points, model = served_points(case, book, term), case.rows["model"].name
    row = dict(model=model, low=0.0, plan=0.0, high=0.0, gpu=None, gpus=0, provider=None, spent=0.0, doubled=math.nan,
               binds="no GPU of the book holds the model", offer=None) | _through_api(book, model, case, usd)
    if points.empty:
        return row
    plans = priced_by(points, book, term, case)
    found = most_requests(plans, usd)
    near = 6 * STEPS if found is None else round(STEPS * math.log10(2 * found.plan))
    twice = _last_step(plans, "plan", 2 * usd, near)
    if found is None:
        least = plans(0, "")["serving_usd_per_month"].min()
        return row | dict(binds=f"the first server: {least:,.0f} USD a month" if least < math.inf else "the time limit",
                          doubled=math.inf if twice >= 0 else math.nan)
    offer, left = found.offer, usd - found.offer["serving_usd_per_month"]
    return row | dict(low=found.low, plan=found.plan, high=found.high, gpu=offer["gpu"], gpus=int(offer["rented_gpus"]),
                      provider=offer["provider"], spent=offer["serving_usd_per_month"], doubled=load_of(twice) / found.plan,
                      binds=f"whole servers: {left:,.0f} USD are left" if left > usd / 10 else "money", offer=offer)


def replica_case(case: Case, row: Any) -> Case:
    """The case of one replica of the plan of a row of `served`, at the API prices beside it: for what moves with the budget."""
    offer, sold = row["offer"], row["sold"]
    weights = getattr(case.rows.get("weight_format"), "name", None)
    card = capacity.linked_gpus(offer["gpu"], weights).loc[offer["gpu"]].to_dict()
    return case.but(
        model=row["model"], gpu=card, tensor_parallel=int(offer["tensor_parallel"]), batch=int(offer["batch"]),
        context=mean_context,
        usd_per_hour=float(offer["usd_per_hour"]), gpus_per_server=int(offer["gpus_per_server"]), replicas=affordable_replicas,
        **{name: float(sold[name]) for name in token_offers.API_ITEMS.values()})


def served_by_one(case: Case) -> Case:
    """The case of `replica_case` with one server."""
    size = case.inputs["gpus_per_server"]
    return case.but(replicas=size // case.inputs["tensor_parallel"], rented_gpus=size)


def _through_api(book, model, case, usd):
    """Requests through the cheapest API, as columns of `served`; none where no API sells the model."""
    sold = token_offers.priced_offers(book, model, case)
    if sold.empty:
        return dict(api=None, api_requests=math.nan, sold=None)
    best = sold.iloc[0]
    return dict(api=best["provider"], sold=best,
                api_requests=affordable_requests_per_month(usd, float(best["api_request_usd"])))


def trained(book: pd.DataFrame, usd: float, mfu: float, recipe: str) -> dict[str, Any] | None:
    """The model that a sum trains from nothing on 20 tokens a parameter, on the server with the cheapest FLOP; None without one.

    `params` and `tokens` are bands; the servers are as many as do it within a month, and `fits` says whether they hold its state.
    """
    found = training_cost.cheapest_flops(book)
    if found.empty:
        return None
    rent = found.iloc[0]
    card, rate, size = catalogue.gpu(rent["gpu"]), float(rent["usd_per_hour"]), int(rent["gpus_per_server"])
    reference = catalogue.model("Llama-3-8B").params
    bought = Case(gpu=card, budget_usd=usd, usd_per_hour=rate, active_params=reference, mfu=mfu).band(affordable_tokens)
    params = bought.through(lambda tokens: balanced_params(reference, tokens))
    tokens = bought.through(lambda each: each * reference / balanced_params(reference, each))
    servers = int(ceil(usd / rate / HOURS_PER_MONTH / size))
    state = Case(recipe=recipe, params=round(params.plan), trainable_params=round(params.plan))(state_bytes)
    return dict(params=params, tokens=tokens, rent=rent, gpus=servers * size, gpu_hours=usd / rate,
                fits=judged(state, state, servers * size * card.memory_bytes))


def judged(low: Any, high: Any, room: Any) -> Any:
    """Whether what is needed fits: `fits`, `does not fit`, or too close to call where the room lies inside the band."""
    found = np.select([np.asarray(high) <= room, np.asarray(low) > room], [FITS, SMALL], bands.CLOSE)
    return found if found.ndim else str(found)


def tunings(model: str, book: pd.DataFrame, term: str, usd: float, sequence: int, global_batch: int, minimum_gpu_hours: float,
            recipes: tuple[str, ...] = ("lora", "qlora")) -> pd.DataFrame:
    """Tuning a model with adapters on every single GPU of the book: does it fit, and how many tokens does the sum buy.

    A row for each GPU, recipe, micro-batch and recompute. Frozen weights have no gradient of their own, so a step does four
    FLOP a parameter, not six; narrow ones are expanded first. `low_tokens` and `high_tokens` are the ends of the band.
    """
    rented = rents(book, term=term, gpus_per_server=1, per="gpu", required=False).reset_index()
    if rented.empty:
        return pd.DataFrame()
    rented = rented[["row", "gpu", "provider", "usd_per_hour"]].merge(catalogue.gpus().reset_index(), on="gpu")
    grid = rented[rented["peak_format"] == "BF16"].merge(pd.DataFrame({"micro_batch": MICRO_BATCHES}), how="cross")
    grid = grid[global_batch % grid["micro_batch"] == 0].merge(pd.DataFrame({"recompute": RECOMPUTE}), how="cross")
    return pd.concat([_tuned(model, grid, recipe, usd, sequence, global_batch, minimum_gpu_hours) for recipe in recipes],
                     ignore_index=True)


def _tuned(model, grid, recipe, usd, sequence, global_batch, minimum):
    shape = {name: grid[name] for name in ("micro_batch", "recompute")}
    case = Case(model=model, recipe=recipe, efficiency="achieved", gpu=grid, sequence=sequence, flash_attention=1,
                micro_batches=global_batch // grid["micro_batch"], **shape, **ALONE_SERVER)
    memory, step = case.band(training_bytes), case.band(step_seconds)
    hours, expanded = tuning_gpu_hours(usd, grid["usd_per_hour"], minimum), case(dequantization_seconds) * (
        global_batch / grid["micro_batch"])
    tokens = {end: tuned_tokens(hours, time + expanded, global_batch * sequence)
              for end, time in (("low_tokens", step.high), ("tokens", step.plan), ("high_tokens", step.low))}
    return grid[["row", "gpu", "provider", "usd_per_hour", "micro_batch", "recompute"]].assign(
        model=model, recipe=recipe, gpu_hours=hours, need=memory.plan, memory=grid["memory_bytes"],
        fits=judged(memory.low, memory.high, grid["memory_bytes"]), **tokens)


def best_tuning(frame: pd.DataFrame) -> Any:
    """The row that tunes on most tokens of those that fit; of those too close to call where none does; None where none may."""
    for verdict in (FITS, bands.CLOSE):
        able = frame[frame["fits"] == verdict] if len(frame) else frame
        if len(able):
            return able.sort_values(["tokens", "need"], ascending=[False, True], kind="stable").iloc[0]
    return None


def amount(row: Any, law: str = "") -> Amount:
    """The band of a row of `served`, or of `tunings` by tokens."""
    low, plan, high = (f"low_{law}", law, f"high_{law}") if law else SIDES
    return Amount(row[low], row[plan], row[high], row)


def owned(book: pd.DataFrame, usd_per_month: float, budget_months: float) -> dict[str, Any] | None:
    """The new server for data centers with the cheapest FLOP, how many the months buy, and the months until the first.

    Servers that nobody sells any more don't count.
    """
    book = sold(book)
    rows = book[(book["item"] == "server") & (book["term"] == "purchase") & (book["gpus_per_server"] >= SERVER)]
    rows = rows[rows["gpu"].map(catalogue.gpus()["kind"]) == "datacenter"]
    if rows.empty:
        return None
    speed = rows["gpus_per_server"] * rows["gpu"].map(catalogue.gpus()["peak_flops"])
    best = rows.assign(per_flops=rows["price"] / speed).sort_values(["per_flops", *TIES], kind="stable").iloc[0]
    price = float(best["price"])
    return dict(server=best, servers=int(affordable_servers(usd_per_month, budget_months, price)), months=price / usd_per_month)


# What a budget buys, as a page shows it.

RECIPES = {"lora": "LoRA", "qlora": "QLoRA"}
# What so much money buys in servers of 1 USD a month, to draw each rule.
_RULES = {"API requests": lambda usd: affordable_requests_per_month(usd, 1),
          "rented servers": lambda usd: affordable_replicas(usd, 1 / HOURS_PER_MONTH, 1, 1),
          "a trained model": lambda usd: balanced_params(1, usd, 1)}
_WIDE, _TALL, _GAP = 120, 90, 20


def api_cell(row):
    """What an API sells for the budget, in words: `25.5 million at DeepInfra`; a dash without one."""
    return "–" if row.sold is None else f"{volume(row.api_requests)} at {row.api}"


def served_table(served, user_requests_per_month, caption):
    """What `served` found: each model on rented GPUs and through an API, what binds, what double the money gives."""
    users = served[["plan", "api_requests"]].max(axis=1) / user_requests_per_month
    rows = [dict(model=row.model, servers=_amount(row), on=f"{row.gpus} × {row.gpu}, {row.provider}" if row.plan else "–",
                 binds=row.binds, api=api_cell(row), users=volume(users[row.Index]),
                 doubled="–" if row.doubled != row.doubled else "from none" if row.doubled == math.inf else times(row.doubled))
            for row in served.itertuples()]
    keys = [(row.sold if row.offer is None else row.offer) for row in served.itertuples()]
    return table(DataFrame(rows, [key if key is None else key["row"] for key in keys]), caption, labels={
        "servers": "on rented GPUs (8 in 10)", "on": "plan", "binds": "what binds", "api": "through an API, at list prices",
        "users": "users, by the cheaper way", "doubled": "double the money"})


def _amount(row):
    return f"{volume(row.plan)} ({volume(row.low)} to {volume(row.high)})" if row.plan else "none"


def tuned_table(frames, best_of, caption):
    """For each model and recipe the GPU that tunes on most tokens: whether it fits, its memory, its tokens and its hours."""
    rows, keys = [], []
    for model, frame in frames.items():
        for recipe, tried in frame.groupby("recipe", sort=False) if len(frame) else ():
            best = best_of(tried)
            rows.append(dict(model=model, recipe=RECIPES.get(recipe, recipe)) | _tuned_words(best, tried))
            keys.append(None if best is None else best["row"])
    return table(DataFrame(rows, keys), caption, labels={
        "gpu": "GPU", "fits": "does it fit", "memory": "memory, plan", "rate": "a GPU-hour", "tokens": "tokens (8 in 10)",
        "least": "cheapest GPU-hour that fits"}, formats={"rate": dollars})


def _tuned_words(best, tried):
    """The cells of `tuned_table` for the best of those that were tried."""
    if best is None:
        return dict(gpu="–", fits="on no single GPU of the book")
    least = tried[tried["fits"] == best.fits].sort_values("usd_per_hour", kind="stable").iloc[0]
    return dict(gpu=f"{best.gpu}, {best.provider}", fits=best.fits, rate=best.usd_per_hour,
                memory=f"{gib(best.need)} of {gib(best.memory)}",
                tokens=f"{volume(best.tokens)} ({volume(best.low_tokens)} to {volume(best.high_tokens)})",
                least=f"{least.gpu}, {dollars(least.usd_per_hour)}")


def rules_picture(most=4.4, steps=88):
    """What growing money buys by each of the three rules, as three small curves."""
    sheet = Sheet(150)
    for place, (name, rule) in enumerate(_RULES.items()):
        _curve(sheet, name, rule, [most * step / steps for step in range(1, steps + 1)], place * (_WIDE + _GAP))
    sheet.text(0, 142, "across: money; up: what it buys", color="soft")
    return sheet.picture("Money buys in a line, in steps, or by a square root",
                         "What a growing budget buys: requests to an API grow evenly, servers come in steps, and each dollar "
                         "adds less to the size of a trained model.")


def _curve(sheet, name, rule, money, left):
    """One rule over the money, each curve as high as its own most."""
    bought, foot = [float(rule(usd)) for usd in money], _TALL + 26
    points = [(left + _WIDE * usd / money[-1], foot - _TALL * amount / bought[-1]) for usd, amount in zip(money, bought)]
    sheet.text(left + _WIDE / 2, 14, name, "middle", bold=True)
    sheet.line((left, 20), (left, foot), (left + _WIDE, foot)).line((left, foot), *points, color="b", thick=3)


def month_slider_chart(case, shown, prompt, output, peak_factor):
    """Requests of a month that a budget carries on rented GPUs and by an API: where they meet, that in words, the chart."""
    month = replica_case(case, shown)
    one = served_by_one(month)
    first, turn = one(sc.serving_usd_per_month), one(server_turn_usd_per_month)
    steps = [round(first * each / 8, 2) for each in range(1, 65)]
    rate, offer = month.inputs["usd_per_hour"], shown.offer
    curves = {f"rented: {offer.gpu}": sc.carried_requests_per_month, f"API: {shown.api}": affordable_requests_per_month}
    sliders = {"usd_per_hour": (min(0.1, rate), max(12, 2 * rate), 0.01, rate),
               "peak_factor": (1, max(6, peak_factor), 0.1, peak_factor),
               "prompt": (min(100, prompt), max(8000, prompt), 100, prompt),
               "output": (min(50, output), max(2000, output), 50, output)}
    says = (f"For the price of the first server, {dollars(turn)} a month, {shown.model} gets more requests from rented "
            f"{offer.gpu} than from {shown.api}." if turn < math.inf else
            f"At every budget {shown.model} gets more requests from {shown.api} than from rented {offer.gpu}.")
    chart = slider_chart(month.but(rented_gpus=one.inputs["rented_gpus"]), curves, x="usd_per_month", values=steps,
                         finding="Below {serving_usd_per_month}, the price of the first server, only the API serves",
                         crossing=(server_turn_usd_per_month, {each: one.inputs[each] for each in ("replicas", "rented_gpus")}),
                         y_title="requests a month", sliders=sliders, alt=says)
    return turn, says, chart
