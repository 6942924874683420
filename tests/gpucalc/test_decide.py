"""Decisions as bands: the draws, the model on columns of them, the tornado chart's order and the map."""
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from gpucalc import break_even as be, owning, renting
from gpucalc.core.evaluate import Case
from gpucalc.decisions import rent_or_buy
from gpucalc.rows import catalogue, price_book, tables

CARD = catalogue.gpu("H100 SXM 80GB")
FIXED = dict(gpus_per_server=8, network_ports=8, network_tiers=2, usd_per_port=600, cable_usd=900)
PRICES = dict(server_usd=320_000, usd_per_hour=5.5, usd_per_kwh=0.12, hosting_usd_per_month=750)
ASSUMED = catalogue.assumptions()
LIKELY = rent_or_buy.ranges(ASSUMED, **PRICES)["likely"].to_dict()
HEADER = "quantity,low,likely,high,unit,source,date,confidence,note\n"


@pytest.fixture(scope="module")
def spans():
    return rent_or_buy.ranges(ASSUMED, **PRICES)


@pytest.fixture(scope="module")
def drawn(spans):
    return rent_or_buy.draws(spans, 100_000)


def npv(values):
    return rent_or_buy.owned(be.owning_npv, CARD, **values, **FIXED)


def test_ranges_follow_the_values_given(spans):
    low, likely, high = spans.loc["server_usd"]
    row = ASSUMED.loc["server_usd"]
    assert (low, likely, high) == (320_000 * row.low, 320_000, 320_000 * row.high)
    assert tuple(spans.loc["pue"]) == tuple(ASSUMED.loc["pue", ["low", "likely", "high"]])
    given = rent_or_buy.ranges(ASSUMED, pue=2.0, years=1, utilization=0.5)
    assert tuple(given.loc["pue"]) == (ASSUMED.loc["pue", "low"], 2, 2)
    assert tuple(given.loc["years"]) == (1, 1, ASSUMED.loc["years", "high"])
    assert given.loc["utilization", "likely"] == 0.5
    assert "server_usd" not in given.index


@pytest.mark.parametrize("changed, message", [
    (dict(low=2), r"^range of pue: low, likely, high are \[2.*allowed: low <= likely <= high$"),
    (dict(high=1.2), r"^range of pue: low, likely, high are .*, 1.2\].*allowed: low <= likely <= high$")])
def test_a_range_out_of_order_is_refused(changed, message):
    broken = ASSUMED.copy()
    for column, value in changed.items():
        broken.loc["pue", column] = value
    with pytest.raises(ValueError, match=message):
        rent_or_buy.ranges(broken)


def test_a_value_without_a_range_is_refused():
    with pytest.raises(ValueError, match="^no range for utilisation; close: utilization; there is one for utilization, years"):
        rent_or_buy.ranges(ASSUMED, utilisation=0.5)


def test_a_value_that_no_law_allows_is_refused(spans):
    with pytest.raises(ValueError, match="utilization .* is 1.4; allowed"):
        npv(rent_or_buy.draws(rent_or_buy.ranges(ASSUMED, utilization=1.4, **PRICES), 10) | {"utilization": 1.4})


@pytest.mark.parametrize("row, message", [
    ("pu,1,1.2,1.5,,a,2025,seen,", "row 2, column quantity: 'pu'; allowed: a name of the vocabulary"),
    ("pue,1,1.6,1.5,,a,2025,seen,", "row 2, column likely: 1.6; allowed: from low, 1, to high, 1.5"),
    ("pue,1.3,1.2,1.5,,a,2025,seen,", "row 2, column likely: 1.2; allowed: from low, 1.3, to high, 1.5"),
    ("pue,0.9,1.2,1.5,,a,2025,seen,", "row 2, column low: 0.9; allowed: a number of at least 1"),
    ("availability,0.9,0.95,1.1,,a,2025,seen,", "row 2, column high: 1.1; allowed: a number above 0 and at most 1"),
    ("years,1,2,3,month,a,2025,seen,", "row 2, column unit: 'month'; allowed: year or of the price"),
    ("years,1,2,3,year,a,2025,guessed,", "row 2, column confidence: 'guessed'; allowed: seen, recalled, assumed"),
    ("years,1,,3,year,a,2025,seen,", "row 2, column likely: blank; allowed: a number"),
    ("years,1,2,3,year,,2025,seen,", "row 2, column source: blank; allowed: text")])
def test_a_bad_assumption_is_refused(tmp_path, monkeypatch, row, message):
    (tmp_path / "assumptions.csv").write_text(HEADER + row + "\n")
    monkeypatch.setattr(tables, "DATA", tmp_path)
    with pytest.raises(ValueError, match=f"^assumptions.csv, {message}"):
        tables.table.__wrapped__("assumptions")


def test_every_assumption_is_an_input_of_the_model(spans):
    assert len(spans) == len(ASSUMED) >= 18
    npv(spans["likely"].to_dict())


def test_draws_repeat_and_keep_to_their_range(spans, drawn):
    again = rent_or_buy.draws(spans, 100_000)
    for name, low, _, high in spans.itertuples(name=None):
        assert (drawn[name] == again[name]).all()
        assert low * (1 - 1e-12) <= drawn[name].min() and drawn[name].max() <= high * (1 + 1e-12)
    assert len({tuple(values[:3]) for values in rent_or_buy.draws(spans, 10).values()}) == len(spans)


def test_draws_are_those_of_a_triangle(spans, drawn):
    """Mean (a + b + c) / 3, variance (a^2 + b^2 + c^2 - ab - ac - bc) / 18, share (c - a) / (b - a) below the likely one."""
    for name, low, likely, high in spans.itertuples(name=None):
        values = drawn[name]
        if high > rent_or_buy.WIDE * low > 0:
            values, low, likely, high = np.log(values), *np.log([low, likely, high])
        width = high - low
        variance = (low**2 + likely**2 + high**2 - low * likely - low * high - likely * high) / 18
        assert values.mean() == pytest.approx((low + likely + high) / 3, abs=0.005 * width)
        assert values.std() == pytest.approx(variance**0.5, rel=0.01)
        assert (values < likely).mean() == pytest.approx((likely - low) / width, abs=0.006)


def test_a_range_without_width_is_its_value():
    point = pd.DataFrame({"low": [2.0], "likely": [2.0], "high": [2.0]}, index=["years"])
    assert (rent_or_buy.draws(point, 5)["years"] == 2).all()


def test_the_model_is_the_laws_one_draw_at_a_time(drawn):
    values = npv({name: column[:20] for name, column in drawn.items()})
    for place in range(20):
        one = {name: float(column[place]) for name, column in drawn.items()}
        left = (1 - one.pop("depreciation_rate")) ** one["years"]
        assert values[place] == pytest.approx(Case(CARD, residual=left, **one, **FIXED)(be.owning_npv), rel=1e-9)


def test_band_and_probability():
    values = np.arange(-25, 75) + 0.5
    assert rent_or_buy.probability(values) == 0.75
    # A hundred values a step of 1 apart: the 25th, 50th and 75th; the 10th, 50th and 90th.
    assert rent_or_buy.band(values, 0.5) == [-0.5, 24.5, 49.5]
    assert rent_or_buy.band(values) == [-15.5, 24.5, 64.5]
    assert rent_or_buy.band([1, np.inf, np.inf]) == [1, np.inf, np.inf]


def test_the_band_of_the_draws_has_the_likely_value_and_plans_for_the_middle(drawn):
    case = rent_or_buy.owning_case(CARD, **LIKELY, **FIXED)
    found = rent_or_buy.drawn_band(owning.owned_usd_per_hour, case, drawn)
    values = rent_or_buy.owned(owning.owned_usd_per_hour, CARD, **drawn, **FIXED)
    assert found.value == case(owning.owned_usd_per_hour) and found.checked and found.unit == "USD/hour"
    assert [found.low, found.plan, found.high] == rent_or_buy.band(values)
    assert (values < found.low).mean() == pytest.approx(0.1, abs=1e-4) == (values > found.high).mean()


def test_tornado_is_sorted_and_each_bar_is_the_law(spans):
    bars = rent_or_buy.tornado(be.owning_npv, spans, CARD, **FIXED)
    spread = (bars["at_high"] - bars["at_low"]).abs()
    assert list(spread) == sorted(spread, reverse=True)
    assert set(bars.index) == set(spans.index)
    likely = spans["likely"].to_dict()
    for name in ("server_usd", "rent_decline", "depreciation_rate"):
        assert bars.loc[name, "at_low"] == npv(likely | {name: spans.loc[name, "low"]})
        assert bars.loc[name, "at_high"] == npv(likely | {name: spans.loc[name, "high"]})
    assert bars.loc["server_usd", "at_low"] > bars.loc["server_usd", "at_high"]


def test_map_agrees_with_the_model(spans):
    few = rent_or_buy.draws(spans, 400)
    cells = rent_or_buy.rent_or_buy_map(few, [0.2, 0.9], [2, 5, 7], CARD, **FIXED)
    assert list(zip(cells["utilization"], cells["years"])) == [(0.2, 2), (0.2, 5), (0.2, 7), (0.9, 2), (0.9, 5), (0.9, 7)]
    for utilization, years, wins in cells.itertuples(index=False):
        assert wins == rent_or_buy.probability(npv(few | {"utilization": utilization, "years": years}))
    assert cells["wins"][4] > cells["wins"][1]


def test_turning_points_turn_the_answer(spans):
    likely = spans["likely"].to_dict()
    points = rent_or_buy.turning_points(spans, CARD, **FIXED)
    assert set(points) == set(spans.index)
    owning = npv(likely) > 0
    for name, value in points.items():
        step = (spans.loc[name, "high"] - spans.loc[name, "low"]) / 400
        if value == value:
            back = value - step if value > likely[name] else value + step
            assert (npv(likely | {name: value}) > 0) != owning and (npv(likely | {name: back}) > 0) == owning
        else:
            assert {npv(likely | {name: spans.loc[name, end]}) > 0 for end in ("low", "high")} == {owning}
    assert any(value == value for value in points.values())


def test_owning_that_costs_as_much_as_renting_does_not_win(monkeypatch):
    """Worth `years` less 5, from 0 to 10: at 5 both cost the same, and a four-hundredth of the range later owning wins."""
    monkeypatch.setattr(rent_or_buy, "owned", lambda law, **given: given["years"] - 5 + 0 * given["pue"])
    spans = pd.DataFrame([[0.0, 5.0, 10.0], [1.0, 1.5, 2.0]], ["years", "pue"], rent_or_buy.ENDS)
    points = rent_or_buy.turning_points(spans)
    assert points["years"] == pytest.approx(5.025) and np.isnan(points["pue"])


def test_ranges_are_floats_whatever_is_given():
    found = rent_or_buy.ranges(ASSUMED.loc[["years"]], years=100)
    assert set(found.dtypes) == {np.dtype(float)} and list(found.loc["years"])[1:] == [100, 100]


def test_the_money_decides_nothing_by_its_size(spans):
    """All prices in millions of USD: the same answers, and turning points of prices a millionth of theirs."""
    money = ["server_usd", "usd_per_hour", "usd_per_kwh", "hosting_usd_per_month", "staff_usd_per_year"]
    small = spans.mul(pd.Series(1e-6, money).reindex(spans.index, fill_value=1.0), axis=0)
    fixed = FIXED | dict(usd_per_port=600e-6, cable_usd=900e-6)
    points, tiny = rent_or_buy.turning_points(spans, CARD, **FIXED), rent_or_buy.turning_points(small, CARD, **fixed)
    assert {name: tiny[name] / (1e-6 if name in money else 1) for name in points} == pytest.approx(points, rel=1e-6, nan_ok=True)
    assert rent_or_buy.probability(np.array([-1e-9, 0, 1e-9, 2])) == 0.5


@given(st.floats(0.05, 1), st.floats(0.5, 8), st.floats(0, 0.3))
def test_parts_add_up_to_the_owned_hour_to_the_cent(utilization, years, spares):
    values = dict(LIKELY, utilization=utilization, years=years, spare_share=spares)
    parts = rent_or_buy.owned_parts(CARD, **values, **FIXED)
    total = rent_or_buy.owned(owning.owned_usd_per_hour, CARD, **values, **FIXED)
    assert sum(parts.values()) == pytest.approx(total, rel=1e-9)
    shown = rent_or_buy.to_the_cent(parts.values())
    assert round(sum(shown), 2) == round(total, 2)
    assert all(abs(cents - part) <= 0.01 for cents, part in zip(shown, parts.values()))


def test_parts_by_hand():
    """A server of 8 GPUs for two years at no interest, used half: 8 x 8760 x 2 x 0.5 = 70,080 GPU-hours."""
    parts = rent_or_buy.owned_parts(CARD, utilization=0.5, years=2, depreciation_rate=0.5, discount_rate=0, server_usd=280_000,
                                    gpus_per_server=8, network_usd=20_000, spare_share=0.1, hosting_usd_per_month=1000,
                                    support_share=0.04, repair_share=0.01, staff_usd_per_year=7008, pue=1.25, usd_per_kwh=0.1,
                                    server_power_factor=2, idle_power_share=0.2)
    expected = {"server": 280_000 / 70_080, "network": 20_000 / 70_080, "spares": 30_000 / 70_080,
                "sold at the end": -330_000 / 4 / 70_080, "rack space": 26_400 / 70_080,
                "support and repairs": (0.04 * 1.1 + 0.01) * 560_000 / 70_080, "staff": 0.2, "power at work": 0.175, "power while idle": 0.035}
    assert parts == pytest.approx(expected, rel=1e-12)
    bare = rent_or_buy.owned_parts(CARD, utilization=0.5, years=2, depreciation_rate=0.5, discount_rate=0, server_usd=280_000,
                                   gpus_per_server=8, network_usd=0, hosting_usd_per_month=1000, pue=1.25, usd_per_kwh=0.1)
    assert bare == pytest.approx({"server": 280_000 / 70_080, "network": 0, "spares": 0, "sold at the end": -70_000 / 70_080,
                                  "rack space": 24_000 / 70_080, "support and repairs": 0, "staff": 0,
                                  "power at work": 0.7 * 1.82 * 0.125, "power while idle": 0}, rel=1e-9)
    assert rent_or_buy.to_the_cent([0.004, 0.004, 0.004]) == [0, 0.01, 0]


# Deals from price books

@pytest.fixture(scope="module", params=price_book.price_books(), ids=lambda path: path.stem)
def book(request):
    return price_book.prices(request.param)


def deal(book, gpu="H100 SXM 80GB", given=None, **wanted):
    return rent_or_buy.deal(book, gpu, ASSUMED, given or {}, **wanted)


def firm_prices(book, **wanted):
    found = book[(book["confidence"] == "seen") & np.logical_and.reduce([book[name] == value for name, value in wanted.items()])]
    return found.sort_values("price", kind="stable")


def test_a_deal_takes_the_prices_of_its_book(book):
    found = deal(book)
    rents = firm_prices(book, item="rent", gpu="H100 SXM 80GB", term="on-demand", gpus_per_server=8)
    likely = found.ranges["likely"]
    assert likely["usd_per_hour"] == rents["usd_per_hour"].min()
    assert found.rows["server"].sku == "DGX H100" and likely["server_usd"] == 400_000 and found.doubt == []
    power = firm_prices(book, item="power")
    assert found.rows["power"].name == power.index[len(power) // 2]
    assert likely["usd_per_kwh"] == power["price"].iloc[len(power) // 2]
    assert deal(book[book["sku"] != "DGX H100"]).fixed["network_usd"] == 0, "sold with its network"
    apart = found
    assert apart.fixed["usd_per_port"] == book[book["item"] == "switch"]["price"].min()
    assert apart.fixed["network_ports"] == apart.fixed["gpus_per_server"] == 8 and apart.fixed["network_tiers"] == 2
    assert deal(book, given={"network_ports": 4}).fixed["network_ports"] == 4


def test_a_value_given_takes_the_place_of_the_price(book):
    given = dict(server_usd=100e3, usd_per_hour=2.0, usd_per_kwh=0.3, hosting_usd_per_month=500.0, gpus_per_server=4,
                 network_ports=2, network_tiers=3, usd_per_port=10.0, cable_usd=20.0, utilization=0.9, years=None)
    found = deal(book, given=given)
    for name in ("server_usd", "usd_per_hour", "usd_per_kwh", "hosting_usd_per_month", "utilization"):
        assert found.ranges.loc[name, "likely"] == given[name]
    assert found.ranges.loc["years", "likely"] == ASSUMED.loc["years", "likely"]
    assert found.fixed == {name: given[name] for name in (
        "gpus_per_server", "network_ports", "network_tiers", "usd_per_port", "cable_usd")} and found.doubt == []


def test_a_deal_without_a_network(book):
    assert deal(book, given={"network_ports": 0}).fixed == {"gpus_per_server": 8, "network_usd": 0}
    bare = book[~book["item"].isin(["switch", "cable"])]
    found = deal(bare)
    assert found.fixed == {"gpus_per_server": 8, "network_usd": 0} and found.rows["switch"] is None


def test_a_missing_price_is_refused_with_the_parameter_to_give(book):
    for item, parameter in (("server", "server_usd"), ("power", "usd_per_kwh"), ("hosting", "hosting_usd_per_month"),
                            ("rent", "usd_per_hour")):
        refusal = rf"^{book.attrs['file']}: no price for item '{item}'.*; or give the parameter {parameter}$"
        with pytest.raises(price_book.MissingPrice, match=refusal):
            deal(book[~book["item"].isin([item, f"{item}-power"])])
    with pytest.raises(price_book.MissingPrice, match="no price for .*provider 'Nobody'.*; or give the parameter usd_per_hour$"):
        deal(book, provider="Nobody")
    with pytest.raises(ValueError, match="^parameter gpus_per_server: missing"):
        deal(book, given={"server_usd": 1e5})


@pytest.mark.parametrize("term, given", [
    ("on-demand", {}), ("spot", {}), ("spot", {"interruption_slowdown": 1.25}), ("reserved-3y", {"years": 3}),
    ("on-demand", {"gpus_per_server": 4, "server_usd": 150e3, "years": 2, "usd_per_hour": 3.0})])
def test_the_case_of_a_deal_is_the_model_with_its_sources(book, term, given):
    if term == "reserved-3y":
        given = given | {"usd_per_hour": 2.0}
    found = deal(book, given=given, term=term)
    made = found.case(CARD).explain(be.break_even_utilization)
    assert made.value == rent_or_buy.owned(be.break_even_utilization, CARD, **found.ranges["likely"], **found.fixed)
    source = {each.name: each.source for each in made.inputs}
    assert source["server_usd"].startswith(found.rows["server"].name)
    assert source["usd_per_hour"].startswith(found.rows["rent"].name)
    assert source["pue"] == "data/assumptions.csv or parameter"


def test_rack_space_is_that_of_the_kilowatts_of_the_server():
    """8 x 700 W x 1.82 = 10.192 kW at CBRE's 184.06 USD; 8 x 1,000 W are 14.56 kW; a book with a price of a server only takes that."""
    book = price_book.prices()
    for gpu, kilowatts in (("H100 SXM 80GB", 10.192), ("B200 SXM 180GB", 14.56)):
        assert deal(book, gpu).ranges.loc["hosting_usd_per_month", "likely"] == pytest.approx(184.06 * kilowatts)
    low, likely, _ = deal(book).ranges.loc["hosting_usd_per_month"]
    assert low == pytest.approx(750, rel=0.01) and low < 0.5 * likely
    assert deal(book[book["item"] != "hosting-power"]).rows["hosting"].hosting_usd_per_month == 750
    own = book.assign(yours=book["item"] == "hosting")
    assert deal(own).rows["hosting"].hosting_usd_per_month == 750, "the reader's own goes first"


def test_a_reservation_is_paid_used_or_not(book):
    found = deal(book, given=dict(usd_per_hour=2.0, utilization=0.5, years=3), term="reserved-3y")
    values = found.ranges["likely"].to_dict() | found.fixed
    assert rent_or_buy.owned(renting.level_usd_per_hour, CARD, **values) == pytest.approx(4.0)
    by_hour = deal(book, given=dict(usd_per_hour=4.0, utilization=0.5, years=3, rent_decline=0.0))
    values = [each.ranges["likely"].to_dict() | each.fixed for each in (found, by_hour)]
    assert rent_or_buy.owned(be.owning_npv, CARD, **values[0]) == pytest.approx(rent_or_buy.owned(be.owning_npv, CARD, **values[1]))


def test_a_reservation_that_ends_before_the_server_is_renewed_as_rents_fall(book):
    found = deal(book, given=dict(usd_per_hour=2.0, years=3.5), term="reserved-3y")
    assert found.fixed["committed"] == 1 and "rent_decline" not in found.fixed
    assert found.ranges.loc["rent_decline", "likely"] == ASSUMED.loc["rent_decline", "likely"]


def test_spot_is_charged_with_its_slowdown(book):
    found = deal(book, given=dict(usd_per_hour=2.0, interruption_slowdown=1.25, rent_decline=0), term="spot")
    assert found.case(CARD)(renting.level_usd_per_hour) == 2.5 and not set(rent_or_buy.STOPS) & set(found.ranges.index)


def test_spot_s_interruptions_are_drawn(book):
    """A day between two, a minute to save, ten to start again: 1.0455 times the time of the work; at 4.4 hours more."""
    found = deal(book, given=dict(usd_per_hour=2.0, rent_decline=0), term="spot")
    case, some = found.case(CARD), rent_or_buy.draws(found.ranges, 2000)
    assert case(renting.level_usd_per_hour) == pytest.approx(2 * 1.0455, rel=1e-4)
    assert set(rent_or_buy.STOPS) <= set(found.ranges.index)
    often = case.but(machine_interruption_seconds=15_840)(renting.level_usd_per_hour)
    slowed = rent_or_buy.outcomes(renting.level_usd_per_hour, case, {name: some[name] for name in rent_or_buy.STOPS})
    assert 2 < slowed.min() < 2.05 and often < slowed.max() < 2.6
    assert not set(rent_or_buy.STOPS) & set(deal(book).ranges.index)


# Verdicts

def gains_of(found, count=1000):
    return rent_or_buy.outcomes(be.owning_npv, found.case(CARD), rent_or_buy.draws(found.ranges, count))


@pytest.mark.parametrize("gains, expected", [
    ([1, 1, 1, 1, 1], ("owning", True)), ([-1, -1, -1, -1, 1], ("renting", False)), ([-1] * 9 + [1], ("renting", True)),
    ([-1, -1, -1, -1, 100], ("owning", False)), ([1, 1, 1, 1, 1, 1, 1, 1, 1, -100], ("renting", False)), ([-1, 1], ("renting", False))])
def test_the_verdict_is_the_sign_of_the_mean_and_sure_where_the_draws_agree(gains, expected):
    found = rent_or_buy.verdict(np.array(gains, float))
    assert (found.cheaper, found.sure) == expected
    assert found.mean == pytest.approx(np.mean(gains)) and found.chance == (np.array(gains) > 0).mean()


def test_inputs_that_move_together_are_drawn_together(spans, drawn):
    """The correlations of data/correlations.csv, of normal variables: a triangle's own is within a few hundredths of them."""
    for name, row in tables.rows("correlations").items():
        assert np.corrcoef(drawn[name], drawn[row["other"]])[0, 1] == pytest.approx(row["correlation"], abs=0.04)


def test_an_input_s_draws_do_not_hang_on_the_others(spans, drawn):
    turned = rent_or_buy.draws(spans.iloc[::-1].drop("rent_decline"), 100_000)
    assert all((turned[name] == drawn[name]).all() for name in turned)


def test_at_the_even_rent_owning_is_worth_nothing_on_average(book):
    found = deal(book)
    case, some = found.case(CARD), rent_or_buy.draws(found.ranges, 5000)
    even = rent_or_buy.even_rent(found, case, some)
    scaled = some | {"usd_per_hour": some["usd_per_hour"] * (even / found.ranges.loc["usd_per_hour", "likely"])}
    gains = rent_or_buy.outcomes(be.owning_npv, case, scaled)
    assert abs(gains.mean()) < 1e-6 * abs(gains).mean()


def test_blocks_of_draws_are_the_whole(spans):
    some, case = rent_or_buy.draws(spans, 70_000), rent_or_buy.owning_case(CARD, LIKELY, FIXED)
    assert np.allclose(rent_or_buy.outcomes(be.owning_npv, case, some), case.but(**some)(be.owning_npv), rtol=1e-12)


# Random books

PROJECT = price_book.prices()
BASE = PROJECT[(PROJECT["item"].isin(["power", "hosting-power", "switch", "cable"]))]


def random_book(rents, servers):
    """A book of rents (USD per GPU-hour, GPUs) and servers (USD, GPUs, year, confidence) of one GPU, with the project's sites."""
    rows = [dict(item="rent", provider=f"R{place}", sku=f"r{place}", gpu="H100 SXM 80GB", gpus_per_server=size, region="", term="on-demand",
                 price=rate * size, usd_per_hour=rate, date="2026-10-01", confidence="seen", yours=False, instance="", includes="")
            for place, (rate, size) in enumerate(rents)]
    rows += [dict(item="server", provider=f"S{place}", sku=f"s{place}", gpu="H100 SXM 80GB", gpus_per_server=size, region="",
                  term="purchase", price=each * size, date=f"{year}-10-01", confidence=sure, yours=False, instance="", includes="")
             for place, (each, size, year, sure) in enumerate(servers)]
    frame = pd.concat([BASE, pd.DataFrame(rows, index=[f"{row['provider']}, {row['sku']}" for row in rows])])
    frame.attrs = {"file": "random.csv", "date": "2026-11-09", "own": False}
    return frame


some_rents = st.lists(st.tuples(st.floats(0.5, 15), st.sampled_from([1, 4, 8])), min_size=1, max_size=4)
some_servers = st.lists(st.tuples(st.floats(15e3, 80e3), st.sampled_from([4, 8]), st.sampled_from([2020, 2026]),
                                  st.sampled_from(["seen", "secondary", "recalled"])), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None)
@given(some_rents, some_servers, st.randoms())
def test_the_verb_is_the_sign_of_the_mean_whatever_the_order_of_rows(rents, servers, chance):
    book = random_book(rents, servers)
    turned = book.iloc[chance.sample(range(len(book)), len(book))]
    turned.attrs = book.attrs
    found, other = deal(book), deal(turned)
    gains = gains_of(found)
    assert rent_or_buy.verdict(gains).cheaper == ("owning" if gains.mean() > 0 else "renting")
    assert found.ranges.equals(other.ranges) and found.fixed == other.fixed and len(found.doubt) == len(other.doubt)


@settings(max_examples=25, deadline=None)
@given(some_rents, some_servers, st.floats(0.5, 0.999))
def test_a_cheaper_server_or_rent_never_loses(rents, servers, factor):
    book = random_book(rents, servers)
    found = deal(book)
    gains, size = gains_of(found).mean(), found.fixed["gpus_per_server"]
    each = found.ranges.loc["server_usd", "likely"] / size
    cheaper = deal(random_book(rents, [*servers, (each * factor, size, 2026, "seen")]))
    assert cheaper.doubt == [] and cheaper.rows["server"].provider == f"S{len(servers)}" and gains_of(cheaper).mean() > gains
    less = deal(random_book([*rents, (found.rows["rent"].usd_per_hour * factor, size)], servers))
    assert less.rows["rent"].provider == f"R{len(rents)}" and gains_of(less).mean() < gains


def test_of_two_servers_the_cheaper_gpu_wins():
    rents = [(4, 8)]
    found = deal(random_book(rents, [(45_000, 4, 2026, "seen"), (37_500, 8, 2026, "seen")]))
    assert found.rows["server"].price == 300_000 and found.fixed["gpus_per_server"] == 8


def test_only_a_firm_and_current_server_decides():
    rents = [(4, 8)]
    found = deal(random_book(rents, [(50_000, 8, 2026, "seen"), (30_000, 8, 2020, "seen"), (20_000, 8, 2026, "secondary")]))
    assert found.ranges.loc["server_usd", "likely"] == 400_000 and found.doubt == []
    stale = deal(random_book(rents, [(30_000, 8, 2020, "seen"), (20_000, 4, 2026, "secondary"), (25_000, 8, 2026, "recalled")]))
    assert [row.price for row in stale.doubt] == [80_000, 200_000, 240_000]
    case, some = stale.case(CARD), rent_or_buy.draws(stale.ranges, 500)
    (low, first), (high, last) = rent_or_buy.at_stand_ins(stale, case, some)
    assert (low.price, high.price) == (80_000, 240_000) and first.mean > last.mean
    used = random_book(rents, [(30_000, 8, 2020, "seen")])
    used.loc[used["item"] == "server", "term"] = "used"
    assert deal(used).doubt == []


def ladder_case():
    return rent_or_buy.owning_case(CARD, LIKELY, FIXED)


def test_the_ladder_starts_from_the_cards_and_ends_at_all_of_the_case():
    case = ladder_case()
    found = rent_or_buy.ladder(case, 240_000)
    assert list(found["counted"]) == ["the cards alone", *rent_or_buy.STEPS]
    first, last = found.iloc[0], found.iloc[-1]
    assert first.owned == pytest.approx(240_000 / (8 * 8760 * LIKELY["years"]) / LIKELY["utilization"])
    assert last.owned == case(owning.owned_usd_per_hour) and last.needed == case(be.break_even_utilization)
    assert sorted(name for added in rent_or_buy.STEPS.values() for name in added) == sorted(rent_or_buy.NOTHING | {"server_usd": 0})


def test_the_ladder_leaves_out_cards_without_a_price_and_a_network_that_is_not_bought():
    case = ladder_case().but(network_usd=0)
    found = rent_or_buy.ladder(case, network=False)
    assert list(found["counted"]) == [name for name in rent_or_buy.STEPS if name != "network"]
    assert found.iloc[-1].owned == case(owning.owned_usd_per_hour)


def test_cards_cost_the_cheapest_new_one_each():
    book = price_book.prices()
    assert rent_or_buy.cards_usd(book, "H100 SXM 80GB", 8) == 8 * 30_000
    assert rent_or_buy.cards_usd(book, "T4 16GB", 8) is None


def test_the_map_of_a_deal_takes_another_rent():
    deal = rent_or_buy.deal(price_book.prices(), CARD.name, ASSUMED, {})
    some = rent_or_buy.draws(deal.ranges, 600)
    here, dear = rent_or_buy.decision_map(deal, some, CARD), rent_or_buy.decision_map(deal, some, CARD, rent=12)
    assert len(here) == len(dear) == 160 and (dear["wins"] >= here["wins"]).all() and dear["wins"].max() == 1
    cell = here[(here["utilization"] == 0.9) & (here["years"] == 5)].iloc[0]
    draws = {name: column[:500] for name, column in some.items()} | {"utilization": 0.9, "years": 5}
    assert cell.wins == rent_or_buy.probability(deal.case(CARD).but(**draws)(be.owning_npv))


@pytest.mark.parametrize("row, message", [
    ("pue,pu,0.5,a,2025,seen,", "row 2, column other: 'pu'; allowed: a name of the vocabulary"),
    ("pue,pue,0.5,a,2025,seen,", "row 2, column quantity: 'pue'; allowed: a name of the vocabulary, and two different ones"),
    ("pue,years,-1.5,a,2025,seen,", "row 2, column correlation: -1.5; allowed: from -1 to 1")])
def test_a_bad_correlation_is_refused(tmp_path, monkeypatch, row, message):
    (tmp_path / "correlations.csv").write_text(f"quantity,other,correlation,source,date,confidence,note\n{row}\n")
    monkeypatch.setattr(tables, "DATA", tmp_path)
    with pytest.raises(ValueError, match=f"^correlations.csv, {message}"):
        tables.table.__wrapped__("correlations")
