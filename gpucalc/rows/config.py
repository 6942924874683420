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
from .files import hidden, shortened, text
from .json_fields import NEEDED, Fields
from .kept import kept

TEXT_COLUMNS = ["family", "attention", "unit", "source", "date", "confidence", "note"]
UNIT = "count, tokens"
_OFF: tuple = (None, False, 0, "", [], {})
_READS, _INSIDE = ("count", "flag", "choice", "kinds", "but"), ("missing", "null", "then", "else")
_MOST_BYTES = 1_000_000
_OPERATORS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "//": int.__floordiv__, "max": max}


def read(path, columns):
    """The model in the file as a row of the given columns: architecture, exact `params`, and the file as source.

    Raises ValueError naming the file, the field, its value and what is allowed.
    """
    path = Path(path)
    fields = Fields(path, architectures()["most"])
    model_type = fields.choice("model_type", *families())
    _check_head(fields)
    architecture = _Architecture(fields, families()[model_type]).row()
    _refuse_others(fields, model_type)
    row = {**{column: 0 for column in columns if column not in TEXT_COLUMNS}, "note": "", **architecture}
    row |= {"family": "MoE" if row["moe_layers"] else "dense", "attention": _attention(**row), "unit": UNIT,
            "source": f"Hugging Face config {shortened('/'.join(path.absolute().parts[-2:]))}", "date": "", "confidence": "seen"}
    row["params"] = Case({name: value for name, value in row.items() if name != "params"})(params)
    extra = [name for name in row if name not in columns]
    return Row({name: row[name] for name in columns + extra}, _name(fields, path), "model")


@kept
def architectures():
    """data/architectures.json as it stands there."""
    return json.loads(text(DATA / "architectures.json", _MOST_BYTES))


@kept
def families():
    """The rules of each architecture by column."""
    return {name: whole(architecture) for name, architecture in architectures()["architectures"].items()}


def whole(architecture):
    """The rules of an architecture by column, with those of the parts that it is like; the last one of a column counts."""
    parts = [whole(architectures()["parts"][name]) for name in architecture.get("like", [])]
    own = {name: rule for name, rule in architecture.items() if name not in ("like", "why")}
    return {name: rule for part in [*parts, own] for name, rule in part.items()}


def refused_fields(model_type):
    """Fields that change parameters or cache, and that the architecture does not read: they must not be switched on."""
    known = set().union(*map(_named, families()[model_type].values()))
    return [name for name in architectures()["shaping"] if name not in known]


def _named(rule):
    """The fields that a rule may read, in any of its branches."""
    if isinstance(rule, str):
        return set() if rule.startswith("=") else {rule}
    if not isinstance(rule, dict):
        return set()
    return {rule[kind] for kind in _READS if kind in rule}.union(*(_named(rule[key]) for key in _INSIDE if key in rule))


def _refuse_others(c, model_type):
    for name in refused_fields(model_type):
        if c.fields.get(name) not in _OFF:
            raise c.bad(name, f"none for {model_type}, which does not have it")


def _check_head(c):
    """A language model: its output head is one of the parameters that are counted."""
    classes, ends = c.fields.get("architectures"), architectures()["class_ends"]
    if classes is not None and not (isinstance(classes, list) and all(str(each).endswith(tuple(ends)) for each in classes)):
        raise c.bad("architectures", f"a list of classes that end in {' or '.join(ends)}")


def _name(c, path):
    name, longest = c.fields.get("_name_or_path"), architectures()["longest_name"]
    if not isinstance(name, str) or not name.strip():
        return shortened(path.stem)
    if hidden(name) or len(name) > longest:
        raise c.bad("_name_or_path", f"at most {longest} characters, none of them control or invisible")
    return name


def _attention(heads, kv_heads, kv_lora_rank, **_):
    if kv_lora_rank:
        return "MLA"
    return "MHA" if heads == kv_heads else "MQA" if kv_heads == 1 else "GQA"


class _Architecture:
    """Columns by the rules of one architecture, each worked out when it is asked for; `fields` says which field gave it."""

    def __init__(self, c, rules):
        self.c, self.rules, self.fields, self.values = c, rules, {}, {}

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

    def _shown(self, column):
        return f"{self.fields[column]}, {self[column]}"

    def _count(self, rule, column):
        field = self.fields[column] = rule["count"]
        for state, absent in (("missing", field not in self.c.fields), ("null", self.c.fields.get(field, 0) is None)):
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

    def _kinds(self, rule, column):
        """How many of the layers, which the field names one by one, are of a kind."""
        types, known = self.c.fields.get(rule["kinds"]), rule["known"]
        if types is None:
            return self._by(rule["missing"], column)
        if not isinstance(types, list) or len(types) != self["layers"] or any(each not in known for each in types):
            raise self.c.bad(rule["kinds"], f"a list of {self['layers']}, each {' or '.join(known)}")
        return types.count(rule["counted"])

    def _but(self, rule, column):
        """How many of every so many layers there are, but for those that the field names."""
        layers, named = self["layers"], self.c.fields.get(rule["but"]) or []
        if not isinstance(named, list) or any(type(each) is not int or not 0 <= each < layers for each in named):
            raise self.c.bad(rule["but"], f"a list of layers from 0 to {layers - 1}")
        return len({layer for layer in range(layers) if (layer + 1) % self[rule["every"]] == 0}.difference(named))
