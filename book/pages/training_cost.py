"""What a run costs: every offer with its layout, how likely it is in time, failures, spares and electricity."""
import itertools
import math
from statistics import NormalDist
from typing import Any, NamedTuple

import altair
import numpy as np
import pandas as pd
from pandas import DataFrame

from gpucalc.core.arithmetic import HOURS_PER_DAY, SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import chance, days, dollars, hourly, number, percent, quantity, three_figures
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions import rule
from gpucalc.decisions.answer import completed, judged
from gpucalc.decisions.columns import count, joined, known, nine_digits
from gpucalc.decisions.jobs import DOUBTS, LAYOUT, RUN, USUAL_TERM
from gpucalc.decisions.layouts import layout_name, pareto_front
from gpucalc.decisions.market import forbidden, market, SERVER, TERMS
from gpucalc.decisions.points import ENDS, Points, SURE
from gpucalc.decisions.run_speeds import mfu_by_chip, mfu_ends, planned_mfu
from gpucalc.laws import training_cost as tc
from gpucalc.laws.energy import run_carbon, run_kwh
from gpucalc.laws.goodput import goodput, job_failure_seconds, machines_in_repair, recovery_seconds, spare_machines
from gpucalc.laws.owning import watts_per_gpu
from gpucalc.laws.renting import checkpoint_interval, interruption_slowdown, lost_seconds
from gpucalc.laws.training_cost import compute_usd, planned_gpu_hours, training_days, training_flops
from gpucalc.rows import catalogue
from gpucalc.rows.bands import CLOSE, INSIDE
from gpucalc.rows.choices import ANY
from gpucalc.rows.price_book import RESERVED_YEARS
from gpucalc.rows.rents import rents
from ..components.charts import axis, finish, slider_chart
from ..components.dates import by_price
from ..components.picture import Sheet, WIDE
from ..components.show import familiar, table
from ..prices.book_diff import NOT_STATED


# The runs of a training job on every offer of a price book, as a table: the choices of the decision on training runs.
#
# The layouts of each number of machines are searched once; prices join them. Days and USD are what to plan for: half of such
# runs keep them. The share `sure` keeps those of the columns `sure_`; eight in ten lie between those of `low_` and `high_`.

# Columns of a run to plan for; with the word of its end before the names elsewhere.
BANDS = {"gpu_hours": "run_gpu_hours", "training_days": "training_days", "compute_usd": "compute_usd"}
_SHORT = {"gpu_hours": "hours", "training_days": "days", "compute_usd": "usd"}
_OFFER = ["row", "provider", "sku", "gpu", "gpus_per_server", "region", "term", "usd_per_hour", "date", "doubt", "kind"]
_FOUND = [*_OFFER[:-1], "gpus", "machines", "layout", "training_bytes", "interruption_slowdown", "layout_gpu_hours", "excess"]
# Offers in doubt are priced too.
_PRICED = RUN._replace(limits=tuple(limit for limit in RUN.limits if not limit.early),
                       shown=(*RUN.shown, "layout_gpu_hours", "planned_gpu_hours", "adapters"))


class Search(NamedTuple):
    """What a case of training is decided by: the tables of the market, in which the offers are those in each number of machines
    with the best layout there; and, with the `reason`, the offers and numbers of machines that have none."""

    case: Case
    tables: dict
    lost: pd.DataFrame

    @property
    def sure(self) -> float:
        """The share of cases in which the limits must hold."""
        return float(rule.value_of(self.case, "sure"))


def searched(case: Case, book: pd.DataFrame, **networks: str | None) -> Search:
    """The search over layouts for a case, on up to its number of GPUs; a GPU of the case is the only one that is wanted.

    Offers on every term are there, but where the case names none, those on demand decide. networks: `network` between machines of
    8 GPUs or more, `small_network` between smaller ones. Raises ValueError where the book has no offer that is wanted.
    """
    asked = case.rows.get("term") is not None
    wanted = case.but(gpu=None, cards=case.rows["gpu"].name) if "gpu" in case.rows else case
    whole = completed(wanted if "job" in wanted.rows else wanted.but(job="pretrain"))
    tables = market(whole if asked else whole.but(term=ANY), book, "train", **networks)
    offers, priced = tables["offers"], book.loc[tables["offers"]["row"]]
    if not asked:
        offers = offers | {"doubtful_term": np.maximum(offers["doubtful_term"], offers["term"] != USUAL_TERM)}
    offers = offers | dict(sku=priced["sku"].to_numpy(object), doubt=doubts(offers, priced["confidence"].to_numpy()))
    found = rule.solve((LAYOUT,), whole, tables, ends=("plan",))["plan"]
    runs = joined(_named(found.kept, whole), offers, "kind")
    return Search(whole, tables | {"offers": runs}, _unfit(found.lost[0], offers))


def _named(layouts, case):
    held = case.but(**known(layouts), **LAYOUT.given)
    whole = layouts | {name: np.broadcast_to(held(LAWS[law]), count(layouts)) for name, law in LAYOUT.given.items()}
    shown = pd.DataFrame({name: whole[name] for name in (*LAYOUT.axes, *LAYOUT.given)}).assign(virtual_stages=1)
    return layouts | {"layout": np.array([layout_name(row) for row in shown.to_dict("records")], object)}


def _unfit(lost, offers):
    """The offers in numbers of machines on which no layout keeps the limits, each with the one that the nearest breaks."""
    table = pd.DataFrame(lost)[["kind", "gpus", "machines", "broken", "excess"]]
    said = [unfit(LAYOUT.limits[int(broken)], row) for broken, row in zip(table["broken"], _rows(lost))]
    return pd.DataFrame(offers)[_OFFER].merge(table.rename(columns={"broken": "reached"}).assign(reason=said), on="kind")


def _rows(table):
    return [{name: column[place] for name, column in table.items()} for place in range(count(table))]


def decided(search: Search, **changes: Any) -> pd.DataFrame:
    """The run on every offer and number of machines, with `changes` of the case, as a row each.

    `reason` says why one does not run, `missed` which limit it is too likely to miss, `doubt` why its offer is not taken, and
    `verdict` the first of them. `in_time` and `in_budget` are how likely it keeps the deadline and the budget.
    """
    case = search.case.but(**changes)
    points = Points(_PRICED, case, search.tables, {})
    far = ENDS | {SURE: judged(case)}
    ends = {end: points.chosen(each, far) for end, each in far.items()}
    plan = ends["plan"]
    shares = dict(low=(1 - INSIDE) / 2, high=(1 + INSIDE) / 2, plan=0.5) | {SURE: float(rule.value_of(case, "sure"))}
    within = {share: ends[end] for end, share in shares.items()}
    frame = pd.DataFrame({name: plan[name] for name in _FOUND} | {name: plan[law] for name, law in BANDS.items()} | {
        f"{end}_{short}": ends[end][BANDS[name]] for end in ("low", SURE, "high") for name, short in _SHORT.items()} | {
        name: share_below(rule.value_of(case, limit.most), {share: table[limit.of] for share, table in within.items()})
        for name, limit in zip(("in_time", "in_budget"), _PRICED.limits)})
    missed = np.array([f"too likely to miss {limit.reason}" for limit in _PRICED.limits] + [""])[plan["broken"].astype(int)]
    mfu = plan.get("mfu", case.inputs.get("mfu")) * plan["planned_gpu_hours"] * (1 - plan["adapters"] / 3)
    frame = frame.assign(reason="", missed=missed, reached=len(LAYOUT.limits) + plan["broken"], mfu=mfu / plan["run_gpu_hours"],
                         layout_gpu_hours=plan["layout_gpu_hours"])
    frame = pd.concat([frame, search.lost.drop(columns="kind")], ignore_index=True).fillna(
        dict.fromkeys([*BANDS, *(name for name in frame if name.startswith(("low_", "sure_", "high_")))], math.inf)
        | dict(missed="", in_time=0.0, in_budget=0.0))
    verdict = frame["reason"].where(frame["reason"] != "", frame["missed"])
    whole = {name: frame[name].astype(int) for name in ("gpus", "machines", "gpus_per_server")}
    return _placed(frame.assign(verdict=verdict.where(verdict != "", frame["doubt"]), **whole).infer_objects())


def _placed(frame):
    """The runs in the order of the rule: by how many limits they keep, by how much they miss the next, then the cheapest."""
    keys = dict(far=-frame["reached"], unsure=frame["doubt"] != "")
    order = ["far", "excess", "unsure", "compute_usd", "high_usd", "training_days", "gpus", "row"]
    return frame.assign(**keys).sort_values(order, key=nine_digits, kind="stable").drop(columns=list(keys)).reset_index(drop=True)


def ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """The first run of each rent of a frame of `decided`."""
    return frame.drop_duplicates("row").reset_index(drop=True)


def recommended(frame: pd.DataFrame) -> Any:
    """The cheapest run with nothing against it, of equals the soonest; None if there is none."""
    return _first(frame[frame["verdict"] == ""])


def nearest(frame: pd.DataFrame) -> Any:
    """What comes closest: the recommended run, else the first whose offer may be taken, else the first."""
    return _first(pd.concat([frame[frame["verdict"] == ""], frame[frame["doubt"] == ""], frame]))


def _first(frame):
    return None if frame.empty else frame.iloc[0]


def tied(frame: pd.DataFrame, best: Any) -> list[str]:
    """Other GPUs than that of the `best` run that may cost less: those with a run that holds and costs less at its low end than
    the best at its high end. On one GPU all runs share the error of its speed, and the rents decide."""
    rivals = frame[(frame["verdict"] == "") & (frame["gpu"] != best.gpu)]
    return rivals[rivals["low_usd"] < best.high_usd]["gpu"].unique().tolist()


def doubtful(frame: pd.DataFrame, best: Any) -> Any:
    """The cheapest other run that only its offer keeps from being recommended, on spot at a firm price if there is one, if it
    costs less than the best one or that one has something against it; else None."""
    other = frame[(frame["reason"] == "") & (frame["missed"] == "") & (frame["doubt"] != "") & (frame["row"] != best.row)]
    first = _first(pd.concat([other[other["doubt"] == TAKEN_BACK], other]))
    return first if first is not None and (best.verdict or first.compute_usd < best.compute_usd) else None


def offer(row: Any) -> str:
    """A run's machines, seller, term and rate in words."""
    seller = "your provider" if row.provider == NOT_STATED else row.provider
    return f"{row.gpus:,} × {row.gpu} at {seller} ({row.term}, {hourly(row.usd_per_hour)} a GPU)"


def outcome(row: Any, sure: float = INSIDE) -> str:
    """A run's days and cost in words: the plan, which half of such runs keep, and what the share `sure` of them keeps."""
    return (f"{days(row.training_days)} and {dollars(row.compute_usd)} "
            f"({percent(sure)} of such runs: at most {days(row.sure_days)} and {dollars(row.sure_usd)})")


def odds(row: Any) -> str:
    """How likely a run keeps its deadline, and its budget where that is less likely, in words."""
    dear = f", and {chance(row.in_budget)} within the budget" if row.in_budget < row.in_time else ""
    said = f"{chance(row.in_time)} of such runs are in time{dear}"
    return said[0].upper() + said[1:]


def assurance(frame: pd.DataFrame, best: Any) -> str:
    """How likely the best run holds, what is tied with it, and one caveat: what it costs on spot, or a cheaper offer in doubt."""
    rivals, other = tied(frame, best), doubtful(frame, best)
    several = f"one of {len(rivals)} other GPUs"
    named = " or ".join(filter(None, [", ".join(rivals[:-1]), *rivals[-1:]])) if len(rivals) < 4 else several
    caveat = f". Whether a run on {named} costs less is {CLOSE}." if rivals else "."
    if other is not None and other.doubt == TAKEN_BACK:
        caveat += (f" On spot, where {TAKEN_BACK}, plan for {dollars(other.compute_usd)}, if you get {other.gpus:,} × "
                   f"{other.gpu} at once from {other.provider}.")
    elif other is not None:
        asked = f"{'from' if other.doubt == PRICES['floor'] else 'at'} {hourly(other.usd_per_hour)}"
        caveat += f" {other.provider} lists {other.term} {other.gpu} {asked} ({other.doubt}): check it first."
    return f"{odds(best)}{caveat}"


def behind(book: pd.DataFrame, runs: Any) -> pd.DataFrame:
    return book.loc[np.unique(np.atleast_1d(runs["row"]))]


def by_deadline(search: Search, deadlines: Any) -> pd.DataFrame:
    """What is recommended at each deadline (days): the offer in words, its days and its cost."""
    found = {each: recommended(decided(search, deadline_days=each)) for each in deadlines}
    rows = [dict(deadline_days=each, recommended="none", training_days=None, compute_usd=None) if row is None else dict(
        deadline_days=each, recommended=offer(row), training_days=row.training_days, compute_usd=row.compute_usd)
        for each, row in found.items()]
    return pd.DataFrame(rows)


def by_interruption(search: Search, hours: Any) -> pd.DataFrame:
    """The cheapest spot in time if a machine stays for so many `hours`, its slowdown and cost; and the cheapest term."""
    none, rows = "none in the book", []
    for each in hours:
        tried = decided(search, machine_interruption_seconds=float(each * SECONDS_PER_HOUR))
        spots = _spots(tried)
        spot, other = recommended(spots), recommended(tried)
        best = min((run for run in (spot, other) if run is not None), key=lambda run: run.compute_usd, default=None)
        none = "none in time" if len(spots) else none
        held = {} if spot is None else spot[["interruption_slowdown", "compute_usd"]].to_dict()
        rows.append(dict(hours=each, spot=none if spot is None else offer(spot), interruption_slowdown=None, compute_usd=None)
                    | held | dict(recommended="none" if best is None else best.term))
    return pd.DataFrame(rows)


def _spots(frame):
    """The runs on spot, also where only what is on demand is taken."""
    spots = frame[frame["term"] == "spot"]
    return spots.assign(verdict=spots["verdict"].where(spots["verdict"] != TAKEN_BACK, ""))


def drawn(frame: pd.DataFrame, deadline_days: float, usd: float) -> pd.DataFrame:
    """The runs that a chart shows: the cheapest on each GPU, term and number, within ten deadlines and thirty `usd`."""
    able = _able(frame).sort_values(["compute_usd", "row"], key=nine_digits)
    able = able.drop_duplicates(["gpu", "term", "gpus"])
    return able[(able["training_days"] < 10 * deadline_days) & (able["compute_usd"] < 30 * usd)]


def cheapest_flops(book: pd.DataFrame) -> pd.DataFrame:
    """The cheapest on-demand server of 8 GPUs or more of each GPU that has BF16, the cheapest FLOP of the peak first."""
    found = rents(book, term="on-demand", at_least=SERVER, per="gpu", required=False)
    cards = catalogue.gpus()
    found = found[found["gpu"].map(cards["peak_format"]) == "BF16"]
    each = found["usd_per_hour"] / found["gpu"].map(cards["peak_flops"])
    return found.loc[each.sort_values(kind="stable").index]


def front(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that no other beats in USD or days without losing in the other, of offers that may be taken."""
    return pareto_front(_able(frame), "compute_usd", "training_days")


def _able(frame):
    """The runs that run and whose offer may be taken; of a frame without one all that run."""
    runs = frame[frame["reason"] == ""]
    return runs[(runs["doubt"] == "") | (runs["doubt"] != "").all()]


# How likely a run keeps a limit, what is against a run or its rent in words, and errors that know nothing of each other.

# What keeps a price from being firm.
PRICES = {"floor": "a floor price", "secondary": "a price at second hand", "recalled": "a price from memory"}
# Why a term is not taken where the case names none.
TAKEN_BACK, _BINDS = "machines may be taken back", "binds for longer than the run"
_UNASKED = TERMS | {"spot": TAKEN_BACK} | dict.fromkeys(RESERVED_YEARS, _BINDS)
_NORMAL = NormalDist()
_CHANCE = np.vectorize(_NORMAL.cdf, otypes=[float])


def doubts(runs, confidence):
    """What keeps each of the offers of runs, columns, from being taken, in words; empty for one that may be.

    confidence: that of each price.
    """
    words = {"doubtful_price": pd.Series(confidence).map(PRICES), "doubtful_term": pd.Series(runs["term"]).map(_UNASKED)}
    said = [words[each.of].fillna(each.reason) if each.of in words else each.reason for each in DOUBTS]
    return np.select([runs[each.of] > 0 for each in DOUBTS], said, "")


def unfit(limit, row):
    """Why there is no layout, from the limit that the best one breaks and its columns."""
    if not limit.at:
        return limit.reason
    needed, room = (number(value, QUANTITIES[limit.of].unit) for value in (row[limit.column], row[limit.most]))
    return f"{limit.reason}: up to {needed} on a GPU of {room}"


def share_below(limit, values):
    """How likely a figure stays within a limit, from its `values` at shares of cases that it stays below; 0 where it is infinite.

    Between them and beyond, it is log-normal.
    """
    steps = None
    with np.errstate(invalid="ignore", divide="ignore"):
        for share, after in itertools.pairwise(sorted(values)):
            far, wide = np.log(limit / values[share]), np.log(values[after] / values[share])
            from_here, to_there = _NORMAL.inv_cdf(share), _NORMAL.inv_cdf(after)
            here = np.where(wide > 0, from_here + far / wide * (to_there - from_here), np.where(far >= 0, np.inf, -np.inf))
            steps = here if steps is None else np.where(far >= 0, here, steps)
    return _CHANCE(np.nan_to_num(steps, nan=-np.inf))


def joint(*ratios):
    """The ratio that independent errors make together, all above 1 or all below, columns; 1 where there is no run."""
    with np.errstate(invalid="ignore"):
        logs = [np.log(each) for each in ratios]
        return np.exp(np.sqrt(sum(each**2 for each in logs)) * np.sign(sum(logs))).fillna(1)


# What a run takes beside its work: failures by the size of the job, spares against waiting, electricity and carbon.

ASSUMED_ENDS = ("low", "likely", "high")


def by_size(gpus, gpus_per_server=8, checkpoint_seconds=None, restart_seconds=None, gpu_failure_seconds=None):
    """What failures take of jobs on so many GPUs, a row each: the time between two, the goodput and its ends with a spare at
    hand, and waiting for a repair; spares, and the bill over that of the work, `spared` with them and `waiting` without."""
    assumed, sizes = catalogue.assumptions(), pd.Series(gpus, name="gpus")
    repair = assumed.loc["replacement_seconds", "likely"]
    saving = catalogue.assumed("checkpoint_seconds", checkpoint_seconds)
    restarting = catalogue.assumed("restart_seconds", restart_seconds)
    apart = {end: job_failure_seconds(gpu_failure_seconds or assumed.loc["gpu_failure_seconds", end], sizes)
             for end in ASSUMED_ENDS}

    def share(end, wait=0):
        job = Case(checkpoint_seconds=saving, interruption_seconds=apart[end],
                   restart_seconds=recovery_seconds(restarting, wait))
        with np.errstate(over="ignore"):
            return goodput(job(interruption_slowdown))

    kept, waited = share("likely"), share("likely", repair)
    spares = spare_machines(machines_in_repair(repair, apart["likely"]))
    return pd.DataFrame(dict(gpus=sizes, job_failure_seconds=apart["likely"], goodput=kept, low=share("low"), high=share("high"),
                             waiting_goodput=waited, spare_machines=spares,
                             spared=(1 + spares * gpus_per_server / sizes) / kept, waiting=1 / waited))


def energy_of(row):
    """The electricity of a priced run (kWh), `plan`, `low` and `high`: its hours, the server's power, the site's overhead.

    The three errors know nothing of each other. NaN where the power of the card is not known.
    """
    assumed, tdp = catalogue.assumptions(), catalogue.gpu(row.gpu)["tdp_watts"]
    hours = pd.Series([row.low_days, row.training_days, row.high_days], ASSUMED_ENDS) * HOURS_PER_DAY * row.gpus
    power, over = assumed.loc["server_power_factor"], assumed.loc["pue"]
    plan = np.nan if np.isnan(tdp) else run_kwh(hours["likely"], watts_per_gpu(tdp, power["likely"]), over["likely"])
    return with_ends(plan, hours, power, over)


def with_ends(plan, *factors):
    """A figure with the ends that independent factors of it make together, each known as low, likely and high."""
    low, high = (plan * float(joint(*(pd.Series([each[end] / each["likely"]]) for each in factors)).iloc[0])
                 for end in ("low", "high"))
    return dict(low=low, plan=plan, high=high)


def carbon_of(energy):
    """The carbon of a run's electricity, a row for each end of the range of grids: `grid`, `carbon_intensity`, `run_carbon`.

    That of unknown electricity is NaN.
    """
    grids = catalogue.assumptions().loc["carbon_intensity", list(ASSUMED_ENDS)].astype(float)
    return pd.DataFrame(dict(grid=["cleanest of the range", "likely", "dirtiest of the range"], carbon_intensity=grids.to_numpy(),
                             run_carbon=run_carbon.formula(energy["plan"], grids.to_numpy())))


# How pages show the offers for a training run: tables of runs, and cost against days.

LABELS = {"taken": "GPUs", "seller": "from", "sku": "instance", "machines": "instances", "layout": "fastest layout",
          "mfu": "MFU", "gpu_hours": "GPU-hours of the run", "training_days": "days", "compute_usd": "cost",
          "verdict": "against it", "usd_per_hour": "USD/h a GPU", "date": "price of", "deadline_days": "deadline, days",
          "interruption_slowdown": "slowdown", "in_time": "in time", "in_budget": "in the budget",
          "days_between": "8 in 10 between, days", "usd_between": "8 in 10 between, USD"}
FORMATS = {"mfu": percent, "gpu_hours": "{:,.0f}".format, "training_days": "{:,.3g}".format, "compute_usd": dollars,
           "usd_per_hour": "{:.2f}".format, "deadline_days": "{:,.3g}".format, "interruption_slowdown": "{:.2f}".format,
           "in_time": chance, "in_budget": chance}
RANGES = {"days_between": ("low_days", "high_days"), "usd_between": ("low_usd", "high_usd")}
CARDS = ["A100 SXM 80GB", "H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB", "GB200 NVL72 186GB", "MI300X 192GB",
         "MI355X 288GB", "TPU v5p 95GB"]
POINT = ["gpu", "provider", "term", "gpus", "training_days", "compute_usd"]


def runs_table(frame, columns, caption, labels=None):
    """Runs of a `Search` with the columns to show; in words: `taken`, the GPUs with a mark on consumer
    cards, `seller`, who rents them out, and the bands `days_between` and `usd_between`.

    A run that is not possible has no days and no cost.
    """
    frame = by_price(frame)
    if "taken" in columns:
        marks = frame["gpu"].map(forbidden(catalogue.gpus())).map({True: ", consumer card", False: ""})
        frame = frame.assign(taken=[f"{count:,} × {gpu}{mark}" for count, gpu, mark in zip(frame["gpus"], frame["gpu"], marks)],
                             seller=frame["provider"] + ", " + frame["term"])
    for name, ends in RANGES.items():
        if name in columns:
            frame = frame.assign(**{name: [between(row[ends[0]], row[ends[1]]) for row in frame.to_dict("records")]})
    shown = frame[list(columns)].astype(object)
    empty = dict.fromkeys(("training_days", "compute_usd", "in_time", "in_budget"))
    lost = frame.filter(["training_days", "compute_usd"]).eq(math.inf).any(axis=1)
    shown = shown.mask(lost, shown.assign(**empty)[list(columns)])
    return table(shown, caption, labels=LABELS | (labels or {}), formats=FORMATS)


def mfu_table(caption):
    """What published runs and steps reached of the peak on the cards that readers meet, and what a run is planned with."""
    plan, rows = planned_mfu(), []
    for gpu in CARDS:
        held = mfu_by_chip().reindex([plan.at[gpu, "chip"]]).iloc[0]
        steps, narrow = (f"{percent(held[f'{name}_median'])}, {held[f'{name}_count']:.0f} of {held[f'{name}_sources']:.0f}"
                         if held[f"{name}_count"] > 0 else None for name in ("steps", "narrow"))
        runs = dict.fromkeys(("median", "reached", "runs", "years")) if not held["runs"] > 0 else dict(
            median=held["median"], reached=f"{percent(held['least'])} to {percent(held['most'])}",
            runs=f"{held['runs']:.0f} of {held['sources']:.0f}", years=f"{held['first']:.0f} to {held['last']:.0f}")
        rows.append(dict(gpu=gpu, plan=plan.at[gpu, "plan"], of=plan.at[gpu, "of"]) | runs | dict(steps=steps, narrow=narrow))
    return table(DataFrame(rows), caption, labels={
        "plan": "planned with", "of": "from", "median": "median of runs", "reached": "runs reached", "runs": "runs of sources",
        "years": "software of", "steps": "steps in 16 bits: median, figures of sources",
        "narrow": "steps in 8 bits, of that peak"}, formats={"plan": percent, "median": percent})


def failures_table(frame, caption):
    """Jobs by size of `run_upkeep.by_size`: what failures leave of their time, and what spares and waiting cost."""
    shown = DataFrame(dict(
        gpus=frame["gpus"], apart=[number(each / SECONDS_PER_HOUR, "hour") for each in frame["job_failure_seconds"]],
        goodput=frame["goodput"],
        ends=[f"{percent(low)} to {percent(high)}" for low, high in zip(frame["low"], frame["high"])],
        spares=frame["spare_machines"], spared=frame["spared"], waiting=frame["waiting"]))
    labels = {"gpus": "GPUs", "apart": "a failure every", "goodput": "goodput", "ends": "range", "spares": "spare machines",
              "spared": "bill with spares, times the work", "waiting": "bill waiting for repairs, times the work"}
    formats = dict(gpus="{:,}".format, goodput=percent, spares="{:.0f}".format, spared="{:.2f}".format, waiting="{:.2f}".format)
    return table(shown, caption, labels=labels, formats=formats)


def carbon_table(frame, caption):
    """The carbon of a run by the grid it draws from."""
    said = frame.assign(**{name: [number(each, QUANTITIES[name].unit) if each == each else None for each in frame[name]]
                           for name in ("carbon_intensity", "run_carbon")})
    return table(said, caption, labels={"carbon_intensity": "CO2e of a kWh", "run_carbon": "CO2e of the run"})


def between(low, high):
    """A band in a cell; None where a run is not possible."""
    return f"{three_figures(low)} to {three_figures(high)}" if math.isfinite(high) else None


def cost_against_days(frame, edge, best, deadline_days, alt):
    """Runs by days and cost, their front as a line, the deadline dashed, and the recommended one, if any, as a diamond."""
    marks = [_points(frame).mark_circle(size=22, opacity=0.35).encode(color=altair.Color("term:N", title=None)),
             _points(edge).mark_line(strokeWidth=2, point=True),
             altair.Chart(DataFrame([dict(training_days=deadline_days)])).mark_rule(strokeDash=[5, 4]).encode(
                 x="training_days:Q")]
    if best is not None:
        marks.append(_points(DataFrame([best[POINT]]).infer_objects()).mark_point(size=260, strokeWidth=3, shape="diamond"))
    beaten = "option is" if len(edge) == 1 else "options are"
    return finish(altair.layer(*marks), alt, title=f"{len(edge)} {beaten} beaten by no other in days and dollars")


def _points(frame):
    return altair.Chart(frame[POINT].round({"training_days": 4, "compute_usd": 2})).encode(
        x=axis(altair.X, "training_days", "training_days", "days", log=True),
        y=axis(altair.Y, "compute_usd", "compute_usd", "cost of the run, USD", log=True),
        tooltip=["gpu", "gpus", "provider", "term", altair.Tooltip("training_days", format=".3~g"),
                 altair.Tooltip("compute_usd", format=",.0f")])


# Pictures of the cost of a run: what its clock is spent on, and how tokens become dollars.

_TALL, _TOP = 34, 26


def clock_picture(job):
    """Some hours of a job that fails once, to scale: work, checkpoints, lost work, the restart; and what is left of a run.

    job: a case with what a checkpoint and a restart take, the time between two failures, and the number of GPUs.
    """
    work, lost, kept = job(checkpoint_interval), job(lost_seconds), job(goodput)
    saving, restart = job.inputs["checkpoint_seconds"], job.inputs["restart_seconds"]
    pieces = [("work", work, "a"), ("saved", saving, "c"), ("work", work, "a"), ("saved", saving, "c"), ("lost", lost, "d"),
              ("restart", restart, "b"), ("again", lost, "a")]
    scale, sheet, left = WIDE / sum(long for _, long, _ in pieces), Sheet(186), 0.0
    places = {}
    for name, long, color in pieces:
        sheet.box(left, _TOP, max(long * scale - 1, 2), _TALL, color, round=1)
        places.setdefault(name, []).append((left, left + long * scale))
        left += long * scale
    stop = places["restart"][0][0]
    sheet.line((stop, 6), (stop, _TOP + _TALL + 4), color="d", thick=2.5)
    sheet.text(stop - 5, 18, "a GPU fails", "end", "d", True)
    sheet.text(places["work"][0][0] + 2, 18, f"{number(work / 3600, 'hour')} of work", color="a", bold=True)
    for place, (said, color) in enumerate((
            (f"checkpoint, {number(saving / 60)} min", "c"), (f"lost, {number(round(lost / 60))} min: computed again", "d"),
            (f"restart, {number(restart / 60)} min", "b"))):
        _key(sheet, place, color, said)
    sheet.text(0, 134, f"The whole run on {number(job.inputs['gpus'])} GPUs, all of it paid:", color="soft")
    sheet.box(0, 142, WIDE * kept - 1, 24, "a", round=1).box(WIDE * kept, 142, WIDE * (1 - kept), 24, "d", round=1)
    sheet.text(6, 159, f"{percent(kept)} moves it forward", color="paper", bold=True)
    sheet.text(WIDE, 182, f"{percent(1 - kept)} lost", "end", "d", True)
    return sheet.picture(f"Every hour is paid; on {number(job.inputs['gpus'])} GPUs, {chance(kept)} of the hours count",
                         f"A GPU of the job fails every {number(job(job_failure_seconds) / 3600, 'hour')}. The run writes a "
                         f"checkpoint after every {number(work / 3600, 'hour')} of work; a failure loses "
                         f"{number(lost / 3600, 'hour')} of work and a restart.")


def _key(sheet, place, color, said):
    across, down = ((0, 82), (190, 82), (0, 104))[place]
    sheet.box(across, down - 11, 12, 12, color, round=2).text(across + 18, down, said)


def chain_picture(run, name):
    """From tokens to dollars in four boxes; run: a case with a model, a GPU, tokens, a share of the peak and a rent."""
    given = run.inputs
    hours, usd = run(planned_gpu_hours), run(compute_usd)
    peak, rate = run.rows["gpu"].peak_flops, given["usd_per_hour"]
    sheet, tall, gap = Sheet(286), 44, 36
    boxes = [("the job", f"{name}, {number(given['training_tokens'])} tokens", "× 6 FLOP for each parameter and token"),
             ("the work", quantity("training_flops", run(training_flops)),
              f"÷ {percent(given['mfu'])} of {number(peak, 'FLOP/second')}, the peak"),
             ("the time", f"{number(hours)} GPU-hours", f"× {hourly(rate)}"),
             ("the bill", f"{dollars(usd)}, if nothing stops", "")]
    for place, (what, said, then) in enumerate(boxes):
        top = place * (tall + gap)
        sheet.box(0, top, WIDE, tall, "wash", "line", 6)
        sheet.text(12, top + 27, what, color="soft").text(WIDE - 12, top + 27, said, "end", bold=True)
        if then:
            sheet.arrow((40, top + tall + 3), (40, top + tall + gap - 4), color="a", thick=2)
            sheet.text(56, top + tall + 23, then, color="a")
    return sheet.picture(f"Three steps turn {number(given['training_tokens'])} tokens into {dollars(usd)}",
                         "; ".join(f"{what}: {said}" for what, said, _ in boxes))


# Tables that the lessons on costs show: a run, and tokens, on the cards that readers meet.


def run_table(run, servers, gpu, caption, mfu=None):
    """A run on the cheapest server of eight of each familiar card: its planned MFU, GPU-hours, days and cost with its ends.

    run: a case with a model, tokens and a number of GPUs; servers: `cheapest_flops`; mfu: the share that is given.
    """
    cards = familiar(servers.assign(row=servers.index).set_index("gpu"), "gpu", gpu)
    rows = [_run(run, name, rent.usd_per_hour, mfu_ends(name, mfu)) for name, rent in cards.iterrows()]
    days = f"days on {number(run.inputs['gpus'])}"
    return table(DataFrame(rows, cards["row"]), caption,
                 formats={"mfu": percent, "rate": "{:.2f}".format, "hours": "{:,.0f}".format, "days": three_figures},
                 labels={"gpu": "GPU", "usd": "cost (8 in 10)", "days": days, "rate": "USD/h", "hours": "GPU-hours",
                         "mfu": "MFU"})


def _run(run, gpu, rate, shares):
    on = {end: run.but(gpu=gpu, mfu=share, usd_per_hour=rate, gpu_hours=planned_gpu_hours) for end, share in shares.items()}
    plan, low, high = (on[end](compute_usd) for end in ("plan", "high", "low"))
    return dict(gpu=gpu, usd=ends(plan, low, high), days=on["plan"](training_days), rate=rate,
                hours=on["plan"](planned_gpu_hours), mfu=shares["plan"])


def tokens_table(plans, gpu, caption):
    """The cheapest plan on each familiar card, of `token_offers.month_plans`: what its tokens and its month cost."""
    shown = familiar(plans.assign(row=plans["row"]).drop_duplicates("gpu").set_index("gpu", drop=False), "gpu", gpu)
    rows = [dict(gpu=f"{number(row.rented_gpus)} × {row.gpu}", input=row.input_usd_per_million,
                 output=row.output_usd_per_million,
                 month=ends(row.serving_usd_per_month, row.low_serving_usd_per_month, row.high_serving_usd_per_month),
                 busy=row.paid_utilization, rate=row.usd_per_hour) for row in shown.itertuples()]
    return table(DataFrame(rows, shown["row"]), caption, labels={
        "gpu": "GPUs", "input": "a million in", "output": "a million out", "month": "a month (8 in 10)", "busy": "utilization",
        "rate": "USD/h"},
        formats={"busy": percent, "rate": "{:.2f}".format} | dict.fromkeys(("input", "output"), three_figures))


def ends(plan, low, high):
    """A cost in words, with its ends where they differ."""
    most = dollars(high) if high < math.inf else "too slow"
    return dollars(plan) + ("" if low == high else f" ({dollars(low)} to {most})".replace(" USD", ""))


def mfu_slider_chart(work, rate, sold, training_tokens, plan, costs):
    return slider_chart(
        work,
        {f"{gpu}, {hourly(rate[gpu])}": (tc.compute_usd, dict(gpu=gpu, usd_per_hour=rate[gpu])) for gpu in sold},
        x="mfu",
        values=[step / 50 for step in range(5, 41)],
        y_title="cost of the run, USD",
        log_y=True,
        sliders={"training_tokens": (1e9, max(1e12, 2 * training_tokens), 1e9, training_tokens), "epochs": (1, 4, 1, 1)},
        finding="At an MFU of {mfu:percent} the run costs {compute_usd}",
        alt=f"The cost falls as one over the MFU. At {percent(plan)} the run costs {dollars(costs[sold[0]])} on {sold[0]} "
        f"and {dollars(costs[sold[-1]])} on {sold[-1]}, each at its cheapest on-demand server.",
    )


def budget_slider_chart(work, money, most, plan, closest, name):
    """The cost of training against tokens, and where a budget meets it."""
    return slider_chart(work.but(budget_usd=money), {"cost of the work": tc.compute_usd}, x="training_tokens",
                        crossing=tc.affordable_tokens, values=[round(most * step / 20) for step in range(1, 51)], y_title="USD",
                        choose=("model", "gpu"),
                        sliders={"budget_usd": (money / 10, 3 * money, money / 100, money), "mfu": (0.1, 1, 0.01, plan),
                                 "usd_per_hour": (0.1, 12, 0.01, float(closest.usd_per_hour))},
                        finding="{budget_usd} train {model} on {affordable_tokens} tokens",
                        alt=f"{dollars(money)} train {name} on {number(most)} tokens on {closest.gpu}.")
