"""Published beside predicted: tables of measurements, of claims, and of how far off the laws are."""
import html

from gpucalc.core.figures import number, percent, times
from gpucalc.core.quantities import QUANTITIES
from gpucalc.rows import bands
from . import claims
from .published import errors_by, families, published, served
from .sentences import Markdown
from .show import Html, table

compare = claims.measurements
NAMES = {"value": "published", "publisher": "source", "ratio": "published over predicted"}


def comparison_table(topic, caption, kind=None, families=()):
    """`compare` as a table to read: what was published, what the law gives, the error and the source. All families if none."""
    frame = compare(topic, kind)
    frame = frame[frame["family"].isin(families or frame["family"])]
    _say_figures(frame)
    shown = frame[["subject", "value", "predicted", "error", "note", "source"]]
    return table(shown, caption, labels={"value": "published", "note": "why it differs"}, formats={"error": signed_percent})


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
    frame["bound"] = compare(topic, "measured", **bands.PEAKS)["predicted"]
    ratio = frame["value"] / frame["bound"]
    frame["faster"] = ratio.where(frame["unit"] != "second", 1 / ratio) - 1
    return frame


def signed_percent(error):
    """An error with its sign, as a percentage."""
    return f"{'+' if error > 0 else '−' if error < 0 else ''}{percent(abs(error))}"


def about_plan():
    """What `plan` and `8 in 10` mean in a headline: the same words on every page, with a link to the page that shows it."""
    return Markdown("*Plan* is what the formula gives, moved by the median error of published figures of its kind. Eight in ten "
                    "real cases should lie in the range beside it: [how wrong are the formulas?](measurements.md)")


def how_wrong(topic):
    """How far published figures were from the formulas of a page: a sentence for each kind, and a link to all."""
    rows, every = published().query("family != ''"), families().query("years == ''").set_index("family")
    kinds = rows[rows["topic"] == topic]["family"].map(bands.widest).value_counts()
    few = [name for name in kinds.index if not every["plan"][name] > 0]
    said = [_how_wrong(name, every.loc[name]) for name in kinds.index[kinds > kinds.sum() / 10] if name not in few]
    said += [f"Too few figures on {name} are published for a band." for name in few]
    said = said or ["Too few figures are published on this subject to say how wrong the formulas are."]
    if len(kinds) > len(few):
        said.append("Our ranges are wider than this: they are tested on sources that were left out.")
    return Markdown(" ".join([*said, "All figures: [how wrong are the formulas?](measurements.md)"]))


def _how_wrong(name, found):
    unit = QUANTITIES[bands.rows("families")[name]["times"].split()[0]].unit
    what, more, less = ("figures", "higher", "lower") if unit == "byte" else ("times", "longer", "shorter")
    off, tenth, ninetieth = (round(found[end] - 1, 2) for end in ("median", "tenth", "ninetieth"))
    side = f"{percent(abs(off))} {more if off > 0 else less} than the formula says" if off else "what the formula says"
    reach = (f"up to {percent(ninetieth)} above it" if not tenth else
             f"{percent(tenth)} to {percent(ninetieth)} above it" if tenth > 0 else
             f"between {percent(-tenth)} below and {percent(ninetieth)} above it")
    return f"Published {name} {what} are {side} (the median of {found.figures}); eight in ten are {reach}."


def family_table(caption):
    """Each family: figures, sources, median and percentiles of published over predicted, the band of today and whose it is, the
    median error of formula and plan, and coverage."""
    frame = families().query("years == ''")
    shown = frame[["family", "figures", "publishers"]].assign(
        median=_moved(frame["median"]), middle=_range(frame["tenth"], frame["ninetieth"]), off=frame["off"].round(3),
        plan=_moved(frame["plan"]), plan_off=frame["plan_off"].round(3), band=_range(frame["low"], frame["high"]),
        width=[number(each, "") if each == each else "" for each in frame["width"]],
        coverage=frame["coverage"].round(2), of=frame["of"].where(frame["of"] != frame["family"], ""))
    return table(shown, caption, labels={"publishers": "sources", "middle": "8 in 10", "plan": "plan", "band": "band",
                                         "of": "band of", "off": "formula off", "plan_off": "plan off", "coverage": "inside"},
                 formats=(dict.fromkeys(("off", "plan_off", "coverage"), percent)
                          | dict.fromkeys(("median", "plan"), signed_percent)))


def era_table(caption):
    """The same errors where a family has both: older figures beside those of the newest software."""
    frame = families()
    frame = frame[["family", "years", "figures"]].assign(median=_moved(frame["median"]), inside=frame["coverage"].round(2))
    shown = frame.query("years == ''")[["family"]]
    names = {"figures": "figures", "median": "median", "inside": "inside"}
    labels, formats = {}, {}
    for years in filter(None, dict.fromkeys(frame["years"])):
        part = frame[frame["years"] == years].drop(columns="years").set_index("family").add_suffix(f" {years}")
        shown = shown.join(part, on="family")
        labels |= {f"{column} {years}": f"{years}: {name}" for column, name in names.items()}
        formats |= {f"median {years}": signed_percent, f"inside {years}": percent}
    both = shown.dropna(subset=[column for column in shown if column.startswith("figures")])
    return table(both, caption, labels=labels, formats=formats)


def engine_table(caption):
    """Each engine by what was timed: its versions, figures, and median and percentiles of published over predicted."""
    rows = served()
    named = rows[rows["version"] != ""].sort_values("date", kind="stable").groupby(["engine", "family"])["version"]
    named = named.agg(["first", "last"])
    versions = named["first"].where(named["first"] == named["last"], named["first"] + " to " + named["last"]).rename("version")
    frame = errors_by(rows, "engine", "family").join(versions, on=["engine", "family"])
    order = frame["engine"].map(frame.groupby("engine")["figures"].sum()) + frame["figures"] / 1000
    frame = frame.assign(order=order).sort_values("order", ascending=False, kind="stable")
    return _errors(frame, ["engine", "family"], caption, ["version"], {"family": "what was timed", "version": "versions"})


def kind_table(caption, families=("time per output token", "time to first token", "decode")):
    """The same by kind of model and bits of a weight, for some families."""
    rows = served()
    frame = errors_by(rows[rows["family"].isin(families)], "family", "kind", "bits")
    frame = frame.assign(order=frame["family"].map(families.index)).sort_values(["order", "kind", "bits"])
    return _errors(frame, ["family", "kind", "bits"], caption, [],
                   {"family": "what was timed", "kind": "model", "bits": "bits of a weight"})


def _errors(frame, first, caption, last, labels):
    """Groups of figures as a table: how many, median and where eight in ten lie."""
    shown = frame[[*first, "figures"]].assign(median=_moved(frame["median"]), middle=_range(frame["tenth"], frame["ninetieth"]))
    return table(shown.join(frame[last]), caption, labels=labels | {"middle": "8 in 10"}, formats={"median": signed_percent})


def _moved(ratios):
    """Ratios as shares above 1, in whole percent."""
    return (ratios - 1).round(2)


def _range(low, high):
    """Two columns of ratios as text: `+2 to +88 %`; None where there is none."""
    return [f"{signed_percent(first).removesuffix('%').rstrip()} to {signed_percent(last)}" if first == first else None
            for first, last in zip(_moved(low), _moved(high))]


def worst_table(count, caption):
    """The published figures farthest from what the formulas say, with the reason."""
    frame = published()
    far = frame.assign(off=frame["ratio"].where(frame["ratio"] > 1, 1 / frame["ratio"])).nlargest(count, "off")
    return table(_figures(far)[["subject", "value", "predicted", "ratio", "note"]], caption,
                 labels=NAMES | {"note": "why"}, formats={"ratio": times})


def every_figure():
    """All measured rows, in a fold for each family."""
    folds = []
    for family, frame in published().groupby("family", sort=False):
        name = family or "in no family"
        shown = table(_figures(frame)[["subject", "value", "predicted", "ratio", "publisher"]], name, labels=NAMES,
                      formats={"ratio": times})
        folds.append(f"<details><summary>{html.escape(name)}: {len(frame)}</summary>{shown.source}</details>")
    return Html("".join(folds), f"{len(published())} measured figures")


def _figures(frame):
    frame = frame.assign(ratio=frame["ratio"].round(3))
    _say_figures(frame)
    return frame
