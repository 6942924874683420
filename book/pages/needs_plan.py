"""From a need to what serves it: the questions that a decision asks in its order, where each of them turns, and the best choice.

Nothing here knows which limits there are: they are read from the declarations of `decisions`, and a new one is a new question.
"""
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gpucalc.core.evaluate import Case
from gpucalc.decisions import answer, rule
from gpucalc.decisions.columns import row
from gpucalc.decisions.decisions import CHAINS, FREE, OBJECTIVES, trains
from gpucalc.decisions.market import market
from gpucalc.decisions.token_offers import priced_offers
from gpucalc.laws.choosing import largest_params, largest_trained_params
from gpucalc.laws.demand import mean_requests_per_month
from gpucalc.laws.sharing import api_usd_per_month
from gpucalc.rows import catalogue
from gpucalc.rows.selections import selection

# A limit that nothing keeps: each choice then comes as near to it as it can.
_NONE = 1e-9
# A turn is found to this share of where it is, and sought down to this part of what came nearest.
_NEAR, _FAR = 0.02, 10


class Need(NamedTuple):
    """A case, completed, with the steps that decide it and the tables that they choose from."""

    case: Case
    kind: str
    steps: tuple
    tables: dict[str, Any]

    @property
    def objective(self) -> str:
        """What is to be least: the name of a quantity."""
        return OBJECTIVES[self.kind]

    def solved(self, ends: tuple = ("plan",), **changed: Any) -> dict[str, rule.Solved]:
        """The chain at these ends, with other values of inputs."""
        case = self.case.but(**changed)
        return rule.solve(self.steps, case, self.tables, answer.judged(case), ends)


class Question(NamedTuple):
    """One limit as a question.

    `asked` is what the case allows, infinite where it asks for nothing and None where the limit is no input. `nearest` is the
    least value that a choice reaches, `free` that from which on the limit changes nothing. `after` are the best choice now and
    the best one below its value, where the step is the last. `out` are the GPUs that stop here, `left` is how many go on.
    """

    limit: rule.Limit
    asked: float | None
    nearest: float
    free: float
    after: tuple[dict, dict] | None
    out: list[str]
    left: int


class Choice(NamedTuple):
    """The best choice of a need: its columns, its objective with its band, and the best one on `other` GPUs.

    It is `close` where the bands of the two meet. Without a choice `row` is None and `reason` says where the last GPU stopped.
    """

    need: Need
    row: dict | None
    low: float
    plan: float
    high: float
    other: dict | None
    close: bool
    reason: str


def need(case: Case, book: pd.DataFrame) -> Need:
    """The need of a case of a job by the prices of a book. Raises MissingPrice where the book has no offer that is wanted."""
    whole, kind = answer.completed(case), answer.kind_of(case)
    return Need(whole, kind, CHAINS[kind], market(whole, book, kind))


def best(wanted: Need) -> Choice:
    """The best choice of a need, which is none where no GPU keeps all limits."""
    solved = wanted.solved(tuple(rule.ENDS))
    kept = answer.ranked(solved, wanted.kind)
    if not rule.count(kept):
        gone = answer.nearest(solved["plan"], wanted.steps, wanted.case).values()
        last = max(gone, key=lambda lost: (lost.step, wanted.steps[lost.step].limits.index(lost.limit)), default=None)
        return Choice(wanted, None, math.inf, math.inf, math.inf, None, False, last.limit.reason if last else "")
    others = np.flatnonzero(kept["gpu"] != kept["gpu"][0])
    first, other = row(kept, 0), row(kept, others[0]) if len(others) else None
    low, plan, high = (float(first[f"{end}{wanted.objective}"]) for end in ("low_", "", "high_"))
    return Choice(wanted, first, low, plan, high, other, bool(other and other[f"low_{wanted.objective}"] <= high), "")


# The questions of a decision

def questions(wanted: Need) -> list[Question]:
    """The limits of the decision in their order, each with what it leaves of the GPUs on offer and where it turns."""
    plan = wanted.solved()["plan"]
    gone = answer.nearest(plan, wanted.steps, wanted.case)
    left, found = len({*gone, *plan.kept.get("gpu", ())}), []
    for place, step in enumerate(wanted.steps):
        for number, limit in enumerate(step.limits):
            out = [gpu for gpu, lost in gone.items() if (lost.step, lost.limit) == (place, limit)]
            left -= len(out)
            free = limit.most in FREE[wanted.kind]
            asked, least, costless, after = _turns(wanted, plan.kept, place, number) if free else (None, math.nan, math.nan, None)
            found.append(Question(limit, asked, least, costless, after, out, left))
    return found


def _turns(wanted, kept, place, number):
    """The figures of a question: `asked`, `nearest`, `free` and `after`; `kept` is what keeps all limits."""
    limit, last = wanted.steps[place].limits[number], place == len(wanted.steps) - 1
    asked = float(rule.value_of(wanted.case, limit.most))
    lifted = wanted.solved(**{limit.most: math.inf})["plan"].kept if asked < math.inf else kept
    if not rule.count(lifted):
        return asked, math.nan, math.nan, None
    free = float(_least(wanted, lifted)[limit.column])
    if not last:
        return asked, _nearest(wanted, place, number), free, None
    now = _least(wanted, rule.taken(lifted, lifted[limit.column] <= asked))
    after = _least(wanted, rule.taken(lifted, lifted[limit.column] < now[limit.column])) if now else None
    return asked, float(lifted[limit.column].min()), free, (now, after) if after else None


def _nearest(wanted, place, number):
    """The least that a choice reaches of what is limited; where more replicas help, with any number of them. NaN where no choice
    comes to the question. An input may limit two things: the other one stays as it is asked for."""
    step = wanted.steps[place]
    limit, sought = step.limits[number], step.least and step.limits[number] in step.least.limits
    stopped = _moved(wanted, place, number, _NONE)["plan"].lost[place]
    reached = float(stopped[limit.column][stopped["broken"] == number].min(initial=math.inf))
    if not sought:
        return reached
    kept = _moved(wanted, place, number, math.inf)["plan"].kept
    low, high = reached / _FAR, float(kept[limit.column].min()) if rule.count(kept) else math.nan
    while high > low * (1 + _NEAR):
        middle = math.sqrt(low * high)
        able = rule.count(_moved(wanted, place, number, middle)["plan"].kept)
        low, high = (low, middle) if able else (middle, high)
    return high


def _moved(wanted, place, number, most):
    """The chain with this one limit at another value. Laws know the limit by its name where they say how many replicas it may
    take, so the input is moved there, and any other limit by it is held at what the case asks for."""
    step = wanted.steps[place]
    limit, asked = step.limits[number], rule.value_of(wanted.case, step.limits[number].most)
    sought = step.least and limit in step.least.limits

    def at(limits):
        return tuple(each._replace(most=most if each == limit else asked) if each.most == limit.most else each for each in limits)
    least = step.least and step.least._replace(limits=at(step.least.limits))
    steps = (*wanted.steps[:place], step._replace(limits=at(step.limits), least=least), *wanted.steps[place + 1:])
    return wanted._replace(steps=steps).solved(**({limit.most: most} if sought else {}))


def _least(wanted, table):
    """The choice with the least objective; None without one."""
    return row(table, np.argmin(table[wanted.objective])) if rule.count(table) else None


# How large a model one GPU takes

def sizes(wanted: Need, gpus: list[str]) -> dict[str, float]:
    """Parameters of the largest model like that of the case that one of each of these GPUs takes, by the job of the case.

    It serves with one request at a time; it trains one sequence at a time, all layers recomputed.
    """
    case = wanted.case
    if trains(wanted.kind):
        one = dict(gpus=1, gpus_per_node=1, data_parallel=1, micro_batch=1, micro_batches=1, recompute=2)
        return {gpu: float(case.but(gpu=gpu, **one)(largest_trained_params)) for gpu in gpus}
    alone: dict[str, Any] = dict(tensor_parallel=1, batch=1, context="prompt" if wanted.kind == "embed" else "final_context")
    return {gpu: float(case.but(gpu=gpu, **alone)(largest_params)) for gpu in gpus}


def ladder(wanted: Need, gpu: str | None = None) -> list[str]:
    """Of the GPUs on offer that have the format one with the least memory, a given one, and one with the most."""
    held = wanted.tables[wanted.steps[0].joined[0]]
    able = list(dict.fromkeys(held["gpu"][held["lacks_format"] + held["unlinked"] == 0]))
    memory = catalogue.gpus().loc[able]["memory_bytes"].sort_values(kind="stable")
    return list(dict.fromkeys([*memory.index[:1], *([gpu] if gpu in memory else []), *memory.index[-1:]]))


def degrees(wanted: Need) -> dict[int, int]:
    """On how many kinds of GPU a replica takes so many of them, by their number, whatever is offered."""
    first = rule.solve(wanted.steps[:1], wanted.case, wanted.tables, answer.judged(wanted.case), ("plan",))["plan"].kept
    least = pd.DataFrame(first).groupby("gpu")["tensor_parallel"].min() if rule.count(first) else pd.Series(dtype=float)
    return {int(degree): int(count) for degree, count in least.value_counts().sort_index().items()}


# Loads

@selection
def loads(case: Case, book: pd.DataFrame, values: list[float]) -> pd.DataFrame:
    """The cheapest servers at each load (requests a second in the busiest hour), and that month through the cheapest API.

    Where the GPU changes, or servers become cheaper than the API, loads between are tried until the turn is known.
    """
    sold = priced_offers(book, case.rows["model"].name, answer.completed(case))
    request = float(sold["api_request_usd"].iloc[0]) if len(sold) and sold["firm"].iloc[0] else math.inf
    found = {value: _at_load(case, book, value, request) for value in values}
    for low, high in itertools.pairwise(values):
        while high > low * (1 + _NEAR) and _turned(found[low], found[high]):
            middle = math.sqrt(low * high)
            found[middle] = _at_load(case, book, middle, request)
            low, high = (low, middle) if _turned(found[low], found[middle]) else (middle, high)
    return pd.DataFrame([found[value] for value in sorted(found)])


def _at_load(case, book, value, request):
    """A row of `loads`."""
    wanted = need(case.but(requests_per_second=value), book)
    first = answer.first_of(wanted.solved()["plan"].kept, wanted.kind)
    api = float(api_usd_per_month(wanted.case(mean_requests_per_month), request)) if request < math.inf else math.inf
    if first is None:
        return dict(load=value, gpu="", gpus=math.nan, usd=math.inf, api=api)
    return dict(load=value, gpu=first["gpu"], gpus=first["rented_gpus"], usd=first[wanted.objective], api=api)


def _turned(one, other):
    return one["gpu"] != other["gpu"] or (one["usd"] < one["api"]) != (other["usd"] < other["api"])


def api_turn(found: pd.DataFrame) -> float:
    """The load from which on servers, chosen anew at each, stay cheaper than the API; `ways` asks it of the servers of one plan.

    Infinite if at the last one they are not cheaper, 0 if they always are.
    """
    dear = found.loc[~(found["usd"] < found["api"]), "load"]
    later = found.loc[found["load"] > dear.max(), "load"] if len(dear) else found["load"].head(0)
    return 0.0 if dear.empty else float(later.min()) if len(later) else math.inf


def steps(found: pd.DataFrame) -> pd.DataFrame:
    """Those rows of `loads` at which another GPU than before is the cheapest."""
    return found[found["gpu"] != found["gpu"].shift()].reset_index(drop=True)
