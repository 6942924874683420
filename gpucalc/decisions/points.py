"""The choices of one step of a decision, as a grid of places, and of each group of them the best."""
import math

import numpy as np

from ..core.arithmetic import floor
from ..core.evaluate import is_law
from ..core.law import LAWS
from ..rows import bands, store
from .columns import alike, count, joined, kinds, known, numbers, stacked, taken

# How far along its band a figure is moved: eight in ten cases lie between the ends.
ENDS = {"plan": 0.0, "low": -1.0, "high": 1.0}
# The name of the place along it at which limits must hold.
SURE = "sure"
# A search takes so many rounds at most: between neighbours that a float can't tell from their middle it ends too.
ROUNDS = 128
# A column of which only the name counts.
NONE = np.zeros(0)


class Points:
    """All choices of a step by their place: rows slowest, then each axis, but for one that is a column of the rows.

    `places` are those that no limit rules out that is the same at every end, with their figures in `raw` and the ends of their
    bands in `bands`; `out` has of each group the one that came furthest of the others. A limit is judged before the choices are
    spread over an axis that it does not ask for. `asked` are the names that all of this was asked for: cases that differ in
    others, such as their limits, load or prices, take it from each other where their markets share what is `worked` out.
    """

    def __init__(self, step, case, market, before):
        self.step, self.whole, self.assumed = step, case, market["assumed"]
        self.rows = joined(before, market[step.joined[0]], *step.joined[1:]) if step.joined else before
        self.axes = {name: np.atleast_1d(np.array(self._tried(name, values, market), float))
                     for name, values in step.axes.items() if name not in self.rows}
        self.shape = (count(self.rows), *map(len, self.axes.values()))
        self.strides = [math.prod(self.shape[axis + 1:]) for axis in range(len(self.shape))]
        self.kinds = kinds(self.rows[name] for name in step.of) if step.of else np.arange(self.shape[0])
        self.numbers = numbers(self.rows)
        self.figures = {figure.law: figure for figure in step.figures}
        self.raw, self.bands, self.wide, self.asked, self.out = {}, {}, [], set(), None
        self.places = np.arange(self.shape[0]) * self.strides[0]
        self.shared = None if before else market.get("worked")
        # What the first step of a chain on a market comes to follows from all of this.
        self.made_from = self.shared is not None and store.key(step, case.rows, case.inputs, self.rows, self.axes, self.assumed)

    def work(self):
        """Judges the early limits and works out the figures of what is left, once."""
        if self.out is not None or any(map(self._take, self.shared or ())):
            return self
        out = []
        for number, limit in enumerate(self.step.limits):
            if limit.early and self._steady(limit):
                out.append(self._ruled_out_early(number, limit))
        self._spread_over(self.axes)
        self._keep(np.argsort(self.places, kind="stable"))
        self._keep(self._spared())
        self._work(self.figures)
        self._know(self._first(stacked(out)) if out else {})
        if self.shared is not None:
            self.shared[:] = [*self.shared[-3:], self]
        return self

    def _take(self, other):
        """Takes what was worked out for another case, if it is alike in all that was asked for; returns whether."""
        same = other.step == self.step and alike(other.axes, self.axes) and alike(other.rows, self.rows) and all(
            told(other.whole, name) == told(self.whole, name) for name in other.asked)
        if same:
            self.places, self.known, self.raw, self.bands, self.asked, self.out = (
                other.places, other.known, other.raw, other.bands, other.asked, other.out)
        return same

    def _know(self, out):
        """Keeps what is out, with the figures that were worked out before it was ruled out, beside those of what is left."""
        self.out = {name: column for name, column in out.items() if isinstance(name, str)}
        places = np.concatenate([self.places, self.out.get("place", self.places[:0])])
        order, none = np.argsort(places, kind="stable"), np.full(len(places) - len(self.places), np.nan)
        self.known = places[order]
        self.raw = {law: np.concatenate([value, out.get((law,), none)])[order] for law, value in self.raw.items()}
        self.bands = {law: [np.concatenate([end, out.get((law, number), none)])[order] if np.ndim(end) else end
                            for number, end in enumerate(ends)] for law, ends in self.bands.items()}

    def _tried(self, name, values, market):
        """The values of an axis: the one that the case gives, else those of the step or of the market."""
        given = self.whole.inputs.get(name)
        return given if isinstance(given, int | float) else market[values] if isinstance(values, str) else values

    def _spread_over(self, names):
        """Spreads the places over those of these axes along which they are not yet."""
        for name in (each for each in self.axes if each in names and each not in self.wide):
            which, further = self._along_it(name, len(self.places))
            self._keep(which)
            self.places = self.places + further
            self.wide.append(name)

    def _along_it(self, name, size):
        """Of so many places at the start of an axis: which each place along it comes from, and how far it lies from that."""
        length, stride = len(self.axes[name]), self.strides[1 + list(self.axes).index(name)]
        return np.repeat(np.arange(size), length), np.tile(np.arange(length) * stride, size)

    def _keep(self, which):
        """Leaves these of the places, with their figures."""
        self.places = self.places[which]
        self.raw = taken(self.raw, which)
        self.bands = {law: [end[which] if np.ndim(end) else end for end in ends] for law, ends in self.bands.items()}

    def _spared(self):
        """Which places are left without those to which an earlier value of a sparing axis is left too."""
        if not self.step.sparing:
            return slice(None)
        left = np.bincount(self.places, minlength=math.prod(self.shape)).reshape(self.shape)
        earlier = [np.cumsum(left, 1 + list(self.axes).index(name)) - left for name in self.step.sparing]
        return sum(earlier).ravel()[self.places] == 0

    def _steady(self, limit):
        """Whether a limit is the same at every end."""
        return limit.at in ENDS or not any(figure.band for law, figure in self.figures.items() if law in (limit.of, limit.most))

    def _ruled_out_early(self, number, limit):
        """Leaves the places that keep a limit, spread over no more axes than it takes; of each group the nearest other one."""
        names = [name for name in (limit.of, limit.most) if isinstance(name, str)]
        laws = [name for name in names if name in self.figures]
        asked = {*names}.union(*(self._needed([name], self.figures[name].given) for name in laws))
        self.asked |= asked.union(*(needed(self.whole, [name]) for name in names if name in LAWS and name not in laws))
        self._spread_over(asked)
        self._work(laws)
        left, gone = self._ruled_out(number, limit, self.places, ENDS[limit.at or "plan"])
        gone |= {(law,): value[~left] for law, value in self.raw.items()}
        gone |= {(law, number): end[~left] for law, ends in self.bands.items() for number, end in enumerate(ends) if np.ndim(end)}
        found = self._first(gone)
        self._keep(left)
        for name in (each for each in self.step.per if each not in self.wide and count(found)):
            which, further = self._along_it(name, count(found))
            found = taken(found, which)
            found["place"] = found["place"] + further
        return found

    def _work(self, wanted):
        """Works these figures out at all places that are left, together where they are given the same."""
        left = [self.figures[law] for law in wanted if law not in self.raw]
        while left:
            same = [each for each in left if (each.given, each.worst) == (left[0].given, left[0].worst)]
            laws = [each.law for each in same]
            names = self._needed(laws, same[0].given)
            whens = {when for each in same if each.band for when, _, _ in bands.parts(each.band)[1] if when}
            self.asked |= names | whens
            places, stands = np.unique(self._stands(names), return_inverse=True)
            case = self._held(self._columns(places, names | whens), same[0].given)
            values = self._worked(case, same[0].worst, laws) if len(places) else {}
            self.raw |= {law: np.broadcast_to(np.asarray(values.get(law, 1.0), float), len(places))[stands] for law in laws}
            for each in (each for each in same if each.band):
                ends = bands.factors(case, LAWS[each.band])
                self.bands[each.law] = [end[stands] if np.ndim(end) else end for end in ends]
            left = [each for each in left if each not in same]

    def _needed(self, laws, given=()):
        """Names of what the laws may ask a choice for."""
        columns = dict.fromkeys((*self.numbers, *self.axes), NONE)
        return needed(self._held(columns, given), laws)

    def _stands(self, names):
        """For each place that is left the first that is the same in all of these names."""
        columns = [column.tolist() for name, column in self.numbers.items() if name in names]
        first, rows = {}, zip(*columns) if columns else [()] * self.shape[0]
        alike = np.array([first.setdefault(row, number) for number, row in enumerate(rows)], int)
        stands = alike[self._along(0, self.places)] * self.strides[0]
        for axis, name in enumerate(self.axes, 1):
            if name in names:
                stands = stands + self._along(axis, self.places) * self.strides[axis]
        return stands

    def _worked(self, case, worst, laws):
        held = case.but(**{worst: np.arange(2.0)[:, None]}) if worst else case
        terms = held.terms(*laws)
        return {law: np.max(terms[law], axis=0) if np.ndim(terms[law]) > 1 else terms[law] for law in laws}

    def _ruled_out(self, number, limit, places, far):
        """Which places keep a limit, and those that break it as a table."""
        over = exceeds(*(self._value(name, places, far) for name in (limit.of, limit.most)))
        gone = over > 0
        return ~gone, dict(place=places[gone], broken=np.full(gone.sum(), number), excess=over[gone])

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
        return places // self.strides[axis] % self.shape[axis]

    def _figure(self, name, places, far):
        """A figure so far along its band; NaN where a place was ruled out before it was worked out."""
        at = slice(None) if self.out is None else np.searchsorted(self.known, places)
        value = self.raw[name][at]
        if name in self.bands:
            value = value * moved([end[at] if np.ndim(end) else end for end in self.bands[name]], far)
        return value

    def _columns(self, places, names=None):
        """The numbers of rows and axes at these places, those of `names` alone where that is given."""
        rows = {name: column for name, column in self.numbers.items() if names is None or name in names}
        return taken(rows, self._along(0, places)) | {
            name: values[self._along(axis, places)] for axis, (name, values) in enumerate(self.axes.items(), 1)
            if names is None or name in names}

    def _here(self, places):
        """Rows and axes at these places, as two tables."""
        return taken(self.rows, self._along(0, places)), {
            name: values[self._along(axis, places)] for axis, (name, values) in enumerate(self.axes.items(), 1)}

    def _held(self, columns, given=()):
        return self.whole.but(**known(columns), **self.step.given | dict(given))

    def table(self):
        """All places that are left, with their figures as the laws give them, without a band."""
        rows, axes = self._here(self.work().places)
        return rows | axes | {name: self.raw[name][np.searchsorted(self.known, self.places)] for name in self.raw}

    def chosen(self, far, ends=ENDS):
        """Of each group the best choice that keeps all limits, else the one that comes furthest, so far along the bands; `ends`
        are how far those are at which limits are judged."""
        found = self._found(far, ends) if not self.made_from else store.recalled(
            store.key(self.made_from, far, ends), lambda: self._found(far, ends))
        rows, axes = self._here(found["place"])
        return rows | found | axes

    def _found(self, far, ends):
        """Place, figures and laws of what is chosen."""
        self.work()
        places, out = self.places, [self.out]
        for number, limit in enumerate(self.step.limits):
            if limit.early and not self._steady(limit):
                left, gone = self._ruled_out(number, limit, places, ends.get(limit.at, far))
                places = places[left]
                out.append(gone)
        found = self._first(stacked([self._worked_out(self._contenders(places, far, ends), far, ends), *out]))
        held = {name: self._figure(name, found["place"], far) for name in self.figures}
        if self.step.steady:
            held |= {f"{end}_{name}": self._figure(name, found["place"], each)
                     for name in self.bands for end, each in ENDS.items()}
        return found | held

    def _groups(self, places):
        """The group of each place: its kind, and its values of the axes in `per`."""
        kept = [0, *(axis for axis, name in enumerate(self.axes, 1) if name in self.step.per)]
        at = [self.kinds[self._along(0, places)], *(self._along(axis, places) for axis in kept[1:])]
        return np.ravel_multi_index(at, [self.shape[axis] for axis in kept])

    def _first(self, table):
        """Of each group the choice that breaks the last limit, by the least, and has the least objective; in order of groups."""
        if not count(table):
            return table
        keys = (-table["broken"], table["excess"], *(table[name] for name in self.step.objective if name in table))
        return taken(table, _best(self._groups(table["place"]), keys))

    def _contenders(self, places, far, ends):
        """Where a least number is looked for, the places that may be best: whose objective at the low end is not above that of
        the choice of their group that is tried first."""
        least, objective = self.step.least, self.step.objective
        if not least or not objective or not len(places):
            return places
        figures = {name: self._figure(name, places, far) for name in self.figures}
        low = self._law(least.low, places, figures)
        at = self._law(objective[0], places, figures | dict.fromkeys(least.names, low))
        groups = self._groups(places)
        tried = _best(groups, (at,))
        found = self._worked_out(places[tried], far, ends)
        most = np.full(groups.max() + 1, np.inf)
        most[groups[tried]] = np.where(found["broken"] == len(self.step.limits), found[objective[0]], np.inf)
        return places[at <= most[groups]]

    def _law(self, law, places, more):
        """A law for these places with `more` columns."""
        names = needed(self._held(dict.fromkeys((*self.numbers, *self.axes, *more), NONE)), [law])
        case = self._held(self._columns(places, names) | more)
        return np.broadcast_to(np.asarray(value_of(case, law), float), len(places))

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
            more |= dict.fromkeys(step.least.names, _least(step.least, self._held(flat | more), len(places)))
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


def _best(groups, keys):
    """Of each group the number of the place that is first by the keys, the first of equals; in order of groups."""
    here = np.arange(len(groups))
    for key in keys:
        key, of = np.where(np.isnan(key[here]), np.inf, key[here]), groups[here]
        least = np.full(groups.max() + 1, np.inf)
        np.minimum.at(least, of, key)
        here = here[key == least[of]]
    return here[np.unique(groups[here], return_index=True)[1]]


def _least(least, held, size):
    """The least whole number that keeps the limits, for columns: if the high of its two laws does, from the low one on in ever
    longer strides, then by halving. Beyond the whole numbers that a float holds it is the least that was found to keep them.

    The laws are not quite monotone in the number, so that another order of what is tried may find another one.
    """
    ends = held.terms(least.low, least.high)
    low, high = (np.broadcast_to(np.asarray(ends[law], float), (size,)).copy() for law in (least.low, least.high))
    high = np.where(np.isfinite(high), high, low)
    most = [np.broadcast_to(np.asarray(value_of(held, limit.most), float), (size,)) for limit in least.limits]
    laws = [limit.of for limit in least.limits]
    again = held.again(laws, **dict.fromkeys(least.names, low))
    for passed in range(ROUNDS):
        if not len(left := np.flatnonzero(low < high)):
            break
        tried = np.minimum(floor((low[left] + high[left]) / 2), low[left] + 2.0 ** (passed - 1) - 1) if passed else high[left]
        terms = again(left, **dict.fromkeys(least.names, tried))
        enough = np.all([terms[law] <= each[left] for law, each in zip(laws, most)], axis=0)
        low[left], high[left] = np.where(enough, low[left], tried + 1), np.where(enough, tried, high[left])
    return np.maximum(low, high)


def told(case, name):
    """What a case says of a name, by itself and in each of its rows."""
    return [case.inputs.get(name), *(row.get(name) for row in case.rows.values() if name in row)]


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
