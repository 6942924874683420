"""Ways to rent: what a reservation, an interrupted machine and each way to do a piece of work cost."""
from typing import NamedTuple

from gpucalc.core.arithmetic import HOURS_PER_YEAR, SECONDS_PER_HOUR
from gpucalc.laws.owning import owned_usd_per_hour
from gpucalc.laws.renting import commitment_utilization, interruption_slowdown, level_usd_per_hour, spot_usd_per_hour
from gpucalc.laws.total_cost import managed_usd
from gpucalc.rows.ages import firm
from gpucalc.rows.price_book import RESERVED_YEARS
from gpucalc.rows.rents import cheapest_rent, rents
from gpucalc.rows.selections import selection
from .bills import rents_with_services

OFFER = ["provider", "sku", "gpu", "region"]
WAYS = ("on_demand", "reserved", "spot", "owned")


def beside_on_demand(book, found):
    """The offers with `on_demand`, the price of the same machine on demand (USD/h); NaN where the book has none."""
    own = rents(book, term="on-demand", per="instance", required=False).set_index(OFFER)["usd_per_hour"]
    return found.join(own.rename("on_demand"), on=OFFER)


@selection
def reservations(book):
    """Reserved rents that have a price on demand beside them, with the utilization `needed` to beat it."""
    found = rents(book, required=False)
    both = beside_on_demand(book, found[found["term"].isin(RESERVED_YEARS)]).dropna(subset="on_demand")
    both["needed"] = commitment_utilization(both["usd_per_hour"], both["on_demand"])
    return both.sort_values(["gpu", "provider", "term"], kind="stable")


def first_with_reservations(books):
    """The first of the books that has such rents, and they; the first of all, and none, if no book has any."""
    made = [(book, reservations(book)) for book in books]
    return next((pair for pair in made if len(pair[1])), made[0])


@selection
def spot_offers(book, gpu, alone, together):
    """Spot rents of the GPU: the `discount` on the same machine's price on demand, and what an hour that counts costs.

    alone, together: cases of the interruptions of one machine and of several, for the columns `one` and `many`.
    """
    found = beside_on_demand(book, rents(book, gpu=gpu, term="spot", required=False))
    slowed = {name: spot_usd_per_hour(found["usd_per_hour"], case(interruption_slowdown))
              for name, case in (("one", alone), ("many", together))}
    return found.assign(discount=1 - found["usd_per_hour"] / found["on_demand"], **slowed)


@selection
def managed_rents(book, gpu):
    """Each provider's cheapest rent of the GPU on demand that has a managed service, and the rate with it, `managed`."""
    if rents(book, gpu=gpu, term="on-demand", required=False).empty:
        return book.head(0).assign(service="", premium=0.0, managed=0.0)
    found = rents_with_services(book, gpu)
    found = found[found["service"] != ""]
    return found.assign(managed=found["usd_per_hour"] + managed_usd(found["usd_per_hour"], found["premium"]))


def slowdowns(case, lasting, counts):
    """Time taken over time of the work: a row for each mean time of one machine (name -> s), a column for each count."""
    import numpy
    import pandas
    frame = pandas.DataFrame(lasting.items(), columns=["whose", "lasts"]).sort_values("lasts", kind="stable")
    with numpy.errstate(over="ignore"):
        columns = {f"on_{count}": case.but(machine_interruption_seconds=frame["lasts"], machines=count)(interruption_slowdown)
                   for count in counts}
    return frame.assign(**columns)


class Work(NamedTuple):
    """A piece of work: servers that work together, and the share of a year's hours in which they do.

    once: it is not needed again after the year; steady: it can't be taken away at short notice; tied: it can't leave its cloud.
    """

    name: str
    servers: int
    busy: float
    once: bool = False
    steady: bool = False
    tied: bool = False


@selection
def usual_rent(book, gpu):
    """The median of what providers ask for an hour of the GPU on demand, each for its cheapest firm offer; None if there is none.

    A median of all offers would be that of whoever lists most regions.
    """
    found = rents(book, gpu=gpu, term="on-demand", per="provider", required=False)
    sure = found[firm(found)]
    return None if found.empty else float((sure if len(sure) else found)["usd_per_hour"].median())


def ways(book, deal, case, work, usual=None):
    """What a GPU-hour that counts costs each way (USD); None where the book has no price or the work rules it out.

    `case` has the GPU, the deal's values and the interruptions. Rents that recur are averages over the years; work that is
    done once pays today's. Work that is tied to its cloud pays the `usual` rent on demand.
    """
    if work.tied:
        return dict.fromkeys(WAYS) | {"on_demand": average_rent(case, usual, work.once)}
    rates = {term: _rate(book, deal, case, term) for term in ("on-demand", "spot", *RESERVED_YEARS)}
    held = [rates[term] / work.busy for term, years in RESERVED_YEARS.items()
            if rates[term] is not None and not (work.once and years > 1)]
    slow = case.but(machines=work.servers)(interruption_slowdown)
    years = deal.ranges.loc["years", "likely"] if work.once else 1
    return {"on_demand": None if rates["on-demand"] is None else average_rent(case, rates["on-demand"], work.once),
            "reserved": min(held, default=None),
            "spot": None if rates["spot"] is None or work.steady else average_rent(case, rates["spot"], work.once) * slow,
            "owned": case.but(utilization=work.busy / years)(owned_usd_per_hour)}


def _rate(book, deal, case, term):
    """The cheapest rent of the GPU, of a whole server if there is one; None if the book has none."""
    try:
        return cheapest_rent(book, gpu=case.rows["gpu"].name, whole=deal.fixed["gpus_per_server"], term=term).usd_per_hour
    except ValueError:
        return None


def average_rent(case, usd_per_hour, once=False):
    """A rent over the years of use (USD per GPU-hour); today's for work that is done once."""
    changed = {"rent_decline": 0} if once else {}
    return case.but(rented_usd_per_hour=float(usd_per_hour), **changed)(level_usd_per_hour)


def compared(book, deal, case, works, usual=None):
    """A row for each work: its GPU-hours a year, what an hour costs each way, the `answer` and its `best` rate, the `second`
    best (the best itself if there is no other), and the `total` a year (USD)."""
    import pandas
    rows = []
    for work in works:
        costs = ways(book, deal, case, work, usual)
        order = sorted((cost, WAYS.index(way)) for way, cost in costs.items() if cost is not None)
        hours = work.servers * deal.fixed["gpus_per_server"] * HOURS_PER_YEAR * work.busy
        rows.append({"work": work.name, "hours": hours, **costs, "answer": WAYS[order[0][1]].replace("_", " "),
                     "best": order[0][0], "second": order[min(1, len(order) - 1)][0], "total": hours * order[0][0]})
    return pandas.DataFrame(rows)


def lasting_to_win(book, deal, case, work, rival):
    """Mean time between interruptions of one machine from which spot is below the `rival` rate (s); None if from none.

    It is searched from an hour to ten thousand; infinite if the book has no spot price of the GPU.
    """
    import numpy
    rate = _rate(book, deal, case, "spot")
    if rate is None:
        return float("inf")
    lasting = numpy.geomspace(SECONDS_PER_HOUR, 1e4 * SECONDS_PER_HOUR, 800)
    with numpy.errstate(over="ignore"):
        slow = case.but(machine_interruption_seconds=lasting, machines=work.servers)(interruption_slowdown)
    enough = lasting[average_rent(case, rate, work.once) * slow < rival]
    return float(enough[0]) if len(enough) else None
