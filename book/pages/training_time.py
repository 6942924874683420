"""Diagrams of a training step: what takes its time, and how a pipeline fills and drains."""
from gpucalc.core.figures import percent, seconds
from gpucalc.laws.interconnect import pipeline_bubble
from ..components.picture import Sheet, WIDE

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
