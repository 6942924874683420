"""Price files as readers have them: read right, or refused with every fault named; and what they replace of the newest book."""
import datetime
import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpucalc.rows import catalogue, intake_names, intake_numbers, price_book, tables
from gpucalc.rows.price_book import prices

TODAY = datetime.date.today().isoformat()
H100, H200, A100, B200 = "H100 SXM 80GB", "H200 SXM 141GB", "A100 SXM 80GB", "B200 SXM 180GB"
NEWEST = price_book.price_books()[-1]


@pytest.fixture
def write(tmp_path):
    def written(held, name="mine.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(held if isinstance(held, bytes) else held.encode(encoding))
        return path
    return written


def workbook(*sheets, formats=()):
    """An XLSX file of sheets, each a name and rows of cells; `formats` are cells of the first and how they show their number."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    for cell, shown in formats:
        book.worksheets[0][cell].number_format = shown
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def read(path, **more):
    """The file alone: each row by what a reader would look at."""
    book = prices(path, only=True, **more)
    columns = ["item", "provider", "gpu", "gpus_per_server", "region", "term", "price", "date"]
    return sorted((tuple(row) for row in book[columns].astype(object).fillna("").itertuples(index=False)), key=str)


def rent(gpu, price, gpus=8, term="on-demand", provider="your provider", region="not stated", date=TODAY):
    return ("rent", provider, gpu, gpus, region, term, pytest.approx(price), date)


TWO = [rent(A100, 11.2), rent(H100, 23.6)]
ACME = rent(H100, 23.6, provider="Acme", date="2026-11-20")

RIGHT = {
    "two columns": ("gpu,usd_per_hour\nH100,2.95\nA100,1.40\n", TWO),
    "columns in another order": ("usd_per_hour,gpu\n2.95,H100\n1.40,A100\n", TWO),
    "header case and spaces": ("GPU type, USD per hour \nH100,2.95\nA100,1.40\n", TWO),
    "header with slash": ("GPU,usd/h\nH100,2.95\nA100,1.40\n", TWO),
    "header with sign": ("GPU,$/hr\nH100,2.95\nA100,1.40\n", TWO),
    "header in capitals": ("GPU,PRICE PER HOUR\nH100,2.95\nA100,1.40\n", TWO),
    "price per GPU": ("gpu;price per GPU\nH100;2.95\nA100;1.40\n", TWO),
    "semicolons and decimal commas": ("gpu;usd_per_hour\nH100;2,95\nA100;1,40\n", TWO),
    "tabs": ("gpu\tusd_per_hour\nH100\t2.95\nA100\t1.40\n", TWO),
    "bars": ("gpu|usd_per_hour\nH100|2.95\nA100|1.40\n", TWO),
    "a line that names the separator": ("sep=;\ngpu;usd_per_hour\nH100;2,95\nA100;1,40\n", TWO),
    "CRLF": ("gpu,usd_per_hour\r\nH100,2.95\r\nA100,1.40\r\n", TWO),
    "CR": ("gpu,usd_per_hour\rH100,2.95\rA100,1.40\r", TWO),
    "byte order mark": ("\ufeffgpu,usd_per_hour\nH100,2.95\nA100,1.40\n", TWO),
    "UTF-16": ("gpu,usd_per_hour\nH100,2.95\nA100,1.40\n".encode("utf-16"), TWO),
    "blank lines and commas alone": ("\n,\ngpu,usd_per_hour\n,\nH100,2.95\n\n , \nA100,1.40\n,,,\n", TWO),
    "a title above the header": ("Our GPU prices 2026,\nby,purchasing\ngpu,usd_per_hour\nH100,2.95\nA100,1.40\n", TWO),
    "quotes": ('"gpu","usd_per_hour"\n"H100","2.95"\n"A100","1,40"\n'.replace('"1,40"', '"1.40"'), TWO),
    "quoted decimal commas": ('gpu,usd_per_hour\nH100,"2,95"\nA100,"1,40"\n', TWO),
    "signs in cells": ("gpu,usd_per_hour\nH100,$2.95\nA100,1.40 USD\n", TWO),
    "units in cells": ("gpu,usd_per_hour\nH100,2.95/h\nA100,$1.40 per GPU hour\n", TWO),
    "spaces that don't break": ("gpu,usd_per_hour\nH100\xa0SXM,\xa02.95\xa0USD\nA100\u202f80GB,1.40\n", TWO),
    "other names": ("gpu,usd_per_hour\nNVIDIA H100 80GB HBM3,2.95\nnvidia-a100-sxm4-80gb,1.40\n", TWO),
    "number of GPUs in the name": ("gpu,price\n8x H100,23.6\nA100 x8,11.2\n", TWO),
    "price of the machine": ("gpu,gpus,price\nH100,8,23.60\nA100,8,11.20\n", TWO),
    "both prices": ("gpu,gpus,price,usd_per_hour\nH100,8,23.60,2.95\nA100,8,,1.40\n", TWO),
    "an unknown column": ("gpu,colour,usd_per_hour\nH100,red,2.95\nA100,,1.40\n", TWO),
    "a maker beside the provider": ("vendor,gpu,usd_per_hour,provider\nNVIDIA,H100,2.95,your provider\nNVIDIA,A100,1.4,\n", TWO),
    "rows that are too short": ("gpu,usd_per_hour,provider\nH100,2.95\nA100,1.40\n", TWO),
    "a row twice": ("gpu,usd_per_hour\nH100,2.95\nA100,1.40\nH100,2.95\n", TWO),
    "everything of a quote": ("Cloud;GPU;# GPUs;$/GPU/hr;Term;Date\nAcme;h100-sxm;8;2.95;On Demand;20.11.2026\n", [ACME]),
    "an American date": ("provider,gpu,gpus,usd_per_hour,date\nAcme,H100,8,2.95,11/20/2026\n", [ACME]),
    "a date in words": ("provider,gpu,gpus,usd_per_hour,date\nAcme,H100,8,2.95,20 Nov 2026\n", [ACME]),
    "a date settled by another": ("provider,gpu,gpus,usd_per_hour,date\nA,H100,8,2.95,03/04/2026\nB,H100,8,2.95,20/04/2026\n",
                                  [rent(H100, 23.6, provider="A", date="2026-04-03"), rent(H100, 23.6, provider="B", date="2026-04-20")]),
    "terms": ("gpu,usd_per_hour,term\nH100,2.95,OnDemand\nH100,1.5,preemptible\nH100,2,1-year\nH100,1.9,reserved 36 months\nH100,2.1,committed\n",
              [rent(H100, 23.6), rent(H100, 12, term="spot"), rent(H100, 16, term="reserved-1y"),
               rent(H100, 15.2, term="reserved-3y"), rent(H100, 16.8, term="reserved")]),
    "thousands": ('item,gpu,gpus,price,provider\nserver,H100,8,"265,000.00",M\nserver,H200,8,"1,234,567",M\n',
                  [("server", "M", H100, 8, "not stated", "purchase", 265_000, TODAY), ("server", "M", H200, 8, "not stated", "purchase", 1_234_567, TODAY)]),
    "thousands with points": ("item;gpu;gpus;price\nserver;H100;8;265.000,00\nserver;H200;8;301.500\n",
                              [("server", "your provider", H100, 8, "not stated", "purchase", 265_000, TODAY), ("server", "your provider", H200, 8, "not stated", "purchase", 301_500, TODAY)]),
    "thousands with spaces and apostrophes": ("item;gpu;gpus;price\nserver;H100;8;265 000,5\nserver;H200;8;1'234.50\n",
                                              [("server", "your provider", H100, 8, "not stated", "purchase", 265_000.5, TODAY), ("server", "your provider", H200, 8, "not stated", "purchase", 1234.5, TODAY)]),
    "a point that can only be a decimal one": ("gpu,usd_per_hour\nB200,3.625\n", [rent(B200, 29)]),
    "euros by a row of the file": ("item,gpu,usd_per_hour,currency,date\nrent,H100,2.00,EUR,\ncurrency,,1.10,EUR,2026-11-01\n",
                                   [("currency", "your provider", "", "", "not stated", "list", 1.1, "2026-11-01"), rent(H100, 17.6)]),
    "what is no rent": ("item,price,provider\npower,0.21,Utility\nstorage,0.02 USD/GB-month,Acme\negress,0.05,Acme\n",
                        [("egress", "Acme", "", "", "not stated", "list", 0.05, TODAY), ("power", "Utility", "", "", "not stated", "list", 0.21, TODAY),
                         ("storage", "Acme", "", "", "not stated", "list", 0.02, TODAY)]),
}


@pytest.mark.parametrize("held, expected", RIGHT.values(), ids=RIGHT)
def test_read_right(write, held, expected):
    found = read(write(held))
    assert found == sorted(expected, key=lambda row: str(tuple(getattr(cell, "expected", cell) for cell in row)))


def test_accents_of_another_encoding_are_read_and_said(write):
    path = write("provider,gpu,usd_per_hour\nSociété,H100,2.95\n", encoding="cp1252")
    assert read(path) == [rent(H100, 23.6, provider="Société")]
    assert "Windows-1252" in prices(path).attrs["said"][0]


EUROS = ["gpu;EUR/h\nH100;2,00\n", "gpu,usd_per_hour\nH100,€ 2.00\n", "gpu,usd_per_hour,currency\nH100,2,eur\n",
         "gpu,price (EUR),gpus\nH100,16,8\n", "gpu,usd_per_hour\nH100,2 EUR/h\n", "gpu,usd_per_hour,Currency\nH100,2,€\n"]


@pytest.mark.parametrize("held", EUROS)
def test_a_currency_wants_a_rate_and_the_row_keeps_what_it_said(write, held):
    path = write(held)
    with pytest.raises(ValueError, match=r"mine.csv, row 2, column .*allowed: USD, or a rate for EUR: RATE=EUR=1.10, or a row"):
        prices(path)
    book = prices(path, only=True, rates={"EUR": 1.1})
    assert book["price"].iloc[0] == pytest.approx(17.6) and book["currency"].iloc[0] == "USD"
    assert "EUR at 1.1 USD of the parameter rates" in book["note"].iloc[0]


def test_two_currencies_of_one_price_are_refused(write):
    with pytest.raises(ValueError, match="row 2, column usd_per_hour: '€2'; allowed: in one currency: .* EUR, GBP"):
        prices(write("gpu,usd_per_hour,currency\nH100,€2,GBP\n"), rates={"EUR": 1.1, "GBP": 1.3})


@pytest.mark.parametrize("rates", [{"EUR": 0}, {"EUR": "1.1"}, {"eur": 1.1}, {"EUR": float("nan")}, {"EUR": True}, {"EURO": 1.1}])
def test_rates_are_checked(write, rates):
    with pytest.raises(ValueError, match="^rates: .*allowed: a currency's code"):
        prices(write("gpu,usd_per_hour\nH100,2\n"), rates=rates)


# Every fault of a file, each by its row, its column and a piece of what is said.
REFUSED = {
    "no number, no GPU, no term, no date": ("gpu,usd_per_hour,term,date\nQ100,abc,forever,2026-13-01\n",
                                            [(2, "gpu", "close: P100 SXM 16GB"), (2, "usd_per_hour", "a number"), (2, "term", "on-demand"), (2, "date", "YYYY")]),
    "missing price": ("gpu,usd_per_hour\nH100,\nA100,1.4\n", [(2, "usd_per_hour", "blank")]),
    "words for no price": ("gpu,price,gpus\nH100,n/a,8\nA100,on request,8\n", [(2, "price", "'n/a'"), (3, "price", "'on request'")]),
    "negative": ("gpu,usd_per_hour\nH100,-2.95\nA100,(1.40)\n", [(2, "usd_per_hour", "without the minus, if that is a slip"), (3, "usd_per_hour", "above 0")]),
    "not a number": ("gpu,usd_per_hour\nH100,NaN\nA100,inf\nH200,1e999\nB200,٢\n",
                     [(2, "usd_per_hour", "NaN"), (3, "usd_per_hour", "inf"), (4, "usd_per_hour", "1e999"), (5, "usd_per_hour", "٢")]),
    "a range": ("gpu,usd_per_hour\nH100,2.95-3.10\nA100,from 1.40\n", [(2, "usd_per_hour", "2.95-3.10"), (3, "usd_per_hour", "from")]),
    "a number with two readings": ('item,gpu,gpus,price\nserver,H100,8,"265,000"\n', [(2, "price", "265 or 265000")]),
    "a point with two readings": ("item,gpu,gpus,price\nserver,H100,8,265.000\n", [(2, "price", "265 or 265000")]),
    "a date with two readings": ("gpu,usd_per_hour,date\nH100,2.95,03/04/2026\n", [(2, "date", "2026-04-03 or 2026-03-04")]),
    "tomorrow": (f"gpu,usd_per_hour,date\nH100,2.95,{datetime.date.today() + datetime.timedelta(2)}\n", [(2, "date", "not in the future")]),
    "two columns of one price": ("gpu,USD per hour,$/hr\nH100,2.95,3\n", [(1, "$/hr", "column 2")]),
    "header twice": ("gpu,gpu,usd_per_hour\nH100,A100,2.95\n", [(1, "gpu", "column 1")]),
    "prices that disagree": ("gpu,gpus,price,usd_per_hour\nH100,8,23.6,3.50\n", [(2, "usd_per_hour", "2.95")]),
    "price of an unknown size": ("gpu,price\nH100,23.6\n", [(2, "gpus_per_server", "usd_per_hour")]),
    "price by the month": ("gpu,usd_per_hour\nH100,2190/month\n", [(2, "usd_per_hour", "3 is this over the hours")]),
    "a currency without a rate": ("gpu,usd_per_hour,currency\nH100,2,EUR\nA100,1,CHF\n", [(2, "currency", "RATE=EUR"), (3, "currency", "RATE=CHF")]),
    "several GPUs of one name": ("gpu,usd_per_hour\nRTX 6000,0.8\n", [(2, "gpu", "RTX 6000 Ada 48GB")]),
    "a GPU that is close": ("gpu,usd_per_hour\nRTX 3090 Ti,0.3\n", [(2, "gpu", "close: RTX 3090 24GB")]),
    "two numbers of GPUs": ("gpu,gpus,usd_per_hour\n8x H100,4,2.95\n", [(2, "gpus", "8, the number in the GPU's name")]),
    "half a GPU": ("gpu,gpus,usd_per_hour\nH100,0.5,2.95\nA100,eight,1\n", [(2, "gpus", "whole number"), (3, "gpus", "a number")]),
    "one offer at two prices": ("gpu,usd_per_hour\nH100,2.95\nH100,3.10\n", [(3, "usd_per_hour", "row 2 has the same item")]),
    "not plausible": ("gpu,usd_per_hour\nH100,29500\n", [(2, "usd_per_hour", "from 0.08 to 8,000 USD/h for rent of 8 GPUs")]),
    "an unknown item and a wrong unit": ("item,price,unit\nlease,3,USD/h\npower,0.2,USD/h\n", [(2, "item", "rent"), (3, "unit", "USD/kWh for power")]),
    "hidden characters": ("gpu,usd_per_hour,provider\nH100,2.95,Ac\u202eme\n", [(2, "provider", "without control and invisible")]),
    "a comma too many": ("gpu,usd_per_hour\nH100,2,95\n", [(2, "3", "a comma inside a cell wants quotes")]),
    "two headers": ("gpu,price,\n,USD,EUR\nH100,2.95,2.70\n", [(2, "gpu", "blank"), (2, "price", "'USD'"), (2, "gpus_per_server", "blank"), (3, "gpus_per_server", "blank")]),
    "a reservation above its list price": ("gpu,usd_per_hour,term\nH100,2,on demand\nH100,3,1 year\n", [(3, "usd_per_hour", "at most 16")]),
}


@pytest.mark.parametrize("held, faults", REFUSED.values(), ids=REFUSED)
def test_refused_with_all_faults_named(write, held, faults):
    with pytest.raises(ValueError) as error:
        prices(write(held))
    lines = str(error.value).splitlines()
    assert len(lines) == len(faults), lines
    for line, row in zip(lines, sorted(row for row, *_ in faults)):
        assert line.startswith(f"mine.csv, row {row}, column "), line
    for row, column, said in faults:
        assert any(line.startswith(f"mine.csv, row {row}, column {column}: ") and said in line for line in lines), (row, column, said, lines)


@pytest.mark.parametrize("held, said", [
    ("", "row 1: the file is empty"), ("\n , \n", "row 1: the file is empty"), ("gpu,usd_per_hour\n", "row 1: no rows below the header"),
    ("H100,2.95\n", "row 1: no header with prices, but 'H100', '2.95'"), ("gpu,USD per month\nH100,2000\n", "row 1: no header with prices, but 'gpu', 'USD"),
    ("gpu,on-demand price,spot price\nH100,3,2\n", "row 1: no header with prices"), (b"\x89PNG\r\n\x1a\n\0\0", "row 1: neither text nor XLSX"),
    (b"\xd0\xcf\x11\xe0old", "row 1: an old Excel file; allowed: saved as XLSX or CSV"), (b"PK\x03\x04broken", "row 1: no XLSX that can be read"),
    ('gpu,usd_per_hour\n"H100"s,2\n', "row 2: ',' expected after"), ("gpu,usd_per_hour\n" + "H100,1\n" * 20_001, "more than 20,000 rows"),
    ("gpu,usd_per_hour\n" + "x" * 10_001 + ",1\n", "a cell of 10,001 characters"), ("gpu,usd_per_hour" + ",x" * 100 + "\nH100,1\n", "102 columns")])
def test_what_is_no_price_file(write, held, said):
    with pytest.raises(ValueError, match="^mine.csv") as error:
        prices(write(held))
    assert said in str(error.value)


# Spreadsheets

def test_a_workbook_is_read_as_it_shows_its_numbers(write):
    held = workbook(("Cover", [["Prices"]]), ("Offers", [[None], ["GPU", "Price\nper hour", "Date"], ["H100", 2.95, datetime.date(2026, 11, 20)],
                                                         [None], ["A100", 1.4, "2026-11-20"]]))
    path = write(held, "mine.xlsx")
    assert read(path) == [rent(A100, 11.2, date="2026-11-20"), rent(H100, 23.6, date="2026-11-20")]
    assert "only the sheet Offers has prices; the others are not read" in prices(path).attrs["said"]


@pytest.mark.parametrize("shown", ["[$€-407] #,##0.00", '"EUR" 0.00', "0.00 €"])
def test_a_currency_that_only_the_format_shows_is_seen(write, shown):
    path = write(workbook(("Prices", [["gpu", "usd_per_hour"], ["H100", 2.125]]), formats=[("B2", shown)]), "mine.xlsx")
    with pytest.raises(ValueError, match="row 2, column usd_per_hour: .*a rate for EUR"):
        prices(path)
    assert read(path, rates={"EUR": 1.1}) == [rent(H100, 18.7)]


def test_a_number_of_a_workbook_has_one_reading(write):
    path = write(workbook(("Prices", [["item", "gpu", "gpus", "price"], ["server", "H100", 8, 265.125], ["server", "H200", 8, 301500]])), "mine.xlsx")
    assert sorted(row[6] for row in read(path)) == [265.125, 301500]


@pytest.mark.parametrize("cell", ["#REF!", None, "=1+1"])
def test_a_formula_without_a_value_is_no_price(write, cell):
    with pytest.raises(ValueError, match="mine.xlsx, row 2, column usd_per_hour: "):
        prices(write(workbook(("Prices", [["gpu", "usd_per_hour"], ["H100", cell]])), "mine.xlsx"))


def test_two_sheets_with_prices_are_named(write):
    rows = [["gpu", "usd_per_hour"], ["H100", 2.95]]
    with pytest.raises(ValueError, match="2 sheets with prices: 2025, 2026; allowed: one"):
        prices(write(workbook(("2025", rows), ("2026", rows)), "mine.xlsx"))


def test_a_packed_bomb_and_other_packed_files_are_refused(write):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", b"0" * 101_000_000)
    with pytest.raises(ValueError, match="101,000,000 bytes when unpacked; allowed: at most 100,000,000"):
        prices(write(held.getvalue(), "mine.xlsx"))
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    with pytest.raises(ValueError, match="a packed file that is no XLSX"):
        prices(write(held.getvalue(), "mine.ods"))


# Over the newest book

def test_a_rent_replaces_the_rents_of_its_gpu_and_no_other_price(write):
    book, newest = prices(write("gpu,usd_per_hour,provider\nH100,2.95,aws\n")), prices()
    own = book[book["yours"]]
    assert list(own.index) == [f"mine.csv: AWS, 8x {H100}, not stated, on-demand"] and own["usd_per_hour"].iloc[0] == pytest.approx(2.95)
    others = newest[~((newest["item"] == "rent") & (newest["gpu"] == H100))]
    assert list(book[~book["yours"]].index) == list(others.index)
    assert (book.attrs["file"], book.attrs["own"], book.attrs["date"], book.attrs["book"]) == ("mine.csv", True, TODAY, NEWEST.name)
    assert H100 not in book.attrs["from_book"]["rent"] and H100 in book.attrs["from_book"]["server"]
    assert any("aws is AWS" in each for each in book.attrs["said"])
    alone = prices(write("gpu,usd_per_hour\nH100,2.95\n"), only=True)
    assert len(alone) == 1 and alone.attrs["from_book"] == {}


@pytest.mark.parametrize("row, item, kept", [
    ("power,,0.2,,", "power", 0), ("hosting,,900,,", "hosting-power", 0), ("storage,,0.02,AWS,", "storage", "AWS"), ("egress,,0.05,AWS,", "egress", "AWS"),
    ("managed,,0.2,AWS,", "managed", 0), ("server,8x H100,250000,,", "server", H100), ("card,H100,25000,,", "card", H100)])
def test_what_a_price_replaces(write, row, item, kept):
    """Power, hosting and mark-ups all; storage and egress of the provider; servers and cards of the GPU."""
    book, newest = prices(write(f"item,gpu,price,provider,sku\n{row}\n")), prices()
    here, there = (each[each["item"] == item] for each in (book[~book["yours"]], newest))
    replaced = there if kept == 0 else there[(there["provider"] == kept) | (there["gpu"] == kept)]
    assert len(replaced) and len(here) == len(there) - len(replaced)
    assert len(book) == len(newest) + 1 - len(newest[newest["item"].isin(["hosting", "hosting-power"])] if item == "hosting-power" else replaced)


def test_own_tokens_replace_all_prices_of_the_model(write):
    book = prices(write("item,sku,price,provider\napi-input,llama-3-70b,0.5,Me\napi-output,llama-3-70b,0.9,Me\n"))
    assert set(book.loc[book["sku"] == "Llama-3-70B", "provider"]) == {"Me"}
    assert (book.loc[~book["yours"], "item"] == "api-input").any()


def test_a_copy_of_the_newest_book_is_that_book(write):
    import pandas
    book = prices(write(NEWEST.read_bytes(), "copy.csv"))
    pandas.testing.assert_frame_equal(book, prices())
    assert not book["yours"].any() and book.attrs["warnings"] == () and book.attrs["from_book"] == {}
    edited = NEWEST.read_text(encoding="utf-8").replace("on-demand,30.0978,", "on-demand,29,", 1)
    changed = prices(write(edited, "copy.csv"))
    assert len(changed) == len(book) and changed["yours"].sum() == 1 and changed.loc[changed["yours"], "price"].item() == 29


def test_a_book_of_the_project_is_read_as_it_stands(tmp_path):
    older = price_book.price_books()[0]
    copy = tmp_path / older.name
    copy.write_bytes(older.read_bytes())
    for path in (older, copy):
        assert prices(path).attrs == {"file": older.name, "date": older.stem, "own": False}
    copy.write_text(older.read_text(encoding="utf-8") + "power,Sun,kWh,,,all,list,0.05,USD,USD/kWh,,,,,,2026-01-11,list,seen,\n")
    assert prices(copy).attrs["own"]


LINES = ["H100,2.95,8,A,on demand", "H100,1.9,8,A,spot", "H200,3.6,,B,", "L40S,0.9,4,,reserved 1y", "4090,0.4,1,C,marketplace", "MI300X,2.1,8,B,"]


@settings(max_examples=8, deadline=None)
@given(order=st.permutations(LINES))
def test_the_order_of_rows_changes_nothing(tmp_path_factory, order):
    import pandas
    books = []
    for name, lines in (("a", LINES), ("b", order)):
        path = tmp_path_factory.mktemp(name) / "mine.csv"
        path.write_text("\n".join(["gpu,usd_per_hour,gpus,provider,term", *lines]))
        books.append(prices(path))
    pandas.testing.assert_frame_equal(*books)
    assert {key: value for key, value in books[0].attrs.items() if key not in ("said", "warnings")} == {
        key: value for key, value in books[1].attrs.items() if key not in ("said", "warnings")}


# What is said

def test_a_price_per_gpu_in_a_row_of_eight_is_asked_about(write):
    book = prices(write("provider,gpu,gpus,price\nNebius,H100,8,2.95\nAcme,H100,8,24\n"))
    warning, = book.attrs["warnings"]
    assert warning.startswith("mine.csv, row 2: 0.369 USD/h for one H100 SXM 80GB; the book's ")
    assert warning.endswith("is 2.95 the price of one GPU in a row of 8? Then write 23.6, or put it under usd_per_hour")
    other, = prices(write("provider,gpu,gpus,usd_per_hour\nNebius,H100,8,23.6\n")).attrs["warnings"]
    assert "is it the price of a whole machine of 8? Then one GPU is 2.95 USD/h" in other


def test_what_is_taken_for_granted_is_said(write):
    said = prices(write("gpu,colour,usd_per_hour\nH100,red,$2.95\nA100,,1.4\n")).attrs["said"]
    assert said == ("column 2, colour, is not read", "row 2: H100 is taken as H100 SXM 80GB, not H100 PCIe 80GB or H100 NVL 94GB",
                    "rows 2, 3: term not stated: taken as on-demand",
                    f"row 2: size of the machine not stated: taken as 8, the largest in which two or more sellers of {NEWEST.name} rent out {H100}",
                    "row 2: $ is taken as US dollars",
                    "row 3: A100 is taken as A100 SXM 80GB, not A100 SXM 40GB or A100 PCIe 40GB or A100 PCIe 80GB",
                    f"row 3: size of the machine not stated: taken as 8, the largest in which two or more sellers of {NEWEST.name} rent out {A100}")


def test_a_point_that_only_what_is_plausible_settles_is_said(write):
    assert "row 2: 3.625 is read as 3.625: thousands are not plausible" in prices(write("gpu,usd_per_hour\nB200,3.625\n")).attrs["said"]


def test_the_command_says_all_of_it(write, capsys):
    path = write("gpu,gpus,usd_per_hour,currency\nH100,8,2,EUR\n")
    assert price_book.main([str(path), "--rate", "EUR=1.10"]) == 0
    shown = capsys.readouterr().out
    for part in ("mine.csv: 1 price of yours", "Taken for granted:", "EUR at 1.1 USD for one", f"From {NEWEST.name}", "  power: 16 prices", "Age: yours of"):
        assert part in shown
    assert price_book.main([str(path), "--rate", "EUR=1.10", "--only"]) == 0 and "From" not in capsys.readouterr().out
    assert price_book.main([str(path), "--rate", "EUR"]) == 1
    assert capsys.readouterr().err.startswith("RATE=EUR: allowed: ")


# Names and numbers by themselves

@pytest.mark.parametrize("name, gpu", [
    ("H100", H100), ("h100-sxm", H100), ("H100 SXM5 80GB", H100), ("H100 PCIe", "H100 PCIe 80GB"), ("h100 nvl", "H100 NVL 94GB"), ("A100", A100),
    ("A100 40GB", "A100 SXM 40GB"), ("H200", H200), ("B200", B200), ("L40S", "L40S 48GB"), ("L40", "L40 48GB"), ("L4", "L4 24GB"), ("4090", "RTX 4090 24GB"),
    ("RTX4090", "RTX 4090 24GB"), ("MI300X", "MI300X 192GB"), ("nvidia-h100-80gb", H100), ("Nvidia HGX H100 (80 GB)", H100), ("A6000", "RTX A6000 48GB"),
    ("GB200", "GB200 NVL72 186GB"), ("TPU v5p", "TPU v5p 95GB"), ("NVIDIA H100 Tensor Core GPU", H100), ("V100", "V100 SXM 32GB"), ("Gaudi 2", "Gaudi2 96GB")])
def test_names_of_gpus(name, gpu):
    found, said = intake_names.gpu(name)
    assert found == gpu and (not said or gpu in said)


def test_every_gpu_is_known_by_its_own_name_in_any_writing():
    for gpu in tables.rows("gpus"):
        for name in (gpu, gpu.lower(), gpu.replace(" ", "-"), gpu.replace(" ", "_").upper(), f"{gpu} Tensor Core GPU"):
            assert intake_names.gpu(name) == (gpu, "")


@pytest.mark.parametrize("number, expected", [
    ("2.10", [2.1]), ("2,1", [2.1]), ("1,234", [1.234, 1234]), ("1.234", [1.234, 1234]), ("0.123", [0.123]), ("1.234,5", [1234.5]), ("1,234,567", [1234567]),
    ("1 234", [1234]), ("1'234.5", [1234.5]), ("80e9", [80e9]), ("1,00,000", []), ("1.2.3", []), ("12,34,567.8", [])])
def test_readings_of_a_number(number, expected):
    assert sorted(intake_numbers.readings(number).values()) == expected


@given(value=st.integers(1, 10**9).map(lambda cents: cents / 100), group=st.sampled_from([",", " ", "'", ""]))
def test_a_number_with_cents_has_one_reading_in_every_writing(value, group):
    english = f"{value:,.2f}".replace(",", group)
    german = f"{value:,.2f}".translate(str.maketrans(",.", (group if group not in (",", "") else ".") + ","))
    for text in (english, german):
        found = intake_numbers.amount(f"$ {text} /h")
        assert list(intake_numbers.readings(found.number).values()) == [value], text


# GPUs of the reader's own

@pytest.fixture
def own_gpus(monkeypatch, write):
    def given(text):
        monkeypatch.setenv(tables.OWN_GPUS, str(write(text, "gpus.csv")))
        for cached in (tables.rows, tables.table, catalogue._gpus):
            cached.cache_clear()
    yield given
    monkeypatch.delenv(tables.OWN_GPUS, raising=False)
    for cached in (tables.rows, tables.table, catalogue._gpus):
        cached.cache_clear()


def test_a_new_gpu_is_like_a_known_one_but_for_what_is_given(own_gpus, write):
    own_gpus("gpu;like;memory bytes;bandwidth\nB400 SXM 384GB;B300 SXM 288GB;384 GB;13,5 TB/s\n")
    row, like = catalogue.gpu("B400 SXM 384GB"), catalogue.gpu("B300 SXM 288GB")
    assert (row.memory_bytes, row.bandwidth, row.peak_flops) == (384e9, 13.5e12, like.peak_flops)
    assert row.note == "what gpus.csv lacks is as in B300 SXM 288GB" and row.source == "gpus.csv"
    assert list(catalogue.gpus().index[-1:]) == ["B400 SXM 384GB"]
    assert read(write("gpu,usd_per_hour\nB400,7.5\n")) == [rent("B400 SXM 384GB", 60)]
    assert "B400 SXM 384GB: what gpus.csv lacks is as in B300 SXM 288GB" in prices(write("gpu,usd_per_hour\nB400,7.5\n")).attrs["said"]


def test_a_cell_of_a_new_gpu_that_no_head_names_is_refused(own_gpus):
    own_gpus("gpu,like,bandwidth\nB400,H100 SXM 80GB,5e12,7\n")
    with pytest.raises(ValueError, match="^gpus.csv, row 2, column after the last: '7'; allowed: 3 cells, as the header has$"):
        catalogue.gpu("B400")


def test_what_a_new_gpu_lacks_is_asked_for_at_once(own_gpus):
    own_gpus("gpu,memory_bytes,link,colour\nB400,384 GB,NVLink 9,red\nH100 SXM 80GB,many,NVLink 5,\n")
    with pytest.raises(ValueError) as error:
        catalogue.gpu("B400")
    lines = str(error.value).splitlines()
    assert [line.split(";")[0].split(": ")[0] for line in lines] == [
        "gpus.csv, row 1, column colour", "gpus.csv, row 2, column link", "gpus.csv, row 2, column bandwidth", "gpus.csv, row 2, column peak_flops",
        "gpus.csv, row 2, column units", "gpus.csv, row 3, column memory_bytes", "gpus.csv, row 3, column bandwidth", "gpus.csv, row 3, column peak_flops",
        "gpus.csv, row 3, column units", "gpus.csv, row 3, column gpu"]
    assert "B/s: 3.35e12 or 3.35 TB/s; or a gpu that it is like in a column like" in lines[2]
