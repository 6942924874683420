"""Where the rows of data come from: how many of each file were seen, and which rows a source gave."""
from ..rows import price_book
from ..rows.tables import TABLES, table as rows_of
from .show import table

# What stands for a row where its key says little.
_NAMED_BY = {"recipes": "title", "formats": "title", "efficiencies": "title", "measurements": "subject", "claims": "claim"}


def origin_files():
    """The data files whose rows say where they come from, but for the price books: frames by name."""
    return {name: rows_of(name) for name, schema in TABLES.items() if "confidence" in schema.columns and name != "prices"}


def origin_books(*paths):
    """The project's price books and those at `paths`: frames by file name."""
    return {book.attrs["file"]: book for book in
            map(price_book.prices, dict.fromkeys([*map(str, price_book.price_books()), *map(str, paths)]))}


def counted(frames):
    """How many rows of each frame were seen, recalled and assumed, and the newest date."""
    from pandas import DataFrame
    return DataFrame([dict(file=name, total=len(frame), seen=int((frame["confidence"] == "seen").sum()),
                           recalled=int((frame["confidence"] == "recalled").sum()),
                           assumed=int((frame["confidence"] == "assumed").sum()), newest=max(frame["date"]))
                      for name, frame in frames.items()])


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
    """The sources of the prices, by price book."""
    from pandas import concat
    listed = concat([by_source(book, book["provider"] + " " + book["item"]).assign(book=name) for name, book in books.items()])
    return table(listed[["book", "date", "confidence", "entries", "source"]], "Sources of the price books",
                 labels={"book": "price book", "entries": "prices"})
