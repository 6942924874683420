"""What each feature of a GPU moves: the same model and load on a GPU of which one thing is twice as good."""
import pandas as pd

from gpucalc.core.evaluate import Case
from gpucalc.decisions import capacity
from gpucalc.decisions.market import NETWORKS, SERVER
from gpucalc.laws.training_time import step_seconds
from gpucalc.rows import catalogue
from .machines import ALONE

# What is doubled, or halved where less is better, by the feature in words; columns of a card with its link.
FEATURES = {
    "memory": {"memory_bytes": 2},
    "memory bandwidth": {"bandwidth": 2},
    "FLOP/s in every format": dict.fromkeys(("peak_flops", "fp8_flops", "fp4_flops", "int8_flops", "narrow_flops",
                                             "integer_flops", "quarter_flops", "fp32_flops", "tf32_flops"), 2),
    "bandwidth of the GPUs' link": dict.fromkeys(("link_bandwidth", "port_bandwidth", "quick_bandwidth"), 2),
    "half the latency of that link": dict.fromkeys(("latency", "base_latency", "quick_latency", "quick_base_latency",
                                                    "switch_latency"), 0.5),
    "bandwidth of the network": {"network_bandwidth": 2},
}
# Sides of the table: what is measured, and whether more of it is better.
LOADS = {"decode for one user": "decode", "decode of a full batch": "full", "prefill": "prefill", "users held": "places",
         "training step": "step"}


def variants(gpu, network=NETWORKS[True]):
    """The GPU as it is, and with each of the FEATURES, as rows of cards with their link and network."""
    card = capacity.with_links().loc[gpu]
    between = catalogue.link(network)
    card = pd.concat([card, pd.Series(dict(network_bandwidth=between.link_bandwidth, network_latency=between.latency))])
    rows = {"as it is": card} | {name: card.copy() for name in FEATURES}
    for name, changes in FEATURES.items():
        for column, times in changes.items():
            rows[name][column] = card[column] * times
    return pd.DataFrame(rows).T.infer_objects()


def moved(model, gpu, weight_format, batch, context, recipe, machines):
    """How many times as fast, or as many, each of LOADS gets with each of the FEATURES; the first row has the figures.

    Served on one machine of 8 GPUs, trained on so many of them: matrices split inside a machine, its states over all.
    """
    cards = variants(gpu)
    cards = cards.assign(narrow_products=capacity.narrow_products(cards, weight_format)).rename_axis("gpu")
    case = Case(model=model, weight_format=weight_format, cache_element_bytes=2, prompt=context - 1, output=1, **ALONE)
    points = capacity.search(case, cards, [SERVER], batches=(1, batch)).set_index("gpu")
    one, full = (points[points["batch"] == size] for size in (1, batch))
    job = Case(model=model, recipe=recipe, efficiency="achieved", gpu=cards, sequence=context, flash_attention=1, micro_batch=1,
               micro_batches=4, recompute=0, tensor_parallel=SERVER, sequence_parallel=1, data_parallel=machines, zero_stage=1,
               gpus_per_node=SERVER)
    found = pd.DataFrame({"decode": 1 / one["replica_pass_seconds"], "full": batch / full["replica_pass_seconds"],
                          "prefill": 1 / one["replica_prefill_seconds"], "places": full["places"],
                          "step": 1 / job(step_seconds)}).reindex(cards.index)
    times = found / found.loc["as it is"]
    return pd.concat([found.loc[["as it is"]], times.drop("as it is")])
