"""Nodes and racks: what is in a machine, how it is wired, and pictures of it."""
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, quantity
from gpucalc.laws import nodes as nd
from gpucalc.laws.topology import group_bandwidth
from gpucalc.rows import catalogue
from ..components.catalogue_table import catalogue_table
from ..components.picture import Sheet, WIDE
from ..components.show import sources, table


# Tables of nodes, boards, racks and pods: their rows, the sums over their cards, and any two of them side by side.

SUMS = (nd.node_marketed_bytes, nd.node_memory_bytes, nd.node_bandwidth, nd.node_flops, nd.node_fp8_flops, nd.node_fp4_flops,
        nd.node_link_bandwidth, nd.node_network_bandwidth, nd.node_gpu_power_share, nd.node_flops_per_watt,
        nd.printed_dense_flops)
_OF_CARD = ("marketed_bytes", "memory_bytes", "bandwidth", "peak_flops", "peak_format", "fp8_flops", "fp4_flops", "tdp_watts",
            "generation", "status", "host_bandwidth", "beyond_bandwidth")
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
           "host_memory_bytes": lambda value: number(value, "byte"), "node_gpu_power_share": percent,
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
    frame = frame.assign(pair_bandwidth=Case(frame[["port_bandwidth", "group_ports", "peer_ports", "reach", "beyond_bandwidth"]],
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
    """All nodes as the catalogue's table."""
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
                 formats={"summed": lambda value: number(value, "FLOP/second")})


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
    pair = Case(link, ranks=2, beyond_bandwidth=card.beyond_bandwidth)(group_bandwidth)
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
    return sheet.picture(f"{name}: any two of {row.gpus} {_short(card)} have {_rate(pair)} {_HOW[how]}",
                         f"{row.gpus} GPUs {_HOW[how]}. Per direction: {said}.")


_HOW = {"switch": "through switches", "mesh": "over a link of their own", "host": "over PCIe",
        "neighbors": "if they are neighbors"}


def _short(card):
    return card.name.rpartition(" ")[0]


def _rate(value):
    return number(value, "byte/second")


def _rates(row, card, link, pair, how):
    """What the lines of the picture carry per direction: words, rate and color."""
    found = [] if how == "host" else [("between two GPUs", _rate(pair), "c")]
    if how == "mesh":
        every = Case(link, ranks=row.gpus, beyond_bandwidth=card.beyond_bandwidth)(group_bandwidth)
        found = [(f"a link for each of {row.gpus * (row.gpus - 1) // 2} pairs", _rate(pair), "c"),
                 (f"to all {row.gpus - 1} others at once", _rate(every), "c")]
    if row.network_ports == row.network_ports:
        found.append((f"out of the node for each GPU, {row.network}", _rate(row.network_bandwidth), "e"))
    if card.host_bandwidth == card.host_bandwidth:
        found.append(("GPU to processor", _rate(card.host_bandwidth), "b"))
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
    lines = [(f"between any two of {row.gpus} GPUs, through {count} switches", _rate(pair), "c"),
             (f"out of the rack for each GPU, {row.network}", _rate(row.network_bandwidth), "e"),
             ("all links together", _rate(Case(card, gpus=row.gpus)(nd.node_link_bandwidth)), "c")]
    for line, (text, rate, color) in enumerate(lines):
        sheet.words(_EDGE, 184 + 18 * line, f"{text}: ", (rate, color))
    said = "; ".join(f"{text} {rate}" for text, rate, _ in lines)
    network = _rate(row.network_bandwidth)
    return sheet.picture(f"{name}: {row.gpus} GPUs reach each other at {_rate(pair)}, the network gives {network}",
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
