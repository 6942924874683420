"""What a size of model needs, and what each feature of a GPU moves, as a page shows them."""
import math

from pandas import DataFrame

from gpucalc.core.figures import number, three_figures, times
from gpucalc.core.quantities import DEFAULTS, QUANTITIES
from gpucalc.decisions import capacity
from gpucalc.rows import catalogue
from ..components import sizes
from ..components.account import MOST_REPLICAS
from ..components.catalogue_table import catalogue_table
from ..components.sentences import in_words
from ..components.show import table
from . import features

# What no formula shows, by the feature: why it matters, to train and to serve.
UNCOUNTED = {
    "error correction (ECC)": ("a flipped bit ends or spoils a run of weeks", "a wrong answer now and then"),
    "MIG": ("slices are too small to train on", "several small models share a card without waiting for each other"),
    "license for data centers": ("decides where the card may stand", "decides where the card may stand"),
    "software": ("kernels for each format, and libraries across GPUs", "an engine with a path for the format"),
}


class Count:
    """A number of GPUs to plan for that reads with the range of eight in ten where its ends differ."""

    def __init__(self, gpus):
        self.plan, self.said = min(gpus.plan, MOST_REPLICAS + 1), _counted(gpus)

    def __float__(self):
        return float(self.plan)


def _counted(gpus):
    low, plan, high = (f"{each:,.0f}" if each < math.inf else "" for each in gpus)
    if not plan:
        return f"over {MOST_REPLICAS:,}"
    return plan if low == high else f"{plan} ({low} to {high})" if high else f"{plan} ({low} or more)"


def _said(count):
    return count.said


def chosen(models):
    """The models of the tables: those that are named, else the nearest of each size, from small to large."""
    named = list(models or sizes.nearest_models().values())
    return sorted(named, key=lambda name: catalogue.model(name).params)


def _sizes(models):
    rows = catalogue.models().loc[list(models)]
    return DataFrame({"model": rows.index, "params": rows["params"].to_numpy(float)})


def serving_table(models, formats, context, batch, cache_element_bytes, memories=sizes.MEMORIES):
    """Weights of each model by format, and the GPUs of each memory that serve it in the narrowest and the widest of them."""
    frame, show, groups = _sizes(models), {"params": number}, {}
    for name, held in sizes.weights(models, formats).items():
        columns = {f"weights in {name}": held.to_numpy()}
        show[f"weights in {name}"] = lambda value: number(value, "byte")
        for size, column in sizes.to_serve(models, name, memories, context, batch, cache_element_bytes).items():
            columns[f"{name}, {size} GB"] = [Count(each) for each in column]
            show[f"{name}, {size} GB"] = _said
        frame, groups[name] = frame.assign(**columns), ["params", *columns]
    caption = f"GPUs that hold weights and cache: {batch} users with {context:,} tokens each"
    return catalogue_table(frame, caption, groups, labels={"params": "parameters"}, formats=show)


def formats_table(model, formats, context, batch, cache_element_bytes, memories=sizes.MEMORIES):
    """One model in each format, and in the narrowest with narrow caches: bytes a parameter, weights, and GPUs of each memory."""
    params = catalogue.model(model).params
    kept = [(name, cache_element_bytes, name) for name in formats] + [
        (formats[-1], size, f"{formats[-1]}, cache in {stored.name}") for size, stored in capacity.cache_formats().items()]
    rows = []
    for name, cache, title in kept:
        held = float(sizes.weights([model], [name]).iloc[0, 0])
        needs = sizes.to_serve([model], name, memories, context, batch, cache).iloc[0]
        rows.append({"format": title, "each": held / params, "weights": held} | {
            f"{size} GB": Count(gpus) for size, gpus in needs.items()})
    show = {"each": three_figures, "weights": lambda value: number(value, "byte")}
    return table(DataFrame(rows), f"{model} by format: GPUs for {batch} users with {context:,} tokens each",
                 {"each": "bytes a parameter"}, show | {f"{size} GB": _said for size in memories})


def training_table(models, sequence, memories=sizes.MEMORIES):
    """The fewest GPUs of each memory that hold each way to train each model."""
    frame, groups = _sizes(models).drop(columns="params"), {}
    for way in sizes.TRAININGS:
        groups[way] = [f"{way}, {size} GB" for size in memories]
        for title, column in zip(groups[way], sizes.to_train(models, way, memories, sequence).to_numpy().T):
            frame[title] = [Count(each) for each in column]
    return catalogue_table(frame, f"GPUs that hold the state and one sequence of {sequence:,} tokens each", groups,
                           formats=dict.fromkeys(frame.columns[1:], _said))


def pretraining_table(models, gpu):
    """GPU-hours to train each model from scratch on the usual tokens a parameter, and days on a thousand GPUs."""
    per = DEFAULTS["tokens_per_param"].value
    hours = sizes.pretraining(models, gpu, per)
    frame = _sizes(models).assign(
        tokens=lambda rows: per * rows["params"], plan=hours["plan"].to_numpy(),
        ends=[f"{number(low)} to {number(high)}" for low, high in zip(hours["low"], hours["high"])])
    return table(frame, f"Hours of {gpu} to train from scratch, {per:g} tokens a parameter", labels={
        "params": "parameters", "tokens": "tokens to train on", "plan": "GPU-hours, plan", "ends": "8 in 10"},
        formats=dict.fromkeys(("params", "tokens", "plan"), number))


# Features

# Why each feature of the plan matters, and the formula that shows it.
COUNTED = {
    "memory": ("holds weights, cache and the state of training", "concurrency"),
    "memory bandwidth": ("each step of decode reads all weights and the cache", "decode_seconds"),
    "FLOP/s in every format": ("a prompt and a training step multiply many tokens at once", "prefill_seconds"),
    "bandwidth of the GPUs' link": ("GPUs that split a matrix exchange results in each layer", "all_reduce_seconds"),
    "half the latency of that link": ("the small messages of decode cost their start", "all_reduce_seconds"),
    "bandwidth of the network": ("machines exchange gradients in each step", "step_seconds"),
    "weights and products in 8 bits": ("half the bytes to read, and twice the products a second", "quantized_weight_bytes")}


def features_table(model, gpu, weight_format, batch, context, recipe, machines):
    """What twice as much of each feature does to serving and training, in times as fast or as many, and why."""
    found = features.moved(model, gpu, weight_format, batch, context, recipe, machines)
    narrow = features.moved(model, gpu, "FP8", batch, context, recipe, machines).loc["as it is"] / found.loc["as it is"]
    frame = found.drop("as it is")
    frame.loc["weights and products in 8 bits"] = narrow.where(narrow.index != "step")
    frame = frame.rename(columns={column: load for load, column in features.LOADS.items()}).assign(
        why=[COUNTED[name][0] for name in frame.index], formula=[QUANTITIES[COUNTED[name][1]].meaning for name in frame.index])
    caption = (f"Twice as good: {model} on {features.SERVER} × {gpu}, a full batch of {batch} users, training on {machines} such "
               "machines; times as fast, or as many")
    return catalogue_table(frame.rename_axis("feature").reset_index(), caption, {
        "how much": [*features.LOADS], "why": ["why", "formula"]}, labels={"formula": "the formula gives"},
        formats=dict.fromkeys(features.LOADS, _moved))


def _moved(ratio):
    return "no change" if abs(ratio - 1) < 0.005 else times(ratio)


def strongest(model, gpu, weight_format, batch, context, recipe, machines):
    """The feature that moves each load most, in words."""
    found = features.moved(model, gpu, weight_format, batch, context, recipe, machines).drop("as it is")
    return in_words([f"{load} by {found[column].idxmax()} ({times(found[column].max())})"
                     for load, column in features.LOADS.items()])


def uncounted_table():
    """Features that no formula counts, and why they matter."""
    rows = [dict(feature=name, training=train, inference=serve) for name, (train, serve) in UNCOUNTED.items()]
    return table(DataFrame(rows), "Features that no formula shows")


def needed(model, weight_format, size, context, batch, cache_element_bytes):
    """GPUs of one memory that serve a model, in words: `2 GPUs of 80 GB`."""
    count = Count(sizes.to_serve([model], weight_format, [size], context, batch, cache_element_bytes).iloc[0, 0])
    return f"{count.said} GPU{'' if count.said == '1' else 's'} of {size} GB"
