"""Diagrams of a training step: what takes its time, and how a pipeline fills and drains."""

from gpucalc.core.figures import days, number, percent, seconds, three_figures
from gpucalc.laws import training_cost as tc, training_time as tt
from gpucalc.laws.interconnect import pipeline_bubble
from ..components.charts import slider_chart
from ..components.picture import Sheet, WIDE
from ..components.show import in_unit, table

_NAMES, _ROW, _FEW = 168, 22, 8


def step_picture(parts):
    """The parts of a step, `layouts.step_parts`, each from where the last one ended."""
    whole, scale = sum(parts.values()), (WIDE - _NAMES - 62) / sum(parts.values())
    shown = {name: value for name, value in parts.items() if value / whole >= 0.001}
    sheet, start = Sheet(_ROW * len(shown) + 4), 0.0
    for place, (name, value) in enumerate(shown.items()):
        top, color = place * _ROW, "a" if name == "matrix products" else "b"
        sheet.text(_NAMES - 8, top + 15, name, at="end")
        sheet.box(_NAMES + start, top + 3, max(value * scale, 1), _ROW - 6, color, round=2)
        start += value * scale
        sheet.text(_NAMES + start + 5, top + 15, percent(value / whole), color="soft")
    useful = parts["matrix products"] / whole
    return sheet.picture(f"The GPUs multiply matrices in {percent(useful)} of a step", "Parts of a step: " + ", ".join(
        f"{name} {seconds(value)}" for name, value in shown.items()) + ".")


def pipeline_picture(case):
    """Stages of a pipeline against time, with few micro-batches: each passes forward through all stages, then back."""
    stages = min(int(case.inputs["pipeline_parallel"]), 4)
    if stages < 2:
        stages = 4
    rounds = stages + _FEW - 1
    wide, sheet = 336 / (3 * rounds), Sheet(26 * stages + 46)
    for stage in range(stages):
        sheet.text(4, 26 * stage + 17, f"stage {stage + 1}").box(62, 26 * stage + 3, 336, 20, "wash", round=0)
        for batch in range(_FEW):
            sheet.box(62 + (stage + batch) * wide, 26 * stage + 3, wide - 1, 20, "a", round=1)
            back = rounds + 2 * (stages - 1 - stage + batch)
            sheet.box(62 + back * wide, 26 * stage + 3, 2 * wide - 1, 20, "b", round=1)
    foot = 26 * stages
    sheet.arrow((62, foot + 8), (398, foot + 8)).text(398, foot + 24, "time", at="end", color="soft")
    sheet.words(62, foot + 24, ("forward", "a"), ", ", ("backward", "b"), ", empty: waiting")
    here, idle = case(pipeline_bubble), case.but(pipeline_parallel=stages, micro_batches=_FEW, virtual_stages=1)(pipeline_bubble)
    return sheet.picture(f"A pipeline waits while it fills and drains: {percent(idle)} of the time with {_FEW} micro-batches",
                         f"{stages} stages and {_FEW} micro-batches: the first stages wait at the turn and the last ones at both "
                         f"ends. The page's own step has {case.inputs['micro_batches']} micro-batches and waits {percent(here)}.")


def counted_table(counted, name, sequence):
    return table(
        counted,
        f"FLOP of a token of {name} at {sequence:,} tokens, and what the same step reaches of the peak",
        labels={"counted": "what is counted", "used_by": "who counts so", "flops": "for each token", "share": "of the peak"},
        formats={"flops": in_unit("FLOP"), "share": percent},
    )


def chunks_slider_chart(virtual_stages, case, COUNTS, overlap, product_share, few, many):
    chunks = {
        f"{each} chunk{'s' * (each > 1)} of layers a GPU": (tt.layout_mfu, dict(virtual_stages=each))
        for each in sorted({1, virtual_stages})
    }
    return slider_chart(
        case, chunks, x="micro_batches", values=COUNTS, log_x=True, y_title="MFU",
        sliders={"overlap": (0, 1, 0.05, overlap), "compute_efficiency": (0.3, 1, 0.01, product_share)},
        alt=f"MFU against micro-batches in a step, all communication shown. It rises from {percent(few)} with one "
        f"micro-batch to {percent(many)} with {COUNTS[-1]}.")


def days_slider_chart(count, estimate, training_tokens, name, run, gpu):
    GPUS = sorted({64 * step for step in range(1, 33)} | {count})
    return slider_chart(
        estimate,
        {"days of the run": tc.training_days},
        x="gpus",
        values=GPUS,
        y_title="days",
        choose=("model", "gpu"),
        finding="At {mfu:percent} of the peak, {gpus} GPUs take {training_days} for {training_tokens} tokens",
        sliders={"mfu": (0.1, 0.8, 0.0001, estimate.inputs["mfu"]), "training_tokens": (1e12, 2e13, 1e12, training_tokens)},
        alt=f"Days of a run of {name} on {number(training_tokens)} tokens against GPUs: {days(run.plan)} on {count:,} × {gpu}.",
    )


def optimal_table(optimal, gpu, mfu):
    return table(
        optimal,
        f"Least loss for a budget; the hours are of {gpu} at {percent(mfu)} MFU",
        labels={"training_flops": "FLOP", "optimal_params": "parameters", "optimal_tokens": "tokens",
                "ratio": "tokens per parameter", "training_loss": "loss", "hours": "GPU-hours"},
        formats={"training_flops": "{:.3g}".format, "ratio": three_figures, "training_loss": three_figures, "hours": number},
    )
