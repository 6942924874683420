"""What data/ holds, by name: tables and their rows. Price books are in `price_book`."""
from ..core.evaluate import FINDERS, close
from .tables import TABLES, plain_row, table


def gpus():
    """All GPUs, by full SKU."""
    return table("gpus").copy()


def links():
    """All links, by name."""
    return table("links").copy()


def models():
    """All models, by name."""
    return table("models").copy()


def recipes():
    """All training recipes, by name."""
    return table("recipes").copy()


def formats():
    """All formats of weights, by name; `weight_element_bytes` follows from their bits."""
    return table("formats").copy()


def efficiencies():
    """All sets of achieved shares of the peaks, by name."""
    return table("efficiencies").copy()


def assumptions():
    """Low, likely and high value of what the cost of owning depends on, by quantity."""
    return table("assumptions").copy()


def fine_print():
    """What decides beside the price, by subject: migration, licenses, error correction, warranty, availability."""
    return table("fine_print").copy()


def measurements():
    """All published figures that a law predicts, by id."""
    return table("measurements").copy()


def gpu(name):
    """The row of one GPU."""
    return _row("gpus", name)


def link(name):
    """The row of one link."""
    return _row("links", name)


def model(name):
    """The row of one model: its name in data/models.csv, or the path of a Hugging Face config.json."""
    if str(name).endswith(".json"):
        from .config import read
        schema = TABLES["models"]
        return read(name, [column for column in schema.columns if column != schema.key])
    return _row("models", name)


def recipe(name):
    """The row of one training recipe."""
    return _row("recipes", name)


def efficiency(name):
    """The row of one set of achieved shares of the peaks."""
    return _row("efficiencies", name)


def weight_format(name):
    """The row of one format of weights."""
    return _row("formats", name)


# What a case, a parameter or a measurement may name, and how its row is found.
FINDERS.update(model=model, gpu=gpu, link=link, recipe=recipe, weight_format=weight_format, efficiency=efficiency)


def _row(name, key):
    frame = table(name)
    if key not in frame.index:
        raise ValueError(f"data/{name}.csv has no {frame.index.name} {key!r}{close(key, frame.index)}; see all in that file")
    return plain_row(frame.loc[key], key, frame.index.name)
