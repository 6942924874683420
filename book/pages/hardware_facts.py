"""Hardware facts: what each is worth in time or money for a load, and how harm is counted."""
import pandas as pd

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import dollars, gib, percent, times
from gpucalc.laws.derating import corrected_bytes, rounding_share
from gpucalc.laws.shares import capped_clock_share
from gpucalc.laws.sharing import wasted_usd_per_month
from gpucalc.rows import catalogue
from gpucalc.rows.rents import cheapest_rent, rents
from ..components.show import difference, in_unit, table


# What a fault costs a fleet: its GPUs are paid at full price and work at a share of their speed.


def fleet(book, gpu="H100 SXM 80GB", gpus=8, term="on-demand"):
    """The cheapest firm rent of servers of so many GPUs, as a `Row`."""
    return cheapest_rent(book, gpu=gpu, term=term, whole=gpus)


def fleet_if_priced(book, gpu, gpus=8, term="on-demand"):
    """The same, or None where the book has no such rent."""
    return fleet(book, gpu, gpus, term) if len(rents(book, gpu=gpu, term=term, required=False)) else None


def wasted(share, rent, gpus=8):
    """What GPUs at that rent cost in a month beyond the work that they do at that share of their speed (USD)."""
    return Case(gpus=gpus, usd_per_hour=float(rent.usd_per_hour), measured_utilization=min(share, 1))(wasted_usd_per_month)


# Hardware facts: what each is worth in time or money for a load.

# What hardware takes back: speed under a power cap, memory under error correction, kernels of a card, what sparsity gave.

_GIB = 2**30


def capped(gpu, shares, rent, gpus=8):
    """Power caps as shares of a card's power: `cap`, the speed that is left at best and at worst, and a month's loss at worst.

    At worst the voltage is at its least, and power falls with the clock alone.
    """
    tdp = catalogue.gpu(gpu).tdp_watts
    best = [Case(tdp_watts=tdp, power_cap_watts=share * tdp)(capped_clock_share) for share in shares]
    return pd.DataFrame(dict(cap=[share * tdp for share in shares], best=best, worst=list(shares),
                             best_usd=[wasted(each, rent, gpus) for each in best],
                             worst_usd=[wasted(each, rent, gpus) for each in shares]))


def corrected():
    """Cards with GDDR6 whose driver reports memory with error correction on: chips, the formula, the driver, the error."""
    cards = catalogue.gpus().query("memory_type == 'GDDR6' and inline_ecc == 1")
    cards = cards[~cards["memory_note"].str.contains("recalled")]
    chips = (cards["marketed_bytes"] / 1e9).round() * _GIB
    predicted = chips.map(lambda held: corrected_bytes(held, 1))
    return pd.DataFrame(dict(gpu=cards.index, chips=chips.to_numpy(), predicted=predicted.to_numpy(),
                             driver=cards["memory_bytes"].to_numpy(), error=(predicted / cards["memory_bytes"] - 1).to_numpy()))


# A kernel, and the row that says what it needs.
KERNELS = {
    "NF4 weights (bitsandbytes)": "needs-nf4", "tensor cores, WMMA": "needs-wmma",
    "INT8 products (bitsandbytes)": "needs-int8-products", "BF16 and TF32": "needs-bf16", "two of four zeros": "needs-sparse",
    "FlashAttention-2": "needs-flash-2", "FP8 products": "needs-fp8", "FlashAttention-3": "needs-flash-3",
    "FP4 products": "needs-fp4"}
_ONE_GENERATION = {"needs-flash-3"}


def kernels():
    """What each kernel needs: `capability`, the first generation of the table with it, and how many of its cards run it."""
    cards = catalogue.gpus()
    cards = cards[(cards["vendor"] == "NVIDIA") & cards["compute_capability"].notna()].sort_values(["year"], kind="stable")
    rows = []
    for kernel, key in KERNELS.items():
        need = catalogue.reported(key).value
        runs = cards["compute_capability"] == need if key in _ONE_GENERATION else cards["compute_capability"] >= need
        rows.append(dict(kernel=kernel, capability=need, since=cards[runs]["generation"].iloc[0], cards=int(runs.sum()),
                         of=len(cards)))
    return pd.DataFrame(rows)


def sparse():
    """What two of four gave where it was measured: `speed`, what the formula promises at most, and the rest of that promise."""
    promise = {"sparse-sam-mlp": 2.0, "sparse-sam-all": 2.0, "sparse-train": 2.0,
               "sparse-decode": catalogue.reported("sparse-decode-size").value, "sparse-best": 2.0}
    return pd.DataFrame([dict(what=catalogue.reported(key).fact, speed=catalogue.reported(key).value, promise=most,
                              kept=catalogue.reported(key).value / most) for key, most in promise.items()])


def implied_share(speed, part_speedup):
    """The share of the time that a part had, by how much the whole gained when the part got so many times as fast: the formula
    `sped_up`, turned around."""
    return (1 - 1 / speed) / (1 - 1 / part_speedup)


# Bits behind the point of each format.
MANTISSAS = {"FP32": 23, "TF32": 10, "FP16": 10, "BF16": 7, "FP8 E4M3": 3, "FP8 E5M2": 2, "FP4 E2M1": 1}


def rounded():
    """How much rounding changes a value at most, by format."""
    return pd.DataFrame([dict(format=name, mantissa_bits=bits, rounding_share=rounding_share(bits))
                         for name, bits in MANTISSAS.items()])


# What hardware takes back, as tables of a page.


def capped_table(frame, gpus, caption):
    """Speed under power caps, at best and at worst, with what a month of the loss costs."""
    return table(frame, caption, labels={"cap": "cap", "best": "speed left, at best", "worst": "at worst",
                                         "best_usd": f"wasted a month, {gpus} GPUs", "worst_usd": "at worst, a month"},
                 formats={"cap": in_unit("watt"), "best": percent, "worst": percent,
                          "best_usd": dollars, "worst_usd": dollars})


def corrected_table(frame, caption):
    """Memory under error correction: chips, formula, driver and error."""
    return table(frame, caption, labels={"gpu": "card", "chips": "chips", "predicted": "by formula", "driver": "driver reports",
                                         "error": "error"},
                 formats={"chips": gib, "predicted": gib, "driver": gib, "error": difference})


def kernels_table(frame, caption):
    """Which kernels need what, and how many cards of the book run them."""
    shown = frame.assign(cards=[f"{row.cards} of {row.of}" for row in frame.itertuples()]).drop(columns="of")
    return table(shown, caption, labels={"kernel": "kernel", "capability": "compute capability", "since": "first in",
                                         "cards": "NVIDIA cards here"}, formats={"capability": "{:.1f}".format})


def sparse_table(frame, caption):
    """What sparsity gave beside what it promises."""
    return table(frame, caption, labels={"what": "measured", "speed": "faster", "promise": "promised", "kept": "of the promise"},
                 formats={"speed": times, "promise": times, "kept": percent})


def rounded_table(frame, caption):
    return table(frame, caption, labels={"format": "format", "mantissa_bits": "bits of mantissa",
                                         "rounding_share": "rounding, at most"}, formats={"rounding_share": "{:.2g}".format})
