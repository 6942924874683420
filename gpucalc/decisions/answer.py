"""The answer to a case: every choice with its reason, the best one with its figures as bands, what binds and what would help.

The browser gives the same answer from the same declarations; what stands here is what both do with what `rule` has solved.
"""
import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.evaluate import Case
from ..core.law import LAWS
from ..core.quantities import DEFAULTS, QUANTITIES
from ..rows import bands, catalogue
from ..rows.choices import CHOICES
from ..rows.project_books import MissingPrice
from . import capacity, rule
from .columns import row
from .jobs import ALONG, Change, JOBS, trains
from .market import market

# A range whose high end is above so many times its plan is none to plan with.
WIDE = 3
# What is less than this share of an objective is rounding.
_NOTHING = 1e-9
# Requests per second up to which the load is sought that own cards carry.
LOAD = 1e9
# The shares of cases whose plans stand side by side, beside the case's own.
LEVELS = (0.5, 0.8, 0.9)
_FAR = NormalDist().inv_cdf((1 + bands.INSIDE) / 2)


class Figure(NamedTuple):
    """A figure of the answer: to plan for, the ends of its band, and what nothing beats; None where there is no bound."""

    low: float
    plan: float
    high: float
    bound: float | None
    unit: str


class Lost(NamedTuple):
    """The nearest choice of a GPU that has none: the number of the `step` and the `limit` that stopped it, its `value` and the
    `most` that is allowed, and the columns of the choice."""

    step: int
    limit: rule.Limit
    value: float
    most: float
    row: dict


class Help(NamedTuple):
    """A change that makes the answer cheaper, the objective then, and the columns of the best choice then."""

    change: Change
    after: float
    choice: dict


class Answer(NamedTuple):
    """What a case comes to.

    `kept` are the choices that keep all limits as columns, the best first; `lost` the nearest of each other GPU; `figures`
    those of the best choice by card; `binds` what each limit costs the best one (share of the objective), the most first;
    `helps` the changes that make it cheaper, the best first. `own` says of cards that the reader has, or of a budget that is
    too small, the most load that they carry (`carried`, requests/s), and where they do not hold the weights, what the memory of
    their host has to and the least time of a token then. `levels` are the best choices by the share of cases in which the
    limits hold, None where there is none.
    """

    case: Case
    kind: str
    kept: dict
    lost: dict[str, Lost]
    figures: dict[str, Figure]
    binds: list[tuple[str, float]]
    helps: list[Help]
    own: dict[str, float] = {}
    levels: list[tuple[float, dict | None]] = []

    def __deepcopy__(self, _):
        return self    # pandas copies what a table carries

    @property
    def objective(self) -> str:
        """What is to be least: the name of a quantity."""
        return JOBS[self.kind].objective

    @property
    def best(self) -> dict | None:
        """The columns of the best choice; None where there is none."""
        return row(self.kept, 0) if rule.count(self.kept) else None


def kind_of(case: Case) -> str:
    """The chain that decides the case: that of its job, else of the kind of it."""
    job = case.rows["job"]
    return job.name if job.name in JOBS else job["kind"]


def completed(case: Case) -> Case:
    """The case with what its job and the decision take where it says nothing; a limit that is not given is none."""
    job, kind = case.rows["job"], kind_of(case)
    usual = dict.fromkeys(JOBS[kind].free, math.inf) | {name: job for name in job if name in QUANTITIES} | JOBS[kind].usual
    if trains(kind):
        usual |= {name: catalogue.assumed(name) for name in ("checkpoint_seconds", "restart_seconds")} | {"recipe": job["recipe"]}
    else:
        usual |= capacity.ENGINE | released(case.rows["model"])
        usual |= {name: LAWS.get(law, law) for given, more in ALONG.items() if given in case.inputs for name, law in more.items()}
    usual |= own() if "own_cards" in case.inputs else {}
    if "daily_users" in case.inputs:
        usual |= {"requests_per_second": LAWS["user_requests_per_second"]}
    usual |= {"efficiency": "achieved"}
    return case.but(**{name: value for name, value in usual.items() if name not in case.inputs and name not in case.rows})


def own() -> dict[str, int]:
    """What cards that the reader has take for granted: none is to spare, and they are set up."""
    return {"spare_replicas": 0, "setup_hours": 0, "least_rented_hours": 0}


def released(model: Any) -> dict[str, Any]:
    """The format in which a model is released, where that takes fewer bytes than is taken for granted: it is served in it."""
    stored = catalogue.weight_format(model["native_format"]) if model.get("native_format") else {}
    small = stored and stored["weight_element_bytes"] < DEFAULTS["weight_element_bytes"].value
    return {"weight_format": stored} if small else {}


def judged(case: Case) -> float:
    """How far along its band a limit must hold, 0 the plan and 1 the high end: by the share `sure` of cases."""
    return NormalDist().inv_cdf(rule.value_of(case, "sure")) / _FAR


def answer(case: Case, book: pd.DataFrame) -> Answer:
    """The answer to the case of a job by the prices of a book. Raises ValueError where the book has no offer that is wanted."""
    whole, kind = completed(case), kind_of(case)
    tables, steps = market(whole, book, kind), JOBS[kind].chain
    solved = rule.solve(steps, whole, tables, judged(whole))
    kept = ranked(solved, kind)
    lost = nearest(solved["plan"], steps, whole)
    shown = figures(whole, kept, solved, kind) if rule.count(kept) else {}
    costs = limit_costs(whole, tables, kind, kept)
    binds = sorted([cost for cost in costs if cost[1] > _NOTHING], key=lambda cost: -cost[1])
    helps = helping(case, whole, book, tables, kept, costs)
    mine, plans = of_own(whole, tables, kind, lost, kept), levels(whole, tables, kind, kept)
    return Answer(whole, kind, kept, lost, shown, binds, helps, mine, plans)


def levels(case, tables, kind, kept):
    """The best choice at each of `LEVELS` and at the case's own share, of which `kept` is the list."""
    own = rule.value_of(case, "sure")
    found = {own: kept}
    for share in {*LEVELS} - {own}:
        held = case.but(sure=share)
        found[share] = ranked(rule.solve(JOBS[kind].chain, held, tables, judged(held)), kind)
    return [(share, row(found[share], 0) if rule.count(found[share]) else None) for share in sorted(found)]


def of_own(case, tables, kind, lost, kept):
    """What a load comes to on the reader's own cards, or within a budget that is too small for it, as `Answer.own` has it; the
    most that is carried is to 1 %, and left out where it is not a thousandth of the load."""
    own = "own_cards" in case.inputs
    if kind != "serve" or not own and (rule.count(kept) or rule.value_of(case, "usd_per_month") == math.inf):
        return {}
    asked = rate = rule.value_of(case, "requests_per_second")
    while not (able := _serves(case, rate, tables, kind)) and rate > asked / 1000:
        rate /= 2
    factor = 2.0
    while able and factor > 1.01:
        if rate * factor < LOAD and _serves(case, rate * factor, tables, kind):
            rate *= factor
        else:
            factor **= 0.5
    found = {"carried": rate} if able else {}
    for each in lost.values() if own else ():
        alone = case.but(memory_bytes=float(each.row["memory_bytes"]), bandwidth=float(each.row["bandwidth"]), batch=1)
        beyond = rule.value_of(alone, "offloaded_bytes")
        if beyond > 0:
            found |= {"offloaded_bytes": beyond, "offloaded_token_seconds": rule.value_of(alone, "offloaded_token_seconds")}
    return {name: float(value) for name, value in found.items()}


def _serves(case, rate, tables, kind):
    return rule.count(kept_at_plan(case.but(requests_per_second=rate), tables, kind)) > 0


def ranked(solved, kind):
    """The choices that keep all limits, the best first, each with the objective at the ends of its band: infinite where it does
    not keep them there. Of equals the faster one is first; those of a range that nobody can plan with stand after all others."""
    plan, objective, (time, *_) = solved["plan"].kept, JOBS[kind].objective, JOBS[kind].times
    keys = _keys(plan, kind)
    ends = {end: dict(zip(_keys(solved[end].kept, kind), solved[end].kept.get(objective, ()))) for end in ("low", "high")}
    table = plan | {f"{end}_{objective}": np.array([values.get(key, math.inf) for key in keys], float)
                    for end, values in ends.items()}
    if not keys:
        return table
    plan, high = table[objective], table[f"high_{objective}"]
    wide = np.isfinite(high) & (high > WIDE * plan)
    return rule.taken(table, np.lexsort((table["offer"], table[time], high, plan, wide)))


def _keys(table, kind):
    return list(zip(*(np.asarray(table[name]).tolist() for name in JOBS[kind].keys))) if rule.count(table) else []


def nearest(solved, steps, case):
    """Of each GPU without a choice the one that came furthest, as `Lost` by GPU, those that kept the most limits first."""
    able, found = set(solved.kept.get("gpu", ())), {}
    for place, (step, table) in enumerate(zip(steps, solved.lost)):
        scores = list(zip(*(table[name] for name in ("gpu", "broken", "excess")))) if rule.count(table) else []
        for at, (gpu, broken, excess) in enumerate(scores):
            if gpu not in able and (gpu not in found or (place, broken, -excess) > found[gpu][0]):
                found[gpu] = (place, broken, -excess), step.limits[int(broken)], row(table, at)
    return {gpu: Lost(score[0], limit, _value(limit.column, held, case), _value(limit.most, held, case), held)
            for gpu, (score, limit, held) in sorted(found.items(), key=lambda item: item[1][0][:2], reverse=True)}


def _value(name, held, case):
    return float(held[name] if name in held else rule.value_of(case, name))


def figures(case, kept, solved, kind):
    """The figures of the best choice by card, without a cost where it is not priced. A column has the ends of the same choice,
    solved there, or is known as it is; a law has a band of its own."""
    best = row(kept, 0)
    held = of_choice(case, best)
    same = {end: _row_of(solved[end].kept, kind, best) for end in ("low", "high")}
    found = {}
    for card in JOBS[kind].cards:
        if card.name == "cost" and not best["priced"]:
            continue
        if card.law:
            here = held.but(**card.given)
            ends = max((here.but(**{card.worst: last}) for last in (0, 1)), key=lambda one: one(card.of)) if card.worst else here
            low, plan, high, _, bound, *_ = ends.band(card.of)
        else:
            plan, bound = best[card.of], None
            ends = same.values() if card.banded else (best, best)
            low, high = (math.inf if end is None else end[card.of] for end in ends)
        found[card.name] = Figure(float(low), float(plan), float(high), bound, QUANTITIES[card.of].unit)
    return found


def of_choice(case: Case, choice: dict) -> Case:
    """The case with the columns of a choice put in; a choice that nobody rents out has no price."""
    none = () if choice.get("priced", 1) else ("usd_per_hour",)
    return case.but(**{name: float(value) for name, value in choice.items()
                       if name in QUANTITIES and name not in LAWS and name not in none and not isinstance(value, str)})


def _row_of(table, kind, best):
    keys = _keys(table, kind)
    key = tuple(best[name] for name in JOBS[kind].keys)
    return row(table, keys.index(key)) if key in keys else None


# What binds, and what would help: the plan solved again

def limit_costs(case, tables, kind, kept):
    """What each limit of the case costs the best choice, as a share of its objective."""
    if not rule.count(kept):
        return []
    best, given = kept[JOBS[kind].objective][0], [name for name in JOBS[kind].free if rule.value_of(case, name) < math.inf]
    return [(name, float(1 - _least(case.but(**{name: math.inf}), tables, kind) / best)) for name in given]


def helping(given, case, book, tables, kept, costs):
    """The changes of the job that lower the objective, as `Help`, the lowest first; all that work if none did. A limit that
    costs nothing needs no change."""
    kind, found, free = kind_of(case), [], {name for name, share in costs if not share > _NOTHING}
    before = kept[JOBS[kind].objective][0] if rule.count(kept) else math.inf
    for change in JOBS[kind].changes:
        if change.name in case.rows and getattr(case.rows[change.name], "name", None) == change.value or not means(change, case):
            continue
        if change.name in free:
            continue
        value = change.value if change.value is not None else _scaled(case, change)
        if value is None:
            continue
        others = change.name in (*CHOICES, "own_cards")
        best = _best_of(completed(given.but(**changed(change, value))), book, kind, tables, others)
        sold = best and (best["priced"] or change.name != "term")
        if sold and best[JOBS[kind].objective] < before * (1 - _NOTHING):
            found.append(Help(change._replace(value=value), float(best[JOBS[kind].objective]), best))
    return sorted(found, key=lambda each: each.after)


def means(change: Change, case: Case) -> bool:
    """Whether a change says something new of the case: its model has what the change needs, and the case does not give it."""
    if change.own and "own_cards" not in case.inputs or change.new and change.name in case.inputs:
        return False
    return change.of in ("", case.rows["job"].name) or change.of in case.inputs or case.rows["model"].get(change.of, 0) > 0


def changed(change: Change, value: Any) -> dict[str, Any]:
    """The inputs of a case with a change at this value."""
    return {change.name: value} | {name: catalogue.assumed(name) for name in change.along}


def turns(answer: Answer, book: pd.DataFrame) -> list[tuple[Change, str]]:
    """What would turn the choice: of each load and length, in each direction, the first of a job's `turns` at which another GPU
    is the best, and it."""
    if answer.best is None:
        return []
    case, kind = answer.case, answer.kind
    tables, found = market(case, book, kind), {}
    for change in JOBS[kind].turns:
        way = change.name, change.times > 1
        value = case.inputs.get(change.name)
        value = value[change.name] if isinstance(value, dict) else value
        if way not in found and isinstance(value, int | float):
            whole = QUANTITIES[change.name].allowed.startswith("a whole")
            value = max(round(value * change.times), 1) if whole else value * change.times
            best = first_of(kept_at_plan(case.but(**{change.name: value}), tables, kind), kind)
            if best is not None and best["gpu"] != answer.best["gpu"]:
                found[way] = change._replace(value=value), best["gpu"]
    return list(found.values())


def _best_of(case, book, kind, tables, others):
    """The best choice on the market of the case, which has `others` than the offers of `tables` or the same; None where there is
    none, or the book has no such offer."""
    try:
        found = market(case, book, kind, offers=None if others else tables["offers"])
        return first_of(kept_at_plan(case, found | {"worked": tables["worked"]}, kind), kind)
    except MissingPrice:
        return None


def _scaled(case, change):
    value = rule.value_of(case, change.name) * change.times
    whole = QUANTITIES[change.name].allowed.startswith("a whole")
    return None if math.isinf(value) else math.ceil(value) if whole else value


def kept_at_plan(case, tables, kind):
    """The choices that keep all limits at the plan alone, in the order of the market."""
    return rule.solve(JOBS[kind].chain, case, tables, judged(case), ("plan",))["plan"].kept


def first_of(kept, kind):
    """The choice at the plan with the least objective, the first offer of equals; None where there is none."""
    return row(kept, np.lexsort((kept["offer"], kept[JOBS[kind].objective]))[0]) if rule.count(kept) else None


def _least(case, tables, kind):
    """The objective of the best choice; infinite where there is none."""
    kept = kept_at_plan(case, tables, kind)
    return kept[JOBS[kind].objective].min() if rule.count(kept) else math.inf
