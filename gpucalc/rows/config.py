"""A Hugging Face config.json as a row like those of data/models.csv, by the rules in data/architectures.json.

A field that is missing has a default only where the class of that architecture in transformers gives it one. A field that
would change the architecture in a way the laws do not count is refused by name. The page reads a config that is pasted by the
same rules: book/static/read.js.
"""
import json
from pathlib import Path

from ..core.evaluate import Case, Row
from ..core.quantities import DATA
from ..laws.model_size import params
from .architecture import OFF, Architecture, fields_of
from .files import hidden, shortened, text
from .json_fields import Fields
from .kept import kept

TEXT_COLUMNS = ["family", "attention", "native_format", "unit", "source", "date", "confidence", "note"]
UNIT = "count, tokens"
_MOST_BYTES = 1_000_000


def read(path, columns):
    """The model in the file as a row of the given columns: architecture, exact `params`, and the file as source.

    Raises ValueError naming the file, the field, its value and what is allowed.
    """
    path = Path(path)
    whole_file = Fields(path, architectures()["most"])
    fields, model_type = _text_model(whole_file)
    for c in (whole_file, fields):
        _check_blocks(c)
    architecture = Architecture(fields, families()[model_type], architectures()["quantized"]).row()
    _refuse_others(fields, model_type)
    row = {**{column: 0 for column in columns if column not in TEXT_COLUMNS}, "note": "", **architecture}
    row |= {"family": "MoE" if row["moe_layers"] else "dense", "attention": _attention(**row), "unit": UNIT,
            "source": f"Hugging Face config {shortened('/'.join(path.absolute().parts[-2:]))}", "date": "", "confidence": "seen"}
    if fields is not whole_file:
        row["note"] = "; ".join(filter(None, [architectures()["text_note"], row["note"]]))
    row["params"] = Case({name: value for name, value in row.items() if name != "params"})(params)
    extra = [name for name in row if name not in columns]
    return Row({name: row[name] for name in columns + extra}, _name(fields, path), "model")


def _text_model(c):
    """The fields of the model that reads and writes text, and its type: those of the file, or of its text_config."""
    known, given = architectures(), c.get("model_type")
    if isinstance(given, str) and given in known["lacking"]:
        raise c.bad("model_type", f"a type that the formulas count; they lack {known['lacking'][given]}")
    model_type = c.choice("model_type", *sorted([*families(), *nesting()]))
    if model_type not in nesting():
        _check_head(c, known["class_ends"])
        return c, model_type
    _check_head(c, known["class_ends"] + known["text_class_ends"])
    c = c.within("text_config", known["outer"])
    return c, c.choice("model_type", *nesting()[model_type], missing=nesting()[model_type][0])


@kept
def architectures():
    """data/architectures.json as it stands there."""
    return json.loads(text(DATA / "architectures.json", _MOST_BYTES))


@kept
def families():
    """The rules of each architecture by column."""
    return {name: whole(rules) for name, rules in architectures()["architectures"].items() if "text" not in rules}


@kept
def nesting():
    """The types that text_config may have, of each type that holds its text model there."""
    return {name: rules["text"] for name, rules in architectures()["architectures"].items() if "text" in rules}


def whole(architecture):
    """The rules of an architecture by column, with those of the parts that it is like; the last one of a column counts."""
    parts = [whole(architectures()["parts"][name]) for name in architecture.get("like", [])]
    own = {name: rule for name, rule in architecture.items() if name not in ("like", "why")}
    return {name: rule for part in [*parts, own] for name, rule in part.items()}


def refused_fields(model_type):
    """Fields that change parameters or cache, and that the architecture does not read: they must not be switched on."""
    known = set().union(*map(fields_of, families()[model_type].values()))
    known |= {name.split(".")[0] for name in known}
    return [name for name in architectures()["shaping"] if name not in known]


def _refuse_others(c, model_type):
    for name in refused_fields(model_type):
        if c.get(name) not in OFF:
            raise c.bad(name, f"none for {model_type}, which does not have it")


def _check_blocks(c):
    """What is an object of fields, or off: a text that stands there is not read, and so refused."""
    for name in architectures()["blocks"]:
        if c.get(name) not in OFF and not isinstance(c.get(name), dict):
            raise c.bad(name, "an object of fields, or null")


def _check_head(c, ends):
    """A language model: its output head is one of the parameters that are counted."""
    classes = c.get("architectures")
    if classes is not None and not (isinstance(classes, list) and all(str(each).endswith(tuple(ends)) for each in classes)):
        raise c.bad("architectures", f"a list of classes that end in {' or '.join(ends)}")


def _name(c, path):
    name, longest = c.get("_name_or_path"), architectures()["longest_name"]
    if not isinstance(name, str) or not name.strip():
        return shortened(path.stem)
    if hidden(name) or len(name) > longest:
        raise c.bad("_name_or_path", f"at most {longest} characters, none of them control or invisible")
    return name


def _attention(heads, kv_heads, kv_lora_rank, **_):
    if kv_lora_rank:
        return "MLA"
    return "MHA" if heads == kv_heads else "MQA" if kv_heads == 1 else "GQA"
