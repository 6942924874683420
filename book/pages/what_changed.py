"""What changed between price books: rents over the years, how far they moved, and what that flips."""
import math

import altair
import pandas as pd
from pandas import DataFrame, Series

from gpucalc.core.figures import hourly, percent, signed, times
from gpucalc.laws.break_even import break_even_rent, break_even_utilization
from gpucalc.laws.owning import owned_usd_per_hour
from gpucalc.laws.renting import level_usd_per_hour
from gpucalc.rows import catalogue
from gpucalc.rows.ages import day
from gpucalc.rows.bands import Band
from gpucalc.rows.book_diff import matched
from gpucalc.rows.tables import table as rows_of_table
from ..components.charts import finish, slider_chart
from ..components.picture import Sheet, WIDE
from ..components.show import reach, table


# How rents changed: what a GPU-hour cost over the years, each provider held against itself alone.

# From when on three providers list the H100, and when its rents, which fell, began to rise.
BEGIN, TURNING_MONTH = "2023-09", "2025-10"
# The least part of a window that lies between the two prices of a pair: less says little about the window.
SPAN = 2 / 3
# What is paid by the hour at will; other terms are deals or bids.
_AT_WILL = ["on-demand", "restated"]
_SERIES = ["gpu", "provider", "term", "repository"]


def rents_at_will() -> "DataFrame":
    """Rents on demand of the history, USD per GPU-hour, by date, each with its `repository` and its day in years, `at`."""
    history = rows_of_table("price_history")
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
    return {" to ".join(each): each for each in ((BEGIN, TURNING_MONTH), (TURNING_MONTH, last), (first, last))}


def changes(first: str, last: str) -> "DataFrame":
    """By GPU and provider: the first and last price in the window, and the `change` a year as a share; below 0 it fell.

    A pair is of one series (one repository and term), because levels of two sources differ, and spans `SPAN` of the window.
    Of several series of a provider the one that spans most counts.
    """
    found = rents_at_will()
    found = found[found["at"].between(years(first), years(last))]
    ends = {"before": ("usd_per_hour", "first"), "after": ("usd_per_hour", "last"), "from_date": ("date", "first"),
            "to_date": ("date", "last"), "start": ("at", "first"), "end": ("at", "last")}
    pairs = found.groupby(_SERIES).agg(**ends).reset_index()
    pairs = pairs.assign(years=pairs["end"] - pairs["start"])
    pairs = pairs[pairs["years"] >= SPAN * (years(last) - years(first))]
    pairs = pairs.sort_values("years", ascending=False, kind="stable").drop_duplicates(["gpu", "provider"])
    change = [math.exp(math.log(row.after / row.before) / row.years) - 1 for row in pairs.itertuples()]
    pairs["change"] = pd.Series(change, pairs.index, dtype=float)
    return pairs.sort_values(["gpu", "change"], kind="stable")[
        ["gpu", "provider", "before", "after", "from_date", "to_date", "years", "change"]]


def spread(found: "Series") -> dict[str, float]:
    """Of changes a year: the tenth, the middle and the ninetieth of a hundred, and how many there are."""
    low, middle, high = found.quantile([0.1, 0.5, 0.9])
    return {"low": low, "median": middle, "high": high, "pairs": len(found)}


def by_gpu(first: str, last: str) -> "DataFrame":
    """The spread of `changes` of each GPU over its providers."""
    return pd.DataFrame([{"gpu": gpu} | spread(each["change"]) for gpu, each in changes(first, last).groupby("gpu")])


def decline() -> dict[str, float]:
    """Share by which the rent of a GPU falls each year over the whole history: `low`, `likely`, `high`; below 0 it rises."""
    held = spread(changes(*list(windows().values())[-1])["change"])
    return {"low": -held["high"], "likely": -held["median"], "high": -held["low"]}


def against_turn(gpu: str) -> "DataFrame":
    """A GPU's rents by `provider` and `date`, over what the same provider asked when rents turned: `level`.

    Providers whose series spans the time since then.
    """
    found = rents_at_will()
    found = found[(found["gpu"] == gpu) & (found["term"] == "restated")]
    since = changes(TURNING_MONTH, found["date"].max()).query("gpu == @gpu")
    lines = []
    for row in since.itertuples():
        series = found[found["provider"] == row.provider]
        lines.append(series.assign(level=series["usd_per_hour"] / row.before)[["provider", "date", "level"]])
    return pd.concat(lines, ignore_index=True)


# What a reader is shown of two price books: prices that moved, what rests on older rows, decisions over use.


def moved_prices(before, after):
    """The prices that are in both books and differ, the largest fall first: `offer` in words, `change` as a share."""
    moves = matched(before, after)
    moved = moves[moves["change"] == "moved"].sort_values("ratio", kind="stable")
    what = moved["term"].where(moved["item"] == "rent", moved["item"])
    return moved.assign(offer=moved["provider"] + " " + moved["sku"] + ", " + what, change=moved["ratio"] - 1)


def rise(moves):
    """How rents on demand moved, of `what_changed.provider_moves`: the share of the middle one, and of a tenth and nine tenths.

    Of those that were asked for again, in a row of a later date; None where these are fewer than three.
    """
    shares = moves.loc[(moves["term"] == "on-demand") & (moves["date_after"] > moves["date_before"]), "ratio"] - 1
    if len(shares) < 3:
        return None
    low, middle, high = shares.quantile([0.1, 0.5, 0.9])
    return Band(low, middle, high, middle, None, len(shares), moves["provider"].nunique(), "moves", "")


def widest(moved):
    """The price that moved most, up or down, as a row; None if none did."""
    return moved.loc[moved["ratio"].where(moved["ratio"] >= 1, 1 / moved["ratio"]).idxmax()] if len(moved) else None


def on_older_rows(moves):
    """Those of `provider_moves` whose row in the newer book is older than that in the older book: maybe no move.

    A date may be a year or a month: then as much of the other is looked at.
    """
    return moves[[new[:len(old)] < old[:len(new)] for old, new in zip(moves["date_before"], moves["date_after"])]]


def lacking(compared, before, after):
    """By topic: how many conclusions the `older` book alone allows, how many the `newer`, and how many `neither`.

    Those last rank no two offers that both have.
    """
    missing = compared[compared["verdict"] == "missing"]
    found = pd.DataFrame({"topic": missing["topic"], "older": missing["moved"] == f"no price in {after.attrs['file']}",
                          "newer": missing["moved"] == f"no price in {before.attrs['file']}",
                          "neither": missing["moved"].str.startswith("fewer")})
    return found.groupby("topic", sort=False).sum().astype(int).reset_index()


def flips_alone(steps):
    """The prices that flip the decision by themselves, of `what_changed.one_at_a_time`."""
    return steps[steps["flips"] & ~steps["price"].isin(["none", "all"])]["price"].to_list()


def costs_by_use(deals, gpu, shares):
    """Cost of a used hour at these shares of the hours, owned and rented, under each deal by the name of its book."""
    frames = []
    for book, held in deals.items():
        case = held.case(catalogue.gpu(gpu)).but(utilization=pd.Series(shares))
        frames += [pd.DataFrame({"utilization": shares, "cost": case(law), "hour": hour, "book": book})
                   for hour, law in (("owned", owned_usd_per_hour), ("rented", level_usd_per_hour))]
    return pd.concat(frames, ignore_index=True)


def rents_by_window():
    """How rents changed a year at one provider, by GPU and window of the history: the middle, a tenth and nine tenths."""
    return pd.concat([by_gpu(*window).assign(window=name) for name, window in windows().items()],
                     ignore_index=True)


# Two price books as a page shows them: what moved as bars and tables, a decision as lines over utilization.

CENTS = "{:,.2f}".format
# With the theme's colors, which are fewer than the providers of a chart.
DASHES = [[1, 0], [8, 3], [2, 2]]


def moved_table(moved, caption):
    """Prices of `price_moves.moved_prices`, like with like."""
    return table(moved[["offer", "region", "before", "after", "unit", "change"]], caption,
                 formats={"before": CENTS, "after": CENTS, "change": change})


def change(share):
    """A price's change as a percentage with its sign."""
    return signed(share, percent)


def steps_table(steps, columns, caption):
    """The decision with each newer price put in alone, of `what_changed.one_at_a_time`."""
    shown = steps.reindex(columns=columns).dropna(axis=1, how="all")
    return table(shown.assign(flips=steps["flips"].map({True: "flips", False: "stays"})), caption,
                 labels={"price": "newer price of", "old": "older, USD", "new": "newer, USD",
                         "break_even_utilization": "own above", "owned_usd_per_hour": "owned",
                         "level_usd_per_hour": "rented, over the years", "answer": "decision", "flips": "outcome"},
                 formats={"break_even_utilization": reach, "owned_usd_per_hour": hourly, "level_usd_per_hour": hourly,
                          "old": CENTS, "new": CENTS})


def moves_chart(moves):
    """The ratio of newer to older price as bars from 1, for `what_changed.provider_moves`."""
    moves = moves.assign(offer=moves["provider"] + ", " + moves["term"] + "|" + moves["gpu"], one=1.0,
                         instance=moves["same"].map({True: "same SKU", False: "other SKU"}))
    ends = [min(0.5, moves["ratio"].min() * 0.9), max(2, moves["ratio"].max() * 1.1)]
    bars = altair.Chart(moves).mark_bar().encode(
        x=altair.X("one:Q", title="newer over older price", scale=altair.Scale(type="log", domain=ends, nice=False),
                   axis=altair.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10], format="~g")),
        x2="ratio:Q",
        y=altair.Y("offer:N", title=None, sort=list(moves["offer"]),
                   axis=altair.Axis(labelExpr="split(datum.label, '|')")),
        color=altair.Color("instance:N", title=None, sort=["same SKU", "other SKU"]),
        tooltip=["offer:N", altair.Tooltip("before:Q", format=".2f"), altair.Tooltip("after:Q", format=".2f")])
    found = " and ".join(f"{row.offer.replace('|', ', ')} at {times(row.ratio)} the older price"
                         for row in moves.iloc[[0, -1][:len(moves)]].itertuples())
    says = f"How the cheapest GPU-hour of each provider moved. The ends are {found}."
    chart = finish(bars, says if found else "No provider's cheapest GPU-hour moved.",
                   title="How the cheapest GPU-hour of each provider moved")
    return chart.properties(height=max(120, 36 * len(moves)))


def rents_table(found, caption):
    """Changes of rents a year, of `price_moves.rents_by_window`."""
    return table(found[["window", "gpu", "median", "low", "high", "pairs"]], caption,
                 labels={"window": "from and to", "gpu": "GPU", "median": "middle, a year", "low": "a tenth below",
                         "high": "a tenth above",
                         "pairs": "providers"},
                 formats=dict.fromkeys(["median", "low", "high"], change))


def rents_chart(levels, turn, alt, title=""):
    """Rents of one GPU at each provider over its own rent when rents turned, of `price_history.against_turn`."""
    drawn = altair.Chart(levels).mark_line(strokeWidth=2, interpolate="step-after").encode(
        x=altair.X("date:T", title=None, axis=altair.Axis(format="%Y-%m", tickCount=6), scale=altair.Scale(type="utc")),
        y=altair.Y("level:Q", title=f"rent over the same provider's in {turn}", scale=altair.Scale(zero=False)),
        color=altair.Color("provider:N", title=None),
        strokeDash=altair.StrokeDash("provider:N", title=None, scale=altair.Scale(range=DASHES)))
    mark = altair.Chart(pd.DataFrame([{"date": turn}])).mark_rule(strokeDash=[4, 4]).encode(x="date:T")
    return finish(drawn + mark, alt, title=title)


def use_chart(costs, utilization, alt):
    """Cost of a used hour over utilization, of `price_moves.costs_by_use`; a dashed line at the reader's own."""
    mine = altair.Chart(pd.DataFrame([{"utilization": utilization}])).mark_rule(strokeDash=[4, 4])
    drawn = altair.Chart(costs).mark_line(strokeWidth=2.5).encode(
        x=altair.X("utilization:Q", title="share of the hours that are used", axis=altair.Axis(format="%")),
        y=altair.Y("cost:Q", title="USD for a GPU-hour used", scale=altair.Scale(type="log")),
        color=altair.Color("hour:N", title=None),
        strokeDash=altair.StrokeDash("book:N", title=None, sort=list(dict.fromkeys(costs["book"]))))
    return finish(drawn + mine.encode(x="utilization:Q"), alt)


def edge_slider_chart(case, gpu, likely, utilization, finding):
    """The break-even utilization of a GPU over its rent, with a dashed line at the rent that brings it to the reader's own."""
    rent, server = likely["usd_per_hour"], likely["server_usd"]
    return slider_chart(
        case, {f"break-even of {gpu}": break_even_utilization}, "usd_per_hour", [rent * (0.5 + step / 20) for step in range(61)],
        {"server_usd": (round(server / 4), round(server * 2), 1000, server),
         "rent_decline": (-0.2, 0.4, 0.01, likely["rent_decline"]), "utilization": (0.05, 1, 0.05, utilization)},
        f"Break-even utilization against the rent of a GPU-hour. It falls with one over the rent: at {hourly(rent)} it is "
        f"{reach(case(break_even_utilization))}.", "break-even utilization", crossing=break_even_rent, finding=finding)


def edges_table(owning, utilization, caption):
    """Break-evens before and after, of the conclusions whether to rent or own."""
    shown = ["gpu", "value_before", "value_after", "answer_before", "answer_after", "oldest_before", "oldest_after", "moved"]
    return table(owning[shown], caption,
                 labels={
                     "gpu": "GPU", "answer_before": f"at {percent(utilization)}, before", "answer_after": "after",
                     "value_after": "newer book", "value_before": "older book", "oldest_before": "oldest row, older book",
                     "oldest_after": "oldest row, newer book", "moved": "which price moved (USD)"},
                 formats={"value_before": reach, "value_after": reach})


def conclusions_table(both, caption):
    """Every conclusion that both books allow, those that flip first."""
    flips = both["verdict"].map({"flips": "yes", "close": "too close to call", "stays": "no"})
    shown = both.assign(flips=flips).sort_values("flips", ascending=False, kind="stable")
    shown = shown.assign(older=shown["answer_before"] + ": " + shown["figure_before"],
                         newer=shown["answer_after"] + ": " + shown["figure_after"], moved=shown["moved"].replace("", "no price"),
                         rows=shown["oldest_before"] + " and " + shown["oldest_after"])
    return table(shown[["question", "older", "newer", "flips", "moved", "rows"]], caption,
                 labels={"question": "conclusion", "older": "older book", "newer": "newer book", "moved": "what moved it (USD)",
                         "rows": "oldest rows behind it"})


# Pictures of a price move: the utilizations between two break-evens, where a decision flips.

_LEFT, _RIGHT, _TOP, _TALL = 8, 392, 44, 46


def flip_zone(before, after, utilization=None, gpu=""):
    """Utilizations at which owning pays with older and newer prices, which end at the two break-evens, and the part between.

    Without a utilization it is the idea alone: no figure stands in it.
    """
    reach = max(1, min(max(before, after) * 1.15, 3))
    sheet = Sheet(128 if utilization is not None else 110)

    def at(share):
        return _LEFT + min(share / reach, 1) * (_RIGHT - _LEFT)
    low, high = sorted((before, after))
    for start, end, color, said in ((0, low, "b", "rent"), (low, high, "wash", ""), (high, max(reach, high), "a", "own")):
        sheet.box(at(start), _TOP, max(at(end) - at(start), 0), _TALL, color, round=0)
        if said and at(end) - at(start) > 60:
            sheet.text((at(start) + at(end)) / 2, _TOP + 28, said, at="middle", color="paper", bold=True)
    if at(high) - at(low) > 60:
        sheet.text(at((low + high) / 2), _TOP + 28, "flips", at="middle", bold=True, color="soft")
    for share, top in ((high, 14), (low, 32)):
        figure = f" {percent(share)}" if utilization is not None and share < reach else ""
        side = "end" if at(share) > 130 else "start"
        said = "before" if share == before else "after"
        sheet.line((at(share), top - 9), (at(share), _TOP + _TALL), color="ink")
        sheet.text(at(share) + (-4 if side == "end" else 4), top, f"break-even {said}{figure}", at=side)
    foot = _TOP + _TALL
    sheet.text(_LEFT, foot + 17, percent(0), color="soft").text(at(1), foot + 17, percent(1), at="end", color="soft")
    if reach > 1:
        sheet.line((at(1), _TOP - 4), (at(1), foot + 6), color="paper", thick=2, dashed=True)
    if utilization is None:
        sheet.text(WIDE / 2, foot + 17, "share of hours used", at="middle", color="soft")
        return sheet.picture("A price moves the break-even; only between the two does the decision flip",
                             "A line of utilizations: below both break-evens renting is cheaper, above both owning, between them "
                             "the cheaper one changes.")
    sheet.line((at(utilization), _TOP - 2), (at(utilization), foot + 18), color="d", thick=3)
    sheet.text(at(utilization), foot + 32, f"you: {percent(utilization)}", at="middle", color="d", bold=True)
    flips = low < utilization < high
    return sheet.picture(f"{gpu} at {percent(utilization)} utilization: the move "
                         + ("flips the decision" if flips else "changes nothing"),
                         f"The break-even moved from {percent(before)} to {percent(after)}; {percent(utilization)} is "
                         + ("between them." if flips else "above both." if utilization > high else "below both."))
