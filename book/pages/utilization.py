"""Counters of a reader's GPUs: files of other tools read, checked and summed up, and what they say of a load."""
import datetime
import html
import io
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas import DataFrame

from gpucalc.core.arithmetic import ceil, HOURS_PER_DAY, HOURS_PER_MONTH, SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case, Row
from gpucalc.core.figures import dollars, gib, hourly, number, percent, three_figures, usd
from gpucalc.core.quantities import DATA
from gpucalc.decisions.columns import nine_digits
from gpucalc.laws import arithmetic_intensity as ai, counters, counters as law, shares
from gpucalc.laws.counters import is_idle
from gpucalc.laws.sharing import right_sized_gpus, wasted_usd_per_month
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.laws.waiting import sped_up
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.ages import firm
from gpucalc.rows.files import csv_rows, hidden, SEPARATORS, short_lines, shortened, text
from gpucalc.rows.intake import columns_of
from gpucalc.rows.mapping import read_mapping
from gpucalc.rows.rents import rents
from gpucalc.rows.tables import bad
from ..components.experiments import SKUS
from ..components.picture import Sheet, WIDE
from ..components.sentences import Markdown, markdown
from ..components.show import Html, in_unit, table
from .break_even import duration_text as duration_text  # what the page says of times


# Columns and cells of files of GPU counters: how tools spell a counter, its unit, what is no value, and forms of times.


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
         "metric": ("metric", "__name__", "field"), "value": ("value",),
         "team": ("team", "exported_namespace", "namespace", "account", "project")}
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
            raise bad(self.file, row, column, text, f"a number{point} {COUNTERS[counter].allowed}, or N/A")
        value, unit, known = float(found[1]), found[2].lower(), COUNTERS[counter]
        if any(blank <= value <= blank + 16 for blank in _BLANKS):
            return math.nan
        first = self.units.setdefault(column, (unit, row))
        if unit != first[0]:
            raise bad(self.file, row, column, text, f"one unit in a column: row {first[1]} has {first[0] or 'none'}")
        if unit and head_unit and unit != head_unit or (unit or head_unit) not in known.units:
            able = [head_unit] if unit and head_unit in known.units else known.units
            wanted = ", ".join(_WRITTEN.get(each, each) for each in able if each)
            raise bad(self.file, row, column, text if unit else f"{text} [{head_unit}]", f"the unit {wanted}")
        value *= known.units[unit or head_unit]
        if not 0 <= value <= known.most * (1 + 1e-9):
            raise bad(self.file, row, column, text, known.allowed)
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
            raise bad(self.file, row, column, text, "a mask such as 0x0000000000000004, or N/A") from None
        return float(bool(bits & SLOWED)) if 0 <= bits < _BLANKS[0] else math.nan

    def words(self, row, column, text):
        """A name, without what nobody sees."""
        if hidden(text):
            raise bad(self.file, row, column, text, "text without control and invisible characters")
        return shortened(text, 60)

    def time(self, row, column, text):
        """Seconds since 1970 (UTC where the file names no zone); of a time without a date, since midnight."""
        try:
            return _seconds(text.strip().strip('"'))
        except (ValueError, OverflowError, OSError):
            raise bad(self.file, row, column, text, "a time such as 2026/11/23 06:17:26.305, 2026-11-23T06:17:26Z, seconds "
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


# Reads a file of GPU counters: of nvidia-smi (CSV or dmon), dcgmi dmon, dcgm-exporter, or a CSV with their names.
#
# Columns may stand in any order, units in the header or in the cells. What no report needs is ignored. Bad input is a
# ValueError that names file, row, column, value and what is allowed.

_MOST_BYTES, _MOST_ROWS, _MOST_GPUS = 100_000_000, 1_000_000, 256
_DAY = 86400
_LABELED = re.compile(r"([A-Za-z_:][\w:]*)\{(.*)\}\s+(\S+)(?:\s+(\d+))?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# What says that a GPU did anything.
ACTIVITY = ("sm_activity", "gpu_util", "tensor_activity", "dram_activity")
_ASK = ("nvidia-smi --query-gpu=timestamp,index,name,utilization.gpu,memory.used,power.draw --format=csv, or dcgmi dmon -e "
        "1002,1004,1005")
_AGAIN = "allowed: the first one again, or a file of its own"


class Counters(NamedTuple):
    """What a file held: `samples` with `seconds`, `gpu`, `name` and a column for each counter; the tool; what was left out."""

    samples: "DataFrame"
    tool: str
    notes: list[str]
    timed: bool


def read_counters(path: str | Path, sample_seconds: float = 1) -> Counters:
    """The samples of a file of counters. `sample_seconds` is the time between samples where the file has no times, as of dmon."""
    if not 0 < sample_seconds < math.inf:
        raise ValueError(f"parameter sample_seconds: {sample_seconds!r}; allowed: a number above 0")
    path = Path(path)
    file, held = shortened(path.name, 60), text(path, _MOST_BYTES, "UTF-8 text, as nvidia-smi and dcgmi print it", marked=True)
    if "\0" in held:
        row = held.count("\n", 0, held.index("\0")) + 1
        raise ValueError(f"{file}, row {row}: a zero byte; allowed: text, as nvidia-smi and dcgmi print it")
    if not held.strip():
        raise ValueError(f"{file}: no text; allowed: what {_ASK} prints")
    lines = held.splitlines()
    if len(lines) > _MOST_ROWS:
        raise ValueError(f"{file}: {len(lines):,} rows; allowed: at most {_MOST_ROWS:,}")
    first = next(line for line in list(short_lines(file, lines)) if line.strip()).strip()
    notes: list[str] = []
    if _LABELED.match(first) or re.match(r"# (HELP|TYPE) ", first):
        tool, table = "dcgm-exporter", _exposed(file, lines)
    elif first.startswith("#"):
        tool, table = _columns_of_text(file, lines, held.endswith("\n"), notes)
    else:
        tool, table = _comma_separated(file, held, notes)
    return _counters(file, tool, table, notes, sample_seconds)


# Three shapes of text, each a list of (row, {column: text})

def _comma_separated(file, held, notes):
    """A CSV file: one line a sample and GPU, or one line a metric."""
    mark = max(SEPARATORS, key=held.lstrip().partition("\n")[0].count)
    records = [(row, cells) for row, cells in csv_rows(file, io.StringIO(held, newline=""), mark) if any(cells)]
    first, header = records[0] if records else (1, [])
    _check_header(file, first, header)
    rows = [(row, cells) for row, cells in records[1:] if cells != header]
    runs = len(records) - len(rows)
    _check_rows(file, rows, header, held.endswith("\n"), notes)
    counted = [place for place, name in enumerate(header) if kind(plain(name)[0]) in {*COUNTERS, "value"}]
    for row, cells in rows:
        if any(cells[place][:1].isalpha() for place in counted) and sum(kind(plain(cell)[0]) is not None for cell in cells) > 1:
            raise ValueError(f"{file}, row {row}: a second header, {shortened(repr(mark.join(cells)), 80)}; {_AGAIN}")
    if runs > 1:
        notes.append(f"The header is there {runs} times: the file holds {runs} runs of the tool.")
    table = [(row, dict(zip(header, cells))) for row, cells in rows]
    known = {plain(name)[0] for name in header}
    if known & {"metric", "__name__", "field"} and "value" in known:
        return "a CSV file with a metric in each row", _one_row_a_sample(file, table)
    return ("nvidia-smi --query-gpu" if any("." in name for name in header) else "a CSV file with the names of DCGM"), table


def _check_header(file, row, header):
    """Refuse a header with no counter, and one that names the same thing twice."""
    found = {}
    for name in header:
        held = kind(plain(name)[0])
        if name and name in found.values():
            raise ValueError(f"{file}, row {row}, column {shortened(name, 60)}: there twice; allowed: each once")
        found.setdefault(held, name)
    if not set(found) & {*COUNTERS, "value"}:
        raise ValueError(f"{file}, row {row}: no column of a counter in {shortened(repr(', '.join(header)), 80)}; allowed: such "
                         f"as {', '.join(spelled(name) for name in ACTIVITY)}, as of {_ASK}")


def _check_rows(file, rows, header, ended, notes):
    """Refuse a row with more or fewer cells than the header; a last one that was cut off is left out, with a note."""
    if rows and len(rows[-1][1]) < len(header) and not ended:
        notes.append(f"The last line, row {rows.pop()[0]}, is cut off and was left out.")
    for row, cells in rows:
        if len(cells) != len(header):
            raise ValueError(f"{file}, row {row}: {len(cells)} cells; allowed: {len(header)}, as in the header")


def spelled(name):
    """What the tools call a counter: `utilization.gpu`, `DCGM_FI_PROF_SM_ACTIVE` (1002)."""
    return {"gpu_util": "utilization.gpu", "sm_activity": "DCGM_FI_PROF_SM_ACTIVE (1002)",
            "tensor_activity": "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE (1004)", "dram_activity": "DCGM_FI_PROF_DRAM_ACTIVE (1005)"}[name]


def _columns_of_text(file, lines, ended, notes):
    """What dmon of nvidia-smi or dcgmi prints: columns in spaces below a header that begins with # and comes again."""
    header, units, rows, tool = None, [], [], "nvidia-smi dmon"
    for row, line in enumerate(lines, 1):
        cells = line.lstrip("# ").split() if line.lstrip().startswith("#") else line.split()
        if line.lstrip().startswith("#"):
            if cells and cells[0].lower() in ("entity", "gpu", "time", "yyyymmdd", "date", "timestamp"):
                if cells[0].lower() in ("entity", "gpu", "date", "time") and header not in (None, cells):
                    raise ValueError(f"{file}, row {row}: a second header, {shortened(repr(line.strip()), 80)}; {_AGAIN}")
                if cells[0].lower() != "yyyymmdd":
                    header, tool = cells, "dcgmi dmon" if cells[0].lower() == "entity" else tool
                    continue
            units = cells
        elif header is None or not cells or cells[0].lower() == "id":
            continue
        else:
            if tool == "dcgmi dmon" and len(cells) > 1 and cells[0].upper().startswith("GPU"):
                cells = [" ".join(cells[:2]), *cells[2:]]
            rows.append((row, cells))
    _check_rows(file, rows, header, ended, notes)
    if header is None:
        raise ValueError(f"{file}, row 1: {shortened(repr(lines[0]), 80)} is no header; allowed: what {_ASK} prints")
    named = [f"{name} [{unit}]" if unit.lower() in ("w", "mhz", "mb", "%", "gpm:%") and len(units) == len(header) else name
             for name, unit in zip(header, units if len(units) == len(header) else header)]
    return tool, [(row, _dated(dict(zip(named, cells)))) for row, cells in rows]


def _dated(record):
    """A row of dmon -o DT, whose day and time are two columns, with one time."""
    day, time = (next((name for name in record if plain(name)[0] == wanted), None) for wanted in ("date", "time"))
    return {"timestamp": f"{record.pop(day)} {record.pop(time)}"} | record if day and time else record


def _exposed(file, lines):
    """Metrics in the text form of Prometheus, one scrape after the other; the times are those behind the values."""
    rows = []
    for row, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LABELED.fullmatch(line.strip())
        if not found:
            raise ValueError(f"{file}, row {row}: {shortened(repr(line), 80)}; allowed: a metric such as "
                             'DCGM_FI_DEV_GPU_UTIL{gpu="0"} 98 1795420800000')
        labels = {name.lower(): value for name, value in _LABEL.findall(found[2])}
        if found[4] is None:
            raise ValueError(f"{file}, row {row}: {shortened(repr(line), 80)} has no time; allowed: the time in milliseconds "
                             "behind the value, or a CSV export of Prometheus")
        rows.append((row, labels | {"metric": found[1], "value": found[3], "timestamp": found[4]}))
    return _one_row_a_sample(file, rows)


def _one_row_a_sample(file, table):
    """Rows of one metric each, brought together by GPU and time."""
    held = {}
    for row, record in table:
        named = {kind(plain(name)[0]): cell for name, cell in record.items() if kind(plain(name)[0])}
        if "time" not in named:
            raise ValueError(f"{file}, row {row}: no column of the time; allowed: one called {', '.join(TIMES[:3])}")
        key = named["time"], named.get("host", ""), named.get("gpu", named.get("uuid", ""))
        metric = kind(plain(named.get("metric", ""))[0])
        if metric in COUNTERS or metric == "reasons":
            found = held.setdefault(key, (row, {name: cell for name, cell in record.items() if kind(plain(name)[0]) in (
                "time", "gpu", "uuid", "name", "host", "team")}))[1]
            found[named["metric"]] = named["value"]
    return list(held.values())


# From texts to samples

def _counters(file, tool, table, notes, sample_seconds):
    """The texts of all rows as values in SI units, in the order of time."""
    import pandas
    if not table:
        raise ValueError(f"{file}, row 1: no samples below the header; allowed: at least one")
    columns = {}
    for name in dict.fromkeys(name for _, record in table for name in record):
        columns.setdefault(kind(plain(name)[0]), name)
    if not set(columns) & set(ACTIVITY):
        raise ValueError(f"{file}, row 1: no column says whether a GPU works; allowed: {', '.join(map(spelled, ACTIVITY))}")
    cells, found = Cells(file), {name: [] for name in ("seconds", "gpu", "name", *(each for each in COUNTERS if each in columns))}
    if "reasons" in columns:
        found["slowed"] = []
    if "team" in columns:
        found["team"] = []
    if "time" not in columns and not tool.endswith("dmon"):
        raise ValueError(f"{file}, row 1: no column of the time; allowed: one called {', '.join(TIMES[:3])}, as "
                         "--query-gpu=timestamp gives")
    seen = {}
    units = {counter: plain(columns[counter])[1] for counter in COUNTERS if counter in columns}
    for row, record in table:
        get = {held: record.get(name, "") for held, name in columns.items()}
        gpu = cells.words(row, columns.get("gpu") or columns.get("uuid") or "gpu", _identity(get))
        seen[gpu] = seen.get(gpu, -1) + 1
        found["gpu"].append(gpu)
        found["name"].append("" if is_none(get.get("name", "")) else cells.words(row, columns["name"], get["name"]))
        timed = "time" in columns
        found["seconds"].append(cells.time(row, columns["time"], get["time"]) if timed else seen[gpu] * sample_seconds)
        for counter, unit in units.items():
            found[counter].append(cells.number(row, columns[counter], counter, unit, get[counter]))
        if "team" in found:
            found["team"].append("" if is_none(get["team"]) else cells.words(row, columns["team"], get["team"]))
        if "slowed" in found:
            found["slowed"].append(cells.mask(row, columns["reasons"], get["reasons"]))
    if len(seen) > _MOST_GPUS:
        raise ValueError(f"{file}: {len(seen):,} GPUs; allowed: at most {_MOST_GPUS}")
    frame = pandas.DataFrame(found, index=pandas.Index([row for row, _ in table], name="row"))
    frame["seconds"] = _past_midnight(frame) if "time" in columns and frame["seconds"].max() < _DAY else frame["seconds"]
    return Counters(_checked(file, frame, columns), tool, notes, "time" in columns)


def _identity(get):
    """What a GPU is called: its host and index, else its UUID or bus."""
    number = re.sub(r"^gpu\s*", "", get.get("gpu", ""), flags=re.IGNORECASE)
    own = number if number and not is_none(number) else get.get("uuid", "")
    return "/".join(part for part in (get.get("host", ""), own or "0") if part)


def _past_midnight(frame):
    """Times without a date, with a day more each time that midnight passes."""
    return frame["seconds"] + frame.groupby("gpu")["seconds"].transform(lambda times: (times.diff() < -_DAY / 2).cumsum()) * _DAY


def _checked(file, frame, columns):
    """The samples in the order of time, unless a counter has no number at all or two samples of a GPU are of one time."""
    for counter in [name for name in ACTIVITY if name in frame]:
        if frame[counter].isna().all():
            raise ValueError(f"{file}, rows {frame.index[0]} to {frame.index[-1]}, column {shortened(columns[counter], 60)}: no "
                             "number; allowed: a number in at least one row, or a file without this column")
    twice = frame.duplicated(["gpu", "seconds"])
    if twice.any():
        row = frame.index[twice][0]
        raise ValueError(f"{file}, row {row}: GPU {shortened(frame.at[row, 'gpu'], 60)} has two samples of one time; allowed: "
                         "one, and a column that tells GPUs apart, such as index or uuid")
    return frame.sort_values(["seconds", "gpu"], kind="stable")


# What known loads show in the counters of a GPU: decode, prefill and training, and what a card with a faster limit gains.

# Every peak of a card, for one that computes faster and reads as fast.
_PEAKS = ("peak_flops", "fp8_flops", "fp4_flops", "int8_flops", "tf32_flops", "narrow_flops", "quarter_flops", "integer_flops")


class Load(NamedTuple):
    """A load: its case, the activities as bands (`dram` is None where no formula counts the bytes), and what binds it."""

    name: str
    case: Case
    tensor: Any
    dram: Any
    bound: str
    gain_flops: float
    gain_bandwidth: float


def loads(case: Case, batches: list[int], mfu: float) -> list[Load]:
    """Decode at each batch, a prefill and training at an MFU, on the model and card of the case."""
    found = [_load(f"decode, batch {batch:,}", case.but(batch=batch), ai.decode_seconds, ai.decode_flops, ai.decode_bytes)
             for batch in batches]
    prompt = case.but(batch=1, counted_bytes=float(prefill_bytes(case.but(batch=1))))
    return [*found, _load("prefill of one prompt", prompt, ai.prefill_seconds, ai.prefill_flops, None), _training(case, mfu)]


def prefill_bytes(case: Case) -> float:
    """Bytes that the formula of a prefill counts: the weights once, and what other kernels move for each token."""
    terms = case.terms(ai.prefill_seconds)
    needed = case.explain(ai.prefill_seconds).steps[-1].arguments | terms
    return needed["weight_bytes"] + needed["batch"] * needed["prefilled_tokens"] * needed["token_bytes"]


def _load(name, case, seconds, flops, moved):
    inputs: dict[str, Any] = {"counted_flops": flops, "counted_seconds": seconds} | ({"counted_bytes": moved} if moved else {})
    work = case.but(**inputs)
    band, done = case.band(seconds), work(flops)
    size = work(moved) if moved else work.inputs["counted_bytes"]
    tensor = band.through(lambda time: counters.tensor_activity.formula(done, time, work(shares.product_peak)))
    dram = band.through(lambda time: counters.dram_activity.formula(size, time, work.rows["gpu"].bandwidth))
    return Load(name, work, tensor, dram, bound(case.rows["gpu"], tensor.plan, dram.plan),
                faster(case, seconds, 2, 1), faster(case, seconds, 1, 2))


def _training(case, mfu):
    """Training at an MFU: its tensor activity is that share of the peak, and what recomputing adds is left out."""
    work = case.but(batch=None, counted_flops=mfu * case(shares.product_peak), counted_seconds=1)
    one = work(counters.tensor_activity)
    compute = work(counters.compute_time_share)
    return Load(f"training at {100 * mfu:g} % MFU", work, one, None, bound(case.rows["gpu"], one, 0.0),
                sped_up(compute, 2), float("nan"))


def bound(card: Row, tensor: float, dram: float) -> str:
    """Which limit takes most of the time at these activities: memory, compute or neither."""
    case = Case(card)
    memory = counters.memory_time_share.formula(dram, case(shares.bandwidth_share))
    compute = counters.compute_time_share.formula(tensor, case(shares.product_share))
    least = counters.memory_bound_activity.defaults["bound_share"]
    return "neither" if max(memory, compute) < least else "memory" if memory >= compute else "compute"


def faster(case: Case, seconds: Any, flops: float, bandwidth: float) -> float:
    """Work in the same time on a card with so many times the FLOP/s and the bandwidth, by the formula of the load."""
    card = case.rows["gpu"]
    changed = {name: flops * card[name] for name in _PEAKS if card.get(name) == card.get(name) and name in card}
    other = Row(card | changed | {"bandwidth": bandwidth * card["bandwidth"]}, card.name, card.kind)
    return float(case(seconds) / case.but(gpu=other)(seconds))


def thresholds(gpu: str) -> dict[str, float]:
    """DRAM and tensor activity from which a limit takes most of the time on a card, and the most that either shows."""
    case = Case(catalogue.gpu(gpu))
    return {"dram": case(counters.memory_bound_activity), "tensor": case(counters.compute_bound_activity),
            "most_dram": case(shares.bandwidth_share), "most_tensor": case(shares.product_share)}


# What counters of GPUs say: which limit took the time of each sample, what was paid for nothing, and which card would do.

# Fewer samples than these say nothing; the error of a share is taken from so many blocks of samples in a row.
LEAST_SAMPLES, _BLOCKS = 30, 10
# A step this many times the usual one is a gap.
_GAP = 3
KINDS = ("idle", "memory", "compute", "neither", "unknown")
MEASURED = ("gpu_util", "memory_util", "sm_activity", "sm_occupancy", "tensor_activity", "dram_activity", "board_watts",
            "sm_clock", "used_bytes")


class Report(NamedTuple):
    """A file's `samples` with the kind of each, a row a GPU in `gpus`, the `cards` by GPU, and what the whole file shows."""

    samples: pd.DataFrame
    gpus: pd.DataFrame
    cards: dict[str, Row]
    whole: pd.Series


def cards_of(found: Counters, gpu: str | None) -> dict[str, Row]:
    """The card of each GPU in a file: the one given, else the one that the file names. Raises ValueError where it names none."""
    names = found.samples.groupby("gpu")["name"].agg(lambda held: next(filter(None, held), ""))
    held = {}
    for each, name in names.items():
        sku = gpu or SKUS.get(name) or (name if name in catalogue.gpus().index else None)
        if sku is None:
            said = f"the file calls it {name[:60]!r}" if name else "the file names no card"
            raise ValueError(f"parameter gpu: None, and for GPU {each} {said}; allowed: a row of data/gpus.csv, such as "
                             "'H100 SXM 80GB'")
        held[each] = catalogue.gpu(sku)
    return held


def other_names(found: Counters, cards: dict[str, Row]) -> list[str]:
    """A sentence for each card that the file calls otherwise than the parameter `gpu`: marks are those of the one given."""
    names = found.samples[["gpu", "name"]].drop_duplicates()
    told = {SKUS[one.name]: cards[one.gpu].name for one in names.itertuples(index=False) if one.name in SKUS}
    return [f"The file names {sku}, you gave {given}: the marks and rents here are of {given}."
            for sku, given in told.items() if sku != given]


def report(found: Counters, cards: dict[str, Row], rates: dict[str, float], idle_below: float) -> Report:
    """What a file of counters says of each GPU and of all. `rates`: the rent of an hour by card."""
    samples = pd.concat([_classed(rows, cards[gpu], idle_below) for gpu, rows in found.samples.groupby("gpu")])
    rows = {gpu: _one(held, cards[gpu], rates[str(cards[gpu].name)], found.timed) for gpu, held in samples.groupby("gpu")}
    gpus = pd.DataFrame(list(rows.values()), pd.Index(rows, name="gpu"))
    return Report(samples, gpus, cards, _all(samples, gpus))


def _classed(samples, card, idle_below):
    """The samples of one GPU with the shares of time that each limit takes, and which one took most of it."""
    case = Case(card)
    blank = pd.Series(math.nan, samples.index)
    asked = "dram_activity", "tensor_activity", "sm_activity", "gpu_util"
    dram, tensor, sm, util = (samples.get(name, blank) for name in asked)
    clock = (samples.get("sm_clock", blank) / card.clock).clip(upper=1).fillna(1).where(lambda share: share > 0, 1)
    memory = _known(dram, lambda value: law.memory_time_share.formula(value, case(shares.bandwidth_share)))
    compute = _known(tensor, lambda value: law.compute_time_share.formula(value, case(shares.product_share), clock))
    busy = sm.combine_first(util).combine_first(pd.concat([dram, tensor], axis=1).max(axis=1))
    useful = law.useful_share.formula(memory, compute)
    bound = law.memory_bound_activity.defaults["bound_share"]
    kinds = pd.Series("unknown", samples.index)
    kinds[useful.notna()] = "neither"
    kinds[(memory >= bound) & (memory >= compute.fillna(0))] = "memory"
    kinds[(compute >= bound) & (compute > memory.fillna(0))] = "compute"
    kinds[law.is_idle.formula(busy.fillna(1), idle_below).astype(bool)] = "idle"
    # Idle time is no use of a limit, whatever a refresh of the memory moves.
    useful = useful.combine_first(busy).where(kinds != "idle", 0)
    return samples.assign(memory_time_share=memory, compute_time_share=compute, activity=busy, useful_share=useful.clip(upper=1),
                          kind=kinds)


def _known(column, function):
    return function(column) if column.notna().any() else column


def _one(samples, card, rate, timed):
    """One GPU: how long it was measured, means and quantiles, shares of its time, and dollars."""
    steps = samples["seconds"].diff().dropna()
    usual = float(steps.median()) if len(steps) else 0.0
    gaps = steps[steps > _GAP * usual]
    period = max(float(samples["seconds"].max() - samples["seconds"].min()) + usual, 1.0)
    row = dict(name=card.name, samples=len(samples), step=usual, period=period, gaps=len(gaps),
               missing=float((gaps - usual).sum()), timed=timed)
    for name in (each for each in MEASURED if each in samples):
        quantiles = samples[name].quantile([0.1, 0.5, 0.95])
        row |= {name: samples[name].mean(), f"{name}_p10": quantiles[0.1], f"{name}_p50": quantiles[0.5],
                f"{name}_p95": quantiles[0.95]}
    row |= {f"{kind}_share": float((samples["kind"] == kind).mean()) for kind in KINDS}
    limit = samples["limit_watts"].mean() if "limit_watts" in samples else card.tdp_watts
    paid = law.counted_usd(1, rate, period)
    useful = float(samples["useful_share"].mean()) if samples["useful_share"].notna().any() else math.nan
    watts = row.get("board_watts", math.nan)
    return row | dict(
        limit_watts=limit, power_share=watts / limit, slowed_share=samples["slowed"].mean() if "slowed" in samples else math.nan,
        most_bytes=samples["used_bytes"].max() if "used_bytes" in samples else math.nan, usd_per_hour=rate, paid=paid,
        idle_usd=law.idle_usd(paid, row["idle_share"]), useful=useful,
        unused_usd=law.unused_usd(paid, useful) if useful == useful else math.nan,
        limits_known=bool(samples[["memory_time_share", "compute_time_share"]].notna().all(axis=1).any()), **_verdict(samples))


def _verdict(samples):
    """The kind that most samples are of, the share of it, its error, and whether that is enough to say so."""
    counts = samples["kind"].value_counts(normalize=True)
    kind, share = counts.index[0], float(counts.iloc[0])
    error = block_error((samples["kind"] == kind).astype(float).to_numpy())
    rival = float(counts.iloc[1]) if len(counts) > 1 else 0.0
    sure = len(samples) >= LEAST_SAMPLES and share - rival > 2 * error
    return dict(verdict=kind, verdict_share=share, verdict_error=error, sure=sure)


def block_error(values: Any) -> float:
    """Standard error of a mean of samples that follow each other, from the means of ten blocks in a row (batch means)."""
    if len(values) < 2 * _BLOCKS:
        return math.inf
    size = len(values) // _BLOCKS
    means = [values[start * size:(start + 1) * size].mean() for start in range(_BLOCKS)]
    return float(pd.Series(means).std(ddof=1) / math.sqrt(_BLOCKS))


def _all(samples, gpus):
    """The whole file: time, money, and what a month of the same costs."""
    paid, hours = gpus["paid"].sum(), gpus["period"].sum() / SECONDS_PER_HOUR
    month = len(gpus) * HOURS_PER_MONTH / hours
    weights = gpus["period"] / gpus["period"].sum()
    counts = {f"{kind}_share": float((gpus[f"{kind}_share"] * weights).sum()) for kind in KINDS}
    return pd.Series(counts | dict(
        samples=len(samples), gpus=len(gpus), hours=hours, period=gpus["period"].max(), paid=paid,
        idle_usd=gpus["idle_usd"].sum(),
        unused_usd=gpus["unused_usd"].sum(), idle_month_usd=gpus["idle_usd"].sum() * month,
        unused_month_usd=gpus["unused_usd"].sum() * month, useful=float((gpus["useful"] * weights).sum()),
        limits_known=bool(gpus["limits_known"].all()), gaps=int(gpus["gaps"].sum()),
        missing=float(gpus["missing"].sum())))


def smaller_cards(book: pd.DataFrame, one: Any, card: Row, target: float, term: str) -> pd.DataFrame | None:
    """Cheaper cards of the same maker and kind that would do what a GPU did, each on its cheapest firm rent; None if unknown.

    A card will do if its memory holds the most that was used, and if what benchmarks reach of its peak and of its bandwidth, at
    the utilization aimed at, is at least what 95 of 100 samples needed. `one`: a row of `Report.gpus`.
    """
    if not one["limits_known"] or one["most_bytes"] != one["most_bytes"]:
        return None
    cards = catalogue.gpus()
    # Where the clock is not known, on the sheet or in the file, the activity is taken at the full one.
    share = float(one.get("sm_clock_p95", math.nan) / card.clock)
    clock = min(share, 1) if share > 0 else 1
    flops = law.needed_flops(float(one["tensor_activity_p95"]) * clock, card.peak_flops, target)
    traffic = law.needed_bandwidth(float(one["dram_activity_p95"]), card.bandwidth, target)
    able = (cards["vendor"] == card.vendor) & (cards["kind"] == card["kind"]) & (cards["peak_format"] == card.peak_format)
    able &= cards["memory_bytes"] >= one["most_bytes"]
    able &= cards["peak_flops"] * cards["wide_share"] >= flops
    able &= cards["bandwidth"] * shares.bandwidth_share.formula(cards["memory_share"], cards["inline_ecc"]) >= traffic
    found = rents(book, term=term, per="gpu", required=False)
    found = found[firm(found) & found["gpu"].isin(cards.index[able]) & (found["usd_per_hour"] < one["usd_per_hour"])]
    return found.assign(saved=law.smaller_card_usd_per_month.formula(1, one["usd_per_hour"], found["usd_per_hour"]))


class Fewer(NamedTuple):
    """GPUs of one card that would do the work of all of them: by time, by memory (0: not known), and a month's saving."""

    name: str
    gpus: int
    by_time: int
    by_memory: int
    saved: float

    @property
    def needed(self) -> int:
        return min(max(self.by_time, self.by_memory, 1), self.gpus)


def fewer_gpus(found: Report, target: float) -> list[Fewer]:
    """For each card in the file, how many GPUs would do if jobs moved together; none where the time is not known."""
    held = []
    for name, rows in found.gpus.groupby("name"):
        useful = float(rows["useful"].mean())
        if useful != useful:
            continue
        usable = Case(catalogue.gpu(str(name)))(usable_bytes)
        by_time = int(right_sized_gpus(len(rows), min(useful, 1.0), target))
        memory = rows["most_bytes"].sum() if rows["most_bytes"].notna().all() else 0.0
        one = Fewer(str(name), len(rows), by_time, int(ceil(memory / usable)), 0.0)
        held.append(one._replace(saved=(len(rows) - one.needed) * rows["usd_per_hour"].iloc[0] * HOURS_PER_MONTH))
    return held


# The bill split by teams: by the GPU-hours that are theirs, and by their tokens.

# Whose a GPU is that no team has; the columns of a file of tokens.
NOBODY, _TOKENS = "nobody", ["month", "team", "tokens"]


def team_hours(found: Report, teams: Mapping[str, str] | None) -> pd.DataFrame:
    """Seconds by month, team and card: each sample stands for an equal part of the time in which its GPU was measured. A month is
    blank where the file has no dates. `teams`: whose each GPU is, before what the file says."""
    unknown = [gpu for gpu in teams or {} if gpu not in found.gpus.index]
    if unknown:
        raise ValueError(f"parameter teams: {unknown[0]!r}: no GPU of the file; allowed: {', '.join(found.gpus.index[:8])}")
    samples = found.samples
    owners, named = dict(teams or {}), samples["team"] if "team" in samples else [""] * len(samples)
    team = [owners.get(gpu, said) or NOBODY for gpu, said in zip(samples["gpu"], named)]
    months = pd.to_datetime(samples["seconds"], unit="s").dt.strftime("%Y-%m").where(samples["seconds"] > 1e8, "")
    each = samples["gpu"].map(found.gpus["period"] / found.gpus["samples"])
    frame = DataFrame({"month": months, "team": team, "card": samples["gpu"].map(found.gpus["name"]), "seconds": each})
    return frame.groupby(["month", "team", "card"], as_index=False).sum()


def monthly_rents(hours: pd.DataFrame, term: str, now: Mapping[str, float], books: list[Path]) -> list[float]:
    """The rent of each row of `team_hours`: the cheapest of the newest of the books that was out by the end of its month; that of
    `now` without a month, before the first book, or where the book has none."""
    found = []
    for month, card in hours[["month", "card"]].itertuples(index=False):
        out = [path for path in books if path.stem[:7] <= month]
        priced = rents(price_book.prices(out[-1]), gpu=card, term=term, per="gpu", required=False) if out else ()
        found.append(float(priced["usd_per_hour"].iloc[0]) if len(priced) else now[card])
    return found


def read_tokens(path: str | Path) -> pd.DataFrame:
    """Tokens by month and team, of a CSV or XLSX file with those columns."""
    (file, found), rows = columns_of(path, _TOKENS, f"columns {', '.join(_TOKENS)}"), []
    for row, (month, team, many) in found:
        if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month):
            raise bad(file, row, "month", month, "a month such as 2026-11")
        if not team or hidden(team):
            raise bad(file, row, "team", team, "a name without control and invisible characters")
        if not re.fullmatch(r"\d+(\.\d+)?([eE]\+?\d\d?)?", many) or not 0 < float(many) < 1e18:
            raise bad(file, row, "tokens", many, "a number above 0 such as 3.2e9")
        rows.append((month, shortened(team, 60), float(many)))
    return DataFrame(rows, columns=_TOKENS).groupby(["month", "team"], as_index=False).sum()


def split_bill(hours: pd.DataFrame, rates: list[float], tokens: pd.DataFrame | None) -> pd.DataFrame:
    """What each team is charged in each month: by its GPU-hours, at the rent of their cards, and by its part of the tokens, which
    spreads idle time and what is nobody's over all; and what a million of its tokens costs by its hours."""
    paid = law.counted_usd.formula(1, pd.Series(rates), hours["seconds"])
    priced = hours.assign(gpu_hours=hours["seconds"] / SECONDS_PER_HOUR, by_hours=paid)
    found = priced.groupby(["month", "team"], as_index=False)[["gpu_hours", "by_hours"]].sum()
    if tokens is None:
        return found
    bills, sums = found.groupby("month")["by_hours"].sum(), tokens.groupby("month")["tokens"].sum()
    lacking = [month for month in sums.index if month not in bills.index]
    if lacking:
        known = ", ".join(filter(None, bills.index)) or "none, as the counters have no dates"
        raise ValueError(f"tokens of {lacking[0]}: no counters of that month; allowed: {known}")
    found = found.merge(tokens, "outer", ["month", "team"])
    charged = law.charged_usd.formula(found["month"].map(bills), found["tokens"], found["month"].map(sums))
    found = found.assign(by_tokens=charged).fillna({"gpu_hours": 0, "by_hours": 0})
    return found.assign(per_million=law.charged_usd_per_million.formula(found["by_hours"], found["tokens"]))


def bill_table(split: pd.DataFrame, caption: str) -> Html:
    labels = {"gpu_hours": "GPU-hours", "by_hours": "charged by GPU-hours", "by_tokens": "charged by tokens",
              "per_million": "a million tokens by GPU-hours"}
    formats = {"gpu_hours": three_figures, "tokens": number} | dict.fromkeys(("by_hours", "by_tokens", "per_million"), usd)
    return table(split if (split["month"] != "").all() else split.drop(columns="month"), caption, labels, formats)


# Counters of GPUs as pages show them: what they count, what loads show in them, commands, and a report of a file.

# What a kind of time is called in a table, and the color of its line.
CALLED = {"idle": "idle", "memory": "bound by memory", "compute": "bound by compute", "neither": "busy, bound by neither",
          "unknown": "busy, limit not known"}
NEXT = {"idle": "Give it back, or move other work to it.",
        "memory": "Larger batches or fewer bits per weight help. More FLOP/s do not.",
        "compute": "It earns its price. Only fewer FLOP or a faster card make it quicker.",
        "neither": "The work waits for something else: launches, data or other GPUs.",
        "unknown": "Log DRAM and tensor activity to learn what limits it."}


# Room between a sample and the next command.
_BLANK = "<div>&nbsp;</div>"


def held():
    return read_mapping(DATA / "counters/commands.yaml", lines=True)


# The page that explains

def counters_table():
    """Each counter: its number in DCGM, what it says and what it hides."""
    rows = "\n".join(f"| {markdown(one['name'])} | {one['field']} | {markdown(one['says'])} | {markdown(one['hides'])} |"
                     for one in held()["counters"])
    return Markdown(f"| counter | DCGM field | says | hides |\n|---|---|---|---|\n{rows}")


def clouds():
    """Each cloud: how counters get to its monitoring, what to watch there and what it lacks."""
    return Markdown("\n".join(f"- **{one['where']}.** {one['how']}. Watch {one['watch']}. What is missing: {one['lacks']}."
                              for one in held()["clouds"]))


def commands():
    """Each command with what it gives, and below it a sample of its output that says where it is from."""
    return Markdown("\n".join(
        f"**{markdown(one['do'])}**\n\n```bash\n{one['command']}\n```\n\n{one['gives']}\n\n"
        f"<details><summary>Sample of its output</summary>\n\n<p>{html.escape(one['source'])}:</p>\n\n"
        f"<pre tabindex=\"0\">{html.escape(one['output'].rstrip())}</pre>\n\n</details>\n\n{_BLANK}\n"
        for one in held()["commands"]))


def queries(limits, weeks=1):
    """Queries of Prometheus for idle GPUs, memory-bound ones and dollars: the threshold is the card's."""
    span, idle = f"{7 * weeks}d", is_idle.defaults["idle_below"]
    return Markdown(f"""```text
# GPUs that did next to nothing for a week
avg_over_time(DCGM_FI_PROF_SM_ACTIVE[{span}]) < {idle}
# the share of the week in which memory took most of the time
avg_over_time((DCGM_FI_PROF_DRAM_ACTIVE > bool {limits['dram']:.2f})[{span}:1m])
# the share in which tensor products did
avg_over_time((DCGM_FI_PROF_PIPE_TENSOR_ACTIVE > bool {limits['tensor']:.2f})[{span}:1m])
# GPU-hours of the week in which nothing ran
sum(1 - avg_over_time((DCGM_FI_PROF_SM_ACTIVE > bool {idle})[{span}:1m])) * {7 * HOURS_PER_DAY * weeks}
```""")


def loads_table(found, caption):
    """What loads show, to plan for and with their range, what binds them, and what twice of either limit gains."""
    rows = [dict(load=one.name, dram=_activity(one.dram), tensor=_activity(one.tensor), bound=one.bound,
                 flops=_gain(one.gain_flops), bandwidth=_gain(one.gain_bandwidth)) for one in found]
    return table(DataFrame(rows), caption, labels={
        "load": "load", "dram": "DRAM activity", "tensor": "tensor activity", "bound": "bound by",
        "flops": "twice the FLOP/s", "bandwidth": "twice the bandwidth"})


def _gain(times):
    return "–" if times != times else f"{three_figures(round(times, 2))} times"


def _activity(one):
    """An activity to plan for with its range, or as it was given; a dash where no formula counts it."""
    if one is None:
        return "–"
    if not hasattr(one, "plan"):
        return percent(one)
    return f"{percent(one.plan)} ({percent(one.low)} to {percent(min(one.high, 1))})"


def loads_picture(found, limits, gpu):
    """Two bars for each load, memory and tensor units, with a mark from which the limit takes most of the time."""
    sheet = Sheet(20 + 66 * len(found))
    for place, one in enumerate(found):
        top = 66 * place
        sheet.text(0, top + 16, one.name, bold=True)
        _bar(sheet, top + 24, "memory", one.dram, limits["dram"], "a")
        _bar(sheet, top + 42, "tensor", one.tensor, limits["tensor"], "b")
    sheet.text(0, 66 * len(found) + 14, "Mark: from here on, this limit takes most of the time.", color="soft", size=12)
    said = "; ".join(f"{one.name}: memory {_plain(one.dram)}, tensor {_plain(one.tensor)}" for one in found)
    return sheet.picture(f"What each load shows on {gpu}, where GPU-Util says {percent(1)} for all of them", said)


def _plain(one):
    return "not computed" if one is None else percent(getattr(one, "plan", one))


def _bar(sheet, top, name, one, limit, color):
    left, wide = 58, WIDE - 58 - 62
    sheet.text(0, top + 11, name, color="soft", size=12).box(left, top, wide, 13, "wash", round=2)
    if one is not None:
        sheet.box(left, top, max(wide * getattr(one, "plan", one), 1), 13, color, round=2)
    sheet.box(left + wide * limit - 1.5, top - 2, 3, 17, "ink", round=0)
    sheet.text(WIDE, top + 11, _plain(one) if one is not None else "–", "end", size=12)


# The report of a file

def shares_table(report, caption):
    """Each GPU: samples, how its time was spent, and what the useful part is."""
    rows = [dict(gpu=_short(gpu), card=one["name"], samples=int(one["samples"]), useful=one["useful"])
            | {kind: one[f"{kind}_share"] for kind in CALLED} for gpu, one in report.gpus.iterrows()]
    frame = DataFrame(rows)
    gone = [kind for kind in CALLED if not frame[kind].any()]
    return table(frame.drop(columns=gone), caption, labels={"gpu": "GPU", "useful": "useful", **CALLED},
                 formats=dict.fromkeys([*CALLED, "useful"], percent))


# Counters of a report: what they are called and how they are printed.
_SHOWN = {"gpu_util": ("GPU-Util", percent), "sm_activity": ("SM activity", percent), "sm_occupancy": ("SM occupancy", percent),
          "tensor_activity": ("tensor activity", percent), "dram_activity": ("DRAM activity", percent),
          "board_watts": ("power", in_unit("watt")),
          "sm_clock": ("clock", in_unit("hertz")),
          "used_bytes": ("memory used", gib)}


def quantiles_table(report, caption):
    """Each counter of each GPU: mean, and what 10, 50 and 95 of 100 samples stay below."""
    rows = []
    for gpu, one in report.gpus.iterrows():
        for name, (called, show) in _SHOWN.items():
            if name in one and one[name] == one[name]:
                ends = {"mean": "", "low": "_p10", "middle": "_p50", "high": "_p95"}
                rows.append(dict(gpu=_short(gpu), counter=called) | {
                    column: show(one[f"{name}{end}"]) for column, end in ends.items()})
    return table(DataFrame(rows), caption, labels={"gpu": "GPU", "low": "10 of 100 below", "middle": "half below",
                                                   "high": "95 of 100 below"})


def limits_table(report, caption):
    """For each card of the file, the DRAM and tensor activity from which a limit takes most of the time."""
    rows = [dict(card=name) | thresholds(name) for name in sorted({card.name for card in report.cards.values()})]
    labels = {"dram": "DRAM activity", "tensor": "tensor activity", "most_dram": "DRAM activity that benchmarks reach",
              "most_tensor": "tensor activity that they reach"}
    return table(DataFrame(rows)[["card", *labels]], caption, labels=labels, formats=dict.fromkeys(labels, percent))


def money_table(report, caption):
    """Each GPU: rent, what was paid while it was measured, and what of it bought nothing."""
    rows = [dict(gpu=_short(gpu), card=one["name"], rate=hourly(one["usd_per_hour"]), paid=one["paid"], idle=one["idle_usd"],
                 unused=one["unused_usd"], power=one["power_share"], slowed=one["slowed_share"])
            for gpu, one in report.gpus.iterrows()]
    frame = DataFrame(rows)
    frame = frame.drop(columns=[name for name in ("power", "slowed", "unused") if frame[name].isna().all()])
    return table(frame, caption, labels={
        "gpu": "GPU", "rate": "rent", "paid": "paid", "idle": "of it idle", "unused": "of it not used",
        "power": "power over its limit", "slowed": "clock held back"},
        formats=dict.fromkeys(("paid", "idle", "unused"), dollars) | dict.fromkeys(("power", "slowed"), percent))


def verdicts(report):
    """One sentence for each GPU: what most of its time was, how sure that is, and what follows."""
    return Markdown("\n".join(f"- **GPU {markdown(_short(gpu))}**: {verdict(one)}" for gpu, one in report.gpus.iterrows()))


def verdict(one: Any) -> str:
    """The sentence of one GPU."""
    share = f"{CALLED[one['verdict']]} in {percent(one['verdict_share'])} of {number(one['samples'])} samples"
    if not one["sure"]:
        return f"too few samples to say. It was {share}, which chance alone could turn. Measure for longer."
    error = one["verdict_error"]
    give = "" if error < 0.005 else f", give or take {number(round(200 * error))} points"
    return f"{share}{give}. {NEXT[one['verdict']]}"


def sizing_table(report, found, caption):
    """The cheapest card that would do for each GPU, where the file says enough."""
    rows = []
    for gpu, cards in found.items():
        one = report.gpus.loc[gpu]
        if one["verdict"] == "idle" and one["sure"]:
            month = wasted_usd_per_month(1, one["usd_per_hour"], 1 - one["idle_share"])
            said = dict(to="none: give it back", saved=dollars(month))
        elif cards is None:
            said = dict(to="the file does not say enough", saved="–")
        elif cards.empty:
            said = dict(to="no cheaper one of the book", saved="–")
        else:
            best = cards.iloc[0]
            said = dict(to=f"{best['gpu']} at {hourly(best['usd_per_hour'])}", saved=dollars(best["saved"]))
        used = gib(one["most_bytes"]) if one["most_bytes"] == one["most_bytes"] else "–"
        rows.append(dict(gpu=_short(gpu), card=one["name"], used=used) | said)
    return table(DataFrame(rows), caption, labels={
        "gpu": "GPU", "used": "most memory used", "to": "would do", "saved": "saved a month"})


def time_chart(report, points=60):
    """How the useful share of each GPU went over time, in means of equal spans."""
    from ..components import charts
    held = report.samples.copy()
    held["hours"] = (held["seconds"] - held["seconds"].min()) / SECONDS_PER_HOUR
    width = max(held["hours"].max() / points, 1e-9)
    held["span"] = (held["hours"] // width).clip(upper=points - 1)
    most = list(report.gpus.sort_values("useful", key=nine_digits, kind="stable").index[:8])
    means = held[held["gpu"].isin(most)].groupby(["gpu", "span"], as_index=False)["useful_share"].mean().dropna()
    frame = DataFrame(dict(hours=(means["span"] + 0.5) * width, useful=100 * means["useful_share"],
                           gpu=[f"GPU {_short(each)}" for each in means["gpu"]]))
    worst, best = report.gpus["useful"].idxmin(), report.gpus["useful"].idxmax()
    title = (f"GPU {_short(worst)} was useful {percent(report.gpus.at[worst, 'useful'])} of the time, "
             f"GPU {_short(best)} {percent(report.gpus.at[best, 'useful'])}")
    return charts.lines(frame, "hours", "useful", "gpu", f"{title}.", x_title="hours since the first sample",
                        y_title="useful, percent", title=title)


def _short(gpu):
    """The name of a GPU, short enough for a table: of a long host its first part, else without its middle."""
    host, slash, own = gpu.rpartition("/")
    name = gpu if len(gpu) <= 24 or not slash else f"{host.partition('.')[0]}/{own}"
    return name if len(name) <= 24 else f"{name[:12]}...{name[-9:]}"
