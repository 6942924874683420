"""Two price books side by side: every price of either beside the same one of the other."""
import math

import pandas as pd

SAME = ["item", "provider", "sku", "instance", "gpu", "gpus_per_server", "term", "from_bytes"]
NOT_STATED = "not stated"
# Two sources round one price in two ways: what differs by no more than this share has not moved.
ROUNDING = 1e-3
# Where a provider's list price is quoted from when a source doesn't name the region.
HOME = {"AWS": "us-east-1", "Azure": "US", "GCP": "us-central1", "Lambda": "all"}


def matched(before, after):
    """Every price of either book beside the same one of the other: `before`, `after`, `ratio`, and what `change` it is.

    The same price has the same item, provider, SKU, instance, GPU, number of GPUs, term, egress tier and region. Where one book
    doesn't state the region, it is compared with the provider's home region in the other, or with the only region that is there.
    """
    sides = [_by_offer(book) for book in (before, after)]
    rows = []
    for offer in dict.fromkeys([*sides[0], *sides[1]]):
        regions = [side.get(offer, {}) for side in sides]
        pairs = {region: region for region in regions[0] if region in regions[1]}
        for one, other, turned in ((0, 1, False), (1, 0, True)):
            if NOT_STATED in regions[one] and NOT_STATED not in regions[other]:
                free = [region for region in regions[other] if region not in pairs.values()]
                home = [region for region in free if region == HOME.get(offer[1])] or free
                if len(home) == 1:
                    pairs |= {home[0]: NOT_STATED} if turned else {NOT_STATED: home[0]}
        alone = [(region, None) for region in regions[0] if region not in pairs]
        alone += [(None, region) for region in regions[1] if region not in pairs.values()]
        rows += [_pair(regions, *pair) for pair in (*pairs.items(), *alone)]
    return pd.DataFrame(rows)


def _by_offer(book):
    offers = {}
    for row in book.fillna({"gpus_per_server": 0, "from_bytes": 0}).to_dict("records"):
        offers.setdefault(tuple(row[column] for column in SAME), {})[row["region"]] = row
    return offers


def _pair(regions, one, other):
    old, new = regions[0].get(one), regions[1].get(other)
    known = new or old
    before, after = (row["price"] if row else math.nan for row in (old, new))
    ratio = after / before if before > 0 else math.nan
    same = before == after or abs(ratio - 1) <= ROUNDING
    change = "added" if old is None else "gone" if new is None else "same" if same else "moved"
    region = known["region"] if one == other or None in (one, other) else f"{one} / {other}"
    return {**{column: known[column] for column in (*SAME, "unit")}, "region": region, "before": before, "after": after,
            "ratio": ratio, "change": change}
