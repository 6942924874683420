"""Shared and idle GPUs: hand calculations, published slices, and what no order of prices may change."""
import pytest
from hypothesis import given, settings, strategies as st

from gpucalc import sharing as sh
from gpucalc.rows import catalogue
from tests.close import close


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


@settings(deadline=None)
@given(st.integers(1, 64), st.floats(0, 1), st.floats(0.3, 1), st.floats(0.1, 20))
def test_idle_and_busy_add_up(gpus, busy, target, rate):
    wasted = sh.wasted_usd_per_month(gpus, rate, busy)
    assert wasted + gpus * rate * 730 * busy == pytest.approx(gpus * rate * 730)
    needed = sh.right_sized_gpus(gpus, busy, target)
    assert needed * target >= gpus * busy * (1 - 1e-9)
    if busy <= target:
        assert 0 <= sh.right_sizing_usd_per_month(gpus, needed, rate) <= gpus * rate * 730


def test_every_card_that_can_be_cut_has_its_slices():
    cards, parts = catalogue.gpus(), catalogue.partitions()
    most = parts.groupby("gpu")["instances"].max()
    cut = cards["mig_instances"][cards["mig_instances"] > 0]
    assert set(cut.index) - set(most.index) == {"B100 SXM 192GB"}, "hardly shipped: no list of its slices"
    assert (most == cut[most.index]).all()
