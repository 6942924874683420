"""Servers against an API over changes of a case, and what a dollar buys of each GPU."""
import json
import math

import pandas as pd

from gpucalc.core.arithmetic import HOURS_PER_YEAR, SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case
from gpucalc.decisions import capacity, token_offers
from gpucalc.laws.owning import power_usd_per_hour
from gpucalc.laws.serving_cost import MILLION, usd_per_million_tokens
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.claims import claims, measurements
from gpucalc.rows.selections import selection

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


def ideal_and_real(case):
    """Eight RTX 4090 and eight H100 at an article's hourly cost: USD for a million tokens by its ideal batch, `ideal`,
    and with the largest `batch` that fits, prompts and links counted, `usd`. case as above.
    """
    found = measurements("serving_cost").loc[["cost-bojieli-8x4090", "cost-bojieli-8xh100"]]
    inputs = pd.DataFrame([json.loads(text) for text in found["inputs"]], ["RTX 4090 24GB", "H100 SXM 80GB"])
    cards = capacity.linked_gpus("H100 SXM 80GB").loc[inputs.index]
    sizes = fitting(capacity.search(case.but(model="Llama-2-70B"), cards, [8]))
    most = sizes.groupby("gpu")[["batch", "output_tokens_per_second"]].max().loc[inputs.index]
    usd = usd_per_million_tokens(inputs["usd_per_hour"], 8, most["output_tokens_per_second"])
    return most.assign(ideal_batch=inputs["batch"], ideal=found["predicted"].to_numpy(), usd=usd)


@selection
def bandwidth_per_usd(book, reference):
    """Memory bandwidth for a dollar of each card's lowest price, over that of the reference; empty if that has no price."""
    bought = book[book["item"] == "card"].groupby("gpu")["price"].min()
    found = (catalogue.gpus()["bandwidth"] / bought).dropna()
    return found / found[reference] if reference in found else found.head(0)


def drawn_chart():
    """An article's chart of tokens per dollar: what it draws, and what its own rates and rents give, over the first."""
    found = claims("serving_cost").filter(like="sc-chart", axis=0)
    inputs = pd.DataFrame([json.loads(text) for text in found["inputs"]], found.index)
    per_usd = MILLION / usd_per_million_tokens(inputs["usd_per_hour"], 1, inputs["tokens_per_second"])
    offer = found["claim"].str.extract(r"dollar of an? (.*), as drawn", expand=False)
    return inputs.assign(offer=offer, per_usd=per_usd, drawn_ratio=found["value"] / found["value"].iloc[0],
                         ratio=per_usd / per_usd.iloc[0])
