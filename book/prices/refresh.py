"""Refreshes prices: catalogues of providers are read, compared with the newest book, and written as a new one."""
import argparse
import csv
import datetime
import io
import json
import logging
import os
import re
import socket
import statistics
import sys
import urllib.request
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from gpucalc.rows import price_book
from gpucalc.rows.files import hidden
from .book_diff import matched


# Offers of the clouds, as two kept catalogs publish them: gpuhunt's, through its package, and SkyPilot's, as files.


class Catalog(NamedTuple):
    """A provider's offers: who collected them, of which day (`20261120` and more), and they, in the shape of gpuhunt's."""

    source: str
    version: str
    items: Any


# Providers by the name that both catalogs know them by here.
PROVIDERS = {"aws": "AWS", "azure": "Azure", "cloudrift": "CloudRift", "gcp": "GCP", "jarvislabs": "Jarvis Labs",
             "lambdalabs": "Lambda", "nebius": "Nebius", "oci": "Oracle", "runpod": "RunPod", "verda": "Verda"}
# gpuhunt's name and GB of a GPU, where one SKU answers to both.
SKUS = {
    ("A10", 24): "A10 24GB", ("A10G", 24): "A10G 24GB", ("A40", 48): "A40 48GB", ("A6000", 48): "RTX A6000 48GB",
    ("B200", 180): "B200 SXM 180GB", ("B300", 268): "B300 SXM 288GB", ("B300", 270): "B300 SXM 288GB",
    ("GB200", 186): "GB200 NVL72 186GB",
    ("GH200", 96): "GH200 96GB", ("H100NVL", 94): "H100 NVL 94GB", ("H200", 141): "H200 SXM 141GB",
    ("H200NVL", 141): "H200 NVL 141GB", ("L4", 24): "L4 24GB", ("L40", 48): "L40 48GB", ("L40S", 48): "L40S 48GB",
    ("MI300X", 192): "MI300X 192GB", ("RTX2080Ti", 11): "RTX 2080 Ti 11GB", ("RTX3090", 24): "RTX 3090 24GB",
    ("RTX4090", 24): "RTX 4090 24GB", ("RTX5090", 32): "RTX 5090 32GB", ("RTX6000", 24): "Quadro RTX 6000 24GB",
    ("RTX6000Ada", 48): "RTX 6000 Ada 48GB", ("T4", 16): "T4 16GB"}
# Where several SKUs do, the start of the instance's name tells which.
FORMS = {
    ("A100", 40): {"SXM": ["aws p4d.", "azure Standard_ND96asr_v4", "gcp a2-highgpu-", "gcp a2-megagpu-", "oci BM.GPU4.",
                           "lambdalabs gpu_1x_a100_sxm4", "lambdalabs gpu_8x_a100", "runpod NVIDIA A100-SXM4-40GB",
                           "verda "],
                   "PCIe": ["runpod NVIDIA A100-PCIE-40GB"]},
    ("A100", 80): {"SXM": ["aws p4de.", "azure Standard_ND96amsr_A100_v4", "gcp a2-ultragpu-", "oci BM.GPU.A100-v2.",
                           "lambdalabs gpu_8x_a100_80gb_sxm4", "runpod NVIDIA A100-SXM4-80GB", "verda "],
                   "PCIe": ["azure Standard_NC", "runpod NVIDIA A100 80GB PCIe"]},
    ("H100", 80): {"SXM": ["aws p5.", "azure Standard_ND96isr_H100_v5", "gcp a3-", "nebius gpu-h100-sxm", "oci BM.GPU.H100.",
                           "runpod NVIDIA H100 80GB HBM3", "verda ", *(f"lambdalabs gpu_{n}x_h100_sxm5" for n in (1, 2, 4, 8))],
                   "PCIe": ["lambdalabs gpu_1x_h100_pcie", "runpod NVIDIA H100 PCIe"]},
    ("V100", 16): {"SXM": ["aws p3.", "lambdalabs gpu_8x_v100", "oci BM.GPU3.", "oci VM.GPU3.", "verda "],
                   "PCIe": ["azure Standard_NC"]},
    ("V100", 32): {"SXM": ["aws p3dn.", "azure Standard_ND40rs_v2"]}}


# SkyPilot's catalogs: its name of a cloud, and the name here.
SKYPILOT = {"aws": "aws", "azure": "azure", "jarvislabs": "jarvislabs", "lambda": "lambdalabs", "nebius": "nebius",
            "verda": "verda"}
FILES = "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master/catalogs/v8/{}/vms.csv"
COMMITS = "https://api.github.com/repos/skypilot-org/skypilot-catalog/commits?per_page=1&path=catalogs/v8/{}/vms.csv"
# SkyPilot's name of a GPU, as gpuhunt's name and its GB.
ACCELERATORS = {
    "A10": ("A10", 24), "A100": ("A100", 40), "A100-80GB": ("A100", 80), "A10G": ("A10G", 24), "A6000": ("A6000", 48),
    "B200": ("B200", 180), "B300": ("B300", 268), "GH200": ("GH200", 96), "H100": ("H100", 80), "H200": ("H200", 141),
    "L4": ("L4", 24), "L40": ("L40", 48), "L40S": ("L40S", 48), "MI300X": ("MI300X", 192), "RTX-6000-Ada": ("RTX6000Ada", 48),
    "RTX6000": ("RTX6000", 24), "T4": ("T4", 16), "V100": ("V100", 16), "V100-32GB": ("V100", 32)}
MOST_BYTES, SECONDS = 50_000_000, 30
Offer = namedtuple("Offer", "provider instance_name location price gpu_count gpu_name gpu_memory spot flags")


def gpuhunt_catalogs():
    """What gpuhunt publishes, by provider, and how many rows it could not read; ValueError where there is no way to it."""
    try:
        import gpuhunt
    except ImportError:
        raise ValueError("gpuhunt is not installed (it is the extra `prices` of pyproject.toml)") from None
    unread = Warnings()
    logging.getLogger("gpuhunt").addHandler(unread)
    logging.getLogger("gpuhunt").propagate = False
    catalog = gpuhunt.Catalog(auto_reload=False)
    try:
        catalog.load()
    except gpuhunt.GPUHuntError as error:
        raise ValueError(f"gpuhunt found no catalog ({error})") from None
    finally:
        logging.getLogger("gpuhunt").removeHandler(unread)
    return {name: Catalog("gpuhunt", each.version, each.items) for name, each in catalog.catalog.items()}, unread.count


class Warnings(logging.Handler):
    """Counts them: gpuhunt warns of each row that it can't read."""

    count = 0

    def emit(self, record):
        self.count += record.levelno == logging.WARNING


def skypilot_catalogs(fetched=None):
    """What SkyPilot publishes, by provider, and why a cloud is missing, by its name; ValueError where none can be read.

    fetched: reads the text at an address; the network if none is given.
    """
    fetched = fetched or _text_at
    with ThreadPoolExecutor(len(SKYPILOT)) as pool:
        read = dict(zip(SKYPILOT.values(), pool.map(lambda cloud: _skypilot(cloud, fetched), SKYPILOT)))
    found = {name: each for name, each in read.items() if isinstance(each, Catalog)}
    missing = {name: each for name, each in read.items() if name not in found}
    if not found:
        raise ValueError(f"SkyPilot's catalogs could not be read ({next(iter(missing.values()))})")
    return found, missing


def _skypilot(cloud, fetched):
    """The catalog of a cloud, dated by the last change of its file; the reason where it can't be read."""
    try:
        changed = json.loads(fetched(COMMITS.format(cloud)))[0]["commit"]["committer"]["date"][:10]
        rows = list(csv.DictReader(io.StringIO(fetched(FILES.format(cloud)))))
        items = [item for row in rows for item in _items(SKYPILOT[cloud], row)]
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return Catalog("SkyPilot", changed.replace("-", ""), items)


def _items(provider, row):
    """The offers of a line of SkyPilot's: on demand and spot. An accelerator of a name that no table has keeps it."""
    name, memory = ACCELERATORS.get(row["AcceleratorName"], (row["AcceleratorName"], 0))
    count = round(float(row["AcceleratorCount"] or 0))
    for column, spot in (("Price", False), ("SpotPrice", True)):
        if count and row[column]:
            yield Offer(provider, row["InstanceType"], row["Region"], float(row[column]), count, name, memory, spot, [])


def _text_at(address):
    with urllib.request.urlopen(address, timeout=SECONDS) as answer:
        held = answer.read(MOST_BYTES + 1)
    if len(held) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES:,} bytes")
    return held.decode()


def gpu_sku(item):
    """The SKU of data/gpus.csv that an offer of a catalog rents, or None where no table says so."""
    name = (item.gpu_name, round(item.gpu_memory or 0))
    if name in SKUS:
        return SKUS[name]
    full = f"{item.provider} {item.instance_name}"
    form = next((form for form, starts in FORMS.get(name, {}).items() if full.startswith(tuple(starts))), None)
    return form and f"{name[0]} {form} {name[1]}GB"


def offers(catalogs):
    """All that the catalogs rent as rows of a price book by key, and a count of what has no SKU or no plausible price here.

    catalogs: by provider, each with `source`, `version` and `items`. Where zones of a region differ, the middle one counts.
    """
    zones, skipped = {}, Counter()
    for name, catalog in catalogs.items():
        rented = [item for item in catalog.items if item.gpu_count and "runpod-cluster" not in item.flags]
        sizes = Counter(instance for instance, _ in {(item.instance_name, item.gpu_count) for item in rented})
        for item in rented:
            row = _row(item, catalog, sizes[item.instance_name])
            if row is None:
                skipped[f"{name} {item.gpu_name} {item.gpu_memory or 0:g} GB"] += 1
            else:
                zones.setdefault(key(row), []).append(row)
    return {offer: sorted(rows, key=price_of)[(len(rows) - 1) // 2] for offer, rows in zones.items()}, skipped


def _row(item, catalog, sizes):
    """An offer of a catalog as a row of a price book; None without a SKU here or without a price that a book may hold."""
    gpu, version = gpu_sku(item), catalog.version
    low, high = price_book.plausible("rent", item.gpu_count)
    if (item.provider not in PROVIDERS or gpu is None or not low <= item.price <= high
            or item.gpu_count > price_book.MOST_GPUS or hidden(item.instance_name + item.location)):
        return None
    sku = item.instance_name.removeprefix("Standard_")
    region = item.location.rpartition("-")[0] if item.provider == "gcp" and item.location.count("-") == 2 else item.location
    return dict.fromkeys(price_book.PRICES.columns, "") | dict(
        item="rent", provider=PROVIDERS[item.provider], sku=f"{item.gpu_count}x {sku}" if sizes > 1 else sku, gpu=gpu,
        gpus_per_server=str(item.gpu_count), region=region, term="spot" if item.spot else "on-demand",
        price=repr(float(item.price)), currency="USD", unit="USD/h", date=f"{version[:4]}-{version[4:6]}-{version[6:8]}",
        source=f"{catalog.source}, catalog {item.provider} {version}", confidence="seen")


def key(row):
    """What says which offer a row is."""
    return row["provider"], row["sku"], row["region"], row["term"]


def price_of(row):
    """The price of a row as a number."""
    return float(row["price"])


# Refreshes the compute prices from two kept catalogs: a new price book of today, every other row kept with its own date.

# A price that moved by more than this factor, or is so far from the middle of its GPU and term, is held back: look it up first.
MOST_MOVED, MOST_APART = 2, 2.5
# A catalog that lacks so many of a provider's rows, and most of them, was cut short: they stay.
MANY_LOST = 5
SUPPLIED = ("on-demand", "spot")


class Made(NamedTuple):
    """What a refresh did: both books, rows that went and rows that were held back, each with its reason, and what was skipped."""

    before: Any
    after: Any
    gone: list
    held: list
    skipped: Counter


def main(folder=None, catalogs="", text=""):
    """Write the book of today beside the newest and print what happened; on an error one line, and nothing is written.

    catalogs: a folder of recorded catalogs of SkyPilot's, read instead of the network. text: where a pull request's text goes.
    """
    folder = Path(folder) if folder else price_book.DATA / "prices"
    try:
        found, notes = loaded(catalogs)
        made = refresh(folder, datetime.date.today(), found)
    except (ValueError, OSError) as error:
        print(f"make prices: {error}; nothing is changed", file=sys.stderr)
        return 1
    lines, new = report(made, found, notes), made.after is not made.before
    print("\n".join([*lines, "Pages follow with: make accept" if new else "make prices: nothing new; nothing is changed"]))
    if text and new:
        told = [lines[0], "", *(f"- {line.strip()}" for line in lines[1:]), "", *by_hand(made.after), ""]
        Path(text).write_text("\n".join(told), encoding="utf-8")
    return 0


def recorded(folder):
    """What reads a catalog of SkyPilot's in a folder, CLOUD/vms.csv and CLOUD/commits.json, by its address in the network."""
    def read(address):
        name = "commits.json" if address.startswith(COMMITS[:20]) else "vms.csv"
        return (Path(folder) / re.search(r"v8/(\w+)/vms.csv", address)[1] / name).read_text(encoding="utf-8")
    return read


def by_hand(book):
    """What no catalog lists, as a list to tick off: items with their sources and oldest dates, the oldest first."""
    kept = book[(book["item"] != "rent") | ~book["term"].isin(SUPPLIED) | ~book["provider"].isin(PROVIDERS.values())]
    found = kept.groupby(["item", "source"]).agg(rows=("price", "size"), oldest=("date", "min")).reset_index().sort_values(
        ["oldest", "item"], kind="stable")
    return ["By hand, the column `price` with its `date`:", "",
            *(f"- [ ] {item}: {rows} of {oldest} or later, {source}"
              for item, source, rows, oldest in found.itertuples(index=False))]


def loaded(catalogs=""):
    """The catalogs by provider, gpuhunt's before SkyPilot's, and notes on what could not be read; ValueError if none can."""
    found, notes = {}, []
    if catalogs:
        found, missing = skypilot_catalogs(recorded(catalogs))
        return found, [f"SkyPilot, {name}: {why}" for name, why in missing.items()]
    try:
        found, unread = gpuhunt_catalogs()
        notes += [f"gpuhunt left out {unread} rows of its catalogs that it could not read"] if unread else []
    except ValueError as error:
        notes.append(f"{error}{installer_said()}")
    try:
        others, missing = skypilot_catalogs()
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
    """Write the new book from the newest of `folder` and the catalogs; returns what `report` tells, one book twice if none is."""
    books = sorted(folder.glob("*.csv"))
    path = folder / f"{today}.csv"
    if not books:
        raise ValueError(f"{folder} holds no price book to start from")
    before = price_book.project_book(books[-1])
    with open(books[-1], encoding="utf-8-sig", newline="") as file:
        old = list(csv.DictReader(file, skipinitialspace=True))
    fresh, skipped = offers(found)
    rows, gone, held = merged(old, fresh)
    if sorted(map(_told, rows)) == sorted(map(_told, old)):
        return Made(before, before, gone, held, skipped)
    if path.exists():
        raise ValueError(f"{path.name} is there already; remove it to make it again")
    write(path, rows)
    return Made(before, price_book.project_book(path), gone, held, skipped)


def merged(old, fresh):
    """Rows of the new book, those of the old one that are gone, and offers that are held back: lists of (row, reason).

    An instance that a catalog lists takes its prices from there: a region or term that is not there is gone. So are other rows of
    a provider's GPU on a term that a catalog lists. Of instances that the old book doesn't list, the cheapest for each provider,
    GPU, number of GPUs and term is added. A price that moved too far is held back, and the old row stays; so is the cheapest of a
    provider's GPU on a term of which the old book has a newer row. Where most rows of a provider would go, none does. All else
    is kept.
    """
    newest = {}
    for row in (row for row in old if row["item"] == "rent"):
        newest[_kind(row)] = max(newest.get(_kind(row), ""), row["date"])
    late = {}
    for row in sorted(fresh.values(), key=price_of):
        if newest.get(_kind(row), "") > row["date"]:
            late.setdefault(_kind(row), row)
    fresh = {offer: row for offer, row in fresh.items() if _kind(row) not in late}
    listed = {offer[:2] for offer in fresh} | {_kind(row) for row in fresh.values()}
    middle, rows, gone, taken = _middles(old), [], [], set()
    held = [(row, f"of {row['date']}, older than the book's of {newest[kind]}") for kind, row in late.items()]
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
    lost, found = Counter(row["provider"] for row, _ in gone), Counter(offer[0] for offer in taken)
    short = {provider: f"not in the catalog, which lacks {count} of {count + found[provider]} rows: it may be cut short"
             for provider, count in lost.items() if count >= MANY_LOST and count > found[provider]}
    kept, gone = [row for row, _ in gone if row["provider"] in short], [each for each in gone if each[0]["provider"] not in short]
    rows += kept
    held += [(row, short[row["provider"]]) for row in kept]
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


def _told(row):
    """What a row says of a price, beside who collected it."""
    return price_of(row), *(row[name] for name in row if name not in ("price", "source", "note"))


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
    """Lines on what was read, what moved, came and went and why, what is held back, and what is as old as it was."""
    changes = matched(made.before, made.after)
    counts = changes["change"].value_counts()
    read = Counter(each.source for each in found.values())
    lines = [f"{made.after.attrs['file']}: {len(made.after)} prices; against {made.before.attrs['file']} "
             + ", ".join(f"{counts.get(change, 0)} {change}" for change in ("moved", "same", "added", "gone")),
             "read: " + ", ".join(f"{count} providers from {source}" for source, count in read.items())]
    reasons = {key(row): reason for row, reason in made.gone}
    for row in changes[changes["change"] != "same"].to_dict("records"):
        values = " to ".join(f"{row[book]:g}" for book in ("before", "after") if row[book] == row[book])
        by = f" ({row['ratio'] - 1:+.0%})" if row["change"] == "moved" and row["before"] > 0 else ""
        why = f": {reasons[key(row)]}" if row["change"] == "gone" and key(row) in reasons else ""
        lines.append(f"  {row['change']}: {_offer(row)}: {values} {row['unit']}{by}{why}")
    lines += [f"  held back: {_offer(row)}: {price_of(row):g} {row['unit']}: {reason}; look it up, then write it in by hand"
              for row, reason in made.held]
    if made.skipped:
        most = ", ".join(f"{name} ({count})" for name, count in made.skipped.most_common(8))
        lines.append(f"skipped: {made.skipped.total()} offers without a plausible price or of a GPU that the table has no SKU "
                     f"for: {most}")
    missing = sorted(set(PROVIDERS) - set(found))
    return [*lines, *notes, *([f"not loaded, prices kept: {', '.join(missing)}"] if missing else [])]


def _offer(row):
    return ", ".join(row[column] for column in ("provider", "sku", "region", "term"))


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    parser = argparse.ArgumentParser("python -m book.prices.refresh")
    parser.add_argument("folder", nargs="?", help="of price books; else the project's")
    parser.add_argument("--catalogs", default="", help="a folder of recorded catalogs, CLOUD/vms.csv with CLOUD/commits.json")
    parser.add_argument("--text", default="", help="writes the text of a pull request")
    sys.exit(main(**vars(parser.parse_args())))
