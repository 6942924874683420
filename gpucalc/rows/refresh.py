"""Refreshes the compute prices through gpuhunt: a new price book of today, every other row kept with its own date."""
import csv
import datetime
import logging
import os
import socket
import sys
from collections import Counter
from pathlib import Path

from . import price_book
from .book_diff import matched
from .files import hidden

PROVIDERS = {"aws": "AWS", "azure": "Azure", "cloudrift": "CloudRift", "gcp": "GCP", "lambdalabs": "Lambda", "nebius": "Nebius",
             "oci": "OCI", "runpod": "RunPod", "verda": "Verda"}
# gpuhunt's name and GB of a GPU, where one SKU answers to both.
SKUS = {
    ("A10", 24): "A10 24GB", ("A10G", 24): "A10G 24GB", ("A40", 48): "A40 48GB", ("A6000", 48): "RTX A6000 48GB",
    ("B200", 180): "B200 SXM 180GB", ("B300", 268): "B300 SXM 288GB", ("B300", 270): "B300 SXM 288GB",
    ("GB200", 186): "GB200 NVL72 186GB", ("H100NVL", 94): "H100 NVL 94GB", ("H200", 141): "H200 SXM 141GB",
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


def main(folder=None):
    """Write the book of today beside the newest and print what changed; on an error one line, and nothing is written."""
    folder = Path(folder) if folder else price_book.DATA / "prices"
    try:
        made = refresh(folder, datetime.date.today(), load())
    except (ValueError, OSError) as error:
        print(f"make prices: {error}; nothing is changed", file=sys.stderr)
        return 1
    report(*made)
    return 0


def load():
    """gpuhunt's published catalogs by provider, each with `version` and `items`; ValueError where there is no way to them."""
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
        raise ValueError(f"gpuhunt found no catalog ({error}); is there a network?") from None
    if unread.count:
        print(f"gpuhunt left out {unread.count} rows of its catalogs that it could not read", file=sys.stderr)
    return catalog.catalog


class Warnings(logging.Handler):
    """Counts them: gpuhunt warns of each row that it can't read."""

    count = 0

    def emit(self, record):
        self.count += record.levelno == logging.WARNING


def refresh(folder, today, catalogs):
    """Write the new book from the newest of `folder` and the catalogs; returns what `report` tells."""
    books = sorted(folder.glob("*.csv"))
    path = folder / f"{today}.csv"
    if not books:
        raise ValueError(f"{folder} holds no price book to start from")
    if path.exists():
        raise ValueError(f"{path.name} is there already; remove it to make it again")
    before = price_book.prices(books[-1])
    with open(books[-1], encoding="utf-8-sig", newline="") as file:
        old = list(csv.DictReader(file, skipinitialspace=True))
    fresh, skipped = offers(catalogs)
    rows, reasons = merged(old, fresh)
    write(path, rows)
    return before, price_book.prices(path), reasons, skipped, sorted(set(PROVIDERS) - set(catalogs))


def gpu_sku(item):
    """The SKU of data/gpus.csv that an offer of gpuhunt rents, or None where no table says so."""
    name = (item.gpu_name, round(item.gpu_memory or 0))
    if name in SKUS:
        return SKUS[name]
    full = f"{item.provider} {item.instance_name}"
    form = next((form for form, starts in FORMS.get(name, {}).items() if full.startswith(tuple(starts))), None)
    return form and f"{name[0]} {form} {name[1]}GB"


def offers(catalogs):
    """All that the catalogs rent as rows of a price book by key, and a count of what has no SKU or no plausible price here.

    Where zones of a region differ, the upper price counts.
    """
    found, skipped = {}, Counter()
    for name, catalog in catalogs.items():
        rented = [item for item in catalog.items if item.gpu_count and "runpod-cluster" not in item.flags]
        sizes = Counter(instance for instance, _ in {(item.instance_name, item.gpu_count) for item in rented})
        for item in rented:
            row = _row(item, catalog.version, sizes[item.instance_name])
            if row is None:
                skipped[f"{name} {item.gpu_name} {item.gpu_memory or 0:g} GB"] += 1
            elif _key(row) not in found or float(found[_key(row)]["price"]) < item.price:
                found[_key(row)] = row
    return found, skipped


def _row(item, version, sizes):
    """An offer of gpuhunt as a row of a price book; None without a SKU here or without a price that a book may hold."""
    gpu = gpu_sku(item)
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
        source=f"gpuhunt, catalog {item.provider} {version}", confidence="seen")


def _key(row):
    return row["provider"], row["sku"], row["region"], row["term"]


def merged(old, fresh):
    """Rows of the new book, and why rows that were kept so far are not: a list of (row, reason).

    An instance that a catalog lists takes its prices from there: a region or term that is not there is gone. Of instances that
    the old book doesn't list, the cheapest for each provider, GPU, number of GPUs and term is added. All else is kept.
    """
    listed, rows, dropped, taken = {key[:2] for key in fresh}, [], [], set()
    for row in old:
        supplied = row["item"] == "rent" and row["term"] in ("on-demand", "spot") and (row["provider"], row["sku"]) in listed
        if not supplied:
            rows.append(row)
        elif _key(row) in fresh:
            taken.add(_key(row))
            rows.append(fresh[_key(row)])
        else:
            dropped.append((row, "no longer in the catalog"))
    cheapest = {}
    for row in sorted(fresh.values(), key=lambda row: float(row["price"])):
        cheapest.setdefault((row["provider"], row["gpu"], row["gpus_per_server"], row["term"]), row)
    added = [row for row in cheapest.values() if _key(row) not in taken]
    rents = [row for row in rows if row["item"] == "rent"] + added
    on_demand = {_key(row)[:3]: float(row["price"]) for row in rents if row["term"] == "on-demand"}
    above = [row for row in rents if row["term"] in price_book.RESERVED_YEARS
             and float(row["price"]) > on_demand.get(_key(row)[:3], float("inf"))]
    dropped += [(row, f"above the on-demand price, now {on_demand[_key(row)[:3]]:g} USD/h") for row in above]
    return [row for row in rents if row not in above] + [row for row in rows if row["item"] != "rent"], dropped


def write(path, rows):
    """The whole book or nothing: a draft beside it that is checked and then takes its name."""
    draft = path.with_suffix(".draft")
    try:
        with open(draft, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, price_book.PRICES.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        price_book.prices(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def report(before, after, dropped, skipped, missing):
    """Print what moved, what came and went and why, and what is as old as it was."""
    changes = matched(before, after)
    counts = changes["change"].value_counts()
    print(f"{after.attrs['file']}: {len(after)} prices; against {before.attrs['file']} "
          + ", ".join(f"{counts.get(change, 0)} {change}" for change in ("moved", "same", "added", "gone")))
    reasons = {_key(row): reason for row, reason in dropped}
    for row in changes[changes["change"] != "same"].to_dict("records"):
        values = " to ".join(f"{row[book]:g}" for book in ("before", "after") if row[book] == row[book])
        by = f" ({row['ratio'] - 1:+.0%})" if row["change"] == "moved" and row["before"] > 0 else ""
        why = f": {reasons[_key(row)]}" if row["change"] == "gone" and _key(row) in reasons else ""
        wild = " CHECK: more than a factor of two" if row["change"] == "moved" and not 0.5 <= row["ratio"] <= 2 else ""
        offer = ", ".join(row[column] for column in ("provider", "sku", "region", "term"))
        print(f"  {row['change']}: {offer}: {values} {row['unit']}{by}{why}{wild}")
    if skipped:
        most = ", ".join(f"{name} ({count})" for name, count in skipped.most_common(8))
        print(f"skipped: {skipped.total()} offers without a plausible price or of a GPU that the table has no SKU for: {most}")
    if missing:
        print(f"not loaded, prices kept: {', '.join(missing)}")


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    sys.exit(main(*sys.argv[1:]))
