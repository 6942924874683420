"""A decision as a band: inputs as ranges, the result as a distribution, and which input moves it most."""
from typing import NamedTuple

from .break_even import owning_npv
from .explanation import evaluate, evaluate_all
from .law import MONTHS_PER_YEAR
from .owning import declining_residual, owned_usd_per_hour
from .price_book import ITEMS, price
from .renting import spot_usd_per_hour
from .tables import OF_PRICE, close

ENDS = ["low", "likely", "high"]


class Deal(NamedTuple):
    """What is decided on: `rows` of prices by item, None where the book has none, `ranges` of what varies, `fixed` values."""

    rows: dict
    ranges: object
    fixed: dict


def deal(book, gpu, assumptions, given, term="on-demand", provider=None, region=None, interruption_slowdown=1):
    """Owning a server of the GPU or renting it, from a price book and the `assumptions`, as a `Deal`.

    `given` holds values by name of quantity, in its unit; None and what is missing come from the book or the assumptions.
    Of several prices the cheapest is taken, for rents that of whole servers if there are any, for power the middle one: a
    site is not chosen by that alone. A server is sold with its part of the network if its SKU says so; else switches and
    cables come on top, unless the book has none. Work on spot is charged with its slowdown. A reservation is paid used or
    not; its rent stays if its term covers the years of use, else it is renewed as rents fall. Raises ValueError naming the
    parameter to give where the book lacks a price.
    """
    given = {name: value for name, value in given.items() if value is not None}
    server = _priced(book, given, "server", gpu=gpu, term="purchase")
    size = given.get("gpus_per_server", server.get("gpus_per_server"))
    if size is None:
        raise ValueError("parameter gpus_per_server: missing; a server_usd that is given needs the number of its GPUs")
    rent = _priced(book, given, "rent", gpus=size, gpu=gpu, term=term, provider=provider, region=region)
    rows = {"rent": rent, "server": server} | {item: _priced(book, given, item) for item in ("power", "hosting")}
    rows |= {item: _priced(book, given, item, needed=False) for item in ("switch", "cable")}
    fixed = {"gpus_per_server": size, "network_usd": 0}
    bundled = "network" in server.sku
    if given.get("network_ports", not bundled) and rows["switch"] is not None and rows["cable"] is not None:
        fixed = {"gpus_per_server": size, "network_ports": given.get("network_ports", size),
                 "network_tiers": given.get("network_tiers", 2), "usd_per_port": rows["switch"].usd_per_port,
                 "cable_usd": rows["cable"].cable_usd}
    likely = {name: value for name, value in given.items() if name in assumptions.index}
    likely |= {ITEMS[item].quantity: rows[item][ITEMS[item].quantity] for item in ("server", "power", "hosting")}
    limits = ranges(assumptions, **likely | {"usd_per_hour": spot_usd_per_hour(rent.usd_per_hour, interruption_slowdown)})
    if term.startswith("reserved"):
        fixed["committed"] = 1
        if limits.loc["years", "likely"] <= int(term.removeprefix("reserved-").removesuffix("y")):
            limits, fixed["rent_decline"] = limits.drop("rent_decline"), 0
    return Deal(rows, limits, fixed)


def _priced(book, given, item, needed=True, gpus=None, **wanted):
    """The row that prices the item, under the name that the laws know, or a row of the price given."""
    import pandas
    name = ITEMS[item].quantity
    if name in given:
        return pandas.Series({name: given[name], "provider": "given", "sku": "parameter"}, name=f"parameter {name}")
    if not needed and not (book["item"] == item).any():
        return None
    whole = book[(book["item"] == "rent") & (book["gpus"] == gpus)]
    for column, value in wanted.items():
        whole = whole if value is None else whole[whole[column] == value]
    try:
        row = price(book if whole.empty else whole, item, cheapest=True, **wanted)
    except ValueError as error:
        raise ValueError(f"{error}; or give the parameter {name}") from None
    if item == "power":
        there = book[book["item"] == item].sort_values("price", kind="stable")
        row = there.iloc[len(there) // 2].rename(f"{book.attrs['file']}, row {there.index[len(there) // 2]}")
    return row.drop(["gpus", "price"]) if item == "rent" else row.rename({"price": name, "gpus": "gpus_per_server"})


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
    rows = {}
    for name, unit, *ends in assumptions[["unit", *ENDS]].itertuples():
        given = likely.get(name)
        if not ends[0] <= ends[1] <= ends[2]:
            raise ValueError(f"range of {name}: low, likely, high are {ends}; allowed: low <= likely <= high")
        if unit != OF_PRICE:
            middle = ends[1] if given is None else given
            rows[name] = [min(ends[0], middle), middle, max(ends[2], middle)]
        elif given is not None:
            rows[name] = [given * factor for factor in ends]
    return pandas.DataFrame.from_dict(rows, orient="index", columns=ENDS, dtype=float)


def draws(ranges, count, seed=0):
    """`count` random values of every input, by name, each from a triangle over its range; the seed makes them repeatable.

    A triangle is what low, likely and high say and nothing more: no value outside, the likely one most often. A normal
    distribution would draw negative prices. Each input is drawn for itself, so what moves together (rents and what a used
    server sells for) is not tied: the true band is wider if such a pair moves the result the same way.
    """
    import numpy
    generator = numpy.random.default_rng(seed)
    drawn = {}
    for name, low, likely, high in ranges.itertuples(name=None):
        share = generator.random(count)
        rising, falling = (high - low) * (likely - low), (high - low) * (high - likely)
        below = share * (high - low) < likely - low
        root = numpy.sqrt(numpy.where(below, share * rising, (1 - share) * falling))
        drawn[name] = numpy.where(below, low + root, high - root)
    return drawn


def owned(law, *rows, years, depreciation_rate, **inputs):
    """Value of a law of owning or break-even; the residual follows from the years (year) and the share of value lost in each.

    Takes any of a deal's inputs, whether the law needs them or not.
    """
    residual = declining_residual(years, depreciation_rate)
    return evaluate(law, inputs | {"years": years, "residual": residual}, *rows)


def band(values, inside=0.9):
    """Low, middle and high: the share `inside` of the values lies between low and high, half of them below the middle.

    Each is one of the values, which may be infinite.
    """
    import numpy
    return numpy.quantile(values, [(1 - inside) / 2, 0.5, (1 + inside) / 2], method="inverted_cdf").tolist()


def probability(npv):
    """Share of the draws in which owning wins (fraction): those whose net present value is above 0."""
    return float((npv > 0).mean())


def tornado(law, ranges, *rows, **fixed):
    """The ranges with the law's value at each end, `at_low` and `at_high`, all others likely; the widest spread first."""
    likely = ranges["likely"].to_dict()
    swings = ranges.assign(**{f"at_{end}": [owned(law, *rows, **likely | {name: value}, **fixed)
                                            for name, value in ranges[end].items()] for end in ("low", "high")})
    return swings.iloc[(swings["at_high"] - swings["at_low"]).abs().argsort(kind="stable")[::-1]]


def turning_points(ranges, *rows, **fixed):
    """For each input the value in its range, the nearest to the likely one, at which the other of owning and renting wins.

    All others are likely. NaN where no value within the range does; found to a four-hundredth of the range.
    """
    import numpy
    likely, points = ranges["likely"].to_dict(), {}
    owning = owned(owning_npv, *rows, **likely, **fixed) > 0
    for name, low, middle, high in ranges.itertuples(name=None):
        grid = numpy.linspace(low, high, 401)
        other = grid[(owned(owning_npv, *rows, **likely | {name: grid}, **fixed) > 0) != owning]
        points[name] = min(other, key=lambda value: abs(value - middle), default=numpy.nan)
    return points


def rent_or_buy_map(drawn, utilizations, years, *rows, **fixed):
    """Probability that owning wins, `wins`, at each utilization and number of years, as a table.

    `drawn` are values of all other inputs, as `draws` gives them: every cell is judged by the same ones.
    """
    import numpy
    import pandas
    spans = {"utilization": numpy.asarray(utilizations)[:, None, None], "years": numpy.asarray(years)[None, :, None]}
    wins = (owned(owning_npv, *rows, **drawn | spans, **fixed) > 0).mean(axis=-1)
    cells = pandas.MultiIndex.from_product([utilizations, years], names=list(spans))
    return pandas.Series(wins.ravel(), cells, name="wins").reset_index()


def owned_parts(*rows, utilization, years, depreciation_rate, **inputs):
    """What makes up the cost of one owned GPU-hour that is used (USD per GPU-hour), by name; they add up to it."""
    values = inputs | {"utilization": utilization, "years": years, "residual": declining_residual(years, depreciation_rate)}
    of = values | evaluate_all([owned_usd_per_hour], values, *rows)
    hours, paid, power = of["offered_gpu_hours"] * utilization, of["paid_years"], of["power_usd_per_hour"]
    spares, idle = of.get("spare_share", 0), of.get("idle_power_share", 0)
    upkeep = of.get("support_share", 0) + of.get("repair_share", 0)
    once = of["bought_usd"] / (1 + spares)
    return {"server": of["server_usd"] / hours,
            "network": (once - of["server_usd"]) / hours,
            "spares": once * spares / hours,
            "sold at the end": -of["residual_usd"] / hours,
            "rack space": of["hosting_usd_per_month"] * MONTHS_PER_YEAR * (1 + spares) * paid / hours,
            "support and repairs": of["server_usd"] * upkeep * paid / hours,
            "staff": of.get("staff_usd_per_year", 0) * paid / hours,
            "power at work": power,
            "power while idle": power * idle * (1 / utilization - 1)}


def to_the_cent(amounts):
    """The amounts (USD) in whole cents such that they add up to their rounded sum."""
    import numpy
    return numpy.diff(numpy.round(numpy.cumsum([0, *amounts]), 2)).round(2).tolist()
