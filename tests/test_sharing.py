"""Shared and idle GPUs: hand calculations, published slices, and what no order of prices may change."""
import math
import re

import pytest
from hypothesis import given, settings, strategies as st

from book.pages import sharing
from book.pages.budget import sure
from book.pages.sharing import slices_picture
from gpucalc import Case, serving as sv, sharing as sh
from gpucalc.decisions import capacity
from gpucalc.rows import catalogue, price_book

BOOK = sure(price_book.prices())
H100, SMALL = "H100 SXM 80GB", ["L4 24GB", "A10 24GB", "L40S 48GB"]
CASE = Case(model="Llama-3-8B", weight_format="INT4-g128", cache_element_bytes=2, prompt=1000, output=200, cached_share=0,
            peak_factor=2, answer_limit=20, late_share=0.05, requests_per_month=5e6, efficiency="achieved", **capacity.ENGINE)
FOUND = sharing.choice(CASE, BOOK, H100, SMALL, "on-demand")


def close(value):
    return pytest.approx(value, rel=1e-9)


# By hand

def test_a_slice():
    # 2.80 USD over 7 slices; 16 of 132 multiprocessors of 989 TFLOP/s; an eighth of 3.35 TB/s.
    assert sh.slice_usd_per_hour(2.80, 7) == close(0.40)
    assert sh.slice_flops(989e12, 16, 132) == close(119.8787878787e12)
    assert sh.slice_bandwidth(3.35e12, 1 / 8) == close(418.75e9)
    # 7 x 16 = 112 of 132: 20 are left over.
    assert sh.unsliced_share(7, 16, 132) == close(20 / 132)


def test_turns():
    # 76 GB usable, 20 GB each: three; of 1,000 tokens/s a fifth is lost and four share the rest.
    assert sh.sharing_jobs(76e9, 20e9) == 3 and sh.sharing_jobs(19e9, 20e9) == 0
    assert sh.turn_tokens_per_second(1000, 4, 0.2) == close(200)


def test_parts_for_a_load():
    # 2,628,000 requests a month are one a second; at 2.5 s each, parts filled to 80 % take 3.125, so 4.
    assert sh.paid_slices(2_628_000, 2.5, 0.8) == 4 and sh.paid_slices(2_628_000, 2.5) == 3
    # As whole GPUs of 7 slices at 2.80 USD one for 730 hours, as cards of their own four at 0.50.
    assert sh.sliced_usd_per_month(4, 2.8, 7) == close(2044) and sh.sliced_usd_per_month(4, 0.5) == close(1460)
    assert sh.sliced_usd_per_month(8, 2.8, 7) == close(4088)
    # The price of the whole pays for 5 cards at 0.50; five at 0.5 s a request, filled, carry ten a second.
    assert sh.whole_turn_requests_per_month(2.8, 0.5, 0.5) == close(26_280_000)
    assert sh.whole_turn_requests_per_month(2.8, 0.5, 0.5, 0.4) == close(10_512_000), "two fifths busy carry two fifths"
    assert sh.api_usd_per_month(1e6, 0.0002) == close(200)


def test_idle_gpus():
    # Eight at 2.50 USD and 30 %: 8 x 2.5 x 730 = 14,600 USD, 70 % of it for nothing; at 70 % four do it, which saves half.
    assert sh.wasted_usd_per_month(8, 2.5, 0.3) == close(10_220)
    assert sh.right_sized_gpus(8, 0.3, 0.7) == 4
    assert sh.right_sizing_usd_per_month(8, 4, 2.5) == close(7300)


# Published

def test_slices_add_up_to_at_most_the_gpu():
    for name, part in catalogue.partitions().iterrows():
        card = catalogue.gpu(part.gpu)
        assert name == f"{part.gpu} {part.profile}"
        assert part.instances * part.slice_units <= card.units and part.instances * part.slice_memory_share <= 1, name
        # A driver keeps some memory of each slice, never more than its part of the GPU's by marketing.
        assert 0.85 < part.memory_bytes / (part.slice_memory_share * card.memory_bytes) <= 1.001, name


def test_a_profile_names_its_memory_and_its_sevenths():
    for part in catalogue.partitions().itertuples():
        sevenths, memory = part.profile.removesuffix("gb").split("g.")
        assert part.instances <= 7 // int(sevenths)
        assert part.memory_bytes == pytest.approx(float(memory) * 1e9, rel=0.1)


def test_multiprocessors_that_users_saw():
    # New Jersey Institute of Technology: 14, 28 and 42 of an A100's 108, "7.7x" for the whole.
    parts = catalogue.partitions().query("gpu == 'A100 SXM 80GB'")
    assert list(parts["slice_units"]) == [14, 28, 42] and round(catalogue.gpu("A100 SXM 80GB").units / 14, 1) == 7.7
    # Their fluid of atoms ran at 43.28 ns/day on one slice, 81.2 on two sevenths, 115.5 on three, and 118.6 on the whole.
    assert 81.205 / 43.28 == pytest.approx(2, rel=0.1)


def test_turns_lose_what_a_test_of_nvidia_says():
    # 0.76 requests a second and GPU with turns against 1.00 with slices.
    assert 1 - sh.turn_tokens_per_second(1, 1) == pytest.approx(0.24)


# A slice as a card

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


# Properties

@settings(deadline=None, max_examples=15)
@given(st.floats(1e4, 1e8), st.floats(1, 10))
def test_more_load_never_costs_less(load, more):
    less, most = (sharing.ways(FOUND, CASE.but(requests_per_month=each)).set_index("gpu") for each in (load, load * more))
    for name in most.index:
        assert most.at[name, "alone_usd"] >= less.at[name, "alone_usd"]
        assert most.at[name, "shared_usd"] >= less.at[name, "shared_usd"]


@settings(deadline=None)
@given(st.integers(1, 64), st.floats(0, 1), st.floats(0.3, 1), st.floats(0.1, 20))
def test_idle_and_busy_add_up(gpus, busy, target, rate):
    wasted = sh.wasted_usd_per_month(gpus, rate, busy)
    assert wasted + gpus * rate * 730 * busy == pytest.approx(gpus * rate * 730)
    needed = sh.right_sized_gpus(gpus, busy, target)
    assert needed * target >= gpus * busy * (1 - 1e-9)
    if busy <= target:
        assert 0 <= sh.right_sizing_usd_per_month(gpus, needed, rate) <= gpus * rate * 730


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


def test_every_card_that_can_be_cut_has_its_slices():
    cards, parts = catalogue.gpus(), catalogue.partitions()
    most = parts.groupby("gpu")["instances"].max()
    cut = cards["mig_instances"][cards["mig_instances"] > 0]
    assert set(cut.index) - set(most.index) == {"B100 SXM 192GB"}, "hardly shipped: no list of its slices"
    assert (most == cut[most.index]).all()
