"""What one machine of so many GPUs runs: the largest model that it serves in each format, how fast, and the largest it tunes."""
import numpy as np
import pandas as pd

from gpucalc.core.arithmetic import HOURS_PER_YEAR
from gpucalc.core.evaluate import Case
from gpucalc.decisions import capacity, queue
from gpucalc.laws.quantization import serving_bytes
from gpucalc.laws.serving_cost import usd_per_million_tokens
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue
from gpucalc.rows.rents import firm_rents
from gpucalc.rows.selections import selection
from ..components import sizes
from . import buying_plan as buying
from .budget_plan import judged

ALONE = dict(efficiency="achieved", cached_share=0, **queue.ENGINE)


def largest(gpu, number, models, weight_format, context=8192, cache_element_bytes=2):
    """What `alone` says of the largest of the models, from small to large, that so many of a GPU hold; None where none does."""
    held = (alone(model, gpu, number, weight_format, context, cache_element_bytes) for model in reversed(models))
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
    needs = [sizes.fewest(model, way, room) for model in models]
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
    power = [buying.power_usd(book, dict(gpu_tdp_watts=float(watts[gpu]), gpus=1), 1) for gpu in gpus]
    return pd.DataFrame({"rented": rates(book).reindex(gpus), "bought": price / (years * HOURS_PER_YEAR) + np.array(power),
                         "price": price}, pd.Index(gpus, name="gpu"))


@selection
def rates(book):
    """The cheapest firm rent of each GPU on demand (USD/h)."""
    return firm_rents(book).set_index("gpu")["usd_per_hour"]


@selection
def newest_prices(book):
    """The newest price of one of each GPU (USD), alone or as its part of a server."""
    found = buying.offers(book)
    return (found["price"] / found["sold_gpus"]).groupby(found["gpu"]).first()
