"""The tables of compute or memory: every GPU, the batch at which it turns, and how far decode was from the formula, by engine."""
from gpucalc.core.figures import number, percent, three_figures
from gpucalc.laws import arithmetic_intensity as ai
from gpucalc.laws.kv_cache import max_batch
from ..components.show import table


def every_gpu(case, cards, caption):
    """What the case's model reaches on one GPU of each kind; a dash where it does not fit."""
    from pandas import DataFrame
    every, batch = case.but(gpu=cards), case.inputs["batch"]
    held, ones = every(max_batch), every.but(batch=1)
    shown = DataFrame(dict(
        ridge_point=every(ai.ridge_point), fits=[number(min(count, batch)) if count >= 1 else "none" for count in held],
        most=ones.but(efficiency="bound")(ai.tokens_per_second).where(held >= 1),
        alone=ones(ai.tokens_per_second).where(held >= 1), decode_seconds=every(ai.decode_seconds).where(held >= batch),
        prefill_seconds=ones(ai.prefill_seconds).where(held >= 1)))
    return table(shown.reset_index(), caption, formats=dict.fromkeys(["ridge_point", "most", "alone"], three_figures),
                 labels={"gpu": "GPU", "ridge_point": "ridge", "fits": "fit", "most": "at most", "alone": "tokens/s",
                         "decode_seconds": "TPOT", "prefill_seconds": "prefill"})


def turning_batches(case, cards, caption):
    """The batch at which decode turns to compute on each GPU, by bytes of a weight and by the format computed in."""
    every = case.but(gpu=cards)
    turning = {f"bytes_{width}": every.but(weight_element_bytes=width)(ai.critical_batch) for width in (2, 1, 0.5)}
    fp8 = cards[cards.fp8_flops > 0]
    turning["fp8"] = case.but(gpu=fp8, peak_flops=fp8.fp8_flops, weight_element_bytes=1)(ai.critical_batch)
    labels = {"gpu": "GPU", "bytes_2": "2 B, BF16", "bytes_1": "1 B, BF16", "bytes_0.5": "0.5 B, BF16", "fp8": "1 B, FP8"}
    return table(cards[[]].assign(**turning).reset_index(), caption, labels, dict.fromkeys(turning, three_figures))


def two_speeds(case, cards):
    """Both speeds of each card, their ratio, and the batch at which reading the weights takes as long as computing."""
    return cards[["bandwidth", "peak_flops"]].assign(ridge_point=case.but(gpu=cards)(ai.ridge_point),
                                                     critical_batch=case.but(gpu=cards)(ai.critical_batch))


def engines(decoded, share, caption):
    """Errors of published decode rates by engine and width of the weights, and the `share` of the bound that was reached."""
    wide = decoded["subject"].str.contains("BF16|FP16").map({True: ", 16 bits", False: ", fewer bits"})
    kinds = (decoded["subject"].str.rsplit(", ", n=1).str[-1] + wide).rename("engine")
    grouped = decoded.assign(size=decoded["error"].abs(), share=share).groupby(kinds)
    parts = grouped.agg(figures=("size", "size"), median=("size", "median"), largest=("size", "max"), share=("share", "median"))
    return table(parts.reset_index(), caption, labels={"share": "share of the bound"},
                 formats=dict.fromkeys(["median", "largest", "share"], percent))
