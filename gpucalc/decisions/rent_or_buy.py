"""Rent or buy: the deal that a book offers, ranges of its inputs drawn together, the verdict and what turns it."""
import functools
import math
import zlib
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arithmetic import MONTHS_PER_YEAR
from ..core.evaluate import Case, close, Row
from ..core.figures import number
from ..core.quantities import QUANTITIES
from ..laws.break_even import break_even_utilization, owning_npv
from ..laws.owning import declining_residual, fixed_usd_per_hour, owned_usd_per_hour, rack_usd_per_month, work_usd_per_hour
from ..laws.renting import level_usd_per_hour
from ..rows import catalogue
from ..rows.ages import day, firm, SOLD_DAYS, SOLD_YEARS as SOLD_YEARS
from ..rows.bands import Band, INSIDE
from ..rows.price_book import cheapest_first, ITEMS, MissingPrice, price, price_row, RESERVED_YEARS, select, TIES
from ..rows.rents import cheapest_rent, doubtful, rents
from ..rows.tables import OF_PRICE, rows
from .jobs import USUAL_TERM
from .market import wanted
from .points import value_of


# Inputs that are ranges: random values of them, those that move together drawn together, and a result as a band over them.

ENDS = ["low", "likely", "high"]
# A range over more than this factor is drawn in logarithms, else its low end would hardly ever come.
WIDE = 100
# So many draws at a time: their columns stay in the processor's cache.
_BLOCK = 1 << 15


def ranges(assumptions, **likely):
    """Low, likely and high of every input, by quantity: the rows of `assumptions`, around the values in `likely`.

    A row `of the price` holds factors on the value in `likely` and is left out where there is none. Of any other row the
    value in `likely` replaces the likely one, and widens the range if it lies outside. Raises ValueError for a value whose
    name has no row, or a range that is out of order.
    """
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
    return pd.DataFrame.from_dict(held, orient="index", columns=ENDS, dtype=float)


def draws(ranges, count):
    """`count` values of every input, by name, each from a triangle over its range.

    A triangle is what low, likely and high say and nothing more: no value outside, the likely one most often. A normal
    distribution would draw negative prices. A very wide range is one of logarithms.
    """
    return at_shares(ranges, even_shares(ranges.index, count))


def even_shares(names, count):
    """The shares below which `count` values of every input lie, by name: evenly spaced, in a random order, always the same.

    So spaced, means settle with far fewer values than random ones: McKay et al. 1979 (doi 10.2307/1268522). What moves together
    is drawn together: data/correlations.csv has the `correlation` of the two normal variables behind an input and the `other`
    that it follows. An input's order depends on its name alone, not on what else is drawn.
    """
    followed = {name: row for name, row in rows("correlations").items() if {name, row["other"]} <= {*names}}
    linked = {*followed, *(row["other"] for row in followed.values())}
    chance = {name: np.random.default_rng([0, zlib.crc32(name.encode())]) for name in names}
    normal = {name: chance[name].standard_normal(count) for name in names if name in linked}
    drawn = {name: _moved(name, normal, followed) if name in linked else chance[name].random(count) for name in names}
    return {name: (values.argsort(kind="stable").argsort(kind="stable") + 0.5) / count for name, values in drawn.items()}


def at_shares(ranges, shares):
    """The value of every input, by name, below which such shares of its triangle lie."""
    return {name: _triangle(shares[name], *span) for name, span in _spans(ranges).items()}


def _moved(name, normal, followed):
    """The normal variable of an input: its own, or as much of the one it follows as they have in common."""
    if name not in followed:
        return normal[name]
    other, common = followed[name]["other"], followed[name]["correlation"]
    return common * _moved(other, normal, followed) + math.sqrt(1 - common ** 2) * normal[name]


def _spans(ranges):
    """The ends of every range as a triangle has them, and whether it is one of logarithms."""
    return {name: (*map(math.log, ends), True) if ends[0] > 0 and ends[2] > WIDE * ends[0] else (*ends, False)
            for name, *ends in ranges.itertuples()}


def _triangle(share, low, likely, high, logarithms):
    """The values of a triangle below which such shares of it lie."""
    wide = high - low
    below = share * wide < likely - low
    root = np.sqrt(np.where(below, share * (wide * (likely - low)), (1 - share) * (wide * (high - likely))))
    values = np.where(below, low + root, high - root)
    return np.exp(values) if logarithms else values


def outcomes(law, case, drawn):
    """The law's value for the case at every draw, as a column."""
    count = min(map(len, drawn.values()))
    made = [case.but(**{name: column[start:start + _BLOCK] for name, column in drawn.items()})(law)
            for start in range(0, count, _BLOCK)]
    return np.concatenate([np.broadcast_to(values, min(_BLOCK, count - place * _BLOCK))
                              for place, values in enumerate(made)])


def band(values, inside=INSIDE):
    """Low, middle and high: the share `inside` of the values lies between low and high, half of them below the middle.

    Each is one of the values, which may be infinite.
    """
    return np.quantile(values, [(1 - inside) / 2, 0.5, (1 + inside) / 2], method="inverted_cdf").tolist()


def drawn_band(law, case, drawn):
    """The law's `Band` over the draws: its value with all inputs likely, the middle draw to plan for, eight in ten between."""
    values = outcomes(law, case, drawn)
    low, middle, high = band(values)
    return Band(low, middle, high, case(law), None, len(values), 1, "draws", QUANTITIES[law.__name__].unit)


# Owning a server or renting one, as data: the prices of a book, the ranges of all other inputs, and what is fixed.

# The share of the answer from which on a price is said to move it.
MOVING = 0.05
# What spot has beyond any other rent.
STOPS = ["machine_interruption_seconds", "checkpoint_seconds", "restart_seconds"]


class Deal(NamedTuple):
    """What is decided on: `rows` of prices by item, None where the book has none, `ranges` of what varies, `fixed` values.

    doubt: rows of the servers that stand in where the book has no firm price of the last years, the cheapest GPU first.
    """

    rows: dict
    ranges: Any
    fixed: dict
    doubt: Any

    @property
    def likely(self) -> dict[str, float]:
        """The likely values of what varies."""
        return self.ranges["likely"].to_dict()

    def case(self, *rows):
        """The case of all likely values with their sources: the prices' own rows, what is fixed, the ranges, and `rows`."""
        likely = Row(self.likely, "data/assumptions.csv or parameter")
        fixed = Row(self.fixed, "parameter or price book")
        priced = [row for row in self.rows.values() if row is not None]
        changed = {name: row for row in (likely, fixed) for name, value in row.items()
                   if any(name in other and other[name] != value for other in priced)}
        return owning_case(*priced, fixed, likely, *rows, **changed)


def deciding(deal: Deal, card: Row) -> list[Row]:
    """The rows of prices that move the answer: the rent, and those that make up over 5 % of an owned hour, which is in proportion
    to each of them."""
    case, found, values = deal.case(card), [deal.rows["rent"]], deal.likely | deal.fixed
    hour = case(owned_usd_per_hour)
    for item, row in deal.rows.items():
        name = ITEMS[item].quantity
        if item != "rent" and row is not None and name in values:
            dearer = case.but(**{name: 1.1 * values[name]})(owned_usd_per_hour)
            found += [row] if 10 * (dearer / hour - 1) > MOVING else []
    return found


def owning_case(*rows, **inputs):
    """The case of owning or renting; the residual follows from the years (year) and the share of value lost in each."""
    return Case(*rows, **{"residual": declining_residual} | inputs)


def deal(book, gpu, assumptions, given, term="on-demand", provider=None, region=None):
    """Owning a server of the GPU or renting it, from a price book and the `assumptions`, as a `Deal`.

    `given` holds values by name of quantity, in its unit; None and what is missing come from the book or the assumptions.
    Rows that are not `firm` count only where no other does. Of several rents and servers the cheapest for each GPU is taken, a
    server only if its price is of the last years; where none is, those there are stand in, and `doubt` has them. Power and rack
    space by the kilowatt are the middle ones. Switches and cables come on top of a server that does not include its network,
    unless the book has none. Work on spot is slowed by its interruptions. A reservation is paid used or not; its rent stays if
    its term covers the years of use, else it is renewed as rents fall. Raises MissingPrice naming the parameter to give where
    the book lacks a price.
    """
    given = {name: value for name, value in given.items() if value is not None}
    servers = _servers(book, given, gpu)
    server = servers[0]
    size = given.get("gpus_per_server", server.get("gpus_per_server"))
    if size is None:
        raise ValueError("parameter gpus_per_server: missing; give the GPUs of the server that server_usd pays for, such as 8")
    rent = _priced(book, given, "rent", _cheapest_hour, whole=size, gpu=gpu, term=term, provider=provider, region=region)
    rows = {"rent": rent, "server": server, "power": _priced(book, given, "power", _middle),
            "hosting": _priced(book, given, "hosting", _rack, gpu=gpu, size=size)}
    rows |= {item: _priced(book, given, item, _cheapest) if _is_priced(book, given, item) else None
             for item in ("switch", "cable")}
    likely = {name: value for name, value in given.items() if name in assumptions.index}
    likely |= {ITEMS[item].quantity: rows[item][ITEMS[item].quantity] for item in ("rent", "server", "power", "hosting")}
    limits = ranges(assumptions, **likely)
    fixed = {"gpus_per_server": size} | _network(rows, given, size)
    fixed |= _interruptions(given, term)
    if term in RESERVED_YEARS:
        fixed["committed"] = 1
        if limits.loc["years", "likely"] <= RESERVED_YEARS[term]:
            limits, fixed["rent_decline"] = limits.drop("rent_decline"), 0
    made = Deal(rows, limits, fixed, [] if is_current(book, server) else servers)
    taken = {each.name for each in made.case(catalogue.gpu(gpu)).explain(owning_npv).inputs}
    return made._replace(ranges=limits[limits.index.isin(taken)])


def _interruptions(given, term):
    """What an hour of rent takes by its interruptions: nothing, a slowdown that is given, or that of one machine by Daly."""
    if "interruption_slowdown" in given:
        return {"rented_usd_per_hour": "spot_usd_per_hour", "interruption_slowdown": given["interruption_slowdown"]}
    if term != "spot":
        return {}
    return {"rented_usd_per_hour": "spot_usd_per_hour", "machines": 1, "interruption_seconds": "group_interruption_seconds"}


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
        raise MissingPrice(f"{error}; or give the parameter {name}") from None


def _servers(book, given, gpu):
    """The server to buy; if its price is not one to decide by, after it all that may stand for it."""
    if "server_usd" in given:
        return [_priced(book, given, "server", None)]
    try:
        found = select(book, item="server", gpu=gpu)
    except ValueError as error:
        raise MissingPrice(f"{error}; or give the parameter server_usd") from None
    rows = server_rows(found)
    current = [row for row in rows if is_current(book, row)]
    return current[:1] or rows


def server_rows(found):
    """The servers of a book as rows for a case, the cheapest GPU first, used ones last."""
    each = found["price"] / found["gpus_per_server"]
    order = found.assign(each=each, used=found["term"].eq("used")).sort_values(["used", "each", *TIES], kind="stable").index
    return [price_row(row) for _, row in found.loc[order].iterrows()]


def is_current(book, server):
    """Whether a server's price may decide: firm, and given, the reader's own, of a used one or of the last years."""
    if "date" not in server or server.yours:
        return True
    age = (day(book.attrs["date"]) - day(server.date)).days
    return server.confidence == "seen" and (server.term == "used" or age <= SOLD_DAYS)


def _cheapest(book, item):
    return price_row(cheapest_first(_sure(select(book, item=item))).iloc[0])


def _cheapest_hour(book, item, **wanted):
    return cheapest_rent(book, **wanted)


def _sure(found):
    """The firm rows, or all where none is."""
    return found[firm(found)] if firm(found).any() else found


def _middle(book, item):
    """The middle of the prices in order: a site is not chosen by its power alone, so the cheapest is not what is paid."""
    found = cheapest_first(_sure(select(book, item=item)))
    return price_row(found.iloc[len(found) // 2])


def _rack(book, item, gpu, size):
    """Rack space of a server a month: by the kilowatt of its data sheet, unless only a price for a whole server is there.

    A price of the reader's own goes before one that is not.
    """
    by_server, by_power = (book[book["item"] == name] for name in ("hosting", "hosting-power"))
    if by_power.empty or by_server["yours"].any() and not by_power["yours"].any():
        return _cheapest(book, "hosting")
    found = _middle(book, "hosting-power")
    server = Case(found, catalogue.gpu(gpu), gpus_per_server=size)
    kilowatts = number(server.but(hosting_usd_per_kw_month=1)(rack_usd_per_month))
    return Row(found | {"hosting_usd_per_month": server(rack_usd_per_month)}, f"{found.name}, for {kilowatts} kW", found.kind)


# Rent or own: the verdict of the draws, which input moves it most, and what an owned hour is made of.

# A verdict that wins in no larger share of the draws than this is not sure: as with every band of this book, which holds eight
# cases in ten, it may be wrong in two of ten and not more.
SURE = INSIDE


def owned(law, *rows, **inputs):
    """Value of a law of owning or break-even in the `owning_case`, for a deal's inputs and rows such as the GPU."""
    return owning_case(*rows, **inputs)(law)


class Verdict(NamedTuple):
    """What draws say: which is `cheaper` by their `mean` (USD a server, above 0 for owning), and whether that is `sure`.

    `chance` is that of owning to win; eight in ten draws lie between `low` and `high`.
    """

    cheaper: str
    sure: bool
    chance: float
    mean: float
    low: float
    high: float


def verdict(gains, sure=SURE):
    """The one rule of rent or own: what costs less on average over the draws of owning's net present value is cheaper.

    It is sure if it also wins in more than the share `sure` of them; a mean of a few large gains over many small losses is not.
    """
    chance, mean = probability(gains), float(gains.mean())
    low, _, high = band(gains)
    own = mean > 0
    return Verdict("owning" if own else "renting", chance > sure if own else chance < 1 - sure, chance, mean, low, high)


def even_rent(deal, case, drawn):
    """The rent today, as a book states it, at which owning is worth nothing on average over the draws (USD per GPU-hour).

    What owning is worth rises evenly with the rent, so two means give it. Below 0: owning wins without any rent.
    """
    gains, more = (outcomes(owning_npv, case, drawn | {"usd_per_hour": drawn["usd_per_hour"] * times}).mean() for times in (1, 2))
    return float(deal.ranges.loc["usd_per_hour", "likely"] * (1 - gains / (more - gains)))


def at_stand_ins(deal, case, drawn, sure=SURE):
    """The `verdict` at the cheapest and the dearest GPU of the servers that stand in, as pairs of row and verdict."""
    size, likely, found = deal.fixed["gpus_per_server"], deal.ranges.loc["server_usd", "likely"], []
    order = sorted(deal.doubt, key=lambda server: server.server_usd / server.gpus_per_server)
    for server in order[:1] + order[1:][-1:]:
        factor = server.server_usd / server.gpus_per_server * size / likely
        found.append((server, verdict(outcomes(owning_npv, case, drawn | {"server_usd": drawn["server_usd"] * factor}), sure)))
    return found


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
    likely, points = ranges["likely"].to_dict(), {}
    owning = owned(owning_npv, *rows, **likely, **fixed) > 0
    for name, low, middle, high in ranges.itertuples(name=None):
        grid = np.linspace(low, high, 401)
        other = grid[(owned(owning_npv, *rows, **likely | {name: grid}, **fixed) > 0) != owning]
        points[name] = min(other, key=lambda value: abs(value - middle), default=np.nan)
    return points


def rent_or_buy_map(drawn, utilizations, years, *rows, **fixed):
    """Probability that owning wins, `wins`, at each utilization and number of years, as a table.

    `drawn` are values of all other inputs, as `draws` gives them: every cell is judged by the same ones.
    """
    spans = {"utilization": np.asarray(utilizations)[:, None, None], "years": np.asarray(years)[None, :, None]}
    wins = (owned(owning_npv, *rows, **drawn | spans, **fixed) > 0).mean(axis=-1)
    cells = pd.MultiIndex.from_product([utilizations, years], names=list(spans))
    return pd.Series(wins.ravel(), cells, name="wins").reset_index()


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
    upkeep = of["support_share"] * (1 + spares) + of["repair_share"]
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
    left = NOTHING if cards is None else NOTHING | {"server_usd": cards}
    stairs = [] if cards is None else [("the cards alone", left)]
    for name, added in STEPS.items():
        if network or name != "network":
            left = {each: value for each, value in left.items() if each not in added}
            stairs.append((name, left))
    return pd.DataFrame([{"counted": name, "owned": case.but(**left)(owned_usd_per_hour),
                              "needed": case.but(**left)(break_even_utilization)} for name, left in stairs])


def cards_usd(book, gpu, count):
    """Price of so many new cards of the GPU (USD); None if the book has none."""
    try:
        return price(book, "card", gpu=gpu, term="purchase", cheapest=True).price * count
    except ValueError:
        return None


def to_the_cent(amounts):
    """The amounts (USD) in whole cents such that they add up to their rounded sum."""
    return np.diff(np.round(np.cumsum([0, *amounts]), 2)).round(2).tolist()


# Rent or buy, as a decision: the case of a GPU in, and out what costs less, how sure that is and what would turn it.
#
# The browser answers the same from the same draws (book/static/owning.js). The draws are few and evenly spaced.

DRAWS = 1000


class RentOrBuy(NamedTuple):
    """What a case of rent_or_buy comes to. Where the book has no price for it, `lacks` names the one to give; the rest is None.

    verdict: of the draws, in USD a server. needed: the break-even utilization (ratio), None on a commitment, which is paid used
    or not. owned, rented: an hour that is used (USD per GPU-hour); paid: one that is rented, used or not; fixed: one that is
    offered, used or not; work: what an hour of work costs beyond that; rents are averages over the years. even_rent: today's rent
    at which both cost the same on average (USD per GPU-hour). turns: of each input the value at which the other wins, NaN where
    none in its range does. stand_ins: the verdict at the cheapest and the dearest server, as pairs of row and verdict, where
    there is no firm price of the last years. cheaper: the cheapest rent below that of the deal that is not firm, a row of the
    book; None where there is none.
    """

    lacks: str
    deal: Deal | None = None
    verdict: Verdict | None = None
    needed: Band | None = None
    owned: Band | None = None
    rented: Band | None = None
    paid: Band | None = None
    fixed: Band | None = None
    work: float | None = None
    even_rent: float | None = None
    turns: dict[str, float] | None = None
    stand_ins: list[tuple[Row, Verdict]] | None = None
    cheaper: Any = None


def rent_or_buy(case: Case, book: pd.DataFrame) -> RentOrBuy:
    """The answer to a case of a `gpu`, by the prices of a book.

    The case may have a provider, a region, a term (default: on demand), `gpus_per_server`, `sure`, and any quantity of
    data/assumptions.csv, such as utilization, years, usd_per_hour and server_usd. Raises ValueError for what is not allowed.
    """
    card, given, choice = case.rows["gpu"], _given(case), _choice(case)
    book = _of_size(book, card.name, given)
    if lacks := _lacking(book, card.name, given, choice):
        return RentOrBuy(lacks)
    kept = deal(book, card.name, catalogue.assumptions(), given, **choice)
    held, drawn = kept.case(card), at_shares(kept.ranges, shares())
    sure = given_value(case, "sure", INSIDE)
    needed, owned, rented, fixed = (drawn_band(law, held, drawn) for law in (
        break_even_utilization, owned_usd_per_hour, level_usd_per_hour, fixed_usd_per_hour))
    paid = drawn_band(level_usd_per_hour, held.but(committed=0), drawn) if "committed" in kept.fixed else rented
    rumours = doubtful(book, kept.rows["rent"], gpu=card.name, **choice)
    return RentOrBuy(
        "", kept, verdict(outcomes(owning_npv, held, drawn), sure), None if "committed" in kept.fixed else needed,
        owned, rented, paid, fixed, held(work_usd_per_hour), even_rent(kept, held, drawn),
        turning_points(kept.ranges, card, **kept.fixed), at_stand_ins(kept, held, drawn, sure),
        rumours.iloc[0] if len(rumours) and "usd_per_hour" not in given else None)


@functools.cache
def shares() -> dict[str, Any]:
    """The shares of the `DRAWS` values of every input of data/assumptions.csv, by name."""
    return even_shares(catalogue.assumptions().index, DRAWS)


def _given(case):
    """What the case gives of a deal, as numbers."""
    names = ("gpus_per_server", *catalogue.assumptions().index)
    return {name: given_value(case, name) for name in names if name in case.inputs}


def given_value(case: Case, name: str, otherwise: Any = None) -> Any:
    """The value of an input of the case, also of a law or a row that stands for it; `otherwise` where it has none."""
    return value_of(case, name) if name in case.inputs else otherwise


def _choice(case):
    term = wanted(case, "term") or [USUAL_TERM]
    return {"term": term[0], "provider": wanted(case, "provider"), "region": wanted(case, "region")}


def _of_size(book, gpu, given):
    """The book with servers of the GPU in the size that is given alone."""
    if "gpus_per_server" not in given:
        return book
    return book[(book["item"] != "server") | (book["gpu"] != gpu) | (book["gpus_per_server"] == given["gpus_per_server"])]


def _lacking(book, gpu, given, choice):
    """The name of the price that neither the case nor the book has, or of the GPU's power; empty where none is missing."""
    if "server_usd" not in given and not ((book["item"] == "server") & (book["gpu"] == gpu)).any():
        return "server_usd"
    if "server_usd" in given and "gpus_per_server" not in given:
        return "gpus_per_server"
    if "usd_per_hour" not in given and rents(book, gpu=gpu, required=False, **choice).empty:
        return "usd_per_hour"
    return "tdp_watts" if math.isnan(catalogue.gpu(gpu)["tdp_watts"]) else ""
