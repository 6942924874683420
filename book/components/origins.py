"""Where the rows of data come from: how many of each file were seen, and which rows a source gave."""
from gpucalc.core.figures import percent
from gpucalc.rows import price_book
from gpucalc.rows.ages import STALE_DAYS, summary
from gpucalc.rows.price_report import notes
from gpucalc.rows.tables import TABLES, table as rows_of
from .sentences import Markdown, markdown
from .show import table

# What stands for a row where its key says little.
_NAMED_BY = {"price_history": "gpu", "recipes": "title", "formats": "title", "efficiencies": "title",
             "measurements": "subject", "claims": "claim"}


def origin_files():
    """The data files whose rows say where they come from, but for the price books: frames by name."""
    return {name: rows_of(name) for name, schema in TABLES.items() if "confidence" in schema.columns and name != "prices"}


def origin_books(path=None, only=False, rates=None):
    """The project's price books and the one at `path`, read as `price_book.prices` does: frames by file name."""
    books = [price_book.prices(each) for each in price_book.price_books()]
    if path:
        books.append(price_book.prices(path, only, rates))
    return {book.attrs["file"]: book for book in books}


# How sure a row is, the surest first.
SURE = ["seen", "floor", "secondary", "recalled", "assumed"]


def counted(frames):
    """How many rows of each frame there are, and of each confidence, and the newest date."""
    from pandas import DataFrame
    return DataFrame([dict(file=name, total=len(frame)) | {sure: int((frame["confidence"] == sure).sum()) for sure in SURE}
                      | dict(newest=max(frame["date"])) for name, frame in frames.items()])


def book_ages(books):
    """By price book: its rows, newest and oldest date, median age and share of rows that are old, against the book's own date."""
    from pandas import DataFrame
    return DataFrame([{"book": name, "rows": len(book)} | summary(book) for name, book in books.items()])


def ages_table(books, caption="How old the prices of a book are, against the book's own date"):
    """`book_ages` as a page shows them."""
    return table(book_ages(books), caption,
                 labels={"book": "price book", "rows": "rows", "newest": "newest row", "oldest": "oldest row",
                         "median_days": "median age", "stale": f"rows over {STALE_DAYS} days"},
                 formats={"median_days": "{:,.0f} days".format, "stale": percent})


def by_source(frame, names):
    """One line for each source, date and confidence, with the `entries` taken from it."""
    grouped = frame.assign(entries=names).groupby(["source", "date", "confidence"], sort=True)["entries"]
    lines = grouped.agg(lambda each: "; ".join(dict.fromkeys(each))).reset_index()
    return lines[["date", "confidence", "entries", "source"]]


def source_table(name, entries):
    """The sources of data/NAME.csv; `entries` says what its rows are."""
    frame = rows_of(name)
    if "document" in frame:
        frame = frame.assign(source=frame["document"] + ": " + frame["source"])
    names = frame[_NAMED_BY[name]] if name in _NAMED_BY else frame.index
    return table(by_source(frame, names), f"Sources of data/{name}.csv", labels={"entries": entries})


def price_table(books):
    """The sources of the prices in the newest of the books."""
    name, book = list(books.items())[-1]
    return table(by_source(book, book["provider"] + " " + book["item"]), f"Sources of {name}", labels={"entries": "prices"})


def own_notes(books):
    """What was taken for granted in a file of the reader's own, and how its prices stand; None where there is no such file."""
    parts = []
    for file, book in books.items():
        for title, lines in notes(book):
            parts.append("\n".join([f"{title}, {markdown(file)}:", "", *(f"- {markdown(line)}" for line in lines)]))
    return Markdown("\n\n".join(parts)) if parts else None
