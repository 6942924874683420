"""What data/ holds, by name: tables and their rows. Price books are in `price_book`."""
import math
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.evaluate import FINDERS, JOINED, READERS, Input, Row, close
from . import names
from .choices import CHOICES
from .files import is_config
from .kept import kept
from .tables import TABLES, plain_row, rows, table

if TYPE_CHECKING:
    from pandas import DataFrame


def gpus(wanted: list[str] | None = None) -> "DataFrame":
    """GPUs as a table, indexed by full SKU: all, or those `wanted`, by names as people write them (`gpucalc.gpus`).

    Columns are those of data/gpus.csv in SI units, with what `gpu` adds to a row. Raises ValueError for a name that no row has,
    or several may have, with those that are close.
    """
    return _chosen(_gpus(), "gpu", wanted)


def _chosen(frame, kind, wanted):
    if wanted is None:
        return frame.copy()
    if isinstance(wanted, str):
        raise ValueError(f"{kind}s: '{wanted}' is text; allowed: a list of names, as in {kind}s(['{wanted}'])")
    return frame.loc[list(dict.fromkeys(names.key(kind, each) for each in wanted))].copy()


@kept
def _gpus():
    frame = table("gpus")
    return frame.assign(**frame.from_records([_added(row) for row in frame.to_dict("records")], frame.index))


def models(wanted: list[str] | None = None) -> "DataFrame":
    """Models as a table, indexed by name: all, or those `wanted`, by names as people write them (`gpucalc.models`).

    Columns are those of data/models.csv. A name that ends in .json is the path of a Hugging Face config.json. Raises ValueError
    as `gpus` does.
    """
    if wanted is None or isinstance(wanted, str):
        return _chosen(table("models"), "model", wanted)
    given = [model(each) for each in wanted]
    frame = table("models")
    own = [row for row in given if row.name not in frame.index]
    if own:
        from pandas import concat
        frame = concat([frame, frame.from_records([dict(row) for row in own], [row.name for row in own])])
        frame = frame.fillna({"uncounted_bytes": 0})
    return frame.loc[list(dict.fromkeys(row.name for row in given))].rename_axis("model")


# The other tables as they stand, by name, and one row of some.

def _whole(name: str, about: str) -> Callable[[], "DataFrame"]:
    def read() -> "DataFrame":
        return table(name).copy()
    read.__name__, read.__doc__ = name, about
    return read


def _one(called: str, held: str, about: str) -> Callable[[str], Row]:
    def found(name: str) -> Row:
        return _row(held, name)
    found.__name__, found.__doc__ = called, about
    return found


links = _whole("links", "All links, by name.")
recipes = _whole("recipes", "All training recipes, by name.")
shares = _whole("shares", "All benchmarks of what cards reach of their peaks, by name.")
formats = _whole("formats", "All formats of weights, by name; `weight_element_bytes` follows from their bits.")
efficiencies = _whole("efficiencies", "All sets of achieved shares of the peaks, by name.")
engines = _whole("engines", "All serving engines, by name.")
jobs = _whole("jobs", "All jobs that a case can be of, by name.")
assumptions = _whole("assumptions", "Low, likely and high value of what the cost of owning depends on, by quantity.")
correlations = _whole("correlations", "Which inputs of the cost of owning move together, by the one that follows.")
fine_print = _whole("fine_print",
                    "What decides beside the price, by subject: migration, licenses, error correction, warranty, availability.")
partitions = _whole("partitions", "All slices into which GPUs can be cut, by GPU and profile.")
nodes = _whole("nodes", "All nodes, boards, racks and pods, by name.")
instances = _whole("instances", "All machines that clouds rent out under a name, by provider and name.")
generations = _whole("generations", "All generations of GPUs, by name.")
memory_kinds = _whole("memory_kinds", "All kinds of memory, each on a card that has it, by kind and card.")
memories = _whole("memories", "All levels of memory of a GPU server, by name, from registers outward.")
quality = _whole("quality", "What public boards say of models: a score of a model on a board a row.")
software = _whole("software", "What does at each vendor what a part of CUDA does, by what it does.")
measurements = _whole("measurements", "All published figures that a law predicts, by id.")
layouts = _whole("layouts", "All layouts of training that somebody ran and published, by name.")
reported = _one("reported", "reported", "One figure that others reported of running GPUs: `value`, with its source.")
node = _one("node", "nodes", "The row of one node.")
link = _one("link", "links", "The row of one link.")
engine = _one("engine", "engines", "The row of one serving engine.")


def assumed(name: str, given: float | None = None) -> float:
    """The likely value of a row of data/assumptions.csv, unless another one is given."""
    return rows("assumptions")[name]["likely"] if given is None else given


def gpu(name: str) -> Row:
    """The row of one GPU, with the shares that its benchmark reached, the ports of its link and the FLOP/s of narrow products."""
    row = _row("gpus", names.key("gpu", name))
    return plain_row(row | _added(row), row.name, row.kind)


def model(name: str) -> Row:
    """The row of one model: its name as people write it, or the path of a Hugging Face config.json, or of its folder."""
    if is_config(name):
        from .config import read
        schema = TABLES["models"]
        return read(name, [column for column in schema.columns if column != schema.key])
    return _row("models", names.key("model", name))


def recipe(name: str) -> Row:
    """The row of one training recipe; which share of a model's products its blocks in 16 bits are follows from its layers."""
    found = _row("recipes", name)
    return plain_row(found | {"wide_products": "wide_block_share" if found["wide_blocks"] else 0}, name, found.kind)


# What stands for a blank share of a peak: the card's, by format, and the link's.
_BY_CARD = {"compute_efficiency": "product_share", "attention_efficiency": "attention_share",
            "grouped_efficiency": "grouped_share", "bandwidth_efficiency": "bandwidth_share"}


def efficiency(name: str) -> Row:
    """The row of one set of shares of the peaks; a blank one is that of the card, the format or the link, by its name."""
    row, level = _row("efficiencies", name), "" if name == "achieved" else f"_{name}"
    named = {share: f"{source}{level}" for share, source in _BY_CARD.items()} | {"link_efficiency": "ring_share"}
    return Row(row | {share: source for share, source in named.items() if row[share] != row[share]}, name, row.kind)


def weight_format(name: str) -> Row:
    """The row of one format of weights."""
    return _row("formats", names.key("weight_format", name))


def narrow_products(card: Any, stored: Any) -> Any:
    """How often a card, or each of a table, halves the 16 bits of products with weights in a format: 1 in 8 bits, 2 in 4.

    A card multiplies in the format's own bits that has the peak and the compute capability that formats.csv asks for.
    """
    peak = card.get(stored["product_needs"] or None)
    if peak is None:
        return 0 * card["memory_bytes"]
    return ((peak > 0) & ~(card.get("compute_capability", math.inf) < stored["product_capability"])) * math.log2(
        16 / float(stored["product_bits"]))


def _halved(rows):
    card, stored = rows.get("gpu"), rows.get("weight_format")
    if not all(isinstance(row, Row) for row in (card, stored)):
        return None
    return Input("narrow_products", narrow_products(card, stored), f"{card.name} and {stored.name}; formats.csv", stored["date"])


JOINED.update(narrow_products=_halved)


# What a case, a parameter or a measurement may name, and how its row is found.
FINDERS.update(model=model, gpu=gpu, link=link, recipe=recipe, weight_format=weight_format, efficiency=efficiency,
               engine=engine, **CHOICES)


READERS["mapping"] = lambda path: import_module("gpucalc.rows.mapping").read_mapping(path)


# What a GPU's row takes from its link.
_OF_LINK = ("port_bandwidth", "group_ports", "peer_ports", "reach", "ring_share", "socket_share", "switch_share")


def _added(row):
    """What a GPU's row takes from its benchmark and its link, and what follows from its cells."""
    link, shares = rows("links")[row["link"]], rows("shares")[row["benchmark"]]
    narrow, integers, outer = (row[first] if row[first] == row[first] else other for first, other in (
        ("fp8_flops", row["peak_flops"]), ("int8_flops", row["peak_flops"]), ("host_bandwidth", link["port_bandwidth"])))
    return {name: link[name] for name in _OF_LINK} | {name: shares[name] for name in shares if "share" in name} | {
        "narrow_flops": narrow, "integer_flops": integers, "outer_bandwidth": outer,
        "quarter_flops": row["fp4_flops"] if row["fp4_flops"] == row["fp4_flops"] else narrow,
        "unmeasured": float(row["vendor"] not in _measured_makers()),
        "inline_ecc": float(row["ecc"] and row["memory_type"].startswith("GDDR"))}


@kept
def _measured_makers():
    """Makers of the cards on which runs of an engine were measured."""
    return {vendor for row in rows("engines").values() for vendor in row["vendors"].split()}


def _row(name, key):
    held, kind = rows(name), TABLES[name].key
    if key not in held:
        raise ValueError(f"data/{name}.csv has no {kind} {key!r}{close(key, held)}; see all in that file")
    return plain_row(held[key], key, kind)
