"""A file of request lengths, one request a row, as the means and 95th percentiles that a case takes."""
import csv
import json
import math
from pathlib import Path

from .files import shortened, text

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
    found = {name: [] for name in SPELLINGS}
    for row, record in _records(path):
        for name, spellings in SPELLINGS.items():
            column = next((each for each in spellings if each in record), None)
            if column is None:
                raise ValueError(f"{_named(path)}, row {row}: no column for {name}; allowed: {', '.join(spellings)}")
            found[name].append(_count("" if record[column] is None else record[column], f"{_named(path)}, row {row}, {column}"))
    if not found["prompt"]:
        raise ValueError(f"{_named(path)}: no requests; allowed: a request in each row")
    held = {}
    for name, counts in found.items():
        held[name], held[f"{name}_p95"] = _fitted([count for count in counts if count])
    return held


def check_p95(mean, p95):
    """What is wrong with a 95th percentile beside a mean, in words; blank if nothing is."""
    if not p95 or mean <= p95 <= MOST_RATIO * mean:
        return ""
    return f"{p95:g}; allowed: 0 if all are alike, or from the mean, {mean:g}, to {MOST_RATIO:.2f} times that, as a lognormal has"


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
    lines = text(path, _MOST_BYTES).splitlines()
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
                raise ValueError(f"{_named(path)}, row {row}: {said}; allowed: a JSON object in each row, or a .csv") from None
            if not isinstance(record, dict):
                raise ValueError(f"{_named(path)}, row {row}: {shortened(line, 60)}; allowed: a JSON object")
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


def _named(path):
    return shortened(path.name)
