"""The age of the prices behind a figure, in words."""
import html
import re

from ..rows.ages import dates, not_yours
from .sentences import price_date

_DATE = r"\d{4}(?:-\d\d){0,2}"
_OLDEST = re.compile(f"(?<=the oldest of )({_DATE})")


def dated(book, *rows):
    """For a caption: the book, the date of the oldest row behind the figure, and whether a price in it is not the reader's."""
    found, others = dates(*rows), not_yours(book, *rows)
    age = f", the oldest of {found[0]}" if found else ""
    return f"prices: {book.attrs['file']}{age}{'; in part not yours' if others else ''}"


def dated_books(old, old_rows, new, new_rows):
    """`dated` of the older and the newer of two books, by the rows that a figure takes from each."""
    return f"{dated(old, *old_rows)}; {dated(new, *new_rows)}"


def under(chart, text):
    """The chart with a line of HTML under it, made of text such as what `dated` says."""
    chart.usermeta = chart.usermeta | {"caption": marked(text)}
    return chart


def is_dated(text):
    """Whether a caption says how old its prices are."""
    return _OLDEST.search(text) is not None


def marked(text):
    """A caption as HTML: a date that `dated` put into it is one that the page turns into an age."""
    return _OLDEST.sub(lambda found: price_date(found[1]), html.escape(text))


def marked_date(text):
    """A date in a table of prices as HTML: the page adds an age where it is old."""
    return price_date(text, "brief") if re.fullmatch(_DATE, text) else html.escape(text)
