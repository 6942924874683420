"""Names of models, GPUs and formats as people write them, and the row that each means; a browser has this too, printed by pyjs.

Case, spaces, hyphens, dots and the owner do not count, nor words such as Instruct, it or GGUF, which leave an architecture alone.
Names that the catalogue lacks are in data/aliases.csv. None is chosen of several rows that one fits: the caller asks, or refuses.
"""
import functools
import re
from typing import Any, NamedTuple

from .files import hidden, shortened
from .tables import rows

_TABLES = {"model": "models", "gpu": "gpus", "weight_format": "formats"}
# How many names a message holds, and how many characters a name.
_MOST, _LONGEST = 5, 100


class Meant(NamedTuple):
    """What a name means: its rows, the one to show first; whether that is sure; the format of weights and the count in it."""

    names: list[str]
    sure: bool = False
    stored: str = ""
    number: int = 0


def meant(kind: str, name: str) -> Meant:
    """What the name of a model, gpu or weight_format means; no rows where nothing is known of it."""
    if name in rows(_TABLES[kind]) or hidden(name) or len(name) > _LONGEST:
        return Meant([name], True) if name in rows(_TABLES[kind]) else Meant([])
    if kind == "gpu":
        bare, many = counted(name)
        found = _same(kind, gpu_words(bare)) or _gpus(bare)
        return Meant(found, len(found) == 1, "", many or 0)
    if kind == "weight_format":
        found = _same(kind, words(name))
        return Meant(found, len(found) == 1)
    return _model(words(name.split("/")[-1]))


def key(kind: str, name: str) -> str:
    """The row that a name surely means. Raises ValueError with those that it may mean, or the nearest three; and for a name that
    says more than its row can hold: a format, or a count."""
    found = meant(kind, name)
    if not found.sure:
        raise ValueError(refusal(kind, name, found.names))
    if found.stored or found.number:
        beside = f"weight_format {found.stored}" if found.stored else f"{found.number} as its number"
        raise ValueError(f"'{shortened(name, 60)}'; allowed: {kind} {found.names[0]}, with {beside}")
    return found.names[0]


def spelled(given: dict[str, Any], taken: list[str]) -> dict[str, Any]:
    """A case's names and values, with names of models, GPUs and formats as their rows spell them where they are sure; a format
    and a count in such a name are values of their own, where the job takes those."""
    found = given | {}
    for name in [each for each in ("model", "gpu", "weight_format") if isinstance(given.get(each), str)]:
        said = meant(name, given[name])
        beside = {"weight_format": said.stored} if said.stored else {"gpus_per_server": said.number} if said.number else {}
        if said.sure and all(each in taken and each not in given for each in beside):
            found = found | {name: said.names[0]} | beside
    cards = given.get("cards")
    named = [meant("gpu", each.strip()) for each in cards.split(",")] if isinstance(cards, str) else []
    count = sum([each.number for each in named])
    if all(each.sure for each in named) and named and (not count or "gpus" in taken and "gpus" not in given):
        found = found | {"cards": ", ".join([each.names[0] for each in named])} | ({"gpus": count} if count else {})
    return found


def refusal(kind: str, name: str, found: list[str]) -> str:
    """Why a name is none of a row: it may mean several, or none."""
    if found:
        return f"{kind} '{shortened(name, 60)}' may be {' | '.join(found[:_MOST])}; allowed: one of them"
    close = ", ".join(near(kind, name))
    return f"data/{_TABLES[kind]}.csv has no {kind} '{shortened(name, 60)}'; close: {close}; see all in that file"


class Typed(NamedTuple):
    """A name that is being typed: the row that it means, the format in it; what it may be, where that is open; or a fault."""

    value: str | None
    stored: str = ""
    others: tuple[str, ...] | list[str] = ()
    fault: str = ""


def typed(kind: str, name: str, done: bool) -> Typed:
    """What a name means so far: one that leaves open which counts as the first that it may be once it is done, and not before."""
    found = meant(kind, name)
    if found.sure or found.names and done:
        return Typed(found.names[0], found.stored, [] if found.sure else found.names)
    fault = refusal(kind, name, found.names).split("; allowed")[0].split("; see all")[0]
    return Typed(None, "", found.names or near(kind, name), fault)


def near(kind: str, name: str) -> list[str]:
    """The three rows whose names have most words, and then most pairs of letters, in common with this one."""
    bare = name.split("/")[-1]
    given, pairs = _words_of(kind, bare), _pairs(kind, bare)
    return sorted(rows(_TABLES[kind]), key=lambda key: [
        -len([word for word in _words_of(kind, key) if word in given]), -_shared(_pairs(kind, key), pairs)])[:3]


def _pairs(kind, name):
    text = _joined(family(name).split() if kind == "gpu" else words(name))
    return [text[place:place + 2] for place in range(len(text) - 1)]


def _shared(own, given):
    return len([pair for pair in own if pair in given]) / (len(own) + len(given) + 1)


def _joined(parts):
    return "".join(parts).replace(".", "")


def _same(kind, given):
    """The rows whose name, or an alias of theirs, is this but for spaces, hyphens and dots."""
    bare = _joined(given)
    found = [key for key in rows(_TABLES[kind]) if bare and _joined(_words_of(kind, key)) == bare]
    return found or [key for key, alias in rows("aliases").items() if bare and alias["kind"] == kind and _joined(
        _words_of(kind, key)) == bare for key in alias["means"].split(" | ")]


def _words_of(kind, key):
    return gpu_words(key) if kind == "gpu" else words(key)


# Models

# Words in a model's name that leave its architecture as it is.
_LEFT = ("instruct it chat hf base pt sft gguf preview thinking think reasoning text qat quantized dynamic gptq mlx bnb nvidia "
         "meta openai google microsoft mistralai alibaba moonshot moonshotai zai model latest").split()
_SIZE = re.compile(r"(\d+x)?\d+(\.\d+)?[bt]")
_ACTIVE = re.compile(r"a\d+(\.\d+)?b")


@functools.cache
def words(name: str) -> list[str]:
    """The words of a model's or a format's name in lower case; a number behind two letters or more is a word of its own."""
    text = re.sub(r"(\d)_(?=\d)", r"\1.", name.lower())
    text = re.sub(r"[^a-z0-9.]+|(?<!\d)\.|\.(?!\d)", " ", text)
    return re.sub(r"([a-z]{2,})(\d)", r"\1 \2", text).split()


def _model(given):
    stored, bare = _stored(given)
    plain = [word for word in bare if word not in _LEFT]
    found = _same("model", given) or _same("model", bare) or _same("model", plain)
    if found:
        return Meant(found, len(found) == 1, _unless_native(found, stored))
    if not telling(plain):
        return Meant([])
    own = [*[(words(key), key) for key in rows("models")], *[
        (words(key), alias["means"]) for key, alias in _aliases() if "|" not in alias["means"]]]
    held = [(parts, key) for parts, key in own if not [word for word in plain if word not in parts]]
    # What is left out may be the size of the active part; any other word would tell two models apart.
    sure = list(dict.fromkeys([key for parts, key in held if not [
        word for word in parts if word not in plain and not re.fullmatch(_ACTIVE, word)]]))
    found = sure if len(sure) == 1 else list(dict.fromkeys([key for _, key in held]))
    found = _from(found, lambda key: [rows("models")[key]["date"], rows("models")[key]["params"]])
    return Meant(found, len(sure) == 1, _unless_native(found, stored))


def _aliases():
    return [(key, alias) for key, alias in rows("aliases").items() if alias["kind"] == "model"]


def telling(given: list[str]) -> list[str]:
    """Those of the words that may name a model: families, and sizes such as 70b."""
    return [word for word in given if word in families() or re.fullmatch(_SIZE, word)]


@functools.cache
def families() -> list[str]:
    """The first words of models' names."""
    known = [words(key)[0] for key in [*rows("models"), *[key for key, _ in _aliases()]]]
    return [word for word in dict.fromkeys(known) if not re.fullmatch(_SIZE, word)]


@functools.cache
def vocabulary() -> list[str]:
    """All words of names of models and formats."""
    known = [*rows("models"), *rows("formats"), *[key for key, alias in rows("aliases").items() if alias["kind"] != "gpu"]]
    return [*dict.fromkeys([word for key in known for word in words(key)]), *_LEFT]


def _stored(given):
    """The format of weights that words name, and the other words."""
    for size in (4, 3, 2, 1):
        for place in range(len(given) - size + 1):
            found = _same("weight_format", given[place:place + size])
            if found:
                return found[0], [*given[:place], *given[place + size:]]
    return "", given


def _unless_native(found, stored):
    """The format, unless the model is released in it or a mix of it: that is its own."""
    native = rows("models")[found[0]]["native_format"] if found else ""
    return "" if stored and stored != "BF16" and native.startswith(stored) else stored


# GPUs

# Words in a GPU's name that tell no two apart.
_NOISE = {"nvidia", "amd", "intel", "google", "aws", "geforce", "tesla", "instinct", "tensor", "core", "gpu", "gpus", "graphics",
          "card", "cards", "cloud", "accelerator", "radeon", "gb", "hpu", "ai", "blackwell", "edition", "rtx", "gtx"}
_FORMS = {"sxm2": "sxm", "sxm3": "sxm", "sxm4": "sxm", "sxm5": "sxm", "sxm6": "sxm", "hgx": "sxm", "dgx": "sxm", "pcie3": "pcie",
          "pcie4": "pcie", "pcie5": "pcie", "gaudi-2": "gaudi2", "trn1": "trainium", "trn2": "trainium2", "inf2": "inferentia2",
          "trn3": "trainium3", "ws": "workstation"}
_VARIANT = re.compile(r"sxm|pcie|nvl|nvl72|server|workstation|maxq|\d+gb")
# What is put in place of what, one after the other, in a name in lower case.
_SPELLING = [(r"max-?q", "maxq"), (r"[^a-z0-9]+", " "), (r"\b(gaudi|trainium|inferentia) (?=\d\b)", r"\1"),
             (r"\b(\d+) ?g(i?b)?\b", r" \1gb "), (r"\b(rtx|gtx|tpu|quadro|pro)(?=\w)", r"\1 "),
             (r"(?<=\d)(sxm|pcie|nvl)", r" \1")]
_COUNTED = re.compile(r"(?:(\d{1,5}) ?[x×*] ?)?(.*?)(?:(?: x ?|[×*])(\d{1,5}))?", re.IGNORECASE)


@functools.cache
def gpu_words(name: str) -> list[str]:
    """The words of a GPU's name that tell it from others."""
    text = name.lower()
    for pattern, replacement in _SPELLING:
        text = re.sub(pattern, replacement, text)
    return [form for word in text.split() for form in [_FORMS.get(word, word)] if form not in _NOISE]


def of_gpus() -> list[str]:
    """All words of names of GPUs, and their kinds of memory."""
    aliases = [key for key, alias in rows("aliases").items() if alias["kind"] == "gpu"]
    return [*[word for key in [*rows("gpus"), *aliases] for word in gpu_words(key)],
            *[row["memory_type"].lower() for row in rows("gpus").values()]]


@functools.cache
def family(name: str) -> str:
    """Those of them that tell a family from others."""
    return " ".join(sorted([word for word in gpu_words(name) if not re.fullmatch(_VARIANT, word)]))


def counted(name: str) -> tuple[str, int | None]:
    """The name of a GPU without the number of them in it, as in 8x H100, and that number."""
    found = re.fullmatch(_COUNTED, name.strip())
    number = found and (found[1] or found[3])
    return (found[2], int(number)) if found and number and found[2] else (name, None)


def _gpus(name):
    """The rows that have all words of the name, or its kind of memory; first the SXM card of the most memory."""
    held, given = rows("gpus"), gpu_words(name)
    if not given or all(re.fullmatch(_VARIANT, word) for word in given):
        return []
    found = [key for key, row in held.items() if all(word in [*gpu_words(key), row["memory_type"].lower()] for word in given)]
    named = [each for each in dict.fromkeys([family(key) for key in found]) if all(word in given for word in each.split())]
    exact = sorted(named, key=lambda each: -len(each.split()))
    if exact:
        found = [key for key in found if family(key) == exact[0]]
    return _from(found, lambda key: ["SXM" in key, held[key]["marketed_bytes"]])


def _from(found, of):
    """The rows, from the one of which `of` gives the most."""
    first = max(found, key=of) if found else ""
    return [*[key for key in found if key == first], *[key for key in found if key != first]]


def held() -> dict[str, dict[str, dict[str, Any]]]:
    """What of the rows a browser needs to know names by."""
    columns = {"models": ("native_format", "date", "params"), "gpus": ("kind", "memory_type", "marketed_bytes", "memory_bytes"),
               "formats": ("weight_element_bytes",), "aliases": ("kind", "means"),
               "jobs": ("kind", "needs", "takes", "usual_model")}
    return {table: {key: {column: row[column] for column in own} for key, row in rows(table).items()}
            for table, own in columns.items()}
