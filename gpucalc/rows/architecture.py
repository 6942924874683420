"""The columns of a model by the rules of its architecture, as data/README.md names them; the page reads them too: read.js."""
import json

from .json_fields import NEEDED

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
