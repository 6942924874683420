"""How pages show bills: amounts side by side, what the cheapest spend it on, and the fine print."""
from pandas import DataFrame

from ..plan.bills import PARTS
from ..rows import catalogue
from .charts import bars
from .show import table

TITLES = {part: part.removesuffix("_usd") for part in PARTS}


def many(count, noun):
    """A count with its noun: `1 run`, `20 runs`."""
    return f"{count:,g} {noun}{'' if count == 1 else 's'}"


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
