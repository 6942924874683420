"""What mixes tokens in the layers of a model, in words, and what they keep: a table of models of today."""
from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number
from gpucalc.laws import kv_cache
from gpucalc.rows import catalogue
from ..components.show import table

_TODAY = ("Llama-3.3-70B", "Qwen3-235B-A22B", "gpt-oss-120b", "Gemma-3-27B", "Llama-4-Maverick", "Qwen3-Next-80B-A3B",
          "Nemotron-3-Nano-30B-A3B", "DeepSeek-V3.2")


def kinds(model):
    """The layers of a model by what mixes tokens in them: `18 full, 18 with a window of 128`."""
    full = model.layers - model.linear_layers - model.mixerless_layers - model.window_layers
    what = "latent" if model.kv_lora_rank else "full"
    sparse = f" and sparse, {model.indexer_topk:,.0f} tokens" if model.indexer_layers else ""
    window = f"{'in chunks' if model.chunked else 'with a window'} of {model.window:,.0f}"
    parts = [(full, what + sparse), (model.window_layers, window), (model.linear_layers, "linear"),
             (model.mixerless_layers, "without")]
    return ", ".join(f"{count:,.0f} {name}" for count, name in parts if count)


def kinds_table(context):
    """Models of today: their layers by kind, the cache in BF16 of a first token, of a whole sequence and of its last token."""
    frame = catalogue.models()
    frame = frame.loc[[name for name in _TODAY if name in frame.index]]
    every = Case(frame)
    whole, without_last = (every.but(context=length)(kv_cache.sequence_kv_bytes) for length in (context, context - 1))
    shown = DataFrame({"kinds": [kinds(row) for _, row in frame.iterrows()], "first": every(kv_cache.kv_bytes_per_token),
                       "last": whole - without_last, "sequence_kv_bytes": whole}, index=frame.index)
    return table(shown.reset_index(), "Cache in BF16 of eight models of today, by the kinds of their layers",
                 labels={"kinds": "layers", "first": "a first token", "last": "a late token",
                         "sequence_kv_bytes": f"{context:,} tokens"},
                 formats=dict.fromkeys(("first", "last"), lambda value: number(value, "byte")))
