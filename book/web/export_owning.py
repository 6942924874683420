"""What the browser needs to answer rent or buy and the ways to serve a load: prices, ranges and draws, as plain values for JSON.

`book/static/owning.js` reads it and says how; `LAWS` are the laws that it asks for, `HELD` further quantities.
"""
from typing import Any

from gpucalc.decisions import decide, draws, owning_choice, token_offers
from gpucalc.decisions.deals import is_current, server_rows
from gpucalc.decisions.token_volumes import API, BATCH, OWNED, RENTED
from gpucalc.decisions.ways import FOR_HOURS
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.bands import INSIDE
from gpucalc.rows.price_book import ITEMS, RESERVED_YEARS
from gpucalc.rows.rents import rents
from gpucalc.rows.tables import OF_PRICE

LAWS = ("owning_npv", "break_even_utilization", "owned_usd_per_hour", "level_usd_per_hour", "fixed_usd_per_hour",
        "work_usd_per_hour", "declining_residual", "spot_usd_per_hour", "group_interruption_seconds", "network_usd",
        "rack_usd_per_month", "offered_gpu_hours", "user_requests_per_second", "mean_requests_per_month", "window_requests",
        "paid_utilization", "rented_gpus", "owned_serving_usd_per_month", "serving_usd_per_month", "api_request_usd",
        "api_batch_request_usd", "offered_load", "answer_seconds", "time_to_first_token", "late_token_seconds")
# What a case may hold beside their arguments.
HELD = ("first_token_limit", "token_limit", "answer_limit", "window_requests", "most_load", "spare_replicas")
# Of a share, whose place among all is two digits of base 32.
DIGITS = "0123456789abcdefghijklmnopqrstuv"
# What a deal has that is not its own.
_ANY = {"server_usd": 1.0, "gpus_per_server": 1, "usd_per_hour": 1.0}
_OF_RENT = ("gpu", "gpus_per_server", "provider", "region", "term", "usd_per_hour", "sure", "confidence", "date", "row")


def owning_data(book: Any) -> dict[str, Any]:
    """All of it for a price book.

    draws: how many; shares: of each input, their places in order; assumptions: low, likely, high, and whether they are factors
    on a price; terms: what each fixes, the names of its ranges and the years that it covers; watts: of a GPU; site and network:
    what a server of any size takes; servers, the cheapest GPU first; rents, the cheapest hour first; api and batch: offers by
    model; counts: of servers.
    """
    assumed, usual = catalogue.assumptions(), _deal(book, owning_choice.USUAL_TERM)
    terms = {term: _term(_deal(book, term), term, usual) for term in ITEMS["rent"].terms}
    drawn = {name for term in terms.values() for name in term["names"]}
    return {
        "draws": owning_choice.DRAWS, "wide": draws.WIDE, "inside": INSIDE, "term": owning_choice.USUAL_TERM,
        "shares": {name: _digits(share) for name, share in owning_choice.shares().items() if name in drawn},
        "assumptions": {name: [row.low, row.likely, row.high, row.unit == OF_PRICE] for name, row in assumed.iterrows()},
        "terms": terms,
        "watts": catalogue.gpus()["tdp_watts"].dropna().to_dict(),
        **_site(usual),
        "servers": _servers(book),
        "rents": {"columns": _OF_RENT, "rows": _rents(book)},
        "api": {model: _offers(token_offers.api_offers(book, model)) for model in _models(book, token_offers.API_ITEMS)},
        "batch": {model: _offers(token_offers.batch_offers(book, model)) for model in _models(book, token_offers.BATCH_ITEMS)},
        "counts": token_offers.SERVERS,
        "ways": {"api": API, "batch": BATCH, "rented": RENTED, "hours": FOR_HOURS, "owned": OWNED},
    }


def _digits(share):
    places = (share * len(share) - 0.5).round().astype(int)
    return "".join(DIGITS[place // 32] + DIGITS[place % 32] for place in places)


def _deal(book, term):
    """A deal of which nothing is a GPU's own; of years that no reservation covers."""
    assumed, gpu = catalogue.assumptions(), book.loc[book["item"] == "rent", "gpu"].iloc[0]
    return decide.deal(book, gpu, assumed, _ANY | {"years": assumed.loc["years", "high"]}, term)


def _term(deal, term, usual):
    return {"names": list(deal.ranges.index), "years": RESERVED_YEARS.get(term, 0),
            "fixed": {name: value for name, value in deal.fixed.items() if name not in usual.fixed}}


def _site(deal):
    hosting, own = deal.rows["hosting"], ("gpus_per_server", "network_ports", "network_usd")
    by = "hosting_usd_per_kw_month" if "hosting_usd_per_kw_month" in hosting else "hosting_usd_per_month"
    network = {name: value for name, value in deal.fixed.items() if name not in own}
    return {"site": {"usd_per_kwh": deal.rows["power"].usd_per_kwh, by: hosting[by]}, "network": network or None}


def _servers(book):
    rows = book[book["item"] == "server"]
    return [{"gpu": gpu, "gpus_per_server": row.gpus_per_server, "server_usd": row.server_usd, "provider": row.provider,
             "networked": row.get("includes") == "network", "current": bool(is_current(book, row)),
             "confidence": row.confidence, "date": row.date, "row": row.name}
            for gpu in dict.fromkeys(rows["gpu"]) for row in server_rows(rows[rows["gpu"] == gpu])]


def _rents(book):
    found = rents(book)
    return found.assign(sure=firm(found).astype(int)).rename_axis("row").reset_index()[list(_OF_RENT)].to_numpy().tolist()


def _models(book, items):
    return sorted(set(book.loc[book["item"].isin(items), "sku"]))


def _offers(found):
    unused = ["source", "note", "sku", "region", "has_cached"]
    return found.sort_values(token_offers.OFFER, kind="stable").drop(columns=unused, errors="ignore").to_dict("records")
