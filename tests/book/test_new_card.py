"""A card that is not out yet: the file it takes, what is asked for, and the rent at which it wins."""
import math
from types import SimpleNamespace

import pytest

from book.build import site as build
from book.build.given import Given
from book.build.inputs import BuildError
from book.pages import cards, cards as new_card
from book.pages.cards import as_read, MORE, NEEDED, row_of
from book.pages.training_cost import carbon_of, carbon_table
from book.pages.what_to_buy import power_usd
from gpucalc.decisions import capacity
from gpucalc.rows import catalogue, price_book, tables
from gpucalc.rows.own_gpus import ASKED

NEW, LIKE = "VR200 NVL72 288GB", "GB300 NVL72 288GB"
ANNOUNCED = [gpu for gpu, row in catalogue.gpus().iterrows() if row["status"] == "announced"]
LOADS = {"one": cards.load("Llama-3-8B", "BF16", 1, 2048), "many": cards.load("Llama-3-70B", "FP8", 64, 2048)}
FRAME = cards.every_card(price_book.prices(), LOADS)


def test_the_page_names_what_the_book_asks_for():
    assert set(NEEDED) == set(ASKED)
    _, message = as_read(row_of(NEW, {"bandwidth": "byte/second"}), NEW)
    assert [line.split(":")[0] for line in message.splitlines()] == [
        f"mygpus.csv, row 2, column {name}" for name in ("memory_bytes", "peak_flops", "link", "units")], "one message, all of it"
    assert "peak_flops" in repr(new_card.asked(NEW)) and "memory_bytes:" not in repr(new_card.asked(NEW))


@pytest.mark.parametrize("gpu", ANNOUNCED)
def test_the_file_that_the_page_shows_is_read_as_the_card(gpu):
    record, message = as_read(row_of(gpu, NEEDED | MORE, status="announced"), gpu)
    row = catalogue.gpu(gpu)
    assert not message and record["status"] == "announced" and record["benchmark"] == "none"
    for name in (name for name in NEEDED | MORE if row[name] == row[name]):
        assert record[name] == (pytest.approx(row[name]) if name != "link" else row.link), name


def test_a_card_like_another_takes_the_rest_but_not_the_clock_of_another_peak():
    record, _ = as_read(row_of(NEW, {"bandwidth": "byte/second"}, like=LIKE), NEW)
    like = catalogue.gpu(LIKE)
    assert (record["bandwidth"], record["peak_flops"], record["clock"]) == (22e12, like.peak_flops, like.clock)
    record, _ = as_read(row_of(NEW, {"peak_flops": "FLOP/second"}, like=LIKE), NEW)
    assert record["peak_flops"] == 4e15 and record["clock"] != record["clock"] and record["units"] == like.units


def test_a_file_of_before_the_new_columns_is_read():
    record, message = as_read("gpu,memory_bytes,bandwidth,peak_flops,link,units\nB400,384 GB,12 TB/s,3 PFLOP/s,NVLink 5,160", "B400")
    assert not message and (record["generation"], record["status"], record["mig_instances"]) == ("not stated", "announced", 0)
    assert all(record[name] != record[name] for name in ("clock", "unit_flops", "l2_bytes"))


@pytest.mark.parametrize("column, value, allowed", [
    ("status", "rumored", "available, announced"), ("mig_instances", "0.5", "a whole number of at least 0"),
    ("clock", "0", "a number above 0"), ("units", "1.5", "a whole number of at least 1"), ("ecc", "2", "0 or 1")])
def test_what_a_column_cannot_have_is_named(column, value, allowed):
    _, message = as_read(f"gpu,like,{column}\nB400,{LIKE},{value}", "B400")
    assert message.startswith(f"mygpus.csv, row 2, column {column}: ") and message.endswith(f"allowed: {allowed}")


def test_at_the_rent_that_matches_it_the_card_costs_what_the_cheapest_does():
    found = new_card.wins(FRAME, NEW, LOADS)
    assert list(found["load"]) == list(LOADS)
    for row in found.itertuples():
        assert 1e6 * row.plan_rent / (row.plan * 3600) == pytest.approx(row.cost)
        others = FRAME[FRAME["usd_per_hour"].notna() & FRAME[row.load].notna()]
        assert row.cost == pytest.approx((1e6 * others["usd_per_hour"] / others[row.load] / 3600).min())
        assert row.low_rent < row.plan_rent < row.high_rent


def test_without_a_rent_there_is_none_to_match():
    found = new_card.wins(FRAME.assign(usd_per_hour=float("nan")), NEW, LOADS)
    assert found["plan"].notna().all() and found["cost"].isna().all() and found["plan_rent"].isna().all()
    assert "–" in new_card.wins_table(found, "8 in 10").source


def test_a_card_that_holds_no_load_has_dashes():
    found = new_card.wins(FRAME, "RTX 3080 10GB", LOADS)
    assert found["plan"].isna().all() and new_card.wins_table(found, "8 in 10").source.count("–") >= len(LOADS)


def test_a_rack_of_them():
    """72 of 288 GB, 22 TB/s and 4 PFLOP/s."""
    assert new_card.group(NEW) == {"gpus": 72, "memory": 72 * 288e9, "bandwidth": 72 * 22e12, "flops": 72 * 4e15}


def test_a_card_whose_power_is_not_known_draws_what_is_not_known():
    """The page on a run's cost says so in words; its table has dashes."""
    found = carbon_of({"plan": math.nan})
    assert found["run_carbon"].isna().all() and "–" in carbon_table(found, "x").source
    row = dict(gpu_tdp_watts=float(catalogue.gpu(NEW).get("tdp_watts", math.nan)), gpus=1)
    assert math.isnan(power_usd(price_book.prices(), row, 100))


@pytest.fixture
def unread():
    """The catalogue as a new process finds it, and leaves it."""
    for clear in (True, False):
        for cached in (tables.rows, tables.table, catalogue._gpus):
            cached.cache_clear()
        if clear:
            yield


def test_a_parameter_of_a_notebook_may_name_a_card_of_the_file(tmp_path, monkeypatch, unread):
    path = tmp_path / "mygpus.csv"
    path.write_text(f"gpu,like\nB400,{LIKE}\n")
    held = SimpleNamespace(parameters=lambda topic: {})
    for name, stub in dict(declared=lambda root: {"kv": ({"gpu": LIKE}, ())}, check_prices=lambda *_: [], Frozen=lambda *_: None,
                           Editions=lambda _: held).items():
        monkeypatch.setattr(build, name, stub)
    assert build.prepared("kv", {"gpu": "B400"}, tmp_path, Given(gpus=path))[0] is held
    with pytest.raises(BuildError, match="parameter gpu: data/gpus.csv has no gpu 'B500'"):
        build.prepared("kv", {"gpu": "B500"}, tmp_path, Given(gpus=path))


def test_every_card_that_may_serve_has_times():
    able = capacity.linked_gpus(LIKE)
    case = cards.load("Llama-3-8B", "BF16", 8, 2048).but(batch=None, context=None, prompt=1000, output=200, **capacity.ENGINE)
    found = capacity.search(case, able, [1])
    assert set(found["gpu"]) == set(able.index) >= {*ANNOUNCED, "DGX Spark 128GB", "M3 Ultra 512GB", "Arc Pro B60 24GB"}
    assert (found["time_per_output_token"] > 0).all() and found["output_tokens_per_second"].notna().all()
