"""What a case chooses in words: its job, and rows that are a name and nothing else: cards, a provider, a region, a term, ways."""
import re

from ..core.evaluate import Row, close
from . import names as spelling
from .files import hidden, shortened
from .price_checks import ITEMS, RESERVED_YEARS
from .tables import plain_row, rows

ANY = "any"
WAYS = ("rent", "own", "api")
# The most characters that a provider or a region has.
LONGEST = 100
# Who, how much and, of a savings plan, for how long.
_DISCOUNT = re.compile(rf"([^=]+?) *[=:] *([1-9]\d?(?:\.\d+)?) *%(?: +({'|'.join(RESERVED_YEARS)}))?", re.ASCII)


def job(name: str) -> Row:
    """The row of one job, without the columns that it leaves blank, and with the laws that stand for what is not given."""
    held = rows("jobs")
    if name not in held:
        raise ValueError(f"data/jobs.csv has no job {name!r}{close(name, held)}; see all in that file")
    filled = {column: value for column, value in held[name].items() if value == value}
    derived = dict(pair.split("=") for pair in filled["derived"].split())
    return plain_row(filled | derived | {"source": f"data/jobs.csv: {filled['source']}"}, name, "job")


def cards(name: str) -> Row:
    """`any`, or the full SKUs of GPUs joined by commas, as the name of an empty row."""
    try:
        chosen = [each if each in ("", ANY) else spelling.key("gpu", each) for each in map(str.strip, name.split(","))]
    except ValueError as error:
        raise ValueError(f"cards: {error}") from None
    return _several("cards", ", ".join(chosen), rows("gpus"), "full names of data/gpus.csv")


def ways(name: str) -> Row:
    """`any`, or some of rent, own and api joined by commas, as the name of an empty row."""
    return _several("ways", name, WAYS, f"some of {', '.join(WAYS)}")


def term(name: str) -> Row:
    """A term of rent, or `any`, as the name of an empty row."""
    if name not in (*ITEMS["rent"].terms, ANY):
        raise ValueError(f"term: {shortened(name)!r}; allowed: {', '.join(ITEMS['rent'].terms)} or {ANY}"
                         f"{close(name, ITEMS['rent'].terms)}")
    return Row({}, name, "term")


def provider(name: str) -> Row:
    """Who sells, or `any`, as the name of an empty row."""
    return _words("provider", name)


def region(name: str) -> Row:
    """Where, or `any`, as the name of an empty row."""
    return _words("region", name)


def discount(name: str) -> Row:
    """Shares off the prices of providers, such as `AWS=18 %, GCP=40 % reserved-1y`, as the name of an empty row."""
    discounts(name)
    return _words("discount", name)


def discounts(text: str) -> list[tuple[str, float, str | None]]:
    """Of such a text each provider, its share off (fraction), and the term of a savings plan. Raises ValueError."""
    found: list[tuple[str, float, str | None]] = []
    for each in [part.strip() for part in text.split(",")]:
        read = re.fullmatch(_DISCOUNT, each)
        if not read:
            raise ValueError(f"discount: {shortened(each, 60)!r}; allowed: a provider and a share of 1 to 99 %, of a "
                             "savings plan with its term, such as AWS=18 % or GCP=40 % reserved-1y; several with commas between")
        found.append((read[1], float(read[2]) / 100, read[3]))
    return found


def data_at(name: str) -> Row:
    """The provider that stores the data, as the name of an empty row."""
    return _words("data_at", name)


def names(choice: Row | None) -> list[str]:
    """The names that a choice of cards or ways joins; none where it is `any` or not given."""
    return [] if choice is None or choice.name in (None, ANY) else str(choice.name).split(", ")


def _several(kind, name, allowed, where):
    chosen = [each.strip() for each in name.split(",")]
    if chosen != [ANY]:
        for each in chosen:
            if each not in allowed:
                raise ValueError(f"{kind}: {shortened(each)!r}; allowed: {ANY}, or {where} with commas between"
                                 f"{close(each, allowed) if each else ''}")
            if chosen.count(each) > 1:
                raise ValueError(f"{kind}: {each!r} is there twice; allowed: each once")
    return Row({}, ", ".join(chosen), kind)


def _words(kind, name):
    """The row of a plain text."""
    if not name.strip() or len(name) > LONGEST or hidden(name):
        raise ValueError(f"{kind}: {shortened(name, 60)!r}; allowed: {ANY}, or a name of 1 to {LONGEST} characters without "
                         "control and invisible ones")
    return Row({}, name.strip(), kind)


# As a case names them, beside the rows of the catalogue.
CHOICES = dict(job=job, cards=cards, provider=provider, region=region, term=term, data_at=data_at, ways=ways, discount=discount)
