"""How fast a training run is planned: the MFU of whole published runs, by GPU where there are enough, else of all.

A GPU's MFU is the median of the publishers that ran on its chip: cards of one compute capability and one peak count together,
whatever their memory. Its error is that of the family, and where too few runs on the chip are published, the distance between
chips is added to it.
"""
import numpy as np
import pandas as pd

from ..laws.training_cost import planned_gpu_hours
from ..rows import bands, catalogue
from ..rows.kept import kept
from ..rows.store import stored

FAMILY, STEPS, NARROW = "training run", "training step in 16 bits", "training step in 8 bits"
# A chip has an MFU of its own from so many runs of so many publishers.
OWN_RUNS, OWN_SOURCES = 3, 2


def chip(card):
    """What tells chips apart that run the same speed: the maker, the compute capability where there is one, and the peak."""
    return f"{card['vendor']} {card['compute_capability']} {card['peak_flops']:g}"


@kept
def published_mfu():
    """The MFU that each published run and each step of dense models reached: `chip`, `family`, `publisher`, `year`, `mfu`.

    Steps in 8 bits are counted against the peak of 8 bits.
    """
    runs = [row for row in bands.measured(FAMILY) if row["law"] == planned_gpu_hours.__name__]
    steps = [row for row in bands.measured(bands.widest(STEPS)) if row["family"] in (STEPS, NARROW)]
    found = [(row, row["case"].inputs["mfu"]) for row in runs] + [(row, row["case"]("layout_mfu")) for row in steps]
    cards = [row["case"].rows["gpu"] for row, _ in found]
    return pd.DataFrame([dict(
        chip=chip(card), family=row["family"], publisher=row["publisher"], year=row["year"],
        mfu=float(predicted) / row["ratio"] * (card["peak_flops"] / card["narrow_flops"] if row["family"] == NARROW else 1))
        for card, (row, predicted) in zip(cards, found)])


@kept
def mfu_by_chip():
    """Published MFU by chip: runs, their sources, median, least, most and years, and steps in 16 and 8 bits with their median."""
    groups = published_mfu().groupby("chip")
    return pd.DataFrame([dict(chip=name) | _of_chip(group) for name, group in groups]).set_index("chip")


@stored
def planned_mfu():
    """The MFU to plan with for each GPU of the catalogue, `plan`, its `low` and `high` end, what it is `of` and its `chip`."""
    runs, own, spread = published_mfu().query("family == @FAMILY"), mfu_by_chip(), bands.errors(FAMILY)
    own = own[(own["runs"] >= OWN_RUNS) & (own["sources"] >= OWN_SOURCES)]["median"]
    chips, pooled = catalogue.gpus().apply(chip, axis=1), _median(runs)
    found = chips.map(own)
    apart = np.where(found.isna(), np.abs(np.log(own / pooled)).max(), 0)
    slow, fast = (np.exp(np.hypot(np.log(end / spread.median), apart)) for end in (spread.high, spread.low))
    plan = found.fillna(pooled)
    return pd.DataFrame(dict(plan=plan, low=plan / slow, high=np.minimum(plan * fast, 1),
                             of=np.where(found.isna(), "all runs", "its chip"), chip=chips))


def mfu_off():
    """How far each published run was from what the other publishers' runs say, by all of them and by those of its chip.

    Medians of the distance, as a share; runs on a chip that no other publisher ran on are left out of both.
    """
    runs, off = published_mfu().query("family == @FAMILY"), []
    for run in runs.itertuples():
        others = runs[runs["publisher"] != run.publisher]
        alike = others[others["chip"] == run.chip]
        if alike["publisher"].nunique() >= OWN_SOURCES:
            off.append([abs(np.log(run.mfu / _median(each))) for each in (others, alike)])
    return tuple(np.expm1(np.median(off, axis=0)))


def mfu_ends(gpu, mfu=None):
    """The MFU that a run on the GPU is planned with, `low`, `plan` and `high`: that which is given, else of published runs."""
    return dict.fromkeys(("low", "plan", "high"), mfu) if mfu else planned_mfu().loc[gpu, ["low", "plan", "high"]].to_dict()


def _of_chip(group):
    runs, *steps = (group[group["family"] == family] for family in (FAMILY, STEPS, NARROW))
    of_steps = {f"{name}_{what}": value for name, each in zip(("steps", "narrow"), steps) for what, value in (
        ("count", len(each)), ("sources", each["publisher"].nunique()), ("median", _median(each)))}
    return dict(runs=len(runs), sources=runs["publisher"].nunique(), median=_median(runs), least=runs["mfu"].min(),
                most=runs["mfu"].max(), first=runs["year"].min(), last=runs["year"].max()) | of_steps


def _median(rows):
    """The median over publishers, each with the median of its own rows."""
    return np.exp(np.log(rows["mfu"]).groupby(rows["publisher"]).median().median())
