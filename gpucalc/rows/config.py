"""A Hugging Face config.json as a row of data/models.csv, by the rules of data/architectures.json."""
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..core.evaluate import Case, FINDERS, Row
from ..core.quantities import DATA
from ..laws.kv_cache import weight_bytes
from ..laws.model_size import params
from .files import hidden, shortened, text
from .kept import kept


# The page reads a config that is pasted by the same functions: book/web/printed.py prints those that open no file.

# The fields of a JSON object, read by name and checked: a ValueError names the file, the field, its value and what is right.

_MOST_BYTES = 10_000_000


class Fields(NamedTuple):
    """The fields of one file, read by name and checked.

    `most` is the highest of a count by a word in its field's name: a slip, or a file made to hang, stops there. `prefix` is where
    they stand in the file, but for the `lent`, which are those of the object around them.
    """

    file: str
    fields: dict[str, Any]
    most: dict[str, int]
    prefix: str = ""
    lent: Sequence[str] = ()

    def within(self, name, outer):
        """The fields of the object that a field holds, and of the outer ones those that it lacks."""
        held = self.of(name)
        if not isinstance(held, dict):
            raise self.bad(name, "an object of fields, such as model_type")
        lent = [each for each in outer if each in self.fields and held.get(each) is None]
        return Fields(self.file, {**held, **{each: self.fields[each] for each in lent}}, self.most, f"{name}.", lent)

    def of(self, name, missing=None):
        """What the field holds; `a.b` is field b of the object in field a."""
        held = self.fields
        for part in name.split("."):
            if not isinstance(held, dict) or part not in held:
                return missing
            held = held[part]
        return held

    def has(self, name):
        parts = name.split(".")
        held = self.of(".".join(parts[:-1])) if len(parts) > 1 else self.fields
        return isinstance(held, dict) and parts[-1] in held

    def shown(self, name):
        """The field as messages name it."""
        return name if name.split(".")[0] in self.lent else self.prefix + name

    def bad(self, name, allowed):
        value = shortened(_written(self.of(name)), 60) if self.has(name) else "missing"
        return ValueError(f"{self.file}, field {self.shown(name)}: {value}; allowed: {allowed}")

    def whole(self, name, least, most, nullable):
        """A whole number; `nullable` where null would be read too, which the error then says."""
        value = self.of(name)
        highest = next(each for word, each in self.most.items() if word in name) if most is None else most
        if type(value) is not int or not least <= value <= highest:
            raise self.bad(name, f"a whole number from {least} to {highest:,}{' or null' if nullable else ''}")
        return value

    def flag(self, name, missing=None):
        value = self.of(name, missing)
        if type(value) is not bool:
            raise self.bad(name, "true or false")
        return int(value)

    def choice(self, name, allowed, missing=None):
        """One of the allowed values, of the same type."""
        value = self.of(name, missing)
        if not _is_one_of(value, allowed):
            raise self.bad(name, ", ".join(each if isinstance(each, str) else _written(each) for each in allowed))
        return value


def _written(value):
    return json.dumps(value, ensure_ascii=False)


def _load(path, most=_MOST_BYTES):
    held, file = text(path, most, "UTF-8 text, JSON"), shortened(path.name)
    try:
        fields = json.loads(held, object_pairs_hook=_once)
    except KeyError as error:
        raise ValueError(f"{file}, field {shortened(error.args[0])}: there twice; allowed: each once") from None
    except (ValueError, RecursionError) as error:  # what the second says differs between versions of Python
        said = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"{file}: {said}; allowed: a JSON object of fields, such as model_type") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{file}: a JSON {type(fields).__name__}; allowed: a JSON object of fields, such as model_type")
    return fields


def _once(pairs):
    """The fields of an object. Raises KeyError for a name that is there twice."""
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise KeyError(name)
    return dict(pairs)


# The columns of a model by the rules of its architecture, as data/README.md names them.

_READS = ("count", "flag", "choice", "kinds", "named", "length", "but", "pick", "quantized")
_INSIDE = ("missing", "null", "then", "else")
_WEIGHTS, _LEFT_OUT = "config_groups.group_0.weights", ("ignore", "modules_to_not_convert")


def fields_of(rule):
    """The fields that a rule may read, in any of its branches."""
    if isinstance(rule, str):
        return [] if rule.startswith("=") else [rule]
    if not isinstance(rule, dict):
        return []
    inside = [field for key in _INSIDE if key in rule for field in fields_of(rule[key])]
    return [*(rule[kind] for kind in _READS if kind in rule), *inside]


class Architecture:
    """Columns by the rules of one architecture, each worked out when it is asked for; `fields` says which field gave it."""

    def __init__(self, c, rules, quantized):
        self.c, self.rules, self.quantized, self.fields, self.values = c, rules, quantized, {}, {}

    def row(self):
        """What goes into the row: all but what only helps, or only checks, whose names begin with _."""
        every = {column: self.column(column) for column in self.rules}
        return {column: value for column, value in every.items() if not column.startswith("_")}

    def column(self, column):
        if column not in self.values:
            self.values[column] = self._by(self.rules[column], column)
        return self.values[column]

    def _by(self, rule, column):
        if isinstance(rule, str) and not rule.startswith("="):
            rule = {"count": rule}
        if not isinstance(rule, dict):
            return self._value(rule)
        kind = next(iter(rule))
        value = getattr(self, f"_{kind}")(rule, column)
        self._check(rule, column, value)
        return value

    def _value(self, given):
        """A plain value, or what `= 4 * hidden` says, worked out from left to right."""
        if not isinstance(given, str) or not given.startswith("="):
            return given
        words = given.split()[1:]
        value = self._term(words[0])
        for place in range(1, len(words), 2):
            value = _worked_out(value, words[place], self._term(words[place + 1]))
        return value

    def _term(self, word):
        return int(word) if word.isdigit() else self.column(word)

    def _check(self, rule, column, value):
        """What a number must be beside whole."""
        field = self.fields.get(column)
        if "even" in rule and value % 2:
            raise self.c.bad(field, rule["even"].replace("{}", str(value)))
        if "divides" in rule and self.column(rule["divides"]) % value:
            raise self.c.bad(field, f"a divisor of {self._shown(rule['divides'])}")
        if "multiple_of" in rule and value % self.column(rule["multiple_of"]):
            raise self.c.bad(field, f"a multiple of {self._shown(rule['multiple_of'])}")
        if "equals" in rule and value != self._value(rule["equals"]):
            raise self.c.bad(field, rule["said"].replace("{}", str(self._value(rule["equals"]))))

    def _shown(self, column):
        return f"{self.c.shown(self.fields[column])}, {self.column(column)}"

    def _count(self, rule, column):
        field = rule["count"]
        self.fields[column] = field
        for state, absent in (("missing", not self.c.has(field)), ("null", self.c.of(field, 0) is None)):
            if absent and state in rule:
                return self._by(rule[state], column)
        return self.c.whole(field, self._value(rule.get("least", 1)), self._value(rule.get("most")), "null" in rule)

    def _flag(self, rule, column):
        return self.c.flag(rule["flag"], rule.get("missing"))

    def _choice(self, rule, column):
        allowed = [self._value(each) for each in rule["allowed"]]
        return self.c.choice(rule["choice"], allowed, self._value(rule["missing"]))

    def _divide(self, rule, column):
        size, by = self.column(rule["divide"]), self.column(rule["by"])
        field = self.fields[rule["by"]]
        self.fields[column] = field
        if size % by:
            raise self.c.bad(field, f"a divisor of {self._shown(rule['divide'])}")
        return size // by

    def _if(self, rule, column):
        return self._by(rule["then" if self.column(rule["if"]) else "else"], column)

    def _text(self, rule, column):
        return rule["text"]

    def _pick(self, rule, column):
        """What stands for the text in the field."""
        text = self.c.of(rule["pick"])
        if text is None and "missing" in rule:
            return self._by(rule["missing"], column)
        if not isinstance(text, str) or text not in rule["of"]:
            raise self.c.bad(rule["pick"], ", ".join(rule["of"]))
        return rule["of"][text]

    def _kinds(self, rule, column):
        """How many of the layers, which the field names one by one in a list or a text, are of a kind.

        A list may go on with layers that predict further tokens, which `beyond` counts.
        """
        types, counted = self.c.of(rule["kinds"]), rule["counted"]
        self.fields[column] = rule["kinds"]
        if _is_no_list(types) and "missing" in rule:
            return self._by(rule["missing"], column)
        types = list(types) if isinstance(types, str) else types
        layers, known = self.column("layers"), rule["known"]
        if "beyond" in rule and isinstance(types, list) and len(types) == layers + self.column(rule["beyond"]):
            types = types[:layers]
        if not isinstance(types, list) or len(types) != layers or not all(_is_one_of(each, known) for each in types):
            raise self.c.bad(rule["kinds"], f"a list of {layers}, each {' or '.join(str(each) for each in known)}")
        return sum(each in (counted if isinstance(counted, list) else [counted]) for each in types)

    def _length(self, rule, column):
        """How many layers the field names one by one."""
        types = self.c.of(rule["length"])
        if _is_no_list(types) and "missing" in rule:
            return self._by(rule["missing"], column)
        most = self.c.most["layer"]
        if not isinstance(types, (list, str)) or not 1 <= len(types) <= most:
            raise self.c.bad(rule["length"], f"a list of 1 to {most:,} layers")
        return len(types)

    def _named(self, rule, column):
        """How many layers the field lists by their numbers."""
        field = rule["named"]
        self.fields[column] = field
        named, first, last = self.c.of(field), rule["from"], rule["from"] + self.column("layers") - 1
        if named is None and "missing" in rule:
            return self._by(rule["missing"], column)
        if not _are_layers(named, first, last) or len(set(named)) < len(named):
            raise self.c.bad(field, f"a list of layers from {first} to {last}, each once")
        return len(named)

    def _but(self, rule, column):
        """How many of every so many layers there are, but for those that the field names."""
        layers, named = self.column("layers"), self.c.of(rule["but"]) or []
        if not _are_layers(named, 0, layers - 1):
            raise self.c.bad(rule["but"], f"a list of layers from 0 to {layers - 1}")
        every, dense = self.column(rule["every"]), set(named)
        return len([layer for layer in range(layers) if (layer + 1) % every == 0 and layer not in dense])

    def _quantized(self, rule, column):
        """The format that the block of quantization in the field gives."""
        field = rule["quantized"]
        if not self.c.of(field):
            return self._by(rule["missing"], column)
        named = [self.c.of(f"{field}.{name}") for name in _LEFT_OUT]
        left_out = ["", *(each for names in named if isinstance(names, list) for each in names if isinstance(each, str))]
        for entry in self.quantized:
            asked = entry["of"] | {f"{_WEIGHTS}.{name}": value for name, value in entry.get("weights", {}).items()}
            as_asked = all(_written(self.c.of(f"{field}.{name}")) == _written(value) for name, value in asked.items())
            beside = all(_written(self.c.of(name)) == _written(value) for name, value in entry.get("beside", {}).items())
            apart = any(entry.get("apart", "") in each for each in left_out)
            if as_asked and beside and apart and self._algorithms_are(field, entry.get("algorithms")):
                return entry["format"]
        methods = [entry["of"]["quant_method"] for entry in self.quantized]
        if self.c.of(f"{field}.quant_method") not in methods:
            raise self.c.bad(f"{field}.quant_method", ", ".join(dict.fromkeys(each for each in methods if each)))
        formats = ", ".join(dict.fromkeys(entry["format"] for entry in self.quantized))
        raise self.c.bad(field, f"none, or one that data/architectures.json names for {formats}")

    def _algorithms_are(self, field, wanted):
        """Whether each layer that the block names is quantized as the first group says whose word is in its name."""
        if wanted is None:
            return True
        named = self.c.of(f"{field}.quantized_layers")
        if not isinstance(named, dict) or not named:
            return False
        return all(isinstance(how, dict) and how.get("quant_algo") in _algorithms_of(name, wanted) for name, how in named.items())


def _algorithms_of(name, wanted):
    """What the first group allows whose word is in the name of a layer; nothing where none is."""
    return next((group["are"] for group in wanted if group["in"] in name), [])


def _worked_out(one, operator, other):
    if operator in ("//", "max"):
        return one // other if operator == "//" else max(one, other)
    return {"+": one + other, "-": one - other, "*": one * other}[operator]


def _is_one_of(value, allowed):
    """Whether a value is there, of the same type."""
    return any(type(value) is type(each) and value == each for each in allowed)


def _is_no_list(value):
    return value is None or isinstance(value, list) and not value


def _are_layers(named, first, last):
    return isinstance(named, list) and all(type(each) is int and first <= each <= last for each in named)


# A Hugging Face config.json as a row like those of data/models.csv, by the rules in data/architectures.json.
#
# A field that is missing has a default only where the class of that architecture in transformers gives it one. A field that
# would change the architecture in a way the laws do not count is refused by name.

TEXT_COLUMNS = ["family", "attention", "native_format", "repository", "unit", "source", "date", "confidence", "note"]
UNIT = "count, tokens"
INDEX = "model.safetensors.index.json"
_MOST_CONFIG_BYTES, _MOST_INDEX_BYTES = 1_000_000, 100_000_000


def read(path, columns):
    """The model in the file, or in the config.json of a folder, as a row of the given columns: architecture, exact `params`, and
    the file as source. The index of safetensors beside it gives `uncounted_bytes` too, so that its weights are as released.

    Raises ValueError naming the file, the field, its value and what is allowed.
    """
    path = Path(path)
    path = path / "config.json" if os.path.isdir(path) else path
    file = Fields(shortened(path.name), _load(path), architectures()["most"])
    fields, row = described(file, columns, "/".join(path.absolute().parts[-2:]))
    row["params"] = Case({name: value for name, value in row.items() if name != "params"})(params)
    index = path.with_name(INDEX)
    if os.path.exists(index):
        counted = Case(row, weight_format=FINDERS["weight_format"](row["native_format"]))(weight_bytes)
        row |= released(_load(index, _MOST_INDEX_BYTES), row, counted)
    # A download is a folder that has the model's name.
    folder = path.absolute().parent.name if path.name == "config.json" else ""
    return Row(row, named(fields, folder or path.stem), "model")


def released(held, row, counted):
    """What an index of safetensors adds to a model's row: bytes of its files beyond the `counted` ones, and both in the source.

    Raises ValueError for an index that can't be of this model in its format.
    """
    index, (least, most) = Fields(INDEX, held, {}), architectures()["released"]
    total, files = index.of("metadata.total_size"), index.of("weight_map")
    if type(total) is not int or not least * counted <= total <= most * counted:
        raise index.bad("metadata.total_size", f"a whole number of bytes, {least:g} to {most:g} times the {counted:,.0f} that "
                        f"config.json gives in {row['native_format']}: the index of the same files")
    if not isinstance(files, dict) or not files:
        raise index.bad("weight_map", "the file of each tensor by its name")
    many = len(set(files.values()))
    return {"uncounted_bytes": total - counted, "source": f"{row['source']}; released: {total:,} bytes in {many:,} "
            f"file{'s' if many > 1 else ''}, counted in {row['native_format']}: {counted:,.0f}"}


def described(file, columns, path):
    """The fields of the model in a file, and its columns, of which the count of parameters is not filled in."""
    fields, model_type = _text_model(file)
    for c in (file, fields):
        _check_blocks(c)
    architecture = Architecture(fields, families()[model_type], architectures()["quantized"]).row()
    _refuse_others(fields, model_type)
    row = {column: "" if column in TEXT_COLUMNS else 0 for column in columns} | architecture
    row |= {"family": "MoE" if row["moe_layers"] else "dense", "attention": _attention(row), "unit": UNIT,
            "source": f"Hugging Face config {shortened(path)}", "confidence": "seen"}
    if fields.prefix:
        row["note"] = "; ".join(each for each in (architectures()["text_note"], row["note"]) if each)
    return fields, row


def _text_model(c):
    """The fields of the model that reads and writes text, and its type: those of the file, or of its text_config."""
    known, given = architectures(), c.of("model_type")
    if isinstance(given, str) and given in known["lacking"]:
        raise c.bad("model_type", f"a type that the formulas count; they lack {known['lacking'][given]}")
    model_type = c.choice("model_type", sorted([*families(), *nesting()]))
    if model_type not in nesting():
        _check_head(c, known["class_ends"])
        return c, model_type
    _check_head(c, [*known["class_ends"], *known["text_class_ends"]])
    c, inside = c.within("text_config", known["outer"]), nesting()[model_type]
    return c, c.choice("model_type", inside, inside[0])


@kept
def architectures():
    """data/architectures.json as it stands there."""
    return json.loads(text(DATA / "architectures.json", _MOST_CONFIG_BYTES))


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
    fields = [field for rule in families()[model_type].values() for field in fields_of(rule)]
    known = {name for field in fields for name in (field, field.split(".")[0])}
    return [name for name in architectures()["shaping"] if name not in known]


def _refuse_others(c, model_type):
    for name in refused_fields(model_type):
        if c.of(name):
            raise c.bad(name, f"none for {model_type}, which does not have it")


def _check_blocks(c):
    """What is an object of fields, or off: a text that stands there is not read, and so refused."""
    for name in architectures()["blocks"]:
        if c.of(name) and not isinstance(c.of(name), dict):
            raise c.bad(name, "an object of fields, or null")


def _check_head(c, ends):
    """A language model: its output head is one of the parameters that are counted."""
    classes = c.of("architectures")
    if classes is not None and not (isinstance(classes, list) and all(_ends(each, ends) for each in classes)):
        raise c.bad("architectures", f"a list of classes that end in {' or '.join(ends)}")


def _ends(name, ends):
    return isinstance(name, str) and any(name.endswith(end) for end in ends)


def named(c, stem):
    """What the model is called: by its config, else by its file."""
    name, longest = c.of("_name_or_path"), architectures()["longest_name"]
    if not isinstance(name, str) or not name.strip():
        return shortened(stem)
    if hidden(name) or len(name) > longest:
        raise c.bad("_name_or_path", f"at most {longest} characters, none of them control or invisible")
    return name


def _attention(row):
    if row["kv_lora_rank"]:
        return "MLA"
    return "MHA" if row["heads"] == row["kv_heads"] else "MQA" if row["kv_heads"] == 1 else "GQA"
