"""Rent or buy and the ways to serve a load in the browser, against Python's: the same numbers from the same draws."""
import gzip
import json
import math
import random

import pytest

from book.build.site import ROOT
from book.web.export import areas, OWNING_QUANTITIES, owning_data, OWNING_LAWS as LAWS
from book.web.javascript import script
from gpucalc import Case
from gpucalc.decisions.rent_or_buy import rent_or_buy
from gpucalc.decisions.rent_own_or_api import ways
from gpucalc.rows import catalogue
from tests.gpucalc.test_owning_choice import LOAD, plan_of

STATIC = ROOT / "book/static"
# Bytes of the data as a server sends them.
BUDGET = 60_000
CASES, LOADS = 30, 30
ANSWERS = "(states) => states.map((state) => gpucalc.rentOrBuy(state, data))"
BARE = "([state, bare]) => gpucalc.rentOrBuy(state, bare)"
SERVED = """(sets) => sets.map(([model, inputs, plan]) => {
  const numbers = Object.fromEntries(Object.entries(plan).map(([name, each]) => [name, each === "inf" ? Infinity : each]));
  return gpucalc.waysToServe(new gpucalc.Case({ model }, inputs), numbers, data);
})"""


@pytest.fixture(scope="module")
def data(book):
    return json.dumps(owning_data(book), allow_nan=False, separators=(",", ":"))


@pytest.fixture(scope="module")
def page(browser, data, book):
    page = browser.new_page()
    page.set_content("<!doctype html><title>owning</title>")
    page.add_script_tag(content=script(LAWS, OWNING_QUANTITIES))
    for name in ("grid", "case", "columns", "market", "owning"):
        page.add_script_tag(path=STATIC / f"{name}.js")
    page.evaluate("(text) => { window.data = JSON.parse(text); }", data)
    page.evaluate("(areas) => { gpucalc.data.areas = areas; }", areas(book))
    yield page
    page.close()


def near(value, wanted, scale=0.0):
    """To 1e-9 of itself or of the amounts that it is a difference of."""
    if value is None or wanted is None:
        return value is wanted
    return math.isnan(value) and math.isnan(wanted) or value == wanted or math.isclose(value, wanted, rel_tol=1e-9, abs_tol=1e-9 * scale)


def same_band(found, wanted):
    return found is wanted if wanted is None else all(near(found[name], getattr(wanted, name)) for name in ("low", "plan", "high", "value"))


def same_verdict(found, wanted):
    scale = max(abs(wanted.low), abs(wanted.high))
    assert (found["cheaper"], found["sure"], found["chance"]) == (wanted.cheaper, wanted.sure, wanted.chance)
    return all(near(found[name], getattr(wanted, name), scale) for name in ("mean", "low", "high"))


def random_state(draw, book):
    """Names and numbers of a case; each is there or not."""
    given = {"utilization": draw.uniform(0.1, 1), "years": draw.uniform(1, 8), "usd_per_hour": draw.uniform(1, 12),
             "server_usd": draw.uniform(5e4, 6e5), "discount_rate": draw.uniform(0, 0.2), "pue": draw.uniform(1, 2),
             "sure": draw.choice([0.5, 0.9, 0.95]), "gpus_per_server": draw.choice([4, 8, 8, 8]), "usd_per_kwh": draw.uniform(0.03, 0.3)}
    rents = book[book["item"] == "rent"]
    words = {"term": draw.choice(["spot", "reserved-3y", "reserved-1y", "reserved", "any"]), "provider": draw.choice(list(rents["provider"])),
             "region": draw.choice(list(rents["region"]))}
    gpu = draw.choice([*book.loc[book["item"] == "server", "gpu"], *rents["gpu"]])
    chosen = {name: value for name, value in given.items() if draw.random() < 0.3}
    return {"gpu": gpu} | chosen | {name: value for name, value in words.items() if draw.random() < 0.2 and value.strip()}


def test_rent_or_buy_is_what_python_says(page, book, pytestconfig):
    draw = random.Random(f"rent or buy {pytestconfig.option.seed}")
    states, wanted = [], []
    while sum(not each.lacks for each in wanted) < CASES or not {each.lacks for each in wanted} >= {"usd_per_hour", "server_usd"}:
        states.append(random_state(draw, book))
        wanted.append(rent_or_buy(Case(**states[-1]), book))
    for state, found, answer in zip(states, page.evaluate(ANSWERS, states), wanted):
        assert found["lacks"] == answer.lacks, state
        if answer.lacks:
            continue
        assert same_verdict(found["verdict"], answer.verdict), state
        for name in ("needed", "owned", "rented", "paid", "fixed"):
            assert same_band(found[name], getattr(answer, name)), (state, name)
        assert near(found["work"], answer.work) and near(found["evenRent"], answer.even_rent, answer.deal.ranges.loc["usd_per_hour", "high"])
        assert list(found["turns"]) == list(answer.turns) and all(near(found["turns"][name], answer.turns[name]) for name in answer.turns), state
        assert len(found["standIns"]) == len(answer.stand_ins)
        for (server, said), (row, verdict) in zip(found["standIns"], answer.stand_ins):
            assert server["row"] == row.name and same_verdict(said, verdict)
        assert (found["cheaper"] or {}).get("row") == getattr(answer.cheaper, "name", None)
        assert found["deal"]["rows"]["rent"].get("row", "parameter usd_per_hour") == answer.deal.rows["rent"].name
        for name, *ends in answer.deal.ranges.itertuples():
            assert found["deal"]["ranges"][name] == pytest.approx(ends, rel=1e-9)
    assert any(each.stand_ins for each in wanted)


def test_a_book_without_rack_space_by_power_and_without_switches_will_do(page, book):
    bare = book[~book["item"].isin(["hosting-power", "switch"])]
    held = json.loads(json.dumps(owning_data(bare)))
    assert held["network"] is None and set(held["site"]) == {"usd_per_kwh", "hosting_usd_per_month"}
    found, wanted = page.evaluate(BARE, [{"gpu": "H100 SXM 80GB"}, held]), rent_or_buy(Case(gpu="H100 SXM 80GB"), bare)
    assert same_verdict(found["verdict"], wanted.verdict)


@pytest.mark.parametrize("state, said", [
    ({"gpu": "H100 SXM 80GB", "utilization": 1.4}, "utilization"), ({"gpu": "H100 SXM 80GB", "years": "many"}, "years"),
    ({"gpu": "H100 SXM 80GB", "term": "for ever"}, "term 'for ever'; allowed: on-demand, ")])
def test_what_is_not_allowed_is_said(page, state, said):
    error = page.evaluate("(state) => { try { gpucalc.rentOrBuy(state, data); } catch (error) { return error.message; } }", state)
    assert said in error


def test_ways_are_what_python_says(page, book, pytestconfig):
    draw = random.Random(f"ways {pytestconfig.option.seed}")
    models = [*sorted(set(book.loc[book["item"] == "api-output", "sku"]) & set(catalogue.models().index)), "Llama-2-70B"]
    sets = []
    for _ in range(LOADS):
        window = draw.random() < 0.3
        load = LOAD | {"cached_share": draw.choice([0, 0.5])} | (
            {"window_requests": draw.randint(1, 10**7)} if window else {"requests_per_second": 10 ** draw.uniform(-2, 4)})
        plan = plan_of(draw, window)
        if draw.random() < 0.3:    # rented one by one
            plan["rented_gpus"] = plan["planned_replicas"] * plan["tensor_parallel"]
        sets.append((draw.choice(models), load, plan))
    sent = [[{"name": model}, load, {name: "inf" if value == math.inf else value for name, value in plan.items()}]
            for model, load, plan in sets]
    turns = set()
    for (model, load, plan), found in zip(sets, page.evaluate(SERVED, sent)):
        wanted = ways(Case(model=model, **load), book, plan)
        assert (found["lacks"], len(found["rows"])) == (list(wanted.lacks), len(wanted.rows))
        for row, each in zip(found["rows"], wanted.rows):
            assert [row[name] for name in ("way", "who", "doubt", "row")] == [each.way, each.who, each.doubt, each.row]
            assert all(near(row[name], getattr(each, name)) for name in ("usd", "low", "high"))
        assert all(near(found[name], getattr(wanted, name)) for name in ("requests", "busy", "below", "turn", "level")), (model, load, plan)
        if wanted.owning is not None:
            assert found["owning"]["lacks"] == wanted.owning.lacks
            assert wanted.owning.lacks or same_verdict(found["owning"]["verdict"], wanted.owning.verdict)
        turns.add(wanted.turn if wanted.turn in (None, math.inf) else "some")
    assert len(turns) > 1


def test_the_data_is_small(data):
    assert len(gzip.compress(data.encode())) < BUDGET
