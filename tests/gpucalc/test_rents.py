"""Offers to rent: the cheapest of each kind, and one error for what is not there."""

import pytest
from hypothesis import given, settings, strategies as st

from gpucalc import renting
from gpucalc.core.evaluate import Case, Row
from gpucalc.decisions import market
from gpucalc.rows import ages, price_book
from gpucalc.rows.price_book import MissingPrice
from gpucalc.rows.rents import area_of, cheapest_rent, doubtful, PER, rents, with_rent

H100 = "H100 SXM 80GB"
HEADER = ",".join(price_book.PRICES.columns)
ROWS = """rent,North,n1,H100 SXM 80GB,1,east,on-demand,3,USD,USD/h,,,,,,2026,list,seen,
rent,North,n8,H100 SXM 80GB,8,east,on-demand,20,USD,USD/h,,,,,,2026,list,seen,
rent,North,n8,H100 SXM 80GB,8,west,on-demand,22,USD,USD/h,,,,,,2026,list,seen,
rent,North,n8,H100 SXM 80GB,8,east,reserved-1y,12,USD,USD/h,1,,,,,2026,list,seen,
rent,South,s1,H100 SXM 80GB,1,all,on-demand,2,USD,USD/h,,,,,,2026,list,seen,
rent,South,s4,A100 SXM 80GB,4,all,on-demand,6,USD,USD/h,,,,,,2026,list,seen,
power,Grid,kWh,,,west,list,0.1,USD,USD/kWh,,,,,,2026,list,seen,
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    path = tmp_path_factory.mktemp("rents") / "mine.csv"
    path.write_text(f"{HEADER}\n{ROWS}")
    return price_book.project_book(path)


BOOKS = [price_book.prices(path) for path in price_book.price_books()]
every_book = pytest.mark.parametrize("project", BOOKS, ids=lambda book: book.attrs["file"])


def skus(frame):
    return [f"{row.sku} {row.region} {row.term}" for row in frame.itertuples()]


def test_all_offers_the_cheapest_hour_first(book):
    assert skus(rents(book)) == ["n8 east reserved-1y", "s4 all on-demand", "s1 all on-demand", "n8 east on-demand",
                                 "n8 west on-demand", "n1 east on-demand"]


@pytest.mark.parametrize("per, expected", [
    ("gpu", ["s4 all", "s1 all"]), ("server", ["s4 all", "s1 all", "n8 east"]), ("provider", ["s4 all", "s1 all", "n8 east"]),
    ("instance", ["s4 all", "s1 all", "n8 east", "n8 west", "n1 east"])])
def test_the_cheapest_of_each(book, per, expected):
    assert skus(rents(book, term="on-demand", per=per)) == [f"{sku} on-demand" for sku in expected]


def test_offers_on_different_terms_are_no_rivals(book):
    assert skus(rents(book, gpu=H100, per="gpu")) == ["n8 east reserved-1y", "s1 all on-demand"]


def test_wishes(book):
    assert skus(rents(book, at_least=4, gpu=H100, term="on-demand")) == ["n8 east on-demand", "n8 west on-demand"]
    assert skus(rents(book, gpus_per_server=4)) == ["s4 all on-demand"]
    assert skus(rents(book, provider=["South", "North"], gpu=H100, region="all")) == ["s1 all on-demand"]


@pytest.mark.parametrize("wanted, text", [
    (dict(gpu="H100"), "no price for item 'rent', gpu 'H100'; gpu is one of 'A100 SXM 80GB', 'H100 SXM 80GB'"),
    (dict(gpu=H100, term="spot"),
     f"no price for item 'rent', gpu '{H100}', term 'spot'; term is one of 'on-demand', 'reserved-1y'"),
    (dict(provider=["North", "Nobody"]), "no price for item 'rent', provider 'Nobody'; provider is one of 'North', 'South'"),
    (dict(gpus_per_server=2), "no price for item 'rent', gpus_per_server 2; gpus_per_server is one of 1, 4, 8"),
    (dict(at_least=16), "no price for item 'rent', at_least 16; gpus_per_server is one of 1, 4, 8")])
def test_what_is_not_there_is_refused_in_one_form(book, wanted, text):
    for query in (rents, cheapest_rent):
        with pytest.raises(ValueError) as error:
            query(book, **wanted)
        assert str(error.value) == f"mine.csv: {text}"
    assert rents(book, **wanted, required=False).empty


def test_a_book_without_rents(book):
    with pytest.raises(ValueError, match="^mine.csv: no price for item 'rent'; item is one of 'power'$"):
        rents(book[book["item"] == "power"])


def test_one_offer_is_a_row_for_a_case(book):
    row = cheapest_rent(book, gpu=H100, term="on-demand")
    assert type(row) is Row and row.name == "mine.csv: South, s1, all, on-demand"
    assert (row.usd_per_hour, row.gpus_per_server, row.price) == (2, 1, 2)
    assert Case(row, utilization=0.5, committed=1)(renting.rented_usd_per_hour) == 4


def test_whole_servers_are_taken_where_there_are_any(book):
    assert cheapest_rent(book, gpu=H100, term="on-demand", whole=8).sku == "n8"
    assert cheapest_rent(book, gpu=H100, term="on-demand", whole=16).sku == "s1"


def test_a_rent_that_is_given_stands_in_for_all(book):
    own = with_rent(book, H100, 8, "on-demand", 1.5)
    assert skus(rents(own, per="gpu")) == ["parameter  on-demand"]
    row = cheapest_rent(own, gpu=H100)
    assert (row.name, row.usd_per_hour, row.price) == ("parameter usd_per_hour", 1.5, 12)
    assert price_book.price(own, "power").usd_per_kwh == 0.1


@every_book
@pytest.mark.parametrize("per", PER)
def test_no_firm_offer_is_cheaper_than_the_one_of_its_kind(project, per):
    best = rents(project, per=per)
    kinds = [*PER[per], "term"]
    assert not best.duplicated(kinds).any() and best["usd_per_hour"].is_monotonic_increasing
    rented = project[project["item"] == "rent"]
    sure = rented[ages.firm(rented)].groupby(kinds)["usd_per_hour"].min()
    least = sure.combine_first(rented.groupby(kinds)["usd_per_hour"].min())
    assert len(least) == len(best)
    assert (best.set_index(kinds)["usd_per_hour"].sort_index() == least.sort_index()).all()


def test_a_cheaper_offer_that_is_not_firm_is_named_and_never_taken(tmp_path):
    cheap = ROWS + "".join(
        f"rent,{confidence},c1,H100 SXM 80GB,1,all,on-demand,{price},USD,USD/h,,,,,,2026,list,{confidence},\n"
        for confidence, price in (("floor", 1.5), ("secondary", 1), ("recalled", 1.9)))
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEADER}\n{cheap}")
    with_doubt = price_book.prices(path).assign(yours=False)
    best = cheapest_rent(with_doubt, gpu=H100, term="on-demand")
    assert (best.sku, best.usd_per_hour) == ("s1", 2)
    assert list(doubtful(with_doubt, best, gpu=H100, term="on-demand")["provider"]) == ["secondary", "floor", "recalled"]
    mine = with_doubt.assign(yours=with_doubt["provider"].eq("recalled"))
    assert cheapest_rent(mine, gpu=H100, term="on-demand").provider == "recalled", "the reader's own decides, however sure"
    alone = with_doubt[with_doubt["confidence"] == "floor"]
    assert cheapest_rent(alone, gpu=H100, term="on-demand").provider == "floor", "where no other is there"


@settings(max_examples=20)
@given(order=st.permutations(range(6)), factor=st.floats(0.1, 10))
def test_the_order_of_rows_decides_nothing(tmp_path_factory, order, factor):
    lines = ROWS.replace(",20,USD", f",{20.5 * factor},USD").replace("1y,12,", f"1y,{factor},").splitlines()
    found = []
    for rows in (lines, [lines[place] for place in order]):
        path = tmp_path_factory.mktemp("order") / "mine.csv"
        path.write_text("\n".join([HEADER, *rows]) + "\n")
        found.append({per: list(rents(price_book.project_book(path), per=per).index) for per in PER})
    assert found[0] == found[1]


def test_a_price_stands_alone_where_no_second_provider_sells_the_gpu_on_its_term(book):
    """On demand the H100 has two sellers; the A100 has one, and so has what is reserved. A second one makes it firm, of whatever size."""
    found = rents(book)
    alone = dict(zip(zip(found["gpu"], found["term"], found["gpus_per_server"]), market.sole(found, book)))
    assert alone == {(H100, "on-demand", 1): 0, (H100, "on-demand", 8): 0, (H100, "reserved-1y", 8): 1, ("A100 SXM 80GB", "on-demand", 4): 1}
    own = found.assign(yours=found["gpu"] != H100)
    assert market.sole(own, book).sum() == 1


@pytest.mark.parametrize("region, area", [
    ("eu-west-1", "eu"), ("eu-west-2", "uk"), ("europe-west4", "eu"), ("europe-west2", "uk"), ("eu-central-2", ""), ("uksouth", "uk"),
    ("us-east5", "us"), ("us-gov-west-1", ""), ("eastus2", "us"), ("eastasia", "apac"), ("all", "any"), ("not stated", ""), ("North America", "")])
def test_a_region_lies_in_an_area(region, area):
    assert area_of(region) == area


def test_an_area_takes_its_regions_and_what_stands_everywhere():
    book = price_book.prices()
    found = rents(book, term="on-demand", region=["eu", "us-west-2"])
    assert {area_of(region) for region in found["region"]} == {"eu", "any", "us"} and set(found[found["region"].str.startswith("us")]["region"]) == {"us-west-2"}
    mine = book.assign(yours=book["region"] == "not stated")
    mine.attrs = book.attrs
    assert "not stated" in set(rents(mine, region="eu")["region"]) and "not stated" not in set(found["region"])
    with pytest.raises(MissingPrice, match="no price for region 'apac'; region is one of 'eu-west-1'"):
        rents(book[book["region"] == "eu-west-1"], region="apac")
