"""What runs on what: which model, in which format of its weights, fits on how many GPUs of which memory."""
from gpucalc.core.arithmetic import where
from gpucalc.laws.interconnect import gpus_required
from gpucalc.laws.quantization import affordable_bits, serving_bytes
from gpucalc.laws.training_memory import usable_bytes
from gpucalc.rows import catalogue

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
