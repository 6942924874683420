"""Choices in words are rows that are a name: a case holds, writes, reads and changes them, and no formula sees them."""
import pytest

from gpucalc import LAWS, QUANTITIES, Case
from gpucalc.core.evaluate import FINDERS
from gpucalc.rows import catalogue, choices, price_checks, tables

CHOSEN = dict(cards="H100 SXM 80GB, MI300X 192GB", provider="AWS", region="eu-west-1", term="spot", data_at="AWS", ways="rent, api")
LOAD = dict(model="Llama-3-8B", context=8192, batch=32)


def test_a_case_holds_writes_reads_and_changes_them(tmp_path):
    case = Case(job="serve", **CHOSEN, **LOAD)
    assert {name: case.rows[name].name for name in CHOSEN} == CHOSEN and not any(case.rows[name] for name in CHOSEN)
    case.write(tmp_path / "mine.yaml")
    assert repr(Case.read(tmp_path / "mine.yaml")) == repr(case)
    assert case.but(term="any", ways=None).rows["term"].name == "any" and "ways" not in case.but(ways=None).rows


def test_no_formula_sees_them():
    assert Case(**CHOSEN, **LOAD)("kv_bytes") == Case(**LOAD)("kv_bytes")
    assert [used.name for used in Case(**CHOSEN, **LOAD).explain("kv_bytes").inputs] == [
        used.name for used in Case(**LOAD).explain("kv_bytes").inputs]


def test_a_name_is_a_choice_or_a_quantity():
    assert set(choices.CHOICES) & set(QUANTITIES) == set() and set(choices.CHOICES) <= set(FINDERS)


@pytest.mark.parametrize("name", ["cards", "provider", "region", "term", "ways"])
def test_any(name):
    row = FINDERS[name]("any")
    assert (row.kind, row.name, dict(row)) == (name, "any", {})


def test_names_are_joined_in_one_way():
    assert choices.cards(" T4 16GB ,L4 24GB").name == "T4 16GB, L4 24GB" and choices.region(" eu ").name == "eu"
    assert choices.names(choices.cards("T4 16GB, L4 24GB")) == ["T4 16GB", "L4 24GB"]
    assert choices.names(choices.cards("any")) == choices.names(None) == []


def test_every_term_of_a_rent_and_every_gpu_is_one():
    assert [choices.term(term).name for term in price_checks.ITEMS["rent"].terms] == price_checks.ITEMS["rent"].terms
    assert [choices.cards(name).name for name in catalogue.gpus().index] == list(catalogue.gpus().index)


@pytest.mark.parametrize(("name", "value"), [
    ("cards", ""), ("cards", "H100"), ("cards", "T4 16GB,"), ("cards", "T4 16GB\u200b"), ("cards", "T4 16GB, T4 16GB"), ("ways", "buy"),
    ("term", "monthly"), ("term", ""), ("provider", ""), ("provider", "\t"), ("provider", "A\u202eB"), ("region", "x" * 101),
    ("region", "a\nb"), ("data_at", "\x00"), ("cards", "x" * 10_000)])
def test_what_is_no_choice_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name}: ") as error:
        Case(**{name: value})
    assert ("allowed: " in str(error.value) or "see all in that file" in str(error.value)) and str(error.value).isprintable() and len(str(error.value)) < 400


@pytest.mark.parametrize("name", ["cards", "term"])
def test_a_row_of_another_kind_is_refused(name):
    with pytest.raises(ValueError, match=f"^{name}: .*allowed: a row of that kind"):
        Case(**{name: catalogue.model("Llama-3-8B")})


def test_a_job_has_no_blank_cell():
    for name in tables.rows("jobs"):
        row = choices.job(name)
        assert all(value == value for value in row.values()) and row.source.startswith("data/jobs.csv: ")


def test_a_job_takes_names_that_a_case_knows_each_once():
    for name, row in tables.rows("jobs").items():
        names = ["job", *row["needs"].replace("|", " ").split(), *row["takes"].split()]
        assert len(names) == len(set(names)) and set(names) <= {*QUANTITIES, *FINDERS}, name
        assert set(row["one_of"].replace("|", " ").split()) <= set(names), name
        given = {column for column in QUANTITIES if row.get(column, float("nan")) == row.get(column, float("nan"))}
        assert given & set(row) <= set(names), name
        assert (row["recipe"] != "") == (row["kind"] == "train") == ("recipe" in names), name
        assert all(pair.split("=")[1] in LAWS for pair in row["derived"].split()), name


def test_a_job_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="^data/jobs.csv has no job 'serv'; close: serve; see all in that file$"):
        Case(job="serv")


@pytest.mark.parametrize(("column", "value", "expected"), [
    ("needs", "modl", "needs: 'modl'; allowed: names that a case knows; close: model"),
    ("takes", "cards promt", "takes: 'promt'; allowed: names that a case knows; close: prompt"),
    ("one_of", "prompt|tokn", "one_of: 'tokn'; allowed: names that a case knows"),
    ("derived", "prompt", "derived: 'prompt'; allowed: a name and a formula with = between"),
    ("derived", "prompt=x", "derived: 'prompt=x'; allowed: a name and a formula with = between"),
    ("recipe", "adam", "recipe: 'adam'; allowed: a recipe of data/recipes.csv; close: ")])
def test_a_row_with_a_name_that_no_case_knows_is_refused(column, value, expected):
    row = tables.rows("jobs")["pretrain"]
    with pytest.raises(ValueError) as error:
        tables.check_row("jobs", "jobs.csv", 2, row | {column: value})
    assert str(error.value).startswith(f"jobs.csv, row 2, column {expected}")
