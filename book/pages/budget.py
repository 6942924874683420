"""A monthly budget: the largest load, run and tuning that a sum buys, with tables and pictures of it."""
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame

from gpucalc.core.arithmetic import ceil, HOURS_PER_MONTH
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import dollars, gib, times
from gpucalc.decisions import capacity, token_offers
from gpucalc.decisions.market import SERVER
from gpucalc.laws.budget import (affordable_replicas, affordable_requests_per_month, affordable_servers, balanced_params,
                                 dequantization_seconds, tuned_tokens, tuning_gpu_hours)
from gpucalc.laws.serving import mean_context
from gpucalc.laws.serving_cost import requests_per_second
from gpucalc.laws.training_cost import affordable_tokens
from gpucalc.laws.training_memory import state_bytes, training_bytes
from gpucalc.laws.training_time import step_seconds
from gpucalc.rows import bands, catalogue
from gpucalc.rows.ages import firm, sold
from gpucalc.rows.kept import derivation, selection
from gpucalc.rows.price_book import TIES
from gpucalc.rows.rents import rents
from ..components.picture import Sheet
from ..components.show import table, volume
from . import training_cost as offers


# What a monthly budget buys: the largest load, run and tuning whose price by the same plans stays within it.
#
# Only prices that are `firm` count. Answers are found by asking the plans that price a load, so that a load found is one that
# they price within the budget, and the next larger load tried is not.

# Loads tried in each decade, and the decades from one request a month on.
STEPS, DECADES = 250, 12
SIDES = ("low", "plan", "high")
_COLUMN = {"low": "high_serving_usd_per_month", "plan": "serving_usd_per_month", "high": "low_serving_usd_per_month"}
# What a tuning step is tried with.
MICRO_BATCHES, RECOMPUTE = (1, 2, 4, 8, 16), (0, 2)
ALONE = dict(latency=0, network_latency=0, network_bandwidth=1e9, gpus_per_node=1)
FITS, SMALL = "fits", "does not fit"


class Amount(NamedTuple):
    """What a budget buys, requests a month or tokens: `low`, `plan` and `high` of a band, and the offer of the plan."""

    low: float
    plan: float
    high: float
    offer: Any


@derivation
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


def priced_by(points: pd.DataFrame, book: pd.DataFrame, term: str, case: Case) -> Callable[[int], pd.DataFrame]:
    """The plans of a month by the step of its load, the cheapest first, each worked out once."""
    kinds, limits = token_offers.servers(book, term), capacity.limits_of(case)

    @functools.cache
    def plans(step):
        found = capacity.plans(points, case.but(requests_per_month=load_of(step))(requests_per_second), **limits)
        return token_offers.paid_plans(found, kinds, case.inputs.get("most_servers"))
    return plans


def load_of(step: int) -> float:
    """Requests a month of a step."""
    return 10 ** (step / STEPS)


def most_requests(plans: Callable[[int], pd.DataFrame], usd_per_month: float) -> Amount | None:
    """The largest load whose cheapest plan costs at most the budget; None where no server costs so little.

    The ends are the loads that the budget carries at the slow and at the fast end of the times, to a few percent.
    """
    plan = _last_step(plans, "plan", usd_per_month, 6 * STEPS)
    if plan < 0:
        return None
    low, high = (_last_step(plans, side, usd_per_month, plan, stride=STEPS // 50) for side in ("low", "high"))
    return Amount(load_of(low) if low >= 0 else 0, load_of(plan), load_of(max(plan, high)), plans(plan).iloc[0])


def _last_step(plans, side, most, near, stride=1):
    """The last step of every stride-th that costs at most so much, searched around where one near it points to; -1 if none does.

    A step without a plan costs more than any sum: no plan is a blank, which is not below it.
    """
    def cost(place):
        return plans(place * stride)[_COLUMN[side]].min()
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
        least = plans(0)["serving_usd_per_month"].min()
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


def first_server(case: Case) -> Case:
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


@selection
def trained(book: pd.DataFrame, usd: float, mfu: float, recipe: str) -> dict[str, Any] | None:
    """The model that a sum trains from nothing on 20 tokens a parameter, on the server with the cheapest FLOP; None without one.

    `params` and `tokens` are bands; the servers are as many as do it within a month, and `fits` says whether they hold its state.
    """
    found = offers.cheapest_flops(book)
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


@selection
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
                micro_batches=global_batch // grid["micro_batch"], **shape, **ALONE)
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


@selection
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
