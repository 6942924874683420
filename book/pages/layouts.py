"""Parallel layouts: those published beside the best found, charts of a search, and pictures of how a model is split."""
import json
import math
from typing import Any

import altair
import pandas as pd
from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import percent, seconds, signed, three_figures, usd
from gpucalc.core.quantities import DEFAULTS
from gpucalc.decisions.layouts import (AXES, best_of, CLOSE, in_layout, KINDS, LAYOUT, layout_name, layouts_of,
                                       NEUTRAL, OVER_MEMORY, readable, reasons, usual_axes)
from gpucalc.laws.training_time import step_seconds
from gpucalc.rows import bands, catalogue
from ..components.charts import axis, bars, finish, slider_chart
from ..components.picture import Sheet
from ..components.sentences import Yours
from ..components.show import table


# Layouts that were published, each beside what the search finds for its job.

# What each setting of a layout divides, and what it costs.
EFFECT = {"tensor_parallel": ("each matrix", "two all-reduces a layer, each way"),
          "pipeline_parallel": ("the layers", "a bubble while the pipeline fills and drains"),
          "virtual_stages": ("a stage into chunks", "more sends; more in flight; a smaller bubble"),
          "context_parallel": ("each sequence", "keys and values gathered in each layer"),
          "expert_parallel": ("the experts", "tokens sent to their experts and back"),
          "zero_stage": ("optimizer, gradients, weights", "stages 2 and 3 talk in each micro-batch"),
          "micro_batch": ("nothing", "more activations; fewer micro-batches to fill a pipeline"),
          "recompute": ("nothing", "FLOP done twice, for memory"),
          "sequence_parallel": ("norms, residual stream", "nothing: the all-reduces are cut in two"),
          "recomputed_share": ("nothing", "recompute in some layers alone"),
          "expert_tensor_parallel": ("each expert", "all-reduces of what experts take in"),
          "shard_parallel": ("ZeRO's shards, over fewer GPUs", "sums of the shards between groups"),
          "zero_bubble": ("nothing", "nothing: weight gradients fill the bubble"),
          "loss_chunks": ("the loss", "nothing: less memory at the loss"),
          "offload_activations": ("nothing", "PCIe, where activations take longer there than products do")}


def published_layouts() -> pd.DataFrame:
    """Each row of data/layouts.csv as `published_layout` has it, by name; `measured_seconds` is the published step, NaN for none.

    `band` is that of the formula, and the publication has no part in it.
    """
    rows, found = catalogue.measurements(), {}
    for name, row in catalogue.layouts().iterrows():
        measured = rows.loc[row["row"]] if row["row"] else row
        own = json.loads(measured["inputs"])
        inputs = own | json.loads(row["inputs"])
        found[name] = published_layout(inputs, json.loads(row["tried"])) | dict(
            measured_seconds=_measured(Case.of(own), measured),
            band=bands.band(Case.of(inputs), step_seconds, without=measured["source"]))
    return pd.DataFrame.from_dict(found, orient="index")


def _measured(case, row):
    """The published step (s), where a rate was published by what the formula has for both."""
    law = row.get("law", "gpu_token_rate")
    return row["value"] if law == "step_seconds" else case(step_seconds) * case(law) / row["value"]


def published_layout(inputs: dict[str, Any], axes: dict[str, Any]) -> dict[str, Any]:
    """A published layout beside the best found for its job; `inputs` are those of a row of measurements.

    `axes` are what its software or its recipe allows instead of the usual values, and `where` a rule between them; its own are
    always among them. It ran, so those that need no more memory by the formulas fit too. `published` and `found` are rows of the
    search, `alike` is the best of its degrees; of the `layouts`, `rank` - 1 are faster than that; `fits`, by the formulas, is
    yes, no or too close to call; `slower` by what share the best of its degrees is longer than the best.
    """
    whole = {name: inputs.get(name, NEUTRAL.get(name, 1)) for name in LAYOUT}
    kept = {name: value for name, value in inputs.items() if name not in LAYOUT}
    case = Case.of(dict(gpus_per_node=DEFAULTS["gpus_per_node"][0], flash_attention=0) | kept)
    case = case if "model" in case.rows else case.but(model=kept)
    gpus = math.prod(whole[name] for name in ("tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel"))
    batch = math.prod(whole[name] for name in ("data_parallel", "micro_batch", "micro_batches"))
    theirs = layouts_of(case, gpus, batch, {name: [whole[name]] for name in AXES}).to_dict("records")[0]
    usual = usual_axes(case.rows["model"], [gpus]) | axes
    every = layouts_of(case, gpus, batch, {name: sorted({*usual[name], whole[name]}) for name in AXES})
    every = every.query(axes["where"]) if "where" in axes else every
    room = every["training_bytes"] <= theirs["training_bytes"] * (1 + 1e-9)
    good = best_of(every.assign(reason=every["reason"].where(~room | ~every["reason"].isin([CLOSE, OVER_MEMORY]), "")))
    alike = good[(good[list(KINDS[:4])] == [whole[name] for name in KINDS[:4]]).all(axis=1)].to_dict("records")[0]
    return dict(gpus=gpus, case=in_layout(case, theirs), published=theirs, found=good.to_dict("records")[0], alike=alike,
                layouts=len(good), rank=1 + int((good["plan_seconds"] < alike["plan_seconds"]).sum()),
                fits={"": "yes", CLOSE: "too close to call", OVER_MEMORY: "no"}.get(theirs["reason"], theirs["reason"]),
                slower=alike["plan_seconds"] / good["plan_seconds"][0] - 1)


# Diagrams of layouts: what each kind of parallelism cuts, and how a layout stands on a cluster.

_COLORS = "abcd"
# Kinds of parallelism: name, what it cuts, and the color of a matrix column and layer of a model by the GPU that holds it.
_CUTS = (("data parallel", "the batch: whole copies", lambda column, layer: 0),
         ("tensor parallel", "every matrix", lambda column, layer: column),
         ("pipeline parallel", "the layers", lambda column, layer: layer),
         ("context parallel", "every sequence", lambda column, layer: 0))


def cuts_picture():
    """A model of four layers and its tokens, cut over four GPUs in four ways; a color is a GPU."""
    sheet = Sheet(282)
    for place, (name, what, holder) in enumerate(_CUTS):
        x, y = place % 2 * 206, place // 2 * 134
        sheet.text(x + 4, y + 14, name, bold=True).text(x + 4, y + 30, what, color="soft", size=12)
        if name == "data parallel":
            for copy in range(4):
                _model(sheet, x + 4 + 48 * copy, y + 40, 10, lambda column, layer, copy=copy: copy)
                sheet.box(x + 4 + 48 * copy, y + 106, 39, 12, _COLORS[copy], round=0)
        elif name == "context parallel":
            for piece in range(4):
                _model(sheet, x + 4 + 48 * piece, y + 40, 10, lambda column, layer, piece=piece: piece)
                sheet.box(x + 4 + 48 * piece, y + 106, 48 if piece < 3 else 39, 12, _COLORS[piece], round=0)
        else:
            _model(sheet, x + 4, y + 40, 46, holder)
            sheet.box(x + 4, y + 106, 183, 12, "line", round=0)
    sheet.text(4, 274, "below each model: the tokens that pass it", color="soft", size=12)
    return sheet.picture("Four ways to cut one job over four GPUs",
                         "A model of four layers over its tokens; a color is a GPU. Data parallel: four copies, each with its "
                         "own sequences. Tensor parallel: each GPU holds a column of every matrix. Pipeline parallel: each holds "
                         "a layer. Context parallel: four copies that share one sequence.")


def _model(sheet, x, y, side, holder):
    """Four layers of four columns, each in the color of the GPU that holds it."""
    for layer in range(4):
        for column in range(4):
            sheet.box(x + column * side, y + layer * 15, side - 1, 13, _COLORS[holder(column, layer)], round=1)


def cluster_picture(case):
    """A layout on its nodes: the tensor-parallel group, the stages of a pipeline, the replicas."""
    yours, node = Yours(case), int(case.inputs["gpus_per_node"])
    sheet = Sheet(196)
    for copy in (2, 1, 0):
        sheet.box(8 + 7 * copy, 12 + 7 * copy, 376, 132, "paper" if copy == 0 else "wash", outline="line")
    for stage in range(4):
        x = 20 + 90 * stage
        sheet.box(x, 26, 78, 66, "wash", outline="line")
        for gpu in range(min(node, 16)):
            sheet.box(x + 7 + 17 * (gpu % 4), 32 + 15 * (gpu // 4), 13, 11, _COLORS[stage], round=1)
        sheet.text(x + 39, 86, f"stage {stage + 1}" if stage < 3 else "…", at="middle", size=12)
        if stage < 3:
            sheet.arrow((x + 80, 58), (x + 88, 58))
    sheet.words(20, 114, "closest together: ", ("tensor parallel ", "a"), (yours.tensor_parallel, "a"), ", then context ",
                yours.context_parallel)
    sheet.words(20, 134, "along the row: ", ("pipeline parallel ", "b"), (yours.pipeline_parallel, "b"))
    sheet.words(22, 184, "the rows: ", ("data parallel ", "e"), (yours.data_parallel, "e"), ", on ", yours.layout_gpus, " GPUs")
    degrees = ("tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel")
    held = ", ".join(f"{name.replace('_', ' ')} {getattr(yours, name)}" for name in degrees)
    return sheet.picture("Fast links for tensor parallel, slow ones for copies",
                         "Neighbors share matrices, the stages in a row share the layers, copies of the row share the batch: "
                         f"{held}.")


# How pages show the layouts of a training job: tables of layouts, what a step waits for, the front of memory and time.

LABELS = {"gpus": "GPUs", "micro_batches": "micro-batches × sequences", "virtual_stages": "chunks a stage",
          "recompute": "recompute", "step_seconds": "step", "step": "plan for (8 in 10)", "plan_seconds": "plan for",
          "measured_seconds": "step as measured", "memory": "memory (8 in 10)", "layout_mfu": "MFU", "reached_hfu": "HFU",
          "training_bytes": "memory", "fits": "fits in memory", "used": "in a published run", "gpu_hours": "GPU-hours",
          "training_days": "days", "compute_usd": "cost", "slower": "over the best", "found": "best found"}
FORMATS = {"plan_seconds": seconds, "measured_seconds": seconds,
           "layout_mfu": percent, "reached_hfu": percent, "share": percent, "gpu_hours": "{:,.0f}".format,
           "training_days": three_figures, "compute_usd": usd, "slower": lambda value: signed(round(value, 9), percent)}


def layouts_table(layouts, columns, caption, labels=None, formats=None):
    """Layouts of a search, with the columns to show; `layout`, `micro_batches`, `recompute` and `used` are made readable."""
    if "used" in layouts:
        layouts = layouts.assign(used=["✓" if each else "" for each in layouts["used"]])
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
    return steps_table(shown[columns], caption, labels={"measured_seconds": "measured"})


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


def mfu_slider_chart(moving, nothing, layers, few, many, again):
    return slider_chart(
        moving,
        {"nothing recomputed": nothing, "layers recomputed": layers},
        x="micro_batches",
        values=[8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256],
        log_x=True,
        y_title="MFU",
        finding=[("pipeline_parallel == 1",
                  "Without a pipeline, {micro_batches} micro-batches reach {layout_mfu:percent} of the peak"),
                 "With {pipeline_parallel} stages, {micro_batches} micro-batches reach {layout_mfu:percent} of the peak"],
        sliders={"tensor_parallel": (1, 16, 1, 8), "pipeline_parallel": (1, 32, 1, 16), "virtual_stages": (1, 8, 1, 1)},
        alt=f"MFU against micro-batches, with 8-way tensor parallel and 16 pipeline stages: "
        f"{percent(few)} with 16 micro-batches, "
        f"{percent(many)} with 256. With whole layers recomputed the latter is {percent(again)}.",
    )


def axes_of_search(axes):
    """Axes of a search with the values that it tries, what each cuts and what that costs."""
    return DataFrame([dict(axis=axis, values=", ".join(map(str, values)), splits=EFFECT[axis][0], costs=EFFECT[axis][1])
                      for axis, values in axes.items()])
