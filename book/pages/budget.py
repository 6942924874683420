"""What a budget buys, as a page shows it."""
import math

from pandas import DataFrame

from gpucalc.core.arithmetic import HOURS_PER_MONTH
from gpucalc.core.figures import dollars, gib, times
from gpucalc.laws.budget import affordable_replicas, affordable_requests_per_month, balanced_params
from ..components.picture import Sheet
from ..components.show import table, volume

RECIPES = {"lora": "LoRA", "qlora": "QLoRA"}
# What so much money buys in servers of 1 USD a month, to draw each rule.
_RULES = {"API requests": lambda usd: affordable_requests_per_month(usd, 1),
          "rented servers": lambda usd: affordable_replicas(usd, 1 / HOURS_PER_MONTH, 1, 1),
          "a trained model": lambda usd: balanced_params(1, usd, 1)}
_WIDE, _TALL, _GAP = 120, 90, 20


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
    keys = [(row.sold if row.offer is None else row.offer) for row in served.itertuples()]
    return table(DataFrame(rows, [key if key is None else key["row"] for key in keys]), caption, labels={
        "servers": "on rented GPUs (8 in 10)", "on": "plan", "binds": "what binds", "api": "through an API, at list prices",
        "users": "users, by the cheaper way", "doubled": "double the money"})


def _amount(row):
    return f"{volume(row.plan)} ({volume(row.low)} to {volume(row.high)})" if row.plan else "none"


def tuned_table(frames, best_of, caption):
    """For each model and recipe the GPU that tunes on most tokens: whether it fits, its memory, its tokens and its hours."""
    rows, keys = [], []
    for model, frame in frames.items():
        for recipe, tried in frame.groupby("recipe", sort=False) if len(frame) else ():
            best = best_of(tried)
            rows.append(dict(model=model, recipe=RECIPES.get(recipe, recipe)) | _tuned(best, tried))
            keys.append(None if best is None else best["row"])
    return table(DataFrame(rows, keys), caption, labels={
        "gpu": "GPU", "fits": "does it fit", "memory": "memory, plan", "rate": "a GPU-hour", "tokens": "tokens (8 in 10)",
        "least": "cheapest GPU-hour that fits"}, formats={"rate": dollars})


def _tuned(best, tried):
    """The cells of `tuned_table` for the best of those that were tried."""
    if best is None:
        return dict(gpu="–", fits="on no single GPU of the book")
    least = tried[tried["fits"] == best.fits].sort_values("usd_per_hour", kind="stable").iloc[0]
    return dict(gpu=f"{best.gpu}, {best.provider}", fits=best.fits, rate=best.usd_per_hour,
                memory=f"{gib(best.need)} of {gib(best.memory)}",
                tokens=f"{volume(best.tokens)} ({volume(best.low_tokens)} to {volume(best.high_tokens)})",
                least=f"{least.gpu}, {dollars(least.usd_per_hour)}")


def rules_picture(most=4.4, steps=88):
    """What growing money buys by each of the three rules, as three small curves."""
    sheet = Sheet(150)
    for place, (name, rule) in enumerate(_RULES.items()):
        _curve(sheet, name, rule, [most * step / steps for step in range(1, steps + 1)], place * (_WIDE + _GAP))
    sheet.text(0, 142, "across: money; up: what it buys", color="soft")
    return sheet.picture("Money buys in a line, in steps, or by a square root",
                         "What a growing budget buys: requests to an API grow evenly, servers come in steps, and each dollar "
                         "adds less to the size of a trained model.")


def _curve(sheet, name, rule, money, left):
    """One rule over the money, each curve as high as its own most."""
    bought, foot = [float(rule(usd)) for usd in money], _TALL + 26
    points = [(left + _WIDE * usd / money[-1], foot - _TALL * amount / bought[-1]) for usd, amount in zip(money, bought)]
    sheet.text(left + _WIDE / 2, 14, name, "middle", bold=True)
    sheet.line((left, 20), (left, foot), (left + _WIDE, foot)).line((left, foot), *points, color="b", thick=3)
