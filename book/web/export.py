"""What the front page decides with: laws, rows, prices and declarations as scripts."""
import math
from collections.abc import Iterable
from typing import Any, TYPE_CHECKING

from gpucalc.core.law import LAWS
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions import capacity, jobs, rent_or_buy, token_offers
from gpucalc.decisions.answer import LEVELS, LOAD, WIDE
from gpucalc.decisions.capacity import cache_formats, left_out, narrow_products, with_links
from gpucalc.decisions.layouts import published_degrees
from gpucalc.decisions.market import (forbidden, GROUPS, KEPT, LONG_SEQUENCE, MORE_BATCHES, NETWORKS, NO_PRICE, OWN_TERM, SERVER,
                                      SPREAD, STAGES, stale, TENSOR, TERMS, UNPRICED)
from gpucalc.decisions.points import ENDS, ROUNDS
from gpucalc.decisions.rent_or_buy import is_current, server_rows
from gpucalc.decisions.rent_own_or_api import API, BATCH, FOR_HOURS, OWNED, RENTED, YOURS
from gpucalc.decisions.run_speeds import planned_mfu
from gpucalc.decisions.token_offers import API_ITEMS, BATCH_ITEMS, models_sold
from gpucalc.laws.demand import user_requests_per_second
from gpucalc.laws.kv_cache import weight_bytes
from gpucalc.laws.model_size import offloaded_token_seconds
from gpucalc.laws.owning import power_usd_per_hour
from gpucalc.laws.training_cost import excess_machines
from gpucalc.rows import bands, catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.bands import INSIDE
from gpucalc.rows.price_book import ITEMS, RESERVED_YEARS
from gpucalc.rows.rents import area_of, AREAS, rents
from gpucalc.rows.tables import OF_PRICE, rows
from . import javascript

if TYPE_CHECKING:
    from pandas import DataFrame


# What a browser needs to decide as Python does, as plain data: declarations, rows, offers and how far off laws are.
#
# `script` makes one classic script of it and of the laws; book/static/rule.js and market.js decide with it and say how.

# A table of the script: what it is called there, by what of a job it has.
_DECLARED = {"chains": "chain", "cards": "cards", "objectives": "objective", "keys": "keys", "free": "free", "usual": "usual",
             "changes": "changes", "turns": "turns", "times": "times"}
# Texts of a row that a decision or its page reads beside the numbers.
_WORDS = {"gpus": ("vendor", "kind", "peak_format"), "models": ("family", "repository", "native_format"),
          "recipes": ("title", "compute_format"), "formats": ("title",), "efficiencies": ("title",), "engines": ()}
# Rows with names of laws or quantities where others have numbers.
_NAMING = {"efficiencies": catalogue.efficiency, "recipes": catalogue.recipe}
# Columns that only a derivation shows.
_APART = {"usual_model", "source", "unit", "date", "confidence", "note"}


def script(book: "DataFrame", more: Iterable[str] = ()) -> str:
    """A script that sets `gpucalc.laws` and `gpucalc.data`: all that decisions need, with the prices of the book.

    more: names of further laws and quantities that a page needs. Raises ValueError for a name that is neither.
    """
    wanted = _wanted(more)
    text = javascript.script(sorted(wanted & set(LAWS)), sorted(_quantities(wanted - set(LAWS))))
    return f"{text}Object.assign(gpucalc.data, {javascript.shared(data(book, more))});\n"


def laws(more: Iterable[str] = ()) -> list[str]:
    """Names of the laws in the script."""
    return javascript.reached(_wanted(more) & set(LAWS))


def _wanted(more):
    told = {row["when"] for row in rows("families").values() if row["when"]} | {
        law for more in jobs.ALONG.values() for law in more.values() if law in LAWS}
    return {*_names(declared()), user_requests_per_second.__name__, excess_machines.__name__, weight_bytes.__name__,
            power_usd_per_hour.__name__, offloaded_token_seconds.__name__, *(_stand_ins() & set(LAWS)), *told, *more}


def declared() -> dict[str, Any]:
    """The declarations of all decisions as plain data, by name."""
    held = {table: {kind: getattr(job, part) for kind, job in jobs.JOBS.items()} for table, part in _DECLARED.items()}
    held["like"] = {kind: job.like for kind, job in jobs.JOBS.items() if job.like}
    return {name: _plain(table) for name, table in held.items()} | {
        "ends": ENDS, "rounds": ROUNDS,
        "along": {given: {name: f"law:{law}" if law in LAWS else law for name, law in more.items()}
                  for given, more in jobs.ALONG.items()}}


def data(book: "DataFrame", more: Iterable[str] = ()) -> dict[str, Any]:
    """What decisions need beside the laws, for JSON: None is a blank, tables are lists by column."""
    wanted = _wanted(more)
    laws = javascript.reached(wanted & set(LAWS))
    used = _quantities(wanted) | {name for law in laws for name in LAWS[law].arguments} | _stand_ins()
    kinds = {"models": catalogue.model, "recipes": catalogue.recipe, "formats": catalogue.weight_format,
             "efficiencies": catalogue.efficiency, "engines": catalogue.engine}
    return declared() | {
        "jobs": {name: {column: value for column, value in catalogue.FINDERS["job"](name).items() if column not in _APART}
                 for name in rows("jobs")},
        **{name: _table([find(key) | {"name": key} for key in rows(name)], used, ("name", *_WORDS[name]))
           for name, find in kinds.items()},
        "gpus": _gpus(used),
        "lacking": {name: _lacking(name) for name in rows("formats")},
        "lacking_cache": {f"{width:g}": _lacking(None, width) for width in cache_formats()}, "narrow": narrow(),
        "networks": [_network(NETWORKS[near]) for near in (False, True)], "server": SERVER, "terms": TERMS,
        "usual_term": jobs.USUAL_TERM, "owned": OWN_TERM, "unpriced": UNPRICED, "no_price": NO_PRICE, "most_load": LOAD,
        "replicas": {"tensor": TENSOR, "groups": GROUPS, "stages": STAGES, "batches": jobs.BATCHES,
                     "more_batches": MORE_BATCHES, "kept": KEPT},
        "engine": capacity.ENGINE,
        "offers": _offers(book),
        "areas": areas(book),
        "apis": _apis(book), "file": book.attrs["file"], "date": book.attrs["date"],
        "assumptions": {name: [row["low"], row["likely"], row["high"]] for name, row in rows("assumptions").items()},
        "spread": SPREAD, "published": _published(), "long_sequence": LONG_SEQUENCE,
        "tried": {axis: each[:2] for axis, each in jobs.TRIED.items() if each[0]},
        "bands": _bands(laws), "families": _families(laws), "wide": WIDE, "levels": LEVELS,
        "apart": {differs: row["ratio"] for differs, row in rows("ratio_errors").items()}}


def _published() -> dict[str, Any]:
    """The degrees of published runs, with whether the model has experts and its parameters, in order of the degrees."""
    return {"names": jobs.DEGREES_USED, "runs": sorted({*published_degrees()}, key=lambda run: run[2])}


def areas(book: "DataFrame") -> dict[str, Any]:
    """The names of areas, and the area of each region of a price book."""
    return {"names": list(AREAS), "of": {region: area_of(region) for region in sorted(set(book["region"]))}}


def _plain(value):
    """Declarations as JSON holds them, without what is not said or does not hold."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items() if each is not False and each != ""}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _names(value):
    """All texts in plain data that are names of laws or quantities."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return {name for each in value for name in _names(each)}
    return {value} & {*LAWS, *QUANTITIES} if isinstance(value, str) else set()


def _quantities(wanted):
    """What a case may hold: of these names, and of the jobs."""
    jobs = rows("jobs").values()
    taken = {name for job in jobs for text in (job["needs"], job["takes"]) for name in text.replace("|", " ").split()}
    return (wanted | taken | {name for job in jobs for name in job}) & set(QUANTITIES)


def _stand_ins():
    """The laws and quantities that rows of shares and recipes name in place of a number."""
    found = [find(name) for table, find in _NAMING.items() for name in rows(table)]
    return {cell for row in found for cell in row.values() if isinstance(cell, str) and cell in QUANTITIES}


def _table(found, used, words=()):
    """Rows as lists by column, of the columns that laws take and these texts."""
    names = [name for name in found[0] if name in words or name in used and name in QUANTITIES]
    return {name: [_cell(row[name]) for row in found] for name in names}


def _cell(value):
    """A plain value: None for a blank, whole numbers without a point."""
    if isinstance(value, str):
        return value
    value = float(value)
    return None if math.isnan(value) else int(value) if value.is_integer() else value


def _gpus(used):
    """All GPUs with their link, the MFU to plan for, and what of them is not for every job."""
    shares = planned_mfu()[["low", "plan", "high"]].add_suffix("_mfu")
    frame = with_links().join(shares)
    frame = frame.assign(forbidden=forbidden(frame), no_ecc=frame["ecc"] != 1)
    extra = ("name", *_WORDS["gpus"], "forbidden", "no_ecc", "arm_host", "unmeasured", "low_mfu", "plan_mfu", "high_mfu")
    return _table(frame.rename_axis("name").reset_index().to_dict("records"), used, extra)


def _lacking(weight_format, cache_element_bytes=None):
    """GPUs without a path for the format, or for a cache of such elements, by their place among the GPUs."""
    cards = catalogue.gpus().assign(latency=0)
    return [place for place, reason in enumerate(left_out(cards, weight_format, cache_element_bytes)) if reason]


def narrow():
    """By format how often the bits of products are halved, and the places of the GPUs that do, if any."""
    cards, found = catalogue.gpus(), {}
    for name in rows("formats"):
        halvings = [int(each) for each in narrow_products(cards, name)]
        if any(halvings):
            found[name] = {"halvings": max(halvings), "gpus": [place for place, each in enumerate(halvings) if each]}
    return found


def _network(name):
    link = catalogue.link(name)
    return {"name": name, "network_bandwidth": link.link_bandwidth, "network_latency": link.latency}


def _offers(book):
    """Rents, the cheapest first: of each provider, region, GPU, size and term the firm one.

    rest: what the key of a row has besides provider, SKU, region and term.
    """
    found = rents(book, required=False)
    found = found.assign(sure=firm(found), stale=stale(found, book)).sort_values("sure", ascending=False, kind="stable")
    found = found.drop_duplicates(["provider", "region", "gpu", "gpus_per_server", "term"])
    found = found.sort_values("usd_per_hour", kind="stable")
    numbers = ("gpus_per_server", "usd_per_hour", "reserved_years", "sure", "stale", "yours")
    found["rest"] = [name.partition(f", {row.region}, {row.term}")[2] for name, row in found.iterrows()]
    return {name: _coded(found[name]) for name in ("gpu", "provider", "sku", "region", "term", "rest", "date")} | {
        name: [_cell(each) for each in found[name]] for name in numbers}


def _coded(column):
    """A column of texts that repeat: the different ones, and of each row the number of its own."""
    texts = list(dict.fromkeys(column))
    return {"texts": texts, "at": [texts.index(each) for each in column]}


def _apis(book):
    """Prices of tokens (USD per million), by the columns of the book; `sure` ones may decide."""
    found = book[book["item"].isin([*API_ITEMS, *BATCH_ITEMS])]
    found = found.assign(sure=firm(found))[["item", "provider", "sku", "region", "price", "date", "sure"]]
    return {name: _coded(column) if name in ("item", "provider", "sku", "region", "date") else [_cell(each) for each in column]
            for name, column in found.items()}


def _bands(laws):
    """By law the power of its ratio and its families, each with what it is for: above so much of a quantity, or all others."""
    return {law: {"power": power, "parts": parts, "stored": bands.is_stored(law)}
            for law in laws for power, parts in [bands.parts(law)] if parts}


def _families(laws):
    """By family how far off its laws were, published over predicted, and from how many rows and sources; null for too few."""
    found = {family: bands.errors(family) for law in laws for *_, family in bands.parts(law)[1]}
    return {family: each and each._asdict() for family, each in found.items()}


# What the browser needs to answer rent or buy and the ways to serve a load: prices, ranges and draws, as plain values for JSON.
#
# `book/static/owning.js` reads it and says how; `OWNING_LAWS` are the laws that it asks for, `OWNING_QUANTITIES`
# further quantities.

OWNING_LAWS = ("owning_npv", "break_even_utilization", "owned_usd_per_hour", "level_usd_per_hour", "fixed_usd_per_hour",
               "work_usd_per_hour", "declining_residual", "spot_usd_per_hour", "group_interruption_seconds", "network_usd",
               "rack_usd_per_month", "offered_gpu_hours", "user_requests_per_second", "mean_requests_per_month",
               "window_requests", "paid_utilization", "rented_gpus", "answer_bytes", "egress_usd",
               "owned_serving_usd_per_month", "serving_usd_per_month", "api_request_usd",
               "api_batch_request_usd", "offered_load", "answer_seconds", "time_to_first_token", "late_token_seconds")
# What a case may hold beside their arguments.
OWNING_QUANTITIES = ("first_token_limit", "token_limit", "answer_limit", "window_requests", "most_load", "spare_replicas")
# Of a share, whose place among all is two digits of base 32.
DIGITS = "0123456789abcdefghijklmnopqrstuv"
# What a deal has that is not its own.
_ANY = {"server_usd": 1.0, "gpus_per_server": 1, "usd_per_hour": 1.0}
_OF_RENT = ("gpu", "gpus_per_server", "provider", "region", "term", "usd_per_hour", "sure", "confidence", "date", "yours", "row")


def owning_data(book: Any) -> dict[str, Any]:
    """All of it for a price book.

    draws: how many; shares: of each input, their places in order; assumptions: low, likely, high, and whether they are factors
    on a price; terms: what each fixes, the names of its ranges and the years that it covers; watts: of a GPU; site and network:
    what a server of any size takes; servers, the cheapest GPU first; rents, the cheapest hour first; api and batch: offers by
    model; counts: of servers.
    """
    assumed, usual = catalogue.assumptions(), _deal(book, rent_or_buy.USUAL_TERM)
    terms = {term: _term(_deal(book, term), term, usual) for term in ITEMS["rent"].terms}
    drawn = {name for term in terms.values() for name in term["names"]}
    return {
        "draws": rent_or_buy.DRAWS, "wide": rent_or_buy.WIDE, "inside": INSIDE, "term": rent_or_buy.USUAL_TERM,
        "shares": {name: _digits(share) for name, share in rent_or_buy.shares().items() if name in drawn},
        "assumptions": {name: [row.low, row.likely, row.high, row.unit == OF_PRICE] for name, row in assumed.iterrows()},
        "terms": terms,
        "watts": catalogue.gpus()["tdp_watts"].dropna().to_dict(),
        **_site(usual),
        "servers": _servers(book),
        "rents": {"columns": _OF_RENT, "rows": _rents(book)},
        "api": {model: _offered(token_offers.api_offers(book, model)) for model in models_sold(book, API_ITEMS)},
        "batch": {model: _offered(token_offers.batch_offers(book, model)) for model in models_sold(book, BATCH_ITEMS)},
        "counts": token_offers.SERVERS,
        "ways": {"api": API, "batch": BATCH, "rented": RENTED, "hours": FOR_HOURS, "owned": OWNED, "yours": YOURS},
    }


def _digits(share):
    places = (share * len(share) - 0.5).round().astype(int)
    return "".join(DIGITS[place // 32] + DIGITS[place % 32] for place in places)


def _deal(book, term):
    """A deal of which nothing is a GPU's own; of years that no reservation covers."""
    assumed, gpu = catalogue.assumptions(), book.loc[book["item"] == "rent", "gpu"].iloc[0]
    return rent_or_buy.deal(book, gpu, assumed, _ANY | {"years": assumed.loc["years", "high"]}, term)


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


def _offered(found):
    unused = ["source", "note", "sku", "region", "has_cached"]
    return found.sort_values(token_offers.OFFER, kind="stable").drop(columns=unused, errors="ignore").to_dict("records")
