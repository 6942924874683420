"""What a reader is shown of two price books: prices that moved, what rests on older rows, decisions over use."""
import pandas as pd

from gpucalc.laws.owning import owned_usd_per_hour
from gpucalc.laws.renting import level_usd_per_hour
from gpucalc.rows import catalogue
from gpucalc.rows.bands import Band
from gpucalc.rows.book_diff import matched
from ..components import price_history


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
    return pd.concat([price_history.by_gpu(*window).assign(window=name) for name, window in price_history.windows().items()],
                     ignore_index=True)
