"""What would turn a choice: the loads and lengths at which another GPU is the best one."""
import pandas as pd

from ..core.quantities import QUANTITIES
from .answer import Answer, first_of, kept_at_plan
from .jobs import Change, JOBS
from .market import market


def turns(answer: Answer, book: pd.DataFrame) -> list[tuple[Change, str]]:
    """Of each load and length, in each direction, the first of a job's `turns` at which another GPU is the best, and it."""
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
