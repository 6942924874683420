"""What changed between price books: rents over the years, how far prices moved, and which conclusions that flips."""
import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import altair
import pandas as pd
from pandas import DataFrame, Series

from gpucalc.core.arithmetic import HOURS_PER_YEAR
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import hourly, number, percent, signed, times, usd
from gpucalc.decisions import capacity, token_offers
from gpucalc.decisions.rent_or_buy import STOPS
from gpucalc.decisions.what_changed import decision, firm_rents, new_servers, Situation, USUAL
from gpucalc.laws.break_even import break_even_rent, break_even_utilization
from gpucalc.laws.owning import owned_usd_per_hour
from gpucalc.laws.renting import (commitment_utilization, group_interruption_seconds, interruption_slowdown, level_usd_per_hour,
                                  spot_usd_per_hour)
from gpucalc.laws.serving_cost import requests_per_second
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.ages import dates, day, firm, why_not_sold
from gpucalc.rows.bands import Band, CLOSE
from gpucalc.rows.tables import table as rows_of_table
from ..components.charts import finish, slider_chart
from ..components.picture import Sheet, WIDE
from ..components.show import reach, table
from ..prices.book_diff import HOME, matched, NOT_STATED, ROUNDING


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
    """How rents on demand moved, of `provider_moves`: the share of the middle one, and of a tenth and nine tenths.

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
    """The prices that flip the decision by themselves, of `one_at_a_time`."""
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
    """The decision with each newer price put in alone, of `one_at_a_time`."""
    shown = steps.reindex(columns=columns).dropna(axis=1, how="all")
    return table(shown.assign(flips=steps["flips"].map({True: "flips", False: "stays"})), caption,
                 labels={"price": "newer price of", "old": "older, USD", "new": "newer, USD",
                         "break_even_utilization": "own above", "owned_usd_per_hour": "owned",
                         "level_usd_per_hour": "rented, over the years", "answer": "decision", "flips": "outcome"},
                 formats={"break_even_utilization": reach, "owned_usd_per_hour": hourly, "level_usd_per_hour": hourly,
                          "old": CENTS, "new": CENTS})


def moves_chart(moves):
    """The ratio of newer to older price as bars from 1, for `provider_moves`."""
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


# What one price book says: own or rent, who rents cheapest, whether to reserve or to take spot, servers or an API.

PRICED = {"rent": "rent", "server": "server", "power": "power", "hosting": "hosting", "switch": "switch port", "cable": "cable"}


class Price(NamedTuple):
    """A price behind a conclusion (USD), whose it is, and the date of its row."""

    usd: float
    whose: str = ""
    date: str = ""


class Conclusion(NamedTuple):
    """An answer that one price book gives, what it rests on (`figure`), and its `prices` by name.

    A ranking holds the `scores` of all candidates too, the lowest of which wins, and their `unit`.
    """

    topic: str
    question: str
    answer: str
    value: float
    figure: str
    prices: dict[str, Price]
    scores: dict | None = None
    unit: str = ""

    def oldest(self) -> str:
        """The date of the oldest price behind it."""
        return min((price.date for price in self.prices.values() if price.date), default="")


def conclusions(book: pd.DataFrame, situation: Situation = USUAL) -> list[Conclusion]:
    """What the book says under these prices, as a list; a question whose prices the book lacks is not in it.

    Only prices that are firm decide: of rents and of servers.
    """
    return [*_owning(book, situation), *_best_value(book), *_cheapest(book), *_reserving(book, situation),
            *_spot(book, situation), *_serving(book, situation), *_managed(book, situation)]


def ranking(found: Conclusion, names: list[str] | None = None) -> Conclusion:
    """The ranking among some of its candidates: the winner, its score and the prices of these."""
    held = found.scores or {}
    scores = {name: held[name] for name in names or held}
    prices, best = {name: found.prices[name] for name in scores}, min(scores, key=lambda name: scores[name])
    figure = f"{usd(scores[best])} {found.unit}"
    return found._replace(answer=best, value=scores[best], figure=figure, scores=scores, prices=prices)


def prices_of(held: Any) -> dict[str, Price]:
    """The prices of a deal by what they are for."""
    found = {}
    for item, name in PRICED.items():
        row = held.rows.get(item)
        if row is not None:
            whose = row["provider"] if item in ("rent", "server") else ""
            found[name] = Price(float(row[price_book.ITEMS[item].quantity]), whose, next(iter(dates(row)), ""))
    return found


def left_out(book: pd.DataFrame) -> pd.DataFrame:
    """GPUs whose servers have a price in the book that decides nothing: `gpu`, and `why` the newest of them doesn't."""
    servers = book[(book["item"] == "server") & (book["term"] == "purchase")]
    usable = set(new_servers(book)["gpu"])
    others = servers[~servers["gpu"].isin(usable)].sort_values(["date", "gpu", *price_book.TIES])
    newest = others.drop_duplicates("gpu", keep="last")
    return pd.DataFrame([{"gpu": row["gpu"], "why": why_not_sold(book, row)} for _, row in newest.iterrows()],
                        columns=["gpu", "why"])


def _owning(book: pd.DataFrame, situation: Situation) -> Iterator[Conclusion]:
    servers, power = new_servers(book), catalogue.gpus()["tdp_watts"].dropna().index
    rented = set(firm_rents(book, "on-demand", "gpu")["gpu"]) & set(power)
    certain = pd.concat([book[(book["item"] != "server") & ((book["item"] != "rent") | firm(book))], servers])
    certain.attrs = book.attrs
    for gpu in dict.fromkeys(gpu for gpu in servers["gpu"] if gpu in rented):
        try:
            each = decision(certain, gpu, situation)
        except ValueError:  # a price that owning needs is missing
            continue
        value = each["break_even_utilization"]
        yield Conclusion("rent or own", f"{gpu}: rent or own at {percent(situation.utilization)} utilization?", each["said"],
                         value, f"own above {percent(value)}" if value <= 1 else "owning never pays", prices_of(each["deal"]))


def _best_value(book):
    found = firm_rents(book, "on-demand", "gpu").set_index("gpu").join(catalogue.gpus()[["peak_flops", "bandwidth"]])
    prices = dict(zip(found.index, map(Price, found["usd_per_hour"], found["provider"], found["date"])))
    for column, scale, what in (("peak_flops", 1e15, "PFLOP/s"), ("bandwidth", 1e12, "TB/s")):
        values = found["usd_per_hour"] / found[column] * scale
        if len(values):
            yield ranking(Conclusion("value", f"Which GPU rents the cheapest {what}?", "", 0, "", prices, values.to_dict(),
                                     f"for {what} in an hour"))


def _cheapest(book):
    for gpu, offers in firm_rents(book, "on-demand", "provider").groupby("gpu", sort=False):
        prices = {row.provider: Price(row.usd_per_hour, "", row.date) for row in offers.itertuples()}
        if len(offers) > 1:
            yield ranking(Conclusion("provider", f"{gpu}: who rents it cheapest?", "", 0, "", prices,
                                     {provider: price.usd for provider, price in prices.items()}, "a GPU-hour"))


def _beside_on_demand(book, term):
    """The cheapest rent on a term of each instance that has one on demand in the same region, with that one.

    Where a source doesn't state the region, it is the provider's home region.
    """
    book = book.assign(region=book["region"].mask(book["region"] == NOT_STATED, book["provider"].map(HOME).fillna(NOT_STATED)))
    beside = {(row.provider, row.sku, row.gpu, row.region): row for row in firm_rents(book, "on-demand", "instance").itertuples()}
    seen = set()
    for row in firm_rents(book, term, "instance").itertuples():
        machine = row.instance if term == "managed" else row.sku
        plain, offer = beside.get((row.provider, machine, row.gpu, row.region)), (row.provider, row.sku, row.gpu, row.region)
        if plain is not None and offer not in seen:
            seen.add(offer)
            where = "" if row.region in (NOT_STATED, "all") else f", {row.region}"
            yield (f"{row.provider} {row.sku}{where}", row.gpu, row.gpus_per_server,
                   {term: Price(row.usd_per_hour, "", row.date), "on demand": Price(plain.usd_per_hour, "", plain.date)})


def _reserving(book, situation):
    for term in price_book.RESERVED_YEARS:
        for offer, gpu, _, prices in _beside_on_demand(book, term):
            needed = float(commitment_utilization(prices[term].usd, prices["on demand"].usd))
            yield Conclusion("reservation", f"{offer} ({gpu}): does {term} pay at {percent(situation.utilization)}?",
                             "reserve" if needed < situation.utilization else "on demand", needed,
                             f"pays above {percent(needed)}", prices)


def _spot(book, situation):
    stops = {name: catalogue.assumed(name, getattr(situation, name)) for name in STOPS}
    slowdown = Case(**stops, machines=situation.machines, interruption_seconds=group_interruption_seconds)(interruption_slowdown)
    for offer, gpu, _, prices in _beside_on_demand(book, "spot"):
        cost, plain = spot_usd_per_hour(prices["spot"].usd, slowdown), prices["on demand"].usd
        yield Conclusion("spot", f"{offer} ({gpu}): does spot pay for {situation.machines} machines?",
                         "spot" if cost < plain else "on demand", cost / plain, f"{usd(cost)} against {usd(plain)}", prices)


def _serving(book, situation):
    load = situation.requests_per_month
    for model in situation.models:
        sold_tokens = token_offers.api_offers(book, model)
        sold_tokens = sold_tokens[sold_tokens["confidence"] == "seen"]
        plans = _plans(model, load, situation.prompt, situation.output, situation.answer_limit, situation.peak_factor)
        paid = token_offers.rented_plans(plans, book[firm(book)], "on-demand", load, situation.prompt, situation.output)
        if sold_tokens.empty or paid.empty:
            continue
        costs = load * token_offers.request_usd_of(sold_tokens, Case(prompt=situation.prompt, output=situation.output))
        api, own, cost = sold_tokens.loc[costs.idxmin()], paid.iloc[0], costs.min()
        yield Conclusion(
            "serving", f"{model}: servers or an API for {number(load)} requests a month?",
            "servers" if own["high_serving_usd_per_month"] < cost else "API" if own["low_serving_usd_per_month"] > cost else
            CLOSE, own["serving_usd_per_month"] / cost,
            f"{own['serving_usd_per_month']:,.0f} USD on {own['rented_gpus']:g} × {own['gpu']} against {cost:,.0f} USD",
            {"rent": Price(own["usd_per_hour"], own["provider"], own["date"]),
             "a million tokens in": Price(api["api_input_usd_per_million"], api["provider"], api["date"]),
             "a million tokens out": Price(api["api_output_usd_per_million"], api["provider"], api["date"])})


@functools.cache
def _plans(model, load, prompt, output, answer_limit, peak_factor):
    """The servers that carry the load, whatever they cost: weights and cache in FP8, on every GPU and degree."""
    case = Case(model=model, efficiency="achieved", weight_element_bytes=1, cache_element_bytes=1, prompt=prompt, output=output,
                **capacity.ENGINE)
    cards, degrees = capacity.linked_gpus("H100 SXM 80GB", "FP8"), capacity.allowed_degrees(case.rows["model"])
    return capacity.plans(capacity.search(case, cards, degrees), requests_per_second(load, peak_factor), answer_limit)


def _managed(book, situation):
    staff = catalogue.assumptions().loc["staff_usd_per_year", "likely"]
    for offer, gpu, gpus, prices in _beside_on_demand(book, "managed"):
        extra = (prices["managed"].usd - prices["on demand"].usd) * gpus * HOURS_PER_YEAR * situation.utilization
        yield Conclusion("managed", f"{offer} ({gpu}): is the service worth the staff of a server?",
                         "managed" if extra < staff else "plain", extra, f"{extra:,.0f} USD a year against {staff:,.0f} USD",
                         prices)


# Which prices moved between two books, by how much, and which conclusions flip.

COLUMNS = ["topic", "question", "verdict", "moved", *(f"{name}_{when}" for when in ("before", "after")
                                                      for name in ("answer", "value", "figure", "oldest"))]


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
        verdict = "missing" if lacking else "close" if CLOSE in answers else "flips" if len(answers) > 1 else "stays"
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


def costs_table(costs, gpu, utilization, aged, gpus):
    return table(costs[["book", "answer", "break_even_utilization", "owned_usd_per_hour", "level_usd_per_hour", "saved"]],
                 f"{gpu} at {percent(utilization)} utilization ({aged})",
                 labels={"answer": "decision, all inputs likely", "break_even_utilization": "own above",
                         "owned_usd_per_hour": "an owned hour", "level_usd_per_hour": "a rented hour, over the years",
                         "saved": f"the right choice saves a year, on {gpus:,} GPUs"},
                 formats={"break_even_utilization": reach, "owned_usd_per_hour": hourly, "level_usd_per_hour": hourly,
                          "saved": "{:,.0f} USD".format})


def rivals_table(old, new, gpu):
    rivals = provider_moves(old, new).query("gpu == @gpu")
    return table(rivals.assign(change=rivals["ratio"] - 1)[["provider", "term", "before", "after", "change", "sku_after"]],
                 f"The cheapest GPU-hour of {gpu} at each provider that both books have",
                 labels={"before": "older, USD/h", "after": "newer, USD/h", "sku_after": "instance"},
                 formats={"before": "{:,.2f}".format, "after": "{:,.2f}".format, "change": change})
