"""Every model: sizes, caches and formats as one table."""
import pandas as pd

from gpucalc.core.arithmetic import ceil
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import exact, percent
from gpucalc.decisions.capacity import left_out
from gpucalc.laws.kv_cache import kv_bytes_per_token, sequence_kv_bytes
from gpucalc.laws.model_size import active_params
from gpucalc.laws.quantization import quantized_weight_bytes, serving_bytes
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue
from ..components.catalogue_table import catalogue_table
from ..components.show import in_bytes


# Every model with what follows from its architecture: parameters, cache, bytes by format, the smallest card that holds it.

FORMATS = ("FP32", "BF16", "FP8", "INT4-g128")
# Formats in which the smallest card is sought, and contexts in tokens at which the cache is shown.
WEIGHT_FORMATS, CONTEXTS = ("BF16", "FP8", "INT4-g128"), (8192, 131072)
# Kinds of cards that a model is held on: those with memory of their own that anybody buys or rents.
KINDS = ("datacenter", "workstation", "consumer")


def every_model(context):
    """Every model with all that is derived, the largest first; `context`: tokens for which the smallest card has room."""
    frame = catalogue.models()
    every = Case(frame)
    caches = {f"cache_{tokens}": every.but(context=tokens)(sequence_kv_bytes).where(frame["max_context"] >= tokens)
              for tokens in CONTEXTS}
    scores = catalogue.quality()
    frame = frame.join(scores.pivot(index="model", columns="board", values="score"))
    runs = scores["board"] + ", " + scores["date"] + ": " + scores["named"]
    frame = frame.assign(
        runs=runs.groupby(scores["model"]).agg("; ".join).reindex(frame.index),
        active_params=every(active_params), kv_bytes_per_token=every(kv_bytes_per_token), native_bytes=native_bytes(frame),
        **caches, **{f"bytes_{name}": every.but(weight_format=name)(quantized_weight_bytes) for name in FORMATS},
        **{f"card_{name}": smallest(frame, name, context) for name in WEIGHT_FORMATS})
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
    for name in WEIGHT_FORMATS:
        able = left_out(row.assign(latency=0), name).iloc[0] == ""
        found[name] = list(frame.index[(needed(frame, name, context) <= room) & able])
    return found


# The page of every model: its table, and which of them a card holds.

# Public boards, of which each model has the scores in data/quality.csv.
BOARDS = ["LiveBench", "Aider polyglot"]
GROUPS = {"Parameters": ["params", "active_params", "native_format", "native_bytes"],
          "Quality": [*BOARDS, "runs", "active_params", "kv_bytes_per_token", "card_FP8"],
          "Cache": ["kv_bytes_per_token", "cache_8192", "cache_131072", "max_context"],
          "Bytes": [f"bytes_{name}" for name in FORMATS], "Smallest card": [f"card_{name}" for name in WEIGHT_FORMATS],
          "Shape": ["layers", "hidden", "heads", "kv_heads"],
          "More shape": ["head_dim", "intermediate", "vocab", "tied_embeddings"],
          "Kind": ["family", "attention", "window", "linear_layers"],
          "Experts": ["experts", "experts_per_token", "shared_experts", "expert_intermediate"],
          "Source": ["source", "date", "confidence", "note"]}
LABELS = {name: name for name in BOARDS} | {
    "runs": "runs that have the scores", "params": "parameters", "active_params": "used by a token",
    "native_format": "released in", "native_bytes": "bytes as released", "kv_bytes_per_token": "cache of a token",
    "cache_8192": "cache of 8k tokens", "cache_131072": "cache of 128k tokens", "max_context": "longest context",
    "card_BF16": "smallest card, BF16", "card_FP8": "smallest card, FP8", "card_INT4-g128": "smallest card, 4 bits",
    "layers": "layers", "hidden": "hidden size", "heads": "query heads", "kv_heads": "KV heads", "head_dim": "head size",
    "intermediate": "MLP size", "vocab": "vocabulary", "tied_embeddings": "tied embeddings", "linear_layers": "linear layers",
    "window": "window", "experts": "experts", "experts_per_token": "experts of a token", "shared_experts": "shared experts",
    "expert_intermediate": "expert size"} | {f"bytes_{name}": name.replace("INT4-g128", "4 bits") for name in FORMATS}
LOW = ["native_bytes", *GROUPS["Cache"][:3], *GROUPS["Bytes"]]
SHOWN_AS = dict.fromkeys(["params", "active_params", "vocab", "max_context"], lambda value: exact(value, "")) | dict.fromkeys(
    ["cache_8192", "cache_131072", "native_bytes", *GROUPS["Bytes"]], in_bytes) | dict.fromkeys(
    BOARDS, percent)


def models_table(frame, caption):
    """Every model with what its architecture gives; the fewer bytes, the better."""
    shown = frame.assign(tied_embeddings=frame["tied_embeddings"].map({1: "yes", 0: "no"}))
    shown = shown[list(dict.fromkeys(name for names in GROUPS.values() for name in names))].reset_index()
    return catalogue_table(shown, caption, GROUPS, dict.fromkeys(LOW, "low") | dict.fromkeys([*BOARDS, "max_context"], "high"),
                           ["family", "attention", "native_format"], LABELS, SHOWN_AS, compare=True)
