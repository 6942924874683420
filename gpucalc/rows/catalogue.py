"""What data/ holds, by name: tables and their rows. Price books are in `price_book`."""
from typing import TYPE_CHECKING

from ..core.evaluate import FINDERS, READERS, Row, close
from .tables import TABLES, plain_row, rows, table

if TYPE_CHECKING:
    from pandas import DataFrame


def gpus() -> "DataFrame":
    """All GPUs, by full SKU."""
    return table("gpus").copy()


def links() -> "DataFrame":
    """All links, by name."""
    return table("links").copy()


def models() -> "DataFrame":
    """All models, by name."""
    return table("models").copy()


def recipes() -> "DataFrame":
    """All training recipes, by name."""
    return table("recipes").copy()


def formats() -> "DataFrame":
    """All formats of weights, by name; `weight_element_bytes` follows from their bits."""
    return table("formats").copy()


def efficiencies() -> "DataFrame":
    """All sets of achieved shares of the peaks, by name."""
    return table("efficiencies").copy()


def assumptions() -> "DataFrame":
    """Low, likely and high value of what the cost of owning depends on, by quantity."""
    return table("assumptions").copy()


def fine_print() -> "DataFrame":
    """What decides beside the price, by subject: migration, licenses, error correction, warranty, availability."""
    return table("fine_print").copy()


def measurements() -> "DataFrame":
    """All published figures that a law predicts, by id."""
    return table("measurements").copy()


def gpu(name: str) -> Row:
    """The row of one GPU."""
    return _row("gpus", name)


def link(name: str) -> Row:
    """The row of one link."""
    return _row("links", name)


def model(name: str) -> Row:
    """The row of one model: its name in data/models.csv, or the path of a Hugging Face config.json."""
    if str(name).endswith(".json"):
        from .config import read
        schema = TABLES["models"]
        return read(name, [column for column in schema.columns if column != schema.key])
    return _row("models", name)


def recipe(name: str) -> Row:
    """The row of one training recipe."""
    return _row("recipes", name)


def efficiency(name: str) -> Row:
    """The row of one set of achieved shares of the peaks."""
    return _row("efficiencies", name)


def weight_format(name: str) -> Row:
    """The row of one format of weights."""
    return _row("formats", name)


# What a case, a parameter or a measurement may name, and how its row is found.
FINDERS.update(model=model, gpu=gpu, link=link, recipe=recipe, weight_format=weight_format, efficiency=efficiency)


def _mapping(path):
    from .mapping import read_mapping
    return read_mapping(path)


READERS.update(mapping=_mapping)


def _row(name, key):
    held, kind = rows(name), TABLES[name].key
    if key not in held:
        raise ValueError(f"data/{name}.csv has no {kind} {key!r}{close(key, held)}; see all in that file")
    return plain_row(held[key], key, kind)
