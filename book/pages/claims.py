"""The page of claims: how many hold, which are the dearest, and all of them to search."""
from gpucalc.core.figures import dollars, number, percent, times
from gpucalc.core.quantities import QUANTITIES
from ..components import claims as held
from ..components.catalogue_table import catalogue_table
from ..components.claims import ASSUMING, CONTRADICTED, CORRECT, OPEN, OUTDATED, VERDICTS, WRONG
from ..components.show import table
from ..components.links import PAGES

# In words what each verdict means, in the order in which they are counted.
MEANINGS = {
    CORRECT: "within a tenth of what the formula or the row gives, or equal as printed",
    ASSUMING: "right under a condition that the document states on the line beside it; else off by the factor beside it",
    WRONG: "off by the factor beside it, or another word than that of the row; for what it would be right stands beside it",
    CONTRADICTED: "no row or formula decides it, and another claim says otherwise",
    OUTDATED: "right at an earlier price, not since the date beside it",
    OPEN: "no figure, or none that a formula gives"}


def counted(frame):
    """Claims by verdict, in the order of the verdicts, those without any left out."""
    found = frame["verdict"].value_counts()
    return {verdict: int(found[verdict]) for verdict in VERDICTS if verdict in found}


def verdict_table(frame, caption):
    import pandas
    rows = [{"verdict": name, "claims": count, "meaning": MEANINGS[name]} for name, count in counted(frame).items()]
    return table(pandas.DataFrame(rows), caption)


def document_table(frame, caption):
    file = _files(frame)
    named = frame.assign(file=file.where(file != "", "a paper or a repository"), count=1)
    shown = named.pivot_table(index=["file", "document", "date"], columns="verdict", values="count", aggfunc="sum", fill_value=0)
    shown = shown.reindex(columns=[name for name in VERDICTS if name in shown]).astype(int)
    shown.insert(0, "claims", shown.sum(axis=1))
    return table(shown.sort_values("claims", ascending=False, kind="stable").reset_index(), caption, labels={"document": "title"})


def dearest_table(found, caption, count=20):
    """The wrong claims that cost most: what is said, what is right, by what factor, why, and the harm in which situation."""
    frame = held.dearest(count, found)
    shown = frame.assign(claimed=_claimed(frame), right=_right(frame), off=[times(value) for value in frame["factor"]],
                         harm=[dollars(value) for value in frame["harm_usd"]], said_by=_where(frame))
    return table(shown[["claim", "claimed", "right", "off", "harm", "situation", "note", "said_by"]], caption,
                 labels={"note": "why", "said_by": "document", "situation": "the harm is for", "off": "off by"})


def all_table(frame, caption):
    """Every claim to search, with filters by verdict, lesson and document; each lesson is a link."""
    shown = frame.assign(
        claimed=_claimed(frame), right=_right(frame), off=_off(frame), why=_why(frame), lesson=frame["page"].map(PAGES),
        document=_files(frame).where(_files(frame) != "", frame["document"]))
    groups = {"Verdict": ["verdict", "claimed", "right", "off", "why"], "Where": ["verdict", "lesson", "document", "line"]}
    columns = ["claim", *dict.fromkeys(name for names in groups.values() for name in names)]
    return catalogue_table(shown[columns], caption, groups, filters=("verdict", "lesson", "document"), labels={"off": "off by"},
                           links={"lesson": {PAGES[page]: f"{page}.html" for page in frame["page"].unique()}})


def _files(frame):
    """The file of each claim's document, also where the claim is not of the list and has no line."""
    known = frame[frame["file"] != ""].drop_duplicates("document").set_index("document")["file"]
    return frame["document"].map(known).fillna("")


def _figure(value, unit, row):
    """A share in percent where the claim prints percents; what is counted is whole."""
    if isinstance(value, str) or value != value:
        return value if isinstance(value, str) else ""
    if row.law == "year":
        return f"{value:.0f}"
    if unit == "" and " %" in row.claim and not float(row.value).is_integer():
        return percent(value)
    # As documents print it: number() has no prefix for what is divided by.
    return f"{value * 1e12:.2f} USD a month for a TFLOP/s" if unit == "USD*second/(FLOP*month)" else number(value, unit)


def _claimed(frame):
    sign = {"at least": "≥ ", "at most": "≤ ", "": ""}
    return [sign[row.bound] + (row.said or _figure(row.value, row.unit, row)) for row in frame.itertuples()]


def _right(frame):
    """What the formula gives; a cell in the unit of its column, where words were claimed."""
    return [_figure(row.right, row.unit if not row.said else QUANTITIES[row.law].unit if row.law in QUANTITIES else "", row)
            for row in frame.itertuples()]


def _off(frame):
    return [f"since {row.since}" if row.since else times(row.factor) if row.factor == row.factor else ""
            for row in frame.itertuples()]


def _why(frame):
    """The assumption under which a claim is right and the line that states it, or that none does; then what went wrong."""
    return [". ".join(part for part in (_assumption(row), row.note) if part) for row in frame.itertuples()]


def _assumption(row):
    if row.verdict == ASSUMING:
        line, said = row.stated.split(": ", 1)
        return f"if {row.assumption} (line {line}: “{said}”)"
    return f"right if {row.assumption}, which it does not say" if row.assumption else ""


def _where(frame):
    """The file and the line, or the title of a document that is not in the set."""
    return [f"{row.file}, line {row.line}" if row.file else row.document for row in frame.itertuples()]
