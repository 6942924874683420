"""Pictures of the cost of a token: what an hour of GPUs that you pay for is spent on."""
from gpucalc.core.figures import number, percent
from gpucalc.laws.serving import replica_prefill_seconds
from gpucalc.laws.serving_cost import replica_seconds
from ..components.picture import WIDE, Sheet

_TOP, _TALL = 40, 46


def hour_picture(replica, gpu):
    """An hour of a replica as one bar: it reads prompts, writes answers, or waits; with the tokens that come out of each part.

    replica: a case with a GPU, a load's lengths, a batch and the share of the hours in which it is full. Times are to plan for.
    """
    busy, slow = replica.inputs["replica_utilization"], replica.band(replica_seconds)
    reading = busy * replica(replica_prefill_seconds) / slow.value
    requests, gpus = 3600 * busy / slow.plan, replica.inputs["tensor_parallel"]
    tokens = [requests * replica.inputs[name] for name in ("prompt", "output")]
    parts = [("reads prompts", reading, "a", f"{number(_rounded(tokens[0]))} tokens in"),
             ("writes answers", busy - reading, "b", f"{number(_rounded(tokens[1]))} tokens out"),
             ("waits", 1 - busy, "wash", "no tokens")]
    sheet, left = Sheet(150), 0.0
    sheet.text(0, 14, f"one hour of {gpus:g} × {gpu}, paid as a whole", color="soft")
    for place, (name, share, color, said) in enumerate(parts):
        sheet.box(left, _TOP - 16, max(share * WIDE - 2, 1), _TALL, color, "line" if color == "wash" else None, 2)
        _key(sheet, place, color, f"{name}, {number(round(60 * share, 1))} min", said)
        left += share * WIDE
    return sheet.picture(f"Of an hour that you pay for, {percent(round(busy, 3))} makes tokens",
                         "; ".join(f"{name} for {percent(round(share, 3))} of the hour: {said}"
                                   for name, share, _, said in parts))


def _key(sheet, place, color, said, tokens):
    down = _TOP + _TALL + 10 + 21 * place
    sheet.box(0, down - 11, 12, 12, color, "line" if color == "wash" else None, 2)
    sheet.text(18, down, said).text(WIDE, down, tokens, "end", bold=True)


def _rounded(count):
    return float(f"{count:.2g}")
