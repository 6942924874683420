"""Two price books, and what each says of owning a GPU or renting it: the answer, its break-even and the draws behind it."""
import math
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ..laws.break_even import break_even_utilization, owning_npv
from ..laws.owning import owned_usd_per_hour
from ..laws.renting import level_usd_per_hour
from ..rows import catalogue, price_book
from ..rows.ages import firm, sold
from ..rows.bands import CLOSE
from ..rows.rents import rents
from .rent_or_buy import deal, drawn_band, draws, verdict

DRAWS = 20_000


class Situation(NamedTuple):
    """What conclusions are drawn for; `given` holds values that overrule assumptions or prices of both books.

    Stops of spot that are None are the likely ones of data/assumptions.csv.
    """

    utilization: float = 0.6
    given: dict | None = None
    machines: int = 16
    machine_interruption_seconds: float | None = None
    checkpoint_seconds: float | None = None
    restart_seconds: float | None = None
    models: tuple = ("Llama-3-8B", "Llama-3-70B", "DeepSeek-V3")
    requests_per_month: float = 20e6
    prompt: int = 2000
    output: int = 300
    answer_limit: float = 20
    peak_factor: float = 2


USUAL = Situation()


def firm_rents(book: pd.DataFrame, term: str, per: str) -> pd.DataFrame:
    """The cheapest firm rents on a term; a table without rows where the book has none."""
    return rents(book[firm(book)], term=term, per=per, required=False)


def new_servers(book: pd.DataFrame) -> pd.DataFrame:
    """New servers whose price may decide: firm, and of servers that are still sold."""
    found = sold(book)
    return found[(found["item"] == "server") & (found["term"] == "purchase") & firm(found)].sort_values(["gpu", *price_book.TIES])


def decision(book: pd.DataFrame, gpu: str, situation: Situation = USUAL, term: str = "on-demand",
             provider: str | None = None) -> dict[str, Any]:
    """Rent or own one GPU: break-even utilization, both costs of a used hour and `answer` with every input likely, and the deal.

    Of draws of all inputs but the utilization: the break-even's band, `edge`, the `chance` that owning wins, and what is `said`.
    The server is one that is still sold, where the book has one.
    """
    given = dict(situation.given or {}, utilization=situation.utilization)
    offered = sold(book)
    offered = offered if "server" in set(offered.loc[offered["gpu"] == gpu, "item"]) else book
    held = deal(offered, gpu, catalogue.assumptions(), given, term, provider)
    case, drawn = held.case(catalogue.gpu(gpu)), draws(held.ranges.drop("utilization"), DRAWS)
    costs = {law.__name__: case(law) for law in (break_even_utilization, owned_usd_per_hour, level_usd_per_hour)}
    found, edge = verdict(case.but(**drawn)(owning_npv)), drawn_band(break_even_utilization, case, drawn)
    answer = "own" if costs["owned_usd_per_hour"] < costs["level_usd_per_hour"] else "rent"
    said = ("own" if found.cheaper == "owning" else "rent") if found.sure else CLOSE
    return costs | {"answer": answer, "edge": edge, "chance": found.chance, "said": said, "deal": held}


def two_books(prices: str | Path | None = None, before: str | Path | None = None, after: str | Path | None = None,
              only: bool = False, rates: dict[str, float] | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The books to compare: the reader's or the newest, and the newest other one of the project, in the order of their dates.

    A path given as `before` or `after` keeps that place. `only` and `rates` are of the reader's books, as `price_book.prices` has
    them. Raises MissingPrice where there is no second book.
    """
    own = price_book.price_books()
    newest = own[-1] if own else None
    chosen = after or prices or newest
    if chosen is None or not before and not (others := [path for path in own if not _same(path, chosen)]):
        raise price_book.MissingPrice("data/prices holds no second price book; give the parameter before")
    new, old = (price_book.prices(path, only, rates) for path in (chosen, before or others[-1]))
    swap = not before and not after and new.attrs["date"] < old.attrs["date"]
    return (new, old) if swap else (old, new)


def _same(path, other):
    """Whether two files hold the same, under whatever names; no two of the project's books do."""
    if Path(other) in price_book.price_books():
        return Path(path) == Path(other)
    return Path(path).read_bytes() == Path(other).read_bytes()


def worked(before: pd.DataFrame, after: pd.DataFrame) -> str | None:
    """The GPU to work an example through: of those that both books decide to own or rent, that whose rent moved most.

    None where there is none, or where a book has no price of power or of rack space.
    """
    if not all("power" in items and items & {"hosting", "hosting-power"} for items in (set(before["item"]), set(after["item"]))):
        return None
    both = [gpu for gpu in dict.fromkeys(new_servers(after)["gpu"]) if gpu in set(new_servers(before)["gpu"])]
    rates = [firm_rents(book, "on-demand", "gpu").set_index("gpu")["usd_per_hour"] for book in (before, after)]
    rented = [gpu for gpu in both if all(gpu in each for each in rates)]
    return max(rented, key=lambda gpu: abs(math.log(rates[1][gpu] / rates[0][gpu])), default=None)
