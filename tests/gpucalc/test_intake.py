"""Price files as readers have them: read right, or refused with every fault named; and what they replace of the newest book."""
import datetime
import io
import itertools
import os
import types
import zipfile

import pytest
from hypothesis import given, settings, strategies as st

from gpucalc.rows import ages, catalogue, intake, own_gpus as own_cards, price_book, price_report, tables
from gpucalc.rows.price_book import prices

TODAY = datetime.date.today().isoformat()
TOMORROW = (datetime.date.today() + datetime.timedelta(1)).isoformat()
H100, H200, A100, B200 = "H100 SXM 80GB", "H200 SXM 141GB", "A100 SXM 80GB", "B200 SXM 180GB"
NEWEST = price_book.price_books()[-1]
# The newest book is there, so its day has come, on a machine whose clock is behind too.
LATEST = max(datetime.date.today(), ages.day(NEWEST.stem))


# Seconds of the year 2106 and on, a new one for each file: what is changed then counts as changed today, whose clock ever is asked.
CHANGED = itertools.count(2**32)


@pytest.fixture
def write(tmp_path):
    def written(held, name="mine.csv", encoding="utf-8"):
        path, changed = tmp_path / name, next(CHANGED)
        path.write_bytes(held if isinstance(held, bytes) else held.encode(encoding))
        os.utime(path, (changed, changed))
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
    """The file alone: each row by what a reader would look at. One that is billed by the GPU has one for each machine."""
    book = prices(path, only=True, **more)
    columns = ["item", "provider", "gpu", "gpus_per_server", "region", "term", "price", "date"]
    return sorted((tuple(row) for row in book[columns].astype(object).fillna("").itertuples(index=False)), key=str)


def rent(gpu, price, gpus=8, term="on-demand", provider="your provider", region="not stated", date=TODAY):
    return ("rent", provider, gpu, float(gpus), region, term, pytest.approx(price), date)


def by_the_gpu(gpu, price, **more):
    return [rent(gpu, price * size, size, **more) for size in (1, 2, 4, 8)]


TWO = [*by_the_gpu(A100, 1.4), *by_the_gpu(H100, 2.95)]
EIGHTS = [rent(A100, 11.2), rent(H100, 23.6)]
ACME = rent(H100, 23.6, provider="Acme", date="2026-10-20")

RIGHT = {
    "two columns": ("gpu,usd_per_hour\nH100,2.95\nA100,1.40\n", TWO),
    "columns in another order": ("usd_per_hour,gpu\n2.95,H100\n1.40,A100\n", TWO),
    "a day that has begun elsewhere": (f"gpu,usd_per_hour,date\nH100,2.95,{TOMORROW}\n", by_the_gpu(H100, 2.95, date=TOMORROW)),
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
    "number of GPUs in the name": ("gpu,price\n8x H100,23.6\nA100 x8,11.2\n", EIGHTS),
    "price of the machine": ("gpu,gpus,price\nH100,8,23.60\nA100,8,11.20\n", EIGHTS),
    "both prices": ("gpu,gpus,price,usd_per_hour\nH100,8,23.60,2.95\nA100,8,,1.40\n", EIGHTS),
    "a price of one GPU in machines of eight": ("gpu,gpus,usd_per_hour\nH100,8,2.95\nA100,8,1.40\n", EIGHTS),
    "a price of a machine beside that of one GPU": ("gpu,gpus,usd_per_hour\nH100,,2.95\nH100,8,2.50\n", [*by_the_gpu(H100, 2.95)[:3], rent(H100, 20)]),
    "a card that two sellers rent out alone": ("gpu,usd_per_hour\nRTX 4090,0.4\n", [rent("RTX 4090 24GB", 0.4, 1)]),
    "a product that is billed by the GPU": ("gpu,usd_per_hour,sku\nH100 NVL,2.5,nvl-a\n", [rent("H100 NVL 94GB", 2.5, 1), rent("H100 NVL 94GB", 5, 2)]),
    "an unknown column": ("gpu,colour,usd_per_hour\nH100,red,2.95\nA100,,1.40\n", TWO),
    "a maker beside the provider": ("vendor,gpu,usd_per_hour,provider\nNVIDIA,H100,2.95,your provider\nNVIDIA,A100,1.4,\n", TWO),
    "rows that are too short": ("gpu,usd_per_hour,provider\nH100,2.95\nA100,1.40\n", TWO),
    "a row twice": ("gpu,usd_per_hour\nH100,2.95\nA100,1.40\nH100,2.95\n", TWO),
    "everything of a quote": ("Cloud;GPU;# GPUs;$/GPU/hr;Term;Date\nAcme;h100-sxm;8;2.95;On Demand;20.10.2026\n", [ACME]),
    "an American date": ("provider,gpu,gpus,usd_per_hour,date\nAcme,H100,8,2.95,10/20/2026\n", [ACME]),
    "a date in words": ("provider,gpu,gpus,usd_per_hour,date\nAcme,H100,8,2.95,20 Oct 2026\n", [ACME]),
    "a date settled by another": ("provider,gpu,gpus,usd_per_hour,date\nA,H100,8,2.95,03/04/2026\nB,H100,8,2.95,20/04/2026\n",
                                  [rent(H100, 23.6, provider="A", date="2026-04-03"), rent(H100, 23.6, provider="B", date="2026-04-20")]),
    "terms": ("gpu,usd_per_hour,term\nH100,2.95,OnDemand\nH100,1.5,preemptible\nH100,2,1-year\nH100,1.9,reserved 36 months\nH100,2.1,committed\n",
              [*by_the_gpu(H100, 2.95), *by_the_gpu(H100, 1.5, term="spot"), *by_the_gpu(H100, 2, term="reserved-1y"),
               *by_the_gpu(H100, 1.9, term="reserved-3y"), *by_the_gpu(H100, 2.1, term="reserved")]),
    "thousands": ('item,gpu,gpus,price,provider\nserver,H100,8,"265,000.00",M\nserver,H200,8,"1,234,567",M\n',
                  [("server", "M", H100, 8, "not stated", "purchase", 265_000, TODAY), ("server", "M", H200, 8, "not stated", "purchase", 1_234_567, TODAY)]),
    "thousands with points": ("item;gpu;gpus;price\nserver;H100;8;265.000,00\nserver;H200;8;301.500\n",
                              [("server", "your provider", H100, 8, "not stated", "purchase", 265_000, TODAY), ("server", "your provider", H200, 8, "not stated", "purchase", 301_500, TODAY)]),
    "thousands with spaces and apostrophes": ("item;gpu;gpus;price\nserver;H100;8;265 000,5\nserver;H200;8;1'234.50\n",
                                              [("server", "your provider", H100, 8, "not stated", "purchase", 265_000.5, TODAY), ("server", "your provider", H200, 8, "not stated", "purchase", 1234.5, TODAY)]),
    "a point that can only be a decimal one": ("gpu,usd_per_hour\nB200,3.625\n", by_the_gpu(B200, 3.625)),
    "euros by a row of the file": ("item,gpu,usd_per_hour,currency,date\nrent,H100,2.00,EUR,\ncurrency,,1.10,EUR,2026-11-01\n",
                                   [("currency", "your provider", "", "", "not stated", "list", 1.1, "2026-11-01"), *by_the_gpu(H100, 2.2)]),
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
    assert read(path) == by_the_gpu(H100, 2.95, provider="Société")
    assert "Windows-1252" in prices(path).attrs["said"][0]


EUROS = ["gpu;EUR/h\nH100;2,00\n", "gpu,usd_per_hour\nH100,€ 2.00\n", "gpu,usd_per_hour,currency\nH100,2,eur\n",
         "gpu,price (EUR),gpus\nH100,16,8\n", "gpu,usd_per_hour\nH100,2 EUR/h\n", "gpu,usd_per_hour,Currency\nH100,2,€\n"]


@pytest.mark.parametrize("held", EUROS)
def test_a_currency_wants_a_rate_and_the_row_keeps_what_it_said(write, held):
    path = write(held)
    with pytest.raises(ValueError, match=r"mine.csv, row 2, column .*allowed: USD, or a rate for EUR: RATE=EUR=1.10, or a row"):
        prices(path)
    book = prices(path, only=True, rates={"EUR": 1.1})
    assert book["usd_per_hour"].tolist() == pytest.approx([2.2] * len(book)) and book["currency"].iloc[0] == "USD"
    assert "EUR at 1.1 USD of the parameter rates" in book["note"].iloc[0]


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
    "tomorrow": (f"gpu,usd_per_hour,date\nH100,2.95,{LATEST + datetime.timedelta(2)}\n", [(2, "date", "not in the future")]),
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
    "not plausible": ("gpu,usd_per_hour\nH100,29500\n", [(2, "usd_per_hour", "from 0.01 to 1,000 USD/h for rent of one GPU")]),
    "an unknown item and a wrong unit": ("item,price,unit\nlease,3,USD/h\npower,0.2,USD/h\n", [(2, "item", "rent"), (3, "unit", "USD/kWh for power")]),
    "hidden characters": ("gpu,usd_per_hour,provider\nH100,2.95,Ac\u202eme\n", [(2, "provider", "without control and invisible")]),
    "a comma too many": ("gpu,usd_per_hour\nH100,2,95\n", [(2, "3", "a comma inside a cell wants quotes")]),
    "two headers": ("gpu,price,\n,USD,EUR\nH100,2.95,2.70\n", [(2, "gpu", "blank"), (2, "price", "'USD'"), (2, "gpus_per_server", "blank"), (3, "gpus_per_server", "blank")]),
    "a reservation of a length that has a term": ("gpu,usd_per_hour,term,reserved_years\nH100,2,reserved,1\n",
                                                  [(2, "reserved_years", "blank on the term reserved; 1 on reserved-1y")]),
    "a price in another currency": ("item;gpu;gpus;price;currency;date\nrent;H100;8;21.600,00;EUR;\ncurrency;;;1,10;EUR;2026-11-01\n",
                                    [(2, "price", "8,000 USD/h for rent of 8 GPUs; 21.600,00 EUR is 23,760.00 USD")]),
    "a reservation above its list price": ("gpu,usd_per_hour,term\nH100,2,on demand\nH100,3,1 year\n", [(3, "usd_per_hour", "at most 2, the on-demand price")]),
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
    ('{"data": [{"colour": "red"}]}', "row 1: no header with prices, but 'colour'; allowed: a header with gpu"),
    ('[{"gpu": "H100", "price": 2.95', "row 1: JSON that cannot be read, "), ("[1, 2]", "row 1: the file is empty; allowed: a header with gpu"),
    ("[" * 200_000, "row 1: JSON that cannot be read, "),
    ('[{"gpu": "H100", "usd_per_hour": -1}]', "row 2, column usd_per_hour: '-1'; allowed: "),
    ("H100,2.95\n", "row 1: no header with prices, but 'H100', '2.95'"), ("gpu,USD per month\nH100,2000\n", "row 1: no header with prices, but 'gpu', 'USD"),
    ("gpu,on-demand price,spot price\nH100,3,2\n", "row 1: no header with prices"), (b"\x89PNG\r\n\x1a\n\0\0", "row 1: neither text nor XLSX"),
    (b"\xd0\xcf\x11\xe0old", "row 1: an old Excel file; allowed: saved as XLSX or CSV"), (b"PK\x03\x04broken", "row 1: no XLSX that can be read"),
    ('gpu,usd_per_hour\n"H100"s,2\n', "row 2: ',' expected after")])
def test_what_is_no_price_file(write, held, said):
    with pytest.raises(ValueError, match="^mine.csv") as error:
        prices(write(held))
    assert said in str(error.value)


# Spreadsheets

def test_a_workbook_is_read_as_it_shows_its_numbers(write):
    held = workbook(("Cover", [["Prices"]]), ("Offers", [[None], ["GPU", "Price\nper hour", "Date"], ["H100", 2.95, datetime.date(2026, 10, 20)],
                                                         [None], ["A100", 1.4, "2026-10-20"]]))
    path = write(held, "mine.xlsx")
    assert read(path) == [*by_the_gpu(A100, 1.4, date="2026-10-20"), *by_the_gpu(H100, 2.95, date="2026-10-20")]
    assert "only the sheet Offers has prices; the others are not read" in prices(path).attrs["said"]


@pytest.mark.parametrize("shown", ["[$€-407] #,##0.00", '"EUR" 0.00', "0.00 €"])
def test_a_currency_that_only_the_format_shows_is_seen(write, shown):
    path = write(workbook(("Prices", [["gpu", "usd_per_hour"], ["H100", 2.125]]), formats=[("B2", shown)]), "mine.xlsx")
    with pytest.raises(ValueError, match="row 2, column usd_per_hour: .*a rate for EUR"):
        prices(path)
    assert read(path, rates={"EUR": 1.1}) == by_the_gpu(H100, 2.3375)


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

def test_a_rent_replaces_the_rents_of_its_gpu_on_its_term_and_no_other_price(write):
    book, newest = prices(write("gpu,usd_per_hour,provider\nH100,2.95,aws\n")), prices()
    own = book[book["yours"]]
    assert list(own.index) == [f"mine.csv: AWS, {size}x {H100}, not stated, on-demand" for size in (1, 2, 4, 8)]
    assert own["usd_per_hour"].tolist() == pytest.approx([2.95] * 4)
    others = newest[~((newest["item"] == "rent") & (newest["gpu"] == H100) & (newest["term"] == "on-demand"))]
    assert {"spot", "reserved", "marketplace"} <= set(others.loc[others["gpu"] == H100, "term"])
    assert list(book[~book["yours"]].index) == list(others.index)
    assert (book.attrs["file"], book.attrs["own"], book.attrs["date"], book.attrs["book"]) == ("mine.csv", True, TODAY, NEWEST.name)
    assert f"{H100} spot" in book.attrs["from_book"]["rent"] and H100 in book.attrs["from_book"]["server"]
    assert not {H100, f"{H100} on-demand"} & set(book.attrs["from_book"]["rent"])
    assert any("aws is AWS" in each for each in book.attrs["said"])
    alone = prices(write("gpu,usd_per_hour\nH100,2.95\n"), only=True)
    assert len(alone) == 4 and alone.attrs["from_book"] == {}


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


@pytest.mark.long
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
    by_row = ("said", "warnings", "standing")
    assert {key: value for key, value in books[0].attrs.items() if key not in by_row} == {
        key: value for key, value in books[1].attrs.items() if key not in by_row}


def test_a_date_of_the_newest_book_has_come_whatever_the_clock_says(write, monkeypatch):
    monkeypatch.setattr(intake, "today", lambda: datetime.date(2026, 1, 2))
    newest = ages.day(prices().attrs["date"])
    day_after, later = (newest + datetime.timedelta(days) for days in (1, 2))
    assert [row[-1] for row in read(write(f"gpu,gpus,usd_per_hour,date\nH100,8,2.95,{day_after}\n"))] == [str(day_after)]
    with pytest.raises(ValueError, match=f"^mine.csv, row 2, column date: '{later}'; allowed: .* not in the future$"):
        read(write(f"gpu,gpus,usd_per_hour,date\nH100,8,2.95,{later}\n"))


def test_a_row_without_a_date_is_of_the_day_on_which_its_file_was_changed(write, monkeypatch):
    path = write("gpu,usd_per_hour,date\nH100,2.95,\nA100,1.40,2026-10-20\n")
    changed = datetime.datetime(2026, 3, 14, 12).timestamp()
    os.utime(path, (changed, changed))
    assert {row[2]: row[-1] for row in read(path)} == {H100: "2026-03-14", A100: "2026-10-20"}
    assert "row 2: date not stated: taken as 2026-03-14, when the file was last changed" in prices(path).attrs["said"]
    monkeypatch.setattr(ages, "today", lambda: datetime.date(2026, 2, 1))
    path.touch()
    os.utime(path, (changed + 1, changed + 1))
    assert {row[2]: row[-1] for row in read(path)}[H100] == "2026-02-01", "a clock that is behind"


def test_the_check_counts_ages_from_today(write, capsys, monkeypatch):
    path = write("gpu,usd_per_hour,date\nH100,2.95,2026-03-14\n")
    for day, share in (("2026-03-01", "0%"), ("2026-06-12", "0%"), ("2026-06-13", "100%")):
        monkeypatch.setattr(price_report, "today", lambda day=day: datetime.date.fromisoformat(day))
        assert price_book.main([str(path), "--only"]) == 0
        assert f"Age: yours of 2026-03-14 to 2026-03-14, {share} over 90 days old" in capsys.readouterr().out


# What is said

def test_a_rent_has_its_place_in_the_market(write):
    """Against the same counted by hand: rents on demand of the newest book that are cheaper, and all."""
    newest = prices()
    market = newest[(newest["item"] == "rent") & (newest["gpu"] == H100) & (newest["term"] == "on-demand")]["usd_per_hour"]
    book = prices(write("gpu,gpus,usd_per_hour,term\nH100,,2.95,\nH100,8,1.50,spot\nL4,1,0.5,managed\n"))
    first, spot = book.attrs["standing"]
    assert first == (f"row 2: 2.95 USD/h for one {H100}, on-demand, is number {(market < 2.95).sum() + 1} of {len(market) + 1} with the "
                     f"book's {len(market)}, the cheapest first; their median is {market.median():.2f}")
    assert spot.startswith(f"row 3: 1.50 USD/h for one {H100}, spot, is number ")
    assert prices(write("gpu,usd_per_hour\nH100,2.95\n"), only=True).attrs["standing"] == (first,), "also where the file is taken alone"


def test_a_provider_s_list_in_json_is_read(write):
    """Records stand in a list anywhere, and what stands in a record of theirs is named behind it."""
    text = """{"date": "2026-10-01", "data": [{"id": 3, "gpu": {"type": "H100", "count": 8}, "price": 23.6, "tags": ["new"]},
        {"id": 4, "gpu": {"type": "L4", "count": 1}, "price": 0.5, "region": "eu", "ok": true}]}"""
    book = prices(write("\ufeff" + text))
    mine = book[book["yours"]][["gpu", "gpus_per_server", "price", "region"]].values.tolist()
    assert sorted(mine) == [[H100, 8.0, 23.6, "not stated"], ["L4 24GB", 1.0, 0.5, "eu"]]
    assert book.attrs["said"][0] == "read as JSON: row 2 is the first record of its list"


def test_of_a_series_the_newest_price_counts(write):
    """One price a day of an offer; two of one day are a fault as ever."""
    lines = "gpu,gpus,price,term,date\nH100,8,12,spot,2026-10-03\nH100,8,16,spot,2026-10-05\nH100,8,20,spot,2026-10-04\n"
    book = prices(write(lines))
    assert book[book["yours"]][["price", "date"]].values.tolist() == [[16.0, "2026-10-05"]]
    assert "rows 2, 3, 4: an offer on 3 days: that of 2026-10-05 counts, 16; they lie between 12 and 20 USD/h" in book.attrs["said"]
    with pytest.raises(ValueError, match="one price of an offer; row 2 has the same"):
        prices(write(lines + "H100,8,21,spot,2026-10-04\n"))


def test_a_quote_joins_the_market(write):
    """Nothing of the book goes, and the file's other rows replace as ever; a word that is no yes is refused."""
    def rents(book, gpu):
        found = book[(book["item"] == "rent") & (book["gpu"] == gpu) & (book["term"] == "on-demand")]
        return len(found[~found["yours"]]), len(found[found["yours"]])
    market, book = prices(), prices(write("gpu,usd_per_hour,quote\nH100,2.95,yes\nL4,0.5,no\nH200,3,\n"))
    assert rents(book, H100) == (rents(market, H100)[0], 4) and rents(book, "L4 24GB") == (0, 1) and rents(book, "H200 SXM 141GB")[0] == 0
    assert not book[book["yours"]]["source"].eq("").any() and "is number 6 of 35" in book.attrs["standing"][0]
    assert any(H100 in each for each in book.attrs["from_book"]["rent"])
    with pytest.raises(ValueError, match="^mine.csv, row 2, column quote: 'maybe'; allowed: yes or no: a quote joins"):
        prices(write("gpu,usd_per_hour,quote\nH100,2.95,maybe\n"))


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
                    "rows 2, 3: size of the machine not stated: taken as billed by the GPU, alone or in machines of 2, 4 or 8; a column gpus says otherwise",
                    "row 2: $ is taken as US dollars", f"rows 2, 3: date not stated: taken as {TODAY}, when the file was last changed",
                    "row 3: A100 is taken as A100 SXM 80GB, not A100 SXM 40GB or A100 PCIe 40GB or A100 PCIe 80GB")


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
    found, said = intake.gpu_named(name)
    assert found == gpu and (not said or gpu in said)


def test_every_gpu_is_known_by_its_own_name_in_any_writing():
    for gpu in tables.rows("gpus"):
        for name in (gpu, gpu.lower(), gpu.replace(" ", "-"), gpu.replace(" ", "_").upper(), f"{gpu} Tensor Core GPU"):
            assert intake.gpu_named(name) == (gpu, "")


@pytest.mark.parametrize("number, expected", [
    ("2.10", [2.1]), ("2,1", [2.1]), ("1,234", [1.234, 1234]), ("1.234", [1.234, 1234]), ("0.123", [0.123]), ("1.234,5", [1234.5]), ("1,234,567", [1234567]),
    ("1 234", [1234]), ("1'234.5", [1234.5]), ("80e9", [80e9]), ("1,00,000", []), ("1.2.3", []), ("12,34,567.8", [])])
def test_readings_of_a_number(number, expected):
    assert sorted(intake.readings(number).values()) == expected


@given(value=st.integers(1, 10**9).map(lambda cents: cents / 100), group=st.sampled_from([",", " ", "'", ""]))
def test_a_number_with_cents_has_one_reading_in_every_writing(value, group):
    english = f"{value:,.2f}".replace(",", group)
    german = f"{value:,.2f}".translate(str.maketrans(",.", (group if group not in (",", "") else ".") + ","))
    for text in (english, german):
        found = intake.amount(f"$ {text} /h")
        assert list(intake.readings(found.number).values()) == [value], text


# The parts of the reading by themselves

def cells_of(header, *rows, separator=","):
    """The cells of a file with this header in row 4."""
    return intake.Cells(intake.Sheet(header, 4, list(enumerate(rows, 5)), [], separator, "mine.csv"), intake.column)


def sheet_of(write, held, name="mine.csv"):
    return intake.read_sheet(write(held, name), intake.score, "a header")


def test_a_header_may_have_twenty_rows_above_it_counted_with_itself(write):
    lines = [f"line {number}" for number in range(1, 20)]
    found = sheet_of(write, "\n".join([*lines, "gpu,usd_per_hour", "H100,2"]))
    assert (found.first, found.header, found.rows) == (20, ["gpu", "usd_per_hour"], [(21, ["H100", "2"])])
    assert found.said == ["the header is row 20; what stands above it is not read"]
    with pytest.raises(ValueError, match="^mine.csv, row 1: no header with prices, but 'line 0'; allowed: a header$"):
        sheet_of(write, "\n".join(["line 0", *lines, "gpu,usd_per_hour", "H100,2"]))


def test_rows_columns_and_cells_have_a_most(write):
    held = "gpu,usd_per_hour\n" + "H100,1\n" * 19_999
    assert len(sheet_of(write, held).rows) == 19_999
    with pytest.raises(ValueError, match="^mine.csv: more than 20,000 rows; allowed: at most that$"):
        sheet_of(write, held + "H100,1\n")
    with pytest.raises(ValueError, match="^mine.csv: more than 200,000 lines; allowed: at most that$"):
        sheet_of(write, held + "\n" * 180_001)
    wide = "gpu,usd_per_hour" + "," * 98
    assert len(sheet_of(write, f"{wide}\nH100,1{',' * 99}").header) == 100
    with pytest.raises(ValueError, match="^mine.csv, row 2: 101 columns; allowed: at most 100$"):
        sheet_of(write, f"{wide}\nH100,1{',' * 99}x")
    long = ["x" * 10_000, "1", "y" * 10_000, ";" * 101]
    assert sheet_of(write, f"gpu,usd_per_hour,note,source\n{','.join(long)}").rows[0][1] == long, "between semicolons it is one cell, or a hundred"
    with pytest.raises(ValueError, match="^mine.csv, row 2: a cell of 10,001 characters; allowed: at most 10,000$"):
        sheet_of(write, f"gpu,usd_per_hour\nH100{'x' * 9_997},1")


def test_a_file_without_a_header_is_shown_by_its_fullest_row(write):
    cells = [f"c{number}" for number in range(21)]
    with pytest.raises(ValueError) as error:
        sheet_of(write, ",".join(cells) + "\n1;2\n")
    assert str(error.value) == f"mine.csv, row 1: no header with prices, but {', '.join(map(repr, cells[:20]))}; allowed: a header"


def test_the_line_that_names_the_separator_holds_for_the_file(write):
    found = sheet_of(write, "sep=|\ngpu|usd_per_hour\nH100, SXM|2,95\n")
    assert (found.separator, found.first, found.rows) == ("|", 2, [(3, ["H100, SXM", "2,95"])]) and not found.said
    assert sheet_of(write, "gpu;usd_per_hour\nH100;2,95\n").separator == ";"


@pytest.mark.parametrize("value, shown, text", [
    (None, "", ""), (True, "", "True"), ("H100", "", "H100"), (2.5, "General", "2.5"), (3, "#,##0.00 [$€-407]", "3 €"), (3, "[$USD] 0.00", "3 USD"), (3, '0.00 "EUR"', "3 EUR"),
    (3, "0.00;[Red]-0.00 €", "3"), (3, "[Red]0.00", "3"), (datetime.date(2026, 11, 20), "", "2026-11-20"), (datetime.datetime(2026, 11, 20), "", "2026-11-20"),
    (datetime.datetime(2026, 11, 20, 10, 30), "", "2026-11-20 10:30:00")])
def test_a_cell_of_a_workbook_as_text(value, shown, text):
    found = intake._shown(types.SimpleNamespace(value=value, number_format=shown))
    assert found == text and isinstance(found, intake.Exact) == (type(value) in (int, float))


def test_which_column_holds_what_is_said():
    cells = cells_of(["colour", "GPU model", "gpu", "", "", "USD/h"], ["red", "A100", "H100", "", "", "2"], ["", "", "", "", "seen", "3"])
    assert cells.fields == ["gpu", "usd_per_hour"] and not cells.faults
    assert cells.said == ["column 1, colour, is not read", "column 2, GPU model, is not read: gpu is", "column 5, without a name, is not read"]
    assert [cells.text(row, "gpu") for row in cells.rows] == ["H100", ""]
    other = cells_of(["gpu", "GPU model", "USD/h"], ["H100", "A100", "2"])
    assert other.text(5, "gpu") == "H100" and other.said == ["column 2, GPU model, is not read: gpu is"]


@pytest.mark.parametrize("header", [["gpu", "USD/h", "$/hr"], ["gpu", "usd_per_hour", "$/hr"], ["price", "gpu", "price EUR"], ["gpu type", "price", "gpu model"]])
def test_two_columns_of_one_kind_are_a_fault_of_the_header(header):
    cells = cells_of(header, ["1", "2", "3"])
    field = intake.column(header[2]).field
    first = next(place for place, title in enumerate(header) if intake.column(title).field == field)
    assert cells.faults == [(4, header[2], header[2], f"one column of {field}; column {first + 1}, {header[first]!r}, is one too")]


def test_rows_shorter_and_longer_than_the_header():
    short, full, long, wide = ["H100"], ["H100", "2"], ["H100", "2", "", "95"], ["H100", "2", ""]
    cells = cells_of(["gpu", "usd_per_hour"], short, full, long, wide)
    assert list(cells.rows) == [5, 6, 8] and cells.text(5, "usd_per_hour") == "" and cells.text(6, "usd_per_hour") == "2"
    assert cells.said == ["row 5 has 1 cells of 2: what is missing at its end is blank"]
    assert cells.faults == [(7, "3", "95", "2 cells, as in the header; a comma inside a cell wants quotes around the cell")]
    assert cells_of(["gpu", "usd_per_hour"], long, separator=";").faults == [(5, "3", "95", "2 cells, as in the header")]
    assert not cells_of(["gpu", "usd_per_hour"], short, separator="").said    # a workbook stores no cells that are blank


def test_signs_for_nothing_are_blank_except_in_a_price():
    cells = cells_of(["gpu", "region", "price"], ["H100", "N/A", "n/a"], ["–", "none", "-"], ["H100", "west", "2"])
    assert [cells.text(row, "region") for row in cells.rows] == ["", "", "west"]
    assert [cells.text(row, "gpu") for row in cells.rows] == ["H100", "", "H100"]
    assert [cells.text(row, "price") for row in cells.rows] == ["n/a", "-", "2"]
    assert cells.text(5, "term") == "" and (cells.title("price"), cells.title("term")) == ("price", "term")
    assert said_by(cells.amount, 5, "price") == "a number such as 2.10; a row without a price goes"
    assert cells.amount(7, "gpu")[1] == 100 and said_by(cells.amount, 6, "gpu") == "a number such as 2.10"


@pytest.mark.parametrize("text, code", [("", ""), ("usd", "USD"), ("€", "EUR"), ("Euro", "EUR"), ("EUROS", "EUR"), ("£", "GBP"), ("xyz", "XYZ"), ("bitcoin", None), ("E1", None)])
def test_currencies_by_their_column(text, code):
    assert cells_of(["gpu", "price", "currency"], ["H100", "2", text]).currency(5) == code
    assert cells_of(["gpu", "price (EUR)"], ["H100", "2"]).titled_currency("price") == "EUR"


def said_by(function, *given):
    """What a function gives, or its ValueError says."""
    try:
        return function(*given)
    except ValueError as error:
        return str(error)


def amounts(*texts, most=float("inf")):
    cells = cells_of(["gpu", "price"], *(["H100", text] for text in texts))
    return [found if isinstance(found, str) else found[1] for found in (said_by(cells.amount, row, "price", most) for row in cells.rows)]


def test_the_decimal_mark_is_that_of_the_column():
    assert amounts("1.234,5", "2.500") == [1234.5, 2500] and amounts("1,234.5", "2.500") == [1234.5, 2.5]
    both = "a number with one reading: this may be 2.5 or 2500, and no other number of its column settles it; write 2.5000 or 2500"
    assert amounts("2.500") == [both] and amounts("1.234,5", "1,234.5", "2.500") == [1234.5, 1234.5, both]
    assert amounts("1,25", "2,500") == [1.25, 2.5] and amounts("(3.25)", "-2", "7") == [-3.25, -2, 7]


def test_a_point_marks_no_thousands_where_that_is_above_the_most():
    assert amounts("2.500", most=2499) == [2.5] and "one reading" in amounts("2.500", most=2500)[0]
    assert "one reading" in amounts("2,500", most=10)[0] and amounts("1.234,5", "2.500", most=10) == [1234.5, 2500]
    assert amounts(intake.Exact("2.500"), intake.Exact("1e3")) == [2.5, 1000]
    assert amounts("1e999", "1.2.3", "many") == ["a number such as 2.10"] * 3


def test_a_number_may_have_its_unit_and_no_other():
    cells = cells_of(["gpu", "gpus"], ["H100", "8"], ["H100", "8 GPUs"], ["H100", "8 kg"], ["H100", "many"])
    assert [said_by(cells.number, row, "gpus_per_server", "gpus?") for row in cells.rows] == [8, 8, *["a number such as 2.10"] * 2]
    assert [said_by(cells.number, row, "gpus_per_server") for row in (5, 6)] == [8, "a number such as 2.10"]


def dates_of(*texts):
    cells = cells_of(["gpu", "price", "date"], *(["H100", "2", text] for text in texts))
    return [said_by(cells.date, row) for row in cells.rows]


def test_the_order_of_days_is_that_of_the_column():
    assert dates_of("03/04/2026", "13/04/2026") == ["2026-04-03", "2026-04-13"] and dates_of("03/04/2026", "04/13/2026") == ["2026-03-04", "2026-04-13"]
    two = "a date with one reading: this may be 2026-04-03 or 2026-03-04, and no other date settles it"
    assert dates_of("03/04/2026") == [two] and dates_of("03/04/2026", "13/04/2026", "04/13/2026")[0] == two and dates_of("04.04.2026") == ["2026-04-04"]
    wrong = f"YYYY, YYYY-MM or YYYY-MM-DD, from {tables.FIRST_YEAR} on and not in the future"
    assert dates_of("31.12.1989", "tomorrow", "2026-02-30", "9999", "") == [wrong] * 5


@pytest.mark.parametrize("text, day", [
    ("2026-11-20T10:15:00Z", "2026-11-20"), ("2026-11-20 10:15 PM", "2026-11-20"), ("2026/1/5", "2026-01-05"), ("5th Jan 2026", "2026-01-05"), ("1 December 2025", "2025-12-01"),
    ("Jan 5, 2026", "2026-01-05"), ("Dec 2025", "2025-12"), ("january 2026", "2026-01"), ("2026-01", "2026-01"), ("2026", "2026"), ("5-Feb-2026", "2026-02-05")])
def test_forms_of_one_day(text, day):
    assert intake.dates(text) == {"": day}


@pytest.mark.parametrize("text", ["", "32 Jan 2026", "5 Foo 2026", "Foo 2026", "2026-1", "1/2/26", "20261120", "5/2-2026"])
def test_what_is_no_day(text):
    assert intake.dates(text) == {}


@pytest.mark.parametrize("text, number, negative, currency, rest", [
    ("$2.10/h", "2.10", False, "$", "/h"), ("US$ 2", "2", False, "USD", ""), ("2 A$", "2", False, "AUD", ""), ("-€3", "3", True, "EUR", ""), ("(4.5)", "4.5", True, "", ""),
    ("5 euros per GPU", "5", False, "EUR", "per GPU"), ("€5 USD", "5", False, "?", ""), ("$5 USD/h", "5", False, "USD", "/h"), ("from 6", "6", False, "", "from"), ("7−", "7", False, "", "-"), ("2.95-3.10", "2.95", False, "", "-3.10"),
    ("USD 8 USD", "8", False, "USD", ""), ("+9", "9", False, "", "")])
def test_what_stands_beside_a_number(text, number, negative, currency, rest):
    assert intake.amount(text) == (number, negative, currency, rest)


# A price of one unit in a cell by the hour; a month is 730 hours, a year 8,760.
@pytest.mark.parametrize("text, an_hour", [
    ("1460/month", 2), ("730 per mo", 1), ("73/mth", 0.1), ("8760/year", 1), ("876 per yr", 0.1), ("17520/y", 2), ("48/day", 2), ("12 a d", 0.5), ("0.05/min", 3), ("0.1 per minute", 6),
    ("0.001/sec", 3.6), ("0.01/second", 36), ("0.0005/s", 1.8)])
def test_a_price_of_another_time_is_refused_with_what_it_is_by_the_hour(write, text, an_hour):
    with pytest.raises(ValueError, match=rf"column price: '{text}'; allowed: a price per hour; {an_hour:.4g} is this over the hours, a month being 730$"):
        prices(write(f"gpu,gpus,price\nH100,8,{text}\n"))


@pytest.mark.parametrize("text", ["2/h", "2 per hour", "2/gpu/hr", "2 per GPU-hour", "2 an hour", "2 /card/h", "2 std.", "2 USD/h", "2 / GPU"])
def test_an_hour_of_a_gpu_as_people_write_it(write, text):
    assert read(write(f"gpu,gpus,usd_per_hour\nH100,4,{text}\n")) == [rent(H100, 8, gpus=4)]
    assert intake.times_an_hour(text.removeprefix("2").removeprefix(" USD").strip()) == 1


@pytest.mark.parametrize("row, column, told", [
    ("rent,H100,8,16/gpu/h,,", "price", "the price of the whole machine; the price of one GPU goes into a column usd_per_hour"),
    ("rent,H100,8,16 bananas,,", "price", "a number such as 2.10 in USD/h"), ("power,,,0.2/month,,", "price", "a number such as 2.10 in USD/kWh"),
    ("rent,H100,8,€16 USD,,", "price", "one currency by its code, such as USD or EUR"), ("rent,H100,8,16,,bitcoin", "currency", "one currency by its code, such as USD or EUR"),
    ("rent,H100,8,€16,,USD", "price", "in one currency: cell, column and header say EUR, USD"), ("rent,H100,8,100,12.37,", "usd_per_hour", "12.5, the price of the whole over its 8 GPUs; or one of both blank"),
    ("rent,H100,8,,,", "usd_per_hour", "a number such as 2.10; a row without a price goes"), ("rent,H100,8,16,,CHF", "currency", "USD, or a rate for CHF: RATE=CHF=1.10, or a row of the item currency "
                                                                                              "with sku CHF and as price what one CHF costs in USD"),
    ("rent,H100,8,CHF 16,,", "price", "USD, or a rate for CHF: RATE=CHF=1.10, or a row of the item currency with sku CHF and as price what one CHF costs in USD")])
def test_money_that_is_refused(write, row, column, told):
    with pytest.raises(ValueError) as error:
        prices(write(f"item,gpu,gpus,price,usd_per_hour,currency\n{row}\n"))
    line, = str(error.value).splitlines()
    assert line.startswith(f"mine.csv, row 2, column {column}: ") and line.endswith(f"; allowed: {told}")


def test_both_prices_may_differ_by_a_hundredth_of_the_whole(write):
    assert read(write("gpu,gpus,price,usd_per_hour\nH100,8,100,12.375\n")) == [rent(H100, 100)]
    assert read(write("gpu,gpus,price,usd_per_hour\nH100,8,,12.375\n")) == [rent(H100, 99)]


def test_dollars_of_other_countries_and_rates_are_said(write):
    book = prices(write("gpu,gpus,usd_per_hour,currency\nH100,8,$2,AUD\nH200,8,3,\n"), only=True, rates={"AUD": 0.65})
    assert [round(each, 6) for each in book["price"]] == [10.4, 24] and list(book["currency"]) == ["USD"] * 2
    assert list(book["note"]) == ["H100 is taken as H100 SXM 80GB, not H100 PCIe 80GB or H100 NVL 94GB; 2 AUD at 0.65 USD of the parameter rates",
                                  "H200 is taken as H200 SXM 141GB, not H200 NVL 141GB"]
    assert "row 2: AUD at 0.65 USD for one, of the parameter rates" in book.attrs["said"] and not any("US dollars" in each for each in book.attrs["said"])
    assert "row 2: $ is taken as US dollars" in prices(write("gpu,gpus,usd_per_hour\nH100,8,$2\n")).attrs["said"]


@pytest.mark.parametrize("cells, group", [
    (("rent", H100, "AWS", "p5", "spot"), ("rent spot", H100)), (("server", H100, "Dell", "8x", ""), ("server", H100)), (("card", H100, "Dell", "", ""), ("card", H100)),
    (("api-input", "", "Me", "Llama-3-70B", ""), ("api", "Llama-3-70B")), (("api-batch-output", "", "Me", "Llama-3-70B", ""), ("api", "Llama-3-70B")),
    (("currency", "", "ECB", "EUR", ""), ("currency", "EUR")), (("storage", "", "AWS", "S3", ""), ("storage", "AWS")), (("egress", "", "AWS", "net", ""), ("egress", "AWS")),
    (("power", "", "Sun", "kWh", ""), ("power", "")), (("hosting", "", "Colo", "rack", ""), ("hosting", "")), (("hosting-power", "", "Colo", "kW", ""), ("hosting", ""))])
def test_what_a_price_is_a_price_of(cells, group):
    assert intake.group(*cells) == group


def test_a_rate_of_the_file_stands_in_either_column_of_money_and_is_dated(write):
    """Any of the names of the item; the parameter goes before it, and what is no rate makes none."""
    head = "item,sku,gpu,gpus,price,usd_per_hour,currency,date\n"
    for rate in ("currency,EUR,,,1.1,,,2026-11-01", "FX,eur,,,1.1,,,2026-11-01", "exchange rate,,,,,1.1,EUR,2026-11-01"):
        book = prices(write(f"{head}{rate}\nrent,,H100,8,16,,EUR,\n"), only=True)
        assert book.loc[book["item"] == "rent", "price"].item() == pytest.approx(17.6)
        assert book.loc[book["item"] == "rent", "note"].item().endswith("16 EUR at 1.1 USD of 2026-11-01, mine.csv")
    given = prices(write(f"{head}currency,EUR,,,1.1,,,2026-11-01\nrent,,H100,8,16,,EUR,\n"), only=True, rates={"EUR": 1.2})
    assert given.loc[given["item"] == "rent", "price"].item() == pytest.approx(19.2)
    with pytest.raises(ValueError, match="row 3, column currency: 'CHF'; allowed: USD, or a rate for CHF"):
        prices(write(f"{head}currency,CHF,,,-1,,,\nrent,,H100,8,16,,CHF,\n"), only=True)


def test_what_a_row_takes_for_granted_is_said(write):
    book = prices(write("item,gpu,price,provider\negress,,0.05,aws\n,8x H100,24,\n,1x L4,1,\n"), only=True)
    said = book.attrs["said"]
    assert "row 2: egress without tiers: one price from the first byte on" in said and book.loc[book["item"] == "egress", "from_bytes"].item() == 0
    assert f"row 2: aws is AWS of {NEWEST.name}" in said and "rows 3, 4: no item: taken as a rent by the hour" in said


def test_the_machines_of_a_gpu_double_up_to_those_of_sellers_else_to_what_the_link_joins():
    """NVLink of an H100 joins 8; a rack of 72 is no machine of a seller's; PCIe joins nothing that is sold together."""
    assert intake.larger_machines(H100, {H100: 4}) == [2, 4] and intake.larger_machines(H100, {A100: 4}) == [2, 4, 8]
    assert intake.larger_machines(H100, {H100: 6}) == [2, 4, 6] and intake.larger_machines("L4 24GB", {}) == []
    assert intake.larger_machines("GB200 NVL72 186GB", {}) == [2, 4, 8]


def test_how_far_a_price_may_lie_from_the_middle(write):
    """Of offers at 1, 2 and 9 USD an hour for a GPU the middle is 2: nothing is asked from 0.4 to 2.5 times that, 0.8 to 5."""
    import pandas
    base = pandas.DataFrame({"item": "rent", "gpu": H100, "term": ["spot", "on-demand", "on-demand", "on-demand"], "gpus_per_server": [1, 8, 1, 2], "price": [0.1, 8, 2, 18]})

    def asked(price, many, term="on-demand"):
        own = pandas.DataFrame({"item": "rent", "gpu": H100, "term": term, "gpus_per_server": many, "price": [price]}, [7])
        return list(intake.odd_prices("mine.csv", own, base))
    assert asked(0.8, 1) == asked(5, 1) == asked(40, 8) == asked(6.4, 8) == [] == asked(0.1, 1, "spot") == asked(2, 1, "managed")
    known = f"for one {H100}; the book's 3 offers lie between 1 and 9, half of them below 2"
    assert asked(5.04, 1) == [f"mine.csv, row 7: 5.04 USD/h {known}: is it the price of a whole machine of 4? Then one GPU is 1.26 USD/h; write gpus and price"]
    assert asked(16, 1) == [f"mine.csv, row 7: 16 USD/h {known}: is it the price of a whole machine of 8? Then one GPU is 2 USD/h; write gpus and price"]
    assert asked(320, 2) == [f"mine.csv, row 7: 160 USD/h {known}: is it right?"] and asked(0.7, 1) == [f"mine.csv, row 7: 0.700 USD/h {known}: is it right?"]
    assert asked(5, 8) == [f"mine.csv, row 7: 0.625 USD/h {known}: is 5 the price of one GPU in a row of 8? Then write 40, or put it under usd_per_hour"]
    assert asked(5.04, 8) == [f"mine.csv, row 7: 0.630 USD/h {known}: is it right?"]


@pytest.mark.parametrize("price, asked", [(0.005, False), (0.0049, True), (2, False), (2.01, True)])
def test_what_is_no_gpu_is_asked_about_beyond_ten_times_the_book(price, asked):
    import pandas
    base = pandas.DataFrame({"item": "power", "gpu": "", "term": "list", "gpus_per_server": float("nan"), "price": [0.05, 0.2]})
    own = pandas.DataFrame({"item": ["power", "currency", "api-input"], "gpu": "", "term": "list", "gpus_per_server": float("nan"), "price": price}, [3, 4, 5])
    said = f"mine.csv, row 3: {price} USD/kWh; the book's 2 prices lie between 0.0500 and 0.200: is it right?"
    found = list(intake.odd_prices("mine.csv", own, base))
    assert len(found) == asked and (not asked or found[0].replace("0.00490", "0.0049") == said)


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
    assert read(write("gpu,usd_per_hour\nB400,7.5\n")) == by_the_gpu("B400 SXM 384GB", 7.5)
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


def gpu_of(write, head, cells, known=None):
    """The one GPU of a file, beside those that are known."""
    found, = own_cards.own_gpus(str(write(f"gpu;{head}\nB400;{cells}\n", "gpus.csv")), tables.rows("gpus") if known is None else known).items()
    assert found[0] == "B400"
    return found[1]


@pytest.mark.parametrize("column, text, value", [
    ("bandwidth", "13.5 TB/s", 13.5e12), ("bandwidth", "13,5TB/s", 13.5e12), ("bandwidth", "900 GB/s", 9e11), ("bandwidth", "1.5e12", 1.5e12), ("bandwidth", "2,000 GB/s", 2e12),
    ("memory_bytes", "96 GB", 96e9), ("memory_bytes", "384000 MB", 384e9), ("memory_bytes", "80e9 B", 80e9), ("l2_bytes", "512 kB", 512e3), ("peak_flops", "2 PFLOP/s", 2e15),
    ("peak_flops", "989 TFLOPs", 989e12), ("int8_flops", "4 POPS", 4e15), ("tdp_watts", "1.2 kW", 1200), ("tdp_watts", "700", 700)])
def test_a_figure_of_a_card_with_its_prefix(write, column, text, value):
    """Of two readings the one with a decimal point counts: 2,000 GB/s are thousands."""
    assert gpu_of(write, f"like;{column}", f"H100 SXM 80GB;{text}")[column] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("column, text, allowed", [
    ("bandwidth", "fast", "a number such as 3.35e12 or 3.35 TB/s"), ("memory_bytes", "80 GO", "a number such as 80e9 or 80 GB"), ("tdp_watts", "1.2.3", "a number such as 80e9"),
    ("link", "NVLink 9", "a link of data/links.csv; close: NVLink 5"), ("like", "H10", "a gpu of data/gpus.csv"), ("clock", "-1", "a number such as 80e9"), ("note", "a\u202eb", "text without control and invisible characters")])
def test_a_cell_of_a_card_that_is_refused(write, column, text, allowed):
    with pytest.raises(ValueError) as error:
        gpu_of(write, f"{column};bandwidth" if column == "like" else f"like;{column}", f"{text};2e12" if column == "like" else f"H100 SXM 80GB;{text}")
    assert any(line.startswith(f"gpus.csv, row 2, column {column}: ") and allowed in line for line in str(error.value).splitlines()), error.value


def test_a_card_takes_what_it_lacks_from_one_that_it_is_like(write):
    like, link = tables.rows("gpus")[H100], tables.rows("links")["NVLink 5"]
    found = gpu_of(write, "like;bandwidth", "H100 SXM 80GB;5e12")
    same = [name for name in like if found[name] == like[name] or found[name] != found[name] and like[name] != like[name]]
    assert {*like} - {*same} == {"bandwidth", "source", "date", "note"}
    assert (found["bandwidth"], found["source"], found["date"], found["note"]) == (5e12, "gpus.csv", TODAY, "what gpus.csv lacks is as in H100 SXM 80GB")
    # Another memory is reported as it is marketed, another link has its own bandwidth, and another peak no known clock.
    assert [gpu_of(write, "like;marketed_bytes", "H100 SXM 80GB;100 GB")[name] for name in ("memory_bytes", "marketed_bytes", "memory_note")] == [
        100e9, 100e9, "as gpus.csv gives it"]
    both = gpu_of(write, "like;marketed_bytes;memory_bytes", "H100 SXM 80GB;100 GB;98 GB")
    assert (both["memory_bytes"], both["marketed_bytes"]) == (98e9, 100e9)
    assert gpu_of(write, "like;link", "H100 SXM 80GB;NVLink 5")["link_bandwidth"] == link["link_bandwidth"] != like["link_bandwidth"]
    assert gpu_of(write, "like;link;link_bandwidth", "H100 SXM 80GB;NVLink 5;1e9")["link_bandwidth"] == 1e9
    for changed in ("peak_flops;1e15", "units;100"):
        column, value = changed.split(";")
        other = gpu_of(write, f"like;{column}", f"H100 SXM 80GB;{value}")
        assert other["clock"] != other["clock"] and other["unit_flops"] != other["unit_flops"] and other["fp8_flops"] == like["fp8_flops"]


def test_a_card_like_no_other_says_what_it_is(write):
    found = gpu_of(write, "memory_bytes;bandwidth;peak_flops;link;units", "96 GB;4 TB/s;1 PFLOP/s;NVLink 5;150")
    assert {name: found[name] for name in ("vendor", "status", "kind", "peak_format", "ecc", "mig_instances", "benchmark", "confidence", "year")} == dict(
        vendor="not stated", status="announced", kind="datacenter", peak_format="BF16", ecc=1, mig_instances=0, benchmark="none", confidence="seen", year=datetime.date.today().year)
    assert found["link_bandwidth"] == tables.rows("links")["NVLink 5"]["link_bandwidth"] and found["note"] == "what gpus.csv lacks is not known"
    assert gpu_of(write, "marketed_bytes;bandwidth;peak_flops;link;units", "96 GB;4 TB/s;1 PFLOP/s;NVLink 5;150")["memory_bytes"] == 96e9


def test_names_and_columns_of_own_gpus_stand_once(write):
    with pytest.raises(ValueError) as error:
        own_cards.own_gpus(str(write("gpu;like;Band-width;bandwidth;bandwidth\nB400;H100 SXM 80GB;;1e12;\nB400;H100 SXM 80GB;;1e12;\n;H100 SXM 80GB;;1e12;\n", "gpus.csv")), tables.rows("gpus"))
    lines = str(error.value).splitlines()
    assert [line.partition("; allowed: ")[0].partition(": ")[0] for line in lines] == [
        "gpus.csv, row 1, column Band-width", "gpus.csv, row 1, column bandwidth", "gpus.csv, row 1, column bandwidth", "gpus.csv, row 3, column gpu", "gpus.csv, row 4, column gpu"]
    assert lines[3].endswith("'B400'; allowed: a name that no other GPU has") and lines[4].endswith("blank; allowed: a name")
