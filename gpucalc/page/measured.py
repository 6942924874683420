"""Published beside predicted: tables of measurements, of claims, and of how far off the laws are."""
import html

from ..core.figures import number, percent
from ..core.quantities import QUANTITIES
from ..rows import bands, claims
from ..rows.published import families, published
from .sentences import Markdown
from .show import Html, table

compare = claims.measurements
NAMES = {"value": "published", "publisher": "source"}


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


def how_wrong(topic):
    """How far the formulas of a page were from published figures: a sentence for each kind, and a link to all."""
    rows, every = published(), families().query("era == ''").set_index("family")
    kinds = rows[(rows["topic"] == topic) & (rows["family"] != "")]["family"].map(bands.widest).value_counts().index
    known = [_how_wrong(name, every.loc[name]) for name in kinds if every["plan"][name] > 0]
    few = [name for name in kinds if not every["plan"][name] > 0]
    said = known + ([f"Too few figures are published of: {', '.join(few)}."] if few else [])
    said = said or ["The formulas of this page are not checked against published figures."]
    return Markdown(" ".join([*said, "See all: [how wrong are the formulas?](measurements.md)"]))


def _how_wrong(name, found):
    laws = bands.rows("families")[name]["times"].split()
    verb, more, less = ("need", "more", "less") if QUANTITIES[laws[0]].unit == "byte" else ("take", "longer", "shorter")
    side = more if found["median"] >= 1 else less
    size = percent(abs(found["median"] - 1))
    return (f"{name.capitalize()}, {found.figures} published figures: in the median they {verb} {size} {side} than the formula "
            f"says; eight in ten {verb} {percent(found.tenth)} to {percent(found.ninetieth)} of it.")


def family_table(caption):
    """Each family and its eras: figures, sources, median and percentiles of published over predicted, band, coverage."""
    frame = families().assign(era=lambda found: found["era"].where(found["era"] != "", "all years"))
    names = {"figures": "figures", "publishers": "sources", "tenth": "10th percentile", "ninetieth": "90th percentile",
             "low": "band from", "plan": "plan for", "high": "band to", "coverage": "inside the band made without their source"}
    shares = dict.fromkeys(["median", "tenth", "ninetieth", "low", "plan", "high", "coverage"], percent)
    return table(frame.round(4), caption, labels=names, formats=shares)


def worst_table(count, caption):
    """The published figures farthest from what the formulas say, with the reason."""
    frame = published().query("family != ''")
    far = frame.assign(off=frame["ratio"].where(frame["ratio"] > 1, 1 / frame["ratio"])).nlargest(count, "off")
    shown = _figures(far)[["subject", "family", "value", "predicted", "error", "note"]]
    return table(shown, caption, labels=NAMES | {"note": "why"}, formats={"error": signed_percent})


def every_figure():
    """All measured rows, in a fold for each family."""
    folds = []
    for family, frame in published().groupby("family", sort=False):
        name = family or "in no family"
        shown = table(_figures(frame)[["subject", "value", "predicted", "error", "publisher"]], name, labels=NAMES,
                      formats={"error": signed_percent})
        folds.append(f"<details><summary>{html.escape(name)}: {len(frame)}</summary>{shown.source}</details>")
    return Html("".join(folds), f"{len(published())} measured figures")


def _figures(frame):
    frame = frame.assign(error=frame["error"].round(4))
    _say_figures(frame)
    return frame
