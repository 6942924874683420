"""Rent or own: the verdict of the draws, which input moves it most, and what an owned hour is made of."""
from typing import NamedTuple

from ..core.arithmetic import MONTHS_PER_YEAR
from ..laws.break_even import break_even_utilization, owning_npv
from ..laws.owning import owned_usd_per_hour
from ..rows.ages import SOLD_YEARS as SOLD_YEARS
from ..rows.bands import CLOSE, INSIDE
from ..rows.price_book import price
from .deals import STOPS as STOPS, Deal as Deal, deal as deal, owning_case as owning_case
from .draws import ENDS as ENDS, band, drawn_band as drawn_band, draws as draws, outcomes, ranges as ranges

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
