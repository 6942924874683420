"""Which bill to choose: the best, the next, what may beat it by a price that is not firm, and where the choice turns."""
import math
from collections import namedtuple

import pandas as pd

from gpucalc.laws.total_cost import managed_usd, total_usd
from gpucalc.laws.training_cost import compute_usd
from gpucalc.rows.bands import CLOSE
from .bills import HOURS, best, by_the_most, ways

# The bill at the low end of the hours, as planned and at the high end (USD).
Ends = namedtuple("Ends", "low plan high")


def totals(bill, runs, minimum_gpu_hours=0):
    """What a bill comes to at the low end of its hours, as planned and at the high end (USD)."""
    return Ends(*(total_at(bill, getattr(bill, name), runs, minimum_gpu_hours) for name in HOURS))


def second(found):
    """The cheapest at another provider than the best; None if there is none."""
    return best(found[found["provider"] != best(found).provider])


def open_rivals(found):
    """What may be cheaper than the best by a price that is missing or not firm: each provider's cheapest, firm rents first."""
    first = best(found)
    rivals = found[(found["provider"] != first.provider) & (found["least_usd"] < first.total_usd)
                   & (~found["firm"] | (found["least_usd"] < found["most_usd"]))]
    rivals = rivals.assign(unsure=~rivals["firm"]).sort_values(["unsure", "least_usd", "provider"])
    return rivals.drop_duplicates("provider").drop(columns="unsure")


def verdict(one, other, runs, minimum_gpu_hours=0):
    """Whether the one bill is cheaper than the other: `yes`, or `too close to call`.

    On machines of the same speed the hours err alike: the order has to hold at both ends. Between others the bands may not meet.
    """
    first, then = (totals(each, runs, minimum_gpu_hours) for each in (one, other))
    alike = all(math.isclose(one[name], other[name]) for name in HOURS)
    sure = all(a <= b for a, b in zip(first, then)) if alike else first.high < then.low or first.low == first.high
    return "yes" if sure else CLOSE


def total_at(bill, gpu_hours, runs, minimum_gpu_hours=0):
    """What a bill comes to if a run takes so many GPU-hours (USD): compute and its mark-up follow them, all else stays."""
    compute = compute_usd(gpu_hours, bill.usd_per_hour, runs, minimum_gpu_hours)
    return total_usd(compute, bill.storage_usd, bill.copy_usd, bill.egress_usd, managed_usd(compute, bill.premium))


def flips(name, factor, book, offers, data_at, **load):
    """The nearest value of an input at which another provider is the cheapest, and the way then; None if there is none.

    Sought by multiplying the value in `load` up to ten times by the factor, then between the last two; runs stay whole.
    """
    bare = offers.drop(columns=name, errors="ignore")

    def at(power):
        value = load[name] * factor ** power
        return max(1, round(value)) if name == "runs" else value

    def cheapest(powers):
        tried = pd.DataFrame({"power": powers, name: [at(power) for power in powers]}).merge(bare, how="cross")
        found = by_the_most(ways(book, tried, data_at, **load | {name: tried[name]}))
        return found.drop_duplicates("power").set_index("power").sort_index()

    far = cheapest(range(11))
    others = far.index[far["provider"] != far["provider"][0]]
    if others.empty:
        return None
    inside, outside = others.min() - 1, others.min()
    near = cheapest([inside + step / 128 for step in range(1, 129)])
    for _ in range(7):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if near["provider"][middle] != far["provider"][0] else (middle, outside)
    return at(outside), near["way"][outside]


def rates_that_flip(one, other, runs, minimum_gpu_hours=0):
    """Hourly rates at which two bills cost the same: the cheaper one's, risen, and the other's, fallen (USD/h)."""
    spare = other.total_usd - one.total_usd
    paid, instead = (max(bill.gpu_hours * runs, minimum_gpu_hours) * (1 + bill.premium) for bill in (one, other))
    return one.usd_per_hour + spare / paid, other.usd_per_hour - spare / instead
