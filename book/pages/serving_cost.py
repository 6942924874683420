"""What a token costs: servers against APIs at every volume, what a dollar buys of each GPU, electricity and carbon of tokens."""
import itertools
import math
from math import inf

import altair
import numpy as np
import pandas as pd

from gpucalc.core.arithmetic import floor, HOURS_PER_YEAR, SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case, Row
from gpucalc.core.figures import dollars, number, percent, seconds, three_figures
from gpucalc.core.quantities import DEFAULTS
from gpucalc.decisions import capacity, rent_or_buy, token_offers
from gpucalc.decisions.columns import nine_digits
from gpucalc.decisions.rent_own_or_api import API, BATCH, OWNED, RENTED
from gpucalc.laws import serving_cost as sc, serving_volume
from gpucalc.laws.energy import carbon_per_million_tokens, kwh_per_million_tokens
from gpucalc.laws.owning import fixed_usd_per_hour, power_usd_per_hour, watts_per_gpu, work_usd_per_hour
from gpucalc.laws.serving import replica_prefill_seconds
from gpucalc.laws.serving_cost import replica_seconds, requests_per_second, serving_usd_per_month, usd_per_million_tokens
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.bands import CLOSE
from ..components.charts import axis, finish, rule, slider_chart
from ..components.dates import by_price, dated
from ..components.picture import Sheet, WIDE
from ..components.sentences import Markdown
from ..components.show import reach, table, volume
from .training_cost import ASSUMED_ENDS, with_ends


# Servers against an API over changes of a case, and what a dollar buys of each GPU.

# Tokens per dollar, by what the dollar pays for.
MEASURES = {"per_card": "card, one user", "per_owned": "owned server, full", "per_rented": "rent, full"}


def what_if(changes, case, cards, degrees, book, term, offers):
    """The cheapest servers, with their bill at both ends of the band, and the cheapest API, for each named change of the case."""
    rows = []
    for name, change in changes.items():
        changed = case.but(**change)
        plans = token_offers.month_plans(capacity.search(changed, cards, degrees), book, term, changed)
        servers = f"{plans['rented_gpus'][0]:.0f} × {plans['gpu'][0]}" if len(plans) else "none in time"
        api = changed.inputs["requests_per_month"] * token_offers.request_usd_of(offers, changed).min()
        bills = {"usd": "serving_usd_per_month", "low": "low_serving_usd_per_month", "high": "high_serving_usd_per_month"}
        best = {title: plans[column][0] if len(plans) else math.nan for title, column in bills.items()}
        rows.append({"case": name, "servers": servers} | best | {"api": api})
    return pd.DataFrame(rows)


def fitting(points):
    """The points of `capacity.search` whose memory holds the batch, at the times to plan for."""
    return capacity.paced(points[points["batch"] <= points["places"]])


def tokens_per_dollar(case, cards, book, term, years):
    """What one GPU of each kind gives: tokens a second to one user, `alone`, and `full`, with its largest `batch`.

    per_card: `alone` over the price of the card. per_owned, per_rented: tokens a USD of a server that is written off
    over the years, with its power at work, and of rent. NaN without a price.
    case: model, efficiency, formats, request, engine.
    """
    sizes = fitting(capacity.search(case, cards, [1]))
    full = sizes.loc[sizes.groupby("gpu")["output_tokens_per_second"].idxmax()].set_index("gpu")
    costs = dollars_of(book, cards, term, years)
    one = sizes[sizes["batch"] == 1].set_index("gpu")["replica_pass_seconds"]
    found = pd.DataFrame({"alone": 1 / one, "batch": full["batch"].astype(float),
                          "full": full["output_tokens_per_second"]}).reindex(cards.index)
    hour = found["full"] * SECONDS_PER_HOUR
    return found.assign(per_card=found["alone"] / costs["card"], per_owned=hour / costs["owned"],
                        per_rented=hour / costs["rented"])


def dollars_of(book, cards, term, years):
    """What one GPU costs: its card (USD), an hour of its part of an owned server with power, a rented hour (USD/h)."""
    likely = catalogue.assumptions()["likely"]
    bought = book[(book["item"] == "server") & firm(book)]
    each = (bought["price"] / bought["gpus_per_server"]).groupby(bought["gpu"]).min()
    kwh = book.loc[book["item"] == "power", "price"].min()
    site = {name: likely[name] for name in ("pue", "server_power_factor")}
    power = Case(cards, usd_per_kwh=kwh, **site)(power_usd_per_hour) if kwh == kwh else kwh
    kinds = token_offers.servers(book, term)
    rented = kinds[kinds["firm"]].groupby("gpu")["usd_per_hour"].min()
    return pd.DataFrame({"card": book[book["item"] == "card"].groupby("gpu")["price"].min(),
                         "owned": each / (years * HOURS_PER_YEAR) + power, "rented": rented}).reindex(cards.index)


# Electricity and carbon of served tokens: what the servers of a replica draw, busy and waiting, with the ranges of each.


def energy_of_tokens(seconds, gpu, replica_gpus, output, utilization):
    """The electricity of a million tokens out with their prompts (kWh), `plan`, `low` and `high`.

    seconds: the band of what a request takes of a full replica. The errors of time, power, site and idle power know nothing of
    each other. NaN where the power of the card is not known.
    """
    assumed, tdp = catalogue.assumptions().loc[:, list(ASSUMED_ENDS)].astype(float), catalogue.gpu(gpu)["tdp_watts"]
    power, over, idle = (assumed.loc[name] for name in ("server_power_factor", "pue", "idle_power_share"))
    time = pd.Series([seconds.low, seconds.plan, seconds.high], ASSUMED_ENDS, dtype=float)
    if np.isnan(tdp) or not np.isfinite(time["likely"]):
        return dict.fromkeys(("low", "plan", "high"), np.nan)
    plan = kwh_per_million_tokens(watts_per_gpu(tdp, power["likely"]), replica_gpus, output / time["likely"], over["likely"],
                                  utilization, idle["likely"])
    return with_ends(plan, time, power, over, 1 + idle * (1 - utilization) / utilization)


def carbon_of_tokens(kwh):
    """The carbon of a million tokens (kg) from their electricity (kWh) on the cleanest, the likely and the dirtiest grid."""
    grids = catalogue.assumptions().loc["carbon_intensity", list(ASSUMED_ENDS)].astype(float)
    return grids.map(lambda grid: carbon_per_million_tokens(kwh, grid)).to_dict()


def power_prices(book):
    """The rows of a book that price electricity, firm ones if there are any."""
    found = book[book["item"] == "power"]
    return found[firm(found)] if firm(found).any() else found


# The cost of tokens as a page shows it: offers and plans as tables, what a dollar buys as a chart.

LABELS = {
    "api_input_usd_per_million": "a million in", "api_cached_usd_per_million": "cached",
    "api_output_usd_per_million": "a million out", "thousand": "1,000 requests", "month": "a month", "fleet": "with servers",
    "own": "own over API", "needed": "pays above", "gpu": "GPU", "tensor_parallel": "in a replica", "batch": "batch",
    "break_even_requests_per_month": "servers pay from, requests a month", "rented_gpus": "GPUs paid",
    "usd_per_hour": "USD/h",
    "request_seconds": "whole request", "paid_utilization": "utilization", "input_usd_per_million": "a million in",
    "output_usd_per_million": "a million out", "serving_usd_per_month": "a month",
    "high_serving_usd_per_month": "slow end", "binds": "what costs most", "confidence": "price is"}
THREE = ["api_input_usd_per_million", "api_cached_usd_per_million", "api_output_usd_per_million", "thousand", "own",
         "input_usd_per_million", "output_usd_per_million"]
WHOLE = ["month", "tensor_parallel", "batch", "rented_gpus", "serving_usd_per_month", "high_serving_usd_per_month"]
FORMATS = dict.fromkeys(THREE, three_figures) | dict.fromkeys(WHOLE, "{:,.0f}".format) | {
    "needed": reach, "break_even_requests_per_month": volume, "paid_utilization": percent,
    "usd_per_hour": "{:.2f}".format}
PLAN = {
    "gpu": ("GPU", str), "provider": ("from", str), "usd_per_hour": ("a GPU-hour", dollars),
    "rented_gpus": ("GPUs paid", number), "tensor_parallel": ("GPUs in a replica", number),
    "replicas": ("replicas", number), "batch": ("sequences in each", number),
    "request_seconds": ("whole request, nothing waits", seconds), "paid_utilization": ("utilization", percent),
    "input_usd_per_million": ("a million tokens in", dollars),
    "output_usd_per_million": ("a million tokens out", dollars),
    "thousand": ("1,000 requests", dollars), "serving_usd_per_month": ("a month", "{:,.0f} USD".format)}


def cost_table(frame, columns, caption):
    """Those of the columns that offers or plans have, as a table in USD; a dash where no servers or no cached price."""
    if "has_cached" in frame:
        cached = frame["api_cached_usd_per_million"].where(frame["has_cached"])
        frame = frame.assign(api_cached_usd_per_million=cached)
    if "firm" in frame and frame["firm"].all():
        columns = [name for name in columns if name != "confidence"]
    if "high_serving_usd_per_month" in frame:
        frame = frame.assign(high_serving_usd_per_month=frame["high_serving_usd_per_month"].replace(math.inf, math.nan))
    return table(by_price(frame)[[name for name in columns if name in frame]], caption, labels=LABELS, formats=FORMATS)


def plan_table(plans, requests_per_month, caption):
    """Plans of a month side by side, a column each by its name, a line for each thing to know."""
    known = {name: dict(plan) | {"thousand": 1000 * plan["serving_usd_per_month"] / requests_per_month}
             for name, plan in plans.items()}
    lines = [{"question": text} | {name: show(plan[key]) for name, plan in known.items()}
             for key, (text, show) in PLAN.items()]
    return table(pd.DataFrame(lines), caption)


def offer_rows(offers):
    """API offers as rows to cite, each with its note."""
    return [Row({"source": offer.source, "date": offer.date, "confidence": offer.confidence},
                f"{offer.row}; {offer.note}" if offer.note else offer.row) for offer in offers.itertuples()]


def plan_row(plan):
    """The rent of a plan as a row to cite."""
    known = {name: plan[name] for name in ("source", "date", "confidence")}
    return Row({name: value for name, value in known.items() if value == value}, plan["row"])


def dollar_chart(ratios, alt):
    """Tokens per dollar over those of one GPU by each of the measures: a line for each GPU."""
    drawn = pd.concat([pd.DataFrame({"gpu": ratios.index, "measure": label, "ratio": ratios[name].to_numpy()})
                       for name, label in MEASURES.items()])
    dots = altair.Chart(drawn).mark_line(point=altair.OverlayMarkDef(size=70)).encode(
        x=altair.X("measure:N", title=None, sort=list(MEASURES.values()), axis=altair.Axis(labelAngle=0)),
        y=altair.Y("ratio:Q", title="tokens per dollar over those of the H100", scale=altair.Scale(type="log")),
        color=altair.Color("gpu:N", title=None, sort=list(ratios.index)), tooltip=["gpu", "measure", "ratio"])
    return finish(dots, alt, title="Which GPU gives most for a dollar depends on the measure")


def volume_chart(bills, spans, late_share, alt):
    """The bill of a month on each way over the requests, dashed where too many of them wait for a cold start or all for a batch;
    a rule where the cheapest way changes."""
    drawn = bills[["requests_per_month", "way"]].assign(
        serving_usd_per_month=bills["usd"], kind=["in time" if cold <= late_share else "late" for cold in bills["cold"]])
    chart = altair.Chart(drawn).mark_line(strokeWidth=2.5).encode(
        x=axis(altair.X, "requests_per_month", "requests_per_month", "requests a month", True),
        y=axis(altair.Y, "serving_usd_per_month", "serving_usd_per_month", "USD a month", True),
        color=altair.Color("way:N", title=None, sort=list(dict.fromkeys(drawn["way"]))),
        strokeDash=altair.StrokeDash("kind:N", legend=None, sort=["in time", "late"]))
    for span in spans[1:]:
        chart += rule(altair.X, span["start"])
    return finish(chart, alt, title=f"The cheapest way: {cheapest_words(spans)}")


def cheapest_words(spans):
    """Which way is the cheapest from which volume on, in words, and where that is too close to call."""
    if len(spans) == 1:
        return f"{spans[0]['way']} at every volume{_doubt(spans[0])}"
    parts = [f"{'from ' + volume(span['start']) + ' on ' if place else ''}{span['way']}{_doubt(span)}"
             for place, span in enumerate(spans)]
    return ", ".join(parts)


def _doubt(span):
    """Where it is too close to call whether the way of a span is the cheapest, in brackets; empty where it is sure."""
    if not span["open"]:
        return ""
    low, high = map(volume, (min(span["open"]), max(span["open"])))
    where = f" at {low}" if low == high else f" from {low} to {high}"
    return f" ({CLOSE}{where if span['sure'] else ''})"


def _ends(low, plan, high):
    """A volume with its ends; never where it is at neither of them."""
    return f"{volume(plan)} ({volume(low)} to {volume(high)})" if low < math.inf else volume(plan)


def ways_table(bills, requests_per_month, caption):
    """Each way in a month: what it takes, its bill, whether it costs less than the API, and from which volume on it does."""
    month = by_price(bills[bills["requests_per_month"] == requests_per_month])
    turns = {way: turn(bills, way) for way in month["way"]}
    shown = month[["way", "fleet", "usd", "low", "high", "cold"]].replace(math.inf, math.nan).assign(
        cheaper=[None if way == API else verdict(bills, requests_per_month, way) or None for way in month["way"]],
        turn=[None if way == API else _ends(*turns[way]) for way in month["way"]])
    money = dict.fromkeys(["usd", "low", "high"], "{:,.0f}".format)
    return table(shown, caption, formats=money | {"cold": percent}, labels={
        "fleet": "for example", "usd": "a month, USD", "low": "fast end", "high": "slow end", "cold": "wait for a start",
        "cheaper": "cheaper than the API?", "turn": "cheaper from, requests a month (fast to slow end)"})


# Pictures of the cost of a token: what an hour of GPUs that you pay for is spent on.

_TOP, _TALL = 40, 46


def hour_picture(replica, gpu):
    """An hour of a replica as one bar: it reads prompts, writes answers, or waits; with the tokens that come out of each part.

    replica: a case with a GPU, a load's lengths, a batch and the share of the hours in which it is full. Times are to plan for.
    """
    busy, slow = replica.inputs["replica_utilization"], replica.band(replica_seconds)
    reading = busy * replica(replica_prefill_seconds) / slow.value
    requests, gpus = 3600 * busy / slow.plan, replica.inputs["tensor_parallel"]
    tokens = [requests * replica.inputs[name] for name in ("prompt", "output")]
    parts = [("reads prompts", reading, "a", f"{number(_rounded(tokens[0]))} tokens in"),
             ("writes answers", busy - reading, "b", f"{number(_rounded(tokens[1]))} tokens out"),
             ("waits", 1 - busy, "wash", "no tokens")]
    sheet, left = Sheet(150), 0.0
    sheet.text(0, 14, f"one hour of {gpus:g} × {gpu}, paid as a whole", color="soft")
    for place, (name, share, color, said) in enumerate(parts):
        sheet.box(left, _TOP - 16, max(share * WIDE - 2, 1), _TALL, color, "line" if color == "wash" else None, 2)
        _key(sheet, place, color, f"{name}, {number(round(60 * share, 1))} min", said)
        left += share * WIDE
    return sheet.picture(f"Of an hour that you pay for, {percent(round(busy, 3))} makes tokens",
                         "; ".join(f"{name} for {percent(round(share, 3))} of the hour: {said}"
                                   for name, share, _, said in parts))


def _key(sheet, place, color, said, tokens):
    down = _TOP + _TALL + 10 + 21 * place
    sheet.box(0, down - 11, 12, 12, color, "line" if color == "wash" else None, 2)
    sheet.text(18, down, said).text(WIDE, down, tokens, "end", bold=True)


def _rounded(count):
    return float(f"{count:.2g}")


# The bill of a month over volumes on every way to serve tokens: an API, serverless GPUs, servers rented and owned.

SERVERLESS, SCALED = "serverless GPUs", "servers rented with the load"
# Those that answer at once.
WAYS = (API, SERVERLESS, SCALED, RENTED, OWNED)
COLUMNS = ["requests_per_month", "way", "usd", "low", "high", "cold", "fleet", "row"]
ENDS = {"usd": "plan", "low": "low", "high": "high"}
# What one of the ways is chosen of: a GPU and degree on a provider's kind of server.
KIND = ["gpu", "tensor_parallel", "provider", "row"]
# What a bill follows from, by point, and the sides of a bill that are drawn.
PAID_BY = ("alone_seconds", "request_seconds", "batch", "tensor_parallel", "gpus_per_server", "usd_per_hour")
PAID = ("", "low_", "high_")
# Draws of the cost of an owned hour, and how old the price of a server may be (years): older ones are no longer sold new.
DRAWS = 2000


def by_volume(months, points, book, term, case, offers, batch=None):
    """The bill of each of these months on the cheapest of each way, by `requests_per_month` and `way`; none where no price is.

    `usd` is to plan for, `low` and `high` are the ends of its band; `cold` is the share of requests that wait for a start, and
    `row` the price that it rests on. points: of `capacity.search`. case: as `token_offers.month_plans` takes it. batch: of
    `token_offers.batch_offer`; its requests wait for no start but for their batch, so its `cold` is blank. Only prices that are
    `firm` count.
    """
    kinds = {SERVERLESS: _firm(token_offers.servers(book, "serverless")), SCALED: _firm(token_offers.servers(book, term))}
    starts = _starts(case)
    grids = {way: _up_grid(points, held, case) for way, held in kinds.items() if len(held)}
    owned = owned_hours(book, term)
    up = [_up(way, grid, starts[way], months, case) for way, grid in grids.items()]
    rows = []
    for place, requests in enumerate(months):
        month = case.but(requests_per_month=requests)
        rows += _api(month, offers) + _batch(month, batch)
        rows += [found[place] for found in up if found]
        plans = capacity.plans(points, month(requests_per_second), sides=PAID, **capacity.limits_of(case))
        rows += _all_month(RENTED, plans, kinds[SCALED].assign(low_rate=kinds[SCALED]["usd_per_hour"],
                                                               high_rate=kinds[SCALED]["usd_per_hour"]), month)
        rows += _all_month(OWNED, plans, owned, month)
    return pd.DataFrame(rows, columns=COLUMNS)


def _firm(found):
    return found[found["firm"]]


def _api(month, offers):
    sure = offers[offers["firm"]]
    if sure.empty:
        return []
    return [_bought(API, month, sure.iloc[0], "api_request_usd", 0)]


def _batch(month, offer):
    return [] if offer is None else [_bought(BATCH, month, offer, "api_batch_request_usd", math.nan)]


def _bought(way, month, offer, price, cold):
    requests = month.inputs["requests_per_month"]
    usd = requests * offer[price]
    return dict(requests_per_month=requests, way=way, usd=usd, low=usd, high=usd, cold=cold, fleet=offer["provider"],
                row=offer["row"])


# Paid while they are up

def _starts(case):
    """Cold start of each way (s)."""
    weights = case.but(gpu=None, link=None, batch=None, tensor_parallel=None)
    return {SERVERLESS: weights(serving_volume.cold_start_seconds), SCALED: weights(serving_volume.server_start_seconds)}


def _up_grid(points, kinds, case):
    """Every point that memory holds and whose request is in time by itself, on each kind of server, at each end of the band."""
    limits = capacity.limited(**capacity.limits_of(case))
    grids = {}
    for name, end in ENDS.items():
        moved = capacity.paced(points, end)
        one = moved[moved["batch"] == 1].set_index(["gpu", "tensor_parallel"])["request_seconds"].rename("alone_seconds")
        moved = capacity.alone(moved, limits).join(one, on=["gpu", "tensor_parallel"]).merge(kinds, on="gpu")
        grids[name] = moved[moved["gpus_per_server"] >= moved["tensor_parallel"]]
    return grids


def _up(way, grids, start, months, case):
    """Of each month the cheapest GPU, degree and server of a grid, with the best batch at each end; none if none is in time."""
    limits = capacity.limited(**capacity.limits_of(case))
    timeout = case.inputs.get("idle_timeout", DEFAULTS["idle_timeout"].value)
    spare = 0 if way == SERVERLESS else limits.spare_replicas
    bills = {name: _up_usd(grid, months, start, timeout, limits.most_load, spare) for name, grid in grids.items()}
    if bills["usd"].empty:
        return []
    alone, rows = grids["usd"].groupby(KIND)["alone_seconds"].min(), []
    for requests, best in zip(months, bills["usd"].idxmin()):
        cold = serving_volume.cold_request_share.formula(requests, alone[best], start, timeout)
        ends = {name: bill[requests].get(best, math.inf) for name, bill in bills.items()}
        rows.append(dict(requests_per_month=requests, way=way, **ends, cold=cold, fleet=f"{best[0]} from {best[2]}", row=best[3]))
    return rows


def _up_usd(grid, months, start, timeout, most_load, spare):
    """The bill of each month, a column each, by GPU, degree and server, in the best batch."""
    requests, held = np.array(months, float)[:, None], {name: grid[name].to_numpy() for name in PAID_BY}
    up = serving_volume.awake_share.formula(requests, held["alone_seconds"], start, timeout)
    replicas = serving_volume.awake_replicas.formula(up, requests, held["request_seconds"], held["batch"], most_load, spare)
    gpus = serving_volume.awake_gpus.formula(replicas, up, held["tensor_parallel"], held["gpus_per_server"])
    usd = serving_volume.awake_usd_per_month.formula(held["usd_per_hour"], gpus)
    return pd.DataFrame(usd.T, columns=months).groupby([grid[name].to_numpy() for name in KIND]).min()


# Paid all month

def _all_month(way, plans, kinds, month):
    """The cheapest servers of the plans at the rates of `kinds`, rented or owned."""
    if kinds.empty:
        return []
    requests, output = (month.inputs[name] for name in ("requests_per_month", "output"))
    found = token_offers.on_servers(plans, kinds, month.inputs.get("most_servers"), PAID)
    if found.empty:
        return []
    busy = token_offers.busy_share(found, requests, output)
    rates = {"usd": found["usd_per_hour"], "low": found["low_rate"], "high": found["high_rate"]}
    for name, side in (("usd", ""), ("low", "low_"), ("high", "high_")):
        paid = found[f"{side}rented_gpus"]
        found[name] = (serving_usd_per_month.formula(rates[name], paid) if "work" not in found else
                       serving_volume.owned_serving_usd_per_month.formula(
                           paid, rates[name], found["work"], busy, found["availability"]))
    best = found.sort_values(["usd", "high", "tensor_parallel", "gpu", "provider"], key=nine_digits).iloc[0]
    return [dict(requests_per_month=requests, way=way, usd=best["usd"], low=best["low"], high=best["high"], cold=0,
                 fleet=f"{best['rented_gpus']:.0f} × {best['gpu']}", row=best["row"])]


def owned_hours(book, term):
    """What an hour of owned servers costs, of those whose price may decide: GPU, size, fixed cost with its ends, work.

    Empty where the book lacks a price that owning needs.
    """
    hours = [_owned_hour(book, gpu, term) for gpu in sorted(set(book.loc[book["item"] == "server", "gpu"]))]
    return pd.DataFrame(filter(None, hours), columns=["gpu", "gpus_per_server", "usd_per_hour", "low_rate", "high_rate", "work",
                                                      "availability", "provider", "row"])


def _owned_hour(book, gpu, term):
    try:
        deal = rent_or_buy.deal(book, gpu, catalogue.assumptions(), {}, term)
    except ValueError:
        return None
    if deal.doubt:
        return None
    case = deal.case(catalogue.gpu(gpu))
    hour = rent_or_buy.drawn_band(fixed_usd_per_hour, case, rent_or_buy.draws(deal.ranges, DRAWS))
    return dict(gpu=gpu, gpus_per_server=deal.fixed["gpus_per_server"], usd_per_hour=hour.plan, low_rate=hour.low,
                high_rate=hour.high, work=case(work_usd_per_hour), availability=deal.ranges.loc["availability", "likely"],
                provider="own", row=deal.rows["server"].name)


# Which is the cheapest

def spans(bills, late_share):
    """From which volume to which each way is the cheapest, in order: `way`, `start`, `stop`, and the volumes where it is `sure`
    and where that is `open`.

    It is sure where its slow end costs less than the fast end of any other. A way on which more than `late_share` of requests
    wait for a cold start is not in time there.
    """
    found = []
    for requests, month in bills[bills["cold"] <= late_share].groupby("requests_per_month"):
        best = month.loc[month["usd"].idxmin()]
        others = month[month["way"] != best["way"]]
        sure = best["high"] < others["low"].min() if len(others) else True
        if not found or found[-1]["way"] != best["way"]:
            found.append(dict(way=best["way"], start=requests, stop=requests, sure=[], open=[], row=best["row"],
                              fleet=best["fleet"]))
        found[-1]["stop"] = requests
        found[-1]["sure" if sure else "open"].append(requests)
    for one, other in itertools.pairwise(found):
        other["start"] = one["stop"] = crossing(bills, other["way"], one["way"], one["stop"], other["start"])
    return found


def crossing(bills, way, other, before, after):
    """Volume between two of the table at which one way comes to cost what the other does; each bill is a power of it there."""
    held = bills.set_index(["way", "requests_per_month"])["usd"]
    try:
        first, last = (math.log(held[way, at] / held[other, at]) for at in (before, after))
    except KeyError:
        return after
    if not first > 0 >= last:
        return after
    return before * (after / before) ** (first / (first - last))


def turn(bills, way, other=API):
    """From which volume on a way costs less than another, as (low, plan, high) by the ends of its band; infinite if never."""
    both = bills.pivot(index="requests_per_month", columns="way", values=["usd", "low", "high"])
    if ("usd", way) not in both or ("usd", other) not in both:
        return (math.inf,) * 3
    return tuple(_first(both[name, way], both["usd", other]) for name in ("low", "usd", "high"))


def _first(bill, other):
    """The volume at which the first bill falls below the other and stays there."""
    above = bill.index[~(bill < other)]
    if len(above) and above[-1] == bill.index[-1]:
        return math.inf
    return bill.index[0] if above.empty else bill.index[bill.index > above[-1]][0]


def verdict(bills, requests, way, other=API):
    """Whether one way costs less than another in a month: `yes`, `no`, or too close to call; blank where either has no bill."""
    held = bills[bills["requests_per_month"] == requests].set_index("way")
    if way not in held.index or other not in held.index:
        return ""
    one, two = held.loc[way], held.loc[other]
    return "yes" if one["high"] < two["low"] else "no" if one["low"] > two["high"] else CLOSE


# What may wait

def waiting_usd(points, book, term, case):
    """The cheapest servers for requests that may wait, rented only while they are full: USD for a request, as (low, plan, high).

    `fleet` and `row` say which; None if no server of the book with a firm price holds a replica.
    """
    kinds = _firm(token_offers.servers(book, term))
    bills = {}
    for end in ("low", "plan", "high"):
        moved = capacity.paced(points, end)
        found = moved[points["batch"] <= points["places"]].merge(kinds, on="gpu")
        found = found[found["gpus_per_server"] >= found["tensor_parallel"]].reset_index(drop=True)
        rate = floor(found["gpus_per_server"] / found["tensor_parallel"]) * found["batch"] / found["request_seconds"]
        bills[end] = usd_per_million_tokens.formula(found["usd_per_hour"], found["gpus_per_server"], rate) / 1e6
    if found.empty:
        return None
    best = bills["plan"].idxmin()
    row = found.loc[best]
    return dict(low=bills["low"][best], plan=bills["plan"][best], high=bills["high"][best], batch=row["batch"],
                fleet=f"{row['gpus_per_server']:.0f} × {row['gpu']} from {row['provider']}", row=row["row"])


def batch_slider_chart(replica, rate, utilization, prompt, output, cached_share, tensor_parallel, alone, many, cost_in):
    """USD for a million tokens in and out against the batch."""
    return slider_chart(
        replica, {"a million tokens out": sc.output_usd_per_million, "a million tokens in": sc.input_usd_per_million},
        x="batch", values=[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256], y_title="USD", log_x=True, log_y=True,
        sliders={"usd_per_hour": (min(0.1, rate), max(12, 2 * rate), 0.01, rate),
                 "replica_utilization": (min(0.05, utilization), 1, 0.05, utilization),
                 "prompt": (min(100, prompt), max(16000, prompt), 100, prompt),
                 "output": (min(50, output), max(4000, output), 50, output),
                 "cached_share": (0, 1, 0.05, cached_share), "tensor_parallel": (1, 8, 1, tensor_parallel)},
        finding="At batch {batch} a million tokens out cost {output_usd_per_million}",
        alt=f"A million tokens out cost {dollars(alone)} at batch 1 and {dollars(many)} at 256; a million tokens in cost "
            f"{dollars(cost_in.value)} at every batch.")


def utilization_slider_chart(compared, asked, sliders, costs_words, tensor_parallel, gpu, full_load, api):
    """The cost of a request on own GPUs against utilization, beside an API's."""
    return slider_chart(compared, {"own GPUs": sc.request_usd} | ({"cheapest API": sc.api_request_usd} if asked else {}),
                        x="replica_utilization", values=[step / 50 for step in range(2, 51)], y_title="USD a request", log_y=True,
                        sliders=sliders, choose=("gpu",), crossing=sc.api_break_even_utilization if asked else None,
                        finding=costs_words if asked else "A request costs {request_usd}",
                        alt=f"The cost of a request on {tensor_parallel} × {gpu} falls with utilization, "
                        f"to {dollars(full_load.plan)} when never idle"
                        + (f"; the cheapest API asks {dollars(api.api_request_usd)}." if asked else "."))


def cached_table(cached, prompt, utilization, book, offers, rent):
    """What a cached prompt costs on own GPUs and by the API."""
    return table(cached.dropna(axis=1),
                 f"Prompts of {prompt:,} tokens of which a share is cached on both sides, {percent(utilization)} "
                 f"utilization ({dated(book, offers, rent)})",
                 labels={"input": "a million in, own", "own": "1,000 requests, own", "api": "1,000 requests, cheapest API"},
                 formats=dict(cached_share=percent, **dict.fromkeys(["input", "own", "api"], dollars)))


def month_slider_chart(first_usd, months, last_usd, in_time, api, month, curves, month_sliders):
    """The cost of a request against the requests of a month, or a sentence where no replica answers in time."""
    says = (
        f"A thousand requests cost {dollars(first_usd)} on own servers at {number(months[0])} a month and {dollars(last_usd)} at "
        f"{number(months[-1])}"
        if in_time
        else "No number of these replicas answers in time")
    says += f"; {dollars(1000 * api.api_request_usd)} at the API at any volume." if api is not None else "."
    return (slider_chart(month, curves, x="requests_per_month", values=months, sliders=month_sliders, log_x=True, log_y=True,
                         y_title="USD a request", finding="A request costs less the fuller the servers are", alt=says)
            if curves
            else Markdown(f"*{says}*"))


def changed_table(CHANGES, case, cards, degrees, book, term, offers, plans):
    """The cheapest servers and API, by what is changed."""
    changed = what_if(CHANGES, case, cards, degrees, book, term, offers)
    return table(
        changed.dropna(axis=1, how="all"), f"The cheapest servers and the cheapest API, a month ({dated(book, plans, offers)})",
        labels={"case": "", "servers": "cheapest servers", "usd": "servers, a month", "low": "fast end", "high": "slow end",
                "api": "API, a month"},
        formats=dict.fromkeys(["usd", "low", "high", "api"],
                              lambda value: f"{value:,.0f} USD" if value < inf else "none in time"))
