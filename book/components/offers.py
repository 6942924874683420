"""The runs of a training job on every offer of a price book, as a table: the choices of the decision on training runs.

The layouts of each number of machines are searched once; prices join them. Days and USD are what to plan for: half of
such runs keep them. The share `sure` keeps those of the columns `sure_`; eight in ten lie between those of `low_` and `high_`.
"""
import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gpucalc.core.arithmetic import SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import chance, days, dollars, hourly, percent
from gpucalc.core.law import LAWS
from gpucalc.decisions import rule
from gpucalc.decisions.answer import completed, judged
from gpucalc.decisions.columns import count, joined, known, nine_digits
from gpucalc.decisions.decisions import LAYOUT, RUN, USUAL_TERM
from gpucalc.decisions.layouts import layout_name, pareto_front
from gpucalc.decisions.market import SERVER, market
from gpucalc.decisions.points import ENDS, SURE, Points
from gpucalc.rows import catalogue
from gpucalc.rows.bands import CLOSE, INSIDE
from gpucalc.rows.book_diff import NOT_STATED
from gpucalc.rows.choices import ANY
from gpucalc.rows.rents import rents
from gpucalc.rows.selections import derivation, selection
from .run_risks import PRICES, TAKEN_BACK, doubts, share_below, unfit

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


@derivation
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
    """The layouts with their names."""
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


@derivation
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
    """The rows of a book that runs, or one run, are priced by."""
    return book.loc[np.unique(np.atleast_1d(runs["row"]))]


@selection
def by_deadline(search: Search, deadlines: Any) -> pd.DataFrame:
    """What is recommended at each deadline (days): the offer in words, its days and its cost."""
    found = {each: recommended(decided(search, deadline_days=each)) for each in deadlines}
    rows = [dict(deadline_days=each, recommended="none", training_days=None, compute_usd=None) if row is None else dict(
        deadline_days=each, recommended=offer(row), training_days=row.training_days, compute_usd=row.compute_usd)
        for each, row in found.items()]
    return pd.DataFrame(rows)


@selection
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


@selection
def drawn(frame: pd.DataFrame, deadline_days: float, usd: float) -> pd.DataFrame:
    """The runs that a chart shows: the cheapest on each GPU, term and number, within ten deadlines and thirty `usd`."""
    able = _able(frame).sort_values(["compute_usd", "row"], key=nine_digits)
    able = able.drop_duplicates(["gpu", "term", "gpus"])
    return able[(able["training_days"] < 10 * deadline_days) & (able["compute_usd"] < 30 * usd)]


@selection
def cheapest_flops(book: pd.DataFrame) -> pd.DataFrame:
    """The cheapest on-demand server of 8 GPUs or more of each GPU that has BF16, the cheapest FLOP of the peak first."""
    found = rents(book, term="on-demand", at_least=SERVER, per="gpu", required=False)
    cards = catalogue.gpus()
    found = found[found["gpu"].map(cards["peak_format"]) == "BF16"]
    each = found["usd_per_hour"] / found["gpu"].map(cards["peak_flops"])
    return found.loc[each.sort_values(kind="stable").index]


@selection
def front(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that no other beats in USD or days without losing in the other, of offers that may be taken."""
    return pareto_front(_able(frame), "compute_usd", "training_days")


def _able(frame):
    """The runs that run and whose offer may be taken; of a frame without one all that run."""
    runs = frame[frame["reason"] == ""]
    return runs[(runs["doubt"] == "") | (runs["doubt"] != "").all()]
