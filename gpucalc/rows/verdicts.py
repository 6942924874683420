"""What a claim turns out to be, computed from what it says and from what its formula gives."""
import math
from typing import Any, NamedTuple

CORRECT, ASSUMING, WRONG = "correct", "correct if", "wrong"
CONTRADICTED, OUTDATED, OPEN = "contradicted", "outdated", "no figure"
VERDICTS = (CORRECT, ASSUMING, WRONG, CONTRADICTED, OUTDATED, OPEN)
# Within a tenth a rounded figure still serves; printed as one digit, it may be off by a quarter if it rounds to that digit.
TENTH, QUARTER = 1.1, 1.25
# What a claim may say of its figure instead of "this"; a hundredth over the bound is rounding.
_OVER = 1.01
BOUNDS = ("at least", "at most")
# Columns in which near is wrong.
_EXACT = ("year", "compute_capability")


class Verdict(NamedTuple):
    """What a claim is; how many times its figure is too high or too low; since when a price is another one."""

    verdict: str
    factor: float = math.nan
    since: str = ""


def factor(claimed: float, right: float) -> float:
    """How many times one figure is the other, never below 1; infinite if one of them is 0."""
    return 1.0 if claimed == right else max(claimed, right) / min(claimed, right) if min(claimed, right) > 0 else math.inf


def agrees(claimed: float | str, right: Any, bound: str = "", law: str = "") -> bool:
    """Whether a figure holds: within a tenth, or equal after rounding where it was printed as one digit; words must be equal.

    A bound holds if the right figure is on its side.
    """
    if isinstance(claimed, str) or isinstance(right, str):
        return words(claimed) == words(right)
    if right != right:
        return False
    if law in _EXACT:
        return claimed == right
    if bound:
        return right * _OVER >= claimed if bound == "at least" else right <= claimed * _OVER
    one_digit = 1 <= claimed < 10 and claimed == int(claimed)
    rounded = one_digit and math.floor(right + 0.5) == claimed
    return factor(claimed, right) <= (QUARTER if rounded else TENTH) + 1e-9


def words(value: Any) -> str:
    """A cell as a claim would say it: `none` for a blank one, a whole number without a point."""
    if isinstance(value, str):
        return value.strip().lower() or "none"
    return "none" if value != value else f"{value:g}"


def judged(claimed: float | str, found: list, bound: str = "", law: str = "", assumed: Any = None,
           others: tuple = ()) -> Verdict:
    """The verdict on a claim: `found` holds (date, figure) by date, `assumed` the figure under its assumption, `others` what
    other claims say of the same thing."""
    if not isinstance(claimed, str) and claimed != claimed:
        return Verdict(OPEN)
    if not found:
        return Verdict(CONTRADICTED) if any(not agrees(claimed, other) for other in others) else Verdict(OPEN)
    right = found[-1][1]
    if agrees(claimed, right, bound, law):
        return Verdict(CORRECT)
    off = math.nan if isinstance(claimed, str) or isinstance(right, str) else factor(claimed, right)
    held = [place for place, (_, value) in enumerate(found) if agrees(claimed, value, bound, law)]
    if held:
        return Verdict(OUTDATED, off, found[held[-1] + 1][0])
    if assumed is not None and agrees(claimed, assumed, bound, law):
        return Verdict(ASSUMING, off)
    return Verdict(WRONG, off)
