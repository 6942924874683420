"""Measured rows by family and era: how far off the laws were, and how well bands hold for a source that had no part in them."""
import collections
from typing import TYPE_CHECKING

import numpy

from gpucalc.rows import bands
from gpucalc.rows.bands import ERAS, FEWEST_ROWS, FEWEST_SOURCES, era_name
from gpucalc.rows.kept import kept
from gpucalc.rows.tables import rows

if TYPE_CHECKING:
    from pandas import DataFrame

# What writes tokens, as a row's subject or else its source names it; the first that is named counts.
ENGINES = ("vLLM on TPU", "vLLM", "SGLang", "TensorRT-LLM", "NIM", "llama.cpp", "gpt-fast", "ExLlamaV2", "ExLlama", "LitGPT")
# Families in which an engine runs a model.
SERVED = ("decode", "prefill", "serving")


@kept
def published() -> "DataFrame":
    """All measured rows by id: `predicted`, `error`, `ratio` (times and bytes published over predicted), `family`, `era`,
    `publisher`, and `faster`: by how much the row beats its bound (below 0: it is slower), NaN for bytes.

    A row whose law is in no family has that blank.
    """
    import pandas
    roots = [name for name, row in rows("families").items() if not row["part_of"]]
    found = [row for root in [*roots, ""] for row in bands.measured(root)]
    bounds = [bands.bound_value(row["case"], row["law"]) for row in found]
    faster = [numpy.nan if most is None else (row["value"] / most)**-row["power"] - 1 for row, most in zip(found, bounds)]
    return pandas.DataFrame(found).assign(faster=faster).set_index("id").drop(columns=["case", "power"])


@kept
def coverage(family: str, eras: tuple[int | None, ...] = (None,)) -> float:
    """Share of a family's rows inside the band made without their publisher, publishers weighing the same; NaN for too few.

    Rows of some eras, or all; each is held against the band of its own era.
    """
    shares = _inside(family, eras)
    return float(numpy.mean(shares)) if shares else numpy.nan


def covered() -> float:
    """The same for all families together, every publisher of each weighing the same."""
    widest = [name for name, row in rows("families").items() if not row["part_of"]]
    return float(numpy.mean([share for name in widest for share in _inside(name)]))


def _inside(family, eras=(None,)):
    """Of each publisher's rows the share inside the band made without it; empty where too few are left to check."""
    found, inside = _ratios_of(family, eras), collections.defaultdict(list)
    for row in found:
        held = bands.errors(family, row["publisher"], row["year"])
        inside[row["publisher"]].append(bool(held and held.low <= row["ratio"] <= held.high))
    enough = len(found) >= FEWEST_ROWS and len(inside) > FEWEST_SOURCES
    return [float(numpy.mean(each)) for each in inside.values()] if enough else []


@kept
def served() -> "DataFrame":
    """The rows in which an engine runs a model, by id: its `engine` and `version`, the `kind` of model, `bits` of a weight.

    Of engine_speeds.csv a row stands for each time that it has.
    """
    import pandas
    columns = ("id", "family", "value", "predicted", "ratio", "unit", "date")
    found = [_served(row) | {name: row[name] for name in columns}
             for root in SERVED for row in bands.measured(root)]
    found += [_timed(row) | {name: row[name] for name in columns} for root in SERVED for row in bands.speeds(root)]
    return pandas.DataFrame(found).set_index("id")


def _timed(row):
    """The same of a row of engine_speeds.csv."""
    model, stored = rows("models")[row["model"]], rows("formats")[row["weight_format"]]
    named = dict(gpu=row["gpu"], stored=row["weight_format"], engine=row["engine"], version=row["version"], users=row["batch"])
    return named | _kind(model["linear_layers"], model["experts"], stored["weight_element_bytes"])


def _kind(linear_layers, experts, width):
    return dict(kind="hybrid" if linear_layers > 0 else "experts" if experts > 0 else "dense",
                bits=4 if width < 0.8 else 8 if width < 1.5 else 16)


def _served(row):
    """What ran a row, and what it ran."""
    engine = next((name for text in (row["subject"], row["source"]) for name in ENGINES if name.lower() in text.lower()), "")
    version = row["subject"].partition(f"{engine} ")[2].split(",")[0]
    of = {name: bands.value_of(row["case"], name) for name in ("linear_layers", "experts", "weight_element_bytes", "batch")}
    given = row["case"].rows
    named = {name: getattr(given.get(kind), "name", "") for name, kind in (("gpu", "gpu"), ("stored", "weight_format"))}
    version = version if version[:1].isdigit() or "-" in version else ""
    model = _kind(of["linear_layers"], of["experts"], of["weight_element_bytes"] or 2)
    return named | model | dict(engine=engine, version=version, users=of["batch"])


def errors_by(frame: "DataFrame", *columns: str) -> "DataFrame":
    """Groups of served rows, by columns: how many, and the median and percentiles of published over predicted."""
    groups = frame.groupby(list(columns), sort=False)["ratio"]
    return groups.agg(figures="size", median="median", tenth=lambda each: each.quantile(0.1),
                      ninetieth=lambda each: each.quantile(0.9)).reset_index()


def _ratios_of(family, eras):
    return [row for era in eras for row in bands.rows_of(family, era, bands.ratios)]


@kept
def families() -> "DataFrame":
    """All families with rows: rows, sources, median and percentiles of the ratio, median error of formula and plan, coverage, and
    the band that a case gets today, with the family `of` whose it is and its `width`.

    A family stands once as a whole, `years` blank, and once for the rows before the newest era and once for those of it.
    """
    import pandas
    newest, found = len(ERAS), []
    groups = {"": (None,), f"to {ERAS[-1] - 1}": tuple(range(newest)), era_name(newest): (newest,)}
    for family in rows("families"):
        for years, eras in groups.items():
            if held := _ratios_of(family, eras):
                ratios = numpy.array([row["ratio"] for row in held])
                tenth, median, ninetieth = numpy.quantile(ratios, [0.1, 0.5, 0.9])
                near = None if years else bands.errors(family)
                low, plan, high = near[:3] if near else [numpy.nan] * 3
                found.append(dict(family=family, years=years, figures=len(held), publishers=bands.publishers(held), median=median,
                                  tenth=tenth, ninetieth=ninetieth, coverage=coverage(family, eras), low=low, plan=plan,
                                  high=high, off=numpy.median(abs(1 / ratios - 1)), plan_off=numpy.median(abs(plan / ratios - 1)),
                                  width=high / low, of=near.family if near else ""))
    return pandas.DataFrame(found)
