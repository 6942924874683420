"""What a budget buys, as a page shows it."""
import math

from pandas import DataFrame

from ..core.figures import dollars, number, times
from .show import table, volume


def api_cell(row):
    """What an API sells for the budget, in words: `25.5 million at DeepInfra`; a dash without one."""
    return "–" if row.sold is None else f"{volume(row.api_requests)} at {row.api}"


def served_table(served, user_requests_per_month, caption):
    """What `plan.budget.served` found: each model on rented GPUs and through an API, what binds, what double the money gives."""
    users = served[["plan", "api_requests"]].max(axis=1) / user_requests_per_month
    rows = [dict(model=row.model, servers=_amount(row), on=f"{row.gpus} × {row.gpu}, {row.provider}" if row.plan else "–",
                 binds=row.binds, api=api_cell(row), users=volume(users[row.Index]),
                 doubled="–" if row.doubled != row.doubled else "from none" if row.doubled == math.inf else times(row.doubled))
            for row in served.itertuples()]
    return table(DataFrame(rows), caption, labels={
        "servers": "on rented GPUs (8 in 10)", "on": "plan", "binds": "what binds", "api": "through an API, at list prices",
        "users": "users, by the cheaper way", "doubled": "double the money"})


def _amount(row):
    return f"{volume(row.plan)} ({volume(row.low)} to {volume(row.high)})" if row.plan else "none"


def tuned_table(frames, best_of, caption):
    """For each model and recipe the GPU that tunes on most tokens: whether it fits, its memory, its tokens and its hours."""
    rows = []
    for model, frame in frames.items():
        for recipe, tried in frame.groupby("recipe", sort=False) if len(frame) else ():
            rows.append(dict(model=model, recipe=recipe) | _tuned(best_of(tried), tried))
    return table(DataFrame(rows), caption, labels={
        "gpu": "GPU", "fits": "does it fit", "memory": "memory, plan", "rate": "a GPU-hour", "tokens": "tokens (8 in 10)",
        "least": "cheapest GPU-hour that fits"})


def _tuned(best, tried):
    """The cells of `tuned_table` for the best of those that were tried."""
    if best is None:
        return dict(gpu="–", fits="on no single GPU of the book")
    least = tried[tried["fits"] == best.fits].sort_values("usd_per_hour", kind="stable").iloc[0]
    return dict(gpu=f"{best.gpu}, {best.provider}", fits=best.fits, rate=dollars(best.usd_per_hour),
                memory=f"{number(best.need, 'byte')} of {number(best.memory, 'byte')}",
                tokens=f"{volume(best.tokens)} ({volume(best.low_tokens)} to {volume(best.high_tokens)})",
                least=f"{least.gpu}, {dollars(least.usd_per_hour)}")
