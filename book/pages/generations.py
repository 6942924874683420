"""The page of generations: what each brought, its formats, its peak from units and clock, its link, and what it cost."""
import re

from pandas import DataFrame

from gpucalc.core.figures import number
from gpucalc.laws.arithmetic_intensity import ridge_point
from gpucalc.laws.worth import bandwidth_per_rent, bandwidth_per_usd, flops_per_rent, flops_per_usd, unit_peak
from gpucalc.rows import catalogue
from gpucalc.rows.selections import derivation, selection
from ..components.dates import dated
from ..components.price_history import rents_at_will
from ..components.show import difference, table

# Formats from wide to narrow, each with the peak of a card and what one unit does in a clock.
FORMATS = {"FP32": ("fp32_flops", "unit_fp32"), "TF32": ("tf32_flops", "unit_tf32"),
           "BF16 or FP16": ("peak_flops", "unit_half"), "INT8": ("int8_flops", "unit_int8"),
           "FP8": ("fp8_flops", "unit_fp8"), "FP4": ("fp4_flops", "unit_fp4")}
CARDS = ("P100 SXM 16GB", "V100 SXM 32GB", "RTX 2080 Ti 11GB", "A100 SXM 80GB", "H100 SXM 80GB", "H200 SXM 141GB",
         "B200 SXM 180GB", "GB200 NVL72 186GB")
PETA, TERA = 1e15, 1e12
_CLOSE = 0.015  # a data sheet's peak is rounded, and its clock too


def _rate(value):
    return number(value, "FLOP/second")


def _bytes(value):
    return number(value, "byte")


def _byte_rate(value):
    return number(value, "byte/second")


def generations():
    """Every generation with the row of the card that stands for it; if none is named, the newest card of the generation."""
    frame, cards = catalogue.generations(), catalogue.gpus()
    newest = cards.sort_values("year", kind="stable").reset_index().groupby("generation")["gpu"].last()
    named = [gpu or newest.get(name, "") for name, gpu in frame["gpu"].items()]
    known = [gpu in cards.index for gpu in named]
    held = frame.drop(columns=["vendor", "year", "link", "unit", "source", "date", "confidence", "note"])
    taken = cards.reindex([gpu if there else None for gpu, there in zip(named, known)]).set_axis(frame.index)
    joined = taken.drop(columns=["generation"]).assign(**held.drop(columns="gpu"), gpu=named, brought_link=frame["link"])
    joined = joined.assign(vendor=frame["vendor"], year=frame["year"])
    there = joined[known]
    return joined.assign(half=joined["peak_flops"].where(joined["peak_format"] != "FP32"), described=known,
                         ridge=ridge_point(there["peak_flops"], there["bandwidth"]).reindex(joined.index))


def headline():
    """What the sentences of the page say: how far the cards came, and how well peaks follow from units and clock."""
    cards = generations().query("vendor == 'NVIDIA' and status == 'available' and tensor_cores != 'none'")
    cards = cards[cards["memory_type"].str.startswith("HBM")]
    first, last, off = cards.iloc[0], cards.iloc[-1], peaks()
    far = off[off["off"].abs() > _CLOSE]
    return {"first": first["gpu"], "last": last["gpu"], "years": int(last["year"] - first["year"]), "close": _CLOSE,
            "flops": last["peak_flops"] / first["peak_flops"], "bandwidth": last["bandwidth"] / first["bandwidth"],
            "ridge_first": first["ridge"], "ridge_last": last["ridge"], "agree": len(off) - len(far), "apart": list(far["gpu"])}


def look_up(vendors=("NVIDIA",)):
    """The first table: one line a generation."""
    frame = generations().query("vendor in @vendors").reset_index()
    shown = frame[["generation", "year", "bandwidth", "peak_flops", "peak_format", "ridge", "gpu", "memory_type", "link",
                   "link_bandwidth"]]
    return table(shown, f"Generations of {' and '.join(vendors)}, each by one card",
                 labels={"gpu": "card", "memory_type": "memory", "peak_flops": "dense peak", "peak_format": "in",
                         "ridge": "ridge point", "link_bandwidth": "per direction"},
                 formats={"year": "{:.0f}".format, "ridge": lambda value: number(value, "FLOP/byte")})


def brought_table():
    """What was new in each generation, and in which process its chip is made."""
    frame = generations().reset_index()
    return table(frame[["generation", "brought", "tensor_cores", "process", "tdp_watts"]], "What each generation brought",
                 labels={"brought": "what was new", "tensor_cores": "tensor or matrix cores", "tdp_watts": "power of its card"})


def format_table():
    """FLOP of one unit in a clock, by generation and format: a dash where the tensor cores do not multiply it, or nobody says."""
    frame = catalogue.generations().reset_index()
    units = [unit for _, unit in FORMATS.values()]
    return table(frame[["generation", "tensor_cores", "formats", *units]],
                 "What one multiprocessor or compute unit does in a clock, dense; a TPU chip is one",
                 labels={"tensor_cores": "tensor cores", "formats": "they multiply"}
                 | {unit: name for name, (_, unit) in FORMATS.items()},
                 formats=dict.fromkeys(units, lambda value: f"{value:,.0f}"))


def peaks():
    """Peak by units, clock and what a unit does in a clock, beside the data sheet's, by generation and format."""
    rows = []
    for name, row in generations().query("described and clock == clock").iterrows():
        for form, (column, unit) in FORMATS.items():
            if row[unit] == row[unit] and row[column] == row[column]:
                peak = unit_peak(row["units"], row["clock"], row[unit])
                rows.append({"generation": name, "gpu": row["gpu"], "format": form, "units": row["units"], "clock": row["clock"],
                             "unit_flops": row[unit], "unit_peak": peak, "sheet": row[column]})
    frame = DataFrame(rows)
    return frame.assign(off=frame["unit_peak"] / frame["sheet"] - 1)


def peak_table():
    """`peaks` of the format in which a card multiplies in 16 bits."""
    frame = peaks().query("format == 'BF16 or FP16' or generation == 'Pascal'").drop(columns="format")
    return table(frame, "Peak in 16 bits (Pascal: FP32) from units and clock, beside the data sheet",
                 labels={"gpu": "card", "unit_flops": "FLOP of a unit in a clock", "unit_peak": "by the formula",
                         "sheet": "data sheet", "units": "units", "clock": "clock"},
                 formats={"sheet": _rate, "unit_flops": "{:,.0f}".format,
                          "off": difference})


def link_table():
    """NVLink by generation: one link and all links of a GPU, per direction, and both directions as NVIDIA prints them."""
    frame = catalogue.links()
    frame = frame[frame.index.str.fullmatch(r"NVLink \d+( rack)?")].reset_index()
    frame = frame.assign(both=2 * frame["link_bandwidth"])[
        ["link", "generation", "year", "ports", "port_bandwidth", "link_bandwidth", "both", "reach"]]
    return table(frame, "NVLink by generation",
                 labels={"ports": "links of a GPU", "port_bandwidth": "one link, per direction", "generation": "came with",
                         "link_bandwidth": "a GPU, per direction", "both": "a GPU, both directions, as marketed",
                         "reach": "GPUs joined"},
                 formats={"both": _byte_rate, "year": "{:.0f}".format})


def card_table():
    """Eight cards of a decade, every figure from their rows."""
    frame = catalogue.gpus()
    frame = frame.loc[[name for name in CARDS if name in frame.index]].reset_index()
    rates = [column for column, _ in FORMATS.values()]
    return table(frame[["gpu", "year", "units", "memory_type", "marketed_bytes", "bandwidth", *rates, "link", "link_bandwidth",
                        "tdp_watts"]], "Cards of a decade, dense peaks with FP32 accumulation",
                 labels={"gpu": "card", "units": "multiprocessors", "memory_type": "memory", "marketed_bytes": "size as sold",
                         "link_bandwidth": "per direction"} | {column: name for name, (column, _) in FORMATS.items()},
                 formats={"marketed_bytes": _bytes, "year": "{:.0f}".format})


def precision_table():
    """Formats of numbers: bits in memory, the first generation of NVIDIA that multiplies them, and dense peaks of three cards."""
    bits, held = catalogue.formats()["value_bits"], generations().query("vendor == 'NVIDIA'")
    cards = catalogue.gpus().loc[["A100 SXM 80GB", "H100 SXM 80GB", "B200 SXM 180GB"]]
    stored = {"BF16 or FP16": "BF16", "FP4": "NVFP4"}
    rows = [{"format": form, "bits": bits[stored.get(form, form)], "first": _first(held, column)} | cards[column].to_dict()
            for form, (column, _) in FORMATS.items()]
    return table(DataFrame(rows), "Formats of numbers and dense peaks in them",
                 labels={"bits": "bits in memory", "first": "from"},
                 formats=dict.fromkeys(cards.index, _rate) | {"bits": "{:.0f}".format})


def _first(frame, column):
    """The generation with which a peak came."""
    column = "half" if column == "peak_flops" else column
    return next((name for name, value in frame[column].items() if value == value), "none")


def rents_by_quarter():
    """Median rent on demand of each GPU and quarter, with what a PFLOP/s and a TB/s of it cost by the hour."""
    found, cards = rents_at_will(), catalogue.gpus()
    found = found[found["date"].str.len() >= 7]
    quarter = found["date"].str[:4] + "-" + ((found["date"].str[5:7].astype(int) - 1) // 3 * 3 + 1).map("{:02d}".format)
    frame = found.groupby([found["gpu"], quarter.rename("date")]).agg(
        usd_per_hour=("usd_per_hour", "median"), providers=("provider", "nunique")).reset_index()
    frame = frame.join(cards[["peak_flops", "bandwidth"]], on="gpu")
    return frame.assign(per_pflops=PETA / flops_per_rent(frame["peak_flops"], frame["usd_per_hour"]),
                        per_tbs=TERA / bandwidth_per_rent(frame["bandwidth"], frame["usd_per_hour"]))


@derivation
def purchases(book):
    """Prices of cards and servers in a book, a GPU at a time, with what a PFLOP/s and a TB/s of it cost; the oldest first."""
    found = book[book["item"].isin(["card", "server"]) & (book["currency"] == "USD")]
    cards = catalogue.gpus().reindex(found["gpu"]).set_axis(found.index)
    frame = found.assign(card_usd=found["price"] / found["gpus_per_server"].fillna(1), peak_flops=cards["peak_flops"],
                         bandwidth=cards["bandwidth"], generation=cards["generation"],
                         kind=cards["kind"], year=cards["year"], peak_format=cards["peak_format"])
    frame = frame.sort_values("date", kind="stable")
    return frame.assign(per_pflops=PETA / flops_per_usd(frame["peak_flops"], frame["card_usd"]),
                        per_tbs=TERA / bandwidth_per_usd(frame["bandwidth"], frame["card_usd"]))


@selection
def launched(book):
    """Those of `purchases` of new cards with tensor cores, in the year it came or the next; `at` is the time in years."""
    frame = purchases(book)
    year, month = (frame["date"].str[part].replace("", "7").astype(int) for part in (slice(4), slice(5, 7)))
    new = (frame["term"] != "used") & (frame["peak_format"] != "FP32") & (year - frame["year"] <= 1)
    return frame.assign(at=year + (month - 1) / 12)[new]


@selection
def purchase_table(book):
    """`purchases` as a page shows them, each at its own date; None if there are none."""
    frame = purchases(book)
    if frame.empty:
        return None
    # Prices of the past are meant to be old: no warning of their age.
    whose = re.sub(r", the oldest of [\d-]+", "", dated(book, frame))
    frame = frame[["gpu", "generation", "item", "provider", "term", "date", "card_usd", "per_pflops", "per_tbs",
                   "confidence"]]
    return table(frame, f"What a GPU cost to buy, each price at its date ({whose})",
                 labels={"gpu": "GPU", "item": "bought as", "provider": "whose price", "card_usd": "a GPU",
                         "per_pflops": "a PFLOP/s", "per_tbs": "a TB/s"},
                 formats=dict.fromkeys(("card_usd", "per_pflops", "per_tbs"), lambda value: number(value, "USD")))
