"""Owning a server or renting one, as data: the prices of a book, the ranges of all other inputs, and what is fixed."""
from typing import Any, NamedTuple

from ..core.evaluate import Case, Row
from ..core.figures import number
from ..laws.break_even import owning_npv
from ..laws.owning import declining_residual, rack_usd_per_month
from ..rows import catalogue
from ..rows.ages import SOLD_DAYS, day, firm
from ..rows.price_book import ITEMS, RESERVED_YEARS, TIES, MissingPrice, cheapest_first, price_row, select
from ..rows.rents import cheapest_rent
from .draws import ranges

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

    def case(self, *rows):
        """The case of all likely values with their sources: the prices' own rows, what is fixed, the ranges, and `rows`."""
        likely = Row(self.ranges["likely"].to_dict(), "data/assumptions.csv or parameter")
        fixed = Row(self.fixed, "parameter or price book")
        priced = [row for row in self.rows.values() if row is not None]
        changed = {name: row for row in (likely, fixed) for name, value in row.items()
                   if any(name in other and other[name] != value for other in priced)}
        return owning_case(*priced, fixed, likely, *rows, **changed)


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
        raise ValueError("parameter gpus_per_server: missing; a server_usd that is given needs the number of its GPUs")
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
