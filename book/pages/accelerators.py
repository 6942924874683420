"""The page of accelerators other than NVIDIA's: how they compare by the formulas, in what software, and how sure that is."""
import json

from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, times
from gpucalc.laws.arithmetic_intensity import ridge_point
from gpucalc.laws.memories import level_read_seconds
from gpucalc.laws.quantization import quantized_weight_bytes
from gpucalc.laws.shares import memory_rate, product_rate
from gpucalc.laws.worth import bandwidth_per_watt, flops_per_watt
from gpucalc.rows import catalogue
from ..components.catalogue_table import catalogue_table
from ..components.show import in_unit, table
from .nodes import summed

# What the others stand beside.
BESIDE = ("H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB")
BASE = BESIDE[0]
_RATIO = ("more_memory", "more_bandwidth", "more_flops")
_STANDS_FOR_NONE = "none"  # the row of shares.csv of cards that nobody benchmarked
VENDORS = {"cuda": "NVIDIA CUDA", "rocm": "AMD ROCm", "tpu": "Google TPU", "neuron": "AWS Neuron", "gaudi": "Intel Gaudi",
           "apple": "Apple"}


def compared():
    """Every accelerator that is not NVIDIA's, three that are and those with unified memory, each over the H100 SXM too."""
    frame, base = catalogue.gpus(), catalogue.gpu(BASE)
    frame = frame[(frame["vendor"] != "NVIDIA") | frame.index.isin(BESIDE) | (frame["kind"] == "unified")]
    return frame.assign(
        ridge=ridge_point(frame["peak_flops"], frame["bandwidth"]),
        more_memory=frame["memory_bytes"] / base.memory_bytes, more_bandwidth=frame["bandwidth"] / base.bandwidth,
        more_flops=frame["peak_flops"] / base.peak_flops,
        bandwidth_per_watt=summed(frame, bandwidth_per_watt), flops_per_watt=summed(frame, flops_per_watt)).reset_index()


def compare_table():
    """`compared` as the widget of the catalogue."""
    groups = {"Size": ["vendor", "memory_type", "memory_bytes", "bandwidth", "peak_flops", "ridge"],
              f"Over {BASE}": list(_RATIO), "Formats": ["peak_flops", "fp8_flops", "fp4_flops", "int8_flops"],
              "Link": ["link", "link_bandwidth", "reach"], "Power": ["tdp_watts", "bandwidth_per_watt", "flops_per_watt"],
              "About": ["generation", "year", "kind", "status", "note"]}
    frame = compared()[["gpu", *dict.fromkeys(name for names in groups.values() for name in names)]]
    good = dict.fromkeys(["memory_bytes", "bandwidth", "peak_flops", *_RATIO, "fp8_flops", "fp4_flops", "int8_flops",
                          "link_bandwidth", "reach", "bandwidth_per_watt", "flops_per_watt"], "high")
    return catalogue_table(frame, "Accelerators beside four chips of NVIDIA, dense peaks", groups, better=good,
                           filters=("vendor", "kind", "status"), compare=True,
                           labels={"gpu": "accelerator", "memory_type": "memory", "peak_flops": "peak, 16 bits",
                                   "fp8_flops": "FP8", "fp4_flops": "FP4", "int8_flops": "INT8", "more_memory": "memory",
                                   "more_bandwidth": "bandwidth", "more_flops": "peak, 16 bits", "ridge": "ridge point",
                                   "reach": "GPUs joined", "link_bandwidth": "per direction"},
                           formats=dict.fromkeys(_RATIO, times) | {"ridge": in_unit("FLOP/byte"),
                                                                   "year": "{:.0f}".format})


def reached():
    """What benchmarks reach on each card that has some of its own: shares of the peaks, and the FLOP/s and B/s that leaves."""
    frame = compared()
    frame = frame[frame["benchmark"] != _STANDS_FOR_NONE]
    return frame.assign(product_rate=product_rate(frame["peak_flops"], frame["wide_share"]),
                        memory_rate=memory_rate(frame["bandwidth"], frame["memory_share"]))


def reach_table():
    """`reached` as the page shows it."""
    shown = reached()[["gpu", "peak_flops", "wide_share_low", "wide_share", "wide_share_high", "product_rate", "bandwidth",
                       "memory_share", "memory_rate"]]
    return table(shown, "What benchmarks reach of the peaks in 16 bits",
                 labels={"gpu": "accelerator", "peak_flops": "peak", "wide_share_low": "least seen", "wide_share": "likely",
                         "wide_share_high": "most seen", "product_rate": "likely FLOP/s", "memory_share": "of the bandwidth",
                         "memory_rate": "likely bandwidth"},
                 formats=dict.fromkeys(("wide_share_low", "wide_share", "wide_share_high", "memory_share"), percent))


def software_table():
    return table(catalogue.software().reset_index()[["software", *VENDORS, "note"]], "Parts of CUDA and what stands for them",
                 labels=VENDORS | {"software": "part", "note": "remarks"})


def measured():
    """How many published measurements there are, by family and by the vendor of the card that they were made on."""
    frame, vendors = catalogue.measurements(), catalogue.gpus()["vendor"]
    named = [json.loads(inputs).get("gpu") for inputs in frame["inputs"]]
    held = DataFrame({"family": list(frame["family"]), "vendor": [vendors.get(gpu, "") for gpu in named]})
    held = held[held["vendor"] != ""]
    return held.groupby(["family", "vendor"]).size().unstack(fill_value=0)


def serving_rows(counted):
    """How many of those are of a server under load, by vendor."""
    return counted.loc[[family for family in counted.index if "serving" in family or "time per output" in family]].sum()


def measured_table():
    """`measured` as the page shows it, the family of most rows first."""
    frame = measured()
    most, families = (frame.sum(axis=axis).sort_values(ascending=False, kind="stable") for axis in (0, 1))
    frame = frame.loc[families.index, most.index]
    return table(frame.reset_index(), "Published measurements on a named card, by what they measure and who made it",
                 labels={"family": "what was measured"})


def unified_table(model, weight_format):
    """Chips whose GPU shares the processor's memory: what they hold, and the most tokens a second for one user."""
    frame = catalogue.gpus()
    frame = frame[(frame["kind"] == "unified") | frame.index.isin(BESIDE[:2])].reset_index()
    size = Case(model=model, weight_format=weight_format)(quantized_weight_bytes)
    seconds = level_read_seconds(size, frame["bandwidth"])
    shown = frame.assign(seconds=seconds, most=(1 / seconds).where(frame["memory_bytes"] > size))[
        ["gpu", "vendor", "memory_type", "memory_bytes", "bandwidth", "peak_flops", "most", "tdp_watts"]]
    return table(shown, f"Unified memory beside HBM, with {model} in {weight_format} ({number(size, 'byte')})",
                 labels={"gpu": "chip", "memory_type": "memory", "peak_flops": "peak, 16 bits", "most": "for one user, at most"},
                 formats={"most": in_unit("token/second")})
