"""data/datapackage.json: the one schema of every table, as the Data Package standard has it, and the files that follow it."""
import csv
import datetime
import json
import re
import subprocess
import sys

import jsonschema
import pytest

from gpucalc import QUANTITIES
from gpucalc.core.quantities import DOMAINS
from gpucalc.rows import price_book, tables
from gpucalc.rows.ages import day
from gpucalc.rows.tables import DATA

PACKAGE = json.loads((DATA / "datapackage.json").read_text(encoding="utf-8"))
SCHEMAS = {resource["name"]: resource["schema"] for resource in PACKAGE["resources"]}
FILES = {resource["name"]: sorted(DATA.glob(resource["path"])) for resource in PACKAGE["resources"]}
README = (DATA / "README.md").read_text(encoding="utf-8")

# The part of the standard, version 2 (datapackage.org), that is used here.
TEXT = {"type": "string", "minLength": 1}
STANDARD = {
    "type": "object", "required": ["$schema", "name", "title", "resources"], "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://datapackage.org/profiles/2.0/datapackage.json"},
        "name": {"type": "string", "pattern": "^[a-z0-9._-]+$"}, "title": TEXT,
        "resources": {"type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["name", "path", "schema"], "additionalProperties": False,
            "properties": {
                "name": {"type": "string", "pattern": "^[a-z0-9._-]+$"}, "title": TEXT, "type": {"const": "table"},
                "path": {"type": "string", "pattern": r"^(?!/)(?!.*\.\./)(?!.*://).+\.csv$"}, "format": {"const": "csv"},
                "mediatype": {"const": "text/csv"}, "encoding": {"const": "utf-8"},
                "schema": {
                    "type": "object", "required": ["fields"], "additionalProperties": False,
                    "properties": {
                        "missingValues": {"const": [""]},
                        "primaryKey": {"type": "array", "items": TEXT, "minItems": 1},
                        "uniqueKeys": {"type": "array", "items": {"type": "array", "items": TEXT, "minItems": 1}},
                        "foreignKeys": {"type": "array", "items": {"type": "object", "required": ["fields", "reference"]}},
                        "fields": {"type": "array", "minItems": 1, "items": {
                            "type": "object", "required": ["name", "type", "description", "constraints"],
                            "additionalProperties": False,
                            "properties": {
                                "name": TEXT, "type": {"enum": ["string", "number", "integer"]}, "description": TEXT,
                                "unit": TEXT,
                                "constraints": {
                                    "type": "object", "required": ["required"], "additionalProperties": False,
                                    "properties": {
                                        "required": {"type": "boolean"}, "unique": {"type": "boolean"},
                                        "enum": {"type": "array", "minItems": 1, "uniqueItems": True},
                                        "minimum": {"type": "number"}, "exclusiveMinimum": {"type": "number"},
                                        "maximum": {"type": "number"}, "pattern": TEXT}}}}}}}}}}}}


def fields(name):
    return {field["name"]: field for field in SCHEMAS[name]["fields"]}


def records(name):
    for path in FILES[name]:
        with open(path, encoding="utf-8", newline="") as file:
            for line, row in enumerate(csv.DictReader(file), 2):
                yield f"{path.name}, record {line}", {column: text.strip() for column, text in row.items()}


def test_it_is_a_data_package():
    jsonschema.validate(PACKAGE, STANDARD)
    assert len(SCHEMAS) == len(PACKAGE["resources"])


def test_keys_name_fields():
    for name, schema in SCHEMAS.items():
        assert len(fields(name)) == len(schema["fields"]), name
        for key in [schema.get("primaryKey", []), *schema.get("uniqueKeys", [])]:
            assert set(key) <= set(fields(name)), name
        for key in schema.get("foreignKeys", []):
            other = key["reference"]
            assert set(key["fields"]) <= set(fields(name)) and set(other["fields"]) <= set(fields(other["resource"])), name


def test_every_file_has_one_schema():
    described = [path for paths in FILES.values() for path in paths]
    assert sorted(described) == sorted(DATA.rglob("*.csv"))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_files_follow_it(name):
    """As a reader that knows nothing of this book would check them."""
    kinds = {"integer": r"[+-]?\d+", "number": r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", "string": r"(?s).*"}
    for path in FILES[name]:
        with open(path, encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == list(fields(name)), path.name
    for where, row in records(name):
        for column, field in fields(name).items():
            text, rule, at = row[column], field["constraints"], (where, column, row[column])
            if text == "":
                assert not rule["required"], at
                continue
            assert re.fullmatch(kinds[field["type"]], text), at
            assert text in rule.get("enum", [text]) and re.fullmatch(rule.get("pattern", r"(?s).*"), text), at
            if field["type"] != "string":
                value = float(text)
                assert rule.get("minimum", value) <= value <= rule.get("maximum", value), at
                assert rule.get("exclusiveMinimum", -float("inf")) < value, at


@pytest.mark.parametrize("name", SCHEMAS)
def test_keys_hold(name):
    rows = list(records(name))
    for key in filter(None, [SCHEMAS[name].get("primaryKey"), *SCHEMAS[name].get("uniqueKeys", [])]):
        found = [(where.partition(",")[0], *(row[column] for column in key)) for where, row in rows]
        assert len(found) == len(set(found)), key
    for key in SCHEMAS[name].get("foreignKeys", []):
        there = {row[key["reference"]["fields"][0]] for _, row in records(key["reference"]["resource"])}
        assert {row[key["fields"][0]] for _, row in rows} - {""} <= there, key


@pytest.mark.parametrize("name", [name for name in SCHEMAS if "date" in fields(name)])
def test_every_date_has_begun(name):
    """Where the data are read nobody asks a clock. One that is behind is put right by the newest date of the change log."""
    changed = max(re.findall(r"^## .*\((\d{4}-\d\d-\d\d)\)$", (DATA.parent / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE))
    latest = max(datetime.date.today(), day(changed)) + datetime.timedelta(1)
    assert [where for where, row in records(name) if row["date"] and day(row["date"]) > latest] == []


# Python whose clock stands somewhere else, at the year that is its first word, and then a command.
ANOTHER_DAY = """import datetime, sys
today = datetime.date(int(sys.argv.pop(1)), 6, 1)
datetime.date = type("date", (datetime.date,), {"__slots__": (), "today": classmethod(lambda cls: today)})
from gpucalc.__main__ import main
sys.exit(main())"""


@pytest.mark.parametrize("year", [1985, 2020, 2099])
@pytest.mark.parametrize("words", [
    ["list", "gpus"], ["kv_bytes", "--model", "Llama-3-8B", "--context", "8192", "--batch", "2"],
    ["decide", str(DATA / "cases/lab_rtx6000.yaml")], ["decide", str(DATA / "cases/own_8_h100.yaml")]], ids=lambda words: words[-1][-18:])
def test_no_clock_stops_a_command(year, words):
    done = subprocess.run([sys.executable, "-c", ANOTHER_DAY, str(year), *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout


def test_it_agrees_with_the_vocabulary():
    """A column that is a quantity has that quantity's unit and bounds."""
    for name in SCHEMAS:
        for column, field in fields(name).items():
            if column not in QUANTITIES:
                continue
            low, low_included, high, whole = DOMAINS[QUANTITIES[column].allowed]
            rule = field["constraints"]
            assert field.get("unit", "") == QUANTITIES[column].unit, (name, column)
            assert field["type"] == "number" or whole, (name, column)
            assert rule.get("minimum", -float("inf")) == (low if low_included else -float("inf")), (name, column)
            assert rule.get("exclusiveMinimum") == (None if low_included else low), (name, column)
            assert rule.get("maximum", float("inf")) == high, (name, column)


def test_a_name_is_a_number_everywhere_or_nowhere():
    """Because the reader knows a number by the name of its column."""
    kinds = {(column, field["type"] != "string") for name in SCHEMAS for column, field in fields(name).items()}
    assert len(kinds) == len(dict(kinds))
    assert set(QUANTITIES) & {column for column, number in kinds if not number} == set()


def test_the_vocabulary_allows_what_the_code_knows():
    assert fields("quantities")["allowed"]["constraints"]["enum"] == list(DOMAINS)


def test_prices_are_described_as_they_are_read():
    assert tables.schema("prices") == price_book.PRICES
    assert tables.schema("prices").choices["item"] == list(price_book.ITEMS)


def refused(tmp_path, monkeypatch, name, column, value):
    """The message where the second row of a table has that value."""
    with open(DATA / f"{name}.csv", encoding="utf-8", newline="") as file:
        held = list(csv.DictReader(file))
    held[1][column] = value
    with open(tmp_path / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, held[0])
        writer.writeheader()
        writer.writerows(held)
    for other in ("links", "shares", "recipes", "gpus", "models"):
        tables.rows(other)
    monkeypatch.setattr(tables, "DATA", tmp_path)
    with pytest.raises(ValueError) as error:
        tables.table.__wrapped__(name)
    return str(error.value)


@pytest.mark.parametrize("name, column, value, expected", [
    ("measurements", "unit", "GB",
     "'GB'; allowed: byte, byte/second, FLOP, FLOP/second, watt, second, FLOP/byte, token/second, "),
    ("measurements", "unit", "", "blank; allowed: text"),
    ("claims", "unit", "GB", "'GB'; allowed: byte, byte/second, FLOP,"),
    ("measurements", "family", "prefil", "'prefil'; allowed: decode on one GPU, prefill, matrix product, "),
    ("measurements", "kind", "guessed", "'guessed'; allowed: "),
    ("fine_print", "verdict", "maybe", "'maybe'; allowed: moves freely, at a price, rewrite, forbidden, "),
    ("measurements", "date", "1989", "'1989'; allowed: YYYY, YYYY-MM or YYYY-MM-DD, from 1990 on"),
    ("gpus", "vendor", "NVIDIA\u200b", "'NVIDIA\\u200b'; allowed: text without control and invisible characters"),
    ("gpus", "link", "NVLink 9", "'NVLink 9'; allowed: a link of data/links.csv; close: "),
    ("measurements", "inputs", "{batch: 1}", "'{batch: 1}'; allowed: a JSON object, such as {\"batch\": 32}"),
    ("claims", "inputs", "[1]", "'[1]'; allowed: a JSON object"),
    ("claims", "inputs", "[" * 90_000, f"'{'[' * 56}...; allowed: a JSON object"),
    ("defaults", "value", "-1", "-1.0; allowed: "),
    ("assumptions", "unit", "parsec", "'parsec'; allowed: year or of the price"),
    ("assumptions", "likely", "1000", "1000.0; allowed: from low, 4, to high, 6"),
    ("assumptions", "likely", "0.1", "0.1; allowed: from low, 4, to high, 6"),
    ("assumptions", "low", "-1", "-1.0; allowed: a number above 0"),
    ("gpus", "vendor", "", "blank; allowed: text"),
    ("gpus", "tdp_watts", "700 W", "'700 W'; allowed: a number such as 2.10 or 80e9"),
    ("gpus", "bandwidth", "0", "0.0; allowed: a number above 0"),
    ("correlations", "correlation", "1.01", "1.01; allowed: from -1 to 1"), ("correlations", "correlation", "-1.01", "-1.01; allowed: from -1 to 1"),
    ("correlations", "other", "nothing", "'nothing'; allowed: a name of the vocabulary, and two different ones"),
    ("correlations", "quantity", "nothing", "'nothing'; allowed: a name of the vocabulary, and two different ones"),
    ("jobs", "recipe", "adam", "'adam'; allowed: "), ("jobs", "needs", "modell", "'modell'; allowed: names that a case knows; close: model"),
    ("jobs", "takes", "model promt", "'promt'; allowed: names that a case knows; close: prompt"), ("jobs", "one_of", "model|modell", "'modell'; allowed: names that a case knows"),
    ("jobs", "derived", "context", "'context'; allowed: a name and a formula with = between"), ("jobs", "derived", "context=mean", "'context=mean'; allowed: a name and a formula"),
    ("jobs", "derived", "context=prompt=output", "'context=prompt=output'; allowed: a name and a formula"),
    ("quality", "model", "GLM-9", "'GLM-9'; allowed: a model of data/models.csv"), ("quality", "score", "76", "76.0; allowed: a share"),
    ("nodes", "gpu", "H100", "'H100'; allowed: a gpu of data/gpus.csv"), ("instances", "gpu", "H100", "'H100'; allowed: a gpu of data/gpus.csv"),
    ("partitions", "gpu", "H100", "'H100'; allowed: a gpu of data/gpus.csv"), ("gpus", "benchmark", "XX", "'XX'; allowed: "), ("claims", "than", "{1}", "'{1}'; allowed: a JSON object"),
    ("claims", "assumed", "3", "'3'; allowed: a JSON object"), ("claims", "harm", "null", "'null'; allowed: a JSON object"),
    ("assumptions", "quantity", "util", "'util'; allowed: a name of the vocabulary; close: memory_utilization"),
])
def test_what_a_closed_list_does_not_have_is_refused_where_it_is_read(tmp_path, monkeypatch, name, column, value, expected):
    assert refused(tmp_path, monkeypatch, name, column, value).startswith(f"{name}.csv, row 3, column {column}: {expected}")


@pytest.mark.parametrize("correlation", [1.0, -1.0])
def test_what_follows_wholly_is_read(correlation):
    tables.check_row("correlations", "correlations.csv", 2, {"quantity": "server_usd", "other": "usd_per_hour", "correlation": correlation})


def test_measurements_and_claims_give_their_inputs_as_json():
    for name in ("measurements", "claims"):
        assert all(isinstance(json.loads(row["inputs"]), dict) for _, row in records(name))


# README.md

def column_table(heading):
    """Columns and what the README says of a blank, of the first table below a heading."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    first = re.search(r"\n\| column \|.*?(?=\n\n|\Z)", section, re.DOTALL)[0].strip().split("\n")
    for line in first[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for column in re.findall("`(.*?)`", cells[0]):
            yield column, cells[2] if len(cells) > 2 else None


@pytest.mark.parametrize("name", SCHEMAS)
def test_readme_has_the_columns_of_the_schema(name):
    heading = {"prices": "prices/<date>.csv"}.get(name, f"{name}.csv")
    told = {} if name == "quantities" else dict(column_table("In every other file"))
    own = dict(column_table(heading))
    common = {column for column in told if column in fields(name)}
    assert set(own) | common | set(SCHEMAS[name].get("primaryKey", [])) >= set(fields(name))
    assert set(own) <= set(fields(name))
    for column, blank in (told | own).items():
        if column in fields(name) and blank is not None:
            assert (blank == "no") == fields(name)[column]["constraints"]["required"], column
        elif column in own:
            assert fields(name)[column]["constraints"]["required"], column


@pytest.mark.parametrize("name", SCHEMAS)
def test_readme_names_the_file_and_its_key(name):
    path = {"prices": "prices/<date>.csv"}.get(name, f"{name}.csv")
    line = re.search(rf"\n\| `{re.escape(path)}` \|.*", README)[0]
    assert "primaryKey" not in SCHEMAS[name] or f"`{SCHEMAS[name]['primaryKey'][0]}`" in line
