"""Every answer is a band: how far off a law was where figures of its family were published, applied to what it gives now.

data/families.csv says which laws are of a family. Each measured row of it gives a ratio, published over predicted, of times,
bytes or costs; rates are turned. The band is where eight in ten of a new source's ratios are to be expected:

- A source is a publisher: a repository with all its files, a paper, a thread. Its rows err alike, so in the median publishers
  weigh the same, and in the percentiles the square root of their rows: between counting publishers, where one row may be a
  tail of its own, and counting rows, where one table drowns all others. Of these three it held nearest to eight in ten.
- A row's residual is how far it is from the median of the other publishers, so that a plan made without it is what is judged.
- A family that counts (`exact`) is planned as it counts: rows of it measure more than the law says, and only the band shows it.
- The band runs from the 10th to the 90th percentile of the residuals, moved outward by the (n + 1) / n of conformal prediction.

Nothing is fitted to the row that is asked for: a case that is a published row goes without the publisher of that row.
"""
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from ..core.arithmetic import maximum, minimum
from ..core.evaluate import FINDERS, Case, is_law
from ..core.law import Law
from ..core.quantities import QUANTITIES
from . import catalogue
from .kept import kept
from .store import stored
from .tables import rows

INSIDE = 0.8
# What is said where a limit, or a rival, lies inside the band.
CLOSE = "too close to call"
# A band needs so many rows and publishers; a part or an era, which can go without, so many that three are left without one.
FEWEST_ROWS, FEWEST_SOURCES, CHECKED_SOURCES = 8, 2, 4
# Years in which an era of software begins: before FlashAttention-2 and paged engines, with them, with training in 8 bits.
ERAS = (2023, 2025)
# Columns of data/engine_speeds.csv that a case is made of but for its users, what else it has, and what was timed.
SPEED = ("model", "gpu", "link", "engine", "weight_format", "mlp_bits", "narrow_products", "cache_element_bytes",
         "tensor_parallel", "attention_parallel", "prompts_apart", "prompt", "output")
SPEED_GIVEN = {"batch": 1, "efficiency": "achieved", "context": {"law": "mean_context"}, "user_requests": 10,
               "running_pass_seconds": {"law": "replica_pass_seconds"}, "reading_load": {"law": "users_reading_load"}}
SPEED_LAWS = ("time_per_output_token", "users_first_token")
# What an engine and the start of experts add, in the median of what was measured: no part of what a card can do at its PEAKS.
ADDED = ("kernel_start_seconds", "expert_start_seconds", "prompt_host_seconds")
PEAKS = {"efficiency": "bound"} | dict.fromkeys(ADDED, 0)
# What a bound leaves out: shares below 1 that a case gives, work that nothing hides, uneven use of GPUs, every latency, and
# prompts of others beside one's own.
HIDDEN = ("overlap", "data_overlap", "tensor_overlap", "exchange_overlap", "expert_overlap", "expert_imbalance")
LATE = ("latency", "base_latency", "switch_latency", "network_latency", "host_seconds", "host_update_seconds",
        "host_activation_seconds", *ADDED, "kernel_seconds", "beside_seconds")
# A token need not wait for a prompt of others: the bound of its time is that of a pass.
UNDISTURBED = {"time_per_output_token": "speculative_seconds"}


class Band(NamedTuple):
    """What a law gives, `value`, and what to plan for: in eight of ten cases the truth is from `low` to `high`.

    `bound` is what nothing beats, None where there is none (bytes). Behind it stand so many `rows` of so many `sources` of a
    `family`; low, plan and high equal the value, and rows is 0, where a law is not checked.
    """

    low: Any
    plan: Any
    high: Any
    value: Any
    bound: Any
    rows: int
    sources: int
    family: str
    unit: str

    @property
    def checked(self) -> bool:
        """Whether published figures stand behind the band."""
        return self.rows > 0

    def through(self, function: Callable[[Any], Any], unit: str = "") -> "Band":
        """The band of what follows from the figure: seconds of a step to hours of a run, tokens a second to GPUs.

        The function only rises or only falls; counts may be rounded up in it.
        """
        low, plan, high, value = map(function, self[:4])
        low, high = (high, low) if numpy.any(low > high) else (low, high)
        return self._replace(low=low, plan=plan, high=high, value=value, unit=unit,
                             bound=None if self.bound is None else function(self.bound))


class Errors(NamedTuple):
    """Published over predicted in a family: the 10th percentile, median and 90th for a new source, and what they are from."""

    low: float
    median: float
    high: float
    rows: int
    sources: int
    family: str
    era: str


def band(case: Case, law: Law, without: str = "", year: int | None = None) -> Band:
    """The law's band for the case, which is at achieved shares as the published rows are; nothing in it beats the bound.
    Columns give columns.

    `without` leaves a source out; `year` asks for the software of that time, else the newest era with enough rows counts.
    """
    value, chosen = case(law), _chosen(case, law, without, year)
    known = dict.fromkeys(each for _, each in chosen if each)
    best, nearer = bound_value(case, law.__name__), maximum if _powers().get(law.__name__, (1, ""))[0] > 0 else minimum
    ends = (value * factor for factor in _factors(law, chosen))
    low, plan, high = ends if best is None or not known else (nearer(end, best) for end in ends)
    return Band(low, plan, high, value, best, sum(each.rows for each in known),
                sum(each.sources for each in known), " and ".join(each.family for each in known), QUANTITIES[law.__name__].unit)


def factors(case: Case, law: Law) -> tuple[Any, Any, Any]:
    """What the law's value is multiplied by for low, plan and high: a search that has the values needs no more."""
    return _factors(law, _chosen(case, law))


def bound(case: Case) -> Case:
    """The case at the peaks of the data sheet, with all that can be hidden hidden and no latency: nothing is faster."""
    given = {name for name, value in case.inputs.items() if not is_law(value)}
    shares = {name: None for name in catalogue.efficiency("bound") if name in given}
    whole = [*HIDDEN, *({"mfu"} & given)]
    return case.but(**shares, efficiency="bound").but(**dict.fromkeys(whole, 1), **dict.fromkeys(LATE, 0))


def errors(family: str, without: str = "", year: int | None = None) -> Errors | None:
    """How far off the family's laws were; None where too few rows are left.

    Where those of an era are too few it is all of the family, then the wider family. The first era counts alone only where its
    years are asked for: its software is in use no more.
    """
    while family:
        row = rows("families")[family]
        if row["differs"]:
            found, further = errors(row["part_of"], without, year), apart(row["differs"])
            return found and found._replace(low=found.low / further, high=found.high * further, family=family)
        for era in [_era(year)] if year else range(len(ERAS), 0, -1):
            if found := errors_of(family, era, without):
                return found
        if found := errors_of(family, None, without):
            return found
        family = row["part_of"]
    return None


def apart(differs: str) -> float:
    """From which ratio on a difference between two predictions is real in eight pairs of ten, by what the two differ in: a card,
    a format, a layout, a batch, an engine or lengths. Errors that both share cancel; data/ratio_errors.csv."""
    return rows("ratio_errors")[differs]["ratio"]


def widest(family: str) -> str:
    """The family that this one is part of, else itself."""
    return rows("families")[family]["part_of"] or family


def publisher(source: str) -> str:
    """Who published: the repository, the thread, or what the source names before a commit, a table or a bracket."""
    first = source.split(" ")[0].rstrip(",;:")
    return first if "/" in first else re.split(r"[;,]| [@(]", source)[0]


def era_name(era: int | None) -> str:
    """The years of an era; blank for all."""
    if era is None:
        return ""
    first, last = ([0, *ERAS][era], [*ERAS, 0][era] - 1)
    return f"since {first}" if last < 0 else f"to {last}" if not first else f"{first} to {last}"


def parts(law: str) -> tuple[int, list[tuple[str, float, str]]]:
    """The power of a law's ratio, 1 of times and -1 of rates, and its families in the order in which they are tried, none if it
    is not checked: each with the quantity that is above so much in it, blank in the last one."""
    power, family = _powers().get(law, (1, ""))
    own = {part: row for part, row in rows("families").items() if family and row["part_of"] == widest(family)}
    rest = next((part for part, row in own.items() if not (row["when"] or row["times"] or row["rates"])), family)
    tried = [(row["when"], row["above"], part) for part, row in own.items() if row["when"]]
    return power, [*tried, ("", 0, rest)] if family else []


@kept
def _powers():
    """Power of the ratio, 1 of times and -1 of rates, and family, by law."""
    return {law: (power, family) for family, row in rows("families").items()
            for column, power in (("times", 1), ("rates", -1)) for law in row[column].split()}


def _families(case, law):
    """Families of the law in the case, each with where in the columns it holds (True for plain numbers)."""
    found, left = [], True
    for when, above, part in parts(law)[1]:
        holds = left & (numpy.asarray(value_of(case, when)) > above) if when else left
        if numpy.any(holds):
            found.append((holds, part))
        left = left & ~holds if when else left
    return found


def value_of(case: Case, name: str) -> Any:
    """The value of a quantity that a case has, else 0."""
    given = case.inputs.get(name, next((row[name] for row in case.rows.values() if name in row), 0))
    return case(given) if is_law(given) else given[name] if isinstance(given, dict) else given


def _chosen(case, law, without="", year=None):
    """The errors that count for the case, None where there are none, each with where in the columns it does."""
    without = without or _own_source(case, law)
    return [(holds, errors(family, without, year)) for holds, family in _families(case, law.__name__)]


def _factors(law, chosen):
    power = _powers().get(law.__name__, (1, ""))[0]
    low, plan, high = (_picked([(holds, each[end]**power if each else 1) for holds, each in chosen]) for end in range(3))
    return (low, plan, high) if power > 0 else (high, plan, low)


def _picked(choices):
    """The factor of each place: 1 without a choice, the one number, or a column where families differ."""
    if len(choices) < 2:
        return choices[0][1] if choices else 1
    return numpy.select(*map(list, zip(*choices)))


def bound_value(case: Case, law: str) -> Any:
    """What nothing beats; None for what is stored or may be hidden whole, and for a law of no family."""
    return None if law not in _powers() or law in LATE or is_stored(law) else bound(case)(UNDISTURBED.get(law, law))


def is_stored(law: str) -> bool:
    """Whether a law is of a family of what is stored, which nothing beats."""
    return QUANTITIES[rows("families")[_powers()[law][1]]["times"].split()[0]].unit == "byte"


def _own_source(case, law):
    """The publisher of the published row that the case is, if it is one; a case of columns is none."""
    if any(getattr(value, "ndim", 0) for value in case.inputs.values()):
        return ""
    held = {kind: getattr(row, "name", None) for kind, row in case.rows.items()}
    return _sources().get(_key(law.__name__, held | case.inputs), "")


@stored
def _sources():
    """The publisher of each measured row by its law and inputs."""
    return {_key(row["law"], json.loads(row["inputs"])): publisher(row["source"])
            for row in rows("measurements").values() if row["kind"] == "measured"}


def _key(law, held):
    plain = {str(name): {"law": value.__name__} if is_law(value) else value for name, value in held.items()}
    return law, repr(sorted((name, str(value) if name in FINDERS else value) for name, value in plain.items()))


def _era(year):
    return sum(year >= first for first in ERAS)


@kept
def measured(root: str) -> list[dict]:
    """The measured rows of a family that is part of none, those of no family if blank, as dicts."""
    found = []
    for name, row in rows("measurements").items():
        power, family = _powers().get(row["law"], (-1 if "/second" in row["unit"] else 1, ""))
        if row["kind"] == "measured" and (family and widest(family)) == root:
            case = Case.of(json.loads(row["inputs"]))
            predicted = float(case(row["law"]))
            if not 0 < predicted < numpy.inf:
                raise ValueError(f"measurements.csv, {name}: {row['law']} gives {predicted}; allowed: a number above 0")
            ratio, error = (row["value"] / predicted)**power, predicted / row["value"] - 1
            found.append({"id": name} | row | dict(
                case=case, power=power, predicted=predicted, error=error, ratio=ratio,
                family=next((part for _, part in _families(case, row["law"])), "")) | _published(row))
    return found


@stored
def ratios(root: str) -> list[dict]:
    """Of the measured rows of such a family, and of the speeds of engines, what its errors follow from."""
    names = ("ratio", "publisher", "era", "year", "family")
    return [{name: row[name] for name in names} for row in [*measured(root), *speeds(root)]]


@kept
def speeds(root: str) -> list[dict]:
    """The rows of data/engine_speeds.csv of such a family as dicts, once for each law that it has a time of."""
    found = []
    for law in (each for each in SPEED_LAWS if root in (widest(part) for *_, part in parts(each)[1])):
        for case, held in speed_cases(law):
            families = _families(case, law)
            for at, (predicted, row) in enumerate(zip(case(law), held)):
                part = next(part for holds, part in families if numpy.all(holds) or holds[at])
                found.append(row | dict(law=law, value=row[law], predicted=float(predicted), ratio=row[law] / float(predicted),
                                        family=part) | _published(row))
    return found


@kept
def speed_cases(law: str) -> list[tuple[Case, list[dict]]]:
    """The rows of data/engine_speeds.csv that have a time of a law, with their `id`: those that differ in numbers alone together,
    as a case with columns."""
    alike: dict[tuple, list] = {}
    for name, row in rows("engine_speeds").items():
        if not numpy.isnan(row[law]):
            same = tuple((each, row[each] if isinstance(row[each], str) else None) for each in SPEED if row[each] not in ("", 0))
            alike.setdefault(same, []).append({"id": name} | row)
    return [(Case.of({each: value for each, value in same if value} | SPEED_GIVEN).but(
        **{each: numpy.array([row[each] for row in held]) for each, value in (*same, ("batch", None)) if value is None}), held)
        for same, held in alike.items()]


def _published(row):
    """Who published a row, and when."""
    year = int(row["date"][:4])
    return dict(year=year, era=_era(year), publisher=publisher(row["source"]))


def rows_of(family: str, era: int | None, source: Callable[[str], list[dict]] = measured) -> list[dict]:
    """Rows of a family with its parts, of one era or all, from `measured` or `ratios`."""
    wider = rows("families")[family]["part_of"]
    return [row for row in source(wider or family)
            if era in (None, row["era"]) and (row["family"] == family or not wider)]


def publishers(held: list[dict]) -> int:
    """How many publishers the rows are from."""
    return len({row["publisher"] for row in held})


@kept
def errors_of(family: str, era: int | None, without: str = "") -> Errors | None:
    """The family's errors of an era without a source, None where too few rows are left."""
    there = rows_of(family, era, ratios)
    left = [row for row in there if row["publisher"] != publisher(without)]
    narrow = era is not None or rows("families")[family]["part_of"]
    if narrow and publishers(there) < CHECKED_SOURCES or len(left) < FEWEST_ROWS or publishers(left) < FEWEST_SOURCES:
        return None
    logs, names = numpy.log([row["ratio"] for row in left]), numpy.array([row["publisher"] for row in left])
    low, median, high = map(float, numpy.exp(_quantiles(logs, names)))
    if rows("families")[family]["exact"] == 1:
        low, median, high = min(low, 1), 1, max(high, 1)
    return Errors(low, median, high, len(left), publishers(left), family, era_name(era))


def _quantiles(logs, sources):
    """Low, median and high of a new source's logarithms, as the text at the top says."""
    _, place, sizes = numpy.unique(sources, return_inverse=True, return_counts=True)
    equal, weights, middle = 1 / sizes[place], sizes[place]**-0.5, numpy.empty(len(logs))
    for source in range(len(sizes)):
        own = place == source
        middle[own] = _quantile(logs[~own], equal[~own], 0.5)
    upper = min((1 + INSIDE) / 2 * (1 + 1 / len(logs)), 1)
    median, residuals = _quantile(logs, equal, 0.5), logs - middle
    low, high = (_quantile(residuals, weights, share) for share in (1 - upper, upper))
    return median + min(low, 0), median, median + max(high, 0)


def _quantile(values, weights, share):
    """The quantile of weighted values, between the middles of their weights."""
    order = numpy.argsort(values, kind="stable")
    middles = (numpy.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    return numpy.interp(share, middles, values[order])
