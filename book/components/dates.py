"""The age of the prices behind a figure, in words."""
import html
import re

from gpucalc.rows.ages import dates, keys, not_yours
from .sentences import in_words, price_date

_DATE = r"\d{4}(?:-\d\d){0,2}"
_OLDEST = re.compile(f"(?<=the oldest of )({_DATE})")
_IN_PART = "; in part not yours"
_OWN_FILE = re.compile(f"prices: (.*?)(?:, the oldest of {_DATE})?{_IN_PART}")
_MOST_NAMED = 6


def dated(book, *rows, moving=()):
    """For a caption: the book, the date of the oldest row behind the figure, or of those `moving` it, and whether a price is not
    the reader's."""
    undated = [key for row in rows if row is not None and "date" not in row for key in keys(row) if key in book.index]
    found, others = dates(*moving or (*rows, book.loc[undated])), not_yours(book, *rows)
    age = f", the oldest of {found[0]}" if found else ""
    return f"prices: {book.attrs['file']}{age}{_IN_PART if others else ''}"


def foreign(book, *rows):
    """For a headline: which prices under its figures are not the reader's; empty for the project's own books."""
    found = book.loc[not_yours(book, *rows), ["item", "provider"]]
    named = list(dict.fromkeys(f"{item.replace('-', ' ')} ({provider})" for item, provider in found.itertuples(index=False)))
    more = [f"{len(named) - _MOST_NAMED} more"] if len(named) > _MOST_NAMED else []
    return f"Not your prices here: {in_words(named[:_MOST_NAMED] + more)}." if named else ""


def by_price(frame):
    """A frame for a table, each row called by the key of its price where it has one under `row`."""
    return frame.set_index("row", drop=False) if "row" in frame else frame


def foreign_rows(frame, caption):
    """Of each row of a table whether its price is not the reader's, where `dated` says in the caption that some are not."""
    own = _OWN_FILE.search(caption)
    return [own is not None and ".csv: " in str(key) and not str(key).startswith(f"{own[1]}: ") for key in keys(frame)]


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
