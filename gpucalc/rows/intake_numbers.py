"""Numbers, amounts of money and dates as people write them. What can be read in two ways has two readings."""
import datetime
import re
from typing import Any, NamedTuple

# Symbols that name one currency; `$` alone is said to be taken for US dollars, `¥` and `kr` are several.
SYMBOLS = {"US$": "USD", "AU$": "AUD", "A$": "AUD", "CA$": "CAD", "C$": "CAD", "HK$": "HKD", "NZ$": "NZD", "S$": "SGD",
           "R$": "BRL", "$": "USD", "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "₪": "ILS", "zł": "PLN"}
CODES = set("USD EUR GBP CHF JPY CNY CAD AUD NZD SEK NOK DKK ISK PLN CZK HUF RON BGN INR KRW SGD HKD TWD THB IDR MYR PHP VND BRL "
            "MXN CLP COP ARS ZAR ILS TRY AED SAR QAR RUB UAH KZT EGP NGN KES".split())
_WORDS = {"dollar": "USD", "dollars": "USD", "euro": "EUR", "euros": "EUR", "pound": "GBP", "pounds": "GBP"}
_NUMBER = re.compile(r"(?:\d[\d.,'’ ]*\d|[.,]?\d)(?:[.,](?!\w))?(?:[eE][+-]?\d+)?", re.ASCII)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


class Amount(NamedTuple):
    """A number as text, whether it is below zero, the currency beside it, and what else stands there."""

    number: str
    negative: bool
    currency: str
    rest: str


def plain(text: str) -> str:
    """The text with every kind of space as a plain one, and a plain minus."""
    return " ".join(text.replace("−", "-").split())


def amount(text: str) -> Amount | None:
    """What stands in a cell with one number; None where there is none."""
    text = plain(text)
    found = _NUMBER.search(text)
    if not found:
        return None
    before, after = text[:found.start()].strip(), text[found.end():].strip()
    negative = before.startswith("(") and after.endswith(")") or bool(re.search(r"-\s*$|^\s*-", before))
    if negative:
        before, after = before.strip("(-+ "), after.rstrip(") ")
    currencies, rest = zip(*map(_without_currency, (before.rstrip("+ "), after)))
    named = [each for each in currencies if each]
    currency = named[0] if len(set(named)) == 1 else "?" if named else ""
    return Amount(found[0], negative, currency, " ".join(filter(None, rest)))


def _without_currency(text):
    """The currency that a text names, and the text without it."""
    for symbol in sorted(SYMBOLS, key=len, reverse=True):
        if symbol in text:
            rest = text.replace(symbol, "", 1).strip()
            code, rest = _without_currency(rest) if rest else ("", "")
            return code or (symbol if symbol == "$" else SYMBOLS[symbol]), rest
    for word in re.findall(r"[A-Za-z]+", text):
        code = _WORDS.get(word.lower(), word.upper())
        if code in CODES:
            return code, re.sub(rf"\b{word}\b", "", text, count=1).strip()
    return "", text


def readings(number: str) -> dict[str, float]:
    """What a number can mean, by its decimal mark; by "" where it has none to tell."""
    spaced = re.fullmatch(r"(\d{1,3}(?:[ '’]\d{3})+)(?:([.,])(\d+))?", number, re.ASCII)
    if spaced:
        whole = re.sub(r"[ '’]", "", spaced[1])
        return {spaced[2] or "": float(f"{whole}.{spaced[3] or 0}")}
    if re.fullmatch(r"\d+", number, re.ASCII):
        return {"": float(number)}
    found = {}
    for mark, group in ((".", ","), (",", ".")):
        digits = r"\d*" if group not in number else rf"\d{{1,3}}(?:{re.escape(group)}\d{{3}})+"
        # 0,123 groups nothing.
        if group in number and number.startswith("0"):
            continue
        if re.fullmatch(rf"{digits}(?:{re.escape(mark)}\d*)?(?:[eE][+-]?\d+)?", number, re.ASCII):
            value = float(number.replace(group, "").replace(mark, "."))
            found[mark] = value
    if len(found) == 2 and len(set(found.values())) == 1:
        return {"": found["."]}
    return found


def decimal_mark(numbers: list[str]) -> str:
    """The decimal mark that those numbers of a column settle which can be read in one way only; "" where they don't."""
    marks = {mark for number in numbers for held in [readings(number)] if len(held) == 1 for mark in held if mark}
    return marks.pop() if len(marks) == 1 else ""


def dates(text: str) -> dict[str, str]:
    """The days, months or years that a text can mean, as YYYY, YYYY-MM or YYYY-MM-DD, by the order in which it is written."""
    text = plain(text)
    text = re.sub(r"[T ]\d{1,2}:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?( [AaPp][Mm])?$", "", text)
    if re.fullmatch(r"\d{4}(-\d\d){0,2}", text, re.ASCII):
        return {"": text}
    iso = re.fullmatch(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", text, re.ASCII)
    if iso:
        return _days({"": (iso[1], iso[2], iso[3])})
    named = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?[ .-]+([A-Za-z]+)\.?,?[ -]+(\d{4})", text, re.ASCII)
    if named and named[2].lower()[:3] in _MONTHS:
        return _days({"": (named[3], _MONTHS.index(named[2].lower()[:3]) + 1, named[1])})
    named = re.fullmatch(r"([A-Za-z]+)\.? (?:(\d{1,2})(?:st|nd|rd|th)?,? )?(\d{4})", text, re.ASCII)
    if named and named[1].lower()[:3] in _MONTHS:
        month = _MONTHS.index(named[1].lower()[:3]) + 1
        return _days({"": (named[3], month, named[2])}) if named[2] else {"": f"{named[3]}-{month:02}"}
    numbers = re.fullmatch(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})", text, re.ASCII)
    if numbers:
        first, _, second, year = numbers.groups()
        return _days({"day first": (year, second, first), "month first": (year, first, second)})
    return {}


def _days(ordered):
    """Those that are days of the calendar; one reading where both orders give the same."""
    found = {}
    for order, parts in ordered.items():
        try:
            found[order] = datetime.date(*map(int, parts)).isoformat()
        except ValueError:
            continue
    return {"": next(iter(found.values()))} if len(found) == 2 and len(set(found.values())) == 1 else found


def day_order(texts: list[str]) -> str:
    """Which order the dates of a column settle that can be read in one way only; "" where they don't."""
    orders = {order for text in texts for held in [dates(text)] if len(held) == 1 for order in held if order}
    return orders.pop() if len(orders) == 1 else ""


def written_out() -> dict[str, Any]:
    """What a number and a currency look like, for JSON. Patterns are JavaScript's too."""
    return {"number": _NUMBER.pattern, "symbols": SYMBOLS, "currency_words": _WORDS, "codes": sorted(CODES)}
