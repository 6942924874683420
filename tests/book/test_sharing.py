"""What the page on sharing shows."""
import math
import re

import pytest
from hypothesis import given, settings, strategies as st

from book.pages import sharing
from book.pages.what_to_buy import sure
from book.pages.sharing import slices_picture
from gpucalc import Case, serving as sv
from gpucalc.decisions import capacity
from gpucalc.rows import catalogue, price_book
from tests.close import close

BOOK = sure(price_book.prices())
H100, SMALL = "H100 SXM 80GB", ["L4 24GB", "A10 24GB", "L40S 48GB"]
CASE = Case(model="Llama-3-8B", weight_format="INT4-g128", cache_element_bytes=2, prompt=1000, output=200, cached_share=0,
            peak_factor=2, answer_limit=20, late_share=0.05, requests_per_month=5e6, efficiency="achieved", **capacity.ENGINE)
FOUND = sharing.choice(CASE, BOOK, H100, SMALL, "on-demand")


def test_a_slice_is_a_card_with_less_of_all():
    row, card = sharing.slice_row(H100, "1g.10gb"), catalogue.gpu(H100)
    for name in ("peak_flops", "fp8_flops", "bandwidth", "memory_bytes", "units", "narrow_flops"):
        assert 0 < row[name] < card[name] / 7, name
    assert row.instances == 7 and row.name == "1g.10gb of H100 SXM 80GB"


def test_an_unknown_profile_says_what_there_is():
    with pytest.raises(ValueError, match="profile '1g.99gb' of H100 SXM 80GB.*allowed: 1g.10gb, 1g.20gb"):
        sharing.slice_row(H100, "1g.99gb")
    with pytest.raises(ValueError, match="L4 24GB has no slices"):
        sharing.slice_row("L4 24GB", "1g.10gb")


@pytest.mark.parametrize("gpu, shown", [(H100, H100), ("H200 SXM 141GB", "H200 SXM 141GB"), ("L40S 48GB", H100)])
def test_a_gpu_that_cannot_be_cut_is_shown_by_one_that_can(gpu, shown):
    assert sharing.shown_slice(gpu) == (shown, sharing.smallest(shown)) and sharing.smallest(shown)
    assert sharing.shown_slice(gpu, "1g.20gb") == (gpu, "1g.20gb")


def test_all_slices_do_less_than_the_whole():
    whole = sharing.fullest(FOUND, CASE, H100).band(sv.output_tokens_per_second).plan
    for part in catalogue.partitions().query("gpu == @H100").itertuples():
        one = sharing.fullest(FOUND, CASE, sharing.slice_name(H100, part.profile)).band(sv.output_tokens_per_second).plan
        assert part.instances * one < whole


def test_what_costs_how_much():
    ways = sharing.ways(FOUND, CASE)
    for row in ways.itertuples():
        assert row.shared_usd == close(row.gpus * row.usd_per_hour * 730 / row.instances)
        assert row.alone_usd == close(math.ceil(row.gpus / row.instances) * row.usd_per_hour * 730)
        assert row.alone_usd >= row.shared_usd * (1 - 1e-9)
        assert row.low_alone_usd <= row.alone_usd <= row.high_alone_usd
    assert list(ways["alone_usd"]) == sorted(ways["alone_usd"])


def test_a_card_that_nobody_rents_is_left_out():
    assert sharing.choice(CASE, BOOK[BOOK["gpu"] != H100], H100, ["no such card"], "on-demand") is None
    left = sharing.choice(CASE, BOOK[BOOK["gpu"] != H100], H100, SMALL, "on-demand")
    assert set(left.cards.index) == set(SMALL) and set(sharing.ways(left, CASE)["gpu"]) <= set(SMALL)


def test_no_api_costs_no_bound():
    usd, sold = sharing.api_usd(CASE, BOOK[~BOOK["item"].str.startswith("api-")], "Llama-3-8B")
    assert usd == math.inf and sold is None


@settings(deadline=None, max_examples=15)
@given(st.floats(1e4, 1e8), st.floats(1, 10))
def test_more_load_never_costs_less(load, more):
    less, most = (sharing.ways(FOUND, CASE.but(requests_per_month=each)).set_index("gpu") for each in (load, load * more))
    for name in most.index:
        assert most.at[name, "alone_usd"] >= less.at[name, "alone_usd"]
        assert most.at[name, "shared_usd"] >= less.at[name, "shared_usd"]


@settings(deadline=None, max_examples=20)
@given(st.floats(0, 1), st.floats(1e9, 80e9))
def test_a_smaller_card_holds_what_was_measured(busy, used):
    have, found = catalogue.gpu(H100), sharing.smaller_cards(BOOK, H100, busy, used, 0.7, "on-demand")
    for name in found["gpu"]:
        card = catalogue.gpu(name)
        assert card.memory_bytes >= used and 0.7 * card.peak_flops >= busy * have.peak_flops
        assert 0.7 * card.bandwidth >= busy * have.bandwidth
    assert list(found["usd_per_hour"]) == sorted(found["usd_per_hour"])


@pytest.mark.parametrize("profile", catalogue.partitions().query("gpu == 'H100 SXM 80GB'")["profile"])
def test_the_picture_of_slices_fills_the_gpu(profile):
    """Pieces of each bar and its rest are the whole GPU: 7 slices of 16 leave 20 of 132 multiprocessors, 15.2 %."""
    part = sharing.slice_row("H100 SXM 80GB", profile)
    shown = slices_picture("H100 SXM 80GB", part, catalogue.gpu("H100 SXM 80GB"))
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', shown._repr_html_())]
    assert len(widths) == 2 * (part.instances + 1)
    assert sum(widths) + 4 * part.instances == pytest.approx(800, abs=2)
    assert profile != "1g.10gb" or "15.2 % of its multiprocessors" in repr(shown)
