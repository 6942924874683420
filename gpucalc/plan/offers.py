"""Every rent of a price book for one training run, as one table: what fits, how long it takes, what it costs.

The search over layouts runs once for each GPU and size of machine; prices join it as columns. Hours, days and USD are what to
plan for: the formula moved by the error that published figures of its kind had. In eight of ten cases they lie between those
of the columns `low_` and `high_`.
"""
import numpy as np
import pandas as pd

from ..rows import catalogue
from ..rows.bands import CLOSE, factors
from ..rows.rents import rents
from ..core.evaluate import Case
from ..core.arithmetic import SECONDS_PER_HOUR
from .layout_grid import CLOSE as MAY_FIT, FITS
from .layouts import all_layouts, layout_case, layout_name, pareto_front
from ..laws.renting import group_interruption_seconds, interruption_slowdown
from ..core.figures import days, dollars, hourly, number
from ..laws.training_cost import compute_usd, paid_gpu_hours, planned_gpu_hours, reserved_gpu_hours, training_days
from ..laws.training_time import step_seconds

SERVER = 8
AXES = dict(context_parallel=[1, 2, 4], virtual_stages=[1, 2], micro_batch=[1], recompute=[0, 2])
RENT = ["row", "provider", "sku", "gpu", "gpus_per_server", "region", "term", "reserved_years", "usd_per_hour", "source",
        "date"]
KIND = ["gpu", "gpus_per_server"]
SPEED = ["gpu_hours", "low_hours", "high_hours", "layout_mfu"]
LATE, DEAR = "misses the deadline", "over the budget"
# What of a case `priced` takes.
TERMS = ("machine_interruption_seconds", "checkpoint_seconds", "restart_seconds", "other_work")


def runs_of(case, book, **wanted):
    """`runs` of the job of a case, on up to the case's number of GPUs; `wanted` are the rents and the networks."""
    given, rows = case.inputs, case.rows
    return runs(book, rows["model"], given["training_tokens"], given["global_batch"], given["sequence"], given["gpus"],
                given.get("mfu"), recipe=rows["recipe"], efficiency=rows["efficiency"], **wanted)


def runs(book, model, training_tokens, global_batch, sequence, gpus=64, mfu=None, network="InfiniBand NDR",
         small_network="Ethernet 25G", provider=None, gpu=None, region=None, term=None, **job):
    """The run on every rent of `book` and every number of GPUs up to `gpus`: a row each, `reason` says why one does not run.

    A run is as fast as its fastest layout, and at most as 6ND at the share `mfu` of the peak, if one is given; `job` is as in
    `layouts.layout_case`. Machines of 8 GPUs or more are joined by `network`, smaller ones by `small_network`.
    """
    offered = rents(book, provider=provider, gpu=gpu, region=region, term=term).reset_index()[RENT]
    architecture, tried, searched = Case(model=model).rows["model"], [], []
    for gpu, size in offered[KIND].drop_duplicates().itertuples(index=False, name=None):
        counts = machine_counts(int(size), gpus)
        kind = dict(gpu=gpu, gpus_per_server=int(size))
        reason = _not_searched(gpu, counts, gpus)
        tried.append(pd.DataFrame({"gpus": counts or [int(size)], **kind, "reason": reason}))
        if not reason:
            joined = dict(gpus_per_node=int(size), network=network if size >= SERVER else small_network, **job)
            found = all_layouts(architecture, gpu, counts, global_batch, sequence, axes=AXES | _degrees(architecture, int(size)),
                                **joined)
            errors = dict(zip(("low", "plan", "high"), factors(layout_case(architecture, gpu, sequence, **joined), step_seconds)))
            searched.append(found[found["reason"].isin(["", FITS, MAY_FIT])].assign(**kind, **errors))
    frame = offered.merge(_speeds(pd.concat(tried), searched, training_tokens, global_batch * sequence), on=KIND)
    return frame if mfu is None else planned(frame, model, training_tokens, mfu)


def at_mfu(frame, model, training_tokens, mfu):
    """The same runs by 6ND at the share `mfu` of the peak, whatever their layouts: `layout_mfu` is what to plan for."""
    peaks = frame["gpu"].map(catalogue.gpus()["peak_flops"])
    band = Case(model=model, peak_flops=peaks, training_tokens=training_tokens, mfu=mfu).band(planned_gpu_hours)
    return frame.assign(gpu_hours=band.plan, low_hours=band.low, high_hours=band.high, layout_mfu=mfu * band.value / band.plan)


def planned(frame, model, training_tokens, mfu):
    """The same runs, none faster than 6ND at the share `mfu` of the peak; a layout that is slower counts as it is."""
    least = at_mfu(frame, model, training_tokens, mfu)
    slower = frame["gpu_hours"] > least["gpu_hours"]
    return frame.assign(**{name: frame[name].where(slower, least[name]) for name in SPEED})


def priced(frame, machine_interruption_seconds=86400, checkpoint_seconds=60, restart_seconds=600, other_work=0):
    """The runs with days and USD: spot is slowed by interruptions, a reservation is paid for its term, every start is paid."""
    apart = group_interruption_seconds(machine_interruption_seconds, frame["machines"])
    with np.errstate(over="ignore"):
        slowdown = Case(checkpoint_seconds=checkpoint_seconds, restart_seconds=restart_seconds,
                        interruption_seconds=apart)(interruption_slowdown).where(frame["term"] == "spot", 1.0)
    years = frame["reserved_years"]
    term = reserved_gpu_hours(frame["gpus"], years.fillna(1), other_work).where(years.notna(), 0)
    figures = {"interruption_slowdown": slowdown}
    for hours, time, cost in (("gpu_hours", "training_days", "compute_usd"), ("low_hours", "low_days", "low_usd"),
                              ("high_hours", "high_days", "high_usd")):
        paid = paid_gpu_hours(frame[hours], slowdown, frame["gpus"], restart_seconds)
        figures |= {time: training_days(paid, frame["gpus"]),
                    cost: compute_usd(paid, frame["usd_per_hour"], minimum_gpu_hours=term)}
    return frame.assign(**figures)


def judged(frame, deadline_days, budget_usd=None):
    """The priced runs with a `verdict`: blank, or what is against one. Late or too dear is never recommended.

    A run is `sure` where the slow end of its band has nothing against it either.
    """
    budget = budget_usd or np.inf
    late, dear = frame["training_days"] > deadline_days, frame["compute_usd"] > budget
    verdict = np.select([frame["reason"] != "", late, dear], [frame["reason"], LATE, DEAR], "")
    sure = (verdict == "") & (frame["high_days"] <= deadline_days) & (frame["high_usd"] <= budget)
    return frame.assign(verdict=verdict, sure=sure)


def decided(frame, case, **changes):
    """The runs priced on the terms of a case, with `changes`, and judged by its deadline and its budget, if it has one."""
    given = case.but(**changes).inputs
    terms = {name: given[name] for name in TERMS if name in given}
    return judged(priced(frame, **terms), given["deadline_days"], given.get("budget_usd"))


def ranked(frame):
    """One row for each rent, best first: its cheapest number of GPUs with nothing against it, else the closest to that.

    Of those as close the cheapest comes first.
    """
    order = frame["verdict"].map({"": 0, DEAR: 1, LATE: 2}).fillna(3)
    least = frame["compute_usd"].where(order < 2, frame["training_days"]).where(order < 3, -frame["gpus"])
    keys = ["order", "least", "training_days", "gpus", "compute_usd"]
    placed = frame.assign(order=order, least=least).sort_values(keys, kind="stable")
    return placed.drop_duplicates("row").drop(columns=["order", "least"]).reset_index(drop=True)


def recommended(frame):
    """The cheapest judged run with nothing against it, of equals the soonest; None if there is none."""
    able = frame[frame["verdict"] == ""]
    return None if able.empty else ranked(able).iloc[0]


def tied(frame, best):
    """Other GPUs than that of the `best` run that may cost less: those with a run in time that costs less at its low end than
    the best at its high end. On one GPU all runs share the error of its speed, and the rents decide."""
    rivals = ranked(frame[(frame["verdict"] == "") & (frame["gpu"] != best.gpu)])
    return rivals[rivals["low_usd"] < best.high_usd]["gpu"].unique().tolist()


def offer(row):
    """A run's machines, seller, term and rate in words."""
    return f"{row.gpus:,} × {row.gpu} at {row.provider} ({row.term}, {hourly(row.usd_per_hour)} a GPU)"


def outcome(row):
    """A priced run's days and cost in words, each with its band."""
    time, cost = _between(days, row.low_days, row.high_days), _between(dollars, row.low_usd, row.high_usd)
    return f"{days(row.training_days)} (8 in 10 {time}) and {dollars(row.compute_usd)} ({cost})"


def assurance(frame, best):
    """What the bands leave open of the best run: whether it keeps deadline and budget, and whether another GPU costs less."""
    sure, rivals = recommended(frame[frame["sure"]]), tied(frame, best)
    safer = "No offer holds there" if sure is None else f"One that holds even there is {offer(sure)}: {outcome(sure)}"
    held = "The slow end holds that too." if best.sure else f"At the slow end of its band that fails, so it is {CLOSE}. {safer}."
    named = " or ".join(filter(None, [", ".join(rivals[:-1]), *rivals[-1:]]))
    return held + (f" Whether a run on {named} costs less is {CLOSE}." if rivals else "")


def same_run(frame, row):
    """The runs of a frame on the rent and the number of GPUs of a row."""
    return frame[(frame["row"] == row.row) & (frame["gpus"] == row.gpus)]


def by_deadline(frame, deadlines, budget_usd=None):
    """What is recommended of priced runs at each deadline (days): the offer in words, its days and its cost."""
    found = {each: recommended(judged(frame, each, budget_usd)) for each in deadlines}
    rows = [dict(deadline_days=each, recommended="none", training_days=None, compute_usd=None) if row is None else dict(
        deadline_days=each, recommended=offer(row), training_days=row.training_days, compute_usd=row.compute_usd)
        for each, row in found.items()]
    return pd.DataFrame(rows)


def by_interruption(frame, case, hours):
    """The cheapest spot in time if a machine stays for so many `hours`: in words, its slowdown and cost; and the best term."""
    none = "none in time" if (frame["term"] == "spot").any() else "none in the book"
    rows = []
    for each in hours:
        tried = decided(frame, case, machine_interruption_seconds=each * SECONDS_PER_HOUR)
        spot, best = recommended(tried[tried["term"] == "spot"]), recommended(tried)
        held = {} if spot is None else spot[["interruption_slowdown", "compute_usd"]].to_dict()
        rows.append(dict(hours=each, spot=none if spot is None else offer(spot), interruption_slowdown=None, compute_usd=None)
                    | held | dict(recommended="none" if best is None else best.term))
    return pd.DataFrame(rows)


def drawn(frame, deadline_days, usd):
    """The judged runs that a chart shows: the cheapest on each GPU, term and number, within ten deadlines and thirty `usd`."""
    able = frame[frame["reason"] == ""].sort_values("compute_usd", kind="stable").drop_duplicates(["gpu", "term", "gpus"])
    return able[(able["training_days"] < 10 * deadline_days) & (able["compute_usd"] < 30 * usd)]


def cheapest_flops(book):
    """The cheapest on-demand server of 8 GPUs or more of each GPU, the cheapest FLOP of the peak first."""
    found = rents(book, term="on-demand", at_least=SERVER, per="gpu", required=False)
    each = found["usd_per_hour"] / found["gpu"].map(catalogue.gpus()["peak_flops"])
    return found.loc[each.sort_values(kind="stable").index]


def front(frame):
    """The judged runs that no other beats in USD or days without losing in the other."""
    return pareto_front(frame[frame["reason"] == ""], "compute_usd", "training_days")


def machine_counts(gpus_per_server, gpus):
    """Numbers of GPUs to try: 1, 2, 3, 4, 6, 8, 12 ... machines, up to `gpus`."""
    counts = {gpus_per_server * first * 2**power for first in (1, 3) for power in range(int(gpus).bit_length())}
    return sorted(count for count in counts if count <= gpus)


def _not_searched(gpu, counts, gpus):
    """Why no layout of the run on these numbers of GPUs is looked for; empty if one is."""
    if not counts:
        return f"more than {gpus:,} GPUs in one machine"
    link = catalogue.gpu(gpu).link
    return f"speed unknown: no latency of {link}" if np.isnan(catalogue.link(link).latency) else ""


def _degrees(architecture, gpus_per_server):
    return dict(tensor_parallel=[each for each in range(1, gpus_per_server + 1) if architecture.heads % each == 0],
                expert_parallel=[1, *(each for each in (8, 32) if architecture.experts % each == 0 < architecture.experts)])


def _between(show, low, high):
    """Both ends in words, the unit once if it is the same."""
    (first, unit), last = show(low).split(" ", 1), show(high)
    return f"between {first} and {last}" if last.endswith(f" {unit}") else f"between {first} {unit} and {last}"


def _speeds(tried, searched, training_tokens, step_tokens):
    """The run on each kind and number of GPUs: fastest layout and GPU-hours, or the reason for none."""
    keys = [*KIND, "gpus"]
    tried = tried.assign(machines=tried["gpus"] // tried["gpus_per_server"])
    if not searched:
        return tried.assign(layout=None, training_bytes=np.nan, layout_mfu=np.nan, **dict.fromkeys(SPEED[:3], np.inf))
    found = pd.concat(searched, ignore_index=True)
    able, full = (found[found["reason"].isin(reasons)] for reasons in ([""], [FITS, MAY_FIT]))
    best = able.loc[able.groupby(keys)["step_seconds"].idxmin()]
    hours = best["gpu_seconds"] * training_tokens / step_tokens / SECONDS_PER_HOUR
    best = best.assign(gpu_hours=hours * best["plan"], low_hours=hours * best["low"], high_hours=hours * best["high"],
                       layout_mfu=best["layout_mfu"] / best["plan"],
                       layout=[layout_name(row) for row in best.to_dict("records")])
    least = full.groupby(keys, as_index=False)["high_bytes"].min().rename(columns={"high_bytes": "least"})
    frame = tried.merge(best[[*keys, "layout", "training_bytes", *SPEED]], how="left", on=keys)
    frame = frame.merge(least, how="left", on=keys)
    memory = frame["gpu"].map(catalogue.gpus()["memory_bytes"])
    reasons = [said if said or hours == hours else f"up to {number(held, 'byte')} on a GPU of {number(room, 'byte')}" if held > 0
               else "no layout splits the run so" for said, hours, held, room in zip(
                   frame["reason"], frame["gpu_hours"], frame["least"], memory)]
    hours = frame[SPEED[:3]].fillna(np.inf)
    return frame.drop(columns="least").assign(reason=reasons, **hours)
