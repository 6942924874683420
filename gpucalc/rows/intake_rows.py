"""The rows of a reader's own file as rows of a price book: what is blank filled in, what is odd said, every fault kept."""
import math
import re
from typing import Any, NamedTuple

from . import intake_names as names
from .files import hidden, shortened
from .intake_cells import Cells
from .intake_money import usd_of_product
from .intake_names import PER_GPU, WHOLE
from .intake_sheet import Sheet
from .price_checks import ITEMS, PRICES, RESERVED_YEARS, Fault, row_faults
from .tables import rows

NOT_STATED, OWN_PROVIDER = "not stated", "your provider"
# The most GPUs that a machine is taken to have.
_MACHINE = 8
_PLAIN = ("provider", "region", "sku", "source", "note", "instance")


class Base(NamedTuple):
    """What of the newest book a row is completed with: sizes of machines by GPU, its spellings and its date; the rates that hold;
    and the date of a row that has none.
    """

    file: str
    sizes: dict[str, int]
    providers: list[str]
    models: list[str]
    rates: dict[str, tuple[float, str]]
    newest: str
    dated: str = ""


class Read(NamedTuple):
    """Records by row, faults, and sentences on what was taken for granted with the rows that they are of.

    `larger` has, of each record that is billed by the GPU, the sizes of the larger machines in which it is to be had.
    """

    records: dict[int, dict[str, Any]]
    larger: dict[int, list[int]]
    faults: list[Fault]
    said: dict[str, list[int]]
    cells: Cells


def completed(sheet: Sheet, base: Base, given_rates: dict[str, tuple[float, str]]) -> Read:
    """The rows of a sheet as records of a price book; a row with a fault has none. `given_rates` go before the file's own."""
    cells = Cells(sheet, names.column, base.newest)
    said: dict[str, list[int]] = {sentence: [] for sentence in [*sheet.said, *cells.said]}
    faults, records, larger = list(cells.faults), {}, {}
    rates = base.rates | _rates_of(cells, base.dated) | given_rates
    for row in cells.rows:
        read = _Row(row, cells, base._replace(rates=rates), said)
        record, found = read.read()
        found += _further(row, record, found, read.rated) if record else []
        faults += found
        if not found:
            records[row], larger[row] = record, read.larger
    return Read(records, larger, faults, said, cells)


def _further(row, record, found, rated):
    """Faults that the checks of every book find, but for cells that are refused, or empty because another is; of a price in
    another currency with what it is in USD."""
    odd = {WHOLE if fault.column == PER_GPU else fault.column for fault in found}
    if found:
        odd |= {column for column in (WHOLE, "gpus_per_server") if record[column] != record[column]}
    faults = [fault for fault in row_faults("9999", row, record) if fault.column not in odd]
    return [fault._replace(allowed=f"{fault.allowed}; {rated}") if rated and fault.column == WHOLE else fault for fault in faults]


def larger_machines(gpu: str, sizes: dict[str, int]) -> list[int]:
    """Sizes of the machines of several GPUs in which one that is billed by the GPU is to be had.

    They double up to the largest that sellers rent out by `sizes`, else to what the GPU's link joins.
    """
    link = rows("gpus")[gpu]["link"]
    most = sizes.get(gpu) or (1 if link.startswith("PCIe") else int(min(_MACHINE, rows("links")[link]["reach"])))
    return sorted({2**power for power in range(1, most.bit_length()) if 2**power < most} | {most} - {1})


def by_the_gpu(larger: list[int]) -> str:
    """What is taken for granted of a price of one GPU that says nothing of its machine."""
    *less, most = map(str, larger or [1])
    machines = f"alone or in machines of {' or '.join(filter(None, [', '.join(less), most]))}" if larger else "alone"
    return f"size of the machine not stated: taken as billed by the GPU, {machines}; a column gpus says otherwise"


def _rates_of(cells, dated):
    """USD for one unit of a currency, from the file's own rows of the item currency."""
    found = {}
    for row in cells.rows:
        if cells.text(row, "item").lower() in ("currency", "fx", "exchange rate"):
            value = cells.number(row, WHOLE if cells.text(row, WHOLE) else PER_GPU)
            date = cells.date(row) if cells.text(row, "date") else dated
            if isinstance(value, float) and value > 0 and isinstance(date, str):
                found[_code(cells, row)] = (value, f"{date}, {cells.file}")
    return found


def _code(cells, row):
    """The currency that a row of the item currency is the rate of: its sku, else its column of currencies."""
    return (cells.text(row, "sku") or cells.currency(row) or "").upper()


class _Row:
    """One row on its way to a record: its faults, and what is said of it."""

    def __init__(self, number, cells, base, said):
        self.number, self.cells, self.base, self.said, self.faults = number, cells, base, said, []
        self.remarks, self.larger, self.rated = [], [], ""

    def text(self, field):
        return self.cells.text(self.number, field)

    def say(self, sentence, remark=False):
        self.said.setdefault(sentence, []).append(self.number)
        if remark:
            self.remarks.append(sentence)

    def refuse(self, field, allowed):
        self.faults.append(Fault(self.number, field, self.text(field), allowed))

    def read(self):
        """The record and the faults of the row."""
        for field in self.cells.fields:
            if hidden(self.text(field)):
                self.refuse(field, "text without control and invisible characters")
        if self.faults:
            return {}, self.faults
        item = self._item()
        if item is None:
            return {}, self.faults
        gpu, many = self._gpu(item)
        term = self._term(item)
        size = self._size(item, gpu, many)
        price = usd_of_product(self, item, size)
        record = {"item": item, "gpu": gpu, "gpus_per_server": size, "term": term, "price": price, "currency": "USD"}
        record |= {"unit": self._unit(item), "date": self._date(), "reserved_years": self._years(term)}
        record |= self._named(item, gpu, size) | self._edges(item) | self._choices()
        return {column: record[column] for column in PRICES.columns}, self.faults

    def _item(self):
        text = self.text("item")
        if not text:
            if "item" in self.cells.fields:
                self.say("no item: taken as a rent by the hour")
            return "rent"
        try:
            return names.item(text)
        except ValueError as error:
            self.refuse("item", str(error))

    def _gpu(self, item):
        text = self.text("gpu")
        if not text:
            if item in ("rent", "card", "server"):
                self.refuse("gpu", f"filled for {item}{'' if self.text('item') else ', or an item that needs none'}")
            return "", None
        bare, many = (text, None) if text in rows("gpus") else names.counted(text)
        try:
            gpu, remark = names.gpu(bare)
        except ValueError as error:
            self.refuse("gpu", f"{error}; or a GPU of your own: GPUS=FILE")
            return "", many
        if remark:
            self.say(remark, remark=True)
        return gpu, many

    def _term(self, item):
        text, terms = self.text("term"), ITEMS[item].terms
        if not text:
            if item == "rent":
                self.say("term not stated: taken as on-demand")
            return terms[0]
        try:
            term, remark = names.term(text, item)
        except ValueError as error:
            self.refuse("term", str(error))
            return ""
        if remark:
            self.say(remark, remark=True)
        return term

    def _size(self, item, gpu, many):
        """GPUs in the product: one, where a price of one GPU says nothing of it."""
        text = self.text("gpus_per_server")
        if text:
            size = self.cells.number(self.number, "gpus_per_server", re.compile(r"x|gpus?", re.IGNORECASE))
            if isinstance(size, str):
                self.refuse("gpus_per_server", size)
                return math.nan
            if size < 1 or size % 1:
                self.refuse("gpus_per_server", "a whole number of at least 1")
            if many and size != many:
                self.refuse("gpus_per_server", f"{many}, the number in the GPU's name")
            return math.nan if item == "card" and size == 1 else size
        if item not in ("rent", "server"):
            return math.nan
        if many:
            return float(many)
        if not self.text(PER_GPU) and not self.text(WHOLE):
            return math.nan
        if not self.text(PER_GPU) or item == "server":
            self.refuse("gpus_per_server", f"how many GPUs the price is of; the price of one GPU goes into a column {PER_GPU}"
                        if item == "rent" else "how many GPUs the server has")
            return math.nan
        if gpu:
            self.larger = larger_machines(gpu, self.base.sizes)
            self.say(by_the_gpu(self.larger))
        return 1.0

    def _unit(self, item):
        unit, text = ITEMS[item].unit, self.text("unit")
        plain = re.sub(r"^[A-Z]{3}|^[$€£]", "USD", text).replace("hour", "h").replace("hr", "h")
        if text and plain.lower().replace(" ", "") != unit.lower():
            self.refuse("unit", f"{unit} for {item}")
        return unit

    def _date(self):
        if not self.text("date"):
            self.say(f"date not stated: taken as {self.base.dated}, when the file was last changed")
            return self.base.dated
        found = self.cells.date(self.number)
        if isinstance(found, ValueError):
            self.refuse("date", str(found))
            return ""
        return found

    def _years(self, term):
        if not self.text("reserved_years"):
            return float(RESERVED_YEARS.get(term, math.nan))
        return self._plain_number("reserved_years")

    def _plain_number(self, field):
        if not self.text(field):
            return math.nan
        value = self.cells.number(self.number, field)
        if isinstance(value, str):
            self.refuse(field, value)
            return math.nan
        return value

    def _edges(self, item):
        edges = {field: self._plain_number(field) for field in ("from_bytes", "to_bytes")}
        if item == "egress" and math.isnan(edges["from_bytes"]):
            self.say("egress without tiers: one price from the first byte on")
            edges["from_bytes"] = 0.0
        return edges

    def _choices(self):
        """The columns with a closed list, in lower case."""
        found = {field: self.text(field).lower() for field in ("includes", "confidence")}
        for field, text in found.items():
            if text and text not in PRICES.choices[field]:
                self.refuse(field, ", ".join(PRICES.choices[field]))
        return found | {"confidence": found["confidence"] or "seen"}

    def _named(self, item, gpu, size):
        """The columns of text; what names the product says which one it is where the file doesn't."""
        found = {field: self.text(field) for field in _PLAIN}
        if item == "currency":
            found["sku"] = _code(self.cells, self.number)
        if item.startswith("api-"):
            found["sku"] = names.spelled(found["sku"], self.base.models)
        if not found["sku"] and (item == "currency" or item.startswith("api-")):
            self.refuse("sku" if "sku" in self.cells.fields else "item",
                        f"with a sku: the {'code, such as EUR' if item == 'currency' else 'model'}")
        provider = names.spelled(found["provider"], self.base.providers)
        if found["provider"] and provider != found["provider"]:
            self.say(f"{shortened(found['provider'])} is {provider} of {self.base.file}")
        product = {"rent": f"{size:g}x {gpu}", "server": f"{size:g}x {gpu}", "card": gpu}.get(item, NOT_STATED)
        note = "; ".join(filter(None, [found["note"], *self.remarks]))
        return found | {"provider": provider or OWN_PROVIDER, "region": found["region"] or NOT_STATED,
                        "sku": found["sku"] or product, "source": found["source"] or self.cells.file, "note": note}
