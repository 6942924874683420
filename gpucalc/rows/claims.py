"""What others published beside what the laws give for the same inputs: measurements of a topic, claims of a page."""
import json
from typing import TYPE_CHECKING, Any

from . import catalogue
from ..core.evaluate import Case, Row, close
from ..core.law import LAWS
from .tables import plain_row, table

if TYPE_CHECKING:
    from pandas import DataFrame


def measurements(topic: str | None = None, kind: str | None = None, **instead: Any) -> "DataFrame":
    """The published figures of a topic, or of all, `measured` or `computed` by a formula of their own; both if no kind.

    `instead` replaces inputs of that name: efficiency="bound" gives the laws' upper bounds.
    """
    frame = catalogue.measurements()
    return _compared(frame[((frame["topic"] == topic) | (topic is None)) & ((frame["kind"] == kind) | (kind is None))], instead)


def claims(page: str | None = None) -> "DataFrame":
    """What articles and guides claim on the subject of a page, or of any. NaN where a claim has no figure or no law."""
    frame = table("claims")
    return _compared(frame[(frame["page"] == page) | (page is None)], {})


def claim(name: str) -> Row:
    """One claim as a row: `value` as published, `predicted` by the law, `error`, `inputs` by name."""
    known = table("claims").index
    if name not in known:
        raise ValueError(f"data/claims.csv has no id {name!r}{close(name, known)}; see all in that file")
    row = plain_row(_compared(table("claims").loc[[name]], {}).iloc[0], name, "claim")
    row["inputs"] = json.loads(row["inputs"])
    return row


def _compared(frame, instead):
    """The rows with what their law gives, `predicted`, and the signed `error`: predicted over published, less 1."""
    frame = frame.copy()
    frame["predicted"] = [_predicted(row["law"], json.loads(row["inputs"]), instead) for row in frame.to_dict("records")]
    frame["error"] = frame["predicted"] / frame["value"] - 1
    return frame


def _predicted(law, inputs, instead):
    """The value of the law, or of the column of that name in a row among the inputs; NaN without one."""
    case = Case.of(inputs | {name: value for name, value in instead.items() if name in inputs})
    if law in LAWS or not law:
        return float(case(law)) if law else float("nan")
    holders = [row for row in case.rows.values() if law in row]
    if not holders:
        raise ValueError(f"{law}: neither a law nor a column of {', '.join(map(str, case.rows)) or 'no row'} among the inputs")
    return float(holders[0][law])
