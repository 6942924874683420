"""What runs on what: which model, in which format of its weights, fits on how many GPUs of which memory."""
from ..core.arithmetic import where
from ..laws.interconnect import gpus_required
from ..laws.quantization import serving_bytes
from ..laws.training_memory import usable_bytes

# GPUs that hold a model, as the map groups them.
KINDS = ("BF16 on one GPU", "quantized on one GPU", "quantized on 2 to 8 GPUs", "more than 8 GPUs")


def widest(needs, room):
    """Of the formats whose `needs` (bytes, by name) the room holds the one that takes most; "none" if it holds none."""
    held = needs[needs <= room]
    return held.idxmax() if len(held) else "none"


def fit_map(case, models, memories):
    """Each model on each memory: how many GPUs hold weights and cache, its `kind` of KINDS, and its `mark` on the map.

    memories: memory that the driver reports, by marketed bytes. Contexts end where a model's own does.
    """
    import pandas
    every = case.but(model=models, context=models["max_context"].clip(upper=case.inputs["context"]))
    needs = pandas.DataFrame({"wide": every.but(weight_format="BF16")(serving_bytes), "narrow": every(serving_bytes)})
    memories = memories.rename_axis("marketed_bytes").rename("memory_bytes").reset_index()
    places = needs.reset_index().merge(memories, how="cross")
    room = case.but(gpu=places[["memory_bytes"]])(usable_bytes)
    wide, gpus = gpus_required(places["wide"], room), gpus_required(places["narrow"], room)
    kind = where(wide == 1, 0, where(gpus == 1, 1, where(gpus <= 8, 2, 3)))
    return places[["model", "marketed_bytes"]].assign(
        gpus=gpus, kind=[KINDS[each] for each in kind],
        mark=[("B", "Q", f"{count:g}", "·")[each] for each, count in zip(kind, gpus)])
