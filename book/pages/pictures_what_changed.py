"""Pictures of a price move: the utilizations between two break-evens, where a decision flips."""
from gpucalc.core.figures import percent
from ..components.picture import WIDE, Sheet

_LEFT, _RIGHT, _TOP, _TALL = 8, 392, 44, 46


def flip_zone(before, after, utilization=None, gpu=""):
    """Utilizations at which owning pays with older and newer prices, which end at the two break-evens, and the part between.

    Without a utilization it is the idea alone: no figure stands in it.
    """
    reach = max(1, min(max(before, after) * 1.15, 3))
    sheet = Sheet(128 if utilization is not None else 110)

    def at(share):
        return _LEFT + min(share / reach, 1) * (_RIGHT - _LEFT)
    low, high = sorted((before, after))
    for start, end, color, said in ((0, low, "b", "rent"), (low, high, "wash", ""), (high, max(reach, high), "a", "own")):
        sheet.box(at(start), _TOP, max(at(end) - at(start), 0), _TALL, color, round=0)
        if said and at(end) - at(start) > 60:
            sheet.text((at(start) + at(end)) / 2, _TOP + 28, said, at="middle", color="paper", bold=True)
    if at(high) - at(low) > 60:
        sheet.text(at((low + high) / 2), _TOP + 28, "flips", at="middle", bold=True, color="soft")
    for share, top in ((high, 14), (low, 32)):
        figure = f" {percent(share)}" if utilization is not None and share < reach else ""
        side = "end" if at(share) > 130 else "start"
        said = "before" if share == before else "after"
        sheet.line((at(share), top - 9), (at(share), _TOP + _TALL), color="ink")
        sheet.text(at(share) + (-4 if side == "end" else 4), top, f"break-even {said}{figure}", at=side)
    foot = _TOP + _TALL
    sheet.text(_LEFT, foot + 17, percent(0), color="soft").text(at(1), foot + 17, percent(1), at="end", color="soft")
    if reach > 1:
        sheet.line((at(1), _TOP - 4), (at(1), foot + 6), color="paper", thick=2, dashed=True)
    if utilization is None:
        sheet.text(WIDE / 2, foot + 17, "share of hours used", at="middle", color="soft")
        return sheet.picture("A price moves the break-even; only between the two does the decision flip",
                             "A line of utilizations: below both break-evens renting is cheaper, above both owning, between them "
                             "the cheaper one changes.")
    sheet.line((at(utilization), _TOP - 2), (at(utilization), foot + 18), color="d", thick=3)
    sheet.text(at(utilization), foot + 32, f"you: {percent(utilization)}", at="middle", color="d", bold=True)
    flips = low < utilization < high
    return sheet.picture(f"{gpu} at {percent(utilization)} utilization: the move "
                         + ("flips the decision" if flips else "changes nothing"),
                         f"The break-even moved from {percent(before)} to {percent(after)}; {percent(utilization)} is "
                         + ("between them." if flips else "above both." if utilization > high else "below both."))
