"""Every rent of a price book for one training run, as one table: what fits, how long it takes, what it costs.

The search over layouts runs once for each GPU and size of machine; prices join it as columns. Hours, days and USD are what to
plan for: the formula moved by the error that published figures of its kind had. In eight of ten cases they lie between those
of the columns `low_` and `high_`.
"""
import numpy as np
import pandas as pd

from ..rows import catalogue
from ..rows.bands import CLOSE, INSIDE, factors
from ..rows.book_diff import NOT_STATED
from ..rows.rents import rents
from ..core.evaluate import Case
from ..core.arithmetic import SECONDS_PER_HOUR
from .fine_print import forbidden_kinds
from .layout_grid import CLOSE as MAY_FIT, FITS
from .layouts import all_layouts, layout_case, layout_name, pareto_front
from .run_risks import PRICES, decided, doubts, judged
from .run_speeds import SPEED, planned
from ..core.figures import chance, days, dollars, hourly, number
from ..laws.training_cost import excess_machines
from ..laws.training_time import step_seconds

SERVER, SMALL = 8, "small machines"
AXES = dict(context_parallel=[1, 2, 4], virtual_stages=[1, 2], micro_batch=[1], recompute=[0, 2])
RENT = ["row", "provider", "sku", "gpu", "gpus_per_server", "region", "term", "reserved_years", "usd_per_hour", "source",
        "date", "confidence", "yours"]
KIND = ["gpu", "gpus_per_server"]


def runs_of(case, book, **wanted):
    """The runs of the job of a case as they are planned: the layouts' own speed, and none faster than published runs.

    The case's `mfu`, if it has one, stands in for the published ones; `wanted` is as in `searched_runs`.
    """
    found = searched_runs(case, book, **wanted)
    return planned(found, case.rows["model"], case.inputs["training_tokens"], case.inputs.get("mfu"))


def searched_runs(case, book, **wanted):
    """`runs` of the job of a case, on up to the case's number of GPUs; `wanted` are the rents and the networks."""
    given, rows = case.inputs, case.rows
    most = {name: given[name] for name in ("most_small_machines",) if name in given}
    return runs(book, rows["model"], given["training_tokens"], given["global_batch"], given["sequence"], given["gpus"],
                recipe=rows["recipe"], efficiency=rows["efficiency"], **most, **wanted)


def runs(book, model, training_tokens, global_batch, sequence, gpus=64, network="InfiniBand NDR", small_network="Ethernet 25G",
         provider=None, gpu=None, region=None, term=None, most_small_machines=None, **job):
    """The run on every rent of `book` and every number of GPUs up to `gpus`: a row each, `reason` says why one does not run,
    `doubt` why its rent is not recommended.

    A run is as fast as its fastest layout; `job` is as in `layouts.layout_case`. Machines of 8 GPUs or more are joined by
    `network`, smaller ones by `small_network`, and at most `most_small_machines` of those.
    """
    offered = rents(book, provider=provider, gpu=gpu, region=region, term=term).reset_index()[RENT]
    offered = offered.assign(doubt=doubts(offered, term)).drop(columns=["confidence", "yours"])
    architecture, tried, searched = Case(model=model).rows["model"], [], []
    most = {} if most_small_machines is None else {"most_small_machines": most_small_machines}
    for gpu, size in offered[KIND].drop_duplicates().itertuples(index=False, name=None):
        counts = machine_counts(int(size), gpus)
        kind = dict(gpu=gpu, gpus_per_server=int(size))
        reasons = _reasons(gpu, int(size), counts, gpus, most, job)
        tried.append(pd.DataFrame({"gpus": counts or [int(size)], **kind, "reason": reasons}))
        able = [count for count, reason in zip(counts, reasons) if not reason]
        if able:
            joined = dict(gpus_per_node=int(size), network=network if size >= SERVER else small_network, **job)
            found = all_layouts(architecture, gpu, able, global_batch, sequence, axes=AXES | _degrees(architecture, int(size)),
                                **joined)
            errors = dict(zip(("low", "plan", "high"), factors(layout_case(architecture, gpu, sequence, **joined), step_seconds)))
            searched.append(found[found["reason"].isin(["", FITS, MAY_FIT])].assign(**kind, **errors))
    return offered.merge(_speeds(pd.concat(tried), searched, training_tokens, global_batch * sequence), on=KIND)


def ranked(frame):
    """One row for each rent, best first: its cheapest number of GPUs with nothing against it, else the closest to that.

    Of those as close the cheapest comes first; of those that don't run, the most GPUs that were tried.
    """
    order, cost, tried = frame["grade"], frame["compute_usd"], ~frame["reason"].str.endswith(SMALL)
    least = cost.where(order < 4, frame["training_days"]).where(order < 5, -frame["gpus"].where(tried, 0))
    keys = ["grade", "least", "training_days", "gpus", "compute_usd", "row"]
    placed = frame.assign(least=least).sort_values(keys, kind="stable")
    return placed.drop_duplicates("row").drop(columns="least").reset_index(drop=True)


def recommended(frame):
    """The cheapest judged run with nothing against it, of equals the soonest; None if there is none."""
    able = frame[frame["verdict"] == ""]
    return None if able.empty else ranked(able).iloc[0]


def nearest(frame):
    """What comes closest: the recommended run, else of those whose rent may decide the likeliest to hold, else the first.

    Where no band reaches the limits, the first is the one whose plan comes closest.
    """
    best, firm = recommended(frame), frame[(frame["reason"] == "") & (frame["doubt"] == "")]
    if best is not None or firm.empty:
        return ranked(frame).iloc[0] if best is None else best
    likeliest = firm[firm["holds"] >= max(firm["holds"].max(), (1 - INSIDE) / 2)]
    return ranked(firm if likeliest.empty else likeliest).iloc[0]


def tied(frame, best):
    """Other GPUs than that of the `best` run that may cost less: those with a run in time that costs less at its low end than
    the best at its high end. On one GPU all runs share the error of its speed, and the rents decide."""
    rivals = ranked(frame[(frame["verdict"] == "") & (frame["gpu"] != best.gpu)])
    return rivals[rivals["low_usd"] < best.high_usd]["gpu"].unique().tolist()


def doubtful(frame, best):
    """The cheapest other run that only its rent's price or term keeps from being recommended, if it costs less than the best one
    or that one has something against it; else None."""
    able = frame[(frame["grade"] == 1) & (frame["row"] != best.row)]
    first = None if able.empty else ranked(able).iloc[0]
    return first if first is not None and (best.verdict or first.compute_usd < best.compute_usd) else None


def offer(row):
    """A run's machines, seller, term and rate in words."""
    seller = "your provider" if row.provider == NOT_STATED else row.provider
    return f"{row.gpus:,} × {row.gpu} at {seller} ({row.term}, {hourly(row.usd_per_hour)} a GPU)"


def outcome(row):
    """A priced run's days and cost in words, each with its band."""
    time, cost = _between(days, row.low_days, row.high_days), _between(dollars, row.low_usd, row.high_usd)
    return f"{days(row.training_days)} (8 in 10 {time}) and {dollars(row.compute_usd)} ({cost})"


def odds(row):
    """How likely a judged run keeps its deadline, and its budget where that is less likely, in words."""
    dear = f", and {chance(row.in_budget)} within the budget" if row.in_budget < row.in_time else ""
    said = f"{chance(row.in_time)} of such runs are in time{dear}"
    return said[0].upper() + said[1:]


def assurance(frame, best):
    """How likely the best run holds, what is tied with it, and one caveat: a cheaper rent in doubt, or a card for consumers."""
    rivals, other = tied(frame, best), doubtful(frame, best)
    several = f"one of {len(rivals)} other GPUs"
    named = " or ".join(filter(None, [", ".join(rivals[:-1]), *rivals[-1:]])) if len(rivals) < 4 else several
    caveat = f". Whether a run on {named} costs less is {CLOSE}." if rivals else "."
    if other is not None:
        asked = f"{'from' if other.doubt == PRICES['floor'] else 'at'} {hourly(other.usd_per_hour)}"
        caveat += f" {other.provider} lists {other.term} {other.gpu} {asked} ({other.doubt}): check it first."
    elif catalogue.gpu(best.gpu)["kind"] in forbidden_kinds():
        caveat += " This is a consumer card: the license of its driver keeps it out of data centers."
    return f"{odds(best)}{caveat}"


def same_run(frame, row):
    """The runs of a frame on the rent and the number of GPUs of a row."""
    return frame[(frame["row"] == row.row) & (frame["gpus"] == row.gpus)]


def behind(book, runs):
    """The rows of a book that runs, or one run, are priced by."""
    return book.loc[np.unique(np.atleast_1d(runs["row"]))]


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
    able = _able(frame).sort_values(["compute_usd", "row"], kind="stable")
    able = able.drop_duplicates(["gpu", "term", "gpus"])
    return able[(able["training_days"] < 10 * deadline_days) & (able["compute_usd"] < 30 * usd)]


def cheapest_flops(book):
    """The cheapest on-demand server of 8 GPUs or more of each GPU that has BF16, the cheapest FLOP of the peak first."""
    found = rents(book, term="on-demand", at_least=SERVER, per="gpu", required=False)
    found = found[found["gpu"].map(lambda gpu: not lacking(catalogue.gpu(gpu))).astype(bool)]
    each = found["usd_per_hour"] / found["gpu"].map(catalogue.gpus()["peak_flops"])
    return found.loc[each.sort_values(kind="stable").index]


def front(frame):
    """The judged runs that no other beats in USD or days without losing in the other, of rents that may be recommended."""
    return pareto_front(_able(frame), "compute_usd", "training_days")


def _able(frame):
    """The runs that run and whose rent may be recommended; of a frame without one all that run."""
    runs = frame[frame["reason"] == ""]
    return runs[(runs["doubt"] == "") | (runs["doubt"] != "").all()]


def machine_counts(gpus_per_server, gpus):
    """Numbers of GPUs to try: 1, 2, 3, 4, 6, 8, 12 ... machines, up to `gpus`."""
    counts = {gpus_per_server * first * 2**power for first in (1, 3) for power in range(int(gpus).bit_length())}
    return sorted(count for count in counts if count <= gpus)


def _reasons(gpu, size, counts, gpus, most, job):
    """Why no layout of the run on each of these numbers of GPUs is looked for; empty where one is."""
    if not counts:
        return [f"more than {gpus:,} GPUs in one machine"]
    card, beyond = catalogue.gpu(gpu), excess_machines(np.array(counts) // size, np.full(len(counts), size), **most)
    whole = lacking(card, **job)
    if np.isnan(catalogue.link(card.link).latency):
        whole = f"speed unknown: no latency of {card.link}"
    most = most.get("most_small_machines", excess_machines.defaults["most_small_machines"])
    return [whole or (f"more than {most:,.0f} {SMALL}" if over else "") for over in beyond]


def lacking(card, recipe=None, narrow_products=0, **job):
    """The format that a training recipe computes in and a card has no tensor path for, in words; empty if it has."""
    wanted = (catalogue.recipe(recipe) if isinstance(recipe, str) else recipe or {}).get("compute_format", "BF16")
    if narrow_products and np.isnan(card["fp8_flops"]):
        return "no FP8"
    return "no BF16" if wanted == "BF16" and card["peak_format"] != "BF16" else ""


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
