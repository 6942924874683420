"""Case files: a job in YAML, checked as a whole, and the lengths of requests from a file of them."""
import csv
import json
import math
import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from ..core.evaluate import Case, close, Row
from ..core.quantities import DOMAINS, QUANTITIES
from .catalogue import FINDERS
from .choices import ANY
from .config import families
from .files import few, is_config, shortened, text
from .mapping import read_mapping
from .names import spelled
from .tables import rows, TABLES


# A file of request lengths, one request a row, as the means and 95th percentiles that a case takes.

# How logs and published traces call the two: Azure's, BurstGPT's, Mooncake's, the OpenAI API's, vLLM's benchmarks.
SPELLINGS = {
    "prompt": ("prompt", "prompt_tokens", "ContextTokens", "Request tokens", "input_length", "input_tokens", "prompt_len"),
    "output": ("output", "output_tokens", "GeneratedTokens", "Response tokens", "output_length", "completion_tokens",
               "output_len"),
}
_MOST_BYTES, _LONGEST = 100_000_000, 10_000_000
_Z = 1.6448536269514722  # of a p95
# The largest p95 over mean that a lognormal has.
MOST_RATIO = math.exp(_Z**2 / 2)


def read_lengths(path):
    """`prompt`, `output`, `prompt_p95` and `output_p95` of a CSV or JSONL file with a request in each row.

    A p95 that no lognormal of that mean has is that of the one with the file's variance. Raises ValueError naming file, row,
    column, value and what is allowed.
    """
    path = Path(path)
    found, file = {name: [] for name in SPELLINGS}, shortened(path.name)
    for row, record in _records(path):
        for name, spellings in SPELLINGS.items():
            column = next((each for each in spellings if each in record), None)
            if column is None:
                raise ValueError(f"{file}, row {row}: no column for {name}; allowed: {', '.join(spellings)}")
            found[name].append(_count("" if record[column] is None else record[column], f"{file}, row {row}, {column}"))
    if not found["prompt"]:
        raise ValueError(f"{file}: no requests; allowed: a request in each row")
    held = {}
    for name, counts in found.items():
        held[name], held[f"{name}_p95"] = _fitted([count for count in counts if count])
    return held


def check_p95(mean, p95):
    """What is wrong with a 95th percentile beside a mean, in words; blank if nothing is."""
    if not p95 or mean <= p95 <= MOST_RATIO * mean:
        return ""
    ends = f"from the mean, {_digits(mean)}, to {MOST_RATIO:.2f} times that, as a lognormal has"
    return f"{_digits(p95)}; allowed: 0 if all are alike, or {ends}"


def _digits(value):
    return f"{value:g}"


def _fitted(counts):
    """Mean and 95th percentile as whole tokens; a blank list, as of answers nobody got, has a single token."""
    mean = sum(counts) / len(counts) if counts else 1
    p95 = sorted(counts)[math.ceil(0.95 * len(counts)) - 1] if counts else 1
    if min(counts, default=1) == max(counts, default=1):
        return round(mean), 0
    if check_p95(round(mean), p95):
        sigma = math.sqrt(math.log(sum(count * count for count in counts) / len(counts) / mean**2))
        p95 = max(round(mean), round(mean * math.exp(min(_Z, sigma) * _Z - min(_Z, sigma)**2 / 2) - 0.5))
    return round(mean), p95


def _records(path):
    lines, file = text(path, _MOST_BYTES).splitlines(), shortened(path.name)
    if path.suffix.lower() == ".csv":
        for row, record in enumerate(csv.DictReader(lines), 2):
            yield row, record
        return
    for row, line in enumerate(lines, 1):
        if line.strip():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                said = "nested too deeply" if isinstance(error, RecursionError) else error
                raise ValueError(f"{file}, row {row}: {said}; allowed: a JSON object in each row, or a .csv") from None
            if not isinstance(record, dict):
                raise ValueError(f"{file}, row {row}: {shortened(line, 60)}; allowed: a JSON object")
            yield row, record


def _count(value, where):
    """A whole number of tokens; texts are read as such."""
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if type(number) is not int or not 0 <= number <= _LONGEST:
        raise ValueError(f"{where}: {shortened(repr(value), 60)}; allowed: a whole number from 0 to {_LONGEST:,}")
    return number


# A case of a job from a file or from the address of a page, with every fault named at once, and back as YAML.

# The shares of cases of which bands are made.
SURE = (0.5, 0.8, 0.9, 0.95)
# Of quantities that ranges.csv leaves out: the sizes outside which whole numbers are no longer exact in a column, and products
# and quotients overflow; what grows or falls with time leaves the numbers of a computer at some ten thousand years.
LEAST, MOST = 1e-18, 1e18
LONGEST = {"year": 100, "month": 1200}
# What the page writes of a model of the reader's own: its row in one text, layers:80,hidden:8192, beside the name of the model.
PACKED = "model_row"
# Rows whose names may be a list.
LISTS = ("cards", "ways")
# What is meant by a name that is another job's.
_MEANT = {"gpu": "cards"}
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
# Texts that YAML reads as they stand, and those of them that it takes for something else.
_PLAIN, _WORDS = re.compile(r"[A-Za-z]([\w .,()/+-]*[\w)])?", re.ASCII), {"null", "true", "false"}


def span(name: str) -> tuple[float, float]:
    """The least and the most that a reader may give of a quantity, by size."""
    given = rows("ranges").get(name)
    return (given["least"], given["most"]) if given else (LEAST, LONGEST.get(QUANTITIES[name].unit, MOST))


def about(name: str) -> dict[str, Any]:
    """What a reader may give of a quantity, as plain data: its ends, None for infinite ones, the least and the most by size."""
    unit, _, meaning, allowed, example = QUANTITIES[name]
    low, _, high, whole = DOMAINS[allowed]
    least, most = span(name)
    return dict(unit=unit, meaning=meaning, allowed=allowed, whole=whole, example=example, low=None if math.isinf(low) else low,
                high=None if math.isinf(high) else high, least=least, most=most if most < high else MOST, sizes=sizes(name))


def fits(quantity: dict[str, Any], value: float) -> bool:
    """Whether a quantity, of which one knows what `about` says, allows a number; its size is for `spanned` to say."""
    low, high = quantity["low"], quantity["high"]
    above = low is None or value >= low and not ("above" in quantity["allowed"] and value == low)
    return math.isfinite(value) and above and (high is None or value <= high) and not (quantity["whole"] and value % 1)


def spanned(quantity: dict[str, Any], value: float) -> bool:
    """Whether a number is 0, or of a size that a reader may give; whatever else the quantity allows is for `fits` to say."""
    return not (abs(value) > quantity["most"] or 0 < abs(value) < quantity["least"])


def sizes(name: str) -> str:
    """What a reader may give of a quantity, in words."""
    low, low_included, *_ = DOMAINS[QUANTITIES[name].allowed]
    ends = [f"{end:,.0f}" if 1 <= end < 1e16 else f"{end:g}" for end in span(name)]
    return (f"{'0, or ' if low < 0 or low_included and not low else ''}from {ends[0]} to {ends[1]}"
            f"{' in size' if low < 0 else ''} {QUANTITIES[name].unit}".rstrip() + f" ({QUANTITIES[name].meaning})")


def read_case(path: str | PathLike) -> Case:
    """The case of a job in a YAML file; a model may be the path of a config.json, or of its folder, as seen from there, and
    `lengths` that of a file of requests, which gives their means and 95th percentiles.

    Raises ValueError with a line for each fault: the file, the name, the value, and what is allowed.
    """
    held = read_mapping(path)
    model = held.get("model")
    beside = Path(path).absolute().parent
    if isinstance(model, str) and is_config(model, beside):
        held["model"] = str(beside / model)
    return case_of(_with_lengths(held, Path(path)), str(path))


def _with_lengths(held, path):
    """The values with those of the file of lengths that they name."""
    name, twice = held.get("lengths"), [each for each in ("prompt", "output", "prompt_p95", "output_p95") if each in held]
    if name is None:
        return held
    if not isinstance(name, str) or twice:
        allowed = f"no {', '.join(twice)} beside it" if twice else "the path of a CSV or JSONL file"
        raise ValueError(f"{shortened(path)}: lengths: {_shown(name)}; allowed: {allowed}")
    try:
        found = read_lengths(path.absolute().parent / name)
    except ValueError as error:
        raise ValueError(f"{shortened(path)}: lengths: {error}") from None
    return {each: value for each, value in held.items() if each != "lengths"} | found


def case_of(held: dict[str, Any], where: str = "") -> Case:
    """The case of a job of plain values by name: numbers in SI units, texts, lists of texts for `cards` and `ways`.

    `where` opens each line of the message. What the job takes where nothing is given is in its row. Raises ValueError with a
    line for each fault.
    """
    held = _spelled(held)
    if isinstance(held, dict) and isinstance(held.get("discount"), dict):
        held = held | {"discount": ", ".join(f"{provider}={share}" for provider, share in held["discount"].items())}
    faults = list(_faults(held))
    if faults:
        raise ValueError("\n".join(few(f"{shortened(where)}: {fault}" if where else fault for fault in faults)))
    found = {name: _found(name, value) for name, value in held.items() if not (PACKED in held and name in ("model", PACKED))}
    if PACKED in held:
        found["model"] = Row({**_unpacked(held[PACKED]), PACKED: held[PACKED]}, held.get("model"), "model")
    job = found.pop("job")
    usual = {"recipe": job.recipe} if job.recipe and "recipe" not in held else {}
    named = {name: value for name, value in found.items() if name in FINDERS}
    return Case(job=job, **named, **usual, **{name: value for name, value in found.items() if name not in FINDERS})


def _spelled(held):
    """The case with names as their rows spell them; a model of its own row, or of a file, keeps its name."""
    job = rows("jobs").get(held.get("job")) if isinstance(held, dict) and isinstance(held.get("job"), str) else None
    if job is None or any(not isinstance(name, str) for name in held):
        return held
    own = {"model": held["model"]} if "model" in held and (PACKED in held or is_config(held["model"])) else {}
    given = {name: ", ".join(value) if name == "cards" and isinstance(value, list) and all(
        isinstance(each, str) for each in value) else value for name, value in held.items()}
    found = spelled(given, [*re.split("[ |]", job["needs"]), *job["takes"].split()]) | own
    return {name: held[name] if name in held and found[name] == given[name] else found[name] for name in found}


def as_yaml(case: Case) -> str:
    """The case as the text of a file that `read_case` takes, without what is the job's own.

    Raises ValueError as `held_of` does.
    """
    return "".join(f"{name}: {_written(value)}\n" for name, value in held_of(case).items())


def held_of(case: Case) -> dict[str, Any]:
    """The names and values of such a file. Raises ValueError for what it does not hold: a case of no job, tables, formulas and
    columns."""
    job = case.rows.get("job")
    if job is None:
        raise ValueError("job: missing; allowed: a case with one")
    lines = {"job": job.name}
    for kind, row in case.rows.items():
        if kind not in FINDERS or not isinstance(row, Row) or row.name is None:
            raise ValueError(f"row {kind}: has no name to write; allowed: rows as they stand in the catalogue")
        if (kind, row.name) != ("recipe", job.recipe):
            lines[kind] = row.get("path", row.name)
        if PACKED in row:
            lines[PACKED] = row[PACKED]
    for name, value in case.inputs.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name}: {shortened(repr(value), 60)}; allowed: a number")
        lines[name] = value
    return lines


def _written(value):
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def _faults(held) -> Iterator[str]:
    if not isinstance(held, dict):
        yield f"{_shown(held)}; allowed: names and values"
        return
    jobs = rows("jobs")
    job = jobs.get(held.get("job")) if isinstance(held.get("job"), str) else None
    if "job" not in held:
        yield f"job: missing; allowed: {', '.join(jobs)}"
    taken = ["job", *re.split("[ |]", job["needs"]), *job["takes"].split()] if job else [*FINDERS, *QUANTITIES]
    allowed = ", ".join(taken) if job else "names of data/jobs.csv"
    for name, value in held.items():
        if name == "rents":
            yield "rents: prices, which a case does not hold; allowed: a file of their own, PRICES=mine.csv"
        elif name == PACKED and "model" in taken:
            yield from _packed_faults(value)
        elif name == "model" and PACKED in held and isinstance(value, str):
            continue
        elif name not in FINDERS and name not in QUANTITIES:
            yield f"{_key(name)}: unknown; allowed: {allowed}{close(_key(name), taken)}"
        elif name not in [*taken, "discount"]:
            yield f"{name}: not for the job {held['job']}; allowed: {allowed}{close(_MEANT.get(name, name), taken)}"
        elif fault := _value_fault(name, value):
            yield f"{name}: {fault}"
    if job:
        yield from (text for _, text in missing(held, job["needs"].split(), job["one_of"].split()))
        yield from (text for _, text in joint_faults(held, job))


def joint_faults(held: dict[str, Any], usual: dict[str, Any]) -> list[tuple[str, str]]:
    """Values that are fine alone: 95th percentiles that no lognormal of the mean has, a limit below it, half of a pair; each
    fault with its name and its words."""
    numbers = {name: value for name, value in held.items() if isinstance(value, int | float) and value > 0}
    found: list[tuple[str, str]] = []
    for name in ("prompt", "output"):
        mean = numbers.get(name, usual.get(name))
        fault = check_p95(mean, numbers.get(f"{name}_p95", 0)) if mean and mean == mean else ""
        if fault:
            found.append((f"{name}_p95", f"{name}_p95: {fault}"))
    if 0 < numbers.get("output_limit", 0) < numbers.get("output", 0):
        allowed = f"0 for no limit, or at least the mean, {held['output']}"
        found.append(("output_limit", f"output_limit: {held['output_limit']}; allowed: {allowed}"))
    for name, other in (("acceptance", "drafted"), ("drafted", "acceptance"), ("own_cards", "usd_per_kwh"),
                        ("own_cards", "gpus_per_server"), ("lora_rank", "max_loras"), ("turns", "first_prompt"),
                        ("first_prompt", "turns"), ("turn_tokens", "turns"), ("think_seconds", "turns"),
                        ("turns", "host_cache_bytes")):
        if other in numbers and name not in held and "gpu" not in held:
            found.append((name, f"{name} ({QUANTITIES[name].meaning}): missing; {other} needs it"))
    cards = str(held.get("cards", ANY))
    if "own_cards" in numbers and (cards == ANY or "," in cards):
        found.append(("cards", f"cards: {cards}; allowed with own_cards: one GPU, the one that you have"))
    return found


def missing(held: dict[str, Any], needs: list[str], one_of: list[str]) -> list[tuple[str, str]]:
    """What the job needs and is not there, and what is there twice in two names; each fault with its name and its words."""
    found: list[tuple[str, str]] = []
    for names in [each.split("|") for each in needs]:
        if not any(name in held for name in names):
            told = " or ".join(f"{name} ({QUANTITIES[name].meaning})" if name in QUANTITIES else name for name in names)
            more = "it" if len(names) == 1 else "one of them"
            found.append((names[0], f"{told}: missing; the job {held['job']} needs {more}"))
    for names in [each.split("|") for each in [*needs, *one_of]]:
        given = [name for name in names if name in held]
        if len(given) > 1:
            found.append((given[1], f"{' and '.join(given)}: both given; allowed: one of them"))
    return found


def _value_fault(name, value):
    """What is wrong with one value; blank if nothing is."""
    if value is None or name in QUANTITIES:
        return number_fault(name, value)
    if name in LISTS and isinstance(value, list) and all(isinstance(each, str) for each in value) and value:
        value = ", ".join(value)
    if not isinstance(value, str):
        return f"{_shown(value)}; allowed: {_allowed(name)}"
    try:
        _row(name, value)
    except ValueError as error:
        return str(error).removeprefix(f"{name}: ")
    return ""


def _unpacked(text):
    """The columns of a model in one text: numbers, and words."""
    parts = (part.split(":", 1) for part in text.split(","))
    return {name.strip(): float(value) if re.fullmatch(_NUMBER, value.strip()) else value.strip() for name, value in parts}


def _packed_faults(text):
    if not isinstance(text, str) or not all(":" in part for part in text.split(",")):
        yield f"{PACKED}: {_shown(text)}; allowed: layers:80,hidden:8192 and so on"
        return
    known = {*TABLES["models"].columns, *(name for rules in families().values() for name in rules)}
    for name, value in _unpacked(text).items():
        if name not in known or (name in QUANTITIES) == isinstance(value, str):
            yield f"{PACKED}, {_key(name)}: {_shown(value)}; allowed: columns of data/models.csv"
        elif name in QUANTITIES and (fault := number_fault(name, value)):
            yield f"{name}: {fault}"


def number_fault(name: str, value: Any) -> str:
    """Why a value is none of the quantity: missing, not a number, one that no computer holds well, or one that it can't have."""
    if value is None:
        return f"blank; allowed: {_allowed(name)}, or no line of that name"
    if name == "sure" and value not in SURE:
        return f"{_shown(value)}; allowed: {', '.join([str(share) for share in SURE])}"
    if isinstance(value, str):
        return f"{_shown(value)}; allowed: {_allowed(name)}, without quotes and without a unit"
    if type(value) is bool or not isinstance(value, int | float) or value != value:
        return f"{_shown(value)}; allowed: {_allowed(name)}"
    if not spanned(about(name), value):
        return f"{_shown(value)}; allowed: {about(name)['sizes']}"
    return "" if fits(about(name), value) else f"{_shown(value)}; allowed: {_allowed(name)}"


def _allowed(name):
    """What a name takes, in words."""
    if name not in QUANTITIES:
        return "text, or a list of texts" if name in LISTS else "text"
    quantity = about(name)
    return f"{quantity['allowed']} {quantity['unit']}".rstrip() + f" ({quantity['meaning']}), such as {quantity['example']:g}"


def _row(name, value):
    """The row of that name; a model from a file remembers its path."""
    row = FINDERS[name](value)
    return Row({**row, "path": value}, row.name, row.kind) if name == "model" and is_config(value) else row


def _found(name, value):
    """A row, or a number: counts as whole ones."""
    if name in QUANTITIES:
        return int(value) if DOMAINS[QUANTITIES[name].allowed][3] else value
    return _row(name, ", ".join(value) if isinstance(value, list) else value)


def _key(name):
    return shortened(name, 60) or "''"


def _shown(value):
    """A value for a message, however long it is."""
    if isinstance(value, int) and abs(value) > MOST:
        return f"a whole number of about {int(math.log10(abs(value))) + 1} digits"
    return shortened(repr(value), 60)
