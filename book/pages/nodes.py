"""Nodes and racks: what is in a machine, how it is wired, and pictures of it."""
import re
from typing import Any, TYPE_CHECKING

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, quantity
from gpucalc.laws import nodes as nd
from gpucalc.laws.topology import group_bandwidth
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.catalogue import instances
from gpucalc.rows.rents import rents
from ..components.catalogue_table import catalogue_table
from ..components.dates import dated
from ..components.picture import Sheet, WIDE
from ..components.show import byte_rate, flop_rate, in_bytes, in_unit, sources, table


# Tables of nodes, boards, racks and pods: their rows, the sums over their cards, and any two of them side by side.

SUMS = (nd.node_marketed_bytes, nd.node_memory_bytes, nd.node_bandwidth, nd.node_flops, nd.node_fp8_flops, nd.node_fp4_flops,
        nd.node_link_bandwidth, nd.node_network_bandwidth, nd.node_gpu_power_share, nd.node_flops_per_watt,
        nd.printed_dense_flops)
_OF_CARD = ("marketed_bytes", "memory_bytes", "bandwidth", "peak_flops", "peak_format", "fp8_flops", "fp4_flops", "tdp_watts",
            "generation", "status", "host_bandwidth", "outer_bandwidth")
_OF_LINK = ("link_bandwidth", "port_bandwidth", "group_ports", "peer_ports", "reach")
GROUPS = {
    "Overview": ["vendor", "year", "gpu", "gpus", "node_marketed_bytes", "node_flops", "link", "power_watts"],
    "Memory": ["gpu", "gpus", "node_marketed_bytes", "node_memory_bytes", "node_bandwidth", "host_memory_bytes"],
    "Compute": ["gpu", "gpus", "peak_format", "node_flops", "node_fp8_flops", "node_fp4_flops", "printed"],
    "Links": ["gpus", "link", "link_bandwidth", "pair_bandwidth", "switches", "node_link_bandwidth"],
    "Network": ["gpus", "network", "network_bandwidth", "node_network_bandwidth"],
    "Host and power": ["processors", "processor", "host_memory_bytes", "power_watts", "node_gpu_power_share",
                       "node_flops_per_watt"],
    "Source": ["scale", "generation", "status", "confidence", "date", "source", "note"]}
LABELS = {"node": "node", "gpus": "GPUs", "gpu": "GPU", "year": "year", "peak_format": "its format",
          "node_marketed_bytes": "memory", "node_flops": "dense peak", "node_memory_bytes": "memory by the driver",
          "node_bandwidth": "memory bandwidth", "node_fp8_flops": "dense FP8",
          "node_fp4_flops": "dense FP4", "printed": "printed on its sheet", "link_bandwidth": "link per GPU",
          "pair_bandwidth": "between two GPUs", "switches": "switches", "node_link_bandwidth": "all links, one direction",
          "network": "ports for the GPUs", "network_bandwidth": "network per GPU", "node_network_bandwidth": "network, whole",
          "host_memory_bytes": "host memory", "power_watts": "power, at most", "node_gpu_power_share": "GPUs' share of it",
          "node_flops_per_watt": "16-bit peak per watt"}
FORMATS = {"year": "{:.0f}".format, "gpus": "{:,.0f}".format, "processors": "{:,.0f}".format, "switches": "{:.0f}".format,
           "node_memory_bytes": lambda value: quantity("marketed_bytes", value),
           "host_memory_bytes": in_bytes, "node_gpu_power_share": percent,
           "pair_bandwidth": lambda value: quantity("link_bandwidth", value)}
BETTER = {"node_marketed_bytes": "high", "node_memory_bytes": "high", "node_bandwidth": "high", "node_flops": "high",
          "node_fp8_flops": "high", "node_fp4_flops": "high", "link_bandwidth": "high", "pair_bandwidth": "high",
          "node_link_bandwidth": "high", "network_bandwidth": "high", "node_network_bandwidth": "high", "power_watts": "low",
          "host_memory_bytes": "high", "node_flops_per_watt": "high"}


def summed(frame, law):
    """A formula over the rows that have all it takes; the others stay blank."""
    names = [name for name in law.arguments if name in frame]
    known = frame.dropna(subset=names)
    return Case(known[names])(law).reindex(frame.index)


def all_nodes():
    """Every node with its card's and its link's figures and all sums over them, by name, the newest first."""
    rows, cards, links = catalogue.nodes(), catalogue.gpus(), catalogue.links()
    frame = rows.assign(link=rows["link"].where(rows["link"] != "", rows["gpu"].map(cards["link"])))
    frame = frame.join(cards[list(_OF_CARD)], "gpu").join(links[list(_OF_LINK)], "link")
    frame = frame.assign(pair_bandwidth=Case(frame[["port_bandwidth", "group_ports", "peer_ports", "reach", "outer_bandwidth"]],
                                             ranks=2)(group_bandwidth))
    for law in SUMS:
        frame[law.__name__] = summed(frame, law)
    frame = frame.assign(printed=[_printed(row) for row in frame.to_dict("records")])
    return frame.sort_values("year", ascending=False, kind="stable")


def _printed(row):
    if row["printed_flops"] != row["printed_flops"]:
        return ""
    kind = "sparse" if row["printed_sparse"] else "dense"
    return f"{number(row['printed_flops'], 'FLOP/second')} {row['printed_format']}, {kind}"


def node_table():
    frame = all_nodes().reset_index()
    columns = dict.fromkeys(name for names in GROUPS.values() for name in names)
    return catalogue_table(frame[["node", *columns]],
                           "Nodes, boards, racks and pods: dense peaks, links in one direction, sums over the cards by formula",
                           GROUPS, BETTER, ("vendor", "scale", "generation"), LABELS, FORMATS, compare=True)


class _Facts(dict):
    """A row whose cells a sentence names; what is blank is None."""

    def __getattr__(self, name):
        return self[name]


def facts(name):
    """What a sentence says of one node: its row, its card's and the sums, counts as whole numbers, None for what is blank."""
    catalogue.node(name)
    counts, row = ("gpus", "processors", "switches", "printed_sparse"), all_nodes().loc[name]
    filled = {key: value for key, value in row.items() if value == value and value != ""}
    return _Facts(dict.fromkeys(row.index) | {key: int(value) if key in counts else value for key, value in filled.items()})


def printed_table():
    """What the makers print, its dense half where it is sparse, and the sum over the cards."""
    found = all_nodes().query("printed_flops > 0").reset_index()
    peak = {"FP8": "node_fp8_flops", "FP4": "node_fp4_flops"}
    found["summed"] = [row[peak.get(row["printed_format"], "node_flops")] for row in found.to_dict("records")]
    return table(found[["node", "printed", "printed_dense_flops", "summed"]], "What the sheets print, and the dense peak in it",
                 labels={"printed": "printed", "printed_dense_flops": "of it dense", "summed": "sum over the cards"},
                 formats={"summed": flop_rate})


def node_sources(*names):
    """Where the rows of these nodes and of their cards come from."""
    rows = [catalogue.node(name) for name in names]
    return sources(*rows, *(catalogue.gpu(row.gpu) for row in rows))


# What two nodes are compared in, as a reader asks.
BESIDE = ["gpu", "gpus", "node_marketed_bytes", "node_bandwidth", "node_flops", "node_fp8_flops", "link_bandwidth",
          "pair_bandwidth", "node_link_bandwidth", "switches", "node_network_bandwidth", "processor", "host_memory_bytes",
          "power_watts", "node_gpu_power_share", "node_flops_per_watt", "printed"]


def beside(names):
    """Two nodes side by side: each figure, and how many times the second's is of the first's."""
    from pandas import DataFrame
    both = all_nodes().loc[names]
    rows = [{"what": LABELS.get(name, name)} | {node: _text(name, both.at[node, name]) for node in names}
            | {"ratio": _ratio(both[name])} for name in BESIDE]
    return DataFrame(rows)


def _text(name, value):
    if value is None or value != value or value == "":
        return "–"
    show = FORMATS.get(name) or (lambda plain: quantity(name, plain))
    return value if isinstance(value, str) else show(value)


def _ratio(pair):
    old, new = pair
    if isinstance(old, str) or not old or old != old or new != new:
        return ""
    return "the same" if new == old else f"{new / old:.3g} ×"


def beside_table(names):
    """`beside` as a page shows it."""
    return table(beside(names), f"{names[0]} beside {names[1]}: data sheet figures, dense, one direction",
                 labels={"what": "what", "ratio": "ratio"} | {name: name for name in names})


# Diagrams of a node and of a rack: who is linked to whom, at what rate, by the rows of data/nodes.csv and data/links.csv.

_EDGE = 10  # free on both sides
# The most GPUs that a picture of a node draws one by one.
MOST = 16
# The most lines between GPUs and switches that are drawn one by one.
_LINES = 64


def linked(name):
    """A node's row, its card's, its link's, and what any two of its GPUs have between them."""
    row = catalogue.node(name)
    card = catalogue.gpu(row.gpu)
    link = catalogue.link(row.link or card.link)
    pair = Case(link, ranks=2, outer_bandwidth=card.outer_bandwidth)(group_bandwidth)
    return row, card, link, pair


def joined_by(row, link):
    """How the GPUs of a node are joined: through a `switch`, in a full `mesh`, through the `host`, or with some `neighbors`."""
    if row.switches == row.switches and row.switches > 0:
        return "switch"
    if link.name.startswith("PCIe"):
        return "host"
    return "mesh" if link.peer_ports * (row.gpus - 1) <= link.group_ports and row.gpus <= link.reach else "neighbors"


def node_picture(name):
    """The GPUs of a node, what joins them, their network ports and the processors."""
    row, card, link, pair = linked(name)
    if row.gpus > MOST:
        raise ValueError(f"node {name!r}: has {row.gpus} GPUs; allowed: at most {MOST}, a rack has a picture of its own")
    how = joined_by(row, link)
    rates = _rates(row, card, link, pair, how)
    sheet = Sheet(206 + 18 * len(rates))
    step = (WIDE - 2 * _EDGE) / row.gpus
    places = [_EDGE + step * (number_ + 0.5) for number_ in range(row.gpus)]
    _joined(sheet, how, places, row)
    _hosted(sheet, row, places)
    for place, x in enumerate(places):
        sheet.box(x - step * 0.4, 92, step * 0.8, 28).text(x, 111, str(place + 1), at="middle", color="paper", size=12)
    for line, (text, rate, color) in enumerate(rates):
        sheet.words(_EDGE, 218 + 18 * line, f"{text}: ", (rate, color))
    said = "; ".join(f"{text} {rate}" for text, rate, _ in rates)
    return sheet.picture(f"{name}: any two of {row.gpus} {_short(card)} have {byte_rate(pair)} {_HOW[how]}",
                         f"{row.gpus} GPUs {_HOW[how]}. Per direction: {said}.")


_HOW = {"switch": "through switches", "mesh": "over a link of their own", "host": "over PCIe",
        "neighbors": "if they are neighbors"}


def _short(card):
    return card.name.rpartition(" ")[0]


def _rates(row, card, link, pair, how):
    """What the lines of the picture carry per direction: words, rate and color."""
    found = [] if how == "host" else [("between two GPUs", byte_rate(pair), "c")]
    if how == "mesh":
        every = Case(link, ranks=row.gpus, outer_bandwidth=card.outer_bandwidth)(group_bandwidth)
        found = [(f"a link for each of {row.gpus * (row.gpus - 1) // 2} pairs", byte_rate(pair), "c"),
                 (f"to all {row.gpus - 1} others at once", byte_rate(every), "c")]
    if row.network_ports == row.network_ports:
        found.append((f"out of the node for each GPU, {row.network}", byte_rate(row.network_bandwidth), "e"))
    if card.host_bandwidth == card.host_bandwidth:
        found.append(("GPU to processor", byte_rate(card.host_bandwidth), "b"))
    return found


def _joined(sheet, how, places, row):
    """What joins the GPUs, above them."""
    left, right = places[0] - 16, places[-1] + 16
    if how == "switch":
        count = int(row.switches)
        wide = (right - left) / count
        every = count * len(places) <= _LINES
        for x in places:
            for place in range(count) if every else [None]:
                sheet.line((x, 92), (x if place is None else left + wide * (place + 0.5), 44), color="c", thick=1 if every else 3)
        for place in range(count):
            sheet.box(left + wide * place + 2, 26, wide - 4, 24, color="c")
        sheet.text(WIDE / 2, 18, f"{count} switches, each linked to every GPU", at="middle", color="soft")
    elif how == "mesh":
        for first, start in enumerate(places):
            for end in places[first + 1:]:
                middle, high = (start + end) / 2, 92 - 0.46 * (end - start)
                sheet.path(f"M{start:.4g},92 Q{middle:.4g},{high:.4g} {end:.4g},92", outline="c", thick=1)
    else:
        said = "no link of their own" if how == "host" else "links to some of the others"
        sheet.text(WIDE / 2, 70, said, at="middle", color="soft")


def _hosted(sheet, row, places):
    """Network ports and processors, below the GPUs."""
    ports = 0 if row.network_ports != row.network_ports else int(row.network_ports)
    hosts = 0 if row.processors != row.processors else int(row.processors)
    drawn = min(ports, len(places))
    shown = [places[int((place + 0.5) * len(places) / drawn)] for place in range(drawn)]
    for x in places if hosts else ():
        sheet.line((x + 6, 120), (x + 6, 176), color="b", thick=1.5)
    for x in shown:
        sheet.line((x - 6, 120), (x - 6, 140), color="e", thick=2).box(x - 14, 138, 16, 16, color="e")
    for place in range(hosts):
        wide = (WIDE - 2 * _EDGE) / hosts
        sheet.box(_EDGE + wide * place + 4, 176, wide - 8, 24, color="b")
        sheet.text(_EDGE + wide * (place + 0.5), 192, row.processor, at="middle", color="paper", size=11)


def rack_picture(name):
    """A rack: each processor with its GPUs, and the switches that join them all."""
    row, card, _, pair = linked(name)
    for column in ("processors", "switches", "network_bandwidth"):
        if row[column] != row[column]:
            raise ValueError(f"node {name!r}: blank in column {column} of data/nodes.csv; allowed: a rack with its {column}")
    each, half = int(row.gpus // row.processors), int((row.processors + 1) // 2)
    sheet, wide = Sheet(226), (WIDE - 2 * _EDGE) / half
    for place in range(int(row.processors)):
        below, column = divmod(place, half)
        _with_processor(sheet, _EDGE + wide * column, 122 if below else 18, wide, each, bool(below))
    count = int(row.switches)
    sheet.text(WIDE / 2, 18, f"{count} switches, each linked to every GPU", at="middle", color="soft")
    for place in range(count):
        sheet.box(_EDGE + (WIDE - 2 * _EDGE) / count * place + 1, 84, (WIDE - 2 * _EDGE) / count - 2, 18, color="c")
    lines = [(f"between any two of {row.gpus} GPUs, through {count} switches", byte_rate(pair), "c"),
             (f"out of the rack for each GPU, {row.network}", byte_rate(row.network_bandwidth), "e"),
             ("all links together", byte_rate(Case(card, gpus=row.gpus)(nd.node_link_bandwidth)), "c")]
    for line, (text, rate, color) in enumerate(lines):
        sheet.words(_EDGE, 184 + 18 * line, f"{text}: ", (rate, color))
    said = "; ".join(f"{text} {rate}" for text, rate, _ in lines)
    network = byte_rate(row.network_bandwidth)
    return sheet.picture(f"{name}: {row.gpus} GPUs reach each other at {byte_rate(pair)}, the network gives {network}",
                         f"{row.processors} processors with {each} GPUs each, around {count} switches. Per direction: {said}.")


def _with_processor(sheet, left, top, wide, each, turned):
    """A processor (the long box) and its GPUs, which face the switches."""
    inner, size = wide - 3, (wide - 3) / each
    gpus, host, end = (top + 2, top + 18, 104) if turned else (top + 28, top + 12, 82)
    sheet.box(left + 1.5, host, inner, 12, color="b", round=1)
    for place in range(each):
        x = left + 1.5 + size * place
        sheet.line((x + size / 2, gpus + (0 if turned else 12)), (x + size / 2, end), color="c", thick=1)
        sheet.box(x, gpus, size - 1, 12, round=1)


# Cloud instances: what machines are called, what is in them, and what they cost


if TYPE_CHECKING:
    from pandas import DataFrame


# What clouds call a machine, joined to a price book by provider and SKU.

# The terms of each way to pay that is compared; a managed service is another product.
WAYS = {"on_demand": ["on-demand"], "spot": ["spot"],
        "reserved": ["reserved-1y", "reserved-3y", "reserved", "capacity-block"]}
# What may stand behind a machine's name in an SKU: on what terms it is sold, or where its price was read.
_BEHIND = re.compile(r"| Capacity Block| \(.*\)|, .*")


def offers(book: "DataFrame", machine: Any, terms: list[str] | None = None) -> "DataFrame":
    """The rents of a machine, a row of data/instances.csv, on some terms: the cheapest first, but firm ones before others.

    An SKU is the machine's if it is its name, or goes on behind it with the terms.
    """
    return _of(_sold(book), machine, terms)


def _sold(book):
    """All rents, firm ones first and then the cheapest."""
    found = rents(book, required=False)
    return found.assign(is_firm=firm(found)).sort_values("is_firm", ascending=False, kind="stable") if len(found) else found


def _of(sold, machine, terms=None):
    sku = machine["sku"] or machine["machine"]
    if not len(sold):
        return sold
    own = sold[sold["provider"] == machine["provider"]]
    own = own[[each.startswith(sku) and bool(_BEHIND.fullmatch(each[len(sku):])) for each in own["sku"]]] if len(own) else own
    return own if terms is None else own[own["term"].isin(terms)]


def priced(book: "DataFrame") -> "DataFrame":
    """All machines with the cheapest GPU-hour by way to pay, its key in the book and its term; NaN and blanks without one.

    `price` is that of the whole machine for an hour, on demand if there is such a price, and `price_way` the term that it is on.
    """
    frame, sold = instances(), _sold(book)
    held = [_prices(sold, machine) for machine in frame.to_dict("records")]
    return frame.join(frame.from_records(held, frame.index))


def _prices(sold, machine):
    each = {way: _of(sold, machine, terms) for way, terms in WAYS.items()}
    best = {way: found.iloc[0] for way, found in each.items() if len(found)}
    chosen = next(iter(best.values()), None)
    found = {f"{way}_usd": best[way]["usd_per_hour"] if way in best else float("nan") for way in WAYS}
    found |= {f"{way}_row": best[way].name if way in best else "" for way in WAYS}
    found["reserved_way"] = best["reserved"]["term"] if "reserved" in best else ""
    if chosen is None:
        return found | dict(price=float("nan"), price_way="", price_date="")
    dates = sorted(str(row["date"]) for row in best.values())
    return found | dict(price=chosen["price"], price_way=chosen["term"], price_date=dates[0])


# Tables of what clouds call a machine: every one with its prices, the families, what a commitment saves, and who names none.

INSTANCE_GROUPS = {
    "Overview": ["provider", "gpu", "gpus", "on_demand_usd", "spot_usd", "reserved_usd", "price", "price_way"],
    "Prices": ["on_demand_usd", "spot_usd", "reserved_usd", "reserved_way", "price", "price_way", "price_date", "unpriced"],
    "GPUs": ["gpu", "gpus", "node_marketed_bytes", "node_bandwidth", "node_flops", "link", "link_bandwidth"],
    "Machine": ["vcpus", "host_memory_bytes", "local_storage_bytes", "machine_bandwidth"],
    "Family": ["provider", "family", "year", "purpose"],
    "Source": ["confidence", "date", "source", "note"]}
INSTANCE_LABELS = {
    "gpu": "GPU", "gpus": "GPUs", "on_demand_usd": "GPU-hour, on demand", "spot_usd": "GPU-hour, spot",
    "reserved_usd": "GPU-hour, reserved", "reserved_way": "reserved how", "price": "whole machine", "price_way": "on this term",
    "price_date": "oldest price", "unpriced": "without a price", "node_marketed_bytes": "GPU memory", "vcpus": "vCPUs",
    "node_bandwidth": "memory bandwidth", "node_flops": "dense peak", "link_bandwidth": "link per GPU", "year": "since",
    "host_memory_bytes": "host memory", "local_storage_bytes": "local storage", "machine_bandwidth": "network, at most",
    "purpose": "what it is for"}


_HOURLY = in_unit("USD/hour")
INSTANCE_FORMATS = {
    "on_demand_usd": _HOURLY, "spot_usd": _HOURLY, "reserved_usd": _HOURLY, "price": _HOURLY, "year": "{:.0f}".format,
    "gpus": "{:,.0f}".format, "vcpus": "{:,.0f}".format, "host_memory_bytes": in_bytes, "local_storage_bytes": in_bytes,
    "machine_bandwidth": byte_rate}
INSTANCE_BETTER = {
    "on_demand_usd": "low", "spot_usd": "low", "reserved_usd": "low", "price": "low", "node_marketed_bytes": "high",
          "node_bandwidth": "high", "node_flops": "high", "vcpus": "high", "host_memory_bytes": "high",
          "machine_bandwidth": "high"}
_INSTANCE_CARD = ["marketed_bytes", "bandwidth", "peak_flops", "link", "link_bandwidth"]


def all_instances(book):
    """Every machine with its prices in the book, its card's link and the sums over its cards; of a provider the newest first."""
    frame = priced(book).join(catalogue.gpus()[_INSTANCE_CARD], "gpu")
    for law in (nd.node_marketed_bytes, nd.node_bandwidth, nd.node_flops):
        frame[law.__name__] = summed(frame, law)
    newest = frame.assign(place=frame["provider"].map({name: place for place, name in enumerate(frame["provider"].unique())}),
                          unpriced=frame["unpriced"].where(frame["price"].isna(), ""))
    return newest.sort_values(["place", "year", "gpus"], ascending=[True, False, False], kind="stable").drop(columns="place")


def keys(frame):
    """The keys of the prices that a frame of machines shows."""
    return [key for way in WAYS for key in frame[f"{way}_row"] if key]


def instance_table(frame, book):
    """Every machine as the catalogue's table."""
    columns = dict.fromkeys(name for names in INSTANCE_GROUPS.values() for name in names)
    return catalogue_table(frame.reset_index()[["machine", *columns]],
                           f"What clouds call a machine, with the cheapest GPU-hour; {dated(book, book.loc[keys(frame)])}",
                           INSTANCE_GROUPS, INSTANCE_BETTER, ("provider", "gpu", "gpus", "family"), INSTANCE_LABELS,
                           INSTANCE_FORMATS, compare=True)


def machines(frame, gpu, gpus, provider=None):
    """The machines with that many of a card, at one provider or anywhere, the cheapest GPU-hour on demand first."""
    found = frame[(frame["gpu"] == gpu) & (frame["gpus"] == gpus)]
    found = found if provider is None else found[found["provider"] == provider]
    return found.sort_values(["on_demand_usd", "reserved_usd", "spot_usd"], na_position="last", kind="stable")


def machine_table(found, gpu, gpus, book):
    columns = ["machine", "provider", "on_demand_usd", "spot_usd", "reserved_usd", "price", "price_way", "date"]
    return table(found.assign(date=found["price_date"])[columns],
                 f"Machines with {gpus} × {gpu}, the cheapest GPU-hour on demand first; {dated(book, book.loc[keys(found)])}",
                 INSTANCE_LABELS | {"date": "oldest price"}, INSTANCE_FORMATS)


def families(frame):
    """One row for each family of a provider: its cards, sizes, link, most network, cheapest GPU-hour, and what it is for."""
    from pandas import DataFrame
    rows = []
    for (provider, family), part in frame.groupby(["provider", "family"], sort=False):
        sizes = sorted({int(count) for count in part["gpus"]})
        rows.append(dict(provider=provider, family=family, year=int(part["year"].min()),
                         cards=", ".join(dict.fromkeys(part["gpu"])), sizes=", ".join(map(str, sizes)),
                         link=", ".join(dict.fromkeys(part["link"])), machine_bandwidth=part["machine_bandwidth"].max(),
                         on_demand_usd=part["on_demand_usd"].min(), purpose=part["purpose"].iloc[-1]))
    return DataFrame(rows)


def family_table(frame):
    """`families` as a page shows them."""
    found = families(frame)
    groups = {"Family": ["provider", "year", "cards", "sizes", "purpose"],
              "Links and price": ["link", "machine_bandwidth", "on_demand_usd"]}
    return catalogue_table(found[["family", *[name for names in groups.values() for name in names]]],
                           "Families of machines by provider", groups, {"on_demand_usd": "low", "machine_bandwidth": "high"},
                           ("provider",), INSTANCE_LABELS | {"cards": "GPUs", "sizes": "how many"}, INSTANCE_FORMATS)


def saved(frame):
    """Machines with a price on demand and one for a commitment: both, and the share that the commitment saves."""
    found = frame.dropna(subset=["on_demand_usd", "reserved_usd"])
    found = found.assign(saved=1 - found["reserved_usd"] / found["on_demand_usd"])
    return found.sort_values("saved", ascending=False, kind="stable")


def saved_table(frame, book):
    """`saved` as a page shows it."""
    found = saved(frame)
    columns = ["machine", "provider", "gpu", "on_demand_usd", "reserved_usd", "reserved_way", "saved"]
    return table(found[columns], f"What a commitment saves on a GPU-hour; {dated(book, book.loc[keys(found)])}",
                 INSTANCE_LABELS | {"saved": "saved"}, INSTANCE_FORMATS | {"saved": percent})


def nameless(book):
    """Providers that give their machines no name of their own: the cheapest GPU-hour of each card, on demand or on a market."""
    sold = rents(book, per="provider", required=False)
    if not len(sold):
        return sold
    sold = sold[sold["term"].isin(["on-demand", "marketplace"]) & ~sold["provider"].isin(catalogue.instances()["provider"])]
    return sold.sort_values(["provider", "usd_per_hour"]).reset_index()


def nameless_table(book):
    """`nameless` as a page shows it."""
    found = nameless(book)
    if not len(found):
        return table(found, "No other provider in this price book")
    shown = found.rename(columns={"usd_per_hour": "on_demand_usd", "date": "price_date"})
    return catalogue_table(shown[["provider", "gpu", "on_demand_usd", "sku", "price_date"]],
                           f"Providers that sell GPUs without names for machines; {dated(book, book.loc[found['row']])}",
                           {"Prices": ["gpu", "on_demand_usd", "sku", "price_date"]}, {"on_demand_usd": "low"}, ("gpu",),
                           INSTANCE_LABELS | {"sku": "what it sells"}, INSTANCE_FORMATS)
