"""Columns and cells of files of GPU counters: how tools spell a counter, its unit, what is no value, and forms of times."""
import datetime
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from gpucalc.rows.files import hidden, shortened


class Counter(NamedTuple):
    """A counter: how tools call it, its factors to SI by unit (first: without a unit), the most it may be, and that in words."""

    spellings: tuple[str, ...]
    units: Mapping[str, float]
    most: float
    allowed: str


_RATIO, _PERCENT = {"": 1, "%": 0.01, "gpm:%": 0.01}, {"": 0.01, "%": 0.01}
_SHARE = "from 0 to 1, or to 100 with the unit %"
_MEMORY = {"": 2**20, "mib": 2**20, "gib": 2**30, "mb": 2**20, "b": 1, "kib": 2**10}
# Of nvidia-smi, its dmon and GPM columns, dcgmi dmon, dcgm-exporter (older and newer names), the CloudWatch agent and Azure.
COUNTERS = {
    "gpu_util": Counter(("utilization_gpu", "gpu_util", "gpu_util_ratio", "gputl", "sm", "nvidia_smi_utilization_gpu"),
                        _PERCENT, 1, "from 0 to 100 %"),
    "memory_util": Counter(("utilization_memory", "mem_copy_util", "mcutl", "mem", "nvidia_smi_utilization_memory"), _PERCENT, 1,
                           "from 0 to 100 %"),
    "sm_activity": Counter(("sm_active", "sm_util_ratio", "smact", "smutil", "sm_activity"), _RATIO, 1, _SHARE),
    "sm_occupancy": Counter(("sm_occupancy", "sm_occupancy_ratio", "smocc", "smoccup"), _RATIO, 1, _SHARE),
    "tensor_activity": Counter(("pipe_tensor_active", "tensor_util_ratio", "tenso", "tensor", "anytensor", "tensor_active"),
                               _RATIO, 1, _SHARE),
    "dram_activity": Counter(("dram_active", "dram_util_ratio", "drama", "dram", "drambw", "dram_activity"), _RATIO, 1, _SHARE),
    "board_watts": Counter(("power_draw", "power_draw_average", "power_draw_instant", "power_usage", "board_power_watts", "power",
                            "pwr", "nvidia_smi_power_draw"), {"": 1, "w": 1, "mw": 1e-3, "kw": 1e3}, 1e4, "from 0 to 10000 W"),
    "limit_watts": Counter(("power_limit", "enforced_power_limit", "power_mgmt_limit", "pmlmt",
                            "board_power_limit_enforced_watts", "board_power_limit_requested_watts"),
                           {"": 1, "w": 1, "kw": 1e3}, 1e4, "from 0 to 10000 W"),
    "used_bytes": Counter(("memory_used", "fb_used", "fbusd", "fb", "nvidia_smi_memory_used"), _MEMORY, 1e13, "from 0 to 10 TB"),
    "sm_clock": Counter(("clocks_sm", "clocks_current_sm", "sm_clock", "smclk", "pclk", "clocks_gr", "clocks_current_graphics"),
                        {"": 1e6, "mhz": 1e6, "ghz": 1e9}, 1e10, "from 0 to 10 GHz"),
}
# Units as people write them; columns and cells are read in any case.
_WRITTEN = {"mib": "MiB", "gib": "GiB", "kib": "KiB", "mb": "MB", "b": "B", "w": "W", "mw": "mW", "kw": "kW", "mhz": "MHz",
            "ghz": "GHz"}
# Columns of text, and of the reasons for lower clocks: a mask, or one column for each reason.
TEXTS = {"gpu": ("index", "gpu", "entity", "gpu_id", "gpuid"), "uuid": ("uuid", "gpu_uuid", "pci_bus_id", "pci_bus"),
         "name": ("name", "gpu_name", "modelname", "model_name"), "host": ("hostname", "host", "instance", "instanceid"),
         "metric": ("metric", "__name__", "field"), "value": ("value",)}
TIMES = ("timestamp", "time", "datetime", "date_time", "ts", "date")
REASONS = ("clocks_throttle_reasons_active", "clocks_event_reasons_active", "clocks_event_reasons", "clock_throttle_reasons",
           "dvcctr")
# Power cap, hardware slowdown, both kinds of heat, power brake: bits of the mask (NVIDIA DCGM dcgm_fields.h).
SLOWED = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
_NONE = re.compile(r"|-|\[?(n/a|nan|not supported|unknown error|insufficient permissions|gpu requires reset|null|none|err!)\]?",
                   re.IGNORECASE)
_CELL = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z%:]*)", re.ASCII)
_HEAD = re.compile(r"(.*?)\s*[\[(]\s*([A-Za-z%:]+)\s*[\])]\s*")
_FORMS = ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y%m%d %H:%M:%S", "%Y-%m-%d %H:%M:%S,%f", "%d/%m/%Y %H:%M:%S")
# Where DCGM has no value it writes one of 16 from here: in an integer, in a float, in a long integer (dcgm_structs.h).
_BLANKS = 2**31 - 16, 2**47, 2**63 - 16


@lru_cache(maxsize=4096)
def plain(head):
    """The name of a column without case, signs, unit and the prefixes of DCGM; and its unit."""
    found = _HEAD.fullmatch(head)
    name, unit = (found[1], found[2].lower()) if found else (head, "")
    name = re.sub(r"[^0-9a-z_]+", "_", name.strip().lower()).strip("_") if name.strip() != "__name__" else "__name__"
    return re.sub(r"^dcgm_fi_(dev|prof)_", "", name), unit


@lru_cache(maxsize=4096)
def kind(name):
    """What a column of that plain name is: a counter, a text, `time` or `reasons`; None if no report needs it."""
    if name in TIMES:
        return "time"
    if name in REASONS:
        return "reasons"
    return next((held for held, each in COUNTERS.items() if name in each.spellings), None) or next(
        (held for held, spellings in TEXTS.items() if name in spellings), None)


def refused(file, row, column, value, allowed):
    """The error of a cell, to raise: where it stands, what it says, and what is allowed there."""
    shown = "blank" if value == "" else shortened(repr(value), 60)
    return ValueError(f"{file}, row {row}, column {shortened(column, 60)}: {shown}; allowed: {allowed}")


def is_none(text):
    """Whether a cell says that there is no value."""
    return bool(_NONE.fullmatch(text))


class Cells:
    """Reads the cells of one file and remembers the unit of each column: two units in one column are refused."""

    def __init__(self, file):
        self.file, self.units = file, {}

    def number(self, row, column, counter, head_unit, text):
        """The value in SI units; NaN where the tool had none."""
        if is_none(text):
            return math.nan
        found = _CELL.fullmatch(text)
        if not found:
            point = " with a decimal point" if "," in text else ""
            raise refused(self.file, row, column, text, f"a number{point} {COUNTERS[counter].allowed}, or N/A")
        value, unit, known = float(found[1]), found[2].lower(), COUNTERS[counter]
        if any(blank <= value <= blank + 16 for blank in _BLANKS):
            return math.nan
        first = self.units.setdefault(column, (unit, row))
        if unit != first[0]:
            raise refused(self.file, row, column, text, f"one unit in a column: row {first[1]} has {first[0] or 'none'}")
        if unit and head_unit and unit != head_unit or (unit or head_unit) not in known.units:
            able = [head_unit] if unit and head_unit in known.units else known.units
            wanted = ", ".join(_WRITTEN.get(each, each) for each in able if each)
            raise refused(self.file, row, column, text if unit else f"{text} [{head_unit}]", f"the unit {wanted}")
        value *= known.units[unit or head_unit]
        if not 0 <= value <= known.most * (1 + 1e-9):
            raise refused(self.file, row, column, text, known.allowed)
        return value

    def mask(self, row, column, text):
        """Whether a reason to slow down was active; NaN where the tool had none."""
        if is_none(text):
            return math.nan
        if text.lower() == "not active":
            return 0.0
        try:
            bits = int(text, 16) if text.lower().startswith("0x") else int(float(text))
        except ValueError:
            raise refused(self.file, row, column, text, "a mask such as 0x0000000000000004, or N/A") from None
        return float(bool(bits & SLOWED)) if 0 <= bits < _BLANKS[0] else math.nan

    def words(self, row, column, text):
        """A name, without what nobody sees."""
        if hidden(text):
            raise refused(self.file, row, column, text, "text without control and invisible characters")
        return shortened(text, 60)

    def time(self, row, column, text):
        """Seconds since 1970 (UTC where the file names no zone); of a time without a date, since midnight."""
        try:
            return _seconds(text.strip().strip('"'))
        except (ValueError, OverflowError, OSError):
            raise refused(self.file, row, column, text, "a time such as 2026/11/23 06:17:26.305, 2026-11-23T06:17:26Z, seconds "
                          "since 1970 or, of dmon, 06:17:26") from None


@lru_cache(maxsize=4096)
def _seconds(text):
    if re.fullmatch(r"\d{9,13}(\.\d+)?", text, re.ASCII):
        value = float(text)
        return value / 1000 if value >= 1e11 else value
    if re.fullmatch(r"\d{1,2}:\d\d:\d\d", text, re.ASCII):
        hours, minutes, seconds = map(int, text.split(":"))
        if hours > 23 or minutes > 59 or seconds > 59:
            raise ValueError(text)
        return 3600.0 * hours + 60 * minutes + seconds
    for form in _FORMS:
        try:
            found = datetime.datetime.strptime(text, form)
            break
        except ValueError:
            continue
    else:
        found = datetime.datetime.fromisoformat(text)
    if not 1990 <= found.year <= 2200:
        raise ValueError(text)
    return found.replace(tzinfo=found.tzinfo or datetime.UTC).timestamp()
