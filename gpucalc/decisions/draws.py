"""Inputs that are ranges: random values of them, those that move together drawn together, and a result as a band over them."""
import functools
import math
import zlib

from ..core.evaluate import close
from ..core.quantities import QUANTITIES
from ..rows.bands import INSIDE, Band
from ..rows.tables import OF_PRICE, rows

ENDS = ["low", "likely", "high"]
# A range over more than this factor is drawn in logarithms, else its low end would hardly ever come.
WIDE = 100
# So many draws at a time: their columns stay in the processor's cache.
_BLOCK = 1 << 15
# The normal distribution is tabulated to this many deviations, in so many steps each.
_FAR, _STEPS = 8, 256


def ranges(assumptions, **likely):
    """Low, likely and high of every input, by quantity: the rows of `assumptions`, around the values in `likely`.

    A row `of the price` holds factors on the value in `likely` and is left out where there is none. Of any other row the
    value in `likely` replaces the likely one, and widens the range if it lies outside. Raises ValueError for a value whose
    name has no row, or a range that is out of order.
    """
    import pandas
    unknown = [name for name in likely if name not in assumptions.index]
    if unknown:
        raise ValueError(f"no range for {unknown[0]}{close(unknown[0], assumptions.index)}; "
                         f"there is one for {', '.join(assumptions.index)}")
    held = {}
    for name, unit, *ends in assumptions[["unit", *ENDS]].itertuples():
        given = likely.get(name)
        if not ends[0] <= ends[1] <= ends[2]:
            raise ValueError(f"range of {name}: low, likely, high are {ends}; allowed: low <= likely <= high")
        if unit != OF_PRICE:
            middle = ends[1] if given is None else given
            held[name] = [min(ends[0], middle), middle, max(ends[2], middle)]
        elif given is not None:
            held[name] = [given * factor for factor in ends]
    return pandas.DataFrame.from_dict(held, orient="index", columns=ENDS, dtype=float)


def draws(ranges, count, seed=0, tied=None):
    """`count` random values of every input, by name, each from a triangle over its range; the seed makes them repeatable.

    A triangle is what low, likely and high say and nothing more: no value outside, the likely one most often. A normal
    distribution would draw negative prices. A very wide range is one of logarithms. What moves together is drawn together: `tied`
    holds for a quantity the `other` that it follows and the `correlation` of the two normal variables behind them (default:
    data/correlations.csv). An input's own chance depends on its name and the seed alone, not on what else is drawn.
    """
    import numpy
    drawn, spans = {name: numpy.empty(count) for name in ranges.index}, _spans(ranges)
    for name, start, share in _shares(list(ranges.index), count, seed, tied):
        drawn[name][start:start + len(share)] = _triangle(share, *spans[name])
    return drawn


def even_shares(names, count, seed=0, tied=None):
    """The shares below which `count` values of every input lie, by name: evenly spaced, in the order of its `draws`.

    What moves together still does, and means settle with far fewer values. McKay et al. 1979 (doi 10.2307/1268522).
    """
    import numpy
    found = {name: numpy.empty(count) for name in names}
    for name, start, share in _shares(list(names), count, seed, tied):
        found[name][start:start + len(share)] = share
    return {name: (share.argsort(kind="stable").argsort(kind="stable") + 0.5) / count for name, share in found.items()}


def at_shares(ranges, shares):
    """The value of every input, by name, below which such shares of its triangle lie, as `draws` has them."""
    return {name: _triangle(shares[name], *span) for name, span in _spans(ranges).items()}


def _shares(names, count, seed, tied):
    """Random shares of every input as name, place and values, some at a time; `tied` and `seed` as in `draws`."""
    import numpy
    tied = rows("correlations") if tied is None else tied
    followed = {name: tied[name] for name in names if name in tied and tied[name]["other"] in names}
    linked = {*followed, *(row["other"] for row in followed.values())}
    chance = {name: numpy.random.default_rng([seed, zlib.crc32(name.encode())]) for name in names}
    for start in range(0, count, _BLOCK):
        size, normal = min(_BLOCK, count - start), {}
        for name, generator in chance.items():
            if name in linked:
                normal[name] = generator.standard_normal(size)
        for name in names:
            yield name, start, _below(_moved(name, normal, followed)) if name in linked else chance[name].random(size)


def _moved(name, normal, followed):
    """The normal variable of an input: its own, or as much of the one it follows as they have in common."""
    if name not in followed:
        return normal[name]
    other, common = followed[name]["other"], followed[name]["correlation"]
    return common * _moved(other, normal, followed) + math.sqrt(1 - common ** 2) * normal[name]


def _below(normal):
    """Share of a normal distribution below each value."""
    import numpy
    table = _normal_table()
    place = (numpy.clip(normal, -_FAR, _FAR) + _FAR) * _STEPS
    cell = numpy.minimum(place.astype(numpy.int32), len(table) - 2)
    return table[cell] + (place - cell) * (table[cell + 1] - table[cell])


@functools.cache
def _normal_table():
    import numpy
    return numpy.array([0.5 + math.erf((step / _STEPS - _FAR) / math.sqrt(2)) / 2 for step in range(2 * _FAR * _STEPS + 1)])


def _spans(ranges):
    """The ends of every range as a triangle has them, and whether it is one of logarithms."""
    return {name: (*map(math.log, ends), True) if ends[0] > 0 and ends[2] > WIDE * ends[0] else (*ends, False)
            for name, *ends in ranges.itertuples()}


def _triangle(share, low, likely, high, logarithms):
    """The values of a triangle below which such shares of it lie."""
    import numpy
    wide = high - low
    below = share * wide < likely - low
    root = numpy.sqrt(numpy.where(below, share * (wide * (likely - low)), (1 - share) * (wide * (high - likely))))
    values = numpy.where(below, low + root, high - root)
    return numpy.exp(values) if logarithms else values


def outcomes(law, case, drawn):
    """The law's value for the case at every draw, as a column."""
    import numpy
    count = min(map(len, drawn.values()))
    made = [case.but(**{name: column[start:start + _BLOCK] for name, column in drawn.items()})(law)
            for start in range(0, count, _BLOCK)]
    return numpy.concatenate([numpy.broadcast_to(values, min(_BLOCK, count - place * _BLOCK))
                              for place, values in enumerate(made)])


def band(values, inside=INSIDE):
    """Low, middle and high: the share `inside` of the values lies between low and high, half of them below the middle.

    Each is one of the values, which may be infinite.
    """
    import numpy
    return numpy.quantile(values, [(1 - inside) / 2, 0.5, (1 + inside) / 2], method="inverted_cdf").tolist()


def drawn_band(law, case, drawn):
    """The law's `Band` over the draws: its value with all inputs likely, the middle draw to plan for, eight in ten between."""
    values = outcomes(law, case, drawn)
    low, middle, high = band(values)
    return Band(low, middle, high, case(law), None, len(values), 1, "draws", QUANTITIES[law.__name__].unit)
