"""Reads a file of GPU counters: of nvidia-smi (CSV or dmon), dcgmi dmon, dcgm-exporter, or a CSV with their names.

Columns may stand in any order, units in the header or in the cells. What no report needs is ignored. Bad input is a ValueError
that names file, row, column, value and what is allowed.
"""
import csv
import io
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpucalc.rows.files import shortened, text
from .counter_cells import COUNTERS, TIMES, Cells, is_none, kind, plain

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_BYTES, _MOST_ROWS, _LONGEST_LINE, _MOST_GPUS = 100_000_000, 1_000_000, 100_000, 256
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
    for row, line in enumerate(lines, 1):
        if len(line) > _LONGEST_LINE:
            raise ValueError(f"{file}, row {row}: {len(line):,} characters; allowed: at most {_LONGEST_LINE:,}")
    first = next(line for line in lines if line.strip()).strip()
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
    head = held.lstrip().partition("\n")[0]
    marks = [mark for mark in (",", ";", "\t") if mark in head]
    if not marks:
        raise ValueError(f"{file}, row 1: {shortened(repr(head), 80)} has no comma; allowed: a header with columns "
                         f"separated by commas, semicolons or tabs, as of {_ASK}")
    mark = max(marks, key=head.count)
    reader, rows, header = csv.reader(io.StringIO(held, newline=""), delimiter=mark, strict=True), [], []
    runs, before = 1, 0
    try:
        for cells in reader:
            row, before = before + 1, reader.line_num
            cells = [cell.strip() for cell in cells]
            if not any(cells):
                continue
            if not header:
                header = cells
                _check_header(file, row, header)
            elif cells == header:
                runs += 1
            else:
                rows.append((row, cells))
    except csv.Error as error:
        raise ValueError(f"{file}, row {before + 1}: {error}; allowed: cells separated by {mark!r}, quoted where "
                         "needed") from None
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
                "time", "gpu", "uuid", "name", "host")}))[1]
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
