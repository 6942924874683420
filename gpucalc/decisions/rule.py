"""The one rule that evaluates a decision: axes, limits and an objective, all of them laws, over every choice at once.

A decision is a chain of steps. A step joins a table to the rows that the one before has left, crosses them with its axes, works
out its figures, drops what breaks a limit and keeps of each group the choice with the least objective. A group in which every
choice breaks one is lost, at the limit to which its best choice came: a choice that does not work is a row that says why.

A figure that is known with a band is worked out at an end of it, so a chain is solved at each of `ENDS`. How sure a plan is to be
is a place along the band. Where a number is sought, the plan is made there, for what is rented must do. Where only limits ask for
it, they are judged there, and the plan is the median.
"""
from typing import Any, NamedTuple

from .columns import count as count, taken as taken
from .points import ENDS as ENDS, SURE as SURE, Points, value_of as value_of


class Figure(NamedTuple):
    """A law that is worked out over all axes; `given` are inputs or names of laws that hold for it alone.

    `band` is the law whose band moves it, `worst` an axis, 0 and 1, over which the larger counts.
    """

    law: str
    given: dict = {}
    band: str = ""
    worst: str = ""


class Limit(NamedTuple):
    """`of`, a law, figure or column, is at most `most`, a number or the name of one; at the end of the band `at`, which may also
    be `SURE`, whatever the end that is solved.

    An `early` one needs only figures and columns, and rules a choice out before more is worked out.
    """

    of: str
    most: Any
    reason: str
    at: str = ""
    early: bool = False

    @property
    def column(self) -> str:
        """The column with the value that is judged."""
        return f"{self.at}_{self.of}" if self.at else self.of


class Least(NamedTuple):
    """An axis of whole numbers of which the least that keeps the limits is taken: more only helps. `low` and `high` are laws.

    What is found is the value of all `names`.
    """

    names: tuple
    low: str
    high: str
    limits: tuple


class Step(NamedTuple):
    """One step: the table and the column by which it is `joined`, none for the rows as they are, `axes` with their values or the
    name of them, `given` inputs and names of laws, and what is kept: of each row, and of each value of the axes in `per`, the
    least of `objective`. Rows that agree in the columns `of` are one there.

    `spread` has inputs that are known with a band of their own: columns or assumptions, as (fast, likely, slow). `likely` has
    inputs that are a law's value at the plan, whatever the end. A `steady` step chooses alike at every end, and leaves its
    figures with bands as columns `low_`, `plan_` and `high_`. Of an axis that is `sparing` the first value that keeps the early
    limits is the best: no later one is worked out.
    """

    name: str
    joined: tuple
    axes: dict = {}
    per: tuple = ()
    sparing: tuple = ()
    figures: tuple = ()
    limits: tuple = ()
    objective: tuple = ()
    given: dict = {}
    least: Any = None
    spread: dict = {}
    likely: dict = {}
    shown: tuple = ()
    steady: bool = False
    of: tuple = ()


class Solved(NamedTuple):
    """What a chain leaves at an end: the rows of its last step that keep all limits, and what each step lost, with the number of
    the limit that was `broken`, and by how much of it (`excess`)."""

    kept: dict
    lost: list


def solve(steps, case, market, judged=0.0, ends=tuple(ENDS)):
    """The chain at each of the `ends`, the plan first, as `Solved` by end; rows are in the order of the market's.

    market: tables by name, each a dict of columns, and `assumed`, (fast, likely, slow) by name. judged: how far along the bands
    is `SURE`; where no limit is judged there, the plan is made there.
    """
    none, apart = {}, any(limit.at == SURE for step in steps for limit in step.limits)
    far = ENDS | {SURE: judged} | ({} if apart else {"plan": judged})
    rows, lost = dict.fromkeys(ends, none), {end: [] for end in ends}
    for step in steps:
        points, found = {}, {}
        for end, before in rows.items():
            if id(before) not in points:
                points[id(before)] = Points(step, case, market, before)
            found[end] = found["plan"] if step.steady and found else points[id(before)].chosen(far[end], far)
        for end, table in found.items():
            good = table["broken"] == len(step.limits)
            lost[end].append(taken(table, ~good))
            rows[end] = rows["plan"] if step.steady and end != "plan" else taken(table, good)
    return {end: Solved(rows[end], lost[end]) for end in ends}


def chosen(step, case, table, before=()):
    """What a single step over a table chooses, joined to the rows before it, and which of that keeps all limits."""
    found = Points(step, case, {step.joined[0]: table, "assumed": {}}, before).chosen(0.0)
    return found, found["broken"] == len(step.limits)
