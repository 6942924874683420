"""What a sum of money buys once: cards for one machine, a whole computer or servers, at the newest price of each.

A card alone is no machine: as many as one machine takes are bought, and the machine is not in the price. Of each goal the offer
that gives most of it for the money wins; where another offer's gives as much within the error of prices, it is too close to call.
"""
from typing import NamedTuple

import numpy as np
import pandas as pd

from gpucalc.core.evaluate import Case
from gpucalc.decisions.fine_print import forbidden
from gpucalc.decisions.market import SERVER
from gpucalc.decisions.rule import Limit, Step, chosen
from gpucalc.laws.budget import affordable_servers
from gpucalc.laws.owning import power_usd_per_hour
from gpucalc.rows import catalogue
from gpucalc.rows.ages import SOLD_DAYS, days, firm
from gpucalc.rows.selections import derivation

# What is to be most, a column of `bought`: it decides the largest model, the fastest answers, the shortest training.
GOALS = ("memory", "bandwidth", "peak_flops")
_ANY = (
    Limit("unsold", 0, "its price is too old: hardly sold any more", early=True),
    Limit("recalled", 0, "its price is remembered, not seen", early=True),
    Limit("module", 0, "a module for the board of a server, sold in servers", early=True),
    Limit("price", "budget_usd", "the budget", early=True),
)
DESK = Step(name="buy", joined=("offers",), limits=_ANY, objective=("missing", "price"), of=("kind_of_choice",))
DATA_CENTER = DESK._replace(limits=(Limit("forbidden", 0, "the license of its driver keeps it out of data centers", early=True),
                                    *_ANY))


class Buy(NamedTuple):
    """What to buy: the row of `bought`, the `other` that is next, and whether the two are too `close` to call."""

    row: dict | None
    other: dict | None = None
    close: bool = False


@derivation
def offers(book):
    """The newest price of each card alone and of each size of server, with what one machine has; the reader's own come first.

    Of prices of one day a firm one, then a new one, then the cheapest. A column of the limits is 1 where it rules an offer out.
    """
    rows = book[book["item"].isin(["card", "server"])]
    rows = rows.assign(age=days(book)[rows.index], firm=firm(rows), new=rows["term"] != "used")
    rows = rows.sort_values(["yours", "age", "firm", "new", "price"], ascending=[False, True, False, False, True], kind="stable")
    rows = rows.drop_duplicates(["item", "gpu", "gpus_per_server"])
    cards = catalogue.gpus().loc[rows["gpu"]].set_index(rows.index)
    server, computer = rows["item"] == "server", cards["kind"] == "unified"
    board = (cards["link_bandwidth"] > cards["host_bandwidth"].fillna(0)) & (cards["reach"] >= SERVER) & ~computer
    size = rows["gpus_per_server"].where(server, 1)
    return rows.reset_index()[["row", "item", "gpu", "provider", "sku", "term", "price", "date", "confidence", "firm"]].assign(
        sold_gpus=size.to_numpy(float), machine_gpus=np.where(server, size, np.where(computer, 1, SERVER)).astype(float),
        whole=server.to_numpy(), kind=cards["kind"].to_numpy(object),
        unsold=((rows["age"] > SOLD_DAYS) & ~rows["yours"]).to_numpy(float), module=(board & ~server).to_numpy(float),
        recalled=(rows["confidence"] == "recalled").to_numpy(float),
        forbidden=forbidden(cards).to_numpy(float),
        **{f"gpu_{name}": cards[name].to_numpy(float) for name in ("memory_bytes", "bandwidth", "peak_flops", "tdp_watts")})


def bought(found, budget_usd, times=1):
    """The offers with how many GPUs the money buys of each at so many times its price, and what these have together.

    Cards fill one machine, a whole computer is one, and servers are as many as the money buys. `memory` is that of one machine,
    over which a model is split; bandwidth and FLOP/s are those of all.
    """
    units = affordable_servers(budget_usd, 1, found["price"] * times)
    gpus = np.where(found["whole"], units, np.minimum(units, found["machine_gpus"])) * found["sold_gpus"]
    joined = np.minimum(gpus, found["machine_gpus"])
    return found.assign(
        budget_usd=float(budget_usd), gpus=gpus, joined=joined, spent=gpus / found["sold_gpus"] * found["price"],
        memory=joined * found["gpu_memory_bytes"], bandwidth=gpus * found["gpu_bandwidth"],
        peak_flops=gpus * found["gpu_peak_flops"])


def best(found, budget_usd, goal, step=DESK):
    """The `Buy` of a goal for the money."""
    ends = catalogue.assumptions().loc["server_usd"]
    table = bought(found, budget_usd)
    first = _first(table, budget_usd, goal, step)
    if first is None:
        return Buy(None)
    rest = table[table["gpu"] != first["gpu"]]
    other = _first(rest, budget_usd, goal, step)
    if other is None:
        return Buy(first)
    dear, cheap = (bought(found[found["row"] == row["row"]], budget_usd, ends[end])[goal].iloc[0]
                   for row, end in ((first, "high"), (other, "low")))
    return Buy(first, other, bool(cheap >= dear))


def _first(table, budget_usd, goal, step):
    if table.empty:
        return None
    given = {name: column.to_numpy() for name, column in table.items()}
    given |= {"missing": -table[goal].to_numpy(float), "kind_of_choice": np.zeros(len(table))}
    kept, able = chosen(step, Case(budget_usd=budget_usd), given)
    return {name: column[0] for name, column in kept.items()} if able[0] else None


def why_not(found, budget_usd, step=DESK):
    """For each offer the limit in its way, in words; empty where it may be bought."""
    given = {name: column.to_numpy() for name, column in found.items()}
    given |= {"missing": np.zeros(len(found)), "kind_of_choice": np.arange(len(found))}
    kept, _ = chosen(step, Case(budget_usd=budget_usd), given)
    reasons = np.array([*(limit.reason for limit in step.limits), ""], object)
    return pd.Series(reasons[kept["broken"].astype(int)], kept["row"]).reindex(found["row"]).tolist()


def power_usd(book, row, hours):
    """Electricity of what was bought at full work for so many hours (USD), at the book's firm average price; NaN without one."""
    prices = book[(book["item"] == "power") & firm(book)]["price"]
    if prices.empty or np.isnan(row["gpu_tdp_watts"]):
        return float("nan")
    site = {name: catalogue.assumed(name) for name in ("pue", "server_power_factor")}
    one = Case(tdp_watts=row["gpu_tdp_watts"], usd_per_kwh=float(prices.median()), **site)(power_usd_per_hour)
    return one * row["gpus"] * hours
