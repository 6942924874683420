"""Offers to rent GPUs: the one place that says which is the cheapest."""
from typing import TYPE_CHECKING, Any

from ..core.evaluate import Row, close
from ..laws.renting import discounted_usd_per_hour
from .ages import firm
from .choices import discounts
from .price_checks import RESERVED_YEARS
from .price_book import cheapest_first, no_price, price_row, select

if TYPE_CHECKING:
    from pandas import DataFrame

Choice = str | list[str] | None

# What the cheapest is taken of; offers on different terms are never rivals.
PER = {"gpu": ["gpu"], "server": ["gpu", "gpus_per_server"], "provider": ["gpu", "provider"],
       "instance": ["gpu", "provider", "sku", "region"]}


# Areas that a region may name, by how AWS, Azure, Google and Nebius begin the names of their regions there, the longest that
# fits; London and Zurich are not in the European Union, whatever they are called. What stands everywhere is in each.
AREAS = {"eu": ["eu-", "europe-", "westeurope", "northeurope", "francecentral", "germany", "sweden", "italy", "poland", "spain",
                "FIN", "Europe"],
         "uk": ["eu-west-2", "europe-west2", "uk"],
         "us": ["us-", "US", "eastus", "westus", "centralus", "northcentralus", "southcentralus", "westcentralus", "Dallas"],
         "apac": ["ap-", "asia-", "australia", "japan", "korea", "southeastasia", "eastasia", "centralindia", "southindia"]}
_APART, EVERYWHERE = ["eu-central-2", "europe-west6", "us-gov"], ["all", "most regions"]


def area_of(region: str) -> str:
    """The area of a region, `any` of what stands everywhere; empty where its name says none."""
    if region in EVERYWHERE:
        return "any"
    fits = [(len(start), area) for area, starts in [*AREAS.items(), ("", _APART)] for start in starts if region.startswith(start)]
    return max(fits)[1] if fits else ""


def _within(book, region):
    """The book's rows in the areas that `region` names beside regions, and the reader's own of no stated region; and the region
    that is left to ask for."""
    wanted = region if isinstance(region, list) else [region]
    areas = {*AREAS} & {*wanted}
    if not areas:
        return book, region
    places = book["region"]
    held = places.isin(wanted) | places.map(area_of).isin([*areas, "any"]) | (book["yours"] & (places == "not stated"))
    if not held.any():
        raise no_price(book.attrs["file"], {"region": ", ".join(wanted)}, "region", set(places))
    return book[held], None


def rents(book: "DataFrame", *, gpu: Choice = None, term: Choice = None, provider: Choice = None, region: Choice = None,
          gpus_per_server: float | list[float] | None = None, at_least: float | None = None, per: str | None = None,
          required: bool = True) -> "DataFrame":
    """Offers to rent, the cheapest GPU-hour first, as rows of the book by their key.

    gpu, term, provider, region, gpus_per_server: the one value to take, or a list of several; None takes all. A region may be
    one of `AREAS`. at_least: the fewest GPUs in a server. per: None for every offer, else the cheapest on each term of each GPU
    ("gpu"), GPU and size of server ("server"), GPU and provider ("provider"), or instance and region ("instance"); one that is
    not `firm` only where no other is.
    Raises ValueError, naming what is allowed, where nothing matches; with required=False the table is empty.
    """
    import numpy
    try:
        book, region = _within(book, region)
        wanted = dict(item="rent", gpu=gpu, term=term, provider=provider, region=region, gpus_per_server=gpus_per_server)
        found = select(book, **wanted)
        large = found if at_least is None else found[found["gpus_per_server"] >= at_least]
        if large.empty:
            raise no_price(book.attrs["file"], wanted | {"at_least": at_least}, "gpus_per_server", set(found["gpus_per_server"]))
    except ValueError:
        if required:
            raise
        return book.head(0)
    found = cheapest_first(large)
    if per is None:
        return found
    order = numpy.argsort(~firm(found).to_numpy(), kind="stable")
    later = found[[*PER[per], "term"]].iloc[order].duplicated().to_numpy()
    return found.iloc[numpy.sort(order[~later])]


def cheapest_rent(book: "DataFrame", *, whole: float | None = None, **wanted: Any) -> Row:
    """The cheapest offer per GPU-hour, as a `Row` for a case; `wanted` as in `rents`.

    With `whole`, of servers of that many GPUs if there are any; one that is not `firm` only where no other is. Raises ValueError
    where nothing matches.
    """
    servers = book.head(0) if whole is None else rents(book, **wanted | {"gpus_per_server": whole}, required=False)
    found = servers if len(servers) else rents(book, **wanted)
    sure = found[firm(found)]
    return price_row((sure if len(sure) else found).iloc[0])


def firm_rents(book: "DataFrame") -> "DataFrame":
    """The cheapest firm offer on demand of each GPU that has one."""
    found = rents(book, term="on-demand", per="gpu", required=False)
    return found[firm(found)]


def discounted(book: "DataFrame", wanted: str) -> "DataFrame":
    """The book with shares off, written as `AWS=18 %, GCP=40 % reserved-1y`, on the provider's rents, which are the reader's own
    then; of a savings plan, which has a term, as rents on that term beside those on demand.

    Raises ValueError naming a provider that rents nothing out.
    """
    import pandas
    if book.attrs.get("discount") == wanted:
        return book
    found, said = book, []
    for provider, share, term in discounts(wanted):
        sellers = sorted(set(book.loc[book["item"] == "rent", "provider"]))
        name = next((seller for seller in sellers if seller.casefold() == provider.casefold()), provider)
        own = (found["item"] == "rent") & (found["provider"] == name) & (found["term"].eq("on-demand") | (term is None))
        if not own.any():
            raise ValueError(f"discount: {provider}: {book.attrs['file']} has no {'rent on demand' if term else 'rent'} of it"
                             f"{close(provider, sellers)}; allowed: {', '.join(sellers)}")
        cheaper = found[own].assign(yours=True)
        for column in ("price", "usd_per_hour"):
            cheaper[column] = discounted_usd_per_hour.formula(cheaper[column], share)
        if term:
            cheaper = cheaper.assign(term=term, reserved_years=float(RESERVED_YEARS[term]))
            cheaper.index = cheaper.index.str.replace(", on-demand", f", {term}")
        there = found.index.isin(cheaper.index)
        found = pandas.concat([found[~there], cheaper])
        lasting = f", on the term {term}" if term else ""
        said.append(f"{name}: {100 * share:g} % off {len(cheaper)} rents{lasting}, as the case says")
    found.attrs = book.attrs | {"discount": wanted, "said": (*book.attrs.get("said", ()), *said)}
    return found


def egress_prices(book: "DataFrame") -> dict[str, dict[str, Any]]:
    """By provider the price of what leaves its servers (USD/GB) in the first tier that is paid, the bytes that are free below it,
    its date and confidence."""
    found = book[(book["item"] == "egress") & (book["instance"] == "")]
    found = found.assign(free=found["price"] == 0).sort_values(["free", "from_bytes"]).drop_duplicates("provider")
    return {row.provider: {"usd_per_gb": row.price, "free_bytes": row.from_bytes, "date": row.date, "confidence": row.confidence}
            for row in found.sort_values("provider", kind="stable").itertuples()}


def doubtful(book: "DataFrame", best: Row, **wanted: Any) -> "DataFrame":
    """Offers that cost less than the best but are not `firm`, the cheapest first: a headline names them, they never decide."""
    found = rents(book, **wanted, required=False)
    return found[~firm(found) & (found["usd_per_hour"] < best.usd_per_hour)]


def with_rent(book: "DataFrame", gpu: str, gpus_per_server: float, term: str, usd_per_hour: float) -> "DataFrame":
    """The book with one rent that is given in place of all its own."""
    import pandas
    given = dict(item="rent", provider="given", sku="parameter", gpu=gpu, gpus_per_server=gpus_per_server, region="",
                 term=term, price=usd_per_hour * gpus_per_server, usd_per_hour=usd_per_hour, instance="", date="given",
                 source="parameter", confidence="seen", yours=True)
    own = pandas.DataFrame([given], index=["parameter usd_per_hour"]).rename_axis("row")
    other = pandas.concat([own, book[book["item"] != "rent"]])
    other.attrs = book.attrs
    return other
