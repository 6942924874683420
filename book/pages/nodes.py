"""Tables of nodes, boards, racks and pods: their rows, the sums over their cards, and any two of them side by side."""
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, quantity
from gpucalc.laws import nodes as nd
from gpucalc.laws.topology import group_bandwidth
from gpucalc.rows import catalogue
from ..components.catalogue_table import catalogue_table
from ..components.show import sources, table

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
