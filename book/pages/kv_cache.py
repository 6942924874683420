"""The KV cache: kinds of layers, what a token leaves in each, and what fills the memory of GPUs."""
from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import exact, number, percent
from gpucalc.laws import kv_cache
from gpucalc.laws.sharding import check_layout
from gpucalc.rows import catalogue
from ..components.charts import slider_chart
from ..components.picture import Sheet
from ..components.sentences import Yours
from ..components.show import familiar, in_bytes, table


def checked(case):
    """Raises ValueError unless the model of the notebook's case splits over so many GPUs."""
    check_layout(case.rows["model"], tensor_parallel=case.inputs["tensor_parallel"])


def held_at_once(case):
    """How many whole sequences an engine holds at once, with what to plan for and its range."""
    return case.band(kv_cache.engine_room_bytes).through(lambda left: int(case.but(engine_room_bytes=left)(kv_cache.concurrency)))


def context_slider_chart(case):
    model, gpu, held = case.rows["model"], case.rows["gpu"], case.inputs
    sliders = {"batch": (1, 128, 1, held["batch"]), "replica_gpus": (1, 16, 1, held["replica_gpus"])} | {
        name: (0.5, 2, 0.5, held[name]) for name in ("cache_element_bytes", "weight_element_bytes")}
    cache, room = number(case(kv_cache.kv_bytes), "byte"), number(case(kv_cache.cache_room_bytes), "byte")
    return slider_chart(
        case, {"cache of all sequences": kv_cache.kv_bytes, "room beside the weights": kv_cache.cache_room_bytes},
        x="context", values=[512 * step for step in range(1, 65)], choose=("model", "gpu"), crossing=kv_cache.longest_context,
        finding=[("cache_room_bytes <= 0", "The weights leave no room for a cache: add GPUs or store weights in fewer bytes"),
                 ("longest_context == infinity", "Every layer of {model} has a window: contexts may grow without limit"),
                 ("batch == 1", "A single sequence may grow to {longest_context} tokens"),
                 "With {batch} sequences, each may grow to {longest_context} tokens"],
        sliders=sliders, y_title="bytes",
        alt=f"The cache of {model.name} grows in proportion to context; at {held['batch']} sequences it reaches {cache} at "
            f"{held['context']:,} tokens, against {room} of room on {held['replica_gpus']} × {gpu.name}.")


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
                 formats=dict.fromkeys(("first", "last"), in_bytes))


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
    weight, cached, whole, spare = (number(held, "byte") for held in (weights, one, memory * gpus, back * memory * gpus))
    scale, sheet = 384 / max(memory * gpus, weights + back * memory * gpus), Sheet(136)
    fits, start = int(case("max_batch")), 8 + weights * scale
    sheet.box(8, 40, weights * scale, 44, color="c").box(start, 40, room * scale, 44, color="wash")
    wide = one * scale
    for place in range(min(fits, 400)):
        sheet.box(start + place * wide, 40, max(wide - 1, 0.4), 44, round=0)
    sheet.box(392 - back * memory * gpus * scale, 40, back * memory * gpus * scale, 44, color=None, outline="line", dashed=True)
    sheet.text(8, 30, f"weights {weight}", color="c", bold=True)
    sheet.text(392, 30, f"kept back {spare}", at="end", color="soft")
    sheet.text(start, 104, f"cache: {fits:,} × {cached}", color="a", bold=True, at="start" if start < 230 else "end")
    sheet.text(8, 126, f"{gpus} × {case.rows['gpu'].name} together: {whole}", color="soft")
    if not fits:
        return sheet.picture("The weights leave no room for one sequence", f"Of {whole} the weights alone would take {weight}, "
                             f"the engine keeps back {spare}, and a sequence takes {cached}.")
    return sheet.picture(f"Beside the weights, {fits:,} sequences of {case.inputs['context']:,} tokens fit",
                         f"Of {whole} the weights take {weight}, the engine keeps back {spare}, and {fits:,} sequences of "
                         f"{cached} fill the rest.")


def held_table(on_cards, context, name, allowed):
    return table(on_cards.reset_index(),
                 f"Sequences of {context:,} tokens of {name} that an engine holds at once, by GPU and tensor-parallel degree",
                 labels={f"on_{degree}": f"on {degree}" for degree in allowed},
                 formats={f"on_{degree}": lambda value: f"{value:,.1f}" for degree in allowed}
                 | {"memory_bytes": in_bytes})


def every_model_table(caches, context):
    return table(caches.reset_index(), f"Cache in BF16 of one token and of one sequence of {context:,} tokens, all models",
                 labels={"layers": "layers", "kv_heads": "KV heads", "head_dim": "head size", "kv_bytes_per_token": "one token",
                         "sequence_kv_bytes": "one sequence", "share": "sequence over weights"},
                 formats={"kv_bytes_per_token": exact, "share": percent})


def divided_table(divided, degrees):
    return table(
        divided.assign(copies=divided.on_16 * 16 / divided.on_1).drop(columns="heads").reset_index(),
        "Cache of one token on one GPU, by tensor-parallel degree",
        labels={f"on_{degree}": f"1 of {degree}" for degree in degrees} | {"copies": "copies at 16"},
        formats={"copies": "{:.3g}".format} | {f"on_{degree}": in_bytes for degree in degrees},
    )


def narrower_table(narrower, name, context):
    return table(narrower.reset_index(),
                 f"The cache of {name} in five formats, scales counted; one sequence of {context:,} tokens",
                 labels={"weight_format": "format", "value_bits": "bits of a value", "stored_bits": "bits an element",
                         "kv_bytes_per_token": "one token", "sequence_kv_bytes": "one sequence", "smaller": "smaller than BF16"},
                 formats={"stored_bits": "{:.4g}".format, "smaller": "{:.2f} ×".format})


def models_table(caches, name, context):
    return table(familiar(caches, "model", name, "Llama-2-7B").drop(columns=["layers", "head_dim"]).reset_index(),
                 f"Cache in BF16 of one token and of one sequence of {context:,} tokens",
                 labels={"heads": "query heads", "kv_heads": "KV heads", "kv_bytes_per_token": "one token",
                         "sequence_kv_bytes": "one sequence", "share": "share of the weights"},
                 formats={"share": percent})
