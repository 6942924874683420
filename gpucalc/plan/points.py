"""The choices of one step of a decision, as a grid of places, and of each group of them the best."""
import math

import numpy as np

from .columns import count, joined, kinds, known, numbers, stacked, taken
from ..core.arithmetic import floor
from ..core.evaluate import is_law
from ..core.law import LAWS
from ..rows import bands

# How far along its band a figure is moved: eight in ten cases lie between the ends.
ENDS = {"plan": 0.0, "low": -1.0, "high": 1.0}
# The name of the place along it at which limits must hold.
SURE = "sure"
# A halving takes so many rounds at most: between neighbours that a float can't tell from their middle it ends too.
ROUNDS = 64


class Points:
    """All choices of a step by their place: rows slowest, then each axis.

    `places` are those that no limit rules out that is the same at every end; `out` has of each group the one that came furthest
    of the others.
    """

    def __init__(self, step, case, market, before):
        self.step, self.whole, self.assumed = step, case, market["assumed"]
        self.rows = joined(before, market[step.joined[0]], *step.joined[1:]) if step.joined else before
        self.axes = {name: np.atleast_1d(np.array(self._tried(name, values, market), float))
                     for name, values in step.axes.items()}
        self.shape = (count(self.rows), *map(len, self.axes.values()))
        self.kinds = kinds(self.rows[name] for name in step.of) if step.of else np.arange(self.shape[0])
        self.figures = {figure.law: figure for figure in step.figures}
        self.raw, self.bands, out = {}, {}, []
        self.places = np.arange(math.prod(self.shape))
        for number, limit in enumerate(step.limits):
            if limit.early and self._steady(limit):
                self._work(name for name in (limit.of, limit.most) if name in self.figures)
                self.places, gone = self._ruled_out(number, limit, self.places, ENDS[limit.at or "plan"])
                out.append(self._first(gone))
        self.places = self._spared()
        self._work(self.figures)
        self.out = self._first(stacked(out)) if out else {}

    def _tried(self, name, values, market):
        """The values of an axis: the one that the case gives, else those of the step or of the market."""
        given = self.whole.inputs.get(name)
        return given if isinstance(given, int | float) else market[values] if isinstance(values, str) else values

    def _spared(self):
        """The places that are left without those to which an earlier value of a sparing axis is left too."""
        left = np.bincount(self.places, minlength=math.prod(self.shape)).reshape(self.shape)
        earlier = [np.cumsum(left, 1 + list(self.axes).index(name)) - left for name in self.step.sparing]
        return np.flatnonzero((left > 0) & (sum(earlier, 0 * left) == 0))

    def _steady(self, limit):
        """Whether a limit is the same at every end."""
        return limit.at in ENDS or not any(figure.band for law, figure in self.figures.items() if law in (limit.of, limit.most))

    def _work(self, wanted):
        """Works these figures out at all places that are left, together where they are given the same."""
        left = [self.figures[law] for law in wanted if law not in self.raw]
        while left:
            same = [each for each in left if (each.given, each.worst) == (left[0].given, left[0].worst)]
            laws = [each.law for each in same]
            stands = self._stands(needed(self._held(self._columns(self.places[:1]), same[0].given), laws))
            places = np.flatnonzero(np.bincount(stands)) if len(stands) else stands
            case = self._held(self._columns(places), same[0].given)
            values = self._worked(case, same[0].worst, laws) if len(places) else {}
            ends = {each.law: bands.factors(case, LAWS[each.band]) for each in same if each.band}
            self.raw |= {law: self._whole(values.get(law, 1.0), places, stands) for law in laws}
            self.bands |= {law: [self._whole(end, places, stands) for end in each] for law, each in ends.items()}
            left = [each for each in left if each not in same]

    def _stands(self, names):
        """For each place that is left the first that is the same in all of these names."""
        columns = [column.tolist() for name, column in numbers(self.rows).items() if name in names]
        first, rows = {}, zip(*columns) if columns else [()] * self.shape[0]
        alike = np.array([first.setdefault(row, number) for number, row in enumerate(rows)], int)
        at = np.unravel_index(self.places, self.shape)
        here = [each if name in names else 0 * each for name, each in zip(self.axes, at[1:])]
        return np.ravel_multi_index([alike[at[0]], *here], self.shape)

    def _worked(self, case, worst, laws):
        held = case.but(**{worst: np.arange(2.0)[:, None]}) if worst else case
        terms = held.terms(*laws)
        return {law: np.max(terms[law], axis=0) if np.ndim(terms[law]) > 1 else terms[law] for law in laws}

    def _whole(self, value, places, stands):
        """A value at some places as one at every place that they stand for, NaN at the others."""
        found, whole = np.full((2, math.prod(self.shape)), np.nan)
        found[places] = value
        whole[self.places] = found[stands]
        return whole

    def _ruled_out(self, number, limit, places, far):
        """The places that keep a limit, and those that break it as a table."""
        over = exceeds(*(self._value(name, places, far) for name in (limit.of, limit.most)))
        gone = over > 0
        return places[~gone], dict(place=places[gone], broken=np.full(gone.sum(), number), excess=over[gone])

    def _value(self, name, places, far):
        """A number, or a figure, a column, an input or a law by its name."""
        if name in self.figures:
            return self._figure(name, places, far)
        if name in self.axes:
            return self.axes[name][self._along(1 + list(self.axes).index(name), places)]
        value = self.rows[name][self._along(0, places)] if name in self.rows else value_of(self.whole, name)
        return np.broadcast_to(np.asarray(value, float), len(places))

    def _along(self, axis, places):
        """Where places lie along one axis."""
        return places // math.prod(self.shape[axis + 1:]) % self.shape[axis]

    def _figure(self, name, places, far):
        value = self.raw[name][places]
        return value * moved([end[places] for end in self.bands[name]], far) if name in self.bands else value

    def _columns(self, places):
        """The numbers of rows and axes at these places."""
        rows, axes = self._here(places)
        return numbers(rows) | axes

    def _here(self, places):
        """Rows and axes at these places, as two tables."""
        at = np.unravel_index(places, self.shape)
        return taken(self.rows, at[0]), {name: values[each] for (name, values), each in zip(self.axes.items(), at[1:])}

    def _held(self, columns, given=()):
        return self.whole.but(**known(columns), **self.step.given | dict(given))

    def table(self):
        """All places that are left, with their figures as the laws give them, without a band."""
        rows, axes = self._here(self.places)
        return rows | axes | taken(self.raw, self.places)

    def chosen(self, far, ends=ENDS):
        """Of each group the best choice that keeps all limits, else the one that comes furthest, so far along the bands; `ends`
        are how far those are at which limits are judged."""
        places, out = self.places, [self.out]
        for number, limit in enumerate(self.step.limits):
            if limit.early and not self._steady(limit):
                places, gone = self._ruled_out(number, limit, places, ends.get(limit.at, far))
                out.append(gone)
        found = self._first(stacked([self._worked_out(places, far, ends), *out]))
        rows, axes = self._here(found["place"])
        held = {name: self._figure(name, found["place"], far) for name in self.figures}
        if self.step.steady:
            held |= {f"{end}_{name}": self._figure(name, found["place"], each)
                     for name in self.bands for end, each in ENDS.items()}
        return rows | found | axes | held

    def _first(self, table):
        """Of each group the choice that breaks the last limit, by the least, and has the least objective; in order of groups."""
        if not count(table):
            return table
        at = np.unravel_index(table["place"], self.shape)
        kept = [0, *(place for place, name in enumerate(self.axes, 1) if name in self.step.per)]
        at = (self.kinds[at[0]], *at[1:])
        groups = np.ravel_multi_index([at[place] for place in kept], [self.shape[place] for place in kept])
        here = np.arange(len(groups))
        for key in (-table["broken"], table["excess"], *(table[name] for name in self.step.objective if name in table)):
            key, of = np.where(np.isnan(key[here]), np.inf, key[here]), groups[here]
            least = np.full(groups.max() + 1, np.inf)
            np.minimum.at(least, of, key)
            here = here[key == least[of]]
        return taken(table, here[np.unique(groups[here], return_index=True)[1]])

    def _worked_out(self, places, far, ends):
        """The choices with all laws of limits and objective, and the first limit that each breaks; what a limit has at another
        end stands under the name of both."""
        step, late = self.step, [each for each in enumerate(self.step.limits) if not each[1].early]
        wanted = [*step.objective, *step.shown, *(limit.of for _, limit in late)]
        found = {"place": places, "broken": np.full(len(places), len(step.limits)), "excess": np.zeros(len(places))}
        held, flat, more = self._laws(places, far, wanted)
        for end in dict.fromkeys(limit.at for _, limit in late if limit.at):
            there = [limit for _, limit in late if limit.at == end]
            moved = self._laws(places, ends[end], [limit.of for limit in there])[1]
            more |= {limit.column: moved[limit.of] for limit in there}
        for number, limit in reversed(late):
            value = more[limit.column] if limit.at else flat[limit.of]
            over = exceeds(value, flat[limit.most] if limit.most in flat else value_of(held, limit.most))
            found["broken"] = np.where(over > 0, number, found["broken"])
            found["excess"] = np.where(over > 0, over, found["excess"])
        return found | more | {name: flat[name] for name in step.objective}

    def _laws(self, places, far, wanted):
        """The case at these places so far along the bands, all its columns with those laws, and those that no row or axis has."""
        step, flat = self.step, self._columns(places) | {name: self._figure(name, places, far) for name in self.figures}
        names = [law for law in dict.fromkeys(wanted) if law in LAWS and law not in flat]
        if not len(places):
            more = dict.fromkeys([*names, *step.spread, *step.likely, *(step.least.names if step.least else ())], np.zeros(0))
            return self.whole, flat | dict.fromkeys(wanted, np.zeros(0)) | more, more
        more = self._likely(flat) | self._spread(flat, far)
        if step.least:
            more |= dict.fromkeys(step.least.names, _least(step.least, self._held, flat | more, len(places)))
        held = self._held(flat | more)
        terms = held.terms(*names) if names else {}
        more |= {name: np.broadcast_to(np.asarray(terms[name], float), len(places)) for name in names}
        return held, flat | more, more

    def _spread(self, flat, far):
        """The inputs with a band of their own, so far along it; what the case has is known."""
        return {name: np.broadcast_to(moved([self._end(each, flat) for each in ends], far), count(flat)).astype(float)
                for name, ends in self.step.spread.items() if name not in self.whole.inputs}

    def _end(self, name, flat):
        return flat[name] if name in flat else self.assumed[name]

    def _likely(self, flat):
        if not self.step.likely:
            return {}
        terms = self._held(flat | self._spread(flat, 0.0)).terms(*self.step.likely.values())
        return {name: np.broadcast_to(np.asarray(terms[law], float), count(flat)) for name, law in self.step.likely.items()}


def _least(least, held_with, columns, size):
    """The least whole number that keeps the limits, for columns, by halving between its two laws; else the high one. Beyond the
    whole numbers that a float holds it is the least that was found to keep them."""
    laws, held = [limit.of for limit in least.limits], held_with(columns)
    low, high = (np.broadcast_to(np.asarray(held(law), float), (size,)).copy() for law in (least.low, least.high))
    high = np.where(np.isfinite(high), high, low)
    terms = held.terms(*_steady(held, laws, least.names))
    columns = columns | {name: np.broadcast_to(np.asarray(value, float), (size,)) for name, value in terms.items()}
    for _ in range(ROUNDS):
        if not len(left := np.flatnonzero(low < high)):
            break
        middle = floor((low[left] + high[left]) / 2)
        tried = held_with(taken(columns, left)).but(**dict.fromkeys(least.names, middle))
        terms = tried.terms(*laws)
        enough = np.all([terms[limit.of] <= value_of(tried, limit.most) for limit in least.limits], axis=0)
        low[left], high[left] = np.where(enough, low[left], middle + 1), np.where(enough, middle, high[left])
    return np.maximum(low, high)


def _steady(case, laws, names):
    """Laws that those take the values of and that are the same whatever the names are: worked out once."""
    asked = [law for law in needed(case, laws) if law in LAWS and _given(case, law) is None] + laws
    moving = [law for law in asked if needed(case, [law]) & {*names}]
    return [name for law in moving for name in LAWS[law].arguments
            if name in asked and name not in moving and name not in LAWS[law].defaults]


def needed(case, laws):
    """Names of what the laws may ask the case for."""
    found, left = set(), [name for law in laws for name in LAWS[law].arguments]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            given = _given(case, name)
            left += [given] if isinstance(given, str) else given.arguments if is_law(given) else ()
            left += LAWS[name].arguments if given is None and name in LAWS else ()
    return found


def _given(case, name):
    return case.inputs.get(name, next((row[name] for row in case.rows.values() if name in row), None))


def value_of(case, name):
    """A number; or an input of the case, also of a row that stands for it, or a law by its name."""
    given = case.inputs.get(name, name) if isinstance(name, str) else name
    return given[name] if isinstance(given, dict) else case(given) if isinstance(given, str) or is_law(given) else given


def number_of(case, name):
    """The number that an input of the case or a law comes to; NaN where it tells none."""
    try:
        return float(value_of(case, name)) if name in case.inputs or name in LAWS else math.nan
    except (ValueError, KeyError, TypeError):
        return math.nan


def moved(ends, far):
    """A figure known as (low, plan, high) so far along its band, 0 the plan and 1 the high end, in logarithms."""
    low, plan, high = ends
    with np.errstate(invalid="ignore", divide="ignore"):
        return plan * ((high / plan) ** far if far >= 0 else (low / plan) ** -far)


def exceeds(value, most):
    """By how much of a limit a value is above it, 0 where it is not; of a limit of 0 by the value itself."""
    value, most = np.asarray(value, float), np.asarray(most, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        over = np.where(most > 0, value / most - 1, value - most)
    return np.where(value <= most, 0, np.where(over > 0, over, np.inf))
