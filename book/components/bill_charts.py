"""How pages show bills: amounts side by side, what the cheapest spend it on, and the fine print."""
from pandas import DataFrame

from gpucalc.rows import catalogue
from ..pages.bill_choice import open_rivals
from ..pages.bills import PARTS, best
from .charts import bars
from .sentences import in_words
from .show import table

TITLES = {part: part.removesuffix("_usd") for part in PARTS}


def many(count, noun):
    """A count with its noun: `1 run`, `20 runs`."""
    return f"{count:,g} {noun}{'' if count == 1 else 's'}"


def open_words(found):
    """What is open of the first of bills, as its store has no firm price, and what may beat it by a price that is missing or not
    firm: the first with both ends, and how many more; empty if nothing."""
    rivals, chosen = open_rivals(found), best(found)
    said = []
    if chosen.least_usd < chosen.most_usd:
        said.append(f"No store there has a firm price: depending on it, the bill is {_ends(chosen)}.")
    if len(rivals):
        first, more = rivals.iloc[0], len(rivals) - 1
        said.append(f"The bill may be lower at {first.way} ({_ends(first)}): {_unsure(first)}.")
        said += [f"The same goes for {many(more, 'other provider')}."] if more else []
    return " ".join(said)


def _ends(bill):
    """Both ends of a bill in words; one if they are the same."""
    return " to ".join(dict.fromkeys(f"{each:,.0f}" for each in (bill.least_usd, bill.most_usd))) + " USD at list prices"


def _unsure(row):
    rent = {"floor": "its rent is a floor price", "secondary": "its rent comes from somebody else's report",
            "recalled": "its rent is from memory"}
    named = [] if row.firm else [rent[row.confidence]]
    return " and ".join(named + (["its store has no firm price"] if row.least_usd < row.most_usd else []))


def out_words(reasons):
    """Providers whose machines don't do the work, in a sentence with the reason; empty if all do."""
    by_reason = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    said = [f"{in_words(names)} ({reason})" for reason, names in by_reason.items()]
    return f"Left out: {'; '.join(said)}." if said else ""


def parts_bars(found, alt, most=10):
    """What the first ways of `plan.bills.ways` spend it on, a bar each."""
    parts = DataFrame([dict(way=row["way"], part=TITLES[part], total_usd=row[part])
                       for row in found.head(most).to_dict("records") for part in PARTS if row[part]])
    return bars(parts, "total_usd", "way", "part", alt, "USD", list(TITLES.values()), room=230).properties(height=300)


def fine_print_table(kind, caption):
    """The fine print of a kind, with its sources; what was recalled says so."""
    rows = catalogue.fine_print().reset_index().query("kind == @kind")
    recalled = rows["confidence"].map({"recalled": " (recalled)"}).fillna("")
    return table(rows[["subject", "verdict", "fact"]].assign(source=rows["source"] + ", " + rows["date"] + recalled), caption)
