"""What others published beside what the laws give for the same inputs: measurements of a topic, claims of a page."""
import json
import math
from typing import TYPE_CHECKING, Any

from ..core.evaluate import Case, Row, close
from . import catalogue
from .claim_cases import figures
from .tables import plain_row, table
from .verdicts import WRONG, judged

if TYPE_CHECKING:
    from pandas import DataFrame


def measurements(topic: str | None = None, kind: str | None = None, **instead: Any) -> "DataFrame":
    """The published figures of a topic, or of all, `measured` or `computed` by a formula of their own; both if no kind.

    `instead` replaces inputs of that name: efficiency="bound" gives the laws' upper bounds.
    """
    frame = catalogue.measurements()
    frame = frame[((frame["topic"] == topic) | (topic is None)) & ((frame["kind"] == kind) | (kind is None))].copy()
    frame["predicted"] = [_predicted(row["law"], json.loads(row["inputs"]), instead) for row in frame.to_dict("records")]
    frame["error"] = frame["predicted"] / frame["value"] - 1
    return frame


def claims(page: str | None = None) -> "DataFrame":
    """What articles and guides claim on the subject of a page, or of any, judged.

    `predicted` is what the law gives, NaN where a claim has no figure or no law, `right` the same or the words of a row;
    `error` is predicted over claimed, less 1; `verdict`, `factor` and `since` are those of `verdicts.judged`; `harm_usd` is what
    a wrong figure costs in its `situation`.
    """
    frame = table("claims")
    return _judged(frame[(frame["page"] == page) | (page is None)])


def claim(name: str) -> Row:
    """One claim as a row: `value` as published, `predicted` by the law, `error`, its verdict, `inputs` by name."""
    known = table("claims").index
    if name not in known:
        raise ValueError(f"data/claims.csv has no id {name!r}{close(name, known)}; see all in that file")
    row = plain_row(_judged(table("claims").loc[[name]]).iloc[0], name, "claim")
    row["inputs"] = json.loads(row["inputs"])
    return row


def dearest(count: int = 20, found: "DataFrame | None" = None) -> "DataFrame":
    """The wrong claims by what they cost in their situation, the most first: of all, or of those that were `found`."""
    frame = claims() if found is None else found
    frame = frame[(frame["verdict"] == WRONG) & (frame["harm_usd"] > 0)]
    return frame.sort_values("harm_usd", ascending=False, kind="stable").head(count)


def _judged(frame):
    """The rows with what their law gives and what that makes of them."""
    found = [_one(name, row) for name, row in frame.to_dict("index").items()]
    columns = ("right", "predicted", "error", "verdict", "factor", "since", "harm_usd")
    return frame.assign(**{column: [row[place] for row in found] for place, column in enumerate(columns)})


def _one(name, row):
    """What is right, predicted, error, verdict, factor, since, harm_usd of one claim."""
    try:
        return _computed(row)
    except ValueError as error:
        raise ValueError(f"claims.csv, id {name}: {error}" if row["reference"] else str(error)) from None


def _computed(row):
    law, inputs, than = row["law"], json.loads(row["inputs"]), json.loads(row["than"] or "{}")
    claimed = row["said"] or row["value"]
    found = figures(law, inputs, than) if law else []
    other = _assuming(law, inputs, than, json.loads(row["assumed"])) if row["assumed"] else None
    verdict = judged(claimed, found, row["bound"], law, other, _others(row["against"]))
    right = found[-1][1] if found else math.nan
    predicted = math.nan if isinstance(right, str) else right
    harm = _harm(json.loads(row["harm"]), claimed, predicted) if row["harm"] else math.nan
    return right, predicted, predicted / row["value"] - 1, *verdict, harm


def _assuming(law, inputs, than, assumed):
    """The figure under an assumption, which changes inputs (null takes one away), the law, the factor or the other case."""
    than = assumed.pop("than", than) | {name: assumed.pop(name) for name in ("times",) if name in assumed}
    law = assumed.pop("law", law)
    return figures(law, {name: value for name, value in (inputs | assumed).items() if value is not None}, than)[-1][1]


def _others(ids):
    """What the claims say that this one is held against."""
    frame = table("claims")
    for each in ids.split():
        if each not in frame.index:
            raise ValueError(f"against: {each!r}{close(each, frame.index)}; allowed: ids of data/claims.csv")
    return tuple(frame.loc[each, "said"] or frame.loc[each, "value"] for each in ids.split())


def _harm(harm, claimed, right):
    """USD by which a law goes wrong with the claimed figure in place of the right one."""
    if isinstance(claimed, str) or right != right:
        return math.nan
    costs = [figures(harm["law"], harm["inputs"] | {harm["of"]: value})[-1][1] for value in (claimed, right)]
    return abs(costs[0] - costs[1]) * harm.get("times", 1)


def _predicted(law, inputs, instead):
    """The value of the law with some inputs replaced; NaN without one."""
    if not law:
        return math.nan
    return float(Case.of(inputs | {name: value for name, value in instead.items() if name in inputs})(law))
