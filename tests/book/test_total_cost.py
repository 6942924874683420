"""What the page on the whole bill shows."""
import math

import pandas as pd
import pytest

from book.pages.total_cost import (bills, egress_tiers, ends, first_price, home, homes, managed_price, PARTS, rents_with_services,
                                   storage_tiers, stored_usd, stores, tiered_usd)
from gpucalc.rows import price_book
from tests.close import close

BOOKS = {path.stem: price_book.prices(path) for path in price_book.price_books()}
H100 = "H100 SXM 80GB"
every_book = pytest.mark.parametrize("book", BOOKS.values(), ids=BOOKS.keys())


def workload(**changed):
    return {"gpu_hours": 100, "runs": 20, "corpus_bytes": 500e9, "stored_bytes": 1.2e12, "months": 1} | changed


@pytest.mark.parametrize("cached", [0, 1])
@pytest.mark.parametrize("name, changed", [*((name, {}) for name in BOOKS), *((max(BOOKS), changed) for changed in (
    {"months": 7, "runs": 13, "corpus_bytes": 3.3e12}, {"gpu_hours": 0.37, "runs": 1}, {"minimum_gpu_hours": 1e5},
    {"usd_per_gb": 0.031, "copy_usd_per_gb_month": 0.0123}))])
def test_the_parts_are_the_total_to_the_cent(name, cached, changed):
    book = BOOKS[name]
    found = bills(book, rents_with_services(book, H100), "AWS", cached=cached, **workload(**changed))
    assert len(found) >= 6
    for row in found.to_dict("records"):
        cents = [round(100 * row[part]) for part in PARTS]
        assert all(100 * row[part] == pytest.approx(each, abs=1e-6) for part, each in zip(PARTS, cents))
        assert round(100 * row["total_usd"]) == sum(cents)
    assert found["total_usd"].is_monotonic_increasing


@every_book
def test_a_bill_by_hand(book):
    offers = rents_with_services(book, H100, providers=["AWS", "Lambda"])
    found = bills(book, offers, "AWS", **workload()).set_index(["provider", "service"])
    lambda_rate = price_book.price(book, "rent", gpu=H100, provider="Lambda", term="on-demand", cheapest=True).usd_per_hour
    aws_rate = price_book.price(book, "rent", gpu=H100, provider="AWS", term="on-demand", cheapest=True).usd_per_hour
    pulled, home, managed = found.loc[("Lambda", "")], found.loc[("AWS", "")], found.loc[("AWS", "SageMaker")]
    assert pulled[PARTS].to_list() == [round(2000 * lambda_rate, 2), 27.6, 0, 891, 0]
    assert home[PARTS].to_list() == [round(2000 * aws_rate, 2), 27.6, 0, 0, 0]
    # The mark-up is that of the machine, on AWS's own rate: 15 % on p5.48xlarge.
    assert managed["managed_usd"] == pytest.approx(2000 * aws_rate * 0.15, abs=0.01)
    kept = bills(book, rents_with_services(book, H100, providers=["Lambda"]), "AWS", cached=1, **workload()).iloc[0]
    # 500 GB at Lambda's 0.20 for a month; one pull less the free tier.
    assert kept[PARTS].to_list() == [round(2000 * lambda_rate, 2), 27.6, 100, 36, 0]


@every_book
def test_a_contract_is_paid_up_to_its_minimum(book):
    offers = rents_with_services(book, H100)
    least = bills(book, offers, "AWS", **workload(minimum_gpu_hours=5000)).set_index("row")["compute_usd"]
    used = bills(book, offers, "AWS", **workload()).set_index("row")["compute_usd"]
    assert (least / used)[least.index].to_numpy() == pytest.approx(2.5, rel=1e-5)


@every_book
def test_egress_is_the_tiers_of_the_one_place_that_the_data_leaves(book):
    offers = rents_with_services(book, H100)
    # 500 GB: AWS 400 * 0.09, Azure 400 * 0.087, GCP 500 * 0.12, Lambda nothing.
    for name, expected in {"AWS": 36, "Azure": 34.8, "GCP": 60, "Lambda": 0}.items():
        tiers = egress_tiers(book, name)
        assert tiered_usd(tiers, 500e9) == pytest.approx(expected, rel=1e-9)
        assert tiers["from_bytes"].to_list() == [0, *tiers["to_bytes"].to_list()[:-1]]
        found = bills(book, offers, name, cached=1, **workload())
        assert set(found[found["provider"] != name]["egress_usd"]) == {round(expected, 2)}
        assert (found[found["provider"] == name][["egress_usd", "copy_usd"]] == 0).all(axis=None)


@every_book
def test_pulls_spread_over_the_months_and_a_copy_is_pulled_in_one(book):
    offers = rents_with_services(book, H100, providers=["CoreWeave"])
    # 10 TB over 4 months: (10000 - 400) * 0.09 = 864; the copy all at once 36. Two and a half months are three bills.
    assert bills(book, offers, "AWS", **workload(months=4))["egress_usd"][0] == close(864)
    assert bills(book, offers, "AWS", cached=1, **workload(months=4))["egress_usd"][0] == close(36)
    assert bills(book, offers, "AWS", **workload(months=2.5))["egress_usd"][0] == close(873)


@every_book
def test_a_copy_without_a_price_is_estimated_from_above(book):
    offers = rents_with_services(book, H100)
    kept = bills(book, offers, "AWS", cached=1, **workload()).set_index("provider")
    unpriced = kept[kept["copy_estimated"]]
    cheapest, dearest = (stores(book)["price"][name] for name in ends(book))
    assert set(unpriced.index) == set(kept.index) - set(stores(book).index) and not kept["copy_estimated"]["Lambda"]
    assert (unpriced["copy_usd"] == round(500 * dearest, 2)).all() and unpriced["copy_usd"].min() >= kept["copy_usd"].max()
    assert (unpriced["total_usd"] - unpriced["least_usd"]).tolist() == pytest.approx(
        [500 * (dearest - cheapest)] * len(unpriced), abs=0.011)
    priced = bills(book, offers, "AWS", cached=1, **workload(copy_usd_per_gb_month=0.01))
    assert not priced["copy_estimated"].any()
    assert set(priced[priced["provider"] != "AWS"]["copy_usd"]) == {5.0}


@every_book
def test_the_mark_up_is_that_of_the_machine_else_the_one_for_all(book):
    assert managed_price(book, "AWS", "p5.48xlarge", H100).premium == 0.15
    assert managed_price(book, "AWS", "p5.4xlarge", H100).premium == 0.15, "that of the larger machine with the same GPU"
    assert managed_price(book, "AWS", "p3.2xlarge", "V100 SXM 16GB").premium == 0.25
    assert managed_price(book, "AWS", "p4de.24xlarge", "A100 SXM 80GB").premium == 0.30
    assert managed_price(book, "Lambda", "gpu_8x_h100_sxm5", H100) is None


@every_book
def test_mark_ups_agree_with_the_managed_rates_of_the_book(book):
    managed = book[(book["item"] == "rent") & (book["term"] == "managed")]
    compared = 0
    for row in managed.itertuples():
        plain = book[(book["item"] == "rent") & (book["term"] == "on-demand") & (book["sku"] == row.instance)]["price"]
        if len(plain):
            premium = managed_price(book, row.provider, row.instance, row.gpu).premium
            assert plain.min() * (1 + premium) == pytest.approx(row.price, rel=1e-3)
            compared += 1
    assert compared >= 1


@every_book
def test_storage_is_by_tier(book):
    # AWS: 0.023 to 50 TB, 0.022 to 500, 0.021 beyond: 600 TB for 2 months are 2 * (1,150 + 9,900 + 2,100) = 26,300 USD.
    tiers = storage_tiers(book, "AWS")
    assert tiers["from_bytes"].tolist() == [0, 50e12, 500e12] and tiers["usd_per_gb_month"].tolist() == [0.023, 0.022, 0.021]
    assert stored_usd(tiers, 600e12, 2) == close(26_300) and stored_usd(tiers, 1.2e12, 1) == close(27.6)
    assert stored_usd(storage_tiers(book, "Lambda"), 1e12, 1) == close(200)
    assert first_price(book, "storage", "AWS").usd_per_gb_month == 0.023
    assert first_price(book, "storage", "AWS").name == stores(book)["row"]["AWS"]
    assert first_price(book, "egress", "AWS").from_bytes == 0
    assert ends(book)[1] == "Lambda" and stores(book)["price"]["Lambda"] == 0.2


def test_the_store_is_the_cheapest_that_is_not_cold_and_egress_is_its_own():
    book = BOOKS["2026-11-09"]
    held = stores(book)
    assert held.loc["Nebius", ["sku", "includes"]].tolist() == ["Object storage Standard", "object"]
    assert held.loc["CoreWeave", "sku"] == "AI Object Storage hot" and "cold" not in set(held["includes"])
    assert egress_tiers(book, "Nebius")["usd_per_gb"].tolist() == [0.013969839]
    # Without object storage its block volumes are left, whose data leaves through a machine, free.
    block = book[~((book["provider"] == "Nebius") & (book["includes"] == "object"))]
    block.attrs = book.attrs
    assert stores(block).loc["Nebius", "sku"] == "Block volume without replication"
    assert egress_tiers(block, "Nebius")["usd_per_gb"].tolist() == [0]


def test_the_data_is_at_the_reader_s_own_provider_else_at_the_best_known_one():
    book = BOOKS["2026-11-09"]
    assert home(book) == "AWS" and home(book, "a rack") == "a rack"
    without = book[book["provider"] != "AWS"]
    without.attrs = book.attrs
    assert home(without) == homes(book)[1]
    assert home(book.assign(yours=book["provider"] == "Cloudflare")) == "Cloudflare"


@every_book
def test_a_dearer_hour_never_moves_up(book):
    offers = rents_with_services(book, H100)
    rates = offers["usd_per_hour"]
    raised = (offers.assign(usd_per_hour=rates.where(offers["provider"] != "Lambda", rates * factor)) for factor in (1, 1.001, 1.2, 50))
    places = [bills(book, each, "AWS", **workload())["provider"].to_list().index("Lambda") for each in raised]
    assert places == sorted(places) and places[0] < places[-1]


def test_what_is_missing_is_refused_by_name():
    book = BOOKS["2026-06-24"]
    offers = rents_with_services(book, H100)
    with pytest.raises(ValueError, match=r"2026-06-24\.csv: no storage price of 'Verda'; allowed: AWS.*usd_per_gb_month"):
        bills(book, offers, "Verda", **workload())
    with pytest.raises(ValueError, match=r"no egress price of 'Wasabi'; allowed: .*usd_per_gb"):
        bills(book, offers, "Wasabi", **workload())
    with pytest.raises(ValueError, match=r"no price for item 'rent', gpu 'GB200 NVL72 186GB', term 'spot'; gpu is one of 'A10"):
        rents_with_services(book, "GB200 NVL72 186GB", "spot")
    with pytest.raises(ValueError, match=r"gpu 'H100 SXM 80GB', term 'on-demand', provider 'Nobody'; provider is one of 'AWS'"):
        rents_with_services(book, H100, providers=["Nobody"])
    given_prices = bills(book, offers, "own rack", **workload(usd_per_gb=0.01, usd_per_gb_month=0.02))
    assert set(given_prices["egress_usd"]) == {100.0} and set(given_prices["storage_usd"]) == {24.0}


def test_tiers_of_two_services_are_never_mixed():
    tier = {"item": "egress", "provider": "Two", "region": "all", "term": "list", "to_bytes": math.inf, "from_bytes": 0.0,
            "instance": "", "includes": "", "confidence": "seen", "yours": False}
    book = pd.DataFrame([tier | {"sku": "first", "price": 0.5}, tier | {"sku": "second", "price": 0.02}])
    assert tiered_usd(egress_tiers(book, "Two"), 1e12) == tiered_usd(egress_tiers(book[::-1], "Two"), 1e12) == close(20)
