"""How figures appear: the one number formatter, tables, glued figures and the guess box. All text is escaped here."""
import html
import math
import re

from .quantities import QUANTITIES

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
_PREFIXED = {"byte": "B", "byte/second": "B/s", "FLOP": "FLOP", "FLOP/second": "FLOP/s", "watt": "W"}
_PLAIN = {"": "", "FLOP/byte": "FLOP/B", "token/second": "tokens/s", "1/second": "1/s", "USD": "USD", "USD/hour": "USD/h",
          "USD/month": "USD/month", "USD/(kilowatt*hour)": "USD/kWh", "USD/gigabyte": "USD/GB",
          "USD/(gigabyte*month)": "USD/GB-month", "USD/year": "USD/year", "1/year": "a year", "1/month": "a month",
          "hour": "h", "day": "days", "month": "months", "year": "years"}


def number(value, unit=""):
    """`value` (SI) at three significant figures with its unit and prefix; whole counts below a million are exact."""
    if math.isinf(value):
        return "never"
    if unit in _PREFIXED:
        for scale, prefix in _PREFIXES:
            if abs(value) >= scale * 0.9995 or scale == 1:
                return f"{three_figures(value / scale)} {prefix}{_PREFIXED[unit]}"
    if unit == "second":
        return seconds(value)
    if unit == "" and value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    if unit == "" and abs(value) >= 1e6:
        return next(f"{three_figures(value / scale)} {word}" for scale, word in
                    ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")) if abs(value) >= scale * 0.9995)
    return f"{three_figures(value)} {_PLAIN[unit]}".rstrip()


def three_figures(value):
    """`value` at three significant figures, in plain digits with thousands separators; a whole number below 1,000 in full."""
    if value == int(value) and abs(value) < 1000:
        return f"{int(value)}"
    places = 2 - math.floor(math.log10(abs(float(f"{value:.2e}"))))
    return f"{round(value, places):,.{max(places, 0)}f}"


def seconds(value):
    """A time in s, ms or µs at three significant figures."""
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale * 0.9995 or scale == 1e-6:
            return f"{three_figures(value / scale)} {unit}"


def takes_prefix(unit):
    """Whether values in the unit are printed with an SI prefix."""
    return unit in _PREFIXED or unit == "second"


def unit_symbol(unit):
    """The unit as it is printed, without prefix: `byte/second` is B/s, a count is nothing."""
    return {**_PREFIXED, **_PLAIN, "second": "s"}[unit]


def exact(value, unit="byte"):
    """A whole number in full, with its unit."""
    return f"{int(value):,} {unit_symbol(unit)}".rstrip()


def gib(value):
    """Bytes as GiB (2^30) at three significant figures."""
    return f"{three_figures(value / 2**30)} GiB"


def percent(value):
    """A share as a percentage at three significant figures."""
    return f"{three_figures(round(100 * value, 9))} %" if math.isfinite(value) else "never"


def usd(value):
    """An amount in USD to the cent below ten thousand, else to the dollar."""
    return f"{value:,.2f} USD" if abs(value) < 1e4 else f"{value:,.0f} USD"


def hourly(value):
    """A rate in USD an hour, to the cent."""
    return f"{value:,.2f} USD/h"


def quantity(name, value):
    """A value of the vocabulary's quantity `name`, with its unit."""
    return number(value, QUANTITIES[name].unit)


def markdown(text):
    """`text` as literal Markdown: every punctuation mark escaped, so that nothing in it is markup."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(str(text).split()))


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
    (column -> text, column -> function) overrule. Text is escaped; a missing value shows as a dash.
    """
    labels, formats = labels or {}, formats or {}
    heads = "".join(f'<th scope="col">{html.escape(labels.get(name) or _label(name))}</th>' for name in frame.columns)
    body = "".join("<tr>" + "".join(_cell(name, row[name], formats) for name in frame.columns) + "</tr>"
                   for row in frame.to_dict("records"))
    plain = f"{caption} ({len(frame)} rows)"
    return Html(f'<div class="table-scroll"><table class="data"><caption>{html.escape(caption)}</caption>'
                f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>", plain)


def _label(name):
    return QUANTITIES[name].meaning if name in QUANTITIES else name.replace("_", " ")


def _cell(name, value, formats):
    if value is None or value != value:
        return "<td>–</td>"
    if isinstance(value, str):
        width = "short" if len(value) <= 20 else "long" if len(value) > 40 else "middling"
        return f'<td class="{width}">{html.escape(value)}</td>'
    show = formats.get(name) or (lambda plain: quantity(name, plain) if name in QUANTITIES else number(plain))
    return f'<td class="number" data-value="{float(value):.17g}">{html.escape(show(value))}</td>'


def guess(question, answer, unit, text):
    """A box in which the reader commits to an estimate before the answer unfolds. `unit` names what to type the number in."""
    return Html(
        f'<div class="guess" data-answer="{float(answer):.17g}" data-unit="{html.escape(unit)}"><label>{html.escape(question)} '
        f'({html.escape(unit)}) <input type="number" step="any"></label> <button type="button">Check</button> '
        f"<output></output><details><summary>Show the answer</summary><p>{html.escape(text)}</p></details></div>",
        f"{question} ({unit}): {text}")


def price_date(date):
    """A price date that the page turns into an age."""
    return Html(f'<time class="price-date" datetime="{html.escape(date)}">{html.escape(date)}</time>', date)


def say(**figures):
    """Glue figures, preformatted text or displayable objects, for the prose of this page and others.

    The plain text is quoted, because MyST-NB reads it as a Python literal: 8,192 would become a pair.
    """
    from IPython.display import display
    for name, figure in figures.items():
        if isinstance(figure, str):
            figure = Html(html.escape(figure), figure)
        prefix = "application/papermill.record/"
        display({f"{prefix}text/html": figure._repr_html_(), f"{prefix}text/plain": repr(repr(figure))},
                metadata={"scrapbook": {"name": name, "mime_prefix": prefix}}, raw=True)
