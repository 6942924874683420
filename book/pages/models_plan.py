"""Every model with what follows from its architecture: parameters, cache, bytes by format, the smallest card that holds it."""
import pandas as pd

from gpucalc.core.arithmetic import ceil
from gpucalc.core.evaluate import Case
from gpucalc.decisions.capacity import left_out
from gpucalc.laws.kv_cache import kv_bytes_per_token, sequence_kv_bytes
from gpucalc.laws.model_size import active_params
from gpucalc.laws.quantization import quantized_weight_bytes, serving_bytes
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue

FORMATS = ("FP32", "BF16", "FP8", "INT4-g128")
# Formats in which the smallest card is sought, and contexts in tokens at which the cache is shown.
HELD, CONTEXTS = ("BF16", "FP8", "INT4-g128"), (8192, 131072)
# Kinds of cards that a model is held on: those with memory of their own that anybody buys or rents.
KINDS = ("datacenter", "workstation", "consumer")


def every_model(context):
    """Every model with all that is derived, the largest first; `context`: tokens for which the smallest card has room."""
    frame = catalogue.models()
    every = Case(frame)
    caches = {f"cache_{tokens}": every.but(context=tokens)(sequence_kv_bytes).where(frame["max_context"] >= tokens)
              for tokens in CONTEXTS}
    frame = frame.assign(
        active_params=every(active_params), kv_bytes_per_token=every(kv_bytes_per_token), native_bytes=native_bytes(frame),
        **caches, **{f"bytes_{name}": every.but(weight_format=name)(quantized_weight_bytes) for name in FORMATS},
        **{f"card_{name}": smallest(frame, name, context) for name in HELD})
    return frame.sort_values("params", ascending=False, kind="stable")


def native_bytes(frame):
    """Bytes of the weights as they were released."""
    parts = [Case(part, weight_format=name)(quantized_weight_bytes) for name, part in frame.groupby("native_format")]
    return pd.concat(parts).reindex(frame.index)


def needed(frame, weight_format, context):
    """Bytes of the weights in the format and the cache of one sequence, for each model."""
    return Case(frame, weight_format=weight_format, batch=1, context=context)(serving_bytes)


def cards_by_size(weight_format):
    """Usable bytes of the cards that are sold and have a path for the format: the smallest first, of equal ones the fastest."""
    cards = catalogue.gpus().query("status == 'available' and kind in @KINDS")
    cards = cards[left_out(cards.assign(latency=0), weight_format) == ""]
    return Case(cards.sort_values(["marketed_bytes", "bandwidth"], ascending=[True, False], kind="stable"))(usable_bytes)


def smallest(frame, weight_format, context):
    """For each model the smallest card that holds it, or how many of the largest."""
    usable = cards_by_size(weight_format)
    last = usable.idxmax()
    return [next((name for name, room in usable.items() if room >= wanted), f"{ceil(wanted / usable[last])} × {last}")
            for wanted in needed(frame, weight_format, context)]


def held_on(frame, gpu, context):
    """By format the models that one card holds with one sequence, the largest first; none without a path for the format."""
    row = catalogue.gpus().loc[[gpu]]
    room, found = Case(gpu=gpu)(usable_bytes), {}
    for name in HELD:
        able = left_out(row.assign(latency=0), name).iloc[0] == ""
        found[name] = list(frame.index[(needed(frame, name, context) <= room) & able])
    return found
