"""The page of a card that is not out yet: the file that it takes, what is asked for, and what the formulas say of it."""
import tempfile
import textwrap
from pathlib import Path

import pandas as pd

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import hourly, number, three_figures, usd
from gpucalc.core.quantities import QUANTITIES
from gpucalc.laws import nodes
from gpucalc.laws.serving_cost import usd_per_million_tokens
from gpucalc.laws.worth import matching_usd_per_hour
from gpucalc.rows import catalogue
from gpucalc.rows.own_gpus import own_gpus
from gpucalc.rows.tables import rows
from ..components.dates import by_price
from ..components.sentences import Markdown
from ..components.show import table
from . import cards

FILE = "mygpus.csv"
_WIDE = 78
# What a file must have where no card is like the new one, and what is worth more: the column and the unit it is written in.
NEEDED = {"memory_bytes": "byte", "bandwidth": "byte/second", "peak_flops": "FLOP/second", "link": None, "units": ""}
# What stands beside other cards, and its column.
SHEET = {"status": "status", "memory": "memory_bytes", "bandwidth": "bandwidth", "peak in 16 bits": "peak_flops",
         "in 8 bits": "fp8_flops", "in 4 bits": "fp4_flops", "link, one way": "link_bandwidth", "ridge point": "ridge_point"}
MORE = {"fp8_flops": "FLOP/second", "fp4_flops": "FLOP/second", "tdp_watts": "watt", "host_bandwidth": "byte/second"}


def row_of(gpu, columns, **beside):
    """A file with one row: the card's cells of these columns as a reader would write them, blanks left out, and others."""
    row = catalogue.gpu(gpu)
    cells = {name: number(row[name], unit).replace(",", "") if unit else str(row[name])
             for name, unit in columns.items() if row[name] == row[name]}
    cells = {"gpu": gpu} | cells | {name: str(value) for name, value in beside.items()}
    return "\n".join([",".join(cells), ",".join(cells.values())])


def as_read(text, gpu):
    """The card of such a file as the book reads it, as if it had no row of that name; else what it asks for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_text(text, encoding="utf-8")
        try:
            return own_gpus(str(path), {name: row for name, row in rows("gpus").items() if name != gpu})[gpu], ""
        except ValueError as error:
            return None, str(error)


def shown(*texts):
    """Files and messages, each in a block of its own; a long line of a message goes on below."""
    return Markdown("\n\n".join(f"```text\n{chr(10).join(map(_wrapped, text.splitlines()))}\n```" for text in texts))


def _wrapped(line):
    return textwrap.fill(line, _WIDE, subsequent_indent="    ") if "; " in line else line


def asked(gpu):
    """A file with two figures of the card and what the book answers."""
    text = row_of(gpu, {name: NEEDED[name] for name in ("memory_bytes", "bandwidth")})
    return shown(text, as_read(text, gpu)[1])


def whole(gpu):
    """A file with all that the book must have of the card, and more."""
    return shown(row_of(gpu, NEEDED | MORE, status="announced"))


def like_of(gpu, like):
    """A file with two figures of the card and the one it is like, and what it then takes from that one."""
    text = row_of(gpu, {name: NEEDED[name] for name in ("memory_bytes", "bandwidth")}, like=like)
    record, _ = as_read(text, gpu)
    taken = f"peak_flops {record['peak_flops']:g}, link {record['link']}, units {record['units']:g}"
    return shown(text, f"{record['note']}; {taken} and so on")


def beside(frame, gpus, caption):
    """Cards side by side: what their rows hold, where compute begins to limit, and the largest models."""
    named = SHEET | {f"largest model in {name.removeprefix('largest_')}, parameters": name
                     for name in frame if name.startswith("largest_")}
    cells = {gpu: [_cell(frame.at[gpu, name], name) for name in named.values()] for gpu in dict.fromkeys(gpus)}
    labels = {"what": "by the data sheet"} | {gpu: gpu for gpu in cells}
    return table(pd.DataFrame({"what": list(named)} | cells), caption, labels)


def _cell(value, name):
    if value != value or isinstance(value, str):
        return value if isinstance(value, str) else None
    return number(value, QUANTITIES[name].unit if name in QUANTITIES else "")


# What `wins` knows of a load: of the card, then of the cheapest that is rented.
_WINS = "load plan low high cheapest provider row date rent cost plan_rent low_rent high_rent".split()


def wins(frame, gpu, loads):
    """Of each load the card's tokens/s with the ends of eight in ten, the cheapest that is rented, and the rent that matches it.

    Blank where the card does not hold the load; without a firm rent there is no cheapest, and no rent to match.
    """
    found = []
    for name, (low, high) in cards.spread(loads).items():
        speed = frame.at[gpu, name]
        others = frame[frame[name].notna() & frame["usd_per_hour"].notna()].drop(gpu, errors="ignore")
        found.append(dict(load=name, plan=speed, low=low * speed, high=high * speed))
        if speed == speed and len(others):
            found[-1] |= _cheapest(others, name)
            row = found[-1]
            row |= {f"{end}_rent": matching_usd_per_hour(row["cost"], row[end]) for end in ("plan", "low", "high")}
    return pd.DataFrame(found, columns=_WINS)


def _cheapest(others, name):
    costs = Case(others.assign(tokens_per_second=others[name]), replica_gpus=1)(usd_per_million_tokens)
    best = others.loc[costs.idxmin()]
    return dict(cheapest=best.name, provider=best["rented_from"], row=best["rent_row"], date=best["rent_date"],
                rent=best["usd_per_hour"], cost=costs.min())


def wins_table(found, caption):
    """The table of `wins`."""
    names = [f"{row.cheapest}, {hourly(row.rent)} from {row.provider}" if row.cost == row.cost else None
             for row in found.itertuples()]
    wide = found[["load", "plan"]].assign(
        ends=_ends(found, "low", "high"), plan_rent=found["plan_rent"], rents=_ends(found, "low_rent", "high_rent"),
        cost=found["cost"], cheapest=names, row=found["row"], date=found["date"])
    labels = dict(load="load on one card", plan="tokens/s, plan for", ends="8 in 10", cheapest="today's cheapest",
                  plan_rent="rent that matches today's cheapest", rents="8 in 10, USD/h", cost="cost of a million tokens there",
                  date="date of its rent")
    priced = by_price(wide) if found["row"].notna().all() else wide
    return table(priced.drop(columns="row"), caption, labels, dict(plan=three_figures, plan_rent=hourly, cost=usd))


def _ends(found, low, high):
    return [f"{three_figures(row[low])} to {three_figures(row[high])}" if row[low] == row[low] else None
            for row in found.to_dict("records")]


def group(gpu):
    """What all cards that the link joins have together: how many, and their memory, bandwidth and peaks by name."""
    case = Case(gpu=gpu, gpus=catalogue.gpu(gpu).reach)
    laws = dict(memory=nodes.node_memory_bytes, bandwidth=nodes.node_bandwidth, flops=nodes.node_flops)
    return {"gpus": catalogue.gpu(gpu).reach} | {name: case(law) for name, law in laws.items()}
