"""What would turn a choice: the loads and lengths at which another GPU is the best one."""
import numpy as np
import pandas as pd

from ..core.quantities import QUANTITIES
from . import rule
from .answer import Answer, judged
from .decisions import CHAINS, OBJECTIVES, TURNS, Change
from .market import market


def turns(answer: Answer, book: pd.DataFrame) -> list[tuple[Change, str]]:
    """Of each load and length, in each direction, the first change in `TURNS` at which another GPU is the best, and that GPU."""
    if answer.best is None:
        return []
    case, kind = answer.case, answer.kind
    tables, found = market(case, book, kind), {}
    for change in TURNS[kind]:
        way = change.name, change.times > 1
        value = case.inputs.get(change.name)
        value = value[change.name] if isinstance(value, dict) else value
        if way not in found and isinstance(value, int | float):
            whole = QUANTITIES[change.name].allowed.startswith("a whole")
            value = max(round(value * change.times), 1) if whole else value * change.times
            best = _best(case.but(**{change.name: value}), tables, kind)
            if best not in (None, answer.best["gpu"]):
                found[way] = change._replace(value=value), best
    return list(found.values())


def _best(case, tables, kind):
    """The GPU of the best choice; None where nothing keeps the limits."""
    kept = rule.solve(CHAINS[kind], case, tables, judged(case), ("plan",))["plan"].kept
    return kept["gpu"][np.lexsort((kept["offer"], kept[OBJECTIVES[kind]]))[0]] if rule.count(kept) else None
