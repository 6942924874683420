"""What fills a GPU, as pages show it: one name and one colour for each term of an account, bars, and the account itself."""
import math

from gpucalc.core.figures import exact, number, percent
from .account import around_tensors, moments, origins, peak_terms, serving_terms
from .sentences import CLOSE, enough
from .show import table

# A term (a law or an input): its name in a table, and the part it belongs to, which has one of the eight colours of a chart.
TERMS = {
    "held_weight_bytes": ("weights", "weights"),
    "gpu_weight_bytes": ("weights", "weights"),
    "gathered_bytes": ("gathered by ZeRO", "gathered by ZeRO"),
    "held_gradient_bytes": ("gradients", "gradients"),
    "head_gradient_bytes": ("gradient of the output head", "gradients"),
    "held_master_bytes": ("master weights", "optimizer, master"),
    "held_optimizer_bytes": ("optimizer state", "optimizer, master"),
    "step_bytes": ("the step's own buffers", "optimizer, master"),
    "activation_bytes": ("activations of all layers", "activations"),
    "layer_activation_bytes": ("activations of one layer", "activations"),
    "recomputed_bytes": ("made again in one layer", "activations"),
    "activation_gradient_bytes": ("gradients of activations", "activations"),
    "profile_bytes": ("activations in the trial run", "activations"),
    "logits_bytes": ("logits, inputs of the head", "logits and loss"),
    "loss_bytes": ("softmax, gradient of logits", "logits and loss"),
    "fragmentation_bytes": ("fragmentation", "fragmentation, CUDA"),
    "communication_bytes": ("buffers of communication", "fragmentation, CUDA"),
    "framework_bytes": ("CUDA context, kernels", "fragmentation, CUDA"),
    "kv_bytes": ("cache of the batch", "cache"),
}
MOMENTS = {"loss_moment_bytes": "loss", "head_moment_bytes": "output head", "first_layer_moment_bytes": "backward starts",
           "last_layer_moment_bytes": "backward ends", "step_moment_bytes": "optimizer step"}


def in_bytes(value):
    """Bytes at three significant figures."""
    return number(value, "byte")


def spare(need, memory):
    """What is left of the memory in words: `3 GB to spare`, `3 GB too much`."""
    return f"{in_bytes(abs(memory - need))} {'to spare' if need <= memory else 'too much'}"


def verdict(need, memory):
    """Whether the memory holds a band: `fits`, `does not fit`, or `too close to call` where the margin is inside the error."""
    return {"yes": "fits", "no": "does not fit"}.get(enough(need, at_most=memory), CLOSE)


def fewest_in_words(fewest):
    """How many GPUs hold the plan value, and to how many the high end takes them: `3`, `3 to 4`, `3 or more`; `–` for none."""
    if fewest.plan == math.inf:
        return "–"
    more = "" if fewest.high == fewest.plan else " or more" if fewest.high == math.inf else f" to {fewest.high:,}"
    return f"{fewest.plan:,}{more}"


def parts(terms):
    """Bytes by part, in the order of their colours; parts of nothing are left out."""
    sums = dict.fromkeys((part for _, part in TERMS.values()), 0)
    for term, value in terms.items():
        sums[TERMS[term][1]] += value
    return {part: value for part, value in sums.items() if value}


def largest(terms):
    """The part that takes most, in words."""
    sums = parts(terms)
    return max(sums, key=sums.get)


def memory_bars(accounts, limit, alt, x_title="bytes on one GPU", unit="training_bytes", title=""):
    """A bar for each account (label -> bytes by term), in parts by colour; a dashed line marks the memory of the GPU.

    x_title, unit: the axis and the quantity on it; title: the finding. A part has the same colour in every chart.
    """
    from pandas import DataFrame
    from .charts import bars  # the words and sums above need no Altair
    pieces = DataFrame([{"bar": label, "part": part, unit: float(f"{value:.6g}")}
                        for label, terms in accounts.items() for part, value in parts(terms).items()])
    order = list(dict.fromkeys(part for _, part in TERMS.values() if part != "cache" or part in set(pieces["part"])))
    return bars(pieces, unit, "bar", "part", alt, x_title, order, limit, title=title)


def moment_bars(account, server):
    """The accounts of the five moments of a training step, and of serving, for `memory_bars`."""
    around = around_tensors(account)
    training = {MOMENTS[moment]: there | around for moment, there in moments(account).items()}
    return training | {"serving": serving_terms(server)}


def account_table(account, caption, show=exact):
    """The terms at the largest moment of a step with their share and source, and their sum; `show` formats bytes."""
    from pandas import DataFrame
    found = origins(account)
    rows = [dict(term=TERMS[name][0], bytes=value, share=value / account.value, source=found[name])
            for name, value in peak_terms(account).items() if value]
    total = dict(term="total", bytes=account.value, share=1, source=None)
    return table(DataFrame([*rows, total]), caption, formats={"bytes": show, "share": percent})


def moment_table(account, caption):
    """Terms by moment, the largest bytes of tensors below."""
    from pandas import DataFrame
    frame = DataFrame(moments(account))
    frame = frame[(frame > 0).any(axis=1)]
    frame.index = [TERMS[term][0] for term in frame.index]
    frame.loc["total"] = [account.terms[moment] for moment in frame]
    return table(frame.rename_axis("term").reset_index(), caption, labels=MOMENTS)
