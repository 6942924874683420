"""What counters of GPUs say: which limit took the time of each sample, what was paid for nothing, and which card would do."""
import math
from typing import Any, NamedTuple

import pandas as pd

from gpucalc.core.arithmetic import HOURS_PER_MONTH, SECONDS_PER_HOUR, ceil
from gpucalc.core.evaluate import Case, Row
from gpucalc.laws import counters as law, shares
from gpucalc.laws.sharing import right_sized_gpus
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.rents import rents
from .counters_rows import Counters
from .own import SKUS

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
