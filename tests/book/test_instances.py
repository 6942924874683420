"""What clouds call a machine: each row joins the newest price book or says why not, and agrees with what the prices say."""
import math

import pytest

from book.pages import nodes as shown
from book.pages.nodes import offers, priced
from gpucalc.rows import catalogue, price_book
from tests.each import of_each

ALL = catalogue.instances()
BOOK = price_book.prices()


def test_names_are_made_of_provider_and_machine():
    assert list(ALL.index) == [f"{row.provider} {row.machine}" for row in ALL.itertuples()]


@of_each(ALL.index.tolist())
def test_each_has_prices_of_its_card_and_size_or_a_reason(name):
    machine = ALL.loc[name]
    found = offers(BOOK, machine)
    assert len(found) or machine["unpriced"]
    assert set(found["gpu"]) <= {machine["gpu"]} and set(found["gpus_per_server"]) <= {machine["gpus"]}


def test_no_price_of_a_named_machine_is_left_out():
    """What the clouds with names for machines sell on demand, for spot or reserved is all of a machine that has a row."""
    rents = BOOK[(BOOK["item"] == "rent") & BOOK["provider"].isin(["AWS", "Azure", "GCP", "Oracle"]) & (BOOK["term"] != "managed")]
    joined = {row for _, machine in ALL.iterrows() for row in offers(BOOK, machine).index}
    assert set(rents.index) - joined == set()


def test_a_name_is_not_the_beginning_of_another():
    l40 = offers(BOOK, ALL.loc["CoreWeave gd-8xl40-i128"])
    assert len(l40) and set(l40["gpu"]) == {"L40 48GB"}
    blocks = offers(BOOK, ALL.loc["AWS p5en.48xlarge"], ["capacity-block"])
    assert set(blocks["sku"]) == {"p5en.48xlarge Capacity Block"}


def test_the_price_of_a_machine_is_that_of_its_gpus():
    found = priced(BOOK)
    known = found[found["price"].notna()]
    way = {"on-demand": "on_demand_usd", "spot": "spot_usd"}
    for row in known.to_dict("records"):
        assert row["price"] == pytest.approx(row["gpus"] * row[way.get(row["price_way"], "reserved_usd")])
        assert row["price_date"]


def test_the_cheapest_decides_and_only_a_firm_one_if_there_is_any():
    machine = ALL.loc["AWS p5.48xlarge"]
    found = offers(BOOK, machine, ["on-demand"])
    firm = found[found["confidence"] == "seen"]["usd_per_hour"]
    assert priced(BOOK).at["AWS p5.48xlarge", "on_demand_usd"] == firm.min()


def test_which_machines_have_eight_h200():
    found = ALL[(ALL["gpu"] == "H200 SXM 141GB") & (ALL["gpus"] == 8) & (ALL["provider"] == "AWS")]
    assert list(found["machine"]) == ["p5e.48xlarge", "p5en.48xlarge"]


def test_a_book_without_rents_leaves_prices_blank():
    found = priced(BOOK[BOOK["item"] != "rent"])
    assert found["price"].isna().all() and math.isnan(found["spot_usd"].max())


# The page

FRAME = shown.all_instances(BOOK)


def test_machines_are_found_by_card_and_number():
    found = shown.machines(FRAME, "H200 SXM 141GB", 8)
    assert {"AWS p5en.48xlarge", "Azure ND96isr_H200_v5", "GCP a3-ultragpu-8g", "Oracle BM.GPU.H200.8"} <= set(found.index)
    assert found["on_demand_usd"].dropna().is_monotonic_increasing
    assert shown.machines(FRAME, "H200 SXM 141GB", 3).empty
    assert list(shown.machines(FRAME, "H200 SXM 141GB", 8, "Azure")["machine"]) == ["ND96isr_H200_v5"]


def test_a_family_is_named_once_at_a_provider():
    found = shown.families(FRAME)
    assert not found.duplicated(["provider", "family"]).any()
    p3 = found[(found["provider"] == "AWS") & (found["family"] == "P3")].iloc[0]
    assert "V100" in p3["cards"] and "A100" not in p3["cards"] and p3["link"] == "NVLink 2"


def test_sums_over_the_cards_are_the_formulas():
    row = FRAME.loc["AWS p5.48xlarge"]
    assert row["node_flops"] == 8 * 989e12 and row["node_marketed_bytes"] == 640e9


def test_a_commitment_saves_a_share():
    found = shown.saved(FRAME)
    assert len(found) and found["saved"].between(-1, 1).all()


def test_who_names_no_machine():
    found = shown.nameless(BOOK)
    assert {"RunPod", "Vast.ai"} <= set(found["provider"]) and not {"AWS", "Azure", "GCP"} & set(found["provider"])
    told = shown.nameless_table(BOOK).source
    assert told.count("<tr>") == len(found) + 1 and "RunPod" in told and "what it sells" in told
    assert "No other provider in this price book" in shown.nameless_table(BOOK[BOOK["provider"] == "AWS"]).source


def test_a_strangers_prices_leave_the_page_whole(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("gpu,usd_per_hour\nH100,2.95\nA100,1.40\nL40S,1.10\nH200,3.20\nRTX 4090,0.40\n")
    own = price_book.prices(path, only=True)
    frame = shown.all_instances(own)
    for made in (shown.instance_table(frame, own), shown.family_table(frame), shown.saved_table(frame, own), shown.nameless_table(own),
                 shown.machine_table(shown.machines(frame, "H200 SXM 141GB", 8), "H200 SXM 141GB", 8, own)):
        assert "nan" not in made.source
    assert frame["price"].isna().all() and (frame["unpriced"] != "").all()
