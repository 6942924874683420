"""Rents pasted as lines: rows, faults with their line, what is said, and questions, each by hand."""
import pytest

from book.web.pasted import attempt, cells_of, LONGEST_CELL, MOST_FAULTS, MOST_LETTERS, MOST_LINES, Rents

H100, L4 = "H100 SXM 80GB", "L4 24GB"
LARGER = {H100: [2, 4, 8], L4: [], "B200 180GB": [2, 4, 8]}
PRICES = {H100: {"on-demand": [2.0, 2.5, 3.0, 4.0], "spot": [1.0, 1.5]}, L4: {"spot": [0.2, 0.3, 0.4]}}
# Texts with the line and the beginning of their first fault.
REFUSED = [
    ("", 1, "no lines; allowed: gpu, usd_per_hour"),
    ("gpu,usd_per_hour\n", 1, "no lines below the header; allowed: at least one"),
    ("gpu,provider\nH100,Acme", 1, "a header without gpu or a price; allowed: gpu, usd_per_hour"),
    ("H100 2.10", 1, "gpu: 'H100 2.10'; allowed: a gpu of data/gpus.csv; close: H100 SXM 80GB"),
    ("H100,", 1, "usd_per_hour: blank; allowed: a number such as 2.10; a row without a price goes"),
    ("gpu;usd_per_hour\nH100;2,10 EUR", 2, "usd_per_hour: '2,10 EUR'; allowed: USD; for EUR, what it is in USD"),
    ("gpu;usd_per_hour\nH100;€ 2,10 USD", 2, "usd_per_hour: '€ 2,10 USD'; allowed: one currency by its code, such as USD or EUR"),
    ("gpu;eur per hour\nH100;2,10", 2, "eur per hour: '2,10'; allowed: USD; for EUR"),
    ("gpu,usd_per_hour,currency\nH100,2.10,CHF", 2, "usd_per_hour: '2.10'; allowed: USD; for CHF"),
    ("gpu,usd_per_hour\nH100,2,10", 2, "3 cells; allowed: 2, as in gpu, usd_per_hour; a decimal comma wants semicolons or tabs"),
    ("RTX 6000,2.10", 1, "gpu: 'RTX 6000'; allowed: a gpu of data/gpus.csv; it may be RTX PRO 6000 Server 96GB, Quadro "),
    ("TPU v5,2.10", 1, "gpu: 'TPU v5'; allowed: a gpu of data/gpus.csv"),
    ("XYZ 9000,2.10", 1, "gpu: 'XYZ 9000'; allowed: a gpu of data/gpus.csv"),
    (",2.10", 1, "gpu: blank; allowed: a gpu of data/gpus.csv"),
    ("H100,many", 1, "usd_per_hour: 'many'; allowed: a number such as 2.10"),
    ("H100,-2.10", 1, "usd_per_hour: '-2.10'; allowed: a price above 0"),
    ("H100,0", 1, "usd_per_hour: '0'; allowed: 0.01 to 1,000 USD/h for one GPU"),
    ("H100,1e9", 1, "usd_per_hour: '1e9'; allowed: 0.01 to 1,000 USD/h for one GPU"),
    ("H100,1500 per month", 1, "usd_per_hour: '1500 per month'; allowed: a price per hour"),
    ("H100;2,100", 1, "usd_per_hour: '2,100'; allowed: a number with one reading: this may be 2.1 or 2100"),
    ("H100,2.10 <b>cheap</b>", 1, "usd_per_hour: '2.10 <b>cheap</b>'; allowed: a number such as 2.10 in USD/h"),
    ("gpu,usd_per_hour,term\nH100,2.10,weekly", 2, "term: 'weekly'; allowed: on-demand, spot"),
    ("gpu,usd_per_hour,gpus\nH100,2.10,0", 2, "gpus: '0'; allowed: a whole number from 1 to 10,000"),
    ("gpu,usd_per_hour,gpus\n8x H100,2.10,4", 2, "gpus: '4'; allowed: 8, the number in the GPU's name"),
    ("gpu,price\nH100,16.80", 2, "gpus_per_server: blank; allowed: how many GPUs the price is of"),
    ("gpu,gpus,price,usd_per_hour\nH100,8,16.80,3", 2, "usd_per_hour: '3'; allowed: 2.10, the price of the whole over its 8"),
    ("H100,2.10\nH100,2.20", 2, "one price of an offer; line 1 has the same gpu, provider, region and term"),
    ("gpu,usd_per_hour,provider\nH100,2.10,a\u202eb", 2, "provider: 'a<U+202E>b'; allowed: at most 300 characters, none of them"),
    ("gpu,usd_per_hour,provider\nH100,2.10," + "x" * 301, 2, "provider: '" + "x" * 57 + "...'; allowed: at most 300 characters"),
    ("gpu,$/h,EUR/h\nH100,2.10,2.00", 1, "two columns of usd_per_hour; allowed: one"),
    ('H100,"2.10', 1, "a cell with a quote that does not fit"),
    ("gpu,usd_per_hour,item\nH100,2.10,server", 2, "item: 'server'; allowed: rent"),
    ("__proto__,2.10", 1, "gpu: '__proto__'; allowed: a gpu of data/gpus.csv"),
    ("H100,2.10\n" * 2001, 1, "a longer text; allowed: 200,000 letters in 2,000 lines"),
    ("x" * 200_001, 1, "a longer text; allowed"),
]


def found(text):
    read = Rents(LARGER, PRICES)
    read.read(text)
    return read


def offers(text):
    return [(row["gpu"], row["usd_per_hour"], row["gpus_per_server"], row["term"]) for row in found(text).rows]


def said(text):
    return [(each["line"], each["text"]) for each in found(text).said]


def faults(text):
    return [(each["line"], each["text"]) for each in found(text).faults]


@pytest.mark.parametrize("text, line, expected", REFUSED)
def test_what_cannot_be_is_refused_with_its_line(text, line, expected):
    first = found(text).faults[0]
    assert first["line"] == line and first["text"].startswith(expected) and "ask" not in first
    assert len(found(text).rows) == (4 if line == 2 and text.startswith("H100,2.10\n") else 0)


@pytest.mark.parametrize("text, rows", [
    (f"{H100},2.10", [(H100, 2.1, size, "on-demand") for size in (1, 2, 4, 8)]),
    (f"{L4};0,70", [(L4, 0.7, 1, "on-demand")]),
    ("\ufeff8x H100\t16\r\n\r\nL4\t0.5", [(H100, 16, 8, "on-demand"), (L4, 0.5, 1, "on-demand")]),
    ("gpu,price,gpus\nH100,16.8,8\nL4,1,2", [(H100, 2.1, 8, "on-demand"), (L4, 0.5, 2, "on-demand")]),
    ("term,gpu,price,usd_per_hour,# gpus\nspot,H100,8.4,2.1,4x", [(H100, 2.1, 4, "spot")]),
    # A machine of 2 that the text prices itself does not come of the price of one GPU too.
    (f"gpu,usd_per_hour,gpus\n{H100},2.1,\n{H100},2.4,2",
     [(H100, price, size, "on-demand") for price, size in ((2.1, 1), (2.4, 2), (2.1, 4), (2.1, 8))]),
    ('gpu,usd_per_hour,provider\nL4,"0.7","A ""B"", C"', [(L4, 0.7, 1, "on-demand")])])
def test_rows_are_prices_of_one_gpu(text, rows):
    assert offers(text) == rows


def test_a_row_has_its_seller_or_says_that_none_is_stated():
    named, bare = found('gpu,usd_per_hour,provider,region\nL4,0.7,"A ""B"", C",us').rows[0], found("L4,0.7").rows[0]
    assert (named["provider"], named["region"]) == ('A "B", C', "us")
    assert (bare["provider"], bare["region"]) == ("your provider", "not stated")


@pytest.mark.parametrize("text, told", [
    (f"{H100},2.10", ["term not stated: taken as on-demand",
                      "size of the machine not stated: taken as billed by the GPU, alone or in machines of 2, 4 or 8; a column gpus "
                      "says otherwise", f"2.10 USD/h for one {H100}, on-demand, is number 2 of 5 with the book's 4, the cheapest first; "
                                        "their median is 2.75"]),
    ("gpu,usd_per_hour,term,colour\nL4,0.3,spot,red",
     ["column colour is not read", "size of the machine not stated: taken as billed by the GPU, alone; a column gpus says otherwise",
      f"0.300 USD/h for one {L4}, spot, is number 2 of 4 with the book's 3, the cheapest first; their median is 0.300"]),
    ("gpu,usd_per_hour,term,,gpus\nL4 24GB,0.3,reserved,x,2",
     ["column 4 is not read", "'usd_per_hour' is taken as the price of one GPU of several in a machine; a price of the whole machine "
                              "goes into a column price"])])
def test_what_is_taken_for_granted_is_said(text, told):
    assert [each for _, each in said(text)][:len(told)] == told


def test_the_same_offer_counts_once_and_another_price_is_a_fault():
    text = "gpu,usd_per_hour,gpus,term,region\nL4,0.3,1,spot,us\nL4,0.3,1,spot,us\nL4,0.31,1,spot,us\nL4,0.31,1,spot,eu\nL4,0.31,2,spot,us"
    assert [price for _, price, *_ in offers(text)] == [0.3, 0.31, 0.31]
    assert (3, "says the same as line 2: counted once") in said(text)
    assert faults(text) == [(4, "one price of an offer; line 2 has the same gpu, provider, region and term")]


def test_a_price_far_from_those_of_the_book_is_asked_about():
    """Half of the book's prices lie below 2.75, whose 0.4th is 1.1 and whose 2.5fold is 6.875; on a term without prices all count."""
    assert faults(f"8x {H100},1.1\n{H100},6.87") == []
    read = found(f"{H100},6.88")
    [fault] = read.faults
    assert fault["ask"] and len(read.rows) == 4 and fault["text"] == (
        f"6.88 USD/h for one {H100}; the book's 4 offers lie between 2 and 4, half of them below 2.75: is it the price of a whole "
        "machine of 4? Then one GPU is 1.72 USD/h; write gpus and price")
    assert faults(f"8x {H100},0.34") == [(1, f"0.340 USD/h for one {H100}; the book's 4 offers lie between 2 and 4, half of them below "
                                             "2.75: is 2.72 the price of one GPU in a row of 8? Then write 21.8, or put it under "
                                             "usd_per_hour")]
    [(_, text)] = faults(f"{L4},3")
    assert text.startswith(f"3 USD/h for one {L4}; the book's 3 offers lie between 0.200 and 0.400, half of them below 0.300")


def test_thousands_that_are_not_plausible_are_a_decimal_mark():
    text = "gpu;usd_per_hour;gpus\nL4;1.234;1"
    assert offers(text) == [(L4, 1.234, 1, "on-demand")]
    assert (2, "1.234 is read as 1.234: thousands are not plausible") in said(text)


def test_the_ends_of_what_is_read():
    line = f"{L4},0.5"
    assert not faults("\n".join([line] * MOST_LINES)) and faults("\n".join([line] * (MOST_LINES + 1)))
    assert faults(" " * MOST_LETTERS)[0][1].startswith("no lines") and faults(" " * (MOST_LETTERS + 1))[0][1].startswith("a longer text")
    assert len(found("gpu,usd_per_hour\n" + "L4,0\n" * (MOST_FAULTS + 1)).faults) == MOST_FAULTS
    head = "gpu,usd_per_hour,note\nL4,0.5,"
    assert not faults(head + "x" * LONGEST_CELL) and faults(head + "x" * (LONGEST_CELL + 1))
    sized = "gpu,usd_per_hour,gpus\nL4,0.5,"
    assert not faults(f"{sized}10000") and not faults(f"{sized}1") and faults(f"{sized}10001")
    assert [bool(found(f"L4,{usd}").rows) for usd in ("0.0099", "0.01", "1000", "1000.1")] == [False, True, True, False]
    # Both prices of a row may be a hundredth apart.
    both = "gpu,gpus,price,usd_per_hour\nL4,2,0.8,"
    assert not faults(f"{both}0.4039") and faults(f"{both}0.4041")[0][1].endswith("0.400, the price of the whole over its 2 GPUs; or one of both blank")


@pytest.mark.parametrize("line, cells", [
    ("a,b", ["a", "b"]), (" a , b ", ["a", "b"]), ("a,", ["a", ""]), ("", [""]), (",", ["", ""]), ('"a,b",c', ["a,b", "c"]),
    ('"a ""b""",c', ['a "b"', "c"]), ('"" , c', ["", "c"]), ('5" disk,c', ['5" disk', "c"])])
def test_cells_are_quoted_where_they_hold_a_separator(line, cells):
    assert cells_of(line, ",") == cells


@pytest.mark.parametrize("line", ['"a', 'x,"a', '"a"b,c', '"a" "b"'])
def test_a_quote_that_does_not_fit_is_refused(line):
    assert attempt(lambda: cells_of(line, ",")) == (
        None, "a cell with a quote that does not fit; allowed: quotes around a whole cell")
