"""What no price shows: which cards a data center may not run, what takes their place, and the terms of each card."""
import math

import pandas as pd

from ..rows import catalogue
from ..rows.price_book import TIES, cheapest_first
from ..rows.selections import selection

WAYS = {"rent": "rent, USD/h", "server": "buy a server, USD", "card": "buy a card, USD"}


def forbidden(cards):
    """Which cards the license of their driver keeps out of a data center, as a column: of all makers only NVIDIA's does."""
    fine = catalogue.fine_print()
    kinds = fine["applies_to"][(fine["kind"] == "license") & (fine["verdict"] == "forbidden")]
    return cards["kind"].isin(kinds) & (cards["vendor"] == "NVIDIA")


@selection
def substitutes(book, term):
    """Each card that a license rules out, by the way to get it (`way`, USD per PFLOP/s), and the cheapest allowed instead.

    That one has at least its memory; it is blank where the book has none. Rents are on the term.
    """
    offered = book[book["item"].isin(WAYS) & book["term"].isin([term, "purchase"])]
    offered = offered.join(catalogue.gpus()[["kind", "vendor", "peak_flops", "memory_bytes"]], on="gpu")
    each = offered["price"] / offered["gpus_per_server"].fillna(1) / (offered["peak_flops"] / 1e15)
    offered = offered.assign(per_flops=each).sort_values(["per_flops", *TIES], kind="stable")
    banned = forbidden(offered)
    allowed = offered[~banned & (offered["kind"] != "tpu")]
    ruled_out = offered[banned].drop_duplicates(["item", "gpu"]).sort_values(["item", "per_flops"], kind="stable")
    return pd.DataFrame([_instead(row, allowed) for row in ruled_out.itertuples()],
                        columns=["way", "gpu", "per_flops", "instead", "lawful", "more"])


def _instead(row, allowed):
    able = allowed[(allowed["memory_bytes"] >= row.memory_bytes) & (allowed["item"] == row.item)]
    if able.empty:
        return WAYS[row.item], row.gpu, row.per_flops, None, math.nan, math.nan
    gpu, per_flops = able[["gpu", "per_flops"]].iloc[0]
    return WAYS[row.item], row.gpu, row.per_flops, gpu, per_flops, per_flops / row.per_flops - 1


def terms_of(kinds):
    """What license and warranty say of cards of these kinds: a list for each of the two, by name."""
    fine = catalogue.fine_print()
    told = fine[fine["applies_to"] != ""].drop_duplicates(["kind", "applies_to"]).set_index(["kind", "applies_to"])["verdict"]
    return {term: [told.get((term, kind)) for kind in kinds] for term in ("license", "warranty")}


@selection
def card_terms(book):
    """Every card that the book prices alone, with what its license and warranty say, its error correction, link and power."""
    cards = cheapest_first(book[book["item"] == "card"]).drop_duplicates("gpu")[["gpu", "price", "date"]]
    cards = cards.join(catalogue.gpus()[["kind", "ecc", "link", "tdp_watts"]], on="gpu")
    cards = cards.sort_values(["kind", "price"], kind="stable")
    return cards.assign(**terms_of(cards["kind"]), ecc=cards["ecc"].map({1: "on", 0: "not on"}))
