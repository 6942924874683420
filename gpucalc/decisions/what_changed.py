"""What changed between two price books: which prices moved, by how much, and which conclusions flip."""
import math
from pathlib import Path
from typing import Any

import pandas as pd

from ..rows import bands, price_book
from ..rows.book_diff import ROUNDING
from ..rows.selections import selection
from .conclusions import PRICED, USUAL, Situation, conclusions, decision, firm_rents, new_servers, prices_of, ranking

COLUMNS = ["topic", "question", "verdict", "moved", *(f"{name}_{when}" for when in ("before", "after")
                                                      for name in ("answer", "value", "figure", "oldest"))]


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


@selection
def provider_moves(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The cheapest firm GPU-hour of each provider, GPU and term in both books, the ratio, and whether it is the same `sku`.

    The `date` of each is that of its row. What differs by a rounding has not moved.
    """
    keys = ["provider", "gpu", "term"]
    old, new = (pd.concat([firm_rents(book, term, "provider") for term in sorted(set(book["term"]))])[
        [*keys, "usd_per_hour", "sku", "date"]] for book in (before, after))
    moves = old.merge(new, on=keys, suffixes=("_before", "_after"))
    moves = moves.rename(columns={"usd_per_hour_before": "before", "usd_per_hour_after": "after"})
    ratio = moves["after"] / moves["before"]
    return moves.assign(ratio=ratio.where((ratio - 1).abs() > ROUNDING, 1.0), same=moves["sku_before"] == moves["sku_after"])


@selection
def compared(before: pd.DataFrame, after: pd.DataFrame, situation: Situation = USUAL) -> pd.DataFrame:
    """Every conclusion under both books: the answers, what they rest on, the `verdict`, and which price `moved` most.

    The verdict is `missing` where a book lacks a price that the answer needs, and `close` where an answer is too close to call;
    neither is a flip. Candidates of a ranking that one book lacks are left out of both; its `figure` says who wins among all.
    """
    sides: list[Any] = [{each.question: each for each in conclusions(book, situation)} for book in (before, after)]
    rows = []
    for question in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (side.get(question) for side in sides)
        known = old or new
        if old and new and old.scores:
            common = [name for name in old.scores if name in new.scores]
            old, new = ((_among(each, common) if len(common) > 1 else None) for each in (old, new))
        files = [book.attrs["file"] for book, side in zip((before, after), sides) if question not in side]
        lacking = f"no price in {files[0]}" if files else "" if old else "fewer than two that both books price"
        answers = set() if lacking else {old.answer, new.answer}
        verdict = "missing" if lacking else "close" if bands.CLOSE in answers else "flips" if len(answers) > 1 else "stays"
        row = {"topic": known.topic, "question": question, "verdict": verdict, "moved": lacking or _moved(old, new)}
        for when, each in (("before", old), ("after", new)):
            row |= {f"{name}_{when}": getattr(each, name) if each else None for name in ("answer", "value", "figure")}
            row[f"oldest_{when}"] = each.oldest() if each else None
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _among(found, common):
    """The ranking among the common candidates, and in its figure who wins among all that the book prices."""
    held = ranking(found, common)
    return held._replace(figure=f"{held.figure}; of all: {found.answer}, {found.figure}")


def _moved(old, new):
    """The prices behind a conclusion that differ, the one that moved most first; of a ranking, those of the two winners."""
    names = dict.fromkeys([*old.prices, *new.prices])
    if old.scores:
        names = dict.fromkeys([old.answer, new.answer])

    def size(name):
        values = [side.prices[name][0] if name in side.prices else 0 for side in (old, new)]
        return abs(math.log(values[1] / values[0])) if min(values) > 0 else math.inf

    shown = sorted((name for name in names if size(name) > ROUNDING), key=size, reverse=True)
    return "; ".join(f"{name} {_price(old, name)} to {_price(new, name)}" for name in shown[:3])


def _price(side, name):
    if name not in side.prices:
        return "none"
    value, whose, *_ = side.prices[name]
    return (f"{value:,.2f}" if value < 1000 else f"{value:,.0f}") + (f" ({whose})" if whose else "")


@selection
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


@selection
def one_at_a_time(before: pd.DataFrame, after: pd.DataFrame, gpu: str, situation: Situation = USUAL, term: str = "on-demand",
                  provider: str | None = None) -> pd.DataFrame:
    """The decision of the older book with each price of the newer one put in alone, and then with all of them."""
    old, new = (decision(book, gpu, situation, term, provider) for book in (before, after))
    prices = [prices_of(side["deal"]) for side in (old, new)]
    rows = [{"price": "none", **old}]
    for item, name in PRICED.items():
        if name in prices[0] and name in prices[1] and prices[0][name].usd != prices[1][name].usd:
            size = (new if item == "server" else old)["deal"].fixed["gpus_per_server"]
            given = {price_book.ITEMS[item].quantity: prices[1][name].usd, "gpus_per_server": size}
            alone = decision(before, gpu, situation._replace(given=given | (situation.given or {})), term, provider)
            rows.append({"price": name, "old": prices[0][name].usd, "new": prices[1][name].usd, **alone})
    return pd.DataFrame([*rows, {"price": "all", **new}]).drop(columns=["deal", "edge"]).assign(
        flips=lambda frame: frame["answer"] != old["answer"])
