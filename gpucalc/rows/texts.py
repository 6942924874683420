"""Texts of data/texts, checked when they are read."""
from typing import Any

import yaml

from ..core.quantities import DATA

# A text, or texts with their conditions.
Text = str | list[tuple[str, str]]


def read_texts(name: str) -> dict[str, Any]:
    """The sections of data/texts/NAME.yaml, each a mapping or a list. Raises ValueError for what is no YAML mapping."""
    path = DATA / f"texts/{name}.yaml"
    try:
        held = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name}: {' '.join(str(error).split())}; allowed: YAML text") from None
    if not isinstance(held, dict):
        raise ValueError(f"{path.name}: {type(held).__name__}; allowed: sections of texts by name")
    return held


def conditional(file: str, held: dict[str, Any]) -> dict[str, Text]:
    """Texts by name, those with conditions as pairs of a condition, empty where it always holds, and what is said.

    Raises ValueError naming the file and the text, and what is allowed.
    """
    return {name: value if isinstance(value, str) else _pairs(f"{file}.yaml, {name}", value) for name, value in held.items()}


def _pairs(where, held):
    if not isinstance(held, list) or not held:
        raise ValueError(f"{where}: {held!r}; allowed: a text, or a list of texts under `say`, with conditions under `when`")
    for each in held:
        right = isinstance(each, dict) and {"say"} <= {*each} <= {"when", "say"}
        if not right or not all(isinstance(part, str) for part in each.values()):
            raise ValueError(f"{where}: {each!r}; allowed: `say` with a text, and `when` with a condition")
    return [(each.get("when", ""), each["say"]) for each in held]
