"""Diagrams of post-training: one step on a time line, in turn and apart, and what a GPU holds in each part of it."""
from pandas import DataFrame

from gpucalc.core.arithmetic import BYTES_PER_GB
from gpucalc.core.figures import number, seconds, three_figures
from gpucalc.laws import post_training as pt, rollouts as ro
from ..components.charts import slider_chart
from ..components.picture import Sheet, WIDE
from ..components.show import table

_LEFT, _ROW = 92, 24
_PARTS = {"writes": "a", "scores": "g", "trains": "b", "weights over": "soft"}


def _lane(sheet, top, name, parts, scale):
    """One lane of the time line: (what, from, until) in seconds; what is not there waits."""
    sheet.text(4, top + 16, name)
    sheet.box(_LEFT, top + 2, WIDE - _LEFT - 4, _ROW - 6, "wash", round=0)
    for what, start, end in parts:
        sheet.box(_LEFT + start * scale, top + 2, max((end - start) * scale - 1, 1), _ROW - 6, _PARTS[what], round=1)


def step_picture(case, apart):
    """One step with all GPUs in turn, `case`, and one with as many GPUs, some of which write the next answers meanwhile."""
    one, two = (each.terms("rollout_share") for each in (case, apart))
    writes, scores, trains = one["rollout_seconds"], one["scoring_seconds"], one["learning_seconds"] - one["scoring_seconds"]
    whole = max(one["grpo_step_seconds"], two["grpo_step_seconds"])
    scale, sheet = (WIDE - _LEFT - 4) / whole, Sheet(4 * _ROW + 96)
    sheet.text(4, 14, "In turn", bold=True)
    _lane(sheet, 20, "all GPUs", [("writes", 0, writes), ("scores", writes, writes + scores),
                                  ("trains", writes + scores, writes + scores + trains),
                                  ("weights over", writes + scores + trains, one["grpo_step_seconds"])], scale)
    sheet.text(_LEFT, 58, "done when the longest answer is written", color="soft")
    top = 70
    sheet.text(4, top + 14, "Apart", bold=True)
    learns, sync = two["learning_seconds"], two["grpo_step_seconds"] - two["sync_seconds"]
    split = two["learning_seconds"] - two["scoring_seconds"]
    _lane(sheet, top + 20, "engines", [("writes", 0, two["rollout_seconds"]), ("weights over", sync, two["grpo_step_seconds"])],
          scale)
    _lane(sheet, top + 20 + _ROW, "trainer", [("scores", 0, learns - split), ("trains", learns - split, learns),
                                              ("weights over", sync, two["grpo_step_seconds"])], scale)
    foot = top + 22 + 2 * _ROW
    sheet.arrow((_LEFT, foot + 6), (WIDE - 4, foot + 6)).text(WIDE - 4, foot + 22, "time", at="end", color="soft")
    sheet.words(4, foot + 40, ("write", "a"), ", ", ("score", "g"), ", ", ("train", "b"), ", send new weights; empty: waiting")
    told = [*map(seconds, (writes, scores, trains, one["grpo_step_seconds"] - writes - scores - trains, one["grpo_step_seconds"],
                           two["rollout_seconds"], learns, two["grpo_step_seconds"] - max(learns, two["rollout_seconds"]),
                           two["grpo_step_seconds"]))]
    return sheet.picture(
        "In turn, each part waits for the one before. Apart, the slower half sets the pace",
        "In turn: writing {}, scoring {}, training {}, sending {}, a step {}. Apart: engines write for {} while the trainer "
        "works for {}, then {} of sending, a step {}.".format(*told))


def copies_picture(case):
    """What one GPU holds while answers are written, scored and trained on, in turn; the dashed line is its memory."""
    held = case.terms("policy_bytes", "rollout_bytes")
    memory = case.rows["gpu"]["memory_bytes"]
    cache = held["rollout_sequence_bytes"] * held["rollout_places"]
    weights = held["held_weight_bytes"]
    moments = {"writes": [("weights", held["rollout_weight_bytes"], "a"), ("cache", cache, "c"),
                          ("stays", held["staying_bytes"], "h")],
               "scores": [("weights", weights, "a"), ("reference", held["reference_bytes"], "g")],
               "trains": [("weights", weights, "a"), ("gradients", held["held_gradient_bytes"], "d"),
                          ("optimizer", held["held_master_bytes"] + held["held_optimizer_bytes"], "b"),
                          ("more", max(held["policy_bytes"] - held["held_state_bytes"], 0), "h")]}
    most = max(memory, *(sum(size for _, size, _ in parts) for parts in moments.values()))
    scale, sheet = (WIDE - 70) / most, Sheet(3 * 46 + 26)
    for place, (moment, parts) in enumerate(moments.items()):
        top, left = 46 * place, 66.0
        sheet.text(4, top + 17, moment)
        words = []
        for name, size, color in parts:
            if size <= 0:
                continue
            sheet.box(left, top + 4, max(size * scale - 1, 1), 18, color, round=1)
            left += size * scale
            words += [", "] * bool(words) + [(f"{name} {three_figures(size / BYTES_PER_GB)}", color)]
        sheet.words(66, top + 37, *words, " GB", size=11)
    edge = 66 + memory * scale
    sheet.line((edge, 0), (edge, 138), color="ink", dashed=True)
    sheet.text(min(edge, WIDE - 4), 154, f"memory {number(memory, 'byte')}", at="end", color="soft")
    return sheet.picture("Each part of a step fills a GPU with something else", "; ".join(
        f"{moment}: " + ", ".join(f"{name} {number(size, 'byte')}" for name, size, _ in parts if size > 0)
        for moment, parts in moments.items()) + ".")


def splits_table(case, gpus, tensor_parallel, pipeline_parallel, gpu):
    ways = DataFrame(
        [
            dict(train=f"{share:.0%} train" if share < 1 else "all in turn",
                 **{name: each[name] for name in ("rollout_seconds", "learning_seconds", "sync_seconds", "grpo_step_seconds")})
            for share in (1, 0.75, 0.5, 0.25)
            for each in [case.but(trainer_share=share).terms(pt.grpo_step_seconds)]
            if gpus * share % (tensor_parallel * pipeline_parallel) == 0
        ])
    return table(ways, f"A step on {gpus} × {gpu} by how the GPUs are split, by the formulas",
                 labels={"train": "GPUs", "rollout_seconds": "writing", "learning_seconds": "scoring and training",
                         "sync_seconds": "new weights", "grpo_step_seconds": "a step"},
                 formats=dict.fromkeys(("rollout_seconds", "learning_seconds", "sync_seconds", "grpo_step_seconds"), seconds))


def passes_slider_chart(case, places, parts, output, output_p95, output_limit):
    tail = case.but(rollout_places=places, rollout_engines=parts["rollout_engines"], stale_steps=0)
    return slider_chart(
        tail,
        {"passes of an engine": ro.rollout_passes},
        x="output_p95",
        values=range(output, 3 * output + 1, max(output // 20, 1)),
        y_title="passes",
        finding="With one answer in twenty beyond {output_p95} tokens, an engine makes {rollout_passes} passes of "
        "{rollout_batch} sequences on average",
        sliders={"output_p95": (output, 3 * output, 100, output_p95),
                 "output_limit": (2 * output, 20 * output, 1000, output_limit)},
        alt=f"Passes of an engine against the length that one answer in twenty exceeds; {number(parts['rollout_passes'])} here.",
    )
