"""What hardware takes back, as tables of a page."""
from gpucalc.core.figures import dollars, gib, number, percent, times
from ..components.show import difference, table


def capped_table(frame, gpus, caption):
    """Speed under power caps, at best and at worst, with what a month of the loss costs."""
    return table(frame, caption, labels={"cap": "cap", "best": "speed left, at best", "worst": "at worst",
                                         "best_usd": f"wasted a month, {gpus} GPUs", "worst_usd": "at worst, a month"},
                 formats={"cap": lambda watts: number(watts, "watt"), "best": percent, "worst": percent,
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
    """Rounding by format."""
    return table(frame, caption, labels={"format": "format", "mantissa_bits": "bits of mantissa",
                                         "rounding_share": "rounding, at most"}, formats={"rounding_share": "{:.2g}".format})
