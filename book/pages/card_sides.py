"""Consumer cards against data-center cards, and one card over another, as a page shows them."""
import math

from pandas import DataFrame

from gpucalc.core.figures import dollars, times
from gpucalc.decisions.fine_print import terms_of
from gpucalc.rows import catalogue
from ..components.catalogue_table import catalogue_table
from ..components.dates import dated
from ..components.show import table
from . import buying_plan as buying, machines

CARDS = ("RTX 3090 24GB", "RTX 4090 24GB", "RTX 5090 32GB", "RTX A6000 48GB", "RTX PRO 6000 Workstation 96GB", "L40S 48GB",
         "A100 SXM 80GB", "H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB")
PAIRS = (("RTX 4090 24GB", "H100 SXM 80GB"), ("RTX 5090 32GB", "H100 SXM 80GB"), ("RTX 5090 32GB", "L40S 48GB"),
         ("A100 SXM 80GB", "V100 SXM 32GB"), ("H100 SXM 80GB", "A100 SXM 80GB"), ("H200 SXM 141GB", "H100 SXM 80GB"),
         ("B200 SXM 180GB", "H100 SXM 80GB"), ("MI300X 192GB", "H100 SXM 80GB"))
_RATIOS = {"memory": "memory_bytes", "bandwidth": "bandwidth", "16-bit FLOP/s": "peak_flops", "8-bit FLOP/s": "fp8_flops",
           "link": "link_bandwidth", "power": "tdp_watts"}
_GROUPS = {"what it is": ["kind", "memory_bytes", "bandwidth", "peak_flops", "tdp_watts", "link", "ecc", "slices"],
           "terms": ["license", "warranty"], "money": ["price", "per_byte", "per_rate"],
           "tokens": ["alone", "rented", "bought"]}
_BETTER = dict.fromkeys(("memory_bytes", "bandwidth", "peak_flops", "slices"), "high") | dict.fromkeys(
    ("tdp_watts", "price", "per_byte", "per_rate"), "low")


def sides_table(gpus, model, weight_format, context, book, years):
    """Cards of both kinds side by side: what they are, what license and warranty say, and what a token costs on each."""
    cards, costs = catalogue.gpus().loc[list(gpus)], machines.token_costs(list(gpus), model, weight_format, context, book, years)
    frame = cards[["kind", "memory_bytes", "bandwidth", "peak_flops", "tdp_watts", "link"]].assign(
        ecc=cards["ecc"].map({1: "on"}).fillna("not on"), slices=cards["mig_instances"].astype(float), price=costs["price"],
        **terms_of(cards["kind"]), **{name: _bands(costs, name) for name in ("alone", "rented", "bought")})
    frame = frame.assign(per_byte=1e9 * frame["price"] / frame["memory_bytes"],
                         per_rate=1e9 * frame["price"] / frame["bandwidth"])
    found = buying.offers(book).drop_duplicates("gpu")
    caption = (f"Consumer and data-center cards; tokens of {model} in {weight_format} at {context:,} tokens of context "
               f"({dated(book, book.loc[found['row'][found['gpu'].isin(list(gpus))]])})")
    return catalogue_table(frame.rename_axis("gpu").reset_index(), caption, _GROUPS, _BETTER, ("kind",), {
        "ecc": "error correction", "slices": "slices by MIG", "price": "newest price", "per_byte": "price of a GB of memory",
        "per_rate": "price of a GB/s", "alone": "tokens a second, one user (8 in 10)",
        "rented": "USD a million tokens, rented, full (8 in 10)", "bought": f"the same, bought, {years:g} years and power"},
        dict.fromkeys(("price", "per_byte", "per_rate"), dollars) | {"slices": "{:.0f}".format}, compare=True)


def _bands(costs, name):
    return [f"{plan:.3g} ({low:.3g} to {high:.3g})" if plan == plan else None
            for plan, low, high in zip(costs[name], costs[f"low_{name}"], costs[f"high_{name}"])]


def ratios_table(pairs, book):
    """One card over another, by what decides, at the newest price of each."""
    cards, prices = catalogue.gpus(), machines.newest_prices(book)
    rows = [{"one over the other": f"{one} over {other}"}
            | {name: cards.at[one, column] / cards.at[other, column] for name, column in _RATIOS.items()}
            | {"price": prices.get(one, math.nan) / prices.get(other, math.nan)} for one, other in pairs]
    return table(DataFrame(rows), "One card over another", formats=dict.fromkeys((*_RATIOS, "price"), times))
