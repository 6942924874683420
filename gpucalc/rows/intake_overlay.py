"""A reader's own prices over those of the newest book: which rows stand in for which."""
from typing import TYPE_CHECKING, NamedTuple

from .price_checks import KEY, PRICES
from .project_books import finished, newest_date, without_edges

if TYPE_CHECKING:
    from pandas import DataFrame

# Of these a provider's prices are replaced by the file's of that provider alone: bills compare providers.
_PROVIDERS = {"storage", "egress"}


class Overlay(NamedTuple):
    """The book of both, which rows of the file are the reader's own, and the newest book's rows for what the file lacks."""

    book: "DataFrame"
    fresh: list[int]
    lacking: "DataFrame"


def group(item: str, gpu: str, provider: str, sku: str, term: str) -> tuple[str, str]:
    """What a price is a price of: a file's rows of a group replace the newest book's.

    Rents of a GPU on a term; servers and cards of a GPU; tokens of a model; storage or egress of a provider; a currency; else the
    item as a whole.
    """
    if item == "rent":
        return f"rent {term}", gpu
    if item in ("server", "card"):
        return item, gpu
    if item.startswith("api-"):
        return "api", sku
    if item == "currency":
        return item, sku
    return "hosting" if item == "hosting-power" else item, provider if item in _PROVIDERS else ""


def laid_over(own: "DataFrame", larger: dict[int, list[int]], base: "DataFrame", file: str, only: bool) -> Overlay:
    """The rows of both as one book, the newest book's in their order and the reader's behind them.

    A row that the newest book has word for word stays the book's. larger: of rows that are billed by the GPU the machines that
    they are to be had in besides. only: nothing else of that book.
    """
    import pandas
    known, mine = _lines(base), _lines(own)
    restated, priced = set(mine) & set(known), set(_groups(own))
    lacking = pandas.Series([not only and each not in priced for each in _groups(base)], base.index, dtype=bool)
    others = base[lacking | pandas.Series([line in restated for line in known], base.index, dtype=bool)]
    fresh = own[[line not in restated for line in mine]]
    parts = [others] if len(others) else []
    if len(fresh):
        ordered = _with_larger(fresh, larger).sort_values([*KEY, "price"], kind="stable").reset_index(drop=True)
        parts.append(finished(without_edges(ordered), file).assign(yours=True))
    book = pandas.concat(parts)
    book.attrs = {"file": file, "date": newest_date(own)}
    return Overlay(book, list(fresh.index), base[lacking])


def _with_larger(own, larger):
    """The rows, and each that is billed by the GPU in larger machines too, but for those that the file prices itself."""
    import pandas
    place = ["item", "gpu", "provider", "region", "term", "gpus_per_server"]
    priced, more = set(own[place].itertuples(index=False, name=None)), []
    for number, row in zip(own.index, own.to_dict("records")):
        for size in larger[number]:
            product = f"{size}x {row['gpu']}" if row["sku"] == f"1x {row['gpu']}" else f"{row['sku']}, {size} GPUs"
            machine = row | {"gpus_per_server": float(size), "price": row["price"] * size, "sku": product}
            if tuple(machine[name] for name in place) not in priced:
                more.append(machine)
    return pandas.concat([own, pandas.DataFrame(more, columns=own.columns).astype(own.dtypes)]) if more else own


def _groups(frame):
    return [group(*cells) for cells in frame[["item", "gpu", "provider", "sku", "term"]].itertuples(index=False, name=None)]


def _lines(frame):
    """Every row by its cells, blanks of numbers as one value; the last tier's open edge is one too."""
    plain = frame[PRICES.columns].replace(float("inf"), float("nan")).astype(object)
    return list(plain.where(plain.notna(), None).itertuples(index=False, name=None))
