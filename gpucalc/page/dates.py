"""The age of the prices behind a figure, in words."""
from ..rows.ages import dates, not_yours


def dated(book, *rows):
    """For a caption: the book, the date of the oldest row behind the figure, and whether a price in it is not the reader's."""
    found, others = dates(*rows), not_yours(book, *rows)
    age = f", the oldest of {found[0]}" if found else ""
    return f"prices: {book.attrs['file']}{age}{'; in part not yours' if others else ''}"
