"""The KV cache: kinds of layers, what a token leaves in each, and what fills the memory of GPUs."""
from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import gib, number
from gpucalc.laws import kv_cache
from gpucalc.rows import catalogue
from ..components.picture import Sheet
from ..components.sentences import Yours
from ..components.show import table


# What mixes tokens in the layers of a model, in words, and what they keep: a table of models of today.

_TODAY = ("Llama-3.3-70B", "Qwen3-235B-A22B", "gpt-oss-120b", "Gemma-3-27B", "Llama-4-Maverick", "Qwen3-Next-80B-A3B",
          "Nemotron-3-Nano-30B-A3B", "DeepSeek-V3.2")


def kinds(model):
    """The layers of a model by what mixes tokens in them: `18 full, 18 with a window of 128`."""
    dense, packed = model.dense_attention_layers, model.indexer_layers if model.compression else 0
    full = model.layers - model.linear_layers - model.mixerless_layers - model.window_layers - dense
    what = "latent" if model.kv_lora_rank else "full"
    sparse = f" and sparse, {model.indexer_topk:,.0f} tokens" if model.indexer_layers else ""
    window = f"{'in chunks' if model.chunked else 'with a window'} of {model.window:,.0f}"
    entries = f"of them with an entry for {{:,.0f}} tokens, {model.indexer_topk:,.0f} chosen"
    parts = [(full, what + sparse), (dense, what), (model.window_layers, window), (packed, entries.format(model.compression)),
             (model.heavy_layers, f"of them with an entry for {model.heavy_compression:,.0f}"), (model.linear_layers, "linear"),
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


# Diagrams of the KV cache: what a token leaves in every layer, and what the memory of the GPUs is filled with.

_HEADS = 8


def token_picture(case):
    """A token on its way through the layers, and what each of them keeps of it."""
    model, yours = case.rows["model"], Yours(case)
    sheet, layers = Sheet(206), ((1, 34), (2, 82), (yours.layers, 154))
    sheet.text(8, 124, "token").arrow((26, 108), (26, 56), (52, 56)).line((26, 132), (26, 176), (52, 176), dashed=True)
    for layer, top in layers:
        sheet.box(58, top, 334, 42, color="wash").words(68, top + 26, "layer ", layer)
        _kept(sheet, model, top)
    sheet.text(225, 144, "⋮", at="middle", bold=True)
    if model.kv_lora_rank:
        kept, left = "a compressed vector", "one compressed vector"
        sheet.words(144, 22, ("one compressed vector", "a"), " for all heads")
    else:
        kept, left = f"a key and a value for each of {model.kv_heads} KV heads", "a key and a value for each KV head"
        sheet.words(144, 22, ("keys", "a"), " and ", ("values", "b"), " of ", yours.head_dim, " numbers")
    return sheet.picture(f"In every layer a token leaves {left}",
                         f"A token passes {model.layers} layers of {model.name}; each keeps {kept}.")


def _kept(sheet, model, top):
    """What one layer keeps: a key and a value for each KV head, as far as there is room, or the compressed vector."""
    if model.kv_lora_rank:
        return sheet.box(144, top + 10, 236, 22)
    shown = min(int(model.kv_heads), _HEADS)
    for head in range(shown):
        sheet.box(144 + 27 * head, top + 10, 11, 22).box(156 + 27 * head, top + 10, 11, 22, color="b")
    if shown < model.kv_heads:
        sheet.text(362, top + 26, f"… {model.kv_heads}", color="soft", size=12)
    return sheet


def room_picture(case):
    """The memory of the GPUs to scale: weights, the cache of each sequence, what is kept back."""
    gpus, memory, back = case.inputs["replica_gpus"], case.rows["gpu"].memory_bytes, case.inputs["headroom"]
    weights, one, room = case("weight_bytes"), case("sequence_kv_bytes"), case("cache_room_bytes")
    scale, sheet = 384 / (memory * gpus), Sheet(136)
    fits, start = int(case("max_batch")), 8 + weights * scale
    sheet.box(8, 40, weights * scale, 44, color="c").box(start, 40, room * scale, 44, color="wash")
    wide = one * scale
    for place in range(min(fits, 400)):
        sheet.box(start + place * wide, 40, max(wide - 1, 0.4), 44, round=0)
    sheet.box(392 - back * memory * gpus * scale, 40, back * memory * gpus * scale, 44, color=None, outline="line", dashed=True)
    sheet.text(8, 30, f"weights {gib(weights)}", color="c", bold=True)
    sheet.text(392, 30, f"kept back {gib(back * memory * gpus)}", at="end", color="soft")
    sheet.text(start, 104, f"cache: {fits} × {gib(one)}", color="a", bold=True, at="start" if start < 230 else "end")
    sheet.text(8, 126, f"{gpus} × {case.rows['gpu'].name} together: {gib(memory * gpus)}", color="soft")
    return sheet.picture(f"Beside the weights, {fits} sequences of {case.inputs['context']:,} tokens fit",
                         f"Of {gib(memory * gpus)} the weights take {gib(weights)}, the engine keeps back "
                         f"{gib(back * memory * gpus)}, and {fits} sequences of {gib(one)} fill the rest.")
