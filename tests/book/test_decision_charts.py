"""What the charts of a decision draw: the shares of the draws, the bars of the tornado, the cells of the map."""
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pandas import DataFrame

from book.pages.break_even import (bands_table, duration_text, input_text, map_says, outcome, parts_table,
                                   prices_table, ranges_table, short_name, slowdown_text, spread_chart, threshold_text,
                                   tornado_chart, turning_table)
from gpucalc import break_even as be
from gpucalc.decisions import rent_or_buy
from gpucalc.rows import catalogue, price_book

FIXED = dict(gpus_per_server=8, network_usd=0)
SPANS = rent_or_buy.ranges(catalogue.assumptions(), server_usd=320_000, usd_per_hour=5.5, usd_per_kwh=0.12,
                           hosting_usd_per_month=750)
CARD = catalogue.gpu("H100 SXM 80GB")


def drawn(chart):
    """The rows that the chart shows, all data sets one after the other, and its specification."""
    spec = chart.to_dict()
    return list(spec["datasets"].values()), spec


def encodings(spec):
    """The encodings of every layer."""
    layers = spec.get("layer", [spec])
    return [each["encoding"] for layer in layers for each in layer.get("layer", [layer])]


@settings(max_examples=30)
@given(middle=st.floats(-1e6, 1e6), width=st.floats(10, 1e6), seed=st.integers(0, 9))
def test_parts_of_the_spread_are_nearly_all_draws_and_coloured_by_their_sign(middle, width, seed):
    npvs = np.random.default_rng(seed).normal(middle, width, 5000)
    (bars,), _ = drawn(spread_chart(npvs, "a chart"))
    assert 0.99 <= sum(bar["part"] for bar in bars) <= 1 + 1e-9
    assert all(bar["winner"] == ("owning is cheaper" if bar["low"] >= 0 else "renting is cheaper") for bar in bars)
    assert all(bar["low"] >= 0 or bar["high"] <= 1e-6 * width for bar in bars), "no bar lies on both sides"
    assert all(bar["part"] == pytest.approx(np.mean((npvs >= bar["low"]) & (npvs < bar["high"])), abs=1e-3) for bar in bars)
    widths = {round((bar["high"] - bar["low"]) / (bars[0]["high"] - bars[0]["low"]), 6) for bar in bars}
    assert widths == {1}


def test_bars_of_the_tornado_run_from_the_likely_value_to_each_end():
    swings = rent_or_buy.tornado(be.owning_npv, SPANS, CARD, **FIXED)
    npv = float(rent_or_buy.owned(be.owning_npv, CARD, **SPANS["likely"], **FIXED))
    tables, spec = drawn(tornado_chart(swings, npv, "a chart", str.upper))
    bars, zero = sorted(tables, key=len, reverse=True)
    assert zero == [{"at": 0}] and len(bars) == 2 * len(swings)
    for bar in bars:
        row = swings.loc[bar["input"].lower()]
        assert bar["start"] == npv and bar["stop"] == row[f"at_{bar['end']}"]
        assert bar["value"] == input_text(row.name, row[bar["end"]])
    assert encodings(spec)[0]["y"]["sort"] == [name.upper() for name in swings.index], "the widest first"


@pytest.mark.parametrize("half, width", [(100, 2), (999, 20), (1001, 20), (1e6, 20_000)])
def test_bars_of_the_spread_are_two_of_a_power_of_ten_wide(half, width):
    """996 parts in 1,000 of the draws from -half to half, in 20 bars or more: 199.2 / 20 is 9.96, so bars of 2."""
    (bars,), _ = drawn(spread_chart(np.linspace(-half, half, 10_001), "a chart"))
    assert bars[1]["high"] - bars[1]["low"] == pytest.approx(width)
    assert bars[0]["low"] <= -0.996 * half < bars[0]["high"] and bars[-1]["low"] < 0.996 * half <= bars[-1]["high"]


def cells_of(shown):
    """The texts of a table, header first."""
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", shown._repr_html_())]


@pytest.mark.parametrize("name, value, text", [
    ("utilization", 1, "100 %"), ("utilization", 0.65, "65 %"), ("rent_decline", -0.1, "−10 %"),
    ("support_share", 0.05, "5 % a year"), ("pue", 1.35, "1.35"), ("years", 1, "1 year"), ("lead_months", 3, "3 months"), ("server_usd", 300_000, "300,000 USD"),
    ("usd_per_hour", 2.95, "2.95 USD/h"), ("discount_rate", 0.1, "10 %"), ("staff_usd_per_year", 2400, "2,400 USD/year")])
def test_the_value_of_an_input_is_a_percentage_or_has_its_unit(name, value, text):
    assert input_text(name, value) == text


def test_every_input_has_a_short_name_of_its_own():
    names = [short_name(name) for name in catalogue.assumptions().index]
    assert len(set(names)) == len(names) and max(map(len, names)) < 25
    assert short_name("network_usd") == "network of the server: its part of switches and cables"


def test_texts_of_thresholds_slowdowns_and_maps():
    assert [threshold_text(value) for value in (0.25, 1, 1.01, np.inf)] == ["25 %", "100 %", "no utilization", "no utilization"]
    assert [slowdown_text(value) for value in (1, 3.827, 1e5, np.inf)] == ["1", "3.83", "over 10,000", "over 10,000"]
    cells = DataFrame(dict(utilization=[0.5, 0.75, 1], years=5, wins=[0.4, 0.6, 0.9]))
    assert map_says(cells) == "in 2 of 3 cells, from 75 % utilization on"
    assert map_says(cells[:1]) == "in none of 1 cells"


@pytest.mark.parametrize("value, text", [(1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (90, "1.50 minutes"),
                                         (3600, "60 minutes"), (7200, "2 hours"), (86400, "24 hours"), (172_800, "2 days"),
                                         (0, "0 seconds"), (np.inf, "never")])
def test_a_duration_is_in_the_unit_that_suits(value, text):
    assert duration_text(value) == text


def test_parts_are_rounded_so_that_they_add_up():
    head, *rows = cells_of(parts_table({"server": 1.004, "power": 0.504, "sold": -0.304}, "Parts"))
    assert head == ["part", "USD per hour used", "share"]
    assert rows == [["server", "1.00", "83.4 %"], ["power", "0.51", "41.9 %"], ["sold", "−0.31", "−25.2 %"],
                    ["an owned hour that is used", "1.20", "100 %"]]


def test_bands_are_texts_of_the_draws():
    shown = bands_table({"a rent": (np.arange(1, 101), lambda value: f"{value} USD")}, "Bands")
    assert cells_of(shown) == [["result", "low", "middle", "high"], ["a rent", "10 USD", "50 USD", "90 USD"]]


def test_turns_prices_and_ranges_of_a_deal():
    assumed = catalogue.assumptions()
    deal = rent_or_buy.deal(price_book.prices(), CARD.name, assumed, {"usd_per_hour": 2.5})
    swings = rent_or_buy.tornado(be.owning_npv, deal.ranges, CARD, **deal.fixed)
    turns = rent_or_buy.turning_points(deal.ranges, CARD, **deal.fixed)
    head, *rows = cells_of(turning_table(swings, turns, "owning", "Turns", named=str, basis=assumed))
    assert head == ["input", "low", "likely", "high", "owning is cheaper from", "range is"]
    assert [row[0] for row in rows] == list(swings.index)
    for name, low, likely, high, turn, basis in rows:
        assert (turn == "–") == np.isnan(turns[name]) and basis == assumed.loc[name, "confidence"]
        assert [low, likely, high] == [input_text(name, swings.loc[name, end]) for end in rent_or_buy.ENDS]
    assert cells_of(turning_table(swings, turns, "owning", "Turns"))[0][-1] == "owning is cheaper from"
    _, *priced = cells_of(prices_table(deal, CARD, "Prices"))
    assert [row[0] for row in priced] == [name for name, row in deal.rows.items() if row is not None] + ["GPU"]
    assert priced[0][1:] == ["parameter usd_per_hour", "–", "–"]
    assert priced[-1][1] == CARD.name and priced[1][3].endswith(", seen")
    _, *ranged = cells_of(ranges_table(deal, assumed, "Ranges"))
    assert [row[0] for row in ranged] == [short_name(name) for name in deal.ranges.index]


@pytest.mark.parametrize("verdict, text", [
    (rent_or_buy.Verdict("renting", True, 0.03, -321e3, -495e3, -127e3),
     "renting is cheaper on average, by 321,000 USD a server (8 draws in 10 say 127,000 to 495,000 USD). "
     "Owning wins in 3 % of the draws"),
    (rent_or_buy.Verdict("owning", True, 0.85, 60e3, -20e3, 150e3),
     "owning is cheaper on average, by 60,000 USD a server (8 draws in 10 say from 20,000 USD more to 150,000 USD less). "
     "Owning wins in 85 % of the draws"),
    (rent_or_buy.Verdict("renting", False, 0.3, -163e3, -373e3, 78.4e3),
     "renting is cheaper on average, by 163,000 USD a server (8 draws in 10 say from 78,400 USD more to 373,000 USD less), "
     "but it is too close to call. Owning wins in 30 % of the draws")])
def test_a_verdict_says_what_is_cheaper_how_sure_and_by_how_much(verdict, text):
    assert outcome(verdict) == text
