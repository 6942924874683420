"""Published beside predicted: tables of measurements, of claims, and of how far off the laws are."""
from ..core.figures import number, percent
from ..rows import claims
from .show import table

compare = claims.measurements


def comparison_table(topic, caption, kind=None, families=()):
    """`compare` as a table to read: what was published, what the law gives, the error and the source. All families if none."""
    frame = compare(topic, kind)
    frame = frame[frame["family"].isin(families or frame["family"])]
    _say_figures(frame)
    shown = frame[["subject", "value", "predicted", "error", "note", "source"]]
    return table(shown, caption, labels={"value": "published", "note": "why it differs"}, formats={"error": signed_percent})


def claims_table(page, caption, ids=()):
    """What is claimed on the subject of a page (None: of any), and what its laws give. All claims if no ids."""
    frame = claims.claims(page)
    if ids:
        frame = frame.loc[list(ids)]
    _say_figures(frame)
    shown = frame[["claim", "document", "value", "predicted", "note"]]
    return table(shown, caption, labels={"value": "claimed", "predicted": "by the formulas", "note": "what to make of it"})


def _say_figures(frame):
    """Published and predicted values as text with their unit; None where there is none."""
    for column in ("value", "predicted"):
        frame[column] = [number(value, unit) if value == value else None for value, unit in zip(frame[column], frame["unit"])]


def error_table(topic, caption):
    """How far off the laws are, by family: number of figures, median and 90th percentile of the error without its sign."""
    frame = compare(topic)
    sizes = frame["error"].abs().groupby([frame["family"], frame["kind"]])
    shown = sizes.agg(figures="size", median="median", worst_tenth=lambda errors: errors.quantile(0.9)).reset_index()
    return table(shown, caption, labels={"kind": "published figure", "worst_tenth": "90th percentile"},
                 formats={"median": percent, "worst_tenth": percent})


def against_bound(topic):
    """A topic's measured figures with the laws' upper `bound`, and how much `faster` than it they are (below 0: slower)."""
    frame = compare(topic, "measured")
    frame["bound"] = compare(topic, "measured", efficiency="bound")["predicted"]
    ratio = frame["value"] / frame["bound"]
    frame["faster"] = ratio.where(frame["unit"] != "second", 1 / ratio) - 1
    return frame


def signed_percent(error):
    """An error with its sign, as a percentage."""
    return f"{'+' if error > 0 else '−' if error < 0 else ''}{percent(abs(error))}"
