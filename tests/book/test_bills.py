"""Bills compared: where the choice is, when another provider is cheaper, and what the fine print costs."""
import functools
import html
import math
import re

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from book.pages import total_cost as page
from book.pages.total_cost import card_terms, fine_print_table, many, open_words, out_words, parts_bars, substitutes
from book.pages.training_cost import decided, searched
from gpucalc import Case, total_cost as tc, training_cost
from gpucalc.decisions.market import forbidden
from gpucalc.rows import catalogue, price_book

BOOKS = {path.stem: price_book.prices(path) for path in price_book.price_books()}
BOOK = BOOKS["2026-06-24"]
H100 = "H100 SXM 80GB"
LOAD = dict(gpu_hours=100, runs=20, corpus_bytes=500e9, stored_bytes=1.2e12, months=1)
every_book = pytest.mark.parametrize("book", BOOKS.values(), ids=BOOKS.keys())


def both(book=BOOK, data_at="AWS", **changed):
    offers = page.rents_with_services(book, H100)
    return [page.bills(book, offers, data_at, cached=kept, **LOAD | changed) for kept in (0, 1)]


def test_the_load_of_a_case_is_what_a_bill_needs_of_it():
    case = Case(model="Llama-3-70B", gpu=H100, mfu=0.4, usd_per_gb=0.05, **LOAD)
    assert page.load_of(case) == LOAD | {"usd_per_gb": 0.05}


def test_the_price_of_the_last_gigabytes():
    # AWS: 500 GB are 36 USD, twenty times that 891; a month each for twenty pulls: 20 * (500 - 100) * 0.09 = 720 ...
    tiers = page.egress_tiers(BOOK, "AWS")
    assert page.last_usd_per_gb(tiers, 500e9, 1, 1) == pytest.approx(36 / 500)
    assert page.last_usd_per_gb(tiers, 500e9, 2, 1) == pytest.approx((81 - 36) / 500), "all beyond the first 100 GB at 9 cents"
    assert page.last_usd_per_gb(tiers, 500e9, 20, 1) == pytest.approx((891 - 36) / 9500)
    assert page.last_usd_per_gb(tiers, 500e9, 20, 19.5) == pytest.approx((720 - 36) / 9500)
    assert page.last_usd_per_gb(tiers, 0, 20, 1) == 0


@every_book
def test_compute_and_its_mark_up_follow_the_hours_of_a_run(book):
    pulled, longer = both(book)[0], both(book, gpu_hours=250)[0].set_index(["row", "service"])
    for bill in pulled.itertuples():
        again = page.total_at(bill, 100, 20)
        assert again == pytest.approx(bill.total_usd, abs=0.02)
        assert page.total_at(bill, 250, 20) == pytest.approx(longer.loc[(bill.row, bill.service), "total_usd"], abs=0.02)
        assert page.total_at(bill, 100, 20, 5000) == pytest.approx(page.total_at(bill, 250, 20))
        hours = Case(model="Llama-3-8B", gpu=H100, training_tokens=1e9, mfu=0.4).band(training_cost.planned_gpu_hours)
        total = hours.through(functools.partial(page.total_at, bill, runs=20), "USD")
        assert bill.storage_usd < total.low < total.plan < total.high


def test_the_places_of_a_choice():
    pulled, copied = both()
    away, kept, home, managed = places = page.places(pulled, copied, "AWS")
    assert away.provider == kept.provider == pulled[pulled["provider"] != "AWS"]["provider"].iloc[0]
    assert (away.egress_usd, kept.egress_usd) == (891, 36)
    assert (home.provider, home.service, managed.provider, managed.service) == ("AWS", "", "AWS", "SageMaker")
    assert page.places(pulled, copied, "AWS", "Lambda").away.provider == "Lambda"
    assert page.places(pulled, copied, "AWS", "AWS").away.provider == away.provider
    assert list(page.labelled(places, "AWS")) == [
        f"{away.provider}, data pulled on every run", f"{away.provider}, one copy kept", "AWS, beside the data", "AWS, SageMaker"]
    alone = page.bills(BOOK, page.rents_with_services(BOOK, H100, providers=["AWS"]), "AWS", **LOAD)
    assert list(page.labelled(page.places(alone, alone, "AWS"), "AWS")) == ["AWS, beside the data", "AWS, SageMaker"]


@every_book
def test_every_way_is_there_once_and_the_cheapest_first(book):
    offers, (pulled, copied) = page.rents_with_services(book, H100), both(book)
    found = page.ways(book, offers, "AWS", **LOAD)
    assert found["way"].is_unique and found["total_usd"].is_monotonic_increasing
    assert len(found) == len(pulled) + (copied["provider"] != "AWS").sum()
    assert found["total_usd"].iloc[0] == min(pulled["total_usd"].min(), copied["total_usd"].min())
    assert set(found[found["provider"] == "AWS"]["data"]) == {"in place"}
    assert set(found[found["provider"] != "AWS"]["data"]) == {"every run", "one copy"}
    assert "AWS, SageMaker, beside the data" in set(found["way"])


def test_a_flip_is_where_the_cheapest_changes():
    # It is the nearest: halving stops at a hundredth of a doubling, so that a value nearer by 2^(1/128) does not flip.
    offers = page.rents_with_services(BOOK, H100)
    load = LOAD | dict(gpu_hours=30, runs=10, corpus_bytes=5e12, months=3, stored_bytes=6e12)
    best = page.ways(BOOK, offers, "AWS", **load).iloc[0]
    value, way = page.flips("corpus_bytes", 0.5, BOOK, offers, "AWS", **load)
    then, nearer = (page.ways(BOOK, offers, "AWS", **load | {"corpus_bytes": value * factor}).iloc[0]
                    for factor in (1, 2 ** (1 / 128)))
    assert best.provider == nearer.provider == "AWS" != then.provider and value < 5e12 and then.way == way
    assert page.flips("corpus_bytes", 2, BOOK, offers, "AWS", **load) is None
    runs, _ = page.flips("runs", 2, BOOK, offers, "AWS", **load)
    assert isinstance(runs, int) and runs > 10


def test_at_the_rates_that_flip_two_bills_are_equal():
    found = page.ways(BOOK, page.rents_with_services(BOOK, H100), "AWS", **LOAD)
    best, second = found.iloc[0], found[found["provider"] != found["provider"][0]].iloc[0]
    up, down = page.rates_that_flip(best, second, 20)
    assert best.total_usd + 2000 * (up - best.usd_per_hour) * (1 + best.premium) == pytest.approx(second.total_usd)
    assert second.total_usd - 2000 * (second.usd_per_hour - down) * (1 + second.premium) == pytest.approx(best.total_usd)


def test_moving_pays_from_a_run_and_up_to_a_size():
    pulled, copied = both()
    there = pulled[(pulled["provider"] == "AWS") & (pulled["service"] == "")].iloc[0]
    home, moved = there.usd_per_hour, page.moving(pulled, copied, "AWS", there, 0.09).set_index("offer")
    row, once = moved.loc["Lambda"], copied.set_index("provider").loc["Lambda"]
    assert row.pays == pytest.approx((36 + 100) / (100 * (home - row.usd_per_hour)))
    assert row.most == pytest.approx(100 * (home - row.usd_per_hour) / 0.09 * 1e9)
    assert row.total_usd_once == once.total_usd and row.worked == row.compute_usd
    assert moved.loc["GCP"][["pays", "most"]].tolist() == [math.inf, 0]
    assert moved.loc[["AWS", "AWS, SageMaker"], ["pays", "most"]].isna().all(axis=None)
    assert page.moving(pulled, copied, "AWS", None, 0.09)[["pays", "most"]].isna().all(axis=None)


@every_book
def test_data_elsewhere_pays_its_own_storage_and_toll(book):
    offers = page.rents_with_services(book, H100)
    homes = page.by_home(book, offers, **LOAD | {"usd_per_gb": 9.0, "usd_per_gb_month": 9.0}).set_index("data_at")
    assert homes["total"].is_monotonic_increasing and {"AWS", "GCP", "Azure", "Lambda"} <= set(homes.index)
    assert homes.loc["AWS", ["once", "every", "storage_usd"]].tolist() == pytest.approx([36, 891, 27.6])
    pulled, copied = both(book)
    cheapest = [(homes.loc["AWS", [at, total]].tolist(), page.best(frame)[["provider", "total_usd"]].tolist())
                for at, total, frame in (("at", "total", pulled), ("copy_at", "copy_total", copied))]
    assert all(found == expected for found, expected in cheapest)


def test_the_service_wins_only_where_compute_counts_once_and_egress_twenty_times():
    # 353.9 h at 2.80 are 990.9 USD; with 28 of storage and 45 or 900 of egress 1,064 and 1,919, against 1.3 * 990.9 + 28.
    hours = Case(training_flops=1.26e21, peak_flops=989e12, mfu=1)(training_cost.planned_gpu_hours)
    counted = pd.DataFrame([dict(runs=runs, egress_usd=tc.egress_usd(500e9 * pulls, 0.09), gpu_hours=hours,
                                 managed_usd_per_hour=rate)
                            for rate in (2.80, 12.29) for runs in (1, 20) for pulls in (1, 20)])
    found = page.against_managed(counted, 2.80, 0.3, 28)
    assert found["bare"].round().tolist() == [1064, 1919, 19_891, 20_746] * 2
    assert found["service"].round().tolist() == [1316, 1316, 25_791, 25_791, 5682, 5682, 113_111, 113_111]
    assert found["bare_wins"].tolist() == [True, False, *[True] * 6]
    assert found["margin"].round().tolist()[:2] == [252, 603]


def test_the_cheapest_gear():
    assert page.cheapest_gear(BOOK).storage_gear_usd_per_gb == BOOK[BOOK["item"] == "storage-gear"]["price"].min()
    assert page.cheapest_gear(BOOK[BOOK["item"] == "rent"]) is None


def test_a_book_without_a_place_for_data_has_an_empty_table():
    rented = BOOK[BOOK["item"] == "rent"]
    assert page.by_home(rented, page.rents_with_services(BOOK, H100), **LOAD).empty


# Machines that do the work

NEWEST = BOOKS[max(BOOKS)]
JOB = Case(model="Llama-3-70B", gpu=H100, training_tokens=1e9, epochs=3, mfu=0.4, global_batch=64, sequence=8192, gpus=64,
           recipe="mixed-adamw-fp32-grads", efficiency="achieved")


SMALL_JOB = JOB.but(model="Llama-3-8B")


def planned(book=NEWEST, term="on-demand", case=JOB):
    return page.machines(case, book, H100, term)


@pytest.fixture(scope="module")
def offers_for_the_job():
    return page.rents_with_services(NEWEST, H100, work=planned())


def test_a_large_run_takes_longer_on_small_machines_and_the_bill_has_their_hours():
    work = planned(case=SMALL_JOB)
    hours = work.groupby("gpus_per_server")["gpu_hours"].min()
    assert hours[1] > 1.2 * hours[8] and (work["low_hours"] <= work["gpu_hours"]).all()
    offers = page.rents_with_services(NEWEST, H100, work=work)
    assert offers["pace"].min() == 1 and offers.set_index("provider")["pace"]["Hyperstack"] == pytest.approx(hours[1] / hours[8])
    found = page.ways(NEWEST, offers, "AWS", **LOAD | {"gpu_hours": hours[8]})
    for row in found[found["service"] == ""].itertuples():
        assert row.compute_usd == pytest.approx(20 * row.usd_per_hour * hours[row.gpus_per_server], abs=0.01)
    # 3 epochs are three times the tokens of one.
    thrice = planned(case=SMALL_JOB.but(training_tokens=3e9, epochs=1))
    assert thrice["gpu_hours"].tolist() == pytest.approx(work["gpu_hours"].tolist())


def test_the_provider_of_a_large_run_has_servers_for_it(offers_for_the_job):
    offers = offers_for_the_job
    found = page.ways(NEWEST, offers, "AWS", **LOAD | {"gpu_hours": offers["gpu_hours"].min()})
    assert page.best(found).gpus_per_server == 8 and page.rents_with_services(NEWEST, H100)["gpus_per_server"][0] == 1


def test_a_provider_counts_with_its_cheapest_run_not_its_cheapest_hour():
    row = NEWEST[(NEWEST["item"] == "rent") & (NEWEST["provider"] == "Lambda") & (NEWEST["gpu"] == H100)
                 & (NEWEST["term"] == "on-demand") & (NEWEST["gpus_per_server"] == 8)].iloc[[0]]
    two = pd.concat([row, row.assign(sku="one", gpus_per_server=1.0, price=2.0, usd_per_hour=2.0)])
    two.index = ["eight", "one"]
    two.index.name = "row"
    book = pd.concat([two, NEWEST[NEWEST["item"] != "rent"]])
    book.attrs = NEWEST.attrs
    assert page.rents_with_services(book, H100, work=planned(book))["row"].tolist() == ["eight"]
    assert page.rents_with_services(book, H100)["row"].tolist() == ["one"]


def test_spot_hours_count_interruptions_and_starts():
    calm, rough = (planned(term="spot", case=JOB.but(machine_interruption_seconds=each, restart_seconds=600, checkpoint_seconds=60))
                   for each in (1e9, 36_000))
    able = calm[calm["reason"] == ""]
    assert len(able) and (rough["gpu_hours"][able.index] > 1.05 * able["gpu_hours"]).all()


@pytest.mark.parametrize("term", ["on-demand", "spot"])
@pytest.mark.parametrize("terms", [{}, dict(mfu=0.4, machine_interruption_seconds=36_000, restart_seconds=900)])
def test_a_bill_has_the_hours_of_the_page_of_the_run(term, terms):
    """Every GPU-hour that is paid: at published speed, with the stops of the assumptions where none are given."""
    case = SMALL_JOB.but(mfu=None, epochs=1, training_tokens=1e10, deadline_days=28).but(**terms)
    run = decided(searched(case.but(cards=H100, term=term), NEWEST)).query("reason == ''")
    of_a_run = (run["training_days"] * 24 * run["gpus"]).groupby(run["row"]).min()
    work = planned(term=term, case=case).query("reason == ''")
    assert len(work) and work["gpu_hours"].to_dict() == pytest.approx(of_a_run.to_dict())
    # An MFU that is given is that of a run, with its stops: a quicker layout does not beat it.
    assert ((work["low_hours"] < work["gpu_hours"]) | ("mfu" in terms)).all() and (work["low_hours"] <= work["gpu_hours"]).all()
    assert (work["gpu_hours"] < work["high_hours"]).all()


def test_given_hours_take_machines_of_at_least_so_many_gpus():
    work = page.given_machines(NEWEST, H100, "on-demand", 100, 8)
    offers = page.rents_with_services(NEWEST, H100, work=work)
    assert (offers["gpus_per_server"] >= 8).all() and (offers[page.HOURS] == 100).all(axis=None) and (offers["pace"] == 1).all()
    out = page.left_out(work)
    assert out["Hyperstack"] == "a machine of fewer than 8 GPUs" and "Lambda" not in out
    with pytest.raises(price_book.MissingPrice, match="no machine with H100 SXM 80GB that does the work: a machine of fewer than 99"):
        page.rents_with_services(NEWEST, H100, work=page.given_machines(NEWEST, H100, "on-demand", 100, 99))
    assert out_words({"A": "small", "B": "small", "C": "slow"}) == "Left out: A and B (small); C (slow)."
    assert out_words({}) == ""


# What is missing or not firm never decides

def two_providers(**stores_of):
    """Home with storage and egress at no price; A and B rent at 1.00 and 1.01; `stores_of` are their prices and confidences."""
    plain = dict(sku="x", gpu="", gpus_per_server=math.nan, region="all", term="list", instance="", includes="", yours=False,
                 from_bytes=math.nan, to_bytes=math.nan, source="", date="2026", confidence="seen", usd_per_hour=math.nan)
    rows = [dict(item="egress", provider="Home", price=0.0, from_bytes=0.0), dict(item="storage", provider="Home", price=0.02),
            *(dict(item="storage", provider=name, price=price, confidence=sure) for name, (price, sure) in stores_of.items())]
    rows += [dict(item="rent", provider=name, gpu=H100, gpus_per_server=8.0, term="on-demand", price=8 * rate, usd_per_hour=rate)
             for name, rate in (("A", 1.0), ("B", 1.01))]
    book = pd.DataFrame([plain | row for row in rows], index=[f"{place}" for place in range(len(rows))]).rename_axis("row")
    book.attrs = {"file": "two.csv", "date": "2026", "own": False}
    return book


def bought(book, **changed):
    """100 h each, and a copy of 1 TB for a month: 100 and 101 USD of compute."""
    load = dict(gpu_hours=100, runs=1, corpus_bytes=1e12, stored_bytes=0, months=1) | changed
    work = page.given_machines(book, H100, "on-demand", 100, 8)
    frame = page.bills(book, page.rents_with_services(book, H100, work=work), "Home", cached=1, **load)
    return frame.assign(way=frame["provider"])


def test_a_missing_store_has_two_ends_and_never_wins_by_the_lower():
    # B's copy is 10 USD: 111. A's is between 10 (B's, the cheapest) and 20 (Home's, the dearest): 110 to 120.
    found = bought(two_providers(B=(0.01, "seen")))
    a, b = (found.set_index("provider").loc[name] for name in "AB")
    assert (a.least_usd, a.total_usd, a.most_usd, a.copy_estimated) == (110, 120, 120, True)
    assert (b.least_usd, b.total_usd, b.most_usd, b.copy_estimated) == (111, 111, 111, False)
    assert page.best(found).provider == "B" and page.second(found).provider == "A"
    assert page.open_rivals(found)["provider"].tolist() == ["A"]
    assert open_words(found) == "The bill may be lower at A (110 to 120 USD at list prices): its store has no firm price."
    assert open_words(bought(two_providers(A=(0.01, "seen"), B=(0.01, "seen")))) == ""
    alone = found[found["provider"] == "A"]
    assert open_words(alone) == "No store there has a firm price: depending on it, the bill is 110 to 120 USD at list prices."


def test_a_store_that_is_not_firm_does_not_decide():
    # By A's own 0.001 it costs 101, less than B's 111; it may be as dear as Home's, so B is the best.
    found = bought(two_providers(A=(0.001, "secondary"), B=(0.01, "seen")))
    a = found.set_index("provider").loc["A"]
    assert (a.least_usd, a.total_usd, a.most_usd) == (101, 101, 120)
    assert page.best(found).provider == "B" and page.open_rivals(found)["provider"].tolist() == ["A"]
    assert page.best(bought(two_providers(A=(0.001, "seen"), B=(0.01, "seen")))).provider == "A"


@pytest.mark.parametrize("confidence, said", [("floor", "its rent is a floor price"), ("recalled", "its rent is from memory"),
                                              ("secondary", "its rent comes from somebody else's report")])
def test_a_rent_that_is_not_firm_does_not_decide(confidence, said):
    book = two_providers(A=(0.01, "seen"), B=(0.01, "seen"))
    book.loc[(book["item"] == "rent") & (book["provider"] == "A"), "confidence"] = confidence
    assert page.best(bought(book)).provider == "B" and said in open_words(bought(book))
    book["yours"] = True
    assert page.best(bought(book)).provider == "A", "the reader's own prices are firm"


def test_a_price_that_is_given_leaves_nothing_open():
    found = bought(two_providers(), copy_usd_per_gb_month=0.05)
    assert page.best(found).provider == "A" and (found["least_usd"] == found["most_usd"]).all() and not found["copy_estimated"].any()
    assert found["copy_usd"].tolist() == [50, 50]


def test_a_cheaper_offer_that_is_otherwise_the_same_never_loses():
    found = bought(two_providers(A=(0.01, "seen"), B=(0.01, "seen")))
    assert page.verdict(found.iloc[0], found.iloc[1], 1) == "yes" and found["provider"].tolist() == ["A", "B"]


def test_a_tie_is_where_the_bands_meet_or_the_order_changes_inside():
    offers = page.rents_with_services(NEWEST, H100, work=planned(case=JOB.but(mfu=None)))
    found = page.ways(NEWEST, offers, "AWS", **LOAD | {"gpu_hours": offers["gpu_hours"].min()})
    fast = found[found["gpus_per_server"] == 8]
    cheap, dear = fast.iloc[0], fast[fast["provider"] == "Oracle"].iloc[0]
    assert page.verdict(cheap, dear, 20) == "yes", "of machines of one kind the hours err alike"
    slow = cheap.copy()
    slow[page.HOURS] = [1.3 * cheap[name] for name in page.HOURS]
    first, then = page.totals(cheap, 20), page.totals(slow, 20)
    assert first.low < first.plan < first.high and first.high > then.low and page.verdict(cheap, slow, 20) == "too close to call"
    slow[page.HOURS] = [9 * cheap[name] for name in page.HOURS]
    assert page.verdict(cheap, slow, 20) == "yes", "the bands do not meet"
    # A toll on the cheaper hour that makes both cost the same in half of the cases: which is cheaper depends on the hours.
    toll = cheap.copy()
    toll["egress_usd"] += page.totals(dear, 20).plan - first.plan
    assert page.verdict(toll, dear, 20) == "too close to call"


# The order of rows, and what a book may lack

@settings(max_examples=6, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(BOOKS)))
def test_the_order_of_rows_changes_no_bill(random, name):
    book = BOOKS[name]
    rows = list(range(len(book)))
    random.shuffle(rows)
    mixed = book.iloc[rows]
    mixed.attrs = book.attrs
    for home in page.homes(book)[:1]:
        found, again = (page.ways(each, page.rents_with_services(each, H100), home, **LOAD) for each in (book, mixed))
        columns = ["way", *page.PARTS, "total_usd", "least_usd", "most_usd"]
        assert again[columns].equals(found[columns])
    assert page.homes(mixed) == page.homes(book) and page.stores(mixed)["row"].tolist() == page.stores(book)["row"].tolist()


READ = ("egress", "managed", "rent", "storage")


def without(*items):
    book = NEWEST[~NEWEST["item"].isin(items)]
    book.attrs = NEWEST.attrs
    return book


def test_a_bill_reads_four_items():
    book, home = without(*sorted(set(NEWEST["item"]) - {*READ})), page.home(NEWEST)
    assert set(book["item"]) == {*READ} and page.home(book) == home
    found, again = (page.ways(each, page.rents_with_services(each, H100), home, **LOAD) for each in (NEWEST, book))
    assert again.equals(found)


@pytest.mark.parametrize("item", READ)
def test_without_any_one_item_there_is_a_bill_or_a_sentence(item):
    book = without(item)
    if item == "rent":
        with pytest.raises(price_book.MissingPrice, match="no price for item 'rent'"):
            page.rents_with_services(book, H100)
        return
    offers = page.rents_with_services(book, H100)
    if item in ("egress", "storage"):
        with pytest.raises(price_book.MissingPrice, match="no provider with both storage and egress prices; give the parameters"):
            page.home(book)
    prices = dict(usd_per_gb=0.05, usd_per_gb_month=0.02)
    found = page.ways(book, offers, "a rack of one's own", **LOAD | prices)
    assert found["total_usd"].notna().all() and set(found["data"]) == {"every run", *(["one copy"] if item != "storage" else [])}
    assert len(page.ways(book, offers, "mine", **LOAD | prices | {"copy_usd_per_gb_month": 0.1})) == 2 * len(offers)
    assert len(page.by_home(book, offers, **LOAD)) == len(page.homes(book))


# The fine print

@every_book
def test_what_takes_the_place_of_a_card_is_allowed_and_holds_as_much(book):
    cards, found = catalogue.gpus(), substitutes(book, "on-demand")
    ruled_out = {*cards.index[forbidden(cards)]}
    assert ruled_out and {*found["gpu"]} <= ruled_out
    priced = found.dropna(subset="instead")
    assert len(priced) and not {*priced["instead"]} & ruled_out and "tpu" not in set(cards.loc[priced["instead"], "kind"])
    memory = cards["memory_bytes"]
    assert (memory[priced["instead"]].to_numpy() >= memory[priced["gpu"]].to_numpy()).all()
    assert priced["more"].tolist() == pytest.approx((priced["lawful"] / priced["per_flops"] - 1).tolist())
    rents = book[(book["item"] == "rent") & (book["term"] == "on-demand")].groupby("gpu")["usd_per_hour"].min()
    for row in found[found["way"] == "rent, USD/h"].itertuples():
        assert row.per_flops == pytest.approx(rents[row.gpu] / (cards["peak_flops"][row.gpu] / 1e15))
        instead = [rents[gpu] / (cards["peak_flops"][gpu] / 1e15) for gpu in rents.index
                   if gpu not in ruled_out and cards["kind"][gpu] != "tpu" and memory[gpu] >= memory[row.gpu]]
        assert row.lawful == pytest.approx(min(instead, default=math.nan), nan_ok=True)
    assert list(substitutes(book[book["item"] == "egress"], "spot")) == list(found)


def test_a_server_counts_by_the_card_against_a_forbidden_one():
    # 8 H100 at 240,000 USD: 30,000 for 0.989 PFLOP/s, whatever the order of the book; an RTX 4090 at 2,000 is a tenth of that.
    card = BOOK[(BOOK["item"] == "card") & (BOOK["gpu"] == "RTX 4090 24GB")].head(1).assign(
        item="server", price=16_000.0, gpus_per_server=8.0)
    server = card.assign(gpu=H100, price=240_000.0)
    for book in (pd.concat([card, server]), pd.concat([server, card])):
        [row] = substitutes(book, "on-demand").itertuples()
        flops = catalogue.gpu("RTX 4090 24GB").peak_flops / 1e15
        assert (row.way, row.gpu, row.instead) == ("buy a server, USD", "RTX 4090 24GB", H100)
        assert row.per_flops == pytest.approx(2000 / flops) and row.lawful == pytest.approx(30_000 / 0.989, rel=1e-3)
        assert row.more == pytest.approx(row.lawful / row.per_flops - 1)


@every_book
def test_every_card_has_its_terms(book):
    cards = card_terms(book)
    assert set(cards["gpu"]) == set(book[book["item"] == "card"]["gpu"]) and cards["gpu"].is_unique
    consumer = cards[cards["gpu"] == "RTX 4090 24GB"].iloc[0]
    assert consumer.license == "forbidden" and consumer.ecc == "not on"
    assert consumer.price == book[(book["item"] == "card") & (book["gpu"] == "RTX 4090 24GB")]["price"].min()


@every_book
def test_terms_of_cards_are_those_of_their_kind_and_of_the_catalogue(book):
    cards, gpus, fine = card_terms(book), catalogue.gpus(), catalogue.fine_print()
    assert list(zip(cards["kind"], cards["price"])) == sorted(zip(cards["kind"], cards["price"]))
    for row in cards.itertuples():
        known = gpus.loc[row.gpu]
        assert (row.kind, row.link) == (known.kind, known.link)
        assert row.tdp_watts == pytest.approx(known.tdp_watts, nan_ok=True)
        assert row.ecc == ("on" if known.ecc == 1 else "not on" if known.ecc == 0 else row.ecc)
        for term in ("license", "warranty"):
            verdicts = fine[(fine["kind"] == term) & (fine["applies_to"] == row.kind)]["verdict"].tolist()
            held = getattr(row, term)
            assert held == verdicts[0] if verdicts else held is None or held != held


# What pages show of it

def test_a_count_with_its_noun():
    assert [many(1, "run"), many(20, "run"), many(1500, "month"), many(2.5, "month")] == [
        "1 run", "20 runs", "1,500 months", "2.5 months"]


def test_fine_print_says_what_was_recalled():
    shown = fine_print_table("license", "Licenses").source
    fine = catalogue.fine_print().query("kind == 'license'")
    assert shown.count("<tr>") == len(fine) + 1 and shown.count("(recalled)") == fine["confidence"].eq("recalled").sum()


def test_each_line_of_fine_print_has_its_source_and_date():
    shown = fine_print_table("warranty", "Warranties").source
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in shown.split("<tr>")[2:]]
    fine = catalogue.fine_print().reset_index().query("kind == 'warranty'")
    assert len(rows) == len(fine) > 0
    for cells, row in zip(rows, fine.itertuples()):
        recalled = " (recalled)" if row.confidence == "recalled" else ""
        assert [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in cells] == [
            row.subject, row.verdict, row.fact, f"{row.source}, {row.date}{recalled}"]


def test_parts_of_the_first_ways_are_a_bar_each():
    found = page.ways(BOOK, page.rents_with_services(BOOK, H100), "AWS", **LOAD)
    chart = parts_bars(found, "a finding", most=3).to_dict()
    drawn = next(iter(chart["datasets"].values()))
    assert {row["way"] for row in drawn} == set(found["way"][:3]) and chart["usermeta"]["alt"] == "a finding"
    assert sum(row["total_usd"] for row in drawn) == pytest.approx(found["total_usd"][:3].sum())
    assert chart["encoding"]["y"]["axis"] == {"labelLimit": 230} and chart["height"] == 300
    usual = next(iter(parts_bars(found, "").to_dict()["datasets"].values()))
    assert len(found) > 10 and {row["way"] for row in usual} == set(found["way"][:10])


def test_a_load_in_columns_gives_the_bills_of_each_load():
    offers, sizes = page.rents_with_services(BOOK, H100), [0.0, 500e9, 2.5e12]
    every = pd.DataFrame({"corpus_bytes": sizes, "runs": [1, 20, 3], "months": [1, 0.5, 2.5]}).merge(offers, how="cross")
    for cached in (0, 1):
        found = page.bills(BOOK, every, "AWS", 100, every["runs"], every["corpus_bytes"], 1e12, every["months"], cached)
        for (size, runs, months), part in found.groupby(["corpus_bytes", "runs", "months"]):
            alone = page.bills(BOOK, offers, "AWS", 100, int(runs), size, 1e12, months, cached)
            assert part[alone.columns].reset_index(drop=True).equals(alone)


def test_runs_fall_to_one_and_no_further():
    # 100 GB leave AWS free once a month and for 9 USD each time after: half a cheaper GPU-hour is worth that only in one run.
    offers = page.rents_with_services(BOOK, H100)
    load = LOAD | dict(gpu_hours=0.5, corpus_bytes=100e9, runs=8, copy_usd_per_gb_month=100)
    best = [page.ways(BOOK, offers, "AWS", **load | {"runs": runs}).iloc[0] for runs in (1, 2, 8)]
    assert [each.provider == "AWS" for each in best] == [False, True, True]
    assert page.flips("runs", 0.5, BOOK, offers, "AWS", **load) == (1, best[0].way)


def test_each_part_is_to_the_cent_and_the_total_is_their_sum():
    offers = page.rents_with_services(BOOK, H100).set_index(["provider", "service"])
    found = page.bills(BOOK, offers.reset_index(), "AWS", **LOAD | dict(gpu_hours=0.37, stored_bytes=1.234e12))
    for row in found.itertuples():
        offer = offers.loc[row.provider, row.service]
        assert row.compute_usd == round(0.37 * 20 * offer.usd_per_hour, 2)
        assert row.managed_usd == round(row.compute_usd * offer.premium, 2)
        assert row.total_usd == round(sum(getattr(row, part) for part in page.PARTS), 2)
    for part in ("compute_usd", "managed_usd", "storage_usd", "total_usd"):
        assert (found[part] != found[part].round(1)).any(), part


def test_one_price_for_every_byte_that_leaves():
    assert page.egress_tiers(BOOK, "nobody", 0.05).values.tolist() == [[0, math.inf, 0.05]]


def test_a_managed_mark_up_is_that_of_the_instance_then_of_the_gpu_then_for_all():
    rents = BOOK[(BOOK["item"] == "rent") & (BOOK["provider"] == "AWS") & (BOOK["gpu"] == H100)]
    sku = rents["sku"].iloc[0]
    mark_up = BOOK[BOOK["item"] == "managed"].iloc[[0, 0, 0, 0]].assign(
        provider="AWS", instance=["", sku, "other", "p9"], price=[0.1, 0.2, 0.3, 0.4], sku=["all", "this", "none", "that"])
    # Another instance with this GPU.
    twin = rents.iloc[[0]].assign(sku="p9")

    def found(*skus):
        book = pd.concat([BOOK[BOOK["item"] == "rent"], twin, mark_up[mark_up["sku"].isin(skus)]])
        return page.managed_price(book, "AWS", sku, H100)
    assert [found(*skus).sku for skus in (("all", "this", "that"), ("all", "that", "none"), ("all", "none"))] == [
        "this", "that", "all"]
    assert found("none") is None and found("this").premium == 0.2
