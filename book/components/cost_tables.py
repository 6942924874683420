"""Tables of the pages on costs that stand in depth: parts of a request, idle hours, what money buys, egress by tier and month."""
import math

from pandas import DataFrame, Series

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import dollars, number, percent, three_figures
from gpucalc.laws.serving_cost import input_usd_per_million, output_usd_per_million, request_usd
from gpucalc.laws.total_cost import egress_tier_usd
from gpucalc.laws.training_cost import affordable_tokens, compute_usd
from gpucalc.laws.training_time import chinchilla_tokens
from ..pages.stores import last_usd_per_gb, tiered_usd
from .bill_charts import many
from .show import table

PARTS = {"a million tokens in": input_usd_per_million, "a million tokens out": output_usd_per_million, "one request": request_usd}


def parts_table(replica, caption):
    """What tokens and a request cost at best, by the formula, to plan for, and if the replica is never idle."""
    rows = [dict(cost_of=part, bound=replica.but(efficiency="bound")(law), formula=replica(law), plan=replica.band(law).plan,
                 full=replica.but(replica_utilization=1).band(law).plan) for part, law in PARTS.items()]
    share = percent(replica.inputs["replica_utilization"])
    return table(DataFrame(rows), caption, formats=dict.fromkeys(["bound", "formula", "plan", "full"], dollars), labels={
        "cost_of": "cost of", "bound": f"bound, {share} utilization", "formula": f"formula, {share}",
        "plan": f"to plan for, {share}", "full": "to plan for, never idle"})


def idle_table(replica, api_usd, caption):
    """The same tokens at other utilizations, to plan for, and over the price of an API, None where there is none."""
    shares = Series([1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05])
    each = replica.but(replica_utilization=shares)
    plans = {name: each.band(law).plan for name, law in zip(("input", "output", "one"), PARTS.values())}
    idle = DataFrame({"utilization": shares, **plans})
    idle["thousand"] = 1000 * idle.pop("one")
    if api_usd is not None:
        idle["against"] = idle["thousand"] / (1000 * api_usd)
    return table(idle, caption, labels={"input": "a million in", "output": "a million out", "thousand": "1,000 requests",
                                        "against": "times the cheapest API"},
                 formats={"utilization": percent, "against": three_figures,
                          **dict.fromkeys(["input", "output", "thousand"], dollars)})


def dollar_table(rank, caption):
    """What a dollar buys on each GPU of `plan.token_costs.tokens_per_dollar`."""
    columns = {"alone": "tokens/s, one user", "per_card": "that over 1,000 USD of card", "batch": "batch that fits",
               "full": "tokens/s, full", "per_owned": "tokens per USD, owned server", "per_rented": "tokens per USD, rented"}
    shown = rank.assign(per_card=1000 * rank["per_card"])[list(columns)].reset_index()
    return table(shown, caption, labels={"gpu": "GPU", **columns},
                 formats=dict(alone=three_figures, per_card=three_figures, batch="{:,.0f}".format, full=three_figures,
                              per_owned=number, per_rented=number))


def tiers_table(tiers, sent, months, caption):
    """Bytes that leave in some months, tier by tier: how many are in each, and what it charges."""
    charged, inside = (Case(each, egress_bytes=sent, egress_months=months)(egress_tier_usd) for each in (
        tiers, tiers.assign(usd_per_gb=1.0)))
    return table(tiers.assign(tier_gb=inside, egress_tier_usd=charged), caption, labels={
        "from_bytes": "from", "to_bytes": "to", "usd_per_gb": "USD/GB", "tier_gb": "bytes in the tier", "egress_tier_usd": "USD"},
        formats={"to_bytes": lambda value: "no upper edge" if math.isinf(value) else number(value, "byte"),
                 "usd_per_gb": "{:.3f}".format, "tier_gb": lambda value: number(value * 1e9, "byte"),
                 "egress_tier_usd": "{:,.2f}".format})


def split_table(tiers, sizes, caption):
    """What bytes of these sizes cost that leave in one month, or in equal parts over more."""
    counts = {f"in {count}": count for count in (1, 2, 3, 6, 12)}
    rows = [{"bytes": size, **{name: tiered_usd(tiers, size, count) for name, count in counts.items()},
             "per_gb": last_usd_per_gb(tiers, size, 1, 1)} for size in sorted(sizes)]
    return table(DataFrame(rows), caption,
                 labels={"per_gb": "USD/GB in one month", **{name: many(count, "month") for name, count in counts.items()}},
                 formats={"bytes": lambda value: number(value, "byte"), "per_gb": "{:.4f}".format,
                          **dict.fromkeys(counts, "{:,.2f}".format)})


def trained_for(buyer, models, slow, fast):
    """What a budget trains: the tokens that it buys for each model, and what twenty tokens a parameter cost.

    slow, fast: GPU-hours at the ends of the band over those to plan for.
    """
    rows = []
    for name in dict.fromkeys(models):
        sized = buyer.but(model=name)
        params, most = sized.rows["model"], sized(affordable_tokens)
        twenty = sized.but(training_tokens=chinchilla_tokens(params.params))
        rows.append(dict(model=params.name, affordable_tokens=most, ends=f"{number(most / slow)} to {number(most / fast)}",
                         tokens=twenty.inputs["training_tokens"], cost=twenty(compute_usd)))
    frame = DataFrame(rows)
    return frame.assign(share=frame["cost"] / buyer.inputs["budget_usd"]).set_index("model", drop=False)


def trained_table(bought, caption):
    """The table of `trained_for`."""
    return table(bought, caption, formats={"cost": dollars, "share": percent}, labels={
        "affordable_tokens": "tokens it buys", "ends": "8 in 10 between", "tokens": "20 tokens a parameter",
        "cost": "cost of those", "share": "of the budget"})
