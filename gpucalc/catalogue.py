"""Reads data/ with pandas and validates it: bad input is a ValueError naming file, row, column, value and what is allowed."""
import csv
import datetime
import difflib
import functools
import io
import math
import re
import sys
from pathlib import Path
from typing import NamedTuple

from .quantities import DOMAINS, QUANTITIES, check
from .quantization import format_element_bytes, stored_bits

DATA = Path(__file__).parents[1] / "data"


class Table(NamedTuple):
    """A CSV file: its key, its columns, those that may be blank, and the columns with a closed list."""

    key: str
    columns: list
    blank: list
    choices: dict


class Item(NamedTuple):
    """What a price is for: its unit, the quantity that says which values are allowed, and the terms it is sold on."""

    unit: str
    quantity: str
    terms: list


_ORIGIN = " unit source date confidence note"
_CONFIDENCE = {"confidence": ["seen", "recalled"]}
_PLAIN_NUMBERS = ["year", "ports", "port_bandwidth", "price", "value"]
TABLES = {
    "gpus": Table(
        "gpu",
        ("gpu vendor year kind memory_type marketed_bytes memory_bytes memory_note bandwidth peak_flops peak_format fp8_flops "
         "int8_flops fp32_flops tf32_flops fp16_accumulate_flops link link_bandwidth host_bandwidth tdp_watts ecc "
         "compute_capability" + _ORIGIN).split(),
        ("fp8_flops int8_flops fp32_flops tf32_flops fp16_accumulate_flops host_bandwidth tdp_watts compute_capability "
         "note").split(),
        {"kind": ["datacenter", "workstation", "consumer", "tpu"], "peak_format": ["BF16", "FP16", "FP32"], **_CONFIDENCE}),
    "links": Table(
        "link", ("link generation year scope ports port_bandwidth link_bandwidth latency base_latency switch_latency" + _ORIGIN).split(),
        ["latency", "base_latency", "switch_latency", "note"], {"scope": ["gpu", "node"], **_CONFIDENCE}),
    "models": Table(
        "model",
        ("model family attention params layers hidden heads kv_heads head_dim intermediate vocab tied_embeddings gated_mlp "
         "positions norms_per_layer norm_vectors qk_norm qkv_bias output_bias mlp_bias moe_layers experts experts_per_token "
         "shared_experts shared_gate expert_intermediate router_bias q_lora_rank kv_lora_rank rope_head_dim value_head_dim window "
         "window_layers max_context" + _ORIGIN).split(),
        ["note"], {"family": ["dense", "MoE"], "attention": ["MHA", "GQA", "MQA", "MLA"], **_CONFIDENCE}),
    "recipes": Table(
        "recipe",
        ("recipe title frozen_element_bytes kept_element_bytes weight_element_bytes gradient_element_bytes "
         "master_element_bytes optimizer_element_bytes embedding_optimizer_element_bytes factored_element_bytes lora_rank "
         "adapt_query adapt_key adapt_value adapt_output adapt_mlp" + _ORIGIN).split(),
        ["note"], _CONFIDENCE),
    "formats": Table(
        "weight_format",
        ("weight_format title value_bits block block_bits superblock superblock_bits keep_embeddings" + _ORIGIN).split(),
        ["note"], _CONFIDENCE),
    "efficiencies": Table(
        "efficiency", ("efficiency title compute_efficiency bandwidth_efficiency link_efficiency kernel_seconds" + _ORIGIN).split(),
        ["note"], _CONFIDENCE),
    "measurements": Table(
        "id", ("id topic family kind subject law inputs value" + _ORIGIN).split(),
        ["note"], {"kind": ["computed", "measured"], **_CONFIDENCE}),
}
ITEMS = {
    "rent": Item("USD/h", "usd_per_hour", ["on-demand", "spot", "reserved-1y", "reserved-3y", "marketplace"]),
    "card": Item("USD", "server_usd", ["purchase", "used"]),
    "server": Item("USD", "server_usd", ["purchase", "used"]),
    "egress": Item("USD/GB", "usd_per_gb", ["list"]),
    "storage": Item("USD/GB-month", "usd_per_gb_month", ["list"]),
    "power": Item("USD/kWh", "usd_per_kwh", ["list"]),
    "hosting": Item("USD/month", "hosting_usd_per_month", ["list"]),
    "managed": Item("share", "premium", ["list"]),
}
_FILLED_FOR = {"gpu": ["rent", "card", "server"], "gpus": ["rent", "server"], "from_bytes": ["egress"]}
PRICES = Table(
    "row", ("item provider sku gpu gpus region term price currency unit from_bytes to_bytes date source confidence note").split(),
    ["gpu", "gpus", "from_bytes", "to_bytes", "note"], {"item": list(ITEMS), "currency": ["USD"], **_CONFIDENCE})
_ONE_PRICE = ["item", "provider", "sku", "gpu", "region", "term", "from_bytes"]


def gpus():
    """All GPUs, by full SKU."""
    return _table("gpus").copy()


def links():
    """All links, by name."""
    return _table("links").copy()


def models():
    """All models, by name."""
    return _table("models").copy()


def recipes():
    """All training recipes, by name."""
    return _table("recipes").copy()


def formats():
    """All formats of weights, by name; `weight_element_bytes` follows from their bits."""
    return _table("formats").copy()


def efficiencies():
    """All sets of achieved shares of the peaks, by name."""
    return _table("efficiencies").copy()


def measurements():
    """All published figures that a law predicts, by id."""
    return _table("measurements").copy()


def gpu(name):
    """The row of one GPU."""
    return _row("gpus", name)


def link(name):
    """The row of one link."""
    return _row("links", name)


def model(name):
    """The row of one model: its name in data/models.csv, or the path of a Hugging Face config.json."""
    if str(name).endswith(".json"):
        from .config import read
        table = TABLES["models"]
        return read(name, [column for column in table.columns if column != table.key])
    return _row("models", name)


def recipe(name):
    """The row of one training recipe."""
    return _row("recipes", name)


def efficiency(name):
    """The row of one set of achieved shares of the peaks."""
    return _row("efficiencies", name)


def weight_format(name):
    """The row of one format of weights."""
    return _row("formats", name)


# What a parameter or a measurement may name, and how its row is found.
ROWS = {"model": model, "gpu": gpu, "link": link, "recipe": recipe, "weight_format": weight_format, "efficiency": efficiency}


def price_books():
    """Paths of the project's price books, the newest last."""
    return sorted((DATA / "prices").glob("*.csv"))


def prices(path=None):
    """A price book (default: the newest) with `usd_per_hour` for one rented GPU; `attrs` holds its `file` name and `date`."""
    path = Path(path or price_books()[-1])
    frame = _read(path, PRICES)
    for row, record in zip(frame.index, frame.to_dict("records")):
        _check_price(path.name, row, record)
    _refuse_duplicates(path.name, frame, _ONE_PRICE)
    egress = frame["item"] == "egress"
    frame.loc[egress, "to_bytes"] = frame.loc[egress, "to_bytes"].fillna(math.inf)
    _check_tiers(path.name, frame[egress])
    frame["usd_per_hour"] = (frame["price"] / frame["gpus"]).where(frame["item"] == "rent")
    full_dates = [date for date in frame["date"] if len(date) == 10]
    frame.attrs = {"file": path.name, "date": max(full_dates or frame["date"])}
    return frame


def price(book, item, *, gpu=None, provider=None, sku=None, region=None, term=None, cheapest=False):
    """The one row of `book` that is asked for; with `cheapest` the lowest price of several (per GPU where rented)."""
    wanted = {"item": item, "gpu": gpu, "provider": provider, "sku": sku, "region": region, "term": term}
    wanted = {column: value for column, value in wanted.items() if value is not None}
    file, asked = book.attrs["file"], ", ".join(f"{column} {value!r}" for column, value in wanted.items())
    found = book
    for column, value in wanted.items():
        there = sorted(set(found[column]))
        found = found[found[column] == value]
        if found.empty:
            raise ValueError(f"{file}: no price for {asked}; {column} is one of {', '.join(map(repr, there))}")
    if cheapest:
        found = found.sort_values("usd_per_hour" if item == "rent" else "price", kind="stable").head(1)
    if len(found) > 1:
        rows = [f"row {row}: {', '.join(filter(None, names))}" for row, *names in
                found[["provider", "sku", "gpu", "region", "term"]].itertuples(name=None)]
        more = [f"{len(rows) - 12} more"] if len(rows) > 12 else []
        raise ValueError(f"{file}: {len(found)} prices for {asked}; say which of {'; '.join(rows[:12] + more)}")
    return _plain(found.iloc[0], f"{file}, row {found.index[0]}")


@functools.cache
def _table(name):
    table = TABLES[name]
    frame = _read(DATA / f"{name}.csv", table)
    _refuse_duplicates(f"{name}.csv", frame, [table.key])
    if name == "gpus":
        for row, value in frame["link"].items():
            _check_known(f"{name}.csv", row, "link", value, "links")
    if name == "formats":
        bits = stored_bits(**frame[list(stored_bits.arguments)])
        frame["weight_element_bytes"] = format_element_bytes(bits)
    return frame.set_index(table.key)


def _row(name, key):
    frame = _table(name)
    if key not in frame.index:
        raise ValueError(f"data/{name}.csv has no {frame.index.name} {key!r}{_close(key, frame.index)}; see all in that file")
    return _plain(frame.loc[key], key)


def _plain(row, name):
    """A row of plain Python numbers, counts as int: NumPy's own would overflow without a word. Columns hold floats for that."""
    import pandas
    values = [int(value) if _is_count(column) and value == value else getattr(value, "item", lambda: value)()
              for column, value in row.items()]
    return pandas.Series(values, row.index, dtype=object, name=name)


def _is_count(column):
    return column == "year" or column in QUANTITIES and DOMAINS[QUANTITIES[column].allowed][3]


def _close(value, names):
    """Up to four names like `value`, to suggest."""
    within = [name for name in names if str(value).lower() in name.lower()]
    close = within or difflib.get_close_matches(str(value), list(names), cutoff=0.5)
    return f"; close: {', '.join(close[:4])}" if close else ""


def _bad(file, row, column, value, allowed):
    shown = "blank" if value == "" else repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
    return ValueError(f"{file}, row {row}, column {column}: {shown}; allowed: {allowed}")


def _read(path, table):
    """The file as a DataFrame whose index is the line in the file; every cell checked by itself."""
    import pandas
    file, lines = path.name, _lines(path)
    _, header = next(lines, (1, []))
    _check_header(file, header, table.columns)
    records, rows = [], []
    for row, cells in lines:
        if len(cells) != len(header):
            raise ValueError(f"{file}, row {row}: {len(cells)} cells; allowed: {len(header)}, as in the header")
        texts = dict(zip(header, cells))
        records.append([_value(file, row, column, texts[column], table) for column in table.columns])
        rows.append(row)
    if not rows:
        raise ValueError(f"{file}, row 1: no rows below the header; allowed: at least one")
    return pandas.DataFrame(records, pandas.Index(rows, name="row"), table.columns)


def _lines(path):
    """Number of the first line and cells of every record that is not blank, spaces around cells removed."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path.name}, row {row}: byte {content[error.start]:#04x}; allowed: UTF-8 text") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    row = 1
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if any(cells):
                yield row, cells
            row = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path.name}, row {row}: {error}; allowed: comma-separated cells, quoted where needed") from None


def _check_header(file, header, columns):
    names = f"allowed: {', '.join(columns)}"
    if not header:
        raise ValueError(f"{file}, row 1: the file is empty; {names}")
    for column in columns:
        if column not in header:
            raise ValueError(f"{file}, row 1: missing column {column}; {names}")
    for column in header:
        if column not in columns or header.count(column) > 1:
            raise ValueError(f"{file}, row 1, column {column or 'without a name'}: unknown or there twice; {names}")


def _value(file, row, column, text, table):
    """The cell as text or float; NaN for a number that is not there."""
    number = column in QUANTITIES or column in _PLAIN_NUMBERS
    if text == "":
        if column not in table.blank:
            raise _bad(file, row, column, text, "a number" if number else "text")
        return math.nan if number else text
    if column in table.choices and text not in table.choices[column]:
        raise _bad(file, row, column, text, ", ".join(table.choices[column]))
    if column == "date":
        _check_date(file, row, text)
    return _number(file, row, column, text) if number else text


def _number(file, row, column, text):
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) or math.isinf(float(text)):
        raise _bad(file, row, column, text, "a number such as 2.10 or 80e9")
    value = float(text)
    if column in QUANTITIES:
        _check_quantity(file, row, column, column, value)
    return value


def _check_quantity(file, row, column, quantity, value):
    try:
        check(quantity, value)
    except ValueError:
        raise _bad(file, row, column, value, QUANTITIES[quantity].allowed) from None


def _check_date(file, row, text):
    """A year, a month or a day that has begun."""
    try:
        day = datetime.date.fromisoformat(text + "-01" * (2 - text.count("-")))
    except ValueError:
        day = None
    if not day or day > datetime.date.today() or not re.fullmatch(r"\d{4}(-\d\d){0,2}", text, re.ASCII):
        raise _bad(file, row, "date", text, "YYYY, YYYY-MM or YYYY-MM-DD, not in the future")


def _check_known(file, row, column, value, name):
    if value not in _table(name).index:
        raise _bad(file, row, column, value, f"a {column} of data/{name}.csv{_close(value, _table(name).index)}")


def _check_price(file, row, record):
    """What depends on the item: its unit, its terms, the columns it fills, and the values its price may have."""
    name, item = record["item"], ITEMS[record["item"]]
    if record["unit"] != item.unit:
        raise _bad(file, row, "unit", record["unit"], f"{item.unit} for {name}")
    if record["term"] not in item.terms:
        raise _bad(file, row, "term", record["term"], f"{', '.join(item.terms)} for {name}")
    for column, items in _FILLED_FOR.items():
        filled = record[column] == record[column] and record[column] != ""
        if filled != (name in items):
            raise _bad(file, row, column, record[column] if filled else "", f"{'blank' if filled else 'filled'} for {name}")
    if name != "egress" and record["to_bytes"] == record["to_bytes"]:
        raise _bad(file, row, "to_bytes", record["to_bytes"], f"blank for {name}")
    if record["gpu"]:
        _check_known(file, row, "gpu", record["gpu"], "gpus")
    _check_quantity(file, row, "price", item.quantity, record["price"])


def _refuse_duplicates(file, frame, columns):
    first = {}
    for row, *names in frame[columns].astype(str).itertuples(name=None):
        if tuple(names) in first:
            raise ValueError(f"{file}, row {row}: same {', '.join(columns)} as row {first[tuple(names)]}; allowed: each once")
        first[tuple(names)] = row


def _check_tiers(file, egress):
    """Tiers of one service start at 0, meet without gap or overlap, and end without an upper edge."""
    for _, tiers in egress.groupby(["provider", "sku", "region", "term"]):
        below = 0
        for row, lower, upper in tiers.sort_values("from_bytes")[["from_bytes", "to_bytes"]].itertuples(name=None):
            if lower != below:
                raise _bad(file, row, "from_bytes", lower, f"{below:g}, where the tier below ends")
            if upper <= lower:
                raise _bad(file, row, "to_bytes", upper, f"above {lower:g}")
            below = upper
        if below < math.inf:
            raise _bad(file, row, "to_bytes", upper, "blank in the last tier, which has no upper edge")


def main(arguments):
    """Validate one price book: a line on stdout and 0, or the error on stderr and 1."""
    if len(arguments) != 1:
        print("usage: python -m gpucalc.catalogue FILE", file=sys.stderr)
        return 2
    try:
        book = prices(arguments[0])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{book.attrs['file']}: {len(book)} rows, newest {book.attrs['date']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
