"""Refreshes the compute prices from two kept catalogs: a new price book of today, every other row kept with its own date."""
import csv
import datetime
import os
import socket
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from gpucalc.rows import price_book
from gpucalc.rows.book_diff import matched
from . import catalogs
from .catalogs import PROVIDERS, key, price_of

# A price that moved by more than this factor, or is so far from the middle of its GPU and term, is held back: look it up first.
MOST_MOVED, MOST_APART = 2, 2.5
SUPPLIED = ("on-demand", "spot")


class Made(NamedTuple):
    """What a refresh did: both books, rows that went and rows that were held back, each with its reason, and what was skipped."""

    before: Any
    after: Any
    gone: list
    held: list
    skipped: Counter


def main(folder=None):
    """Write the book of today beside the newest and print what happened; on an error one line, and nothing is written."""
    folder = Path(folder) if folder else price_book.DATA / "prices"
    try:
        found, notes = loaded()
        made = refresh(folder, datetime.date.today(), found)
    except (ValueError, OSError) as error:
        print(f"make prices: {error}; nothing is changed", file=sys.stderr)
        return 1
    report(made, found, notes)
    return 0


def loaded():
    """The catalogs by provider, gpuhunt's before SkyPilot's, and notes on what could not be read; ValueError if none can."""
    found, notes = {}, []
    try:
        found, unread = catalogs.gpuhunt_catalogs()
        notes += [f"gpuhunt left out {unread} rows of its catalogs that it could not read"] if unread else []
    except ValueError as error:
        notes.append(f"{error}{installer_said()}")
    try:
        others, missing = catalogs.skypilot_catalogs()
        found = others | found
        notes += [f"SkyPilot, {name}: {why}" for name, why in missing.items() if name not in found]
    except ValueError as error:
        notes.append(str(error))
    if not found:
        raise ValueError("; ".join(notes) + "; is there a network?")
    return found, notes


def installer_said():
    """Why pip could not install gpuhunt, as `make prices` passes it on; empty if it did not try."""
    lines = os.environ.get("BOOK_PIP_SAID", "").strip().splitlines()
    return f" [pip: {lines[-1].strip()[:200]}]" if lines else ""


def refresh(folder, today, found):
    """Write the new book from the newest of `folder` and the catalogs; returns what `report` tells."""
    books = sorted(folder.glob("*.csv"))
    path = folder / f"{today}.csv"
    if not books:
        raise ValueError(f"{folder} holds no price book to start from")
    if path.exists():
        raise ValueError(f"{path.name} is there already; remove it to make it again")
    before = price_book.project_book(books[-1])
    with open(books[-1], encoding="utf-8-sig", newline="") as file:
        old = list(csv.DictReader(file, skipinitialspace=True))
    fresh, skipped = catalogs.offers(found)
    rows, gone, held = merged(old, fresh)
    write(path, rows)
    return Made(before, price_book.project_book(path), gone, held, skipped)


def merged(old, fresh):
    """Rows of the new book, those of the old one that are gone, and offers that are held back: lists of (row, reason).

    An instance that a catalog lists takes its prices from there: a region or term that is not there is gone. So are other rows of
    a provider's GPU on a term that a catalog lists. Of instances that the old book doesn't list, the cheapest for each provider,
    GPU, number of GPUs and term is added. A price that moved too far is held back, and the old row stays. All else is kept.
    """
    listed = {offer[:2] for offer in fresh} | {_kind(row) for row in fresh.values()}
    middle, rows, gone, held, taken = _middles(old), [], [], [], set()
    for row in old:
        if row["item"] != "rent" or row["term"] not in SUPPLIED or not {key(row)[:2], _kind(row)} & listed:
            rows.append(row)
        elif key(row) in fresh:
            taken.add(key(row))
            far = not 1 / MOST_MOVED <= price_of(fresh[key(row)]) / price_of(row) <= MOST_MOVED
            rows.append(row if far else fresh[key(row)])
            held += [(fresh[key(row)], f"{price_of(row):g} before: more than a factor of two")] if far else []
        else:
            gone.append((row, "no longer in the catalog"))
    cheapest = {}
    for row in sorted(fresh.values(), key=price_of):
        cheapest.setdefault((*_kind(row), row["gpus_per_server"]), row)
    for row in cheapest.values():
        usual = middle.get((row["gpu"], row["term"]))
        if key(row) in taken:
            continue
        if usual and not 1 / MOST_APART <= _each(row) / usual <= MOST_APART:
            held.append((row, f"{_each(row):.3g} a GPU beside {usual:.3g}, the middle of the book"))
        else:
            rows.append(row)
    rents = [row for row in rows if row["item"] == "rent"]
    on_demand = {key(row)[:3]: price_of(row) for row in rents if row["term"] == "on-demand"}
    above = [row for row in rents if row["term"] in price_book.RESERVED_YEARS
             and price_of(row) > on_demand.get(key(row)[:3], float("inf"))]
    gone += [(row, f"above the on-demand price, now {on_demand[key(row)[:3]]:g} USD/h") for row in above]
    return [row for row in rents if row not in above] + [row for row in rows if row["item"] != "rent"], gone, held


def _kind(row):
    return row["provider"], row["gpu"], row["term"]


def _each(row):
    return price_of(row) / int(row["gpus_per_server"])


def _middles(rows):
    """The middle price of a GPU-hour by GPU and term."""
    found = {}
    for row in rows:
        if row["item"] == "rent":
            found.setdefault((row["gpu"], row["term"]), []).append(_each(row))
    return {kind: statistics.median(each) for kind, each in found.items()}


def write(path, rows):
    """The whole book or nothing: a draft beside it that is checked and then takes its name."""
    draft = path.with_suffix(".draft")
    try:
        with open(draft, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, price_book.PRICES.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        price_book.project_book(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def report(made, found, notes):
    """Print in one piece what was read, what moved, came and went and why, what is held back, and what is as old as it was."""
    changes = matched(made.before, made.after)
    counts = changes["change"].value_counts()
    read = Counter(each.source for each in found.values())
    print(f"{made.after.attrs['file']}: {len(made.after)} prices; against {made.before.attrs['file']} "
          + ", ".join(f"{counts.get(change, 0)} {change}" for change in ("moved", "same", "added", "gone")))
    print("read: " + ", ".join(f"{count} providers from {source}" for source, count in read.items()))
    reasons = {key(row): reason for row, reason in made.gone}
    for row in changes[changes["change"] != "same"].to_dict("records"):
        values = " to ".join(f"{row[book]:g}" for book in ("before", "after") if row[book] == row[book])
        by = f" ({row['ratio'] - 1:+.0%})" if row["change"] == "moved" and row["before"] > 0 else ""
        why = f": {reasons[key(row)]}" if row["change"] == "gone" and key(row) in reasons else ""
        print(f"  {row['change']}: {_offer(row)}: {values} {row['unit']}{by}{why}")
    for row, reason in made.held:
        print(f"  held back: {_offer(row)}: {price_of(row):g} {row['unit']}: {reason}; look it up, then write it in by hand")
    if made.skipped:
        most = ", ".join(f"{name} ({count})" for name, count in made.skipped.most_common(8))
        print(f"skipped: {made.skipped.total()} offers without a plausible price or of a GPU that the table has no SKU for: "
              f"{most}")
    missing = sorted(set(PROVIDERS) - set(found))
    for note in [*notes, *([f"not loaded, prices kept: {', '.join(missing)}"] if missing else [])]:
        print(note)
    print("Pages follow with: make accept")


def _offer(row):
    return ", ".join(row[column] for column in ("provider", "sku", "region", "term"))


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    sys.exit(main(*sys.argv[1:]))
