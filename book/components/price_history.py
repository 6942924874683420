"""How rents changed: what a GPU-hour cost over the years, each provider held against itself alone."""
import math
from typing import TYPE_CHECKING

from gpucalc.rows.ages import day
from gpucalc.rows.tables import table

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# From when on three providers list the H100, and when its rents, which fell, began to rise.
BEGIN, TURN = "2023-09", "2025-10"
# The least part of a window that lies between the two prices of a pair: less says little about the window.
SPAN = 2 / 3
# What is paid by the hour at will; other terms are deals or bids.
_AT_WILL = ["on-demand", "restated"]
_SERIES = ["gpu", "provider", "term", "repository"]


def rents_at_will() -> "DataFrame":
    """Rents on demand of the history, USD per GPU-hour, by date, each with its `repository` and its day in years, `at`."""
    history = table("price_history")
    history = history[history["term"].isin(_AT_WILL)]
    return history.assign(repository=history["source"].str.split(",").str[0],
                          at=history["date"].map(years)).sort_values("at", kind="stable")


def years(date: str) -> float:
    """A date in years since the year 1 (year); a month or a year counts from its first day."""
    return day(date).toordinal() / 365.25


def windows() -> dict[str, tuple[str, str]]:
    """First and last month of what is looked at: until rents turned, since then, and all of it."""
    months = rents_at_will().loc[lambda found: found["term"] == "restated", "date"]
    first, last = months.min(), months.max()
    return {" to ".join(each): each for each in ((BEGIN, TURN), (TURN, last), (first, last))}


def changes(first: str, last: str) -> "DataFrame":
    """By GPU and provider: the first and last price in the window, and the `change` a year as a share; below 0 it fell.

    A pair is of one series (one repository and term), because levels of two sources differ, and spans `SPAN` of the window.
    Of several series of a provider the one that spans most counts.
    """
    import pandas
    found = rents_at_will()
    found = found[found["at"].between(years(first), years(last))]
    ends = {"before": ("usd_per_hour", "first"), "after": ("usd_per_hour", "last"), "from_date": ("date", "first"),
            "to_date": ("date", "last"), "start": ("at", "first"), "end": ("at", "last")}
    pairs = found.groupby(_SERIES).agg(**ends).reset_index()
    pairs = pairs.assign(years=pairs["end"] - pairs["start"])
    pairs = pairs[pairs["years"] >= SPAN * (years(last) - years(first))]
    pairs = pairs.sort_values("years", ascending=False, kind="stable").drop_duplicates(["gpu", "provider"])
    change = [math.exp(math.log(row.after / row.before) / row.years) - 1 for row in pairs.itertuples()]
    pairs["change"] = pandas.Series(change, pairs.index, dtype=float)
    return pairs.sort_values(["gpu", "change"], kind="stable")[
        ["gpu", "provider", "before", "after", "from_date", "to_date", "years", "change"]]


def spread(found: "Series") -> dict[str, float]:
    """Of changes a year: the tenth, the middle and the ninetieth of a hundred, and how many there are."""
    low, middle, high = found.quantile([0.1, 0.5, 0.9])
    return {"low": low, "median": middle, "high": high, "pairs": len(found)}


def by_gpu(first: str, last: str) -> "DataFrame":
    """The spread of `changes` of each GPU over its providers."""
    import pandas
    return pandas.DataFrame([{"gpu": gpu} | spread(each["change"]) for gpu, each in changes(first, last).groupby("gpu")])


def decline() -> dict[str, float]:
    """Share by which the rent of a GPU falls each year over the whole history: `low`, `likely`, `high`; below 0 it rises."""
    held = spread(changes(*list(windows().values())[-1])["change"])
    return {"low": -held["high"], "likely": -held["median"], "high": -held["low"]}


def against_turn(gpu: str) -> "DataFrame":
    """A GPU's rents by `provider` and `date`, over what the same provider asked when rents turned: `level`.

    Providers whose series spans the time since then.
    """
    import pandas
    found = rents_at_will()
    found = found[(found["gpu"] == gpu) & (found["term"] == "restated")]
    since = changes(TURN, found["date"].max()).query("gpu == @gpu")
    lines = []
    for row in since.itertuples():
        series = found[found["provider"] == row.provider]
        lines.append(series.assign(level=series["usd_per_hour"] / row.before)[["provider", "date", "level"]])
    return pandas.concat(lines, ignore_index=True)
