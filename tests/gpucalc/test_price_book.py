"""The shipped price books are valid and sourced, and a book that is wrong is refused with file, row and column."""
import datetime
import io
import math
import os
import re
import subprocess
import sys

import pandas
import pytest

from gpucalc import renting
from gpucalc.core.evaluate import Case, Row
from gpucalc.rows import ages, price_book, price_report, project_books
from gpucalc.rows.tables import DATA

NEWEST = price_book.price_books()[-1]
HEADER = ",".join(price_book.PRICES.columns)
GOOD = f"""{HEADER}
rent,Cloud,one H100,H100 SXM 80GB,1,west,on-demand,2.10,USD,USD/h,,,,,,2026-01-12,price page,seen,
rent,Cloud,eight H100,H100 SXM 80GB,8,west,on-demand,16,USD,USD/h,,,,,,2026-01,price page,seen,
server,Maker,8x H100,H100 SXM 80GB,8,west,purchase,250000,USD,USD,,,,,,2026,quote,seen,
egress,Cloud,internet,,,west,list,0,USD,USD/GB,,,,0,100e9,2026,price page,seen,free
egress,Cloud,internet,,,west,list,0.09,USD,USD/GB,,,,100e9,10e12,2026,price page,seen,
egress,Cloud,internet,,,west,list,0.05,USD,USD/GB,,,,10e12,,2026,price page,seen,
"""


@pytest.fixture
def book(tmp_path):
    """Writes a price file and reads it back."""
    def read(text, encoding="utf-8"):
        path = tmp_path / "my-prices.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return price_book.project_book(path)
    return read


def refused(book, text):
    with pytest.raises(ValueError) as error:
        book(text)
    message = str(error.value)
    assert message.startswith("my-prices.csv, row ") and "\n" not in message
    return message


@pytest.mark.parametrize("path", price_book.price_books(), ids=lambda path: path.stem)
def test_shipped_price_book_is_valid_and_sourced(path):
    frame = price_book.prices(path)
    # A catalogue may be some days older than the day on which it is read.
    assert frame.attrs["date"] <= path.stem and frame.attrs | {"date": ""} == {"file": path.name, "date": "", "own": False}
    assert not frame["yours"].any()
    assert (frame[["provider", "sku", "region", "unit", "source", "date"]] != "").all(axis=None)
    assert set(frame["item"]) <= set(price_book.ITEMS)
    assert path != price_book.price_books()[-1] or set(frame["item"]) == set(price_book.ITEMS) - {"currency"}
    rents = frame[frame["item"] == "rent"]
    assert {"on-demand", "spot", "reserved-1y", "reserved-3y", "managed"} <= set(rents["term"])
    assert (frame["date"] <= path.stem).all()
    for item, least in (("egress", 5), ("storage", 4), ("api-output", 5)):
        assert frame.loc[frame["item"] == item, "provider"].nunique() >= least


def test_the_newest_book_is_wide_enough():
    """Twelve providers, each way to rent, storage and egress of others than the large clouds, APIs, servers, colocation by kW."""
    book = price_book.prices()
    rented = book[(book["item"] == "rent") & ages.firm(book)]
    assert rented["provider"].nunique() >= 12
    for term in ("on-demand", "spot", "reserved"):
        assert rented["term"].str.startswith(term).any()
    assert rented.loc[rented["term"] == "on-demand", "gpu"].nunique() >= 12
    for item in ("storage", "egress"):
        assert len(set(book.loc[book["item"] == item, "provider"]) - {"AWS", "Azure", "GCP"}) >= 3
    assert book.loc[book["item"] == "api-cached-input", "provider"].nunique() >= 3
    assert book.loc[book["item"] == "api-batch-output", "provider"].nunique() >= 2
    assert (book.loc[book["item"] == "server", "date"] >= "2026").any() and (book["item"] == "hosting-power").any()


def test_batch_tokens_cost_at_most_what_others_do():
    book = price_book.prices()
    prices = book[book["item"].str.startswith("api-")].set_index(["provider", "sku", "region", "item"])["price"].unstack("item")
    for item in ("input", "output"):
        batch = prices[f"api-batch-{item}"].dropna()
        assert len(batch) and (batch <= prices.loc[batch.index, f"api-{item}"]).all()


@pytest.mark.parametrize("path", price_book.price_books(), ids=lambda path: path.stem)
def test_spot_of_a_cloud_is_never_at_the_price_on_demand(path):
    """Of a range over zones the middle is taken, so that no row says that spot saves nothing."""
    book = price_book.prices(path).query("item == 'rent' and provider in ['AWS', 'Azure', 'GCP']")
    offer = ["provider", "sku", "region", "gpu"]
    beside = book[book["term"] == "spot"].merge(book[book["term"] == "on-demand"], on=offer, suffixes=("", "_on_demand"))
    assert (beside["price"] < beside["price_on_demand"]).all()
    for row in book[book["note"].str.contains("across zones", na=False)].itertuples():
        low, high = map(float, re.search(r"seen ([\d.]+) to ([\d.]+) across zones: the middle", row.note).groups())
        assert row.term == "spot" and row.price == pytest.approx((low + high) / 2, abs=1e-4)


def test_rows_that_were_out_of_date_are_gone():
    """Wasabi's price of July 2026, and no price on demand for what GCP sells as spot and flex-start alone."""
    book = price_book.prices()
    assert book[(book["provider"] == "Wasabi") & (book["item"] == "storage")]["price"].to_list() == [0.00799]
    assert set(book[book["sku"] == "a3-highgpu-1g"]["term"]) == {"spot"}


def test_two_price_books_and_the_newest_is_the_default():
    assert len(price_book.price_books()) >= 2
    assert price_book.prices().attrs["file"] == NEWEST.name == max(path.name for path in price_book.price_books())


@pytest.mark.parametrize("name, price", [("2026-01-12", 98.32), ("2026-06-24", 55.04)])
def test_the_price_cut_of_p5_is_in_the_books(name, price):
    book = price_book.prices(DATA / f"prices/{name}.csv")
    row = price_book.price(book, "rent", provider="AWS", sku="p5.48xlarge", term="on-demand", cheapest=True)
    assert row["price"] == price and row["usd_per_hour"] == price / 8


def test_networks_cost_what_their_sources_say():
    book = price_book.prices(DATA / "prices/2026-06-24.csv")
    assert price_book.price(book, "switch", cheapest=True)["price"] == pytest.approx(14280 / 64, abs=0.01)
    assert price_book.price(book, "cable", sku="two optical transceivers, 400 Gb/s")["price"] == 2 * 659


def test_colocation_is_the_asking_rate_times_the_power_of_a_server():
    book = price_book.prices(DATA / "prices/2026-06-24.csv")
    assert price_book.price(book, "hosting", region="US")["price"] == pytest.approx(184.06 * 10.2, abs=0.01)


def test_rent_is_per_gpu_and_the_last_tier_has_no_edge(book):
    frame = book(GOOD)
    assert frame["usd_per_hour"].to_list()[:2] == [2.10, 2.0] and frame["usd_per_hour"][2:].isna().all()
    assert frame["to_bytes"].to_list()[-3:] == [100e9, 10e12, math.inf]
    assert (frame.attrs["file"], frame.attrs["date"]) == ("my-prices.csv", "2026-01-12")


def test_date_of_a_book_without_a_full_date(book):
    assert book(GOOD.replace("2026-01-12", "2025")).attrs["date"] == "2026-01"


def test_one_price(book):
    row = price_book.price(book(GOOD), "rent", sku="eight H100")
    assert row["usd_per_hour"] == 2.0 and row.name == "my-prices.csv: Cloud, eight H100, west, on-demand"


def test_cheapest_is_per_gpu_where_rented(book):
    assert price_book.price(book(GOOD), "rent", gpu="H100 SXM 80GB", cheapest=True)["sku"] == "eight H100"


def test_no_egress_tier_is_the_cheapest(book):
    with pytest.raises(ValueError, match="my-prices.csv: 3 prices for item 'egress'; say which of egress, Cloud, internet, "
                                         "west, list, from 0 B; egress"):
        price_book.price(book(GOOD), "egress", cheapest=True)


@pytest.mark.parametrize("alone, other", [("api-input", "api-output"), ("api-output", "api-input"), ("api-cached-input", "api-input")])
def test_an_api_sells_input_and_output(book, alone, other):
    row = f"{alone},Cloud,my-model,,,west,list,2,USD,USD/Mtoken,,,,,,2026,price page,seen,\n"
    with pytest.raises(ValueError, match=f"row 8, column item: '{alone}'; allowed: with a row {other} of the same offer"):
        book(GOOD + row)


@pytest.mark.parametrize("regions, more", [(2, ""), (12, ""), (13, "; 1 more")])
def test_an_ambiguous_price_names_up_to_twelve_rows_and_counts_the_others(book, regions, more):
    rows = [GOOD.splitlines()[1].replace(",west,", f",r{number},") for number in range(regions)]
    with pytest.raises(ValueError) as error:
        price_book.price(book("\n".join([HEADER, *rows])), "rent")
    named = "; ".join(f"Cloud, one H100, r{number}, on-demand" for number in range(min(regions, 12)))
    assert str(error.value) == f"my-prices.csv: {regions} prices for item 'rent'; say which of {named}{more}"


def test_price_that_is_not_there(book):
    with pytest.raises(ValueError, match="no price for item 'rent', provider 'Nobody'; provider is one of 'Cloud'"):
        price_book.price(book(GOOD), "rent", provider="Nobody")


# Price files that are refused

@pytest.mark.parametrize("old, new, expected", [
    (",2.10,", ",-3,", "row 2, column price: -3.0; allowed: a number above 0"),
    (",2.10,", ",0,", "row 2, column price: 0.0; allowed: a number above 0"),
    (",0.09,", ",-0.09,", "row 6, column price: -0.09; allowed: a number of at least 0"),
    (",2.10,", ",two,", "row 2, column price: 'two'; allowed: a number such as 2.10 or 80e9"),
    (",2.10,", ",\"2,10\",", "row 2, column price: '2,10'; allowed: a number"),
    (",2.10,", ",$2.10,", "row 2, column price: '$2.10'; allowed: a number"),
    (",2.10,", ",2_10,", "row 2, column price: '2_10'; allowed: a number"),
    (",2.10,", ",٢,", "row 2, column price: '٢'; allowed: a number"),
    (",2.10,", ",NaN,", "row 2, column price: 'NaN'; allowed: a number"),
    (",2.10,", ",inf,", "row 2, column price: 'inf'; allowed: a number"),
    (",2.10,", ",1e999,", "row 2, column price: '1e999'; allowed: a number"),
    (",2.10,", ",,", "row 2, column price: blank; allowed: a number"),
    ("one H100,H100 SXM 80GB", "one H100,H100",
     "row 2, column gpu: 'H100'; allowed: a gpu of data/gpus.csv; close: H100 SXM 80GB, H100 PCIe 80GB"),
    ("one H100,H100 SXM 80GB", "one H100,", "row 2, column gpu: blank; allowed: filled for rent"),
    ("internet,,,west,list,0.09", "internet,H100 SXM 80GB,,west,list,0.09",
     "row 6, column gpu: 'H100 SXM 80GB'; allowed: blank for egress"),
    (",1,west", ",0,west", "row 2, column gpus_per_server: 0.0; allowed: a whole number of at least 1"),
    (",1,west", ",1.5,west", "row 2, column gpus_per_server: 1.5; allowed: a whole number of at least 1"),
    (",1,west", ",,west", "row 2, column gpus_per_server: blank; allowed: filled for rent"),
    ("west,on-demand,2.10", "west,preemptible,2.10", "column term: 'preemptible'; allowed: on-demand, spot, reserved-1y"),
    ("west,on-demand,2.10", "west,purchase,2.10", "row 2, column term: 'purchase'; allowed: on-demand, spot, reserved-1y"),
    ("rent,Cloud,one", "lease,Cloud,one", "row 2, column item: 'lease'; allowed: rent, card, server"),
    ("2.10,USD,USD/h", "2.10,EUR,USD/h", "row 2, column currency: 'EUR'; allowed: USD"),
    ("2.10,USD,USD/h", "2.10,USD,USD/month", "row 2, column unit: 'USD/month'; allowed: USD/h for rent"),
    ("rent,Cloud,one", "rent,,one", "row 2, column provider: blank; allowed: text"),
    ("2026-01-12,price page", "2026-01-12,", "row 2, column source: blank; allowed: text"),
    (",seen,\nrent", ",sure,\nrent", "row 2, column confidence: 'sure'; allowed: seen, floor, secondary, recalled"),
    ("2026-01-12", "12.01.2026",
     "row 2, column date: '12.01.2026'; allowed: YYYY, YYYY-MM or YYYY-MM-DD, from 1990 on"),
    ("2026-01-12", "1989-12-31", "row 2, column date: '1989-12-31'; allowed: YYYY, YYYY-MM or YYYY-MM-DD, from 1990 on"),
    ("2026-01-12", "0001-01-01", "row 2, column date: '0001-01-01'; allowed: YYYY, YYYY-MM or YYYY-MM-DD, from 1990 on"),
    (",2.10,", ",1e308,", "row 2, column price: 1e+308; allowed: from 0.01 to 1,000 USD/h for rent of one GPU"),
    (",16,", ",8000.1,", "row 3, column price: 8000.1; allowed: from 0.08 to 8,000 USD/h for rent of 8 GPUs"),
    (",16,", ",0.079,", "row 3, column price: 0.079; allowed: from 0.08 to 8,000 USD/h for rent of 8 GPUs"),
    (",250000,", ",99,", "row 4, column price: 99.0; allowed: from 100 to 100,000,000 USD for server"),
    (",0.09,", ",11,", "row 6, column price: 11.0; allowed: from 0 to 10 USD/GB for egress"),
    (",1,west", ",1e300,west", "row 2, column gpus_per_server: 1e+300; allowed: at most 10,000"),
    (",1,west", ",10001,west", "row 2, column gpus_per_server: 10001.0; allowed: at most 10,000"),
    ("100e9,10e12,", "100e9,1.1e18,", "row 6, column to_bytes: 1.1e+18; allowed: at most 1,000,000,000,000,000,000"),
    ("10e12,,2026", "1e300,,2026", "row 7, column from_bytes: 1e+300; allowed: at most 1,000,000,000,000,000,000"),
    ("rent,Cloud,one", "rent,Clo\0ud,one", "row 2, column provider: 'Clo\\x00ud'; allowed: text without control and invisible"),
    ("rent,Cloud,one", "rent,Cloud,\u200bone", "row 2, column sku: '\\u200bone H100'; allowed: text without control"),
    (",west,on", ",\u202ewest,on", "row 2, column region: '\\u202ewest'; allowed: text without control and invisible"),
    ("rent,Cloud,one", 'rent,"Clo\nud",one', "row 2, column provider: 'Clo\\nud'; allowed: text without control"),
    ("price page,seen", "price\x1b[31m page,seen", "row 2, column source: 'price\\x1b[31m page'; allowed: text without"),
    ("2026-01-12", "2026-02-30", "row 2, column date: '2026-02-30'; allowed: YYYY"),
    ("2026-01-12", "2026-1-2", "row 2, column date: '2026-1-2'; allowed: YYYY"),
    ("2026-01-12", "20260112", "row 2, column date: '20260112'; allowed: YYYY"),
    ("eight H100,H100 SXM 80GB,8", "one H100,H100 SXM 80GB,8",
     "row 3: same item, provider, sku, instance, region, term, from_bytes as row 2"),
    (",100e9,10e12", ",200e9,10e12", "row 6, column from_bytes: 200000000000.0; allowed: 1e+11, where the tier below ends; there is a gap"),
    (",100e9,10e12", ",50e9,10e12", "row 6, column from_bytes: 50000000000.0; allowed: 1e+11, where the tier below ends; they overlap"),
    (",0,100e9", ",1,100e9", "row 5, column from_bytes: 1.0; allowed: 0, where the tier below ends"),
    (",10e12,,", ",10e12,20e12,", "row 7, column to_bytes: 20000000000000.0; allowed: blank in the last tier"),
    (",100e9,10e12", ",100e9,1e9", "row 6, column to_bytes: 1000000000.0; allowed: above 1e+11"),
    ("USD/h,,,,,,2026-01-12", "USD/h,,,,,9,2026-01-12", "row 2, column to_bytes: 9.0; allowed: blank for rent"),
    ("USD/h,,,,,,2026-01-12", "USD/h,,,,9,,2026-01-12", "row 2, column from_bytes: 9.0; allowed: blank for rent"),
    ("price page,seen,\nrent", "price page\nrent", "row 2: 17 cells; allowed: 19, as in the header"),
    ("rent,Cloud,one", 'rent,"Cloud"s,one', "row 2: ',' expected after '\"'; allowed: cells between commas"),
    ("rent,Cloud,one", 'rent,"Cl\noud",o,ne', "row 2: 20 cells; allowed: 19"),
    ("gpus_per_server", "gpus", "row 1: missing column gpus_per_server; allowed: item, provider, sku"),
    ("price,currency", "currency", "row 1: missing column price; allowed: item, provider, sku"),
    ("price,currency", "price,colour,currency", "row 1, column colour: unknown or there twice; allowed: item, provider, sku"),
    ("price,currency", "price,price,currency", "row 1, column price: unknown or there twice"),
])
def test_refused_price_file(book, old, new, expected):
    assert old in GOOD
    assert expected in refused(book, GOOD.replace(old, new, 1))


OFFERS = f"""{HEADER}
rent,Cloud,one H100,H100 SXM 80GB,1,west,on-demand,2,USD,USD/h,,,,,,2026,price page,seen,
rent,Cloud,one H100,H100 SXM 80GB,1,west,reserved-1y,1.5,USD,USD/h,1,,,,,2026,price page,seen,
rent,Cloud,one H100,H100 SXM 80GB,1,east,reserved-3y,1.2,USD,USD/h,3,,,,,2026,price page,seen,
api-input,Cloud,Llama-3-8B,,,west,list,0.2,USD,USD/Mtoken,,,,,,2026,price page,seen,
api-cached-input,Cloud,Llama-3-8B,,,west,list,0.1,USD,USD/Mtoken,,,,,,2026,price page,seen,
api-output,Cloud,Llama-3-8B,,,west,list,0.4,USD,USD/Mtoken,,,,,,2026,price page,seen,
switch,Shop,64 ports,,,west,purchase,300,USD,USD/port,,,,,,2026,price page,seen,
cable,Shop,optical,,,west,purchase,600,USD,USD,,,,,,2026,price page,seen,
"""


@pytest.mark.parametrize("old, new, expected", [
    ("reserved-1y,1.5,", "reserved-1y,2.5,",
     "row 3, column price: 2.5; allowed: at most 2, the on-demand price of the same offer in row 2"),
    ("api-cached-input,Cloud,Llama-3-8B,,,west,list,0.1,", "api-cached-input,Cloud,Llama-3-8B,,,west,list,0.3,",
     "row 6, column price: 0.3; allowed: at most 0.2, the api-input price of the same offer in row 5"),
    ("reserved-1y", "reserved", "row 3, column reserved_years: 1.0; allowed: blank on the term reserved"),
    ("reserved-1y", "reserved-2y", "row 3, column term: 'reserved-2y'; allowed: on-demand, spot, reserved-1y, reserved-3y"),
    ("1.5,USD,", "1.5,EUR,", "row 3, column currency: 'EUR'; allowed: USD"),
    ("64 ports,,,", "64 ports,H100 SXM 80GB,,", "row 8, column gpu: 'H100 SXM 80GB'; allowed: blank for switch"),
    ("300,USD,USD/port", "300,USD,USD", "row 8, column unit: 'USD'; allowed: USD/port for switch"),
    ("purchase,600", "list,600", "row 9, column term: 'list'; allowed: purchase, used for cable"),
    ("optical,,,", "optical,,2,", "row 9, column gpus_per_server: 2.0; allowed: blank for cable"),
    ("0.4,USD,USD/Mtoken", "0.4,USD,USD/ktoken", "row 7, column unit: 'USD/ktoken'; allowed: USD/Mtoken for api-output"),
    ("USD/h,1,", "USD/h,3,", "row 3, column reserved_years: 3.0; allowed: 1 on the term reserved-1y"),
    ("USD/h,1,", "USD/h,,", "row 3, column reserved_years: blank; allowed: 1 on the term reserved-1y"),
    ("on-demand,2,USD,USD/h,,", "on-demand,2,USD,USD/h,1,",
     "row 2, column reserved_years: 1.0; allowed: blank on the term on-demand"),
    ("600,USD,USD,,", "600,USD,USD,1,", "row 9, column reserved_years: 1.0; allowed: blank for cable"),
    ("USD/h,1,,,", "USD/h,1,network,,", "row 3, column includes: 'network'; allowed: blank for rent"),
    ("USD/h,1,,,", "USD/h,1,cooling,,", "row 3, column includes: 'cooling'; allowed: network"),
    ("USD/h,1,,,", "USD/h,1,,p5,", "row 3, column instance: 'p5'; allowed: blank on the term reserved-1y"),
    ("600,USD,USD,,,,", "600,USD,USD,,,p5,", "row 9, column instance: 'p5'; allowed: blank for cable"),
    ("0.4,USD,USD/Mtoken,,,,,", "0.4,USD,USD/Mtoken,,,,0,", "row 7, column from_bytes: 0.0; allowed: blank for api-output")])
def test_refused_offers(book, old, new, expected):
    assert len(book(OFFERS)) == 8 and old in OFFERS
    assert expected in refused(book, OFFERS.replace(old, new, 1))


def test_what_a_price_includes_and_is_for(book):
    extra = ("server,Maker,8x with network,H100 SXM 80GB,8,west,purchase,300000,USD,USD,,network,,,,2026,quote,seen,\n"
             "rent,Cloud,Service ml.h,H100 SXM 80GB,1,west,managed,3,USD,USD/h,,,one H100,,,2026,price page,seen,\n"
             "managed,Cloud,Service,,,west,list,0.5,USD,share,,,one H100,,,2026,price page,seen,\n"
             "managed,Cloud,Service,,,west,list,0.3,USD,share,,,,,,2026,price page,seen,\n")
    found = book(OFFERS + extra)
    server, mark_up = price_book.price(found, "server"), price_book.price(found, "managed", instance="one H100")
    assert (server.includes, server.gpus_per_server, server.server_usd) == ("network", 8, 300_000)
    assert mark_up.premium == 0.5 and mark_up.name == "my-prices.csv: managed, Cloud, Service, west, list, for one H100"
    assert price_book.price(found, "managed", instance="").name == "my-prices.csv: managed, Cloud, Service, west, list"
    assert price_book.price(found, "rent", term="managed").instance == "one H100"
    assert price_book.price(found, "rent", term="reserved-3y").reserved_years == 3


def test_a_price_is_a_row_for_a_case(book):
    """It has the columns of its item alone, and the price under the name that the laws know."""
    row = price_book.price(book(OFFERS), "switch")
    assert type(row) is Row and row.kind == "switch" and row.usd_per_port == 300
    assert not {"gpu", "gpus_per_server", "usd_per_hour", "reserved_years", "includes", "instance", "from_bytes"} & set(row)
    rent = price_book.price(book(OFFERS), "rent", term="on-demand")
    case = Case(rent, row, utilization=0.5)
    assert case(renting.rented_usd_per_hour) == 2 and case.explain(renting.rented_usd_per_hour).inputs[0].source.startswith(
        "my-prices.csv: Cloud, one H100, west, on-demand; price page")


def test_no_two_offers_have_one_key(book):
    twins = ("power,Grid,a,,,\"b, c\",list,0.1,USD,USD/kWh,,,,,,2026,list,seen,\n"
             "power,Grid,\"a, b\",,,c,list,0.1,USD,USD/kWh,,,,,,2026,list,seen,\n")
    assert "row 11: same row as row 10" in refused(book, OFFERS + twins)


def test_a_reservation_is_held_against_its_own_offer_alone(book):
    assert len(book(OFFERS.replace("east,reserved-3y,1.2", "east,reserved-3y,9"))) == 8


def test_no_price_is_younger_than_its_book(tmp_path):
    path = tmp_path / "2026-01-11.csv"
    path.write_text(GOOD)
    with pytest.raises(ValueError, match="row 2, column date: '2026-01-12'; allowed: at most 2026-01-11, the date of the book"):
        price_book.project_book(path)


@pytest.mark.parametrize("content, expected", [
    (b"", "my-prices.csv, row 1: the file is empty; allowed: item, provider"),
    (b"\n \n", "my-prices.csv, row 1: the file is empty"), (HEADER.encode(), "my-prices.csv, row 1: no rows below the header"),
    (GOOD.encode().replace(b"Maker", b"M\xe4ker"), "my-prices.csv, row 4: byte 0xe4; allowed: UTF-8 text"),
    (GOOD.encode("utf-16"), "my-prices.csv, row 1: byte 0xff; allowed: UTF-8 text"),
    (b"\x89PNG\r\n\x1a\n", "my-prices.csv, row 1: byte 0x89; allowed: UTF-8 text")])
def test_refused_content(book, content, expected):
    assert refused(book, content).startswith(expected)


def test_a_project_without_books_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(project_books, "DATA", tmp_path)
    with pytest.raises(ValueError, match=f"^{tmp_path}/prices: no price book; allowed: at least one CSV file$"):
        price_book.prices()


def test_a_name_that_hides_something_is_shown_as_it_is(tmp_path):
    path = tmp_path / "my\u202eprices.csv"
    path.write_text(GOOD)
    assert price_book.project_book(path).attrs["file"] == "my<U+202E>prices.csv"
    path.write_text("")
    with pytest.raises(ValueError, match=r"^my<U\+202E>prices.csv, row 1: the file is empty"):
        price_book.project_book(path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="nowhere.csv: No such file or directory"):
        price_book.prices(tmp_path / "nowhere.csv")


def test_the_ends_of_what_is_plausible_are_read(book):
    changed = GOOD.replace(",2.10,", ",0.01,").replace(",8,west,on-demand,16,", ",10000,west,on-demand,1e7,")
    assert list(book(changed)["usd_per_hour"][:2]) == [0.01, 1000]
    assert book(GOOD.replace("2026-01-12", "1990-01-01"))["date"].iloc[0] == "1990-01-01"


@pytest.fixture
def limited():
    """Reads a price file in a process of its own, which may take so many bytes of memory more than an empty one; the message."""
    def read(path, bytes_more):
        code = ("import pathlib, resource, sys; import pandas; from gpucalc.rows import price_book\n"
                "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() if sys.platform == 'linux' else 2**40\n"
                "resource.setrlimit(resource.RLIMIT_AS, (taken + int(sys.argv[2]),) * 2)\n"
                "try: price_book.project_book(pathlib.Path(sys.argv[1]))\n"
                "except ValueError as error: print(error)")
        done = subprocess.run([sys.executable, "-c", code, str(path), str(bytes_more)], cwd=DATA.parent, capture_output=True,
                              text=True, timeout=60)
        return done.stdout.strip() or done.stderr
    return read


def test_a_file_of_200_mb_is_refused_at_once(tmp_path, limited):
    path = tmp_path / "large.csv"
    path.write_text(GOOD)
    os.truncate(path, 200_000_000)
    assert limited(path, 20_000_000) == f"{path}: more than 50,000,000 bytes; allowed: at most that"


def test_pipes_and_devices_are_no_price_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/zero", tmp_path):
        with pytest.raises(ValueError, match=f"^{path}: not a regular file"):
            price_book.prices(path)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_rows_and_lines_have_a_most(book, end):
    with pytest.raises(ValueError, match="^my-prices.csv: 200,001 rows; allowed: at most 200,000$"):
        book(end * 200_001)
    assert refused(book, GOOD.encode() + b"," * 100_001) == (
        "my-prices.csv, row 8: 100,001 characters; allowed: at most 100,000")


def test_text_is_text(book):
    provider = "<script>alert(1)</script>"
    for text in (provider, "=1+1", "Müller & Söhne | *x* $1$", "N/A", "null", "007"):
        assert book(GOOD.replace("rent,Cloud,one", f"rent,{text},one"))["provider"].iloc[0] == text


def test_bom_crlf_spaces_and_blank_lines_change_nothing(book):
    expected = book(GOOD).reset_index(drop=True)
    pandas.testing.assert_frame_equal(book(GOOD, "utf-8-sig").reset_index(drop=True), expected)
    pandas.testing.assert_frame_equal(book(GOOD.replace("\n", "\r\n")).reset_index(drop=True), expected)
    pandas.testing.assert_frame_equal(book(GOOD.replace(",", " , ")).reset_index(drop=True), expected)
    spaced = GOOD.replace("\nserver", "\n\n,,,,\nserver")
    pandas.testing.assert_frame_equal(book(spaced).reset_index(drop=True), expected)
    assert "row 6, column price: -1.0" in refused(book, spaced.replace("250000", "-1"))


def test_columns_in_any_order(book):
    frame = pandas.read_csv(io.StringIO(GOOD), dtype=str, keep_default_na=False)
    pandas.testing.assert_frame_equal(book(frame[frame.columns[::-1]].to_csv(index=False)), book(GOOD))


def validate(path):
    return subprocess.run([sys.executable, "-m", "gpucalc.rows.price_book", str(path)], cwd=DATA.parent,
                          capture_output=True, text=True)


@pytest.mark.parametrize("given", [[], ["a.csv", "b.csv"]])
def test_the_command_takes_one_file(given, capsys):
    with pytest.raises(SystemExit, match="2"):
        price_book.main(given)
    assert capsys.readouterr().err.startswith("usage: python -m gpucalc.rows.price_book [-h] [--only] [--rate EUR=1.10] file\n")


def test_command_line(tmp_path):
    good = validate(NEWEST)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout == f"{NEWEST.name}: {len(price_book.prices())} rows, newest {price_book.prices().attrs['date']}\n"
    path = tmp_path / "my-prices.csv"
    path.write_text(GOOD.replace(",2.10,", ",-3,"))
    bad = validate(path)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr == "my-prices.csv, row 2, column price: '-3'; allowed: a number above 0; without the minus, if that is a slip\n"


# What is said of a file that was checked

def checked(said=0, lacking=0, warnings=0, dates=("2026",)):
    """A book of so many own prices, with as many sentences, GPUs that the newest book gives and questions as are wanted."""
    frame = pandas.DataFrame({"yours": [True] * len(dates), "date": list(dates)})
    frame.attrs = dict(file="mine.csv", own=True, prices=len(dates), book="new.csv", said=[f"s{each}" for each in range(said)], warnings=[f"w{each}" for each in range(warnings)],
                       from_book={"rent": [f"g{each}" for each in range(lacking)]} if lacking else {})
    return price_report.report(frame)


def test_a_report_lists_thirty_of_a_kind_and_six_names():
    assert checked()[0] == "mine.csv: 1 price of yours" and checked(dates=("2026", "2026"))[0] == "mine.csv: 2 prices of yours" and len(checked()) == 2
    thirty, more = checked(said=30)[1:-1], checked(said=31)[1:-1]
    assert thirty == ["Taken for granted:", *(f"  s{each}" for each in range(30))] and more == [*thirty, "  and 1 more"]
    title = "From new.csv, which is not yours, because mine.csv has none:"
    assert checked(lacking=6)[1:-1] == [title, "  rent: g0, g1, g2, g3, g4, g5"] and checked(lacking=7)[2] == "  rent: g0, g1, g2, g3, g4, g5 and 1 more"
    asked = [f"check: w{each}" for each in range(30)]
    assert checked(warnings=30)[2:] == asked and checked(warnings=32)[2:] == [*asked, "check: and 2 more"]


def test_the_age_of_a_month_and_a_year_counts_from_their_first_day(monkeypatch):
    """From 2026-01-01 to April 1 are 31 + 28 + 31 = 90 days, from February 31 + 28."""
    monkeypatch.setattr(price_report, "today", lambda: datetime.date(2026, 4, 1))
    held = ("2026-01-01", "2025-12-31", "2025", "2026-02", "2026-05")
    assert [ages.age(date, datetime.date(2026, 4, 1)) for date in held] == [90, 91, 455, 59, 0]
    assert checked(dates=held[:4])[1] == "Age: yours of 2025 to 2026-02, 50% over 90 days old"


def test_the_ages_of_both_parts_of_a_book():
    frame = pandas.DataFrame({"yours": [False, True, False], "date": ["2020-01-01", "2020-01-03", "2020-01-02"]})
    assert price_report._ages(frame, frame[frame["yours"]]) == [
        "Age: yours of 2020-01-03 to 2020-01-03, 100% over 90 days old; the book's of 2020-01-01 to 2020-01-02, 100% over 90 days old"]


def test_a_book_of_the_project_is_one_line():
    frame = pandas.DataFrame({"price": [1, 2]})
    frame.attrs = {"file": "2026-01-12.csv", "date": "2026-01-11", "own": False}
    assert price_report.report(frame) == ["2026-01-12.csv: 2 rows, newest 2026-01-11"]
