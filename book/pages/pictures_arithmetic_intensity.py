"""The picture of compute or memory: how long a pass reads the weights, and how long it computes, on one scale."""
from gpucalc.core.figures import percent, times
from gpucalc.laws import arithmetic_intensity as ai
from gpucalc.laws.kv_cache import weight_bytes
from ..components.picture import Sheet

_LONGEST = 396


def clocks(case):
    """Reading and computing of three passes at the peaks, caches left out: one user, the case's batch, and a prompt."""
    card, batch, prompt, one = case.rows["gpu"], case.inputs["batch"], case.inputs["prompt"], case.but(batch=1)
    passes = [("One user writes a token", one(ai.read_bytes), one(ai.token_flops)),
              (f"{batch:,} users write a token each", case(ai.read_bytes), batch * case(ai.token_flops)),
              (f"A prompt of {prompt:,} tokens", case(weight_bytes), one(ai.prefill_flops))]
    passes = [(name, moved / card.bandwidth, flops / card.peak_flops) for name, moved, flops in passes]
    scale, sheet = _LONGEST / max(max(seconds) for _, *seconds in passes), Sheet(66 * len(passes) + 22)
    for place, (name, reading, computing) in enumerate(passes):
        y = 66 * place
        sheet.text(0, y + 14, name, bold=True).text(400, y + 14, _beside(computing / reading), "end", "b")
        sheet.box(0, y + 22, reading * scale, 14, "a", round=2)
        sheet.box(0, y + 40, max(computing * scale, 1), 14, "b", round=2)
    sheet.box(0, 204, 12, 12, "a").text(18, 215, "reading the weights")
    sheet.box(170, 204, 12, 12, "b").text(188, 215, "arithmetic, beside reading")
    model, (_, reading, computing) = case.rows["model"].name, passes[0]
    return sheet.picture(
        f"One user: {card.name} reads {model} {times(reading / computing)} as long as it computes",
        "Time to read the weights beside time to compute, at the peaks. "
        + " ".join(f"{name}: computing takes {_beside(computing / reading)} of it." for name, reading, computing in passes))


def _beside(ratio):
    """A time beside that of reading."""
    return percent(ratio) if ratio < 1 else times(ratio)
