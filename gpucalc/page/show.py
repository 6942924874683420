"""How figures appear on a page: tables and the guess box. All text is escaped here."""
import html
import math

from ..core.figures import number, percent, quantity
from ..core.quantities import QUANTITIES
from .dates import foreign_rows, is_dated, marked, marked_date
from .sentences import Markdown, markdown


_NOT_YOURS = " <small>not yours</small></td>"


class Html:
    """HTML that a notebook displays, with a plain-text reading beside it."""

    def __init__(self, source, plain):
        self.source, self.plain = source, plain

    def _repr_html_(self):
        return self.source

    def __repr__(self):
        return self.plain


def table(frame, caption, labels=None, formats=None):
    """A data frame as a sortable HTML table.

    A column named like a quantity gets its meaning as header and its unit on each value; `labels` and `formats`
    (column -> text, column -> function) overrule. Text is escaped; a missing value shows as a dash. Where the caption says how
    old its prices are, as `dates.dated` does, the page adds its age there, and to each old date in the column `date`; where
    it says that some are not the reader's, those rows say so: the index or a column `row` has the keys of their prices.
    """
    labels, formats, dates = labels or {}, formats or {}, {"date"} if is_dated(caption) else set()
    heads = "".join(f'<th scope="col">{html.escape(labels.get(name) or _label(name))}</th>' for name in frame.columns)
    rows = zip(frame.to_dict("records"), foreign_rows(frame, caption))
    body = "".join(_row(row, formats, dates, foreign) for row, foreign in rows)
    plain = f"{caption} ({len(frame)} rows)"
    return Html(f'<div class="table-scroll"><table class="data"><caption><span>{marked(caption)}</span></caption>'
                f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>", plain)


def _row(row, formats, dates, foreign):
    first, *others = [_cell(name, value, formats, dates) for name, value in row.items()]
    return f"<tr>{first.removesuffix('</td>') + _NOT_YOURS if foreign else first}{''.join(others)}</tr>"


def _label(name):
    return QUANTITIES[name].meaning if name in QUANTITIES else name.replace("_", " ")


def _cell(name, value, formats, dates):
    if value is None or value != value:
        return "<td>–</td>"
    if isinstance(value, str):
        width = "short" if len(value) <= 20 else "long" if len(value) > 40 else "middling"
        return f'<td class="{width}">{marked_date(value) if name in dates else html.escape(value)}</td>'
    show = formats.get(name) or (lambda plain: quantity(name, plain) if name in QUANTITIES else number(plain))
    return f'<td class="number" data-value="{float(value):.12g}">{html.escape(show(value))}</td>'


def guess(question, answer, unit, text):
    """A box in which the reader commits to an estimate before the answer unfolds. `unit` names what to type the number in."""
    return Html(
        f'<div class="guess" data-answer="{float(answer):.17g}" data-unit="{html.escape(unit)}"><label>{html.escape(question)} '
        f'({html.escape(unit)}) <input type="number" step="any"></label> <button type="button">Check</button> '
        f"<output></output><details><summary>Show the answer</summary><p>{html.escape(text)}</p></details></div>",
        f"{question} ({unit}): {text}")


def sources(*rows, caption="Rows this page was computed from"):
    """What the rows of data are, where they come from and when they were read; a row that was recalled says so.

    A row that is a name alone, such as a term, is no data.
    """
    about = [(getattr(row, "name", "given"), row.get("source", ""), row.get("date", ""), row.get("confidence", "seen"))
             for row in rows if len(row)]
    lines = "\n".join(f"| {' | '.join(map(markdown, (name, source, date if seen == 'seen' else f'{date} ({seen})')))} |"
                      for name, source, date, seen in dict.fromkeys(about))
    return Markdown(f"| {markdown(caption)} | source | date |\n|---|---|---|\n{lines}")


def reach(share):
    """A share to be reached, as a percentage; above the whole it is never."""
    return percent(share) if share <= 1 else "never"


def volume(count):
    """A large count at three significant figures, in words from a million on: `9.47 million`, `826,000`; never if infinite."""
    return number(float(f"{count:.3g}")) if math.isfinite(count) else "never"
