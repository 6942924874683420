"""Charts and tables of the lesson on links: messages by size, every GPU and every link."""
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, seconds
from gpucalc.laws import interconnect as ic
from gpucalc.rows import catalogue
from ..components.charts import slider_chart
from ..components.show import table
from .network import paying_degree

_SMALL, _LARGE = 2**14, 10**9


def message_chart(near, far):
    """The time of an all-reduce by ring, tree and switch over two links, against the size of the message."""
    sums, inside = near.get("switch_latency", 0) > 0, Case(near, ranks=8)
    kinds = {"ring": ic.all_reduce_seconds, "tree": ic.tree_all_reduce_seconds, "switch": ic.switch_all_reduce_seconds}
    small, large = (inside.but(message_bytes=size)(ic.all_reduce_seconds) for size in (2**10, 2**33))
    return slider_chart(
        Case(), {f"{kind}, {row.name}": (law, {"link": row}) for row in (near, far) for kind, law in kinds.items()
                 if kind != "switch" or sums and row is near},
        x="message_bytes", values=[2**power for power in range(10, 34)], y_title="time of an all-reduce",
        log_x=True, log_y=True, sliders={"ranks": (2, 64, 1, 8), "link_efficiency": (0.5, 1, 0.01, 1)},
        finding="Among {ranks} GPUs, small messages pay latency and large ones bandwidth",
        alt=f"A ring all-reduce among eight GPUs over {near.name} takes {seconds(small)} for a kilobyte and {seconds(large)} for "
            "eight gigabytes: flat while latency rules, then in proportion to the message. The tree is faster for small "
            f"messages, the ring for large ones{', and a switch that sums beats both there' if sums else ''}.")


def gpu_table(model):
    """Every GPU: its link, the degree that pays, and the time to sum the gradients of the model."""
    cards = catalogue.gpus()
    half = cards.dropna(subset=["fp16_accumulate_flops"])
    shown = cards[["link", "link_bandwidth"]].assign(
        at_8192=paying_degree(Case(cards, hidden=8192)), at_hidden=paying_degree(Case(cards, hidden=model.hidden)),
        fp16=paying_degree(Case(half, hidden=8192, peak_flops=half.fp16_accumulate_flops)),
        gradient_seconds=Case(cards, params=model.params, data_parallel=8)(ic.gradient_seconds))
    return table(shown.reset_index(),
                 f"Largest tensor-parallel degree that pays, and time to sum the gradients of {model.name} among eight",
                 labels={"link_bandwidth": "bandwidth", "at_8192": "degree, h = 8,192", "at_hidden": f"degree, {model.name}",
                         "fp16": "FP16 accumulation, h = 8,192", "gradient_seconds": "gradients"})


def link_table(model, gpu):
    """Every link: bandwidth, latencies, two messages, and the degree that would pay for the model on the GPU."""
    every = catalogue.links()
    timed = Case(every.dropna(subset=["latency"]), ranks=8)
    whole = every.dropna(subset=["latency"])["link_bandwidth"]
    shown = every[["link_bandwidth", "latency", "base_latency"]].assign(
        small=timed.but(message_bytes=_SMALL, group_bandwidth=whole)(ic.group_all_reduce_seconds),
        large=timed.but(message_bytes=_LARGE)(ic.all_reduce_seconds),
        degree=paying_degree(Case(every, hidden=model.hidden, peak_flops=gpu.peak_flops)))
    return table(shown.reset_index(),
                 f"All-reduce among eight GPUs, and the degree that would pay for {model.name} on {gpu.name}",
                 labels={"link_bandwidth": "bandwidth", "latency": "latency", "base_latency": "start",
                         "small": f"time of {number(_SMALL, 'byte')}", "large": f"time of {number(_LARGE, 'byte')}"},
                 formats={"small": seconds, "large": seconds})
