"""A load by the hour: what to reserve against every number of GPUs that could be; discounts by hand."""
import math
import random

import pytest

from gpucalc import cli_decide
from gpucalc.core import figures
from gpucalc.core.evaluate import Row
from gpucalc.decisions import blend, decide
from gpucalc.rows import price_book
from gpucalc.rows.rents import discounted

CASE = {"job": "serve", "model": "Llama-3-8B", "requests_per_second": 50, "provider": "AWS"}
BOOK = price_book.prices()


def rates(usual, reserved, spot=None):
    return {term: usd and Row({"usd_per_hour": usd}, term, "rent") for term, usd in
            (("on demand", usual), ("reserved", reserved), ("spot", spot))}


def hours(tmp_path, text):
    (tmp_path / "hours.csv").write_text(text)
    return tmp_path / "hours.csv"


def test_a_day_by_hand():
    # 18 hours need 2 GPUs, 6 need 8. On demand at 3: (18*2 + 6*8)/24 = 3.5 GPUs, 3.5 * 3 * 730 = 7,665 USD. At 2 reserved a GPU pays
    # if it is needed in two thirds of the hours: the two that always are. 2 * 2 + 6 * 6/24 * 3 = 8.5 USD/h, 6,205 a month. All: 16 * 730.
    found = blend.ways([2] * 18 + [8] * 6, 1, rates(3, 2)).set_index("way")["usd_per_month"].to_dict()
    assert found == {"A base reserved, the rest as it is needed": 6205, "On demand": 7665, "All reserved": 11_680}
    # Half of the rest on spot at 1: an hour of it costs 2, as much as a reserved one, which so pays only if needed always.
    found = blend.ways([2] * 18 + [8] * 6, 1, rates(3, 1.9, 1), 0.5).set_index("way")
    assert found.at["On demand and spot", "usd_per_month"] == pytest.approx(3.5 * 2 * 730)
    assert found.at["A base reserved, the rest as it is needed", "reserved_gpus"] == 2


@pytest.mark.parametrize("seed", range(30))
def test_no_other_number_of_reserved_servers_costs_less(seed):
    dice = random.Random(seed)
    size = dice.choice([1, 2, 8])
    needed = [size * dice.randint(1, 12) for _ in range(24)]
    usual, reserved = dice.uniform(1, 5), dice.uniform(0.5, 6)
    least = min(730 * (held * reserved + sum(max(each - held, 0) for each in needed) / 24 * usual)
                for held in range(0, max(needed) + 1, size))
    assert blend.ways(needed, size, rates(usual, reserved))["usd_per_month"].iloc[0] == pytest.approx(least, rel=1e-12)


def test_a_plan_by_the_hour_is_the_plan_of_its_busiest_hour(tmp_path):
    text = "requests_per_second;hour\n" + "".join(f"{50 if 8 <= hour < 20 else 5};{hour}\n" for hour in range(24))
    case = CASE | {"discount": "AWS=40 % reserved-1y"}
    found = blend.blend(case, hours(tmp_path, text))
    best = decide.decide(case).iloc[0]
    assert max(found.needed) == best["gpus"] and found.best["gpu"] == best["gpu"]
    assert found.needed[8] > found.needed[7] == min(found.needed) and len(found.needed) == 24
    assert found.rates["reserved"].usd_per_hour == pytest.approx(0.6 * found.rates["on demand"].usd_per_hour)
    assert found.ways["way"].iloc[0].startswith("A base reserved") and "reserved" in found.lines()[0]


@pytest.mark.parametrize("text, message", [
    ("hour,requests_per_second\n0,5\n", "hours.csv: 1 hours; allowed: columns hour and requests_per_second, a row for each of 24 hours"),
    ("hour,requests_per_second\n0,5\n0,6\n", "hours.csv, row 3, column hour: '0'; allowed: a whole number from 0 to 23, each once"),
    ("hour,requests_per_second\n1,x\n", "hours.csv, row 2, column requests_per_second: 'x'; allowed: a number above 0")])
def test_a_broken_file_of_hours_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError) as error:
        blend.read_hours(hours(tmp_path, text))
    assert str(error.value) == message


def test_a_job_without_a_load_by_the_hour_is_refused():
    with pytest.raises(ValueError, match="job: qlora has no load by the hour; allowed: serve"):
        blend.blend({"job": "qlora", "model": "Llama-3-8B", "training_tokens": 1e6}, [1.0] * 24)


# Discounts

def test_a_discount_lowers_the_rents_of_one_provider_and_a_plan_adds_a_term():
    own, other = (BOOK["provider"].eq("AWS") & BOOK["item"].eq("rent")), BOOK["provider"].ne("AWS")
    found = discounted(BOOK, "aws=18 %")
    assert (found.loc[BOOK.index[own], "usd_per_hour"] / BOOK.loc[own, "usd_per_hour"]).round(12).eq(0.82).all()
    assert found.loc[BOOK.index[other], "price"].equals(BOOK.loc[other, "price"]) and len(found) == len(BOOK)
    assert found.attrs["said"] == (f"AWS: 18 % off {own.sum()} rents, as the case says",) and "discount" not in BOOK.attrs
    plan = discounted(BOOK, "AWS=40 % reserved-3y")
    added = plan[~plan.index.isin(BOOK.index)]
    assert set(added["term"]) == {"reserved-3y"} and set(added["reserved_years"]) == {3.0} and added["yours"].all()
    assert len(added) == (own & BOOK["term"].eq("on-demand")).sum() and not plan.index.duplicated().any()
    assert math.isclose(added["price"].sum(), 0.6 * BOOK.loc[own & BOOK["term"].eq("on-demand"), "price"].sum())


def test_an_answer_by_a_discount_says_so():
    usual, cheaper = (decide.as_data(case) for case in (CASE, CASE | {"discount": {"AWS": "18 %"}}))
    assert cheaper["choices"][0]["plan"] == pytest.approx(0.82 * usual["choices"][0]["plan"])
    assert "your price" in next(card["note"] for card in cheaper["cards"] if card["name"] == "cost")


@pytest.mark.parametrize("text", ["AWS", "AWS=0 %", "AWS=100 %", "AWS=18", "AWS=18 % spot", "=5 %", "AWS=18 %,"])
def test_what_is_no_discount_is_refused(text):
    with pytest.raises(ValueError, match="discount: .*; allowed: a provider and a share of 1 to 99 %"):
        decide.read(CASE | {"discount": text})
    with pytest.raises(ValueError, match="discount: .*; allowed: a provider and a share of 1 to 99 %"):
        discounted(BOOK, text)


def test_each_of_two_cases_has_its_own_discount(tmp_path, capsys, monkeypatch):
    """Side by side a case costs what it costs alone: another case's discount is not taken off it too."""
    for name, share in (("one", 18), ("other", 30)):
        (tmp_path / f"{name}.yaml").write_text("".join(f"{key}: {value}\n" for key, value in CASE.items()) + f"discount: AWS={share} %\n")
    monkeypatch.chdir(tmp_path)
    assert cli_decide.main(["one.yaml", "--compare", "other.yaml"]) == 0
    alone = decide.as_data(CASE | {"discount": "AWS=30 %"})["choices"][0]["plan"]
    assert figures.dollars(alone) in capsys.readouterr().out.partition("other.yaml")[2]


def test_a_discount_of_a_provider_that_rents_nothing_out_is_refused():
    with pytest.raises(ValueError, match="discount: AWZ: .* has no rent of it; close: AWS; allowed: "):
        decide.decide(CASE | {"discount": "AWZ=18 %"})
