"""The cells of a sheet by what their columns hold: numbers, money and dates, each read as its whole column settles it."""
import datetime
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .ages import day, today
from .files import shortened
from .intake_names import PER_GPU, WHOLE
from .intake_numbers import CODES, SYMBOLS, amount, dates, day_order, decimal_mark, readings
from .intake_sheet import Exact, Sheet
from .price_checks import Fault
from .tables import FIRST_YEAR, is_date

# What may stand in a cell for nothing; not for a price, where it is a fault.
_NOTHING = {"-", "–", "—", "n/a", "na", "none", "null", "nan"}
# A day that has begun elsewhere on Earth has not by every clock.
_GRACE = datetime.timedelta(1)
_NUMBER, _NO_DATE = "a number such as 2.10", f"YYYY, YYYY-MM or YYYY-MM-DD, from {FIRST_YEAR} on and not in the future"


class Money(NamedTuple):
    """A number with its currency, what else stands beside it, how it is written, and whether only plausibility settles it."""

    value: float
    currency: str
    rest: str
    shown: str
    doubtful: bool


class Cells:
    """A sheet by row and field; `faults` and `said` are of its columns. `begun`: a day that has come, whatever the clock says."""

    def __init__(self, sheet: Sheet, column: Callable[[str], Any], begun: str = ""):
        self.file = sheet.file
        self._latest = max(today(), day(begun) if begun else today()) + _GRACE
        self.faults: list[Fault] = []
        self.said: list[str] = []
        self.rows: dict[int, list[str]] = {}
        self._titles = sheet.header
        self._columns = self._chosen(sheet, [column(title) for title in sheet.header])
        self.fields = list(self._columns)
        for row, cells in sheet.rows:
            self._add(sheet, row, cells)
        self._marks = {field: self._mark(field) for field in self.fields}
        self._order = day_order([self.text(row, "date") for row in self.rows])

    def _chosen(self, sheet, found):
        """Which column holds which field; what is not read is said, and two that could be one field are a fault."""
        chosen = {}
        for place, known in enumerate(found):
            title = shortened(sheet.header[place], 40)
            filled = any(len(cells) > place and cells[place] for _, cells in sheet.rows)
            if known is None:
                if title or filled:
                    self.said.append(f"column {place + 1}, {title or 'without a name'}, is not read")
                continue
            other = chosen.get(known.field)
            if other is None:
                chosen[known.field] = (place, known)
            elif known.field in (WHOLE, PER_GPU) or other[1].exact == known.exact:
                self.faults.append(Fault(sheet.first, title, title, f"one column of {known.field}; column {other[0] + 1}, "
                                         f"{shortened(sheet.header[other[0]], 40)!r}, is one too"))
            else:
                better, worse = ((place, known), other) if known.exact else (other, (place, known))
                chosen[known.field] = better
                self.said.append(f"column {worse[0] + 1}, {sheet.header[worse[0]]}, is not read: {sheet.header[better[0]]} is")
        return chosen

    def _add(self, sheet, row, cells):
        if len(cells) < len(sheet.header) and sheet.separator:
            self.said.append(f"row {row} has {len(cells)} cells of {len(sheet.header)}: what is missing at its end is blank")
        if any(cells[len(sheet.header):]):
            hint = "; a comma inside a cell wants quotes around the cell" if sheet.separator == "," else ""
            self.faults.append(Fault(row, str(len(sheet.header) + 1), next(filter(None, cells[len(sheet.header):])),
                                     f"{len(sheet.header)} cells, as in the header{hint}"))
        else:
            self.rows[row] = cells

    def text(self, row: int, field: str) -> str:
        """The cell as text; blank where it holds a sign for nothing, or where there is no such column."""
        if field not in self._columns:
            return ""
        cells, place = self.rows[row], self._columns[field][0]
        text = cells[place] if place < len(cells) else ""
        return "" if field not in (WHOLE, PER_GPU) and text.lower() in _NOTHING else text

    def title(self, field: str) -> str:
        """The header of the column that holds a field, as the reader wrote it."""
        return shortened(self._titles[self._columns[field][0]] if field in self._columns else field, 40)

    def titled_currency(self, field: str) -> str:
        """The currency that the header of a column names."""
        return self._columns[field][1].currency

    def currency(self, row: int) -> str | None:
        """The code in the column of currencies; blank without one, None for what is no currency."""
        text = self.text(row, "currency")
        code = SYMBOLS.get(text, {"EURO": "EUR", "EUROS": "EUR"}.get(text.upper(), text.upper()))
        return code if not code or code in CODES or re.fullmatch(r"[A-Z]{3}", code) else None

    def _mark(self, field):
        cells = [self.text(row, field) for row in self.rows]
        found = [amount(cell) for cell in cells if not isinstance(cell, Exact)]
        return decimal_mark([each.number for each in found if each])

    def amount(self, row: int, field: str, most: float = float("inf")) -> Money | str:
        """The amount of money in a cell, or what is allowed there. No point marks thousands where that is above `most`."""
        text = self.text(row, field)
        found = amount(text)
        if not found:
            return f"{_NUMBER}; a row without a price goes" if text.lower() in _NOTHING else _NUMBER
        held = readings(found.number)
        if isinstance(text, Exact):
            held = {"": float(found.number)}
        if not held or float("inf") in held.values():
            return _NUMBER
        doubtful = len(held) > 1 and not self._marks[field] and "." in found.number and held[","] > most
        if doubtful:
            held = {"": held["."]}
        if len(held) > 1:
            if self._marks[field] not in held:
                low, high = sorted(held.values())
                return (f"a number with one reading: this may be {low:g} or {high:g}, and no other number of its column settles "
                        f"it; write {low:.4f} or {high:.0f}")
            held = {"": held[self._marks[field]]}
        value = next(iter(held.values()))
        return Money(-value if found.negative else value, found.currency, found.rest, found.number, doubtful)

    def number(self, row: int, field: str, unit: re.Pattern[str] | None = None) -> float | str:
        """The number in a cell, or what is allowed there; `unit` is what may stand beside it."""
        found = self.amount(row, field)
        if isinstance(found, str) or not found.rest or unit and unit.fullmatch(found.rest):
            return found if isinstance(found, str) else found.value
        return _NUMBER

    def date(self, row: int) -> str | ValueError:
        """The date in a cell, or the error that says what is allowed."""
        held = dates(self.text(row, "date"))
        if len(held) > 1 and self._order in held:
            held = {"": held[self._order]}
        if len(held) > 1:
            return ValueError(f"a date with one reading: this may be {' or '.join(held.values())}, and no other date settles it")
        found = next(iter(held.values()), "")
        return found if found and is_date(found) and day(found) <= self._latest else ValueError(_NO_DATE)
