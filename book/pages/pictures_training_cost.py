"""Pictures of the cost of a run: what its clock is spent on, and how tokens become dollars."""
from gpucalc.core.figures import chance, dollars, hourly, number, percent, quantity
from gpucalc.laws.goodput import goodput, job_failure_seconds
from gpucalc.laws.renting import checkpoint_interval, lost_seconds
from gpucalc.laws.training_cost import compute_usd, planned_gpu_hours, training_flops
from ..components.picture import WIDE, Sheet

_TALL, _TOP = 34, 26


def clock_picture(job):
    """Some hours of a job that fails once, to scale: work, checkpoints, lost work, the restart; and what is left of a run.

    job: a case with what a checkpoint and a restart take, the time between two failures, and the number of GPUs.
    """
    work, lost, kept = job(checkpoint_interval), job(lost_seconds), job(goodput)
    saving, restart = job.inputs["checkpoint_seconds"], job.inputs["restart_seconds"]
    pieces = [("work", work, "a"), ("saved", saving, "c"), ("work", work, "a"), ("saved", saving, "c"), ("lost", lost, "d"),
              ("restart", restart, "b"), ("again", lost, "a")]
    scale, sheet, left = WIDE / sum(long for _, long, _ in pieces), Sheet(186), 0.0
    places = {}
    for name, long, color in pieces:
        sheet.box(left, _TOP, max(long * scale - 1, 2), _TALL, color, round=1)
        places.setdefault(name, []).append((left, left + long * scale))
        left += long * scale
    stop = places["restart"][0][0]
    sheet.line((stop, 6), (stop, _TOP + _TALL + 4), color="d", thick=2.5)
    sheet.text(stop - 5, 18, "a GPU fails", "end", "d", True)
    sheet.text(places["work"][0][0] + 2, 18, f"{number(work / 3600, 'hour')} of work", color="a", bold=True)
    for place, (said, color) in enumerate((
            (f"checkpoint, {number(saving / 60)} min", "c"), (f"lost, {number(round(lost / 60))} min: computed again", "d"),
            (f"restart, {number(restart / 60)} min", "b"))):
        _key(sheet, place, color, said)
    sheet.text(0, 134, f"The whole run on {number(job.inputs['gpus'])} GPUs, all of it paid:", color="soft")
    sheet.box(0, 142, WIDE * kept - 1, 24, "a", round=1).box(WIDE * kept, 142, WIDE * (1 - kept), 24, "d", round=1)
    sheet.text(6, 159, f"{percent(kept)} moves it forward", color="paper", bold=True)
    sheet.text(WIDE, 182, f"{percent(1 - kept)} lost", "end", "d", True)
    return sheet.picture(f"Every hour is paid; on {number(job.inputs['gpus'])} GPUs, {chance(kept)} of the hours count",
                         f"A GPU of the job fails every {number(job(job_failure_seconds) / 3600, 'hour')}. The run writes a "
                         f"checkpoint after every {number(work / 3600, 'hour')} of work; a failure loses "
                         f"{number(lost / 3600, 'hour')} of work and a restart.")


def _key(sheet, place, color, said):
    across, down = ((0, 82), (190, 82), (0, 104))[place]
    sheet.box(across, down - 11, 12, 12, color, round=2).text(across + 18, down, said)


def chain_picture(run, name):
    """From tokens to dollars in four boxes; run: a case with a model, a GPU, tokens, a share of the peak and a rent."""
    given = run.inputs
    hours, usd = run(planned_gpu_hours), run(compute_usd)
    peak, rate = run.rows["gpu"].peak_flops, given["usd_per_hour"]
    sheet, tall, gap = Sheet(286), 44, 36
    boxes = [("the job", f"{name}, {number(given['training_tokens'])} tokens", "× 6 FLOP for each parameter and token"),
             ("the work", quantity("training_flops", run(training_flops)),
              f"÷ {percent(given['mfu'])} of {number(peak, 'FLOP/second')}, the peak"),
             ("the time", f"{number(hours)} GPU-hours", f"× {hourly(rate)}"),
             ("the bill", f"{dollars(usd)}, if nothing stops", "")]
    for place, (what, said, then) in enumerate(boxes):
        top = place * (tall + gap)
        sheet.box(0, top, WIDE, tall, "wash", "line", 6)
        sheet.text(12, top + 27, what, color="soft").text(WIDE - 12, top + 27, said, "end", bold=True)
        if then:
            sheet.arrow((40, top + tall + 3), (40, top + tall + gap - 4), color="a", thick=2)
            sheet.text(56, top + tall + 23, then, color="a")
    return sheet.picture(f"Three steps turn {number(given['training_tokens'])} tokens into {dollars(usd)}",
                         "; ".join(f"{what}: {said}" for what, said, _ in boxes))
