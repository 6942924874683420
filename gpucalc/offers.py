"""Every rent of a price book for one training run, as one table: what fits, how long it takes, what it costs.

The search over layouts runs once for each GPU and size of machine; prices join it as columns.
"""
import numpy as np
import pandas as pd

from . import catalogue
from .explanation import evaluate
from .law import SECONDS_PER_HOUR
from .layouts import all_layouts, layout_name, pareto_front
from .renting import group_interruption_seconds, interruption_slowdown
from .show import hourly, number
from .training_cost import compute_usd, gpu_hours, paid_gpu_hours, reserved_gpu_hours, training_days

SERVER = 8
AXES = dict(context_parallel=[1, 2, 4], virtual_stages=[1, 2], micro_batch=[1], recompute=[0, 2])
FULL = "training_bytes: at most the memory of a GPU"
LATE, DEAR = "misses the deadline", "over the budget"


def runs(book, model, training_tokens, batch, sequence, gpus=64, mfu=None, network="InfiniBand NDR",
         small_network="Ethernet 25G", provider=None, gpu=None, region=None, term=None, **job):
    """The run on every rent of `book` and every number of GPUs up to `gpus`: a row each, `reason` says why one does not run.

    A run is as fast as its fastest layout, and at most as 6ND at the share `mfu` of the peak, if one is given; `job` is as in
    `layouts.layout_terms`. Machines of 8 GPUs or more are joined by `network`, smaller ones by `small_network`.
    """
    rents = _rents(book, provider=provider, gpu=gpu, region=region, term=term)
    kinds = rents[["gpu", "machine_gpus"]].drop_duplicates().itertuples(index=False)
    speeds = [_on_machines(model, gpu, int(size), gpus, training_tokens, batch, sequence,
                           network=network if size >= SERVER else small_network, **job) for gpu, size in kinds]
    frame = rents.merge(pd.concat(speeds), on=["gpu", "machine_gpus"])
    return frame if mfu is None else planned(frame, model, training_tokens, mfu)


def planned(frame, model, training_tokens, mfu):
    """The same runs, none faster than 6ND at the share `mfu` of the peak; a layout that is slower counts as it is."""
    peaks = frame["gpu"].map(catalogue.gpus()["peak_flops"])
    least = evaluate(gpu_hours, catalogue.model(model), peak_flops=peaks, training_tokens=training_tokens, mfu=mfu)
    return frame.assign(gpu_hours=frame["gpu_hours"].clip(lower=least), reached_mfu=frame["reached_mfu"].clip(upper=mfu))


def priced(frame, machine_interruption_seconds=86400, checkpoint_seconds=60, restart_seconds=600, other_work=0):
    """The runs with days and USD: spot is slowed by interruptions, a reservation is paid for its term, every start is paid."""
    apart = group_interruption_seconds(machine_interruption_seconds, frame["machines"])
    with np.errstate(over="ignore"):
        slowdown = evaluate(interruption_slowdown, checkpoint_seconds=checkpoint_seconds, restart_seconds=restart_seconds,
                            interruption_seconds=apart).where(frame["term"] == "spot", 1.0)
    hours = paid_gpu_hours(frame["gpu_hours"], slowdown, frame["gpus"], restart_seconds)
    years = frame["term"].str.extract(r"^reserved-(\d+)y$", expand=False).astype(float)
    term = reserved_gpu_hours(frame["gpus"], years.fillna(1), other_work).where(years.notna(), 0)
    return frame.assign(interruption_slowdown=slowdown, training_days=training_days(hours, frame["gpus"]),
                        compute_usd=compute_usd(hours, frame["usd_per_hour"], minimum_gpu_hours=term))


def judged(frame, deadline_days, budget_usd=None):
    """The priced runs with a `verdict`: blank, or what is against one. Late or too dear is never recommended."""
    late, dear = frame["training_days"] > deadline_days, frame["compute_usd"] > (budget_usd or np.inf)
    return frame.assign(verdict=np.select([frame["reason"] != "", late, dear], [frame["reason"], LATE, DEAR], ""))


def ranked(frame):
    """One row for each rent, best first: its cheapest number of GPUs with nothing against it, else the closest to that."""
    order = frame["verdict"].map({"": 0, DEAR: 1, LATE: 2}).fillna(3)
    least = frame["compute_usd"].where(order < 2, frame["training_days"]).where(order < 3, -frame["gpus"])
    placed = frame.assign(order=order, least=least).sort_values(["order", "least", "training_days", "gpus"], kind="stable")
    return placed.drop_duplicates("row").drop(columns=["order", "least"]).reset_index(drop=True)


def recommended(frame):
    """The cheapest judged run with nothing against it, of equals the soonest; None if there is none."""
    best = ranked(frame).iloc[0]
    return best if best.verdict == "" else None


def offer(row):
    """A run's machines, seller, term and rate in words."""
    return f"{row.gpus:,} × {row.gpu} at {row.provider} ({row.term}, {hourly(row.usd_per_hour)} a GPU)"


def front(frame):
    """The judged runs that no other beats in USD or days without losing in the other."""
    return pareto_front(frame[frame["reason"] == ""], "compute_usd", "training_days")


def machine_counts(machine_gpus, gpus):
    """Numbers of GPUs to try: 1, 2, 3, 4, 6, 8, 12 ... machines, up to `gpus`."""
    counts = {machine_gpus * first * 2**power for first in (1, 3) for power in range(int(gpus).bit_length())}
    return sorted(count for count in counts if count <= gpus)


def _rents(book, **wanted):
    rents = book[book["item"] == "rent"]
    for column, value in wanted.items():
        known = ", ".join(map(repr, sorted(set(rents[column]))))
        rents = rents[rents[column] == value] if value is not None else rents
        if rents.empty:
            raise ValueError(f"{book.attrs['file']}: no rent with {column} {value!r}; allowed: {known}")
    rents = rents.rename(columns={"gpus": "machine_gpus"}).rename_axis("row").reset_index()
    return rents[["row", "provider", "sku", "gpu", "machine_gpus", "region", "term", "usd_per_hour", "source", "date"]]


def _on_machines(model, gpu, machine_gpus, gpus, training_tokens, batch, sequence, **job):
    """The run on machines of one kind, a row for each number of GPUs: fastest layout and GPU-hours, or the reason for none."""
    architecture, card, counts = catalogue.model(model), catalogue.gpu(gpu), machine_counts(machine_gpus, gpus)
    frame = pd.DataFrame(index=pd.Index(counts or [machine_gpus], name="gpus")).reset_index()
    frame = frame.assign(gpu=gpu, machine_gpus=machine_gpus, machines=frame["gpus"] // machine_gpus)
    if not counts:
        return frame.assign(gpu_hours=np.inf, reason=f"more than {gpus:,} GPUs in one machine")
    if np.isnan(catalogue.link(card.link).latency):
        return frame.assign(gpu_hours=np.inf, reason=f"speed unknown: no latency of {card.link}")
    degrees = dict(tensor_parallel=[each for each in range(1, machine_gpus + 1) if architecture.heads % each == 0],
                   expert_parallel=[1, *(each for each in (8, 32) if architecture.experts % each == 0 < architecture.experts)])
    found = all_layouts(architecture, gpu, counts, batch, sequence, axes=AXES | degrees, gpus_per_node=machine_gpus, **job)
    able, full = (found[found["reason"] == reason] for reason in ("", FULL))
    best = found.loc[able.groupby("gpus")["step_seconds"].idxmin()].set_index("gpus")
    best["gpu_hours"] = best["gpu_seconds"] * training_tokens / (batch * sequence) / SECONDS_PER_HOUR
    best["layout"] = [layout_name(row) for row in best.to_dict("records")]
    frame = frame.merge(best[["layout", "training_bytes", "reached_mfu", "gpu_hours"]], how="left", on="gpus")
    least = full.groupby("gpus")["training_bytes"].min().reindex(counts)
    reasons = ["" if count in best.index else f"{number(held, 'byte')} on a GPU of {number(card.memory_bytes, 'byte')}"
               if held > 0 else "no layout splits the run so" for count, held in least.items()]
    return frame.assign(gpu_hours=frame["gpu_hours"].fillna(np.inf), reason=reasons)
