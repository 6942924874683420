"""How figures appear on a page: tables and the guess box. All text is escaped here."""
import functools
import html
import math

from gpucalc.core.figures import gib, number, percent, quantity, signed
from gpucalc.core.quantities import QUANTITIES
from .dates import foreign_rows, is_dated, marked, marked_date
from .links import linked, links
from .sentences import agreed, Markdown, markdown

# The eight cards and eight models that readers meet: what a lesson's table shows, where the catalogue has all.
FAMILIAR = {
    "gpu": ("H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB", "MI300X 192GB", "A100 SXM 80GB", "L40S 48GB", "RTX 4090 24GB",
            "L4 24GB"),
    "model": ("Llama-3-8B", "Llama-3-70B", "Llama-3.1-405B", "Mistral-7B", "Qwen2.5-7B", "Gemma-2-9B", "Mixtral-8x7B",
              "DeepSeek-V3")}


_NOT_YOURS = " <small>not yours</small></td>"
_NUMBER = ' class="number"'
_SHOWN = 25  # rows of a table before the reader asks for the others, as in the site's style


class Html:
    """HTML that a notebook displays, with a plain-text reading beside it."""

    def __init__(self, source, plain):
        self.source, self.plain = source, plain

    def _repr_html_(self):
        return self.source

    def __repr__(self):
        return self.plain


# A memory as its driver reports it, beside the GB with which the card is sold.
FORMS = {"memory_bytes": gib}


def in_unit(unit):
    """What prints a number in a unit, for a column of a table or a sentence."""
    return functools.partial(number, unit=unit)


in_bytes, byte_rate, flop_rate = map(in_unit, ("byte", "byte/second", "FLOP/second"))


def difference(value):
    """A small difference from a published figure, to a tenth of a percent: `+0.3 %`."""
    return signed(round(100 * value, 1) + 0.0, lambda percents: f"{percents:g} %".replace("-", "−"))


def table(frame, caption, labels=None, formats=None):
    """A data frame as a sortable HTML table.

    A column named like a quantity gets its meaning as header and its unit on each value; `labels` and `formats`
    (column -> text, column -> function) overrule. Text is escaped; a missing value shows as a dash. Where the caption says how
    old its prices are, as `dates.dated` does, the page adds its age there, and to each old date in the column `date`; where
    it says that some are not the reader's, those rows say so: the index or a column `row` has the keys of their prices.
    """
    caption = agreed(caption)
    labels, formats, dates = labels or {}, formats or {}, {"date"} if is_dated(caption) else set()
    numbers = {name for name in frame.columns if not all(isinstance(value, str) for value in frame[name].dropna())}
    heads = "".join(f'<th scope="col"{_NUMBER if name in numbers else ""}>{html.escape(labels.get(name) or label(name))}</th>'
                    for name in frame.columns)
    rows = zip(frame.to_dict("records"), foreign_rows(frame, caption))
    body = "".join(_row(row, formats, dates, numbers, foreign) for row, foreign in rows)
    plain, more = f"{caption} ({len(frame)} rows)", len(frame) - _SHOWN
    rest = f'<details class="more-rows"><summary>{more} more rows</summary></details>' if more > 0 else ""
    return Html(f'<figure class="data-table"><figcaption>{marked(caption)}</figcaption><div class="table-scroll">'
                f'<table class="data"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{rest}</figure>', plain)


def _row(row, formats, dates, numbers, foreign):
    first, *others = [_cell(name, value, formats, dates, numbers) for name, value in row.items()]
    return f"<tr>{first.removesuffix('</td>') + _NOT_YOURS if foreign else first}{''.join(others)}</tr>"


def label(name):
    """The header of a column: what the quantity of that name means, else the name in words."""
    return QUANTITIES[name].meaning if name in QUANTITIES else name.replace("_", " ")


def _cell(name, value, formats, dates, numbers):
    if value is None or value != value:
        return f"<td{_NUMBER if name in numbers else ''}>–</td>"
    if isinstance(value, str):
        width = "short" if len(value) <= 20 else "long" if len(value) > 40 else "middling"
        return f'<td class="{width}">{marked_date(value) if name in dates else linked(value)}</td>'
    return f'<td{_NUMBER} data-value="{_digits(value)}">{html.escape(cell_text(name, value, formats))}</td>'


def _digits(value):
    """A number as a script reads it, which sorts by it."""
    return f"{float(value):.12g}".replace("inf", "Infinity")


def cell_text(name, value, formats):
    """A number as a table shows it: as its column says, else as its quantity is printed."""
    show = formats.get(name) or FORMS.get(name) or (lambda plain: quantity(name, plain) if name in QUANTITIES else number(plain))
    return show(value)


def guess(question, answer, unit, text):
    """A box in which the reader commits to an estimate before the answer unfolds. `unit` names what to type the number in."""
    question, text = agreed(question), agreed(text)
    said, measure = html.escape(question), html.escape(unit)
    return Html(
        f'<div class="guess" data-answer="{float(answer):.12g}" data-unit="{measure}">'
        f'<p><strong>Your guess first.</strong> {said}</p>'
        f'<label><input type="number" step="any" aria-label="Your guess in {measure}"> {measure}</label> '
        '<button type="button">Check</button> <output></output>'
        f"<details><summary>Tell me</summary><p>{html.escape(text)}</p></details></div>",
        f"{question} ({unit}): {text}")


def sources(*rows, caption="Rows this page was computed from"):
    """What the rows of data are, where they come from and when they were read; a row that was recalled says so.

    A row that is a name alone, such as a term, is no data.
    """
    about = [(getattr(row, "name", "given"), row.get("source", ""), row.get("date", ""), row.get("confidence", "seen"))
             for row in rows if len(row)]
    lines = "\n".join(f"| {markdown(name)} | {_with_links(source)} | {markdown(date if seen == 'seen' else f'{date} ({seen})')} |"
                      for name, source, date, seen in dict.fromkeys(about))
    return Markdown(f"| {markdown(caption)} | source | date |\n|---|---|---|\n{lines}")


def _with_links(source):
    """A source as Markdown, with the addresses that it names."""
    return "".join(f"[{markdown(piece)}](<{to}>)" if to else _spaced(piece) for piece, to in links(str(source)))


def _spaced(piece):
    """Markdown of a piece of text, with the spaces at its ends."""
    return f"{' ' * piece[:1].isspace()}{markdown(piece)}{' ' * (piece[-1:].isspace() and len(piece) > 1)}"


def reach(share):
    """A share to be reached, as a percentage; above the whole it is never."""
    return percent(share) if share <= 1 else "never"


def volume(count):
    """A large count at three significant figures, in words from a million on: `9.47 million`, `826,000`; never if infinite."""
    return number(float(f"{count:.3g}")) if math.isfinite(count) else "never"


def familiar(frame, kind, *also):
    """The rows of a table of all GPUs or models (`kind`) that readers meet; those of the names in `also` come first."""
    names = [name for name in dict.fromkeys((*also, *FAMILIAR[kind])) if name in frame.index]
    return frame.loc[names]
