"""What a decision chooses among: offers, cards and clusters of a price book, and the terms that no price shows."""
import math

import numpy as np
import pandas as pd

from ..laws.owning import power_usd_per_hour
from ..laws.training_cost import excess_machines
from ..rows import catalogue
from ..rows.ages import day, firm, STALE_DAYS
from ..rows.choices import names
from ..rows.kept import kept
from ..rows.rents import rents
from .capacity import left_out, narrow_products, with_links
from .columns import count, taken
from .jobs import BATCHES, DEGREES_USED, TRIED, trains, USUAL_TERM
from .rule import value_of
from .run_speeds import planned_mfu


# What no price shows: which cards a data center may not run, and the terms of each card.


def forbidden(cards):
    """Which cards the license of their driver keeps out of a data center, as a column: of all makers only NVIDIA's does."""
    fine = catalogue.fine_print()
    kinds = fine["applies_to"][(fine["kind"] == "license") & (fine["verdict"] == "forbidden")]
    return cards["kind"].isin(kinds) & (cards["vendor"] == "NVIDIA")


def terms_of(kinds):
    """What license and warranty say of cards of these kinds: a list for each of the two, by name."""
    fine = catalogue.fine_print()
    told = fine[fine["applies_to"] != ""].drop_duplicates(["kind", "applies_to"]).set_index(["kind", "applies_to"])["verdict"]
    return {term: [told.get((term, kind)) for kind in kinds] for term in ("license", "warranty")}


# What a decision chooses among: the cards, the clusters and the offers of a price book, as tables of columns for `rule`.
#
# A table is a dict of columns. What a case wants of providers, regions, terms and cards is left in them, nothing else. A card
# that it names and nobody rents out so stays among the cards, marked as `unrented`.

# Assumptions that are known as (fast, likely, slow): the longer between stops, the faster a run.
SPREAD = ("gpu_failure_seconds", "machine_interruption_seconds")
# Machines of so many GPUs count as servers, and what joins machines: servers, and smaller ones.
SERVER = 8
NETWORKS = {True: "InfiniBand NDR", False: "Ethernet 25G"}
# Attention groups and batches that are tried where a model has experts, and stages where most servers do not hold its weights.
TENSOR, GROUPS, STAGES, MORE_BATCHES = (1, 2, 4, 8), (1, 4, 8, 16, 32), (1, 2), (3072, 4096, 6144, 8192)
# Shares of the turns of a session whose cache is to be kept.
KEPT = (0, 0.5, 0.8, 0.9, 0.95, 0.99)
# The term of cards that the reader has; servers in which a card is looked at that nobody rents out; what stands for a rent that
# is not known, so small that no budget binds: the fewest GPU-hours are then the cheapest.
OWN_TERM, UNPRICED, NO_PRICE = "owned", (1, 2, 4, 8), 1e-9
# Longer sequences may be split.
LONG_SEQUENCE = 16384
# What terms that are not asked for leave open about a run of weeks.
TERMS = {"reserved": "the length of the reservation is not stated", "capacity-block": "sold in blocks of fixed dates",
         "serverless": "serverless", "marketplace": "machines of unnamed hosts", "managed": "the price of a managed service"}


def market(case, book, kind, network=None, small_network=None, offers=None):
    """The tables of a decision of that kind: `offers`, and `cards` to serve with or `clusters` to train on.

    network, small_network: links between servers and between smaller machines, if not the usual ones. offers: those of a case
    that wants the same of providers, regions, terms and cards, where they are known.
    """
    offers = offers_of(case, book, kind) if offers is None else offers
    tables = {"offers": offers, "assumed": assumed(), "worked": []}
    if trains(kind):
        networks = [small_network or NETWORKS[False], network or NETWORKS[True]]
        return tables | {"clusters": clusters(case, offers, networks)} | degrees(case)
    found = cards(case, offers, network or NETWORKS[True])
    return tables | {"cards": found} | replica_degrees(case, found)


def wanted(case, name):
    """What the case wants of a choice in words: a list, or None for any."""
    return names(case.rows.get(name)) or None


def assumed():
    """Ends of the assumptions that a run is stopped by, by name."""
    rows = catalogue.assumptions()
    return {f"{speed}_{name}": float(rows.loc[name, end]) for name in SPREAD
            for speed, end in (("fast", "high"), ("likely", "likely"), ("slow", "low"))}


def offers_of(case, book, kind):
    """The offers to rent that the case wants: the cheapest firm one of each provider, GPU, size of server and term.

    A case that says no term wants what can be had for sure: on demand. The reader's own cards are the one offer where a case has
    some. Where no card that it names has a firm rent there is one of each in small servers, not `priced`: what fits, how fast and
    how many it takes does not rest on a rent. MissingPrice where nobody rents out any card on its terms.
    """
    asked = wanted(case, "term") or ([USUAL_TERM] if case.rows.get("term") is None else None)
    terms = dict(provider=wanted(case, "provider"), region=wanted(case, "region"), term=asked)
    named = wanted(case, "cards")
    found = _own(case, named, book) if "own_cards" in case.inputs else rents(book, **terms)
    found = found if named is None else found[found["gpu"].isin(named)]
    if named and not firm(found).any():
        found = _unpriced([(gpu, size) for gpu in named for size in UNPRICED], *(terms["term"] or [USUAL_TERM])[:1], book)
    found = found.assign(sure=firm(found)).sort_values("sure", ascending=False, kind="stable")
    found = found.drop_duplicates(["provider", "gpu", "gpus_per_server", "term"]).sort_values("usd_per_hour", kind="stable")
    rows = catalogue.gpus().loc[found["gpu"]]
    consumer = forbidden(rows).to_numpy(float)
    unsuited = found["term"].isin([*TERMS, *([] if trains(kind) else ["spot"])]) & ~found["yours"]
    if asked:
        unsuited &= ~found["term"].isin(asked)
    return dict(
        offer=np.arange(len(found)), row=found.index.to_numpy(), gpu=found["gpu"].to_numpy(),
        gpus_per_server=found["gpus_per_server"].to_numpy(float), provider=found["provider"].to_numpy(),
        region=found["region"].to_numpy(), term=found["term"].to_numpy(), date=found["date"].to_numpy(),
        usd_per_hour=found["usd_per_hour"].to_numpy(float), reserved_years=found["reserved_years"].fillna(1).to_numpy(float),
        reserved=found["reserved_years"].notna().to_numpy(float), spot=(found["term"] == "spot").to_numpy(float),
        doubtful_price=(~found["sure"]).to_numpy(float), doubtful_term=unsuited.to_numpy(float),
        consumer=consumer, forbidden=consumer * (named is None), no_ecc=(rows["ecc"] != 1).to_numpy(float),
        arm_host=rows["arm_host"].to_numpy(float),
        unmeasured=(rows["unmeasured"] * (not trains(kind))).to_numpy(float),
        stale=stale(found, book), sole=sole(found, book), yours=found["yours"].to_numpy(float),
        priced=(found["usd_per_hour"] > NO_PRICE).to_numpy(float),
        most_rented=np.full(len(found), float(case.inputs.get("own_cards", math.inf))),
        kind=np.array([f"{gpu} x {size:g}" for gpu, size in zip(found["gpu"], found["gpus_per_server"])], object))


def _own(case, named, book):
    """The cards that the reader has, as an offer at what their power costs; not priced where a case has no price of power."""
    cards, usd = case.inputs["own_cards"], 0.0
    if "usd_per_kwh" in case.inputs and catalogue.gpu(*named).get("tdp_watts", math.nan) > 0:
        usd = case.but(gpu=catalogue.gpu(*named), pue=catalogue.assumed("pue"))(power_usd_per_hour)
    return _unpriced([(*named, case.inputs.get("gpus_per_server", cards))], OWN_TERM, book, max(usd, NO_PRICE))


def _unpriced(kinds, term, book, usd_per_hour=NO_PRICE):
    """Offers that no book has, of pairs of a GPU and a size of server."""
    keys = [f"{book.attrs['file']}: yours, {gpu}, {term}" for gpu, _ in kinds]
    return pd.DataFrame(kinds, keys, ["gpu", "gpus_per_server"]).assign(
        provider="", region="", term=term, date="given", usd_per_hour=usd_per_hour, reserved_years=math.nan, yours=True,
        item="rent", confidence="seen")


def stale(offers, book):
    """Which offers have to be checked again, being older than the book by so much; one that is given has no date."""
    last = day(book.attrs["date"])
    return np.array([date[:2] == "20" and (last - day(date)).days > STALE_DAYS for date in offers["date"]], bool)


def sole(offers, book):
    """Which prices stand alone, and so are not firm: no second provider's, and not the reader's own; 0 or 1."""
    sure, sellers = book[(book["item"] == "rent") & firm(book)], {}
    for gpu, term, provider in zip(*(sure[name].tolist() for name in ("gpu", "term", "provider"))):
        sellers.setdefault((gpu, term), set()).add(provider)
    alone = [len(sellers.get(key, ())) < 2 for key in zip(offers["gpu"], offers["term"])]
    return (np.array(alone, bool) & ~offers["yours"].to_numpy(bool)).astype(float)


def cards(case, offers, network=NETWORKS[True]):
    """The cards of the offers and those that the case names, with their links and the network between their servers, whether they
    lack a path for its format, and the context of its model.
    """
    table = _linked(case, offers)
    model = case.rows["model"].get("max_context", math.nan)
    context = value_of(case, "max_context") if "max_context" in case.inputs else model
    lacks, narrow = _paths(getattr(case.rows.get("weight_format"), "name", None), case.inputs.get("cache_element_bytes"))
    between, size = catalogue.link(network), count(table)
    return _whole(table | dict(
        lacks_format=lacks[table["card"]], narrow_products=narrow[table["card"]],
        most_context=np.full(size, float(context if context == context else math.inf)),
        network_bandwidth=np.full(size, between.link_bandwidth), network_latency=np.full(size, between.latency)))


def replica_degrees(case, cards):
    """The degrees and batches of a replica that are tried: those that the case gives, else where they can help the model, on
    no more cards than the reader has."""
    most = case.inputs.get("own_cards", math.inf)
    spread = case.rows["model"].get("experts", 0) > 0
    large = case("weight_bytes") > SERVER * np.median(cards["memory_bytes"])
    usual = {"tensor_degrees": ("tensor_parallel", TENSOR),
             "attention_groups": ("attention_parallel", GROUPS if spread else (1,)),
             "serving_stages": ("pipeline_parallel", STAGES if large else (1,))}
    tried = {axis: (value_of(case, name),) if name in case.inputs else [each for each in values if each <= most]
             for axis, (name, values) in usual.items()}
    return tried | {"batches": BATCHES + MORE_BATCHES if spread else BATCHES,
                    "kept_shares": KEPT if "turns" in case.inputs else (1,)}


def machine_counts(gpus_per_server, gpus):
    """Numbers of GPUs to try: 1, 2, 3, 4, 6, 8, 12 ... machines, up to `gpus`."""
    counts = {gpus_per_server * first * 2**power for first in (1, 3) for power in range(int(gpus).bit_length())}
    return sorted(count for count in counts if count <= gpus)


def clusters(case, offers, networks):
    """Each card in each size of server, in each number of GPUs up to the case's, joined by the small network or the large one.

    Of a server with more GPUs than the case's there is one, of a card that is not rented one card.
    """
    compute_format = case.rows["recipe"].get("compute_format", "BF16")
    networks = catalogue.links().loc[[catalogue.link(name).name for name in networks]]
    most = min(value_of(case, "gpus"), case.inputs.get("own_cards", math.inf))
    sold = dict.fromkeys(zip(offers["gpu"], offers["gpus_per_server"]))
    table = _linked(case, offers)
    places = {gpu: place for place, gpu in enumerate(table["gpu"])}
    sold |= {(gpu, 1): None for gpu, place in places.items() if table["unrented"][place]}
    kinds = [(gpu, size, number) for gpu, size in sold for number in machine_counts(int(size), most) or [size]]
    gpus, sizes, counts = (np.array(column) for column in zip(*kinds))
    table = taken(table, np.array([places[gpu] for gpu in gpus]))
    narrow = _paths(compute_format, None)[1][table["card"]]
    peaks = _peaks()[table["card"]]
    lacks = {"BF16": peaks != "BF16", "FP32": narrow > 0}.get(compute_format, narrow == 0)
    shares = planned_mfu()[["low", "plan", "high"]].to_numpy(float)[table["card"]].T
    # Servers of one rack, such as the trays of an NVL72, are one node.
    rack = np.where(table["reach"] > SERVER, table["reach"], 0)
    near, machines = (sizes >= SERVER).astype(int), counts / sizes
    # As in the search over layouts, whose errors are known without what a collective takes to start.
    del table["base_latency"]
    table = _whole(table | dict(
        lacks_format=lacks.astype(float), narrow_products=narrow, unpublished=np.zeros(len(counts)),
        low_mfu=shares[0], plan_mfu=shares[1], high_mfu=shares[2],
        gpus_per_server=sizes.astype(float), gpus_per_node=np.maximum(sizes, rack).astype(float), gpus=counts.astype(float),
        machines=machines, most_gpus=np.full(len(counts), float(most)),
        excess_machines=np.asarray(case.but(machines=machines, gpus_per_server=sizes)(excess_machines), float),
        network_bandwidth=networks["link_bandwidth"].to_numpy(float)[near],
        network_latency=networks["latency"].to_numpy(float)[near],
    )) | {"kind": np.array([f"{gpu} x {size:g}" for gpu, size, _ in kinds], object)}
    return _as_published(table, case.rows["model"]) if case.inputs.get("published_only") else table


def _as_published(table, architecture):
    """The clusters, each in every split that a published run of such a model had; in none where there was no run."""
    from .layouts import degrees_for

    known, size = degrees_for(architecture), count(table)
    splits = np.array(known or [[1] * len(DEGREES_USED)], float)
    held = dict(zip(DEGREES_USED, np.tile(splits.T, size)), unpublished=np.full(size * len(splits), float(not known)))
    return taken(table, np.repeat(np.arange(size), len(splits))) | held


def degrees(case):
    """The degrees that are tried where they depend on the job."""
    adapted = case.rows["recipe"].get("lora_rank", 0) > 0
    run = dict(whole=not adapted, adapted=adapted, long=value_of(case, "sequence") > LONG_SEQUENCE,
               experts=case.rows["model"].get("experts", 0) > 0)
    return {axis: each if run[kind] else (1,) for axis, (kind, each, _) in TRIED.items() if kind}


def _linked(case, offers):
    """The cards of the offers and those that the case names, each with its place in the catalogue as `card`."""
    offered = dict.fromkeys(offers["gpu"])
    names = [*offered, *(gpu for gpu in wanted(case, "cards") or () if gpu not in offered)]
    places = [_places()[name] for name in names]
    return taken(_catalogue(), places) | {"unrented": np.array([gpu not in offered for gpu in names], float)}


def _whole(table):
    """The columns without blanks: laws take no others."""
    return {name: column for name, column in table.items()
            if name != "card" and (column.dtype.kind != "f" or not np.isnan(column).any())}


@kept
def _catalogue():
    """All cards; one whose link is not known has no blanks, since no law sees it."""
    frame = _filled()
    numbers = frame.select_dtypes(["number", "bool"]).astype(float)
    return {name: numbers[name].to_numpy() for name in numbers} | {
        "gpu": frame.index.to_numpy(object), "card": np.arange(len(frame))}


@kept
def _places():
    """The place of each card in the catalogue."""
    return {gpu: place for place, gpu in enumerate(_filled().index)}


@kept
def _paths(weight_format, cache_element_bytes):
    """Of each card whether it lacks a path for the formats, and how often it halves the 16 bits of products."""
    frame = with_links()
    lacks = left_out(frame.assign(latency=0), weight_format, cache_element_bytes) != ""
    return lacks.to_numpy(float), np.asarray(narrow_products(frame, weight_format), float)


@kept
def _peaks():
    """The format of each card's peak."""
    return _filled()["peak_format"].to_numpy(object)


@kept
def _filled():
    frame = with_links()
    unlinked = frame["latency"].isna()
    numbers = frame.select_dtypes("number").columns
    frame[numbers] = frame[numbers].mask(unlinked, frame[numbers].fillna(0))
    return frame.assign(unlinked=unlinked.astype(float))
