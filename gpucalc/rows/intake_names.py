"""Names as people write them: columns of a price file, GPUs, items and terms. What is taken for what is said."""
import functools
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

from ..core.evaluate import close
from .files import shortened
from .intake_numbers import CODES
from .price_checks import ITEMS, PRICES, RESERVED_YEARS
from .tables import rows

# Columns of money: of one GPU for an hour, or of the whole product.
PER_GPU, WHOLE = "usd_per_hour", "price"
_PHRASES = {
    "item": "item, kind of price, category",
    "gpu": "gpu, gpu type, gpu model, gpu name, accelerator, accelerator type, accelerator name, graphics card, gpu sku",
    "gpus_per_server": "gpus, #, # gpus, gpu count, gpus count, number gpus, number of gpus, no gpus, no of gpus, num gpus, "
                       "n gpus, gpus per server, gpus per instance, gpus per node, gpus per machine, gpus per vm, gpu number, "
                       "count, quantity, qty, accelerator count, accelerators, amount gpus",
    "provider": "provider, cloud, cloud provider, seller, vendor, supplier, company, hoster, provider name",
    "region": "region, location, zone, country, site, data center, datacenter, availability zone",
    "term": "term, pricing model, price type, pricing type, commitment, purchase option, billing, contract, plan, terms, pricing",
    "currency": "currency, ccy, cur, currency code",
    "date": "date, as of, price date, quote date, date quote, seen, updated, last updated, valid from",
    "sku": "sku, instance type, instance name, machine type, product, product name, offer, shape, flavor, flavour, "
           "name, model name",
    "source": "source, link, url, reference, web page",
    "note": "note, notes, comment, comments, remark, remarks",
}
_COLUMNS = {phrase: field for field, phrases in _PHRASES.items() for phrase in phrases.split(", ")}
_SIGNS = {"€": " eur ", "$": " usd ", "£": " gbp ", "#": " # "}
_HOUR = {"h", "hr", "hrs", "hour", "hours", "hourly", "std", "stunde"}
_MONEY = {"price", "prices", "cost", "costs", "rate", "preis"}
_MACHINE = {"machine", "server", "instance", "node", "vm", "total", "whole", "box"}
_FILLERS = {"per", "in", "for", "of", "the", "a", "an", "each", "one", "unit", "list", "single", "pro"}


class Column(NamedTuple):
    """What a column of a reader's file holds: a column of a book or PER_GPU; the currency its header names; how sure that is."""

    field: str
    currency: str
    exact: bool


def column(header: str) -> Column | None:
    """What a header means; None for one that means nothing here."""
    known = re.sub(r"[\s-]+", "_", header.strip().lower())
    if known in PRICES.columns or known == PER_GPU:
        return Column(known, "", True)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", header).lower()
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    tokens = re.findall(r"[a-z]+|\d+|#", text)
    return _money_column(tokens) or _named_column(tokens)


def _named_column(tokens):
    field = _COLUMNS.get(" ".join(tokens))
    return Column(field, "", " ".join(tokens) in (field, "gpus")) if field else None


def _money_column(tokens):
    words = set(tokens) - _FILLERS
    currencies = {word for word in words if word.upper() in CODES}
    money = currencies | words & _MONEY | words & {"hourly"}
    if not money or words - currencies - _HOUR - _MONEY - _MACHINE - {"gpu", "accelerator"} or len(currencies) > 1:
        return None
    of_one = (words & {"gpu", "accelerator"} or words & _HOUR) and not words & _MACHINE
    return Column(PER_GPU if of_one else WHOLE, next(iter(currencies), "").upper(), False)


def score(header: list[str]) -> int:
    """How much a row looks like the header of a price file: its known columns; 0 without a price, or without what it is for."""
    fields = {found.field for found in map(column, header) if found}
    priced, named = fields & {PER_GPU, WHOLE}, fields & {"gpu", "item", "sku"}
    return len(fields) if priced and named else 0


# Words in a GPU's name that tell no two apart.
_NOISE = {"nvidia", "amd", "intel", "google", "aws", "geforce", "tesla", "instinct", "tensor", "core", "gpu", "gpus", "graphics",
          "card", "cloud", "accelerator", "radeon", "gb", "hpu", "ai", "blackwell", "edition"}
_FORMS = {"sxm2": "sxm", "sxm3": "sxm", "sxm4": "sxm", "sxm5": "sxm", "sxm6": "sxm", "hgx": "sxm", "dgx": "sxm", "pcie3": "pcie",
          "pcie4": "pcie", "pcie5": "pcie", "gaudi-2": "gaudi2", "trn1": "trainium", "trn2": "trainium2", "inf2": "inferentia2",
          "trn3": "trainium3", "ws": "workstation"}
_VARIANT = re.compile(r"sxm|pcie|nvl|nvl72|server|\d+gb")
# What is put in place of what, one after the other, in a name in lower case.
_SPELLING = [(r"[^a-z0-9]+", " "), (r"\b(gaudi|trainium|inferentia) (?=\d\b)", r"\1"), (r"(\d+) ?g(i?b)?\b", r" \1gb "),
             (r"\b(rtx|gtx|tpu|quadro|pro)(?=\w)", r"\1 ")]
_COUNTED = re.compile(r"(?:(\d{1,5}) ?[x×*] ?)?(.*?)(?:(?: x ?|[×*])(\d{1,5}))?", re.IGNORECASE)


@functools.cache
def _tokens(name):
    """The words of a GPU's name that tell it from others."""
    text = name.lower()
    for pattern, replacement in _SPELLING:
        text = re.sub(pattern, replacement, text)
    return {_FORMS.get(word, word) for word in text.split()} - _NOISE


def counted(name: str) -> tuple[str, int | None]:
    """The name of a GPU without the number of them in it, as in 8x H100, and that number."""
    found = _COUNTED.fullmatch(name.strip())
    number = found and (found[1] or found[3])
    return (found[2], int(number)) if found and number and found[2] else (name, None)


def gpu(name: str) -> tuple[str, str]:
    """The key in data/gpus.csv that a name means, and what to say of it where the name leaves open which.

    A family's name, such as H100, means its SXM card of the most memory. Raises ValueError with what is allowed.
    """
    held = rows("gpus")
    if name in held:
        return name, ""
    given = _tokens(name)
    found = [key for key in held if given and given <= _tokens(key) | _memory_type(held[key])]
    families = {frozenset(word for word in _tokens(key) if not _VARIANT.fullmatch(word)) for key in found}
    exact = [each for each in families if each <= given]
    if len(families) > 1 and exact:
        found = [key for key in found if max(exact, key=len) == {word for word in _tokens(key) if not _VARIANT.fullmatch(word)}]
        families = {max(exact, key=len)}
    if len(families) != 1:
        options = f"; it may be {', '.join(found[:4])}" if found else close(name, held) or _like(given)
        raise ValueError(f"a gpu of data/gpus.csv{options}")
    best = max(found, key=lambda key: ("SXM" in key, held[key]["marketed_bytes"]))
    others = [key for key in found if key != best]
    return best, f"{shortened(name, 60)} is taken as {best}, not {' or '.join(others)}" if others else ""


def _like(given):
    """Up to four GPUs whose name has a word that is much like one of the given."""
    known = {key: _tokens(key) for key in rows("gpus")}
    words = {near for word in given for near in get_close_matches(word, set().union(*known.values()), cutoff=0.7)}
    found = [key for key, held in known.items() if {word for word in held & words if not _VARIANT.fullmatch(word)}]
    return f"; close: {', '.join(found[:4])}" if found else ""


def _memory_type(row):
    return {row["memory_type"].lower()}


_TERMS = {"on-demand": "ondemand demand payasyougo payg ondemandhourly list hourly regular paygo",
          "spot": "spot preemptible preemptable preemptive interruptible lowpriority spotinstance",
          "reserved": "reserved reservation committed commitment committeduse commit cud savingsplan",
          "capacity-block": "capacityblock capacityblocks block flexblock", "serverless": "serverless",
          "marketplace": "marketplace community peertopeer p2p", "managed": "managed", "purchase": "purchase buy new bought sale",
          "used": "used secondhand refurbished refurb"}
_TERM_NAMES = {name: term for term, names in _TERMS.items() for name in names.split()}
_ITEM_NAMES = {"rental": "rent", "rents": "rent", "electricity": "power", "fx": "currency", "exchangerate": "currency",
               "objectstorage": "storage", "colocationperkw": "hosting-power", "gpucard": "card"}
_LENGTH, _RESERVING = re.compile("(\\d+|one|three)(years?|yrs?|y|months?|mo|m)"), ("reserv", "commit", "cud", "saving")
_YEARS = {"1": 1, "one": 1, "12": 12, "3": 3, "three": 3, "36": 36}


def term(text: str, item: str) -> tuple[str, str]:
    """The term of the book that a text means, and what to say of it. Raises ValueError with what is allowed."""
    word = re.sub(r"[^a-z0-9]", "", text.lower())
    terms = ITEMS[item].terms
    same = {re.sub(r"[^a-z0-9]", "", each): each for each in terms}
    if word in same:
        return same[word], ""
    if "list" in terms and _TERM_NAMES.get(word) == "on-demand":
        return "list", ""
    known = _TERM_NAMES.get(word, "")
    if known in terms:
        return known, ""
    length = _LENGTH.search(word)
    if item == "rent" and length and (word == length[0] or any(name in word for name in _RESERVING)):
        number = int(_YEARS.get(length[1], length[1]))
        years = number / 12 if length[2].startswith("m") else number
        exact = next((each for each, held in RESERVED_YEARS.items() if held == years), None)
        return exact or "reserved", "" if exact else (
            f"{shortened(text, 40)} is a reservation of no length the book knows: the term reserved")
    raise ValueError(f"{', '.join(terms)} for {item}{close(text, terms)}")


def item(text: str) -> str:
    """The item that a text means. Raises ValueError with what is allowed."""
    word = re.sub(r"[^a-z0-9]", "", text.lower())
    same = {re.sub(r"[^a-z0-9]", "", each): each for each in ITEMS}
    found = same.get(word) or _ITEM_NAMES.get(word)
    if not found:
        raise ValueError(f"{', '.join(ITEMS)}{close(text, ITEMS)}")
    return found


def spelled(text: str, known: Iterable[str]) -> str:
    """The text as one of the known names spells it."""
    return next((each for each in known if each.casefold() == text.casefold()), text)


def written_out() -> dict[str, Any]:
    """What this module takes for what, for JSON: the page reads names of rents by it. Patterns are JavaScript's too."""
    terms = ITEMS["rent"].terms
    return {
        "columns": _COLUMNS | {name: name for name in [*PRICES.columns, PER_GPU]}, "signs": _SIGNS,
        "per_gpu": PER_GPU, "whole": WHOLE,
        "words": {"hour": sorted(_HOUR), "money": sorted(_MONEY), "machine": sorted(_MACHINE), "fillers": sorted(_FILLERS)},
        "gpus": {key: {"words": sorted(_tokens(key)), "memory": row["memory_type"].lower(), "bytes": row["marketed_bytes"],
                       "family": sorted(word for word in _tokens(key) if not _VARIANT.fullmatch(word))}
                 for key, row in rows("gpus").items()},
        "noise": sorted(_NOISE), "forms": _FORMS, "counted": _COUNTED.pattern,
        "spelling": [[pattern, replacement.replace("\\1", "$1")] for pattern, replacement in _SPELLING],
        "terms": terms, "term_names": {name: term for name, term in _TERM_NAMES.items() if term in terms},
        "length": _LENGTH.pattern, "reserving": _RESERVING, "years": _YEARS, "reserved_years": RESERVED_YEARS}
