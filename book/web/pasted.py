"""Rents that a reader pastes as lines of gpu and usd_per_hour, where gpucalc/rows/intake.py reads a whole file of prices.

A browser has this, as printed.py prints it. With a header, columns may stand in any order, and provider, gpus, term, region,
currency, quote and price (of the whole machine) are read too; without one, a line is gpu and usd_per_hour. Cells stand between
commas, semicolons or tabs.
"""
import re
import statistics
from collections.abc import Callable
from typing import Any

from gpucalc.rows.choices import discounts
from gpucalc.rows.files import hidden, shortened
from gpucalc.rows.intake import (
    agreed, amount, by_the_gpu, column, gpu_named, in_usd, is_quote, NOT_STATED, NUMERAL, OWN_PROVIDER, PER_GPU, plain, question,
    readings, settled, Spread, standing, SYMBOLS, term_named, times_an_hour, WHOLE)
from gpucalc.rows.names import counted
from gpucalc.rows.price_checks import ITEMS, MOST_GPUS, RESERVED_YEARS
from gpucalc.rows.tables import rows

MOST_LETTERS, MOST_LINES, MOST_FAULTS, LONGEST_CELL = 200_000, 2_000, 200, 300


def discount_fault(text: str) -> str:
    """What is wrong with the discounts of a case as text; empty where nothing is."""
    return attempt(lambda: discounts(text))[1].replace("discount: ", "")


def laid_over(rents: list[dict[str, Any]], own: list[dict[str, Any]], gpu: str) -> list[dict[str, Any]]:
    """The rents with the reader's own of the GPU over those of the same term, or beside them where they are quotes."""
    of = {"sure": True, "confidence": "seen", "date": "given", "yours": True, "row": ""}
    mine = [of | rent for rent in own if rent["gpu"] == gpu]
    said = [rent["term"] for rent in mine if not rent.get("quote")]
    left = [rent for rent in rents if rent["gpu"] != gpu or rent["term"] not in said]
    return sorted([*left, *mine], key=lambda rent: rent["usd_per_hour"])


def discounted(rents: list[dict[str, Any]], wanted: str) -> list[dict[str, Any]]:
    """The rents with the discounts of a case off, the cheapest hour first, as gpucalc/rows/rents.py takes them off a book.

    Raises ValueError for a provider that rents nothing out.
    """
    for provider, share, term in discounts(wanted):
        theirs = [rent for rent in rents
                  if rent["provider"].lower() == provider.lower() and (not term or rent["term"] == "on-demand")]
        if not theirs:
            raise ValueError(f"discount: {provider}: there is no {'rent on demand' if term else 'rent'} of it in this book")
        years = {"term": term, "reserved_years": RESERVED_YEARS[term]} if term else {}
        cheaper = [rent | {"usd_per_hour": rent["usd_per_hour"] * (1 - share), "yours": 1, "sure": 1} | years for rent in theirs]
        there = [_offer(rent) for rent in cheaper]
        rents = sorted([*[rent for rent in rents if _offer(rent) not in there], *cheaper], key=lambda rent: rent["usd_per_hour"])
    return rents


def _offer(rent):
    return "|".join([f"{rent.get(name)}" for name in ["provider", "sku", "region", "term", "gpu"]])


def attempt(step: Callable[[], Any]) -> tuple[Any, str]:
    """What a step gives, or what its ValueError says."""
    try:
        return step(), ""
    except ValueError as error:
        return None, str(error)


def cells_of(line: str, separator: str) -> list[str]:
    """The cells of a line, quoted where they hold a separator. Raises ValueError for a quote that does not fit."""
    found = re.findall(f'( *(?:"((?:[^"]|"")*)" *|((?!")[^{separator}]*))({separator}|$))', line)
    last = next((place for place, each in enumerate(found) if each[3] == ""), 0)
    cells = found[:last + 1]
    if "".join([each[0] for each in cells]) != line:
        raise ValueError("a cell with a quote that does not fit; allowed: quotes around a whole cell")
    return [(each[1].replace('""', '"') or each[2]).strip() for each in cells]


def offer_of(row: dict[str, Any]) -> str:
    """What tells an offer from others: a price that both have is one of the same."""
    return "\n".join([row["gpu"], f"{row['gpus_per_server']}", row["provider"], row["region"], row["term"]])


class Rents:
    """One pasted text as rows of one GPU's price in USD: gpu, usd_per_hour, gpus_per_server, provider, region and term,
    and whether it is a quote.

    A price that is billed by the GPU has a row for each machine in which it is to be had: `larger` has the sizes by GPU. `faults`
    and what is `said` to be taken for granted have their line; a fault with `ask` is a question on a row that is read all the
    same. `prices` are the rents of a book, sorted, by GPU and term.
    """

    def __init__(self, larger: dict[str, list[int]], prices: dict[str, dict[str, list[float]]]):
        self.larger, self.prices = larger, prices
        self.rows, self.faults, self.said = [], [], []
        self.offers, self.machines = {}, []
        self.at, self.titles, self.currencies, self.marks = {}, [], [], {}

    def read(self, text):
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if len(text) > MOST_LETTERS or len(lines) > MOST_LINES:
            self.refuse(1, f"a longer text; allowed: {MOST_LETTERS:,} letters in {MOST_LINES:,} lines; "
                           "make book PRICES=FILE reads more")
            return
        filled = [(place + 1, line) for place, line in enumerate(lines) if line.strip()]
        if not filled:
            self.refuse(1, "no lines; allowed: gpu, usd_per_hour")
            return
        separator = next((each for each in ("\t", ";", ",") if each in filled[0][1]), ",")
        records = [record for line, text in filled for record in self.record(line, text, separator)]
        if not records:
            return
        body = self.headed(records)
        if not body and not self.faults:
            self.refuse(records[0][0], "no lines below the header; allowed: at least one")
        self.marks = {field: self.mark(body, place) for field, place in self.at.items()}
        for line, cells in body:
            self.line(line, cells)
        self.rows = [*self.rows, *self.with_larger()]

    def record(self, line, text, separator):
        """The line with its cells as a list of one; none where they can't be told apart."""
        return [(line, cells) for cells in self.tried(line, lambda: cells_of(text, separator))]

    def mark(self, body, place):
        """The decimal mark of a column."""
        return agreed([readings(found.number) for _, cells in body for found in [amount(_at(cells, place))] if found])

    def line(self, line, cells):
        self.tried(line, lambda: self.add(line, cells))

    def with_larger(self):
        """What is billed by the GPU in larger machines too, but for those that the text prices itself."""
        machines = [row | {"gpus_per_server": size} for row, sizes in self.machines for size in sizes]
        return [row for row in machines if offer_of(row) not in self.offers]

    def refuse(self, line, text, ask=False):
        if len(self.faults) < MOST_FAULTS:
            self.faults.append({"line": line, "text": text} | ({"ask": True} if ask else {}))

    def say(self, line, text):
        self.said.append({"line": line, "text": text})

    def tried(self, line, step):
        """What a step gives as a list of one; an empty list, and a fault of the line, where it can't."""
        value, fault = attempt(step)
        if fault:
            self.refuse(line, fault)
        return [] if fault else [value]

    def headed(self, records):
        """The records below the header; `at` says where a field stands, `titles` how its column is called."""
        line, header = records[0]
        columns = [column(title) for title in header]
        bare = all(each is None for each in columns)
        fields = ["gpu", PER_GPU] if bare else [each.field if each else "" for each in columns]
        self.at = {field: place for place, field in enumerate(fields) if field}
        self.titles = fields if bare else header
        self.currencies = ["", ""] if bare else [each.currency if each else "" for each in columns]
        twice = next((field for place, field in enumerate(fields) if field and field in fields[:place]), "")
        if twice:
            self.refuse(line, f"two columns of {twice}; allowed: one")
            return []
        if "gpu" not in self.at or not (PER_GPU in self.at or WHOLE in self.at):
            self.refuse(line, "a header without gpu or a price; allowed: gpu, usd_per_hour")
            return []
        for place, title in enumerate(header):
            if not bare and not fields[place]:
                self.say(line, f"column {shortened(title, 40) or place + 1} is not read")
        return records if bare else records[1:]

    def bad(self, field, text, allowed):
        title = self.titles[self.at[field]] if field in self.at else field
        shown = f"'{shortened(text, 60)}'" if text else "blank"
        return ValueError(f"{shortened(title, 40)}: {shown}; allowed: {allowed}")

    def of(self, field, text, step):
        """What a step gives for a cell; its fault names the column and the cell."""
        value, fault = attempt(step)
        if fault:
            raise self.bad(field, text, fault)
        return value

    def add(self, line, cells):
        if any(each for each in cells[len(self.titles):]):
            titles = shortened(", ".join(self.titles))
            raise ValueError(f"{len(cells)} cells; allowed: {len(self.titles)}, as in {titles}; a decimal comma wants semicolons "
                             "or tabs between cells, further columns want a header")
        held = {field: _at(cells, place) for field, place in self.at.items()}
        for field, text in held.items():
            if len(text) > LONGEST_CELL or hidden(text):
                raise self.bad(field, text, f"at most {LONGEST_CELL} characters, none of them control or invisible")
        if held.get("item", "").lower() not in ("", "rent", "rents", "rental"):
            raise self.bad("item", held["item"], "rent")
        self.keep(line, held)

    def keep(self, line, held):
        """Keeps a row. One that says the same as another counts once, one of another price is a fault, an odd price is asked
        about."""
        row, larger = self.row(line, held)
        key, price = offer_of(row), row["usd_per_hour"]
        first, before = self.offers.get(key, (0, 0))
        if first and before == price:
            self.say(line, f"says the same as line {first}: counted once")
            return
        if first:
            raise ValueError(f"one price of an offer; line {first} has the same gpu, provider, region and term")
        self.offers[key] = (line, price)
        self.rows.append(row)
        self.machines.append((row, larger))
        self.beside(line, row)

    def row(self, line, held):
        """The row of a line, and the sizes of the larger machines in which it is to be had."""
        given = held["gpu"]
        if not given:
            raise self.bad("gpu", "", "a gpu of data/gpus.csv")
        name, many = (given, None) if given in rows("gpus") else counted(given)
        gpu, remark = self.of("gpu", given, lambda: gpu_named(name))
        if remark:
            self.say(line, remark)
        text, term, taken = held.get("term", ""), ITEMS["rent"].terms[0], ""
        if text:
            term, taken = self.of("term", text, lambda: term_named(text, "rent"))
        else:
            taken = f"term not stated: taken as {term}"
        if taken:
            self.say(line, taken)
        size = self.size(held, many)
        larger = [] if size else self.larger[gpu]
        if not size:
            self.say(line, by_the_gpu(larger))
        if size > 1 and held.get("gpus_per_server") and held.get(PER_GPU) and not held.get(WHOLE):
            self.say(line, f"'{shortened(self.titles[self.at[PER_GPU]], 40)}' is taken as the price of one GPU of several in a "
                           f"machine; a price of the whole machine goes into a column {WHOLE}")
        row = {"gpu": gpu, "usd_per_hour": self.price(line, held, size or 1), "gpus_per_server": size or 1,
               "provider": held.get("provider") or OWN_PROVIDER, "region": held.get("region") or NOT_STATED, "term": term,
               "quote": self.of("quote", held.get("quote", ""), lambda: is_quote(held.get("quote", "")))}
        return row, larger

    def size(self, held, many):
        """GPUs in the machine; 0 where a price of one GPU says nothing of it."""
        text = held.get("gpus_per_server", "")
        found = re.fullmatch("([0-9]+) ?(?:x|gpus?)?", plain(text), re.IGNORECASE)
        given = int(found[1]) if found else 0
        if text and not 1 <= given <= MOST_GPUS:
            raise self.bad("gpus_per_server", text, f"a whole number from 1 to {MOST_GPUS:,}")
        if text and many and given != many:
            raise self.bad("gpus_per_server", text, f"{many}, the number in the GPU's name")
        if not text and not many and not held.get(PER_GPU) and held.get(WHOLE):
            raise self.bad("gpus_per_server", "",
                           f"how many GPUs the price is of; the price of one GPU goes into a column {PER_GPU}")
        return given or many or 0

    def price(self, line, held, size):
        """USD an hour for one GPU."""
        found = [self.price_in(line, held, field, size) for field in (PER_GPU, WHOLE) if held.get(field)]
        if not found:
            raise self.bad(PER_GPU if PER_GPU in self.at else WHOLE, "", f"{NUMERAL}; a row without a price goes")
        if len(found) == 2 and abs(found[0] - found[1]) > 0.01 * found[1]:
            raise self.bad(PER_GPU, held[PER_GPU],
                           f"{in_usd(found[1])}, the price of the whole over its {size} GPUs; or one of both blank")
        return found[0]

    def price_in(self, line, held, field, size):
        usd = self.of(field, held[field], lambda: self.dollars(line, held, field))
        value, low, high = usd / size if field == WHOLE else usd, ITEMS["rent"].low, ITEMS["rent"].high
        if not low <= value <= high:
            raise self.bad(field, held[field], f"{low:g} to {high:,.0f} USD/h for one GPU")
        return value

    def dollars(self, line, held, field):
        """The number in a cell, which is in USD and by the hour."""
        found = amount(held[field])
        if not found:
            raise ValueError(NUMERAL)
        if found.negative:
            raise ValueError("a price above 0")
        if found.currency == "?":
            raise ValueError("one currency by its code, such as USD or EUR")
        given = (found.currency, self.currencies[self.at[field]], held.get("currency", ""))
        other = next((code for code in [SYMBOLS.get(each, each) for each in given] if code and code.upper() != "USD"), "")
        if other:
            raise ValueError(f"USD; for {shortened(other.upper(), 10)}, what it is in USD")
        times = times_an_hour(found.rest)
        if times != 1:
            raise ValueError("a price per hour" if times else f"{NUMERAL} in USD/h")
        value, doubtful = settled(found.number, self.marks[field], ITEMS["rent"].high)
        if doubtful:
            self.say(line, f"{found.number} is read as {value:g}: thousands are not plausible")
        return value

    def beside(self, line, row):
        """Where a rent stands among those of the book, and the question on one that lies far from them: on the term if there are
        any, else on all."""
        known, price = self.prices.get(row["gpu"], {}), row["usd_per_hour"]
        same = known.get(row["term"])
        prices = same or sorted([each for held in known.values() for each in held])
        if same:
            self.say(line, standing(price, row["gpu"], row["term"], same))
        if prices:
            asked = question({"item": "rent", "gpu": row["gpu"], "gpus_per_server": row["gpus_per_server"],
                              "price": price * row["gpus_per_server"]},
                             Spread(len(prices), prices[0], prices[-1], statistics.median(prices)))
            if asked:
                self.refuse(line, asked, True)


def _at(cells, place):
    return cells[place] if place < len(cells) else ""
