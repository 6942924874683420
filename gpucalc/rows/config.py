"""A Hugging Face config.json as a row of data/models.csv, by the rules of data/architectures.json."""
import json
from collections import Counter
from copy import copy
from pathlib import Path

from ..core.evaluate import Case, Row
from ..core.quantities import DATA
from ..laws.model_size import params
from .files import hidden, shortened, text
from .kept import kept


# The fields of a JSON object, read by name and checked: a ValueError names the file, the field, its value and what is right.

NEEDED = object()
_MOST_BYTES = 10_000_000


class Fields:
    """The fields of one file, read by name and checked.

    `most` is the highest of a count by a word in its field's name: a slip, or a file made to hang, stops there.
    """

    def __init__(self, path, most):
        self.file, self.fields, self.most = shortened(path.name), _load(path), most
        self._prefix, self._lent = "", set()

    def within(self, name, outer):
        """The fields of the object that a field holds, and of the outer ones those that it lacks."""
        held = self.get(name)
        if not isinstance(held, dict):
            raise self.bad(name, "an object of fields, such as model_type")
        lent = {each: self.fields[each] for each in outer if each in self.fields and held.get(each) is None}
        inner = copy(self)
        inner.fields, inner._prefix, inner._lent = {**held, **lent}, f"{name}.", set(lent)
        return inner

    def get(self, name, missing=None):
        """What the field holds; `a.b` is field b of the object in field a."""
        held = self.fields
        for part in name.split("."):
            if not isinstance(held, dict) or part not in held:
                return missing
            held = held[part]
        return held

    def has(self, name):
        return self.get(name, NEEDED) is not NEEDED

    def shown(self, name):
        """The field as messages name it."""
        return name if name.split(".")[0] in self._lent else self._prefix + name

    def bad(self, name, allowed):
        value = shortened(json.dumps(self.get(name), ensure_ascii=False), 60) if self.has(name) else "missing"
        return ValueError(f"{self.file}, field {self.shown(name)}: {value}; allowed: {allowed}")

    def count(self, name, least=1, most=None, nullable=False):
        """A whole number; `nullable` where null would be read too, which the error then says."""
        value = self.get(name)
        most = next(most for word, most in self.most.items() if word in name) if most is None else most
        if type(value) is not int or not least <= value <= most:
            raise self.bad(name, f"a whole number from {least} to {most:,}" + (" or null" if nullable else ""))
        return value

    def flag(self, name, missing=NEEDED):
        value = self.get(name, missing)
        if type(value) is not bool:
            raise self.bad(name, "true or false")
        return int(value)

    def choice(self, name, *allowed, missing=NEEDED):
        """One of the allowed values, of the same type."""
        value = self.get(name, missing)
        if not any(type(value) is type(each) and value == each for each in allowed):
            raise self.bad(name, ", ".join(each if isinstance(each, str) else json.dumps(each) for each in allowed))
        return value


def _load(path):
    held, file = text(path, _MOST_BYTES, "UTF-8 text, JSON"), shortened(path.name)
    try:
        fields = json.loads(held, object_pairs_hook=_once)
    except _Twice as error:
        raise ValueError(f"{file}, field {shortened(error)}: there twice; allowed: each once") from None
    except (ValueError, RecursionError) as error:  # what the second says differs between versions of Python
        said = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"{file}: {said}; allowed: a JSON object of fields, such as model_type") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{file}: a JSON {type(fields).__name__}; allowed: an object of fields, such as model_type")
    return fields


class _Twice(ValueError):
    pass


def _once(pairs):
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise _Twice(name)
    return dict(pairs)


# The columns of a model by the rules of its architecture, as data/README.md names them; the page reads them too: read.js.

OFF: tuple = (None, False, 0, "", [], {})
_READS = ("count", "flag", "choice", "kinds", "named", "length", "but", "pick", "quantized")
_INSIDE = ("missing", "null", "then", "else")
_OPERATORS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "//": int.__floordiv__, "max": max}
_WEIGHTS, _LEFT_OUT = "config_groups.group_0.weights", ("ignore", "modules_to_not_convert")


def fields_of(rule):
    """The fields that a rule may read, in any of its branches."""
    if isinstance(rule, str):
        return set() if rule.startswith("=") else {rule}
    if not isinstance(rule, dict):
        return set()
    return {rule[kind] for kind in _READS if kind in rule}.union(*(fields_of(rule[key]) for key in _INSIDE if key in rule))


class Architecture:
    """Columns by the rules of one architecture, each worked out when it is asked for; `fields` says which field gave it."""

    def __init__(self, c, rules, quantized):
        self.c, self.rules, self.quantized, self.fields, self.values = c, rules, quantized, {}, {}

    def row(self):
        """What goes into the row: all but what only helps, or only checks, whose names begin with _."""
        every = {column: self[column] for column in self.rules}
        return {column: value for column, value in every.items() if not column.startswith("_")}

    def __getitem__(self, column):
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
        first, *rest = given.split()[1:]
        value = self._term(first)
        for operator, term in zip(rest[::2], rest[1::2]):
            value = _OPERATORS[operator](value, self._term(term))
        return value

    def _term(self, word):
        return int(word) if word.isdigit() else self[word]

    def _check(self, rule, column, value):
        """What a number must be beside whole."""
        field = self.fields.get(column)
        if "even" in rule and value % 2:
            raise self.c.bad(field, rule["even"].replace("{}", str(value)))
        if "divides" in rule and self[rule["divides"]] % value:
            raise self.c.bad(field, f"a divisor of {self._shown(rule['divides'])}")
        if "multiple_of" in rule and value % self[rule["multiple_of"]]:
            raise self.c.bad(field, f"a multiple of {self._shown(rule['multiple_of'])}")
        if "equals" in rule and value != self._value(rule["equals"]):
            raise self.c.bad(field, f"the other {self._value(rule['equals'])} layers")

    def _shown(self, column):
        return f"{self.c.shown(self.fields[column])}, {self[column]}"

    def _count(self, rule, column):
        field = self.fields[column] = rule["count"]
        for state, absent in (("missing", not self.c.has(field)), ("null", self.c.get(field, 0) is None)):
            if absent and state in rule:
                return self._by(rule[state], column)
        return self.c.count(field, self._value(rule.get("least", 1)), self._value(rule.get("most")), "null" in rule)

    def _flag(self, rule, column):
        return self.c.flag(rule["flag"], rule.get("missing", NEEDED))

    def _choice(self, rule, column):
        allowed = [self._value(each) for each in rule["allowed"]]
        return self.c.choice(rule["choice"], *allowed, missing=self._value(rule["missing"]))

    def _divide(self, rule, column):
        size, rest = divmod(self[rule["divide"]], self[rule["by"]])
        self.fields[column] = self.fields[rule["by"]]
        if rest:
            raise self.c.bad(self.fields[rule["by"]], f"a divisor of {self._shown(rule['divide'])}")
        return size

    def _if(self, rule, column):
        return self._by(rule["then" if self[rule["if"]] else "else"], column)

    def _text(self, rule, column):
        return rule["text"]

    def _pick(self, rule, column):
        """What stands for the text in the field."""
        text = self.c.get(rule["pick"])
        if text is None and "missing" in rule:
            return self._by(rule["missing"], column)
        if not isinstance(text, str) or text not in rule["of"]:
            raise self.c.bad(rule["pick"], ", ".join(rule["of"]))
        return rule["of"][text]

    def _kinds(self, rule, column):
        """How many of the layers, which the field names one by one in a list or a text, are of a kind."""
        types, counted = self.c.get(rule["kinds"]), rule["counted"]
        if types in (None, []) and "missing" in rule:
            return self._by(rule["missing"], column)
        types = list(types) if isinstance(types, str) else types
        known = [(type(each), each) for each in rule["known"]]
        if not isinstance(types, list) or len(types) != self["layers"] or any((type(each), each) not in known for each in types):
            raise self.c.bad(rule["kinds"], f"a list of {self['layers']}, each {' or '.join(map(str, rule['known']))}")
        return sum(each in (counted if isinstance(counted, list) else [counted]) for each in types)

    def _length(self, rule, column):
        """How many layers the field names one by one."""
        types = self.c.get(rule["length"])
        if types in (None, []) and "missing" in rule:
            return self._by(rule["missing"], column)
        most = self.c.most["layer"]
        if not isinstance(types, (list, str)) or not 1 <= len(types) <= most:
            raise self.c.bad(rule["length"], f"a list of 1 to {most:,} layers")
        return len(types)

    def _named(self, rule, column):
        """How many layers the field lists by their numbers."""
        field = self.fields[column] = rule["named"]
        named, first, last = self.c.get(field), rule["from"], rule["from"] + self["layers"] - 1
        if named is None and "missing" in rule:
            return self._by(rule["missing"], column)
        if not _are_layers(named, first, last) or len(set(named)) < len(named):
            raise self.c.bad(field, f"a list of layers from {first} to {last}, each once")
        return len(named)

    def _but(self, rule, column):
        """How many of every so many layers there are, but for those that the field names."""
        layers, named = self["layers"], self.c.get(rule["but"]) or []
        if not _are_layers(named, 0, layers - 1):
            raise self.c.bad(rule["but"], f"a list of layers from 0 to {layers - 1}")
        return len({layer for layer in range(layers) if (layer + 1) % self[rule["every"]] == 0}.difference(named))

    def _quantized(self, rule, column):
        """The format that the block of quantization in the field gives."""
        field = rule["quantized"]
        block = self.c.get(field)
        if block in OFF:
            return self._by(rule["missing"], column)
        for entry in self.quantized:
            asked = entry["of"] | {f"{_WEIGHTS}.{name}": value for name, value in entry.get("weights", {}).items()}
            as_asked = all(json.dumps(self.c.get(f"{field}.{name}")) == json.dumps(value) for name, value in asked.items())
            if as_asked and any(entry.get("apart", "") in each for each in self._left_out(field)):
                return entry["format"]
        methods = [entry["of"]["quant_method"] for entry in self.quantized]
        if self.c.get(f"{field}.quant_method") not in methods:
            raise self.c.bad(f"{field}.quant_method", ", ".join(dict.fromkeys(filter(None, methods))))
        formats = ", ".join(dict.fromkeys(entry["format"] for entry in self.quantized))
        raise self.c.bad(field, f"none, or one that data/architectures.json names for {formats}")

    def _left_out(self, field):
        """The names of what a block of quantization leaves as it is, and an empty one."""
        named = [self.c.get(f"{field}.{name}") for name in _LEFT_OUT]
        return ["", *(each for names in named if isinstance(names, list) for each in names if isinstance(each, str))]


def _are_layers(named, first, last):
    return isinstance(named, list) and all(type(each) is int and first <= each <= last for each in named)


# A Hugging Face config.json as a row like those of data/models.csv, by the rules in data/architectures.json.
#
# A field that is missing has a default only where the class of that architecture in transformers gives it one. A field that
# would change the architecture in a way the laws do not count is refused by name. The page reads a config that is pasted by the
# same rules: book/static/read.js.

TEXT_COLUMNS = ["family", "attention", "native_format", "unit", "source", "date", "confidence", "note"]
UNIT = "count, tokens"
_MOST_CONFIG_BYTES = 1_000_000


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
