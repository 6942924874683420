"""Quantization: which formats fit on which cards, and pictures of a block of weights."""
from gpucalc.core.arithmetic import where
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import exact, number, seconds
from gpucalc.decisions.capacity import narrow_products
from gpucalc.laws import quantization as qn, training_memory as tm
from gpucalc.laws.arithmetic_intensity import decode_seconds, prefill_seconds
from gpucalc.laws.interconnect import gpus_required
from gpucalc.laws.quantization import affordable_bits, serving_bytes, stored_bits
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue
from ..components.charts import slider_chart, tiles
from ..components.picture import Sheet
from ..components.show import table


# What runs on what: which model, in which format of its weights, fits on how many GPUs of which memory.

# GPUs that hold a model, as the map groups them.
KINDS = ("BF16 on one GPU", "quantized on one GPU", "quantized on 2 to 8 GPUs", "more than 8 GPUs")


def widest(needs, room):
    """Of the formats whose `needs` (bytes, by name) the room holds the one that takes most; "none" if it holds none."""
    held = needs[needs <= room]
    return held.idxmax() if len(held) else "none"


def room_by_card(case):
    """Each card with the bits a weight may take, the widest format on one, and how many hold the case, in BF16 and as it is.

    All by the plan value. The case has a model, a format of its weights, a load and a headroom.
    """
    cards, formats = catalogue.gpus(), catalogue.formats()
    wide, narrow = (each.band(serving_bytes).plan for each in (case.but(weight_format="BF16"), case))
    needs = case.but(weight_format=formats[formats["value_bits"] <= 16]).band(serving_bytes).plan
    every = case.but(gpu=cards)
    room = every(usable_bytes)
    return cards[["memory_bytes"]].assign(
        in_bf16=gpus_required(wide, room), in_format=gpus_required(narrow, room), widest=[widest(needs, each) for each in room],
        affordable_bits=every(affordable_bits), fp8_flops=cards["fp8_flops"])


def fit_map(case, models, memories):
    """Each model on each memory: how many GPUs hold weights and cache, its `kind` of KINDS, and its `mark` on the map.

    All by the plan value; a mark that the ends of the band do not share has a question mark.
    memories: memory that the driver reports, by marketed bytes. Contexts end where a model's own does.
    """
    every = case.but(model=models, context=models["max_context"].clip(upper=case.inputs["context"]))
    memories = memories.rename_axis("marketed_bytes").rename("memory_bytes").reset_index()
    places = models.index.to_frame(index=False, name="model").merge(memories, how="cross")
    room = case.but(gpu=places[["memory_bytes"]])(usable_bytes)
    wide, narrow = (held.band(serving_bytes) for held in (every.but(weight_format="BF16"), every))
    low, plan, high = (_placed(*(gpus_required(need.loc[places["model"]].to_numpy(), room) for need in needs))
                       for needs in zip(wide[:3], narrow[:3]))
    close = low["mark"] != high["mark"]
    return places[["model", "marketed_bytes"]].join(plan.assign(mark=plan["mark"] + close.map({True: "?", False: ""})))


def _placed(wide, gpus):
    """GPUs, kind and mark by how many GPUs hold each model in BF16 and in the narrow format."""
    from pandas import DataFrame
    kind = where(wide == 1, 0, where(gpus == 1, 1, where(gpus <= 8, 2, 3)))
    return DataFrame(dict(gpus=gpus, kind=[KINDS[each] for each in kind],
                          mark=[("B", "Q", f"{count:g}", "·")[each] for each, count in zip(kind, gpus)]))


# The picture of the page on quantization, a block of weights with its scales to scale, and what it makes faster.

# Bits in a row, so that one takes 3 units; rows that are drawn of a long block.
_ROW, _ROWS = 128, 6


def block_of_weights(stored):
    """The weights of one block and what they share, each as wide as its bits; a 16-bit weight above for comparison.

    stored: a row of data/formats.csv.
    """
    scale, bits, shared = 390 / _ROW, stored.value_bits, stored.block_bits or stored.superblock_bits
    size = stored.block if stored.block_bits else stored.superblock if shared else 1
    across = _ROW // bits
    drawn = min(size, across * _ROWS)
    rows = -(-drawn // across)
    twice = stored.block_bits and stored.superblock_bits
    sheet = Sheet(112 + 21 * rows + (18 if twice else 0))
    sheet.text(4, 14, "one weight in BF16: 16 bits").box(4, 20, 16 * scale, 18, "e")
    left = f", {exact(drawn, '')} of them drawn" if drawn < size else ""
    weights = f"{exact(size, '')} weights of {bits} bits" if size > 1 else f"one weight of {bits} bits"
    sheet.text(4, 57, weights + left)
    for place in range(drawn):
        x, y = 4 + place % across * bits * scale, 63 + 21 * (place // across)
        sheet.box(x, y, bits * scale - 1.5, 18, "a", round=2)
    y = 63 + 21 * rows
    if shared:
        sheet.box(4, y + 4, shared * scale, 18, "b").text(12 + shared * scale, y + 18, f"and {shared} bits that they share")
    total = f"{Case(stored)(stored_bits):.6g}"
    sheet.text(4, y + 45, f"together {total} bits a weight", bold=True)
    if twice:
        sheet.text(4, y + 63, f"with {stored.superblock_bits} bits more for each {exact(stored.superblock, '')}", color="soft")
    finding = f"{number(size)} weights share a scale, so one takes {total} bits" if shared else f"Each weight takes {total} bits"
    return sheet.picture(finding, f"A block of {stored.name}: {weights} and {shared} bits that they share, drawn to scale under "
                                  f"one BF16 weight of 16 bits. Together {total} bits a weight.")


# How the layers of a model are stored and computed: name -> format of the weights, and whether products run in FP8.
_STORED = {"BF16": ("BF16", 0), "FP8 weights": ("FP8", 0), "FP8 weights and products": ("FP8", 1),
           "INT4 weights": ("INT4-g128", 0)}
_PROMPT = 2048


def pass_table(model, gpu, caption):
    """Time of one decode step of one user, and of a prompt, by how weights are stored and products run; each with its range."""
    from pandas import DataFrame
    rows = []
    for name, (stored, narrow) in _STORED.items():
        one = Case(model=model, gpu=gpu, weight_format=stored, narrow_products=narrow, efficiency="achieved", batch=1,
                   context=_PROMPT, prompt=_PROMPT)
        rows.append({"stored": name} | {law.__name__: _ranged(one.band(law)) for law in (decode_seconds, prefill_seconds)})
    return table(DataFrame(rows), caption.format(gpu, _PROMPT),
                 labels={"stored": "layers in", "decode_seconds": "a token", "prefill_seconds": "the prompt"})


def _ranged(band):
    plan, low, high = map(seconds, (band.plan, band.low, band.high))
    unit = f" {plan.partition(' ')[2]}"
    return f"{plan} ({low.removesuffix(unit)} to {high.removesuffix(unit)})"


def bits_slider_chart(case, batch, context, name, gpu, usable):
    """The bits a weight may take on a card, against its memory and the tokens of context."""
    return slider_chart(
        case.but(weight_format=None, keep_embeddings=0),
        {"weights and cache": qn.serving_bytes, "weights": qn.quantized_weight_bytes, "memory to use": tm.usable_bytes},
        x="stored_bits", values=list(range(2, 17)), y_title="bytes", choose=("model", "gpu"), crossing=qn.affordable_bits,
        sliders={"batch": (1, max(64, batch), 1, batch), "context": (min(1024, context), max(32768, context), 1024, context)},
        finding="Beside {batch} sequences of {context} tokens, one {gpu} affords {affordable_bits} bits a weight",
        alt=f"Weights and cache of {name} grow in proportion to the bits of a weight. One {gpu} has {number(usable, 'byte')} to "
                 f"give, which {case(qn.affordable_bits):.2f} bits a weight fill.")


def cards_table(formats):
    paths = formats[(formats.least_capability.notna() | (formats.vendors != "")) & (formats.value_bits < 16)]
    products = [
        "16 bits" if not needs else f"{'INT' if whole else 'FP'}{wide:g}"
        for needs, wide, whole in zip(paths.product_needs, paths.product_bits, paths.integer_products)
    ]
    able = {name: int((narrow_products(catalogue.gpus(), name) > 0).sum()) for name in paths.index}
    return table(paths[["least_capability", "product_capability", "cache_capability"]]
                 .assign(vendors=paths.vendors.str.replace(" ", ", "), products=products, cards=able)
                 .reset_index(),
                 "Least compute capability: to serve a format, to multiply in its bits, to keep a cache in it",
                 labels={"weight_format": "format", "least_capability": "serve", "product_capability": "multiply",
                         "cache_capability": "cache", "vendors": "cards of", "products": "products in",
                         "cards": "cards that multiply in them"},
                 formats={"cards": lambda count: f"{count:g}" if count else ""}
                 | dict.fromkeys(("least_capability", "product_capability", "cache_capability"),
                                 lambda least: "" if least != least else f"{least:g}"))


def formats_table(format_table):
    return table(
        format_table.reset_index(), "Formats of weights, with all their scales counted",
        labels={"weight_format": "format", "title": "what it is", "value_bits": "bits of a value", "block": "block",
                "block_bits": "bits per block", "superblock_bits": "bits per super-block", "stored_bits": "bits a weight",
                "format_element_bytes": "bytes a weight", "embeddings": "embeddings too"},
        formats={"stored_bits": "{:.6g}".format, "format_element_bytes": "{:.4f} B".format})


def mixes_table(mixes, groups):
    return table(mixes[["value_bits", *groups]].assign(stored_bits=Case(mixes)(qn.stored_bits)).reset_index(),
                 "Formats that mix: mean bits a weight of the groups of tensors that differ",
                 labels={"weight_format": "format", "value_bits": "bits of a value", "stored_bits": "bits a weight"} | groups,
                 formats=dict.fromkeys(groups, lambda bits: f"{bits:.6g}" if bits else "") | {"stored_bits": "{:.6g}".format})


def fit_tiles(case, models, weight_format):
    """Models by the memory of a card: on how many, and in which format, each fits."""
    places = fit_map(case, models, catalogue.gpus().query("kind != 'unified'").groupby("marketed_bytes")["memory_bytes"].min())
    counts = places.groupby("kind").size().reindex(KINDS, fill_value=0)
    colors = dict(zip(KINDS, ["#7fc97f", "#ffd166", "#9ecae1", "#d9d9d9"]))
    return tiles(
        places.assign(memory=places.marketed_bytes / 1e9),
        "memory",
        "model",
        "kind",
        "mark",
        colors,
        x_title="memory of one GPU, GB",
        title=f"{counts.iloc[1]} of {len(places)} pairs of model and memory fit on one GPU only when quantized",
        alt=f"Models by GPU memory. Of {len(places)} pairs {counts.iloc[0]} fit on one GPU in BF16, {counts.iloc[1]} more on one "
        f"in {weight_format}, {counts.iloc[2]} on up to eight GPUs, and {counts.iloc[3]} need more.",
    ).properties(height=14 * len(models))
