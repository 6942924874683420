"""The fields of a JSON object, read by name and checked: a ValueError names the file, the field, its value and what is right."""
import json
from collections import Counter
from copy import copy

from .files import shortened, text

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
