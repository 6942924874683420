"""The page of every model: its table, and which of them a card holds."""
from gpucalc.core.figures import exact, number
from ..components.catalogue_table import catalogue_table
from . import models_plan as models

GROUPS = {
    "Parameters": ["params", "active_params", "native_format", "native_bytes"],
    "Cache": ["kv_bytes_per_token", "cache_8192", "cache_131072", "max_context"],
    "Bytes": [f"bytes_{name}" for name in models.FORMATS],
    "Smallest card": [f"card_{name}" for name in models.HELD],
    "Shape": ["layers", "hidden", "heads", "kv_heads"],
    "More shape": ["head_dim", "intermediate", "vocab", "tied_embeddings"],
    "Kind": ["family", "attention", "window", "linear_layers"],
    "Experts": ["experts", "experts_per_token", "shared_experts", "expert_intermediate"],
    "Source": ["source", "date", "confidence", "note"],
}
LABELS = {
    "params": "parameters", "active_params": "used by a token", "native_format": "released in",
    "native_bytes": "bytes as released", "kv_bytes_per_token": "cache of a token", "cache_8192": "cache of 8k tokens",
    "cache_131072": "cache of 128k tokens", "max_context": "longest context", "card_BF16": "smallest card, BF16",
    "card_FP8": "smallest card, FP8", "card_INT4-g128": "smallest card, 4 bits", "layers": "layers", "hidden": "hidden size",
    "heads": "query heads", "kv_heads": "KV heads", "head_dim": "head size", "intermediate": "MLP size", "vocab": "vocabulary",
    "tied_embeddings": "tied embeddings", "linear_layers": "linear layers", "window": "window", "experts": "experts",
    "experts_per_token": "experts of a token", "shared_experts": "shared experts", "expert_intermediate": "expert size"
} | {f"bytes_{name}": name.replace("INT4-g128", "4 bits") for name in models.FORMATS}
LOW = ["native_bytes", *GROUPS["Cache"][:3], *GROUPS["Bytes"]]
FORMATS = dict.fromkeys(["params", "active_params", "vocab", "max_context"], lambda value: exact(value, "")) | dict.fromkeys(
    ["cache_8192", "cache_131072", "native_bytes", *GROUPS["Bytes"]], lambda value: number(value, "byte"))


def models_table(frame, caption):
    """Every model with what its architecture gives; the fewer bytes, the better."""
    shown = frame.assign(tied_embeddings=frame["tied_embeddings"].map({1: "yes", 0: "no"}))
    shown = shown[[name for names in GROUPS.values() for name in names]].reset_index()
    return catalogue_table(shown, caption, GROUPS, dict.fromkeys(LOW, "low") | {"max_context": "high"},
                           ["family", "attention", "native_format"], LABELS, FORMATS, compare=True)
