"""How pages show the layouts of a training job: tables of layouts, what a step waits for, the front of memory and time."""
import altair
from pandas import DataFrame

from gpucalc.core.figures import percent, seconds, signed, three_figures, usd
from gpucalc.decisions.layouts import layout_name, readable, reasons
from .charts import axis, bars, finish
from .show import table

LABELS = {"gpus": "GPUs", "micro_batches": "micro-batches × sequences", "virtual_stages": "chunks a stage",
          "recompute": "recompute", "step_seconds": "step", "step": "plan for (8 in 10)", "plan_seconds": "plan for",
          "measured_seconds": "step as measured", "memory": "memory (8 in 10)", "layout_mfu": "MFU", "reached_hfu": "HFU",
          "training_bytes": "memory", "fits": "fits in memory",
          "gpu_hours": "GPU-hours", "training_days": "days", "compute_usd": "cost", "slower": "over the best"}
FORMATS = {"plan_seconds": seconds, "measured_seconds": seconds,
           "layout_mfu": percent, "reached_hfu": percent, "share": percent, "gpu_hours": "{:,.0f}".format,
           "training_days": three_figures, "compute_usd": usd, "slower": lambda value: signed(round(value, 9), percent)}


def layouts_table(layouts, columns, caption, labels=None, formats=None):
    """Layouts of a search, with the columns to show; `layout`, `micro_batches` and `recompute` are made readable."""
    return steps_table(readable(layouts)[list(columns)], caption, labels, formats)


def steps_table(frame, caption, labels=None, formats=None):
    """Figures of training steps and runs under short headings."""
    return table(frame, caption, labels=LABELS | (labels or {}), formats=FORMATS | (formats or {}))


def published_table(layouts, caption):
    """Published layouts, `published_layouts`, each beside the best found for its job."""
    theirs = readable(DataFrame(layouts["published"].to_list()))[["layout", "memory"]]
    shown = theirs.assign(
        fits=layouts["fits"].to_list(), plan_seconds=[float(band.plan) for band in layouts["band"]],
        measured_seconds=layouts["measured_seconds"].to_list(), slower=layouts["slower"].to_list(),
        rank=[f"{row.rank:,} of {row.layouts:,}" for row in layouts.itertuples()],
        found=[layout_name(row) for row in layouts["found"]], job=layouts.index)
    columns = ["job", "layout", "fits", "plan_seconds", "measured_seconds", "slower", "rank", "memory", "found"]
    return steps_table(shown[columns], caption, labels={"found": "best found", "measured_seconds": "measured"})


def reasons_table(layouts, caption):
    """Layouts of a search by the first rule that they break."""
    return table(reasons(layouts), caption, formats=FORMATS)


def parts_table(parts, caption):
    """The parts of a step, `step_parts`, that take time, and their sum."""
    whole = sum(parts.values())
    rows = [*((name, value) for name, value in parts.items() if value), ("step", whole)]
    shown = DataFrame([dict(part=name, seconds=value, share=value / whole) for name, value in rows])
    return table(shown, caption, formats={"seconds": seconds, "share": percent})


def parts_bars(steps, alt):
    """The steps of several layouts, a bar each: name -> `step_parts`."""
    pieces = DataFrame([dict(layout=name, part=part, step_seconds=value) for name, parts in steps.items()
                        for part, value in parts.items() if value > 0])
    order = [part for part in next(iter(steps.values())) if part in set(pieces["part"])]
    return bars(pieces, "step_seconds", "layout", "part", alt, "time of a step", order)


def landscape(layouts, front, alt, most=500):
    """Time of a step against memory: up to about so many of the layouts, evenly spaced, and the front that nothing beats."""
    columns = ["training_bytes", "step_seconds"]
    points = thinned(layouts, most)
    degrees = [f"tensor {degree}" for degree in sorted(points["tensor_parallel"].unique())]
    drawn = DataFrame({name: points[name].map("{:.4g}".format).astype(float) for name in columns})
    drawn["kind"] = [f"tensor {degree}" for degree in points["tensor_parallel"]]
    x = axis(altair.X, "training_bytes", "training_bytes", "memory on the fullest GPU")
    y = axis(altair.Y, "step_seconds", "step_seconds", "time of a step", log=True)
    dots = altair.Chart(drawn).mark_circle(size=30, opacity=0.7).encode(
        x=x, y=y, color=altair.Color("kind:N", title=None, sort=degrees))
    line = altair.Chart(front[columns]).mark_line(interpolate="step-after", strokeWidth=2, color="#777").encode(x=x, y=y)
    return finish(line + dots, alt)


def thinned(frame, most=500):
    """Every so-manyth row of a frame, so that about `most` are left."""
    return frame.iloc[::max(1, len(frame) // most)]
