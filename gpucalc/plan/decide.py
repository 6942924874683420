"""A decision as a band: inputs as ranges, the result as a distribution, and which input moves it most."""
from typing import NamedTuple

from ..laws.break_even import break_even_utilization, owning_npv
from ..core.arithmetic import MONTHS_PER_YEAR
from ..core.evaluate import Case, Row, close
from ..core.quantities import QUANTITIES
from ..laws.owning import declining_residual, owned_usd_per_hour
from ..rows.bands import CLOSE, INSIDE, Band
from ..rows.price_book import ITEMS, RESERVED_YEARS, cheapest_first, price, price_row, select
from ..rows.rents import cheapest_rent
from ..laws.renting import spot_usd_per_hour
from ..rows.tables import OF_PRICE

ENDS = ["low", "likely", "high"]
# What wins in no larger share of the draws than this is too close to call: as with every band of this book, which holds eight
# cases in ten, a verdict may be wrong in two of ten and not more.
SURE = INSIDE


class Deal(NamedTuple):
    """What is decided on: `rows` of prices by item, None where the book has none, `ranges` of what varies, `fixed` values."""

    rows: dict
    ranges: object
    fixed: dict

    def case(self, *rows):
        """The case of all likely values with their sources: the prices' own rows, what is fixed, the ranges, and `rows`."""
        likely = Row(self.ranges["likely"].to_dict(), "data/assumptions.csv or parameter")
        fixed = Row(self.fixed, "parameter or price book")
        priced = [row for row in self.rows.values() if row is not None]
        changed = {name: row for row in (likely, fixed) for name, value in row.items()
                   if any(name in other and other[name] != value for other in priced)}
        if "usd_per_hour" in changed:
            slowed = f"{self.rows['rent'].name}, times its slowdown"
            changed["usd_per_hour"] = Row({"usd_per_hour": likely.usd_per_hour}, slowed)
        return owning_case(*priced, fixed, likely, *rows, **changed)


def deal(book, gpu, assumptions, given, term="on-demand", provider=None, region=None, interruption_slowdown=1):
    """Owning a server of the GPU or renting it, from a price book and the `assumptions`, as a `Deal`.

    `given` holds values by name of quantity, in its unit; None and what is missing come from the book or the assumptions.
    Of several prices the cheapest is taken, for rents that of whole servers if there are any, for power the middle one.
    Switches and cables come on top of a server that does not include its network, unless the book has none. Work on spot is
    charged with its slowdown. A reservation is paid used or not; its rent stays if its term covers the years of use, else it
    is renewed as rents fall. Raises ValueError naming the parameter to give where the book lacks a price.
    """
    given = {name: value for name, value in given.items() if value is not None}
    server = _priced(book, given, "server", _cheapest, gpu=gpu, term="purchase")
    size = given.get("gpus_per_server", server.get("gpus_per_server"))
    if size is None:
        raise ValueError("parameter gpus_per_server: missing; a server_usd that is given needs the number of its GPUs")
    rent = _priced(book, given, "rent", _cheapest_hour, whole=size, gpu=gpu, term=term, provider=provider, region=region)
    rows = {"rent": rent, "server": server, "power": _priced(book, given, "power", _middle),
            "hosting": _priced(book, given, "hosting", _cheapest)}
    rows |= {item: _priced(book, given, item, _cheapest) if _is_priced(book, given, item) else None
             for item in ("switch", "cable")}
    likely = {name: value for name, value in given.items() if name in assumptions.index}
    likely |= {ITEMS[item].quantity: rows[item][ITEMS[item].quantity] for item in ("server", "power", "hosting")}
    limits = ranges(assumptions, **likely | {"usd_per_hour": spot_usd_per_hour(rent.usd_per_hour, interruption_slowdown)})
    fixed = {"gpus_per_server": size} | _network(rows, given, size)
    if term in RESERVED_YEARS:
        fixed["committed"] = 1
        if limits.loc["years", "likely"] <= RESERVED_YEARS[term]:
            limits, fixed["rent_decline"] = limits.drop("rent_decline"), 0
    return Deal(rows, limits, fixed)


def _network(rows, given, size):
    """What a server's part of the network costs beside it: nothing if its price includes it or nobody prices one."""
    ports = given.get("network_ports", 0 if rows["server"].get("includes") == "network" else size)
    if not ports or rows["switch"] is None or rows["cable"] is None:
        return {"network_usd": 0}
    return {"network_ports": ports, "network_tiers": given.get("network_tiers", 2),
            "usd_per_port": rows["switch"].usd_per_port, "cable_usd": rows["cable"].cable_usd}


def _is_priced(book, given, item):
    return ITEMS[item].quantity in given or (book["item"] == item).any()


def _priced(book, given, item, choice, **wanted):
    """The row that prices the item, under the name that the laws know: the parameter given, else the choice from the book."""
    name = ITEMS[item].quantity
    if name in given:
        return Row({name: given[name], "provider": "given", "sku": "parameter"}, f"parameter {name}")
    try:
        return choice(book, item, **wanted)
    except ValueError as error:
        raise ValueError(f"{error}; or give the parameter {name}") from None


def _cheapest(book, item, **wanted):
    return price(book, item, cheapest=True, **wanted)


def _cheapest_hour(book, item, **wanted):
    return cheapest_rent(book, **wanted)


def _middle(book, item):
    """The middle of the prices in order: a site is not chosen by its power alone, so the cheapest is not what is paid."""
    found = cheapest_first(select(book, item=item))
    return price_row(found.iloc[len(found) // 2])


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


def owning_case(*rows, **inputs):
    """The case of owning or renting; the residual follows from the years (year) and the share of value lost in each."""
    return Case(*rows, **{"residual": declining_residual} | inputs)


def owned(law, *rows, **inputs):
    """Value of a law of owning or break-even in the `owning_case`, for a deal's inputs and rows such as the GPU."""
    return owning_case(*rows, **inputs)(law)


def band(values, inside=INSIDE):
    """Low, middle and high: the share `inside` of the values lies between low and high, half of them below the middle.

    Each is one of the values, which may be infinite.
    """
    import numpy
    return numpy.quantile(values, [(1 - inside) / 2, 0.5, (1 + inside) / 2], method="inverted_cdf").tolist()


def drawn_band(law, case, drawn):
    """The law's `Band` over the draws: its value with all inputs likely, the middle draw to plan for, eight in ten between."""
    values = case.but(**drawn)(law)
    low, middle, high = band(values)
    return Band(low, middle, high, case(law), None, len(values), 1, "draws", QUANTITIES[law.__name__].unit)


def probability(npv):
    """Share of the draws in which owning wins (fraction): those whose net present value is above 0."""
    return float((npv > 0).mean())


def winner(wins, own="owning", rent="renting"):
    """What is cheaper if owning wins in the share `wins` of the draws: too close to call unless one wins in more than `SURE`."""
    return own if wins > SURE else rent if wins < 1 - SURE else CLOSE


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


def decision_map(deal, drawn, *rows, rent=None):
    """`rent_or_buy_map` of a deal from 5 % utilization and one year on, by its first 500 draws; `rent` replaces the likely one
    (USD per GPU-hour)."""
    few = {name: column[:500] for name, column in drawn.items() if name not in ("utilization", "years")}
    if rent is not None:
        few["usd_per_hour"] = few["usd_per_hour"] / deal.ranges.loc["usd_per_hour", "likely"] * rent
    return rent_or_buy_map(few, [step / 20 for step in range(1, 21)], list(range(1, 9)), *rows, **deal.fixed)


def owned_parts(*rows, **inputs):
    """What makes up the cost of one owned GPU-hour that is used (USD per GPU-hour), by name; they add up to it."""
    made = owning_case(*rows, **inputs).explain(owned_usd_per_hour)
    of = {each.name: each.value for each in made.inputs} | made.terms
    utilization = of["utilization"]
    hours, paid, power = of["offered_gpu_hours"] * utilization, of["paid_years"], of["power_usd_per_hour"]
    spares, idle = of["spare_share"], of["idle_power_share"]
    upkeep = of["support_share"] + of["repair_share"]
    once = of["bought_usd"] / (1 + spares)
    return {"server": of["server_usd"] / hours,
            "network": (once - of["server_usd"]) / hours,
            "spares": once * spares / hours,
            "sold at the end": -of["residual_usd"] / hours,
            "rack space": of["hosting_usd_per_month"] * MONTHS_PER_YEAR * (1 + spares) * paid / hours,
            "support and repairs": of["server_usd"] * upkeep * paid / hours,
            "staff": of["staff_usd_per_year"] * paid / hours,
            "power at work": power,
            "power while idle": power * idle * (1 / utilization - 1)}


# What the owned hour of the cards alone leaves out, and the order in which it is added.
NOTHING = {"network_usd": 0, "spare_share": 0, "hosting_usd_per_month": 0, "usd_per_kwh": 0, "staff_usd_per_year": 0,
           "support_share": 0, "repair_share": 0, "depreciation_rate": 1, "discount_rate": 0, "lead_months": 0, "ramp_months": 0,
           "availability": 1, "rent_decline": 0}
STEPS = {"whole server": ["server_usd"], "network": ["network_usd"], "spare servers": ["spare_share"],
         "hosting and power": ["hosting_usd_per_month", "usd_per_kwh"],
         "staff, support, repairs": ["staff_usd_per_year", "support_share", "repair_share"],
         "resale at the end": ["depreciation_rate"], "cost of capital": ["discount_rate"],
         "waiting for delivery, ramp-up": ["lead_months", "ramp_months"], "hours out of order": ["availability"],
         "rents that change": ["rent_decline"]}


def ladder(case, cards=None, network=True):
    """The owned hour and its break-even as one thing after the other is counted, from the cards alone to all of the case.

    cards: price of a server's cards (USD); None starts from the whole server. network: it is bought on top of the server.
    """
    import pandas
    left = NOTHING if cards is None else NOTHING | {"server_usd": cards}
    stairs = [] if cards is None else [("the cards alone", left)]
    for name, added in STEPS.items():
        if network or name != "network":
            left = {each: value for each, value in left.items() if each not in added}
            stairs.append((name, left))
    return pandas.DataFrame([{"counted": name, "owned": case.but(**left)(owned_usd_per_hour),
                              "needed": case.but(**left)(break_even_utilization)} for name, left in stairs])


def cards_usd(book, gpu, count):
    """Price of so many new cards of the GPU (USD); None if the book has none."""
    try:
        return price(book, "card", gpu=gpu, term="purchase", cheapest=True).price * count
    except ValueError:
        return None


def to_the_cent(amounts):
    """The amounts (USD) in whole cents such that they add up to their rounded sum."""
    import numpy
    return numpy.diff(numpy.round(numpy.cumsum([0, *amounts]), 2)).round(2).tolist()
