"""The figures of the lists: by hand, and what is left out where a book has no price."""
import re

import pytest

from book.build.inputs import ROOT
from book.pages import failures as lists
from gpucalc.rows import price_book

H100, BOOK = "H100 SXM 80GB", price_book.prices()
PAGE = (ROOT / "notebooks/failures.md").read_text(encoding="utf-8").partition("\n## What do you check")[2].partition("\n## Network")[0]


def test_memory_by_hand():
    # 8,030,261,248 parameters: 2 bytes each, 16 to train, an eighth on each of eight GPUs; a cache of 131,072 bytes a token.
    found = lists.memory("Llama-3-8B")
    assert found["weights"] == 2 * 8_030_261_248 and found["state"] == 16 * 8_030_261_248 and found["shard"] == found["weights"]
    assert found["short"] == 2048 * 131_072 and found["longer"] == 4
    # BF16 is two bytes of 70.6 billion weights; INT4 a good quarter.
    assert found["wide"] == pytest.approx(141.1e9, rel=1e-3) and 3 < found["wide"] / found["narrow"] < 4
    # What whole layers keep: 32 inputs of 8,192 x 4,096 values of two bytes.
    assert found["dropped"] == 32 * 8192 * 4096 * 2


def test_speed_by_hand():
    found = lists.speed("Llama-3-8B", H100)
    assert found["ridge"] == pytest.approx(989e12 / 3.35e12) and found["links"] == pytest.approx(450 / 31.5, rel=0.01)
    assert 20 < found["gain"] < 32, "nearly as many as the sequences: each reads the same weights"
    assert found["kept_large"] < found["kept"] < 1


def test_money_by_hand():
    found = lists.money(BOOK, H100, 8)
    hour = float(found["rent"].usd_per_hour) * 8
    assert found["month"] == pytest.approx(hour * 730) and found["idle"] == pytest.approx(0.7 * hour * 730)
    # Eight at 30 % are 2.4; at 70 % that is 3.43 GPUs, so four: half the rent.
    assert found["needed"] == 4 and found["resized"] == pytest.approx(hour * 730 / 2)
    assert found["slow"] == pytest.approx(hour * 730 / 3)
    # Eight times 700 W times 1.82 are 10.2 kW, for 730 hours.
    assert found["power"] == pytest.approx(8 * 0.7 * 1.82 * 730 * found["kwh"])
    assert found["apart"] == pytest.approx(found["dear"].usd_per_hour / found["cheap"].usd_per_hour) and found["apart"] > 1


def test_from_when_a_term_or_a_server_pays():
    found = lists.money(BOOK, H100, 8)
    # Nebius prints up to 35 % less for a commitment: it pays from 65 % of the hours.
    assert found["term"] == pytest.approx(0.65) and found["owning"] > 0
    # Gradients of 16.06 GB, there and back among 16, over 50 and over 25 GB/s.
    assert found["ndr"] == pytest.approx(2 * 15 / 16 * 16.0605e9 / 50e9, rel=0.01)
    assert found["hdr"] == pytest.approx(2 * found["ndr"], rel=0.01)


def test_what_a_book_lacks_is_left_out():
    bare = BOOK[(BOOK["item"] == "rent") & (BOOK["term"] == "on-demand") & (BOOK["gpu"] == H100)]
    bare.attrs = BOOK.attrs
    found = lists.money(bare, H100, 8)
    assert found["power"] is found["egress"] is found["owning"] is found["spot"] is None and lists.per_dollar(bare, H100) is None


def test_every_line_has_a_link():
    lines = re.findall(r"^(?:- ☐|\d\. ☐|- \*\*)(?:.|\n(?=  ))+", PAGE, re.MULTILINE)
    assert len(lines) > 40
    assert [line for line in lines if not re.search(r"\]\((?:\w+\.md|#)", line)] == []


def test_every_link_leads_to_a_page():
    for target in re.findall(r"\]\(([\w./-]+\.md)", PAGE):
        assert (ROOT / "notebooks" / target).exists(), target


def test_a_line_goes_where_a_card_has_no_such_peak_or_cannot_be_cut():
    ampere, turing = (lists.speed("Llama-3-8B", gpu) for gpu in ("A100 SXM 80GB", "T4 16GB"))
    # 156 of 19.5 TFLOP/s; seven slices of 14 multiprocessors leave 10 of 108 to nobody.
    assert ampere["tf32"] == pytest.approx(8) and ampere["slices"] == 7 and ampere["unsliced"] == pytest.approx(10 / 108)
    assert ampere["fp8"] is turing["tf32"] is turing["slices"] is turing["unsliced"] is None
