"""What the page on commitments shows."""
import pandas as pd
import pytest

from book.pages import commitments as plan
from book.pages.commitments import load_curve, sorted_load
from gpucalc import commitments as cm
from gpucalc.core.evaluate import Case
from gpucalc.rows import price_book
from tests.gpucalc.test_commitments import LOAD
from tests.pictures import areas

BOOK = price_book.prices()
H200 = "H200 SXM 141GB"
WAITS = dict(interruptible_share=0.3, machine_interruption_seconds=86400, checkpoint_seconds=60, restart_seconds=600)


def rent(provider, term, price, confidence="seen", **more):
    return dict(item="rent", provider=provider, sku="x", gpu=H200, gpus_per_server=1.0, region="all", term=term, price=price,
                usd_per_hour=price, instance="", confidence=confidence, yours=False, date="2026-11-01", source="a page") | more


def small(*rents):
    book = pd.DataFrame(list(rents), index=[f"row {place}" for place in range(len(rents))]).rename_axis("row")
    book.attrs = {"file": "small.csv", "own": False}
    return book


def test_firm_rents_come_first_then_the_surest():
    book = small(rent("A", "reserved", 2.0, "floor"), rent("B", "reserved-3y", 3.0, "secondary"), rent("C", "on-demand", 4.0),
                 rent("D", "on-demand", 3.5, "recalled"))
    assert [plan.rates(book, H200).reserved.provider, plan.rates(book, H200).on_demand.provider] == ["B", "C"]
    assert plan.rates(book, H200).spot is None and not plan.is_firm(plan.rates(book, H200).reserved)
    firm = pd.concat([book, small(rent("E", "reserved-1y", 3.2))])
    firm.attrs = book.attrs
    assert plan.rates(firm, H200).reserved.provider == "E" and plan.rates(book, H200, "D").on_demand.provider == "D"
    assert plan.rates(book.assign(yours=True), H200).reserved.provider == "A", "the reader's own prices are firm"
    assert plan.rates(book[::-1], H200).reserved.name == plan.rates(book, H200).reserved.name


def test_a_mix_has_the_rents_of_the_book_or_those_given():
    book = small(rent("A", "reserved", 2.8), rent("A", "on-demand", 4.0), rent("A", "spot", 2.0))
    mixed = plan.mix(Case(**LOAD | WAITS), plan.rates(book, H200), H200, "small.csv")
    committed, demand, spot = plan.prices_of(mixed)
    assert (committed, demand) == (2.8, 4.0) and 2.0 < spot < 2.2, "interruptions take time"
    assert mixed(cm.flexible_usd_per_hour) == pytest.approx(0.7 * 4 + 0.3 * spot)
    own = plan.mix(Case(**LOAD | WAITS, committed_usd_per_hour=1.0, spot_usd_per_hour=3.0), plan.rates(book, H200), H200, "small.csv")
    assert plan.prices_of(own) == [1.0, 4.0, 3.0]
    calm = plan.mix(Case(**LOAD | WAITS), plan.rates(book[book["term"] != "spot"], H200), H200, "small.csv")
    assert calm(cm.flexible_usd_per_hour) == 4.0, "without a spot rent all is on demand"


def test_what_a_book_lacks_is_one_sentence():
    book = small(rent("A", "on-demand", 4.0))
    with pytest.raises(price_book.MissingPrice, match="^small.csv: no reserved rent of H200 SXM 141GB; give the parameter "
                       "committed_usd_per_hour$"):
        plan.mix(Case(**LOAD | WAITS), plan.rates(book, H200), H200, "small.csv")
    with pytest.raises(price_book.MissingPrice, match="no reserved and no on-demand rent"):
        plan.mix(Case(**LOAD | WAITS), plan.rates(book, "L4 24GB"), "L4 24GB", "small.csv")


def test_the_best_level_never_costs_more_on_any_gpu_of_the_book():
    table = plan.by_gpu(BOOK, Case(**LOAD | WAITS))
    assert len(table) >= 8 and (table["saved"] >= 0).all() and table["reserved_gpus"].between(0, 100).all()
    assert ((table["reserve_ratio"] > 1) == (table["reserved_gpus"] == 0)).all()
    for row in table.itertuples():
        mixed = plan.mix(Case(**LOAD | WAITS), plan.rates(BOOK, row.gpu), row.gpu, "")
        costs = plan.costs(mixed)
        assert costs["best"] <= min(costs.values()) * (1 + 1e-9)
        assert costs["on demand"] == pytest.approx(70 * row.usd_per_hour)
    empty = plan.by_gpu(small(rent("A", "on-demand", 4.0)), Case(**LOAD | WAITS))
    assert empty.empty and list(empty) == list(table)


def test_blocks_beside_the_hour_on_demand():
    found = plan.blocks(BOOK, 14, H200)
    first = found.iloc[0]
    assert first.days == pytest.approx(14 * first.block_usd_per_hour / first.usd_per_hour)
    assert first.cheapest <= first.usd_per_hour and found["block_usd_per_hour"].is_monotonic_increasing
    assert plan.blocks(BOOK, 14, "L4 24GB").empty


@pytest.mark.parametrize("level, share", [(58, 0.7), (0, 1.1), (100, 0.01), (20, 1)])
def test_the_picture_says_what_it_shows(level, share):
    shown = load_curve(40, 100, level, share)
    assert f"{level} are reserved" in repr(shown) and shown._repr_html_().startswith("<figure") and "nan" not in shown._repr_html_()
    assert ("reserved, idle" in shown._repr_html_()) == (level > 40)
    # 100 GPUs are 174 units tall, all hours 358 wide; what is reserved stands on the foot, and the others on top of it.
    held = areas(shown)
    assert (held["a"].foot, held["a"].right - held["a"].left) == (190, 358) and held["a"].top == pytest.approx(190 - 1.74 * level, abs=0.1)
    if level < 100:
        assert (held["b"].left, held["b"].top, held["b"].foot) == (held["a"].left, 16, held["a"].top)
    if level > 40:
        assert held["e"].right == held["a"].right and held["e"].left == pytest.approx(held["a"].left + 358 * share, abs=0.1)


def test_one_gpu_near_the_peak_is_needed_in_some_hours():
    """Three quarters of the way from 40 up to 100 GPUs is the 85th, which the load needs in a quarter of the hours."""
    shown = sorted_load(40, 100)
    assert "GPU 85: needed in 25 % of the hours" in shown.source and "the first 40: needed in all hours" in shown.source
    (load,) = areas(shown).values()
    assert (load.left, load.top, load.right, load.foot) == (34, 16, 392, 190)


def test_the_sliders_of_a_mix_reach_from_end_to_end():
    book = small(rent("A", "reserved", 2.8), rent("A", "on-demand", 4.0))
    mixed = plan.mix(Case(**LOAD | WAITS), plan.rates(book, H200), H200, "small.csv")
    bare = Case(**mixed.inputs | {"committed_usd_per_hour": 2.8, "usd_per_hour": 4.0})
    spec = plan.mix_slider_chart(bare, plan.costs(mixed), mixed(cm.reserved_gpus), "It bends.").to_dict()
    binds = {each["name"]: each["bind"] for each in spec["params"] if "bind" in each}
    ends = {name: (bind["min"], bind["max"]) for name, bind in binds.items()}
    assert ends == {"committed_usd_per_hour": (0.1, 6.0), "trough_gpus": (0, LOAD["peak_gpus"]), "interruptible_share": (0, 1)}
    places = [row["reserved_gpus"] for row in spec["data"]["values"]]
    assert (places[0], places[-1], len(places)) == (0, LOAD["peak_gpus"], 61)
