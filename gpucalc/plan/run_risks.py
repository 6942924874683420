"""What a run takes in days and USD with all that stops it, and how likely it keeps its deadline and its budget.

The band of a run joins two errors that know nothing of each other: that of its speed, and that of how often it is stopped. Both
are ratios, so their logarithms are added in squares.
"""
import math
from statistics import NormalDist

import numpy as np

from ..core.evaluate import Case
from ..laws.goodput import job_failure_seconds, job_interruption_seconds
from ..laws.renting import group_interruption_seconds, interruption_slowdown
from ..laws.training_cost import compute_usd, paid_gpu_hours, reserved_gpu_hours, training_days
from ..rows import catalogue
from ..rows.ages import firm
from ..rows.bands import INSIDE

LATE, DEAR = "misses the deadline", "over the budget"
MAY_LATE, MAY_DEAR = "may miss the deadline", "may go over the budget"
# A run is recommended if it keeps deadline and budget in so many cases.
SURE = INSIDE
# What keeps a rent from being recommended: a price that is not firm, and terms that don't say what a run of weeks gets.
PRICES = {"floor": "a floor price", "secondary": "a price at second hand", "recalled": "a price from memory"}
TERMS = {"reserved": "the length of the reservation is not stated", "capacity-block": "sold in blocks of fixed dates",
         "serverless": "serverless", "marketplace": "machines of unnamed hosts", "managed": "the price of a managed service"}
# What of a case `priced` takes.
GIVEN = ("machine_interruption_seconds", "gpu_failure_seconds", "checkpoint_seconds", "restart_seconds", "other_work")
_NORMAL, _ERF = NormalDist(), np.vectorize(math.erf, otypes=[float])


def doubts(rents, term=None):
    """What keeps each rent of a book from being recommended, in words; empty for one that may be.

    The reader's own rents have none, and a term that was asked for has none as a term.
    """
    asked = rents["yours"] | (rents["term"] == term)
    prices = rents["confidence"].map(PRICES).fillna("").where(~firm(rents), "")
    terms = rents["term"].map(TERMS).fillna("").where(~asked, "")
    return prices.where(prices != "", terms)


def share_below(limit, low, plan, high):
    """How likely a figure stays within a limit: its band's ends are the 10th and the 90th percentile, `plan` is the median.

    Between and beyond them it follows two halves of a log-normal distribution that meet at the median. 0 where there is no plan.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.log(limit / plan)
        wide = np.log(np.where(far >= 0, high / plan, plan / low)) / _NORMAL.inv_cdf((1 + INSIDE) / 2)
        steps = np.where(wide > 0, far / wide, np.where(far >= 0, np.inf, -np.inf))
    return np.where(np.isfinite(plan), (1 + _ERF(np.nan_to_num(steps, nan=0) / math.sqrt(2))) / 2, 0)


def priced(frame, machine_interruption_seconds=None, gpu_failure_seconds=None, checkpoint_seconds=None, restart_seconds=None,
           other_work=0):
    """The runs with days and USD: failures slow all, the provider slows spot, a reservation is paid for its term.

    What is not given is of data/assumptions.csv: times between stops are ranges, the two others likely values.
    """
    saving = catalogue.assumed("checkpoint_seconds", checkpoint_seconds)
    restarting = catalogue.assumed("restart_seconds", restart_seconds)
    slow = _slowdowns(frame, _ends("machine_interruption_seconds", machine_interruption_seconds),
                      _ends("gpu_failure_seconds", gpu_failure_seconds), saving, restarting)
    work, years = frame["gpu_hours"] * slow["likely"], frame["reserved_years"]
    term = reserved_gpu_hours(frame["gpus"], years.fillna(1), other_work).where(years.notna(), 0)
    figures = {"interruption_slowdown": slow["likely"]}
    for end, hours, time, cost in (("likely", "gpu_hours", "training_days", "compute_usd"),
                                   ("high", "low_hours", "low_days", "low_usd"), ("low", "high_hours", "high_days", "high_usd")):
        paid = paid_gpu_hours(work * joint(frame[hours] / frame["gpu_hours"], slow[end] / slow["likely"]), 1, frame["gpus"],
                              restarting)
        figures |= {time: training_days(paid, frame["gpus"]),
                    cost: compute_usd(paid, frame["usd_per_hour"], minimum_gpu_hours=term)}
    return frame.assign(**figures)


def judged(frame, deadline_days, budget_usd=None):
    """The priced runs with how likely they are `in_time`, `in_budget` and both, `holds`, and a `verdict`.

    The verdict is blank, or what is against a run: it does not run, or is late, or too dear, by its plan or too likely, or its
    rent is in doubt. `grade` is how near it is to a blank one. A run is `sure` where the slow end of its band holds too. Slow is
    dear as well, so the less likely of the two is how likely both are.
    """
    budget = budget_usd or np.inf
    late, dear = frame["training_days"] > deadline_days, frame["compute_usd"] > budget
    in_time, in_budget = (share_below(limit, *(frame[name] for name in names)) for limit, names in (
        (deadline_days, ("low_days", "training_days", "high_days")), (budget, ("low_usd", "compute_usd", "high_usd"))))
    against = [frame["reason"] != "", late, dear, in_time < SURE, in_budget < SURE, frame["doubt"] != ""]
    verdict = np.select(against, [frame["reason"], LATE, DEAR, MAY_LATE, MAY_DEAR, frame["doubt"]], "")
    sure = (verdict == "") & (frame["high_days"] <= deadline_days) & (frame["high_usd"] <= budget)
    return frame.assign(in_time=in_time, in_budget=in_budget, holds=np.minimum(in_time, in_budget), verdict=verdict, sure=sure,
                        grade=np.select(against, [5, 4, 3, 2, 2, 1], 0))


def decided(frame, case, **changes):
    """The runs priced on the terms of a case, with `changes`, and judged by its deadline and its budget, if it has one."""
    given = case.but(**changes).inputs
    terms = {name: given[name] for name in GIVEN if name in given}
    return judged(priced(frame, **terms), given["deadline_days"], given.get("budget_usd"))


def joint(*ratios):
    """The ratio that independent errors make together, all above 1 or all below, columns; 1 where there is no run."""
    with np.errstate(invalid="ignore"):
        logs = [np.log(each) for each in ratios]
        return np.exp(np.sqrt(sum(each**2 for each in logs)) * np.sign(sum(logs))).fillna(1)


def _ends(name, given):
    """Low, likely and high of an assumption, all the same where it is given."""
    return dict.fromkeys(("low", "likely", "high"), given) if given else catalogue.assumptions().loc[name]


def _slowdowns(frame, machine, gpu, checkpoint_seconds, restart_seconds):
    """Time over time of work where stops are as far apart as the low, likely and high end of the assumptions say."""
    found = {}
    for end in ("low", "likely", "high"):
        failures = job_failure_seconds(gpu[end], frame["gpus"])
        both = job_interruption_seconds(failures, group_interruption_seconds(machine[end], frame["machines"]))
        stopped = Case(checkpoint_seconds=checkpoint_seconds, restart_seconds=restart_seconds,
                       interruption_seconds=both.where(frame["term"] == "spot", failures))
        with np.errstate(over="ignore"):
            found[end] = stopped(interruption_slowdown)
    return found
